"""Asks two other solvers what z3 answered for `cwnd prove`, and what it was never asked.

    python tools/second_solver.py                  all headers, with the table of docs/validation/proofs.md
    python tools/second_solver.py reno vegas       these alone, without the table
    python tools/second_solver.py --seconds 60 …   so long for each exact question, in place of 5
    python tools/second_solver.py --keep DIR …     the questions that are not agreed on, as SMT-LIB 2

First it asks z3's own questions again, those that a verdict rests on: each `unsat`, which proves a cell or
a bound that later questions use, and each `sat` of exact arithmetic. A `sat` of linear integers decides
nothing, as less is claimed there than the bytecode does. cvc5 answers questions in integers, bitwuzla those
in bit-vectors.

Then it asks bitwuzla about each proved cell in exact arithmetic of 64 bits, in which nothing is claimed of
products and quotients. So it judges the linear claims by which z3 proved most cells, too.

A solver has a limit of seconds and of memory for each question, and is undecided beyond. The command ends
with 1 if an answer is another one than that of z3.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from proof_faults import write

from cwnd._prove import linear
from cwnd._prove.build import build, registered
from cwnd._prove.decide import PROVED, Cell, Hooks
from cwnd._prove.elf import read_object
from cwnd._prove.exact import solve
from cwnd._prove.model import Model, model
from cwnd._prove.ops import ops_model
from cwnd._prove.properties import PROPERTIES, Question, questions

SECONDS = 60.0
EXACT_SECONDS = 5.0
BYTES = 6 << 30

#: Programs of child processes: a solver that does not end cannot be stopped otherwise.
_LIMIT = "import resource, sys\nresource.setrlimit(resource.RLIMIT_AS, (int(sys.argv[1]),) * 2)\n"
_SOLVERS = {
    "QF_LIA": f"""{_LIMIT}
import cvc5
solver = cvc5.Solver(cvc5.TermManager())
parser = cvc5.InputParser(solver)
parser.setStringInput(cvc5.InputLanguage.SMT_LIB_2_6, sys.stdin.read(), "question")
while not (command := parser.nextCommand()).isNull():
    print(command.invoke(solver, parser.getSymbolManager()), end="")
""",
    "QF_BV": f"""{_LIMIT}
import bitwuzla
bitwuzla.Parser(bitwuzla.TermManager(), bitwuzla.Options()).parse(sys.stdin.read(), parse_file=False)
""",
}


class Asked(NamedTuple):
    """A question as SMT-LIB 2 and the answer of z3. `about`: the hook, the property, what would be wrong."""

    text: str
    answer: str
    about: tuple[str, ...]


class Watched(Hooks):
    """The hooks of a header, with the questions that their verdicts rest on."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.now = ("", "invariants")
        #: By text: a question that is asked again counts once.
        self.asked: dict[str, Asked] = {}
        #: Cells about which z3 is asked anything, here or of the loaded object.
        self.solved: set[tuple[str, ...]] = set()

    def cells(self, wanted: list[str]) -> list[Cell]:
        linear.WATCHERS.append(self._watch)
        try:
            return super().cells(wanted)
        finally:
            linear.WATCHERS.remove(self._watch)

    def _watch(self, solver: Any, answer: str) -> None:
        self.solved.add(self.now)
        text = smt2(solver)
        exact = "(_ BitVec 64)" in text
        if answer == "unsat" or (exact and answer == "sat"):
            text = f"(set-logic {'QF_BV' if exact else 'QF_LIA'})\n{text}"
            self.asked.setdefault(text, Asked(text, answer, self.now))

    def _settle(self) -> None:
        self.now = ("", "invariants")
        super()._settle()

    def _cell(
        self, anyhow: Model, ladder: Any, name: str, asked: list[Question]
    ) -> tuple[str, str, dict[str, int]]:
        self.now = (anyhow.name, name)
        return super()._cell(anyhow, ladder, name, asked)

    def exactly(self, cells: list[Cell]) -> Iterator[Asked]:
        """The questions of the proved cells in exact arithmetic, of the hooks and of the loaded object."""
        for hook in dict.fromkeys(cell.hook for cell in cells if cell.hook in self.code.hooks):
            of = [cell for cell in cells if cell.hook == hook and cell.property != "counters"]
            named = [cell.property for cell in of if cell.verdict == PROVED]
            yield from self._exactly(model(self.code, hook, kept=True), named, "events")
            named = [cell.property for cell in of if cell.loaded == PROVED]
            if named:
                yield from self._exactly(ops_model(self.code, self.ops, hook), named, "loaded")

    def _exactly(self, of: Model, named: list[str], which: str) -> Iterator[Asked]:
        for name in named:
            for question in questions(of, name, self.controls) or []:
                if not question.wrong.is_const:
                    text = f"(set-logic QF_BV)\n{exported(of, question)}"
                    yield Asked(text, "unsat", (of.name, name, which, question.where))


def smt2(solver: Any) -> str:
    """The question of a solver, written from a copy: new terms of its own could change its next answers."""
    return str(solver.translate(linear.load_z3().Context()).to_smt2())


