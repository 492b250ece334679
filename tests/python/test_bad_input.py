"""Bad input: one line on stderr that says what is wrong and what is accepted, nothing on stdout, exit 2."""

from __future__ import annotations

import contextlib
import io
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import FILE, SMALL_FLAGS, Command
from cwnd._cli import main as cli
from cwnd._cli import options

RENO = ("run", "--cca", "reno")

FLAGS: list[tuple[tuple[str | bytes, ...], str]] = [
    (("run",), "nothing to simulate; give a scenario FILE or --cca NAME"),
    (("show",), "nothing to simulate"),
    (("rum",), "rum"),
    (("run", "--cca"), "--cca"),
    ((*RENO, "--bufer", "50"), "--buffer"),
    (("run", "--cca", "elastc"), "--cca: unknown algorithm 'elastc'; did you mean 'elastic'?"),
    (
        ("run", "--cca", "elastic,cubic"),
        "--cca: 'elastic,cubic' is a list; write --cca elastic --cca cubic to compare them, "
        "--cca elastic+cubic to let them share the bottleneck",
    ),
    (("run", "--cca", ""), "--cca: an empty name; 'cwnd algorithms' lists the names"),
    (("run", "--cca", "nowhere.py:Mine"), "--cca: nowhere.py: no such file"),
    ((*RENO, "--cca", "Reno"), "--cca: unknown algorithm 'Reno'"),
    ((*RENO, "--rate", "0bps"), "--rate: '0bps' is out of range"),
    ((*RENO, "--rate", "1000"), "--rate: '1000' has no unit"),
    ((*RENO, "--rate", "1GBps"), "--rate: '1GBps' is not a rate"),
    ((*RENO, "--rate", "-1Gbps"), "--rate: "),
    ((*RENO, "--rate", b"1\xffGbps"), "not Unicode"),
    ((*RENO, "--delay", "-5ms"), "--delay: "),
    ((*RENO, "--delay", "5"), "--delay: '5' has no unit"),
    ((*RENO, "--delay", "5 parsecs"), "--delay: "),
    ((*RENO, "--delay", "nan ms"), "--delay: "),
    ((*RENO, "--delay", "1e99s"), "--delay: "),
    ((*RENO, "--buffer", "0"), "--buffer: "),
    ((*RENO, "--buffer", "-1"), "--buffer: "),
    ((*RENO, "--buffer", "1.5"), "--buffer: "),
    ((*RENO, "--buffer", "64 litres"), "--buffer: '64 litres' is not a buffer"),
    ((*RENO, "--buffer", "0BDP"), "--buffer: "),
    ((*RENO, "--buffer", "50", "100"), "cannot be combined with a scenario FILE"),
    ((*RENO, "--per", "2"), "--per: 2 is not a probability"),
    ((*RENO, "--per", "1"), "--per: with 1 nothing would arrive"),
    ((*RENO, "--per", "-1e-3"), "--per: "),
    ((*RENO, "--per", "nan"), "--per: nan"),
    ((*RENO, "--per", "a lot"), "--per: 'a lot' is not a number"),
    ((*RENO, "--flows", "0"), "--flows: 0 is out of range"),
    ((*RENO, "--flows", "1000000000"), "--flows: "),
    ((*RENO, "--flows", "2.5"), "--flows: 2.5 is not a whole number"),
    ((*RENO, "--flows", "many"), "--flows: "),
    ((*RENO, "--flows", "9" * 5000), "--flows: "),
    ((*RENO, "--packet", "0"), "--packet: "),
    ((*RENO, "--packet", "1KB"), "--packet: "),
    ((*RENO, "--duration", "0s"), "--duration: "),
    ((*RENO, "--duration", "1 year"), "--duration: "),
    ((*RENO, "--seed", "-1"), "--seed: "),
    ((*RENO, "--seed", "18446744073709551616"), "--seed: "),
    ((*RENO, "--repeat", "0"), "--repeat: "),
    ((*RENO, "--start", "5s", "--stop", "4s"), "--stop: "),
    ((*RENO, "--flows", "50", "--stagger", "5s"), "--stagger: "),
    ((*RENO, "--access-rate", "quick"), "--access-rate: "),
    ((*RENO, "--access-buffer", "0"), "--access-buffer: "),
    ((*RENO, "--stack", "windows"), "--stack: "),
    ((*RENO, "--recovery", "hope"), "--recovery: "),
    ((*RENO, "--samples", "often"), "--samples: "),
    ((*RENO, "--samples", "0"), "--samples: "),
    ((*RENO, "--param", "beta"), "--param: 'beta' is not NAME=VALUE"),
    ((*RENO, "--param", "beta=1"), "--param beta: unknown parameter; there are variant, slow_start"),
    (("run", "--cca", "cubic", "--param", "beta=7"), "--param beta: '7' is not accepted; "),
    (("run", "--cca", "cubic", "--param", "bета=0.5"), "--param b"),
    (
        ("run", "--cca", "cubic", "--param", "vegas.a=1"),
        "--param: no algorithm 'vegas' here; there are cubic",
    ),
    (
        (*RENO, "--cca", "cubic", "--param", "beta=0.5"),
        "--param: 'beta' of which algorithm? write reno.beta=0.5",
    ),
    (("run", "--cca", "cubic", "--param", "name=x"), "--param name: not a parameter"),
    (
        (*RENO, "--on", "mars"),
        "--on: 'mars' is not a world; choose linux, linux-ebpf, live, noq, noq-tls, quinn, quinn-tls, "
        "s2n-quic, sim",
    ),
    ((*RENO, "--jobs", "-1"), "--jobs: -1 is out of range"),
    ((*RENO, "--jobs", "all"), "--jobs: all is not a whole number"),
    ((*RENO, *SMALL_FLAGS, "--out", "."), "--out: .: not a name for a new directory"),
    (
        (*RENO, *SMALL_FLAGS, "--out", "full"),
        "--out: full: holds a file that is not part of a result (thesis.tex)",
    ),
    ((*RENO, *SMALL_FLAGS, "--out", "good.toml"), "--out: good.toml: not a directory"),
    ((*RENO, *SMALL_FLAGS, "--out", "good.toml/out"), "--out: "),
    ((*RENO, *SMALL_FLAGS, "--out", "/proc/nowhere/out"), "--out: "),
    (("run", "good.toml", "--rate", "1Gbps"), "--rate: cannot be combined with a scenario FILE"),
    (("run", "good.toml", "--cca", "reno"), "--cca: cannot be combined with a scenario FILE"),
    (("run", "good.toml", "--repeat", "0"), "--repeat: 0 is out of range"),
    (("show", "good.toml", "--seed", "x"), "--seed: x is not a whole number"),
    (("run", "nowhere.toml"), "nowhere.toml: no such file or directory"),
    (("run", "no\nwhere.toml"), "no\\nwhere.toml: no such file or directory"),
    (("run", b"\xff.toml"), "no such file or directory"),
    (("run", "full"), "full: is a directory"),
    (("run", "good.toml", "nowhere.toml"), "nowhere.toml: no such file or directory"),
    (("algorithms", "elastc"), "unknown algorithm 'elastc'; did you mean 'elastic'?"),
    (("algorithms", b"\xff"), "unknown algorithm"),
]

