"""Bytes of one column chunk -> a table of its pages, and their bodies decompressed on demand into one arena.

Only the pages between the first and the last one asked for are held; asking for later pages drops earlier ones.
"""

from __future__ import annotations

import zlib
from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import accumulate
from typing import TYPE_CHECKING, cast

import numpy as np
from numpy.typing import NDArray

from hardwood_jit.errors import CorruptFileError, UnsupportedError, located, place
from hardwood_jit.kernels.status import MEANING, NEED_MORE, TABLE_FULL, code_of, page_of
from hardwood_jit.kernels.tables import (
    PAGE_BODY,
    PAGE_COMPRESSED,
    PAGE_CRC,
    PAGE_DEF_BYTES,
    PAGE_DEF_ENCODING,
    PAGE_ENCODING,
    PAGE_FIELDS,
    PAGE_HAS_CRC,
    PAGE_IS_COMPRESSED,
    PAGE_KIND,
    PAGE_REP_BYTES,
    PAGE_ROWS,
    PAGE_UNCOMPRESSED,
    PAGE_VALUES,
)
from hardwood_jit.memory import Arena, allocate
from hardwood_jit.pages.codecs import decompressor, inflate, inflate_frames
from hardwood_jit.physical import Codec, Encoding, PageKind

if TYPE_CHECKING:
    from hardwood_jit.source import Source

Bytes = NDArray[np.uint8]

# Plain numbers: looking a member up in its Enum costs a microsecond.
DICTIONARY_PAGE = int(PageKind.DICTIONARY_PAGE)
DATA_PAGE_V2 = int(PageKind.DATA_PAGE_V2)
DATA_PAGE = int(PageKind.DATA_PAGE)

FIRST_BLOCK = 64 << 10  # a chunk read piece by piece starts small and doubles: `head` often needs little
LAST_BLOCK = 4 << 20
SPARE_BYTES = 100
NOT_LOADED = (-1, -1)
LEAST_DIVISIBLE = 64 << 10  # decompressed bytes: smaller pages are decompressed as a whole
SMALL_DICTIONARY = 32 << 10  # decompressed in the same call as the first pages, and then copied to its own place
MOST_PREFIX = 0.8  # of a dictionary: if more of it is needed, all of it is decompressed, and kept


@cache
def page_walker() -> Callable[..., tuple[int, int, int]]:
    """`walk_pages` of the kernels, which turns page headers into rows of a table."""
    # Loaded here and not above, so that importing this module does not import numba.
    import hardwood_jit.jit.kernel_cache  # noqa: F401  (names the disk cache)
    from hardwood_jit.kernels.skim import walk_pages

    return cast("Callable[..., tuple[int, int, int]]", walk_pages)


@cache
def _snappy() -> Callable[..., int]:
    from hardwood_jit.jit.kernel_cache import load

    return load("snappy.inflate_pages")


@dataclass(slots=True)  # not frozen: made for every column of every row group, and freezing costs 2 µs
class ChunkFacts:
    """What the footer says about a column chunk, as far as reading its pages needs it."""

    file: str
    row_group: int
    column: str
    start: int
    stop: int
    limit: int  # no page lies behind this byte, whatever the sizes say: the footer starts here
    value_count: int
    row_count: int
    codec: int


@dataclass(frozen=True, slots=True)
class PagePlan:
    """The pages chosen from an offset index: where they are and which rows they hold; sorted, disjoint."""

    dictionary: tuple[int, int] | None  # file range before the first data page
    starts: list[int]  # file offsets
    stops: list[int]
    first_rows: list[int]
    stop_rows: list[int]
    numbers: list[int]  # page numbers, for messages

    def runs(self) -> list[tuple[int, int]]:
        """File ranges to fetch, neighbouring pages merged."""
        merged: list[tuple[int, int]] = [self.dictionary] if self.dictionary else []
        for start, stop in zip(self.starts, self.stops, strict=True):
            if merged and merged[-1][1] == start:
                merged[-1] = (merged[-1][0], stop)
            else:
                merged.append((start, stop))
        return merged


