"""TCP congestion control: a fast packet simulator and every algorithm written once.

>>> import cwnd
>>> results = cwnd.run(cwnd.dumbbell("elastic", flows=4, rate="1 Gbps", delay="100 ms", buffer=3200))
>>> results.summary
>>> results.plot("cwnd", "cwnd.png")
"""

from importlib import import_module as _import_module
from typing import Any as _Any

from cwnd import kernel
from cwnd._custom import CongestionControl
from cwnd._cwnd import Error, __version__
from cwnd._reproduce import reproduce
from cwnd._results import Results
from cwnd._run import run
from cwnd._scenario import Scenario, algorithms, dumbbell, presets
from cwnd._sweep import Progress, sweep
from cwnd._tune import Tuning, tune
from cwnd._verdicts import Reproduction

__all__ = [
    "CongestionControl",
    "Error",
    "Progress",
    "Reproduction",
    "Results",
    "Scenario",
    "Tuning",
    "__version__",
    "algorithms",
    "dumbbell",
    "kernel",
    "models",
    "presets",
    "reproduce",
    "run",
    "sweep",
    "tune",
]


def __getattr__(name: str) -> _Any:
    # Not before it is used: it imports NumPy.
    if name == "models":
        return _import_module("cwnd.models")
    raise AttributeError(f"module 'cwnd' has no attribute {name!r}")
