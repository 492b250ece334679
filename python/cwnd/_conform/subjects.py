"""Subjects of conformance: an algorithm of this project, of Linux, of a QUIC stack, or of the user."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from cwnd import _cwnd
from cwnd._common.errors import error, one_line
from cwnd._scenario.class_files import load_class
from cwnd._scenario.custom import CongestionControl
from cwnd._scenario.header_files import load_header
from cwnd._scenario.registry import algorithms
from cwnd._scenario.scenario import Scenario

HEAD = '[dumbbell]\nrate = "48 Mbps"\ndelay = "20 ms"\nbuffer = 320\n[[flows]]\ncca = CCA\n'

SIMULATOR = "sim"
#: The world whose algorithms are those of the kernel itself.
LINUX = "linux"

#: Algorithms of QUIC stacks, and the name by which cases are about them.
OF_STACKS = {
    "noq:cubic": "cubic",
    "noq:newreno": "reno",
    "quinn:bbr": "bbr",
    "quinn:cubic": "cubic",
    "quinn:newreno": "reno",
    "s2n-quic:bbr": "bbr3",
    "s2n-quic:cubic": "cubic",
}


class Subject(NamedTuple):
    """The algorithm that is tried."""

    #: The name by which cases are about it.
    name: str
    #: Whose it is, with a colon: `linux:cubic`, `quinn:newreno`; otherwise its name.
    label: str
    #: Its class, if the registry does not have it.
    own: type[CongestionControl] | None
    #: Parameters with their defaults: the text's rules, not those of a stack's profile. Of an algorithm of a
    #: kernel or a stack, those of this project's counterpart, which it lacks.
    params: Mapping[str, str | float]
    controls_window: bool

    @property
    def has_params(self) -> bool:
        """Its mechanisms can be switched: it is an algorithm of this project, or a class."""
        return ":" not in self.label

    def cca(self, params: Mapping[str, str]) -> str:
        """The value of `cca` in TOML."""
        if not self.has_params:
            return json.dumps(self.name if self.label == f"{LINUX}:{self.name}" else self.label)
        name = self.name if self.own is None else self.own.__name__
        pairs = {**self.params, **params}.items()
        given = "".join(f", {key} = {_value(value)}" for key, value in pairs)
        return f"{{ name = {json.dumps(name)}{given} }}"


def _value(value: str | float) -> str:
    """A parameter as TOML has it."""
    return json.dumps(value) if isinstance(value, str) else f"{value}"


def find_subject(
    algorithm: str | os.PathLike[str] | type[CongestionControl], world: str = SIMULATOR
) -> Subject:
    """The algorithm of that name, header or class; in the world "linux" the kernel's own of that name."""
    own: type[CongestionControl] | None = None
    if isinstance(algorithm, type):
        own = algorithm
    else:
        asked = os.fspath(algorithm)
        path, colon, name = asked.rpartition(":")
        if asked.endswith(".h"):
            own = load_header(Path(asked))
        elif colon and path.endswith(".py"):
            own = load_class(Path(path), name)
        elif asked in OF_STACKS:
            return _of_stack(asked, path, world)
        else:
            return _of_registry(asked, world)
    params: Mapping[str, str | float] = getattr(own, "PARAMS", {})
    name = own.__name__.replace("_", "-")
    return Subject(name, name, own, params, _controls_window(own.__name__, own))


def _of_stack(asked: str, stack: str, world: str) -> Subject:
    if world not in (stack, f"{stack}-tls"):
        raise error(
            "world", f"'{asked}' is an algorithm of {stack}, not of '{one_line(world)}'; try --on {stack}"
        )
    return _of_registry(OF_STACKS[asked], world)._replace(label=asked)


def _of_registry(asked: str, world: str) -> Subject:
    found = [one for one in algorithms() if one["name"] == asked]
    if not found:
        stacks = ", ".join(OF_STACKS)
        known = (
            f"neither an algorithm of 'cwnd algorithms' nor a FILE.h nor FILE.py:CLASS nor one of {stacks}"
        )
        raise error(one_line(asked), known)
    defaults = {param["name"]: param["default"] for param in found[0]["params"]}
    label = f"{LINUX}:{asked}" if world == LINUX else asked
    return Subject(asked, label, None, defaults, _controls_window(asked, None))


def _controls_window(name: str, own: type[CongestionControl] | None) -> bool:
    text = HEAD.replace("CCA", json.dumps(name))
    inner = Scenario.parse(text, ccas=[] if own is None else [own])._inner
    return _cwnd.Hooks(inner, 10, 100).controls_window
