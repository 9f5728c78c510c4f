"""KernelShape: what a generated kernel depends on (tree, operators, types, encoding), and the constants beside it.

Constants are arguments of the kernel, so that `fare > 10` and `fare > 99` share one. Two layouts exist: "pages" tests
PLAIN pages of one flat column where their values lie, "rows" tests decoded columns against each other.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from hardwood_jit.physical import PhysicalType
from hardwood_jit.plan.bound import AllOf, AnyOf, Domain, Intervals, Node, PairTest, ValueTest

if TYPE_CHECKING:
    from hardwood_jit.metadata.schema import Leaf

# Operand trees: ("and", ...), ("or", ...), ("ge", column), ("pair", op, column, column), ("null", ...).
Tree = tuple[Any, ...]

WIDTHS = {PhysicalType.INT32: 4, PhysicalType.FLOAT: 4, PhysicalType.INT64: 8, PhysicalType.DOUBLE: 8}
MOST_INTERVALS = 2  # of a test; more are found by halving, which the general kernel does as well
PAIR_KINDS = ("signed", "unsigned", "float")


@dataclass(frozen=True)
class ColumnShape:
    """A column as the kernel sees it."""

    physical: PhysicalType
    kind: str  # of its Domain: "signed", "unsigned", "float"

    @property
    def width(self) -> int:
        return WIDTHS[self.physical]


@dataclass(frozen=True)
class KernelShape:
    """Equal shapes have equal kernels."""

    layout: str  # "pages" or "rows"
    columns: tuple[ColumnShape, ...]
    tree: Tree

    @property
    def text(self) -> str:
        """The shape in one line, as it heads the generated file: `and(ge(c0: INT64 PLAIN), lt(c0: INT64 PLAIN))`."""
        return _tree_text(self, self.tree)

    @property
    def name(self) -> str:
        """A file name of its own."""
        digest = hashlib.sha256(f"{self.layout} {self.text}".encode()).hexdigest()[:12]
        return f"shape_{digest}"


def _column_text(shape: KernelShape, number: int) -> str:
    column = shape.columns[number]
    sign = " unsigned" if column.kind == "unsigned" else ""
    return f"c{number}: {column.physical}{sign}{' PLAIN' if shape.layout == 'pages' else ''}"


def _tree_text(shape: KernelShape, tree: Tree) -> str:
    head, *rest = tree
    if head in ("and", "or"):
        return f"{head}({', '.join(_tree_text(shape, part) for part in rest)})"
    if head == "pair":
        return f"{rest[0]}({_column_text(shape, rest[1])}, {_column_text(shape, rest[2])})"
    return f"{head}({_column_text(shape, rest[0])})"


def page_shape(test: ValueTest) -> tuple[KernelShape, list[Any]] | None:
    """The shape of a test on PLAIN pages and its constants; None where the general kernel is what there is."""
    leaf = test.leaf
    if leaf.physical_type not in WIDTHS or not 0 < len(test.intervals.pairs) <= MOST_INTERVALS:
        return None
    if test.intervals.is_everything:
        return None
    column = ColumnShape(leaf.physical_type, test.domain.kind)
    constants: list[Any] = []
    return KernelShape("pages", (column,), _interval_tree(test.intervals, test.domain, 0, constants)), constants


def row_shape(node: Node) -> tuple[KernelShape, list[Any], list[Leaf]] | None:
    """The shape of a tree in which columns meet, its constants, and its leaves in the kernel's order."""
    leaves: dict[int, int] = {}
    found: list[Leaf] = []
    columns: list[ColumnShape] = []
    constants: list[Any] = []

    def place(leaf: Leaf, domain: Domain) -> int | None:
        if leaf.physical_type not in WIDTHS or leaf.max_repetition_level or domain.kind not in PAIR_KINDS:
            return None
        number = leaves.get(leaf.index)
        if number is None:
            number = leaves[leaf.index] = len(columns)
            columns.append(ColumnShape(leaf.physical_type, domain.kind))
            found.append(leaf)
        return number if columns[number].kind == domain.kind else None

    def visit(part: Node) -> Tree | None:
        if isinstance(part, AllOf | AnyOf):
            trees = [visit(arg) for arg in part.args]
            return None if None in trees else ("and" if isinstance(part, AllOf) else "or", *trees)
        if isinstance(part, PairTest):
            a, b = place(part.left, part.left_domain), place(part.right, part.right_domain)
            same = part.left_domain.kind == part.right_domain.kind
            floats = part.left_domain.kind == "float" and part.left_domain.bits != part.right_domain.bits
            if a is None or b is None or not same or floats or (part.left_factor, part.right_factor) != (1, 1):
                return None
            return ("pair", part.op, a, b)
        if isinstance(part, ValueTest) and part.quantifier is None and not part.null_matches:
            number = place(part.leaf, part.domain)
            if number is None or not 0 < len(part.intervals.pairs) <= MOST_INTERVALS or part.intervals.is_everything:
                return None
            return _interval_tree(part.intervals, part.domain, number, constants)
        return None

    if not _has_pair(node):
        return None  # tests of single columns work on encoded values, one by one
    tree = visit(node)
    return None if tree is None else (KernelShape("rows", tuple(columns), tree), constants, found)


def _has_pair(node: Node) -> bool:
    if isinstance(node, AllOf | AnyOf):
        return any(map(_has_pair, node.args))
    return isinstance(node, PairTest)


def _interval_tree(intervals: Intervals, domain: Domain, column: int, constants: list[Any]) -> Tree:
    """Comparisons that say "in one of the intervals"; closed ones, because the largest key has no successor."""
    parts: list[Tree] = []
    for low, high in intervals.pairs:
        if low is not None and high == low + 1:
            parts.append(("eq", column))
            constants.append(_constant(domain, low))
            continue
        ends: list[Tree] = []
        if low is not None:
            ends.append(("ge", column))
            constants.append(_constant(domain, low))
        if high is not None:
            ends.append(("le", column))
            constants.append(_constant(domain, high - 1))
        parts.append(ends[0] if len(ends) == 1 else ("and", *ends))
    return parts[0] if len(parts) == 1 else ("or", *parts)


def _constant(domain: Domain, key: int) -> Any:
    """A key as the generated kernel compares it: signed numbers as they are, floats as unsigned keys."""
    if domain.kind == "signed":
        return np.int64(min(max(key, -(2**63)), 2**63 - 1))
    if domain.kind == "float":
        return np.uint64(key + (1 << (domain.bits - 1)))
    return np.uint64(min(max(key, 0), 2**64 - 1))
