"""The lab as a lecture needs it: lessons in order, their numbers, looks, answers, exports, addresses."""

from __future__ import annotations

import csv
import io
import urllib.parse
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import cwnd
from lab_page import Lab
from test_lab import LESSONS, pack

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Download, Page

pytestmark = pytest.mark.browser

LINES = """all => all.map(line =>
  ["stroke", "stroke-dasharray", "stroke-width"].map(name => line.getAttribute(name)))"""


def numbers(page: Page, selector: str) -> dict[str, list[float]]:
    """The rows of a table by their headings."""
    rows = page.eval_on_selector_all(
        f"{selector} tbody tr", "all => all.map(row => [...row.cells].map(cell => cell.textContent))"
    )
    return {first: [float(text.replace(",", "")) for text in cells] for first, *cells in rows}


def saved(page: Page, button: str) -> Download:
    with page.expect_download() as waiting:
        page.get_by_role("button", name=button).click()
    return waiting.value


def scenario(lab: Lab, pane: str) -> str:
    if lab.page.locator(f"#pane-{pane}").is_visible():
        lab.page.click(f"#pane-{pane}")
    return str(lab.page.text_content("#toml"))


def test_next_goes_through_all_lessons_previous_back_and_reset_undoes_changes(lab: Lab) -> None:
    page = lab.open()
    seen = [page.evaluate("location.hash")]
    for _ in LESSONS[1:]:
        lab.status_after(lambda: page.click("#next"))
        seen.append(page.evaluate("location.hash"))
    assert seen == ["", *(f"#{lesson}" for lesson in LESSONS[1:])] and page.locator("#next").is_disabled()
    lab.status_after(lambda: page.click("#previous"))
    before = lab.page.inner_text("#status")
    changed = lab.status_after(lambda: page.get_by_label("Rate of the bottleneck").nth(1).fill("10"))
    assert changed != before
    assert lab.status_after(lambda: page.click("#reset")) == before
    assert page.evaluate("location.hash") == f"#{LESSONS[-2]}"


def test_numbers_of_each_lesson_and_its_answers_are_those_of_runs_of_its_scenarios(lab: Lab) -> None:
    """The table of answers comes from the build, those above from the page."""
    for lesson in LESSONS:
        page = lab.open(lesson)
        page.click("#teacher-button")
        live, answers = numbers(page, "#numbers"), numbers(page, "#teacher")
        panes = page.locator(".pane").count()
        for index, pane in enumerate("AB"[:panes]):
            assert [row[index] for row in live.values()] == answers[pane], lesson
            run = cwnd.run(cwnd.Scenario.parse(scenario(lab, pane.lower())))
            [summary] = run.metrics_by_scenario.values()
            for name, of in (("goodput, Mbit/s", "goodput_mbps"), ("mean RTT, ms", "mean_rtt_ms")):
                if name in live:
                    assert live[name][index] == pytest.approx(summary[of][0], rel=0.006), lesson
        assert len(answers) >= panes + 2 and page.inner_text("#teacher-text").count("Notes. ") == 1


def test_lost_packets_and_windows_of_the_first_lesson_are_those_of_the_samples(lab: Lab) -> None:
    page = lab.open("slow-start")
    live = numbers(page, "#numbers")
    for index, pane in enumerate("ab"):
        samples = cwnd.run(cwnd.Scenario.parse(scenario(lab, pane))).samples.to_dicts()
        early = [row for row in samples if row["time_s"] <= 2]
        lost = sum(row["dropped_pkts"] or 0 for row in early)
        window = max(row["max_cwnd_pkts"] or 0 for row in early)
        assert live["lost in the first 2 s, packets"][index] == pytest.approx(lost, rel=0.006)
        assert live["largest window in the first 2 s, packets"][index] == pytest.approx(window, rel=0.006)


