"""A few pages of the flat columns of a row group: one kernel call tests them, one or two more take the rows found.

As jit/group_kernel.py for row groups whose pages were chosen by offset indexes. What kernels decline goes the general
way.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from hardwood_jit.batch import Column
from hardwood_jit.jit.chunk import CHUNK_BYTES, INFO_LOADED, INFO_USED, MOST_ENTRIES
from hardwood_jit.jit.fused_kernels import FUSED
from hardwood_jit.jit.group_kernel import SIZES, GroupOutputs, copy_bytes, int64s, make_columns
from hardwood_jit.jit.kernel_cache import load
from hardwood_jit.jit.value_decoder import Bytes, Table
from hardwood_jit.jit.value_test import PreparedTest
from hardwood_jit.kernels import group as fields
from hardwood_jit.kernels.chunk import INFO_OPEN
from hardwood_jit.kernels.levels import BODY_FIELDS
from hardwood_jit.kernels.slices import FILTER_FIELDS
from hardwood_jit.kernels.tables import PAGE_FIELDS, PAGE_STATS_START, PAGE_UNCOMPRESSED, PAGE_VALUES
from hardwood_jit.memory import Scratch, allocate_array
from hardwood_jit.pages.page_reader import page_walker

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hardwood_jit.metadata.schema import Leaf

KERNELS = ("group.place_columns", "group.copy_group", "lookup.find_rows", "lookup.take_rows")
MOST_PAGES = 512  # of all columns together
NO_NUMBERS = np.empty(0, np.int64)
NO_BYTES = np.empty(0, np.uint8)


def are_built() -> bool:
    """Whether the kernels are there; else they are built after the scan, since that takes seconds."""
    return FUSED.has_prepared(KERNELS)


@dataclass(slots=True)
class StoredPages:
    """The bytes of a column's dictionary and chosen pages, which lie one behind the other in a buffer."""

    leaf: Leaf
    codec: int
    start: int  # in the buffer
    stop: int
    rows: list[tuple[int, int]]  # of each page: first, behind the last


