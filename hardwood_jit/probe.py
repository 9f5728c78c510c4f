"""Answers the planner's questions about one row group from the file: page index, bloom filter, dictionary."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from hardwood_jit.errors import CorruptFileError
from hardwood_jit.kernels import tables
from hardwood_jit.memory import Arena, Scratch
from hardwood_jit.metadata.bloom import BLOCK_BYTES, HEADER_BYTES, blocks_of, is_in_block, parse_bloom_header
from hardwood_jit.pages.page_reader import PageReader, Pieces
from hardwood_jit.physical import Encoding, PageKind, PhysicalType
from hardwood_jit.plan.bound import ValueTest
from hardwood_jit.plan.prune import ALWAYS, MAYBE, NEVER, PageFacts, Verdict, facts_of_index

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hardwood_jit.group_columns import GroupColumns, ScanFile
    from hardwood_jit.metadata.footer import ColumnChunk
    from hardwood_jit.metadata.schema import Leaf
    from hardwood_jit.plan.statistics import BoundsReader

BLOOM_AT_ONCE = 64 << 10  # a filter up to this is read whole; of a larger one its header and the blocks asked about
MOST_BLOCKS = 64  # asked about one by one; for more literals the whole filter is read
MOST_DICTIONARY = 1 << 20  # bytes as stored
LEAST_DATA = 32 << 10  # with less behind it, a dictionary is not worth a request of its own

DICTIONARY_ENCODINGS = frozenset({Encoding.PLAIN_DICTIONARY, Encoding.RLE_DICTIONARY})
DATA_PAGES = frozenset({PageKind.DATA_PAGE, PageKind.DATA_PAGE_V2})


class GroupProbe:
    """One row group of a file; asked by `plan.prune.Prover`."""

    def __init__(self, file: ScanFile, columns: GroupColumns, scratch: Scratch) -> None:
        self._file = file
        self._group = columns.group
        self._columns = columns
        self._scratch = scratch
        self._has_read_indexes = False

    def page_facts(self, leaf: Leaf, reader: BoundsReader) -> PageFacts | None:
        """What the page index says of each page of a column; None without one that fits."""
        if self._group.columns[leaf.index].column_index_range is None:
            return None
        if not self._has_read_indexes:
            # At once what this stage and the fetch after it need: fewer requests.
            assert self._file.predicate is not None
            filters = self._file.predicate.leaves
            self._columns.indexes.load(filters, [*filters, *self._file.leaves])
            self._has_read_indexes = True
        columns, offsets = self._columns.indexes.column_index(leaf), self._columns.indexes.offset_index(leaf)
        return None if columns is None or offsets is None else facts_of_index(columns, offsets, reader)

    # Bloom filters

    def bloom_excludes(self, test: ValueTest) -> bool:
        """Whether the column's bloom filter says that none of the test's values is there."""
        chunk = self._group.columns[test.leaf.index]
        place = chunk.bloom_range
        if place is None:
            return False
        hashes = self._file.bloom_hashes(test)
        if hashes is None:
            return False
        blocks = self._bloom_blocks(place, hashes)
        return blocks is not None and not is_in_block(hashes, blocks).any()

    def _bloom_blocks(self, place: tuple[int, int | None], hashes: NDArray[np.uint64]) -> NDArray[np.uint8] | None:
        """The block of each hash; None when the filter is malformed."""
        source = self._file.source
        offset, length = place
        first_bytes = HEADER_BYTES if length is None or length > BLOOM_AT_ONCE else length
        first = source.read(offset, min(first_bytes, source.size - offset))
        header = parse_bloom_header(first[:HEADER_BYTES].tobytes(), offset, source.size)
        if header is None:
            return None
        start, num_bytes = header.bitset_range
        numbers = blocks_of(hashes, num_bytes)
        at = start - offset
        if at + num_bytes <= first.size:
            bits = first[at : at + num_bytes].reshape(-1, BLOCK_BYTES)
            return np.ascontiguousarray(bits[numbers])
        if len(hashes) > MOST_BLOCKS:
            bits = source.read(start, num_bytes).reshape(-1, BLOCK_BYTES)
            return np.ascontiguousarray(bits[numbers])
        places = {int(number): (start + BLOCK_BYTES * int(number), BLOCK_BYTES) for number in numbers}
        found = dict(zip(places, source.read_all(list(places.values())), strict=True))
        return np.stack([found[int(number)] for number in numbers])

    # Dictionaries

    def dictionary_verdict(self, test: ValueTest) -> Verdict:
        """What the column's dictionary says; MAYBE unless every data page uses it."""
        leaf = test.leaf
        chunk = self._group.columns[leaf.index]
        if test.intervals.is_everything or not test.intervals:
            return MAYBE  # only nulls matter
        place = self._dictionary_range(leaf, chunk)
        if place is None or not _is_all_dictionary(chunk):
            return MAYBE
        try:
            hits = self._dictionary_hits(test, place)
        except CorruptFileError:
            return MAYBE  # the footer may point to a wrong place: whoever reads the whole chunk says what is wrong
        if hits is None or hits.size == 0:
            return MAYBE
        count = int(np.count_nonzero(hits))
        if count == 0 and not test.null_matches:
            return NEVER
        statistics = chunk.statistics
        no_nulls = leaf.max_definition_level == 0 or (statistics is not None and statistics.null_count == 0)
        is_always = count == hits.size and (test.null_matches or no_nulls) and test.quantifier is None
        return ALWAYS if is_always else MAYBE

    def _dictionary_range(self, leaf: Leaf, chunk: ColumnChunk) -> tuple[int, int] | None:
        """Where the dictionary page is, if reading it alone is worth it."""
        start, length = chunk.byte_range
        stop = chunk.data_page_offset
        if leaf.physical_type == PhysicalType.BOOLEAN or stop <= start or stop - start > MOST_DICTIONARY:
            return None
        data_bytes = start + length - stop
        if data_bytes < max(LEAST_DATA, stop - start) or start + length > self._file.source.size:
            return None
        return start, stop

    def _dictionary_hits(self, test: ValueTest, place: tuple[int, int]) -> NDArray[np.uint8] | None:
        from hardwood_jit.jit.page_test import PageTest

        leaf = test.leaf
        reader = PageReader(
            self._columns.facts(leaf),
            Pieces(self._file.source, [place], [self._file.source.read(place[0], place[1] - place[0])]),
            Arena(),
            max_repetition_level=leaf.max_repetition_level,
            checksums=self._columns.options.checksums,
            max_page_bytes=self._columns.options.max_page_bytes,
        )
        reader.discover()
        if reader.dictionary() is None or reader.headers:
            return None
        return PageTest(self._file.tests()[id(test)], leaf, reader, self._scratch).hit_table()


