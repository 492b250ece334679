"""The commands that a recommendation needs: to prepare, deploy, watch and roll back."""

from __future__ import annotations

import math
from typing import NamedTuple

from cwnd._advise.candidates import MAINLINE, Machine, kernel_name
from cwnd._advise.path import PACKET_BYTES, Facts

#: These set a pacing rate of their own.
PACED = frozenset(["bbr", "bbr3", "copa"])
#: Memory that Linux allows a socket unless it is set otherwise: net.ipv4.tcp_rmem and tcp_wmem.
_RMEM_BYTES, _WMEM_BYTES = 6 << 20, 4 << 20


class Command(NamedTuple):
    """A command line and the reason for it."""

    line: str
    why: str


def commands(cca: str, present: str, facts: Facts, machine: Machine) -> dict[str, list[Command]]:
    """By step: prepare, deploy, watch, roll back. Without a change there is nothing to deploy.

    PREFIX, GATEWAY and DEV stand for a destination, the router to it and the device.
    """
    steps = {"prepare": [Command(f'sysctl -w {key}="{value}"', why) for key, value, why in memory(facts)]}
    if cca in PACED:
        steps["prepare"].append(
            Command("tc qdisc replace dev DEV root fq", f"{cca} paces: fq does it with the fewest timers")
        )
    if cca == present:
        watch = [
            Command(
                f"cwnd kernel trace --cca {kernel_name(cca)} --duration 60s --out now",
                "a record to compare with",
            )
        ]
        return {**steps, "deploy": [], "watch": watch, "roll back": []}
    name = kernel_name(cca)
    deploy, undo = _loading(cca, name, machine)
    deploy += [
        Command(
            f"ip route replace PREFIX via GATEWAY dev DEV congctl {name}",
            "a canary: new connections to PREFIX alone",
        ),
        Command(
            f"sysctl -w net.ipv4.tcp_congestion_control={name}",
            "the rest, once the canary has run for a day",
        ),
    ]
    watch = [
        Command(f"cwnd kernel trace --cca {name} --duration 60s --out canary", "the canary"),
        Command(
            f"cwnd kernel trace --cca {kernel_name(present)} --duration 60s --out others", "those beside it"
        ),
        Command("cwnd results canary", "goodput, RTT and loss of each connection; the same for others"),
    ]
    back = [
        Command(
            "ip route replace PREFIX via GATEWAY dev DEV", "the canary's new connections have the default"
        ),
        Command(
            f"sysctl -w net.ipv4.tcp_congestion_control={kernel_name(present)}",
            "open connections keep their algorithm until they close",
        ),
        *undo,
    ]
    return {**steps, "deploy": deploy, "watch": watch, "roll back": back}


def _loading(cca: str, name: str, machine: Machine) -> tuple[list[Command], list[Command]]:
    """How the kernel gets the algorithm, and how it loses it."""
    if name in machine.available:
        return [], []
    load = [
        Command("cwnd kernel doctor", "whether this kernel can load an algorithm"),
        Command(f"cwnd kernel load {cca}", "sockets can choose it; no compiler needed"),
    ]
    if cca in MAINLINE:
        load = [Command(f"modprobe tcp_{name}", f"Linux's own; without the module: cwnd kernel load {cca}")]
        return load, []
    return load, [Command(f"cwnd kernel unload {name}", "once no connection uses it")]


def window_bytes(facts: Facts) -> float:
    """The most that one connection can have in flight: the BDP and the buffer, at most a BDP of it."""
    buffer = math.inf if facts.buffer_pkts is None else facts.buffer_pkts * PACKET_BYTES
    return facts.bdp_bytes + min(buffer, facts.bdp_bytes)


class Setting(NamedTuple):
    """A value of sysctl and the reason for it."""

    key: str
    value: str
    why: str


def memory(facts: Facts) -> list[Setting]:
    """Limits of socket memory: twice the window, since Linux counts its own overhead in them."""
    needed = 2 * math.ceil(window_bytes(facts))
    found = []
    for key, default, first in (
        ("tcp_rmem", _RMEM_BYTES, "4096 131072"),
        ("tcp_wmem", _WMEM_BYTES, "4096 16384"),
    ):
        if needed > default:
            side = "the receivers" if key == "tcp_rmem" else "the sender"
            sizes = f"{needed / 1e6:.0f} MB; the default is {default / 1e6:.1f} MB"
            why = f"on {side}: twice BDP and queue of a connection, {sizes}"
            found.append(Setting(f"net.ipv4.{key}", f"{first} {needed}", why))
    return found
