"""The command `cwnd`: a caller of the public API."""

from __future__ import annotations

import contextlib
import json
import math
import os
import re
import runpy
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

import click

from cwnd import (
    CongestionControl,
    Error,
    Reproduction,
    Results,
    Scenario,
    Tuning,
    __version__,
    _papers,
    _sweep,
    _verdicts,
    algorithms,
    dumbbell,
    kernel,
    presets,
    reproduce,
    run,
    tune,
)
from cwnd._errors import error, one_line, os_error
from cwnd._facts import digits, estimate, exponent, is_trace, rate, shared_facts
from cwnd._files import write_file
from cwnd._manifest import read_manifest
from cwnd._results import check_target, write_figure
from cwnd._scenario import algorithm

if TYPE_CHECKING:
    import polars as pl
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

_FLOW_ROWS_MAX = 32

_Command = TypeVar("_Command", bound=Callable[..., None])

#: Flags that say a scenario, each an argument of `dumbbell`: how the value is shown, and its help.
_SCENARIO_FLAGS = {
    "flows": ("N", "Flows of each algorithm.  [1]"),
    "rate": ("RATE", "Of the bottleneck, such as 100Mbps.  [1Gbps]"),
    "delay": ("TIME", "Of the bottleneck, one way, such as 10ms.  [100ms]"),
    "buffer": ("SIZE", "Of the bottleneck: packets, 2BDP or unlimited.  [1BDP]"),
    "per": ("P", "Packet error rate of the bottleneck, such as 1e-5.  [0]"),
    "ecn_threshold": ("PACKETS", "Queue of the bottleneck above which it marks; ECN on.  [never]"),
    "packet": ("BYTES", "Payload of a packet.  [1448; 1000 with --stack ns2]"),
    "duration": ("TIME", "Simulated time.  [100s]"),
    "seed": ("N", "Of the first repetition; the others count up.  [1]"),
    "repeat": ("N", "Repetitions, for confidence intervals.  [1]"),
    "access_rate": ("RATE", "Of the links of each host.  [10 times --rate]"),
    "access_delay": ("TIME", "Of the links of each host, one way.  [0s]"),
    "access_buffer": ("SIZE", "Of the links of each host.  [unlimited]"),
    "start": ("TIME", "When the first flow starts.  [0s]"),
    "stagger": ("TIME", "Each flow starts that much after the one before.  [0s]"),
    "start_jitter": ("TIME", "Each flow starts later by a random time below it.  [0s]"),
    "stop": ("TIME", "When the first flow stops.  [the end]"),
    "stop_stagger": ("TIME", "Each flow stops that much before the one before.  [0s]"),
    "app_rate": ("RATE", "Of payload that each application writes.  [all at once]"),
    "on": ("TIME", "Each application writes for so long,"),
    "off": ("TIME", "pauses for so long, and so on.  [no pauses]"),
    "stack": ("NAME", "TCP stack: linux (today's) or ns2 (of ns-2.35).  [linux]"),
    "recovery": ("NAME", "tahoe, reno, newreno, vegas, sack, fack, prr or rate-halving.  [the stack's]"),
    "samples": ("N|TIME", "Time series: intervals, an interval, change or off.  [100]"),
    "clock": ("NAME", "nanoseconds, or ns2: rounded as ns-2 rounds, which decides ties.  [nanoseconds]"),
    "end": ("NAME", "Results as of: duration, or last-arrival, of a packet before that.  [duration]"),
}

#: Flags whose value is a number to TOML.
_NUMBERS = {"flows", "per", "ecn_threshold", "seed", "repeat", "samples"}

#: Arguments of the API that are flags and do not say a scenario.
_OTHER_FLAGS = {
    *("cca", "rtt", "jobs", "shard", "until", "max_seeds", "dask", "metric", "margin", "only", "seeds"),
    *("objective", "trials", "held_out_seeds"),
    *("port", "interval"),
}


def _flag(name: str) -> str:
    # --on is where to run.
    special = {"ccas": "--cca", "params": "--param", "on": "--app-on", "off": "--app-off"}
    return special.get(name, "--" + name.replace("_", "-"))


def _scenario_flags(command: _Command) -> _Command:
    for name, (metavar, help_text) in reversed(_SCENARIO_FLAGS.items()):
        command = click.option(_flag(name), name, metavar=metavar, help=help_text)(command)
    command = click.option(
        "--param",
        "params",
        multiple=True,
        metavar="NAME=VALUE",
        help="Of the algorithm; CCA.NAME=VALUE when several.",
    )(command)
    return click.option(
        "--cca",
        "ccas",
        multiple=True,
        metavar="NAME",
        help="Algorithm, or FILE.py:CLASS. Several are compared.",
    )(command)


@click.group(invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, message="cwnd %(version)s")
@click.pass_context
def cli(context: click.Context) -> None:
    """TCP congestion control: a fast packet simulator and every algorithm written once."""
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


@cli.command("run", short_help="Simulate scenarios and compare what came of them.")
@click.argument("files", nargs=-1, metavar="[FILE]...")
@_scenario_flags
@click.option("--on", "world", default="sim", metavar="WORLD", help="Where: sim, the simulator.  [sim]")
@click.option("--json", "as_json", is_flag=True, help="Print everything as one JSON object.")
@click.option("--out", metavar="DIR", help="Write tables (Parquet), figures and a manifest there.")
@click.option("--jobs", metavar="N", default="0", help="Runs at a time.  [one per core]")
def _run(files: tuple[str, ...], world: str, as_json: bool, out: str | None, jobs: str, **flags: Any) -> None:
    """Simulate scenario FILEs, or the dumbbell that the flags describe.

    \b
    cwnd run scenarios/elastic-single.toml
    cwnd run --cca elastic --cca cubic --rate 1Gbps --delay 100ms --buffer 3200
    """
    if world != "sim":
        raise error("--on", f"'{one_line(world)}' is not a world to run in; there is only 'sim'")
    scenarios = _scenarios(files, flags)
    if out is not None:
        with _speaking_of("--out"):
            check_target(Path(out))
    changes = {name: _number(flags[name]) for name in ("seed", "repeat") if files and flags[name] is not None}
    with _flag_errors(), _progress_bar() as progress:
        results = run(scenarios, jobs=_number(jobs), progress=progress, **changes)
    if out is not None:
        with _speaking_of("--out"):
            results.save(out, command=["cwnd", *sys.argv[1:]])
    if as_json:
        click.echo(results.to_json())
    else:
        _print_results(results)
        if out is not None:
            click.echo(f"Written to {one_line(out)}")


