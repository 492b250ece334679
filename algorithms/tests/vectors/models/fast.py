"""FAST TCP."""

import math

from stack import LOST, TIMEOUT, Model, Rounds, acks, at, avoiding, case


class Fast(Model):
    """The window equation in real numbers, reached within an RTT if it is a larger window."""

    average = 0.0
    part = 0.0
    ramp = 0.0

    def number(self, name, default):
        return float(self.p.get(name, default))

    def start(self, s):
        self.rounds, self.updated = Rounds(), s.now
        self.then = self.before = s.cwnd

    def sample(self, s):
        eta = min(3 / s.cwnd, 1 / 4)
        self.average = (1 - eta) * self.average + eta * s.rtt if self.average else s.rtt

    def ack(self, s):
        over = self.rounds.over(s)
        if over:
            self.before = self.then
        if s.limited:
            self.move(s, over)
        if over:
            self.then = s.cwnd

    def move(self, s, over):
        if s.cwnd < s.ssthresh and self.average - s.min_rtt < self.number("mi_threshold_ms", 0.75) * 1000:
            self.ramp = 0
            s.cwnd = min(s.cwnd + s.acked, s.ssthresh)
            return
        period = self.number("update_ms", 0) * 1000
        if s.now - self.updated >= period if period else over:
            self.updated = s.now
            gamma, window = self.number("gamma", 0.5), s.cwnd + self.part
            target = (s.min_rtt / self.average if self.average else 1) * self.before + self.number(
                "alpha", 100
            )
            target = min((1 - gamma) * window + gamma * target, window + s.cwnd)
            self.ramp = max(target - window, 0) / s.cwnd
            if target < window:
                s.cwnd = max(math.floor(target), 1)
                self.part = target % 1
        whole = s.cwnd + self.part + s.acked * self.ramp
        s.cwnd, self.part = math.floor(whole), whole % 1

    def loss(self, s, timeout):
        self.rounds.mark, self.ramp = s.delivered, 0
        self.then = max(s.cwnd // 2, 2)
        return self.then


def path(rounds, segments, queue_ms, **more):
    return [acks(segments, rtt_ms=100 + queue_ms, gap_us=100, **more)] * rounds


CASES = [
    case("an empty queue: twice the window per RTT", Fast, at(2), acks(200), acks(300, acked=2)),
    case(
        "a short queue: growth towards alpha segments",
        Fast,
        avoiding(500),
        *path(1, 5, 0),
        *path(12, 600, 5),
        tolerance=1,
    ),
    case(
        "just alpha segments wait: rest",
        Fast,
        avoiding(1100),
        *path(1, 1, 0),
        *path(8, 1100, 10),
        tolerance=1,
    ),
    case(
        "a long queue: at once down", Fast, avoiding(2000), *path(1, 5, 0), *path(12, 1500, 40), tolerance=1
    ),
    case(
        "the queue builds and drains",
        Fast,
        at(10),
        acks(990),
        *[acks(1000, rtt_ms=100 + q, gap_us=100) for q in (0.5, 1, 2, 5, 10, 20, 15, 10, 5, 0.2, 0.2, 0.2)],
        tolerance=1,
    ),
    case(
        "loss: half, then on from there",
        Fast,
        avoiding(1500),
        *path(1, 5, 0),
        *path(3, 1500, 8),
        LOST,
        *path(5, 800, 4),
        LOST,
        LOST,
        *path(2, 800, 4),
        tolerance=1,
    ),
    case(
        "timeout: twice the window per RTT, on a full queue too",
        Fast,
        avoiding(300),
        *path(1, 5, 0),
        *path(2, 300, 30),
        TIMEOUT,
        *path(8, 60, 30),
        tolerance=1,
    ),
    case("no sample: as on an empty queue", Fast, at(10), acks(20, rtt_ms=0), acks(5, rtt_ms=0, acked=3)),
    case("above ssthresh an empty queue is worth alpha", Fast, at(20, 40), *path(8, 100, 0), tolerance=1),
    case("no sample above ssthresh", Fast, avoiding(40), acks(90, rtt_ms=0), tolerance=1),
    case(
        "parameters",
        Fast,
        avoiding(400),
        *path(1, 5, 0),
        *path(6, 500, 3),
        *path(6, 500, 30),
        tolerance=1,
        alpha="20",
        gamma="0.25",
    ),
    case(
        "mi_threshold: what counts as an empty queue",
        Fast,
        at(100),
        *path(1, 5, 0),
        *path(4, 100, 3),
        *path(6, 500, 5),
        tolerance=1,
        mi_threshold_ms="4",
    ),
    case(
        "updates by the clock",
        Fast,
        avoiding(400),
        *path(1, 5, 0),
        *path(6, 500, 5),
        *path(6, 500, 50),
        tolerance=1,
        update_ms="10",
    ),
    case(
        "a huge window",
        Fast,
        avoiding(2**31 - 10**8),
        acks(1, rtt_ms=600),
        acks(5, rtt_ms=500, acked=10**6),
        acks(500, rtt_ms=500, acked=10**7),
        tolerance=200,
        alpha="1000000",
    ),
    case("delayed ACKs", Fast, avoiding(600), *path(1, 5, 0), *path(8, 300, 6, acked=2), tolerance=1),
    case(
        "nothing changes while the application is the limit",
        Fast,
        avoiding(600),
        *path(1, 5, 0, limited=False),
        *path(3, 600, 50, limited=False),
        *path(3, 600, 50),
        tolerance=1,
    ),
]
