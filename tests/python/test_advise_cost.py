"""The time that an advice takes: bounded on any path, and told before."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cwnd
from conftest import Command
from cwnd._advise import advise as asked
from cwnd._advise.choose import GOALS, finalists
from cwnd._advise.cost import QUICK, WHOLE, Costs, Effort
from cwnd._advise.measure import Measured, Round, measure
from cwnd._advise.path import Facts, facts_of, path_of_flags

CANDIDATES = 23


def powers(low: float, high: float) -> st.SearchStrategy[float]:
    return st.floats(low, high).map(lambda power: 10**power)


@settings(max_examples=300)
@given(
    facts=st.builds(
        Facts,
        rate_bps=powers(4, 12),
        rtt_ms=powers(-2, 4.3),
        buffer_pkts=st.one_of(st.none(), st.integers(1, 10**7)),
        loss=st.just(0.0),
        queue=st.sampled_from(["droptail", "codel", "fq-codel"]),
    ),
    flows=st.integers(1, 2000),
    beside=st.sampled_from(["cubic", "bbr"]),
    effort=st.sampled_from([WHOLE, QUICK]),
)
def test_two_cores_have_half_a_minute_at_most_on_any_path(
    facts: Facts, flows: int, beside: str, effort: Effort
) -> None:
    costs = Costs(facts, flows, beside, effort)
    assert 0 < costs.part <= 1
    assert costs.seconds(CANDIDATES) <= 60
    first, chosen = costs.first(CANDIDATES), min(costs.finalists() + 3, CANDIDATES)
    second = costs.second(chosen)
    costs.pay(first, CANDIDATES)
    costs.pay(second, chosen)
    third = costs.third(second, chosen)
    assert 0 <= third.runs <= second.runs and (effort.again or not third.runs)
    assert min(first.duration_s, second.duration_s) >= 0.25 * 0.6 * 0.5


def seconds(rate: str, rtt: str, flows: int, **more: object) -> float:
    facts = facts_of(path_of_flags({"rate": rate, "rtt": rtt, **more}))
    return Costs(facts, flows, "cubic", WHOLE).seconds(CANDIDATES)


def test_packets_of_flows_with_little_in_flight_cost_more() -> None:
    # 1 Gbit/s and 20 ms are 1651 packets, and the buffer as many: 413 in flight for 8 flows, 3.3 for 1000.
    few, many = (
        Costs(facts_of(path_of_flags({"rate": "1 Gbps", "rtt": "20 ms"})), n, "cubic", WHOLE)
        for n in (8, 1000)
    )
    assert (few.second(7).runs, many.second(7).runs) == (8, 4)
    # A million packets of 1514 bytes at 1 Gbit/s.
    assert few.second(7).duration_s == pytest.approx(12.1, abs=0.1)
    assert seconds("25 Gbps", "0.2 ms", 2000) > seconds("25 Gbps", "0.2 ms", 8)


def measured(cca: str, rate: float, loss: float) -> Measured:
    rates, rtts_ms = [rate] * 4, [20.0] * 4
    return Measured(cca, rates, rtts_ms, [loss] * 4, rates, rtts_ms, [], [], [1.0] * 4)


def test_what_loses_too_much_in_the_first_look_has_no_second() -> None:
    those = [measured(f"fit-{n}", 10 + n, 0.01) for n in range(4)]
    those = [measured("cubic", 10, 0.01), *those, measured("flood", 99, 0.5)]
    found = Round({one.cca: one for one in those}, [], [], 10, 3)
    chosen = finalists(found, GOALS["throughput"], "cubic", "cubic", 0.0, 4)
    assert sorted(chosen) == ["cubic", "fit-0", "fit-1", "fit-2", "fit-3"]
    # Where there is room, as where the user named it, it has one.
    assert "flood" in finalists(found, GOALS["throughput"], "cubic", "cubic", 0.0, 5)
    # Random losses are the path's.
    assert "flood" in finalists(found, GOALS["throughput"], "cubic", "cubic", 0.45, 4)


def test_a_candidate_that_no_run_can_hold_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    def overflowing(question: Any, ccas: list[str], *rest: Any, **more: Any) -> Round:
        if "hybla" in ccas:
            refused = cwnd.Error("alone/hybla/0, seed 1: more than 20000000 packets under way at 2 s")
            refused.scenario = "alone/hybla/0"
            raise refused
        return measure(question, ccas, *rest, **more)

    monkeypatch.setattr(asked, "measure", overflowing)
    path: dict[str, Any] = {"rate": "1 Mbps", "rtt": "20 ms", "flows": 1, "beside": "none", "quick": True}
    advice = cwnd.advise(**path)
    assert advice.left_out["hybla"] == "sends more than a run can hold"
    assert "hybla" not in advice.measured.measured
    with pytest.raises(cwnd.Error, match="more than 20000000 packets"):
        cwnd.advise(**path, ccas=["hybla"])


@pytest.mark.parametrize("loss", [0.05, 0.95])
def test_losses_that_are_more_at_a_part_of_the_rate_stay_below_one(loss: float) -> None:
    advice = cwnd.advise(rate="100 Gbps", rtt="40 ms", loss=loss, flows=1, ccas=["reno"], quick=True)
    assert advice.part < 0.1 and advice.facts.loss == loss


def test_a_loss_is_a_number_or_percent(cwnd_here: Command) -> None:
    path = (
        "advise",
        "--rate",
        "1mbit",
        "--rtt",
        "20ms",
        "--cca",
        "reno",
        "--flows",
        "1",
        "--quick",
        "--json",
    )
    assert cwnd_here(*path, "--loss", "0.01").stdout == cwnd_here(*path, "--loss", "1%").stdout
    refused = cwnd_here(*path, "--loss", "1.5")
    assert refused.returncode == 2 and refused.stderr.startswith(
        "cwnd: error: --loss: 1.5 is not a probability"
    )
