"""Random scenarios beside Linux: their draw, their scores, and a part with Linux's answers kept."""

from __future__ import annotations

import json
import math
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import cwnd
from differential import frozen, page
from differential.draw import ALGORITHMS, DISCIPLINES, FEATURES, Drawn, draw
from differential.run import Answers, Values, refusals, run, values_of
from differential.score import FLOORS, Score, by_metric, compare, metrics_of, score, total

if TYPE_CHECKING:
    from cwnd._common.shapes import FlowJson, ScenarioJson


@pytest.fixture(scope="module")
def drawn() -> list[Drawn]:
    return draw(76, 1)


def test_the_same_number_and_seed_draw_the_same_texts_and_others_do_not(drawn: list[Drawn]) -> None:
    assert draw(76, 1) == drawn
    texts = {one.text for one in drawn}
    assert len(texts) == 76
    assert texts.isdisjoint(one.text for one in [*draw(76, 2), *draw(75, 1)])


@pytest.mark.parametrize("seed", range(1, 6))
def test_each_feature_discipline_and_algorithm_occurs_six_times_or_more(seed: int) -> None:
    drawn = draw(76, seed)
    for names, of in (
        (DISCIPLINES, lambda one: [one.discipline]),
        (ALGORITHMS, lambda one: one.algorithms),
        (FEATURES, lambda one: one.features),
    ):
        found = Counter(name for one in drawn for name in of(one))
        assert set(found) == set(names)
        assert min(found.values()) >= 6, found


def test_a_drawn_scenario_has_what_is_named_for_it() -> None:
    for one in draw(76, 3):
        scenario = cwnd.Scenario.parse(one.text).to_dict()
        links = {link["name"]: link for link in scenario["links"]}
        flows, forth, back = scenario["flows"], links["bottleneck"], links.get("reverse")
        assert 1 <= len(flows) <= 6
        assert {flow["cca"]["name"] for flow in flows} == set(one.algorithms)
        assert (forth.get("queue") or {"discipline": "droptail"})["discipline"] == one.discipline
        assert all(0 < flow["start_jitter_ns"] < 1e8 for flow in flows)
        wire = forth.get("impairments") or {}
        delays = {link["delay_ns"] for name, link in links.items() if name.startswith("access")}
        found = {
            "ecn": any(flow["stack"]["ecn"] == "classic" for flow in flows),
            "random loss": forth["per"] > 0,
            "bursts of loss": "gilbert_elliott" in wire,
            "access links": delays != {0},
            "way back": back is not None,
            "lossy way back": back is not None and back["per"] > 0,
            "thin way back": back is not None and back["rate_bps"] < forth["rate_bps"] / 40,
            "upward flows": any(links_of(scenario, flow)[1:2] == ["reverse"] for flow in flows),
            "application limits": any(flow.get("app_rate_bps") for flow in flows),
            "transfers": any((flow.get("traffic") or {}).get("size") for flow in flows),
            "payload": any(flow["payload_bytes"] != 1448 for flow in flows),
            "buffer in bytes": forth.get("buffer_bytes") is not None,
        }
        assert {name for name, has in found.items() if has} == set(one.features), one.name


def links_of(scenario: ScenarioJson, flow: FlowJson) -> list[str]:
    return [scenario["links"][link]["name"] for link in flow["path"]]


def test_linux_in_virtual_time_accepts_every_drawn_scenario(drawn: list[Drawn]) -> None:
    try:
        assert refusals(drawn) == []
    except cwnd.Error as missing:
        pytest.skip(str(missing))


def test_linux_is_within_where_its_range_meets_the_band_and_its_floor() -> None:
    assert compare("goodput", [9.0, 10.0], [10.19, 10.4]).within
    assert not compare("goodput", [9.0, 10.0], [10.21, 10.4]).within
    assert compare("goodput", [9.0, 10.0], [8.0, 8.83]).within
    assert not compare("goodput", [9.0, 10.0], [8.0, 8.81]).within
    # Five packets where a twentieth is less.
    assert compare("lost", [10, 10], [15, 15]).within and not compare("lost", [10, 10], [16, 16]).within
    assert compare("lost", [200, 200], [210, 215]).within
    assert not compare("lost", [200, 200], [211, 215]).within


def test_errors_are_shares_of_linux_or_of_the_floor() -> None:
    assert compare("goodput", [11.0, 13.0], [8.0, 12.0]).error == pytest.approx(0.2)
    assert compare("retransmitted", [2, 2], [0, 0]).error == pytest.approx(2 / 5)
    assert compare("goodput", [0.0], [0.0]).error == 0
    assert compare("goodput", [1.0], [0.0]).error == math.inf


