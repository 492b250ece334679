"""Algorithms in this machine's kernel. What needs root and BTF says so when it is skipped."""

from __future__ import annotations

import functools
import json
import random
import select
import shutil
import signal
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import polars as pl
import pytest

import cwnd
from conftest import Command
from cwnd._cli.kernel import _lines


def able() -> str | None:
    """Why nothing can be loaded here."""
    if not sys.platform.startswith("linux"):
        return "not Linux"
    missing = [
        check["found"] for check in cwnd.kernel.doctor() if not check["ok"] and check["what"] != "hooks"
    ]
    return "; ".join(missing) or None


#: True if the kernel leaves hooks out, as its type information has it.
QUIRKY = able() is None and b"\0init_owned\0" in Path("/sys/kernel/btf/vmlinux").read_bytes()
#: Loads by force: what is tested here does not depend on every hook being run.
load = functools.partial(cwnd.kernel.load, force=True)

needs_kernel = pytest.mark.skipif(able() is not None, reason=f"cannot load into the kernel: {able()}")


@pytest.fixture
def clean() -> Iterator[None]:
    """Whatever a test leaves behind is taken out."""
    yield
    for each in cwnd.kernel.status():
        if each["name"].startswith("cwndtest"):
            cwnd.kernel.unload(each["name"])


def available() -> list[str]:
    with open("/proc/sys/net/ipv4/tcp_available_congestion_control") as file:  # noqa: PTH123
        return file.read().split()


def connection(algorithm: str) -> tuple[socket.socket, socket.socket]:
    """Two ends over loopback; the first has the algorithm."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        client = socket.socket()
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, algorithm.encode())
        client.connect(server.getsockname())
        return client, server.accept()[0]


def transfer(ends: tuple[socket.socket, socket.socket], size: int = 200_000) -> None:
    sender, receiver = ends
    for _ in range(size // 50_000):
        sender.sendall(bytes(50_000))
        left = 50_000
        while left:
            left -= len(receiver.recv(left))


def test_a_line_of_a_trace_has_the_mean_throughput_of_its_second(capsys: pytest.CaptureFixture[str]) -> None:
    """A sample each 100 ms, shown four times a second: 10 Mbit/s in the first half of a second, then 30."""
    trace = SimpleNamespace(connections=[{"local": "a:1", "remote": "b:2"}])
    state = {"flow": 0, "cca": "reno", "cwnd_pkts": 10, "ssthresh_pkts": None, "in_flight_pkts": 9}
    state |= {"rtt_ms": 20.0, "pacing_mbps": None, "state": "open"}
    samples = [
        state | {"time_s": step / 10, "throughput_mbps": 10.0 if step % 10 < 5 else 30.0}
        for step in range(31)
    ]
    with _lines(trace) as show_new:  # type: ignore[arg-type]
        for first in range(0, 31, 2):
            show_new(pl.DataFrame(samples[first : first + 2]))
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 3 and all("  20 Mbit/s  " in line for line in lines[1:])


@needs_kernel
def test_a_context_manager_loads_and_takes_out(clean: None) -> None:
    with load("elastic", "cwndtest", params={"beta": 0.8}) as loaded:
        assert loaded.name == "cwndtest" and "cwndtest" in available()
        (reported,) = [each for each in cwnd.kernel.status() if each["name"] == "cwndtest"]
        assert (reported["algorithm"], reported["params"]["beta"], reported["users"]) == ("elastic", "0.8", 0)
        ends = connection("cwndtest")
        transfer(ends)
        (reported,) = [each for each in cwnd.kernel.status() if each["name"] == "cwndtest"]
        assert reported["users"] == 1
        for end in ends:
            end.close()
    assert "cwndtest" not in available()


@needs_kernel
def test_a_number_with_a_name_is_loaded_and_told_by_it(clean: None) -> None:
    with load("agile-sd", "cwndtest", params={"lambda_max": "auto"}):
        (reported,) = [each for each in cwnd.kernel.status() if each["name"] == "cwndtest"]
        assert (reported["params"]["lambda_max"], reported["params"]["lambda_min"]) == ("auto", "1")


@needs_kernel
def test_the_command_loads_tells_and_unloads(cwnd_command: Command, clean: None) -> None:
    done = cwnd_command("kernel", "load", "reno", "--as", "cwndtest", "--force")
    assert (done.returncode, done.stderr) == (0, "") and "cwndtest is loaded" in done.stdout
    listed = cwnd_command("kernel", "status")
    assert "cwndtest" in listed.stdout and "variant = spec" in listed.stdout
    reported = json.loads(cwnd_command("kernel", "status", "--json").stdout)["loaded"]
    (mine,) = [each for each in reported if each["name"] == "cwndtest"]
    assert {"cong_avoid", "ssthresh", "undo_cwnd"} <= {hook["name"] for hook in mine["hooks"]}
    assert cwnd_command("kernel", "unload", "cwndtest").stdout == "cwndtest is unloaded\n"
    refused = cwnd_command("kernel", "unload", "cwndtest")
    assert refused.returncode == 2 and "'cwndtest' is not loaded" in refused.stderr


DEFAULT = Path("/proc/sys/net/ipv4/tcp_congestion_control")
PINS = Path("/sys/fs/bpf/cwnd")


def default() -> str:
    return DEFAULT.read_text().strip()


@pytest.fixture
def same_default(clean: None) -> Iterator[str]:
    """The machine's default, which comes back whatever a test does."""
    before = default()
    yield before
    DEFAULT.write_text(before)


