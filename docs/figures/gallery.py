"""The window of every algorithm on the same path: docs/img/gallery-6400.svg and gallery-1bdp.svg.

scenarios/gallery-6400.toml and gallery-1bdp.toml have the path and the stack; every algorithm has its
header's defaults. The first half of a run, with the start-up, is not shown.
"""

from __future__ import annotations

import argparse
import math
import sys
from pathlib import Path

import matplotlib as mpl
import polars as pl
import tomli_w
from matplotlib.figure import Figure

import cwnd
from cwnd._report import figures
from cwnd._report.looks import STYLE, looks, mark, new_figure, note
from cwnd._scenario.facts import bdp_pkts, bottleneck
from cwnd._scenario.registry import Algorithm

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

SCENARIOS = Path(__file__).parents[2] / "scenarios"
HEADINGS = {"6400": "buffer 6400 packets", "1bdp": "buffer 1 BDP"}
COLUMNS = 4
#: Span of the figures, in seconds: start-up is over at its beginning.
SHOWN_S = (100, 200)
#: Points of a line.
POINTS = 400


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--out", type=Path, default=Path("docs/img"), help="directory for the figures")
    out = parser.parse_args().out
    for name, heading in HEADINGS.items():
        text = (SCENARIOS / f"gallery-{name}.toml").read_text()
        results = cwnd.run([scenario(text, one) for one in cwnd.algorithms()])
        figures.write_figure(draw(results, heading), out / f"gallery-{name}.svg")


def scenario(text: str, algorithm: Algorithm) -> cwnd.Scenario:
    table = tomllib.loads(text)
    defaults = {param["name"]: param["default"] for param in algorithm["params"]}
    table["flows"][0]["cca"] = {"name": algorithm["name"], **defaults}
    return cwnd.Scenario.parse(tomli_w.dumps(table), algorithm["name"])


def draw(results: cwnd.Results, heading: str) -> Figure:
    titles = {one["name"]: one["title"] for one in cwnd.algorithms()}
    look = looks(titles)
    _, buffer, _ = bottleneck(results.scenarios[0])
    bdp = bdp_pkts(results.scenarios[0])
    assert buffer is not None
    shown = results.samples.filter(pl.col("time_s") >= SHOWN_S[0]).drop_nulls("cwnd_pkts")
    rows = math.ceil(len(titles) / COLUMNS)
    with mpl.rc_context(STYLE):
        figure = new_figure(9, 1.35 * rows + 0.6)
        grid = figure.subplots(rows, COLUMNS, sharex=True, sharey=True, squeeze=False)
        for index, (axes, name) in enumerate(zip(grid.flat, titles, strict=False)):
            time, window = thinned(shown.filter(scenario=name))
            axes.plot(time, [packets / 1000 for packets in window], color=look[name].colour, linewidth=0.9)
            last = index % COLUMNS == COLUMNS - 1 or index == len(titles) - 1
            mark(axes, bdp / 1000, "BDP", named=last)
            mark(axes, (bdp + buffer) / 1000, "", named=False)
            if last:
                note(axes, (bdp + buffer) / 1000, "BDP +\nbuffer", drop=-4)
            axes.set_title(titles[name])
            axes.set_xlim(*SHOWN_S)
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
