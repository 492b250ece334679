"""CUBIC."""

import math
from fractions import Fraction

from cubic_builds import LINUX_CASES, NS2_CASES
from slow_start import QUEUE, searches, with_hystart, with_hystartpp
from stack import LOST, TIMEOUT, UNDO, Model, acks, at, avoiding, case


class Cubic(Model):
    """RFC 9438, section 4, in real numbers; beta and C are multiples of 1/1024."""

    wmax = prior = 0
    start_us = None
    carry = 0.0
    last_us = 0
    idle = False
    saved = None

    def start(self, s):
        self.beta = Fraction(round(float(self.p.get("beta", "0.7")) * 1024), 1024)
        self.c = float(Fraction(round(float(self.p.get("c", "0.4")) * 1024), 1024))

    def ack(self, s):
        gap, self.last_us = s.now - self.last_us, s.now
        if self.start_us is not None and (self.idle or not s.limited):
            self.start_us += gap
        self.idle = False
        super().ack(s)

    def curve(self, seconds):
        return self.c * (seconds - self.k) ** 3 + self.wmax

    def avoid(self, s, acked):
        if self.start_us is None:
            self.start_us, self.west, self.carry = s.now, Fraction(s.cwnd), 0.0
            self.wmax = max(self.wmax, s.cwnd)
            self.k = ((self.wmax - s.cwnd) / self.c) ** (1 / 3)
            self.prior = self.prior or s.cwnd
        t = (s.now - self.start_us) / 1e6
        alpha = 3 * (1 - self.beta) / (1 + self.beta) if self.west < self.prior else 1
        # Rounded only to keep the denominator from growing with every ACK.
        self.west = Fraction(round((self.west + alpha * acked / s.cwnd) * 2**64), 2**64)
        if self.p.get("reno_friendly") != "off" and self.curve(t) < self.west:
            s.cwnd += max(0, min(math.floor(self.west) - s.cwnd, acked))
            return
        target = min(max(self.curve(t + s.rtt / 1e6), s.cwnd), 1.5 * s.cwnd)
        self.carry += acked * (target - s.cwnd) / s.cwnd
        s.cwnd += math.floor(self.carry)
        self.carry %= 1

    def loss(self, s, timeout):
        if s.cwnd < self.wmax and self.p.get("fast_convergence") != "off":
            wmax = s.cwnd * (1 + self.beta) / 2
        else:
            wmax = s.cwnd
        self.saved = self.wmax, self.start_us, self.prior
        self.saved += (self.k, self.west) if self.start_us is not None else (0, Fraction(0))
        self.start_us, self.prior = None, s.cwnd
        self.wmax = 0 if timeout else math.floor(wmax)
        return max(math.floor(s.cwnd * self.beta), 2)

    def event(self, s, event):
        self.idle = self.idle or event == "tx_start"

    def undo(self, s):
        self.wmax, self.start_us, self.prior, self.k, self.west = self.saved
        return super().undo(s)


CubicTrain, CubicPlusPlus = with_hystart(Cubic), with_hystartpp(Cubic)

