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
