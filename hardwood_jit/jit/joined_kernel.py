"""Row groups of a few kilobytes, laid one after the other -> columns over all of them, in three kernel calls.

The kernels are those that filter a row group as a whole (group_kernel.py): each chunk of each row group is a column to
them, and all rows are survivors. What they decline, and whatever is not plainly right, goes the general way.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hardwood_jit.batch import NO_NULLS, Column, Validity
from hardwood_jit.jit.chunk import CHUNK_BYTES
from hardwood_jit.jit.fused_kernels import FUSED
from hardwood_jit.jit.group_kernel import DICTIONARY, SIZES, is_takeable
from hardwood_jit.jit.kernel_cache import load
from hardwood_jit.jit.value_decoder import WORDS, Bytes, Table, Wanted
from hardwood_jit.kernels import group as fields
from hardwood_jit.kernels.levels import BODY_FIELDS
from hardwood_jit.kernels.slices import FILTER_FIELDS, SLACK
from hardwood_jit.kernels.tables import PAGE_BODY, PAGE_COMPRESSED, PAGE_FIELDS, PAGE_HEADER, PAGE_KIND, PAGE_VALUES
from hardwood_jit.memory import Scratch, allocate, allocate_array
from hardwood_jit.pages.page_reader import page_walker
from hardwood_jit.physical import PhysicalType

if TYPE_CHECKING:
    from hardwood_jit.metadata.schema import Leaf

KERNELS = ("group.place_columns", "group.take_group", "group.copy_group")
MOST_BYTES = 4 * CHUNK_BYTES  # decompressed, of a column: what pages only say that they have takes no more memory
LONGEST = 2**31 - 1  # bytes of a column, whose offsets have 32 bits
PAGES_PER_CHUNK = 8  # room for so many on average; chunks of more are larger than those that are joined

__all__ = ["KERNELS", "JoinedChunks", "are_built", "decode_joined", "is_takeable"]


def are_built() -> bool:
    """Whether the kernels are there; else they are built after the scan, since that takes seconds."""
    return FUSED.has_prepared(KERNELS)


@dataclass(frozen=True, slots=True)
class JoinedChunks:
    """The chunks of several row groups of as many rows: int64[row groups, leaves] each, chunks one after the other."""

    raw: Bytes
    row_count: int  # of each row group
    stops: NDArray[np.int64]  # in `raw`: the first chunk starts at 0, each other one where one stops
    codecs: NDArray[np.int64]

    @property
    def shape(self) -> tuple[int, int]:
        groups, leaves = self.stops.shape
        return groups, leaves

    @property
    def starts(self) -> NDArray[np.int64]:
        flat = self.stops.reshape(-1)
        return np.concatenate([np.zeros(1, np.int64), flat[:-1]])


def decode_joined(
    chunks: JoinedChunks,
    leaves: Sequence[Leaf],
    outputs: Sequence[tuple[int, Wanted]],
    checksums: bool,
    scratch: Scratch,
) -> tuple[Column, ...] | None:
    """The columns of `outputs` (places among `leaves`, forms) over all row groups; None where kernels decline."""
    table = _walk(chunks, scratch)
    if table is None:
        return None
    columns = _columns_of(chunks, leaves, table)
    if columns is None:
        return None
    needed = load("group.place_columns")(table, columns, 0, CHUNK_BYTES)
    if needed < 0 or needed > MOST_BYTES * len(leaves):
        return None
    return _Taking(chunks, leaves, outputs, table, columns, needed, scratch).columns(checksums)


def _walk(chunks: JoinedChunks, scratch: Scratch) -> Table | None:
    """The page headers of all chunks, which follow each other as the pages of one chunk would."""
    groups, leaves = chunks.shape
    room = PAGES_PER_CHUNK * groups * leaves
    size = 8 * room * PAGE_FIELDS
    table = scratch.arena("page table").room(size)[:size].view(np.int64).reshape(room, PAGE_FIELDS)
    end = int(chunks.stops[-1, -1])
    rows, pos, status = page_walker()(chunks.raw, 0, end, groups * leaves * chunks.row_count, table, 0)
    return table[:rows] if status == 0 and pos == end else None


def _columns_of(chunks: JoinedChunks, leaves: Sequence[Leaf], table: Table) -> Table | None:
    """The kernels' table of columns; None unless the pages of each chunk fill it and have a value per row."""
    starts, stops = chunks.starts, chunks.stops.reshape(-1)
    headers = table[:, PAGE_HEADER]
    first = np.searchsorted(headers, starts)
    if len(first) == 0 or int(first[-1]) >= len(table) or (headers[first] != starts).any():
        return None
    after = np.append(first[1:], len(table))
    if (after <= first).any() or (table[after - 1, PAGE_BODY] + table[after - 1, PAGE_COMPRESSED] != stops).any():
        return None
    values = np.where(table[:, PAGE_KIND] == DICTIONARY, 0, table[:, PAGE_VALUES])
    if (np.add.reduceat(values, first) != chunks.row_count).any():
        return None
    groups = chunks.shape[0]
    columns = np.zeros((len(first), fields.COLUMN_FIELDS), np.int64)
    columns[:, fields.COLUMN_FIRST_PAGE] = first
    columns[:, fields.COLUMN_LAST_PAGE] = after
    columns[:, fields.COLUMN_CODEC] = chunks.codecs.reshape(-1)
    columns[:, fields.COLUMN_NULLABLE] = np.tile([leaf.max_definition_level for leaf in leaves], groups)
    columns[:, fields.COLUMN_SIZE] = np.tile([SIZES[leaf.physical_type] for leaf in leaves], groups)
    columns[:, fields.COLUMN_STORED] = stops - starts
    return columns


