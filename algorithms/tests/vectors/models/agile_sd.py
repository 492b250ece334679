"""Agile-SD."""

import math
from fractions import Fraction
from functools import cache

from slow_start import ends_slow_start
from stack import Model, acks, LOST, TIMEOUT, UNDO, case, at, avoiding


def largest_agility(params):
    """lambda_max; auto is bisected from its equation, of which 3 at beta = 0.9 is a solution."""
    if params.get("lambda_max") != "auto":
        return Fraction(params.get("lambda_max", 3))
    kept = (1 - float(params.get("beta", 0.9))) / (1 - 0.9)
    low, high = 1.0, 1000.0
    for _ in range(100):
        middle = (low + high) / 2
        less = kept * (1 + math.log(middle)) / middle > (1 + math.log(3)) / 3
        low, high = (middle, high) if less else (low, middle)
    return Fraction(round(low, 12))


@cache
def agile_sd_growth(top, bottom, lost, left, cwnd, slow):
    agility = top * max(lost - cwnd, 0) / max(lost - left, 1)
    agility = Fraction(math.floor(1000 * max(min(agility, top), bottom)), 1000)
    if slow:
        return min(Fraction(math.floor(1000 * agility / cwnd), 10_000), 1)
    return min(agility / cwnd, 1)


class AgileSd(Model):
    """The rule of the authors' module, with lambda in thousandths; of the slow build also growth, rounded down."""

    lost = left = 0
    carry = Fraction(0)

    def avoid(self, s, acked):
        top, bottom = largest_agility(self.p), Fraction(self.p.get("lambda_min", 1))
        slow = self.p.get("build") == "slow"
        self.carry += acked * agile_sd_growth(top, bottom, self.lost, self.left, s.cwnd, slow)
        s.cwnd += math.floor(self.carry)
        self.carry %= 1

    def loss(self, s, timeout):
        self.lost = s.cwnd
        self.left = max(math.floor(s.cwnd * Fraction(self.p.get("beta", "0.9"))), 2)
        self.carry = Fraction(0)
        return self.left

    def undo(self, s):
        return max(s.cwnd, self.lost)


CASES = [
    case("Reno before the first loss", AgileSd, avoiding(100), acks(99), acks(1), acks(1), acks(101)),
    case("three times Reno after it, less and less", AgileSd, at(100), acks(900), LOST, *[acks(900)] * 25),
    case(
        "the fraction is lost at a cut", AgileSd, avoiding(100), acks(99), LOST, acks(16), acks(14), acks(1)
    ),
    case("a timeout keeps the marks", AgileSd, avoiding(500), acks(10), TIMEOUT, acks(460), acks(2000)),
    case(
        "parameters",
        AgileSd,
        avoiding(500),
        acks(10),
        LOST,
        *[acks(500)] * 12,
        beta="0.75",
        lambda_max="5",
        lambda_min="0.5",
    ),
    case("a spurious loss is taken back", AgileSd, avoiding(500), acks(10), LOST, acks(20), UNDO),
    case(
        "auto at the authors' beta is their 3",
        AgileSd,
        at(100),
        acks(900),
        LOST,
        *[acks(900)] * 25,
        lambda_max="auto",
    ),
    case(
        "auto: larger at a smaller beta",
        AgileSd,
        avoiding(400),
        LOST,
        *[acks(300)] * 25,
        LOST,
        *[acks(300)] * 25,
        tolerance=1,
        beta="0.5",
        lambda_max="auto",
    ),
    case(
        "auto at beta 0.75",
        AgileSd,
        avoiding(400),
        LOST,
        *[acks(400)] * 25,
        tolerance=1,
        beta="0.75",
        lambda_max="auto",
    ),
    case(
        "auto: Reno where beta leaves less to win back than Reno wins back in the time",
        AgileSd,
        avoiding(400),
        LOST,
        *[acks(400)] * 25,
        beta="0.95",
        lambda_max="auto",
    ),
    case("slow: exactly zero above 3000", AgileSd, avoiding(3400), LOST, acks(20000), build="slow"),
    case("slow: Fig. 8d, 458 to 504", AgileSd, avoiding(509), LOST, *[acks(2000)] * 40, build="slow"),
    case("slow: Fig. 8d, 803 to 852", AgileSd, avoiding(893), LOST, *[acks(4000)] * 40, build="slow"),
    *ends_slow_start(AgileSd),
]
