"""The verdicts of a gate, as text, JSON, Markdown and JUnit's XML."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple
from xml.etree import ElementTree

from cwnd._common.errors import one_line
from cwnd._common.text import markdown

if TYPE_CHECKING:
    from cwnd._expect.expect import Decided

_WORDS = ("worse", "undecided", "ok")

_EXPLAINED = """\
Each point is compared seed by seed. *ok*: the whole 95 % interval of the change is within the margin. \
*worse*: a loss beyond the margin is shown. *undecided*: neither is shown, so it does not pass.\
"""


class Verdict(NamedTuple):
    """The verdict of `gate` on one metric of one point.

    `word` is ok, worse or undecided. `change`, `low` and `high` are the mean difference and its 95 %
    interval, as fractions of `baseline`, the baseline's mean; `low` and `high` are infinite for one seed.
    `advice` says what an undecided point needs, `seeds_needed` how many seeds that is, where more would help.
    """

    point: str
    metric: str
    unit: str
    margin: float
    word: str
    change: float
    low: float
    high: float
    baseline: float
    seeds: int
    seeds_needed: int | None
    advice: str

    @property
    def ok(self) -> bool:
        return self.word == "ok"

    @property
    def interval(self) -> str:
        """The ends of the interval in percent."""
        if math.isinf(self.low) and math.isinf(self.high) and self.low != self.high:
            return "[one seed]"
        return f"[{self.percent(self.low)}, {self.percent(self.high)}]"

    def percent(self, share: float) -> str:
        """A change in percent, with as many digits as the margin asks for."""
        digits = 1 if self.margin >= 0.01 else 3
        return f"{round(100 * share, digits) + 0.0:+.{digits}f}"  # Adding 0.0 turns -0.0 into 0.0.

    @property
    def baseline_text(self) -> str:
        number = f"{self.baseline:.1f}" if self.baseline >= 10 else f"{self.baseline:.3g}"
        return f"{number} {self.unit}".rstrip()

    @property
    def line(self) -> str:
        """The verdict as one line."""
        return _line(self, 0, 0, 0, 0)


class Gate:
    """The outcome of `cwnd.gate`.

    `verdicts` has a `Verdict` for each metric and point, `expected` what became of each expectation of the
    candidate's scenarios.
    """

    def __init__(self, verdicts: Sequence[Verdict], expected: Sequence[Decided]) -> None:
        self.verdicts = list(verdicts)
        self.expected = list(expected)

    @property
    def ok(self) -> bool:
        """True if every verdict is ok and every expectation was seen to hold."""
        return all(verdict.ok for verdict in self.verdicts) and not self.unmet

    @property
    def unmet(self) -> list[Decided]:
        """The expectations that failed or could not be seen."""
        return [one for one in self.expected if not one.ok]

    @property
    def lines(self) -> list[str]:
        """A line for each verdict, in columns, and one for each expectation."""
        widths = (
            max((len(verdict.word) for verdict in self.verdicts), default=0),
            max((len(one_line(verdict.point)) + 1 for verdict in self.verdicts), default=0),
            max((len(verdict.metric) for verdict in self.verdicts), default=0),
            max((len(verdict.percent(verdict.change)) for verdict in self.verdicts), default=0),
        )
        return [_line(verdict, *widths) for verdict in self.verdicts] + [str(one) for one in self.expected]

    def to_json(self) -> str:
        """`{"ok", "verdicts", "expected"}`; an object for each verdict, with changes as fractions of the
        baseline, and one for each expectation.

        Ends of intervals that one seed does not have are null, as is a change relative to a baseline of 0.
        """
        verdicts = [
            {
                "point": verdict.point,
                "metric": verdict.metric,
                "margin": verdict.margin,
                "verdict": verdict.word,
                "change": _finite(verdict.change),
                "ci95_low": _finite(verdict.low),
                "ci95_high": _finite(verdict.high),
                "baseline": verdict.baseline,
                "unit": verdict.unit,
                "seeds": verdict.seeds,
                "seeds_needed": verdict.seeds_needed,
                "line": verdict.line,
            }
            for verdict in self.verdicts
        ]
        content = {
            "ok": self.ok,
            "verdicts": verdicts,
            "expected": [one._asdict() | {"line": str(one)} for one in self.expected],
        }
        return json.dumps(content, allow_nan=False, separators=(",", ":"))

    def to_markdown(self) -> str:
        """Returns a summary as Markdown: counts by verdict, a table of the failed verdicts, the failed
        expectations, and a folded table of all verdicts."""
        failed = [verdict for verdict in self.verdicts if not verdict.ok]
        failed.sort(key=lambda verdict: _WORDS.index(verdict.word))
        counts = ((word, sum(one.word == word for one in self.verdicts)) for word in _WORDS)
        counted = ", ".join(f"{count} {word}" for word, count in counts if count)
        parts = [
            f"## cwnd gate: {'passed' if self.ok else 'failed'}",
            f"{counted}, of {len(self.verdicts)} comparisons. {_EXPLAINED}",
        ]
        if failed:
            parts.append(_table(failed))
        if self.expected:
            met = len(self.expected) - len(self.unmet)
            parts.append(f"{met} of {len(self.expected)} expectations hold.")
        if self.unmet:
            parts.append("\n".join(f"- {markdown(str(one))}" for one in self.unmet))
        every = _table(self.verdicts)
        parts.append(f"<details><summary>All comparisons</summary>\n\n{every}\n\n</details>")
        return "\n\n".join(parts) + "\n"

    def to_junit(self) -> str:
        """XML as JUnit writes it, which CI services show: a test suite for each metric, a case for each
        point; a suite of the expectations."""
        suites = ElementTree.Element("testsuites", _counts([*self.verdicts, *self.expected], "cwnd gate"))
        for metric in dict.fromkeys(verdict.metric for verdict in self.verdicts):
            own = [verdict for verdict in self.verdicts if verdict.metric == metric]
            suite = ElementTree.SubElement(suites, "testsuite", _counts(own, metric))
            for verdict in own:
                _add_case(suite, metric, verdict.point, "" if verdict.ok else verdict.word, verdict.line)
        if self.expected:
            suite = ElementTree.SubElement(suites, "testsuite", _counts(self.expected, "expectations"))
            for one in self.expected:
                name = f"{one.scenario}: {one.expected}"
                _add_case(suite, "expectations", name, "" if one.ok else one.verdict, str(one))
        ElementTree.indent(suites)
        return ElementTree.tostring(suites, "unicode", xml_declaration=True) + "\n"

    def __repr__(self) -> str:
        passed = sum(verdict.ok for verdict in self.verdicts)
        unmet = f", {len(self.unmet)} expectations unmet" if self.unmet else ""
        return f"<cwnd.Gate: {passed} of {len(self.verdicts)} ok{unmet}>"


def _counts(judged: Sequence[Verdict | Decided], name: str) -> dict[str, str]:
    failures = sum(not one.ok for one in judged)
    return {"name": name, "tests": str(len(judged)), "failures": str(failures), "errors": "0"}


def _add_case(suite: ElementTree.Element, kind: str, name: str, failure: str, line: str) -> None:
    """Adds a test case; `failure` is the kind of its failure, if there is one."""
    case = ElementTree.SubElement(suite, "testcase", classname=f"cwnd gate.{kind}", name=one_line(name))
    if failure:
        ElementTree.SubElement(case, "failure", {"type": failure, "message": line}).text = line


def _line(verdict: Verdict, word_width: int, name_width: int, metric_width: int, change_width: int) -> str:
    name = f"{one_line(verdict.point)}:"
    advice = f"; {verdict.advice}" if verdict.advice else ""
    return (
        f"{verdict.word:<{word_width}} {name:<{name_width}} {verdict.metric:<{metric_width}} "
        f"{verdict.percent(verdict.change):>{change_width}} % {verdict.interval} of {verdict.baseline_text}, "
        f"margin {100 * verdict.margin:g} %{advice}"
    )


def _table(verdicts: Sequence[Verdict]) -> str:
    rows = [
        ["verdict", "point", "metric", "change", "95 % interval", "baseline", "margin", ""],
        ["---", "---", "---", "--:", "---", "--:", "--:", "---"],
    ]
    rows += [
        [
            verdict.word if verdict.ok else f"**{verdict.word}**",
            markdown(verdict.point),
            verdict.metric,
            f"{verdict.percent(verdict.change)} %",
            verdict.interval,
            verdict.baseline_text,
            f"{100 * verdict.margin:g} %",
            verdict.advice,
        ]
        for verdict in verdicts
    ]
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