@needs_kernel
def test_the_default_changes_and_comes_back(cwnd_command: Command, same_default: str) -> None:
    words = ("kernel", "load", "reno", "--as", "cwndtest", "--default", "--force")
    assert cwnd_command(*words).returncode == 0
    assert default() == "cwndtest"
    (reported,) = [each for each in cwnd.kernel.status() if each["name"] == "cwndtest"]
    assert reported["default"] and reported["former_default"] == same_default
    done = cwnd_command("kernel", "unload", "cwndtest")
    assert done.stdout == f"cwndtest is unloaded; the default is {same_default}\n"
    assert default() == same_default


@needs_kernel
@pytest.mark.parametrize("first", ["cwndtest_a", "cwndtest_b"])
def test_two_defaults_are_unloaded_in_either_order(same_default: str, first: str) -> None:
    load("reno", "cwndtest_a", default=True)
    load("elastic", "cwndtest_b", default=True)
    (second,) = {"cwndtest_a", "cwndtest_b"} - {first}
    restored = cwnd.kernel.unload(first)
    assert restored == ("cwndtest_a" if first == "cwndtest_b" else None) and default() == second
    assert cwnd.kernel.unload(second) == same_default and default() == same_default


@needs_kernel
def test_what_a_killed_load_left_is_reported_and_everything_comes_out(
    cwnd_command: Command, same_default: str
) -> None:
    others = [each["name"] for each in cwnd.kernel.status()]
    if others:
        pytest.skip(f"--all would take out {', '.join(others)}")
    load("reno", "cwndtest_a", default=True)
    load("elastic", "cwndtest_b", default=True)
    (PINS / "cwndtest_0").mkdir()
    try:
        listed = cwnd_command("kernel", "status")
        assert (listed.returncode, listed.stderr) == (0, "")
        assert "left by a load or unload that was killed" in listed.stdout and "cwndtest_b" in listed.stdout
        reported = json.loads(cwnd_command("kernel", "status", "--json").stdout)["loaded"]
        assert [(each["algorithm"], each["fault"] is None) for each in reported] == [
            (None, False),
            ("reno", True),
            ("elastic", True),
        ]
        done = cwnd_command("kernel", "unload", "--all")
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout == (
            f"cwndtest_0 is unloaded\ncwndtest_a is unloaded\n"
            f"cwndtest_b is unloaded; the default is {same_default}\n"
        )
        assert default() == same_default and not list(PINS.glob("cwndtest*"))
    finally:
        if (PINS / "cwndtest_0").exists():
            (PINS / "cwndtest_0").rmdir()


