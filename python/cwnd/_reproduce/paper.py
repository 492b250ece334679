"""Papers: their experiments, published numbers and claims, read from `papers/NAME`.

`papers/NAME/paper.toml` lists the runs; CONTRIBUTING.md describes its keys. All runs of a paper are
one sweep, which continues where it stopped.
"""

from __future__ import annotations

import csv
import importlib.util
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from cwnd._common.errors import error, one_line, os_error
from cwnd._reproduce.claims import Claim

if TYPE_CHECKING:
    from cwnd._common.shapes import Json, Values

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


_FOLDER = Path(__file__).parents[1] / "papers"


class Variant(NamedTuple):
    """The algorithm and stack that stand for a name of the paper."""

    name: str
    label: str
    #: Keys of the scenario and their values.
    change: Values


class Template(NamedTuple):
    """A scenario file: its keys, the axes of its sweep, and the axes that several keys share."""

    keys: dict[str, object]
    swept: Values
    zipped: list[dict[str, list[Json]]]


class Experiment(NamedTuple):
    name: str
    scenario: Template
    variants: list[str]
    #: Keys of the sweep and the values that `--quick` runs.
    quick: dict[str, list[Json]]
    #: True if the paper ran it on real kernels: then it runs in worlds that have one.
    testbed: bool


class Item(NamedTuple):
    """A figure or table of the paper, or a part of one."""

    name: str
    #: Its name in published.csv; None if it prints no numbers that can be read.
    published: str | None
    title: str
    experiment: str
    #: Swept keys and their values in this item.
    at: Values
    #: Published metrics and their names here.
    metrics: dict[str, str]


class WindowTrace(NamedTuple):
    """A figure of windows over time."""

    name: str
    title: str
    scenario: Template
    variants: list[str]
    change: Values
    #: The sum over the flows instead of each flow.
    total: bool
    #: True if `--quick` draws it.
    quick: bool


class Figure(NamedTuple):
    """Items drawn together."""

    name: str
    title: str
    items: list[str]
    #: Draw by how many percent this variant exceeds each other variant, instead of the values.
    gain_of: str | None


class Reading(NamedTuple):
    """Another way to read the paper, or another world, run beside the main one."""

    name: str
    about: str
    items: list[str]
    variants: list[str]
    change: Values
    #: Keys of the sweep and the values that this reading runs.
    only: dict[str, list[Json]]
    #: Published metrics that it counts in another way, and their names here.
    metrics: dict[str, str]
    #: Runs in place of the experiment's; None: the experiment's.
    scenario: Template | None


class Cause(NamedTuple):
    """Why published values differ from ours, and the test of it: `reading`, `within`, or `tested`."""

    text: str
    #: Columns of published.csv and the values to which this cause applies.
    of: dict[str, list[str]]
    #: Explains the values with which this reading agrees.
    reading: str | None
    #: "runs": explains values between the least and the most of the runs (of the reading, if there is one);
    #: "rounding": explains values that equal the mean rounded to the printed decimals.
    within: str | None
    #: The change that was made, and its effect.
    tested: str | None


class Paper(NamedTuple):
    name: str
    folder: Path
    title: str
    citation: str
    about: str
    variants: dict[str, Variant]
    experiments: dict[str, Experiment]
    items: dict[str, Item]
    traces: dict[str, WindowTrace]
    figures: dict[str, Figure]
    readings: dict[str, Reading]
    causes: list[Cause]
    published: list[dict[str, str]]
    claims: list[Claim]


def papers() -> list[Paper]:
    """All papers, by name."""
    return [load(path.parent.name) for path in sorted(_FOLDER.glob("*/paper.toml"))]


#: The keys of paper.toml's tables: required and optional.
_KEYS = {
    "experiment": (("scenario",), ("variants", "quick", "testbed")),
    "item": (("title", "experiment"), ("published", "at", "metrics")),
    "trace": (("title", "scenario"), ("variants", "change", "total", "quick")),
    "figure": (("title", "items"), ("gain_of",)),
    "reading": (("about", "items"), ("variants", "change", "only", "metrics", "scenario")),
    "cause": (("text",), ("of", "reading", "within", "tested")),
}


