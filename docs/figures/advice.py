"""The tables of docs/advice.md: the advice for the paths of advice.toml, and whether others agree with it.

Each path gets the advice, the same with two other seeds, and that for two paths near it: the rate 20 % lower
and the RTT 20 % higher, and the other way round, with further seeds. Tables go to standard output. Some 15
minutes on two cores.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import cwnd
from cwnd._advise.path import Factors, path_of_file, scaled
from cwnd._scenario.scenario import toml_text

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

HERE = Path(__file__).parent
TRACES = HERE.parents[1] / "scenarios" / "traces"
OTHERS = {
    "seed 2": (2, Factors()),
    "seed 3": (3, Factors()),
    "rate -20 %, RTT +20 %": (4, Factors(rate=0.8, delay=1.2)),
    "rate +20 %, RTT -20 %": (5, Factors(rate=1.2, delay=0.8)),
}


def advice_for(one: dict, seed: int, factors: Factors, folder: Path) -> cwnd.Advice:
    file = folder / "path.toml"

    def write(dumbbell: dict) -> None:
        file.write_text(toml_text({"dumbbell": dumbbell, "flows": [{"cca": "cubic"}]}))

    write(one["dumbbell"])
    write(scaled(path_of_file(file), factors).dumbbell)
    keys = {key: one[key] for key in ("flows", "beside", "goal")}
    return cwnd.advise(file, seed=seed, **keys)


def said(advice: cwnd.Advice) -> str:
    choice = advice.choice
    if choice.decision == "keep":
        return f"keep {choice.cca}"
    if choice.decision == "undecided":
        return f"undecided: {advice.present} or {choice.cca}"
    return " or ".join([choice.cca, *choice.equals])


def agrees(advice: cwnd.Advice, other: cwnd.Advice) -> bool:
    """Equal decisions, and of a change or a doubt an algorithm in common."""
    ours, theirs = ({one.choice.cca, *one.choice.equals} for one in (advice, other))
    return advice.choice.decision == other.choice.decision and bool(ours & theirs)


def order_holds(advice: cwnd.Advice, other: cwnd.Advice) -> tuple[int, int]:
    """Pairs of candidates whose scores the first distinguishes, and those in the same order in the other.

    Apart: the 95 % interval of the difference, run by run, has no zero in it.
    """
    scores, others = ({one.cca: one.score for one in each.choice.ranking} for each in (advice, other))
    both = [cca for cca in scores if cca in others]
    held = distinguished = 0
    for index, one in enumerate(both):
        for two in both[index + 1 :]:
            # Those that got more runs have the same first ones.
            differences = [a - b for a, b in zip(scores[one], scores[two], strict=False)]
            if not any(differences):
                continue
            found = cwnd._analysis.harm.estimate(differences)
            if found.low <= 0 <= found.high:
                continue
            distinguished += 1
            there = sum(others[one]) / len(others[one]) - sum(others[two]) / len(others[two])
            held += (there > 0) == (found.mean > 0)
    return held, distinguished


def main() -> None:
    paths = tomllib.loads((HERE / "advice.toml").read_text())["paths"]
    wanted = sys.argv[1:]
    rows = []
    for one in paths:
        if wanted and one["name"] not in wanted:
            continue
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            (folder / "traces").symlink_to(TRACES)
            advice = advice_for(one, 1, Factors(), folder)
            others = {key: advice_for(one, *how, folder) for key, how in OTHERS.items()}
        different = [f"{key}: {said(each)}" for key, each in others.items() if not agrees(advice, each)]
        orders = [order_holds(advice, each) for each in others.values()]
        held, distinguished = (sum(column) for column in zip(*orders, strict=True))
        print(f"\n### {one['name']}\n\n```\n{advice}\n```", flush=True)
        same = len(others) - len(different)
        rows.append(
            f"| {one['name']} | {one['goal']} | {said(advice)} | {same} of {len(others)} | "
            f"{held} of {distinguished} | {'; '.join(different)} |"
        )
        print(rows[-1], flush=True)
    print("\n| path | goal | advice | same advice | pairs in the same order | otherwise |")
    print("|---|---|---|---|---|---|")
    print("\n".join(rows))


if __name__ == "__main__":
    main()
