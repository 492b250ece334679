"""Figs. 15 and 16 of the Elastic-TCP paper on this machine's kernel, cell by cell.

    python tools/live_cells.py            runs what papers/elastic-tcp/live.csv lacks, one run after another
    python tools/live_cells.py take DIR   takes what `cwnd reproduce elastic-tcp --on live --out DIR` finished
    python tools/live_cells.py page       writes papers/elastic-tcp/live.md from the table

A run takes as long as its transfers, 50 s to 10 minutes, and wants the machine for itself; stop it at will.
A run whose path was not what is asked for is not kept: the next call makes it again.
"""

from __future__ import annotations

import csv
import sys
from pathlib import Path
from typing import NamedTuple

import verdicts

import cwnd
from cwnd._common.files import write_file
from cwnd._reproduce import measure
from cwnd._reproduce.claims import Quantity
from cwnd._reproduce.paper import load
from cwnd._results.notes import INVALID
from cwnd._run.jobs import SweepPoint
from cwnd._run.partial import finished_runs
from cwnd._scenario.scenario import Scenario

PAPER = "elastic-tcp"
FOLDER = Path(__file__).resolve().parents[1] / "papers" / PAPER
TABLE, PAGE = FOLDER / "live.csv", FOLDER / "live.md"

METRICS = ("transfers_mbps", "loss_percent", "missing_percent", "retransmitted_percent", "jain_fairness")
COLUMNS = ("flows", "algorithm", "buffer_pkts", "run", *METRICS)

#: Cells whose spread is measured, and their number of runs; the others have one.
RUNS = 5
REPEATED = ((1, "elastic", 5000), (1, "bbr", 500), (1, "cubic", 12500))

FIGURES = (
    ("fig15a", 1, "transfers_mbps"),
    ("fig15b", 1, "loss_percent"),
    ("fig16a", 4, "transfers_mbps"),
    ("fig16b", 4, "loss_percent"),
    ("fig16c", 4, "jain_fairness"),
)
UNITS = {"transfers_mbps": "Mbit/s", "loss_percent": "losses in %", "jain_fairness": "Jain's index"}

INTRO = """# The testbed of Elastic-TCP on a live kernel

A cell of Figs. 15 and 16 is *published / live / simulated*; a dash: not run.
Bold: the live value agrees with the published one, within 10 %.
`python tools/live_cells.py` runs the cells that [live.csv](live.csv) lacks.
[The README](README.md#what-comes-out) says what follows; `make docs` writes this page.
"""


class Cell(NamedTuple):
    """A point of the figures."""

    flows: int
    algorithm: str
    buffer_pkts: int

    @property
    def runs(self) -> int:
        return RUNS if self in REPEATED else 1


def points() -> dict[Cell, SweepPoint]:
    """The scenario of each cell, those of one flow first."""
    found = {}
    for point in measure.plan(measure.select(load(PAPER), world="live")).points:
        flows = len(point.description["flows"])
        cell = Cell(flows, str(point.values["variant"]), int(str(point.values["dumbbell.access.buffer"])))
        found[cell] = point
    return found


def kept() -> dict[Cell, list[dict[str, float]]]:
    """The metrics of the runs in the table."""
    found: dict[Cell, list[dict[str, float]]] = {}
    if TABLE.exists():
        with TABLE.open(newline="") as file:
            for row in csv.DictReader(file):
                cell = Cell(int(row["flows"]), row["algorithm"], int(row["buffer_pkts"]))
                found.setdefault(cell, []).append({name: float(row[name]) for name in METRICS})
    return found


def keep(runs: dict[Cell, list[dict[str, float]]]) -> None:
    """Writes the table, in the order of the figures."""
    lines = [",".join(COLUMNS)]
    for cell in points():
        for number, run in enumerate(runs.get(cell, []), 1):
            lines.append(",".join(map(str, [*cell, number, *(f"{run[name]:.6g}" for name in METRICS)])))
    write_file(TABLE, ("\n".join(lines) + "\n").encode())


def metrics_of(results: cwnd.Results, scenario: str) -> dict[str, float]:
    """The metrics of a scenario with one run."""
    flows = results.flows.filter(scenario=scenario).to_dicts()
    of_flows = {name: measure._OF_FLOWS[name](flows) for name in METRICS[:-1]}
    (jain,) = results.metrics_by_scenario[scenario]["jain_fairness"]
    return {**of_flows, "jain_fairness": jain}


