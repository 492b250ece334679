"""Packet captures made by hand, for tests of what reads them."""

from __future__ import annotations

import struct

#: Bytes of payload of each segment, and of the receiver's window: ten segments.
SEGMENT, WINDOW = 1000, 10_000


def window_limited(rtt_us: int = 50_000, rounds: int = 40, scale: int = 0) -> bytes:
    """A capture at the sender; the receiver's window is the limit: WINDOW * 2^scale leave for each RTT.

    The handshake has the MSS and the scale. Raw IPv4 with a snap length of 128.
    """
    options = b"\x02\x04\x03\xe8\x01\x03\x03" + bytes([scale])
    window = WINDOW << scale
    packets = [
        _packet(0, True, 0, 0, 0x02, 65_535, 0, options),
        _packet(rtt_us, False, 0, 1, 0x12, WINDOW, 0, options),
        _packet(rtt_us + 10, True, 1, 1, 0x10, 65_535, 0, b""),
    ]
    for number in range(rounds):
        now_us = rtt_us * (number + 1) + 20
        first = 1 + number * window
        packets += [
            _packet(now_us + k, True, first + k * SEGMENT, 1, 0x10, 65_535, SEGMENT, b"")
            for k in range(window // SEGMENT)
        ]
        packets.append(_packet(now_us + rtt_us - 5, False, 1, first + window, 0x10, WINDOW, 0, b""))
    header = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 128, 101)
    return header + b"".join(packets)


def _packet(
    time_us: int, up: bool, seq: int, ack: int, flags: int, window: int, size: int, options: bytes
) -> bytes:
    """A record of raw IPv4 from 192.0.2.1:40000 to 192.0.2.2:443, or back."""
    ends = (b"\xc0\x00\x02\x01", b"\xc0\x00\x02\x02") if up else (b"\xc0\x00\x02\x02", b"\xc0\x00\x02\x01")
    ports = (40_000, 443) if up else (443, 40_000)
    offset = (20 + len(options)) // 4 << 4
    tcp = struct.pack(">HHIIBBHHH", *ports, seq, ack, offset, flags, window, 0, 0) + options
    whole = 20 + len(tcp) + size
    ip = struct.pack(">BBHHHBBH", 0x45, 0, whole, 0, 0, 64, 6, 0) + ends[0] + ends[1]
    kept = (ip + tcp + bytes(size))[:128]
    return struct.pack("<IIII", time_us // 1_000_000, time_us % 1_000_000, len(kept), whole) + kept
