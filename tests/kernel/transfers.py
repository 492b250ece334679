"""A real transfer with every algorithm: `make kernel-test`.

Three network namespaces: sender, router, receiver. The bottleneck is the router's way to the receiver. For
each algorithm, and for the kernel's own cubic and bbr behind programs that call them: iperf3 uses it, ss
names it, its window is followed, the kernel counts what its hooks cost. A window that the path cannot have
caused is a failure, unless the kernel leaves hooks out. Prints the table of docs/kernel.md;
--trace writes the windows to a CSV file. Needs root, iperf3, ss and tc.
"""

from __future__ import annotations

import argparse
import csv
import json
import re
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import cwnd

RATE_MBPS = 50
BUFFER_BYTES = 250_000
SECONDS = 5
SENDER, ROUTER, RECEIVER = (f"cwnd_{role}" for role in ("sender", "router", "receiver"))
NATIVE = ("cubic", "bbr")
STATS = Path("/proc/sys/kernel/bpf_stats_enabled")
#: Ten times what fills the queue; slow start goes to twice of it.
ABSURD_PKTS = 10 * BUFFER_BYTES // 1448


#: s, cwnd, ssthresh, RTT in ms.
Sample = tuple[float, int, int | None, float]


def call(*words: object, check: bool = True) -> str:
    done = subprocess.run(
        [str(word) for word in words], capture_output=True, text=True, timeout=300, check=False
    )
    if check and done.returncode:
        sys.exit(f"{' '.join(map(str, words))}: {done.stderr or done.stdout}")
    return done.stdout


def inside(namespace: str, *words: object, check: bool = True) -> str:
    return call("ip", "netns", "exec", namespace, *words, check=check)


def build() -> None:
    for namespace in (SENDER, ROUTER, RECEIVER):
        call("ip", "netns", "add", namespace)
    for left, right, number in ((SENDER, ROUTER, 1), (ROUTER, RECEIVER, 2)):
        a, b = f"cwnd{number}a", f"cwnd{number}b"
        call("ip", "link", "add", a, "netns", left, "type", "veth", "peer", "name", b, "netns", right)
        for namespace, device, host in ((left, a, 1), (right, b, 2)):
            inside(namespace, "ip", "addr", "add", f"10.99.{number}.{host}/24", "dev", device)
            inside(namespace, "ip", "link", "set", device, "up")
    inside(SENDER, "ip", "route", "add", "default", "via", "10.99.1.2")
    inside(RECEIVER, "ip", "route", "add", "default", "via", "10.99.2.1")
    inside(ROUTER, "sysctl", "-qw", "net.ipv4.ip_forward=1")
    # The sender's memory of one transfer must not shape the next.
    inside(SENDER, "sysctl", "-qw", "net.ipv4.tcp_no_metrics_save=1")
    inside(
        ROUTER,
        *("tc", "qdisc", "add", "dev", "cwnd2a", "root", "tbf", "rate", f"{RATE_MBPS}mbit"),
        *("burst", "16kb", "limit", BUFFER_BYTES),
    )


def remove() -> None:
    for namespace in (SENDER, ROUTER, RECEIVER):
        call("ip", "netns", "del", namespace, check=False)