@cli.command("model", short_help="What a model says of a path, beside a simulation of it.")
@click.option("--cca", required=True, metavar="NAME", help="Algorithm; a wrong one lists those with a model.")
@click.option("--param", "params", multiple=True, metavar="NAME=VALUE", help="Of the algorithm.")
@click.option("--rate", default="1Gbps", metavar="RATE", help="Of the bottleneck, such as 100Mbps.  [1Gbps]")
@click.option(
    "--rtt", default="200ms", metavar="TIME", help="Both ways, without queues, such as 20ms.  [200ms]"
)
@click.option("--buffer", default="1BDP", metavar="SIZE", help="Of the bottleneck: packets or 2BDP.  [1BDP]")
@click.option("--per", metavar="P", help="Packet error rate of the bottleneck, such as 1e-5.  [0]")
@click.option("--packet", metavar="BYTES", help="Payload of a packet.  [1448]")
@click.option("--duration", metavar="TIME", help="Simulated time.  [60 epochs, at most 4 million packets]")
@click.option("--seed", metavar="N", help="Of the first repetition; the others count up.  [1]")
@click.option("--repeat", metavar="N", help="Repetitions, for the interval.  [5; without --per 1]")
@click.option("--out", metavar="FILE", help="Draw it there: .png, .svg or .pdf.")
@click.option("--json", "as_json", is_flag=True, help="Print it as one JSON object.")
def _model_command(
    cca: str, params: tuple[str, ...], out: str | None, as_json: bool, **flags: str | None
) -> None:
    """Tell the throughput of one flow by a Markov chain of its window, and by simulation.

    \b
    cwnd model --cca agile-sd --rate 100Mbps --rtt 20ms --buffer 50 --per 1e-5 --out model.svg
    """
    from cwnd import _model

    said: dict[str, Any] = {
        name: _number(value) if name in _NUMBERS else value
        for name, value in flags.items()
        if value is not None
    }
    with _flag_errors(), _progress_bar() as progress:
        compared = _model.compare(cca, params=_params([cca], params)[cca], progress=progress, **said)
    if out is not None:
        write_figure(_model.draw(compared), Path(out))
    told = compared.told()
    if as_json:
        click.echo(json.dumps(told))
        return
    _print_model(told)
    if out is not None:
        click.echo(f"Written to {one_line(out)}")


def _print_model(told: dict[str, Any]) -> None:
    path, model, simulation = told["path"], told["model"], told["simulation"]
    table = _table("", ">model", ">simulation")
    metrics = {
        "throughput_mbps": "throughput Mbit/s",
        "mean_cwnd_pkts": "mean cwnd packets",
        "mean_rtt_ms": "mean RTT ms",
    }
    for metric, heading in metrics.items():
        simulated = simulation[metric] if simulation[metric]["n"] else None
        table.add_row(heading, digits(model[metric]), estimate(simulated, 1))
    console = _console()
    click.echo(
        f"{told['cca']}: {rate(path['rate_bps'])}, RTT {digits(path['rtt_ms'])} ms, "
        f"buffer {path['buffer_pkts']} packets, PER {exponent(path['per'])}\n"
    )
    console.print(table)
    alone = model["random_loss_only_mbps"]
    lines = [
        f"model: {model['kind']} of windows and last losses; {digits(model['epoch_s'])} s and "
        f"{digits(model['packets_per_loss'])} packets from loss to loss, most of them {model['limited_by']}",
        f"without random loss {digits(model['congestion_only_mbps'])} Mbit/s (deterministic epoch)"
        + f", without congestion {digits(alone)} Mbit/s (response function)" * (alone is not None),
        f"simulation: {digits(simulation['from_s'])} to {digits(simulation['to_s'])} s, "
        f"{simulation['epochs']:.2g} epochs" + "; give --duration for more" * (simulation["epochs"] < 10),
        *(f"the model does not hold: {limit}" for limit in model["limits"]),
    ]
    for line in lines:
        console.print(line, highlight=False)


@cli.command("show", short_help="The scenario as understood: RTT, BDP, buffers in BDPs.")
@click.argument("files", nargs=-1, metavar="[FILE]...")
@_scenario_flags
@click.option("--json", "as_json", is_flag=True, help="Print it as one JSON object.")
def _show(files: tuple[str, ...], as_json: bool, **flags: Any) -> None:
    """Show scenario FILEs, or the dumbbell that the flags describe, without running anything."""
    changes = {name: _number(flags[name]) for name in ("seed", "repeat") if files and flags[name] is not None}
    scenarios = _scenarios(files, flags)
    with _flag_errors():
        scenarios = [scenario._replace(**changes) for scenario in scenarios]
    described = [scenario.describe() for scenario in scenarios]
    if as_json:
        click.echo(json.dumps(described[0] if len(described) == 1 else {"scenarios": described}))
        return
    for scenario in described:
        _print_scenario(scenario)


@cli.command("sweep", short_help="Run a scenario's [sweep]; goes on where it stopped.")
@click.argument("file", metavar="FILE")
@click.option(
    "--out", required=True, metavar="DIR", help="Keeps the runs; the same command goes on with them."
)
@click.option("--jobs", metavar="N", default="0", help="Runs at a time.  [one per core]")
@click.option("--repeat", metavar="N", help="Seeds of each point, the same for all.  [the scenario's]")
@click.option("--shard", metavar="I/N", help="Only every N-th run, from the I-th (0/N to N-1/N).")
@click.option(
    "--until", metavar="ci=SHARE", help="More seeds until the throughput's 95 % interval is within it."
)
@click.option("--max-seeds", metavar="N", help="The most seeds of a point with --until.  [100]")
@click.option("--dask", metavar="ADDRESS", help="Run on a Dask cluster, such as tcp://127.0.0.1:8786.")
def _sweep_command(
    file: str,
    out: str,
    jobs: str,
    repeat: str | None,
    shard: str | None,
    until: str | None,
    max_seeds: str | None,
    dask: str | None,
) -> None:
    """Run every point of the [sweep] of a scenario FILE with each of its seeds.

    \b
    cwnd sweep scenarios/elastic-buffer-sweep.toml --out sweep --until ci=2%
    cwnd results sweep
    """
    with _flag_errors():
        plan = _sweep.read(file, repeat=None if repeat is None else _number(repeat))
    with _watched(out) as seen:
        outcome = _sweep.work(
            plan,
            Path(out),
            jobs=_number(jobs),
            shard=None if shard is None else _sweep.read_shard(shard),
            until=None if until is None else _sweep.read_until(until),
            max_seeds=None if max_seeds is None else _number(max_seeds),
            dask=dask,
            progress=seen,
            command=["cwnd", *sys.argv[1:]],
        )
    for failure in outcome.failures:
        print(f"cwnd: failed: {failure}", file=sys.stderr)
    click.echo(_sweep_line(outcome, out))
    if outcome.failures:
        raise click.exceptions.Exit(1)


