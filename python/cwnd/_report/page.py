"""One self-contained HTML page with everything of a result."""

from __future__ import annotations

import base64
import html
import io
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from cwnd._common.errors import one_line
from cwnd._common.fairness import comparison_notes
from cwnd._common.files import write_file
from cwnd._common.labels import labelled, scenario_label
from cwnd._common.metrics import METRICS
from cwnd._common.rows import distinct_algorithms, fold
from cwnd._common.text import digits, estimate
from cwnd._scenario.facts import shared_facts

if TYPE_CHECKING:
    from cwnd._common.shapes import Estimate, Manifest, ScenarioJson
    from cwnd._report.source import Source

#: Rows of a table that are shown; the rest is in the Parquet files.
_ROWS_MAX = 300
#: Most algorithms that a title names.
_NAMED_MAX = 6


class _Caption(NamedTuple):
    """Text for a figure that cannot be seen, and what to look at in it."""

    title: str
    sentence: str


_CAPTIONS = {
    "cwnd": _Caption(
        "Congestion windows over time", "How fast a window grows, and how far a loss takes it down."
    ),
    "rtt": _Caption("Smoothed round-trip times over time", "How far the RTT rises above the path's own."),
    "throughput": _Caption("Throughput over time", "How soon the link is full, and how flows share it."),
    "queue": _Caption(
        "Queue over time", "Whether the queue stays full, or empties and leaves the link idle."
    ),
    "queue-delay": _Caption(
        "Queueing delay over time",
        "How long a packet waits at each shared link, and at which delay packets are dropped or marked.",
    ),
    "throughput-buffer": _Caption(
        "Throughput against buffer", "How small a buffer may be before throughput falls."
    ),
    "lines": _Caption(
        "Throughput over the swept value", "Where the lines part by more than their intervals."
    ),
    "heatmap": _Caption("Throughput over two swept values", "In which corner throughput falls."),
    "throughput-delay": _Caption(
        "Throughput against delay",
        "Up and to the right is better; a large ellipse is an algorithm whose flows differ much.",
    ),
    "fct-size": _Caption(
        "Flow completion time by size",
        "How much longer the slowest transfers of a size take than the median; a line has gaps where "
        "transfers are too few or did not end.",
    ),
    "cdf": _Caption("Distribution of the flows' throughput", "The steeper a line, the fairer the shares."),
    "rtt-cdf": _Caption(
        "Distribution of the RTT", "Further left is better; the upper end is the worst of the time."
    ),
    "queue-delay-cdf": _Caption(
        "Distribution of the queueing delay", "How much of the time a packet waits longer than a given delay."
    ),
    "fct-cdf": _Caption(
        "Distribution of the flow completion times",
        "A line that stops below 1 has transfers that did not end: the legend counts those that did.",
    ),
    "slowdown-cdf": _Caption(
        "Distribution of the slowdown", "1 is a transfer alone on its path; the upper end is the tail."
    ),
}

_STYLE = """
:root { --ink: #222; --soft: #555; --paper: #fff; --line: #e6e6e6; --shade: #f6f6f6; --edge: #bbb;
  color-scheme: light; font: 16px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper); }
body { margin: 0 auto; max-width: 72rem; padding: 1rem; }
h1 { font-size: 1.6rem; line-height: 1.2; margin: .5rem 0; overflow-wrap: anywhere; }
h2 { font-size: 1.2rem; margin: 2rem 0 .5rem; }
figure { margin: 1.5rem 0; overflow-x: auto; }
figure img { display: block; min-width: 34rem; max-width: 100%; height: auto; margin: 0 auto; }
.table { overflow-x: auto; }
table { border-collapse: collapse; font-size: .875rem; font-variant-numeric: tabular-nums; }
th, td { padding: .2rem .7rem .2rem 0; text-align: right; white-space: nowrap;
  border-bottom: 1px solid var(--line); }
th { position: sticky; top: 0; background: var(--paper); vertical-align: bottom; }
th.text, td.text { text-align: left; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .2rem 1rem; }
dt { color: var(--soft); } dd { margin: 0; overflow-wrap: anywhere; }
pre { overflow-x: auto; background: var(--shade); padding: .75rem; font-size: .8rem; }
.note { color: var(--soft); font-size: .9rem; }
"""
#: Style of the elements that the script adds.
SCRIPTED_STYLE = """
.plot { width: 100%; }
figure img[hidden], figure svg[hidden] { display: none; }
figure h3 { font-size: 1rem; margin: 0; }
.u-legend { max-height: 9rem; overflow-y: auto; font-size: .8rem; }
.u-legend th, .u-legend td { border: 0; position: static; }
.edge { display: none; }
.toolbar { display: flex; flex-wrap: wrap; gap: .4rem; }
button { font: inherit; color: inherit; background: none; border: 0; padding: 0; cursor: pointer; }
.toolbar button { font-size: .9rem; border: 1px solid var(--edge); border-bottom-width: 4px;
  border-radius: .3rem; padding: .1rem .6rem; }
.toolbar button[aria-pressed=false] { opacity: .45; text-decoration: line-through; }
th button { text-align: inherit; font-weight: inherit; }
th[aria-sort=ascending] button::after { content: " \\2191"; }
th[aria-sort=descending] button::after { content: " \\2193"; }
"""


