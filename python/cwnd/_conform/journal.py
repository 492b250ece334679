"""Journal of verdicts: a trial that was stopped goes on where it was."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import IO

from cwnd._common.errors import one_line, os_error


class Journal:
    """A line of JSON for each case that was tried, written as soon as its verdict is known."""

    def __init__(self, path: Path) -> None:
        """Reads what an earlier trial left; a line that was cut off counts as none."""
        self.path = path
        self._known: dict[str, dict[str, str]] = {}
        self._file: IO[str] | None = None
        try:
            text = path.read_text(encoding="utf-8") if path.exists() else ""
        except (OSError, UnicodeDecodeError):
            text = ""
        for line in text.splitlines():
            try:
                entry = json.loads(line)
                self._known[entry["key"]] = {
                    name: str(entry[name]) for name in ("verdict", "found", "reason")
                }
            except (ValueError, KeyError, TypeError):
                continue

    def find(self, key: str) -> dict[str, str] | None:
        """The verdict of an earlier trial."""
        return self._known.get(key)

    def add(self, key: str, case: str, verdict: dict[str, str]) -> None:
        """Writes a verdict, and has the system keep it."""
        try:
            if self._file is None:
                self.path.parent.mkdir(parents=True, exist_ok=True)
                # A cut-off line stays alone: the next one begins on a line of its own.
                self._file = self.path.open("a", encoding="utf-8")
                self._file.write("\n" if self.path.stat().st_size else "")
            self._file.write(json.dumps({"key": key, "case": case, **verdict}) + "\n")
            self._file.flush()
            os.fsync(self._file.fileno())
        except OSError as failed:
            raise os_error(one_line(self.path), failed) from None

    def close(self) -> None:
        if self._file is not None:
            self._file.close()


def key_of(*parts: str) -> str:
    """A name for all that a verdict depends on."""
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()
