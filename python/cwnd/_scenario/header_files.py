"""Algorithms in headers of one's own, FILE.h: compiled for this machine, with their hooks as a class."""

from __future__ import annotations

import ctypes
import hashlib
import tempfile
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from cwnd._common.errors import error, one_line, os_error
from cwnd._common.files import write_file
from cwnd._common.headers import HEADERS, algorithm_in, c_compiler, compile_header
from cwnd._scenario.custom import CongestionControl

if TYPE_CHECKING:
    from cwnd._cwnd import Ack, Window

_U32, _U64, _U8 = ctypes.c_uint32, ctypes.c_uint64, ctypes.c_uint8
_WINDOW_WORDS = ("cwnd", "cwnd_cnt", "ssthresh", "cwnd_clamp", "prior_cwnd")
_ACK_WIDE = ("now_us", "delivered", "rate_prior_delivered", "delivered_ce", "lost_total")
_ACK_WORDS = (
    *("rate_delivered", "rate_interval_us", "rate_in_flight", "rate_lost", "rtt_us", "srtt_us"),
    *("min_rtt_us", "acked", "ce", "lost", "owd_us", "prior_in_flight", "in_flight", "snd_wnd", "mss"),
)
_FLAGS = ("cwnd_limited", "app_limited", "ece", "rate_app_limited")
_STATE_WORDS = 104 // 8


class _CcWindow(ctypes.Structure):
    """`struct cc_window`."""

    _fields_ = (*((name, _U32) for name in (*_WINDOW_WORDS, "repair_cwnd")), ("pacing_rate", _U64))


class _CcAck(ctypes.Structure):
    """`struct cc_ack`."""

    _fields_ = (
        *((name, _U64) for name in _ACK_WIDE),
        *((name, _U32) for name in (*_ACK_WORDS, "chance")),
        ("state", _U8),
        ("flags", _U8),
        ("reserved", _U8 * 2),
    )


class _ParamInfo(ctypes.Structure):
    """`struct cc_param_info` of `src/table.c`."""

    _fields_ = (
        *((name, ctypes.c_char_p) for name in ("name", "choices", "doc")),
        *((name, _U32) for name in ("value", "one", "min", "max")),
    )


_PLAIN_HOOKS = ("init", "pkts_acked", "cong_avoid", "cong_control", "segment_lost")


class _Entry(ctypes.Structure):
    """`struct cc_algorithm` of `src/table.c`."""

    _fields_ = (
        *((name, ctypes.c_char_p) for name in ("name", "title", "paper", "kind", "status")),
        *((name, _U32) for name in ("year", "state_bytes", "param_count")),
        ("params", ctypes.POINTER(_ParamInfo)),
        *((name, ctypes.c_void_p) for name in _PLAIN_HOOKS),
        *((name, ctypes.c_void_p) for name in ("ssthresh", "undo_cwnd", "set_state", "cwnd_event")),
    )


def load_header(path: Path) -> type[CongestionControl]:
    """The algorithm of a header, as a class of its name. Raises `Error` with one line."""
    shown = one_line(path)
    try:
        data = path.read_bytes()
    except OSError as failed:
        raise os_error(shown, failed) from None
    return _load(path.resolve(), shown, hashlib.sha256(data).hexdigest())


@cache
def _load(path: Path, shown: str, digest: str) -> type[CongestionControl]:
    text = path.read_text(encoding="utf-8", errors="replace")
    name = algorithm_in(text, shown)
    with tempfile.TemporaryDirectory(prefix="cwnd-") as folder:
        made = Path(folder) / f"{digest[:16]}.so"
        _compile(shown, path, name, Path(folder), made)
        library = ctypes.CDLL(str(made))
    entry = _Entry.in_dll(library, "cwnd_algorithms")
    return _class_of(entry, library, path, digest)


def _compile(shown: str, path: Path, name: str, folder: Path, made: Path) -> None:
    write_file(folder / "headers.h", f'#include "{path}"\n'.encode())
    line = f'A({name}, "{name}", 2026, "", loss, published)'
    write_file(folder / "registry.h", f"#define CC_REGISTRY(A) {line}\n".encode())
    command = [*c_compiler(), "-shared", "-fPIC", "-O2", "-std=gnu11", "-I", str(folder)]
    # Else a function that nobody has is found when the library is loaded.
    command += ["-Werror=implicit-function-declaration"]
    command += ["-I", str(path.parent), "-I", str(HEADERS.resolve())]
    table = HEADERS.resolve() / "src" / "table.c"
    compile_header(shown, [*command, str(table), "-o", str(made)])


