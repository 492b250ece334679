"""Files of an answer: one page, or a directory with the page, the JSON and the scenarios of a replay."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING

from cwnd._common.errors import about, one_line, os_error
from cwnd._common.files import write_file
from cwnd._cwnd import Error
from cwnd._explain.page import page
from cwnd._explain.replay import replay

if TYPE_CHECKING:
    from cwnd._explain.shapes import Connection, Explanation

#: Endings of the name of a page; any other name is a directory.
_PAGES = {".html", ".htm"}
PAGE, ANSWER, PATH, APP = "explain.html", "explain.json", "path.toml", "app.toml"


def write(
    out: Path, data: Explanation, connection: Connection, answer: str, source: str, present: str | None
) -> list[str]:
    """Writes the files, and returns lines about what was written and what could not be, and why.

    Raises an `Error` if a file cannot be written.
    """
    shown = one_line(str(out))
    whole = page(data, connection, source).encode()
    try:
        if out.suffix.lower() in _PAGES:
            write_file(out, whole)
            return [f"Written to {shown}"]
        files = {PAGE: whole, ANSWER: f"{answer}\n".encode()}
        texts, refused = replays(connection, source, present)
        files |= {name: text.encode() for name, text in texts.items()}
        out.mkdir(parents=True, exist_ok=True)
        for name, content in files.items():
            write_file(out / name, content)
        for name in {PATH, APP} - files.keys():
            # One of an earlier answer would be taken for this one's.
            with contextlib.suppress(FileNotFoundError):
                (out / name).unlink()
    except OSError as failed:
        raise os_error(shown, failed) from None
    return [f"Written to {shown}: {', '.join(files)}", *refused]


def replays(connection: Connection, source: str, present: str | None) -> tuple[dict[str, str], list[str]]:
    """The scenarios that replay a connection, by the names of their files, and why one is not there."""
    texts: dict[str, str] = {}
    try:
        found = replay(connection, present)
    except Error as failed:
        return texts, [f"No {PATH} and {APP}: {about(failed)[1]}."]
    texts[APP] = found.app_toml(source)
    try:
        texts[PATH] = found.path_toml(source)
    except Error as failed:
        return texts, [f"No {PATH}: {about(failed)[1]}."]
    return texts, []
