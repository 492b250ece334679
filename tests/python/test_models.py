"""The models against hand calculations, published functions, Monte Carlo and the simulator."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import cwnd
from conftest import Command
from cwnd import models
from cwnd._analysis import model
from cwnd.models import Path as Pipe

if TYPE_CHECKING:
    pass


def test_the_example_of_five_states_has_the_matrix_written_by_hand() -> None:
    p = 0.1
    windows, matrix = models.transition_matrix(models.reno(0.75), Pipe(5, 1, p))
    q2, q3, q4, q5 = (0.9**w for w in (2, 3, 4, 5))
    assert windows.tolist() == [2, 3, 4, 5, 6]
    by_hand = [
        [1 - q2, q2, 0, 0, 0],  # 1.5 is below the smallest window
        [1 - q3, 0, q3, 0, 0],  # 2.25
        [0, 1 - q4, 0, q4, 0],  # 3
        [0, 1 - q5, 0, 0, q5],  # 3.75
        [0, 0, 1, 0, 0],  # 4.5
    ]
    assert matrix == pytest.approx(np.array(by_hand))


@pytest.mark.parametrize(
    ("beta", "lambda_max", "mean_window", "epoch_ratio"),
    [
        (0.5, 1, 0.75, 1.0),
        (0.5, 2, 0.7785, 0.847),
        (0.5, 3, 0.8015, 0.700),
        (0.5, 5, 0.8275, 0.522),
        (0.5, 10, 0.8562, 0.330),
        (0.9, 1, 0.95, 0.2),
        (0.9, 3, 0.9603, 0.14),
        (0.9, 5, 0.9655, 0.104),
    ],
)
def test_closed_forms_give_the_numbers_calculated_by_hand(
    beta: float, lambda_max: float, mean_window: float, epoch_ratio: float
) -> None:
    rounds, packets, mean = models.agile_sd_epoch(1000.0, beta, lambda_max)
    assert mean / 1000 == pytest.approx(mean_window, abs=6e-5)
    assert rounds / 500 == pytest.approx(epoch_ratio, abs=6e-4)
    assert packets == pytest.approx(rounds * mean)


def test_epochs_and_chains_without_random_loss_come_to_the_closed_forms_as_windows_grow() -> None:
    for beta, lambda_max in ((0.5, 1.0), (0.5, 5.0), (0.9, 3.0)):
        law, path = models.agile_sd(beta, lambda_max), Pipe(20_000, 0)
        rounds, packets, mean = models.agile_sd_epoch(20_000.0, beta, lambda_max)
        epoch, chain = models.epoch(law, path), models.chain(law, path)
        assert epoch.rounds == pytest.approx(rounds, rel=2e-3)
        assert epoch.packets == pytest.approx(packets, rel=2e-3)
        assert chain.utilization == pytest.approx(mean / 20_000, rel=2e-3)
        assert chain.rounds_per_loss == pytest.approx(epoch.rounds - 1)  # less the repair
        assert chain.congestion_share == 1


def test_a_queue_of_half_the_window_keeps_the_link_full_and_stretches_rtts() -> None:
    # Reno between BDP and 2 BDP: w packets each take w / BDP RTTs, so an epoch lasts the sum of w / BDP.
    path = Pipe(1000, 1000, rtt_s=0.1)
    epoch = models.epoch(models.reno(), path)
    assert epoch.utilization == pytest.approx(1)
    assert epoch.time_s == pytest.approx(0.1 * (sum(range(1000, 2000)) + 2000 + 1000) / 1000)


@pytest.mark.parametrize(("per", "lambda_max"), [(1e-3, 1.0), (1e-3, 5.0), (2e-2, 3.0)])
def test_the_chains_agree_with_brute_force(per: float, lambda_max: float) -> None:
    beta, bdp, buffer = 0.7, 40, 20
    law, path = models.agile_sd(beta, lambda_max), Pipe(bdp, buffer, per)

    def walk(remembers: bool) -> float:
        """Packets per time of a window that climbs by one in RTT/λ, until a random loss or W."""
        draw, top = random.Random(7), bdp + buffer
        window = last = top
        packets = seconds = 0.0
        for _ in range(100_000):
            target = last if remembers else top
            aim = lambda_max * (target - window - 0.5) / max(target * (1 - beta), 1)
            growth = min(max(aim, 1.0), lambda_max)
            growth = 1.0 if window == top else growth
            rtt = max(1.0, window / bdp)
            packets, seconds = packets + window / growth, seconds + rtt / growth
            if window == top or draw.expovariate(-math.log1p(-per)) < window / growth:
                last, window = window, max(math.floor(beta * window), 2)
            else:
                window += 1
        return packets / seconds / bdp

    assert models.chain(law, path).utilization == pytest.approx(walk(False), rel=0.015)
    assert models.exact_chain(law, path).utilization == pytest.approx(walk(True), rel=0.015)


def test_the_fast_solution_is_the_stationary_distribution_of_the_matrix() -> None:
    for per in (0.0, 1e-4, 1e-2):
        law, path = models.agile_sd(0.8, 3), Pipe(200, 30, per)
        windows, matrix = models.transition_matrix(law, path)
        chain = models.chain(law, path)
        share = models.stationary(matrix)[: len(chain.windows_pkts)]
        assert chain.windows_pkts.tolist() == windows[: len(share)].tolist()
        assert chain.probability == pytest.approx(share, abs=1e-9)
        assert matrix.sum(axis=1) == pytest.approx(1)


def test_newreno_is_agile_sd_with_lambda_max_1_and_needs_no_memory() -> None:
    path = Pipe(300, 20, 2e-5)
    reno, agile = models.chain(models.reno(), path), models.exact_chain(models.agile_sd(0.5, 1), path)
    assert reno.utilization == pytest.approx(agile.utilization, rel=1e-9)
    assert reno.time_share == pytest.approx(agile.time_share, abs=1e-9)


def test_forgetting_the_last_loss_costs_little_near_w_and_much_far_below() -> None:
    law = models.agile_sd(0.5, 5)

    def error(per: float) -> float:
        path = Pipe(300, 20, per)
        return models.chain(law, path).utilization / models.exact_chain(law, path).utilization - 1

    assert error(0) == pytest.approx(0, abs=1e-9)
    assert 0 < error(1e-6) < 0.01
    # sqrt(λmax) instead of the square root of the mean growth, λmax/(1 + ln λmax)
    assert error(1e-3) == pytest.approx(math.sqrt(1 + math.log(5)) - 1, abs=0.06)


def test_reno_is_mathis_with_even_losses_and_ott_with_random_ones() -> None:
    per = np.array([1e-3, 1e-4, 1e-6])
    assert models.response(models.reno(), per) == pytest.approx(models.mathis(per), rel=1e-4)
    # Ott, Kemperman, Mathis 1996: 1.3098/sqrt(p), for losses that are independent
    chain = models.chain(models.reno(), Pipe(10_000, 0, 1e-5))
    assert chain.mean_window_pkts == pytest.approx(1.3098 / math.sqrt(1e-5), rel=0.005)


@pytest.mark.parametrize(
    ("law", "published"),
    [
        (models.highspeed(), models.highspeed_response),
        # The balance of the logarithm: b becomes ln(1/(1 - b)).
        (models.scalable(), lambda per: models.scalable_response(per, b=math.log(1 / 0.875))),
        (models.cubic(), lambda per: models.cubic_response(per, 0.1)),
        (models.agile_sd(), models.agile_sd_response),
        (models.elastic(), models.elastic_response),
    ],
)
def test_laws_integrated_give_their_published_response_functions(
    law: models.Law, published: Callable[[float], float]
) -> None:
    per = np.array([1e-5, 1e-6])
    assert models.response(law, per, 0.1) == pytest.approx(published(per), rel=0.035)


def test_published_functions_have_the_values_of_their_papers() -> None:
    assert models.highspeed_response(1e-7) == pytest.approx(83000, rel=0.02)  # RFC 3649, High_Window
    assert models.scalable_response([1e-3, 1e-4]).tolist() == pytest.approx([80, 800])
    # RFC 9438, 5.1: CUBIC with an RTT of 100 ms
    assert models.cubic_response([1e-4, 1e-5, 1e-6], 0.1).tolist() == pytest.approx(
        [187, 1054, 5926], rel=3e-3
    )
    # Padhye: by hand at p = 0.1, RTT 0.1 s, RTO 1 s: 0.02582 + 0.58095 x 0.1 x 1.32 s a packet
    assert models.padhye(0.1, 0.1) == pytest.approx(0.1 / (0.0258199 + 0.0766852), rel=1e-4)
    assert models.padhye(1e-7, 0.1) == pytest.approx(models.mathis(1e-7), rel=1e-3)
    assert models.padhye(1e-7, 0.1, window_max_pkts=64) == 64


def test_the_rules_for_lambda_max_give_the_numbers_calculated_by_hand() -> None:
    assert models.lambda_max_auto(0.9) == pytest.approx(3)
    assert models.lambda_max_auto([0.5, 0.6, 0.7, 0.8], 0.14) == pytest.approx(
        [31.9, 23.8, 16.2, 9.2], abs=0.06
    )
    assert models.lambda_max_auto([0.5, 0.6, 0.7, 0.8], 0.2) == pytest.approx(
        [20, 14.8, 9.87, 5.36], abs=0.06
    )
    assert models.lambda_max_auto([0.94, 0.99]).tolist() == pytest.approx([1, 1])
    assert models.lambda_max_utilization([0.5, 0.6, 0.7], 0.85) == pytest.approx([8.47, 3.69, 1], abs=0.006)
    assert models.lambda_max_utilization([0.5, 0.75, 0.8], 0.9) == pytest.approx([52, 2.92, 1], rel=2e-3)
    assert models.lambda_max_friendly([0.5, 0.9]).tolist() == pytest.approx([1, 1])
    most = models.lambda_max_loss([0.5, 0.9], 1e-4, 481)
    assert 1 / models.agile_sd_epoch(481, [0.5, 0.9], most)[1] == pytest.approx(1e-4)
    assert models.lambda_max_loss(0.9, 1e-6, 100) == pytest.approx(1)


def test_steps_of_several_packets_change_little() -> None:
    for law in (models.agile_sd(), models.cubic(), models.elastic()):
        for per in (0, 1e-4):
            path = Pipe(400, 40, per)
            one, three = (models.exact_chain(law, path, step_pkts=step) for step in (1, 3))
            assert three.utilization == pytest.approx(one.utilization, rel=0.01)


@pytest.mark.parametrize(
    ("cca", "rtt", "buffer", "per"),
    [
        ("newreno", "20 ms", 4, None),
        ("agile-sd", "20 ms", 4, None),
        ("agile-sd", "20 ms", 8, 1e-4),
        ("agile-sd", "20 ms", 8, 1e-3),
        ("cubic", "20 ms", 8, 1e-3),
        ("elastic", "20 ms", 8, 1e-3),
        ("highspeed", "40 ms", 4, None),
        ("htcp", "40 ms", 8, None),
        ("scalable", "40 ms", 8, 1e-4),
    ],
)
def test_simulations_agree_within_five_percent(cca: str, rtt: str, buffer: int, per: float | None) -> None:
    compared = model.compare(cca, rate="20 Mbps", rtt=rtt, buffer=buffer, per=per, repeat=10 if per else 1)
    assert not compared.limits
    assert abs(compared.to_dict()["difference"]) < 0.05


def test_the_parameters_of_the_algorithm_reach_model_and_simulation() -> None:
    path: dict[str, Any] = {"rate": "20 Mbps", "rtt": "20 ms", "buffer": 4}
    low, high = (
        model.compare("agile-sd", **path, params={"beta": 0.5, "lambda_max": most}).to_dict()
        for most in (1, 10)
    )
    assert low["path"]["window_pkts"] == math.floor(20e6 * 0.02 / (8 * 1514) + 1.2 + 4)
    for side in (
        lambda reported: reported["model"]["throughput_mbps"],
        lambda reported: reported["simulation"]["throughput_mbps"]["mean"],
    ):
        assert side(high) > 1.05 * side(low)


def test_what_does_not_hold_is_said() -> None:
    def words(per: float | None, buffer: int, **params: float) -> str:
        compared = model.compare(
            "agile-sd", rate="10 Mbps", rtt="20 ms", buffer=buffer, per=per, repeat=1, params=params
        )
        return " ".join(compared.limits)

    assert "random losses per window" in words(0.05, 10)
    assert "buffer of 2 packets" in words(None, 2)
    assert "growth by" in words(None, 5, beta=0.5, lambda_max=30)
    htcp = model.compare("htcp", rate="10 Mbps", rtt="20 ms", buffer=8, per=1e-2, repeat=1)
    assert any("backoff" in limit for limit in htcp.limits)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: models.reno(1.0), "beta: 1 is out of range; above 0, below 1"),
        (lambda: models.agile_sd(lambda_max=0.5), "lambda_max: 0.5 is out of range; 1 or more"),
        (lambda: Pipe(10, -1), "buffer_pkts: -1 is not a number of packets; 0 or more"),
        (lambda: Pipe(10, 4, 1.5), "per: 1.5 is out of range; 0 to 1, 1 excluded"),
        (lambda: Pipe(math.nan, 4), "bdp_pkts: nan is out of range; above 0"),
        (lambda: Pipe(1, 0), "bdp_pkts: pipe and buffer hold 1 packets; 3 or more"),
        (lambda: models.mathis(2), "per: 2 is out of range; above 0, below 1"),
        (lambda: models.mathis([0.1, 0]), "per: 0 is out of range; above 0, below 1"),
        (lambda: models.lambda_max_auto([0.5, 1.2]), "beta: 1.2 is out of range; above 0, below 1"),
        (
            lambda: models.chain(models.reno(), Pipe(2e6, 0)),
            "window: 2000000 packets make too large a chain; at most 1000000",
        ),
        (
            lambda: models.exact_chain(models.reno(), Pipe(5000, 0), step_pkts=1),
            "window: 5000 windows make too large an exact chain; at most 3000",
        ),
        (
            lambda: models.transition_matrix(models.reno(), Pipe(5000, 0)),
            "window: 5000 packets make too large a matrix; at most 3000",
        ),
        (lambda: models.stationary([[0.5, 0.4]]), "matrix: not a square matrix whose rows sum to 1"),
    ],
)
def test_wrong_input_is_one_line(call: Callable[[], object], said: str) -> None:
    with pytest.raises(cwnd.Error) as refused:
        call()
    assert str(refused.value) == said


SMALL = ("model", "--cca", "agile-sd", "--rate", "10Mbps", "--rtt", "20ms", "--buffer", "8")


def test_the_command_tells_model_and_simulation_and_draws_them(cwnd_here: Command, tmp_path: Path) -> None:
    picture = tmp_path / "model.png"
    done = cwnd_here(*SMALL, "--per", "1e-3", "--repeat", "3", "--json", "--out", str(picture))
    assert (done.returncode, done.stderr) == (0, "")
    reported = json.loads(done.stdout)
    throughput = reported["simulation"]["throughput_mbps"]
    assert throughput["ci95_low"] < throughput["mean"] < throughput["ci95_high"]
    assert throughput["n"] == 3
    assert reported["model"]["throughput_mbps"] == pytest.approx(throughput["mean"], rel=0.1)
    assert reported["path"]["per"] == 1e-3
    assert picture.stat().st_size > 10_000
    table = cwnd_here(*SMALL)
    assert table.returncode == 0
    for words in ("model", "simulation", "throughput Mbit/s", "packets from loss to loss"):
        assert words in table.stdout


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (
            ("--cca", "bbr"),
            "--cca: no model of 'bbr'; there are models of reno, highspeed, scalable, htcp, cubic, agile-sd,",
        ),
        (("--param", "beta=1.5"), "--param beta: '1.5' is not accepted; 0.1 to 0.999"),
        (("--rtt", "-5ms"), "--rtt: '-5ms' is out of range; '0 s' to '60 min'"),
        (("--rate", "100Tbps", "--rtt", "1s"), "window: 825627477"),
    ],
)
def test_wrong_flags_are_one_line(cwnd_here: Command, flags: tuple[str, ...], said: str) -> None:
    done = cwnd_here(*SMALL, *flags)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"cwnd: error: {said}")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            {"per": 2},
            "per: 2 is not a probability; write a number from 0 to less than 1, like 1e-5 or '0.001%'",
        ),
        ({"buffer": -3}, "buffer: -3 is out of range; 1 to 2147483647 packets, or 'unlimited'"),
        ({"buffer": "unlimited"}, "buffer: unlimited has no model; a number of packets or of BDPs"),
        (
            {"params": {"build": "slow"}},
            "params['build']: not a parameter of the model of agile-sd; it has beta, lambda_max, lambda_min",
        ),
    ],
)
def test_wrong_arguments_are_one_line(arguments: dict[str, Any], said: str) -> None:
    with pytest.raises(cwnd.Error) as refused:
        model.compare("agile-sd", **{"rate": "10 Mbps", "rtt": "20 ms", "buffer": 8, **arguments})
    assert str(refused.value) == said
