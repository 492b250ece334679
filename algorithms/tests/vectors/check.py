"""Computes what the vectors beside this file expect.

    python3 check.py            writes NAME.json, one file per algorithm
    python3 check.py --check    fails if a file is not what this script would write

The decisions come from the equations of the papers and RFCs, in real or rational arithmetic, and
not from the headers. A case that has a tolerance is one whose header rounds where the equation
does not: its expected cwnd is a range.
"""

import json
import math
import sys
from decimal import Decimal, getcontext
from fractions import Fraction
from functools import cache
from pathlib import Path

getcontext().prec = 60
HERE = Path(__file__).parent
INFINITE = 0x7FFFFFFF
OPEN, DISORDER, CWR, RECOVERY, LOSS = range(5)
STATES = {"open": OPEN, "disorder": DISORDER, "recovery": RECOVERY, "loss": LOSS}


class Sender:
    """The stack around an algorithm: what tests/sender/mod.rs does in Rust."""

    def __init__(self, model, window):
        self.model = model
        self.cwnd, self.ssthresh = window["cwnd"], window.get("ssthresh", INFINITE)
        self.prior = 0
        self.now = 1_000_000
        self.delivered = self.in_flight = 0
        self.rtt = self.min_rtt = self.acked = 0
        self.snd_wnd = INFINITE
        self.limited, self.state = True, OPEN
        model.start(self)

    def step(self, step):
        if "acks" in step:
            for _ in range(step["acks"]):
                self.ack(step)
        elif "loss" in step:
            self.prior = self.cwnd
            self.ssthresh = self.cwnd = self.model.loss(self, timeout=False)
            self.model.repaired(self)
        elif "rto" in step:
            self.prior = self.cwnd
            self.ssthresh = self.model.loss(self, timeout=True)
            self.cwnd = 1
        elif "undo" in step:
            self.cwnd = self.model.undo(self)
        elif "event" in step:
            self.model.event(self, step["event"])
        else:
            self.cwnd = step["cwnd"]

    def ack(self, step):
        self.acked = step.get("acked", 1)
        self.now += step["gap_us"]
        self.delivered += self.acked
        self.in_flight = max(self.cwnd - self.acked, 0)
        self.limited = step.get("limited", True)
        self.state = STATES[step.get("state", "open")]
        self.snd_wnd = step.get("snd_wnd", INFINITE)
        self.rtt = step.get("rtt_us", 0)
        if self.rtt:
            self.min_rtt = min(self.min_rtt or self.rtt, self.rtt)
            self.model.sample(self)
        if self.state != RECOVERY:
            self.model.ack(self)


class Model:
    def __init__(self, **params):
        self.p = params

    def start(self, s): ...
    def sample(self, s): ...
    def repaired(self, s): ...
    def event(self, s, event): ...

    def undo(self, s):
        return max(s.cwnd, s.prior)

    def ack(self, s):
        """Slow start up to ssthresh, congestion avoidance with what is left."""
        if not s.limited:
            return
        left = s.acked
        if s.cwnd < s.ssthresh:
            left -= min(left, s.ssthresh - s.cwnd)
            s.cwnd += s.acked - left
        if left:
            self.avoid(s, left)


