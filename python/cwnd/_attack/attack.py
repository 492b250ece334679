"""`cwnd.attack`: the search, what it keeps, and what it found."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path as FilePath
from typing import SupportsIndex

from cwnd import _cwnd
from cwnd._attack.bounds import Bounds, read_bounds
from cwnd._attack.confirm import Confirmation, confirm, in_order
from cwnd._attack.finding import Finding, from_dict, kinds_of, named_bounds, path_of, sentence
from cwnd._attack.judge import FIXED_WINDOW, GOALS, REFERENCES, Judge, score_of, side_by_side
from cwnd._attack.path import SUBJECT, Path, text
from cwnd._attack.search import Failure, Request, explore
from cwnd._attack.shrink import SEEDS, repeat, shrink
from cwnd._attack.write import write_findings
from cwnd._common.checks import whole
from cwnd._common.errors import about, error, one_line, os_error
from cwnd._common.files import can_exist, read_sealed, write_sealed
from cwnd._run.class_code import class_code
from cwnd._scenario.scenario import Cca, cca_name, check_class
from cwnd._worlds import find

#: Findings of each goal, at most: one, and one more for so many paths that were searched for it.
_FINDINGS = 4
_PATHS_EACH = 100
#: Seeds of five with which a finding fails at least.
_SEEDS_MIN = 3
_BUDGET_MAX = 100_000_000


@dataclass(frozen=True)
class Attack:
    """The result of a search."""

    subject: str
    bounds: str
    beside: str
    goals: list[str]
    seed: int
    budget: int
    #: The worst cases, a kind each, in the order of the goals.
    findings: list[Finding]
    #: Evaluations, runs and packets of the search, without making findings small.
    evaluations: int
    runs: int
    packets: int
    #: Islands that other shards have yet to search; then there are no findings yet.
    missing: int = 0
    #: Verdicts of other worlds on the findings; failed confirmations come first.
    confirmations: list[Confirmation] = field(default_factory=list)
    out: str | None = field(default=None, compare=False)

    def to_json(self) -> str:
        """All of it as one JSON object, the same bytes for the same request."""
        told = {**asdict(self), "findings": [one.to_dict() for one in self.findings]}
        del told["out"]
        return json.dumps(told, indent=1, ensure_ascii=False) + "\n"


def attack(
    cca: Cca,
    *,
    goals: str | Sequence[str] = (),
    beside: str = "",
    bounds: str | os.PathLike[str] = "reasonable",
    budget: SupportsIndex = 20_000,
    seed: SupportsIndex = 1,
    shard: str = "",
    on: str | Sequence[str] = (),
    out: str | os.PathLike[str] | None = None,
    jobs: SupportsIndex = 0,
    progress: Callable[[int, int], None] | None = None,
) -> Attack:
    """Searches for paths on which an algorithm fails and a reference does not.

    References are cubic, reno, bbr3 and a window fixed at the BDP.

    Args:
        cca: The algorithm: a name or a class.
        goals: Of stall, pinned, underuse, bloat, loss, oscillate, starve, harm; default: all.
        beside: The neighbour's algorithm of starve and harm; default: of starve one more of its own kind,
            of harm cubic.
        bounds: Bounds of the paths: reasonable, home, satellite, datacentre, or a file.
        budget: Paths that are judged, each with a run or, where the algorithm fails, with some more.
        seed: The same budget and seed find the same.
        shard: "i/n": searches a part alone, into the same `out`; the last part, or a call without it, writes
            the findings.
        on: Worlds in which the findings are repeated, three seeds each, such as linux, quinn and noq.
        out: A directory: the parts of the search that are done, from which a repeated call goes on, and the
            findings.
        jobs: Threads; 0: one per core.
        progress: Is called with the evaluations that are done and the budget.

    Raises:
        Error: with one line, ARGUMENT: what was found; what is accepted.
    """
    judge = judge_of(cca, whole("jobs", jobs, 0, 1_000_000))
    worlds = _worlds(on)
    request = Request(
        goals=_goals(goals),
        bounds=read_bounds(os.fspath(bounds)),
        beside=_neighbour(beside),
        seed=whole("seed", seed, 0, (1 << 63) - 1),
        budget=whole("budget", budget, 1, _BUDGET_MAX),
    )
    store = _Store(None if out is None else FilePath(out), _essence(judge, request))
    part, parts = _shard(shard)
    if parts > 1 and out is None:
        raise error("shard", "needs a directory that the parts share; give 'out' as well")
    islands = range(part, request.islands(), parts)
    left = [island for island in islands if store.read(_island(island)) is None]

    def search(island: int, searcher: Judge) -> None:
        failures = explore(request, island, searcher)
        counts = searcher.counts
        work = [counts.evaluations, counts.runs, counts.packets]
        store.write(_island(island), work, [asdict(one) for one in failures])

    searched = len(islands) - len(left)
    for _ in side_by_side(search, left, judge):
        searched += 1
        if progress is not None:
            progress(request.budget * searched // len(islands), request.budget)
    kept = [store.read(_island(island)) for island in range(request.islands())]
    done = [one for one in kept if one is not None]
    works = [work for work, _ in done]
    missing = len(kept) - len(done)
    findings: list[Finding] = []
    if not missing:
        failures = [
            Failure(str(one["goal"]), path_of(one["path"]), float(str(one["score"])), str(one["reference"]))
            for _, found in done
            for one in found
        ]
        findings = _small(request, failures, judge, store)
    confirmations = [_confirmed(one, world, judge, store) for world in worlds for one in findings]
    made = Attack(
        subject=judge.subject,
        bounds=request.bounds.name,
        beside=request.beside,
        goals=list(request.goals),
        seed=request.seed,
        budget=request.budget,
        findings=findings,
        evaluations=sum(work[0] for work in works),
        runs=sum(work[1] for work in works),
        packets=sum(work[2] for work in works),
        missing=missing,
        confirmations=in_order(confirmations),
        out=None if out is None else os.fspath(out),
    )
    if out is not None and not missing:
        write_findings(FilePath(out), cca, made.findings, made.confirmations, made.to_json())
    return made


def _island(number: int) -> str:
    return f"island-{number:06}"


def judge_of(cca: Cca, threads: int) -> Judge:
    name = cca_name(cca)
    if isinstance(cca, str):
        if name != FIXED_WINDOW:
            _check_name("cca", name)
        return Judge(name, {}, threads)
    return Judge(name, {name: check_class(cca)}, threads)


def _check_name(argument: str, name: str) -> None:
    try:
        _cwnd.Scenario(text(Path(10**7, 20_000, 1.0, 10**6), name), "path", {})
    except _cwnd.Error as refused:
        raise error(argument, getattr(refused, "reason", str(refused))) from None


def _goals(given: str | Sequence[str]) -> tuple[str, ...]:
    listed = [given] if isinstance(given, str) else list(given)
    for goal in listed:
        if goal not in GOALS:
            raise error("goals", f"no goal '{one_line(goal)}'; {', '.join(GOALS)}")
    return tuple(goal for goal in GOALS if goal in listed) if listed else GOALS


def _neighbour(beside: str) -> str:
    if beside:
        _check_name("beside", beside)
    return beside


def _worlds(on: str | Sequence[str]) -> list[str]:
    names = [on] if isinstance(on, str) else list(on)
    for name in names:
        try:
            find(name).place()
        except _cwnd.Error as refused:
            raise error("on", about(refused)[1]) from None
    return list(dict.fromkeys(names))


def _shard(given: str) -> tuple[int, int]:
    """The part, from 0, and how many there are."""
    if not given:
        return 0, 1
    part, slash, parts = given.partition("/")
    if not (slash and part.isdecimal() and parts.isdecimal() and 1 <= int(part) <= int(parts) <= 10_000):
        raise error("shard", f"'{one_line(given)}' is not i/n, from 1/n to n/n")
    return int(part) - 1, int(parts)


def _essence(judge: Judge, request: Request) -> str:
    """A hash of all that the search depends on: request, code of the algorithms, version of the results."""
    plain = Path(10**7, 20_000, 1.0, 10**6)
    names = sorted({judge.subject, *REFERENCES, request.beside or judge.subject} - {FIXED_WINDOW})
    keys = []
    for name in names:
        code = class_code(judge.classes[name]).encode() if name in judge.classes else b""
        keys.extend(_cwnd.job_keys(_cwnd.Scenario(text(plain, name), "path", judge.classes), [1], code))
    told = json.dumps([asdict(request), judge.subject, keys, _cwnd.__version__])
    return hashlib.sha256(told.encode()).hexdigest()[:32]


class _Store:
    """Parts of a search that are done, in a directory; without one, in memory."""

    def __init__(self, folder: FilePath | None, essence: str) -> None:
        self._folder = None if folder is None else folder / "search"
        self._essence = essence
        self._held: dict[str, tuple[list[int], list[dict[str, object]]]] = {}
        if self._folder is None or folder is None:
            return
        if not can_exist(folder):
            raise error("out", f"{one_line(folder)} is not the name of a directory")
        if folder.exists() and not folder.is_dir():
            raise error("out", f"{one_line(folder)} is not a directory")
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            for file in sorted(self._folder.glob("*.json")):
                self._read_file(file, folder)
        except OSError as failed:
            raise os_error(f"out: {one_line(folder)}", failed) from None

    def _read_file(self, file: FilePath, folder: FilePath) -> None:
        read = read_sealed(file.read_bytes())
        if read is None:  # cut off or damaged: made anew
            return
        if read["search"] != self._essence:
            raise error(
                "out",
                f"{one_line(folder)} has another search (algorithm, goals, bounds, budget, seed or version); "
                "give the same arguments or another directory",
            )
        work, items = read["work"], read["items"]
        assert isinstance(work, list) and isinstance(items, list)
        self._held[file.stem] = (work, items)

    def read(self, name: str) -> tuple[list[int], list[dict[str, object]]] | None:
        return self._held.get(name)

    def write(self, name: str, work: list[int], items: list[dict[str, object]]) -> None:
        self._held[name] = (work, json.loads(json.dumps(items)))
        if self._folder is not None:
            try:
                write_sealed(
                    self._folder / f"{name}.json", {"search": self._essence, "work": work}, "items", items
                )
            except OSError as failed:
                raise os_error(f"out: {one_line(self._folder)}", failed) from None


def _small(request: Request, failures: list[Failure], judge: Judge, store: _Store) -> list[Finding]:
    """The failures as findings, one of each kind, small."""
    by_goal: dict[str, list[Finding]] = {}

    def make_small(goal: str, searcher: Judge) -> None:
        of_goal = [one for one in failures if one.goal == goal]
        of_goal.sort(key=lambda one: (len(one.kind), -one.score, one.kind, text(one.path)))
        found: list[Finding] = []
        tried, wanted = 0, min(_FINDINGS, 1 + request.budget // len(request.goals) // _PATHS_EACH)
        for failure in of_goal:
            raw = set(failure.kind)
            if any(one.ingredients and raw >= set(one.ingredients) for one in found):
                continue  # the same cause, with more around it
            if tried > wanted or len(found) == wanted:
                break
            tried += 1
            finding = _finding(failure, request.bounds, searcher, store)
            if finding is not None and all(finding.kind != one.kind for one in found):
                found.append(finding)
        by_goal[goal] = [_named(one, f"{goal}-{number}") for number, one in enumerate(found, 1)]

    for _ in side_by_side(make_small, request.goals, judge):
        pass
    return [finding for goal in request.goals for finding in by_goal[goal]]


def _named(finding: Finding, name: str) -> Finding:
    return from_dict({**finding.to_dict(), "name": name})


def _finding(failure: Failure, bounds: Bounds, judge: Judge, store: _Store) -> Finding | None:
    """A failure made small; None if it is a matter of the seed."""
    key = "small-" + hashlib.sha256(f"{failure.goal} {text(failure.path)}".encode()).hexdigest()[:16]
    held = store.read(key)
    if held is None:
        made = _shrunk(failure, bounds, judge)
        store.write(key, [], [] if made is None else [made.to_dict()])
        held = store.read(key)
    return from_dict(held[1][0]) if held is not None and held[1] else None


def _confirmed(finding: Finding, world: str, judge: Judge, store: _Store) -> Confirmation:
    question = f"{finding.goal} {finding.reference} {text(finding.path)}"
    key = f"confirm-{world}-{hashlib.sha256(question.encode()).hexdigest()[:16]}"
    held = store.read(key)
    if held is None:
        store.write(key, [], [asdict(confirm(finding, world, judge))])
        held = store.read(key)
    assert held is not None
    return Confirmation(**{**held[1][0], "finding": finding.name})  # type: ignore[arg-type]


def _shrunk(failure: Failure, bounds: Bounds, judge: Judge) -> Finding | None:
    path, goal = shrink(failure, bounds, judge), failure.goal
    *repeated, answer = repeat(path, failure, judge)
    fails = [seed for seed, one in zip(SEEDS, repeated, strict=True) if score_of(one, goal) > 0]
    if len(fails) < _SEEDS_MIN:
        return None
    of, score = answer["measures"], answer["scores"][0]
    beside, reference = score["beside"], score["reference"]
    if of is None or beside is None or reference is None:
        return None
    return Finding(
        name="",
        goal=goal,
        score=score["score"],
        reference=reference,
        sentence=sentence(judge.subject, goal, path, of, beside, reference),
        ingredients=kinds_of(path),
        seeds=fails,
        within=named_bounds(path),
        path=path,
        measures=of,
        beside=beside,
    )


__all__ = ["SUBJECT", "Attack", "attack"]
