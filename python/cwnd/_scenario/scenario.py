"""Scenarios: read from TOML, or described in one call."""

from __future__ import annotations

import contextlib
import json
import operator
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, SupportsIndex, TypeAlias, TypedDict

import tomli_w

from cwnd import _cwnd
from cwnd._common import html
from cwnd._common.checks import mapping, whole
from cwnd._common.errors import error, one_line, os_error
from cwnd._common.rows import unfold
from cwnd._common.text import digits, rate
from cwnd._scenario.class_files import named_classes
from cwnd._scenario.custom import CongestionControl

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from cwnd._common.shapes import Described, Param, ScenarioJson

#: A name of the registry, or a class.
Cca: TypeAlias = "str | type[CongestionControl]"
#: A value with its unit, such as "100 ms"; a number without a unit where the scenario accepts one.
Quantity: TypeAlias = "str | float"

_BYTES_MAX = 16 << 20


class Scenario:
    """A scenario for the simulator: links, flows, TCP stacks, seeds."""

    __slots__ = ("_inner", "_source")

    def __init__(
        self, inner: _cwnd.Scenario, source: tuple[str, str, dict[str, type[CongestionControl]]]
    ) -> None:
        """Made by `cwnd.dumbbell`, `Scenario.from_toml` and `Scenario.parse`."""
        self._inner = inner
        #: The TOML text, its name in errors, and the classes that it may name.
        self._source = source

    @classmethod
    def from_toml(
        cls, path: str | os.PathLike[str], *, ccas: Iterable[type[CongestionControl]] = ()
    ) -> Scenario:
        """Reads a scenario file. `ccas` are classes that it may name besides the registry's algorithms and
        the classes of files beside it, FILE.py:CLASS, which are run.

        Raises `Error` with one line, FILE:LINE: KEY: what was found; what is accepted.
        """
        text, source = read_text(path), one_line(os.fspath(path))
        return cls._read(text, source, {**_classes(ccas), **classes_beside(path, text)})

    @classmethod
    def parse(
        cls, text: str, source: str = "scenario", *, ccas: Iterable[type[CongestionControl]] = ()
    ) -> Scenario:
        """Reads a scenario from TOML text; errors call it `source`."""
        return cls._read(text, source, _classes(ccas))

    @classmethod
    def _read(cls, text: str, source: str, classes: dict[str, type[CongestionControl]]) -> Scenario:
        try:
            inner = _cwnd.Scenario(text, one_line(source), classes)
        except UnicodeEncodeError:
            raise error(one_line(source), "text that is not Unicode; scenarios are TOML in UTF-8") from None
        return cls(inner, (text, source, classes))

    @property
    def name(self) -> str:
        return self._inner.name

    @property
    def seed(self) -> int:
        """Seed of the first repetition; the others count up from it."""
        return self._inner.seed

    @property
    def repeat(self) -> int:
        return self._inner.repeat

    def to_dict(self) -> ScenarioJson:
        """Everything a run depends on, in base units: the `scenario` of the results.

        A thousand or more flows, or links, in a row that follow by a rule are a sequence that makes them when
        they are asked for; `json.dumps(..., default=list)` writes all of them.
        """
        return unfold(json.loads(self._inner.json()))

    def describe(self) -> Described:
        """The scenario for a reader: equal links and flows together, with RTTs, BDPs and buffers in BDPs."""
        described: Described = json.loads(self._inner.describe())
        return described

    def _replace(
        self, *, name: str | None = None, seed: int | None = None, repeat: int | None = None
    ) -> Scenario:
        if seed is not None:
            seed = whole("seed", seed, 0, (1 << 63) - 1)
        if repeat is not None:
            repeat = whole("repeat", repeat, 1, 1_000_000)
        return Scenario(self._inner.replace(name=name, seed=seed, repeat=repeat), self._source)

    def __reduce__(self) -> tuple[object, ...]:
        return _unpickle, (*self._source, self.name, self.seed, self.repeat)

    def _repr_html_(self) -> str:
        """For notebooks: what `cwnd show` says first, and the text folded away."""
        shown = self.describe()
        seeds = (
            f"seed {self.seed}" if self.repeat == 1 else f"seeds {self.seed} to {self.seed + self.repeat - 1}"
        )
        links = html.table(
            ["link", "rate", "delay ms", "buffer packets", "buffer BDP"],
            (
                [
                    link["name"],
                    rate(link["rate_bps"]),
                    digits(link["delay_ms"]),
                    "unlimited" if link["buffer_pkts"] is None else str(link["buffer_pkts"]),
                    digits(link["buffer_bdp"]),
                ]
                for link in shown["links"]
            ),
            f"{self.name}: {digits(shown['duration_s'])} s, {seeds}",
        )
        flows = html.table(
            ["flows", "count", "RTT ms", "BDP packets"],
            (
                [flow["cca"]["name"], str(flow["count"]), digits(flow["rtt_ms"]), digits(flow["bdp_pkts"])]
                for flow in shown["flows"]
            ),
        )
        return links + flows + html.folded("TOML", self._source[0])

    def __repr__(self) -> str:
        return f"<cwnd.Scenario {self.name!r}: seed {self.seed}, repeat {self.repeat}>"


