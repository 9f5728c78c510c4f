"""The end of a file -> FileMetadata, RowGroup, ColumnChunk: a skimmed table of numbers, structs decoded on demand.

Opening walks the footer once and fills int64 tables (`kernels/tables.py`); statistics, paths and the like are decoded
when somebody asks for them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, overload
from weakref import WeakValueDictionary

import numpy as np
from numpy.typing import NDArray

from hardwood_jit.errors import CorruptFileError, UnsupportedError, place
from hardwood_jit.kernels import tables as t
from hardwood_jit.kernels.status import BAD_HEADER, MEANING, TABLE_FULL, TRUNCATED
from hardwood_jit.metadata import structs
from hardwood_jit.metadata.bloom import HEADER_BYTES, BloomFilterHeader, parse_bloom_header
from hardwood_jit.metadata.page_index import ColumnIndex, OffsetIndex, parse_column_index, parse_offset_index
from hardwood_jit.metadata.schema import Leaf, Schema, build_schema
from hardwood_jit.metadata.statistics import ColumnStatistics, Statistics, skim_statistics
from hardwood_jit.physical import Codec, Encoding, PageKind, PhysicalType
from hardwood_jit.source import TAIL_BYTES, Source

MAGIC = b"PAR1"
ENCRYPTED_MAGIC = b"PARE"
SHORTEST_FILE = 12  # magic, footer length, magic

_FOOTER_MEANING = {TRUNCATED: "it ends inside a structure", BAD_HEADER: "it is not a well-formed Thrift structure"}


@dataclass(frozen=True)
class EncodingStats:
    """How many pages of a kind have an encoding."""

    page_kind: int
    encoding: int
    count: int


@dataclass(frozen=True)
class SizeStatistics:
    """Sizes before encoding, and how often each level occurs."""

    unencoded_bytes: int | None = None
    repetition_histogram: tuple[int, ...] | None = None
    definition_histogram: tuple[int, ...] | None = None


@dataclass(frozen=True)
class GeospatialStatistics:
    """Bounding box (xmin, xmax, ymin, ymax, and z and m where given) and WKB type codes."""

    bbox: dict[str, float] | None = None
    types: tuple[int, ...] = ()


@dataclass(frozen=True)
class SortingColumn:
    """A column by which the rows of a row group are sorted."""

    column: int
    descending: bool
    nulls_first: bool


def _text(raw: bytes | None) -> str | None:
    return None if raw is None else raw.decode("utf-8", "replace")


def _key_values(pairs: Sequence[structs.KeyValue] | None) -> dict[str, str | None]:
    return {_text(pair.key) or "": _text(pair.value) for pair in pairs or ()}


def _named(kind: type[Encoding] | type[PageKind], number: int) -> Any:
    """The enum member, or the bare number when the specification of our time has no name for it."""
    try:
        return kind(number)
    except ValueError:
        return number


class ColumnChunk:
    """One leaf in one row group."""

    __slots__ = ("_decoded", "_file", "_numbers", "leaf", "row_group")

    def __init__(self, file: FileMetadata, row_group: int, leaf: Leaf) -> None:
        self._file = file
        self.row_group = row_group
        self.leaf = leaf
        self._numbers: NDArray[np.int64] = file.chunk_table[row_group, leaf.index]
        self._decoded: structs.ColumnChunk | None = None

    def _number(self, field: int) -> int:
        return int(self._numbers[field])

    @property
    def where(self) -> str:
        """The prefix of a message about this chunk."""
        return place(self._file.source.name, self.row_group, self.leaf.dotted)

    @property
    def _meta(self) -> structs.ColumnMetaData:
        """The ColumnMetaData, decoded once."""
        if self._decoded is None:
            self._decoded = self._file.decode(structs.ColumnChunk, self._numbers, t.CHUNK_START)
        found: structs.ColumnMetaData | None = self._decoded.meta_data
        if found is None:
            raise UnsupportedError(f"{self.where}: column is encrypted")
        return found

    @property
    def path(self) -> tuple[str, ...]:
        return self.leaf.path

    @property
    def path_in_chunk(self) -> tuple[str, ...]:
        """The path as the chunk itself states it; the schema's counts."""
        return tuple(_text(name) or "" for name in self._meta.path_in_schema or ())

    @property
    def physical_type(self) -> PhysicalType:
        return self.leaf.physical_type

    @property
    def codec(self) -> Codec:
        number = self._number(t.CHUNK_CODEC)
        try:
            return Codec(number)
        except ValueError:
            if self.is_encrypted:
                raise UnsupportedError(f"{self.where}: column is encrypted") from None
            raise UnsupportedError(f"{self.where}: compression codec {number} is not known") from None

    @property
    def encodings(self) -> tuple[Encoding | int, ...]:
        return tuple(_named(Encoding, number) for number in self._meta.encodings or ())

    @property
    def num_values(self) -> int:
        """Values, nulls included."""
        return self._number(t.CHUNK_VALUES)

    @property
    def total_compressed_size(self) -> int:
        return self._number(t.CHUNK_COMPRESSED)

    @property
    def total_uncompressed_size(self) -> int:
        return self._number(t.CHUNK_UNCOMPRESSED)

    @property
    def data_page_offset(self) -> int:
        return self._number(t.CHUNK_DATA_OFFSET)

    @property
    def dictionary_page_offset(self) -> int | None:
        """None when absent; some writers put 0 to say so."""
        offset = self._number(t.CHUNK_DICTIONARY_OFFSET)
        return offset if offset > 0 else None

    @property
    def index_page_offset(self) -> int | None:
        offset = self._number(t.CHUNK_INDEX_PAGE_OFFSET)
        return offset if offset > 0 else None

    @property
    def byte_range(self) -> tuple[int, int]:
        """(start, length) of the chunk's pages; not checked against the file's size."""
        start = self.data_page_offset
        dictionary = self.dictionary_page_offset
        if dictionary is not None and dictionary < start:
            start = dictionary
        return start, self.total_compressed_size

    @property
    def statistics(self) -> Statistics | None:
        start = self._number(t.CHUNK_STATS_START)
        return None if start < 0 else self._file.statistics_at(start, self._number(t.CHUNK_STATS_END))

    @property
    def encoding_stats(self) -> tuple[EncodingStats, ...] | None:
        found = self._file.decode_list(structs.PageEncodingStats, self._numbers, t.CHUNK_ENCODING_STATS_START)
        if found is None:
            return None
        return tuple(
            EncodingStats(_named(PageKind, stats.page_type), _named(Encoding, stats.encoding), stats.count or 0)
            for stats in found
            if stats.page_type is not None and stats.encoding is not None
        )

    @property
    def size_statistics(self) -> SizeStatistics | None:
        found = self._meta.size_statistics
        if found is None:
            return None
        repetition, definition = found.repetition_level_histogram, found.definition_level_histogram
        return SizeStatistics(
            found.unencoded_byte_array_data_bytes,
            None if repetition is None else tuple(repetition),
            None if definition is None else tuple(definition),
        )

    @property
    def geospatial_statistics(self) -> GeospatialStatistics | None:
        found = self._meta.geospatial_statistics
        if found is None:
            return None
        bbox = None if found.bbox is None else dict(found.bbox.__dict__)
        return GeospatialStatistics(bbox, tuple(found.geospatial_types or ()))

    @property
    def key_value_metadata(self) -> dict[str, str | None]:
        return _key_values(self._meta.key_value_metadata)

    @property
    def file_path(self) -> str | None:
        """Where the chunk is stored when not in this file."""
        if self._number(t.CHUNK_HAS_FILE_PATH) < 0:
            return None
        if self._decoded is None:
            self._decoded = self._file.decode(structs.ColumnChunk, self._numbers, t.CHUNK_START)
        return _text(self._decoded.file_path)

    @property
    def is_encrypted(self) -> bool:
        return self._number(t.CHUNK_ENCRYPTED) > 0

    def check_readable(self) -> None:
        """Raise when the chunk is legal Parquet that we do not read; asked only for columns that are read."""
        if self.is_encrypted:
            raise UnsupportedError(f"{self.where}: column is encrypted")
        if self.file_path is not None:
            raise UnsupportedError(f"{self.where}: column is stored in another file, '{self.file_path}'")

    def _range(self, offset_field: int, length_field: int) -> tuple[int, int] | None:
        offset, length = self._number(offset_field), self._number(length_field)
        inside = offset > 0 and length > 0 and offset + length <= self._file.source.size
        return (offset, length) if inside else None

    @property
    def offset_index_range(self) -> tuple[int, int] | None:
        """(offset, length), None when absent or outside the file."""
        return self._range(t.CHUNK_OFFSET_INDEX, t.CHUNK_OFFSET_INDEX_BYTES)

    @property
    def column_index_range(self) -> tuple[int, int] | None:
        """(offset, length), None when absent or outside the file."""
        return self._range(t.CHUNK_COLUMN_INDEX, t.CHUNK_COLUMN_INDEX_BYTES)

    @property
    def bloom_range(self) -> tuple[int, int | None] | None:
        """(offset, length or None when the file does not say), None when absent or outside the file."""
        offset, length = self._number(t.CHUNK_BLOOM), self._number(t.CHUNK_BLOOM_BYTES)
        if offset <= 0 or offset + max(length, 0) > self._file.source.size:
            return None
        return offset, length if length > 0 else None

    @property
    def offset_index(self) -> OffsetIndex | None:
        """Where the pages are; read from the file, None when absent or malformed."""
        found = self.offset_index_range
        if found is None:
            return None
        raw = self._file.source.read(*found).tobytes()
        return parse_offset_index(raw, int(self._file.group_rows[self.row_group]), self.byte_range)

    @property
    def column_index(self) -> ColumnIndex | None:
        """Bounds per page; read from the file, None when absent or malformed."""
        found = self.column_index_range
        return None if found is None else parse_column_index(self._file.source.read(*found).tobytes())

    @property
    def bloom_filter(self) -> BloomFilterHeader | None:
        """The header of the bloom filter; read from the file, None when absent or malformed."""
        found = self.bloom_range
        if found is None:
            return None
        offset = found[0]
        source = self._file.source
        raw = source.read(offset, min(HEADER_BYTES, source.size - offset)).tobytes()
        return parse_bloom_header(raw, offset, source.size)

    def __repr__(self) -> str:
        return f"ColumnChunk(row group {self.row_group}, {self.leaf.dotted}, {self.num_values} values)"


