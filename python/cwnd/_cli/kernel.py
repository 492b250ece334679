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
from typing import TYPE_CHECKING, TypedDict, cast

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

    from cwnd._common.shapes import Connection


@click.group("kernel")
def _kernel() -> None:
    """Load algorithms into the running Linux kernel, unload them, and trace connections. Needs root."""


@_kernel.command("load", short_help="Load an algorithm, for every socket to choose.")
@click.argument("name", metavar="NAME")
@click.option("--as", "as_name", metavar="NAME", help="Its name in the kernel.  [NAME, '_' for '-']")
@click.option("--param", "params", multiple=True, metavar="NAME=VALUE", help="A parameter of the algorithm.")
@click.option("--default", is_flag=True, help="Make it the default of sockets that do not choose one.")
@click.option(
    "--force",
    is_flag=True,
    help="Load even into a kernel that skips hooks, as 'doctor' shows, or lacks the marks that it needs.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def _kernel_load(
    name: str, as_name: str | None, params: tuple[str, ...], default: bool, force: bool, as_json: bool
) -> None:
    """Load algorithm NAME. It stays until 'cwnd kernel unload' or the machine stops.

    \b
    cwnd kernel load elastic
    cwnd kernel load cubic --as gentle_cubic --param beta=0.85
    """
    written = read_params([name], params)[name]
    loaded = kernel.load(name, as_name, params=written, default=default, force=force)
    if as_json:
        click.echo(json.dumps({"name": loaded.name, "algorithm": name, "default": default}))
        return
    use = (
        "it is the default of sockets that do not choose one"
        if default
        else f"sockets can choose it, as 'iperf3 -C {loaded.name}'"
    )
    click.echo(f"{loaded.name} is loaded: {use}; 'cwnd kernel unload {loaded.name}' unloads it")


