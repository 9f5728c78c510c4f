"""RowRanges: sorted, disjoint, non-empty half-open intervals of row numbers, with and, clip, skip and head."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass


@dataclass(frozen=True)
class RowRanges:
    """Immutable; every method returns a new value.

    >>> from hardwood_jit.plan.row_ranges import RowRanges
    >>> ranges = RowRanges.of([(5, 9), (0, 3), (2, 4)])
    >>> list(ranges), ranges.row_count
    ([(0, 4), (5, 9)], 8)
    >>> list(ranges.skip(3).head(2))
    [(3, 4), (5, 6)]
    """

    pairs: tuple[tuple[int, int], ...]

    @classmethod
    def of(cls, pairs: Iterable[tuple[int, int]]) -> RowRanges:
        """Sort and merge; empty and reversed intervals vanish."""
        merged: list[tuple[int, int]] = []
        for start, stop in sorted((int(a), int(b)) for a, b in pairs):
            if stop <= start:
                continue
            if merged and start <= merged[-1][1]:
                merged[-1] = (merged[-1][0], max(merged[-1][1], stop))
            else:
                merged.append((start, stop))
        return cls(tuple(merged))

    @classmethod
    def all(cls, row_count: int) -> RowRanges:
        return cls(((0, row_count),) if row_count else ())

    def __iter__(self) -> Iterator[tuple[int, int]]:
        return iter(self.pairs)

    def __bool__(self) -> bool:
        return bool(self.pairs)

    @property
    def row_count(self) -> int:
        if len(self.pairs) == 1:  # nearly always
            start, stop = self.pairs[0]
            return stop - start
        return sum(stop - start for start, stop in self.pairs)

    def covers(self, row_count: int) -> bool:
        """Whether these are all rows 0 .. row_count."""
        return self.pairs == RowRanges.all(row_count).pairs

    def clip(self, start: int, stop: int) -> RowRanges:
        """The part inside start .. stop, renumbered from `start`."""
        return RowRanges(
            tuple(
                (max(a, start) - start, min(b, stop) - start) for a, b in self.pairs if max(a, start) < min(b, stop)
            )
        )

    def intersect(self, other: RowRanges) -> RowRanges:
        out: list[tuple[int, int]] = []
        i = j = 0
        while i < len(self.pairs) and j < len(other.pairs):
            start = max(self.pairs[i][0], other.pairs[j][0])
            stop = min(self.pairs[i][1], other.pairs[j][1])
            if start < stop:
                out.append((start, stop))
            if self.pairs[i][1] < other.pairs[j][1]:
                i += 1
            else:
                j += 1
        return RowRanges(tuple(out))

    def union(self, other: RowRanges) -> RowRanges:
        return RowRanges.of((*self.pairs, *other.pairs)) if self.pairs and other.pairs else self if self else other

    def minus(self, other: RowRanges) -> RowRanges:
        """Without the rows of `other`."""
        if not other.pairs or not self.pairs:
            return self
        out: list[tuple[int, int]] = []
        number = 0
        for start, stop in self.pairs:
            while number < len(other.pairs) and other.pairs[number][1] <= start:
                number += 1
            following = number
            while following < len(other.pairs) and other.pairs[following][0] < stop:
                if other.pairs[following][0] > start:
                    out.append((start, other.pairs[following][0]))
                start = max(start, other.pairs[following][1])
                following += 1
            if start < stop:
                out.append((start, stop))
        return RowRanges(tuple(out))

    def contains(self, other: RowRanges) -> bool:
        """Whether every row of `other` is here, too."""
        return not other.minus(self)

    def skip(self, row_count: int) -> RowRanges:
        """Without the first `row_count` rows."""
        out: list[tuple[int, int]] = []
        for start, stop in self.pairs:
            if row_count >= stop - start:
                row_count -= stop - start
                continue
            out.append((start + row_count, stop))
            row_count = 0
        return RowRanges(tuple(out))

    def head(self, row_count: int) -> RowRanges:
        """Only the first `row_count` rows."""
        out: list[tuple[int, int]] = []
        for start, stop in self.pairs:
            if row_count <= 0:
                break
            out.append((start, min(stop, start + row_count)))
            row_count -= stop - start
        return RowRanges(tuple(out))
