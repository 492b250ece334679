"""H-TCP."""

from fractions import Fraction
from math import ceil, floor

from slow_start import ends_slow_start
from stack import OPEN, RECOVERY, Model, Rounds, acks, LOST, TIMEOUT, UNDO, case, at, avoiding


class Htcp(Model):
    """The paper's rules, in real numbers."""

    def start(self, s):
        def number(name, default):
            return Fraction(self.p.get(name, default))

        self.quiet, self.ratio = number("delta_l", "1"), number("throughput_ratio", "0.2")
        self.least, self.most = number("beta_min", "0.5"), number("beta_max", "0.8")
        self.beta = Fraction(1, 2)
        self.event, self.rate, self.event_rate = s.now, None, None
        self.rtts, self.rest = [], 0.0
        self.begin(s)

    def begin(self, s):
        self.rounds = Rounds()
        self.rounds.mark, self.began = s.delivered + s.in_flight, (s.now, s.delivered)

    def sample(self, s):
        if s.state < RECOVERY:
            self.rtts = [min(self.rtts + [s.rtt]), max(self.rtts + [s.rtt])]

    def ack(self, s):
        if self.rounds.over(s):
            self.rate = Fraction(s.delivered - self.began[1], s.now - self.began[0])
            self.began = s.now, s.delivered
        super().ack(s)

    def avoid(self, s, acked):
        d = max((s.now - self.event) / 1e6 - float(self.quiet), 0)
        alpha = 1 + 10 * d + (d / 2) ** 2
        if self.p.get("rtt_scaling") == "on":
            alpha = max(alpha * min(max(self.rtts[0] / 100_000, 0.1), 2), 1)
        self.rest += acked * min(2 * float(1 - self.beta) * alpha, s.cwnd) / s.cwnd
        s.cwnd += floor(self.rest)
        self.rest %= 1

    def loss(self, s, timeout):
        self.before = self.event, self.event_rate
        last, self.event, self.event_rate = self.event_rate, s.now, self.rate
        self.beta = self.least
        if last and abs(self.rate - last) / last <= self.ratio:
            self.beta = min(max(Fraction(self.rtts[0], self.rtts[1]), self.least), self.most)
        return max(floor(self.beta * s.cwnd), 2)

    def repaired(self, s):
        self.begin(s)

    def undo(self, s):
        self.event, self.event_rate = self.before
        return super().undo(s)


