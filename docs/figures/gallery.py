"""The window of every algorithm on the same path: docs/img/gallery-6400.svg and gallery-1bdp.svg.

One flow over 1 Gbps with an RTT of 204 ms, every queue as long as the bottleneck's buffer, 100 s, 1000-byte
packets (1050 on the wire). Every algorithm has its header's defaults and the same stack: SACK recovery, an
initial window of 10, every segment acknowledged, a receive window of 100,000 packets.
"""

from __future__ import annotations

import argparse
import math
from pathlib import Path

import matplotlib as mpl
import polars as pl
from matplotlib.figure import Figure

import cwnd
from cwnd._report import figures
from cwnd._report.looks import STYLE, looks, mark, new_figure, note
from cwnd._scenario.facts import bdp_pkts, bottleneck
from cwnd._scenario.registry import Algorithm

BUFFERS = {"6400": 6400, "1bdp": "1 BDP"}
HEADINGS = {"6400": "buffer 6400 packets", "1bdp": "buffer 1 BDP"}
STACK = {
    "profile": "linux",
    "recovery": "sack",
    "header": 50,
    "initial_window": 10,
    "ack_every": 1,
    "receive_window": 100_000,
}
COLUMNS = 4
#: Points of a line.
POINTS = 400


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--out", type=Path, default=Path("docs/img"), help="directory for the figures")
    out = parser.parse_args().out
    for name, buffer in BUFFERS.items():
        results = cwnd.run([scenario(one, buffer) for one in cwnd.algorithms()])
        figures.write(draw(results, HEADINGS[name]), out / f"gallery-{name}.svg")


def scenario(algorithm: Algorithm, buffer: int | str) -> cwnd.Scenario:
    return cwnd.dumbbell(
        algorithm["name"],
        params={param["name"]: param["default"] for param in algorithm["params"]},
        rate="1 Gbps",
        delay="100 ms",
        buffer=buffer,
        packet=1000,
        duration="100 s",
        access_rate="1 Gbps",
        access_delay="1 ms",
        access_buffer=buffer,
        stack=STACK,
        samples="20 ms",
        name=algorithm["name"],
    )


def draw(results: cwnd.Results, heading: str) -> Figure:
    titles = {one["name"]: one["title"] for one in cwnd.algorithms()}
    look = looks(titles)
    _, buffer, _ = bottleneck(results.scenarios[0])
    bdp = bdp_pkts(results.scenarios[0])
    assert buffer is not None
    rows = math.ceil(len(titles) / COLUMNS)
    with mpl.rc_context(STYLE):
        figure = new_figure(9, 1.35 * rows + 0.6)
        grid = figure.subplots(rows, COLUMNS, sharex=True, sharey=True, squeeze=False)
        for index, (axes, name) in enumerate(zip(grid.flat, titles, strict=False)):
            time, window = thinned(results.samples.filter(scenario=name).drop_nulls("cwnd_pkts"))
            axes.plot(time, [packets / 1000 for packets in window], color=look[name].colour, linewidth=0.9)
            last = index % COLUMNS == COLUMNS - 1 or index == len(titles) - 1
            mark(axes, bdp / 1000, "BDP", named=last)
            mark(axes, (bdp + buffer) / 1000, "", named=False)
            if last:
                note(axes, (bdp + buffer) / 1000, "BDP +\nbuffer", drop=-4)
            axes.set_title(titles[name])
            axes.set_xlim(0, 100)
            if index + COLUMNS >= len(titles):
                axes.set_xlabel("time (s)")
                axes.tick_params(labelbottom=True)
            if index % COLUMNS == 0:
                axes.set_ylabel("cwnd (1000)")
        grid.flat[0].set_ylim(0, 2.25 * bdp / 1000)
        for axes in grid.flat[len(titles) :]:
            axes.set_visible(False)
        figure.suptitle(f"Congestion window in 1000 packets: one flow, 1 Gbit/s, RTT 204 ms, {heading}")
    return figure


def thinned(samples: pl.DataFrame) -> tuple[list[float], list[float]]:
    """The smallest and the largest window of each interval, in the order in which they came."""
    size = math.ceil(2 * samples.height / POINTS)
    rows = samples.with_row_index("row")
    window = pl.col("cwnd_pkts")
    extremes = rows.group_by(pl.col("row") // size, maintain_order=True).agg(
        pl.concat_list(pl.col("row").get(window.arg_min()), pl.col("row").get(window.arg_max())).alias("at")
    )
    kept = rows.filter(pl.col("row").is_in(extremes["at"].explode().unique().implode()))
    return kept["time_s"].to_list(), kept["cwnd_pkts"].to_list()


if __name__ == "__main__":
    main()
