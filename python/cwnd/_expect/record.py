"""Record of a flow: every call of its algorithm's hooks with the window that it left, and the events."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from cwnd import _cwnd

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Numbers = NDArray[np.int64]
    Flags = NDArray[np.bool_]

#: Hooks, as `crates/python/src/record.rs` numbers them.
INIT, PKTS_ACKED, CONG_AVOID, CONG_CONTROL, SEGMENT_LOST, SSTHRESH, SET_STATE, CWND_EVENT, UNDO_CWND = range(
    9
)

#: Values of the kernel's enum tcp_ca_state and enum tcp_ca_event.
_OPEN, _RECOVERY = 0, 3
_REDUCED = 2
_CWND_RESTART, _RTO = 1, 3

SSTHRESH_INFINITE = 0x7FFFFFFF

_WIDE = ("time_us", "delivered", "pacing_rate")


class Record:
    """The calls of one flow's hooks in their order, as columns."""

    def __init__(self, columns: dict[str, Numbers]) -> None:
        self.columns = columns

    def __len__(self) -> int:
        return len(self.columns["time_us"])

    def __getitem__(self, column: str) -> Numbers:
        """`time_us`, `cwnd`, `ssthresh`, `in_flight`, `state`, ...: the fields of `cc.h` after the call."""
        return self.columns[column]


class Event(NamedTuple):
    """An event of a flow: the row of the record at which it is seen."""

    row: int
    time_s: float


def record_of(scenario: _cwnd.Scenario, seed: int) -> dict[int, Record]:
    """The records of all flows of a run in the simulator, by flow.

    Raises:
        Error: the calls are more than are kept in memory; the run has no answer.
    """
    import numpy as np

    raw = _cwnd.record(scenario, seed)
    whole = {
        name: np.frombuffer(data, "<u8" if name in _WIDE else "<u4").astype(np.int64)
        for name, data in raw.items()
    }
    flows = whole.pop("flow")
    return {
        int(flow): Record({name: column[flows == flow] for name, column in whole.items()})
        for flow in np.unique(flows)
    }


def events_of(record: Record, kind: str) -> list[Event]:
    """The events of that kind, in their order."""
    import numpy as np

    times = record["time_us"]
    return [Event(int(row), int(times[row]) / 1e6) for row in np.flatnonzero(_EVENTS[kind](record))]


def _losses(record: Record) -> Flags:
    found: Flags = (record["hook"] == SET_STATE) & (record["code"] == _RECOVERY)
    return found


def _cuts(record: Record) -> Flags:
    found: Flags = record["hook"] == SSTHRESH
    return found


def _recoveries(record: Record) -> Flags:
    found: Flags = (record["hook"] == SET_STATE) & (record["code"] == _OPEN) & (record["state"] >= _REDUCED)
    return found


def _timeouts(record: Record) -> Flags:
    found: Flags = (record["hook"] == CWND_EVENT) & (record["code"] == _RTO)
    return found


def _restarts(record: Record) -> Flags:
    found: Flags = (record["hook"] == CWND_EVENT) & (record["code"] == _CWND_RESTART)
    return found


def _marks(record: Record) -> Flags:
    """The first call of each ACK that reports a mark."""
    import numpy as np

    marked = record["ce"] > 0
    before = np.concatenate(([-1], record["delivered"][:-1]))
    first = np.concatenate(([True], ~marked[:-1])) | (record["delivered"] != before)
    found: Flags = marked & first
    return found


def _undos(record: Record) -> Flags:
    found: Flags = record["hook"] == UNDO_CWND
    return found


def _exits(record: Record) -> Flags:
    """The calls after which a window that was below ssthresh is not."""
    import numpy as np

    below = record["cwnd"] < record["ssthresh"]
    before: Flags = np.concatenate(([False], below[:-1]))
    return before & ~below


_EVENTS: dict[str, Callable[[Record], Flags]] = {
    "loss": _losses,
    "cut": _cuts,
    "recovered": _recoveries,
    "timeout": _timeouts,
    "mark": _marks,
    "undo": _undos,
    "slow-start-exit": _exits,
    "idle-restart": _restarts,
}
