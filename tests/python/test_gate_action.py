"""The steps of the Action `cwnd gate`, run as a script, without a network."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from cwnd import _cwnd

ROOT = Path(__file__).parents[2]
ACTION = ROOT / ".github" / "actions" / "gate"

#: An algorithm whose throughput at random losses depends on what it keeps of its window.
HEADER = """\
import cwnd

class Mine(cwnd.CongestionControl):
    def cong_avoid(self, window, ack):
        window.cwnd_cnt += ack.acked
        if window.cwnd < window.ssthresh:
            window.cwnd += ack.acked
        elif window.cwnd_cnt >= window.cwnd:
            window.cwnd_cnt -= window.cwnd
            window.cwnd += 1

    def ssthresh(self, window, ack):
        return max(window.cwnd * 500 // 1000, 2)
"""
SCENARIO = """\
name = "lossy"
duration = "10 s"
samples = "off"
[dumbbell]
rate = "20 Mbps"
delay = "20 ms"
buffer = "1 BDP"
per = 0.002
[[flows]]
cca = "mine.py:Mine"
"""


def git(tree: Path, *arguments: str) -> str:
    identity = ("-c", "user.name=Tester", "-c", "user.email=tester@example.org")
    command = ["git", "-C", str(tree), *identity, *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def run_action(tree: Path, **settings: str) -> subprocess.CompletedProcess[str]:
    inputs = {f"GATE_{name.upper()}": value for name, value in settings.items()}
    environment = {**os.environ, **inputs, "GITHUB_STEP_SUMMARY": str(tree.parent / "summary.md")}
    return subprocess.run(
        [ACTION / "gate.sh"], cwd=tree, env=environment, capture_output=True, text=True, timeout=1500
    )


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A checkout with a class, a scenario and thresholds."""
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / "mine.py").write_text(HEADER)
    (tree / "lossy.toml").write_text(SCENARIO)
    (tree / "gate.toml").write_text('[margins]\ngoodput_mbps = "2%"\np95_rtt_ms = "5%"\n')
    git(tree, "init", "--quiet")
    git(tree, "add", "--all")
    git(tree, "commit", "--quiet", "--message", "Begin")
    return tree


def settings(tree: Path) -> dict[str, str]:
    return {
        "scenarios": "lossy.toml",
        "base": "HEAD",
        "cwnd": f"{shlex.quote(sys.executable)} -m cwnd",
        "seeds": "8",
        "thresholds": "gate.toml",
        "out": str(tree.parent / "out"),
    }


@pytest.mark.slow
def test_an_unchanged_algorithm_passes(tree: Path) -> None:
    done = run_action(tree, **settings(tree))
    assert done.returncode == 0, done.stdout + done.stderr
    assert (
        (tree.parent / "summary.md").read_text().startswith("## cwnd gate: passed\n\n2 ok, of 2 comparisons.")
    )
    assert git(tree, "worktree", "list").count("\n") == 1 and not git(tree, "status", "--porcelain")


@pytest.mark.slow
def test_a_planted_regression_fails_with_a_summary_that_names_it(tree: Path) -> None:
    (tree / "mine.py").write_text(HEADER.replace("500 // 1000", "430 // 1000"))
    done = run_action(tree, **settings(tree))
    out = tree.parent / "out"
    assert done.returncode == 1, done.stdout + done.stderr
    summary = (out / "gate.md").read_text()
    assert summary.startswith("## cwnd gate: failed\n\n1 worse, 1 ok, of 2 comparisons.")
    assert "| **worse** | lossy | goodput_mbps | -" in summary and summary in done.stdout
    first, _ = json.loads((out / "gate.json").read_text())["verdicts"]
    assert first["metric"] == "goodput_mbps" and -0.09 < first["change"] < -0.03
    failures = ElementTree.parse(out / "gate.xml").getroot().findall(".//failure")
    assert [failure.get("type") for failure in failures] == ["worse"]


@pytest.mark.slow
def test_what_is_wrong_is_said_in_one_line_and_nothing_passes(tree: Path) -> None:
    own = settings(tree)
    for change, line in (
        ({"base": "origin/main"}, "gate: origin/main is not a revision of this checkout; "),
        ({"scenarios": "none.toml"}, "gate: none.toml is not a file of this checkout"),
        ({"prepare": "false"}, "gate: the base tree could not be run"),
        ({"thresholds": "none.toml"}, "cwnd: error: --thresholds: "),
    ):
        done = run_action(tree, **{**own, **change})
        assert done.returncode == 2 and line in done.stderr, done.stdout + done.stderr
        assert git(tree, "worktree", "list").count("\n") == 1
    assert not (tree.parent / "summary.md").exists()


def test_every_input_of_the_action_reaches_the_script() -> None:
    script, action = ((ACTION / name).read_text() for name in ("gate.sh", "action.yml"))
    inputs = [
        line.strip(" :")
        for line in action.split("runs:")[0].splitlines()
        if line.startswith("  ") and line[2] != " "
    ]
    assert len(inputs) == 8
    for name in inputs:
        assert f"GATE_{name.upper()}: ${{{{ inputs.{name} }}}}" in action
        assert f"GATE_{name.upper()}" in script


LONG_FAT = """\
name = "long-fat"
duration = "60 s"
warmup = "10 s"
samples = "off"
[dumbbell]
rate = "200 Mbps"
rtt = "100 ms"
buffer = "1 BDP"
loss = "0.01%"
[[flows]]
cca = "cubic"
"""


@pytest.mark.builds
def test_a_header_whose_growth_is_changed_fails_and_the_same_header_passes(tmp_path: Path) -> None:
    """Uses this repository: the engine is built with CUBIC's C at 0.28 instead of 0.4 (RFC 9438, 5.1)."""
    tree = tmp_path / "tree"
    git(tmp_path, "clone", "--quiet", "--shared", "--no-checkout", str(ROOT), str(tree))
    git(tree, "checkout", "--quiet", "--detach", git(ROOT, "rev-parse", "HEAD").strip())
    (tree / "long-fat.toml").write_text(LONG_FAT)
    header = tree / "algorithms" / "cubic.h"
    own = {
        **settings(tree),
        "scenarios": "long-fat.toml",
        "cwnd": f"env PYTHONPATH=python {shlex.quote(sys.executable)} -m cwnd",
        "thresholds": "",
        # The header of the base is the one that is installed here.
        "prepare": f"""
            if cmp --quiet algorithms/cubic.h {shlex.quote(str(ROOT))}/algorithms/cubic.h; then
                cp {shlex.quote(str(Path(_cwnd.__file__)))} python/cwnd/
            else
                cargo build --quiet --offline --profile clone -p cwnd-python
                cp target/clone/lib_cwnd.so python/cwnd/_cwnd.abi3.so
            fi
        """,
    }
    same = run_action(tree, **own)
    assert same.returncode == 0, same.stdout + same.stderr
    text = header.read_text()
    assert text.count("P(c, 410, 1024,") == 1
    header.write_text(text.replace("P(c, 410, 1024,", "P(c, 288, 1024,"))
    changed = run_action(tree, **own)
    assert changed.returncode == 1, changed.stdout + changed.stderr
    verdict = json.loads((tmp_path / "out" / "gate.json").read_text())["verdicts"][0]
    assert verdict["verdict"] == "worse" and -0.08 < verdict["change"] < -0.03
