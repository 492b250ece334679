"""The page of `cwnd explain --out`: what is in it, when there is none, and how it behaves in a browser."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import cwnd
from captures import SEGMENT, WINDOW, window_limited
from conftest import Command, opened_page
from cwnd._explain import timeline
from cwnd._report import script

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page


def test_a_page_loads_nothing_and_says_what_the_command_says(tmp_path: Path, cwnd_command: Command) -> None:
    (tmp_path / "slow.pcap").write_bytes(window_limited())
    done = cwnd_command("explain", "slow.pcap", "--out", "slow.html", "--anonymous", cwd=tmp_path)
    assert done.returncode == 0 and done.stdout.endswith("Written to slow.html\n")
    text = (tmp_path / "slow.html").read_text()
    assert done.stdout.splitlines()[0] in text
    assert "10.0.0.1:40000" in text and "192.0.2." not in text
    assert re.findall(r"""(?:src|href)=["'](?!data:)""", text) == []


def test_series_are_part_of_an_answer_only_where_a_page_needs_them(tmp_path: Path) -> None:
    (plain,) = cwnd.explain(window_limited()).data["connections"]
    assert "series" not in plain
    (with_page,) = cwnd.explain(window_limited(), out=tmp_path / "slow.html").data["connections"]
    series = with_page["series"]
    steps = len(series["rate_bps"])
    # 40 rounds of 50 ms behind the handshake.
    assert steps * series["step_s"] == pytest.approx(with_page["duration_s"], abs=series["step_s"])
    assert sum(series["rate_bps"]) * series["step_s"] / 8 == pytest.approx(40 * WINDOW)
    assert max(value or 0 for value in series["flight_bytes"]) == WINDOW == 10 * SEGMENT
    assert all(value == pytest.approx(50, rel=0.01) for value in series["rtt_ms"] if value is not None)
    assert all(len(series[key]) == steps for key in ("flight_bytes", "window_bytes", "rtt_ms", "sent_bps"))


def test_spans_of_a_timeline_meet_and_its_line_names_the_cause_of_each_step(tmp_path: Path) -> None:
    (connection,) = cwnd.explain(window_limited(), out=tmp_path / "slow.html").data["connections"]
    data: Any = timeline.plots(connection, connection["series"])
    spans, line = data["plots"][0]["spans"], data["plots"][0]["series"][0]
    assert [one["to"] for one in spans[:-1]] == [two["from"] for two in spans[1:]]
    assert spans[0]["from"] == 0 and len(line["values"]) == data["steps"]
    assert line["names"][line["values"][data["steps"] // 2]] == "receiver's window"


def test_without_uplot_the_page_has_drawings_and_no_script(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(script, "_LIBRARY", ("absent.js",))
    cwnd.explain(window_limited(), out=tmp_path / "slow.html")
    text = (tmp_path / "slow.html").read_text()
    assert "<script" not in text and text.count("<svg") == 4


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("slow.pcap", "slow.pcap", "--out", "slow.html"), "out: takes the answer about one FILE, not 2"),
        (("empty.pcap", "--out", "slow.html"), "no TCP connection"),
        (("slow.pcap", "--connection", "7", "--out", "slow.html"), "there is no 7"),
        (("slow.pcap", "--out", "missing/slow.html"), "no such file"),
    ],
)
def test_a_page_that_cannot_be_is_refused_in_a_line_and_not_begun(
    arguments: tuple[str, ...], says: str, tmp_path: Path, cwnd_command: Command
) -> None:
    (tmp_path / "slow.pcap").write_bytes(window_limited())
    (tmp_path / "empty.pcap").write_bytes(window_limited()[:24])
    done = cwnd_command("explain", *arguments, cwd=tmp_path)
    assert done.returncode == 2 and done.stdout == "" and done.stderr.count("\n") == 1
    assert says in done.stderr
    assert sorted(file.name for file in tmp_path.iterdir()) == ["empty.pcap", "slow.pcap"]


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("explained") / "slow.html"
    cwnd.explain(window_limited(), out=path)
    return path


@pytest.fixture
def opened(browser: Browser, written: Path) -> Iterator[Any]:
    with opened_page(browser, written) as page:
        yield page


@pytest.mark.browser
def test_the_timeline_and_all_plots_zoom_together(opened: Page) -> None:
    kinds = opened.eval_on_selector_all(".uplot", "all => all.map(one => one.closest('figure').dataset.kind)")
    assert kinds == ["causes", "rate", "flight", "rtt"]
    assert opened.locator("figure svg:visible").count() == 0
    box = opened.locator(".u-over").nth(1).bounding_box()
    assert box is not None
    middle = box["y"] + box["height"] / 2
    opened.mouse.move(box["x"] + 0.25 * box["width"], middle)
    opened.mouse.down()
    opened.mouse.move(box["x"] + 0.5 * box["width"], middle, steps=5)
    opened.mouse.up()
    opened.wait_for_function("PLOTS.every(({plot}) => plot.scales.x.min > 0.4)")
    ranges = opened.evaluate("PLOTS.map(({plot}) => [plot.scales.x.min, plot.scales.x.max])")
    assert all(one == ranges[0] for one in ranges)


@pytest.mark.browser
def test_the_pointer_over_a_timeline_shows_the_cause(opened: Page) -> None:
    box = opened.locator(".u-over").first.bounding_box()
    assert box is not None
    opened.mouse.move(box["x"] + box["width"] / 2, box["y"] + 5)
    assert "receiver's window" in opened.locator(".u-legend").first.inner_text()


@pytest.mark.browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 768, 1440])
def test_nothing_but_tables_scrolls_sideways(
    browser: Browser, written: Path, width: int, scheme: Any
) -> None:
    page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
    page.goto(written.as_uri())
    assert page.evaluate("document.documentElement.scrollWidth") == width
    paper = page.evaluate("getComputedStyle(document.documentElement).backgroundColor")
    assert paper == ("rgb(255, 255, 255)" if scheme == "light" else "rgb(22, 24, 27)")
    page.close()


@pytest.mark.browser
def test_without_script_the_drawings_are_there(browser: Browser, written: Path) -> None:
    page = browser.new_page(java_script_enabled=False)
    page.goto(written.as_uri())
    assert page.locator("figure svg:visible").count() == 4
    assert page.locator(".uplot, button").count() == 0
    page.close()
