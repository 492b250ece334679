"""Comments and docstrings begin with what they describe, so that each stands alone in a list of names."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[2]
#: First words that stand for a noun which the reader of a single comment does not see.
_WORDS = r"(What|Whether|Of|The same)\b"
_RUST = re.compile(rf"^\s*//[/!] {_WORDS}", re.MULTILINE)
_PYTHON = re.compile(rf'^\s*(r?"""|#:? ){_WORDS}', re.MULTILINE)


def test_no_comment_begins_with_a_word_that_stands_for_another() -> None:
    files = subprocess.run(
        ["git", "ls-files", "*.rs", "*.py", "*.pyi"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.split()
    assert len(files) > 300
    found = []
    for file in files:
        pattern = _RUST if file.endswith(".rs") else _PYTHON
        text = (ROOT / file).read_text()
        found += [f"{file}:{text[: match.end()].count(chr(10)) + 1}" for match in pattern.finditer(text)]
    assert not found
