"""One row group of a plan -> its opened columns: facts from the footer, pages chosen, bytes fetched."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hardwood_jit.errors import CorruptFileError, place
from hardwood_jit.group_index import GroupIndexes
from hardwood_jit.header_proofs import HeaderProofs
from hardwood_jit.kernels import tables
from hardwood_jit.memory import Arena, Scratch
from hardwood_jit.metadata.page_index import OffsetIndex
from hardwood_jit.options import OpenOptions
from hardwood_jit.pages.page_reader import ChunkFacts, PagePlan, PageReader, Pieces
from hardwood_jit.plan.row_ranges import RowRanges
from hardwood_jit.plan.scan_plan import GroupPlan
from hardwood_jit.plan.stored_keys import hashes_of_test
from hardwood_jit.source import merge_ranges

if TYPE_CHECKING:
    from hardwood_jit.jit.column_decoder import ColumnDecoder
    from hardwood_jit.jit.value_decoder import Wanted
    from hardwood_jit.jit.value_test import PreparedTest
    from hardwood_jit.lookup_group import LookupGroups
    from hardwood_jit.metadata.footer import FileMetadata
    from hardwood_jit.metadata.schema import Leaf
    from hardwood_jit.partitions import Constant
    from hardwood_jit.plan.bound import BoundPredicate, ValueTest
    from hardwood_jit.plan.prune import Prover
    from hardwood_jit.source import Source
    from hardwood_jit.whole_group import WholeGroups

Bytes = NDArray[np.uint8]

FETCH_BYTES = 32 << 20  # a row group's bytes up to this are read at once
COLUMN_BYTES = 2 << 20  # of a larger one, columns up to this


@dataclass
class ScanFile:
    """One file under a scan: its bytes, its footer, and projection and predicate in terms of its own schema."""

    source: Source
    metadata: FileMetadata
    leaves: tuple[Leaf, ...]  # the file's own leaves, in the order of the projection
    predicate: BoundPredicate | None = None
    prover: Prover | None = None  # None: nothing is proved from metadata
    constants: tuple[Constant, ...] = ()  # partition columns of the projection
    _tests: dict[int, PreparedTest] | None = None
    _hashes: dict[int, NDArray[np.uint64] | None] = field(default_factory=dict)
    whole_groups: WholeGroups | None = None  # see whole_group.py
    lookup_groups: LookupGroups | None = None  # see lookup_group.py

    def tests(self) -> dict[int, PreparedTest]:
        """The tests of the predicate, ready for kernels, by their identity."""
        from hardwood_jit.jit.conjunct import prepare_tests

        if self._tests is None:
            assert self.predicate is not None
            self._tests = prepare_tests(self.predicate.conjuncts)
        return self._tests

    @cached_property
    def header_proofs(self) -> HeaderProofs | None:
        """What page headers say of the predicate; None where nothing is proved from metadata."""
        return None if self.prover is None else HeaderProofs(self.prover)

    def bloom_hashes(self, test: ValueTest) -> NDArray[np.uint64] | None:
        """What a bloom filter is asked about a test; None where it cannot be asked."""
        if id(test) not in self._hashes:
            self._hashes[id(test)] = hashes_of_test(test)
        return self._hashes[id(test)]


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
        self._number = plan.row_group
        self._rows = plan.rows
        self.options = options
        self._scratch = scratch
        self.group = file.metadata.row_groups[plan.row_group]
        self.row_count = self.group.num_rows

    @cached_property
    def indexes(self) -> GroupIndexes:
        """The page indexes of the row group, as far as somebody asks for them."""
        return GroupIndexes(self._file.source, self.group, self._file.metadata.memo)

    def open(self, leaves: Sequence[Leaf], wanted: Sequence[Wanted], buffer: str) -> list[ColumnDecoder]:
        """Decoders of these leaves; their bytes go to the thread's buffer of that name."""
        fetched = self.fetch(leaves, buffer)
        return [self.decoder(column, form) for column, form in zip(fetched, wanted, strict=True)]

    def fetch(
        self, leaves: Sequence[Leaf], buffer: str, rows: Sequence[RowRanges] | None = None, *, in_steps: bool = False
    ) -> list[FetchedColumn]:
        """The bytes of these leaves, as far as they are read at once, into the thread's buffer of that name.

        `rows` are those that each leaf needs, by default the plan's. `in_steps` reads nothing ahead of its use.
        """
        wanted = [self._rows] * len(leaves) if rows is None else rows
        facts = [self.facts(leaf) for leaf in leaves]
        plans = self._page_plans(leaves, facts, wanted)
        ranges = [
            plan.runs() if plan else [(fact.start, fact.stop)] if fact.stop > fact.start else []
            for fact, plan in zip(facts, plans, strict=True)
        ]
        sizes = [sum(stop - start for start, stop in runs) for runs in ranges]
        # Part of a row group without an index to say which pages: read as far as is needed, no further.
        at_once = [
            not in_steps and (plan is not None or part.covers(self.row_count))
            for plan, part in zip(plans, wanted, strict=True)
        ]
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
            checksums=self.options.checksums,
            max_page_bytes=self.options.max_page_bytes,
            plan=column.plan,
        )
        return ColumnDecoder(leaf, reader, self._scratch, form)

    def facts(self, leaf: Leaf) -> ChunkFacts:
        """What the footer says of a column, checked as far as reading its pages needs it."""
        metadata, number = self._file.metadata, self._number
        row = metadata.chunk_table[number, leaf.index].tolist()
        if row[tables.CHUNK_ENCRYPTED] > 0 or row[tables.CHUNK_HAS_FILE_PATH] > 0 or row[tables.CHUNK_META_START] < 0:
            self.group.columns[leaf.index].check_readable()
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
            self.group.num_rows,
            row[tables.CHUNK_CODEC],
        )

    def _where(self, leaf: Leaf) -> str:
        return place(self._file.source.name, self._number, leaf.dotted)

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

    def left_out(self, leaves: Iterable[Leaf], before: RowRanges, after: RowRanges) -> tuple[int, int]:
        """Pages of some columns, and their bytes, that hold rows of `before` but none of `after`."""
        pages = byte_count = 0
        for leaf in leaves:
            index = self.indexes.offset_index(leaf)
            if index is not None:
                firsts = index.first_rows.tolist()
                gone = set(pages_of_rows(firsts, self.row_count, before))
                gone -= set(pages_of_rows(firsts, self.row_count, after))
                pages += len(gone)
                byte_count += int(index.sizes[sorted(gone)].sum())
        return pages, byte_count

    # The pages that a part of a row group needs

    def _page_plans(
        self, leaves: Sequence[Leaf], facts: Sequence[ChunkFacts], rows: Sequence[RowRanges]
    ) -> list[PagePlan | None]:
        partly = [leaf for leaf, part in zip(leaves, rows, strict=True) if not part.covers(self.row_count)]
        if not partly:
            return [None] * len(leaves)
        self.indexes.load((), partly)
        plans: list[PagePlan | None] = []
        for leaf, fact, part in zip(leaves, facts, rows, strict=True):
            index = None if part.covers(self.row_count) else self.indexes.page_map(leaf, fact)
            byte_range = self.group.columns[leaf.index].byte_range
            plans.append(None if index is None else _plan_pages(index, byte_range, part, self.row_count))
        return plans


def _plan_pages(
    index: OffsetIndex, byte_range: tuple[int, int], rows: RowRanges, row_count: int
) -> PagePlan | None:
    firsts = index.first_rows.tolist()
    stops = [*firsts[1:], row_count]
    starts = index.offsets.tolist()
    ends = (index.offsets + index.sizes).tolist()
    chosen = pages_of_rows(firsts, row_count, rows)
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


def pages_of_rows(firsts: Sequence[int], row_count: int, rows: RowRanges) -> list[int]:
    """The pages, given by their first rows, that hold one of the rows; pages without rows are never chosen."""
    chosen: list[int] = []
    for start, stop in rows:
        low = max(bisect_right(firsts, start) - 1, chosen[-1] + 1 if chosen else 0)
        high = bisect_left(firsts, stop)
        for page in range(low, high):
            end = firsts[page + 1] if page + 1 < len(firsts) else row_count
            if end > max(firsts[page], start):
                chosen.append(page)
    return chosen
