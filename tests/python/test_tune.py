"""Tuning: it finds the best parameters, separates merit from luck, and continues where it stopped."""

from __future__ import annotations

import json
import signal
import statistics
import subprocess
import sys
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import cwnd
from conftest import Command
from cwnd._cli import main as cli
from cwnd._run import sweep as sweeps
from sweeping import TABLES, until

if TYPE_CHECKING:
    from cwnd._cwnd import Ack, Window

ONE = """\
duration = "5 s"
[dumbbell]
rate = "20 Mbps"
delay = "10 ms"
buffer = 20
per = 2e-3
[[flows]]
cca = "agile-sd"
"""
#: Beside Reno; what is random is when the flows start.
TWO = """\
duration = "5 s"
[dumbbell]
rate = "10 Mbps"
delay = "20 ms"
buffer = 40
[[flows]]
cca = "agile-sd"
start_jitter = "100 ms"
[[flows]]
cca = "reno"
start_jitter = "100 ms"
"""

#: Student's t at 0.975, from a table, by degrees of freedom.
T = {5: 2.5706, 9: 2.2622}


@pytest.fixture
def one(tmp_path: Path) -> Path:
    (tmp_path / "one.toml").write_text(ONE)
    return tmp_path / "one.toml"


@pytest.fixture
def two(tmp_path: Path) -> Path:
    (tmp_path / "two.toml").write_text(TWO)
    return tmp_path / "two.toml"


def tables(folder: Path) -> dict[str, bytes]:
    """The files of a tuning, without the manifests, which also have time and place."""
    kept = [folder / "question.json", folder / "tuning.json"]
    kept += [path for path in folder.rglob("*.parquet") if path.name in TABLES]
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(kept)}


# The search.


class Peaked(cwnd.CongestionControl):
    """A fixed window, 60 segments at most, which is where `knob` is 37; the path takes 84."""

    def __init__(self, knob: int = 90) -> None:
        self.window = max(60 - abs(knob - 37), 2)

    def init(self, window: Window, ack: Ack) -> None:
        window.cwnd = window.ssthresh = self.window

    def cong_avoid(self, window: Window, ack: Ack) -> None:
        window.cwnd = self.window

    def ssthresh(self, window: Window, ack: Ack) -> int:
        return self.window


CLASS = """\
duration = "2 s"
[dumbbell]
rate = "10 Mbps"
delay = "50 ms"
buffer = "1 BDP"
[[flows]]
cca = "{}"
start_jitter = "1 ms"
"""


@pytest.mark.slow
def test_a_planted_optimum_is_found() -> None:
    scenario = cwnd.Scenario.parse(CLASS.format("Peaked"), ccas=[Peaked])
    tuning = cwnd.tune(scenario, cca=Peaked, params={"knob": (1, 100)}, trials=40, repeat=1, held_out_seeds=6)
    assert tuning.params == {"knob": 37}
    assert len(tuning.trials) == 41 and tuning.trials[0].params == {} and tuning.default is None
    # 60 segments of 1514 bytes per RTT of 100 ms and their sending: 1.2 ms there, 0.3 ms the rest of the way.
    rtt_s = 0.1 + 1514 * 8 * (1 / 10e6 + 2 / 100e6) + 66 * 8 * (1 / 10e6 + 2 / 100e6)
    [judged] = tuning.judgements
    throughput = judged.measures["throughput_ratio"]
    assert throughput.tuned == pytest.approx(60 * 1514 * 8 / rtt_s / 10e6, rel=0.08)
    assert judged.verdict == "better" and judged.measures["jain_fairness"].difference == 0


