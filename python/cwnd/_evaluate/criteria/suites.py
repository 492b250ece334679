"""The scenarios of draft-irtf-iccrg-tcpeval-01 and of RFC 7928 that the criteria of RFC 9743 do not have."""

from __future__ import annotations

from cwnd._evaluate import metrics
from cwnd._evaluate.criteria.general import goodput, loss, queue, utilization
from cwnd._evaluate.criterion import Criterion
from cwnd._evaluate.scenarios import SUBJECT, Case, Measure, Part, Rule, bulk, case, path

#: One-way delays of tcpeval's edges, in ms: nine RTTs from 4 to 200 ms, less the bottleneck's.
_LEFT_MS, _RIGHT_MS = (0, 12, 25), (2, 37, 75)


def criteria(quick: bool) -> list[Criterion]:
    return [_basic(quick), _ramp_up(quick), _rtt_fairness(quick), _parking_lot(quick), _rfc7928(quick)]


def _web(load: float, edges: bool = True) -> list[dict[str, object]]:
    """Poisson arrivals of web-search transfers from nine sources, one for each RTT, or from one."""
    delays = [left + right for left in _LEFT_MS for right in _RIGHT_MS] if edges else [0]
    return [
        {
            "cca": SUBJECT,
            "size": {"distribution": "web-search"},
            "arrivals": {"process": "poisson", "load": load / len(delays)},
            **({"access_delay": f"{delay} ms"} if delay else {}),
        }
        for delay in delays
    ]


def _basic(quick: bool) -> Criterion:
    def loaded(name: str, load: float, over: dict[str, object], edges: bool = True) -> Case:
        return case(f"{name}, load {load:.0%}".replace("%", " %"), over, *_web(load, edges))

    access = path("100 Mbps", "4 ms", "100 ms", duration="60 s", warmup="10 s")
    loads = (0.6, 0.85) if quick else (0.6, 0.85, 1.1)
    cases = [loaded("access link", load, access) for load in loads]
    if not quick:
        ocean = path("1 Gbps", "130 ms", "100 ms", duration="40 s", warmup="10 s")
        center = path("1 Gbps", "220 us", "10 ms", duration="20 s", warmup="4 s")
        back = {"rate": "4 Mbps", "buffer": "1000 ms"}
        satellite = path("40 Mbps", "600 ms", "100 ms", duration="120 s", warmup="20 s", reverse=back)
        for load in loads[:2]:
            cases += [
                loaded("trans-oceanic link", load, ocean),
                loaded("data center", load, center, edges=False),
                loaded("satellite", load, satellite),
            ]
    return Criterion(
        "tcpeval-basic",
        "draft-irtf-iccrg-tcpeval-01, 4",
        "none",
        "tcpeval: basic scenarios",
        "Web traffic over a dumbbell: utilization, loss and queueing delay. Sizes are those of web search, "
        "which stand for the draft's Tmix traces; its WLAN is among the wireless paths, its dial-up link "
        "among the constrained ones.",
        [
            Part(
                cases,
                [
                    utilization(10),
                    queue(0.25, 5),
                    loss(1, 1),
                    Measure("mean FCT", "ms", metrics.of_all(metrics.fct_ms), Rule(share=0.25)),
                ],
            )
        ],
    )


def _ramp_up(quick: bool) -> Criterion:
    sizes = {"15 KB": "15 KB", "150 KB": "150 KB", "1.5 MB": "1500 KB", "15 MB": "15000 KB"}
    rates = ("10 Mbps",) if quick else ("10 Mbps", "100 Mbps", "1 Gbps")
    half = {"10 Mbps": "4800 kbps", "100 Mbps": "48 Mbps", "1 Gbps": "480 Mbps"}
    cases = [
        case(
            f"{rate}, the first {shown}",
            path(rate, "80 ms", "80 ms", duration="70 s"),
            {"cca": "udp", "app_rate": half[rate]},
            bulk(size=size, start="5 s", start_jitter="1 s"),
        )
        for rate in rates
        for shown, size in sizes.items()
    ]
    return Criterion(
        "tcpeval-ramp-up",
        "draft-irtf-iccrg-tcpeval-01, 6",
        "none",
        "tcpeval: ramp up of completion time",
        "The time until a new flow has sent 1500 times 10, 100, 1,000 and 10,000 bytes on a link with 50 % "
        "of background traffic. Slow start stays on.",
        [Part(cases, [Measure("time", "ms", metrics.of_group(metrics.fct_ms, 1), Rule(share=0.25))])],
    )