class _Taking:
    """The kernel calls on all chunks, and what they leave."""

    def __init__(
        self, chunks: JoinedChunks, leaves: Sequence[Leaf], outputs: Sequence[tuple[int, Wanted]], table: Table,
        columns: Table, arena_bytes: int, scratch: Scratch,
    ) -> None:  # fmt: skip
        self._chunks = chunks
        self._leaves = [leaves[place] for place, _ in outputs]
        self._wanted = [form for _, form in outputs]
        self._table = table
        self._columns = columns
        self._arena = scratch.arena("group").room(arena_bytes)
        self._arena_bytes = arena_bytes
        self._scratch = scratch
        self._infos = np.zeros((len(columns), fields.INFO_FIELDS), np.int64)
        self._groups, leaf_count = chunks.shape
        self._rows = self._groups * chunks.row_count
        self._units = {4: 0, 8: 0, 0: 0}  # columns in each output array, as in GroupOutputs
        self._places: list[int] = []
        self._outputs = np.zeros((len(outputs), self._groups, fields.OUTPUT_FIELDS), np.int64)
        numbers = np.arange(self._groups)
        for rows, (place, form), leaf in zip(self._outputs, outputs, self._leaves, strict=True):
            is_wide = form.form == "decimal128"
            kind, units = (8, 2) if is_wide else (SIZES[leaf.physical_type], 1)
            first = self._units[kind] * self._groups
            self._places.append(first)
            self._units[kind] += units
            rows[:, fields.OUTPUT_COLUMN] = numbers * leaf_count + place
            rows[:, fields.OUTPUT_IS_WIDE] = is_wide
            rows[:, fields.OUTPUT_IS_TEXT] = form.text
            rows[:, fields.OUTPUT_PLACE] = first + numbers * units

    def columns(self, checksums: bool) -> tuple[Column, ...] | None:
        scratch, count, pages = self._scratch, self._chunks.row_count, len(self._table)
        outputs = self._outputs.reshape(-1, fields.OUTPUT_FIELDS)
        out_words = ((count + 63) >> 6) + 1
        validity = self._int64s("validity", len(self._columns), out_words).view(np.uint64)
        self._valid = np.empty((len(outputs), out_words), np.uint64)
        out_4 = allocate_array(self._units[4] * self._rows, np.uint32, 4)
        out_8 = allocate_array(self._units[8] * self._rows, np.uint64, 8)
        texts = self._units[0] * self._rows
        starts = self._int64s("starts", 1, texts).reshape(-1)
        lengths = scratch.int32("lengths", texts)
        gathered = self._int64s("gathered", pages, FILTER_FIELDS)
        entry_starts = scratch.int32("entries", self._arena_bytes >> 2)
        raw = self._chunks.raw
        status = load("group.take_group")(
            raw, raw, self._table, self._columns, outputs, checksums, count, np.arange(count, dtype=np.int32),
            self._arena, self._int64s("bodies", pages, BODY_FIELDS), self._int64s("slices", pages, FILTER_FIELDS),
            validity, scratch.counts, self._infos, scratch.int32("ranks", count + 1), gathered, self._valid,
            scratch.int32("codes", count + 1), scratch.int32("page codes", count),
            scratch.int32("numbers", count).view(np.uint32), self._int64s("wide numbers", 1, count)[0].view(np.uint64),
            entry_starts, starts, lengths, out_4, out_8,
        )  # fmt: skip
        if status < 0:
            return None
        found = [self._column(number, out_4, out_8) for number in range(len(self._leaves))]
        if texts and not self._copy_texts(found, outputs, (gathered, self._valid, entry_starts, starts, lengths)):
            return None
        return tuple(found)

    def _int64s(self, name: str, rows: int, columns: int) -> Table:
        size = 8 * rows * columns
        return self._scratch.arena(name).room(size)[:size].view(np.int64).reshape(rows, columns)

    def _column(self, number: int, out_4: NDArray[np.uint32], out_8: NDArray[np.uint64]) -> Column:
        leaf, rows = self._leaves[number], self._rows
        column = Column(leaf, rows, rows, self._validity(number))
        first = self._places[number] * self._chunks.row_count
        if self._wanted[number].form == "decimal128":
            column.form = "decimal128"
            column.values = out_8[first : first + 2 * rows].reshape(rows, 2)
            logical = leaf.logical_type
            if logical is not None and logical.precision is not None:
                # Null slots hold anything: with those the export looks at the present values itself.
                largest = int(self._outputs[number, :, fields.OUTPUT_BYTES].max())
                column.range_checked = largest < 10**logical.precision
        elif leaf.physical_type != PhysicalType.BYTE_ARRAY:
            dtype = WORDS[leaf.physical_type][1]
            out = out_4 if dtype.itemsize == 4 else out_8
            column.values = out[first : first + rows].view(dtype)
        return column

    def _validity(self, number: int) -> Validity:
        """The bits of all row groups, each of which starts at a word of its own, one after the other."""
        nulls = self._outputs[number, :, fields.OUTPUT_NULLS]
        total = int(nulls.sum())
        if not total:
            return NO_NULLS
        words = self._valid[number * self._groups : (number + 1) * self._groups]
        bits = np.unpackbits(words.view(np.uint8), axis=1, count=self._chunks.row_count, bitorder="little")
        bits[nulls == 0] = 1
        joined = np.zeros((self._rows + 63) >> 6, np.uint64)
        packed = np.packbits(bits.reshape(-1), bitorder="little")
        joined.view(np.uint8)[: len(packed)] = packed
        return Validity(joined, self._rows, total)

    def _copy_texts(self, found: Sequence[Column], outputs: Table, taken: tuple[NDArray[np.generic], ...]) -> bool:
        """Fill in the byte arrays that were found: whether kernels took them."""
        groups, count = self._groups, self._chunks.row_count
        texts = [
            number for number, leaf in enumerate(self._leaves) if leaf.physical_type == PhysicalType.BYTE_ARRAY
        ]
        sizes = self._outputs[texts, :, fields.OUTPUT_BYTES]
        total = int(sizes.sum())
        if total > CHUNK_BYTES * len(texts) or int(sizes.sum(axis=1).max()) > LONGEST:
            return False
        offsets = self._scratch.int32("text offsets", len(texts) * groups * (count + 1))
        data = self._scratch.arena("text").room(total + SLACK * sizes.size)
        status = load("group.copy_group")(
            self._table, self._columns, outputs, count, self._arena, self._infos, *taken, offsets, data
        )
        if status < 0:
            return False
        stops = np.cumsum(sizes.reshape(-1) + SLACK).reshape(sizes.shape) - SLACK
        for row, number in enumerate(texts):
            column, size = found[number], int(sizes[row].sum())
            column.data = allocate(size)[:size]
            pieces = zip((stops[row] - sizes[row]).tolist(), stops[row].tolist(), strict=True)
            np.concatenate([data[start:stop] for start, stop in pieces], out=column.data)
            column.offsets = allocate_array(self._rows + 1, np.int32, 4)
            place = self._places[number] * (count + 1)
            own = offsets[place : place + groups * (count + 1)].reshape(groups, count + 1)
            before = (np.cumsum(sizes[row]) - sizes[row]).astype(np.int32)
            np.add(own[:, :-1], before[:, None], out=column.offsets[:-1].reshape(groups, count))
            column.offsets[-1] = size
            column.text_checked = bool(self._wanted[number].text)
        return True
