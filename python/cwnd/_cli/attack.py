"""`cwnd attack`."""

from __future__ import annotations

import sys
import time

import click

from cwnd import Attack, Error, attack
from cwnd._cli.options import read_cca, read_number
from cwnd._cli.progress import count_bar
from cwnd._cli.tables import new_table, open_console
from cwnd._common.errors import about, error, one_line
from cwnd._common.text import digits

_FLAGS = {"goals": "--goal", "cca": "NAME"}


@click.command("attack")
@click.argument("cca", metavar="NAME")
@click.option(
    "--goal",
    "goals",
    multiple=True,
    metavar="G",
    help="stall, pinned, underuse, bloat, loss, oscillate, starve or harm; repeatable.  [all]",
)
@click.option(
    "--beside",
    default="",
    metavar="NAME",
    help="The neighbour's algorithm.  [starve: one more of its own kind; harm: cubic]",
)
@click.option(
    "--bounds",
    default="reasonable",
    metavar="FILE",
    help="Bounds of the paths: reasonable, home, satellite, datacentre or a file.  [reasonable]",
)
@click.option("--budget", default="20000", metavar="N", help="Paths to judge.  [20000]")
@click.option("--seed", default="1", metavar="S", help="The same budget and seed find the same.  [1]")
@click.option("--shard", default="", metavar="I/N", help="Search a part alone, into the same --out.")
@click.option(
    "--on",
    default="",
    metavar="WORLDS",
    help="Worlds in which findings are repeated, like linux,quinn,noq.",
)
@click.option("--jobs", default="0", metavar="N", help="Number of runs at a time.  [one per core]")
@click.option("--out", metavar="DIR", help="Directory of the findings; repeat the command to continue.")
@click.option("--json", "as_json", is_flag=True, help="Print everything as one JSON object.")
def attack_command(
    cca: str,
    goals: tuple[str, ...],
    beside: str,
    bounds: str,
    budget: str,
    seed: str,
    shard: str,
    on: str,
    jobs: str,
    out: str | None,
    as_json: bool,
) -> None:
    """Search for paths on which an algorithm fails and a reference does not: a NAME, FILE.h
    or FILE.py:CLASS.

    \b
    cwnd attack vegas --budget 5000 --out found
    cwnd attack mine.h --on linux-ebpf --out found
    cwnd attack mine.py:Mine --goal starve --beside cubic --out found
    """
    begin = time.monotonic()
    try:
        with count_bar("attacking") as show:
            found = attack(
                read_cca(cca, "NAME"),
                goals=list(goals),
                beside=beside,
                bounds=bounds,
                budget=read_number(budget),
                seed=read_number(seed),
                shard=shard,
                on=[one.strip() for one in on.split(",") if one.strip()],
                jobs=read_number(jobs),
                out=out,
                progress=show,
            )
    except KeyboardInterrupt:
        kept = (
            ""
            if out is None
            else f"; what is done is kept in {one_line(out)}, repeat the command to continue"
        )
        print(f"cwnd: interrupted{kept}", file=sys.stderr)
        raise click.exceptions.Exit(130) from None
    except Error as refused:
        key, reason = about(refused)
        raise error(_FLAGS.get(key, f"--{key}" if key.isalpha() else key), reason) from None
    if as_json:
        click.echo(found.to_json(), nl=False)
    else:
        _print(found, time.monotonic() - begin)


def _print(found: Attack, took_s: float) -> None:
    if found.missing:
        click.echo(f"{found.subject}: this part is done; {found.missing:,} islands of others are missing")
        return
    table = new_table("finding", "what happens", ">seeds")
    for one in found.findings:
        table.add_row(one.name, one_line(one.sentence), f"{len(one.seeds)}/5")
    if found.findings:
        open_console().print(table)
    for asked in found.confirmations:
        told = f"{asked.finding} on {asked.world}: {asked.verdict} {one_line(asked.unsupported)}"
        click.echo(told.rstrip())
    work = f"{found.evaluations:,} paths, {found.runs:,} runs, {digits(found.packets / 1e6)} million packets"
    kinds = f"{len(found.findings)} kind{'s' * (len(found.findings) != 1)} of failure"
    where = "" if found.out is None else f"; see {one_line(found.out)}/README.md"
    click.echo(f"{found.subject}: {kinds} in {work}, {took_s:.0f} s{where}")
