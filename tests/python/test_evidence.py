"""`cwnd explain` on evidence without packets: ss, iperf3, flent, qlog and traces, by hand calculation."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from pathlib import Path

import pytest

import cwnd
from captures import window_limited
from conftest import Command
from test_trace import traced

#: Two snapshots of `ss -tinm`, ten seconds apart, in the words of iproute2 6.1. Meanwhile the sender was busy
#: for 8 s: 5 s with the receiver's window as the limit, 1 s with its own buffer.
SS = """\
1795677452.5
State Recv-Q Send-Q Local Address:Port  Peer Address:PortProcess
ESTAB 0      0          192.0.2.1:40000    192.0.2.2:443
\t skmem:(r0,rb131072,t0,tb87040,f0,w0,o0,bl0,d0) cubic wscale:7,7 \
rto:250 rtt:50.1/0.5 mss:1448 pmtu:1500 \
rcvmss:536 advmss:1448 cwnd:10 bytes_sent:1 \
bytes_acked:1 segs_out:2 segs_in:2 send 2312000bps rcv_space:14480 \
minrtt:50 snd_wnd:65536
1795677462.5
State Recv-Q Send-Q Local Address:Port  Peer Address:PortProcess
ESTAB 0      0          192.0.2.1:40000    192.0.2.2:443
\t skmem:(r0,rb131072,t0,tb87040,f0,w0,o0,bl0,d0) cubic wscale:7,7 \
rto:250 rtt:50.4/0.5 mss:1448 pmtu:1500 \
rcvmss:536 advmss:1448 cwnd:100 ssthresh:90 bytes_sent:10000001 \
bytes_acked:10000001 segs_out:7000 segs_in:3000 \
busy:8000ms rwnd_limited:5000ms(62.5%) sndbuf_limited:1000ms(12.5%) unacked:45 rcv_space:14480 minrtt:50 \
snd_wnd:65536
"""


def shares(connection: object) -> dict[str, float]:
    assert isinstance(connection, dict)
    return {share["cause"]: share["share"] for share in connection["causes"]}


def test_the_kernels_counters_divide_the_time_between_two_snapshots_of_ss() -> None:
    (connection,) = cwnd.explain(SS.encode()).data["connections"]
    assert shares(connection) == pytest.approx(
        {"receiver": 0.5, "application": 0.2, "cwnd": 0.2, "sender_buffer": 0.1}
    )
    assert (connection["bytes"], connection["duration_s"]) == (10_000_000, 10)
    assert connection["goodput_bps"] == pytest.approx(8e6) and connection["cca"] == "cubic"
    assert connection["rtt_min_ms"] == 50 and connection["handshake"] is None
    words = str(cwnd.explain(SS.encode()))
    # 65536 bytes in 50 ms.
    assert "its window (65.5 kB at 50 ms) allows 10.49 Mbps" in words and "algorithm cubic" in words


def test_one_snapshot_of_ss_has_shares_of_its_busy_time_alone_and_says_so() -> None:
    (connection,) = cwnd.explain(SS.partition("1795677462.5\n")[2].encode()).data["connections"]
    assert shares(connection) == pytest.approx({"receiver": 5 / 8, "cwnd": 2 / 8, "sender_buffer": 1 / 8})
    assert "one snapshot has no age" in connection["cannot"][0]


def test_snapshots_of_ss_without_times_do_not_invent_idle_time() -> None:
    text = "\n".join(line for line in SS.splitlines() if not line.startswith("17956"))
    (connection,) = cwnd.explain(text.encode()).data["connections"]
    assert connection["duration_s"] == 8 and "application" not in shares(connection)
    assert any("no times" in line for line in connection["cannot"])


@pytest.mark.parametrize("stamp", ["2026-11-26T07:17:42.500Z", "2026-11-26 07:17:42,5", "# t 1795677462.5"])
def test_times_before_snapshots_are_of_date_or_of_iso_8601(stamp: str) -> None:
    text = SS.replace("1795677452.5", "2026-11-26T07:17:32.5+00:00").replace("1795677462.5", stamp)
    (connection,) = cwnd.explain(text.encode()).data["connections"]
    assert connection["duration_s"] == pytest.approx(10)


def test_ss_in_one_line_a_socket_without_states_is_read_alike() -> None:
    joined = SS.replace("\n\t ", " ").replace("ESTAB ", "").replace("State Recv-Q", "Recv-Q")
    assert cwnd.explain(joined.encode()).data == cwnd.explain(SS.encode()).data


def iperf3(**start: object) -> dict[str, object]:
    """A test of ten seconds: 10 Mbit/s, the RTT 50 ms in the first interval and then 90 ms."""
    stream = {"socket": 5, "seconds": 1.0, "bytes": 1_250_000, "retransmits": 0, "snd_wnd": 3_000_000}
    rows = [
        {
            **stream,
            "start": float(at),
            "snd_cwnd": 70_000 if at == 0 else 120_000,
            "rtt": 50_000 if at == 0 else 90_000,
        }
        for at in range(10)
    ]
    ends = {"local_host": "192.0.2.1", "local_port": 40_000, "remote_host": "192.0.2.2", "remote_port": 5201}
    return {
        "start": {
            "version": "iperf 3.12",
            "connected": [{"socket": 5, **ends}],
            "sock_bufsize": 0,
            "target_bitrate": 0,
            "test_start": {"protocol": "TCP"},
            **start,
        },
        "intervals": [{"streams": [row]} for row in rows],
        "end": {"sender_tcp_congestion": "reno"},
    }


def test_iperf3_shows_a_full_path_by_its_rtt_and_its_own_rate_as_the_application() -> None:
    (connection,) = cwnd.explain(json.dumps(iperf3()).encode()).data["connections"]
    assert shares(connection) == pytest.approx({"full_path": 0.9, "cwnd": 0.1})
    full = connection["causes"][0]["numbers"]
    assert full["rate_bps"] == pytest.approx(10e6) and full["queue_ms"] == pytest.approx(40)
    assert (connection["sender"], connection["cca"]) == ("192.0.2.1:40000", "reno")
    (limited,) = cwnd.explain(json.dumps(iperf3(target_bitrate=10_500_000)).encode()).data["connections"]
    assert shares(limited) == {"application": 1}


def test_an_iperf3_that_does_not_fill_its_window_is_not_guessed_about() -> None:
    document = json.loads(json.dumps(iperf3()).replace("120000", "900000").replace("70000", "900000"))
    (connection,) = cwnd.explain(json.dumps(document).encode()).data["connections"]
    assert shares(connection) == {"unknown": 1}
    assert any("iperf3 does not say" in line for line in connection["cannot"])


def test_iperf3_in_a_stream_of_lines_is_the_same_test() -> None:
    document = iperf3()
    intervals = document["intervals"]
    assert isinstance(intervals, list)
    events = [
        ("start", document["start"]),
        *(("interval", one) for one in intervals),
        ("end", document["end"]),
    ]
    lines = "\n".join(json.dumps({"event": event, "data": data}) for event, data in events)
    assert cwnd.explain(lines.encode()).data == cwnd.explain(json.dumps(document).encode()).data


def test_the_end_of_an_iperf3_that_receives_says_that_the_other_one_knows() -> None:
    document = iperf3()
    text = json.dumps(document).replace('"snd_cwnd"', '"x"').replace('"rtt"', '"y"')
    (connection,) = cwnd.explain(text.encode()).data["connections"]
    assert shares(connection) == {"unknown": 1} and connection["sender"] == "192.0.2.2:5201"
    assert "at the sender alone" in connection["cannot"][0]


def flent() -> dict[str, object]:
    """Five seconds without a queue, five with one of 40 ms, at 8 Mbit/s."""
    count = 101
    return {
        "metadata": {"TITLE": "a test", "NAME": "tcp_upload", "HOST": "far", "LOCAL_HOST": "near"},
        "x_values": [at / 10 for at in range(count)],
        "results": {
            "Ping (ms) ICMP": [10.0 if at <= 50 else 50.0 for at in range(count)],
            "TCP upload": [8.0] * count,
            "TCP upload sum": [8.0] * count,
        },
    }


def test_flent_shows_a_full_path_by_its_pings_and_does_not_know_the_rest() -> None:
    (connection,) = cwnd.explain(gzip.compress(json.dumps(flent()).encode())).data["connections"]
    assert shares(connection) == pytest.approx({"full_path": 0.5, "unknown": 0.5})
    assert connection["bytes"] == 10_000_000 and connection["sender"] == "near:TCP upload"
    assert any("pings" in line for line in connection["cannot"])


def qlog() -> tuple[dict[str, object], list[dict[str, object]]]:
    """A client that sends ten packets of 1000 bytes each 100 ms, acknowledged 50 ms later, for two seconds.

    In the second half it says that flow control holds it.
    """
    events: list[dict[str, object]] = [
        {"time": 0, "name": "recovery:congestion_state_updated", "data": {"new": "congestion_avoidance"}},
    ]
    for turn in range(20):
        at, first = 1000 + 100.0 * turn, 10 * turn
        for packet in range(first, first + 10):
            frames = [{"frame_type": "stream", "stream_id": 0, "offset": 0, "length": 960}]
            if turn >= 10 and packet == first:
                frames.append({"frame_type": "data_blocked", "limit": 1})
            header = {"packet_type": "1RTT", "packet_number": packet}
            sent = {"header": header, "raw": {"length": 1000}, "frames": frames}
            events.append({"time": at, "name": "transport:packet_sent", "data": sent})
        ack = {"frame_type": "ack", "acked_ranges": [[0, first + 9]]}
        received = {"header": {"packet_type": "1RTT", "packet_number": turn}, "frames": [ack]}
        metrics = {"latest_rtt": 50.0, "congestion_window": 12_000, "bytes_in_flight": 0}
        events += [
            {"time": at + 50, "name": "transport:packet_received", "data": received},
            {"time": at + 50, "name": "recovery:metrics_updated", "data": metrics},
        ]
    events[0]["time"] = 1000
    return {"vantage_point": {"type": "client"}, "common_fields": {"time_format": "absolute"}}, events


def test_qlog_shows_the_window_and_flow_control_by_the_senders_own_events() -> None:
    trace, events = qlog()
    whole = {"qlog_version": "0.3", "qlog_format": "JSON", "traces": [{**trace, "events": events}]}
    (connection,) = cwnd.explain(json.dumps(whole).encode()).data["connections"]
    # The last acknowledgement comes at 1.95 s.
    assert shares(connection) == pytest.approx({"cwnd": 1 / 1.95, "receiver": 0.95 / 1.95})
    assert connection["bytes"] == 200_000 and connection["rtt_min_ms"] == 50
    assert connection["causes"][0]["numbers"]["flight_bytes"] == 10_000
    head = {"qlog_version": "0.3", "qlog_format": "JSON-SEQ", "trace": trace}
    sequence = "".join(f"\x1e{json.dumps(record)}\n" for record in [head, *events])
    assert cwnd.explain(sequence.encode()).data["connections"] == [connection]
    cut = cwnd.explain(sequence.encode()[:-9]).data
    assert any("cut off" in note for note in cut["notes"])


def test_a_trace_of_live_connections_shows_repair_and_what_it_cannot(tmp_path: Path) -> None:
    traced().save(tmp_path / "trace")
    data = cwnd.explain(tmp_path / "trace").data
    by_sender = {connection["sender"]: shares(connection) for connection in data["connections"]}
    assert by_sender == {"10.99.1.1:40000": {"recovery": 1}, "10.99.1.1:40001": {"timeout": 1}}
    assert data["connections"][0]["cca"] == "elastic" and data["connections"][0]["rtt_min_ms"] == 18.5


def test_a_page_of_ss_has_the_congestion_window(tmp_path: Path) -> None:
    (tmp_path / "ss.txt").write_text(SS)
    (connection,) = cwnd.explain(tmp_path / "ss.txt", out=tmp_path / "ss.html").data["connections"]
    assert connection["series"]["cwnd_bytes"] == [144_800]
    assert "congestion window" in (tmp_path / "ss.html").read_text()


@pytest.mark.parametrize(
    "made", [SS, json.dumps(iperf3()), json.dumps(flent()), "\x1e" + json.dumps(qlog()[0])]
)
def test_evidence_that_is_cut_off_anywhere_gives_an_answer_or_a_line(made: str) -> None:
    data = made.encode()
    for end in range(0, len(data), 1 + len(data) // 300):
        try:
            str(cwnd.explain(data[:end]))
        except cwnd.Error as refused:
            assert str(refused).count("\n") == 0 and str(refused).startswith("capture: ")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('{"a": 1}', "JSON of another kind; accepted is"),
        ('{"start": {}, "intervals": []}', "without intervals"),
        ('{"start": {"test_start": {"protocol": "UDP"}}, "intervals": [1]}', "test of UDP"),
        ('{"qlog_version": "draft-01", "traces": [{"event_fields": [], "events": []}]}', "events as arrays"),
        ("[" * 100_000, "JSON that cannot be read"),
    ],
)
def test_what_is_no_evidence_is_refused_in_a_line(
    text: str, says: str, tmp_path: Path, cwnd_command: Command
) -> None:
    (tmp_path / "evidence.json").write_text(text)
    done = cwnd_command("explain", "evidence.json", cwd=tmp_path)
    assert done.returncode == 2 and done.stdout == "" and done.stderr.count("\n") == 1
    assert says in done.stderr and "evidence.json" in done.stderr


def test_standard_input_takes_text_and_captures() -> None:
    for data, kind in ((SS.encode(), "ss"), (window_limited(), "pcap"), (gzip.compress(SS.encode()), "ss")):
        done = subprocess.run(
            [sys.executable, "-m", "cwnd", "explain", "-", "--json"],
            input=data,
            capture_output=True,
            check=True,
        )
        assert json.loads(done.stdout)["capture"]["format"] == kind
