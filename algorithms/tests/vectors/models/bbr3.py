"""BBRv3 as its draft has it, in real numbers, and Google's differences."""

import math

from stack import LOST, RECOVERY, TIMEOUT, UNDO, Model, acks, at, case

#: Constants of the vectors.
MSS = 1448
INF = math.inf
PROBING = ("Startup", "Refill", "Up")
PROBE_BW = ("Down", "Cruise", "Refill", "Up")


class Bbr3(Model):
    controls = True
    pacing_tolerance = 0.002  # integers of 2^-24 segments per microsecond

    def number(self, name, default):
        return float(self.p.get(name, default))

    def start(self, s):
        self.google = self.p.get("variant") == "v3"
        self.mainline = self.p.get("samples") == "mainline"
        self.floor = self.number("min_cwnd", 4)
        self.thresh = self.number("loss_threshold", 0.02)
        self.beta = self.number("beta", 0.7)
        self.state, self.full_bw_reached = "Startup", False
        self.reset_full_bw(0)
        self.cycles = [0.0, 0.0]  # max_bw's filter
        self.min_rtt = self.probe_min = INF
        self.min_rtt_stamp = self.probe_stamp = s.now
        self.next_round = self.loss_round_end = s.delivered
        self.reset_lower_bounds()
        self.inflight_long = INF
        self.bw_latest = self.inflight_latest = 0
        self.loss_in_round = self.probe_samples = self.stopping = False
        self.prev_too_high = self.prev_cautious = False
        self.idle_restart, self.undo_state = False, None
        self.saved, self.in_recovery = 0, False
        self.extra, self.group, self.counted, self.since = {}, [0, 0], 0, s.now
        self.losses, self.round_losses = 0, [0, 0]
        self.loss_events = self.ignored = 0
        self.up_rounds = self.up_acks = self.rounds_since_probe = 0
        s.ssthresh = 0x7FFFFFFF
        self.timed_first_rate = False
        self.pacing_rate = self.first_rate(s.cwnd, 1000)

    # Rates are in segments per microsecond.

    @property
    def pacing(self):
        return self.pacing_rate * 1e6 * MSS

    def first_rate(self, window, rtt):
        return self.number("startup_gain", 2.77) * window / rtt * 0.99

    def reset_full_bw(self, rate):
        self.full_bw, self.full_count, self.full_bw_now = rate, 0, False

    def reset_lower_bounds(self):
        self.bw_short = self.inflight_short = INF

    @property
    def max_bw(self):
        return max(self.cycles)

    @property
    def bw(self):
        return min(self.max_bw, self.bw_short)

    def bdp(self, rate, gain=1.0):
        return 10 if self.min_rtt == INF else gain * rate * self.min_rtt

    def quantize(self, inflight):
        quantum = 1
        if self.p.get("burst") == "draft":
            quantum = min(max(self.pacing_rate * 1000, 2), 65536 // MSS)
        return max(inflight, 3 * quantum, self.floor) + (2 if self.state == "Up" else 0)

    def target_inflight(self, s):
        return min(self.quantize(self.bdp(self.bw)), s.cwnd)

    def with_headroom(self):
        if self.inflight_long == INF:
            return INF
        headroom = max(self.inflight_long * self.number("headroom", 0.15), 1)
        return max(self.inflight_long - headroom, self.floor)

    def probe_rtt_cwnd(self):
        return max(self.bdp(self.bw, 0.5), self.floor)

    # One ACK.

    def ack(self, s):
        rate_segments, us = s.rate
        self.losses += s.lost
        if s.lost and self.mainline:
            self.note_loss(s)
        if not self.mainline:
            for k in range(s.lost):
                self.note_loss(s)
                self.judge_probe(s, rate_segments + s.lost, k + 1, not s.limited)
        rate = rate_segments / us if us else 0
        round_start = loss_round_start = False
        if us:
            self.bw_latest = max(self.bw_latest, rate)
            self.inflight_latest = max(self.inflight_latest, rate_segments)
            prior = max(s.delivered - rate_segments, 0)
            if prior >= self.loss_round_end:
                self.loss_round_end, loss_round_start = s.delivered, True
            if prior >= self.next_round:
                self.next_round, round_start = s.delivered, True
                self.rounds_since_probe += 1
                self.drain_rounds = getattr(self, "drain_rounds", 0) + 1
                self.round_losses = [self.round_losses[1], self.losses]
                if self.state != "ProbeRTT" or self.ignored == 3:
                    self.ignored = max(self.ignored - 1, 0)
        # The application limits the packets sent in PROBE_RTT.
        limited = not s.limited or self.ignored in (1, 2)
        if us:
            if rate >= self.max_bw or not limited:
                self.cycles[1] = max(self.cycles[1], rate)
            if loss_round_start:
                self.adapt_lower_bounds(s)
            self.aggregate(s, round_start)
        if self.mainline:
            lost = self.losses - self.round_losses[0] if us else 0
        else:
            lost = s.lost
        in_flight = rate_segments + lost
        self.look_for_full_pipe(rate, limited, round_start)
        self.look_for_losses_in_startup(s, loss_round_start, in_flight, lost)
        if self.state == "Startup" and self.full_bw_reached:
            self.state, self.drain_rounds = "Drain", 0
            self.reset_lower_bounds()
            if self.google:
                self.loss_in_round, self.bw_latest, self.inflight_latest = False, 0, 0
        if self.state == "Drain":
            late = self.drain_rounds > 3 and not self.google
            if s.in_flight <= self.quantize(self.bdp(self.max_bw)) or late:
                self.start_down(s)
        if self.full_bw_reached:
            self.probe_bandwidth(s, rate, limited, round_start, in_flight, lost)
        self.update_rtts(s, round_start)
        if loss_round_start:
            self.bw_latest, self.inflight_latest = rate, rate_segments
        self.set_pacing(s)
        self.set_window(s)
        if us and rate_segments:
            self.idle_restart = False

    def note_loss(self, s):
        if not self.loss_in_round:
            self.loss_round_end = s.delivered
            self.undo_bounds = (self.bw_short, self.inflight_short, self.inflight_long)
            self.undo_state = None
        self.loss_in_round = True

    def judge_probe(self, s, in_flight, lost, limited):
        """Returns true if these losses were too many; they end a probe."""
        if lost <= self.thresh * in_flight:
            return False
        if self.probe_samples:
            self.prev_too_high, self.probe_samples = True, False
            # Where the losses crossed the threshold, of which this is the last one.
            before, lost_before = in_flight - 1, lost - 1
            level = before + (self.thresh * before - lost_before) / (1 - self.thresh)
            if not limited:  # the window, which reaches it, has whole segments
                self.inflight_long = math.floor(max(level, self.beta * self.target_inflight(s)))
            if self.state == "Up":
                self.start_down(s)
                self.undo_state = "Up"
        return True

    def adapt_lower_bounds(self, s):
        if self.loss_in_round and self.state not in PROBING:
            bw = self.max_bw if self.bw_short == INF else self.bw_short
            inflight = s.cwnd if self.inflight_short == INF else self.inflight_short
            bw = min(bw, self.max_bw)
            self.bw_short = max(self.bw_latest, self.beta * bw)
            self.inflight_short = max(self.inflight_latest, self.beta * inflight)
        self.loss_in_round = False

    def aggregate(self, s, round_start):
        if round_start:
            self.group[1] += 1
            if self.group[1] >= (5 if self.full_bw_reached else 1):
                self.group = [self.group[0] + 1, 0]
        expected = self.bw * (s.now - self.since)
        if self.counted <= expected:
            self.counted, self.since, expected = 0, s.now, 0
        self.counted += s.acked
        extra = min(self.counted - expected, s.cwnd)
        if self.google:
            extra = min(extra, self.bw * 100_000)
        now = self.group[0]
        self.extra[now] = max(self.extra.get(now, 0), extra)

    def extra_acked(self):
        return max(self.extra.get(self.group[0] - k, 0) for k in (0, 1))

    def look_for_full_pipe(self, rate, limited, round_start):
        counts = self.state in PROBING or not self.full_bw_reached
        if self.full_bw_now or limited or not rate or not counts:
            return
        if rate >= 1.25 * self.full_bw and (round_start or self.google):
            self.reset_full_bw(rate)
        elif round_start:
            self.full_count += 1
            self.full_bw_now = self.full_count == 3
            self.full_bw_reached |= self.full_bw_now

    def look_for_losses_in_startup(self, s, loss_round_start, in_flight, lost):
        self.loss_events += s.lost > 0
        many = self.loss_events >= 6 and lost > self.thresh * in_flight
        if not self.full_bw_reached and loss_round_start and s.state == RECOVERY and many:
            self.full_bw_reached, self.undo_state = True, "Startup"
            self.inflight_long = max(self.bdp(self.max_bw), self.inflight_latest)
        if loss_round_start:
            self.loss_events = 0

    # ProbeBW.

    def random(self, s):
        return s.now * 0x9E3779B97F4A7C15 % 2**64 >> 32

    def start_down(self, s):
        if self.state in PROBING:
            self.reset_lower_bounds()
        self.state, self.stopping, self.cycle_stamp = "Down", True, s.now
        self.loss_in_round, self.bw_latest, self.inflight_latest = False, 0, 0
        self.rounds_since_probe = self.random(s) % 2
        self.wait = 2_000_000 + self.random(s) / 2**32 * 1_000_000
        self.next_round = s.delivered

    def start_refill(self, s):
        self.state, self.stopping, self.prev_cautious = "Refill", False, False
        self.reset_lower_bounds()
        self.reset_full_bw(0)
        self.up_rounds = self.up_acks = 0
        self.next_round = s.delivered

    def start_up(self, s, rate):
        self.state, self.stopping, self.probe_samples = "Up", False, True
        self.next_round = s.delivered
        self.reset_full_bw(rate)
        self.raise_slope()

    def raise_slope(self):
        self.step_shift = self.up_rounds
        self.up_rounds = min(self.up_rounds + 1, 30)

    def probe_bandwidth(self, s, rate, limited, round_start, in_flight, lost):
        if self.stopping and round_start:
            self.stopping = self.probe_samples = False
            if self.state in PROBE_BW:
                if not limited and self.cycles[1]:
                    self.cycles = [self.cycles[1], 0.0]
                if self.prev_cautious and not self.prev_too_high:
                    self.start_refill(s)
                    return
        self.adapt_upper_bound(s, round_start, in_flight, lost, limited)
        if self.state not in PROBE_BW:
            return
        if self.state in ("Down", "Cruise"):
            rounds = min(self.target_inflight(s), 63)
            if s.now - self.cycle_stamp > self.wait or self.rounds_since_probe >= math.floor(rounds):
                self.start_refill(s)
            elif s.in_flight <= min(self.with_headroom(), self.quantize(self.bdp(self.max_bw))):
                self.state = "Cruise"
        elif self.state == "Refill":
            if round_start:
                self.start_up(s, rate)
        elif self.prev_too_high and s.in_flight >= self.inflight_long:
            self.prev_cautious, self.prev_too_high = True, False
            self.start_down(s)
        elif s.limited and s.cwnd >= self.inflight_long:
            self.reset_full_bw(rate)
        elif self.full_bw_now:
            self.prev_too_high = False
            self.start_down(s)

    def adapt_upper_bound(self, s, round_start, in_flight, lost, limited):
        looks = self.google or (self.mainline and s.lost)
        if lost > self.thresh * in_flight:
            if looks:
                self.judge_probe(s, in_flight, lost, limited)
            return
        if self.inflight_long == INF:
            return
        grows = s.limited and s.cwnd >= self.inflight_long
        self.inflight_long = max(self.inflight_long, in_flight)
        if self.state != "Up":
            return
        if grows:
            step = max(s.cwnd // 2**self.step_shift, 1)
            self.up_acks += s.acked
            self.inflight_long += self.up_acks // step
            self.up_acks %= step
        if round_start:
            self.raise_slope()

    # RTTs.

    def update_rtts(self, s, round_start):
        expired = s.now - self.probe_stamp > 1e6 * self.number("probe_rtt_interval_s", 5)
        if s.rtt and (s.rtt < self.probe_min or expired or (self.google and s.rtt == self.probe_min)):
            self.probe_min, self.probe_stamp = s.rtt, s.now
        if self.probe_min < self.min_rtt or s.now - self.min_rtt_stamp > 10_000_000:
            self.min_rtt, self.min_rtt_stamp = self.probe_min, self.probe_stamp
        if expired and not self.idle_restart and self.state != "ProbeRTT":
            self.save(s)
            if self.state in PROBING:
                self.reset_lower_bounds()
            self.state, self.done, self.stopping, self.ignored = "ProbeRTT", None, True, 3
            self.next_round = s.delivered
        if self.state != "ProbeRTT":
            return
        if self.done is None:
            if s.in_flight <= self.probe_rtt_cwnd():
                self.done, self.round_done = s.now + 200_000, False
                self.next_round = s.delivered
            return
        self.round_done |= round_start
        if self.round_done:
            self.leave_probe_rtt(s)

    def leave_probe_rtt(self, s):
        if self.done is None or s.now <= self.done:
            return
        self.probe_stamp, self.ignored = s.now, 2
        s.cwnd = max(s.cwnd, self.saved)
        self.reset_lower_bounds()
        if self.full_bw_reached:
            self.start_down(s)
            self.state = "Cruise"
        else:
            self.state = "Startup"

    # Decisions of the model.

    def pacing_gain(self):
        drain, down = (1 / 2.885, 0.91) if self.google else (0.5, 0.9)
        startup = self.number("startup_gain", 2.77)
        return {"Startup": startup, "Drain": drain, "Down": down, "Up": 1.25}.get(self.state, 1)

    def set_pacing(self, s):
        if not self.timed_first_rate and s.rtt:
            self.timed_first_rate = True
            self.pacing_rate = self.first_rate(s.cwnd, s.rtt)
        rate = self.pacing_gain() * self.bw * 0.99
        if self.full_bw_reached or rate > self.pacing_rate:
            self.pacing_rate = rate

    def set_window(self, s):
        gain = self.number("cwnd_gain", 2)
        if self.state == "Up":
            gain += 0.25
        elif self.state == "ProbeRTT":
            gain = 1 if self.google else 0.5
        most = self.quantize(self.bdp(self.bw, gain) + self.extra_acked())
        if self.in_recovery and s.state < RECOVERY:
            s.cwnd = max(s.cwnd, self.saved)
        self.in_recovery = s.state >= RECOVERY
        if self.full_bw_reached:
            s.cwnd = min(s.cwnd + s.acked, most)
        elif s.cwnd < most or (s.cwnd < 20 if self.google else s.delivered < 10):
            s.cwnd += s.acked
        s.cwnd = max(s.cwnd, self.floor)
        if self.state == "ProbeRTT":
            s.cwnd = min(s.cwnd, self.probe_rtt_cwnd())
        cap = INF
        if self.state in ("Cruise", "ProbeRTT"):
            cap = self.with_headroom()
        elif self.state in PROBE_BW:
            cap = self.inflight_long
        s.cwnd = round(min(s.cwnd, max(min(cap, self.inflight_short), self.floor)))

    def save(self, s):
        kept = self.saved if self.in_recovery or self.state == "ProbeRTT" else 0
        self.saved = max(kept, s.cwnd)

    def loss(self, s, timeout):
        self.save(s)
        if timeout:
            self.in_recovery = True
            if self.mainline:
                self.note_loss(s)
            if self.google:
                self.reset_full_bw(0)
            if self.google and self.state not in PROBING and self.inflight_short == INF:
                self.inflight_short = self.saved
        return s.ssthresh

    def undo(self, s):
        self.loss_in_round = False
        self.reset_full_bw(0)
        bounds = getattr(self, "undo_bounds", (0, 0, 0))
        if self.state not in PROBING:
            self.bw_short = max(self.bw_short, bounds[0])
            self.inflight_short = max(self.inflight_short, bounds[1])
        self.inflight_long = max(self.inflight_long, bounds[2])
        if self.undo_state == "Startup":
            self.full_bw_reached = False
        if self.state not in ("ProbeRTT", self.undo_state):
            if self.undo_state == "Startup":
                self.state = "Startup"
                self.reset_lower_bounds()
            elif self.undo_state == "Up":
                self.start_refill(s)
        self.undo_state = None
        return max(s.cwnd, self.saved)

    def event(self, s, event):
        if event != "tx_start" or s.limited:
            return
        self.idle_restart = True
        self.counted, self.since = 0, s.now
        if self.state in PROBE_BW:
            self.pacing_rate = self.bw * 0.99
        elif self.state == "ProbeRTT":
            self.leave_probe_rtt(s)


def rounds(n, segments, rtt_ms=100, acked=1, **more):
    """n rounds in each of which so many segments arrive, evenly."""
    us = round(rtt_ms * 1000)
    more = {"rate": (segments, us)} | more
    return acks(n * segments // acked, rtt_ms, gap_us=us * acked // segments, acked=acked, **more)


# To a full pipe of 100 segments per 100 ms, drained, and a probe later: UP is reached within 63 rounds.
FULL = [rounds(1, 10), rounds(1, 20), rounds(1, 40), rounds(1, 80), rounds(5, 100)]
DRAINED = [{"cwnd": 90}]
STEADY = [*FULL, *DRAINED, rounds(4, 100)]
FLAT = {"rate": (100, 100_000)}
# DOWN began at 1.9 s; the wait is 2 to 3 s.
IN_UP = [*STEADY, rounds(24, 100)]


# After FULL[:4]: STARTUP ends with the last ACK, after which no round has losses.
LOSSES_END_STARTUP = [
    *[acks(10, lost=2, state="recovery", rate=(90, 100_000))] * 9,
    acks(1, lost=2, state="recovery", rate=(90, 100_000)),
]


def lossy(lost, **more):
    """The RTT is the smallest yet: no PROBE_RTT soon."""
    return acks(1, rtt_ms=99.9, lost=lost, rate=(120, 100_000), **more)


CASES = [
    case("STARTUP: 2 BDP, DRAIN", Bbr3, at(10), *FULL, rounds(2, 100), tolerance=3),
    case("DRAIN ends after three rounds", Bbr3, at(10), *FULL, *[rounds(1, 100)] * 6, tolerance=3),
    case(
        "v3: DRAIN by what is in flight",
        Bbr3,
        at(10),
        *FULL,
        *[rounds(1, 100)] * 6,
        tolerance=3,
        variant="v3",
    ),
    case(
        "STARTUP does not end while the application is the limit",
        Bbr3,
        at(10),
        *FULL[:4],
        rounds(6, 80, limited=False),
        tolerance=3,
    ),
    case("CRUISE: 2 BDP", Bbr3, at(10), *STEADY, tolerance=3),
    case("gains", Bbr3, at(10), *STEADY, tolerance=3, startup_gain="2", cwnd_gain="3"),
    case("bursts of the draft: 2 segments", Bbr3, at(10), *STEADY, tolerance=3, burst="draft"),
    case(
        "bursts of the draft: as much as in 1 ms, here more than two BDP",
        Bbr3,
        at(10),
        *[rounds(1, 10 * 2**k, rtt_ms=0.5) for k in range(4)],
        rounds(5, 100, rtt_ms=0.5),
        tolerance=12,
        burst="draft",
    ),
    case("a cycle of probes", Bbr3, at(10), *IN_UP, *[rounds(1, 100)] * 4, tolerance=3),
    case("a cycle of probes in v3", Bbr3, at(10), *IN_UP, *[rounds(1, 100)] * 4, tolerance=3, variant="v3"),
    case(
        "a small BDP is probed after as many rounds as it has segments",
        Bbr3,
        at(10),
        rounds(1, 5),
        rounds(4, 10),
        {"cwnd": 9},
        *[rounds(1, 10)] * 16,
        tolerance=3,
    ),
    case("delayed ACKs", Bbr3, at(10), *FULL, *DRAINED, rounds(4, 100, acked=2), tolerance=3),
    case("aggregated ACKs", Bbr3, at(10), *STEADY, rounds(4, 100, acked=20), rounds(6, 100), tolerance=5),
    case(
        "aggregated ACKs in v3: no more than 100 ms",
        Bbr3,
        at(10),
        *STEADY,
        acks(4, gap_us=150_000, acked=150, **FLAT),
        tolerance=5,
        variant="v3",
    ),
    case(
        "a rate that fell is believed after two cycles",
        Bbr3,
        at(10),
        *STEADY,
        *[rounds(10, 50)] * 9,
        tolerance=3,
    ),
    case(
        "a shorter RTT counts at once",
        Bbr3,
        at(10),
        *STEADY,
        acks(200, rtt_ms=50, gap_us=500, rate=(50, 50_000)),
        tolerance=3,
    ),
    *[
        case(
            f"{name}: losses in CRUISE bound the next rounds, {samples}",
            Bbr3,
            at(10),
            *STEADY,
            LOST,
            rounds(1, 50, rtt_ms=100, state="recovery"),
            acks(1, lost=5, state="recovery", rate=(60, 100_000)),
            rounds(1, 60, state="recovery"),
            rounds(1, 60, state="recovery", rtt_ms=100),
            acks(1, lost=5, state="recovery", rate=(40, 100_000)),
            rounds(2, 40, state="recovery"),
            rounds(1, 40),
            rounds(6, 60),
            tolerance=3,
            samples=samples,
            **params,
        )
        for samples in ("exact", "mainline")
        for name, params in (("beta 0.7", {}), ("beta 0.5", {"beta": "0.5"}))
    ],
    *[
        case(
            f"a probe that loses {lost} of {120 + lost}, {', '.join(params.values()) or 'as it is'}",
            Bbr3,
            at(10),
            *IN_UP,
            lossy(lost),
            rounds(1, 100),
            {"cwnd": 80},
            *[rounds(3, 100)] * 7,
            *[rounds(1, 100)] * 9,
            tolerance=3,
            **params,
        )
        for lost, params in (
            (2, {}),
            (3, {}),
            (12, {}),
            (12, {"samples": "mainline"}),
            (12, {"variant": "v3"}),
            (12, {"headroom": "0.3"}),
            (12, {"loss_threshold": "0.05"}),
            (60, {}),
            (60, {"beta": "0.8"}),
        )
    ],
    case(
        "a probe that stops at the bound, and at once another",
        Bbr3,
        at(10),
        *IN_UP,
        lossy(12),
        rounds(1, 100),
        {"cwnd": 80},
        rounds(21, 100),
        rounds(9, 100),
        {"cwnd": 300},
        *[rounds(1, 100)] * 9,
        tolerance=3,
    ),
    case(
        "losses of what the application limited do not bound",
        Bbr3,
        at(10),
        *IN_UP,
        lossy(12, limited=False),
        *[rounds(1, 100)] * 5,
        tolerance=3,
    ),
    *[
        case(
            f"losses end STARTUP, {samples}",
            Bbr3,
            at(10),
            *FULL[:4],
            *[acks(10, lost=2, state="recovery", rate=(90, 100_000))] * 12,
            rounds(1, 90, state="recovery"),
            rounds(3, 90),
            tolerance=4,
            samples=samples,
        )
        for samples in ("exact", "mainline")
    ],
    case(
        "PROBE_RTT: half a BDP for 200 ms and a round",
        Bbr3,
        at(10),
        *STEADY,
        rounds(38, 100, acked=50),
        acks(4, gap_us=50_000, acked=50, **FLAT),
        acks(3, gap_us=100_000, rate=(50, 100_000)),
        acks(2, gap_us=100_000, rate=(50, 100_000)),
        rounds(3, 100),
        tolerance=4,
    ),
    case(
        "PROBE_RTT in v3",
        Bbr3,
        at(10),
        *STEADY,
        rounds(38, 100, acked=50, rtt_ms=100),
        acks(4, rtt_ms=101, gap_us=50_000, acked=50, **FLAT),
        rounds(52, 100, acked=50, rtt_ms=101),
        acks(4, rtt_ms=101, gap_us=50_000, acked=50, **FLAT),
        acks(5, rtt_ms=101, gap_us=100_000, rate=(50, 100_000)),
        tolerance=4,
        variant="v3",
    ),
    case(
        "PROBE_RTT after 2 s, never less than 80",
        Bbr3,
        at(100),
        rounds(9, 100),
        {"cwnd": 90},
        rounds(16, 100),
        acks(4, gap_us=100_000, rate=(4, 100_000)),
        acks(15, gap_us=20_000, rate=(4, 100_000)),
        rounds(4, 100),
        tolerance=4,
        probe_rtt_interval_s="2",
        min_cwnd="80",
    ),
    case(
        "PROBE_RTT in STARTUP",
        Bbr3,
        at(10),
        *FULL[:3],
        rounds(60, 40, limited=False, acked=4),
        acks(8, gap_us=100_000, rate=(10, 100_000), limited=False),
        rounds(1, 80),
        rounds(5, 160),
        tolerance=4,
    ),
    case(
        "a repair leaves the window",
        Bbr3,
        at(10),
        *STEADY,
        LOST,
        acks(1, state="recovery", lost=1, **FLAT),
        acks(150, state="recovery", **FLAT),
        acks(1, **FLAT),
        rounds(1, 100),
        tolerance=3,
    ),
    *[
        case(
            f"a timeout, {params}",
            Bbr3,
            at(10),
            *STEADY,
            TIMEOUT,
            acks(20, state="loss", **FLAT),
            acks(1, **FLAT),
            rounds(2, 100),
            tolerance=3,
            **params,
        )
        for params in ({}, {"variant": "v3"}, {"samples": "mainline"})
    ],
    *[
        case(
            f"a timeout in STARTUP, {variant}",
            Bbr3,
            at(10),
            *FULL[:3],
            TIMEOUT,
            acks(20, state="loss", rate=(40, 100_000)),
            acks(1, rate=(40, 100_000)),
            rounds(6, 40),
            tolerance=3,
            variant=variant,
        )
        for variant in ("spec", "v3")
    ],
    case(
        "a needless repair brings a probe back",
        Bbr3,
        at(10),
        *IN_UP,
        LOST,
        lossy(3, state="recovery"),
        acks(50, state="recovery", **FLAT),
        UNDO,
        rounds(4, 100),
        tolerance=4,
    ),
    case(
        "a needless repair brings STARTUP back",
        Bbr3,
        at(10),
        *FULL[:4],
        LOST,
        *LOSSES_END_STARTUP,
        UNDO,
        rounds(3, 160),
        rounds(3, 200),
        tolerance=4,
    ),
    case(
        "a needless repair in PROBE_RTT brings STARTUP back at its end",
        Bbr3,
        at(10),
        *FULL[:4],
        LOST,
        *LOSSES_END_STARTUP,
        rounds(45, 90, acked=9, state="recovery"),
        acks(3, gap_us=50_000, acked=9, state="recovery", rate=(90, 100_000)),
        UNDO,
        acks(6, gap_us=100_000, acked=40, rate=(40, 100_000)),
        rounds(3, 160),
        tolerance=4,
    ),
    case(
        "a needless repair of a probe does not disturb the next one",
        Bbr3,
        at(10),
        *IN_UP,
        LOST,
        lossy(3, state="recovery"),
        rounds(1, 100),
        {"cwnd": 80},
        rounds(29, 100),
        UNDO,
        acks(50, **FLAT),
        rounds(2, 100),
        tolerance=4,
    ),
    case(
        "after a pause the path's rate",
        Bbr3,
        at(10),
        *STEADY,
        acks(1, limited=False, **FLAT),
        {"event": "tx_start"},
        rounds(2, 100),
        tolerance=3,
    ),
    case(
        "a window of a hundred million",
        Bbr3,
        at(100_000_000),
        *[acks(20, rtt_ms=1000, gap_us=50_000, acked=5_000_000, rate=(100_000_000, 1_000_000))] * 5,
        {"cwnd": 90_000_000},
        acks(100, rtt_ms=1000, gap_us=50_000, acked=5_000_000, rate=(100_000_000, 1_000_000)),
        tolerance=5_000_000,
    ),
]
