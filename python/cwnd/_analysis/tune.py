"""Automatic configuration: an algorithm's parameters, tuned on some seeds and judged on others."""

from __future__ import annotations

import importlib
import json
import math
import os
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from types import ModuleType
from typing import NamedTuple, Protocol

from cwnd._analysis import gate
from cwnd._common.checks import mapping, whole
from cwnd._common.errors import error, one_line, os_error
from cwnd._common.files import can_exist, check_regular, write_file
from cwnd._common.notebook import shows_progress
from cwnd._common.rows import fold
from cwnd._results.results import Results
from cwnd._run import sweep
from cwnd._run.jobs import SweepPoint
from cwnd._run.run import Question, unique
from cwnd._run.sweep import Plan, Progress, share_done
from cwnd._scenario.custom import CongestionControl
from cwnd._scenario.facts import bottleneck
from cwnd._scenario.registry import algorithm, params_of
from cwnd._scenario.scenario import Cca, Scenario, cca_name, param_key

_TRIALS_MAX = 100_000
_SEEDS_MAX = 1_000_000
#: The sampler's seed: the candidates follow from the request alone.
_SAMPLER_SEED = 1

#: The measures of an objective, with their metrics in `gate`, and their weight when named alone.
_MEASURES = {
    "throughput_ratio": ("throughput_mbps", 1.0),
    "loss_ratio": ("loss_ratio", -1.0),
    "jain_fairness": ("jain_fairness", 1.0),
}

#: A value of each tuned parameter.
Values = dict[str, float]


class Trial(NamedTuple):
    """A candidate and its objective, the mean over the scenarios and the seeds of tuning."""

    params: Values
    objective: float


class Compared(NamedTuple):
    """Means with the default and with the tuned parameters, and their difference seed by seed."""

    default: float
    tuned: float
    difference: float
    ci95_low: float
    ci95_high: float


class Judgement(NamedTuple):
    """The result on held-out seeds: `verdict` is better, worse or not distinguishable, by the objective.

    `measures` has the objective and always throughput_ratio, loss_ratio and jain_fairness too.
    """

    on: str
    scenarios: list[str]
    seeds: int
    verdict: str
    measures: dict[str, Compared]


class Tuning(NamedTuple):
    """The result of tuning: the best parameters, the trials that chose them, and the judgements on held-out
    seeds.

    `default` is None if the scenarios give the flows different values or none; it is the first of the
    `trials`.
    """

    cca: str
    objective: dict[str, float]
    params: Values
    default: dict[str, float | str] | None
    judgements: list[Judgement]
    trials: list[Trial]

    def to_json(self) -> str:
        """One JSON object; the same request gives the same text."""
        content = {
            **self._asdict(),
            "judgements": [
                {**one._asdict(), "measures": {name: m._asdict() for name, m in one.measures.items()}}
                for one in self.judgements
            ],
            "trials": [trial._asdict() for trial in self.trials],
        }
        return json.dumps(content, indent=1, allow_nan=False)


class _Trial(Protocol):
    """A candidate of Optuna."""

    def suggest_float(self, name: str, low: float, high: float) -> float: ...
    def suggest_int(self, name: str, low: int, high: int) -> int: ...


class _Knob(NamedTuple):
    """A tuned parameter: its range in units of 1 / `one`; None: real numbers."""

    name: str
    low: float
    high: float
    one: int | None

    def ask(self, trial: _Trial) -> float:
        if self.one is None:
            return trial.suggest_float(self.name, self.low, self.high)
        return self.value(trial.suggest_int(self.name, int(self.low), int(self.high)))

    def value(self, stored: int) -> float:
        return stored if self.one in (None, 1) else stored / (self.one or 1)

    def stored(self, value: float) -> float:
        return value if self.one is None else round(value * self.one)

    def distribution(self, optuna: ModuleType) -> object:
        if self.one is None:
            return optuna.distributions.FloatDistribution(self.low, self.high)
        return optuna.distributions.IntDistribution(int(self.low), int(self.high))


