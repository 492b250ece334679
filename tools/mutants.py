"""Plants one fault at a time in a copy of the headers; the first case of `cwnd conform` that finds it.

    python tools/mutants.py            every mutant, as a table of Markdown
    python tools/mutants.py cubic      those of one algorithm

A mutant is one changed line. Cases with hooks run alone: they need no network. BBRv3 has none, so that its
mutants have those with a network. It ends with 1 if more than MISSED_MAX mutants are missed.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from functools import cache
from pathlib import Path
from typing import NamedTuple

from cwnd._conform.cases import Case, cases
from cwnd._conform.subjects import find_subject
from cwnd._conform.trial import try_case
from cwnd._conform.verdicts import DEVIATES
from cwnd._expect.judge import PASS

HEADERS = Path(__file__).parent.parent / "algorithms"


class Mutant(NamedTuple):
    """A changed line."""

    algorithm: str
    file: str
    before: str
    after: str
    fault: str


_C, _R, _G, _H, _D = "cubic.h", "reno.h", "parts/growth.h", "parts/hystart.h", "dctcp.h"
_B = "bbr3.h"
_RENO_CUT = "		return cc_max(w->cwnd / 2, 2);"
_SLOW_START = "	u32 grow = cc_min(acked, room);"
_CUBIC_CUT = "	return cc_max(cc_part(w->cwnd, p->beta, 1024), 2);"
_SPARE = "	if (epoch->start_us && (ca->idle || !cc_cwnd_limited(a)))"
_REDUCED = "	if (p->fast_convergence && cwnd < wmax)"
_PART = "		return cc_part(cwnd, 1024 + p->beta, 2048);"
_LIMITED = "		if (cc_cwnd_limited(a))\n			cc_reno_growth(w, a->acked);"
_FIRST_ONLY = (
    "	if (w->ssthresh < CC_SSTHRESH_INFINITE)\n		return;\n"
    "	h->rtt_us = cc_min(h->rtt_us, a->rtt_us);"
)
_RFC_LIMITED = "	if (!cc_cwnd_limited(a))\n		return;\n	if (cc_in_slow_start(w)) {"

MUTANTS = (
    Mutant("reno", _R, _RENO_CUT, "		return cc_max(w->cwnd * 2 / 3, 2);", "cut to two thirds"),
    Mutant("reno", _R, _RENO_CUT, "		return cc_max(w->cwnd / 3, 2);", "cut to a third"),
    Mutant("reno", _R, _RENO_CUT, "		return cc_max(w->cwnd / 2, 4);", "least ssthresh of 4"),
    Mutant("reno", _R, _RENO_CUT, "		return cc_max(w->cwnd / 2, 1);", "least ssthresh of 1"),
    Mutant("reno", _R, _LIMITED, "		cc_reno_growth(w, a->acked);", "growth while not limited by cwnd"),
    Mutant(
        "reno", _G, _SLOW_START, "	u32 grow = cc_min(acked + 1, room);", "slow start adds one more per ACK"
    ),
    Mutant("reno", _G, _SLOW_START, "	u32 grow = cc_min(1, room);", "slow start counts ACKs"),
    Mutant(
        "reno",
        _G,
        "		cc_additive_increase(w, w->cwnd, acked);",
        "		cc_additive_increase(w, w->cwnd / 2, acked);",
        "two segments a round trip",
    ),
    Mutant(
        "reno",
        _G,
        "		cc_additive_increase(w, w->cwnd, acked);",
        "		cc_additive_increase(w, w->cwnd * 2, acked);",
        "half a segment a round trip",
    ),
    Mutant(
        "reno",
        _G,
        "		cc_additive_increase(w, w->cwnd, acked);",
        "		cc_additive_increase(w, w->cwnd, 1);",
        "avoidance counts ACKs",
    ),
    Mutant(
        "reno",
        _G,
        "	return w->cwnd < w->ssthresh;",
        "	return w->cwnd < w->ssthresh / 2;",
        "slow start ends at half of ssthresh",
    ),
    Mutant(
        "cubic",
        _C,
        _CUBIC_CUT,
        "	return cc_max(cc_part(w->cwnd, p->beta, 1024) / 2, 2);",
        "half of the cut window",
    ),
    Mutant(
        "cubic",
        _C,
        _CUBIC_CUT,
        "	return cc_max(cc_part(w->cwnd, 819, 1024), 2);",
        "beta of 0.8 in the cut",
    ),
    Mutant(
        "cubic",
        _C,
        _CUBIC_CUT,
        "	return cc_max(cc_part(w->cwnd, p->beta, 1024), 4);",
        "least window of 4, as xquic had it",
    ),
    Mutant("cubic", _C, _CUBIC_CUT, "	return cc_part(w->cwnd, p->beta, 1024);", "no least window"),
    Mutant(
        "cubic",
        _C,
        _CUBIC_CUT,
        "	return cc_max(cc_part(cubic_reduced(p, w->cwnd, ca->rfc.before.wmax), p->beta, 1024), 2);",
        "beta of the shortened W_max, as quinn had it",
    ),
    Mutant(
        "cubic",
        _C,
        _SPARE,
        "	if (epoch->start_us && !cc_cwnd_limited(a))",
        "a pause counts as time of the epoch, as Linux had it",
    ),
    Mutant(
        "cubic", _C, _SPARE, "	if (epoch->start_us && ca->idle)", "unused time counts as time of the epoch"
    ),
    Mutant(
        "cubic",
        _C,
        _RFC_LIMITED,
        "	if (cc_in_slow_start(w)) {",
        "growth while not limited by cwnd, as ns-3 had it",
    ),
    Mutant("cubic", _C, _REDUCED, "	if (0)", "no fast convergence"),
    Mutant("cubic", _C, _REDUCED, "	if (p->fast_convergence)", "fast convergence above W_max, too"),
    Mutant("cubic", _C, _PART, "		return cc_part(cwnd, p->beta, 1024);", "fast convergence by beta"),
    Mutant(
        "cubic",
        _C,
        "	epoch->k = cubic_k(epoch->wmax - cwnd, c);",
        "	epoch->k = cubic_k(epoch->wmax, c);",
        "K of the whole W_max",
    ),
    Mutant(
        "cubic",
        _C,
        "	epoch->wmax = cc_max(epoch->wmax, cwnd);",
        "	epoch->wmax = cc_max(epoch->wmax, cwnd + 20);",
        "W_max above the window",
    ),
    Mutant(
        "cubic",
        _C,
        "		ca->rfc.epoch.wmax = 0;",
        "		ca->rfc.epoch.wmax = w->prior_cwnd;",
        "W_max of before a timeout, as ns-3 had it",
    ),
    Mutant(
        "cubic",
        _C,
        "	return ((u64)(3 * (1024 - beta)) << 32) / (1024 + beta);",
        "	return ((u64)(1024 - beta) << 32) / (1024 + beta);",
        "alpha a third of what it is",
    ),
    Mutant(
        "cubic",
        _C,
        "	return ((u64)(3 * (1024 - beta)) << 32) / (1024 + beta);",
        "	return 1ULL << 32;",
        "alpha of 1",
    ),
    Mutant(
        "cubic",
        _C,
        "	grown *= epoch->west >> 32 >= epoch->cwnd_prior ? 1ULL << 32 : cubic_alpha(p->beta);",
        "	grown *= cubic_alpha(p->beta);",
        "no slope of one from W_prior on",
    ),
    Mutant(
        "cubic",
        _C,
        "	if (p->reno_friendly && window < epoch->west >> 22) {",
        "	if (0 && window < epoch->west >> 22) {",
        "no Reno-friendly region, as neqo's slow one",
    ),
    Mutant(
        "cubic",
        _C,
        "	target = target > cwnd + cwnd / 2 ? cwnd + cwnd / 2 : target;",
        "	target = target > cwnd * 2 ? cwnd * 2 : target;",
        "target of twice the window",
    ),
    Mutant(
        "cubic",
        _C,
        "	target = target > cwnd + cwnd / 2 ? cwnd + cwnd / 2 : target;",
        "	target = target > cwnd + cwnd / 4 ? cwnd + cwnd / 4 : target;",
        "target of 1.25 times the window",
    ),
    Mutant(
        "cubic",
        _C,
        "	grown = ca->fraction + acked * (((target - cwnd) << 22) / w->cwnd);",
        "	grown = ca->fraction + (((target - cwnd) << 22) / w->cwnd);",
        "growth by ACKs, not by segments",
    ),
    Mutant(
        "cubic",
        _C,
        "		ca->rfc.epoch = ca->rfc.before;",
        "		ca->rfc.epoch.wmax = 0;",
        "an undo that forgets the epoch",
    ),
    Mutant(
        "cubic",
        _C,
        "	return cc_max(w->cwnd, w->prior_cwnd);",
        "	return w->cwnd;",
        "an undo that restores no window",
    ),
    Mutant(
        "cubic",
        _C,
        "	elapsed = a->now_us - epoch->start_us;",
        "	elapsed = (a->now_us - epoch->start_us) / 2;",
        "time at half speed",
    ),
    Mutant(
        "cubic",
        _H,
        "	return cc_min(cc_max(rtt_us / 8, 4000), 16000);",
        "	return cc_min(cc_max(rtt_us / 4, 4000), 16000);",
        "threshold of a quarter of the RTT",
    ),
    Mutant(
        "cubic",
        _H,
        "	return cc_min(cc_max(rtt_us / 8, 4000), 16000);",
        "	return cc_max(rtt_us / 8, 4000);",
        "threshold without a limit above",
    ),
    Mutant(
        "cubic",
        _H,
        "	return cc_min(cc_max(rtt_us / 8, 4000), 16000);",
        "	return cc_min(rtt_us / 8, 16000);",
        "threshold without a limit below",
    ),
    Mutant(
        "cubic",
        _H,
        "	} else if (h->samples == 8 && h->last_rtt_us) {",
        "	} else if (h->samples >= 4 && h->last_rtt_us) {",
        "four samples are enough",
    ),
    Mutant(
        "cubic",
        _H,
        "	if (h->css && ++h->css > 5)",
        "	if (h->css && ++h->css > 3)",
        "three rounds of CSS",
    ),
    Mutant("cubic", _H, "	if (h->css && ++h->css > 5)", "	if (0)", "CSS without an end"),
    Mutant("cubic", _H, "		if (h->rtt_us < h->css_rtt_us)", "		if (0)", "CSS is not left again"),
    Mutant(
        "cubic",
        _H,
        "	quarters = h->quarters + (acked & 3);",
        "	acked *= 2; quarters = h->quarters + (acked & 3);",
        "CSS by a half",
    ),
    Mutant(
        "cubic",
        _H,
        "	u32 acked = w->pacing_rate ? a->acked : cc_min(a->acked, 8), quarters;",
        "	u32 acked = a->acked, quarters;",
        "no limit L",
    ),
    Mutant(
        "cubic",
        _H,
        "	h->last_rtt_us = h->rtt_us;",
        "	h->last_rtt_us = h->last_rtt_us ? h->last_rtt_us : h->rtt_us;",
        "the first round for ever the last one",
    ),
    Mutant(
        "cubic",
        _H,
        _FIRST_ONLY,
        "	h->rtt_us = cc_min(h->rtt_us, a->rtt_us);",
        "HyStart++ in every slow start",
    ),
    Mutant(
        "dctcp",
        _D,
        "	alpha -= (alpha >> gain) + ((alpha & ((1U << gain) - 1)) > 0);",
        "	alpha -= alpha >> (gain - 1);",
        "g of an eighth without marks",
    ),
    Mutant(
        "dctcp",
        _D,
        "	add = (marked << (20 - gain)) / delivered;",
        "	add = (marked << (21 - gain)) / delivered;",
        "marks count twice",
    ),
    Mutant(
        "dctcp",
        _D,
        "	u32 cut = (u32)((u64)w->cwnd * ca->alpha / (2 * DCTCP_ONE));",
        "	u32 cut = (u32)((u64)w->cwnd * ca->alpha / DCTCP_ONE);",
        "a cut by alpha",
    ),
    Mutant(
        "dctcp",
        _D,
        "	w->ssthresh = cc_max(w->cwnd / 2, 2);",
        "	w->ssthresh = cc_max(w->cwnd - w->cwnd / 4, 2);",
        "a loss takes a quarter",
    ),
    Mutant("dctcp", _D, "	ca->alpha = p->initial_alpha << 10;", "	ca->alpha = 0;", "alpha begins at 0"),
    Mutant(
        "bbr3",
        _B,
        "		return p->variant == BBR3_V3 ? 347 : 500;",
        "		return BBR3_ONE;",
        "Drain at the rate",
    ),
    Mutant(
        "bbr3",
        _B,
        "		return p->variant == BBR3_V3 ? 910 : 900;",
        "		return BBR3_ONE;",
        "after a probe the rate",
    ),
    Mutant("bbr3", _B, "		return 1250;", "		return 1100;", "a probe of 1.1"),
    Mutant(
        "bbr3",
        _B,
        "	ca->full_now = ca->full_rounds >= BBR3_FULL_ROUNDS;",
        "	ca->full_now = 0;",
        "the pipe is never full",
    ),
    Mutant(
        "bbr3",
        _B,
        "	if (ca->full_now || ca->app_limited || !ca->sampled ||",
        "	if (ca->full_now || !ca->sampled ||",
        "a rate that the application limits ends Startup",
    ),
    Mutant(
        "bbr3",
        _B,
        "		if (ca->round_start)\n			bbr3_start_up(ca, a, s->rate);",
        "		if (ca->round_start && ca->min_rtt_us > 1000)\n			bbr3_start_up(ca, a, s->rate);",
        "a threshold on the smallest RTT keeps probes from beginning, as picoquic had one",
    ),
    Mutant(
        "bbr3",
        _B,
        "		if (!ca->probe_rtt_timed && a->in_flight <= bbr3_probe_rtt_cwnd(ca, p)) {",
        "		if (!ca->probe_rtt_timed && a->in_flight <= bbr3_bdp(ca, bbr3_bw(ca), BBR3_ONE / 2)) {",
        "ProbeRTT waits for less than the least window, as quiche had it",
    ),
    Mutant(
        "bbr3",
        _B,
        "	ca->restarting = 1;",
        "	ca->restarting = 0;",
        "a restart is not noted, as quiche had it",
    ),
    Mutant(
        "bbr3",
        _B,
        "	return cc_allowed(w, cc_max(w->cwnd, ca->prior_cwnd));",
        "	return w->cwnd;",
        "an undo that restores no window",
    ),
    Mutant(
        "bbr3",
        _B,
        "	if (ca->mode == BBR3_UP) {\n		bbr3_start_down(ca, a);",
        "	if (0) {\n		bbr3_start_down(ca, a);",
        "losses do not end a probe",
    ),
    Mutant(
        "bbr3",
        _B,
        "	return cc_max(bbr3_at_most(bbr3_bdp(ca, bbr3_bw(ca), BBR3_ONE / 2), CC_SSTHRESH_INFINITE),",
        "	return cc_max(bbr3_at_most(bbr3_bdp(ca, bbr3_bw(ca), BBR3_ONE), CC_SSTHRESH_INFINITE),",
        "ProbeRTT with a whole BDP",
    ),
    Mutant(
        "bbr3",
        _B,
        "#define BBR3_PROBE_RTT_MS 200U",
        "#define BBR3_PROBE_RTT_MS 2000U",
        "ProbeRTT of 2 s",
    ),
    Mutant(
        "bbr3",
        _B,
        "	return (u64)lost * 1000 > (u64)in_flight * p->loss_threshold;",
        "	return 0;",
        "no loss is too much",
    ),
    Mutant(
        "bbr3",
        _B,
        "	return (u64)lost * 1000 > (u64)in_flight * p->loss_threshold;",
        "	return lost > 0;",
        "each loss is too much",
    ),
    Mutant(
        "bbr3",
        _B,
        "	P(min_cwnd, 4, 1, 2, 100,",
        "	P(min_cwnd, 2, 1, 2, 100,",
        "least window of 2",
    ),
    Mutant(
        "bbr3",
        _B,
        "	extra = ca->epoch_acked > expected ? ca->epoch_acked - expected : 0;",
        "	extra = 0;",
        "no room for ACKs that come together",
    ),
    Mutant(
        "bbr3",
        _B,
        "		per = cc_max(w->cwnd >> (ca->up_rounds ? ca->up_rounds - 1 : 0), 1);",
        "		per = w->cwnd;",
        "the bound grows by a segment a round",
    ),
)

#: Mutants that no case finds.
MISSED_MAX = 4


def plant(mutant: Mutant, folder: Path) -> Path:
    """Copies the headers with the fault, and returns the header of the algorithm."""
    made = folder / "algorithms"
    shutil.copytree(HEADERS, made, ignore=shutil.ignore_patterns("tests", "src", "target"))
    text = (made / mutant.file).read_text()
    if mutant.before not in text:
        sys.exit(f"{mutant.file} has no line {mutant.before.strip()!r}")
    (made / mutant.file).write_text(text.replace(mutant.before, mutant.after, 1))
    return made / f"{mutant.algorithm.replace('-', '_')}.h"


@cache
def passed_without_a_fault(algorithm: str) -> list[Case]:
    """The cases of an algorithm that its header passes: those with hooks, or all where none has hooks."""
    subject = find_subject(algorithm)
    about = [case for case in cases() if case.concerns(algorithm, subject.controls_window)]
    tried = [case for case in about if case.hooks is not None] or about
    return [case for case in tried if try_case(case, subject).verdict in (PASS, DEVIATES)]


def found_by(mutant: Mutant) -> str:
    """The first case that the mutant does not pass, and its header does; empty: it passes all."""
    with tempfile.TemporaryDirectory(prefix="cwnd-") as folder:
        subject = find_subject(plant(mutant, Path(folder)))
        for case in passed_without_a_fault(mutant.algorithm):
            if set(case.params) <= set(subject.params):
                tried = try_case(case, subject)
                if tried.verdict not in (PASS, DEVIATES):
                    return f"{case.suite}/{case.name}: {tried.found}"
    return ""


def main() -> None:
    only = sys.argv[1:]
    missed = 0
    print("| header | fault | found by |\n|---|---|---|")
    for mutant in MUTANTS:
        if only and mutant.algorithm not in only:
            continue
        found = found_by(mutant)
        missed += not found
        print(f"| `{mutant.file}` | {mutant.fault} | {f'`{found}`' if found else '**none**'} |", flush=True)
    print(f"\n{len(MUTANTS)} mutants, {missed} missed", file=sys.stderr)
    sys.exit(missed > MISSED_MAX)


if __name__ == "__main__":
    main()
