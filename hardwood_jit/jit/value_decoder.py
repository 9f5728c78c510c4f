"""Slices of a window's pages -> the values of its Column, one kernel call per run of pages with the same encoding."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hardwood_jit.batch import NO_NULLS, Column, Validity
from hardwood_jit.errors import CorruptFileError, UnsupportedError, located
from hardwood_jit.jit.decoders import DECODERS, DICTIONARY_ENCODINGS
from hardwood_jit.jit.kernel_cache import load, load_for_count
from hardwood_jit.kernels import tables
from hardwood_jit.kernels.slices import FIELDS, OUT_START, SLOTS, SRC_END, SRC_START, STREAM_COUNT, TAKE
from hardwood_jit.kernels.status import TRUNCATED, page_of
from hardwood_jit.memory import Scratch, allocate, allocate_array
from hardwood_jit.physical import INT96_BYTES, Encoding, PhysicalType

if TYPE_CHECKING:
    from hardwood_jit.metadata.schema import Leaf
    from hardwood_jit.pages.page_reader import PageReader

Bytes = NDArray[np.uint8]
Table = NDArray[np.int64]
Words = NDArray[np.uint64]

NO_WORDS: Words = np.empty(0, np.uint64)
NO_BYTES: Bytes = np.empty(0, np.uint8)
SPARE_ROOM = 1 << 20
ENTRY_BYTES = 24 << 20  # what dictionary entries or shared prefixes may grow to in one window of several rows

# (storage of the values, numpy type of the result) of the types with a machine word
WORDS = {
    PhysicalType.BOOLEAN: ("uint8", np.dtype(np.bool_)),
    PhysicalType.INT32: ("uint32", np.dtype(np.int32)),
    PhysicalType.FLOAT: ("uint32", np.dtype(np.float32)),
    PhysicalType.INT64: ("uint64", np.dtype(np.int64)),
    PhysicalType.DOUBLE: ("uint64", np.dtype(np.float64)),
}
BYTE_ARRAY = PhysicalType.BYTE_ARRAY
SIGNED = {"uint32": "int32", "uint64": "int64"}


class WindowTooLarge(Exception):
    """The window decodes to more than its share of memory: try again with its first `row_count` rows."""

    def __init__(self, row_count: int) -> None:
        super().__init__(row_count)
        self.row_count = row_count

    def smaller(self, row_count: int) -> int:
        """How many of `row_count` rows to try next: fewer, and at least one; one row cannot be too large."""
        if row_count <= 1:
            raise UnsupportedError("one record decodes to more than a window may hold") from self
        return max(1, min(self.row_count, row_count - 1))


@dataclass(frozen=True, slots=True)
class Wanted:
    """What the terminal needs of a leaf: the form of its values, and whether text must be UTF-8."""

    form: str = "physical"  # "physical", "decimal128", "views", "dictionary": see batch.Column
    text: bool = False


@dataclass(slots=True)
class Dictionary:
    """The decoded dictionary page of a chunk, in the shapes that kernels gather from."""

    count: int
    values: NDArray[Any]  # words; or bytes (wide values); or the bytes of byte arrays
    offsets: NDArray[np.int32] | None = None
    pairs: Words | None = None  # decimal128 or views, made when first needed
    is_text: bool | None = None  # every entry is UTF-8; None until checked
    in_range: bool = False  # with `pairs`: every entry has at most the digits its DECIMAL announces


class ValueDecoder:
    """The values of one leaf in one row group, and its dictionary."""

    def __init__(self, leaf: Leaf, reader: PageReader, scratch: Scratch, wanted: Wanted) -> None:
        self.leaf = leaf
        self.reader = reader
        self.wanted = wanted
        self.arena_in_use = False  # views point into the arena: the next window needs another one
        self._scratch = scratch
        self.pages: Sequence[int] = ()  # those that the slices at hand belong to, for messages
        self._only: Encoding | None = None  # the encoding of all pages, once known to be one
        self._dictionary: Dictionary | None = None

    def decode_values(self, column: Column, slices: Table, words: Words, pages: Sequence[int]) -> None:
        """Fill the column from the slices of these pages."""
        self.pages = pages
        groups = self.encoding_groups(pages)
        physical = self.leaf.physical_type
        if physical == BYTE_ARRAY:
            self._decode_byte_arrays(column, slices, words, groups)
        elif physical in WORDS:
            self._decode_words(column, slices, words, groups)
        else:
            self._decode_wide(column, slices, words, groups)

    def encoding_groups(self, pages: Sequence[int]) -> list[tuple[Encoding, int, int]]:
        """Runs of pages with one encoding: (encoding, first row, row after the last) of their slice table."""
        reader = self.reader
        if len(reader.encodings) == 1 and len(pages):  # of all pages: the common case, looked up once
            if self._only is None:
                self._only = self._encoding(next(iter(reader.encodings)), pages[0])
            return [(self._only, 0, len(pages))]
        groups: list[tuple[Encoding, int, int]] = []
        for row, page in enumerate(pages):
            number = reader.headers[page][tables.PAGE_ENCODING]
            if groups and groups[-1][0] == number:
                groups[-1] = (groups[-1][0], groups[-1][1], row + 1)
                continue
            encoding = self._encoding(number, page)
            groups.append((encoding, row, row + 1))
        return groups

    def _encoding(self, number: int, page: int) -> Encoding:
        try:
            encoding = Encoding(number)
        except ValueError:
            raise CorruptFileError(f"{self.reader.where(page)}: encoding number {number} is unknown") from None
        if (self.leaf.physical_type, encoding) not in DECODERS:
            raise CorruptFileError(
                f"{self.reader.where(page)}: encoding {encoding} does not go with {self.leaf.physical_type}"
            )
        return encoding

    def check_room(self, byte_count: int) -> None:
        """What one record or one page's lengths may take: a few bytes can legally announce billions of values."""
        if byte_count > self.reader.max_page_bytes:
            raise UnsupportedError(
                f"{self.reader.where()}: {byte_count} bytes are needed at once, above max_page_bytes="
                f"{self.reader.max_page_bytes}; open the file with a larger max_page_bytes to read it"
            )

    def done(self, status: int, low: int) -> int:
        if status < 0:
            raise located(status, self.reader.where(self.pages[low + page_of(status)]))
        return status

    def _decode_words(
        self, column: Column, slices: Table, words: Words, groups: list[tuple[Encoding, int, int]]
    ) -> None:
        physical = self.leaf.physical_type
        t, dtype = WORDS[physical]
        slots = column.value_count
        width = dtype.itemsize
        src = self.reader.arena
        pairs = self.wanted.form == "decimal128"
        in_range = True
        if pairs:
            wide = allocate_array((slots, 2), np.uint64, 16)
            column.form, column.values = "decimal128", wide
            plain = any(encoding not in DICTIONARY_ENCODINGS for encoding, _, _ in groups)
            out = self._scratch.arena("values").room(slots * width)[: slots * width].view(t) if plain else NO_WORDS
        else:
            out = allocate_array(slots, t, width)
            column.values = out.view(dtype)
            if words.size and physical == PhysicalType.BOOLEAN:
                out[:] = 0  # a null slot must still hold a bool
        for encoding, low, high in groups:
            part = slices[low:high]
            block = DECODERS[physical, encoding]
            if block.takes == "dictionary":
                if _is_empty(part, words):
                    continue
                entries = self.words_dictionary(t)
                if pairs:
                    if entries.pairs is None:
                        entries.pairs = np.empty((entries.count, 2), np.uint64)
                        signed = entries.values.view(dtype)
                        widen = load_for_count("decimal.widen_integers", entries.count, SIGNED[t])
                        bound = widen(signed, entries.count, entries.pairs)
                        entries.in_range = self._in_range(signed, bound)
                    in_range = in_range and entries.in_range
                    self._look_up(part, words, low, entries, entries.pairs, wide, "")
                else:
                    self._look_up(part, words, low, entries, entries.values, out, t)
                continue
            self.done(load(f"{block.module}.{block.function}", t)(src, part, words, out), low)
            if pairs:
                a = int(part[0, OUT_START])
                b = int(part[-1, OUT_START] + part[-1, SLOTS])
                numbers = out.view(dtype)[a:b]
                bound = load("decimal.widen_integers", SIGNED[t])(numbers, b - a, wide[a:b])
                # Null slots hold anything: then the export looks at the present values itself.
                in_range = in_range and self._in_range(numbers, bound)
        column.range_checked = pairs and in_range

    def _look_up(
        self, part: Table, words: Words, low: int, entries: Dictionary, values: NDArray[Any], out: NDArray[Any], t: str
    ) -> None:
        """Dictionary values of a group of pages into their slots of `out`; `t` is empty for pairs.

        With nulls the dense indexes come first, then one pass looks them up where the validity bits say.
        """
        if not words.size:
            name = "dictionary.read_fixed" if t else "dictionary.read_pairs"
            status = load(name, t)(self.reader.arena, part, words, values, self._scratch.indexes, out)
            self.done(status, low)
            return
        start, stop = int(part[0, OUT_START]), int(part[-1, OUT_START] + part[-1, SLOTS])
        taken = int(part[:, TAKE].sum())
        indexes = self._scratch.int32("codes", taken + 1)
        indexes[taken] = 0
        read = load("dictionary.read_indexes")
        self.done(read(self.reader.arena, part, entries.count, indexes[:taken]), low)
        gather = load("dictionary.gather_fixed" if t else "dictionary.gather_pairs", t)
        gather(indexes, words, start, values, out[start:stop])

    def _in_range(self, numbers: NDArray[Any], bound: int) -> bool:
        """Whether all numbers, none above `bound` in size, have the digits that their DECIMAL announces."""
        logical = self.leaf.logical_type
        if logical is None or logical.precision is None:
            return False
        limit = 10**logical.precision
        if bound < limit or logical.precision >= 19 or numbers.size == 0:
            return True
        return bool(numbers.max() < limit and numbers.min() > -limit)

    def _decode_wide(
        self, column: Column, slices: Table, words: Words, groups: list[tuple[Encoding, int, int]]
    ) -> None:
        physical = self.leaf.physical_type
        width = INT96_BYTES if physical == PhysicalType.INT96 else self.leaf.type_length or 0
        slots = column.value_count
        src = self.reader.arena
        for encoding, low, high in groups:
            part = slices[low:high]
            stored = int((part[:, SRC_END] - part[:, SRC_START]).sum())
            if DECODERS[physical, encoding].takes == "wide" and int(part[:, TAKE].sum()) * width > stored:
                raise located(TRUNCATED, self.reader.where())
        if slots * width > ENTRY_BYTES and column.record_count > 1:
            raise WindowTooLarge(max(1, column.record_count * ENTRY_BYTES // (2 * slots * width)))
        self.check_room(slots * width)
        out = allocate(slots * width)[: slots * width]
        column.values = out.reshape(slots, width)
        for encoding, low, high in groups:
            part = slices[low:high]
            block = DECODERS[physical, encoding]
            if block.takes == "dictionary":
                if _is_empty(part, words):
                    continue
                entries = self.wide_dictionary(width)
                status = load("dictionary.read_wide")(
                    src, part, words, entries.values, entries.count, width, self._scratch.indexes, out
                )
            elif block.takes == "prefixed":
                status = self._decode_wide_prefixed(part, words, width, out, low)
            else:
                status = load(f"{block.module}.{block.function}")(src, part, words, width, out)
            self.done(status, low)

    def _decode_wide_prefixed(self, part: Table, words: Words, width: int, out: Bytes, low: int) -> int:
        """FIXED_LEN_BYTE_ARRAY under DELTA_BYTE_ARRAY: rebuilt as byte arrays, each checked to have the width."""
        prefixes, suffixes, total, longest = self._measure_prefixed(part, low)
        taken = int(part[:, TAKE].sum())
        if total != taken * width:
            raise CorruptFileError(f"{self.reader.where()}: values do not all have {width} bytes")
        dense = part.copy()
        dense[:, SLOTS] = dense[:, TAKE]
        dense[:, OUT_START] = np.cumsum(dense[:, TAKE]) - dense[:, TAKE]
        offsets = np.zeros(taken + 1, np.int64)
        data = allocate(total)
        previous = self._scratch.arena("previous").room(longest)
        status = load("delta_bytes.read_prefixed", o="int64")(
            self.reader.arena, dense, NO_WORDS, prefixes, suffixes, previous, offsets, data
        )
        self.done(status, low)
        if not np.array_equal(offsets, np.arange(taken + 1, dtype=np.int64) * width):
            raise CorruptFileError(f"{self.reader.where()}: values do not all have {width} bytes")
        spread = load("spread.spread_wide")
        for row in range(len(part)):
            take, slots, at = int(part[row, TAKE]), int(part[row, SLOTS]), int(part[row, OUT_START])
            source = int(dense[row, OUT_START]) * width
            out[at * width : (at + take) * width] = data[source : source + take * width]
            if take < slots:
                spread(out, width, at, slots, take, words)
        return 0

    def _measure_prefixed(self, part: Table, low: int) -> tuple[NDArray[np.int32], NDArray[np.int32], int, int]:
        count = int(part[:, STREAM_COUNT].sum())
        self.check_room(8 * count)
        prefixes = self._scratch.int32("prefixes", count)
        suffixes = self._scratch.int32("suffixes", count)
        needed = self._scratch.counts
        status = load("delta_bytes.measure_prefixed")(self.reader.arena, part, prefixes, suffixes, needed)
        self.done(status, low)
        return prefixes, suffixes, int(needed[0]), int(needed[1])

    def _decode_byte_arrays(
        self, column: Column, slices: Table, words: Words, groups: list[tuple[Encoding, int, int]]
    ) -> None:
        dictionary_only = bool(groups) and all(encoding in DICTIONARY_ENCODINGS for encoding, _, _ in groups)
        if self.wanted.form == "dictionary" and dictionary_only and slices[:, TAKE].any():
            self._decode_codes(column, slices, words)
        elif self.wanted.form == "views":
            self._decode_views(column, slices, words, groups)
        else:
            self._decode_contiguous(column, slices, words, groups)
            if self.wanted.text and not (dictionary_only and self._dictionary_is_text(slices)):
                offsets = column.offsets
                assert offsets is not None
                status = load("utf8.check_utf8", o=offsets.dtype.name)(offsets, column.value_count, column.data)
                self.check_text(status)
        column.text_checked = self.wanted.text

    def check_text(self, status: int) -> None:
        """Raise the error of a failed UTF-8 check."""
        if status < 0:
            facts = self.reader.facts
            raise CorruptFileError(
                f"{facts.file}: row group {facts.row_group}, column '{facts.column}': value {page_of(status)} of the "
                "batch is not valid UTF-8; batches() gives its bytes"
            )

    def _dictionary_is_text(self, slices: Table) -> bool:
        if not slices[:, TAKE].any():
            return True
        entries = self.bytes_dictionary()
        if entries.is_text is None:
            status = load("utf8.check_utf8", o="int32")(entries.offsets, entries.count, entries.values)
            entries.is_text = status >= 0
        return entries.is_text

    def _decode_contiguous(
        self, column: Column, slices: Table, words: Words, groups: list[tuple[Encoding, int, int]]
    ) -> Bytes:
        """Fill the column's offsets and data; returns the data's whole buffer, spare bytes included."""
        src = self.reader.arena
        slots = column.value_count
        # First how many bytes there will be at most, then one allocation, then one call per group.
        indexes: dict[int, NDArray[np.int32]] = {}
        lengths: dict[int, tuple[NDArray[np.int32], NDArray[np.int32], int]] = {}
        capacity = stored = 0
        for encoding, low, high in groups:
            part = slices[low:high]
            takes = DECODERS[self.leaf.physical_type, encoding].takes
            if takes == "dictionary":
                taken = int(part[:, TAKE].sum())
                if taken == 0:
                    continue
                entries = self.bytes_dictionary()
                found = self._scratch.int32(f"indexes {low}", taken)
                self.done(load("dictionary.read_indexes")(src, part, entries.count, found), low)
                indexes[low] = found
                assert entries.offsets is not None
                capacity += load("dictionary.measure_byte_arrays", o="int32")(found, taken, entries.offsets)
            elif takes == "prefixed":
                prefixes, suffixes, total, longest = self._measure_prefixed(part, low)
                if len(groups) > 1:
                    prefixes, suffixes = prefixes.copy(), suffixes.copy()
                lengths[low] = (prefixes, suffixes, longest)
                capacity += total
            else:
                stored += int((part[:, SRC_END] - part[:, SRC_START]).sum())
        # Entries and prefixes can multiply a page's bytes: a window of several records must not. Stored values cannot,
        # but the window may want few of a large page's: that is known when they are read.
        self.check_window(capacity, column.record_count)
        self.check_room(capacity // 16)
        capacity += stored
        o = "int32" if capacity < 2**31 - 1 else "int64"
        width = 4 if o == "int32" else 8
        offsets = allocate_array(slots + 1, o, width)
        offsets[0] = 0
        data = allocate(capacity)
        total = 0
        for encoding, low, high in groups:
            part = slices[low:high]
            block = DECODERS[self.leaf.physical_type, encoding]
            if block.takes == "dictionary":
                if low not in indexes:
                    at, count = int(part[0, OUT_START]), int(part[:, SLOTS].sum())
                    offsets[at + 1 : at + count + 1] = offsets[at]
                    continue
                entries = self.bytes_dictionary()
                total = load("dictionary.gather_byte_arrays", o=o)(
                    indexes[low], part, words, entries.offsets, entries.values, offsets, data
                )
            elif block.takes == "prefixed":
                prefixes, suffixes, longest = lengths[low]
                previous = self._scratch.arena("previous").room(longest)
                total = load("delta_bytes.read_prefixed", o=o)(
                    src, part, words, prefixes, suffixes, previous, offsets, data
                )
            elif block.takes == "lengths first":
                count = int(part[:, STREAM_COUNT].max())
                self.check_room(4 * count)
                scratch = self._scratch.int32("lengths", count)
                total = load("delta_bytes.read_lengths_first", o=o)(src, part, words, scratch, offsets, data)
            else:
                total = load("plain.read_byte_arrays", o=o)(src, part, words, offsets, data)
            self.done(total, low)
        total = int(offsets[slots])
        self.check_window(total, column.record_count)
        if capacity > 2 * total + SPARE_ROOM:  # a few values of a large page must not keep room for all of them
            data, large = allocate(total), data
            data[:total] = large[:total]
        column.offsets = offsets
        column.data = data[:total]
        return data

    def check_window(self, byte_count: int, record_count: int) -> None:
        """What several records decode to must not be a multiple of what they take on disk."""
        if byte_count > ENTRY_BYTES and record_count > 1:
            raise WindowTooLarge(max(1, record_count * ENTRY_BYTES // (2 * byte_count)))

    def _decode_codes(self, column: Column, slices: Table, words: Words) -> None:
        entries = self.bytes_dictionary()
        slots = column.value_count
        out = allocate_array(slots, np.int32, 4)
        self.done(load("dictionary.read_codes")(self.reader.arena, slices, words, entries.count, out), 0)
        if self.wanted.text and not self._dictionary_is_text(slices):
            assert entries.offsets is not None
            self.check_text(load("utf8.check_utf8", o="int32")(entries.offsets, entries.count, entries.values))
        column.form, column.values = "dictionary", out
        assert entries.offsets is not None
        column.dictionary = Column(
            self.leaf, entries.count, entries.count, NO_NULLS, data=entries.values[: int(entries.offsets[-1])],
            offsets=entries.offsets,
        )  # fmt: skip

    def _decode_views(
        self, column: Column, slices: Table, words: Words, groups: list[tuple[Encoding, int, int]]
    ) -> None:
        """String views: buffer 0 is the arena of this window, buffer 1 the dictionary, further ones rebuilt values."""
        slots = column.value_count
        src = self.reader.arena
        views = allocate_array((slots, 2), np.uint64, 16)
        buffers = [NO_BYTES, NO_BYTES]
        for encoding, low, high in groups:
            part = slices[low:high]
            takes = DECODERS[self.leaf.physical_type, encoding].takes
            a = int(part[0, OUT_START])
            b = int(part[-1, OUT_START] + part[-1, SLOTS])
            if not part[:, TAKE].any():
                views[a:b] = 0
                continue
            if takes == "dictionary":
                entries = self._view_dictionary()
                assert entries.pairs is not None
                buffers[1] = entries.values
                self._look_up(part, words, low, entries, entries.pairs, views, "")
                if words.size:
                    load("spread.clear_pairs")(views, a, b - a, words)
                if self.wanted.text and not entries.is_text:
                    self.check_text(load("utf8.check_utf8_views")(views[a:b], b - a, 1, entries.values))
            elif takes == "byte arrays":
                self.done(load("views.read_plain_views")(src, part, words, 0, views), low)
                buffers[0] = src
                self.arena_in_use = True
                if self.wanted.text and not load("utf8.pages_are_ascii")(src, part):
                    self.check_text(load("utf8.check_utf8_views")(views[a:b], b - a, 0, src))
            else:
                local = part.copy()
                local[:, OUT_START] -= a
                # The validity bits of this group start at bit a: shift them down for a column of its own.
                # One record may have many values: it is never asked to be smaller.
                piece = Column(self.leaf, min(b - a, column.record_count), b - a, NO_NULLS)
                bits = Validity(words, slots).to_numpy(slots)[a:b] if words.size else None
                piece_words = NO_WORDS if bits is None else _pack(bits)
                data = self._decode_contiguous(piece, local, piece_words, [(encoding, 0, high - low)])
                assert piece.offsets is not None
                o = piece.offsets.dtype.name
                if self.wanted.text:
                    self.check_text(load("utf8.check_utf8", o=o)(piece.offsets, b - a, data))
                status = load("views.make_views", o=o)(piece.offsets, data, b - a, len(buffers), views[a:b])
                self.done(status, low)
                buffers.append(data)
        column.form, column.values, column.buffers = "views", views, buffers

    # Dictionaries

    @property
    def has_entries(self) -> bool:
        """Whether the dictionary has been taken apart."""
        return self._dictionary is not None

    def entry_count(self, t: str | None) -> int:
        """Entries of the dictionary, numbers of dtype `t` or byte arrays, as many as its bytes can hold."""
        reader = self.reader
        if reader.dictionary_count < 0:
            self.dictionary_page()  # says that there is none
        count, byte_count = reader.dictionary_count, reader.dictionary_bytes
        if count > byte_count // (4 if t is None else np.dtype(t).itemsize):
            self._too_many(count, byte_count)
        return count

    def dictionary_page(self) -> tuple[Bytes, int, int]:
        """The decompressed page, its bytes and the number of its entries, as its header says."""
        reader = self.reader
        page = reader.dictionary()
        if page is None:
            raise CorruptFileError(
                f"{reader.where()}: dictionary-encoded pages, but the column chunk has no dictionary page"
            )
        return page, reader.dictionary_bytes, reader.dictionary_count

    def _dictionary_slice(self, byte_count: int, count: int) -> Table:
        row = np.zeros((1, FIELDS), np.int64)
        row[0, SRC_END] = byte_count
        row[0, STREAM_COUNT] = row[0, TAKE] = row[0, SLOTS] = count
        return row

    def dictionary_failed(self, status: int) -> None:
        if status < 0:
            raise located(status, f"{self.reader.where()}: dictionary page")

    def words_dictionary(self, t: str) -> Dictionary:
        if self._dictionary is None:
            page, byte_count, count = self.dictionary_page()
            width = np.dtype(t).itemsize
            if t == "uint8":
                if count > byte_count * 8:
                    self._too_many(count, byte_count)
                values = np.empty(count, np.uint8)
                row = self._dictionary_slice(byte_count, count)
                self.dictionary_failed(load("plain.read_booleans")(page, row, NO_WORDS, values))
            else:
                if count > byte_count // width:
                    self._too_many(count, byte_count)
                values = page[: count * width].view(t)
            self._dictionary = Dictionary(count, values)
        return self._dictionary

    def wide_dictionary(self, width: int) -> Dictionary:
        if self._dictionary is None:
            page, byte_count, count = self.dictionary_page()
            if width and count > byte_count // width:
                self._too_many(count, byte_count)
            self._dictionary = Dictionary(count, page)
        return self._dictionary

    def bytes_dictionary(self) -> Dictionary:
        if self._dictionary is None:
            page, byte_count, count = self.dictionary_page()
            if count > byte_count // 4:
                self._too_many(count, byte_count)
            offsets = np.zeros(count + 1, np.int32)
            data = allocate(byte_count)
            row = self._dictionary_slice(byte_count, count)
            self.dictionary_failed(load("plain.read_byte_arrays", o="int32")(page, row, NO_WORDS, offsets, data))
            self._dictionary = Dictionary(count, data, offsets)
        return self._dictionary

    def _view_dictionary(self) -> Dictionary:
        """Views of the entries where they lie in the dictionary page, which becomes buffer 1 of the column."""
        if self._dictionary is None:
            page, byte_count, count = self.dictionary_page()
            if count > byte_count // 4:
                self._too_many(count, byte_count)
            pairs = np.empty((count, 2), np.uint64)
            row = self._dictionary_slice(byte_count, count)
            self.dictionary_failed(load_for_count("views.read_plain_views", count)(page, row, NO_WORDS, 1, pairs))
            is_text = bool(load_for_count("utf8.pages_are_ascii", count)(page, row)) if self.wanted.text else False
            if self.wanted.text and not is_text:
                is_text = load("utf8.check_utf8_views")(pairs, count, 1, page) >= 0
            self._dictionary = Dictionary(count, page, pairs=pairs, is_text=is_text)
        return self._dictionary

    def _too_many(self, count: int, byte_count: int) -> None:
        raise CorruptFileError(
            f"{self.reader.where()}: dictionary page of {byte_count} bytes cannot hold {count} entries"
        )


def _is_empty(part: Table, words: Words) -> bool:
    """Whether these pages deliver no value to the window: then their dictionary may be missing or empty."""
    if words.size:
        return not part[:, TAKE].any()
    return int(part[0, OUT_START]) == int(part[-1, OUT_START] + part[-1, SLOTS])


def _pack(bits: NDArray[np.bool_]) -> Words:
    packed = np.packbits(bits, bitorder="little")
    words = np.zeros((packed.size + 7) // 8, np.uint64)
    words.view(np.uint8)[: packed.size] = packed
    return words
