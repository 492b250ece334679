"""A scenario file may name a class of a Python file beside it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import cwnd

CLASS = """
import cwnd


class Slow(cwnd.CongestionControl):
    def __init__(self, step: int = 1) -> None:
        self.step = step

    def ssthresh(self, window, ack):
        return max(window.cwnd // 2, 2)

    def cong_avoid(self, window, ack):
        window.cwnd += self.step if window.cwnd < 20 else 0


class Other:
    pass
"""
SCENARIO = """duration = "1 s"
[dumbbell]
rate = "10 Mbps"
delay = "10 ms"
buffer = 50
[[flows]]
cca = "own/slow.py:Slow"
[[flows]]
cca = { name = "own/slow.py:Slow", step = 2 }
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "slow.py").write_text(CLASS)
    scenario = tmp_path / "scenario.toml"
    scenario.write_text(SCENARIO)
    return scenario


def test_a_scenario_names_a_class_beside_it(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir("/")
    flows = cwnd.run(cwnd.Scenario.from_toml(file)).flows
    assert flows["cca"].to_list() == ["own/slow.py:Slow"] * 2
    assert flows["delivered_pkts"].min() > 100
    assert flows["mean_cwnd_pkts"][1] > flows["mean_cwnd_pkts"][0]


def test_a_sweep_names_it_too(file: Path, tmp_path: Path) -> None:
    with file.open("a") as text:
        text.write('[sweep]\n"flows.cca" = ["reno", "own/slow.py:Slow"]\n')
    command = [sys.executable, "-m", "cwnd", "sweep", str(file), "--out", str(tmp_path / "out")]
    subprocess.run(command, check=True, capture_output=True, timeout=60)
    results = cwnd.Results.load(tmp_path / "out")
    assert {values["flows.cca"] for values in results.values} == {"reno", "own/slow.py:Slow"}


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("own/slow.py:Fast", "own/slow.py has no class 'Fast' of cwnd.CongestionControl"),
        ("own/slow.py:Other", "own/slow.py has no class 'Other' of cwnd.CongestionControl"),
        ("own/none.py:Slow", "own/none.py: no such file; write NAME or FILE.py:CLASS"),
        ("own/broken.py:Slow", "division by zero"),
    ],
)
def test_what_is_not_such_a_class_is_refused_with_its_line(file: Path, written: str, expected: str) -> None:
    (file.parent / "own" / "broken.py").write_text("1 / 0\n")
    file.write_text(SCENARIO.replace('"own/slow.py:Slow"\n', f'"{written}"\n', 1))
    with pytest.raises(cwnd.Error) as refused:
        cwnd.Scenario.from_toml(file)
    assert str(refused.value).startswith(f"{file}:7: cca: ") and expected in str(refused.value)


def test_a_file_that_only_a_comment_names_is_not_run(file: Path) -> None:
    (file.parent / "own" / "broken.py").write_text("1 / 0\n")
    file.write_text(SCENARIO + '# cca = "own/broken.py:Slow"\n')
    cwnd.Scenario.from_toml(file)
