"""The colour and the dashes of each algorithm as JSON, the same as in all figures, for the page."""

from __future__ import annotations

import json

import cwnd
from cwnd._report.looks import looks


def dashes(line: object) -> list[float]:
    return list(line[1]) if isinstance(line, tuple) else []


names = [algorithm["name"] for algorithm in [*cwnd.algorithms(), *cwnd.presets()]]
print(json.dumps({name: [look.colour, dashes(look.line)] for name, look in looks(names).items()}))