def load(name: str) -> Paper:
    """Reads `papers/NAME`.

    Raises `Error` if there is no such paper, or its paper.toml is wrong.
    """
    folder = _FOLDER / name
    if not (folder / "paper.toml").is_file():
        there = ", ".join(path.parent.name for path in sorted(_FOLDER.glob("*/paper.toml")))
        raise error("", f"'{one_line(name)}' is not a paper; there are {there}")
    document = _toml(folder / "paper.toml")
    for key in ("title", "citation", "about"):
        if not isinstance(document.get(key), str):
            raise error(f"{name}/paper.toml: {key}", "is needed, a text")
    variants = {
        key: Variant(key, one.pop("label", key), one) for key, one in document.get("variant", {}).items()
    }
    every = list(variants)
    metrics = document.get("metrics", {})
    tables = {kind: _tables(name, kind, document.get(kind, {})) for kind in _KEYS}
    paper = Paper(
        name,
        folder,
        document["title"],
        document["citation"],
        document["about"],
        variants,
        {
            key: Experiment(
                key,
                _template(folder / one["scenario"]),
                one.get("variants", every),
                one.get("quick", {}),
                one.get("testbed", False),
            )
            for key, one in tables["experiment"]
        },
        {
            key: Item(
                key,
                one.get("published"),
                one["title"],
                one["experiment"],
                one.get("at", {}),
                one.get("metrics", metrics),
            )
            for key, one in tables["item"]
        },
        {
            key: WindowTrace(
                key,
                one["title"],
                _template(folder / one["scenario"]),
                one.get("variants", every),
                one.get("change", {}),
                one.get("total", False),
                one.get("quick", True),
            )
            for key, one in tables["trace"]
        },
        {key: Figure(key, one["title"], one["items"], one.get("gain_of")) for key, one in tables["figure"]},
        {
            key: Reading(
                key,
                one["about"],
                one["items"],
                one.get("variants", every),
                one.get("change", {}),
                one.get("only", {}),
                one.get("metrics", {}),
                _template(folder / one["scenario"]) if "scenario" in one else None,
            )
            for key, one in tables["reading"]
        },
        [
            Cause(
                one["text"],
                {key: [str(value) for value in values] for key, values in one.get("of", {}).items()},
                one.get("reading"),
                one.get("within"),
                one.get("tested"),
            )
            for _, one in tables["cause"]
        ],
        _published(folder / "published.csv"),
        [claim for path in sorted(folder.glob("claims*.py")) for claim in _claims(path)],
    )
    _check(paper)
    return paper


def _toml(path: Path) -> dict[str, Any]:
    shown = f"{path.parent.name}/{path.name}"
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as failed:
        raise os_error(shown, failed) from None
    except ValueError as failed:
        raise error(shown, one_line(str(failed))) from None


def _template(path: Path) -> Template:
    keys = _toml(path)
    swept = keys.pop("sweep", {})
    return Template(keys, swept, swept.pop("zip", []))


def _tables(
    paper: str, kind: str, document: dict[str, dict[str, Any]] | list[dict[str, Any]]
) -> list[tuple[str, dict[str, Any]]]:
    """The tables of a kind by name, or by number; an `Error` for a key that is missing or unknown."""
    named = list(document.items()) if isinstance(document, dict) else list(enumerate(document, 1))
    needed, others = _KEYS[kind]
    for key, one in named:
        where = f"{paper}/paper.toml: {kind} {key}"
        for missing in needed:
            if missing not in one:
                raise error(where, f"{missing} is needed")
        for unknown in one.keys() - {*needed, *others}:
            raise error(where, f"{one_line(unknown)} is not a key; there are {', '.join((*needed, *others))}")
    return [(str(key), one) for key, one in named]


def _check(paper: Paper) -> None:
    """Raises an `Error` for a name that does not exist."""

    def known(where: str, names: Iterable[str], there: Iterable[str]) -> None:
        for name in names:
            if name not in there:
                reason = f"'{one_line(name)}' is not one of {', '.join(there)}"
                raise error(f"{paper.name}/paper.toml: {where}", reason)

    for experiment in paper.experiments.values():
        known(f"variants of {experiment.name}", experiment.variants, paper.variants)
    for item in paper.items.values():
        known(f"experiment of {item.name}", [item.experiment], paper.experiments)
    for trace in paper.traces.values():
        known(f"variants of {trace.name}", trace.variants, paper.variants)
    for figure in paper.figures.values():
        known(f"items of {figure.name}", figure.items, paper.items)
    for reading in paper.readings.values():
        known(f"items of {reading.name}", reading.items, paper.items)
        known(f"variants of {reading.name}", reading.variants, paper.variants)
    for number, cause in enumerate(paper.causes, 1):
        known(f"reading of cause {number}", [cause.reading] if cause.reading else [], paper.readings)
        known(f"within of cause {number}", [cause.within] if cause.within else [], ["runs", "rounding"])


def _published(path: Path) -> list[dict[str, str]]:
    if not path.exists():
        return []
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def _claims(path: Path) -> list[Claim]:
    spec = importlib.util.spec_from_file_location(f"cwnd_papers.{path.parent.name}.{path.stem}", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return [value for value in vars(module).values() if isinstance(value, Claim)]
