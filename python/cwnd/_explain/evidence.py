"""Evidence of any kind, known by its first bytes."""

from __future__ import annotations

import json
import os
import zlib
from pathlib import Path
from typing import TYPE_CHECKING

from cwnd import _cwnd
from cwnd._common.errors import about, error, one_line, os_error

if TYPE_CHECKING:
    from collections.abc import Callable
    from io import FileIO

    from cwnd._explain.samples import Sampled
    from cwnd._explain.shapes import Explanation

#: Bytes that tell the kinds apart.
_HEAD = 4096
#: Text at most, after gzip: all of it is in memory.
_TEXT_MAX = 1 << 29
_GZIP = b"\x1f\x8b"
#: The byte before each text of a JSON sequence (RFC 7464).
_RECORD = "\x1e"
_CAPTURES = (
    b"\xa1\xb2\xc3\xd4",
    b"\xd4\xc3\xb2\xa1",
    b"\xa1\xb2\x3c\x4d",
    b"\x4d\x3c\xb2\xa1",
    b"\x0a\x0d\x0d\x0a",
)
ACCEPTED = (
    "a capture (pcap, pcapng), text of 'ss -ti', JSON of iperf3, flent or qlog, or a 'cwnd kernel trace'"
)


def read_file(path: str, series: int | None) -> Explanation:
    """The answer about a file or a directory; `series` is the number of the connection with time series.

    Raises an `Error` without the file's name, or an `OSError`.
    """
    if Path(path).is_dir():
        from cwnd._explain import trace

        return _sampled("trace", *trace.read(path))
    with Path(path).open("rb", buffering=0) as file:
        head = _text_head(_first(file))
        if head is None:
            file.close()
            return _core(path, None, series)
        file.seek(0)
        return _text(_bytes(file), series)


def read_stdin(series: int | None) -> Explanation:
    """As `read_file`, from standard input."""
    # Without a buffer, which would take what the core is to read.
    with open(0, "rb", buffering=0, closefd=False) as file:
        head = _first(file)
        if _text_head(head) is None:
            return _core(None, head, series, rest=True)
        return _text(head + _bytes(file), series)


def read_bytes(data: bytes, series: int | None) -> Explanation:
    """As `read_file`, from memory."""
    return _core(None, data, series) if _text_head(data[:_HEAD]) is None else _text(data, series)


def _core(path: str | None, data: bytes | None, series: int | None, *, rest: bool = False) -> Explanation:
    explained: Explanation = json.loads(_cwnd.explain(path, data, rest=rest, series=series))
    return explained


def _first(file: FileIO) -> bytes:
    """The first bytes, without reading ahead of them."""
    head = b""
    while len(head) < _HEAD and (more := file.read(_HEAD - len(head))):
        head += more
    return head


def _bytes(file: FileIO) -> bytes:
    data = bytearray()
    while more := file.read(1 << 20):
        data += more
        if len(data) > _TEXT_MAX:
            raise error("", f"more than {_TEXT_MAX >> 20} MiB of text")
    return bytes(data)


def _text_head(head: bytes) -> str | None:
    """The beginning as text; None if it is for the reader of captures, which also has the last word on it."""
    if head.startswith(_GZIP):
        try:
            head = zlib.decompressobj(31).decompress(head, _HEAD)
        except zlib.error:
            return None
    if head.startswith(_CAPTURES) or b"\0" in head:
        return None
    shown = head.decode("utf-8", "replace").lstrip("\ufeff")
    if shown.lstrip()[:1] in ("{", "[") or shown.startswith(_RECORD):
        return shown
    from cwnd._explain import ss

    return shown if ss.looks_like(shown) else None


