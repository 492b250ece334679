"""RFC 9743, 7: special cases."""

from __future__ import annotations

from cwnd._evaluate import metrics
from cwnd._evaluate.criteria.general import goodput, loss, queue, utilization
from cwnd._evaluate.criterion import Criterion
from cwnd._evaluate.scenarios import ECN_OF_SUBJECT, Measure, Part, Rule, bulk, case, path


def criteria(quick: bool) -> list[Criterion]:
    return [
        _aqm(quick),
        _ecn(quick),
        Criterion(
            "circuit-breakers",
            "RFC 9743, 7.2",
            "none",
            "Network circuit breakers",
            "The algorithm reacts before a flow uses excessive resources, so that it stays within the "
            "envelope of circuit breakers.",
            author=True,
        ),
        _varying_delay(quick),
        _constrained(quick),
        _high_delay(quick),
        Criterion(
            "misbehaving-nodes",
            "RFC 9743, 7.6",
            "SHOULD",
            "Misbehaving nodes",
            "How the algorithm performs with senders, receivers or routers that do not comply.",
            reason="the receivers of every world are honest: none acknowledges what has not arrived "
            "(optimistic ACKs) or a segment in parts (ACK division)",
        ),
        _reordering(quick),
        _transients(quick),
        _path_change(quick),
        Criterion(
            "multipath",
            "RFC 9743, 7.10",
            "MUST",
            "Multipath transport",
            "A multipath algorithm evaluates the harm of a change of path, and the harm where paths share a "
            "bottleneck.",
            author=True,
        ),
        _data_center(quick),
    ]


def _aqm(quick: bool) -> Criterion:
    names = (
        ("codel", "fq-codel", "pie", "dualpi2") if quick else ("red", "codel", "fq-codel", "pie", "dualpi2")
    )
    cases = [
        case(
            f"{count} flow{'s' * (count > 1)}, {name}",
            path("50 Mbps", "40 ms", "4 BDP", duration="60 s", warmup="10 s", queue=name),
            bulk(count=count),
        )
        for name in names
        for count in ((4,) if quick else (1, 4, 32))
    ]
    return Criterion(
        "aqm",
        "RFC 9743, 7.1",
        "SHOULD",
        "Active queue management",
        "The algorithm under a variety of queue disciplines, without ECN.",
        [Part(cases, [utilization(5), queue(0.25, 5), loss(1, 1)])],
    )


def _ecn(quick: bool) -> Criterion:
    queues: dict[str, dict[str, object]] = {
        "codel": {"queue": {"discipline": "codel", "ecn": True}},
        "fq-codel": {"queue": "fq-codel"},
        "pie": {"queue": {"discipline": "pie", "ecn": True}},
        "dualpi2": {"queue": "dualpi2"},
        "a threshold of 20 packets": {"ecn_threshold": 20},
    }
    chosen = ("codel", "pie", "dualpi2") if quick else tuple(queues)
    cases = [
        case(
            f"4 flows with ECN, {name}",
            path("50 Mbps", "40 ms", "4 BDP", duration="60 s", warmup="10 s", **queues[name]),
            bulk(count=4, stack={"ecn": ECN_OF_SUBJECT}),
        )
        for name in chosen
    ]
    return Criterion(
        "ecn",
        "RFC 9743, 7.1",
        "SHOULD",
        "Reaction to ECN marks",
        "The reaction to CE marks conforms to the codepoint that is used: the queue stays as short and the "
        "link as full as for the baseline. An algorithm without an ECN of its own has that of RFC 3168.",
        [Part(cases, [utilization(5), queue(0.25, 5), loss(1, 0.5)])],
    )


