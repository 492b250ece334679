"""Throughput without a simulation: epochs, Markov chains of the window, response functions.

>>> from cwnd import models
>>> path = models.Path(bdp_pkts=833.3, buffer_pkts=200, per=1e-5, rtt_s=0.1)
>>> models.exact_chain(models.agile_sd(), path).utilization

One flow on one bottleneck. Windows are in packets, times in seconds, rates and utilizations as parts of the
bottleneck's capacity; arrays are of float64. Wrong arguments raise `Error` with one line.

The chains and the epoch of Agile-SD are a reconstruction from the set-up, captions and the example of N = 5
states of M. A. Alrshah's thesis (UPM, FSKTM 2017 31, chapter 5). The equations are published (Alrshah et al.,
"Modeling the Throughput of the Linux-based Agile-SD Transmission Control Protocol", IEEE Access 4, 2017, DOI
10.1109/ACCESS.2016.2647237, arXiv 1702.04861) and were not consulted. Their λmax(β) is one function here,
`lambda_max_auto`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cwnd._common.errors import error, one_line

Array: TypeAlias = NDArray[np.float64]

#: Most states of a chain, which takes some microseconds for each.
STATES_MAX = 1_000_000
#: Most windows of the exact chain and of a transition matrix, which has the square of them.
EXACT_MAX = 3000
#: Windows of the exact chain where no other number is asked for.
STEPS = 500
#: The smallest window, after a loss too.
WINDOW_MIN = 2
#: The epoch of Agile-SD with the authors' own β = 0.9 and λmax = 3, as a part of NewReno's.
EPOCH_RATIO = (1 + math.log(3)) / 15


@dataclass(frozen=True)
class Path:
    """A bottleneck as one flow sees it.

    Args:
        bdp_pkts: Packets that fill the pipe without a queue: rate × `rtt_s` / packet.
        buffer_pkts: Packets that the queue holds behind the one in transmission.
        per: Probability that a packet is lost at random.
        rtt_s: RTT without queueing, the packet's own transmission included.

    Raises `Error` unless bdp_pkts > 0, buffer_pkts ≥ 0, 0 ≤ per < 1, rtt_s > 0, all finite, and the window
    that fills both is at least 3.
    """

    bdp_pkts: float
    buffer_pkts: float
    per: float = 0.0
    rtt_s: float = 0.1

    def __post_init__(self) -> None:
        _positive("bdp_pkts", self.bdp_pkts)
        _positive("rtt_s", self.rtt_s)
        if not (math.isfinite(self.buffer_pkts) and self.buffer_pkts >= 0):
            raise error("buffer_pkts", f"{self.buffer_pkts:g} is not a number of packets; 0 or more")
        if not 0 <= self.per < 1:
            raise error("per", f"{self.per:g} is out of range; 0 to 1, 1 excluded")
        if self.window_pkts <= WINDOW_MIN:
            raise error("bdp_pkts", f"pipe and buffer hold {self.window_pkts} packets; 3 or more")

    @property
    def window_pkts(self) -> int:
        """W: the window that fills pipe and buffer, at which a packet is dropped."""
        return math.floor(self.bdp_pkts + self.buffer_pkts + 1e-9)

    def rtt_at_s(self, windows_pkts: ArrayLike) -> Array:
        """The RTT with each window in flight, queueing included; same shape."""
        return np.asarray(self.rtt_s * np.maximum(1.0, np.asarray(windows_pkts, float) / self.bdp_pkts))


class Law(NamedTuple):
    """An algorithm's window law: what it does with its window.

    `after(windows_pkts)`: what a loss leaves of the windows; same shape.

    `step_s(edges_pkts, loss_pkts, rtt_s)`: how long the window takes from each of the n + 1 edges to the
    next, seconds, shape (n,), when the last loss was at `loss_pkts` and the first edge is what it left;
    `rtt_s`, shape (n,), is the RTT of each step. The last step is at the largest window of the path.
    """

    name: str
    after: Callable[[Array], Array]
    step_s: Callable[[Array, float, Array], Array]


def agile_sd(beta: float = 0.9, lambda_max: float = 3.0, lambda_min: float = 1.0) -> Law:
    """Agile-SD, an AIMD(λ(w), β): λ = λmax (L − w) / (L − βL) within λmin and λmax segments per RTT, where L
    is the window at the last loss (Alrshah et al., JNCA 2015). λmax = 1 is AIMD(1, β)."""
    _share("beta", beta)
    _lambda_max(lambda_max)
    if not 0 < lambda_min <= lambda_max:
        raise error("lambda_min", f"{lambda_min:g} is out of range; above 0, to lambda_max")

    def growth(windows: Array, loss: float, rtt_s: Array) -> Array:
        gap = max(loss * (1 - beta), 1.0)
        return np.clip(lambda_max * (loss - windows) / gap, lambda_min, lambda_max)

    return _by_window("agile-sd", lambda windows: beta * windows, growth)


def reno(beta: float = 0.5) -> Law:
    """Reno and NewReno: a segment per RTT, half at a loss (RFC 5681); an AIMD(1, β) with another β."""
    _share("beta", beta)
    return _by_window("reno", lambda windows: beta * windows, lambda windows, _, __: np.ones_like(windows))


def elastic(beta: float = 0.9) -> Law:
    """Elastic-TCP: √(RTTmax/RTT · w) segments per RTT (Alrshah et al., IEEE Systems Journal 2019)."""
    _share("beta", beta)

    def growth(windows: Array, loss: float, rtt_s: Array) -> Array:
        return np.asarray(np.minimum(np.sqrt(rtt_s[-1] / rtt_s * windows), windows))

    return _by_window("elastic", lambda windows: beta * windows, growth)


def scalable(a: float = 0.01, b: float = 0.125, legacy_window: float = 16) -> Law:
    """Scalable TCP: a·w segments per RTT, 1 − b at a loss; Reno up to `legacy_window` (Kelly 2003)."""

    _positive("a", a)
    _share("b", b)

    def growth(windows: Array, loss: float, rtt_s: Array) -> Array:
        return np.where(windows <= legacy_window, 1.0, a * windows)

    return _by_window(
        "scalable", lambda windows: np.where(windows <= legacy_window, 0.5, 1 - b) * windows, growth
    )


def highspeed(
    low_window: float = 38, high_window: float = 83000, low_p: float = 1e-3, high_p: float = 1e-7
) -> Law:
    """HighSpeed TCP: a(w) segments per RTT, 1 − b(w) at a loss (RFC 3649, section 5)."""
    if not (0 < low_window < high_window and 0 < high_p < low_p < 1):
        raise error("high_window", "0 < low_window < high_window and 0 < high_p < low_p < 1 are needed")

    def decrease(windows: Array) -> Array:
        return 0.5 - 0.4 * np.maximum(_along(windows), 0)

    def _along(windows: Array) -> Array:
        return np.log(windows / low_window) / math.log(high_window / low_window)

    def growth(windows: Array, loss: float, rtt_s: Array) -> Array:
        b = decrease(windows)
        per = low_p * (high_p / low_p) ** _along(windows)
        return np.where(windows <= low_window, 1.0, np.maximum(windows**2 * per * 2 * b / (2 - b), 1.0))

    return _by_window("highspeed", lambda windows: (1 - decrease(windows)) * windows, growth)


def cubic(beta: float = 0.7, c: float = 0.4) -> Law:
    """CUBIC: C (t − K)³ + L, or Reno's estimate where that is larger (RFC 9438, 4.2, 4.3), without fast
    convergence."""
    _share("beta", beta)
    reno_growth = 3 * (1 - beta) / (1 + beta)

    def step_s(edges: Array, loss: float, rtt_s: Array) -> Array:
        on_cubic = np.cbrt((edges - loss) / c) - np.cbrt((edges[0] - loss) / c)
        friendly = np.where(edges[:-1] < loss, reno_growth, 1.0)
        on_reno = np.concatenate([[0.0], np.cumsum(np.diff(edges) * rtt_s / friendly)])
        return np.diff(np.minimum(on_cubic, on_reno))

    return Law("cubic", lambda windows: beta * windows, step_s)


def htcp(bdp_pkts: float = math.inf, delta_l_s: float = 1.0) -> Law:
    """H-TCP: 2 (1 − β) α(Δ) segments per RTT, α = 1 + 10 (Δ − Δ_L) + (Δ − Δ_L)²/4 from Δ_L after a loss on
    (Leith and Shorten 2004). β is RTTmin/RTTmax within 0.5 and 0.8, RTTmax being that at the last loss."""
    _positive("delta_l_s", delta_l_s)

    def beta(windows: Array) -> Array:
        return np.clip(bdp_pkts / windows, 0.5, 0.8)

    def step_s(edges: Array, loss: float, rtt_s: Array) -> Array:
        # The integral of alpha up to t, convex in t, is that of the RTT over the windows: Newton's method.
        gained = np.concatenate([[0.0], np.cumsum(np.diff(edges) * rtt_s)]) / (2 * (1 - beta(np.array(loss))))
        t = gained.copy()
        for _ in range(60):
            late = np.maximum(t - delta_l_s, 0)
            moved = (t + 5 * late**2 + late**3 / 12 - gained) / (1 + 10 * late + late**2 / 4)
            t -= moved
            if np.max(np.abs(moved)) <= 1e-12 * t[-1]:
                break
        return np.diff(t)

    return Law("htcp", lambda windows: beta(windows) * windows, step_s)


class Epoch(NamedTuple):
    """From one loss to the next: RTTs, packets, time, mean window (packets per RTT), part of the capacity."""

    rounds: float
    packets: float
    time_s: float
    mean_window_pkts: float
    utilization: float


def epoch(law: Law, path: Path) -> Epoch:
    """The deterministic epoch between two congestion losses at W, `path.per` left aside.

    The window grows from `law.after(W)` to W; above the BDP the queue makes RTTs longer and the link is full.
    An RTT passes at W until the loss is noticed, and one at `law.after(W)` until it is repaired.

    Raises `Error` if W exceeds `STATES_MAX`.
    """
    _check_kind("law", law, Law)
    top = _top(path)
    first = max(math.floor(float(law.after(np.array(float(top)))) + 1e-9), WINDOW_MIN)
    edges = np.arange(first, top + 1.0)
    windows = edges[:-1]
    rtt_s = path.rtt_at_s(windows)
    step_s = law.step_s(edges, float(top), rtt_s)
    # One RTT at W until the drop is noticed, one until it is repaired.
    time_s = float(step_s.sum() + path.rtt_at_s(top) + path.rtt_at_s(first))
    rounds = float((step_s / rtt_s).sum() + 2)
    packets = float((windows * step_s / rtt_s).sum() + top + first)
    return Epoch(rounds, packets, time_s, packets / rounds, packets * path.rtt_s / time_s / path.bdp_pkts)


def agile_sd_epoch(
    window_pkts: ArrayLike, beta: ArrayLike, lambda_max: ArrayLike
) -> tuple[Array, Array, Array]:
    """RTTs, packets and mean window of Agile-SD's epoch up to `window_pkts`, with a constant RTT.

    With G = (1 − β) W the closed forms are N = G/λmax (1 + ln λmax), P = W N − G²/λmax (1 − 1/(2 λmax)) and
    P/N. Arguments broadcast; λmax = 1 is AIMD(1, β).
    """
    window = _numbers("window_pkts", window_pkts)
    beta, most = _numbers("beta", beta), _numbers("lambda_max", lambda_max)
    _share("beta", beta)
    _lambda_max(most)
    gap = (1 - beta) * window
    rounds = gap / most * (1 + np.log(most))
    packets = window * rounds - gap**2 / most * (1 - 1 / (2 * most))
    return rounds, packets, packets / rounds


class Chain(NamedTuple):
    """The steady state of a chain of windows.

    `windows_pkts`, `probability` and `time_share` have shape (n,): the states, how often each is entered, and
    the part of the time spent there. `utilization` is the throughput as a part of the capacity;
    `packets_per_loss`, `rounds_per_loss` (RTTs) and `epoch_s` give the mean distance of two losses;
    `congestion_share` is the part of the losses that happen at W.
    """

    windows_pkts: Array
    probability: Array
    time_share: Array
    utilization: float
    mean_window_pkts: float
    packets_per_loss: float
    rounds_per_loss: float
    epoch_s: float
    congestion_share: float


def chain(law: Law, path: Path) -> Chain:
    """The one-dimensional chain over the windows 2 … W, every epoch taken to aim at W as the last loss.

    A state w lasts until the window is w + 1, RTT(w)/λ(w), in which w/λ(w) packets are sent; one of them is
    lost at random with 1 − (1 − per)^(w/λ), which leaves ⌊β w⌋, at least 2. At W, after an RTT, the loss is
    certain. This is exact for laws whose growth depends on the window alone. Agile-SD's growth depends on
    the last loss: far below W, after random losses, this chain grows too fast (see `exact_chain`). For cubic
    and htcp, whose growth depends on the time, the chain has no meaning. Windows that are reached with a
    chance below 10⁻¹² are left out.

    Raises `Error` if W exceeds `STATES_MAX`.
    """
    states, step_s, lost = _line(law, path, _reached(law, path))
    return _solved(states, step_s, lost, path)


def exact_chain(law: Law, path: Path, *, step_pkts: int | None = None) -> Chain:
    """The chain of pairs (window, window at the last loss).

    Between losses the window's course is certain, so it suffices to solve the chain of the windows at the
    losses; each of its states has the time and the packets of its epoch. Windows that are reached with a
    chance below 10⁻¹² are left out.

    Args:
        step_pkts: Distance of neighbouring windows in packets; None: the smallest that makes at most `STEPS`
            windows.

    Raises `Error` if that makes more than `EXACT_MAX` windows.
    """
    top = _reached(law, path)
    step = max(1, math.ceil(top / STEPS)) if step_pkts is None else step_pkts
    if step < 1:
        raise error("step_pkts", f"{step} is out of range; 1 or more")
    if top // step > EXACT_MAX:
        raise error("window", f"{top // step} windows make too large an exact chain; at most {EXACT_MAX}")
    states = _states(law, path, top, step)
    n = len(states.windows)
    ends = np.zeros((n, n))  # from the window at one loss to that at the next
    visits = np.zeros((n, n))
    seconds = np.zeros((n, n))
    for last in range(n):
        first = states.after[last]
        step_s, lost = _epoch_from(law, path, states, last)
        reached = np.concatenate([[1.0], np.cumprod(1 - lost[:-1])])
        ends[last, first:] = reached * lost
        visits[last, first:] = reached
        seconds[last, first:] = reached * step_s
    at_loss = stationary(ends)
    return _chain(states, path, at_loss @ visits, at_loss @ seconds, 1.0, float(at_loss[-1]))


def transition_matrix(law: Law, path: Path) -> tuple[Array, Array]:
    """The states 2 … W of `chain`, shape (n,), and its transition matrix, shape (n, n), rows summing to 1.

    Raises `Error` if there are more than `EXACT_MAX` states.
    """
    _check_kind("law", law, Law)
    _check_kind("path", path, Path)
    if path.window_pkts > EXACT_MAX:
        raise error("window", f"{path.window_pkts} packets make too large a matrix; at most {EXACT_MAX}")
    states, _, lost = _line(law, path, path.window_pkts)
    n = len(states.windows)
    matrix = np.zeros((n, n))
    matrix[np.arange(n - 1), np.arange(1, n)] = 1 - lost[:-1]
    np.add.at(matrix, (np.arange(n), states.after), lost)
    return states.windows, matrix


def stationary(matrix: ArrayLike) -> Array:
    """π = π P of a transition matrix with one recurrent class, shape (n, n); π has shape (n,) and sum 1."""
    given = _numbers("matrix", matrix)
    if given.ndim != 2 or given.shape[0] != given.shape[1] or not np.allclose(given.sum(axis=1), 1):
        raise error("matrix", "not a square matrix whose rows sum to 1")
    equations = given.T - np.eye(len(given))
    equations[-1] = 1
    right = np.zeros(len(given))
    right[-1] = 1
    share: Array = np.clip(np.linalg.solve(equations, right), 0, None)
    return np.asarray(share / share.sum())


def response(law: Law, per: ArrayLike, rtt_s: float = 0.1) -> Array:
    """Mean window when every (1/per)-th packet is lost and nothing else limits; same shape as `per`.

    The fluid epoch that carries 1/per packets. For reno, scalable, highspeed and cubic it gives their
    published functions, for htcp the integral that has no closed form.
    """
    _check_kind("law", law, Law)
    _share("per", per)
    _positive("rtt_s", rtt_s)
    return np.asarray(np.vectorize(lambda one: _even(law, float(one), rtt_s), otypes=[float])(per))


def mathis(per: ArrayLike) -> Array:
    """Reno's mean window √(3/(2 per)) (Mathis et al. 1997, every segment acknowledged)."""
    return np.sqrt(1.5 / _share("per", per))


