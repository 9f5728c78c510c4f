"""A local column chunk without an offset index -> where its pages are, by reading nothing but their headers.

A read of half a kilobyte per page takes some microseconds, the pages between that nobody needs a hundred each.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hardwood_jit.kernels.status import NEED_MORE, OK, TABLE_FULL
from hardwood_jit.kernels.tables import PAGE_COMPRESSED, PAGE_FIELDS, PAGE_KIND, PAGE_VALUES
from hardwood_jit.metadata.page_index import OffsetIndex
from hardwood_jit.pages.page_reader import DATA_PAGE, DATA_PAGE_V2, DICTIONARY_PAGE, page_walker

if TYPE_CHECKING:
    from hardwood_jit.pages.page_reader import ChunkFacts
    from hardwood_jit.source import Source

LEAST_CHUNK = 1 << 20  # stored bytes
LEAST_PAGE = 32 << 10  # stored bytes on average: smaller ones are read at one go
FIRST_PAGES = 8  # after which that is looked at, and again after so many more: a file may have millions of empty ones
HEADER_BYTES = 512
MOST_HEADER = 64 << 10  # statistics of long values make long headers


def is_mappable(source: Source, facts: ChunkFacts) -> bool:
    """Whether finding the pages of a flat chunk may save reading many of them."""
    return source.has_quick_reads and facts.stop - facts.start >= LEAST_CHUNK and facts.value_count == facts.row_count


def map_pages(source: Source, facts: ChunkFacts) -> OffsetIndex | None:
    """The pages of a flat chunk; None where they are small, or not as they should be: then reading them says why."""
    from hardwood_jit.kernels.skim import skip_struct

    walk = page_walker()
    table = np.empty((1, PAGE_FIELDS), np.int64)
    buffer = np.empty(HEADER_BYTES, np.uint8)
    offsets: list[int] = []
    firsts: list[int] = []
    pos, row = facts.start, 0
    while row < facts.row_count:
        length = min(buffer.size, facts.stop - pos)
        if length <= 0:
            return None
        source.read_into(pos, buffer[:length])
        header = skip_struct(buffer, 0, length)
        if header < 0:
            if length < buffer.size or buffer.size >= MOST_HEADER:
                return None
            buffer = np.empty(8 * buffer.size, np.uint8)
            continue
        table[:] = -1
        # No further than the header: a page of another kind is passed over, and the row would be that of the next one.
        _, _, status = walk(buffer, 0, header, facts.value_count, table, 0)
        if status not in (OK, TABLE_FULL, NEED_MORE):
            return None
        kind, stored, values = (int(table[0, field]) for field in (PAGE_KIND, PAGE_COMPRESSED, PAGE_VALUES))
        if stored < 0 or stored > facts.stop - pos - header or values < 0 or values > facts.row_count - row:
            return None
        if kind in (DATA_PAGE, DATA_PAGE_V2):
            offsets.append(pos)
            firsts.append(row)
            row += values
        elif kind != DICTIONARY_PAGE or pos != facts.start:
            return None
        pos += header + stored
        count = len(offsets)
        if count and count % FIRST_PAGES == 0 and pos - offsets[0] < count * LEAST_PAGE:
            return None
    starts = np.array(offsets, np.int64)
    return OffsetIndex(starts, np.diff(starts, append=pos), np.array(firsts, np.int64), facts.row_count)
