"""A hook's bytecode as expressions: each step once for all paths, which are joined where they meet.

Loops are followed as often as their counters say, which have to be constants. At each step that the questions
are about, the condition of its path and what would be wrong there are kept.
"""

from __future__ import annotations

import heapq
from typing import NamedTuple

from cwnd._prove.dag import Dag, Node, plain
from cwnd._prove.elf import Step
from cwnd._prove.memory import Cell, UntranslatableError, read, write

_STEPS_MAX = 200_000
_TABLE_MAX = 256
_ALU, _ALU64, _JMP, _JMP32 = 4, 7, 5, 6
_LOAD_SIZES = {0x00: 4, 0x08: 2, 0x10: 1, 0x18: 8}
_STACK, _CONTEXT, _OFFSET = "stack", "context", "offset"
#: CO-RE: the offset of a field in a struct. All that a program has of it is added to an address.
_FIELD_OFFSET = 0
#: Regions that a program may write to: its data, and the kernel's structs.
_WRITABLE = (".data", "sk")


class Pointer(NamedTuple):
    """An address: a section and an offset, and a variable part of it."""

    region: str
    offset: int
    by: Node | None = None


class Choice(NamedTuple):
    """An address that depends on a condition."""

    condition: Node
    yes: Pointer | Choice
    no: Pointer | Choice


Address = Pointer | Choice
Value = Node | Pointer | Choice


class Risk(NamedTuple):
    """A step that is wrong if `path` and `wrong` hold; `made` is its result.

    `kind`: division, shift, product or sum.
    """

    kind: str
    path: Node
    wrong: Node
    line: str
    in_loop: bool
    made: Node


class Branch(NamedTuple):
    """A jump that depends on data: `taken` decides it where all conditions of `path` hold."""

    step: int
    path: tuple[Node, ...]
    taken: Node


class _Paths:
    """The state of all paths that have come to a step."""

    __slots__ = ("memory", "path", "pointers", "registers")

    def __init__(
        self,
        path: tuple[Node, ...],
        registers: dict[int, Value],
        memory: dict[tuple[str, int], Cell],
        pointers: dict[int, Address],
    ) -> None:
        self.path = path
        self.registers = registers
        self.memory = memory
        self.pointers = pointers

    def copy(self) -> _Paths:
        return _Paths(self.path, dict(self.registers), dict(self.memory), dict(self.pointers))


class Hook(NamedTuple):
    """A hook: the memory after it by section and offset, its risks and its branches."""

    memory: dict[tuple[str, int], Cell]
    risks: list[Risk]
    branches: list[Branch]
    steps: int
    dag: Dag
    accesses: set[tuple[str, int, int]]
    result: Node | None

    def read(self, region: str, offset: int, size: int) -> Node:
        return read(self.dag, self.memory, region, offset, size)


