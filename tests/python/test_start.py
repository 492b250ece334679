"""Imports of the command and the package: no more than what is asked for needs."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

import cwnd
from cwnd._cli import commands

HEAVY = {"matplotlib", "numpy", "polars", "rich"}

#: Runs the command, and writes what it has imported as the last line of standard error.
COMMAND = """
import atexit, json, sys
atexit.register(lambda: print(json.dumps(list(sys.modules)), file=sys.stderr))
from cwnd._cli.main import main
main()
"""

#: Interrupts the command when it imports the first argument.
INTERRUPTED = """
import signal, sys
interrupted = sys.argv.pop(1)
class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == interrupted:
            signal.raise_signal(signal.SIGINT)
sys.meta_path.insert(0, Finder())
from cwnd._cli.main import main
main()
"""

RUN = ("run", "--cca", "reno", "--rate", "10Mbps", "--delay", "10ms", "--duration", "1s")


def python(code: str, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code, *arguments],
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def imported(*arguments: str, **variables: str) -> set[str]:
    """The modules that a call of the command imports."""
    done = python(COMMAND, *arguments, **variables)
    assert done.returncode == 0, done.stderr
    return set(json.loads(done.stderr.splitlines()[-1]))


def completed(line: str) -> set[str]:
    """The modules that bash's completion of the last word imports."""
    asked: Mapping[str, str] = {
        "_CWND_COMPLETE": "bash_complete",
        "COMP_WORDS": line,
        "COMP_CWORD": str(len(line.split()) - 1),
    }
    return imported(**asked)


def parts(modules: set[str]) -> set[str]:
    """The parts of the package among the modules."""
    return {module.split(".")[1] for module in modules if module.startswith("cwnd.")}


def test_importing_cwnd_imports_nothing_else_of_it() -> None:
    done = python("import json, sys, cwnd; print(json.dumps(list(sys.modules)))")
    modules = set(json.loads(done.stdout))
    assert {name for name in modules if name.startswith("cwnd")} == {"cwnd"}
    assert not modules & {*HEAVY, "click", "typing"}


def test_the_version_is_printed_without_click() -> None:
    modules = imported("--version")
    assert {name for name in modules if name.startswith("cwnd.")} == {
        "cwnd._cli",
        "cwnd._cli.main",
        "cwnd._cwnd",
    }
    assert not modules & {*HEAVY, "click", "typing"}


def test_click_prints_the_same_version() -> None:
    printed = CliRunner().invoke(commands.cli, ["--version"]).output
    assert printed == f"cwnd {cwnd.__version__}\n" == python(COMMAND, "--version").stdout


@pytest.mark.parametrize("arguments", [("--help",), (), ("completion", "bash")])
def test_help_and_completion_import_no_other_command(arguments: tuple[str, ...]) -> None:
    modules = imported(*arguments)
    assert parts(modules) == {"_cli", "_common", "_cwnd"}
    own = {name.removeprefix("cwnd._cli.") for name in modules if name.startswith("cwnd._cli.")}
    assert own == {"commands", "completion", "main"}
    assert not modules & HEAVY


@pytest.mark.parametrize(
    "more",
    [
        (),
        ("--flows", "3", "--repeat", "2", "--size", "50KB"),
        ("--flows", "5000", "--duration", "10ms", "--samples", "off"),
    ],
    ids=["one flow", "a table of flows and transfers", "thousands of flows and a note on slow start"],
)
def test_a_run_without_out_imports_no_tables_no_figures_and_nothing_of_other_commands(
    more: tuple[str, ...],
) -> None:
    modules = imported(*RUN, *more)
    assert modules & HEAVY == {"rich"}
    assert parts(modules) == {"_cli", "_common", "_cwnd", "_results", "_run", "_scenario", "_worlds"}
    assert not modules & {"cwnd._run.sweep", "cwnd._run.store", "cwnd._results.directory", "hashlib"}


@pytest.mark.parametrize(
    "line", ["cwnd ru", "cwnd run --queue fq", "cwnd run --cca el", "cwnd compare --on li"]
)
def test_completing_a_word_imports_no_heavy_library(line: str) -> None:
    modules = completed(line)
    assert not modules & HEAVY
    assert not parts(modules) & {"_advise", "_evaluate", "_reproduce"}


@pytest.mark.parametrize(
    "module",
    [
        "cwnd._cwnd",
        "cwnd._common.errors",
        "click",
        "cwnd._cli.run",
        "cwnd._run.run",
        "cwnd._results.results",
        "rich.console",
    ],
)
def test_an_interrupt_during_an_import_is_one_line(module: str) -> None:
    done = python(INTERRUPTED, module, *RUN)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "cwnd: interrupted\n")


def test_a_type_checker_and_the_interpreter_find_the_public_names_in_the_same_modules() -> None:
    (checked,) = (
        node
        for node in ast.parse(Path(cwnd.__file__).read_text()).body
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
    )
    found = {}
    for node in checked.body:
        assert isinstance(node, ast.ImportFrom) and node.module is not None
        for alias in node.names:
            inside = node.module == "cwnd"
            found[alias.name] = f"cwnd.{alias.name}" if inside else node.module
    assert found == cwnd._MODULES
    assert {*found, "Error", "__version__"} == set(cwnd.__all__)


def test_everything_public_is_loaded_when_it_is_asked_for() -> None:
    code = "from cwnd import *; import cwnd; print(*(name for name in cwnd.__all__ if name in globals()))"
    assert python(code).stdout.split() == cwnd.__all__
    for name in cwnd.__all__:
        assert getattr(cwnd, name) is vars(cwnd)[name]
    with pytest.raises(AttributeError, match="module 'cwnd' has no attribute 'rum'"):
        cwnd.rum()  # type: ignore[operator]


def test_every_command_is_listed() -> None:
    folder = Path(commands.__file__).parent
    modules = [import_module(f"cwnd._cli.{file.stem}") for file in folder.glob("[!_]*.py")]
    there = {
        one.name
        for module in modules
        for name, one in vars(module).items()
        if name.endswith("_command") and isinstance(one, click.Command)
    }
    assert there == set(commands.cli.commands) == {one.name for one in commands.cli.commands.values()}
    assert list(commands.cli.commands) == sorted(there)


def test_the_help_has_every_command_with_its_own_words() -> None:
    context = click.Context(commands.cli, info_name="cwnd")
    formatter = context.make_formatter()
    commands.cli.format_commands(context, formatter)
    shown = " ".join(formatter.getvalue().split())
    for name, command in commands.cli.commands.items():
        assert f" {name} {command.get_short_help_str(limit=200)}" in f" {shown}", name
