"""TCP NewVegas."""

from stack import LOST, TIMEOUT, UNDO, Model, Rounds, acks, at, avoiding, case

MSS = 1448


class NewVegas(Model):
    """Vegas' difference of expected and actual rate, once per RTT; a paced slow start."""

    rtt = 0

    def number(self, name, default):
        return int(self.p.get(name, default))

    def start(self, s):
        self.rounds, self.pacing = Rounds(), 0

    def sample(self, s):
        self.rtt = s.rtt

    def ack(self, s):
        over = self.rounds.over(s)
        if s.limited:
            if over and s.rtt:
                expected, actual = s.cwnd / s.min_rtt, self.rounds.sent[0] / s.rtt
                self.judge(s, round((expected - actual) * s.min_rtt, 9))
            if s.cwnd < s.ssthresh:
                s.cwnd = min(s.cwnd + s.acked, s.ssthresh)
        self.pacing = 2 * s.cwnd * MSS / self.rtt * 1e6 if s.cwnd < s.ssthresh and self.rtt else 0

    def judge(self, s, diff):
        if s.cwnd < s.ssthresh:
            if diff > self.number("gamma", 1):
                s.ssthresh = max(s.cwnd, 2)
        elif diff > self.number("beta", 3):
            s.cwnd = max(s.cwnd - 1, min(s.cwnd, 2))
            s.ssthresh = max(min(s.ssthresh, s.cwnd), 2)
        elif diff < self.number("alpha", 1):
            s.cwnd += 1

    def restart(self, s):
        end = s.delivered + s.in_flight
        self.rounds.sent[0] = max(self.rounds.sent[0] + end - self.rounds.mark, 0)
        self.rounds.mark = end

    def loss(self, s, timeout):
        self.pacing = 0
        return max(s.cwnd // 2, 2)

    def repaired(self, s):
        self.restart(s)

    def event(self, s, event):
        self.restart(s)


def path(rounds, segments, queue_ms, **more):
    return [acks(segments, rtt_ms=100 + queue_ms, **more)] * rounds


CASES = [
    case("slow start: twice the window per RTT, paced", NewVegas, at(2), *path(6, 30, 0)),
    case("slow start ends on a queue of more than gamma", NewVegas, at(2), *path(2, 30, 0), *path(6, 40, 4)),
    case("a short queue does not end it", NewVegas, at(20), *path(3, 100, 0.05)),
    case("no sample, no pacing", NewVegas, at(10), *path(1, 5, -100), *path(1, 5, 0), *path(1, 1, -100)),
    case("an empty queue: a segment per RTT", NewVegas, avoiding(50), *path(8, 50, 0)),
    case("between alpha and beta: rest", NewVegas, avoiding(50), *path(1, 1, 0), *path(8, 50, 4)),
    case("above beta: down", NewVegas, avoiding(50), *path(1, 1, 0), *path(30, 50, 20)),
    case("loss: half, unpaced", NewVegas, at(50), *path(1, 30, 0), LOST, *path(4, 50, 0), LOST, LOST),
    case(
        "timeout: slow start, paced again; undo",
        NewVegas,
        avoiding(60),
        *path(2, 60, 0),
        TIMEOUT,
        *path(6, 10, 0),
        UNDO,
        *path(2, 60, 0),
    ),
    case("the window is two at least", NewVegas, avoiding(4), *path(1, 1, 0), *path(10, 5, 900)),
    case(
        "parameters",
        NewVegas,
        at(4),
        *path(2, 30, 0),
        *path(3, 40, 4),
        *path(12, 60, 8),
        *path(12, 60, 40),
        alpha="5",
        beta="8",
        gamma="4",
    ),
    case("delayed ACKs", NewVegas, at(4, 60), *path(10, 30, 0, acked=2), *path(4, 30, 9, acked=2)),
    case("a pause", NewVegas, avoiding(40), *path(2, 40, 0), {"event": "tx_start"}, *path(4, 40, 0)),
    case("a huge window", NewVegas, at(2**30), *path(1, 10, 0, acked=10**7)),
    case(
        "nothing grows while the application is the limit",
        NewVegas,
        at(40),
        *path(2, 40, 0, limited=False),
        *path(2, 40, 0),
    ),
]
