"""Damaged results: one line and exit 2, never a traceback, never other numbers."""

from __future__ import annotations

import contextlib
import io
import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

import cwnd
from conftest import SMALL, SMALL_FLAGS
from cwnd._cli import main as cli

pytestmark = pytest.mark.slow

TABLES = ["flows.parquet", "links.parquet", "samples.parquet", "summary.parquet"]
#: Commands that read a result.
READERS = (["results"], ["results", "--json"], ["report"], ["gate"])


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A result as `save` writes it."""
    folder = tmp_path_factory.mktemp("whole") / "result"
    small = [
        cwnd.dumbbell(cca, flows=2, repeat=2, per=1e-3, samples=4, **SMALL, name=cca)
        for cca in ("reno", "cubic")
    ]
    cwnd.run(small).save(folder)
    for figure in (*folder.glob("*.png"), *folder.glob("*.svg")):
        figure.unlink()
    return folder


@pytest.fixture
def result(whole: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(whole, tmp_path / "result"))


def call(*arguments: str) -> tuple[int, str]:
    """The exit code and what was written to stderr."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = cli._main(list(arguments))
    return code, err.getvalue()


def refused(folder: Path, reader: list[str]) -> bool:
    """Returns true if a reader refuses the folder, in one line; the other way is that it reads it."""
    command, *flags = reader
    folders = [str(folder)] * (2 if command == "gate" else 1)
    code, err = call(command, *folders, *flags)
    assert code in (0, 2) and "Traceback" not in err
    if code:
        assert err.startswith("cwnd: error: ") and err.count("\n") == 1
    return code == 2


def test_a_result_with_its_checksums_is_read(result: Path) -> None:
    assert not any(refused(result, reader) for reader in READERS)


@pytest.mark.parametrize("name", [*TABLES, "manifest.json"])
def test_a_flipped_bit_is_noticed_wherever_it_is(result: Path, name: str) -> None:
    file = result / name
    data = file.read_bytes()
    chance = random.Random(name)
    for _ in range(30):
        place = chance.randrange(len(data))
        file.write_bytes(data[:place] + bytes([data[place] ^ 1 << chance.randrange(8)]) + data[place + 1 :])
        with pytest.raises(cwnd.Error):
            cwnd.Results.load(result)


@pytest.mark.parametrize("name", [*TABLES, "manifest.json"])
def test_a_file_that_is_cut_or_missing_or_no_file_is_refused(result: Path, name: str) -> None:
    file = result / name
    data = file.read_bytes()

    def link_to_itself() -> None:
        file.symlink_to(file)

    damages: list[Callable[[], object]] = [
        *(lambda length=length: file.write_bytes(data[:length]) for length in (0, 4, len(data) - 2)),  # type: ignore[misc]
        lambda: file.write_bytes(data + b"x"),
        lambda: None,
        file.mkdir,
        lambda: os.mkfifo(file),
        link_to_itself,
    ]
    for damage in damages:
        if file.is_dir():
            file.rmdir()
        file.unlink(missing_ok=True)
        damage()
        for reader in READERS:
            assert refused(result, reader)


@pytest.mark.parametrize(
    "text", ["", "[]", "null", "{", "[" * 100_000, '{"cwnd": NaN}', '{"cwnd": 1e999}', "\xff", "\0" * 99]
)
def test_a_manifest_that_is_not_one_is_refused(result: Path, text: str) -> None:
    (result / "manifest.json").write_text(text, encoding="latin-1")
    assert all(refused(result, reader) for reader in READERS)


def test_an_empty_result_is_read(tmp_path: Path) -> None:
    cwnd.run([]).save(tmp_path / "empty")
    assert not refused(tmp_path / "empty", ["results"]) and not refused(tmp_path / "empty", ["report"])


def test_a_file_that_may_not_be_read_is_refused(result: Path) -> None:
    if os.geteuid() == 0:
        pytest.skip("root may read everything")
    for name in [*TABLES, "manifest.json"]:
        (result / name).chmod(0)
        assert refused(result, ["results"])
        (result / name).chmod(0o644)


def test_the_command_that_damages_nothing_reads_what_it_wrote(tmp_path: Path) -> None:
    arguments = ("run", "--cca", "reno", *SMALL_FLAGS, "--out", str(tmp_path / "out"))
    assert call(*arguments)[0] == 0
    assert not refused(tmp_path / "out", ["results"])
