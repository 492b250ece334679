"""The single-flow experiment of the Elastic-TCP paper (Fig. 7, Fig. 10, Table IV), published beside measured.

One flow over 1 Gbps with an RTT of 204 ms, every queue as long as the bottleneck's buffer, 100 s, 1000-byte
packets, under the stack of ns-2.35.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from itertools import product
from pathlib import Path

import polars as pl
from rich import box
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

import cwnd
from cwnd import _plots
from cwnd._facts import exponent

HERE = Path(__file__).parent
BUFFERS = (50, 100, 200, 400, 800, 1600, 3200, 6400)
PANELS = {0: "Fig. 10a", 1e-5: "Fig. 10b", 1e-4: "Fig. 10c"}
#: The paper's own build of each: README.md says why.
ALGORITHMS = {
    "cubic": {},
    "compound": {},
    "agile-sd": {"build": "slow"},
    "elastic": {"arithmetic": "paper"},
}
#: Runs where chance plays a part.
SEEDS = 5


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--out", type=Path, default=Path("demo"), help="directory for the figures")
    out = parser.parse_args().out
    console = Console()
    published = read_published()
    with Progress(console=Console(stderr=True), disable=not sys.stderr.isatty(), transient=True) as bar:
        task = bar.add_task("simulating", total=1.0)
        grid = cwnd.run(
            [scenario(*point) for point in product(ALGORITHMS, BUFFERS, PANELS)],
            progress=lambda done: bar.update(task, completed=done),
        )
    traces = cwnd.run([scenario(cca, 6400, 0, samples="change") for cca in ALGORITHMS])
    for per, item in PANELS.items():
        console.print(throughput_table(grid, published, per, item))
    console.print(loss_table(grid, published))
    console.print(window_table(traces))
    draw(grid, traces, published, out)
    console.print(f"figures: {out}/fig7.png, {out}/fig10.png (and .svg)")


def scenario(cca: str, buffer: int, per: float, samples: str = "off") -> cwnd.Scenario:
    return cwnd.dumbbell(
        cca,
        params=ALGORITHMS[cca],
        rate="1 Gbps",
        delay="100 ms",
        buffer=buffer,
        per=per,
        packet=1000,
        duration="100 s",
        access_rate="1 Gbps",
        access_delay="1 ms",
        access_buffer=buffer,
        stack="ns2",
        repeat=SEEDS if per else 1,
        samples=samples,
        name=point_name(cca, buffer, per),
    )


def point_name(cca: str, buffer: int, per: float) -> str:
    return cca if not per and buffer == 6400 else f"{cca}, buffer {buffer}, PER {per:g}"


def read_published() -> dict[tuple[str, str, int], float]:
    """The published value of each (item, algorithm, buffer)."""
    rows = pl.read_csv(HERE / "published.csv", infer_schema=False)
    rows = rows.filter(pl.col("item").str.contains(r"^Fig\. 10|^Table IV$"))
    return {
        (row["item"], row["cca"], int(row["buffer_pkts"])): float(row["value"])
        for row in rows.iter_rows(named=True)
    }


def throughput_table(grid: cwnd.Results, published: dict, per: float, item: str) -> Table:
    measured = {row["scenario"]: row for row in grid.summary.filter(metric="throughput_mbps").to_dicts()}
    chance = f", mean of {SEEDS} seeds, ± 95 %" if per else ""
    table = comparison(f"{item}: throughput in Mbit/s, PER {exponent(per)}{chance}")
    for buffer in BUFFERS:
        cells = []
        for cca in ALGORITHMS:
            row = measured[point_name(cca, buffer, per)]
            half = "" if row["ci95_high"] is None else f" ±{row['ci95_high'] - row['mean']:.0f}"
            cells += [f"{published[item, cca, buffer]:.1f}", f"{row['mean']:.1f}{half}"]
        table.add_row(str(buffer), *cells)
    if per == 0:
        table.add_section()

        def values(cca: str, buffer: int) -> tuple[float, float]:
            return published[item, cca, buffer], measured[point_name(cca, buffer, per)]["mean"]

        table.add_row("off by", *largest_differences(values))
    return table


def loss_table(grid: cwnd.Results, published: dict) -> Table:
    flows = {row["scenario"]: row for row in grid.flows.to_dicts()}

    def values(cca: str, buffer: int) -> tuple[float, float]:
        flow = flows[point_name(cca, buffer, 0)]
        loss = 100 * flow["retransmitted_pkts"] / flow["delivered_pkts"]
        return published["Table IV", cca, buffer], loss

    table = comparison("Table IV: retransmitted / received in %, PER 0")
    for buffer in BUFFERS:
        table.add_row(str(buffer), *(f"{value:.4f}" for cca in ALGORITHMS for value in values(cca, buffer)))
    table.add_section()
    table.add_row("off by", *largest_differences(values))
    return table


def largest_differences(values: Callable[[str, int], tuple[float, float]]) -> list[str]:
    """Of each algorithm, as cells of a row."""
    cells = []
    for cca in ALGORITHMS:
        differences = [ours / paper - 1 for paper, ours in (values(cca, buffer) for buffer in BUFFERS)]
        cells += ["", f"{max(differences, key=abs):+.1%}"]
    return cells


def comparison(title: str) -> Table:
    """A column per algorithm, the published value on the left of the measured one."""
    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, padding=0)
    table.add_column("buffer", justify="right")
    for cca in ALGORITHMS:
        table.add_column("paper", justify="right")
        table.add_column(cca, justify="right", style="bold")
    return table


def window_table(traces: cwnd.Results) -> Table:
    """Elastic's peaks and troughs at buffer 6400, beside those read off Fig. 7a."""
    trace = traces.samples.filter(scenario="elastic").drop_nulls("cwnd_pkts")
    time, window = trace["time_s"].to_list(), trace["cwnd_pkts"].to_list()
    cuts = [i for i in range(1, len(window)) if window[i] < 0.95 * window[i - 1]]
    measured = [
        window[cuts[0] - 1],
        window[cuts[0]],
        window[cuts[1] - 1],
        window[cuts[1]],
        time[cuts[2]] - time[cuts[1]],
    ]
    names = ["first loss", "after it", "later peaks", "after them", "between peaks (s)"]
    table = Table(
        "", title="Fig. 7a: cwnd of elastic at buffer 6400", title_justify="left", box=box.SIMPLE_HEAD
    )
    for column in ("paper", "elastic", ""):
        table.add_column(column, justify="right")
    for name, paper, ours in zip(names, (29180, 26258, 30846, 27758, 5.23), measured, strict=True):
        digits = 2 if paper < 100 else 0
        table.add_row(name, f"{paper:.{digits}f}", f"{ours:.{digits}f}", f"{ours / paper - 1:+.1%}")
    return table


def draw(grid: cwnd.Results, traces: cwnd.Results, published: dict, out: Path) -> None:
    out.mkdir(parents=True, exist_ok=True)
    fig7 = traces.plot(
        "cwnd", title="Elastic-TCP paper, Fig. 7: one flow, buffer 6400 packets, no random loss"
    )
    fig10 = grid.plot(
        "throughput-buffer", title="Elastic-TCP paper, Fig. 10: one flow; crosses are published"
    )
    for axes, item in zip(fig10.axes, PANELS.values(), strict=True):
        for cca in ALGORITHMS:
            points = [published[item, cca, buffer] for buffer in BUFFERS]
            axes.plot(BUFFERS, points, "x", color="black", markersize=5, markeredgewidth=0.8, zorder=4)
    for name, figure in (("fig7", fig7), ("fig10", fig10)):
        for ending in ("png", "svg"):
            _plots.write(figure, out / f"{name}.{ending}")


if __name__ == "__main__":
    main()