def test_a_line_alone_is_solid_and_flows_keep_their_looks_and_names_in_both_scenarios(lab: Lab) -> None:
    page = lab.open("bufferbloat")
    for pane in (1, 2):
        [[_, dash, _]] = page.eval_on_selector_all(f".pane:nth-child({pane}) .legend line", LINES)
        assert dash == ""
    page = lab.open("rtt-unfairness")
    looks = [page.eval_on_selector_all(f".pane:nth-child({pane}) .legend line", LINES) for pane in (1, 2)]
    assert [dash for _, dash, _ in looks[0]] == [dash for _, dash, _ in looks[1]]
    assert looks[0][0][1] == "" != looks[0][1][1]
    names = [page.locator(f".pane:nth-child({pane}) .legend li").all_inner_texts() for pane in (1, 2)]
    assert names == [["0: near, reno", "1: far, reno"], ["0: near, cubic", "1: far, cubic"]]
    # CUBIC is alone in A, and beside Reno in B: it looks the same.
    page = lab.open("bufferbloat/b.flows=2/b.1.cca=reno")
    [alone], [beside, other] = (
        page.eval_on_selector_all(f".pane:nth-child({pane}) .legend line", LINES) for pane in (1, 2)
    )
    assert alone == beside and other[1] != ""


@pytest.mark.parametrize(
    ("short", "longer"),
    [
        (
            "bufferbloat/a.rate=30/b.queue=codel/b.loss=0.5",
            [{"rate": 30, "rtt": 40, "buffer": 1, "duration": 60},
             {"rate": 20, "rtt": 40, "buffer": 8, "duration": 60, "queue": "codel", "loss": 0.5}],
        ),
        (
            "/a.rate=20/a.duration=5/a.steps=2%205%0A3%2010/a.flows=2/a.1.cca=reno/a.1.start=1",
            [{"rate": 20, "duration": 5, "steps": "2 5\n3 10", "flows": [{}, {"cca": "reno", "start": 1}]}],
        ),
        (
            "slow-start/panes=1/a.rate=20/a.0.params.slow_start=",
            [{"rate": 20, "rtt": 80, "buffer": 1, "duration": 10, "flows": [{"cca": "cubic"}]}],
        ),
        (
            "/panes=2/a.duration=5/b.0.params.beta=0.6/b.0.label=half%2Fone",
            [{"duration": 5}, {"duration": 5, "flows": [{"params": {"beta": 0.6}, "label": "half/one"}]}],
        ),
    ],
)  # fmt: skip
def test_a_short_address_and_the_long_one_of_before_are_the_same_and_the_page_writes_the_short(
    lab: Lab, short: str, longer: list[dict[str, object]]
) -> None:
    panes = "ab"[: len(longer)]
    lab.open(pack(*longer))
    expected = [scenario(lab, pane) for pane in panes]
    lab.open(short)
    assert [scenario(lab, pane) for pane in panes] == expected
    # A change and its undoing make the page write its address.
    field = lab.page.locator("#path").get_by_label("Buffer").nth(1)
    before = field.input_value()
    lab.status_after(lambda: field.fill("3"))
    lab.page.wait_for_function("location.hash.includes('buffer=3')")
    lab.status_after(lambda: field.fill(before))
    lab.page.wait_for_function("!location.hash.includes('buffer=3')")
    written = lab.page.evaluate("location.hash")
    assert sorted(urllib.parse.unquote(written[1:]).split("/")) == sorted(
        urllib.parse.unquote(short).split("/")
    )


def test_an_address_that_is_none_opens_the_first_lesson(lab: Lab) -> None:
    for address in ("bufferbloat/a.nonsense=3", "/a.rate=fast", "bufferbloat/c.rate=3", "%%", "homework/x/y"):
        page = lab.open(address)
        assert page.input_value("#lesson") == LESSONS[0] and "goodput" in page.inner_text("#status")


def test_samples_are_saved_as_csv_to_the_last_digit_and_plots_as_png(lab: Lab, tmp_path: Path) -> None:
    page = lab.open("rtt-unfairness")
    download = saved(page, "Save the samples as CSV")
    assert download.suggested_filename == "rtt-unfairness.csv"
    rows = list(csv.DictReader(io.StringIO(Path(download.path()).read_text())))
    for name, pane in (("A", "a"), ("B", "b")):
        samples = cwnd.run(cwnd.Scenario.parse(scenario(lab, pane))).samples.to_dicts()
        for flow, label in enumerate(("near", "far")):
            own = [row for row in rows if row["scenario"] == name and row["series"] == label]
            expected = [row for row in samples if row["flow"] == flow]
            for column in ("time_s", "cwnd_pkts", "max_cwnd_pkts", "throughput_mbps", "rtt_ms"):
                assert [float(row[column]) if row[column] else None for row in own] == [
                    row[column] for row in expected
                ]
        queue = [row["queue_pkts"] for row in samples if row["link"] == "bottleneck"]
        own = [row for row in rows if row["scenario"] == name and row["series"] == "bottleneck"]
        assert [float(row["queue_pkts"]) for row in own] == queue
    image = Path(saved(page, "Save the plots as PNG").path()).read_bytes()
    assert image.startswith(b"\x89PNG")
    wide, high = (int.from_bytes(image[at : at + 4], "big") for at in (16, 20))
    plot = page.locator(".uplot").first.bounding_box()
    assert wide > 2 * plot["width"] and high > 4 * plot["height"]


