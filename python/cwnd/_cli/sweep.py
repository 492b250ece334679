"""`cwnd sweep`."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import click

from cwnd import Results
from cwnd._cli.options import flag_errors, read_number
from cwnd._cli.progress import show_progress
from cwnd._cli.results import print_swept
from cwnd._cli.tables import print_json
from cwnd._common.errors import one_line
from cwnd._run import sweep
from cwnd._run.partial import finished_runs


@click.command("sweep")
@click.argument("file", metavar="FILE")
@click.option(
    "--out",
    required=True,
    metavar="DIR",
    help="Directory that keeps the runs; repeat the command to continue.",
)
@click.option("--on", "world", default="sim", metavar="WORLD", help="Where to run, as for 'cwnd run'.  [sim]")
@click.option("--jobs", metavar="N", default="0", help="Number of runs at a time.  [one per core]")
@click.option("--repeat", metavar="N", help="Seeds of each point.  [the scenario's]")
@click.option("--shard", metavar="I/N", help="Run only every N-th run, from the I-th on (0/N to N-1/N).")
@click.option(
    "--until", metavar="ci=SHARE", help="Add seeds until the throughput's 95 % interval is this narrow."
)
@click.option("--max-seeds", metavar="N", help="Most seeds of a point with --until.  [100]")
@click.option("--dask", metavar="ADDRESS", help="Run on a Dask cluster, such as tcp://127.0.0.1:8786.")
@click.option("--partial", is_flag=True, help="Show the runs that are finished, and run nothing.")
@click.option("--json", "as_json", is_flag=True, help="Print how it ended as one JSON object.")
def sweep_command(
    file: str,
    out: str,
    world: str,
    jobs: str,
    repeat: str | None,
    shard: str | None,
    until: str | None,
    max_seeds: str | None,
    dask: str | None,
    partial: bool,
    as_json: bool,
) -> None:
    """Run every point of the [sweep] of a scenario FILE with each of its seeds.

    \b
    cwnd sweep scenarios/elastic-buffer-sweep.toml --out sweep --until ci=2%
    cwnd sweep scenarios/elastic-buffer-sweep.toml --out sweep --partial   # while it runs
    cwnd results sweep
    """
    with flag_errors():
        plan = sweep.read(file, repeat=None if repeat is None else read_number(repeat))
    if partial:
        with flag_errors():
            narrow = None if until is None else sweep.read_until(until)
            most = None if max_seeds is None else read_number(max_seeds)
            results, runs = finished_runs(plan, out, until=narrow, max_seeds=most, world=world)
        _show_partial(results, runs, as_json)
        return
    with show_progress(out) as seen:
        outcome = sweep.work(
            plan,
            Path(out),
            jobs=read_number(jobs),
            shard=None if shard is None else sweep.read_shard(shard),
            until=None if until is None else sweep.read_until(until),
            max_seeds=None if max_seeds is None else read_number(max_seeds),
            dask=dask,
            world=world,
            progress=seen,
            command=["cwnd", *sys.argv[1:]],
        )
    for failure in outcome.failures:
        print(f"cwnd: failed: {failure}", file=sys.stderr)
    if as_json:
        failures = [failure._asdict() for failure in outcome.failures]
        click.echo(json.dumps({"out": out, **outcome._asdict(), "failures": failures}))
    else:
        click.echo(_sweep_line(outcome, out))
    has_failed = bool(outcome.failures)
    if outcome.finished and outcome.runs > len(outcome.failures) and (scenarios := plan.expecting):
        from cwnd import expect

        expected = expect(Results.load(out), scenarios=scenarios)
        click.echo(str(expected), err=as_json)
        has_failed |= not expected.ok
    if has_failed:
        raise click.exceptions.Exit(1)


def _show_partial(results: Results, runs: int, as_json: bool) -> None:
    """The finished runs: JSON as of other results, or a table and their number."""
    if as_json:
        print_json(results)
        return
    done = sum(len(entry["seeds"]) for entry in results.entries)
    if done:
        print_swept(results)
    click.echo(f"{done:,} of {runs:,} runs are finished")


def _sweep_line(outcome: sweep.SweepOutcome, out: str) -> str:
    """How a sweep ended."""
    runs = f"{outcome.runs:,} run{'s' * (outcome.runs != 1)} of {outcome.points:,} point"
    parts = [runs + "s" * (outcome.points != 1)]
    if outcome.ran == outcome.runs:
        parts.append(f"in {outcome.wall_s:.3g} s, {outcome.ran / outcome.wall_s:.0f} a second")
    else:
        parts.append(f"{outcome.ran:,} new, in {outcome.wall_s:.3g} s")
    if outcome.failures:
        parts.append(f"{len(outcome.failures):,} failed")
    if not outcome.finished:
        return f"{', '.join(parts)}; {one_line(out)} waits for the other shards"
    return f"{', '.join(parts)}; see 'cwnd results {one_line(out)}'"