def padhye(
    per: ArrayLike, rtt_s: float, rto_s: float = 1.0, window_max_pkts: float = math.inf, ack_every: int = 1
) -> Array:
    """Reno's packets per RTT with timeouts (Padhye et al. 1998, Eq. 32).

    `rto_s` is the first timeout, `window_max_pkts` the receiver's window, `ack_every` the segments per ACK.
    """
    p = _share("per", per)
    _positive("rtt_s", rtt_s)
    _positive("rto_s", rto_s)
    _positive("ack_every", ack_every)
    timeouts = np.minimum(1, 3 * np.sqrt(3 * ack_every * p / 8)) * p * (1 + 32 * p**2)
    spacing_s = rtt_s * np.sqrt(2 * ack_every * p / 3) + rto_s * timeouts
    return np.asarray(np.minimum(rtt_s / spacing_s, window_max_pkts))


def highspeed_response(per: ArrayLike) -> Array:
    """HighSpeed TCP's mean window 0.12/per^0.835, Reno's above per = 10⁻³ (RFC 3649, section 3)."""
    p = _share("per", per)
    return np.where(p > 1e-3, mathis(p), 0.12 / p**0.835)


def scalable_response(per: ArrayLike, a: float = 0.01, b: float = 0.125) -> Array:
    """Scalable TCP's mean window a/(b per) (Kelly 2003)."""
    return a / (b * _share("per", per))