class LookupKernel:
    """One row group: a column that is tested, then columns to take from, each opened with its pages."""

    def __init__(self, column_count: int, row_count: int, scratch: Scratch, checksums: bool, page_bytes: int) -> None:
        self._scratch = scratch
        self._row_count = row_count
        self._checksums = checksums
        self._page_bytes = min(page_bytes, CHUNK_BYTES)
        self._columns = np.zeros((column_count, fields.COLUMN_FIELDS), np.int64)
        self._infos = np.zeros((column_count, fields.INFO_FIELDS), np.int64)
        self._table: Table = int64s(scratch, "page table", MOST_PAGES, PAGE_FIELDS)
        self._page_rows: Table = int64s(scratch, "page rows", MOST_PAGES, 2)
        self._bodies: Table = int64s(scratch, "bodies", MOST_PAGES, BODY_FIELDS)
        self._slices: Table = int64s(scratch, "slices", MOST_PAGES, FILTER_FIELDS)
        self._validity: Table = int64s(scratch, "validity", column_count, ((row_count + 63) >> 6) + 1).view(np.uint64)
        self._opened = 0
        self._rows = 0
        self._arena_bytes = 0
        self._filtered: Bytes | None = None
        self._put_out: Bytes | None = None

    def open(self, raw: Bytes, parts: Sequence[StoredPages], *, only_output: bool) -> bool:
        """Walk the headers of the next columns, whose bytes are in `raw`: whether all are for these kernels."""
        first, row, walk, table = self._opened, self._rows, page_walker(), self._table
        columns: list[tuple[int, ...]] = []
        page_rows: list[tuple[int, int]] = []
        for part in parts:
            rows = part.rows
            if row + len(rows) >= MOST_PAGES:
                return False
            count = sum(stop - start for start, stop in rows)
            after, _, status = walk(raw, part.start, part.stop, count, table, row)
            if status != 0:
                return False
            if after - row == len(rows) + 1:
                page_rows.append((0, 0))  # its dictionary
            elif after - row != len(rows):
                return False
            page_rows += rows
            leaf = part.leaf
            size, stored = SIZES[leaf.physical_type], part.stop - part.start
            known = (row, after, part.codec, leaf.max_definition_level, size, only_output, stored)
            columns.append((*known, *(0,) * (fields.COLUMN_FIELDS - len(known))))
            row = after
        self._columns[first : first + len(parts)] = columns
        self._page_rows[self._rows : row] = page_rows
        self._opened, self._rows = first + len(parts), row
        if only_output:
            self._put_out = raw
        else:
            self._filtered = raw
        needed = load("group.place_columns")(table, self._columns[: self._opened], first, self._page_bytes)
        if needed < 0:
            return False
        self._scratch.arena("group").room(needed, self._arena_bytes)
        self._arena_bytes = needed
        return True

    def find(self, prepared: PreparedTest, rows: Sequence[tuple[int, int]]) -> int:
        """The rows of these candidates that pass a test of the first column: how many, negative where it declines."""
        scratch = self._scratch
        numbers = prepared.numbers
        assert numbers is not None
        entries = int(self._table[0, PAGE_VALUES])
        page_rows = self._page_rows[: self._rows]
        total = int((page_rows[:, 1] - page_rows[:, 0]).sum())
        if entries > MOST_ENTRIES or total > self._row_count:
            return -1
        self._positions = scratch.int32("positions", total + 8)
        found = load("lookup.find_rows")(
            self._filtered, self._table, self._page_rows, self._columns, np.array(rows, np.int64).reshape(-1, 2),
            False, prepared.null_matches, numbers.flip, numbers.float_bits, numbers.lows, numbers.spans, numbers.sieve,
            NO_BYTES, NO_NUMBERS, NO_BYTES, 0, False, self._checksums, self._row_count,
            scratch.arena("group").buffer, self._bodies, self._slices, self._validity, scratch.counts,
            scratch.int32("page codes", total), scratch.arena("hit").room(entries)[:entries],
            scratch.int32("entries", entries), self._infos, self._positions,
        )  # fmt: skip
        return int(found)

    def rows_found(self, count: int) -> list[int]:
        """The rows that the last `find` has found."""
        found: list[int] = self._positions[:count].tolist()
        return found

    def take(self, outputs: GroupOutputs, low: int, high: int) -> tuple[Column, ...] | None:
        """Output columns of the rows number low .. high of those found; None where kernels decline."""
        scratch = self._scratch
        count = high - low
        gathered = int64s(scratch, "gathered", self._rows, FILTER_FIELDS)
        units, table = outputs.units, outputs.table.copy()
        out_validity = np.empty((len(table), ((count + 63) >> 6) + 1), np.uint64)
        out_4 = allocate_array(units[4] * count, np.uint32, 4)
        out_8 = allocate_array(units[8] * count, np.uint64, 8)
        starts: NDArray[np.int64] = int64s(scratch, "starts", 1, units[0] * count).reshape(-1)
        lengths = scratch.int32("lengths", units[0] * count)
        most_entries = int(self._table[: self._rows, PAGE_VALUES].max())
        entry_starts = scratch.int32("entries", most_entries)
        arena = scratch.arena("group").buffer
        filtered = self._filtered
        assert filtered is not None
        status = load("lookup.take_rows")(
            filtered, filtered if self._put_out is None else self._put_out, self._table, self._page_rows,
            self._columns[: self._opened], table, self._checksums, self._row_count, self._positions[low:high], arena,
            self._bodies, self._slices, self._validity, scratch.counts, self._infos[: self._opened],
            scratch.int32("ranks", count + 1), gathered, out_validity, scratch.int32("codes", count + 1),
            scratch.int32("numbers", count).view(np.uint32),
            scratch.arena("wide numbers").room(8 * count)[: 8 * count].view(np.uint64), entry_starts, starts, lengths,
            out_4, out_8,
        )  # fmt: skip
        if status < 0:
            return None
        results = table.tolist()
        columns = make_columns(outputs, results, count, out_validity, out_4, out_8)
        opened = (self._table, self._columns, table, count, arena, self._infos)
        found = (gathered, out_validity, entry_starts, starts, lengths)
        if units[0] and not copy_bytes(columns, results, count, opened, found):
            return None
        return tuple(columns)

    def has_statistics(self, least_bytes: int) -> bool:
        """Whether the header of a page as large as that has statistics."""
        table = self._table[: self._rows]
        return bool(((table[:, PAGE_STATS_START] > 0) & (table[:, PAGE_UNCOMPRESSED] >= least_bytes)).any())

    def pages(self) -> list[tuple[int, int, int]]:
        """Of each column: data pages, those of them that were decompressed, and their bytes."""
        infos = self._infos[: self._opened].tolist()
        rows = self._columns[: self._opened].tolist()
        empty = (self._page_rows[: self._rows, 1] == 0).tolist()
        found = []
        for info, row in zip(infos, rows, strict=True):
            first, last = row[fields.COLUMN_FIRST_PAGE], row[fields.COLUMN_LAST_PAGE]
            found.append((last - first - empty[first], info[INFO_LOADED], info[INFO_USED]))
        return found

    @property
    def held_bytes(self) -> int:
        """Decompressed bytes in memory: pages, and dictionaries as far as they are needed."""
        infos = self._infos[: self._opened]
        return int(infos[:, INFO_USED].sum() + np.maximum(infos[:, INFO_OPEN] - 1, 0).sum())
