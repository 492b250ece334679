"""Where figures put lines, ticks, ellipses and legends."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING

import matplotlib as mpl
import numpy as np
import polars as pl
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

import cwnd
from conftest import SMALL
from cwnd._report import figures
from cwnd._report.looks import STYLE, handle, legend, looks, new_figure
from cwnd._report.throughput_delay import Group, ellipse
from cwnd._report.transfers import bins_of

if TYPE_CHECKING:
    from cwnd._report.source import Source


@pytest.fixture(scope="module")
def run() -> cwnd.Results:
    """Three algorithms over one bottleneck."""
    return cwnd.run(cwnd.dumbbell(["reno", "cubic", "bbr"], flows=1, **SMALL))


def with_tables(results: cwnd.Results, **tables: object) -> Source:
    """The result with other tables."""
    names = ("scenarios", "values", "flows", "samples", "transfers", "summary")
    return SimpleNamespace(**{name: getattr(results, name) for name in names} | tables)


def queue_samples(results: cwnd.Results) -> pl.DataFrame:
    """A queueing delay of 3, 9 and 6 ms at the bottleneck: drops before 2 s, marks before 2 s and 3 s."""
    made = pl.DataFrame(
        {
            "time_s": [0.1, 0.2, 0.3],
            "queue_ms": [3.0, 9.0, 6.0],
            "dropped_pkts": [0, 4, 0],
            "marked_pkts": [0, 1, 2],
        }
    ).with_columns(
        scenario=pl.lit(results.scenarios[0]["name"]),
        seed=pl.lit(results.scenarios[0]["seed"], pl.UInt64),
        link=pl.lit("bottleneck"),
    )
    flows = results.samples.filter(pl.col("flow").is_not_null())
    return pl.concat([flows, made], how="diagonal_relaxed")


def transfers(results: cwnd.Results, rows: Sequence[tuple[int, int, float | None]]) -> pl.DataFrame:
    """Transfers given as flow, size and completion time; alone on its path each takes 10 ms."""
    ccas = ("reno", "cubic", "bbr")
    return pl.DataFrame(
        [(flow, ccas[flow], size, fct, None if fct is None else fct / 10) for flow, size, fct in rows],
        {
            "flow": pl.UInt32(),
            "cca": pl.String(),
            "size_bytes": pl.UInt64(),
            "fct_ms": pl.Float64(),
            "slowdown": pl.Float64(),
        },
        orient="row",
    ).with_columns(scenario=pl.lit(results.scenarios[0]["name"]))


def drawn(kind: str, source: Source) -> Figure:
    return figures.draw(kind, source, None, None, None)


def lines_of(axes: Axes) -> list[Line2D]:
    return [line for line in axes.get_lines() if xs(line)]


def xs(line: Line2D) -> list[float]:
    return [float(x) for x in np.asarray(line.get_xdata())]


def ys(line: Line2D) -> list[float]:
    return [float(y) for y in np.asarray(line.get_ydata())]


def test_an_ellipse_has_the_axes_and_the_angle_of_its_own_groups_covariance() -> None:
    # Along (3, 4)/5 the deviations are -5, 5, 0, 0; across it 0, 0, -2, 2: variances 50/3 and 8/3.
    along, across = np.array([-5.0, 5, 0, 0]), np.array([0.0, 0, -2, 2])
    group = Group("reno", 50 + 0.6 * along - 0.8 * across, 20 + 0.8 * along + 0.6 * across)
    shape = ellipse(group, looks([])["reno"])
    assert shape is not None
    assert shape.get_center() == pytest.approx((50, 20))
    assert shape.get_width() == pytest.approx(2 * math.sqrt(50 / 3))
    assert shape.get_height() == pytest.approx(2 * math.sqrt(8 / 3))
    assert shape.get_angle() % 180 == pytest.approx(math.degrees(math.atan2(4, 3)))


@pytest.mark.parametrize(("count", "ellipses"), [(1, 0), (2, 0), (3, 1)])
def test_groups_of_one_or_two_flows_have_a_point_only(count: int, ellipses: int) -> None:
    group = Group("reno", np.array([40.0, 42, 47])[:count], np.array([9.0, 8, 5])[:count])
    assert (ellipse(group, looks([])["reno"]) is not None) == bool(ellipses)


def test_each_scenario_of_an_algorithm_has_an_ellipse_of_its_own() -> None:
    both = cwnd.run(
        [
            cwnd.dumbbell("reno", per=1e-3, repeat=4, name=str(buffer), **{**SMALL, "buffer": buffer})
            for buffer in (5, 60)
        ]
    )
    (axes,) = both.plot("throughput-delay").axes
    means = both.flows.group_by("scenario").agg(pl.col("throughput_mbps").mean())["throughput_mbps"]
    assert sorted(patch.get_center()[1] for patch in axes.patches) == pytest.approx(sorted(means))  # type: ignore[attr-defined]


def test_drops_and_marks_stand_at_the_times_of_their_samples(run: cwnd.Results) -> None:
    figure = drawn("queue-delay", with_tables(run, samples=queue_samples(run)))
    (axes,) = figure.axes
    delay, drops, marks = lines_of(axes)
    assert ys(delay) == [3, 9, 6]
    assert xs(drops) == [0.2]
    assert xs(marks) == [0.2, 0.3]
    assert np.mean(ys(drops)) > 0.9 and np.mean(ys(marks)) < 0.1
    assert drops.get_color() != marks.get_color() and drops.get_marker() != marks.get_marker()
    (shown,) = figure.legends
    assert [text.get_text() for text in shown.get_texts()] == ["drops", "marks"]


def test_the_ticks_do_not_cover_the_queueing_delay(run: cwnd.Results) -> None:
    (axes,) = drawn("queue-delay", with_tables(run, samples=queue_samples(run))).axes
    low, high = axes.get_ylim()
    assert low + 0.04 * (high - low) < 0 and low + 0.94 * (high - low) > 9


def test_the_bottleneck_is_before_other_shared_links(run: cwnd.Results) -> None:
    scenario = {
        **run.scenarios[0],
        "links": [
            {"name": name, "rate_bps": rate, "delay_ns": 0, "buffer_pkts": 9, "per": 0.0}
            for name, rate in (("wide", 9_000_000), ("narrow", 1_000_000), ("own", 9_000_000))
        ],
    }
    paths = ([0, 1], [0, 1], [0, 1, 2])
    scenario["flows"] = [{**flow, "path": path} for flow, path in zip(scenario["flows"], paths, strict=True)]
    rows = queue_samples(run).filter(pl.col("queue_ms").is_not_null())
    samples = pl.concat([rows.with_columns(link=pl.lit(name)) for name in ("wide", "narrow", "own")])
    figure = drawn("queue-delay", with_tables(run, scenarios=[scenario], samples=samples))
    assert [axes.get_title(loc="left") for axes in figure.axes] == ["narrow", "wide"]


def test_sizes_are_binned_by_thirds_of_a_factor_of_ten() -> None:
    # 10^(1/3) is 2.154, 10^(2/3) 4.642.
    sizes = np.array([1000, 2150, 2160, 4640, 4650, 9990, 10_000])
    bins = bins_of(sizes, np.arange(1.0, 8.0))
    assert [one.size_bytes for one in bins] == pytest.approx(
        [math.sqrt(1000 * 2150), math.sqrt(2160 * 4640), math.sqrt(4650 * 9990), 10_000]
    )
    assert [one.fct_ms[0] for one in bins] == [1, 3, 5, 7]


def test_a_quantile_is_the_time_that_as_many_transfers_do_not_exceed() -> None:
    hundred = bins_of(np.full(100, 5000), np.arange(1.0, 101.0))[0].fct_ms
    assert hundred == [50, 95, 99]
    assert [math.isnan(value) for value in bins_of(np.full(99, 5000), np.ones(99))[0].fct_ms] == [0, 0, 1]
    assert [math.isnan(value) for value in bins_of(np.full(19, 5000), np.ones(19))[0].fct_ms] == [0, 1, 1]


def test_transfers_that_did_not_end_are_slower_than_all_that_did(run: cwnd.Results) -> None:
    table = transfers(run, [(0, 5000, 10.0), (0, 5000, 20.0), (0, 5000, None), (0, 5000, None)])
    figure = drawn("fct-cdf", with_tables(run, transfers=table))
    (line,) = lines_of(figure.axes[0])
    assert xs(line) == [10, 10, 20]
    assert ys(line) == [0, 0.25, 0.5]
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["reno (2 of 4)"]
    # Three of four exceed 20 ms or never end: the 95 % of a bin of twenty is unknown.
    assert bins_of(np.full(20, 5000), np.array([1.0] * 18 + [math.inf] * 2))[0].fct_ms[1] == math.inf


def test_each_algorithm_has_a_line_of_completion_times_in_each_panel(run: cwnd.Results) -> None:
    rows = [(flow, size, 10.0 + flow) for flow in range(3) for size in (2000, 200_000) for _ in range(25)]
    figure = drawn("fct-size", with_tables(run, transfers=transfers(run, rows)))
    assert [axes.get_title(loc="left") for axes in figure.axes] == ["median", "95 %"]
    for axes in figure.axes:
        assert [ys(line) for line in lines_of(axes)] == [[10.0] * 2, [11.0] * 2, [12.0] * 2]


def test_an_rtt_counts_for_the_time_until_the_next_sample_from_the_warm_up_on(run: cwnd.Results) -> None:
    samples = pl.DataFrame({"time_s": [0.0, 1.0, 2.0, 5.0], "rtt_ms": [90.0, 30.0, 10.0, 70.0]}).with_columns(
        scenario=pl.lit(run.scenarios[0]["name"]), seed=pl.lit(1, pl.UInt64), flow=pl.lit(0, pl.UInt32)
    )
    scenario = {**run.scenarios[0], "warmup_ns": 1_000_000_000}
    (axes,) = drawn("rtt-cdf", with_tables(run, scenarios=[scenario], samples=samples)).axes
    (line,) = lines_of(axes)
    assert xs(line) == [10, 10, 30]
    assert ys(line) == pytest.approx([0, 3 / 4, 1])


def test_figures_without_their_rows_are_not_drawn(run: cwnd.Results) -> None:
    new = {"queue-delay", "queue-delay-cdf", "fct-size", "fct-cdf", "slowdown-cdf"}
    unfinished = transfers(run, [(0, 5000, None)])
    empty = queue_samples(run).with_columns(queue_ms=pl.lit(None, pl.Float64))
    for tables in (
        {"samples": empty, "transfers": unfinished},
        {"samples": empty.clear()},
    ):
        assert not new & set(figures.applicable(with_tables(run, **tables)))
    ended = transfers(run, [(0, 5000, 1.0), (1, 5000, 2.0), (1, 9, 3.0), (1, 9, None)])
    full = with_tables(run, samples=queue_samples(run), transfers=ended)
    assert new <= set(figures.applicable(full))


def test_figures_over_time_leave_out_scenarios_without_their_samples(tmp_path: Path) -> None:
    path = {**SMALL, "duration": "1 s"}
    results = cwnd.run(
        [
            cwnd.dumbbell("reno", name="off", samples="off", **path),
            cwnd.dumbbell("reno", name="change", samples="change", **path),
            cwnd.dumbbell("reno", name="interval", samples=50, **path),
        ]
    )
    panels = {kind: len(results.plot(kind).axes) for kind in results.plots() if kind in figures.SERIES}
    assert panels == {"cwnd": 2, "rtt": 2, "throughput": 1, "queue": 1}
    results.save(tmp_path / "saved")
    assert (tmp_path / "saved" / "throughput.png").exists()
    with pytest.raises(cwnd.Error, match="off: no samples of the congestion window"):
        results.plot("cwnd", scenarios=["off", "change"])


@pytest.mark.parametrize("count", [1, 2, 5, 11, 28])
def test_a_legend_is_inside_its_figure_and_beside_its_axes(count: int) -> None:
    with mpl.rc_context(STYLE):
        figure = new_figure(5.2, 3.6)
        axes = figure.subplots()
        axes.set_xlabel("time (s)")
        height = figure.get_figheight()
        look = looks([])
        legend(
            figure,
            {f"elastic+{name}": handle(one, True, one.marker) for name, one in list(look.items())[:count]},
        )
        figure.suptitle("Heading\nfacts")
        figure.draw_without_rendering()
        (shown,) = figure.legends
        box, drawn_box = shown.get_window_extent(), axes.get_tightbbox()
        assert drawn_box is not None
        assert figure.bbox.x0 <= box.x0 and box.x1 <= figure.bbox.x1
        assert figure.bbox.y0 <= box.y0 and box.y1 <= drawn_box.y0
        # Room for the legend is added: the axes keep their height.
        assert axes.get_window_extent().height / figure.dpi > 0.6 * height
        texts = [text.get_window_extent() for text in shown.get_texts()]
        assert all(text.count_overlaps(texts[:index]) == 0 for index, text in enumerate(texts))


def test_names_beside_points_cover_nothing_and_else_there_is_a_legend() -> None:
    def source(rtts: list[float]) -> Source:
        made = cwnd.run([cwnd.dumbbell(cca, name=cca, **SMALL) for cca in ("reno", "cubic", "bbr")])
        flows = made.flows.with_columns(
            mean_rtt_ms=pl.Series(rtts), throughput_mbps=pl.Series([rtt / 10 for rtt in rtts])
        )
        return with_tables(made, flows=flows)

    apart = drawn("throughput-delay", source([20.0, 50.0, 80.0]))
    apart.draw_without_rendering()
    texts = [text for text in apart.axes[0].texts if text.get_text() in ("reno", "cubic", "bbr")]
    assert len(texts) == 3 and not apart.legends
    boxes = [text.get_window_extent() for text in apart.axes[0].texts]
    assert all(box.count_overlaps(boxes[:index]) == 0 for index, box in enumerate(boxes))
    together = drawn("throughput-delay", source([50.0, 50.0, 50.0]))
    assert len(together.legends) == 1


@pytest.mark.parametrize("worst_mbps", [1.0, 9.0])
def test_the_arrow_to_better_leaves_the_marks_free(worst_mbps: float) -> None:
    """The flow with the longest RTT is at the left end of the axes, low or high."""
    made = cwnd.run([cwnd.dumbbell(cca, name=cca, **SMALL) for cca in ("reno", "cubic", "bbr")])
    flows = made.flows.with_columns(
        mean_rtt_ms=pl.Series([80.0, 50.0, 20.0]), throughput_mbps=pl.Series([worst_mbps, 1.0, 9.5])
    )
    figure = drawn("throughput-delay", with_tables(made, flows=flows))
    figure.draw_without_rendering()
    (axes,) = figure.axes
    (better,) = [text for text in axes.texts if text.get_text() == "better"]
    around = better.get_window_extent().expanded(1.3, 2.0)
    marks = [axes.transData.transform((xs(line)[0], ys(line)[0])) for line in lines_of(axes)]
    assert len(marks) >= 3 and not any(around.contains(*mark) for mark in marks)


@pytest.mark.parametrize("kind", ["cwnd", "rtt-cdf", "throughput-delay"])
def test_a_heading_is_inside_its_figure(kind: str) -> None:
    """The facts of this run take more than one line of a narrow figure."""
    runs = cwnd.run(
        [
            cwnd.dumbbell(cca, name=cca, rate="50 Mbps", delay="20 ms", buffer=1650, duration="1 s")
            for cca in ("reno", "cubic")
        ]
    )
    figure = runs.plot(kind)
    figure.draw_without_rendering()
    (title,) = figure.texts
    box = title.get_window_extent()
    assert figure.bbox.x0 <= box.x0 and box.x1 <= figure.bbox.x1
    assert title.get_text().replace("\n", ", ").endswith("no random loss, linux stack")
