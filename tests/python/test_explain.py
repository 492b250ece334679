"""`cwnd explain`: a capture whose answer is known by hand, and captures that are none."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

import cwnd
from captures import SEGMENT, WINDOW, window_limited
from conftest import Command


def test_a_window_of_ten_segments_in_50_ms_is_the_receivers_limit() -> None:
    explained = cwnd.explain(window_limited())
    (connection,) = explained.data["connections"]
    causes = {share["cause"]: share["share"] for share in connection["causes"]}
    assert sum(causes.values()) == pytest.approx(1)
    assert causes["receiver"] > 0.9
    assert connection["place"] == "sender" and connection["retransmissions"]["bytes"] == 0
    assert connection["bytes"] == 40 * WINDOW and connection["handshake"]["segment_bytes"] == SEGMENT
    assert connection["rtt_min_ms"] == pytest.approx(50, rel=0.01)
    # Ten segments of 1000 bytes in 50 ms.
    assert connection["goodput_bps"] == pytest.approx(8 * WINDOW / 0.05, rel=0.05)
    words = str(explained)
    assert "the receiver limits" in words.splitlines()[0]
    # 40 kB are less than Linux lets a buffer grow to by itself: the application holds it.
    assert "SO_RCVBUF" in words and "back:" not in words


def test_a_window_beyond_linuxs_default_is_advised_with_its_way_back() -> None:
    words = str(cwnd.explain(window_limited(rounds=8, scale=8)))
    # Twice the window of 2.56 MB, and twice that in memory.
    assert 'sysctl -w net.ipv4.tcp_rmem="4096 131072 10240000"' in words
    assert 'back: sysctl -w net.ipv4.tcp_rmem="OLD"' in words


def test_addresses_can_be_hidden() -> None:
    (connection,) = cwnd.explain(window_limited(), anonymous=True).data["connections"]
    assert (connection["sender"], connection["receiver"]) == ("10.0.0.1:40000", "10.0.0.2:443")


def test_the_command_reads_files_in_gzip_and_standard_input_alike(
    tmp_path: Path, cwnd_command: Command
) -> None:
    (tmp_path / "slow.pcap").write_bytes(window_limited())
    (tmp_path / "slow.pcap.gz").write_bytes(gzip.compress(window_limited()))
    plain = cwnd_command("explain", "slow.pcap", "--json", cwd=tmp_path)
    zipped = cwnd_command("explain", "slow.pcap.gz", "--json", cwd=tmp_path)
    assert plain.returncode == zipped.returncode == 0 and plain.stdout == zipped.stdout
    assert json.loads(plain.stdout)["connections"][0]["conclusion"]


@pytest.mark.parametrize(
    ("name", "data", "says"),
    [
        ("text.pcap", b"Sat Nov 27", "not a capture; one is pcap or pcapng"),
        ("empty.pcap", b"", "empty; a capture is pcap or pcapng"),
        ("missing.pcap", None, "no such file"),
    ],
)
def test_what_is_no_capture_is_refused_in_a_line(
    name: str, data: bytes | None, says: str, tmp_path: Path, cwnd_command: Command
) -> None:
    if data is not None:
        (tmp_path / name).write_bytes(data)
    done = cwnd_command("explain", name, cwd=tmp_path)
    assert done.returncode == 2 and done.stdout == ""
    assert done.stderr.count("\n") == 1 and name in done.stderr and says in done.stderr


def test_a_connection_that_is_not_there_is_refused(tmp_path: Path, cwnd_command: Command) -> None:
    (tmp_path / "slow.pcap").write_bytes(window_limited())
    done = cwnd_command("explain", "slow.pcap", "--connection", "7", cwd=tmp_path)
    assert done.returncode == 2 and done.stderr.count("\n") == 1 and "there is no 7" in done.stderr
