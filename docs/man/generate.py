"""Writes the manual pages into a folder, from the help of the commands: cwnd.1 and one for each command."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from inspect import cleandoc
from pathlib import Path

import click

from cwnd import __version__
from cwnd._cli.commands import EXAMPLES, cli

_Path = tuple[str, ...]

_EXIT_STATUS = [
    ".SH EXIT STATUS",
    *(
        ".TP",
        ".B 0",
        "Success. Results may differ, unless a gate or a flag asks for equal ones.",
    ),
    *(".TP", ".B 1", "A run, a class of the user or a check failed."),
    *(".TP", ".B 2", "Bad input: one line says what was found and what is accepted."),
    *(".TP", ".B 130, 143", "Interrupted, terminated: nothing half\\-written is left."),
]
#: By command; of the others "".
_FILES = {
    "": {"FILE.toml": "A scenario.", "DIR": "A result: manifest.json, tables in Parquet, figures."},
    "new": {"FILE": "Names of a class, one in each line."},
    "check": {"FILE|DIR": "Files that were handed in, or a directory with such files in .txt at any depth."},
    "lab": {"lab.html": "The page, in the package."},
    "explain": {"FILE": "A packet capture: pcap or pcapng, as it is or in gzip, xz or zstd."},
}
_ENVIRONMENT = {
    "XDG_CACHE_HOME": "Where the kernel of --on linux and its image are kept: cwnd in it.  [~/.cache]",
    "NO_COLOR": "Tables without colour, if it is set.",
    "COLUMNS": "Width of tables on a terminal.",
}


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
    if examples := _examples(cleandoc(command.help or ""), len(path) == 1):
        lines += [".SH EXAMPLES", ".nf", *map(_escape, examples), ".fi"]
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
    lines += _EXIT_STATUS
    lines += [".SH FILES", *_list(_FILES.get(path[-1], _FILES[""]))]
    lines += [".SH ENVIRONMENT", *_list(_ENVIRONMENT)]
    if len(path) > 1:
        lines += [".SH SEE ALSO", f".BR {_escape('-'.join(path[:-1]))} (1)"]
    return "\n".join(lines) + "\n"


def _paragraphs(text: str) -> Iterator[str]:
    """Paragraphs, which are filled; those after click's \\b are examples, for another section."""
    for paragraph in re.split(r"\n\s*\n", text):
        if not paragraph.startswith("\b"):
            yield from (".PP", _escape(" ".join(paragraph.split())))


def _examples(text: str, is_first: bool) -> list[str]:
    """The examples of a command's help, or those of the first page."""
    if is_first:
        return list(EXAMPLES)
    parts = (part for part in re.split(r"\n\s*\n", text) if part.startswith("\b"))
    return [line.strip() for part in parts for line in part[1:].strip().splitlines()]


def _list(entries: dict[str, str]) -> Iterator[str]:
    for name, about in entries.items():
        yield from (".TP", f".B {_escape(name)}", _escape(about))


def _escape(text: str) -> str:
    """`text` as roff takes it: a line does not begin with a control character, a hyphen can be copied."""
    escaped = text.replace("\\", "\\e").replace("-", "\\-")
    return f"\\&{escaped}" if escaped.startswith((".", "'")) else escaped


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in pages().items():
        (folder / name).write_text(text)
