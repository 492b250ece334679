"""What a reader wants to know about a scenario, from its JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def is_trace(scenario: dict[str, Any]) -> bool:
    """Live connections, whose path nobody told."""
    return not scenario["links"]


def bottleneck_link(scenario: dict[str, Any], flow: int) -> dict[str, Any]:
    """The slowest link of a flow's path; of several, the one that a dumbbell calls so, else the first."""
    path = [scenario["links"][link] for link in scenario["flows"][flow]["path"]]
    slowest: dict[str, Any] = min(path, key=lambda link: (link["rate_bps"], link["name"] != "bottleneck"))
    return slowest


def bottleneck(scenario: dict[str, Any]) -> tuple[int, int | None, float]:
    """Of the first flow's slowest link: rate in bits/s, buffer in packets (None: no limit), PER."""
    slowest = bottleneck_link(scenario, 0)
    return slowest["rate_bps"], slowest["buffer_pkts"], slowest["per"]


def rtt_ms(scenario: dict[str, Any]) -> float:
    """The first flow's delays, both ways."""
    path = scenario["flows"][0]["path"]
    return 2 * sum(int(scenario["links"][link]["delay_ns"]) for link in path) / 1e6


def bdp_pkts(scenario: dict[str, Any]) -> float:
    """Bandwidth-delay product of the first flow."""
    flow = scenario["flows"][0]
    packet_bytes = flow["payload_bytes"] + flow["stack"]["header_bytes"]
    rate_bps, _, _ = bottleneck(scenario)
    return float(rate_bps * rtt_ms(scenario) / 8e3 / packet_bytes)


def shared_facts(scenarios: Sequence[dict[str, Any]]) -> list[str]:
    """What all the scenarios have in common, a few words each."""

    def facts(scenario: dict[str, Any]) -> list[str]:
        flows = len(scenario["flows"])
        told = [f"{flows} flow{'s' * (flows != 1)}"]
        if is_trace(scenario):
            return [*told, "traced"]
        rate_bps, buffer, per = bottleneck(scenario)
        told += [rate(rate_bps), f"RTT {rtt_ms(scenario):.4g} ms"]
        told.append("unlimited buffer" if buffer is None else f"buffer {buffer} packets")
        told.append(f"PER {exponent(per)}" if per else "no random loss")
        return [*told, f"{scenario['flows'][0]['stack']['profile']} stack"]

    each = [facts(scenario) for scenario in scenarios]
    return [fact for fact in (each[0] if each else ()) if all(fact in told for told in each)]


def rate(bps: float) -> str:
    for unit in ("bps", "kbps", "Mbps"):
        if bps < 1000:
            return f"{bps:.4g} {unit}"
        bps /= 1000
    return f"{bps:.4g} Gbps"


def exponent(number: float) -> str:
    """1e-5, neither 1e-05 nor 0.00001."""
    text = f"{number:e}" if 0 < abs(number) < 1e-3 else f"{number:g}"
    mantissa, e, power = text.partition("e")
    return f"{mantissa.rstrip('0').rstrip('.')}e{int(power)}" if e else text


def digits(number: float | None) -> str:
    """Four digits, or all of the whole part."""
    if number is None:
        return "-"
    return f"{number:.0f}" if abs(number) >= 1000 else exponent(float(f"{number:.4g}"))


def estimate(row: dict[str, Any] | None, scale: float) -> str:
    """A row of the summary: its mean and, with more than one run, half the width of its interval."""
    if row is None:
        return "-"
    mean = digits(row["mean"] * scale)
    if row["ci95_high"] is None:
        return mean
    half = (row["ci95_high"] - row["mean"]) * scale
    if half < 1e-9 * abs(row["mean"] * scale):  # equal runs, but for rounding
        half = 0.0
    return f"{mean} ± {exponent(float(f'{half:.2g}'))}"
