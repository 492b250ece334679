"""Flags that describe a scenario, and errors that name the flag."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypedDict, TypeVar, cast

import click

from cwnd import CongestionControl, Error, Scenario, dumbbell
from cwnd._common.errors import about, error, one_line
from cwnd._scenario.class_files import load_class

if TYPE_CHECKING:
    from cwnd._scenario.scenario import DumbbellKeys

_Command = TypeVar("_Command", bound=Callable[..., None])

#: Flags that describe a scenario, each an argument of `dumbbell`: how the value is shown, and its help.
SCENARIO_FLAGS = {
    "flows": ("N", "Flows of each algorithm.  [1]"),
    "rate": ("RATE", "Rate of the bottleneck, such as 100Mbps.  [1Gbps]"),
    "delay": ("TIME", "One-way delay of the bottleneck, such as 10ms.  [100ms]"),
    "rtt": ("TIME", "Twice that delay, instead of it."),
    "buffer": ("SIZE", "Buffer of the bottleneck: packets, 2BDP, 64KiB, 50ms or unlimited.  [1BDP]"),
    "per": ("P", "Packet error rate of the bottleneck, such as 1e-5.  [0]"),
    "ecn_threshold": ("PACKETS", "Queue above which the bottleneck marks; turns ECN on.  [never]"),
    "queue": ("NAME", "Queue of the bottleneck: droptail, red, codel, fq-codel, pie or dualpi2.  [droptail]"),
    "ecn": ("NAME", "Marks instead of drops: off, classic, accurate or l4s.  [off]"),
    "loss": ("P", "The same as --per, also as 0.01%.  [0]"),
    "jitter": ("TIME", "Standard deviation of the bottleneck's delay; the order is kept.  [none]"),
    "reverse_rate": ("RATE", "Rate of the way back, where ACKs are packets then.  [no such link]"),
    "reverse_buffer": ("SIZE", "Buffer of the way back.  [unlimited]"),
    "packet": ("BYTES", "Payload of a packet.  [1448; 1000 with --stack ns2]"),
    "duration": ("TIME", "Simulated time.  [100s]"),
    "warmup": ("TIME", "Metrics leave out what comes before this.  [0s]"),
    "seed": ("N", "Seed of the first repetition; the others count up.  [1]"),
    "repeat": ("N", "Repetitions, for confidence intervals.  [1]"),
    "access_rate": ("RATE", "Rate of each host's own links.  [10 times --rate]"),
    "access_delay": ("TIME", "One-way delay of each host's own links.  [0s]"),
    "access_buffer": ("SIZE", "Buffer of each host's own links.  [unlimited]"),
    "start": ("TIME", "When the first flow starts.  [0s]"),
    "stagger": ("TIME", "Each flow starts later than the previous one by this.  [0s]"),
    "start_jitter": ("TIME", "Each flow starts later by a random time below this.  [0s]"),
    "stop": ("TIME", "When the first flow stops.  [the end]"),
    "stop_stagger": ("TIME", "Each flow stops earlier than the previous one by this.  [0s]"),
    "size": ("BYTES", "Each flow ends when so much is delivered, such as 100KB.  [never]"),
    "app_rate": ("RATE", "Rate at which each application writes payload.  [all at once]"),
    "on": ("TIME", "Each application writes for this time,"),
    "off": ("TIME", "then pauses for this time, and so on.  [no pauses]"),
    "stack": ("NAME", "TCP stack: linux (today's) or ns2 (of ns-2.35).  [linux]"),
    "recovery": ("NAME", "tahoe, reno, newreno, vegas, sack, fack, prr or rate-halving.  [the stack's]"),
    "samples": ("N|TIME", "Time series: intervals, an interval, change or off.  [100]"),
    "samples_by": ("NAME", "A time series for each flow, or for each group of --flows.  [flow]"),
    "clock": ("NAME", "nanoseconds, or ns2: doubles, whose rounding decides ties.  [nanoseconds]"),
    "end": ("NAME", "Take results at the duration, or at the last-arrival before it.  [duration]"),
}

#: The value of a flag, or of one that may be given several times; None: not given.
Flag: TypeAlias = "str | tuple[str, ...] | None"


class Changes(TypedDict, total=False):
    """Values that replace those of scenario files."""

    seed: int
    repeat: int


#: Flags whose value is a number in TOML.
NUMBERS = {"flows", "per", "ecn_threshold", "seed", "repeat", "samples"}

#: Arguments of the API that are flags and do not describe a scenario.
_OTHER_FLAGS = {
    *("cca", "jobs", "shard", "until", "max_seeds", "dask", "margins", "only", "seeds"),
    *("baseline", "beside", "ccas", "goal", "present", "trace"),
    *("objective", "trials", "held_out_seeds"),
    *("port", "interval", "world"),
}


def _flag(name: str) -> str:
    special = {
        "ccas": "--cca",
        "params": "--param",
        "on": "--app-on",
        "off": "--app-off",
        "world": "--on",
        "margins": "--metric",
        "trace": "--from",
    }
    return special.get(name, "--" + name.replace("_", "-"))


def scenario_flags(command: _Command) -> _Command:
    for name, (metavar, help_text) in reversed(SCENARIO_FLAGS.items()):
        command = click.option(_flag(name), name, metavar=metavar, help=help_text)(command)
    command = click.option(
        "--param",
        "params",
        multiple=True,
        metavar="NAME=VALUE",
        help="A parameter of the algorithm; with several algorithms CCA.NAME=VALUE.",
    )(command)
    return click.option(
        "--cca",
        "ccas",
        multiple=True,
        metavar="NAME",
        help="Algorithm, or FILE.py:CLASS; more than once to compare, a+b to share the bottleneck.",
    )(command)


def read_scenarios(files: tuple[str, ...], flags: Mapping[str, Flag]) -> list[Scenario]:
    if files:
        for name, value in flags.items():
            if value in (None, ()) or name in ("seed", "repeat"):
                continue
            raise error(_flag(name), "cannot be combined with a scenario FILE, which sets it")
        return [Scenario.from_toml(file) for file in files]
    ccas, written = flags["ccas"] or (), flags["params"] or ()
    if not ccas:
        raise error("", "nothing to simulate; give a scenario FILE or --cca NAME")
    arguments = {
        name: read_number(value) if name in NUMBERS else value
        for name, value in flags.items()
        if isinstance(value, str)
    }
    # Algorithms that share the bottleneck.
    groups = [[read_cca(cca) for cca in together.split("+")] for together in ccas]
    names = [[cca if isinstance(cca, str) else cca.__name__ for cca in group] for group in groups]
    params = read_params(list(dict.fromkeys(chain(*names))), written)
    with flag_errors():
        return [
            dumbbell(
                group,
                **cast("DumbbellKeys", arguments),
                params=_params_of(own, params),
                name="+".join(own)[:100] or None,
            )
            for group, own in zip(groups, names, strict=True)
        ]


def _params_of(ccas: list[str], params: dict[str, dict[str, str]]) -> dict[str, str]:
    """The parameters of algorithms that share a run, with their names if there are several."""
    if len(ccas) == 1:
        return params[ccas[0]]
    return {f"{cca}.{param}": value for cca in ccas for param, value in params[cca].items()}


def read_changes(files: tuple[str, ...], flags: Mapping[str, Flag]) -> Changes:
    """The seed and the number of repetitions that replace those of scenario FILEs."""
    changes: Changes = {}
    if files and isinstance(seed := flags["seed"], str):
        changes["seed"] = read_number(seed)
    if files and isinstance(repeat := flags["repeat"], str):
        changes["repeat"] = read_number(repeat)
    return changes


def read_cca(text: str, flag: str = "--cca") -> str | type[CongestionControl]:
    """A name of the registry or of a QUIC stack's own, or the class that FILE.py:CLASS names."""
    path, _, name = text.rpartition(":")
    if not text:
        raise error(flag, "an empty name; 'cwnd algorithms' lists the names")
    if not path.endswith(".py"):
        return text
    with errors_about(flag):
        return load_class(Path(path), name)


