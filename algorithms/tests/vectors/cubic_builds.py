"""CUBIC as ns-2.35 and Linux build it: their models and cases."""

import math
from fractions import Fraction

from slow_start import Train
from stack import LOST, OPEN, TIMEOUT, UNDO, Model, acks, at, avoiding, case


class CubicNs2(Model):
    """CUBIC 2.1 as the header of cubic.h describes it, the curve in real numbers."""

    def start(self, s):
        self.beta = Fraction(round(float(self.p.get("beta", "0.7")) * 1024), 1024)
        self.c = float(Fraction(round(float(self.p.get("c", "0.4")) * 1024), 1024))
        self.increment = int(self.p.get("max_increment", 16))
        self.count = 0
        self.forget()

    def forget(self):
        self.epoch = self.computed = self.delay = None
        self.wmax, self.lossless, self.ratio, self.cnt = 0, True, 32, 0

    def sample(self, s):
        if s.state == OPEN:
            self.ratio += s.acked - self.ratio // 16
        if self.epoch is None or s.now // 1000 - self.epoch >= 1000:
            sent = (max(s.now - s.rtt, -500) + 500) // 1000
            self.delay = min(self.delay or math.inf, max(s.now // 1000 - sent, 1))

    def ack(self, s):
        if not s.limited:
            return
        if s.cwnd <= s.ssthresh:
            s.cwnd += 1
            return
        self.compute(s)
        if self.count >= self.cnt:
            self.count = 0
            s.cwnd += 1
        else:
            self.count += 1

    def compute(self, s):
        now, cwnd = s.now // 1000, s.cwnd
        if self.epoch is not None:
            self.acks += 1
        if self.computed and self.computed[0] == cwnd and now - self.computed[1] <= 31:
            return
        self.computed = cwnd, now
        if self.epoch is None:
            self.epoch, self.acks, self.west = now, 1, cwnd
            self.origin = max(self.wmax, cwnd)
            self.k = ((self.origin - cwnd) / self.c) ** (1 / 3)
        t = (now - self.epoch + (self.delay or 0)) / 1000
        height = math.floor(self.c * abs(t - self.k) ** 3)
        target = self.origin + (height if t >= self.k else -height)
        cnt = cwnd // (target - cwnd) if target > cwnd else 100 * cwnd
        if self.increment and self.delay and t >= self.k:
            cnt = max(cnt, 100 * cwnd // (self.increment * self.delay))
        if self.lossless:
            cnt = 50
        if self.p.get("reno_friendly") != "off":
            scale = math.floor(8 * (1 + self.beta) / 3 / (1 - self.beta))
            per = cwnd * scale // 8
            while self.acks > per:
                self.acks -= per
                self.west += 1
            if self.west > cwnd:
                cnt = min(cnt, cwnd // (self.west - cwnd))
        self.cnt = max(cnt * 16 // self.ratio, 1)

    def loss(self, s, timeout):
        wmax, self.epoch, self.lossless, self.count = self.wmax, None, False, 0
        converge = s.cwnd < wmax and self.p.get("fast_convergence") != "off"
        self.wmax = math.floor(s.cwnd * (1 + self.beta) / 2) if converge else s.cwnd
        if timeout:
            self.forget()
        return max(math.floor(s.cwnd * self.beta), 2)


class CubicLinux(Model):
    """The module of Linux 6.1 as the header of cubic.h describes it, the curve in real numbers."""

    def start(self, s):
        self.beta = Fraction(round(float(self.p.get("beta", "0.7")) * 1024), 1024)
        self.c = float(Fraction(round(float(self.p.get("c", "0.4")) * 1024), 1024))
        self.credit, self.sent, self.idle = 0, None, False
        self.forget()
        self.train = Train(s)

    def forget(self):
        self.epoch = self.computed = self.delay = None
        self.wmax = self.cnt = 0

    def sample(self, s):
        sent = (s.now - s.rtt) // 1000
        if self.idle and self.epoch is not None:
            self.epoch = min(self.epoch + sent - self.sent, sent)
        self.idle, self.sent = False, sent
        if self.epoch is not None and s.now // 1000 - self.epoch < 1000:
            return
        self.delay = min(self.delay or s.rtt, s.rtt)
        if self.p.get("slow_start") == "hystart":
            self.train.sample(s, self.delay)

    def avoid(self, s, acked):
        self.compute(s, acked)
        if self.credit >= self.cnt:
            self.credit = 0
            s.cwnd += 1
        self.credit += acked
        s.cwnd += self.credit // self.cnt
        self.credit %= self.cnt

    def compute(self, s, acked):
        now, cwnd, cnt = s.now // 1000, s.cwnd, self.cnt
        if self.epoch is not None:
            self.acks += acked
        if self.computed and self.computed[0] == cwnd and now - self.computed[1] <= 31:
            return
        if self.epoch is None or self.computed[1] != now:
            self.computed = cwnd, now
            if self.epoch is None:
                self.epoch, self.acks, self.west = now, acked, cwnd
                self.origin = max(self.wmax, cwnd)
                self.k = ((self.origin - cwnd) / self.c) ** (1 / 3)
            t = (now - self.epoch + math.ceil((self.delay or 0) / 1000)) / 1000
            height = math.floor(self.c * abs(t - self.k) ** 3)
            target = self.origin + (height if t >= self.k else -height)
            cnt = cwnd // (target - cwnd) if target > cwnd else 100 * cwnd
            if not self.wmax:
                cnt = min(cnt, 20)
        if self.p.get("reno_friendly") != "off":
            per = cwnd * math.floor(8 * (1 + self.beta) / 3 / (1 - self.beta)) // 8
            while self.acks > per:
                self.acks -= per
                self.west += 1
            if self.west > cwnd:
                cnt = min(cnt, cwnd // (self.west - cwnd))
        self.cnt = max(cnt, 2)

    def loss(self, s, timeout):
        converge = s.cwnd < self.wmax and self.p.get("fast_convergence") != "off"
        self.wmax = math.floor(s.cwnd * (1 + self.beta) / 2) if converge else s.cwnd
        self.epoch, self.credit = None, 0
        if timeout:
            self.forget()
            self.train = Train(s)
        return max(math.floor(s.cwnd * self.beta), 2)

    def event(self, s, event):
        self.idle = event == "tx_start"



NS2_CASES = [
    case("ns2: 29180 -> 23338", CubicNs2, avoiding(29180), LOST, variant="ns2", beta="0.8"),
    case(
        "ns2: one more ACK than cnt, 50 * 16 / 31 of them, before the first loss",
        CubicNs2,
        at(10, 20),
        acks(11),
        *[acks(26)] * 20,
        variant="ns2",
    ),
    case(
        "ns2: the curve, 16 segments per 100 ms beyond it",
        CubicNs2,
        avoiding(1000),
        acks(1),
        LOST,
        *[acks(8000, gap_us=120)] * 12,
        tolerance=2,
        variant="ns2",
        beta="0.8",
    ),
    case(
        "ns2: no max_increment",
        CubicNs2,
        avoiding(400),
        acks(1),
        LOST,
        *[acks(8000, gap_us=250)] * 12,
        tolerance=3,
        variant="ns2",
        beta="0.8",
        max_increment="0",
    ),
    case(
        "ns2: max_increment holds beyond the plateau, not before",
        CubicNs2,
        avoiding(1000),
        acks(1),
        LOST,
        *[acks(8000, gap_us=120)] * 18,
        tolerance=2,
        variant="ns2",
        beta="0.8",
        max_increment="1",
    ),
    case(
        "ns2: Reno-friendly",
        CubicNs2,
        avoiding(20),
        acks(1),
        LOST,
        *[acks(500, rtt_ms=10, gap_us=500)] * 20,
        tolerance=1,
        variant="ns2",
        beta="0.8",
    ),
    case(
        "ns2: not Reno-friendly, no fast convergence",
        CubicNs2,
        avoiding(200),
        acks(1),
        LOST,
        acks(2000, gap_us=500),
        LOST,
        *[acks(2000, gap_us=500)] * 12,
        tolerance=1,
        variant="ns2",
        beta="0.8",
        reno_friendly="off",
        fast_convergence="off",
    ),
    case(
        "ns2: a timeout forgets everything",
        CubicNs2,
        avoiding(200),
        acks(1),
        LOST,
        acks(2000, gap_us=500),
        TIMEOUT,
        acks(160),
        *[acks(500)] * 4,
        variant="ns2",
        beta="0.8",
        tolerance=1,
    ),
    case(
        "ns2: samples in the first second of an epoch do not count",
        CubicNs2,
        avoiding(400),
        acks(1),
        LOST,
        acks(3),
        acks(900, rtt_ms=10),
        *[acks(2000, gap_us=500)] * 14,
        tolerance=1,
        variant="ns2",
        beta="0.8",
    ),
    case(
        "ns2: delayed ACKs",
        CubicNs2,
        avoiding(200),
        acks(100, acked=2),
        LOST,
        *[acks(1000, gap_us=1000, acked=2)] * 12,
        tolerance=2,
        variant="ns2",
        beta="0.8",
    ),
]

LINUX_CASES = [
    case(
        "linux: 20 segments acknowledged for one before the first loss",
        CubicLinux,
        at(10, 20),
        acks(11),
        *[acks(21)] * 20,
        variant="linux",
    ),
    case(
        "linux: the curve to the plateau and beyond",
        CubicLinux,
        avoiding(1000),
        acks(1),
        LOST,
        *[acks(8000, gap_us=120)] * 12,
        tolerance=3,
        variant="linux",
    ),
    case(
        "linux: delayed ACKs, fast convergence",
        CubicLinux,
        avoiding(400),
        acks(1),
        LOST,
        acks(1000, gap_us=500, acked=2),
        LOST,
        *[acks(1000, gap_us=1000, acked=2)] * 12,
        tolerance=2,
        variant="linux",
    ),
    case(
        "linux: parameters, not Reno-friendly, no fast convergence",
        CubicLinux,
        avoiding(100),
        acks(1),
        LOST,
        acks(1000, gap_us=500),
        LOST,
        *[acks(1000, gap_us=500)] * 12,
        tolerance=2,
        variant="linux",
        beta="0.5",
        c="1.5",
        reno_friendly="off",
        fast_convergence="off",
    ),
    case(
        "linux: Reno-friendly",
        CubicLinux,
        avoiding(20),
        acks(1),
        LOST,
        *[acks(500, rtt_ms=10, gap_us=500)] * 20,
        tolerance=1,
        variant="linux",
    ),
    case(
        "linux: a timeout forgets everything",
        CubicLinux,
        avoiding(200),
        acks(1),
        LOST,
        acks(2000, gap_us=500),
        TIMEOUT,
        acks(160),
        *[acks(500)] * 4,
        tolerance=1,
        variant="linux",
    ),
    case(
        "linux: samples in the first second of an epoch do not count",
        CubicLinux,
        avoiding(400),
        acks(1),
        LOST,
        acks(3),
        acks(900, rtt_ms=10),
        *[acks(2000, gap_us=500)] * 14,
        tolerance=2,
        variant="linux",
    ),
    case(
        "linux: a spurious loss brings back the window",
        CubicLinux,
        avoiding(300),
        acks(1),
        LOST,
        acks(100),
        UNDO,
        acks(4000, gap_us=500),
        tolerance=2,
        variant="linux",
    ),
    case(
        "linux: an idle time does not count",
        CubicLinux,
        avoiding(300),
        acks(1),
        LOST,
        acks(2000, gap_us=500),
        {"event": "tx_start"},
        acks(1, gap_us=60_000_000),
        acks(2000, gap_us=500),
        tolerance=2,
        variant="linux",
    ),
    case(
        "linux: a window of a hundred thousand",
        CubicLinux,
        avoiding(100_000),
        acks(1),
        LOST,
        *[acks(1000, gap_us=3_000, acked=1_000)] * 10,
        tolerance=300,
        variant="linux",
    ),
    case(
        "linux: HyStart, the ACK train is as long as half of the RTT",
        CubicLinux,
        at(10),
        acks(10, gap_us=100),
        acks(1, gap_us=90_000),
        *[acks(100, gap_us=1000)] * 3,
        tolerance=1,
        variant="linux",
        slow_start="hystart",
    ),
    case(
        "linux: HyStart, the delay grows",
        CubicLinux,
        at(20),
        acks(30, gap_us=5000),
        acks(60, gap_us=2100, rtt_ms=110),
        acks(120, gap_us=2100, rtt_ms=113),
        acks(200, gap_us=2100, rtt_ms=115),
        tolerance=1,
        variant="linux",
        slow_start="hystart",
    ),
]
