"""The metrics of a summary: one table, from which all read."""

from __future__ import annotations

import math
from typing import NamedTuple

from cwnd._common.errors import error, one_line


class Metric(NamedTuple):
    """A metric of the summary: how it is called in words, its unit, and which direction is better."""

    words: str
    unit: str
    higher_is_better: bool
    #: Shown in percent, while the value is a fraction.
    percent: bool = False
    #: The greatest value that is possible; the least is 0.
    most: float = math.inf

    @property
    def factor(self) -> float:
        return 100 if self.percent else 1

    @property
    def label(self) -> str:
        unit = "%" if self.percent else self.unit
        return f"{self.words} ({unit})" if unit else self.words


#: Every metric of the summary, by the name that results, commands and files have for it.
METRICS = {
    "throughput_mbps": Metric("throughput", "Mbit/s", True),
    "goodput_mbps": Metric("goodput", "Mbit/s", True),
    "utilization": Metric("utilization", "", True, percent=True, most=1),
    "loss_ratio": Metric("loss", "", False, percent=True, most=1),
    "mean_rtt_ms": Metric("mean RTT", "ms", False),
    "p95_rtt_ms": Metric("p95 RTT", "ms", False),
    "jain_fairness": Metric("Jain's index", "", True, most=1),
    "rtt_fairness": Metric("RTT fairness", "", True, most=1),
    "timeouts": Metric("timeouts", "", False),
    "fct_p50_ms": Metric("median FCT", "ms", False),
    "fct_p95_ms": Metric("p95 FCT", "ms", False),
    "fct_p99_ms": Metric("p99 FCT", "ms", False),
    "slowdown_p50": Metric("median slowdown", "", False),
    "slowdown_p99": Metric("p99 slowdown", "", False),
}

#: Columns of a table of a result: the heading of each metric, and the factor for its values.
TABLE_COLUMNS = {
    "throughput_mbps": ("throughput Mbit/s", 1),
    "goodput_mbps": ("goodput Mbit/s", 1),
    "loss_ratio": ("loss %", 100),
    "mean_rtt_ms": ("mean RTT ms", 1),
    "p95_rtt_ms": ("p95 RTT ms", 1),
    "jain_fairness": ("Jain", 1),
    "timeouts": ("timeouts", 1),
}


def read_metric(key: str, given: str) -> str:
    """The name, if it is a metric's. Errors call it `key`."""
    if given not in METRICS:
        raise error(key, f"{one_line(repr(given))} is not a metric; there are {', '.join(METRICS)}")
    return given
