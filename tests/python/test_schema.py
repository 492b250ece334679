"""The JSON Schema of scenarios, for editors: beside the reader, and the scenarios that come with it."""

from __future__ import annotations

import json
import runpy
import sys
from pathlib import Path

import jsonschema
import pytest

import cwnd
from cwnd import _cwnd
from cwnd._cli import options

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parents[2]
SCHEMA = json.loads((ROOT / "docs" / "scenario.schema.json").read_text())
WRITTEN = runpy.run_path(str(ROOT / "tools" / "keys.py"))
JUDGE = jsonschema.Draft202012Validator(SCHEMA)
SCENARIOS = [
    path
    for folder in ("scenarios", "papers")
    for path in sorted((ROOT / folder).rglob("*.toml"))
    if path.name != "paper.toml"
]
SHORT = '[dumbbell]\nrate = "1 Gbps"\ndelay = "10 ms"\nbuffer = 100\n[[flows]]\ncca = "reno"\n'


@pytest.mark.parametrize("path", SCENARIOS, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_every_ready_scenario_is_valid(path: Path) -> None:
    JUDGE.validate(tomllib.loads(path.read_text()))


def test_the_schema_and_the_reference_are_what_the_table_of_keys_makes() -> None:
    assert WRITTEN["SCHEMA"].read_text() == WRITTEN["schema"](), "stale: run 'make docs'"
    text = WRITTEN["REFERENCE"].read_text()
    assert text == WRITTEN["reference"](text), "stale: run 'make docs'"


def test_the_reference_has_every_table_of_keys() -> None:
    assert WRITTEN["missing"](WRITTEN["REFERENCE"].read_text()) == []
    assert "stack" in WRITTEN["missing"]("<!-- keys scenario -->\n<!-- end -->")


def test_the_help_has_the_names_that_a_key_accepts() -> None:
    names = _cwnd.choices("queue")
    assert "fq-codel" in names and all(name in options.flag_help("queue") for name in names)
    with pytest.raises(cwnd.Error, match="has no list of names; did you mean 'queue'"):
        _cwnd.choices("queues")


@pytest.mark.parametrize(
    ("wrong", "place"),
    [
        ('durration = "1 s"\n' + SHORT, []),
        (SHORT.replace("buffer", "bufer"), ["dumbbell"]),
        (SHORT + "counts = 2\n", ["flows", 0]),
        (SHORT.replace('"1 Gbps"', '"1 Gps"'), ["dumbbell", "rate"]),
        (SHORT.replace('"10 ms"', "10"), ["dumbbell", "delay"]),
        (SHORT + 'stack = { recovry = "sack" }\n', ["flows", 0, "stack"]),
        (SHORT.replace("[[flows]]", 'queue = "fq_codel"\n[[flows]]'), ["dumbbell", "queue"]),
        (
            SHORT.replace("[[flows]]", 'queue = { discipline = "pie", step = "1 ms" }\n[[flows]]'),
            ["dumbbell", "queue"],
        ),
        (SHORT + "[[chain]]\n", []),
    ],
)
def test_what_the_reader_refuses_the_schema_refuses_there(wrong: str, place: list[str | int]) -> None:
    assert JUDGE.is_valid(tomllib.loads(SHORT)) and cwnd.Scenario.parse(SHORT)
    with pytest.raises(cwnd.Error):
        cwnd.Scenario.parse(wrong)
    assert place in [list(error.absolute_path) for error in JUDGE.iter_errors(tomllib.loads(wrong))]
