"""Bound predicate + statistics of a row group's column chunks -> can no row pass?

Only what is quick and certain: bounds of signed integers (also dates, times, timestamps, decimals stored as such) and
columns that are all null. May keep a row group without matches, never drops a match.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from hardwood_jit.metadata.footer import Statistics
from hardwood_jit.physical import PhysicalType
from hardwood_jit.plan.bound import AllOf, AnyOf, Fixed, Intervals, Node, ValueTest

WIDTHS = {PhysicalType.INT32: 4, PhysicalType.INT64: 8}
FEW_GROUPS = 4  # a conjunct that has dropped none of so many row groups is not asked again: looking costs time, too


class ChunkFacts(Protocol):
    """What pruning needs of a column chunk."""

    @property
    def statistics(self) -> Statistics | None: ...

    @property
    def num_values(self) -> int: ...


class GroupPruner:
    """The conjuncts of a predicate on one file's row groups, in turn."""

    def __init__(self, conjuncts: tuple[Node, ...], known_orders: tuple[str | None, ...]) -> None:
        self._orders = known_orders
        self._useless = dict.fromkeys(range(len(conjuncts)), 0)  # row groups that a conjunct did not drop
        self._dropped: set[int] = set()
        self._conjuncts = conjuncts

    def drops(self, chunks: Sequence[ChunkFacts]) -> bool:
        """Whether no row of the row group with these column chunks can pass."""
        for number, conjunct in enumerate(self._conjuncts):
            if number not in self._dropped and self._useless[number] >= FEW_GROUPS:
                continue
            if self._is_never(conjunct, chunks):
                self._dropped.add(number)
                return True
            self._useless[number] += 1
        return False

    def _is_never(self, node: Node, chunks: Sequence[ChunkFacts]) -> bool:
        match node:
            case ValueTest():
                return self._value_is_never(node, chunks[node.leaf.index])
            case AllOf():
                return any(self._is_never(arg, chunks) for arg in node.args)
            case AnyOf():
                return all(self._is_never(arg, chunks) for arg in node.args)
            case Fixed():
                return not node.value
        return False

    def _value_is_never(self, test: ValueTest, chunk: ChunkFacts) -> bool:
        if test.null_matches or test.quantifier == "all":
            return False
        statistics = chunk.statistics
        if statistics is None:
            return False
        if statistics.null_count is not None and statistics.null_count == chunk.num_values:
            return True
        width = WIDTHS.get(test.leaf.physical_type)
        if test.domain.kind != "signed" or width is None or test.leaf.unknown_logical_type:
            return False
        if self._orders[test.leaf.index] != "TYPE_ORDER":  # absent, or one that we do not know
            return False
        bounds = _signed_bounds(statistics, width)
        if bounds is None:
            return False
        return not test.intervals.intersect(Intervals.between(bounds[0], bounds[1] + 1)).pairs


def _signed_bounds(statistics: Statistics, width: int) -> tuple[int, int] | None:
    """Smallest and largest value; the deprecated fields are right for signed integers, too."""
    low, high = statistics.min_value, statistics.max_value
    if low is None or high is None:
        low, high = statistics.deprecated_min, statistics.deprecated_max
    if low is None or high is None or len(low) != width or len(high) != width:
        return None
    first, last = int.from_bytes(low, "little", signed=True), int.from_bytes(high, "little", signed=True)
    return (first, last) if first <= last else None
