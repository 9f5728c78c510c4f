"""The flat columns of a small row group, filtered by one kernel call and gathered by one or two more.

jit/chunk.py does the same column by column. On row groups of a hundred thousand rows its Python steps took as long as
the kernels, and two threads queued for the interpreter lock. What kernels decline goes the general way.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hardwood_jit.batch import NO_NULLS, Column, Validity
from hardwood_jit.jit.chunk import CHUNK_BYTES, INFO_LOADED, INFO_USED, MOST_ENTRIES
from hardwood_jit.jit.fused_kernels import FUSED
from hardwood_jit.jit.kernel_cache import load
from hardwood_jit.jit.survivors import Positions
from hardwood_jit.jit.value_decoder import WORDS, Bytes, Table, Wanted, Words
from hardwood_jit.jit.value_test import PreparedTest
from hardwood_jit.kernels import group as fields
from hardwood_jit.kernels.levels import BODY_FIELDS
from hardwood_jit.kernels.slices import FILTER_FIELDS, SLACK
from hardwood_jit.kernels.tables import PAGE_FIELDS, PAGE_KIND, PAGE_STATS_START, PAGE_UNCOMPRESSED, PAGE_VALUES
from hardwood_jit.memory import Scratch, allocate, allocate_array
from hardwood_jit.pages.page_reader import page_walker
from hardwood_jit.physical import PageKind, PhysicalType

if TYPE_CHECKING:
    from hardwood_jit.metadata.schema import Leaf

SIZES = {
    PhysicalType.INT32: 4,
    PhysicalType.FLOAT: 4,
    PhysicalType.INT64: 8,
    PhysicalType.DOUBLE: 8,
    PhysicalType.BYTE_ARRAY: 0,
}
INTEGERS = frozenset({PhysicalType.INT32, PhysicalType.INT64})
KERNELS = ("group.place_columns", "group.narrow_group", "group.take_group", "group.copy_group")
MOST_PAGES = 512  # of all columns together
DICTIONARY = int(PageKind.DICTIONARY_PAGE)


def are_built() -> bool:
    """Whether the kernels are there; else they are built after the scan, since that takes seconds."""
    return FUSED.has_prepared(KERNELS)


def is_flat(leaf: Leaf) -> bool:
    """Whether a column is one for these kernels by its schema."""
    return not leaf.layers and leaf.max_definition_level <= 1 and leaf.physical_type in SIZES


def is_testable(prepared: PreparedTest) -> bool:
    """Whether a test is one for these kernels."""
    if prepared.same_for_all is not None or not is_flat(prepared.leaf):
        return False
    is_number = SIZES[prepared.leaf.physical_type] > 0
    return prepared.numbers is not None if is_number else prepared.byte_strings is not None


def is_takeable(leaf: Leaf, wanted: Wanted) -> bool:
    """Whether an output column is one for these kernels."""
    if not is_flat(leaf):
        return False
    return wanted.form == "physical" or (wanted.form == "decimal128" and SIZES[leaf.physical_type] > 0)


def _joined(parts: Sequence[NDArray[Any]], dtype: Any) -> tuple[NDArray[Any], list[tuple[int, int]]]:
    """Arrays one after the other, and where each lies."""
    ends = np.cumsum([0, *(len(part) for part in parts)]).tolist()
    whole = np.concatenate([*parts, np.empty(0, dtype)]).astype(dtype, copy=False)
    return whole, list(pairwise(ends))


class GroupTests:
    """The tests of a predicate and their constants, for all row groups of a file."""

    def __init__(self, tests: Sequence[PreparedTest], columns: Sequence[int]) -> None:
        numbers = [test.numbers for test in tests]
        texts = [test.byte_strings for test in tests]
        self.lows, lows = _joined([n.lows if n else np.empty(0, np.uint64) for n in numbers], np.uint64)
        self.spans, _ = _joined([n.spans if n else np.empty(0, np.uint64) for n in numbers], np.uint64)
        self.sieves, sieves = _joined([n.sieve if n else np.empty(0, np.uint8) for n in numbers], np.uint8)
        self.ends, ends = _joined([x.asked.ends if x else np.empty(0, np.int64) for x in texts], np.int64)
        self.open_ends, _ = _joined([x.asked.open_ends if x else np.empty(0, np.uint8) for x in texts], np.uint8)
        self.bounds, data = _joined([x.asked.data if x else np.empty(0, np.uint8) for x in texts], np.uint8)
        self.table = np.zeros((len(tests), fields.TEST_FIELDS), np.int64)
        for number, test in enumerate(tests):
            row = self.table[number]
            row[fields.TEST_COLUMN] = columns[number]
            row[fields.TEST_IS_BYTES] = SIZES[test.leaf.physical_type] == 0
            row[fields.TEST_NULL_MATCHES] = test.null_matches
            row[fields.TEST_LOWS : fields.TEST_LOWS + 2] = lows[number]
            row[fields.TEST_SIEVE : fields.TEST_SIEVE + 2] = sieves[number]
            row[fields.TEST_ENDS : fields.TEST_ENDS + 2] = ends[number]
            row[fields.TEST_DATA : fields.TEST_DATA + 2] = data[number]
            bounds, text = numbers[number], texts[number]
            if bounds is not None:
                row[fields.TEST_FLIP] = np.uint64(bounds.flip).view(np.int64)
                row[fields.TEST_FLOAT_BITS] = bounds.float_bits
            if text is not None:
                row[fields.TEST_ORDER] = text.order
                row[fields.TEST_ASKS] = text.asks

    def column(self, number: int) -> int:
        """Which of the group's columns a test looks at."""
        return int(self.table[number, fields.TEST_COLUMN])


