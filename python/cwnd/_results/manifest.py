"""The manifest of a result's directory: lists its files, and detects changes to them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, cast

from cwnd._common.errors import error, one_line, os_error
from cwnd._common.files import check_regular, describe_file, find_damage, read_sealed, write_sealed
from cwnd._common.rows import unfold

if TYPE_CHECKING:
    import polars as pl

    from cwnd._common.shapes import Entry, FileJson, Manifest


#: Version of the files that `Results.save` and sweeps write.
FORMAT = 2

_TABLES = ("flows.parquet", "links.parquet", "samples.parquet", "transfers.parquet", "summary.parquet")


def write_manifest(folder: Path, head: Mapping[str, object], results: Iterable[Entry]) -> None:
    """Writes manifest.json: `head`, one result per line, and a hash of the content."""
    write_sealed(folder / "manifest.json", head, "results", results)


def describe_tables(folder: Path) -> dict[str, FileJson]:
    """The `files` of a manifest: a hash and the length of each table in `folder`."""
    return {name: describe_file(folder / name) for name in _TABLES if (folder / name).exists()}


def read_manifest(folder: Path) -> Manifest:
    """The manifest of a result. Raises `Error` if there is none or if it was changed."""
    shown = one_line(str(folder))
    file = folder / "manifest.json"
    try:
        check_regular(file)
        sealed = read_sealed(file.read_bytes())
    except OSError as failed:
        if (folder / "shards").is_dir():
            raise error(
                shown,
                "an unfinished sweep; 'cwnd sweep' continues it, with --partial it shows the finished runs",
            ) from None
        raise os_error(one_line(str(file)), failed) from None
    if sealed is None or "cwnd" not in sealed:
        reason = "damaged, or not a manifest of this version of cwnd; delete it and make the result again"
        raise error(one_line(str(file)), reason)
    manifest = cast("Manifest", sealed)
    if manifest["format"] != FORMAT:
        raise error(shown, f"written by cwnd {manifest['cwnd']} in another format")
    for result in manifest["results"]:
        result["scenario"] = unfold(result["scenario"])
    return manifest


def find_damaged(folder: Path, manifest: Manifest) -> dict[str, str]:
    """The tables that differ from the ones the manifest was written with, and the fault of each."""
    damaged = {}
    for name, described in manifest["files"].items():
        try:
            damage = find_damage(folder / name, described)
        except OSError as failed:
            damage = str(os_error("", failed))
        if damage is not None:
            damaged[name] = damage
    return damaged


def check_files(folder: Path, manifest: Manifest) -> None:
    """Raises an `Error` if a table is not the one that the manifest was written with."""
    for name, damage in find_damaged(folder, manifest).items():
        raise error(one_line(str(folder / name)), damage)


def read_table(file: Path) -> pl.DataFrame:
    """A table. Raises `Error` if it was removed or damaged after `check_files`."""
    import polars as pl

    shown = one_line(str(file))
    try:
        return pl.read_parquet(file)
    except OSError as failed:
        raise os_error(shown, failed) from None
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as failed:
        raise error(shown, f"damaged: {one_line(str(failed).strip().partition(chr(10))[0])}") from None
