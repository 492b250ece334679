"""Random scenarios in the simulator and on Linux in virtual time: `make differential`.

Writes docs/validation/random-paths.md from the runs, which it keeps in the directory of --out.
"""

from __future__ import annotations

import json
from pathlib import Path

import click

import cwnd
from cwnd import _worlds

from . import frozen, page
from .draw import draw
from .run import SEEDS, Answers, run
from .score import score

PAGE = Path(__file__).parents[2] / "docs" / "validation" / "random-paths.md"


@click.command()
@click.option("--count", metavar="N", default=76, help="Number of scenarios.  [76]")
@click.option("--seed", metavar="N", default=1, help="Seed of the draw.  [1]")
@click.option("--out", metavar="DIR", required=True, help="Directory that keeps scenarios and runs.")
@click.option("--only", metavar="NAME", multiple=True, help="Run this scenario alone and print it in full.")
@click.option("--freeze", "is_frozen", is_flag=True, help="Keep scenarios and Linux's values for the test.")
@click.option("--json", "as_json", is_flag=True, help="Print all values as one JSON object.")
def main(count: int, seed: int, out: str, only: tuple[str, ...], is_frozen: bool, as_json: bool) -> None:
    """Draw scenarios, run each in both worlds, and score how far they agree."""
    drawn, folder = draw(count, seed), Path(out)
    groups = [(drawn, folder)]
    if only:
        by_name = {one.name: one for one in drawn}
        if absent := [name for name in only if name not in by_name]:
            raise click.UsageError(f"{absent[0]} is not in this draw; names are {drawn[0].name} and so on")
        # A sweep of fewer scenarios does not go into the directory of all.
        groups = [([by_name[name]], folder / "only" / name) for name in only]
        drawn = [by_name[name] for name in only]
    try:
        place = _worlds.find("linux").place()
        answers = {world: Answers({}, {}) for world in SEEDS}
        for some, where in groups:
            (where / "scenarios").mkdir(parents=True, exist_ok=True)
            for one in some:
                (where / "scenarios" / f"{one.name}.toml").write_text(one.text)
            for world, found in answers.items():
                more = run(some, world, where / world)
                found.values.update(more.values)
                found.failures.update(more.failures)
    except cwnd.Error as failed:
        raise click.ClickException(str(failed)) from None
    assert place is not None
    release = place.ends[1]
    scores = score(drawn, answers["sim"], answers["linux"])
    if as_json:
        print(json.dumps(page.content(scores, count, seed, release), allow_nan=False))
    else:
        print(*page.lines(scores), sep="\n")
        for scored in scores if only else ():
            print("", *page.side_by_side(scored), sep="\n")
    if is_frozen:
        frozen.freeze(scores, answers["linux"])
    if not only:
        PAGE.write_text(page.page(scores, count, seed, release))


if __name__ == "__main__":
    main()
