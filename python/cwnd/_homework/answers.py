"""Files that students hand in: lines of KEY = VALUE, and errors that name the file and the line."""

from __future__ import annotations

import codecs
import dataclasses
import math
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

from cwnd._common.errors import about, error, one_line, os_error
from cwnd._common.files import check_regular
from cwnd._cwnd import Error
from cwnd._homework.assignment import Assignment, Question, find, normalise

_Read = TypeVar("_Read")

#: More is no file of answers.
_BYTES_MAX = 1 << 16
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_HEAD = ("homework", "name", "version")


@dataclasses.dataclass(frozen=True)
class Answers:
    """A file that was handed in."""

    path: Path
    assignment: Assignment
    #: The name as the student wrote it.
    name: str
    #: The version of cwnd that made the file; "" if it has none.
    version: str
    #: The answers by the question's key; a question without an answer is missing.
    given: dict[str, float]


class BrokenError(Exception):
    """A file cannot be read as answers."""

    def __init__(self, path: Path, line: int | None, reason: str) -> None:
        super().__init__(path, line, reason)
        self.path = path
        self.line = line
        self.reason = reason

    def __str__(self) -> str:
        where = one_line(self.path) if self.line is None else f"{one_line(self.path)}:{self.line}"
        return f"{where}: {self.reason}"


def read_answers(path: Path) -> Answers:
    """Reads a file. Raises `BrokenError` with what would be accepted."""
    lines: dict[str, tuple[int, str]] = {}
    for number, key, value in _lines(path):
        if key in lines:
            raise BrokenError(
                path, number, f"'{one_line(key)}' is in line {lines[key][0]}, too; accepted: one"
            )
        lines[key] = (number, value)
    for key in ("homework", "name"):
        if not lines.get(key, (0, ""))[1]:
            reason = f"no line '{key} = ...'; accepted: a file of 'cwnd homework new' or of the lab"
            raise BrokenError(path, lines.get(key, (None, ""))[0], reason)
    assignment = _checked(path, lines["homework"], find)
    _checked(path, lines["name"], normalise)
    questions = {question.key: question for question in assignment.questions}
    given = {}
    for key, (number, value) in lines.items():
        if key in _HEAD:
            continue
        if key not in questions:
            known = ", ".join(questions)
            raise BrokenError(path, number, f"unknown answer '{one_line(key)}'; accepted: {known}")
        if value:
            given[key] = _number(path, number, questions[key], value)
    return Answers(path, assignment, lines["name"][1], lines.get("version", (0, ""))[1], given)


def _checked(path: Path, at: tuple[int, str], read: Callable[[str], _Read]) -> _Read:
    number, value = at
    try:
        return read(value)
    except Error as refused:
        raise BrokenError(path, number, about(refused)[1]) from None


def _number(path: Path, line: int, question: Question, written: str) -> float:
    text = written.removesuffix(question.unit).rstrip() if question.unit else written
    if _NUMBER.fullmatch(text) and math.isfinite(value := float(text)):
        return value
    unit = f" in {question.unit}" if question.unit else ""
    reason = f"{question.key}: '{one_line(written)}' is no number; accepted: one{unit}, such as 1234.5"
    raise BrokenError(path, line, reason)


def _lines(path: Path) -> Iterator[tuple[int, str, str]]:
    """The number, the key and the value of each line that is neither empty nor a comment."""
    for number, line in enumerate(_text(path).splitlines(), 1):
        key, equals, value = line.partition("=")
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        if not equals:
            found = one_line(line.strip()[:60])
            raise BrokenError(
                path, number, f"'{found}' is no answer; accepted: KEY = NUMBER, or # and a comment"
            )
        yield number, key.strip(), value.strip()


def _text(path: Path) -> str:
    try:
        check_regular(path)
        with path.open("rb") as file:
            data = file.read(_BYTES_MAX + 1)
    except OSError as failed:
        raise BrokenError(path, None, about(os_error("", failed))[1]) from None
    if len(data) > _BYTES_MAX:
        raise BrokenError(
            path, None, "more than 64 KiB; accepted: a file of 'cwnd homework new' or of the lab"
        )
    # Windows' Notepad may save UTF-16.
    is_utf_16 = data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    try:
        return data.decode("utf-16" if is_utf_16 else "utf-8-sig")
    except UnicodeDecodeError:
        raise BrokenError(path, None, "no text; accepted: plain text in UTF-8 or UTF-16") from None


def read_names(path: Path) -> list[str]:
    """The names of a class, a line each; empty lines and those that begin with # do not count.

    Raises `Error` if the file cannot be read or if two lines have the same name.
    """
    names: dict[str, tuple[int, str]] = {}
    try:
        text = _text(path)
    except BrokenError as broken:
        raise error("", str(broken)) from None
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        try:
            key = normalise(line)
        except Error as refused:
            raise error("", f"{one_line(path)}:{number}: {about(refused)[1]}") from None
        if key in names:
            where = f"{one_line(path)}:{number}"
            raise error(
                "", f"{where}: '{one_line(line)}' is in line {names[key][0]}, too; accepted: each once"
            )
        names[key] = (number, line.strip())
    if not names:
        raise error("", f"{one_line(path)}: no names; accepted: one in each line")
    return [name for _, name in names.values()]
