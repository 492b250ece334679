"""The algorithms in aioquic."""

from __future__ import annotations

import datetime
import ssl
import sys

import pytest
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.congestion.base import QuicCongestionControl, create_congestion_control
from aioquic.quic.connection import QuicConnection
from aioquic.quic.events import StreamDataReceived
from aioquic.quic.packet import QuicPacketType
from aioquic.quic.packet_builder import QuicSentPacket
from aioquic.tls import Epoch
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

import cwnd
from cwnd import _cwnd

MTU = 1200
NAMES = _cwnd.aioquic_algorithms()


def start(name: str) -> QuicCongestionControl:
    cwnd.aioquic.register(name)
    return create_congestion_control(name, max_datagram_size=MTU)


def send(control: QuicCongestionControl, at_s: float, pkts: int) -> list[QuicSentPacket]:
    packets = []
    for number in range(pkts):
        packet = QuicSentPacket(
            epoch=Epoch.ONE_RTT,
            in_flight=True,
            is_ack_eliciting=True,
            is_crypto_packet=False,
            packet_number=number,
            packet_type=QuicPacketType.ONE_RTT,
            sent_time=at_s,
            sent_bytes=MTU,
        )
        control.on_packet_sent(packet=packet)
        packets.append(packet)
    return packets


def ack(control: QuicCongestionControl, now_s: float, packets: list[QuicSentPacket]) -> None:
    for packet in packets:
        control.on_packet_acked(now=now_s, packet=packet)
    control.on_rtt_measurement(now=now_s, rtt=0.1)


def test_reno_doubles_its_window_and_halves_it_once_for_a_window_of_losses() -> None:
    control = start("reno")
    assert (control.congestion_window, control.ssthresh) == (10 * MTU, None)
    ack(control, 0.1, send(control, 0.0, 10))
    assert (control.congestion_window, control.bytes_in_flight) == (20 * MTU, 0)
    packets = send(control, 0.1, 20)
    control.on_packets_lost(now=0.2, packets=packets[:2])
    assert (control.congestion_window, control.ssthresh) == (10 * MTU, 10 * MTU)
    control.on_packets_lost(now=0.25, packets=packets[2:4])
    assert (control.congestion_window, control.bytes_in_flight) == (10 * MTU, 16 * MTU)
    control.on_persistent_congestion()
    assert (control.congestion_window, control.ssthresh) == (2 * MTU, 10 * MTU)


def test_a_window_that_is_less_than_half_used_does_not_grow() -> None:
    control = start("reno")
    ack(control, 0.1, send(control, 0.0, 4))
    assert control.congestion_window == 10 * MTU


def test_packets_of_a_discarded_space_are_not_in_flight() -> None:
    control = start("elastic")
    control.on_packets_expired(packets=send(control, 0.0, 3))
    assert control.bytes_in_flight == 0


def test_parameters_reach_the_algorithm() -> None:
    cwnd.aioquic.register("cubic", params={"beta": 0.75})
    control = create_congestion_control("cubic", max_datagram_size=MTU)
    ack(control, 0.1, send(control, 0.0, 10))
    control.on_packets_lost(now=0.2, packets=send(control, 0.1, 20)[:1])
    assert control.congestion_window == 15 * MTU
    with pytest.raises(cwnd.Error, match=r"'highspeed' has no parameter 'alpha'; it has "):
        cwnd.aioquic.register("highspeed", params={"alpha": 1})


def test_what_aioquic_cannot_run_is_refused_in_one_line() -> None:
    with pytest.raises(cwnd.Error, match=r"^unknown algorithm 'elastik'; did you mean 'elastic'\?$"):
        cwnd.aioquic.register("elastik")
    line = r"^'bbr' has to set the pacing rate, which aioquic does not support; aioquic runs reno, .*$"
    with pytest.raises(cwnd.Error, match=line):
        cwnd.aioquic.register("bbr")
    with pytest.raises(cwnd.Error, match=r"^params: an algorithm is missing; accepted: register\('cubic'"):
        cwnd.aioquic.register(params={"beta": 0.8})


def test_without_aioquic_an_error_of_one_line_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "cwnd._aioquic", raising=False)
    monkeypatch.delattr(cwnd, "_aioquic", raising=False)
    monkeypatch.setitem(sys.modules, "aioquic.quic.congestion.base", None)
    with pytest.raises(cwnd.Error, match=r"^aioquic: the package is missing; pip install 'cwnd\[aioquic\]'$"):
        cwnd.aioquic.register("elastic")


@pytest.fixture(scope="module")
def certificate() -> tuple[ec.EllipticCurvePrivateKey, x509.Certificate]:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    now = datetime.datetime.now(datetime.timezone.utc)
    day = datetime.timedelta(days=1)
    made = x509.CertificateBuilder(
        name, name, key.public_key(), x509.random_serial_number(), now - day, now + day
    )
    return key, made.sign(key, hashes.SHA256())


@pytest.mark.parametrize("name", NAMES)
def test_a_file_arrives(name: str, certificate: tuple[ec.EllipticCurvePrivateKey, x509.Certificate]) -> None:
    """In virtual time: each datagram arrives 10 ms after it is sent."""
    cwnd.aioquic.register()
    key, made = certificate
    server_side = QuicConfiguration(
        is_client=False, certificate=made, private_key=key, congestion_control_algorithm=name
    )
    client = QuicConnection(configuration=QuicConfiguration(verify_mode=ssl.CERT_NONE))
    now = 0.0
    client.connect(("server", 1), now=now)
    server = QuicConnection(
        configuration=server_side,
        original_destination_connection_id=client.original_destination_connection_id,
    )
    ends = [client]
    arrived, sent = 0, False
    while arrived < 100_000 and now < 20:
        datagrams = [(end, data) for end in ends for data, _ in end.datagrams_to_send(now=now)]
        ends = [client, server]
        now += 0.01
        for end, data in datagrams:
            peer, address = (server, "client") if end is client else (client, "server")
            peer.receive_datagram(data, (address, 1), now=now)
        for end in ends:
            timer = end.get_timer()
            if timer is not None and timer <= now:
                end.handle_timer(now=now)
        while (event := client.next_event()) is not None:
            arrived += len(event.data) if isinstance(event, StreamDataReceived) else 0
        if not sent and server._handshake_confirmed:
            server.send_stream_data(
                server.get_next_available_stream_id(is_unidirectional=True), bytes(100_000), True
            )
            sent = True
    assert arrived == 100_000
    assert server._loss.congestion_window >= 2 * MTU