def test_values_are_those_of_the_tables() -> None:
    scenario = """
duration = "3 s"
repeat = 2
flows = [{ cca = "reno", start_jitter = "5 ms" }, { cca = "cubic", size = "50 KB" }, { cca = "reno" }]

[dumbbell]
rate = "5 Mbps"
delay = "10 ms"
buffer = 20
per = 0.01

[dumbbell.reverse]
rate = "1 Mbps"
delay = "10 ms"
buffer = 20
per = 0.01
"""
    results = cwnd.run(cwnd.Scenario.parse(scenario, "small"))
    found = values_of(results)["small"]
    for seed in (1, 2):
        flows = results.flows.filter(seed=seed).sort("flow")
        run = seed - 1
        assert [one[run] for one in found["goodput per flow"]] == flows["goodput_mbps"].to_list()
        assert found["retransmitted"][0][run] == flows["retransmitted_pkts"].sum() > 0
        # ACKs that the way back loses do not count.
        assert found["lost"][0][run] == flows["lost_pkts"].sum() > 0
    assert [len(one) for one in found["completion time"]] == [0, 2, 0]
    assert [len(one) for one in found["mean queue"]] == [2]


def values(goodputs: list[list[float]], marks: float = 0) -> Values:
    series: Values = {metric: [[7.0, 7.0]] for metric in FLOORS}
    return series | {"goodput per flow": goodputs, "marks": [[marks]], "completion time": [[], []]}


def test_values_that_a_world_lacks_are_not_scored() -> None:
    found = metrics_of(values([[1.0], [2.0]]), values([[1.0], []]))
    assert "completion time" not in found and "marks" not in found
    assert len(found["goodput per flow"]) == 1
    assert "marks" in metrics_of(values([[1.0], [2.0]], marks=3), values([[1.0], []]))


def test_a_flow_that_delivers_nothing_in_one_world_alone_is_out() -> None:
    paths = [Drawn("path-1", "", "red", ("reno",), ())]
    some, none, at_times = (
        Answers({"path-1": values([[1.0], one])}, {}) for one in ([2.0], [0.0], [0.0, 2.0])
    )

    def out(sim: Answers, linux: Answers) -> list[str]:
        return score(paths, sim, linux)[0].out

    assert out(some, none) == out(none, some) == ["goodput per flow"]
    assert out(none, none) == out(at_times, none) == out(none, at_times) == []


@pytest.fixture
def scores() -> list[Score]:
    """Within, out by one flow's goodput, and not scored."""
    paths = [Drawn(f"path-{i}", "", "codel", ("reno", "bbr")[:i], ("ecn",)) for i in (1, 2, 2)]
    paths[2] = paths[2]._replace(name="path-3")
    ours = {one.name: values([[1.0], [2.0]]) for one in paths}
    theirs = {"path-1": values([[1.0], [2.0]]), "path-2": values([[1.0], [0.0]])}
    return score(
        paths, Answers(ours, {}), Answers(theirs, {"path-3": ["seed 2: not valid: a path was not measured"]})
    )


def test_a_failed_guest_is_counted_with_its_reason_and_not_scored(scores: list[Score]) -> None:
    assert [one.is_within for one in scores] == [True, False, False]
    assert [one.out for one in scores] == [[], ["goodput per flow"], []]
    assert scores[2].metrics == {}
    everything = total("all", scores)
    assert (everything.within, everything.scored) == (1, 2)
    per_flow = next(one for one in by_metric(scores) if one.name == "goodput per flow")
    assert (per_flow.within, per_flow.scored) == (1, 2)
    assert per_flow.errors == {"goodput per flow": 0}
    text = page.page(scores, 3, 1, "6.12")
    assert "On 1 of 2 random paths" in text and "a path was not measured" in text
    assert "| reno | 1 of 2 |" in text and "| bbr | 0 of 1 |" in text
    printed = list(page.lines(scores))
    assert printed[0].endswith(": within")
    assert printed[1].endswith(": out: goodput per flow 2, linux 0")
    assert "not scored: linux, seed 2: not valid" in printed[2]
    json.dumps(page.content(scores, 3, 1, "6.12"), allow_nan=False)


@pytest.mark.slow
def test_goodput_on_kept_random_paths_is_that_of_linux(tmp_path: Path) -> None:
    paths, linux = frozen.read()
    assert len(paths) == frozen.COUNT
    scores = score(paths, run(paths, "sim", tmp_path / "sim"), linux)
    assert not [f"{one.drawn.name}: {one.failures}" for one in scores if one.failures]
    assert not [(one.drawn.name, one.metrics["goodput"]) for one in scores if "goodput" in one.out]
