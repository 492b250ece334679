"""The hooks of the object that `cwnd kernel load` loads, as expressions of a socket.

Its accesses are relocated by type (CO-RE): each struct of the kernel is a place of its own, laid out as the
object has it. What the shim makes of a socket is written here a second time, for what the questions need.
"""

from __future__ import annotations

from typing import NamedTuple

from cwnd._prove.dag import Dag, Node
from cwnd._prove.elf import Object
from cwnd._prove.layout import STATE_BYTES, Layout
from cwnd._prove.memory import Cell, UntranslatableError, read, write
from cwnd._prove.model import Model, bounded, invariants_of, narrowed, stated_growth, stated_progress
from cwnd._prove.translate import Pointer, Value, translate

_SOCKET, _SAMPLE = "sk", "sample"
_TCP, _INET = f"{_SOCKET}:tcp_sock", f"{_SOCKET}:inet_connection_sock"
_TYPES = ("tcp_sock", "inet_connection_sock", "sock")
_SAMPLES = {"pkts_acked": "ack_sample", "cong_control": "rate_sample"}
_NONE = (1 << 32) - 1
#: The contract's field of each field of a socket, whose range it has.
_FIELDS = {
    "snd_cwnd": "w.cwnd",
    "snd_cwnd_cnt": "w.cwnd_cnt",
    "snd_cwnd_clamp": "w.cwnd_clamp",
    "snd_ssthresh": "w.ssthresh",
    "prior_cwnd": "w.prior_cwnd",
    "tcp_mstamp": "a.now_us",
    "delivered": "a.delivered",
    "delivered_ce": "a.delivered_ce",
    "lost": "a.lost_total",
    "mss_cache": "a.mss",
}
#: Counts of segments modulo 2^32, and those that the shim adds and subtracts.
_COUNTS = ("delivered", "delivered_ce", "lost", "packets_out", "sacked_out", "lost_out", "retrans_out")
#: Fields of samples.
_SAMPLED = {"pkts_acked": "a.acked", "acked_sacked": "a.acked"}


class _Place(NamedTuple):
    region: str
    offset: int
    size: int