@_kernel.command("unload", short_help="Unload an algorithm.")
@click.argument("name", required=False)
@click.option("--all", "all_of_them", is_flag=True, help="Unload every algorithm.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def _kernel_unload(name: str | None, all_of_them: bool, as_json: bool) -> None:
    """Unload the algorithm loaded as NAME. Connections that use it keep it until they close.

    If it is the default, the default from before it was loaded comes back.
    """
    if (name is not None) == all_of_them:
        raise error("", "give one NAME or --all; 'cwnd kernel status' lists the names")
    names = [each["name"] for each in kernel.status()] if name is None else [name]
    unloaded, refusals = [], []
    for each in names:
        try:
            default = kernel.unload(each)
        except Error as refusal:
            refusals.append(refusal)
            continue
        unloaded.append({"name": each, "default": default})
        if not as_json:
            click.echo(f"{each} is unloaded" + (f"; the default is {default}" if default else ""))
    if as_json:
        click.echo(json.dumps({"unloaded": unloaded}))
    if refusals:
        raise error("", "; ".join(map(str, refusals)))


@_kernel.command("status", short_help="List the loaded algorithms, their parameters and users.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def _kernel_status(as_json: bool) -> None:
    """List the loaded algorithms, and the remains of a killed load or unload, which 'unload' removes.

    Calls and their cost are counted while sysctl kernel.bpf_stats_enabled is 1.
    """
    loaded = kernel.status()
    if as_json:
        click.echo(json.dumps({"loaded": loaded}, indent=2))
        return
    if not loaded:
        click.echo("no algorithm is loaded")
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


@_kernel.command("doctor", short_help="Check what loading needs, and say what to do if it is missing.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def _kernel_doctor(as_json: bool) -> None:
    """Check each thing that loading needs, and say what to do if it is missing; exit 1 if anything is."""
    checks = kernel.doctor()
    if as_json:
        click.echo(json.dumps({"checks": checks}, indent=2))
    else:
        table = new_table("check", "", "found")
        for check in checks:
            table.add_row(check["what"], "ok" if check["ok"] else "not ok", check["found"])
        open_console().print(table, markup=False)
    if not all(check["ok"] for check in checks):
        raise click.exceptions.Exit(1)


@_kernel.command("trace", short_help="Trace live connections: cwnd, ssthresh, RTT.")
@click.option("--port", metavar="N", help="Only connections with this port at either end.")
@click.option(
    "--cca", metavar="NAME", help="Only connections with this algorithm, by its name in the kernel."
)
@click.option(
    "--interval",
    metavar="TIME",
    default="10 ms",
    help="Least time between two samples.  [10ms; 0s: each ACK]",
)
@click.option("--duration", metavar="TIME", help="Stop after this time.  [at Ctrl-C]")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON object per sample, one per line.")
@click.option(
    "--out", metavar="DIR", help="At the end, write tables (Parquet), figures and a manifest to DIR."
)
def _kernel_trace(
    port: str | None, cca: str | None, interval: str, duration: str | None, as_json: bool, out: str | None
) -> None:
    """Trace the TCP connections of this machine that send, in all network namespaces and with any algorithm.

    The result that --out writes is like a simulated run's: 'cwnd results DIR' and 'cwnd report DIR' read it.

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
    with trace, show(trace) as show_new:
        while (left_s := end_s - trace.elapsed_s) > 0:
            if ended.wait(min(left_s, _TRACE_SHOWN_EVERY_S)):
                break
            show_new(trace.read())
        trace.stop()
        show_new(trace.read())
    # From here on Ctrl-C interrupts again.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    results = trace.results if out is not None else None
    if trace.dropped:
        advice = "a longer --interval or a --port makes fewer"
        print(f"cwnd: {trace.dropped:,} samples are missing: they came too fast; {advice}", file=sys.stderr)
    if results is None or out is None:
        return
    with errors_about("--out"):
        results.save(out, command=["cwnd", *sys.argv[1:]])
    click.echo(f"Written to {one_line(out)}", err=as_json)


class TraceRow(TypedDict):
    """The last sample of a connection."""

    time_s: float
    flow: int
    cca: str
    cwnd_pkts: int
    ssthresh_pkts: int | None
    in_flight_pkts: int
    rtt_ms: float | None
    throughput_mbps: float | None
    pacing_mbps: float | None
    state: str


#: How often new samples are shown.
_TRACE_SHOWN_EVERY_S = 0.25
#: A connection leaves the table when it has sent nothing for this time.
_TRACE_IDLE_S = 5


def _numbers(row: TraceRow) -> list[str]:
    """The cells of the numbers of a sample."""
    rates = (row["rtt_ms"], row["throughput_mbps"], row["pacing_mbps"])
    return [*map(digits, (row["cwnd_pkts"], row["ssthresh_pkts"], row["in_flight_pkts"], *rates))]


def _latest(new: pl.DataFrame) -> Iterator[TraceRow]:
    """The last sample of each connection, with its mean throughput."""
    import polars as pl

    last = new.group_by("flow", maintain_order=True).agg(
        pl.exclude("throughput_mbps").last(), pl.col("throughput_mbps").mean()
    )
    return cast("Iterator[TraceRow]", last.iter_rows(named=True))


@contextlib.contextmanager
def _live_table(trace: kernel.Trace) -> Iterator[Callable[[pl.DataFrame], None]]:
    """A row per connection that sends."""
    from rich.live import Live

    rows: dict[int, TraceRow] = {}

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
                shown.add_row(_ends(connections[row["flow"]]), row["cca"], *_numbers(row), row["state"])
        return shown

    with Live(table(), console=open_console(), auto_refresh=False) as live:

        def show_new(new: pl.DataFrame) -> None:
            rows.update((row["flow"], row) for row in _latest(new))
            live.update(table(), refresh=True)

        yield show_new


@contextlib.contextmanager
def _lines(trace: kernel.Trace) -> Iterator[Callable[[pl.DataFrame], None]]:
    """A line per connection and second in which it sent, with the mean throughput of the second."""
    import polars as pl

    printed_s: dict[int, float] = {}
    waiting: list[pl.DataFrame] = []

    def show_new(new: pl.DataFrame) -> None:
        if not new.height:
            return
        rows, connections, printed = pl.concat([*waiting, new]), trace.connections, []
        for row in _latest(rows):
            if row["time_s"] < printed_s.get(row["flow"], -math.inf) + 1:
                continue
            printed_s[row["flow"]] = row["time_s"]
            printed.append(row["flow"])
            cwnd, ssthresh, in_flight, rtt_ms, mbps, _ = _numbers(row)
            click.echo(
                f"{row['time_s']:.1f} s  {_ends(connections[row['flow']])}  {row['cca']}  cwnd {cwnd}  "
                f"ssthresh {ssthresh}  in flight {in_flight}  RTT {rtt_ms} ms  {mbps} Mbit/s  {row['state']}"
            )
        waiting[:] = [rows.filter(~pl.col("flow").is_in(printed))]
        sys.stdout.flush()

    yield show_new


@contextlib.contextmanager
def _json_lines(trace: kernel.Trace) -> Iterator[Callable[[pl.DataFrame], None]]:
    """A line of JSON per sample."""

    def show_new(new: pl.DataFrame) -> None:
        connections = trace.connections if new.height else []
        for row in new.drop("scenario", "seed", "link", "queue_pkts").iter_rows(named=True):
            ends = {key: connections[row["flow"]][key] for key in ("local", "remote", "netns")}
            click.echo(json.dumps({**row, **ends}))
        sys.stdout.flush()

    yield show_new


def _ends(connection: Connection) -> str:
    return f"{connection['local']} > {connection['remote']}"


kernel_command = _kernel
