"""Compares a model of a path with a simulation of it: the command `cwnd model`."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, NamedTuple, TypedDict

import numpy as np

from cwnd import models
from cwnd._analysis.gate import interval
from cwnd._common.errors import error, one_line
from cwnd._common.text import exponent
from cwnd._common.text import rate as rate_text
from cwnd._cwnd import Error
from cwnd._run.run import run
from cwnd._scenario.facts import bottleneck, bottleneck_link, rtt_ms
from cwnd._scenario.registry import algorithms
from cwnd._scenario.scenario import Quantity, Scenario, dumbbell

if TYPE_CHECKING:
    import matplotlib.figure
    import polars as pl

    from cwnd._common.shapes import ScenarioJson


#: The parameters of each model; an algorithm's remaining parameters keep their defaults.
_LAWS: dict[str, tuple[Callable[..., models.Law], dict[str, str]]] = {
    "reno": (models.reno, {}),
    "highspeed": (models.highspeed, {}),
    "scalable": (models.scalable, {"a": "a", "b": "b", "legacy_window": "legacy_window"}),
    "htcp": (models.htcp, {"delta_l": "delta_l_s"}),
    "cubic": (models.cubic, {"beta": "beta", "c": "c"}),
    "agile-sd": (
        models.agile_sd,
        {"beta": "beta", "lambda_max": "lambda_max", "lambda_min": "lambda_min"},
    ),
    "elastic": (models.elastic, {"beta": "beta"}),
}
#: Presets of Reno whose recovery takes no part in the model.
_PRESETS = ("newreno", "sack")
#: The stack of the simulations, which makes them comparable: SACK recovery, an ACK for every segment.
_STACK = {"ack_every": 1}
#: Epochs to simulate, and the most packets of a run, where the user gives no duration.
_EPOCHS = 60
_PACKETS_MAX = 4_000_000
#: Where the models hold; measured in docs/models.md.
LOSSES_MAX = 0.12  # random losses per window
WINDOW_MIN = 5.0
BUFFER_MIN = 4
#: Growth in an RTT as a part of the window, above which a buffer below FAST_BUFFER_MIN overflows early.
FAST_GROWTH = 0.5
FAST_BUFFER_MIN = 10


class Simulated(TypedDict):
    """The mean over the seeds with its interval; None: no seed has a value."""

    mean: float | None
    ci95_low: float | None
    ci95_high: float | None
    n: int


class Means(TypedDict):
    """The means of the metrics that a model has, too."""

    throughput_mbps: Simulated
    mean_cwnd_pkts: Simulated
    mean_rtt_ms: Simulated


class SimulationJson(Means):
    """The simulation of a comparison: its means from one time to another, in epochs of the model."""

    from_s: float
    to_s: float
    epochs: float


class PathJson(TypedDict):
    """The path of a comparison."""

    rate_bps: int
    rtt_ms: float
    bdp_pkts: float
    buffer_pkts: float
    window_pkts: float
    per: float


class ModelMetrics(TypedDict):
    """The metrics of a model."""

    throughput_mbps: float
    mean_cwnd_pkts: float
    mean_rtt_ms: float


class ModelJson(ModelMetrics):
    """The model of a comparison, and whether it holds on the path."""

    kind: str
    congestion_only_mbps: float
    random_loss_only_mbps: float | None
    utilization: float
    epoch_s: float
    packets_per_loss: float
    limited_by: str
    holds: bool
    limits: list[str]


class ComparisonJson(TypedDict):
    """A comparison; `difference` is that of the throughputs as a share, None if the simulated one is 0."""

    cca: str
    path: PathJson
    model: ModelJson
    simulation: SimulationJson
    difference: float | None


class Comparison(NamedTuple):
    """A model and a simulation of the same path. `limits` are assumptions of the model that do not hold."""

    scenario: ScenarioJson
    law: models.Law
    path: models.Path
    chain: models.Chain
    warm_s: float
    simulated: Means
    limits: list[str]

    @property
    def capacity_mbps(self) -> float:
        return bottleneck(self.scenario)[0] / 1e6

    @property
    def regime(self) -> str:
        """The cause of most losses."""
        return "congestion" if self.chain.congestion_share >= 0.5 else "random loss"

    @property
    def response_mbps(self) -> float | None:
        """The response function, losses at even distances, up to the capacity; None without random loss."""
        if not self.path.per:
            return None
        window = float(models.response(self.law, self.path.per, self.path.rtt_s))
        return min(window / self.path.bdp_pkts, 1.0) * self.capacity_mbps

    def to_dict(self) -> ComparisonJson:
        """The comparison as `cwnd model --json` prints it."""
        mean = self.simulated["throughput_mbps"]["mean"]
        end_s = self.scenario["duration_ns"] / 1e9
        model = _model_metrics(self.chain, self.path, self.capacity_mbps)
        return {
            "cca": self.scenario["flows"][0]["cca"]["name"],
            "path": {
                "rate_bps": bottleneck(self.scenario)[0],
                "rtt_ms": rtt_ms(self.scenario),
                "bdp_pkts": self.path.bdp_pkts,
                "buffer_pkts": self.path.buffer_pkts,
                "window_pkts": self.path.window_pkts,
                "per": self.path.per,
            },
            "model": {
                **model,
                "kind": "exact chain",
                "congestion_only_mbps": models.epoch(self.law, self.path).utilization * self.capacity_mbps,
                "random_loss_only_mbps": self.response_mbps,
                "utilization": self.chain.utilization,
                "epoch_s": self.chain.epoch_s,
                "packets_per_loss": self.chain.packets_per_loss,
                "limited_by": self.regime,
                "holds": not self.limits,
                "limits": self.limits,
            },
            "simulation": {
                **self.simulated,
                "from_s": self.warm_s,
                "to_s": end_s,
                "epochs": (end_s - self.warm_s) / self.chain.epoch_s,
            },
            "difference": model["throughput_mbps"] / mean - 1 if mean else None,
        }


def compare(
    cca: str,
    *,
    rtt: Quantity = "200 ms",
    rate: Quantity = "1 Gbps",
    buffer: Quantity = "1 BDP",
    per: float | None = None,
    packet: Quantity | None = None,
    duration: Quantity | None = None,
    seed: int | None = None,
    repeat: int | None = None,
    params: Mapping[str, float | str | bool] | None = None,
    progress: Callable[[float], object] | None = None,
) -> Comparison:
    """The model of `cca` on a dumbbell's bottleneck, and the mean of `repeat` simulations of it.

    Without `duration` a run has about 60 epochs, at most four million packets. Its beginning does not count.
    Without `repeat`, 5 seeds with random loss, else one run.
    """
    if cca not in (*_LAWS, *_PRESETS):
        raise error("cca", f"no model of '{one_line(cca)}'; there are models of {', '.join(modelled())}")
    known = {} if cca in _PRESETS else _LAWS[cca][1]
    for name in params or {}:
        if name not in known:
            there = ", ".join(known) or "none"
            raise error(f"params[{name!r}]", f"not a parameter of the model of {cca}; it has {there}")
    # The defaults of the paper or RFC, whatever the stack's profile sets.
    defaults = {
        param["name"]: param["default"]
        for each in algorithms()
        if each["name"] == cca
        for param in each["params"]
    }
    written = {**defaults, **(params or {})}

    def made(delay: Quantity, duration: Quantity) -> Scenario:
        try:
            return dumbbell(
                cca,
                rate=rate,
                delay=delay,
                buffer=buffer,
                per=per,
                packet=packet,
                duration=duration,
                seed=seed,
                repeat=repeat,
                stack=_STACK,
                samples=100,
                params=written,
            )
        except Error as refused:
            raise error("rtt" if refused.key == "delay" else refused.key, refused.reason) from None

    both_ways = bottleneck_link(made(rtt, "100 s").to_dict(), 0)["delay_ns"]
    one_way = f"{both_ways // 2} ns"
    scenario = made(one_way, "100 s").to_dict()
    path = path_of(scenario)
    law = law_of(scenario, path)
    chain = models.exact_chain(law, path)
    # After a loss in slow start the window grows to its steady state, at worst by a segment per RTT.
    settled_s = 10 * chain.epoch_s + 1.5 * float(chain.windows_pkts[-1]) * path.rtt_s
    if duration is None:
        pkts_per_s = chain.utilization * path.bdp_pkts / path.rtt_s
        duration = f"{max(min(settled_s + _EPOCHS * chain.epoch_s, _PACKETS_MAX / pkts_per_s), 1):.9g} s"
    asked = made(one_way, duration)
    if repeat is None and path.per:
        asked = asked._replace(repeat=5)
    end_s = asked.to_dict()["duration_ns"] / 1e9
    warm_s = min(settled_s, 0.5 * end_s)
    results = run(asked, progress=progress)
    return Comparison(
        asked.to_dict(),
        law,
        path,
        chain,
        warm_s,
        _simulated(results.samples, warm_s),
        limits(law, chain, path),
    )


def modelled() -> list[str]:
    """The algorithms that have a model."""
    return [*_LAWS, *_PRESETS]


def law_of(scenario: ScenarioJson, path: models.Path) -> models.Law:
    """The law of the first flow's algorithm."""
    cca = scenario["flows"][0]["cca"]
    make, names = _LAWS[cca["algorithm"]]
    written = {name: value for name, value in cca["params"] if name in names}
    if written.get("lambda_max") == "auto":
        written["lambda_max"] = str(float(models.lambda_max_auto(float(written["beta"]))))
    given = {names[name]: float(value) for name, value in written.items()}
    return make(path.bdp_pkts, **given) if cca["algorithm"] == "htcp" else make(**given)


