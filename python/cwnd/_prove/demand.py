"""Bits of inputs that results depend on: counters modulo 2^32 must be enough for every window.

A kernel counts segments in 32 bits. A hook whose results need no higher bit of these counts does the same
before and after they wrap, and the same with counts that never wrap.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from cwnd._prove.dag import Node, reachable
from cwnd._prove.model import Model

COUNTERS = ("a.delivered", "a.rate_prior_delivered", "a.delivered_ce", "a.lost_total")
_COUNTED_BITS = 32
_ALL = (1 << 64) - 1


def needed(roots: Mapping[Node, int]) -> dict[str, int]:
    """The bits of each input that the given bits of the roots depend on, and perhaps more."""
    masks: dict[int, int] = {}
    for node, mask in roots.items():
        masks[node.id] = masks.get(node.id, 0) | mask
    found: dict[str, int] = {}
    for node in reversed(reachable(roots)):
        mask = masks.get(node.id, 0) & _up_to(node.hi)
        if not mask:
            continue
        if node.op == "in":
            found[str(node.value)] = mask
            continue
        for arg, part in zip(node.args, _of_operands(node, mask), strict=True):
            masks[arg.id] = masks.get(arg.id, 0) | part
    return found


def _up_to(value: int) -> int:
    return (1 << value.bit_length()) - 1


def _of_operands(node: Node, mask: int) -> Iterable[int]:
    low = _up_to(mask)
    match node.op:
        case "const":
            return ()
        case "refine":
            return (mask,)
        case "not":
            return (1,)
        case "both":
            return (1, 1)
        case "ite":
            return (1, mask, mask)
        case "add" | "sub" | "mul":
            return (low, low)
        case "or" | "xor":
            return (mask, mask)
        case "and":
            a, b = node.args
            return (mask & b.lo if b.is_const else mask, mask & a.lo if a.is_const else mask)
        case "shl" if node.args[1].is_const:
            return (mask >> node.args[1].lo, 0)
        case "shr" if node.args[1].is_const:
            return (mask << node.args[1].lo & _ALL, 0)
        case "shl":
            return (low, _ALL)
    return tuple(_ALL for _ in node.args)


def wrapping(models: Mapping[str, Model]) -> dict[str, list[str]]:
    """The counters of which each hook's window, result, or what it keeps for these, needs more than 32 bits.

    The header's hooks are looked at together: a hook may keep a count in the state that another one uses.
    """
    kept: dict[str, int] = {}
    uses: dict[str, dict[str, int]] = {}
    while True:
        before = dict(kept)
        for hook, of in models.items():
            roots: dict[Node, int] = {}
            for name, node in of.after.items():
                shown = name.startswith("w.") or name == "result"
                mask = _ALL if shown else before.get(name, 0)
                if mask:
                    roots[node] = roots.get(node, 0) | mask
            uses[hook] = needed(roots)
            for name, mask in uses[hook].items():
                if name.startswith("state."):
                    kept[name] = kept.get(name, 0) | mask
        if kept == before:
            break
    return {
        hook: [name for name in COUNTERS if found.get(name, 0) >> _COUNTED_BITS]
        for hook, found in uses.items()
    }
