"""RFC 9743, 5.1: flows of one algorithm that share a bottleneck."""

from __future__ import annotations

from cwnd._analysis.harm import delta_fair_time_s, estimate
from cwnd._evaluate import metrics
from cwnd._evaluate.criterion import Criterion
from cwnd._evaluate.evidence import Evidence, Finding, judge
from cwnd._evaluate.scenarios import (
    BASELINE,
    CANDIDATE,
    SUBJECT,
    Case,
    Measure,
    Part,
    Rule,
    Run,
    bulk,
    case,
    path,
    transfers,
)

#: When the second flow of the convergence starts, and the ends of the intervals after that.
_NEWCOMER_S = 20
_ENDS_S = (2, 4, 6, 8, 10, 15, 20, 30, 40, 60, 80, 100, 120, 150, 180)
#: Shares of two converged flows of CUBIC differ by this much from one interval to the next.
_DELTA = 0.2
#: The share from which the second flow's is fair.
FAIR_SHARE = (1 - _DELTA) / 2
_TIME_RULE = Rule(share=0.5, amount=5)


def criteria(quick: bool) -> list[Criterion]:
    return [
        _congestion_collapse(quick),
        _bufferbloat(quick),
        _high_loss(quick),
        _self_fairness(quick),
        _convergence(quick),
        _short_flows(quick),
    ]


def _congestion_collapse(quick: bool) -> Criterion:
    lost = ("50%", "90%", "99%") if quick else ("50%", "70%", "90%", "99%")
    backoff = [
        case(
            f"{loss} random loss",
            path("10 Mbps", "100 ms", "1 BDP", duration="120 s", warmup="20 s", loss=loss),
            bulk(count=4),
        )
        for loss in lost
    ]
    overload = [
        case(
            f"overload, {n} flows",
            path("2 Mbps", "100 ms", 10, duration="60 s", warmup="10 s"),
            bulk(count=n),
        )
        for n in ((50,) if quick else (20, 50, 200))
    ]
    sent = Measure("sent per flow and RTT", "packets", metrics.sent_per_rtt(0.1, 100), Rule(limit=1.0))
    return Criterion(
        "congestion-collapse",
        "RFC 9743, 5.1.1",
        "MUST",
        "Protection against congestion collapse",
        "Under persistent congestion the sender stops, or backs off fully: down to one packet in a round "
        "trip, then exponentially less.",
        [
            Part(backoff, [sent]),
            Part(
                overload,
                [
                    Measure("loss", "%", metrics.of_all(metrics.loss_percent), Rule(share=0.5, amount=2)),
                    Measure(
                        "utilization", "%", metrics.utilization_percent, Rule(amount=10), more_is_better=True
                    ),
                ],
            ),
        ],
    )


def _bufferbloat(quick: bool) -> Criterion:
    buffers = (
        ("0.25 BDP", "1 BDP", "4 BDP")
        if quick
        else tuple(f"{size} BDP" for size in (0.1, 0.25, 0.5, 1, 2, 4, 10))
    )
    cases = [
        case(
            f"1 flow, buffer {buffer}",
            path("20 Mbps", "40 ms", buffer, duration="60 s", warmup="20 s"),
            bulk(),
        )
        for buffer in buffers
    ]
    return Criterion(
        "bufferbloat",
        "RFC 9743, 5.1.2",
        "MUST",
        "Protection against bufferbloat",
        "Excessive queues are not maintained in the network.",
        [
            Part(
                cases,
                [
                    Measure("p95 queueing delay", "ms", metrics.p95_queue_ms, Rule(share=0.1, amount=2)),
                    Measure("utilization", "%", metrics.utilization_percent, more_is_better=True),
                ],
            )
        ],
    )


def _high_loss(quick: bool) -> Criterion:
    flows = (2, 8) if quick else (2, 8, 32)
    sizes = (0.25, 0.5, 1, 2) if quick else (0.1, 0.25, 0.5, 1, 1.5, 2)
    cases = [
        case(
            f"{n} flows, buffer {size} BDP",
            path("50 Mbps", "40 ms", f"{size} BDP", duration="40 s", warmup="10 s"),
            bulk(count=n),
        )
        for n in flows
        for size in sizes
    ]
    return Criterion(
        "high-loss",
        "RFC 9743, 5.1.3",
        "MUST",
        "Protection against high packet loss",
        "Flows do not cause excessively high rates of loss, as several flows of BBRv1 do where the buffer is "
        "below 1.5 BDP.",
        [
            Part(
                cases,
                [Measure("loss", "%", metrics.of_all(metrics.loss_percent), Rule(share=1, amount=1))],
            )
        ],
    )


def _self_fairness(quick: bool) -> Criterion:
    cases = [
        case(
            f"{n} flows",
            path("100 Mbps", "40 ms", "1 BDP", duration="60 s", warmup="20 s"),
            bulk(count=n),
        )
        for n in ((2, 10, 50) if quick else (2, 10, 50, 200, 1000))
    ]
    return Criterion(
        "self-fairness",
        "RFC 9743, 5.1.4",
        "MUST",
        "Fairness within the algorithm",
        "How flows of the algorithm with equal paths share a bottleneck.",
        [
            Part(
                cases,
                [
                    Measure(
                        "Jain's index",
                        "",
                        metrics.of_all(metrics.jain),
                        Rule(amount=0.05, enough=0.95),
                        more_is_better=True,
                    ),
                    Measure(
                        "least over largest rate",
                        "",
                        metrics.of_all(metrics.least_over_largest),
                        more_is_better=True,
                    ),
                ],
            )
        ],
    )