class _Bench(NamedTuple):
    """Scenarios that can be run and measured with given parameters."""

    points: list[SweepPoint]
    classes: dict[str, type[CongestionControl]]

    @property
    def names(self) -> list[str]:
        return [point.scenario.name for point in self.points]

    def run(
        self,
        cca: str,
        params: Values,
        seeds: tuple[int, int],
        folder: Path,
        jobs: int,
        progress: Callable[[Progress], object],
    ) -> list[dict[str, list[float]]]:
        """By scenario and measure, a value per seed: `seeds[1]` seeds, those after the first `seeds[0]`."""
        written = [(name, repr(value)) for name, value in params.items()]
        points = [
            SweepPoint(point.values, point.scenario.with_params(cca, written)[0]) for point in self.points
        ]
        firsts = [point.scenario.seed + seeds[0] for point in points]
        plan = Plan(points, [range(first, first + seeds[1]) for first in firsts], self.classes)
        outcome = sweep.work(plan, folder, jobs=jobs, progress=progress)
        if outcome.failures:
            raise error("", f"a run failed; {outcome.failures[0]}")
        return _measured(Results.load(folder))


@shows_progress(share_done)
def tune(
    scenarios: Question | Iterable[Question],
    *,
    cca: Cca,
    params: Mapping[str, tuple[float, float]],
    objective: str | Mapping[str, float] = "throughput_ratio",
    trials: int = 50,
    repeat: int = 5,
    held_out: Question | Iterable[Question] = (),
    held_out_seeds: int = 30,
    out: str | os.PathLike[str] | None = None,
    jobs: int = 0,
    progress: Callable[[Progress], object] | None = None,
) -> Tuning:
    """Searches the parameters of an algorithm that serve an objective best, and judges them on other seeds.

    The objective of a run is the sum of weights times throughput_ratio (the flows' throughput, summed, over
    the rate of the first flow's bottleneck), loss_ratio (segments lost / sent, of all flows) and
    jain_fairness (Jain's index of the flows' throughput). Each is from 0 to 1 if the flows last the whole
    run. The objective of a candidate is its mean over the scenarios and over their first `repeat` seeds,
    which are the same for all candidates. The first candidate is the scenarios' own parameters. Optuna's
    tree-structured Parzen estimator (Bergstra et al., NIPS 2011) proposes the further candidates from the
    values so far.

    The best candidate and the default then run on the next `held_out_seeds` seeds. The judgement is the mean
    of their difference, seed by seed, with a 95 % interval (Student's t): better or worse if the interval
    excludes 0.

    Args:
        scenarios: Files or `Scenario`s. A file with a [sweep] stands for all its points. Each must have
            something random.
        cca: The algorithm to tune: an algorithm or preset that every scenario has, or a class.
        params: The range of each tuned parameter, both ends included. Candidates have the parameter's
            resolution; for a class, they are whole numbers if both ends are, otherwise real numbers.
        objective: "throughput_ratio", "loss_ratio" or "jain_fairness" (weights 1, -1 and 1), or several
            weights, as a mapping or "throughput_ratio=1,loss_ratio=-10,jain_fairness=0.5".
        trials: Candidates besides the default.
        held_out: Scenarios for a second judgement.
        out: A directory that keeps each finished run, so that the same call, or one with more trials,
            continues where it stopped; at the end it gets tuning.json.
        jobs: Number of runs at a time; 0: one per core. The result does not depend on it.
        progress: Called several times a second.

    Raises:
        Error: bad input; a scenario without randomness, which seeds do not change; Optuna is missing;
            `out` holds something else; the file system or a run fails.
    """
    weights = read_objective(objective)
    trials = whole("trials", trials, 1, _TRIALS_MAX)
    repeat = whole("repeat", repeat, 1, _SEEDS_MAX)
    others = whole("held_out_seeds", held_out_seeds, 2, _SEEDS_MAX)
    jobs = whole("jobs", jobs, 0, 4096)
    optuna = _optuna()
    name = cca_name(cca)
    tuned_on = _bench(_questions(scenarios), name)
    judged_on = _bench(_questions(held_out), name)
    if not tuned_on.points:
        raise error("", "nothing to tune on; give a scenario FILE")
    knobs = _knobs(name, mapping("params", params), tuned_on.classes)
    question = {
        "cca": name,
        "params": [knob._asdict() for knob in knobs],
        "objective": weights,
        "repeat": repeat,
        "scenarios": [point.description for point in tuned_on.points],
        "held_out": [point.description for point in judged_on.points],
    }
    search = _Search(optuna, name, knobs, weights, trials, repeat, others, jobs, progress or (lambda _: None))
    if out is None:
        with tempfile.TemporaryDirectory(prefix="cwnd-") as folder:
            return search.run(Path(folder), tuned_on, judged_on)
    _open(Path(out), question)
    tuning = search.run(Path(out), tuned_on, judged_on)
    try:
        write_file(Path(out) / "tuning.json", tuning.to_json().encode() + b"\n")
    except OSError as failed:
        raise os_error(one_line(os.fspath(out)), failed) from None
    return tuning


