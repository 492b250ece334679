"""`cwnd.attack`: the same findings whatever the threads, kills and shards; small ones; errors of one line."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from random import Random

import pytest

import cwnd
from cwnd._attack.attack import Attack
from cwnd._attack.bounds import NAMED, read_bounds
from cwnd._attack.confirm import Confirmation, in_order
from cwnd._attack.finding import beyond
from cwnd._attack.judge import ALONE, FIXED_WINDOW, Judge
from cwnd._attack.path import text
from cwnd._attack.vary import child, first_paths
from cwnd._scenario.header_files import load_header

#: Enough for some failures of Vegas.
BUDGET = 48


def search(out: Path | None = None, **keys: object) -> Attack:
    given: dict[str, object] = {"goals": "underuse", "budget": BUDGET, "out": out, **keys}
    return cwnd.attack("vegas", **given)  # type: ignore[arg-type]


def contents(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in sorted(folder.glob("*.*")) if file.suffix != ".svg"}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Attack]:
    folder = tmp_path_factory.mktemp("attack") / "found"
    return folder, search(folder, jobs=1)


def test_vegas_underuses_some_path(whole: tuple[Path, Attack]) -> None:
    _, found = whole
    assert found.findings
    assert {one.goal for one in found.findings} == {"underuse"}
    assert found.evaluations == BUDGET


def goodput_mbps(scenario: cwnd.Scenario) -> float:
    value = cwnd.run(scenario).flows["goodput_mbps"][0]
    assert isinstance(value, float)
    return value


def test_a_finding_is_a_small_scenario_that_fails_again(whole: tuple[Path, Attack]) -> None:
    folder, found = whole
    for one in found.findings:
        lines = (folder / f"{one.name}.toml").read_text().splitlines()
        assert len(lines) <= 15
        assert one.path.parts() <= 5
        assert lines[0] == f"# {one.sentence}"
        got = goodput_mbps(cwnd.Scenario.from_toml(folder / f"{one.name}.toml"))
        assert got == one.measures["goodput_mbps"]
        if one.reference != "fixed-window":
            assert got < goodput_mbps(cwnd.Scenario.parse(text(one.path, one.reference))) / 2
        assert (folder / f"{one.name}.svg").exists()


def test_threads_resumption_and_shards_change_no_byte(whole: tuple[Path, Attack], tmp_path: Path) -> None:
    folder, found = whole
    again = tmp_path / "again"
    search(again, shard="2/2", jobs=2)
    assert search(again, shard="1/2", jobs=2) == found
    assert contents(again) == contents(folder)
    for file in list((again / "search").glob("small-*.json"))[:1]:
        file.write_bytes(
            file.read_bytes()[:-9]
        )  # a kill in the middle of a write leaves no such file; a disk may
    assert search(again) == found
    assert contents(again) == contents(folder)


def short_runs(folder: Path) -> Path:
    """The bounds `reasonable` with runs of few packets."""
    text = (Path(cwnd.__file__).parent / "_attack" / "bounds" / "reasonable.toml").read_text()
    assert "packets = 200000" in text
    file = folder / "short.toml"
    file.write_text(text.replace("packets = 200000", "packets = 2000"))
    return file


def test_three_kills_and_four_shards_change_no_byte(tmp_path: Path) -> None:
    whole, killed, shared = (tmp_path / name for name in ("whole", "killed", "shared"))
    keys: dict[str, object] = {
        "goals": ["stall", "pinned", "underuse", "bloat"],
        "bounds": short_runs(tmp_path),
    }
    found = search(whole, **keys)

    def kill_after(parts: int) -> Callable[[int, int], None]:
        done = iter(range(parts))

        def killed_at(*_: int) -> None:
            if next(done, None) is None:
                raise KeyboardInterrupt

        return killed_at

    for parts in (0, 1, 0):
        with pytest.raises(KeyboardInterrupt):
            search(killed, **keys, progress=kill_after(parts), jobs=1)
    assert len(list((killed / "search").glob("island-*.json"))) >= 3
    assert search(killed, **keys) == found
    for part in (3, 1, 4, 2):
        search(shared, **keys, shard=f"{part}/4")
    assert contents(killed) == contents(shared) == contents(whole)
    assert contents(killed / "search").keys() == contents(whole / "search").keys()


def control(paths: int) -> list[str]:
    """Paths on which the window fixed at the BDP fails and an algorithm does not."""
    judge = Judge(FIXED_WINDOW, {}, 0)
    drawn = first_paths(Random("control"), read_bounds("reasonable"), paths, "")
    failed = []
    for at in range(0, paths, 100):
        for path, answer in zip(
            drawn[at : at + 100], judge.evaluate(drawn[at : at + 100], ALONE), strict=True
        ):
            failed += [f"{one['goal']}: {text(path)}" for one in answer["scores"] if one["score"] > 0]
    return failed


def test_a_window_that_knows_its_path_fails_on_one_in_a_hundred_at_most() -> None:
    assert len(control(100)) <= 1


def test_a_finding_holds_in_the_world_where_it_was_found(whole: tuple[Path, Attack], tmp_path: Path) -> None:
    _, found = whole
    told = search(tmp_path / "found", on="sim")
    assert [one.finding for one in told.confirmations] == [one.name for one in found.findings]
    for one, finding in zip(told.confirmations, found.findings, strict=True):
        assert one.seeds == [seed for seed in finding.seeds if seed <= 3]
    page = (tmp_path / "found" / "README.md").read_text()
    assert "## Other worlds" in page
    with pytest.raises(cwnd.Error, match=r"^on: 'linus' is not a world"):
        search(on="linus")


def test_confirmations_that_fail_come_first_then_those_that_a_world_does_not_support() -> None:
    holds = Confirmation("a", "linux", [1, 2, 3], [1.0, 1.0, 1.0], "cubic")
    refused = Confirmation("b", "linux", [], [], "cubic", "no such key")
    fails = Confirmation("c", "linux", [], [-1.0, -1.0, -1.0], "cubic")
    assert [one.finding for one in in_order([holds, refused, fails])] == ["c", "b", "a"]


def test_a_gate_refuses_an_algorithm_that_fails_where_its_forerunner_did_not(
    whole: tuple[Path, Attack],
) -> None:
    folder, found = whole
    same = cwnd.gate_attacks(folder, "vegas", "vegas")
    assert same.ok
    assert [case.finding for case in same.cases] == [one.name for one in found.findings]
    # The window that knows its path fails on none of them.
    assert not cwnd.gate_attacks(folder, FIXED_WINDOW, "vegas").ok
    assert cwnd.gate_attacks(folder, "vegas", FIXED_WINDOW).ok
    with pytest.raises(cwnd.Error, match=r"^attacks: .*nothing.*: no such file"):
        cwnd.gate_attacks("nothing", "vegas", "vegas")


def test_a_header_of_ones_own_is_attacked_and_its_findings_name_it(tmp_path: Path) -> None:
    source = (Path(__file__).parents[2] / "algorithms" / "reno.h").read_text()
    cut = "		return cc_max(w->cwnd / 2, 2);"
    assert source.count(cut) == 1
    header = tmp_path / "mine.h"
    header.write_text(source.replace(cut, "		return 2;"))
    found = cwnd.attack(load_header(header), goals="underuse", budget=BUDGET, out=tmp_path / "found")
    assert found.subject == "reno"
    assert found.findings
    one = found.findings[0]
    scenario = cwnd.Scenario.from_toml(tmp_path / "found" / f"{one.name}.toml")
    # The class calls the header's hooks through Python, the search calls them directly.
    assert goodput_mbps(scenario) == pytest.approx(one.measures["goodput_mbps"])


def test_a_directory_of_another_search_is_refused(whole: tuple[Path, Attack]) -> None:
    folder, _ = whole
    with pytest.raises(cwnd.Error, match=r"^out: .* has another search") as refused:
        search(folder, seed=2)
    assert len(str(refused.value).splitlines()) == 1


@pytest.mark.parametrize("name", NAMED)
def test_paths_stay_within_their_bounds_and_are_scenarios(name: str) -> None:
    bounds = read_bounds(name)
    rng = Random("3")
    paths = first_paths(rng, bounds, 40, "")
    paths += [child(rng, bounds, one, other) for one, other in pairwise(paths)]
    for path in paths:
        assert set(beyond(path, bounds)) <= {"packets"}, text(path)
        cwnd.Scenario.parse(text(path, "reno"))


@pytest.mark.parametrize(
    ("keys", "line"),
    [
        ({"goals": "speed"}, "goals: no goal 'speed'; stall, pinned,"),
        ({"budget": 0}, "budget: 0 is out of range; 1 to"),
        ({"shard": "3/2"}, "shard: '3/2' is not i/n"),
        ({"shard": "1/2", "out": None}, "shard: needs a directory"),
        ({"beside": "vegass"}, "beside: "),
        ({"bounds": "nowhere.toml"}, "bounds: nowhere.toml: no such file"),
    ],
)
def test_bad_arguments_are_refused_in_one_line(keys: dict[str, object], line: str) -> None:
    with pytest.raises(cwnd.Error) as refused:
        search(**keys)  # type: ignore[arg-type]
    assert str(refused.value).startswith(line)
    assert "\n" not in str(refused.value)


def test_bounds_are_checked_key_by_key(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text("rate_mbps = [10, 1]\n")
    with pytest.raises(cwnd.Error, match="rtt_ms: missing"):
        read_bounds(str(file))
    home = (Path(cwnd.__file__).parent / "_attack" / "bounds" / "home.toml").read_text()
    file.write_text(home.replace("[4, 1000]", "[1000, 4]"))
    with pytest.raises(cwnd.Error, match=r"rate_mbps: .*the least first"):
        read_bounds(str(file))


def test_a_class_is_attacked_like_a_name() -> None:
    class Stuck(cwnd.CongestionControl):
        """A window of two packets for ever."""

        def cong_avoid(self, window: cwnd._cwnd.Window, ack: cwnd._cwnd.Ack) -> None:
            window.cwnd = 2

        def ssthresh(self, window: cwnd._cwnd.Window, ack: cwnd._cwnd.Ack) -> int:
            return 2

    found = cwnd.attack(Stuck, goals="pinned", budget=8, bounds="satellite")
    assert [one.goal for one in found.findings][:1] == ["pinned"]
    assert found.findings[0].ingredients == []
