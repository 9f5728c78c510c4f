"""Pages of one column chunk and a window of rows -> Column: levels, then values, each one kernel call over all pages.

Decoding is a function of the chunk and the window: nothing but held pages is carried from one window to the next, so
that a window may be repeated, shrunk or skipped. A page that reaches into two windows is decompressed once.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from operator import itemgetter
from typing import TYPE_CHECKING

import numpy as np

from hardwood_jit.batch import NO_NULLS, Column, Layer, Validity
from hardwood_jit.errors import CorruptFileError, UnsupportedError, located
from hardwood_jit.jit.kernel_cache import load
from hardwood_jit.jit.value_decoder import NO_BYTES, NO_WORDS, Bytes, Table, ValueDecoder, Wanted, Words
from hardwood_jit.kernels import tables
from hardwood_jit.kernels.levels import BIT_PACKED, BODY_FIELDS
from hardwood_jit.kernels.slices import FIELDS, SLOTS, SRC_END, SRC_START
from hardwood_jit.kernels.status import page_of
from hardwood_jit.memory import Arena, Scratch, allocate_array
from hardwood_jit.physical import PageKind

if TYPE_CHECKING:
    from hardwood_jit.metadata.schema import Leaf
    from hardwood_jit.pages.page_reader import PageReader

# What the level kernels need of a page header, in the order of their table.
_body_columns = itemgetter(
    tables.PAGE_VALUES,
    tables.PAGE_DEF_BYTES,
    tables.PAGE_REP_BYTES,
    tables.PAGE_DEF_ENCODING,
    tables.PAGE_REP_ENCODING,
)

HELD_BYTES = 8 << 20  # decompressed pages of one column under one window, unless a single page is larger
HELD_LEVELS = 1 << 21  # levels of one column under one window, unless a single record has more


class ColumnDecoder:
    """One leaf in one row group."""

    def __init__(self, leaf: Leaf, reader: PageReader, scratch: Scratch, wanted: Wanted) -> None:
        self.leaf = leaf
        self.reader = reader
        self.wanted = wanted
        self._scratch = scratch
        self._values = ValueDecoder(leaf, reader, scratch, wanted)
        # Levels are decoded when a page is loaded, unless they are a single bit per row.
        self._keeps_levels = leaf.max_repetition_level > 0 or leaf.max_definition_level > 1 or bool(leaf.layers)
        self._definitions = scratch.arena(("definitions", leaf.index))
        self._repetitions = scratch.arena(("repetitions", leaf.index))
        self._level_counts: list[int] = []  # per held page
        self._level_total = 0
        self._value_starts: list[int] = []  # per held page: where its values start, counted from the page's start

    # Holding the pages of a window

    def cover(self, start: int, stop: int) -> int:
        """Hold the pages of the rows start .. stop, or of fewer (at least one) where memory says so: the new stop."""
        reader = self.reader
        page = self._find_page(start)
        # Views of the last window point into its pages: leave them where they are.
        self._drop_before(page, Arena(lasting=True) if self._values.arena_in_use else None)
        self._values.arena_in_use = False
        if self._keeps_levels:
            return self._cover_levels(page, start, stop)
        stop, last = self._reach(page, start, stop)
        reader.load(range(page, last))
        return stop

    def reach(self, start: int, stop: int, *, gaps: bool = False) -> int:
        """As `cover` for a flat column, but only headers are read: `load_rows` decompresses what is needed.

        With `gaps` rows of pages that were not chosen may be missing.
        """
        page = self._find_page(start)
        self._drop_before(page, Arena(lasting=True) if self._values.arena_in_use else None)
        self._values.arena_in_use = False
        return self._reach(page, start, stop, gaps)[0]

    def _reach(self, page: int, start: int, stop: int, gaps: bool = False) -> tuple[int, int]:
        """Learn of the pages from `page` on that rows up to `stop` need: the new stop, and the page after the last."""
        reader = self.reader
        held = 0
        last = page
        while True:
            if last == len(reader.headers) and not reader.discover():
                if gaps and last > page:
                    break
                raise self.short(stop)
            held += reader.page_bytes(last)
            if held > HELD_BYTES and last > page and reader.first_rows[last] > start:
                stop = min(stop, reader.first_rows[last])
                break
            last += 1
            if reader.stop_rows[last - 1] >= stop:
                break
        if reader.plan is not None and not gaps:
            self._check_gaps(page, last)
        return stop, last

    def pages_of(self, start: int, stop: int) -> tuple[int, int]:
        """The numbers of the first page of the rows start .. stop of a flat column, and of the one after the last."""
        reader = self.reader
        first = bisect_right(reader.stop_rows, start, lo=reader.first_held)
        return first, bisect_left(reader.first_rows, stop, lo=first)

    def load_rows(self, start: int, stop: int) -> None:
        """Decompress the pages of these rows, which `reach` or `cover` has found."""
        if self._keeps_levels:
            return
        self.reader.load(range(*self.pages_of(start, stop)))

    def _find_page(self, start: int) -> int:
        """The first page that holds (a part of) row `start`: it lies in the window, or its record continues there."""
        reader = self.reader
        page = reader.first_held
        while True:
            if page == len(reader.headers) and not reader.discover():
                raise self.short(start + 1)
            if reader.stop_rows[page] < 0:
                return page  # not known before its levels are read
            if reader.stop_rows[page] > start:
                return page
            page += 1

    def _check_gaps(self, first: int, last: int) -> None:
        rows = self.reader
        for page in range(first + 1, last):
            if rows.first_rows[page] != rows.stop_rows[page - 1]:
                raise CorruptFileError(f"{rows.where(page)}: rows are missing before this page")

    def _drop_before(self, page: int, arena: Arena | None = None) -> None:
        gone = min(page - self.reader.first_held, len(self.reader.spans))
        self.reader.drop_before(page, arena)
        if self._keeps_levels and gone > 0:
            skipped = sum(self._level_counts[:gone])
            kept = self._level_total = self._level_total - skipped
            for arena in (self._definitions, self._repetitions):
                if arena.buffer.size:
                    arena.buffer[:kept] = arena.buffer[skipped : skipped + kept]
            del self._level_counts[:gone], self._value_starts[:gone]

    def _cover_levels(self, page: int, start: int, stop: int) -> int:
        """As cover, page by page, because only the levels tell which records a page holds."""
        reader = self.reader
        while True:
            loaded = reader.first_held + len(reader.spans)
            if loaded > page and reader.stop_rows[loaded - 1] >= stop and self._ends_with_record(loaded - 1, stop):
                return stop
            if loaded == len(reader.headers) and not reader.discover():
                if loaded > page and reader.stop_rows[loaded - 1] == stop:
                    return stop
                raise self.short(stop)
            if reader.spans and (reader.spans[-1][1] > HELD_BYTES or self._level_total > HELD_LEVELS):
                # Enough is held: stop before the last record that starts here, since it may continue.
                complete = reader.stop_rows[loaded - 1] - 1
                if start < complete < stop:
                    return complete
            self._load_levels(loaded)
            if reader.stop_rows[loaded] <= start and not reader.rows_known:
                # All of this page lies before the window; a record that starts in it cannot be asked for any more.
                self._drop_before(loaded + 1)
                page = loaded + 1

    def _ends_with_record(self, page: int, stop: int) -> bool:
        """Whether row stop - 1 is known to end on `page`: a later record starts there, or pages hold whole records."""
        reader = self.reader
        if reader.stop_rows[page] > stop:
            return True
        if self.leaf.max_repetition_level == 0 or reader.plan is not None:
            return True
        if reader.headers[page][tables.PAGE_KIND] == PageKind.DATA_PAGE_V2:
            return True
        return page + 1 == len(reader.headers) and not reader.discover()

    def _load_levels(self, page: int) -> None:
        reader, leaf = self.reader, self.leaf
        count = reader.headers[page][tables.PAGE_VALUES]
        if not reader.spans:
            self._reserve()
        reader.load_through(page + 1)
        body = self.bodies((page,))
        if count > 1 << 20:
            self._check_level_count(body, page, count)
        used = self._level_total
        self._values.check_room(2 * (used + count))
        definitions = self._definitions.room(used + count, used)[used : used + count]
        repeated = leaf.max_repetition_level > 0
        repetitions = self._repetitions.room(used + count, used)[used : used + count] if repeated else NO_BYTES
        slices = np.zeros((1, FIELDS), np.int64)
        status = load("levels.read_levels")(
            reader.arena, body, leaf.max_definition_level, leaf.max_repetition_level, definitions, repetitions, slices
        )
        if status < 0:
            raise located(status, reader.where(page))
        self._level_counts.append(count)
        self._level_total += count
        self._value_starts.append(int(slices[0, SRC_START]) - reader.spans[-1][0])
        if repeated:
            starts = load("levels.count_record_starts")(repetitions, count)
            self._note_rows(page, starts, bool(count) and int(repetitions[0]) == 0)

    def _reserve(self) -> None:
        """Room for a chunk that one window may hold: buffers that grow page by page are copied again and again."""
        facts, leaf = self.reader.facts, self.leaf
        byte_count = facts.stop - facts.start  # as stored: bytes that are there, whatever the pages say
        if byte_count <= HELD_BYTES and self.wanted.form != "views":  # views' pages lie in another arena
            self._scratch.arena(("pages", leaf.index)).room(byte_count)
        if facts.value_count <= HELD_LEVELS:  # announced only, but little and not touched
            self._definitions.room(facts.value_count)
            if leaf.max_repetition_level > 0:
                self._repetitions.room(facts.value_count)

    def _check_level_count(self, body: Table, page: int, count: int) -> None:
        """A count that the bytes cannot deliver must not lead to an allocation."""
        leaf, reader = self.leaf, self.reader
        repeated = leaf.max_repetition_level > 0
        maximum = leaf.max_repetition_level if repeated else leaf.max_definition_level
        found = load("levels.count_levels")(reader.arena, body, 0, maximum, repeated)
        if found < count:
            raise CorruptFileError(f"{reader.where(page)}: {max(found, 0)} levels found, {count} announced")

    def _note_rows(self, page: int, starts: int, starts_record: bool) -> None:
        reader = self.reader
        first, stop = reader.first_rows[page], reader.stop_rows[page]
        if stop < 0:
            first = reader.first_rows[page] = reader.stop_rows[page - 1] if page else 0
            stop = reader.stop_rows[page] = first + starts
            announced = reader.headers[page][tables.PAGE_ROWS]
            if announced >= 0 and announced != starts:
                raise CorruptFileError(f"{reader.where(page)}: {starts} records start here, {announced} announced")
            if stop > reader.facts.row_count:
                raise CorruptFileError(
                    f"{reader.where(page)}: rows up to {stop}, but the row group has {reader.facts.row_count}"
                )
        elif starts != stop - first:
            raise CorruptFileError(f"{reader.where(page)}: {starts} records start here, {stop - first} announced")
        whole = page == 0 or reader.plan is not None or reader.headers[page][tables.PAGE_ROWS] >= 0
        if whole and not starts_record and self._level_counts[-1]:
            raise CorruptFileError(f"{reader.where(page)}: first repetition level is not 0: it starts inside a record")

    def short(self, stop: int) -> CorruptFileError:
        found = max(self.reader.stop_rows, default=0)
        return CorruptFileError(
            f"{self.reader.where()}: its pages hold {max(found, 0)} rows, the row group has "
            f"{self.reader.facts.row_count} and row {stop} is needed"
        )

    # Decoding a window

    @property
    def is_flat(self) -> bool:
        """One value per row and at most one bit of levels, which stay with the pages."""
        return not self._keeps_levels

    @property
    def values(self) -> ValueDecoder:
        return self._values

    def decode(self, start: int, stop: int, values: ValueDecoder | None = None) -> Column:
        """The Column of rows start .. stop, whose pages `cover` or `load_rows` has made available.

        Another decoder of the same chunk's values than this one's own gives them in its form.
        """
        leaf, reader = self.leaf, self.reader
        if self._keeps_levels:
            first = last = reader.first_held
            end = first + len(reader.spans)
            while last < end and (reader.first_rows[last] < stop or leaf.max_repetition_level):
                last += 1
        else:
            first, last = self.pages_of(start, stop)
        bodies = self.bodies(range(first, last))
        slices = np.empty((last - first, FIELDS), np.int64)
        rows = stop - start
        if self._keeps_levels:
            slots, validity, layers = self._slice_nested(bodies, slices, start, stop)
        else:
            slots, layers = rows, ()
            validity = self._slice_flat(bodies, slices, start, stop, first)
        column = Column(leaf, rows, slots, validity, layers)
        words = NO_WORDS if validity.words is None else validity.words
        (values or self._values).decode_values(column, slices, words, range(first, last))
        return column

    def bodies(self, pages: Sequence[int]) -> Table:
        """The table of some loaded pages that the level kernels read (levels.py)."""
        reader = self.reader
        base = reader.first_held
        rows = [
            (*reader.spans[page - base], *_body_columns(reader.headers[page]), reader.first_rows[page])
            for page in pages
        ]
        return np.array(rows, np.int64).reshape(len(rows), BODY_FIELDS)

    def _slice_flat(self, bodies: Table, slices: Table, start: int, stop: int, first: int) -> Validity:
        reader = self.reader
        if self.leaf.max_definition_level == 0:
            status = load("levels.slice_required")(bodies, start, stop, slices)
            if status < 0:
                raise located(status, reader.where(first + page_of(status)))
            return NO_NULLS
        if self.has_packed_levels:
            return self._slice_packed(bodies, slices, start, stop)
        words = _words_for(stop - start)
        nulls = load("levels.read_validity")(reader.arena, bodies, start, stop, words, self._scratch.counts, slices)
        if nulls < 0:
            raise located(nulls, reader.where(first + page_of(nulls)))
        return _validity(words, stop - start, nulls)

    @property
    def has_packed_levels(self) -> bool:
        """Whether one of the known pages has definition levels in the legacy encoding BIT_PACKED."""
        return BIT_PACKED in self.reader.level_encodings

    def _slice_packed(self, bodies: Table, slices: Table, start: int, stop: int) -> Validity:
        """Legacy BIT_PACKED levels of a flat column: through bytes, as nested columns do."""
        reader = self.reader
        count = int(bodies[:, 2].sum())
        self._values.check_room(2 * count)
        definitions = self._definitions.room(count)
        status = load("levels.read_levels")(reader.arena, bodies, 1, 0, definitions, NO_BYTES, slices)
        if status < 0:
            raise located(status, reader.where(reader.first_held + page_of(status)))
        low, high = self._slice_records(bodies, slices, definitions, NO_BYTES, start, stop, 0)
        words = _words_for(stop - start)
        nulls = load("levels.build_slots")(definitions, NO_BYTES, low, high, 255, 0, 1, words)
        return _validity(words, stop - start, nulls)

    def _slice_records(
        self, bodies: Table, slices: Table, definitions: Bytes, repetitions: Bytes, start: int, stop: int, slot: int
    ) -> tuple[int, int]:
        leaf, reader = self.leaf, self.reader
        extent = self._scratch.counts
        status = load("levels.slice_records")(
            definitions,
            repetitions,
            leaf.max_repetition_level,
            bodies,
            start,
            stop,
            leaf.max_definition_level,
            slot,
            slices,
            extent,
        )
        if status < 0:
            raise located(status, reader.where(reader.first_held + page_of(status)))
        return int(extent[0]), int(extent[1])

    def _slice_nested(
        self, bodies: Table, slices: Table, start: int, stop: int
    ) -> tuple[int, Validity, tuple[Layer, ...]]:
        leaf, reader = self.leaf, self.reader
        for row in range(len(bodies)):
            slices[row, SRC_START] = bodies[row, 0] + self._value_starts[row]
            slices[row, SRC_END] = bodies[row, 1]
        definitions, repetitions = self._definitions.buffer, self._repetitions.buffer
        low, high = self._slice_records(bodies, slices, definitions, repetitions, start, stop, leaf.slot_definition)
        slots = stop - start
        if len(leaf.layers) == 1 and leaf.max_repetition_level > 0:
            return self._build_list(slices, low, high, slots)
        layers = []
        for layer in leaf.layers:
            words = _words_for(slots)
            if layer.kind == "struct":
                nulls = load("levels.build_slots")(
                    definitions,
                    repetitions,
                    low,
                    high,
                    layer.slot_repetition if leaf.max_repetition_level else 255,
                    layer.slot_definition,
                    layer.valid_definition,
                    words,
                )
                if nulls < 0:
                    raise located(nulls, reader.where())
                layers.append(Layer("struct", _validity(words, slots, nulls)))
                continue
            if high - low >= 2**31 - 1:
                raise UnsupportedError(f"{reader.where()}: a record of more than 2**31 values does not fit one batch")
            offsets = allocate_array(slots + 1, np.int32, 4)
            counts = self._scratch.counts
            status = load("levels.build_repeated")(
                definitions,
                repetitions,
                low,
                high,
                layer.slot_repetition,
                layer.slot_definition,
                layer.valid_definition,
                layer.item_definition,
                offsets,
                words,
                counts,
            )
            if status < 0:
                raise located(status, reader.where())
            layers.append(Layer("repeated", _validity(words, slots, int(counts[0])), offsets))
            slots = int(counts[1])
        words = _words_for(slots)
        nulls = load("levels.build_slots")(
            definitions, repetitions, low, high, 255, leaf.slot_definition, leaf.max_definition_level, words
        )
        if nulls < 0 or slots != int(slices[:, SLOTS].sum()):
            raise CorruptFileError(f"{reader.where()}: its levels contradict each other")
        return slots, _validity(words, slots, nulls), tuple(layers)

    def _build_list(self, slices: Table, low: int, high: int, slots: int) -> tuple[int, Validity, tuple[Layer, ...]]:
        """The most common nested shape, a list of values and nothing around it: its layer and leaf in one pass."""
        leaf, reader = self.leaf, self.reader
        if high - low >= 2**31 - 1:
            raise UnsupportedError(f"{reader.where()}: a record of more than 2**31 values does not fit one batch")
        (layer,) = leaf.layers
        items = int(slices[:, SLOTS].sum())
        offsets, words = allocate_array(slots + 1, np.int32, 4), _words_for(slots)
        leaf_words = _words_for(items) if leaf.nullable else NO_WORDS
        counts = self._scratch.counts
        status = load("levels.build_list")(
            self._definitions.buffer,
            self._repetitions.buffer,
            low,
            high,
            layer.valid_definition,
            layer.item_definition,
            leaf.max_definition_level,
            offsets,
            words,
            leaf_words,
            counts,
        )
        if status < 0:
            raise located(status, reader.where())
        nulls, found, leaf_nulls = counts[:3].tolist()
        if found != items:
            raise CorruptFileError(f"{reader.where()}: its levels contradict each other")
        lists = Layer("repeated", _validity(words, slots, nulls), offsets)
        return items, _validity(leaf_words, items, leaf_nulls), (lists,)


def _words_for(slots: int) -> Words:
    """Room for `slots` bits and one spare word; kernels write every word."""
    count = ((slots + 63) >> 6) + 1
    return allocate_array(count, np.uint64, 8)


def _validity(words: Words, slots: int, nulls: int) -> Validity:
    return Validity(words[: (slots + 63) >> 6], slots, nulls) if nulls else NO_NULLS
