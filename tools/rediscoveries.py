"""Searches for failures that the literature knows, each within bounds that have no other ingredients.

    python tools/rediscoveries.py            all of them, as a table of Markdown
    python tools/rediscoveries.py early      those whose name begins so

A row says after how many paths the first failure of that kind was found, and how long that took. Budgets
double until it is found; a row that is never found ends the command with 1.
"""

from __future__ import annotations

import dataclasses
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from cwnd._attack.bounds import Bounds, read_bounds
from cwnd._attack.judge import Judge
from cwnd._attack.search import Failure, Request, explore
from cwnd._scenario.header_files import load_header

HEADERS = Path(__file__).parent.parent / "algorithms"
BUDGET_MAX = 3_200

#: A path of one flow on which nothing happens.
PLAIN = dataclasses.replace(
    read_bounds("reasonable"),
    loss=(1e-7, 1e-7),
    jitter_rtt=0.0,
    queues=("droptail",),
    segments=0,
    rate_factor=(1.0, 1.0),
    rtt_factor=(1.0, 1.0),
    outage_s=0.0,
    reverse_rate=(1.0, 1.0),
    ack_every=2,
    patterns=("bulk",),
    cross=0.0,
    reorder=False,
    aggregation_ms=0.0,
    marks=False,
    packets=20_000,
)
ROUTES = dataclasses.replace(PLAIN, segments=1, rtt_factor=(1.2, 4.0))
EARLY = dataclasses.replace(PLAIN, segments=1, rtt_factor=(0.6, 0.9))
JITTER = dataclasses.replace(PLAIN, jitter_rtt=0.5)
PAUSES = dataclasses.replace(PLAIN, patterns=("on-off", "limited"))


class Known(NamedTuple):
    """A failure of the literature."""

    name: str
    subject: str
    goals: tuple[str, ...]
    bounds: Bounds
    #: One of these is an ingredient of the path; (): any path will do.
    ingredients: tuple[str, ...]
    #: A line of the header, and the faulty one in its place.
    mutant: tuple[str, str] | None = None


KNOWN = (
    *(
        Known(
            "a route gets longer",
            name,
            ("underuse", "pinned"),
            ROUTES,
            ("longer RTT",),
        )
        for name in ("vegas", "fast", "copa", "ledbat")
    ),
    *(
        Known("early ACKs poison the least RTT", name, ("underuse", "pinned"), EARLY, ("shorter RTT",))
        for name in ("vegas", "copa")
    ),
    *(
        Known("starvation under bounded jitter", name, ("starve",), JITTER, ("jitter",))
        for name in ("vegas", "copa", "fast", "bbr")
    ),
    Known(
        "quiche's CUBIC: a pause moves the epoch to now",
        "cubic",
        ("underuse",),
        PAUSES,
        ("pauses", "limited application"),
        ("		epoch->start_us += gap;", "		epoch->start_us = a->now_us;"),
    ),
    Known(
        "BBRv1: PROBE_RTT with a rounded RTT",
        "bbr",
        ("pinned", "underuse", "stall"),
        PLAIN,
        (),
        (
            "	if (!ca->probe_rtt_timed || bbr_ms(a) - ca->probe_rtt_ms <= BBR_PROBE_RTT_MS)",
            "	if (!ca->probe_rtt_timed || a->rtt_us > ca->min_rtt_us / 1000 * 1000)",
        ),
    ),
)


def subject_of(known: Known, folder: Path) -> Judge:
    """The judge of the algorithm, or of the mutant of its header."""
    if known.mutant is None:
        return Judge(known.subject, {}, 0)
    text = (HEADERS / f"{known.subject}.h").read_text()
    before, after = known.mutant
    assert text.count(before) == 1, (known.name, text.count(before))
    file = folder / "mutant.h"
    file.write_text(text.replace(before, after))
    # Another name than the registry's, so that the sound header can be a reference.
    return Judge("mutant", {"mutant": load_header(file)}, 0)


def matches(known: Known, failure: Failure) -> bool:
    kind = failure.kind[1:]
    return not known.ingredients or any(one in kind for one in known.ingredients)


def row(known: Known, folder: Path) -> tuple[str, bool]:
    judge, begin = subject_of(known, folder), time.monotonic()
    budget = 25
    while budget <= BUDGET_MAX:
        request = Request(known.goals, known.bounds, "", 1, budget * len(known.goals))
        for island in range(len(known.goals)):
            found = [one for one in explore(request, island, judge) if matches(known, one)]
            if found:
                worst = max(found, key=lambda one: one.score)
                took = time.monotonic() - begin
                kind = ", ".join(worst.kind[1:])
                paths = judge.counts.evaluations
                told = f"| {known.name} | {known.subject} | {worst.goal}: {kind} | {paths:,} | {took:.1f} |"
                return told, True
        budget *= 2
    return f"| {known.name} | {known.subject} | not found | {judge.counts.evaluations:,} | - |", False


def main(names: list[str]) -> int:
    chosen = [one for one in KNOWN if not names or any(one.name.startswith(name) for name in names)]
    print("| failure | algorithm | found as | paths | s |")
    print("|---|---|---|---|---|", flush=True)
    missed = 0
    with tempfile.TemporaryDirectory(prefix="cwnd-") as folder:
        for known in chosen:
            line, found = row(known, Path(folder))
            missed += not found
            print(line, flush=True)
    return missed > 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