def read_objective(text: str | Mapping[str, float]) -> dict[str, float]:
    """The weight of each measure."""
    known = ", ".join(_MEASURES)
    if isinstance(text, str) and text in _MEASURES:
        return {text: _MEASURES[text][1]}
    example = "throughput_ratio=1,loss_ratio=-10"
    pairs: Iterable[tuple[str, str | float]]
    if isinstance(text, str):
        parts = [part.partition("=") for part in text.split(",")]
        if any(not equals for _, equals, _ in parts):
            reason = f"'{one_line(text)}' is neither one of {known} nor weights like {example}"
            raise error("objective", reason)
        pairs = [(measure.strip(), weight) for measure, _, weight in parts]
    else:
        pairs = mapping("objective", text).items()
    weights: dict[str, float] = {}
    for measure, written in pairs:
        if measure not in _MEASURES:
            raise error("objective", f"'{one_line(measure)}' is not a measure; there are {known}")
        if measure in weights:
            raise error("objective", f"'{measure}' is given twice")
        try:
            weight = float(written)
        except (TypeError, ValueError):
            weight = math.nan
        if not math.isfinite(weight) or weight == 0:
            raise error("objective", f"'{one_line(str(written))}' is not a weight, such as in {example}")
        if measure == "loss_ratio" and weight > 0:
            raise error("objective", f"loss_ratio={weight:g} would reward losses; its weight is below 0")
        weights[measure] = weight
    if not weights:
        raise error("objective", f"no weights; give some like {example}")
    return weights


class _Search(NamedTuple):
    """A search, ready to run in a directory."""

    optuna: ModuleType
    cca: str
    knobs: list[_Knob]
    weights: dict[str, float]
    trials: int
    repeat: int
    others: int
    jobs: int
    progress: Callable[[Progress], object]

    def run(self, folder: Path, tuned_on: _Bench, judged_on: _Bench) -> Tuning:
        judged = [("held-out seeds", tuned_on), ("held-out scenarios", judged_on)]
        judged = [(on, bench) for on, bench in judged if bench.points]
        total = (self.trials + 1) * self.repeat * len(tuned_on.points)
        total += sum(2 * self.others * len(bench.points) for _, bench in judged)
        before = found = 0

        def seen(now: Progress) -> None:
            self.progress(Progress(before + now.done, total, found + now.found, now.failed))

        def measure(
            bench: _Bench, params: Values, seeds: tuple[int, int], where: Path
        ) -> list[dict[str, list[float]]]:
            nonlocal before, found
            last = Progress(0, 0, 0, 0)

            def report(now: Progress) -> None:
                nonlocal last
                last = now
                seen(now)

            measured = bench.run(self.cca, params, seeds, where, self.jobs, report)
            runs = seeds[1] * len(bench.points)
            before, found = before + runs, found + (last.found if last.total else runs)
            return measured

        def score(params: Values, index: int) -> float:
            measured = measure(tuned_on, params, (0, self.repeat), folder / "trials" / f"{index:04}")
            return fmean(self._objective(measured))

        default = _default(self.cca, self.knobs, [*tuned_on.points, *judged_on.points])
        done = self._candidates(default, score)
        # The default comes first: among equals it wins.
        best = max(
            done[1:] if _within(default, self.knobs) is None else done, key=lambda trial: trial.objective
        )
        judgements = []
        for on, bench in judged:
            sides = []
            for side, params in (("default", {}), ("tuned", best.params)):
                where = folder / on.replace(" ", "-") / side
                sides.append(measure(bench, params, (self.repeat, self.others), where))
            judgements.append(self._judged(on, bench, *sides))
        return Tuning(self.cca, self.weights, best.params, default, judgements, done)

    def _candidates(
        self, default: dict[str, float | str] | None, score: Callable[[Values, int], float]
    ) -> list[Trial]:
        """The default and the sampler's candidates, each with its objective. No candidate is run twice."""
        optuna = self.optuna
        optuna.logging.set_verbosity(optuna.logging.WARNING)
        sampler = optuna.samplers.TPESampler(seed=_SAMPLER_SEED)
        study = optuna.create_study(direction="maximize", sampler=sampler)
        own = _within(default, self.knobs)
        done = [Trial(own or {}, score({}, 0))]
        known = {}
        if own is not None:
            known[tuple(own.values())] = done[0].objective
            study.add_trial(
                optuna.trial.create_trial(
                    params={knob.name: knob.stored(own[knob.name]) for knob in self.knobs},
                    distributions={knob.name: knob.distribution(optuna) for knob in self.knobs},
                    value=done[0].objective,
                )
            )
        for index in range(1, self.trials + 1):
            asked = study.ask()
            params = {knob.name: knob.ask(asked) for knob in self.knobs}
            at = tuple(params.values())
            if at not in known:
                known[at] = score(params, index)
            study.tell(asked, known[at])
            done.append(Trial(params, known[at]))
        return done

    def _objective(self, measured: list[dict[str, list[float]]]) -> list[float]:
        """The mean over the scenarios, by seed."""
        per_scenario = [
            [sum(w * v for w, v in zip(self.weights.values(), values, strict=True)) for values in runs]
            for runs in (
                list(zip(*(scenario[name] for name in self.weights), strict=True)) for scenario in measured
            )
        ]
        return [fmean(values) for values in zip(*per_scenario, strict=True)]

    def _judged(
        self,
        on: str,
        bench: _Bench,
        default: list[dict[str, list[float]]],
        tuned: list[dict[str, list[float]]],
    ) -> Judgement:
        def mean(measured: list[dict[str, list[float]]], name: str) -> list[float]:
            return [fmean(values) for values in zip(*(one[name] for one in measured), strict=True)]

        sides = {"objective": (self._objective(default), self._objective(tuned))}
        sides |= {name: (mean(default, name), mean(tuned, name)) for name in _MEASURES}
        measures = {name: _compared(*pair) for name, pair in sides.items()}
        objective = measures["objective"]
        verdict = "not distinguishable"
        if objective.ci95_low > 0:
            verdict = "better"
        elif objective.ci95_high < 0:
            verdict = "worse"
        return Judgement(on, bench.names, self.others, verdict, measures)


