"""The stack around an algorithm, in terms of which a model of one is written."""

from decimal import getcontext

getcontext().prec = 60
INFINITE = 0x7FFFFFFF
OPEN, DISORDER, CWR, RECOVERY, LOSS = range(5)
STATES = {"open": OPEN, "disorder": DISORDER, "cwr": CWR, "recovery": RECOVERY, "loss": LOSS}


class Sender:
    """The stack around an algorithm: what tests/all/sender/mod.rs does in Rust."""

    def __init__(self, model, window):
        self.model = model
        self.cwnd, self.ssthresh = window["cwnd"], window.get("ssthresh", INFINITE)
        self.prior = 0
        self.now = 1_000_000
        self.delivered = self.delivered_ce = self.in_flight = 0
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
            self.ssthresh = self.model.loss(self, timeout=False)
            if not self.model.controls:
                self.cwnd = self.model.repair_cwnd or self.ssthresh
            self.model.repaired(self)
        elif "mark" in step:
            self.prior = self.cwnd
            self.cwnd = self.ssthresh = self.model.mark(self)
        elif "reduced" in step:
            self.cwnd = self.ssthresh
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
        self.prior_in_flight = step.get("prior_in_flight", self.cwnd)
        self.ce = step.get("ce", 0)
        self.delivered_ce += self.ce
        self.in_flight = max(self.prior_in_flight - self.acked, 0)
        self.limited = step.get("limited", True)
        self.state = STATES[step.get("state", "open")]
        self.snd_wnd = step.get("snd_wnd", INFINITE)
        self.rtt, self.owd = step.get("rtt_us", 0), step.get("owd_us", 0)
        if self.rtt:
            self.min_rtt = min(self.min_rtt or self.rtt, self.rtt)
            self.model.sample(self)
        self.rate = step.get("rate", (0, 0))
        self.lost = step.get("lost", 0)
        if self.model.controls or self.state not in (CWR, RECOVERY):
            self.model.ack(self)


class Model:
    controls = False  # has cong_control
    repair_cwnd = None  # set by loss: cwnd during the repair, if it is not ssthresh
    pacing = None  # bytes/s, of a model that has it
    pacing_tolerance = 0  # the part of it by which a rate that is rounded step by step may be beside it

    def __init__(self, **params):
        self.p = params

    def start(self, s): ...
    def sample(self, s): ...
    def repaired(self, s): ...
    def event(self, s, event): ...

    def mark(self, s):
        return self.loss(s, timeout=False)

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


def acks(n, rtt_ms=100, gap_us=1000, **more):
    rtt = {"rtt_us": round(rtt_ms * 1000)} if rtt_ms else {}
    return {"acks": n, "gap_us": gap_us, **rtt, **more}


def queue(cwnd, *queued):
    """RTTs of cwnd segments, with `queued` of them in the queue of a path of 100 ms."""
    return [acks(cwnd, rtt_ms=100 * cwnd / (cwnd - n)) for n in queued]


LOST, TIMEOUT, UNDO = {"loss": True}, {"rto": True}, {"undo": True}
MARK, REDUCED = {"mark": True}, {"reduced": True}


def case(name, model, window, *steps, tolerance=0, **params):
    return {
        "name": name,
        "model": model,
        "window": window,
        "steps": steps,
        "tolerance": tolerance,
        "params": params,
    }


def at(cwnd, ssthresh=INFINITE):
    return {"cwnd": cwnd, "ssthresh": ssthresh}


def avoiding(cwnd):
    return at(cwnd, cwnd)
