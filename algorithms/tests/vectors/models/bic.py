"""BIC."""

from math import floor

from slow_start import ends_slow_start
from stack import OPEN, Model, acks, LOST, TIMEOUT, UNDO, case, at, avoiding


class Bic(Model):
    """The paper's rules, in real numbers: a search, then a probe, then straight on."""

    def start(self, s):
        def number(name, default):
            return float(self.p.get(name, default))

        self.s_max, self.s_min = number("s_max", 32), number("s_min", 0.01)
        self.kept, self.low = 1 - number("beta", 0.125), number("low_window", 14)
        self.stage, self.max = "straight", None
        self.rest, self.credit = 0.0, 0

    def increment(self, window):
        if self.stage == "search":
            return max(min((self.max - window) / 2, self.s_max), 0)
        return min(self.step, self.s_max) if self.stage == "probe" else self.s_max

    def avoid(self, s, acked):
        if s.cwnd < self.low:
            grown, self.credit = divmod(self.credit + acked, s.cwnd)
            s.cwnd += grown
            return
        window = s.cwnd + self.rest
        window += acked * min(self.increment(window), s.cwnd) / s.cwnd
        s.cwnd, self.rest = floor(window), window % 1
        if self.stage == "search" and (self.max - window) / 2 < self.s_min:
            self.stage, self.step, self.goal = "probe", 1, window + 1
        elif self.stage == "probe" and window >= self.goal:
            self.step *= 2
            self.goal = window + self.step
            if self.step >= self.s_max:
                self.stage = "straight"

    def loss(self, s, timeout):
        self.credit, self.saved = 0, (self.stage, self.max)
        if s.cwnd < self.low:
            return max(s.cwnd // 2, 2)
        shrunk = self.stage == "search" and s.cwnd < self.max
        self.max = s.cwnd
        if shrunk and self.p.get("fast_convergence") != "off":
            self.max = (s.cwnd + self.kept * s.cwnd) / 2
        self.stage = "search"
        return max(floor(self.kept * s.cwnd), 2)

    def undo(self, s):
        self.stage, self.max = self.saved
        return super().undo(s)


class Linux(Model):
    """The kernel's module as bic.h describes it."""

    def start(self, s):
        self.credit = 0
        self.forget()

    def forget(self):
        self.max, self.ratio, self.computed = 0, 32, None

    def sample(self, s):
        if s.state == OPEN:
            self.ratio += s.acked - self.ratio // 16

    def segments(self, w):
        """Segments acknowledged per segment of growth."""
        if w < self.max:
            step = (self.max - w) // 4
            return w // min(step, 16) if step >= 2 else 5 * w
        beyond = w - self.max
        return 5 * w if beyond < 4 else 3 * w // beyond if beyond < 48 else w // 16

    def cnt(self, s):
        now = s.now // 1000
        if self.computed and self.computed[0] == s.cwnd and now - self.computed[1] <= 31:
            return self.computed[2]
        count = s.cwnd
        if s.cwnd > 14:
            count = self.segments(s.cwnd)
            if not self.max:
                count = min(count, 20)
            count = max(count * 16 // self.ratio, 1)
        self.computed = s.cwnd, now, count
        return count

    def avoid(self, s, acked):
        count = self.cnt(s)
        if self.credit >= count:
            self.credit = 0
            s.cwnd += 1
        grown, self.credit = divmod(self.credit + acked, count)
        s.cwnd += grown

    def loss(self, s, timeout):
        self.credit = 0
        if s.cwnd < self.max and self.p.get("fast_convergence") != "off":
            self.max = s.cwnd * 1843 // 2048
        else:
            self.max = s.cwnd
        if timeout:
            self.forget()
        return max(s.cwnd // 2 if s.cwnd <= 14 else s.cwnd * 819 // 1024, 2)


class Ns2(Linux):
    def ack(self, s):
        if not s.limited:
            return
        if s.cwnd <= s.ssthresh:
            s.cwnd += 1
            return
        self.credit += 1
        if self.credit > self.cnt(s):
            self.credit = 0
            s.cwnd += 1


def common(model, **params):
    name = params.get("variant", "spec")
    tolerance = 1 if name == "spec" else 0

    def one(title, *steps):
        return case(f"{name}: {title}", model, *steps, tolerance=tolerance, **params)

    return [
        one("slow start, then no maximum yet", at(2, 60), acks(58), *[acks(60)] * 8),
        one("back to the maximum and beyond", avoiding(400), acks(1), LOST, *[acks(400)] * 40),
        one(
            "the same with an ACK for every other segment",
            avoiding(400),
            acks(100, acked=2),
            LOST,
            *[acks(200, acked=2, gap_us=2000)] * 40,
        ),
        one("slow ACKs", avoiding(60), acks(1), LOST, *[acks(30, gap_us=40_000)] * 40),
        one(
            "fast convergence",
            avoiding(600),
            acks(1),
            LOST,
            acks(300),
            LOST,
            *[acks(600)] * 15,
            LOST,
            acks(100),
            LOST,
            acks(500),
        ),
        one(
            "a small window",
            avoiding(5),
            *[acks(12)] * 8,
            LOST,
            acks(90),
            LOST,
            acks(60),
            LOST,
            LOST,
            LOST,
            acks(100),
        ),
        one("a timeout", avoiding(300), acks(1), LOST, acks(500), TIMEOUT, acks(230), *[acks(200)] * 10),
        one(
            "a spurious loss is taken back",
            avoiding(300),
            acks(1),
            LOST,
            acks(2000),
            LOST,
            acks(100),
            UNDO,
            *[acks(300)] * 10,
        ),
        one(
            "two thousand million",
            avoiding(2_000_000_000),
            acks(100, acked=123_456),
            LOST,
            acks(100, acked=98_765),
            TIMEOUT,
        ),
        one("nothing grows while the sender is not held back", avoiding(50), acks(500, limited=False)),
        case(
            f"{name}: no fast convergence",
            model,
            avoiding(600),
            acks(1),
            LOST,
            acks(300),
            LOST,
            *[acks(600)] * 15,
            tolerance=tolerance,
            fast_convergence="off",
            **params,
        ),
    ]


CASES = [
    *common(Bic),
    case(
        "parameters",
        Bic,
        avoiding(300),
        acks(10),
        LOST,
        *[acks(300)] * 25,
        LOST,
        {"cwnd": 29},
        acks(30),
        LOST,
        tolerance=1,
        s_max="12",
        s_min="0.2",
        beta="0.3",
        low_window="30",
    ),
    *common(Linux, variant="linux"),
    *common(Ns2, variant="ns2"),
    case("ns2: 29180 -> 23338", Ns2, avoiding(29180), LOST, variant="ns2"),
    *ends_slow_start(Bic),
]