def _sweep_line(outcome: _sweep.Outcome, out: str) -> str:
    """How a sweep ended."""
    runs = f"{outcome.runs:,} run{'s' * (outcome.runs != 1)} of {outcome.points:,} point"
    told = [runs + "s" * (outcome.points != 1)]
    if outcome.ran == outcome.runs:
        told.append(f"in {outcome.wall_s:.3g} s, {outcome.ran / outcome.wall_s:.0f} a second")
    else:
        told.append(f"{outcome.ran:,} new, in {outcome.wall_s:.3g} s")
    if outcome.failures:
        told.append(f"{len(outcome.failures):,} failed")
    if not outcome.finished:
        return f"{', '.join(told)}; {one_line(out)} waits for the other shards"
    return f"{', '.join(told)}; see 'cwnd results {one_line(out)}'"


@cli.command("tune", short_help="Look for an algorithm's best parameters; judge them on held-out seeds.")
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@click.option("--cca", required=True, metavar="NAME", help="Whose flows are tuned.")
@click.option(
    "--param",
    "params",
    multiple=True,
    required=True,
    metavar="NAME=LOW:HIGH",
    help="What is tuned, and where.",
)
@click.option(
    "--objective",
    metavar="WHAT",
    default="throughput",
    help="throughput, loss, fairness, or weights: throughput=1,loss=-10,fairness=0.5.  [throughput]",
)
@click.option("--trials", metavar="N", default="50", help="Candidates besides the default.  [50]")
@click.option("--repeat", metavar="N", default="5", help="Seeds of each scenario to tune on.  [5]")
@click.option("--held-out", multiple=True, metavar="FILE", help="Scenario for a second judgement.")
@click.option("--held-out-seeds", metavar="N", default="30", help="Seeds to judge on.  [30]")
@click.option(
    "--out", required=True, metavar="DIR", help="Keeps the runs; the same command goes on with them."
)
@click.option("--jobs", metavar="N", default="0", help="Runs at a time.  [one per core]")
@click.option("--json", "as_json", is_flag=True, help="Print everything as one JSON object.")
def _tune_command(
    files: tuple[str, ...],
    cca: str,
    params: tuple[str, ...],
    objective: str,
    trials: str,
    repeat: str,
    held_out: tuple[str, ...],
    held_out_seeds: str,
    out: str,
    jobs: str,
    as_json: bool,
) -> None:
    """Tune parameters of the flows of an algorithm over scenario FILEs, and compare with the default.

    \b
    cwnd tune scenarios/agile-sd-tuning.toml --cca agile-sd --param lambda_max=1:20 --out tuned
    cwnd gate tuned/held-out-seeds/default tuned/held-out-seeds/tuned
    """
    try:
        with _flag_errors(), _sweep_bar("tuning") as show:
            tuning = tune(
                list(files),
                cca=cca,
                params=dict(map(_range, params)),
                objective=objective,
                trials=_number(trials),
                repeat=_number(repeat),
                held_out=list(held_out),
                held_out_seeds=_number(held_out_seeds),
                out=out,
                jobs=_number(jobs),
                progress=show,
            )
    except KeyboardInterrupt:
        kept = f"what was run is kept in {one_line(out)}; the same command goes on with it"
        print(f"cwnd: interrupted; {kept}", file=sys.stderr)
        raise click.exceptions.Exit(130) from None
    if as_json:
        click.echo(tuning.to_json())
    else:
        _print_tuning(tuning)


def _range(text: str) -> tuple[str, tuple[Any, Any]]:
    """NAME=LOW:HIGH."""
    name, equals, ends = text.partition("=")
    low, colon, high = ends.partition(":")
    if not (name and equals and colon):
        raise error("--param", f"'{one_line(text)}' is not NAME=LOW:HIGH")
    return name, (_number(low), _number(high))


def _print_tuning(tuning: Tuning) -> None:
    console = _console()
    weights = ", ".join(f"{weight:g} {name}" for name, weight in tuning.objective.items())
    default = tuning.default or {}
    told = [
        f"{name} = {value:g} (default {default.get(name, 'not one')})"
        for name, value in tuning.params.items()
    ]
    candidates = f"{len(tuning.trials) - 1:,} candidates, objective {weights}"
    console.print(f"{tuning.cca}: {', '.join(told)}; {candidates}", highlight=False)
    for one in tuning.judgements:
        of = f"{len(one.scenarios)} scenario{'s' * (len(one.scenarios) != 1)}, {one.seeds} seeds"
        table = _table(one.on, ">default", ">tuned", ">difference", ">95 % interval", title=of)
        for name, measure in one.measures.items():
            ends = f"{_signed(measure.ci95_low)} to {_signed(measure.ci95_high)}"
            table.add_row(
                name, digits(measure.default), digits(measure.tuned), _signed(measure.difference), ends
            )
        console.print(table)
    for one in tuning.judgements:
        click.echo(f"on {one.on}: {one.verdict}")


def _signed(number: float) -> str:
    return f"{'+' * (number > 0)}{exponent(float(f'{number:.3g}'))}"


@cli.command("results", short_help="Summarise a result, export its tables, redraw its figures.")
@click.argument("directory", metavar="DIR")
@click.option("--csv", metavar="FILE|-", help="Write a table as CSV and nothing else.")
@click.option(
    "--table", metavar="NAME", default="summary", help="For --csv: summary, flows or links.  [summary]"
)
@click.option("--json", "as_json", is_flag=True, help="Print everything as one JSON object.")
def _results(directory: str, csv: str | None, table: str, as_json: bool) -> None:
    """Summarise what DIR holds and draw its figures again, without a run."""
    if table not in ("summary", "flows", "links"):
        raise error("--table", f"'{one_line(table)}' is not a table; summary, flows or links")
    if csv is not None and as_json:
        raise error("--csv", "not together with --json")
    results = Results.load(directory)
    if as_json:
        click.echo(results.to_json())
        return
    if csv is not None:
        _export(results, table, csv)
        return
    _print_swept(results)
    kinds = results.plots()
    for kind in kinds:
        figure = results.plot(kind)
        for ending in ("png", "svg", "pdf"):
            write_figure(figure, Path(directory) / f"{kind}.{ending}")
    if kinds:
        click.echo(f"Figures in {one_line(directory)}: {', '.join(kinds)} (PNG, SVG, PDF)")


