"""Survivors of a filter gathered from the encoded pages of a flat column, without decoding the values between them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hardwood_jit.batch import NO_NULLS, Column, Validity
from hardwood_jit.errors import located
from hardwood_jit.jit.decoders import DICTIONARY_ENCODINGS
from hardwood_jit.jit.kernel_cache import load, load_for_count
from hardwood_jit.jit.survivors import Positions
from hardwood_jit.jit.value_decoder import NO_WORDS, SIGNED, WORDS, Bytes, Table, Words
from hardwood_jit.kernels import tables
from hardwood_jit.kernels.slices import FILTER_FIELDS, OUT_START, SLOTS, SRC_END, STREAM_COUNT, TAKE
from hardwood_jit.kernels.status import page_of
from hardwood_jit.memory import Scratch, allocate, allocate_array
from hardwood_jit.physical import Encoding, PhysicalType

if TYPE_CHECKING:
    from hardwood_jit.jit.page_test import FlatWindow
    from hardwood_jit.jit.value_decoder import ValueDecoder

BYTE_ARRAY = PhysicalType.BYTE_ARRAY
PLAIN = Encoding.PLAIN

# Above this share of survivors decoding everything and taking what is wanted is faster.
DENSE_NUMBERS = 0.35
DENSE_BYTES = 0.9
FEW_OF_PAGE = 8  # survivors, spread evenly: their pages are decompressed to eight ninths
FEW = 64  # survivors for whose sake a dictionary is not taken apart as a whole


def can_gather(window: FlatWindow, pages: list[int], values: ValueDecoder, count: int, span: int) -> bool:
    """Whether values of these pages can be picked one by one, and whether that pays for `count` of `span` rows."""
    physical, form = values.leaf.physical_type, values.wanted.form
    is_bytes = physical == BYTE_ARRAY
    if form not in ("physical", "decimal128") or (physical not in WORDS and not is_bytes):
        return False
    if physical == PhysicalType.BOOLEAN:
        return False
    if count > FEW and count / max(span, 1) > (DENSE_BYTES if is_bytes else DENSE_NUMBERS):
        return False
    headers, first = window.decoder.reader.headers, window.first
    return all(
        headers[first + page][tables.PAGE_ENCODING] == PLAIN or window.is_dictionary(page) for page in pages
    )


def gather_column(
    window: FlatWindow, pages: list[int], positions: Positions, values: ValueDecoder, scratch: Scratch, once: bool
) -> Column:
    """The column of the survivors at `positions` of the window, all of them on `pages`.

    Where nobody wants these again (`once`) and survivors are few, pages are decompressed as far as the last one needs.
    """
    physical = values.leaf.physical_type
    if not once or len(positions) > FEW_OF_PAGE * len(pages):
        return _gather(window, pages, positions, values, scratch)
    parts = window.load_first(pages, positions, WORDS[physical][1].itemsize if physical in WORDS else 0)
    try:
        return _gather(window, pages, positions, values, scratch)
    finally:
        window.release(parts)


def _gather(
    window: FlatWindow, pages: list[int], positions: Positions, values: ValueDecoder, scratch: Scratch
) -> Column:
    table = window.slices_of(pages)
    count = len(positions)
    ranks = scratch.int32("ranks", count + 1)
    validity: Words = np.empty(((count + 63) >> 6) + 1, np.uint64) if window.nullable else NO_WORDS
    gathered = np.empty_like(table)
    nulls = load_for_count("select.rank_survivors", count)(positions, table, window.validity, ranks, validity, gathered)
    numbers = [window.first + page for page in pages]
    if nulls < 0:
        raise located(nulls, window.decoder.reader.where(numbers[page_of(nulls)]))
    if not nulls:
        validity = NO_WORDS
    column = Column(
        values.leaf, count, count, Validity(validity[: (count + 63) >> 6], count, nulls) if nulls else NO_NULLS
    )
    values.pages = numbers
    gatherer = _Gatherer(values, scratch, gathered, ranks, validity)
    if values.leaf.physical_type == BYTE_ARRAY:
        gatherer.byte_arrays(column)
    else:
        gatherer.words(column)
    return column


@dataclass(slots=True)
class _Places:
    """Where byte arrays are: starts and lengths in `src`, or without lengths the numbers of dictionary entries."""

    byte_count: int
    starts: NDArray[Any]
    lengths: NDArray[np.int32] | None = None
    src: Bytes | None = None


class _Gatherer:
    """One call of gather_column."""

    def __init__(self, values: ValueDecoder, scratch: Scratch, table: Table, ranks: Positions, validity: Words) -> None:
        self._values = values
        self._scratch = scratch
        self._table = table
        self._ranks = ranks
        self._validity = validity
        self._src = values.reader.arena
        self._groups = values.encoding_groups(values.pages)

    def _indexes(self, part: Table, low: int, entry_count: int) -> Positions:
        """Dictionary indexes of the survivors on some pages, densely, and one spare entry."""
        taken = int(part[:, TAKE].sum())
        indexes = self._scratch.int32("codes", taken + 1)
        indexes[taken] = 0
        kernel = load_for_count("take.take_indexes", taken)
        self._values.done(kernel(self._src, part, self._ranks, entry_count, indexes[:taken]), low)
        return indexes

    def words(self, column: Column) -> None:
        """Numbers: 4 or 8 bytes, or as 16-byte decimals."""
        values = self._values
        t, dtype = WORDS[values.leaf.physical_type]
        count = column.value_count
        pairs = values.wanted.form == "decimal128"
        out = allocate_array(count, t, dtype.itemsize)
        for encoding, low, high in self._groups:
            part = self._table[low:high]
            if not part[:, TAKE].any():
                continue
            if encoding in DICTIONARY_ENCODINGS:
                entries, indexes = self._words_entries(part, low, t)
                start, stop = int(part[0, OUT_START]), int(part[-1, OUT_START] + part[-1, SLOTS])
                if self._validity.size:
                    load_for_count("dictionary.gather_fixed", count, t)(
                        indexes, self._validity, start, entries, out[start:stop]
                    )
                else:
                    load_for_count("select.take_words", count, t)(entries, indexes[:-1], out[start:stop])
            else:
                kernel = load_for_count("take.take_fixed", count, t)
                values.done(kernel(self._src, part, self._ranks, self._validity, out), low)
        if not pairs:
            column.values = out.view(dtype)
            return
        column.form = "decimal128"
        column.values = allocate_array((count, 2), np.uint64, 16)
        load_for_count("decimal.widen_integers", count, SIGNED[t])(out.view(dtype), count, column.values)

    def _words_entries(self, part: Table, low: int, t: str) -> tuple[NDArray[Any], Positions]:
        """A dictionary of numbers, as far as it is needed, and the indexes into it."""
        values = self._values
        taken = int(part[:, TAKE].sum())
        if taken > FEW or values.has_entries:
            entries = values.words_dictionary(t)
            return entries.values, self._indexes(part, low, entries.count)
        count, width = values.entry_count(t), np.dtype(t).itemsize
        indexes = self._indexes(part, low, count)
        needed = (int(indexes[:taken].max()) + 1) * width
        page = values.reader.dictionary_prefix(needed)
        assert page is not None
        return page[:needed].view(t), indexes

    def byte_arrays(self, column: Column) -> None:
        """Byte arrays: how many bytes they take first, then one allocation, then the copies."""
        values = self._values
        count = column.value_count
        found = [self._find(encoding, low, high) for encoding, low, high in self._groups]
        total = sum(part.byte_count for part in found)
        values.check_window(total, column.record_count)
        o = "int32" if total < 2**31 - 1 else "int64"
        offsets = allocate_array(count + 1, o, 4 if o == "int32" else 8)
        offsets[0] = 0
        data = allocate(total)
        for (_, low, high), place in zip(self._groups, found, strict=True):
            part = self._table[low:high]
            if place.lengths is not None:
                status = load_for_count("take.copy_byte_arrays", count, o=o)(
                    place.src, part, place.starts, place.lengths, self._validity, offsets, data
                )
            elif not part[:, TAKE].any():
                start = int(part[0, OUT_START])
                offsets[start + 1 : start + 1 + int(part[:, SLOTS].sum())] = offsets[start]
                continue
            else:
                entries = values.bytes_dictionary()
                status = load("dictionary.gather_byte_arrays", o=o)(
                    place.starts, part, self._validity, entries.offsets, entries.values, offsets, data
                )
            values.done(status, low)
        column.offsets, column.data = offsets, data[:total]
        self._check_text(column)

    def _find(self, encoding: Encoding, low: int, high: int) -> _Places:
        """Where the bytes of one group's survivors are."""
        values = self._values
        part = self._table[low:high]
        taken = int(part[:, TAKE].sum())
        if encoding in DICTIONARY_ENCODINGS:
            if not taken:
                return _Places(0, np.empty(0, np.int32))
            if taken <= FEW and not values.has_entries:
                return self._find_entries(self._indexes(part, low, values.entry_count(None))[:taken])
            entries = values.bytes_dictionary()
            assert entries.offsets is not None
            indexes = self._indexes(part, low, entries.count)[:taken].copy()
            size = load("dictionary.measure_byte_arrays", o="int32")(indexes, taken, entries.offsets)
            return _Places(size, indexes)
        starts = np.empty(taken, np.int64)
        lengths = np.empty(taken, np.int32)
        kernel = load_for_count("take.find_byte_arrays", taken)
        size = values.done(kernel(self._src, part, self._ranks, starts, lengths), low)
        return _Places(size, starts, lengths, self._src)

    def _find_entries(self, indexes: Positions) -> _Places:
        """A few entries of a dictionary page, by walking it up to the last of them."""
        values = self._values
        byte_count, count = values.reader.dictionary_bytes, values.entry_count(None)
        wanted, places = np.unique(indexes, return_inverse=True)
        row = np.zeros((1, FILTER_FIELDS), np.int64)
        row[0, STREAM_COUNT] = count
        row[0, TAKE] = row[0, SLOTS] = len(wanted)
        starts, lengths = np.empty(len(wanted), np.int64), np.empty(len(wanted), np.int32)
        # Where the last of them ends is a guess: entries differ in length.
        guess = min(byte_count, int(1.15 * byte_count * (int(wanted[-1]) + 1) / max(count, 1)) + 4096)
        for known in (guess, byte_count):
            row[0, SRC_END] = known
            page = values.reader.dictionary_prefix(known)
            status = load("take.find_byte_arrays")(page, row, wanted, starts, lengths)
            if status >= 0:
                break
        values.dictionary_failed(status)
        assert page is not None
        starts, lengths = starts[places], lengths[places]
        return _Places(int(lengths.sum(dtype=np.int64)), starts, lengths, page)

    def _check_text(self, column: Column) -> None:
        values = self._values
        if values.wanted.text:
            assert column.offsets is not None
            kernel = load("utf8.check_utf8", o=column.offsets.dtype.name)
            values.check_text(kernel(column.offsets, column.value_count, column.data))
        column.text_checked = values.wanted.text