def path_of(scenario: ScenarioJson) -> models.Path:
    """The path of the first flow; its RTT includes every transmission of a packet and its ACK."""
    rate_bps, buffer_pkts, per = bottleneck(scenario)
    flow = scenario["flows"][0]
    bits = 8 * (flow["payload_bytes"] + flow["stack"]["header_bytes"])
    links = [scenario["links"][link] for link in flow["path"]]
    rtt_s = sum(link["delay_ns"] / 1e9 + bits / link["rate_bps"] for link in links)
    rtt_s += flow["return_delay_ns"] / 1e9
    if buffer_pkts is None:
        raise error("buffer", "unlimited has no model; a number of packets or of BDPs")
    return models.Path(rate_bps * rtt_s / bits, buffer_pkts, per, rtt_s)


def limits(law: models.Law, chain: models.Chain, path: models.Path) -> list[str]:
    """The assumptions of the chains that do not hold on a path, in words."""
    found = []
    losses = path.per * chain.mean_window_pkts
    if losses > LOSSES_MAX:
        found.append(f"{losses:.2g} random losses per window; one at a time is assumed, up to {LOSSES_MAX}")
    if chain.mean_window_pkts < WINDOW_MIN:
        found.append(f"a mean window of {chain.mean_window_pkts:.2g} packets; timeouts are not modelled")
    if law.name == "htcp" and chain.congestion_share < 0.5:
        found.append("random losses turn H-TCP's adaptive backoff off; it is modelled as on")
    if chain.congestion_share > 0.01:
        top = float(path.window_pkts)
        start = float(law.after(np.array(top)))
        rtt_s = path.rtt_at_s([start])
        growth = float(rtt_s[0] / law.step_s(np.array([start, start + 1]), top, rtt_s)[0] / start)
        bursts = "bursts overflow it before the window fills it"
        if path.buffer_pkts < BUFFER_MIN:
            found.append(f"a buffer of {path.buffer_pkts:g} packets; {bursts}")
        elif growth > FAST_GROWTH and path.buffer_pkts < FAST_BUFFER_MIN:
            found.append(f"growth by {growth:.0%} an RTT, a buffer of {path.buffer_pkts:g} packets; {bursts}")
    return found


