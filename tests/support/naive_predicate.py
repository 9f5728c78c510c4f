"""The oracle of filters: one predicate and one row to true, false or unknown, by SEMANTICS section 1, word by word.

Works on what `tests.support.naive` decodes and on nothing of hardwood_jit but the nodes that users build (`Compare`,
`And`, ...). Values and literals become Python integers, fractions, bytes or `Float`, and are compared as those: no
keys, no intervals, no rewriting. Three-valued throughout: True, False, None for unknown.

The predicate is trusted to fit the file: what binding refuses may end in any exception here.
"""

from __future__ import annotations

import datetime as dt
import math
import struct
import uuid
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import total_ordering
from typing import Any

from hardwood_jit.plan.predicate import (
    And,
    Between,
    Col,
    Compare,
    ComparePair,
    Instant,
    IsIn,
    IsNotNull,
    IsNull,
    Not,
    Or,
    Predicate,
    StartsWith,
)
from tests.support import naive
from tests.support import pages as p

Verdict = bool | None
_NANOSECONDS = {"ms": 10**6, "us": 10**3, "ns": 1}
_EPOCH = dt.datetime(1970, 1, 1)


@dataclass(frozen=True)
class Row:
    """One record: per leaf its entries (repetition, definition, value)."""

    root: naive.Node
    entries: tuple[list[naive.Entry], ...]


def rows_of(file: naive.NaiveFile) -> list[Row]:
    columns = [naive.split_records(file.entries(number)) for number in range(len(file.leaves))]
    return [Row(file.root, entries) for entries in zip(*columns, strict=True)]


def matches(predicate: Predicate, row: Row) -> bool:
    """Whether the predicate is definitely true of the row."""
    return verdict(predicate, row) is True


def matching_rows(predicate: Predicate, file: naive.NaiveFile) -> list[int]:
    return [number for number, row in enumerate(rows_of(file)) if matches(predicate, row)]


# ---------------------------------------------------------------- three-valued logic


def kleene_and(verdicts: Iterable[Verdict]) -> Verdict:
    found = list(verdicts)
    return False if False in found else None if None in found else True


def kleene_or(verdicts: Iterable[Verdict]) -> Verdict:
    found = list(verdicts)
    return True if True in found else None if None in found else False


def verdict(predicate: Predicate, row: Row) -> Verdict:
    match predicate:
        case And(args=args):
            return kleene_and(verdict(arg, row) for arg in args)
        case Or(args=args):
            return kleene_or(verdict(arg, row) for arg in args)
        case Not(arg=arg):
            inner = verdict(arg, row)
            return None if inner is None else not inner
        case ComparePair(left=left, op=op, right=right):
            one, other = _node_of(left, row.root), _node_of(right, row.root)
            a, b = _only_value(one, row), _only_value(other, row)
            if a is None or b is None:
                return None
            return _satisfies(op, _meaning(one, a, left.is_raw), _meaning(other, b, right.is_raw))
        case IsNull(column=column) | IsNotNull(column=column) if column.quantifier is None:
            is_null = not _is_present(_resolve(column, row.root), row)
            return is_null if isinstance(predicate, IsNull) else not is_null
        case _:
            column = predicate.column  # type: ignore[attr-defined]
            leaf = _node_of(column, row.root)
            nested = naive.assemble_leaf(row.entries[leaf.leaf_index], leaf)
            return _over_layers(predicate, column, leaf, nested, 0)


def _over_layers(predicate: Predicate, column: Col, leaf: naive.Node, item: Any, depth: int) -> Verdict:
    """The verdict of what is inside layer `depth`: of one value, or over the items of a list."""
    if depth == len(leaf.layers):
        return _of_value(predicate, column, leaf, item)
    if leaf.layers[depth].kind == "struct":
        if item is not None:
            return _over_layers(predicate, column, leaf, item[0], depth + 1)
        lists_below = any(layer.kind == "repeated" for layer in leaf.layers[depth + 1 :])
        return None if lists_below else _of_value(predicate, column, leaf, None)
    if item is None:
        return None  # a null list is unknown
    join = kleene_or if column.quantifier == "any" else kleene_and
    return join(_over_layers(predicate, column, leaf, inner, depth + 1) for inner in item)


def _of_value(predicate: Predicate, column: Col, leaf: naive.Node, value: Any) -> Verdict:
    """The verdict of one stored value, or of null."""
    match predicate:
        case IsNull():
            return value is None
        case IsNotNull():
            return value is not None
    if value is None:
        return None
    raw = column.is_raw
    match predicate:
        case Compare(op=op, literal=literal):
            return _against(op, leaf, value, literal, raw)
        case IsIn(literals=literals):
            return any(_against("eq", leaf, value, literal, raw) for literal in literals)
        case Between(low=low, high=high):
            return _against("ge", leaf, value, low, raw) and _against("le", leaf, value, high, raw)
        case StartsWith(prefix=prefix):
            return bool(value.startswith(prefix.encode() if isinstance(prefix, str) else prefix))
    raise TypeError(predicate)


# ---------------------------------------------------------------- columns


def _resolve(column: Col, root: naive.Node) -> naive.Node:
    """A tuple is exact; of a text, a top-level name with dots wins, and the synthetic levels may be left out."""
    if isinstance(column.path, tuple):
        names = list(column.path)
    elif any(child.name == column.path for child in root.children):
        names = [column.path]
    else:
        names = column.path.split(".")
    node = root
    for name in names:
        while not any(child.name == name for child in node.children):
            (node,) = node.children  # a synthetic level
        node = next(child for child in node.children if child.name == name)
    return node


