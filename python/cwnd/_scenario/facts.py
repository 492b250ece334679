"""Facts about a scenario for readers, from its JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from cwnd._common.rows import Run, runs_of_rows
from cwnd._common.text import exponent, rate

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from cwnd._common.shapes import FlowJson, LinkJson, ScenarioJson

    Numbers = npt.NDArray[np.int64]


def is_trace(scenario: ScenarioJson) -> bool:
    """Returns true if the scenario is a trace of live connections, whose path is unknown."""
    return not scenario["links"]


def bottleneck_link(scenario: ScenarioJson, flow: int) -> LinkJson:
    """The slowest link of a flow's path; of several, the link named `bottleneck`, else the first."""
    path = [scenario["links"][link] for link in scenario["flows"][flow]["path"]]
    return min(path, key=lambda link: (link["rate_bps"], link["name"] != "bottleneck"))


def bottlenecks(scenario: ScenarioJson) -> list[str]:
    """The name of each flow's `bottleneck_link`, each once."""
    import numpy as np

    links = scenario["links"]
    # If two links have one rate, the one named `bottleneck` is the lower.
    named = [run.first["name"] != "bottleneck" for run in runs_of_rows(links) for _ in range(run.length)]
    rank = 2 * _of_links(scenario, "rate_bps") + np.array(named)
    slowest = []
    for run in runs_of_rows(scenario["flows"]):
        paths = _paths(run, "path")
        slowest.append(paths[np.arange(run.length), rank[paths].argmin(axis=1)])
    return [links[link]["name"] for link in dict.fromkeys(np.concatenate(slowest).tolist())]


def flows_by_link(scenario: ScenarioJson) -> Numbers:
    """How many flows cross each link, with data or ACKs."""
    import numpy as np

    counts = np.zeros(len(scenario["links"]), int)
    for run in runs_of_rows(scenario["flows"]):
        paths = _paths(run, "path")
        np.add.at(counts, paths, 1)
        for link in run.first.get("reverse_path", ()):
            counts[link] += (paths != link).all(axis=1).sum()
    return counts


def base_rtts_ms(scenario: ScenarioJson) -> npt.NDArray[np.float64]:
    """Each flow's RTT over empty queues, with the times that a full packet and its ACK take on the links."""
    import numpy as np

    delays_ns, rates_bps = _of_links(scenario, "delay_ns"), _of_links(scenario, "rate_bps")
    rtts = []
    for run in runs_of_rows(scenario["flows"]):
        flow = run.first
        ack_bits = 8 * flow["stack"]["header_bytes"]
        hops = [(links, ack_bits + 8 * flow["payload_bytes"]) for links in _paths(run, "path").T]
        hops += [(links, ack_bits) for links in _paths(run, "reverse_path").T]
        crossed = sum(delays_ns[links] + 1e9 * bits / rates_bps[links] for links, bits in hops)
        rtts.append((crossed + flow["return_delay_ns"]) / 1e6)
    return np.concatenate(rtts)


def _of_links(scenario: ScenarioJson, key: Literal["rate_bps", "delay_ns"]) -> Numbers:
    """A number of each link."""
    import numpy as np

    runs = runs_of_rows(scenario["links"])
    return np.concatenate([np.full(run.length, run.first[key], np.int64) for run in runs])


def _paths(run: Run[FlowJson], key: Literal["path", "reverse_path"]) -> Numbers:
    """The links that the flows of a run cross, a row for each flow."""
    import numpy as np

    first = np.array(run.first.get(key, ()), int)
    step = np.array(run.step.get(key, np.zeros_like(first)), int)
    paths: Numbers = first + np.arange(run.length)[:, None] * step
    return paths


def bottleneck(scenario: ScenarioJson) -> tuple[int, int | None, float]:
    """The first flow's slowest link: rate in bits/s, buffer in its packets (None: no limit), PER."""
    slowest = bottleneck_link(scenario, 0)
    buffer = slowest["buffer_pkts"]
    if buffer is None and "buffer_bytes" in slowest:
        buffer = slowest["buffer_bytes"] // _packet_bytes(scenario)
    return slowest["rate_bps"], buffer, slowest["per"]


def _packet_bytes(scenario: ScenarioJson) -> int:
    """A packet of the first flow on the wire."""
    flow = scenario["flows"][0]
    return int(flow["payload_bytes"] + flow["stack"]["header_bytes"])


def rtt_ms(scenario: ScenarioJson) -> float:
    """The first flow's delays, both ways."""
    flow = scenario["flows"][0]
    there, back = (
        sum(int(scenario["links"][link]["delay_ns"]) for link in path)
        for path in (flow["path"], flow.get("reverse_path", []))
    )
    return (there + back + flow["return_delay_ns"]) / 1e6 if back else 2 * there / 1e6


def bdp_pkts(scenario: ScenarioJson) -> float:
    """Bandwidth-delay product of the first flow."""
    rate_bps, _, _ = bottleneck(scenario)
    return float(rate_bps * rtt_ms(scenario) / 8e3 / _packet_bytes(scenario))


def shared_facts(scenarios: Sequence[ScenarioJson]) -> list[str]:
    """The facts that all the scenarios share, a few words each."""

    def facts(scenario: ScenarioJson) -> list[str]:
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
