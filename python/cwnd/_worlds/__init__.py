"""The worlds where scenarios run, one table by name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from cwnd import _cwnd
from cwnd._common.errors import error, of_world, one_line
from cwnd._results.tables import Answer, answer_of

Progress = Callable[[float], object] | None
_MAKE_QUIC = "pip install 'cwnd[quic]', or in a clone: make quic"


class World(Protocol):
    """A place where scenarios run."""

    def run(self, scenarios: Sequence[_cwnd.Scenario], jobs: int, progress: Progress) -> Sequence[Answer]:
        """Answers each scenario with all of its seeds, `jobs` runs at a time; 0: one per core.

        `progress` is called with the share that is done.
        """

    def place(self) -> _cwnd.World | None:
        """The place where the extension module makes single runs, for sweeps; None: the engine."""


class Sim:
    """The simulator."""

    def place(self) -> None:
        """The engine."""

    def run(
        self, scenarios: Sequence[_cwnd.Scenario], jobs: int, progress: Progress, threads: int = 0
    ) -> list[Answer]:
        return [answer_of(runs) for runs in _cwnd.run(scenarios, jobs, progress, None, threads)]


class Beyond:
    """A real kernel or a real QUIC stack."""

    def __init__(self, find: Callable[[], _cwnd.World]) -> None:
        self._find = find

    def place(self) -> _cwnd.World:
        """Finds it. Raises `WorldError` if it is absent."""
        try:
            return self._find()
        except _cwnd.Error as absent:
            raise of_world(absent) from None

    def run(self, scenarios: Sequence[_cwnd.Scenario], jobs: int, progress: Progress) -> list[Answer]:
        """Runs the scenarios, after all of them were found to be possible."""
        place = self.place()
        for scenario in scenarios:
            check(place, scenario)
        answers = [answer_of(runs) for runs in _cwnd.run(scenarios, jobs, progress, place)]
        ends, version = place.ends
        return [answer._replace(engine={**answer.engine, ends: version}) for answer in answers]


def _guest(*, ours: bool) -> _cwnd.World:
    from cwnd._worlds import _machine

    return _machine.find(ours=ours)


def _quic(world: str) -> _cwnd.World:
    """The QUIC world of that name, whose extension module is a package of its own."""
    try:
        import _cwnd_quic
    except ModuleNotFoundError:
        raise error("world", f"'{world}' needs the QUIC worlds; {_MAKE_QUIC}") from None
    if _cwnd_quic.__version__ != _cwnd.__version__:
        found = f"cwnd {_cwnd.__version__} and QUIC worlds {_cwnd_quic.__version__}"
        raise error("world", f"'{world}' needs both of one version, found {found}; {_MAKE_QUIC}")
    return _cwnd.World.of(_cwnd_quic.World(world))


sim = Sim()

WORLDS: dict[str, World] = {
    # A real Linux kernel in virtual time, with its own algorithms where it has them, or with this project's.
    "linux": Beyond(lambda: _guest(ours=False)),
    "linux-ebpf": Beyond(lambda: _guest(ours=True)),
    # This machine's kernel at both ends, the engine's links between them, in real time.
    "live": Beyond(lambda: _cwnd.World.live()),
    # A QUIC stack at both ends, in virtual time over the plain network; `-tls`: packets are encrypted.
    "noq": Beyond(lambda: _quic("noq")),
    "noq-tls": Beyond(lambda: _quic("noq-tls")),
    "quinn": Beyond(lambda: _quic("quinn")),
    "quinn-tls": Beyond(lambda: _quic("quinn-tls")),
    "s2n-quic": Beyond(lambda: _quic("s2n-quic")),
    "sim": sim,
}


def check(place: _cwnd.World | None, scenario: _cwnd.Scenario) -> None:
    """Raises a `WorldError` if the place does not support the scenario. None: the engine, which does."""
    try:
        if place is not None:
            place.check(scenario)
    except _cwnd.Error as refused:
        raise of_world(refused) from None


def names() -> list[str]:
    """The worlds that there are."""
    return sorted(WORLDS)


def find(name: str) -> World:
    """The world of that name. Raises `Error` if there is none."""
    if name not in WORLDS:
        raise error("world", f"'{one_line(name)}' is not a world; choose {', '.join(names())}")
    return WORLDS[name]
