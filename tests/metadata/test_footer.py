"""Footers: equal to what pyarrow says, read in two reads at most, and refused when malformed."""

from __future__ import annotations

import random
import struct
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hardwood_jit.kernels import tables as t

from hardwood_jit.errors import CorruptFileError, UnsupportedError
from hardwood_jit.metadata.footer import FileMetadata, read_footer
from hardwood_jit.physical import Codec, Encoding
from hardwood_jit.source import BytesSource, LocalFile, ReadCounts
from tests.support import pages as p
from tests.support.corpus import corpus_names, corpus_root, expected
from tests.support.pages import Chunk, RowGroup, Thrift, binary, build_file, group, i16, i32, i64, leaf, list_of, record


def metadata_of(raw: bytes) -> FileMetadata:
    return read_footer(BytesSource(raw))


def written(table: pa.Table, **options: Any) -> bytes:
    out = pa.BufferOutputStream()
    pq.write_table(table, out, **options)
    return out.getvalue().to_pybytes()  # type: ignore[no-any-return]


TABLE = pa.table(
    {
        "id": pa.array(range(1000), pa.int64()),
        "name": pa.array([None if i % 7 == 0 else f"name{i % 50}" for i in range(1000)]),
        "score": pa.array([i / 3 for i in range(1000)], pa.float64()),
        "tags": pa.array([[str(i), "x"] if i % 3 else None for i in range(1000)]),
        "s": pa.array([{"a": i, "b": [i]} for i in range(1000)]),
    }
)


def check_against_pyarrow(found: FileMetadata, other: pq.FileMetaData) -> None:
    assert found.created_by == other.created_by
    assert found.footer_bytes == other.serialized_size
    assert len(found.row_groups) == other.num_row_groups
    assert len(found.schema.leaves) == other.num_columns
    pairs = {key.encode(): (value or "").encode() for key, value in found.key_value_metadata.items()}
    assert pairs == (other.metadata or {})
    for number, one in enumerate(found.schema.leaves):
        column = other.schema.column(number)
        assert one.dotted == column.path and one.index == number
        assert one.physical_type.name == column.physical_type
        assert one.max_definition_level == column.max_definition_level
        assert one.max_repetition_level == column.max_repetition_level
        assert sum(layer.kind == "repeated" for layer in one.layers) == one.max_repetition_level
    for number, row_group in enumerate(found.row_groups):
        theirs = other.row_group(number)
        assert (row_group.index, row_group.num_rows) == (number, theirs.num_rows)
        assert row_group.total_byte_size == theirs.total_byte_size
        sorting = [(one.column, one.descending, one.nulls_first) for one in row_group.sorting_columns]
        assert sorting == [(one.column_index, one.descending, one.nulls_first) for one in theirs.sorting_columns]
        assert len(row_group.columns) == theirs.num_columns
        for place, chunk in enumerate(row_group.columns):
            check_chunk(chunk, theirs.column(place))


def check_chunk(chunk: Any, theirs: Any) -> None:
    assert chunk.codec.name.replace("_RAW", "") == theirs.compression.replace("_RAW", "")
    assert chunk.num_values == theirs.num_values
    assert chunk.total_compressed_size == theirs.total_compressed_size
    assert chunk.total_uncompressed_size == theirs.total_uncompressed_size
    assert chunk.data_page_offset == theirs.data_page_offset
    assert chunk.dictionary_page_offset == (theirs.dictionary_page_offset or None)
    assert (chunk.offset_index_range is not None) == theirs.has_offset_index
    assert (chunk.column_index_range is not None) == theirs.has_column_index
    assert ".".join(chunk.path_in_chunk) == theirs.path_in_schema
    assert {str(one) for one in chunk.encodings} == set(theirs.encodings)
    statistics, other = chunk.statistics, theirs.statistics
    if other is not None:
        assert statistics.null_count == (other.null_count if other.has_null_count else None)
        assert statistics.distinct_count == (other.distinct_count if other.has_distinct_count else None)
        if other.has_min_max and chunk.physical_type.name == "INT64":
            low = statistics.min_value or statistics.deprecated_min
            high = statistics.max_value or statistics.deprecated_max
            assert struct.unpack("<q", low)[0] == other.min_raw and struct.unpack("<q", high)[0] == other.max_raw


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"row_group_size": 123, "compression": "zstd", "write_page_index": True},
        {"data_page_version": "2.0", "use_dictionary": False, "compression": "gzip"},
        {"sorting_columns": [pq.SortingColumn(0, descending=True, nulls_first=True)], "compression": "none"},
        {"store_schema": False, "version": "1.0", "compression": "lz4"},
    ],
)
def test_metadata_equals_what_pyarrow_says(options: dict[str, Any]) -> None:
    raw = written(TABLE, **options)
    found = metadata_of(raw)
    check_against_pyarrow(found, pq.read_metadata(pa.BufferReader(raw)))
    assert found.num_rows == 1000 and found.group_rows.sum() == 1000
    assert set(found.column_orders) == {"TYPE_ORDER"}
    assert found.chunk_table.shape == (len(found.row_groups), len(found.schema.leaves), t.CHUNK_FIELDS)


