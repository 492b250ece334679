"""Exceptions in a user's class, shown by the user's own lines."""

from __future__ import annotations

import os
import traceback
from pathlib import Path
from types import TracebackType

import click

import cwnd

_FOLDERS = (Path(cwnd.__file__).parent, Path(click.__file__).parent)
_OURS = (*(f"{folder}{os.sep}" for folder in _FOLDERS), "<frozen importlib")


def own_lines(failed: Exception) -> str | None:
    """The traceback from the user's first line on, and where it failed.

    None if the exception is not of a user's code.
    """
    # Functions that call a user's code add a note.
    notes: list[str] = getattr(failed, "__notes__", [])
    if not notes:
        return None
    frame: TracebackType | None = failed.__traceback__
    last_of_ours = None
    while frame is not None and (last_of_ours is None or _is_ours(frame)):
        if _is_ours(frame):
            last_of_ours = frame
        frame = frame.tb_next
    shown = traceback.format_exception(type(failed), failed, frame)
    # Before Python 3.11 a traceback leaves notes out.
    return "".join([*shown, *(f"{note}\n" for note in notes if f"{note}\n" not in shown)])


def _is_ours(frame: TracebackType) -> bool:
    return frame.tb_frame.f_code.co_filename.startswith(_OURS)