def cubic_response(per: ArrayLike, rtt_s: float, beta: float = 0.7, c: float = 0.4) -> Array:
    """CUBIC's mean window, or Reno's where that is larger (RFC 9438, 5.1)."""
    _positive("rtt_s", rtt_s)
    _share("beta", beta)
    p = _share("per", per)
    curve = (c * (3 + beta) / (4 * (1 - beta))) ** 0.25 * (rtt_s / p) ** 0.75
    return np.asarray(np.maximum(curve, mathis(p)))


def aimd_response(per: ArrayLike, a: float, beta: float) -> Array:
    """The mean window √(a (1 + β) / (2 (1 − β) per)) of an AIMD(a, β)."""
    _positive("a", a)
    _share("beta", beta)
    return np.sqrt(a * (1 + beta) / (2 * (1 - beta) * _share("per", per)))


def agile_sd_response(per: ArrayLike, beta: float = 0.9, lambda_max: float = 3.0) -> Array:
    """Agile-SD's mean window: that of an AIMD whose a is the mean growth of an epoch, λmax/(1 + ln λmax)."""
    _lambda_max(lambda_max)
    return aimd_response(per, lambda_max / (1 + math.log(lambda_max)), beta)


def elastic_response(per: ArrayLike, beta: float = 0.9) -> Array:
    """Elastic-TCP's mean window (1/((1 − β) per))^⅔ on an empty queue: growth √w balances the loss."""
    _share("beta", beta)
    return (1 / ((1 - beta) * _share("per", per))) ** (2 / 3)


