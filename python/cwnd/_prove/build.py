"""A header's hooks compiled twice: for BPF, as `cwnd kernel` compiles them, and for this machine."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import NamedTuple

from cwnd._common.errors import error, one_line
from cwnd._common.headers import HEADERS, algorithm_in, c_compiler, compile_header, has_zig

_HERE = Path(__file__).parent
_KERNEL = _HERE / "kernel"
#: Statements that a header may make of itself: see stated.c.
STATEMENTS = ("INVARIANTS", "GROWTH", "PROGRESS")


class Built(NamedTuple):
    """The header, the object of its hooks, and a program that runs them."""

    name: str
    header: Path
    object: Path
    ops: Path
    program: Path
    sanitized: bool


def header_of(asked: str) -> tuple[str, Path]:
    """The algorithm's name as in C, and its header: one of the registry's, or a file `NAME.h`."""
    if asked.endswith(".h"):
        path = Path(asked)
        if not path.is_file():
            raise error(one_line(asked), "no such header")
        text = path.read_text(encoding="utf-8", errors="replace")
        return algorithm_in(text, one_line(asked)), path.resolve()
    if asked not in registered():
        raise error(one_line(asked), "neither an algorithm of 'cwnd algorithms' nor a FILE.h")
    name = asked.replace("-", "_")
    return name, HEADERS.resolve() / f"{name}.h"


@cache
def registered() -> tuple[str, ...]:
    """The names of the registry."""
    text = (HEADERS / "registry.h").read_text(encoding="utf-8")
    return tuple(name.replace("_", "-") for name in re.findall(r"^\s*CC\((\w+),", text, re.MULTILINE))


def build(asked: str, folder: Path) -> Built:
    """Compiles the header into a folder.

    Raises:
        Error: there is no such header, no compiler, or the compiler refuses the header.
    """
    name, header = header_of(asked)
    made, ops, program = (folder / f"{name}.{kind}" for kind in ("events.o", "ops.o", "native"))
    common = [f'-DHEADER="{header}"', f"-DNAME={name}", f"-DFORWARD_{name}", "-I", str(HEADERS), "-std=gnu11"]
    kernel = _KERNEL.resolve()
    stated = [f"-DSTATES_{what}" for what in STATEMENTS if _states(header, f"{name}_{what}")]
    for source, target in ((_HERE / "stated.c", made), (kernel / "ebpf/ops.c", ops)):
        compile_header(
            one_line(asked),
            [
                *_bpf_compiler(),
                *("-mcpu=v3", "-O2", "-g", "-c", "-I", str(kernel)),
                *common,
                *stated,
                *(str(source), "-o", str(target)),
            ],
        )
    native = [*common, "-I", str(kernel), str(_HERE / "native.c"), "-o", str(program)]
    compiler = c_compiler()
    checked = ["-O1", "-fsanitize=undefined", "-fno-sanitize-recover=all"]
    sanitized = (
        subprocess.run([*compiler, *checked, *native], capture_output=True, check=False).returncode == 0
    )
    if not sanitized:
        compile_header(one_line(asked), [*compiler, "-O1", *native])
    return Built(name, header, made, ops, program, sanitized)


def build_wraps(built: Built) -> Path:
    """The native hooks with the source line of each sum and each product that wraps on standard error."""
    part, program = built.program.with_suffix(".wraps.o"), built.program.with_suffix(".wraps")
    if not program.exists():
        options = [
            *("-O1", "-fno-sanitize=undefined", "-fsanitize=unsigned-integer-overflow", "-std=gnu11"),
            *(f'-DHEADER="{built.header}"', f"-DNAME={built.name}", f"-DFORWARD_{built.name}"),
            *("-I", str(HEADERS), "-I", str(_KERNEL.resolve())),
        ]
        compile_header(built.name, [*_clang(), *options, "-c", str(_HERE / "native.c"), "-o", str(part)])
        compile_header(built.name, [*c_compiler(), str(part), str(_HERE / "wraps.c"), "-o", str(program)])
    return program


def _bpf_compiler() -> tuple[str, ...]:
    found = _clang()
    return (*found, "-target", "bpf" if len(found) == 1 else "bpfel-freestanding")


def _states(header: Path, macro: str) -> bool:
    text = header.read_text(encoding="utf-8", errors="replace")
    return re.search(rf"^\s*#\s*define\s+{macro}\b", text, re.MULTILINE) is not None


@cache
def _clang() -> tuple[str, ...]:
    for name in ("clang", *(f"clang-{version}" for version in range(39, 13, -1))):
        found = shutil.which(name)
        if found:
            return (found,)
    if has_zig():
        return (sys.executable, "-m", "ziglang", "cc")
    raise error("", "no compiler for BPF, clang or the package ziglang; pip install 'cwnd[prove]'")
