"""The conclusion about a connection, as arithmetic, and the advice that follows."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from cwnd._common.text import digits, rate
from cwnd._explain.shapes import Connection, Share

#: Names of causes in a sentence and in tables.
NAMES = {
    "handshake": "handshake",
    "receiver": "receiver's window",
    "application": "application",
    "sender_buffer": "sender's buffer",
    "slow_start": "slow start",
    "timeout": "timeout",
    "recovery": "recovery",
    "policer": "policer",
    "random_loss": "random loss",
    "full_path": "full path",
    "ack_path": "path of the ACKs",
    "cwnd": "congestion window",
    "unknown": "not known",
}
#: A cause below this share is no part of the conclusion.
_SECOND = 0.2
#: Linux gives half of a socket's memory to overhead (tcp_adv_win_scale 1).
_OVERHEAD = 2
#: A queue this much longer than the path is worth a queue discipline.
_DEEP = 1.0


@dataclass(frozen=True)
class Advice:
    """Advice on a cause: the reason, the command and its roll-back; both empty where there is none."""

    text: str
    command: str = ""
    rollback: str = ""

    def to_dict(self) -> dict[str, str]:
        return asdict(self)


def size(count: float | None) -> str:
    """Bytes with a unit."""
    if count is None:
        return "-"
    for unit in ("B", "kB", "MB"):
        if count < 1000:
            return f"{digits(float(f'{count:.3g}'))} {unit}"
        count /= 1000
    return f"{digits(float(f'{count:.3g}'))} GB"


def conclude(connection: Connection) -> list[str]:
    """At most three sentences: the main cause with its arithmetic, the second one, and what is uncertain."""
    causes = connection["causes"]
    if not causes or connection["bytes"] == 0:
        return ["No data of this connection were seen."]
    main, others = causes[0], causes[1:]
    said = [_sentence(connection, main)]
    if others and others[0]["share"] >= _SECOND:
        said.append(_sentence(connection, others[0]))
    if connection["cannot"]:
        line = connection["cannot"][0]
        said.append(f"{line[0].upper()}{line[1:]}.")
    return said


def advise_on(connection: Connection) -> list[Advice]:
    """Advice for the causes that took a fifth of the time or more, the main one first."""
    found = [
        _advice(connection, share)
        for at, share in enumerate(connection["causes"])
        if at == 0 or share["share"] >= _SECOND
    ]
    return [advice for advice in found if advice is not None]


def _rtt(connection: Connection) -> str:
    least = connection["rtt_min_ms"]
    return f"{digits(least)} ms" if least is not None else "an unknown RTT"


def _sentence(connection: Connection, share: Share) -> str:
    begin = f"{share['share']:.0%} of the time "
    numbers, least = share["numbers"], connection["rtt_min_ms"]
    goodput = rate(numbers["rate_bps"])
    if share["cause"] == "receiver":
        if numbers["window_bytes"] is None:
            return f"{begin}the receiver's window limits: {goodput} at {_rtt(connection)}."
        if not least:
            return f"{begin}the receiver's window of {size(numbers['window_bytes'])} limits."
        allowed = numbers["window_bytes"] * 8e3 / least
        return (
            f"{begin}the receiver limits: its window ({size(numbers['window_bytes'])} at {_rtt(connection)}) "
            f"allows {rate(allowed)}."
        )
    if share["cause"] == "sender_buffer":
        flight = numbers["flight_bytes"]
        if flight is None:
            return f"{begin}the sender's socket buffer limits: {goodput} at {_rtt(connection)}."
        allows = f" at {_rtt(connection)} allows {rate(flight * 8e3 / least)}" if least else ""
        return f"{begin}the sender's socket buffer limits: {size(flight)} in flight{allows}."
    if share["cause"] == "policer" and connection["policer_bps"]:
        return (
            f"{begin}a policer limits: it drops what is above {rate(connection['policer_bps'])}, "
            f"without a queue ({_losses(numbers['losses'])})."
        )
    if share["cause"] == "full_path":
        queue = f", its queue adds {digits(numbers['queue_ms'])} ms to {_rtt(connection)}"
        return (
            f"{begin}the path is full: it delivers {goodput}"
            f"{queue if numbers['queue_ms'] is not None else ''}."
        )
    if share["cause"] == "ack_path":
        return f"{begin}the way of the ACKs is full: the data's way could carry more than {goodput}."
    if share["cause"] == "random_loss":
        return (
            f"{begin}losses without a queue hold the congestion window down: {_losses(numbers['losses'])}, "
            f"{goodput} at {_rtt(connection)}."
        )
    if share["cause"] == "cwnd":
        return f"{begin}the congestion window limits{_after(share)}: {goodput} at {_rtt(connection)}."
    return begin + _PLAIN[share["cause"]].format(goodput=goodput)


#: Ends of the sentences without arithmetic.
_PLAIN = {
    "handshake": "passes before the first data.",
    "application": "the application limits: it has nothing to send ({goodput} on average).",
    "slow_start": "the connection is in slow start ({goodput}).",
    "timeout": "nothing moves until the sender's timer runs out.",
    "recovery": "lost segments are repaired ({goodput}).",
    "policer": "a policer limits ({goodput}).",
    "unknown": "the cause is not known.",
}


def _losses(count: int) -> str:
    return f"{count} loss{'es' * (count != 1)}"


def _after(share: Share) -> str:
    return {
        "overflow": ", after overflows of a short queue",
        "loss": ", after losses",
        "mark": ", after marks of ECN",
        None: "",
    }[share["after"]]


def _advice(connection: Connection, share: Share) -> Advice | None:
    numbers, least = share["numbers"], connection["rtt_min_ms"]
    # Without the window, what was in flight is at most it.
    held = numbers["window_bytes"] or numbers["flight_bytes"]
    if share["cause"] == "receiver" and least and held:
        return _window("rmem", "receiver", "SO_RCVBUF", held, least)
    if share["cause"] == "sender_buffer" and least and numbers["flight_bytes"]:
        return _window("wmem", "sender", "SO_SNDBUF", numbers["flight_bytes"], least)
    if share["cause"] == "policer" and connection["policer_bps"]:
        shaped = 0.95 * connection["policer_bps"] / 1e6
        return Advice(
            f"Shape below the policer's {rate(connection['policer_bps'])}: a queue delays where the policer "
            "drops. DEV is the sender's device.",
            f"tc qdisc replace dev DEV root tbf rate {shaped:.3g}mbit burst 32kb latency 50ms",
            "tc qdisc del dev DEV root",
        )
    if share["cause"] == "full_path":
        queue = numbers["queue_ms"]
        if queue is not None and least and queue > _DEEP * least:
            return Advice(
                "The path's rate is the limit. Its queue is longer than the path: a queue discipline at the "
                "bottleneck keeps the rate and takes the delay. DEV is its device.",
                "tc qdisc replace dev DEV root fq_codel",
                "tc qdisc del dev DEV root",
            )
        return Advice("The path's rate is the limit: more needs a faster path.")
    if share["cause"] in {"random_loss", "cwnd"} and least:
        goal = rate(numbers["rate_bps"])
        return Advice(
            f"An algorithm may reach more than {goal} here: 'cwnd advise' compares them by simulation, "
            "with the rate of the path, which this capture does not show."
        )
    return _ADVICE.get(share["cause"])


_ADVICE = {
    "application": Advice(
        "The network is not the limit: look at the application, its disk or its peer. If it sends in bursts, "
        "each begins with a small window unless this is 0.",
        "sysctl -w net.ipv4.tcp_slow_start_after_idle=0",
        "sysctl -w net.ipv4.tcp_slow_start_after_idle=1",
    ),
    "ack_path": Advice("ACKs need a queue of their own, or more rate: see cake's 'ack-filter'."),
    "slow_start": Advice("The transfer is short for its path: reuse connections."),
    "timeout": Advice("Look for outages and for bursts of losses; SACK and timestamps shorten them."),
}


#: Least, first and largest bytes of a socket's buffers in Linux, where nobody changed them (tcp(7)).
_LINUX = {"rmem": (4096, 131_072, 6_291_456), "wmem": (4096, 16_384, 4_194_304)}


def _window(name: str, end: str, option: str, held: int, least_ms: float) -> Advice:
    """Advice to give a window of twice the present one: the capture does not show the path's own limit."""
    wanted = 2 * held
    value = _OVERHEAD * wanted
    least, first, largest = _LINUX[name]
    needs = f"For {rate(wanted * 8e3 / least_ms)} the {end} needs {size(wanted)} at {digits(least_ms)} ms"
    if value <= largest:
        return Advice(
            f"{needs}. Linux's default lets a buffer grow to {size(largest)}, so the application sets "
            f"{option}, or 'sysctl net.ipv4.tcp_{name}' shows less than that: let neither hold it."
        )
    return Advice(
        f"{needs}, and twice that in memory. If its application sets {option}, this changes nothing. "
        f"OLD is what 'sysctl -n net.ipv4.tcp_{name}' shows before.",
        f'sysctl -w net.ipv4.tcp_{name}="{least} {first} {value}"',
        f'sysctl -w net.ipv4.tcp_{name}="OLD"',
    )
