"""An advice, in words and as JSON."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass

from cwnd._advise.candidates import MAINLINE, Machine, kernel_name
from cwnd._advise.choose import GOALS, HARM_MARGIN, KEPT, Choice, Judged
from cwnd._advise.commands import Command
from cwnd._advise.files import Files
from cwnd._advise.from_trace import Estimated, describe
from cwnd._advise.limits import SHAPED, Today
from cwnd._advise.measure import Beside, Measured, Round
from cwnd._advise.path import NEAR, Facts
from cwnd._analysis.harm import Estimate
from cwnd._common.text import digits, rate
from cwnd._scenario.registry import algorithm

#: Measured on the paths of docs/advice.md, "Fast paths".
SCALED_ERROR = "goodputs may be off by 7 % of the rate (docs/advice.md)."


@dataclass(frozen=True)
class Advice:
    """Result of `cwnd.advise`; printed, it is the answer in words.

    `choice.decision` is "change", "keep" or "undecided"; `choice.cca` the algorithm.
    """

    facts: Facts
    estimated: Estimated | None
    flows: int
    beside: Beside | None
    goal: str
    present: str
    choice: Choice
    measured: Round
    #: The present algorithm with fq-codel at the bottleneck, where a droptail queue is long.
    managed: Round | None
    #: The limit of today, and the present algorithm behind a shaper below the policer, if there is one.
    today: Today
    shaped: Round | None
    #: The present algorithm with as many connections as fill the path, with the windows of today.
    several: Round | None
    #: The part of the path's rate at which it was simulated.
    part: float
    #: Candidates that a first, short look ruled out, and algorithms that were no candidates.
    screened: list[str]
    left_out: dict[str, str]
    machine: Machine
    commands: dict[str, list[Command]]
    #: Settings of the commands, as files of a system.
    files: Files
    seed: int

    def __str__(self) -> str:
        parts = [
            *([self.today.sentence] if self.today.sentence else []),
            self.why,
            self._path_line(),
            *self._costs(),
            *self._matters(),
            *self._doubts(),
        ]
        lines = [*parts, "", *self._table()]
        for step, written in self.commands.items():
            if written:
                width = max(len(one.line) for one in written)
                lines += ["", f"{step.capitalize()}:"]
                lines += [f"  {one.line:<{width}}  # {one.why}" for one in written]
        if self.choice.decision != "keep":
            lines += ["", self._look_for()]
        return "\n".join(lines)

    def to_json(self) -> str:
        """`{"path", "recommendation", "candidates", "commands", ...}`; rates in Mbit/s, times in ms."""
        content = {
            "path": {
                "rate_mbps": self.facts.rate_bps / 1e6,
                "rtt_ms": self.facts.rtt_ms,
                "loss": self.facts.loss,
                "buffer_pkts": self.facts.buffer_pkts,
                "queue": self.facts.queue,
                "flows": self.flows,
                "beside": None if self.beside is None else self.beside._asdict(),
            },
            "estimated": None if self.estimated is None else self.estimated._asdict(),
            "today": self.today._asdict(),
            "goal": self.goal,
            "present": self.present,
            "recommendation": {
                "decision": self.choice.decision,
                "cca": self.choice.cca,
                "params": dict(self._params()),
                "equals": self.choice.equals,
                "why": self.why,
            },
            "candidates": [self._candidate(one) for one in self.choice.ranking],
            "ruled_out": self.screened,
            "no_candidates": self.left_out,
            "notes": [*self._costs(), *self._matters(), *self._doubts()],
            "commands": {step: [one._asdict() for one in written] for step, written in self.commands.items()},
            "files": self.files._asdict(),
            "runs": {
                "seed": self.seed,
                "paths": len(self._of(self.present).goodput_mbps),
                "part_of_rate": self.part,
                "duration_s": self.measured.duration_s,
                "warmup_s": self.measured.warmup_s,
            },
        }
        return json.dumps(content, allow_nan=False, separators=(",", ":"))

    @property
    def why(self) -> str:
        """The choice and its reason, in a few sentences."""
        goal, cca, now = GOALS[self.goal], self.choice.cca, self.present
        found = {one.cca: one for one in self.choice.ranking}
        if self.choice.decision == "keep":
            best = next((o for o in self.choice.ranking if o.verdict == "fit" and o.cca != now), None)
            if best is None:
                return f"Keep {now}: no other algorithm is fit for this goal without more harm."
            gain = self._gain(best)
            return (
                f"Keep {now}. The best other algorithm that does no more harm, {best.cca}, changes "
                f"{goal.what} by {gain}: not worth a change, which begins at {self._worth()}."
            )
        gain = self._gain(found[cca])
        numbers = self._numbers(cca, now)
        if self.choice.decision == "undecided":
            if found[cca].verdict == "fit":
                doubt = f"whether that is worth a change, {self._worth()}, is not settled"
            elif found[cca].verdict == "goodput unsettled":
                doubt = f"whether it keeps {100 * KEPT:.0f} % of the goodput is not settled"
            else:
                doubt = "whether it does more harm than the bar allows is not settled"
            return f"Undecided between {now} and {cca}: {cca} has {numbers} ({gain}), but {doubt}."
        if not self.choice.equals:
            return f"Use {cca}: {numbers} ({gain})."
        others = _list(self.choice.equals)
        if reason := self._preference():
            return f"Use {cca}: {numbers} ({gain}). These runs do not tell it from {others}; {reason}."
        return f"Use {cca} or {others}, which these runs do not distinguish: {cca} has {numbers} ({gain})."

    def _params(self) -> dict[str, float | str]:
        """Returns the recommended algorithm's parameters other than its defaults: the values of Linux."""
        found = algorithm(self.choice.cca)["profiles"].get("linux")
        return {} if found is None else found["params"]

    def _preference(self) -> str:
        """Why one of several equal algorithms is recommended; nothing if there is no reason."""
        cca = self.choice.cca
        if kernel_name(cca) in self.machine.available:
            return f"{cca} is in this kernel"
        return f"{cca} is in Linux" if cca in MAINLINE else ""

    def _of(self, cca: str) -> Measured:
        return self.measured.measured[cca]

    def _numbers(self, cca: str, other: str) -> str:
        """Compares two algorithms in numbers of the goal."""
        one, two = self._of(cca), self._of(other)
        if self.goal == "latency":
            rtts = f"{digits(_mean(one.alone_rtt_ms))} ms instead of {digits(_mean(two.alone_rtt_ms))} ms"
            return f"without competition a p95 RTT of {rtts}"
        if self.goal == "fairness":
            return f"a Jain's index of {_mean(one.jain):.2f} instead of {_mean(two.jain):.2f}"
        return f"{digits(_mean(one.goodput_mbps))} Mbit/s instead of {digits(_mean(two.goodput_mbps))}"

    def _gain(self, one: Judged) -> str:
        if not GOALS[self.goal].relative:
            return f"{one.gain.mean:+.2f} [{one.gain.low:+.2f}, {one.gain.high:+.2f}]"
        # A lower delay is better.
        sign = -1 if self.goal == "latency" else 1
        low, high = sorted((sign * one.gain.low, sign * one.gain.high))
        return f"{100 * sign * one.gain.mean:+.0f} % [{100 * low:+.0f}, {100 * high:+.0f}]"

    def _worth(self) -> str:
        goal = GOALS[self.goal]
        return f"{100 * goal.worth:.0f} %" if goal.relative else f"{goal.worth:g}"

    def _path_line(self) -> str:
        facts, beside = self.facts, self.beside
        buffer = (
            "an unlimited buffer" if facts.buffer_pkts is None else f"a buffer of {facts.buffer_pkts} packets"
        )
        loss = f"{digits(100 * facts.loss)} % random loss" if facts.loss else "no random loss"
        with_others = "nothing beside" if beside is None else _beside(beside)
        flows = f"{self.flows} flow{'s' * (self.flows != 1)}"
        link = f"{rate(facts.rate_bps)}, RTT {digits(facts.rtt_ms)} ms, {loss}, {buffer}, {facts.queue}"
        line = f"{link}; {flows}, {with_others}."
        return line if self.estimated is None else f"Estimated {describe(self.estimated)}.\n{line}"

    def _costs(self) -> list[str]:
        """Describes what the choice, and the fastest if it is refused, does to others."""
        if self.beside is None:
            return []
        idle, who = digits(_mean(self.measured.idle_mbps)), _beside(self.beside)
        verb = "gets" if self.beside.flows == 1 else "get"
        same = self._of(self.beside.cca)
        found = {one.cca: one for one in self.choice.ranking}
        lines = []
        if self.choice.cca != self.present:
            own = self._of(self.choice.cca)
            lines.append(
                f"What it costs others: the {who} {verb} {digits(_mean(own.beside_mbps))} Mbit/s of {idle} "
                f"alone, and {digits(_mean(same.beside_mbps))} with {self.beside.cca} in its place"
                f"{self._beyond(found[self.choice.cca])}."
            )
        tempting = [one for one in self.choice.ranking if one.verdict in ("harmful", "harm unsettled")]
        tempting = [one for one in tempting if one.cca not in (self.choice.cca, self.present)]
        fastest = max(tempting, key=lambda one: _mean(self._of(one.cca).goodput_mbps), default=None)
        if fastest is not None and _mean(self._of(fastest.cca).goodput_mbps) > _mean(
            self._of(self.choice.cca).goodput_mbps
        ):
            own = self._of(fastest.cca)
            why = (
                "not advised" if fastest.verdict == "harmful" else "not advised without a test beside others"
            )
            lines.append(
                f"{fastest.cca} has {digits(_mean(own.goodput_mbps))} Mbit/s, but leaves the {who} "
                f"{digits(_mean(own.beside_mbps))} of {idle}{self._beyond(fastest)}: {why}."
            )
        now = found[self.present]
        if now.verdict == "harmful":
            more = f"takes more from those beside it than the bar allows{self._beyond(now)}"
            lines.append(f"{self.present} itself {more}.")
        return lines

    def _beyond(self, one: Judged) -> str:
        if one.harm_rate is None or one.harm_rtt is None:
            return ""
        return (
            f" (harm beyond {self.beside.cca if self.beside else ''}'s own: rate {_harm(one.harm_rate)}, "
            f"RTT {_harm(one.harm_rtt)}; the bar is {HARM_MARGIN:g})"
        )

    def _matters(self) -> list[str]:
        lines = []
        now = self._of(self.present)
        if self.managed is not None:
            with_queue = self.managed.measured[self.present]
            lines.append(
                f"The queue matters, too: with fq-codel at the bottleneck {self.present} has a p95 RTT of "
                f"{digits(_mean(with_queue.p95_rtt_ms))} ms instead of {digits(_mean(now.p95_rtt_ms))}, and "
                f"{digits(_mean(with_queue.goodput_mbps))} instead of {digits(_mean(now.goodput_mbps))} "
                "Mbit/s. Where the bottleneck is not yours, a shaper (tc cake, htb) just below its rate "
                "moves the queue to you."
            )
        if self.shaped is not None and self.facts.policer is not None:
            behind, bps = self.shaped.measured[self.present], SHAPED * self.facts.policer[0]
            after, before = (
                f"{digits(_mean(one.goodput_mbps))} Mbit/s and {digits(100 * _mean(one.loss))} % loss"
                for one in (behind, now)
            )
            lines.append(
                f"Shaped to {rate(bps)} before the policer, {self.present} has {after} instead of {before}: "
                f"tc qdisc replace dev DEV root cake bandwidth {round(bps / 1e3)}kbit."
            )
        if self.several is not None:
            lines.append(self._with_several(self.several.measured[self.present]))
        loads = [one for one in self.commands["prepare"] if "tcp_" in one.line]
        bdp_mb = self.facts.bdp_bytes / 1e6
        enough = (
            "the kernel's defaults are too small for one connection that fills the path"
            if loads
            else "the kernel's default socket buffers suffice"
        )
        lines.append(f"BDP {digits(bdp_mb)} MB: {enough}.")
        return lines

    def _with_several(self, own: Measured) -> str:
        """Describes what several connections with the windows of today have, alone and beside others."""
        windows = "" if self.today.window_bytes is None else " with the windows of today"
        line = (
            f"{self.today.connections} {self.present} connections at once{windows} have "
            f"{digits(_mean(own.alone_mbps))} Mbit/s alone"
        )
        if self.beside is None:
            return f"{line}."
        verb = "gets" if self.beside.flows == 1 else "get"
        return (
            f"{line} and {digits(_mean(own.goodput_mbps))} in competition, where the {_beside(self.beside)} "
            f"{verb} {digits(_mean(own.beside_mbps))}."
        )

    def _doubts(self) -> list[str]:
        unknown = [] if self.estimated is None else self.estimated.unknown
        lines = [f"{line[0].upper()}{line[1:]}." for line in unknown]
        cca = self.choice.cca
        if self.choice.decision != "keep" and kernel_name(cca) not in self.machine.available:
            if cca not in MAINLINE:
                lines.append(f"{cca} is not part of Linux: little is known of it in operation.")
            if self.machine.refusal is not None:
                refusal = f"This machine's kernel cannot load it ({self.machine.refusal})"
                lines.append(f"{refusal}; the advice is for one that can.")
        default = self.machine.default
        if default not in (None, self.present):
            lines.append(f"This machine's default is {default}; --present {default} compares with it.")
        if self.part < 1:
            lines.append(f"Simulated at {digits(100 * self.part)} % of the rate: {SCALED_ERROR}")
        runs, one = len(self._of(self.present).goodput_mbps), self.measured
        lines.append(
            f"From {runs} simulated runs of {digits(one.duration_s)} s, the first {digits(one.warmup_s)} s "
            f"left out: the path, and {runs - 1} whose rate, RTT, loss and buffer are up to "
            f"{100 * NEAR:.0f} % off. Intervals are over these."
        )
        return lines

    def _table(self) -> Sequence[str]:
        heads = ["", "Mbit/s", "alone", "p95 RTT", "alone", "loss", "others", "harm, rate", "harm, RTT", ""]
        rows = [heads]
        for one in self.choice.ranking:
            own = self._of(one.cca)
            verdict = "present" if one.cca == self.present else one.verdict
            rows.append(
                [
                    one.cca,
                    digits(_mean(own.goodput_mbps)),
                    digits(_mean(own.alone_mbps)),
                    digits(_mean(own.p95_rtt_ms)),
                    digits(_mean(own.alone_rtt_ms)),
                    f"{digits(100 * _mean(own.loss))} %",
                    digits(_mean(own.beside_mbps)) if own.beside_mbps else "-",
                    _harm(one.harm_rate),
                    _harm(one.harm_rtt),
                    verdict,
                ]
            )
        widths = [max(len(row[column]) for row in rows) for column in range(len(heads))]
        lines = []
        for row in rows:
            first, *others, last = (cell for cell in row)
            middle = "  ".join(f"{cell:>{width}}" for cell, width in zip(others, widths[1:-1], strict=True))
            lines.append(f"{first:<{widths[0]}}  {middle}  {last}".rstrip())
        return lines

    def _look_for(self) -> str:
        own, flows = self._of(self.choice.cca), self.flows
        expected = [
            f"{digits(_mean(own.goodput_mbps) / flows)} Mbit/s a connection",
            f"a p95 RTT near {digits(_mean(own.p95_rtt_ms))} ms",
            f"{digits(100 * _mean(own.loss))} % lost",
        ]
        others = ""
        if self.beside is not None:
            same = _mean(self._of(self.beside.cca).beside_mbps)
            each = f"{digits(same / self.beside.flows)} Mbit/s each"
            others = f" Roll back if those beside it fall much below {each}."
        return f"What to look for: {', '.join(expected)}.{others}"

    def _candidate(self, one: Judged) -> dict[str, object]:
        own = self._of(one.cca)
        return {
            "cca": one.cca,
            "verdict": one.verdict,
            "goodput_mbps": _mean(own.goodput_mbps),
            "alone_mbps": _mean(own.alone_mbps),
            "p95_rtt_ms": _finite(_mean(own.p95_rtt_ms)),
            "alone_p95_rtt_ms": _finite(_mean(own.alone_rtt_ms)),
            "loss_ratio": _mean(own.loss),
            "jain_fairness": _mean(own.jain),
            "beside_mbps": _mean(own.beside_mbps) if own.beside_mbps else None,
            "gain": _ends(one.gain),
            "harm_rate": _ends(one.harm_rate),
            "harm_rtt": _ends(one.harm_rtt),
        }


def _beside(beside: Beside) -> str:
    return f"{beside.cca} flow beside" if beside.flows == 1 else f"{beside.flows} {beside.cca} flows beside"


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _ends(found: Estimate | None) -> dict[str, float | None] | None:
    if found is None:
        return None
    return {"mean": _finite(found.mean), "ci95_low": _finite(found.low), "ci95_high": _finite(found.high)}


def _harm(found: Estimate | None) -> str:
    if found is None:
        return "-"
    return f"{found.mean:+.2f} [{found.low:+.2f}, {found.high:+.2f}]"


def _list(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
