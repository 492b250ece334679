"""Results side by side."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import cwnd
from conftest import SMALL, SMALL_FLAGS, Command


def result(**changes: object) -> cwnd.Results:
    return cwnd.run(cwnd.dumbbell("cubic", **{**SMALL, **changes}))  # type: ignore[arg-type]


def test_a_result_agrees_with_itself_in_every_metric() -> None:
    own = result()
    compared = cwnd.compare(own, own)
    assert compared.ok and compared.names == ["1", "2"] and not compared.notes
    assert {line.verdict for line in compared.lines} == {"agrees"}
    assert {ratio for line in compared.lines for ratio in line.ratios} == {1.0}


def test_half_the_rate_differs_and_the_key_is_named() -> None:
    compared = cwnd.compare(result(), result(rate="5 Mbps"), names=["full", "half"])
    lines = {line.metric.name: line for line in compared.lines}
    assert not compared.ok and lines["throughput_mbps"].verdict == "differs"
    assert lines["throughput_mbps"].ratios[1] == pytest.approx(0.5, rel=0.05)
    assert compared.notes == ["cubic: links[0].rate_bps is 100000000 in full, 50000000 in half"]


def test_what_is_beyond_the_tolerance_is_within_the_intervals_if_they_overlap() -> None:
    noisy = {"per": 0.01, "repeat": 3, "duration": "1 s", "rate": "50 Mbps"}
    compared = cwnd.compare(result(**noisy), result(**noisy, seed=100))
    for line in compared.lines:
        first, other = line.sides
        overlap = first.low <= other.high and other.low <= first.high
        if abs(other.mean - first.mean) <= line.metric.tolerance * first.mean:
            assert line.verdict == "agrees"
        elif abs(other.mean - first.mean) > line.metric.floor:
            assert line.verdict == ("within the intervals" if overlap else "differs")


def test_results_are_compared_and_written_by_the_command(tmp_path: Path, cwnd_here: Command) -> None:
    for name, rate in (("before", "10Mbps"), ("after", "5Mbps")):
        flags = [
            "--cca",
            "cubic",
            *SMALL_FLAGS,
            "--rate",
            rate,
            "--samples",
            "off",
            "--out",
            str(tmp_path / name),
        ]
        assert cwnd_here("run", *flags).returncode == 0
    before, after = str(tmp_path / "before"), str(tmp_path / "after")
    same = cwnd_here("compare", before, before, "--json")
    assert same.returncode == 0 and json.loads(same.stdout)["ok"]
    done = cwnd_here("compare", before, after, "--out", str(tmp_path / "compared"))
    assert done.returncode == 0 and "differs" in done.stdout
    assert cwnd_here("compare", before, after, "--fail-on-difference").returncode == 1
    written = {"comparison.json", "comparison.md"}
    assert {file.name for file in (tmp_path / "compared").iterdir()} == written
    cwnd.compare(result(), result(rate="5 Mbps")).save(tmp_path / "drawn")
    written |= {f"{kind}.{ending}" for kind in ("cwnd", "queue") for ending in ("png", "svg", "pdf")}
    assert {file.name for file in (tmp_path / "drawn").iterdir()} == written
    assert "| cubic | throughput_mbps |" in (tmp_path / "compared" / "comparison.md").read_text()


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ((), "give two directories of results or more, or a scenario and --on sim,linux"),
        (("--cca", "cubic"), "--on: is needed to run a scenario: two worlds or more, such as sim,linux"),
        (("--cca", "cubic", "--on", "sim"), "--on: 'sim' are not two worlds or more, such as sim,linux"),
        (
            ("--cca", "cubic", "--on", "sim,mars"),
            "--on: 'mars' is not a world; choose linux, linux-ebpf, live, noq, noq-tls, quinn, "
            "quinn-tls, s2n-quic, sim",
        ),
    ],
)
def test_what_cannot_be_compared_is_refused_in_a_line(
    arguments: tuple[str, ...], reason: str, cwnd_here: Command
) -> None:
    done = cwnd_here("compare", *arguments)
    assert (done.returncode, done.stderr) == (2, f"cwnd: error: {reason}\n")


def test_only_scenarios_with_samples_in_each_result_are_drawn(tmp_path: Path) -> None:
    def results(names: list[str]) -> cwnd.Results:
        off = cwnd.dumbbell("reno", name="off", samples="off", **SMALL)
        return cwnd.run([off, *(cwnd.dumbbell("reno", name=name, **SMALL) for name in names)])

    compared = cwnd.compare(results(["on"]), results(["on"]))
    assert len(compared.plot("cwnd").axes) == 1
    compared.save(tmp_path / "few")
    many = [str(number) for number in range(29)]
    cwnd.compare(results(many), results(many)).save(tmp_path / "many")
    assert (tmp_path / "few" / "cwnd.png").exists() and not (tmp_path / "many" / "cwnd.png").exists()


def test_results_of_other_scenarios_are_refused() -> None:
    two = cwnd.run([cwnd.dumbbell("cubic", **SMALL), cwnd.dumbbell("reno", **SMALL)])
    with pytest.raises(cwnd.Error, match="2: has no scenario 'reno'; another result has"):
        cwnd.compare(two, cwnd.run([cwnd.dumbbell("cubic", **SMALL), cwnd.dumbbell("bic", **SMALL)]))
    with pytest.raises(cwnd.Error, match="two or more are compared"):
        cwnd.compare(two)
