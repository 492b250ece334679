"""How Agile-TCP should combine its two factors: the thesis' grid, and a table of the results."""

from __future__ import annotations

import argparse
from math import exp
from pathlib import Path

import polars as pl
import study

HERE = Path(__file__).parent
RULES = ("switch", "max", "sum")
CCAS = [*({"name": "agile", "combine": rule} for rule in RULES), "agile-sd", "elastic", "cubic"]
NAMES = (*RULES, "agile-sd", "elastic", "cubic")
BUFFERS = (5, 50, 500, 6400)
#: RTT in ms, duration in s and time between the starts of two flows in s: hundreds of RTTs at least.
PATHS = ((1, 5, 0.25), (8, 10, 0.5), (32, 20, 1), (128, 40, 2), (256, 80, 4))
#: Packet error rates and seeds. Without errors nothing is random.
PARTS: dict[str, tuple[list[float], int]] = {"lossless": ([0], 1), "errors": ([1e-5, 1e-3], 3)}
FLOWS = (1, 4)
#: Goodput of a full link: 1000 of the 1066 bytes of a packet.
FULL_MBPS = 1000 * 1000 / 1066
#: Student's t for the 40 to 120 points of a table.
T95 = 2.0
#: Columns that identify a point.
POINT = ["rtt_ms", "buffer", "per", "flows"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--out", type=Path, default=Path("agile-combine"), help="directory that keeps the runs"
    )
    out = parser.parse_args().out
    points = pl.concat([swept(*PARTS[part], out / part) for part in PARTS])
    print("\n\n".join([overall(points), *(broken_down(points, column) for column in POINT)]))
    print("\nWithout errors, every segment acknowledged by itself:\n")
    each = {"flows.cca": CCAS[: len(RULES)], "flows.stack": [{"ack_every": 1}]}
    points = swept([0], 1, out / "each-acknowledged", each)
    print("\n\n".join([overall(points), broken_down(points, "buffer")]))


def swept(pers: list[float], seeds: int, out: Path, more: dict[str, object] | None = None) -> pl.DataFrame:
    """A row per point: what was varied, and means over the seeds."""
    grid = {
        "flows.cca": CCAS,
        "dumbbell.buffer": list(BUFFERS),
        "dumbbell.per": pers,
        "flows.count": list(FLOWS),
        ("dumbbell.delay", "duration", "flows.stagger"): [
            (f"{rtt_ms / 2} ms", f"{seconds} s", f"{stagger} s") for rtt_ms, seconds, stagger in PATHS
        ],
        **(more or {}),
    }
    results = study.swept(HERE / "combine.toml", grid, out, seeds)
    asked = dict.fromkeys(values["flows.cca"] for values in results.values)
    name_of = dict(zip(asked, NAMES, strict=False))
    varied = pl.DataFrame(
        {
            "scenario": scenario["name"],
            "cca": name_of[values["flows.cca"]],
            "rtt_ms": 2 * float(values["dumbbell.delay"].removesuffix(" ms")),
            "buffer": values["dumbbell.buffer"],
            "per": float(values["dumbbell.per"]),
            "flows": values["flows.count"],
        }
        for values, scenario in zip(results.values, results.scenarios, strict=True)
    )
    means = results.summary.pivot("metric", index="scenario", values="mean")
    return varied.join(means, on="scenario").with_columns(share=pl.col("goodput_mbps") / FULL_MBPS)


def overall(points: pl.DataFrame) -> str:
    """Goodput against switch and max, losses and fairness."""
    best = points.filter(pl.col("cca").is_in(RULES)).group_by(POINT).agg(best=pl.col("share").max())
    switch = points.filter(cca="switch").select(*POINT, switch="share")
    points = points.join(best, on=POINT).join(switch, on=POINT)
    rows = []
    for name in points["cca"].unique(maintain_order=True):
        own = points.filter(cca=name)
        gain = (own["share"] / own["switch"]).log()
        rows.append(
            [
                name,
                f"{geometric(own):.3f}",
                "" if name == "switch" else interval(gain),
                f"{(own['share'] / own['best']).min():.2f}",
                f"{100 * own['loss_ratio'].mean():.2f} %",
                f"{own.filter(flows=4)['jain_fairness'].mean():.3f}",
            ]
        )
    heads = ["goodput", "against `switch`", "worst point", "lost", "Jain, 4 flows"]
    by_rule = {rule: points.filter(cca=rule).sort(POINT)["share"] for rule in RULES}
    narrow = interval((by_rule["sum"] / by_rule["max"]).log())
    return table(["", *heads], rows) + f"\n\n`sum` against `max`: {narrow}"


def interval(gain: pl.Series) -> str:
    """A mean of logarithms and its 95 % interval as ratios."""
    half = T95 * gain.std() / len(gain) ** 0.5
    low, mean, high = (
        f"{100 * (exp(gain.mean() + side * half) - 1):+.1f} %".replace("-", "−") for side in (-1, 0, 1)
    )
    return f"{mean} [{low}, {high}]"


def broken_down(points: pl.DataFrame, column: str) -> str:
    """The goodput, by the values of one column."""
    heads = {"rtt_ms": "RTT, ms", "buffer": "buffer, packets", "per": "PER", "flows": "flows"}
    keys = points[column].unique().sort().to_list()
    rows = [
        [name, *(f"{geometric(points.filter(pl.col(column) == key, cca=name)):.3f}" for key in keys)]
        for name in points["cca"].unique(maintain_order=True)
    ]
    return table([heads[column], *(f"{key:g}" for key in keys)], rows)


def geometric(points: pl.DataFrame) -> float:
    return exp(points["share"].log().mean())


def table(heads: list[str], rows: list[list[str]]) -> str:
    def line(cells: list[str]) -> str:
        return "| " + " | ".join(f"`{cell}`" if cell in RULES else cell for cell in cells) + " |"

    return "\n".join([line(heads), "|" + "---|" * len(heads), *map(line, rows)])


if __name__ == "__main__":
    main()
