"""TCP congestion control: a fast packet simulator and every algorithm written once.

Examples:
    >>> import cwnd
    >>> results = cwnd.run(cwnd.dumbbell("elastic", flows=4, rate="1 Gbps", delay="100 ms", buffer=3200))
    >>> results.summary
    >>> results.plot("cwnd", "cwnd.png")
"""

import typing as _typing
from importlib import import_module as _import_module

from cwnd import kernel
from cwnd._advise.advise import advise
from cwnd._advise.answer import Advice
from cwnd._analysis.compare import Comparison, compare
from cwnd._analysis.explore import explore
from cwnd._analysis.gate import gate
from cwnd._analysis.gate_outcome import Gate
from cwnd._analysis.tune import Tuning, tune
from cwnd._cwnd import Error, __version__
from cwnd._evaluate.evaluate import Evaluation, evaluate
from cwnd._reproduce.reproduce import reproduce
from cwnd._reproduce.verdicts import Reproduction
from cwnd._results.results import Results
from cwnd._run.run import run
from cwnd._run.sweep import Progress, sweep
from cwnd._scenario.custom import CongestionControl
from cwnd._scenario.registry import algorithms, presets
from cwnd._scenario.scenario import Scenario, dumbbell

if _typing.TYPE_CHECKING:
    from cwnd import aioquic, models

__all__ = [
    "Advice",
    "Comparison",
    "CongestionControl",
    "Error",
    "Evaluation",
    "Gate",
    "Progress",
    "Reproduction",
    "Results",
    "Scenario",
    "Tuning",
    "__version__",
    "advise",
    "aioquic",
    "algorithms",
    "compare",
    "dumbbell",
    "evaluate",
    "explore",
    "gate",
    "kernel",
    "models",
    "presets",
    "reproduce",
    "run",
    "sweep",
    "tune",
]


def __getattr__(name: str) -> object:
    # Not before they are used: models imports NumPy.
    if name in {"aioquic", "models"}:
        return _import_module(f"cwnd.{name}")
    raise AttributeError(f"module 'cwnd' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), "aioquic", "models"})
