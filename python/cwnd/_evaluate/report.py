"""The reports of an evaluation: a page, a text for a draft, JSON; all from one structure."""

from __future__ import annotations

import io
import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict

if TYPE_CHECKING:
    from typing_extensions import NotRequired


from cwnd._analysis.harm import Estimate
from cwnd._common.errors import one_line, os_error
from cwnd._common.files import write_file
from cwnd._common.text import digits
from cwnd._evaluate.evidence import AUTHOR, FAIL, NOT_RUN, PASS, UNDECIDED, Finding
from cwnd._evaluate.judge import Judged
from cwnd._report import page


class EstimateJson(TypedDict):
    """A mean and the ends of its 95 % interval; None: it has none."""

    mean: float
    ci95_low: float | None
    ci95_high: float | None


class FindingJson(TypedDict):
    """A value of a scenario beside the baseline's; `verdict` is None if it is shown and not judged."""

    case: str
    metric: str
    unit: str
    value: EstimateJson | None
    baseline: EstimateJson | None
    bound: float | None
    verdict: str | None
    at_s: NotRequired[float]


class CriterionJson(TypedDict):
    """A criterion with its verdict."""

    id: str
    section: str
    level: str
    title: str
    asks: str
    rules: list[str]
    scenarios: list[str]
    metrics: list[FindingJson]
    verdict: str
    reason: str | None


class Content(TypedDict):
    """Everything that the JSON has."""

    algorithm: str
    baseline: str
    suite: str
    quick: bool
    seeds: int
    world: str
    cwnd: str
    criteria: list[CriterionJson]
    worst_cases: NotRequired[list[str]]


VERDICTS = (PASS, FAIL, UNDECIDED, NOT_RUN, AUTHOR)
_MEANING = (
    "Values are means over the seeds with 95 % intervals (Student's t). A value passes if its whole interval "
    "is within the bound, fails if all of it is beyond, and is undecided if the interval covers the bound. A "
    "criterion fails if one value does, is undecided if one value is, and passes otherwise."
)
_UNUSUAL = (
    "RFC 9743 asks for unusual conditions, too. Paths on which the algorithm fails and another one does not, "
    "as a search found them:"
)
_PROSE_MAX = 1 << 20
_STYLE = """
.verdict { display: inline-block; padding: 0 .5em; border-radius: .3em; font-weight: 600; color: #fff;
  font-size: .85em; white-space: nowrap; }
.pass { background: #1b6e3c; } .fail { background: #a51c1c; } .undecided { background: #8a5a00; }
.not-run { background: #666; } .author { background: #1f4e79; }
td a { color: #1f4e79; } details { margin: .5rem 0; } summary { cursor: pointer; }
.prose { border-left: 3px solid #1f4e79; padding: .2rem 0 .2rem .8rem; margin: .8rem 0; }
.place { border-left-style: dashed; color: #555; }
h2 .verdict { vertical-align: .1em; } .rule { margin: .3rem 0; }
table.criteria td { white-space: normal; }
"""


def to_json(content: Content) -> str:
    return json.dumps(content, indent=1, allow_nan=False) + "\n"


def describe(judged: Judged) -> CriterionJson:
    """A criterion as the JSON has it."""
    criterion = judged.criterion
    return {
        "id": criterion.id,
        "section": criterion.section,
        "level": criterion.level,
        "title": criterion.title,
        "asks": criterion.asks,
        "rules": criterion.rules,
        "scenarios": [case.name for case in criterion.cases],
        "metrics": [_describe_finding(finding) for finding in judged.findings],
        "verdict": judged.verdict,
        "reason": judged.reason or None,
    }


def _describe_finding(finding: Finding) -> FindingJson:
    described: FindingJson = {
        "case": finding.case,
        "metric": finding.metric,
        "unit": finding.unit,
        "value": _describe_estimate(finding.value),
        "baseline": _describe_estimate(finding.baseline),
        "bound": finding.bound,
        "verdict": finding.verdict,
    }
    return described if finding.at_s is None else {**described, "at_s": finding.at_s}


def _describe_estimate(value: Estimate | None) -> EstimateJson | None:
    if value is None:
        return None
    return {"mean": value.mean, "ci95_low": _finite(value.low), "ci95_high": _finite(value.high)}


