"""Predicate + Schema -> BoundPredicate: names become leaves, literals become intervals of keys, NOT disappears.

What is true of a row stays true at every step (SEMANTICS.md §1): NOT moves to the leaves by De Morgan's laws, where it
turns intervals into their complement, null tests into each other, any into all; tests of one leaf become one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from hardwood_jit.errors import PredicateError
from hardwood_jit.physical import VALUES_DTYPE, PhysicalType
from hardwood_jit.plan.bound import (
    AllOf,
    AnyOf,
    BoundPredicate,
    Domain,
    Fixed,
    GroupTest,
    Intervals,
    Node,
    PairTest,
    ValueTest,
)
from hardwood_jit.plan.literals import (
    MAX_DIGITS,
    NANOS_PER_UNIT,
    Operand,
    between,
    compare,
    domain_of,
    one_of,
    prefixed,
    trim,
)
from hardwood_jit.plan.predicate import (
    And,
    Between,
    Col,
    Compare,
    ComparePair,
    IsIn,
    IsNotNull,
    IsNull,
    Not,
    Or,
    Predicate,
    StartsWith,
)

if TYPE_CHECKING:
    from hardwood_jit.metadata.schema import Leaf, Schema, SchemaNode

NEGATED = {"eq": "ne", "ne": "eq", "lt": "ge", "ge": "lt", "gt": "le", "le": "gt"}
_OTHER_QUANTIFIER = {None: None, "any": "all", "all": "any"}
_LEAVES_SHOWN = 5


def bind(predicate: Predicate, schema: Schema) -> BoundPredicate:
    """The predicate over the leaves of one file.

    Raises ColumnNotFoundError for a name that the schema does not have, PredicateError for a comparison that makes no
    sense on its column.
    """
    # Every open AND or OR, outermost first. One list instead of recursion; an AND inside an AND needs no frame.
    frames = [_Frame("and", [(predicate, False)])]
    while True:
        frame = frames[-1]
        if not frame.waiting:
            frames.pop()
            node = join(frame.op, frame.parts)
            if not frames:
                return conjunction(node)
            frames[-1].parts.append(node)
            continue
        part, negated = frame.waiting.pop()
        match part:
            case Not(arg=arg):
                frame.waiting.append((arg, not negated))
            case And(args=args) | Or(args=args):
                op = "and" if isinstance(part, And) != negated else "or"
                below = [(arg, negated) for arg in reversed(args)]
                if op == frame.op:
                    frame.waiting.extend(below)
                else:
                    frames.append(_Frame(op, below))
            case _:
                frame.parts.append(_bind_test(part, negated, schema))


@dataclass(slots=True)
class _Frame:
    """An AND or OR under construction; parts that wait are in reverse order, with whether they are negated."""

    op: str
    waiting: list[tuple[Predicate, bool]]
    parts: list[Node] = field(default_factory=list)


def conjunction(node: Node) -> BoundPredicate:
    """The predicate that a node is: the parts of an AND are its conjuncts."""
    if isinstance(node, AllOf):
        return BoundPredicate(node.args, " and ".join(arg.text for arg in node.args))
    if isinstance(node, Fixed) and node.value:
        return BoundPredicate((), node.text)
    return BoundPredicate((node,), node.text)


# One test


def _bind_test(test: Predicate, negated: bool, schema: Schema) -> Node:
    text = str(Not(test)) if negated else str(test)
    match test:
        case ComparePair(left=left, op=op, right=right):
            return _pair_test(left, NEGATED[op] if negated else op, right, text, schema)
        case IsNull(column=column) | IsNotNull(column=column):
            return _null_test(column, isinstance(test, IsNull) != negated, negated, text, schema)
        case Compare(column=column) | IsIn(column=column) | Between(column=column) | StartsWith(column=column):
            leaf = _find_leaf(column, schema)
            domain, intervals = _intervals_of(test, Operand.of(leaf, column.is_raw))
            quantifier = _OTHER_QUANTIFIER[column.quantifier] if negated else column.quantifier
            return value_test(leaf, domain, intervals.complement() if negated else intervals, False, quantifier, text)
    raise PredicateError(f"{type(test).__name__} is no test of a column")


def _intervals_of(test: Predicate, operand: Operand) -> tuple[Domain, Intervals]:
    match test:
        case Compare(op=op, literal=literal):
            return compare(operand, op, literal)
        case IsIn(literals=literals):
            return one_of(operand, literals)
        case Between(low=low, high=high):
            return between(operand, low, high)
        case StartsWith(prefix=prefix):
            return prefixed(operand, prefix)
    raise AssertionError(test)


def value_test(
    leaf: Leaf, domain: Domain, intervals: Intervals, null_matches: bool, quantifier: str | None, text: str
) -> ValueTest | Fixed:
    """The test, or its answer when that is the same for every row."""
    intervals = trim(intervals, leaf, domain)
    null_matches = null_matches and leaf.nullable
    if quantifier != "all" and not intervals and not null_matches:  # all is true of an empty list
        return Fixed(False, text)
    if quantifier is None and intervals.is_everything and (null_matches or not leaf.nullable):
        return Fixed(True, text)
    return ValueTest(leaf, domain, intervals, null_matches, quantifier, text)


def _null_test(column: Col, wants_null: bool, negated: bool, text: str, schema: Schema) -> Node:
    node = schema.resolve(column.path)
    if column.quantifier is None and (node.leaf is None or node.is_bare_repeated):
        return _group_test(node, wants_null, text)
    leaf = _find_leaf(column, schema)
    quantifier = _OTHER_QUANTIFIER[column.quantifier] if negated else column.quantifier
    intervals = Intervals.nothing() if wants_null else Intervals.everything()
    return value_test(leaf, domain_of(leaf, column.is_raw), intervals, wants_null, quantifier, text)


def _group_test(node: SchemaNode, wants_null: bool, text: str) -> Node:
    """Whether a struct, list or map is there; a bare repeated field is a list."""
    name = ".".join(node.path)
    repeated_above = node.layers[0].slot_repetition if node.layers else node.max_repetition_level
    if repeated_above:
        raise PredicateError(
            f"'{name}' lies below a repeated field: whether it is null has an answer per element, not per row; "
            f"use any() or all() on one of its columns: {_names(node.leaves)}"
        )
    leaf = min(node.leaves, key=_reading_cost)
    # Its own layer; a required group is there whenever the group around it is.
    above = [layer for layer in leaf.layers if len(layer.path) < len(node.path)]
    layer = next(iter(node.layers or above[-1:]), None)
    if layer is None or not layer.nullable:
        return Fixed(not wants_null, text)
    return GroupTest(leaf, leaf.layers.index(layer), wants_null, text)


def _reading_cost(leaf: Leaf) -> tuple[int, bool, int, int]:
    """Any leaf of a group knows whether the group is null; the fewest and smallest values come first."""
    if leaf.type_length is not None:
        width = leaf.type_length
    else:
        width = VALUES_DTYPE[leaf.physical_type].itemsize if leaf.physical_type in VALUES_DTYPE else 0
    return leaf.max_repetition_level, leaf.physical_type is PhysicalType.BYTE_ARRAY, width, leaf.index


# Names


def _find_leaf(column: Col, schema: Schema) -> Leaf:
    """The leaf that a comparison is about, with any() or all() where it needs one and nowhere else."""
    node = schema.resolve(column.path)
    name = column.path if isinstance(column.path, str) else ".".join(column.path)
    while node.leaf is None and node.is_list and node.list_element is not None:
        node = node.list_element
    if node.leaf is None:
        raise PredicateError(f"'{name}' is a group and has no value of its own; its columns: {_names(node.leaves)}")
    leaf = node.leaf
    if leaf.max_repetition_level and column.quantifier is None:
        raise PredicateError(
            f"column '{name}' has many values per row: write col({column.path!r}).any() for at least one of them or "
            f"col({column.path!r}).all() for each of them"
        )
    if column.quantifier is not None and not leaf.max_repetition_level:
        raise PredicateError(
            f"column '{name}' has one value per row, and {column.quantifier}() is for lists: "
            f"write col({column.path!r}) without it"
        )
    return leaf


def _names(leaves: Sequence[Leaf]) -> str:
    shown = ", ".join(f"'{leaf.dotted}'" for leaf in leaves[:_LEAVES_SHOWN])
    return f"{shown}, …" if len(leaves) > _LEAVES_SHOWN else shown


# Two columns

# Kinds whose keys are the same; all others pair with themselves only. Without a row here they do not pair at all.
_PAIRS = {
    "boolean": "boolean",
    "integer": "integer",
    "float": "float",
    "decimal": "decimal",
    "date": "date",
    "time": "time",
    "timestamp": "timestamp",
    "uuid": "uuid",
    "text": "bytes",
    "bytes": "bytes",
}


def _pair_test(left: Col, op: str, right: Col, text: str, schema: Schema) -> PairTest:
    one, other = (_pair_operand(column, schema) for column in (left, right))
    kind = _PAIRS.get(one.kind)
    if kind is None or kind != _PAIRS.get(other.kind):
        raise PredicateError(
            f"{one} and {other} do not compare: both must be integers, floats, decimals, dates, times, timestamps, "
            f"text or bytes, UUIDs, or booleans; .raw on both sides compares what is stored"
        )
    if kind == "timestamp" and one.is_aware != other.is_aware:
        raise PredicateError(f"{one} and {other} do not compare: one is a point in time, the other a wall clock")
    left_factor, right_factor = 1, 1
    if kind in ("time", "timestamp"):
        units = [NANOS_PER_UNIT[operand.unit] for operand in (one, other)]
        left_factor, right_factor = (unit // min(units) for unit in units)
    elif kind == "decimal":
        scales = one.scale, other.scale
        if max(scales) - min(scales) > MAX_DIGITS:
            raise PredicateError(f"{one} and {other} do not compare: their scales are more than {MAX_DIGITS} apart")
        left_factor, right_factor = (10 ** (max(scales) - scale) for scale in scales)
    return PairTest(one.leaf, op, other.leaf, one.domain, other.domain, left_factor, right_factor, text)


def _pair_operand(column: Col, schema: Schema) -> Operand:
    if column.quantifier is not None:
        raise PredicateError(f"{column!r}: two columns compare row by row; any() and all() take a literal only")
    node = schema.resolve(column.path)
    if node.max_repetition_level or node.is_list or node.is_map:
        raise PredicateError(f"{column!r} has many values per row; two columns compare only with one value each")
    return Operand.of(_find_leaf(column, schema), column.is_raw)


# AND and OR

_MERGING_QUANTIFIER = {"and": "all", "or": "any"}  # all(p) and all(q) = all(p and q); any likewise over or


def join(op: str, parts: Iterable[Node]) -> Node:
    """AND or OR of bound parts: flat, fixed answers folded, tests of one leaf merged."""
    parts = list(_flatten(op, parts))
    groups: dict[object, list[Node]] = {}  # in the order of their first parts
    for number, part in enumerate(parts):
        key: object = number
        if isinstance(part, ValueTest) and part.quantifier in (None, _MERGING_QUANTIFIER[op]):
            key = (part.leaf.index, part.domain, part.quantifier)
        groups.setdefault(key, []).append(part)
    decisive = op == "or"  # this answer of one part is the answer of all
    merged: list[Node] = []
    for same in groups.values():
        part = _merge(op, [test for test in same if isinstance(test, ValueTest)]) if len(same) > 1 else same[0]
        if not isinstance(part, Fixed):
            merged.append(part)
        elif part.value is decisive:
            return part
    if not merged:
        return Fixed(not decisive, _joined_text(op, parts))
    if len(merged) == 1:
        return merged[0]
    kind = AllOf if op == "and" else AnyOf
    return kind(tuple(merged), _joined_text(op, merged))


def _flatten(op: str, parts: Iterable[Node]) -> Iterable[Node]:
    kind = AllOf if op == "and" else AnyOf
    for part in parts:
        if isinstance(part, kind):
            yield from part.args  # joined before, so none of them is of this kind
        else:
            yield part


def _merge(op: str, tests: Sequence[ValueTest]) -> ValueTest | Fixed:
    """One test of one leaf that says what all of them say."""
    first = tests[0]
    if op == "or":
        intervals = Intervals.of(pair for test in tests for pair in test.intervals.pairs)
        null_matches = any(test.null_matches for test in tests)
    else:  # through the complements: one sort, however many tests
        intervals = Intervals.of(pair for test in tests for pair in test.intervals.complement().pairs).complement()
        null_matches = all(test.null_matches for test in tests)
    text = _joined_text(op, tests)
    return value_test(first.leaf, first.domain, intervals, null_matches, first.quantifier, text)


def _joined_text(op: str, parts: Sequence[Node]) -> str:
    return parts[0].text if len(parts) == 1 else f"({f' {op} '.join(part.text for part in parts)})"
