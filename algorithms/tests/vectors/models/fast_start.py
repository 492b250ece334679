"""TCP Fast Start."""

from models.reno import Reno
from stack import LOST, TIMEOUT, acks, at, case

IDLE, BEGIN = {"event": "cwnd_restart"}, {"event": "tx_start"}
LOWERED = {"cwnd": 4}


class FastStart(Reno):
    """Reno; after an idle time the window that got through last, and what a loss then does."""

    kept = outstanding = None
    after = None

    def start(self, s):
        self.initial = s.cwnd

    def event(self, s, event):
        if event == "cwnd_restart":
            self.kept = s.cwnd, s.ssthresh
        elif self.kept and self.kept[0] > 1:
            cwnd, s.ssthresh = self.kept
            s.cwnd = cwnd // 2 if cwnd < s.ssthresh else cwnd - 1
            self.outstanding, self.kept = s.cwnd, None

    def ack(self, s):
        if self.outstanding:
            self.outstanding = max(self.outstanding - s.acked, 0)
        super().ack(s)

    def loss(self, s, timeout):
        half = super().loss(s, timeout)
        began, self.outstanding = self.outstanding, None
        if not began:
            return half
        if timeout:
            return s.ssthresh
        self.after = s.ssthresh
        return min(self.initial, s.cwnd)

    def repaired(self, s):
        s.ssthresh, self.after = self.after or s.ssthresh, None


CASES = [
    case(
        "a greedy flow is Reno", FastStart, at(2, 64), acks(62), acks(200), LOST, acks(100), TIMEOUT, acks(40)
    ),
    case(
        "half of slow start's window",
        FastStart,
        at(4, 100),
        acks(60),
        IDLE,
        LOWERED,
        BEGIN,
        acks(10),
        acks(100),
    ),
    case(
        "avoidance's window less one",
        FastStart,
        at(4, 32),
        acks(100),
        IDLE,
        LOWERED,
        BEGIN,
        acks(100),
    ),
    case(
        "a loss of what was sent at once: the initial window, ssthresh as it was",
        FastStart,
        at(4, 40),
        acks(100),
        IDLE,
        LOWERED,
        BEGIN,
        acks(20),
        LOST,
        acks(36),
        acks(60),
    ),
    case(
        "a later loss is Reno's",
        FastStart,
        at(4, 40),
        acks(100),
        IDLE,
        LOWERED,
        BEGIN,
        acks(80),
        LOST,
        acks(60),
    ),
    case("a timeout", FastStart, at(4, 40), acks(100), IDLE, LOWERED, BEGIN, acks(3), TIMEOUT, acks(60)),
    case("no idle time, nothing to restore", FastStart, at(4, 40), acks(30), BEGIN, acks(30)),
]
