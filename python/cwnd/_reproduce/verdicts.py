"""The output of `cwnd reproduce`: numbers, claims, tables, figures."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from cwnd._common.errors import MissingError, one_line, os_error
from cwnd._common.files import write_file
from cwnd._common.text import digits, exponent
from cwnd._reproduce.claims import SeedEstimate
from cwnd._reproduce.judge import Judged, Number, judge, numbers, read_so
from cwnd._reproduce.measure import Measured
from cwnd._reproduce.paper import Item, Reading

_OURS = "ours `--on {}` behind it, in brackets the simulator's"


class Summary(NamedTuple):
    """Counts of numbers and claims by verdict, without those that were not run or not judged."""

    numbers: int
    agree: int
    differ: int
    explained: int
    claims: int
    hold: int
    fail: int

    def __str__(self) -> str:
        return (
            f"{self.numbers} numbers: {self.agree} agree, {self.differ} differ ({self.explained} explained); "
            f"{self.claims} claims: {self.hold} hold, {self.fail} fail"
        )


class ReadSo(NamedTuple):
    """Counts of numbers that agree and claims that hold, as the paper is read here and by another reading."""

    numbers: int
    agree: int
    agree_so: int
    claims: int
    hold: int
    hold_so: int


class Reproduction:
    """A re-run paper with its verdicts; `simulated` is for values of another world."""

    def __init__(self, measured: Measured, simulated: Measured | None = None) -> None:
        self.measured = measured
        self.paper = measured.paper
        self.numbers: list[Number] = numbers(measured, simulated)
        self.claims: list[Judged] = judge(measured)

    @property
    def summary(self) -> Summary:
        return _summary(self.numbers, self.claims)

    def to_dict(self) -> dict[str, object]:
        """The reproduction as JSON."""
        return {
            "name": self.paper.name,
            "title": self.paper.title,
            "citation": self.paper.citation,
            "quick": self.measured.selection.quick,
            "seeds": self.measured.selection.seeds,
            "world": self.measured.selection.world,
            "summary": self.summary._asdict(),
            "numbers": [_number(one) for one in self.numbers],
            "claims": [
                {
                    "name": one.claim.name,
                    "where": one.claim.where,
                    "text": one.claim.text,
                    "verdict": one.verdict,
                    "measured": one.measured,
                    "why": one.claim.why if one.verdict == "fails" else None,
                }
                for one in self.claims
            ],
            "readings": [
                {"name": reading.name, "about": reading.about, **counts._asdict()}
                for reading, counts in self.readings()
            ],
        }

    def readings(self) -> list[tuple[Reading, ReadSo]]:
        """Each other reading that was run, with what agrees and holds without it, and with it."""
        held = {one.claim.name: one.verdict for one in self.claims}
        parts = []
        for reading in self.paper.readings.values():
            about = [
                one
                for one in self.numbers
                if one.item in reading.items and one.row["cca"] in reading.variants and one.ours is not None
            ]
            so = read_so(self.measured, about, reading.name)
            if so:
                claims = [
                    one for one in judge(self.measured.read_as(reading.name)) if one.verdict != "not run"
                ]
                counts = ReadSo(
                    len(so),
                    sum(one.verdict == "agrees" for one, _ in so),
                    sum(agrees for _, agrees in so),
                    len(claims),
                    sum(held[one.claim.name] == "holds" for one in claims),
                    sum(one.verdict == "holds" for one in claims),
                )
                parts.append((reading, counts))
        return parts

    def items(self) -> list[tuple[Item, Summary]]:
        """The verdicts by item."""
        return [
            (item, _summary([one for one in self.numbers if one.item == item.name], []))
            for item in self.measured.selection.items
        ]

    def write(self, folder: Path) -> None:
        """Writes verdicts.json, numbers.csv if there are any, verdicts.md and the figures."""
        from cwnd._report.figures import write_figures
        from cwnd._reproduce import figures as paper_figures

        shown = one_line(str(folder))
        try:
            figures = folder / "figures"
            figures.mkdir(parents=True, exist_ok=True)
            write_file(folder / "verdicts.json", json.dumps(self.to_dict(), indent=1).encode() + b"\n")
            if self.numbers:
                write_file(folder / "numbers.csv", self._csv().encode())
            write_file(folder / "verdicts.md", self.markdown().encode())
            for figure in self.paper.figures.values():
                try:
                    drawing = paper_figures.draw(self.measured, self.numbers, figure)
                except MissingError:
                    continue
                write_figures(drawing, figures, figure.name)
            for trace in self.measured.selection.traces:
                drawing = paper_figures.draw_trace(self.measured, trace)
                write_figures(drawing, figures, trace.name)
        except OSError as failed:
            raise os_error(shown, failed) from None

    def _csv(self) -> str:
        out = io.StringIO()
        rows = [_number(one) for one in self.numbers]
        writer = csv.DictWriter(out, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
        return out.getvalue()

    def markdown(self) -> str:
        """The verdicts for a reader: the summary, the claims, a table for each item."""
        world = self.measured.selection.world
        where, ours = ("", "ours behind it") if world == "sim" else (f" --on {world}", _OURS.format(world))
        parts = [f"# {self.paper.title}: the verdicts{where}\n", f"{self.summary}.\n"]
        parts.append(
            f"A published value is in front, {ours}, with half the width of the 95 % interval where "
            "randomness plays a part. It agrees if it lies within the interval or within 10 % of our mean; "
            "**≠** marks those that do not, with the letter of the cause, or ? where it is unexplained. "
            "Where all of our runs have one value, the metric cannot differ: the number is *not judged*.\n"
        )
        with_numbers = [(item, summary) for item, summary in self.items() if summary.numbers]
        if with_numbers:
            parts.append(
                _table(
                    ["item", "", "numbers", "agree", "differ", "explained"],
                    [
                        [
                            item.name,
                            item.title,
                            summary.numbers,
                            summary.agree,
                            summary.differ,
                            summary.explained,
                        ]
                        for item, summary in with_numbers
                    ],
                )
            )
        if self.claims:
            parts.append("## Claims\n")
            parts.append(
                _table(
                    ["where", "claim", "verdict", "measured"],
                    [
                        [
                            one.claim.where,
                            one.claim.text
                            + (f" *{one.claim.why}*" if one.verdict == "fails" and one.claim.why else ""),
                            f"**{one.verdict}**" if one.verdict == "fails" else one.verdict,
                            one.measured,
                        ]
                        for one in self.claims
                        if one.verdict != "not run"
                    ],
                )
            )
        causes = list(dict.fromkeys(one.cause for one in self.numbers if one.cause is not None))
        letters = {cause: _letter(index) for index, cause in enumerate(causes)}
        if causes:
            parts.append("## Causes of what differs\n")
            for cause in self.paper.causes:
                if cause.text in letters:
                    tested = f" {cause.tested}" if cause.tested else ""
                    parts.append(f"- **{letters[cause.text]}**: {cause.text}{tested}\n")
        readings = self.readings()
        if readings:
            parts.append("## Other readings\n")
            parts.append(
                _table(
                    ["", "what it is", "numbers", "agree", "if read so", "claims", "hold", "if read so"],
                    [[one.name, one.about, *counts] for one, counts in readings],
                )
            )
        for item, _ in with_numbers:
            parts.append(f"## {item.published}: {item.title}\n")
            for metric in item.metrics:
                own = [one for one in self.numbers if one.item == item.name and one.row["metric"] == metric]
                if own:
                    parts.append(f"{metric} ({own[0].row['unit']})\n")
                    parts.append(self._numbers_table(own, letters))
        return "\n".join(parts)

    def _numbers_table(self, own: Sequence[Number], letters: dict[str, str]) -> str:
        """A row for each variant, a column for each point."""

        def point(one: Number) -> str:
            parts = [
                f"{name} {exponent(float(one.row[column]))}"
                for column, name in (("buffer_pkts", "buffer"), ("per", "PER"))
                if one.row.get(column) and len({other.row[column] for other in own}) > 1
            ]
            return ", ".join(parts)

        columns = list(dict.fromkeys(point(one) for one in own))
        rows: dict[str, dict[str, str]] = {}
        for one in own:
            rows.setdefault(one.row["cca"], {})[point(one)] = _cell(one, letters)
        labels = {name: variant.label for name, variant in self.paper.variants.items()}
        return _table(
            ["", *columns],
            [[labels.get(name, name), *(cells.get(x, "") for x in columns)] for name, cells in rows.items()],
        )


def to_json(reproductions: Sequence[Reproduction]) -> str:
    """The JSON of `cwnd reproduce`."""
    return json.dumps(
        {"summary": total(reproductions)._asdict(), "papers": [one.to_dict() for one in reproductions]}
    )


def total(reproductions: Iterable[Reproduction]) -> Summary:
    """All papers together."""
    return Summary(*(sum(column) for column in zip(*(one.summary for one in reproductions), strict=True)))


def _summary(judged: Sequence[Number], claims: Sequence[Judged]) -> Summary:
    verdicts = [one.verdict for one in judged]
    claimed = [one.verdict for one in claims]
    agree, differ = verdicts.count("agrees"), verdicts.count("differs")
    hold, fail = claimed.count("holds"), claimed.count("fails")
    explained = sum(one.cause is not None for one in judged)
    return Summary(agree + differ, agree, differ, explained, hold + fail, hold, fail)


def _number(one: Number) -> dict[str, object]:
    ours = one.ours
    return {
        "item": one.item,
        "published": one.row["item"],
        "flows": one.row["flows"],
        "per": one.row["per"],
        "buffer_pkts": one.row["buffer_pkts"],
        "cca": one.row["cca"],
        "metric": one.row["metric"],
        "unit": one.row["unit"],
        "value": float(one.row["value"]),
        "mean": ours and ours.mean,
        "ci95_low": ours and ours.low,
        "ci95_high": ours and ours.high,
        "min": ours and ours.least,
        "max": ours and ours.most,
        "n": ours and ours.n,
        "simulated": one.simulated and one.simulated.mean,
        "verdict": one.verdict,
        "cause": one.cause if one.verdict != "differs" else one.cause or "unexplained",
    }


def _cell(one: Number, letters: dict[str, str]) -> str:
    if one.ours is None:
        return f"{one.row['value']} / not run"
    text = f"{one.row['value']} / {_shown(one.ours)}"
    if one.simulated is not None:
        text += f" ({_shown(one.simulated)})"
    if one.verdict == "not judged":
        text += " *not judged*"
    if one.verdict == "differs":
        text += f" **≠** {'?' if one.cause is None else letters[one.cause]}"
    return text


def _shown(ours: SeedEstimate) -> str:
    if ours.high is None or ours.high == ours.low:
        return digits(ours.mean)
    return f"{digits(ours.mean)} ±{exponent(float(f'{ours.high - ours.mean:.2g}'))}"


def _letter(index: int) -> str:
    return chr(ord("a") + index) if index < 26 else f"a{_letter(index - 26)}"


def _table(headings: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    lines = ["| " + " | ".join(headings) + " |", "|" + "---|" * len(headings)]
    lines += ["| " + " | ".join(str(cell).replace("|", "\\|") for cell in row) + " |" for row in rows]
    return "\n".join(lines) + "\n"