class Pieces:
    """Successive byte pieces of a chunk, each with the file offset of its first byte."""

    def __init__(self, source: Source, ranges: list[tuple[int, int]], fetched: list[Bytes] | None = None) -> None:
        self.source = source
        self._ranges = ranges
        self._fetched = fetched
        self._range = 0
        self._pos = ranges[0][0] if ranges else 0
        self._block = FIRST_BLOCK

    def next(self, leftover: Bytes, needed: int) -> tuple[Bytes, int] | None:
        """The bytes after the last piece, preceded by its unused end; None when there are no more.

        `needed` is how many bytes the caller must have in all, as far as it knows.
        """
        while self._range < len(self._ranges):
            stop = self._ranges[self._range][1]
            if self._pos >= stop:
                self._range += 1
                if self._range < len(self._ranges):
                    self._pos = self._ranges[self._range][0]
                    if leftover.size:
                        return None
                continue
            if self._fetched is not None:
                start, self._pos = self._pos, stop
                return self._fetched[self._range], start
            length = min(max(self._block, needed - leftover.size), stop - self._pos)
            self._block = min(self._block * 2, LAST_BLOCK)
            piece = allocate(leftover.size + length)[: leftover.size + length]
            piece[: leftover.size] = leftover
            self.source.read_into(self._pos, piece[leftover.size :])
            start = self._pos - leftover.size
            self._pos += length
            return piece, start
        return None


