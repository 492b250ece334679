"""`cwnd show`."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING

import click

from cwnd._cli.options import Flag, GroupedCommand, flag_errors, read_changes, read_scenarios, scenario_flags
from cwnd._cli.tables import new_table, open_console
from cwnd._common.text import digits, exponent, rate

if TYPE_CHECKING:
    from cwnd._common.shapes import (
        CcaJson,
        Described,
        DescribedFlow,
        DescribedLink,
        QueueJson,
        SizeJson,
        TrafficJson,
    )


@click.command("show", cls=GroupedCommand)
@click.argument("files", nargs=-1, metavar="[FILE]...")
@scenario_flags
@click.option("--json", "as_json", is_flag=True, help="Print it as one JSON object.")
def show_command(files: tuple[str, ...], as_json: bool, **flags: Flag) -> None:
    """Show scenario FILEs, or the dumbbell that the flags describe, without a run."""
    changes = read_changes(files, flags)
    scenarios = read_scenarios(files, flags)
    with flag_errors():
        scenarios = [scenario._replace(**changes) for scenario in scenarios]
    described = [scenario.describe() for scenario in scenarios]
    if as_json:
        click.echo(json.dumps(described[0] if len(described) == 1 else {"scenarios": described}))
        return
    for scenario in described:
        _print_scenario(scenario)


def _print_scenario(shown: Described) -> None:
    asked = shown["samples"]
    samples = asked if isinstance(asked, str) else f"every {digits(asked['interval']['interval_ns'] / 1e9)} s"
    samples += " by group" * (isinstance(asked, dict) and "sample_groups" in shown)
    clock = ", the clock of ns-2" if shown["clock"] == "ns2" else ""
    end = ", as of the last arrival" if shown["end"] == "last-arrival" else ""
    seeds = f"seed {shown['seed']}"
    if shown["repeat"] > 1:
        seeds = f"seeds {shown['seed']} to {shown['seed'] + shown['repeat'] - 1}"
    console = open_console()
    links = new_table(
        "link",
        ">count",
        ">rate",
        ">delay ms",
        ">buffer",
        ">buffer BDP",
        ">buffer ms",
        ">PER",
        ">ECN above",
        title=f"{shown['name']}: {digits(shown['duration_s'])} s, {seeds}, samples {samples}{clock}{end}",
    )
    for link in shown["links"]:
        links.add_row(
            link["name"],
            str(link["count"]),
            rate(link["rate_bps"]),
            digits(link["delay_ms"]),
            _buffer(link),
            digits(link["buffer_bdp"]),
            digits(link["buffer_ms"]),
            exponent(link["per"]),
            "" if link["ecn_threshold_pkts"] is None else str(link["ecn_threshold_pkts"]),
        )
    console.print(links)
    for link in shown["links"]:
        if phrases := _discipline(link.get("queue")) + link.get("varies", []):
            console.print(f"{link['name']}: {'; '.join(phrases)}", highlight=False)
    flows = new_table(
        ">flow",
        "cca",
        "start s",
        "stop s",
        ">packet bytes",
        ">RTT ms",
        ">BDP packets",
        "bottleneck",
        "application",
        "stack",
    )
    for group in shown["flows"]:
        first, last = group["first"], group["first"] + group["count"] - 1
        stack = group["stack"]
        flows.add_row(
            str(first) if first == last else f"{first}..{last}",
            _named(group["cca"], group.get("label")),
            _span(group["start_s"]) + _jitter(group["start_jitter_s"]),
            _span(group["stop_s"]),
            f"{group['payload_bytes']} + {group['packet_bytes'] - group['payload_bytes']}",
            digits(group["rtt_ms"]),
            digits(group["bdp_pkts"]),
            group["bottleneck"],
            _application(group),
            f"{stack['profile']}, {stack['recovery']}" + f", ECN {stack['ecn']}" * (stack["ecn"] != "off"),
        )
    console.print(flows)
    for cca in {json.dumps(group["cca"]): group["cca"] for group in shown["flows"]}.values():
        if cca["params"]:
            listed = ", ".join(f"{name} = {value}" for name, value in cca["params"])
            console.print(f"{cca['name']}: {listed}", highlight=False)


def _named(cca: CcaJson, label: str | None) -> str:
    """The algorithm; for a label or a preset, its name with the algorithm in brackets."""
    name = label or cca["name"]
    return name if name == cca["algorithm"] else f"{name} ({cca['algorithm']})"


def _application(group: DescribedFlow) -> str:
    """Describes the data that the application of a flow writes."""
    parts = [] if group["app_rate_bps"] is None else [rate(group["app_rate_bps"])]
    if group["on_off_s"] is not None:
        on, off = map(digits, group["on_off_s"])
        parts.append(f"{on} s on, {off} s off")
    return ", ".join(parts + _traffic(group.get("traffic", {}))) or "unlimited"


def _traffic(traffic: TrafficJson) -> list[str]:
    """Sizes, arrivals and pauses, a phrase for each."""
    phrases = []
    if "size" in traffic:
        phrases.append(_size(traffic["size"]))
    if "arrivals" in traffic:
        arrivals = traffic["arrivals"]
        if "poisson" in arrivals:
            phrases.append(f"{digits(arrivals['poisson']['per_s'])} a second")
        else:
            phrases.append(f"{len(arrivals['times']['times_ns'])} arrivals")
    if "requests" in traffic:
        requests = traffic["requests"]
        between = f"{digits(requests['think_ns'] / 1e9)} s between"
        together = ", each when all flows have their responses" * ("barrier" in requests)
        phrases.append(f"{requests['count']} requests, {between}{together}")
    if "mean_on_off_ns" in traffic:
        on, off = (digits(ns / 1e9) for ns in traffic["mean_on_off_ns"])
        phrases.append(f"{on} s on, {off} s off on average")
    if "frames_per_s" in traffic:
        phrases.append(f"{traffic['frames_per_s']} frames a second")
    return phrases


def _size(size: SizeJson) -> str:
    if "fixed" in size:
        return f"{size['fixed']['bytes']} bytes"
    if "points" in size:
        return f"up to {size['points']['points'][-1][0]} bytes"
    if "lognormal" in size:
        return f"lognormal, median {digits(math.exp(size['lognormal']['mu']))} bytes"
    if "pareto" in size:
        return f"Pareto, {size['pareto']['min_bytes']} to {size['pareto']['max_bytes']} bytes"
    return f"exponential, mean {size['exponential']['mean_bytes']} bytes"


def _discipline(queue: QueueJson | None) -> list[str]:
    """The discipline with its parameters, as one phrase."""
    if queue is None:
        return []
    words = [queue["discipline"]]
    for name, value in {**queue, **queue.get("codel", {})}.items():
        if name == "discipline":
            continue
        if name.endswith("_ns") and isinstance(value, int):
            words.append(f"{name.removesuffix('_ns')} {digits(value / 1e6)} ms")
        elif name.endswith("_bytes"):
            words.append(f"{name.removesuffix('_bytes')} {value} bytes")
        elif isinstance(value, bool):
            words += [name.replace("_", " ")] * value
        elif not isinstance(value, dict):
            words.append(f"{name.replace('_', ' ')} {digits(value) if isinstance(value, float) else value}")
    return [", ".join(words)]


def _jitter(below_s: float) -> str:
    return f" + 0..{digits(below_s)}" if below_s else ""


def _span(ends: tuple[float, float]) -> str:
    first, last = map(digits, ends)
    return first if first == last else f"{first}..{last}"


def _buffer(link: DescribedLink) -> str:
    if "buffer_bytes" in link:
        return f"{link['buffer_bytes']} bytes"
    return "unlimited" if link["buffer_pkts"] is None else f"{link['buffer_pkts']} packets"
