"""Progress bars on a terminal."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import click

from cwnd._cli.options import flag_errors
from cwnd._common.errors import one_line
from cwnd._common.text import digits

if TYPE_CHECKING:
    from rich.progress import Progress as Bar
    from rich.progress import ProgressColumn

    from cwnd import Progress


#: Seconds between two lines of progress.
_LINE_S = 5.0


@contextlib.contextmanager
def progress_bar(lines: str | None = None) -> Iterator[Callable[[float], None] | None]:
    """A bar on a terminal. Elsewhere nothing, or lines that begin with `lines` every few seconds."""
    if not sys.stderr.isatty():
        yield None if lines is None else _progress_lines(lines)
        return
    from rich.progress import TaskProgressColumn, TimeRemainingColumn

    with _bar("simulating", TaskProgressColumn(), TimeRemainingColumn()) as bar:
        task = bar.add_task("", total=1.0)
        yield lambda share: bar.update(task, completed=share)


@contextlib.contextmanager
def count_bar(what: str) -> Iterator[Callable[[int, int], None] | None]:
    """A bar on a terminal of how many are done; nothing elsewhere."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.progress import MofNCompleteColumn, TimeRemainingColumn

    with _bar(what, MofNCompleteColumn(), TimeRemainingColumn()) as bar:
        task = bar.add_task("", total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def _bar(what: str, *columns: ProgressColumn) -> Bar:
    """A bar of `what` on standard error that goes when it is done, with columns behind it."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn

    return Progress(TextColumn(what), BarColumn(), *columns, console=Console(stderr=True), transient=True)


def _progress_lines(name: str) -> Callable[[float], None]:
    """Prints the share that is done, at most every `_LINE_S`."""
    begin = last = time.monotonic()

    def seen(share: float) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last >= _LINE_S:
            last = now
            print(f"cwnd: {name}: {100 * share:.0f} % after {now - begin:.0f} s", file=sys.stderr, flush=True)

    return seen


@contextlib.contextmanager
def show_progress(out: str, name: str | None = None) -> Iterator[Callable[[Progress], None]]:
    """Shows the progress of runs, of a paper or of a sweep; Ctrl-C prints how many are kept in `out`."""
    last: Progress | None = None

    def seen(progress: Progress) -> None:
        nonlocal last
        last = progress
        if show is not None:
            show(progress)

    try:
        with flag_errors(), sweep_bar(name or "sweeping") as show:
            yield seen
    except KeyboardInterrupt:
        if last is None or not last.total:
            raise
        of_paper = "" if name is None else f" of {name}"
        kept = f"{last.done - last.failed:,} of {last.total:,} runs{of_paper} are kept in {one_line(out)}"
        print(f"cwnd: interrupted; {kept}; repeat the command to continue", file=sys.stderr)
        raise click.exceptions.Exit(130) from None


@contextlib.contextmanager
def sweep_bar(what: str) -> Iterator[Callable[[Progress], None] | None]:
    """A bar on a terminal with rate, time left and failures; nothing elsewhere."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.progress import MofNCompleteColumn, TextColumn, TimeRemainingColumn

    columns = (
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}"),
        TimeRemainingColumn(),
        TextColumn("{task.fields[failures]}", style="red"),
    )
    with _bar(what, *columns) as bar:
        task = bar.add_task("", total=None, rate="", failures="")
        begin = time.monotonic()

        def show(progress: Progress) -> None:
            new = progress.done - progress.found
            rate = new / max(time.monotonic() - begin, 1e-3)
            bar.update(
                task,
                completed=progress.done,
                total=progress.total,
                rate=f"{digits(rate)}/s" if new else "",
                failures=f"{progress.failed} failed" if progress.failed else "",
            )

        yield show
