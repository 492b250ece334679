"""Files that appear complete or not at all, and whether they still hold what was written."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
import secrets
import stat
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from cwnd._common.rows import fold

if TYPE_CHECKING:
    from cwnd._common.shapes import FileJson

_CHUNK_BYTES = 1 << 20

#: Between the content of a sealed file and the content's hash.
_SEAL = b',\n"checksum": "%s"}\n'


@contextlib.contextmanager
def new_file(path: Path) -> Iterator[BinaryIO]:
    """A file to write to, which becomes `path` once all of it is on the disk.

    It is made under a name that nobody can guess and never through a link; a link at `path` is replaced, not
    followed. A device or a pipe at `path` is an `OSError`.
    """
    with contextlib.suppress(FileNotFoundError):
        check_regular(path)
    temporary = path.with_name(f".cwnd-{secrets.token_hex(8)}")
    try:
        with temporary.open("xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise


def write_file(path: Path, data: bytes | memoryview) -> None:
    """Makes a file that is there, complete, or not at all."""
    with new_file(path) as file:
        file.write(data)


def can_exist(path: Path) -> bool:
    """Returns true if a file could have this name."""
    try:
        return b"\0" not in os.fsencode(path)
    except UnicodeEncodeError:
        return False


def check_regular(path: Path) -> None:
    """Raises an `OSError` if `path` is something that may block or that a file must not replace."""
    if not can_exist(path):
        raise OSError(errno.EINVAL, "not a file name", str(path))
    mode = path.stat().st_mode
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if not stat.S_ISREG(mode):
        raise OSError(errno.EINVAL, "not a regular file", str(path))


def describe_file(path: Path) -> FileJson:
    """Describes a file, for `find_damage` to compare later."""
    check_regular(path)
    digest = hashlib.sha256()
    length = 0
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK_BYTES):
            digest.update(chunk)
            length += len(chunk)
    return {"sha256": digest.hexdigest(), "bytes": length}


def find_damage(path: Path, described: FileJson) -> str | None:
    """How a file differs from its description, which `describe_file` made when it was written; None if it
    does not.

    Raises an `OSError` if the file cannot be read.
    """
    found = describe_file(path)
    if found["bytes"] != described["bytes"]:
        return f"damaged: {found['bytes']} bytes, {described['bytes']} were written"
    if found["sha256"] != described["sha256"]:
        return "damaged: its contents are not what was written"
    return None


def write_sealed(path: Path, head: Mapping[str, object], key: str, items: Iterable[object]) -> None:
    """Writes a JSON object: `head`, under `key` a list with one item per line, and a hash of the content."""
    digest = hashlib.sha256()
    with new_file(path) as file:
        for text in _sealed_texts(head, key, items):
            data = text.encode()
            digest.update(data)
            file.write(data)
        file.write(_SEAL % digest.hexdigest().encode())


def _sealed_texts(head: Mapping[str, object], key: str, items: Iterable[object]) -> Iterator[str]:
    yield "{" + "".join(f"{json.dumps(name)}: {_dump(value)},\n" for name, value in head.items())
    yield f"{json.dumps(key)}: ["
    for number, item in enumerate(items):
        yield f"{',' if number else ''}\n{_dump(item)}"
    yield "\n]"


def _dump(value: object) -> str:
    return json.dumps(value, allow_nan=False, default=fold)


def read_sealed(data: bytes) -> Mapping[str, object] | None:
    """Reads what `write_sealed` wrote, the hash included; None if it is damaged."""
    held, _, _ = data.rpartition(_SEAL.partition(b"%s")[0])
    if data != held + _SEAL % hashlib.sha256(held).hexdigest().encode():
        return None
    read: Mapping[str, object] = json.loads(data)
    return read