@pytest.mark.slow
def test_the_best_beta_is_where_the_sawtooth_just_empties_the_buffer() -> None:
    """AIMD (lambda_max = 1) on a path of 86 segments and a buffer of 40, losses weighing much.

    Between two losses a window goes from beta W to W, W = 126, by one per round trip, which lasts as long as
    what is beyond the path takes to be sent. The utilization is what is sent over what could have been, the
    loss one over what is sent.
    """
    path, top, weight = 86.0, 126.0, 100

    def objective(beta: float) -> float:
        bottom = beta * top
        sent = (top**2 - bottom**2) / 2
        rounds = max(path - bottom, 0) + (top**2 - max(bottom, path) ** 2) / 2 / path
        return sent / (path * rounds) - weight / sent

    best = max((beta / 1000 for beta in range(300, 951)), key=objective)
    assert 0.6 < best < path / top
    text = TWO.split('[[flows]]\ncca = "reno"')[0].replace('"5 s"', '"120 s"').replace('"20 ms"', '"51 ms"')
    tuning = cwnd.tune(
        cwnd.Scenario.parse(text.replace('"agile-sd"', '{ name = "agile-sd", lambda_max = 1 }')),
        cca="agile-sd",
        params={"beta": (0.3, 0.95)},
        objective={"throughput_ratio": 1, "loss_ratio": -weight},
        trials=40,
        repeat=2,
        held_out_seeds=6,
    )
    assert tuning.params["beta"] == pytest.approx(best, abs=0.05)
    assert tuning.judgements[0].verdict == "better"  # than 0.9


class Lucky(cwnd.CongestionControl):
    """Reno, whose windows after a loss are random but no better with one `salt` than with another."""

    def __init__(self, salt: int = 0) -> None:
        self.salt, self.losses = salt, 0

    def cong_avoid(self, window: Window, ack: Ack) -> None:
        if window.cwnd < window.ssthresh:
            window.cwnd += ack.acked
        elif (window.cwnd_cnt + ack.acked) >= window.cwnd:
            window.cwnd_cnt, window.cwnd = 0, window.cwnd + 1
        else:
            window.cwnd_cnt += ack.acked

    def ssthresh(self, window: Window, ack: Ack) -> int:
        self.losses += 1
        random = zlib.crc32(f"{self.salt} {self.losses} {ack.now_us}".encode()) / 2**32
        return max(2, round(window.cwnd * (0.3 + 0.6 * random)))


def test_luck_is_not_sold_as_tuning() -> None:
    text = CLASS.replace("1 BDP", "unlimited").format("Lucky").replace("[[flows]]", "per = 5e-3\n[[flows]]")
    scenario = cwnd.Scenario.parse(text, ccas=[Lucky])
    tuning = cwnd.tune(
        scenario, cca=Lucky, params={"salt": (1, 1000)}, trials=15, repeat=2, held_out_seeds=40
    )
    chosen_for = max(trial.objective for trial in tuning.trials) - tuning.trials[0].objective
    [judged] = tuning.judgements
    reported = judged.measures["objective"]
    assert chosen_for > reported.ci95_high, "the winner of fifteen is lucky"
    assert judged.verdict == "not distinguishable" and reported.ci95_low < 0 < reported.ci95_high


# The computed values.


def test_the_objective_and_its_interval_are_what_the_tables_say(one: Path, two: Path, tmp_path: Path) -> None:
    weights = {"throughput_ratio": 2.0, "loss_ratio": -10.0, "jain_fairness": 0.5}
    out = tmp_path / "out"
    tuning = cwnd.tune(
        [one, two],
        cca="agile-sd",
        params={"lambda_max": (1, 20), "beta": (0.5, 0.9)},
        objective=weights,
        trials=3,
        repeat=2,
        held_out_seeds=10,
        out=out,
    )

    def by_hand(folder: Path, seed: int) -> float:
        flows = cwnd.Results.load(folder).flows.filter(seed=seed)
        values = []
        for name, rate in (("one", 20), ("two", 10)):
            own = flows.filter(scenario=name)
            shares = own["throughput_mbps"].to_list()
            carried = (own["throughput_mbps"] * (own["stop_s"] - own["start_s"])).sum()
            loss = own["lost_pkts"].sum() / own["sent_pkts"].sum()
            jain = sum(shares) ** 2 / (len(shares) * sum(share**2 for share in shares))
            values.append(2 * carried / 5 / rate - 10 * loss + 0.5 * jain)
        return statistics.fmean(values)

    for index, trial in enumerate(tuning.trials):
        folder = out / "trials" / f"{index:04}"
        assert set(cwnd.Results.load(folder).flows["seed"]) == {1, 2}
        assert trial.objective == pytest.approx(statistics.fmean([by_hand(folder, seed) for seed in (1, 2)]))
    best = max(tuning.trials, key=lambda trial: trial.objective)
    assert tuning.params == best.params and tuning.default == {"lambda_max": 3, "beta": 0.9}
    judged = out / "held-out-seeds"
    assert set(cwnd.Results.load(judged / "tuned").flows["seed"]) == set(range(3, 13))
    params = cwnd.Results.load(judged / "tuned").scenarios[1]["flows"][0]["cca"]["params"]
    assert {name: float(value) for name, value in params[:2]} == pytest.approx(tuning.params)
    pairs = [(by_hand(judged / "default", seed), by_hand(judged / "tuned", seed)) for seed in range(3, 13)]
    differences = [tuned - default for default, tuned in pairs]
    reported = tuning.judgements[0].measures["objective"]
    half = T[9] * statistics.stdev(differences) / 10**0.5
    assert reported.difference == pytest.approx(statistics.fmean(differences))
    assert reported.ci95_low == pytest.approx(reported.difference - half, rel=1e-3)
    assert reported.ci95_high == pytest.approx(reported.difference + half, rel=1e-3)
    assert (reported.default, reported.tuned) == pytest.approx(
        tuple(map(statistics.fmean, zip(*pairs, strict=True)))
    )


