"""Paired comparisons: intervals, p and Holm's correction against what must be true of them."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest

import cwnd
from conftest import Command
from cwnd._analysis.paired import compare_algorithms, difference, holm

DRAWS = 1000


def drawn(seed: int, seeds: int, change: float, shared: float) -> tuple[list[float], list[float]]:
    """Two algorithms that meet the same luck of each seed, and have some of their own."""
    random = np.random.default_rng(seed)
    luck = shared * random.normal(size=seeds)
    base = 9 + luck + random.normal(size=seeds)
    return base.tolist(), (9 + change + luck + random.normal(size=seeds)).tolist()


def test_the_intervals_of_a_thousand_draws_cover_the_true_difference_as_often_as_they_say() -> None:
    for seeds in (3, 10):
        found = [difference(*drawn(seed, seeds, 0.5, 3)) for seed in range(DRAWS)]
        covered = sum(
            one.low <= 0.5 <= one.high for one in found if one.low is not None and one.high is not None
        )
        # 950 ± 3 standard deviations of 6.9.
        assert 929 <= covered <= 971


def test_p_of_an_algorithm_beside_itself_is_uniform() -> None:
    found = sorted(p for seed in range(DRAWS) if (p := difference(*drawn(seed, 8, 0, 3)).p) is not None)
    # Kolmogorov and Smirnov's distance at 1 %: 1.63 / sqrt(n).
    steps = np.arange(1, DRAWS + 1) / DRAWS
    assert np.max(np.abs(np.array(found) - steps)) < 1.63 / math.sqrt(DRAWS)


def test_pairs_find_a_difference_that_unpaired_runs_hide() -> None:
    found = [drawn(seed, 10, 1.5, 3) for seed in range(200)]
    paired = sum((difference(*one).p or 0) < 0.05 for one in found)
    apart = sum((difference(base, other[1:] + other[:1]).p or 0) < 0.05 for base, other in found)
    assert paired > 150 and apart < 80


def test_p_is_that_of_a_printed_example() -> None:
    """Student 1908: the hours of sleep that two drugs give the same ten patients."""
    one = [0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0]
    two = [1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4]
    found = difference(one, two)
    assert found.mean == pytest.approx(1.58)
    assert found.p == pytest.approx(0.002833, abs=1e-6)
    assert (found.low, found.high) == (pytest.approx(0.7001, abs=1e-4), pytest.approx(2.4599, abs=1e-4))
    assert found.effect == pytest.approx(1.58 / 1.229995, abs=1e-5)


def test_equal_runs_have_p_1_and_a_constant_difference_has_0() -> None:
    assert difference([1, 2, 3], [1, 2, 3])[:] == (0.0, 0.0, 0.0, None, 1.0, 3)
    assert difference([1, 2, 3], [2, 3, 4])[:] == (1.0, 1.0, 1.0, None, 0.0, 3)
    assert difference([1], [2]) == (1.0, None, None, None, None, 1)


def test_holm_steps_down() -> None:
    assert holm([0.01, 0.04, 0.03, None, 0.005]) == pytest.approx([0.03, 0.06, 0.06, None, 0.02])
    assert holm([0.9, 0.8]) == [1.0, 1.0]


SWEEP = """
duration = "2 s"
repeat = 4
[dumbbell]
rate = "10 Mbps"
delay = "10 ms"
buffer = 30
per = 1e-3
[[flows]]
cca = "reno"
[sweep]
"flows.cca" = ["reno", "cubic"]
"dumbbell.buffer" = [10, 60]
"""


def test_the_algorithms_of_a_sweep_are_compared_point_by_point(tmp_path: Path, cwnd_here: Command) -> None:
    (tmp_path / "sweep.toml").write_text(SWEEP)
    results = cwnd.sweep(tmp_path / "sweep.toml", out=tmp_path / "swept")
    compared = compare_algorithms(results)
    assert compared.baseline == "reno"
    assert [(line.point, line.name, line.metric) for line in compared.lines[:2]] == [
        ("buffer 10 packets", "cubic", "throughput_mbps"),
        ("buffer 60 packets", "cubic", "throughput_mbps"),
    ]
    first = compared.lines[0]
    values = {name: runs["throughput_mbps"].to_list() for name, runs in results.metrics_by_scenario.items()}
    at_ten = [
        one["name"]
        for one, own in zip(results.scenarios, results.values, strict=True)
        if own["dumbbell.buffer"] == 10
    ]
    reno, cubic = (values[name] for name in at_ten)
    assert first.difference.mean == pytest.approx(np.mean(np.subtract(cubic, reno)))
    done = cwnd_here("compare", str(tmp_path / "swept"), "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["lines"][0]["difference"] == first.difference.mean
    done = cwnd_here("compare", str(tmp_path / "swept"), "--metric", "mean_rtt_ms", "--baseline", "cubic")
    assert done.returncode == 0 and "mean RTT (ms)" in done.stdout and "p (Holm)" in done.stdout
    done = cwnd_here("compare", str(tmp_path / "swept"), "--baseline", "vegas")
    assert done.returncode == 2
    assert done.stderr == "cwnd: error: --baseline: no 'vegas' here; there are reno, cubic\n"


def test_differences_fail_a_command_only_if_it_is_asked_to(tmp_path: Path, cwnd_here: Command) -> None:
    (tmp_path / "sweep.toml").write_text(SWEEP)
    cwnd.sweep(tmp_path / "sweep.toml", out=tmp_path / "swept")
    names = [str(tmp_path / "swept"), "--metric", "throughput_mbps"]
    assert cwnd_here("compare", *names).returncode == 0
    shown = json.loads(cwnd_here("compare", *names, "--json").stdout)
    expected = 0 if shown["ok"] else 1
    assert cwnd_here("compare", *names, "--fail-on-difference").returncode == expected
