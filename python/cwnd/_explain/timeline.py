"""Causes and measurements over time, as data of a page's plots and as drawings without a script."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from cwnd._common.text import digits
from cwnd._explain.conclude import NAMES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cwnd._explain.shapes import Connection, Series

#: Colours of causes, light enough for dark letters.
COLOURS = {
    "handshake": "#c9c9c9",
    "receiver": "#86b8ea",
    "application": "#b7d78a",
    "sender_buffer": "#6fd0c5",
    "slow_start": "#f3e07b",
    "timeout": "#e98f8f",
    "recovery": "#f2a37a",
    "policer": "#d7a2e4",
    "random_loss": "#f4b6d2",
    "full_path": "#b0aaf0",
    "ack_path": "#9adcf5",
    "cwnd": "#f6c667",
    "unknown": "#e6e6e6",
}
#: Rates are means over an RTT, or over this: a slot of 10 ms holds a burst or nothing.
_SMOOTH_S = 0.1
#: Room above the largest flight, as its part: a window of megabytes would leave the flight none.
_ABOVE = 0.5
_WIDTH, _HEIGHT, _LEFT = 1000, 220, 70
_BLUE, _ORANGE, _GREEN = "#3a7bd5", "#d9822b", "#2e9e5b"


class Still(NamedTuple):
    """A drawing: its plot's name, itself, and what to look at."""

    kind: str
    svg: str
    sentence: str


class _Line(NamedTuple):
    name: str
    colour: str
    values: Sequence[float | None]


class _Plot(NamedTuple):
    kind: str
    title: str
    label: str
    sentence: str
    lines: list[_Line]
    #: The largest value with room in the plot, if not that of the lines.
    top: float | None = None


def plots(connection: Connection, series: Series) -> dict[str, object]:
    """The data that `page.js` draws: the timeline of causes, and each plot with its lines."""
    steps = len(series["rate_bps"])
    duration_s = steps * series["step_s"]
    # The names of causes stand for the numbers of a line that is not drawn, for the legend.
    names = list(dict.fromkeys(NAMES[span["cause"]] for span in connection["spans"]))
    causes: list[int | None] = [None] * (steps + 1)
    for span in connection["spans"]:
        first, last = (round(span[end] / series["step_s"]) for end in ("start_s", "end_s"))
        causes[first:last] = [names.index(NAMES[span["cause"]])] * (min(last, steps) - first)
    timeline = {
        "kind": "causes",
        "title": _TIMELINE,
        "label": "",
        "by_change": True,
        "spans": [
            {
                "from": round(span["start_s"], 6),
                "to": round(span["end_s"], 6),
                "name": NAMES[span["cause"]],
                "colour": COLOURS[span["cause"]],
            }
            for span in connection["spans"]
        ],
        "ticks": [round(loss["at_s"], 6) for loss in series["losses"]],
        "series": [
            {"name": "cause", "group": None, "colour": "#888888", "names": names, "values": causes[:-1]}
        ],
    }
    others = [
        {
            "kind": plot.kind,
            "title": plot.title,
            "label": plot.label,
            "by_change": True,
            "height": 230,
            "top": plot.top,
            "series": [
                {
                    "name": line.name,
                    "group": None,
                    "colour": line.colour,
                    "values": [None if value is None else float(f"{value:.5g}") for value in line.values],
                }
                for line in plot.lines
            ],
        }
        for plot in _plots(connection, series)
    ]
    return {"plots": [timeline, *others], "steps": max(steps, 1), "duration_s": duration_s}


_TIMELINE = "Causes over time"


def still(connection: Connection, series: Series) -> list[Still]:
    """The timeline and the plots as drawings."""
    end_s = max(len(series["rate_bps"]) * series["step_s"], 1e-9)
    per_s = (_WIDTH - _LEFT) / end_s
    boxes = "".join(
        f'<rect x="{_LEFT + span["start_s"] * per_s:.1f}" y="18" height="34" fill="{COLOURS[span["cause"]]}" '
        f'width="{max((span["end_s"] - span["start_s"]) * per_s, 0.5):.1f}"/>'
        for span in connection["spans"]
    )
    ticks = "".join(f"M{_LEFT + loss['at_s'] * per_s:.1f} 54v8" for loss in series["losses"])
    body = f'{boxes}<path d="{ticks}" stroke="currentColor"/>'
    lost = "Ticks below are losses." if series["losses"] else "There were no losses."
    first = Still("causes", _svg(_TIMELINE, 80, body, end_s), lost)
    return [
        first,
        *(
            Still(one.kind, _drawn(one, per_s, end_s, series), one.sentence)
            for one in _plots(connection, series)
        ),
    ]


