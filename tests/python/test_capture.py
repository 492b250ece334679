"""`cwnd run --pcap`: captures of simulated runs, read by hand and by `cwnd explain`."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import cwnd
from conftest import Command

PATH = {"rate": "20 Mbps", "rtt": "40 ms", "buffer": 70, "duration": "10 s", "samples": "off"}


class Segment(NamedTuple):
    """A segment as a reader of pcapng sees it."""

    time_ns: int
    source: str
    seq: int
    ack: int
    flags: int
    payload: int
    ecn: int
    window: int


def segments(path: Path) -> Iterator[Segment]:
    """Reads a little-endian pcapng of Ethernet, and checks every checksum."""
    data = path.read_bytes()
    at = 0
    while at < len(data):
        kind, length = struct.unpack_from("<II", data, at)
        assert struct.unpack_from("<I", data, at + length - 4) == (length,) and length % 4 == 0
        if kind == 6:
            _, high, low, kept, whole = struct.unpack_from("<IIIII", data, at + 8)
            frame = data[at + 28 : at + 28 + kept]
            ip, tcp = frame[14:34], frame[34:]
            (total,) = struct.unpack_from(">H", ip, 2)
            assert frame[12:14] == b"\x08\x00" and whole == 14 + total and total - 20 >= len(tcp)
            pseudo = ip[12:20] + struct.pack(">HH", 6, total - 20)
            # Payloads are zeros, and add nothing.
            assert _sum(ip) == _sum(pseudo + tcp) == 0xFFFF
            _, _, seq, ack, offset, flags, window = struct.unpack_from(">HHIIBBH", tcp)
            payload = total - 20 - (offset >> 4) * 4
            source = ".".join(map(str, ip[12:16]))
            yield Segment(high << 32 | low, source, seq, ack, flags, payload, ip[1] & 3, window)
        at += length


def _sum(data: bytes) -> int:
    total = sum(struct.unpack(f">{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return total


def captured(tmp_path: Path, at: str = "sender", **given: Any) -> tuple[Path, dict[str, Any]]:
    """The capture of a run of one flow, and the row of the flow."""
    scenario = cwnd.dumbbell(given.pop("cca", "cubic"), **{**PATH, **given})
    cwnd.capture(scenario, tmp_path / "run.pcapng", at=at)
    return tmp_path / "run.pcapng", cwnd.run(scenario).flows.row(0, named=True)


@pytest.mark.parametrize("at", ["sender", "receiver"])
def test_a_capture_has_every_segment_of_the_run_with_right_checksums(tmp_path: Path, at: str) -> None:
    path, row = captured(tmp_path, at, per=0.001)
    found = list(segments(path))
    assert [one.time_ns for one in found] == sorted(one.time_ns for one in found)
    data = [one for one in found if one.payload]
    assert {one.source for one in data} == {"10.1.0.0"} and {one.payload for one in data} == {1448}
    if at == "sender":
        assert len(data) == row["sent_pkts"]
        assert len(data) - len({one.seq for one in data}) == row["retransmitted_pkts"] > 0
    else:
        assert len(data) == row["delivered_pkts"]
    assert [one.flags for one in found[:2]] == [0x02, 0x12]


def test_the_explanation_of_a_capture_has_the_numbers_of_the_run(tmp_path: Path) -> None:
    path, row = captured(tmp_path)
    (connection,) = cwnd.explain(path).data["connections"]
    assert connection["place"] == "sender" and connection["handshake"]["seen"]  # type: ignore[index]
    assert connection["goodput_bps"] == pytest.approx(1e6 * row["goodput_mbps"], rel=0.01)
    # Access links add 0.3 ms.
    assert connection["rtt_min_ms"] == pytest.approx(40.3, abs=0.8)
    assert connection["causes"][0]["cause"] == "full_path" and connection["causes"][0]["share"] > 0.8
    again = connection["retransmissions"]
    assert again is not None
    assert again["fast"] + again["timeouts"] + again["probes"] == row["retransmitted_pkts"]


@pytest.mark.parametrize(
    ("cause", "given"),
    [
        ("receiver", {"stack": {"profile": "linux", "receive_window": 30}}),
        ("application", {"app_rate": "3 Mbps"}),
        ("random_loss", {"rate": "200 Mbps", "buffer": 2000, "per": 0.002, "cca": "reno"}),
    ],
)
def test_a_capture_shows_what_the_scenario_limits(tmp_path: Path, cause: str, given: dict[str, Any]) -> None:
    path, _ = captured(tmp_path, **given)
    (connection,) = cwnd.explain(path).data["connections"]
    assert connection["causes"][0]["cause"] == cause, connection["causes"]


def test_marks_of_a_queue_are_in_the_capture_of_the_receiver(tmp_path: Path) -> None:
    path, row = captured(tmp_path, "receiver", ecn_threshold=20, stack={"profile": "linux", "ecn": "classic"})
    found = [one for one in segments(path) if one.payload]
    assert sum(one.ecn == 3 for one in found) == row["marked_pkts"] > 0
    assert {one.ecn for one in found} == {2, 3}


def test_the_command_writes_a_capture_beside_its_answer_which_is_the_same(
    tmp_path: Path, cwnd_command: Command
) -> None:
    flags = (
        "run",
        "--cca",
        "reno",
        "--rate",
        "10Mbps",
        "--rtt",
        "20ms",
        "--duration",
        "2s",
        "--buffer",
        "20",
    )
    plain = cwnd_command(*flags, "--json", cwd=tmp_path)
    with_capture = cwnd_command(*flags, "--json", "--pcap", "run.pcapng", cwd=tmp_path)
    assert with_capture.returncode == 0
    assert plain.stdout.partition('"engine"')[0] == with_capture.stdout.partition('"engine"')[0]
    assert sum(one.payload > 0 for one in segments(tmp_path / "run.pcapng")) > 1000


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--cca", "udp", "--pcap", "run.pcapng"), "segments of TCP"),
        (("--cca", "reno", "--stack", "ns2", "--pcap", "run.pcapng"), "headers of 50 bytes"),
        (("--cca", "reno", "--cca", "cubic", "--pcap", "run.pcapng"), "--pcap: is of one scenario, not 2"),
        (("--cca", "reno", "--on", "linux", "--pcap", "run.pcapng"), "only runs in 'sim' are captured"),
        (("--cca", "reno", "--pcap-at", "receiver"), "--pcap-at: needs --pcap FILE"),
        (("--cca", "reno", "--pcap", "run.pcapng", "--pcap-at", "end"), "'end' is not sender or receiver"),
        (("--cca", "reno", "--pcap", "missing/run.pcapng"), "no such file or directory"),
    ],
)
def test_what_cannot_be_captured_is_refused_in_a_line(
    arguments: tuple[str, ...], says: str, tmp_path: Path, cwnd_command: Command
) -> None:
    path = ("--rate", "10Mbps", "--rtt", "20ms", "--duration", "1s", "--buffer", "20")
    if "udp" in arguments:
        path = (*path, "--app-rate", "1Mbps")
    done = cwnd_command("run", *arguments, *path, cwd=tmp_path)
    assert done.returncode == 2 and done.stdout == "" and done.stderr.count("\n") == 1, done.stderr
    assert says in done.stderr
    assert list(tmp_path.iterdir()) == []
