"""Pages of one flat column under a window -> verdicts on the encoded values, ANDed into the window's mask.

Only pages that still hold a candidate row are decompressed; a dictionary is tested once per entry, and where no entry
passes its pages are not even decompressed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hardwood_jit.batch import NO_NULLS, Column
from hardwood_jit.errors import located
from hardwood_jit.jit.decoders import DICTIONARY_ENCODINGS
from hardwood_jit.jit.kernel_cache import load
from hardwood_jit.jit.value_decoder import NO_WORDS, Bytes, Table, ValueDecoder, Wanted, Words
from hardwood_jit.jit.value_test import STORAGE, PreparedTest
from hardwood_jit.kernels import tables
from hardwood_jit.kernels.slices import FILTER_FIELDS, OUT_START, SLOTS, TAKE
from hardwood_jit.kernels.status import BAD_BIT_WIDTH, code_of, page_of
from hardwood_jit.physical import INT96_BYTES, Encoding, PhysicalType

if TYPE_CHECKING:
    from hardwood_jit.jit.column_decoder import ColumnDecoder
    from hardwood_jit.memory import Scratch
    from hardwood_jit.metadata.schema import Leaf
    from hardwood_jit.pages.page_reader import PageReader


PLAIN = int(Encoding.PLAIN)
TESTED_IN_PLACE = frozenset({PLAIN, *map(int, DICTIONARY_ENCODINGS)})
DICTIONARY_NUMBERS = frozenset(map(int, DICTIONARY_ENCODINGS))


class FlatWindow:
    """The pages of a flat column under the rows start .. stop: decompressed and sliced when they are asked for."""

    def __init__(self, decoder: ColumnDecoder, scratch: Scratch, start: int, stop: int) -> None:
        self.decoder = decoder
        self.start = start
        self.stop = stop
        self._scratch = scratch
        reader = decoder.reader
        self.first, last = decoder.pages_of(start, stop)
        self.page_count = last - self.first
        self.nullable = decoder.leaf.max_definition_level > 0
        self._rows: NDArray[np.int64] | None = None
        self._slices: Table | None = None
        self._is_sliced = [False] * self.page_count
        self.validity: Words = np.zeros(((stop - start + 63) >> 6) + 1, np.uint64) if self.nullable else NO_WORDS
        self._bounds = (reader.first_rows[self.first : last], reader.stop_rows[self.first : last])
        encodings = reader.encodings
        self.all_dictionary = encodings <= DICTIONARY_NUMBERS
        self.no_dictionary = encodings.isdisjoint(DICTIONARY_NUMBERS)

    @property
    def rows(self) -> NDArray[np.int64]:
        """First row and the one after the last of every page, counted in the window; may reach out of it."""
        if self._rows is None:
            self._rows = np.array(self._bounds, np.int64).T.copy() - self.start
        return self._rows

    def live_pages(self, mask: Bytes, candidates: int) -> list[int]:
        """Pages (counted in the window) that hold a candidate."""
        if candidates == self.stop - self.start or self.page_count == 1:
            return list(range(self.page_count))
        live = np.empty(self.page_count, np.uint8)
        load("select.live_pages")(mask, self.rows, live)
        return np.flatnonzero(live).tolist()

    @property
    def needs_decoding(self) -> bool:
        """Whether values must be decoded before they can be compared: sums of deltas, streams of bytes and the like."""
        if self.all_dictionary:
            return False
        physical = self.decoder.leaf.physical_type
        in_place = STORAGE.get(physical) in ("uint32", "uint64") or physical == PhysicalType.BYTE_ARRAY
        return not in_place or not self.decoder.reader.encodings <= TESTED_IN_PLACE

    def is_live_throughout(self, mask: Bytes, candidates: int) -> bool:
        """Whether every page holds a candidate: then the decoded column serves the output, too."""
        return len(self.live_pages(mask, candidates)) == self.page_count

    def pages_at(self, positions: NDArray[np.int32]) -> list[int]:
        """Pages that hold these positions (rising) of the window."""
        if self.page_count == 1:
            return [0]
        if len(positions) < 2 * self.page_count:
            ends = np.searchsorted(positions, self.rows[:, 1])
            starts = np.searchsorted(positions, self.rows[:, 0])
            return np.flatnonzero(ends > starts).tolist()
        live = np.empty(self.page_count, np.uint8)
        load("select.mark_pages")(positions, self.rows, live)
        return np.flatnonzero(live).tolist()

    def runs(self, pages: Sequence[int]) -> list[tuple[int, int]]:
        """Row ranges of the window that runs of neighbouring pages cover."""
        found: list[tuple[int, int]] = []
        rows = self.rows.tolist()
        for page in pages:
            first, stop = max(rows[page][0], 0), min(rows[page][1], self.stop - self.start)
            if found and found[-1][1] == first:
                found[-1] = (found[-1][0], stop)
            else:
                found.append((first, stop))
        return found

    def slices_of(self, pages: Sequence[int]) -> Table:
        """Slices of these pages, values lying densely; decompresses those that are not held yet."""
        fresh = [page for page in pages if not self._is_sliced[page]]
        if len(fresh) == self.page_count:
            self._slices = self._slice(fresh)
            return self._slices
        if self._slices is None:
            self._slices = np.zeros((self.page_count, FILTER_FIELDS), np.int64)
        if fresh:
            self._slices[fresh] = self._slice(fresh)
        if len(pages) == self.page_count:
            table = self._slices
        else:
            table = self._slices[list(pages)]
        np.cumsum(table[:-1, TAKE], out=table[1:, OUT_START])
        table[0, OUT_START] = 0
        return table

    def _slice(self, pages: list[int]) -> Table:
        bodies, table = self.open(pages)
        reader = self.decoder.reader
        kernel = load("take.slice_pages") if self.nullable else load("take.slice_pages", quick=True)
        status = kernel(
            reader.arena, bodies, self.nullable, self.start, self.stop, self.validity, self._scratch.counts, table
        )
        if status < 0:
            raise located(status, reader.where(self.first + pages[page_of(status)]))
        for page in pages:
            self._is_sliced[page] = True
        return table

    def open(self, pages: Sequence[int]) -> tuple[Table, Table]:
        """Decompress pages; the table of their bodies, and room for their slices."""
        numbers = [self.first + page for page in pages]
        self.decoder.reader.load(numbers)
        return self.decoder.bodies(numbers), np.empty((len(pages), FILTER_FIELDS), np.int64)

    def load_first(self, pages: Sequence[int], positions: NDArray[np.int32], itemsize: int) -> list[int]:
        """Decompress large PLAIN pages as far as the last of these positions needs it: those pages, to be released."""
        reader = self.decoder.reader
        chosen = [page for page in pages if not self._is_sliced[page] and reader.is_divisible(self.first + page)]
        if chosen:
            rows = self.rows[chosen]
            last = positions[np.searchsorted(positions, rows[:, 1]) - 1]
            numbers = [self.first + page for page in chosen]
            reader.load_first_values(numbers, (last - rows[:, 0] + 1).tolist(), itemsize, self.nullable)
        return chosen

    def release(self, pages: Sequence[int]) -> None:
        """Forget what `load_first` has decompressed."""
        if pages:
            self.decoder.reader.release_parts()
            for page in pages:
                self._is_sliced[page] = False

    def untouched(self, pages: Sequence[int]) -> bool:
        """Whether none of these pages has been sliced: their levels are read together with their values, then."""
        return self._slices is None or not any(self._is_sliced[page] for page in pages)

    def keep(self, pages: Sequence[int], table: Table) -> None:
        """Remember slices that a kernel has made."""
        if len(pages) == self.page_count:
            self._slices = table
        else:
            if self._slices is None:
                self._slices = np.zeros((self.page_count, FILTER_FIELDS), np.int64)
            self._slices[list(pages)] = table
        for page in pages:
            self._is_sliced[page] = True

    def is_plain(self, page: int) -> bool:
        """Whether the header of a page says that its values are stored one after the other."""
        return self.decoder.reader.headers[self.first + page][tables.PAGE_ENCODING] == PLAIN

    def is_dictionary(self, page: int) -> bool:
        """Whether the header of a page says that its values are indexes."""
        return (
            self.all_dictionary
            or self.decoder.reader.headers[self.first + page][tables.PAGE_ENCODING] in DICTIONARY_NUMBERS
        )


class PageTest:
    """One test of one flat column in one row group."""

    def __init__(self, prepared: PreparedTest, leaf: Leaf, reader: PageReader, scratch: Scratch) -> None:
        self.prepared = prepared
        self.leaf = leaf
        self._scratch = scratch
        self._values = ValueDecoder(leaf, reader, scratch, Wanted())
        self._hit: Bytes | None = None
        self._padded_hit: Bytes = np.full(1, 2, np.uint8)  # to a power of two: no index of that many bits is outside
        self._hit_count = 0

    def hit_table(self) -> Bytes:
        """One verdict per entry of the dictionary; none without one, which pages of nulls may do."""
        if self._hit is None and self._values.reader.dictionary() is None:
            self._hit = np.empty(0, np.uint8)
        if self._hit is None:
            prepared, physical = self.prepared, self.leaf.physical_type
            storage = STORAGE.get(physical)
            if storage is not None:
                entries = self._values.words_dictionary(storage)
                hit = prepared.hits_of_words(entries.values, entries.count)
            elif physical == PhysicalType.BYTE_ARRAY:
                entries = self._values.bytes_dictionary()
                assert entries.offsets is not None
                hit = prepared.hits_of_byte_arrays(entries.offsets, entries.values, entries.count)
            else:
                width = INT96_BYTES if physical == PhysicalType.INT96 else self.leaf.type_length or 0
                entries = self._values.wide_dictionary(width)
                hit = prepared.hits_of_wide(entries.values, width, entries.count)
            self._hit = hit
            self._hit_count = int(np.count_nonzero(hit))
            self._padded_hit = np.full(1 << max(hit.size - 1, 0).bit_length(), 2, np.uint8)
            self._padded_hit[: hit.size] = hit
        return self._hit

    def narrow(self, window: FlatWindow, mask: Bytes, candidates: int) -> int:
        """AND this test into the mask; how many candidates are left."""
        prepared = self.prepared
        pages = window.live_pages(mask, candidates)
        decided = False
        if prepared.same_for_all is None and not window.no_dictionary and any(map(window.is_dictionary, pages)):
            entry_count = self.hit_table().size
            dead = self._hit_count == 0 and not prepared.null_matches
            passed = self._hit_count == entry_count and not window.nullable
            if entry_count and (dead or passed):
                rest = []
                for page in pages:
                    if not window.is_dictionary(page):
                        rest.append(page)
                    elif dead:
                        first, stop = window.rows[page].tolist()
                        mask[max(first, 0) : max(stop, 0)] = 0
                decided, pages = True, rest
        if pages and not decided and window.untouched(pages):
            left = self._narrow_fused(window, mask, pages)
            if left is not None:
                return left
        if pages:
            table = window.slices_of(pages)
            hits = self._test(window, table, pages)
            left = load("select.narrow")(mask, table, window.validity, hits, prepared.null_matches)
            self._done(left, window, pages)
            if not decided:
                return left
        return int(load("select.count_mask")(mask, 0, mask.size))

    def _done(self, status: int, window: FlatWindow, pages: Sequence[int]) -> None:
        if status < 0:
            raise located(status, window.decoder.reader.where(window.first + pages[page_of(status)]))

    def _narrow_fused(self, window: FlatWindow, mask: Bytes, pages: list[int]) -> int | None:
        """Levels, verdicts and mask in one call per encoding; None where no kernel does all of it."""
        prepared = self.prepared
        if prepared.same_for_all is not None:
            return None
        indexes = pages if window.all_dictionary else [page for page in pages if window.is_dictionary(page)]
        plain = [page for page in pages if window.is_plain(page)] if len(indexes) < len(pages) else []
        if len(indexes) + len(plain) < len(pages):
            return None
        kernel = prepared.page_kernel() if plain else None
        if plain and kernel is None:
            return None
        hits = self._scratch.arena("hits").room(mask.size)[: mask.size]
        left = 0
        if indexes:
            bodies, table = window.open(indexes)
            hit = self.hit_table()
            found = load("fused.narrow_dictionary")(
                window.decoder.reader.arena, bodies, window.nullable, window.start, window.stop, window.validity,
                self._scratch.counts, table, hit.size, self._padded_hit, hits, mask, prepared.null_matches,
            )  # fmt: skip
            if found < 0 and code_of(found) == BAD_BIT_WIDTH:  # perhaps only wider than it need be
                return None
            self._done(found, window, indexes)
            window.keep(indexes, table)
            prepared.kernels[f"hit(c0: {self.leaf.physical_type} DICTIONARY)"] = "prepared"
            left += found
        if plain:
            assert kernel is not None
            run, constants = kernel
            bodies, table = window.open(plain)
            found = run(
                window.decoder.reader.arena, bodies, window.nullable, window.start, window.stop, window.validity,
                self._scratch.counts, table, hits, mask, prepared.null_matches, *constants,
            )  # fmt: skip
            self._done(found, window, plain)
            window.keep(plain, table)
            left += found
        return left

    def _test(self, window: FlatWindow, table: Table, pages: Sequence[int]) -> Bytes:
        """One verdict per present value of the pages, densely."""
        prepared, values = self.prepared, self._values
        total = int(table[-1, OUT_START] + table[-1, TAKE])
        hits = self._scratch.arena("hits").room(total)[:total]
        if prepared.same_for_all is not None:
            hits[:] = prepared.same_for_all
            return hits
        values.pages = [window.first + page for page in pages]
        src = window.decoder.reader.arena
        storage = STORAGE.get(self.leaf.physical_type)
        for encoding, low, high in values.encoding_groups(values.pages):
            part = table[low:high]
            numbers, byte_strings = prepared.numbers, prepared.byte_strings
            if encoding in DICTIONARY_ENCODINGS:
                if part[:, TAKE].any():
                    kernel = load("dictionary.read_fixed", "uint8")
                    values.done(kernel(src, part, NO_WORDS, self.hit_table(), self._scratch.indexes, hits), low)
            elif encoding == Encoding.PLAIN and storage in ("uint32", "uint64"):
                assert numbers is not None
                size = 4 if storage == "uint32" else 8
                kernel = load("compare.test_plain")
                status = kernel(
                    src, part, size, numbers.flip, numbers.float_bits, numbers.lows, numbers.spans, numbers.sieve, hits
                )
                values.done(status, low)
            elif encoding == Encoding.PLAIN and self.leaf.physical_type == PhysicalType.BYTE_ARRAY:
                bounds = byte_strings
                assert bounds is not None
                asked = bounds.asked
                status = load("compare.test_plain_byte_arrays")(
                    src, part, asked.data, asked.ends, asked.open_ends, bounds.order, bounds.asks, hits
                )
                values.done(status, low)
            else:
                self._test_decoded(part, values.pages[low:high], hits)
        return hits

    def _test_decoded(self, part: Table, pages: Sequence[int], hits: Bytes) -> None:
        """Values that must be decoded before they compare: sums of deltas, streams of bytes, shared prefixes."""
        start = int(part[0, OUT_START])
        count = int(part[-1, OUT_START] + part[-1, TAKE]) - start
        dense = part.copy()
        dense[:, OUT_START] -= start
        dense[:, SLOTS] = dense[:, TAKE]
        column = Column(self.leaf, count, count, NO_NULLS)
        everything = self._values.pages
        self._values.decode_values(column, dense, NO_WORDS, pages)
        self._values.pages = everything
        hits[start : start + count] = self.prepared.hits_of_column(column)