def write(results: Source, path: Path, manifest: Manifest) -> None:
    """Writes the page to `path`: figures, summary, flows, scenario, and its origin from `manifest`.

    The page is self-contained: figures are embedded. Its script makes figures over time into plots, and
    tables sortable; without it the page shows the same. The file appears complete or not at all. An OSError
    is left to the caller.
    """
    write_file(path, _page(results, manifest).encode())


def document(title: str, body: str, style: str = "") -> str:
    """The text of a self-contained page with this body; `style` is added to that of every page."""
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<title>{escape(title)}</title>\n<link rel="icon" href="data:,">\n'
        f"<style>{_STYLE}{style}</style>\n</head>\n<body>\n<main>\n{body}\n</main>\n</body>\n</html>\n"
    )


def image(svg: bytes, title: str, sentence: str, kind: str = "") -> str:
    """A figure as part of a page, with a caption; the title stands for it where it cannot be seen."""
    data = base64.b64encode(svg).decode()
    of = f' data-kind="{kind}"' if kind else ""
    return (
        f'<figure{of}><img src="data:image/svg+xml;base64,{data}" alt="{escape(title)}">'
        f"<figcaption class=note>{escape(sentence)}</figcaption></figure>"
    )


def _page(results: Source, manifest: Manifest) -> str:
    from cwnd._report import figures, plots

    scenarios = results.scenarios
    kinds = figures.applicable(results)
    scripts, style = plots.scripts(results, kinds, {kind: _CAPTIONS[kind].title for kind in kinds})
    title = _title(scenarios)
    described = json.dumps(scenarios[:1], indent=1, default=fold)
    parts = [
        f"<h1>{escape(title)}</h1>",
        f"<p>{escape(', '.join(shared_facts(scenarios)))}</p>" if scenarios else "",
        *(_figure(results, kind) for kind in kinds),
        "<h2>Summary</h2>",
        "<p class=note>Means over the seeds with 95 % confidence intervals (Student's t).</p>",
        _summary(results),
        *(f"<p class=note>{escape(note)}</p>" for note in comparison_notes(scenarios)),
        "<h2>Flows</h2>",
        _flows(results),
        "<h2>Origin</h2>",
        _provenance(results, manifest),
        "<h2>Scenario</h2>",
        "<p class=note>Every default resolved, in base units; the first of several scenarios.</p>",
        f"<details><summary>JSON</summary><pre>{escape(described)}</pre></details>",
        scripts,
    ]
    body = "\n".join(part for part in parts if part)
    return document(title, body, style + SCRIPTED_STYLE if scripts else "")


def _title(scenarios: Sequence[ScenarioJson]) -> str:
    """The name that the scenarios share, or what differs: their algorithms, or how many they are."""
    names = list(dict.fromkeys(scenario_label(scenario).partition(" (")[0] for scenario in scenarios))
    if len(names) <= 1:
        return names[0] if names else "empty result"
    ccas = list(dict.fromkeys(name for one in labelled(scenarios) for name in distinct_algorithms(one)))
    if len(ccas) == 1:
        return f"{ccas[0]} in {len(scenarios)} scenarios"
    if len(ccas) > _NAMED_MAX:
        return f"{len(ccas)} algorithms"
    return f"{', '.join(ccas[:-1])} and {ccas[-1]}"


