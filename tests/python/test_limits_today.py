"""The limit of today: arithmetic before anything is simulated."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import cwnd
from conftest import Command
from cwnd._advise.choose import GOALS, judge
from cwnd._advise.limits import limit_today
from cwnd._advise.measure import Measured, Round
from cwnd._advise.path import Facts, facts_of, path_of_flags


def facts(rate: str, rtt: str, **more: object) -> Facts:
    return facts_of(path_of_flags({"rate": rate, "rtt": rtt, **more}))


def test_900_mbps_at_150_ms_on_10_gbps_is_a_window_of_17_mb() -> None:
    today = limit_today(facts("10gbit", "150 ms"), 1, 900e6)
    assert today.limit == "window"
    # 900e6 * 0.150 / 8 = 16.875e6 bytes; 10e9 * 0.150 / 8 = 187.5e6; 10e9 / 900e6 = 11.1.
    assert today.sentence.startswith("The receive window limits")
    for number in ("900 Mbps at 150 ms are 16.9 MB", "187.5 MB", "12 connections"):
        assert number in today.sentence


def test_linuxs_default_windows_are_named_where_nothing_is_known_of_today() -> None:
    # Half of 4 MiB a round trip of 150 ms: 112 Mbit/s; half of 6 MiB: 168.
    today = limit_today(facts("10G", "150 ms"), 1, None)
    assert today.limit == "window" and "167.8 Mbps" in today.sentence and "111.8 Mbps" in today.sentence
    assert limit_today(facts("100 Mbps", "20 ms"), 4, None)[:2] == ("path", "")


def test_losses_and_the_rate_are_limits_too() -> None:
    # 1448 * 8 / 0.08 * sqrt(1.5 / 1e-4) = 17.7 Mbit/s.
    lossy = limit_today(facts("2Gbps", "80ms", loss="0.01%"), 1, 18e6)
    assert lossy.limit == "loss" and "17.73 Mbps" in lossy.sentence
    assert limit_today(facts("2Gbps", "80ms", loss="0.01%"), 1, 300e6).limit == "window"
    assert limit_today(facts("1 Gbps", "10 ms"), 1, 950e6).limit == "rate"


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("10gbit", "10 Gbps"),
        ("10G", "10 Gbps"),
        ("900mbit", "900 Mbps"),
        ("1.5 Gbit/s", "1.5 Gbps"),
        ("64kbps", "64 kbps"),
        ("2 Gbps", "2 Gbps"),
    ],
)
def test_rates_are_read_as_engineers_write_them(written: str, read: str) -> None:
    assert facts(written, "1 s").rate_bps == facts(read, "1 s").rate_bps
    with pytest.raises(cwnd.Error, match="rate: '10GB' is not a rate"):
        facts("10GB", "1 s")


def test_every_flag_reads_what_advise_reads(cwnd_here: Command) -> None:
    one = ("run", "--cca", "reno", "--rtt", "20ms", "--duration", "1s", "--samples", "off", "--json")
    usual = cwnd_here(*one, "--rate", "10Mbps", "--per", "0.02").stdout
    as_engineers = cwnd_here(*one, "--rate", "10mbit", "--per", "2%").stdout

    def summary(text: str) -> object:
        return json.loads(text)["summary"]

    assert summary(as_engineers) == summary(usual)


POLICED = """
duration = "10 s"
[dumbbell]
rate = "1 Gbps"
rtt = "20 ms"
buffer = "1 BDP"
policer = { rate = "50 Mbps", burst = "100 kB" }
[[flows]]
cca = "cubic"
"""


def test_a_policer_is_named_and_a_shaper_below_it_measured(tmp_path: Path) -> None:
    (tmp_path / "policed.toml").write_text(POLICED)
    told: list[str] = []
    advice = cwnd.advise(
        tmp_path / "policed.toml", flows=1, beside="none", ccas=["bbr"], quick=True, told=told.append
    )
    first = "A policer of 50 Mbps with a burst of 100 kB limits: it drops what is beyond"
    assert told[0].startswith(first) and "Shape to 47.5 Mbps" in told[0]
    assert told[1].startswith("Simulating 2 ")
    assert str(advice).startswith(first)
    assert "cake bandwidth 47500kbit" in str(advice)
    assert advice.shaped is not None
    shaped, raw = (one.measured["cubic"] for one in (advice.shaped, advice.measured))
    assert max(shaped.loss) < min(raw.loss) and min(shaped.goodput_mbps) > 40


def test_what_loses_most_of_its_packets_is_not_fit() -> None:
    def measured(cca: str, goodput: float, loss: float) -> Measured:
        rates, rtts_ms = [goodput] * 4, [20.0] * 4
        return Measured(cca, rates, rtts_ms, [loss] * 4, rates, rtts_ms, [], [], [1.0] * 4)

    those = [measured("cubic", 10, 0.01), measured("bbr", 40, 0.81), measured("copa", 20, 0.02)]
    found = Round({one.cca: one for one in those}, [], [], 10, 3)
    verdicts = {one.cca: one.verdict for one in judge(found, GOALS["throughput"], "cubic", "cubic")}
    assert verdicts == {"cubic": "fit", "bbr": "loses too much", "copa": "fit"}
    # Random losses of the path are not the candidate's.
    verdicts = {one.cca: one.verdict for one in judge(found, GOALS["throughput"], "cubic", "cubic", 0.75)}
    assert verdicts["bbr"] == "fit"


def test_losses_of_a_path_at_a_part_of_its_rate_are_those_of_the_whole() -> None:
    """Cubic fills a tenth of this path and loses nothing but the random losses, 1 in 1,000."""
    advice = cwnd.advise(rate="10 Gbps", rtt="20 ms", loss=1e-3, flows=1, ccas=["reno"], quick=True, jobs=2)
    assert advice.part < 0.5
    lost = advice.measured.measured["cubic"].loss
    assert sum(lost) / len(lost) == pytest.approx(1e-3, rel=0.25)


def test_a_list_of_candidates_is_answered_by_what_to_write(cwnd_here: Command) -> None:
    done = cwnd_here("advise", "--rate", "1G", "--rtt", "20ms", "--cca", "cubic,bbr")
    assert done.returncode == 2
    assert done.stderr == "cwnd: error: --cca: 'cubic,bbr' is a list; write --cca cubic --cca bbr\n"
    done = cwnd_here("advise", "--rate", "1G", "--rtt", "20ms", "--now", "fast")
    assert done.returncode == 2 and done.stderr.startswith("cwnd: error: --now: ")


def test_the_limit_is_said_before_the_runs_and_once(cwnd_here: Command) -> None:
    path = ("--rate", "100mbit", "--rtt", "200ms", "--now", "8mbit", "--beside", "none")
    done = cwnd_here("advise", *path, "--cca", "reno", "--quick")
    assert done.returncode == 0 and done.stdout.count("The receive window limits") == 1
    assert done.stdout.startswith(
        "The receive window limits, or the send buffer: 8 Mbps at 200 ms are 0.2 MB"
    )
    assert "cwnd: simulating 2 algorithms" in done.stderr
