"""The worlds with a kernel in virtual time. Runs of guests need the machine of `cwnd linux setup`."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import cwnd
from conftest import Command
from cwnd._reproduce import paper as paper_reader
from cwnd._worlds import _machine

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


#: Runs of the test of what is left behind; more by hand.
RUNS = int(os.environ.get("CWND_GUEST_RUNS", "4"))


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


APT_GET = """\
#!/bin/sh
if [ "$1" = install ]; then
    echo "Inst qemu-system-x86 (1:7.2 Debian [amd64])"
    echo "Inst libfdt1 (1.6 Debian [amd64])"
else
    shift 2
    reversed=
    for name; do reversed="$name $reversed"; done
    for name in $reversed; do
        echo "'http://example.org/$name.deb' ${name}_1%3a2_amd64.deb ${#name} SHA256:$(printf %064d ${#name})"
    done
fi
"""


def test_packages_are_paired_with_their_files_in_whatever_order_apt_lists_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scripts = {
        "apt-get": APT_GET,
        "apt-cache": "#!/bin/sh\necho 'Depends: linux-image-6.12.1-cloud-amd64'\n",
        "dpkg": "#!/bin/sh\n",
    }
    for name, text in scripts.items():
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    packages = _machine.missing()
    assert {package.name for package in packages} == {
        "linux-image-6.12.1-cloud-amd64",
        "qemu-system-x86",
        "libfdt1",
    }
    for package in packages:
        assert package.file == f"{package.name}_1%3a2_amd64.deb"
        assert package.bytes == len(package.name) == int(package.sha256)


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


@needs_machine
@pytest.mark.slow
def test_a_receive_window_limits_a_guest_as_it_limits_the_simulator(file: Path) -> None:
    file.write_text(SCENARIO + 'stack = { receive_window = 20, handshake = "first" }\n')
    ours, theirs = (cwnd.run(file, world=world).flows for world in ("sim", "linux"))
    # 20 packets of 1514 bytes in 20 ms and the time of one at 20 Mbps.
    assert ours["throughput_mbps"][0] == pytest.approx(20 * 1514 * 8 / 20_605, rel=0.1)
    assert theirs["throughput_mbps"][0] == pytest.approx(ours["throughput_mbps"][0], rel=0.05)


@needs_machine
@pytest.mark.slow
def test_a_guest_has_the_delay_and_the_losses_of_the_way_back_and_flows_upwards(file: Path) -> None:
    file.write_text(
        """\
        duration = "3 s"
        [dumbbell]
        rate = "20 Mbps"
        delay = "10 ms"
        buffer = 40
        reverse = { rate = "5 Mbps", delay = "30 ms", buffer = 50, per = 0.01 }
        [[flows]]
        cca = "elastic"
        [[flows]]
        cca = "agile-sd"
        [[flows]]
        cca = "reno"
        direction = "up"
        """
    )
    guest = cwnd.run(file, world="linux")
    assert [note for _, note in guest.notes] == ["not measured before the run: rate and queue of reverse"]
    # 10 ms there, 30 ms back, and up to 24 ms in the queue there.
    assert all(40 < rtt_ms < 200 for rtt_ms in guest.flows["mean_rtt_ms"])
    assert all(pkts > 100 for pkts in guest.flows["delivered_pkts"])
    assert guest.links.filter(link="reverse")["error_pkts"][0] > 0


@needs_machine
@pytest.mark.slow
def test_equal_transfers_take_equal_time_in_a_guest_the_first_too(file: Path) -> None:
    flow = '[[flows]]\ncca = "cubic"\nsize = "20 KB"\n'
    file.write_text(
        'duration = "3 s"\n[dumbbell]\nrate = "20 Mbps"\nrtt = "10 ms"\nbuffer = 40\n'
        + flow
        + "".join(f'{flow}start = "{start_s} s"\n' for start_s in (1, 2))
    )
    times_ms = cwnd.run(file, world="linux").flows["fct_ms"]
    # A handshake, a round of 10 segments and one of the rest.
    assert all(ms == pytest.approx(times_ms[1], rel=0.02) and 30 < ms < 40 for ms in times_ms)


@needs_machine
@pytest.mark.slow
def test_an_application_in_a_guest_writes_whole_segments_at_its_rate(file: Path) -> None:
    file.write_text(SCENARIO.replace('"1 s"', '"3 s"') + 'app_rate = "5 Mbps"\n')
    ours, theirs = (cwnd.run(file, world=world).flows for world in ("sim", "linux"))
    assert theirs["sent_pkts"][0] == pytest.approx(ours["sent_pkts"][0], rel=0.01)


@needs_machine
@pytest.mark.slow
def test_a_guest_counts_the_marked_packets_of_each_flow(file: Path) -> None:
    flow = '[[flows]]\ncca = "cubic"\nstack = { ecn = true }\n'
    file.write_text(
        'duration = "3 s"\n[dumbbell]\nrate = "20 Mbps"\ndelay = "20 ms"\nbuffer = 200\n'
        f'queue = {{ discipline = "codel", ecn = true }}\n{flow}{flow}[[flows]]\ncca = "cubic"\n'
    )
    guest = cwnd.run(file, world="linux")
    assert all(pkts > 0 for pkts in guest.flows["marked_pkts"][:2]) and guest.flows["marked_pkts"][2] == 0
    sums = guest.flows["marked_pkts"].sum(), guest.links.filter(link="bottleneck")["marked_pkts"][0]
    assert 0 < sums[0] <= sums[1] <= sums[0] + 2  # what is on its way at the end


@needs_machine
@pytest.mark.slow
def test_a_guest_loses_and_marks_the_packets_that_a_scenario_names(file: Path) -> None:
    path = 'duration = "3 s"\n[dumbbell]\nrate = "20 Mbps"\ndelay = "20 ms"\nbuffer = 200\n'
    flow = '[[flows]]\ncca = "reno"\nstack = { initial_ssthresh = 40, ecn = true, handshake = "first" }\n'

    def both(extra: str) -> tuple[cwnd.Results, cwnd.Results]:
        file.write_text(path + extra + flow)
        ours, theirs = (cwnd.run(file, world=world) for world in ("sim", "linux"))
        return ours, theirs

    for results in both("losses = [300, 600]\nmarks = [1200]\n"):
        link = results.links.filter(link="bottleneck")
        assert (link["error_pkts"][0], link["marked_pkts"][0]) == (2, 1)
        assert (results.flows["retransmitted_pkts"][0], results.flows["marked_pkts"][0]) == (2, 1)
    # All that is sent in half a second, and its repairs once it is over.
    ours, theirs = (each.flows for each in both('losses = [["1 s", "1.5 s"]]\n'))
    assert theirs["lost_pkts"][0] == pytest.approx(ours["lost_pkts"][0], abs=3) and ours["lost_pkts"][0] > 20
    assert theirs["timeouts"][0] == ours["timeouts"][0]
    # A tenth: which of the timeouts comes after the span is a matter of some milliseconds.
    assert theirs["delivered_pkts"][0] == pytest.approx(ours["delivered_pkts"][0], rel=0.1)


@needs_machine
@pytest.mark.slow
def test_the_first_slow_start_in_a_guest_ends_where_the_scenario_says(file: Path) -> None:
    file.write_text(
        'duration = "2 s"\nsamples = "100 ms"\n[dumbbell]\nrate = "20 Mbps"\ndelay = "50 ms"\nbuffer = 400\n'
        '[[flows]]\ncca = "reno"\nstack = { initial_ssthresh = 40, handshake = "first" }\n'
    )
    ours, theirs = (cwnd.run(file, world=world).samples for world in ("sim", "linux"))
    # 10, 20 and 40 in two rounds of 0.1 s behind that of the handshake, then one more each round.
    windows = [theirs.filter(flow=0, time_s=at_s)["cwnd_pkts"][0] for at_s in (0.2, 0.3, 0.4, 1.0, 2.0)]
    assert windows[:2] == [10, 20] and 40 <= windows[2] <= 41
    assert windows[3] == pytest.approx(46, abs=1) and windows[4] == pytest.approx(56, abs=2)
    assert theirs["ssthresh_pkts"].max() == 40
    assert ours.filter(flow=0, time_s=2.0)["cwnd_pkts"][0] == pytest.approx(windows[4], abs=1)


TESTBED = """\
title = "A small testbed"
citation = "Nobody, 2026"
about = "a flow on a short path"
metrics = { throughput = "throughput_mbps" }
[variant.cubic]
"flows.cca" = "cubic"
[experiment.bed]
scenario = "bed.toml"
testbed = true
[item.fig1]
published = "Fig. 1"
title = "One flow"
experiment = "bed"
"""
PUBLISHED = """\
item,scenario,flows,per,buffer_pkts,cca,metric,unit,value,how
Fig. 1,bed,1,0,30,cubic,throughput,Mbps,19,plotted
"""


@needs_machine
@pytest.mark.slow
def test_a_papers_testbed_runs_in_guests_beside_the_simulator(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paper = tmp_path / "papers" / "small"
    paper.mkdir(parents=True)
    (paper / "paper.toml").write_text(TESTBED)
    (paper / "bed.toml").write_text(SCENARIO + '[sweep]\n"dumbbell.buffer" = [30]\n')
    (paper / "published.csv").write_text(PUBLISHED)
    monkeypatch.setattr(paper_reader, "_FOLDER", tmp_path / "papers")
    answer = cwnd.reproduce("small", out=tmp_path, world="linux")
    ((number),) = answer.numbers
    assert number.ours is not None and number.simulated is not None
    assert number.ours.mean == pytest.approx(number.simulated.mean, rel=0.05)
    verdicts = (tmp_path / "small-on-linux" / "verdicts.md").read_text(encoding="utf-8")
    assert verdicts.startswith("# A small testbed: the verdicts --on linux\n")
    assert f"19 / {number.ours.mean:.4g} ({number.simulated.mean:.4g})" in verdicts


def processes_of(folder: Path) -> list[int]:
    """Processes whose folder of temporary files is `folder`."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            is_ours = f"TMPDIR={folder}\0".encode() in (process / "environ").read_bytes()
        except OSError:
            continue
        found += [int(process.name)] if is_ours else []
    return found