NOT_FOR_PYARROW = {"data/incorrect_map_schema.parquet"}  # it refuses optional map keys


@pytest.mark.parametrize("name", corpus_names())
def test_corpus_footers_equal_what_pyarrow_says(name: str) -> None:
    path = corpus_root() / "dev" / name
    try:
        found = read_footer(LocalFile(str(path)))
    except (CorruptFileError, UnsupportedError):
        assert expected()[name]["must"] == "reject"
        return
    assert found.num_rows == sum(row_group.num_rows for row_group in found.row_groups)
    assert len(found.row_groups) == expected()[name]["row_groups"]
    if name.startswith("bad_data") or name in NOT_FOR_PYARROW:
        return
    other = pq.read_metadata(path)
    for number, one in enumerate(found.schema.leaves):
        column = other.schema.column(number)
        assert (one.dotted, one.max_definition_level, one.max_repetition_level) == (
            column.path,
            column.max_definition_level,
            column.max_repetition_level,
        )
        assert sum(layer.kind == "repeated" for layer in one.layers) == one.max_repetition_level
    for number, row_group in enumerate(found.row_groups):
        for place, chunk in enumerate(row_group.columns):
            theirs = other.row_group(number).column(place)
            assert chunk.num_values == theirs.num_values
            assert chunk.total_compressed_size == theirs.total_compressed_size
            assert chunk.data_page_offset == theirs.data_page_offset
            touch_chunk(chunk)


def touch_chunk(chunk: Any) -> None:
    """Decode everything that is decoded on demand."""
    for name in (
        "codec", "encodings", "statistics", "encoding_stats", "size_statistics", "geospatial_statistics",
        "key_value_metadata", "offset_index", "column_index", "bloom_filter", "file_path", "byte_range",
        "path_in_chunk",
    ):  # fmt: skip
        getattr(chunk, name)


def touch(found: FileMetadata) -> None:
    str(found.schema), found.created_by, found.key_value_metadata, found.column_orders, repr(found)
    for row_group in found.row_groups:
        row_group.midpoint, row_group.sorting_columns, row_group.ordinal, row_group.file_offset, repr(row_group)
        for chunk in row_group.columns:
            with suppress(CorruptFileError, UnsupportedError):
                touch_chunk(chunk)


# Reads


def test_a_short_footer_takes_one_read_and_a_long_one_two() -> None:
    small = BytesSource(written(TABLE))
    read_footer(small)
    assert small.counts == ReadCounts(1, small.size)
    wide = BytesSource(written(pa.table({f"c{i}": [1] for i in range(2000)})))
    found = read_footer(wide)
    assert found.footer_bytes > 64 << 10
    assert wide.counts == ReadCounts(2, found.footer_bytes + 8)
    assert len(found.schema.leaves) == 2000 and found.footer_start == wide.size - 8 - found.footer_bytes


