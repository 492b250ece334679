"""A sender without a network: it hands events to the hooks of an algorithm, and looks at the window."""

from __future__ import annotations

from typing import NamedTuple

from cwnd import _cwnd
from cwnd._common.text import digits
from cwnd._conform.cases import Hooks, Step

_CWND_LIMITED, _APP_LIMITED, _ECE = 1, 2, 4
_SSTHRESH_INFINITE = 0x7FFFFFFF
_START_US = 1_000_000
_RTT_MS = 100.0

#: ACKs of one step: a header whose window grows without bound does not take for ever.
_ACKS_MAX = 100_000


class Outcome(NamedTuple):
    """Result of a case: every step came out as expected, or the first that did not."""

    ok: bool
    found: str


class Sender:
    """The stack's half of the contract, with a pipe that holds the window and delays it by an RTT."""

    def __init__(self, scenario: _cwnd.Scenario, hooks: Hooks) -> None:
        """The algorithm is that of the scenario's first flow."""
        ssthresh = _SSTHRESH_INFINITE if hooks.ssthresh is None else hooks.ssthresh
        self.driver = _cwnd.Hooks(scenario, hooks.cwnd, ssthresh)
        self.now_us = float(_START_US)
        self.delivered = self.delivered_ce = 0
        self.in_flight = hooks.cwnd
        self.srtt_us = self.min_rtt_us = 0
        self.acks = 0
        #: Times in seconds, windows and ssthreshs, a row for each change.
        self.trace: list[tuple[float, int, int]] = []
        self.prior_ssthresh = ssthresh
        self._set(now_us=_START_US)
        self.driver.start()

    def _set(self, **fields: int) -> None:
        for field, value in fields.items():
            self.driver.set(field, value)

    def note(self) -> None:
        """Keeps the window, if it changed."""
        row = (self.now_us / 1e6, self.driver.cwnd, self.driver.ssthresh)
        if not self.trace or self.trace[-1][1:] != row[1:]:
            self.trace.append(row)

    def take(self, step: Step) -> None:
        """Lets the events of a step happen."""
        self.acks = 0
        given, driver = step.circumstances, self.driver
        if step.event == "rounds":
            for _ in range(int(step.amount)):
                if self.acks <= _ACKS_MAX:
                    self._round(step)
        elif step.event == "seconds":
            end_us = self.now_us + step.amount * 1e6
            while self.now_us < end_us - 1 and self.acks <= _ACKS_MAX:
                self._round(step)
        elif step.event == "acks":
            gap_us = given.get("gap_ms", 1.0) * 1e3
            for _ in range(int(step.amount)):
                self._ack(step, gap_us)
        elif step.event == "grow_to":
            gap_us = given.get("rtt_ms", _RTT_MS) * 1e3 / max(self.in_flight, 1)
            while driver.cwnd < step.amount and self.acks <= _ACKS_MAX:
                self._ack(step, gap_us)
        elif step.event == "loss":
            self.prior_ssthresh = driver.ssthresh
            driver.on_loss()
            self._repair(step, driver)
        elif step.event == "mark":
            self.prior_ssthresh = driver.ssthresh
            self._set(flags=_CWND_LIMITED | _ECE)
            if driver.on_congestion():
                self._repair(step, driver)
        elif step.event == "timeout":
            self.prior_ssthresh = driver.ssthresh
            driver.on_timeout(True, self.in_flight)
            self.in_flight = 1
        elif step.event == "undo":
            driver.undo(self.prior_ssthresh)
        else:
            self.now_us += step.amount * 1e6
            self._set(now_us=round(self.now_us), in_flight=0)
            driver.on_first_send()
        self.note()

    def _repair(self, step: Step, driver: _cwnd.Hooks) -> None:
        """A round trip in which the repair arrives, and the window does not grow."""
        rtt_us = step.circumstances.get("rtt_ms", _RTT_MS) * 1e3
        self.now_us += rtt_us
        self.delivered += self.in_flight
        self.in_flight = driver.cwnd
        self._set(now_us=round(self.now_us), delivered=self.delivered, in_flight=self.in_flight)
        driver.on_recovered()
        self.in_flight = driver.cwnd

    def _round(self, step: Step) -> None:
        """An ACK for each segment, or each `acked`, of what is in flight, spread over an RTT."""
        in_flight = int(step.circumstances.get("in_flight", self.in_flight))
        acked = int(step.circumstances.get("acked", 1))
        acks = min(max(-(-in_flight // acked), 1), _ACKS_MAX + 1)
        gap_us = step.circumstances.get("rtt_ms", _RTT_MS) * 1e3 / acks
        for number in range(acks):
            self._ack(step, gap_us, min(acked, max(in_flight - number * acked, 1)))

    def _ack(self, step: Step, gap_us: float, acked: int | None = None) -> None:
        self.acks += 1
        if self.acks > _ACKS_MAX:
            return
        given, driver = step.circumstances, self.driver
        acked = int(given.get("acked", 1)) if acked is None else acked
        rtt_us = round(given.get("rtt_ms", _RTT_MS) * 1e3 + given.get("queue_ms", 0.0) * 1e3)
        self.now_us += gap_us
        self.delivered += acked
        ce = acked if given.get("marked") else 0
        self.delivered_ce += ce
        self.srtt_us = self.srtt_us + (rtt_us - self.srtt_us) // 8 if self.srtt_us else rtt_us
        self.min_rtt_us = min(self.min_rtt_us or rtt_us, rtt_us)
        is_limited = "in_flight" not in given
        prior = max(self.in_flight if is_limited else int(given["in_flight"]), acked)
        self._set(
            now_us=round(self.now_us),
            delivered=self.delivered,
            delivered_ce=self.delivered_ce,
            acked=acked,
            ce=ce,
            rtt_us=rtt_us,
            srtt_us=self.srtt_us,
            min_rtt_us=self.min_rtt_us,
            owd_us=rtt_us,
            prior_in_flight=prior,
            in_flight=prior - acked,
            flags=(_CWND_LIMITED if is_limited else _APP_LIMITED) | (_ECE if ce else 0),
        )
        driver.on_ack()
        self.note()
        self.in_flight = max(driver.cwnd, prior - acked) if is_limited else prior


def run_hooks(scenario: _cwnd.Scenario, hooks: Hooks) -> Outcome:
    """Takes the steps in order; the first that is not as expected ends the case."""
    sender = Sender(scenario, hooks)
    shown: list[str] = []
    for number, step in enumerate(hooks.steps, 1):
        before = sender.driver.cwnd
        sender.take(step)
        if sender.acks > _ACKS_MAX:
            return Outcome(False, f"step {number}: more than {_ACKS_MAX} ACKs")
        after = sender.driver.cwnd
        found = {
            "cwnd": float(after),
            "ssthresh": float(sender.driver.ssthresh),
            "grown": float(after - before),
            "ratio": after / before,
        }
        for quantity, (low, high) in step.expect.items():
            value = found[quantity]
            if not low <= value <= high:
                wanted = digits(low) if low == high else f"{digits(low)} to {digits(high)}"
                return Outcome(False, f"step {number}: {quantity} {digits(value)}, not {wanted}")
            shown.append(f"{quantity} {digits(value)}")
    return Outcome(True, ", ".join(shown[-4:]))


def trace_hooks(scenario: _cwnd.Scenario, hooks: Hooks) -> list[tuple[float, int, int]]:
    """The times in seconds, windows and ssthreshs of all steps, a row for each change."""
    sender = Sender(scenario, hooks)
    sender.note()
    for step in hooks.steps:
        sender.take(step)
    return [*sender.trace, (sender.now_us / 1e6, sender.driver.cwnd, sender.driver.ssthresh)]