class _Translator:
    def __init__(
        self,
        dag: Dag,
        steps: dict[int, Step],
        data: dict[str, bytes],
        memory: dict[tuple[str, int], Cell],
        context: dict[int, Value] | None,
    ) -> None:
        self.dag = dag
        self.steps = steps
        self.data = data
        self.accesses: set[tuple[str, int, int]] = set()
        self.risks: list[Risk] = []
        self.branches: list[Branch] = []
        self.order = _order(self.steps)
        self.loops = [
            range(pc + step.off + 1, pc + 1)
            for pc, step in self.steps.items()
            if step.code & 7 in (_JMP, _JMP32)
            and pc in self.order
            and self.order.get(pc + step.off + 1, pc) <= self.order[pc]
            and step.code >> 4 not in (0x8, 0x9)
        ]
        self.loop_steps = {pc for loop in self.loops for pc in loop}
        self.waiting: dict[int, _Paths] = {}
        self.queue: list[tuple[int, int]] = []
        self.ended: _Paths | None = None
        self.context = context or {}
        argument = dag.const(0) if context is None else Pointer(_CONTEXT, 0)
        start = _Paths((), {10: Pointer(_STACK, 0), 1: argument}, memory, {})
        self.push(0, start)

    def push(self, pc: int, paths: _Paths) -> None:
        if pc not in self.steps:
            raise UntranslatableError("a jump beyond the code")
        known = self.waiting.get(pc)
        if known is not None:
            self.join(known, paths)
            return
        self.waiting[pc] = paths
        heapq.heappush(self.queue, (self.order[pc], pc))

    def join(self, into: _Paths, other: _Paths) -> None:
        """Makes the two one. A register with an address here and a number there has no value any more."""
        pairs: dict[int, tuple[Value, Value]] = {}
        for number in into.registers.keys() & other.registers.keys():
            a, b = into.registers[number], other.registers[number]
            if isinstance(a, Node) == isinstance(b, Node):
                pairs[number] = (a, b)
        common = 0
        while common < min(len(into.path), len(other.path)) and into.path[common] is other.path[common]:
            common += 1
        dag = self.dag
        here, there = dag.all_of(into.path[common:]), dag.all_of(other.path[common:])
        either = dag.either(here, there)
        into.path = into.path[:common] if either.is_const else (*into.path[:common], either)
        into.registers = {number: self.chosen(here, a, b) for number, (a, b) in pairs.items()}
        into.pointers = {
            at: _address(here, a, other.pointers[at])
            for at, a in into.pointers.items()
            if at in other.pointers
        }
        self.join_memory(here, into, other)

    def chosen(self, here: Node, a: Value, b: Value) -> Value:
        if isinstance(a, Node):
            assert isinstance(b, Node)
            return self.dag.ite(here, a, b)
        assert not isinstance(b, Node)
        return _address(here, a, b)

    def join_memory(self, here: Node, into: _Paths, other: _Paths) -> None:
        old, new = into.memory, other.memory
        joined: dict[tuple[str, int], Cell] = {}
        for key, cell in old.items():
            if key in joined or key not in new:
                continue
            if cell == new[key]:
                joined[key] = cell
                continue
            region, offset = key
            length = 1
            while (
                length < 8
                and self.goes_on(old, region, offset, length)
                and self.goes_on(new, region, offset, length)
            ):
                length += 1
            node = self.dag.ite(
                here, read(self.dag, old, region, offset, length), read(self.dag, new, region, offset, length)
            )
            write(joined, region, offset, length, node)
        into.memory = joined

    @staticmethod
    def goes_on(memory: dict[tuple[str, int], Cell], region: str, offset: int, length: int) -> bool:
        first, cell = memory[region, offset], memory.get((region, offset + length))
        return cell == Cell(first.node, first.at + length, first.size)

    def run(self) -> Hook:
        done = 0
        while self.queue:
            _, pc = heapq.heappop(self.queue)
            done += 1
            if done > _STEPS_MAX:
                raise UntranslatableError("a loop whose end depends on data")
            self.dag.in_loop = pc in self.loop_steps
            self.step(pc, self.steps[pc], self.waiting.pop(pc))
        self.dag.in_loop = False
        if self.ended is None:
            raise UntranslatableError("code without an end")
        result = self.ended.registers.get(0)
        return Hook(
            self.ended.memory,
            self.risks,
            self.branches,
            done,
            self.dag,
            self.accesses,
            result if isinstance(result, Node) else None,
        )

    def step(self, pc: int, step: Step, paths: _Paths) -> None:
        kind = step.code & 7
        if kind in (_ALU, _ALU64):
            paths.registers[step.dst] = self.alu(pc, step, paths)
            if step.relocated is not None and step.relocated[1] == _FIELD_OFFSET:
                paths.registers[step.dst] = self.placed(step, paths)
            self.push(pc + 1, paths)
        elif step.code == 0x18:
            paths.registers[step.dst] = Pointer(*step.place) if step.place else self.dag.const(step.imm)
            self.push(pc + 2, paths)
        elif kind in (_JMP, _JMP32):
            self.jump(pc, step, paths)
        elif kind in (1, 2, 3) and step.code & 0xE0 == 0x60:
            self.access(step, kind, paths)
            self.push(pc + 1, paths)
        else:
            raise UntranslatableError(f"the instruction {step.code:#x}")

    def operand(self, step: Step, paths: _Paths, width: int) -> Value:
        if step.code & 8:
            value = self.register(paths, step.src)
            return value if not isinstance(value, Node) or width == 64 else self.dag.truncate(value, 32)
        return self.dag.const(step.imm & ((1 << width) - 1))

    @staticmethod
    def register(paths: _Paths, number: int) -> Value:
        if number not in paths.registers:
            raise UntranslatableError(f"a read of r{number}, which nothing was written to")
        return paths.registers[number]

    def alu(self, pc: int, step: Step, paths: _Paths) -> Value:
        dag = self.dag
        width = 64 if step.code & 7 == _ALU64 else 32
        op = step.code >> 4
        b = self.operand(step, paths, width)
        if op == 0xB:
            return b
        a = self.register(paths, step.dst)
        if isinstance(a, Pointer) and isinstance(b, Pointer) and op == 0 and width == 64:
            for base, field in ((a, b), (b, a)):
                if field.region.startswith(f"{_OFFSET}:"):
                    region = base.region + field.region.removeprefix(_OFFSET)
                    return base._replace(region=region, offset=base.offset + field.offset)
        if not isinstance(a, Node) and isinstance(b, Node) and op in (0, 1) and width == 64:
            return _moved(a, b, op == 1)
        if not isinstance(b, Node) and isinstance(a, Node) and op == 0 and width == 64:
            return _moved(b, a, False)
        if not isinstance(a, Node) or not isinstance(b, Node):
            raise UntranslatableError("arithmetic of addresses")
        if width == 32:
            a = dag.truncate(a, 32)
        return self.arithmetic(op, a, b, width, step, paths)

    def placed(self, step: Step, paths: _Paths) -> Value:
        """A register with the offset of a field, or an address to which one was added."""
        made = self.register(paths, step.dst)
        struct = step.relocated[0] if step.relocated else ""
        if isinstance(made, Pointer):
            return made._replace(region=f"{made.region}:{struct}")
        if isinstance(made, Choice) or not made.is_const:
            raise UntranslatableError("an offset of a field that is none")
        return Pointer(f"{_OFFSET}:{struct}", made.lo)

    def arithmetic(self, op: int, a: Node, b: Node, width: int, step: Step, paths: _Paths) -> Node:
        dag = self.dag
        whole = 1 << width
        match op:
            case 0x0:
                made = dag.add(a, b, width)
                if made.op == "add" and a.hi + b.hi >= whole and not _cut(a, b, width):
                    if not (a.signed or b.signed):
                        self.risk("sum", dag.less(made, a), step, paths, made)
                    elif not (a.signed and b.signed):
                        # A positive number and one with a sign: never beyond the numbers with a sign.
                        other = b if a.signed else a
                        self.risk("sum", dag.less(dag.const(whole // 2 - 1), other), step, paths, made)
                return made
            case 0x1:
                return dag.sub(a, b, width)
            case 0x2:
                made = dag.mul(a, b, width)
                if (
                    made.op == "mul"
                    and a.hi * b.hi >= whole
                    and not _quotient(a, b)
                    and not _cut(a, b, width)
                ):
                    self.risk("product", self.overflows(a, b, width), step, paths, made)
                return made
            case 0x3 | 0x9:
                if step.off:
                    raise UntranslatableError("a division with a sign")
                self.risk("division", dag.equal(b, dag.const(0)), step, paths, b)
                return dag.div(a, b) if op == 3 else dag.mod(a, b)
            case 0x4:
                return dag.or_(a, b)
            case 0x5:
                return dag.and_(a, b)
            case 0x6 | 0x7 | 0xC:
                self.risk("shift", dag.less(dag.const(width - 1), b), step, paths, b)
                if op == 7:
                    return dag.shr(a, b, width)
                return dag.shl(a, b, width) if op == 6 else dag.sar(a, b, width)
            case 0x8:
                return dag.sub(dag.const(0), a, width)
            case 0xA:
                return dag.xor(a, b)
        raise UntranslatableError(f"the operation {op:#x}")

    def overflows(self, a: Node, b: Node, width: int) -> Node:
        """The product is 2^width or more: a > (2^width - 1) / b."""
        dag = self.dag
        if a.is_const:
            a, b = b, a
        largest = dag.const((1 << width) - 1)
        if b.is_const:
            return dag.less(dag.const(largest.lo // b.lo), a)
        return dag.both(dag.less(dag.div(largest, b), a), dag.not_(dag.equal(b, dag.const(0))))

    def risk(self, kind: str, wrong: Node, step: Step, paths: _Paths, made: Node) -> None:
        if not (wrong.is_const and wrong.lo == 0):
            path = self.dag.all_of(paths.path)
            if not (path.is_const and path.lo == 0):
                self.risks.append(Risk(kind, path, wrong, step.line, self.dag.in_loop, made))

    def access(self, step: Step, kind: int, paths: _Paths) -> None:
        size = _LOAD_SIZES[step.code & 0x18]
        base = self.register(paths, step.src if kind == 1 else step.dst)
        if isinstance(base, Node):
            raise UntranslatableError("an access without an address")
        if step.relocated is not None and isinstance(base, Pointer):
            base = base._replace(region=f"{base.region}:{step.relocated[0]}")
        if kind == 1:
            paths.registers[step.dst] = self.loaded(base, step.off, size, paths)
            return
        value: Value
        if kind == 2:
            value = self.dag.const(step.imm & ((1 << 8 * size) - 1))
        else:
            value = self.register(paths, step.src)
        self.store(base, step.off, size, value, paths, None)

    def loaded(self, base: Address, off: int, size: int, paths: _Paths) -> Value:
        if isinstance(base, Pointer):
            return self.load(base, base.offset + off, size, paths)
        yes, no = (self.loaded(part, off, size, paths) for part in (base.yes, base.no))
        if isinstance(yes, Node) != isinstance(no, Node):
            raise UntranslatableError("a place with an address or a number")
        return self.chosen(base.condition, yes, no)

    def store(
        self, base: Address, off: int, size: int, value: Value, paths: _Paths, only: Node | None
    ) -> None:
        """Writes a number to memory; `only`: where this holds."""
        dag = self.dag
        if isinstance(base, Choice):
            for part, holds in ((base.yes, base.condition), (base.no, dag.not_(base.condition))):
                self.store(part, off, size, value, paths, holds if only is None else dag.both(only, holds))
            return
        offset = base.offset + off
        if base.by is not None:
            raise UntranslatableError("a write to a variable place")
        if not isinstance(value, Node):
            if base.region != _STACK or size != 8 or only is not None:
                raise UntranslatableError("an address in memory")
            paths.pointers[offset] = value
            return
        if base.region == _STACK:
            for at in range(offset - 7, offset + size):
                paths.pointers.pop(at, None)
        elif not base.region.startswith(_WRITABLE):
            raise UntranslatableError(f"a write to {base.region}")
        self.accesses.add((base.region, offset, size))
        if not value.parts:
            value = dag.truncate(value, 8 * size)
        if only is not None:
            value = dag.ite(only, value, read(dag, paths.memory, base.region, offset, size))
        write(paths.memory, base.region, offset, size, value)

    def load(self, base: Pointer, offset: int, size: int, paths: _Paths) -> Value:
        if base.region == _STACK and offset in paths.pointers:
            return paths.pointers[offset]
        if base.region == _CONTEXT and offset in self.context:
            value = self.context[offset]
            return self.dag.truncate(value, 8 * size) if isinstance(value, Node) else value
        if not base.region.startswith(".rodata"):
            if base.by is not None:
                raise UntranslatableError("a read of a variable place")
            self.accesses.add((base.region, offset, size))
            return read(self.dag, paths.memory, base.region, offset, size)
        data = self.data[base.region]
        if base.by is None:
            return self.dag.const(int.from_bytes(data[offset : offset + size], "little"))
        places = [at for at in range(len(data) - size - offset + 1) if base.by.lo <= at <= base.by.hi]
        if base.by.op == "shl":
            places = [at for at in places if at % (1 << base.by.args[1].lo) == 0]
        if not places or len(places) > _TABLE_MAX:
            raise UntranslatableError("a table that is too large")
        made = self.dag.const(0)
        for number, at in enumerate(reversed(places)):
            entry = self.dag.const(int.from_bytes(data[offset + at : offset + at + size], "little"))
            made = self.dag.ite(self.dag.equal(base.by, self.dag.const(at)), entry, made) if number else entry
        return made

    def jump(self, pc: int, step: Step, paths: _Paths) -> None:
        dag, op = self.dag, step.code >> 4
        if op == 0x9:
            if self.ended is None:
                self.ended = paths
            else:
                self.join(self.ended, paths)
            return
        if op == 0x0:
            self.push(pc + 1 + (step.imm if step.code & 7 == _JMP32 else step.off), paths)
            return
        if op == 0x8:
            raise UntranslatableError("a call")
        width = 64 if step.code & 7 == _JMP else 32
        a, b = self.register(paths, step.dst), self.operand(step, paths, width)
        if not isinstance(a, Node) or not isinstance(b, Node):
            raise UntranslatableError("a comparison of addresses")
        known = a
        if width == 32:
            a = dag.truncate(a, 32)
        taken = self.condition(op, a, b, width)
        target = pc + 1 + step.off
        if taken.is_const:
            self.push(target if taken.lo else pc + 1, paths)
            return
        self.branches.append(Branch(pc, paths.path, taken))
        other = paths.copy()
        paths.path = (*paths.path, dag.not_(taken))
        other.path = (*other.path, taken)
        if a is known:
            _learn(dag, op, a, b, other, True)
            _learn(dag, op, a, b, paths, False)
        self.push(pc + 1, paths)
        self.push(target, other)

    def condition(self, op: int, a: Node, b: Node, width: int) -> Node:
        dag = self.dag
        match op:
            case 0x1:
                return dag.equal(a, b)
            case 0x5:
                return dag.not_(dag.equal(a, b))
            case 0x2:
                return dag.less(b, a)
            case 0x3:
                return dag.not_(dag.less(a, b))
            case 0xA:
                return dag.less(a, b)
            case 0xB:
                return dag.not_(dag.less(b, a))
            case 0x4:
                return dag.not_(dag.equal(dag.and_(a, b), dag.const(0)))
            case 0x6:
                return dag.signed_less(b, a, width)
            case 0x7:
                return dag.not_(dag.signed_less(a, b, width))
            case 0xC:
                return dag.signed_less(a, b, width)
            case 0xD:
                return dag.not_(dag.signed_less(b, a, width))
        raise UntranslatableError(f"the comparison {op:#x}")


def _address(here: Node, a: Address, b: Address) -> Address:
    """The one address or the other."""
    return a if a == b else Choice(here, a, b)


def _moved(base: Address, by: Node, back: bool) -> Address:
    """The address `by` bytes further on, or back."""
    if isinstance(base, Choice):
        return Choice(base.condition, _moved(base.yes, by, back), _moved(base.no, by, back))
    if by.is_const:
        offset = by.lo - (1 << 64) if by.lo >> 63 else by.lo
        return base._replace(offset=base.offset + (-offset if back else offset))
    if back or base.by is not None:
        raise UntranslatableError("arithmetic of addresses")
    return base._replace(by=by)


def _quotient(a: Node, b: Node) -> bool:
    """A product of a quotient and its divisor, which is at most the dividend."""
    return any(plain(x).op == "div" and plain(plain(x).args[1]) is plain(y) for x, y in ((a, b), (b, a)))


def _cut(a: Node, b: Node, width: int) -> bool:
    """Arithmetic of 32 bits, meant modulo 2^32: on a number that the source cut to these, or such a count."""
    if width != 32:
        return False
    largest = (1 << 32) - 1
    return any(x.modular or (x.op == "and" and x.args[0].hi > largest and x.hi == largest) for x in (a, b))


def _learn(dag: Dag, op: int, a: Node, b: Node, paths: _Paths, taken: bool) -> None:
    """Narrows, in the registers and the memory of a path, what its comparison shows."""
    relation = {0x1: "==", 0x5: "!=", 0x2: ">", 0x3: ">=", 0xA: "<", 0xB: "<="}.get(op)
    if relation is None:
        return
    if not taken:
        relation = {"==": "!=", "!=": "==", ">": "<=", ">=": "<", "<": ">=", "<=": ">"}[relation]
    bounds = {
        "==": (b.lo, b.hi, a.lo, a.hi),
        ">": (b.lo + 1, a.hi, b.lo, a.hi - 1),
        ">=": (b.lo, a.hi, b.lo, a.hi),
        "<": (a.lo, b.hi - 1, a.lo + 1, b.hi),
        "<=": (a.lo, b.hi, a.lo, b.hi),
        "!=": (a.lo + (b.is_const and b.lo == a.lo), a.hi - (b.is_const and b.lo == a.hi), b.lo, b.hi),
    }[relation]
    for node, lo, hi in ((a, bounds[0], bounds[1]), (b, bounds[2], bounds[3])):
        narrowed = dag.refine(node, lo, hi)
        if narrowed is node or node.is_const:
            continue
        for number, value in paths.registers.items():
            if isinstance(value, Node) and plain(value) is plain(node):
                paths.registers[number] = dag.refine(value, lo, hi)
        for key, cell in paths.memory.items():
            if plain(cell.node) is plain(node):
                paths.memory[key] = cell._replace(node=dag.refine(cell.node, lo, hi))


def _order(steps: dict[int, Step]) -> dict[int, int]:
    """A number for each step, smaller than those of the steps that may follow it, but for jumps back."""

    def following(pc: int) -> list[int]:
        step = steps[pc]
        if step.code & 7 not in (_JMP, _JMP32):
            return [pc + (2 if step.code == 0x18 else 1)]
        if step.code >> 4 == 9:
            return []
        if step.code >> 4 == 0:
            return [pc + 1 + (step.imm if step.code & 7 == _JMP32 else step.off)]
        # The end of a loop is looked at first, so that its number is larger than those of the loop.
        jump, straight = pc + 1 + step.off, pc + 1
        return [straight, jump] if jump <= pc else [jump, straight]

    finished: list[int] = []
    seen = {0}
    todo = [(0, iter(following(0)))]
    while todo:
        pc, rest = todo[-1]
        after = next((n for n in rest if n not in seen and n in steps), None)
        if after is None:
            finished.append(pc)
            todo.pop()
        else:
            seen.add(after)
            todo.append((after, iter(following(after))))
    return {pc: number for number, pc in enumerate(reversed(finished))}


def translate(
    dag: Dag,
    steps: dict[int, Step],
    data: dict[str, bytes],
    memory: dict[tuple[str, int], Cell],
    context: dict[int, Value] | None = None,
) -> Hook:
    """Translates a program of an object, from a memory before it.

    `context`: its arguments by offset, if it has any.

    Raises:
        UntranslatableError: the bytecode has something unknown.
    """
    return _Translator(dag, steps, data, memory, context).run()
