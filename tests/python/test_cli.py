"""The command as a user calls it."""

from __future__ import annotations

import json
import os
import pty
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import cwnd
from conftest import FILE, SMALL_FLAGS, Command

LONG = ("run", "--cca", "cubic", "--duration", "100000s", "--samples", "off")


def spawn(*arguments: str, **options: object) -> subprocess.Popen[bytes]:
    """The command in the background, with the interrupts of a terminal even where the tests have none."""
    return subprocess.Popen(  # type: ignore[call-overload, no-any-return]
        [sys.executable, "-m", "cwnd", *arguments],
        stdout=subprocess.PIPE,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        **options,
    )


def test_one_scenario_is_printed_as_the_one_object_of_the_api(cwnd_command: Command) -> None:
    done = cwnd_command("run", "--cca", "reno", "--flows", "2", "--per", "1e-3", *SMALL_FLAGS, "--json")
    assert (done.returncode, done.stderr) == (0, "")
    said = cwnd.dumbbell("reno", flows=2, per=1e-3, rate="10 Mbps", delay="10 ms", buffer=50, duration="2 s")
    reported, expected = json.loads(done.stdout), json.loads(cwnd.run(said).to_json())
    reported.pop("engine"), expected.pop("engine")
    assert reported == expected


def test_every_flag_of_a_scenario_reaches_it(cwnd_command: Command) -> None:
    flags = (
        "--cca elastic --flows 4 --rate 1Gbps --delay 100ms --buffer 3200 --per 1e-5 --packet 1000 "
        "--duration 100s --seed 7 --repeat 3 --access-rate 2Gbps --access-delay 1ms --access-buffer "
        "50 --start 1s --stagger 5s --stop 90s --stop-stagger 2s --stack ns2 --recovery sack "
        "--samples change --param beta=0.8"
    )
    done = cwnd_command("show", *flags.split(), "--json")
    assert done.stderr == ""
    reported = json.loads(done.stdout)
    assert (reported["seed"], reported["repeat"], reported["duration_s"], reported["samples"]) == (
        7,
        3,
        100,
        "change",
    )
    access, bottleneck, _ = reported["links"]
    assert (access["rate_bps"], access["delay_ms"], access["buffer_pkts"]) == (2_000_000_000, 1, 50)
    assert (bottleneck["buffer_pkts"], bottleneck["per"]) == (3200, 1e-5)
    (flows,) = reported["flows"]
    assert (flows["count"], flows["start_s"], flows["stop_s"]) == (4, [1, 16], [90, 84])
    assert (flows["payload_bytes"], flows["stack"]["profile"]) == (1000, "ns2")
    assert flows["stack"]["recovery"] == "sack"
    assert dict(flows["cca"]["params"])["beta"] == "0.8"


def test_files_are_run_with_another_seed_and_compared(cwnd_command: Command, tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / f"{name}.toml").write_text(FILE.replace('"small"', f'"{name}"'))
    done = cwnd_command("run", "one.toml", "two.toml", "--seed", "9", "--repeat", "1", "--json", cwd=tmp_path)
    one, two = json.loads(done.stdout)["results"]
    assert (one["scenario"]["name"], two["scenario"]["name"]) == ("one", "two")
    assert [run["seed"] for run in one["runs"]] == [9]
    assert one["runs"] == two["runs"]


def test_several_algorithms_are_compared_in_one_table(cwnd_command: Command) -> None:
    ccas = ("--cca", "reno", "--cca", "cubic", "--cca", "agile-sd")
    done = cwnd_command("run", *ccas, "--repeat", "3", "--per", "1e-3", *SMALL_FLAGS)
    assert (done.returncode, done.stderr) == (0, "")
    for heading in ("throughput Mbit/s", "goodput", "loss %", "mean RTT", "p95 RTT", "Jain", "timeouts"):
        assert heading in done.stdout
    rows = [
        line for line in done.stdout.splitlines() if line.split()[:1] in (["reno"], ["cubic"], ["agile-sd"])
    ]
    assert len(rows) == 3
    assert all("±" in row for row in rows)


def test_one_run_has_no_interval_and_a_row_for_each_flow(cwnd_command: Command) -> None:
    done = cwnd_command("run", "--cca", "reno", "--flows", "3", *SMALL_FLAGS)
    assert "±" not in done.stdout
    assert [line.split()[:2] for line in done.stdout.splitlines()[2:6] if "reno" in line] == [
        ["0", "reno"],
        ["1", "reno"],
        ["2", "reno"],
    ]


def test_jobs_do_not_change_the_answer(cwnd_command: Command) -> None:
    answers = []
    for jobs in ("1", "2"):
        done = cwnd_command(
            "run", "--cca", "cubic", "--repeat", "4", "--per", "1e-3", *SMALL_FLAGS, "--json", "--jobs", jobs
        )
        answers.append(json.loads(done.stdout))
        answers[-1].pop("engine")
    assert answers[0] == answers[1]


