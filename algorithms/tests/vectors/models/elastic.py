"""Elastic-TCP."""

import math
from decimal import Decimal
from fractions import Fraction
from functools import cache

from slow_start import ends_slow_start
from stack import DISORDER, Model, acks, LOST, TIMEOUT, case, at, avoiding


@cache
def elastic_growth(rtt_max, rtt, cwnd, thousandths):
    wwf = (Decimal(rtt_max) / rtt * cwnd).sqrt()
    growth = min(wwf / cwnd, Decimal(1))
    return Decimal(math.floor(1000 * growth)) / 1000 if thousandths else growth


class Elastic(Model):
    """WWF = sqrt(RTTmax / RTTcur * cwnd); cwnd += WWF / cwnd (Eqs. 2-6)."""

    carry = Decimal(0)
    rtt = rtt_max = 0

    def sample(self, s):
        if s.state <= DISORDER:
            self.rtt = s.rtt
            if self.p.get("rtt_max_from") != "avoidance":
                self.rtt_max = max(self.rtt_max, s.rtt)

    def avoid(self, s, acked):
        self.rtt_max = max(self.rtt_max, self.rtt)
        authors = self.p.get("variant") == "authors"
        self.carry += acked * elastic_growth(self.rtt_max, self.rtt, s.cwnd, authors)
        s.cwnd += math.floor(self.carry)
        self.carry %= 1

    def loss(self, s, timeout):
        if self.p.get("variant") == "authors":
            self.carry = Decimal(0)
        if timeout and self.p.get("reset_rtt_on_rto") == "on":
            self.rtt_max = 0
        return max(math.floor(s.cwnd * Fraction(self.p.get("beta", "0.9"))), 2)


CASES = [
    case(
        "an empty queue: sqrt(cwnd RTTmax / RTT) segments per RTT",
        Elastic,
        avoiding(100),
        acks(1, rtt_ms=400),
        *[acks(200)] * 10,
        tolerance=1,
    ),
    case(
        "a full one: sqrt(cwnd) segments per RTT", Elastic, avoiding(10000), *[acks(10000)] * 3, tolerance=1
    ),
    case(
        "a huge window",
        Elastic,
        avoiding(2**31 - 10**6),
        acks(1, rtt_ms=600000),
        acks(20000, rtt_ms=0.001, acked=40),
        acks(20000, rtt_ms=0.3, acked=500),
        tolerance=2,
    ),
    case(
        "never faster than slow start",
        Elastic,
        avoiding(4),
        acks(1, rtt_ms=1000),
        acks(20, rtt_ms=0.1),
        acks(1, rtt_ms=0.1, acked=30),
        tolerance=1,
    ),
    case(
        "samples count in slow start, not during the repair",
        Elastic,
        at(50, 100),
        acks(50, rtt_ms=200),
        acks(500),
        acks(20, rtt_ms=5000, state="recovery"),
        acks(500),
        acks(1, rtt_ms=0),
        tolerance=1,
    ),
    case(
        "Algorithm 1: samples count in avoidance alone",
        Elastic,
        at(50, 100),
        acks(49, rtt_ms=200),
        acks(1, rtt_ms=200),
        acks(500),
        acks(500, rtt_ms=150),
        acks(500),
        tolerance=1,
        rtt_max_from="avoidance",
    ),
    case(
        "loss and timeout",
        Elastic,
        avoiding(1000),
        acks(1, rtt_ms=400),
        acks(500),
        LOST,
        acks(500),
        TIMEOUT,
        acks(950),
        acks(500),
        tolerance=1,
    ),
    case(
        "RTTmax forgotten at a timeout",
        Elastic,
        avoiding(1000),
        acks(1, rtt_ms=400),
        acks(500),
        TIMEOUT,
        acks(950),
        acks(500),
        tolerance=1,
        reset_rtt_on_rto="on",
        beta="0.8",
    ),
    case(
        "authors: Fig. 7a, 29180 -> 26262",
        Elastic,
        avoiding(29180),
        acks(1, rtt_ms=300),
        LOST,
        *[acks(26262, gap_us=8, rtt_ms=204)] * 4,
        variant="authors",
    ),
    case("authors: 30839 -> 27755", Elastic, avoiding(30839), LOST, variant="authors"),
    case(
        "authors: Fig. 7a, six thousandths below 29166, five above",
        Elastic,
        avoiding(29100),
        acks(1, rtt_ms=257.25),
        acks(10000, rtt_ms=244.44),
        {"cwnd": 29200},
        acks(10000, rtt_ms=245.28),
        variant="authors",
    ),
    case(
        "authors: the fraction is lost at a cut",
        Elastic,
        avoiding(1000),
        acks(31),
        LOST,
        acks(30),
        acks(1),
        acks(1),
        acks(1),
        acks(1),
        variant="authors",
    ),
    case(
        "authors: small windows",
        Elastic,
        avoiding(2),
        *[acks(3, rtt_ms=100 + n) for n in range(20)],
        variant="authors",
    ),
    *ends_slow_start(Elastic),
]