def _unpickle(
    text: str,
    source: str,
    classes: dict[str, type[CongestionControl]],
    name: str,
    seed: int,
    repeat: int,
) -> Scenario:
    return Scenario._read(text, source, classes)._replace(name=name, seed=seed, repeat=repeat)


def classes_beside(path: str | os.PathLike[str], text: str) -> dict[str, type[CongestionControl]]:
    """The classes that the scenario file names as FILE.py:CLASS."""
    return named_classes(text, one_line(os.fspath(path)), Path(path).parent)


def read_text(path: str | os.PathLike[str]) -> str:
    """The text of a scenario file."""
    shown = one_line(os.fspath(path))
    try:
        with Path(path).open("rb") as file:
            data = file.read(_BYTES_MAX + 1)
    except OSError as failed:
        raise os_error(shown, failed) from None
    except ValueError:  # The name has a NUL.
        raise error(shown, "not a file name") from None
    if len(data) > _BYTES_MAX:
        raise error(shown, f"larger than {_BYTES_MAX >> 20} MiB; not a scenario")
    try:
        return data.decode()
    except UnicodeDecodeError as failed:
        line = 1 + data.count(b"\n", 0, failed.start)
        raise error(f"{shown}:{line}", "not UTF-8; scenarios are TOML in UTF-8") from None


class RunKeys(TypedDict, total=False):
    """Arguments of `dumbbell` that are keys of the whole scenario."""

    duration: Quantity | None
    warmup: Quantity | None
    seed: int | None
    repeat: int | None
    samples: int | str | None
    samples_by: str | None
    clock: str | None
    end: str | None


class BottleneckKeys(TypedDict, total=False):
    """Arguments of `dumbbell` that are keys of the bottleneck."""

    rate: Quantity | None
    delay: Quantity | None
    rtt: Quantity | None
    buffer: Quantity | None
    per: float | None
    ecn_threshold: Quantity | None
    queue: str | Mapping[str, object] | None
    loss: Quantity | Mapping[str, object] | None
    jitter: Quantity | Mapping[str, object] | None


class FlowKeys(TypedDict, total=False):
    """Arguments of `dumbbell` that are keys of every flow."""

    start: Quantity | None
    stagger: Quantity | None
    start_jitter: Quantity | None
    stop: Quantity | None
    stop_stagger: Quantity | None
    packet: Quantity | None
    size: Quantity | Mapping[str, object] | None
    app_rate: Quantity | None
    on: Quantity | None
    off: Quantity | None


class DumbbellKeys(RunKeys, BottleneckKeys, FlowKeys, total=False):
    """Arguments of `dumbbell` by keyword alone, which describes them."""

    access_rate: Quantity | None
    access_delay: Quantity | None
    access_buffer: Quantity | None
    reverse_rate: Quantity | None
    reverse_buffer: Quantity | None
    stack: str | Mapping[str, object]
    recovery: str | None
    ecn: str | None


