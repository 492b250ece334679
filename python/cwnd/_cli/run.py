"""`cwnd run`."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from cwnd import Results, run
from cwnd._cli.options import (
    Flag,
    GroupedCommand,
    errors_about,
    figure_width_option,
    flag_errors,
    latex_option,
    read_changes,
    read_number,
    read_scenarios,
    refuse_both,
    scenario_flags,
)
from cwnd._cli.progress import progress_bar
from cwnd._cli.tables import flow_table, mean_digits, new_table, open_console, print_json
from cwnd._common.errors import error, one_line
from cwnd._common.labels import scenario_label
from cwnd._common.metrics import TABLE_COLUMNS
from cwnd._common.text import estimate
from cwnd._results.notes import INVALID
from cwnd._scenario.facts import shared_facts
from cwnd._scenario.scenario import Scenario

if TYPE_CHECKING:
    from rich.console import Console

    from cwnd import Expected
    from cwnd._common.shapes import Cell

_FLOW_ROWS_MAX = 32


@click.command("run", cls=GroupedCommand)
@click.argument("files", nargs=-1, metavar="[FILE]...")
@scenario_flags
@click.option(
    "--on",
    "world",
    default="sim",
    metavar="WORLD",
    help="Where to run: sim, the simulator; linux, a real kernel in virtual time; linux-ebpf, the same "
    "with the algorithms of this project; live, this machine's kernel; quinn, noq or s2n-quic, a QUIC stack "
    "in virtual time.  [sim]",
)
@click.option("--json", "as_json", is_flag=True, help="Print everything as one JSON object.")
@latex_option
@click.option("--out", metavar="DIR", help="Write tables (Parquet), figures and a manifest to DIR.")
@figure_width_option
@click.option("--pcap", metavar="FILE", help="Write what passes the senders, with the first seed, as pcapng.")
@click.option("--pcap-at", metavar="END", help="Or what passes the receivers: sender or receiver.  [sender]")
@click.option("--jobs", metavar="N", default="0", help="Number of runs at a time.  [one per core]")
@click.option(
    "--threads",
    metavar="N",
    default="0",
    help="Threads of the simulator for each run.  [one; for thousands of flows the free cores]",
)
def run_command(
    files: tuple[str, ...],
    world: str,
    as_json: bool,
    as_latex: bool,
    out: str | None,
    figure_width: str | None,
    pcap: str | None,
    pcap_at: str | None,
    jobs: str,
    threads: str,
    **flags: Flag,
) -> None:
    """Simulate scenario FILEs, or the dumbbell that the flags describe.

    \b
    cwnd run scenarios/elastic-single.toml
    cwnd run --cca elastic --cca cubic --rate 1Gbps --delay 100ms --buffer 3200
    """
    refuse_both(as_json, as_latex)
    scenarios = read_scenarios(files, flags)
    if pcap is not None or pcap_at is not None:
        _check_pcap(pcap, pcap_at, scenarios, world)
    if out is not None:
        from cwnd._results.directory import check_target

        with errors_about("--out"):
            check_target(Path(out))
    if figure_width is not None:
        if out is None:
            raise error("--figure-width", "is for the figures of --out DIR")
        with flag_errors():
            from cwnd._report.form import read_form

            read_form(figure_width)
    changes = read_changes(files, flags)
    with flag_errors(), progress_bar() as progress:
        numbers = {"jobs": read_number(jobs), "threads": read_number(threads)}
        results = run(scenarios, world=world, progress=progress, **numbers, **changes)
    if pcap is not None:
        from cwnd import capture

        # The simulator gives the same run again, packet by packet.
        with errors_about("--pcap"):
            capture(scenarios[0]._replace(seed=changes.get("seed")), pcap, at=pcap_at or "sender")
    if out is not None:
        with errors_about("--out"):
            results.save(out, command=["cwnd", *sys.argv[1:]], figure_width=figure_width)
    expected = _expected(results, scenarios)
    if as_json:
        print_json(results)
    elif as_latex:
        click.echo(results.to_latex(), nl=False)
    else:
        _print_results(results)
        for written in (pcap, out):
            if written is not None:
                click.echo(f"Written to {one_line(written)}")
    if expected is not None:
        click.echo(str(expected), err=as_json or as_latex)
    has_invalid = any(note.startswith(INVALID) for _, note in results.notes)
    if has_invalid or (expected is not None and not expected.ok):
        sys.exit(1)


def _expected(results: Results, scenarios: Iterable[object]) -> Expected | None:
    """The verdicts on what the scenarios expect; None: they expect nothing."""
    if not any("expect" in scenario for scenario in results.scenarios):
        return None
    from cwnd import expect

    return expect(results, scenarios=[one for one in scenarios if isinstance(one, Scenario)])


def _check_pcap(pcap: str | None, at: str | None, scenarios: Sequence[Scenario], world: str) -> None:
    """Raises an `Error` before anything runs, if there is no capture to make."""
    from cwnd._run.capture import ENDS

    if pcap is None:
        raise error("--pcap-at", "needs --pcap FILE")
    if len(scenarios) != 1:
        raise error("--pcap", f"is of one scenario, not {len(scenarios)}")
    if world != "sim":
        raise error("--pcap", f"only runs in 'sim' are captured, not in '{one_line(world)}'")
    if not Path(pcap).parent.is_dir():
        raise error("--pcap", f"{one_line(pcap)}: no such file or directory")
    if at is not None and at not in ENDS:
        raise error("--pcap-at", f"{one_line(repr(at))} is not {' or '.join(ENDS)}")


def _print_results(results: Results) -> None:
    scenarios = results.scenarios
    console = open_console()
    if len(scenarios) == 1 and 1 < len(scenarios[0]["flows"]) <= _FLOW_ROWS_MAX:
        console.print(flow_table(results, scenarios[0]["name"]))
    columns = dict(TABLE_COLUMNS)
    if any("fct_p50_ms" in entry["summary"] for entry in results.entries):
        columns |= {"fct_p50_ms": ("median FCT ms", 1), "fct_p99_ms": ("p99 FCT ms", 1)}
    packets, wall_s = (
        sum(made for one in results.entries if isinstance(made := one["engine"][key], int | float))
        for key in ("packets", "wall_s")
    )
    table = new_table(
        "scenario",
        *(f">{heading}" for heading, _ in columns.values()),
        ">p95 queue ms",
        title=", ".join(shared_facts(scenarios)),
        caption=f"{packets:,} packets in {wall_s:.2g} s, {_speed(packets / wall_s)} a second",
    )
    for entry in results.entries:
        name, summary = entry["scenario"]["name"], entry["summary"]
        cells = [
            estimate(summary[metric], scale) if metric in summary else ""
            for metric, (_, scale) in columns.items()
        ]
        table.add_row(scenario_label(entry["scenario"]), *cells, mean_digits(_queue_waits_ms(results, name)))
    console.print(table)
    _print_notes(results, console)


def _queue_waits_ms(results: Results, scenario: str) -> Iterable[float]:
    """The wait of each run at the link where it is longest."""
    waits_ms: dict[Cell, list[float]] = {}
    for seed, wait_ms in zip(*results._values("links", scenario, ["seed", "p95_queue_ms"]), strict=True):
        if isinstance(wait_ms, float):
            waits_ms.setdefault(seed, []).append(wait_ms)
    return map(max, waits_ms.values())


def _speed(packets_per_s: float) -> str:
    million = packets_per_s >= 100_000
    return f"{packets_per_s / 1e6:.1f} million" if million else f"{packets_per_s:,.0f}"


def _print_notes(results: Results, console: Console) -> None:
    scenarios = results.scenarios
    for name, note in results.notes:
        console.print(f"Note: {name}: {note}" if len(scenarios) > 1 else f"Note: {note}", highlight=False)
    for note in results.comparison_notes:
        console.print(f"Note: {note}", highlight=False)
