"""`cwnd prove`: the translation beside the native hooks, proofs, planted faults, bad input."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import cwnd
from cwnd._common.headers import HEADERS
from cwnd._prove.build import build, registered
from cwnd._prove.decide import PROVED, REFUTED, UNDECIDED
from cwnd._prove.elf import read_object
from cwnd._prove.evaluate import vector
from cwnd._prove.layout import HOOKS, layout
from cwnd._prove.memory import UntranslatableError
from cwnd._prove.model import differences, model, run_native

#: Random events a hook; a million with CWND_PROVE_EVENTS=1000000.
EVENTS = int(os.environ.get("CWND_PROVE_EVENTS", "4000"))

GROW = "\tcc_reno_growth(w, a->acked);\n"
SSTHRESH = "\treturn cc_max(w->cwnd / 2, 2);\n"

HEADER = """
#include "cc.h"
#include "parts/growth.h"
#define mine_PARAMS(P) P(unused, 0, 1, 0, 1, "", "nothing")
#define mine_HOOKS(H, A) H(A, cong_avoid) H(A, ssthresh)
{stated}
struct mine {{ u32 unused; }};
CC_DECLARE_PARAMS(mine);
CC_CHECK_STATE(mine);
static inline void mine_cong_avoid(struct mine *ca, const struct mine_params *p, struct cc_window *w,
                                   const struct cc_ack *a)
{{
    (void)ca; (void)p;
    if (!cc_cwnd_limited(a))
        return;
{grow}}}
static inline u32 mine_ssthresh(struct mine *ca, const struct mine_params *p, struct cc_window *w,
                                const struct cc_ack *a)
{{
    (void)ca; (void)p; (void)a;
{ssthresh}}}
"""


def header(folder: Path, grow: str = GROW, ssthresh: str = SSTHRESH, stated: str = "") -> Path:
    made = folder / "mine.h"
    made.write_text(HEADER.format(grow=grow, ssthresh=ssthresh, stated=stated))
    return made


def verdict(path: Path, name: str, hook: str = "cong_avoid") -> str:
    cells = cwnd.prove(path, properties=[name], events=0).cells
    return next(cell.verdict for cell in cells if cell.hook == hook)


@pytest.mark.parametrize("name", registered() if EVENTS > 4000 else ["reno", "cubic", "htcp", "bbr3", "yeah"])
def test_the_expressions_are_what_the_native_hooks_compute(name: str, tmp_path: Path) -> None:
    built = build(name, tmp_path)
    code = read_object(built.object)
    for hook in code.hooks:
        try:
            made = model(code, hook)
        except UntranslatableError:
            continue
        compared, differing = differences(made, built, EVENTS, seed=7)
        assert not differing, f"{name} {hook}"
        assert compared > EVENTS // 2, f"{name} {hook}"


def test_renos_properties_are_proved() -> None:
    proof = cwnd.prove("reno")
    assert {cell.verdict for cell in proof.cells} == {PROVED}
    assert len(proof.cells) == 19
    assert {cell.loaded for cell in proof.cells if cell.property != "counters"} == {PROVED}
    assert proof.ok


def test_a_sound_header_of_ones_own_is_proved(tmp_path: Path) -> None:
    assert {cell.verdict for cell in cwnd.prove(header(tmp_path)).cells} == {PROVED}


PLANTED = {
    "division": ("division", "cong_avoid", "\tcc_grow(w, a->acked / (w->cwnd - 1));\n", SSTHRESH),
    "shift": ("division", "cong_avoid", "\tcc_grow(w, 1U << w->cwnd_cnt);\n", SSTHRESH),
    "clamp": ("window", "cong_avoid", "\tw->cwnd += cc_min(a->acked, 0x10000);\n", SSTHRESH),
    "product": ("wrap", "ssthresh", GROW, "\treturn cc_max(w->cwnd * 700 / 1000, 2);\n"),
    "floor": ("ssthresh", "ssthresh", GROW, "\treturn w->cwnd / 2;\n"),
    "faster": ("growth", "cong_avoid", "\tcc_grow(w, (u64)a->acked + 1);\n", SSTHRESH),
}


@pytest.mark.parametrize("fault", PLANTED)
def test_a_planted_fault_is_refuted_by_an_event_that_replays(fault: str, tmp_path: Path) -> None:
    name, hook, grow, ssthresh = PLANTED[fault]
    path = header(tmp_path, grow, ssthresh)
    proof = cwnd.prove(path)
    cell = next(cell for cell in proof.cells if (cell.hook, cell.property) == (hook, name))
    assert cell.verdict == REFUTED
    assert not proof.ok
    # Again, and by nothing but the event as it is shown.
    built = build(str(path), tmp_path)
    shape = layout(hook)
    values = {field.name: 0 if field.name.startswith("state.") else field.lo for field in shape.fields}
    output, failed = run_native(built.program, vector(shape, {**values, **cell.event}, HOOKS.index(hook)))
    before = {**values, **cell.event}
    if name == "division":
        assert failed
        return
    result = int.from_bytes(output[:4], "little")
    window = int.from_bytes(output[8:12], "little")
    if fault == "clamp":
        assert window > before["w.cwnd_clamp"] or window == 0
    elif fault == "product":
        assert result != max(before["w.cwnd"] * 700 // 1000, 2)
    elif fault == "floor":
        assert result < 2
    else:
        assert window > before["w.cwnd"] + before["a.acked"]


def test_a_fault_of_unreachable_states_alone_is_open_not_refuted(tmp_path: Path) -> None:
    # The state is 0 after init, and this header never changes it.
    path = header(tmp_path, "\tcc_grow(w, ca->unused > 5 ? a->acked / (ca->unused - 6) : 0);\n")
    cells = [cell for cell in cwnd.prove(path, properties=["division"]).cells if cell.hook == "cong_avoid"]
    assert [cell.verdict for cell in cells] == [UNDECIDED]


INVARIANT = "#define mine_INVARIANTS(I) I(ca->unused <= 3)"
DIVIDES = "\tcc_grow(w, a->acked / (9 - ca->unused));\n"


def test_an_invariant_of_the_state_is_proved_and_used(tmp_path: Path) -> None:
    path = header(tmp_path, DIVIDES + "\tca->unused = (ca->unused + 1) & 3;\n", stated=INVARIANT)
    assert verdict(path, "invariants") == PROVED
    assert verdict(path, "division") == PROVED
    assert verdict(header(tmp_path, DIVIDES), "division") == UNDECIDED


@pytest.mark.parametrize("grow", ["\tca->unused = 7;\n", "\tca->unused += 2;\n"])
def test_an_invariant_that_one_hook_or_several_break_is_refuted(grow: str, tmp_path: Path) -> None:
    assert verdict(header(tmp_path, grow, stated=INVARIANT), "invariants") == REFUTED


def test_an_invariant_that_is_not_kept_is_assumed_nowhere(tmp_path: Path) -> None:
    # One window in 2^31 breaks the invariant.
    grow = GROW + "\tca->unused += w->cwnd == 0x7ffffffe;\n"
    ssthresh = "\treturn cc_max(w->cwnd / 2, 2) - (ca->unused > 3 ? 1 : 0);\n"
    kept = header(tmp_path, GROW, ssthresh, INVARIANT)
    assert verdict(kept, "ssthresh", "ssthresh") == PROVED
    lost = header(tmp_path, grow, ssthresh, INVARIANT)
    assert verdict(lost, "invariants") != PROVED
    assert verdict(lost, "ssthresh", "ssthresh") != PROVED


def test_an_invariant_that_does_not_hold_at_first_is_refuted(tmp_path: Path) -> None:
    path = header(tmp_path, stated="#define mine_INVARIANTS(I) I(ca->unused == 1)")
    assert verdict(path, "invariants", "init") == REFUTED


@pytest.mark.parametrize(
    ("per", "expected"), [("w->cwnd", PROVED), ("w->cwnd / 2", PROVED), ("w->cwnd + 1", UNDECIDED)]
)
def test_progress_is_that_of_the_windows_stated(per: str, expected: str, tmp_path: Path) -> None:
    grow = f"\tif (!cc_in_slow_start(w))\n\t\tcc_additive_increase(w, {per}, a->acked);\n"
    path = header(tmp_path, grow, stated="#define mine_PROGRESS(M) M(1, 1, w->cwnd_cnt, w->cwnd)")
    assert (verdict(path, "progress") == PROVED) == (expected == PROVED)


def test_growth_is_held_against_what_the_header_states(tmp_path: Path) -> None:
    twice = "\tcc_grow(w, 2ULL * a->acked);\n"
    assert verdict(header(tmp_path, twice), "growth") == REFUTED
    stated = "#define mine_GROWTH (cc_cwnd_limited(a) ? 2ULL * a->acked : 0)"
    assert verdict(header(tmp_path, twice, stated=stated), "growth") == PROVED


@pytest.mark.parametrize(
    ("condition", "expected"),
    [("a->delivered < 10", REFUTED), ("cc_after(a->delivered, ca->unused)", PROVED)],
)
def test_a_count_that_wraps_matters_where_its_high_bits_do(
    condition: str, expected: str, tmp_path: Path
) -> None:
    path = header(tmp_path, f"\tif ({condition})\n\t\tcc_grow(w, 1);\n\tca->unused = (u32)a->delivered;\n")
    assert verdict(path, "counters") == expected


def test_a_state_keeps_the_high_bits_of_a_count_for_another_hook(tmp_path: Path) -> None:
    grow = "\tca->unused = (u32)(a->delivered >> 32);\n"
    assert verdict(header(tmp_path, grow), "counters") == PROVED
    used = "\treturn cc_max(w->cwnd / 2, 2) + (ca->unused & 1);\n"
    assert verdict(header(tmp_path, grow, used), "counters") == UNDECIDED


def test_a_product_wraps_only_where_its_result_is_used(tmp_path: Path) -> None:
    unused = "\tu32 twice = w->cwnd * 3;\n\treturn cc_max(w->cwnd < 9 ? twice / 8 : w->cwnd / 2, 2);\n"
    assert verdict(header(tmp_path, ssthresh=unused), "wrap", "ssthresh") == PROVED


def test_verdicts_are_the_same_twice() -> None:
    once, again = (
        [cell._replace(seconds=0.0) for cell in cwnd.prove("vegas", events=0).cells] for _ in range(2)
    )
    assert once == again


def test_every_field_of_the_contract_has_its_place() -> None:
    text = (HEADERS / "cc.h").read_text()
    assert layout("cong_avoid").size == 256
    assert layout("cong_avoid").field("a.acked").lo == 1
    assert layout("init").field("w.cwnd").lo == 1
    for table in ("CC_WINDOW_RANGES(R)", "CC_ACK_RANGES(R)"):
        assert table in text


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "cwnd", "prove", *arguments], capture_output=True, text=True, check=False
    )


def test_the_command_writes_json_and_exits_with_1_for_a_counterexample(tmp_path: Path) -> None:
    path = header(tmp_path, *PLANTED["clamp"][2:])
    done = run(str(path), "--property", "window", "--json", "--out", str(tmp_path / "out"))
    assert done.returncode == 1
    shown = json.loads(done.stdout)
    assert shown == json.loads((tmp_path / "out" / "mine.json").read_text())
    assert [cell["verdict"] for cell in shown["cells"]] == [REFUTED, PROVED]


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["nothing"], "nothing: neither an algorithm of 'cwnd algorithms' nor a FILE.h"),
        (["nothing.h"], "nothing.h: no such header"),
        (["reno", "--property", "speed"], "--property: speed is not one of division, window"),
        (["reno", "--events", "-1"], "--events"),
    ],
)
def test_bad_input_is_one_line(arguments: list[str], line: str) -> None:
    done = run(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert line in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_a_header_that_does_not_compile_is_one_line(tmp_path: Path) -> None:
    path = header(tmp_path, "\tw->cwnd = nothing;\n")
    done = run(str(path))
    assert done.returncode == 2
    assert "the compiler refuses it" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_the_missing_extra_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "z3", None)
    with pytest.raises(cwnd.Error, match=r"pip install 'cwnd\[prove\]'"):
        cwnd.prove("reno")
