"""RFC 9743, 5.2 and 5.3: beside flows of other algorithms."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from cwnd._analysis.harm import STARVED_BELOW, estimate, harm_by_seed
from cwnd._evaluate import metrics
from cwnd._evaluate.criteria.alone import short_measures, short_transfers
from cwnd._evaluate.criterion import Criterion
from cwnd._evaluate.evidence import FAIL, PASS, Evidence, Finding, known, verdict_of
from cwnd._evaluate.scenarios import BASELINE, CANDIDATE, Case, Measure, Part, Rule, bulk, case, path

#: Flows of standards (RFC 5681, RFC 9438), whose harm is judged; RFC 9002's control is that of RFC 5681.
STANDARDS = ("reno", "cubic")
#: Widely deployed; their harm is shown.
DEPLOYED = ("bbr", "bbr3")
_MARGIN = 0.1
#: A loss that competition may cause anyway.
_LOSS_FLOOR_PERCENT = 0.5


class _Setting(NamedTuple):
    rate: str
    rtt: str
    buffer: str
    each: int

    @property
    def words(self) -> str:
        return f"{self.rate}, {self.rtt}, {self.buffer}, {self.each}:{self.each}"


def criteria(quick: bool) -> list[Criterion]:
    return [
        _harm(quick),
        _starvation(quick),
        _feedback_loss(quick),
        _real_time(quick),
        _short_and_long(quick),
        Criterion(
            "principles",
            "RFC 9743, 5.3.1",
            "MUST",
            "Differences with congestion control principles",
            "Deviations from RFC 2914 and RFC 7141 are explained.",
            author=True,
        ),
        Criterion(
            "deployment",
            "RFC 9743, 5.3.2",
            "MUST",
            "Incremental deployment",
            "Whether the algorithm allows for incremental deployment in its environment, and what is known "
            "of its operation with equipment in the Internet.",
            author=True,
        ),
    ]


def _settings(quick: bool) -> list[_Setting]:
    if quick:
        return [_Setting("50 Mbps", "40 ms", "1 BDP", 2)]
    return [
        _Setting(rate, rtt, buffer, each)
        for rate, rtt in (("20 Mbps", "20 ms"), ("50 Mbps", "40 ms"), ("50 Mbps", "100 ms"))
        for buffer in ("0.5 BDP", "1 BDP", "4 BDP")
        for each in (1, 2)
    ]


def _path(setting: _Setting) -> dict[str, object]:
    return path(setting.rate, setting.rtt, setting.buffer, duration="80 s", warmup="20 s")


def _alone(incumbent: str, setting: _Setting) -> Case:
    return case(
        f"{incumbent} alone, {setting.words}", _path(setting), bulk(incumbent, setting.each), subjects=()
    )


def _beside(incumbent: str, setting: _Setting) -> Case:
    return case(
        f"{incumbent} and a newcomer, {setting.words}",
        _path(setting),
        bulk(incumbent, setting.each),
        bulk(count=setting.each),
        subjects=(CANDIDATE, BASELINE, incumbent),
    )


_HARMS: dict[str, tuple[Callable[[metrics.Rows], float | None], bool]] = {
    "rate": (metrics.goodput_mbps, True),
    "delay": (metrics.rtt_ms, False),
    "loss": (metrics.loss_percent, False),
}


def _harm(quick: bool) -> Criterion:
    pairs = [(one, setting) for setting in _settings(quick) for one in (*STANDARDS, *DEPLOYED)]

    def find(evidence: Evidence) -> list[Finding]:
        return [
            _harm_of(evidence, incumbent, setting, name) for name in _HARMS for incumbent, setting in pairs
        ]

    return Criterion(
        "harm",
        "RFC 9743, 5.2.1",
        "MUST",
        "Harm to flows of other algorithms",
        "Flows of RFC 5681, RFC 9002 and RFC 9438 are not harmed, in throughput, delay or loss, more than by "
        "algorithms of the Standards Track.",
        [Part([_alone(*pair) for pair in pairs], []), Part([_beside(*pair) for pair in pairs], [])],
        find=find,
        rule="harm (Ware et al. 2019: the part of a rate that is gone, or of a delay or loss that was added, "
        "against the incumbents alone) to reno and cubic: above the larger of what the incumbent does to "
        f"itself and what the baseline does to it by at most {_MARGIN}; a loss of at most "
        f"{_LOSS_FLOOR_PERCENT} % in competition always passes; harm to bbr and bbr3 is shown and not judged",
        figure="matrix",
    )


def _harm_of(evidence: Evidence, incumbent: str, setting: _Setting, name: str) -> Finding:
    value, more_is_better = _HARMS[name]
    of = metrics.of_group(value, 0)
    beside = _beside(incumbent, setting)
    judged = incumbent in STANDARDS
    finding = Finding(f"{incumbent}, {setting.words}", f"harm in {name}", "", None, None, None, None)
    alone = known(evidence.values(_alone(incumbent, setting), of, ""))
    shared = {
        subject: known(evidence.values(beside, of, subject)) for subject in (CANDIDATE, BASELINE, incumbent)
    }
    harms = {
        subject: harm_by_seed(alone, values, more_is_better)
        for subject, values in shared.items()
        if alone is not None and values is not None
    }
    if len(harms) < len(shared):  # Incumbents without any RTT sample.
        return finding._replace(verdict=FAIL if judged and shared[CANDIDATE] is None else None)
    bar = max((harms[incumbent], harms[BASELINE]), key=sum)
    excess = estimate([x - b - _MARGIN for x, b in zip(harms[CANDIDATE], bar, strict=True)])
    verdict = verdict_of(excess)
    if name == "loss" and estimate(shared[CANDIDATE] or []).high <= _LOSS_FLOOR_PERCENT:
        verdict = PASS
    return finding._replace(
        value=estimate(harms[CANDIDATE]),
        baseline=estimate(harms[BASELINE]),
        bound=sum(bar) / len(bar) + _MARGIN if judged else None,
        verdict=verdict if judged else None,
    )


def _starvation(quick: bool) -> Criterion:
    sizes = ("0.5 BDP", "1 BDP", "4 BDP")
    settings = [_Setting("50 Mbps", "40 ms", buffer, 1) for buffer in sizes]
    if not quick:
        settings += [_Setting("20 Mbps", "20 ms", buffer, 1) for buffer in sizes]
    cases = [_beside(one, setting) for setting in settings for one in STANDARDS]
    limit = Rule(limit=100 * STARVED_BELOW)
    return Criterion(
        "starvation",
        "RFC 9743, 5.2",
        "MUST",
        "Starvation",
        "The potential to cause starvation: of flows of the standards beside the algorithm, and of the "
        "algorithm beside them.",
        [
            Part(
                cases,
                [
                    Measure(
                        "least rate of the others, of an equal share",
                        "%",
                        lambda run: metrics.least_percent(run.groups[0], run.flows),
                        limit,
                        more_is_better=True,
                    ),
                    Measure(
                        "least rate of its own, of an equal share",
                        "%",
                        lambda run: metrics.least_percent(run.groups[1], run.flows),
                        limit,
                        more_is_better=True,
                    ),
                ],
            )
        ],
    )


def _feedback_loss(quick: bool) -> Criterion:
    ways = ("50 Mbps",) if quick else ("10 Mbps", "50 Mbps")

    def over(rate: str, warmup: str, duration: str) -> dict[str, object]:
        back = {"rate": {"steps": [["0 s", rate], ["20 s", "0 bps"], ["40 s", rate]]}}
        return path(rate, "100 ms", "1 BDP", duration=duration, warmup=warmup, reverse=back)

    return Criterion(
        "feedback-loss",
        "RFC 9743, 5.2",
        "MUST",
        "Loss of all feedback",
        "When no feedback comes back at all, the sender backs off. No ACK arrives for 20 s.",
        [
            Part(
                [
                    case(f"{rate}, without ACKs, 2 to 20 s", over(rate, "22 s", "40 s"), bulk())
                    for rate in ways
                ],
                [Measure("sent without feedback", "packets", metrics.sent_pkts, Rule(limit=20))],
            ),
            Part(
                [case(f"{rate}, the 20 s after", over(rate, "40 s", "60 s"), bulk()) for rate in ways],
                [
                    Measure(
                        "utilization", "%", metrics.utilization_percent, Rule(amount=15), more_is_better=True
                    )
                ],
            ),
        ],
    )


def _real_time(quick: bool) -> Criterion:
    media = {"cca": "udp", "start_jitter": "100 ms"}
    long = [
        case(
            f"RFC 8867, 5.6: media and a long flow, queue {queue}",
            path("2 Mbps", "100 ms", queue, duration="120 s", warmup="20 s"),
            {**media, "app_rate": "1 Mbps"},
            bulk(),
        )
        for queue in ("300 ms", "1000 ms")
    ]
    short = [
        case(
            "RFC 8867, 5.7: 2 media and short flows",
            path("2 Mbps", "100 ms", "300 ms", duration="120 s" if quick else "300 s", warmup="10 s"),
            {**media, "app_rate": "600 kbps", "count": 2},
            {
                "cca": "SUBJECT",
                "count": 10,
                "start_jitter": "5 s",
                "size": {"distribution": "pareto", "alpha": 1.2, "min": "30 KB", "max": "50 KB"},
                "requests": {"count": 100, "think": "10 s"},
            },
        )
    ]
    steps = [["0 s", "2 Mbps"], ["20 s", "4 Mbps"], ["50 s", "1500 kbps"], ["80 s", "2 Mbps"]]
    varying = [
        case(
            "RFC 8867, 5.1: media and a long flow, varying rate",
            path({"steps": steps}, "100 ms", "300 ms", duration="100 s", warmup="10 s"),
            {**media, "app_rate": "500 kbps"},
            bulk(),
        )
    ]
    return Criterion(
        "real-time",
        "RFC 9743, 5.2.2",
        "SHOULD",
        "Coexistence with real-time flows",
        "Media with a finite rate and a bound on delay keeps both beside the algorithm. The media is a "
        "source of constant rate, which shows what the path does to it; it does not adapt.",
        [
            Part(
                [*long, *short, *([] if quick else varying)],
                [
                    Measure(
                        "loss of the media",
                        "%",
                        metrics.of_group(metrics.loss_percent, 0),
                        Rule(share=0.25, amount=1),
                    ),
                    Measure("p95 queueing delay", "ms", metrics.p95_queue_ms, Rule(share=0.1, amount=10)),
                ],
            )
        ],
    )


def _short_and_long(quick: bool) -> Criterion:
    buffers = ("1 BDP",) if quick else ("0.5 BDP", "1 BDP", "4 BDP")

    def over(buffer: str) -> dict[str, object]:
        return path("50 Mbps", "40 ms", buffer, duration="60 s", warmup="10 s")

    return Criterion(
        "short-and-long",
        "RFC 9743, 5.2.3",
        "MUST",
        "Short and long flows of other algorithms",
        "The effect on short-lived and long-lived flows of other common algorithms.",
        [
            Part(
                [
                    case(
                        f"short flows of {other} beside 2 long ones, buffer {buffer}",
                        over(buffer),
                        bulk(count=2),
                        *short_transfers(other),
                    )
                    for buffer in buffers
                    for other in (("cubic",) if quick else STANDARDS)
                ],
                short_measures(1),
            ),
            Part(
                [
                    case(
                        f"2 long flows of {other} beside short ones, buffer {buffer}",
                        over(buffer),
                        bulk(other, 2),
                        *short_transfers(),
                    )
                    for buffer in buffers
                    for other in (("cubic",) if quick else STANDARDS)
                ],
                [
                    Measure(
                        "goodput of the long flows",
                        "Mbit/s",
                        metrics.of_group(metrics.goodput_mbps, 0),
                        Rule(share=0.1),
                        more_is_better=True,
                    )
                ],
            ),
        ],
    )
