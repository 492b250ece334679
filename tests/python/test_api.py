"""The API as a user calls it."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from pathlib import Path

import polars as pl
import pytest

import cwnd
from conftest import FILE, SMALL

HEADERS = Path(__file__).parents[2] / "algorithms"
RESULT_KEYS = ["scenario", "runs", "summary", "world", "engine"]
FLOW_KEYS = [
    "flow",
    "cca",
    "start_s",
    "stop_s",
    "sent_pkts",
    "retransmitted_pkts",
    "delivered_pkts",
    "lost_pkts",
    "timeouts",
    "throughput_mbps",
    "goodput_mbps",
    "loss_ratio",
    "mean_rtt_ms",
    "p95_rtt_ms",
    "mean_cwnd_pkts",
    "marked_pkts",
    "fct_ms",
    "fct_p50_ms",
    "fct_p95_ms",
    "fct_p99_ms",
    "slowdown_p50",
    "slowdown_p99",
]
LINK_KEYS = [
    "link",
    "delivered_pkts",
    "dropped_pkts",
    "error_pkts",
    "mean_queue_pkts",
    "max_queue_pkts",
    "utilization",
    "marked_pkts",
    "p95_queue_ms",
]


def without_engine(results: cwnd.Results) -> object:
    reported = json.loads(results.to_json())
    reported.pop("engine")
    return reported


def test_json_has_the_promised_names_in_their_order() -> None:
    reported = json.loads(cwnd.run(cwnd.dumbbell("reno", flows=2, stagger="1 ms", **SMALL)).to_json())
    assert list(reported) == RESULT_KEYS
    (run,) = reported["runs"]
    assert list(run) == ["seed", "flows", "links"]
    assert [list(flow) for flow in run["flows"]] == [FLOW_KEYS] * 2
    assert all(list(link) == LINK_KEYS for link in run["links"])
    assert list(reported["engine"]) == ["wall_s", "packets", "packets_per_s", "version"]
    assert set(reported["summary"]["throughput_mbps"]) == {"mean", "ci95_low", "ci95_high", "n"}


def test_a_link_of_10_mbps_is_filled_and_not_more() -> None:
    (row,) = cwnd.run(cwnd.dumbbell("reno", **{**SMALL, "duration": "10 s"})).flows.iter_rows(named=True)
    assert 9 < row["throughput_mbps"] <= 10
    assert row["goodput_mbps"] < row["throughput_mbps"]


def test_no_more_threads_are_asked_for_than_memory_and_cores_allow() -> None:
    program = """if True:
        import resource
        from cwnd import _cwnd
        links = "[dumbbell]\\nrate = '1 Gbps'\\ndelay = '1 ms'\\nbuffer = 500\\n"
        text = f"duration = '1 s'\\nrepeat = 300\\nsamples = 'off'\\n{links}[[flows]]\\ncca = 'reno'"
        scenario = _cwnd.Scenario(text, "a.toml", {})
        size = next(line for line in open("/proc/self/status") if line.startswith("VmSize"))
        bytes = int(size.split()[1]) * 1024 + 100_000_000
        resource.setrlimit(resource.RLIMIT_AS, (bytes, bytes))
        print(len(_cwnd.run([scenario], 4096)[0].seeds))
    """
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert (run.returncode, run.stderr, run.stdout) == (0, "", "300\n")


def test_the_same_question_has_the_same_answer_whatever_the_number_of_jobs() -> None:
    scenario = cwnd.dumbbell("cubic", flows=2, per=1e-3, repeat=6, **SMALL)
    answers = [cwnd.run(scenario, jobs=jobs) for jobs in (1, 2, 1, 0)]
    assert all(without_engine(answer) == without_engine(answers[0]) for answer in answers)
    assert all(answer.samples.equals(answers[0].samples) for answer in answers)


def test_repetitions_have_seeds_that_count_up_and_differ() -> None:
    results = cwnd.run(cwnd.dumbbell("reno", per=1e-2, seed=7, repeat=3, **SMALL))
    assert results.flows["seed"].to_list() == [7, 8, 9]
    assert results.flows["sent_pkts"].n_unique() > 1
    (throughput,) = results.summary.filter(metric="throughput_mbps").iter_rows(named=True)
    assert throughput["n"] == 3
    assert throughput["ci95_low"] < throughput["mean"] < throughput["ci95_high"]
    assert throughput["mean"] == pytest.approx(results.flows["throughput_mbps"].mean())


def test_run_takes_another_seed_and_number_of_repetitions() -> None:
    scenario = cwnd.dumbbell("reno", per=1e-2, **SMALL)
    results = cwnd.run(scenario, seed=5, repeat=2)
    assert results.flows["seed"].to_list() == [5, 6]
    assert (scenario.seed, scenario.repeat) == (1, 1)


def test_several_scenarios_are_told_apart_by_name() -> None:
    results = cwnd.run([cwnd.dumbbell(cca, **SMALL) for cca in ("reno", "cubic", "reno")])
    assert results.flows["scenario"].to_list() == ["reno", "cubic", "reno-2"]
    assert list(json.loads(results.to_json())) == ["results", "comparison_notes"]


def test_several_algorithms_share_one_bottleneck() -> None:
    results = cwnd.run(cwnd.dumbbell(["reno", "cubic"], flows=[1, 2], **SMALL))
    assert results.flows["cca"].to_list() == ["reno", "cubic", "cubic"]


def test_tables_have_a_row_for_each_flow_link_and_sample() -> None:
    results = cwnd.run(cwnd.dumbbell("reno", flows=2, samples=10, **SMALL))
    assert results.flows.height == 2
    assert results.links["link"].to_list() == ["access-0", "access-1", "bottleneck", "exit-0", "exit-1"]
    assert results.samples.columns == [
        "scenario",
        "seed",
        "time_s",
        "flow",
        "cca",
        "cwnd_pkts",
        "min_cwnd_pkts",
        "max_cwnd_pkts",
        "ssthresh_pkts",
        "in_flight_pkts",
        "rtt_ms",
        "throughput_mbps",
        "link",
        "queue_pkts",
        "queue_ms",
        "dropped_pkts",
        "marked_pkts",
    ]
    of_flows = results.samples.filter(pl.col("link").is_null())
    of_links = results.samples.filter(pl.col("flow").is_null())
    assert (of_flows.height, of_links.height) == (2 * 11, 5 * 11)
    assert of_flows["cwnd_pkts"].null_count() == of_links["queue_pkts"].null_count() == 0
    assert of_flows["ssthresh_pkts"].null_count() > 0, "no loss yet: no threshold"


def test_samples_by_change_have_every_window_and_no_throughput() -> None:
    results = cwnd.run(cwnd.dumbbell("reno", samples="change", **SMALL))
    cwnds = results.samples.filter(pl.col("flow") == 0)
    assert cwnds.height > 100
    assert cwnds["throughput_mbps"].null_count() == cwnds.height


def test_samples_off_cost_no_rows() -> None:
    assert cwnd.run(cwnd.dumbbell("reno", samples="off", **SMALL)).samples.is_empty()


def test_a_file_and_a_call_that_say_the_same_have_the_same_answer(tmp_path: Path) -> None:
    file = tmp_path / "small.toml"
    file.write_text(FILE)
    said = cwnd.dumbbell("cubic", flows=2, per=1e-3, stagger="100 ms", repeat=2, name="small", **SMALL)
    assert cwnd.Scenario.from_toml(file).to_dict() == said.to_dict()
    assert without_engine(cwnd.run(file)) == without_engine(cwnd.run(said))


def test_parameters_reach_the_algorithm() -> None:
    tame, bold = (cwnd.dumbbell("cubic", params={"beta": beta}, **SMALL) for beta in (0.5, 0.9))
    assert dict(tame.to_dict()["flows"][0]["cca"]["params"])["beta"] == "0.5"
    assert without_engine(cwnd.run(tame)) != without_engine(cwnd.run(bold))


def test_parameters_of_several_algorithms_name_theirs() -> None:
    scenario = cwnd.dumbbell(["reno", "cubic"], params={"cubic.beta": 0.5}, **SMALL)
    assert dict(scenario.to_dict()["flows"][1]["cca"]["params"])["beta"] == "0.5"


def test_describe_tells_rtt_and_bdp() -> None:
    reported = cwnd.dumbbell(
        "reno", rate="1 Gbps", delay="100 ms", access_delay="1 ms", buffer="2 BDP"
    ).describe()
    (flow,) = reported["flows"]
    assert flow["rtt_ms"] == pytest.approx(204, abs=0.1)
    assert flow["bdp_bytes"] == pytest.approx(1e9 * 0.204 / 8)
    assert [link["buffer_bdp"] for link in reported["links"] if link["name"] == "bottleneck"] == [
        pytest.approx(2, rel=1e-3)
    ]


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        ({"cca": "elastc"}, "cca: unknown algorithm 'elastc'; did you mean 'elastic'?"),
        ({"per": 2}, "per: 2 is not a probability"),
        ({"rate": "0 bps"}, "rate: "),
        ({"delay": "-1 ms"}, "delay: "),
        ({"buffer": 0}, "buffer: "),
        ({"flows": 0}, "flows: "),
        ({"flows": [1, 2]}, "flows: 2 numbers for 1 algorithms"),
        ({"cca": []}, "cca: an empty list"),
        ({"access_rate": "fast"}, "access_rate: "),
        ({"stack": "bsd"}, "stack: "),
        ({"recovery": "hope"}, "recovery: "),
        ({"params": {"beta": 0.5}}, "params['beta']: "),
        ({"cca": ["reno", "cubic"], "params": {"beta": 0.5}}, "params['beta']: of which algorithm?"),
        ({"params": {"vegas.beta": 0.5}}, "params['vegas.beta']: no algorithm 'vegas' here"),
        ({"stop": "1 s", "start": "2 s"}, "stop: "),
        ({"repeat": 0}, "repeat: "),
        ({"rate": "\udcff"}, "dumbbell: text that is not Unicode"),
    ],
)
def test_a_wrong_argument_is_refused_by_its_name(arguments: dict[str, object], line: str) -> None:
    with pytest.raises(cwnd.Error) as refused:
        cwnd.dumbbell(**{"cca": "reno", **SMALL, **arguments})  # type: ignore[arg-type]
    assert str(refused.value).startswith(line)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("arguments", [{"jobs": -1}, {"jobs": 1.5}, {"seed": -1}, {"repeat": 0}])
def test_a_wrong_argument_of_run_is_refused_by_its_name(arguments: dict[str, int]) -> None:
    with pytest.raises(cwnd.Error, match=next(iter(arguments))):
        cwnd.run(cwnd.dumbbell("reno", **SMALL), **arguments)


def test_an_error_is_a_value_error_that_says_file_line_and_key() -> None:
    with pytest.raises(ValueError, match=r"^here\.toml:5: dumbbell\.rate: ") as refused:
        cwnd.Scenario.parse(FILE.replace("10 Mbps", "10 MBps"), "here.toml")
    assert type(refused.value) is cwnd.Error


def test_algorithms_lists_the_registry_with_parameters() -> None:
    listed = {algorithm["name"]: algorithm for algorithm in cwnd.algorithms()}
    assert {"reno", "cubic", "elastic"} <= set(listed)
    beta = next(param for param in listed["cubic"]["params"] if param["name"] == "beta")
    assert isinstance(beta["default"], float)
    assert beta["accepted"] == "0.5 to 0.9893"
    assert beta["meaning"] and beta["source"] == "RFC 9438, 4.6"
    assert listed["cubic"]["profiles"]["ns2"] == {
        "params": {"variant": "ns2", "beta": 0.7998},
        "stack": {},
    }
    assert listed["reno"]["profiles"]["ns2"]["stack"] == {"restart_at_half_ssthresh": True}


def test_an_essay_is_the_text_of_the_header() -> None:
    for algorithm in cwnd.algorithms():
        name = algorithm["name"].replace("-", "_")
        header = (HEADERS / f"{name}.h").read_text().splitlines()
        for variant in sorted((HEADERS / "variants").glob(f"{name}_*.h")):
            header += variant.read_text().splitlines()
        header += (HEADERS / "parts/slow_start.h").read_text().splitlines()
        first = next(line for line in header[1:] if line not in ("/*", " *"))
        essay = algorithm["essay"].splitlines()
        assert first == f" * {essay[0]}"
        assert not any(line.startswith((" *", "/*", "#")) for line in essay)
        assert all(f" * {line}" in header for line in essay if line)


def test_presets_name_a_law_of_the_registry_and_a_recovery() -> None:
    listed = {preset["name"]: preset for preset in cwnd.presets()}
    assert set(listed) == {"tahoe", "newreno", "sack", "fack", "linux"}
    assert (listed["newreno"]["algorithm"], listed["newreno"]["recovery"]) == ("reno", "newreno")
    assert listed["linux"]["recovery"] is None


@pytest.mark.parametrize(
    "recovery", ["tahoe", "reno", "newreno", "vegas", "sack", "fack", "prr", "rate-halving"]
)
def test_every_recovery_is_an_argument(recovery: str) -> None:
    assert cwnd.dumbbell("reno", recovery=recovery).to_dict()["flows"][0]["stack"]["recovery"] == recovery


def test_an_application_that_writes_and_pauses_sends_no_more_than_it_writes() -> None:
    # 4 Mbps for half of the time, on a path of 10 Mbps.
    scenario = cwnd.dumbbell("reno", **{**SMALL, "duration": "20 s"}, app_rate="4 Mbps", on="1 s", off="1 s")
    assert cwnd.run(scenario).flows["goodput_mbps"][0] == pytest.approx(2, rel=0.05)


def test_a_threshold_marks_instead_of_a_full_queue_that_drops() -> None:
    question = {**SMALL, "duration": "20 s", "buffer": 200}
    dropping, marking = (
        cwnd.run(cwnd.dumbbell("reno", **question, ecn_threshold=threshold)) for threshold in (None, 20)
    )
    assert dropping.links["dropped_pkts"].sum() > 0
    late = cwnd.dumbbell("reno", **SMALL, ecn_threshold=20, stack={"ecn": False})
    assert late.to_dict()["flows"][0]["stack"]["ecn"] == "off"
    assert marking.links["dropped_pkts"].sum() == 0
    assert marking.links["marked_pkts"].sum() >= marking.flows["marked_pkts"].sum() > 0
    assert marking.links["mean_queue_pkts"].max() < 20 < dropping.links["mean_queue_pkts"].max()


def test_progress_grows_to_one() -> None:
    shares: list[float] = []
    cwnd.run(cwnd.dumbbell("reno", repeat=2, **SMALL), progress=shares.append)
    assert shares == sorted(shares)
    assert shares[-1] == 1


def test_an_exception_of_progress_stops_the_run() -> None:
    def refuse(share: float) -> None:
        raise LookupError("no more")

    begin = time.monotonic()
    with pytest.raises(LookupError, match="no more"):
        cwnd.run(cwnd.dumbbell("reno", duration="10000 s", samples="off"), progress=refuse)
    assert time.monotonic() - begin < 2


def test_other_threads_run_meanwhile() -> None:
    ticks = 0
    done = threading.Event()

    def tick() -> None:
        nonlocal ticks
        while not done.wait(0.005):
            ticks += 1

    ticker = threading.Thread(target=tick)
    ticker.start()
    begin = time.monotonic()
    cwnd.run(cwnd.dumbbell("cubic", duration="100 s", samples="off"))
    elapsed = time.monotonic() - begin
    done.set()
    ticker.join()
    assert ticks > elapsed / 0.05


def test_what_is_public_is_listed() -> None:
    public = {name for name in dir(cwnd) if not name.startswith("_")}
    assert set(cwnd.__all__) == public | {"__version__"}


def test_models_is_listed_before_it_is_imported() -> None:
    code = "import sys, cwnd; print('models' in dir(cwnd), 'cwnd.models' in sys.modules)"
    listed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert listed.stdout.split() == ["True", "False"]


@pytest.mark.slow
def test_a_type_checker_knows_the_functions_of_models(tmp_path: Path) -> None:
    user = tmp_path / "user.py"
    user.write_text("import cwnd\nreveal_type(cwnd.models.reno)\n")
    check = subprocess.run(
        [sys.executable, "-m", "mypy", "--config-file=", str(user)],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
    )
    assert 'Revealed type is "def (beta' in check.stdout, check.stdout


@pytest.mark.slow
def test_the_stub_of_the_extension_module_is_true() -> None:
    check = subprocess.run(
        [sys.executable, "-m", "mypy.stubtest", "cwnd._cwnd"], capture_output=True, text=True, check=False
    )
    assert check.returncode == 0, check.stdout


def test_a_keyword_that_no_dumbbell_has_is_named() -> None:
    with pytest.raises(TypeError, match="unexpected keyword argument 'delays'"):
        cwnd.dumbbell("reno", delays="10 ms")  # type: ignore[call-arg]
