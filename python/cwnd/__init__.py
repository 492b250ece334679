"""TCP congestion control: a fast packet simulator and every algorithm written once.

Examples:
    >>> import cwnd
    >>> results = cwnd.run(cwnd.dumbbell("elastic", flows=4, rate="1 Gbps", delay="100 ms", buffer=3200))
    >>> results.summary
    >>> results.plot("cwnd", "cwnd.png")
"""

from importlib import import_module as _import_module

# Type checkers take it for true. To import typing takes longer than all of this file.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from cwnd import aioquic, kernel, models
    from cwnd._advise.advise import advise
    from cwnd._advise.answer import Advice
    from cwnd._analysis.compare import Comparison, compare
    from cwnd._analysis.explore import explore
    from cwnd._analysis.gate import gate
    from cwnd._analysis.gate_outcome import Gate
    from cwnd._analysis.tune import Tuning, tune
    from cwnd._attack.attack import Attack, attack
    from cwnd._attack.known import KnownCases, gate_attacks
    from cwnd._common.errors import WorldError
    from cwnd._conform.conform import conform
    from cwnd._conform.verdicts import Conformance
    from cwnd._cwnd import Ack, Error, Window, __version__
    from cwnd._evaluate.evaluate import Evaluation, evaluate
    from cwnd._expect.expect import Expected, expect
    from cwnd._explain.explain import Explained, explain
    from cwnd._explain.identify import Identified, identify
    from cwnd._prove.prove import Proof, prove
    from cwnd._reproduce.reproduce import reproduce
    from cwnd._reproduce.verdicts import Reproduction
    from cwnd._results.results import Results
    from cwnd._run.capture import capture
    from cwnd._run.run import run
    from cwnd._run.sweep import Progress, sweep
    from cwnd._scenario.cite import cite
    from cwnd._scenario.custom import CongestionControl
    from cwnd._scenario.headers import algorithms
    from cwnd._scenario.registry import presets
    from cwnd._scenario.scenario import Scenario, dumbbell
del TYPE_CHECKING

__all__ = [
    "Ack",
    "Advice",
    "Attack",
    "Comparison",
    "Conformance",
    "CongestionControl",
    "Error",
    "Evaluation",
    "Expected",
    "Explained",
    "Gate",
    "Identified",
    "KnownCases",
    "Progress",
    "Proof",
    "Reproduction",
    "Results",
    "Scenario",
    "Tuning",
    "Window",
    "WorldError",
    "__version__",
    "advise",
    "aioquic",
    "algorithms",
    "attack",
    "capture",
    "cite",
    "compare",
    "conform",
    "dumbbell",
    "evaluate",
    "expect",
    "explain",
    "explore",
    "gate",
    "gate_attacks",
    "identify",
    "kernel",
    "models",
    "presets",
    "prove",
    "reproduce",
    "run",
    "sweep",
    "tune",
]

#: Where each name is that is loaded when it is first used: most programs use few.
_MODULES = {
    "Ack": "cwnd._cwnd",
    "Advice": "cwnd._advise.answer",
    "Attack": "cwnd._attack.attack",
    "KnownCases": "cwnd._attack.known",
    "Comparison": "cwnd._analysis.compare",
    "Conformance": "cwnd._conform.verdicts",
    "CongestionControl": "cwnd._scenario.custom",
    "Error": "cwnd._cwnd",
    "Evaluation": "cwnd._evaluate.evaluate",
    "Expected": "cwnd._expect.expect",
    "Explained": "cwnd._explain.explain",
    "Gate": "cwnd._analysis.gate_outcome",
    "Identified": "cwnd._explain.identify",
    "Progress": "cwnd._run.sweep",
    "Reproduction": "cwnd._reproduce.verdicts",
    "Proof": "cwnd._prove.prove",
    "Results": "cwnd._results.results",
    "Scenario": "cwnd._scenario.scenario",
    "Tuning": "cwnd._analysis.tune",
    "Window": "cwnd._cwnd",
    "WorldError": "cwnd._common.errors",
    "__version__": "cwnd._cwnd",
    "advise": "cwnd._advise.advise",
    "aioquic": "cwnd.aioquic",
    "algorithms": "cwnd._scenario.headers",
    "attack": "cwnd._attack.attack",
    "gate_attacks": "cwnd._attack.known",
    "capture": "cwnd._run.capture",
    "cite": "cwnd._scenario.cite",
    "compare": "cwnd._analysis.compare",
    "conform": "cwnd._conform.conform",
    "dumbbell": "cwnd._scenario.scenario",
    "evaluate": "cwnd._evaluate.evaluate",
    "expect": "cwnd._expect.expect",
    "explain": "cwnd._explain.explain",
    "explore": "cwnd._analysis.explore",
    "gate": "cwnd._analysis.gate",
    "identify": "cwnd._explain.identify",
    "kernel": "cwnd.kernel",
    "models": "cwnd.models",
    "presets": "cwnd._scenario.registry",
    "prove": "cwnd._prove.prove",
    "reproduce": "cwnd._reproduce.reproduce",
    "run": "cwnd._run.run",
    "sweep": "cwnd._run.sweep",
    "tune": "cwnd._analysis.tune",
}


def __getattr__(name: str) -> object:
    if name not in _MODULES:
        raise AttributeError(f"module 'cwnd' has no attribute {name!r}")
    module = _import_module(_MODULES[name])
    loaded = module if module.__name__ == f"cwnd.{name}" else getattr(module, name)
    globals()[name] = loaded
    return loaded


def __dir__() -> list[str]:
    return sorted({*globals(), *_MODULES})