def test_candidates_are_as_fine_as_the_parameter_and_none_runs_twice(tmp_path: Path) -> None:
    text = ONE.replace("agile-sd", "vegas")
    tuning = cwnd.tune(
        cwnd.Scenario.parse(text),
        cca="vegas",
        params={"gamma": (1, 3)},
        trials=12,
        repeat=1,
        held_out_seeds=2,
        out=tmp_path / "out",
    )
    assert {trial.params["gamma"] for trial in tuning.trials} <= {1, 2, 3}
    assert len(list((tmp_path / "out" / "trials").iterdir())) <= 3


def test_what_does_not_differ_is_not_distinguishable(one: Path) -> None:
    """epsilon has a part in combine = switch alone."""
    text = one.read_text().replace("agile-sd", "agile")
    tuning = cwnd.tune(
        cwnd.Scenario.parse(text),
        cca="agile",
        params={"epsilon": (0, 1)},
        trials=3,
        repeat=1,
        held_out_seeds=4,
    )
    [judged] = tuning.judgements
    assert tuning.params == tuning.default and judged.verdict == "not distinguishable"
    assert judged.measures["objective"].ci95_low == judged.measures["objective"].ci95_high == 0


def test_held_out_scenarios_have_a_judgement_of_their_own(one: Path, two: Path, tmp_path: Path) -> None:
    swept = tmp_path / "swept.toml"
    swept.write_text(f'{two.read_text()}[sweep]\n"dumbbell.buffer" = [20, 40]\n')
    tuning = cwnd.tune(
        one,
        cca="agile-sd",
        params={"lambda_max": (1, 20)},
        trials=2,
        repeat=1,
        held_out=swept,
        held_out_seeds=2,
    )
    assert [judged.on for judged in tuning.judgements] == ["held-out seeds", "held-out scenarios"]
    assert [len(judged.scenarios) for judged in tuning.judgements] == [1, 2]
    assert (
        tuning.judgements[0].measures["jain_fairness"].default
        == 1
        > tuning.judgements[1].measures["jain_fairness"].default
    )


# The directory.

FLAGS = ("--cca", "agile-sd", "--param", "lambda_max=1:20", "--repeat", "3", "--held-out-seeds", "4")


