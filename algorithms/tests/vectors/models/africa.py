"""TCP-Africa."""

from math import floor

from models.highspeed import HighSpeed
from stack import LOST, TIMEOUT, UNDO, Model, acks, at, avoiding, case


class Africa(HighSpeed):
    """RFC 3649's growth on an empty queue, Reno's otherwise; RFC 3649's loss, or each mode's own."""

    part = 0.0

    def start(self, s):
        self.params, self.p = self.p, {}
        super().start(s)

    def ack(self, s):
        Model.ack(self, s)

    def is_fast(self, s):
        waiting = s.cwnd * (s.rtt - s.min_rtt) / s.rtt if s.rtt else float("inf")
        return waiting < float(self.params.get("alpha", 1))

    def loss(self, s, timeout):
        if self.params.get("slow_loss") == "half" and not self.is_fast(s):
            return max(s.cwnd // 2, 2)
        return super().loss(s, timeout)

    def avoid(self, s, acked):
        if self.is_fast(s) and s.cwnd > self.low:
            self.part += acked * min(self.a(s.cwnd) / s.cwnd, 1)
            s.cwnd, self.part = s.cwnd + floor(self.part), self.part % 1
        else:
            grown, self.credit = divmod(self.credit + acked, s.cwnd)
            s.cwnd += grown


def path(rounds, segments, queue_ms, **more):
    return [acks(segments, rtt_ms=100 + queue_ms, gap_us=100, **more)] * rounds


CASES = [
    case("an empty queue: HighSpeed TCP", Africa, avoiding(600), *path(8, 600, 0), tolerance=1),
    case("a queue: Reno", Africa, avoiding(600), *path(1, 1, 0), *path(4, 601, 1), tolerance=1),
    case(
        "just below one queued segment, and just above",
        Africa,
        avoiding(1000),
        *path(1, 1, 0),
        *path(2, 1000, 0.09),
        *path(2, 1000, 0.11),
        *path(2, 1000, 0.05),
        tolerance=1,
    ),
    case(
        "alpha: how many queued segments end fast mode",
        Africa,
        avoiding(1000),
        *path(1, 1, 0),
        *path(2, 1000, 0.35),
        *path(2, 1000, 0.45),
        tolerance=1,
        alpha="4",
    ),
    case(
        "loss: HighSpeed TCP's part in both modes",
        Africa,
        avoiding(5000),
        *path(1, 5, 0),
        LOST,
        *path(2, 2000, 0),
        *path(1, 5, 50),
        LOST,
        *path(2, 2000, 50),
        tolerance=1,
    ),
    case(
        "slow_loss = half: HighSpeed TCP's part on an empty queue, a half on a queue",
        Africa,
        avoiding(5000),
        *path(1, 5, 0),
        LOST,
        *path(2, 2000, 0),
        *path(1, 200, 50),
        LOST,
        *path(2, 2000, 50),
        TIMEOUT,
        tolerance=1,
        slow_loss="half",
    ),
    case(
        "alpha = 1.5: a part of a segment counts",
        Africa,
        avoiding(1000),
        *path(1, 1, 0),
        *path(2, 1000, 0.14),
        *path(2, 1000, 0.17),
        tolerance=1,
        alpha="1.5",
    ),
    case("up to Low_Window it is Reno", Africa, avoiding(20), *path(1, 500, 0), LOST, tolerance=1),
    case(
        "slow start, timeout, undo",
        Africa,
        at(10, 300),
        *path(1, 290, 50),
        *path(2, 300, 0),
        TIMEOUT,
        *path(2, 300, 0),
        UNDO,
        *path(2, 300, 0),
        tolerance=1,
    ),
    case("no sample: slow mode", Africa, avoiding(300), acks(301, rtt_ms=0), acks(302, rtt_ms=0)),
    case("delayed ACKs", Africa, avoiding(2000), *path(4, 1000, 0, acked=2), tolerance=1),
    case(
        "a huge window",
        Africa,
        avoiding(2**30),
        *path(1, 20, 0, acked=10**6),
        *path(1, 20, 1, acked=10**6),
        tolerance=400,
    ),
    case(
        "nothing grows while the application is the limit",
        Africa,
        avoiding(600),
        *path(2, 600, 0, limited=False),
        *path(1, 600, 0),
        tolerance=1,
    ),
]
