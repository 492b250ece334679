"""TCP Adaptive Reno."""

import math

from bandwidth import Bandwidth
from stack import LOST, TIMEOUT, UNDO, Model, acks, at, avoiding, case


class AdaptiveReno(Model):
    """The equations in real numbers."""

    base = probe = congested = 0.0

    def number(self, name, default):
        return float(self.p.get(name, default))

    def start(self, s):
        self.bandwidth = Bandwidth(s)

    def sample(self, s):
        self.bandwidth.sample(s)

    def level(self, s):
        queue, room = s.rtt - s.min_rtt, max(self.congested - s.min_rtt, 0)
        return min(queue / room, 1) if room else float(queue > 0)

    def avoid(self, s, acked):
        if math.floor(self.base + self.probe) != s.cwnd:
            self.base, self.probe = s.cwnd, 0
        alpha, c = self.number("alpha", 10), self.level(s)
        most = self.bandwidth.estimate / self.number("m", 1000)
        beta = 2 * most * (1 / alpha - (1 / alpha + 1) / math.exp(alpha))
        gamma = 1 - 2 * most * (1 / alpha - (1 / alpha + 1 / 2) / math.exp(alpha))
        increase = most / math.exp(alpha * c) + beta * c + gamma
        increase = min(max(increase, -s.cwnd), s.cwnd - 1)
        self.base += acked / s.cwnd
        self.probe = max(self.probe + acked * increase / s.cwnd, 0)
        s.cwnd = math.floor(self.base + self.probe)

    def loss(self, s, timeout):
        self.base, self.probe = max(math.floor(s.cwnd / (1 + self.level(s))), 2), 0
        past = self.number("a", 0.85)
        self.congested = past * self.congested + (1 - past) * s.rtt if self.congested else s.rtt
        return self.base


def path(rounds, segments, queue_ms, gap_us=20, **more):
    return [acks(segments, rtt_ms=100 + queue_ms, gap_us=gap_us, **more)] * rounds


# A loss where 20 ms of queue are.
SEEN = (*path(3, 600, 0), *path(1, 10, 20), LOST)

CASES = [
    case(
        "an empty queue: 0.8 B / M and two segments per RTT", AdaptiveReno, avoiding(600), *path(10, 700, 0)
    ),
    case(
        "the growth at any queue, and past the one of the loss",
        AdaptiveReno,
        avoiding(600),
        *SEEN,
        *[step for queue in (1, 2, 4, 7, 10, 14, 18, 20, 25) for step in path(1, 600, queue)],
    ),
    case("before the first loss: Reno twice", AdaptiveReno, avoiding(600), *path(1, 5, 0), *path(5, 600, 1)),
    case(
        "loss: half where losses are, less where they are not",
        AdaptiveReno,
        avoiding(600),
        *SEEN,
        *path(1, 10, 10),
        LOST,
        *path(1, 10, 5),
        LOST,
        *path(1, 10, 0),
        LOST,
        *path(1, 10, 30),
        LOST,
    ),
    case("loss before any sample", AdaptiveReno, avoiding(600), LOST, *path(2, 600, 0)),
    case(
        "the probe is drained before the queue is full",
        AdaptiveReno,
        avoiding(600),
        *SEEN,
        *path(6, 600, 0),
        *path(10, 600, 12),
        *path(6, 600, 0),
    ),
    case(
        "slow start, timeout, undo, a window that the stack sets",
        AdaptiveReno,
        at(10, 200),
        *path(1, 190, 0),
        *path(3, 200, 0),
        TIMEOUT,
        *path(3, 200, 1),
        UNDO,
        *path(2, 200, 0),
        {"cwnd": 100},
        *path(2, 200, 0),
    ),
    case(
        "parameters",
        AdaptiveReno,
        avoiding(600),
        *SEEN,
        *path(3, 600, 3),
        *path(1, 10, 8),
        LOST,
        *path(3, 600, 3),
        *path(3, 600, 8),
        alpha="3",
        a="0.5",
        m="200",
    ),
    case("alpha at its ends", AdaptiveReno, avoiding(600), *SEEN, *path(4, 600, 5), alpha="1"),
    case("alpha at the other end", AdaptiveReno, avoiding(600), *SEEN, *path(4, 600, 5), alpha="20"),
    case("delayed ACKs", AdaptiveReno, avoiding(600), *path(8, 300, 0, acked=2)),
    case("small windows: no faster than slow start", AdaptiveReno, avoiding(3), *path(1, 60, 0, gap_us=1)),
    case(
        "a huge window",
        AdaptiveReno,
        avoiding(2**31 - 10**8),
        *path(1, 100, 0, acked=10**7, gap_us=10**5),
        *path(1, 400, 0, acked=10**7, gap_us=10**5),
        *path(1, 10, 50, acked=10**7, gap_us=10**5),
        LOST,
        *path(1, 400, 20, acked=10**7, gap_us=10**5),
    ),
    case(
        "nothing grows while the application is the limit",
        AdaptiveReno,
        avoiding(600),
        *path(2, 600, 0, limited=False),
        *path(2, 600, 0),
    ),
]
CASES = [known | {"tolerance": 100 if known["name"] == "a huge window" else 1} for known in CASES]
