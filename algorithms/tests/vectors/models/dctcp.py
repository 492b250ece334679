"""DCTCP."""

from fractions import Fraction
from math import floor

from models.reno import Reno
from slow_start import ends_slow_start, searches
from stack import CWR, LOST, MARK, REDUCED, TIMEOUT, UNDO, Rounds, acks, at, avoiding, case


class Dctcp(Reno):
    """RFC 8257, 3.3 to 3.5, in rational numbers."""

    def start(self, s):
        self.alpha = Fraction(self.p.get("initial_alpha", "1"))
        self.gain = Fraction(1, 2 ** int(self.p.get("gain", 4)))
        self.rounds, self.seen, self.prior, self.earned = Rounds(), (0, 0), 0, 0

    def sample(self, s):
        if s.state == CWR:
            self.earned += s.acked
            if self.earned >= s.cwnd:
                self.earned -= s.cwnd
                s.ssthresh += 1
        if self.rounds.over(s):
            delivered, marked = s.delivered - self.seen[0], s.delivered_ce - self.seen[1]
            self.alpha += self.gain * (Fraction(marked, delivered) - self.alpha)
            self.seen = s.delivered, s.delivered_ce

    def mark(self, s):
        self.prior, self.earned, self.credit = s.cwnd, 0, 0
        return max(s.cwnd - floor(s.cwnd * self.alpha / 2), 2)

    def loss(self, s, timeout):
        self.prior = s.cwnd
        return super().loss(s, timeout)

    def undo(self, s):
        return max(s.cwnd, self.prior)


class DctcpLinux(Dctcp):
    """The module's alpha, in whole 1/1024, without the ACK that ends a window."""

    def start(self, s):
        super().start(s)
        self.alpha, self.gain = floor(self.alpha * 1024), int(self.p.get("gain", 4))
        self.before = 0, 0

    def sample(self, s):
        if self.rounds.over(s):
            delivered, marked = (now - seen for now, seen in zip(self.before, self.seen, strict=True))
            less = self.alpha // 2**self.gain
            self.alpha -= less or self.alpha
            self.alpha = min(self.alpha + marked * 2 ** (10 - self.gain) // max(delivered, 1), 1024)
            self.seen = self.before
        self.before = s.delivered, s.delivered_ce

    def mark(self, s):
        self.prior, self.credit = s.cwnd, 0
        return max(s.cwnd - s.cwnd * self.alpha // 2048, 2)


def courses(model, **params):
    name = params.get("variant", "spec")
    return [
        case(f"{name}: the first mark halves", model, at(10), acks(60), MARK, **params),
        case(
            f"{name}: alpha follows the share that is marked",
            model,
            avoiding(100),
            *[acks(100)] * 20,
            MARK,
            acks(100, state="cwr", ce=1),
            REDUCED,
            *[acks(50), acks(50, ce=1)] * 20,
            MARK,
            acks(80, state="cwr"),
            REDUCED,
            *[acks(100)] * 60,
            MARK,
            tolerance=1,
            **params,
        ),
        case(
            f"{name}: an ACK tells of several segments, some of them marked",
            model,
            avoiding(200),
            *[acks(60, acked=4, ce=2)] * 40,
            MARK,
            acks(60, acked=4, ce=4, state="cwr"),
            REDUCED,
            acks(60, acked=4),
            MARK,
            tolerance=1,
            **params,
        ),
        case(
            f"{name}: losses and timeouts halve, and may be undone",
            model,
            avoiding(200),
            *[acks(200)] * 10,
            LOST,
            acks(100),
            TIMEOUT,
            acks(150),
            LOST,
            UNDO,
            **params,
        ),
        case(
            f"{name}: alpha reaches 0",
            model,
            avoiding(1000),
            *[acks(1500)] * 300,
            MARK,
            tolerance=1,
            **params,
        ),
    ]


CASES = [
    *courses(Dctcp),
    *courses(DctcpLinux, variant="linux"),
    case(
        "another gain, another first alpha",
        Dctcp,
        avoiding(100),
        MARK,
        REDUCED,
        *[acks(50), acks(50, ce=1)] * 10,
        MARK,
        tolerance=1,
        gain="3",
        initial_alpha="0.25",
    ),
    *ends_slow_start(Dctcp),
    *searches(Dctcp, tolerance=1),
]
