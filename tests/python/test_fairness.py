"""Notes where a comparison compares more than the algorithms."""

from __future__ import annotations

from typing import Any

import cwnd

SHORT: dict[str, Any] = {"rate": "10 Mbps", "delay": "5 ms", "duration": "200 ms", "samples": "off"}


class Own(cwnd.CongestionControl):
    """An algorithm without slow start."""

    def cong_avoid(self, window: cwnd.Window, ack: cwnd.Ack) -> None:
        """Stays."""

    def ssthresh(self, window: cwnd.Window, ack: cwnd.Ack) -> int:
        return 2


def notes(*scenarios: cwnd.Scenario) -> list[str]:
    return cwnd.run(scenarios).comparison_notes


def test_algorithms_that_start_and_pace_differently_have_a_note() -> None:
    (note,) = notes(*(cwnd.dumbbell(cca, **SHORT) for cca in ("cubic", "reno", "bbr")))
    assert note == (
        "besides what they are named for, the algorithms differ in slow start (cubic: hystart; reno: "
        "standard; bbr: its own) and pacing (cubic, reno: not paced; bbr: paced)"
    )
    (note,) = notes(cwnd.dumbbell(["cubic", Own], **SHORT))
    assert "Own: as its class has it" in note


def test_equal_starts_have_a_note_unless_something_draws_them_apart() -> None:
    (note,) = notes(cwnd.dumbbell("reno", flows=3, **SHORT))
    assert note.startswith("3 flows of reno start at the same nanosecond")
    assert not notes(cwnd.dumbbell("reno", flows=3, start_jitter="10 ms", **SHORT))
    assert not notes(cwnd.dumbbell("reno", flows=3, stagger="1 ms", **SHORT))
    assert not notes(cwnd.dumbbell("bbr", flows=3, **SHORT))


def test_ecn_of_one_side_alone_has_a_note() -> None:
    (note,) = notes(
        cwnd.dumbbell("reno", name="with", ecn="classic", **SHORT),
        cwnd.dumbbell("illinois", name="out", **SHORT),
    )
    assert "ECN (reno: classic; illinois: off)" in note


def test_one_algorithm_and_equal_ones_have_none() -> None:
    assert not notes(cwnd.dumbbell("cubic", **SHORT))
    assert not notes(cwnd.dumbbell("reno", **SHORT), cwnd.dumbbell("illinois", **SHORT))
