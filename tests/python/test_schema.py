"""The JSON Schema of scenarios, for editors: beside the reader, and the scenarios that come with it."""

from __future__ import annotations

import json
import re
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
JUDGE = jsonschema.Draft202012Validator(SCHEMA)
READER = ROOT / "crates" / "scenario" / "src"
SCENARIOS = [
    path
    for folder in ("scenarios", "papers")
    for path in sorted((ROOT / folder).rglob("*.toml"))
    if path.name != "paper.toml"
]
SHORT = '[dumbbell]\nrate = "1 Gbps"\ndelay = "10 ms"\nbuffer = 100\n[[flows]]\ncca = "reno"\n'


def definition(name: str) -> dict[str, object]:
    return SCHEMA["$defs"][name]


def keys_read(file: str, constant: str) -> set[str]:
    """The keys in a constant of the reader."""
    text = (READER / file).read_text()
    found = re.search(rf"const {constant}: \[&str; [^\]]*\] =\s*\[(.*?)\];", text, re.DOTALL)
    assert found
    return set(re.findall(r'"(\w+)"', found[1]))


@pytest.mark.parametrize("path", SCENARIOS, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_every_ready_scenario_is_valid(path: Path) -> None:
    JUDGE.validate(tomllib.loads(path.read_text()))


def test_the_schema_has_the_keys_that_the_reader_has() -> None:
    assert set(SCHEMA["properties"]) - {"sweep"} == keys_read("read/scenario.rs", "KEYS")
    flow_keys = keys_read("read/flows.rs", "FLOW_KEYS") | keys_read("read/traffic.rs", "KEYS")
    assert set(definition("flows")["properties"]) == flow_keys
    for name, file, constant in [
        ("dumbbell", "read/links.rs", "DUMBBELL_KEYS"),
        ("access", "read/links.rs", "ACCESS_KEYS"),
        ("link", "read/links.rs", "LINK_KEYS"),
        ("reverse", "read/links.rs", "LINK_KEYS"),
        ("parking_lot", "read/links.rs", "PARKING_LOT_KEYS"),
        ("named_link", "read/links.rs", "NAMED_LINK_KEYS"),
        ("policer", "read/variation.rs", "POLICER_KEYS"),
    ]:
        assert set(definition(name)["properties"]) == keys_read(file, constant), name
    trace = definition("link_rate")["anyOf"][2]
    assert set(trace["properties"]) == keys_read("read/variation.rs", "TRACE_KEYS")
    assert set(definition("stack")["anyOf"][1]["properties"]) == keys_read("stack.rs", "KEYS")
    assert set(definition("values")["anyOf"][1]["properties"]) == keys_read("sweep/axes.rs", "RANGE_KEYS")


def test_the_names_of_the_reader_are_those_of_the_schema_the_reference_and_the_help() -> None:
    names, *tables = definition("queue")["anyOf"]
    assert names["enum"] == _cwnd.choices("queue")
    text = (READER / "read/queue.rs").read_text()
    found = re.findall(r'^    \(\s*"([\w-]+)",\s*&\[(.*?)\],?\s*\),$', text, re.DOTALL | re.MULTILINE)
    keys = {name: set(re.findall(r'"(\w+)"', listed)) for name, listed in found}
    assert list(keys) == _cwnd.choices("queue")
    described: dict[str, set[str]] = {}
    for table in tables:
        for name in table["properties"]["discipline"]["enum"]:
            described[name] = set(table["properties"])
    assert described == keys
    reference = (ROOT / "docs" / "reference.md").read_text()
    for key in ("queue", "ecn", "recovery"):
        assert all(re.search(rf"\b{name}\b", reference) for name in _cwnd.choices(key)), key
    assert all(name in options.SCENARIO_FLAGS["queue"][1] for name in _cwnd.choices("queue"))


def test_the_reference_has_every_key_of_the_schema() -> None:
    reference = (ROOT / "docs" / "reference.md").read_text()
    for name in (
        "dumbbell",
        "flows",
        "parking_lot",
        "named_link",
        "policer",
        "jitter",
        "arrivals",
        "requests",
    ):
        for table in [definition(name), *definition(name).get("anyOf", [])]:
            missing = [key for key in table.get("properties", {}) if not re.search(rf"\b{key}\b", reference)]
            assert not missing, name


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
