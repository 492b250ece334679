"""The algorithms in the running Linux kernel: loads and unloads them, and traces connections.

>>> with cwnd.kernel.load("elastic", params={"beta": 0.8}) as elastic:
...     connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, elastic.name.encode())
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from types import TracebackType
from typing import TYPE_CHECKING, TypedDict, TypeVar

from cwnd import _cwnd
from cwnd._common.checks import mapping, whole
from cwnd._common.errors import error, one_line
from cwnd._results.results import Results
from cwnd._results.tables import traced_samples

if TYPE_CHECKING:
    import polars as pl

    from cwnd._common.shapes import Connection


_Name = TypeVar("_Name", str, str | None)

__all__ = ["Loaded", "Trace", "doctor", "load", "status", "trace", "unload"]


class Hook(TypedDict):
    """A hook of a loaded algorithm; its calls are counted while `kernel.bpf_stats_enabled` is 1."""

    name: str
    program_id: int
    insns: int
    verified_insns: int
    calls: int
    total_ns: int


class Status(TypedDict):
    """A loaded algorithm, or what a killed load or unload has left."""

    name: str
    algorithm: str | None
    params: dict[str, str]
    users: int
    default: bool
    former_default: str | None
    hooks: list[Hook]
    fault: str | None


class Check(TypedDict):
    """A thing that loading needs."""

    what: str
    ok: bool
    found: str


class Loaded:
    """An algorithm loaded into the kernel under `name`. As a context manager, unloads it at the end."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return f"<cwnd.kernel.Loaded {self.name!r}>"

    def unload(self) -> None:
        unload(self.name)

    def __enter__(self) -> Loaded:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.unload()


def load(
    algorithm: str,
    name: str | None = None,
    *,
    params: Mapping[str, object] | None = None,
    default: bool = False,
    force: bool = False,
) -> Loaded:
    """Loads an algorithm into the kernel, under its own name or another.

    It stays loaded after the process ends, until `unload` or until the machine stops. `default` makes it the
    default of sockets that do not choose one. `force` loads it even into a kernel that skips hooks, where
    windows go wrong, or that lacks the marks that it needs.
    """
    written = [(param, str(value)) for param, value in mapping("params", params or {}).items()]
    return Loaded(_cwnd.kernel_load(_unicode(algorithm), _unicode(name), written, default, force))


def unload(name: str) -> str | None:
    """Unloads the algorithm called `name`; connections that use it keep it until they close.

    If it is the default, the default from before it was loaded comes back, and is returned.
    """
    return _cwnd.kernel_unload(_unicode(name))


def status() -> list[Status]:
    """The loaded algorithms: name, algorithm, parameters, users, and for each hook its size and cost.

    The remains of a killed load or unload are listed too: their `fault` is a sentence, otherwise None, and
    their `algorithm` is None. `unload` removes them.
    """
    loaded: list[Status] = json.loads(_cwnd.kernel_status())
    for each in loaded:
        each["params"] = dict(each["params"])
    return loaded


def doctor() -> list[Check]:
    """Checks each thing that loading needs; `found` says what to do if it is missing."""
    checks: list[Check] = json.loads(_cwnd.kernel_doctor())
    return checks


class Trace:
    """A trace of live connections, until `stop`; as a context manager, to the end of the block."""

    def __init__(
        self, port: int | None, cca: str | None, interval: str, name: str, *, keep: bool = True
    ) -> None:
        limits = "'0 s', which is every ACK, to '60 s'"
        if not (isinstance(name, str) and 1 <= len(name) <= 100 and one_line(name) == name):
            raise error("name", f"{one_line(repr(name))} is not a name; 1 to 100 printable characters")
        self._interval_ns = time_ns("interval", interval, 0, 60 * 10**9, limits)
        port = None if port is None else whole("port", port, 1, 65535)
        self._name = name
        self._keep = keep
        self._inner = _cwnd.KernelTrace(port, cca, self._interval_ns // 1000)
        self._parts: list[pl.DataFrame] = []
        self._elapsed_s: float | None = None

    def __repr__(self) -> str:
        return f"<cwnd.kernel.Trace {self._name!r}, {self.elapsed_s:.1f} s>"

    def read(self) -> pl.DataFrame:
        """The samples since the last call, as `Results.samples` has them."""
        columns = self._inner.read()
        new = traced_samples(columns, self._name, [one["cca"] for one in self.connections])
        if self._keep:
            self._parts.append(new)
        return new

    @property
    def connections(self) -> list[Connection]:
        """Indexed by `flow` of the samples: `cca, local, remote, netns`, `min_rtt_ms` (the kernel's own, of
        the last five minutes; None before its first sample), and counters of the trace."""
        connections: list[Connection] = json.loads(self._inner.connections())
        return connections

    @property
    def dropped(self) -> int:
        """Samples that are missing because the machine did not keep up."""
        return self._inner.dropped()

    @property
    def elapsed_s(self) -> float:
        return self._inner.elapsed_s() if self._elapsed_s is None else self._elapsed_s

    @property
    def results(self) -> Results:
        """Everything so far: one run of a scenario without links, whose seed is 0.

        Throughput and goodput are over the time from a connection's first to its last sample. Its bytes on
        the wire are its delivered segments times the mean size of the segments sent meanwhile. `timeouts` is
        null.
        """
        import polars as pl

        self.read()
        samples = pl.concat(self._parts)
        return Results._traced(
            self._inner.world, self._name, self._interval_ns, self.elapsed_s, self.connections, samples
        )

    def stop(self) -> None:
        if self._elapsed_s is None:
            self._elapsed_s = self._inner.elapsed_s()
            self._inner.stop()

    def __enter__(self) -> Trace:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


def trace(
    *, port: int | None = None, cca: str | None = None, interval: str = "10 ms", name: str = "trace"
) -> Trace:
    """Traces this machine's TCP connections, in all network namespaces, from now on.

    A connection gets a sample at an ACK that reaches it while it has data in flight, if its last sample is at
    least `interval` old ("0 s": at every ACK). The sample has the state that the ACK before this one left.

    Args:
        port: Only connections with this port at either end.
        cca: Only connections with this algorithm, by its name in the kernel.
        name: The scenario's name in the results.

    >>> with cwnd.kernel.trace(port=5201) as trace:
    ...     ...  # something sends
    >>> trace.results.plot("cwnd", "cwnd.png")

    Raises:
        Error: this machine or user cannot trace, or an argument is out of range.
    """
    return Trace(port, cca, interval, name)


def _unicode(name: _Name) -> _Name:
    """The name with lone surrogates, which have no UTF-8, escaped: the kernel then refuses it in one line."""
    return one_line(name) if isinstance(name, str) else name


def time_ns(key: str, text: str, least: int, most: int, limits: str) -> int:
    """A time as scenarios write it."""
    try:
        return _cwnd.time_ns(text, least, most, limits)
    except _cwnd.Error as refused:
        raise error(key, str(refused)) from None
