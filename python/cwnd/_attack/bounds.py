"""Bounds of the paths that a search may try, as files."""

from __future__ import annotations

import dataclasses
import sys
from importlib import resources
from pathlib import Path

from cwnd._common.errors import error, one_line, os_error

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

#: Bounds that a name without a folder stands for.
NAMED = ("reasonable", "home", "satellite", "datacentre")

_QUEUES = ("droptail", "codel", "fq-codel", "pie", "red")
_PATTERNS = ("bulk", "on-off", "limited")

#: The widest range of each key.
_LIMITS = {
    "rate_mbps": (0.1, 100_000.0),
    "rtt_ms": (0.02, 5_000.0),
    "buffer_bdp": (0.01, 100.0),
    "loss": (1e-7, 0.5),
    "rate_factor": (0.001, 8.0),
    "rtt_factor": (0.5, 20.0),
    "reverse_rate": (0.001, 10.0),
    "jitter_rtt": (0.0, 1.0),
    "outage_s": (0.0, 60.0),
    "cross": (0.0, 0.99),
    "segments": (0.0, 8.0),
    "aggregation_ms": (0.0, 1_000.0),
    "ack_every": (1.0, 64.0),
    "packets": (1_000.0, 10_000_000.0),
}


@dataclasses.dataclass(frozen=True)
class Bounds:
    """The paths that a search may try. Pairs are the least and the largest value."""

    name: str
    rate_mbps: tuple[float, float]
    rtt_ms: tuple[float, float]
    buffer_bdp: tuple[float, float]
    #: Probability of a loss on the wire where there are any.
    loss: tuple[float, float]
    #: Span of the jitter as a share of the RTT.
    jitter_rtt: float
    queues: tuple[str, ...]
    #: Spans of time with another rate or RTT.
    segments: int
    rate_factor: tuple[float, float]
    rtt_factor: tuple[float, float]
    outage_s: float
    #: Rate of the way back beside that of the path.
    reverse_rate: tuple[float, float]
    ack_every: int
    patterns: tuple[str, ...]
    #: Datagrams of others in bursts, as a share of the rate.
    cross: float
    #: Jitter may change the order of packets.
    reorder: bool
    #: Longest time between two turns at which packets leave together; 0: they leave one by one.
    aggregation_ms: float
    #: Queues may mark packets instead of dropping them.
    marks: bool
    #: Packets that a path can carry in a run.
    packets: int


def read_bounds(name: str) -> Bounds:
    """Bounds of a file, or of one that comes with the package: reasonable, home, satellite, datacentre.

    Raises `Error` with one line, FILE: KEY: what was found; what is accepted.
    """
    stem = name.removesuffix(".toml")
    try:
        if stem in NAMED and not Path(name).exists():
            text = (resources.files("cwnd._attack") / "bounds" / f"{stem}.toml").read_text("utf-8")
        else:
            text = Path(name).read_text("utf-8")
    except OSError as failed:
        raise os_error(f"bounds: {one_line(name)}", failed) from None
    except (UnicodeDecodeError, ValueError):
        raise error("bounds", f"{one_line(name)} is not text in UTF-8") from None
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as failed:
        raise error("bounds", f"{one_line(name)}: not valid TOML; {one_line(failed)}") from None
    return _checked(one_line(name), Path(stem).name, document)


def _checked(shown: str, stem: str, document: dict[str, object]) -> Bounds:
    fields = [field.name for field in dataclasses.fields(Bounds) if field.name != "name"]
    for key in document:
        if key not in fields:
            raise error("bounds", f"{shown}: {one_line(key)}: unknown key; accepted: {', '.join(fields)}")
    for key in fields:
        if key not in document:
            raise error("bounds", f"{shown}: {key}: missing; 'reasonable' has all keys")
    values = {key: _value(shown, key, document[key]) for key in fields}
    return Bounds(name=stem, **values)  # type: ignore[arg-type]


def _value(shown: str, key: str, given: object) -> object:
    if key in ("queues", "patterns"):
        known = _QUEUES if key == "queues" else _PATTERNS
        if isinstance(given, list) and given and all(item in known for item in given):
            return tuple(map(str, given))
        raise error("bounds", f"{shown}: {key}: {one_line(given)}; a list of {', '.join(known)}")
    if key in ("reorder", "marks"):
        if isinstance(given, bool):
            return given
        raise error("bounds", f"{shown}: {key}: {one_line(given)}; true or false")
    low, high = _LIMITS[key]
    pair = key in ("rate_mbps", "rtt_ms", "buffer_bdp", "loss", "rate_factor", "rtt_factor", "reverse_rate")
    numbers = given if isinstance(given, list) else [given]
    wanted = f"{'two numbers' if pair else 'a number'} from {low:g} to {high:g}"
    if len(numbers) != (2 if pair else 1) or isinstance(given, list) != pair:
        raise error("bounds", f"{shown}: {key}: {one_line(given)}; {wanted}")
    ends: list[float] = []
    for number in numbers:
        if isinstance(number, bool) or not isinstance(number, int | float) or not low <= number <= high:
            raise error("bounds", f"{shown}: {key}: {one_line(given)}; {wanted}")
        ends.append(float(number))
    if ends != sorted(ends):
        raise error("bounds", f"{shown}: {key}: {one_line(given)}; the least first")
    if pair:
        return tuple(ends)
    return int(ends[0]) if key in ("segments", "ack_every", "packets") else ends[0]
