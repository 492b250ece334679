"""What a result's directory holds, read and checked before anything relies on it."""

from __future__ import annotations

import contextlib
import hashlib
import json
import unicodedata
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from cwnd._errors import error, one_line, os_error
from cwnd._files import check_regular, describe_file, find_damage

if TYPE_CHECKING:
    import polars as pl

#: Version of the files that `Results.save` and sweeps write.
FORMAT = 1

_NAMES = ("flows.parquet", "links.parquet", "samples.parquet", "summary.parquet")

#: Columns that may have gaps: without an RTT sample, or of live connections.
_GAPS = {"mean_rtt_ms", "p95_rtt_ms", "mean_cwnd_pkts", "timeouts"}
#: Columns of a time series without gaps.
_WHOLE_IN_SERIES = {"scenario", "seed", "time_s"}
#: What the rows of flows alone have.
_OF_FLOWS = ("cwnd_pkts", "rtt_ms", "throughput_mbps")

#: Beyond every number that a run can give; its square is finite.
_NUMBER_MAX = 1e100
#: Kinds of characters that a name cannot have: they would move the cursor or hide the rest.
_HIDDEN = {"Cc", "Cf", "Cs", "Zl", "Zp"}


class _DamageError(Exception):
    """Something is not what the manifest's shape asks for; `keys` lead to it, the last one first."""

    def __init__(self, accepted: str, *keys: str | int) -> None:
        self.accepted = accepted
        self.keys = list(keys)

    @property
    def line(self) -> str:
        where = "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in reversed(self.keys))
        return f"damaged: {one_line(where.removeprefix('.'))} is not {self.accepted}"


class _Leaf(NamedTuple):
    accepted: str
    fits: Callable[[Any], bool]


class _Optional(NamedTuple):
    shape: _Shape


class _Map(NamedTuple):
    """An object with any names, all of one shape."""

    shape: _Shape


#: An object with these names and maybe others, or a list of one shape.
_Shape: TypeAlias = "_Leaf | _Optional | _Map | dict[str, _Shape] | list[_Shape]"


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= _NUMBER_MAX


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 64


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and (
        value.isprintable() or not any(unicodedata.category(character) in _HIDDEN for character in value)
    )


def is_name(value: Any) -> bool:
    """Whether a scenario may be called so."""
    return _is_text(value) and 1 <= len(value) <= 100


def _is_swept(value: Any) -> bool:
    if isinstance(value, list):
        return all(map(_is_swept, value))
    if isinstance(value, dict):
        return all(_is_text(key) and _is_swept(item) for key, item in value.items())
    return value is None or isinstance(value, bool) or _is_number(value) or _is_text(value)


_NUMBER = _Leaf("a number", _is_number)
_WHOLE = _Leaf("a whole number", _is_whole)
_POSITIVE = _Leaf("a whole number above 0", lambda value: _is_whole(value) and value > 0)
_SHARE = _Leaf("a share from 0 to 1", lambda value: _is_number(value) and 0 <= value <= 1)
_TEXT = _Leaf("a text", _is_text)
_ANY_TEXT = _Leaf("a text", lambda value: isinstance(value, str))
_VERSION = _Leaf("a text", lambda value: _is_text(value) and value)

_LINK: _Shape = {
    "name": _TEXT,
    "rate_bps": _POSITIVE,
    "delay_ns": _WHOLE,
    "buffer_pkts": _Optional(_WHOLE),
    "per": _SHARE,
}
_TRACED_FLOW: _Shape = {"cca": {"name": _TEXT}}
_FLOW: _Shape = {
    "cca": {"name": _TEXT},
    "path": [_WHOLE],
    "return_delay_ns": _WHOLE,
    "payload_bytes": _POSITIVE,
    "stack": {"profile": _TEXT, "header_bytes": _WHOLE},
}
_RESULT: _Shape = {
    "seeds": [_WHOLE],
    "scenario": {"name": _TEXT, "duration_ns": _POSITIVE, "seed": _WHOLE, "links": [_LINK], "flows": [{}]},
    "summary": _Map(
        {"mean": _NUMBER, "ci95_low": _Optional(_NUMBER), "ci95_high": _Optional(_NUMBER), "n": _WHOLE}
    ),
    "engine": {},
}
_MANIFEST: _Shape = {"cwnd": _VERSION, "results": [_RESULT]}
#: What may be left out.
_REST: dict[str, _Shape] = {
    "command": _Optional([_ANY_TEXT]),
    "git": _Optional({"commit": _TEXT}),
    "files": _Map({"sha256": _TEXT, "bytes": _WHOLE}),
}


