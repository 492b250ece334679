"""Algorithms written in Python."""

from __future__ import annotations

import functools
import json
import re
import subprocess
import sys
import threading
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import cwnd
from conftest import SMALL, SMALL_FLAGS, Command

if TYPE_CHECKING:
    from cwnd._cwnd import Ack, Window


class Reno(cwnd.CongestionControl):
    """The algorithm of reno.h."""

    def cong_avoid(self, window: Window, ack: Ack) -> None:
        if not ack.cwnd_limited:
            return
        acked = ack.acked
        if window.cwnd < window.ssthresh:
            grow = min(acked, window.ssthresh - window.cwnd)
            window.cwnd, acked = min(window.cwnd + grow, window.cwnd_clamp), acked - grow
        if acked:
            if window.cwnd_cnt >= window.cwnd:
                window.cwnd, window.cwnd_cnt = min(window.cwnd + 1, window.cwnd_clamp), 0
            grow, window.cwnd_cnt = divmod(window.cwnd_cnt + acked, window.cwnd)
            window.cwnd = min(window.cwnd + grow, window.cwnd_clamp)

    def ssthresh(self, window: Window, ack: Ack) -> int:
        return int(max(window.cwnd // 2, 2))


def run_small(cca: type[cwnd.CongestionControl], **changes: Any) -> cwnd.Results:
    return cwnd.run(cwnd.dumbbell(cca, **{**SMALL, **changes}))


@pytest.mark.parametrize("stack", ["linux", "ns2"])
def test_the_same_law_in_python_and_in_c_has_the_same_windows(stack: str) -> None:
    question = {"flows": 3, "per": 1e-3, "repeat": 2, "samples": "change", "stack": stack, **SMALL}
    # In ns2 the registry's reno has another variant, and a stack that restarts it after a fast retransmit.
    question["stack"] = {"profile": stack, "restart_at_half_ssthresh": False}
    python = cwnd.run(cwnd.dumbbell(Reno, name="x", **question))
    c = cwnd.run(cwnd.dumbbell("reno", name="x", params={"variant": "spec"}, **question))
    python_json, c_json = (json.loads(r.to_json().replace('"Reno"', '"reno"')) for r in (python, c))
    for reported in (python_json, c_json):
        reported.pop("engine")
        reported.pop("comparison_notes")
        for flow in reported["scenario"]["flows"]:
            flow["cca"].pop("params")  # the registry's reno has one
    assert python_json == c_json
    assert python.samples.drop("cca").equals(c.samples.drop("cca"))
    assert c.samples.height > 300


def test_each_flow_has_an_instance_made_with_the_parameters() -> None:
    made = []

    class Kept(Reno):
        def __init__(self, gain: float, mode: str, limit: int, fast: bool) -> None:
            made.append((self, gain, mode, limit, fast))

    params: dict[str, float | str | bool] = {"gain": 0.5, "mode": "slow", "limit": 7, "fast": True}
    run_small(Kept, flows=2, params=params)
    assert [rest for _, *rest in made] == [[0.5, "slow", 7, True]] * 2
    assert len({id(instance) for instance, *_ in made}) == 2


def test_every_hook_is_called_with_the_window_and_the_ack() -> None:
    seen: dict[str, Any] = {}

    class Watching(Reno):
        def init(self, window: Window, ack: Ack) -> None:
            seen["init"] = window.cwnd, window.ssthresh, ack.rtt_us

        def pkts_acked(self, window: Window, ack: Ack) -> None:
            seen["rtt_us"] = ack.rtt_us, ack.srtt_us, ack.min_rtt_us
            seen["ack"] = ack

        def set_state(self, window: Window, ack: Ack, state: int) -> None:
            seen.setdefault("states", set()).add(state)

        def cwnd_event(self, window: Window, ack: Ack, event: int) -> None:
            seen.setdefault("events", set()).add(event)

    run_small(Watching, per=1e-2)
    assert seen["init"] == (10, Watching.SSTHRESH_INFINITE, 0)
    assert all(rtt_us > 20_000 for rtt_us in seen["rtt_us"])
    assert {Watching.OPEN, Watching.RECOVERY} <= seen["states"]
    ack = seen["ack"]
    assert ack.delivered > 0 and ack.in_flight >= 0 and ack.now_us > 1_000_000
    assert "acked=" in repr(ack)
    with pytest.raises(AttributeError):
        ack.acked = 5


def test_cong_control_sets_window_and_rate_at_every_ack() -> None:
    seen: dict[str, Any] = {"states": set(), "rates": [], "limited": set()}

    class Paced(cwnd.CongestionControl):
        """A fixed rate of 5 Mbit/s of payload."""

        def cong_control(self, window: Window, ack: Ack) -> None:
            window.cwnd, window.pacing_rate = 100, 625_000
            seen["states"].add(ack.state)
            seen["limited"].add(ack.rate_app_limited)
            if ack.rate_interval_us:
                assert ack.rate_prior_delivered + ack.rate_delivered == ack.delivered
                seen["rates"].append(8 * ack.mss * ack.rate_delivered / ack.rate_interval_us)

        def cong_avoid(self, window: Window, ack: Ack) -> None:
            raise AssertionError("cong_control takes its place")

        def ssthresh(self, window: Window, ack: Ack) -> int:
            return 2

    results = run_small(Paced, per=1e-2, packet=1000, duration="10 s")
    # Lost segments are sent once more.
    assert results.flows["goodput_mbps"][0] == pytest.approx(5 * 0.99, rel=0.02)
    assert {Paced.OPEN, Paced.RECOVERY} <= seen["states"]
    rates = sorted(seen["rates"])
    assert rates[len(rates) // 2] == pytest.approx(5, rel=0.02)
    assert seen["limited"] == {False}


def test_each_lost_segment_is_reported_with_what_was_in_flight_when_it_was_sent() -> None:
    lost: list[int] = []
    totals = set()

    class Watching(cwnd.CongestionControl):
        def cong_control(self, window: Window, ack: Ack) -> None:
            window.cwnd, window.pacing_rate = 20, 0
            totals.add(ack.lost_total)

        def segment_lost(self, window: Window, ack: Ack) -> None:
            assert ack.rate_lost >= 1 and 1 <= ack.rate_in_flight <= 20
            lost.append(ack.rate_lost)

        def ssthresh(self, window: Window, ack: Ack) -> int:
            return 2

    results = run_small(Watching, per=1e-2, duration="10 s")
    assert len(lost) == max(totals) > 10
    assert results.flows["retransmitted_pkts"][0] == pytest.approx(len(lost), abs=20)


def test_the_application_s_limit_shows_in_the_rate_samples() -> None:
    limited = set()

    class Watching(cwnd.CongestionControl):
        def cong_control(self, window: Window, ack: Ack) -> None:
            window.cwnd = 100
            limited.add(ack.rate_app_limited)
            assert "rate_delivered=" in repr(ack)

        def ssthresh(self, window: Window, ack: Ack) -> int:
            return 2

    run_small(Watching, app_rate="1 Mbps")
    assert True in limited


def test_an_exception_in_a_hook_stops_the_run_with_its_own_traceback() -> None:
    class Broken(Reno):
        def pkts_acked(self, window: Window, ack: Ack) -> None:
            if ack.now_us > 500_000:
                raise KeyError("forgotten")

    with pytest.raises(KeyError, match="forgotten") as raised:
        run_small(Broken, flows=2, duration="10000 s")
    assert traceback.extract_tb(raised.value.__traceback__)[-1].name == "pkts_acked"
    if hasattr(raised.value, "__notes__"):  # Python 3.11
        (note,) = raised.value.__notes__
        assert note.startswith("in pkts_acked of Broken, flow ")
        line = Broken.pkts_acked.__code__.co_firstlineno + 2
        assert note.endswith(f" s ({__file__}:{line})")


def test_an_exception_in_the_constructor_is_raised() -> None:
    with pytest.raises(TypeError, match=r"unexpected keyword argument 'gain'|takes no arguments"):
        run_small(Reno, params={"gain": 1})


@pytest.mark.parametrize(
    ("returned", "error", "words"),
    [
        (None, TypeError, "ssthresh must return an int from 1 to 2147483647, not None"),
        (10.5, TypeError, "not 10.5"),
        (True, TypeError, "not True"),
        ("10", TypeError, "not '10'"),
        (0, ValueError, "not 0"),
        (-3, ValueError, "not -3"),
        (2**31, ValueError, "not 2147483648"),
        (10**30, ValueError, "not 1000000000000000000000000000000"),
    ],
)
def test_a_hook_that_returns_no_window_is_told_so(returned: Any, error: type[Exception], words: str) -> None:
    class Wrong(Reno):
        def ssthresh(self, window: Window, ack: Ack) -> Any:
            return returned

    with pytest.raises(error, match=words) as raised:
        run_small(Wrong)
    (note,) = getattr(raised.value, "__notes__", [])
    assert note.endswith(f" s ({__file__}:{Wrong.ssthresh.__code__.co_firstlineno})")


@pytest.mark.parametrize(
    ("field", "value", "error"),
    [
        ("cwnd", 0, ValueError),
        ("cwnd", -1, ValueError),
        ("cwnd", 2**31, ValueError),
        ("cwnd", 3.0, TypeError),
        ("cwnd", None, TypeError),
        ("cwnd_cnt", 2**32, ValueError),
        ("ssthresh", 0, ValueError),
        ("pacing_rate", -1, ValueError),
        ("cwmd", 5, AttributeError),
    ],
)
def test_a_window_takes_no_impossible_value(field: str, value: object, error: type[Exception]) -> None:
    class Wrong(Reno):
        def cong_avoid(self, window: Window, ack: Ack) -> None:
            setattr(window, field, value)

    with pytest.raises(error, match=field) as raised:
        run_small(Wrong)
    assert traceback.extract_tb(raised.value.__traceback__)[-1].name == "cong_avoid"


def test_a_class_without_a_needed_hook_is_refused_before_it_runs() -> None:
    class Half(cwnd.CongestionControl):
        def cong_avoid(self, window: Window, ack: Ack) -> None: ...

    class Other(cwnd.CongestionControl):
        def ssthresh(self, window: Window, ack: Ack) -> int:
            return 2

    with pytest.raises(cwnd.Error, match="Half: without ssthresh"):
        cwnd.dumbbell(Half)  # type: ignore[type-abstract]
    with pytest.raises(cwnd.Error, match=r"Other: without cong_avoid; .* one of cong_avoid and cong_control"):
        cwnd.dumbbell(Other)


def test_a_class_of_another_kind_is_refused() -> None:
    with pytest.raises(TypeError, match=r"subclass of cwnd\.CongestionControl"):
        cwnd.dumbbell(int)  # type: ignore[arg-type]


def test_a_scenario_file_may_name_a_class() -> None:
    text = '[dumbbell]\nrate="10 Mbps"\ndelay="10 ms"\nbuffer=50\n[[flows]]\ncca="Reno"'
    scenario = cwnd.Scenario.parse('duration="1 s"\n' + text, ccas=[Reno])
    assert cwnd.run(scenario).flows["cca"].to_list() == ["Reno"]
    with pytest.raises(cwnd.Error, match="did you mean 'reno'"):
        cwnd.Scenario.parse(text)


SOURCE = """\
import cwnd

class Fixed(cwnd.CongestionControl):
    def __init__(self, size=20, fail_at_us=None):
        self.size, self.fail_at_us = size, fail_at_us

    def cong_avoid(self, window, ack):
        if self.fail_at_us is not None and ack.now_us > self.fail_at_us:
            raise RuntimeError("out of ideas")
        window.cwnd = self.size

    def ssthresh(self, window, ack):
        return self.size
"""


def test_the_command_compares_a_class_of_a_file_with_the_registry(
    cwnd_command: Command, tmp_path: Path
) -> None:
    file = tmp_path / "mine.py"
    file.write_text(SOURCE)
    ccas = ("--cca", f"{file}:Fixed", "--cca", "reno", "--param", "Fixed.size=8")
    done = cwnd_command("run", *ccas, "--json", *SMALL_FLAGS)
    assert done.stderr == ""
    fixed, reno = json.loads(done.stdout)["results"]
    assert fixed["runs"][0]["flows"][0]["mean_cwnd_pkts"] == pytest.approx(8, rel=0.05)
    assert reno["runs"][0]["flows"][0]["cca"] == "reno"


def test_the_command_shows_the_traceback_of_a_class_and_leaves_with_1(
    cwnd_command: Command, tmp_path: Path
) -> None:
    file = tmp_path / "mine.py"
    file.write_text(SOURCE)
    done = cwnd_command("run", "--cca", f"{file}:Fixed", "--param", "fail_at_us=500000", *SMALL_FLAGS)
    assert done.returncode == 1
    traceback_head, where, line, error, place = done.stderr.splitlines()
    assert traceback_head == "Traceback (most recent call last):"
    assert where == f'  File "{file}", line 9, in cong_avoid'
    assert line.strip() == 'raise RuntimeError("out of ideas")'
    assert error == "RuntimeError: out of ideas"
    assert re.fullmatch(rf"in cong_avoid of Fixed, flow 0, seed 1, at 0\.[56]\d* s \({file}:9\)", place)
    assert done.stdout == ""


def test_the_command_shows_where_a_hook_with_a_wrong_answer_is_defined(
    cwnd_command: Command, tmp_path: Path
) -> None:
    file = tmp_path / "mine.py"
    file.write_text(SOURCE)
    done = cwnd_command("run", "--cca", f"{file}:Fixed", "--param", "size=2.5", *SMALL_FLAGS)
    assert done.returncode == 1
    *_, error, place = done.stderr.splitlines()
    assert error == "TypeError: window.cwnd must be an int from 1 to 2147483647, not 2.5"
    file.write_text(SOURCE.replace("return self.size", "return 2.5"))
    done = cwnd_command("run", "--cca", f"{file}:Fixed", "--per", "0.01", *SMALL_FLAGS)
    error, place = done.stderr.splitlines()
    assert error == "TypeError: Fixed.ssthresh must return an int from 1 to 2147483647, not 2.5"
    assert place.startswith("in ssthresh of Fixed, flow 0, ") and place.endswith(f" s ({file}:12)")


def test_the_command_shows_the_lines_of_a_file_that_cannot_be_read_as_python(
    cwnd_command: Command, tmp_path: Path
) -> None:
    file = tmp_path / "mine.py"
    file.write_text("import cwnd\nunknown()\n")
    done = cwnd_command("run", "--cca", f"{file}:Fixed", *SMALL_FLAGS)
    assert done.returncode == 1
    assert [line.strip() for line in done.stderr.splitlines() if "^" not in line] == [
        "Traceback (most recent call last):",
        f'File "{file}", line 2, in <module>',
        "unknown()",
        "NameError: name 'unknown' is not defined",
        f"while {file} was read",
    ]


def test_a_sweep_lists_where_a_class_failed(cwnd_command: Command, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(SOURCE)
    scenario = tmp_path / "one.toml"
    scenario.write_text(
        'duration = "1 s"\n[dumbbell]\nrate = "10 Mbps"\ndelay = "10 ms"\nbuffer = 50\n[[flows]]\n'
        'cca = { name = "mine.py:Fixed", fail_at_us = 500000 }\n'
    )
    done = cwnd_command("sweep", str(scenario), "--out", str(tmp_path / "out"))
    assert done.returncode == 1
    failed = next(line for line in done.stderr.splitlines() if line.startswith("cwnd: failed: "))
    assert "RuntimeError: out of ideas, in cong_avoid of " in failed
    assert failed.endswith(f"{tmp_path / 'mine.py'}:9)")


@pytest.mark.slow
def test_a_window_that_no_memory_holds_ends_the_run_with_an_error() -> None:
    class Flood(Reno):
        def init(self, window: Window, ack: Ack) -> None:
            window.cwnd = 2**31 - 1

    with pytest.raises(
        cwnd.Error, match=r"^Flood, seed 1: more than 20000000 packets .*receive_window"
    ) as ended:
        run_small(Flood, buffer="unlimited", stack={"receive_window": 2**31 - 1})
    assert ended.value.scenario == "Flood"
    run_small(Flood, buffer="unlimited", stack={"receive_window": 100})


def generator(self: Any, window: Window, ack: Ack) -> object:
    yield window.cwnd


async def coroutine(self: Any, window: Window, ack: Ack) -> object:
    return window.cwnd


async def asynchronous_generator(self: Any, window: Window, ack: Ack) -> object:
    yield window.cwnd


class _Called:
    def __call__(self, window: Window, ack: Ack) -> Any:
        yield window.cwnd


WAITING = [
    (generator, "a generator"),
    (coroutine, "a coroutine"),
    (asynchronous_generator, "an asynchronous generator"),
    (staticmethod(generator), "a generator"),
    (classmethod(generator), "a generator"),
    (functools.partial(generator, None), "a generator"),
    (functools.partialmethod(generator), "a generator"),
    (lambda self, window, ack: (yield), "a generator"),
    (_Called(), "a generator"),
]


@pytest.mark.parametrize(
    "name", ["init", "cong_avoid", "cong_control", "segment_lost", "ssthresh", "undo_cwnd", "cwnd_event"]
)
@pytest.mark.parametrize(("hook", "kind"), WAITING)
def test_a_hook_whose_code_would_never_run_is_refused_with_its_class(hook: Any, kind: str, name: str) -> None:
    with pytest.raises(cwnd.Error, match=rf"^Idle\.{name}: {kind}, whose code would never run"):
        type("Idle", (cwnd.CongestionControl,), {name: hook})


def test_a_generator_that_is_inherited_is_refused_too() -> None:
    class Mixin:
        cong_avoid = generator

    with pytest.raises(cwnd.Error, match=r"Idle\.cong_avoid: a generator"):
        type("Idle", (Mixin, cwnd.CongestionControl), {})


def test_a_generator_that_comes_later_is_refused_when_a_flow_gets_its_instance() -> None:
    class Later(Reno):
        def __init__(self) -> None:
            self.cong_avoid = functools.partial(generator, self)  # type: ignore[method-assign]

    class Assigned(Reno):
        pass

    Assigned.cong_avoid = generator  # type: ignore[method-assign]
    for cca in (Later, Assigned):
        with pytest.raises(cwnd.Error, match=rf"{cca.__name__}\.cong_avoid: a generator"):
            cwnd.run(cwnd.dumbbell(cca, **SMALL))


@pytest.mark.filterwarnings("ignore:coroutine")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("hook", [generator, coroutine, asynchronous_generator])
def test_a_hook_that_hands_on_what_never_runs_is_an_error(hook: Any) -> None:
    class Wrapped(Reno):
        def cong_avoid(self, window: Window, ack: Ack) -> Any:
            return hook(self, window, ack)

    with pytest.raises(TypeError, match=r"a hook must return None, not of type .*, which never runs"):
        cwnd.run(cwnd.dumbbell(Wrapped, **SMALL))


def test_other_threads_may_write_to_a_window_at_any_time() -> None:
    windows: list[Window] = []
    ended = threading.Event()
    written = threading.Event()
    refused: list[BaseException] = []

    class Slow:
        def __index__(self) -> int:
            written.wait(0.001)
            return 10

    def meddle() -> None:
        while not ended.is_set():
            for value in (10, Slow()):
                try:
                    windows[0].cwnd = value
                    windows[0].pacing_rate = 0
                    assert repr(windows[0]).startswith("Window(cwnd=")
                except TypeError as wrong:
                    refused.append(wrong)

    class Watched(Reno):
        def cong_avoid(self, window: Window, ack: Ack) -> None:
            if not windows:
                windows.append(window)
                thread.start()
            super().cong_avoid(window, ack)

    thread = threading.Thread(target=meddle)
    try:
        results = cwnd.run(cwnd.dumbbell(Watched, **SMALL))
    finally:
        ended.set()
        thread.join()
    assert results.flows["delivered_pkts"][0] > 0
    assert "window.cwnd must be an int from 1 to 2147483647, not of type Slow" in str(refused[0])


ENDING = """
import threading, time, cwnd

class Endless(cwnd.CongestionControl):
    def cong_avoid(self, window, ack):
        begun.set()
        time.sleep(0.01)
        window.cwnd += ack.acked

    def ssthresh(self, window, ack):
        return max(window.cwnd // 2, 2)

class Late:
    def __del__(self, sleep=time.sleep):
        sleep(0.3)

begun = threading.Event()
question = cwnd.dumbbell(Endless, rate="100 Mbps", delay="1 ms", buffer=100, duration="1000 s")
threading.Thread(target=lambda: cwnd.run(question), daemon=True).start()
begun.wait()
import sys
sys.late = Late()
"""


def test_the_interpreter_ends_while_a_daemon_thread_runs_a_class() -> None:
    done = subprocess.run([sys.executable, "-c", ENDING], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