def _compared(default: Sequence[float], tuned: Sequence[float]) -> Compared:
    differences = [new - old for old, new in zip(default, tuned, strict=True)]
    return Compared(fmean(default), fmean(tuned), *gate.interval(differences))


def _measured(results: Results) -> list[dict[str, list[float]]]:
    """By scenario and measure, the values of its seeds."""
    labels = gate.point_names(results)
    found = {name: gate.per_seed(results, metric) for name, (metric, _) in _MEASURES.items()}
    measured = []
    for scenario in results.scenarios:
        label = labels[scenario["name"]]
        values = {
            name: [per_point[label][s] for s in sorted(per_point[label])] for name, per_point in found.items()
        }
        rate_mbps = bottleneck(scenario)[0] / 1e6
        values["throughput_ratio"] = [mbps / rate_mbps for mbps in values["throughput_ratio"]]
        measured.append(values)
    return measured


def _optuna() -> ModuleType:
    try:
        return importlib.import_module("optuna")
    except ImportError:
        raise error(
            "", "tuning needs the package optuna, which is missing; pip install 'cwnd[tune]'"
        ) from None


def _questions(asked: Question | Iterable[Question]) -> list[Question]:
    return [asked] if isinstance(asked, Scenario | str | os.PathLike) else list(asked)


def _bench(questions: list[Question], cca: str) -> _Bench:
    """Every point of the scenarios, each with its own name."""
    points: list[SweepPoint] = []
    classes: dict[str, type[CongestionControl]] = {}
    for question in questions:
        plan = sweep.read(question)
        points += plan.points
        classes |= plan.classes
    for scenario in (point.description for point in points):
        if not any(flow["cca"]["name"] == cca for flow in scenario["flows"]):
            there = ", ".join(sorted({flow["cca"]["name"] for flow in scenario["flows"]}))
            raise error("cca", f"{scenario['name']} has no flow of '{one_line(cca)}'; it has {there}")
        if not any(link["per"] for link in scenario["links"]) and not any(
            flow["start_jitter_ns"] for flow in scenario["flows"]
        ):
            reason = (
                "nothing in it is random, so that all seeds would give the same; give it start_jitter or per"
            )
            raise error(scenario["name"], reason)
    names = unique([point.scenario.name for point in points])
    distinct = len({json.dumps(point.values) for point in points}) == len(points)
    return _Bench(
        [
            SweepPoint(
                point.values if distinct else {"scenario": name, **point.values},
                point.scenario.replace(name=name),
            )
            for name, point in zip(names, points, strict=True)
        ],
        classes,
    )


