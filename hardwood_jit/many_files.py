"""Files of a dataset taken together while a scan is planned: which, and what their statistics say."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from hardwood_jit.metadata.statistics import ColumnStatistics

if TYPE_CHECKING:
    from hardwood_jit.dataset import DatasetFile
    from hardwood_jit.metadata.footer import FileMetadata
    from hardwood_jit.metadata.schema import Leaf, Schema

MOST_FILES = 256  # taken together: the next row group waits for as many footers


def blocks(count: int) -> Iterator[tuple[int, int]]:
    """Half-open ranges of file numbers, in order: one file first, then twice as many each time.

    >>> from hardwood_jit.many_files import blocks
    >>> list(blocks(10))
    [(0, 1), (1, 3), (3, 7), (7, 10)]
    """
    first, size = 0, 1
    while first < count:
        yield first, min(first + size, count)
        first, size = first + size, min(2 * size, MOST_FILES)


def known_alike(
    files: Sequence[DatasetFile], numbers: Sequence[int], schema: Schema
) -> list[tuple[int, FileMetadata]]:
    """Those of these files whose footers are known and have that schema, and one writer all of them."""
    found: list[tuple[int, FileMetadata]] = []
    for number in numbers:
        metadata = files[number]._metadata
        if metadata is None or metadata.schema is not schema:
            continue
        if found:
            first = found[0][1]
            if metadata.created_by != first.created_by or metadata.column_orders != first.column_orders:
                continue
        found.append((number, metadata))
    return found


def statistics_of_files(leaf: Leaf, files: Sequence[FileMetadata]) -> ColumnStatistics:
    """The statistics of a leaf in all row groups of several files of one schema."""
    return ColumnStatistics.of_files([(file.footer, file.chunk_table[:, leaf.index]) for file in files])