@cli.command("report", short_help="One HTML page with everything of a result.")
@click.argument("directory", metavar="DIR")
@click.option("--out", metavar="FILE", help="Where to.  [DIR/report.html]")
def _report(directory: str, out: str | None) -> None:
    """Write one self-contained HTML page: figures, tables, scenario, where it comes from."""
    from cwnd import _report

    results = Results.load(directory)
    path = Path(directory) / "report.html" if out is None else Path(out)
    try:
        _report.write(results, path, read_manifest(Path(directory)))
    except OSError as failed:
        raise os_error(one_line(str(path)), failed) from None
    click.echo(f"Written to {one_line(str(path))}")


@cli.command("gate", short_help="Whether a result is no worse than another; exit 1 if not.")
@click.argument("baseline", metavar="BASELINE")
@click.argument("candidate", metavar="CANDIDATE")
@click.option("--metric", metavar="NAME", default="throughput", help="What is compared.  [throughput]")
@click.option("--margin", metavar="SHARE", default="2%", help="The loss that does not count.  [2%]")
def _gate_command(baseline: str, candidate: str, metric: str, margin: str) -> None:
    """Compare two results point by point on the same seeds: one line each; exit 1 unless all are ok."""
    written = re.fullmatch(r"\s*([0-9.]+(?:[eE][-+]?[0-9]+)?)\s*(%?)\s*", margin)
    try:
        share = float(written[1]) / (100 if written[2] else 1) if written else None
    except ValueError:
        share = None
    if share is None:
        raise error("--margin", f"'{one_line(margin)}' is not a share, such as 2% or 0.02")
    from cwnd import _gate

    with _flag_errors():
        verdicts = _gate.gate(Results.load(baseline), Results.load(candidate), metric, share)
    for verdict in verdicts:
        click.echo(verdict.line)
    if not all(verdict.ok for verdict in verdicts):
        raise click.exceptions.Exit(1)


