"""The command `cwnd`: a caller of the public API."""

from __future__ import annotations

import contextlib
import os
import sys
import warnings
from typing import Any, NoReturn

import click

from cwnd import Error, __version__
from cwnd._cli.advise import advise_command
from cwnd._cli.algorithms import algorithms_command
from cwnd._cli.compare import compare_command
from cwnd._cli.completion import complete_for_a_shell, complete_words, completion_command
from cwnd._cli.evaluate import evaluate_command
from cwnd._cli.failures import own_lines
from cwnd._cli.gate import gate_command
from cwnd._cli.kernel import kernel_command
from cwnd._cli.lab import lab_command
from cwnd._cli.linux import linux_command
from cwnd._cli.model import model_command
from cwnd._cli.papers import papers_command, reproduce_command
from cwnd._cli.results import report_command, results_command
from cwnd._cli.run import run_command
from cwnd._cli.show import show_command
from cwnd._cli.sweep import sweep_command
from cwnd._cli.tune import tune_command
from cwnd._common.errors import one_line, os_error


@click.group(invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, message="cwnd %(version)s")
@click.pass_context
def cli(context: click.Context) -> None:
    """TCP congestion control: a fast packet simulator and every algorithm written once."""
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


for _command in (
    advise_command,
    algorithms_command,
    compare_command,
    completion_command,
    evaluate_command,
    gate_command,
    kernel_command,
    lab_command,
    linux_command,
    model_command,
    papers_command,
    report_command,
    reproduce_command,
    results_command,
    run_command,
    show_command,
    sweep_command,
    tune_command,
):
    cli.add_command(_command)
complete_words(cli)


def main() -> NoReturn:
    """The console script. Bad input: one line, exit 2. A class that fails: its own lines, exit 1."""
    sys.exit(_main(sys.argv[1:]))


def _main(arguments: list[str]) -> int:
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed by the caller
            setattr(sys, name, open(os.devnull, "w"))  # noqa: PTH123, SIM115
        with contextlib.suppress(AttributeError):
            getattr(sys, name).reconfigure(errors="backslashreplace")
    warnings.showwarning = _print_warning
    try:
        code = _invoke(arguments)
        sys.stdout.flush()
    except OSError as failed:
        # The interpreter flushes once more when it exits.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if isinstance(failed, BrokenPipeError):
            return 141
        _refuse(str(os_error(failed.filename or "standard output", failed)))
        return 1
    return code


def _invoke(arguments: list[str]) -> int:
    try:
        completed = complete_for_a_shell(cli)
        if completed is not None:
            return completed
        # Not cli.main(), which handles interrupts and broken pipes in its own way.
        with cli.make_context("cwnd", arguments) as context:
            cli.invoke(context)
    except click.exceptions.Exit as left:
        return left.exit_code
    except click.ClickException as refused:
        return _refuse(refused.format_message())
    except Error as refused:
        return _refuse(str(refused))
    except KeyboardInterrupt:
        print("cwnd: interrupted", file=sys.stderr)
        return 130
    except Exception as failed:
        shown = own_lines(failed)
        if shown is None:
            raise
        print(shown, end="", file=sys.stderr)
        return 1
    return 0


def _print_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    print(f"cwnd: warning: {one_line(str(message))}", file=sys.stderr)


def _refuse(message: str) -> int:
    with contextlib.suppress(OSError):  # standard error may be closed
        print(f"cwnd: error: {one_line(' '.join(message.split()))}", file=sys.stderr, flush=True)
    return 2