def seal(manifest: dict[str, Any]) -> dict[str, Any]:
    """The manifest with a checksum of itself, which `read_manifest` compares."""
    return {**manifest, "sha256": _digest(manifest)}


def describe_tables(folder: Path) -> dict[str, Any]:
    """`files` of the manifest: what the tables in `folder` are."""
    return {name: describe_file(folder / name) for name in _NAMES if (folder / name).exists()}


def read_manifest(folder: Path) -> dict[str, Any]:
    """The manifest of a result; an `Error` if there is none, or if it is damaged."""
    shown = one_line(str(folder))
    file = f"{shown}/manifest.json"
    try:
        check_regular(folder / "manifest.json")
        manifest = json.loads((folder / "manifest.json").read_bytes())
        own = _digest(manifest) if isinstance(manifest, dict) else None
    except OSError as failed:
        if (folder / "shards").is_dir():
            raise error(shown, "a sweep that is not finished; 'cwnd sweep' goes on with it") from None
        raise os_error(file, failed) from None
    except (ValueError, RecursionError):
        raise error(shown, "manifest.json is not JSON") from None
    if not isinstance(manifest, dict) or "cwnd" not in manifest:
        raise error(shown, "not a result of cwnd")
    try:
        if not _VERSION.fits(manifest["cwnd"]):
            raise _DamageError(_VERSION.accepted, "cwnd")
        if manifest.get("format") != FORMAT:
            raise error(shown, f"written by cwnd {manifest['cwnd']} in another format")
        _check(manifest)
    except _DamageError as damage:
        raise error(file, damage.line) from None
    if manifest.get("sha256", own) != own:
        raise error(file, "damaged: its contents are not those that were written")
    return manifest


def check_files(folder: Path, manifest: dict[str, Any]) -> None:
    """Raises an `Error` if a table is not the one that the manifest describes.

    Manifests of earlier versions describe none.
    """
    for name, described in manifest.get("files", {}).items():
        file = one_line(str(folder / name))
        try:
            damage = find_damage(folder / name, described)
        except OSError as failed:
            raise os_error(file, failed) from None
        if damage is not None:
            raise error(file, damage)


def read_table(file: Path, schema: dict[str, pl.DataType], results: list[dict[str, Any]]) -> pl.DataFrame:
    """A table whose columns are of these types, about the scenarios and flows of these results.

    Raises an `Error` if it is damaged.
    """
    import polars as pl

    shown = one_line(str(file))
    try:
        check_regular(file)
        table = pl.read_parquet(file)
    except OSError as failed:
        raise os_error(shown, failed) from None
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as failed:
        first = str(failed).strip().partition("\n")[0]
        raise error(shown, f"damaged: {one_line(first)}") from None
    reason = _misfit(table, schema, {told["scenario"]["name"]: told["scenario"] for told in results})
    if reason is not None:
        raise error(shown, f"damaged: {reason}")
    return table