def lambda_max_auto(beta: ArrayLike, epoch_ratio: float = EPOCH_RATIO) -> Array:
    """λmax with which an epoch lasts `epoch_ratio` of NewReno's; same shape as `beta`, at least 1.

    (1 − β)(1 + ln λ)/(λ/2) = epoch_ratio. The default, about 0.14, gives λmax = 3 at β = 0.9, the authors'
    own pair. It stands for the thesis' Eq. 5.20 (arXiv 1702.04861), which was not consulted.
    """
    beta = _share("beta", beta)
    _positive("epoch_ratio", epoch_ratio)
    return _largest(lambda most: 2 * (1 - beta) * (1 + np.log(most)) / most, epoch_ratio, beta.shape)


def lambda_max_utilization(beta: ArrayLike, utilization: float = 0.9) -> Array:
    """The smallest λmax ≥ 1 whose mean window is `utilization` of W; same shape as `beta`.

    (1 − β)(1 − 1/(2λ))/(1 + ln λ) = 1 − utilization.
    """
    beta = _share("beta", beta)
    if not 0 < utilization < 1:
        raise error("utilization", f"{utilization:g} is out of range; above 0, below 1")

    def missing(most: Array) -> Array:
        return np.asarray((1 - beta) * (1 - 1 / (2 * most)) / (1 + np.log(most)))

    return _largest(missing, 1 - utilization, beta.shape)


