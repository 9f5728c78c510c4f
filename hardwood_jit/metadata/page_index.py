"""Bytes of a page index -> OffsetIndex and ColumnIndex (PageIndex.md); None when the lists do not fit together.

An index that lies is ignored, never an error: the pages themselves are still there.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hardwood_jit.errors import CorruptFileError
from hardwood_jit.metadata import structs

FEW_PAGES = 64


@dataclass(frozen=True)
class OffsetIndex:
    """Where each data page of a chunk is. `first_rows` starts at 0 and never falls; pages do not overlap."""

    offsets: NDArray[np.int64]  # of the page header, in the file
    sizes: NDArray[np.int64]  # header included
    first_rows: NDArray[np.int64]  # in the row group
    row_count: int
    unencoded_bytes: NDArray[np.int64] | None = None  # per page, for byte arrays

    @property
    def page_count(self) -> int:
        return self.offsets.size

    def page_rows(self) -> NDArray[np.int64]:
        """Rows of each page."""
        return np.diff(self.first_rows, append=self.row_count)


@dataclass(frozen=True)
class ColumnIndex:
    """Bounds of each data page, as PLAIN bytes; meaningless where `null_pages` is set."""

    null_pages: NDArray[np.bool_]
    min_values: tuple[bytes, ...]
    max_values: tuple[bytes, ...]
    boundary_order: int  # 0 unordered, 1 ascending, 2 descending
    null_counts: NDArray[np.int64] | None = None
    nan_counts: NDArray[np.int64] | None = None
    repetition_histograms: NDArray[np.int64] | None = None  # pages x levels
    definition_histograms: NDArray[np.int64] | None = None

    @property
    def page_count(self) -> int:
        return self.null_pages.size


def parse_offset_index(raw: bytes, row_count: int, byte_range: tuple[int, int] | None = None) -> OffsetIndex | None:
    """The offset index of a chunk with `row_count` rows whose bytes are at (start, length) `byte_range`."""
    try:
        found = structs.decode(structs.OffsetIndex, raw)
    except CorruptFileError:
        return None
    pages = found.page_locations
    if pages is None or not row_count >= 0 or (row_count > 0 and not pages):
        return None
    numbers = [(page.offset, page.compressed_page_size, page.first_row_index) for page in pages]
    if any(None in row for row in numbers):
        return None
    table = np.array(numbers, np.int64).reshape(-1, 3)
    offsets, sizes, first_rows = (np.ascontiguousarray(table[:, column]) for column in range(3))
    if not _locations_fit(offsets, sizes, first_rows, row_count, byte_range):
        return None
    unencoded = _counts(found.unencoded_byte_array_data_bytes, len(pages))
    return OffsetIndex(offsets, sizes, first_rows, row_count, unencoded)


def skim_offset_index(
    raw: NDArray[np.uint8], row_count: int, byte_range: tuple[int, int] | None = None
) -> OffsetIndex | None:
    """As `parse_offset_index`, without sizes of byte arrays and some twenty times as fast."""
    from hardwood_jit.kernels import tables as t
    from hardwood_jit.kernels.skim import skim_offset_index

    table = np.empty((raw.size // 6 + 2, t.LOCATION_FIELDS), np.int64)  # a location takes seven bytes at least
    rows = skim_offset_index(raw, 0, raw.size, table)
    if rows < 1 or rows - 1 != table[0, t.INDEX_PAGES] or (row_count > 0 and rows == 1):
        return None
    columns = (t.LOCATION_OFFSET, t.LOCATION_BYTES, t.LOCATION_FIRST_ROW)
    offsets, sizes, first_rows = (table[1:rows, column] for column in columns)
    if not _locations_fit(offsets, sizes, first_rows, row_count, byte_range):
        return None
    return OffsetIndex(offsets, sizes, first_rows, row_count)


def _locations_fit(
    offsets: NDArray[np.int64],
    sizes: NDArray[np.int64],
    first_rows: NDArray[np.int64],
    row_count: int,
    byte_range: tuple[int, int] | None,
) -> bool:
    if offsets.size <= FEW_PAGES:  # ten times as fast on short lists as with arrays
        return _few_locations_fit(offsets.tolist(), sizes.tolist(), first_rows.tolist(), row_count, byte_range)
    # Bounds first: with offsets below 2**62 and 32-bit sizes no sum below can overflow.
    if offsets.min() < 0 or offsets.max() >= 1 << 62 or sizes.min() <= 0:
        return False
    if first_rows[0] != 0 or first_rows[-1] > row_count or (np.diff(first_rows) < 0).any():
        return False
    ends = offsets + sizes
    if (offsets[1:] != ends[:-1]).any():  # a gap is a page that the index has forgotten
        return False
    if byte_range is None:
        return True
    start, length = byte_range
    return bool(offsets[0] >= start and int(ends[-1]) <= start + length)


def _few_locations_fit(
    offsets: list[int], sizes: list[int], first_rows: list[int], row_count: int, byte_range: tuple[int, int] | None
) -> bool:
    end, row = (0, 0) if byte_range is None else (byte_range[0], 0)
    for number, (offset, size, first) in enumerate(zip(offsets, sizes, first_rows, strict=True)):
        # A gap between pages is a page that the index has forgotten; before the first there is the dictionary.
        if offset < end or (number and offset != end) or offset >= 1 << 62 or size <= 0:
            return False
        if first < row or (number == 0 and first):
            return False
        end, row = offset + size, first
    return not offsets or (row <= row_count and (byte_range is None or end <= byte_range[0] + byte_range[1]))


def _counts(numbers: list[int] | None, count: int) -> NDArray[np.int64] | None:
    """A list of one count per page; None when absent, of another length or negative."""
    if numbers is None or len(numbers) != count:
        return None
    found = np.array(numbers, np.int64)
    return None if (found < 0).any() else found


def _histograms(numbers: list[int] | None, count: int) -> NDArray[np.int64] | None:
    if not numbers or count == 0 or len(numbers) % count:
        return None
    return np.array(numbers, np.int64).reshape(count, -1)


def parse_column_index(raw: bytes, page_count: int | None = None) -> ColumnIndex | None:
    """The column index; `page_count` is what the offset index says, where there is one."""
    try:
        found = structs.decode(structs.ColumnIndex, raw)
    except CorruptFileError:
        return None
    if found.null_pages is None or found.min_values is None or found.max_values is None:
        return None
    count = len(found.null_pages)
    if not count == len(found.min_values) == len(found.max_values) or page_count not in (None, count):
        return None
    if found.boundary_order not in (0, 1, 2):
        return None
    null_counts = _counts(found.null_counts, count)
    if found.null_counts is not None and null_counts is None:
        return None
    nan_counts = _counts(found.nan_counts, count)
    if found.nan_counts is not None and nan_counts is None:
        return None
    return ColumnIndex(
        np.array(found.null_pages, np.bool_),
        tuple(found.min_values),
        tuple(found.max_values),
        int(found.boundary_order),
        null_counts,
        nan_counts,
        _histograms(found.repetition_level_histograms, count),
        _histograms(found.definition_level_histograms, count),
    )
