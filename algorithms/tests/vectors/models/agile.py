"""Agile-TCP."""

import math
from decimal import Decimal

from models.agile_sd import largest_agility
from slow_start import ends_slow_start
from stack import DISORDER, LOST, TIMEOUT, UNDO, Model, acks, at, avoiding, case


class Agile(Model):
    """Agile-SD's lambda and Elastic-TCP's WWF in real numbers, and how they are combined."""

    carry = Decimal(0)
    rtt = rtt_max = lost = left = 0

    def number(self, name, default):
        return Decimal(self.p.get(name, default))

    def sample(self, s):
        if s.state <= DISORDER:
            self.rtt, self.rtt_max = s.rtt, max(self.rtt_max, s.rtt)

    def avoid(self, s, acked):
        top, bottom = Decimal(float(largest_agility(self.p))), self.number("lambda_min", 1)
        agility = top * max(self.lost - s.cwnd, 0) / max(self.lost - self.left, 1)
        agility = max(min(agility, top), bottom)
        wwf = (Decimal(max(self.rtt_max, 1)) / max(self.rtt, 1) * s.cwnd).sqrt()
        varies = self.rtt_max > s.min_rtt * (1 + self.number("epsilon", "0.05"))
        growth = {"max": max(wwf, agility), "sum": wwf + agility, "switch": wwf if varies else agility}
        self.carry += acked * min(growth[self.p.get("combine", "sum")] / s.cwnd, Decimal(1))
        s.cwnd += math.floor(self.carry)
        self.carry %= 1

    def loss(self, s, timeout):
        self.lost, self.left = s.cwnd, max(math.floor(s.cwnd * self.number("beta", "0.9")), 2)
        return self.left


# A path on which the RTT varies, and one on which it hardly does.
LONG = (acks(1, rtt_ms=400), *[acks(300)] * 4, LOST, *[acks(300)] * 8)
SHORT = (acks(1, rtt_ms=104.9), *[acks(300)] * 4, LOST, *[acks(300)] * 8)

CASES = [
    case("the sum of both", Agile, avoiding(300), *LONG, tolerance=1),
    case("a long path: Elastic-TCP's growth", Agile, avoiding(300), *LONG, tolerance=1, combine="switch"),
    case("a short one: Agile-SD's", Agile, avoiding(300), *SHORT, tolerance=1, combine="switch"),
    case("the larger of both", Agile, avoiding(300), *LONG, tolerance=1, combine="max"),
    case(
        "the larger of both is lambda after a loss of a huge agility",
        Agile,
        avoiding(300),
        *SHORT,
        tolerance=1,
        combine="max",
        lambda_max="40",
    ),
    case(
        "epsilon: how much the RTT must vary",
        Agile,
        avoiding(300),
        acks(1, rtt_ms=149),
        *[acks(300)] * 3,
        acks(1, rtt_ms=151),
        *[acks(300)] * 3,
        tolerance=1,
        combine="switch",
        epsilon="0.5",
    ),
    case(
        "parameters",
        Agile,
        avoiding(300),
        *SHORT,
        *[acks(300)] * 6,
        tolerance=1,
        beta="0.75",
        lambda_max="5",
        lambda_min="0.5",
    ),
    case(
        "auto: from beta, as in Agile-SD",
        Agile,
        avoiding(300),
        *SHORT,
        *[acks(300)] * 6,
        tolerance=1,
        combine="switch",
        beta="0.6",
        lambda_max="auto",
    ),
    case(
        "slow start, timeout: marks and RTTmax stay",
        Agile,
        at(20, 100),
        acks(79, rtt_ms=200),
        acks(300),
        TIMEOUT,
        acks(200),
        acks(300),
        tolerance=1,
    ),
    case(
        "delayed ACKs, and one of many segments",
        Agile,
        avoiding(300),
        acks(1, rtt_ms=300),
        acks(300, acked=2),
        acks(1, acked=250),
        tolerance=1,
    ),
    case(
        "small windows: no faster than slow start",
        Agile,
        avoiding(2),
        acks(1, rtt_ms=1000),
        acks(20, rtt_ms=0.1),
        tolerance=1,
        combine="sum",
    ),
    case(
        "a huge window",
        Agile,
        avoiding(2**31 - 10**6),
        acks(1, rtt_ms=600000),
        acks(500, rtt_ms=0.001, acked=1000),
        tolerance=2,
        combine="sum",
    ),
    case(
        "samples of the repair do not count",
        Agile,
        avoiding(300),
        acks(300),
        acks(20, rtt_ms=5000, state="recovery"),
        acks(600),
        tolerance=1,
    ),
    case(
        "nothing grows while the application is the limit; undo",
        Agile,
        avoiding(300),
        acks(900, limited=False),
        LOST,
        acks(300),
        UNDO,
        acks(300),
        tolerance=1,
    ),
    *ends_slow_start(Agile),
]