def lambda_max_friendly(beta: ArrayLike) -> Array:
    """The largest λmax that takes no more than Reno under random loss; same shape as `beta`, at least 1.

    λ/(1 + ln λ) = 3(1 − β)/(1 + β): 1 from β = 0.5 on.
    """
    beta = _share("beta", beta)
    target = (1 + beta) / (3 * (1 - beta))
    return _largest(lambda most: (1 + np.log(most)) / most, target, beta.shape)


def lambda_max_loss(beta: ArrayLike, loss_ratio: float, window_pkts: float) -> Array:
    """The largest λmax that loses at most one packet of 1/`loss_ratio` to congestion at W = `window_pkts`, or
    1 where even that loses more; same shape as `beta`."""
    beta = _share("beta", beta)
    if not 0 < loss_ratio < 1:
        raise error("loss_ratio", f"{loss_ratio:g} is out of range; above 0, below 1")
    _positive("window_pkts", window_pkts)
    return _largest(lambda most: agile_sd_epoch(window_pkts, beta, most)[1], 1 / loss_ratio, beta.shape)


class _States(NamedTuple):
    """The states of a chain, shape (n,), but for `edges` with (n + 1,)."""

    windows: Array
    edges: Array
    mean: Array  # packets per RTT while there
    rtt_s: Array
    after: NDArray[np.int64]  # the state that a loss leaves


