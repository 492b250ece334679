"""Algorithms in this machine's kernel. What needs root and BTF says so when it is skipped."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator

import pytest

import cwnd
from conftest import Command


def able() -> str | None:
    """Why nothing can be loaded here."""
    if not sys.platform.startswith("linux"):
        return "not Linux"
    missing = [check["found"] for check in cwnd.kernel.doctor() if not check["ok"]]
    return "; ".join(missing) or None


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


@needs_kernel
def test_a_context_manager_loads_and_takes_out(clean: None) -> None:
    with cwnd.kernel.load("elastic", "cwndtest", params={"beta": 0.8}) as loaded:
        assert loaded.name == "cwndtest" and "cwndtest" in available()
        (told,) = [each for each in cwnd.kernel.status() if each["name"] == "cwndtest"]
        assert (told["algorithm"], told["params"]["beta"], told["users"]) == ("elastic", "0.8", 0)
        ends = connection("cwndtest")
        transfer(ends)
        (told,) = [each for each in cwnd.kernel.status() if each["name"] == "cwndtest"]
        assert told["users"] == 1
        for end in ends:
            end.close()
    assert "cwndtest" not in available()


@needs_kernel
def test_a_number_with_a_name_is_loaded_and_told_by_it(clean: None) -> None:
    with cwnd.kernel.load("agile-sd", "cwndtest", params={"lambda_max": "auto"}):
        (told,) = [each for each in cwnd.kernel.status() if each["name"] == "cwndtest"]
        assert (told["params"]["lambda_max"], told["params"]["lambda_min"]) == ("auto", "1")


@needs_kernel
def test_the_command_loads_tells_and_unloads(cwnd_command: Command, clean: None) -> None:
    done = cwnd_command("kernel", "load", "reno", "--as", "cwndtest")
    assert (done.returncode, done.stderr) == (0, "") and "cwndtest is loaded" in done.stdout
    listed = cwnd_command("kernel", "status")
    assert "cwndtest" in listed.stdout and "arithmetic = rfc" in listed.stdout
    told = json.loads(cwnd_command("kernel", "status", "--json").stdout)["loaded"]
    (mine,) = [each for each in told if each["name"] == "cwndtest"]
    assert {"cong_avoid", "ssthresh", "undo_cwnd"} <= {hook["name"] for hook in mine["hooks"]}
    assert cwnd_command("kernel", "unload", "cwndtest").stdout == "cwndtest is out\n"
    refused = cwnd_command("kernel", "unload", "cwndtest")
    assert refused.returncode == 2 and "'cwndtest' is not loaded" in refused.stderr


@needs_kernel
def test_the_default_changes_and_comes_back(cwnd_command: Command, clean: None) -> None:
    def default() -> str:
        with open("/proc/sys/net/ipv4/tcp_congestion_control") as file:  # noqa: PTH123
            return file.read().strip()

    before = default()
    try:
        assert cwnd_command("kernel", "load", "reno", "--as", "cwndtest", "--default").returncode == 0
        assert default() == "cwndtest"
        (told,) = [each for each in cwnd.kernel.status() if each["name"] == "cwndtest"]
        assert told["default"] and told["former_default"] == before
    finally:
        cwnd_command("kernel", "unload", "cwndtest")
    assert default() == before


@needs_kernel
@pytest.mark.skipif(shutil.which("setpriv") is None, reason="no setpriv")
def test_sockets_without_privileges_can_choose_it_and_only_root_can_load(clean: None) -> None:
    nobody = ["setpriv", "--reuid=65534", "--clear-groups"]
    choose = (
        "import socket; socket.socket().setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b'cwndtest')"
    )
    with cwnd.kernel.load("reno", "cwndtest"):
        done = subprocess.run([*nobody, "/usr/bin/python3", "-c", choose], capture_output=True, text=True)
        assert (done.returncode, done.stderr) == (0, "")


@needs_kernel
@pytest.mark.skipif(shutil.which("bpftool") is None, reason="no bpftool")
def test_a_hundred_loads_while_connections_are_open_leave_nothing_behind(clean: None) -> None:
    def count() -> tuple[int, int]:
        told = [
            json.loads(subprocess.run(["bpftool", "-j", what, "list"], capture_output=True).stdout)
            for what in ("map", "prog")
        ]
        return len(told[0]), len(told[1])

    before = count()
    open_ones = []
    for turn in range(100):
        with cwnd.kernel.load("elastic", "cwndtest"):
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


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["load", "elastc"], "unknown algorithm 'elastc'; did you mean 'elastic'?"),
        (["load", "elastic", "--param", "bta=1"], "'elastic' has no parameter 'bta'; it has beta"),
        (["load", "elastic", "--param", "beta=7"], "'beta' cannot be '7'; accepted: 0.1 to 0.999"),
        (["load", "elastic", "--param", "beta"], "'beta' is not NAME=VALUE"),
        (["unload"], "name one, or say --all"),
        (["unload", "x", "--all"], "name one, or say --all"),
    ],
)
def test_what_cannot_be_done_is_refused_in_one_line(
    cwnd_command: Command, arguments: list[str], said: str
) -> None:
    done = cwnd_command("kernel", *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr and done.stderr.count("\n") == 1


@needs_kernel
def test_names_that_are_taken_or_impossible_are_refused(cwnd_command: Command) -> None:
    for arguments, said in [
        (["load", "reno"], "the kernel has a 'reno' already; choose another name with --as"),
        (["load", "reno", "--as", "no-dash"], "1 to 15 letters, digits and '_'"),
    ]:
        done = cwnd_command("kernel", *arguments)
        assert done.returncode == 2 and said in done.stderr and done.stderr.count("\n") == 1
