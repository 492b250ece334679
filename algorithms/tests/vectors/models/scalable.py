"""Scalable TCP."""

from fractions import Fraction
from math import ceil, floor

from slow_start import ends_slow_start, searches
from stack import Model, acks, LOST, TIMEOUT, UNDO, case, at, avoiding


class Scalable(Model):
    """The paper's rules, in rational numbers."""

    def start(self, s):
        self.a, self.b = Fraction(self.p.get("a", "0.01")), Fraction(self.p.get("b", "0.125"))
        self.legacy = int(self.p.get("legacy_window", 16))
        self.rest, self.credit = Fraction(0), 0

    def avoid(self, s, acked):
        if s.cwnd <= self.legacy:
            self.credit += acked
            if self.credit >= s.cwnd:
                self.credit -= s.cwnd
                s.cwnd += 1
            return
        window = s.cwnd + self.rest + acked * self.a
        s.cwnd, self.rest = floor(window), window % 1

    def loss(self, s, timeout):
        self.credit = 0
        kept = Fraction(1, 2) if s.cwnd <= self.legacy else 1 - self.b
        return max(floor(s.cwnd * kept), 2)


class Linux(Model):
    """An ACK clock that ticks once per min(cwnd, 100) segments."""

    clock = 0

    def avoid(self, s, acked):
        per = min(s.cwnd, 100)
        ticks, self.clock = divmod(self.clock + acked, per)
        s.cwnd += ticks

    def loss(self, s, timeout):
        self.clock = 0
        return max(ceil(s.cwnd * Fraction(7, 8)), 2)


class Ns2(Linux):
    """ACKs that grow the window: every 51st, or every one after cwnd."""

    def ack(self, s):
        if not s.limited:
            return
        if s.cwnd <= s.ssthresh:
            s.cwnd += 1
            return
        self.clock += 1
        if self.clock == min(s.cwnd, 50) + 1:
            self.clock = 0
            s.cwnd += 1


def common(model, **params):
    name = params.get("variant", "spec")
    return [
        case(f"{name}: slow start into avoidance", model, at(2, 120), acks(118), acks(1000), **params),
        case(f"{name}: below a hundred segments", model, avoiding(20), *[acks(200)] * 5, **params),
        case(
            f"{name}: delayed ACKs",
            model,
            at(10, 101),
            acks(45, acked=2),
            *[acks(150, acked=2)] * 6,
            **params,
        ),
        case(
            f"{name}: loss, timeout, undo",
            model,
            avoiding(403),
            acks(30),
            LOST,
            acks(999),
            UNDO,
            acks(500),
            TIMEOUT,
            acks(400),
            LOST,
            acks(100),
            LOST,
            **params,
        ),
        case(
            f"{name}: a small window",
            model,
            avoiding(9),
            *[acks(25)] * 4,
            LOST,
            acks(40),
            LOST,
            LOST,
            LOST,
            LOST,
            acks(20),
            **params,
        ),
        case(
            f"{name}: two thousand million",
            model,
            avoiding(2_000_000_000),
            acks(100, acked=123_456),
            LOST,
            acks(100, acked=98_765),
            TIMEOUT,
            **params,
        ),
        case(
            f"{name}: nothing grows while the sender is not held back",
            model,
            avoiding(50),
            acks(500, limited=False),
            **params,
        ),
    ]


CASES = [
    *common(Scalable),
    case(
        "parameters",
        Scalable,
        avoiding(30),
        *[acks(100)] * 3,
        LOST,
        acks(1000),
        LOST,
        acks(300, acked=2),
        a="0.05",
        b="0.3",
        legacy_window="35",
    ),
    *common(Linux, variant="linux"),
    *common(Ns2, variant="ns2"),
    *ends_slow_start(Scalable),
    *searches(Scalable, tolerance=1),
]
