"""Memory is bounded by what is asked: a question is answered in bounded memory or refused in one line."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import cwnd

SMALL = """\
name = "small"
duration = "10 ms"
[dumbbell]
rate = "10 Mbps"
delay = "1 ms"
buffer = 50
[[flows]]
cca = "reno"
"""

#: Memory that the command itself may need, in MB: far less than the questions below would.
MEMORY_MB_MAX = 500


def command(*arguments: str | Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", "from cwnd._cli.main import main; main()", *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )


def run_to_the_end(*arguments: str | Path) -> tuple[int, str, float]:
    """Exit code, standard error and the most memory in MB."""
    process = command(*arguments)
    assert process.stderr is not None
    reported = process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    process.communicate()
    return process.returncode, reported, usage.ru_maxrss / 1024


RENO = ("run", "--cca", "reno", "--rate", "10Mbps", "--duration", "10ms")
POINTS = "{ from = 1, to = 1000, step = 1 }"
QUESTIONS = {
    "a million runs": (
        (*RENO, "--flows", "3", "--repeat", "1000000"),
        "",
        "1,000,000 runs have 10,000,000 rows",
    ),
    "runs of many flows": (
        (*RENO, "--flows", "100000", "--samples", "off", "--repeat", "40"),
        "",
        "40 runs have 12,000,040 rows",
    ),
    "time series": ((*RENO, "--samples", "1000", "--repeat", "5000"), "", "rows of time series"),
    "a million points": (
        ("sweep",),
        f'[sweep]\n"dumbbell.buffer" = {POINTS}\n"flows.start_jitter" = ["1 ms", "2 ms"]\n'
        f'"dumbbell.per" = {{ from = 0.0, to = 0.5, points = 500 }}',
        "more than 100000 points",
    ),
    "a thousand points with a million seeds": (
        ("sweep", "--repeat", "1000000"),
        f'[sweep]\n"dumbbell.buffer" = {POINTS}',
        "1,000,000,000 runs have 4,000,000,000 rows",
    ),
    "39 points of 100,000 flows": (
        ("sweep",),
        'count = 100000\n[sweep]\n"dumbbell.buffer" = { from = 1, to = 39, step = 1 }',
        "more than 200000 links and flows in 39 points, 300001 in one",
    ),
}


@pytest.mark.parametrize("question", QUESTIONS)
def test_what_would_not_fit_into_memory_is_refused_with_its_size(question: str, tmp_path: Path) -> None:
    arguments, sweep, reason = QUESTIONS[question]
    if sweep:
        (tmp_path / "s.toml").write_text(f"{SMALL}{sweep}\n")
        arguments = (*arguments, str(tmp_path / "s.toml"), "--out", str(tmp_path / "out"))
    code, reported, memory_mb = run_to_the_end(*arguments)
    assert code == 2, reported
    assert reported.startswith("cwnd: error: ") and reported.count("\n") == 1
    assert reason in reported
    assert memory_mb < MEMORY_MB_MAX


def test_a_hundred_thousand_flows_fit_with_samples_left_to_us() -> None:
    text = SMALL.replace("10 ms", "1 ms") + "count = 100000\n"
    described = cwnd.Scenario.parse(text).describe()
    interval_ns = described["samples"]["interval"]["interval_ns"]
    assert 1_000_000 // interval_ns * 300_001 <= 10_000_000


def test_ctrl_c_is_heard_while_a_large_sweep_is_set_up(tmp_path: Path) -> None:
    grid = f'"dumbbell.buffer" = {POINTS}\n"dumbbell.per" = {{ from = 0.0, to = 0.5, points = 50 }}'
    (tmp_path / "s.toml").write_text(f"{SMALL}[sweep]\n{grid}\n")
    process = command("sweep", tmp_path / "s.toml", "--out", tmp_path / "out")
    time.sleep(0.6)  # some of the set-up; whichever part it is, the signal must be heard
    begin = time.monotonic()
    process.send_signal(signal.SIGINT)
    _, reported = process.communicate(timeout=60)
    assert process.returncode in (130, -signal.SIGINT), reported
    assert time.monotonic() - begin < 5


def with_little_memory(code: str, *arguments: str, mebibytes: int) -> subprocess.CompletedProcess[str]:
    """Runs Python that has so much memory beyond what it begins with."""
    limited = (
        "import resource, sys\n"
        "from cwnd._cli.main import main\n"
        "import cwnd._cli.commands, cwnd._cli.run, cwnd._run.run, polars\n"
        "size = next(line for line in open('/proc/self/status') if line.startswith('VmSize'))\n"
        f"limit = int(size.split()[1]) * 1024 + ({mebibytes} << 20)\n"
        "resource.setrlimit(resource.RLIMIT_AS, (limit, limit))\n"
    )
    return subprocess.run(
        [sys.executable, "-c", limited + code, *arguments],
        env={**os.environ, "RUST_BACKTRACE": "1"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_flows_for_which_there_is_no_memory_are_refused_in_one_line() -> None:
    flags = ("run", "--cca", "reno", "--flows", "1000000", "--duration", "1s", "--samples", "off")
    done = with_little_memory("main()", *flags, mebibytes=600)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("cwnd: error: --flows: 1000000 flows, and there is not as much memory")
    assert done.stderr.count("\n") == 1
    code = (
        "import cwnd\ntry: cwnd.dumbbell('reno', flows=1000000)\nexcept cwnd.Error as refused: print(refused)"
    )
    done = with_little_memory(code, mebibytes=600)
    assert done.stdout.startswith("flows: 1000000 flows, and there is not as much memory as a run"), done


@pytest.mark.parametrize("code", ["bytes(1 << 40)", "import cwnd; cwnd.dumbbell('reno', flows=24000)"])
def test_a_process_without_memory_ends_with_one_line(code: str) -> None:
    program = "\n".join(
        [
            "import click, cwnd, cwnd._cli.commands as commands",
            f"commands.cli.invoke = lambda context: exec({code!r})",
            "main()",
        ]
    )
    done = with_little_memory(program, "run", mebibytes=2)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "cwnd: error: there is not as much memory as this takes\n"
