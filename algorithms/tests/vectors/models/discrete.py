"""Discrete TCP."""

from models.reno import Reno
from stack import acks, LOST, TIMEOUT, case, at, avoiding


class Discrete(Reno):
    """The paper's Fig. 1."""

    def ack(self, s):
        if self.p.get("cut") == "raw":
            s.limited = True
        super().ack(s)

    def loss(self, s, timeout):
        self.credit = 0
        window = min(s.cwnd, s.snd_wnd)
        if timeout:
            return max(window // 2, 2)
        if self.p.get("cut") == "raw":
            return max(s.cwnd * 3 // 4, 2)
        return max(window // 2 if s.cwnd < s.ssthresh else window * 3 // 4, 2)


CASES = [
    case("a half in slow start", Discrete, at(40), acks(10), LOST),
    case("three quarters in avoidance", Discrete, avoiding(40), acks(41), LOST, acks(31), LOST),
    case(
        "a half after a timeout, and the next loss is no timeout",
        Discrete,
        avoiding(40),
        acks(1),
        TIMEOUT,
        acks(30),
        LOST,
    ),
    case(
        "of the window in use, not of cwnd",
        Discrete,
        avoiding(100),
        acks(1, snd_wnd=50),
        LOST,
        {"cwnd": 100},
        acks(1, snd_wnd=50),
        TIMEOUT,
    ),
    case("nothing grows while the sender is not held back", Discrete, avoiding(50), acks(500, limited=False)),
    case(
        "raw: three quarters of cwnd in any state, but for a timeout",
        Discrete,
        at(40),
        acks(1, snd_wnd=50),
        LOST,
        {"cwnd": 100},
        acks(1, snd_wnd=50),
        LOST,
        {"cwnd": 100},
        acks(1, snd_wnd=50),
        TIMEOUT,
        cut="raw",
    ),
    case(
        "raw: cwnd grows past what limits the sender",
        Discrete,
        avoiding(50),
        acks(500, limited=False),
        cut="raw",
    ),
]