def _rtt_fairness(quick: bool) -> Criterion:
    pairs = ((40, 160),) if quick else ((10, 160), (20, 160), (40, 160), (80, 160), (40, 80))
    cases = [
        case(
            f"RTTs {short} and {long} ms, buffer {buffer}",
            path("50 Mbps", f"{short} ms", buffer, duration="120 s", warmup="20 s"),
            bulk(),
            bulk(access_delay=f"{(long - short) / 2:g} ms"),
        )
        for short, long in pairs
        for buffer in (("1 BDP",) if quick else ("0.5 BDP", "1 BDP", "4 BDP"))
    ]
    return Criterion(
        "tcpeval-rtt-fairness",
        "draft-irtf-iccrg-tcpeval-01, 9",
        "none",
        "tcpeval: RTT fairness",
        "Two flows with unequal RTTs: the least rate over the largest.",
        [
            Part(
                cases,
                [
                    Measure(
                        "least over largest rate",
                        "",
                        metrics.of_all(metrics.least_over_largest),
                        Rule(amount=0.1),
                        more_is_better=True,
                    ),
                ],
            )
        ],
    )


def _parking_lot(quick: bool) -> Criterion:
    def over(seconds: int) -> dict[str, object]:
        lot = {"hops": 3, "rate": "100 Mbps", "delay": "10 ms", "buffer": "1 BDP"}
        return {"duration": f"{seconds} s", "warmup": "20 s", "parking_lot": lot}

    cross = [bulk(over=hop, access_delay="20 ms") for hop in (1, 2, 3)]
    return Criterion(
        "tcpeval-parking-lot",
        "draft-irtf-iccrg-tcpeval-01, 10",
        "none",
        "tcpeval: several bottlenecks",
        "A flow over three bottlenecks beside one flow on each of them, all with an RTT of 60 ms: its rate "
        "over that of the others.",
        [
            Part(
                [case("parking lot of 3 hops", over(60 if quick else 180), bulk(), *cross)],
                [
                    Measure(
                        "rate over the others'",
                        "",
                        lambda run: (
                            metrics.goodput_mbps(run.groups[0])
                            / max(metrics.goodput_mbps(run.flows[1:]) / 3, 1e-9)
                        ),
                        Rule(amount=0.1),
                        more_is_better=True,
                    )
                ],
            )
        ],
    )


def _rfc7928(quick: bool) -> Criterion:
    # S = BDP + buffer in packets of 1,514 bytes: 20 Mbit/s, 100 ms, both of 165 packets.
    packets = 330
    counts = {"mild": 0.036, "medium": 0.081, "heavy": 0.114}
    chosen = ("medium",) if quick else tuple(counts)
    queues = ("codel", "pie") if quick else ("droptail", "codel", "fq-codel", "pie")
    cases = [
        case(
            f"{name} congestion, {round(counts[name] * packets)} flows, {discipline}",
            path("20 Mbps", "100 ms", 165, duration="60 s", warmup="20 s", queue=discipline),
            bulk(count=round(counts[name] * packets)),
        )
        for name in chosen
        for discipline in queues
    ]
    phases = [[f"{20 * k} s", "100 Mbps" if k % 2 else "10 Mbps"] for k in range(4)]
    cases += [
        case(
            f"capacity 10 and 100 Mbit/s in turns, {discipline}",
            path(
                {"steps": phases}, "100 ms", 165, duration="80 s", queue=discipline, access={"rate": "1 Gbps"}
            ),
            bulk(count=4),
        )
        for discipline in queues
    ]
    return Criterion(
        "rfc7928",
        "RFC 7928, 6 to 8",
        "none",
        "RFC 7928: levels of congestion and varying capacity",
        "The scenarios that characterize AQMs, with the algorithm in all flows: the trade of goodput and "
        "delay, at 0.036, 0.081 and 0.114 flows for each packet of the path and its buffer.",
        [Part(cases, [goodput(0.1), queue(0.25, 5)])],
    )