def wait_until(holds: Callable[[], bool]) -> bool:
    """Half a minute of looks; a machine that stands still meanwhile loses none."""
    for _ in range(1500):
        if holds():
            return True
        time.sleep(0.02)
    return False


@needs_machine
@pytest.mark.slow
def test_nothing_is_left_behind_by_guests_that_end_and_runs_that_are_killed(
    file: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "temporary"
    folder.mkdir()
    command = [sys.executable, "-m", "cwnd", "run", str(file), "--on", "linux"]
    kills = (signal.SIGKILL, signal.SIGINT, signal.SIGTERM)
    for number in range(RUNS):
        said = tmp_path / "said"
        with said.open("w") as to:
            run = subprocess.Popen(command, stdout=to, stderr=to, env={**os.environ, "TMPDIR": str(folder)})
        if number % 2 == 0:
            assert wait_until(lambda: len(processes_of(folder)) > 1), (number, run.poll(), said.read_text())
            run.send_signal(kills[number // 2 % 3])
        run.wait(timeout=120)
        assert wait_until(lambda: not processes_of(folder)), number
        assert list(folder.iterdir()) == []


def test_what_a_guest_cannot_do_is_refused_in_a_line_with_the_key(file: Path, cwnd_command: Command) -> None:
    if not (CACHE / "machine.json").exists():
        pytest.skip("no kernel for guests")
    file.write_text(f'clock = "ns2"\n{SCENARIO}')
    done = cwnd_command("run", str(file), "--on", "linux")
    assert done.returncode == 2
    assert done.stderr == (
        "cwnd: error: guest: clock: ns-2's clock is not supported --on linux; accepted: nanoseconds\n"
    )
