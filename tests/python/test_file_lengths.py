"""Source files can be read at one sitting; ARCHITECTURE.md names the longer ones, each with its reason."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LINES_MAX = 600
SOURCES = {".rs", ".py", ".pyi", ".c", ".cc", ".h", ".sh", ".tcl"}


def source_files() -> list[Path]:
    """The sources of the repository; what git ignores is not ours."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    if listed.returncode != 0:
        pytest.skip("not a checkout of the repository")
    files = [ROOT / name for name in listed.stdout.split("\0") if Path(name).suffix in SOURCES]
    return [file for file in files if file.is_file()]


def named_files() -> set[str]:
    """The files that ARCHITECTURE.md allows to be longer."""
    text = (ROOT / "ARCHITECTURE.md").read_text()
    (section,) = re.findall(r"^## Files above 600 lines\n(.*?)(?=^## )", text, re.MULTILINE | re.DOTALL)
    return set(re.findall(r"^- `([^`]+)`:", section, re.MULTILINE))


def test_a_source_file_above_600_lines_is_named_in_architecture_and_no_other() -> None:
    lines = {str(file.relative_to(ROOT)): len(file.read_text().splitlines()) for file in source_files()}
    assert len(lines) > 200
    assert {name for name, count in lines.items() if count > LINES_MAX} == named_files()
