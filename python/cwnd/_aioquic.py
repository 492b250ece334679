"""An algorithm at work on a connection of aioquic."""

from __future__ import annotations

from collections.abc import Iterable

from aioquic.quic.congestion.base import QuicCongestionControl, register_congestion_control
from aioquic.quic.packet_builder import QuicSentPacket

from cwnd import _cwnd


def register(name: str, setup: _cwnd.QuicSetup) -> None:
    register_congestion_control(name, _Factory(setup))


class _Factory:
    def __init__(self, setup: _cwnd.QuicSetup) -> None:
        self._setup = setup

    def __call__(self, *, max_datagram_size: int) -> QuicCongestionControl:
        return _Control(self._setup, max_datagram_size)


class _Control(QuicCongestionControl):
    """An algorithm at work on one connection."""

    def __init__(self, setup: _cwnd.QuicSetup, max_datagram_size: int) -> None:
        super().__init__(max_datagram_size=max_datagram_size)
        self._bridge = setup.start(max_datagram_size)
        self._acked_bytes = 0
        self._ack_s = 0.0
        self._lost = (0.0, 0.0)
        self._note_window()

    def on_packet_sent(self, *, packet: QuicSentPacket) -> None:
        self._end_acks()
        self.bytes_in_flight += packet.sent_bytes
        self._bridge.send(_sent_s(packet), packet.sent_bytes)

    def on_packet_acked(self, *, now: float, packet: QuicSentPacket) -> None:
        if now != self._ack_s:
            self._end_acks()
        self.bytes_in_flight -= packet.sent_bytes
        self._acked_bytes += packet.sent_bytes
        self._ack_s = now
        self._bridge.ack_packet(_sent_s(packet), packet.sent_bytes)

    def on_rtt_measurement(self, *, now: float, rtt: float) -> None:
        self._end_acks()

    def on_packets_expired(self, *, packets: Iterable[QuicSentPacket]) -> None:
        self._end_acks()
        for packet in packets:
            self.bytes_in_flight -= packet.sent_bytes
            self._bridge.discard(packet.sent_bytes)

    def on_packets_lost(self, *, now: float, packets: Iterable[QuicSentPacket]) -> None:
        self._end_acks()
        sent_s = 0.0
        for packet in packets:
            self.bytes_in_flight -= packet.sent_bytes
            self._bridge.lose_packet(packet.sent_bytes)
            sent_s = max(sent_s, _sent_s(packet))
        self._lost = (now, sent_s)
        self._bridge.on_loss(now, sent_s, False)
        self._note_window()

    def on_persistent_congestion(self) -> None:
        self._bridge.on_loss(*self._lost, True)
        self._note_window()

    def _end_acks(self) -> None:
        """aioquic reports neither the end of an ACK's packets nor who limits the sender."""
        if not self._acked_bytes:
            return
        prior_in_flight = self.bytes_in_flight + self._acked_bytes
        self._acked_bytes = 0
        self._bridge.end_acks(self._ack_s, 2 * prior_in_flight < self.congestion_window)
        self._note_window()

    def _note_window(self) -> None:
        self.congestion_window = self._bridge.window_bytes()
        self.ssthresh = self._bridge.ssthresh_bytes()


def _sent_s(packet: QuicSentPacket) -> float:
    return packet.sent_time or 0.0
