"""BBR: its windows. The phases of PROBE_BW change them by two segments, within the tolerance."""

import math
from fractions import Fraction

from stack import LOSS, LOST, RECOVERY, TIMEOUT, UNDO, Model, acks, at, case

#: Constants of the vectors.
MSS = 1448
STARTUP, DRAIN, PROBE_BW, PROBE_RTT = "startup", "drain", "probe_bw", "probe_rtt"


class Bbr(Model):
    controls = True

    def start(self, s):
        self.startup = Fraction(self.p.get("startup_gain", "2.885"))
        self.gain = Fraction(self.p.get("cwnd_gain", "2"))
        self.interval = int(self.p.get("probe_rtt_interval_s", 10)) * 1_000_000
        self.smallest = int(self.p.get("min_cwnd", 4))
        self.mode, self.full, self.grown, self.stuck = STARTUP, False, 0, 0
        self.round, self.mark = 0, s.delivered
        self.rates = {}  # the largest of each round
        self.rtprop, self.seen = None, s.now
        self.before = self.state = 0
        self.conserving = False
        self.ignored = 0
        self.reached = None
        self.extra, self.group = {}, 0
        self.counted, self.since = 0, s.now
        self.policer = None
        self.start_interval, self.last = None, None
        s.ssthresh = 0x7FFFFFFF

    def best(self):
        return max((rate for r, rate in self.rates.items() if self.round - r <= 10), default=0)

    def bandwidth(self):
        return self.policer[0] if self.policer else self.best()

    def ack(self, s):
        self.lost_total = getattr(self, "lost_total", 0) + s.lost
        over = False
        segments, us = s.rate
        limited = not s.limited or self.mode == PROBE_RTT or self.ignored > 0
        if us:
            if max(s.delivered - segments, 0) >= self.mark:
                self.mark, over, self.conserving = s.delivered, True, False
                self.round += 1
                if self.mode != PROBE_RTT:
                    self.ignored = max(self.ignored - 1, 0)
            self.police(s, over, limited, s.lost)
            rate = Fraction(segments, us)
            if not limited or rate >= self.best():
                self.rates[self.round] = max(rate, self.rates.get(self.round, 0))
            self.aggregate(s, over)
        if over and not self.full and not limited:
            if self.best() >= Fraction(5, 4) * self.grown:
                self.grown, self.stuck = self.best(), 0
            else:
                self.stuck += 1
                self.full = self.stuck == 3
        if self.mode == STARTUP and self.full:
            self.mode = DRAIN
            s.ssthresh = math.ceil(self.bdp(1) + self.room())
        if self.mode == DRAIN and s.in_flight <= self.bdp(1) + self.room():
            self.mode = PROBE_BW
        self.propagation(s, over)
        self.window(s)

    def bdp(self, gain):
        return 10 if self.rtprop is None else self.bandwidth() * self.rtprop * gain

    def room(self):
        """Three bursts: segments, or what leaves in 1/1024 s, 64 KiB at most."""
        segments_per_s = self.bandwidth() * 1_000_000 * Fraction(99, 100)
        if self.p.get("burst") != "linux" or segments_per_s * MSS < 150_000:
            return 3
        return 3 * min(max(math.floor(min(segments_per_s * MSS / 1024, 65536) / MSS), 2), 127)

    def aggregate(self, s, over):
        if over:
            self.group += 1
        if self.counted <= self.bandwidth() * (s.now - self.since):
            self.counted, self.since = 0, s.now
        self.counted += s.acked
        extra = min(self.counted - self.bandwidth() * (s.now - self.since), s.cwnd)
        half = self.group // 5
        self.extra[half] = max(self.extra.get(half, 0), extra)

    def police(self, s, over, limited, lost):
        if self.p.get("long_term") == "off":
            return
        if self.policer:
            self.policer[1] += over and self.mode == PROBE_BW
            if self.policer[1] == 48:
                self.policer = self.start_interval = self.last = None
            return
        if limited:
            self.start_interval = self.last = None
            return
        if self.start_interval is None:
            if not lost:
                return
            self.start_interval = [s.now, s.delivered, self.lost_total, 0]
        begin = self.start_interval
        begin[3] += over
        if begin[3] > 16:
            self.start_interval = self.last = None
            return
        arrived = s.delivered - begin[1]
        gone = self.lost_total - begin[2]
        if begin[3] < 4 or not lost or gone * 256 < 50 * arrived:
            return
        rate = Fraction(arrived, s.now - begin[0])
        if self.last and abs(rate - self.last) <= self.last / 8:
            self.policer = [(rate + self.last) / 2, 0]
            return
        self.last = rate
        self.start_interval = [s.now, s.delivered, self.lost_total, 0]

    def propagation(self, s, over):
        old = s.now - self.seen > self.interval
        if s.rtt and (self.rtprop is None or s.rtt < self.rtprop or old):
            self.rtprop, self.seen = s.rtt, s.now
        if old and self.mode != PROBE_RTT:
            self.remember(s)
            self.mode, self.reached = PROBE_RTT, None
        if self.mode != PROBE_RTT:
            return
        if self.reached is None:
            if s.in_flight <= self.smallest:
                self.reached, self.mark, self.passed = s.now, s.delivered, False
            return
        self.passed |= over
        if self.passed and s.now - self.reached > 200_000:
            self.seen, self.ignored = s.now, 2
            s.cwnd = max(s.cwnd, self.before)
            self.mode = PROBE_BW if self.full else STARTUP

    def remember(self, s):
        kept = self.before if self.state >= RECOVERY or self.mode == PROBE_RTT else 0
        self.before = max(kept, s.cwnd)

    def window(self, s):
        s.cwnd = max(s.cwnd - s.lost, 1)
        if s.state == RECOVERY != self.state:
            self.conserving, self.mark = True, s.delivered
            s.cwnd = s.in_flight + s.acked
        elif self.state >= RECOVERY > s.state:
            self.conserving = False
            s.cwnd = max(s.cwnd, self.before)
        self.state = s.state
        if self.conserving:
            s.cwnd = max(s.cwnd, s.in_flight + s.acked)
        else:
            gain = {PROBE_BW: self.gain, PROBE_RTT: 1}.get(self.mode, self.startup)
            target = self.bdp(gain) + self.room()
            if self.full:
                half = self.group // 5
                extra = max(self.extra.get(half, 0), self.extra.get(half - 1, 0))
                target += min(extra, self.bandwidth() * 100_000)
                s.cwnd = min(s.cwnd + s.acked, math.ceil(target))
            elif s.cwnd < target or s.delivered < 10:
                s.cwnd += s.acked
            s.cwnd = max(s.cwnd, self.smallest)
        if self.mode == PROBE_RTT:
            s.cwnd = min(s.cwnd, self.smallest)

    def loss(self, s, timeout):
        self.remember(s)
        if timeout:
            self.state, self.grown = LOSS, 0
            self.police(s, True, False, 1)
        return s.ssthresh

    def undo(self, s):
        self.grown = self.stuck = 0
        self.policer = self.start_interval = self.last = None
        return s.cwnd


