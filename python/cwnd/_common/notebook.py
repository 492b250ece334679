"""A bar in a notebook for calls that were given no `progress`."""

from __future__ import annotations

import functools
import importlib
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import ParamSpec, TypeVar

Given = ParamSpec("Given")
Made = TypeVar("Made")
Seen = TypeVar("Seen")


def shows_progress(
    share: Callable[[Seen], float],
) -> Callable[[Callable[Given, Made]], Callable[Given, Made]]:
    """Gives the function's keyword `progress` a bar where a notebook calls it without one.

    `share` is the share done, 0 to 1, of what the function reports.
    """

    def decorate(function: Callable[Given, Made]) -> Callable[Given, Made]:
        @functools.wraps(function)
        def wrapped(*args: Given.args, **kwargs: Given.kwargs) -> Made:
            if kwargs.get("progress") is not None or not is_notebook():
                return function(*args, **kwargs)
            with bar() as show:

                def report(seen: Seen) -> None:
                    show(share(seen))

                kwargs["progress"] = report
                return function(*args, **kwargs)

        return wrapped

    return decorate


def is_notebook() -> bool:
    """Returns true if a kernel of Jupyter runs this."""
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    return getattr(shell, "kernel", None) is not None


@contextmanager
def bar() -> Iterator[Callable[[float], None]]:
    """A bar under the cell for as long as the call takes."""
    display = importlib.import_module("IPython.display")

    def drawn(done: float) -> object:
        return display.HTML(f'<progress max="1" value="{done:.3f}"></progress> {done:.0%}')

    shown = display.display(drawn(0), display_id=True)
    try:
        yield lambda share: shown.update(drawn(share))
    finally:
        shown.update(display.HTML(""))