@pytest.mark.slow
def test_killed_and_interrupted_it_goes_on_to_the_same_bytes(
    cwnd_command: Command, one: Path, two: Path, tmp_path: Path
) -> None:
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    asked = ("tune", str(one), str(two), *FLAGS, "--trials", "12")
    done = cwnd_command(*asked, "--out", str(whole), "--jobs", "1", "--json")
    assert done.returncode == 0, done.stderr
    assert done.stdout == (whole / "tuning.json").read_text()
    for after, signal_sent in ((2, signal.SIGKILL), (5, signal.SIGINT)):
        started = subprocess.Popen(
            [sys.executable, "-m", "cwnd", *asked, "--out", str(broken)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )
        until((broken / "trials" / f"{after:04}").exists)
        started.send_signal(signal_sent)
        _, reported = started.communicate(timeout=20)
        assert not (broken / "tuning.json").exists()
        if signal_sent == signal.SIGINT:
            assert started.returncode == 130
            kept = f"the finished runs are kept in {broken}; repeat the command to continue"
            assert reported == f"cwnd: interrupted; {kept}\n"
    again = cwnd_command(*asked, "--out", str(broken))
    assert again.returncode == 0, again.stderr
    assert tables(broken) == tables(whole)


def test_more_trials_go_on_with_those_that_are_there(one: Path, tmp_path: Path) -> None:
    def ask(trials: int, out: str) -> tuple[cwnd.Tuning, int]:
        ran = []
        real = sweeps.work

        def counted(*args: object, **kwargs: object) -> object:
            outcome = real(*args, **kwargs)
            ran.append(outcome.ran)
            return outcome

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(sweeps, "work", counted)
            tuning = cwnd.tune(
                one,
                cca="agile-sd",
                params={"lambda_max": (1, 20)},
                trials=trials,
                repeat=2,
                held_out_seeds=2,
                out=tmp_path / out,
            )
        return tuning, sum(ran)

    few, first = ask(3, "out")
    more, then = ask(6, "out")
    assert first == 4 * 2 + 2 * 2 and then <= 3 * 2 + 2
    assert more.trials[:4] == few.trials
    assert ask(6, "fresh")[0] == more


def test_another_question_or_foreign_files_leave_the_directory_alone(one: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"

    def ask(**changed: object) -> None:
        question: Any = {"cca": "agile-sd", "params": {"lambda_max": (1, 20)}, "out": out}
        cwnd.tune(one, **{**question, "trials": 1, "repeat": 1, "held_out_seeds": 2, **changed})

    ask()
    before = tables(out)
    with pytest.raises(
        cwnd.Error, match=r"out: holds another tuning, with different objective; choose another"
    ):
        ask(objective="loss_ratio")
    with pytest.raises(cwnd.Error, match=r"out: holds another tuning, with different params; choose another"):
        ask(params={"beta": (0.5, 0.9)})
    with pytest.raises(cwnd.Error, match="holds a file that is not part of a tuning"):
        ask(out=tmp_path)
    with pytest.raises(cwnd.Error, match=r"one\.toml: not a directory"):
        ask(out=one)
    (out / "question.json").write_text("{")
    with pytest.raises(cwnd.Error, match=r"question\.json: damaged"):
        ask()
    (out / "question.json").write_bytes(before["question.json"])
    assert tables(out) == before


# The command.


def test_the_command_tells_the_verdict_and_gate_reads_what_it_kept(
    cwnd_here: Command, one: Path, two: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    done = cwnd_here("tune", str(one), *FLAGS, "--trials", "2", "--held-out", str(two), "--out", str(out))
    assert done.returncode == 0, done.stderr
    first, *_, last = done.stdout.splitlines()
    reported = json.loads((out / "tuning.json").read_text())
    best = reported["params"]["lambda_max"]
    assert first == f"agile-sd: lambda_max = {best:g} (default 3); 2 candidates, objective 1 throughput_ratio"
    assert last == f"on held-out scenarios: {reported['judgements'][1]['verdict']}"
    sides = [str(out / "held-out-seeds" / side) for side in ("default", "tuned")]
    assert cwnd_here("gate", *sides, "--margin", "50%").stdout.startswith("ok ")


@pytest.mark.parametrize(
    ("arguments", "reported"),
    [
        (("--param", "lambda_max"), "--param: 'lambda_max' is not NAME=LOW:HIGH"),
        (
            ("--param", "lambda_max=auto:3"),
            "--param lambda_max: 'auto:3' is not a range of two numbers, such as",
        ),
        (("--param", "lambda_max=9:3"), "--param lambda_max: 9 is not below 3; a range goes up"),
        (("--param", "lambda_max=0:3"), "--param lambda_max: 0:3 is not accepted; 1 to 1000"),
        (("--param", "beta=0.5:0.5001"), "--param beta: 0.5:0.5001 has fewer than two values"),
        (("--param", "build=0:1"), "--param build: a choice (published, slow), not a number"),
        (("--param", "gamma=0:1"), "--param gamma: unknown parameter; there is beta, lambda_max"),
        (("--param", "beta=.5:.9", "--cca", "cubic"), "--cca: one has no flow of 'cubic'; it has agile-sd"),
        (
            ("--param", "beta=.5:.9", "--objective", "speed"),
            "--objective: 'speed' is neither one of throughput_ratio, ",
        ),
        (
            ("--param", "beta=.5:.9", "--objective", "speed=1"),
            "--objective: 'speed' is not a measure; there are ",
        ),
        (
            ("--param", "beta=.5:.9", "--objective", "loss_ratio=1"),
            "--objective: loss_ratio=1 would reward losses",
        ),
        (("--param", "beta=.5:.9", "--objective", "loss_ratio=x"), "--objective: 'x' is not a weight"),
        (("--param", "beta=.5:.9", "--trials", "0"), "--trials: 0 is out of range; 1 to "),
        (("--param", "beta=.5:.9", "--repeat", "many"), "--repeat: many is not a whole number"),
        (("--param", "beta=.5:.9", "--held-out-seeds", "1"), "--held-out-seeds: 1 is out of range; 2 to "),
        (("--param", "beta=.5:.9", "--held-out", "none.toml"), "none.toml: no such file or directory"),
    ],
)
def test_bad_input_is_one_line(
    capfd: pytest.CaptureFixture[str], one: Path, tmp_path: Path, arguments: tuple[str, ...], reported: str
) -> None:
    asked = ["tune", str(one), "--cca", "agile-sd", *arguments, "--out", str(tmp_path / "out")]
    assert cli._main(asked) == 2
    out, err = capfd.readouterr()
    assert out == "" and err.startswith(f"cwnd: error: {reported}") and err.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_a_scenario_of_which_other_seeds_say_nothing_is_refused(one: Path) -> None:
    one.write_text(ONE.replace("per = 2e-3\n", ""))
    with pytest.raises(
        cwnd.Error, match=r"^one: nothing in it is random, so that all seeds would give the same"
    ):
        cwnd.tune(one, cca="agile-sd", params={"beta": (0.5, 0.9)})


def test_without_optuna_one_line_says_how_to_get_it(one: Path, tmp_path: Path) -> None:
    hidden = "import sys; sys.modules['optuna'] = None; from cwnd._cli.main import main; main()"
    asked = ("tune", str(one), *FLAGS, "--out", str(tmp_path / "out"))
    done = subprocess.run([sys.executable, "-c", hidden, *asked], capture_output=True, text=True, timeout=30)
    assert done.returncode == 2
    wanted = "tuning needs the package optuna, which is missing; pip install 'cwnd[tune]'"
    assert done.stderr == f"cwnd: error: {wanted}\n"


# lambda_max = auto.

PATH = {"rate": "20 Mbps", "delay": "20 ms", "buffer": 40, "per": 1e-4, "duration": "20 s"}


@pytest.mark.parametrize("cca", ["agile-sd", "agile"])
def test_auto_at_the_authors_beta_is_their_3_to_the_byte(cca: str) -> None:
    def answer(**params: float) -> str:
        reported = json.loads(cwnd.run(cwnd.dumbbell(cca, **PATH, params=params)).to_json())
        return json.dumps(reported["runs"])

    assert answer(lambda_max="auto") == answer(lambda_max=3)
    assert answer(lambda_max="auto", beta=0.95) == answer(lambda_max=1, beta=0.95)
    assert answer(lambda_max="auto", beta=0.5) != answer(lambda_max=3, beta=0.5)


def test_a_scenario_an_algorithms_list_and_an_error_all_know_auto(cwnd_here: Command) -> None:
    scenario = cwnd.Scenario.parse(ONE.replace('"agile-sd"', '{ name = "agile-sd", lambda_max = "auto" }'))
    params = dict(scenario.to_dict()["flows"][0]["cca"]["params"])
    assert params["lambda_max"] == "auto" and params["lambda_min"] == "1"
    reported = next(one for one in cwnd.algorithms() if one["name"] == "agile-sd")["params"]
    lambda_max = next(param for param in reported if param["name"] == "lambda_max")
    assert lambda_max["accepted"] == "1 to 1000, or auto"
    assert (lambda_max["default"], lambda_max["numbers"]) == (3, [1, 1000, 0.001])
    assert next(param for param in reported if param["name"] == "build")["numbers"] is None
    for bad in ("0", "Auto", "1001", ""):
        refused = cwnd_here("run", "--cca", "agile-sd", "--param", f"lambda_max={bad}")
        wanted = f"cwnd: error: --param lambda_max: '{bad}' is not accepted; 1 to 1000, or auto\n"
        assert (refused.returncode, refused.stderr) == (2, wanted)
