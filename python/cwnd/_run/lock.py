"""The lock of a sweep's directory."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def lock(shards: Path, *, creating: bool = False) -> Iterator[None]:
    """Makes the processes of one sweep take turns. Without shards/ no process finishes the sweep, and there
    is no lock.

    With `creating`, shards/ is made.
    """
    try:
        import fcntl
    except ImportError:  # not a Unix
        if creating:
            shards.mkdir(exist_ok=True)
        yield
        return
    path = shards / "lock"
    while True:
        if creating:
            shards.mkdir(exist_ok=True)
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666)
        except FileNotFoundError:
            if creating:
                continue
            yield
            return
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            if _is_open_at(descriptor, path):
                yield
                return
        finally:
            os.close(descriptor)


def _is_open_at(descriptor: int, path: Path) -> bool:
    """Whether `path` still leads to this open file: the process that held the lock may have removed it."""
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except FileNotFoundError:
        return False
