"""Measures candidates on a path: in competition, alone, and what they do to flows beside them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from cwnd._advise.cost import Look
from cwnd._advise.path import Factors, Path, facts_of, near, scaled
from cwnd._run.run import run
from cwnd._scenario.scenario import Scenario

if TYPE_CHECKING:
    import polars as pl

#: Part of a run that is left out as the start.
_WARMUP = 1 / 3


class Beside(NamedTuple):
    """The flows that share the path."""

    cca: str
    flows: int


class Measured(NamedTuple):
    """A candidate, a value for each run; rates, RTTs and losses are those of the described path.

    `goodput_mbps` and `p95_rtt_ms` of its flows in competition, `alone_mbps` and `alone_rtt_ms` without;
    `loss` in competition; `beside_mbps` and `beside_rtt_ms` what those beside it have; `jain` over all flows.
    """

    cca: str
    goodput_mbps: list[float]
    p95_rtt_ms: list[float]
    loss: list[float]
    alone_mbps: list[float]
    alone_rtt_ms: list[float]
    beside_mbps: list[float]
    beside_rtt_ms: list[float]
    jain: list[float]


class Round(NamedTuple):
    """Measurements with the same paths; `idle_mbps`, `idle_rtt_ms`: those beside, without a candidate."""

    measured: dict[str, Measured]
    idle_mbps: list[float]
    idle_rtt_ms: list[float]
    duration_s: float
    warmup_s: float

    def joined(self, more: Round) -> Round:
        """The runs of both, of the algorithms that both have."""

        def both(one: Measured, two: Measured) -> Measured:
            return Measured(one.cca, *([*a, *b] for a, b in zip(one[1:], two[1:], strict=True)))

        return self._replace(
            measured={cca: both(self.measured[cca], one) for cca, one in more.measured.items()},
            idle_mbps=[*self.idle_mbps, *more.idle_mbps],
            idle_rtt_ms=[*self.idle_rtt_ms, *more.idle_rtt_ms],
        )


class Question(NamedTuple):
    """The path, the flows that the advice is for and those beside them, and what a change has to be worth."""

    path: Path
    flows: int
    beside: Beside | None
    goal: str
    #: The algorithm in use.
    present: str
    #: The seed of the runs, and of the paths near this one.
    seed: int
    #: The part of the path's rate, and of its buffer, at which it is simulated.
    part: float = 1.0

    @property
    def incumbent(self) -> str:
        """The algorithm beside, or the present one where nothing is."""
        return self.present if self.beside is None else self.beside.cca

    @property
    def all_flows(self) -> int:
        return self.flows + (0 if self.beside is None else self.beside.flows)


def measure(
    question: Question,
    ccas: Sequence[str],
    look: Look,
    *,
    first: int = 0,
    jobs: int,
    progress: Callable[[float], object] | None,
) -> Round:
    """Runs each algorithm on the paths from number `first` on: 0 is the question's, the others are near."""
    path, flows, beside, seed = question.path, question.flows, question.beside, question.seed
    runs, duration_s = range(first, first + look.runs), look.duration_s
    keys = {"duration": f"{duration_s} s", "warmup": f"{duration_s * _WARMUP:.6f} s"}
    measured_ms = 1e3 * duration_s * (1 - _WARMUP)
    jitter_s = min(0.5, duration_s / 20)

    def group(cca: str, count: int) -> dict[str, object]:
        return {"cca": cca, "count": count, "start_jitter": f"{jitter_s:.6f} s"}

    # Under random losses cubic's window goes with p^(-3/4) (RFC 9438, 5.1), so that its share stays.
    losses = question.part ** (-4 / 3)
    part = Factors(rate=question.part, buffer=question.part, loss=losses, burst=question.part)
    around = [near(seed, number) for number in runs]
    factors = [each.times(part) for each in around]
    simulated = [scaled(path, each) for each in factors]
    # Random losses that a path at a part of the rate has beyond those at the whole.
    added = [
        facts_of(one).loss - facts_of(scaled(path, each)).loss
        for one, each in zip(simulated, around, strict=True)
    ]
    scenarios: list[Scenario] = []
    for number, one in zip(runs, simulated, strict=True):
        own = {**keys, "seed": seed + number}
        for cca in ccas:
            scenarios.append(one.scenario(f"alone/{cca}/{number}", [group(cca, flows)], **own))
            if beside is not None:
                both = [group(cca, flows), group(*beside)]
                scenarios.append(one.scenario(f"shared/{cca}/{number}", both, **own))
        if beside is not None:
            scenarios.append(one.scenario(f"idle//{number}", [group(*beside)], **own))
    results = run(scenarios, jobs=jobs, progress=progress)
    rows = _rows(results.flows, flows)
    # Each scenario has one run.
    jain = {
        entry["scenario"]["name"]: entry["summary"].get("jain_fairness", {"mean": math.nan})["mean"]
        for entry in results.entries
    }

    def values(kind: str, cca: str, own: bool, column: str) -> list[float]:
        names = [f"{kind}/{cca}/{number}" for number in runs]
        scales = [each.delay if column.endswith("_ms") else each.rate for each in factors]
        found = (rows[name, own][column] for name in names)
        if column == "loss_ratio":
            return [max(value - more, 0.0) for value, more in zip(found, added, strict=True)]
        # Without an RTT in all that time, the RTT is at least that time.
        known = (measured_ms if math.isnan(value) else value for value in found)
        return [value / scale for value, scale in zip(known, scales, strict=True)]

    measured = {}
    for cca in ccas:
        shared = "alone" if beside is None else "shared"
        measured[cca] = Measured(
            cca=cca,
            goodput_mbps=values(shared, cca, True, "goodput_mbps"),
            p95_rtt_ms=values(shared, cca, True, "p95_rtt_ms"),
            loss=values(shared, cca, True, "loss_ratio"),
            alone_mbps=values("alone", cca, True, "goodput_mbps"),
            alone_rtt_ms=values("alone", cca, True, "p95_rtt_ms"),
            beside_mbps=[] if beside is None else values("shared", cca, False, "goodput_mbps"),
            beside_rtt_ms=[] if beside is None else values("shared", cca, False, "mean_rtt_ms"),
            jain=[jain[f"{shared}/{cca}/{number}"] for number in runs],
        )
    # In a run of those beside alone they have the place of the candidates.
    return Round(
        measured=measured,
        idle_mbps=[] if beside is None else values("idle", "", True, "goodput_mbps"),
        idle_rtt_ms=[] if beside is None else values("idle", "", True, "mean_rtt_ms"),
        duration_s=duration_s,
        warmup_s=duration_s * _WARMUP,
    )


