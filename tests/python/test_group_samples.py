"""Samples by group: a time series for each [[flows]], beside the series of its flows."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import polars as pl
import polars.testing
import pytest

import cwnd
from conftest import Command

TOML = """
duration = "4 s"
samples = 40
samples_by = "group"

[dumbbell]
rate = "100 Mbps"
delay = "10 ms"
buffer = 200

[[flows]]
cca = "cubic"
count = 9
start_jitter = "1 s"

[[flows]]
cca = "reno"
count = 12
stagger = "30 ms"
stop = "3 s"
stop_stagger = "20 ms"

[[flows]]
cca = "cubic"
"""


def read(text: str, folder: Path, name: str = "groups") -> cwnd.Scenario:
    file = folder / f"{name}.toml"
    file.write_text(text)
    return cwnd.Scenario.from_toml(file)


@pytest.fixture(scope="module")
def by_group(tmp_path_factory: pytest.TempPathFactory) -> cwnd.Results:
    return cwnd.run(read(TOML, tmp_path_factory.mktemp("groups")), repeat=2)


@pytest.fixture(scope="module")
def saved(by_group: cwnd.Results, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("saved") / "out"
    by_group.save(folder)
    return folder


def of_groups(results: cwnd.Results) -> pl.DataFrame:
    return results.samples.drop_nulls("group")


def added_up(by_flow: cwnd.Results, sizes: list[int]) -> pl.DataFrame:
    """The rows of flows, added up by group."""
    group = pl.Series([group for group, size in enumerate(sizes) for _ in range(size)], dtype=pl.UInt32)
    rows = by_flow.samples.drop_nulls("flow").sort("seed", "flow", "time_s")
    starts = by_flow.flows.select("seed", "flow", "start_s")
    since_s = pl.max_horizontal(pl.col("time_s").shift(1).over("seed", "flow"), "start_s")
    rows = rows.join(starts, ["seed", "flow"], maintain_order="left").with_columns(
        span_s=pl.col("time_s") - since_s, group=pl.lit(group.gather(rows["flow"]))
    )
    return (
        rows.group_by("seed", "time_s", "group")
        .agg(
            pl.col("cca").first(),
            pl.len().alias("flows"),
            pl.col("cwnd_pkts").mean().alias("mean_cwnd_pkts"),
            pl.col("min_cwnd_pkts").min(),
            pl.col("max_cwnd_pkts").max(),
            pl.col("in_flight_pkts").sum(),
            pl.col("rtt_ms").mean(),
            ((pl.col("throughput_mbps") * pl.col("span_s")).sum() / pl.col("span_s").max())
            .fill_nan(0)
            .alias("throughput_mbps"),
            pl.col("marked_pkts").sum(),
        )
        .sort("seed", "time_s", "group")
    )


def check_against(by_group: cwnd.Results, by_flow: cwnd.Results, sizes: list[int]) -> None:
    expected = added_up(by_flow, sizes)
    rows = of_groups(by_group)
    assert rows.equals(rows.sort("seed", "time_s", "group"))
    assert rows["group"].unique().to_list() == list(range(len(sizes)))
    pl.testing.assert_frame_equal(
        rows.select(expected.columns), expected, check_dtypes=False, rel_tol=1e-9, abs_tol=1e-9
    )
    assert rows["flow"].null_count() == rows["cwnd_pkts"].null_count() == rows.height
    assert rows["ssthresh_pkts"].null_count() == rows.height


def test_the_row_of_a_group_is_the_sum_of_the_rows_of_its_flows(
    by_group: cwnd.Results, tmp_path: Path
) -> None:
    by_flow = cwnd.run(read(TOML.replace('"group"', '"flow"'), tmp_path), repeat=2)
    check_against(by_group, by_flow, [9, 12, 1])
    assert of_groups(by_group)["flows"].max() == 12
    assert by_group.flows.equals(by_flow.flows) and by_group.links.equals(by_flow.links)
    assert by_group.scenarios[0]["sample_groups"] == [9, 12, 1]
    kept = by_group.samples.drop_nulls("link").select(by_flow.samples.columns)
    assert kept.equals(by_flow.samples.filter(pl.col("link").is_in(["bottleneck", "access-21", "exit-21"])))


@pytest.mark.quic
def test_a_stack_has_the_same_sums() -> None:
    path: dict[str, Any] = {"rate": "20 Mbps", "delay": "10 ms", "buffer": 60, "duration": "2 s"}
    flows = {"flows": [3, 2], "stagger": "70 ms", "samples": 10, **path}
    by_group, by_flow = (
        cwnd.run(cwnd.dumbbell(["cubic", "reno"], samples_by=by, **flows), world="quinn")
        for by in ("group", "flow")
    )
    check_against(by_group, by_flow, [3, 2])
    assert by_group.samples["link"].drop_nulls().unique().to_list() == ["bottleneck"]


def test_samples_by_group_are_the_same_bytes_on_any_number_of_threads(
    tmp_path: Path, by_group: cwnd.Results
) -> None:
    def text(results: cwnd.Results) -> str:
        return results.samples.write_csv()

    scenario = read(TOML, tmp_path)
    for threads in (1, 2, 3, 7):
        assert text(cwnd.run(scenario, repeat=2, threads=threads)) == text(by_group), threads


def test_rows_do_not_grow_with_the_flows() -> None:
    scenario = cwnd.dumbbell(
        ["cubic", "reno"], flows=[20_000, 10_000], duration="2 ms", samples_by="group", rate="10 Gbps"
    )
    rows = cwnd.run(scenario).samples
    # A thousand intervals have 1001 ends, each with two groups and the one link that they share.
    assert rows.height == 1001 * (2 + 1)
    assert rows.drop_nulls("group")["flows"].unique(maintain_order=True).to_list() == [20_000, 10_000]


def test_a_result_by_group_is_saved_loaded_and_written_as_csv_as_it_was(
    by_group: cwnd.Results, saved: Path
) -> None:
    loaded = cwnd.Results.load(saved)
    assert loaded.samples.equals(by_group.samples) and loaded.scenarios == by_group.scenarios
    text = by_group.samples.write_csv()
    assert pl.read_csv(io.StringIO(text), schema=by_group.samples.schema).equals(by_group.samples)
    json.loads(by_group.to_json())


def test_samples_by_flow_have_no_columns_of_groups(tmp_path: Path) -> None:
    by_flow = cwnd.run(read(TOML.replace('samples_by = "group"\n', ""), tmp_path))
    assert {"group", "flows", "mean_cwnd_pkts"}.isdisjoint(by_flow.samples.columns)
    assert "sample_groups" not in by_flow.scenarios[0]


def test_results_by_flow_and_by_group_are_in_one_table(by_group: cwnd.Results, tmp_path: Path) -> None:
    by_flow = cwnd.run(read(TOML.replace('"group"', '"flow"'), tmp_path, "flows"))
    both = by_group + by_flow
    assert both.samples.height == by_group.samples.height + by_flow.samples.height
    (first, second) = both.plot("cwnd").axes
    assert (len(first.lines), len(second.lines)) == (3, 22)
    together = cwnd.run([read(TOML, tmp_path), read(TOML.replace('"group"', '"flow"'), tmp_path, "flows")])
    assert together.samples.drop_nulls("group").height and together.samples.drop_nulls("flow").height


def test_figures_over_time_have_a_line_for_each_group(by_group: cwnd.Results, tmp_path: Path) -> None:
    for kind, column, label in (
        ("cwnd", "mean_cwnd_pkts", "mean cwnd (packets)"),
        ("rtt", "rtt_ms", "mean RTT (ms)"),
        ("throughput", "throughput_mbps", "throughput (Mbit/s)"),
    ):
        figure = by_group.plot(kind)
        (axes,) = figure.axes
        assert axes.get_ylabel() == label
        lines = {(tuple(line.get_xdata()), tuple(line.get_ydata())) for line in axes.lines}
        for group in range(3):
            rows = of_groups(by_group).filter(group=group, seed=1).drop_nulls(column)
            assert (tuple(rows["time_s"]), tuple(rows[column])) in lines, (kind, group)
        entries = [entry.get_text() for entry in figure.legends[0].get_texts()]
        assert entries == ["cubic (2 groups)", "reno"]
    assert not by_group.plot("cwnd").axes[0].collections, "a band of all flows would hide the means"
    assert "rtt-cdf" not in by_group.plots()
    with pytest.raises(cwnd.Error, match="by group; the RTTs of flows are in samples by flow"):
        by_group.plot("rtt-cdf")


def test_a_report_has_a_plot_with_a_line_for_each_group(
    saved: Path, tmp_path: Path, cwnd_here: Command
) -> None:
    assert cwnd_here("report", str(saved), "--out", str(tmp_path / "report.html")).returncode == 0
    page = (tmp_path / "report.html").read_text()
    data = json.loads(page.split('<script type="application/json" id="data">')[1].split("</script>")[0])
    windows = next(plot for plot in data["plots"] if plot["kind"] == "cwnd")
    lines = [line["name"] for line in windows["series"] if "name" in line]
    assert lines == ["cubic 1", "reno", "cubic 2"]
    assert windows["label"] == "mean cwnd (packets)"


def test_results_by_group_and_by_flow_compare(by_group: cwnd.Results, tmp_path: Path) -> None:
    by_flow = cwnd.run(read(TOML.replace('"group"', '"flow"'), tmp_path), repeat=2)
    comparison = cwnd.compare(by_group, by_flow)
    (axes,) = comparison.plot("cwnd").axes
    assert len(axes.lines) == 3 + 22


def test_the_command_shows_and_runs_samples_by_group_and_refuses_others(
    tmp_path: Path, cwnd_here: Command
) -> None:
    read(TOML, tmp_path)
    shown = cwnd_here("show", str(tmp_path / "groups.toml"))
    assert "samples every 0.1 s by group" in shown.stdout
    flags = ("--cca", "cubic+reno", "--flows", "3", "--duration", "1s", "--samples-by")
    done = cwnd_here("run", *flags, "group", "--out", str(tmp_path / "out"))
    assert done.returncode == 0, done
    assert (tmp_path / "out" / "cwnd.svg").is_file()
    assert of_groups(cwnd.Results.load(tmp_path / "out"))["flows"].unique().to_list() == [3]
    for arguments, line in (
        (("run", *flags, "link"), "--samples-by: 'link' is not a choice; 'flow' or 'group'"),
        (
            ("run", *flags, "group", "--samples", "change"),
            "--samples-by: 'group' with samples by change; 'flow', or samples at intervals",
        ),
    ):
        refused = cwnd_here(*arguments)
        assert (refused.returncode, refused.stdout) == (2, "")
        assert refused.stderr == f"cwnd: error: {line}\n"
    (tmp_path / "bad.toml").write_text(TOML.replace('"group"', '"all"'))
    refused = cwnd_here("run", str(tmp_path / "bad.toml"), "--out", str(tmp_path / "none"))
    expected = (
        f"cwnd: error: {tmp_path / 'bad.toml'}:4: samples_by: 'all' is not a choice; 'flow' or 'group'\n"
    )
    assert (refused.returncode, refused.stderr) == (2, expected)
    assert not (tmp_path / "none").exists()


def test_a_scenario_without_samples_has_no_groups() -> None:
    scenario = cwnd.dumbbell(["cubic", "reno"], flows=2, samples="off", samples_by="group", duration="1 s")
    assert "sample_groups" not in scenario.to_dict()
    assert cwnd.run(scenario).samples.is_empty()


def test_the_group_of_a_flow_with_arrivals_counts_open_transfers(tmp_path: Path) -> None:
    text = TOML + 'size = "30 KB"\narrivals = { process = "poisson", rate = 40 }\n'
    results = cwnd.run(read(text, tmp_path))
    rows = of_groups(results).filter(group=2)
    transfers = results.transfers.with_columns(end_s=pl.col("start_s") + pl.col("fct_ms") / 1e3)
    begun = transfers["start_s"].to_numpy()
    ended = transfers["end_s"].fill_null(5.0).to_numpy()
    open_ = [int(((begun <= time_s) & (time_s < ended)).sum()) for time_s in rows["time_s"]]
    assert rows["flows"].to_list() == open_ and rows.height == 41
    without = rows.filter(flows=0).select("mean_cwnd_pkts", "min_cwnd_pkts", "max_cwnd_pkts", "rtt_ms")
    assert 0 < without.height == without.null_count()["rtt_ms"].item()
    assert without.height == without.null_count()["max_cwnd_pkts"].item()
    assert rows["mean_cwnd_pkts"].is_between(rows["min_cwnd_pkts"], rows["max_cwnd_pkts"]).all()
    mean_mbps = rows["throughput_mbps"][1:].mean()
    assert mean_mbps == pytest.approx(results.flows.filter(flow=21)["throughput_mbps"].item())
    assert {"cwnd", "throughput"} <= set(results.plots())
    for kind in results.plots():
        results.plot(kind, tmp_path / f"{kind}.svg")
