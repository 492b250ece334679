"""Compound TCP."""

import math

from slow_start import ends_slow_start
from stack import Model, Rounds, acks, LOST, TIMEOUT, UNDO, case, at, avoiding


class Compound(Model):
    """The paper's rules, in real numbers."""

    dwnd = 0.0
    credit = 0

    def start(self, s):
        unit = {"alpha": "0.125", "beta": "0.5", "gamma": "30", "zeta": "1"} | self.p
        self.alpha, self.beta, self.gamma, self.zeta = (
            float(unit[n]) for n in ("alpha", "beta", "gamma", "zeta")
        )
        self.rounds = Rounds()

    def ack(self, s):
        self.over = self.rounds.over(s)
        if s.limited and s.cwnd < s.ssthresh:
            self.dwnd = 0.0
        super().ack(s)

    def avoid(self, s, acked):
        self.credit += acked
        if self.credit >= s.cwnd:
            self.credit -= s.cwnd
            s.cwnd += 1
        if not self.over:
            return
        reno, win = s.cwnd - math.floor(self.dwnd), s.cwnd
        diff = win * (1 - s.min_rtt / s.rtt)
        if diff < self.gamma:
            self.dwnd += min(max(self.alpha * win**0.75 - 1, 0), self.rounds.sent[1])
        else:
            self.dwnd = max(self.dwnd - self.zeta * diff, 0)
        s.cwnd = reno + math.floor(self.dwnd)

    def loss(self, s, timeout):
        self.credit, self.before = 0, self.dwnd
        if s.cwnd < s.ssthresh:
            self.dwnd = 0.0
        reno = (s.cwnd - self.dwnd) / 2
        self.dwnd = max(s.cwnd * (1 - self.beta) - reno, 0)
        return max(math.floor(reno + self.dwnd), 2)

    def undo(self, s):
        self.dwnd = self.before
        return super().undo(s)


