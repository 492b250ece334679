"""The advice: paths and their neighbours, the rule of choice, what it says, and paths read off traces."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import polars as pl
import pytest

import cwnd
from conftest import Command
from cwnd._advise.candidates import Machine, candidates, preference
from cwnd._advise.choose import GOALS, Choice, choose, judge
from cwnd._advise.commands import commands
from cwnd._advise.from_evidence import estimate_path_of
from cwnd._advise.from_trace import Estimated, estimate_path
from cwnd._advise.measure import Measured, Round
from cwnd._advise.path import Factors, facts_of, near, path_of_file, path_of_flags, scaled
from cwnd._cli.commands import cli
from cwnd._scenario.facts import bottleneck_link

if TYPE_CHECKING:
    from cwnd._common.shapes import LinkJson

NOTHING = Machine((), None, None)
FAST: dict[str, Any] = {"rate": "5 Mbps", "rtt": "40 ms", "flows": 1, "ccas": ["reno", "vegas", "bbr"]}


# Paths


def test_the_numbers_of_a_path_follow_from_its_description() -> None:
    facts = facts_of(path_of_flags({"rate": "2 Gbps", "rtt": "80 ms", "loss": "0.01%", "buffer": "0.5 BDP"}))
    assert (facts.rate_bps, facts.rtt_ms, facts.loss, facts.queue) == (2e9, 80, 1e-4, "droptail")
    assert facts.bdp_bytes == 20e6  # 2e9 / 8 * 0.08
    assert facts.buffer_pkts == pytest.approx(10e6 / 1514, abs=1)
    bursts = {"model": "gilbert-elliott", "p": 0.002, "r": 0.3, "bad": 0.5}
    lossy = facts_of(path_of_flags({"rate": "50 Mbps", "rtt": "30 ms", "loss": bursts}))
    assert lossy.loss == pytest.approx(0.5 * 0.002 / 0.302)


def test_paths_near_one_differ_by_up_to_20_percent_and_depend_on_the_seed_alone() -> None:
    drawn = [near(1, number) for number in range(200)]
    assert drawn == [near(1, number) for number in range(200)] != [near(2, number) for number in range(200)]
    assert drawn[0] == Factors()
    assert {one.burst for one in drawn} == {1.0}
    for values in list(zip(*drawn[1:], strict=True))[:4]:
        assert 0.8 <= min(values) < 0.82 and 1.18 < max(values) <= 1.2


def test_a_scaled_path_has_every_number_multiplied(tmp_path: Path) -> None:
    def link(dumbbell: str, factors: Factors) -> LinkJson:
        (tmp_path / "rates.trace").write_text("10\n20\n")
        file = tmp_path / "path.toml"
        file.write_text(f'[dumbbell]\n{dumbbell}\n[[flows]]\ncca = "reno"\n')
        return bottleneck_link(scaled(path_of_file(file), factors).resolved, 0)

    factors = Factors(rate=0.8, delay=1.1, buffer=1.2, loss=0.9)
    constant = link('rate = "100 Mbps"\nrtt = "40 ms"\nbuffer = 100\nper = 0.001', factors)
    assert (constant["rate_bps"], constant["delay_ns"], constant["buffer_pkts"]) == (80e6, 22e6, 120)
    assert constant["per"] == pytest.approx(0.0009)
    varied = link(
        'rate = { steps = [["0 s", "50 Mbps"], ["20 s", "0 bps"], ["22 s", "5 Mbps"]] }\n'
        'delay = { steps = [["0 s", "20 ms"], ["15 s", "30 ms"]] }\nbuffer = "64000 bytes"\n'
        'policer = { rate = "40 Mbps", burst = "64 KiB" }\n'
        'loss = { model = "gilbert-elliott", p = 0.01, r = 0.5 }',
        factors,
    )
    assert [step["rate_bps"] for step in varied["variation"]["rate"]["steps"]] == [40e6, 0, 4e6]
    assert [step["delay_ns"] for step in varied["variation"]["delay_steps"]] == [22e6, 33e6]
    assert varied["buffer_bytes"] == 76_800 and varied["variation"]["policer"]["rate_bps"] == 32e6
    assert varied["impairments"]["gilbert_elliott"]["p"] == pytest.approx(0.009)
    trace = 'rate = { trace = "rates.trace", scale = 2 }\ndelay = "10 ms"\nbuffer = "1 BDP"'
    assert link(trace, factors)["rate_bps"] == pytest.approx(0.8 * link(trace, Factors())["rate_bps"])


# The rule of choice


def measured(
    cca: str, goodput: Sequence[float], beside: Sequence[float], **more: Sequence[float]
) -> Measured:
    same = dict.fromkeys(
        ("p95_rtt_ms", "loss", "alone_mbps", "alone_rtt_ms", "beside_rtt_ms", "jain"), [1.0] * 4
    )
    given = {**same, **more, "goodput_mbps": goodput, "beside_mbps": beside}
    return Measured(cca, **{name: list(values) for name, values in given.items()})


def decide(*those: Measured, goal: str = "throughput", machine: Machine = NOTHING) -> Choice:
    found = Round({one.cca: one for one in those}, [100, 101, 99, 100], [1.0] * 4, 10, 3)
    judged = judge(found, GOALS[goal], "cubic", "cubic")
    return choose(judged, GOALS[goal], "cubic", lambda cca: preference(cca, "cubic", machine))


CUBIC = measured("cubic", [50, 51, 49, 50], [50, 49, 51, 50])


def test_harm_is_counted_beyond_the_harm_that_the_incumbent_does_to_itself() -> None:
    greedy = measured("bbr", [80, 81, 80, 79], [20, 21, 19, 20])
    by_name = {one.cca: one for one in decide(CUBIC, greedy).ranking}
    # (100 - 20) / 100 - (100 - 50) / 100
    assert by_name["bbr"].harm_rate is not None and by_name["bbr"].harm_rate.mean == pytest.approx(0.3)
    assert by_name["bbr"].verdict == "harmful" and by_name["cubic"].verdict == "fit"
    assert decide(CUBIC, greedy).decision == "keep"


def test_a_gain_that_others_pay_for_is_none() -> None:
    taker = measured("htcp", [55, 56, 54, 55], [45, 44, 46, 45])
    maker = measured("hybla", [65, 66, 64, 65], [50, 49, 51, 50])
    choice = decide(CUBIC, taker, maker)
    assert {one.cca: one.gain.mean for one in choice.ranking} == pytest.approx(
        {"hybla": 0.3, "htcp": 0.0, "cubic": 0.0}
    )
    assert (choice.decision, choice.cca, choice.equals) == ("change", "hybla", [])


def test_a_gain_below_the_bound_is_not_worth_a_change_and_one_near_it_is_undecided() -> None:
    def gains(*goodput: float) -> Choice:
        return decide(CUBIC, measured("hybla", goodput, CUBIC.beside_mbps))

    assert gains(53, 54, 52, 53).decision == "keep"
    assert gains(60, 60, 49, 60).decision == "keep"  # The interval of the gain covers 0.
    assert gains(58, 56, 52, 55.5).decision == "undecided"
    assert gains(60, 61, 59, 60).decision == "change"


def test_a_gain_whose_harm_is_not_settled_is_undecided() -> None:
    unsettled = measured("hybla", [95, 94, 96, 95], [60, 30, 55, 30])
    assert [one.verdict for one in decide(CUBIC, unsettled).ranking] == ["fit", "harm unsettled"]
    assert (decide(CUBIC, unsettled).decision, decide(CUBIC, unsettled).cca) == ("undecided", "hybla")


def test_among_equals_the_kernels_own_are_preferred() -> None:
    own = measured("copa", [70.5, 71, 69, 70], [50, 49, 51, 50])
    linux = measured("hybla", [70, 70.5, 69.5, 70], [50, 49, 51, 50])
    assert (decide(CUBIC, own, linux).cca, decide(CUBIC, own, linux).equals) == ("hybla", ["copa"])
    here = decide(CUBIC, own, linux, machine=Machine(("copa", "cubic"), "cubic", None))
    assert (here.cca, here.equals) == ("copa", ["hybla"])


def test_latency_wants_nine_tenths_of_the_present_goodput() -> None:
    present = CUBIC._replace(alone_rtt_ms=[100.0, 101, 99, 100])
    timid = measured("vegas", [20, 21, 19, 20], [75, 76, 74, 75], alone_rtt_ms=[31, 30, 31, 30])
    able = measured("bbr3", [47, 48, 46, 47], [50, 49, 51, 50], alone_rtt_ms=[40, 41, 39, 40])
    choice = decide(present, timid, able, goal="latency")
    assert (choice.decision, choice.cca) == ("change", "bbr3")
    assert {one.cca: one.verdict for one in choice.ranking}["vegas"] == "too slow"


def test_whether_enough_goodput_is_kept_may_be_unsettled() -> None:
    present = CUBIC._replace(alone_rtt_ms=[100.0, 101, 99, 100])
    near = measured("veno", [45, 40, 50, 44], [50, 49, 51, 50], alone_rtt_ms=[40, 41, 39, 40])
    choice = decide(present, near, goal="latency")
    assert (choice.decision, choice.cca) == ("undecided", "veno")
    assert {one.cca: one.verdict for one in choice.ranking}["veno"] == "goodput unsettled"


def test_fairness_wants_a_better_index() -> None:
    present = CUBIC._replace(jain=[0.8, 0.81, 0.79, 0.8])
    fair = measured("reno", [50, 50, 50, 50], [50, 49, 51, 50], jain=[0.97, 0.98, 0.99, 0.98])
    assert decide(present, fair, goal="fairness").cca == "reno"
    close = fair._replace(jain=[0.82, 0.83, 0.81, 0.82])
    assert decide(present, close, goal="fairness").decision == "keep"


# Candidates and commands


def test_candidates_are_what_a_kernel_can_run_without_marks() -> None:
    names, left_out = candidates(None, ["cubic"])
    assert names[0] == "cubic" and len(names) == len(set(names))
    assert {"reno", "bbr", "bbr3", "elastic"} <= set(names)
    assert {*names, *left_out} == {one["name"] for one in cwnd.algorithms()}
    assert left_out["prague"] == left_out["dctcp"] == "needs queues that mark"
    assert candidates(["reno", "bbr"], ["cubic"]) == (["cubic", "reno", "bbr"], {})
    with pytest.raises(cwnd.Error, match=r"^ccas: 'newreno' is an algorithm with a recovery of its own$"):
        cwnd.advise(**{**FAST, "ccas": ["newreno"]})


def lines(cca: str, machine: Machine = NOTHING, **path: Any) -> dict[str, list[str]]:
    facts = facts_of(path_of_flags({"rate": "2 Gbps", "rtt": "80 ms", **path}))
    return {step: [one.line for one in all_] for step, all_ in commands(cca, "cubic", facts, machine).items()}


def test_the_commands_load_deploy_watch_and_roll_back() -> None:
    steps = lines("bbr3")
    # Twice the BDP, 20 MB, and the queue as much again, in whole packets.
    maximum = 2 * (20_000_000 + 13_210 * 1514)
    assert steps["prepare"][0] == f'sysctl -w net.ipv4.tcp_rmem="4096 131072 {maximum}"'
    assert steps["prepare"][-1] == "tc qdisc replace dev DEV root fq"
    assert steps["deploy"][1] == "cwnd kernel load bbr3"
    assert steps["deploy"][2] == "ip route replace PREFIX via GATEWAY dev DEV congctl bbr3"
    assert steps["watch"][0] == "cwnd kernel trace --cca bbr3 --duration 60s --out canary"
    assert steps["roll back"][-2:] == [
        "sysctl -w net.ipv4.tcp_congestion_control=cubic",
        "cwnd kernel unload bbr3",
    ]


def test_the_commands_fit_the_machine_and_the_path() -> None:
    assert lines("htcp")["deploy"][0] == "modprobe tcp_htcp"
    assert lines("htcp", Machine(("htcp",), "cubic", None))["deploy"][0].startswith("ip route replace")
    assert "cwnd kernel load agile-sd" in lines("agile-sd")["deploy"]
    assert lines("agile-sd")["deploy"][2].endswith(" congctl agile_sd")
    assert lines("htcp", rate="20 Mbps")["prepare"] == []
    nothing = lines("cubic")
    assert nothing["deploy"] == nothing["roll back"] == [] and nothing["watch"]


def test_the_commands_of_cwnd_are_those_that_there_are() -> None:
    own = [line.split()[1:] for step in lines("bbr3").values() for line in step if line.startswith("cwnd ")]
    assert ["kernel", "load", "bbr3"] in own
    for words in own:
        command: click.Command = cli
        while isinstance(command, click.Group):
            command = command.commands[words.pop(0)]
        flags = {name for parameter in command.params for name in parameter.opts}
        assert {word for word in words if word.startswith("--")} <= flags


# The answer


@pytest.fixture(scope="module")
def advice() -> cwnd.Advice:
    return cwnd.advise(**FAST, loss="2%")


def test_the_answer_names_the_choice_what_it_costs_and_the_commands(advice: cwnd.Advice) -> None:
    text, content = str(advice), json.loads(advice.to_json())
    assert content["recommendation"]["why"] in text
    assert content["recommendation"]["decision"] == advice.choice.decision
    assert {one["cca"] for one in content["candidates"]} == {"cubic", "reno", "vegas", "bbr"}
    bbr = next(one for one in content["candidates"] if one["cca"] == "bbr")
    cubic = next(one for one in content["candidates"] if one["cca"] == "cubic")
    # Random losses halve cubic again and again; bbr does not mind them.
    assert bbr["alone_mbps"] > 2 * cubic["alone_mbps"] and cubic["harm_rate"]["mean"] == 0
    for line in (one["line"] for step in content["commands"].values() for one in step):
        assert line in text
    assert all(note in text for note in content["notes"])


@pytest.mark.slow
def test_the_same_question_has_the_same_answer_on_any_number_of_threads(advice: cwnd.Advice) -> None:
    assert cwnd.advise(**FAST, loss="2%", jobs=1).to_json() == advice.to_json()
    assert cwnd.advise(**FAST, loss="2%", seed=2).to_json() != advice.to_json()


@pytest.mark.slow
def test_a_long_queue_is_named_with_what_another_queue_would_do() -> None:
    bloated = cwnd.advise(
        rate="20 Mbps", rtt="30 ms", buffer="500 ms", flows=1, goal="latency", ccas=["reno"]
    )
    assert bloated.managed is not None
    now, with_queue = bloated.measured.measured["cubic"], bloated.managed.measured["cubic"]
    assert min(now.p95_rtt_ms) > 300 and max(with_queue.p95_rtt_ms) < 100
    assert "with fq-codel at the bottleneck cubic has a p95 RTT of " in str(bloated)
    assert cwnd.advise(**{**FAST, "ccas": ["reno"]}, queue="fq-codel").managed is None


def test_the_command_prints_the_answer_or_json(cwnd_here: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    answers: list[cwnd.Advice] = []

    def advise_once(*path: Any, **question: Any) -> cwnd.Advice:
        answers.extend([] if answers else [cwnd.advise(*path, **question)])
        return answers[0]

    monkeypatch.setattr("cwnd._cli.advise.advise", advise_once)
    flags = [
        "advise",
        "--rate",
        "5Mbps",
        "--rtt",
        "40ms",
        "--flows",
        "1",
        "--beside",
        "reno:2",
        "--cca",
        "reno",
    ]
    done = cwnd_here(*flags)
    assert done.returncode == 0, done.stderr
    first, path, *_ = done.stdout.splitlines()
    assert first.startswith("Keep cubic. ")
    assert path == (
        "5 Mbps, RTT 40 ms, no random loss, a buffer of 17 packets, droptail; 1 flow, 2 reno flows beside."
    )
    content = json.loads(cwnd_here(*flags, "--json").stdout)
    assert content["path"]["beside"] == {"cca": "reno", "flows": 2}
    assert first == content["recommendation"]["why"]
    assert {"recommendation", "candidates", "commands"} <= content.keys()


@pytest.mark.parametrize(
    ("flags", "line"),
    [
        ([], "--rate: missing; the path needs a rate and an RTT, or a scenario file"),
        (["--rate", "2Gbps"], "--rtt: missing; "),
        (["--rate", "fast", "--rtt", "80ms"], "--rate: "),
        (["--rate", "2Gbps", "--rtt", "80ms", "--loss", "200%"], "--loss: "),
        (["--rate", "2Gbps", "--rtt", "80ms", "--goal", "speed"], "--goal: 'speed' is unknown; throughput, "),
        (
            ["--rate", "2Gbps", "--rtt", "80ms", "--beside", "cubic:many"],
            "--beside: 'cubic:many' is not NAME:",
        ),
        (["--rate", "2Gbps", "--rtt", "80ms", "--beside", "qubic:2"], "--beside: unknown algorithm 'qubic'"),
        (["--rate", "2Gbps", "--rtt", "80ms", "--present", "qubic"], "--present: unknown algorithm 'qubic'"),
        (["--rate", "2Gbps", "--rtt", "80ms", "--cca", "qubic"], "--cca: unknown algorithm 'qubic'"),
        (["--rate", "2Gbps", "--rtt", "80ms", "--flows", "0"], "--flows: 0 is out of range"),
        (["none.toml"], "none.toml: no such file"),
        (["none.toml", "--rate", "2Gbps"], "--rate: cannot be combined with a scenario file"),
        (["--from", "none"], "none: no such file"),
    ],
)
def test_what_is_no_path_is_refused_in_one_line(flags: list[str], line: str, cwnd_here: Command) -> None:
    done = cwnd_here("advise", *flags)
    assert done.returncode == 2 and done.stderr.startswith(f"cwnd: error: {line}"), done.stderr
    assert done.stderr.count("\n") == 1 and not done.stdout


@pytest.mark.slow
def test_for_a_lossy_transatlantic_server_bbr_is_refused_for_what_it_does_to_others() -> None:
    found = cwnd.advise(rate="2 Gbps", rtt="80 ms", loss="0.01%")
    ranked = {one.cca: one for one in found.choice.ranking}
    assert found.choice.decision == "change" and found.choice.cca not in ("bbr", "cubic")
    assert ranked["bbr"].verdict == "harmful"
    assert "bbr has " in str(found) and "not advised" in str(found)


# Traces


def as_trace(results: cwnd.Results, min_rtt_ms: float | None = 40.3) -> cwnd.Results:
    """A simulated run as a trace of live connections would show it: flows alone, no path.

    `min_rtt_ms` is what the kernel would have for each connection; samples have smoothed RTTs.
    """
    flows = results.flows
    samples = results.samples.filter(pl.col("flow").is_not_null())
    # HyStart sets ssthresh, too, but leaves the window.
    changed = pl.col("ssthresh_pkts").ne_missing(pl.col("ssthresh_pkts").shift(1)).over("flow")
    begun = changed & (pl.col("cwnd_pkts") < pl.col("cwnd_pkts").shift(1).over("flow"))
    samples = samples.with_columns(
        pl.when(begun).then(pl.lit("recovery")).otherwise(pl.lit("open")).alias("state"),
        pl.lit("trace").alias("scenario"),
        pl.lit(0, pl.UInt64).alias("seed"),
    )
    connections = [
        {
            **row,
            "local": f"10.0.0.1:{40000 + row['flow']}",
            "remote": "192.0.2.1:443",
            "netns": 1,
            "min_rtt_ms": min_rtt_ms,
            "acked_bytes": 0,
            "delivered_bytes": 0.0,
        }
        for row in flows.iter_rows(named=True)
    ]
    return cwnd.Results._traced("live", "trace", 10_000_000, 20.0, connections, samples)


def traced(**path: Any) -> Estimated:
    scenario = cwnd.dumbbell(
        path.pop("cca", "cubic"),
        duration="20 s",
        samples="20 ms",
        **{"rate": "50 Mbps", "rtt": "40 ms", **path},
    )
    return estimate_path(as_trace(cwnd.run(scenario)))


def test_rate_rtt_and_buffer_are_read_off_a_trace_that_fills_the_path() -> None:
    for flows in (1, 3):
        found = traced(flows=flows)
        assert found.rate_bps == pytest.approx(50e6, rel=0.05) and found.rtt_ms == 40.3
        # One BDP in milliseconds, less what smoothing hides.
        assert found.buffer_ms is not None and 24 < found.buffer_ms <= 42
        assert (found.flows, found.loss) == (flows, 0)


def test_a_trace_without_the_kernels_least_rtt_has_the_least_smoothed_one() -> None:
    run = cwnd.run(cwnd.dumbbell("cubic", rate="50 Mbps", rtt="40 ms", duration="20 s", samples="20 ms"))
    # Ten packets at once: the last of them wait for the others.
    assert 40 < estimate_path(as_trace(run, min_rtt_ms=None)).rtt_ms < 40 + 10 * 1514 * 8 / 50e3 + 2


def test_random_loss_is_told_from_that_of_a_full_queue() -> None:
    found = traced(loss="0.1%", rate="20 Mbps")
    # Several losses in one round trip are one episode.
    assert 0.0004 < found.loss < 0.0012


def test_what_a_trace_cannot_show_is_said() -> None:
    slow = traced(app_rate="5 Mbps")
    assert "no queue was seen, so the path was never full: its rate is at least the one found" in slow.unknown
    assert slow.buffer_ms is None and slow.flags()["buffer"] == "1 BDP"
    assert any(line.startswith("who shares the path") for line in slow.unknown)
    with pytest.raises(cwnd.Error, match=r"^trace: not a trace of 'cwnd kernel trace --out'$"):
        estimate_path(cwnd.run(cwnd.dumbbell("reno", duration="1 s")))


@pytest.mark.slow
def test_the_path_of_a_trace_gets_the_same_advice_as_the_path_itself(
    tmp_path: Path, cwnd_here: Command
) -> None:
    path = {"rate": "10 Mbps", "rtt": "40 ms"}
    run = cwnd.run(cwnd.dumbbell("cubic", duration="20 s", samples="20 ms", **path))
    as_trace(run).save(tmp_path / "traced")
    done = cwnd_here("advise", "--from", str(tmp_path / "traced"), "--cca", "reno", "--cca", "bbr", "--json")
    assert done.returncode == 0, done.stderr
    content = json.loads(done.stdout)
    described = cwnd.advise(**path, flows=1, ccas=["reno", "bbr"])
    assert content["recommendation"]["cca"] == described.choice.cca
    assert content["recommendation"]["decision"] == described.choice.decision
    assert content["path"]["rtt_ms"] == pytest.approx(40, rel=0.1) and content["estimated"]["unknown"]


@pytest.mark.slow
@pytest.mark.skipif(
    os.geteuid() != 0 or not Path("/dev/net/tun").exists(),
    reason="needs root and /dev/net/tun",
)
@pytest.mark.parametrize(("rate_mbps", "rtt_ms", "loss"), [(20, 40, 0.0), (10, 20, 0.005)])
def test_a_real_transfer_is_traced_and_its_path_estimated_within_15_percent(
    rate_mbps: float, rtt_ms: float, loss: float
) -> None:
    scenario = cwnd.dumbbell(
        "cubic", rate=f"{rate_mbps} Mbps", rtt=f"{rtt_ms} ms", loss=loss, buffer="1 BDP", duration="15 s"
    )
    with cwnd.kernel.trace(cca="cubic") as trace:
        try:
            live = cwnd.run(scenario, world="live")
        except cwnd.Error as refused:
            if "this machine passes" not in str(refused):
                raise
            pytest.skip(f"this machine is too busy: {refused}")
    found = estimate_path(trace.results)
    assert found.rate_bps == pytest.approx(1e6 * rate_mbps, rel=0.15), live.notes
    assert found.rtt_ms == pytest.approx(rtt_ms, rel=0.15), live.notes
    if loss:
        assert 0.3 * loss < found.loss < 1.5 * loss
    ccas = ["reno", "bbr", "elastic", "illinois"]
    own = {"flows": 1, "ccas": ccas}
    estimated = cwnd.advise(trace=trace.results, **own)
    described = cwnd.advise(rate=f"{rate_mbps} Mbps", rtt=f"{rtt_ms} ms", loss=loss, **own)
    assert (estimated.choice.decision, estimated.choice.cca) == (
        described.choice.decision,
        described.choice.cca,
    )


def test_the_path_of_ss_is_that_of_its_replay_and_one_never_full_is_refused(tmp_path: Path) -> None:
    def snapshot(at: int, acked: int, rtt_ms: float, lost: int) -> str:
        info = f"cubic wscale:7,7 rto:250 rtt:{rtt_ms}/1 mss:1448 cwnd:90 ssthresh:70 bytes_acked:{acked} "
        info += f"busy:{1000 * at + 1}ms unacked:80 retrans:0/{lost} minrtt:50 snd_wnd:3000000"
        return f"{1_795_677_452 + at}\nESTAB 0 0 192.0.2.1:40000 192.0.2.2:443\n\t {info}\n"

    # A megabyte each second with 40 ms of queue, and a loss in every third.
    full = "".join(snapshot(at, 1_000_000 * at, 90, at // 3) for at in range(12))
    (tmp_path / "ss.txt").write_text(full)
    found = estimate_path_of(tmp_path / "ss.txt")
    assert found.remote == "192.0.2.2" and found.rtt_ms == 50
    assert found.rate_bps == pytest.approx(8e6 * 1514 / 1448)
    assert found.buffer_ms == pytest.approx(40, rel=0.01) and found.loss == 0
    (tmp_path / "idle.txt").write_text(full.replace("rtt:90/", "rtt:51/"))
    with pytest.raises(cwnd.Error, match=r"idle\.txt: the path was never full: it carries .* or more"):
        estimate_path_of(tmp_path / "idle.txt")
