"""Statements of papers/elastic-tcp/README.md about this repository's own files."""

import re
from pathlib import Path

from cwnd._reproduce import measure
from cwnd._reproduce import paper as paper_reader

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
    assert sorted(ours, key=ours.__getitem__) == sorted(published, key=published.__getitem__)


def test_every_published_number_belongs_to_an_item_and_a_point() -> None:
    paper = paper_reader.load("elastic-tcp")
    metrics = {(item.published, metric) for item in paper.items.values() for metric in item.metrics}
    assert {(row["item"], row["metric"]) for row in paper.published} <= metrics
    selection = measure.select(paper)
    points = [point.values for point in measure.plan(selection).points]
    of_item = {(item.published, metric): item for item in paper.items.values() for metric in item.metrics}
    for row in paper.published:
        item = of_item[row["item"], row["metric"]]
        wanted = {"experiment": item.experiment, "variant": row["cca"], "reading": None, **item.at}
        if row["buffer_pkts"] and item.experiment != "mixed":
            # On the testbed the buffer is that of the end systems.
            hosts = item.experiment.startswith("testbed")
            wanted["dumbbell.access.buffer" if hosts else "dumbbell.buffer"] = int(row["buffer_pkts"])
        assert any(wanted.items() <= values.items() for values in points), row


def test_a_reading_keeps_the_points_of_its_items_that_it_does_not_change() -> None:
    paper = paper_reader.load("elastic-tcp")
    points = [point.values for point in measure.plan(measure.select(paper, ["table4"])).points]
    four = [values for values in points if values["reading"] == "four-flows"]
    assert {values["dumbbell.access.buffer"] for values in four} == {128}
    assert sorted({values["dumbbell.buffer"] for values in four}) == [
        50,
        100,
        200,
        400,
        800,
        1600,
        3200,
        6400,
    ]
    jitter = [point.values for point in measure.plan(measure.select(paper, ["fig12a"])).points]
    assert {v["dumbbell.buffer"] for v in jitter if v["reading"] == "jitter"} == {50, 100, 200}
