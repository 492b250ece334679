"""Names that tables and figures show: the labels of a scenario, and a class by its own name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, TypeVar, cast

from cwnd._common.rows import Rows, distinct_algorithms, runs_of_rows

if TYPE_CHECKING:
    from cwnd._common.shapes import FlowJson, ScenarioJson

_Row = TypeVar("_Row", bound=Mapping[str, object])


def scenario_label(scenario: ScenarioJson) -> str:
    """The label of a scenario, else its name."""
    return str(scenario.get("label") or scenario["name"])


def shown_names(scenarios: Sequence[ScenarioJson]) -> dict[str, str]:
    """The name that is shown for each algorithm without a label: of FILE.py:CLASS the class, if it is one."""
    written = {name for scenario in scenarios for name in distinct_algorithms(scenario)}
    classes = {name: name.rpartition(".py:")[2] for name in written if ".py:" in name}
    taken = [*classes.values(), *(written - classes.keys())]
    return {
        name: classes.get(name, name) if taken.count(classes.get(name, name)) == 1 else name
        for name in written
    }


def labelled(scenarios: Sequence[ScenarioJson]) -> list[ScenarioJson]:
    """The scenarios with the shown name of each flow's algorithm as `name`, and as `written` what it was."""
    shown = shown_names(scenarios)
    return [_labelled(scenario, shown) for scenario in scenarios]


def flow_names(scenario: ScenarioJson) -> list[str]:
    """The shown name of each flow."""
    (own,) = labelled([scenario])
    return [name for run in runs_of_rows(own["flows"]) for name in [run.first["cca"]["name"]] * run.length]


def _labelled(scenario: ScenarioJson, shown: dict[str, str]) -> ScenarioJson:
    flows = scenario["flows"]
    firsts = [run.first for run in runs_of_rows(flows)]
    if all("label" not in flow and shown[flow["cca"]["name"]] == flow["cca"]["name"] for flow in firsts):
        return scenario
    copied = scenario.copy()
    if isinstance(flows, Rows):
        entries = [
            {**entry, "first": _named(entry["first"], shown)} if "first" in entry else _named(entry, shown)
            for entry in flows.entries
        ]
        copied["flows"] = Rows(cast("Sequence[FlowJson]", entries))
    else:
        copied["flows"] = [_named(flow, shown) for flow in flows]
    return copied


def _named(row: _Row, shown: dict[str, str]) -> _Row:
    flow = cast("FlowJson", row)
    written = flow["cca"]["name"]
    cca = {**flow["cca"], "name": flow.get("label", shown[written]), "written": written}
    return cast("_Row", {**flow, "cca": cca})
