"""Events drawn at random, with a bias to edges, and expressions evaluated on many of them at once."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping

import numpy as np
import numpy.typing as npt

from cwnd._prove.dag import Node, reachable
from cwnd._prove.layout import Layout

Numbers = npt.NDArray[np.uint64]


def _u(value: int) -> np.uint64:
    return np.uint64(value)


def draw(of: Layout, count: int, seed: int) -> dict[str, Numbers]:
    """`count` values of each field within its range, and within the relations of cc.h."""
    rng = np.random.default_rng(seed)
    drawn: dict[str, Numbers] = {}
    for field in of.fields:
        spread = field.hi - field.lo
        wide = rng.integers(0, spread, count, dtype=np.uint64, endpoint=True)
        places = rng.integers(0, max(spread.bit_length(), 1), count, dtype=np.uint64, endpoint=True)
        small = wide >> places
        near = rng.integers(0, min(spread, 3), count, dtype=np.uint64, endpoint=True)
        kind = rng.integers(0, 8, count)
        made = np.select([kind < 4, kind == 4, kind == 5], [small, near, _u(spread) - near], wide)
        drawn[field.name] = made + _u(field.lo)
    # Words of the state, windows and times are often those of another field: equal, or near it.
    names = [f.name for f in of.fields if f.size >= 4 and f.name[0] in "aws" and f.name != "what"]
    limits = {field.name: field for field in of.fields}
    for name in names:
        other = drawn[names[int(rng.integers(len(names)))]]
        near = other + rng.integers(0, 3, count, dtype=np.uint64) - _u(1)
        field = limits[name]
        take = (rng.integers(0, 4, count) == 0) & (near >= _u(field.lo)) & (near <= _u(field.hi))
        drawn[name] = np.where(take, near, drawn[name])
    clamp = np.maximum(drawn["w.cwnd_clamp"], drawn["w.cwnd"])
    drawn["w.cwnd_clamp"] = clamp
    drawn["w.prior_cwnd"] = np.minimum(drawn["w.prior_cwnd"], clamp)
    return drawn


def pack(of: Layout, drawn: Mapping[str, Numbers], hook: int) -> bytes:
    """The events as native.c reads them."""
    kinds = {1: "u1", 2: "<u2", 4: "<u4", 8: "<u8"}
    kind = np.dtype(
        {
            "names": [field.name for field in of.fields],
            "formats": [kinds[field.size] for field in of.fields],
            "offsets": [field.offset for field in of.fields],
            "itemsize": of.size,
        }
    )
    made = np.zeros(len(drawn["w.cwnd"]), dtype=kind)
    for field in of.fields:
        made[field.name] = drawn[field.name] if field.name != "result" else hook
    return made.tobytes()


def unpack(of: Layout, data: bytes) -> dict[str, Numbers]:
    """The fields of events that native.c wrote."""
    table = np.frombuffer(data, dtype=np.uint8).reshape(-1, of.size)
    found: dict[str, Numbers] = {}
    for field in of.fields:
        raw = np.ascontiguousarray(table[:, field.offset : field.offset + field.size])
        found[field.name] = raw.view(f"<u{field.size}")[:, 0].astype(np.uint64)
    return found


def vector(of: Layout, values: Mapping[str, int], hook: int) -> bytes:
    """One event."""
    made = bytearray(of.size)
    for field in of.fields:
        value = hook if field.name == "result" else values.get(field.name, field.lo)
        made[field.offset : field.offset + field.size] = value.to_bytes(field.size, "little")
    return bytes(made)


def word(data: bytes, offset: int) -> int:
    found: int = struct.unpack_from("<I", data, offset)[0]
    return found


def evaluate(roots: Iterable[Node], inputs: Mapping[str, Numbers]) -> dict[int, Numbers]:
    """The values of the roots, by their ids."""
    wanted = list(roots)
    values: dict[int, Numbers] = {}
    count = len(next(iter(inputs.values())))
    with np.errstate(divide="ignore", over="ignore"):
        for node in reachable(wanted):
            values[node.id] = _value(node, [values[arg.id] for arg in node.args], inputs, count)
    return {node.id: values[node.id] for node in wanted}


def _value(node: Node, args: list[Numbers], inputs: Mapping[str, Numbers], count: int) -> Numbers:
    mask = _u((1 << node.width) - 1)
    match node.op:
        case "const":
            return np.full(count, node.lo, dtype=np.uint64)
        case "in":
            return inputs[str(node.value)]
        case "refine":
            return args[0]
        case "add":
            return (args[0] + args[1]) & mask
        case "sub":
            return (args[0] - args[1]) & mask
        case "mul":
            return (args[0] * args[1]) & mask
        case "div":
            return np.where(args[1] == 0, _u(0), args[0] // np.maximum(args[1], _u(1)))
        case "mod":
            return np.where(args[1] == 0, args[0], args[0] % np.maximum(args[1], _u(1)))
        case "and":
            return args[0] & args[1]
        case "or":
            return args[0] | args[1]
        case "xor":
            return args[0] ^ args[1]
        case "shl":
            return (args[0] << (args[1] & _u(node.width - 1))) & mask
        case "shr":
            return args[0] >> (args[1] & _u(node.width - 1))
        case "sar":
            up = _u(64 - node.width)
            lifted: npt.NDArray[np.int64] = (args[0] << up).view(np.int64)
            places: npt.NDArray[np.int64] = (args[1] & _u(node.width - 1)).view(np.int64)
            moved: npt.NDArray[np.int64] = lifted >> places
            raw: Numbers = moved.view(np.uint64)
            made: Numbers = raw >> up
            return made & mask
        case "eq":
            return np.asarray(args[0] == args[1], dtype=np.uint64)
        case "lt":
            return np.asarray(args[0] < args[1], dtype=np.uint64)
        case "not":
            return _u(1) - args[0]
        case "both":
            return args[0] & args[1]
        case "ite":
            return np.where(args[0] != 0, args[1], args[2])
    raise AssertionError(node.op)
