"""Scenarios of many flows: results, files, figures and texts do not grow with them where they need not."""

from __future__ import annotations

import json
import tempfile
import tracemalloc
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import cwnd
from conftest import Command
from cwnd._common.rows import Rows, distinct_algorithms, flow_algorithms, fold, unfold
from cwnd._report.over_time import drawn_series
from cwnd._scenario import facts

if TYPE_CHECKING:
    from cwnd._common.shapes import ScenarioJson

FLOWS = 3000
TOML = f"""
duration = "30 ms"
samples = "off"

[dumbbell]
rate = "100 Gbps"
delay = "1 ms"
buffer = 50000

[[flows]]
cca = "cubic"
count = {FLOWS}
stagger = "5 us"

[[flows]]
cca = "reno"
size = {{ distribution = "pareto", alpha = 1.5, min = "2 KB", max = "40 KB" }}
stop = "15 ms"
arrivals = {{ process = "poisson", rate = 10000 }}
"""


def read(text: str) -> cwnd.Scenario:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "many.toml"
        file.write_text(text)
        return cwnd.Scenario.from_toml(file)


@pytest.fixture(scope="module")
def results() -> cwnd.Results:
    return cwnd.run(read(TOML))


@pytest.fixture(scope="module")
def saved(results: cwnd.Results, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("many") / "out"
    results.save(folder)
    return folder


def plain(scenario: ScenarioJson) -> ScenarioJson:
    """The scenario with all flows and links as a list."""
    return dict(json.loads(json.dumps(scenario, default=list)))


def test_the_flows_of_a_long_run_are_made_when_they_are_asked_for() -> None:
    flows = read(TOML).to_dict()["flows"]
    links = read(TOML).to_dict()["links"]
    assert (len(flows), len(links)) == (FLOWS + 1, 2 * (FLOWS + 1) + 1)
    for flow in (0, 1, 77, FLOWS - 1):
        assert flows[flow]["path"] == [flow, FLOWS + 1, FLOWS + 2 + flow]
        assert flows[flow]["start_ns"] == 5000 * flow
        assert links[flow]["name"] == f"access-{flow}"
        assert links[FLOWS + 2 + flow]["name"] == f"exit-{flow}"
    assert (flows[-1]["cca"]["name"], links[FLOWS + 1]["name"]) == ("reno", "bottleneck")
    assert [flow["start_ns"] for flow in flows[:3]] == [0, 5000, 10000]
    assert list(flows) == [flows[place] for place in range(len(flows))] == flows
    assert all(one != flows for one in (list(flows)[:-1], [*list(flows)[:-1], flows[0]]))
    with pytest.raises(IndexError):
        flows[FLOWS + 1]


def test_a_short_list_of_flows_stays_a_list() -> None:
    scenario = cwnd.dumbbell("reno", flows=999, duration="1 s").to_dict()
    assert isinstance(scenario["flows"], list) and json.dumps(scenario)
    assert isinstance(cwnd.dumbbell("reno", flows=1000, duration="1 s").to_dict()["flows"], Rows)


def test_a_folded_scenario_is_short_and_unfolds_to_the_same() -> None:
    scenario = read(TOML).to_dict()
    text = json.dumps(scenario, default=fold)
    assert len(text) < 20_000
    assert unfold(json.loads(text)) == scenario
    with pytest.raises(TypeError):
        json.dumps({1: object()}, default=fold)


@pytest.mark.parametrize(
    "text",
    [
        TOML,
        TOML.replace("buffer = 50000", "buffer = 50000\nexit = false\nreverse = { rate = '100 Mbps' }"),
        TOML.replace("buffer = 50000", "buffer = 50000\naccess = { rate = '1 Mbps', delay = '7 us' }"),
        TOML.replace("[dumbbell]", "[parking_lot]\nhops = 3").replace(
            'cca = "reno"', 'cca = "reno"\nover = 2'
        ),
    ],
)
def test_facts_about_many_flows_are_those_of_each_flow_by_itself(text: str) -> None:
    scenario = read(text).to_dict()
    alone = plain(scenario)
    assert isinstance(scenario["flows"], Rows) and isinstance(alone["flows"], list)
    flows, links = alone["flows"], alone["links"]
    slowest = [facts.bottleneck_link(alone, flow)["name"] for flow in range(len(flows))]
    crossed = [link for flow in flows for link in {*flow["path"], *flow.get("reverse_path", ())}]
    for one in (scenario, alone):
        assert flow_algorithms(one) == [flow["cca"]["name"] for flow in flows]
        assert distinct_algorithms(one) == ["cubic", "reno"]
        assert facts.bottlenecks(one) == list(dict.fromkeys(slowest))
        assert facts.flows_by_link(one).sum() == len(crossed)
        assert facts.flows_by_link(one)[len(flows)] == crossed.count(len(flows))
    inner = read(text).describe()["flows"]
    assert facts.base_rtts_ms(scenario)[[0, -1]] == pytest.approx(
        [inner[0]["rtt_ms"], inner[-1]["rtt_ms"]], rel=1e-6
    )
    assert len(links) == len(facts.flows_by_link(scenario))


def test_the_json_of_a_result_has_every_row_of_its_tables(results: cwnd.Results) -> None:
    content = json.loads(results.to_json())
    (run,) = content["runs"]
    for table in ("flows", "links"):
        rows = getattr(results, table).drop("scenario", "seed")
        assert run[table] == rows.to_dicts()
    assert unfold(content["scenario"]) == results.scenarios[0]
    assert list(content) == ["scenario", "runs", "summary", "world", "engine", "notes", "comparison_notes"]


def test_a_saved_result_has_a_short_manifest_and_loads_as_it_was(results: cwnd.Results, saved: Path) -> None:
    assert (saved / "manifest.json").stat().st_size < 40_000
    loaded = cwnd.Results.load(saved)
    assert loaded.scenarios == results.scenarios
    assert loaded.flows.equals(results.flows) and loaded.links.equals(results.links)
    assert loaded.to_json() == results.to_json()
    ours, theirs = (one.metrics_by_scenario["many"] for one in (loaded, results))
    assert ours.equals(theirs)
    assert theirs["throughput_mbps"].item() == results.summary.filter(metric="throughput_mbps")["mean"].item()


def test_every_flow_with_transfers_has_the_quantiles_of_all(results: cwnd.Results) -> None:
    times_ms = results.transfers["fct_ms"].drop_nulls().sort()
    assert len(times_ms) > 50
    half = times_ms[-(-len(times_ms) // 2) - 1]
    assert results.flows["fct_p50_ms"].to_list() == [None] * FLOWS + [half]


def test_a_result_whose_transfers_have_not_ended_is_saved_without_their_figure(tmp_path: Path) -> None:
    path: dict[str, Any] = {"rate": "10 Mbps", "delay": "5 ms", "duration": "450 ms", "samples": "off"}
    flows = cwnd.dumbbell("reno", flows=9, size="100 KB", stagger="50 ms", **path)
    results = cwnd.run(flows)
    ended = results.transfers["fct_ms"].count()
    assert 0 < ended < len(results.transfers) / 2
    results.save(tmp_path / "out")
    assert "fct-size" not in results.plots() and "fct-cdf" in results.plots()


@pytest.mark.slow
def test_what_commands_print_does_not_grow_with_the_flows(
    saved: Path, tmp_path: Path, cwnd_command: Command
) -> None:
    file = tmp_path / "many.toml"
    file.write_text(TOML)
    for command in (["show", str(file)], ["run", str(file)], ["results", str(saved)], ["report", str(saved)]):
        done = cwnd_command(*command)
        assert done.returncode == 0 and 1 <= len(done.stdout.splitlines()) < 40, done
    assert (saved / "report.html").stat().st_size < 3_000_000
    assert f"300 of {FLOWS + 1:,} rows" in (saved / "report.html").read_text()


def test_a_figure_over_time_of_many_flows_draws_some_of_them_and_says_so() -> None:
    text = TOML.replace('samples = "off"', "samples = 2").split('[[flows]]\ncca = "reno"')[0]
    drawn = cwnd.run(read(text))
    figure = drawn.plot("cwnd")
    (axes,) = figure.axes
    assert len(axes.lines) == 200
    (legend,) = figure.legends
    assert [entry.get_text() for entry in legend.get_texts()] == [f"cubic (200 of {FLOWS:,} flows)"]
    assert drawn_series(drawn.scenarios[0])[:3] == [0, 15, 30]
    assert drawn_series(cwnd.dumbbell(flows=200).to_dict()) == list(range(200))
    assert len(drawn.plot("queue").axes[0].lines) == 2  # and the buffer


def test_a_row_of_a_result_is_no_object_of_python() -> None:
    scenario = cwnd.dumbbell("cubic", flows=20_000, duration="1 ms", samples="off")
    tracemalloc.start()
    try:
        rows = cwnd.run(scenario).flows.height
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert rows == 20_000
    # A flow has 23 numbers, and each of its two links 9: of 8 bytes at most.
    assert peak < 3 * 8 * (23 + 2 * 9) * rows