def _text(data: bytes, series: int | None) -> Explanation:
    if data.startswith(_GZIP):
        data = _unzipped(data)
    if len(data) > _TEXT_MAX:
        raise error("", f"more than {_TEXT_MAX >> 20} MiB of text")
    whole = data.decode("utf-8", "replace").lstrip("\ufeff")
    if whole.lstrip()[:1] not in ("{", "[", _RECORD):
        from cwnd._explain import ss

        return _sampled("ss", *ss.read(whole), series=series)
    return _json(whole, series)


def _unzipped(data: bytes) -> bytes:
    found = bytearray()
    try:
        while data:
            part = zlib.decompressobj(31)
            found += part.decompress(data, _TEXT_MAX + 1 - len(found))
            if len(found) > _TEXT_MAX or not part.eof:
                break
            data = part.unused_data
    except zlib.error as failed:
        raise error("", f"damaged gzip ({failed})") from None
    return bytes(found)


def _json(whole: str, series: int | None) -> Explanation:
    from cwnd._explain import flent, iperf3, qlog

    records, note = _records(whole)
    first = records[0] if records else None
    document = first if isinstance(first, dict) else {}
    stream = iperf3.join(records) if "event" in document else None
    notes = [note] if note else []
    if stream is not None:
        return _sampled("iperf3", *iperf3.read(stream), more=notes, series=series)
    if iperf3.looks_like(document):
        return _sampled("iperf3", *iperf3.read(document), more=notes, series=series)
    if flent.looks_like(document):
        return _sampled("flent", *flent.read(document), more=notes, series=series)
    if qlog.looks_like(document):
        return _sampled("qlog", *qlog.read(records), more=notes, series=series)
    raise error("", f"JSON of another kind; accepted is {ACCEPTED}")


def _records(whole: str) -> tuple[list[object], str]:
    """The JSON values of a text: one, one a line, or a sequence; and a note if its end is damaged."""
    try:
        if not whole.startswith(_RECORD):
            return [json.loads(whole)], ""
    except (ValueError, RecursionError) as failed:
        reason = str(failed)
    else:
        reason = ""
    parts = whole.split(_RECORD) if whole.startswith(_RECORD) else whole.splitlines()
    records: list[object] = []
    for part in parts:
        if not part.strip():
            continue
        try:
            records.append(json.loads(part))
        except (ValueError, RecursionError):
            # A file that its writer did not close ends anywhere.
            if len(records) > 1:
                return records, "the file is cut off or damaged; the answer is about what stands before"
            raise error("", f"JSON that cannot be read ({reason})") from None
    return records, ""


def _sampled(
    kind: str,
    connections: list[Sampled],
    notes: list[str],
    *,
    more: list[str] | None = None,
    series: int | None = 0,
) -> Explanation:
    from cwnd._explain.samples import explanation

    answer = explanation(kind, connections, [*notes, *(more or [])])
    for at, one in enumerate(answer["connections"]):
        if series is None or (series != one["number"] if series else at > 0):
            one.pop("series", None)
    return answer


def refused(failed: Exception, shown: str) -> Exception:
    """The error for a user, with the name of the evidence."""
    if isinstance(failed, OSError):
        plain = failed if failed.errno is None else OSError(failed.errno, os.strerror(failed.errno))
        return os_error(shown, plain)
    key, reason = about(failed) if isinstance(failed, _cwnd.Error) else ("", str(failed))
    return error(shown, f"{key}: {reason}" if key else reason)


def read_capture(
    source: str | os.PathLike[str] | bytes, ask: Callable[[str | None, bytes | None], str]
) -> str:
    """The core's answer `ask` about a capture, as JSON; an error of one line if there is none."""
    shown = "capture" if isinstance(source, bytes) else one_line(os.fspath(source))
    if not isinstance(source, bytes) and Path(source).is_dir():
        raise error(shown, "a directory; accepted is a packet capture")
    try:
        if isinstance(source, bytes):
            return ask(None, source)
        return ask(None if shown == "-" else os.fspath(source), None)
    except (OSError, _cwnd.Error) as failed:
        raise refused(failed, shown) from None
