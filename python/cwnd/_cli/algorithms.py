"""`cwnd algorithms`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click

from cwnd import algorithms, presets
from cwnd._cli.tables import new_table, open_console
from cwnd._common.text import digits
from cwnd._scenario.registry import algorithm

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text

    from cwnd._scenario.registry import Param


@click.command("algorithms")
@click.argument("name", required=False)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def algorithms_command(name: str | None, as_json: bool) -> None:
    """List the algorithms and presets, or show one in full: its idea, parameters and their sources."""
    from rich.text import Text

    if name is None:
        if as_json:
            click.echo(json.dumps({"algorithms": algorithms(), "presets": presets()}, indent=2))
            return
        _print_algorithms()
        return
    described = algorithm(name)
    if as_json:
        click.echo(json.dumps(described, indent=2))
        return
    console = open_console()
    if "recovery" in described:
        recovery = described["recovery"] or "the stack's"
        console.print(Text.assemble((described["name"], "bold"), f": {described['about']}"))
        console.print(f"algorithm {described['algorithm']}, recovery {recovery}", highlight=False)
    else:
        idea = f": {described['title']} ({described['year']}), {described['kind']}, "
        console.print(Text.assemble((described["name"], "bold"), idea, _status(described["status"])))
        console.print(f"{described['paper']}; {described['state_bytes']} bytes of state", highlight=False)
        click.echo(f"\n{described['essay']}\n")
        if described["params"]:
            console.print(_params_table(described["params"]))
    for profile, setting in described["profiles"].items():
        listed = [f"{key} = {value}" for key, value in setting["params"].items()]
        listed += [_stack_key(key, value) for key, value in setting["stack"].items()]
        console.print(f"stack {profile} sets {', '.join(listed) or 'nothing'}", highlight=False)


def _params_table(params: list[Param]) -> Table:
    table = new_table("parameter", ">default", "accepted", "meaning", "source")
    for param in params:
        default, words = str(param["default"]), (param["accepted"], param["meaning"], param["source"])
        table.add_row(param["name"], default, *words)
    return table


def _print_algorithms() -> None:
    table = new_table("name", ">year", "title", "kind", "status", "paper")
    for each in algorithms():
        status = _status(each["status"])
        table.add_row(each["name"], str(each["year"]), each["title"], each["kind"], status, each["paper"])
    named = new_table("preset", "algorithm", "recovery", "description")
    for preset in presets():
        recovery = preset["recovery"] or "the stack's"
        named.add_row(preset["name"], preset["algorithm"], recovery, preset["about"])
    console = open_console()
    console.print(table)
    console.print(named)


def _status(status: str) -> Text:
    """The status, highlighted for an algorithm whose paper leaves gaps that we filled."""
    from rich.text import Text

    return Text(status, style="yellow" if status == "reconstruction" else "")


def _stack_key(field: str, value: bool | int | str | None) -> str:
    """A field of a stack as a scenario file writes it."""
    key, _, unit = field.rpartition("_")
    if unit == "ns" and isinstance(value, int):
        return f"{key} = {digits(value / 1e9)} s"
    if unit in ("pkts", "bytes"):
        return f"{key} = {'unlimited' if value is None else value}"
    return f"{field} = {str(value).lower()}"
