"""The world `live`: this machine's kernel. Needs root and TUN devices."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from conftest import Command

CAN_RUN = os.geteuid() == 0 and Path("/dev/net/tun").exists()
needs_root = pytest.mark.skipif(not CAN_RUN, reason="needs root and /dev/net/tun")

SCENARIO = """\
duration = "1 s"
[dumbbell]
rate = "10 Mbps"
delay = "10 ms"
buffer = 20
[[flows]]
cca = "reno"
"""
#: Runs of the test of what is left behind; more by hand.
RUNS = int(os.environ.get("CWND_LIVE_RUNS", "4"))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "live.toml").write_text(SCENARIO)
    return tmp_path / "live.toml"


@needs_root
def test_a_live_run_fills_its_link_and_drops_from_the_buffer_on(file: Path, cwnd_command: Command) -> None:
    done = cwnd_command("run", str(file), "--on", "live", "--json")
    result = json.loads(done.stdout)
    assert done.returncode in (0, 1), done.stderr
    assert result["world"] == "live"
    notes = " ".join(result["notes"])
    assert "the first drop with 20 packets held" in notes, notes
    if done.returncode == 0:  # a busy machine says that its path was not what was asked for
        assert result["runs"][0]["flows"][0]["throughput_mbps"] == pytest.approx(10, rel=0.1)


@needs_root
def test_a_flow_whose_receiver_limits_it_has_its_window_in_each_round_trip(
    tmp_path: Path, cwnd_command: Command
) -> None:
    for window_pkts in (4, 8):
        limit = f'packet = "1448 bytes"\nstack = {{ receive_window = {window_pkts} }}\n'
        (tmp_path / "limited.toml").write_text(SCENARIO.replace("1 s", "3 s") + limit)
        done = cwnd_command("run", str(tmp_path / "limited.toml"), "--on", "live", "--json")
        assert done.returncode in (0, 1), done.stderr
        flow = json.loads(done.stdout)["runs"][0]["flows"][0]
        if done.returncode == 0:  # as above
            # A round trip is 20 ms and what a packet and its ACK take on the link.
            least_ms = 20 + (1500 + 52) * 8 / 10e3
            most_mbps = window_pkts * 1500 * 8e-3 / least_ms
            assert 0.8 * most_mbps < flow["throughput_mbps"] < 1.02 * most_mbps


@needs_root
def test_a_transfer_over_a_long_path_ends_the_run_when_it_has_arrived(
    tmp_path: Path, cwnd_command: Command
) -> None:
    (tmp_path / "far.toml").write_text(
        """\
duration = "30 s"
samples = "off"
[dumbbell]
rate = "20 Mbps"
delay = "200 ms"
buffer = 200
[[flows]]
cca = "reno"
packet = "1448 bytes"
size = "1 MB"
"""
    )
    began_s = time.monotonic()
    done = cwnd_command("run", str(tmp_path / "far.toml"), "--on", "live", "--json")
    took_s = time.monotonic() - began_s
    assert done.returncode in (0, 1), done.stderr
    result = json.loads(done.stdout)
    # The datagrams that measure a way of 200 ms arrive no earlier: the rate is counted from then on.
    assert any("of 20.0 Mbit/s" in note for note in result["notes"]), result["notes"]
    run = result["runs"][0]
    assert run["flows"][0]["fct_ms"] > 3 * 400
    assert took_s < 30
    # 691 packets of 1500 bytes in 30 s, although nobody waited for them; handshake and end are shorter.
    bottleneck = next(link for link in run["links"] if link["link"] == "bottleneck")
    assert bottleneck["utilization"] == pytest.approx(691 * 1500 * 8 / (20e6 * 30), rel=0.02)


def count_network_namespaces() -> int:
    found = set()
    for process in Path("/proc").glob("[0-9]*"):
        for thread in process.glob("task/*/ns/net"):
            try:
                found.add(thread.readlink())
            except OSError:
                continue
    return len(found)


def remains() -> dict[str, object]:
    pins = Path("/sys/fs/bpf/cwnd")
    return {
        "network namespaces": count_network_namespaces(),
        "devices": sorted(path.name for path in Path("/sys/class/net").iterdir()),
        "pinned objects": sorted(str(path) for path in pins.rglob("*")) if pins.exists() else [],
        "algorithms": sorted(Path("/proc/sys/net/ipv4/tcp_available_congestion_control").read_text().split()),
    }


def wait_until(holds: Callable[[], bool]) -> bool:
    until = time.monotonic() + 10
    while not holds() and time.monotonic() < until:
        time.sleep(0.02)
    return holds()


@pytest.mark.slow
@needs_root
def test_nothing_is_left_behind_by_runs_that_end_and_runs_that_are_killed(file: Path) -> None:
    before = remains()
    command = [sys.executable, "-m", "cwnd", "run", str(file), "--on", "live"]
    for number in range(RUNS):
        run = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        if number % 2:
            quiet = before["network namespaces"]
            assert isinstance(quiet, int)
            assert wait_until(lambda at_least=quiet: count_network_namespaces() > at_least)  # type: ignore[misc]
            run.send_signal(signal.SIGKILL if number % 4 == 1 else signal.SIGINT)
        run.wait(timeout=30)
    assert wait_until(lambda: remains() == before), (before, remains())


def test_what_the_live_world_cannot_do_is_refused_in_a_line(tmp_path: Path, cwnd_command: Command) -> None:
    (tmp_path / "old.toml").write_text(f'clock = "ns2"\n{SCENARIO}')
    done = cwnd_command("run", str(tmp_path / "old.toml"), "--on", "live")
    assert done.returncode == 2
    assert done.stderr == (
        "cwnd: error: old: clock: 'ns2' is not supported --on live; accepted: 'nanoseconds'\n"
    )
