"""Writes the manual pages into a folder, from the help of the commands: cwnd.1 and one for each command."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from inspect import cleandoc
from pathlib import Path

import click

from cwnd import __version__
from cwnd._cli.commands import cli

_Path = tuple[str, ...]


def pages() -> dict[str, str]:
    """The text of each page, by file name."""
    return {f"{'-'.join(path)}.1": _page(command, path) for command, path in _commands(cli, ("cwnd",))}


def _commands(command: click.Command, path: _Path) -> Iterator[tuple[click.Command, _Path]]:
    yield command, path
    if isinstance(command, click.Group):
        for name, part in sorted(command.commands.items()):
            yield from _commands(part, (*path, name))


def _page(command: click.Command, path: _Path) -> str:
    group = click.Context(cli, info_name=" ".join(path[:-1]), **cli.context_settings) if path[1:] else None
    context = command.make_context(path[-1], [], group, resilient_parsing=True)
    title = "-".join(path)
    short = command.get_short_help_str(limit=200).rstrip(".")
    if not short[1:2].isupper():
        short = short[:1].lower() + short[1:]
    lines = [
        f'.TH {_escape(title.upper())} 1 "" "cwnd {__version__}" "cwnd"',
        ".SH NAME",
        f"{_escape(title)} \\- {_escape(short)}",
        ".SH SYNOPSIS",
        f".B {_escape(' '.join(path))}",
        _escape(" ".join(command.collect_usage_pieces(context))),
        ".SH DESCRIPTION",
        *_paragraphs(cleandoc(command.help or "")),
    ]
    lines.append(".SH OPTIONS")
    for option in command.get_params(context):
        if isinstance(option, click.Option) and (record := option.get_help_record(context)):
            flags, text = record
            lines += [".TP", f".B {_escape(flags)}", _escape(text)]
    if isinstance(command, click.Group):
        lines.append(".SH COMMANDS")
        for name, part in sorted(command.commands.items()):
            lines += [
                ".TP",
                f".BR {_escape(f'{title}-{name}')} (1)",
                _escape(part.get_short_help_str(limit=200)),
            ]
    if len(path) > 1:
        lines += [".SH SEE ALSO", f".BR {_escape('-'.join(path[:-1]))} (1)"]
    return "\n".join(lines) + "\n"


def _paragraphs(text: str) -> Iterator[str]:
    """Paragraphs, which are filled; those after click's \\b are examples, which are not."""
    for paragraph in re.split(r"\n\s*\n", text):
        if paragraph.startswith("\b"):
            yield from (".PP", ".RS 4", ".nf")
            yield from (_escape(line.strip()) for line in paragraph[1:].strip().splitlines())
            yield from (".fi", ".RE")
        else:
            yield from (".PP", _escape(" ".join(paragraph.split())))


def _escape(text: str) -> str:
    """`text` as roff takes it: a line does not begin with a control character, a hyphen can be copied."""
    escaped = text.replace("\\", "\\e").replace("-", "\\-")
    return f"\\&{escaped}" if escaped.startswith((".", "'")) else escaped


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in pages().items():
        (folder / name).write_text(text)