FILES: list[tuple[str | bytes, str]] = [
    (b'name = "caf\xe9"', "bad.toml:1: not UTF-8"),
    (b"\xff\xfen\x00a\x00", "bad.toml:1: not UTF-8"),
    (bytes(1000), "bad.toml:1: "),
    ("", "bad.toml:1: dumbbell: missing"),
    ("name = ", "bad.toml:1: not valid TOML"),
    ("[dumbbell", "bad.toml:1: not valid TOML"),
    (FILE.replace("rate =", "rat ="), "bad.toml:5: dumbbell.rat: unknown key; did you mean 'rate'?"),
    (FILE.replace('"10 Mbps"', '"10 MBps"'), "bad.toml:5: dumbbell.rate: "),
    (FILE.replace('"10 Mbps"', "10"), "bad.toml:5: dumbbell.rate: "),
    (FILE.replace('"10 ms"', '"-10 ms"'), "bad.toml:6: dumbbell.delay: "),
    (FILE.replace("buffer = 50", "buffer = 0"), "bad.toml:7: dumbbell.buffer: "),
    (FILE.replace("buffer = 50", "buffer = []"), "bad.toml:7: dumbbell.buffer: "),
    (FILE.replace("buffer = 50\n", ""), "dumbbell.buffer: missing"),
    (FILE.replace("1e-3", "2"), "bad.toml:8: dumbbell.per: "),
    (FILE.replace("1e-3", "nan"), "bad.toml:8: dumbbell.per: "),
    (
        FILE.replace("cubic", "qubic"),
        "bad.toml:10: flows[0].cca: unknown algorithm 'qubic'; did you mean 'cubic'?",
    ),
    (
        FILE.replace("cubic", "cubic+bbr"),
        "bad.toml:10: flows[0].cca: 'cubic+bbr' is several algorithms; one for each group of flows",
    ),
    (FILE.replace("count = 2", "count = 1_000_000_000"), "bad.toml:11: flows[0].count: "),
    (FILE.replace('"100 ms"', '"100 s"'), "bad.toml:12: flows[0].stagger: "),
    (FILE.replace("repeat = 2", "repeat = -2"), "bad.toml:3: repeat: "),
    (FILE.replace('duration = "2 s"', 'duration = "0 s"'), "bad.toml:2: duration: "),
    (FILE + "cca = 1\n", "bad.toml:13: not valid TOML"),
    (FILE.split("[[flows]]")[0], "flows: missing"),
    (FILE + '[[chain]]\nrate = "1 Gbps"\n', "both [dumbbell] and [[chain]]"),
    (FILE + "[sweep]\n", "sweep: unknown key"),
    (FILE.replace('"small"', '""'), "bad.toml:1: name: "),
    ("a = " + "[" * 100_000, "bad.toml:1: not valid TOML"),
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "good.toml").write_text(FILE)
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis.tex").write_text("...")
    return tmp_path


