"""Plants one fault at a time in a copy of the fast engine, and compares it with the plain network.

    python tools/engine_mutants.py                 every fault, as a table of Markdown
    python tools/engine_mutants.py link/ merge     those with one of these in their file or their description
    python tools/engine_mutants.py --check         nothing is built: each fault has its place once

A fault is one changed line of what the fast engine does not share with the plain network. Two tests of
crates/engine/tests/all/plain.rs compare both in SCENARIOS random scenarios each, one test after the other,
until a result differs. The table has the test and how many of its scenarios that takes. The tool ends with 1
if fewer than FOUND_MIN of the faults are found. The folder target/engine-mutants keeps the copy and its
build.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent
WORK = ROOT / "target" / "engine-mutants"
COPY, BUILD = WORK / "copy", WORK / "build"

SCENARIOS = 5000
FOUND_MIN = 0.95
#: A test that takes longer does not end.
TEST_MAX_S = 600
TESTS = {
    "mixed": "the_fast_engine_equals_the_plain_network_in_20000_scenarios",
    "tied": "they_are_equal_where_much_happens_at_one_instant_in_10000_scenarios",
}
#: A release that is built in parts: a changed line costs seconds.
PROFILE = {
    "CARGO_INCREMENTAL": "1",
    "CARGO_PROFILE_RELEASE_LTO": "off",
    "CARGO_PROFILE_RELEASE_CODEGEN_UNITS": "32",
    "CARGO_PROFILE_RELEASE_OPT_LEVEL": "2",
    "CARGO_PROFILE_RELEASE_DEBUG": "0",
}


class Fault(NamedTuple):
    """A changed line of a file in crates/engine/src."""

    file: str
    before: str
    after: str
    fault: str


_TAIL, _INBOX = "fast/link/droptail.rs", "fast/shared/inbox.rs"
_RUNS, _MERGE, _OUTCOMES = "fast/shared/runs.rs", "fast/shared/merge.rs", "fast/shared/outcomes.rs"
_LINKS, _CONNECTION = "fast/shared/links.rs", "fast/ends/connection.rs"
_TRAIN, _NOTED = "fast/ends/train.rs", "fast/ends/noted.rs"
_SHARD, _SCHEDULE, _TOPOLOGY = "fast/shard.rs", "fast/schedule.rs", "fast/topology.rs"
_LOOKS, _RESULTS = "fast/measure/looks.rs", "fast/measure/results.rs"

FAULTS = (
    Fault(
        _TAIL,
        "if self.free_at < now {",
        "if self.free_at <= now {",
        "a packet that comes as the last one leaves finds an idle link",
    ),
    Fault(
        _TAIL,
        "if self.free_at - now >= self.full_ticks {",
        "if self.free_at - now > self.full_ticks {",
        "a full buffer has room as a packet leaves",
    ),
    Fault(
        _TAIL,
        "tx_ticks == self.tx_ticks && free_at - now < self.full_ticks {",
        "tx_ticks == self.tx_ticks && free_at - now <= self.full_ticks {",
        "a full buffer has room for a train as a packet leaves",
    ),
    Fault(
        _TAIL,
        "self.run > threshold && self.free_at - T::count(now_ns) >= threshold",
        "self.run > threshold && self.free_at - T::count(now_ns) > threshold",
        "a mark does not count a packet that is leaving",
    ),
    Fault(
        _TAIL,
        "self.free_at.saturating_sub(now).div_ceil(self.tx_ticks)",
        "self.free_at.saturating_sub(now) / self.tx_ticks",
        "the queue in closed form is rounded down",
    ),
    Fault(
        _TAIL,
        "self.let_go_before(now + 1);",
        "self.let_go_before(now);",
        "a queue of several sizes holds what leaves at a look",
    ),
    Fault(
        _TAIL,
        "self.max_queue = self.held_pkts(now_ns) as u32;",
        "self.max_queue = self.max_queue.max(self.held_pkts(now_ns) as u32);",
        "the longest queue is that of the warmup, too",
    ),
    Fault(
        _TAIL,
        "let gone = run.pkts.min((time - 1 - run.departure) / run.tx_ticks.max(1) + 1);",
        "let gone = run.pkts.min((time - run.departure) / run.tx_ticks.max(1) + 1);",
        "a packet is gone as it leaves",
    ),
    Fault(
        _TAIL,
        "    T::ns_after(free_at.saturating_sub(tx_ticks))",
        "    T::ns_after(free_at)",
        "a wait includes the packet's own sending",
    ),
    Fault(
        "fast/link/fifo.rs",
        "if lost { Err(begins_ns()) } else { Ok(()) }",
        "if lost { Err(now_ns) } else { Ok(()) }",
        "a loss on a wire counts as the packet arrives",
    ),
    Fault(
        "fast/link/late_losses.rs",
        "filter(move |Reverse((lost_ns, _))| *lost_ns > now)",
        "filter(move |Reverse((lost_ns, _))| *lost_ns >= now)",
        "a loss at the end of the warmup counts after it",
    ),
    Fault(
        "fast/link/passing.rs",
        ".add(now_ns, begins_ns);",
        ".add(now_ns, begins_ns.min(now_ns));",
        "a mark counts as the packet arrives",
    ),
    Fault(
        "fast/link/timing.rs",
        "        Reverse(busy_since_ns)",
        "        busy_since_ns",
        "a tie goes to the link that is busy for longer",
    ),
    Fault(
        "fast/onward.rs",
        "    if bytes != to.bytes {",
        "    if bytes > to.bytes {",
        "a short packet takes as long as a full one",
    ),
    Fault(
        "fast/onward.rs",
        "if packets.len() == 1 {",
        "if packets.len() == 2 {",
        "the agenda does not record when a first packet is due",
    ),
    Fault(
        "fast/onward.rs",
        "    agenda.hasten(flow, at);",
        "    agenda.prefetch(flow);",
        "the agenda does not record when an ACK is due",
    ),
    Fault(
        "fast/network.rs",
        "see(packet.hop - 1, packet.at, packet.segment);",
        "see(packet.hop, packet.at, packet.segment);",
        "a packet on a wire counts at the next hop",
    ),
    Fault(
        "fast/network.rs",
        "let rank = (!hop.through_inbox).then(",
        "let rank = hop.through_inbox.then(",
        "a tie goes to the packet that comes from a link",
    ),
    Fault(
        _INBOX,
        "if packet.at > self.line_end {",
        "if packet.at >= self.line_end {",
        "packets of one instant stand in a line unsorted",
    ),
    Fault(
        _INBOX,
        "packets.retain(|packet| packet.at >= span.until);",
        "packets.retain(|packet| packet.at > span.until);",
        "a packet that arrives at the end of a span is forgotten",
    ),
    Fault(
        _INBOX,
        "self.earliest = earliest.min(self.later.as_ref().map_or(NEVER, |later| later.earliest()));",
        "self.earliest = earliest;",
        "the first arrival is not sought in the calendar",
    ),
    Fault(
        "fast/shared/arrivals.rs",
        "instant_end = at_and_place | u64::from(u32::MAX);",
        "instant_end = at_and_place;",
        "packets of one instant are not sorted by rank",
    ),
    Fault(
        _RUNS,
        "        while self.next >> RUN_BITS == instant {",
        "        if self.next >> RUN_BITS == instant {",
        "of three packets of an instant the third is not sorted in",
    ),
    Fault(
        _RUNS,
        "Some(packet) if packet.at < self.until =>",
        "Some(packet) if packet.at <= self.until =>",
        "runs go on to the end of the span, included",
    ),
    Fault(
        _MERGE,
        "is_tied = instant == at || is_tied && instant > at;",
        "is_tied = instant == at;",
        "a third shard hides the tie of two",
    ),
    Fault(_MERGE, "        self.tied.reverse();", "", "a merge takes tied packets the last first"),
    Fault(
        _OUTCOMES,
        "if packets.settle_back(|before| before.at > at) == 0 {",
        "if packets.settle_back(|before| before.at >= at) == 0 {",
        "of packets that a wire delivers at once the last is first",
    ),
    Fault(
        _OUTCOMES,
        "late_losses.note(packet.at, lost_ns, packet.hop);",
        "late_losses.note(lost_ns, lost_ns, packet.hop);",
        "a shard counts losses as packets arrive",
    ),
    Fault(
        _OUTCOMES,
        "if is_idle && let Some(first) = packets.front() {",
        "if is_idle && let Some(first) = packets.back() {",
        "a shard wakes a receiver for the last packet of a span",
    ),
    Fault(
        _OUTCOMES,
        "        if bytes != self.topology.hops[hop as usize].bytes {",
        "        if bytes > self.topology.hops[hop as usize].bytes {",
        "a shard counts short packets as full ones",
    ),
    Fault(
        _LINKS,
        "} else if managed.next_departure_ns() < until {",
        "} else if managed.next_departure_ns() <= until {",
        "a packet leaves a managed link before one that arrives at that instant",
    ),
    Fault(
        _LINKS,
        "            if in_order {",
        "            if !in_order {",
        "shards do not know how long a link is busy",
    ),
    Fault(
        _LINKS,
        "        let flow = self.numbering.id(next.shard, flow);",
        "",
        "fair queues know flows by their numbers in shards",
    ),
    Fault(
        _SHARD,
        "for packet in packets.iter().take_while(|packet| packet.at <= end) {",
        "for packet in packets.iter().take_while(|packet| packet.at < end) {",
        "a packet that arrives at the end of the run does not count",
    ),
    Fault(
        _SHARD,
        "                flow.note_bytes(packet.at, packet.segment);",
        "",
        "the bytes of packets whose ACKs do not return do not count",
    ),
    Fault(
        "fast/threads.rs",
        "                step(own);",
        "                let _ = own;",
        "the calling thread leaves its shard out",
    ),
    Fault(
        _SCHEDULE,
        "network.own_links.iter_mut().for_each(|link| link.state.begin_measuring(now));",
        "",
        "links that one flow crosses have no warmup",
    ),
    Fault(
        _SCHEDULE,
        "if until > self.sampler.due_ns && self.next_event_ns() > self.sampler.due_ns {",
        "if until > self.sampler.due_ns {",
        "a sample precedes what links deliver at that instant",
    ),
    Fault(
        _SCHEDULE,
        "                .min(self.warmup_end_ns.saturating_add(1))\n",
        "",
        "a span goes on beyond the warmup",
    ),
    Fault(
        _SCHEDULE,
        "late: late_losses(&self.shards, end) };",
        "late: LateLossesByFlow::new() };",
        "losses count that have yet to happen when the run ends",
    ),
    Fault(
        _SCHEDULE,
        "let added_until = if self.begins_with_transfer { now + 1 } else { until };",
        "let added_until = until;",
        "a fair queue knows a transfer by the connection that was free too soon",
    ),
    Fault(
        _TOPOLOGY,
        "let holds_two = link.buffer_pkts.is_none_or(|pkts| pkts >= 2)",
        "let holds_two = link.buffer_pkts.is_none_or(|pkts| pkts >= 1)",
        "a buffer of one packet only delays",
    ),
    Fault(
        _TOPOLOGY,
        "alone && link.per == 0.0 && no_slower && holds_two && !managed && !leads_to_others();",
        "alone && link.per == 0.0 && no_slower && holds_two && !managed;",
        "a link before one that others cross only delays",
    ),
    Fault(
        _TOPOLOGY,
        "                    smallest_apart_ns -= tx_ns - smallest_tx_ns;\n",
        "",
        "a short packet stays as far behind a full one",
    ),
    Fault(
        _TOPOLOGY,
        "let onward_ns = known.onward_ns - through_ns(known.bytes) + through_ns(bytes);",
        "let onward_ns = known.onward_ns - through_ns(bytes) + through_ns(bytes);",
        "links that only delay do so for short packets as for full ones",
    ),
    Fault(
        _TOPOLOGY,
        "let smallest = hop.bytes.min(flow.stack.ack_bytes);",
        "let smallest = hop.bytes.max(flow.stack.ack_bytes);",
        "a span is as long as a full packet takes",
    ),
    Fault(
        _CONNECTION,
        "if arrival >= self.timers_at {",
        "if arrival > self.timers_at {",
        "an ACK precedes a timer of the same instant",
    ),
    Fault(
        _CONNECTION,
        "measured.received.delivered_bytes.saturating_sub(early_bytes);",
        "measured.received.delivered_bytes;",
        "what came early in the warmup counts after it",
    ),
    Fault(
        _CONNECTION,
        "let options_bytes = if self.sender.uses_sack() { ack.sack_bytes() } else { 0 };",
        "let options_bytes = 0;",
        "SACK blocks have no size",
    ),
    Fault(
        _TRAIN,
        "let mut before = until.min(self.timers_at).min(before_note);",
        "let mut before = until.min(self.timers_at);",
        "a train goes on beyond the warmup",
    ),
    Fault(
        _TRAIN,
        "let mut before = until.min(self.timers_at).min(before_note);",
        "let mut before = until.min(before_note);",
        "a train goes on beyond a timer",
    ),
    Fault(
        "fast/ends/udp.rs",
        "            self.receive_by(now, network);\n            self.before",
        "            self.before",
        "datagrams of the warmup count after it",
    ),
    Fault(
        "fast/ends/acks.rs",
        "|other| other.0 > at);",
        "|other| other.0 >= at);",
        "of two ACKs of an instant the second comes first",
    ),
    Fault(
        "fast/ends/acks.rs",
        "        self.list(listed)\n",
        "        drop(listed);\n        ack\n",
        "the copy of an ACK reports what the ACK left",
    ),
    Fault(
        _NOTED,
        "run.end.min(in_order).saturating_sub(run.start)",
        "run.end.saturating_sub(run.start)",
        "early packets count as in order while one is missing",
    ),
    Fault(
        _NOTED,
        "if run.end == seq && *of_each == payload_bytes =>",
        "if run.end == seq && *of_each >= payload_bytes =>",
        "an early short packet has as many bytes as a full one",
    ),
    Fault(
        _LOOKS,
        "partition_point(|packet| packet.at <= now) as u64",
        "partition_point(|packet| packet.at < now) as u64",
        "a sample misses the packet that arrives at its instant",
    ),
    Fault(
        _LOOKS,
        "sending(packet.at, packet.segment).0 <= now);",
        "sending(packet.at, packet.segment).0 < now);",
        "a sample sees what a link has just sent, not what it begins to send",
    ),
    Fault(
        _RESULTS,
        "delivered -= u64::from(there > end);",
        "delivered -= u64::from(there >= end);",
        "a packet that is delivered as the run ends does not count",
    ),
    Fault(
        _RESULTS,
        "tally.under_way_ns += (end + times.tx_ns).saturating_sub(sent);",
        "tally.under_way_ns += times.tx_ns;",
        "a link that only delays is busy with a packet beyond the run",
    ),
    Fault(
        _RESULTS,
        "known + late(&self.late_before) - late(&self.late)",
        "known.saturating_sub(late(&self.late))",
        "losses known in the warmup that happen after it do not count",
    ),
    Fault(
        "memory/radix.rs",
        "let bits = u64::BITS - bound.leading_zeros();",
        "let bits = u64::BITS - bound.leading_zeros() - 1;",
        "a sort by digits leaves out the highest bit",
    ),
)


def planted(fault: Fault, text: str) -> str:
    """The text of its file with the fault."""
    if text.count(fault.before) != 1:
        sys.exit(f"{fault.file} has {text.count(fault.before)} times {fault.before.strip()!r}")
    return text.replace(fault.before, fault.after)


def write(path: Path, content: bytes) -> None:
    """Writes what differs alone: cargo builds anew what was written."""
    if not path.exists() or path.read_bytes() != content:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def copy() -> None:
    """Brings the copy to the state of the working tree."""
    listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(listed, cwd=ROOT, check=True, capture_output=True, text=True).stdout.split("\0")
    files = {name for name in names if name and (ROOT / name).is_file()}
    for name in files:
        write(COPY / name, (ROOT / name).read_bytes())
    for path in (COPY / "crates").rglob("*"):
        if path.is_file() and path.relative_to(COPY).as_posix() not in files:
            path.unlink()


def build() -> Path:
    """Builds the tests of the copy."""
    command = ["cargo", "test", "-p", "cwnd-engine", "--release", "--test", "all", "--no-run"]
    command += ["--target-dir", str(BUILD)]
    built = subprocess.run(command, cwd=COPY, env=os.environ | PROFILE, capture_output=True, text=True)
    made = re.search(r"^ *Executable .*\((.*)\)$", built.stderr, re.MULTILINE)
    if built.returncode != 0 or made is None:
        sys.exit(f"the copy does not build:\n{built.stderr}")
    return COPY / made[1]


def compare(tests: Path) -> tuple[str, str]:
    """The test that finds a difference first, and how many scenarios it takes; empty: both find none."""
    for name, test in TESTS.items():
        command = [str(tests), f"plain::{test}", "--exact", "--ignored"]
        env = {key: value for key, value in os.environ.items() if key != "CWND_SEED"}
        env |= {"CWND_SCENARIOS": str(SCENARIOS)}
        folder = COPY / "crates" / "engine"
        try:
            ran = subprocess.run(
                command, cwd=folder, env=env, capture_output=True, text=True, timeout=TEST_MAX_S
            )
        except subprocess.TimeoutExpired:
            return name, "does not end"
        if "1 passed" in ran.stdout:
            continue
        nth = re.search(r"scenario (\d+) of \d+: ", ran.stdout + ran.stderr)
        return name, nth[1] if nth else f"ends with {ran.returncode}"
    return "", ""


def judge(fault: Fault) -> tuple[str, str]:
    path = COPY / "crates" / "engine" / "src" / fault.file
    text = path.read_text(encoding="utf-8")
    try:
        write(path, planted(fault, text).encode())
        return compare(build())
    finally:
        write(path, text.encode())


def main() -> None:
    only = sys.argv[1:]
    for fault in FAULTS:
        planted(fault, (ROOT / "crates" / "engine" / "src" / fault.file).read_text(encoding="utf-8"))
    if only == ["--check"]:
        return
    faults = [
        fault for fault in FAULTS if not only or any(part in f"{fault.file} {fault.fault}" for part in only)
    ]
    copy()
    if not only and (found := compare(build())) != ("", ""):
        sys.exit(f"without a fault the engines differ: {found[0]}, {found[1]}")
    begun, missed = time.monotonic(), 0
    print("| file | fault | found by | scenarios |\n|---|---|---|---|", flush=True)
    for fault in faults:
        test, scenarios = judge(fault)
        missed += not test
        file = fault.file.removeprefix("fast/")
        print(f"| `{file}` | {fault.fault} | {test or '**none**'} | {scenarios} |", flush=True)
    minutes = (time.monotonic() - begun) / 60
    print(f"\n{len(faults)} faults, {missed} missed, in {minutes:.0f} minutes", file=sys.stderr)
    sys.exit(len(faults) - missed < FOUND_MIN * len(faults))


if __name__ == "__main__":
    main()
