"""TCP Hybla."""

import math
from decimal import Decimal
from fractions import Fraction

from stack import Model, acks, LOST, TIMEOUT, UNDO, case, at, avoiding


class Hybla(Model):
    """2^rho - 1 per segment, then rho^2 / cwnd."""

    credit, fraction = Fraction(0), Decimal(0)

    def start(self, s):
        self.rtt0 = 1000 * int(self.p.get("rtt0_ms", 25))

    def rho(self, s, most):
        return min(max(Fraction(s.min_rtt, self.rtt0), 1), most)

    def ack(self, s):
        if not s.limited:
            return
        if s.cwnd < s.ssthresh:
            rho = self.rho(s, 16)
            exponent = Decimal(rho.numerator) / rho.denominator
            self.fraction += s.acked * (Decimal(2) ** exponent - 1)
            s.cwnd = min(s.cwnd + math.floor(self.fraction), s.ssthresh)
            self.fraction %= 1
        else:
            self.credit += s.acked * self.rho(s, 1024) ** 2
            more, self.credit = divmod(self.credit, s.cwnd)
            s.cwnd += more

    def loss(self, s, timeout):
        self.credit = Fraction(0)
        return max(s.cwnd // 2, 2)


class HyblaLinux(Hybla):
    """As hybla.h describes the kernel."""

    eighths, srtt, odd, count, open, creeps = 8, math.inf, 0, 0, True, True

    def start(self, s):
        super().start(s)
        s.cwnd = 1

    def ack(self, s):
        if s.rtt and s.rtt < self.srtt:
            self.srtt = s.rtt
            self.eighths = max(8 * s.rtt // self.rtt0, 8)
        if not s.limited:
            return
        slow_start = s.cwnd < s.ssthresh
        if not self.open:
            return self.reno(s)
        if slow_start:
            step = math.floor(128 * 2 ** (self.eighths % 8 / 8)) * 2 ** min(self.eighths // 8, 16) - 128
        else:
            step = math.floor(128 * Fraction(self.eighths, 8) ** 2 / s.cwnd)
            self.count += step < 128
        self.odd += step % 128
        s.cwnd += step // 128
        if self.odd >= 128:
            self.odd, self.count = self.odd - 128, 0
            s.cwnd += 1
        if self.creeps and step == 0 and self.count >= s.cwnd:
            self.count = 0
            s.cwnd += 1
        s.cwnd = min(s.cwnd, s.ssthresh if slow_start else s.cwnd, 65535)

    def reno(self, s):
        left = s.acked
        if s.cwnd < s.ssthresh:
            left -= min(left, s.ssthresh - s.cwnd)
            s.cwnd += s.acked - left
        self.count += left
        if left and self.count >= s.cwnd:
            self.count -= s.cwnd
            s.cwnd += 1

    def repaired(self, s):
        self.open = True

    def loss(self, s, timeout):
        self.count, self.open = 0, not timeout
        return max(s.cwnd // 2, 2)


class HyblaNs2(HyblaLinux):
    """Starts with the first ACK: a window of rho, which that ACK does not grow."""

    creeps = False

    def start(self, s):
        Hybla.start(self, s)

    def ack(self, s):
        first = s.rtt and self.srtt == math.inf
        super().ack(s)
        if first:
            s.cwnd, self.odd, self.count = self.eighths // 8, 0, 0

    def reno(self, s):
        if s.cwnd <= s.ssthresh:
            s.cwnd += 1
            return
        self.count += 1
        if self.count >= s.cwnd:
            s.cwnd, self.count = s.cwnd + 1, 0


CASES = [
    case("RTT0: Reno", Hybla, at(2, 100), *[acks(60, rtt_ms=25)] * 10, tolerance=1),
    case("below RTT0: Reno", Hybla, at(2, 100), *[acks(60, rtt_ms=5)] * 6, LOST, acks(60), tolerance=1),
    case("slow start at four times RTT0", Hybla, at(2, 1000), *[acks(3)] * 30, tolerance=1),
    case(
        "parts of rho",
        Hybla,
        at(2, 2**20),
        *[acks(40, rtt_ms=32)] * 3,
        *[acks(40, rtt_ms=31.5)] * 3,
        *[acks(40, rtt_ms=27.123)] * 3,
        tolerance=1,
    ),
    case("the largest rho of slow start", Hybla, at(1, 2**30), *[acks(9, rtt_ms=600000)] * 9, tolerance=1),
    case("just below it", Hybla, at(1, 2**30), *[acks(9, rtt_ms=399.99)] * 9, tolerance=2**10),
    case(
        "avoidance: rho^2 segments per RTT", Hybla, avoiding(100), *[acks(100, rtt_ms=550)] * 9, tolerance=1
    ),
    case(
        "a queue does not count",
        Hybla,
        avoiding(500),
        *[acks(200)] * 3,
        *[acks(200, rtt_ms=300)] * 3,
        tolerance=1,
    ),
    case(
        "loss, undo, timeout",
        Hybla,
        avoiding(500),
        *[acks(200)] * 3,
        LOST,
        acks(100),
        UNDO,
        acks(100),
        TIMEOUT,
        *[acks(2)] * 20,
        acks(99),
        tolerance=1,
    ),
    case("ten minutes", Hybla, avoiding(1000), *[acks(20, rtt_ms=600000)] * 5, tolerance=1),
    case("delayed ACKs", Hybla, at(10, 900), *[acks(20, acked=2)] * 10, tolerance=1),
    case("RTT0 is a parameter", Hybla, at(4, 300), *[acks(20)] * 20, tolerance=1, rtt0_ms="60"),
    case("not limited", Hybla, at(4, 300), acks(20, limited=False), acks(20), tolerance=1),
    case(
        "a huge window",
        Hybla,
        avoiding(2**31 - 10**6),
        *[acks(500, acked=2**24, rtt_ms=60)] * 3,
        tolerance=1,
    ),
    *[
        case(f"linux: {what}", HyblaLinux, start, *steps, variant="linux", **params)
        for what, start, steps, params in (
            ("slow start", at(2, 1000), [acks(1)] * 70 + [acks(900)], {}),
            ("parts of rho", at(2), [acks(10, rtt_ms=40 - n) for n in range(17)], {}),
            ("the largest rho", at(2, 70000), [acks(1, rtt_ms=600), acks(1, rtt_ms=600), acks(9)], {}),
            ("avoidance", at(1, 60), [*[acks(90)] * 9, *[acks(300, rtt_ms=140)] * 3], {}),
            ("a loss", at(1, 60), [*[acks(90)] * 4, LOST, *[acks(50)] * 4, UNDO, acks(90)], {}),
            ("a timeout", at(1, 60), [*[acks(90)] * 4, TIMEOUT, acks(7), acks(100, acked=2)], {}),
            ("growth below 1/128", at(1, 300), [acks(800, rtt_ms=20), acks(400), acks(400)], {}),
            ("smaller RTTs count", at(1, 60), [acks(30, rtt_ms=n) for n in (200, 210, 150, 90, 99, 10)], {}),
            ("not limited", at(1, 60), [acks(30, limited=False, rtt_ms=50), acks(30)], {}),
            ("RTT0", at(1, 60), [acks(90), acks(90)], {"rtt0_ms": "60"}),
        )
    ],
    *[
        case(f"ns2: {what}", HyblaNs2, start, *steps, variant="ns2")
        for what, start, steps in (
            ("slow start", at(2, 1000), [acks(1, rtt_ms=204)] * 5 + [acks(300, rtt_ms=204)]),
            ("a loss", at(2, 60), [acks(1, rtt_ms=204), *[acks(90)] * 4, LOST, *[acks(50)] * 4]),
            ("growth below 1/128", at(2, 300), [acks(1), acks(1200, rtt_ms=20)]),
            ("a timeout", at(2, 60), [acks(1), *[acks(90)] * 4, TIMEOUT, acks(40), acks(100, acked=2)]),
        )
    ],
]
