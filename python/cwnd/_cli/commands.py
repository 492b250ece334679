"""The command `cwnd` and its list of commands, each of which is loaded when it is called."""

from __future__ import annotations

from collections import UserDict
from collections.abc import Iterator
from importlib import import_module
from typing import NamedTuple

import click
from click.shell_completion import CompletionItem

from cwnd import __version__
from cwnd._cli.completion import complete_words


class Listed(NamedTuple):
    """A command as `cwnd --help` lists it: the module that has it, and its help in one line."""

    module: str
    about: str


_LISTED = {
    "advise": Listed("advise", "What limits on a path, which algorithm to use there, and the commands."),
    "algorithms": Listed("algorithms", "List the algorithms, or show one in full."),
    "attack": Listed("attack", "Search for paths on which an algorithm fails and others do not."),
    "cite": Listed("cite", "BibTeX of this version and of the papers of algorithms."),
    "compare": Listed("compare", "Put results, or the algorithms of a sweep, side by side, seed by seed."),
    "completion": Listed("completion", "Print the completion of a shell: bash, zsh or fish."),
    "conform": Listed("conform", "Try the clauses of RFCs and drafts on an algorithm."),
    "evaluate": Listed("evaluate", "Judge an algorithm by the criteria of RFC 9743."),
    "explain": Listed(
        "explain", "Why a transfer was slow: what limited each connection, by a capture, ss or iperf3."
    ),
    "gate": Listed("gate", "Check that a result is no worse than another; exit 1 if it is."),
    "homework": Listed("homework", "A scenario for each student, and answers checked by runs."),
    "identify": Listed("identify", "Which congestion control algorithm each connection of a capture has."),
    "kernel": Listed("kernel", "In this machine's kernel: load, unload, status, doctor, trace."),
    "lab": Listed("lab", "Open the simulator as a web page."),
    "linux": Listed("linux", "The kernel of 'run --on linux': set it up."),
    "model": Listed("model", "Compare a model of the throughput with a simulation."),
    "papers": Listed("papers", "List the papers that can be re-run."),
    "prove": Listed("prove", "Prove what a header can never do, or show how it does."),
    "report": Listed("results", "Write a result as one HTML page."),
    "reproduce": Listed("papers", "Re-run papers and compare published numbers with ours."),
    "results": Listed("results", "Summarise a result, export its tables, redraw its figures."),
    "run": Listed("run", "Simulate scenarios and compare their results."),
    "show": Listed("show", "Show what was read: RTT, BDP, buffers in BDPs."),
    "sweep": Listed("sweep", "Run a scenario's [sweep]; continue where it stopped."),
    "tune": Listed("tune", "Search an algorithm's best parameters; judge them on held-out seeds."),
}


#: The commands by what a reader wants; one that is in no group is listed at the end.
GROUPS = {
    "Simulate": ("run", "sweep", "show", "algorithms"),
    "Read results": ("results", "report", "compare", "gate"),
    "Get an answer": ("advise", "explain", "identify", "tune", "model"),
    "Judge an algorithm": ("evaluate", "conform", "attack", "prove"),
    "Teach": ("lab", "homework"),
    "Papers": ("papers", "reproduce", "cite"),
    "Real kernels": ("kernel", "linux"),
    "This command": ("completion",),
}
#: Three first steps.
EXAMPLES = (
    "cwnd run --cca cubic --cca bbr3 --rate 100Mbps --delay 20ms --out result",
    "cwnd advise --rate 10gbit --rtt 150ms --now 900mbit",
    "cwnd sweep scenarios/elastic-buffer-sweep.toml --out sweep",
)


class _Commands(UserDict[str, click.Command]):
    """The commands by name. `data` holds those that are loaded."""

    def __iter__(self) -> Iterator[str]:
        return iter(_LISTED)

    def __len__(self) -> int:
        return len(_LISTED)

    def __contains__(self, name: object) -> bool:
        return name in _LISTED

    def __missing__(self, name: str) -> click.Command:
        module = import_module(f"cwnd._cli.{_LISTED[name].module}")
        command: click.Command = getattr(module, f"{name}_command")
        command.short_help = _LISTED[name].about
        self.data[name] = command
        return command


class _Group(click.Group):
    """Lists its commands without loading them."""

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        command = super().get_command(ctx, cmd_name)
        if command is not None and ctx.resilient_parsing:  # a shell asks for completions
            complete_words(command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        grouped = {name for names in GROUPS.values() for name in names}
        others = {"More": tuple(name for name in _LISTED if name not in grouped)}
        width = max(map(len, _LISTED))
        for heading, names in (GROUPS | others).items():
            if rows := [(f"{name:<{width}}", _LISTED[name].about) for name in names if name in _LISTED]:
                with formatter.section(heading):
                    formatter.write_dl(rows)
        with formatter.section("Examples"):
            for line in EXAMPLES:
                formatter.write(f"{'':>{formatter.current_indent}}{line}\n")

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        return [
            *(
                CompletionItem(name, help=listed.about)
                for name, listed in _LISTED.items()
                if name.startswith(incomplete)
            ),
            *click.Command.shell_complete(self, ctx, incomplete),
        ]


@click.group(
    cls=_Group,
    commands=_Commands(),
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(__version__, message="cwnd %(version)s")
@click.pass_context
def cli(context: click.Context) -> None:
    """TCP congestion control: a fast packet simulator and every algorithm written once."""
    if context.invoked_subcommand is None:
        click.echo(context.get_help())
