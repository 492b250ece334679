"""`cwnd completion`, and what completes the words of the other commands."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable

import click
from click.shell_completion import CompletionItem, get_completion_class, shell_complete
from click.types import StringParamType

from cwnd._common.errors import error, one_line
from cwnd._common.metrics import METRICS

#: Set by the scripts of the shells, which ask for completions with it.
_VARIABLE = "_CWND_COMPLETE"
_SHELLS = ("bash", "zsh", "fish")

_Words = Callable[[click.Context], Iterable["str | tuple[str, str]"]]


@click.command("completion")
@click.argument("shell", metavar="SHELL")
def completion_command(shell: str) -> None:
    """Print the script that completes words of this command in SHELL: bash, zsh or fish.

    \b
    eval "$(cwnd completion bash)"      # in ~/.bashrc
    eval "$(cwnd completion zsh)"       # in ~/.zshrc, after compinit
    cwnd completion fish | source       # in ~/.config/fish/config.fish
    """
    made = get_completion_class(shell) if shell in _SHELLS else None
    if made is None:
        raise error("SHELL", f"'{one_line(shell)}' has no completion; bash, zsh or fish")
    root = click.get_current_context().find_root().command
    click.echo(made(root, {}, "cwnd", _VARIABLE).source())


def complete_for_a_shell(cli: click.Command) -> int | None:
    """The exit status after answering a shell that asks for completions; None if none does."""
    instruction = os.environ.get(_VARIABLE)
    return None if instruction is None else shell_complete(cli, {}, "cwnd", _VARIABLE, instruction)


def complete_words(command: click.Command) -> None:
    """Makes the texts of a command, and of those in it, complete themselves."""
    for param in command.params:
        if isinstance(param.type, StringParamType):
            param.type = _Text(command.name or "")
    if isinstance(command, click.Group):
        for part in command.commands.values():
            complete_words(part)


class _Text(StringParamType):
    """A text with completions by the name of its option or argument."""

    def __init__(self, command: str) -> None:
        self._command = command

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        if param.name in _FILES or (param.name == "baseline" and self._command == "gate"):
            return [CompletionItem(incomplete, type="file")]
        words = _WORDS.get(param.name or "")
        if words is None:
            return []
        before, separator = "", _SEPARATORS.get(param.name or "", "")
        if separator and separator in incomplete:
            before = incomplete[: incomplete.rindex(separator) + 1]
        pairs = [(word, None) if isinstance(word, str) else word for word in words(ctx)]
        return [
            CompletionItem(before + word, help=about)
            for word, about in pairs
            if (before + word).startswith(incomplete)
        ]


# The functions import what they complete, so that a word does not wait for all of it.


def _algorithms(_: click.Context) -> list[tuple[str, str]]:
    from cwnd import algorithms, presets

    known = [(one["name"], one["title"]) for one in algorithms()]
    return known + [(one["name"], one["about"]) for one in presets()]


def _worlds(_: click.Context) -> list[str]:
    from cwnd._worlds import names

    return names()


def _papers(_: click.Context) -> list[tuple[str, str]]:
    from cwnd._reproduce.paper import papers

    return [(paper.name, paper.about) for paper in papers()]


def _items(context: click.Context) -> list[str]:
    """Figures and tables of the papers given, or criteria."""
    if context.info_name == "evaluate":
        from cwnd._evaluate.suite import criteria

        return [one.id for one in criteria(quick=False)]
    from cwnd._reproduce.paper import papers

    chosen = context.params.get("names") or ()
    return [
        item
        for paper in papers()
        if not chosen or paper.name in chosen
        for item in (*paper.items, *paper.traces)
    ]


def _fixed(*words: str) -> _Words:
    return lambda _: words


def _choices(key: str) -> _Words:
    """The names that a key of a scenario accepts."""

    def words(_: click.Context) -> list[str]:
        from cwnd import _cwnd

        return _cwnd.choices(key)

    return words


#: Words that complete an option or argument, by its name.
_WORDS: dict[str, _Words] = {
    **dict.fromkeys(("cca", "ccas", "name", "present", "baseline"), _algorithms),
    "world": _worlds,
    "names": _papers,
    "only": _items,
    "metrics": lambda _: METRICS,
    "goal": _fixed("throughput", "latency", "fairness"),
    "objective": _fixed("throughput_ratio", "loss_ratio", "jain_fairness"),
    "table": _fixed("summary", "flows", "links"),
    "queue": _choices("queue"),
    "ecn": _choices("ecn"),
    "stack": _choices("stack"),
    "recovery": _choices("recovery"),
    "clock": _choices("clock"),
    "end": _choices("end"),
    "samples_by": _choices("samples_by"),
    "shell": _fixed(*_SHELLS),
}

#: Separators of several words in one.
_SEPARATORS = {"ccas": "+", "world": ",", "only": ","}

#: Files and folders, which the shell completes.
_FILES = {
    *("files", "file", "path", "paths", "held_out", "thresholds", "junit", "markdown", "csv"),
    *("out", "directory", "trace", "candidate"),
}
