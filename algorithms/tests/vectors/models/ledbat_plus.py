"""LEDBAT++."""

from fractions import Fraction
from math import ceil, floor

from models.ledbat import Delays
from stack import LOST, TIMEOUT, Model, Rounds, acks, at, case


class LedbatPlus(Model):
    """The draft's rules, in rational numbers."""

    queue = 0

    def start(self, s):
        self.target, self.every = (int(self.p.get(name, value)) for name, value in (("target_ms", 60), ("slowdown_every", 9)))
        self.target *= 1000
        s.cwnd, self.rest = min(s.cwnd, 2), Fraction(0)
        self.delays, self.rounds, self.phase, self.passed = Delays(s), Rounds(), "first", 0

    def sample(self, s):
        self.queue = self.delays.sample(s, s.rtt)

    def slow(self, s):
        return s.cwnd < s.ssthresh

    def slowdown(self, s):
        s.ssthresh, s.cwnd, self.rest = max(s.cwnd, 2), 2, Fraction(0)
        self.begun, self.phase, self.passed = s.now, "hold", 0

    def progress(self, s):
        if self.phase == "first":
            if self.queue > self.target * Fraction(3, 4):
                s.ssthresh = max(min(s.cwnd, s.ssthresh), 2)
            if not self.slow(s):
                self.phase, self.passed = "wait", 0
        elif self.phase == "wait":
            if self.passed >= 2 and not self.slow(s) and s.limited:
                self.slowdown(s)
        elif self.phase == "hold":
            if self.passed >= 2:
                self.phase = "rise"
        elif self.phase == "rise":
            if not self.slow(s):
                self.due = s.now + self.every * min(s.now - self.begun, 60_000_000)
                self.phase = "steady"
        elif s.now >= self.due and not self.slow(s) and s.limited:
            self.slowdown(s)

    def ack(self, s):
        over = self.rounds.over(s)
        self.passed += over
        self.progress(s)
        if self.phase == "hold":
            return
        gain = Fraction(1, min(16, ceil(Fraction(2 * self.target, self.delays.base))))
        real = s.cwnd + self.rest
        if self.slow(s):
            if s.limited:
                real = min(real + gain * s.acked, max(s.ssthresh, real))
        elif self.queue <= self.target:
            if s.limited:
                real += gain * s.acked / s.cwnd
        elif over:
            change = gain - s.cwnd * Fraction(self.queue - self.target, self.target)
            if change < 0 or s.limited:
                real = max(real + max(change, -Fraction(s.cwnd, 2)), min(s.cwnd, 2))
            if change < 0:
                s.ssthresh = max(floor(real), 2)
        s.cwnd, self.rest = floor(real), real % 1

    def loss(self, s, timeout):
        self.rest = Fraction(0)
        ssthresh = max((s.ssthresh if self.phase == "hold" else s.cwnd) // 2, 2)
        if timeout and self.phase == "hold":
            self.phase = "rise"
        return ssthresh

    def repaired(self, s):
        if self.phase == "hold":
            s.cwnd = min(s.cwnd, 2)


def rises(*rtts_ms):
    return [acks(30, rtt_ms=ms) for ms in rtts_ms]


CASES = [
    case("slow start ends at three quarters of the target, and a slowdown follows two RTTs later", LedbatPlus, at(10), acks(40), acks(40, rtt_ms=120), *[acks(20, rtt_ms=146)] * 3, *[acks(10, rtt_ms=150)] * 30, *[acks(3)] * 30, tolerance=1),
    case("a slowdown, and how long until the next", LedbatPlus, at(2), *[acks(4)] * 12, *[acks(8, rtt_ms=150)] * 30, *[acks(4)] * 260, tolerance=1),
    case("grows by GAIN, which is less on a short path", LedbatPlus, at(2, 20), *[acks(10, rtt_ms=10)] * 160, tolerance=1),
    case("GAIN is 1/16 at least", LedbatPlus, at(2, 8), *[acks(20, rtt_ms=2)] * 100, tolerance=1),
    case("shrinks once per RTT by the part that the queue is above the target", LedbatPlus, at(2, 60), *[acks(30)] * 6, *rises(159, 160, 161, 162, 165, 170, 185, 200, 230, 280, 400, 400, 400), tolerance=1),
    case("a loss ends the first slow start", LedbatPlus, at(2), acks(60), LOST, *[acks(20)] * 20, LOST, *[acks(20)] * 10, tolerance=1),
    case("a loss in a slowdown halves the window before it", LedbatPlus, at(2, 40), *[acks(20)] * 7, acks(1), LOST, *[acks(3)] * 30, tolerance=1),
    case("a timeout while the first slowdown is due", LedbatPlus, at(2), acks(60), LOST, acks(4), TIMEOUT, *[acks(10)] * 20, tolerance=1),
    case("a pause in a slowdown", LedbatPlus, at(2, 40), *[acks(20)] * 5, acks(4), acks(1, gap_us=3_600_000_000), *[acks(20)] * 10, acks(4, gap_us=200_000_000), *[acks(20)] * 10, tolerance=1),
    case("a timeout", LedbatPlus, at(2, 40), *[acks(20)] * 4, TIMEOUT, *[acks(10)] * 20, TIMEOUT, TIMEOUT, *[acks(5)] * 6, tolerance=1),
    case("limited by the application", LedbatPlus, at(2, 30), acks(40), *[acks(30, limited=False)] * 12, *[acks(10)] * 20, *[acks(20, rtt_ms=160.5, limited=False)] * 9, tolerance=1),
    case("several segments at once", LedbatPlus, at(2, 64), *[acks(20, acked=2)] * 40, *[acks(20, acked=2, rtt_ms=175)] * 10, tolerance=1),
    case("other parameters", LedbatPlus, at(2), acks(40), acks(40, rtt_ms=112), *[acks(20, rtt_ms=116)] * 30, *[acks(4)] * 60, target_ms="20", slowdown_every="2", tolerance=1),
]
