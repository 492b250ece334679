"""A sweep's directory under attack: files are damaged or removed, processes killed or started together.

A command that exits 0 leaves the bytes of a sweep that nothing disturbed.
"""

from __future__ import annotations

import random
import shutil
import signal
import subprocess
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import cwnd
from conftest import Command
from cwnd._run import store as stores
from sweeping import SWEEP, TABLES, spawn, tables, until, until_begun

#: Seconds of work for one core.
LONG = SWEEP.replace("2 s", "20 s").replace("repeat = 3", "repeat = 40")


class Question(NamedTuple):
    """A sweep's file and what it gives undisturbed, by number of seeds."""

    file: Path
    answers: dict[int, dict[str, bytes]]


def ask(tmp_path_factory: pytest.TempPathFactory, text: str, *repeats: int) -> Question:
    folder = tmp_path_factory.mktemp("question")
    (folder / "small.toml").write_text(text)
    answers = {}
    for repeat in repeats:
        cwnd.sweep(folder / "small.toml", out=folder / str(repeat), repeat=repeat)
        answers[repeat] = tables(folder / str(repeat))
    return Question(folder / "small.toml", answers)


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Question:
    return ask(tmp_path_factory, SWEEP, 3, 5)


@pytest.fixture(scope="module")
def long(tmp_path_factory: pytest.TempPathFactory) -> Question:
    return ask(tmp_path_factory, LONG, 10, 20, 40)


def flip_a_bit(file: Path, chance: random.Random) -> None:
    data = bytearray(file.read_bytes())
    data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
    file.write_bytes(data)