def _misfit(
    table: pl.DataFrame, schema: dict[str, pl.DataType], scenarios: dict[str, dict[str, Any]]
) -> str | None:
    """What in a table is not of this schema or not about these scenarios; None if nothing."""
    import polars as pl

    gaps = schema.keys() - _WHOLE_IN_SERIES if "time_s" in schema else _GAPS
    for name, kind in schema.items():
        if table.schema.get(name) != kind:
            return f"no column {name} of type {kind}"
        column = table[name]
        if name not in gaps and column.null_count():
            return f"column {name} has gaps"
        if kind.is_float() and not (column.abs() <= _NUMBER_MAX).all():
            return f"column {name} has what is not a number"
        if kind == pl.String and not all(map(_is_text, column.drop_nulls().unique())):
            return f"column {name} has what is not a name"
    if "time_s" in schema:
        of_nobody = table.filter(pl.col("flow").is_null(), pl.any_horizontal(pl.col(_OF_FLOWS).is_not_null()))
        if of_nobody.height:
            return "windows of no flow"
    flow = pl.col("flow").max() if "flow" in schema else pl.lit(None, pl.UInt32).alias("flow")
    for scenario, last in table.group_by("scenario").agg(flow).iter_rows():
        if scenario not in scenarios:
            return f"scenario '{scenario}' is not in the manifest"
        if last is not None and last >= len(scenarios[scenario]["flows"]):
            return f"flow {last} of scenario '{scenario}' is not in the manifest"
    return None


def _digest(manifest: dict[str, Any]) -> str:
    """Raises a ValueError for a number that is not finite."""
    rest = {key: value for key, value in manifest.items() if key != "sha256"}
    return hashlib.sha256(json.dumps(rest, sort_keys=True, allow_nan=False).encode()).hexdigest()


def _check(manifest: dict[str, Any]) -> None:
    _fit(manifest, _MANIFEST)
    for key, shape in _REST.items():
        if key in manifest:
            _fit_at(key, manifest[key], shape)
    for name in manifest.get("files", {}):
        if name not in _NAMES:
            raise _DamageError(f"one of {', '.join(_NAMES)}", name, "files")
    names = set()
    for index, told in enumerate(manifest["results"]):
        with _below("results", index):
            _check_result(told)
            if told["scenario"]["name"] in names:
                raise _DamageError("a name of its own", "name", "scenario")
        names.add(told["scenario"]["name"])


def _check_result(told: dict[str, Any]) -> None:
    values, scenario = told.get("values", {}), told["scenario"]
    links, flows = scenario["links"], scenario["flows"]
    if not (isinstance(values, dict) and _is_swept(values)):
        raise _DamageError("an object of swept values", "values")
    with _below("scenario", "flows"):
        _fit(flows, [_FLOW if links else _TRACED_FLOW])
        if links and not flows:
            raise _DamageError("a list with a flow")
        for index, flow in enumerate(flows if links else []):
            if not flow["path"] or max(flow["path"]) >= len(links):
                raise _DamageError("a path over the links", "path", index)


def _fit(value: Any, shape: _Shape) -> None:
    """Raises a `_DamageError` if `value` is not of this shape."""
    if isinstance(shape, _Leaf):
        if not shape.fits(value):
            raise _DamageError(shape.accepted)
    elif isinstance(shape, _Optional):
        if value is not None:
            _fit(value, shape.shape)
    elif isinstance(shape, list):
        if not isinstance(value, list):
            raise _DamageError("a list")
        for index, item in enumerate(value):
            _fit_at(index, item, shape[0])
    elif not isinstance(value, dict):
        raise _DamageError("an object")
    elif isinstance(shape, _Map):
        for key, item in value.items():
            if not _is_text(key):
                raise _DamageError("an object of names")
            _fit_at(key, item, shape.shape)
    else:
        for key, inner in shape.items():
            if key not in value:
                raise _DamageError("there", key)
            _fit_at(key, value[key], inner)


def _fit_at(key: str | int, value: Any, shape: _Shape) -> None:
    try:
        _fit(value, shape)
    except _DamageError as damage:
        damage.keys.append(key)
        raise


@contextlib.contextmanager
def _below(*keys: str | int) -> Iterator[None]:
    try:
        yield
    except _DamageError as damage:
        damage.keys += reversed(keys)
        raise
