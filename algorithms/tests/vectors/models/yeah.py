"""YeAH-TCP."""

import math
from fractions import Fraction

from stack import Model, Rounds, acks, LOST, TIMEOUT, UNDO, case, at, avoiding, queue


class Yeah(Model):
    """The paper's rules."""

    CONSTANTS = {
        "alpha": 80,
        "gamma": 1,
        "delta": 8,
        "epsilon": 2,
        "phi": 8,
        "rho": 16,
        "zeta": 50,
        "ai_cnt": 100,
    }
    base, queue, slow_rtts, fast_rtts, reno, credit = math.inf, 0, 0, 0, 2, 0
    extra_us, enough = 0, 1

    def start(self, s):
        for name, value in self.CONSTANTS.items():
            setattr(self, name, int(self.p.get(name, value)))
        self.rounds, self.rtts = Rounds(), []

    def sample(self, s):
        self.rtts.append(s.rtt + self.extra_us)
        self.base = min(self.base, self.rtts[-1])

    def ack(self, s):
        if not s.limited:
            return
        self.grow(s)
        if self.rounds.over(s):
            if len(self.rtts) >= self.enough:
                self.judge(s, min(self.rtts))
            self.rtts = []

    def grow(self, s):
        super().ack(s)

    def avoid(self, s, acked):
        per = s.cwnd if self.slow_rtts else min(s.cwnd, self.ai_cnt)
        if self.credit >= per:
            self.credit = 0
            s.cwnd += 1
        self.credit += acked
        more, self.credit = divmod(self.credit, per)
        s.cwnd += more

    def exceeds(self, value, bound):
        return value > bound

    def judge(self, s, rtt):
        queue = Fraction(s.cwnd * (rtt - self.base), rtt)
        long = self.exceeds(queue, self.alpha)
        self.queue = math.floor(queue)
        if not long and not self.congested(rtt - self.base):
            self.slow_rtts = 0
            self.fast_rtts += 1
            if self.fast_rtts > self.zeta:
                self.fast_rtts, self.reno = 0, 2
            return
        self.slow_rtts += 1
        if long and s.cwnd > self.reno:
            drained = s.cwnd - min(self.queue // self.gamma, s.cwnd // self.epsilon)
            s.cwnd = s.ssthresh = max(drained, self.reno)
        self.reno = self.reno + 1 if self.reno > 2 else max(s.cwnd // 2, 2)

    def congested(self, delay):
        return Fraction(delay, self.base) > Fraction(1, self.phi)

    def repaired(self, s):
        self.rounds.mark, self.rtts = s.delivered + s.in_flight, []

    def loss(self, s, timeout):
        half = max(s.cwnd // 2, 2)
        cut = half if self.slow_rtts >= self.rho else max(min(self.queue, half), s.cwnd // self.delta)
        self.fast_rtts, self.credit, self.reno = 0, 0, max(self.reno // 2, 2)
        return max(s.cwnd - cut, 2)


class YeahLinux(Yeah):
    """As yeah.h describes the kernel."""

    extra_us, enough = 1, 3

    def exceeds(self, value, bound):
        return math.floor(value) > bound

    def congested(self, delay):
        return delay > self.base // self.phi

    def grow(self, s):
        super().grow(s)
        s.cwnd = min(s.cwnd, 2**25 - 1)

    def event(self, s, event):
        self.repaired(s)
        self.base = math.inf


class YeahNs2(YeahLinux):
    def grow(self, s):
        if s.cwnd <= s.ssthresh:
            s.cwnd += 1
            return
        self.credit += 1 if self.slow_rtts else s.acked
        if self.credit >= s.cwnd if self.slow_rtts else self.credit > min(s.cwnd, self.ai_cnt):
            s.cwnd, self.credit = s.cwnd + 1, 0


def courses(model, **params):
    name = params.get("variant", "spec")
    return [
        case(f"{name}: {what}", model, start, *steps, **params)
        for what, start, steps in (
            ("fast, slow, drained", avoiding(500), queue(500, 0, 0, 20, 50, 60, 70, 90, 100, 90, 90, 0, 0)),
            (
                "a loss takes the queue",
                avoiding(500),
                [*queue(500, 0, 60), LOST, *queue(500, 0, 200), LOST, *queue(500, 0, 10), LOST, UNDO, *queue(500, 0)],
            ),
            (
                "Reno competes",
                avoiding(400),
                [*queue(500, 0, *[80] * 20), LOST, *queue(500, 0, *[50] * 18, 90, 100), LOST, *queue(500, 0, 0)],
            ),
            (
                "Reno is gone",
                avoiding(60),
                [
                    *[acks(50)] * 5,
                    *[acks(70, rtt_ms=120)] * 5,
                    *[acks(90)] * 53,
                    *[acks(110, rtt_ms=300)] * 3,
                ],
            ),
            (
                "slow start",
                at(2, 300),
                [acks(150), acks(200), acks(400), TIMEOUT, acks(200), LOST, acks(300)],
            ),
            (
                "a queue in slow start",
                at(400, 1000),
                [acks(1), acks(399, rtt_ms=150), acks(800, rtt_ms=150), acks(900)],
            ),
            (
                "few samples",
                avoiding(6),
                [*[acks(5, rtt_ms=0), acks(1, rtt_ms=300)] * 6, *[acks(2, rtt_ms=0), acks(1)] * 6, LOST],
            ),
            (
                "a pause",
                avoiding(200),
                [
                    acks(300),
                    {"event": "tx_start"},
                    acks(400, rtt_ms=140),
                    {"event": "cwnd_restart"},
                    acks(400, rtt_ms=170),
                    LOST,
                ],
            ),
            (
                "not limited",
                avoiding(100),
                [acks(250, limited=False), acks(40), acks(200, rtt_ms=150, limited=False), LOST],
            ),
            (
                "the smallest windows",
                avoiding(3),
                [acks(9), acks(20, rtt_ms=500), LOST, LOST, TIMEOUT, TIMEOUT, acks(9)],
            ),
            ("a tiny RTT", avoiding(90), [acks(200, rtt_ms=0.009), acks(300, rtt_ms=0.01), LOST]),
            (
                "a huge window",
                avoiding(2**25 - 20),
                [acks(900, acked=2**20, rtt_ms=1000), acks(90, acked=2**20, rtt_ms=600000), LOST],
            ),
        )
    ]


CASES = [
    *courses(Yeah),
    *courses(YeahLinux, variant="linux"),
    *courses(YeahNs2, variant="ns2"),
    *[
        case(
            f"{params.get('variant', 'spec')}: parameters",
            model,
            avoiding(500),
            *queue(500, 0, 30, 30, 0, 18, 26, 60, 350, 0, 0, 0, 0, 0, 40, 0, 0),
            LOST,
            *queue(300, 0, 20, 20, 22, 22),
            LOST,
            alpha="25",
            gamma="3",
            delta="5",
            epsilon="4",
            phi="20",
            rho="3",
            zeta="4",
            ai_cnt="50",
            **params,
        )
        for model, params in (
            (Yeah, {}),
            (YeahLinux, {"variant": "linux"}),
            (YeahNs2, {"variant": "ns2"}),
        )
    ],
]
