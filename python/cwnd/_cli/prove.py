"""`cwnd prove`."""

from __future__ import annotations

import click

from cwnd import prove
from cwnd._cli.options import flag_errors, read_number


@click.command("prove")
@click.argument("algorithm", metavar="NAME|FILE.h")
@click.option(
    "--property",
    "properties",
    multiple=True,
    metavar="NAME",
    help="division, window, growth, ssthresh or wrap; repeatable.  [all]",
)
@click.option(
    "--events",
    metavar="N",
    default="2000",
    help="Random events a hook that compare the translation with the native hook.  [2000]",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.option("--out", metavar="DIR", help="Also write the JSON object to DIR/NAME.json.")
def prove_command(
    algorithm: str, properties: tuple[str, ...], events: str, as_json: bool, out: str | None
) -> None:
    """Prove what the hooks of a header can never do, or show an event on which they do.

    The hooks are compiled to the bytecode of a kernel. A counterexample is an event, after an init with the
    same event, that was replayed on the header compiled for this machine: exit 1.

    \b
    cwnd prove elastic
    cwnd prove mine.h --property division --property window
    """
    with flag_errors():
        proof = prove(algorithm, properties=list(properties), events=read_number(events), out=out)
    click.echo(proof.to_json() if as_json else str(proof))
    if not proof.ok:
        raise click.exceptions.Exit(1)