class ColumnChunks(Sequence[ColumnChunk]):
    """The chunks of a row group, one per leaf of the file, made when asked for."""

    __slots__ = ("_file", "_row_group")

    def __init__(self, file: FileMetadata, row_group: int) -> None:
        self._file = file
        self._row_group = row_group

    def __len__(self) -> int:
        return len(self._file.schema.leaves)

    @overload
    def __getitem__(self, key: int | str) -> ColumnChunk: ...
    @overload
    def __getitem__(self, key: slice) -> list[ColumnChunk]: ...
    def __getitem__(self, key: int | str | slice) -> ColumnChunk | list[ColumnChunk]:
        leaves = self._file.schema.leaves
        if isinstance(key, slice):
            return [ColumnChunk(self._file, self._row_group, leaf) for leaf in leaves[key]]
        if isinstance(key, str):
            key = self._file.schema.leaf_position(key)
        return ColumnChunk(self._file, self._row_group, leaves[key])

    def __iter__(self) -> Iterator[ColumnChunk]:
        return (ColumnChunk(self._file, self._row_group, leaf) for leaf in self._file.schema.leaves)


class RowGroup:
    """Some consecutive rows of a file."""

    __slots__ = ("_file", "_numbers", "index")

    def __init__(self, file: FileMetadata, index: int) -> None:
        self._file = file
        self.index = index
        self._numbers: NDArray[np.int64] = file.group_table[index]

    @property
    def num_rows(self) -> int:
        return int(self._numbers[t.GROUP_ROWS])

    @property
    def total_byte_size(self) -> int:
        return int(self._numbers[t.GROUP_BYTES])

    @property
    def total_compressed_size(self) -> int:
        """The sum over the chunks: not every writer states it, and not every statement is true."""
        return sum(max(size, 0) for size in self._file.chunk_table[self.index, :, t.CHUNK_COMPRESSED].tolist())

    @property
    def file_offset(self) -> int | None:
        offset = int(self._numbers[t.GROUP_FILE_OFFSET])
        return offset if offset >= 0 else None

    @property
    def ordinal(self) -> int | None:
        ordinal = int(self._numbers[t.GROUP_ORDINAL])
        return ordinal if ordinal >= 0 else None

    @property
    def sorting_columns(self) -> tuple[SortingColumn, ...]:
        found = self._file.decode_list(structs.SortingColumn, self._numbers, t.GROUP_SORTING_START) or ()
        return tuple(
            SortingColumn(column.column_idx, bool(column.descending), bool(column.nulls_first))
            for column in found
            if column.column_idx is not None
        )

    @property
    def columns(self) -> ColumnChunks:
        return ColumnChunks(self._file, self.index)

    @property
    def midpoint(self) -> int:
        """Start of the first chunk plus half the compressed bytes: decides which byte range owns the row group."""
        if not len(self.columns):
            return self.file_offset or 0
        first = self.columns[0]
        start = first.dictionary_page_offset
        if start is None:
            start = max(first.data_page_offset, 0)
        return start + self.total_compressed_size // 2

    def __repr__(self) -> str:
        return f"RowGroup({self.index}: {self.num_rows} rows, {len(self.columns)} columns)"


