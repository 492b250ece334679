"""An advice as files of a system: sysctl.d, a unit of systemd, and the file that undoes them."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from cwnd._advise.candidates import MAINLINE, Machine, kernel_name
from cwnd._advise.commands import PACED, memory
from cwnd._advise.limits import SHAPED
from cwnd._advise.path import Facts
from cwnd._common.errors import error, one_line, os_error
from cwnd._common.files import write_file

#: The names of the files: what to set, what was there before, and the unit of a device.
SET, UNDO, UNIT = "90-cwnd.conf", "90-cwnd-undo.conf", "cwnd-path@.service"
#: Values that Linux has unless it is set otherwise, for a machine whose own are not known.
_DEFAULTS = {
    "net.ipv4.tcp_rmem": "4096 131072 6291456",
    "net.ipv4.tcp_wmem": "4096 16384 4194304",
    "net.ipv4.tcp_congestion_control": "cubic",
}
_SYSCTL = Path("/proc/sys")


class Files(NamedTuple):
    """The content of each file by its name, and the lines that apply them and undo them, as root."""

    content: dict[str, str]
    apply: list[str]
    undo: list[str]


def files_of(cca: str | None, facts: Facts, machine: Machine, why: str) -> Files:
    """The files for `cca` on a path; None: the algorithm stays. Without anything to set there are none.

    Values to go back to are those of this machine, or Linux's defaults where it has none.
    """
    settings = {key: _at_least(value, _now(key)) for key, value, _ in memory(facts)}
    start: list[str] = []
    stop: list[str] = []
    if cca is not None:
        name = kernel_name(cca)
        if name in machine.available or cca in MAINLINE:
            settings["net.ipv4.tcp_congestion_control"] = name
        else:  # sysctl.d is read before anything could load it
            before = _now("net.ipv4.tcp_congestion_control")
            start += [f"cwnd kernel load {cca}", f"sysctl -w net.ipv4.tcp_congestion_control={name}"]
            stop += [f"sysctl -w net.ipv4.tcp_congestion_control={before}", f"cwnd kernel unload {name}"]
    if (queue := _queue(cca, facts)) is not None:
        start.append(queue)
        stop.insert(0, "tc qdisc del dev %i root")
    content = {}
    apply, undo = [], []
    if settings:
        content[SET] = _conf(f"{why}\nFor /etc/sysctl.d; {UNDO} undoes it.", settings)
        content[UNDO] = _conf(f"The values before {SET}.", {key: _now(key) for key in settings})
        apply += [f"install -m 644 {SET} /etc/sysctl.d/", f"sysctl -p /etc/sysctl.d/{SET}"]
        undo += [f"rm /etc/sysctl.d/{SET}", f"sysctl -p {UNDO}"]
    if start:
        content[UNIT] = _unit(why, start, stop)
        apply += [f"install -m 644 {UNIT} /etc/systemd/system/", "systemctl daemon-reload"]
        apply.append(f"systemctl enable --now {UNIT.replace('@', '@DEV')}")
        undo += [f"systemctl disable --now {UNIT.replace('@', '@DEV')}", f"rm /etc/systemd/system/{UNIT}"]
    return Files(content, apply, undo)


def check_folder(folder: str | os.PathLike[str]) -> None:
    """Raises an `Error` if no files can be written to the folder, which may be made."""
    there = Path(folder).absolute()
    while not there.exists() and there != there.parent:
        there = there.parent
    if not (there.is_dir() and os.access(there, os.W_OK)):
        raise error("files", f"{one_line(str(there))} is not a directory that can be written to")


def write_files(files: Files, folder: str | os.PathLike[str]) -> None:
    """Writes the files into a folder, which is made. Raises an `Error` of one line."""
    into = Path(folder)
    try:
        into.mkdir(parents=True, exist_ok=True)
        for name, text in files.content.items():
            write_file(into / name, text.encode())
    except OSError as failed:
        raise error("files", str(os_error(one_line(str(into)), failed))) from None


def _queue(cca: str | None, facts: Facts) -> str | None:
    """The queue discipline that a path or a pacing algorithm needs on the device %i."""
    if facts.policer is not None:
        kbit = round(SHAPED * facts.policer[0] / 1e3)
        htb = "tc qdisc replace dev %i root handle 1: htb default 1"
        of_class = f"tc class replace dev %i parent 1: classid 1:1 htb rate {kbit}kbit"
        cake = f"tc qdisc replace dev %i root cake bandwidth {kbit}kbit"
        return f"{cake} || {{ {htb} && {of_class}; }}"
    return "tc qdisc replace dev %i root fq" if cca in PACED else None


def _now(key: str) -> str:
    """The value of this machine."""
    try:
        return " ".join((_SYSCTL / key.replace(".", "/")).read_text().split())
    except OSError:
        return _DEFAULTS[key]


def _at_least(value: str, now: str) -> str:
    """The limits of memory, or those of this machine where they are greater already."""
    return " ".join(str(max(int(one), int(two))) for one, two in zip(value.split(), now.split(), strict=True))


def _conf(about: str, settings: Mapping[str, str]) -> str:
    comment = "".join(f"# {line}\n" for line in about.splitlines())
    return comment + "".join(f"{key} = {value}\n" for key, value in settings.items())


def _unit(why: str, start: list[str], stop: list[str]) -> str:
    """A unit with the device as its instance. Its lines go through a shell, which finds the commands."""
    own = shutil.which("cwnd") or "cwnd"

    def line(key: str, text: str) -> str:
        shown = text.replace("cwnd kernel", f"{own} kernel")
        return f"{key}=/bin/sh -c '{shown}'"

    lines = [
        *(f"# {one}" for one in why.splitlines()),
        "[Unit]",
        "Description=Congestion control and queue of %i, as cwnd advise has them",
        "After=network-online.target systemd-sysctl.service",
        "Wants=network-online.target",
        "",
        "[Service]",
        "Type=oneshot",
        "RemainAfterExit=yes",
        "Environment=PATH=/usr/sbin:/usr/bin:/sbin:/bin",
        *(line("ExecStart", one) for one in start),
        *(line("ExecStop", one) for one in stop),
        "",
        "[Install]",
        "WantedBy=multi-user.target",
    ]
    return "\n".join(lines) + "\n"
