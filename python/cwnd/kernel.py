"""The algorithms in the running Linux kernel: loaded by one call, taken out by another.

>>> with cwnd.kernel.load("elastic", params={"beta": 0.8}) as elastic:
...     connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, elastic.name.encode())
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar

from cwnd import _cwnd
from cwnd._common.checks import mapping, whole
from cwnd._common.errors import error, one_line
from cwnd._results.results import Results
from cwnd._results.tables import traced_samples

if TYPE_CHECKING:
    import polars as pl


_Name = TypeVar("_Name", str, str | None)

__all__ = ["Loaded", "Trace", "doctor", "load", "status", "trace", "unload"]


class Loaded:
    """An algorithm that is in the kernel under `name`. As a context manager it is taken out at the end."""

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

    It stays when the process ends, until `unload` or the machine stops. `default`: sockets that do not choose
    get it. `force`: even into a kernel that leaves hooks out, where windows go wrong.
    """
    written = [(param, str(value)) for param, value in mapping("params", params or {}).items()]
    return Loaded(_cwnd.kernel_load(_unicode(algorithm), _unicode(name), written, default, force))


def unload(name: str) -> str | None:
    """Takes out what was loaded under `name`; connections that use it keep it until they close.

    If it is the default, the default before it was loaded comes back, and is returned.
    """
    return _cwnd.kernel_unload(_unicode(name))


def status() -> list[dict[str, Any]]:
    """What is loaded: name, algorithm, parameters, users, and for each hook its size and cost.

    What a killed load or unload left is listed too: its `fault` is a sentence, otherwise null, and its
    `algorithm` is null. `unload` removes it.
    """
    told: list[dict[str, Any]] = json.loads(_cwnd.kernel_status())
    for each in told:
        each["params"] = dict(each["params"])
    return told


def doctor() -> list[dict[str, Any]]:
    """What loading needs, whether it is there, and if not what to do."""
    checks: list[dict[str, Any]] = json.loads(_cwnd.kernel_doctor())
    return checks


class Trace:
    """Live connections, followed until `stop`; as a context manager to the end of the block."""

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
    def connections(self) -> list[dict[str, Any]]:
        """By `flow` of the samples: `cca, local, remote, netns`, and counters over the time of the trace."""
        connections: list[dict[str, Any]] = json.loads(self._inner.connections())
        return connections

    @property
    def dropped(self) -> int:
        """Samples that are missing because the machine did not keep up; 0 when all is well."""
        return self._inner.dropped()

    @property
    def elapsed_s(self) -> float:
        return self._inner.elapsed_s() if self._elapsed_s is None else self._elapsed_s

    @property
    def results(self) -> Results:
        """Everything so far: one run of a scenario without links, whose seed is 0.

        Throughput and goodput are over the time from a connection's first to its last sample; its wire bytes
        are its segments delivered, times the mean size of those sent meanwhile. `timeouts` is null.
        """
        import polars as pl

        self.read()
        samples = pl.concat(self._parts)
        return Results._traced(self._name, self._interval_ns, self.elapsed_s, self.connections, samples)

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
    """Follows this machine's TCP connections, of all network namespaces, from now on.

    A connection gets a sample at an ACK that reaches it while it has data in flight, when the last one is
    `interval` ago ("0 s": at every ACK). It tells what the ACK before left.

    Args:
        port: Only connections with this port at either end.
        cca: Only those with this algorithm, as the kernel calls it.
        name: Of the scenario in the results.

    >>> with cwnd.kernel.trace(port=5201) as trace:
    ...     ...  # something sends
    >>> trace.results.plot("cwnd", "cwnd.png")

    Raises:
        Error: this machine or user cannot; an argument is out of range.
    """
    return Trace(port, cca, interval, name)


def _unicode(name: _Name) -> _Name:
    """Half a surrogate pair is no name either, and has no UTF-8."""
    return one_line(name) if isinstance(name, str) else name


def time_ns(key: str, text: str, least: int, most: int, limits: str) -> int:
    """A time as scenarios write it."""
    try:
        return _cwnd.time_ns(text, least, most, limits)
    except _cwnd.Error as refused:
        raise error(key, str(refused)) from None
