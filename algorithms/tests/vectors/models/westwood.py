"""TCP Westwood and Westwood+."""

import math
from fractions import Fraction

from slow_start import ends_slow_start
from stack import LOST, OPEN, TIMEOUT, UNDO, Model, acks, at, avoiding, case

MSS = 1448


class Westwood(Model):
    """The papers' filters, in rational numbers of segments per microsecond."""

    bwe = last = None
    since = credit = 0

    def start(self, s):
        self.plus = self.p.get("estimate", "plus") == "plus"
        self.alpha = float(self.p.get("alpha", "0.9"))
        self.tau = 1000 * int(self.p.get("tau_ms", 500))

    def ack(self, s):
        self.estimate(s)
        super().ack(s)

    def sample(self, s):
        self.srtt = s.rtt
        self.estimate(s)

    def estimate(self, s):
        if self.last is None:
            self.last, self.since = (s.now, s.delivered), 0.0
        delta, segments = s.now - self.last[0], s.delivered - self.last[1]
        if not segments or delta < (self.srtt if self.plus else 1):
            return
        rate = segments / delta
        if self.bwe is None:
            self.bwe = rate
        elif self.plus:
            self.bwe = self.alpha * self.bwe + (1 - self.alpha) * rate
        else:
            a = max((2 * self.tau - delta) / (2 * self.tau + delta), 0)
            self.bwe = a * self.bwe + (1 - a) * (rate + self.since) / 2
        self.since, self.last = rate, (s.now, s.delivered)

    def avoid(self, s, acked):
        self.credit += acked
        more, self.credit = divmod(self.credit, s.cwnd)
        s.cwnd += more

    def loss(self, s, timeout):
        self.credit = 0
        pipe = s.cwnd / 2 if self.bwe is None else self.bwe * s.min_rtt
        return max(math.floor(min(pipe, s.cwnd)), 2)


class WestwoodLinux(Westwood):
    """As westwood.h describes the kernel: bytes per tick, two filters."""

    tick_us = 4000
    bytes, filters, seen, fresh = 0, None, None, True

    def start(self, s):
        self.rtt = self.least = 20_000_000 // self.tick_us
        self.began, self.counted = s.now // self.tick_us, 0

    def sample(self, s):
        self.estimate(s)
        self.rtt = math.ceil(Fraction(s.rtt, self.tick_us))

    def estimate(self, s):
        if self.seen == s.now:
            return
        now, first = s.now // self.tick_us, self.seen is None
        if now - self.began > max(self.rtt, 50_000 // self.tick_us):
            rate = self.bytes // (now - self.began)
            if not self.filters or self.filters == [0, 0]:
                self.filters = [rate, rate]
            else:
                self.filters[0] = (7 * self.filters[0] + rate) // 8
                self.filters[1] = (7 * self.filters[1] + self.filters[0]) // 8
            self.bytes, self.began = 0, now
        if not first:
            self.bytes += MSS * s.acked
        self.seen = s.now
        self.least = self.rtt if self.fresh else min(self.least, self.rtt)
        self.fresh = False

    def window(self):
        return max((self.filters or [0, 0])[1] * self.least // MSS, 2)

    def loss(self, s, timeout):
        self.credit = 0
        if not timeout:
            return max(s.cwnd // 2, 2)
        self.fresh = True
        return self.window()

    def repaired(self, s):
        s.cwnd = s.ssthresh = self.window()


class WestwoodNs2(WestwoodLinux):
    """Reno by segments acknowledged; after a loss cwnd is what the path carried, ssthresh half."""

    tick_us = 1000
    arrived = eighths = 0

    def start(self, s):
        super().start(s)

    def sample(self, s):
        """The smoothed RTT is known first; what the ACK brings counts for the next sample."""
        if s.state != OPEN:
            return
        now, ms = s.now // 1000, max((s.rtt + 500) // 1000, 1)
        self.eighths = self.eighths + ms - self.eighths // 8 if self.eighths else 8 * ms
        self.rtt = self.eighths // 8
        if now - self.began > max(self.rtt, 50):
            rate = self.bytes // (now - self.began)
            first, second = self.filters or (rate, rate)
            if self.filters:
                first = (7 * first + rate) // 8
                second = (7 * second + first) // 8
            self.filters = (first, second) if second or first else None
            self.bytes, self.began = 0, now
        self.least = self.rtt if self.fresh else min(self.least, self.rtt)
        self.fresh = False
        self.bytes += MSS * s.acked
        self.arrived += s.acked

    def ack(self, s):
        self.credit, self.arrived = self.credit + self.arrived, 0
        if s.limited and s.cwnd <= s.ssthresh:
            s.cwnd, self.credit = s.cwnd + 1, 0
        elif s.limited and self.credit >= s.cwnd:
            s.cwnd, self.credit = s.cwnd + 1, self.credit - s.cwnd

    def loss(self, s, timeout):
        self.credit = self.arrived = 0
        self.repair_cwnd = self.window()
        return max(s.cwnd // 2, 2)

    def repaired(self, s): ...


def courses(model, **params):
    name = ", ".join(params.values()) or "plus"
    return [
        case(f"{name}: {what}", model, start, *steps, tolerance=0 if "variant" in params else 1, **params)
        for what, start, steps in (
            ("a path of 100 segments", avoiding(150), [acks(900), LOST, acks(300), LOST]),
            (
                "the rate falls, and rises",
                avoiding(150),
                [
                    acks(500),
                    *[
                        x
                        for gap in (2000, 2000, 400, 400)
                        for x in (acks(300, gap_us=gap), LOST, {"cwnd": 300})
                    ],
                ],
            ),
            ("slow start, a loss at once", at(2, 300), [acks(20), LOST, acks(90), TIMEOUT, acks(300)]),
            ("before any ACK", avoiding(40), [LOST, {"cwnd": 40}, acks(1), LOST]),
            (
                "RTTmin",
                avoiding(150),
                [
                    acks(300, rtt_ms=80.3),
                    acks(900, rtt_ms=130.7),
                    LOST,
                    acks(90),
                    UNDO,
                    TIMEOUT,
                    acks(400, rtt_ms=130.7),
                    TIMEOUT,
                ],
            ),
            (
                "short RTTs",
                avoiding(90),
                [acks(900, rtt_ms=4.2, gap_us=210), LOST, acks(300, rtt_ms=4.2, gap_us=210), LOST],
            ),
            (
                "silence",
                avoiding(90),
                [acks(300), acks(1, gap_us=9000000), LOST, {"cwnd": 90}, acks(300), LOST],
            ),
            (
                "delayed ACKs",
                at(20, 90),
                [acks(300, acked=2, gap_us=1700), LOST, acks(90, limited=False), LOST],
            ),
            ("recovery", avoiding(150), [acks(300), acks(300, state="recovery", gap_us=1500), acks(9), LOST]),
        )
    ]


CASES = [
    *courses(Westwood),
    *courses(Westwood, estimate="original"),
    *courses(Westwood, alpha="0.75"),
    *courses(Westwood, estimate="original", tau_ms="100"),
    *courses(WestwoodLinux, variant="linux"),
    *courses(WestwoodNs2, variant="ns2"),
    *ends_slow_start(Westwood),
]