class _Socket:
    """Inputs for every field of the structs, in memory."""

    def __init__(self, dag: Dag, code: Object, ops: Object, hook: str) -> None:
        self.dag = dag
        self.shape = narrowed(code, hook)
        self.memory: dict[tuple[str, int], Cell] = {}
        self.places: dict[str, _Place] = {}
        self.fields_of_bits: dict[str, int] = {}
        limits = {field.name: field for field in self.shape.fields}
        structs = [(_SOCKET, name) for name in _TYPES]
        if hook in _SAMPLES:
            structs.append((_SAMPLE, _SAMPLES[hook]))
        for base, struct in structs:
            region = f"{base}:{struct}"
            if not ops.types.struct(struct):
                continue
            size = ops.types.size(ops.types.struct(struct))
            for at in range(size):
                write(self.memory, region, at, 1, dag.input(f"{region}.+{at}", 0, 255))
            for member in ops.types.members(ops.types.struct(struct)):
                place = _Place(region, member.offset_bits // 8, member.size)
                self.places[member.name] = place
                if member.bits:
                    self.fields_of_bits[member.name] = member.offset_bits
                if member.bits or member.name.startswith("icsk_ca_priv"):
                    continue
                of = limits.get((_FIELDS if base == _SOCKET else _SAMPLED).get(member.name, ""))
                whole = (1 << 8 * member.size) - 1
                lo, hi = (of.lo, min(of.hi, whole)) if of else (0, whole)
                if member.name == "rack.rtt_us":
                    hi = limits["a.rtt_us"].hi
                counts = base == _SOCKET and member.name in _COUNTS
                self.put(place, dag.input(f"{base}.{member.name}", lo, hi, counts))
        event = self.shape.size - STATE_BYTES
        self.state: dict[str, _Place] = {}
        if "icsk_ca_priv0" in self.places:
            start = self.places["icsk_ca_priv0"].offset
            self.state = {
                field.name: _Place(_INET, start + field.offset - event, field.size)
                for field in self.shape.fields
                if field.name.startswith("state.")
            }
        for name, place in self.state.items():
            field = limits[name]
            value = dag.const(0) if hook == "init" else dag.input(name, field.lo, field.hi)
            self.put(place, value)

    def put(self, place: _Place, value: Node) -> None:
        write(self.memory, *place, value)

    def field(self, name: str) -> Node:
        """A field's value; any, if no hook of the object reads it."""
        if name not in self.places:
            return self.dag.input(f"unread.{name}", 0, _NONE)
        return read(self.dag, self.memory, *self.places[name])

    def bits(self, name: str, size: int) -> Node:
        """A bit field, as the object's own layout has it."""
        if name not in self.fields_of_bits:
            return self.dag.input(f"unread.{name}", 0, (1 << size) - 1)
        at = self.fields_of_bits[name]
        unit = read(self.dag, self.memory, self.places[name].region, at // 8, 1)
        return self.dag.truncate(self.dag.shr(unit, self.dag.const(at % 8), 64), size)


def ops_model(code: Object, ops: Object, hook: str) -> Model:
    """Translates a hook of the object that is loaded, for any state of which the invariants hold.

    `code` is the object of the same header's events, which has its statements.

    Raises:
        UntranslatableError: the bytecode has something unknown.
    """
    dag = Dag()
    socket = _Socket(dag, code, ops, hook)
    shape = socket.shape
    limits = {field.name: field for field in shape.fields}
    context: dict[int, Value] = {0: Pointer(_SOCKET, 0)}
    what = dag.input("what", limits["what"].lo, limits["what"].hi)
    acked = dag.input("a.acked", limits["a.acked"].lo, limits["a.acked"].hi)
    if hook in ("set_state", "cwnd_event"):
        context[8] = what
    elif hook == "cong_avoid":
        context |= {8: dag.input("ack", 0, _NONE), 16: acked}
    elif hook == "pkts_acked":
        context[8] = Pointer(_SAMPLE, 0)
        acked = socket.field("pkts_acked")
    elif hook == "cong_control":
        context |= {8: dag.input("ack", 0, _NONE), 16: dag.input("flag", 0, _NONE), 24: Pointer(_SAMPLE, 0)}
        acked = socket.field("acked_sacked")
    before, assumed = _event(socket, shape, what, acked)
    if hook != "init":
        assumed = dag.both(assumed, bounded(dag, code, shape, before))
    done = translate(dag, ops.hooks[hook], ops.data, dict(socket.memory), context)
    after = dict(before)
    for name, of in _FIELDS.items():
        if of.startswith("w.") and name in socket.places:
            after[of] = done.read(*socket.places[name])
    after |= {name: done.read(*place) for name, place in socket.state.items()}
    if hook in ("ssthresh", "undo_cwnd"):
        if done.result is None:
            raise UntranslatableError("a hook without a result")
        after["result"] = dag.truncate(done.result, 32)
    kept = invariants_of(dag, code, shape, after)
    most = stated_growth(dag, code, hook, shape, before)
    progress = stated_progress(dag, code, hook, shape, before, after)
    return Model(
        hook, dag, shape, before, after, done.risks, done.branches, assumed, done.steps, kept, most, progress
    )


def _event(socket: _Socket, shape: Layout, what: Node, acked: Node) -> tuple[dict[str, Node], Node]:
    """The event that the shim makes of the socket, and the ranges that are no field's alone."""
    dag = socket.dag
    event = {field.name: dag.input(f"other.{field.name}", field.lo, field.hi) for field in shape.fields}
    event |= {of: socket.field(name) for name, of in _FIELDS.items() if name in socket.places}
    event |= {name: read(dag, socket.memory, *place) for name, place in socket.state.items()}
    least = socket.field("rtt_min.s0.v")
    none = dag.equal(least, dag.const(_NONE))
    cwnd, ssthresh = event["w.cwnd"], event["w.ssthresh"]
    limited = socket.bits("is_cwnd_limited", 1)
    state = socket.bits("icsk_ca_state", 5)
    twice = dag.shl(socket.field("max_packets_out"), dag.const(1), 32)
    starting = dag.both(dag.less(cwnd, ssthresh), dag.less(cwnd, twice))
    away, marked, again = map(socket.field, ("sacked_out", "lost_out", "retrans_out"))
    left = dag.sub(socket.field("packets_out"), dag.add(away, marked, 32), 32)
    event |= {
        "a.in_flight": dag.add(left, again, 32),
        "what": what,
        "a.acked": acked,
        "a.state": state,
        "a.srtt_us": dag.shr(socket.field("srtt_us"), dag.const(3), 64),
        "a.min_rtt_us": dag.ite(none, dag.const(0), least),
        "a.flags": dag.either(dag.equal(limited, dag.const(1)), starting),
    }
    longest = next(field.hi for field in shape.fields if field.name == "a.min_rtt_us")
    assumed = [
        dag.either(none, dag.not_(dag.less(dag.const(longest), least))),
        dag.not_(dag.less(dag.const(4), state)),
        dag.not_(dag.less(event["w.cwnd_clamp"], cwnd)),
        dag.not_(dag.less(event["w.cwnd_clamp"], event["w.prior_cwnd"])),
    ]
    return event, dag.all_of(assumed)
