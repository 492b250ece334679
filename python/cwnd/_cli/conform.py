"""`cwnd conform`."""

from __future__ import annotations

import click

from cwnd import conform
from cwnd._cli.options import flag_errors


@click.command("conform")
@click.argument("algorithm", metavar="NAME|STACK:NAME|FILE.h|FILE.py:CLASS")
@click.option(
    "--suite",
    "suites",
    multiple=True,
    metavar="NAME",
    help="Cases of rfc9438, rfc9406, ...; repeatable.  [those about the algorithm]",
)
@click.option(
    "--on",
    "world",
    default="sim",
    metavar="WORLD",
    help="Where cases with a network run: linux has the kernel's own algorithms.  [sim]",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.option(
    "--out", metavar="DIR", help="Also write the JSON object to DIR; elsewhere than in sim, go on there."
)
@click.option("--junit", metavar="FILE", help="Also write JUnit's XML to FILE, for CI.")
@click.option(
    "--html", metavar="FILE", help="Also write a page with the trace of each case that fails or warns."
)
def conform_command(
    algorithm: str,
    suites: tuple[str, ...],
    world: str,
    as_json: bool,
    out: str | None,
    junit: str | None,
    html: str | None,
) -> None:
    """Try the clauses of RFCs and drafts on an algorithm: exit 1 if one with MUST fails.

    A header of your own has the cases of its name: those of cubic for a cubic.h that you changed.

    \b
    cwnd conform cubic
    cwnd conform mine.h --suite rfc9438 --suite rfc9406 --junit conform.xml
    cwnd conform cubic --on linux --out verdicts
    cwnd conform quinn:cubic --on quinn --html verdicts.html
    """
    with flag_errors():
        verdicts = conform(algorithm, suite=suites, world=world, out=out, junit=junit, html=html)
    click.echo(verdicts.to_json() if as_json else str(verdicts))
    if not verdicts.ok:
        raise click.exceptions.Exit(1)
