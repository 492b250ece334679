"""TCP Veno."""

import math
from fractions import Fraction

from models.reno import Reno
from slow_start import ends_slow_start
from stack import LOST, TIMEOUT, UNDO, Rounds, acks, at, avoiding, case, queue


class Veno(Reno):
    """The paper's rules: N once per RTT."""

    congested = False

    def start(self, s):
        self.rounds, self.rtts = Rounds(), []
        self.beta, self.kept = int(self.p.get("beta", 3)), Fraction(self.p.get("loss", "0.8"))

    def sample(self, s):
        self.rtts.append(s.rtt)

    def ack(self, s):
        if self.rounds.over(s) and self.rtts:
            rtt, self.rtts = min(self.rtts), []
            self.congested = s.cwnd * (1 - Fraction(s.min_rtt, rtt)) >= self.beta
        super().ack(s)

    def avoid(self, s, acked):
        per = s.cwnd * (2 if self.congested else 1)
        if self.credit >= per:
            self.credit, s.cwnd = 0, s.cwnd + 1
        self.credit += acked
        if self.credit >= per:
            self.credit -= per
            s.cwnd += 1

    def loss(self, s, timeout):
        self.credit = 0
        return max(s.cwnd // 2 if self.congested else math.floor(s.cwnd * self.kept), 2)


class VenoLinux(Veno):
    """As veno.h describes the kernel."""

    base, on, waits = math.inf, True, False

    def start(self, s):
        super().start(s)
        self.count = 0

    def sample(self, s):
        self.base = min(self.base, s.rtt + 1)
        self.rtts.append(s.rtt + 1)
        self.count += 1

    def ack(self, s):
        if not s.limited:
            return
        if not self.on or self.count <= 2:
            self.congested, known = False, self.congested
            Reno.ack(self, s)
            self.congested = known
        else:
            wanted = 2 * s.cwnd * self.base // min(self.rtts) if self.rtts else 0
            self.congested = 2 * s.cwnd - wanted >= 2 * self.beta
            Reno.ack(self, s)
            s.cwnd = max(s.cwnd, 2)
        if self.on:
            self.rtts = []

    def avoid(self, s, acked):
        if not self.congested:
            super().avoid(s, acked)
        elif self.credit < s.cwnd:
            self.credit += acked
        else:
            self.credit = 0
            s.cwnd += not self.waits
            self.waits = not self.waits

    def loss(self, s, timeout):
        self.on = False
        return super().loss(s, timeout)

    def repaired(self, s):
        self.on, self.rtts = True, []

    def undo(self, s):
        self.repaired(s)
        return super().undo(s)

    def event(self, s, event):
        self.repaired(s)
        self.base, self.waits = math.inf, False


def courses(model, **params):
    name = params.get("variant", "spec")
    return [
        case(f"{name}: {what}", model, start, *steps, **params)
        for what, start, steps in (
            ("grows like Reno below beta, by half of that from it on", avoiding(50), [*queue(50, 0, 0, 2, 2), *queue(51, 4, 4, 4, 4, 4, 4, 4, 3.5, 2, 2, 0)]),
            ("a loss without a queue takes a fifth", avoiding(50), [*queue(50, 0, 0, 1, 1), LOST, *queue(40, 0, 0), LOST, UNDO]),
            ("a loss with a queue takes half", avoiding(50), [*queue(50, 0, 0, 5, 5), LOST, *queue(26, 4, 4), LOST, *queue(13, 4, 0, 0), LOST]),
            ("slow start, a timeout", at(2, 60), [acks(20), acks(60, rtt_ms=104), TIMEOUT, acks(20), acks(60, rtt_ms=120), TIMEOUT, acks(9)]),
            ("few samples", avoiding(6), [*[acks(5, rtt_ms=0), acks(1)] * 9, *[acks(2, rtt_ms=0), acks(1, rtt_ms=190)] * 9]),
            ("not limited", avoiding(30), [acks(90, limited=False), acks(5), acks(60, rtt_ms=150, limited=False), LOST]),
            ("delayed ACKs", avoiding(20), [*[acks(20, acked=2)] * 5, *[acks(20, acked=2, rtt_ms=130)] * 12]),
            ("the smallest windows", avoiding(3), [acks(3), *[acks(4, rtt_ms=900)] * 8, LOST, LOST, acks(9), TIMEOUT, acks(1)]),
        )
    ]


CASES = [
    *courses(Veno),
    *courses(VenoLinux, variant="linux"),
    case("linux: a pause", VenoLinux, avoiding(30), acks(50), acks(30, rtt_ms=150), {"event": "tx_start"}, *[acks(40, rtt_ms=150)] * 3, {"event": "cwnd_restart"}, acks(60), variant="linux"),
    case("parameters", Veno, avoiding(50), *queue(50, 0, 0, 5, 5), LOST, *queue(35, 7, 7, 7), LOST, beta="6", loss="0.7"),
    *ends_slow_start(Veno),
]
