"""Judges of `cwnd prove`: planted faults, events beside the native hooks, what is proved under fire."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from types import ModuleType

import pytest

import cwnd
from cwnd._prove.build import build
from cwnd._prove.dag import Node
from cwnd._prove.decide import PROVED, REFUTED, Hooks
from cwnd._prove.elf import read_object
from cwnd._prove.evaluate import vector
from cwnd._prove.layout import HOOKS, layout
from cwnd._prove.linear import Linear
from cwnd._prove.model import run_native, wrap_lines
from cwnd._prove.walk import Walk
from test_prove import GROW, SSTHRESH, header

ROOT = Path(__file__).parent.parent.parent


@pytest.fixture(scope="module")
def tools() -> tuple[ModuleType, ...]:
    sys.path.insert(0, str(ROOT / "tools"))
    try:
        names = ("mutants", "proof_faults", "proof_events", "second_solver")
        return tuple(map(importlib.import_module, names))
    finally:
        sys.path.remove(str(ROOT / "tools"))


@pytest.mark.parametrize(
    ("algorithm", "hook", "name"),
    [
        ("illinois", "cong_avoid", "division"),
        ("yeah", "ssthresh", "ssthresh"),
        ("vegas", "cong_avoid", "wrap"),
    ],
)
def test_a_fault_that_kernels_had_is_refuted(
    algorithm: str, hook: str, name: str, tools: tuple[ModuleType, ...], tmp_path: Path
) -> None:
    mutants, faults, *_ = tools
    (fault,) = (mutant for mutant, _ in faults.HISTORY if mutant.algorithm == algorithm)
    built = build(str(mutants.plant(fault, tmp_path)), tmp_path)
    hooks = Hooks(read_object(built.object), read_object(built.ops), built)
    (cell,) = hooks.decide(hook, [name])
    assert cell.verdict == REFUTED
    # Again, by nothing but the event as it is shown, after an init with the same event.
    state = dict.fromkeys((f.name for f in layout(hook).fields if f.name.startswith("state.")), 0)
    values = {field.name: field.lo for field in layout(hook).fields} | cell.event | state
    begun, failed = run_native(built.program, vector(layout("init"), {**values, "what": 0}, 0))
    assert not failed
    event = vector(layout(hook), values, HOOKS.index(hook))[: -len(state) * 4] + begun[-len(state) * 4 :]
    output, failed = run_native(built.program, event)
    if name == "division":
        assert failed
    elif name == "ssthresh":
        assert int.from_bytes(output[:4], "little") < 2
    else:
        assert any(line.startswith("vegas.h:") for line in wrap_lines(built, event))


def test_the_same_faults_are_drawn_again(tools: tuple[ModuleType, ...]) -> None:
    sites = sys.modules["proof_sites"]
    text = (ROOT / "algorithms" / "htcp.h").read_text()
    assert list(sites.changes(text, "1")) == list(sites.changes(text, "1"))
    assert list(sites.changes(text, "1")) != list(sites.changes(text, "2"))
    for before, after, _ in sites.changes(text, "1"):
        assert text.count(before) == 1
        assert before != after


def test_a_counterexample_may_need_several_hooks(tmp_path: Path) -> None:
    # The third loss divides by zero.
    path = header(tmp_path, GROW, "\treturn cc_max(w->cwnd / (2 - ca->unused++), 2);\n")
    proof = cwnd.prove(path, properties=["division"], events=0)
    (cell,) = (cell for cell in proof.cells if cell.hook == "ssthresh")
    assert cell.verdict == REFUTED
    assert [event["hook"] for event in cell.before] == ["ssthresh", "ssthresh"]
    # Again, with the state that each hook left.
    built = build(str(path), tmp_path)
    state = bytes(104)
    for event, fails in ((cell.before[0], False), (cell.before[1], False), (cell.event, True)):
        values = {field.name: field.lo for field in layout("ssthresh").fields}
        values |= {name: int(value) for name, value in event.items() if name != "hook"}
        raw = vector(layout("ssthresh"), values, HOOKS.index("ssthresh"))[:-104] + state
        output, fault = run_native(built.program, raw)
        assert bool(fault) == fails
        state = output[-104:]


def test_a_wrap_of_the_compilers_own_arithmetic_is_not_called_one_of_the_header(tmp_path: Path) -> None:
    # Compiled, the difference is a sum with 2^32 - 1.
    path = header(tmp_path, GROW, "\tca->unused = (ca->unused - 1) & 3;\n" + SSTHRESH)
    proof = cwnd.prove(path, properties=["wrap"], events=0)
    assert all(cell.verdict != REFUTED for cell in proof.cells)


@pytest.mark.parametrize("name", ["reno", "scalable", "vegas"])
def test_expressions_and_native_hooks_agree_on_biased_events(
    name: str, tools: tuple[ModuleType, ...]
) -> None:
    judged = tools[2].translation(name, 20_000)
    assert judged.sound, judged.cells
    seen, _, of = judged.cells[2].split(" ")
    assert int(seen) >= 0.9 * int(of)


def test_nothing_proved_breaks_under_a_million_events(tools: tuple[ModuleType, ...]) -> None:
    judged = tools[2].proved("reno", 1_000_000)
    assert judged.sound, judged.cells
    assert int(judged.cells[0]) == 19
    assert int(judged.cells[1]) >= 1_000_000


def test_a_growth_that_the_header_states_is_judged_by_its_statement(tools: tuple[ModuleType, ...]) -> None:
    # ledbat grows where another limit than cwnd holds the sender, by less than it states.
    judged = tools[2].proved("ledbat", 100_000)
    assert judged.sound, judged.cells


def test_events_break_what_is_called_proved_wrongly(tmp_path: Path) -> None:
    path = header(tmp_path, "\tw->cwnd += cc_min(a->acked, 0x10000);\n", "\treturn w->cwnd / 2;\n")
    built = build(str(path), tmp_path)
    code = read_object(built.object)
    cells = {"cong_avoid": ("window", "growth"), "ssthresh": ("ssthresh",)}
    found = Walk(built, code, cells, tmp_path).run("any", 20_000, 1).findings
    assert {(finding.hook, finding.property) for finding in found} == {
        ("cong_avoid", "window"),
        ("ssthresh", "ssthresh"),
    }


def test_events_find_a_translation_that_differs(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    one = build(str(header(tmp_path / "one")), tmp_path / "one")
    two = build(str(header(tmp_path / "two", GROW, "\treturn cc_max(w->cwnd / 3, 2);\n")), tmp_path / "two")
    # The bytecode of one header beside the native hooks of the other.
    outcome = Walk(two, read_object(one.object), {}, tmp_path).run("any", 1000, 1)
    assert [(finding.hook, finding.differs()) for finding in outcome.findings] == [("ssthresh", True)]


def test_other_solvers_agree_on_reno(tools: tuple[ModuleType, ...]) -> None:
    solvers = tools[3]
    cells, hooks = solvers.watched("reno")
    assert {cell.verdict for cell in cells} == {PROVED}
    asked = list(hooks.asked.values())
    assert len(asked) >= 10
    assert solvers.judged(asked).counts() == [len(asked), len(asked), 0, 0]
    # A bound of a quotient takes bitwuzla long; all else takes less than a second.
    quick = [q for q in hooks.exactly(cells) if "by more than acked" not in q.about[-1]]
    assert {q.about[2] for q in quick} == {"events", "loaded"}
    assert solvers.judged(quick).counts() == [len(quick), len(quick), 0, 0]
    # An answer that is turned round is found, whichever it is.
    turned = [q._replace(answer="sat") for q in (asked[0], quick[0])]
    assert solvers.judged(turned).counts() == [2, 0, 0, 2]


def test_other_solvers_find_that_z3_is_wrong(
    tools: tuple[ModuleType, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    solvers = tools[3]
    path = header(tmp_path, GROW, "\treturn w->cwnd / 2;\n")
    z3 = importlib.import_module("z3")
    with monkeypatch.context() as lying:
        lying.setattr(z3.Solver, "check", lambda _: z3.unsat)
        cells, hooks = solvers.watched(str(path), ["ssthresh"])
    assert [cell.verdict for cell in cells] == [PROVED]
    assert solvers.judged(hooks.asked.values()).disagree
    exact = solvers.judged(hooks.exactly(cells))
    assert {q.about[-1] for q in exact.disagree} == {"ssthresh is below 2"}


def test_other_solvers_find_a_claim_that_is_wrong(
    tools: tuple[ModuleType, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # z3 is right, but what it is told of an unknown number is more than the bytecode guarantees.
    def told(of: Linear, node: Node, a: object, b: object) -> object:
        return of.unknown(node, of.z3.Int(f"n{node.id}") <= 1)

    solvers = tools[3]
    path = header(tmp_path, "\tw->cwnd += cc_min(a->acked, 0x10000) * 2 / (a->rtt_us | 1);\n")
    with monkeypatch.context() as lying:
        lying.setattr(Linear, "quotient", told)
        cells, hooks = solvers.watched(str(path), ["growth"])
    assert [cell.verdict for cell in cells] == [PROVED]
    exact = solvers.judged(hooks.exactly(cells))
    assert {q.about[-1] for q in exact.disagree} == {"cwnd grows by more than acked"}


def test_the_command_ends_with_1_where_solvers_disagree(
    tools: tuple[ModuleType, ...], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    solvers = tools[3]
    monkeypatch.setattr(solvers, "second", lambda text, seconds=0: "unsat")
    assert solvers.main(["reno"]) == 0
    monkeypatch.setattr(solvers, "second", lambda text, seconds=0: "sat" if "BitVec" in text else "limit")
    assert solvers.main(["reno"]) == 1
    assert "| reno | 19 |" in capsys.readouterr().out