def exported(of: Model, question: Question) -> str:
    """A question in exact arithmetic, as z3 would be asked it; here it may take a single step."""
    texts: list[str] = []

    def watch(solver: Any, _: str) -> None:
        texts.append(smt2(solver))

    linear.WATCHERS.append(watch)
    try:
        solve([of.assumed, question.wrong], 1)
    finally:
        linear.WATCHERS.remove(watch)
    return texts[0]


class Judged(NamedTuple):
    """Questions by the answer of the second solver."""

    agree: list[Asked]
    undecided: list[Asked]
    disagree: list[Asked]

    def counts(self) -> list[int]:
        return [sum(map(len, self)), *map(len, self)]


def watched(header: str, properties: list[str] | None = None) -> tuple[list[Cell], Watched]:
    """The cells of a header, and what was asked for them."""
    with tempfile.TemporaryDirectory(prefix="cwnd-") as folder:
        built = build(header, Path(folder))
        hooks = Watched(read_object(built.object), read_object(built.ops), built)
        return hooks.cells(properties or list(PROPERTIES)), hooks


def second(text: str, seconds: float = SECONDS) -> str:
    """`sat` or `unsat` of the solver for the logic of the text; else why there is no answer."""
    logic = text.split("\n", 1)[0].removeprefix("(set-logic ").removesuffix(")")
    command = [sys.executable, "-c", _SOLVERS[logic], str(BYTES)]
    try:
        done = subprocess.run(
            command, input=text, capture_output=True, text=True, timeout=seconds, check=False
        )
    except subprocess.TimeoutExpired:
        return "limit"
    return done.stdout.strip() or done.stderr.strip()[-200:] or f"exit {done.returncode}"


def judged(asked: Iterable[Asked], seconds: float = SECONDS) -> Judged:
    found = Judged([], [], [])
    for question in asked:
        answer = second(question.text, seconds)
        if answer not in ("sat", "unsat"):
            found.undecided.append(question)
        else:
            (found.agree if answer == question.answer else found.disagree).append(question)
    return found


TITLES = ["cells", "without z3", *(["questions", "agree", "undecided", "disagree"] * 2)]


def shown(name: str, row: list[int]) -> str:
    return f"| {name} | " + " | ".join(map(str, row)) + " |"


def page(rows: dict[str, list[int]]) -> list[str]:
    """The table, with a sentence that has its sums."""
    total = [sum(column) for column in zip(*rows.values(), strict=True)]
    left = [name for name in registered() if name not in rows]
    return [
        f"{total[0]} cells of {len(rows)} headers; {total[1]} of them are decided without z3. "
        f"z3's own questions: {total[2]}, of which the second solver agrees on {total[3]}, is undecided on "
        f"{total[4]} and disagrees on {total[5]}. "
        f"Exact questions: {total[6]}, of which it agrees on {total[7]}, is undecided on {total[8]} and "
        f"disagrees on {total[9]}." + (f" Not asked: {', '.join(left)}." if left else ""),
        "",
        "| header | " + " | ".join(TITLES) + " |",
        "|---" * (len(TITLES) + 1) + "|",
        *(shown(name, row) for name, row in rows.items()),
    ]


def keep(folder: Path, name: str, verdict: Judged) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for kind in ("undecided", "disagree"):
        for number, question in enumerate(getattr(verdict, kind)):
            about = f"; z3 {question.answer}: {', '.join(question.about)}\n"
            (folder / f"{name}-{kind}-{number}.smt2").write_text(about + question.text)


def judge(name: str, seconds: float, folder: Path | None) -> list[int]:
    """The row of a header."""
    cells, hooks = watched(name)
    own, exact = judged(hooks.asked.values()), judged(hooks.exactly(cells), seconds)
    if folder:
        keep(folder, f"{name}-own", own)
        keep(folder, f"{name}-exact", exact)
    alone = sum((cell.hook, cell.property) not in hooks.solved for cell in cells)
    return [len(cells), alone, *own.counts(), *exact.counts()]


def apart(name: str, seconds: float, folder: Path | None) -> list[int]:
    """The row of a header, from a process of its own: what z3 was asked before changes how it searches."""
    command = [sys.executable, __file__, name, "--seconds", str(seconds)]
    command += ["--keep", str(folder)] if folder else []
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    if not done.stdout.startswith("| "):
        raise SystemExit(f"{name}: no answer")
    return [int(cell) for cell in done.stdout.splitlines()[-1].split("|")[2:-1]]


def main(arguments: list[str] | None = None) -> int:
    options = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    options.add_argument("header", nargs="*")
    options.add_argument("--seconds", type=float, default=EXACT_SECONDS)
    options.add_argument("--keep", type=Path)
    given = options.parse_args(arguments)
    rows: dict[str, list[int]] = {}
    print("| header | " + " | ".join(TITLES) + " |", flush=True)
    names = given.header or registered()
    for name in names:
        rows[name] = (apart if len(names) > 1 else judge)(name, given.seconds, given.keep)
        print(shown(name, rows[name]), flush=True)
        if not given.header:
            # Headers asked so far, if it is stopped.
            write("solvers", page(rows))
    return int(any(row[5] or row[9] for row in rows.values()))


if __name__ == "__main__":
    sys.exit(main())
