"""The docs: pages that are made from the headers, and examples that run."""

from __future__ import annotations

import json
import re
import runpy
import shlex
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click
import jsonschema
import pytest

import cwnd
from cwnd._cli.commands import cli

if TYPE_CHECKING:
    from playwright.sync_api import Browser

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parents[2]
PAGES = ROOT / "docs" / "algorithms"
#: Every page that people write, and those of the algorithms.
PROSE = [str(path.relative_to(ROOT)) for path in sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])]
SCHEMA = json.loads((ROOT / "docs" / "scenario.schema.json").read_text())


def test_the_pages_of_the_algorithms_are_up_to_date() -> None:
    made = runpy.run_path(str(PAGES / "generate.py"))["pages"]()
    assert set(made) == {path.name for path in PAGES.glob("*.md")}
    stale = [name for name, text in made.items() if (PAGES / name).read_text() != text]
    assert not stale, "stale: run 'make docs'"


def test_the_algorithms_proved_properties_add_up_to_those_of_all() -> None:
    shown = re.findall(r"\[(\d+) of (\d+)\]\(\.\./proofs\.md\)", (PAGES / "README.md").read_text())
    proved, cells = (sum(map(int, column)) for column in zip(*shown, strict=True))
    said = f"{cells} cells of {len(shown)} headers (a property of a hook): {proved} proved"
    assert said in (ROOT / "docs" / "proofs.md").read_text()


def test_every_algorithm_has_a_page_with_its_equations_and_parameters() -> None:
    for algorithm in cwnd.algorithms():
        page = (PAGES / f"{algorithm['name']}.md").read_text()
        assert page.startswith(f"# {algorithm['title']}\n")
        assert all(f"| `{param['name']}` |" in page for param in algorithm["params"])
        assert page.count("```") % 2 == 0 and page.count("```") >= 2


def blocks(page: str, kind: str) -> list[str]:
    """The fenced blocks of this kind in a page of the docs."""
    text = (PAGES.parents[1] / page).read_text()
    return re.findall(rf"^```{kind}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def test_the_first_scenario_of_the_guide_has_nine_lines_and_runs() -> None:
    first = blocks("docs/guide.md", "toml")[0]
    assert first.count("\n") == 9
    results = cwnd.run(cwnd.Scenario.parse(first.replace("60 s", "5 s")))
    assert results.flows.height == 2


def test_the_reference_has_every_key_of_a_scenario_with_its_default() -> None:
    every_key, *_ = blocks("docs/reference.md", "toml")
    written = cwnd.Scenario.parse(every_key, "elastic-single").to_dict()
    short = '[dumbbell]\nrate = "1 Gbps"\ndelay = "100 ms"\nbuffer = 6400\n[[flows]]\ncca = "elastic"\n'
    defaults = cwnd.Scenario.parse(short, "elastic-single").to_dict()
    for flow in (written["flows"][0], defaults["flows"][0]):
        flow.pop("app_rate_bps"), flow.pop("on_off_ns")
    assert written == defaults


@pytest.mark.slow
def test_the_python_of_the_guide_and_the_readme_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for page in ("README.md", "docs/guide.md"):
        names: dict[str, object] = {}
        for code in blocks(page, "python"):
            exec(compile(code, page, "exec"), names)
    assert (tmp_path / "cwnd.png").exists() and (tmp_path / "saved" / "manifest.json").exists()


def test_every_command_of_the_docs_is_one() -> None:
    found = 0
    for page in PROSE:
        for block in blocks(page, "console"):
            for line in re.findall(r"^\$ (?:sudo )?cwnd ([^#\n]*)", block, re.MULTILINE):
                context, words = cli, shlex.split(line)
                while isinstance(context, click.Group):
                    context = context.commands[words.pop(0)]  # type: ignore[assignment]
                context.make_parser(click.Context(context)).parse_args(words)
                found += 1
    assert found > 50


def test_every_python_block_of_the_docs_compiles() -> None:
    found = [compile(code, page, "exec") for page in PROSE for code in blocks(page, "python")]
    assert len(found) > 8


def test_every_toml_block_of_the_docs_is_a_scenario_or_lines_of_one() -> None:
    """A block without tables shows keys one by one, some in several ways."""
    places = [SCHEMA["$defs"][name]["properties"] for name in ("dumbbell", "flows")]
    scenarios = lines = 0
    for page in PROSE:
        for block in blocks(page, "toml"):
            if re.search(r"^\[", block, re.MULTILINE):
                table = tomllib.loads(block)
                if "flows" in table and "dumbbell" in table:
                    jsonschema.validate(table, SCHEMA)
                    scenarios += 1
                continue
            for line in block.splitlines():
                for key, value in tomllib.loads(line).items():
                    ways = [{"$defs": SCHEMA["$defs"], **place[key]} for place in places if key in place]
                    judges = [jsonschema.Draft202012Validator(way) for way in ways]
                    assert any(judge.is_valid(value) for judge in judges), f"{page}: {line}"
                    lines += 1
    assert scenarios >= 5 and lines > 20


def test_every_link_of_the_docs_leads_to_a_file() -> None:
    found = 0
    for page in PROSE:
        path = ROOT / page
        for target in re.findall(
            r"\]\(([^)#\s]+)", re.sub(r"```.*?```", "", path.read_text(), flags=re.DOTALL)
        ):
            if not re.match(r"https?:|mailto:", target):
                assert (path.parent / target).exists(), f"{page}: {target}"
                found += 1
    assert found > 200


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--strict", "--site-dir", str(folder)]
    built = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert built.returncode == 0, built.stderr
    return folder


@pytest.mark.slow
def test_the_site_has_no_broken_link_or_anchor_and_nothing_from_elsewhere(site: Path) -> None:
    assert "cwnd gate" in (site / "docs" / "cli.html").read_text()
    assert "CongestionControl" in (site / "docs" / "api.html").read_text()
    if (ROOT / "python" / "cwnd" / "_web" / "lab.html").exists():
        assert '<iframe src="../lab.html" title=' in (site / "docs" / "lab.html").read_text()
        assert (site / "lab.html").exists()
    elsewhere = re.compile(r'<(?:script|link|img|iframe)[^>]*(?:src|href)="?https?://')
    assert not [page for page in site.rglob("*.html") if elsewhere.search(page.read_text())]


@pytest.mark.browser
def test_the_site_is_searched_from_a_folder_without_a_server_or_a_network(
    browser: Browser, site: Path
) -> None:
    context = browser.new_context(viewport={"width": 1300, "height": 900}, offline=True)
    page = context.new_page()
    page.goto((site / "docs" / "guide.html").as_uri())
    page.fill(".md-search__input", "slow start")
    page.wait_for_selector(".md-search-result__item")
    found = page.eval_on_selector_all(".md-search-result__link", "all => all.map(each => each.href)")
    assert any(link.split("?")[0] == (site / "docs" / "slow-start.html").as_uri() for link in found), found
    context.close()


def test_the_architecture_names_files_that_exist() -> None:
    root = PAGES.parents[1]
    named = re.findall(r"`((?:[\w.-]+/)+[\w.-]+\.\w+)`", (root / "ARCHITECTURE.md").read_text())
    missing = [path for path in named if not (root / path).exists()]
    assert not missing
    assert len(named) > 40
