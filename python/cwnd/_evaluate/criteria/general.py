"""RFC 9743, 6: paths of general use."""

from __future__ import annotations

from cwnd._evaluate import metrics
from cwnd._evaluate.criterion import Criterion
from cwnd._evaluate.scenarios import Case, Measure, Part, Rule, bulk, case, path

#: A packet on the wire. A buffer of the range holds two or more.
_PACKET_KBIT = 1.514 * 8


def utilization(points: float) -> Measure:
    """The bottleneck's utilization, which may be lower than the baseline's by `points` of percent."""
    return Measure("utilization", "%", metrics.utilization_percent, Rule(amount=points), more_is_better=True)


def goodput(share: float) -> Measure:
    return Measure(
        "goodput", "Mbit/s", metrics.of_all(metrics.goodput_mbps), Rule(share=share), more_is_better=True
    )


def queue(share: float, amount_ms: float) -> Measure:
    return Measure("p95 queueing delay", "ms", metrics.p95_queue_ms, Rule(share=share, amount=amount_ms))


def loss(share: float, points: float) -> Measure:
    return Measure("loss", "%", metrics.of_all(metrics.loss_percent), Rule(share=share, amount=points))


def criteria(quick: bool) -> list[Criterion]:
    return [
        _range(quick),
        _tail_drop(quick),
        Criterion(
            "tunnels",
            "RFC 9743, 6.2",
            "MUST",
            "Tunnels",
            "An algorithm that relies on explicit signals from the path considers traffic that passes "
            "through a tunnel.",
            author=True,
        ),
        _wireless(quick),
    ]


def _range(quick: bool) -> Criterion:
    every = [
        (rate_mbps, rtt_ms, size)
        for rate_mbps in (1, 10, 100, 1000)
        for rtt_ms in (10, 50, 100, 300)
        for size in (0.1, 0.5, 1, 4)
        if rate_mbps * rtt_ms * size >= 2 * _PACKET_KBIT
    ]
    few = [(1, 50, 1), (10, 20, 1), (100, 20, 0.2), (100, 100, 1), (500, 100, 0.2)]
    points = [
        (f"{rate_mbps} Mbps", f"{rtt_ms} ms", f"{size} BDP")
        for rate_mbps, rtt_ms, size in (few if quick else every)
    ]
    cases = [
        case(f"{rate}, {rtt}, {buffer}", path(rate, rtt, buffer, duration="60 s", warmup="10 s"), bulk())
        for rate, rtt, buffer in points
    ]
    return Criterion(
        "range",
        "RFC 9743, 6 and 6.3",
        "SHOULD",
        "A representative range of rates, RTTs and buffers",
        "The evaluation occurs over a representative range of bandwidths, delays and queue depths, wired.",
        [Part(cases, [utilization(5)])],
    )


def _tail_drop(quick: bool) -> Criterion:
    buffers = (
        ("50 packets", "64 KiB", "100 ms")
        if quick
        else (
            "20 packets",
            "50 packets",
            "64 KiB",
            "20 ms",
            "100 ms",
            "500 ms",
        )
    )
    cases = [
        case(
            f"4 flows, tail drop at {buffer}",
            path("20 Mbps", "40 ms", buffer, duration="60 s", warmup="20 s"),
            bulk(count=4),
        )
        for buffer in buffers
    ]
    return Criterion(
        "tail-drop",
        "RFC 9743, 6.1",
        "MUST",
        "Paths with tail-drop queues",
        "The drop-tail discipline is evaluated: utilization, delay and loss.",
        [Part(cases, [utilization(5), queue(0.1, 2), loss(1, 1)])],
    )


def _wireless(quick: bool) -> Criterion:
    def over(name: str, rate: object = "20 Mbps", **link: object) -> Case:
        return case(name, path(rate, "40 ms", "100 packets", duration="60 s", warmup="5 s", **link), bulk())

    slow_and_fast = [[f"{4 * k} s", "20 Mbps" if k % 2 else "5 Mbps"] for k in range(15)]
    cases = [
        over("0.1 % random loss", loss="0.1%"),
        over("1 % random loss", loss="1%"),
        over("bursts of loss", loss={"model": "gilbert-elliott", "p": 0.001, "r": 0.1}),
        over("rate between 5 and 20 Mbit/s", rate={"steps": slow_and_fast}, access={"rate": "200 Mbps"}),
        over("jitter of 5 ms", jitter={"std": "5 ms"}),
    ]
    if not quick:
        fast = [[f"{250 * k} ms", "20 Mbps" if k % 2 else "5 Mbps"] for k in range(240)]
        cases += [
            over("0.01 % random loss", loss="0.01%"),
            over("3 % random loss", loss="3%"),
            over("rate changes every 250 ms", rate={"steps": fast}, access={"rate": "200 Mbps"}),
            over("jitter up to 15 ms", jitter={"uniform": "15 ms"}),
            over("jitter of 5 ms and 1 % random loss", jitter={"std": "5 ms"}, loss="1%"),
        ]
    return Criterion(
        "wireless",
        "RFC 9743, 6.4",
        "SHOULD",
        "Wireless paths",
        "Losses that are no congestion, a capacity that varies, delays that jitter.",
        [Part(cases, [goodput(0.1)])],
    )