def _knobs(
    cca: str, params: Mapping[str, tuple[float, float]], classes: Mapping[str, type[CongestionControl]]
) -> list[_Knob]:
    if not params:
        raise error("params", "nothing to tune; give a range such as lambda_max=1:20")
    return [_knob(cca, name, ends, custom=cca in classes) for name, ends in params.items()]


def _knob(cca: str, name: str, ends: tuple[float, float], *, custom: bool) -> _Knob:
    key = param_key(name)
    try:
        low, high = ends
        low, high = low + 0, high + 0
        if not (math.isfinite(low) and math.isfinite(high)):
            raise ValueError
    except (TypeError, ValueError):
        written = ":".join(map(str, ends)) if isinstance(ends, tuple | list) else str(ends)
        raise error(key, f"'{one_line(written)}' is not a range of two numbers, such as 1:20") from None
    if low >= high:
        raise error(key, f"{low:g} is not below {high:g}; a range goes up")
    if custom:
        return _Knob(name, low, high, 1 if isinstance(low, int) and isinstance(high, int) else None)
    known = {one["name"]: one for one in params_of(algorithm(cca))}
    if name not in known:
        raise error(key, f"unknown parameter; there is {', '.join(known) or 'none'}")
    numbers = known[name]["numbers"]
    if numbers is None:
        raise error(key, f"a choice ({known[name]['accepted']}), not a number")
    least, most, step = numbers
    if low < least or high > most:
        raise error(key, f"{low:g}:{high:g} is not accepted; {least:g} to {most:g}")
    one = round(1 / step)
    stored = math.ceil(low * one - 1e-6), math.floor(high * one + 1e-6)
    if stored[0] >= stored[1]:
        raise error(key, f"{low:g}:{high:g} has fewer than two values; they are {step:g} apart")
    return _Knob(name, *stored, one)


def _default(cca: str, knobs: Sequence[_Knob], points: Sequence[SweepPoint]) -> dict[str, float | str] | None:
    """The parameters of the flows; None if the flows differ."""
    found = set()
    for point in points:
        for flow in point.description["flows"]:
            if flow["cca"]["name"] == cca:
                own = dict(flow["cca"]["params"])
                found.add(tuple(own.get(knob.name) for knob in knobs))
    values = [_number(value) for value in found.pop() if value is not None]
    if found or len(values) < len(knobs):
        return None
    return {knob.name: value for knob, value in zip(knobs, values, strict=True)}


def _number(text: str) -> float | str:
    try:
        return int(text)
    except ValueError:
        pass
    try:
        return float(text)
    except ValueError:
        return text


def _within(default: dict[str, float | str] | None, knobs: Sequence[_Knob]) -> Values | None:
    """The default as a candidate; None if it is outside the ranges."""
    values: Values = {}
    for knob in knobs:
        value = default[knob.name] if default is not None else None
        if value is None or isinstance(value, str) or not knob.low <= knob.stored(value) <= knob.high:
            return None
        values[knob.name] = value
    return values


def _open(folder: Path, question: Mapping[str, object]) -> None:
    """Makes the directory, or checks that it holds the same tuning."""
    shown = one_line(str(folder))
    asked = folder / "question.json"
    try:
        if not can_exist(folder):
            raise error(shown, "not a name for a directory")
        if folder.exists() and not folder.is_dir():
            raise error(shown, "not a directory")
        if asked.exists():
            check_regular(asked)
            try:
                before = dict(json.loads(asked.read_bytes()))
            except (ValueError, TypeError, RecursionError):
                raise error(f"{shown}/question.json", "damaged; choose another directory") from None
            other = [
                key
                for key, value in json.loads(json.dumps(question, default=fold)).items()
                if before.get(key) != value
            ]
            if other:
                raise error(
                    shown, f"holds another tuning, with different {other[0]}; choose another directory"
                )
            return
        if folder.exists() and any(folder.iterdir()):
            raise error(shown, "holds a file that is not part of a tuning; choose another directory")
        folder.mkdir(parents=True, exist_ok=True)
        write_file(asked, json.dumps(question, indent=1, default=fold).encode() + b"\n")
    except OSError as failed:
        raise os_error(shown, failed) from None
