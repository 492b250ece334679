"""Questions in numbers of 64 bits, exactly as the bytecode computes: for counterexamples."""

from __future__ import annotations

from collections.abc import Iterable
from types import ModuleType
from typing import Any

from cwnd._prove.dag import Node, reachable
from cwnd._prove.linear import check, load_z3

_BOOLEAN = ("eq", "lt", "not", "both")


def solve(conditions: Iterable[Node], rlimit: int) -> tuple[str, dict[str, int]]:
    """`sat` with the inputs that make all conditions true, `unsat`, or `unknown`."""
    z3 = load_z3()
    wanted = list(conditions)
    solver = z3.SolverFor("QF_BV")
    solver.set("rlimit", rlimit)
    made: dict[int, Any] = {}
    inputs: dict[str, Any] = {}

    def number(node: Node) -> Any:
        found = made[node.id]
        return z3.If(found, z3.BitVecVal(1, 64), z3.BitVecVal(0, 64)) if node.op in _BOOLEAN else found

    def truth(node: Node) -> Any:
        found = made[node.id]
        return found if node.op in _BOOLEAN else found != z3.BitVecVal(0, 64)

    for node in reachable(wanted):
        if node.op == "const":
            made[node.id] = z3.BitVecVal(node.lo, 64)
        elif node.op == "in":
            variable = z3.BitVec(str(node.value), 64)
            solver.add(z3.UGE(variable, node.lo), z3.ULE(variable, node.hi))
            inputs[str(node.value)] = made[node.id] = variable
        elif node.op == "refine":
            made[node.id] = number(node.args[0])
        elif node.op == "not":
            made[node.id] = z3.Not(truth(node.args[0]))
        elif node.op == "both":
            made[node.id] = z3.And([truth(arg) for arg in node.args])
        elif node.op == "ite":
            made[node.id] = z3.If(truth(node.args[0]), number(node.args[1]), number(node.args[2]))
        else:
            made[node.id] = _operation(z3, node, *(number(arg) for arg in node.args))
    for node in wanted:
        solver.add(truth(node))
    answer = check(solver)
    if answer != "sat":
        return answer, {}
    found = solver.model()
    return answer, {
        name: found.eval(variable, model_completion=True).as_long() for name, variable in inputs.items()
    }


def _operation(z3: ModuleType, node: Node, a: Any, b: Any) -> Any:
    zero, mask = z3.BitVecVal(0, 64), z3.BitVecVal((1 << node.width) - 1, 64)
    places = b & z3.BitVecVal(node.width - 1, 64)
    made: Any
    match node.op:
        case "add":
            made = (a + b) & mask
        case "sub":
            made = (a - b) & mask
        case "mul":
            made = a * b & mask
        case "div":
            made = z3.If(b == zero, zero, z3.UDiv(a, b))
        case "mod":
            made = z3.If(b == zero, a, z3.URem(a, b))
        case "and":
            made = a & b
        case "or":
            made = a | b
        case "xor":
            made = a ^ b
        case "shl":
            made = a << places & mask
        case "shr":
            made = z3.LShR(a, places)
        case "sar":
            up = z3.BitVecVal(64 - node.width, 64)
            made = z3.LShR(((a << up) >> places), up) & mask
        case "eq":
            made = a == b
        case "lt":
            made = z3.ULT(a, b)
        case _:
            raise AssertionError(node.op)
    return made