@pytest.mark.parametrize(("arguments", "words"), FLAGS, ids=lambda value: str(value)[:60])
def test_bad_flags_are_refused_in_one_line(
    cwnd_command: Command,
    cwnd_here: Command,
    folder: Path,
    arguments: tuple[str | bytes, ...],
    words: str,
) -> None:
    # The interpreter decodes what is not Unicode before the command has it.
    call = cwnd_command if any(isinstance(word, bytes) for word in arguments) else cwnd_here
    refused(call(*arguments, cwd=folder), words)


@pytest.mark.parametrize("command", ["run", "show"])
@pytest.mark.parametrize(("content", "words"), FILES, ids=lambda value: str(value)[:40])
def test_a_bad_file_is_refused_in_one_line(
    cwnd_here: Command, folder: Path, command: str, content: str | bytes, words: str
) -> None:
    (folder / "bad.toml").write_bytes(content if isinstance(content, bytes) else content.encode())
    refused(cwnd_here(command, "bad.toml", cwd=folder), words)


def refused(done: object, words: str) -> None:
    returncode, stdout, stderr = (getattr(done, name) for name in ("returncode", "stdout", "stderr"))
    assert words in stderr
    assert stderr.startswith("cwnd: error: ")
    assert len(stderr.splitlines()) == 1
    assert (returncode, stdout) == (2, "")


VALUED_FLAGS = sorted("--" + name.replace("_", "-") for name in options.SCENARIO_FLAGS)


@given(
    st.sampled_from([*VALUED_FLAGS, "--cca", "--param"]),
    st.one_of(
        st.text(max_size=30),
        st.from_regex(r"-?[0-9.]{1,6}(e-?[0-9]{1,3})? ?(ms|s|Gbps|BDP|packets)?", fullmatch=True),
    ),
)
@settings(max_examples=300, deadline=None)
def test_no_value_of_a_flag_ends_in_a_traceback(flag: str, value: str) -> None:
    stdout, stderr = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(stdout), contextlib.redirect_stderr(stderr):
        code = cli._main(["show", "--cca", "cubic", f"{flag}={value}", "--json"])
    assert code in (0, 2)
    assert len(stderr.getvalue().splitlines()) == (1 if code else 0)


@given(st.text(max_size=200))
@settings(max_examples=200, deadline=None)
def test_no_text_in_a_file_ends_in_a_traceback(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    file = tmp_path_factory.getbasetemp() / "any.toml"
    file.write_text(text, encoding="utf-8", newline="")
    stderr = io.StringIO()
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(stderr):
        code = cli._main(["show", str(file)])
    assert code in (0, 2)
    assert len(stderr.getvalue().splitlines()) == (1 if code else 0)
