"""Selection (what the user asked for) and file footers -> the row groups to read and the rows in each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from hardwood_jit.plan.predicate import Predicate
from hardwood_jit.plan.row_ranges import RowRanges


class GroupFacts(Protocol):
    """What planning needs of a row group."""

    @property
    def num_rows(self) -> int: ...

    @property
    def midpoint(self) -> int: ...


@dataclass(frozen=True)
class Selection:
    """The options of a scan, as its methods gathered them; checked when they are set."""

    columns: tuple[str | tuple[str, ...], ...] | None = None
    skip: int | None = None
    head: int | None = None
    tail: int | None = None
    byte_range: tuple[int, int] | None = None
    row_ranges: RowRanges | None = None
    batch_size: int | None = None
    threads: int | None = None
    use_metadata: bool = True
    predicate: Predicate | None = None

    def with_filter(self, predicate: Predicate) -> Selection:
        for name, value in (("head", self.head), ("skip", self.skip), ("tail", self.tail)):
            if value is not None:
                raise ValueError(f"filter() after {name}(): one scan is one SELECT, so call {name}() last")
        return replace(self, predicate=predicate if self.predicate is None else self.predicate & predicate)

    def with_skip(self, row_count: int) -> Selection:
        self._once("skip", self.skip)
        self._apart("skip", "tail", self.tail)
        return replace(self, skip=_count("skip", row_count))

    def with_head(self, row_count: int) -> Selection:
        self._once("head", self.head)
        self._apart("head", "tail", self.tail)
        return replace(self, head=_count("head", row_count))

    def with_tail(self, row_count: int) -> Selection:
        self._once("tail", self.tail)
        self._apart("tail", "head", self.head)
        self._apart("tail", "skip", self.skip)
        self._apart("tail", "byte_range", self.byte_range)
        self._apart("tail", "row_ranges", self.row_ranges)
        return replace(self, tail=_count("tail", row_count))

    def with_byte_range(self, start: int, stop: int) -> Selection:
        self._apart("byte_range", "tail", self.tail)
        self._apart("byte_range", "row_ranges", self.row_ranges)
        if self.byte_range is not None:
            start, stop = max(start, self.byte_range[0]), min(stop, self.byte_range[1])
        return replace(self, byte_range=(int(start), int(stop)))

    def with_row_ranges(self, ranges: RowRanges) -> Selection:
        self._apart("row_ranges", "tail", self.tail)
        self._apart("row_ranges", "byte_range", self.byte_range)
        return replace(self, row_ranges=ranges if self.row_ranges is None else self.row_ranges.intersect(ranges))

    def _once(self, name: str, value: object) -> None:
        if value is not None:
            raise ValueError(f"{name}() was called before on this scan; one scan is one SELECT, so call it once, last")

    def _apart(self, name: str, other: str, value: object) -> None:
        if value is not None:
            raise ValueError(f"{name}() does not go together with {other}()")


def _count(name: str, value: int) -> int:
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise TypeError(f"{name}() takes a whole number of rows, not {value!r}")
    value = value.__index__()
    if value < 0:
        raise ValueError(f"{name}({value}): a number of rows is 0 or more")
    return value


@dataclass(frozen=True)
class GroupPlan:
    """One row group to read: which file, which group, which of its rows."""

    file: int
    row_group: int
    rows: RowRanges
    whole: bool  # every row of the group
    is_rest: bool = False  # the row group was cut, and another plan has its first rows


def plan_scan(
    selection: Selection, file_count: int, groups_of: Callable[[int], Sequence[GroupFacts]]
) -> Iterator[GroupPlan]:
    """The row groups in file order; footers (`groups_of`) are asked for only as far as they are needed.

    With a predicate skip, head and tail count matching rows, which planning does not know: row groups are planned as if
    there were none, for tail from the last one on.
    """
    if selection.byte_range is not None and file_count != 1:
        raise ValueError(f"byte_range() is a split of one file, but the source has {file_count} files")
    if selection.predicate is not None:
        if selection.tail is not None:
            return _plan_backward(file_count, groups_of)
        return _plan_forward(replace(selection, skip=None, head=None), file_count, groups_of)
    if selection.tail is not None:
        return _plan_tail(selection.tail, file_count, groups_of)
    return _plan_forward(selection, file_count, groups_of)


def _plan_forward(
    selection: Selection, file_count: int, groups_of: Callable[[int], Sequence[GroupFacts]]
) -> Iterator[GroupPlan]:
    to_skip = selection.skip or 0
    left = selection.head
    wanted = selection.row_ranges
    position = 0  # rows of the dataset before the row group
    for file in range(file_count):
        if left == 0 or (wanted is not None and (not wanted or position >= wanted.pairs[-1][1])):
            return
        for number, group in enumerate(groups_of(file)):
            row_count = group.num_rows
            rows = RowRanges.all(row_count)
            if wanted is not None:
                rows = wanted.clip(position, position + row_count)
            position += row_count
            if selection.byte_range is not None:
                start, stop = selection.byte_range
                if not start <= group.midpoint < stop:
                    continue
            available = rows.row_count
            if to_skip:
                rows = rows.skip(to_skip)
                to_skip -= min(to_skip, available)
            if left is not None:
                rows = rows.head(left)
                left -= rows.row_count
            if rows:
                yield GroupPlan(file, number, rows, rows.covers(row_count))
            if left == 0:
                return


def _plan_tail(
    row_count: int, file_count: int, groups_of: Callable[[int], Sequence[GroupFacts]]
) -> Iterator[GroupPlan]:
    plans: list[GroupPlan] = []
    left = row_count
    for file in reversed(range(file_count)):
        groups = groups_of(file) if left else ()
        for number in reversed(range(len(groups))):
            if left == 0:
                break
            count = groups[number].num_rows
            taken = min(left, count)
            left -= taken
            rows = RowRanges.of([(count - taken, count)])
            if rows:
                plans.append(GroupPlan(file, number, rows, rows.covers(count)))
    return iter(plans[::-1])


def _plan_backward(file_count: int, groups_of: Callable[[int], Sequence[GroupFacts]]) -> Iterator[GroupPlan]:
    for file in reversed(range(file_count)):
        groups = groups_of(file)
        for number in reversed(range(len(groups))):
            rows = RowRanges.all(groups[number].num_rows)
            if rows:
                yield GroupPlan(file, number, rows, True)
