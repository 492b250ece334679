"""Evaluates every algorithm, and writes README.md and the reports of two of them: `make evaluations`.

The runs are kept in target/evaluations, so that it goes on where it stopped. Each group of algorithms shares
the runs of the baseline; verdicts.csv has the verdicts of the groups that are done.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path

import cwnd
from cwnd._evaluate import figures, report, suite
from cwnd._evaluate.evaluate import Question, evaluate_all
from cwnd._evaluate.measure import algorithm_of
from cwnd._report.figures import write_figure

HERE = Path(__file__).resolve().parent
RUNS = HERE.parents[1] / "target" / "evaluations"
BASELINE = "cubic"
QUESTION = Question(quick=True, seeds=5)
#: The first rows: algorithms that the rest is compared with, and the papers' own.
FIRST = ["reno", "cubic", "bbr", "bbr3", "vegas", "scalable", "elastic", "agile", "agile-sd", "discrete"]
GROUP = 10
#: The reports that are pages, and their figures.
PAGES = ("elastic", "agile")
FIGURES = ("high-loss", "convergence", "harm", "starvation")
SIGNS = {"pass": "✓", "fail": "**✗**", "undecided": "?", "not run": "–"}

Verdicts = dict[str, dict[str, str]]


def main() -> None:
    names = [*FIRST, *(one["name"] for one in cwnd.algorithms() if one["name"] not in FIRST)]
    found: Verdicts = {}
    for first in range(0, len(names), GROUP):
        group = names[first : first + GROUP]
        candidates = [algorithm_of(name) for name in group]
        for one in evaluate_all(QUESTION, candidates, algorithm_of(BASELINE), RUNS / group[0]):
            found[one.algorithm] = {judged.criterion.id: judged.verdict for judged in one.judged}
            if one.algorithm in PAGES:
                write_page(one)
        write_verdicts(found)
        (HERE / "README.md").write_text(index(found))
        print(f"{len(found)} of {len(names)} algorithms", flush=True)


def write_page(evaluation: cwnd.Evaluation) -> None:
    """NAME.md and its figures."""
    (HERE / "figures").mkdir(exist_ok=True)
    drawn = {}
    for judged in evaluation.judged:
        if judged.criterion.id in FIGURES:
            figure = figures.draw(judged, evaluation.algorithm, evaluation.baseline)
            assert figure is not None
            file = f"figures/{evaluation.algorithm}-{judged.criterion.id}.svg"
            drawn[judged.criterion.id] = file
            write_figure(figure, HERE / file)
    text = report.markdown(evaluation.content, evaluation.judged, {}, drawn)
    (HERE / f"{evaluation.algorithm}.md").write_text(text)


def write_verdicts(found: Verdicts) -> None:
    with (HERE / "verdicts.csv").open("w", newline="") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(["algorithm", "criterion", "verdict"])
        rows.writerows([name, *cell] for name, cells in found.items() for cell in cells.items())


def read_verdicts() -> Verdicts:
    found: Verdicts = {}
    with (HERE / "verdicts.csv").open(newline="") as file:
        for row in csv.DictReader(file):
            found.setdefault(row["algorithm"], {})[row["criterion"]] = row["verdict"]
    return found


def index(found: Mapping[str, Mapping[str, str]]) -> str:
    """The page with the table of all algorithms."""
    criteria = suite.criteria(QUESTION.quick)
    shown = [one for one in criteria if one.parts]
    numbers = {one.id: str(number) for number, one in enumerate(shown, 1)}
    rows = [
        [f"[{name}]({name}.md)" if name in PAGES else name, *(SIGNS[cells[one.id]] for one in shown)]
        for name, cells in found.items()
    ]
    legend = [
        [numbers[one.id], f"`{one.id}`", one.title, one.section, one.level, _counts(found, one.id)]
        for one in shown
    ]
    left = [one for one in criteria if not one.parts]
    return "\n".join(
        [
            "# Every algorithm, evaluated",
            "",
            f"Written by `make evaluations`: `cwnd evaluate NAME --quick --seeds {QUESTION.seeds}`, set of "
            f"scenarios {suite.VERSION}, baseline {BASELINE}. [evaluating.md](../evaluating.md) says what a "
            "verdict means and how to have your own.",
            "",
            "✓ pass, **✗** fail, ? undecided: the interval covers the bound, and more seeds would decide. "
            "A fail is a reason to look, not a ban: RFC 9743 asks for the evaluation and leaves the decision "
            "to people.",
            "",
            *_table(["", *numbers.values()], rows),
            "",
            "The criteria, and how many algorithms pass, fail and are undecided:",
            "",
            *_table(["", "id", "criterion", "section", "level", "✓ / ✗ / ?"], legend),
            "",
            "Not in the table, for every algorithm: "
            + ", ".join(f"`{one.id}` ({'text of the author' if one.author else 'not run'})" for one in left)
            + ".",
            "",
            "Reports: " + ", ".join(f"[{name}]({name}.md)" for name in PAGES if name in found) + ".",
            "",
        ]
    )


def _counts(found: Mapping[str, Mapping[str, str]], criterion: str) -> str:
    verdicts = [cells[criterion] for cells in found.values()]
    return " / ".join(str(verdicts.count(word)) for word in ("pass", "fail", "undecided"))


def _table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    lines = [headings, ["---"] * len(headings), *rows]
    return [f"| {' | '.join(line)} |" for line in lines]


if __name__ == "__main__":
    main()
