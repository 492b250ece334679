"""Scenarios and results in other processes: pickles and copies."""

from __future__ import annotations

import copy
import multiprocessing
import pickle
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import pytest
from polars.testing import assert_frame_equal

import cwnd
from conftest import FILE, SMALL

if TYPE_CHECKING:
    from cwnd._cwnd import Ack, Window


class Third(cwnd.CongestionControl):
    """Gives way by a third."""

    def __init__(self, step: int = 1) -> None:
        self.step = step

    def cong_avoid(self, window: Window, ack: Ack) -> None:
        if ack.cwnd_limited:
            window.cwnd += self.step

    def ssthresh(self, window: Window, ack: Ack) -> int:
        return int(max(2 * window.cwnd // 3, 2))


def by_cloudpickle(value: object) -> object:
    return pickle.loads(pytest.importorskip("cloudpickle").dumps(value))


#: Ways to copy a value.
Way: TypeAlias = "Callable[[Any], Any]"
WAYS: list[Way] = [
    *(
        lambda value, protocol=protocol: pickle.loads(pickle.dumps(value, protocol))  # type: ignore[misc]
        for protocol in range(pickle.HIGHEST_PROTOCOL + 1)
    ),
    copy.copy,
    copy.deepcopy,
    by_cloudpickle,
]


def scenarios(folder: Path) -> list[cwnd.Scenario]:
    (folder / "file.toml").write_text(FILE)
    return [
        cwnd.Scenario.from_toml(folder / "file.toml"),
        cwnd.Scenario.from_toml(folder / "file.toml")._replace(name="named", seed=7, repeat=3),
        cwnd.dumbbell([Third, "reno"], params={"Third.step": 2}, **SMALL),
    ]


def assert_equal(one: cwnd.Results, other: cwnd.Results) -> None:
    for table in ("flows", "links", "samples", "summary"):
        assert_frame_equal(getattr(one, table), getattr(other, table))
    assert one.to_json() == other.to_json() and one.values == other.values


@pytest.mark.parametrize("way", WAYS)
def test_a_scenario_answers_alike_after_a_journey(way: Way, tmp_path: Path) -> None:
    for scenario in scenarios(tmp_path):
        again = way(scenario)
        assert again.to_dict() == scenario.to_dict() and repr(again) == repr(scenario)
        assert cwnd.run(again).flows.equals(cwnd.run(scenario).flows)


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> tuple[cwnd.Results, Path]:
    folder = tmp_path_factory.mktemp("saved")
    fresh = cwnd.run(scenarios(folder)[1:])
    fresh.save(folder / "out")
    return fresh, folder / "out"


@pytest.mark.parametrize("way", WAYS)
def test_results_are_the_same_after_a_journey(way: Way, saved: tuple[cwnd.Results, Path]) -> None:
    fresh, folder = saved
    assert_equal(way(fresh), fresh)
    loaded = cwnd.Results.load(folder)
    assert_equal(way(loaded), loaded)
    assert_equal(way(fresh), loaded)


def test_pickled_results_need_no_directory(saved: tuple[cwnd.Results, Path], tmp_path: Path) -> None:
    shutil.copytree(saved[1], tmp_path / "out")
    data = pickle.dumps(cwnd.Results.load(tmp_path / "out"))
    (tmp_path / "out").rename(tmp_path / "gone")
    assert_equal(pickle.loads(data), cwnd.Results.load(tmp_path / "gone"))


def test_a_pool_of_processes_runs_scenarios() -> None:
    asked = [cwnd.dumbbell(cca, **SMALL) for cca in ("reno", Third)]
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        answers = pool.map(cwnd.run, asked)
    for scenario, answer in zip(asked, answers, strict=True):
        assert answer.flows.equals(cwnd.run(scenario).flows)
