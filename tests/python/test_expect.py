"""Expectations: what they decide, held against hand calculation, and what is refused."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import polars as pl
import pytest

import cwnd
from cwnd import _cwnd
from cwnd._common.text import digits
from cwnd._expect.judge import judge
from cwnd._expect.record import CONG_AVOID, events_of, record_of
from cwnd._expect.sampled import sightings
from cwnd._expect.sources import Source

RENO = """
name = "reno"
duration = "20 s"
samples = "change"
[dumbbell]
rate = "20 Mbps"
delay = "20 ms"
buffer = 50
[[flows]]
cca = "reno"
"""


@pytest.fixture(scope="module")
def results() -> cwnd.Results:
    return cwnd.run(cwnd.Scenario.parse(RENO))


def verdict(results: cwnd.Results, **table: str | float) -> str:
    (decided,) = cwnd.expect(results, [table]).decided
    return decided.verdict


def test_samples_show_the_cuts_that_the_record_has() -> None:
    # Losses at known packets. The record has each call; samples show the same events a row later at most.
    text = RENO.replace('"change"', '"1 ms"').replace(
        "buffer = 50", "buffer = 400\nlosses = [900, 4000, 9000]"
    )
    scenario = cwnd.Scenario.parse(text)
    record = record_of(scenario._inner, scenario._inner.seed)[0]
    rows = cwnd.run(scenario).samples
    assert rows is not None
    seen = {kind: [one for one in sightings(rows) if one.kind == kind] for kind in ("cut", "recovered")}
    exact = {kind: [one.time_s for one in events_of(record, kind)] for kind in seen}
    assert [one.time_s for one in seen["cut"]] == pytest.approx(exact["cut"], abs=0.003)
    # The first growth after a recovery comes within two round trips of its end.
    assert len(exact["recovered"]) == len(seen["recovered"]) == 3
    for one, end_s in zip(seen["recovered"], exact["recovered"], strict=True):
        assert 0 <= one.time_s - end_s <= 2 * one.round_s


def test_a_cut_to_the_ssthresh_of_before_is_seen_by_the_window_alone() -> None:
    rows = pl.DataFrame(
        {
            "time_s": [0.0, 1.0, 2.0, 3.0, 4.0, 5.0],
            "cwnd_pkts": [50, 99, 100, 50, 50, 51],
            "ssthresh_pkts": [50] * 6,
            "rtt_ms": [40.0] * 6,
        }
    )
    assert [(one.kind, one.time_s) for one in sightings(rows)] == [("cut", 2.5), ("recovered", 4.5)]
    # The end of slow start by delay sets ssthresh to the window: no cut.
    exit_by_delay = rows.with_columns(
        cwnd_pkts=pl.lit(100), ssthresh_pkts=pl.Series([2**31 - 1, 2**31 - 1, *[100] * 4])
    )
    assert [one.kind for one in sightings(exit_by_delay)] == ["slow-start-exit"]


def test_a_cut_of_reno_is_half_of_the_window_and_a_round_adds_one(results: cwnd.Results) -> None:
    # BDP 66 and buffer 50 packets: the window is cut at 117 or 118, to 58 or 59, and grows by one a round.
    after = {"series": "ssthresh_pkts", "after": "cut", "number": 3, "statistic": "first"}
    assert verdict(results, **after, equals=58.5, within=0.5) == "pass"
    assert verdict(results, **after, equals=57) == "fail"
    growth: dict[str, str | float] = {"series": "cwnd_pkts", "after": "recovered", "number": 2, "rounds": 20}
    assert verdict(results, **growth, statistic="rise_per_round", equals=1, within=0.1) == "pass"
    assert verdict(results, **growth, statistic="largest_rise", equals=1) == "pass"
    assert verdict(results, **growth, never="falls") == "pass"
    assert verdict(results, **growth, never="rises") == "fail"


def test_the_window_of_slow_start_doubles_each_round(results: cwnd.Results) -> None:
    # 10 segments, 40 ms and the sending of a segment: 20 after the first round, 40 after the second.
    assert verdict(results, series="cwnd_pkts", at="50 ms", equals=20) == "pass"
    assert verdict(results, series="cwnd_pkts", at="100 ms", equals=40) == "pass"
    assert verdict(results, series="cwnd_pkts", to="100 ms", statistic="ratio", equals=4) == "pass"
    assert verdict(results, series="cwnd_pkts", to="100 ms", statistic="max", at_most=39) == "fail"


def test_events_are_counted_in_a_span_and_have_times(results: cwnd.Results) -> None:
    # The third window is the first that is cut at 117.
    cuts = results.samples.filter(ssthresh_pkts=58)["time_s"]
    assert verdict(results, event="cut", statistic="time_s", number=3, equals=cuts[0], within=0.001) == "pass"
    assert verdict(results, event="cut", to="100 ms", equals=0) == "pass"
    assert verdict(results, event="slow-start-exit", equals=1) == "pass"
    assert verdict(results, event="timeout", at_least=1) == "fail"
    assert verdict(results, series="cwnd_pkts", after="timeout", at_least=1) == "fail"


def test_metrics_and_columns_are_those_of_the_results(results: cwnd.Results) -> None:
    sent = int(results.flows["sent_pkts"][0])
    held = int(results.links.filter(link="bottleneck")["max_queue_pkts"][0])
    assert verdict(results, metric="sent_pkts", flow=0, equals=sent) == "pass"
    assert verdict(results, metric="max_queue_pkts", link="bottleneck", at_most=held - 1) == "fail"
    assert verdict(results, metric="utilization", at_least=0.9, at_most=1) == "pass"


def test_a_quantity_that_a_run_does_not_show_is_never_a_pass(results: cwnd.Results) -> None:
    assert verdict(results, metric="fct_p50_ms", at_least=0) == "cannot be seen"
    assert verdict(results, series="pacing_mbps", at_least=0) == "cannot be seen"
    elsewhere = cwnd.run(cwnd.Scenario.parse(RENO))
    elsewhere.entries[0]["world"] = "linux"
    assert verdict(elsewhere, event="loss", at_least=0) == "cannot be seen"
    assert verdict(elsewhere, series="ssthresh_pkts", at_least=2) == "pass"  # of the samples
    assert not cwnd.expect(elsewhere, [{"event": "loss", "at_least": 0}]).ok


class _Metric(Source):
    """A run of one number."""

    def __init__(self, number: float) -> None:
        self.number = number

    def metric(self, expectation: object) -> float:
        return self.number


def test_numbers_of_verdicts_are_written_as_in_tables() -> None:
    for number in (0.0, -0.5, 66.66666, 1e-5, 0.00099996, 0.0625, 999.96, 1000.5, 1001.5, -123456.78):
        made = judge({"kind": "metric", "name": "goodput_mbps", "at_least": 0.0}, _Metric(number))
        assert made.found == digits(number)


def test_the_recorded_windows_are_those_of_the_run(results: cwnd.Results) -> None:
    record = record_of(cwnd.Scenario.parse(RENO)._inner, 1)[0]
    grown = results.samples.filter(flow=0).filter(results.samples["time_s"] > 14)
    grows = record["hook"] == CONG_AVOID
    at = dict(zip(record["time_us"][grows].tolist(), record["cwnd"][grows].tolist(), strict=True))
    held = [
        at[round(time_s * 1e6)] == cwnd_pkts
        for time_s, cwnd_pkts in grown["time_s", "cwnd_pkts"].rows()
        if round(time_s * 1e6) in at
    ]
    assert len(held) > 20 and all(held)
    assert len(events_of(record, "loss")) == len(events_of(record, "recovered"))


def test_every_run_has_to_hold_and_the_seeds_of_failures_are_named() -> None:
    text = RENO.replace('samples = "change"', 'samples = "off"\nrepeat = 3').replace(
        "buffer", "per = 0.001\nbuffer"
    )
    results = cwnd.run(
        cwnd.Scenario.parse(text + '[[expect]]\nmetric = "timeouts"\nat_most = -1\nwhy = "none"')
    )
    (decided,) = cwnd.expect(results).decided
    assert (decided.verdict, decided.seeds) == ("fail", [1, 2, 3])
    assert str(decided).endswith("(seed 1, 2, 3); none")


def test_expectations_change_neither_a_run_nor_its_key() -> None:
    with_one = cwnd.Scenario.parse(RENO + '[[expect]]\nevent = "cut"\nat_least = 1')
    without = cwnd.Scenario.parse(RENO)
    assert _cwnd.job_keys(with_one._inner, [1]) == _cwnd.job_keys(without._inner, [1])
    assert cwnd.run(with_one).flows.equals(cwnd.run(without).flows)


def test_the_command_ends_with_1_on_a_failure_and_says_which(tmp_path: Path) -> None:
    for bound, code in ((1, 0), (1000, 1)):
        file = tmp_path / "reno.toml"
        file.write_text(f'{RENO}[[expect]]\nevent = "cut"\nat_least = {bound}\n')
        command = [sys.executable, "-m", "cwnd", "run", str(file)]
        ran = subprocess.run(command, capture_output=True, text=True, check=False)
        assert ran.returncode == code
        assert f"Expectations: {1 - code} passed, {code} failed, 0 cannot be seen" in ran.stdout
        assert ("number of 'cut' of flow 0 at least 1000: fail" in ran.stdout) == bool(code)


def test_the_command_prints_pure_json_with_expectations(tmp_path: Path) -> None:
    file = tmp_path / "reno.toml"
    file.write_text(f'{RENO}[[expect]]\nevent = "cut"\nat_least = 1000\n')
    command = [sys.executable, "-m", "cwnd", "run", str(file), "--json"]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ran.returncode == 1
    assert json.loads(ran.stdout)["scenario"]["expect"][0]["name"] == "cut"
    assert "1 failed" in ran.stderr


SWEPT = """
[sweep]
"dumbbell.buffer" = [20, 50]

