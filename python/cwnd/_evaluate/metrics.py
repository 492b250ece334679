"""Values of a run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, TypeAlias

from cwnd._analysis.harm import epsilon_fairness, jain_index, least_share
from cwnd._evaluate.scenarios import Run

if TYPE_CHECKING:
    from cwnd._common.shapes import FlowRow

Rows: TypeAlias = "Sequence[FlowRow]"
Value = Callable[[Run], float | None]


def _goodputs_mbps(rows: Rows) -> list[float]:
    return [row["goodput_mbps"] for row in rows]


def _mean_of_known(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


def utilization_percent(run: Run) -> float:
    return 100 * run.links["bottleneck"]["utilization"]


def p95_queue_ms(run: Run) -> float:
    """The delay at the bottleneck that 95 % of the packets stay within."""
    return run.links["bottleneck"]["p95_queue_ms"]


def goodput_mbps(rows: Rows) -> float:
    return sum(_goodputs_mbps(rows))


def loss_percent(rows: Rows) -> float:
    # As the results have it: some may have been sent before the warmup, or copied by a wire.
    carried = sum(max(row["sent_pkts"], row["delivered_pkts"] + row["lost_pkts"]) for row in rows)
    return 100 * sum(row["lost_pkts"] for row in rows) / carried if carried else 0.0


def rtt_ms(rows: Rows) -> float | None:
    """The mean of the flows that have an RTT."""
    return _mean_of_known(row["mean_rtt_ms"] for row in rows)


def fct_ms(rows: Rows) -> float | None:
    """The mean completion time; None if no transfer ended."""
    return _mean_of_known(row["fct_ms"] for row in rows)


def jain(rows: Rows) -> float:
    return jain_index(_goodputs_mbps(rows))


def least_over_largest(rows: Rows) -> float:
    return epsilon_fairness(_goodputs_mbps(rows))


def least_percent(rows: Rows, among: Rows) -> float:
    """The least goodput of `rows` in percent of an equal share of all `among`."""
    return 100 * least_share(_goodputs_mbps(rows), goodput_mbps(among) / len(among))


def of_group(value: Callable[[Rows], float | None], group: int) -> Value:
    """The value of one group of flows."""
    return lambda run: value(run.groups[group])


def of_all(value: Callable[[Rows], float | None]) -> Value:
    """The value of all flows."""
    return lambda run: value(run.flows)


def sent_per_rtt(rtt_s: float, span_s: float) -> Value:
    """Packets that a flow sends in a round trip, retransmissions included."""
    return lambda run: sum(flow["sent_pkts"] for flow in run.flows) * rtt_s / (span_s * len(run.flows))


def sent_pkts(run: Run) -> float:
    return float(sum(flow["sent_pkts"] for flow in run.flows))
