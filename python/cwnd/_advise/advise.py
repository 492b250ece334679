"""The advice: which algorithm for a path, and what to do."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path as File

from cwnd._advise.answer import Advice
from cwnd._advise.candidates import candidates, check_algorithm, preference, this_machine
from cwnd._advise.choose import GOALS, Choice, choose, finalists, judge, unsettled
from cwnd._advise.commands import commands
from cwnd._advise.cost import QUICK, WHOLE, Costs, Look
from cwnd._advise.files import check_folder, files_of, write_files
from cwnd._advise.from_trace import Estimated, estimate_path
from cwnd._advise.limits import SHAPED, Today, limit_today
from cwnd._advise.measure import Beside, Question, Round, cca_of, measure
from cwnd._advise.path import Facts, facts_of, path_of_file, path_of_flags
from cwnd._common.checks import whole
from cwnd._common.errors import about, error, one_line
from cwnd._common.notebook import shows_progress
from cwnd._common.text import digits
from cwnd._common.text import rate as rate_text
from cwnd._cwnd import Error
from cwnd._results.results import Results

#: With a third look, where more runs may decide, one at another queue, and one with several connections.
_LOOKS = 5
#: Runs at another queue, and with several connections.
_FEW_RUNS = 4
#: Most connections at once that are tried.
_CONNECTIONS = 128
#: A droptail queue that adds this much to the RTT is worth another look, with fq-codel in its place.
_BLOAT_RTTS, _BLOAT_MS = 0.5, 5.0


@shows_progress(float)
def advise(
    path: str | os.PathLike[str] | None = None,
    *,
    trace: Results | str | os.PathLike[str] | None = None,
    rate: str | None = None,
    rtt: str | None = None,
    loss: str | float | None = None,
    buffer: str | int | None = None,
    queue: str | None = None,
    jitter: str | None = None,
    flows: int | None = None,
    beside: str | None = None,
    goal: str = "throughput",
    present: str = "cubic",
    ccas: Sequence[str] | None = None,
    seed: int = 1,
    jobs: int = 0,
    now: str | None = None,
    quick: bool = False,
    files: str | os.PathLike[str] | None = None,
    told: Callable[[str], object] | None = None,
    progress: Callable[[float], object] | None = None,
) -> Advice:
    """Which algorithm to use on a path, what that costs others, and the commands.

    Each candidate runs in the simulator, in competition and alone, after the start-up. The rule of choice is
    in docs/advice.md. The same arguments give the same advice; only its commands depend on the machine.

    Args:
        path: A scenario file, whose `[dumbbell]` is the path; its flows are left out.
        trace: Instead, a trace of `cwnd kernel trace`, or a file of evidence as `cwnd.explain` takes it, from
            which rate, RTT, loss and buffer are estimated.
        rate, rtt, loss, buffer, queue, jitter: Instead, the path: "2 Gbps"; "80 ms", both ways; "0.01%",
            none when left out; "1 BDP" when left out; "droptail" when left out; none. With `trace` they
            replace what was estimated.
        flows: Flows that the advice is for; 4, or as many as the trace has at a time.
        beside: Flows that share the path, "cubic:8", or "none"; as many cubic flows when left out.
        goal: "throughput", "latency" or "fairness".
        present: The algorithm in use, from which a change has to be worth it.
        ccas: Candidates; default: all that a kernel can run.
        seed: Of the runs and of the paths near this one.
        jobs: Number of runs at a time; 0: one per core. The advice does not depend on it.
        now: What a connection has today, "900 Mbps", from which its limit follows.
        quick: Fewer and shorter runs, a quarter of the time, with wider intervals.
        files: A directory for the settings: for sysctl.d, a unit of systemd, and what undoes them.
        told: Called before anything is simulated with the limit of today, if one is known, and with an
            estimate of the time.

    Raises:
        Error: with one line, ARGUMENT: what was found; what is accepted.
    """
    estimated = None
    given: dict[str, object] = {
        "rate": rate,
        "rtt": rtt,
        "loss": loss,
        "buffer": buffer,
        "queue": queue,
        "jitter": jitter,
    }
    written = [name for name, value in given.items() if value is not None]
    if path is not None:
        if written or trace is not None:
            raise error(written[0] if written else "trace", "cannot be combined with a scenario file")
        here = path_of_file(path)
    else:
        if trace is not None:
            if isinstance(trace, Results) or File(trace).is_dir():
                results = trace if isinstance(trace, Results) else Results.load(File(trace))
                estimated = estimate_path(results)
            else:
                from cwnd._advise.from_evidence import estimate_path_of

                estimated = estimate_path_of(trace)
            flows = estimated.flows if flows is None else flows
            given = {**estimated.flags(), **{name: given[name] for name in written}}
        here = path_of_flags(given)
    if goal not in GOALS:
        raise error("goal", f"{one_line(repr(goal))} is unknown; {', '.join(GOALS)}")
    check_algorithm("present", present)
    for name in ccas or ():
        if isinstance(name, str) and "," in name:
            flags = " ".join(f"--cca {one.strip()}" for one in name.split(",") if one.strip())
            raise error("ccas", f"'{one_line(name)}' is a list; write {one_line(flags)}")
        check_algorithm("ccas", name)
    now_bps = None if now is None else _rate_bps(now)
    number = whole("flows", (4 if now is None else 1) if flows is None else flows, 1, 1000)
    others = _beside(beside, number)
    facts = facts_of(here)
    question = Question(here, number, others, goal, present, whole("seed", seed, 0, 1 << 62))
    costs = Costs(facts, question.all_flows, question.incumbent, QUICK if quick else WHOLE)
    today = limit_today(facts, number, now_bps)
    if files is not None:
        check_folder(files)
    if told is not None and today.sentence:
        told(today.sentence)
    asked = question._replace(part=costs.part)
    advice = _advice(asked, today, costs, estimated, ccas, jobs, told, progress)
    if files is not None:
        write_files(advice.files, files)
    return advice


def _rate_bps(written: str) -> float:
    """A rate alone: that of a path without anything else."""
    try:
        return facts_of(path_of_flags({"rate": written, "rtt": "1 s", "buffer": 1})).rate_bps
    except Error as refused:
        raise error("now", about(refused)[1]) from None


def _beside(written: str | None, flows: int) -> Beside | None:
    if written is None:
        return Beside("cubic", flows)
    if written == "none":
        return None
    found = re.fullmatch(r"([\w-]+)(?::([0-9]{1,4}))?", written) if isinstance(written, str) else None
    if found is None:
        raise error("beside", f"{one_line(repr(written))} is not NAME:FLOWS, such as cubic:8, or none")
    return Beside(check_algorithm("beside", found[1]), whole("beside", int(found[2] or flows), 1, 1000))


def _advice(
    question: Question,
    today: Today,
    costs: Costs,
    estimated: Estimated | None,
    ccas: Sequence[str] | None,
    jobs: int,
    told: Callable[[str], object] | None,
    progress: Callable[[float], object] | None,
) -> Advice:
    facts = facts_of(question.path)
    present, incumbent = question.present, question.incumbent
    names, left_out = candidates(ccas, [present, incumbent])
    done = 0

    def measured_in(look: Look, those: Sequence[str], asked: Question = question, first: int = 0) -> Round:
        nonlocal done

        def seen(share: float) -> None:
            if progress is not None:
                progress((done + share) / _LOOKS)

        costs.pay(look, len(those))
        found = measure(asked, those, look, first=first, jobs=jobs, progress=seen)
        done += 1
        return found

    def screen() -> Round:
        """The first look, without those of all candidates that send more than a run can hold."""
        while True:
            try:
                return measured_in(costs.first(len(names)), names)
            except Error as refused:
                cca = cca_of(getattr(refused, "scenario", "//"))
                if ccas or cca in ("", present, incumbent):
                    raise
                names.remove(cca)
                left_out[cca] = "sends more than a run can hold"

    machine, own = this_machine(), GOALS[question.goal]

    def decide(measured: Round) -> Choice:
        judged = judge(measured, own, present, incumbent, facts.loss)
        return choose(judged, own, present, lambda cca: preference(cca, present, machine))

    if told is not None:
        seconds = max(1, round(costs.seconds(len(names))))
        told(f"Simulating {len(names)} algorithms: some {seconds} s of processor time.")
    chosen = finalists(screen(), own, present, incumbent, facts.loss, costs.finalists())
    second = costs.second(len(chosen))
    measured = measured_in(second, chosen)
    choice = decide(measured)
    if doubtful := unsettled(choice, own):
        closer = list(dict.fromkeys([present, incumbent, *doubtful]))
        third = costs.third(second, len(closer))
        if third.runs:
            both = measured.joined(measured_in(third, closer, first=second.runs))
            seen_once = [one for one in choice.ranking if one.cca not in closer]
            choice = decide(both)
            choice = choice._replace(ranking=[*choice.ranking, *seen_once])
            measured = both._replace(measured={**measured.measured, **both.measured})
    managed = shaped = several = None
    few = second._replace(runs=_FEW_RUNS)
    if 1 < today.connections * question.flows <= _CONNECTIONS:
        several = measured_in(few, [present], _of_several(question, today))
    if facts.policer is not None:
        limit_bps = SHAPED * facts.policer[0]
        table = {key: value for key, value in question.path.dumbbell.items() if key != "policer"}
        table |= {"rate": f"{round(limit_bps)} bps", "queue": "fq-codel", "buffer": "1000 packets"}
        shaper = question._replace(path=question.path._replace(dumbbell=table))
        shaped = measured_in(few, [present], shaper)
    elif _is_bloated(facts, measured, present):
        with_queue = question.path._replace(dumbbell={**question.path.dumbbell, "queue": "fq-codel"})
        managed = measured_in(few, [present], question._replace(path=with_queue))
    if progress is not None:
        progress(1.0)
    return Advice(
        facts=facts,
        estimated=estimated,
        flows=question.flows,
        beside=question.beside,
        goal=question.goal,
        present=present,
        choice=choice,
        measured=measured,
        managed=managed,
        today=today,
        shaped=shaped,
        several=several,
        part=question.part,
        screened=[name for name in names if name not in measured.measured],
        left_out=left_out,
        machine=machine,
        commands=commands(choice.cca, present, facts, machine),
        files=files_of(
            choice.cca if choice.decision == "change" and choice.cca != present else None,
            facts,
            machine,
            f"cwnd advise: {rate_text(facts.rate_bps)}, RTT {digits(facts.rtt_ms)} ms",
        ),
        seed=question.seed,
    )


def _of_several(question: Question, today: Today) -> Question:
    """The question with as many connections as fill the path, each with the window of today."""
    if today.window_bytes is None:
        return question._replace(flows=today.connections)
    stack = question.path.stack
    table = dict(stack) if isinstance(stack, Mapping) else {"profile": stack}
    # Simulated at a part of the rate, the path has this part of its window in flight.
    table["receive_window"] = f"{max(1500, round(today.window_bytes * question.part))} bytes"
    return question._replace(flows=today.connections, path=question.path._replace(stack=table))


def _is_bloated(facts: Facts, measured: Round, present: str) -> bool:
    rtts = measured.measured[present].p95_rtt_ms
    added_ms = sum(rtts) / len(rtts) - facts.rtt_ms
    return facts.queue == "droptail" and added_ms > max(_BLOAT_RTTS * facts.rtt_ms, _BLOAT_MS)
