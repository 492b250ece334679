"""Memory as the numbers that were stored in it, byte by byte."""

from __future__ import annotations

from typing import NamedTuple

from cwnd._prove.dag import Dag, Node


class UntranslatableError(Exception):
    """The bytecode has something that the translation does not know."""


class Cell(NamedTuple):
    """A byte of memory: the byte `at` of `node`, of which `size` bytes were stored."""

    node: Node
    at: int
    size: int


def read(dag: Dag, memory: dict[tuple[str, int], Cell], region: str, offset: int, size: int) -> Node:
    """The number of `size` bytes."""
    parts: list[tuple[Node, int]] = []
    at = 0
    while at < size:
        cell = memory.get((region, offset + at))
        if cell is None:
            raise UntranslatableError(f"a read of {region}+{offset + at}, which nothing was written to")
        length = 1
        while at + length < size and memory.get((region, offset + at + length)) == Cell(
            cell.node, cell.at + length, cell.size
        ):
            length += 1
        node = cell.node
        if cell.at:
            node = dag.shr(node, dag.const(8 * cell.at), 64)
        if cell.at + length < cell.size:
            node = dag.truncate(node, 8 * length)
        parts.append((node, length))
        at += length
    return dag.join(iter(parts))


def write(memory: dict[tuple[str, int], Cell], region: str, offset: int, size: int, node: Node) -> None:
    """Stores the lowest `size` bytes."""
    if node.parts and sum(length for _, length in node.parts) == size:
        for part, length in node.parts:
            write(memory, region, offset, length, part)
            offset += length
        return
    for at in range(size):
        memory[region, offset + at] = Cell(node, at, size)
