"""Questions in linear integers: what they answer with no is proved.

An operation that is not linear becomes an unknown number, of which less is claimed than the bytecode
guarantees, never more.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable
from types import ModuleType
from typing import Any

from cwnd._common.errors import error
from cwnd._prove.dag import Node, reachable

_BOOLEAN = ("eq", "lt", "not", "both")


def load_z3() -> ModuleType:
    """The solver, an extra of the package."""
    try:
        return importlib.import_module("z3")
    except ImportError:
        raise error(
            "", "proving needs the package z3-solver, which is missing; pip install 'cwnd[prove]'"
        ) from None


class Linear:
    """A solver that knows the nodes it was asked about."""

    def __init__(self, rlimit: int) -> None:
        self.z3 = load_z3()
        self.solver = self.z3.SolverFor("QF_LIA")
        self.solver.set("rlimit", rlimit)
        self.numbers: dict[int, Any] = {}
        self.truths: dict[int, Any] = {}
        #: Condition for the interval of a node to be right: the paths that it was made on are taken.
        self.right: dict[int, Any] = {}

    def refutes(self, conditions: Iterable[Node]) -> bool:
        """No event makes all of them true."""
        wanted = list(conditions)
        for node in reachable(wanted):
            if node.id not in self.right:
                self.define(node)
        self.solver.push()
        for node in wanted:
            self.solver.add(self.truths[node.id])
        found = self.solver.check() == self.z3.unsat
        self.solver.pop()
        return bool(found)

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
                return a + b if first.hi + second.hi < whole else z3.If(a + b >= whole, a + b - whole, a + b)
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
                return self.unknown(node, z3.Int(f"n{node.id}") <= a + b)
            case "shl":
                if second.is_const:
                    factor = 1 << second.lo
                    return a * factor if first.hi * factor < whole else (a % (whole // factor)) * factor
                number = z3.Int(f"n{node.id}")
                fits = second.hi < node.width and first.hi << second.hi < whole
                return self.unknown(node, *([number >= a] if fits else []))
            case "shr":
                if second.is_const:
                    return a / (1 << second.lo)
                return self.unknown(node, z3.Int(f"n{node.id}") <= a)
        return self.unknown(node)

    def product(self, node: Node, a: Any, b: Any) -> Any:
        z3 = self.z3
        x, y = node.args
        whole = 1 << node.width
        if y.is_const:
            return a * y.lo if x.hi * y.lo < whole else (a * y.lo) % whole
        number = z3.Int(f"n{node.id}")
        claims = []
        if x.hi * y.hi < whole:
            claims = [
                number >= x.lo * b + y.lo * a - x.lo * y.lo,
                number >= x.hi * b + y.hi * a - x.hi * y.hi,
                number <= x.hi * b + y.lo * a - x.hi * y.lo,
                number <= x.lo * b + y.hi * a - x.lo * y.hi,
                z3.Implies(b >= 1, number >= a),
                z3.Implies(a >= 1, number >= b),
            ]
        for quotient, divisor in (node.args, node.args[::-1]):
            if quotient.op == "div" and quotient.args[1] is divisor:
                dividend, by = self.numbers[quotient.args[0].id], self.numbers[divisor.id]
                claims += [number <= dividend, z3.Implies(by >= 1, number > dividend - by)]
        return self.unknown(node, *claims)

    def quotient(self, node: Node, a: Any, b: Any) -> Any:
        z3 = self.z3
        x, y = node.args
        if y.is_const:
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
        if x.op == "mul" and x.args[0].hi * x.args[1].hi < 1 << x.width:
            for factor, other in (x.args, x.args[::-1]):
                u, v = self.numbers[factor.id], self.numbers[other.id]
                claims += [
                    z3.Implies(v <= b, number <= u),
                    z3.Implies(z3.And(b >= 1, v >= b), number >= u),
                ]
        if x.op == "shl" and x.args[1].is_const and x.args[0].hi << x.args[1].lo < 1 << x.width:
            # (u 2^k) / y <= 2^k where u <= y
            u, most = self.numbers[x.args[0].id], 1 << x.args[1].lo
            claims += [
                z3.Implies(u <= b, number <= most),
                z3.Implies(z3.And(b >= 1, u >= b), number >= most),
            ]
        return self.unknown(node, *claims)

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
