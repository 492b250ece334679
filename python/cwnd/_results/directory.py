"""The directory that holds a result."""

from __future__ import annotations

import contextlib
import os
import platform
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from cwnd._common.errors import error, one_line, os_error
from cwnd._common.files import can_exist
from cwnd._cwnd import __version__
from cwnd._results.manifest import FORMAT, read_manifest

if TYPE_CHECKING:
    from cwnd._common.shapes import Provenance

TABLES = ("flows", "links", "samples", "transfers", "summary")
_PLOTS = (
    *("cwnd", "rtt", "throughput", "queue", "queue-delay"),
    *("throughput-buffer", "lines", "heatmap", "throughput-delay", "fct-size"),
    *("cdf", "rtt-cdf", "queue-delay-cdf", "fct-cdf", "slowdown-cdf"),
)
_FILES = frozenset(
    [
        "manifest.json",
        *(f"{t}.parquet" for t in TABLES),
        "report.html",
        *(f"{p}.{e}" for p in _PLOTS for e in ("png", "svg", "pdf")),
    ]
)


def check_target(folder: Path) -> None:
    """Raises an `Error` if a result cannot be written to `folder`."""
    shown = one_line(str(folder))
    if not can_exist(folder) or folder.resolve() == Path.cwd():
        raise error(shown, "not a name for a new directory")
    try:
        if folder.exists() or folder.is_symlink():
            if not folder.is_dir():
                raise error(shown, "not a directory")
            foreign = sorted(item.name for item in folder.iterdir() if item.name not in _FILES)
            if foreign:
                raise error(shown, f"holds a file that is not part of a result ({one_line(foreign[0])})")
            if (folder / "manifest.json").exists() and "sweep" in read_manifest(folder):
                raise error(shown, "holds a sweep; choose another directory")
        parent = next(parent for parent in folder.absolute().parents if parent.exists())
    except OSError as failed:
        raise os_error(shown, failed) from None
    if not parent.is_dir():
        raise error(one_line(str(parent)), "not a directory")
    if not os.access(parent, os.W_OK | os.X_OK):
        raise error(one_line(str(parent)), "not writable")


@contextlib.contextmanager
def new_directory(folder: Path) -> Iterator[Path]:
    """A directory to build in, which becomes `folder` if nothing fails."""
    folder = folder.resolve()
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        workshop = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
    except OSError as failed:
        raise os_error(one_line(str(folder)), failed) from None
    try:
        building = workshop / "new"
        building.mkdir()
        yield building
        if folder.exists():
            folder.rename(workshop / "old")
        building.rename(folder)
    except OSError as failed:
        raise os_error(one_line(str(folder)), failed) from None
    finally:
        shutil.rmtree(workshop, ignore_errors=True)


@contextlib.contextmanager
def new_files(folder: Path) -> Iterator[Path]:
    """A directory to build in, whose files become those of `folder` if nothing fails; others there stay."""
    folder = folder.resolve()
    if not folder.exists():
        with new_directory(folder) as building:
            yield building
        return
    if not folder.is_dir():
        raise error(one_line(str(folder)), "not a directory")
    try:
        workshop = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
    except OSError as failed:
        raise os_error(one_line(str(folder)), failed) from None
    try:
        yield workshop
        for file in workshop.iterdir():
            file.replace(folder / file.name)
    except OSError as failed:
        raise os_error(one_line(str(folder)), failed) from None
    finally:
        shutil.rmtree(workshop, ignore_errors=True)


def provenance(command: Sequence[str] | None) -> Provenance:
    """The origin of a result."""
    if command is not None and not all(isinstance(part, str) for part in command):
        raise TypeError(f"command: {one_line(repr(command))} is not a list of texts")
    return {
        "cwnd": __version__,
        "format": FORMAT,
        "command": None if command is None else list(command),
        "python": platform.python_version(),
        "platform": platform.platform(),
    }
