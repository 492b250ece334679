"""The algorithms in the running Linux kernel: loaded by one call, taken out by another.

>>> with cwnd.kernel.load("elastic", params={"beta": 0.8}) as elastic:
...     connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, elastic.name.encode())
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from types import TracebackType
from typing import Any

from cwnd import _cwnd

__all__ = ["Loaded", "doctor", "load", "status", "unload"]


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
) -> Loaded:
    """Loads an algorithm into the kernel, under its own name or another.

    It stays when the process ends, until `unload` or the machine stops. `default`: sockets that do not choose
    get it.
    """
    written = [(param, str(value)) for param, value in (params or {}).items()]
    return Loaded(_cwnd.kernel_load(algorithm, name, written, default))


def unload(name: str) -> None:
    """Takes out what was loaded under `name`; connections that use it keep it until they close."""
    _cwnd.kernel_unload(name)


def status() -> list[dict[str, Any]]:
    """What is loaded: name, algorithm, parameters, users, and for each hook its size and cost."""
    told: list[dict[str, Any]] = json.loads(_cwnd.kernel_status())
    for each in told:
        each["params"] = dict(each["params"])
    return told


def doctor() -> list[dict[str, Any]]:
    """What loading needs, whether it is there, and if not what to do."""
    checks: list[dict[str, Any]] = json.loads(_cwnd.kernel_doctor())
    return checks
