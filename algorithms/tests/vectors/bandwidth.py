"""Westwood+'s estimate of the rate at which segments arrive, for the models that use it."""

from stack import Rounds


class Bandwidth:
    """BWE = 0.9 BWE + 0.1 (b_k + b_{k-1}) / 2, in segments per second, once per RTT."""

    def __init__(self, s):
        self.rounds, self.since, self.last, self.estimate = Rounds(), (s.now, s.delivered), 0.0, 0.0

    def sample(self, s):
        if not self.rounds.over(s):
            return
        now, delivered = self.since
        rate = (s.delivered - delivered) / (s.now - now) * 1e6
        if self.estimate:
            self.estimate = 0.9 * self.estimate + 0.1 * (rate + self.last) / 2
        else:
            self.estimate = rate
        self.since, self.last = (s.now, s.delivered), rate
