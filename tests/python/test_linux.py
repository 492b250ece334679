"""The worlds with a kernel in virtual time. Runs of guests need the machine of `cwnd linux setup`."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import cwnd
from conftest import Command

CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "cwnd" / "linux"
needs_machine = pytest.mark.skipif(
    not (CACHE / "machine.json").exists(), reason="no kernel for guests; 'cwnd linux setup' gets one"
)

SCENARIO = """\
duration = "1 s"
samples = "100 ms"
[dumbbell]
rate = "20 Mbps"
delay = "10 ms"
buffer = 30
[[flows]]
cca = "cubic"
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "guest.toml").write_text(SCENARIO)
    return tmp_path / "guest.toml"


@pytest.mark.parametrize("world", ["linux", "linux-ebpf"])
def test_a_missing_machine_is_a_line_with_the_remedy(
    world: str, file: Path, tmp_path: Path, cwnd_command: Command
) -> None:
    done = cwnd_command("run", str(file), "--on", world, env={**os.environ, "XDG_CACHE_HOME": str(tmp_path)})
    assert (done.returncode, done.stderr) == (
        2,
        "cwnd: error: linux: there is no kernel for guests yet; 'cwnd linux setup' gets one\n",
    )


@needs_machine
@pytest.mark.slow
def test_a_guest_agrees_with_the_simulator_and_is_the_same_again_on_a_busy_host(file: Path) -> None:
    quiet = cwnd.run(file, world="linux")
    spin = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(os.cpu_count() or 1)]
    try:
        busy = cwnd.run(file, world="linux")
    finally:
        for process in spin:
            process.kill()
            process.wait()
    for table in ("flows", "links", "samples"):
        assert getattr(quiet, table).equals(getattr(busy, table)), table
    assert [note for _, note in quiet.notes if note.startswith("not valid")] == []
    simulated = cwnd.run(file)
    ours, theirs = (each.flows["throughput_mbps"][0] for each in (simulated, quiet))
    assert theirs == pytest.approx(ours, rel=0.05)


@needs_machine
@pytest.mark.slow
def test_a_sweep_of_guests_continues_and_is_not_mixed_with_the_simulators(file: Path, tmp_path: Path) -> None:
    grid = {"flows.cca": ["reno", "cubic"]}
    out = tmp_path / "swept"
    first = cwnd.sweep(file, grid=grid, out=out, world="linux")
    assert first.entries[0]["world"] == "linux" and first.flows.height == 2
    assert cwnd.sweep(file, grid=grid, out=out, world="linux").flows.equals(first.flows)
    with pytest.raises(cwnd.Error, match="holds runs of the world 'linux'"):
        cwnd.sweep(file, grid=grid, out=out)


def test_what_a_guest_cannot_do_is_refused_in_a_line_with_the_key(file: Path, cwnd_command: Command) -> None:
    if not (CACHE / "machine.json").exists():
        pytest.skip("no kernel for guests")
    file.write_text(f'clock = "ns2"\n{SCENARIO}')
    done = cwnd_command("run", str(file), "--on", "linux")
    assert done.returncode == 2
    assert done.stderr == (
        "cwnd: error: guest: clock: ns-2's clock cannot be had --on linux; accepted: nanoseconds\n"
    )