class RowGroups(Sequence[RowGroup]):
    """The row groups of a file, made when asked for."""

    __slots__ = ("_file",)

    def __init__(self, file: FileMetadata) -> None:
        self._file = file

    def __len__(self) -> int:
        return len(self._file.group_table)

    @overload
    def __getitem__(self, key: int) -> RowGroup: ...
    @overload
    def __getitem__(self, key: slice) -> list[RowGroup]: ...
    def __getitem__(self, key: int | slice) -> RowGroup | list[RowGroup]:
        numbers = range(len(self))[key]
        if isinstance(numbers, range):
            return [RowGroup(self._file, number) for number in numbers]
        return RowGroup(self._file, numbers)


# Schemas in use by their bytes in a footer. They are never changed once they are built.
_SCHEMAS: WeakValueDictionary[bytes, Schema] = WeakValueDictionary()


class FileMetadata:
    """The footer of one file. `num_rows` is the sum over the row groups, whatever the footer says."""

    def __init__(self, source: Source, footer: NDArray[np.uint8], table: NDArray[np.int64]) -> None:
        self.source = source
        self.footer = footer
        self._head = table[0]
        self._table_bytes = table.nbytes
        self.memo: dict[Any, Any] = {}  # what planning has derived from this footer; lives as long as it is kept
        self.footer_bytes = int(footer.size)
        self.footer_start = source.size - 8 - self.footer_bytes
        self.version = int(self._head[t.HEAD_VERSION])
        self.has_encrypted_columns = int(self._head[t.HEAD_ENCRYPTION]) > 0
        self.schema: Schema = self._read_schema()
        group_count, leaf_count = max(int(self._head[t.HEAD_GROUPS]), 0), len(self.schema.leaves)
        if len(table) - 1 != group_count * (1 + leaf_count):
            raise CorruptFileError(
                f"{source.name}: {len(table) - 1 - group_count} column chunks in {group_count} row groups, "
                f"the schema has {leaf_count} columns"
            )
        # A group's row stands before those of its chunks.
        shaped = table[1:].reshape(group_count, 1 + leaf_count, t.FOOTER_FIELDS)
        self.group_table: NDArray[np.int64] = shaped[:, 0]
        self.chunk_table: NDArray[np.int64] = shaped[:, 1:]
        self.group_rows: NDArray[np.int64] = np.ascontiguousarray(self.group_table[:, t.GROUP_ROWS])
        self._check_chunks()
        self.num_rows: int = sum(self.group_rows.tolist())
        if self.num_rows > np.iinfo(np.int64).max:
            raise CorruptFileError(f"{source.name}: the row groups have {self.num_rows} rows together")

    @classmethod
    def checked(
        cls, source: Source, footer: NDArray[np.uint8], table: NDArray[np.int64], head: list[int], schema: Schema
    ) -> FileMetadata:
        """As the constructor, for a file whose schema is known and whose chunks were checked with those of others."""
        found = cls.__new__(cls)
        group_count = head[t.HEAD_GROUPS]
        shaped = table[1:].reshape(group_count, 1 + len(schema.leaves), t.FOOTER_FIELDS)
        group_table = shaped[:, 0]
        group_rows = np.ascontiguousarray(group_table[:, t.GROUP_ROWS])
        found.__dict__.update(
            source=source,
            footer=footer,
            _head=table[0],
            _table_bytes=table.nbytes,
            memo={},
            footer_bytes=footer.size,
            footer_start=source.size - 8 - footer.size,
            version=head[t.HEAD_VERSION],
            has_encrypted_columns=head[t.HEAD_ENCRYPTION] > 0,
            schema=schema,
            group_table=group_table,
            chunk_table=shaped[:, 1:],
            group_rows=group_rows,
            num_rows=sum(group_rows.tolist()),
        )
        return found

    def with_source(self, source: Source) -> FileMetadata:
        """The same footer for another opening of the same file."""
        if source is self.source:
            return self
        found = FileMetadata.__new__(FileMetadata)  # what copy.copy does, at a fifth of its time
        found.__dict__.update(self.__dict__)
        found.source = source
        return found

    def _read_schema(self) -> Schema:
        """The files of a dataset mostly have the same schema, byte for byte: then it is built once."""
        raw = self.extent(self._head, t.HEAD_SCHEMA_START)
        found = None if raw is None else _SCHEMAS.get(raw)
        if found is None:
            elements = self.decode_list(structs.SchemaElement, self._head, t.HEAD_SCHEMA_START)
            found = build_schema(elements or [], self.source.name)
            if raw is not None:
                _SCHEMAS[raw] = found
        return found

    @property
    def held_bytes(self) -> int:
        """About what keeping this footer takes."""
        return self.footer_bytes + int(self._table_bytes) + 500 * len(self.schema.leaves)

    def _check_chunks(self) -> None:
        """One chunk per leaf in every row group, and in each chunk all that is needed to read it."""
        leaves = self.schema.leaves
        counts = self.group_table[:, t.GROUP_CHUNKS]
        wrong = np.flatnonzero(counts != len(leaves))
        if wrong.size:
            # All counts before are right, so this row really is a row group's.
            group = int(wrong[0])
            found = int(counts[group])
            raise CorruptFileError(
                f"{place(self.source.name, group)}: {found} column chunks, the schema has {len(leaves)} columns"
            )
        table = self.chunk_table
        types = np.array([leaf.physical_type for leaf in leaves], np.int64)
        # One look at numbers that lie side by side settles it for most files (100 000 chunks: 1 ms, else 4).
        is_plain = not table.size or table[:, :, t.CHUNK_TYPE : t.CHUNK_DATA_OFFSET + 1].min() >= 0
        if is_plain and (table[:, :, t.CHUNK_TYPE] == types).all():
            return
        plain = table[:, :, t.CHUNK_META_START] >= 0  # encrypted chunks may come without numbers
        for field, name in _NEEDED:
            self._refuse(plain & (table[:, :, field] < 0), f"{name} is missing")
        self._refuse(plain & (table[:, :, t.CHUNK_TYPE] != types), "physical type differs from the schema's")

    def _refuse(self, wrong: NDArray[np.bool_], what: str) -> None:
        if wrong.any():
            group, leaf = (int(number[0]) for number in np.nonzero(wrong))
            raise CorruptFileError(f"{place(self.source.name, group, self.schema.leaves[leaf].dotted)}: {what}")

    def extent(self, numbers: NDArray[np.int64], field: int) -> bytes | None:
        """The footer's bytes between the positions in columns `field` and `field` + 1; None when absent."""
        start = int(numbers[field])
        return None if start < 0 else self.footer[start : int(numbers[field + 1])].tobytes()

    def decode(self, cls: type[structs.S], numbers: NDArray[np.int64], field: int) -> structs.S:
        """The struct between the positions in columns `field` and `field` + 1."""
        try:
            return structs.decode(cls, self.extent(numbers, field) or b"", walked=True)
        except CorruptFileError as error:
            raise CorruptFileError(f"{self.source.name}: {error}") from error

    def decode_list(self, cls: type[structs.S], numbers: NDArray[np.int64], field: int) -> list[structs.S] | None:
        """The list of structs between the positions in columns `field` and `field` + 1; None when absent."""
        raw = self.extent(numbers, field)
        try:
            return None if raw is None else structs.decode_list(cls, raw)
        except CorruptFileError as error:
            raise CorruptFileError(f"{self.source.name}: {error}") from error

    def column_statistics(self, leaf: Leaf) -> ColumnStatistics:
        """The statistics of a leaf in all row groups at once."""
        return ColumnStatistics(self.footer, self.chunk_table[:, leaf.index])

    def statistics_at(self, start: int, end: int) -> Statistics:
        """The statistics between two positions of the footer."""
        return skim_statistics(self.footer, start, end)

    @property
    def row_groups(self) -> RowGroups:
        return RowGroups(self)

    @cached_property
    def created_by(self) -> str | None:
        raw = self.extent(self._head, t.HEAD_CREATED_BY_START)
        if raw is None:
            return None
        text = 0
        while raw[text] >= 0x80:  # the length is a varint in front
            text += 1
        return raw[text + 1 :].decode("utf-8", "replace")

    @cached_property
    def key_value_metadata(self) -> dict[str, str | None]:
        return _key_values(self.decode_list(structs.KeyValue, self._head, t.HEAD_KEY_VALUES_START))

    @cached_property
    def column_orders(self) -> tuple[str | None, ...]:
        """Per leaf "TYPE_ORDER", "IEEE754_TOTAL_ORDER" or "UNKNOWN", one that we do not know; None when absent."""
        count = len(self.schema.leaves)
        raw = self.extent(self._head, t.HEAD_ORDERS_START)
        if raw is None:
            return (None,) * count
        try:
            found = _column_orders(raw)
        except CorruptFileError as error:
            raise CorruptFileError(f"{self.source.name}: {error}") from error
        return found if len(found) == count else ("UNKNOWN",) * count

    def __repr__(self) -> str:
        columns, groups = len(self.schema.leaves), len(self.row_groups)
        return f"FileMetadata({self.source.name}: {self.num_rows} rows, {columns} columns, {groups} row groups)"


