"""Verdicts on one algorithm as a self-contained HTML page, with the trace of each case that did not pass."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from cwnd._common.text import digits
from cwnd._conform.sender import trace_hooks
from cwnd._conform.subjects import HEAD, Subject
from cwnd._conform.trial import run_sampled, scenario_of
from cwnd._conform.verdicts import DEVIATES, VERDICTS, WARN, Conformance, Tried
from cwnd._expect.judge import FAIL
from cwnd._expect.record import SSTHRESH_INFINITE
from cwnd._report.page import document, escape, table

#: Verdicts whose cases are drawn.
_DRAWN = (FAIL, WARN, DEVIATES)

_WIDTH, _HEIGHT, _LEFT, _TOP, _BASE = 1000, 240, 60, 20, 215
#: Points of a line: as many as the drawing has pixels across.
_POINTS_MAX = 2000
_COLOURS = {"cwnd": "#3a7bd5", "ssthresh": "#d9822b", "in flight": "#2e9e5b"}
_STYLE = """
:root { color-scheme: light dark; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e8e8e8; --soft: #b4b4b4; --paper: #16181b; --line: #3a3d42; --shade: #24272c;
    --edge: #6a6e75; }
}
svg { width: 100%; height: auto; display: block; }
pre { white-space: pre-wrap; overflow-wrap: anywhere; }
"""

#: A line of a trace: times in seconds, and packets.
Line = tuple[Sequence[float], Sequence[float | None]]


class Trace(NamedTuple):
    """Windows of a case over time, in segments."""

    lines: dict[str, Line]


def page(conformance: Conformance, subject: Subject) -> str:
    """The page: counts, the cases that fail, warn or deviate with clause and trace, and a table of all."""
    title = f"Conformance of {conformance.algorithm} in {conformance.world}"
    counts = ", ".join(f"{conformance.count(one)} {one}" for one in VERDICTS)
    shown = [one for verdict in _DRAWN for one in conformance.tried if one.verdict == verdict]
    rows = [
        [f"{one.case.suite}/{one.case.name}", one.case.clause, one.case.level, one.verdict, one.found]
        for one in conformance.tried
    ]
    parts = [
        f"<h1>{escape(title)}</h1>",
        f"<p>{len(conformance.tried)} cases: {escape(counts)}.</p>",
        *(_section(one, subject, conformance.world) for one in shown),
        "<h2>All cases</h2>",
        table(["case", "clause", "level", "verdict", "found"], rows, 5),
    ]
    return document(title, "\n".join(parts), _STYLE)


def _section(one: Tried, subject: Subject, world: str) -> str:
    case = one.case
    name = f"{case.suite}/{case.name}"
    command = f"cwnd conform {subject.label.removeprefix('linux:')} --suite {case.suite} --on {world}"
    lines = [
        f"<h2>{escape(name)}: {escape(one.verdict)}</h2>",
        f"<p><strong>{escape(case.clause)}</strong> ({case.level}): {escape(case.requires)}</p>",
        f"<p>Found: {escape(one.found)}.</p>",
        f"<p>Why: {escape(one.reason)}.</p>" if one.reason else "",
        f'<p class="note">Tolerance: {escape(case.tolerance)}.</p>',
        f"<figure>{drawn(trace_of(one, subject, world), name)}</figure>",
        f'<pre tabindex="0">{escape(command)}</pre>',
    ]
    if case.scenario is not None:
        text = case.scenario.strip().replace("CCA", subject.cca(case.params))
        lines.append(f'<pre tabindex="0">{escape(text)}</pre>')
    return "\n".join(line for line in lines if line)


def trace_of(one: Tried, subject: Subject, world: str) -> Trace:
    """The windows of a case, which is run again."""
    if one.case.hooks is not None:
        rows = trace_hooks(scenario_of(one.case, subject, HEAD)._inner, one.case.hooks)
        times = [row[0] for row in rows]
        return Trace(
            {"cwnd": (times, [row[1] for row in rows]), "ssthresh": (times, [_set(row[2]) for row in rows])}
        )
    samples = run_sampled(one.case, subject, world).samples
    if "cwnd_pkts" not in samples.columns:
        return Trace({})
    flow = samples.filter(flow=0, seed=samples["seed"][0]) if len(samples) else samples
    times = flow["time_s"].to_list()
    return Trace(
        {
            "cwnd": (times, flow["cwnd_pkts"].to_list()),
            "ssthresh": (times, [_set(value) for value in flow["ssthresh_pkts"].to_list()]),
            "in flight": (times, flow["in_flight_pkts"].to_list()),
        }
    )


def _set(ssthresh: float | None) -> float | None:
    return None if ssthresh is None or ssthresh >= SSTHRESH_INFINITE else ssthresh


def drawn(trace: Trace, title: str) -> str:
    """The lines as a drawing."""
    most = max(
        (value for _, values in trace.lines.values() for value in values if value is not None), default=0
    )
    end_s = max((times[-1] for times, _ in trace.lines.values() if times), default=0)
    begin_s = min((times[0] for times, _ in trace.lines.values() if times), default=0)
    per_s = (_WIDTH - _LEFT) / ((end_s - begin_s) or 1)
    body = ""
    for place, (name, (times, values)) in enumerate(trace.lines.items()):
        step = max(len(times) // _POINTS_MAX, 1)
        points = [
            f"{_LEFT + (time - begin_s) * per_s:.1f} {_BASE - value / (most or 1) * (_BASE - _TOP):.1f}"
            for time, value in list(zip(times, values, strict=True))[::step]
            if value is not None
        ]
        if points:
            colour = _COLOURS[name]
            body += f'<path d="M{"L".join(points)}" fill="none" stroke="{colour}"/>'
            body += _text(_WIDTH - 8, 14 + 16 * place, name, colour, "end")
    return (
        f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="{escape(title)}" font-size="13">'
        f"{_text(_LEFT, 13, 'segments')}{_text(_LEFT - 6, _TOP + 4, digits(most), anchor='end')}"
        f'<path d="M{_LEFT} {_BASE}H{_WIDTH}" stroke="currentColor"/>'
        f"{_text(_LEFT, _HEIGHT - 8, f'{digits(begin_s)} s')}"
        f"{_text(_WIDTH - 2, _HEIGHT - 8, f'{digits(end_s)} s', anchor='end')}{body}</svg>"
    )


def _text(x: int, y: int, text: str, colour: str = "currentColor", anchor: str = "start") -> str:
    return f'<text x="{x}" y="{y}" text-anchor="{anchor}" fill="{colour}">{text}</text>'