@needs_kernel
def test_a_kernel_that_leaves_hooks_out_is_not_called_ok(cwnd_command: Command, clean: None) -> None:
    doctor = cwnd_command("kernel", "doctor", "--json")
    (hooks,) = [check for check in json.loads(doctor.stdout)["checks"] if check["what"] == "hooks"]
    assert (doctor.returncode, hooks["ok"]) == (int(QUIRKY), not QUIRKY)
    done = cwnd_command("kernel", "load", "reno", "--as", "cwndtest")
    assert done.returncode == (2 if QUIRKY else 0)
    if QUIRKY:
        assert done.stderr == f"cwnd: error: hooks: {hooks['found']}\n" and "--force" in done.stderr
        assert "cwndtest" not in available()


#: Loads and unloads two defaults until it is killed.
ROUNDS = """
import cwnd
print(flush=True)
while True:
    for name in ("cwndtest_a", "cwndtest_b"):
        cwnd.kernel.load("reno", name, default=True, force=True)
    for name in ("cwndtest_a", "cwndtest_b"):
        cwnd.kernel.unload(name)
"""


@needs_kernel
@pytest.mark.slow
def test_a_load_or_unload_killed_at_any_moment_is_undone_by_unload(same_default: str) -> None:
    chance = random.Random(17)
    found = set()
    for _ in range(40):
        with subprocess.Popen([sys.executable, "-c", ROUNDS], stdout=subprocess.PIPE) as running:
            assert running.stdout is not None and running.stdout.readline()
            time.sleep(chance.uniform(0, 0.2))
            assert running.poll() is None
            running.kill()
        left = [each for each in cwnd.kernel.status() if each["name"].startswith("cwndtest")]
        found.add(tuple((each["fault"] is None, each["default"]) for each in left))
        chance.shuffle(left)
        for each in left:
            cwnd.kernel.unload(each["name"])
        assert default() == same_default and not list(PINS.glob("cwndtest*"))
        # The kernel ends a killed process' link a moment later.
        for _ in range(200):
            if not any(name.startswith("cwndtest") for name in available()):
                break
            time.sleep(0.01)
        assert not any(name.startswith("cwndtest") for name in available())
    # They were killed at different moments.
    assert len(found) > 1


@needs_kernel
@pytest.mark.skipif(shutil.which("setpriv") is None, reason="no setpriv")
def test_sockets_without_privileges_can_choose_it(clean: None) -> None:
    nobody = ["setpriv", "--reuid=65534", "--clear-groups"]
    choose = (
        "import socket; socket.socket().setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b'cwndtest')"
    )
    with load("reno", "cwndtest"):
        done = subprocess.run([*nobody, "/usr/bin/python3", "-c", choose], capture_output=True, text=True)
        assert (done.returncode, done.stderr) == (0, "")


NAMESPACE = "cwndtest"