def _plots(connection: Connection, series: Series) -> list[_Plot]:
    least_ms = connection["rtt_min_ms"]
    count = max(round(max(_SMOOTH_S, (least_ms or 0) / 1e3) / series["step_s"]), 1)
    rates = [_Line("delivered", _BLUE, _mbps(series["rate_bps"], count))]
    if series["sent_bps"] is not None:
        rates.append(_Line("sent anew", _ORANGE, _mbps(series["sent_bps"], count)))
    flights = [
        _kb("flight", _BLUE, series["flight_bytes"]),
        _kb("congestion window", _GREEN, series.get("cwnd_bytes")),
    ]
    window = _kb("receiver's window", _ORANGE, series["window_bytes"])
    sentence, top = "Where the flight meets the receiver's window, the receiver limits.", None
    largest = max(
        (value for line in flights if line for value in line.values if value is not None), default=0.0
    )
    if window is not None:
        flights.append(window)
        most = max(value for value in window.values if value is not None)
        if most > (1 + _ABOVE) * largest > 0:
            top = (1 + _ABOVE) * largest
            sentence = f"{sentence} It goes up to {digits(most)} kB, above the plot."
    rtts = [_Line("RTT", _BLUE, series["rtt_ms"])] if any(v is not None for v in series["rtt_ms"]) else []
    if least_ms is not None and rtts:
        rtts.append(_Line("least", _GREEN, [least_ms] * len(series["rtt_ms"])))
    found = [
        _Plot("rate", "Rate", "Mbit/s", "Means over an RTT or 100 ms, without headers.", rates),
        _Plot("flight", "Flight and windows", "kB", sentence, [line for line in flights if line], top),
        _Plot("rtt", "RTT", "ms", "What is above the least RTT is a queue, or a machine that is late.", rtts),
    ]
    return [plot for plot in found if plot.lines]


def _kb(name: str, colour: str, values: Sequence[float | None] | None) -> _Line | None:
    if values is None or all(value is None for value in values):
        return None
    return _Line(name, colour, [None if value is None else value / 1e3 for value in values])


def _mbps(values: Sequence[float], count: int) -> list[float]:
    """Means over `count` slots that end with each slot."""
    sums = [0.0]
    for value in values:
        sums.append(sums[-1] + value / 1e6)
    return [(sums[at] - sums[max(at - count, 0)]) / min(count, at) for at in range(1, len(sums))]


def _drawn(plot: _Plot, per_s: float, end_s: float, series: Series) -> str:
    most = (
        max((value for line in plot.lines for value in line.values if value is not None), default=0.0) or 1.0
    )
    low, high = _HEIGHT - 20, 18
    paths = []
    for at, line in enumerate(plot.lines):
        points = [
            (_LEFT + index * series["step_s"] * per_s, low - min(value / most, 1.0) * (low - high))
            for index, value in enumerate(line.values)
            if value is not None
        ]
        paths.append(
            f'<path d="M{"L".join(f"{x:.1f} {y:.1f}" for x, y in _thinned(points))}" '
            f'fill="none" stroke="{line.colour}"/>'
            f'<text x="{_WIDTH - 8}" y="{14 + 16 * at}" text-anchor="end" fill="{line.colour}">'
            f"{line.name}</text>"
        )
    axis = f'<text x="{_LEFT - 6}" y="{high + 4}" text-anchor="end" fill="currentColor">{digits(most)}</text>'
    return _svg(f"{plot.title} ({plot.label})", _HEIGHT, axis + "".join(paths), end_s)


def _thinned(points: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """The points, but for those in the middle of three on one level."""
    inner = [
        two
        for (one, two), (_, three) in zip(pairwise(points), pairwise(points[1:]), strict=False)
        if not one[1] == two[1] == three[1]
    ]
    return [*points[:1], *inner, *points[1:][-1:]]


def _svg(title: str, height: int, body: str, end_s: float) -> str:
    base = height - 18
    axis = (
        f'<path d="M{_LEFT} {base}H{_WIDTH}" stroke="currentColor"/>'
        f'<text x="{_LEFT}" y="{height - 4}" fill="currentColor">0</text>'
        f'<text x="{_WIDTH - 2}" y="{height - 4}" text-anchor="end" fill="currentColor">'
        f"{digits(end_s)} s</text>"
    )
    return (
        f'<svg viewBox="0 0 {_WIDTH} {height}" role="img" aria-label="{title}" font-size="13">'
        f'<text x="{_LEFT}" y="13" fill="currentColor">{title}</text>{axis}{body}</svg>'
    )
