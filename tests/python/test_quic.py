"""The worlds `quinn`, `noq` and `s2n-quic`: QUIC stacks in virtual time."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import cwnd
from conftest import Command

STACKS = ["quinn", "noq", "s2n-quic"]
PATH = ("--rate", "20Mbps", "--delay", "10ms", "--buffer", "40", "--duration", "3s")


@pytest.mark.parametrize("stack", [*STACKS, "quinn-tls", "noq-tls"])
def test_a_run_on_a_stack_has_the_schema_of_any_world(stack: str) -> None:
    scenario = cwnd.dumbbell("cubic", rate="20 Mbps", delay="10 ms", buffer=40, duration="3 s")
    results = cwnd.run(scenario, world=stack)
    simulated = cwnd.run(scenario)
    assert json.loads(results.to_json())["world"] == stack
    assert results.entries[0]["engine"]["stack"][0].isdigit()
    assert results.flows.schema == simulated.flows.schema
    assert results.samples.schema == simulated.samples.schema
    assert results.samples.height == simulated.samples.height
    # One RTT of handshake, and 13 bytes a packet less payload.
    goodput = results.flows["goodput_mbps"].item() / simulated.flows["goodput_mbps"].item()
    assert 0.95 < goodput < 1


@pytest.mark.parametrize("stack", STACKS)
def test_two_commands_print_the_same_bytes(stack: str, cwnd_command: Command) -> None:
    def run() -> dict[str, object]:
        done = cwnd_command(
            "run", "--cca", f"{stack}:cubic", *PATH, "--per", "0.001", "--on", stack, "--json"
        )
        assert done.returncode == 0, done.stderr
        result: dict[str, object] = json.loads(done.stdout)
        return {key: value for key, value in result.items() if key != "engine"}

    assert run() == run()


def test_compare_puts_a_stack_beside_the_simulator(cwnd_command: Command, tmp_path: Path) -> None:
    out = tmp_path / "compared"
    command = ("compare", "--cca", "reno", *PATH, "--on", "sim,quinn,noq,s2n-quic", "--out", str(out))
    done = cwnd_command(*command)
    assert done.returncode in (0, 1), done.stderr
    assert "goodput" in done.stdout and "noq" in done.stdout and "s2n-quic" in done.stdout


def test_a_sweep_on_a_stack_goes_on_where_it_stopped(tmp_path: Path) -> None:
    text = """
duration = "1 s"
[dumbbell]
rate = "10 Mbps"
delay = "5 ms"
buffer = 20
[[flows]]
cca = "quinn:cubic"
[sweep]
"flows.cca" = ["quinn:cubic", "quinn:newreno", "reno"]
"""
    (tmp_path / "sweep.toml").write_text(text)
    results = cwnd.sweep(tmp_path / "sweep.toml", out=tmp_path / "out", world="quinn")
    again = cwnd.sweep(tmp_path / "sweep.toml", out=tmp_path / "out", world="quinn")
    assert results.flows.height == 3
    assert results.flows.equals(again.flows)


@pytest.mark.parametrize(
    ("flags", "line"),
    [
        (("--cca", "bbr", "--on", "quinn"), "bbr: flows.cca: 'bbr' has to set the pacing rate"),
        (
            ("--cca", "noq:cubic", "--on", "quinn"),
            "noq:cubic: flows.cca: 'noq:cubic' cannot be had --on quinn",
        ),
        (("--cca", "quinn:cubic"), "'quinn:cubic' is the stack's own and can be had --on quinn alone"),
        (
            ("--cca", "tcp:cubic", "--size", "1MB", "--on", "quinn"),
            "tcp:cubic: flows.size: a transfer over TCP cannot be had --on quinn; accepted: bulk data",
        ),
        (("--cca", "s2n-quic:newreno", "--on", "s2n-quic"), "--cca: unknown algorithm 's2n-quic:newreno'"),
        (("--cca", "ledbat", "--on", "s2n-quic"), "'ledbat' measures one-way delays, which QUIC does not"),
        (("--cca", "prague", "--on", "s2n-quic"), "'prague' has to send ECT(1), which s2n-quic does not"),
        (("--cca", "reno", "--clock", "ns2", "--on", "noq"), "reno: clock: 'ns2' cannot be had --on noq"),
        (("--cca", "reno", "--packet", "500", "--on", "noq"), "reno: flows.packet: 500 bytes cannot be had"),
    ],
)
def test_what_a_stack_cannot_do_is_refused_in_a_line(
    flags: tuple[str, ...], line: str, cwnd_command: Command
) -> None:
    done = cwnd_command("run", *PATH, *flags)
    assert done.returncode == 2
    assert line in done.stderr and done.stderr.count("\n") == 1


def test_a_python_class_is_refused_on_a_stack() -> None:
    class Still(cwnd.CongestionControl):
        def cong_avoid(self, window: cwnd.Window, ack: cwnd.Ack) -> None:
            pass

        def ssthresh(self, window: cwnd.Window, ack: cwnd.Ack) -> int:
            return 10

    with pytest.raises(cwnd.Error, match="Still runs in the simulator alone"):
        cwnd.run(cwnd.dumbbell(Still, rate="10 Mbps", delay="5 ms", duration="1 s"), world="noq")
