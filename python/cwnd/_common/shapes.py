"""Shapes of the JSON that parts of the package hand on: scenarios, results, manifests, rows of tables.

Only type checkers need this module: others import it where `TYPE_CHECKING` is true.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal, TypeAlias, TypedDict

if TYPE_CHECKING:
    from typing_extensions import NotRequired

#: A value that JSON and TOML can hold.
Json: TypeAlias = "bool | int | float | str | Sequence[Json] | Mapping[str, Json] | None"

#: A value of a table.
Cell: TypeAlias = "int | float | str | None"

#: A parameter of an algorithm.
Param: TypeAlias = "float | str | bool"

#: Swept keys and the value of each at a point.
Values: TypeAlias = "dict[str, Json]"

#: An addend of a number, of each number of a list, or of the number at the end of a text.
Step: TypeAlias = "int | list[int]"


class FoldedRun(TypedDict):
    """A long run of flows or links as one entry; `rows.py` describes it."""

    count: int
    first: Mapping[str, object]
    step: dict[str, Step]


class CcaJson(TypedDict):
    """An algorithm with its parameters; `name` is what the scenario calls it."""

    name: str
    algorithm: str
    params: list[tuple[str, str]]
    #: The name in the scenario, where figures have a label as `name`.
    written: NotRequired[str]


class StackJson(TypedDict):
    """A TCP stack, every setting resolved."""

    profile: str
    recovery: str
    pacing: NotRequired[str]
    header_bytes: int
    ack_bytes: int
    initial_window_pkts: int
    initial_ssthresh_pkts: int | None
    receive_window_pkts: int | None
    ecn: str


class SizeJson(TypedDict, total=False):
    """Distribution of the sizes of transfers: one of its keys."""

    fixed: dict[str, int]
    points: dict[str, list[tuple[int, float]]]
    lognormal: dict[str, float]
    pareto: dict[str, float]
    exponential: dict[str, int]


class RequestsJson(TypedDict):
    """Transfers that follow each other on a connection."""

    count: int
    think_ns: int
    barrier: NotRequired[int]


class ArrivalsJson(TypedDict, total=False):
    """Arrivals of transfers: one of its keys."""

    poisson: dict[str, float]
    times: dict[str, list[int]]


class TrafficJson(TypedDict, total=False):
    """Data that a flow has to send."""

    size: SizeJson
    arrivals: ArrivalsJson
    requests: RequestsJson
    mean_on_off_ns: tuple[int, int]
    frames_per_s: int


class FlowJson(TypedDict):
    """A flow of a scenario.

    A traced connection has the name of its algorithm, and the keys from `local` on.
    """

    cca: CcaJson
    label: NotRequired[str]
    path: list[int]
    reverse_path: NotRequired[list[int]]
    return_delay_ns: int
    start_ns: int
    start_jitter_ns: int
    stop_ns: int
    payload_bytes: int
    app_rate_bps: int | None
    on_off_ns: tuple[int, int] | None
    traffic: NotRequired[TrafficJson]
    stack: StackJson
    local: NotRequired[str]
    remote: NotRequired[str]
    netns: NotRequired[int]
    min_rtt_ms: NotRequired[float | None]


class QueueJson(TypedDict):
    """A queue discipline; its parameters differ."""

    discipline: str
    codel: NotRequired[dict[str, bool | int | str]]


class RateStep(TypedDict):
    """A change of a link's rate."""

    from_ns: int
    rate_bps: int


class DelayStep(TypedDict):
    """A change of a link's delay."""

    from_ns: int
    delay_ns: int


class RateVariation(TypedDict, total=False):
    """Rates of a link over time: steps, or the opportunities of a trace."""

    steps: list[RateStep]
    trace: Mapping[str, object]


class Policer(TypedDict):
    """A limit of the rate before a link."""

    rate_bps: int
    burst_bytes: int
    mark: bool


class Aggregation(TypedDict):
    """Turns at which packets of a link leave together."""

    every_ns: int
    most_pkts: int


class VariationJson(TypedDict, total=False):
    """Changes of a link over time."""

    rate: RateVariation
    delay_steps: list[DelayStep]
    policer: Policer
    suspension_ns: Sequence[tuple[int, int]]
    aggregation: Aggregation


class GilbertElliott(TypedDict):
    """Losses in bursts: probabilities to change the state, and to lose a packet in each."""

    p: float
    r: float
    good: float
    bad: float


class PacketSetJson(TypedDict, total=False):
    """Packets of a link, by number or by the time at which they are sent."""

    numbers: Sequence[tuple[int, int]]
    spans_ns: Sequence[tuple[int, int]]


class ImpairmentsJson(TypedDict, total=False):
    """Faults of a link's wire."""

    gilbert_elliott: GilbertElliott
    jitter: Mapping[str, object]
    reorder: float
    duplicate: float
    losses: PacketSetJson
    marks: PacketSetJson


class LinkJson(TypedDict):
    """A link of a scenario."""

    name: str
    rate_bps: int
    delay_ns: int
    buffer_pkts: int | None
    buffer_bytes: NotRequired[int]
    per: float
    ecn_threshold_pkts: int | None
    queue: NotRequired[QueueJson]
    variation: NotRequired[VariationJson]
    impairments: NotRequired[ImpairmentsJson]


class IntervalJson(TypedDict):
    """Time between two samples."""

    interval_ns: int


class SamplesJson(TypedDict):
    """Samples at an interval."""

    interval: IntervalJson


