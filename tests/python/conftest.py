"""Shared parts of the tests: a small scenario, two sweeps, and the command as a user calls it."""

from __future__ import annotations

import io
import shutil
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import cwnd
from cwnd._cli import main as cli
from lab_page import Lab
from sweeping import BROAD, LONG, SWEEP, tables

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page


Command = Callable[..., "subprocess.CompletedProcess[str]"]
#: A sweep's file, and the tables of its uninterrupted run.
Swept = tuple[Path, dict[str, bytes]]

#: Keywords of `dumbbell` for a run of a few milliseconds.
SMALL: dict[str, Any] = {"rate": "10 Mbps", "delay": "10 ms", "buffer": 50, "duration": "2 s"}
#: `SMALL` as flags.
SMALL_FLAGS = ("--rate", "10Mbps", "--delay", "10ms", "--buffer", "50", "--duration", "2s")

FILE = """\
name = "small"
duration = "2 s"
repeat = 2
[dumbbell]
rate = "10 Mbps"
delay = "10 ms"
buffer = 50
per = 1e-3
[[flows]]
cca = "cubic"
count = 2
stagger = "100 ms"
"""


@pytest.fixture
def cwnd_command() -> Command:
    """The command as a process."""

    def call(*arguments: str | bytes, **options: Any) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "cwnd", *arguments],
            capture_output=True,
            encoding="utf-8",
            timeout=30,
            **options,
        )

    return call


@pytest.fixture
def cwnd_here() -> Command:
    """The command in the process of the tests, for what it does and says: a process begins slowly."""

    def call(*arguments: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
        words = ["cwnd", *arguments]
        written = [io.BytesIO(), io.BytesIO()]
        stdout, stderr = (io.TextIOWrapper(into, "utf-8", write_through=True) for into in written)
        with pytest.MonkeyPatch.context() as patched, warnings.catch_warnings():
            as_the_interpreter_does()
            patched.setattr(sys, "argv", words)
            if cwd is not None:
                patched.chdir(cwd)
            with redirect_stdout(stdout), redirect_stderr(stderr):
                code = cli._main(words[1:])
        return subprocess.CompletedProcess(words, code, *(into.getvalue().decode() for into in written))

    return call


def as_the_interpreter_does() -> None:
    """The filters of warnings that a program has, for the command shows warnings as lines."""
    warnings.simplefilter("default")
    for kind in (DeprecationWarning, PendingDeprecationWarning, ImportWarning, ResourceWarning):
        warnings.simplefilter("ignore", kind)


@pytest.fixture
def sweep_file(tmp_path: Path) -> Path:
    (tmp_path / "small.toml").write_text(SWEEP)
    return tmp_path / "small.toml"


@pytest.fixture(scope="session")
def broad_sweep(tmp_path_factory: pytest.TempPathFactory) -> Swept:
    """The file of a sweep of many short runs, and the tables of an uninterrupted run."""
    return undisturbed(tmp_path_factory.mktemp("broad"), BROAD)


@pytest.fixture(scope="session")
def long_sweep(tmp_path_factory: pytest.TempPathFactory) -> Swept:
    """A longer sweep's file and the tables of an uninterrupted run."""
    return undisturbed(tmp_path_factory.mktemp("long"), LONG)


def undisturbed(folder: Path, text: str) -> Swept:
    (folder / "sweep.toml").write_text(text)
    cwnd.sweep(folder / "sweep.toml", out=folder / "out")
    return folder / "sweep.toml", tables(folder / "out")


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Chromium, for the tests marked `browser`."""
    from playwright.sync_api import sync_playwright

    program = shutil.which("chromium") or shutil.which("google-chrome")
    assert program is not None, "make browser-test needs chromium"
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield started
        started.close()


@pytest.fixture
def lab(browser: Browser) -> Iterator[Lab]:
    """The lab's page in a tab of its own; the browser reports no error at the end."""
    opened = Lab(browser)
    yield opened
    opened.context.close()
    assert not opened.faults


@contextmanager
def opened_page(browser: Browser, path: Path) -> Iterator[Page]:
    """A page with its script; the browser reports no error at the end."""
    errors: list[str] = []
    page = browser.new_page(viewport={"width": 1200, "height": 900})
    page.on("console", lambda message: errors.append(message.text))
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto(path.as_uri())
    yield page
    page.close()
    assert errors == []
