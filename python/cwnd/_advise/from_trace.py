"""A path estimated from a trace of live connections."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from cwnd._common.errors import error
from cwnd._common.text import digits, rate
from cwnd._scenario.facts import is_trace

if TYPE_CHECKING:
    import polars as pl

    from cwnd._results.results import Results

#: The rate is the most in a window of this length and this many RTTs.
_WINDOW_S, _WINDOW_RTTS = 0.5, 10
#: A queue counts as seen where the RTT rises by this part of the least, and by a millisecond.
_QUEUED = 0.1
#: A loss is taken for random where the queue holds less than this part of the most that was seen.
_LOW = 0.25


class Estimated(NamedTuple):
    """The path of the connections to one host.

    `buffer_ms` is None where no loss was seen with a queue. `flows` is how many connections sent at a time on
    average. `unknown` has a sentence for each thing that the trace cannot show, or not for certain.
    """

    remote: str
    rate_bps: float
    rtt_ms: float
    loss: float
    buffer_ms: float | None
    flows: int
    unknown: list[str]

    def flags(self) -> dict[str, object]:
        """Keys of a `[dumbbell]`."""
        return {
            "rate": f"{round(self.rate_bps)} bps",
            "rtt": f"{round(self.rtt_ms * 1e6)} ns",
            "loss": self.loss or None,
            "buffer": "1 BDP" if self.buffer_ms is None else f"{round(self.buffer_ms * 1e6)} ns",
        }


def estimate_path(trace: Results) -> Estimated:
    """Estimates the path to the host that got the most, from all its connections.

    The RTT is the least that the kernel saw; the rate the most that arrived in half a second or ten RTTs,
    headers included; random loss the episodes of loss that began while the queue was short, over the packets
    sent; the buffer the largest queueing delay, where losses began at such a one.

    Raises an `Error` if this is no trace, or has too few samples.
    """
    import polars as pl

    if len(trace.scenarios) != 1 or not is_trace(trace.scenarios[0]):
        raise error("trace", "not a trace of 'cwnd kernel trace --out'")
    connections = trace.scenarios[0]["flows"]
    hosts = [(one["netns"], one["remote"].rpartition(":")[0]) for one in connections]
    flows = trace.flows.with_columns(
        pl.Series("host", [hosts.index(hosts[flow]) for flow in trace.flows["flow"]]),
        (pl.col("stop_s") - pl.col("start_s")).alias("seconds"),
    )
    sent = flows.group_by("host", maintain_order=True).agg(pl.col("sent_pkts").sum())
    if not sent.height:
        raise error("trace", "no connection in it has sent anything")
    busiest = sent.sort("sent_pkts", descending=True, maintain_order=True)["host"][0]
    own = flows.filter(host=busiest)
    samples = trace.samples.filter(pl.col("flow").is_in(own["flow"].implode())).sort("flow", "time_s")
    known = samples.filter(pl.col("rtt_ms").is_not_null())
    begin_s, end_s = own["start_s"].min(), own["stop_s"].max()
    seconds = float(end_s) - float(begin_s)  # type: ignore[arg-type]
    if known.height < 20 or seconds <= 0:
        raise error("trace", f"{known.height} samples with an RTT; 20 or more are needed")
    rtts = known["rtt_ms"]
    least = [connections[flow]["min_rtt_ms"] for flow in own["flow"]]
    rtt_ms = min([ms for ms in least if ms is not None], default=float(rtts.min()))  # type: ignore[arg-type]
    largest_ms = float(rtts.max())  # type: ignore[arg-type]
    window_s = max(_WINDOW_S, _WINDOW_RTTS * rtt_ms / 1e3)
    rate_bps = _most_bps(samples, window_s)
    queued = largest_ms - rtt_ms > _QUEUED * rtt_ms + 1
    entries = _loss_entries(known)
    low = [ms for ms in entries if not queued or ms - rtt_ms < _LOW * (largest_ms - rtt_ms)]
    high = [ms for ms in entries if queued and ms - rtt_ms >= _LOW * (largest_ms - rtt_ms)]
    packets = int(own["sent_pkts"].sum())
    buffer_ms = max(high) - rtt_ms if high else None
    unknown = _unknown(
        other_hosts=sent.height - 1,
        queued=queued,
        buffer_ms=buffer_ms,
        losses=len(low),
        seconds=seconds,
        window_s=window_s,
    )
    return Estimated(
        remote=hosts[busiest][1],
        rate_bps=rate_bps,
        rtt_ms=rtt_ms,
        loss=len(low) / packets,
        buffer_ms=buffer_ms,
        flows=max(1, round(float(own["seconds"].sum()) / seconds)),
        unknown=unknown,
    )


def _most_bps(samples: pl.DataFrame, window_s: float) -> float:
    """The most that all flows together had in a window."""
    import polars as pl

    since_s = pl.col("time_s").diff().over("flow")
    bits = samples.select(
        (pl.col("time_s") // window_s).cast(pl.Int64).alias("window"),
        (pl.col("throughput_mbps") * since_s * 1e6).fill_null(0.0).alias("bits"),
    )
    windows = bits.group_by("window").agg(pl.col("bits").sum())
    return float(windows["bits"].max()) / window_s  # type: ignore[arg-type]


def _loss_entries(samples: pl.DataFrame) -> list[float]:
    """The smoothed RTT just before each episode of loss."""
    import polars as pl

    lossy = pl.col("state").is_in(["recovery", "loss"])
    before = samples.with_columns(
        lossy.shift(1, fill_value=False).over("flow").alias("was"),
        pl.col("rtt_ms").shift(1).over("flow").alias("before_ms"),
    )
    begun = before.filter(lossy & ~pl.col("was"))
    return begun.select(pl.coalesce("before_ms", "rtt_ms")).to_series().to_list()


def _unknown(
    *, other_hosts: int, queued: bool, buffer_ms: float | None, losses: int, seconds: float, window_s: float
) -> list[str]:
    words = []
    if other_hosts:
        words.append(f"{other_hosts} other host{'s' * (other_hosts != 1)} in the trace: left out")
    if queued:
        words.append("the rate is what these connections got; what others took meanwhile is not in the trace")
    else:
        words.append("no queue was seen, so the path was never full: its rate is at least the one found")
    if seconds < 4 * window_s:
        words.append(f"the trace is {digits(seconds)} s long: the rate is from few windows")
    if buffer_ms is None:
        words.append("no loss was seen with a queue, so the buffer is unknown: 1 BDP is assumed")
    else:
        words.append("the buffer is at least the one found: smoothed RTTs miss the peak")
    if not losses:
        words.append("no loss without a queue was seen: no random loss is assumed")
    words.append("who shares the path, and how its queue is managed: unknown; droptail is assumed")
    return words


def describe(path: Estimated) -> str:
    """The estimate as one line."""
    buffer = "unknown" if path.buffer_ms is None else f"{digits(path.buffer_ms)} ms"
    return (
        f"to {path.remote}: {rate(path.rate_bps)}, RTT {digits(path.rtt_ms)} ms, "
        f"random loss {digits(100 * path.loss)} %, buffer {buffer}, flows {path.flows}"
    )
