"""One row group of a plan -> its opened columns: facts from the footer, pages chosen, bytes fetched."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hardwood_jit.errors import CorruptFileError, place
from hardwood_jit.kernels import tables
from hardwood_jit.memory import Arena, Scratch
from hardwood_jit.metadata.page_index import OffsetIndex, parse_offset_index
from hardwood_jit.options import OpenOptions
from hardwood_jit.pages.page_reader import ChunkFacts, PagePlan, PageReader, Pieces
from hardwood_jit.plan.row_ranges import RowRanges
from hardwood_jit.plan.scan_plan import GroupPlan
from hardwood_jit.source import merge_ranges

if TYPE_CHECKING:
    from hardwood_jit.jit.column_decoder import ColumnDecoder
    from hardwood_jit.jit.value_decoder import Wanted
    from hardwood_jit.jit.value_test import PreparedTest
    from hardwood_jit.metadata.footer import FileMetadata
    from hardwood_jit.metadata.schema import Leaf
    from hardwood_jit.plan.bound import BoundPredicate
    from hardwood_jit.source import Source

Bytes = NDArray[np.uint8]

FETCH_BYTES = 32 << 20  # a row group's bytes up to this are read at once
COLUMN_BYTES = 2 << 20  # of a larger one, columns up to this
INDEX_GAP = 16 << 10  # offset indexes of one row group lie together: read what lies between them, too


@dataclass
class ScanFile:
    """One file under a scan: its bytes, its footer, and projection and predicate in terms of its own schema."""

    source: Source
    metadata: FileMetadata
    leaves: tuple[Leaf, ...]  # the file's own leaves, in the order of the projection
    predicate: BoundPredicate | None = None
    _tests: dict[int, PreparedTest] | None = None

    def tests(self) -> dict[int, PreparedTest]:
        """The tests of the predicate, ready for kernels, by their identity."""
        from hardwood_jit.jit.conjunct import prepare_tests

        if self._tests is None:
            assert self.predicate is not None
            self._tests = prepare_tests(self.predicate.conjuncts)
        return self._tests


@dataclass(slots=True)
class FetchedColumn:
    """A column of a row group, and its bytes where they were read at once."""

    leaf: Leaf
    facts: ChunkFacts
    plan: PagePlan | None
    ranges: list[tuple[int, int]]
    pieces: list[Bytes] | None


class GroupColumns:
    """Opens columns of one row group; those opened together are fetched together."""

    def __init__(self, file: ScanFile, plan: GroupPlan, options: OpenOptions, scratch: Scratch) -> None:
        self._file = file
        self._plan = plan
        self._options = options
        self._scratch = scratch
        self._group = file.metadata.row_groups[plan.row_group]
        self.row_count = self._group.num_rows

    def open(self, leaves: Sequence[Leaf], wanted: Sequence[Wanted], buffer: str) -> list[ColumnDecoder]:
        """Decoders of these leaves; their bytes go to the thread's buffer of that name."""
        fetched = self.fetch(leaves, buffer)
        return [self.decoder(column, form) for column, form in zip(fetched, wanted, strict=True)]

    def fetch(self, leaves: Sequence[Leaf], buffer: str) -> list[FetchedColumn]:
        """The bytes of these leaves, as far as they are read at once, into the thread's buffer of that name."""
        facts = [self._facts(leaf) for leaf in leaves]
        plans = self._page_plans(leaves)
        ranges = [
            plan.runs() if plan else [(fact.start, fact.stop)] if fact.stop > fact.start else []
            for fact, plan in zip(facts, plans, strict=True)
        ]
        sizes = [sum(stop - start for start, stop in runs) for runs in ranges]
        # Part of a row group without an index to say which pages: read as far as is needed, no further.
        at_once = [self._plan.whole or plan is not None for plan in plans]
        if sum(sizes) > FETCH_BYTES:
            at_once = [whole and size <= COLUMN_BYTES for whole, size in zip(at_once, sizes, strict=True)]
        if all(at_once):
            pieces = self._fetch(ranges, buffer)
        else:
            chosen = [runs if whole else [] for runs, whole in zip(ranges, at_once, strict=True)]
            found = self._fetch(chosen, buffer)
            pieces = [part if whole else None for part, whole in zip(found, at_once, strict=True)]
        return list(map(FetchedColumn, leaves, facts, plans, ranges, pieces))

    def decoder(self, column: FetchedColumn, form: Wanted) -> ColumnDecoder:
        """The decoder of a fetched column."""
        from hardwood_jit.jit.column_decoder import ColumnDecoder

        leaf = column.leaf
        reader = PageReader(
            column.facts,
            Pieces(self._file.source, column.ranges, column.pieces),
            # Views point into the pages: their arena is not used again.
            Arena(lasting=True) if form.form == "views" else self._scratch.arena(("pages", leaf.index)),
            max_repetition_level=leaf.max_repetition_level,
            checksums=self._options.checksums,
            max_page_bytes=self._options.max_page_bytes,
            plan=column.plan,
        )
        return ColumnDecoder(leaf, reader, self._scratch, form)

    def _facts(self, leaf: Leaf) -> ChunkFacts:
        metadata, number = self._file.metadata, self._plan.row_group
        row = metadata.chunk_table[number, leaf.index].tolist()
        if row[tables.CHUNK_ENCRYPTED] > 0 or row[tables.CHUNK_HAS_FILE_PATH] > 0 or row[tables.CHUNK_META_START] < 0:
            self._group.columns[leaf.index].check_readable()
        if row[tables.CHUNK_TYPE] != leaf.physical_type:
            raise CorruptFileError(
                f"{self._where(leaf)}: the column chunk has type number {row[tables.CHUNK_TYPE]}, "
                f"the schema says {leaf.physical_type}"
            )
        start = row[tables.CHUNK_DATA_OFFSET]
        dictionary = row[tables.CHUNK_DICTIONARY_OFFSET]
        if 0 < dictionary < start:
            start = dictionary
        stop = start + row[tables.CHUNK_COMPRESSED]
        if stop > self._file.source.size:
            raise CorruptFileError(
                f"{self._where(leaf)}: column chunk ends at byte {stop}, the file at {self._file.source.size}"
            )
        return ChunkFacts(
            self._file.source.name,
            number,
            leaf.dotted,
            start,
            stop,
            metadata.footer_start,
            row[tables.CHUNK_VALUES],
            self._group.num_rows,
            row[tables.CHUNK_CODEC],
        )

    def _where(self, leaf: Leaf) -> str:
        return place(self._file.source.name, self._plan.row_group, leaf.dotted)

    def _fetch(self, ranges: Sequence[Sequence[tuple[int, int]]], name: str) -> list[list[Bytes] | None]:
        """All ranges of all columns into one reused buffer, ranges that touch as one request."""
        flat = [(start, stop - start) for runs in ranges for start, stop in runs]
        merged = merge_ranges(flat, 0)
        buffer = self._scratch.arena(("raw", name)).room(sum(length for _, length in merged))
        places: list[tuple[int, int]] = []  # file offset, offset in buffer
        outs = []
        used = 0
        for offset, length in merged:
            places.append((offset, used))
            outs.append(buffer[used : used + length])
            used += length
        self._file.source.read_ranges(merged, outs)
        starts = [offset for offset, _ in places]
        fetched: list[list[Bytes] | None] = []
        for runs in ranges:
            pieces = []
            for start, stop in runs:
                offset, at = places[bisect_right(starts, start) - 1]
                pieces.append(buffer[at + start - offset : at + stop - offset])
            fetched.append(pieces)
        return fetched

    # The pages that a part of a row group needs

    def _page_plans(self, leaves: Sequence[Leaf]) -> list[PagePlan | None]:
        if self._plan.whole:
            return [None] * len(leaves)
        chunks = [self._group.columns[leaf.index] for leaf in leaves]
        indexes = self._read_offset_indexes(leaves, [chunk.offset_index_range for chunk in chunks])
        return [
            None if index is None else _plan_pages(index, chunk.byte_range, self._plan.rows, self._group.num_rows)
            for index, chunk in zip(indexes, chunks, strict=True)
        ]

    def _read_offset_indexes(
        self, leaves: Sequence[Leaf], places: Sequence[tuple[int, int] | None]
    ) -> list[OffsetIndex | None]:
        source = self._file.source
        known = [place for place in places if place is not None and place[0] + place[1] <= source.size]
        if not known:
            return [None] * len(places)
        held = [(offset, source.read(offset, length)) for offset, length in merge_ranges(known, INDEX_GAP)]
        found: list[OffsetIndex | None] = []
        for leaf, place_ in zip(leaves, places, strict=True):
            index = None
            for offset, raw in held:
                if place_ is not None and offset <= place_[0] and place_[0] + place_[1] <= offset + raw.size:
                    piece = raw[place_[0] - offset : place_[0] - offset + place_[1]].tobytes()
                    chunk = self._group.columns[leaf.index]
                    index = parse_offset_index(piece, self._group.num_rows, chunk.byte_range)
                    break
            found.append(index)
        return found


def _plan_pages(
    index: OffsetIndex, byte_range: tuple[int, int], rows: RowRanges, row_count: int
) -> PagePlan | None:
    firsts = index.first_rows.tolist()
    stops = [*firsts[1:], row_count]
    starts = index.offsets.tolist()
    ends = (index.offsets + index.sizes).tolist()
    chosen = [
        page for page in range(len(firsts)) if any(a < stops[page] and firsts[page] < b for a, b in rows)
    ]
    chunk_start = byte_range[0]
    if not firsts or starts[0] < chunk_start:
        return None
    return PagePlan(
        (chunk_start, starts[0]) if starts[0] > chunk_start else None,
        [starts[page] for page in chosen],
        [ends[page] for page in chosen],
        [firsts[page] for page in chosen],
        [stops[page] for page in chosen],
        chosen,
    )