CASES = [
    case(
        "slow start, then the first stage on the plateau",
        Cubic,
        at(2, 200),
        acks(198),
        acks(4000, gap_us=500),
        tolerance=1,
    ),
    case(
        "back to the plateau and beyond",
        Cubic,
        avoiding(200),
        LOST,
        *[acks(2000, gap_us=500)] * 12,
        tolerance=1,
    ),
    case(
        "the same with an ACK for every other segment",
        Cubic,
        avoiding(200),
        LOST,
        *[acks(1000, gap_us=1000, acked=2)] * 12,
        tolerance=1,
    ),
    case(
        "a steep curve is held to half a segment per segment",
        Cubic,
        avoiding(200),
        LOST,
        *[acks(50, gap_us=40000, rtt_ms=1000)] * 12,
        tolerance=2,
        c="4",
    ),
    case("Reno-friendly", Cubic, avoiding(20), LOST, *[acks(500, rtt_ms=10, gap_us=500)] * 20, tolerance=1),
    case(
        "not Reno-friendly",
        Cubic,
        avoiding(20),
        LOST,
        *[acks(500, rtt_ms=10, gap_us=500)] * 20,
        tolerance=1,
        reno_friendly="off",
    ),
    case(
        "fast convergence",
        Cubic,
        avoiding(300),
        LOST,
        acks(2000, gap_us=400),
        LOST,
        *[acks(2000, gap_us=400)] * 8,
        tolerance=1,
    ),
    case(
        "no fast convergence",
        Cubic,
        avoiding(300),
        LOST,
        acks(2000, gap_us=400),
        LOST,
        *[acks(2000, gap_us=400)] * 8,
        tolerance=1,
        fast_convergence="off",
    ),
    case(
        "after a timeout: slow start, then the plateau",
        Cubic,
        avoiding(300),
        acks(10),
        TIMEOUT,
        acks(209),
        acks(10000, gap_us=500),
        tolerance=1,
    ),
    case(
        "parameters",
        Cubic,
        avoiding(300),
        LOST,
        *[acks(2000, gap_us=500)] * 8,
        tolerance=1,
        beta="0.5",
        c="1.5",
    ),
    case(
        "a spurious loss is taken back",
        Cubic,
        avoiding(300),
        LOST,
        acks(4000, gap_us=500),
        LOST,
        acks(100),
        UNDO,
        acks(4000, gap_us=500),
        tolerance=1,
    ),
    case(
        "time in which the application is the limit does not count",
        Cubic,
        avoiding(300),
        LOST,
        acks(2000, gap_us=500),
        acks(100, gap_us=100000, limited=False),
        acks(2000, gap_us=500),
        {"event": "tx_start"},
        acks(1, gap_us=60_000_000),
        acks(2000, gap_us=500),
        tolerance=1,
    ),
    case(
        "a window of a hundred million",
        Cubic,
        avoiding(100_000_000),
        LOST,
        acks(1000, gap_us=100_000, acked=100_000, rtt_ms=100_000),
        tolerance=6000,
    ),
    case(
        "a window of two thousand million",
        Cubic,
        avoiding(2_000_000_000),
        LOST,
        acks(1000, gap_us=600_000, acked=1_000_000, rtt_ms=600_000),
        tolerance=300_000,
    ),
    *NS2_CASES,
    *LINUX_CASES,
    case(
        "HyStart again after a timeout",
        CubicTrain,
        at(40),
        *[acks(40, gap_us=1000)] * 2,
        TIMEOUT,
        *[acks(20, gap_us=1000)] * 10,
        tolerance=1,
        slow_start="hystart",
    ),
    case(
        "HyStart++: conservative slow start, then avoidance",
        CubicPlusPlus,
        at(20),
        *QUEUE,
        acks(160, rtt_ms=120),
        *[acks(200, rtt_ms=125)] * 10,
        tolerance=1,
        slow_start="hystartpp",
    ),
    case(
        "HyStart++: back to slow start when the delay falls",
        CubicPlusPlus,
        at(20),
        *QUEUE,
        acks(100, rtt_ms=120),
        acks(400, rtt_ms=104),
        slow_start="hystartpp",
    ),
    case(
        "HyStart++: an ACK counts eight segments, no more after a loss",
        CubicPlusPlus,
        at(20),
        acks(10, acked=12),
        LOST,
        TIMEOUT,
        acks(5, acked=4),
        slow_start="hystartpp",
    ),
    case(
        "linux: HyStart++",
        CubicPlusPlus,
        at(20),
        *QUEUE,
        acks(160, rtt_ms=120),
        variant="linux",
        slow_start="hystartpp",
    ),
    *searches(Cubic, tolerance=1),
]
