"""`cwnd.attack`: the same findings whatever the threads, kills and shards; small ones; errors of one line."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from random import Random

import pytest

import cwnd
from cwnd._attack.attack import Attack
from cwnd._attack.bounds import NAMED, read_bounds
from cwnd._attack.finding import beyond
from cwnd._attack.path import text
from cwnd._attack.vary import child, first_paths

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
