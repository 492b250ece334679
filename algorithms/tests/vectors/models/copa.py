"""Copa."""

from fractions import Fraction
from math import floor

from stack import LOST, TIMEOUT, Model, Rounds, acks, at, case


class Copa(Model):
    """NSDI 2018, 2.1 and 2.2, with every sample kept, in rational numbers."""

    controls, pacing, pacing_tolerance = True, 0, Fraction(1, 20)

    def start(self, s):
        self.delta = Fraction(self.p.get("delta", "0.5"))
        self.competes = self.p.get("competitive", "on") == "on"
        self.samples, self.rounds, self.rest = [], Rounds(), Fraction(0)
        self.weight, self.velocity, self.steady = 1 / self.delta, 1, False
        self.way, self.same, self.began, self.lost = True, 0, s.cwnd, 0
        self.empty = [True] * 5  # of the last RTTs, the newest last

    def within(self, s, us):
        return [rtt for at, rtt in self.samples if s.now - at <= us] or [self.samples[-1][1]]

    def sample(self, s):
        self.samples.append((s.now, s.rtt))
        self.standing = min(self.within(s, s.rtt // 2))
        self.least = min(self.within(s, 10_000_000))
        greatest = max(self.within(s, 4 * s.rtt))
        if 10 * (self.standing - self.least) <= greatest - self.least:
            self.empty[-1] = True

    def round(self, s):
        way = s.cwnd > self.began
        if self.lost > 20 and self.lost > Fraction(3, 10) * self.began:
            s.cwnd = max(s.cwnd * 7 // 10, 2)
        self.lost = 0
        moved = s.cwnd != self.began and self.steady
        self.same = min(self.same + 1, 3) if way == self.way and moved else 0
        self.way, self.began = way, s.cwnd
        if self.same == 0:
            self.velocity = 1
        elif self.same == 3 and self.velocity * 2 * self.weight <= s.cwnd:
            self.velocity *= 2
        if self.competes and not any(self.empty):
            self.weight = max(self.weight + 1, 1 / self.delta)
        else:
            self.weight = 1 / self.delta
        self.empty = [*self.empty[-4:], False]

    def ack(self, s):
        if not self.samples:
            return
        self.lost += s.lost
        if self.rounds.over(s):
            self.round(s)
        real, queue = s.cwnd + self.rest, self.standing - self.least
        grows = s.cwnd * queue <= self.weight * self.standing
        velocity = self.velocity if grows == self.way else 1
        step = s.acked * min(velocity * self.weight / s.cwnd, 1)
        if grows:
            if s.limited:
                real += step if self.steady else s.acked
        else:
            self.steady = True
            real -= step
        real = max(real, 2)
        s.cwnd, self.rest = floor(real), real % 1
        self.pacing = floor(Fraction(2 * s.cwnd * 1448 * 1_000_000, self.standing))

    def loss(self, s, timeout):
        self.weight = max(self.weight / 2, 1 / self.delta)
        if timeout:
            self.velocity, self.same, self.rest, self.steady = 1, 0, Fraction(0), True
            self.lost, self.began, self.rounds = 0, 1, Rounds()
            self.rounds.mark = s.delivered
        return s.ssthresh


def queued(*rtts_ms):
    """An RTT each, of 40 ACKs."""
    return [acks(40, rtt_ms=ms, gap_us=2500) for ms in rtts_ms]


CASES = [
    case("slow start doubles until the rate is above the target", Copa, at(10), *[acks(20)] * 6, acks(60, rtt_ms=101), acks(60, rtt_ms=110), acks(60, rtt_ms=104), tolerance=1),
    case("velocity doubles after three RTTs one way, and is 1 after a turn", Copa, at(40), *queued(100, 108, 108, 100, 100, 100), *[acks(80, gap_us=1250)] * 5, *queued(120, 120, 120, 120, 120, 120, 100, 100), tolerance=1),
    case("many losses in an RTT leave 0.7 of the window", Copa, at(90), *queued(100, 104), acks(20, gap_us=2500, lost=1), acks(20, gap_us=2500), *queued(104), acks(21, gap_us=2500, lost=2), *queued(104, 104, 104), tolerance=1),
    case("limited by the application, then a queue", Copa, at(40), *queued(100, 104, 104), *[acks(40, gap_us=2500, limited=False)] * 12, *queued(110, 110), tolerance=1),
    case("a timeout begins a new RTT", Copa, at(90), *queued(100, 104), TIMEOUT, *[acks(10, gap_us=10000)] * 6, tolerance=1),
    case("the smallest RTT is of ten seconds", Copa, at(40), *queued(100, 130, 130), acks(40, rtt_ms=130, gap_us=200_000), acks(60, rtt_ms=130, gap_us=100_000), *queued(130, 130), tolerance=1),
    case("twenty segments lost in an RTT are not many", Copa, at(40), *queued(100, 104), acks(1, gap_us=2500, lost=18), acks(39, gap_us=2500), *queued(104, 104), tolerance=1),
    case("two segments at least", Copa, at(10), *queued(100, 300, 300, 300, 300), tolerance=1),
    case("beside a queue that does not empty it competes", Copa, at(40), *queued(100, *[150, 160] * 9), LOST, *queued(150, 160, 155, 100, 105, 100, 102), tolerance=1),
    case("another delta, and losses ignored in the default mode", Copa, at(40), *queued(100, 104, 108, 120, 120), LOST, *queued(110, 100, 100), TIMEOUT, *queued(100, 110), delta="0.1", competitive="off", tolerance=1),
    case("the default mode beside a queue that does not empty", Copa, at(40), *queued(100, *[150, 160] * 6), LOST, *queued(150, 100, 105), competitive="off", tolerance=1),
]
