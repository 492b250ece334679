"""The contract as the prover needs it: where each field is, and the range that a caller guarantees."""

from __future__ import annotations

import re
from collections.abc import Container
from functools import cache
from typing import NamedTuple

from cwnd._common.headers import HEADERS
from cwnd._prove.btf import Btf

REGION = ".data.event"
STATE_BYTES = 104
#: In the order of native.c.
HOOKS = (
    "init",
    "pkts_acked",
    "cong_avoid",
    "cong_control",
    "segment_lost",
    "ssthresh",
    "set_state",
    "cwnd_event",
    "undo_cwnd",
)

_SIZES = {"u8": 1, "u32": 4, "u64": 8}
_EVENTS = (0, 1, 2, 3, 6)


class Field(NamedTuple):
    """A number of the event: `name` has its struct before a dot."""

    name: str
    offset: int
    size: int
    lo: int
    hi: int


class Layout(NamedTuple):
    """The fields of an event in order, and its size."""

    fields: tuple[Field, ...]
    size: int

    def field(self, name: str) -> Field:
        return next(field for field in self.fields if field.name == name)


#: The state without its type: words.
WORDS = tuple((f"state.{index}", 4 * index, 4) for index in range(STATE_BYTES // 4))


@cache
def layout(hook: str, state: tuple[tuple[str, int, int], ...] = WORDS) -> Layout:
    """The event that a hook gets. Without a range in cc.h, a field has any value.

    `state` has the name, the offset and the size of each number of the state.
    """
    text = (HEADERS / "cc.h").read_text(encoding="utf-8")
    what = {"set_state": (0, 4), "cwnd_event": (_EVENTS[0], _EVENTS[-1])}.get(hook, (0, 0))
    fields = [Field("result", 0, 4, 0, 0), Field("what", 4, 4, *what)]
    at = 8
    for struct, prefix in (("window", "w"), ("ack", "a")):
        ranges = _ranges(text, f"CC_{struct.upper()}_RANGES")
        body = re.search(rf"struct cc_{struct} \{{(.*?)\n\}};", text, re.DOTALL)
        assert body is not None
        for kind, name, count in re.findall(
            r"^\s*(u8|u32|u64) (\w+)(?:\[(\d+)\])?;", re.sub(r"/\*.*?\*/", "", body[1], flags=re.DOTALL), re.M
        ):
            size = _SIZES[kind]
            at = -(-at // size) * size
            lo, hi = ranges.get(name, (0, (1 << 8 * size) - 1))
            if (hook, name) in (("pkts_acked", "rtt_us"), ("cong_avoid", "acked")):
                lo = 1
            for index in range(int(count or 1)):
                fields.append(Field(f"{prefix}.{name}{index if count else ''}", at, size, lo, hi))
                at += size
        at = -(-at // 8) * 8
    fields += [Field(name, at + offset, size, 0, (1 << 8 * size) - 1) for name, offset, size in state]
    return Layout(tuple(fields), at + STATE_BYTES)


def state_fields(types: Btf, accesses: Container[tuple[int, int]]) -> tuple[tuple[str, int, int], ...]:
    """The numbers of a header's state; of a union the member that `accesses`, offsets and sizes, fit best."""
    shape = types.variable("shape")
    if shape is None:
        return WORDS
    taken: dict[int, tuple[str, int, int]] = {}
    filled: set[int] = set()
    members = [m for m in types.members(shape) if not m.bits]
    members.sort(key=lambda m: (m.offset_bits // 8, m.size) in accesses, reverse=True)
    for member in members:
        offset = member.offset_bits // 8
        places = set(range(offset, offset + member.size))
        if not places & filled and member.size in (1, 2, 4, 8):
            taken[offset] = (f"state.{member.name}", offset, member.size)
            filled |= places
    at = 0
    while at < STATE_BYTES:
        if at in filled:
            at += 1
            continue
        size = 4 if at % 4 == 0 and not filled & set(range(at, at + 4)) else 1
        taken[at] = (f"state.+{at}", at, size)
        at += size
    return tuple(taken[offset] for offset in sorted(taken))


def _ranges(text: str, table: str) -> dict[str, tuple[int, int]]:
    found = re.search(rf"#define {table}\(R\)((?:.*\\\n)*.*\n)", text)
    assert found is not None
    return {
        name: (int(lo, 0), int(hi, 0)) for name, lo, hi in re.findall(r"R\((\w+), (\w+), (\w+)\)", found[1])
    }
