"""BBRv3 beside bbr: docs/img/bbr3-share.svg, and the tables of docs/bbr3.md but those of a kernel.

The paths are those that its authors test with: one CUBIC flow and one of BBR at 50 Mbit/s and 30 ms, the
second from 2 s on, for 180 s; random loss at 1 Gbit/s, 100 ms and a buffer of a bandwidth-delay product,
60 s; many flows in a buffer of 2 % of it; two flows in deep buffers. The tables go to standard output.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import matplotlib as mpl
import polars as pl
from matplotlib.figure import Figure

import cwnd
from cwnd._report import figures
from cwnd._report.looks import STYLE, looks, new_figure

VERSIONS = ("bbr", "bbr3")
BUFFERS_BDP = (0.1, 0.5, 1, 2, 4, 8, 16)
LOSSES = (1e-6, 1e-5, 1e-4, 1e-3, 0.01, 0.02, 0.03, 0.1)
CROWDS = (1, 10, 30)
DEEP_BDP = (10, 50)


def run(text: str) -> cwnd.Results:
    return cwnd.run(cwnd.Scenario.parse(f"samples = 'off'\n{text}"))


def beside_cubic(version: str, buffer_bdp: float) -> tuple[float, float, float]:
    """CUBIC's and its neighbour's goodput in Mbit/s, and what the neighbour sent again, in per cent."""
    flows = run(
        f"duration = '180 s'\n[dumbbell]\nrate = '50 Mbps'\nrtt = '30 ms'\nbuffer = '{buffer_bdp} BDP'\n"
        f"[[flows]]\ncca = 'cubic'\n[[flows]]\ncca = '{version}'\nstart = '2 s'"
    ).flows
    again = 100 * flows["retransmitted_pkts"][1] / flows["sent_pkts"][1]
    return flows["goodput_mbps"][0], flows["goodput_mbps"][1], again


def with_loss(algorithm: str, loss: float) -> float:
    """Mean goodput of five seeds in Mbit/s."""
    flows = run(
        f"duration = '60 s'\nrepeat = 5\n[dumbbell]\nrate = '1 Gbps'\nrtt = '100 ms'\nbuffer = '1 BDP'\n"
        f"loss = {loss}\n[[flows]]\ncca = '{algorithm}'"
    ).flows
    return float(flows["goodput_mbps"].to_numpy().mean())


def crowded(version: str, count: int) -> float:
    """The part in per cent that is sent again."""
    flows = run(
        "duration = '60 s'\n[dumbbell]\nrate = '1 Gbps'\nrtt = '100 ms'\nbuffer = '0.02 BDP'\n"
        f"[[flows]]\ncca = '{version}'\ncount = {count}\nstart_jitter = '4 s'"
    ).flows
    sums = flows.select(pl.sum("retransmitted_pkts", "sent_pkts"))
    return 100 * float(sums["retransmitted_pkts"][0]) / float(sums["sent_pkts"][0])


def in_deep_buffer(version: str, buffer_bdp: float) -> float:
    """Mean RTT in ms."""
    flows = run(
        f"duration = '120 s'\n[dumbbell]\nrate = '50 Mbps'\nrtt = '30 ms'\nbuffer = '{buffer_bdp} BDP'\n"
        f"[[flows]]\ncca = '{version}'\ncount = 2\nstart_jitter = '1 s'"
    ).flows
    return float(flows["mean_rtt_ms"].to_numpy().mean())


def draw(shares: dict[str, list[tuple[float, float, float]]]) -> Figure:
    with mpl.rc_context(STYLE):
        figure = new_figure(5, 3)
        axes = figure.subplots()
        chosen = looks(VERSIONS)
        for version, rows in shares.items():
            look = chosen[version]
            share = [100 * other / (cubic + other) for cubic, other, _ in rows]
            axes.plot(
                BUFFERS_BDP, share, color=look.colour, linestyle=look.line, marker=look.marker, label=version
            )
        axes.axhline(50, color="#888888", linewidth=0.8, linestyle=(0, (1, 2)))
        axes.set_xscale("log", base=2)
        axes.set_xticks(BUFFERS_BDP, [f"{buffer:g}" for buffer in BUFFERS_BDP])
        axes.minorticks_off()
        axes.set_ylim(0, 100)
        axes.set_xlabel("buffer (BDP)")
        axes.set_ylabel("share beside CUBIC (%)")
        axes.legend()
        figure.suptitle("A flow of BBR beside one of CUBIC: 50 Mbit/s, 30 ms")
    return figure


def print_table(head: list[str], rows: list[list[str]]) -> None:
    print("| " + " | ".join(head) + " |")
    print("|" + "---|" * len(head))
    for row in rows:
        print("| " + " | ".join(row) + " |")
    print()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--out", type=Path, default=Path("docs/img"), help="directory for the figure")
    out = parser.parse_args().out
    shares = {version: [beside_cubic(version, buffer) for buffer in BUFFERS_BDP] for version in VERSIONS}
    figures.write_figure(draw(shares), out / "bbr3-share.svg")
    print_table(
        ["cubic / neighbour, Mbit/s; sent again", *(f"{buffer:g} BDP" for buffer in BUFFERS_BDP)],
        [
            [
                version,
                *(f"{cubic:.1f} / {other:.1f}; {again:.2f} %" for cubic, other, again in shares[version]),
            ]
            for version in VERSIONS
        ],
    )
    print_table(
        ["random loss", *(f"{loss:g}" for loss in LOSSES)],
        [[name, *(f"{with_loss(name, loss):.0f}" for loss in LOSSES)] for name in ("cubic", *VERSIONS)],
    )
    print_table(
        ["sent again", *(f"{count} flows" for count in CROWDS)],
        [[version, *(f"{crowded(version, count):.1f} %" for count in CROWDS)] for version in VERSIONS],
    )
    print_table(
        ["mean RTT", *(f"{buffer} BDP" for buffer in DEEP_BDP)],
        [
            [version, *(f"{in_deep_buffer(version, buffer):.0f} ms" for buffer in DEEP_BDP)]
            for version in VERSIONS
        ],
    )


if __name__ == "__main__":
    main()
