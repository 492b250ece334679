"""`cwnd model`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from cwnd._cli.options import flag_errors, read_numbers, read_params
from cwnd._cli.progress import progress_bar
from cwnd._cli.tables import new_table, open_console
from cwnd._common.errors import one_line
from cwnd._common.text import digits, estimate, exponent, rate

if TYPE_CHECKING:
    from cwnd._analysis.model import ComparisonJson


@click.command("model")
@click.option(
    "--cca", required=True, metavar="NAME", help="Algorithm. An error lists the algorithms that have a model."
)
@click.option("--param", "params", multiple=True, metavar="NAME=VALUE", help="A parameter of the algorithm.")
@click.option(
    "--rate", default="1Gbps", metavar="RATE", help="Rate of the bottleneck, such as 100Mbps.  [1Gbps]"
)
@click.option(
    "--rtt", default="200ms", metavar="TIME", help="Round-trip time without queues, such as 20ms.  [200ms]"
)
@click.option(
    "--buffer", default="1BDP", metavar="SIZE", help="Buffer of the bottleneck: packets or 2BDP.  [1BDP]"
)
@click.option("--per", metavar="P", help="Packet error rate of the bottleneck, such as 1e-5.  [0]")
@click.option("--packet", metavar="BYTES", help="Payload of a packet.  [1448]")
@click.option("--duration", metavar="TIME", help="Simulated time.  [60 epochs, at most 4 million packets]")
@click.option("--seed", metavar="N", help="Seed of the first repetition; the others count up.  [1]")
@click.option("--repeat", metavar="N", help="Repetitions, for the interval.  [5; without --per 1]")
@click.option("--out", metavar="FILE", help="Draw the comparison: .png, .svg or .pdf.")
@click.option("--json", "as_json", is_flag=True, help="Print it as one JSON object.")
def model_command(
    cca: str, params: tuple[str, ...], out: str | None, as_json: bool, **flags: str | None
) -> None:
    """Show the throughput of one flow from a Markov chain of its window and from simulation.

    \b
    cwnd model --cca agile-sd --rate 100Mbps --rtt 20ms --buffer 50 --per 1e-5 --out model.svg
    """
    from cwnd._analysis import model

    given = read_numbers({name: value for name, value in flags.items() if value is not None})
    with flag_errors(), progress_bar() as progress:
        compared = model.compare(cca, params=read_params([cca], params)[cca], progress=progress, **given)
    if out is not None:
        from cwnd._report.figures import write_figure

        write_figure(model.draw(compared), Path(out))
    described = compared.to_dict()
    if as_json:
        click.echo(json.dumps(described))
        return
    _print_model(described)
    if out is not None:
        click.echo(f"Written to {one_line(out)}")


def _print_model(described: ComparisonJson) -> None:
    path, model, simulation = described["path"], described["model"], described["simulation"]
    table = new_table("", ">model", ">simulation")
    for heading, modelled, simulated in (
        ("throughput Mbit/s", model["throughput_mbps"], simulation["throughput_mbps"]),
        ("mean cwnd packets", model["mean_cwnd_pkts"], simulation["mean_cwnd_pkts"]),
        ("mean RTT ms", model["mean_rtt_ms"], simulation["mean_rtt_ms"]),
    ):
        mean = simulated["mean"]
        table.add_row(
            heading, digits(modelled), estimate(None if mean is None else {**simulated, "mean": mean}, 1)
        )
    console = open_console()
    click.echo(
        f"{described['cca']}: {rate(path['rate_bps'])}, RTT {digits(path['rtt_ms'])} ms, "
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
