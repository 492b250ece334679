"""Computes what the vectors beside this file expect.

    python3 check.py            writes NAME.json, one file per algorithm
    python3 check.py --check    fails if a file is not what this script would write

Each algorithm has a file in models/. The decisions come from the equations of the papers and
RFCs, in real or rational arithmetic, and not from the headers. A case that has a tolerance is
one whose header rounds where the equation does not: its expected cwnd is a range.
"""

import json
import sys
from importlib import import_module
from math import ceil, floor
from pathlib import Path

from stack import Sender

HERE = Path(__file__).parent


def solve(case):
    sender = Sender(case["model"](**case["params"]), case["window"])
    tolerance, steps = case["tolerance"], []
    for step in case["steps"]:
        sender.step(step)
        low, high = max(sender.cwnd - tolerance, 1), sender.cwnd + tolerance
        expect = {"cwnd": [low, high]}
        if "loss" in step or "rto" in step:
            expect["ssthresh"] = [max(sender.ssthresh - tolerance, 2), sender.ssthresh + tolerance]
        if sender.model.pacing is not None:
            rate, part = sender.model.pacing, sender.model.pacing_tolerance
            expect["pacing_rate"] = [floor(rate * (1 - part)), ceil(rate * (1 + part))]
        steps.append(step | {"expect": expect})
    return {"name": case["name"], "params": case["params"], "window": case["window"], "steps": steps}


def text(cases):
    """JSON with one step to a line."""
    blocks = []
    for solved in map(solve, cases):
        steps = ",\n".join("      " + json.dumps(step) for step in solved.pop("steps"))
        blocks.append("  {" + json.dumps(solved)[1:-1] + ', "steps": [\n' + steps + "\n  ]}")
    return "[\n" + ",\n".join(blocks) + "\n]\n"


def main():
    check = sys.argv[1:] == ["--check"]
    stale = []
    for model in sorted((HERE / "models").glob("*.py")):
        path = HERE / f"{model.stem.replace('_', '-')}.json"
        wanted = text(import_module(f"models.{model.stem}").CASES)
        if not check:
            path.write_text(wanted)
        elif not path.exists() or path.read_text() != wanted:
            stale.append(path.name)
    if stale:
        sys.exit(f"not what check.py computes: {', '.join(stale)}; run check.py")


if __name__ == "__main__":
    main()