def _figure(results: Source, kind: str) -> str:
    from cwnd._report import figures

    title, sentence = _CAPTIONS[kind]
    svg = io.BytesIO()
    figures.write_svg(figures.draw(kind, results, None, None, None), svg)
    return image(svg.getvalue(), title, sentence, kind)


def _summary(results: Source) -> str:
    keys = list(dict.fromkeys(key for values in results.values for key in values))
    estimates: dict[str, dict[str, Estimate]] = {}
    for row in results.summary.iter_rows(named=True):
        estimates.setdefault(row["scenario"], {})[row["metric"]] = {
            "mean": row["mean"],
            "ci95_low": row["ci95_low"],
            "ci95_high": row["ci95_high"],
            "n": row["n"],
        }
    known = {name for own in estimates.values() for name in own}
    metrics = {name: metric for name, metric in METRICS.items() if name in known}
    rows = []
    for scenario, values in zip(results.scenarios, results.values, strict=True):
        own = estimates.get(scenario["name"], {})
        names = [_value(values.get(key)) for key in keys] or [scenario_label(scenario)]
        runs = max((row["n"] for row in own.values()), default=0)
        numbers = [estimate(own.get(name), metric.factor) for name, metric in metrics.items()]
        rows.append([*names, str(runs), *numbers])
    texts = keys or ["scenario"]
    return table([*texts, "runs", *(metric.label for metric in metrics.values())], rows, len(texts))


def _flows(results: Source) -> str:
    columns = {
        "seed": "seed",
        "flow": "flow",
        "throughput_mbps": "throughput Mbit/s",
        "goodput_mbps": "goodput Mbit/s",
        "retransmitted_pkts": "retransmitted",
        "lost_pkts": "lost",
        "timeouts": "timeouts",
        "mean_rtt_ms": "mean RTT ms",
        "mean_cwnd_pkts": "mean cwnd packets",
    }
    shown = results.flows.head(_ROWS_MAX).select("scenario", "cca", *columns)
    rows = [[_value(cell) for cell in row] for row in shown.iter_rows()]
    return table(["scenario", "algorithm", *columns.values()], rows, 2, of=results.flows.height)


def _provenance(results: Source, manifest: Manifest) -> str:
    seeds = results.flows["seed"].unique().sort()
    facts = {
        "cwnd": manifest["cwnd"],
        "command": one_line(" ".join(manifest.get("command") or [])) or "from Python",
        "seeds": f"{seeds[0]} to {seeds[-1]}" if len(seeds) > 1 else ", ".join(map(str, seeds)),
        "platform": manifest.get("platform"),
        "Python": manifest.get("python"),
        "host": manifest.get("host"),
    }
    git = manifest.get("git")
    if git:
        facts["git"] = f"{git['commit']}{', with changes' if git.get('changed') else ''}"
    rows = "".join(
        f"<dt>{escape(name)}</dt><dd>{escape(str(value))}</dd>" for name, value in facts.items() if value
    )
    return f"<dl>{rows}</dl>"


def table(headings: Sequence[str], rows: Sequence[Sequence[str]], texts: int, of: int | None = None) -> str:
    """An HTML table. The first `texts` columns are text, the rest numbers; `of` counts all rows."""

    def cells(tag: str, row: Iterable[str]) -> str:
        kinds = (' class="text"' if index < texts else "" for index, _ in enumerate(headings))
        return "".join(f"<{tag}{kind}>{escape(cell)}</{tag}>" for kind, cell in zip(kinds, row, strict=True))

    total = len(rows) if of is None else of
    shown = rows[:_ROWS_MAX]
    body = "\n".join(f"<tr>{cells('td', row)}</tr>" for row in shown)
    head = f"<thead><tr>{cells('th', headings)}</tr></thead>"
    shown_table = f'<div class="table" tabindex="0"><table>{head}\n<tbody>{body}</tbody></table></div>'
    if total > len(shown):
        shown_table += f"<p class=note>{len(shown)} of {total:,} rows; all are in the Parquet files.</p>"
    return shown_table


def _value(value: object) -> str:
    if isinstance(value, float):
        return digits(value)
    return "-" if value is None else value if isinstance(value, str) else json.dumps(value)


def escape(text: str) -> str:
    return html.escape(text)
