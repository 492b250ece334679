"""`cwnd completion`, asked by the shells themselves where they are installed."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import click
import pytest

import cwnd
from cwnd._cli import completion, main
from cwnd._cli.commands import cli

#: zsh completes what is typed on a terminal. The second argument is what must then stand in the line.
ZSH = r"""
zmodload zsh/zpty
zpty shell zsh -f
zpty -w shell 'autoload -U compinit; compinit -u -D; eval "$(cwnd completion zsh)"; PS1=; print re""ady'
zpty -r -m shell line '*ready*'
zpty -w -n shell "$1"$'\t'
zpty -r -m shell line "*$2*"
print -r -- "$line"
zpty -d shell
"""

#: Bash completes files by itself where the function asks it to, which it may only do on a terminal.
BASH = r"""
compopt() { COMPREPLY=($(compgen -f "${COMP_WORDS[COMP_CWORD]}")); }
eval "$(cwnd completion bash)"
COMP_WORDS=($1)
COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
_cwnd_completion cwnd
printf '%s\n' "${COMPREPLY[@]}"
"""

FISH = r"""
cwnd completion fish | source
complete -C $argv[1]
"""

ASKED = (
    ("cwnd run --cca el", "elastic"),
    ("cwnd run --cca cubic+el", "cubic+elastic"),
    ("cwnd run --cca reno --queue fq", "fq-codel"),
    ("cwnd compare --on sim,quinn-", "sim,quinn-tls"),
    ("cwnd reproduce ela", "elastic-tcp"),
    ("cwnd reproduce elastic-tcp --only table4", "table4"),
    ("cwnd gate one two --metric p9", "p95_rtt_ms"),
    ("cwnd evaluate reno --only harm", "harm"),
    ("cwnd kernel load westw", "westwood"),
    ("cwnd comple", "completion"),
    ("cwnd run scenarios/elastic-si", "scenarios/elastic-single.toml"),
)


def ask(shell: str, code: str, *arguments: str) -> str:
    if shutil.which(shell) is None:
        pytest.skip(f"needs {shell}")
    flags = {"bash": ("--norc", "-c"), "zsh": ("-f", "-c"), "fish": ("--no-config", "-c")}[shell]
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    named = (shell,) if shell != "fish" else ()
    done = subprocess.run(
        [shell, *flags, code, *named, *arguments],
        env={**os.environ, "PATH": path, "TERM": "dumb"},
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert not done.stderr, done.stderr
    return done.stdout


@pytest.mark.parametrize(("line", "expected"), ASKED)
def test_bash_completes(line: str, expected: str) -> None:
    assert expected in ask("bash", BASH, line).split()


@pytest.mark.parametrize(("line", "expected"), [one for one in ASKED if "," not in one[1]])
def test_fish_completes(line: str, expected: str) -> None:
    assert expected in [one.partition("\t")[0] for one in ask("fish", FISH, line).splitlines()]


def test_zsh_completes_a_name_and_a_file() -> None:
    for line, expected in (("cwnd run --cca cubic+el", "cubic+elastic"), ASKED[-1]):
        assert line.rpartition(" ")[0] + " " + expected in ask("zsh", ZSH, line, expected)


def test_every_fixed_word_is_accepted_and_none_is_missing() -> None:
    for name in ("queue", "ecn", "stack", "recovery", "clock", "end"):
        words = set(completion._WORDS[name](click.Context(cli)))  # type: ignore[arg-type]
        with pytest.raises(cwnd.Error) as refused:
            cwnd.dumbbell("reno", **{name: "x"})  # type: ignore[arg-type]
        accepted = re.sub(r".*(there are|is not an? \w+;) ", "", str(refused.value))
        assert set(re.findall(r"[\w-]+", accepted.replace(" and ", " ").replace(" or ", " "))) == words, name


def test_an_unknown_shell_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main._main(["completion", "tcsh"]) == 2
    assert capsys.readouterr().err == "cwnd: error: SHELL: 'tcsh' has no completion; bash, zsh or fish\n"
