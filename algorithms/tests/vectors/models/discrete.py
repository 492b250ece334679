"""Discrete TCP."""

from decimal import Decimal

from models.reno import Reno, RenoReal
from slow_start import ends_slow_start
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


class DiscreteReal(RenoReal):
    """This model with ns-2's real cwnd."""

    def part(self, s):
        if self.p.get("cut") == "raw":
            return Decimal("0.75") * (s.cwnd + self.rest)
        share = Decimal("0.5" if s.cwnd < s.ssthresh else "0.75")
        return share * min(s.cwnd + self.rest, s.snd_wnd)

    def loss(self, s, timeout):
        half = max(min(s.cwnd, s.snd_wnd) // 2, 2)
        whole = super().loss(s, timeout)
        return half if timeout else whole


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
    case(
        "ns2-agent: fractions are kept",
        DiscreteReal,
        at(30, 40),
        acks(5),
        LOST,
        acks(100),
        LOST,
        acks(100),
        TIMEOUT,
        acks(80),
        variant="ns2-agent",
    ),
    case(
        "ns2-agent, raw: cwnd and its fraction",
        DiscreteReal,
        avoiding(50),
        acks(300, snd_wnd=50),
        LOST,
        acks(60, snd_wnd=50),
        LOST,
        variant="ns2-agent",
        cut="raw",
    ),
    *ends_slow_start(Discrete),
]
