"""The files of an advice, applied and undone by the programs that will read them."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

import cwnd
from conftest import Command
from cwnd._advise.candidates import Machine
from cwnd._advise.files import SET, UNDO, UNIT, Files, files_of, write_files
from cwnd._advise.path import Facts, facts_of, path_of_flags

LINUX = Machine(("reno", "cubic"), "cubic", None)
SPACE, DEVICE = f"cwnd-files-{os.getpid()}", "cwnd-a"


def facts(rate: str = "10 Gbps", **more: object) -> Facts:
    return facts_of(path_of_flags({"rate": rate, "rtt": "150 ms", **more}))


POLICED = facts("1 Gbps", policer={"rate": "50 Mbps", "burst": "100 kB"})


def inside(*command: str) -> str:
    """Runs a command in the namespace and returns its output."""
    line = ["ip", "netns", "exec", SPACE, *command]
    return subprocess.run(line, capture_output=True, text=True, check=True, timeout=20).stdout.strip()


@pytest.fixture
def space() -> Iterator[None]:
    """A network namespace with a device; it is gone afterwards."""
    if os.geteuid() != 0 or shutil.which("ip") is None:
        pytest.skip("needs root and ip")
    subprocess.run(["ip", "netns", "add", SPACE], check=True)
    try:
        inside("ip", "link", "add", DEVICE, "type", "veth", "peer", "name", "cwnd-b")
        yield
    finally:
        subprocess.run(["ip", "netns", "del", SPACE], check=True)


def lines_of(unit: str, key: str) -> list[str]:
    """The commands of a unit, for the instance of the device."""
    return [one.replace("%i", DEVICE) for one in re.findall(rf"^{key}=/bin/sh -c '(.*)'$", unit, re.M)]


def settings() -> dict[str, str]:
    names = ("tcp_rmem", "tcp_wmem", "tcp_congestion_control")
    return {name: inside("sysctl", "-n", f"net.ipv4.{name}") for name in names}


def test_sysctl_applies_the_settings_and_their_undo_brings_all_back(space: None, tmp_path: Path) -> None:
    before = settings()
    # 10^10 * 0.150 / 8 bytes, BDP and buffer, twice for the kernel's overhead: 750 MB.
    files = files_of("reno", facts(), LINUX, "a test")
    assert set(files.content) == {SET, UNDO}
    write_files(files, tmp_path)
    inside("sysctl", "-p", str(tmp_path / SET))
    after = settings()
    assert after["tcp_congestion_control"] == "reno"
    for name in ("tcp_rmem", "tcp_wmem"):
        assert int(after[name].split()[2]) == pytest.approx(750e6, rel=0.01)
    assert all(after[name] != before[name] for name in before)
    inside("sysctl", "-p", str(tmp_path / UNDO))
    assert settings() == before


def test_the_unit_shapes_a_device_and_gives_it_its_queue_back(space: None) -> None:
    files = files_of(None, POLICED, LINUX, "a test")
    unit = files.content[UNIT]
    before = inside("tc", "qdisc", "show", "dev", DEVICE)
    for line in lines_of(unit, "ExecStart"):
        inside("/bin/sh", "-c", line)
    shaped = inside("tc", "qdisc", "show", "dev", DEVICE) + inside("tc", "class", "show", "dev", DEVICE)
    # 95 % of the policer's 50 Mbit/s, as either of the two shapers prints it.
    assert re.search(r"47500Kbit|47500kbit|47.5Mbit", shaped), shaped
    for line in lines_of(unit, "ExecStop"):
        inside("/bin/sh", "-c", line)
    assert inside("tc", "qdisc", "show", "dev", DEVICE) == before


def test_systemd_accepts_the_unit(tmp_path: Path) -> None:
    if shutil.which("systemd-analyze") is None:
        pytest.skip("needs systemd-analyze")
    write_files(files_of("bbr3", POLICED, LINUX, "a test"), tmp_path)
    unit = tmp_path / UNIT.replace("@", "@eth0")
    (tmp_path / UNIT).rename(unit)
    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", str(unit)], capture_output=True, text=True, timeout=20
    )
    assert done.returncode == 0 and unit.name not in done.stderr, done.stderr


def test_an_algorithm_that_linux_lacks_is_loaded_before_it_is_the_default() -> None:
    unit = files_of("elastic", facts("10 Mbps"), LINUX, "a test").content[UNIT]
    start, stop = lines_of(unit, "ExecStart"), lines_of(unit, "ExecStop")
    assert start[0].endswith("kernel load elastic") and start[1].endswith("=elastic")
    assert stop[-1].endswith("kernel unload elastic") and "tcp_congestion_control=" in stop[-2]


def test_without_a_change_on_a_short_path_there_is_nothing_to_set(tmp_path: Path) -> None:
    assert files_of(None, facts("10 Mbps"), LINUX, "a test") == Files({}, [], [])


def test_limits_of_memory_are_never_lowered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cwnd._advise.files._now", lambda _: "8192 262144 999999999")
    content = files_of(None, facts(), LINUX, "a test").content[SET]
    assert "net.ipv4.tcp_rmem = 8192 262144 999999999" in content


def test_the_command_writes_the_files_and_says_how(tmp_path: Path, cwnd_here: Command) -> None:
    path = ("--rate", "100mbit", "--rtt", "200ms", "--beside", "none", "--flows", "1", "--cca", "reno")
    done = cwnd_here("advise", *path, "--quick", "--files", str(tmp_path / "settings"))
    assert done.returncode == 0, done.stderr
    assert {one.name for one in (tmp_path / "settings").iterdir()} == {SET, UNDO}
    assert f"  sysctl -p /etc/sysctl.d/{SET}\n" in done.stdout and f"  sysctl -p {UNDO}" in done.stdout
    (tmp_path / "taken").write_text("")
    done = cwnd_here("advise", *path, "--quick", "--files", str(tmp_path / "taken"))
    assert done.returncode == 2 and done.stderr.startswith("cwnd: error: --files: ")


def test_several_connections_are_measured_where_a_window_limits() -> None:
    """Four times a window of 100 kB a round trip of 80 ms: 10 Mbit/s each, 40 in all."""
    advice = cwnd.advise(rate="40 Mbps", rtt="80 ms", now="10 Mbps", beside="none", ccas=["reno"], quick=True)
    assert advice.today.connections == 4 and advice.several is not None
    alone = advice.several.measured["cubic"].alone_mbps
    assert sum(alone) / len(alone) == pytest.approx(40 * 1448 / 1514, rel=0.05)
    assert "4 cubic connections at once with the windows of today have " in str(advice)