def test_out_writes_a_result_that_the_api_loads(cwnd_command: Command, tmp_path: Path) -> None:
    out = tmp_path / "a" / "b"
    arguments = ("run", "--cca", "cubic", *SMALL_FLAGS, "--json", "--out", str(out))
    done = cwnd_command(*arguments)
    assert (done.returncode, done.stderr) == (0, "")
    assert cwnd.Results.load(out).to_json() == done.stdout.strip()
    assert json.loads((out / "manifest.json").read_text())["command"] == ["cwnd", *arguments]
    assert (out / "cwnd.png").stat().st_size > 10_000


def test_show_prints_rtt_and_bdp(cwnd_command: Command) -> None:
    done = cwnd_command("show", "--cca", "reno", "--rate", "1Gbps", "--delay", "100ms", "--buffer", "2BDP")
    assert (done.returncode, done.stderr) == (0, "")
    assert "BDP packets" in done.stdout
    assert "16513" in done.stdout
    assert "33025" in done.stdout


def test_show_prints_disciplines_and_traffic(tmp_path: Path, cwnd_command: Command) -> None:
    file = tmp_path / "web.toml"
    file.write_text("""
duration = "10 s"
[dumbbell]
rate = "50 Mbps"
delay = "20 ms"
buffer = 100
queue = { discipline = "fq-codel", interval = "50 ms" }
[[flows]]
cca = "reno"
size = "100 KB"
arrivals = { process = "poisson", rate = 20 }
""")
    done = cwnd_command("show", str(file))
    assert (done.returncode, done.stderr) == (0, "")
    expected = "bottleneck: fq-codel, quantum 1514 bytes, variant spec, target 5 ms, interval 50 ms, ecn\n"
    assert expected in done.stdout
    assert "100000 bytes, 20 a second" in done.stdout


def test_algorithms_are_listed_and_told_in_full(cwnd_command: Command) -> None:
    listed = cwnd_command("algorithms").stdout
    assert all(algorithm["name"] in listed for algorithm in cwnd.algorithms())
    assert all(preset["name"] in listed for preset in cwnd.presets())
    for algorithm in cwnd.algorithms():
        (line,) = (line for line in listed.splitlines() if line.split()[:1] == [algorithm["name"]])
        assert ("reconstruction" in line) == (algorithm["status"] == "reconstruction")
    both = {"algorithms": cwnd.algorithms(), "presets": cwnd.presets()}
    assert json.loads(cwnd_command("algorithms", "--json").stdout) == both
    reported = cwnd_command("algorithms", "cubic").stdout
    assert "beta" in reported and "RFC 9438, 4.6" in reported
    assert "  W(t)   = C (t - K)^3 + Wmax" in reported
    assert "stack ns2 sets beta = 0.7998, variant = ns2" in reported
    assert json.loads(cwnd_command("algorithms", "cubic", "--json").stdout)["name"] == "cubic"


def test_a_preset_is_shown_with_its_algorithm_and_what_the_profiles_set(cwnd_command: Command) -> None:
    reported = cwnd_command("algorithms", "fack").stdout
    assert "algorithm reno, recovery fack" in reported
    # The base agents of ns-2 have a window_ of 20 and a maxrto_ of 60 s.
    assert (
        "receive_window = 20" in reported
        and "max_rto = 60 s" in reported
        and "restart_at_one = true" in reported
    )
    described = json.loads(cwnd_command("algorithms", "fack", "--json").stdout)
    assert described["algorithm"] == "reno"


def test_show_prints_the_application_the_marks_and_the_preset(cwnd_command: Command) -> None:
    flags = ("--app-rate", "10Mbps", "--app-on", "1s", "--app-off", "500ms", "--ecn-threshold", "20")
    done = cwnd_command("show", "--cca", "newreno", "--stack", "ns2", *flags)
    assert (done.returncode, done.stderr) == (0, "")
    assert "10 Mbps, 1 s on, 0.5 s off" in done.stdout
    assert "newreno (reno)" in done.stdout
    assert "ns2, newreno, ECN" in done.stdout
    (bottleneck,) = (line for line in done.stdout.splitlines() if "bottleneck " in line and " 20 " in line)
    assert bottleneck.split()[-1] == "20"


def test_version_and_help_are_printed(cwnd_command: Command) -> None:
    assert cwnd_command("--version").stdout == f"cwnd {cwnd.__version__}\n"
    assert "algorithms" in cwnd_command("--help").stdout
    assert "algorithms" in cwnd_command().stdout
    assert "--buffer" in cwnd_command("run", "--help").stdout


