"""The QUIC worlds: their extension module, `_cwnd_quic`, is a package of its own."""

from __future__ import annotations

from cwnd import _cwnd
from cwnd._common.errors import error

_MAKE = "pip install 'cwnd[quic]', or in a clone: make quic"


def place(world: str) -> _cwnd.World:
    """The world of that name. Raises `Error` if the QUIC worlds are absent, or another version's."""
    try:
        import _cwnd_quic
    except ModuleNotFoundError:
        raise error("world", f"'{world}' needs the QUIC worlds; {_MAKE}") from None
    if _cwnd_quic.__version__ != _cwnd.__version__:
        found = f"cwnd {_cwnd.__version__} and QUIC worlds {_cwnd_quic.__version__}"
        raise error("world", f"'{world}' needs both of one version, found {found}; {_MAKE}")
    return _cwnd.World.of(_cwnd_quic.World(world))
