"""A column chunk -> its pages: where each lies, how large it is, which rows it holds, how it is encoded.

The offset index tells most of it. Without one, or where the encodings differ from page to page, page headers are read
one by one, each in a small read of its own; bodies are never read.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from hardwood_jit.errors import CorruptFileError
from hardwood_jit.kernels.status import TRUNCATED
from hardwood_jit.metadata import structs
from hardwood_jit.pages.page_reader import SPARE_BYTES
from hardwood_jit.physical import Encoding, PageKind

if TYPE_CHECKING:
    from hardwood_jit.metadata.footer import ColumnChunk
    from hardwood_jit.metadata.page_index import OffsetIndex
    from hardwood_jit.source import Source

HEADER_BYTES = 256  # most headers are shorter; one with long statistics is read again
MOST_HEADER_BYTES = 1 << 20
DATA_KINDS = (PageKind.DATA_PAGE, PageKind.DATA_PAGE_V2)
DICTIONARY = "dictionary page"


@dataclass(frozen=True, slots=True)
class Page:
    """One page as it is stored, its header included."""

    offset: int  # in the file
    stored_bytes: int
    encoding: str  # of its values; DICTIONARY for a dictionary page
    first_row: int | None = None  # None: not known, or a dictionary page
    stop_row: int | None = None

    @property
    def is_dictionary(self) -> bool:
        return self.encoding == DICTIONARY


class DataPageHeader(structs.Struct):
    """Of both versions, as far as they say how many rows and in which encoding."""

    thrift_spec = structs.spec({1: ("num_values", structs.I32), 2: ("encoding", structs.I32)})


class DataPageHeaderV2(structs.Struct):
    """Its third field is what the first version lacks: rows."""

    thrift_spec = structs.spec(
        {1: ("num_values", structs.I32), 3: ("num_rows", structs.I32), 4: ("encoding", structs.I32)}
    )


class PageHeader(structs.Struct):
    """What stands before every page."""

    thrift_spec = structs.spec(
        {
            1: ("type", structs.I32),
            3: ("compressed_page_size", structs.I32),
            5: ("data_page_header", structs.struct_of(DataPageHeader)),
            8: ("data_page_header_v2", structs.struct_of(DataPageHeaderV2)),
        }
    )


def pages_of(chunk: ColumnChunk, source: Source, row_count: int) -> tuple[Page, ...]:
    """The pages of a chunk in file order, its dictionary page first."""
    chunk.check_readable()
    index = chunk.offset_index
    encoding = _only_encoding(chunk)
    if index is None or encoding is None:
        return tuple(_walk(chunk, source, index, row_count))
    start = chunk.byte_range[0]
    rows = pairwise([*index.first_rows.tolist(), row_count])
    places = zip(index.offsets.tolist(), index.sizes.tolist(), rows, strict=True)
    pages = [Page(offset, size, encoding, first, stop) for offset, size, (first, stop) in places]
    if pages and pages[0].offset > start:
        pages.insert(0, Page(start, pages[0].offset - start, DICTIONARY))
    return tuple(pages)


def _only_encoding(chunk: ColumnChunk) -> str | None:
    """The encoding of all data pages; None where the footer does not say it."""
    found = {str(stats.encoding) for stats in chunk.encoding_stats or () if stats.page_kind in DATA_KINDS}
    return found.pop() if len(found) == 1 else None


def _walk(chunk: ColumnChunk, source: Source, index: OffsetIndex | None, row_count: int) -> list[Page]:
    """Header by header, as far as the chunk's values and bytes reach."""
    start, length = chunk.byte_range
    at, end = start, min(start + length, source.size)
    limit = min(end + SPARE_BYTES, source.size)
    values_left = chunk.num_values
    first: int | None = 0
    rows_by_offset: dict[int, tuple[int, int]] = {}
    if index is not None:
        rows = pairwise([*index.first_rows.tolist(), row_count])
        rows_by_offset = dict(zip(index.offsets.tolist(), rows, strict=True))
    pages: list[Page] = []
    while at < end and values_left > 0:
        header, header_bytes = _read_header(chunk, source, at, limit)
        body_bytes = -1 if header.compressed_page_size is None else header.compressed_page_size
        size = header_bytes + body_bytes
        if body_bytes < 0 or at + size > limit:
            raise CorruptFileError(f"{chunk.where}: the page at byte {at} does not fit into its column chunk")
        data = header.data_page_header or header.data_page_header_v2
        if header.type == PageKind.DICTIONARY_PAGE:
            pages.append(Page(at, size, DICTIONARY))
        elif data is not None:
            count = max(data.num_values or 0, 0)
            rows_here = data.num_rows if header.data_page_header is None else None
            if rows_here is None and chunk.leaf.max_repetition_level == 0:
                rows_here = count
            stop = None if first is None or rows_here is None else first + rows_here
            known = rows_by_offset.get(at, (None if stop is None else first, stop))
            pages.append(Page(at, size, _encoding_name(data.encoding), *known))
            first = stop
            values_left -= count
        at += size
    return pages


def _encoding_name(number: int | None) -> str:
    try:
        return str(Encoding(number)) if number is not None else "?"
    except ValueError:
        return f"encoding {number}"


def _read_header(chunk: ColumnChunk, source: Source, at: int, end: int) -> tuple[Any, int]:
    """The page header at a byte of the file, and its length."""
    room = HEADER_BYTES
    while True:
        raw = source.read(at, min(room, end - at)).tobytes()
        length = structs.struct_length(raw)
        if length >= 0:
            return structs.decode(PageHeader, raw[:length], walked=True), length
        if length != TRUNCATED or room >= min(MOST_HEADER_BYTES, end - at):
            raise CorruptFileError(f"{chunk.where}: no page header at byte {at}")
        room *= 4
