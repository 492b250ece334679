"""A simulated run as a packet capture."""

from __future__ import annotations

import os
from pathlib import Path

from cwnd import _cwnd
from cwnd._common.errors import about, error, one_line, os_error
from cwnd._common.files import new_file
from cwnd._scenario.scenario import Scenario

#: Ends of a connection at which a capture is taken.
ENDS = ("sender", "receiver")


def capture(
    scenario: Scenario | str | os.PathLike[str], path: str | os.PathLike[str], *, at: str = "sender"
) -> None:
    """Simulates a scenario with its first seed, and writes what passes one end of its connections as pcapng.

    `scenario` is one, or the name of a file; `at` is "sender" or "receiver". Frames are Ethernet and IPv4,
    with right checksums and times in nanoseconds. 128 bytes of each are kept; payloads are zeros. Flow N from
    0 is 10.1.0.N to port 443 of 10.2.0.N. A flow whose scenario has no handshake gets one in the RTT before
    its first segment, since a capture without one does not show the scale of the window.

    Raises:
        Error: with one line, if flows are not TCP over IPv4 with today's headers, have accurate ECN or
            algorithms in Python, or the file cannot be written.
    """
    if at not in ENDS:
        raise error("at", f"{one_line(repr(at))} is not {' or '.join(ENDS)}")
    asked = scenario if isinstance(scenario, Scenario) else Scenario.from_toml(scenario)
    try:
        with new_file(Path(path)) as file:
            _cwnd.capture(asked._inner, file.name, receiver=at == "receiver")
    except OSError as failed:
        raise os_error(one_line(os.fspath(path)), failed) from None
    except _cwnd.Error as refused:
        raise error("scenario", about(refused)[1]) from None
