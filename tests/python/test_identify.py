"""`cwnd identify`: what is said where there is nothing to identify, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import cwnd
from captures import window_limited
from conftest import Command


def test_a_sender_that_its_receiver_limits_has_an_unknown_algorithm() -> None:
    identified = cwnd.identify(window_limited())
    (connection,) = identified.data["connections"]
    assert connection["candidates"] == [] and connection["confidence"] == 0
    assert "unknown: " in str(identified) and "the receiver's window was the limit" in str(identified)


def test_the_command_prints_json_of_the_function(tmp_path: Path, cwnd_command: Command) -> None:
    (tmp_path / "slow.pcap").write_bytes(window_limited())
    done = cwnd_command("identify", "slow.pcap", "--json", cwd=tmp_path)
    assert json.loads(done.stdout) == cwnd.identify(window_limited()).data


def test_a_connection_that_is_not_there_is_refused_in_one_line(tmp_path: Path, cwnd_command: Command) -> None:
    (tmp_path / "slow.pcap").write_bytes(window_limited())
    done = cwnd_command("identify", "slow.pcap", "--connection", "7", cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.strip().endswith("connection: there is no 7 (the capture has 1 to 1)")


def test_a_text_is_no_capture(tmp_path: Path, cwnd_command: Command) -> None:
    (tmp_path / "text.pcap").write_text("Sat Nov 27")
    done = cwnd_command("identify", "text.pcap", cwd=tmp_path)
    assert done.returncode == 2 and "not a capture" in done.stderr and "Traceback" not in done.stderr
