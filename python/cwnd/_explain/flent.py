"""Data files of flent: series of rates and RTTs on one axis of time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cwnd._explain.samples import Sample, Sampled, queued
from cwnd._explain.values import items, number, table, text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

#: Words in names of series that are sums of others, not flows.
_SUMMED = {"sum", "avg", "totals"}
#: Ending of the RTTs that flent takes from the kernel for a flow.
_RTT = "tcp_rtt"


def looks_like(document: Mapping[str, object]) -> bool:
    """Returns true for a data file of flent."""
    return {"metadata", "results", "x_values"} <= document.keys()


def read(document: Mapping[str, object]) -> tuple[list[Sampled], list[str]]:
    """The flows of a test, and notes."""
    metadata, results = table(document, "metadata"), table(document, "results")
    times = _values(document, "x_values")
    pings = [_values(results, name) for name in results if "ping" in name.lower()]
    local, host = text(metadata, "LOCAL_HOST") or "?", text(metadata, "HOST") or "?"
    found = []
    for name in filter(_is_flow, results):
        own = next((_values(results, one) for one in results if _is_rtt(one, name)), None)
        # Pings cross the same queue, if nothing sorts them.
        rtts = own or [_least_at(pings, at) for at in range(len(times))]
        ends = (f"{local}:{name}", f"{host}:{name}")
        sender, receiver = ends if "upload" in name.lower() else ends[::-1]
        samples, least_ms = _samples(times, _values(results, name), rtts)
        cannot = [
            "flent has rates and RTTs, not windows, buffers and losses: without a queue the cause is not "
            "known; 'ss -ti' during the test, or a capture, shows it"
        ]
        if own is None:
            cannot.append("the RTTs are those of the test's pings, not of this connection")
        found.append(Sampled(sender, receiver, samples, least_ms, cannot))
    title = text(metadata, "TITLE") or text(metadata, "NAME")
    notes = [f"a test of flent{f': {title}' if title else ''}"]
    return found, notes


def _is_flow(name: str) -> bool:
    words = name.lower().split()
    loads = any(word in ("upload", "download") for word in words)
    return "tcp" in words and loads and "::" not in name and not _SUMMED.intersection(words)


def _is_rtt(name: str, flow: str) -> bool:
    return name.startswith(f"{flow}::") and name.endswith(_RTT)


def _values(of: Mapping[str, object], name: str) -> list[float | None]:
    return [number({"": value}, "") for value in items(of, name)]


def _least_at(series: Sequence[Sequence[float | None]], at: int) -> float | None:
    values = [value for one in series if at < len(one) and (value := one[at]) is not None]
    return min(values, default=None)


def _samples(
    times: Sequence[float | None], rates: Sequence[float | None], rtts: Sequence[float | None]
) -> tuple[list[Sample], float | None]:
    """Samples between moments with a rate, in Mbit/s, and the least RTT."""
    least_ms = min((rtt for rtt in rtts if rtt is not None and rtt > 0), default=None)
    samples: list[Sample] = []
    before_s: float | None = None
    for at, (time_s, rate) in enumerate(zip(times, rates, strict=False)):
        if time_s is None:
            continue
        if before_s is not None and time_s > before_s and rate is not None:
            rtt_ms = rtts[at] if at < len(rtts) else None
            full = rate > 0 and rtt_ms is not None and queued(rtt_ms, least_ms)
            samples.append(
                Sample(
                    # A moment without a rate leaves no hole: the rate is a mean since the last one.
                    start_s=samples[-1].end_s if samples else before_s,
                    end_s=time_s,
                    delivered_bytes=max(rate, 0.0) * 1e6 / 8 * (time_s - before_s),
                    rtt_ms=rtt_ms,
                    cause="full_path" if full else "unknown",
                )
            )
        before_s = time_s
    return samples or [Sample(0.0, 0.0, cause="unknown")], least_ms
