"""Flags that describe a scenario, and errors that name the flag."""

from __future__ import annotations

import contextlib
import functools
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain
from typing import TYPE_CHECKING, Any, TypeAlias, TypedDict, TypeVar, cast

import click

from cwnd import CongestionControl, Error, Scenario, _cwnd, dumbbell
from cwnd._common.errors import about, error, one_line
from cwnd._scenario.class_files import load_named

if TYPE_CHECKING:
    from cwnd._scenario.scenario import DumbbellKeys

_Command = TypeVar("_Command", bound=Callable[..., None])

#: Flags that describe a scenario, each an argument of `dumbbell`: how the value is shown, the table and its
#: key, and the default where it is not the key's.
SCENARIO_FLAGS = {
    "flows": ("N", "flows.count", None),
    "rate": ("RATE", "dumbbell.rate", "1Gbps"),
    "delay": ("TIME", "dumbbell.delay", "100ms"),
    "rtt": ("TIME", "dumbbell.rtt", None),
    "buffer": ("SIZE", "dumbbell.buffer", "1BDP"),
    "per": ("P", "dumbbell.per", None),
    "ecn_threshold": ("PACKETS", "dumbbell.ecn_threshold", "never; turns ECN on"),
    "queue": ("NAME", "dumbbell.queue", None),
    "ecn": ("NAME", "stack.ecn", "off"),
    "loss": ("P", "dumbbell.loss", None),
    "jitter": ("TIME", "jitter.std", None),
    "reverse_rate": ("RATE", "reverse.rate", "no such link"),
    "reverse_buffer": ("SIZE", "reverse.buffer", None),
    "packet": ("BYTES", "flows.packet", None),
    "duration": ("TIME", "scenario.duration", None),
    "warmup": ("TIME", "scenario.warmup", None),
    "seed": ("N", "scenario.seed", None),
    "repeat": ("N", "scenario.repeat", None),
    "access_rate": ("RATE", "access.rate", None),
    "access_delay": ("TIME", "access.delay", None),
    "access_buffer": ("SIZE", "access.buffer", None),
    "start": ("TIME", "flows.start", None),
    "stagger": ("TIME", "flows.stagger", None),
    "start_jitter": ("TIME", "flows.start_jitter", None),
    "stop": ("TIME", "flows.stop", None),
    "stop_stagger": ("TIME", "flows.stop_stagger", None),
    "size": ("BYTES", "flows.size", None),
    "app_rate": ("RATE", "flows.app_rate", None),
    "on": ("TIME", "flows.on", None),
    "off": ("TIME", "flows.off", None),
    "stack": ("NAME", "scenario.stack", None),
    "recovery": ("NAME", "stack.recovery", None),
    "samples": ("N|TIME", "scenario.samples", None),
    "samples_by": ("NAME", "scenario.samples_by", None),
    "clock": ("NAME", "scenario.clock", None),
    "end": ("NAME", "scenario.end", None),
}

#: The value of a flag, or of one that may be given several times; None: not given.
Flag: TypeAlias = "str | tuple[str, ...] | None"


class Changes(TypedDict, total=False):
    """Values that replace those of scenario files."""

    seed: int
    repeat: int


#: Flags whose value is a number in TOML.
_NUMBERS = {"flows", "loss", "per", "ecn_threshold", "seed", "repeat", "samples"}

