"""Needs of a release: one version, actions pinned, manual pages of every command."""

from __future__ import annotations

import re
import runpy
from importlib.metadata import version
from pathlib import Path

import click

import cwnd
from cwnd._cli.commands import cli

ROOT = Path(__file__).parents[2]


def found(pattern: str, *files: str) -> list[str]:
    return [match for file in files for match in re.findall(pattern, (ROOT / file).read_text(), re.MULTILINE)]


def test_the_version_is_the_same_everywhere() -> None:
    [written] = found(r'^version = "(.*?)"', "Cargo.toml")
    assert cwnd.__version__ == version("cwnd") == written
    others = [
        *found(r'^cwnd-\w+ = .*version = "(.*?)"', "Cargo.toml"),
        *found(r"^version: (.*)", "CITATION.cff"),
        *found(r"cwnd-quic==([\d.]+)", "pyproject.toml"),
        *found(r"cwnd[-/](\d+\.\d+\.\d+)", "docs/kernel.md"),
    ]
    assert found(r'cwnd-quic = { version = "(.*?)"', "docs/quic.md") == [written.rpartition(".")[0]]
    assert len(others) > 7 and set(others) == {written}
    unreleased, *released = found(r"^## (.*)", "CHANGELOG.md")
    assert unreleased == "Unreleased" and released[0].startswith(f"{written} - ")
    assert all(re.fullmatch(r"\d+\.\d+\.\d+ - \d{4}-\d{2}-\d{2}", heading) for heading in released)


def test_every_action_is_pinned_by_its_commit() -> None:
    workflows = [str(path) for path in (ROOT / ".github").rglob("*.yml")]
    used = [name for name in found(r"uses: (.*)", *workflows) if not name.startswith("./")]
    assert len(used) > 10
    assert all(re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40} # v[\d.]+", name) for name in used), used


def test_every_command_has_a_manual_page_with_its_options_and_examples() -> None:
    pages = runpy.run_path(str(ROOT / "docs" / "man" / "generate.py"))["pages"]()
    names = {"cwnd.1", *(f"cwnd-{name}.1" for name in cli.commands)}
    assert names < set(pages) and "cwnd-kernel-load.1" in pages
    for option in cli.commands["run"].params:
        if isinstance(option, click.Option):
            assert option.opts[0].replace("-", "\\-") in pages["cwnd-run.1"]
    assert "\n.SH EXAMPLES\n.nf\ncwnd run scenarios/elastic\\-single.toml\n" in pages["cwnd-run.1"]
    for heading in ("EXAMPLES", "EXIT STATUS", "FILES", "ENVIRONMENT"):
        assert all(f"\n.SH {heading}\n" in pages[name] for name in ("cwnd.1", "cwnd-run.1", "cwnd-advise.1"))
    assert not [line for text in pages.values() for line in text.splitlines() if line.startswith("'")]
