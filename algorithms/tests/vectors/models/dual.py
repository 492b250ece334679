"""TCP DUAL."""

import math
from fractions import Fraction

from models.reno import Reno
from slow_start import ends_slow_start
from stack import LOST, TIMEOUT, UNDO, Rounds, acks, at, avoiding, case, queue


class Dual(Reno):
    """Every other RTT the latest sample beside the middle of the smallest and the largest."""

    def start(self, s):
        self.rounds, self.rtts, self.number = Rounds(), [], 0
        self.threshold = Fraction(self.p.get("threshold", "0.5"))
        self.left = Fraction(self.p.get("leave", "0.875"))

    def sample(self, s):
        self.rtts.append(s.rtt)

    def ack(self, s):
        if self.rounds.over(s):
            self.number += 1
            if self.number % 2 == 0 and self.rtts:
                least, most = min(self.rtts), max(self.rtts)
                if self.rtts[-1] - least > self.threshold * (most - least):
                    avoids = s.cwnd >= s.ssthresh
                    s.cwnd = max(math.floor(s.cwnd * self.left), min(s.cwnd, 2))
                    if avoids:
                        s.ssthresh = min(s.ssthresh, s.cwnd)
                    return
        super().ack(s)

    def loss(self, s, timeout):
        if timeout:
            self.rtts = []
        return super().loss(s, timeout)


CASES = [
    case("a queue below the middle, then above it, every other RTT", Dual, avoiding(50), *queue(50, 0, 20, 5, 5, 9, 9, 15, 15, 15, 15)),
    case("after a cut congestion avoidance goes on", Dual, avoiding(40), *queue(40, 0, 10, 10, 10), acks(200, rtt_ms=100)),
    case("slow start goes on", Dual, at(10), acks(10), acks(20, rtt_ms=150), acks(40, rtt_ms=150), acks(60, rtt_ms=150), acks(60, rtt_ms=150)),
    case("a loss takes half, and what is known stays", Dual, avoiding(60), *queue(60, 0, 30), LOST, *queue(30, 5, 5, 5, 11, 11, 11), UNDO, acks(80)),
    case("a timeout forgets the RTTs", Dual, avoiding(60), *queue(60, 0, 30, 30), TIMEOUT, acks(30, rtt_ms=150), acks(60, rtt_ms=150), acks(60, rtt_ms=150)),
    case("the smallest windows", Dual, avoiding(3), acks(3), *[acks(4, rtt_ms=300)] * 8, LOST, acks(9, rtt_ms=300), TIMEOUT, acks(1), acks(1, rtt_ms=400), acks(2, rtt_ms=500, limited=False)),
    case("an application that is the limit", Dual, avoiding(40), *queue(40, 0, 20), acks(200, rtt_ms=200, limited=False), acks(50)),
    case("samples that are missing", Dual, avoiding(20), acks(20, rtt_ms=0), acks(21, rtt_ms=0), acks(22, rtt_ms=0), acks(25), acks(25, rtt_ms=0), acks(50, rtt_ms=120)),
    case("parameters", Dual, avoiding(50), *queue(50, 0, 20, 5, 5, 5, 5, 5), threshold="0.2", leave="0.75"),
    *ends_slow_start(Dual),
]