def _line(law: Law, path: Path, top: int) -> tuple[_States, Array, Array]:
    """The states of the one-dimensional chain, how long each lasts, and the probability of a loss there."""
    states = _states(law, path, top)
    # Below what a loss at the top leaves, growth is as it is there.
    whole = states._replace(after=np.zeros_like(states.after))
    return states, *_epoch_from(law, path, whole, len(states.windows) - 1)


def _states(law: Law, path: Path, top: int, step: int = 1) -> _States:
    """The windows up to `top`, `step` apart."""
    count = (top - WINDOW_MIN) // step + 1
    windows = top - step * np.arange(count - 1, -1, -1.0)
    edges = np.append(windows, top + step)
    mean = windows + (step - 1) / 2
    mean[-1] = top
    # Rounded down to whole packets, then to the nearest state.
    left = np.floor((law.after(mean) - windows[0] - 0.5) / step + 0.5 + 1e-9)
    after = np.clip(left, 0, count - 1).astype(np.int64)
    return _States(windows, edges, mean, path.rtt_at_s(mean), after)


def _epoch_from(law: Law, path: Path, states: _States, last: int) -> tuple[Array, Array]:
    """How long each state lasts in an epoch after a loss in state `last`, from what that leaves to the last
    state, and the probability of a loss there, certain in the last."""
    first = states.after[last]
    rtt_s = states.rtt_s[first:]
    step_s = law.step_s(states.edges[first:], float(states.mean[last]), rtt_s)
    step_s[-1] = rtt_s[-1]
    lost: Array = -np.expm1(states.mean[first:] * step_s / rtt_s * math.log1p(-path.per))
    lost[-1] = 1.0
    return step_s, lost


def _top(path: Path) -> int:
    """W, if it is not too large."""
    _check_kind("path", path, Path)
    if path.window_pkts > STATES_MAX:
        raise error("window", f"{path.window_pkts} packets make too large a chain; at most {STATES_MAX}")
    return path.window_pkts


def _reached(law: Law, path: Path) -> int:
    """The largest window that is reached with a chance of 10⁻¹² or more, W if nothing is lost before."""
    _check_kind("law", law, Law)
    top = _top(path)
    while True:
        states = _states(law, path, top)
        _, lost = _epoch_from(law, path, states, len(states.windows) - 1)
        chance = np.cumsum(np.log1p(-np.minimum(lost[:-1], 1 - 1e-15)))
        above = int(np.count_nonzero(chance < math.log(1e-12)))
        if not above or top - above <= WINDOW_MIN:
            return top
        top -= above


def _solved(states: _States, step_s: Array, lost: Array, path: Path) -> Chain:
    """The steady state, from the balance over each cut: steps up cross it as often as losses down."""
    n = len(states.windows)
    # The first state from which a loss falls to one above state i.
    beyond = np.searchsorted(states.after, np.arange(n), side="right").tolist()
    loses = lost.tolist()
    share = [0.0] * n
    falling = [0.0] * (n + 1)  # losses in the states from here on
    share[-1] = falling[n - 1] = 1.0
    for at in range(n - 2, -1, -1):
        share[at] = max(falling[at + 1] - falling[beyond[at]], 0.0) / max(1 - loses[at], 1e-15)
        falling[at] = falling[at + 1] + share[at] * loses[at]
        if share[at] > 1e100:
            share[at:] = [one * 1e-100 for one in share[at:]]
            falling[at:] = [one * 1e-100 for one in falling[at:]]
    visits = np.array(share)
    return _chain(states, path, visits, visits * step_s, float(visits @ lost), float(visits[-1]))


