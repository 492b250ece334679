"""Plants a fault at a time in a header: is it found by the search, and by random paths of the same budget?

    python tools/attack_mutants.py              every mutant, as a table of Markdown
    python tools/attack_mutants.py copa         those of one algorithm
    python tools/attack_mutants.py --evaluate   with `cwnd evaluate --quick` beside the sound header; hours

A mutant is one changed line. It is found on a path on which it fails by MARGIN and the sound header does not
fail. BUDGET is the number of paths for each way, 8 goals together.
"""

from __future__ import annotations

import dataclasses
import os
import sys
import tempfile
from pathlib import Path
from random import Random
from typing import NamedTuple

import cwnd
from cwnd._attack.bounds import read_bounds
from cwnd._attack.judge import ALONE, GOALS, Judge
from cwnd._attack.search import Request, explore
from cwnd._attack.vary import first_paths
from cwnd._scenario.custom import CongestionControl
from cwnd._scenario.header_files import load_header

HEADERS = Path(__file__).parent.parent / "algorithms"
BUDGET = int(os.environ.get("BUDGET", "480"))
BATCH = 24
#: A failure by less may be chance: the paths of two headers part after the first decision that differs.
MARGIN = 0.3
#: Paths of ordinary life, with short runs.
BOUNDS = dataclasses.replace(read_bounds("reasonable"), packets=20_000)


class Mutant(NamedTuple):
    """A changed line of a header."""

    algorithm: str
    before: str
    after: str
    fault: str


_GAP = "		epoch->start_us += gap;"
_SPARE = "	if (epoch->start_us && (ca->idle || !cc_cwnd_limited(a)))"
_COPA_MIN = "	windowed_max_add(&ca->least, COPA_MIN_RTT_US, now, ~rtt);"
_LEDBAT_MOST = "	ledbat_set(ca, w, real < most ? real : most);"
_LEDBAT_OFF = "	off = ((off < target ? off : target) << 20) / target * p->gain / 1000;"
_VENO_CUT = "	return cc_max(ca->congested ? w->cwnd / 2 : cc_part(w->cwnd, p->loss, 1000), 2);"
_VENO_GROWTH = (
    "	cc_additive_increase(w, ca->congested ? cc_min(w->cwnd, 0x7fffffff) * 2 : w->cwnd, acked);"
)
_HTCP_SINCE = "	u64 alpha = htcp_alpha(since > delta_l ? since - delta_l : 0);"
_HTCP_BETA = "		ca->beta = cc_min(cc_max(beta, p->beta_min * 1000), p->beta_max * 1000);"
_YEAH_CUT = "		cut = cc_max(cc_min(ca->queue, half), w->cwnd / p->delta);"
_YEAH_ROOM = "	w->cwnd -= cc_min(queue / p->gamma, w->cwnd / p->epsilon);"

MUTANTS = (
    Mutant("cubic", _GAP, "		epoch->start_us = a->now_us;", "a pause moves the epoch to now"),
    Mutant("cubic", _SPARE, "	if (0)", "unused time counts as time of the epoch"),
    Mutant("cubic", "	epoch->wmax = cc_max(epoch->wmax, cwnd);", "	epoch->wmax = cwnd;", "no plateau"),
    Mutant(
        "cubic",
        "		return cc_part(cwnd, 1024 + p->beta, 2048);",
        "		return cwnd / 8;",
        "W_max an eighth",
    ),
    Mutant(
        "vegas",
        "		w->cwnd = cc_max(w->cwnd - 1, cc_min(w->cwnd, 2));",
        "		w->cwnd = cc_max(w->cwnd / 2, 2);",
        "halves where it should take one away",
    ),
    Mutant("vegas", "		cc_grow(w, 1);\n	}\n}", "		cc_grow(w, 8);\n	}\n}", "adds 8 a round"),
    Mutant(
        "vegas",
        "	u64 diff = expected > actual ? expected - actual : 0;",
        "	u64 diff = expected > actual ? expected - actual : ~0ULL;",
        "no queue counts as a long one",
    ),
    Mutant(
        "copa",
        "		weight = cc_max(weight, cc_min(ca->weight + COPA_WEIGHT_ONE, COPA_WEIGHT_MAX));",
        "		weight = cc_max(weight, COPA_WEIGHT_MAX);",
        "the largest weight at once",
    ),
    Mutant("copa", "	if (grows && !cc_cwnd_limited(a))", "	if (0)", "grows while not limited by cwnd"),
    Mutant("copa", _COPA_MIN, _COPA_MIN.replace("COPA_MIN_RTT_US", "1U << 31"), "keeps the least RTT"),
    Mutant("copa", "	if (state != CC_LOSS)", "	if (1)", "nothing begins anew after a timeout"),
    Mutant("copa", "		ca->velocity *= 2;", "		ca->velocity *= 4;", "velocity grows fourfold"),
    Mutant(
        "westwood",
        "		sample = (segments << 32) / delta;",
        "		sample = (segments << 32) / delta / 2;",
        "half of the rate",
    ),
    Mutant(
        "westwood",
        "	ca->min_ticks = ca->rtt_ticks;",
        "	ca->min_ticks = ca->rtt_ticks = 1;",
        "begins with an RTT of one tick",
    ),
    Mutant("veno", _VENO_CUT, _VENO_CUT.replace("w->cwnd / 2", "w->cwnd"), "no reduction if congested"),
    Mutant("veno", _VENO_CUT, _VENO_CUT.replace(", p->loss, 1000", ", 200, 1000"), "cut to a fifth"),
    Mutant("veno", _VENO_GROWTH, _VENO_GROWTH.replace("* 2 :", "* 64 :"), "hardly grows if congested"),
    Mutant("hybla", "	return rho < 1 << 16 ? 1 << 16 : rho;", "	return rho;", "rho below 1"),
    Mutant(
        "hybla",
        "	return cc_max(w->cwnd / 2, 2);",
        "	return cc_max(w->cwnd - 1, 2);",
        "one less at a loss",
    ),
    Mutant(
        "hybla",
        "		w->cwnd = cc_min(w->cwnd, w->ssthresh);\n		return;",
        "		return;",
        "slow start goes beyond ssthresh",
    ),
    Mutant(
        "illinois",
        "	if (ca->above && ++ca->low_rtts < (paper ? p->theta : 5))",
        "	if (ca->above)",
        "growth stays small after the first queue",
    ),
    Mutant("illinois", "	ca->rtt_sum_us = 0;", "	(void)0;", "delays add up over rounds"),
    Mutant(
        "htcp", _HTCP_SINCE, "	u64 alpha = htcp_alpha(since * 8);", "time since a loss counts eightfold"
    ),
    Mutant("htcp", _HTCP_BETA, "		ca->beta = cc_min(beta, p->beta_max * 1000);", "no least beta"),
    Mutant("yeah", _YEAH_CUT, "		cut = ca->queue;", "a loss takes the queue alone"),
    Mutant("yeah", _YEAH_ROOM, "	w->cwnd -= cc_min(queue, w->cwnd - 1);", "drains to one segment"),
    Mutant(
        "scalable", "		left = w->cwnd / 2;", "		left = w->cwnd;", "no reduction of small windows"
    ),
    Mutant("bic", "	return step < most ? step : most;", "	return step;", "no largest step"),
    Mutant("ledbat", _LEDBAT_MOST, "	ledbat_set(ca, w, real);", "grows beyond what is in flight"),
    Mutant(
        "ledbat", _LEDBAT_OFF, "	off = (off << 20) / target * p->gain / 1000;", "falls without a bound"
    ),
)