def _is_all_dictionary(chunk: ColumnChunk) -> bool:
    stats = chunk.encoding_stats
    pages = [part for part in stats or () if part.page_kind in DATA_PAGES and part.count]
    return bool(pages) and all(part.encoding in DICTIONARY_ENCODINGS for part in pages)


# Bloom filters of many row groups at once

MOST_HASHES = 16  # asked for one by one in every row group


def bloom_exclusions(file: ScanFile, groups: Sequence[int]) -> dict[int, str]:
    """Row groups in which a bloom filter excludes a conjunct, and why; two rounds of small reads for all of them.

    Row group by row group `GroupProbe.bloom_excludes` would say the same. Conjuncts with many values are left to that.
    """
    assert file.predicate is not None
    found: dict[int, str] = {}
    for test in file.predicate.conjuncts:
        if not isinstance(test, ValueTest) or test.null_matches or test.quantifier == "all":
            continue
        keys = test.intervals.few_keys()
        if not keys or len(keys) > MOST_HASHES:
            continue
        left = [group for group in groups if group not in found]
        offsets = file.metadata.chunk_table[left, test.leaf.index, tables.CHUNK_BLOOM]
        left = [group for group, offset in zip(left, offsets.tolist(), strict=True) if offset > 0]
        hashes = file.bloom_hashes(test) if left else None
        if hashes is None:
            continue
        reason = f"{test.leaf.dotted}: does not hold " + ("the value" if len(keys) == 1 else "any of the values")
        found.update(dict.fromkeys(_excluded(file, test.leaf, left, hashes), reason))
    return found


def _excluded(file: ScanFile, leaf: Leaf, groups: Sequence[int], hashes: NDArray[np.uint64]) -> list[int]:
    """The row groups whose filter of a column holds none of the hashes."""
    places = _bitset_places(file, leaf, groups)
    asked = [group for group in groups if places[group] is not None]
    if not asked:
        return []
    starts, sizes = np.array([places[group] for group in asked], np.int64).T
    offsets = starts[:, None] + BLOCK_BYTES * blocks_of(hashes[None, :], sizes[:, None])
    ranges = [(offset, BLOCK_BYTES) for offset in offsets.ravel().tolist()]
    blocks = np.empty((len(ranges), BLOCK_BYTES), np.uint8)
    file.source.read_ranges(ranges, list(blocks))
    held = is_in_block(np.tile(hashes, len(asked)), blocks).reshape(offsets.shape)
    return [group for group, may_be in zip(asked, held, strict=True) if not may_be.any()]


def _bitset_places(file: ScanFile, leaf: Leaf, groups: Sequence[int]) -> dict[int, tuple[int, int] | None]:
    """Where the bits of a column's filters are, (offset, length) per row group; None where one is malformed."""
    known: dict[int, tuple[int, int] | None] = file.metadata.memo.setdefault(("bloom", leaf.index), {})
    missing = [group for group in groups if group not in known]
    size = file.source.size
    offsets = file.metadata.chunk_table[missing, leaf.index, tables.CHUNK_BLOOM].tolist()
    inside = [(group, offset) for group, offset in zip(missing, offsets, strict=True) if offset < size]
    known.update(dict.fromkeys(missing))
    heads = file.source.read_all([(offset, min(HEADER_BYTES, size - offset)) for _, offset in inside])
    for (group, offset), head in zip(inside, heads, strict=True):
        header = parse_bloom_header(head.tobytes(), offset, size)
        known[group] = None if header is None else header.bitset_range
    return known
