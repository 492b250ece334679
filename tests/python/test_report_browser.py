"""The page of a report in a browser: zoom, lines switched off, sorted tables; and the page without script."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import cwnd
from conftest import opened_page
from cwnd._report import page as page_module
from test_report import MANIFEST

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.browser

CCAS = ("reno", "cubic", "bbr")
_SHOWN = "PLOTS.map(({plot}) => plot.series.filter(one => one.label === 'cubic').map(one => one.show))"
_RANGES = "PLOTS.map(({plot}) => [plot.scales.x.min, plot.scales.x.max])"


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("report") / "report.html"
    page_module.write(run_three(), path, MANIFEST)
    return path


def run_three() -> cwnd.Results:
    path = {"rate": "20 Mbps", "delay": "10 ms", "buffer": 40, "duration": "10 s"}
    return cwnd.run([cwnd.dumbbell(cca, name=cca, **path) for cca in CCAS])


@pytest.fixture
def opened(browser: Browser, report: Path) -> Iterator[Any]:
    with opened_page(browser, report) as page:
        yield page


def test_every_figure_over_time_is_a_plot_and_the_others_stay_figures(opened: Page) -> None:
    assert opened.locator(".uplot").count() == 4
    kinds = opened.eval_on_selector_all(".uplot", "all => all.map(one => one.closest('figure').dataset.kind)")
    assert kinds == ["cwnd", "rtt", "throughput", "queue"]
    assert opened.locator("figure img:visible").count() == opened.locator("figure img").count() - 4


def test_dragging_across_a_plot_zooms_all_plots_and_a_button_shows_all_again(opened: Page) -> None:
    box = opened.locator(".u-over").first.bounding_box()
    middle = box["y"] + box["height"] / 2
    opened.mouse.move(box["x"] + 0.2 * box["width"], middle)
    opened.mouse.down()
    opened.mouse.move(box["x"] + 0.5 * box["width"], middle, steps=5)
    opened.mouse.up()
    opened.wait_for_function("PLOTS.every(({plot}) => plot.scales.x.min > 1)")
    ranges = opened.evaluate(_RANGES)
    assert all(one == ranges[0] for one in ranges)
    assert ranges[0] == pytest.approx([2, 5], abs=0.05)
    opened.get_by_role("button", name="Whole time").click()
    opened.wait_for_function("PLOTS.every(({plot}) => plot.scales.x.min === 0)")
    assert opened.evaluate(_RANGES) == [[0, 10]] * 4


def test_a_click_in_a_legend_hides_an_algorithm_in_all_plots(opened: Page) -> None:
    opened.locator(".uplot").first.get_by_text("cubic").click()
    assert opened.evaluate(_SHOWN) == [[False], [False], [False], []]
    queue = "PLOTS[3].plot.series.map(one => [one.label, one.show])"
    assert ["cubic: bottleneck", False] in opened.evaluate(queue)
    button = opened.get_by_role("button", name="cubic", exact=True)
    assert button.get_attribute("aria-pressed") == "false"
    button.click()
    assert opened.evaluate(_SHOWN) == [[True], [True], [True], []]
    assert ["cubic: bottleneck", True] in opened.evaluate(queue)


def test_values_under_the_pointer_are_those_of_the_samples(opened: Page) -> None:
    """At half of 10 s: the row of the samples there, for each algorithm."""
    over = opened.locator(".u-over").first
    box = over.bounding_box()
    opened.mouse.move(box["x"] + box["width"] / 2, box["y"] + 10)
    shown = opened.locator(".uplot").first.locator(".u-value:visible").all_inner_texts()
    at = float(shown[0].removesuffix(" s"))
    assert at == pytest.approx(5, abs=0.02)
    samples = run_three().samples.drop_nulls("cwnd_pkts")
    for cca, value in zip(CCAS, shown[1:], strict=True):
        own = samples.filter(cca=cca)
        nearest = own.filter((own["time_s"] - at).abs() == (own["time_s"] - at).abs().min())
        assert int(value) == nearest["cwnd_pkts"][0]


def test_a_click_on_a_heading_sorts_by_value_and_a_second_one_turns_the_order(opened: Page) -> None:
    table = opened.locator(".table table").nth(1)
    heading = table.get_by_role("columnheader", name="mean cwnd packets")
    place = heading.evaluate("one => one.cellIndex")

    def column() -> list[float]:
        texts = table.locator(f"tbody td:nth-child({place + 1})").all_inner_texts()
        return [float(text.replace(",", "")) for text in texts]

    assert heading.get_attribute("aria-sort") is None
    heading.get_by_role("button").click()
    assert heading.get_attribute("aria-sort") == "ascending"
    assert column() == sorted(column()) and len(set(column())) == 3
    heading.get_by_role("button").press("Enter")
    assert heading.get_attribute("aria-sort") == "descending"
    assert column() == sorted(column(), reverse=True)


@pytest.mark.parametrize("width", [390, 1440])
def test_nothing_but_tables_and_figures_scrolls_sideways(browser: Browser, report: Path, width: int) -> None:
    page = browser.new_page(viewport={"width": width, "height": 900})
    page.goto(report.as_uri())
    assert page.evaluate("document.documentElement.scrollWidth") == width
    assert page.evaluate("PLOTS.every(({plot}) => plot.width <= plot.root.parentElement.clientWidth)")
    page.close()


def test_without_script_every_figure_is_there(browser: Browser, report: Path) -> None:
    page = browser.new_page(java_script_enabled=False)
    page.goto(report.as_uri())
    images = page.locator("figure img")
    assert images.count() >= 5
    assert all(images.nth(index).is_visible() for index in range(images.count()))
    assert page.locator(".uplot, button").count() == 0
    page.close()