class ScenarioJson(TypedDict):
    """A scenario, every default and unit resolved: the `scenario` of the results.

    A trace of live connections has no links, and flows with a `cca` and their addresses alone.
    """

    name: str
    label: NotRequired[str]
    duration_ns: int
    seed: int
    repeat: int
    samples: Literal["off", "change"] | SamplesJson
    sample_groups: NotRequired[list[int]]
    clock: NotRequired[str]
    end: NotRequired[str]
    warmup_ns: NotRequired[int]
    links: Sequence[LinkJson]
    flows: Sequence[FlowJson]
    expect: NotRequired[list[ExpectationJson]]


class ExpectationJson(TypedDict):
    """A predicate over each run, as `crates/scenario/src/expectation.rs` has it."""

    kind: Literal["metric", "series", "event"]
    name: str
    flow: NotRequired[int]
    link: NotRequired[str]
    at_ns: NotRequired[int]
    from_ns: NotRequired[int]
    to_ns: NotRequired[int]
    after: NotRequired[str]
    number: NotRequired[int]
    rounds: NotRequired[float]
    statistic: NotRequired[str]
    at_least: NotRequired[float]
    at_most: NotRequired[float]
    never: NotRequired[Literal["falls", "rises"]]
    why: NotRequired[str]


class DescribedLink(TypedDict):
    """Links in a row that differ in their names only."""

    name: str
    count: int
    rate_bps: int
    delay_ms: float
    buffer_pkts: int | None
    buffer_bytes: NotRequired[int]
    buffer_bdp: float | None
    buffer_ms: float | None
    per: float
    ecn_threshold_pkts: int | None
    queue: NotRequired[QueueJson]
    varies: NotRequired[list[str]]


class DescribedFlow(TypedDict):
    """Flows in a row that differ in start and stop only; of these, the first's and the last's."""

    first: int
    count: int
    cca: CcaJson
    label: NotRequired[str]
    start_s: tuple[float, float]
    start_jitter_s: float
    stop_s: tuple[float, float]
    payload_bytes: int
    packet_bytes: int
    app_rate_bps: int | None
    on_off_s: tuple[float, float] | None
    rtt_ms: float
    bottleneck: str
    bdp_pkts: float
    bdp_bytes: float
    capacity_pkts_per_s: float
    traffic: NotRequired[TrafficJson]
    stack: StackJson


class Described(TypedDict):
    """A scenario for a reader."""

    name: str
    duration_s: float
    seed: int
    repeat: int
    samples: Literal["off", "change"] | SamplesJson
    sample_groups: NotRequired[list[int]]
    clock: str
    end: str
    links: list[DescribedLink]
    flows: list[DescribedFlow]


class Connection(TypedDict):
    """A connection of a trace, with the counters of the trace."""

    flow: int
    cca: str
    local: str
    remote: str
    netns: int
    min_rtt_ms: float | None
    start_s: float
    stop_s: float
    sent_pkts: int
    retransmitted_pkts: int
    delivered_pkts: int
    lost_pkts: int
    marked_pkts: int
    delivered_bytes: float
    acked_bytes: int


class Estimate(TypedDict):
    """A mean, the ends of its 95 % interval (Student's t; None for one value) and the number of values."""

    mean: float
    ci95_low: float | None
    ci95_high: float | None
    n: int


#: Maker of runs: `version` and, of a world with a kernel or a stack, its name and version; of the simulator
#: `wall_s, packets, packets_per_s`.
Engine: TypeAlias = "dict[str, int | float | str | None]"


class Entry(TypedDict):
    """The results of one scenario, as the manifest has them."""

    world: str
    scenario: ScenarioJson
    values: Values
    seeds: list[int]
    summary: dict[str, Estimate]
    engine: Engine
    notes: NotRequired[list[str]]


class FileJson(TypedDict):
    """Content of a file, as a hash and a length."""

    sha256: str
    bytes: int


class Git(TypedDict):
    """State of the repository that a sweep was started in."""

    commit: str
    changed: bool


class Provenance(TypedDict):
    """The origin of a result."""

    cwnd: str
    format: int
    command: list[str] | None
    python: str
    platform: str


class SweepKeys(TypedDict, total=False):
    """Keys that the manifest of a sweep alone has."""

    host: str
    git: Git | None
    sweep: dict[str, int]
    failed: list[Mapping[str, object]]


class Manifest(Provenance, SweepKeys):
    """The manifest of a result's directory."""

    files: dict[str, FileJson]
    results: list[Entry]


#: The manifest of a sweep but for its files and results.
SweepHead: TypeAlias = "Mapping[str, object]"


class SweepPointJson(TypedDict):
    """A point of `sweep.json`: `scenario` is the hash of its essence, `seeds` the first and the last."""

    values: Values
    name: str
    scenario: str
    seeds: list[int]


class SweepJson(TypedDict):
    """The content of `sweep.json`, for as long as a sweep has shards."""

    cwnd: str
    format: int
    world: str
    points: list[SweepPointJson]


class FlowRow(TypedDict):
    """A row of the table of flows, without scenario and seed."""

    flow: int
    cca: str
    start_s: float
    stop_s: float
    sent_pkts: int
    retransmitted_pkts: int
    delivered_pkts: int
    lost_pkts: int
    timeouts: int
    throughput_mbps: float
    goodput_mbps: float
    loss_ratio: float
    mean_rtt_ms: float | None
    p95_rtt_ms: float | None
    mean_cwnd_pkts: float
    marked_pkts: int
    fct_ms: float | None


class LinkRow(TypedDict):
    """A row of the table of links, without scenario and seed."""

    link: str
    delivered_pkts: int
    dropped_pkts: int
    error_pkts: int
    mean_queue_pkts: float
    max_queue_pkts: int
    utilization: float
    marked_pkts: int
    p95_queue_ms: float


class RunRows(TypedDict):
    """The rows of one run."""

    seed: int
    flows: list[FlowRow]
    links: list[LinkRow]
