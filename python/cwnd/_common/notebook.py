"""A bar in a notebook for calls that were given no `progress`."""

from __future__ import annotations

import functools
import importlib
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

Function = TypeVar("Function", bound=Callable[..., Any])


def shows_progress(share: Callable[[Any], float]) -> Callable[[Function], Function]:
    """Gives the function's keyword `progress` a bar where a notebook calls it without one.

    `share` is the share done, 0 to 1, of what the function reports.
    """

    def decorate(function: Function) -> Function:
        @functools.wraps(function)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            if kwargs.get("progress") is not None or not is_notebook():
                return function(*args, **kwargs)
            with bar() as show:
                return function(*args, **{**kwargs, "progress": lambda seen: show(share(seen))})

        return wrapped  # type: ignore[return-value]

    return decorate


def is_notebook() -> bool:
    """Returns true if a kernel of Jupyter runs this."""
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    return getattr(shell, "kernel", None) is not None


@contextmanager
def bar() -> Iterator[Callable[[float], None]]:
    """A bar under the cell for as long as the call takes."""
    display: Any = importlib.import_module("IPython.display")

    def drawn(share: float) -> object:
        return display.HTML(f'<progress max="1" value="{share:.3f}"></progress> {share:.0%}')

    shown = display.display(drawn(0), display_id=True)
    try:
        yield lambda share: shown.update(drawn(share))
    finally:
        shown.update(display.HTML(""))