@pytest.fixture
def namespace() -> Iterator[Callable[..., str]]:
    """Runs a command in a network namespace with nothing but a loopback."""
    if shutil.which("ip") is None:
        pytest.skip("no ip")

    def inside(*words: str) -> str:
        done = subprocess.run(["ip", "netns", "exec", NAMESPACE, *words], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout

    subprocess.run(["ip", "netns", "add", NAMESPACE], check=True)
    inside("ip", "link", "set", "lo", "up")
    yield inside
    subprocess.run(["ip", "netns", "del", NAMESPACE], capture_output=True)


def users(name: str) -> int:
    return next(int(each["users"]) for each in cwnd.kernel.status() if each["name"] == name)


@needs_kernel
def test_a_namespace_makes_it_its_default_and_gives_it_back(
    clean: None, namespace: Callable[..., str]
) -> None:
    reported = (
        "import socket as s; print(s.socket().getsockopt(s.IPPROTO_TCP, s.TCP_CONGESTION, 16).decode())"
    )
    default = "net.ipv4.tcp_congestion_control"
    with load("reno", "cwndtest"):
        namespace("sysctl", "-qw", f"{default}=cwndtest")
        assert users("cwndtest") == 1
        assert namespace(sys.executable, "-c", reported).rstrip("\0\n") == "cwndtest"
        namespace("sysctl", "-qw", f"{default}=reno")
        assert users("cwndtest") == 0
        # A namespace that ends gives it back too, some time later.
        namespace("sysctl", "-qw", f"{default}=cwndtest")
        subprocess.run(["ip", "netns", "del", NAMESPACE], check=True)
        for _ in range(100):
            if not users("cwndtest"):
                break
            time.sleep(0.1)
        assert users("cwndtest") == 0


def told_by_the_socket(end: socket.socket) -> dict[str, float]:
    """cwnd, ssthresh and smoothed RTT of struct tcp_info."""
    info = end.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 104)
    rtt_us, _, ssthresh, cwnd_pkts = struct.unpack_from("4I", info, 68)
    return {"cwnd_pkts": cwnd_pkts, "ssthresh_pkts": ssthresh, "rtt_ms": rtt_us / 1e3}


def acknowledged(ends: tuple[socket.socket, socket.socket], data: bytes) -> None:
    """Sends it and waits until nothing is in flight."""
    ends[0].sendall(data)
    left = len(data)
    while left:
        left -= len(ends[1].recv(left))
    for _ in range(500):
        (unacked,) = struct.unpack_from("I", ends[0].getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 104), 24)
        if not unacked:
            return
        time.sleep(0.01)


@needs_kernel
def test_a_trace_tells_of_a_connection_what_its_socket_tells() -> None:
    ends = connection("reno")
    port = ends[1].getsockname()[1]
    with cwnd.kernel.trace(port=port, cca="reno", interval="0 s") as trace:
        acknowledged(ends, bytes(2_000_000))
        # The sample at the next ACK has the state that the last one left.
        expected = told_by_the_socket(ends[0])
        acknowledged(ends, b"x")
    samples = trace.results.samples
    last = samples.row(-1, named=True)
    ssthresh = last["ssthresh_pkts"] or 0x7FFFFFFF
    assert {**{key: last[key] for key in expected}, "ssthresh_pkts": ssthresh} == expected
    assert (last["cca"], last["in_flight_pkts"], last["state"]) == ("reno", 1, "open")
    (flow,) = trace.results.flows.iter_rows(named=True)
    # From the first sample to the last, which knows nothing of the last byte.
    assert 1_500_000 < flow["goodput_mbps"] * (flow["stop_s"] - flow["start_s"]) * 1e6 / 8 <= 2_000_000
    (reported,) = trace.connections
    own = ":".join(map(str, ends[0].getsockname()))
    assert (reported["local"], reported["remote"]) == (own, f"127.0.0.1:{port}")
    assert trace.dropped == 0
    for end in ends:
        end.close()


@needs_kernel
def test_a_trace_has_at_most_a_sample_in_an_interval_and_only_of_what_is_asked_for() -> None:
    ends, others = connection("reno"), connection("reno")
    with cwnd.kernel.trace(port=ends[1].getsockname()[1], interval="20 ms") as trace:
        begin = time.monotonic()
        while time.monotonic() < begin + 0.5:
            transfer(ends, 50_000)
            transfer(others, 50_000)
    samples = trace.results.samples
    assert set(samples["flow"]) == {0} and 2 <= samples.height <= 26
    assert samples["time_s"].diff().drop_nulls().min() >= 0.02  # type: ignore[operator]
    for end in (*ends, *others):
        end.close()


