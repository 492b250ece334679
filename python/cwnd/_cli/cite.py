"""`cwnd cite`."""

from __future__ import annotations

import json
from pathlib import Path

import click

from cwnd import Results, cite
from cwnd._cli.options import flag_errors


@click.command("cite")
@click.argument("names", nargs=-1, metavar="[NAME|DIR]...")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def cite_command(names: tuple[str, ...], as_json: bool) -> None:
    """Print BibTeX of this version and of the papers of algorithms, or of all algorithms of a result in DIR.

    \b
    cwnd cite cubic elastic
    cwnd cite result > cwnd.bib
    """
    wanted: list[str] = []
    for name in names:
        wanted += algorithms_of(Path(name)) if Path(name).is_dir() else [name]
    with flag_errors():
        text = cite(wanted)
    click.echo(json.dumps({"bibtex": text}) if as_json else text, nl=as_json)


def algorithms_of(directory: Path) -> list[str]:
    """The algorithms of a result that the registry has; a class of the user has a paper of its own."""
    from cwnd._common.rows import runs_of_rows
    from cwnd._scenario.cite import references

    scenarios = Results.load(directory).scenarios
    used = dict.fromkeys(
        run.first["cca"]["algorithm"] for one in scenarios for run in runs_of_rows(one["flows"])
    )
    return [name for name in used if name in references()]
