"""Each tutorial runs in an empty directory, and prints what the page shows.

CWND_BIN=FOLDER: with the `cwnd` and the `python` of that folder, in place of those that run the tests.
"""

from __future__ import annotations

import doctest
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

TUTORIALS = Path(__file__).parents[2] / "docs" / "tutorials"
BIN = Path(os.environ.get("CWND_BIN") or Path(sys.executable).parent)
#: "Save this as `NAME`:" and the block behind it; or a block of commands.
STEP = re.compile(
    r"Save this as `(?P<name>[\w.-]+)`:\n\n```\w+\n(?P<text>.*?)^```$|^```console\n(?P<session>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
#: In an output `...` stands for what differs: the time that a run took, what a machine's kernel has.
COMPARE = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def sessions(text: str) -> Iterator[tuple[str, str]]:
    """The commands of a block, each with the output that the page shows."""
    for command in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        line, _, output = command.partition("\n")
        yield line, output


def follow(page: Path, folder: Path) -> Iterator[tuple[str, str, str]]:
    """Does what the page says: each command with what the page shows and what it printed."""
    path = f"{BIN}{os.pathsep}{os.environ['PATH']}"
    for step in STEP.finditer(page.read_text()):
        if step["name"]:
            (folder / step["name"]).write_text(step["text"])
            continue
        for command, shown in sessions(step["session"]):
            done = subprocess.run(
                ["bash", "-c", command],
                cwd=folder,
                env={**os.environ, "PATH": path},
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
            )
            assert done.returncode in (0, 1), f"{command}: {done.stdout}"
            yield command, shown, done.stdout


@pytest.mark.parametrize(
    "page",
    [
        pytest.param("researcher", marks=pytest.mark.slow),
        pytest.param("engineer", marks=pytest.mark.slow),
        pytest.param("stack-developer", marks=[pytest.mark.slow, pytest.mark.quic]),
        "teacher",
    ],
)
def test_a_tutorial_shows_what_its_commands_print(page: str, tmp_path: Path) -> None:
    judge = doctest.OutputChecker()
    found = 0
    for command, shown, printed in follow(TUTORIALS / f"{page}.md", tmp_path):
        assert judge.check_output(shown, printed, COMPARE), f"$ {command}\n{printed}"
        found += 1
    assert found >= 3


def test_every_tutorial_ends_with_where_to_go_on() -> None:
    pages = sorted(TUTORIALS.glob("*.md"))
    assert len(pages) == 4
    for page in pages:
        *_, last = page.read_text().split("\n## ")
        assert last.startswith("Where to go on\n") and last.count("](") >= 3, page.name
