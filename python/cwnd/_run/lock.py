"""The lock of a sweep's directory."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

if sys.platform == "win32":
    import msvcrt

    @contextlib.contextmanager
    def lock(shards: Path, *, creating: bool = False) -> Iterator[None]:
        """Makes the processes of one sweep take turns. With `creating`, shards/ is made.

        The locked file is elsewhere, since Windows does not remove a file that is open.
        """
        name = hashlib.sha256(os.fsencode(shards.absolute())).hexdigest()[:32]
        descriptor = os.open(Path(tempfile.gettempdir()) / f"cwnd-{name}", os.O_RDWR | os.O_CREAT)
        try:
            _wait(descriptor)
            try:
                if creating:
                    shards.mkdir(exist_ok=True)
                yield
            finally:
                msvcrt.locking(descriptor, msvcrt.LK_UNLCK, 1)
        finally:
            os.close(descriptor)

    def _wait(descriptor: int) -> None:
        while True:
            try:
                msvcrt.locking(descriptor, msvcrt.LK_LOCK, 1)
                return
            except OSError as failed:
                if failed.errno in (errno.EBADF, errno.EINVAL):
                    raise
                # Another process has held it for ten seconds.

else:
    import fcntl

    @contextlib.contextmanager
    def lock(shards: Path, *, creating: bool = False) -> Iterator[None]:
        """Makes the processes of one sweep take turns. Without shards/ no process finishes the sweep, and
        there is no lock.

        With `creating`, shards/ is made.
        """
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
        """Returns true while `path` still leads to this open file: the process that held the lock may have
        removed it."""
        try:
            return os.path.samestat(os.fstat(descriptor), path.stat())
        except FileNotFoundError:
            return False
