"""`cwnd papers` and `cwnd reproduce`."""

from __future__ import annotations

import json
import sys

import click

from cwnd import Reproduction, reproduce
from cwnd._cli.options import read_number
from cwnd._cli.progress import show_progress
from cwnd._cli.tables import new_table, open_console
from cwnd._common.errors import error, one_line
from cwnd._reproduce import verdicts
from cwnd._reproduce.paper import papers


@click.command("papers")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def papers_command(as_json: bool) -> None:
    """List the papers: topic, figures and tables."""
    known = papers()
    if as_json:
        listed = [
            {
                "name": paper.name,
                "title": paper.title,
                "citation": paper.citation,
                "about": paper.about,
                "items": [*paper.items, *paper.traces],
                "numbers": len(paper.published),
                "claims": len(paper.claims),
            }
            for paper in known
        ]
        click.echo(json.dumps({"papers": listed}, indent=2))
        return
    table = new_table("paper", "about", "figures and tables", ">numbers", ">claims")
    for paper in known:
        items = " ".join([*paper.items, *paper.traces])
        table.add_row(paper.name, paper.about, items, str(len(paper.published)), str(len(paper.claims)))
    open_console().print(table)


@click.command("reproduce")
@click.argument("names", nargs=-1, metavar="[PAPER]...")
@click.option("--all", "all_of_them", is_flag=True, help="Every paper.")
@click.option("--only", metavar="ITEMS", help="Only these figures and tables, such as fig10,table4.")
@click.option("--quick", is_flag=True, help="Run a few points of each, with few seeds.")
@click.option("--seeds", metavar="N", help="Seeds of each point that has randomness.  [30; quick: 3]")
@click.option("--jobs", metavar="N", default="0", help="Number of runs at a time.  [one per core]")
@click.option(
    "--on", "world", default="sim", metavar="WORLD", help="Where testbeds run: sim, linux or live.  [sim]"
)
@click.option(
    "--out", metavar="DIR", default="reproduced", help="Directory of runs, tables and figures.  [reproduced]"
)
@click.option("--json", "as_json", is_flag=True, help="Print the verdicts as one JSON object.")
def reproduce_command(
    names: tuple[str, ...],
    all_of_them: bool,
    only: str | None,
    quick: bool,
    seeds: str | None,
    jobs: str,
    world: str,
    out: str,
    as_json: bool,
) -> None:
    """Re-run the experiments of PAPERs. Repeat the command to continue where it stopped.

    \b
    cwnd reproduce elastic-tcp --only fig10,table4
    cwnd reproduce --all --quick
    cwnd reproduce elastic-tcp --on linux
    """
    if bool(names) == all_of_them:
        raise error("", "give names of papers or --all; 'cwnd papers' lists them")
    chosen = [paper.name for paper in papers()] if all_of_them else list(dict.fromkeys(names))
    items = [] if only is None else [part.strip() for part in only.split(",") if part.strip()]
    reproductions = []
    for name in chosen:
        with show_progress(out, name) as seen:
            reproductions.append(
                reproduce(
                    name,
                    only=items,
                    quick=quick,
                    seeds=None if seeds is None else read_number(seeds),
                    jobs=read_number(jobs),
                    world=world,
                    out=out,
                    progress=seen,
                    command=["cwnd", *sys.argv[1:]],
                )
            )
        if not as_json:
            _print_reproduction(reproductions[-1])
    if as_json:
        click.echo(verdicts.to_json(reproductions))
        return
    click.echo(f"Tables and figures in {one_line(out)}")
    click.echo(str(verdicts.total(reproductions)))


def _print_reproduction(reproduction: Reproduction) -> None:
    """A row per item, a row per claim."""
    console = open_console()
    table = new_table(
        "item", "", ">numbers", ">agree", ">differ", ">explained", title=f"{reproduction.paper.name}:"
    )
    for item, summary in reproduction.items():
        if summary.numbers:
            counts = (summary.numbers, summary.agree, summary.differ, summary.explained)
            table.add_row(item.name, item.title, *map(str, counts))
    if table.row_count:
        console.print(table)
    claims = new_table("where", "claim", "verdict", "measured")
    for one in reproduction.claims:
        if one.verdict != "not run":
            claims.add_row(one.claim.where, one.claim.text, one.verdict, one.measured)
    if claims.row_count:
        console.print(claims)