def run_missing() -> None:
    """One attempt at each run that the table lacks, first runs first; exit 1 if some are still missing."""
    runs = kept()
    missing = 0
    for number in range(RUNS):
        for cell, point in points().items():
            if not len(runs.get(cell, [])) <= number < cell.runs:
                continue
            scenario = Scenario(point.scenario, ("", point.scenario.name, {}))
            try:
                results = cwnd.run(scenario, world="live")
                reason = next((note for _, note in results.notes if note.startswith(INVALID)), "")
            except cwnd.Error as refused:
                reason = str(refused)
            if reason:
                missing += 1
                print(f"{scenario.name}: {reason}", flush=True)
                continue
            metrics = metrics_of(results, scenario.name)
            runs.setdefault(cell, []).append(metrics)
            keep(runs)
            print(f"{scenario.name}: {metrics['transfers_mbps']:.1f} Mbit/s", flush=True)
    if missing:
        sys.exit(f"{missing} runs are missing; repeat the command")


def take(folder: Path) -> None:
    asked = measure.plan(measure.select(load(PAPER), world="live"))
    results, _ = finished_runs(asked, folder / f"{PAPER}-on-live" / "runs", world="live")
    runs, done = kept(), {scenario["name"] for scenario in results.scenarios}
    for cell, point in points().items():
        if point.scenario.name in done and cell not in runs:
            runs[cell] = [metrics_of(results, point.scenario.name)]
    keep(runs)


def page() -> str:
    runs, paper = kept(), load(PAPER)
    parts, simulated = [INTRO], verdicts.read(PAPER).tables
    whole = points()
    parts.append(f"{len(runs)} of {len(whole)} cells were run.")
    for name, flows, metric in FIGURES:
        item = paper.items[name]
        heading = f"{item.published}: {item.title}"
        cells = [cell for cell in whole if cell.flows == flows]
        buffers = list(dict.fromkeys(cell.buffer_pkts for cell in cells))
        lines = [f"| {UNITS[metric]} | " + " | ".join(f"{buffer}" for buffer in buffers) + " |"]
        lines.append("|---" * (len(buffers) + 1) + "|")
        agreeing: list[bool] = []
        for algorithm in paper.experiments[item.experiment].variants:
            label = paper.variants[algorithm].label
            row = []
            for buffer in buffers:
                published, _, ours = simulated[heading][label][f"buffer {buffer}"].partition(" / ")
                values = [run[metric] for run in runs.get(Cell(flows, algorithm, buffer), [])]
                shown = "–"
                if values:
                    live = Quantity(dict(enumerate(values)), fixed=False).estimate
                    agreeing.append(live.agrees(float(published)))
                    shown = f"**{live.mean:.3g}**" if agreeing[-1] else f"{live.mean:.3g}"
                row.append(f"{published} / {shown} / {ours.split()[0]}")
            lines.append(f"| {label} | " + " | ".join(row) + " |")
        parts.append(
            f"## {heading}\n\n" + "\n".join(lines) + f"\n\n{sum(agreeing)} of {len(agreeing)} agree."
        )
    parts.append(_spread(runs))
    return "\n\n".join(part.strip() for part in parts) + "\n"


def _spread(runs: dict[Cell, list[dict[str, float]]]) -> str:
    lines = ["## Spread of repeated cells", "", "| cell | runs | Mbit/s | losses in % |", "|---|---|---|---|"]
    for given in REPEATED:
        cell = Cell(*given)
        own = runs.get(cell, [])
        rates, losses = (", ".join(f"{run[name]:.4g}" for run in own) for name in METRICS[:2])
        lines.append(
            f"| one flow of {cell.algorithm}, {cell.buffer_pkts} packets | {len(own)} | {rates} | {losses} |"
        )
    return "\n".join(lines)


def main() -> None:
    match sys.argv[1:]:
        case []:
            run_missing()
        case ["take", folder]:
            take(Path(folder))
        case ["page"]:
            PAGE.write_text(page())
        case _:
            sys.exit(__doc__)


if __name__ == "__main__":
    main()
