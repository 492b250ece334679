"""The path that an advice is about, and paths near it."""

from __future__ import annotations

import os
import random
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path as File
from typing import TYPE_CHECKING, NamedTuple

from cwnd._common.errors import about, error, one_line
from cwnd._cwnd import Error
from cwnd._scenario.facts import bottleneck, bottleneck_link, rtt_ms
from cwnd._scenario.scenario import Scenario, read_text, toml_text

if TYPE_CHECKING:
    from cwnd._common.shapes import LinkJson, ScenarioJson

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

#: No description of a path is better than this: rate, delay, buffer and loss of the paths near it.
NEAR = 0.2
#: A random loss is scaled to this at most: with more an algorithm that reacts to it gets next to nothing.
_LOSS_MOST = 0.1
#: Bytes of a full segment on the wire.
PACKET_BYTES = 1514


class Path(NamedTuple):
    """A bottleneck: its table `[dumbbell]`, the stack of its flows, and the file beside which traces lie."""

    dumbbell: Mapping[str, object]
    stack: object
    source: str

    def scenario(self, name: str, flows: Sequence[Mapping[str, object]], **keys: object) -> Scenario:
        """A scenario with these groups of flows."""
        document = {"name": name, "samples": "off", **keys, "stack": self.stack, "dumbbell": self.dumbbell}
        return Scenario.parse(toml_text({**document, "flows": flows}), self.source)

    @property
    def resolved(self) -> ScenarioJson:
        """A scenario with one flow on it, in base units."""
        return self.scenario("path", [{"cca": "cubic"}]).to_dict()


def path_of_flags(given: Mapping[str, object]) -> Path:
    """The path of a rate, an RTT and other keys of a `[dumbbell]`; None: left out.

    Errors name the key alone.
    """
    table = {key: value for key, value in given.items() if value is not None}
    for needed in ("rate", "rtt"):
        if needed not in table:
            raise error(needed, "missing; the path needs a rate and an RTT, or a scenario file")
    if "jitter" in table and not isinstance(table["jitter"], Mapping):
        table["jitter"] = {"std": table["jitter"]}
    path = Path({"buffer": "1 BDP", **table}, "linux", "path")
    try:
        path.resolved  # noqa: B018
    except Error as refused:
        key, reason = about(refused)
        raise error(key.removeprefix("dumbbell.").partition(".")[0], reason) from None
    return path


def path_of_file(file: str | os.PathLike[str]) -> Path:
    """The `[dumbbell]` of a scenario file, whose flows are left out."""
    shown = one_line(os.fspath(file))
    Scenario.from_toml(file)
    document = tomllib.loads(read_text(file))
    if "dumbbell" not in document:
        raise error(shown, "no table [dumbbell]; an advice is about one bottleneck")
    return Path(document["dumbbell"], document.get("stack", "linux"), str(File(file)))


class Factors(NamedTuple):
    """By how much a path's numbers differ from another's."""

    rate: float = 1.0
    delay: float = 1.0
    buffer: float = 1.0
    loss: float = 1.0
    #: A policer's burst.
    burst: float = 1.0

    def times(self, other: Factors) -> Factors:
        return Factors(*(one * two for one, two in zip(self, other, strict=True)))


def near(seed: int, number: int) -> Factors:
    """A path near another one: each factor is drawn between 0.8 and 1.2; number 0 is the path itself."""
    if number == 0:
        return Factors()
    draws = random.Random(f"{seed}-{number}")
    return Factors(*(draws.uniform(1 - NEAR, 1 + NEAR) for _ in range(4)))


def scaled(path: Path, factors: Factors) -> Path:
    """The path with its rate, delay, buffer and random loss multiplied; a policer's rate with the link's."""
    if factors == Factors():
        return path
    rate, delay, buffer, loss, burst = factors
    link = bottleneck_link(path.resolved, 0)
    table: dict[str, object] = {
        key: value for key, value in path.dumbbell.items() if key not in ("rtt", "per")
    }
    table["rate"] = _rate(path.dumbbell["rate"], link, rate)
    table["delay"] = _delay(link, delay)
    if "buffer_bytes" in link:
        table["buffer"] = f"{round(link['buffer_bytes'] * buffer)} bytes"
    elif link["buffer_pkts"] is not None:
        table["buffer"] = max(round(link["buffer_pkts"] * buffer), 1)
    if isinstance(bursts := table.get("loss"), Mapping):
        table["loss"] = {**bursts, "p": min(link["impairments"]["gilbert_elliott"]["p"] * loss, 1.0)}
    elif link["per"]:
        table["loss"] = min(link["per"] * loss, max(link["per"], _LOSS_MOST))
    if isinstance(policer := table.get("policer"), Mapping):
        now = link["variation"]["policer"]
        size = f"{round(now['burst_bytes'] * burst)} bytes"
        table["policer"] = {**policer, "rate": f"{round(now['rate_bps'] * rate)} bps", "burst": size}
    return path._replace(dumbbell=table)


def _rate(written: object, link: LinkJson, factor: float) -> object:
    if isinstance(written, Mapping) and "trace" in written:
        return {**written, "scale": written.get("scale", 1) * factor}
    if isinstance(written, Mapping):
        steps = link["variation"]["rate"]["steps"]
        return {
            "steps": [[f"{step['from_ns']} ns", f"{round(step['rate_bps'] * factor)} bps"] for step in steps]
        }
    return f"{round(link['rate_bps'] * factor)} bps"


def _delay(link: LinkJson, factor: float) -> object:
    if "variation" in link and (steps := link["variation"].get("delay_steps")):
        return {"steps": [[f"{s['from_ns']} ns", f"{round(s['delay_ns'] * factor)} ns"] for s in steps]}
    return f"{round(link['delay_ns'] * factor)} ns"


class Facts(NamedTuple):
    """The numbers of a path: of a rate that changes the mean or the first, of a policed one the policer's."""

    rate_bps: float
    rtt_ms: float
    buffer_pkts: int | None
    loss: float
    queue: str
    #: Rate and burst in bytes of a policer before the queue, if there is one.
    policer: tuple[int, int] | None = None

    @property
    def bdp_bytes(self) -> float:
        return self.rate_bps * self.rtt_ms / 8e3

    @property
    def packets_per_s(self) -> float:
        return self.rate_bps / 8 / PACKET_BYTES


def facts_of(path: Path) -> Facts:
    scenario = path.resolved
    link = bottleneck_link(scenario, 0)
    rate_bps, buffer_pkts, per = bottleneck(scenario)
    policer = link["variation"].get("policer") if "variation" in link else None
    burst = link["impairments"].get("gilbert_elliott") if "impairments" in link else None
    if burst is not None:
        bad = burst["p"] / (burst["p"] + burst["r"])
        per += bad * burst["bad"] + (1 - bad) * burst["good"]
    return Facts(
        rate_bps if policer is None else min(rate_bps, policer["rate_bps"]),
        rtt_ms(scenario),
        buffer_pkts,
        per,
        link["queue"]["discipline"] if "queue" in link else "droptail",
        None if policer is None else (policer["rate_bps"], policer["burst_bytes"]),
    )