def _model_metrics(chain: models.Chain, path: models.Path, capacity_mbps: float) -> ModelMetrics:
    rtts_s = path.rtt_at_s(chain.windows_pkts)
    return {
        "throughput_mbps": chain.utilization * capacity_mbps,
        "mean_cwnd_pkts": chain.mean_window_pkts,
        "mean_rtt_ms": 1e3 * float(chain.time_share @ rtts_s),
    }


def _simulated(samples: pl.DataFrame, warm_s: float) -> Means:
    """Means over the time after the start, with their intervals over the seeds."""
    import polars as pl

    columns = ("throughput_mbps", "cwnd_pkts", "rtt_ms")
    counted = samples.filter(pl.col("flow").is_not_null() & (pl.col("time_s") > warm_s))
    means = counted.group_by("seed", maintain_order=True).agg(pl.col(column).mean() for column in columns)

    def over_seeds(column: str) -> Simulated:
        values = means[column].drop_nulls().to_list()
        mean, low, high = interval(values) if values else (None, None, None)
        several = len(values) > 1
        return {
            "mean": mean,
            "ci95_low": low if several else None,
            "ci95_high": high if several else None,
            "n": len(values),
        }

    throughput, cwnd, rtt = map(over_seeds, columns)
    return {"throughput_mbps": throughput, "mean_cwnd_pkts": cwnd, "mean_rtt_ms": rtt}


