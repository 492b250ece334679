"""How slow start ends, around a model whose slow start is the standard one."""

import math
from fractions import Fraction
from math import floor

from stack import INFINITE, LOST, TIMEOUT, Rounds, acks, at, case

QUEUE = [acks(20, rtt_ms=100), acks(40, rtt_ms=101), acks(80, rtt_ms=104)]


class Train:
    """Linux's HyStart: both of its signs, at real numbers."""

    def __init__(self, s):
        self.round(s)
        self.found = False

    def round(self, s):
        self.end, self.begin, self.last = s.delivered + s.in_flight, s.now, s.now
        self.samples, self.least = 0, math.inf

    def sample(self, s, delay):
        if self.found or s.cwnd >= s.ssthresh:
            return
        if s.delivered > self.end:
            self.round(s)
        if s.cwnd < 16:
            return
        if s.now - self.last <= 2000:
            self.last = s.now
            rate = 1448 * s.cwnd / s.rtt * (2 if s.cwnd < s.ssthresh // 2 else 1.2)
            self.found = s.now - self.begin > (delay + min(4 * 65536 / rate, 1000)) / 2
        self.least = min(self.least, s.rtt)
        self.samples += 1
        if self.samples > 8 and self.least > delay + min(max(delay / 8, 4000), 16000):
            self.found = True
        if self.found:
            s.ssthresh = s.cwnd


def with_hystart(model):
    class HyStart(model):
        """As Linux's CUBIC ends slow start."""

        def start(self, s):
            super().start(s)
            self.train = Train(s)

        def sample(self, s):
            super().sample(s)
            self.train.sample(s, s.min_rtt)

        def loss(self, s, timeout):
            if timeout:
                self.train = Train(s)
            return super().loss(s, timeout)

    return HyStart


class Conservative:
    """RFC 9406, 4.2 and 4.3."""

    def __init__(self):
        self.rounds = Rounds()
        self.last = self.least = math.inf
        self.samples = 0
        self.css = None
        self.part = Fraction(0)

    def sample(self, s):
        self.least = min(self.least, s.rtt)
        self.samples += 1
        if self.samples >= 8:
            if self.css:
                if self.least < self.css[0]:
                    self.css = None
            elif self.least >= self.last + max(4000, min(self.last / 8, 16000)):
                self.css = [self.least, 0]
        if self.rounds.over(s):
            self.last, self.least, self.samples = self.least, math.inf, 0
            if self.css:
                self.css[1] += 1
                if self.css[1] == 5:
                    s.ssthresh = s.cwnd

    def counted(self, acked):
        self.part += Fraction(min(acked, 8), 4 if self.css else 1)
        whole = math.floor(self.part)
        self.part -= whole
        return whole


def with_hystartpp(model):
    class HyStartPlusPlus(model):
        """In the first slow start."""

        def start(self, s):
            super().start(s)
            self.conservative = Conservative()

        def sample(self, s):
            super().sample(s)
            if s.ssthresh == INFINITE:
                self.conservative.sample(s)

        def ack(self, s):
            arrived = s.acked
            if s.ssthresh == INFINITE and s.limited:
                s.acked = self.conservative.counted(arrived)
            super().ack(s)
            s.acked = arrived

    return HyStartPlusPlus


class Search:
    """draft-chung-ccwg-search, 3.1: cumulative deliveries at the ends of bins, in real numbers."""

    bin_us = None

    def begin(self, s):
        self.end_us = s.now + self.bin_us
        self.sums = [s.delivered]

    def between(self, back):
        """Segments delivered until so many bins before the last one ended."""
        whole = floor(back)
        late, early = self.sums[-1 - whole], self.sums[-2 - whole]
        return late - (back - whole) * (late - early)

    def sample(self, s):
        if self.bin_us is None:
            self.bin_us = s.rtt * 35 // 100
            self.begin(s)
        if s.now < self.end_us:
            return
        missed = (s.now - self.end_us) // self.bin_us
        if missed > 10 or not s.limited:
            self.begin(s)
            return
        self.sums += [self.sums[-1]] * missed + [s.delivered]
        self.sums = self.sums[-26:]
        self.end_us += (missed + 1) * self.bin_us
        lag = Fraction(s.rtt, self.bin_us)
        if floor(lag) + 11 >= len(self.sums):
            return
        current = self.sums[-1] - self.sums[-11]
        before = self.between(lag) - self.between(lag + 10)
        if before and 1 - Fraction(current) / (2 * before) >= Fraction(35, 100):
            s.ssthresh = s.cwnd


def with_search(model):
    class Searching(model):
        """In the first slow start."""

        def start(self, s):
            super().start(s)
            self.search = Search()

        def sample(self, s):
            super().sample(s)
            if s.ssthresh == INFINITE:
                self.search.sample(s)

    return Searching


def path(bdp, windows, rtt_ms=100, **more):
    """ACKs of a window that doubles until so many segments are delivered in an RTT, and no more then."""
    steps = []
    for window in windows:
        gap_us = max(rtt_ms * 1000 // window, rtt_ms * 1000 // bdp)
        queue_ms = max(window - bdp, 0) * rtt_ms / bdp
        steps.append(acks(window, gap_us=gap_us, rtt_ms=rtt_ms + queue_ms, **more))
    return steps


def searches(model, tolerance=0, **params):
    """Cases for `slow_start = search`."""
    found = with_search(model)
    doubled = [20 * 2**i for i in range(8)]
    return [
        case(
            "SEARCH: the path is full",
            found,
            at(20),
            *path(160, doubled),
            tolerance=tolerance,
            slow_start="search",
            **params,
        ),
        case(
            "SEARCH: not while the window doubles, nor after a pause, until it is full",
            found,
            at(20),
            *path(100_000, doubled),
            acks(1, gap_us=2_000_000),
            acks(20, limited=False),
            *path(5000, [2560, 5120, 10240, 10240, 10240]),
            tolerance=tolerance,
            slow_start="search",
            **params,
        ),
        case(
            "SEARCH: in bins of more than 65,535 segments",
            found,
            at(1000),
            *[acks(200, acked=5 * 2**i, gap_us=500) for i in range(12)],
            *[acks(200, acked=5 * 2**11, gap_us=500)] * 4,
            tolerance=tolerance,
            slow_start="search",
            **params,
        ),
        case(
            "SEARCH: a loss ends it",
            found,
            at(20),
            *path(100_000, doubled[:5]),
            LOST,
            *path(1000, [320] * 4),
            tolerance=tolerance,
            slow_start="search",
            **params,
        ),
    ]


def ends_slow_start(model, tolerance=1, **params):
    """Cases for `slow_start` of an algorithm."""
    hystart, plusplus = with_hystart(model), with_hystartpp(model)
    return [
        case(
            "HyStart: the ACK train is as long as half of the RTT",
            hystart,
            at(10),
            acks(10, gap_us=100),
            acks(1, gap_us=90_000),
            *[acks(100, gap_us=1000)] * 3,
            tolerance=tolerance,
            slow_start="hystart",
            **params,
        ),
        case(
            "HyStart: the delay grows, and again after a timeout",
            hystart,
            at(20),
            acks(30, gap_us=5000),
            acks(60, gap_us=2100, rtt_ms=110),
            acks(120, gap_us=2100, rtt_ms=113),
            acks(200, gap_us=2100, rtt_ms=115),
            TIMEOUT,
            *[acks(20, gap_us=1000)] * 10,
            tolerance=tolerance,
            slow_start="hystart",
            **params,
        ),
        case(
            "HyStart++: conservative slow start, then avoidance",
            plusplus,
            at(20),
            *QUEUE,
            acks(160, rtt_ms=120),
            *[acks(200, rtt_ms=125)] * 10,
            tolerance=tolerance,
            slow_start="hystartpp",
            **params,
        ),
        case(
            "HyStart++: back to slow start when the delay falls; an ACK counts eight segments",
            plusplus,
            at(20),
            *QUEUE,
            acks(100, rtt_ms=120),
            acks(400, rtt_ms=104),
            acks(10, acked=12, rtt_ms=104),
            tolerance=tolerance,
            slow_start="hystartpp",
            **params,
        ),
    ]
