"""Future work of the papers as short studies: the tables of docs/future-work.md, on standard output.

Elastic-TCP (VII) asks for satellite links and hand-off. The comparison (2.12) asks for buffers near zero on
paths with a high bandwidth-delay product. A cell is the mean of the seeds, with half of its 95 % interval.
"""

from __future__ import annotations

import polars as pl

import cwnd
from cwnd._analysis.gate import interval

SEEDS = 5
LONG_PATH = ("elastic", "cubic", "bic", "htcp", "hybla", "westwood", "bbr3", "reno")
COMPARED = (
    "reno",
    "scalable",
    "htcp",
    "hybla",
    "bic",
    "compound",
    "fast",
    "yeah",
    "illinois",
    "cubic",
    "elastic",
)
PACED = ("reno", "cubic", "elastic")
BUFFERS_PKTS = (1, 5, 20, 100, 500)

#: A geostationary satellite, and a constellation: each 15 s another satellite, with a pause of 100 ms,
#: another RTT and another rate. A hand-off between cells takes 200 ms and doubles the RTT.
PATHS = {
    "geostationary, no errors": "rate = '50 Mbps'\nrtt = '600 ms'\nbuffer = '0.5 BDP'",
    "geostationary, 10⁻⁴": "rate = '50 Mbps'\nrtt = '600 ms'\nbuffer = '0.5 BDP'\nloss = 1e-4",
    "constellation": (
        "rate = { steps = [['0 s', '100 Mbps'], ['15 s', '0 bps'], ['15.1 s', '60 Mbps'], ['30 s', '0 bps'],"
        " ['30.1 s', '120 Mbps'], ['45 s', '0 bps'], ['45.1 s', '80 Mbps']] }\n"
        "delay = { steps = [['0 s', '22 ms'], ['15 s', '31 ms'], ['30 s', '18 ms'], ['45 s', '27 ms']] }\n"
        "buffer = 500\nloss = 1e-5"
    ),
    "hand-off": (
        "rate = { steps = [['0 s', '100 Mbps'], ['20 s', '0 bps'], ['20.2 s', '100 Mbps']] }\n"
        "delay = { steps = [['0 s', '20 ms'], ['20 s', '40 ms']] }\nbuffer = 300\nloss = 1e-5"
    ),
}


def main() -> None:
    print("| Mbit/s, RTT (ms) | " + " | ".join(PATHS) + " |")
    print("|---" * (len(PATHS) + 1) + "|")
    for algorithm in LONG_PATH:
        cells = (cell(on_path(algorithm, path)) for path in PATHS.values())
        print(f"| {algorithm} | " + " | ".join(cells) + " |")
    for flows in (1, 10):
        print()
        print(f"| Mbit/s, {flows} flow{'s' * (flows > 1)} | " + " | ".join(map(str, BUFFERS_PKTS)) + " |")
        print("|---" * (len(BUFFERS_PKTS) + 1) + "|")
        for algorithm in COMPARED:
            row = (near_zero(algorithm, buffer_pkts, flows) for buffer_pkts in BUFFERS_PKTS)
            print(f"| {algorithm} | " + " | ".join(row) + " |")
    for algorithm in PACED:
        row = (near_zero(algorithm, buffer_pkts, 10, pacing="fq") for buffer_pkts in BUFFERS_PKTS)
        print(f"| {algorithm}, paced | " + " | ".join(row) + " |")


def on_path(algorithm: str, path: str) -> pl.DataFrame:
    """A row for each seed, of 60 s."""
    text = f"duration = '60 s'\nrepeat = {SEEDS}\nsamples = 'off'\n[dumbbell]\n{path}\n[[flows]]\n"
    return cwnd.run(cwnd.Scenario.parse(f"{text}cca = '{algorithm}'")).flows


def near_zero(algorithm: str, buffer_pkts: int, count: int, pacing: str = "own") -> str:
    """Goodput of all flows over 1 Gbps and 100 ms, a BDP of 8,256 packets, without the first 20 s of 80."""
    flows = cwnd.run(
        cwnd.Scenario.parse(
            f"duration = '80 s'\nwarmup = '20 s'\nrepeat = {SEEDS}\nsamples = 'off'\n"
            f"stack = {{ pacing = '{pacing}' }}\n[dumbbell]\nrate = '1 Gbps'\nrtt = '100 ms'\n"
            f"buffer = {buffer_pkts}\n"
            f"[[flows]]\ncca = '{algorithm}'\ncount = {count}\nstart_jitter = '1 s'"
        )
    ).flows
    each = flows.group_by("seed", maintain_order=True).agg(pl.sum("goodput_mbps"))
    return with_half(each["goodput_mbps"])


def cell(flows: pl.DataFrame) -> str:
    return f"{with_half(flows['goodput_mbps'])}, {flows['mean_rtt_ms'].to_numpy().mean():.0f}"


def with_half(values: pl.Series) -> str:
    mean, low, _ = interval(values.to_list())
    half = mean - low
    return f"{mean:.3g} ± {half:.2g}"


if __name__ == "__main__":
    main()
