"""The algorithms in aioquic, a QUIC stack written in Python.

>>> cwnd.aioquic.register("elastic")
>>> configuration = QuicConfiguration(congestion_control_algorithm="elastic")
"""

from __future__ import annotations

from collections.abc import Mapping

from cwnd import _cwnd
from cwnd._common.checks import mapping
from cwnd._common.errors import error

__all__ = ["register"]


def register(algorithm: str | None = None, *, params: Mapping[str, object] | None = None) -> None:
    """Makes an algorithm known to aioquic under its name, or all that aioquic can run.

    `reno` and `cubic` replace aioquic's own. Parameters have the paper's or the RFC's values if left out.
    An algorithm that sets a pacing rate or counts ECN marks is refused: aioquic has neither.
    """
    chosen = [(name, str(value)) for name, value in mapping("params", params or {}).items()]
    if algorithm is None and chosen:
        raise error("params", "an algorithm is missing; accepted: register('cubic', params={'beta': 0.8})")
    try:
        from cwnd import _aioquic
    except ImportError:
        raise error("aioquic", "the package is missing; pip install 'cwnd[aioquic]'") from None
    for name in _cwnd.aioquic_algorithms() if algorithm is None else [algorithm]:
        _aioquic.register(name, _cwnd.QuicSetup(name, chosen))
