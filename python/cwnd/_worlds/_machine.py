"""The kernel and the emulator of the world `linux`, in a folder of the user's cache."""

from __future__ import annotations

import hashlib
import json
import lzma
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple, TypedDict

from cwnd import _cwnd
from cwnd._common.errors import error, one_line, os_error
from cwnd._common.files import write_file

#: Kernels as apt names the newest of a series; the first that there is.
_KERNELS = ("linux-image-6.12-cloud-amd64", "linux-image-cloud-amd64")
_EMULATOR = "qemu-system-x86_64"
_EMULATOR_PACKAGE = "qemu-system-x86"
#: Modules of the kernel that plans name (crates/linux/src/plan.rs), besides algorithms.
_DRIVERS = (
    *("veth", "sch_netem", "sch_htb", "sch_fq", "sch_codel", "sch_fq_codel", "sch_pie", "sch_red"),
    *("tcp_bbr", "tcp_bic", "tcp_highspeed", "tcp_htcp", "tcp_hybla", "tcp_illinois", "tcp_scalable"),
    *("tcp_vegas", "tcp_westwood", "tcp_yeah", "tcp_dctcp"),
)


class _Module(TypedDict):
    """A module of the kernel: its file in the folder, and the modules that it needs."""

    file: str
    depends: list[str]


class _Machine(TypedDict):
    """The content of machine.json."""

    release: str
    emulator: list[str]
    kernel: str
    btf: str
    modules: dict[str, _Module]
    drivers: list[str]
    sha256: dict[str, str]


class Package(NamedTuple):
    """A package of the distribution, and its size and hash as the distribution signs them."""

    name: str
    file: str
    bytes: int
    sha256: str


def folder() -> Path:
    """Where the machine is: `cwnd/linux` in `$XDG_CACHE_HOME`, or in `~/.cache`."""
    base = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(base) if base else Path.home() / ".cache") / "cwnd" / "linux"


def find(*, ours: bool) -> _cwnd.World:
    """The machine that `cwnd linux setup` made. Raises `Error` if it did not, or if the emulator is gone."""
    if not (folder() / "machine.json").exists():
        raise error("linux", "there is no kernel for guests yet; 'cwnd linux setup' gets one")
    machine = _cwnd.World.guests(str(folder()), ours)
    made = _read(folder())
    if not _has_all(made):
        raise error("linux", "the kernel for guests is an older version's; 'cwnd linux setup' gets it anew")
    emulator = made["emulator"][0]
    if shutil.which(emulator) is None:
        raise error("linux", f"{emulator} is gone; 'cwnd linux setup' finds or gets it again")
    return machine


def missing() -> list[Package]:
    """The packages that `get` would download: none if the machine is whole."""
    if _is_whole(folder()):
        return []
    _check_platform()
    return [package for names in _wanted() for package in _describe(names)]


def get(report: Callable[[str], object]) -> str:
    """Makes the machine if it is not there and whole, and returns its kernel's release.

    Downloads go into a folder beside it, which takes its place once a guest has booted.
    """
    if not _is_whole(folder()):
        _check_platform()
        packages = missing()
        folder().parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".linux-", dir=folder().parent) as place:
            _build(Path(place), packages, report)
            shutil.rmtree(folder(), ignore_errors=True)
            Path(place).replace(folder())
            Path(place).mkdir()  # for its owner to remove
    return str(_read(folder())["release"])


def _read(place: Path) -> _Machine:
    try:
        machine: _Machine = json.loads((place / "machine.json").read_text(encoding="utf-8"))
    except (OSError, ValueError) as failed:
        raise error(one_line(str(place)), f"is damaged ({one_line(str(failed))}); remove it") from None
    return machine


def _has_all(machine: _Machine) -> bool:
    """Returns true if it was made with all modules that plans name; a kernel may have some built in."""
    return set(_DRIVERS) <= set(machine.get("drivers", ()))


def _is_whole(place: Path) -> bool:
    """Returns true if every file has its hash from when the machine was made, and the emulator is there."""
    if not (place / "machine.json").exists():
        return False
    machine = _read(place)
    if shutil.which(machine["emulator"][0]) is None or not _has_all(machine):
        return False
    return all(
        (place / name).is_file() and _hash((place / name).read_bytes()) == sha256
        for name, sha256 in machine["sha256"].items()
    )


