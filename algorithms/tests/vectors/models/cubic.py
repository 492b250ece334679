"""CUBIC."""

import math
from fractions import Fraction

from stack import OPEN, Model, acks, LOST, TIMEOUT, UNDO, case, at, avoiding


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


class CubicNs2(Model):
    """CUBIC 2.1 as the header of cubic.h describes it, the curve in real numbers."""

    def start(self, s):
        self.beta = Fraction(round(float(self.p.get("beta", "0.7")) * 1024), 1024)
        self.c = float(Fraction(round(float(self.p.get("c", "0.4")) * 1024), 1024))
        self.increment = int(self.p.get("max_increment", 16))
        self.count = 0
        self.forget()

    def forget(self):
        self.start_us = self.computed = self.delay = None
        self.wmax, self.lossless, self.ratio, self.cnt = 0, True, 32, 0

    def sample(self, s):
        if s.state == OPEN:
            self.ratio += s.acked - self.ratio // 16
        if self.start_us is None or s.now - self.start_us >= 1_000_000:
            self.delay = min(self.delay or s.rtt, s.rtt)

    def ack(self, s):
        if not s.limited:
            return
        if s.cwnd <= s.ssthresh:
            s.cwnd += 1
            return
        self.compute(s)
        if self.count >= self.cnt:
            self.count = 0
            s.cwnd += 1
        else:
            self.count += 1

    def compute(self, s):
        cwnd = s.cwnd
        if self.start_us is not None:
            self.acks += 1
        if self.computed and self.computed[0] == cwnd and s.now - self.computed[1] <= 1e6 / 32:
            return
        self.computed = cwnd, s.now
        if self.start_us is None:
            self.start_us, self.acks, self.west = s.now, 1, cwnd
            self.origin = max(self.wmax, cwnd)
            self.k = ((self.origin - cwnd) / self.c) ** (1 / 3)
        t = (s.now - self.start_us + (self.delay or 0)) / 1e6
        target = math.floor(self.origin + self.c * (t - self.k) ** 3)
        cnt = cwnd // (target - cwnd) if target > cwnd else 100 * cwnd
        if self.increment and self.delay and t >= self.k:
            cnt = max(cnt, math.floor(cwnd / (10 * self.increment * self.delay / 1e6)))
        if self.lossless:
            cnt = 50
        if self.p.get("reno_friendly") != "off":
            scale = math.floor(8 * (1 + self.beta) / 3 / (1 - self.beta))
            per = cwnd * scale // 8
            while self.acks > per:
                self.acks -= per
                self.west += 1
            if self.west > cwnd:
                cnt = min(cnt, cwnd // (self.west - cwnd))
        self.cnt = max(cnt * 16 // self.ratio, 1)

    def loss(self, s, timeout):
        wmax, self.start_us, self.lossless, self.count = self.wmax, None, False, 0
        converge = s.cwnd < wmax and self.p.get("fast_convergence") != "off"
        self.wmax = math.floor(s.cwnd * (1 + self.beta) / 2) if converge else s.cwnd
        if timeout:
            self.forget()
        return max(math.floor(s.cwnd * self.beta), 2)


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
    case("ns2: 29180 -> 23338", CubicNs2, avoiding(29180), LOST, arithmetic="ns2", beta="0.8"),
    case(
        "ns2: one more ACK than cnt, 50 * 16 / 31 of them, before the first loss",
        CubicNs2,
        at(10, 20),
        acks(11),
        *[acks(26)] * 20,
        arithmetic="ns2",
    ),
    case(
        "ns2: the curve, 16 segments per 100 ms beyond it",
        CubicNs2,
        avoiding(1000),
        acks(1),
        LOST,
        *[acks(8000, gap_us=120)] * 12,
        tolerance=2,
        arithmetic="ns2",
        beta="0.8",
    ),
    case(
        "ns2: no max_increment",
        CubicNs2,
        avoiding(400),
        acks(1),
        LOST,
        *[acks(8000, gap_us=250)] * 12,
        tolerance=3,
        arithmetic="ns2",
        beta="0.8",
        max_increment="0",
    ),
    case(
        "ns2: max_increment holds beyond the plateau, not before",
        CubicNs2,
        avoiding(1000),
        acks(1),
        LOST,
        *[acks(8000, gap_us=120)] * 18,
        tolerance=2,
        arithmetic="ns2",
        beta="0.8",
        max_increment="1",
    ),
    case(
        "ns2: Reno-friendly",
        CubicNs2,
        avoiding(20),
        acks(1),
        LOST,
        *[acks(500, rtt_ms=10, gap_us=500)] * 20,
        tolerance=1,
        arithmetic="ns2",
        beta="0.8",
    ),
    case(
        "ns2: not Reno-friendly, no fast convergence",
        CubicNs2,
        avoiding(200),
        acks(1),
        LOST,
        acks(2000, gap_us=500),
        LOST,
        *[acks(2000, gap_us=500)] * 12,
        tolerance=1,
        arithmetic="ns2",
        beta="0.8",
        reno_friendly="off",
        fast_convergence="off",
    ),
    case(
        "ns2: a timeout forgets everything",
        CubicNs2,
        avoiding(200),
        acks(1),
        LOST,
        acks(2000, gap_us=500),
        TIMEOUT,
        acks(160),
        *[acks(500)] * 4,
        arithmetic="ns2",
        beta="0.8",
        tolerance=1,
    ),
    case(
        "ns2: samples in the first second of an epoch do not count",
        CubicNs2,
        avoiding(400),
        acks(1),
        LOST,
        acks(3),
        acks(900, rtt_ms=10),
        *[acks(2000, gap_us=500)] * 14,
        tolerance=1,
        arithmetic="ns2",
        beta="0.8",
    ),
    case(
        "ns2: delayed ACKs",
        CubicNs2,
        avoiding(200),
        acks(100, acked=2),
        LOST,
        *[acks(1000, gap_us=1000, acked=2)] * 12,
        tolerance=2,
        arithmetic="ns2",
        beta="0.8",
    ),
]
