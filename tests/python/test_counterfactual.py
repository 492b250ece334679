"""Predictions for other algorithms, beside runs of the path that the connection really had."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import cwnd
from captures import window_limited
from conftest import Command
from cwnd._explain.counterfactual import counterfactual
from test_replay import connection

#: A path of 8.528 Mbit/s is full at 8 Mbit/s of payload of 1000 bytes with headers of 66.
PATH = {"rate": "8.528 Mbps", "rtt": "50 ms", "buffer": "42640 bytes", "duration": "20 s"}


def filled(**given: Any) -> Any:
    """A transfer that fills a path of 8 Mbit/s of payload with a buffer of 40 ms."""
    losses = [{"at_s": at, "rtt_ms": 90.0} for at in (3.0, 6.0, 9.0)]
    made = connection([(0, 20, "full_path")], series={"losses": losses}, **given)
    made["causes"][0]["numbers"]["rtt_mean_ms"] = really("cubic")["mean_rtt_ms"]
    return made


def really(cca: str, **path: Any) -> dict[str, float]:
    flows = {"cca": cca, "packet": "1000 bytes"}
    results = cwnd.run(cwnd.Scenario.parse(_toml({**PATH, **path}, flows), "path"))
    row: dict[str, float] = results.flows.row(0, named=True)
    return row


def _toml(path: dict[str, Any], flows: dict[str, Any]) -> str:
    duration = path.pop("duration")
    tables = {"dumbbell": path, "flows": [flows]}
    lines = [f'duration = "{duration}"']
    for name, table in (("[dumbbell]", tables["dumbbell"]), ("[[flows]]", flows)):
        lines += [name, *(f"{key} = {json.dumps(value)}" for key, value in table.items())]  # type: ignore[union-attr]
    return "\n".join(lines)


def test_the_prediction_holds_what_the_algorithm_has_on_the_path_itself() -> None:
    found = counterfactual(filled(), ["bbr", "reno"], "cubic")
    assert found["refused"] is None and found["present"] == "cubic"
    for other in found["others"]:
        truth = really(other["cca"])
        for name in ("goodput_mbps", "mean_rtt_ms"):
            predicted = other[name]  # type: ignore[literal-required]
            assert predicted["low"] <= truth[name] <= predicted["high"], (other["cca"], name)
    bbr, reno = (other["mean_rtt_ms"]["value"] for other in found["others"])
    assert bbr < reno


def test_a_transfer_that_the_present_algorithm_does_not_repeat_has_no_counterfactual() -> None:
    found = counterfactual(filled(goodput_bps=5e6), ["bbr"], "cubic")
    assert found["others"] == [] and found["refused"] is not None
    assert "where the transfer had 5, more than 10 % off" in found["refused"]


def test_what_depends_on_a_rate_that_was_never_seen_is_at_least_that() -> None:
    """Random losses hold reno down; BBR does not mind these, and takes whatever the path has."""
    loss = 0.01
    truth = really("reno", rate="100 Mbps", per=loss)
    rate_bps = 1e6 * truth["goodput_mbps"]
    steps = 200
    losses = [{"at_s": at * 20 / 430, "rtt_ms": 50.2} for at in range(round(loss * rate_bps * 20 / 8000))]
    series = {"rate_bps": [rate_bps] * steps, "losses": losses}
    made = connection([(0, 20, "random_loss")], series=series, goodput_bps=rate_bps)
    found = counterfactual(made, ["reno", "bbr"], "reno")
    assert found["refused"] is None
    reno, bbr = found["others"]
    assert not reno["goodput_mbps"]["at_least"] and bbr["goodput_mbps"]["at_least"]
    assert bbr["goodput_mbps"]["high"] is None
    assert bbr["goodput_mbps"]["low"] < really("bbr", rate="100 Mbps", per=loss)["goodput_mbps"]


def test_a_receivers_window_limits_every_algorithm_alike(tmp_path: Path, cwnd_command: Command) -> None:
    (tmp_path / "slow.pcap").write_bytes(window_limited(rounds=200))
    arguments = ("explain", "slow.pcap", "--cca", "reno", "--with", "cubic, bbr", "--jobs", "1")
    done = cwnd_command(*arguments, "--json", cwd=tmp_path)
    (explained,) = json.loads(done.stdout)["connections"]
    assert "series" not in explained
    for other in explained["counterfactual"]["others"]:
        # Ten segments of 1000 bytes in 50 ms are 1.6 Mbit/s.
        assert other["goodput_mbps"]["value"] == pytest.approx(1.6, rel=0.1)
    words = cwnd_command(*arguments, cwd=tmp_path).stdout
    assert "With another algorithm, by simulation" in words and "\nbbr " in words
    wrong = cwnd_command("explain", "slow.pcap", "--with", "cubik", cwd=tmp_path)
    assert wrong.returncode == 2 and wrong.stderr.count("\n") == 1 and wrong.stdout == ""
