"""The headers of the registry as base classes: a class of the user's overrides some of their hooks."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, ClassVar

from cwnd import _cwnd
from cwnd._common.errors import error
from cwnd._scenario.custom import CongestionControl
from cwnd._scenario.registry import Algorithm, algorithm
from cwnd._scenario.registry import algorithms as listed

if TYPE_CHECKING:
    from cwnd._common.shapes import Param
    from cwnd._cwnd import Ack, Header, Window


class HeaderControl(CongestionControl):
    """A header of the registry as a class: a subclass changes the hooks that it overrides, and no others.

    ``class Mine(cwnd.algorithms.Cubic)`` has CUBIC's slow start, HyStart, growth and undo. ``super()`` calls
    the header. Keyword arguments are the header's parameters, as a scenario has them; the others are those of
    the flow's stack profile.
    """

    #: Name in the registry.
    header: ClassVar[str]
    _params: Mapping[str, Param] = MappingProxyType({})
    #: Set by the simulator before the first hook.
    _profile = "linux"

    def __init__(self, **params: Param) -> None:
        self._params = params

    @functools.cached_property
    def _header(self) -> Header:
        """Made at the first hook, when the profile is known."""
        own = algorithm(self.header)["profiles"][self._profile]["params"]
        written = [(name, _text(value)) for name, value in {**own, **self._params}.items()]
        return _cwnd.Header(self.header, written)

    def init(self, window: Window, ack: Ack) -> None:
        self._header.init(window, ack)

    def pkts_acked(self, window: Window, ack: Ack) -> None:
        self._header.pkts_acked(window, ack)

    def ssthresh(self, window: Window, ack: Ack) -> int:
        return self._header.ssthresh(window, ack)

    def set_state(self, window: Window, ack: Ack, state: int) -> None:
        self._header.set_state(window, ack, state)

    def cwnd_event(self, window: Window, ack: Ack, event: int) -> None:
        self._header.cwnd_event(window, ack, event)

    def undo_cwnd(self, window: Window, ack: Ack) -> int:
        return self._header.undo_cwnd(window, ack)


class _Growing(HeaderControl):
    """A header with `cong_avoid`."""

    def cong_avoid(self, window: Window, ack: Ack) -> None:
        self._header.cong_avoid(window, ack)


class _Controlling(HeaderControl):
    """A header with `cong_control`, which takes the place of `cong_avoid`."""

    def cong_control(self, window: Window, ack: Ack) -> None:
        self._header.cong_control(window, ack)

    def segment_lost(self, window: Window, ack: Ack) -> None:
        self._header.segment_lost(window, ack)


class Algorithms:
    """The registry: a call lists it, and an attribute such as ``Cubic`` is a header as a base class."""

    def __call__(self) -> list[Algorithm]:
        """Every algorithm of the registry, in its order."""
        return listed()

    def __getattr__(self, name: str) -> type[HeaderControl]:
        if name.startswith("_"):  # asked for by pickle and the like
            raise AttributeError(name)
        try:
            return _class(name)
        except KeyError:
            there = ", ".join(_names())
            raise AttributeError(f"the registry has no class {name!r}; there are {there}") from None

    def __dir__(self) -> list[str]:
        return [*object.__dir__(self), *_names()]


#: The value of `cwnd.algorithms`.
algorithms = Algorithms()


def header_of(cca: type[CongestionControl]) -> str | None:
    """The header that the class is built on."""
    return cca.header if issubclass(cca, HeaderControl) else None


@functools.cache
def _names() -> dict[str, str]:
    """The headers by the names of their classes: AgileSd is agile-sd."""
    return {"".join(part.capitalize() for part in one["name"].split("-")): one["name"] for one in listed()}


@functools.cache
def _class(name: str) -> type[HeaderControl]:
    header = _names()[name]
    kind = _Controlling if _cwnd.header_controls_window(header) else _Growing
    about = f"The header of {algorithm(header)['name']}, to be subclassed."
    return type(name, (kind,), {"__doc__": about, "__module__": __name__, "header": header})


def __getattr__(name: str) -> type[HeaderControl]:
    """The classes by name, for pickle."""
    if name.startswith("_") or name not in _names():
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return _class(name)


def _text(value: object) -> str:
    """A parameter as a scenario has it."""
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, str | int | float):
        return str(value)
    raise error("params", f"{value!r} is not a number or a text")
