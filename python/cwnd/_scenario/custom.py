"""The base class of congestion control algorithms written in Python."""

from __future__ import annotations

import functools
import inspect
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Final

from cwnd._common.errors import error

if TYPE_CHECKING:
    from cwnd._cwnd import Ack, Window


_HOOKS = (
    *("init", "pkts_acked", "cong_avoid", "cong_control", "segment_lost"),
    *("ssthresh", "set_state", "cwnd_event", "undo_cwnd"),
)


def check_hook(owner: str, name: str, hook: object) -> None:
    """Raises an `Error` for a generator or a coroutine function: calling it runs no code."""
    while isinstance(hook, staticmethod | classmethod | functools.partial | functools.partialmethod):
        hook = hook.func if hasattr(hook, "func") else hook.__func__
    # A callable object's code is in its class.
    for code in (hook, inspect.getattr_static(type(hook), "__call__", None)):
        for kind, is_kind in (
            ("a generator", inspect.isgeneratorfunction),
            ("a coroutine", inspect.iscoroutinefunction),
            ("an asynchronous generator", inspect.isasyncgenfunction),
        ):
            if is_kind(code):
                reason = f"{kind}, whose code would never run; a hook is a function without yield and async"
                raise error(f"{owner}.{name}", reason)


class CongestionControl(ABC):
    """A congestion control algorithm; subclass it and hand the class to `dumbbell` or `Scenario`.

    Each flow gets its own instance, created with the scenario's parameters as keyword arguments. The hooks
    have the names and the meaning of the kernel's ``struct tcp_congestion_ops``. A hook may change `window`
    (in segments) and read `ack` (times in µs); both are valid during the call. An exception in a hook stops
    the run, and `run` raises it with its traceback.
    """

    # States: ack.state and set_state. The values are the kernel's.
    OPEN: Final = 0
    DISORDER: Final = 1
    CWR: Final = 2
    RECOVERY: Final = 3
    LOSS: Final = 4

    # Events: cwnd_event.
    TX_START: Final = 0
    CWND_RESTART: Final = 1
    COMPLETE_CWR: Final = 2
    RTO: Final = 3
    SLOW_ACK: Final = 6

    #: `window.ssthresh` before the first loss.
    SSTHRESH_INFINITE: Final = 0x7FFFFFFF

    def __init_subclass__(cls, **keywords: object) -> None:
        super().__init_subclass__(**keywords)
        for name in _HOOKS:
            check_hook(cls.__name__, name, inspect.getattr_static(cls, name))

    def init(self, window: Window, ack: Ack) -> None:
        """The connection is established."""

    def pkts_acked(self, window: Window, ack: Ack) -> None:
        """An ACK carries an RTT sample: `ack.rtt_us` > 0."""

    def cong_avoid(self, window: Window, ack: Ack) -> None:
        """An ACK moves the left edge, and `ack.acked` segments arrived: grow `window.cwnd`.

        Not called during CWR and RECOVERY. A class has this hook or `cong_control`.
        """

    def cong_control(self, window: Window, ack: Ack) -> None:
        """Every ACK, in every state: set `window.cwnd` and `window.pacing_rate`.

        With this hook the stack does not call `cong_avoid`, and sets cwnd itself only at a timeout; ACKs have
        samples of the delivery rate: `ack.rate_delivered` segments arrived in `ack.rate_interval_us`.
        """

    def segment_lost(self, window: Window, ack: Ack) -> None:
        """A segment is marked lost, of a class with `cong_control`; before `ssthresh` and `set_state`.

        `ack.rate_in_flight`, `ack.rate_lost` and `ack.rate_app_limited` are those of the lost segment: what
        was in flight when it was sent, and the segments marked lost since, it included.
        """

    @abstractmethod
    def ssthresh(self, window: Window, ack: Ack) -> int:
        """A loss: the new ssthresh, 1 to 2147483647. The stack lowers cwnd."""

    def set_state(self, window: Window, ack: Ack, state: int) -> None:
        """The sender enters `state`: OPEN, DISORDER, CWR, RECOVERY or LOSS."""

    def cwnd_event(self, window: Window, ack: Ack, event: int) -> None:
        """TX_START, CWND_RESTART, COMPLETE_CWR or RTO; with the profile ns2 also SLOW_ACK.

        SLOW_ACK is an ACK that does not move the left edge, that arrives in a state other than OPEN, or
        whose RTT `pkts_acked` does not get; `ack.acked` is then the number of segments by which it moves the
        left edge.
        """

    def undo_cwnd(self, window: Window, ack: Ack) -> int:
        """The last reduction was spurious: the cwnd to restore."""
        return max(window.cwnd, window.prior_cwnd)