@pytest.fixture(scope="module")
def half(small: Question, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A sweep of which every second run is done, in several shards."""
    out = tmp_path_factory.mktemp("half") / "out"
    for shard in (0, 2, 4):
        cwnd.sweep(small.file, out=out, shard=(shard, 6))
    return out


def half_done(half: Path, out: Path) -> list[Path]:
    """The shards of a copy of `half`."""
    shutil.copytree(half, out)
    shards = sorted((out / "shards").glob("*.parquet"))
    assert len(shards) == 3
    return shards


@contextmanager
def damage_reported(*names: str) -> Iterator[None]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    lines = [str(warning.message) for warning in caught]
    assert len(lines) == len(names), lines
    for line, name in zip(lines, names, strict=True):
        assert f"{name} was damaged" in line and "\n" not in line


def test_a_flipped_bit_in_a_shard_is_reported_and_its_runs_are_made_again(
    small: Question, half: Path, tmp_path: Path
) -> None:
    chance = random.Random(1)
    for number in range(16):
        out = tmp_path / str(number)
        shard = chance.choice(half_done(half, out))
        flip_a_bit(shard, chance)
        with damage_reported(f"shards/{shard.name}"):
            cwnd.sweep(small.file, out=out)
        assert tables(out) == small.answers[3]


def test_a_flipped_bit_in_a_table_is_reported_and_mended(small: Question, tmp_path: Path) -> None:
    chance = random.Random(2)
    out = tmp_path / "out"
    cwnd.sweep(small.file, out=out)
    for _ in range(16):
        name = chance.choice(TABLES)
        flip_a_bit(out / name, chance)
        with pytest.raises(cwnd.Error, match=rf"{name}: damaged"):
            cwnd.Results.load(out)
        with damage_reported(name):
            cwnd.sweep(small.file, out=out)
        assert tables(out) == small.answers[3]


def test_a_flipped_bit_in_the_manifest_is_refused_and_named(
    small: Question, tmp_path: Path, cwnd_here: Command
) -> None:
    out = tmp_path / "out"
    cwnd.sweep(small.file, out=out)
    sound = (out / "manifest.json").read_bytes()
    chance = random.Random(3)
    for number in range(32):
        (out / "manifest.json").write_bytes(sound)
        flip_a_bit(out / "manifest.json", chance)
        for attempt in (lambda: cwnd.Results.load(out), lambda: cwnd.sweep(small.file, out=out)):
            with pytest.raises(cwnd.Error, match=r"manifest\.json: damaged"):
                attempt()
        if number == 0:
            refused = cwnd_here("sweep", str(small.file), "--out", str(out))
            assert refused.returncode == 2 and refused.stderr.count("\n") == 1
    (out / "manifest.json").unlink()
    cwnd.sweep(small.file, out=out)
    assert tables(out) == small.answers[3]


def test_a_table_that_is_gone_is_made_again(small: Question, tmp_path: Path) -> None:
    out = tmp_path / "out"
    cwnd.sweep(small.file, out=out)
    for name in TABLES:
        (out / name).unlink()
        with damage_reported(name):
            cwnd.sweep(small.file, out=out)
        assert tables(out) == small.answers[3]


def test_a_damaged_sweep_json_is_reported_and_does_no_harm(
    small: Question, half: Path, tmp_path: Path
) -> None:
    half_done(half, tmp_path / "out")
    flip_a_bit(tmp_path / "out" / "shards" / "sweep.json", random.Random(4))
    with damage_reported("shards/sweep.json"):
        cwnd.sweep(small.file, out=tmp_path / "out")
    assert tables(tmp_path / "out") == small.answers[3]


def test_a_shard_removed_while_the_sweep_goes_on_is_missed_and_made_again(
    small: Question, half: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    half_done(half, out)
    finish = stores.Store.finish
    asked = []

    def thief(store: stores.Store, *arguments: object) -> object:
        asked.append(arguments)
        if len(asked) == 1:
            next((out / "shards").glob("*.parquet")).unlink()
        return finish(store, *arguments)

    monkeypatch.setattr(stores.Store, "finish", thief)
    cwnd.sweep(small.file, out=out)
    assert len(asked) == 2
    assert tables(out) == small.answers[3]


def test_shards_that_are_removed_again_and_again_end_in_one_line(
    small: Question, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    finish = stores.Store.finish

    def thief(store: stores.Store, *arguments: object) -> object:
        for shard in (tmp_path / "out" / "shards").glob("*.parquet"):
            shard.unlink()
        return finish(store, *arguments)

    monkeypatch.setattr(stores.Store, "finish", thief)
    with pytest.raises(cwnd.Error, match="its files are removed or damaged while the sweep goes on"):
        cwnd.sweep(small.file, out=tmp_path / "out")


@pytest.mark.slow
def test_a_kill_while_tables_are_moved_loses_nothing(
    small: Question, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At every step: the sweep grows from 3 to 5 seeds and is killed at the n-th rename or removal."""

    class KilledError(BaseException):
        pass

    for step in range(1, 12):
        out = tmp_path / str(step)
        cwnd.sweep(small.file, out=out)
        left = step

        def counted(call: Callable[..., object]) -> Callable[..., object]:
            def counting(*arguments: object, **options: object) -> object:
                nonlocal left
                left -= 1
                if left == 0:
                    raise KilledError
                return call(*arguments, **options)

            return counting

        with monkeypatch.context() as patched:
            move = stores.Store._move_tables

            def moving(store: stores.Store, patched: Any = patched, move: Any = move) -> None:
                patched.setattr(Path, "replace", counted(Path.replace))
                patched.setattr(Path, "unlink", counted(Path.unlink))
                patched.setattr(stores.shutil, "rmtree", counted(stores.shutil.rmtree))
                move(store)

            patched.setattr(stores.Store, "_move_tables", moving)
            try:
                cwnd.sweep(small.file, out=out, repeat=5)
                assert step > 5, "not a step was counted"
            except KilledError:
                pass
        with monkeypatch.context() as patched:
            if step <= 5:
                patched.setattr(stores._cwnd, "run_jobs", None)  # every run is still there
            cwnd.sweep(small.file, out=out, repeat=5)
        assert tables(out) == small.answers[5]
        assert sorted(item.name for item in out.iterdir()) == sorted([*TABLES, "manifest.json"])


@pytest.mark.slow
def test_two_processes_that_ask_for_different_seeds_lose_no_run(long: Question, tmp_path: Path) -> None:
    out = tmp_path / "out"
    few = spawn(long.file, "--out", out, "--jobs", "1", "--repeat", "20")
    until(lambda: (out / "shards" / "sweep.json").exists())
    many = spawn(long.file, "--out", out, "--jobs", "1", "--repeat", "40")
    check_ends(long, out, {20: few, 40: many})


def check_ends(long: Question, out: Path, running: dict[int, subprocess.Popen[str]]) -> None:
    """Each ends with 0, or with 2 and one line when another asked for more; the tables hold the most."""
    for repeat, process in running.items():
        _, reported = process.communicate(timeout=120)
        assert process.returncode in (0, 2), reported
        if process.returncode == 2:
            assert reported.count("\n") == 1 and "this sweep asks for" in reported
            assert repeat < max(running)
    assert running[max(running)].returncode == 0
    assert tables(out) == long.answers[max(running)]


def test_a_process_that_asks_for_fewer_seeds_than_the_tables_have_is_refused(
    small: Question, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another process finishes the larger sweep between the runs and the tables of the smaller one."""
    out = tmp_path / "out"
    finish = stores.Store.finish
    patched = monkeypatch.context()
    with patched as inner:

        def late(store: stores.Store, *arguments: object) -> object:
            inner.undo()
            cwnd.sweep(small.file, out=out, repeat=5)
            return finish(store, *arguments)

        inner.setattr(stores.Store, "finish", late)
        with pytest.raises(cwnd.Error, match=r"holds seeds 1 to 5 .* this sweep asks for 1 to 3"):
            cwnd.sweep(small.file, out=out, repeat=3)
    assert tables(out) == small.answers[5]


@pytest.mark.slow
def test_forty_kills_and_changing_companions_end_in_the_same_bytes(long: Question, tmp_path: Path) -> None:
    """Up to four processes, some with fewer seeds; each is killed after a random time and started again."""
    chance = random.Random(11)
    kills = 0
    for sweep in range(5):
        out = tmp_path / str(sweep)
        for _ in range(8):
            running = [
                spawn(long.file, "--out", out, "--jobs", "1", "--repeat", str(chance.choice([20, 40, 40])))
                for _ in range(chance.randint(1, 3))
            ]
            for process in running:
                until_begun(process)
            until(lambda out=out: out.exists())
            time.sleep(chance.uniform(0, 1.5))
            victim = chance.choice(running)
            victim.kill()
            kills += 1
            for process in running:
                if process is not victim:
                    process.send_signal(signal.SIGINT)
                _, reported = process.communicate(timeout=60)
                if process is victim or process.returncode == -signal.SIGINT:  # Python was about to end
                    continue
                assert process.returncode in (0, 2, 130), reported
                assert reported.count("\n") == (process.returncode != 0), reported
        last = spawn(long.file, "--out", out, "--repeat", "40")
        _, reported = last.communicate(timeout=120)
        assert last.returncode == 0, reported
        assert tables(out) == long.answers[40]
        assert sorted(item.name for item in out.iterdir()) == sorted([*TABLES, "manifest.json"])
    assert kills == 40


@pytest.mark.slow
def test_two_to_four_processes_at_once_lose_nothing(long: Question, tmp_path: Path) -> None:
    for number, repeats in enumerate([(10, 40), (40, 10), (40, 40), (10, 20, 40), (40, 20, 20, 10)]):
        out = tmp_path / str(number)
        running = [
            (repeat, spawn(long.file, "--out", out, "--jobs", "1", "--repeat", str(repeat)))
            for repeat in repeats
        ]
        ends = [(repeat, process, process.communicate(timeout=240)[1]) for repeat, process in running]
        for repeat, process, reported in ends:
            assert process.returncode == 0 or (process.returncode == 2 and repeat < 40), reported
        assert tables(out) == long.answers[40], repeats


@pytest.mark.slow
def test_64_flipped_bits_in_shards_and_64_in_tables_never_end_in_other_bytes(
    small: Question, half: Path, tmp_path: Path
) -> None:
    chance = random.Random(12)
    refused = 0
    for number in range(64):
        out = tmp_path / f"shards-{number}"
        half_done(half, out)
        flip_a_bit(
            chance.choice([item for item in (out / "shards").iterdir() if item.name != "lock"]), chance
        )
        code = sweep_code(small.file, out)
        assert code == 0 and tables(out) == small.answers[3]
    out = tmp_path / "tables"
    for _ in range(64):
        cwnd.sweep(small.file, out=out)
        victim = chance.choice([*TABLES, "manifest.json"])
        flip_a_bit(out / victim, chance)
        code = sweep_code(small.file, out)
        assert code == (2 if victim == "manifest.json" else 0)
        if code == 0:
            assert tables(out) == small.answers[3]
        else:
            refused += 1
            (out / victim).unlink()
    assert refused > 0


def sweep_code(file: Path, out: Path) -> int:
    """The exit code of the command, in this process."""
    from cwnd._cli import main as command

    with warnings.catch_warnings():
        warnings.simplefilter("always")
        return command._main(["sweep", str(file), "--out", str(out)])