def test_a_footer_around_the_size_of_the_first_read() -> None:
    for extra in range(-12, 12):
        pad = "x" * (65536 - 8 - 1000 + extra)
        raw = p.build_file(group("r", leaf("a", p.INT32)), [], key_values={"k": pad})
        missing = 65536 + extra - (len(raw) - 4)
        raw = p.build_file(group("r", leaf("a", p.INT32)), [], key_values={"k": pad + "x" * missing})
        assert metadata_of(b"PAR1" + bytes(1000) + raw[4:]).key_value_metadata["k"] == pad + "x" * missing


def test_metadata_is_imported_without_numba() -> None:
    code = (
        "import sys, hardwood_jit.metadata.footer, hardwood_jit.metadata.page_index, hardwood_jit.metadata.bloom; "
        "sys.exit('numba' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


# Hand-made footers

ROOT = group("r", leaf("a", p.INT32), leaf("b", p.INT64, p.OPTIONAL))


def chunk(**rest: Any) -> Chunk:
    return Chunk([p.data_page_v1(p.leaf_paths(group("r", leaf("a", p.INT32)))[0], [(0, 0, 1)])], **rest)


def handmade(extra: dict[int, Thrift] | None = None, groups: dict[int, Thrift] | None = None, **build: Any) -> bytes:
    rest = {} if extra is None else {"extra": extra}
    return build_file(ROOT, [RowGroup([chunk(**rest), chunk()], 1, groups or {})], **build)


def test_rows_are_counted_over_the_row_groups() -> None:
    assert metadata_of(handmade(num_rows=77)).num_rows == 1


def test_a_file_without_row_groups_or_columns() -> None:
    assert metadata_of(build_file(ROOT, [])).num_rows == 0
    empty = metadata_of(written(pa.table({})))
    assert len(empty.schema.leaves) == 0 and [one.midpoint for one in empty.row_groups] == [0] * len(empty.row_groups)


def test_dictionary_offsets_of_zero_or_less_count_as_absent() -> None:
    for offset in (0, -5):
        one = metadata_of(handmade({11: i64(offset)})).row_groups[0].columns[0]
        assert one.dictionary_page_offset is None and one.byte_range[0] == one.data_page_offset
    after = metadata_of(handmade({11: i64(100)})).row_groups[0].columns[0]
    assert after.dictionary_page_offset == 100 and after.byte_range[0] == after.data_page_offset


def test_midpoint_is_start_of_the_first_chunk_plus_half_the_bytes() -> None:
    row_group = metadata_of(handmade()).row_groups[0]
    sizes = [one.total_compressed_size for one in row_group.columns]
    assert row_group.midpoint == 4 + sum(sizes) // 2
    assert row_group.total_compressed_size == sum(sizes)


def test_cold_structs_are_decoded_on_demand() -> None:
    statistics = record(
        {
            1: binary(b"oldmax"), 2: binary(b"oldmin"), 3: i64(3), 4: i64(5), 5: binary(b"max"), 6: binary(b"\xff\x00"),
            7: p.boolean(True), 8: p.boolean(False), 9: i64(2),
        }
    )  # fmt: skip
    box = record({number: p.double(number / 2) for number in range(1, 5)})
    extra = {
        8: list_of([record({1: binary("k"), 2: binary("v")}), record({1: binary("n")})]),
        12: statistics,
        13: list_of([record({1: i32(0), 2: i32(0), 3: i32(1)}), record({1: i32(9), 2: i32(99), 3: i32(2)})]),
        14: i64(4),
        16: record({1: i64(40), 2: list_of([i64(1)]), 3: list_of([i64(0), i64(2)])}),
        17: record({1: box, 2: list_of([i32(1), i32(3)])}),
    }
    raw = handmade(
        extra,
        {4: list_of([record({1: i32(1), 2: p.boolean(True), 3: p.boolean(False)})]), 7: i16(6)},
        key_values={"a": "1", "b": None},
        footer={7: list_of([record({2: record({})}), record({9: record({})})])},
    )
    found = metadata_of(raw)
    assert found.key_value_metadata == {"a": "1", "b": None}
    assert found.column_orders == ("IEEE754_TOTAL_ORDER", "UNKNOWN")
    row_group = found.row_groups[0]
    assert row_group.ordinal == 6 and row_group.sorting_columns[0].descending
    one = row_group.columns["a"]
    assert one.statistics is not None
    assert (one.statistics.min_value, one.statistics.max_value) == (b"\xff\x00", b"max")
    assert (one.statistics.deprecated_min, one.statistics.deprecated_max) == (b"oldmin", b"oldmax")
    assert (one.statistics.null_count, one.statistics.distinct_count, one.statistics.nan_count) == (3, 5, 2)
    assert (one.statistics.is_max_exact, one.statistics.is_min_exact) == (True, False)
    assert one.key_value_metadata == {"k": "v", "n": None}
    assert one.encoding_stats is not None
    assert [(stats.page_kind, stats.encoding, stats.count) for stats in one.encoding_stats] == [(0, 0, 1), (9, 99, 2)]
    assert one.encoding_stats[0].encoding is Encoding.PLAIN
    assert one.size_statistics is not None and one.size_statistics.definition_histogram == (0, 2)
    assert one.geospatial_statistics is not None
    assert one.geospatial_statistics.bbox == {"xmin": 0.5, "xmax": 1.0, "ymin": 1.5, "ymax": 2.0}
    assert one.geospatial_statistics.types == (1, 3)
    assert one.bloom_range == (4, None) and one.bloom_filter is None
    plain = row_group.columns[1]
    assert plain.statistics is None and plain.encoding_stats is None and plain.size_statistics is None
    assert plain.codec is Codec.UNCOMPRESSED and plain.bloom_range is None and plain.offset_index is None


def test_files_without_column_orders_have_none() -> None:
    assert metadata_of(build_file(ROOT, [], footer={7: None})).column_orders == (None, None)
    raw = build_file(ROOT, [], footer={7: list_of([record({1: record({})})])})  # one order for two columns
    assert metadata_of(raw).column_orders == ("UNKNOWN", "UNKNOWN")


def test_an_unknown_codec_is_refused_when_asked_for() -> None:
    found = metadata_of(handmade({4: i32(42)}))
    with pytest.raises(UnsupportedError, match=r"row group 0, column 'a': compression codec 42"):
        _ = found.row_groups[0].columns[0].codec
    assert found.row_groups[0].columns[1].codec is Codec.UNCOMPRESSED


def test_encrypted_and_foreign_columns_are_refused_when_read() -> None:
    raw = build_file(ROOT, [RowGroup([chunk(crypto=record({1: record({})})), chunk(file_path="other.parquet")], 1)])
    first, second = metadata_of(raw).row_groups[0].columns
    assert first.is_encrypted and not second.is_encrypted and second.file_path == "other.parquet"
    with pytest.raises(UnsupportedError, match="encrypted"):
        first.check_readable()
    with pytest.raises(UnsupportedError, match=r"another file, 'other\.parquet'"):
        second.check_readable()


def test_encrypted_footers_are_unsupported() -> None:
    with pytest.raises(UnsupportedError, match="footer is encrypted"):
        metadata_of(handmade()[:-4] + b"PARE")


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (b"", "too few"),
        (b"PAR1PAR1", "too few"),
        (b"PAR1" + bytes(100), "not a Parquet file"),
        (b"XXXX" + handmade()[4:], "not a Parquet file"),
        (b"PAR1\xff\xff\xff\xffPAR1", "footer of 4294967295 bytes in a file of 12"),
        (b"PAR1\x00\x00\x00\x00PAR1", "ends inside a structure"),
        (b"PAR1\x01\x00\x00\x00\x01PAR1", "footer of"),
        (handmade(groups={3: i64(-1)}), "not a well-formed"),
        (handmade({5: i64(-1)}), "not a well-formed"),
        (handmade({7: i64(-1)}), "not a well-formed"),
        (handmade({9: i64(-4)}), "not a well-formed"),
        (handmade({1: i32(2)}), "column 'a': physical type differs"),
        (handmade({5: binary("x")}), "column 'a': num_values is missing"),
        (handmade(footer={4: list_of([record({1: list_of([], p.STRUCT), 3: i64(1)})])}), "0 column chunks"),
        (handmade(footer={4: i32(1)}), "no list of row groups"),
        (handmade(footer={4: list_of([i32(1)])}), "not a well-formed"),
        (handmade(footer={2: i32(1)}), "no schema"),
        (handmade(footer={2: list_of([], p.STRUCT)}), "no elements"),
    ],
)
def test_malformed_footers_are_corrupt_and_named(raw: bytes, message: str) -> None:
    with pytest.raises(CorruptFileError, match=f"<bytes>.*{message}"):
        metadata_of(raw)


