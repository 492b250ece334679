"""Headers of algorithms as files: the contract in the package, and a C compiler for a header of one's own."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from cwnd._common.errors import error, one_line

#: The contract and the registry's headers, as the package has them.
HEADERS = Path(__file__).parent.parent / "headers"


def algorithm_in(text: str, shown: str) -> str:
    """The name of the algorithm of a header's text, as in C."""
    found = re.findall(r"^#define (\w+)_HOOKS\(", text, re.MULTILINE)
    if len(found) != 1:
        raise error(shown, "a header of an algorithm has one #define NAME_HOOKS(H, A)")
    return str(found[0])


@cache
def c_compiler() -> tuple[str, ...]:
    """The command of a C compiler for this machine. Raises `Error` if there is none."""
    for name in ("cc", "gcc", "clang"):
        found = shutil.which(name)
        if found:
            return (found,)
    if has_zig():
        return (sys.executable, "-m", "ziglang", "cc")
    raise error("", "no C compiler for a header; install gcc or clang, or pip install ziglang")


def has_zig() -> bool:
    """Returns true if the package ziglang runs, which has a C compiler."""
    command = [sys.executable, "-m", "ziglang", "version"]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def compile_header(shown: str, command: Sequence[str]) -> None:
    """Runs a compiler on a header. Raises `Error` with its first reason if it refuses."""
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    if done.returncode:
        lines = [line for line in done.stderr.splitlines() if "error:" in line] or done.stderr.splitlines()
        reason = lines[0].split("error:")[-1].strip() if lines else "no reason given"
        raise error(shown, f"the compiler refuses it: {one_line(reason)}")
