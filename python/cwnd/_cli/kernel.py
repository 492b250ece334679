"""`cwnd kernel`."""

from __future__ import annotations

import contextlib
import json
import math
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from cwnd import Error, kernel
from cwnd._cli.options import errors_about, flag_errors, read_number, read_params
from cwnd._cli.tables import new_table, open_console
from cwnd._common.errors import error, one_line
from cwnd._common.text import digits
from cwnd._results.directory import check_target

if TYPE_CHECKING:
    import polars as pl
    from rich.table import Table


@click.group("kernel", short_help="In this machine's kernel: load, unload, status, doctor, trace.")
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
    written = read_params([name], params)[name]
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
    refusals = []
    for each in names:
        try:
            default = kernel.unload(each)
        except Error as refusal:
            refusals.append(refusal)
            continue
        click.echo(f"{each} is out" + (f"; the default is {default}" if default else ""))
    if refusals:
        raise error("", "; ".join(map(str, refusals)))


@_kernel.command("status", short_help="What is loaded, with which parameters, and who uses it.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def _kernel_status(as_json: bool) -> None:
    """List what is loaded, and what a killed load or unload left: 'cwnd kernel unload' removes it.

    Calls and their cost are counted while sysctl kernel.bpf_stats_enabled is 1.
    """
    loaded = kernel.status()
    if as_json:
        click.echo(json.dumps({"loaded": loaded}, indent=2))
        return
    if not loaded:
        click.echo("nothing is loaded")
        return
    table = new_table("name", "algorithm", "parameters", ">users", "default", ">calls", ">ns a call")
    for each in loaded:
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
    open_console().print(table, markup=False)


@_kernel.command("doctor", short_help="What loading needs, and what to do if it is missing.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def _kernel_doctor(as_json: bool) -> None:
    """Show what loading needs, whether it is there, and if not what to do; exit 1 if anything is not ok."""
    checks = kernel.doctor()
    if as_json:
        click.echo(json.dumps({"checks": checks}, indent=2))
    else:
        table = new_table("what", "", "found")
        for check in checks:
            table.add_row(check["what"], "ok" if check["ok"] else "not ok", check["found"])
        open_console().print(table, markup=False)
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
        with errors_about("--out"):
            check_target(Path(out))
    with flag_errors():
        end_s = math.inf
        if duration is not None:
            day_ns = 86_400 * 10**9
            end_s = kernel.time_ns("duration", duration, 1, 10 * day_ns, "more than 0, at most 10 days") / 1e9
        asked = None if port is None else read_number(port)
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
    with errors_about("--out"):
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
        shown = new_table(
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

    with Live(table(), console=open_console(), auto_refresh=False) as live:

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


kernel_command = _kernel
