"""How slow start ends on 200 random paths: docs/img/slow-start.svg, and the table of docs/slow-start.md.

One CUBIC flow on Linux's stack for 40 RTTs. Rates of 10 to 1000 Mbit/s, RTTs of 20 to 600 ms and buffers of
a quarter to eight bandwidth-delay products are drawn evenly on logarithmic scales; half of the paths have
jitter, of up to a tenth of the RTT. Samples are a tenth of an RTT apart. The table goes to standard output.
"""

from __future__ import annotations

import argparse
import random
from pathlib import Path
from typing import NamedTuple

import matplotlib as mpl
import polars as pl
from matplotlib.figure import Figure

import cwnd
from cwnd._report import figures
from cwnd._report.looks import STYLE, new_figure

KINDS = {"standard": "standard", "hystart": "HyStart", "hystartpp": "HyStart++", "search": "SEARCH"}
PATHS = 200
RTTS = 40
PACKET_BITS = 12_112
#: Buffers in bandwidth-delay products.
CLASSES = {"1/4 to 1": (0.25, 1), "1 to 2": (1, 2), "2 to 4": (2, 4), "4 to 8": (4, 8)}


class Link(NamedTuple):
    mbps: float
    rtt_ms: float
    buffer_bdp: float
    jitter_ms: float

    @property
    def bdp_pkts(self) -> float:
        return self.mbps * self.rtt_ms * 1e3 / PACKET_BITS


class Ending(NamedTuple):
    """The window in bandwidth-delay products as slow start ended; whether a packet had been dropped."""

    window_bdp: float
    dropped: bool
    #: In bandwidth-delay products, of the whole run.
    retransmitted_bdp: float


def draw_links() -> list[Link]:
    draws = random.Random(1)
    paths = []
    for number in range(PATHS):
        mbps, rtt_ms = 10 ** draws.uniform(1, 3), 20 * 30 ** draws.random()
        jitter_ms = rtt_ms / 10 * draws.random() if number % 2 else 0
        paths.append(Link(mbps, rtt_ms, 0.25 * 32 ** draws.random(), jitter_ms))
    return paths


def scenario(link: Link, kind: str, number: int) -> cwnd.Scenario:
    return cwnd.dumbbell(
        "cubic",
        params={"slow_start": kind},
        rate=f"{link.mbps:.3f} Mbps",
        rtt=f"{link.rtt_ms:.3f} ms",
        buffer=max(round(link.buffer_bdp * link.bdp_pkts), 4),
        jitter={"uniform": f"{link.jitter_ms:.3f} ms"} if link.jitter_ms else None,
        duration=f"{RTTS * link.rtt_ms:.3f} ms",
        samples=10 * RTTS,
        name=f"{number:03}",
    )


def endings(links: list[Link], kind: str) -> list[Ending]:
    results = cwnd.run([scenario(link, kind, number) for number, link in enumerate(links)])
    again = dict(results.flows.select("scenario", "retransmitted_pkts").iter_rows())
    found = []
    for number, link in enumerate(links):
        rows = results.samples.filter(scenario=f"{number:03}")
        grows = rows.filter(pl.col("cwnd_pkts").is_not_null() & pl.col("ssthresh_pkts").is_null())
        drops = rows.filter((pl.col("link") == "bottleneck") & (pl.col("time_s") <= grows["time_s"].max()))
        found.append(
            Ending(
                grows["cwnd_pkts"].max() / link.bdp_pkts,
                drops["dropped_pkts"].sum() > 0,
                again[f"{number:03}"] / link.bdp_pkts,
            )
        )
    return found


def draw(links: list[Link], ended: dict[str, list[Ending]]) -> Figure:
    """The window as slow start ended over the buffer; filled: before anything was dropped."""
    with mpl.rc_context(STYLE):
        figure = new_figure(9, 2.9)
        panels = figure.subplots(1, len(KINDS), sharex=True, sharey=True)
        for axes, (kind, title) in zip(panels, KINDS.items(), strict=True):
            for dropped, face, label in ((False, "#0072B2", "before a drop"), (True, "none", "after one")):
                points = [
                    (link.buffer_bdp, ending.window_bdp)
                    for link, ending in zip(links, ended[kind], strict=True)
                    if ending.dropped == dropped
                ]
                axes.scatter(
                    [x for x, _ in points],
                    [y for _, y in points],
                    s=9,
                    facecolors=face,
                    edgecolors="#0072B2" if not dropped else "#D55E00",
                    linewidths=0.7,
                    label=label,
                )
            axes.axhline(0.8, color="#888888", linewidth=0.8, linestyle=(0, (1, 2)))
            axes.set_xscale("log", base=2)
            axes.set_yscale("log", base=2)
            axes.set_title(title)
            axes.set_xlabel("buffer (BDP)")
        panels[0].set_ylabel("cwnd as slow start ended (BDP)")
        panels[0].legend(loc="lower right")
        figure.suptitle("The end of slow start on 200 random paths; dotted: 0.8 BDP")
    return figure


def print_table(links: list[Link], ended: dict[str, list[Ending]]) -> None:
    print("| buffer (BDP) | paths | " + " | ".join(KINDS.values()) + " |")
    print("|---|---|" + "---|" * len(KINDS))
    for label, (low, high) in {**CLASSES, "all": (0, 9)}.items():
        within = [number for number, link in enumerate(links) if low <= link.buffer_bdp < high]
        cells = []
        for kind in KINDS:
            those = [ended[kind][number] for number in within]
            good = sum(not ending.dropped and ending.window_bdp >= 0.8 for ending in those)
            early = sum(ending.window_bdp < 0.8 for ending in those)
            again = sum(ending.retransmitted_bdp for ending in those) / len(those)
            cells.append(f"{good / len(those):.0%}, {early / len(those):.0%}, {again:.2f}")
        print(f"| {label} | {len(within)} | " + " | ".join(cells) + " |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--out", type=Path, default=Path("docs/img"), help="directory for the figure")
    out = parser.parse_args().out
    links = draw_links()
    ended = {kind: endings(links, kind) for kind in KINDS}
    figures.write_figure(draw(links, ended), out / "slow-start.svg")
    print_table(links, ended)


if __name__ == "__main__":
    main()
