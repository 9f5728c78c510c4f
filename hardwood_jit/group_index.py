"""The page indexes of one row group: read in few requests, parsed when asked for, kept while the row group is read."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hardwood_jit.metadata.page_index import ColumnIndex, OffsetIndex, parse_column_index, skim_offset_index
from hardwood_jit.page_map import is_mappable, map_pages
from hardwood_jit.source import merge_ranges

if TYPE_CHECKING:
    from hardwood_jit.metadata.footer import RowGroup
    from hardwood_jit.metadata.schema import Leaf
    from hardwood_jit.pages.page_reader import ChunkFacts
    from hardwood_jit.source import Source

MOST_GROUPS = 64  # whose parsed indexes are kept
INDEX_GAP = 16 << 10  # indexes of one row group lie together: read what lies between them, too

Offsets = dict[int, OffsetIndex | None]  # by leaf
Maps = dict[int, OffsetIndex | None]
Columns = dict[int, ColumnIndex | None]


class GroupIndexes:
    """Column and offset indexes of a row group's columns; None where there is none that fits."""

    def __init__(self, source: Source, group: RowGroup, memo: dict[Any, Any]) -> None:
        """`memo` lives as long as the footer: what a look-up has learned serves the next one, of few row groups."""
        self._source = source
        self._group = group
        self._raw: dict[tuple[int, int], NDArray[np.uint8]] = {}  # (offset, length) -> bytes
        kept: dict[int, tuple[Offsets, Columns, Maps]] = memo.setdefault("page indexes", {})
        if group.index not in kept and len(kept) >= MOST_GROUPS:
            kept.clear()
        self._offsets, self._columns, self._maps = kept.setdefault(group.index, ({}, {}, {}))

    def load(self, columns: Iterable[Leaf], offsets: Iterable[Leaf]) -> None:
        """Read the column indexes of some leaves and the offset indexes of some, all that lies close as one."""
        chunks = self._group.columns
        places = [chunks[leaf.index].column_index_range for leaf in columns if leaf.index not in self._columns]
        places += [chunks[leaf.index].offset_index_range for leaf in offsets if leaf.index not in self._offsets]
        wanted = {place for place in places if place is not None and place not in self._raw}
        if not wanted:
            return
        merged = merge_ranges(sorted(wanted), INDEX_GAP)
        pieces = self._source.read_all(merged)
        starts = [offset for offset, _ in merged]
        for offset, length in wanted:
            number = bisect_right(starts, offset) - 1
            at = offset - starts[number]
            self._raw[offset, length] = pieces[number][at : at + length]

    def offset_index(self, leaf: Leaf) -> OffsetIndex | None:
        """Where the pages of a column are and which rows they hold."""
        if leaf.index not in self._offsets:
            self.load((), (leaf,))
            chunk = self._group.columns[leaf.index]
            place = chunk.offset_index_range
            found = None
            if place is not None:
                found = skim_offset_index(self._raw[place], self._group.num_rows, chunk.byte_range)
            self._offsets[leaf.index] = found
        return self._offsets[leaf.index]

    def page_map(self, leaf: Leaf, facts: ChunkFacts) -> OffsetIndex | None:
        """Where the pages of a flat column are: as its offset index says, or else their headers, if quick to read."""
        found = self.offset_index(leaf)
        if found is not None or leaf.layers or leaf.max_repetition_level or not is_mappable(self._source, facts):
            return found
        if leaf.index not in self._maps:
            self._maps[leaf.index] = map_pages(self._source, facts)
        return self._maps[leaf.index]

    def column_index(self, leaf: Leaf) -> ColumnIndex | None:
        """The bounds of a column's pages; only together with an offset index that lists the same pages."""
        if leaf.index not in self._columns:
            self.load((leaf,), (leaf,))
            offsets = self.offset_index(leaf)
            place = self._group.columns[leaf.index].column_index_range
            found = None
            if place is not None and offsets is not None:
                found = parse_column_index(self._raw[place].tobytes(), offsets.page_count)
            self._columns[leaf.index] = found
        return self._columns[leaf.index]
