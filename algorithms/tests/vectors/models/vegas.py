"""TCP Vegas."""

import math
from decimal import Decimal
from fractions import Fraction

from stack import Model, Rounds, acks, LOST, TIMEOUT, UNDO, case, at, avoiding, queue


class Vegas(Model):
    """The paper's rules: Diff = (Expected - Actual) BaseRTT, once per RTT."""

    first = False  # slow start doubles in this RTT

    def start(self, s):
        self.rounds = Rounds()
        self.alpha, self.beta, self.gamma = (
            int(self.p.get(name, value)) for name, value in (("alpha", 1), ("beta", 3), ("gamma", 1))
        )

    def ack(self, s):
        over = self.rounds.over(s)
        if not s.limited:
            return
        rtt, slow_start = s.rtt, s.cwnd < s.ssthresh
        if over and slow_start:
            self.first = not self.first
        if over and rtt:
            actual = Fraction(self.rounds.sent[0], rtt)
            diff = max((Fraction(s.cwnd, s.min_rtt) - actual) * s.min_rtt, 0)
            if slow_start:
                # A whole RTT with the window standing still: a valid comparison.
                if self.first and diff > self.gamma:
                    s.ssthresh = min(s.ssthresh, s.cwnd)
            elif diff > self.beta:
                s.cwnd = max(s.cwnd - 1, 2)
                s.ssthresh = min(s.ssthresh, s.cwnd)
            elif diff < self.alpha:
                s.cwnd += 1
        if s.cwnd < s.ssthresh and self.first:
            s.cwnd = min(s.cwnd + s.acked, s.ssthresh)

    def repaired(self, s):
        self.rounds.mark = s.delivered + s.in_flight

    def loss(self, s, timeout):
        return max(s.cwnd // 2, 2)

    def event(self, s, event):
        self.rounds.mark = s.delivered + s.in_flight


class VegasLinux(Model):
    """As vegas.h describes the kernel."""

    on, base = True, math.inf

    def start(self, s):
        self.rounds, self.rtts, self.credit = Rounds(), [], 0
        self.alpha, self.beta, self.gamma = (
            int(self.p.get(name, value)) for name, value in (("alpha", 1), ("beta", 3), ("gamma", 1))
        )
        self.windows = [s.cwnd, s.cwnd]

    def sample(self, s):
        self.base = min(self.base, s.rtt + 1)
        self.rtts.append(s.rtt + 1)

    def slow(self, s):
        return s.cwnd < s.ssthresh

    def double(self, s):
        left = s.acked - min(s.acked, s.ssthresh - s.cwnd)
        s.cwnd += s.acked - left
        return left

    def reno(self, s):
        if not s.limited:
            return
        left = self.double(s) if self.slow(s) else s.acked
        if left:
            if self.credit >= s.cwnd:
                self.credit = 0
                s.cwnd += 1
            self.credit += left
            more, self.credit = divmod(self.credit, s.cwnd)
            s.cwnd += more

    def ack(self, s):
        if not self.on:
            self.reno(s)
        elif self.rounds.over(s):
            self.windows = [s.cwnd, self.windows[0]]
            if len(self.rtts) > 2:
                self.round(s, min(self.rtts))
            else:
                self.reno(s)
            self.rtts = []
        elif self.slow(s):
            self.double(s)

    def round(self, s, rtt):
        diff = s.cwnd * (rtt - self.base) // self.base
        if self.slow(s) and diff <= self.gamma:
            self.double(s)
        elif self.slow(s):
            s.cwnd = min(s.cwnd, s.cwnd * self.base // rtt + 1)
            s.ssthresh = min(s.ssthresh, s.cwnd - 1)
        elif diff > self.beta:
            s.cwnd -= 1
            s.ssthresh = min(s.ssthresh, s.cwnd - 1)
        elif diff < self.alpha:
            s.cwnd += 1
        s.cwnd = max(s.cwnd, 2)
        s.ssthresh = max(s.ssthresh, s.cwnd // 2 + s.cwnd // 4)

    def restart(self, s):
        self.on, self.rtts = True, []
        end = s.delivered + s.in_flight
        self.rounds.sent[0] = max(self.rounds.sent[0] + end - self.rounds.mark, 0)
        self.rounds.mark = end

    repaired = restart

    def loss(self, s, timeout):
        self.on, self.credit = False, 0
        return max(s.cwnd // 2, 2)

    def event(self, s, event):
        self.restart(s)
        self.base = math.inf


class VegasNs2(VegasLinux):
    def slow(self, s):
        return s.cwnd <= s.ssthresh

    def double(self, s):
        s.cwnd += 1

    def reno(self, s):
        if s.limited and self.slow(s):
            s.cwnd += 1
        elif s.limited:
            self.credit += 1
            if self.credit >= s.cwnd:
                self.credit = 0
                s.cwnd += 1

    def round(self, s, rtt):
        sent = self.rounds.sent[1]
        halves = math.ceil(2 * sent * (1 - Fraction(self.base, rtt)))
        if self.slow(s):
            if halves > 2 * self.gamma:
                s.ssthresh = 2
                s.cwnd = min(s.cwnd, sent * self.base // rtt + 1)
            s.cwnd += 1
        else:
            step = -1 if halves > 2 * self.beta else 1 if halves < 2 * self.alpha else 0
            wanted = self.windows[1] + step
            s.cwnd += (wanted > s.cwnd) - (wanted < s.cwnd)
        s.cwnd = max(s.cwnd, 2)


def courses(model, **params):
    """Equal events for each variant."""
    name = params.get("variant", "spec")
    return [
        case(f"{name}: {what}", model, start, *steps, **params)
        for what, start, steps in (
            (
                "grows, holds, shrinks",
                avoiding(50),
                [*queue(50, 0, 0, 0, 0, 2, 2, 2, 2), *queue(51, 5, 5, 5, 5, 3.6, 3.2, 2.5, 1.5, 0.5, 0)],
            ),
            ("slow start", at(2, 100), [*[acks(7)] * 30, acks(90), acks(90)]),
            (
                "slow start ends with a queue",
                at(2),
                [acks(60), acks(60), *[acks(17, rtt_ms=105 + n) for n in range(24)]],
            ),
            (
                "a loss",
                avoiding(40),
                [acks(60), LOST, *queue(30, 0, 0, 0, 5, 5, 5, 5, 0), LOST, UNDO, acks(60)],
            ),
            (
                "a timeout",
                avoiding(40),
                [acks(60), TIMEOUT, acks(12), acks(40), acks(40, rtt_ms=130), acks(60)],
            ),
            (
                "few samples",
                avoiding(6),
                [*[acks(5, rtt_ms=0), acks(1)] * 9, *[acks(2, rtt_ms=0), acks(1)] * 9],
            ),
            (
                "a pause",
                avoiding(30),
                [
                    acks(50),
                    {"event": "tx_start"},
                    *[acks(31, rtt_ms=140)] * 4,
                    {"event": "cwnd_restart"},
                    acks(60),
                ],
            ),
            (
                "not limited",
                avoiding(30),
                [acks(90, limited=False), acks(5), acks(40, rtt_ms=0, limited=False)],
            ),
            (
                "the smallest windows",
                avoiding(3),
                [acks(3), *[acks(4, rtt_ms=900)] * 12, LOST, acks(9), TIMEOUT, acks(1)],
            ),
            ("delayed ACKs", at(10, 60), [*[acks(20, acked=2)] * 8, *[acks(20, acked=2, rtt_ms=108)] * 8]),
            (
                "a huge window",
                avoiding(2**31 - 100),
                [
                    acks(300, acked=2**26, rtt_ms=1000),
                    acks(300, acked=2**26, rtt_ms=600000),
                    acks(60, acked=2**26, rtt_ms=1000),
                ],
            ),
        )
    ]


class VegasAgent(Model):
    """Agent/TCP/Vegas of ns-2.35, as vegas.h describes it, with a real cwnd."""

    base = math.inf
    rest = Decimal(0)
    step = None  # growth per ACK; None: does not grow

    def start(self, s):
        self.initial, s.cwnd = s.cwnd, 1
        self.begin, self.rtts, self.doubles = 1, [], False
        self.alpha, self.beta, self.gamma = (
            int(self.p.get(name, value)) for name, value in (("alpha", 1), ("beta", 3), ("gamma", 1))
        )

    def round(self, s):
        following = s.delivered + s.in_flight
        sent, self.begin = max(following - self.begin, 0), following
        slow_start = s.cwnd < s.ssthresh
        self.doubles = slow_start and not self.doubles
        self.step = Decimal(1) if self.doubles else None
        if not self.rtts:
            return
        rtt, self.rtts = sum(self.rtts) // len(self.rtts), []
        if sent <= 1:
            self.base = rtt
        self.base = min(self.base, rtt)
        diff = math.floor(s.in_flight + 1 - Fraction(sent * self.base, rtt) + Fraction(1, 2))
        if slow_start:
            if diff > self.gamma:
                real = Decimal(s.cwnd) * 7 / 8
                s.cwnd, self.rest = max(math.floor(real), 2), real % 1
                s.ssthresh, self.step, self.doubles = 2, None, False
        elif diff > self.beta:
            s.cwnd = max(s.cwnd - 1, 2)
        elif diff < self.alpha:
            self.step, self.doubles = 1 / (s.cwnd + self.rest), True

    def ack(self, s):
        if self.initial:
            s.cwnd, self.initial = self.initial, None
        if s.delivered > self.begin:
            self.round(s)
        if self.step and s.cwnd - s.in_flight <= 3:
            real = s.cwnd + self.rest + self.step
            s.cwnd, self.rest = math.floor(real), real % 1
        if s.rtt:
            self.rtts.append(s.rtt)
            self.base = min(self.base, s.rtt)

    def loss(self, s, timeout):
        real = min(s.cwnd + self.rest, Decimal(s.snd_wnd)) * 3 / 4
        left = max(math.floor(real), 2)
        self.rest = Decimal(0) if timeout else real % 1
        return max(left // 3 * 2, 2) if timeout else left

    def repaired(self, s):
        s.ssthresh = 2


MORE = {"alpha": "2", "beta": "4", "gamma": "3"}

CASES = [
    *courses(Vegas),
    *courses(VegasLinux, variant="linux"),
    *courses(VegasNs2, variant="ns2"),
    *[
        case(
            f"{params.get('variant', 'spec')}: parameters",
            model,
            at(2, 45),
            acks(60),
            *queue(40, 0, 2.5, 0, 2.5, 2.5, 1, 1, 1.5, 1.5, 3.5, 3.5, 3.7, 4.2, 4.2, 4.6, 5.5, 5.5, 6),
            **MORE,
            **params,
        )
        for model, params in (
            (Vegas, {}),
            (VegasLinux, {"variant": "linux"}),
            (VegasNs2, {"variant": "ns2"}),
        )
    ],
    *[
        case(
            f"ns2-agent: {what}", VegasAgent, start, *steps, tolerance=tolerance, variant="ns2-agent", **params
        )
        for what, start, steps, tolerance, params in (
            ("slow start, its end, growth", at(2), [acks(n) for n in (1, 3, 6, 12, 24, 48)], 0, {}),
            (
                "a queue ends slow start, and what follows waits",
                at(2),
                [*[acks(n) for n in (1, 3, 6, 12)], *[acks(12, rtt_ms=100 + n) for n in range(0, 40, 4)]],
                1,
                {},
            ),
            ("a loss", avoiding(40), [acks(90), LOST, acks(90), LOST, *[acks(40)] * 4], 1, {}),
            ("a timeout", avoiding(40), [acks(90), TIMEOUT, acks(12), acks(90)], 1, {}),
            ("cwnd outgrows the receive window", at(48, 50), [acks(300, snd_wnd=50), LOST, acks(60)], 1, {}),
            (
                "parameters",
                at(2, 45),
                [acks(60), *[acks(40, rtt_ms=100 + n) for n in (0, 5, 8, 9, 10, 12, 14, 2, 0)]],
                1,
                MORE,
            ),
        )
    ],
]