@lru_cache(maxsize=64)  # mostly the same bytes in all files of a dataset
def _column_orders(raw: bytes) -> tuple[str, ...]:
    names = ("TYPE_ORDER", "IEEE754_TOTAL_ORDER")
    found = structs.decode_list(structs.ColumnOrder, raw)
    return tuple(next((name for name in names if getattr(order, name) is not None), "UNKNOWN") for order in found)


# What a chunk without encryption must state; negative numbers were refused by the skim.
_NEEDED = (
    (t.CHUNK_TYPE, "physical type"),
    (t.CHUNK_CODEC, "codec"),
    (t.CHUNK_VALUES, "num_values"),
    (t.CHUNK_COMPRESSED, "total_compressed_size"),
    (t.CHUNK_UNCOMPRESSED, "total_uncompressed_size"),
    (t.CHUNK_DATA_OFFSET, "data_page_offset"),
)


def _footer_bytes(source: Source) -> NDArray[np.uint8]:
    """The footer's Thrift bytes, in one read, or two when it is long."""
    size = source.size
    if size < SHORTEST_FILE:
        raise CorruptFileError(f"{source.name}: {size} bytes are too few for a Parquet file, {SHORTEST_FILE} needed")
    tail_bytes = min(size, source.tail_bytes)
    tail = source.read(size - tail_bytes, tail_bytes)
    magic = tail[-4:].tobytes()
    if magic == ENCRYPTED_MAGIC:
        raise UnsupportedError(f"{source.name}: the footer is encrypted")
    # The first bytes come along with a small file only; they are not worth a read of their own.
    if magic != MAGIC or (tail_bytes == size and tail[:4].tobytes() != MAGIC):
        raise CorruptFileError(f"{source.name}: not a Parquet file: it does not start and end with {MAGIC.decode()}")
    length = int.from_bytes(tail[-8:-4].tobytes(), "little")
    if length > size - SHORTEST_FILE:
        raise CorruptFileError(f"{source.name}: footer of {length} bytes in a file of {size}")
    missing = length + 8 - tail_bytes
    if missing <= 0:
        footer = tail[tail_bytes - 8 - length : tail_bytes - 8]
        # The footer outlives the read: it must not hold on to a tail of a remote file that is much longer.
        return footer if tail_bytes <= TAIL_BYTES else footer.copy()
    footer = np.empty(length, np.uint8)
    footer[missing:] = tail[:-8]
    source.read_into(size - 8 - length, footer[:missing])
    return footer


