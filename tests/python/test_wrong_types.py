"""Every public call with values of wrong types: `cwnd.Error` or TypeError, one line, nothing else."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import cwnd
import cwnd.kernel
import cwnd.models
from conftest import FILE, SMALL
from cwnd._scenario.scenario import DumbbellKeys

ODD: list[object] = [
    *(None, True, -1, 1.5, float("nan"), 10**30, 1j),
    *("", "x", "\ud800", "\0", b"x"),
    *([], ["x"], [None], [[1]], {}, {"x": 1}, {1: None}, {"x"}),
    *(object(), object, len),
]
TUNE: dict[str, object] = {
    "cca": "agile-sd",
    "params": {"lambda_max": (1, 20)},
    "trials": 1,
    "repeat": 1,
    "held_out_seeds": 2,
}
#: Valid arguments, for when another one is odd.
GIVEN: dict[str, dict[str, object]] = {
    "dumbbell": {"cca": ["reno", "cubic"]},
    "run": {"scenarios": cwnd.dumbbell(**SMALL)},
    "sweep": {"scenario": FILE, "grid": {"dumbbell.buffer": [10, 20]}, "repeat": 1},
    "tune": {"scenarios": "file.toml", **TUNE},
    "reproduce": {"name": "no paper"},
    "Scenario.parse": {"text": FILE},
    "Scenario.from_toml": {"path": "file.toml"},
    "Results.load": {"directory": "nowhere"},
    "Results.plot": {"kind": "cwnd"},
    "Results.save": {"directory": "saved"},
}
#: Where a value is taken from whatever can give it, or is the caller's own code.
FREE = {"progress", "default", "quick", "keep"}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("file.toml").write_text(FILE.replace("cubic", "agile-sd"))


def functions() -> Iterator[tuple[str, Callable[..., object]]]:
    results = cwnd.run(cwnd.dumbbell(samples=4, **SMALL))
    for name in ("dumbbell", "run", "sweep", "tune", "reproduce"):
        yield name, getattr(cwnd, name)
    for method in ("parse", "from_toml"):
        yield f"Scenario.{method}", getattr(cwnd.Scenario, method)
    yield "Results.load", cwnd.Results.load
    yield "Results.plot", results.plot
    yield "Results.save", cwnd.run(cwnd.dumbbell(**{**SMALL, "samples": "off"})).save
    for name in cwnd.kernel.__all__:
        if name not in ("Loaded", "doctor", "status", "Trace"):
            yield f"kernel.{name}", getattr(cwnd.kernel, name)
    for name, function in vars(cwnd.models).items():
        own = getattr(function, "__module__", "") == "cwnd.models"
        if own and not name.startswith("_") and (inspect.isfunction(function) or name == "Path"):
            yield f"models.{name}", function


def calls(name: str, function: Callable[..., object]) -> Iterator[dict[str, object]]:
    parameters = dict(inspect.signature(function).parameters)
    keys = DumbbellKeys.__annotations__.keys() if parameters.pop("keys", None) else set()
    needed: dict[str, object] = {key: 0.5 for key, one in parameters.items() if one.default is one.empty}
    if name.startswith("kernel."):
        needed = dict.fromkeys(needed, "no such algorithm")
    for key in {*parameters, *keys} - FREE:
        for odd in ODD:
            yield {**needed, **GIVEN.get(name, {}), key: odd}


@pytest.mark.parametrize(("name", "function"), list(functions()))
def test_wrong_types_are_one_line(name: str, function: Callable[..., object]) -> None:
    if name == "kernel.trace" and os.geteuid() == 0:
        pytest.skip("would follow this machine's connections")
    wrong: list[tuple[dict[str, object], Exception]] = []
    for arguments in calls(name, function):
        try:
            function(**arguments)
        except (cwnd.Error, TypeError) as refused:
            if not str(refused) or "\n" in str(refused):
                wrong.append((arguments, refused))
        except Exception as other:
            wrong.append((arguments, other))
    assert wrong == []


@pytest.mark.parametrize("key", ["cca", "stack", "params"])
def test_one_algorithm_of_a_wrong_type_is_one_line(key: str) -> None:
    for odd in ODD[5:]:
        for value in (odd, [odd], {"reno": odd}):
            try:
                cwnd.dumbbell(**{**SMALL, key: value})
            except (cwnd.Error, TypeError) as refused:
                assert "\n" not in str(refused)


@pytest.mark.parametrize("odd", ODD)
def test_only_results_are_added_to_results(odd: Any) -> None:
    with pytest.raises(TypeError):
        cwnd.run([]) + odd
