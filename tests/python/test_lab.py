"""The lab in a browser, beside the command."""

from __future__ import annotations

import base64
import gzip
import json
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner

import cwnd
from cwnd._cli.commands import cli
from lab_page import PAGE, Lab

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

ROOT = Path(__file__).parents[2]
LESSONS = [
    "slow-start",
    "bufferbloat",
    "rtt-unfairness",
    "bbr-cubic",
    "elastic",
    "agile",
    "codel",
    "fair-queueing",
    "l4s",
    "ack-path",
]
HOME = 'duration = "5 s"\n[dumbbell]\nrate = "20 Mbps"\nrtt = "30 ms"\nbuffer = "1 BDP"\n'
SCENARIOS = [
    *(f'{HOME}[[flows]]\ncca = "{cca}"\n' for cca in ("reno", "cubic", "bbr", "elastic", "agile", "vegas")),
    *(
        f'{HOME}queue = "{queue}"\n[[flows]]\ncca = "cubic"\ncount = 3\n'
        for queue in ("red", "codel", "fq-codel", "pie", "dualpi2")
    ),
    f'{HOME}queue = "dualpi2"\n[[flows]]\ncca = "prague"\nstack = {{ ecn = "l4s" }}\n'
    '[[flows]]\ncca = "cubic"\n',
    f'seed = 7\n{HOME}loss = "1%"\n[[flows]]\ncca = "bbr3"\n[[flows]]\ncca = "tahoe"\n',
    f'{HOME}jitter = {{ std = "3 ms" }}\nreorder = 0.01\nduplicate = 0.01\n[[flows]]\ncca = "illinois"\n',
    f'{HOME}reverse = {{ rate = "0.5 Mbps", buffer = 20 }}\n[[flows]]\ncca = "cubic"\ncount = 2\n',
    f'{HOME}[[flows]]\ncca = "cubic"\nsize = "200 KB"\narrivals = {{ process = "poisson", load = 0.5 }}\n',
    f'stack = "ns2"\nclock = "ns2"\n{HOME}[[flows]]\ncca = "sack"\ncount = 4\nstagger = "100 ms"\n',
    f'warmup = "2 s"\nsamples = "change"\n{HOME}[[flows]]\ncca = "ledbat"\n[[flows]]\ncca = "copa"\n',
    f'end = "last-arrival"\n{HOME}[[flows]]\ncca = "dctcp"\nstop = "4 s"\nstack = {{ ecn = "accurate" }}\n',
    HOME.replace('"20 Mbps"', '{ steps = [["0 s", "20 Mbps"], ["2 s", "2 Mbps"]] }')
    + '[[flows]]\ncca = "yeah"\n',
]


def pack(*panes: dict[str, object]) -> str:
    text = json.dumps({"lesson": None, "panes": panes}).encode()
    return base64.urlsafe_b64encode(text).decode().rstrip("=")


def read(text: str) -> Any:
    """Objects from JSON; JavaScript writes 0 where others write 0.0."""
    return json.loads(text, parse_int=float)


def answer_of(command: list[str]) -> dict[str, Any]:
    done = CliRunner().invoke(cli, [*command, "--json"])
    assert done.exit_code == 0, done.output
    answer: dict[str, Any] = read(done.stdout)
    return answer