[[expect]]
event = "cut"
at_least = {cuts}

[[expect]]
metric = "utilization"
at_least = 0.5
"""


def test_a_sweep_decides_each_of_its_points_and_ends_with_1_on_a_failure(tmp_path: Path) -> None:
    file, out = tmp_path / "swept.toml", tmp_path / "swept"
    for cuts, code in ((1, 0), (1000, 1)):
        # The runs are those of before: an expectation changes no key.
        file.write_text(RENO + SWEPT.format(cuts=cuts))
        command = [sys.executable, "-m", "cwnd", "sweep", str(file), "--out", str(out), "--json"]
        ran = subprocess.run(command, capture_output=True, text=True, check=False)
        assert ran.returncode == code, ran.stderr
        assert json.loads(ran.stdout)["ran"] == (0 if code else 2)
        failed = [line for line in ran.stderr.splitlines() if "at least 1000: fail" in line]
        assert len(failed) == 2 * code
        assert f"Expectations: {4 - 2 * code} passed, {2 * code} failed, 0 cannot be seen" in ran.stderr


def test_a_sweep_of_a_class_sees_its_windows(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        "import cwnd\n\n\nclass Mine(cwnd.CongestionControl):\n"
        "    def cong_avoid(self, window, ack):\n        window.cwnd = 8\n\n"
        "    def ssthresh(self, window, ack):\n        return 8\n"
    )
    file = tmp_path / "mine.toml"
    text = RENO.replace('"reno"', '"mine.py:Mine"')
    file.write_text(text + SWEPT.format(cuts=0) + '[[expect]]\nseries = "cwnd_pkts"\nat_most = 10\n')
    command = [sys.executable, "-m", "cwnd", "sweep", str(file), "--out", str(tmp_path / "swept")]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert "cannot be seen" in ran.stdout and " 0 cannot be seen" in ran.stdout, ran.stdout + ran.stderr


def test_a_candidate_that_breaks_its_expectation_does_not_pass_the_gate() -> None:
    def made(cuts: int) -> cwnd.Results:
        return cwnd.run(cwnd.Scenario.parse(f'{RENO}[[expect]]\nevent = "cut"\nat_least = {cuts}\n', "reno"))

    sound, broken = made(1), made(1000)
    passed, failed = cwnd.gate(broken, sound), cwnd.gate(sound, broken)
    assert passed.ok and not failed.ok and all(one.ok for one in failed.verdicts)
    assert "at least 1: pass: " in passed.lines[-1] and "at least 1000: fail: " in failed.lines[-1]
    (written,) = json.loads(failed.to_json())["expected"]
    assert (written["verdict"], written["line"]) == ("fail", failed.lines[-1])
    assert "0 of 1 expectations hold." in failed.to_markdown() and "1 of 1" in passed.to_markdown()
    suites = ElementTree.fromstring(failed.to_junit())
    assert (suites.get("tests"), suites.get("failures")) == ("2", "1")
    failure = suites.find("testsuite[@name='expectations']/testcase/failure")
    assert failure is not None and failure.text == failed.lines[-1]


def test_the_names_that_can_be_expected_are_those_of_the_tables(results: cwnd.Results) -> None:
    (table,) = (one for one in json.loads(_cwnd.keys()) if one["name"] == "expect")
    text = json.dumps(table).replace("\\", "")
    metrics = results.metrics_by_scenario["reno"].columns[1:]
    for name in (*results.flows.columns[6:], *results.links.columns[3:], *metrics):
        assert f'"{name}"' in text, name


REFUSED = {
    "at_least = 1": "expect[0]: an expectation on nothing; give one of",
    'metric = "goodput"\nat_least = 1': "expect[0].metric: 'goodput' cannot be expected; did you mean",
    "metric = 3\nat_least = 1": "expect[0].metric: 3 is not a text",
    'metric = "goodput_mbps"': "expect[0].at_least: missing; give at_least, at_most, equals or never",
    'metric = "goodput_mbps"\nevent = "cut"\nat_least = 1': "expect[0].event: more than one of",
    'metric = "goodput_mbps"\nat_least = 5\nat_most = 3': "expect[0].at_most: nothing is at least 5 and",
    'metric = "goodput_mbps"\nat_least = "5"': "expect[0].at_least: '5' is not a number; a number",
    'metric = "goodput_mbps"\nat_least = nan': "expect[0].at_least: nan is out of range; a number",
    'metric = "goodput_mbps"\nequals = 5\nat_most = 3': "expect[0].at_most: a bound beside 'equals'",
    'metric = "goodput_mbps"\nwithin = 1\nat_most = 3': "expect[0].within: a tolerance of nothing",
    'metric = "goodput_mbps"\nequals = 1\nwithin = -1': "expect[0].within: -1 is out of range",
    'metric = "goodput_mbps"\nat_most = 3\nfrom = "1 s"': "expect[0].from: a metric is of the whole run",
    'metric = "goodput_mbps"\nat_most = 3\nstatistic = "mean"': "expect[0].statistic: a statistic of a",
    'metric = "goodput_mbps"\nnever = "falls"': "expect[0].never: only a series falls and rises",
    'metric = "jain_fairness"\nflow = 0\nat_most = 3': "expect[0].metric: 'jain_fairness' cannot be",
    'metric = "utilization"\nlink = "bottle"\nat_most = 1': "expect[0].link: 'bottle' is not a link of",
    'metric = "utilization"\nlink = "bottleneck"\nflow = 0\nat_most = 1': "expect[0].link: both 'flow'",
    'event = "cut"\nlink = "bottleneck"\nat_least = 0': "expect[0].link: an event of a link; ",
    'series = "queue_pkts"\nlink = "bottleneck"\nafter = "cut"\nat_most = 3': "expect[0].after: an event of",
    'series = "cwnd"\nat_least = 1': "expect[0].series: 'cwnd' cannot be expected; did you mean",
    'series = "queue_pkts"\nat_least = 1': "expect[0].series: 'queue_pkts' cannot be expected",
    'series = "cwnd_pkts"\nflow = 1\nat_least = 1': "expect[0].flow: 1 is out of range; 0 to 0",
    'series = "cwnd_pkts"\nat = "30 s"\nat_least = 1': "expect[0].at: '30 s' is out of range; '0 s' to",
    'series = "cwnd_pkts"\nfrom = "3 s"\nto = "2 s"\nat_least = 1': "expect[0].to: a span that ends",
    'series = "cwnd_pkts"\nat = "3 s"\nto = "4 s"\nat_least = 1': "expect[0].to: a span beside 'at'",
    'series = "cwnd_pkts"\nafter = "cuts"\nat_least = 1': "expect[0].after: 'cuts' cannot be expected;",
    'series = "cwnd_pkts"\nafter = "cut"\nto = "4 s"\nat_least = 1': "expect[0].to: a time beside 'after'",
    'series = "cwnd_pkts"\nrounds = 3\nat_least = 1': "expect[0].rounds: rounds without an event",
    'series = "cwnd_pkts"\nafter = "cut"\nrounds = -3\nat_least = 1': "expect[0].rounds: -3 is out of",
    'series = "cwnd_pkts"\nnumber = 3\nat_least = 1': "expect[0].number: a number without an event",
    'series = "cwnd_pkts"\nafter = "cut"\nnumber = 0\nat_least = 1': "expect[0].number: 0 is out of range",
    'series = "cwnd_pkts"\nstatistic = "median"\nat_least = 1': "expect[0].statistic: 'median' cannot be",
    'series = "cwnd_pkts"\nnever = "up"': "expect[0].never: 'up' is not a direction; 'falls' or 'rises'",
    'series = "cwnd_pkts"\nnever = "falls"\nstatistic = "mean"': "expect[0].statistic: a statistic",
    'series = "cwnd_pkts"\nnever = "falls"\nat = "1 s"': "expect[0]: a direction at one moment",
    'event = "cut"\nat = "1 s"\nat_least = 1': "expect[0].at: events at one moment",
    'event = "cut"\nstatistic = "mean"\nat_least = 1': "expect[0].statistic: 'mean' cannot be expected",
    'event = "cut"\nat_least = 1\nwhy = ""': "expect[0].why: '' is not a reason",
    'event = "cut"\nat_least = 1\nonce = true': "expect[0].once: unknown key",
}


@pytest.mark.parametrize("table", REFUSED)
def test_bad_expectations_are_refused_in_one_line(table: str) -> None:
    with pytest.raises(cwnd.Error) as refused:
        cwnd.Scenario.parse(f"{RENO}[[expect]]\n{table}\n", "reno.toml")
    line = str(refused.value)
    assert REFUSED[table] in line and line.startswith("reno.toml:1") and "\n" not in line


def test_tables_of_python_are_refused_in_the_same_words(results: cwnd.Results) -> None:
    with pytest.raises(cwnd.Error, match=r"^expectations:2: expect\[0\]\.series: 'cwnd' cannot be expected"):
        cwnd.expect(results, [{"series": "cwnd", "at_least": 1}])
    with pytest.raises(cwnd.Error, match=r"^at_least: neither a text nor a number$"):
        cwnd.expect(results, [{"series": "cwnd_pkts", "at_least": [1]}])  # type: ignore[dict-item]
