"""Worlds: where scenarios run."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl
import pytest

import cwnd
from cwnd import _cwnd, _worlds
from cwnd._results.columns import bytes_of
from cwnd._results.tables import Answer, empty_table, schema_of

if TYPE_CHECKING:
    from cwnd._common.shapes import ScenarioJson


class Fluid:
    """A world without packets: flows share their first link's rate equally."""

    def place(self) -> None:
        """No single runs of the extension module."""

    def run(self, scenarios: Sequence[_cwnd.Scenario], jobs: int, progress: object) -> list[Answer]:
        return [answer(json.loads(scenario.json())) for scenario in scenarios]


def answer(scenario: ScenarioJson) -> Answer:
    share = min(link["rate_bps"] for link in scenario["links"]) / 1e6 / len(scenario["flows"])
    rows = [
        {
            "flow": place,
            "cca": flow["cca"]["name"],
            "start_s": 0.0,
            "stop_s": scenario["duration_ns"] / 1e9,
            "throughput_mbps": share,
            "goodput_mbps": share,
            "sent_pkts": 1,
            "retransmitted_pkts": 0,
            "delivered_pkts": 1,
            "lost_pkts": 0,
            "timeouts": 0,
            "loss_ratio": 0.0,
            "mean_cwnd_pkts": 1.0,
        }
        for place, flow in enumerate(scenario["flows"])
    ]
    links = [
        {
            "link": link["name"],
            "delivered_pkts": 1,
            "dropped_pkts": 0,
            "error_pkts": 0,
            "mean_queue_pkts": 0.0,
            "max_queue_pkts": 0,
            "utilization": 1.0,
        }
        for link in scenario["links"]
    ]
    engine = {"version": "1", "wall_s": 1.0, "packets": 1, "packets_per_s": 1.0}
    return Answer(
        "fluid",
        [scenario["seed"]],
        lambda: columns("flows", rows),
        lambda: columns("links", links),
        lambda described: empty_table("samples"),
        engine,
    )


def columns(table: str, rows: list[dict[str, int | float | str]]) -> dict[str, bytes | str]:
    schema = {key: kind for key, kind in schema_of(table).items() if key not in ("scenario", "seed")}
    columns = {"run": [0 for _ in rows]}
    for key, kind in schema.items():
        nothing = math.nan if kind.is_float() else 0
        columns[key] = [row.get(key, nothing) for row in rows]
    return {
        key: "".join(f"{text}\0" for text in values)
        if schema.get(key) == pl.String()
        else bytes_of(pl.Series(values, dtype=schema.get(key, pl.UInt32())))
        for key, values in columns.items()
    }


@pytest.fixture
def fluid(monkeypatch: pytest.MonkeyPatch) -> None:
    """One line more in the table of worlds."""
    monkeypatch.setitem(_worlds.WORLDS, "fluid", Fluid())


@pytest.mark.usefixtures("fluid")
def test_a_line_makes_a_world_whose_results_are_like_any_others(tmp_path: Path) -> None:
    kernels, stacks = ["linux", "linux-ebpf", "live"], ["noq", "noq-tls", "quinn", "quinn-tls", "s2n-quic"]
    assert _worlds.names() == ["fluid", *kernels, *stacks, "sim"]
    scenario = cwnd.dumbbell("cubic", rate="10 Mbps", delay="10 ms", flows=4, duration="2 s")
    results = cwnd.run(scenario, world="fluid")
    assert results.flows["throughput_mbps"].to_list() == [2.5] * 4
    mean = results.summary.filter(metric="throughput_mbps")["mean"].item()
    assert mean == pytest.approx(10.0)
    results.save(tmp_path / "out")
    loaded = cwnd.Results.load(tmp_path / "out")
    assert [entry["world"] for entry in loaded.entries] == ["fluid"]
    assert json.loads(loaded.to_json())["world"] == "fluid"


def test_simulated_results_are_of_the_world_sim() -> None:
    scenario = cwnd.dumbbell("reno", rate="10 Mbps", delay="10 ms", duration="1 s")
    results = cwnd.run(scenario)
    assert [entry["world"] for entry in results.entries] == ["sim"]
    assert json.loads(results.to_json())["world"] == "sim"


def test_an_unknown_world_is_refused_with_those_that_there_are() -> None:
    stacks = "noq, noq-tls, quinn, quinn-tls, s2n-quic"
    line = f"world: 'mars' is not a world; choose linux, linux-ebpf, live, {stacks}, sim"
    with pytest.raises(cwnd.Error, match=line):
        cwnd.run(cwnd.dumbbell("reno"), world="mars")


def test_a_world_that_is_absent_is_an_error_of_its_own_and_a_wrong_name_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with pytest.raises(cwnd.WorldError, match="linux: there is no kernel for guests yet"):
        cwnd.run(cwnd.dumbbell("reno"), world="linux")
    with pytest.raises(cwnd.Error) as wrong:
        cwnd.run(cwnd.dumbbell("reno"), world="mars")
    assert not isinstance(wrong.value, cwnd.WorldError)
