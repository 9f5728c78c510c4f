"""Bytes of a Statistics struct -> Statistics; and those of one column in all row groups -> columns of numbers.

No decisions: what bounds may prove is in `plan/statistics.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hardwood_jit.kernels import tables as t


@dataclass(frozen=True)
class Statistics:
    """Bounds and counts as the file has them; bounds are PLAIN bytes, None where absent."""

    min_value: bytes | None = None
    max_value: bytes | None = None
    deprecated_min: bytes | None = None
    deprecated_max: bytes | None = None
    null_count: int | None = None
    distinct_count: int | None = None
    nan_count: int | None = None
    is_min_exact: bool | None = None
    is_max_exact: bool | None = None


def skim_statistics(src: NDArray[np.uint8], start: int, end: int) -> Statistics:
    """The Statistics between two positions of bytes that a kernel has walked; ten times faster than `thrift`."""
    from hardwood_jit.kernels.skim import skim_statistics

    table = np.empty((1, t.STATS_FIELDS), np.int64)
    if skim_statistics(src, start, end, table) < 0:
        return Statistics()
    row = table[0].tolist()

    def stored(field: int) -> bytes | None:
        at = row[field]
        if at < 0:
            return None
        while src[at] >= 0x80:  # the length is a varint in front
            at += 1
        return src[at + 1 : row[field + 1]].tobytes()

    def counted(field: int) -> int | None:
        return row[field] if row[field] >= 0 else None

    def flag(field: int) -> bool | None:
        return None if row[field] < 0 else row[field] == 1

    return Statistics(
        stored(t.STATS_MIN_START),
        stored(t.STATS_MAX_START),
        stored(t.STATS_OLD_MIN_START),
        stored(t.STATS_OLD_MAX_START),
        counted(t.STATS_NULLS),
        counted(t.STATS_DISTINCT),
        counted(t.STATS_NANS),
        flag(t.STATS_MIN_EXACT),
        flag(t.STATS_MAX_EXACT),
    )


class ColumnStatistics:
    """The statistics of one leaf in all row groups, as columns of numbers."""

    def __init__(self, footer: NDArray[np.uint8], chunks: NDArray[np.int64]) -> None:
        """`chunks` are the leaf's rows of the footer's table (int64[row groups, CHUNK_FIELDS])."""
        from hardwood_jit.kernels.skim import skim_all_statistics

        table = np.empty((len(chunks), t.STATS_FIELDS), np.int64)
        starts, ends = chunks[:, t.CHUNK_STATS_START], chunks[:, t.CHUNK_STATS_END]
        skim_all_statistics(footer, np.ascontiguousarray(starts), np.ascontiguousarray(ends), table)
        self._footer = footer
        self._table = table
        self.slots: NDArray[np.int64] = chunks[:, t.CHUNK_VALUES].copy()
        self.null_counts: NDArray[np.int64] = table[:, t.STATS_NULLS].copy()
        self.nan_counts: NDArray[np.int64] = table[:, t.STATS_NANS].copy()
        self.has_inexact: NDArray[np.bool_] = (table[:, t.STATS_MIN_EXACT] == 0) | (table[:, t.STATS_MAX_EXACT] == 0)

    @classmethod
    def of_files(cls, parts: Sequence[tuple[NDArray[np.uint8], NDArray[np.int64]]]) -> ColumnStatistics:
        """Those of several files, one after the other: footers, and the leaf's rows of their tables."""
        sizes = [footer.size for footer, _ in parts]
        chunks = np.concatenate([rows for _, rows in parts])
        shifts = np.repeat(np.cumsum([0, *sizes[:-1]]), [len(rows) for _, rows in parts])
        has_statistics = chunks[:, t.CHUNK_STATS_START] >= 0
        for field in (t.CHUNK_STATS_START, t.CHUNK_STATS_END):
            chunks[has_statistics, field] += shifts[has_statistics]
        return cls(np.concatenate([footer for footer, _ in parts]), chunks)

    def bounds(self, width: int, *, old: bool) -> tuple[NDArray[np.uint8], NDArray[np.uint8], NDArray[np.bool_]]:
        """Minima and maxima as uint8[row groups, width], and where both are there and as long as that.

        With `old` the deprecated fields count where the others are both absent.
        """
        lows, low_known = self._stored(t.STATS_MIN_START, width)
        highs, high_known = self._stored(t.STATS_MAX_START, width)
        known = low_known & high_known
        if old:
            absent = (self._table[:, t.STATS_MIN_START] < 0) & (self._table[:, t.STATS_MAX_START] < 0)
            if absent.any():
                old_lows, low_known = self._stored(t.STATS_OLD_MIN_START, width)
                old_highs, high_known = self._stored(t.STATS_OLD_MAX_START, width)
                chosen = absent & low_known & high_known
                lows[chosen], highs[chosen] = old_lows[chosen], old_highs[chosen]
                known |= chosen
        return lows, highs, known

    def _stored(self, field: int, width: int) -> tuple[NDArray[np.uint8], NDArray[np.bool_]]:
        starts, ends = self._table[:, field], self._table[:, field + 1]
        known = (starts >= 0) & (ends - starts == width + 1)  # the length in front takes a byte
        found = np.zeros((len(starts), width), np.uint8)
        found[known] = self._footer[(starts[known] + 1)[:, None] + np.arange(width)]
        return found, known
