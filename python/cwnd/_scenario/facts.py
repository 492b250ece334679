"""Facts about a scenario for readers, from its JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from cwnd._common.text import exponent, rate


def is_trace(scenario: dict[str, Any]) -> bool:
    """Whether the scenario is a trace of live connections, whose path is unknown."""
    return not scenario["links"]


def bottleneck_link(scenario: dict[str, Any], flow: int) -> dict[str, Any]:
    """The slowest link of a flow's path; of several, the link named `bottleneck`, else the first."""
    path = [scenario["links"][link] for link in scenario["flows"][flow]["path"]]
    slowest: dict[str, Any] = min(path, key=lambda link: (link["rate_bps"], link["name"] != "bottleneck"))
    return slowest


def bottleneck(scenario: dict[str, Any]) -> tuple[int, int | None, float]:
    """The first flow's slowest link: rate in bits/s, buffer in its packets (None: no limit), PER."""
    slowest = bottleneck_link(scenario, 0)
    buffer = slowest["buffer_pkts"]
    if buffer is None and "buffer_bytes" in slowest:
        buffer = slowest["buffer_bytes"] // _packet_bytes(scenario)
    return slowest["rate_bps"], buffer, slowest["per"]


def _packet_bytes(scenario: dict[str, Any]) -> int:
    """A packet of the first flow on the wire."""
    flow = scenario["flows"][0]
    return int(flow["payload_bytes"] + flow["stack"]["header_bytes"])


def rtt_ms(scenario: dict[str, Any]) -> float:
    """The first flow's delays, both ways."""
    flow = scenario["flows"][0]
    there, back = (
        sum(int(scenario["links"][link]["delay_ns"]) for link in path)
        for path in (flow["path"], flow.get("reverse_path", []))
    )
    return (there + back + flow["return_delay_ns"]) / 1e6 if back else 2 * there / 1e6


def bdp_pkts(scenario: dict[str, Any]) -> float:
    """Bandwidth-delay product of the first flow."""
    rate_bps, _, _ = bottleneck(scenario)
    return float(rate_bps * rtt_ms(scenario) / 8e3 / _packet_bytes(scenario))


def shared_facts(scenarios: Sequence[dict[str, Any]]) -> list[str]:
    """The facts that all the scenarios share, a few words each."""

    def facts(scenario: dict[str, Any]) -> list[str]:
        flows = len(scenario["flows"])
        words = [f"{flows} flow{'s' * (flows != 1)}"]
        if is_trace(scenario):
            return [*words, "traced"]
        rate_bps, buffer, per = bottleneck(scenario)
        words += [rate(rate_bps), f"RTT {rtt_ms(scenario):.4g} ms"]
        words.append("unlimited buffer" if buffer is None else f"buffer {buffer} packets")
        words += [queue["discipline"]] if (queue := bottleneck_link(scenario, 0).get("queue")) else []
        words.append(f"PER {exponent(per)}" if per else "no random loss")
        return [*words, f"{scenario['flows'][0]['stack']['profile']} stack"]

    each = [facts(scenario) for scenario in scenarios]
    return [fact for fact in (each[0] if each else ()) if all(fact in others for others in each)]