def test_the_command_prints_the_address_of_the_page_and_opens_it(monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    done = CliRunner().invoke(cli, ["lab"])
    if PAGE.exists():
        assert done.output == f"{PAGE.as_uri()}\n" and opened == [PAGE.as_uri()]
    else:
        assert isinstance(done.exception, cwnd.Error) and "make lab" in str(done.exception) and not opened


@pytest.mark.browser
def test_the_page_is_one_file_of_less_than_a_megabyte_compressed() -> None:
    assert len(gzip.compress(PAGE.read_bytes(), 9)) < 1_000_000


def rows_of(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rows without what the engine leaves out: marks of none, metrics that a flow has not."""
    return [
        {key: value for key, value in row.items() if value is not None and (key, value) != ("marked_pkts", 0)}
        for row in rows
    ]


@pytest.mark.browser
@pytest.mark.parametrize("toml", SCENARIOS)
def test_results_and_samples_are_those_of_the_command_to_the_last_bit(
    lab: Lab, toml: str, tmp_path: Path
) -> None:
    page = lab.open()
    found = read(page.evaluate("async toml => JSON.stringify(await cwnd.run(toml))", toml))
    file = tmp_path / "scenario.toml"
    file.write_text(toml)
    expected = answer_of(["run", str(file)])
    assert json.dumps(found["scenario"]) == json.dumps(expected["scenario"])
    for rows in ("flows", "links"):
        [ours], [theirs] = (answer["runs"] for answer in (found, expected))
        assert [sorted(row.items()) for row in rows_of(ours[rows])] == [
            sorted(row.items()) for row in rows_of(theirs[rows])
        ]
    for name, estimate in expected["summary"].items():
        assert found["summary"][name] == estimate
    samples = cwnd.run(cwnd.Scenario.from_toml(file)).samples
    flows = samples.filter(samples["flow"].is_not_null())
    for column in ("time_s", "cwnd_pkts", "min_cwnd_pkts", "max_cwnd_pkts", "in_flight_pkts"):
        assert flows[column].to_list() == found["flow_samples"][column]
    if "change" not in toml:  # where rows have no throughput
        assert flows["throughput_mbps"].to_list() == found["flow_samples"]["throughput_mbps"]
    # Without a sample the engine has 0, the table nothing.
    assert flows["rtt_ms"].to_list() == [rtt_ms or None for rtt_ms in found["flow_samples"]["rtt_ms"]]


@pytest.mark.browser
@pytest.mark.parametrize("lesson", LESSONS)
def test_a_lesson_shows_what_its_command_or_scenario_gives(lab: Lab, lesson: str, tmp_path: Path) -> None:
    page = lab.open(lesson)
    assert page.locator("#about p").count() == 2 and page.inner_text("#about .question").endswith(("?", "."))
    assert page.locator("#about p:first-child").inner_text().count(". ") == 2  # three sentences
    command = page.inner_text("#command").split("  #")[0]
    (tmp_path / "lab.toml").write_text(page.text_content("#toml"))
    words = [str(tmp_path / word) if word == "lab.toml" else word for word in shlex.split(command)[1:]]
    expected = answer_of(words)
    goodputs = [flow["goodput_mbps"] for flow in expected["runs"][0]["flows"]]
    shown = page.locator(".results:first-child tbody td:nth-child(2)").all_inner_texts()
    assert [float(text.replace(",", "")) for text in shown] == pytest.approx(goodputs, rel=0.006)
    assert page.locator(".pane:first-child .uplot canvas").count() == 4


@pytest.mark.browser
def test_every_lesson_of_the_page_is_tested(lab: Lab) -> None:
    values = lab.open().eval_on_selector_all("#lesson option", "all => all.map(each => each.value)")
    assert values == [*LESSONS, ""]


@pytest.mark.browser
def test_a_slider_moves_by_the_keyboard_and_the_address_brings_it_back(lab: Lab) -> None:
    page = lab.open(pack({"rate": 20, "duration": 5}))
    rate = page.get_by_role("slider", name="Rate of the bottleneck")
    rate.focus()
    status = lab.status_after(lambda: [page.keyboard.press("ArrowRight") for _ in range(60)])
    toml = page.text_content("#toml")
    assert 'rate = "20 Mbps"' not in toml
    page.wait_for_function(
        "address => location.hash !== address", arg=f"#{pack({'rate': 20, 'duration': 5})}"
    )
    moved = page.evaluate("location.hash")
    lab.open(moved.lstrip("#"))
    assert (page.text_content("#toml"), page.inner_text("#status")) == (toml, status)


@pytest.mark.browser
def test_only_the_last_of_many_moves_is_shown(lab: Lab) -> None:
    page = lab.open(pack({"rate": 20, "duration": 20}))
    rate = page.get_by_label("Rate of the bottleneck").nth(1)
    for value in (30, 40, 50, 5):
        rate.fill(str(value))
    page.wait_for_function("document.getElementById('status').innerText.startsWith('goodput 4.')")


@pytest.mark.browser
def test_a_second_scenario_begins_as_a_copy_and_is_changed_alone(lab: Lab) -> None:
    page = lab.open(pack({"rate": 20, "duration": 5}))
    lab.status_after(lambda: page.click("#compare"))
    status = lab.status_after(lambda: page.select_option("#path select", "codel"))
    first, second = status.split("; ")
    assert first[1:] != second[1:]
    page.click("#pane-a")
    assert "codel" not in page.text_content("#toml")


@pytest.mark.browser
def test_parameters_come_from_the_registry_and_only_changed_ones_are_written(lab: Lab) -> None:
    page = lab.open(pack({"duration": 5}))
    page.click("#flows summary")
    [cubic] = (algorithm for algorithm in cwnd.algorithms() if algorithm["name"] == "cubic")
    params = [param["name"] for param in cubic["params"]]
    assert page.locator("#flows details label").all_inner_texts() == params
    lab.status_after(
        lambda: page.locator("#flows details").get_by_label("slow_start").select_option("standard")
    )
    assert 'cca = { name = "cubic", slow_start = "standard" }' in page.text_content("#toml")


@pytest.mark.browser
def test_what_cannot_be_run_is_one_line_and_the_page_goes_on(lab: Lab) -> None:
    page = lab.open(pack({"rate": 2000, "duration": 200}))
    assert "million packets are more than this page runs" in page.inner_text("#status.fault")
    page = lab.open(pack({"duration": 5}))
    page.click("#path summary")
    fault = lab.status_after(lambda: page.fill("#steps", "10 fast"))
    assert fault == "steps of the rate: '10 fast' is not a time in s and a rate in Mbit/s, such as '10 5'"
    assert "goodput" in lab.status_after(lambda: page.fill("#steps", "2 5"))
    assert "unknown algorithm 'nonsense'" in lab.status_after(
        lambda: page.evaluate(
            "address => { location.hash = address }", pack({"flows": [{"cca": "nonsense"}]})
        )
    )


@pytest.mark.browser
def test_a_trace_is_read_from_a_file(lab: Lab, tmp_path: Path) -> None:
    page = lab.open(pack({"duration": 5}))
    page.click("#path summary")
    trace = tmp_path / "trace"
    trace.write_text("".join(f"{at}\n" for at in range(2, 1002, 2)))
    # A packet of 1500 bytes each 2 ms: 6 Mbit/s.
    page.set_input_files("#trace", trace)
    page.wait_for_function("document.getElementById('status').innerText.startsWith('goodput 5.')")


@pytest.mark.browser
def test_packets_move_while_it_plays_and_stand_while_it_pauses(lab: Lab) -> None:
    page = lab.open(pack({"rate": 5, "duration": 5}))
    page.wait_for_function("document.getElementById('play-time').value === '0'")
    page.select_option("#slowness", "1")
    picture = "document.getElementById('path-picture').toDataURL()"
    page.wait_for_function(f"{picture}.length > 4000")
    page.click("#play-button")
    page.wait_for_function("parseFloat(document.getElementById('play-clock').innerText) > 0.5")
    page.click("#play-button")
    clock, image = page.inner_text("#play-clock"), page.evaluate(picture)
    page.evaluate("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    assert page.inner_text("#play-clock") == clock and page.evaluate(picture) == image


@pytest.mark.browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize(
    ("width", "address", "is_projected"),
    [
        (320, "bbr-cubic", False),
        (768, "homework/rtt-unfairness/Ada%20Lovelace", False),
        (1440, "bbr-cubic", False),
        (1440, "fair-queueing", True),
    ],
)
def test_the_page_is_accessible_and_nothing_is_wider_than_the_window(
    browser: Browser, width: int, address: str, is_projected: bool, scheme: str
) -> None:
    lab = Lab(browser, width, scheme)
    page = lab.open(address)
    page.click("#teacher-button")
    if is_projected:
        page.click("#projector-button")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.add_script_tag(path=ROOT / "lab" / "node_modules" / "axe-core" / "axe.min.js")
    found = page.evaluate("async () => (await axe.run()).violations")
    serious = [each["id"] for each in found if each["impact"] in ("serious", "critical")]
    assert not serious, json.dumps(found)[:2000]
    assert not lab.faults
    lab.context.close()


#: Keeps each canvas's texts with where they stand, in pixels of the canvas.
RECORD_TEXTS = """
const { fillText, clearRect } = CanvasRenderingContext2D.prototype;
Object.assign(CanvasRenderingContext2D.prototype, {
  fillText(text, x, y) {
    const { a, e, d, f } = this.getTransform();
    const size = this.measureText(text);
    const across = [x - size.actualBoundingBoxLeft, x + size.actualBoundingBoxRight];
    const [left, right] = across.map((at) => a * at + e);
    const down = [y - size.actualBoundingBoxAscent, y + size.actualBoundingBoxDescent];
    const [top, bottom] = down.map((at) => d * at + f);
    const placed = { text, box: [left, top, right, bottom] };
    this.canvas.texts = { ...this.canvas.texts, [text + left + top]: placed };
    fillText.call(this, text, x, y);
  },
  clearRect(...box) {
    this.canvas.texts = {};
    clearRect.apply(this, box);
  },
});
"""
OUTSIDE_THE_MARGINS = """
Array.from(document.querySelectorAll("header *, #about *, main *")).filter((each) => {
  const { left, right, width } = each.getBoundingClientRect();
  return width && (left < 15.5 || right > innerWidth - 15.5);
}).map((each) => each.outerHTML.slice(0, 80))"""


def texts_of(page: Page, canvas: str) -> list[dict[str, Any]]:
    found = page.eval_on_selector(
        canvas, "({ texts, width, height }) => [Object.values(texts), width, height]"
    )
    texts, width, height = found
    for text in texts:
        left, top, right, bottom = text["box"]
        assert left >= 0 and top >= 0 and right <= width and bottom <= height, text
    return list(texts)


@pytest.mark.browser
@pytest.mark.parametrize("width", [320, 390, 1440])
def test_no_lesson_has_a_text_that_is_cut_or_covered_or_axes_that_differ(
    browser: Browser, width: int
) -> None:
    lab = Lab(browser, width)
    lab.context.add_init_script(RECORD_TEXTS)
    for lesson in LESSONS:
        page = lab.open(lesson)
        if width < 800:
            page.get_by_role("button", name="All", exact=True).click()
        assert page.evaluate(OUTSIDE_THE_MARGINS) == [], lesson
        lines = page.eval_on_selector_all(
            "#command span", "all => all.map(each => each.getClientRects().length)"
        )
        assert set(lines) == {1}, lesson
        page.wait_for_function("document.getElementById('path-picture').texts")
        boxes = [text["box"] for text in texts_of(page, "#path-picture")]
        for index, (left, top, right, bottom) in enumerate(boxes):
            for other in boxes[:index]:
                covered = left < other[2] and other[0] < right and top < other[3] and other[1] < bottom
                assert not covered, (lesson, texts_of(page, "#path-picture"))
        panes = page.locator(".pane").count()
        for chart in range(1, 5):
            labels = [
                [
                    text["text"]
                    for text in texts_of(page, f".pane:nth-child({pane}) .chart:nth-child({chart}) canvas")
                ]
                for pane in range(1, panes + 1)
            ]
            assert len(labels[0]) > 3 and all(each == labels[0] for each in labels), (lesson, labels)
    assert not lab.faults
    lab.context.close()


@pytest.mark.browser
def test_a_line_ends_where_its_flow_does(lab: Lab) -> None:
    page = lab.open("fair-queueing")
    count = """canvas => {
      const [red, green, blue] = document.querySelector(".pane:nth-child(2) li:nth-child(7) line")
        .getAttribute("stroke").match(/\\d+/g).map(Number);
      const { width, height } = canvas;
      const { data } = canvas.getContext("2d").getImageData(0, 0, width, height);
      const columns = new Array(width).fill(0);
      for (let at = 0; at < data.length; at += 4) {
        const apart = [red, green, blue].map((part, index) => Math.abs(data[at + index] - part));
        columns[(at / 4) % width] += Math.max(...apart) < 20 && data[at + 3] > 200;
      }
      return columns;
    }"""
    columns = page.eval_on_selector(".pane:nth-child(2) .chart:nth-child(2) canvas", count)
    # Half a second from the tenth of twenty seconds on.
    assert (
        sum(columns) > 10
        and not any(columns[: len(columns) // 3])
        and not any(columns[2 * len(columns) // 3 :])
    )
