"""Sweeps as a user runs them: resumed, killed, sharded; always the same tables."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl
import pytest

import cwnd
from conftest import Command, Swept, undisturbed
from cwnd import _cwnd
from cwnd._run import sweep as sweeps
from cwnd._run.partial import finished_runs
from cwnd._run.store import Store
from sweeping import LONG, SWEEP, TABLES, count_runs, count_shards, fragile, spawn, tables, until

if TYPE_CHECKING:
    from cwnd._cwnd import Ack, Window
    from cwnd._run.sweep import Grid


def test_a_sweep_writes_what_results_load(sweep_file: Path, tmp_path: Path) -> None:
    swept = cwnd.sweep(sweep_file, out=tmp_path / "out")
    assert sorted(item.name for item in (tmp_path / "out").iterdir()) == sorted([*TABLES, "manifest.json"])
    loaded = cwnd.Results.load(tmp_path / "out")
    assert loaded.to_json() == swept.to_json()
    assert loaded.values[1] == {"flows.cca": "cubic", "dumbbell.buffer": 40}
    assert len(loaded.scenarios) == 6 and loaded.flows.height == 6 * 3 * 2
    order = [(one["name"], seed) for one in loaded.scenarios for seed in (1, 2, 3)]
    assert list(dict.fromkeys(loaded.flows.select("scenario", "seed").iter_rows())) == order
    assert loaded.flows["job"].n_unique() == 18 and set(loaded.links["job"]) == set(loaded.flows["job"])
    assert pl.read_parquet(tmp_path / "out" / "summary.parquet").equals(loaded.summary)
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert manifest["sweep"] == {"points": 6, "runs": 18} and manifest["failed"] == []
    assert manifest["cwnd"] == cwnd.__version__ and manifest["host"] and "git" in manifest


def test_a_sweep_answers_what_single_runs_do(sweep_file: Path) -> None:
    swept = cwnd.sweep(sweep_file)
    single = cwnd.run(
        cwnd.Scenario.parse(SWEEP[: SWEEP.index("[sweep]")].replace("buffer = 50", "buffer = 40"))
    )
    name = swept.scenarios[1]["name"]
    for table in ("flows", "links"):
        ours = getattr(swept, table).filter(scenario=name).drop("scenario", "job")
        assert ours.equals(getattr(single, table).drop("scenario")), table
    ours = swept.summary.filter(scenario=name).drop("scenario")
    assert ours.equals(single.summary.drop("scenario"))


def test_a_grid_in_python_is_the_sweep_of_a_file(sweep_file: Path) -> None:
    base = cwnd.Scenario.parse(SWEEP[: SWEEP.index("[sweep]")], "small")
    grid = {"flows.cca": ["cubic", "elastic"], "dumbbell.buffer": {"from": 20, "to": 80, "factor": 2}}
    asked, said = cwnd.sweep(base, grid=grid), cwnd.sweep(sweep_file)
    assert asked.values == said.values
    assert asked.flows.equals(said.flows)


def test_tuples_of_a_grid_go_together() -> None:
    base = SWEEP[: SWEEP.index("[sweep]")]
    grid: Grid = {("dumbbell.rate", "dumbbell.buffer"): [("5 Mbps", 20), ("10 Mbps", 40)]}
    assert cwnd.sweep(base, grid=grid, repeat=1).values == [
        {"dumbbell.rate": "5 Mbps", "dumbbell.buffer": 20},
        {"dumbbell.rate": "10 Mbps", "dumbbell.buffer": 40},
    ]
    with pytest.raises(cwnd.Error, match="tuples of 2 values are needed"):
        cwnd.sweep(base, grid={("dumbbell.rate", "dumbbell.buffer"): [("5 Mbps",)]})
    with pytest.raises(cwnd.Error, match=r"^grid: .* has a \[sweep\] of its own"):
        cwnd.sweep(SWEEP, grid={"dumbbell.per": [0]})


class Halving(cwnd.CongestionControl):
    def cong_avoid(self, window: Window, ack: Ack) -> None:
        window.cwnd += ack.acked

    def ssthresh(self, window: Window, ack: Ack) -> int:
        return max(2, window.cwnd // 2)


def test_a_class_is_swept_like_any_algorithm(tmp_path: Path) -> None:
    base = SWEEP[: SWEEP.index("[sweep]")].replace("2 s", "1 s")
    grid: Grid = {"flows.cca": ["cubic", Halving]}
    swept = cwnd.sweep(base, grid=grid, repeat=1, out=tmp_path / "out")
    assert swept.values == [{"flows.cca": "cubic"}, {"flows.cca": "Halving"}]
    assert set(swept.flows["cca"]) == {"cubic", "Halving"}


def test_seeds_are_paired_across_the_points() -> None:
    """Lost on the wire is a matter of the seed and the packet, not of the buffer."""
    base = SWEEP[: SWEEP.index("[sweep]")].replace("1e-3", "2e-2").replace("10 Mbps", "50 Mbps")
    swept = cwnd.sweep(base, grid={"dumbbell.buffer": [1000, 2000]}, repeat=5)
    one, two = (swept.flows.filter(scenario=each["name"]).drop("scenario", "job") for each in swept.scenarios)
    assert one.equals(two) and one["lost_pkts"].n_unique() > 2


def test_the_number_of_threads_does_not_show(broad_sweep: Swept, tmp_path: Path) -> None:
    cwnd.sweep(broad_sweep[0], out=tmp_path / "one", jobs=1)
    assert tables(tmp_path / "one") == broad_sweep[1]


@pytest.mark.slow
def test_killed_again_and_again_it_goes_on_to_the_same_bytes(
    long_sweep: Swept, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    for _ in range(3):
        before = count_shards(out)
        running = spawn(long_sweep[0], "--out", out, "--jobs", "1")
        until(lambda before=before: count_shards(out) > before)
        running.kill()
        running.communicate()
    ran = count_runs(monkeypatch)
    cwnd.sweep(long_sweep[0], out=out)
    assert sum(ran) < 600
    assert tables(out) == long_sweep[1]
    assert not (out / "shards").exists()


def test_done_jobs_are_not_run_again(
    sweep_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cwnd.sweep(sweep_file, out=tmp_path / "out")
    before = tables(tmp_path / "out")
    monkeypatch.setattr(_cwnd, "run_jobs", None)
    cwnd.sweep(sweep_file, out=tmp_path / "out")
    assert tables(tmp_path / "out") == before


def test_a_sweep_that_grows_keeps_its_rows(
    sweep_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    cwnd.sweep(sweep_file, out=out)
    ran = count_runs(monkeypatch)
    cwnd.sweep(sweep_file, out=out, repeat=5)
    assert ran == [12]
    sweep_file.write_text(SWEEP.replace("[20, 40, 80]", "[10, 20, 40, 80]"))
    cwnd.sweep(sweep_file, out=out, repeat=5)
    assert ran == [12, 10]
    cwnd.sweep(sweep_file, out=tmp_path / "fresh", repeat=5)
    assert tables(out) == tables(tmp_path / "fresh")


def test_only_the_jobs_of_a_changed_algorithm_are_run_again(
    sweep_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    cwnd.sweep(sweep_file, out=out)
    before = cwnd.Results.load(out).flows
    keys = _cwnd.job_keys

    def changed(
        scenario: _cwnd.Scenario, seeds: Sequence[int], extra: bytes = b"", essence: bytes | None = None
    ) -> list[str]:
        return keys(scenario, seeds, b"new" if '"elastic"' in scenario.json() else extra, essence)

    monkeypatch.setattr(_cwnd, "job_keys", changed)
    ran = count_runs(monkeypatch)
    cwnd.sweep(sweep_file, out=out)
    after = cwnd.Results.load(out).flows
    assert ran == [9]
    assert after.drop("job").equals(before.drop("job"))
    same = before["job"] == after["job"]
    assert same.to_list() == (before["cca"] == "cubic").to_list()


def test_two_shards_in_two_processes_give_the_tables_of_one(broad_sweep: Swept, tmp_path: Path) -> None:
    out = tmp_path / "out"
    running = [
        spawn(broad_sweep[0], "--out", out, "--shard", f"{index}/2", "--jobs", "1") for index in range(2)
    ]
    reported = [process.communicate(timeout=60) for process in running]
    assert [process.returncode for process in running] == [0, 0], reported
    assert tables(out) == broad_sweep[1]


def test_a_shard_waits_for_the_others(sweep_file: Path, tmp_path: Path, cwnd_here: Command) -> None:
    out = str(tmp_path / "out")
    first = cwnd_here("sweep", str(sweep_file), "--out", out, "--shard", "0/2")
    assert first.returncode == 0 and "waits for the other shards" in first.stdout
    refused = cwnd_here("results", out)
    assert refused.returncode == 2 and "an unfinished sweep" in refused.stderr
    second = cwnd_here("sweep", str(sweep_file), "--out", out, "--shard", "1/2")
    assert second.returncode == 0 and "see 'cwnd results" in second.stdout
    assert cwnd.sweep(sweep_file).flows.equals(cwnd.Results.load(out).flows)


def test_the_finished_runs_of_an_unfinished_sweep_are_those_of_the_whole(
    sweep_file: Path, tmp_path: Path, cwnd_here: Command
) -> None:
    flags = ("sweep", str(sweep_file), "--out", str(tmp_path / "out"))
    refused = cwnd_here(*flags, "--partial")
    assert refused.returncode == 2 and "no such directory" in refused.stderr
    assert cwnd_here(*flags, "--shard", "0/2").returncode == 0
    before = sorted((path.name, path.stat().st_mtime_ns) for path in (tmp_path / "out").rglob("*.parquet"))
    shown = cwnd_here(*flags, "--partial")
    assert shown.returncode == 0 and shown.stdout.endswith("9 of 18 runs are finished\n")
    assert "elastic" in shown.stdout and "throughput" in shown.stdout
    part, runs = finished_runs(sweeps.read(sweep_file), tmp_path / "out")
    assert runs == 18 and sum(len(entry["seeds"]) for entry in part.entries) == 9
    run = ["scenario", "seed"]
    whole = cwnd.sweep(sweep_file).flows
    assert part.flows.equals(whole.join(part.flows.select(run).unique(), run, "semi", maintain_order="left"))
    assert set(json.loads(cwnd_here(*flags, "--partial", "--json").stdout)) >= {"results"}
    after = sorted((path.name, path.stat().st_mtime_ns) for path in (tmp_path / "out").rglob("*.parquet"))
    assert after == before
    assert cwnd_here(*flags, "--shard", "1/2").returncode == 0
    assert cwnd_here(*flags, "--partial").stdout.endswith("18 of 18 runs are finished\n")


def test_until_adds_seeds_where_the_interval_is_wide(tmp_path: Path) -> None:
    base = SWEEP[: SWEEP.index("[sweep]")].replace("2 s", "5 s").replace("repeat = 3", "")
    grid: Grid = {"dumbbell.per": [0, 1e-2]}
    swept = cwnd.sweep(base, grid=grid, until="ci=1%", out=tmp_path / "out")
    quiet, lossy = (
        swept.summary.filter(scenario=one["name"], metric="throughput_mbps").row(0, named=True)
        for one in swept.scenarios
    )
    assert quiet["n"] == 4  # without loss all runs are the same
    assert 4 < lossy["n"] < 100
    assert lossy["ci95_high"] - lossy["mean"] < 0.01 * lossy["mean"]
    few = cwnd.sweep(base, grid=grid, until=0.0001, max_seeds=6)
    assert [few.flows.filter(scenario=one["name"])["seed"].n_unique() for one in few.scenarios] == [4, 6]


def test_interrupted_it_says_how_to_continue(tmp_path: Path) -> None:
    file, whole = undisturbed(tmp_path, LONG.replace("40 s", "15 s"))
    out = tmp_path / "interrupted"
    running = spawn(file, "--out", out, "--jobs", "1")
    until(lambda: count_shards(out) > 0)
    running.send_signal(signal.SIGINT)
    _, error = running.communicate(timeout=20)
    assert running.returncode == 130
    assert error.startswith("cwnd: interrupted; ") and error.count("\n") == 1
    assert "of 600 runs are kept in" in error and "repeat the command to continue" in error
    cwnd.sweep(file, out=out)
    assert tables(out) == whole


@contextmanager
def small_disk(folder: Path, size: str) -> Iterator[None]:
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True).returncode != 0:
        pytest.skip("a small file system cannot be mounted here: it takes root")
    try:
        yield
    finally:
        subprocess.run(["umount", str(folder)], check=True)


def test_a_full_disk_is_one_line_and_what_was_done_is_kept(broad_sweep: Swept, tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    with small_disk(disk, "96k"):
        running = spawn(broad_sweep[0], "--out", disk / "out")
        _, error = running.communicate(timeout=60)
        assert running.returncode == 2
        assert error.startswith("cwnd: error: ") and error.count("\n") == 1
        assert "no space left on device" in error
        shutil.copytree(disk / "out", tmp_path / "out")
    cwnd.sweep(broad_sweep[0], out=tmp_path / "out")
    assert tables(tmp_path / "out") == broad_sweep[1]


def test_a_disk_that_fills_up_during_the_merge_loses_nothing(
    sweep_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    replace = Path.replace

    def full(self: Path, target: Path) -> Path:
        if Path(target).name == "links.parquet" and Path(target).parent.name == "out":
            raise OSError(28, "No space left on device")
        return replace(self, target)

    with monkeypatch.context() as patched:
        patched.setattr(Path, "replace", full)
        with pytest.raises(cwnd.Error, match="no space left on device"):
            cwnd.sweep(sweep_file, out=tmp_path / "out")
    ran = count_runs(monkeypatch)
    cwnd.sweep(sweep_file, out=tmp_path / "out")
    assert ran == []
    cwnd.sweep(sweep_file, out=tmp_path / "fresh")
    assert tables(tmp_path / "out") == tables(tmp_path / "fresh")


def test_a_failing_run_is_reported_and_does_not_stop_the_rest(
    sweep_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = sweeps.read(sweep_file)
    with monkeypatch.context() as patched:
        patched.setattr(_cwnd, "run_jobs", fragile)
        outcome = sweeps.work(plan, tmp_path / "out")
    assert [(failure.seed, failure.reason) for failure in outcome.failures] == [
        (2, r"RuntimeError: out of\ncheese")
    ] * 3
    assert all("elastic" in failure.scenario for failure in outcome.failures)
    kept = cwnd.Results.load(tmp_path / "out")
    assert kept.flows.height == (18 - 3) * 2
    assert [entry["seeds"] for entry in kept.entries] == [[1, 2, 3]] * 3 + [[1, 3]] * 3
    cwnd.sweep(sweep_file, out=tmp_path / "out")
    cwnd.sweep(sweep_file, out=tmp_path / "fresh")
    assert tables(tmp_path / "out") == tables(tmp_path / "fresh")


def test_a_damaged_shard_is_run_again(sweep_file: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    plan = sweeps.read(sweep_file)
    sweeps.work(plan, out, shard=(0, 2))
    (shard,) = (out / "shards").glob("*.parquet")
    shard.write_bytes(shard.read_bytes()[:100])
    assert Store(out, plan.points, plan.seeds).done() == set()
    cwnd.sweep(sweep_file, out=out)
    assert cwnd.sweep(sweep_file).flows.equals(cwnd.Results.load(out).flows)


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["--shard", "2/2"], "--shard: 2/2 is not one of 0/N to N-1/N"),
        (["--shard", "x"], "--shard: 'x' is not I/N"),
        (["--until", "2%"], "--until: '2%' is not ci=SHARE"),
        (["--until", "ci=0"], "--until: 'ci=0' is not ci=SHARE"),
        (["--until", "ci=2%", "--shard", "0/2"], "--until: cannot be combined with shard"),
        (["--max-seeds", "5"], "--max-seeds: needs until"),
        (["--repeat", "0"], "--repeat: 0 is out of range"),
        (["--jobs", "-1"], "--jobs: -1 is out of range"),
        (["--dask", "nonsense://x"], "--dask: no scheduler at nonsense://x"),
        (["--dask", "tcp://127.0.0.1:1"], "--dask: no scheduler at tcp://127.0.0.1:1"),
    ],
)
def test_bad_input_is_one_line(
    arguments: list[str], line: str, sweep_file: Path, tmp_path: Path, cwnd_here: Command
) -> None:
    if "--dask" in arguments:
        pytest.importorskip("distributed", reason="distributed is not installed; pip install 'cwnd[dask]'")
    done = cwnd_here("sweep", str(sweep_file), "--out", str(tmp_path / "out"), *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"cwnd: error: {line}") and done.stderr.count("\n") == 1


def test_a_directory_that_is_not_this_sweeps_is_refused(sweep_file: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    (tmp_path / "plain").write_text("x")
    with pytest.raises(cwnd.Error, match="plain: not a directory"):
        cwnd.sweep(sweep_file, out=tmp_path / "plain")
    with pytest.raises(cwnd.Error, match=r"not a directory|exists"):
        cwnd.sweep(sweep_file, out=tmp_path / "plain" / "below")
    with pytest.raises(cwnd.Error, match=r"a file that is not part of a sweep \(.*\); choose another"):
        cwnd.sweep(sweep_file, out=tmp_path)
    single = cwnd.Scenario.parse('samples = "off"\n' + SWEEP[: SWEEP.index("[sweep]")])
    cwnd.run(single).save(tmp_path / "run")
    with pytest.raises(cwnd.Error, match="a result that is not a sweep's"):
        cwnd.sweep(sweep_file, out=tmp_path / "run")
    cwnd.sweep(sweep_file, out=out)
    before = tables(out)
    with pytest.raises(cwnd.Error, match="holds a sweep; choose another directory"):
        cwnd.run(single).save(out)
    for text, line in (
        (SWEEP.replace("20, 40, 80", "20, 40"), "another sweep's runs"),
        (SWEEP.replace("2 s", "3 s"), "runs of another scenario"),
        (SWEEP.replace("repeat = 3", "repeat = 2"), r"holds seeds 1 to 3 .* asks for 1 to 2"),
    ):
        sweep_file.write_text(text)
        with pytest.raises(cwnd.Error, match=line):
            cwnd.sweep(sweep_file, out=out)
    assert tables(out) == before


def test_results_summarise_export_and_redraw(sweep_file: Path, tmp_path: Path, cwnd_here: Command) -> None:
    out = tmp_path / "out"
    swept = cwnd.sweep(sweep_file, out=out)
    done = cwnd_here("results", str(out))
    assert done.returncode == 0, done.stderr
    assert "flows.cca" in done.stdout and "Figures in" in done.stdout
    assert (out / "throughput-buffer.png").stat().st_size > 1000
    exported = cwnd_here("results", str(out), "--csv", "-", "--table", "flows")
    assert pl.read_csv(exported.stdout.encode()).height == swept.flows.height
    assert cwnd_here("results", str(out), "--csv", str(tmp_path / "s.csv")).stdout == ""
    assert pl.read_csv(tmp_path / "s.csv").height == swept.summary.height
    assert json.loads(cwnd_here("results", str(out), "--json").stdout) == json.loads(swept.to_json())
    # Figures do not make it another's directory.
    assert cwnd_here("sweep", str(sweep_file), "--out", str(out)).returncode == 0


def test_a_report_is_one_page(sweep_file: Path, tmp_path: Path, cwnd_here: Command) -> None:
    pytest.importorskip("cwnd._report.page", reason="this build has no reports")
    cwnd.sweep(sweep_file, out=tmp_path / "out")
    done = cwnd_here("report", str(tmp_path / "out"))
    assert done.returncode == 0, done.stderr
    assert "<html" in (tmp_path / "out" / "report.html").read_text()


def test_the_gate_says_whether_it_is_worse(sweep_file: Path, tmp_path: Path, cwnd_here: Command) -> None:
    one, two = str(tmp_path / "one"), str(tmp_path / "two")
    cwnd.sweep(sweep_file, out=one)
    cwnd.sweep(sweep_file, out=two)
    same = cwnd_here("gate", one, two, "--metric", "throughput_mbps", "--margin", "2%")
    assert same.returncode == 0 and same.stdout.count("\n") == 6
    slow = SWEEP.replace('rate = "10 Mbps"', 'rate = "9 Mbps"')
    sweep_file.write_text(slow)
    cwnd.sweep(sweep_file, out=tmp_path / "slow")
    assert cwnd_here("gate", one, str(tmp_path / "slow")).returncode == 1
    refused = cwnd_here("gate", one, two, "--margin", "much")
    assert refused.returncode == 2 and refused.stderr.startswith("cwnd: error: --margin: ")


def test_an_error_of_the_callers_own_is_not_a_failed_run(sweep_file: Path) -> None:
    def progress(seen: cwnd.Progress) -> None:
        if seen.done:
            raise LookupError("mine")

    with pytest.raises(LookupError, match="mine"):
        cwnd.sweep(sweep_file, progress=progress)