def dumbbell(
    cca: Cca | Sequence[Cca] = "reno",
    *,
    flows: int | Sequence[int] = 1,
    params: Mapping[str, Param] | None = None,
    name: str | None = None,
    **keys: Unpack[DumbbellKeys],
) -> Scenario:
    """Flows that share one bottleneck, each with its own access links. Data goes one way.

    None has the same effect as a key that a scenario file leaves out.

    Args:
        cca: The algorithm, by name or as a class; with several, each has `flows` flows on the same
            bottleneck.
        flows: Flows of each algorithm: one number, or one for each algorithm.
        rate, delay, buffer, per: The bottleneck: "1 Gbps" when left out; one way, "100 ms" when left out;
            packets held, 3200, "2 BDP", "64 KiB", "50 ms" or "unlimited", "1 BDP" when left out; probability
            that a packet is lost on the wire, 0 when left out.
        rtt: Twice the delay, instead of it.
        ecn_threshold: The bottleneck's queue, in packets, above which it marks; the flows then have ECN
            unless `stack` sets it. Never, when left out.
        queue: Discipline of the bottleneck: "droptail", "red", "codel", "fq-codel", "pie", "dualpi2", or a
            table as in a scenario file; droptail when left out.
        loss, jitter: Of the bottleneck's wire, as in a scenario file: "0.01%"; the standard deviation of a
            delay that keeps the order, "2 ms", or a table.
        reverse_rate, reverse_buffer: A link back, with the bottleneck's delay, that ACKs cross as packets;
            the bottleneck's rate and no limit if only the other one is given. None: a constant delay.
        ecn: "off", "classic", "accurate" or "l4s", of all flows; off when left out.
        packet: Payload in bytes; 1448 with the linux stack, 1000 with ns2.
        duration: "100 s" when left out.
        warmup: Metrics leave out what comes before; nothing when left out.
        size: Payload after which each flow ends, "100 KB", or a distribution as in a scenario file; None:
            there is no end to it.
        seed, repeat: The first seed, 1; the number of repetitions, 1, each with the next seed.
        start, stop: Of the first flow; each further flow of its algorithm starts `stagger` later and stops
            `stop_stagger` earlier than the previous one.
        start_jitter: Each flow starts later by a random time below this; default: none.
        app_rate, on, off: The application writes at this rate, for `on`, then pauses for `off`, and so on;
            default: unlimited data without pauses.
        access_rate, access_delay, access_buffer: Of each link between a host and the bottleneck; ten times
            the bottleneck's rate, no delay and no limit when left out.
        stack: "linux", the default, or "ns2", or a table as in a scenario file.
        recovery: "tahoe", "reno", "newreno", "vegas", "sack", "fack", "prr" or "rate-halving" instead of the
            stack's own.
        samples: Time series: a number of intervals (100), an interval "100 ms", "change" or "off".
        samples_by: "flow", the default; "group": one time series for the `flows` of each algorithm together.
        clock: "nanoseconds", the default; "ns2": doubles of seconds as in ns-2, whose rounding decides the
            order of simultaneous packets.
        end: "duration", the default; "last-arrival": results are taken at the last arrival before that.
        params: Parameters of the algorithm; of several algorithms, with keys "NAME.PARAMETER".
        name: Its name in results; default: the algorithms' names.

    Raises:
        Error: with one line, ARGUMENT: what was found; what is accepted.
    """
    for unknown in keys.keys() - DumbbellKeys.__annotations__.keys():
        raise TypeError(f"dumbbell() got an unexpected keyword argument {unknown!r}")
    ccas = [cca] if isinstance(cca, str | type) else list(cca)
    if not ccas:
        raise error("cca", "an empty list; give at least one algorithm")
    classes = _classes(c for c in ccas if not isinstance(c, str))
    names = list(map(cca_name, ccas))
    counts = (
        list(flows) if isinstance(flows, Sequence) and not isinstance(flows, str) else [flows] * len(ccas)
    )
    if len(counts) != len(ccas):
        raise error("flows", f"{len(counts)} numbers for {len(ccas)} algorithms; give one, or one for each")
    own_params = _split_params(names, mapping("params", params or {}))
    given: dict[str, object] = {"rate": "1 Gbps", "buffer": "1 BDP", **keys}
    if keys.get("delay") is None and keys.get("rtt") is None:
        given["delay"] = "100 ms"
    if not (given.get("jitter") is None or isinstance(given["jitter"], Mapping)):
        given["jitter"] = {"std": given["jitter"]}
    reverse = {"rate": given.get("reverse_rate"), "buffer": given.get("reverse_buffer")}
    access = {key: given.get(f"access_{key}") for key in ("rate", "delay", "buffer")}
    of_flows = _chosen(given, FlowKeys.__annotations__)
    document = {
        "name": "+".join(dict.fromkeys(names))[:100] if name is None else name,
        **_chosen(given, RunKeys.__annotations__),
        "stack": _stack(keys),
        "dumbbell": {
            **_chosen(given, BottleneckKeys.__annotations__),
            "reverse": reverse if any(end is not None for end in reverse.values()) else None,
            "access": access,
        },
        "flows": [
            {"cca": {"name": named, **own_params[named]}, "count": count, **of_flows}
            for named, count in zip(names, counts, strict=True)
        ],
    }
    text = toml_text(document)
    try:
        return Scenario._read(text, "dumbbell", classes)
    except _cwnd.Error as refused:
        raise error(_argument(refused.key), refused.reason) from None


