"""Installs what a folder has for this machine, a wheel or a source archive, and tries what it does."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import venv
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import url2pathname

SHORT = ("--rate", "100Mbps", "--delay", "10ms", "--duration", "10s")


def main(dist: Path) -> None:
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        venv.create(folder / "venv", with_pip=True)
        programs = folder / "venv" / ("Scripts" if os.name == "nt" else "bin")
        install(programs / "python", dist.resolve(), folder)
        use(programs / "cwnd", folder)


def install(python: Path, dist: Path, folder: Path) -> None:
    """Both packages, or the one that there is."""
    archives = sorted(dist.glob("*.tar.gz"))
    names = {path.name.partition("-")[0].replace("_", "-") for path in dist.iterdir()}
    wanted = [str(path) for path in archives] or ["--no-index", "--find-links", str(dist), *sorted(names)]
    if not archives:
        # The dependencies come from the registry, cwnd itself does not.
        run(python, "-m", "pip", "download", "--no-deps", "--dest", "chosen", *wanted, folder=folder)
        wanted = [str(path) for path in sorted((folder / "chosen").iterdir())]
    run(python, "-m", "pip", "install", "--disable-pip-version-check", *wanted, folder=folder)


def use(cwnd: Path, folder: Path) -> None:
    print(run(cwnd, "--version", folder=folder), end="")
    print(run(cwnd, "run", "--cca", "reno", "--cca", "cubic", *SHORT, "--out", "result", folder=folder))
    result = json.loads(run(cwnd, "results", "result", "--json", folder=folder))
    # Two flows of TCP fill the link but for their headers.
    goodputs = [one["summary"]["goodput_mbps"]["mean"] for one in result["results"]]
    assert all(85 < goodput < 97 for goodput in goodputs), goodputs
    run(cwnd, "report", "result", "--out", "report.html", folder=folder)
    assert "<svg" in (folder / "report.html").read_text(encoding="utf-8")
    run(cwnd, "reproduce", "elastic-tcp", "--only", "table4", "--quick", "--out", "paper", folder=folder)
    address = run(cwnd, "lab", folder=folder).strip()
    assert Path(url2pathname(urlsplit(address).path)).stat().st_size > 100_000, address
    print("simulator, reports and lab work")


def run(*words: str | Path, folder: Path) -> str:
    done = subprocess.run([str(word) for word in words], cwd=folder, stdout=subprocess.PIPE, encoding="utf-8")
    assert done.returncode == 0, f"{words[0]} {words[1]} ended with {done.returncode}"
    return done.stdout


if __name__ == "__main__":
    main(Path(sys.argv[1]))
