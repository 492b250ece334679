"""Algorithms that a scenario or a command names as FILE.py:CLASS or FILE.h."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from cwnd._common.errors import add_note, error, one_line
from cwnd._scenario.custom import CongestionControl


def load_class(path: Path, name: str) -> type[CongestionControl]:
    """The class of that name in a file, which is run. Raises `Error` without a place."""
    if not path.is_file():
        raise error("", f"{one_line(str(path))}: no such file; write NAME or FILE.py:CLASS")
    import hashlib

    # Under a name of its own, so that the source of its classes can be found.
    digest = hashlib.sha256(str(path.resolve()).encode()).hexdigest()[:16]
    module_name = f"cwnd_file_{digest}"
    module = sys.modules.get(module_name)
    if module is None:
        spec = importlib.util.spec_from_file_location(module_name, path.resolve())
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[module_name] = module
        try:
            spec.loader.exec_module(module)
        except BaseException as failed:
            del sys.modules[module_name]
            add_note(failed, f"while {one_line(str(path))} was read")
            raise
    found = getattr(module, name, None)
    if not (isinstance(found, type) and issubclass(found, CongestionControl)):
        raise error("", f"{one_line(str(path))} has no class '{one_line(name)}' of cwnd.CongestionControl")
    return found


def load_named(written: str, folder: Path | None = None) -> type[CongestionControl] | None:
    """The algorithm of FILE.py:CLASS or of FILE.h; None for another name. Raises `Error` without a place."""
    folder = folder or Path()
    path, colon, name = written.rpartition(":")
    if colon and path.endswith(".py"):
        return load_class(folder / path, name)
    if written.endswith(".h"):
        from cwnd._scenario.header_files import load_header

        return load_header(folder / written)
    return None


def named_classes(text: str, source: str, folder: Path) -> dict[str, type[CongestionControl]]:
    """The classes that the flows and the sweep of a scenario name, by what is written.

    Their files are beside it.
    """
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib

    try:
        document = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError):
        return {}  # What reads the scenario has a better word for it.
    classes = {}
    for written in _ccas(document):
        try:
            found = load_named(written, folder)
        except Exception as failed:
            line = next((n for n, one in enumerate(text.splitlines(), 1) if written in one), 1)
            reason = str(failed) or type(failed).__name__
            raise error(f"{source}:{line}", one_line(f"cca: {reason}")) from failed
        if found is not None:
            classes[written] = found
    return classes


def _ccas(document: Mapping[str, object]) -> Iterator[str]:
    flows = document.get("flows")
    for flow in flows if isinstance(flows, list) else []:
        yield from _names(flow.get("cca") if isinstance(flow, dict) else None)
    sweep = document.get("sweep")
    tables = [sweep, *(sweep.get("zip", []) if isinstance(sweep, dict) else [])]
    for table in tables:
        for key, values in table.items() if isinstance(table, dict) else ():
            if key.endswith("cca"):
                yield from _names(values)


def _names(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for one in value:
            yield from _names(one)
    elif isinstance(value, dict):
        yield from _names(value.get("name"))
