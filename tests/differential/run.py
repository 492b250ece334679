"""Runs drawn scenarios in a world, as a sweep that goes on where it stopped."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

import cwnd
from cwnd import _cwnd, _worlds
from cwnd._cli.progress import show_progress
from cwnd._results.tables import runs_of
from cwnd._run import sweep
from cwnd._run.jobs import SweepPoint

from .draw import Drawn

if TYPE_CHECKING:
    from cwnd._common.shapes import FlowRow, LinkRow

#: Seeds of a scenario in each world. They move the starts, so that two guests show Linux's own spread.
SEEDS = {"sim": 20, "linux": 2}


#: The values of the runs of a scenario in a world: by metric a series for each flow, or one, with the value
#: of each run that has one.
Values = dict[str, list[list[float]]]


class Answers(NamedTuple):
    """Answers of a world, by the scenario's name."""

    values: dict[str, Values]
    #: Why runs are missing.
    failures: dict[str, list[str]]


def run(drawn: Sequence[Drawn], world: str, folder: Path) -> Answers:
    """Raises `cwnd.Error` if the world refuses a scenario."""
    seeds = range(1, 1 + SEEDS[world])
    points = [
        SweepPoint({"name": one.name}, _cwnd.Scenario(one.text, one.name, {}).replace(repeat=len(seeds)))
        for one in drawn
    ]
    plan = sweep.Plan(points, [seeds] * len(points), {})
    with show_progress(str(folder), f"the world '{world}'") as seen:
        outcome = sweep.work(plan, folder, world=world, progress=seen)
    failures: dict[str, list[str]] = {}
    for failure in outcome.failures:
        where = f"seed {failure.seed}: "
        # A reason may begin with the run, too.
        reason = failure.reason.removeprefix(f"Error: {failure.scenario}, {where}")
        failures.setdefault(failure.scenario, []).append(where + reason)
    if outcome.runs == len(outcome.failures):
        return Answers({}, failures)
    if not outcome.finished:
        raise _cwnd.Error("the runs are not complete; repeat the command to continue")
    return Answers(values_of(cwnd.Results.load(folder)), failures)


def refusals(drawn: Sequence[Drawn]) -> list[str]:
    """Returns what Linux in virtual time does not support of the scenarios, without a boot."""
    place = _worlds.find("linux").place()
    lines = []
    for one in drawn:
        try:
            _worlds.check(place, _cwnd.Scenario(one.text, one.name, {}))
        except cwnd.WorldError as refused:
            lines.append(str(refused))
    return lines


class _Run(NamedTuple):
    """The rows of a run, and its metrics."""

    flows: list[FlowRow]
    links: list[LinkRow]
    metrics: Mapping[str, float]


def values_of(results: cwnd.Results) -> dict[str, Values]:
    """The values that are scored, from the tables of a world."""
    metrics = {
        name: {row["seed"]: row for row in table.iter_rows(named=True)}
        for name, table in results.metrics_by_scenario.items()
    }
    runs: dict[str, list[_Run]] = {}
    for (name, seed), run in runs_of({"flows": results.flows, "links": results.links}).items():
        runs.setdefault(name, []).append(_Run(run["flows"], run["links"], metrics[name][seed]))
    return {name: _values(of_scenario) for name, of_scenario in runs.items()}


def _values(runs: Sequence[_Run]) -> Values:
    def of_flows(column: Literal["goodput_mbps", "fct_ms"]) -> list[list[float | None]]:
        return [[run.flows[flow][column] for run in runs] for flow in range(len(runs[0].flows))]

    def total(column: Literal["retransmitted_pkts", "timeouts"]) -> list[list[float | None]]:
        return [[sum(row[column] for row in run.flows) for run in runs]]

    def of_run(metric: str) -> list[list[float | None]]:
        return [[run.metrics[metric] for run in runs]]

    # A kernel knows of a flow's losses only as far as DSACKs come back; links know them in both worlds.
    # The way back loses ACKs.
    def lost(run: _Run) -> int:
        return sum(row["dropped_pkts"] + row["error_pkts"] for row in run.links if row["link"] != "reverse")

    queues = [[row for row in run.links if row["link"] == "bottleneck"] for run in runs]
    series: dict[str, list[list[float | None]]] = {
        "goodput": of_run("goodput_mbps"),
        "goodput per flow": of_flows("goodput_mbps"),
        "mean RTT": of_run("mean_rtt_ms"),
        "retransmitted": total("retransmitted_pkts"),
        "lost": [[lost(run) for run in runs]],
        "mean queue": [[row["mean_queue_pkts"] for rows in queues for row in rows]],
        "timeouts": total("timeouts"),
        "marks": [[sum(row["marked_pkts"] for row in run.links) for run in runs]],
        "completion time": of_flows("fct_ms"),
    }
    # Values that a run does not have are null in tables of rows, and not a number in metrics.
    return {
        metric: [[value for value in one if value is not None and value == value] for one in all_series]
        for metric, all_series in series.items()
    }
