"""Types of an object, from its section `.BTF`: the fields of a state, and what relocated accesses are of."""

from __future__ import annotations

import struct
from typing import NamedTuple

_INT, _ARRAY, _STRUCT, _UNION, _ENUM, _FWD, _TYPEDEF, _CONST = 1, 3, 4, 5, 6, 7, 8, 10
_VAR, _ENUM64 = 14, 19
#: Bytes behind the head of a type, and behind that for each of its members.
_MORE = {_INT: (4, 0), _ARRAY: (12, 0), _STRUCT: (0, 12), _UNION: (0, 12), _ENUM: (0, 8), 13: (0, 8)}
_MORE |= {_VAR: (4, 0), 15: (0, 12), 17: (4, 0), _ENUM64: (0, 12)}
#: Types that are another one: typedef, volatile, const, restrict, a type's tag.
_ALIASES = (_TYPEDEF, 9, _CONST, 11, 18)


class Member(NamedTuple):
    """A number in a struct; `bits` is 0, or the size of a bit field."""

    name: str
    offset_bits: int
    size: int
    bits: int


class _Type(NamedTuple):
    kind: int
    name: str
    refers: int
    flagged: bool
    data: bytes


class Btf:
    """The types of a section, by number."""

    def __init__(self, section: bytes) -> None:
        self.types: list[_Type] = [_Type(0, "void", 0, False, b"")]
        if len(section) < 24:
            self.strings = b"\0"
            return
        length, types, types_size, strings, strings_size = struct.unpack_from("<IIIII", section, 4)
        self.strings = section[length + strings : length + strings + strings_size]
        at, end = length + types, length + types + types_size
        while at < end:
            name, info, refers = struct.unpack_from("<III", section, at)
            kind, count = info >> 24 & 31, info & 0xFFFF
            head, each = _MORE.get(kind, (0, 0))
            size = head + each * count
            self.types.append(
                _Type(kind, self.text(name), refers, bool(info >> 31), section[at + 12 : at + 12 + size])
            )
            at += 12 + size

    def text(self, at: int) -> str:
        return self.strings[at : self.strings.index(b"\0", at)].decode(errors="replace")

    def plain(self, number: int) -> int:
        """The type behind names and qualifiers."""
        while self.types[number].kind in _ALIASES:
            number = self.types[number].refers
        return number

    def name(self, number: int) -> str:
        return self.types[self.plain(number)].name

    def variable(self, name: str) -> int | None:
        """The type of a variable."""
        return next((t.refers for t in self.types if t.kind == _VAR and t.name == name), None)

    def struct(self, name: str) -> int:
        """The number of a struct; 0: there is none."""
        return next((n for n, t in enumerate(self.types) if t.kind == _STRUCT and t.name == name), 0)

    def size(self, number: int) -> int:
        found = self.types[self.plain(number)]
        if found.kind == _ARRAY:
            element, _, count = struct.unpack("<III", found.data)
            return self.size(element) * int(count)
        return 8 if found.kind == 2 else found.refers

    def members(self, number: int, prefix: str = "", offset_bits: int = 0) -> list[Member]:
        """The numbers that a type consists of, those of structs in it with the struct's name and a dot."""
        found = self.types[self.plain(number)]
        if found.kind == _ARRAY:
            element, _, count = struct.unpack("<III", found.data)
            size = 8 * self.size(element)
            return [
                member
                for index in range(count)
                for member in self.members(element, f"{prefix}{index}", offset_bits + index * size)
            ]
        if found.kind not in (_STRUCT, _UNION):
            return [Member(prefix, offset_bits, self.size(number), 0)]
        members: list[Member] = []
        for name, kind, place in struct.iter_unpack("<III", found.data):
            bits = place >> 24 if found.flagged else 0
            at = offset_bits + (place & 0xFFFFFF if found.flagged else place)
            full = ".".join(part for part in (prefix, self.text(name)) if part)
            members += [Member(full, at, self.size(kind), bits)] if bits else self.members(kind, full, at)
        return members