class GroupOutputs:
    """The output columns, for all row groups of a file."""

    def __init__(self, leaves: Sequence[Leaf], wanted: Sequence[Wanted], columns: Sequence[int]) -> None:
        self.leaves = leaves
        self.wanted = wanted
        rows: list[tuple[int, ...]] = []
        self.units = {4: 0, 8: 0, 0: 0}  # columns in each output array; a decimal of 128 bits counts twice
        self.places: list[int] = []
        for number, (leaf, form) in enumerate(zip(leaves, wanted, strict=True)):
            size = SIZES[leaf.physical_type]
            is_wide = form.form == "decimal128"
            kind = 8 if is_wide else size
            self.places.append(self.units[kind])
            rows.append((columns[number], is_wide, form.text, self.units[kind], 0, 0))  # as OUTPUT_... number them
            self.units[kind] += 2 if is_wide else 1
        self.table = np.array(rows, np.int64).reshape(len(leaves), fields.OUTPUT_FIELDS)


@dataclass(slots=True)
class StoredChunk:
    """The bytes of one column of the row group, in one of its two buffers."""

    leaf: Leaf
    codec: int
    start: int  # in the buffer
    stop: int
    value_count: int


class GroupKernel:
    """One row group: opened column by column, then narrowed and taken from as a whole."""

    def __init__(self, column_count: int, row_count: int, scratch: Scratch, checksums: bool) -> None:
        self._scratch = scratch
        self._row_count = row_count
        self._checksums = checksums
        self._columns = np.zeros((column_count, fields.COLUMN_FIELDS), np.int64)
        self._infos = np.zeros((column_count, fields.INFO_FIELDS), np.int64)
        self._table: Table = int64s(scratch, "page table", MOST_PAGES, PAGE_FIELDS)
        self._opened = 0
        self._rows = 0
        self._arena_bytes = 0
        words = ((row_count + 63) >> 6) + 1
        room = scratch.arena("validity").room(8 * words * column_count)
        self._validity = room[: 8 * words * column_count].view(np.uint64).reshape(column_count, words)
        self._filtered: Bytes | None = None
        self._put_out: Bytes | None = None

    def open(self, raw: Bytes, chunks: Sequence[StoredChunk], *, only_output: bool) -> bool:
        """Walk the headers of the next columns, whose bytes are in `raw`: whether all are for these kernels."""
        first, row, walk, table = self._opened, self._rows, page_walker(), self._table
        for number, chunk in enumerate(chunks, first):
            after, _, status = walk(raw, chunk.start, chunk.stop, chunk.value_count, table, row)
            if status != 0 or after == row:
                return False
            leaf = chunk.leaf
            self._columns[number] = (
                row, after, chunk.codec, leaf.max_definition_level, SIZES[leaf.physical_type], only_output,
                chunk.stop - chunk.start, leaf.physical_type in INTEGERS, 0, 0, 0, 0,
            )  # fmt: skip
            row = after
        self._opened, self._rows = first + len(chunks), row
        if only_output:
            self._put_out = raw
        else:
            self._filtered = raw
        needed = load("group.place_columns")(table, self._columns[: self._opened], first, CHUNK_BYTES)
        if needed < 0:
            return False
        arena = self._scratch.arena("group")
        arena.room(needed, self._arena_bytes if self._arena_bytes else 0)
        self._arena_bytes = needed
        return True

    def narrow(self, tests: GroupTests, order: Sequence[int], mask: Bytes, left: int) -> tuple[int, Table]:
        """AND tests, in that order, into the mask: candidates left (negative: declined) and what each test did."""
        scratch = self._scratch
        did = np.empty((len(tests.table), fields.DID_FIELDS), np.int64)
        self._bodies = int64s(scratch, "bodies", self._rows, BODY_FIELDS)
        self._slices = int64s(scratch, "slices", self._rows, FILTER_FIELDS)
        hit = scratch.arena("hit").room(MOST_ENTRIES)[:MOST_ENTRIES]
        hits = scratch.arena("hits").room(mask.size)[: mask.size]
        self._positions = scratch.int32("positions", self._row_count + 8)
        count = load("group.narrow_group")(
            self._filtered, self._table, self._columns, tests.table, np.array(order, np.int64), tests.lows, tests.spans,
            tests.sieves, tests.bounds, tests.ends, tests.open_ends, self._checksums, self._row_count, left,
            scratch.arena("group").buffer, self._bodies, self._slices, self._validity, scratch.counts, hit, hits, mask,
            self._infos, did, self._positions,
        )  # fmt: skip
        return int(count), did

    def take(self, outputs: GroupOutputs, low: int, high: int) -> tuple[Column, ...] | None:
        """Output columns of the survivors number low .. high; None where kernels decline."""
        scratch = self._scratch
        count = high - low
        positions: Positions = self._positions[low:high]
        if len(self._bodies) < self._rows:  # columns were opened since
            self._bodies = _grown(scratch, "bodies", self._bodies, self._rows, BODY_FIELDS)
            self._slices = _grown(scratch, "slices", self._slices, self._rows, FILTER_FIELDS)
        gathered = int64s(scratch, "gathered", self._rows, FILTER_FIELDS)
        units, table = outputs.units, outputs.table.copy()
        out_words = ((count + 63) >> 6) + 1
        out_validity = np.empty((len(table), out_words), np.uint64)
        out_4 = allocate_array(units[4] * count, np.uint32, 4)
        out_8 = allocate_array(units[8] * count, np.uint64, 8)
        starts = scratch.arena("starts").room(8 * units[0] * count)[: 8 * units[0] * count].view(np.int64)
        lengths = scratch.int32("lengths", units[0] * count)
        entry_starts = scratch.int32("entries", self._arena_bytes >> 2)
        arena = scratch.arena("group").buffer
        filtered, put_out = self._filtered, self._put_out
        assert filtered is not None
        status = load("group.take_group")(
            filtered, filtered if put_out is None else put_out, self._table, self._columns, table, self._checksums,
            self._row_count, positions, arena, self._bodies, self._slices, self._validity, scratch.counts, self._infos,
            scratch.int32("ranks", count + 1), gathered, out_validity, scratch.int32("codes", count + 1),
            scratch.int32("page codes", self._row_count), scratch.int32("numbers", count).view(np.uint32),
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

    @property
    def held_bytes(self) -> int:
        """Decompressed bytes in memory."""
        held = int(self._infos[:, INFO_USED].sum())
        for first in self._columns[: self._opened, fields.COLUMN_FIRST_PAGE].tolist():
            if self._table[first, PAGE_KIND] == DICTIONARY:
                held += int(self._table[first, PAGE_UNCOMPRESSED])
        return held

    def pages(self) -> Iterator[tuple[int, int, int]]:
        """Per opened column its data pages, how many of them were decompressed, and their bytes."""
        opened = self._columns[: self._opened].tolist()
        for column, info in zip(opened, self._infos[: self._opened].tolist(), strict=True):
            first, after = column[fields.COLUMN_FIRST_PAGE], column[fields.COLUMN_LAST_PAGE]
            has_dictionary = bool(self._table[first, PAGE_KIND] == DICTIONARY)
            yield after - first - has_dictionary, info[INFO_LOADED], info[INFO_USED]

    def page_headers(self, number: int) -> Iterator[tuple[list[int], Bytes, int, int]]:
        """Headers of the data pages of a filter column, the bytes they count in, and the rows of each."""
        assert self._filtered is not None
        pages = self._columns[number, [fields.COLUMN_FIRST_PAGE, fields.COLUMN_LAST_PAGE]]
        first = 0
        for header in self._table[pages[0] : pages[1]].tolist():
            if header[PAGE_KIND] != DICTIONARY:
                last = first + header[PAGE_VALUES]
                yield header, self._filtered, first, last
                first = last

    def has_statistics(self, least_bytes: int) -> bool:
        """Whether some page of so many bytes has statistics in its header."""
        table = self._table[: self._rows]
        return bool(((table[:, PAGE_STATS_START] > 0) & (table[:, PAGE_UNCOMPRESSED] >= least_bytes)).any())

    def position(self, number: int) -> int:
        """The row of a survivor."""
        return int(self._positions[number])


def make_columns(
    outputs: GroupOutputs,
    results: list[list[int]],
    count: int,
    out_validity: Words,
    out_4: NDArray[np.uint32],
    out_8: NDArray[np.uint64],
) -> list[Column]:
    """The output columns, those of byte arrays still without bytes."""
    columns: list[Column] = []
    for number, (leaf, wanted, result) in enumerate(zip(outputs.leaves, outputs.wanted, results, strict=True)):
        nulls = result[fields.OUTPUT_NULLS]
        validity = NO_NULLS
        if nulls:
            validity = Validity(out_validity[number, : (count + 63) >> 6], count, nulls)
        column = Column(leaf, count, count, validity)
        columns.append(column)
        place = outputs.places[number] * count
        if wanted.form == "decimal128":
            column.form = "decimal128"
            column.values = out_8[place : place + 2 * count].reshape(count, 2)
            logical = leaf.logical_type
            if logical is not None and logical.precision is not None:
                # Null slots hold anything: with those the export looks at the present values itself.
                column.range_checked = result[fields.OUTPUT_BYTES] < 10**logical.precision
        elif leaf.physical_type != PhysicalType.BYTE_ARRAY:
            dtype = WORDS[leaf.physical_type][1]
            out = out_4 if dtype.itemsize == 4 else out_8
            column.values = out[place : place + count].view(dtype)
    return columns


def copy_bytes(
    columns: Sequence[Column], results: list[list[int]], count: int, opened: tuple[Any, ...], found: tuple[Any, ...]
) -> bool:
    """Fill in the byte arrays that were found: whether kernels took them.

    `opened` and `found` are the first and the next arguments of `group.copy_group`.
    """
    texts = [
        (column, result[fields.OUTPUT_BYTES], result[fields.OUTPUT_PLACE], result[fields.OUTPUT_IS_TEXT])
        for column, result in zip(columns, results, strict=True)
        if column.leaf.physical_type == PhysicalType.BYTE_ARRAY
    ]
    total = sum(byte_count for _, byte_count, _, _ in texts)
    if total > CHUNK_BYTES * len(texts):
        return False
    offsets = allocate_array(len(texts) * (count + 1), np.int32, 4)
    data = allocate(total + SLACK * len(texts))
    if load("group.copy_group")(*opened, *found, offsets, data) < 0:
        return False
    used = 0
    for column, byte_count, place, is_text in texts:
        column.offsets = offsets[place * (count + 1) : (place + 1) * (count + 1)]
        column.data = data[used : used + byte_count]
        column.text_checked = bool(is_text)
        used += byte_count + SLACK
    return True


def int64s(scratch: Scratch, name: str, rows: int, columns: int) -> Table:
    """A reused table."""
    size = 8 * rows * columns
    return scratch.arena(name).room(size)[:size].view(np.int64).reshape(rows, columns)


def _grown(scratch: Scratch, name: str, table: Table, rows: int, columns: int) -> Table:
    """The table with more rows, its content kept."""
    scratch.arena(name).room(8 * rows * columns, table.nbytes)
    return int64s(scratch, name, rows, columns)
