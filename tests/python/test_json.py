"""`--json`: one object on standard output, of every command that prints something."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner

import cwnd
from captures import window_limited
from conftest import FILE, SMALL, Command
from cwnd import kernel
from cwnd._cli.commands import cli
from cwnd._worlds import _machine
from sweeping import SWEEP

#: Commands that print an address or a script.
WITHOUT = {"lab", "completion"}

#: Arguments of each command, and keys of its object.
CALLS = {
    "advise": ("--rate 10Mbps --rtt 20ms --cca cubic", {"path", "recommendation", "candidates"}),
    "algorithms": ("", {"algorithms", "presets"}),
    "attack": ("vegas --goal pinned --budget 8", {"subject", "goals", "findings", "evaluations"}),
    "cite": ("cubic result", {"bibtex"}),
    "compare": ("result result", {"names", "ok", "lines", "notes"}),
    "conform": ("reno --suite ratelimited-10", {"algorithm", "world", "ok", "cases"}),
    "evaluate": ("cubic --only starvation --quick --seeds 1 --out evaluation", {"algorithm", "criteria"}),
    "explain": ("slow.pcap", {"capture", "notes", "connections"}),
    "gate": ("result result", {"ok", "verdicts", "expected"}),
    "homework check": ("ada.txt", {"files", "refused", "missing"}),
    "homework new": ("sawtooth --name Ada --out homework", {"homework", "files"}),
    "identify": ("slow.pcap", {"capture", "notes", "connections"}),
    "kernel doctor": ("", {"checks"}),
    "kernel status": ("", {"loaded"}),
    "model": ("--cca reno --rate 10Mbps --rtt 20ms --duration 5s", {"cca", "path"}),
    "papers": ("", {"papers"}),
    "prove": ("reno --events 100", {"name", "cells", "compared", "differing"}),
    "report": ("result", {"page"}),
    "reproduce": ("elastic-tcp --only windows --quick --seeds 1 --out reproduced", {"summary", "papers"}),
    "results": ("result", {"scenario", "runs", "summary"}),
    "run": ("small.toml", {"scenario", "runs", "summary"}),
    "show": ("small.toml", {"name", "links", "flows"}),
    "sweep": ("sweep.toml --out swept", {"out", "points", "runs", "ran", "failures", "finished", "wall_s"}),
    "tune": ("small.toml --cca cubic --param beta=0.5:0.9 --trials 1 --out tuned", {"cca", "judgements"}),
}

#: Commands that change the machine; `kernel trace` prints an object per sample.
ON_THE_MACHINE = {"kernel load", "kernel trace", "kernel unload", "linux setup"}


def commands(command: click.Command = cli, name: str = "") -> Iterator[tuple[str, click.Command]]:
    if isinstance(command, click.Group):
        for part, own in command.commands.items():
            yield from commands(own, f"{name} {part}".lstrip())
    else:
        yield name, command


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("json")
    (folder / "small.toml").write_text(FILE)
    (folder / "ada.txt").write_text("homework = sawtooth\nname = Ada\n")
    (folder / "slow.pcap").write_bytes(window_limited())
    (folder / "sweep.toml").write_text(SWEEP)
    cwnd.run(cwnd.dumbbell("cubic", samples="off", **SMALL)).save(folder / "result")
    return folder


def test_every_command_that_prints_something_has_the_flag() -> None:
    having = {name for name, command in commands() if any(p.name == "as_json" for p in command.params)}
    assert {name for name, _ in commands()} - having == WITHOUT
    assert having == {*CALLS, *ON_THE_MACHINE}


@pytest.mark.parametrize("name", CALLS)
def test_a_command_prints_one_object_and_nothing_else(name: str, folder: Path, cwnd_here: Command) -> None:
    arguments, keys = CALLS[name]
    done = cwnd_here(*name.split(), *shlex.split(arguments), "--json", cwd=folder)
    assert done.returncode in (0, 1), done.stderr
    assert keys <= json.loads(done.stdout).keys()


def test_a_sweep_lists_the_runs_that_failed(tmp_path: Path, cwnd_command: Command) -> None:
    (tmp_path / "mine.py").write_text(
        "import cwnd\n\n\nclass Mine(cwnd.CongestionControl):\n"
        "    def cong_avoid(self, window, ack): ...\n"
        "    def ssthresh(self, window, ack): return 2.5\n"
    )
    (tmp_path / "sweep.toml").write_text(SWEEP.replace('"elastic"', '"mine.py:Mine"'))
    done = cwnd_command("sweep", "sweep.toml", "--out", "swept", "--json", cwd=tmp_path)
    ended = json.loads(done.stdout)
    assert done.returncode == 1 and (ended["points"], ended["runs"], ended["finished"]) == (6, 18, True)
    failures = ended["failures"]
    assert 0 < len(failures) <= 9 and {one["seed"] for one in failures} <= {1, 2, 3}
    assert all("Mine.ssthresh must return an int" in one["reason"] for one in failures)


def printed(*arguments: str) -> Any:
    done = CliRunner().invoke(cli, [*arguments, "--json"], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


def test_what_is_loaded_and_unloaded_is_an_object(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel, "load", lambda name, own, **_: kernel.Loaded(own or name))
    monkeypatch.setattr(kernel, "status", lambda: [{"name": "elastic"}, {"name": "gentle"}])
    monkeypatch.setattr(kernel, "unload", {"elastic": "cubic", "gentle": None}.get)
    loaded = printed("kernel", "load", "cubic", "--as", "gentle", "--default")
    assert loaded == {"name": "gentle", "algorithm": "cubic", "default": True}
    unloaded = [{"name": "elastic", "default": "cubic"}, {"name": "gentle", "default": None}]
    assert printed("kernel", "unload", "--all") == {"unloaded": unloaded}


def test_the_machine_that_was_set_up_is_an_object(monkeypatch: pytest.MonkeyPatch) -> None:
    def get(report: Callable[[str], object]) -> str:
        report("unpacking")
        return "6.12.1"

    monkeypatch.setattr(_machine, "missing", lambda: [_machine.Package("qemu-system-x86", "file", 7, "")])
    monkeypatch.setattr(_machine, "get", get)
    assert printed("linux", "setup") == {
        "release": "6.12.1",
        "folder": str(_machine.folder()),
        "packages": ["qemu-system-x86"],
    }
