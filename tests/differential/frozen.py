"""A part of a draw with Linux's values, so that a test needs no guest."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from .draw import Drawn
from .run import Answers
from .score import Score

FILE = Path(__file__).parent / "frozen.json"
COUNT = 8


def freeze(scores: Sequence[Score], linux: Answers) -> None:
    """Keeps the first scenarios whose goodput is within the band."""
    kept = [one.drawn for one in scores if one.metrics and "goodput" not in one.out][:COUNT]
    rows = [{**one._asdict(), "linux": linux.values[one.name]} for one in kept]
    FILE.write_text(json.dumps(rows, indent=1) + "\n")


def read() -> tuple[list[Drawn], Answers]:
    """The kept scenarios, and what Linux answered."""
    drawn, values = [], {}
    for row in json.loads(FILE.read_text()):
        values[row["name"]] = row.pop("linux")
        drawn.append(Drawn(**row))
    return drawn, Answers(values, {})
