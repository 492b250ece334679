"""The verdict on each published number and each claim."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from cwnd._common.errors import MissingError
from cwnd._reproduce.claims import Claim, SeedEstimate
from cwnd._reproduce.measure import Measured
from cwnd._reproduce.paper import Item

#: The name in a scenario (the last part of a key) of each published column.
_COLUMNS = {"buffer_pkts": "buffer", "per": "per"}

#: A metric whose runs in an item lie within this share of each other cannot differ there, and judges nothing.
#: Jain's index of RTTs that are nearly all propagation delay is one.
_ONE_VALUE = 1e-5


class Number(NamedTuple):
    """A published value beside ours. `verdict` is agrees, differs, not judged or not run."""

    item: str
    row: dict[str, str]
    metric: str
    ours: SeedEstimate | None
    verdict: str
    #: Why it differs; None if it agrees or the cause is unknown.
    cause: str | None
    #: The simulator's value, where `ours` is that of another world.
    simulated: SeedEstimate | None


class Judged(NamedTuple):
    """A claim. `verdict` is holds, fails or not run."""

    claim: Claim
    verdict: str
    measured: str


def numbers(measured: Measured, simulated: Measured | None) -> list[Number]:
    """The verdict on each published value of the selected items, in the order of published.csv."""
    item_of: dict[tuple[str, str], Item] = {}
    for item in measured.selection.items:
        for metric in item.metrics:
            item_of.setdefault((item.published or "", metric), item)
    judged = []
    judges = {
        (item.name, metric): _can_differ(measured, item, metric)
        for item in measured.selection.items
        for metric in item.metrics
    }
    for row in measured.paper.published:
        its = item_of.get((row["item"], row["metric"]))
        if its is None:
            continue
        ours = _ours(measured, its, row, None)
        value = float(row["value"])
        if ours is None:
            verdict = "not run"
        elif not judges[its.name, row["metric"]]:
            verdict = "not judged"
        else:
            verdict = "agrees" if ours.agrees(value) else "differs"
        cause = _cause(measured, its, row, value, ours, simulated) if verdict == "differs" else None
        beside = None if simulated is None else _ours(simulated, its, row, None)
        judged.append(Number(its.name, row, its.metrics[row["metric"]], ours, verdict, cause, beside))
    return judged


def _can_differ(measured: Measured, item: Item, metric: str) -> bool:
    """Returns false if all runs of an item, which are several, have one value."""
    values = []
    for variant in measured.variants(item.name):
        try:
            series = measured(item.name, variant, metric)
        except MissingError:
            continue
        values += [value for quantity in series.points.values() for value in quantity.by_seed.values()]
    return len(values) < 2 or max(values) - min(values) > _ONE_VALUE * max(map(abs, values))


def _ours(measured: Measured, item: Item, row: Mapping[str, str], reading: str | None) -> SeedEstimate | None:
    """Our value to compare with a published one."""
    try:
        series = measured(item.name, row["cca"], row["metric"], reading=reading)
    except (MissingError, KeyError):
        return None
    wanted = {key: float(row[column]) for column, key in _COLUMNS.items() if row.get(column)}
    for quantity in series.points.values():
        if all(wanted.get(key.rpartition(".")[2]) == value for key, value in quantity.of.items()):
            estimate: SeedEstimate = quantity.estimate
            return estimate
    return None


def _cause(
    measured: Measured,
    item: Item,
    row: Mapping[str, str],
    value: float,
    ours: SeedEstimate | None,
    simulated: Measured | None = None,
) -> str | None:
    """The first cause that the values bear out; a reading that this world did not run is the simulator's."""
    for cause in measured.paper.causes:
        if any(row.get(column) not in values for column, values in cause.of.items()):
            continue
        if cause.tested is not None:
            return cause.text
        of = ours if cause.reading is None else _ours(measured, item, row, cause.reading)
        if of is None and simulated is not None:
            of = _ours(simulated, item, row, cause.reading)
        if of is None:
            continue
        if cause.within == "runs" and of.least <= value <= of.most:
            return cause.text
        decimals = len(row["value"].partition(".")[2])
        if cause.within == "rounding" and round(of.mean, decimals) == value:
            return cause.text
        if cause.within is None and of.agrees(value):
            return cause.text
    return None


def read_so(measured: Measured, about: Sequence[Number], reading: str) -> list[tuple[Number, bool]]:
    """The numbers that a reading was run for, and whether each agrees with it."""
    compared = []
    for one in about:
        so = _ours(measured, measured.items[one.item], one.row, reading)
        if so is not None:
            compared.append((one, so.agrees(float(one.row["value"]))))
    return compared


def judge(measured: Measured) -> list[Judged]:
    """The verdict on each claim."""
    judged = []
    for claim in measured.paper.claims:
        try:
            outcome = claim.test(measured)
        except MissingError:
            judged.append(Judged(claim, "not run", ""))
            continue
        judged.append(Judged(claim, "holds" if outcome.holds else "fails", outcome.measured))
    return judged