def _convergence(quick: bool) -> Criterion:
    spans = list(zip((0, *_ENDS_S), _ENDS_S, strict=False))

    def windows(rate: str) -> list[Case]:
        return [
            case(
                f"{rate}, {begin} to {end} s after the second start",
                path(
                    rate,
                    "40 ms",
                    "1 BDP",
                    duration=f"{_NEWCOMER_S + end} s",
                    warmup=f"{_NEWCOMER_S + begin} s",
                ),
                bulk(),
                bulk(start=f"{_NEWCOMER_S - 1} s", start_jitter="1 s"),
            )
            for begin, end in spans
        ]

    rates = ("50 Mbps",) if quick else ("20 Mbps", "50 Mbps", "200 Mbps")
    parts = [Part(windows(rate), []) for rate in rates]

    def times(evidence: Evidence, cases: list[Case], subject: str) -> list[float]:
        """By seed; a flow that does not get its share has the whole time."""
        runs = [evidence.runs(one, subject) for one in cases]
        found = []
        for seed in sorted(runs[0]):
            rates = [[metrics.goodput_mbps(run[seed].groups[group]) for run in runs] for group in (0, 1)]
            time_s = delta_fair_time_s(_ENDS_S, rates[1], rates[0], delta=_DELTA)
            found.append(float(_ENDS_S[-1]) if time_s is None else time_s)
        return found

    def find(evidence: Evidence) -> list[Finding]:
        findings = []
        for rate, part in zip(rates, evidence.parts, strict=True):
            cases = list(part.cases)
            own, beside = (times(evidence, cases, one) for one in (CANDIDATE, BASELINE))
            bound, verdict = judge(own, beside, _TIME_RULE, more_is_better=False)
            findings.append(
                Finding(rate, f"{_DELTA}-fair time", "s", estimate(own), estimate(beside), bound, verdict)
            )
            for one, end_s in zip(cases, _ENDS_S, strict=True):
                own_share, other_share = (
                    estimate([_share(run) for _, run in sorted(evidence.runs(one, subject).items())])
                    for subject in (CANDIDATE, BASELINE)
                )
                metric = f"share of the second flow after {end_s} s"
                findings.append(Finding(rate, metric, "", own_share, other_share, None, None, end_s))
        return findings

    return Criterion(
        "convergence",
        "RFC 9743, 5.1.4",
        "MUST",
        "Convergence to a fair share",
        "How soon a flow that starts beside one of the same algorithm has a fair share: the delta-fair "
        f"convergence time of RFC 5166, 2.7, with delta = {_DELTA}.",
        parts,
        find=find,
        rule=f"{_DELTA}-fair time: above the baseline's by at most 50 % of it or 5 s, whichever is more; the "
        f"time is that until the end of the first interval in which the second flow has {FAIR_SHARE:g} of "
        f"both, and {_ENDS_S[-1]} s if there is none",
        figure="shares",
    )


def _share(run: Run) -> float:
    first, second = (metrics.goodput_mbps(group) for group in run.groups)
    return second / (first + second) if first + second else 0.0


#: Transfers of three sizes: some 16 % of 50 Mbit/s.
SIZES = {"10 KB": 20.0, "100 KB": 4.0, "1 MB": 0.4}


def short_transfers(cca: str = SUBJECT) -> list[dict[str, object]]:
    return [transfers(size, per_s, cca) for size, per_s in SIZES.items()]


def short_measures(first: int, limit: float = 0.25) -> list[Measure]:
    """Completion times of the groups of short transfers, of which `first` is the first."""
    return [
        Measure(f"FCT of {size}", "ms", metrics.of_group(metrics.fct_ms, group), Rule(share=limit))
        for group, size in enumerate(SIZES, first)
    ]


def _short_flows(quick: bool) -> Criterion:
    cases = [
        case(
            f"2 long flows and short ones, buffer {buffer}",
            path("50 Mbps", "40 ms", buffer, duration="60 s", warmup="10 s"),
            bulk(count=2),
            *short_transfers(),
        )
        for buffer in (("1 BDP",) if quick else ("0.5 BDP", "1 BDP", "4 BDP"))
    ]
    return Criterion(
        "short-flows",
        "RFC 9743, 5.1.5",
        "MUST",
        "Short flows",
        "How new and short-lived flows affect long-lived ones of the algorithm, and the reverse.",
        [
            Part(
                cases,
                [
                    *short_measures(1),
                    Measure(
                        "goodput of the long flows",
                        "Mbit/s",
                        metrics.of_group(metrics.goodput_mbps, 0),
                        Rule(share=0.1),
                        more_is_better=True,
                    ),
                ],
            )
        ],
    )
