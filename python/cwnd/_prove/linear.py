"""Questions in linear integers: what they answer with no is proved.

An operation that is not linear becomes an unknown number, of which less is claimed than the bytecode
guarantees, never more. Bounds of such numbers that are proved narrow the claims about those made of them.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable
from types import ModuleType
from typing import Any

from cwnd._common.errors import error
from cwnd._prove.dag import Node, plain, reachable

_BOOLEAN = ("eq", "lt", "not", "both")
#: Products and quotients that a new one is compared with.
_COMPARED = 8
#: Steps of the solver for a bound that may be none.
_BOUND_STEPS = 300_000
#: Told of each question: the solver as it is asked, and its answer. For judges of the solver.
WATCHERS: list[Callable[[Any, str], None]] = []


def load_z3() -> ModuleType:
    """The solver, an extra of the package."""
    try:
        return importlib.import_module("z3")
    except ImportError:
        raise error(
            "", "proving needs the package z3-solver, which is missing; pip install 'cwnd[prove]'"
        ) from None


def check(solver: Any) -> str:
    """`sat`, `unsat` or `unknown`: the one place where a solver is asked."""
    answer = str(solver.check())
    for watcher in WATCHERS:
        watcher(solver, answer)
    return answer


class Linear:
    """A solver that knows the nodes it was asked about. `assumed` holds in all questions.

    With `thorough` it compares products and quotients with each other, and proves bounds of them first.
    """

    def __init__(self, rlimit: int, assumed: Node, thorough: bool = True) -> None:
        self.thorough = thorough
        self.z3 = load_z3()
        self.solver = self.z3.SolverFor("QF_LIA")
        self.rlimit = rlimit
        self.numbers: dict[int, Any] = {}
        self.truths: dict[int, Any] = {}
        #: Condition for the interval of a node to be right: the paths that it was made on are taken.
        self.right: dict[int, Any] = {}
        #: Bounds that were proved, by node: narrower than its interval.
        self.proved: dict[int, int] = {}
        #: Constants that each node is multiplied by somewhere, by the id of the plain node.
        self.factors: dict[int, set[int]] = {}
        self.products: list[tuple[tuple[Node, ...], Any]] = []
        self.quotients: list[tuple[Node, Any]] = []
        self.know([assumed])
        self.solver.add(self.truths[assumed.id])

    def know(self, nodes: Iterable[Node]) -> None:
        new = [node for node in reachable(nodes) if node.id not in self.right]
        for node in new:
            if node.op in ("shl", "mul") and node.args[1].is_const:
                by = 1 << node.args[1].lo if node.op == "shl" else node.args[1].lo
                self.factors.setdefault(plain(node.args[0]).id, {1}).add(by)
        for node in new:
            self.define(node)

    def refutes(self, conditions: Iterable[Node]) -> bool:
        """No event makes all of them true."""
        wanted = list(conditions)
        self.know(wanted)
        return self.impossible(*(self.truths[node.id] for node in wanted))

    def impossible(self, *claims: Any, steps: int = 0) -> bool:
        self.solver.push()
        self.solver.set("rlimit", steps or self.rlimit)
        self.solver.add(*claims)
        found = check(self.solver) == "unsat"
        self.solver.pop()
        return found

    def most(self, node: Node) -> int:
        """The largest value, as far as it is proved."""
        return min(node.hi, self.proved.get(node.id, node.hi))

    def define(self, node: Node) -> None:
        z3 = self.z3
        args = [self.right[arg.id] for arg in node.args if self.right[arg.id] is not True]
        right: Any = True if not args else args[0] if len(args) == 1 else z3.And(args)
        if node.op == "ite":
            yes, no = self.right[node.args[1].id], self.right[node.args[2].id]
            if yes is not True or no is not True:
                chosen = z3.If(self.truths[node.args[0].id], yes, no)
                condition = self.right[node.args[0].id]
                right = chosen if condition is True else z3.And(condition, chosen)
        if node.op == "both" and right is not True:
            # One side that is false is enough, whatever the other one is.
            sides = [(self.right[arg.id], self.truths[arg.id]) for arg in node.args]
            no = [z3.Not(truth) if side is True else z3.And(side, z3.Not(truth)) for side, truth in sides]
            right = z3.Or(right, *no)
        if node.op == "refine":
            number = self.numbers[node.args[0].id]
            inside = z3.And(number >= node.lo, number <= node.hi)
            right = inside if right is True else z3.And(right, inside)
        self.right[node.id] = right
        if node.op in _BOOLEAN:
            truth = self.truth(node)
            self.truths[node.id] = truth
            self.numbers[node.id] = z3.If(truth, 1, 0)
            return
        number = self.number(node)
        self.numbers[node.id] = number
        self.truths[node.id] = number != 0 if node.op != "const" else z3.BoolVal(node.lo != 0)
        if node.op in ("ite", "add", "refine", "shl") and not node.in_loop:
            # The sum of its parts' bounds, where these are proved.
            inner = [self.most(arg) for arg in node.args[node.op == "ite" :]]
            bound = (
                sum(inner)
                if node.op == "add"
                else inner[0] << node.args[1].hi
                if node.op == "shl"
                else max(inner)
            )
            if bound < node.hi and (node.op != "shl" or node.args[1].is_const):
                self.proved[node.id] = bound

    def truth(self, node: Node) -> Any:
        z3 = self.z3
        if node.op == "not":
            return z3.Not(self.truths[node.args[0].id])
        if node.op == "both":
            return z3.And([self.truths[arg.id] for arg in node.args])
        a, b = (self.numbers[arg.id] for arg in node.args)
        return a == b if node.op == "eq" else a < b

    def unknown(self, node: Node, *claims: Any) -> Any:
        """A number within the interval of the node, of which the claims hold."""
        z3 = self.z3
        number = z3.Int(f"n{node.id}")
        held = z3.And(number >= node.lo, number <= node.hi, *claims)
        right = self.right[node.id]
        self.solver.add(held if right is True else z3.Implies(right, held))
        return number

    def number(self, node: Node) -> Any:
        z3 = self.z3
        if node.op == "const":
            return z3.IntVal(node.lo)
        if node.op == "in":
            return self.unknown(node)
        if node.op == "refine":
            return self.numbers[node.args[0].id]
        if node.in_loop:
            return self.unknown(node)
        args = [self.numbers[arg.id] for arg in node.args]
        if node.op == "ite":
            return z3.If(self.truths[node.args[0].id], args[1], args[2])
        a, b = args
        first, second = node.args
        whole = 1 << node.width
        match node.op:
            case "add":
                if self.most(first) + self.most(second) < whole:
                    return a + b
                return z3.If(a + b >= whole, a + b - whole, a + b)
            case "sub":
                return a - b if first.lo >= second.hi else z3.If(a >= b, a - b, a - b + whole)
            case "mul":
                return self.product(node, a, b)
            case "div":
                return self.quotient(node, a, b)
            case "mod":
                return self.rest(node, a, b)
            case "and":
                return self.masked(node, a, b)
            case "or":
                if first.op == "shl" and first.args[1].is_const and second.hi < 1 << first.args[1].lo:
                    return a + b
                if second.op == "shl" and second.args[1].is_const and first.hi < 1 << second.args[1].lo:
                    return a + b
                number = z3.Int(f"n{node.id}")
                return self.unknown(node, number >= a, number >= b, number <= a + b)
            case "xor":
                if second.is_const and second.lo & (second.lo + 1) == 0 and first.hi <= second.lo:
                    return second.lo - a
                return self.unknown(node, z3.Int(f"n{node.id}") <= a + b)
            case "shl":
                if second.is_const:
                    factor = 1 << second.lo
                    if self.most(first) * factor < whole:
                        return a * factor
                    return (a % (whole // factor)) * factor
                number = z3.Int(f"n{node.id}")
                fits = second.hi < node.width and first.hi << second.hi < whole
                return self.unknown(node, *([number >= a] if fits else []))
            case "shr":
                if second.is_const:
                    return a / (1 << second.lo)
                return self.unknown(node, z3.Int(f"n{node.id}") <= a)
        return self.unknown(node)

    def tightened(self, node: Node) -> int:
        """The largest value, if it can be proved one of a few powers of two."""
        if node.id not in self.proved and not node.is_const:
            self.proved[node.id] = node.hi
            right = self.right[node.id]
            for bits in (63, 48, 40, 32, 31, 24, 16):
                wrong = self.numbers[node.id] > 1 << bits
                if 1 << bits < self.proved[node.id]:
                    if not self.impossible(wrong, *([] if right is True else [right]), steps=_BOUND_STEPS):
                        break
                    self.proved[node.id] = 1 << bits
        return self.most(node)

    def product(self, node: Node, a: Any, b: Any) -> Any:
        z3 = self.z3
        x, y = node.args
        whole, xs, ys = 1 << node.width, self.most(x), self.most(y)
        if xs * ys >= whole and self.thorough:
            xs, ys = self.tightened(x), self.tightened(y)
        if y.is_const:
            return a * y.lo if xs * y.lo < whole else (a * y.lo) % whole
        number = z3.Int(f"n{node.id}")
        claims = []
        exact = xs * ys < whole
        if exact:
            self.proved[node.id] = min(self.most(node), xs * ys)
            claims = [
                number >= x.lo * b + y.lo * a - x.lo * y.lo,
                number >= xs * b + ys * a - xs * ys,
                number <= xs * b + y.lo * a - xs * y.lo,
                number <= x.lo * b + ys * a - x.lo * ys,
                z3.Implies(b >= 1, number >= a),
                z3.Implies(a >= 1, number >= b),
                *(self.compared(node.args, number) if self.thorough else []),
                *(self.distributed(node, number) if self.thorough else []),
            ]
        for factor, divisor in (node.args, node.args[::-1]):
            quotient = plain(factor)
            if quotient.op == "div" and plain(quotient.args[1]) is plain(divisor):
                dividend, by = self.numbers[quotient.args[0].id], self.numbers[divisor.id]
                claims += [number <= dividend, z3.Implies(by >= 1, number > dividend - by)]
        made = self.unknown(node, *claims)
        if exact:
            self.products.append((node.args, made))
        return made

    def compared(self, factors: tuple[Node, ...], number: Any) -> list[Any]:
        """The order of products is that of their factors."""
        z3 = self.z3
        claims = []
        x, y = (self.numbers[factor.id] for factor in factors)
        for others, product in self.products[-_COMPARED:]:
            holds = []
            u, v = (self.numbers[factor.id] for factor in others)
            for s, t in ((u, v), (v, u)):
                holds += [
                    z3.Implies(z3.And(x >= s, y >= t), number >= product),
                    z3.Implies(z3.And(x <= s, y <= t), number <= product),
                ]
            for shared, mine in (factors, factors[::-1]):
                for also, theirs in (others, others[::-1]):
                    if plain(shared) is plain(also):
                        s, t = self.numbers[mine.id], self.numbers[theirs.id]
                        by = self.numbers[shared.id]
                        holds += [
                            z3.Implies(s >= t + 1, number >= product + by),
                            z3.Implies(s + 1 <= t, number + by <= product),
                        ]
            rights = [self.right[other.id] for other in others if self.right[other.id] is not True]
            claims += [z3.Implies(z3.And(rights), z3.And(holds))] if rights else holds
        return claims

    def distributed(self, node: Node, number: Any) -> list[Any]:
        """(p + q) y = p y + q y"""
        for factor, other in (node.args, node.args[::-1]):
            if plain(factor).op in ("add", "ite"):
                return [number == self.expanded(factor, other)]
        return []

    def expanded(self, factor: Node, other: Node) -> Any:
        """The product of a sum, or of a choice, as those of its parts."""
        of = plain(factor)
        if of.op == "add" and self.most(of.args[0]) + self.most(of.args[1]) < 1 << of.width:
            return sum(self.part(part, other) for part in of.args)
        if of.op == "ite":
            yes, no = (self.expanded(arm, other) for arm in of.args[1:])
            return self.z3.If(self.truths[of.args[0].id], yes, no)
        return self.part(of, other)

    def part(self, x: Node, y: Node) -> Any:
        """The product of two numbers, of which there may be no node."""
        if x.is_const or y.is_const:
            return self.numbers[x.id] * self.numbers[y.id]
        for others, product in self.products:
            if {plain(x).id, plain(y).id} == {plain(other).id for other in others}:
                return product
        number = self.z3.Int(f"p{x.id}_{y.id}")
        a, b = self.numbers[x.id], self.numbers[y.id]
        held = [number >= 0, number <= self.most(x) * b, number <= self.most(y) * a]
        held += self.compared((x, y), number)
        rights = [self.right[arg.id] for arg in (x, y) if self.right[arg.id] is not True]
        self.solver.add(
            self.z3.Implies(self.z3.And(rights), self.z3.And(held)) if rights else self.z3.And(held)
        )
        self.products.append(((x, y), number))
        return number

    def quotient(self, node: Node, a: Any, b: Any) -> Any:
        z3 = self.z3
        x, y = node.args
        if y.is_const:
            if y.lo:
                self.proved[node.id] = min(node.hi, self.most(x) // y.lo)
            return a / y.lo if y.lo else z3.IntVal(0)
        number = z3.Int(f"n{node.id}")
        claims = [
            number <= a,
            z3.Implies(b > a, number == 0),
            z3.Implies(z3.And(b >= 1, b <= a), number >= 1),
            z3.Implies(a < 2 * b, number <= 1),
            *(z3.Implies(b >= least, number * least <= a) for least in (2, 4, 16)),
            # q y <= a, so that (q - 1) y <= a - y
            *(z3.Implies(z3.And(b >= k, number >= 1), (number - 1) * k <= a - b) for k in (1, 2)),
        ]
        scale, scaled = self.scaled(x)
        if scale > 1:
            # s u / y <= u where y >= s
            u = self.numbers[scaled.id]
            claims += [z3.Implies(b >= scale, number <= u)]
        factors = sorted(self.factors.get(plain(y).id, {1}))[:8]
        bounds = sorted({scale * k for k in factors} | set(factors) | {2})
        for k in bounds:
            claims += [
                z3.Implies(z3.And(b >= 1, a <= k * b), number <= k),
                z3.Implies(z3.And(b >= 1, a >= k * b), number >= k),
                z3.Implies(a < k * b, number < k),
            ]
        for product, rest in self.summands(x):
            if rest is not None:
                # (A + r) / y <= A where r < y
                claims.append(z3.Implies(self.numbers[rest.id] < b, number <= self.numbers[product.id]))
            claims += self.shares(product, rest, b, number, factors)
        for others, known in self.products[-_COMPARED:] if self.thorough else []:
            for shared, factor in (others, others[::-1]):
                if plain(shared) is plain(y):
                    u = self.numbers[factor.id]
                    holds = [z3.Implies(a >= known, number >= u), z3.Implies(a < known, number < u)]
                    holds.append(z3.Implies(a <= known, number <= u))
                    rights = [self.right[of.id] for of in others if self.right[of.id] is not True]
                    claims += [z3.Implies(z3.And(b >= 1, *rights), z3.And(holds))]
        for other, known in self.quotients[-_COMPARED:]:
            (c, d), right = (self.numbers[arg.id] for arg in other.args), self.right[other.id]
            holds = [
                z3.Implies(z3.And(b >= 1, a >= c, b <= d), number >= known),
                z3.Implies(z3.And(d >= 1, a <= c, b >= d), number <= known),
            ]
            claims += holds if right is True else [z3.Implies(right, z3.And(holds))]
        made = self.unknown(node, *claims)
        if self.thorough:
            self.quotients.append((node, made))
            self.bound(node, made, bounds)
        return made

    def scaled(self, x: Node) -> tuple[int, Node]:
        """A constant and a number of which the node is the product, without a wrap."""
        of = plain(x)
        if of.op in ("shl", "mul") and of.args[1].is_const:
            by = 1 << of.args[1].lo if of.op == "shl" else of.args[1].lo
            if self.most(of.args[0]) * by < 1 << of.width:
                return by, plain(of.args[0])
        return 1, of

    def summands(self, x: Node) -> list[tuple[Node, Node | None]]:
        """The node as a number, and one that is added to it without a wrap."""
        x = plain(x)
        if x.op == "add" and self.most(x.args[0]) + self.most(x.args[1]) < 1 << x.width:
            return [(x.args[0], x.args[1]), (x.args[1], x.args[0])]
        return [(x, None)]

    def shares(self, product: Node, rest: Node | None, b: Any, number: Any, factors: list[int]) -> list[Any]:
        """(u v + r) / y <= k u where v <= k y and r < y."""
        z3 = self.z3
        scale, product = self.scaled(product)
        if (
            product.op != "mul"
            or self.most(product.args[0]) * self.most(product.args[1]) >= 1 << product.width
        ):
            return []
        small = z3.BoolVal(True) if rest is None else self.numbers[rest.id] < b
        claims = []
        for factor, other in (product.args, product.args[::-1]):
            u, v = self.numbers[factor.id], self.numbers[other.id]
            for k in sorted({k * scale for k in factors} | {scale}):
                claims += [
                    z3.Implies(z3.And(small, b >= 1, scale * v <= k * b), number <= k * u),
                    z3.Implies(z3.And(b >= 1, scale * v >= k * b), number >= k * u),
                ]
        return claims

    def bound(self, node: Node, number: Any, candidates: list[int]) -> None:
        """Proves the smallest of these bounds that can be proved quickly."""
        right = self.right[node.id]
        for candidate in candidates:
            if candidate >= node.hi or candidate < 2:
                continue
            if self.impossible(number > candidate, *([] if right is True else [right]), steps=_BOUND_STEPS):
                self.proved[node.id] = candidate
                return

    def rest(self, node: Node, a: Any, b: Any) -> Any:
        z3 = self.z3
        y = node.args[1]
        if y.is_const:
            return a % y.lo if y.lo else a
        number = z3.Int(f"n{node.id}")
        return self.unknown(node, number <= a, z3.Implies(b >= 1, number < b), z3.Implies(b > a, number == a))

    def masked(self, node: Node, a: Any, b: Any) -> Any:
        z3 = self.z3
        mask = node.args[1]
        if mask.is_const and mask.lo:
            low = (mask.lo & -mask.lo).bit_length() - 1
            run = mask.lo >> low
            if run & (run + 1) == 0:
                moved = (a / (1 << low)) % (run + 1)
                return moved * (1 << low)
        number = z3.Int(f"n{node.id}")
        return self.unknown(node, number <= a, number <= b)
