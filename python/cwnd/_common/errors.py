"""Errors of one line, with a class for each kind that callers tell apart."""

from __future__ import annotations

from cwnd._cwnd import Error


class WorldError(Error):
    """A world is not available on this machine, or it does not support a scenario."""


class MissingError(Exception):
    """A run that a verdict needs is missing."""


def error(key: str, reason: str) -> Error:
    """An `Error` with the line `key: reason`; both are attributes, for callers that use another key."""
    made = Error(f"{key}: {reason}" if key else reason)
    made.key = key
    made.reason = reason
    return made


def about(refused: Error) -> tuple[str, str]:
    """The key or argument that was refused, and the line without it; "" and the line if none is named."""
    return getattr(refused, "key", ""), getattr(refused, "reason", str(refused))


def of_world(refused: Error) -> WorldError:
    """A `WorldError` with the line of another error."""
    made = WorldError(str(refused))
    made.key, made.reason = about(refused)
    return made


def os_error(shown: str, failed: OSError) -> Error:
    reason = failed.strerror or str(failed)
    return error(shown, reason[:1].lower() + reason[1:])


def add_note(failed: BaseException, note: str) -> None:
    """As `BaseException.add_note` of Python 3.11; before, a traceback does not show it."""
    failed.__notes__ = [*getattr(failed, "__notes__", []), note]


def one_line(text: object) -> str:
    """`text` without anything that could break the line."""
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in str(text))