class Linux(Model):
    """The kernel's module as htcp.h describes it: ticks, 1/128."""

    smooth, tick_us = False, 4000

    def start(self, s):
        self.hz = 1_000_000 // self.tick_us
        self.event = self.since = s.now // self.tick_us
        self.since = 0
        self.alpha, self.beta, self.adapt = Fraction(1), Fraction(1, 2), False
        self.low = self.high = self.rate = self.best = self.last = 0
        self.count, self.credit, self.step = 0, 0, 1

    def age(self, s):
        return s.now // self.tick_us - self.event

    def settled(self, s):
        return self.age(s) // max(self.low, 1) > 3

    def look(self, s, rtt, high):
        self.low = min(self.low or rtt, rtt)
        if s.state == OPEN and high:
            self.high = max(self.high, self.low)
            if rtt <= self.high + 20_000 // self.tick_us:
                self.high = max(self.high, rtt)

    def sample(self, s):
        if s.state == OPEN:
            self.step = s.acked
        if not self.smooth:
            self.look(s, ceil(s.rtt / self.tick_us), True)
        now = s.now // self.tick_us
        if s.state >= RECOVERY:
            self.count, self.since = 0, now
            return
        self.count += s.acked
        if self.count < s.cwnd - max(floor(self.alpha), 1) or not self.low or now - self.since < self.low:
            return
        rate = self.count * self.hz // (now - self.since)
        self.rate = (3 * self.rate + rate) // 4 if self.settled(s) else rate
        self.best = max(self.best, self.rate) if self.settled(s) else rate
        self.count, self.since = 0, now

    def set_alpha(self, s):
        d = self.age(s) - self.hz
        alpha = 1 if d <= 0 else 1 + (10 * d + (d // 2) ** 2 // self.hz) // self.hz
        if self.low:
            scale = min(max(self.hz * 8 // 10 // self.low, 4), 80)
            alpha = max(8 * alpha // scale, 1)
        self.alpha = 2 * alpha * (1 - self.beta)

    def ack(self, s):
        if not s.limited:
            return
        if self.smooth and s.cwnd <= s.ssthresh:
            s.cwnd += 1
        elif s.cwnd < s.ssthresh:
            s.cwnd = min(s.cwnd + s.acked, s.ssthresh)
        else:
            self.avoid(s, s.acked)

    def avoid(self, s, acked):
        if self.smooth:
            self.look(s, s.rtt // self.tick_us, s.ssthresh < 65535 and self.settled(s))
        if floor(self.credit * self.alpha) >= s.cwnd:
            s.cwnd += 1
            self.credit = 0
            self.set_alpha(s)
        else:
            self.credit += self.step
        self.step = 1

    def loss(self, s, timeout):
        self.credit = 0
        steady = 4 * self.last <= 5 * self.best <= 6 * self.last
        self.last, self.beta = self.best, Fraction(1, 2)
        if steady and self.adapt and self.low > ceil(10_000 / self.tick_us) and self.high:
            ratio = Fraction(self.low * 128 // self.high, 128)
            self.beta = min(max(ratio, self.beta), Fraction(102, 128))
        self.adapt = steady
        self.set_alpha(s)
        if self.low and self.high > self.low:
            self.high = self.low + (self.high - self.low) * 95 // 100
        self.event = s.now // self.tick_us
        return max(floor(s.cwnd * self.beta), 2)


class Ns2(Linux):
    smooth, tick_us = True, 1000

    def repaired(self, s):
        self.count, self.since = 0, s.now // self.tick_us


def common(model, **params):
    name = params.get("variant", "spec")
    tolerance = 1 if name == "spec" else 0

    def one(title, *steps):
        return case(f"{name}: {title}", model, *steps, tolerance=tolerance, **params)

    return [
        one("slow start into avoidance", at(2, 60), acks(58), *[acks(300)] * 4),
        one("faster from the second second", avoiding(200), *[acks(400)] * 15),
        one(
            "an RTT of 10 ms", avoiding(200), *[acks(500, rtt_ms=9.7)] * 8, LOST, acks(500, rtt_ms=10.2), LOST
        ),
        one(
            "an RTT of 400 ms",
            avoiding(200),
            *[acks(500, rtt_ms=400, gap_us=3000)] * 5,
            LOST,
            acks(500, rtt_ms=404),
            LOST,
        ),
        one(
            "adaptive backoff",
            avoiding(100),
            *(
                step
                for _ in range(4)
                for step in (
                    *[acks(100)] * 4,
                    acks(100, rtt_ms=115.3),
                    acks(100, rtt_ms=130.2),
                    acks(100, rtt_ms=140),
                    LOST,
                )
            ),
        ),
        one("at most 0.8", avoiding(100), *[acks(700), acks(200, rtt_ms=105), LOST] * 4),
        one(
            "a bandwidth that changes",
            avoiding(100),
            *[acks(700), acks(200, rtt_ms=115), LOST] * 3,
            acks(700, gap_us=1700),
            acks(200, gap_us=1700, rtt_ms=115),
            LOST,
            *[acks(700, gap_us=1700), acks(200, gap_us=1700, rtt_ms=115), LOST] * 2,
        ),
        one(
            "timeout",
            avoiding(150),
            *[acks(700), acks(200, rtt_ms=115), LOST] * 2,
            acks(700),
            TIMEOUT,
            *[acks(200)] * 10,
        ),
        one(
            "delayed ACKs",
            at(50, 151),
            acks(51, acked=2),
            *[acks(500, acked=2, gap_us=2000)] * 6,
            LOST,
            acks(300, acked=2, gap_us=2000),
        ),
        one("a small window", avoiding(5), *[acks(30, gap_us=20_000)] * 5, LOST, LOST, LOST, LOST, acks(100)),
        one(
            "samples of a repair do not count",
            avoiding(100),
            *[acks(700), acks(200, rtt_ms=115), LOST, acks(50, rtt_ms=300, state="recovery")] * 4,
        ),
        one("nothing grows while the sender is not held back", avoiding(50), acks(500, limited=False)),
    ]


STEADY = [acks(900), acks(300, rtt_ms=110), LOST] * 3

CASES = [
    *common(Htcp),
    case(
        "a spurious loss is taken back",
        Htcp,
        avoiding(150),
        *[acks(1000)] * 3,
        LOST,
        *[acks(1000)] * 2,
        LOST,
        acks(10),
        UNDO,
        *[acks(1000)] * 2,
        tolerance=1,
    ),
    case(
        "two thousand million",
        Htcp,
        avoiding(2_000_000_000),
        acks(500, acked=1_000_000, gap_us=100_000, rtt_ms=600_000),
        LOST,
        acks(300, acked=1_000_000, gap_us=1000, rtt_ms=600_000),
        tolerance=1,
    ),
    case("Delta_L", Htcp, avoiding(150), *[acks(500)] * 5, tolerance=1, delta_l="0.3"),
    case(
        "beta_min",
        Htcp,
        avoiding(150),
        *[acks(900), acks(300, rtt_ms=200), LOST] * 3,
        tolerance=1,
        beta_min="0.65",
    ),
    case("beta_max", Htcp, avoiding(150), *STEADY, tolerance=1, beta_max="0.87"),
    case(
        "throughput_ratio",
        Htcp,
        avoiding(150),
        *STEADY,
        acks(500, gap_us=1100),
        LOST,
        tolerance=1,
        throughput_ratio="0.05",
    ),
    *(
        case(
            f"RTT scaling, {rtt} ms",
            Htcp,
            avoiding(150),
            *[acks(800, rtt_ms=rtt)] * 6,
            tolerance=1,
            rtt_scaling="on",
        )
        for rtt in (5, 33, 130, 600)
    ),
    *common(Linux, variant="linux"),
    *common(Ns2, variant="ns2"),
    case(
        "ns2: a bandwidth is not measured across a repair",
        Ns2,
        avoiding(100),
        *[acks(150), acks(150, rtt_ms=110), acks(80, gap_us=10_000), LOST] * 4,
        variant="ns2",
    ),
    case(
        "linux: two thousand million",
        Linux,
        avoiding(2_000_000_000),
        acks(500, acked=10_000_000, gap_us=100_000),
        LOST,
        variant="linux",
    ),
    *ends_slow_start(Htcp),
]
