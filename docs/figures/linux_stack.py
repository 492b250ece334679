"""docs/img/linux-stack.svg: cwnd of the profile `linux` over that of Linux, for docs/validation/linux.md."""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
import polars as pl

import cwnd
from cwnd._report.looks import GREY, STYLE, legend, looks, new_figure

ROOT = Path(__file__).parents[2]
TRACES = ROOT / "crates/engine/tests/linux"
ALGORITHMS = ("reno", "cubic", "bic", "htcp", "illinois", "yeah", "vegas", "bbr")
SCENARIO = """
duration = "30 s"
samples = "100 ms"
stack = {{ profile = "linux", header = 52, handshake = "first" }}
[[chain]]
rate = "50 Mbps"
delay = "20 ms"
buffer = 167
[[flows]]
cca = "{cca}"
"""


def main() -> None:
    with mpl.rc_context(STYLE | {"path.simplify_threshold": 1.0, "svg.fonttype": "none"}):
        figure = new_figure(9, 8)
        for axes, cca in zip(figure.subplots(4, 2, sharex=True, sharey=True).flat, ALGORITHMS, strict=True):
            linux = pl.read_csv(TRACES / f"cwnd-A-{cca}.csv")
            samples = cwnd.run(cwnd.Scenario.parse(SCENARIO.format(cca=cca))).samples.drop_nulls("cwnd_pkts")
            axes.plot(linux["time_s"], linux["cwnd"], color=GREY, linewidth=2.4, alpha=0.45)
            axes.plot(
                samples["time_s"],
                samples["cwnd_pkts"],
                color=looks(ALGORITHMS)["cubic"].colour,
                linewidth=0.8,
            )
            axes.set(title=cca, ylim=(0, 600), xlim=(0, 30))
        for axes in figure.axes[-2:]:
            axes.set_xlabel("time in s")
        figure.supylabel("cwnd in packets", fontsize=9)
        thick, thin = (figure.axes[0].lines[i] for i in (0, 1))
        legend(figure, {"Linux 6.12": thick, "cwnd, profile linux": thin})
        figure.savefig(ROOT / "docs/img/linux-stack.svg", metadata={"Date": None})
        figure.savefig(ROOT / "target/linux-stack.png", dpi=100)


if __name__ == "__main__":
    main()