def _varying_delay(quick: bool) -> Criterion:
    changes: dict[str, list[list[str]]] = {
        "RTT 40 ms, 120 ms from 20 s on": [["0 s", "20 ms"], ["20 s", "60 ms"]],
        "RTT 120 ms, 40 ms from 20 s on": [["0 s", "60 ms"], ["20 s", "20 ms"]],
        "RTT 40 and 60 ms, every 5 s": [[f"{5 * k} s", "30 ms" if k % 2 else "20 ms"] for k in range(12)],
    }
    if not quick:
        changes["RTT 40 and 50 ms, every second"] = [
            [f"{k} s", "25 ms" if k % 2 else "20 ms"] for k in range(60)
        ]
        changes["RTT 40 ms, 400 ms from 20 s on"] = [["0 s", "20 ms"], ["20 s", "200 ms"]]
    cases = [
        case(
            name,
            path("50 Mbps", "", 250, duration="60 s", warmup="20 s", delay={"steps": steps}),
            bulk(),
        )
        for name, steps in changes.items()
    ]
    return Criterion(
        "varying-delay",
        "RFC 9743, 7.3",
        "SHOULD",
        "Paths with varying delay",
        "Operation is robust when the minimum delay changes significantly.",
        [Part(cases, [utilization(10)])],
    )


def _constrained(quick: bool) -> Criterion:
    rates = ("64 kbps",) if quick else ("64 kbps", "256 kbps")
    cases = [
        case(
            f"{rate}, {rtt}, queue {buffer}",
            path(rate, rtt, buffer, duration="300 s", warmup="30 s"),
            bulk(packet="512 bytes"),
        )
        for rate in rates
        for rtt, buffer in (("10 ms", "1250 ms"), ("200 ms", "500 ms"))
    ]
    return Criterion(
        "constrained",
        "RFC 9743, 7.4",
        "none",
        "Internet of Things and constrained nodes",
        "Links of very low rate and a small bandwidth-delay product.",
        [Part(cases, [utilization(5), loss(1, 2)])],
    )


def _high_delay(quick: bool) -> Criterion:
    cases = [
        case(
            f"{rate}, 600 ms, {buffer}, from the start",
            path(rate, "600 ms", buffer, duration="120 s"),
            bulk(),
        )
        for rate in (("10 Mbps", "40 Mbps") if quick else ("4 Mbps", "10 Mbps", "40 Mbps", "150 Mbps"))
        for buffer in (("0.5 BDP",) if quick else ("0.2 BDP", "0.5 BDP", "1 BDP"))
    ]
    return Criterion(
        "high-delay",
        "RFC 9743, 7.5",
        "none",
        "Paths with high delay",
        "Paths of satellites, with a high delay and a high bandwidth-delay product.",
        [Part(cases, [utilization(10)])],
    )


def _reordering(quick: bool) -> Criterion:
    ways: dict[str, dict[str, object]] = {
        "1 % overtake": {"reorder": "1%"},
        "10 % overtake": {"reorder": "10%"},
        "jitter of 5 ms without order": {"jitter": {"std": "5 ms", "reorder": True}},
    }
    if not quick:
        ways["30 % overtake"] = {"reorder": "30%"}
        ways["jitter of 1 ms without order"] = {"jitter": {"std": "1 ms", "reorder": True}}
        ways["1 % arrive twice"] = {"duplicate": "1%"}
    cases = [
        case(name, path("20 Mbps", "40 ms", "1 BDP", duration="60 s", warmup="10 s", **link), bulk())
        for name, link in ways.items()
    ]
    return Criterion(
        "reordering",
        "RFC 9743, 7.7",
        "none",
        "Extreme packet reordering",
        "The algorithm does not presume that packets arrive in order.",
        [Part(cases, [goodput(0.15)])],
    )