@cli.command("papers", short_help="The papers that can be re-run.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def _papers_command(as_json: bool) -> None:
    """List the papers: what each is about, its figures and tables."""
    known = _papers.papers()
    if as_json:
        told = [
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
        click.echo(json.dumps({"papers": told}, indent=2))
        return
    table = _table("paper", "about", "figures and tables", ">numbers", ">claims")
    for paper in known:
        items = " ".join([*paper.items, *paper.traces])
        table.add_row(paper.name, paper.about, items, str(len(paper.published)), str(len(paper.claims)))
    _console().print(table)


@cli.command("reproduce", short_help="Re-run papers: published numbers beside ours, with verdicts.")
@click.argument("names", nargs=-1, metavar="[PAPER]...")
@click.option("--all", "all_of_them", is_flag=True, help="Every paper.")
@click.option("--only", metavar="ITEMS", help="Only these figures and tables, such as fig10,table4.")
@click.option("--quick", is_flag=True, help="A few points of each, with few seeds.")
@click.option("--seeds", metavar="N", help="Where randomness plays a part.  [30; quick: 3]")
@click.option("--jobs", metavar="N", default="0", help="Runs at a time.  [one per core]")
@click.option(
    "--out", metavar="DIR", default="reproduced", help="Keeps runs, tables and figures.  [reproduced]"
)
@click.option("--json", "as_json", is_flag=True, help="Print the verdicts as one JSON object.")
def _reproduce_command(
    names: tuple[str, ...],
    all_of_them: bool,
    only: str | None,
    quick: bool,
    seeds: str | None,
    jobs: str,
    out: str,
    as_json: bool,
) -> None:
    """Run the experiments of PAPERs again. The same command goes on where it stopped.

    \b
    cwnd reproduce elastic-tcp --only fig10,table4
    cwnd reproduce --all --quick
    """
    if bool(names) == all_of_them:
        raise error("", "name papers, or say --all; 'cwnd papers' lists them")
    chosen = [paper.name for paper in _papers.papers()] if all_of_them else list(dict.fromkeys(names))
    items = [] if only is None else [part.strip() for part in only.split(",") if part.strip()]
    reproductions = []
    for name in chosen:
        with _watched(out, name) as seen:
            reproductions.append(
                reproduce(
                    name,
                    only=items,
                    quick=quick,
                    seeds=None if seeds is None else _number(seeds),
                    jobs=_number(jobs),
                    out=out,
                    progress=seen,
                    command=["cwnd", *sys.argv[1:]],
                )
            )
        if not as_json:
            _print_reproduction(reproductions[-1])
    if as_json:
        click.echo(_verdicts.to_json(reproductions))
        return
    click.echo(f"Tables and figures in {one_line(out)}")
    click.echo(str(_verdicts.total(reproductions)))


def _print_reproduction(reproduction: Reproduction) -> None:
    """A row per item, a row per claim."""
    console = _console()
    table = _table(
        "item", "", ">numbers", ">agree", ">differ", ">explained", title=f"{reproduction.paper.name}:"
    )
    for item, told in reproduction.items():
        if told.numbers:
            counts = (told.numbers, told.agree, told.differ, told.explained)
            table.add_row(item.name, item.title, *map(str, counts))
    if table.row_count:
        console.print(table)
    claims = _table("where", "claim", "verdict", "measured")
    for one in reproduction.claims:
        if one.verdict != "not run":
            claims.add_row(one.claim.where, one.claim.text, one.verdict, one.measured)
    if claims.row_count:
        console.print(claims)


@cli.command("algorithms", short_help="The algorithms, or one of them in full.")
@click.argument("name", required=False)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def _algorithms(name: str | None, as_json: bool) -> None:
    """List the algorithms and presets, or tell one in full: the idea, its parameters and their sources."""
    from rich.text import Text

    if name is None:
        if as_json:
            click.echo(json.dumps({"algorithms": algorithms(), "presets": presets()}, indent=2))
            return
        _print_algorithms()
        return
    told: dict[str, Any] = {**algorithm(name)}
    if as_json:
        click.echo(json.dumps(told, indent=2))
        return
    console = _console()
    if "law" in told:
        recovery = told["recovery"] or "the stack's"
        console.print(Text.assemble((told["name"], "bold"), f": {told['about']}"))
        console.print(f"law {told['law']}, recovery {recovery}", highlight=False)
    else:
        idea = f": {told['title']} ({told['year']}), {told['kind']}, "
        console.print(Text.assemble((told["name"], "bold"), idea, _status(told["status"])))
        console.print(f"{told['paper']}; {told['state_bytes']} bytes of state", highlight=False)
        click.echo(f"\n{told['essay']}\n")
    if told.get("params"):
        table = _table("parameter", ">default", "accepted", "meaning", "source")
        for param in told["params"]:
            table.add_row(*(str(param[key]) for key in ("name", "default", "accepted", "meaning", "source")))
        console.print(table)
    for profile, setting in told["profiles"].items():
        listed = [f"{key} = {value}" for key, value in setting["params"].items()]
        listed += [_stack_key(key, value) for key, value in setting["stack"].items()]
        console.print(f"stack {profile} sets {', '.join(listed) or 'nothing'}", highlight=False)


def _print_algorithms() -> None:
    table = _table("name", ">year", "title", "kind", "status", "paper")
    for each in algorithms():
        status = _status(each["status"])
        table.add_row(each["name"], str(each["year"]), each["title"], each["kind"], status, each["paper"])
    named = _table("preset", "law", "recovery", "what it is")
    for preset in presets():
        recovery = preset["recovery"] or "the stack's"
        named.add_row(preset["name"], preset["law"], recovery, preset["about"])
    console = _console()
    console.print(table)
    console.print(named)


def _status(status: str) -> Text:
    """With the mark of those whose paper leaves something out that is ours."""
    from rich.text import Text

    return Text(status, style="yellow" if status == "reconstruction" else "")


def _stack_key(field: str, value: Any) -> str:
    """A field of a stack as a scenario would say it."""
    key, _, unit = field.rpartition("_")
    if unit == "ns":
        return f"{key} = {digits(value / 1e9)} s"
    if unit in ("pkts", "bytes"):
        return f"{key} = {'unlimited' if value is None else value}"
    return f"{field} = {str(value).lower()}"


@cli.group("kernel", short_help="In this machine's kernel: load, unload, status, doctor, trace.")
def _kernel() -> None:
    """Take algorithms into the running Linux kernel and out again, follow connections. Needs root."""


@_kernel.command("load", short_help="Load an algorithm, for every socket to choose.")
@click.argument("name", metavar="NAME")
@click.option("--as", "as_name", metavar="NAME", help="What the kernel calls it.  [NAME, '_' for '-']")
@click.option("--param", "params", multiple=True, metavar="NAME=VALUE", help="Of the algorithm.")
@click.option("--default", is_flag=True, help="Sockets that do not choose get it.")
@click.option("--force", is_flag=True, help="Even into a kernel that leaves hooks out, as 'doctor' shows.")
def _kernel_load(name: str, as_name: str | None, params: tuple[str, ...], default: bool, force: bool) -> None:
    """Load algorithm NAME. It stays until 'cwnd kernel unload' or the machine stops.

    \b
    cwnd kernel load elastic
    cwnd kernel load cubic --as gentle_cubic --param beta=0.85
    """
    written = _params([name], params)[name]
    loaded = kernel.load(name, as_name, params=written, default=default, force=force)
    use = (
        "sockets that do not choose get it"
        if default
        else f"sockets can choose it, as 'iperf3 -C {loaded.name}'"
    )
    click.echo(f"{loaded.name} is loaded: {use}; 'cwnd kernel unload {loaded.name}' takes it out")


@_kernel.command("unload", short_help="Take an algorithm out.")
@click.argument("name", required=False)
@click.option("--all", "all_of_them", is_flag=True, help="Everything that was loaded.")
def _kernel_unload(name: str | None, all_of_them: bool) -> None:
    """Take out what was loaded as NAME. Connections that use it keep it until they close.

    If it is the default, the default before it was loaded comes back.
    """
    if (name is not None) == all_of_them:
        raise error("", "name one, or say --all; 'cwnd kernel status' lists them")
    names = [each["name"] for each in kernel.status()] if name is None else [name]
    refused = []
    for each in names:
        try:
            default = kernel.unload(each)
        except Error as one:
            refused.append(one)
            continue
        click.echo(f"{each} is out" + (f"; the default is {default}" if default else ""))
    if refused:
        raise error("", "; ".join(map(str, refused)))


@_kernel.command("status", short_help="What is loaded, with which parameters, and who uses it.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def _kernel_status(as_json: bool) -> None:
    """List what is loaded, and what a killed load or unload left: 'cwnd kernel unload' removes it.

    Calls and their cost are counted while sysctl kernel.bpf_stats_enabled is 1.
    """
    told = kernel.status()
    if as_json:
        click.echo(json.dumps({"loaded": told}, indent=2))
        return
    if not told:
        click.echo("nothing is loaded")
        return
    table = _table("name", "algorithm", "parameters", ">users", "default", ">calls", ">ns a call")
    for each in told:
        default = "yes" if each["default"] else ""
        if each["fault"]:
            table.add_row(each["name"], "", each["fault"], "", default)
            continue
        params = ", ".join(f"{name} = {value}" for name, value in each["params"].items())
        calls = sum(hook["calls"] for hook in each["hooks"])
        cost = f"{sum(hook['total_ns'] for hook in each['hooks']) / calls:.0f}" if calls else ""
        table.add_row(
            each["name"], each["algorithm"], params, str(each["users"]), default, f"{calls:,}", cost
        )
    _console().print(table, markup=False)


@_kernel.command("doctor", short_help="What loading needs, and what to do if it is missing.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def _kernel_doctor(as_json: bool) -> None:
    """Show what loading needs, whether it is there, and if not what to do; exit 1 if anything is not ok."""
    checks = kernel.doctor()
    if as_json:
        click.echo(json.dumps({"checks": checks}, indent=2))
    else:
        table = _table("what", "", "found")
        for check in checks:
            table.add_row(check["what"], "ok" if check["ok"] else "not ok", check["found"])
        _console().print(table, markup=False)
    if not all(check["ok"] for check in checks):
        raise click.exceptions.Exit(1)


@_kernel.command("trace", short_help="Follow live connections: cwnd, ssthresh, RTT.")
@click.option("--port", metavar="N", help="Only connections with this port at either end.")
@click.option("--cca", metavar="NAME", help="Only those with this algorithm, as the kernel calls it.")
@click.option(
    "--interval", metavar="TIME", default="10 ms", help="Between two samples.  [10ms; 0s: each ACK]"
)
@click.option("--duration", metavar="TIME", help="Ends after so long.  [at Ctrl-C]")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON object per sample, one a line.")
@click.option("--out", metavar="DIR", help="Write tables (Parquet), figures and a manifest there at the end.")
def _kernel_trace(
    port: str | None, cca: str | None, interval: str, duration: str | None, as_json: bool, out: str | None
) -> None:
    """Follow this machine's TCP connections that send, of all network namespaces, whatever their algorithm.

    What --out writes is read as that of a simulated run: 'cwnd results DIR', 'cwnd report DIR'.

    \b
    cwnd kernel trace --port 5201
    cwnd kernel trace --cca elastic --duration 30s --out traced
    """
    if out is not None:
        with _speaking_of("--out"):
            check_target(Path(out))
    with _flag_errors():
        end_s = math.inf
        if duration is not None:
            day_ns = 86_400 * 10**9
            end_s = kernel.time_ns("duration", duration, 1, 10 * day_ns, "more than 0, at most 10 days") / 1e9
        asked = None if port is None else _number(port)
        trace = kernel.Trace(asked, cca, interval, "trace", keep=out is not None)
    show = _json_lines if as_json else _live_table if sys.stdout.isatty() else _lines
    ended = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: ended.set())
    with trace, show(trace) as tell:
        while (left_s := end_s - trace.elapsed_s) > 0:
            if ended.wait(min(left_s, _TRACE_SHOWN_EVERY_S)):
                break
            tell(trace.read())
        trace.stop()
        tell(trace.read())
    # What follows can be interrupted.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    results = trace.results if out is not None else None
    if trace.dropped:
        advice = "a longer --interval, or --port, makes fewer"
        print(f"cwnd: {trace.dropped:,} samples are missing, they came too fast; {advice}", file=sys.stderr)
    if results is None or out is None:
        return
    with _speaking_of("--out"):
        results.save(out, command=["cwnd", *sys.argv[1:]])
    click.echo(f"Written to {one_line(out)}", err=as_json)


#: How often what came is shown.
_TRACE_SHOWN_EVERY_S = 0.25
#: What is left out of the table when it has sent nothing for so long.
_TRACE_IDLE_S = 5

_TRACE_COLUMNS = ("cwnd_pkts", "ssthresh_pkts", "in_flight_pkts", "rtt_ms", "throughput_mbps", "pacing_mbps")


def _latest(new: pl.DataFrame) -> Iterator[dict[str, Any]]:
    """The last sample of each connection, with its mean throughput."""
    import polars as pl

    last = new.group_by("flow", maintain_order=True).agg(
        pl.exclude("throughput_mbps").last(), pl.col("throughput_mbps").mean()
    )
    return last.iter_rows(named=True)


@contextlib.contextmanager
def _live_table(trace: kernel.Trace) -> Iterator[Callable[[pl.DataFrame], None]]:
    """A row per connection that sends."""
    from rich.live import Live

    rows: dict[int, dict[str, Any]] = {}

    def table() -> Table:
        connections = trace.connections
        shown = _table(
            "connection",
            "cca",
            ">cwnd",
            ">ssthresh",
            ">in flight",
            ">RTT ms",
            ">Mbit/s",
            ">paced at Mbit/s",
            "state",
            title=f"{len(connections)} connections in {trace.elapsed_s:.0f} s; Ctrl-C ends",
        )
        for row in rows.values():
            if row["time_s"] >= trace.elapsed_s - _TRACE_IDLE_S:
                numbers = (digits(row[column]) for column in _TRACE_COLUMNS)
                shown.add_row(_ends(connections[row["flow"]]), row["cca"], *numbers, row["state"])
        return shown

    with Live(table(), console=_console(), auto_refresh=False) as live:

        def tell(new: pl.DataFrame) -> None:
            rows.update((row["flow"], row) for row in _latest(new))
            live.update(table(), refresh=True)

        yield tell


@contextlib.contextmanager
def _lines(trace: kernel.Trace) -> Iterator[Callable[[pl.DataFrame], None]]:
    """A line per connection and second in which it sent."""
    told_s: dict[int, float] = {}

    def tell(new: pl.DataFrame) -> None:
        connections = trace.connections if new.height else []
        for row in _latest(new):
            if row["time_s"] < told_s.get(row["flow"], -math.inf) + 1:
                continue
            told_s[row["flow"]] = row["time_s"]
            cwnd, ssthresh, in_flight, rtt_ms, mbps, _ = (digits(row[column]) for column in _TRACE_COLUMNS)
            click.echo(
                f"{row['time_s']:.1f} s  {_ends(connections[row['flow']])}  {row['cca']}  cwnd {cwnd}  "
                f"ssthresh {ssthresh}  in flight {in_flight}  RTT {rtt_ms} ms  {mbps} Mbit/s  {row['state']}"
            )
        sys.stdout.flush()

    yield tell


@contextlib.contextmanager
def _json_lines(trace: kernel.Trace) -> Iterator[Callable[[pl.DataFrame], None]]:
    """Every sample as it comes."""

    def tell(new: pl.DataFrame) -> None:
        connections = trace.connections if new.height else []
        for row in new.drop("scenario", "seed", "link", "queue_pkts").iter_rows(named=True):
            ends = {key: connections[row["flow"]][key] for key in ("local", "remote", "netns")}
            click.echo(json.dumps({**row, **ends}))
        sys.stdout.flush()

    yield tell


def _ends(connection: dict[str, Any]) -> str:
    return f"{connection['local']} > {connection['remote']}"


def main() -> NoReturn:
    """The console script. Bad input: one line, exit 2."""
    sys.exit(_main(sys.argv[1:]))


def _main(arguments: list[str]) -> int:
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed by the caller
            setattr(sys, name, open(os.devnull, "w"))  # noqa: PTH123, SIM115
        with contextlib.suppress(AttributeError):
            getattr(sys, name).reconfigure(errors="backslashreplace")
    warnings.showwarning = _print_warning
    try:
        code = _invoke(arguments)
        sys.stdout.flush()
    except OSError as failed:
        # The interpreter flushes once more on its way out.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if isinstance(failed, BrokenPipeError):
            return 141
        _refuse(str(os_error(failed.filename or "standard output", failed)))
        return 1
    return code


def _invoke(arguments: list[str]) -> int:
    try:
        # Not cli.main(): it has ways of its own with interrupts and broken pipes.
        with cli.make_context("cwnd", arguments) as context:
            cli.invoke(context)
    except click.exceptions.Exit as left:
        return left.exit_code
    except click.ClickException as refused:
        return _refuse(refused.format_message())
    except Error as refused:
        return _refuse(str(refused))
    except KeyboardInterrupt:
        print("cwnd: interrupted", file=sys.stderr)
        return 130
    return 0


def _print_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    print(f"cwnd: warning: {one_line(str(message))}", file=sys.stderr)


def _refuse(message: str) -> int:
    with contextlib.suppress(OSError):  # there is nowhere to report that to
        print(f"cwnd: error: {one_line(' '.join(message.split()))}", file=sys.stderr, flush=True)
    return 2


def _scenarios(files: tuple[str, ...], flags: dict[str, Any]) -> list[Scenario]:
    said = {name: value for name, value in flags.items() if value not in (None, ())}
    if files:
        for name in said:
            if name in ("seed", "repeat"):
                continue
            raise error(_flag(name), "not together with a scenario FILE, which says it itself")
        return [Scenario.from_toml(file) for file in files]
    ccas = said.pop("ccas", ())
    if not ccas:
        raise error("", "nothing to simulate; give a scenario FILE or --cca NAME")
    arguments = {
        name: _number(said[name]) if name in _NUMBERS else said[name] for name in said.keys() - {"params"}
    }
    algorithms_asked = [_cca(cca) for cca in ccas]
    names = [cca if isinstance(cca, str) else cca.__name__ for cca in algorithms_asked]
    params = _params(names, said.get("params", ()))
    with _flag_errors():
        return [
            dumbbell(cca, **arguments, params=params[name], name=name[:100] or None)
            for cca, name in zip(algorithms_asked, names, strict=True)
        ]


def _cca(text: str) -> str | type[CongestionControl]:
    """A name of the registry, or the class that FILE.py:CLASS says."""
    path, colon, name = text.rpartition(":")
    if not text:
        raise error("--cca", "an empty name; 'cwnd algorithms' lists what there is")
    if not colon:
        return text
    if not Path(path).is_file():
        raise error("--cca", f"{one_line(path)}: no such file; write NAME or FILE.py:CLASS")
    found = runpy.run_path(path, run_name=Path(path).stem).get(name)
    if not (isinstance(found, type) and issubclass(found, CongestionControl)):
        raise error("--cca", f"{one_line(path)} has no class '{one_line(name)}' of cwnd.CongestionControl")
    return found


def _params(names: list[str], written: tuple[str, ...]) -> dict[str, dict[str, str]]:
    """The parameters of each algorithm."""
    params: dict[str, dict[str, str]] = {name: {} for name in names}
    for text in written:
        key, equals, value = text.partition("=")
        owner, dot, name = key.rpartition(".")
        if not (equals and name):
            raise error("--param", f"'{one_line(text)}' is not NAME=VALUE")
        if dot and owner not in params:
            raise error("--param", f"no algorithm '{one_line(owner)}' here; there are {', '.join(params)}")
        if not dot and len(params) > 1:
            raise error("--param", f"'{one_line(key)}' of which algorithm? Write {names[0]}.{one_line(text)}")
        params[owner or names[0]][name] = value
    return params


def _number(text: str) -> Any:
    """A number if it is written as one."""
    with contextlib.suppress(ValueError):
        return int(text) if re.fullmatch(r"[+-]?[0-9]+", text) else float(text)
    return text


@contextlib.contextmanager
def _flag_errors() -> Iterator[None]:
    """Lets errors about arguments of the API speak of flags."""
    try:
        yield
    except Error as refused:
        key = getattr(refused, "key", "")
        param = re.fullmatch(r"params\['(.*)'\]", key)
        if param:
            raise error(f"--param {param[1]}", refused.reason) from None
        if key in _SCENARIO_FLAGS or key in _OTHER_FLAGS:
            raise error(_flag(key), refused.reason) from None
        raise


@contextlib.contextmanager
def _speaking_of(flag: str) -> Iterator[None]:
    try:
        yield
    except Error as refused:
        raise error(flag, str(refused)) from None


@contextlib.contextmanager
def _progress_bar() -> Iterator[Callable[[float], None] | None]:
    """A bar on a terminal, nothing elsewhere."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    columns = (TextColumn("simulating"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=1.0)
        yield lambda share: bar.update(task, completed=share)


@contextlib.contextmanager
def _watched(out: str, name: str | None = None) -> Iterator[Callable[[_sweep.Progress], None]]:
    """Shows the progress of runs, of a paper or of a sweep; Ctrl-C tells how many are kept in `out`."""
    last = _sweep.Progress(0, 0, 0, 0)

    def seen(progress: _sweep.Progress) -> None:
        nonlocal last
        last = progress
        if show is not None:
            show(progress)

    try:
        with _flag_errors(), _sweep_bar(name or "sweeping") as show:
            yield seen
    except KeyboardInterrupt:
        if not last.total:
            raise
        of_paper = "" if name is None else f" of {name}"
        kept = f"{last.done - last.failed:,} of {last.total:,} runs{of_paper} are kept in {one_line(out)}"
        print(f"cwnd: interrupted; {kept}; the same command goes on with them", file=sys.stderr)
        raise click.exceptions.Exit(130) from None


@contextlib.contextmanager
def _sweep_bar(what: str) -> Iterator[Callable[[_sweep.Progress], None] | None]:
    """A bar on a terminal with rate, time left and failures; nothing elsewhere."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn(what),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}"),
        TimeRemainingColumn(),
        TextColumn("{task.fields[failures]}", style="red"),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=None, rate="", failures="")
        begin = time.monotonic()

        def show(progress: _sweep.Progress) -> None:
            new = progress.done - progress.found
            rate = new / max(time.monotonic() - begin, 1e-3)
            bar.update(
                task,
                completed=progress.done,
                total=progress.total,
                rate=f"{digits(rate)}/s" if new else "",
                failures=f"{progress.failed} failed" if progress.failed else "",
            )

        yield show


def _export(results: Results, table: str, csv: str) -> None:
    """A table as CSV."""
    frame: pl.DataFrame = getattr(results, table)
    if csv == "-":
        click.echo(frame.write_csv(), nl=False)
        return
    try:
        write_file(Path(csv), frame.write_csv().encode())
    except OSError as failed:
        raise os_error(one_line(csv), failed) from None


def _print_swept(results: Results) -> None:
    """A row per point: the swept values, or the name, and the summary."""
    columns = {
        "throughput_mbps": ("throughput Mbit/s", 1),
        "goodput_mbps": ("goodput Mbit/s", 1),
        "loss_ratio": ("loss %", 100),
        "mean_rtt_ms": ("mean RTT ms", 1),
        "jain_fairness": ("Jain", 1),
        "timeouts": ("timeouts", 1),
    }
    if len(results.scenarios) == 1 and is_trace(results.scenarios[0]):
        _console().print(_flow_table(results.flows))
        return
    keys = list(dict.fromkeys(key for values in results.values for key in values))
    table = _table(
        *(keys or ["scenario"]),
        ">runs",
        *(f">{heading}" for heading, _ in columns.values()),
        title=", ".join(shared_facts(results.scenarios)),
    )
    for told in results._told:
        summary = told["summary"]
        cells = [_swept_value(told["values"].get(key)) for key in keys] or [told["scenario"]["name"]]
        numbers = [estimate(summary.get(metric), scale) for metric, (_, scale) in columns.items()]
        table.add_row(*cells, str(len(told["seeds"])), *numbers)
    _console().print(table)


def _swept_value(value: Any) -> str:
    if isinstance(value, float):
        return exponent(value)
    return "" if value is None else value if isinstance(value, str) else json.dumps(value)


def _console() -> Console:
    from rich.console import Console

    # A table in a file or a pipe is not broken to the width of a terminal. Names of scenarios may look like
    # rich's markup.
    return Console(width=None if sys.stdout.isatty() else 250, markup=False, emoji=False)


def _table(*headings: str, title: str | None = None, caption: str | None = None) -> Table:
    """A table with these headings; those after a '>' are of numbers."""
    from rich import box
    from rich.table import Table

    table = Table(
        box=box.SIMPLE_HEAD,
        title=title,
        caption=caption,
        title_justify="left",
        caption_justify="left",
        title_style="bold",
        pad_edge=False,
    )
    for heading in headings:
        number = heading.startswith(">")
        table.add_column(heading.removeprefix(">"), justify="right" if number else "left", overflow="fold")
    return table


def _print_results(results: Results) -> None:
    import polars as pl

    scenarios = results.scenarios
    console = _console()
    flows = results.flows
    if len(scenarios) == 1 and 1 < len(scenarios[0]["flows"]) <= _FLOW_ROWS_MAX:
        console.print(_flow_table(flows))
    columns = {
        "throughput_mbps": ("throughput Mbit/s", 1),
        "goodput_mbps": ("goodput Mbit/s", 1),
        "loss_ratio": ("loss %", 100),
        "mean_rtt_ms": ("mean RTT ms", 1),
        "p95_rtt_ms": ("p95 RTT ms", 1),
        "jain_fairness": ("Jain", 1),
        "timeouts": ("timeouts", 1),
    }
    # Over the flows and the runs.
    p95 = flows.group_by("scenario").agg(pl.col("p95_rtt_ms").mean())
    p95_of = dict(p95.iter_rows())
    packets, wall_s = (sum(told["engine"][key] for told in results._told) for key in ("packets", "wall_s"))
    table = _table(
        "scenario",
        *(f">{heading}" for heading, _ in columns.values()),
        title=", ".join(shared_facts(scenarios)),
        caption=f"{packets:,} packets in {wall_s:.2g} s, {packets / wall_s / 1e6:.1f} million a second",
    )
    for scenario in scenarios:
        name = scenario["name"]
        rows = {row["metric"]: row for row in results.summary.filter(scenario=name).iter_rows(named=True)}
        cells = [
            digits(p95_of[name]) if metric == "p95_rtt_ms" else estimate(rows[metric], scale)
            for metric, (_, scale) in columns.items()
        ]
        table.add_row(name, *cells)
    console.print(table)


def _flow_table(flows: pl.DataFrame) -> Table:
    """The flows of one scenario, means over its runs."""
    import polars as pl

    means = flows.group_by("flow", "cca", maintain_order=True).agg(
        pl.selectors.numeric().exclude("seed").mean()
    )
    table = _table(
        ">flow",
        "cca",
        ">from s",
        ">to s",
        ">throughput Mbit/s",
        ">goodput Mbit/s",
        ">loss %",
        ">mean RTT ms",
        ">p95 RTT ms",
        ">mean cwnd packets",
        ">timeouts",
    )
    for row in means.iter_rows(named=True):
        cells = [
            row["start_s"],
            row["stop_s"],
            row["throughput_mbps"],
            row["goodput_mbps"],
            100 * row["loss_ratio"],
            row["mean_rtt_ms"],
            row["p95_rtt_ms"],
            row["mean_cwnd_pkts"],
            row["timeouts"],
        ]
        table.add_row(str(row["flow"]), row["cca"], *map(digits, cells))
    return table


def _print_scenario(told: dict[str, Any]) -> None:
    samples = told["samples"]
    if isinstance(samples, dict):
        samples = f"every {digits(samples['interval']['interval_ns'] / 1e9)} s"
    clock = ", the clock of ns-2" if told["clock"] == "ns2" else ""
    end = ", as of the last arrival" if told["end"] == "last-arrival" else ""
    seeds = f"seed {told['seed']}"
    if told["repeat"] > 1:
        seeds = f"seeds {told['seed']} to {told['seed'] + told['repeat'] - 1}"
    console = _console()
    links = _table(
        "link",
        ">count",
        ">rate",
        ">delay ms",
        ">buffer packets",
        ">buffer BDP",
        ">buffer ms",
        ">PER",
        ">ECN above",
        title=f"{told['name']}: {digits(told['duration_s'])} s, {seeds}, samples {samples}{clock}{end}",
    )
    for link in told["links"]:
        links.add_row(
            link["name"],
            str(link["count"]),
            rate(link["rate_bps"]),
            digits(link["delay_ms"]),
            "unlimited" if link["buffer_pkts"] is None else str(link["buffer_pkts"]),
            digits(link["buffer_bdp"]),
            digits(link["buffer_ms"]),
            exponent(link["per"]),
            "" if link["ecn_threshold_pkts"] is None else str(link["ecn_threshold_pkts"]),
        )
    console.print(links)
    flows = _table(
        ">flow",
        "cca",
        "start s",
        "stop s",
        ">packet bytes",
        ">RTT ms",
        ">BDP packets",
        "bottleneck",
        "application",
        "stack",
    )
    for group in told["flows"]:
        first, last = group["first"], group["first"] + group["count"] - 1
        stack = group["stack"]
        flows.add_row(
            str(first) if first == last else f"{first}..{last}",
            _named(group["cca"]),
            _span(group["start_s"]) + _jitter(group["start_jitter_s"]),
            _span(group["stop_s"]),
            f"{group['payload_bytes']} + {group['packet_bytes'] - group['payload_bytes']}",
            digits(group["rtt_ms"]),
            digits(group["bdp_pkts"]),
            group["bottleneck"],
            _application(group),
            f"{stack['profile']}, {stack['recovery']}" + ", ECN" * stack["ecn"],
        )
    console.print(flows)
    for group in {json.dumps(group["cca"]): group["cca"] for group in told["flows"]}.values():
        params = group["params"]
        if params:
            listed = ", ".join(f"{name} = {value}" for name, value in params)
            console.print(f"{group['name']}: {listed}", highlight=False)


def _named(cca: dict[str, Any]) -> str:
    """The algorithm, and its law if the name is a preset's."""
    name: str = cca["name"]
    return name if name == cca["law"] else f"{name} ({cca['law']})"


def _application(group: dict[str, Any]) -> str:
    """What the application of a flow writes."""
    told = [] if group["app_rate_bps"] is None else [rate(group["app_rate_bps"])]
    if group["on_off_s"] is not None:
        on, off = map(digits, group["on_off_s"])
        told.append(f"{on} s on, {off} s off")
    return ", ".join(told) or "unlimited"


def _jitter(below_s: float) -> str:
    return f" + 0..{digits(below_s)}" if below_s else ""


def _span(ends: list[float]) -> str:
    first, last = map(digits, ends)
    return first if first == last else f"{first}..{last}"