def read_params(names: list[str], written: Iterable[str]) -> dict[str, dict[str, str]]:
    """The parameters of each algorithm."""
    params: dict[str, dict[str, str]] = {name: {} for name in names}
    for text in written:
        key, equals, value = text.partition("=")
        owner, dot, name = key.rpartition(".")
        if not (equals and name):
            raise error("--param", f"'{one_line(text)}' is not NAME=VALUE")
        if dot and owner not in params:
            raise error("--param", f"no algorithm '{one_line(owner)}' here; there are {', '.join(params)}")
        if not dot and len(params) > 1:
            raise error("--param", f"'{one_line(key)}' of which algorithm? write {names[0]}.{one_line(text)}")
        params[owner or names[0]][name] = value
    return params


def read_number(text: str) -> Any:
    """A number if it is written as one."""
    with contextlib.suppress(ValueError):
        return int(text) if re.fullmatch(r"[+-]?[0-9]+", text) else float(text)
    return text


@contextlib.contextmanager
def flag_errors() -> Iterator[None]:
    """Makes errors about arguments of the API name the flag."""
    try:
        yield
    except Error as refused:
        key, reason = about(refused)
        param = re.fullmatch(r"params\['(.*)'\]", key)
        if param:
            raise error(f"--param {param[1]}", reason) from None
        if key in SCENARIO_FLAGS or key in _OTHER_FLAGS:
            raise error(_flag(key), reason) from None
        raise


@contextlib.contextmanager
def errors_about(flag: str) -> Iterator[None]:
    try:
        yield
    except Error as refused:
        raise error(flag, str(refused)) from None
