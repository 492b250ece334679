"""The answer about one connection as a self-contained HTML page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cwnd._common.text import digits, rate
from cwnd._explain.conclude import NAMES, advise_on, conclude
from cwnd._explain.timeline import COLOURS, plots, still
from cwnd._explain.words import (
    CONNECTION_HEADS,
    SHARE_HEADS,
    connection_row,
    counterfactual_lines,
    facts,
    share_row,
)
from cwnd._report.page import SCRIPTED_STYLE, document, escape, table
from cwnd._report.script import embed

if TYPE_CHECKING:
    from cwnd._explain.conclude import Advice
    from cwnd._explain.shapes import Connection, Explanation, Series

_STYLE = """
:root { color-scheme: light dark; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e8e8e8; --soft: #b4b4b4; --paper: #16181b; --line: #3a3d42; --shade: #24272c;
    --edge: #6a6e75; }
  .u-select { background: rgba(255, 255, 255, .15); }
  .u-cursor-x, .u-cursor-y { border-color: #aaa !important; }
}
.lead { font-size: 1.15rem; max-width: 48rem; }
.causes { display: flex; flex-wrap: wrap; gap: .3rem 1rem; list-style: none; padding: 0; font-size: .875rem; }
.causes i { display: inline-block; width: .9rem; height: .9rem; margin-right: .35rem; vertical-align: -.1rem;
  border: 1px solid var(--edge); }
pre { white-space: pre-wrap; overflow-wrap: anywhere; }
svg { width: 100%; height: auto; display: block; }
"""


def page(data: Explanation, connection: Connection, source: str) -> str:
    """The page: conclusion, timeline and plots, causes, advice, what is not known, and the other connections.

    Without its script the page has the same drawings, which cannot be zoomed then.
    """
    title = f"{source}: {connection['sender']} to {connection['receiver']}"
    series = connection.get("series")
    scripts, style = embed(plots(connection, series)) if series else ("", "")
    parts = [
        f"<h1>{escape(title)}</h1>",
        *(f'<p class="lead">{escape(sentence)}</p>' for sentence in conclude(connection)),
        *(_figures(connection, series) if series else []),
        "<h2>Causes</h2>",
        table(SHARE_HEADS, [share_row(share) for share in connection["causes"]], 1),
        "<h2>Advice</h2>",
        *([_advice(advice) for advice in advise_on(connection)] or ["<p>None.</p>"]),
        *_counterfactual(connection),
        "<h2>Not known</h2>" if connection["cannot"] else "",
        _list(connection["cannot"]),
        "<h2>The connection</h2>",
        *(f"<p>{escape(line)}</p>" for line in facts(connection)),
        *_others(data, connection),
        "<h2>The evidence</h2>",
        f"<p>{escape(_evidence(data))}</p>",
        _list(data["notes"]),
        scripts,
    ]
    body = "\n".join(part for part in parts if part)
    return document(title, body, _STYLE + style + (SCRIPTED_STYLE if scripts else ""))


def _figures(connection: Connection, series: Series) -> list[str]:
    shown = dict.fromkeys(span["cause"] for span in connection["spans"])
    shares = {share["cause"]: share["share"] for share in connection["causes"]}
    chips = "".join(
        f'<li><i style="background:{COLOURS[cause]}"></i>{escape(NAMES[cause])} {shares[cause]:.1%}</li>'
        for cause in shown
    )
    return [
        "<h2>Over time</h2>",
        f'<ul class="causes">{chips}</ul>',
        *(
            f'<figure data-kind="{one.kind}">{one.svg}'
            f'<figcaption class="note">{escape(one.sentence)}</figcaption></figure>'
            for one in still(connection, series)
        ),
    ]


def _advice(advice: Advice) -> str:
    lines = [advice.command] if advice.command else []
    lines += [f"# back: {advice.rollback}"] if advice.rollback else []
    commands = f'<pre tabindex="0">{escape(chr(10).join(lines))}</pre>' if lines else ""
    return f"<p>{escape(advice.text)}</p>{commands}"


def _counterfactual(connection: Connection) -> list[str]:
    if "counterfactual" not in connection:
        return []
    intro, *rows = counterfactual_lines(connection["counterfactual"])
    block = "\n".join(rows).strip("\n")
    return [
        "<h2>Another algorithm</h2>",
        f"<p>{escape(intro)}</p>",
        f'<pre tabindex="0">{escape(block)}</pre>' if block else "",
    ]


def _list(lines: list[str]) -> str:
    items = "".join(f"<li>{escape(line[:1].upper() + line[1:])}.</li>" for line in lines)
    return f"<ul>{items}</ul>" if items else ""


def _others(data: Explanation, shown: Connection) -> list[str]:
    if data["connection_count"] < 2:
        return []
    rows = [connection_row(one) for one in data["connections"]]
    intro = f"This page is about number {shown['number']}; --connection N makes that of another."
    return [
        f"<h2>All {data['connection_count']} connections</h2>",
        f'<p class="note">{escape(intro)}</p>',
        table(CONNECTION_HEADS, rows, 0, of=data["connection_count"]),
    ]


def _evidence(data: Explanation) -> str:
    capture = data["capture"]
    counts = f"{capture['packets']} packets, {capture['segments']} of TCP, " if capture["packets"] else ""
    seconds = digits(capture["duration_s"])
    mean = f", {rate(8 * capture['bytes'] / capture['duration_s'])}" if capture["duration_s"] else ""
    return f"{capture['format']}: {counts}{capture['bytes']} bytes in {seconds} s{mean}."