#: Arguments of the API that are flags and do not describe a scenario.
_OTHER_FLAGS = {
    *("cca", "jobs", "shard", "until", "max_seeds", "dask", "margins", "only", "seeds"),
    *("baseline", "beside", "ccas", "goal", "present", "trace"),
    *("objective", "trials", "held_out_seeds"),
    *("port", "interval", "world", "connection"),
    *("property", "events", "figure_width", "metric", "now", "files"),
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


class _ScenarioFlag(click.Option):
    """A flag whose help is made from the table of keys when it is asked for."""

    @property
    def help(self) -> str | None:
        return self.name and flag_help(self.name)

    @help.setter
    def help(self, given: str | None) -> None:
        """The table has it."""


def flag_help(name: str) -> str:
    """The help of a flag: what its key means, the names among which it is chosen, the default."""
    _, place, default = SCENARIO_FLAGS[name]
    table, _, key = place.partition(".")
    found = _keys()[table][key]
    text: str = found["about"]
    if table == "dumbbell":
        text = text.replace("the link", "the bottleneck")
    if found["names"] and found["forms"][0] == f'"{found["names"][0]}"':
        *others, last = found["names"]
        text = f"{text.removesuffix('.')}: {', '.join(others)} or {last}."
    return f"{text}  [{default or found['default']}]"


@functools.cache
def _keys() -> dict[str, dict[str, Any]]:
    """The keys of each table of a scenario."""
    return {table["name"]: {key["name"]: key for key in table["keys"]} for table in json.loads(_cwnd.keys())}


class GroupedCommand(click.Command):
    """A command with the flags of a scenario, whose help has them in groups."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        groups: dict[str, list[tuple[str, str]]] = {}
        for option in self.get_params(ctx):
            if record := option.get_help_record(ctx):
                groups.setdefault(_group_of(option.name or ""), []).append(record)
        for heading in _GROUPS_OF_FLAGS:
            if rows := groups.get(heading):
                with formatter.section(heading):
                    formatter.write_dl(rows)


#: Groups of flags, in the order of the help.
_GROUPS_OF_FLAGS = ("Algorithms", "Path", "Flows", "TCP", "Time and repetition", "Where and what to print")


def _group_of(flag: str) -> str:
    algorithms, path, flows, tcp, time, rest = _GROUPS_OF_FLAGS
    if flag in ("ccas", "params"):
        return algorithms
    if flag not in SCENARIO_FLAGS:
        return rest
    table, _, key = SCENARIO_FLAGS[flag][1].partition(".")
    if table == "stack" or key == "stack":
        return tcp
    return {"flows": flows, "scenario": time}.get(table, path)


def scenario_flags(command: _Command) -> _Command:
    for name, (metavar, _, _) in reversed(SCENARIO_FLAGS.items()):
        command = click.option(_flag(name), name, metavar=metavar, cls=_ScenarioFlag)(command)
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
        help="Algorithm, FILE.h or FILE.py:CLASS; more than once to compare, a+b to share the bottleneck.",
    )(command)


def figure_width_option(command: _Command) -> _Command:
    """Adds --figure-width."""
    return click.option(
        "--figure-width",
        metavar="WIDTH",
        help="Figures for a column of a paper, ieee or acm, for slides, or of a width in inches; only those "
        "for slides have a title inside.  [as wide as they need, with a title]",
    )(command)


def latex_option(command: _Command) -> _Command:
    """Adds --latex."""
    about = "Print the table for a paper: LaTeX with booktabs."
    return click.option("--latex", "as_latex", is_flag=True, help=about)(command)


def refuse_both(as_json: bool, as_latex: bool) -> None:
    """Raises an `Error` for --json with --latex."""
    if as_json and as_latex:
        raise error("--latex", "cannot be combined with --json")


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
    arguments = read_numbers({name: value for name, value in flags.items() if isinstance(value, str)})
    for cca in ccas:
        _refuse_list(cca)
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


def _refuse_list(cca: str) -> None:
    """Raises an `Error` for names with commas between them."""
    names = [name.strip() for name in cca.split(",") if name.strip()]
    if "," in cca and names and not re.search(r"\.h$|\.py:", cca):
        flags = " ".join(f"--cca {name}" for name in names)
        accepted = f"{flags} to compare them, --cca {'+'.join(names)} to let them share the bottleneck"
        raise error("--cca", f"'{one_line(cca)}' is a list; write {one_line(accepted)}")


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
    """A name of the registry or of a QUIC stack's own, or the class that FILE.py:CLASS or FILE.h names."""
    if not text:
        raise error(flag, "an empty name; 'cwnd algorithms' lists the names")
    with errors_about(flag):
        return load_named(text) or text


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


def read_numbers(flags: Mapping[str, str]) -> dict[str, Any]:
    """The values of flags, those of `_NUMBERS` as numbers."""
    return {name: read_number(value) if name in _NUMBERS else value for name, value in flags.items()}


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
