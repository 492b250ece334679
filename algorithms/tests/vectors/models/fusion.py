"""TCP-Fusion."""

import math

from bandwidth import Bandwidth
from stack import LOST, TIMEOUT, UNDO, Model, acks, at, avoiding, case

SEGMENT_BITS = 1448 * 8


class Fusion(Model):
    """The rules in real numbers, with the number of queued segments in them."""

    part = 0.0

    def number(self, name, default):
        return float(self.p.get(name, default))

    def start(self, s):
        self.bandwidth, self.reno = Bandwidth(s), s.cwnd

    def sample(self, s):
        self.bandwidth.sample(s)

    def ack(self, s):
        if s.limited and s.cwnd < s.ssthresh:
            self.reno = min(s.cwnd + s.acked, s.ssthresh)
        super().ack(s)

    def avoid(self, s, acked):
        window = s.cwnd + self.part
        self.reno = min(self.reno, window) + acked / s.cwnd
        diff = s.cwnd * (s.rtt - s.min_rtt) / s.rtt
        alpha = s.cwnd * self.number("dmin_ms", 4) * 1000 / s.rtt
        if diff < alpha:
            growth = self.bandwidth.estimate * SEGMENT_BITS / (self.number("step_mbps", 12) * 1e6)
            window += acked * min(growth / s.cwnd, 1)
        elif diff > self.number("upper", 3) * alpha:
            window -= acked * (diff - alpha) / s.cwnd
        window = max(window, self.reno, 1)
        s.cwnd, self.part = math.floor(window), window % 1

    def loss(self, s, timeout):
        self.reno /= 2
        left = math.floor(s.cwnd * s.min_rtt / s.rtt) if s.rtt else 0
        return max(left, s.cwnd // 2, 2)


def path(rounds, segments, queue_ms, **more):
    return [acks(segments, rtt_ms=100 + queue_ms, gap_us=more.pop("gap_us", 20), **more)] * rounds


CASES = [
    case(
        "an empty queue: a segment per RTT for each 12 Mbit/s",
        Fusion,
        avoiding(600),
        *path(10, 600, 0),
        tolerance=1,
    ),
    case("a slow path: Reno", Fusion, avoiding(100), *path(6, 200, 0, gap_us=4000), tolerance=1),
    case(
        "between one and three times Dmin: Reno's window is all that grows",
        Fusion,
        avoiding(600),
        *path(6, 600, 0),
        *path(6, 600, 8),
        tolerance=1,
    ),
    case(
        "above three times Dmin: down, to Reno's window",
        Fusion,
        avoiding(600),
        *path(6, 600, 0),
        *path(10, 700, 40),
        tolerance=1,
    ),
    case(
        "loss: what was not in the queue, or half",
        Fusion,
        avoiding(600),
        *path(3, 600, 0),
        *path(1, 1, 30),
        LOST,
        *path(3, 600, 2),
        *path(1, 1, 300),
        LOST,
        *path(3, 400, 0),
        tolerance=1,
    ),
    case(
        "loss on an empty queue", Fusion, avoiding(600), *path(1, 5, 0), LOST, *path(2, 600, 0), tolerance=1
    ),
    case("loss before any sample: half", Fusion, avoiding(600), LOST),
    case(
        "slow start, timeout, undo",
        Fusion,
        at(10, 200),
        *path(1, 190, 0),
        *path(3, 200, 1),
        TIMEOUT,
        *path(4, 100, 1),
        TIMEOUT,
        UNDO,
        *path(2, 200, 1),
        tolerance=1,
    ),
    case(
        "Reno's window goes on from half of its own",
        Fusion,
        avoiding(600),
        *path(10, 600, 0),
        *path(1, 1, 50),
        LOST,
        *path(20, 600, 50),
        tolerance=1,
    ),
    case(
        "parameters",
        Fusion,
        avoiding(600),
        *path(4, 600, 0),
        *path(4, 600, 9),
        *path(4, 600, 21),
        tolerance=1,
        dmin_ms="10",
        upper="2",
        step_mbps="40",
    ),
    case("delayed ACKs", Fusion, avoiding(600), *path(8, 300, 1, acked=2), tolerance=1),
    case(
        "small windows: no faster than slow start",
        Fusion,
        avoiding(3),
        *path(1, 60, 0, gap_us=1),
        tolerance=1,
    ),
    case(
        "a huge window",
        Fusion,
        avoiding(2**31 - 10**8),
        *path(1, 100, 0, acked=10**7, gap_us=10**5),
        *path(1, 400, 0, acked=10**7, gap_us=10**5),
        *path(1, 100, 50, acked=10**7, gap_us=10**5),
        tolerance=100,
    ),
    case(
        "nothing changes while the application is the limit",
        Fusion,
        avoiding(600),
        *path(2, 600, 0, limited=False),
        *path(2, 600, 50, limited=False),
        *path(2, 600, 0),
        tolerance=1,
    ),
]
