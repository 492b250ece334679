"""The command `cwnd`: a caller of the public API."""

from __future__ import annotations

import contextlib
import os
import sys
import warnings
from typing import Any, NoReturn

from cwnd._common.errors import one_line, os_error


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
        return _call(arguments)
    except KeyboardInterrupt:
        print("cwnd: interrupted", file=sys.stderr)
        return 130


def _call(arguments: list[str]) -> int:
    # Within the functions, so that an interrupt while they are imported is handled as any other.
    import click

    from cwnd import Error
    from cwnd._cli.commands import cli
    from cwnd._cli.completion import complete_for_a_shell

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
    except Exception as failed:
        from cwnd._cli.failures import own_lines

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