def _finite(number: float) -> float | None:
    return number if math.isfinite(number) else None


def write(content: Content, judged: Sequence[Judged], folder: Path) -> None:
    """Writes report.json, report.md, report.html and a figure for each criterion; keeps prose/."""
    # Not before they are used: they import matplotlib.
    from cwnd._evaluate import figures
    from cwnd._report.figures import write_svg

    try:
        prose = _read_prose(judged, folder / "prose")
        (folder / "figures").mkdir(parents=True, exist_ok=True)
        drawn, files = {}, {}
        for one in judged:
            figure = figures.draw(one, content["algorithm"], content["baseline"])
            if figure is not None:
                svg = io.BytesIO()
                write_svg(figure, svg)
                drawn[one.criterion.id] = svg.getvalue()
                files[one.criterion.id] = f"figures/{one.criterion.id}.svg"
                write_file(folder / files[one.criterion.id], svg.getbuffer())
        write_file(folder / "report.json", to_json(content).encode())
        write_file(folder / "report.md", markdown(content, judged, prose, files).encode())
        write_file(folder / "report.html", _html(content, judged, prose, drawn).encode())
    except OSError as failed:
        raise os_error(one_line(str(failed.filename or folder)), failed) from None


def _read_prose(judged: Sequence[Judged], folder: Path) -> dict[str, str]:
    """The author's texts by criterion: prose/ID.md, where there is one."""
    texts = {}
    for one in judged:
        try:
            with (folder / f"{one.criterion.id}.md").open(encoding="utf-8") as file:
                texts[one.criterion.id] = file.read(_PROSE_MAX).strip()
        except FileNotFoundError:
            continue
    return texts


def facts(content: Content) -> str:
    quick = ", quick" if content["quick"] else ""
    return (
        f"Baseline {content['baseline']}. Set of scenarios {content['suite']}{quick}, "
        f"{content['seeds']} seeds, world {content['world']}, cwnd {content['cwnd']}."
    )


def summary(judged: Sequence[Judged]) -> str:
    """The number of criteria with each verdict, in words."""
    counts = {word: sum(one.verdict == word for one in judged) for word in VERDICTS}
    shown = {AUTHOR: "for the author"}
    return ", ".join(f"{count} {shown.get(word, word)}" for word, count in counts.items() if count)


def tally(judged: Judged) -> str:
    """The reason of a verdict in a few words: how many values decide it."""
    if judged.verdict == NOT_RUN:
        return judged.reason
    if judged.verdict == AUTHOR:
        return "text of the author"
    verdicts = [one.verdict for one in judged.findings if one.verdict is not None]
    if judged.verdict == PASS:
        return f"all {len(verdicts)} values" if len(verdicts) > 1 else "1 value"
    return f"{verdicts.count(judged.verdict)} of {len(verdicts)} values"


def _cells(finding: Finding) -> list[str]:
    return [
        finding.case,
        f"{finding.metric} ({finding.unit})" if finding.unit else finding.metric,
        _number(finding.value),
        _number(finding.baseline),
        "" if finding.bound is None else digits(finding.bound),
        finding.verdict or "shown",
    ]


_HEADINGS = ["scenario", "metric", "value", "baseline", "bound", "verdict"]


def _number(value: Estimate | None) -> str:
    if value is None:
        return "-"
    if not math.isfinite(value.high) or value.low == value.high:
        return digits(value.mean)
    return f"{digits(value.mean)} [{digits(value.low)}, {digits(value.high)}]"


def _place(judged: Judged) -> str:
    name = f"prose/{judged.criterion.id}.md"
    return f"Place for the author's text: {name}"