def _split_params(names: list[str], params: Mapping[str, Param]) -> dict[str, dict[str, Param]]:
    own: dict[str, dict[str, Param]] = {named: {} for named in names}
    for key, value in params.items():
        owner, dot, param = key.rpartition(".")
        if not dot and len(own) > 1:
            raise error(
                param_key(key), f"of which algorithm? write {' or '.join(f'{named}.{key}' for named in own)}"
            )
        if dot and owner not in own:
            raise error(param_key(key), f"no algorithm '{owner}' here; there are {', '.join(own)}")
        if param == "name":
            raise error(param_key(key), "not a parameter: it is the algorithm's name")
        own[owner or names[0]][param] = value
    return own


def param_key(key: str) -> str:
    return f"params[{key!r}]"


def _chosen(given: Mapping[str, object], names: Iterable[str]) -> dict[str, object]:
    return {name: given.get(name) for name in names}


def _stack(keys: DumbbellKeys) -> object:
    """The stack with these entries; where a threshold marks, flows have ECN unless something sets it."""
    stack, recovery, ecn = keys.get("stack", "linux"), keys.get("recovery"), keys.get("ecn")
    marks = keys.get("ecn_threshold") is not None
    if recovery is None and ecn is None and not marks:
        return stack if isinstance(stack, str) else dict(mapping("stack", stack))
    table: dict[str, object] = {"profile": stack} if isinstance(stack, str) else dict(mapping("stack", stack))
    if ecn is not None:
        table["ecn"] = ecn
    elif marks:
        table.setdefault("ecn", "classic")
    if recovery is not None:
        table["recovery"] = recovery
    return table


def _argument(key: str) -> str:
    """The argument of `dumbbell` that became this key of its TOML; any other key as it is."""
    key = re.sub(r"^flows\[\d+\]\.", "", key).removeprefix("dumbbell.")
    if key.startswith("cca."):
        return "cca" if key == "cca.name" else param_key(key.removeprefix("cca."))
    renamed = {
        "count": "flows",
        "stack.profile": "stack",
        "stack.recovery": "recovery",
        "stack.ecn": "ecn",
        "jitter.std": "jitter",
    }
    return renamed.get(key, key.replace("access.", "access_").replace("reverse.", "reverse_"))


def _classes(ccas: Iterable[type[CongestionControl]]) -> dict[str, type[CongestionControl]]:
    return {usable.__name__: usable for usable in map(check_class, ccas)}


def cca_name(cca: Cca) -> str:
    return cca if isinstance(cca, str) else check_class(cca).__name__


def check_class(cca: type[CongestionControl]) -> type[CongestionControl]:
    if not (isinstance(cca, type) and issubclass(cca, CongestionControl)):
        raise TypeError(f"an algorithm is a name or a subclass of cwnd.CongestionControl, not {cca!r}")
    missing = sorted(cca.__abstractmethods__)
    base = CongestionControl
    if cca.cong_avoid is base.cong_avoid and cca.cong_control is base.cong_control:
        missing.insert(0, "cong_avoid")
    if missing:
        needed = "ssthresh and one of cong_avoid and cong_control are needed"
        raise error(cca.__name__, f"without {' and '.join(missing)}; {needed}")
    return cca


def toml_text(document: Mapping[str, object]) -> str:
    """The document as TOML, without the keys that are None."""
    return tomli_w.dumps({key: _to_toml(value) for key, value in document.items() if value is not None})


def _to_toml(value: object) -> object:
    """The value as TOML can hold it: mappings without their Nones, lists, text, numbers."""
    if isinstance(value, Mapping):
        return {str(key): _to_toml(item) for key, item in value.items() if item is not None}
    if isinstance(value, list | tuple):
        return [_to_toml(item) for item in value]
    if isinstance(value, bool | str):
        return value
    if isinstance(value, float):
        return float(value)  # NumPy's would be written with its type.
    if isinstance(value, SupportsIndex):
        with contextlib.suppress(TypeError):  # of an array
            return operator.index(value)
    return _to_toml(value.item()) if hasattr(value, "item") else value
