"""The algorithms of the registry and the presets."""

from __future__ import annotations

import json
from typing import TypedDict, final

from cwnd import _cwnd
from cwnd._common.errors import one_line


class Param(TypedDict):
    """A parameter of an algorithm. `accepted` is in words, `source` where the default comes from.

    `numbers` are the smallest and the largest accepted and the step between neighbours; None for a choice.
    """

    name: str
    default: float | str
    accepted: str
    numbers: list[float] | None
    meaning: str
    source: str


class Setting(TypedDict):
    """Settings of a stack profile for one algorithm: parameters, and differences from its base stack."""

    params: dict[str, float | str]
    stack: dict[str, bool | int | str | None]


@final
class Algorithm(TypedDict):
    """One algorithm of the registry.

    `kind` is loss, delay, hybrid, model, ecn or l4s; `status` is published, rfc or reconstruction. `essay` is
    the comment of its header: idea, equations, differences from the paper. `profiles` has the keys linux
    and ns2.
    """

    name: str
    title: str
    year: int
    paper: str
    kind: str
    status: str
    essay: str
    state_bytes: int
    params: list[Param]
    profiles: dict[str, Setting]


@final
class Preset(TypedDict):
    """A name for an `algorithm` together with a `recovery`. None: the stack's own."""

    name: str
    algorithm: str
    recovery: str | None
    about: str
    profiles: dict[str, Setting]


def algorithms() -> list[Algorithm]:
    """Every algorithm of the registry, in its order."""
    listed: list[Algorithm] = json.loads(_cwnd.algorithms())
    return listed


def presets() -> list[Preset]:
    """The names that papers use for an algorithm together with a recovery, such as tahoe and newreno."""
    listed: list[Preset] = json.loads(_cwnd.presets())
    return listed


def algorithm(name: str) -> Algorithm | Preset:
    """The algorithm or preset called `name`. The `Error` for an unknown one suggests the nearest."""
    found: Algorithm | Preset = json.loads(_cwnd.algorithm(one_line(name)))
    return found


def params_of(described: Algorithm | Preset) -> list[Param]:
    """The parameters of an algorithm, or of the one that a preset names."""
    if "params" in described:
        return described["params"]
    (own,) = (one["params"] for one in algorithms() if one["name"] == described["algorithm"])
    return own