def test_row_counts_that_overflow_are_corrupt() -> None:
    groups = [RowGroup([chunk(), chunk()], (1 << 63) - 1)] * 2
    with pytest.raises(CorruptFileError, match="rows together"):
        metadata_of(build_file(ROOT, groups, num_rows=1))


def test_many_tiny_row_groups_grow_the_tables() -> None:
    columns = [Chunk([], value_count=0) for _ in range(2)]
    raw = build_file(ROOT, [RowGroup(columns, 0)] * 3000)
    found = metadata_of(raw)
    assert len(found.row_groups) == 3000 and len(found.row_groups[5:9]) == 4 and found.row_groups[-1].index == 2999
    with pytest.raises(IndexError):
        found.row_groups[3000]


# Damage


def damaged(raw: bytes) -> None:
    """Read all there is; anything but our two errors, or a crash, fails the test."""
    try:
        found = metadata_of(raw)
    except (CorruptFileError, UnsupportedError):
        return
    assert found.num_rows >= 0 and all(one.num_rows >= 0 for one in found.row_groups)
    with suppress(CorruptFileError, UnsupportedError):
        touch(found)


def small_file() -> bytes:
    table = TABLE.slice(0, 20).select(["id", "name", "tags"])
    return written(table, write_page_index=True, bloom_filter_options=None, row_group_size=10)