@needs_kernel
def test_a_sample_of_a_trace_has_the_range_of_the_windows_since_the_last() -> None:
    ends = connection("reno")
    port = ends[1].getsockname()[1]
    with (
        cwnd.kernel.trace(port=port, interval="0 s") as each,
        cwnd.kernel.trace(port=port, interval="2 s") as few,
    ):
        # The window grows, and falls back while nothing is sent.
        acknowledged(ends, bytes(2_000_000))
        time.sleep(2.1)
        acknowledged(ends, b"x")
    acks, samples = (trace.results.samples for trace in (each, few))
    assert samples.height == 2
    first, last = samples.iter_rows(named=True)
    assert first["min_cwnd_pkts"] == first["cwnd_pkts"] == first["max_cwnd_pkts"]
    assert (last["min_cwnd_pkts"], last["max_cwnd_pkts"]) == (
        acks["cwnd_pkts"].min(),
        acks["cwnd_pkts"].max(),
    )
    assert last["cwnd_pkts"] < last["max_cwnd_pkts"]
    windows = acks["cwnd_pkts"].to_list()
    assert acks["max_cwnd_pkts"].to_list()[1:] == list(map(max, windows, windows[1:]))
    for end in ends:
        end.close()


@needs_kernel
def test_a_trace_sees_other_namespaces(namespace: Callable[..., str]) -> None:
    sends = (
        "import socket as s; server = s.create_server(('127.0.0.1', 0));"
        "client = s.create_connection(server.getsockname()); end, _ = server.accept();"
        "[(client.sendall(b'x'), end.recv(1)) for _ in range(5)]; print(server.getsockname()[1])"
    )
    with cwnd.kernel.trace() as trace:
        port = namespace(sys.executable, "-c", sends).strip()
    assert trace.results.samples.height
    ours = [one for one in trace.connections if one["remote"] == f"127.0.0.1:{port}"]
    assert [one["netns"] for one in ours] == [Path("/run/netns", NAMESPACE).stat().st_ino]