def cca_of(scenario: str) -> str:
    """The candidate of a scenario of `measure`, by its name; "" without one."""
    return scenario.split("/")[1]


def _rows(flows: pl.DataFrame, own: int) -> dict[tuple[str, bool], dict[str, float]]:
    """By scenario, and whether the flows are the candidate's: goodput together, RTTs weighted by it, loss.

    The groups of a run that has only those beside count as the candidate's.
    """
    import polars as pl

    weight = pl.col("goodput_mbps") + 1e-9  # A flow that gets nothing has RTTs, too.
    # As the results have it: some may have been sent before the warmup, or copied by a wire.
    carried = pl.max_horizontal("sent_pkts", pl.col("delivered_pkts") + pl.col("lost_pkts"))
    counted = pl.col("lost_pkts").sum() / pl.max_horizontal(carried.sum(), 1)

    def weighted(column: str) -> pl.Expr:
        known = pl.col(column).is_not_null()
        return ((pl.col(column) * weight).sum() / weight.filter(known).sum()).alias(column)

    first = (pl.col("flow") < own) | pl.col("scenario").str.starts_with("idle/")
    table = flows.group_by("scenario", first.alias("own")).agg(
        pl.col("goodput_mbps").sum(),
        weighted("mean_rtt_ms"),
        weighted("p95_rtt_ms"),
        counted.alias("loss_ratio"),
    )
    return {(row.pop("scenario"), row.pop("own")): row for row in table.iter_rows(named=True)}
