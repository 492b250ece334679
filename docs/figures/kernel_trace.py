"""docs/img/kernel-cwnd.svg and kernel-rtt.svg: real transfers as traced, simulated ones beside them.

Two network namespaces, between them a path made of two TUN devices and a thread: 50 Mbit/s, 20 ms each way,
a queue of 167 packets, which is one BDP. iperf3 sends by the kernel's own cubic and reno, and by elastic as
loaded. Needs root, iperf3 and what cwnd kernel doctor lists.
"""

from __future__ import annotations

import contextlib
import fcntl
import itertools
import os
import select
import shutil
import struct
import subprocess
import sys
import threading
import time
from collections import deque
from pathlib import Path

import cwnd
from cwnd._report import figures

RATE_BPS = 50e6
DELAY_S = 0.02
BUFFER_PKTS = 167
DURATION_S = 20
ALGORITHMS = ("elastic", "cubic", "reno")
SENDER, RECEIVER = "cwnd_figure_a", "cwnd_figure_b"
IMAGES = Path(__file__).parents[1] / "img"
LATE_S = 0.01
TRIES = 5
#: How late a packet left the path at most, in the transfer that runs.
latest_s = [0.0]
ports = itertools.count(5300)
TUNSETIFF, IFF_TUN, IFF_NO_PI = 0x400454CA, 0x0001, 0x1000


def main() -> None:
    checks = [check for check in cwnd.kernel.doctor() if check["what"] != "hooks"]
    lacking = [check["found"] for check in checks if not check["ok"]]
    lacking += [f"no {tool}" for tool in ("ip", "iperf3") if shutil.which(tool) is None]
    lacking += ["no /dev/net/tun"] * (not Path("/dev/net/tun").exists())
    if lacking:
        print(f"SKIPPED {Path(__file__).name}: {'; '.join(lacking)}")
        return
    remove()
    try:
        build()
        with cwnd.kernel.load("elastic", force=True):
            pairs = [(traced(cca), simulated(cca)) for cca in ALGORITHMS]
    finally:
        remove()
    together, *others = [results for pair in pairs for results in pair]
    for results in others:
        together += results
    facts = "one flow, 50 Mbit/s, RTT 40 ms, buffer 167 packets"
    for kind, of in (("cwnd", "Congestion window"), ("rtt", "Smoothed round-trip time")):
        figure = together.plot(kind, title=f"{of}: {facts}")
        figures.write_figure(figure, IMAGES / f"kernel-{kind}.svg")
    print(
        together.flows.select(
            "scenario", "goodput_mbps", "retransmitted_pkts", "mean_rtt_ms", "mean_cwnd_pkts"
        )
    )


def traced(cca: str) -> cwnd.Results:
    """A transfer on a path that was never late by more than `LATE_S`, whatever came of it."""
    kernel = ".".join(os.uname().release.split(".")[:2])
    for _ in range(TRIES):
        inside(RECEIVER, "iperf3", "-s", "-D", "-1", "--idle-timeout", 20)
        time.sleep(0.5)
        latest_s[0] = 0
        # The connection that carries data, not of iperf3's control connection.
        port = next(ports)
        with cwnd.kernel.trace(port=port, interval="50 ms", name=f"{cca}, Linux {kernel}") as trace:
            inside(SENDER, "iperf3", "-c", "10.98.0.2", "-C", cca, "-t", DURATION_S, "--cport", port)
        print(f"{cca}: the path was late by at most {1e3 * latest_s[0]:.1f} ms", flush=True)
        if trace.dropped:
            sys.exit(f"{trace.dropped} samples are missing")
        if latest_s[0] <= LATE_S:
            return trace.results
    sys.exit(f"{cca}: the path was late {TRIES} times; the machine has other things to do")


def simulated(cca: str) -> cwnd.Results:
    return cwnd.run(
        cwnd.Scenario.parse(
            f"""
            name = "{cca}, simulated"
            duration = "{DURATION_S} s"
            samples = "50 ms"
            stack = {{ profile = "linux", header = 52, handshake = "first" }}
            [[chain]]
            rate = "{RATE_BPS} bps"
            delay = "{DELAY_S} s"
            buffer = {BUFFER_PKTS}
            [[flows]]
            cca = "{cca}"
            """
        )
    )


def call(*words: object, check: bool = True) -> None:
    done = subprocess.run(list(map(str, words)), capture_output=True, text=True, timeout=100, check=False)
    if check and done.returncode:
        sys.exit(f"{' '.join(map(str, words))}: {done.stderr or done.stdout}")


def inside(namespace: str, *words: object) -> None:
    call("ip", "netns", "exec", namespace, *words)


def build() -> None:
    ends = []
    for number, namespace in enumerate((SENDER, RECEIVER), 1):
        device = f"cwndfig{number}"
        end = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
        fcntl.ioctl(end, TUNSETIFF, struct.pack("16sH22x", device.encode(), IFF_TUN | IFF_NO_PI))
        call("ip", "netns", "add", namespace)
        call("ip", "link", "set", device, "netns", namespace, "txqueuelen", 10_000)
        inside(namespace, "ip", "addr", "add", f"10.98.0.{number}/24", "dev", device)
        inside(namespace, "ip", "link", "set", device, "up")
        # The metrics of one transfer must not shape the next.
        inside(namespace, "sysctl", "-qw", "net.ipv4.tcp_no_metrics_save=1")
        # iperf3 -C chooses after it connected: with bbr as the default the connection would stay paced.
        inside(namespace, "sysctl", "-qw", "net.ipv4.tcp_congestion_control=reno")
        ends.append(end)
    threading.Thread(target=carry, args=ends, daemon=True).start()


def remove() -> None:
    for namespace in (SENDER, RECEIVER):
        call("ip", "netns", "del", namespace, check=False)


def carry(sender: int, receiver: int) -> None:
    """Packets of the sender through a queue of `BUFFER_PKTS` at `RATE_BPS`, everything with a delay.

    Ends when the devices do.
    """
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    ways = {sender: deque[tuple[float, bytes]](), receiver: deque[tuple[float, bytes]]()}
    leaves = deque[float]()  # when each packet in the queue will have left it
    with contextlib.suppress(OSError):
        while True:
            due = min((way[0][0] for way in ways.values() if way), default=time.monotonic() + 1)
            ready, _, _ = select.select(list(ways), [], [], max(0, due - time.monotonic()))
            for end in ready:
                # A few at a time, so that due packets need not wait.
                for packet in itertools.takewhile(bool, (read(end) for _ in range(8))):
                    now = at = time.monotonic()
                    if end == sender:
                        while leaves and leaves[0] <= now:
                            leaves.popleft()
                        if len(leaves) >= BUFFER_PKTS:
                            continue
                        at = max(now, leaves[-1] if leaves else now) + len(packet) * 8 / RATE_BPS
                        leaves.append(at)
                    ways[end].append((at + DELAY_S, packet))
            for end, other in ((sender, receiver), (receiver, sender)):
                while ways[end] and ways[end][0][0] <= (now := time.monotonic()):
                    due, packet = ways[end].popleft()
                    os.write(other, packet)
                    latest_s[0] = max(latest_s[0], now - due)


def read(end: int) -> bytes:
    """The next packet; empty if there is none."""
    try:
        return os.read(end, 65536)
    except BlockingIOError:
        return b""


if __name__ == "__main__":
    main()
