"""A small flat column chunk, filtered or gathered by one kernel call straight from its compressed bytes.

A row group of a hundred thousand rows is a few hundred microseconds of work per column: Python steps per page would
take longer than that, and two threads would queue for the interpreter lock. What kernels decline goes the general way.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hardwood_jit.batch import NO_NULLS, Column, Validity
from hardwood_jit.jit.gather import DENSE_BYTES
from hardwood_jit.jit.kernel_cache import load, load_for_count
from hardwood_jit.jit.survivors import Positions
from hardwood_jit.jit.value_decoder import NO_WORDS, SIGNED, WORDS, Bytes, Wanted, Words
from hardwood_jit.jit.value_test import PreparedTest
from hardwood_jit.kernels.levels import BODY_END, BODY_FIELDS, BODY_START
from hardwood_jit.kernels.slices import FILTER_FIELDS
from hardwood_jit.kernels.status import TABLE_FULL
from hardwood_jit.kernels.tables import (
    PAGE_ENCODING,
    PAGE_FIELDS,
    PAGE_KIND,
    PAGE_UNCOMPRESSED,
    PAGE_VALUES,
)
from hardwood_jit.memory import Scratch, allocate, allocate_array
from hardwood_jit.pages.page_reader import page_walker
from hardwood_jit.physical import Codec, Encoding, PageKind, PhysicalType

if TYPE_CHECKING:
    from hardwood_jit.metadata.schema import Leaf
    from hardwood_jit.pages.page_reader import ChunkFacts

CHUNK_BYTES = 8 << 20  # decompressed data pages: what a window may hold of a column
QUICK_BYTES = 256 << 10
# Of numbers: above, everything is decoded and then taken. Nowhere: pages all of whose rows survive are decoded whole
# here, too (two columns, all of 1 million rows, one thread: PLAIN 12.8 ms the general way and 10.9 here).
DENSE_CHUNK = 1.0
MOST_PAGES = 512
MOST_ENTRIES = 1 << 20

_CODECS = frozenset({int(Codec.UNCOMPRESSED), int(Codec.SNAPPY)})
_ENCODINGS = frozenset(map(int, (Encoding.PLAIN, Encoding.PLAIN_DICTIONARY, Encoding.RLE_DICTIONARY)))
_SPLIT = frozenset({int(Encoding.BYTE_STREAM_SPLIT)})
_DELTA = frozenset({int(Encoding.DELTA_BINARY_PACKED)})
_PACKED = {  # written out as PLAIN before anything else
    PhysicalType.INT32: _SPLIT | _DELTA,
    PhysicalType.INT64: _SPLIT | _DELTA,
    PhysicalType.FLOAT: _SPLIT,
    PhysicalType.DOUBLE: _SPLIT,
}
_NUMBERS = frozenset({PhysicalType.INT32, PhysicalType.INT64, PhysicalType.FLOAT, PhysicalType.DOUBLE})
_KIND = int(PageKind.DICTIONARY_PAGE)
INFO_USED, INFO_LOADED, INFO_ENCODING, INFO_FIELDS = 3, 4, 5, 6  # see kernels/chunk.py


class Chunk:
    """One column of one row group, all of whose rows are under the window."""

    def __init__(
        self,
        leaf: Leaf,
        facts: ChunkFacts,
        raw: Bytes,
        table: NDArray[np.int64],
        total_bytes: int,
        unpacked_bytes: int,
        scratch: Scratch,
    ) -> None:
        self.leaf = leaf
        self._facts = facts
        self.raw = raw
        self.table = table
        self._scratch = scratch
        has_dictionary = bool(table[0, PAGE_KIND] == _KIND)
        self.dictionary_bytes = int(table[0, PAGE_UNCOMPRESSED]) if has_dictionary else 0
        self.entry_count = int(table[0, PAGE_VALUES]) if has_dictionary else 0
        self.data_bytes = total_bytes - self.dictionary_bytes
        self.page_count = len(table) - has_dictionary
        self.nullable = leaf.max_definition_level > 0
        # Threads that hand the interpreter lock to each other for every 50 µs of work are slower than one alone.
        self._is_quick = total_bytes < QUICK_BYTES
        self.bodies = np.empty((self.page_count, BODY_FIELDS), np.int64)
        self._slices = np.empty((self.page_count, FILTER_FIELDS), np.int64)
        words = ((facts.row_count + 63) >> 6) + 1
        self._validity: Words = np.zeros(words, np.uint64) if self.nullable else NO_WORDS
        self.info = np.zeros(INFO_FIELDS, np.int64)
        self._entries_are_text: bool | None = None
        self.dictionary = scratch.arena(("dictionary", leaf.index)).room(self.dictionary_bytes)
        self.arena = scratch.arena(("pages", leaf.index)).room(self.data_bytes + unpacked_bytes)

    def narrow(self, prepared: PreparedTest, mask: Bytes, checksums: bool) -> int | None:
        """AND a test into the mask of the whole row group: candidates left; None where the kernel declined."""
        if prepared.same_for_all is not None or self.entry_count > MOST_ENTRIES:
            return None
        scratch = self._scratch
        entries = 1 << max(self.entry_count - 1, 0).bit_length()
        hit = scratch.arena("hit").room(entries)[:entries]
        hits = scratch.arena("hits").room(mask.size)[: mask.size]
        head = (self.raw, self.table, self._facts.codec, checksums, self.nullable, self._facts.row_count)
        state = (self.dictionary, self.arena, self.bodies, self._slices, self._validity, scratch.counts)
        if self.leaf.physical_type in _NUMBERS and prepared.numbers is not None:
            bounds = prepared.numbers
            size = 4 if self.leaf.physical_type in (PhysicalType.INT32, PhysicalType.FLOAT) else 8
            left = load("chunk.narrow_numbers", quick=self._is_quick)(
                *head, size, bounds.flip, bounds.float_bits, bounds.lows, bounds.spans, bounds.sieve,
                prepared.null_matches, *state, hit, hits, mask, self.info,
            )  # fmt: skip
        elif self.leaf.physical_type == PhysicalType.BYTE_ARRAY and prepared.byte_strings is not None:
            text = prepared.byte_strings
            asked = text.asked
            left = load("chunk.narrow_byte_arrays", quick=self._is_quick)(
                *head, asked.data, asked.ends, asked.open_ends, text.order, text.asks, prepared.null_matches,
                *state, hit, hits, mask, self.info,
            )  # fmt: skip
        else:
            return None
        if left < 0:
            self.info[:] = 0
            return None
        prepared.kernels[f"chunk(c0: {self.leaf.physical_type})"] = "prepared"
        return left

    def take(self, positions: Positions, wanted: Wanted, checksums: bool) -> Column | None:
        """The column of the rows at `positions`; None where that is not the way, or the kernel declined."""
        physical = self.leaf.physical_type
        count = len(positions)
        share = count / max(self._facts.row_count, 1)
        if physical in _NUMBERS:
            if share > DENSE_CHUNK or wanted.form not in ("physical", "decimal128"):
                return None
        elif physical != PhysicalType.BYTE_ARRAY or share > DENSE_BYTES or wanted.form != "physical":
            return None
        scratch = self._scratch
        validity: Words = np.empty(((count + 63) >> 6) + 1, np.uint64) if self.nullable else NO_WORDS
        state = (
            self.raw, self.table, self._facts.codec, checksums, self.nullable, self._facts.row_count, positions,
            self.dictionary, self.arena, self.bodies, self._slices, self._validity, scratch.counts, self.info,
            scratch.int32("ranks", count + 1), np.empty_like(self._slices), validity, scratch.int32("codes", count + 1),
        )  # fmt: skip
        column = Column(self.leaf, count, count, NO_NULLS)
        if physical in _NUMBERS:
            nulls = self._take_numbers(state, column, wanted)
        else:
            nulls = self._take_byte_arrays(state, column, wanted)
        if nulls < 0:
            return None
        if nulls:
            column.validity = Validity(validity[: (count + 63) >> 6], count, nulls)
        return column

    def _take_numbers(self, state: tuple[object, ...], column: Column, wanted: Wanted) -> int:
        t, dtype = WORDS[self.leaf.physical_type]
        count = column.value_count
        out = allocate_array(count, t, dtype.itemsize)
        codes = self._scratch.int32("page codes", self._facts.row_count if 4 * count > self._facts.row_count else 0)
        nulls = load("chunk.take_numbers", t, quick=self._is_quick)(*state, codes, out)
        if nulls < 0 or wanted.form == "physical":
            column.values = out.view(dtype)
            return nulls
        column.form = "decimal128"
        column.values = allocate_array((count, 2), np.uint64, 16)
        bound = load_for_count("decimal.widen_integers", count, SIGNED[t])(out.view(dtype), count, column.values)
        logical = self.leaf.logical_type
        # Null slots hold anything: with those the export looks at the present values itself.
        column.range_checked = logical is not None and logical.precision is not None and bound < 10**logical.precision
        return nulls

    def _take_byte_arrays(self, state: tuple[object, ...], column: Column, wanted: Wanted) -> int:
        if self.entry_count > MOST_ENTRIES:
            return -1
        scratch, count = self._scratch, column.value_count
        entry_starts = scratch.int32("entries", self.entry_count)
        starts = np.empty(count, np.int64)
        lengths = np.empty(count, np.int32)
        total = load("chunk.find_taken_bytes", quick=self._is_quick)(*state, entry_starts, -1, starts, lengths)
        if total < 0 or total > CHUNK_BYTES:
            return -1
        nulls = int(scratch.counts[0])
        gathered, validity = state[15], state[16]
        offsets = allocate_array(count + 1, np.int32, 4)
        offsets[0] = 0
        data = allocate(total)
        source = self.dictionary if int(self.info[INFO_ENCODING]) == 1 else self.arena
        kernel = load_for_count("take.copy_byte_arrays", count, o="int32")
        if kernel(source, gathered, starts, lengths, validity if nulls else NO_WORDS, offsets, data) < 0:
            return -1
        column.offsets, column.data = offsets, data[:total]
        if wanted.text:
            if not self._is_text(column, total, entry_starts):
                return -1  # the general path says which value is not
            column.text_checked = True
        return nulls

    def _is_text(self, column: Column, total: int, entry_starts: NDArray[np.int32]) -> bool:
        """Whether all values are UTF-8: by the entries they come from, where those have fewer bytes."""
        if int(self.info[INFO_ENCODING]) == 1 and self.dictionary_bytes < total:
            if self._entries_are_text is None:
                kernel = load_for_count("utf8.check_utf8_entries", self.dictionary_bytes)
                self._entries_are_text = kernel(entry_starts, self.entry_count, self.dictionary) >= 0
            if self._entries_are_text:
                return True
        kernel = load_for_count("utf8.check_utf8", total, o="int32")
        return kernel(column.offsets, column.value_count, column.data) >= 0

    @property
    def spans(self) -> list[tuple[int, int]]:
        """Where the loaded pages lie in the arena; (-1, -1) of those that are not loaded."""
        return [tuple(span) for span in self.bodies[:, [BODY_START, BODY_END]].tolist()]

    @property
    def used_bytes(self) -> int:
        return int(self.info[INFO_USED])

    @property
    def loaded_pages(self) -> int:
        return int(self.info[INFO_LOADED])

    @property
    def is_open(self) -> bool:
        return bool(self.info[0])


def open_chunk(
    leaf: Leaf, facts: ChunkFacts, raw: Bytes, scratch: Scratch, max_page_bytes: int
) -> Chunk | None:
    """The chunk, if it is one for these kernels: flat, small, of a common codec, with well-formed headers."""
    if leaf.layers or leaf.max_definition_level > 1 or facts.codec not in _CODECS:
        return None
    if leaf.physical_type not in _NUMBERS and leaf.physical_type != PhysicalType.BYTE_ARRAY:
        return None
    if not (raw.flags.writeable and raw.flags.c_contiguous):
        return None
    table = np.empty((32, PAGE_FIELDS), np.int64)
    rows, _, status = page_walker()(raw, 0, raw.size, facts.value_count, table, 0)
    while status == TABLE_FULL and len(table) < MOST_PAGES:
        table = np.empty((4 * len(table), PAGE_FIELDS), np.int64)
        rows, _, status = page_walker()(raw, 0, raw.size, facts.value_count, table, 0)
    if status != 0 or rows == 0:
        return None
    table = table[:rows]
    unpacked = 0
    encodings = table[:, PAGE_ENCODING].tolist()
    if not _ENCODINGS.issuperset(encodings):
        packed = _PACKED.get(leaf.physical_type, frozenset())
        if not packed.issuperset(set(encodings) - _ENCODINGS):
            return None
        size = WORDS[leaf.physical_type][1].itemsize
        counts = table[:, PAGE_VALUES].tolist()
        unpacked = sum(size * count + 8 for count, kind in zip(counts, encodings, strict=True) if kind in packed)
        if unpacked > CHUNK_BYTES:
            return None
    total = sum(table[:, PAGE_UNCOMPRESSED].tolist())
    # 24 bytes are the most that snappy makes of one.
    if total > min(CHUNK_BYTES, max_page_bytes) or total > 24 * raw.size + 64 * rows:
        return None
    return Chunk(leaf, facts, raw, table, total, unpacked, scratch)

