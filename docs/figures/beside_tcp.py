"""CUBIC over TCP beside CUBIC over QUIC on one bottleneck: a table of docs/quic-stacks.md, on stdout.

Shares are of the first flow, with Jain's index of both: the mean and the range of the first five runs, and of
all runs the mean with its 95 % interval.
"""

from __future__ import annotations

from itertools import starmap
from statistics import mean, stdev

import cwnd

RUNS = 30
FIRST_RUNS = 5
#: Student's t for 30 runs.
STUDENT = 2.045

SCENARIO = """
duration = "80 s"
warmup = "20 s"
samples = "off"
repeat = {runs}
[dumbbell]
rate = "50 Mbps"
rtt = "40 ms"
buffer = "1 BDP"
[[flows]]
cca = "{first}"
start_jitter = "100 ms"
{stack}
[[flows]]
cca = "{second}"
start_jitter = "100 ms"
"""

PAIRS = [
    ("sim", "cubic", "cubic", ""),
    *(
        (stack, "tcp:cubic", second, changed)
        for stack in ("quinn", "noq")
        for changed in ("", "handshake = 'first'", "pacing = 'fq'")
        for second in ("cubic", f"{stack}:cubic")
    ),
    ("quinn", "tcp:cubic", "quinn:cubic", "recovery = 'sack'"),
]


def row(world: str, first: str, second: str, changed: str) -> str:
    stack = f"stack = {{ {changed} }}" if changed else ""
    text = SCENARIO.format(runs=RUNS, first=first, second=second, stack=stack)
    flows = cwnd.run(cwnd.Scenario.parse(text), world=world).flows
    goodputs = [flows.filter(flows["flow"] == flow)["goodput_mbps"].to_list() for flow in (0, 1)]
    shares = list(starmap(lambda one, other: one / (one + other), zip(*goodputs, strict=True)))
    jains = [1 / (2 * (share**2 + (1 - share) ** 2)) for share in shares]
    few = shares[:FIRST_RUNS]
    half = STUDENT * stdev(shares) / RUNS**0.5
    cells = [
        f"{first}, {world}" + (f", `{changed}`" if changed else ""),
        second,
        *(f"{mean(goodput[:FIRST_RUNS]):.1f}" for goodput in goodputs),
        f"{mean(few):.2f} ({min(few):.2f} to {max(few):.2f})",
        f"{mean(jains[:FIRST_RUNS]):.2f}",
        f"{mean(shares):.2f} ± {half:.2f}",
        f"{mean(jains):.2f}",
    ]
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    for pair in PAIRS:
        print(row(*pair), flush=True)
