"""Files of a student: the scenarios, and the file to fill in and to hand in."""

from __future__ import annotations

from cwnd._cwnd import __version__
from cwnd._homework.assignment import Assignment, Flow, Pane, Question, collapse, file_stem


def homework_files(assignment: Assignment, name: str) -> dict[str, str]:
    """The texts of the file to hand in and of the scenarios, by file name."""
    hand_in = f"{file_stem(assignment.name, name)}.txt"
    return {hand_in: answer_file(assignment, name), **scenario_files(assignment, name)}


def scenario_files(assignment: Assignment, name: str) -> dict[str, str]:
    """The texts of the scenarios, by file name."""
    stem = file_stem(assignment.name, name)
    return {f"{stem}-{key}.toml": scenario_toml(pane) for key, pane in assignment.panes(name).items()}


def scenario_toml(pane: Pane) -> str:
    """The text of a scenario, as the lab writes it (lab/src/scenario.js)."""
    lines = [f'duration = "{_number(pane["duration"])} s"', "samples = 500"]
    if "seed" in pane:
        lines.append(f"seed = {pane['seed']}")
    lines += ["", "[dumbbell]", f'rate = "{_number(pane["rate"])} Mbps"']
    lines += [f'rtt = "{_number(pane["rtt"])} ms"', f'buffer = "{_number(pane["buffer"])} BDP"']
    if "queue" in pane:
        lines.append(f'queue = "{pane["queue"]}"')
    if "loss" in pane:
        lines.append(f'loss = "{_number(pane["loss"])}%"')
    for flow in pane["flows"]:
        lines += ["", "[[flows]]", *_flow_lines(flow)]
    return "\n".join(lines) + "\n"


def _flow_lines(flow: Flow) -> list[str]:
    lines = [f'cca = "{flow["cca"]}"']
    if "label" in flow:
        lines.append(f'label = "{flow["label"]}"')
    if "count" in flow:
        lines.append(f"count = {flow['count']}")
    if "start" in flow:
        lines.append(f'start = "{_number(flow["start"])} s"')
    if "spread" in flow:
        lines.append(f'start_jitter = "{_number(flow["spread"])} s"')
    if "size" in flow:
        lines.append(f'size = "{_number(flow["size"])} MB"')
    if "farther" in flow:
        lines.append(f'access_delay = "{_number(flow["farther"] / 4)} ms"')
    return lines


def _number(value: float) -> str:
    return f"{value:.6g}"


def answer_file(assignment: Assignment, name: str) -> str:
    """The text of the file to hand in, without answers."""
    stem = file_stem(assignment.name, name)
    commands = [f"#   cwnd run {stem}-{key}.toml" for key in assignment.scenarios]
    lines = [
        f"# {assignment.title}",
        f"# {assignment.about}",
        "# Write each answer behind its =, a number alone, and hand in this file.",
        "# Your scenarios are in the lab, under your name and this homework. With the command:",
        *commands,
        "",
        f"homework = {assignment.name}",
        f"name = {collapse(name)}",
        f"version = {__version__}",
    ]
    for number, question in enumerate(assignment.questions, 1):
        lines += ["", f"# {number}. {question.text}", f"# {accepted(question)}", f"{question.key} ="]
    return "\n".join(lines) + "\n"


def accepted(question: Question) -> str:
    """The unit and the tolerance in words."""
    unit = f"In {question.unit}" if question.unit else "A ratio"
    if not question.tolerance_percent:
        return f"{unit}, exactly."
    return f"{unit}, within {question.tolerance_percent:g} %."