@needs_kernel
def test_the_command_keeps_what_it_traced_when_it_is_interrupted(tmp_path: Path) -> None:
    ends = connection("reno")
    words = ["--port", str(ends[1].getsockname()[1]), "--json", "--out", str(tmp_path / "out")]
    with subprocess.Popen(
        [sys.executable, "-m", "cwnd", "kernel", "trace", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as running:
        assert running.stdout is not None
        while True:  # until it follows
            transfer(ends)
            if running.poll() is not None or select.select([running.stdout], [], [], 0.05)[0]:
                break
        transfer(ends)
        time.sleep(0.5)
        running.send_signal(signal.SIGINT)
        out, err = running.communicate(timeout=60)
    assert (running.returncode, err) == (0, f"Written to {tmp_path / 'out'}\n")
    assert [item.name for item in tmp_path.iterdir()] == ["out"]
    lines = [json.loads(line) for line in out.splitlines()]
    results = cwnd.Results.load(tmp_path / "out")
    assert [line["cwnd_pkts"] for line in lines] == results.samples["cwnd_pkts"].to_list()
    assert results.plots() == ["cwnd", "rtt", "throughput"]
    assert results.flows["cca"].to_list() == ["reno"]
    for end in ends:
        end.close()


@needs_kernel
def test_samples_that_came_too_fast_are_counted() -> None:
    ends = connection("reno")
    for end in ends:
        end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    words = ["--port", str(ends[1].getsockname()[1]), "--interval", "0s", "--json"]
    with subprocess.Popen(
        [sys.executable, "-m", "cwnd", "kernel", "trace", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as running:
        assert running.stdout is not None
        while running.poll() is None and not select.select([running.stdout], [], [], 0.05)[0]:
            transfer(ends, 50_000)
        running.send_signal(signal.SIGSTOP)
        # Each of them leaves two records of 160 bytes in the ring of 4 MiB.
        for _ in range(15_000):
            ends[0].send(b"x")
            ends[1].recv(1)
            ends[1].send(b"x")
            ends[0].recv(1)
        running.send_signal(signal.SIGCONT)
        running.send_signal(signal.SIGINT)
        _, err = running.communicate(timeout=60)
    assert running.returncode == 0 and "samples are missing: they came too fast" in err
    for end in ends:
        end.close()


@needs_kernel
@pytest.mark.skipif(shutil.which("bpftool") is None, reason="no bpftool")
def test_a_hundred_loads_while_connections_are_open_leave_nothing_behind(clean: None) -> None:
    def count() -> tuple[int, int]:
        reported = [
            json.loads(subprocess.run(["bpftool", "-j", what, "list"], capture_output=True).stdout)
            for what in ("map", "prog")
        ]
        return len(reported[0]), len(reported[1])

    before = count()
    open_ones = []
    for turn in range(100):
        with load("elastic", "cwndtest"):
            open_ones.append(connection("cwndtest"))
            transfer(open_ones[-1], 50_000)
        # Those of former loads go on.
        transfer(open_ones[turn // 2], 50_000)
        if len(open_ones) > 50:
            for end in open_ones[len(open_ones) - 51]:
                end.close()
            open_ones[len(open_ones) - 51] = connection("reno")
    for ends in open_ones:
        transfer(ends, 50_000)
        for end in ends:
            end.close()
    # The kernel frees them some time after the last connection.
    for _ in range(100):
        if count() <= before:
            break
        time.sleep(0.1)
    assert count()[0] <= before[0] and count()[1] <= before[1]


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="no systemd-analyze")
def test_what_the_unit_is_exposed_to_is_rated_below_2() -> None:
    unit = Path(__file__).parents[2] / "crates/kernel/systemd/cwnd@.service"
    # In tenths; 0 is none.
    words = ["systemd-analyze", "security", "--no-pager", "--offline=true", "--threshold=20", str(unit)]
    done = subprocess.run(words, capture_output=True, text=True)
    if "offline" in done.stderr:
        pytest.skip(f"an older systemd-analyze: {done.stderr.strip()}")
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["load", "elastc"], "unknown algorithm 'elastc'; did you mean 'elastic'?"),
        (["load", "elastic", "--param", "bta=1"], "'elastic' has no parameter 'bta'; it has beta"),
        (["load", "elastic", "--param", "beta=7"], "'beta' cannot be '7'; accepted: 0.1 to 0.999"),
        (["load", "elastic", "--param", "beta"], "'beta' is not NAME=VALUE"),
        (["trace", "--port", "0"], "--port: 0 is out of range; 1 to 65535"),
        (["trace", "--port", "http"], "--port: http is not a whole number; 1 to 65535"),
        (["trace", "--interval", "5"], "--interval: '5' has no unit"),
        (["trace", "--interval", "2 min"], "--interval: '2 min' is out of range; '0 s', which is every ACK"),
        (["trace", "--duration", "0 s"], "--duration: '0 s' is out of range; more than 0"),
        (["trace", "--out", "/dev/null"], "--out: /dev/null: not a directory"),
        (["unload"], "give one NAME or --all"),
        (["unload", "x", "--all"], "give one NAME or --all"),
    ],
)
def test_what_cannot_be_done_is_refused_in_one_line(
    cwnd_here: Command, arguments: list[str], said: str
) -> None:
    done = cwnd_here("kernel", *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr and done.stderr.count("\n") == 1


@needs_kernel
def test_names_that_are_taken_or_impossible_are_refused(cwnd_command: Command) -> None:
    for arguments, said in [
        (["trace", "--cca", "elastc"], "'elastc' is not in the kernel; there is "),
        (["load", "reno", "--force"], "the kernel has a 'reno' already; choose another name with --as"),
        (["load", "reno", "--as", "no-dash"], "1 to 15 letters, digits and '_'"),
    ]:
        done = cwnd_command("kernel", *arguments)
        assert done.returncode == 2 and said in done.stderr and done.stderr.count("\n") == 1