def rounds(n, segments, rtt_ms=100, acked=1, **more):
    """n rounds in each of which so many segments arrive, evenly."""
    us = round(rtt_ms * 1000)
    more = {"rate": (segments, us)} | more
    return acks(n * segments // acked, rtt_ms, gap_us=us * acked // segments, acked=acked, **more)


# To a full pipe of 100 segments per 100 ms, and drained.
FULL = [rounds(1, 10), rounds(1, 20), rounds(1, 40), rounds(1, 80), rounds(5, 100)]
DRAINED = [{"cwnd": 90}]
STEADY = [*FULL, *DRAINED, rounds(4, 100)]

CASES = [
    case("STARTUP: 2.885 BDP, DRAIN", Bbr, at(10), *FULL, rounds(3, 100), tolerance=3),
    case(
        "STARTUP does not end while the application is the limit",
        Bbr,
        at(10),
        *FULL[:4],
        rounds(6, 80, limited=False),
        tolerance=3,
    ),
    case("PROBE_BW: 2 BDP", Bbr, at(10), *STEADY, tolerance=3),
    case("gains", Bbr, at(10), *STEADY, tolerance=3, startup_gain="2", cwnd_gain="3"),
    case("startup gain", Bbr, at(10), *FULL, rounds(3, 100), tolerance=3, startup_gain="2"),
    case("Linux's bursts: 2 segments", Bbr, at(10), *STEADY, tolerance=3, burst="linux"),
    case(
        "Linux's bursts: 9 segments, 3 in DRAIN, 12 and 7 in the phases of 1.25 and 0.75",
        Bbr,
        at(10),
        *[rounds(1, 10 * 2**k) for k in range(7)],
        rounds(5, 1000),
        {"cwnd": 900},
        rounds(4, 1000),
        tolerance=20,
        burst="linux",
    ),
    case(
        "Linux's bursts: 64 KiB at most, 45 segments, fewer in DRAIN",
        Bbr,
        at(10),
        *[rounds(1, 10 * 2**k, rtt_ms=1) for k in range(4)],
        rounds(5, 100, rtt_ms=1),
        {"cwnd": 90},
        rounds(4, 100, rtt_ms=1),
        tolerance=40,
        burst="linux",
    ),
    case("delayed ACKs", Bbr, at(10), *FULL, *DRAINED, rounds(4, 100, acked=2), tolerance=3),
    case(
        "ten rounds after the rate fell the window falls",
        Bbr,
        at(10),
        *STEADY,
        rounds(5, 50),
        rounds(4, 50),
        rounds(4, 50),
        tolerance=3,
    ),
    case(
        "a shorter RTT counts at once",
        Bbr,
        at(10),
        *STEADY,
        acks(200, rtt_ms=50, gap_us=500, rate=(50, 50_000)),
        tolerance=3,
    ),
    case(
        "PROBE_RTT: 4 segments for 200 ms and a round",
        Bbr,
        at(10),
        *STEADY,
        rounds(80, 100, acked=100),
        acks(8, gap_us=100_000, acked=100, rate=(100, 100_000)),
        acks(3, gap_us=100_000, rate=(4, 100_000)),
        acks(1, gap_us=100_000, rate=(4, 100_000)),
        rounds(3, 100),
        tolerance=3,
    ),
    case(
        "PROBE_RTT after 2 s, 6 segments",
        Bbr,
        at(10),
        *STEADY,
        rounds(4, 100),
        acks(4, gap_us=100_000, rate=(4, 100_000)),
        acks(15, gap_us=20_000, rate=(4, 100_000)),
        rounds(4, 100),
        tolerance=3,
        probe_rtt_interval_s="2",
        min_cwnd="6",
    ),
    case(
        "a repair: a round of packet conservation, then back",
        Bbr,
        at(10),
        *STEADY,
        LOST,
        acks(1, state="recovery", lost=5, rate=(100, 100_000)),
        acks(50, state="recovery", rate=(100, 100_000)),
        acks(100, state="recovery", rate=(100, 100_000)),
        acks(1, rate=(100, 100_000)),
        rounds(1, 100),
        tolerance=3,
    ),
    case(
        "a timeout: from 1, then back",
        Bbr,
        at(10),
        *STEADY,
        TIMEOUT,
        acks(20, state="loss", rate=(100, 100_000)),
        acks(1, rate=(100, 100_000)),
        rounds(1, 100),
        tolerance=3,
    ),
    case(
        "a timeout in STARTUP",
        Bbr,
        at(10),
        *FULL[:3],
        TIMEOUT,
        acks(20, state="loss", rate=(40, 100_000)),
        acks(1, rate=(40, 100_000)),
        rounds(6, 40),
        tolerance=3,
    ),
    case(
        "undo leaves the window",
        Bbr,
        at(10),
        *STEADY,
        LOST,
        acks(10, state="recovery", rate=(100, 100_000)),
        UNDO,
        rounds(1, 100),
        tolerance=3,
    ),
    case("aggregated ACKs", Bbr, at(10), *STEADY, rounds(4, 100, acked=20), rounds(12, 100), tolerance=4),
    case(
        "no aggregation beyond 100 ms",
        Bbr,
        at(10),
        *STEADY,
        acks(4, gap_us=150_000, acked=150, rate=(100, 100_000)),
        tolerance=4,
    ),
    case(
        "a policer",
        Bbr,
        at(10),
        *STEADY,
        rounds(1, 50, lost=1, rate=(60, 60_000)),
        *[rounds(1, 50, lost=1, rate=(60, 60_000))] * 16,
        tolerance=4,
    ),
    case(
        "a policer, long_term off",
        Bbr,
        at(10),
        *STEADY,
        *[rounds(1, 50, lost=1, rate=(60, 60_000))] * 16,
        tolerance=4,
        long_term="off",
    ),
    case(
        "a window of a hundred million",
        Bbr,
        at(100_000_000),
        *[acks(20, rtt_ms=1000, gap_us=50_000, acked=5_000_000, rate=(100_000_000, 1_000_000))] * 5,
        {"cwnd": 90_000_000},
        acks(100, rtt_ms=1000, gap_us=50_000, acked=5_000_000, rate=(100_000_000, 1_000_000)),
        tolerance=5_000_000,
    ),
]