class PageReader:
    """The data pages of one chunk in file order, and its dictionary page."""

    def __init__(
        self,
        facts: ChunkFacts,
        pieces: Pieces,
        arena: Arena,
        *,
        max_repetition_level: int,
        checksums: bool,
        max_page_bytes: int,
        plan: PagePlan | None = None,
    ) -> None:
        self._walk = page_walker()
        self.facts = facts
        self.plan = plan
        self.rows_known = max_repetition_level == 0 or plan is not None
        self._flat = max_repetition_level == 0
        self._pieces = pieces
        self._arena = arena
        self._checksums = checksums
        self.max_page_bytes = max_page_bytes
        self._decompress, self._expansion = decompressor(facts.codec, self.where)
        self._is_snappy = facts.codec == Codec.SNAPPY
        self._in_one_call = facts.codec in (Codec.SNAPPY, Codec.ZSTD)
        self._piece: Bytes = np.empty(0, np.uint8)
        self._piece_pos = 0
        self._table = np.empty((8, PAGE_FIELDS), np.int64)
        self._values_left = facts.value_count
        self._extended = False
        self._dictionary: Bytes | None = None
        self._stored_dictionary: tuple[list[int], Bytes] | None = None  # header and body, until somebody needs it
        self._small_dictionary: tuple[Bytes, int, int] | None = None  # the same as a place in a piece, if it is small
        self.dictionary_bytes = 0
        self.dictionary_count = -1
        self._ended = facts.value_count == 0 or (plan is not None and not plan.starts)
        # What the headers of the data pages known so far say, in all:
        self.encodings: set[int] = set()
        self.level_encodings: set[int] = set()  # of definition levels
        # One entry per data page known so far:
        self.headers: list[list[int]] = []
        self.first_rows: list[int] = []  # rows of the row group that start before the page
        self.stop_rows: list[int] = []  # ... and before its end; grows as pages are loaded where headers do not tell
        self._sources: list[Bytes | None] = []
        self._released = 0
        # The held pages: numbers first_held .. first_held + len(spans), at these places of the arena, or NOT_LOADED.
        self.first_held = 0
        self.spans: list[tuple[int, int]] = []
        self._used = 0  # bytes of the arena
        self._parts: dict[int, Bytes] = {}  # pages of which only the first values are there, and where they come from
        # Counted for explain:
        self.loaded_pages = 0
        self.loaded_bytes = 0

    def where(self, page: int | None = None) -> str:
        if page is not None and self.plan is not None and page < len(self.plan.numbers):
            page = self.plan.numbers[page]
        return place(self.facts.file, self.facts.row_group, self.facts.column, page)

    # Finding pages

    def discover(self) -> bool:
        """Learn of at least one more data page; False at the end of the chunk."""
        known = len(self.headers)
        if self._piece_pos == self._piece.size and not self._ended:
            self._next_piece(known)
        while not self._ended and len(self.headers) == known:
            rows, pos, status = self._walk(
                self._piece, self._piece_pos, self._piece.size, self._values_left, self._table, 0
            )
            if rows:
                self._take_rows(self._table[:rows].tolist())
            self._piece_pos = pos
            if status not in (0, TABLE_FULL, NEED_MORE):
                raise located(status, f"{self.where(len(self.headers))}: page header")
            if self._values_left <= 0 or (self.plan is not None and len(self.headers) >= len(self.plan.starts)):
                self._ended = True
            elif status == TABLE_FULL:
                if len(self._table) < 1024:
                    self._table = np.empty((len(self._table) * 4, PAGE_FIELDS), np.int64)
            elif len(self.headers) == known:  # else the next call fetches what it needs
                self._next_piece(len(self.headers))
        return len(self.headers) > known

    def _next_piece(self, page: int) -> None:
        leftover = self._piece[self._piece_pos :]
        # A page that does not fit asks for double of what is there until it does; the chunk's end bounds it.
        found = self._pieces.next(leftover, leftover.size * 2)
        if found is None and leftover.size and not self._extended and self.plan is None:
            found = self._extend(leftover)
        if found is None:
            if leftover.size:
                raise CorruptFileError(
                    f"{self.where(page)}: the page runs past the end of its column chunk at byte {self.facts.stop}"
                )
            self._ended = True
            return
        self._piece, _ = found
        self._piece_pos = 0

    def _extend(self, leftover: Bytes) -> tuple[Bytes, int] | None:
        """A few bytes more than the footer says: early writers left the dictionary page's header out of the sum."""
        self._extended = True
        length = min(SPARE_BYTES, self.facts.limit - self.facts.stop)
        if length <= 0:
            return None
        return np.concatenate([leftover, self._pieces.source.read(self.facts.stop, length)]), self.facts.stop

    def check_complete(self) -> None:
        """After all rows are read: the chunk's values must be at their end, too."""
        if self._values_left > 0 and not self.discover():
            raise CorruptFileError(
                f"{self.where()}: its pages hold {self.facts.value_count - self._values_left} values, "
                f"the footer says {self.facts.value_count}"
            )

    def _take_rows(self, rows: list[list[int]]) -> None:
        if rows[0][PAGE_KIND] == DICTIONARY_PAGE and not self.headers and self.dictionary_count < 0:
            self._find_dictionary(rows.pop(0))
        if self._flat and self.plan is None and all(row[PAGE_KIND] != DICTIONARY_PAGE for row in rows):
            self._take_flat_rows(rows)
            return
        for row in rows:
            if row[PAGE_KIND] == DICTIONARY_PAGE:
                if self.headers or self.dictionary_count >= 0:
                    raise CorruptFileError(f"{self.where(len(self.headers))}: a second dictionary page")
                self._find_dictionary(row)
                continue
            page = len(self.headers)
            first = self.stop_rows[-1] if page else 0
            if self.plan is not None:
                if page >= len(self.plan.starts):
                    raise CorruptFileError(f"{self.where()}: more pages than its offset index lists")
                first, stop = self.plan.first_rows[page], self.plan.stop_rows[page]
                header_rows = row[PAGE_VALUES] if self._flat else row[PAGE_ROWS]
                if header_rows >= 0 and header_rows != stop - first:
                    raise CorruptFileError(
                        f"{self.where(page)}: holds {header_rows} rows, its offset index says {stop - first}"
                    )
            elif self._flat:
                stop = first + row[PAGE_VALUES]
            elif row[PAGE_ROWS] >= 0 and first >= 0:
                stop = first + row[PAGE_ROWS]
            else:
                # A V1 page of a repeated column, or a page after one: known once the repetition levels are read.
                stop = first = -1
                self.rows_known = False
            if stop > self.facts.row_count:
                raise CorruptFileError(
                    f"{self.where(page)}: rows up to {stop}, but the row group has {self.facts.row_count}"
                )
            self._values_left -= row[PAGE_VALUES]
            self.headers.append(row)
            self.encodings.add(row[PAGE_ENCODING])
            self.level_encodings.add(row[PAGE_DEF_ENCODING])
            self._sources.append(self._piece)
            self.first_rows.append(first)
            self.stop_rows.append(stop)

    def _take_flat_rows(self, rows: list[list[int]]) -> None:
        """The common case of _take_rows at once: one value is one row, and nothing contradicts it but the total."""
        first = self.stop_rows[-1] if self.stop_rows else 0
        stops = list(accumulate((row[PAGE_VALUES] for row in rows), initial=first))
        if stops[-1] > self.facts.row_count:
            page = len(self.headers) + bisect_right(stops, self.facts.row_count) - 1
            raise CorruptFileError(
                f"{self.where(page)}: rows up to {stops[-1]}, but the row group has {self.facts.row_count}"
            )
        self._values_left -= stops[-1] - first
        self.headers += rows
        for row in rows:
            self.encodings.add(row[PAGE_ENCODING])
            self.level_encodings.add(row[PAGE_DEF_ENCODING])
        self._sources += [self._piece] * len(rows)
        self.first_rows += stops[:-1]
        self.stop_rows += stops[1:]

    def adopt(
        self, piece: Bytes, rows: list[list[int]], dictionary: Bytes | None, spans: list[tuple[int, int]], used: int
    ) -> None:
        """Take over what was done with all pages of a flat chunk: headers, dictionary, and the pages in the arena.

        `spans` has NOT_LOADED's value where a page has not been decompressed.
        """
        self._piece, self._piece_pos, self._ended = piece, piece.size, True
        if dictionary is not None:
            self._dictionary = dictionary
            self.dictionary_bytes, self.dictionary_count = rows[0][PAGE_UNCOMPRESSED], rows[0][PAGE_VALUES]
            rows = rows[1:]
        self._take_flat_rows(rows)
        self.spans = [NOT_LOADED if span == NOT_LOADED else span for span in spans]
        self._used = used
        self.loaded_pages = sum(span is not NOT_LOADED for span in self.spans)
        self.loaded_bytes = used

    # Decompressing pages

    def load_through(self, last: int) -> None:
        """Decompress the pages after the held ones, up to but not including number `last`."""
        self.load(range(self.first_held + len(self.spans), last))

    def load(self, pages: Iterable[int]) -> None:
        """Decompress those of `pages` (none below `first_held`) that are not held yet, behind the held ones."""
        base, spans, headers, sources = self.first_held, self.spans, self.headers, self._sources
        wanted = [page for page in pages if page - base >= len(spans) or spans[page - base] is NOT_LOADED]
        if not wanted:
            return
        if len(spans) < wanted[-1] + 1 - base:
            spans += [NOT_LOADED] * (wanted[-1] + 1 - base - len(spans))
        used = stop = self._used
        expansion, limit = self._expansion, self.max_page_bytes
        for page in wanted:
            row = headers[page]
            size = row[PAGE_UNCOMPRESSED]
            if size > limit or (expansion is not None and size > row[PAGE_COMPRESSED] * expansion + 64):
                self._check_size(row, page)
            stop += size
        self._arena.room(stop + (SMALL_DICTIONARY if self._small_dictionary is not None else 0), used)
        self.loaded_pages += len(wanted)
        self.loaded_bytes += stop - used
        self._used = stop
        table: list[tuple[int, int, int, int]] = []  # of pages that one kernel call decompresses
        numbers: list[int] = []
        piece: Bytes | None = None
        stop = used
        for page in wanted:
            row = headers[page]
            source = sources[page]
            assert source is not None
            sources[page] = None
            if source is not piece:
                if table:
                    self._inflate_all(piece, table, numbers)
                    table, numbers = [], []
                piece = source
            start, stop = stop, stop + row[PAGE_UNCOMPRESSED]
            spans[page - base] = (start, stop)
            body = row[PAGE_BODY]
            end = body + row[PAGE_COMPRESSED]
            if row[PAGE_HAS_CRC]:
                self._check_sum(row, source[body:end], page)
            first = start
            if row[PAGE_KIND] == DATA_PAGE_V2:
                levels = self._copy_levels(row, page, source, start)
                body += levels
                first += levels
                if not row[PAGE_IS_COMPRESSED]:
                    self._copy_stored(source[body:end], first, stop, page)
                    continue
            if first == stop:
                continue  # writers store nothing at all, or a frame of nothing: neither is worth a call
            if self._in_one_call:
                table.append((body, end, first, stop))
                numbers.append(page)
            else:
                inflate(self._decompress, source[body:end], self._arena.buffer[first:stop], self.where, page)
        if table:
            small = self._small_dictionary
            if small is None or small[0] is not piece or not self._inflate_with_dictionary(small, table, stop):
                self._inflate_all(piece, table, numbers)

    def _inflate_with_dictionary(
        self, small: tuple[Bytes, int, int], table: list[tuple[int, int, int, int]], stop: int
    ) -> bool:
        """The pages and the dictionary with one call; False where something is wrong or the call is not for them."""
        self._small_dictionary = None
        if self._stored_dictionary is None or table[-1][3] != stop:
            return False
        piece, body, end = small
        both = [*table, (body, end, stop, stop + self.dictionary_bytes)]
        if not self._inflate_together(piece, both):
            return False
        self._dictionary = allocate(self.dictionary_bytes)
        self._dictionary[: self.dictionary_bytes] = self._arena.buffer[stop : stop + self.dictionary_bytes]
        self._stored_dictionary = None
        return True

    def _inflate_together(self, piece: Bytes, table: list[tuple[int, int, int, int]]) -> bool:
        if self._is_snappy:
            if not (piece.flags.writeable and piece.flags.c_contiguous):
                return False  # kernels are compiled for one kind of array
            return _snappy()(piece, np.array(table, np.int64), self._arena.buffer) >= 0
        sizes = [stop - start for _, _, start, stop in table]
        first, last = table[0][2], table[-1][3]
        if len(table) == 1 or sum(sizes) != last - first:  # levels may lie between
            return False
        return inflate_frames([piece[body:end] for body, end, _, _ in table], sizes, self._arena.buffer[first:last])

    def is_divisible(self, page: int) -> bool:
        """Whether a page that is not held may be decompressed as far as its first values need it."""
        at = page - self.first_held
        if not self._is_snappy or (at < len(self.spans) and self.spans[at] is not NOT_LOADED):
            return False
        row, source = self.headers[page], self._sources[page]
        return (
            row[PAGE_KIND] == DATA_PAGE
            and row[PAGE_ENCODING] == Encoding.PLAIN
            and not row[PAGE_HAS_CRC]
            and row[PAGE_UNCOMPRESSED] >= LEAST_DIVISIBLE
            and source is not None
            and bool(source.flags.writeable and source.flags.c_contiguous)
        )

    def load_first_values(self, pages: Sequence[int], counts: Sequence[int], itemsize: int, nullable: bool) -> None:
        """Decompress divisible `pages` as far as their first values need it; `release_parts` before any other use.

        `itemsize` is 0 for byte arrays; `counts` may count nulls, too.
        """
        from hardwood_jit.jit.kernel_cache import load

        base = self.first_held
        if len(self.spans) < pages[-1] + 1 - base:
            self.spans += [NOT_LOADED] * (pages[-1] + 1 - base - len(self.spans))
        stop = self._used
        rows = []
        for page, count in zip(pages, counts, strict=True):
            row, start = self.headers[page], stop
            self._check_size(row, page)
            stop += row[PAGE_UNCOMPRESSED]
            rows.append([row[PAGE_BODY], row[PAGE_BODY] + row[PAGE_COMPRESSED], start, stop, count])
        self._arena.room(stop, self._used)
        self._used = stop
        inflate_first = load("snappy.inflate_first_values")
        for page, numbers in zip(pages, rows, strict=True):
            source = self._sources[page]
            assert source is not None
            table = np.array([numbers], np.int64)
            status = inflate_first(source, table, self._arena.buffer, itemsize, nullable)
            if status < 0:
                raise self._not_inflated(page, numbers[1] - numbers[0], status)
            self.spans[page - base] = (numbers[2], numbers[3])
            self._parts[page], self._sources[page] = source, None
            self.loaded_pages += 1
            self.loaded_bytes += int(table[0, -1])

    def release_parts(self) -> None:
        """Forget the pages of which only the first values are there."""
        for page, source in self._parts.items():
            self.spans[page - self.first_held] = NOT_LOADED
            self._sources[page] = source
        self._parts.clear()

    def _not_inflated(self, page: int, stored: int, status: int) -> CorruptFileError:
        reason = MEANING[code_of(status)]
        return CorruptFileError(f"{self.where(page)}: {stored} compressed bytes do not decompress: {reason}")

    def _inflate_all(self, piece: Bytes | None, table: list[tuple[int, int, int, int]], numbers: list[int]) -> None:
        """Decompress pages of one piece with one call, which gives the interpreter lock away once."""
        assert piece is not None
        if not self._is_snappy:
            if not self._inflate_together(piece, table):
                for (body, end, start, stop), page in zip(table, numbers, strict=True):
                    inflate(self._decompress, piece[body:end], self._arena.buffer[start:stop], self.where, page)
            return
        if not (piece.flags.writeable and piece.flags.c_contiguous):
            piece = np.array(piece)
        status = _snappy()(piece, np.array(table, np.int64), self._arena.buffer)
        if status < 0:
            page = numbers[page_of(status)]
            start, end, _, _ = table[page_of(status)]
            raise self._not_inflated(page, end - start, status)

    def _copy_levels(self, row: list[int], page: int, source: Bytes, start: int) -> int:
        """The levels of a V2 page, which are never compressed: how many bytes they take."""
        levels = row[PAGE_DEF_BYTES] + row[PAGE_REP_BYTES]
        if levels > row[PAGE_UNCOMPRESSED] or levels > row[PAGE_COMPRESSED]:
            size = row[PAGE_UNCOMPRESSED]
            raise CorruptFileError(f"{self.where(page)}: {levels} bytes of levels in a page of {size} bytes")
        if levels:
            body = row[PAGE_BODY]
            self._arena.buffer[start : start + levels] = source[body : body + levels]
        return levels

    def _copy_stored(self, body: Bytes, start: int, stop: int, page: int) -> None:
        if body.size != stop - start:
            raise CorruptFileError(f"{self.where(page)}: {body.size} bytes stored, its header says {stop - start}")
        self._arena.buffer[start:stop] = body

    def drop_before(self, page: int, arena: Arena | None = None) -> None:
        """Forget held pages below `page`. What stays moves to the front of `arena`, by default the one in use.

        With another arena the old one is left as it is: results may point into it.
        """
        if page > self._released:
            self._sources[self._released : page] = [None] * (page - self._released)
            self._released = page
        if not self.spans and arena is None:
            self._used = 0
            self.first_held = max(page, self.first_held)
            return
        gone = min(max(page - self.first_held, 0), len(self.spans))
        kept = self.spans[gone:]
        old = self._arena.buffer
        if arena is not None:
            self._arena = arena
        elif not gone and kept:
            return  # nothing to move
        used = 0
        # In the order in which they lie: each moves towards the front, over what has moved already.
        loaded = (number for number, span in enumerate(kept) if span is not NOT_LOADED)
        order = sorted(loaded, key=kept.__getitem__)
        self._arena.room(sum(kept[number][1] - kept[number][0] for number in order))
        for number in order:
            start, stop = kept[number]
            self._arena.buffer[used : used + stop - start] = old[start:stop]
            kept[number] = (used, used + stop - start)
            used += stop - start
        self._used = used
        self.spans = kept
        self.first_held = self.first_held + gone if kept else max(page, self.first_held)

    def stored_piece(self, page: int) -> Bytes | None:
        """The bytes in which a page's header counts its positions; None once the page was decompressed or passed."""
        return self._sources[page]

    @property
    def arena(self) -> Bytes:
        return self._arena.buffer

    @property
    def held_bytes(self) -> int:
        """Decompressed bytes that are held: pages and dictionary."""
        return self._used + (self.dictionary_bytes if self._dictionary is not None else 0)

    def page_bytes(self, page: int) -> int:
        return self.headers[page][PAGE_UNCOMPRESSED]

    def dictionary(self) -> Bytes | None:
        """The decompressed dictionary page (own buffer with SLACK behind it), None when the chunk has none."""
        if self._stored_dictionary is not None:
            row, body = self._stored_dictionary
            self._check_sum(row, body, None)
            buffer = allocate(self.dictionary_bytes)
            self._inflate_dictionary(body, buffer)
            self._dictionary, self._stored_dictionary = buffer, None
        return self._dictionary

    def _inflate_dictionary(self, body: Bytes, buffer: Bytes) -> None:
        if self._is_snappy and body.flags.writeable and body.flags.c_contiguous:
            # Numbers: 0.43 ms where cramjam takes 0.54; text takes the same time with both.
            table = np.array([[0, body.size, 0, self.dictionary_bytes]], np.int64)
            if _snappy()(body, table, buffer) >= 0:
                return
        inflate(self._decompress, body, buffer[: self.dictionary_bytes], self.where, None)  # or says what is wrong

    def dictionary_prefix(self, byte_count: int) -> Bytes | None:
        """The dictionary page, of which the first `byte_count` bytes are right at least; None without one."""
        stored = self._stored_dictionary
        if stored is None or not self._is_snappy or byte_count > self.dictionary_bytes * MOST_PREFIX:
            return self.dictionary()
        row, body = stored
        if row[PAGE_HAS_CRC] or not (body.flags.writeable and body.flags.c_contiguous):
            return self.dictionary()
        from hardwood_jit.jit.kernel_cache import load

        buffer = allocate(self.dictionary_bytes)
        status = load("snappy.inflate_prefix")(body, buffer, self.dictionary_bytes, byte_count)
        return buffer if status >= 0 else self.dictionary()  # which says what is wrong

    def _find_dictionary(self, row: list[int]) -> None:
        if row[PAGE_ENCODING] not in (Encoding.PLAIN, Encoding.PLAIN_DICTIONARY):
            raise CorruptFileError(f"{self.where()}: dictionary page with encoding number {row[PAGE_ENCODING]}")
        self._check_size(row, None)
        # Decompressed when a page needs it: those with survivors may have other encodings.
        body, end = row[PAGE_BODY], row[PAGE_BODY] + row[PAGE_COMPRESSED]
        self._stored_dictionary = row, self._piece[body:end]
        if self._in_one_call and 0 < row[PAGE_UNCOMPRESSED] <= SMALL_DICTIONARY and not row[PAGE_HAS_CRC]:
            self._small_dictionary = self._piece, body, end
        self.dictionary_bytes = row[PAGE_UNCOMPRESSED]
        self.dictionary_count = row[PAGE_VALUES]

    def _check_sum(self, row: list[int], body: Bytes, page: int | None) -> None:
        if self._checksums and row[PAGE_HAS_CRC]:
            found = zlib.crc32(body.data)
            if found != row[PAGE_CRC]:
                raise CorruptFileError(
                    f"{self.where(page)}: checksum {found:#010x}, its header says {row[PAGE_CRC]:#010x}"
                )

    def _check_size(self, row: list[int], page: int | None) -> None:
        """Before anything is allocated: does the decompressed size stay below the limit, and can the bytes reach it?"""
        size, stored = row[PAGE_UNCOMPRESSED], row[PAGE_COMPRESSED]
        if size > self.max_page_bytes:
            raise UnsupportedError(
                f"{self.where(page)}: the page decompresses to {size} bytes, above max_page_bytes="
                f"{self.max_page_bytes}; open the file with a larger max_page_bytes to read it"
            )
        if self._expansion is not None and size > stored * self._expansion + 64:
            raise CorruptFileError(f"{self.where(page)}: {stored} bytes cannot decompress to {size} with this codec")