def _transients(quick: bool) -> Criterion:
    def over(warmup: str, duration: str) -> dict[str, object]:
        return path("100 Mbps", "80 ms", 1024, duration=duration, warmup=warmup)

    cross = {"cca": "udp", "app_rate": "72 Mbps", "start": "20 s", "stop": "40 s"}
    later = {**cross, "stop": "30 s"}
    parts = [
        Part(
            [case("cross traffic of 75 % comes: its first 10 s", over("20 s", "30 s"), bulk(), later)],
            [
                Measure(
                    "loss of the cross traffic",
                    "%",
                    metrics.of_group(metrics.loss_percent, 1),
                    Rule(share=0.5, amount=1),
                )
            ],
        ),
        Part(
            [case("cross traffic of 75 % goes: the 10 s after", over("40 s", "50 s"), bulk(), cross)],
            [utilization(10)],
        ),
    ]
    if not quick:
        stairs = [{"cca": "udp", "app_rate": "2400 kbps", "start": f"{20 + k} s"} for k in range(30)]
        parts.append(
            Part(
                [case("cross traffic in 30 steps of 2.5 %", over("20 s", "60 s"), bulk(), *stairs)],
                [
                    Measure(
                        "loss of the cross traffic",
                        "%",
                        lambda run: metrics.loss_percent(run.flows[1:]),
                        Rule(share=0.5, amount=1),
                    ),
                    utilization(5),
                ],
            )
        )
    return Criterion(
        "transients",
        "RFC 9743, 7.8",
        "SHOULD",
        "Transient events",
        "Sudden onset and end of congestion, as in tcpeval's transients: cross traffic of three quarters of "
        "the link.",
        parts,
    )


def _path_change(quick: bool) -> Criterion:
    def over(steps: list[list[str]], warmup: str, duration: str) -> dict[str, object]:
        rates = {"steps": steps}
        return path(rates, "40 ms", 170, duration=duration, warmup=warmup, access={"rate": "500 Mbps"})

    up, down = [["0 s", "5 Mbps"], ["20 s", "50 Mbps"]], [["0 s", "50 Mbps"], ["20 s", "5 Mbps"]]
    outages = (2, 10) if quick else (1, 2, 5, 10, 30)
    return Criterion(
        "path-change",
        "RFC 9743, 7.9",
        "MUST",
        "Sudden changes in the path",
        "The impact of changes of the path: ten times the rate, a tenth of it, and outages.",
        [
            Part(
                [
                    case("5 to 50 Mbit/s: the 20 s after", over(up, "20 s", "40 s"), bulk()),
                    *(
                        case(
                            f"after an outage of {outage} s: the next 20 s",
                            over(
                                [["0 s", "50 Mbps"], ["20 s", "0 bps"], [f"{20 + outage} s", "50 Mbps"]],
                                f"{20 + outage} s",
                                f"{40 + outage} s",
                            ),
                            bulk(),
                        )
                        for outage in outages
                    ),
                ],
                [utilization(15)],
            ),
            Part(
                [case("50 to 5 Mbit/s: the 20 s after", over(down, "20 s", "40 s"), bulk())],
                [utilization(15), loss(1, 5)],
            ),
        ],
    )


def _data_center(quick: bool) -> Criterion:
    incast = [
        case(
            f"incast of {n} transfers of 64 KB",
            path("1 Gbps", "200 us", "10 ms", duration="5 s"),
            {"cca": "SUBJECT", "count": n, "start_jitter": "1 ms", "size": "64 KB"},
        )
        for n in ((32,) if quick else (8, 32, 128))
    ]
    return Criterion(
        "data-center",
        "RFC 9743, 7.11",
        "none",
        "Data centers",
        "Very low latencies and bursts of many nodes at a time, without signals of the switches.",
        [
            Part(
                [
                    case(
                        "8 long flows",
                        path("1 Gbps", "200 us", "10 ms", duration="4 s", warmup="1 s"),
                        bulk(count=8),
                    )
                ],
                [utilization(5), queue(0.1, 1)],
            ),
            Part(incast, [Measure("mean FCT", "ms", metrics.of_all(metrics.fct_ms), Rule(share=0.25))]),
        ],
    )