def _node_of(column: Col, root: naive.Node) -> naive.Node:
    """The leaf that a comparison is about; of a list the leaf below it."""
    node = _resolve(column, root)
    while node.physical is None:
        (node,) = node.children
    return node


def _is_present(node: naive.Node, row: Row) -> bool:
    """Of a leaf without lists, a struct, a list or a map: any leaf below it knows."""
    definition = row.entries[node.leaves()[0].leaf_index][0][1]
    # A bare repeated field is a list of its own; without items it is still there, unless what is around it is not.
    return definition >= node.definition - (node.repetition == p.REPEATED)


def _only_value(leaf: naive.Node, row: Row) -> Any:
    ((_, definition, value),) = row.entries[leaf.leaf_index]
    return value if definition == leaf.definition else None


# ---------------------------------------------------------------- values and literals


@total_ordering
@dataclass(frozen=True, eq=False)
class Float:
    """A float or an exact number among floats, in the order of Java's Double.compare."""

    value: float | Fraction

    def compare(self, other: Float) -> int:
        one, two = self.value, other.value
        if _is_nan(one) or _is_nan(two):
            return _is_nan(one) - _is_nan(two)
        if one == 0 and two == 0:
            return _sign(one) - _sign(two)
        # Python compares a fraction with a float exactly, infinities included.
        return (one > two) - (one < two)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Float) and self.compare(other) == 0

    def __lt__(self, other: Float) -> bool:
        return self.compare(other) < 0


def _is_nan(value: float | Fraction) -> bool:
    return isinstance(value, float) and math.isnan(value)


def _sign(zero: float | Fraction) -> float:
    return math.copysign(1.0, zero) if isinstance(zero, float) else 1.0


def _satisfies(op: str, left: Any, right: Any) -> bool:
    return {
        "eq": lambda: left == right,
        "ne": lambda: left != right,
        "lt": lambda: left < right,
        "le": lambda: left <= right,
        "gt": lambda: left > right,
        "ge": lambda: left >= right,
    }[op]()


def _against(op: str, leaf: naive.Node, value: Any, literal: Any, raw: bool) -> bool:
    if isinstance(literal, bytes) and isinstance(value, bytes):
        return _satisfies(op, value, literal)  # exact stored bytes, on every column that stores bytes
    return _satisfies(op, _meaning(leaf, value, raw), _literal(leaf, literal, raw))


def _meaning(leaf: naive.Node, value: Any, raw: bool) -> Any:
    """What a stored value stands for: int, Fraction, Float or bytes."""
    kind, params, physical = leaf.logical, leaf.params, leaf.physical
    if raw:
        return Float(value) if isinstance(value, float) else value
    if kind == "INTEGER" and not params["signed"]:
        return value & (0xFFFFFFFF if physical == p.INT32 else 0xFFFFFFFFFFFFFFFF)
    if kind == "FLOAT16":
        return Float(struct.unpack("<e", value)[0])
    if kind == "DECIMAL":
        unscaled = value if isinstance(value, int) else int.from_bytes(value, "big", signed=True)
        return Fraction(unscaled, 10 ** params["scale"])
    if kind in ("TIME", "TIMESTAMP"):
        return value * _NANOSECONDS[params["unit"]]
    if physical == p.INT96:
        return naive.int96_nanoseconds(value)
    return Float(value) if isinstance(value, float) else value


def _literal(leaf: naive.Node, literal: Any, raw: bool) -> Any:
    """The same for a literal of the column `leaf`; one that the column cannot hold keeps its exact value."""
    kind = None if raw else leaf.logical
    match literal:
        case bool():
            return literal
        case int() | float() | Decimal():
            if kind == "FLOAT16" or leaf.physical in (p.FLOAT, p.DOUBLE_TYPE):
                return Float(_among_floats(leaf, literal))
            if _is_endless(literal):
                return float(literal)
            if isinstance(literal, float) and kind == "DECIMAL":
                literal = Decimal(repr(literal))
            return Fraction(literal)
        case dt.datetime():
            offset = literal.utcoffset() or dt.timedelta()
            return (literal.replace(tzinfo=None) - offset - _EPOCH) // dt.timedelta(microseconds=1) * 1000
        case Instant():
            return literal.nanoseconds_since_epoch
        case dt.date():
            return (literal - _EPOCH.date()).days
        case dt.time():
            seconds = (literal.hour * 60 + literal.minute) * 60 + literal.second
            return (seconds * 10**6 + literal.microsecond) * 1000
        case uuid.UUID():
            return literal.bytes
        case str():
            return literal.encode()
    return literal


def _is_endless(literal: float | Decimal | int) -> bool:
    if isinstance(literal, Decimal):
        return not literal.is_finite()
    return isinstance(literal, float) and not math.isfinite(literal)


def _among_floats(leaf: naive.Node, literal: float | Decimal | int) -> float | Fraction:
    """A float is rounded to the column's width unless that makes it infinite or zero; other numbers stay exact."""
    if isinstance(literal, float):
        form = {p.FLOAT: "<f", p.DOUBLE_TYPE: "<d"}.get(leaf.physical or 0, "<e")
        try:
            near = float(struct.unpack(form, struct.pack(form, literal))[0])
        except OverflowError:
            near = math.copysign(math.inf, literal)
        is_lost = (math.isinf(near) and not math.isinf(literal)) or (near == 0 and literal != 0)
        return Fraction(literal) if is_lost else near
    if _is_endless(literal):
        return float(literal)
    if not literal:  # zero has a sign, and a fraction has none
        return -0.0 if isinstance(literal, Decimal) and literal.is_signed() else 0.0
    return Fraction(literal)
