"""Answers about several files, as `cwnd explain` and `cwnd identify` print them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import click


class Answer(Protocol):
    """An answer about one file; printed, it is about all of its connections."""

    def to_json(self, number: int | None = None) -> str: ...

    def describe(self, number: int) -> str: ...


def texts_of(answers: Sequence[Answer], number: int | None, as_json: bool) -> list[str]:
    """Each answer as text: about the connection `number` alone, or about all."""
    if as_json:
        return [answer.to_json(number) for answer in answers]
    return [str(answer) if number is None else answer.describe(number) for answer in answers]


def print_answers(files: Sequence[str], texts: Sequence[str], as_json: bool) -> None:
    """Prints the texts, of several files each below its name."""
    for at, (name, text) in enumerate(zip(files, texts, strict=True)):
        if len(files) > 1 and not as_json:
            click.echo(f"{'' if at == 0 else chr(10)}{name}")
        click.echo(text)
