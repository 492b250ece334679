"""The algorithms that an advice may recommend, and how this machine's kernel gets them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from cwnd import kernel
from cwnd._common.errors import error, one_line
from cwnd._cwnd import Error
from cwnd._scenario.registry import algorithm, algorithms

#: Algorithms that Linux itself has, as modules or built in (net/ipv4/Kconfig).
MAINLINE = frozenset(
    (
        *("reno", "cubic", "bic", "westwood", "htcp", "highspeed", "hybla", "vegas", "scalable"),
        *("veno", "yeah", "illinois", "bbr", "dctcp"),
    )
)
#: Marks are needed, from every queue and receiver on the way.
_NEED_MARKS = ("ecn", "l4s")

_SYSCTL = Path("/proc/sys/net/ipv4")


class Machine(NamedTuple):
    """This machine's kernel: its algorithms, its default, and why it can load none (None: it can)."""

    available: tuple[str, ...]
    default: str | None
    refusal: str | None


def this_machine() -> Machine:
    """Returns what the kernel has or can load; on another system than Linux nothing."""
    try:
        available = (_SYSCTL / "tcp_available_congestion_control").read_text().split()
        default = (_SYSCTL / "tcp_congestion_control").read_text().strip()
    except OSError:
        return Machine((), None, "this is not Linux")
    try:
        missing = next((check for check in kernel.doctor() if not check["ok"]), None)
    except Error as refused:
        return Machine(tuple(available), default, one_line(refused))
    refusal = None if missing is None else f"{missing['what']}: {missing['found']}"
    return Machine(tuple(available), default, refusal)


def check_algorithm(key: str, name: str) -> str:
    """The name, if it is an algorithm's; an `Error` about `key` if it is not."""
    try:
        found = algorithm(name)
    except Error as refused:
        raise error(key, str(refused)) from None
    if "recovery" in found:
        raise error(key, f"'{one_line(name)}' is an algorithm with a recovery of its own")
    return name


def kernel_name(cca: str) -> str:
    """The name that `cwnd kernel load` gives an algorithm."""
    return cca.replace("-", "_")


def candidates(asked: Sequence[str] | None, always: Sequence[str]) -> tuple[list[str], dict[str, str]]:
    """The algorithms to run, and those left out with the reason.

    Without `asked`, all of the registry that a kernel can run without marks and whose paper says all that
    they need. Those of `always` are among them in any case.

    """
    if asked is not None:
        return list(dict.fromkeys([*always, *asked])), {}
    left_out = {}
    for one in algorithms():
        if one["kind"] in _NEED_MARKS:
            left_out[one["name"]] = "needs queues that mark"
        elif one["status"] == "reconstruction":
            left_out[one["name"]] = "its paper leaves parts open"
    names = [one["name"] for one in algorithms() if one["name"] not in left_out]
    return list(dict.fromkeys([*always, *names])), left_out


def preference(cca: str, present: str, machine: Machine) -> int:
    """Among equals the smallest is recommended: what runs already, what this kernel has, what Linux has."""
    if cca == present:
        return 0
    return 1 if kernel_name(cca) in machine.available else 2 if cca in MAINLINE else 3
