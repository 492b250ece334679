"""Findings as files: a scenario and a figure each, and a page that lists them."""

from __future__ import annotations

import inspect
import os
from collections.abc import Sequence
from pathlib import Path as FilePath

from cwnd._attack.confirm import Confirmation
from cwnd._attack.finding import Finding
from cwnd._attack.judge import FIXED_WINDOW
from cwnd._attack.path import text
from cwnd._common.errors import one_line, os_error
from cwnd._common.files import write_file
from cwnd._run.run import run
from cwnd._scenario.scenario import Cca, Scenario, cca_name


def scenario_text(finding: Finding, cca: Cca, folder: FilePath | None = None) -> str:
    """The finding as a scenario, whose first line says what happens; a class is named by its file."""
    return f"# {finding.sentence}\n{text(finding.path, _written(cca, folder))}"


def _written(cca: Cca, folder: FilePath | None) -> str:
    if isinstance(cca, str) or folder is None:
        return cca_name(cca)
    if header := getattr(cca, "FILE", None):
        return os.path.relpath(header, folder)
    source = inspect.getsourcefile(cca)
    return cca_name(cca) if source is None else f"{os.path.relpath(source, folder)}:{cca.__name__}"


def write_findings(
    folder: FilePath,
    cca: Cca,
    findings: Sequence[Finding],
    confirmations: Sequence[Confirmation],
    as_json: str,
) -> None:
    """Writes the findings into the directory, in place of older ones."""
    try:
        for old in folder.glob("*-[0-9]*.*"):
            if old.suffix in (".toml", ".svg"):
                old.unlink()
        for finding in findings:
            write_file(folder / f"{finding.name}.toml", scenario_text(finding, cca, folder).encode())
            _draw(folder / f"{finding.name}.svg", cca, finding)
        write_file(folder / "README.md", _page(cca_name(cca), findings, confirmations).encode())
        write_file(folder / "attack.json", as_json.encode())
    except OSError as failed:
        raise os_error(f"out: {one_line(folder)}", failed) from None


def _draw(file: FilePath, cca: Cca, finding: Finding) -> None:
    """The windows of the algorithm, and of the reference where scenarios may name it."""
    if cca_name(cca) == FIXED_WINDOW:
        return
    ccas = [] if isinstance(cca, str) else [cca]
    names = list(dict.fromkeys([cca_name(cca), finding.reference]))
    panels = [name for name in names if name != FIXED_WINDOW]
    scenarios = [
        Scenario.parse(text(finding.path, name), ccas=ccas)._replace(name=f"{finding.name} {name}")
        for name in panels
    ]
    run(scenarios).plot("cwnd", file)


def _page(subject: str, findings: Sequence[Finding], confirmations: Sequence[Confirmation]) -> str:
    lines = [
        f"# Worst cases of {subject}",
        "",
        f"{len(findings)} kinds. Each is a scenario: `cwnd run FILE`. Seeds: with how many of five it fails.",
        "",
        "| file | what happens | seeds | within the bounds |",
        "|---|---|---|---|",
    ]
    for one in findings:
        within = ", ".join(one.within) or "none"
        lines.append(f"| [{one.name}]({one.name}.toml) | {one.sentence} | {len(one.seeds)}/5 | {within} |")
    lines.append("")
    if confirmations:
        lines.extend(
            ["## Other worlds", "", "| finding | world | verdict | reference |", "|---|---|---|---|"]
        )
        lines.extend(
            f"| {one.finding} | {one.world} | {one.verdict} {one.unsupported} | {one.reference} |"
            for one in confirmations
        )
        lines.append("")
    for one in findings:
        lines.extend([f"## {one.name}", "", one.sentence, "", f"![{one.name}]({one.name}.svg)", ""])
    return "\n".join(lines)
