"""The parts of the package: which may import which, without circles."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import cwnd

ROOT = Path(cwnd.__file__).parent

#: The parts that each part may import. `_report` knows tables only, so that `Results` can draw itself.
ALLOWED: dict[str, set[str]] = {
    "_common": set(),
    "_scenario": {"_common"},
    "_report": {"_common", "_scenario"},
    "_results": {"_common", "_report"},
    "_worlds": {"_common", "_results"},
    "_run": {"_common", "_scenario", "_results", "_worlds"},
    "_analysis": {"models", "_common", "_expect", "_scenario", "_report", "_results", "_run"},
    "_advise": {"kernel", "_common", "_scenario", "_results", "_run", "_analysis", "_explain"},
    "_attack": {"_common", "_scenario", "_run", "_worlds"},
    "_conform": {"_common", "_expect", "_report", "_results", "_run", "_scenario", "_worlds"},
    "_evaluate": {
        "_common",
        "_scenario",
        "_report",
        "_results",
        "_run",
        "_worlds",
        "_analysis",
        "_attack",
    },
    "_expect": {"_common", "_results", "_scenario"},
    "_explain": {"_common", "_scenario", "_report", "_results", "_run"},
    "_homework": {"_common", "_results", "_run", "_scenario"},
    "_prove": {"_common"},
    "_reproduce": {"_common", "_scenario", "_report", "_results", "_run", "_worlds", "_analysis"},
    "models": {"_common"},
    "aioquic": {"_common", "_aioquic"},
    "_aioquic": set(),
    "kernel": {"_common", "_results"},
    "cwnd": {
        "_common",
        "_advise",
        "_attack",
        "_scenario",
        "_results",
        "_run",
        "_analysis",
        "_evaluate",
        "_conform",
        "_prove",
        "_expect",
        "_explain",
        "_reproduce",
        "aioquic",
        "kernel",
        "models",
    },
    "_cli": {
        "cwnd",
        "kernel",
        "_common",
        "_scenario",
        "_report",
        "_results",
        "_run",
        "_worlds",
        "_analysis",
        "_evaluate",
        "_homework",
        "_reproduce",
    },
    "__main__": {"_cli"},
}

#: Any part may import it; it imports none.
EXTENSION = "cwnd._cwnd"


@cache
def modules() -> dict[str, Path]:
    """The modules by name, but for the papers' own."""
    found = {}
    for file in ROOT.glob("**/*.py"):
        parts = file.relative_to(ROOT).with_suffix("").parts
        if parts[0] != "papers":
            found[".".join(("cwnd", *parts)).removesuffix(".__init__")] = file
    return {**found, EXTENSION: ROOT / "_cwnd.pyi"}


def imported(name: str) -> Iterator[tuple[str, str]]:
    """Each module of the package that this one imports, in functions too, with the name it takes."""
    for node in ast.walk(ast.parse(modules()[name].read_text())):
        if isinstance(node, ast.Import):
            taken = [(alias.name, "") for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{name}: a relative import"
            taken = [(node.module or "", alias.name) for alias in node.names]
        else:
            continue
        for module, item in taken:
            if f"{module}.{item}" in modules():
                yield f"{module}.{item}", ""
            elif module in modules():
                yield module, item


def part_of(module: str) -> str:
    return f"{module}.".split(".")[1] or "cwnd"


def imported_parts(name: str) -> set[str]:
    """The other parts that a module imports."""
    return {part_of(module) for module, _ in imported(name) if module != EXTENSION} - {part_of(name)}


def test_no_module_imports_itself_by_a_detour() -> None:
    graph = {name: {module for module, _ in imported(name)} for name in modules()}
    assert sum(map(len, graph.values())) > 100
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as found:
        raise AssertionError(" imports ".join(reversed(found.args[1]))) from None


def test_no_part_imports_one_that_the_table_does_not_allow() -> None:
    TopologicalSorter(ALLOWED).prepare()
    forbidden = [
        f"{name} imports {part}"
        for name in modules()
        if name != EXTENSION
        for part in imported_parts(name) - ALLOWED[part_of(name)]
    ]
    assert not forbidden


def test_every_import_that_the_table_allows_is_there() -> None:
    used: dict[str, set[str]] = {part: set() for part in ALLOWED}
    for name in modules():
        if name != EXTENSION:
            used[part_of(name)] |= imported_parts(name)
    assert used == ALLOWED


def test_no_module_takes_a_private_name_of_another() -> None:
    taken = [
        f"{name} takes {item} of {module}"
        for name in modules()
        for module, item in imported(name)
        if item.startswith("_") and item != "__version__"
    ]
    assert not taken
