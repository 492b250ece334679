"""The worlds where scenarios run: a module each, by name, '-' for '_'; helpers begin with an underscore."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Sequence
from typing import Protocol, cast

from cwnd._common.errors import error, one_line
from cwnd._cwnd import Scenario
from cwnd._cwnd import World as Place
from cwnd._results.tables import Answer


class World(Protocol):
    """The interface of a module of this package."""

    def run(
        self, scenarios: Sequence[Scenario], jobs: int, progress: Callable[[float], object] | None
    ) -> Sequence[Answer]:
        """Answers each scenario with all of its seeds, `jobs` runs at a time; 0: one per core.

        `progress` is called with the share that is done.
        """

    def place(self) -> Place | None:
        """Where the extension module makes single runs, for sweeps; None: in the engine."""


def names() -> list[str]:
    """The worlds that there are."""
    found = (module.name for module in pkgutil.iter_modules(__path__))
    return sorted(name.replace("_", "-") for name in found if not name.startswith("_"))


def find(name: str) -> World:
    """The world of that name. Raises `Error` if there is none."""
    if name not in names():
        raise error("world", f"'{one_line(name)}' is not a world; choose {', '.join(names())}")
    return cast(World, importlib.import_module(f"{__name__}.{name.replace('-', '_')}"))