class Reno(Model):
    """RFC 5681: cwnd += 1/cwnd per segment, in whole segments; half on loss."""

    credit = 0

    def avoid(self, s, acked):
        self.credit += acked
        if self.credit >= s.cwnd:
            self.credit -= s.cwnd
            s.cwnd += 1

    def loss(self, s, timeout):
        self.credit = 0
        return max(s.cwnd // 2, 2)


class Discrete(Reno):
    """The paper's Fig. 1."""

    def ack(self, s):
        if self.p.get("cut") == "raw":
            s.limited = True
        super().ack(s)

    def loss(self, s, timeout):
        self.credit = 0
        window = min(s.cwnd, s.snd_wnd)
        if timeout:
            return max(window // 2, 2)
        if self.p.get("cut") == "raw":
            return max(s.cwnd * 3 // 4, 2)
        return max(window // 2 if s.cwnd < s.ssthresh else window * 3 // 4, 2)


@cache
def elastic_growth(rtt_max, rtt, cwnd, thousandths):
    wwf = (Decimal(rtt_max) / rtt * cwnd).sqrt()
    growth = min(wwf / cwnd, Decimal(1))
    return Decimal(math.floor(1000 * growth)) / 1000 if thousandths else growth


class Elastic(Model):
    """WWF = sqrt(RTTmax / RTTcur * cwnd); cwnd += WWF / cwnd (Eqs. 2-6)."""

    carry = Decimal(0)
    rtt = rtt_max = 0

    def sample(self, s):
        if s.state <= DISORDER:
            self.rtt = s.rtt
            if self.p.get("rtt_max_from") != "avoidance":
                self.rtt_max = max(self.rtt_max, s.rtt)

    def avoid(self, s, acked):
        self.rtt_max = max(self.rtt_max, self.rtt)
        paper = self.p.get("arithmetic") == "paper"
        self.carry += acked * elastic_growth(self.rtt_max, self.rtt, s.cwnd, paper)
        s.cwnd += math.floor(self.carry)
        self.carry %= 1

    def loss(self, s, timeout):
        if self.p.get("arithmetic") == "paper":
            self.carry = Decimal(0)
        if timeout and self.p.get("reset_rtt_on_rto") == "on":
            self.rtt_max = 0
        return max(math.floor(s.cwnd * Fraction(self.p.get("beta", "0.9"))), 2)


@cache
def agile_sd_growth(top, bottom, lost, left, cwnd, slow):
    agility = top * max(lost - cwnd, 0) / max(lost - left, 1)
    agility = Fraction(math.floor(1000 * max(min(agility, top), bottom)), 1000)
    places = 1000 if slow else 10**6
    return min(Fraction(math.floor(places * agility / cwnd), 10_000 if slow else places), 1)


class AgileSd(Model):
    """The rule of the authors' module: lambda in thousandths, growth in millionths, rounded down."""

    lost = left = 0
    carry = Fraction(0)

    def avoid(self, s, acked):
        top, bottom = Fraction(self.p.get("lambda_max", 3)), Fraction(self.p.get("lambda_min", 1))
        slow = self.p.get("build") == "slow"
        self.carry += acked * agile_sd_growth(top, bottom, self.lost, self.left, s.cwnd, slow)
        s.cwnd += math.floor(self.carry)
        self.carry %= 1

    def loss(self, s, timeout):
        self.lost = s.cwnd
        self.left = max(math.floor(s.cwnd * Fraction(self.p.get("beta", "0.9"))), 2)
        self.carry = Fraction(0)
        return self.left

    def undo(self, s):
        return max(s.cwnd, self.lost)


class Cubic(Model):
    """RFC 9438, section 4, in real numbers; beta and C are multiples of 1/1024."""

    wmax = prior = 0
    start_us = None
    carry = 0.0
    last_us = 0
    idle = False
    saved = None

    def start(self, s):
        self.beta = Fraction(round(float(self.p.get("beta", "0.7")) * 1024), 1024)
        self.c = float(Fraction(round(float(self.p.get("c", "0.4")) * 1024), 1024))

    def ack(self, s):
        gap, self.last_us = s.now - self.last_us, s.now
        if self.start_us is not None and (self.idle or not s.limited):
            self.start_us += gap
        self.idle = False
        super().ack(s)

    def curve(self, seconds):
        return self.c * (seconds - self.k) ** 3 + self.wmax

    def avoid(self, s, acked):
        if self.start_us is None:
            self.start_us, self.west, self.carry = s.now, Fraction(s.cwnd), 0.0
            self.wmax = max(self.wmax, s.cwnd)
            self.k = ((self.wmax - s.cwnd) / self.c) ** (1 / 3)
            self.prior = self.prior or s.cwnd
        t = (s.now - self.start_us) / 1e6
        alpha = 3 * (1 - self.beta) / (1 + self.beta) if self.west < self.prior else 1
        # Rounded only to keep the denominator from growing with every ACK.
        self.west = Fraction(round((self.west + alpha * acked / s.cwnd) * 2**64), 2**64)
        if self.p.get("reno_friendly") != "off" and self.curve(t) < self.west:
            s.cwnd += max(0, min(math.floor(self.west) - s.cwnd, acked))
            return
        target = min(max(self.curve(t + s.rtt / 1e6), s.cwnd), 1.5 * s.cwnd)
        self.carry += acked * (target - s.cwnd) / s.cwnd
        s.cwnd += math.floor(self.carry)
        self.carry %= 1

    def loss(self, s, timeout):
        if s.cwnd < self.wmax and self.p.get("fast_convergence") != "off":
            wmax = s.cwnd * (1 + self.beta) / 2
        else:
            wmax = s.cwnd
        self.saved = self.wmax, self.start_us, self.prior
        self.saved += (self.k, self.west) if self.start_us is not None else (0, Fraction(0))
        self.start_us, self.prior = None, s.cwnd
        self.wmax = 0 if timeout else math.floor(wmax)
        return max(math.floor(s.cwnd * self.beta), 2)

    def event(self, s, event):
        self.idle = self.idle or event == "tx_start"

    def undo(self, s):
        self.wmax, self.start_us, self.prior, self.k, self.west = self.saved
        return super().undo(s)


class CubicNs2(Model):
    """CUBIC 2.1 as the header of cubic.h describes it, the curve in real numbers."""

    def start(self, s):
        self.beta = Fraction(round(float(self.p.get("beta", "0.7")) * 1024), 1024)
        self.c = float(Fraction(round(float(self.p.get("c", "0.4")) * 1024), 1024))
        self.increment = int(self.p.get("max_increment", 16))
        self.count = 0
        self.forget()

    def forget(self):
        self.start_us = self.computed = self.delay = None
        self.wmax, self.lossless, self.ratio, self.cnt = 0, True, 32, 0

    def sample(self, s):
        if s.state == OPEN:
            self.ratio += s.acked - self.ratio // 16
        if self.start_us is None or s.now - self.start_us >= 1_000_000:
            self.delay = min(self.delay or s.rtt, s.rtt)

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
        cwnd = s.cwnd
        if self.start_us is not None:
            self.acks += 1
        if self.computed and self.computed[0] == cwnd and s.now - self.computed[1] <= 1e6 / 32:
            return
        self.computed = cwnd, s.now
        if self.start_us is None:
            self.start_us, self.acks, self.west = s.now, 1, cwnd
            self.origin = max(self.wmax, cwnd)
            self.k = ((self.origin - cwnd) / self.c) ** (1 / 3)
        t = (s.now - self.start_us + (self.delay or 0)) / 1e6
        target = math.floor(self.origin + self.c * (t - self.k) ** 3)
        cnt = cwnd // (target - cwnd) if target > cwnd else 100 * cwnd
        if self.increment and self.delay and t >= self.k:
            cnt = max(cnt, math.floor(cwnd / (10 * self.increment * self.delay / 1e6)))
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
        wmax, self.start_us, self.lossless, self.count = self.wmax, None, False, 0
        converge = s.cwnd < wmax and self.p.get("fast_convergence") != "off"
        self.wmax = math.floor(s.cwnd * (1 + self.beta) / 2) if converge else s.cwnd
        if timeout:
            self.forget()
        return max(math.floor(s.cwnd * self.beta), 2)


class Rounds:
    """Counts RTTs: one is over when a segment is delivered that was sent after the last was."""

    def __init__(self):
        self.mark, self.sent = 0, [0, 0]

    def over(self, s):
        if s.delivered <= self.mark:
            return False
        end = s.delivered + s.in_flight
        self.sent = [end - self.mark, self.sent[0]]
        self.mark = end
        return True


class Compound(Model):
    """The paper's rules, in real numbers."""

    dwnd = 0.0
    credit = 0

    def start(self, s):
        unit = {"alpha": "0.125", "beta": "0.5", "gamma": "30", "zeta": "1"} | self.p
        self.alpha, self.beta, self.gamma, self.zeta = (float(unit[n]) for n in ("alpha", "beta", "gamma", "zeta"))
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


class CompoundNs2(Model):
    """The Linux 2.6.17 arithmetic as compound.h describes it, in whole numbers."""

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
        root = 0
        while (root + 1) ** 4 <= win**3:
            root += 1
        self.dwnd += max(root // 8 - 1, 0)

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


def acks(n, rtt_ms=100, gap_us=1000, **more):
    rtt = {"rtt_us": round(rtt_ms * 1000)} if rtt_ms else {}
    return {"acks": n, "gap_us": gap_us, **rtt, **more}


LOST, TIMEOUT, UNDO = {"loss": True}, {"rto": True}, {"undo": True}


def case(name, model, window, *steps, tolerance=0, **params):
    return {"name": name, "model": model, "window": window, "steps": steps,
            "tolerance": tolerance, "params": params}


def at(cwnd, ssthresh=INFINITE):
    return {"cwnd": cwnd, "ssthresh": ssthresh}


def avoiding(cwnd):
    return at(cwnd, cwnd)


ALGORITHMS = {
    "reno": [
        case("slow start, avoidance, loss, timeout", Reno, at(2, 64),
             acks(30), acks(32), acks(64), acks(65), LOST, acks(100), TIMEOUT, acks(40)),
        case("nothing grows while the application is the limit", Reno, at(10), acks(50, limited=False), acks(1)),
        case("an ACK that crosses ssthresh leaves the rest to avoidance", Reno, at(9, 10),
             acks(1, acked=8), acks(1, acked=3)),
    ],
    "discrete": [
        case("a half in slow start", Discrete, at(40), acks(10), LOST),
        case("three quarters in avoidance", Discrete, avoiding(40), acks(41), LOST, acks(31), LOST),
        case("a half after a timeout, and the next loss is no timeout", Discrete, avoiding(40),
             acks(1), TIMEOUT, acks(30), LOST),
        case("of the window in use, not of cwnd", Discrete, avoiding(100), acks(1, snd_wnd=50), LOST,
             {"cwnd": 100}, acks(1, snd_wnd=50), TIMEOUT),
        case("nothing grows while the sender is not held back", Discrete, avoiding(50), acks(500, limited=False)),
        case("raw: three quarters of cwnd in any state, but for a timeout", Discrete, at(40),
             acks(1, snd_wnd=50), LOST, {"cwnd": 100}, acks(1, snd_wnd=50), LOST,
             {"cwnd": 100}, acks(1, snd_wnd=50), TIMEOUT, cut="raw"),
        case("raw: cwnd grows past what limits the sender", Discrete, avoiding(50), acks(500, limited=False), cut="raw"),
    ],
    "agile-sd": [
        case("Reno before the first loss", AgileSd, avoiding(100), acks(99), acks(1), acks(1), acks(101)),
        case("three times Reno after it, less and less", AgileSd, at(100), acks(900), LOST,
             *[acks(900)] * 25),
        case("the fraction is lost at a cut", AgileSd, avoiding(100), acks(99), LOST, acks(16), acks(14), acks(1)),
        case("a timeout keeps the marks", AgileSd, avoiding(500), acks(10), TIMEOUT, acks(460), acks(2000)),
        case("parameters", AgileSd, avoiding(500), acks(10), LOST, *[acks(500)] * 12,
             beta="0.75", lambda_max="5", lambda_min="0.5"),
        case("a spurious loss is taken back", AgileSd, avoiding(500), acks(10), LOST, acks(20), UNDO),
        case("slow: exactly zero above 3000", AgileSd, avoiding(3400), LOST, acks(20000), build="slow"),
        case("slow: Fig. 8d, 458 to 504", AgileSd, avoiding(509), LOST, *[acks(2000)] * 40, build="slow"),
        case("slow: Fig. 8d, 803 to 852", AgileSd, avoiding(893), LOST, *[acks(4000)] * 40, build="slow"),
    ],
    "elastic": [
        case("an empty queue: sqrt(cwnd RTTmax / RTT) segments per RTT", Elastic, avoiding(100),
             acks(1, rtt_ms=400), *[acks(200)] * 10, tolerance=1),
        case("a full one: sqrt(cwnd) segments per RTT", Elastic, avoiding(10000), *[acks(10000)] * 3, tolerance=1),
        case("a huge window", Elastic, avoiding(2**31 - 10**6), acks(1, rtt_ms=600000),
             acks(20000, rtt_ms=0.001, acked=40), acks(20000, rtt_ms=0.3, acked=500), tolerance=2),
        case("never faster than slow start", Elastic, avoiding(4), acks(1, rtt_ms=1000), acks(20, rtt_ms=0.1),
             acks(1, rtt_ms=0.1, acked=30), tolerance=1),
        case("samples count in slow start, not during the repair", Elastic, at(50, 100),
             acks(50, rtt_ms=200), acks(500), acks(20, rtt_ms=5000, state="recovery"), acks(500),
             acks(1, rtt_ms=0), tolerance=1),
        case("Algorithm 1: samples count in avoidance alone", Elastic, at(50, 100),
             acks(49, rtt_ms=200), acks(1, rtt_ms=200), acks(500), acks(500, rtt_ms=150), acks(500),
             tolerance=1, rtt_max_from="avoidance"),
        case("loss and timeout", Elastic, avoiding(1000), acks(1, rtt_ms=400), acks(500), LOST, acks(500), TIMEOUT,
             acks(950), acks(500), tolerance=1),
        case("RTTmax forgotten at a timeout", Elastic, avoiding(1000), acks(1, rtt_ms=400), acks(500), TIMEOUT,
             acks(950), acks(500), tolerance=1, reset_rtt_on_rto="on", beta="0.8"),
        case("paper: Fig. 7a, 29180 -> 26262", Elastic, avoiding(29180), acks(1, rtt_ms=300), LOST,
             *[acks(26262, gap_us=8, rtt_ms=204)] * 4, arithmetic="paper"),
        case("paper: 30839 -> 27755", Elastic, avoiding(30839), LOST, arithmetic="paper"),
        case("paper: Fig. 7a, six thousandths below 29166, five above", Elastic, avoiding(29100),
             acks(1, rtt_ms=257.25), acks(10000, rtt_ms=244.44), {"cwnd": 29200}, acks(10000, rtt_ms=245.28),
             arithmetic="paper"),
        case("paper: the fraction is lost at a cut", Elastic, avoiding(1000), acks(31), LOST, acks(30), acks(1),
             acks(1), acks(1), acks(1), arithmetic="paper"),
        case("paper: small windows", Elastic, avoiding(2), *[acks(3, rtt_ms=100 + n) for n in range(20)],
             arithmetic="paper"),
    ],
    "cubic": [
        case("slow start, then the first stage on the plateau", Cubic, at(2, 200), acks(198), acks(4000, gap_us=500),
             tolerance=1),
        case("back to the plateau and beyond", Cubic, avoiding(200), LOST, *[acks(2000, gap_us=500)] * 12, tolerance=1),
        case("the same with an ACK for every other segment", Cubic, avoiding(200), LOST,
             *[acks(1000, gap_us=1000, acked=2)] * 12, tolerance=1),
        case("a steep curve is held to half a segment per segment", Cubic, avoiding(200), LOST,
             *[acks(50, gap_us=40000, rtt_ms=1000)] * 12, tolerance=2, c="4"),
        case("Reno-friendly", Cubic, avoiding(20), LOST, *[acks(500, rtt_ms=10, gap_us=500)] * 20, tolerance=1),
        case("not Reno-friendly", Cubic, avoiding(20), LOST, *[acks(500, rtt_ms=10, gap_us=500)] * 20, tolerance=1,
             reno_friendly="off"),
        case("fast convergence", Cubic, avoiding(300), LOST, acks(2000, gap_us=400), LOST,
             *[acks(2000, gap_us=400)] * 8, tolerance=1),
        case("no fast convergence", Cubic, avoiding(300), LOST, acks(2000, gap_us=400), LOST,
             *[acks(2000, gap_us=400)] * 8, tolerance=1, fast_convergence="off"),
        case("after a timeout: slow start, then the plateau", Cubic, avoiding(300), acks(10), TIMEOUT, acks(209),
             acks(10000, gap_us=500), tolerance=1),
        case("parameters", Cubic, avoiding(300), LOST, *[acks(2000, gap_us=500)] * 8, tolerance=1, beta="0.5", c="1.5"),
        case("a spurious loss is taken back", Cubic, avoiding(300), LOST, acks(4000, gap_us=500), LOST, acks(100),
             UNDO, acks(4000, gap_us=500), tolerance=1),
        case("time in which the application is the limit does not count", Cubic, avoiding(300), LOST,
             acks(2000, gap_us=500), acks(100, gap_us=100000, limited=False), acks(2000, gap_us=500),
             {"event": "tx_start"}, acks(1, gap_us=60_000_000), acks(2000, gap_us=500), tolerance=1),
        case("a window of a hundred million", Cubic, avoiding(100_000_000), LOST,
             acks(1000, gap_us=100_000, acked=100_000, rtt_ms=100_000), tolerance=6000),
        case("a window of two thousand million", Cubic, avoiding(2_000_000_000), LOST,
             acks(1000, gap_us=600_000, acked=1_000_000, rtt_ms=600_000), tolerance=300_000),
        case("ns2: 29180 -> 23338", CubicNs2, avoiding(29180), LOST, arithmetic="ns2", beta="0.8"),
        case("ns2: one more ACK than cnt, 50 * 16 / 31 of them, before the first loss", CubicNs2, at(10, 20),
             acks(11), *[acks(26)] * 20, arithmetic="ns2"),
        case("ns2: the curve, 16 segments per 100 ms beyond it", CubicNs2, avoiding(1000), acks(1), LOST,
             *[acks(8000, gap_us=120)] * 12, tolerance=2, arithmetic="ns2", beta="0.8"),
        case("ns2: no max_increment", CubicNs2, avoiding(400), acks(1), LOST,
             *[acks(8000, gap_us=250)] * 12, tolerance=3, arithmetic="ns2", beta="0.8", max_increment="0"),
        case("ns2: max_increment holds beyond the plateau, not before", CubicNs2, avoiding(1000), acks(1), LOST,
             *[acks(8000, gap_us=120)] * 18, tolerance=2, arithmetic="ns2", beta="0.8", max_increment="1"),
        case("ns2: Reno-friendly", CubicNs2, avoiding(20), acks(1), LOST, *[acks(500, rtt_ms=10, gap_us=500)] * 20,
             tolerance=1, arithmetic="ns2", beta="0.8"),
        case("ns2: not Reno-friendly, no fast convergence", CubicNs2, avoiding(200), acks(1), LOST,
             acks(2000, gap_us=500), LOST, *[acks(2000, gap_us=500)] * 12, tolerance=1, arithmetic="ns2", beta="0.8",
             reno_friendly="off", fast_convergence="off"),
        case("ns2: a timeout forgets everything", CubicNs2, avoiding(200), acks(1), LOST, acks(2000, gap_us=500),
             TIMEOUT, acks(160), *[acks(500)] * 4, arithmetic="ns2", beta="0.8", tolerance=1),
        case("ns2: samples in the first second of an epoch do not count", CubicNs2, avoiding(400), acks(1), LOST,
             acks(3), acks(900, rtt_ms=10), *[acks(2000, gap_us=500)] * 14, tolerance=1, arithmetic="ns2", beta="0.8"),
        case("ns2: delayed ACKs", CubicNs2, avoiding(200), acks(100, acked=2), LOST,
             *[acks(1000, gap_us=1000, acked=2)] * 12, tolerance=2, arithmetic="ns2", beta="0.8"),
    ],
    "compound": [
        case("no queue: both windows grow", Compound, avoiding(200), *[acks(200)] * 20, tolerance=1),
        case("a queue of 30 segments: dwnd gives way", Compound, avoiding(1000), acks(1), *[acks(1000)] * 8,
             *[acks(1500, rtt_ms=103.5)] * 6, *[acks(1500, rtt_ms=110)] * 6, *[acks(1500)] * 3, tolerance=1),
        case("loss: half of the sum", Compound, avoiding(1000), *[acks(1000)] * 8, LOST, *[acks(700)] * 4, tolerance=1),
        case("beta: how much a loss takes", Compound, avoiding(1000), *[acks(1000)] * 8, LOST, *[acks(900)] * 4,
             tolerance=1, beta="0.25"),
        case("slow start has no dwnd", Compound, at(2, 500), acks(600), LOST, TIMEOUT, acks(255), *[acks(300)] * 5,
             tolerance=1),
        case("parameters", Compound, avoiding(1000), *[acks(1000)] * 8, *[acks(1500, rtt_ms=101)] * 8, LOST,
             tolerance=1, alpha="0.25", gamma="5", zeta="2"),
        case("a spurious loss is taken back", Compound, avoiding(1000), *[acks(1000)] * 8, LOST, UNDO, acks(1500),
             *[acks(1200, rtt_ms=120)] * 6, tolerance=1),
        case("nothing grows while the application is the limit", Compound, avoiding(300), acks(2000, limited=False),
             acks(700), tolerance=1),
        case("ns2: slow start with dwnd at work", CompoundNs2, at(2), *[acks(100)] * 10, arithmetic="ns2"),
        case("ns2: growth", CompoundNs2, avoiding(14084), *[acks(14300, gap_us=10)] * 5, arithmetic="ns2"),
        case("ns2: a queue", CompoundNs2, avoiding(1000), *[acks(1000)] * 10, *[acks(1100, rtt_ms=103)] * 4,
             *[acks(1100, rtt_ms=110)] * 8, arithmetic="ns2"),
        case("ns2: the next ACK after a cut shares out what is left", CompoundNs2, avoiding(1000), *[acks(1000)] * 30,
             {"cwnd": 1200}, acks(1), *[acks(1200)] * 5, LOST, acks(1), *[acks(900)] * 5, arithmetic="ns2"),
        case("ns2: a queue of just 30", CompoundNs2, avoiding(1000), *[acks(1000)] * 10,
             *[acks(1300, rtt_ms=102 + n / 20) for n in range(30)], arithmetic="ns2"),
        case("ns2: the window restarts at a quarter", CompoundNs2, avoiding(1000), *[acks(1000)] * 10,
             LOST, {"cwnd": 250}, acks(100), *[acks(300)] * 5, arithmetic="ns2"),
        case("ns2: nothing grows while the application is the limit", CompoundNs2, avoiding(300),
             acks(2000, limited=False), arithmetic="ns2"),
        case("ns2: two samples are not enough", CompoundNs2, avoiding(400), *[acks(398, rtt_ms=0), acks(2)] * 5,
             arithmetic="ns2"),
        case("ns2: idle, restart, timeout", CompoundNs2, avoiding(400), *[acks(400)] * 5, {"event": "tx_start"},
             acks(400), acks(400), {"event": "cwnd_restart"}, acks(900), TIMEOUT, acks(500),
             *[acks(500)] * 5, {"event": "tx_start"}, *[acks(300, rtt_ms=150)] * 5, arithmetic="ns2"),
        case("ns2: delayed ACKs count once", CompoundNs2, at(10, 100), *[acks(60, acked=2)] * 10, arithmetic="ns2"),
    ],
}


def solve(case):
    sender = Sender(case["model"](**case["params"]), case["window"])
    tolerance, steps = case["tolerance"], []
    for step in case["steps"]:
        sender.step(step)
        low, high = max(sender.cwnd - tolerance, 1), sender.cwnd + tolerance
        expect = {"cwnd": [low, high]}
        if "loss" in step or "rto" in step:
            expect["ssthresh"] = [max(sender.ssthresh - tolerance, 2), sender.ssthresh + tolerance]
        steps.append(step | {"expect": expect})
    return {"name": case["name"], "params": case["params"], "window": case["window"], "steps": steps}


def text(cases):
    """JSON with one step to a line."""
    blocks = []
    for solved in map(solve, cases):
        steps = ",\n".join("      " + json.dumps(step) for step in solved.pop("steps"))
        blocks.append("  {" + json.dumps(solved)[1:-1] + ', "steps": [\n' + steps + "\n  ]}")
    return "[\n" + ",\n".join(blocks) + "\n]\n"


def main():
    check = sys.argv[1:] == ["--check"]
    stale = []
    for name, cases in ALGORITHMS.items():
        path, wanted = HERE / f"{name}.json", text(cases)
        if not check:
            path.write_text(wanted)
        elif not path.exists() or path.read_text() != wanted:
            stale.append(path.name)
    if stale:
        sys.exit(f"not what check.py computes: {', '.join(stale)}; run check.py")


if __name__ == "__main__":
    main()
