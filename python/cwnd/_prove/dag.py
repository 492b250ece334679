"""Expressions over natural numbers below 2^64, each with the interval that its value lies in.

A node is made once for the same operation on the same nodes. Its interval is found when it is made, and so is
what the interval decides.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

_ONES = (1 << 64) - 1
#: Masks of bit fields are below.
_FIELD = 1 << 31


class Node:
    """A number. `lo` and `hi` bound it; `id` is larger than that of every operand."""

    __slots__ = ("args", "hi", "id", "in_loop", "lo", "modular", "op", "parts", "signed", "value", "width")

    def __init__(
        self, op: str, args: tuple[Node, ...], width: int, value: int | str, lo: int, hi: int, number: int
    ) -> None:
        self.op = op
        self.args = args
        self.width = width
        self.value = value
        self.lo = lo
        self.hi = hi
        self.id = number
        #: It is a step of an unrolled loop, a digit of a root: unknown in linear questions.
        self.in_loop = False
        #: Its value stands for a negative number where it has the highest bit.
        self.signed = False
        #: It counts modulo 2^32, and so do its sums.
        self.modular = False
        #: The nodes that its bytes are made of, with the number of bytes of each.
        self.parts: tuple[tuple[Node, int], ...] = ()

    def __repr__(self) -> str:
        return f"{self.op}{self.id}"

    @property
    def is_const(self) -> bool:
        return self.lo == self.hi


def reachable(roots: Iterable[Node]) -> list[Node]:
    """The nodes that these depend on, with them, operands first."""
    seen: dict[int, Node] = {}
    todo = list(roots)
    while todo:
        node = todo.pop()
        if node.id not in seen:
            seen[node.id] = node
            todo.extend(node.args)
    return [seen[number] for number in sorted(seen)]


def uses(dag: Dag, roots: Iterable[Node], but: Node | None = None) -> dict[int, Node]:
    """The condition under which each node, by its id, has a part in the roots: a choice may leave it out.

    What only the node `but` uses counts as not used.
    """
    wanted = list(roots)
    found: dict[int, Node] = {node.id: dag.const(1) for node in wanted}
    for node in reversed(reachable(wanted)):
        used = found[node.id] if node is not but else dag.const(0)
        parts = [used] * len(node.args)
        if node.op == "ite":
            parts[1:] = dag.both(used, node.args[0]), dag.both(used, dag.not_(node.args[0]))
        # The lowest bits of a sum, as of a bit field, are the same with and without a wrap.
        if (
            node.op == "and"
            and node.args[0].op == "add"
            and node.args[1].is_const
            and node.args[1].lo < _FIELD
        ):
            parts[0] = dag.const(0)
        for arg, part in zip(node.args, parts, strict=True):
            known = found.get(arg.id)
            found[arg.id] = part if known is None else dag.either(known, part)
    return found


def _bits(value: int) -> int:
    return (1 << value.bit_length()) - 1


class Dag:
    """Makes nodes. Operations are modulo 2^width; operands of width 32 are below 2^32."""

    def __init__(self) -> None:
        self._known: dict[tuple[object, ...], Node] = {}
        self._count = 0
        #: Nodes made now are steps of an unrolled loop.
        self.in_loop = False

    def _make(
        self, op: str, args: tuple[Node, ...], width: int, lo: int, hi: int, value: int | str = 0
    ) -> Node:
        if lo == hi and op not in ("const", "in"):
            return self.const(lo)
        key = (op, *(arg.id for arg in args), width, value, lo, hi)
        node = self._known.get(key)
        if node is None:
            node = Node(op, args, width, value, lo, hi, self._count)
            self._count += 1
            node.in_loop = self.in_loop
            if op not in ("sub", "sar"):
                carries = op in ("add", "mul", "ite", "refine", "shl", "or", "xor", "and")
                node.signed = carries and hi >> (width - 1) > 0 and any(arg.signed for arg in args)
            if op in ("add", "sub", "and", "ite", "refine"):
                node.modular = any(arg.modular for arg in args)
            self._known[key] = node
        return node

    def const(self, value: int) -> Node:
        return self._make("const", (), 64, value, value, value)

    def input(self, name: str, lo: int, hi: int, modular: bool = False) -> Node:
        made = self._make("in", (), 64, lo, hi, name)
        made.modular = modular
        return made

    def truncate(self, node: Node, bits: int) -> Node:
        """The lowest bits."""
        return self.and_(node, self.const((1 << bits) - 1))

    def add(self, a: Node, b: Node, width: int) -> Node:
        if a.is_const:
            a, b = b, a
        if b.is_const and b.lo == 0:
            return a
        whole = 1 << width
        if b.is_const and b.lo >> (width - 1):
            return self.sub(a, self.const(whole - b.lo), width)
        lo, hi = a.lo + b.lo, a.hi + b.hi
        if hi >= whole:
            if lo >= whole:
                lo, hi = lo - whole, hi - whole
            else:
                lo, hi = 0, whole - 1
        return self._make("add", (a, b), width, lo, hi)

    def sub(self, a: Node, b: Node, width: int) -> Node:
        whole = 1 << width
        if b.is_const and b.lo == 0:
            return a
        if a is b:
            return self.const(0)
        # a - (a / b) b = a mod b
        if b.op == "mul":
            for quotient, divisor in (b.args, b.args[::-1]):
                if (
                    quotient.op == "div"
                    and plain(quotient.args[0]) is plain(a)
                    and quotient.args[1] is divisor
                ):
                    return self.mod(a, divisor)
        if b.is_const and b.lo == 1 and a.hi <= 1:  # a mask
            return self.ite(a, self.const(0), self.const(whole - 1))
        if a.is_const and a.lo == 0 and b.hi <= 1:
            return self.ite(b, self.const(whole - 1), self.const(0))
        # (x ^ m) - m, m being all ones where x = p - q has a sign: the distance of p and q
        if (
            a.op == "xor"
            and b.op == "ite"
            and b in a.args
            and b.args[1].lo == whole - 1
            and b.args[2].hi == 0
        ):
            distance = a.args[0] if a.args[1] is b else a.args[1]
            if distance.op == "sub":
                p, q = distance.args
                return self.ite(b.args[0], self.sub(q, p, width), distance)
        if b.op == "ite" and all(arm.is_const for arm in b.args[1:]):
            less = [(whole - arm.lo) % whole for arm in b.args[1:]]
            if a.is_const:
                return self.ite(b.args[0], *(self.const((a.lo + part) % whole) for part in less))
            if max(less) < whole // 2 and max(b.args[1].lo, b.args[2].lo) >= whole // 2:
                return self.add(a, self.ite(b.args[0], *map(self.const, less)), width)
        if a.lo >= b.hi:
            return self._make("sub", (a, b), width, a.lo - b.hi, a.hi - b.lo)
        wraps = a.lo < b.hi
        if a.hi < b.lo:
            lo, hi = a.lo - b.hi + whole, a.hi - b.lo + whole
        else:
            lo, hi = 0, whole - 1
        node = self._make("sub", (a, b), width, lo, hi)
        node.signed = wraps
        return node

    def mul(self, a: Node, b: Node, width: int) -> Node:
        if a.is_const and b.is_const:
            return self.const(a.lo * b.lo % (1 << width))
        if a.is_const:
            a, b = b, a
        if b.is_const and b.lo == 1:
            return a
        lo, hi = a.lo * b.lo, a.hi * b.hi
        for quotient, divisor in ((a, b), (b, a)):  # (x / b) b <= x
            if quotient.op == "div" and quotient.args[1] is divisor:
                hi = min(hi, quotient.args[0].hi)
        if hi >= 1 << width:
            lo, hi = 0, (1 << width) - 1
        return self._make("mul", (a, b), width, lo, hi)

    def div(self, a: Node, b: Node) -> Node:
        """The quotient; 0 if b is 0, as BPF has it."""
        if b.is_const and b.lo == 1:
            return a
        hi = a.hi // max(b.lo, 1)
        lo = 0 if b.lo == 0 else a.lo // b.hi
        # (x y) / z <= x max(y) / min(z), and x y / y = x
        if a.op == "mul" and b.lo > 0:
            for first, second in (a.args, a.args[::-1]):
                if first.hi * second.hi < 1 << a.width and second.hi <= b.lo:
                    hi = min(hi, first.hi)
        return self._make("div", (a, b), 64, lo, hi)

    def mod(self, a: Node, b: Node) -> Node:
        """The rest; a if b is 0, as BPF has it."""
        if a.is_const and b.is_const:
            return self.const(a.lo % b.lo if b.lo else a.lo)
        if b.lo > a.hi:
            return a
        return self._make("mod", (a, b), 64, 0, a.hi if b.lo == 0 else min(a.hi, b.hi - 1))

    def and_(self, a: Node, b: Node) -> Node:
        if a.is_const and b.is_const:
            return self.const(a.lo & b.lo)
        if a.is_const:
            a, b = b, a
        if a is b:
            return a
        if a.hi <= 1 and b.hi <= 1:
            return self.both(a, b)
        if b.is_const:
            mask = b.lo
            if mask & (mask + 1) == 0 and a.hi <= mask:
                return a
            if a.op == "and" and a.args[1].is_const:
                return self.and_(a.args[0], self.const(mask & a.args[1].lo))
            if a.op == "ite" and mask & (mask + 1) == 0 and any(arm.hi <= mask for arm in a.args[1:]):
                return self.ite(a.args[0], *(self.and_(arm, b) for arm in a.args[1:]))
        for mask_node, other in ((a, b), (b, a)):
            if mask_node.op == "ite":
                condition, yes, no = mask_node.args
                whole = max(_bits(other.hi), 0)
                if yes.is_const and no.is_const:
                    if yes.lo == 0 and no.lo & whole == whole:
                        return self.ite(condition, yes, other)
                    if no.lo == 0 and yes.lo & whole == whole:
                        return self.ite(condition, other, no)
        return self._make("and", (a, b), 64, 0, min(a.hi, b.hi))

    def _folded(self, operation: Callable[[Node, Node], Node], a: Node, b: Node) -> Node | None:
        """An operation on choices between constants, as such a choice."""
        chosen = next((node for node in (a, b) if node.op == "ite"), None)
        if chosen is None:
            return None
        condition = chosen.args[0]
        parts = []
        for node in (a, b):
            if node.op == "ite" and node.args[0] is condition:
                parts.append(node.args[1:])
            else:
                parts.append((node, node))
        if not all(arm.is_const for part in parts for arm in part):
            return None
        (yes, other_yes), (no, other_no) = zip(*parts, strict=True)
        return self.ite(condition, operation(yes, other_yes), operation(no, other_no))

    def or_(self, a: Node, b: Node) -> Node:
        if a.is_const and b.is_const:
            return self.const(a.lo | b.lo)
        if a.hi <= 1 and b.hi <= 1:
            return self.either(a, b)
        folded = self._folded(self.or_, a, b)
        if folded is not None:
            return folded
        if a.is_const:
            a, b = b, a
        if (b.is_const and b.lo == 0) or a is b:
            return a
        return self._make("or", (a, b), 64, max(a.lo, b.lo), _bits(a.hi | b.hi))

    def xor(self, a: Node, b: Node) -> Node:
        if a.is_const and b.is_const:
            return self.const(a.lo ^ b.lo)
        folded = self._folded(self.xor, a, b)
        if folded is not None:
            return folded
        if a.is_const:
            a, b = b, a
        if a is b:
            return self.const(0)
        if b.is_const and b.lo == 0:
            return a
        if b.is_const and b.lo == 1 and a.hi <= 1:
            return self.not_(a)
        return self._make("xor", (a, b), 64, 0, _bits(a.hi | b.hi))

    def shl(self, a: Node, b: Node, width: int) -> Node:
        """BPF uses the lowest bits of the number of places."""
        if b.is_const:
            places = b.lo & (width - 1)
            if places == 0:
                return a
            if a.is_const:
                return self.const((a.lo << places) % (1 << width))
            if a.hi << places < 1 << width:
                return self._make("shl", (a, self.const(places)), width, a.lo << places, a.hi << places)
            return self._make("shl", (a, self.const(places)), width, 0, (1 << width) - 1)
        hi = a.hi << min(b.hi, 64)
        return self._make("shl", (a, b), width, 0, min(hi, (1 << width) - 1))

    def shr(self, a: Node, b: Node, width: int) -> Node:
        if b.is_const:
            places = b.lo & (width - 1)
            if places == 0:
                return a
            # A number of 32 bits that was moved up and down again.
            if a.op == "shl" and a.args[1].is_const and a.args[1].lo == places and a.width == width:
                return self.truncate(a.args[0], width - places)
            if (
                a.op == "sub"
                and places == a.width - 1
                and a.args[0].hi >> places == 0
                and a.args[1].hi >> places == 0
            ):
                return self.less(a.args[0], a.args[1])
            if a.op == "shr" and a.args[1].is_const and a.args[1].lo + places < width:
                return self.shr(a.args[0], self.const(a.args[1].lo + places), width)
            return self._make("shr", (a, self.const(places)), width, a.lo >> places, a.hi >> places)
        lo = a.lo >> b.hi if b.hi < width else 0
        hi = a.hi >> b.lo if b.hi < width else a.hi
        return self._make("shr", (a, b), width, lo, hi)

    def sar(self, a: Node, b: Node, width: int) -> Node:
        if a.hi >> (width - 1) == 0:
            return self.shr(a, b, width)
        half, whole = 1 << (width - 1), 1 << width
        if a.op == "sub" and b.is_const and b.lo == width - 1 and max(a.args[0].hi, a.args[1].hi) < half:
            return self.ite(self.less(*a.args), self.const(whole - 1), self.const(0))
        node = self._make("sar", (a, b), width, 0, whole - 1)
        node.signed = True
        return node

    def equal(self, a: Node, b: Node) -> Node:
        if a.is_const:
            a, b = b, a
        if plain(a) is plain(b):
            return self.const(1)
        if a.hi < b.lo or b.hi < a.lo:
            return self.const(0)
        if b.is_const and a.hi <= 1:
            return a if b.lo else self.not_(a)
        if b.is_const and b.lo == 0 and a.op == "refine":
            return self.equal(plain(a), b) if plain(a).lo == 0 else self._make("eq", (a, b), 1, 0, 1)
        return self._make("eq", (a, b), 1, 0, 1)

    def less(self, a: Node, b: Node) -> Node:
        if a.hi < b.lo:
            return self.const(1)
        if a.lo >= b.hi or plain(a) is plain(b):
            return self.const(0)
        return self._make("lt", (a, b), 1, 0, 1)

    def signed_less(self, a: Node, b: Node, width: int) -> Node:
        if a.hi >> (width - 1) == 0 and b.hi >> (width - 1) == 0:
            return self.less(a, b)
        half = self.const(1 << (width - 1))
        return self.less(self.xor_top(a, half, width), self.xor_top(b, half, width))

    def xor_top(self, a: Node, half: Node, width: int) -> Node:
        """a + half modulo 2^width, which orders numbers with a sign."""
        if a.hi < half.lo:
            return self._make("add", (a, half), width, a.lo + half.lo, a.hi + half.lo)
        if a.lo >= half.lo:
            return self._make("sub", (a, half), width, a.lo - half.lo, a.hi - half.lo)
        return self._make("add", (a, half), width, 0, (1 << width) - 1)

    def not_(self, a: Node) -> Node:
        if a.is_const:
            return self.const(0 if a.lo else 1)
        return a.args[0] if a.op == "not" else self._make("not", (a,), 1, 0, 1)

    def both(self, a: Node, b: Node) -> Node:
        if a.is_const:
            return b if a.lo else a
        if b.is_const:
            return a if b.lo else b
        if a is b:
            return a
        if a is self.not_(b):
            return self.const(0)
        return self._make("both", (a, b) if a.id < b.id else (b, a), 1, 0, 1)

    def either(self, a: Node, b: Node) -> Node:
        return self.not_(self.both(self.not_(a), self.not_(b)))

    def all_of(self, conditions: Iterable[Node]) -> Node:
        found = self.const(1)
        for condition in conditions:
            found = self.both(found, condition)
        return found

    def ite(self, condition: Node, yes: Node, no: Node) -> Node:
        if condition.is_const:
            return yes if condition.lo else no
        if yes is no:
            return yes
        if condition.op == "not":
            return self.ite(condition.args[0], no, yes)
        if yes.is_const and no.is_const and yes.hi <= 1 and no.hi <= 1:
            return condition if yes.lo else self.not_(condition)
        yes, no = self._compared(condition, yes, no)
        lo, hi = min(yes.lo, no.lo), max(yes.hi, no.hi)
        if plain(yes) is plain(no):
            return self.refine(plain(yes), lo, hi)
        return self._make("ite", (condition, yes, no), 64, lo, hi)

    def _compared(self, condition: Node, yes: Node, no: Node) -> tuple[Node, Node]:
        """The sides of a choice between the two numbers that its condition compares."""
        if condition.op != "lt":
            return yes, no
        a, b = condition.args
        most = (1 << 64) - 1
        if _difference(yes, b, a):
            yes = self.refine(yes, 1, b.hi - a.lo)
        if _difference(no, a, b):
            no = self.refine(no, 0, a.hi - b.lo)
        if plain(yes) is plain(a):
            yes = self.refine(yes, 0, b.hi - 1)
        elif plain(yes) is plain(b):
            yes = self.refine(yes, a.lo + 1, most)
        if plain(no) is plain(a):
            no = self.refine(no, b.lo, most)
        elif plain(no) is plain(b):
            no = self.refine(no, 0, a.hi)
        return yes, no

    def refine(self, a: Node, lo: int, hi: int) -> Node:
        """Narrows the interval of a number by the condition of a path."""
        lo, hi = max(lo, a.lo), min(hi, a.hi)
        if lo > hi or (lo, hi) == (a.lo, a.hi):
            return a
        return self._make("refine", (plain(a),), 64, lo, hi)

    def join(self, parts: Iterator[tuple[Node, int]]) -> Node:
        """The number whose bytes are those of the parts, lowest first."""
        known = tuple(parts)
        if len(known) == 1:
            return known[0][0]
        node, at = self.const(0), 0
        for part, size in known:
            node = self.or_(self.shl(part, self.const(8 * at), 64), node) if at else part
            at += size
        node.parts = known
        return node


def _difference(node: Node, a: Node, b: Node) -> bool:
    """The node is a - b."""
    found = plain(node)
    return found.op == "sub" and plain(found.args[0]) is plain(a) and plain(found.args[1]) is plain(b)


def plain(node: Node) -> Node:
    """The number without what a path knows of it."""
    return node.args[0] if node.op == "refine" else node
