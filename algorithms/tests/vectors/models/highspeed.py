"""HighSpeed TCP and limited slow start."""

from bisect import bisect_left
from fractions import Fraction
from math import floor, log

from slow_start import ends_slow_start, searches
from stack import Model, acks, LOST, TIMEOUT, UNDO, case, at, avoiding


class Slow(Model):
    """Slow start, RFC 3742's if wanted."""

    credit = 0
    rest = Fraction(0)

    def slow_start(self, s, acked):
        """The segments left over."""
        largest = int(self.p.get("max_ssthresh", 100))
        if self.p.get("limited_slow_start") == "on" and s.cwnd > largest:
            k = int(s.cwnd / (largest / 2))
            if self.credit >= k:
                self.credit, s.cwnd = 0, s.cwnd + 1
            grown, self.credit = divmod(self.credit + acked, k)
            s.cwnd = min(s.cwnd + grown, s.ssthresh)
            return 0
        grown = min(acked, s.ssthresh - s.cwnd)
        s.cwnd += grown
        return acked - grown


class HighSpeed(Slow):
    """RFC 3649, section 5, in real numbers."""

    def start(self, s):
        p = self.p
        self.low, self.high = int(p.get("low_window", 38)), int(p.get("high_window", 83000))
        self.low_p, self.high_p = (int(p.get(n, d)) / 1e7 for n, d in (("low_p", 10000), ("high_p", 1)))
        self.high_b = float(p.get("high_decrease", 0.1))

    def b(self, w):
        if w <= self.low:
            return 0.5
        return max(0.5 + (self.high_b - 0.5) * log(w / self.low) / log(self.high / self.low), self.high_b)

    def a(self, w):
        if w <= self.low:
            return 1
        # The straight line on log-log paper through (low_p, low) and (high_p, high).
        slope = log(self.high_p / self.low_p) / log(self.high / self.low)
        rate = self.low_p * (w / self.low) ** slope
        return max(w * w * rate * 2 * self.b(w) / (2 - self.b(w)), 1)

    def ack(self, s):
        if not s.limited:
            return
        left = self.slow_start(s, s.acked) if s.cwnd < s.ssthresh else s.acked
        if not left:
            return
        if s.cwnd <= self.low:
            grown, self.credit = divmod(self.credit + left, s.cwnd)
            s.cwnd += grown
            return
        self.rest += Fraction(left * self.a(s.cwnd) / s.cwnd)
        s.cwnd, self.rest = s.cwnd + floor(self.rest), self.rest % 1

    def loss(self, s, timeout):
        self.credit = 0
        return max(floor(s.cwnd * (1 - self.b(s.cwnd))), 2)


# cwnd: what a loss takes, in 1/256. The index is a - 1.
TABLE = """
38:128 118:112 221:104 347:98 495:93 663:89 851:86 1058:83 1284:81 1529:78 1793:76 2076:74 2378:72 2699:71
3039:69 3399:68 3778:66 4177:65 4596:64 5036:62 5497:61 5979:60 6483:59 7009:58 7558:57 8130:56 8726:55
9346:54 9991:53 10661:52 11358:52 12082:51 12834:50 13614:49 14424:48 15265:48 16137:47 17042:46 17981:45
18955:45 19965:44 21013:43 22101:43 23230:42 24402:41 25618:41 26881:40 28193:39 29557:39 30975:38 32450:38
33986:37 35586:36 37253:36 38992:35 40808:35 42707:34 44694:33 46776:33 48961:32 51258:32 53677:31 56230:30
58932:30 61799:29 64851:28 68113:28 71617:27 75401:26 79517:26 84035:25 89053:24
"""
RANGES, DECREASES = zip(*(map(int, row.split(":")) for row in TABLE.split()))


class Linux(Slow):
    row = 0
    inclusive = False

    def ack(self, s):
        if not s.limited:
            return
        if s.cwnd < s.ssthresh:
            self.slow_start(s, 1 if self.inclusive else s.acked)
        elif self.inclusive and s.cwnd == s.ssthresh:
            s.cwnd += 1
        else:
            self.row = min(bisect_left(RANGES, s.cwnd), len(RANGES) - 1)
            self.credit += self.row + 1
            if self.credit >= s.cwnd:
                self.credit -= s.cwnd
                s.cwnd += 1

    def loss(self, s, timeout):
        self.credit = 0
        return max(s.cwnd - s.cwnd * DECREASES[self.row] // 256, 2)


class Ns2(Linux):
    inclusive = True


def common(model, **params):
    name = params.get("variant", "spec")
    tolerance = 1 if name == "spec" else 0

    def one(title, *steps):
        return case(f"{name}: {title}", model, *steps, tolerance=tolerance, **params)

    return [
        one("slow start into avoidance", at(2, 30), acks(28), *[acks(100)] * 8),
        one("up to Low_Window it is Reno", avoiding(10), *[acks(11)] * 8, LOST, acks(40), LOST, LOST, LOST),
        one(
            "growth by windows",
            avoiding(118),
            *(s for w in (118, 500, 3000, 20000) for s in ({"cwnd": w}, acks(2000), acks(1000))),
        ),
        one(
            "larger than the table",
            avoiding(83000),
            acks(2000),
            LOST,
            {"cwnd": 1_000_000},
            acks(3000),
            LOST,
            acks(1000),
            TIMEOUT,
        ),
        one(
            "losses by windows",
            avoiding(20),
            *(
                s
                for w in (20, 38, 39, 118, 119, 1000, 10000, 83000, 100_000)
                for s in ({"cwnd": w}, acks(1), LOST, acks(9))
            ),
        ),
        one(
            "loss, undo, timeout",
            avoiding(403),
            acks(300),
            LOST,
            acks(999),
            UNDO,
            acks(500),
            TIMEOUT,
            acks(300),
            acks(300),
        ),
        one("a loss in slow start", at(500), acks(100), LOST, acks(100), LOST, acks(3)),
        one("delayed ACKs", at(50, 401), acks(176, acked=2), *[acks(500, acked=2)] * 4),
        one("nothing grows while the sender is not held back", avoiding(50), acks(500, limited=False)),
    ]


CASES = [
    *common(HighSpeed),
    case(
        "two thousand million",
        HighSpeed,
        avoiding(2_000_000_000),
        acks(500, acked=1_000_000),
        LOST,
        tolerance=300,
    ),
    case(
        "parameters",
        HighSpeed,
        avoiding(60),
        *[acks(500)] * 3,
        LOST,
        {"cwnd": 4000},
        *[acks(700, acked=2)] * 3,
        LOST,
        {"cwnd": 20000},
        *[acks(500, acked=2)] * 3,
        LOST,
        tolerance=1,
        low_window="70",
        high_window="15000",
        low_p="5000",
        high_p="30",
        high_decrease="0.2",
    ),
    *(
        case(
            f"{model.__name__}: limited slow start",
            model,
            at(20, 700),
            *[acks(100)] * 20,
            acks(2000, acked=2),
            LOST,
            acks(10),
            TIMEOUT,
            acks(500),
            limited_slow_start="on",
            tolerance=1 if model is HighSpeed else 0,
            **params,
        )
        for model, params in ((HighSpeed, {}), (Linux, {"variant": "linux"}), (Ns2, {"variant": "ns2"}))
    ),
    case(
        "max_ssthresh",
        HighSpeed,
        at(20, 700),
        *[acks(100)] * 30,
        limited_slow_start="on",
        max_ssthresh="51",
    ),
    *common(Linux, variant="linux"),
    *common(Ns2, variant="ns2"),
    *ends_slow_start(HighSpeed),
    *searches(HighSpeed, tolerance=1),
]
