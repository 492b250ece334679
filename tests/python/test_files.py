"""Files that appear complete or not at all."""

import os
import stat
from pathlib import Path

import pytest

from cwnd._common import files


def test_a_link_at_the_name_is_replaced_and_not_written_through(tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.write_text("kept")
    link = tmp_path / "file"
    link.symlink_to(precious)
    files.write_file(link, b"new")
    assert (precious.read_text(), link.is_symlink(), link.read_text()) == ("kept", False, "new")


def test_a_new_file_has_the_mode_that_the_umask_leaves(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        files.write_file(tmp_path / "file", b"")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "file").stat().st_mode) == 0o640


def test_what_fails_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("old")
    with pytest.raises(KeyboardInterrupt), files.new_file(file) as new:
        new.write(b"half")
        raise KeyboardInterrupt
    assert [item.name for item in tmp_path.iterdir()] == ["file"]
    assert file.read_text() == "old"


def test_a_pipe_or_a_device_is_never_replaced(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("/dev/null")
    for name in ("pipe", "link"):
        with pytest.raises(OSError, match="not a regular file"):
            files.write_file(tmp_path / name, b"")
    assert sorted(item.name for item in tmp_path.iterdir()) == ["link", "pipe"]
    assert (tmp_path / "link").is_symlink()


def test_every_flipped_or_missing_byte_is_damage(tmp_path: Path) -> None:
    file = tmp_path / "file"
    data = bytes(range(64))
    file.write_bytes(data)
    described = files.describe_file(file)
    assert files.find_damage(file, described) is None
    for place in range(len(data)):
        file.write_bytes(data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :])
        assert "contents" in (files.find_damage(file, described) or "")
    file.write_bytes(data[:-1])
    assert "63 bytes, 64 were written" in (files.find_damage(file, described) or "")
