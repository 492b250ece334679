"""Traces of live connections: a result like that of a simulated run. Nothing here needs root."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

import cwnd
from conftest import SMALL
from cwnd._report import page
from cwnd._results.manifest import read_manifest
from cwnd._results.tables import traced_samples

CONNECTION = {
    "cca": "elastic",
    "remote": "10.99.2.2:5201",
    "netns": 4026531840,
    "start_s": 0.5,
    "stop_s": 2.5,
    "sent_pkts": 1000,
    "retransmitted_pkts": 20,
    "delivered_pkts": 980,
    "lost_pkts": 20,
    "acked_bytes": 1_250_000,
    "delivered_bytes": 1_500_000.0,
    "min_rtt_ms": 18.5,
}


def traced(name: str = "trace") -> cwnd.Results:
    """Two connections with two samples each, taken in turn."""

    def numbers(kind: str, *values: float) -> bytes:
        return struct.pack(f"<4{kind}", *values)

    columns = {
        "time_s": numbers("d", 0.5, 0.6, 2.5, 2.6),
        "flow": numbers("I", 0, 1, 0, 1),
        "cwnd_pkts": numbers("I", 10, 20, 30, 40),
        "min_cwnd_pkts": numbers("I", 10, 20, 8, 20),
        "max_cwnd_pkts": numbers("I", 10, 20, 35, 45),
        "ssthresh_pkts": numbers("I", 0x7FFFFFFF, 15, 25, 15),
        "in_flight_pkts": numbers("I", 9, 19, 29, 39),
        "rtt_ms": numbers("d", 0, 20, 30, 40),
        "throughput_mbps": numbers("d", float("nan"), float("nan"), 6, 6),
        "pacing_mbps": numbers("d", 0, 50, 0, 50),
        "state": numbers("I", 0, 0, 3, 4),
    }
    connections = [{**CONNECTION, "flow": flow, "local": f"10.99.1.1:{40000 + flow}"} for flow in range(2)]
    samples = traced_samples(columns, name, ["elastic", "elastic"])
    return cwnd.Results._traced("live", name, 10_000_000, 3.0, connections, samples)


def test_samples_of_a_trace_have_the_columns_of_a_simulated_run_and_two_more() -> None:
    simulated, samples = cwnd.run(cwnd.dumbbell("reno", **SMALL)).samples, traced().samples
    own = {"state", "pacing_mbps"}
    assert {k: v for k, v in samples.schema.items() if k not in own} == dict(simulated.schema)
    first = samples.row(0, named=True)
    assert (first["ssthresh_pkts"], first["rtt_ms"], first["throughput_mbps"]) == (None, None, None)
    assert (first["pacing_mbps"], first["state"], first["cca"], first["seed"]) == (None, "open", "elastic", 0)
    assert samples["state"].to_list() == ["open", "open", "recovery", "loss"]


def test_flows_of_a_trace_follow_from_its_counters_and_samples() -> None:
    flows = traced().flows
    assert flows.schema == cwnd.run(cwnd.dumbbell("reno", **SMALL)).flows.schema
    row = flows.row(0, named=True)
    # 1.5 and 1.25 MB in two seconds
    assert (row["throughput_mbps"], row["goodput_mbps"]) == (pytest.approx(6), pytest.approx(5))
    assert (row["loss_ratio"], row["timeouts"], row["mean_cwnd_pkts"]) == (0.02, None, 20)
    assert row["mean_rtt_ms"] == 30


def test_a_trace_is_drawn_saved_loaded_and_reported_as_a_simulated_run(tmp_path: Path) -> None:
    results = traced()
    assert results.plots() == ["cwnd", "rtt", "throughput"]
    (axes,) = results.plot("cwnd").axes
    assert [list(line.get_ydata()) for line in axes.get_lines()] == [[10, 30], [20, 40]]
    results.save(tmp_path / "out")
    loaded = cwnd.Results.load(tmp_path / "out")
    assert loaded.to_json() == results.to_json() and loaded.samples.equals(results.samples)
    page.write(loaded, tmp_path / "report.html", read_manifest(tmp_path / "out"))
    assert "2 flows, traced" in (tmp_path / "report.html").read_text()


def test_a_trace_and_a_simulated_run_make_one_figure() -> None:
    simulated = cwnd.run(cwnd.dumbbell("elastic", name="simulated", **SMALL))
    both = traced() + simulated
    assert [axes.get_title(loc="left") for axes in both.plot("rtt").axes] == ["trace", "simulated"]
    assert both.samples.height == traced().samples.height + simulated.samples.height
    with pytest.raises(cwnd.Error, match="both have a scenario 'trace'; give them different names"):
        traced() + traced()


def test_figures_of_sweeps_are_refused_for_traces() -> None:
    with pytest.raises(cwnd.Error, match="kind: 'cdf' is not for traces of live connections; cwnd, rtt"):
        (traced() + traced("another")).plot("cdf")
    with pytest.raises(cwnd.Error, match="no samples of the queue"):
        traced().plot("queue")
