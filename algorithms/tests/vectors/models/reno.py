"""Reno."""

import math
from decimal import Decimal

from slow_start import ends_slow_start, searches
from stack import Model, acks, LOST, TIMEOUT, case, at, avoiding


class Reno(Model):
    """RFC 5681: cwnd += 1/cwnd per segment, in whole segments; half on loss."""

    credit = 0

    def avoid(self, s, acked):
        self.credit += acked
        if self.credit >= s.cwnd:
            self.credit -= s.cwnd
            s.cwnd += 1

    def loss(self, s, timeout):
        self.credit = 0
        return max(s.cwnd // 2, 2)


class RenoNs2(Model):
    """Linux 2.6.22: slow start includes cwnd == ssthresh; an ACK counts once."""

    credit = 0

    def ack(self, s):
        if s.cwnd <= s.ssthresh:
            s.cwnd += 1
            return
        self.credit += 1
        if self.credit >= s.cwnd:
            self.credit = 0
            s.cwnd += 1

    def loss(self, s, timeout):
        self.credit = 0
        return max(s.cwnd // 2, 2)


class RenoReal(Model):
    """ns-2: cwnd is a real number, and min(cwnd, receive window) is what a loss halves."""

    rest = Decimal(0)

    def ack(self, s):
        if s.cwnd < s.ssthresh:
            s.cwnd += 1
            return
        real = s.cwnd + self.rest
        real += 1 / real
        s.cwnd, self.rest = math.floor(real), real % 1

    def part(self, s):
        rest = 0 if self.p["variant"] == "ns2-no-module" else self.rest
        return Decimal("0.5") * min(s.cwnd + rest, s.snd_wnd)

    def loss(self, s, timeout):
        real = self.part(s)
        self.rest = Decimal(0) if timeout else real % 1
        return max(math.floor(real), 2)


CASES = [
    case(
        "slow start, avoidance, loss, timeout",
        Reno,
        at(2, 64),
        acks(30),
        acks(32),
        acks(64),
        acks(65),
        LOST,
        acks(100),
        TIMEOUT,
        acks(40),
    ),
    case("nothing grows while the application is the limit", Reno, at(10), acks(50, limited=False), acks(1)),
    case(
        "an ACK that crosses ssthresh leaves the rest to avoidance",
        Reno,
        at(9, 10),
        acks(1, acked=8),
        acks(1, acked=3),
    ),
    case(
        "ns2-agent: ACKs count, and fractions are kept",
        RenoReal,
        avoiding(10),
        acks(10),
        acks(1),
        acks(300, acked=2),
        LOST,
        acks(200),
        LOST,
        acks(1),
        TIMEOUT,
        acks(60),
        variant="ns2-agent",
    ),
    case(
        "ns2-agent: cwnd outgrows the receive window, whose half is taken",
        RenoReal,
        at(48, 50),
        acks(400, snd_wnd=50, limited=False),
        LOST,
        acks(90, snd_wnd=50, limited=False),
        variant="ns2-agent",
    ),
    case(
        "ns2-no-module: half of whole segments",
        RenoReal,
        avoiding(29),
        acks(20),
        LOST,
        acks(60),
        LOST,
        acks(60),
        variant="ns2-no-module",
    ),
    case(
        "ns2: slow start goes one segment beyond ssthresh, ACKs count",
        RenoNs2,
        at(18, 20),
        acks(3),
        acks(20),
        acks(1),
        acks(50, acked=2),
        LOST,
        acks(12),
        TIMEOUT,
        acks(30),
        variant="ns2",
    ),
    *ends_slow_start(Reno),
    *searches(Reno, tolerance=1),
]