def draw(compared: Comparison) -> matplotlib.figure.Figure:
    """The model's throughput over the packet error rate and over the buffer, with the simulated point."""
    from matplotlib import rc_context

    from cwnd._report.looks import GREY, STYLE, legend, looks, new_figure

    name = compared.scenario["flows"][0]["cca"]["name"]
    path, law = compared.path, compared.law
    capacity = compared.capacity_mbps
    look = looks([name])[name]
    simulated = compared.simulated["throughput_mbps"]
    mean = math.nan if simulated["mean"] is None else simulated["mean"]
    low, high = (mean if end is None else end for end in (simulated["ci95_low"], simulated["ci95_high"]))
    error_bar = [[mean - low], [high - mean]]
    lost = sorted({*np.geomspace(1e-8, 1e-2, 19).tolist(), *([path.per] if path.per else [])})
    most = max(2 * path.bdp_pkts, 1.5 * path.buffer_pkts)
    buffers = sorted({*np.geomspace(1, most, 15).round().tolist(), float(path.buffer_pkts)})
    with rc_context(STYLE):
        figure = new_figure(9, 3.6)
        left, right = figure.subplots(1, 2, sharey=True)
        over_per = [models.Path(path.bdp_pkts, path.buffer_pkts, p, path.rtt_s) for p in lost]
        over_buffer = [models.Path(path.bdp_pkts, b, path.per, path.rtt_s) for b in buffers]
        for axes, xs, paths, at in (
            (left, lost, over_per, path.per or lost[0]),
            (right, buffers, over_buffer, path.buffer_pkts),
        ):
            chains = [models.exact_chain(law, one) for one in paths]
            utilization = np.array([one.utilization for one in chains])
            axes.plot(xs, capacity * utilization, color=look.colour)
            holds = np.array([not limits(law, *both) for both in zip(chains, paths, strict=True)])
            axes.plot(
                xs, np.where(holds, np.nan, capacity * utilization), color=look.colour, linewidth=3, alpha=0.3
            )
            axes.errorbar([at], [mean], error_bar, fmt=look.marker, color=look.colour, capsize=3)
            axes.axhline(capacity, color=GREY, linewidth=0.8, linestyle=(0, (1, 2)))
        left.set(xscale="log", xlabel="packet error rate", ylabel="throughput (Mbit/s)", ylim=(0, None))
        right.set(xscale="log", xlabel="buffer (packets)")
        model, beyond = left.lines[:2]
        legend(
            figure,
            {
                "model": model,
                "beyond its assumptions": beyond,
                "simulated, 95 % interval": left.containers[0],
            },
        )
        figure.suptitle(f"{name}: {_path_text(compared)}")
    return figure


def _path_text(compared: Comparison) -> str:
    rate_bps, buffer_pkts, per = bottleneck(compared.scenario)
    lost = f"PER {exponent(per)}" if per else "no random loss"
    return (
        f"{rate_text(rate_bps)}, RTT {rtt_ms(compared.scenario):.4g} ms, buffer {buffer_pkts} packets, {lost}"
    )
