"""The object of a header's hooks: sections, symbols, the source line of each step.

A reader of the few parts of ELF and BTF that are needed is shorter than a dependency that reads all of them.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from cwnd._common.errors import error
from cwnd._prove.btf import Btf

_PROGBITS, _NOBITS, _REL, _SYMTAB = 1, 8, 9, 2
_BPF_MACHINE = 247
_HOOK_PREFIXES = ("syscall/", "struct_ops/")
_STATED_PREFIX = "stated/"
_PREFIXES = (*_HOOK_PREFIXES, _STATED_PREFIX)
_R_BPF_64_64 = 1


class Step(NamedTuple):
    """An instruction of BPF; `place` is the section and the offset that an address refers to.

    `relocated` is the type of the kernel, and the kind of CO-RE's relocation, if the loader changes the step.
    """

    code: int
    dst: int
    src: int
    off: int
    imm: int
    place: tuple[str, int] | None
    line: str
    relocated: tuple[str, int] | None = None


@dataclass(frozen=True, eq=False)
class Object:
    """The hooks as steps, what the header states of itself, the bytes of the data sections, and the types.

    `dropped`: invariants that the header states, and that nothing may assume.
    """

    hooks: dict[str, dict[int, Step]]
    stated: dict[str, dict[int, Step]]
    data: dict[str, bytes]
    types: Btf
    dropped: frozenset[str] = frozenset()


class _Section(NamedTuple):
    name: str
    kind: int
    data: bytes
    link: int
    info: int


def read_object(path: Path) -> Object:
    """Reads an object that the BPF compiler made.

    Raises:
        Error: the file is no such object.
    """
    raw = path.read_bytes()
    if raw[:6] != b"\x7fELF\x02\x01" or struct.unpack_from("<H", raw, 18)[0] != _BPF_MACHINE:
        raise error(path.name, "no object of BPF")
    sections = _sections(raw)
    symbols = _symbols(sections)
    types = Btf(next((section.data for section in sections if section.name == ".BTF"), b""))
    lines, relocations = _source_lines(sections), _relocations(sections, types)
    places: dict[int, dict[int, tuple[str, int]]] = {}
    for section in sections:
        if section.kind == _REL and sections[section.info].name.startswith(_PREFIXES):
            found = places.setdefault(section.info, {})
            for at in range(0, len(section.data), 16):
                offset, info = struct.unpack_from("<QQ", section.data, at)
                if info & 0xFFFFFFFF == _R_BPF_64_64:
                    index, value = symbols[info >> 32]
                    found[offset] = (sections[index].name if index < len(sections) else "", value)
    programs = {
        section.name: _steps(
            section,
            places.get(index, {}),
            lines.get(section.name, {}),
            relocations.get(section.name, {}),
        )
        for index, section in enumerate(sections)
        if section.kind == _PROGBITS and section.name.startswith(_PREFIXES)
    }
    hooks = {
        name.partition("/")[2]: steps
        for name, steps in programs.items()
        if not name.startswith(_STATED_PREFIX)
    }
    stated = {
        name.removeprefix(_STATED_PREFIX): steps
        for name, steps in programs.items()
        if name.startswith(_STATED_PREFIX)
    }
    data = {s.name: s.data for s in sections if s.name.startswith((".data", ".rodata", ".bss"))}
    return Object(hooks, stated, data, types)


def _sections(raw: bytes) -> list[_Section]:
    start = struct.unpack_from("<Q", raw, 0x28)[0]
    count, names = struct.unpack_from("<HH", raw, 0x3C)
    headers = [struct.unpack_from("<IIQQQQIIQQ", raw, start + 64 * index) for index in range(count)]
    text = headers[names][4]
    return [
        _Section(
            _text(raw, text + header[0]),
            header[1],
            bytes(header[5]) if header[1] == _NOBITS else raw[header[4] : header[4] + header[5]],
            header[6],
            header[7],
        )
        for header in headers
    ]


def _text(data: bytes, at: int) -> str:
    return data[at : data.index(b"\0", at)].decode(errors="replace")


def _symbols(sections: list[_Section]) -> list[tuple[int, int]]:
    for section in sections:
        if section.kind == _SYMTAB:
            return [
                struct.unpack_from("<IBBHQQ", section.data, at)[3:5] for at in range(0, len(section.data), 24)
            ]
    return []


def _source_lines(sections: list[_Section]) -> dict[str, dict[int, str]]:
    """The text of the source line of each step, from `.BTF.ext`, by section and offset."""
    by_name = {section.name: section.data for section in sections}
    btf, ext = by_name.get(".BTF", b""), by_name.get(".BTF.ext", b"")
    if len(btf) < 24 or len(ext) < 24:
        return {}
    strings = struct.unpack_from("<I", btf, 4)[0] + struct.unpack_from("<I", btf, 16)[0]
    header, _, _, start, length = struct.unpack_from("<IIIII", ext, 4)
    at, end = header + start, header + start + length
    size = struct.unpack_from("<I", ext, at)[0]
    at += 4
    found: dict[str, dict[int, str]] = {}
    while at < end:
        name, count = struct.unpack_from("<II", ext, at)
        at += 8
        lines = found.setdefault(_text(btf, strings + name), {})
        for _ in range(count):
            offset, file, line, column = struct.unpack_from("<IIII", ext, at)
            at += size
            shown = Path(_text(btf, strings + file)).name
            lines[offset] = f"{shown}:{column >> 10}: {_text(btf, strings + line).strip()}"
    return found


def _relocations(sections: list[_Section], types: Btf) -> dict[str, dict[int, tuple[str, int]]]:
    """The type and the kind of each relocation of CO-RE, by section and offset."""
    ext = next((section.data for section in sections if section.name == ".BTF.ext"), b"")
    if len(ext) < 32:
        return {}
    header, start, length = (struct.unpack_from("<I", ext, at)[0] for at in (4, 24, 28))
    if header < 32 or not length:
        return {}
    at, end = header + start, header + start + length
    size = struct.unpack_from("<I", ext, at)[0]
    at += 4
    found: dict[str, dict[int, tuple[str, int]]] = {}
    while at < end:
        name, count = struct.unpack_from("<II", ext, at)
        at += 8
        for _ in range(count):
            offset, of, _, kind = struct.unpack_from("<IIII", ext, at)
            at += size
            found.setdefault(types.text(name), {})[offset] = (types.name(of), kind)
    return found


def _steps(
    section: _Section,
    places: dict[int, tuple[str, int]],
    known: dict[int, str],
    relocations: dict[int, tuple[str, int]],
) -> dict[int, Step]:
    found: dict[int, Step] = {}
    line, at = "", 0
    while at < len(section.data):
        code, registers, off, imm = struct.unpack_from("<BBhi", section.data, at)
        line = known.get(at, line)
        place = None
        number, wide = at // 8, code == 0x18
        if wide:
            high = struct.unpack_from("<i", section.data, at + 12)[0]
            if at in places:
                name, value = places[at]
                place = (name, value + imm)
            imm = (imm & 0xFFFFFFFF) | (high & 0xFFFFFFFF) << 32
        found[number] = Step(code, registers & 15, registers >> 4, off, imm, place, line, relocations.get(at))
        at += 16 if wide else 8
    return found