@pytest.mark.parametrize(
    "arguments",
    [
        ("run", "--cca", "reno", "--param", "variant=ns2-agent", *SMALL_FLAGS, "--json"),
        ("run", "--cca", "reno", "--rate", "1000"),
        ("run", "nowhere.toml", "--name", "\N{SNOWMAN}"),
        ("gate", "one", "two", "--metric", "rtt=2%"),
    ],
)
def test_the_command_answers_alike_in_the_process_of_the_tests(
    arguments: tuple[str, ...], cwnd_command: Command, cwnd_here: Command, tmp_path: Path
) -> None:
    def answer(done: subprocess.CompletedProcess[str]) -> tuple[int, str, str]:
        stdout = re.sub(r'"engine":.*', "", done.stdout)  # has the time that the run took
        return done.returncode, stdout, done.stderr

    here, process = cwnd_here(*arguments, cwd=tmp_path), cwnd_command(*arguments, cwd=tmp_path)
    assert answer(here) == answer(process)


def test_an_interrupt_ends_a_long_run_within_a_second() -> None:
    with spawn(*LONG, stderr=subprocess.PIPE) as running:
        time.sleep(1.5)
        begin = time.monotonic()
        running.send_signal(signal.SIGINT)
        stdout, stderr = running.communicate(timeout=10)
    assert time.monotonic() - begin < 1
    assert (running.returncode, stdout, stderr) == (130, b"", b"cwnd: interrupted\n")


def test_an_interrupt_is_a_keyboard_interrupt_to_python() -> None:
    code = (
        "import cwnd\n"
        "try: cwnd.run(cwnd.dumbbell('cubic', duration='100000 s', repeat=4, samples='off'))\n"
        "except KeyboardInterrupt: print('stopped')"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code],
        stdout=subprocess.PIPE,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    ) as running:
        time.sleep(1.5)
        begin = time.monotonic()
        running.send_signal(signal.SIGINT)
        stdout, _ = running.communicate(timeout=10)
    assert time.monotonic() - begin < 1
    assert stdout == b"stopped\n"


def test_an_interrupted_command_does_not_wait_for_its_interpreter_to_be_taken_apart() -> None:
    code = (
        "import atexit, signal, sys, time\n"
        "atexit.register(time.sleep, 20)\n"
        "import cwnd._scenario.scenario\n"
        "cwnd._scenario.scenario.dumbbell = lambda *_, **__: signal.raise_signal(signal.SIGINT)\n"
        "from cwnd._cli.main import main\n"
        "main()"
    )
    done = subprocess.run([sys.executable, "-c", code, *LONG], capture_output=True, timeout=15)
    assert (done.returncode, done.stdout, done.stderr) == (130, b"", b"cwnd: interrupted\n")


def test_a_broken_pipe_is_silent() -> None:
    with spawn(
        "run", "--cca", "reno", "--flows", "300", *SMALL_FLAGS, "--json", stderr=subprocess.PIPE
    ) as running:
        assert running.stdout is not None and running.stderr is not None
        running.stdout.close()
        assert running.stderr.read() == b""
    assert running.returncode == 141


def test_a_progress_bar_is_on_a_terminal() -> None:
    ours, theirs = pty.openpty()
    with spawn(*LONG, stderr=theirs) as running:
        os.close(theirs)
        shown = b""
        while b"simulating" not in shown:
            shown += os.read(ours, 1000)
        running.send_signal(signal.SIGINT)
        running.communicate(timeout=10)
    os.close(ours)
    assert running.returncode == 130


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_a_poor_terminal_gets_its_table(cwnd_command: Command, encoding: str) -> None:
    environment = {**os.environ, "PYTHONIOENCODING": encoding}
    done = cwnd_command(
        "run",
        "--cca",
        "reno",
        "--repeat",
        "2",
        "--per",
        "1e-2",
        *SMALL_FLAGS,
        env=environment,
        errors="replace",
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "throughput" in done.stdout


def test_the_help_has_every_command_in_one_group_and_three_examples(cwnd_command: Command) -> None:
    from cwnd._cli.commands import EXAMPLES, GROUPS, cli

    grouped = [name for names in GROUPS.values() for name in names]
    assert sorted(grouped) == sorted(set(grouped)) and set(grouped) <= set(cli.commands)
    shown = cwnd_command("--help").stdout
    assert all(f"\n  {name} " in shown for name in cli.commands)
    assert len(EXAMPLES) == 3 and all(f"\n  {line}\n" in shown for line in EXAMPLES)


def test_the_help_of_run_has_every_flag_in_a_group(cwnd_command: Command) -> None:
    from cwnd._cli.run import run_command

    shown = cwnd_command("run", "--help").stdout
    headings = ("Algorithms:", "Path:", "Flows:", "TCP:", "Time and repetition:", "Where and what to print:")
    places = [shown.index(f"\n{heading}") for heading in headings]
    assert places == sorted(places)
    for option in run_command.params:
        assert all(f"  {flag}" in shown for flag in option.opts if flag.startswith("--")), option.name
    assert places[1] < shown.index("  --buffer ") < places[2] < shown.index("  --stagger ") < places[3]
