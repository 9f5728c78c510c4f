"""Columns with one value in a whole file -> what is left of a predicate there (SEMANTICS.md §1).

The values are given as keys, as `plan.bound.Domain` has them: an int or bytes, None for null.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from hardwood_jit.plan.bind import conjunction, join, value_test
from hardwood_jit.plan.bound import (
    AllOf,
    AnyOf,
    BoundPredicate,
    Fixed,
    Intervals,
    Key,
    Node,
    PairTest,
    ValueTest,
    successor,
)
from hardwood_jit.plan.predicate import (
    And,
    Col,
    ComparePair,
    IsNotNull,
    Not,
    Or,
    Predicate,
    all_of,
    any_of,
    columns_of,
)

Constants = Mapping[int, Key | None]  # leaf index -> key of the one value

# left `op` right: where the left one must lie
_LEFT_OF: dict[str, Callable[[Key], Intervals]] = {
    "eq": Intervals.point,
    "ne": lambda key: Intervals.point(key).complement(),
    "lt": Intervals.below,
    "le": lambda key: Intervals.below(successor(key)),
    "gt": lambda key: Intervals.at_least(successor(key)),
    "ge": Intervals.at_least,
}
_MIRRORED = {"eq": "eq", "ne": "ne", "lt": "gt", "gt": "lt", "le": "ge", "ge": "le"}


def constant_part(predicate: Predicate, is_constant: Callable[[Col], bool]) -> Predicate | None:
    """What a predicate demands of the constant columns alone: true wherever the whole can be true; None: nothing.

    >>> from hardwood_jit import col
    >>> from hardwood_jit.plan.constants import constant_part
    >>> wanted = (col("year") == 2024) & ((col("fare") > 10) | ~(col("month") > 6)) & (col("day") < col("fare"))
    >>> print(constant_part(wanted, lambda column: column.path in ("year", "month", "day")))
    year = 2024 and day is not null
    """
    return _weakened(predicate, False, is_constant)


def _weakened(part: Predicate, negated: bool, is_constant: Callable[[Col], bool]) -> Predicate | None:
    match part:
        case Not(arg=arg):
            return _weakened(arg, not negated, is_constant)
        case And(args=args) | Or(args=args):
            parts = [_weakened(arg, negated, is_constant) for arg in args]
            known = [found for found in parts if found is not None]
            if isinstance(part, And) != negated:
                return all_of(known) if known else None
            return any_of(known) if len(known) == len(parts) else None
    columns = columns_of(part)
    constant = [column for column in columns if is_constant(column)]
    if len(constant) == len(columns):
        return Not(part) if negated else part
    if constant and isinstance(part, ComparePair):
        return IsNotNull(constant[0])  # null on either side is unknown, negated too
    return None


def fold_constants(bound: BoundPredicate, constants: Constants) -> BoundPredicate:
    """The predicate without its constant leaves: tests of them are answered, what these answers settle is gone."""
    parts: list[Node] = []
    for conjunct in bound.conjuncts:
        node = fold_node(conjunct, constants)
        # Measurements are by text, and `explain` shows the conjuncts as they were before.
        parts.append(node if node is conjunct or isinstance(node, AllOf) else replace(node, text=conjunct.text))
    if all(new is old for new, old in zip(parts, bound.conjuncts, strict=True)):
        return bound
    return conjunction(join("and", parts))


def fold_node(node: Node, constants: Constants) -> Node:
    """The node itself where it has no constant leaf, `Fixed` where it has no others."""
    if not any(leaf.index in constants for leaf in node.leaves):
        return node
    match node:
        case ValueTest(leaf=leaf):
            key = constants[leaf.index]
            return Fixed(node.null_matches if key is None else node.intervals.contains(key), node.text)
        case PairTest():
            return _fold_pair(node, constants)
        case AllOf(args=args) | AnyOf(args=args):
            return join("and" if isinstance(node, AllOf) else "or", [fold_node(arg, constants) for arg in args])
    raise AssertionError(f"{node} has no value to be constant")


def _fold_pair(test: PairTest, constants: Constants) -> ValueTest | Fixed:
    # Constants are integers, dates or text, none of which need their units or scales aligned.
    assert test.left_factor == test.right_factor == 1
    found = [constants[leaf.index] for leaf in test.leaves if leaf.index in constants]
    if any(key is None for key in found):
        return Fixed(False, test.text)
    if test.right.index in constants:
        intervals = _LEFT_OF[test.op](constants[test.right.index])
        if test.left.index in constants:
            return Fixed(intervals.contains(constants[test.left.index]), test.text)
        return value_test(test.left, test.left_domain, intervals, False, None, test.text)
    intervals = _LEFT_OF[_MIRRORED[test.op]](constants[test.left.index])
    return value_test(test.right, test.right_domain, intervals, False, None, test.text)