def test_footers_cut_at_every_byte_never_crash() -> None:
    raw = small_file()
    length = metadata_of(raw).footer_bytes
    start = len(raw) - 8 - length
    for cut in range(length):
        damaged(raw[: start + cut] + struct.pack("<I", cut) + b"PAR1")
    for cut in range(0, len(raw), 7):
        damaged(raw[:cut])


def test_footers_with_changed_bytes_never_crash() -> None:
    chance = random.Random(11)
    raw = small_file()
    length = metadata_of(raw).footer_bytes
    start = len(raw) - 8 - length
    for _ in range(4000):
        mutant = bytearray(raw)
        for _ in range(chance.randint(1, 3)):
            byte = chance.choice((0, 1, 0x7F, 0x80, 0xFF, chance.randrange(256)))
            mutant[chance.randrange(start, len(raw) - 8)] = byte
        damaged(bytes(mutant))


def test_indexes_with_changed_bytes_never_crash() -> None:
    chance = random.Random(12)
    raw = small_file()
    ranges = [
        found
        for row_group in metadata_of(raw).row_groups
        for one in row_group.columns
        for found in (one.offset_index_range, one.column_index_range)
        if found is not None
    ]
    assert len(ranges) == 12
    for _ in range(1500):
        mutant = bytearray(raw)
        offset, length = chance.choice(ranges)
        mutant[offset + chance.randrange(length)] = chance.randrange(256)
        damaged(bytes(mutant))


def test_hostile_lists_allocate_nothing_and_end_quickly() -> None:
    count = b"\xfc\xff\xff\xff\xff\x07"  # a list of 2**31 - 1 structs
    for body in (b"\x29" + count, b"\x49" + count, b"\x19" * 100_000, b"\x1c" * 100_000):
        with pytest.raises(CorruptFileError):
            metadata_of(b"PAR1" + body + struct.pack("<I", len(body)) + b"PAR1")


def test_footer_extents_hold_the_bytes_they_name(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    path.write_bytes(written(TABLE))
    found = read_footer(LocalFile(str(path)))
    numbers = found.chunk_table[0, 0]
    raw = found.extent(numbers, t.CHUNK_PATH_START)
    assert raw is not None and raw.endswith(b"\x02id") and found.extent(numbers, t.CHUNK_START) is not None
    assert found.chunk_table.dtype == np.int64
