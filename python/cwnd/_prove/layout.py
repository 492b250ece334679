"""The contract as the prover needs it: where each field is, and the range that a caller guarantees."""

from __future__ import annotations

import re
from functools import cache
from typing import NamedTuple

from cwnd._common.headers import HEADERS

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


@cache
def layout(hook: str) -> Layout:
    """The event that a hook gets. Without a range in cc.h, a field has any value."""
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
    fields += [
        Field(f"state.{index}", at + 4 * index, 4, 0, (1 << 32) - 1) for index in range(STATE_BYTES // 4)
    ]
    return Layout(tuple(fields), at + STATE_BYTES)


def _ranges(text: str, table: str) -> dict[str, tuple[int, int]]:
    found = re.search(rf"#define {table}\(R\)((?:.*\\\n)*.*\n)", text)
    assert found is not None
    return {
        name: (int(lo, 0), int(hi, 0)) for name, lo, hi in re.findall(r"R\((\w+), (\w+), (\w+)\)", found[1])
    }
