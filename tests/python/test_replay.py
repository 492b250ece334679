"""Scenarios that replay a connection, from series whose numbers are known by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import cwnd
from captures import SEGMENT, window_limited
from conftest import Command
from cwnd._explain.replay import Replay, replay

_NUMBERS = {
    "rate_bps": 0.0,
    "rtt_mean_ms": 50.0,
    "flight_bytes": 0,
    "window_bytes": 0,
    "losses": 0,
    "marks": 0,
}


def connection(spans: list[tuple[float, float, str]], **given: Any) -> Any:
    """A connection of 1000-byte segments and an RTT of 50 ms, with slots of 100 ms and 8 Mbit/s."""
    end_s = spans[-1][1]
    steps = round(end_s * 10)
    causes: dict[str, float] = {}
    for start_s, stop_s, cause in spans:
        causes[cause] = causes.get(cause, 0.0) + stop_s - start_s
    series: dict[str, Any] = {
        "step_s": 0.1,
        "rate_bps": [8e6] * steps,
        "sent_bps": [8e6] * steps,
        "flight_bytes": [50_000] * steps,
        "window_bytes": [900_000] * steps,
        "rtt_ms": [50.0] * steps,
        "losses": [],
    }
    series |= given.pop("series", {})
    return {
        "bytes": sum(series["rate_bps"]) / 80,
        "duration_s": end_s,
        "goodput_bps": sum(series["rate_bps"]) / steps,
        "handshake": {"segment_bytes": 1000},
        "rtt_min_ms": 50.0,
        "policer_bps": None,
        "causes": sorted(
            (
                {"cause": cause, "share": s / end_s, "seconds": s, "after": None, "numbers": dict(_NUMBERS)}
                for cause, s in causes.items()
            ),
            key=lambda share: -share["share"],
        ),
        "spans": [
            {"start_s": start_s, "end_s": stop_s, "cause": cause, "after": None, "numbers": dict(_NUMBERS)}
            for start_s, stop_s, cause in spans
        ],
        "series": series,
        **given,
    }


def test_a_full_path_has_the_rate_of_its_plateau_and_the_buffer_of_its_overflows() -> None:
    losses = [{"at_s": at, "rtt_ms": 90.0} for at in (3.0, 6.0, 9.0)]
    losses += [{"at_s": at, "rtt_ms": 50.2} for at in (2.0, 7.0)]
    rates = [4e6] * 10 + [8e6] * 90
    found = replay(
        connection([(0, 1, "slow_start"), (1, 10, "full_path")], series={"losses": losses, "rate_bps": rates})
    )
    # 66 bytes of headers for 1000 of payload; 40 ms of queue at 8 Mbit/s are 40 kB of payload.
    assert found.rate_shown and found.rates_bps == ((0.0, pytest.approx(8e6 * 1.066)),)
    assert found.buffer_shown and found.buffer_bytes == pytest.approx(40_000 * 1.066, abs=1)
    # Two losses without a queue in 9500 segments.
    assert found.loss == pytest.approx(2 / 9500)
    text = found.path_toml("t")
    assert "lower bound" not in text and "the algorithm; cubic stands for it" in text


def test_a_path_that_was_never_full_has_lower_bounds_and_no_scenario_of_its_own() -> None:
    made = connection([(0, 10, "receiver")], series={"window_bytes": [50_000] * 100})
    made["causes"][0]["numbers"]["window_bytes"] = 50_000
    found = replay(made)
    assert not found.rate_shown and not found.buffer_shown and found.window_pkts == 50
    text = found.app_toml("t")
    assert (
        "8.528 Mbps is a lower bound" in text
        and "53.3 kB, the largest queue or flight, is a lower bound" in text
        and "receive_window = 50" in text
    )
    assert 'rate = "34112000 bps"' in text
    with pytest.raises(cwnd.Error, match=r"the path was never full: it carries 8\.528 Mbps or more"):
        found.path_toml("t")


def test_a_path_whose_rate_changed_has_steps() -> None:
    rates = [8e6] * 50 + [2e6] * 50
    found = replay(connection([(0, 10, "full_path")], series={"rate_bps": rates}))
    assert [(start_s, round(bps / 1.066)) for start_s, bps in found.rates_bps] == [(0, 8e6), (5, 2e6)]


def test_an_application_that_pauses_writes_its_bursts_again() -> None:
    spans = [
        (at + part, at + part + 0.5, cause)
        for at in range(10)
        for part, cause in ((0, "cwnd"), (0.5, "application"))
    ]
    found = replay(connection(spans))
    # A megabyte a second, each at once.
    assert found.bursts == (pytest.approx(1e6), pytest.approx(1.0))
    assert 'app_rate = "800000000 bps"' in found.app_toml("t")


def test_a_policer_is_its_rate_and_what_went_before_the_first_loss() -> None:
    rates = [8e6] * 10 + [4e6] * 90
    losses = [{"at_s": 1.0, "rtt_ms": 50.0}]
    made = connection(
        [(0, 1, "slow_start"), (1, 10, "policer")],
        series={"rate_bps": rates, "losses": losses},
        policer_bps=4e6,
    )
    found = replay(made)
    # For a second 4 Mbit/s above the policer's rate.
    assert found.policer == (pytest.approx(4e6 * 1.066), 500_000) and found.loss == 0


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"rtt_min_ms": None}, "no RTT was seen"),
        ({"spans_of": "ack_path"}, "path of the ACKs, which a scenario cannot repeat"),
        ({"spans_of": "unknown"}, "not known, which a scenario cannot repeat"),
        ({"series": {"rate_bps": [0.0] * 100}, "bytes": 1}, "nothing was delivered"),
        ({"bytes": 0}, "no data"),
    ],
)
def test_what_a_scenario_cannot_repeat_is_refused_with_its_reason(given: dict[str, Any], says: str) -> None:
    cause = given.pop("spans_of", "full_path")
    with pytest.raises(cwnd.Error, match=says):
        replay(connection([(0, 10, cause)], **given))


def test_every_replay_is_a_scenario_that_has_its_goodput(tmp_path: Path) -> None:
    """The transfer of a capture made by hand: ten segments in 50 ms."""
    explained = cwnd.explain(window_limited(), out=tmp_path / "slow", present="reno")
    names = sorted(file.name for file in (tmp_path / "slow").iterdir())
    assert names == ["app.toml", "explain.html", "explain.json"]
    assert any("No path.toml: the path was never full" in line for line in explained.written)
    results = cwnd.run(tmp_path / "slow" / "app.toml")
    assert results.flows["cca"].to_list() == ["reno"]
    assert results.flows["goodput_mbps"][0] == pytest.approx(80 * SEGMENT / 50_000, rel=0.1)


def test_a_directory_of_another_answer_keeps_no_scenario_that_is_not_this_ones(
    tmp_path: Path, cwnd_command: Command
) -> None:
    (tmp_path / "slow.pcap").write_bytes(window_limited())
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "path.toml").write_text("of another")
    done = cwnd_command("explain", "slow.pcap", "--out", "out", "--cca", "bbr", cwd=tmp_path)
    assert done.returncode == 0 and "Written to out: explain.html, explain.json, app.toml" in done.stdout
    assert not (tmp_path / "out" / "path.toml").exists()
    assert 'cca = "bbr"' in (tmp_path / "out" / "app.toml").read_text()
    unknown = cwnd_command("explain", "slow.pcap", "--out", "out", "--cca", "cubik", cwd=tmp_path)
    assert unknown.returncode == 2 and "cubic" in unknown.stderr and unknown.stderr.count("\n") == 1


def test_the_rate_of_a_replay_with_several_is_the_one_that_held_longest() -> None:
    found = replay(connection([(0, 10, "full_path")], series={"rate_bps": [2e6] * 30 + [8e6] * 70}))
    assert isinstance(found, Replay) and found.rate_bps == pytest.approx(8e6 * 1.066)
