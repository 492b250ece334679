"""The worlds `quinn`, `noq` and `s2n-quic`: QUIC stacks in virtual time."""

from __future__ import annotations

import json
import subprocess
import sys
from functools import partial
from importlib.metadata import version
from pathlib import Path

import pytest

import cwnd
from conftest import Command

STACKS = ["quinn", "noq", "s2n-quic"]
PATH = ("--rate", "20Mbps", "--delay", "10ms", "--buffer", "40", "--duration", "3s")
on_a_stack = partial(pytest.param, marks=pytest.mark.quic)


@pytest.mark.quic
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


@pytest.mark.quic
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


@pytest.mark.quic
def test_compare_puts_a_stack_beside_the_simulator(cwnd_command: Command, tmp_path: Path) -> None:
    out = tmp_path / "compared"
    command = ("compare", "--cca", "reno", *PATH, "--on", "sim,quinn,noq,s2n-quic", "--out", str(out))
    done = cwnd_command(*command)
    assert done.returncode in (0, 1), done.stderr
    assert "goodput" in done.stdout and "noq" in done.stdout and "s2n-quic" in done.stdout


@pytest.mark.quic
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
        on_a_stack(("--cca", "bbr", "--on", "quinn"), "bbr: flows.cca: 'bbr' has to set the pacing rate"),
        on_a_stack(
            ("--cca", "noq:cubic", "--on", "quinn"),
            "noq:cubic: flows.cca: 'noq:cubic' is not supported --on quinn",
        ),
        (("--cca", "quinn:cubic"), "'quinn:cubic' is the stack's own and can be had --on quinn alone"),
        (("--cca", "s2n-quic:newreno", "--on", "s2n-quic"), "--cca: unknown algorithm 's2n-quic:newreno'"),
        on_a_stack(
            ("--cca", "ledbat", "--on", "s2n-quic"), "'ledbat' measures one-way delays, which QUIC does not"
        ),
        on_a_stack(
            ("--cca", "prague", "--on", "s2n-quic"), "'prague' has to send ECT(1), which s2n-quic does not"
        ),
        on_a_stack(
            ("--cca", "reno", "--clock", "ns2", "--on", "noq"), "reno: clock: 'ns2' is not supported --on noq"
        ),
        on_a_stack(
            ("--cca", "reno", "--packet", "500", "--on", "noq"),
            "reno: flows.packet: 500 bytes is not supported",
        ),
    ],
)
def test_what_a_stack_cannot_do_is_refused_in_a_line(
    flags: tuple[str, ...], line: str, cwnd_here: Command
) -> None:
    done = cwnd_here("run", *PATH, *flags)
    assert done.returncode == 2
    assert line in done.stderr and done.stderr.count("\n") == 1


@pytest.mark.quic
def test_all_but_the_flows_over_quic_is_the_simulators() -> None:
    text = (
        "duration = '3 s'\n[dumbbell]\nrate = '20 Mbps'\ndelay = '10 ms'\nbuffer = 40\n"
        "[[flows]]\ncca = 'tcp:cubic'\n"
        "size = '1 MB'\n[[flows]]\ncca = 'udp'\napp_rate = '5 Mbps'\n"
    )
    here, simulated = (cwnd.run(cwnd.Scenario.parse(text), world=world) for world in ("quinn", "sim"))
    assert here.flows.equals(simulated.flows)
    assert here.transfers.equals(simulated.transfers)


@pytest.mark.quic
def test_a_python_class_is_refused_on_a_stack() -> None:
    class Still(cwnd.CongestionControl):
        def cong_avoid(self, window: cwnd.Window, ack: cwnd.Ack) -> None:
            pass

        def ssthresh(self, window: cwnd.Window, ack: cwnd.Ack) -> int:
            return 10

    with pytest.raises(cwnd.Error, match="Still runs in the simulator alone"):
        cwnd.run(cwnd.dumbbell(Still, rate="10 Mbps", delay="5 ms", duration="1 s"), world="noq")


def test_without_the_quic_worlds_one_line_says_how_to_get_them() -> None:
    code = "import sys; sys.modules['_cwnd_quic'] = None; from cwnd._cli.main import main; main()"
    words = ("run", "--cca", "reno", *PATH, "--on", "quinn")
    done = subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    line = (
        "cwnd: error: --on: 'quinn' needs the QUIC worlds; pip install 'cwnd[quic]', or in a clone: make quic"
    )
    assert done.stderr.splitlines() == [line]
    assert done.stdout == ""


@pytest.mark.quic
def test_the_quic_worlds_of_another_version_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("_cwnd_quic.__version__", "0.0.1")
    with pytest.raises(cwnd.Error, match=r"both of one version, found cwnd .* and QUIC worlds 0\.0\.1"):
        cwnd.run(cwnd.dumbbell("reno", rate="10 Mbps", delay="5 ms", duration="1 s"), world="noq")


@pytest.mark.quic
def test_the_package_of_the_quic_worlds_has_the_same_version() -> None:
    assert version("cwnd-quic") == cwnd.__version__


@pytest.mark.quic
def test_the_extension_module_refuses_what_it_cannot_read() -> None:
    import _cwnd_quic

    with pytest.raises(ValueError, match="'sim' is not a world of a QUIC stack"):
        _cwnd_quic.World("sim")
    with pytest.raises(ValueError, match="not the JSON of a scenario"):
        _cwnd_quic.World("noq").check("{}")


@pytest.mark.quic
def test_an_exception_of_the_watch_ends_a_run() -> None:
    import _cwnd_quic

    scenario = cwnd.dumbbell("reno", rate="100 Mbps", delay="5 ms", duration="20 s")

    def watch(reached_ns: int) -> bool:
        raise KeyError(reached_ns)

    with pytest.raises(KeyError):
        _cwnd_quic.World("quinn").run(scenario._inner.json(), 1, watch)


@pytest.mark.quic
@pytest.mark.slow
def test_the_stub_of_the_extension_module_of_quic_is_true() -> None:
    check = subprocess.run(
        [sys.executable, "-m", "mypy.stubtest", "_cwnd_quic"], capture_output=True, text=True, check=False
    )
    assert check.returncode == 0, check.stdout


@pytest.mark.quic
def test_bbr3_ends_startup_on_noq_though_probe_rtt_comes_within_its_rounds() -> None:
    text = (
        "duration = '100 s'\nwarmup = '40 s'\nsamples = 'off'\n[dumbbell]\nrate = '10 Mbps'\nrtt = '600 ms'\n"
        "buffer = '4 BDP'\n[[flows]]\ncca = 'bbr3'\n"
    )
    [rtt_ms] = cwnd.run(cwnd.Scenario.parse(text), world="noq").flows["mean_rtt_ms"]
    # In STARTUP a BDP waits in the queue. The path's RTT is 600 ms.
    assert 600 < rtt_ms < 850
