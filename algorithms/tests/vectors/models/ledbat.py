"""LEDBAT."""

from fractions import Fraction
from math import floor

from stack import LOST, TIMEOUT, Model, acks, at, avoiding, case


class Delays:
    """The smallest delays of ten minutes and of four samples."""

    def __init__(self, s):
        self.begin, self.minutes, self.last = s.now, {}, []

    def sample(self, s, delay):
        minute = (s.now - self.begin) // 60_000_000
        self.minutes[minute] = min(delay, self.minutes.get(minute, delay))
        self.minutes = {n: least for n, least in self.minutes.items() if n > minute - 10}
        self.last = [*self.last, delay][-4:]
        self.base = min(self.minutes.values())
        return min(self.last) - self.base


def signed(owd):
    """One-way delays are differences of clocks, in 32 bits."""
    return owd - 2**32 if owd >= 2**31 else owd


class Ledbat(Model):
    """RFC 6817, 2.4.2, in rational numbers; steps are of whole segments of cwnd."""

    queue = None

    def start(self, s):
        self.target, self.gain = int(self.p.get("target_ms", 100)) * 1000, Fraction(self.p.get("gain", "1"))
        s.cwnd, self.rest = min(s.cwnd, 2), Fraction(0)
        self.delays = Delays(s)

    def sample(self, s):
        delay = s.rtt if self.p.get("delay") == "rtt" else signed(s.owd)
        if delay:
            self.queue = self.delays.sample(s, delay)

    def ack(self, s):
        if self.queue is None:
            return
        off = max(Fraction(self.target - self.queue, self.target), -1)
        real = s.cwnd + self.rest + self.gain * off * s.acked / s.cwnd
        real = max(min(real, s.prior_in_flight + 1), 2)
        s.cwnd, self.rest = floor(real), real % 1

    def loss(self, s, timeout):
        self.rest = Fraction(0)
        return max(s.cwnd // 2, 2)


def one_way(n, owd_ms, **more):
    return acks(n, owd_us=round(owd_ms * 1000), **more)


CASES = [
    case("begins with two segments, and grows by one per RTT without a queue", Ledbat, at(10), *[one_way(n, 50) for n in range(2, 40)], tolerance=1),
    case(
        "grows by less the longer the queue, and not at the target",
        Ledbat,
        avoiding(2),
        one_way(300, 50),
        *[one_way(40, delay) for delay in (60, 75, 100, 125, 140, 150, 150, 150)],
        tolerance=1,
    ),
    case(
        "shrinks above the target, by a segment per RTT at most",
        Ledbat,
        avoiding(2),
        one_way(400, 50),
        *[one_way(30, delay) for delay in (160, 200, 260, 300, 700, 700, 700, 700, 50)],
        one_way(900, 700),
        tolerance=1,
    ),
    case(
        "the smallest of four delays counts",
        Ledbat,
        avoiding(2),
        one_way(300, 50),
        *[one_way(3, 250), one_way(1, 50)] * 40,
        *[one_way(4, 250), one_way(1, 50)] * 40,
        tolerance=1,
    ),
    case("after a pause of twenty minutes the path is a new one", Ledbat, avoiding(2), one_way(300, 50), one_way(1, 210, gap_us=1_200_000_000), one_way(200, 210), tolerance=1),
    case(
        "the base is of the last ten minutes",
        Ledbat,
        avoiding(2),
        one_way(300, 50),
        *[one_way(20, 210, gap_us=1_500_000)] * 30,
        one_way(200, 210),
        tolerance=1,
    ),
    case(
        "clocks that differ, the sender's ahead",
        Ledbat,
        avoiding(2),
        acks(60, owd_us=4_294_900_000),
        acks(60, owd_us=60_000),
        acks(60, owd_us=4_294_880_000),
        acks(60, owd_us=10_000),
        tolerance=1,
    ),
    case("losses halve", Ledbat, avoiding(2), one_way(900, 50), LOST, one_way(60, 50), TIMEOUT, one_way(30, 50), LOST, tolerance=1),
    case("a timeout with a long queue", Ledbat, avoiding(2), one_way(100, 50), TIMEOUT, one_way(40, 300)),
    case("a window that is not in use shrinks to a segment more than what was in flight", Ledbat, avoiding(2), one_way(900, 50), one_way(1, 50, prior_in_flight=30), one_way(3, 50, prior_in_flight=12), one_way(9, 50), tolerance=1),
    case("another target and gain", Ledbat, avoiding(2), one_way(900, 50), one_way(200, 70), one_way(200, 85), target_ms="25", gain="0.5", tolerance=1),
    case("no growth without a sample", Ledbat, at(10), acks(30), one_way(30, 50), tolerance=1),
    case("by round trips", Ledbat, avoiding(2), acks(400), *[acks(40, rtt_ms=ms) for ms in (150, 190, 230, 330)], delay="rtt", tolerance=1),
]
