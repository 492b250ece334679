"""Classes that are built on a header: the same results to the byte until they change something."""

from __future__ import annotations

import json
import pickle
from typing import TYPE_CHECKING, Any

import pytest

import cwnd
from cwnd._run.class_code import class_code

if TYPE_CHECKING:
    from cwnd import Ack, Window

PATH: dict[str, Any] = {
    "rate": "30 Mbps",
    "delay": "15 ms",
    "buffer": 40,
    "per": 2e-4,
    "duration": "12 s",
    "samples": "change",
}


class Renamed(cwnd.algorithms.Cubic):  # type: ignore[misc]
    """CUBIC under another name."""


class Gentle(cwnd.algorithms.Cubic):  # type: ignore[misc]
    """CUBIC that keeps nine tenths of its window, or the share that a scenario gives."""

    def __init__(self, keep: float = 0.9, **params: float | str) -> None:
        super().__init__(**params)
        self.keep = keep

    def ssthresh(self, window: Window, ack: Ack) -> int:
        header = super().ssthresh(window, ack)
        return max(2, int(window.cwnd * self.keep)) if self.keep else int(header)


class Bbr(cwnd.algorithms.Bbr):  # type: ignore[misc]
    """BBR under its own name."""


def answer(cca: str | type[cwnd.CongestionControl], name: str, **changes: Any) -> str:
    """Everything of two flows but the names of their algorithms."""
    results = cwnd.run(cwnd.dumbbell(cca, flows=2, stagger="1 s", **{**PATH, **changes}))
    text = json.dumps([results.flows.drop("cca", "scenario").rows(), results.links.drop("scenario").rows()])
    samples = results.samples.drop("cca", "scenario").rows()
    assert results.flows["cca"].to_list() == [name, name] and len(samples) > 100
    return text + json.dumps(samples)


def test_cubic_with_its_change_taken_out_is_cubic_to_the_byte() -> None:
    assert answer(Renamed, "Renamed") == answer("cubic", "cubic")
    assert answer(Gentle, "Gentle", params={"keep": 0}) == answer("cubic", "cubic")
    assert answer(Gentle, "Gentle") != answer("cubic", "cubic")


def test_a_header_with_cong_control_is_itself_to_the_byte() -> None:
    assert answer(Bbr, "Bbr") == answer("bbr", "bbr")


def test_parameters_are_those_of_the_header() -> None:
    given = {"beta": 0.5, "slow_start": "standard", "fast_convergence": False}
    written = {"beta": 0.5, "slow_start": "standard", "fast_convergence": "off"}
    assert answer(Renamed, "Renamed", params=given) == answer("cubic", "cubic", params=written)


def test_every_header_is_a_base_class_and_runs() -> None:
    for one in cwnd.algorithms():
        name = "".join(part.capitalize() for part in one["name"].split("-"))
        base = getattr(cwnd.algorithms, name)
        assert base.header == one["name"] and name in dir(cwnd.algorithms)
        if one["profiles"]["linux"]["stack"]:
            continue  # settings of the stack that go with the name, such as LEDBAT's initial window
        results = cwnd.run(cwnd.dumbbell(base, rate="10 Mbps", delay="5 ms", duration="1 s", samples="off"))
        beside = cwnd.run(
            cwnd.dumbbell(one["name"], rate="10 Mbps", delay="5 ms", duration="1 s", samples="off")
        )
        assert results.flows.drop("cca", "scenario").equals(beside.flows.drop("cca", "scenario")), name


def test_a_bad_parameter_and_an_unknown_class_are_one_line() -> None:
    with pytest.raises(cwnd.Error, match="beta"):
        answer(Renamed, "Renamed", params={"beta": 7})
    with pytest.raises(AttributeError, match="no class 'Qubic'; there are Reno"):
        _ = cwnd.algorithms.Qubic


def test_the_header_is_a_part_of_the_keys_of_its_runs() -> None:
    code = class_code(Gentle)
    assert "self . keep" in code and "cong_avoid" in code.partition("\0")[2]
    assert pickle.loads(pickle.dumps(cwnd.algorithms.AgileSd)) is cwnd.algorithms.AgileSd
