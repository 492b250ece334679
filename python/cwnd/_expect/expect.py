"""`cwnd.expect`: the expectations of scenarios, decided on their results."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import tomli_w

from cwnd import _cwnd
from cwnd._common.errors import error, one_line
from cwnd._common.rows import fold
from cwnd._expect.judge import FAIL, PASS, UNSEEN, Verdict, judge
from cwnd._expect.record import Record, record_of
from cwnd._expect.sources import Source, UnseenError
from cwnd._results.results import Results
from cwnd._scenario.scenario import Scenario

if TYPE_CHECKING:
    import polars as pl

    from cwnd._common.shapes import Entry, ExpectationJson

#: The name that results of the simulator have for their world.
_SIMULATOR = "sim"

#: A table as TOML would have it: texts and numbers.
Table = Mapping[str, "str | float"]


class Decided(NamedTuple):
    """One expectation over all runs of a scenario."""

    scenario: str
    #: The expectation in words.
    expected: str
    #: "pass", "fail" or "cannot be seen".
    verdict: str
    #: The value of the first run with this verdict, or why there is none.
    found: str
    #: The runs with this verdict.
    seeds: list[int]
    why: str

    @property
    def ok(self) -> bool:
        """It was seen to hold."""
        return self.verdict == PASS

    def __str__(self) -> str:
        head = f"{self.scenario}: {self.expected}: {self.verdict}: {self.found}"
        seeds = f" (seed {', '.join(map(str, self.seeds[:3]))}{', ...' if len(self.seeds) > 3 else ''})"
        reason = f"; {self.why}" if self.why and self.verdict != PASS else ""
        return head + (seeds if self.verdict == FAIL else "") + reason


class Expected(NamedTuple):
    """The verdicts on all expectations."""

    decided: list[Decided]

    @property
    def ok(self) -> bool:
        """Every expectation was seen to hold."""
        return all(one.ok for one in self.decided)

    def __str__(self) -> str:
        counts = [
            f"{sum(one.verdict == verdict for one in self.decided)} {words}"
            for verdict, words in ((PASS, "passed"), (FAIL, "failed"), (UNSEEN, "cannot be seen"))
        ]
        lines = [str(one) for one in self.decided if not one.ok]
        return "\n".join([*lines, f"Expectations: {', '.join(counts)}"])


def expect(
    results: Results,
    expectations: Iterable[Table] = (),
    *,
    scenarios: Iterable[Scenario] = (),
) -> Expected:
    """Decides what the scenarios of results expect, and `expectations` of each of them besides.

    Args:
        expectations: tables with the keys of `[[expect]]`, such as
            `{"series": "cwnd_pkts", "after": "cut", "at_least": 2}`.
        scenarios: those whose algorithms are classes, which results do not keep. Without them, events and
            windows of such flows cannot be seen.

    Events, and the windows of flows at each ACK, are those of a second run in the simulator, which is the
    same. In other worlds windows are those of the samples, and events cannot be seen.

    Raises:
        Error: a table is no expectation of a scenario.
    """
    given = {one.name: one for one in scenarios}
    tables = list(expectations)
    decided: list[Decided] = []
    for entry in results.entries:
        name = entry["scenario"]["name"]
        own = list(entry["scenario"].get("expect", []))
        inner = given[name]._inner if name in given else None
        if tables:
            own += _read(tables, inner or _rebuilt(entry))
        if own:
            decided += _decide(results, entry, own, inner)
    return Expected(decided)


def _read(tables: Sequence[Table], scenario: _cwnd.Scenario) -> list[ExpectationJson]:
    for table in tables:
        for key, value in table.items():
            if not isinstance(value, str | int | float):
                raise error(one_line(key), "neither a text nor a number")
    text = tomli_w.dumps({"expect": [dict(table) for table in tables]})
    read: list[ExpectationJson] = json.loads(_cwnd.expectations(text, "expectations", scenario))
    return read


def _rebuilt(entry: Entry) -> _cwnd.Scenario:
    return _cwnd.Scenario.from_json(json.dumps(entry["scenario"], default=fold))


def _decide(
    results: Results, entry: Entry, expectations: list[ExpectationJson], inner: _cwnd.Scenario | None
) -> list[Decided]:
    name = entry["scenario"]["name"]
    sources = {seed: _source(results, entry, seed, inner) for seed in entry["seeds"]}
    decided = []
    for expectation in expectations:
        verdicts = {seed: judge(expectation, source) for seed, source in sources.items()}
        worst = next(
            one for one in (FAIL, UNSEEN, PASS) if any(made.verdict == one for made in verdicts.values())
        )
        seeds = [seed for seed, made in verdicts.items() if made.verdict == worst]
        first = verdicts[seeds[0]]
        decided.append(Decided(name, first.expected, worst, first.found, seeds, expectation.get("why", "")))
    return decided


def _source(results: Results, entry: Entry, seed: int, inner: _cwnd.Scenario | None) -> Source:
    name = entry["scenario"]["name"]

    def read(table: str) -> pl.DataFrame:
        rows: pl.DataFrame = getattr(results, table)
        return rows.filter(scenario=name, seed=seed)

    def record() -> dict[int, Record]:
        if entry["world"] != _SIMULATOR:
            raise UnseenError(f"'{entry['world']}' does not show the calls of an algorithm")
        if entry["engine"]["version"] != _cwnd.__version__:
            raise UnseenError(f"made by version {entry['engine']['version']}, this is {_cwnd.__version__}")
        try:
            return record_of(inner or _rebuilt(entry), seed)
        except _cwnd.Error as refused:
            raise UnseenError(str(refused)) from None

    metrics = results.metrics_by_scenario.get(name)
    row = next(metrics.filter(seed=seed).iter_rows(named=True), {}) if metrics is not None else {}
    return Source({key: float(value) for key, value in row.items() if key != "seed"}, read, record)


__all__ = ["Decided", "Expected", "Verdict", "expect"]