def _hash(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _check_platform() -> None:
    if sys.platform != "linux" or platform.machine() != "x86_64":
        raise error(
            "linux", f"guests are for Linux on x86_64, this is {sys.platform} on {platform.machine()}"
        )
    absent = [tool for tool in ("apt-get", "apt-cache", "dpkg") if shutil.which(tool) is None]
    if absent:
        raise error(
            "linux", f"setup needs {absent[0]}: it gets Debian's packages, from Debian or a derivative"
        )


def _call(*words: str, cwd: Path | None = None) -> str:
    try:
        done = subprocess.run(words, cwd=cwd, capture_output=True, text=True, check=False)
    except OSError as failed:
        raise os_error(words[0], failed) from None
    if done.returncode:
        said = (done.stderr or done.stdout).strip().splitlines()
        raise error(words[0], one_line(said[-1] if said else f"ended with {done.returncode}"))
    return done.stdout


def _wanted() -> Iterator[list[str]]:
    """The packages that are not installed: the kernel's, and those of the emulator if it is not there."""
    for package in _KERNELS:
        try:
            found = re.search(r"^Depends: .*?(linux-image-[^ ,]+)", _call("apt-cache", "show", package), re.M)
        except _cwnd.Error:
            continue
        if found:
            yield [found[1]]
            break
    else:
        raise error("linux", f"apt knows none of {', '.join(_KERNELS)}; they are in Debian 12 and later")
    if shutil.which(_EMULATOR) is None:
        planned = _call("apt-get", "install", "--simulate", "--no-install-recommends", _EMULATOR_PACKAGE)
        names = re.findall(r"^Inst (\S+)", planned, re.M)
        if not names:
            raise error("linux", f"{_EMULATOR_PACKAGE} is installed, but {_EMULATOR} is not in PATH")
        yield names


def _describe(names: list[str]) -> list[Package]:
    printed = _call("apt-get", "download", "--print-uris", *names)
    found = re.findall(r"^'\S+' (\S+) ([0-9]+) SHA256:([0-9a-f]{64})", printed, re.M)
    if len(found) != len(names):
        raise error("apt-get", f"no hash for each of {one_line(', '.join(names))}; run 'apt-get update'")
    # In apt's order, and files begin with the name of their package.
    return [Package(file.split("_")[0], file, int(size), sha256) for file, size, sha256 in found]


def _build(place: Path, packages: list[Package], report: Callable[[str], object]) -> None:
    unpacked = place / "unpacked"
    unpacked.mkdir()
    for package in packages:
        report(f"{package.name}, {package.bytes / 1e6:.1f} MB")
        _call("apt-get", "download", package.name, cwd=place)
        data = (place / package.file).read_bytes()
        if _hash(data) != package.sha256:
            raise error(package.name, "its hash is not the distribution's; try again")
        _call("dpkg", "-x", str(place / package.file), str(unpacked))
        (place / package.file).unlink()
    kernel = next(unpacked.glob("boot/vmlinuz-*"), None)
    if kernel is None:
        raise error("linux", "the kernel's package holds no kernel")
    release = kernel.name.removeprefix("vmlinuz-")
    shutil.copy(kernel, place / "vmlinuz")
    machine: _Machine = {
        "release": release,
        "emulator": _emulator(place, unpacked),
        "kernel": "vmlinuz",
        "btf": "btf",
        "modules": _modules(place, unpacked),
        "drivers": list(_DRIVERS),
        "sha256": {},
    }
    shutil.rmtree(unpacked)
    write_file(place / "machine.json", json.dumps(machine).encode())
    report(f"booting Linux {release} once")
    write_file(place / "btf", _cwnd.World.guests(str(place), False).read_types())
    if machine["emulator"][0] != _EMULATOR:
        # The folder moves when it is complete.
        machine["emulator"] = [word.replace(str(place), str(folder())) for word in machine["emulator"]]
    files = [path for path in place.rglob("*") if path.is_file() and path.name != "machine.json"]
    machine["sha256"] = {str(path.relative_to(place)): _hash(path.read_bytes()) for path in sorted(files)}
    write_file(place / "machine.json", json.dumps(machine, indent=1).encode())


def _emulator(place: Path, unpacked: Path) -> list[str]:
    """The system's emulator, or the one from packages, with their libraries and firmware."""
    if shutil.which(_EMULATOR) is not None:
        return [_EMULATOR]
    kept = place / "emulator"
    kept.mkdir()
    (unpacked / "usr").replace(kept / "usr")
    if (unpacked / "lib" / "x86_64-linux-gnu").is_dir():
        shutil.copytree(unpacked / "lib" / "x86_64-linux-gnu", kept / "lib")
    wrapper = kept / _EMULATOR
    libraries = ":".join(f"$here/{name}" for name in ("usr/lib/x86_64-linux-gnu", "lib"))
    firmware = " ".join(f"-L $here/usr/share/{name}" for name in ("qemu", "seabios"))
    script = (
        '#!/bin/sh\nhere=$(dirname "$0")\n'
        f'LD_LIBRARY_PATH={libraries} exec $here/usr/bin/{_EMULATOR} {firmware} "$@"\n'
    )
    write_file(wrapper, script.encode())
    wrapper.chmod(0o755)
    return [str(wrapper)]


def _modules(place: Path, unpacked: Path) -> dict[str, _Module]:
    """The kernel's modules that plans name, and those that they need, unpacked."""
    files = {
        file.name.split(".")[0].replace("-", "_"): file for file in unpacked.glob("**/lib/modules/**/*.ko*")
    }
    (place / "modules").mkdir()
    found: dict[str, _Module] = {}
    waiting = list(_DRIVERS)
    while waiting:
        name = waiting.pop()
        if name in found or name not in files:
            continue  # built in
        data = files[name].read_bytes()
        data = lzma.decompress(data) if files[name].suffix == ".xz" else data
        listed = re.search(rb"\0depends=([^\0]*)", data)
        depends = [
            each for each in (listed[1].decode() if listed else "").replace("-", "_").split(",") if each
        ]
        write_file(place / "modules" / f"{name}.ko", data)
        found[name] = {"file": f"modules/{name}.ko", "depends": depends}
        waiting += depends
    return found
