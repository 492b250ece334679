"""What papers/elastic-tcp/README.md says of this repository's own files."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]


def code_lines(path: Path) -> int:
    """Lines that hold something besides comments and blanks."""
    text = re.sub(r"/\*.*?\*/", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
    return sum(bool(line.strip()) for line in text.splitlines())


def test_the_code_lines_beside_table_2_are_those_of_the_headers() -> None:
    readme = (ROOT / "papers/elastic-tcp/README.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| \[([a-z-]+)\]\(\S+\) \| (\d+) \| (\d+) \|$", readme, flags=re.MULTILINE)
    published = {"bbr": 553, "cubic": 342, "compound": 219, "elastic": 149, "agile-sd": 115}
    assert {name: int(lines) for name, lines, _ in rows} == published
    ours = {name: code_lines(ROOT / f"algorithms/{name.replace('-', '_')}.h") for name in published}
    assert {name: int(lines) for name, _, lines in rows} == ours