def markdown(
    content: Content, judged: Sequence[Judged], prose: Mapping[str, str], drawn: Mapping[str, str]
) -> str:
    """The text for a draft; `drawn` has the file of each criterion's figure, if there is one."""
    lines = [
        f"# Evaluation of {content['algorithm']}",
        "",
        f"{facts(content)} {summary(judged).capitalize()}.",
        "",
        _MEANING,
        "",
        *_md_table(
            ["criterion", "verdict", "level", "because of", "section"],
            [
                [one.criterion.title, one.verdict, one.criterion.level, tally(one), one.criterion.section]
                for one in judged
            ],
        ),
    ]
    for one in judged:
        criterion = one.criterion
        lines += [
            "",
            f"## {criterion.title}",
            "",
            f"{criterion.section}, {criterion.level}. {criterion.asks}",
            "",
        ]
        lines += [f"Verdict: **{one.verdict}**{f' ({one.reason})' if one.reason else ''}.", ""]
        lines += [f"- {rule}" for rule in criterion.rules if rule]
        if criterion.id in drawn:
            lines += ["", f"![{criterion.title}]({drawn[criterion.id]})"]
        if one.findings:
            shown = [finding for finding in one.findings if finding.at_s is None]
            lines += ["", *_md_table(_HEADINGS, [_cells(finding) for finding in shown])]
        lines += ["", prose.get(criterion.id, f"<!-- {_place(one)} -->")]
    if "worst_cases" in content:
        lines += ["", "## Unusual conditions", "", _UNUSUAL, ""]
        lines += [f"- {sentence}" for sentence in content["worst_cases"]] or ["- none was found"]
    return "\n".join(lines) + "\n"


def _md_table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    def line(cells: Sequence[str]) -> str:
        return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"

    return [line(headings), f"|{'---|' * len(headings)}", *map(line, rows)]


def _html(
    content: Content, judged: Sequence[Judged], prose: Mapping[str, str], drawn: Mapping[str, bytes]
) -> str:
    title = f"Evaluation of {content['algorithm']}"
    rows = "\n".join(
        f'<tr><td class="text"><a href="#{one.criterion.id}">{page.escape(one.criterion.title)}</a></td>'
        f'<td class="text">{_badge(one.verdict)}</td><td class="text">{one.criterion.level}</td>'
        f'<td class="text">{page.escape(tally(one))}</td>'
        f'<td class="text">{page.escape(one.criterion.section)}</td></tr>'
        for one in judged
    )
    head = "".join(
        f'<th class="text">{name}</th>' for name in ("criterion", "verdict", "level", "because of", "section")
    )
    parts = [
        f"<h1>{page.escape(title)}</h1>",
        f"<p>{page.escape(facts(content))} {page.escape(summary(judged).capitalize())}.</p>",
        f"<p class=note>{page.escape(_MEANING)}</p>",
        f'<div class="table"><table class="criteria"><thead><tr>{head}</tr></thead>',
        f"<tbody>{rows}</tbody></table></div>",
        *(_section(one, prose.get(one.criterion.id), drawn.get(one.criterion.id)) for one in judged),
    ]
    if "worst_cases" in content:
        items = "".join(
            f"<li>{page.escape(one)}</li>" for one in content["worst_cases"] or ["none was found"]
        )
        parts.append(f"<h2>Unusual conditions</h2><p>{page.escape(_UNUSUAL)}</p><ul>{items}</ul>")
    return page.document(title, "\n".join(parts), _STYLE)


def _badge(verdict: str) -> str:
    return f'<span class="verdict {verdict.replace(" ", "-")}">{verdict}</span>'


def _section(judged: Judged, prose: str | None, svg: bytes | None) -> str:
    criterion = judged.criterion
    parts = [
        f'<h2 id="{criterion.id}">{page.escape(criterion.title)} {_badge(judged.verdict)}</h2>',
        f"<p>{page.escape(f'{criterion.section}, {criterion.level}. {criterion.asks}')}</p>",
    ]
    if judged.reason:
        parts.append(f"<p>Not run: {page.escape(judged.reason)}.</p>")
    parts += [f'<p class="note rule">{page.escape(f"Rule: {rule}.")}</p>' for rule in criterion.rules if rule]
    if svg is not None:
        caption = "Means and 95 % intervals; the numbers are in the table below."
        parts.append(page.image(svg, criterion.title, caption))
    if judged.findings:
        table = page.table(_HEADINGS, [_cells(finding) for finding in judged.findings], 2)
        parts.append(f"<details><summary>{len(judged.findings)} values</summary>{table}</details>")
    if prose is None:
        parts.append(f'<p class="prose place">{page.escape(_place(judged))}</p>')
    else:
        paragraphs = "".join(f"<p>{page.escape(text)}</p>" for text in prose.split("\n\n"))
        parts.append(f'<div class="prose">{paragraphs}</div>')
    return "\n".join(parts)
