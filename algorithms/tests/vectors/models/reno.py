"""Reno."""

from stack import Model, acks, LOST, TIMEOUT, case, at


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


CASES = [
    case(
        "slow start, avoidance, loss, timeout",
        Reno,
        at(2, 64),
        acks(30),
        acks(32),
        acks(64),
        acks(65),
        LOST,
        acks(100),
        TIMEOUT,
        acks(40),
    ),
    case("nothing grows while the application is the limit", Reno, at(10), acks(50, limited=False), acks(1)),
    case(
        "an ACK that crosses ssthresh leaves the rest to avoidance",
        Reno,
        at(9, 10),
        acks(1, acked=8),
        acks(1, acked=3),
    ),
]
