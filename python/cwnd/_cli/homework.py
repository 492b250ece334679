"""`cwnd homework`."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import click

from cwnd._cli.progress import progress_bar
from cwnd._common.errors import error, one_line, os_error
from cwnd._common.files import write_file
from cwnd._homework.answers import read_names
from cwnd._homework.assignment import find
from cwnd._homework.handout import homework_files


@click.group("homework")
def homework_command() -> None:
    """Homework about congestion control: a scenario for each student, and answers checked by runs."""


@homework_command.command("new")
@click.argument("assignment", metavar="ASSIGNMENT")
@click.option("--name", metavar="NAME", help="The student; the same name has the same scenarios.")
@click.option("--class", "names", metavar="FILE", help="A class instead: a name in each line.")
@click.option("--out", metavar="DIR", default=".", help="Where the files are written.  [here]")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def homework_new(assignment: str, name: str | None, names: str | None, out: str, as_json: bool) -> None:
    """Write a student's scenarios, and the file to fill in and to hand in.

    ASSIGNMENT is sawtooth, bufferbloat, rtt-unfairness, bbr-beside-cubic, queue-for-each-flow or random-loss.

    \b
    cwnd homework new sawtooth --name "Ada Lovelace"
    cwnd homework new sawtooth --class names.txt --out class
    """
    if (name is None) == (names is None):
        raise error("", "give one of --name NAME and --class FILE")
    wanted = [name] if name is not None else read_names(Path(names or ""))
    texts: dict[str, str] = {}
    for each in wanted:
        for file, text in homework_files(find(assignment), each).items():
            if texts.setdefault(file, text) != text:
                raise error(
                    "--class", f"'{one_line(each)}' has the file name of another, {file}; add a letter"
                )
    folder = Path(out)
    for file, text in texts.items():
        _check_absent(folder / file, text)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for file, text in texts.items():
            write_file(folder / file, text.encode())
    except OSError as failed:
        raise os_error(one_line(failed.filename or out), failed) from None
    written = [str(folder / file) for file in texts]
    if as_json:
        click.echo(json.dumps({"homework": assignment, "files": written}))
    else:
        click.echo("\n".join(map(one_line, written)))


def _check_absent(path: Path, text: str) -> None:
    """Answers that a student has written are kept."""
    try:
        found = path.read_bytes()
    except FileNotFoundError:
        return
    except OSError as failed:
        raise os_error(one_line(path), failed) from None
    if found != text.encode():
        raise error(
            one_line(path), "is there already and differs; accepted: another --out, or without the file"
        )


@homework_command.command("check")
@click.argument("paths", nargs=-1, required=True, metavar="FILE|DIR...")
@click.option(
    "--class", "names", metavar="FILE", help="The class, a name in each line: prints who is missing."
)
@click.option("--csv", "csv_file", metavar="FILE|-", help="Also write a row for each file; -: nothing else.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def homework_check(paths: tuple[str, ...], names: str | None, csv_file: str | None, as_json: bool) -> None:
    """Check files that were handed in; exit 1 if one of them cannot be read.

    A directory stands for all files in .txt below it. One file alone is shown with the expected numbers.

    \b
    cwnd homework check class --class names.txt --csv marks.csv
    cwnd homework check class/sawtooth-ada-lovelace.txt
    """
    from cwnd._homework.check import check

    wanted = [] if names is None else read_names(Path(names))
    with progress_bar() as progress:
        found = check(map(Path, paths), names=wanted, progress=progress)
    if csv_file == "-":
        click.echo(found.to_csv(), nl=False)
    else:
        click.echo(found.to_json() if as_json else str(found))
    if csv_file not in (None, "-"):
        try:
            write_file(Path(csv_file or ""), found.to_csv().encode())
        except OSError as failed:
            raise os_error(one_line(csv_file), failed) from None
    if found.refused:
        if csv_file == "-":
            print("\n".join(f"cwnd: {one}" for one in found.refused), file=sys.stderr)
        raise click.exceptions.Exit(1)