def read_footer(source: Source) -> FileMetadata:
    """Read and check the footer: at most two reads."""
    import hardwood_jit.jit.kernel_cache  # noqa: F401  names the disk cache before a kernel loads
    from hardwood_jit.kernels.skim import skim_footer

    with source.open():
        footer = _footer_bytes(source)
    # A chunk takes some hundred bytes, mostly; when the guess is short the walk starts again with a longer table.
    room = footer.size // 64 + 16
    while True:
        table = np.empty((room, t.FOOTER_FIELDS), np.int64)
        status = int(skim_footer(footer, 0, footer.size, table))
        # Every row takes a byte at least, so the table cannot need more rows than there are bytes.
        if status != TABLE_FULL or room > footer.size:
            break
        room *= 4
    if status < 0:
        meaning = _FOOTER_MEANING.get(status, MEANING.get(status, str(status)))
        raise CorruptFileError(f"{source.name}: the footer cannot be read: {meaning}")
    if table[0, t.HEAD_GROUPS] < 0 or table[0, t.HEAD_SCHEMA_START] < 0:
        raise CorruptFileError(f"{source.name}: the footer has no schema or no list of row groups")
    # The guess of rows is generous; a footer that is kept should not hold on to what it does not use.
    table.resize((status, t.FOOTER_FIELDS), refcheck=False)
    return FileMetadata(source, footer, table)