def test_on_a_phone_a_plot_stays_in_sight_while_any_slider_moves(browser: Browser) -> None:
    lab = Lab(browser, 390)
    page = lab.open("rtt-unfairness")
    page.set_viewport_size({"width": 390, "height": 844})
    for slider in (
        page.locator("#path").get_by_label("Buffer").first,
        page.get_by_label("Start", exact=True).last,
    ):
        slider.evaluate("each => each.scrollIntoView({ block: 'end' })")
        plot = page.locator(".pane.edited .chart:visible .uplot").bounding_box()
        own = slider.bounding_box()
        assert plot["y"] >= 0 and plot["y"] + plot["height"] <= own["y"] < 845 - own["height"]
    page.click("#other-pane")
    assert page.locator(".pane.edited:visible").get_attribute("aria-label") == "Scenario B"
    assert page.locator("#pane-b").get_attribute("aria-pressed") == "true"
    page.get_by_role("button", name="Queue", exact=True).click()
    assert page.locator(".chart:visible").get_attribute("data-key") == "queue_pkts"
    assert not lab.faults
    lab.context.close()


def test_a_projector_has_larger_text_and_wider_lines(lab: Lab) -> None:
    page = lab.open("bufferbloat")
    size = "parseFloat(getComputedStyle(document.querySelector('#about .question')).fontSize)"
    height = ".uplot >> nth=0"
    before = page.evaluate(size), page.locator(height).bounding_box()["height"]
    page.click("#projector-button")
    after = page.evaluate(size), page.locator(height).bounding_box()["height"]
    assert after[0] >= 1.4 * before[0] and after[1] >= 1.4 * before[1]


@pytest.mark.parametrize("width", [390, 768, 1024, 1440])
@pytest.mark.parametrize("projector", [False, True])
def test_no_column_of_a_table_is_cut_off(browser: Browser, width: int, projector: bool) -> None:
    lab = Lab(browser, width)
    try:
        page = lab.open("fair-queueing")  # the most columns
        if projector:
            page.click("#projector-button")
        cut = page.eval_on_selector_all(
            "#tables table, #numbers",
            "all => all.filter(table => table.scrollWidth > table.clientWidth"
            " || table.getBoundingClientRect().right > table.parentElement.getBoundingClientRect().right + 1)"
            ".length",
        )
        assert page.locator("#tables table").count() == 2 and cut == 0
    finally:
        lab.context.close()


def test_the_printed_sheet_has_every_lesson_with_answers_and_nothing_else(lab: Lab) -> None:
    page = lab.open("codel")
    page.click("#teacher-button")
    page.emulate_media(media="print")
    assert page.locator("#sheet article:visible").count() == len(LESSONS)
    assert page.locator("#sheet table:visible").count() == len(LESSONS)
    assert not page.locator("main").is_visible() and not page.locator("header").is_visible()
    page.emulate_media(media="screen")
    assert not page.locator("#sheet").is_visible() and page.locator("main").is_visible()


def test_the_pointer_shows_the_value_of_each_line(lab: Lab) -> None:
    page = lab.open("rtt-unfairness")
    over = page.locator(".pane:first-child .chart:first-child .u-over").bounding_box()
    page.mouse.move(over["x"] + over["width"] / 2, over["y"] + 10)
    text = page.locator(".pane:first-child .chart:first-child .readout").inner_text()
    at, values = text.removeprefix("at ").split(" s: ")
    samples = cwnd.run(cwnd.Scenario.parse(scenario(lab, "a"))).samples
    near = samples.filter((samples["time_s"] - float(at)).abs() < 0.01)
    assert [float(value) for value in values.split(" | ")] == near["cwnd_pkts"].drop_nulls().to_list()
