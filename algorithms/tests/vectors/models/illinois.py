"""TCP-Illinois."""

import math
from fractions import Fraction

from slow_start import ends_slow_start
from stack import Model, Rounds, acks, LOST, TIMEOUT, UNDO, case, at, avoiding


class Illinois(Model):
    """The paper's rules, in rational numbers."""

    CONSTANTS = {
        "alpha_min": "0.3",
        "alpha_max": "10",
        "beta_min": "0.125",
        "beta_max": "0.5",
        "eta1": "0.01",
        "eta2": "0.1",
        "eta3": "0.8",
        "theta": "5",
        "w_thresh": "15",
    }

    def start(self, s):
        for name, value in self.CONSTANTS.items():
            setattr(self, name, Fraction(self.p.get(name, value)))
        self.rounds, self.rtts, self.every = Rounds(), [], []
        self.alpha, self.beta = self.alpha_max, Fraction(1, 2)
        self.low = math.inf
        self.credit = Fraction(0)

    def sample(self, s):
        self.rtts.append(s.rtt)
        self.every = [min(self.every + [s.rtt]), max(self.every + [s.rtt])]

    def ack(self, s):
        if self.rounds.over(s):
            if self.rtts:
                self.measure(sum(self.rtts) // len(self.rtts) - self.every[0], self.every[1] - self.every[0])
            self.rtts = []
        super().ack(s)

    def measure(self, da, dm):
        d1, d2, d3 = (math.floor(dm * eta) for eta in (self.eta1, self.eta2, self.eta3))
        self.low = self.low + 1 if da <= d1 else 0
        if self.low >= self.theta:
            self.low = math.inf
            self.alpha = self.alpha_max
        elif da > d1:
            k1 = (dm - d1) * self.alpha_min * self.alpha_max / (self.alpha_max - self.alpha_min)
            k2 = (dm - d1) * self.alpha_min / (self.alpha_max - self.alpha_min) - d1
            self.alpha = k1 / (k2 + da)
        slope = Fraction(da - d2, d3 - d2) if d3 > d2 else 0
        self.beta = self.beta_min + (self.beta_max - self.beta_min) * min(max(slope, 0), 1)

    def avoid(self, s, acked):
        self.credit += acked * (self.alpha if s.cwnd >= self.w_thresh else 1)
        grow, self.credit = divmod(self.credit, s.cwnd)
        s.cwnd += min(grow, acked)

    def loss(self, s, timeout):
        self.credit = Fraction(0)
        beta = self.beta if s.cwnd >= self.w_thresh else Fraction(1, 2)
        if timeout:
            self.alpha, self.beta, self.low, self.rtts = Fraction(1), Fraction(1, 2), math.inf, []
            self.rounds.mark = s.delivered + s.in_flight
        return max(math.floor(s.cwnd * (1 - beta)), 2)


class IllinoisLinux(Model):
    """As illinois.h describes the kernel: alpha in 1/128, beta in 1/64."""

    ns2 = False

    def start(self, s):
        self.rounds, self.rtts, self.every = Rounds(), [], []
        self.alpha, self.beta, self.calm, self.high, self.credit = 1280, 32, 0, False, 0

    def sample(self, s):
        rtt = min(s.rtt, (2**32 - 1) // 1280)
        self.rtts.append(rtt)
        self.every = [min(self.every + [rtt]), max(self.every + [rtt])]

    def ack(self, s):
        if self.rounds.over(s):
            if s.cwnd < 15:
                self.alpha, self.beta = 128, 32
            elif self.rtts:
                low, high = self.every
                self.measure(sum(self.rtts) // len(self.rtts) - low, high - low)
            self.rtts = []
        if not s.limited:
            return
        if self.ns2 and s.cwnd <= s.ssthresh:
            s.cwnd += 1
        elif s.cwnd < s.ssthresh:
            s.cwnd = min(s.cwnd + s.acked, s.ssthresh)
        else:
            self.credit += s.acked
            windows = self.credit * self.alpha // 128 // s.cwnd
            if windows:
                s.cwnd, self.credit = s.cwnd + windows, 0

    def measure(self, da, dm):
        d1, d2, d3 = dm // 100, dm // 10, dm * 8 // 10
        if da > d1:
            self.high = True
            self.alpha = (dm - d1) * 1280 // (dm - d1 + (da - d1) * 1242 // 38)
        else:
            self.calm += self.high
            if not self.high or self.calm == 5:
                self.alpha, self.calm, self.high = 1280, 0, False
        if da <= d2:
            self.beta = 8
        elif da >= d3:
            self.beta = 32
        else:
            self.beta = (8 * (d3 - da) + 32 * (da - d2)) // (d3 - d2)

    def loss(self, s, timeout):
        part = s.cwnd * self.beta // 64
        self.credit = 0
        if timeout:
            self.alpha, self.beta, self.calm, self.high, self.rtts = 128, 32, 0, False, []
            self.rounds.mark = s.delivered + s.in_flight
        return max(part if self.ns2 else s.cwnd - part, 2)


class IllinoisNs2(IllinoisLinux):
    ns2 = True


def everything(cwnd):
    """Small delays, a rise, every part of both curves, a fall, losses and a timeout."""
    return [
        *[acks(cwnd)] * 3,
        *[acks(cwnd, rtt_ms=100 + n) for n in (100, 0.5, 20, 5, 60, 90, 100, 75)],
        LOST,
        *[acks(cwnd, rtt_ms=100 + n) for n in (30, 0.2, 0.3, 4, 0.1, 0.2, 0.7, 0.1, 0.2, 0.1, 0)],
        LOST,
        *[acks(cwnd)] * 3,
        TIMEOUT,
        acks(cwnd),
        *[acks(cwnd, rtt_ms=107)] * 3,
        LOST,
    ]


CASES = [
    case("no queue: ten segments per RTT", Illinois, avoiding(100), *[acks(100)] * 10, tolerance=1),
    case("every delay", Illinois, avoiding(300), *everything(300), tolerance=1),
    case(
        "parameters",
        Illinois,
        avoiding(300),
        *everything(300),
        tolerance=1,
        alpha_min="0.5",
        alpha_max="20",
        beta_min="0.1875",
        beta_max="0.625",
        eta1="0.02",
        eta2="0.2",
        eta3="0.9",
        theta="3",
        w_thresh="200",
    ),
    case("slow start", Illinois, at(2, 200), acks(300), acks(300, acked=2), LOST, tolerance=1),
    case(
        "below w_thresh: Reno",
        Illinois,
        avoiding(4),
        *[acks(20)] * 12,
        {"cwnd": 13},
        LOST,
        UNDO,
        LOST,
        acks(50),
        tolerance=1,
    ),
    case(
        "never faster than slow start",
        Illinois,
        avoiding(20),
        acks(40, acked=3),
        acks(4),
        tolerance=1,
        alpha_max="1000",
    ),
    case(
        "nothing grows while the application is the limit",
        Illinois,
        avoiding(100),
        acks(300, limited=False),
        acks(100, rtt_ms=0),
        tolerance=1,
    ),
    case(
        "a huge window",
        Illinois,
        avoiding(2**30),
        acks(500, rtt_ms=600000, acked=2**24),
        acks(500, rtt_ms=1000, acked=2**24),
        acks(100, rtt_ms=300000, acked=2**24),
        LOST,
        tolerance=2**11,
    ),
    *[
        case(f"{name}: {what}", model, start, *steps, variant=name)
        for name, model in (("linux", IllinoisLinux), ("ns2", IllinoisNs2))
        for what, start, steps in (
            ("every delay", avoiding(300), everything(300)),
            ("slow start", at(2, 200), [acks(150), acks(300), LOST]),
            ("small windows", avoiding(4), [*[acks(20)] * 12, {"cwnd": 13}, acks(9), LOST, acks(50), LOST]),
            ("delays of minutes", avoiding(50), [acks(60, rtt_ms=400000), acks(60, rtt_ms=1000), acks(200)]),
            (
                "not limited",
                avoiding(50),
                [acks(60, limited=False), acks(60, rtt_ms=130, limited=False), LOST],
            ),
        )
    ],
    case("linux: delayed ACKs", IllinoisLinux, at(10, 100), *[acks(60, acked=2)] * 6, variant="linux"),
    case(
        "linux: a small window whose alpha is still 10",
        IllinoisLinux,
        avoiding(40),
        *[acks(40)] * 3,
        {"cwnd": 3},
        acks(1),
        acks(1),
        acks(4),
        variant="linux",
    ),
    *ends_slow_start(Illinois),
]
