"""Where output goes: names that look like markup, streams that are full or closed, planted links."""

from __future__ import annotations

import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

import cwnd
from conftest import FILE, SMALL, SMALL_FLAGS, Command
from cwnd._cli import main as cli
from cwnd._report import points
from test_trace import traced

RUN = ("run", "--cca", "reno", *SMALL_FLAGS)
NAMES = ["[/b]", "[bold red]x[blink]", ":bug:", r"$\frac{", "$x_1$", "<b>&\"'", "_hidden", "a\\$b%{c}"]


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_a_name_that_looks_like_markup_is_shown_as_it_is(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, out = tmp_path / "file.toml", tmp_path / "out"
    file.write_text(FILE.replace('"small"', f"'''{name}'''").replace("repeat = 2", "samples = 4"))
    for command in (["run", str(file), "--out", str(out)], ["show", str(file)], ["results", str(out)]):
        assert cli._main(command) == 0
        assert name in capsys.readouterr().out
    assert cli._main(["report", str(out)]) == 0
    page = (out / "report.html").read_text()
    assert (
        "<h1>"
        + name.replace("&", "&amp;")
        .replace("<", "&lt;")
        .replace(">", "&gt;")
        .replace('"', "&quot;")
        .replace("'", "&#x27;")
        in page
    )


def texts(file: Path) -> str:
    """Returns the texts of an SVG: matplotlib keeps each in a comment."""
    ET.parse(file)
    return "\n".join(re.findall(r"<!-- (.*?) -->", file.read_text(), re.S))


def test_a_name_is_no_mathematics_in_a_figure(tmp_path: Path) -> None:
    names = [*NAMES[:5], "a_b"]
    together = cwnd.run([cwnd.dumbbell("reno", name=name, samples=4, **SMALL) for name in names])
    together.plot("cwnd", tmp_path / "named.svg")
    together.plot("cwnd", tmp_path / "titled.svg", title=r"$\frac{$")
    shown = texts(tmp_path / "named.svg")
    for name in names:
        assert name in shown or name.replace("<", "&lt;") in shown
    assert r"$\frac{$" in texts(tmp_path / "titled.svg")


def test_a_swept_key_is_no_mathematics_in_a_figure(tmp_path: Path) -> None:
    results = cwnd.run([cwnd.dumbbell("reno", name=str(n), **{**SMALL, "buffer": n}) for n in (10, 20)])
    for key in (r"$\frac{", "$x_1$", "flows.a_b"):
        for entry, value in zip(results.entries, (1, 2), strict=True):
            entry["values"] = {key: value}
        results.plot("lines", tmp_path / "lines.svg")
        assert points.points_of(results, ["10", "20"]).axes[0].name.replace("_", " ") in texts(
            tmp_path / "lines.svg"
        ).replace("_", " ")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
@pytest.mark.parametrize(
    "arguments",
    [(*RUN, "--json"), RUN, ("algorithms",), ("--help",), ("--version",), ("show", "--cca", "reno")],
)
def test_a_full_standard_output_is_one_line(arguments: tuple[str, ...]) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "cwnd", *arguments], stdout=full, stderr=subprocess.PIPE, timeout=60
        )
    assert done.returncode == 1
    assert done.stderr == b"cwnd: error: standard output: no space left on device\n"


@pytest.mark.parametrize(
    "arguments", [(*RUN, "--repeat", "400", "--json"), (*RUN, "--help"), ("algorithms",)]
)
def test_a_reader_that_goes_away_makes_no_noise(arguments: tuple[str, ...]) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        [sys.executable, "-m", "cwnd", *arguments], stdout=writing, stderr=subprocess.PIPE, timeout=60
    )
    os.close(writing)
    assert done.returncode in (1, 141) and done.stderr == b""


def test_closed_streams_lose_no_result(tmp_path: Path) -> None:
    def close() -> None:
        os.close(1)
        os.close(2)

    done = subprocess.run(
        [sys.executable, "-m", "cwnd", *RUN, "--samples", "off", "--out", tmp_path / "out"],
        preexec_fn=close,
        timeout=60,
    )
    assert done.returncode == 1  # the table is lost
    assert cwnd.Results.load(tmp_path / "out").scenarios[0]["name"] == "reno"


@pytest.mark.parametrize(
    "arguments", [(*RUN, "--json"), RUN, ("algorithms",), ("--version",), ("show", "--cca", "reno")]
)
def test_a_closed_standard_output_is_one_line(arguments: tuple[str, ...]) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "cwnd", *arguments],
        preexec_fn=lambda: os.close(1),
        stderr=subprocess.PIPE,
        timeout=60,
    )
    assert done.returncode == 1
    assert done.stderr == b"cwnd: error: standard output: bad file descriptor\n"


def assert_nothing_half_written(done: subprocess.CompletedProcess[str], folder: Path) -> None:
    assert done.returncode == 2 and done.stderr.count("\n") == 1
    assert done.stderr.startswith("cwnd: error: ") and "Traceback" not in done.stderr
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("size", [1024, 6144, 16384])
def test_a_file_that_cannot_grow_leaves_nothing_half_written(
    size: int, tmp_path: Path, cwnd_command: Command
) -> None:
    done = cwnd_command(
        *RUN,
        "--out",
        str(tmp_path / "out"),
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size)),
    )
    assert_nothing_half_written(done, tmp_path)
    assert "file too large" in done.stderr


@pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("unshare"), reason="mounts a file system")
@pytest.mark.parametrize("size", ["4k", "12k", "40k"])
def test_a_full_file_system_leaves_nothing_half_written(size: str, tmp_path: Path) -> None:
    command = " ".join([sys.executable, "-m", "cwnd", *RUN, "--out", f"{tmp_path}/out"])
    mount = f"mount -t tmpfs -o size={size} none {tmp_path}"
    steps = f"{mount} && {command}; code=$?; ls -A {tmp_path}; exit $code"
    done = subprocess.run(
        ["unshare", "--mount", "sh", "-c", steps], capture_output=True, text=True, timeout=60
    )
    if "mount:" in done.stderr or "unshare:" in done.stderr:
        pytest.skip("may not mount")
    assert_nothing_half_written(done, tmp_path)
    assert "no space left on device" in done.stderr and done.stdout == ""


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A result of few figures."""
    folder = tmp_path_factory.mktemp("saved") / "result"
    traced().save(folder)
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("size", [512, 6144])
def test_a_comparison_that_cannot_be_written_leaves_nothing_and_no_less(
    size: int, tmp_path: Path, cwnd_command: Command
) -> None:
    result = tmp_path / "result"
    cwnd.run(cwnd.dumbbell("reno", samples=4, **SMALL)).save(result)
    limit = {"preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))}
    compared = ("compare", str(result), str(result), "--out")
    made = cwnd_command(*compared, str(tmp_path / "new"), **limit)
    assert (made.returncode, made.stderr) == (2, f"cwnd: error: --out: {tmp_path}/new: file too large\n")
    assert cwnd_command(*compared, str(tmp_path / "old")).returncode == 0
    (tmp_path / "old" / "notes.txt").write_text("kept")
    before = {file.name: file.read_bytes() for file in (tmp_path / "old").iterdir()}
    assert cwnd_command(*compared, str(tmp_path / "old"), **limit).returncode == 2
    assert {file.name: file.read_bytes() for file in (tmp_path / "old").iterdir()} == before
    assert sorted(item.name for item in tmp_path.iterdir()) == ["old", "result"]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_while_figures_are_drawn_leaves_nothing(number: signal.Signals, tmp_path: Path) -> None:
    program = (
        "import os, signal, sys\n"
        "from matplotlib.figure import Figure\n"
        f"Figure.savefig = lambda *_, **__: os.kill(os.getpid(), {int(number)})\n"
        "from cwnd._cli.main import main\n"
        "main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, *RUN, "--out", str(tmp_path / "out")],
        capture_output=True,
        preexec_fn=lambda: signal.signal(number, signal.SIG_DFL),
        timeout=60,
    )
    assert (done.returncode, done.stdout, done.stderr) == (128 + number, b"", b"")
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def result(saved: Path, tmp_path: Path) -> Path:
    """A copy of its own."""
    return shutil.copytree(saved, tmp_path / "result")


def test_a_link_under_a_final_name_is_replaced_and_not_written_through(result: Path, tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.write_text("kept")
    names = [
        "report.html",
        *(f"{kind}.{ending}" for kind in ("cwnd", "rtt") for ending in ("png", "svg", "pdf")),
    ]
    for name in names:
        (result / name).unlink(missing_ok=True)
        (result / name).symlink_to(precious)
    (tmp_path / "table.csv").symlink_to(precious)
    assert cli._main(["report", str(result)]) == 0
    assert cli._main(["results", str(result)]) == 0
    assert cli._main(["results", str(result), "--csv", str(tmp_path / "table.csv")]) == 0
    assert precious.read_text() == "kept"
    assert not any((result / name).is_symlink() for name in names)
    assert not (tmp_path / "table.csv").is_symlink()


def test_links_under_names_that_can_be_guessed_are_not_followed(result: Path, tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.write_text("kept")
    for name in ("report.html", "cwnd.png", "cwnd.svg", "cwnd.pdf"):
        for guess in (f".{name}.{os.getpid()}", f"{name}.tmp", f".{name}.tmp", f"{name}~"):
            (result / guess).symlink_to(precious)
    assert cli._main(["report", str(result)]) == 0
    assert cli._main(["results", str(result)]) == 0
    assert precious.read_text() == "kept"


def test_no_writer_but_one_opens_files_to_write() -> None:
    """Whatever writes a file goes through _common/files.py."""
    way = re.compile(
        r"""write_text|write_bytes\(|\.open\("[wax]|open\([^)]*"[wax]b?"|getpid|with_suffix\(".tmp"""
    )
    # The store's own folders, and a journal, which grows by a line at a time.
    allowed = {"_common/files.py", "_run/store.py", "_conform/journal.py"}
    package = Path(cwnd.__file__).parent
    found = [
        f"{file}: {line.strip()}"
        for file in package.glob("**/*.py")
        if file.relative_to(package).as_posix() not in allowed
        and file.relative_to(package).parts[0] != "papers"
        for line in file.read_text().splitlines()
        if way.search(line) and "os.devnull" not in line
    ]
    assert found == []


def test_a_device_is_not_replaced_by_a_table(result: Path, cwnd_here: Command) -> None:
    done = cwnd_here("results", str(result), "--csv", "/dev/null")
    assert done.returncode == 2 and "/dev/null: not a regular file" in done.stderr