def plant(mutant: Mutant, folder: Path) -> type[CongestionControl]:
    """The header with the fault."""
    text = (HEADERS / f"{mutant.algorithm}.h").read_text()
    assert text.count(mutant.before) == 1, (mutant.fault, text.count(mutant.before))
    file = folder / f"{mutant.algorithm}-{MUTANTS.index(mutant)}.h"
    file.write_text(text.replace(mutant.before, mutant.after))
    return load_header(file)


def searched(judge: Judge) -> str:
    """After how many paths the search finds it, or a dash."""
    request = Request(GOALS, BOUNDS, "", 1, BUDGET)
    for island in range(request.islands()):
        failures = explore(request, island, judge)
        worst = max(failures, key=lambda one: one.score, default=None)
        if worst is not None and worst.score > MARGIN:
            return f"{worst.goal}, {judge.counts.evaluations} paths"
    return "-"


def drawn(judge: Judge) -> str:
    """After how many random paths it is found, or a dash: as many as the search has, with its neighbours."""
    count = 0
    for goals, beside, share in ((ALONE, "", 6), (("starve",), "@subject", 1), (("harm",), "cubic", 1)):
        paths = first_paths(Random("random"), BOUNDS, BUDGET * share // 8, beside)
        for at in range(0, len(paths), BATCH):
            answers = judge.evaluate(paths[at : at + BATCH], goals)
            count += len(answers)
            scores = [(one["score"], one["goal"]) for answer in answers for one in answer["scores"]]
            if scores and max(scores)[0] > MARGIN:
                return f"{max(scores)[1]}, {count} paths"
    return "-"


def evaluated(made: type[CongestionControl], sound: str) -> str:
    """The criteria that the mutant fails beside the sound header, or a dash."""
    failed = [
        one["id"]
        for one in cwnd.evaluate(made, baseline=sound, quick=True, seeds=3).criteria
        if one["verdict"] == "fail"
    ]
    return ", ".join(failed) or "-"


def main(names: list[str]) -> None:
    with_evaluate = "--evaluate" in names
    chosen = [one for one in MUTANTS if set(names) <= {"--evaluate"} or one.algorithm in names]
    print(f"| algorithm | fault | attack | random |{' evaluate |' * with_evaluate}")
    print("|---|---|---|---|" + "---|" * with_evaluate, flush=True)
    found = [0, 0]
    with tempfile.TemporaryDirectory(prefix="cwnd-") as folder:
        for mutant in chosen:
            made = plant(mutant, Path(folder))
            judge = Judge("mutant", {"mutant": made}, 0, references=(mutant.algorithm,))
            other = Judge("mutant", {"mutant": made}, 0, references=(mutant.algorithm,))
            cells = [searched(judge), drawn(other)]
            found = [count + (cell != "-") for count, cell in zip(found, cells, strict=True)]
            if with_evaluate:
                cells.append(evaluated(made, mutant.algorithm))
            print(f"| {mutant.algorithm} | {mutant.fault} | {' | '.join(cells)} |", flush=True)
    print(f"\nOf {len(chosen)}: attack {found[0]}, random {found[1]}, {BUDGET} paths each.")


if __name__ == "__main__":
    main(sys.argv[1:])
