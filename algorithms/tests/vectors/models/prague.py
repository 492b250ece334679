"""TCP Prague."""

from fractions import Fraction
from math import ceil, floor

from stack import CWR, LOSS, LOST, RECOVERY, TIMEOUT, UNDO, Model, Rounds, acks, at, avoiding, case

MSS = 1448


class Prague(Model):
    """The equations of prague.h, in rational numbers."""

    controls = True

    def start(self, s):
        self.gain = Fraction(1, 2 ** int(self.p.get("gain", 4)))
        self.vrtt_us = 1000 * int(self.p.get("vrtt_ms", 25))
        self.wait_rounds = int(self.p.get("rtt_independent", 500))
        self.left = Fraction(self.p.get("loss", "0.5"))
        self.window = self.before = Fraction(s.cwnd)
        self.alpha = None
        self.cut_us, self.took = None, 0
        self.updated_us, self.seen = s.now, (0, 0)
        self.rounds, self.count = Rounds(), 0
        self.pacing, self.pacing_tolerance = 0, Fraction(1, 10000)

    def ack(self, s):
        srtt = s.rtt or self.srtt
        self.srtt = srtt
        vrtt = max(srtt, self.vrtt_us)
        ce = s.ce
        if self.rounds.over(s):
            self.count += self.alpha is not None
            if s.now - self.updated_us >= vrtt:
                share = Fraction(s.delivered_ce - self.seen[1], s.delivered - self.seen[0])
                if self.alpha is not None:
                    self.alpha += self.gain * (share - self.alpha)
                self.seen, self.updated_us = (s.delivered, s.delivered_ce), s.now
        if self.cut_us is not None and s.now - self.cut_us >= vrtt:
            self.cut_us = None
        if ce and self.alpha is None:
            self.alpha = Fraction(1)
        if ce and self.cut_us is None and s.state <= CWR:
            cut = max(self.window * (1 - self.alpha / 2), min(self.window, 2))
            self.took, self.window, self.cut_us = self.window - cut, cut, s.now
            s.ssthresh = max(floor(cut), 2)
        if s.state != RECOVERY and s.limited:
            unmarked = s.acked - ce
            if s.cwnd < s.ssthresh:
                self.window += min(unmarked, s.ssthresh - s.cwnd)
            elif s.state != LOSS:
                part = 1
                if self.count >= self.wait_rounds and srtt < vrtt:
                    part = Fraction(srtt, vrtt) ** 2
                # Rounded only to keep the denominator from growing with every ACK.
                self.window = Fraction(round((self.window + unmarked / self.window * part) * 2**80), 2**80)
        target = max(ceil(self.window), 2)
        if s.cwnd > target:
            s.cwnd -= 1
        elif s.cwnd < s.ssthresh:
            s.cwnd += min(s.acked, target - s.cwnd)
        else:
            s.cwnd += s.cwnd < target
        percent = 100
        if floor(self.window) < s.ssthresh // 2:
            percent = 200
        elif self.alpha is not None:
            percent = 97 if s.now // (vrtt // 2) % 2 else 103
        self.pacing = max(self.window * MSS * 1_000_000 / srtt * percent / 100, 12500)

    def loss(self, s, timeout):
        took = self.took if self.cut_us is not None else 0
        self.before = self.window
        used = min(self.window, s.cwnd)
        self.window = max(min((used + took) * self.left, used), 2)
        ssthresh = floor(self.window)
        if timeout:
            self.window = Fraction(1)
        else:
            s.cwnd = max(min(s.cwnd, ssthresh), 2)
        return ssthresh

    def undo(self, s):
        self.window = max(self.window, self.before)
        return max(s.cwnd, floor(self.window))


CASES = [
    case(
        "slow start ends at the first mark, which halves",
        Prague,
        at(10),
        *[acks(20, rtt_ms=20)] * 3,
        acks(1, rtt_ms=20, ce=1),
        acks(50, rtt_ms=20),
        tolerance=1,
    ),
    case(
        "one mark in ten: alpha falls to a tenth, the window to 18",
        Prague,
        avoiding(60),
        *[acks(9, rtt_ms=30, gap_us=2000), acks(1, rtt_ms=30, gap_us=2000, ce=1)] * 150,
        tolerance=1,
    ),
    case(
        "a short RTT counts as 25 ms after 20 rounds",
        Prague,
        avoiding(20),
        acks(1, rtt_ms=5, ce=1),
        *[acks(40, rtt_ms=5, gap_us=200)] * 30,
        tolerance=1,
        rtt_independent="20",
    ),
    case(
        "another virtual RTT, another gain, what a loss leaves",
        Prague,
        avoiding(50),
        acks(1, rtt_ms=50, ce=1),
        *[acks(40, rtt_ms=50), acks(2, rtt_ms=50, ce=1)] * 8,
        LOST,
        acks(60, rtt_ms=50),
        tolerance=1,
        vrtt_ms="100",
        gain="3",
        loss="0.7",
    ),
    case(
        "a loss soon after a mark takes no more than a loss; a timeout; an undo",
        Prague,
        avoiding(100),
        acks(1, rtt_ms=40, ce=1),
        acks(5, rtt_ms=40),
        LOST,
        acks(40, rtt_ms=40),
        TIMEOUT,
        acks(20, rtt_ms=40),
        LOST,
        UNDO,
        acks(20, rtt_ms=40),
        tolerance=1,
    ),
    case(
        "an ACK tells of several segments; the application is the limit for a while",
        Prague,
        avoiding(80),
        *[acks(20, acked=4, ce=2, rtt_ms=40)] * 10,
        acks(50, rtt_ms=40, limited=False),
        *[acks(20, acked=2, rtt_ms=40)] * 5,
        tolerance=1,
    ),
]