def _chain(
    states: _States, path: Path, visits: Array, seconds: Array, losses: float, congested: float
) -> Chain:
    rounds = seconds / states.rtt_s
    packets = float(rounds @ states.mean)
    total_s = float(seconds.sum())
    return Chain(
        windows_pkts=states.windows,
        probability=visits / visits.sum(),
        time_share=seconds / total_s,
        utilization=packets * path.rtt_s / total_s / path.bdp_pkts,
        mean_window_pkts=float(seconds @ states.mean) / total_s,
        packets_per_loss=packets / losses,
        rounds_per_loss=float(rounds.sum()) / losses,
        epoch_s=total_s / losses,
        congestion_share=congested / losses,
    )


def _by_window(
    name: str, after: Callable[[Array], Array], growth: Callable[[Array, float, Array], Array]
) -> Law:
    """A law with the given number of segments per RTT at each window."""

    def step_s(edges: Array, loss: float, rtt_s: Array) -> Array:
        middle = (edges[:-1] + edges[1:]) / 2
        return np.diff(edges) * rtt_s / growth(middle, loss, rtt_s)

    return Law(name, after, step_s)


def _even(law: Law, per: float, rtt_s: float) -> float:
    """Mean window of the fluid epoch of 1/per packets, its largest window by bisection."""

    def fluid(top: float) -> tuple[float, float]:
        first = float(law.after(np.array(top)))
        # Finest at the top, where CUBIC stands still.
        edges = top - (top - first) * np.linspace(1, 0, 2049) ** 3
        constant = np.full(len(edges) - 1, rtt_s)
        rounds = law.step_s(edges, top, constant) / rtt_s
        return float(rounds @ (edges[:-1] + edges[1:]) / 2), float(rounds.sum())

    low, high = 1e-3, 1e12
    while high / low > 1 + 1e-12:
        middle = math.sqrt(low * high)
        low, high = (middle, high) if fluid(middle)[0] < 1 / per else (low, middle)
    packets, rounds = fluid(low)
    return packets / rounds


def _largest(falls: Callable[[Array], Array], target: Array | float, shape: tuple[int, ...]) -> Array:
    """The λ ≥ 1 at which a falling function of λ reaches `target`; 1 where it is below from the start."""
    low, high = np.zeros(shape), np.full(shape, 700.0)  # of ln λ
    for _ in range(80):
        middle = (low + high) / 2
        above = falls(np.exp(middle)) > target
        low, high = np.where(above, middle, low), np.where(above, high, middle)
    return np.exp(low)


def _lambda_max(most: ArrayLike) -> None:
    given = _numbers("lambda_max", most)
    fits = np.isfinite(given) & (given >= 1)
    if not np.all(fits):
        raise error("lambda_max", f"{_first(given, fits)} is out of range; 1 or more")


def _numbers(name: str, given: ArrayLike) -> Array:
    try:
        return np.asarray(given, float)
    except (TypeError, ValueError):
        raise error(name, f"{one_line(repr(given))} is neither a number nor an array of numbers") from None


def _check_kind(name: str, given: object, kind: type) -> None:
    if not isinstance(given, kind):
        raise TypeError(f"{name}: {one_line(repr(given))} is not a cwnd.models.{kind.__name__}")


def _share(name: str, given: ArrayLike) -> Array:
    """Numbers above 0 and below 1."""
    p = _numbers(name, given)
    if not np.all((p > 0) & (p < 1)):
        raise error(name, f"{_first(p, (p > 0) & (p < 1))} is out of range; above 0, below 1")
    return p


def _positive(name: str, given: float) -> None:
    if not (math.isfinite(given) and given > 0):
        raise error(name, f"{given:g} is out of range; above 0")


def _first(given: Array, fits: ArrayLike) -> str:
    """The first value that does not fit, for an error."""
    return f"{given[~np.asarray(fits)].flat[0]:g}"
