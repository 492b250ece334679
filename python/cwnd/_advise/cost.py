"""The cost of an advice: the number and length of its runs, for an answer in half a minute on two cores."""

from __future__ import annotations

from typing import NamedTuple

from cwnd._advise.commands import PACED
from cwnd._advise.path import PACKET_BYTES, Facts

#: Time of a packet on one core, on a path of few flows with large windows.
_SECONDS_PER_PKT = 1.5e-7
#: With fewer packets in flight a flow loses many: each packet costs more, up to `_DEAR` times. So do those of
#: a managed queue, and of algorithms that pace.
_IN_FLIGHT_PKTS, _DEAR = 27, 4.0
#: Cost of a flow in a run, whatever it sends: its entries in results.
_FLOW_PKTS = 400
#: Cost of a run at most, but for the least duration.
_RUN_PKTS = 1_000_000
_DURATION_MAX_S, _DURATION_MIN_S, _DURATION_MIN_RTTS = 40.0, 1.0, 200
#: Packets of a run of the least duration at most: a faster path is simulated at a part of its rate.
_WHOLE_PKTS = 1_500_000
#: The least duration may be this part of it where packets are dear.
_DEAR_PART = 0.5
#: A run of the first look is shorter by this.
_FIRST_PART = 0.6
#: Cost of the first and the second look, as far as the number of runs goes, and of all looks.
_FIRST_PKTS, _SECOND_PKTS, _ALL_PKTS = 25e6, 80e6, 300e6


class Effort(NamedTuple):
    """The part of the packets and time that an advice takes; fewest and most runs of both looks.

    `finalists`: candidates of the second look beside the present algorithm, the incumbent and the fastest.
    `again`: candidates whose verdict is not settled are run again.
    """

    part: float
    first_runs: tuple[int, int]
    second_runs: tuple[int, int]
    finalists: tuple[int, int]
    again: bool


WHOLE = Effort(1.0, (1, 4), (8, 16), (4, 8), True)
QUICK = Effort(0.25, (1, 4), (4, 8), (3, 4), False)
#: Fewest runs of a second look where packets are dear.
_DEAR_RUNS = 4


class Look(NamedTuple):
    """A look at algorithms, alone and in competition: runs of each, and their simulated time."""

    runs: int
    duration_s: float


class Costs:
    """The looks that an advice can have on a path with `flows` flows, those of others among them.

    `beside`: the algorithm that most runs have. Costs are in packets of a path of few flows. `part` is the
    part of the path's rate, and of its buffer, at which it is simulated.
    """

    def __init__(self, facts: Facts, flows: int, beside: str, effort: Effort) -> None:
        self._effort = effort
        self._left_pkts = _ALL_PKTS
        self._runs = effort.second_runs
        least_s = max(_DURATION_MIN_S, _DURATION_MIN_RTTS * facts.rtt_ms / 1e3)
        self.part = min(1.0, _WHOLE_PKTS / (least_s * facts.packets_per_s))
        packets_per_s = self.part * facts.packets_per_s
        each = _DEAR if beside in PACED else _cost_of_packet(facts, flows, self.part)
        if each > 1:
            self._runs = (_DEAR_RUNS, effort.second_runs[1])
            affordable_s = _WHOLE_PKTS / (each * packets_per_s)
            least_s = max(_DEAR_PART * least_s, min(least_s, affordable_s))
        self._cost_per_s = each * packets_per_s
        self._duration_s = max(least_s, min(_DURATION_MAX_S, _RUN_PKTS / self._cost_per_s))
        self._cost_of_flows = flows * _FLOW_PKTS

    def first(self, algorithms: int) -> Look:
        """The look at all candidates."""
        return self._look(algorithms, _FIRST_PART, _FIRST_PKTS, self._effort.first_runs)

    def finalists(self) -> int:
        """As many as the packets of the second look allow with the fewest runs."""
        fewest, most = self._effort.finalists
        affordable = self._effort.part * _SECOND_PKTS / self._cost(self._look_of(1.0, self._runs[0]), 1)
        return max(fewest, min(most, int(affordable)))

    def second(self, algorithms: int) -> Look:
        """The look at the finalists."""
        return self._look(algorithms, 1.0, _SECOND_PKTS, self._runs)

    def third(self, second: Look, algorithms: int) -> Look:
        """As many runs as the second look had, or as can be paid for; perhaps none."""
        affordable = self._left_pkts / self._cost(second._replace(runs=1), algorithms)
        return second._replace(runs=min(second.runs, max(0, int(affordable))) if self._effort.again else 0)

    def seconds(self, algorithms: int) -> float:
        """Processor time of the first two looks."""
        chosen = min(self.finalists() + 2, algorithms)
        looks = (self.first(algorithms), algorithms), (self.second(chosen), chosen)
        return _SECONDS_PER_PKT * sum(self._cost(look, number) for look, number in looks)

    def pay(self, look: Look, algorithms: int) -> None:
        """Takes the cost of a look from what is left for all."""
        self._left_pkts -= self._cost(look, algorithms)

    def _look(self, algorithms: int, part: float, packets: float, runs: tuple[int, int]) -> Look:
        one = self._look_of(part, 1)
        affordable = self._effort.part * packets / self._cost(one, algorithms)
        return one._replace(runs=max(runs[0], min(runs[1], int(affordable))))

    def _look_of(self, part: float, runs: int) -> Look:
        return Look(runs, self._effort.part * round(part * self._duration_s, 3))

    def _cost(self, look: Look, algorithms: int) -> float:
        return 2 * algorithms * look.runs * (look.duration_s * self._cost_per_s + self._cost_of_flows)


def _cost_of_packet(facts: Facts, flows: int, part: float) -> float:
    """From measurements with 2 to 2000 flows and 0.3 to 1000 packets in flight each."""
    if facts.queue != "droptail":
        return _DEAR
    in_flight_pkts = part * (facts.bdp_bytes / PACKET_BYTES + (facts.buffer_pkts or 0)) / flows
    return max(1.0, _DEAR / (1 + in_flight_pkts / (_IN_FLIGHT_PKTS / (_DEAR - 1))))