def power(win):
    """win^(3/4) by Newton's method."""
    root, last = 2 ** ((win**3).bit_length() // 4), 0
    while win and abs(root - last) > 1:
        root, last = (3 * root + win**3 // root**3) // 4, root
    return root


class CompoundNs2(Model):
    """The arithmetic of Linux 2.6.17 as compound.h describes it, in whole numbers."""

    def start(self, s):
        self.rounds, self.rtts = Rounds(), []
        self.reno, self.dwnd, self.credit = s.cwnd, 0, 0

    def sample(self, s):
        self.rtts.append(s.rtt)

    def ack(self, s):
        if self.reno > s.cwnd or self.dwnd > s.cwnd:
            self.reno, self.dwnd = s.cwnd, 0
        elif self.reno + self.dwnd > s.cwnd:
            self.reno = s.cwnd - self.dwnd
        if not s.limited:
            return
        if self.reno <= s.ssthresh:
            self.reno += 1
        else:
            self.credit += 1
            if self.credit >= s.cwnd:
                self.credit = 0
                self.reno += 1
        if self.rounds.over(s):
            if len(self.rtts) > 2:
                self.change(s, self.rounds.sent[1], min(self.rtts))
            self.rtts = []
        s.cwnd = self.reno + self.dwnd

    def change(self, s, win, rtt):
        halves = 2 * win - 2 * win * s.min_rtt // rtt
        if halves >= 60:
            self.dwnd = max(2 * self.dwnd - halves, 0) // 2
            return
        self.dwnd += max(power(win) // 8 - 1, 0)

    def repaired(self, s):
        end = s.delivered + s.in_flight
        self.rounds.sent[0] += end - self.rounds.mark
        self.rounds.mark, self.rtts = end, []

    def loss(self, s, timeout):
        self.credit = 0
        return max(s.cwnd // 2, 2)

    def event(self, s, event):
        self.rounds, self.rtts = Rounds(), []
        self.rounds.mark = s.delivered + s.in_flight
        self.reno, self.dwnd = s.cwnd, 0


CASES = [
    case("no queue: both windows grow", Compound, avoiding(200), *[acks(200)] * 20, tolerance=1),
    case(
        "a queue of 30 segments: dwnd gives way",
        Compound,
        avoiding(1000),
        acks(1),
        *[acks(1000)] * 8,
        *[acks(1500, rtt_ms=103.5)] * 6,
        *[acks(1500, rtt_ms=110)] * 6,
        *[acks(1500)] * 3,
        tolerance=1,
    ),
    case(
        "loss: half of the sum",
        Compound,
        avoiding(1000),
        *[acks(1000)] * 8,
        LOST,
        *[acks(700)] * 4,
        tolerance=1,
    ),
    case(
        "beta: how much a loss takes",
        Compound,
        avoiding(1000),
        *[acks(1000)] * 8,
        LOST,
        *[acks(900)] * 4,
        tolerance=1,
        beta="0.25",
    ),
    case(
        "slow start has no dwnd",
        Compound,
        at(2, 500),
        acks(600),
        LOST,
        TIMEOUT,
        acks(255),
        *[acks(300)] * 5,
        tolerance=1,
    ),
    case(
        "parameters",
        Compound,
        avoiding(1000),
        *[acks(1000)] * 8,
        *[acks(1500, rtt_ms=101)] * 8,
        LOST,
        tolerance=1,
        alpha="0.25",
        gamma="5",
        zeta="2",
    ),
    case(
        "a spurious loss is taken back",
        Compound,
        avoiding(1000),
        *[acks(1000)] * 8,
        LOST,
        UNDO,
        acks(1500),
        *[acks(1200, rtt_ms=120)] * 6,
        tolerance=1,
    ),
    case(
        "nothing grows while the application is the limit",
        Compound,
        avoiding(300),
        acks(2000, limited=False),
        acks(700),
        tolerance=1,
    ),
    case("ns2: slow start with dwnd at work", CompoundNs2, at(2), *[acks(100)] * 10, variant="ns2"),
    case("ns2: growth", CompoundNs2, avoiding(14084), *[acks(14300, gap_us=10)] * 5, variant="ns2"),
    case(
        "ns2: win^k of 6168 is not rounded down",
        CompoundNs2,
        avoiding(6167),
        *[acks(6167, gap_us=10)] * 4,
        variant="ns2",
    ),
    case(
        "ns2: a queue",
        CompoundNs2,
        avoiding(1000),
        *[acks(1000)] * 10,
        *[acks(1100, rtt_ms=103)] * 4,
        *[acks(1100, rtt_ms=110)] * 8,
        variant="ns2",
    ),
    case(
        "ns2: the next ACK after a cut shares out what is left",
        CompoundNs2,
        avoiding(1000),
        *[acks(1000)] * 30,
        {"cwnd": 1200},
        acks(1),
        *[acks(1200)] * 5,
        LOST,
        acks(1),
        *[acks(900)] * 5,
        variant="ns2",
    ),
    case(
        "ns2: a queue of just 30",
        CompoundNs2,
        avoiding(1000),
        *[acks(1000)] * 10,
        *[acks(1300, rtt_ms=102 + n / 20) for n in range(30)],
        variant="ns2",
    ),
    case(
        "ns2: the window restarts at a quarter",
        CompoundNs2,
        avoiding(1000),
        *[acks(1000)] * 10,
        LOST,
        {"cwnd": 250},
        acks(100),
        *[acks(300)] * 5,
        variant="ns2",
    ),
    case(
        "ns2: nothing grows while the application is the limit",
        CompoundNs2,
        avoiding(300),
        acks(2000, limited=False),
        variant="ns2",
    ),
    case(
        "ns2: two samples are not enough",
        CompoundNs2,
        avoiding(400),
        *[acks(398, rtt_ms=0), acks(2)] * 5,
        variant="ns2",
    ),
    case(
        "ns2: idle, restart, timeout",
        CompoundNs2,
        avoiding(400),
        *[acks(400)] * 5,
        {"event": "tx_start"},
        acks(400),
        acks(400),
        {"event": "cwnd_restart"},
        acks(900),
        TIMEOUT,
        acks(500),
        *[acks(500)] * 5,
        {"event": "tx_start"},
        *[acks(300, rtt_ms=150)] * 5,
        variant="ns2",
    ),
    case(
        "ns2: delayed ACKs count once", CompoundNs2, at(10, 100), *[acks(60, acked=2)] * 10, variant="ns2"
    ),
    *ends_slow_start(Compound),
]
