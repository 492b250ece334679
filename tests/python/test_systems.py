"""The package on systems that lack what Unix and Linux have."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

#: As Windows has it: its platform, no module and no name of `os` that only Unix has.
ELSEWHERE = """
import importlib, os, pkgutil, sys, types
import click, matplotlib.figure, numpy, polars, rich.console, rich.progress, rich.table
UNIX = "fcntl grp posix pty pwd readline resource syslog termios tty".split()
sys.modules.update(dict.fromkeys(UNIX), msvcrt=types.ModuleType("msvcrt"))
for name in "O_CLOEXEC O_NOFOLLOW fork geteuid getuid kill mkfifo sched_getaffinity statvfs uname".split():
    delattr(os, name)
sys.platform = "win32"

import cwnd
for module in pkgutil.walk_packages(cwnd.__path__, "cwnd."):
    if module.name not in ("cwnd.__main__", "cwnd._aioquic"):
        importlib.import_module(module.name)
        print(module.name)
path = {"rate": "10 Mbps", "delay": "10 ms", "buffer": 20, "duration": "2 s"}
cwnd.run(cwnd.dumbbell("reno", samples="off", **path)).save("result")
results = cwnd.run(cwnd.dumbbell("reno", **path))
results.plot("cwnd", "cwnd.svg")
print(len(results.summary))
"""


def test_every_module_is_imported_and_a_run_saved_and_drawn_without_what_only_unix_has(
    tmp_path: Path,
) -> None:
    done = subprocess.run([sys.executable, "-c", ELSEWHERE], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    *modules, metrics = done.stdout.split()
    assert len(modules) > 90 and "cwnd._run.lock" in modules and int(metrics) > 5
    assert (tmp_path / "result" / "manifest.json").exists() and (tmp_path / "cwnd.svg").exists()