def _class_of(entry: _Entry, library: ctypes.CDLL, path: Path, digest: str) -> type[CongestionControl]:
    name = entry.name.decode()
    infos = {info.name.decode(): info for info in entry.params[: entry.param_count]}
    pointers = (ctypes.c_void_p, ctypes.c_void_p, ctypes.POINTER(_CcWindow), ctypes.POINTER(_CcAck))
    plain, coded = ctypes.PYFUNCTYPE(None, *pointers), ctypes.PYFUNCTYPE(None, *pointers, _U8)
    answering = ctypes.PYFUNCTYPE(_U32, *pointers)
    kinds = {**dict.fromkeys(_PLAIN_HOOKS, plain), "ssthresh": answering, "undo_cwnd": answering}
    kinds |= {"set_state": coded, "cwnd_event": coded}
    hooks = {hook: kind(getattr(entry, hook)) for hook, kind in kinds.items() if getattr(entry, hook)}

    def begin(self: CongestionControl, **params: str | float) -> None:
        values = {key: info.value for key, info in infos.items()}
        for key, value in params.items():
            if key not in infos:
                raise error(name, f"no parameter '{one_line(key)}'; there are {', '.join(infos)}")
            values[key] = _stored(name, infos[key], value)
        stored = (_U32 * max(len(values), 1))(*values.values())
        state = (_U64 * _STATE_WORDS)()
        window, ack = _CcWindow(), _CcAck()
        self.__dict__["_c"] = (stored, state, window, ack, ctypes.byref(window), ctypes.byref(ack), library)

    body: dict[str, object] = {
        "__init__": begin,
        "PARAMS": {key: _shown(info) for key, info in infos.items()},
        "DIGEST": digest,
        "FILE": str(path),
        "TABLE": ctypes.addressof(entry),
    }
    for hook, function in hooks.items():
        body[hook] = _method(hook, function)
    made = type(name, (CongestionControl,), body)
    made.__module__ = f"cwnd_header_{digest[:16]}"
    return made


def _shown(info: _ParamInfo) -> str | float:
    """The default as a scenario writes it."""
    choices = [one for one in info.choices.decode().split("|") if one]
    value, one = int(info.value), int(info.one)
    return choices[value] if value < len(choices) else value / one


def _stored(name: str, info: _ParamInfo, value: str | float) -> int:
    choices: list[str] = info.choices.decode().split("|")
    if isinstance(value, str) and value in choices:
        return choices.index(value)
    least, most, one = int(info.min), int(info.max), int(info.one)
    try:
        stored = round(float(value) * one)
    except ValueError:
        stored = -1
    if not least <= stored <= most:
        raise error(name, f"'{info.name.decode()}' cannot be '{one_line(value)}'")
    return stored


def _method(hook: str, function: object) -> object:
    """A hook of the class: it copies both structs in, calls the C function, and copies the window out."""
    assert callable(function)

    def fill(self: CongestionControl, window: Window, ack: Ack) -> tuple[object, ...]:
        stored, state, to_window, to_ack, at_window, at_ack, _ = self.__dict__["_c"]
        for name in _WINDOW_WORDS:
            setattr(to_window, name, getattr(window, name))
        to_window.pacing_rate = window.pacing_rate
        for name in (*_ACK_WIDE, *_ACK_WORDS):
            setattr(to_ack, name, getattr(ack, name))
        to_ack.state = ack.state
        to_ack.flags = sum(bool(getattr(ack, flag)) << bit for bit, flag in enumerate(_FLAGS))
        return state, stored, at_window, at_ack

    def copy_out(self: CongestionControl, window: Window) -> None:
        changed = self.__dict__["_c"][2]
        for name in _WINDOW_WORDS:
            setattr(window, name, getattr(changed, name))
        window.pacing_rate = changed.pacing_rate

    if hook in ("set_state", "cwnd_event"):

        def with_code(self: CongestionControl, window: Window, ack: Ack, code: int) -> None:
            function(*fill(self, window, ack), code)
            copy_out(self, window)

        return with_code

    def without(self: CongestionControl, window: Window, ack: Ack) -> object:
        answer = function(*fill(self, window, ack))
        copy_out(self, window)
        return answer

    return without