def follow(name: str) -> tuple[float, list[Sample]]:
    """Mbit/s received, and a sample about every 20 ms."""
    inside(RECEIVER, "iperf3", "-s", "-D", "-1", "--idle-timeout", "20")
    time.sleep(0.2)
    words = ["ip", "netns", "exec", SENDER, "iperf3", "-c", "10.99.2.2", "-C", name, "-t", str(SECONDS), "-J"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as running:
        seen = []
        begin = time.monotonic()
        while running.poll() is None and time.monotonic() - begin < SECONDS + 10:
            for line in re.split(r"\n(?=\S)", inside(SENDER, "ss", "-tinHO", "state", "established")):
                window = re.search(
                    rf" {name} .*\brtt:([0-9.]+)/.* cwnd:([0-9]+)(?: ssthresh:([0-9]+))?", line
                )
                # The connection that iperf3 talks through is short of data.
                if window and "busy:" in line and int(re.search(r"bytes_sent:([0-9]+)", line)[1]) > 100_000:
                    slow = int(window[3]) if window[3] else None
                    seen.append((time.monotonic() - begin, int(window[2]), slow, float(window[1])))
            time.sleep(0.02)
        running.kill()
        reported = json.loads(running.stdout.read())
    if "error" in reported:
        sys.exit(f"{name}: {reported['error']}")
    return reported["end"]["sum_received"]["bits_per_second"] / 1e6, seen


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trace", type=Path, help="write the windows there, as CSV")
    arguments = parser.parse_args()
    checks = cwnd.kernel.doctor()
    missing = [check["found"] for check in checks if not check["ok"] and check["what"] != "hooks"]
    leaves_out = not next((check["ok"] for check in checks if check["what"] == "hooks"), True)
    if missing:
        print(f"SKIPPED: {'; '.join(missing)}")
        return
    stats = STATS.read_text()
    failures, traces = [], []
    remove()
    try:
        build()
        STATS.write_text("1")
        headings = "algorithm | instructions | verified | cong_avoid, cong_control | pkts_acked"
        print(f"| {headings} | Mbit/s | cwnd | RTT, ms |")
        print("|---|--:|--:|--:|--:|--:|--:|--:|")
        names = [f"the kernel's {native}" for native in NATIVE]
        names += [algorithm["name"] for algorithm in cwnd.algorithms()]
        for name in names:
            with load(name) as loaded:
                # A namespace makes it its default without privileges over the others.
                inside(SENDER, "sysctl", "-qw", f"net.ipv4.tcp_congestion_control={loaded.name}")
                rate, seen = follow(loaded.name)
                inside(SENDER, "sysctl", "-qw", "net.ipv4.tcp_congestion_control=reno")
                (reported,) = [each for each in cwnd.kernel.status() if each["name"] == loaded.name]
            print(row(name, reported["hooks"], rate, seen), flush=True)
            traces += [(name, *sample) for sample in seen]
            if rate < RATE_MBPS / 2:
                failures.append(f"{name}: {rate:.1f} Mbit/s of {RATE_MBPS}")
            if len(seen) < 20:
                failures.append(f"{name}: ss named it {len(seen)} times")
            absurd = [window for _, window, _, _ in seen if window > ABSURD_PKTS]
            if absurd:
                print(f"{name}: a cwnd of {max(absurd)} in {len(absurd)} of {len(seen)}", file=sys.stderr)
            if absurd and not leaves_out:
                failures.append(f"{name}: absurd windows")
            if not any(hook["calls"] for hook in reported["hooks"]):
                failures.append(f"{name}: no hook was called")
    finally:
        STATS.write_text(stats)
        remove()
    if arguments.trace:
        with arguments.trace.open("w", newline="") as file:
            out = csv.writer(file)
            out.writerow(["cca", "time_s", "cwnd_pkts", "ssthresh_pkts", "rtt_ms"])
            out.writerows(traces)
    for failure in failures:
        print(f"FAILED: {failure}", file=sys.stderr)
    sys.exit(bool(failures))


def load(name: str) -> cwnd.kernel.Loaded:
    """An algorithm of ours, or the kernel's own behind programs that call it."""
    if native := re.fullmatch("the kernel's (.*)", name):
        example = ("cargo", "run", "--quiet", "-p", "cwnd-kernel", "--example", "native", "--")
        call(*example, native[1], f"n_{native[1]}")
        return cwnd.kernel.Loaded(f"n_{native[1]}")
    return cwnd.kernel.load(name, f"c_{name.replace('-', '_')}", force=True)


def row(name: str, hooks: list[dict[str, Any]], rate: float, seen: list[Sample]) -> str:
    def cost_ns(*called: str) -> str:
        costs = [
            hook["total_ns"] / hook["calls"] for hook in hooks if hook["name"] in called and hook["calls"]
        ]
        return f"{costs[0]:.0f} ns" if costs else ""

    cells = [
        name,
        f"{sum(hook['insns'] for hook in hooks):,}",
        f"{sum(hook['verified_insns'] for hook in hooks):,}",
        cost_ns("cong_avoid", "cong_control"),
        cost_ns("pkts_acked"),
        f"{rate:.1f}",
        f"{statistics.mean([cwnd for _, cwnd, _, _ in seen] or [0]):.0f}",
        f"{statistics.mean([rtt_ms for *_, rtt_ms in seen] or [0]):.1f}",
    ]
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    main()
