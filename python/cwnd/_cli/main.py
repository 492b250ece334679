"""The command `cwnd`: a caller of the public API.

It imports nothing of the package before `_invoke`, which handles an interrupt wherever it comes.
"""

from __future__ import annotations

import contextlib
import io
import os
import signal
import sys
import warnings

# As in cwnd/__init__.py.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn


class _Ended(BaseException):
    """A signal asks for the end of the process, whose exit code is given: what was begun is cleared away."""


def main() -> NoReturn:
    """The console script. Bad input: one line, exit 2. A class that fails: its own lines, exit 1."""
    for name in ("SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, _end)
    code = _main(sys.argv[1:])
    if code > 128:
        # Nothing is left to be done, and to take an interpreter apart that has drawn figures takes seconds.
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(OSError):
                stream.flush()
        os._exit(code)
    sys.exit(code)


def _end(number: int, _: object) -> NoReturn:
    raise _Ended(128 + number)


def _main(arguments: list[str]) -> int:
    # Closed by the caller. What is written to standard output then fails, as it does for other commands.
    if sys.stdout is None:
        sys.stdout = open(os.open(os.devnull, os.O_RDONLY), "w")  # noqa: PTH123, SIM115
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w")  # noqa: PTH123, SIM115
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    warnings.showwarning = _print_warning
    try:
        code = _invoke(arguments)
        sys.stdout.flush()
    except OSError as failed:
        # The interpreter flushes once more when it exits.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if isinstance(failed, BrokenPipeError):
            return 141
        from cwnd._common.errors import os_error

        _refuse(str(os_error(failed.filename or "standard output", failed)))
        return 1
    return code


def _invoke(arguments: list[str]) -> int:
    try:
        return _call(arguments)
    except KeyboardInterrupt:
        print("cwnd: interrupted", file=sys.stderr)
        return 130
    except _Ended as ended:
        code: int = ended.args[0]
        return code


def _call(arguments: list[str]) -> int:
    from cwnd import Error, __version__

    if arguments == ["--version"]:  # does not wait for click, which has this flag for the other calls
        print(f"cwnd {__version__}")
        return 0
    import click

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
    except MemoryError:
        return _refuse("there is not as much memory as this takes")
    except Exception as failed:
        from cwnd._cli.failures import own_lines

        shown = own_lines(failed)
        if shown is None:
            raise
        print(shown, end="", file=sys.stderr)
        return 1
    return 0


def _print_warning(message: Warning | str, *_: object, **__: object) -> None:
    from cwnd._common.errors import one_line

    print(f"cwnd: warning: {one_line(str(message))}", file=sys.stderr)


def _refuse(message: str) -> int:
    from cwnd._common.errors import one_line

    with contextlib.suppress(OSError):  # standard error may be closed
        print(f"cwnd: error: {one_line(' '.join(message.split()))}", file=sys.stderr, flush=True)
    return 2
