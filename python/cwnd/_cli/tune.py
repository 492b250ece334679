"""`cwnd tune`."""

from __future__ import annotations

import sys

import click

from cwnd import Tuning, tune
from cwnd._cli.options import flag_errors, read_number
from cwnd._cli.progress import sweep_bar
from cwnd._cli.tables import new_table, open_console
from cwnd._common.errors import error, one_line
from cwnd._common.text import digits, exponent


@click.command("tune")
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@click.option("--cca", required=True, metavar="NAME", help="Algorithm to tune.")
@click.option(
    "--param",
    "params",
    multiple=True,
    required=True,
    metavar="NAME=LOW:HIGH",
    help="Parameter to tune, and its range.",
)
@click.option(
    "--objective",
    metavar="WHAT",
    default="throughput_ratio",
    help="throughput_ratio (of the bottleneck's rate), loss_ratio, jain_fairness, or weights: "
    "throughput_ratio=1,loss_ratio=-10.  [throughput_ratio]",
)
@click.option("--trials", metavar="N", default="50", help="Candidates besides the default.  [50]")
@click.option("--repeat", metavar="N", default="5", help="Seeds of each scenario to tune on.  [5]")
@click.option(
    "--held-out", multiple=True, metavar="FILE", help="Scenario for a second judgement, not used for tuning."
)
@click.option("--held-out-seeds", metavar="N", default="30", help="Seeds to judge on.  [30]")
@click.option(
    "--out",
    required=True,
    metavar="DIR",
    help="Directory that keeps the runs; repeat the command to continue.",
)
@click.option("--jobs", metavar="N", default="0", help="Number of runs at a time.  [one per core]")
@click.option("--json", "as_json", is_flag=True, help="Print everything as one JSON object.")
def tune_command(
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
    """Tune parameters of an algorithm over scenario FILEs, and compare the result with the default.

    \b
    cwnd tune scenarios/agile-sd-tuning.toml --cca agile-sd --param lambda_max=1:20 --out tuned
    cwnd gate tuned/held-out-seeds/default tuned/held-out-seeds/tuned
    """
    try:
        with flag_errors(), sweep_bar("tuning") as show:
            tuning = tune(
                list(files),
                cca=cca,
                params=dict(map(_range, params)),
                objective=objective,
                trials=read_number(trials),
                repeat=read_number(repeat),
                held_out=list(held_out),
                held_out_seeds=read_number(held_out_seeds),
                out=out,
                jobs=read_number(jobs),
                progress=show,
            )
    except KeyboardInterrupt:
        kept = f"the finished runs are kept in {one_line(out)}; repeat the command to continue"
        print(f"cwnd: interrupted; {kept}", file=sys.stderr)
        raise click.exceptions.Exit(130) from None
    if as_json:
        click.echo(tuning.to_json())
    else:
        _print_tuning(tuning)


def _range(text: str) -> tuple[str, tuple[float, float]]:
    """NAME=LOW:HIGH."""
    name, equals, ends = text.partition("=")
    low, colon, high = ends.partition(":")
    if not (name and equals and colon):
        raise error("--param", f"'{one_line(text)}' is not NAME=LOW:HIGH")
    return name, (read_number(low), read_number(high))


def _print_tuning(tuning: Tuning) -> None:
    console = open_console()
    weights = ", ".join(f"{weight:g} {name}" for name, weight in tuning.objective.items())
    default = tuning.default or {}
    tuned = [
        f"{name} = {value:g} (default {default.get(name, 'none')})" for name, value in tuning.params.items()
    ]
    candidates = f"{len(tuning.trials) - 1:,} candidates, objective {weights}"
    console.print(f"{tuning.cca}: {', '.join(tuned)}; {candidates}", highlight=False)
    for one in tuning.judgements:
        of = f"{len(one.scenarios)} scenario{'s' * (len(one.scenarios) != 1)}, {one.seeds} seeds"
        table = new_table(one.on, ">default", ">tuned", ">difference", ">95 % interval", title=of)
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
