"""Legal forms that no writer here produces, built byte by byte, read to what the naive decoder gives."""

from __future__ import annotations

import datetime as dt
import io
import random
import resource
import struct
import subprocess
import sys
import uuid
import zlib
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import hardwood_jit as hw
from tests.support import naive
from tests.support import pages as p
from tests.support.columns import column_records

ROWS = 203  # three 64-bit words and a tail


def check(data: bytes, rows: bool = True, batch_sizes: tuple[int | None, ...] = (None, 1, 7)) -> None:
    """Batches (whole, and in small pieces) and rows equal the naive decoder; the Arrow table is well-formed."""
    oracle = naive.decode(data)
    wanted = [oracle.leaf_records(number) for number in range(len(oracle.leaves))]
    for size in batch_sizes:
        scan = hw.scan(data) if size is None else hw.scan(data).batch_size(size)
        found: list[list[Any]] = [[] for _ in wanted]
        for batch in scan.batches():
            assert size is None or batch.num_rows <= size
            for into, column in zip(found, batch.columns, strict=True):
                into += column_records(column)
        for leaf, one, other in zip(oracle.leaves, found, wanted, strict=True):
            difference = naive.first_difference(one, other)
            assert difference is None, f"{'.'.join(leaf.path)}, batches of {size}: {difference}"
    table = hw.scan(data).to_arrow()
    table.validate(full=True)
    hw.scan(data).to_arrow(strings="view").validate(full=True)
    assert table.num_rows == oracle.num_rows == hw.scan(data).count() == hw.open(data).num_rows
    if rows:
        difference = naive.first_difference([dict(row) for row in hw.scan(data).rows()], oracle.logical_records())
        assert difference is None, difference


def check_against_pyarrow(data: bytes) -> pa.Table:
    """As `check`, and the Arrow table has the types and values of pyarrow's."""
    check(data)
    ours, theirs = hw.scan(data).to_arrow(), pq.read_table(io.BytesIO(data))
    assert ours.schema.equals(theirs.schema, check_metadata=False), f"{ours.schema}\nis not\n{theirs.schema}"
    difference = naive.first_difference(ours.to_pylist(), theirs.to_pylist())
    assert difference is None, difference
    return ours


def one_leaf(physical: int, repetition: int = p.REQUIRED, **rest: Any) -> p.Node:
    return p.group("root", p.leaf("x", physical, repetition, **rest))


def path_of(root: p.Node) -> tuple[p.PathStep, ...]:
    (path,) = p.leaf_paths(root)
    return path


def file_of_pages(root: p.Node, rows: int, *pages: p.Page, codec: int = p.UNCOMPRESSED, **chunk: Any) -> bytes:
    return p.build_file(root, [p.RowGroup([p.Chunk(list(pages), codec, **chunk)], rows)])


def some_values(physical: int, count: int, distinct: int = 1000, width: int = 5) -> list[Any]:
    rng = random.Random(physical * 1000 + count)
    pool: list[Any] = []
    for _ in range(min(count, distinct)):
        if physical == p.BOOLEAN:
            pool.append(rng.random() < 0.5)
        elif physical in (p.INT32, p.INT64):
            bits = 32 if physical == p.INT32 else 64
            pool.append(rng.choice([rng.randint(-(1 << (bits - 1)), (1 << (bits - 1)) - 1), rng.randint(-9, 9)]))
        elif physical in (p.FLOAT, p.DOUBLE_TYPE):
            pool.append(rng.choice([0.0, -0.0, 1.5, float("inf"), rng.randint(-1000, 1000) / 4]))
        elif physical == p.INT96:
            pool.append(struct.pack("<qi", rng.randrange(86_400 * 10**9), 2440588 + rng.randrange(-100, 20_000)))
        elif physical == p.BYTE_ARRAY:
            pool.append(b"common" * rng.randrange(2) + rng.randbytes(rng.randrange(12)))
        else:
            pool.append(rng.randbytes(width))
    if distinct < count:
        pool = list(dict.fromkeys(pool))
    return [rng.choice(pool) for _ in range(count)] if distinct < count else pool


def record_list(physical: int, repetition: int, count: int, distinct: int = 1000) -> list[dict[str, Any]]:
    values = iter(some_values(physical, count * 3, distinct))
    if repetition == p.REQUIRED:
        return [{"x": next(values)} for _ in range(count)]
    if repetition == p.OPTIONAL:
        return [{"x": None if number % 5 == 2 else next(values)} for number in range(count)]
    return [{"x": [next(values) for _ in range(number % 4)]} for number in range(count)]


ALL_TYPES = [p.BOOLEAN, p.INT32, p.INT64, p.INT96, p.FLOAT, p.DOUBLE_TYPE, p.BYTE_ARRAY, p.FLBA]
TYPE_NAMES = ["BOOLEAN", "INT32", "INT64", "INT96", "FLOAT", "DOUBLE", "BYTE_ARRAY", "FLBA"]
ENCODINGS = {
    p.BOOLEAN: [p.PLAIN, p.RLE],
    p.INT32: [p.PLAIN, p.DELTA_BINARY_PACKED, p.BYTE_STREAM_SPLIT],
    p.INT64: [p.PLAIN, p.DELTA_BINARY_PACKED, p.BYTE_STREAM_SPLIT],
    p.INT96: [p.PLAIN],
    p.FLOAT: [p.PLAIN, p.BYTE_STREAM_SPLIT],
    p.DOUBLE_TYPE: [p.PLAIN, p.BYTE_STREAM_SPLIT],
    p.BYTE_ARRAY: [p.PLAIN, p.DELTA_LENGTH_BYTE_ARRAY, p.DELTA_BYTE_ARRAY],
    p.FLBA: [p.PLAIN, p.DELTA_BYTE_ARRAY, p.BYTE_STREAM_SPLIT],
}
ENCODING_NAMES = {
    p.PLAIN: "PLAIN",
    p.RLE: "RLE",
    p.DELTA_BINARY_PACKED: "DELTA_BINARY_PACKED",
    p.BYTE_STREAM_SPLIT: "BYTE_STREAM_SPLIT",
    p.DELTA_LENGTH_BYTE_ARRAY: "DELTA_LENGTH_BYTE_ARRAY",
    p.DELTA_BYTE_ARRAY: "DELTA_BYTE_ARRAY",
    p.PLAIN_DICTIONARY: "PLAIN_DICTIONARY",
    p.RLE_DICTIONARY: "RLE_DICTIONARY",
}


@pytest.mark.parametrize("repetition", [p.REQUIRED, p.OPTIONAL, p.REPEATED], ids=["required", "optional", "repeated"])
@pytest.mark.parametrize("physical", ALL_TYPES, ids=TYPE_NAMES)
def test_every_type_reads_in_every_encoding_page_version_and_level_form(physical: int, repetition: int) -> None:
    root = one_leaf(physical, repetition, type_length=5 if physical == p.FLBA else None)
    for encoding in (*ENCODINGS[physical], p.PLAIN_DICTIONARY, p.RLE_DICTIONARY):
        coded = encoding in (p.PLAIN_DICTIONARY, p.RLE_DICTIONARY)
        records = record_list(physical, repetition, ROWS, 9 if coded else 1000)
        dictionary = None
        if coded:
            stored = [entry[2] for entry in p.shred(path_of(root), records) if entry[2] is not None]
            dictionary = [*dict.fromkeys(stored)]
        for version, levels in ((1, "auto"), (1, "rle"), (1, "packed"), (1, "BIT_PACKED"), (2, "auto"), (2, "ones")):
            data = p.simple_file(
                root,
                records,
                120,
                encoding=encoding,
                version=version,
                levels=levels,
                per_page=50,
                dictionary=dictionary,
                codec=p.SNAPPY if levels == "auto" else p.UNCOMPRESSED,
                page_options={"crc": "right"},
            )
            check(data, batch_sizes=(None, 64))


@pytest.mark.parametrize("depth", [1, 2, 3, 4, 8])
def test_bit_packed_levels_of_any_width_are_read(depth: int) -> None:
    node = p.leaf("x", p.INT32, p.OPTIONAL)
    for number in range(depth):
        node = p.list_group(f"l{number}", node) if number % 2 else p.group(f"g{number}", node, repetition=p.OPTIONAL)
    root = p.group("root", node)
    rng = random.Random(depth)

    def make(inner: p.Node) -> Any:
        if inner.repetition == p.REPEATED:
            return [{child.name: make(child) for child in inner.children} for _ in range(rng.randrange(4))]
        if inner.repetition == p.OPTIONAL and rng.random() < 0.2:
            return None
        return (
            rng.randrange(100) if inner.physical is not None else {child.name: make(child) for child in inner.children}
        )

    records = [{node.name: make(node)} for _ in range(ROWS)]
    for levels in ("BIT_PACKED", "auto"):
        check(p.simple_file(root, records, levels=levels, per_page=40))


def test_boolean_dictionary_is_read() -> None:
    root = one_leaf(p.BOOLEAN, p.OPTIONAL)
    records = record_list(p.BOOLEAN, p.OPTIONAL, ROWS)
    for entries in ([True, False], [False, True], [False, True, True]):
        for encoding in (p.PLAIN_DICTIONARY, p.RLE_DICTIONARY):
            check(p.simple_file(root, records, dictionary=entries, encoding=encoding, per_page=64))


@pytest.mark.parametrize(
    ("block", "miniblocks"), [(128, 1), (128, 2), (128, 4), (256, 8), (384, 3), (640, 5), (1024, 32), (4096, 1)]
)
@pytest.mark.parametrize("physical", [p.INT32, p.INT64], ids=["INT32", "INT64"])
def test_delta_reads_with_any_block_and_miniblock_size(physical: int, block: int, miniblocks: int) -> None:
    root = one_leaf(physical, p.OPTIONAL)
    for count in (0, 1, 2, 33, 129, 1000):
        records = record_list(physical, p.OPTIONAL, count)
        for form in ({}, {"unused_width": 255}, {"wide": 3}):
            how = {"block": block, "miniblocks": miniblocks, **form}
            data = p.simple_file(root, records or [{"x": None}], encoding=p.DELTA_BINARY_PACKED, form=how)
            check(data, batch_sizes=(None, 100))


@pytest.mark.parametrize("encoding", [p.DELTA_LENGTH_BYTE_ARRAY, p.DELTA_BYTE_ARRAY], ids=["length", "prefix"])
def test_delta_byte_arrays_read_with_odd_miniblocks_and_empty_values(encoding: int) -> None:
    root = one_leaf(p.BYTE_ARRAY)
    for values in (
        [b""] * 5,
        [b"abc", b"abcd", b"abc", b"", b"x" * 1000, b"x" * 1001] * 40,
        [b"a"],
        some_values(p.BYTE_ARRAY, 400),
    ):
        for block, miniblocks in ((128, 1), (256, 8), (384, 3)):
            form = {"block": block, "miniblocks": miniblocks, "unused_width": 77}
            check(p.simple_file(root, [{"x": value} for value in values], encoding=encoding, form=form, per_page=90))


@pytest.mark.parametrize("per_page", [1, 2, 3, 10])
def test_record_continues_on_the_next_v1_page(per_page: int) -> None:
    root = p.group("root", p.list_group("l", p.leaf("element", p.INT32, p.OPTIONAL)))
    path = path_of(root)
    records = [{"l": value} for value in ([1, 2, None, 4, 5, 6, 7], None, [], [8], [9, 10, 11, 12], [None] * 5, [13])]
    entries = p.shred(path, records)
    parts = [entries[start : start + per_page] for start in range(0, len(entries), per_page)]
    data = file_of_pages(root, len(records), *(p.data_page_v1(path, part) for part in parts))
    check(data)
    for start in range(len(records)):
        found = [row["l"] for row in hw.scan(data).skip(start).head(2).rows()]
        assert found == [record["l"] for record in records[start : start + 2]]


def test_pages_without_values_are_passed_over() -> None:
    root = one_leaf(p.INT32, p.OPTIONAL)
    path = path_of(root)
    entries = p.shred(path, record_list(p.INT32, p.OPTIONAL, 30))
    for make in (p.data_page_v1, p.data_page_v2):
        pages = [
            make(path, []),
            make(path, entries[:10]),
            make(path, []),
            make(path, []),
            make(path, entries[10:]),
            make(path, []),
        ]
        for codec in (p.UNCOMPRESSED, p.SNAPPY):
            check(file_of_pages(root, 30, *pages, codec=codec))


def test_index_pages_and_unknown_pages_are_passed_over() -> None:
    root = one_leaf(p.INT32, p.OPTIONAL)
    path = path_of(root)
    entries = p.shred(path, record_list(p.INT32, p.OPTIONAL, 30))
    first, second = p.data_page_v1(path, entries[:10]), p.data_page_v2(path, entries[10:])
    check(file_of_pages(root, 30, first, p.index_page(), p.unknown_page(), second, p.unknown_page(4, b"")))


def test_page_versions_and_encodings_may_change_inside_a_chunk() -> None:
    root = one_leaf(p.INT32, p.OPTIONAL)
    path = path_of(root)
    records = record_list(p.INT32, p.OPTIONAL, 60, distinct=6)
    entries = p.shred(path, records)
    dictionary = [*dict.fromkeys(value for _, _, value in entries if value is not None)]
    pages: list[p.Page] = [p.dictionary_page(p.INT32, dictionary)]
    for number, start in enumerate(range(0, 60, 10)):
        part = entries[start : start + 10]
        make = p.data_page_v1 if number % 2 else p.data_page_v2
        if number in (0, 1, 4):  # back to the dictionary after a fallback: unusual and legal
            indexes = [dictionary.index(value) for value in p.present(part, 1)]
            values = p.dictionary_indexes(indexes, 3 + number)  # wider than needed is legal
            pages.append(make(path, part, p.RLE_DICTIONARY, values))
        else:
            pages.append(make(path, part, (p.PLAIN, p.DELTA_BINARY_PACKED)[number % 2]))
    for codec in (p.UNCOMPRESSED, p.ZSTD):
        check(file_of_pages(root, 60, *pages, codec=codec))


@pytest.mark.parametrize("physical", ALL_TYPES, ids=TYPE_NAMES)
def test_dictionary_offset_may_be_zero_absent_or_shared_with_the_data(physical: int) -> None:
    root = one_leaf(physical, type_length=5 if physical == p.FLBA else None)
    records = record_list(physical, p.REQUIRED, 50, distinct=5)
    dictionary = [*dict.fromkeys(record["x"] for record in records)]
    for shown, data_offset in (("right", "right"), ("absent", "dictionary"), ("zero", "dictionary")):
        data = p.simple_file(
            root,
            records,
            encoding=p.PLAIN_DICTIONARY,
            dictionary=dictionary,
            dictionary_offset=shown,
            data_offset=data_offset,
        )
        check(data)


def test_dictionary_offset_zero_without_a_dictionary_means_none() -> None:
    root = one_leaf(p.INT64)
    check(p.simple_file(root, record_list(p.INT64, p.REQUIRED, 50), dictionary_offset="zero"))


def test_dictionary_of_one_entry_has_bit_width_zero() -> None:
    root = one_leaf(p.BYTE_ARRAY, p.OPTIONAL)
    path = path_of(root)
    entries = p.shred(path, [{"x": None if number % 3 else b"only"} for number in range(50)])
    for stream in (b"\0", b"\0" + p.varint(50 << 1)):  # the run may be left out
        for make in (p.data_page_v1, p.data_page_v2):
            pages = (p.dictionary_page(p.BYTE_ARRAY, [b"only"]), make(path, entries, p.RLE_DICTIONARY, stream))
            check(file_of_pages(root, 50, *pages))


def test_empty_dictionary_serves_a_page_of_nulls() -> None:
    root = one_leaf(p.BYTE_ARRAY, p.OPTIONAL)
    path = path_of(root)
    entries = p.shred(path, [{"x": None}] * 20)
    for stream in (b"", b"\0"):
        for codec in (p.UNCOMPRESSED, p.SNAPPY, p.GZIP, p.ZSTD, p.LZ4_RAW):
            pages = (p.dictionary_page(p.BYTE_ARRAY, []), p.data_page_v1(path, entries, p.RLE_DICTIONARY, stream))
            check(file_of_pages(root, 20, *pages, codec=codec))


def test_padding_of_the_last_packed_group_may_be_cut() -> None:
    root = one_leaf(p.INT32)
    path = path_of(root)
    records = record_list(p.INT32, p.REQUIRED, 45, distinct=20)
    dictionary = [*dict.fromkeys(record["x"] for record in records)]
    indexes = [dictionary.index(record["x"]) for record in records]
    values = p.dictionary_indexes(indexes, 5, "packed", cut_padding=True)
    # The naive decoder reads what is missing as zeros and drops it.
    pages = (
        p.dictionary_page(p.INT32, dictionary),
        p.data_page_v1(path, p.shred(path, records), p.RLE_DICTIONARY, values),
    )
    check(file_of_pages(root, 45, *pages))


@pytest.mark.parametrize("codec", [p.UNCOMPRESSED, p.SNAPPY, p.GZIP, p.BROTLI, p.LZ4, p.ZSTD, p.LZ4_RAW])
def test_v2_page_may_leave_its_values_uncompressed(codec: int) -> None:
    root = p.group("root", p.list_group("l", p.leaf("element", p.BYTE_ARRAY, p.OPTIONAL)))
    path = path_of(root)
    records = [{"l": [None, [], [None], [b"abc", b"d" * 50]][number % 4]} for number in range(60)]
    entries = p.shred(path, records)
    cut = next(number for number in range(30, len(entries)) if entries[number][0] == 0)
    plain = p.data_page_v2(path, entries[:cut], compressed=False)
    packed = p.data_page_v2(path, entries[cut:], write_flag=False)  # absent means compressed
    for crc in ("none", "right"):
        plain.crc = packed.crc = crc
        check(file_of_pages(root, 60, plain, packed, codec=codec))


@pytest.mark.parametrize("frame", [7, 100, 1 << 16])
@pytest.mark.parametrize("blocks", [1, 3])
def test_hadoop_lz4_reads_with_many_frames_and_blocks(frame: int, blocks: int) -> None:
    root = one_leaf(p.INT64)
    path = path_of(root)
    entries = p.shred(path, [{"x": number * 3} for number in range(500)])
    page = p.data_page_v1(path, entries, compress=lambda data: p.hadoop_lz4(data, frame, blocks))
    check(file_of_pages(root, 500, page, codec=p.LZ4))


def test_lz4_without_hadoop_framing_is_read() -> None:
    root = one_leaf(p.INT64)
    path = path_of(root)
    entries = p.shred(path, [{"x": number // 3} for number in range(500)])
    check(file_of_pages(root, 500, p.data_page_v1(path, entries, compress=p.lz4_block), codec=p.LZ4))


def test_gzip_page_of_several_members_is_read() -> None:
    root = one_leaf(p.INT64)
    path = path_of(root)
    entries = p.shred(path, [{"x": number * 7} for number in range(500)])
    for make in (p.data_page_v1, p.data_page_v2):
        check(file_of_pages(root, 500, make(path, entries, compress=p._gzip_two_members), codec=p.GZIP))


# ---------------------------------------------------------------- files and row groups


def test_file_without_row_groups_is_an_empty_table() -> None:
    root = p.group(
        "root", p.leaf("x", p.INT32), p.list_group("l", p.leaf("element", p.BYTE_ARRAY, p.OPTIONAL, converted=p.UTF8))
    )
    data = p.build_file(root, [])
    table = check_against_pyarrow(data)
    assert table.num_rows == 0
    assert table.schema.names == ["x", "l"]
    assert list(hw.scan(data).rows()) == []
    assert hw.scan(data).to_pandas().shape == (0, 2)


def test_empty_row_groups_are_passed_over() -> None:
    root = one_leaf(p.INT32, p.OPTIONAL)
    path = path_of(root)
    records = record_list(p.INT32, p.OPTIONAL, 20)
    empty = [
        p.RowGroup([p.Chunk([])], 0),
        p.RowGroup([p.Chunk([p.data_page_v1(path, [])])], 0),
        p.RowGroup([p.Chunk([p.dictionary_page(p.INT32, [])])], 0),
    ]
    full = p.RowGroup([p.simple_chunk(path, p.shred(path, records))], 20)
    for order in ([*empty], [*empty, full], [full, *empty], [empty[0], full, empty[1], full, empty[2]]):
        check(p.build_file(root, order))


def test_rows_are_counted_over_row_groups_and_not_in_the_footer() -> None:
    root = one_leaf(p.INT32)
    path = path_of(root)
    groups = [p.RowGroup([p.simple_chunk(path, p.shred(path, record_list(p.INT32, p.REQUIRED, n)))], n) for n in (3, 5)]
    for lie in (0, 7, 9, 1 << 40):
        data = p.build_file(root, groups, num_rows=lie)
        assert hw.open(data).num_rows == 8
        check(data)


def test_group_without_leaves_and_root_without_columns() -> None:
    data = p.build_file(p.group("root"), [])
    assert hw.open(data).num_rows == 0
    assert hw.scan(data).to_arrow().num_columns == 0


def test_unknown_fields_of_every_struct_are_passed_over() -> None:
    root = one_leaf(p.INT32)
    path = path_of(root)
    strange = {
        99: p.record(
            {
                1: p.list_of([p.record({7: p.double(1.5)})]),
                2: p.Thrift(p.MAP, (p.BINARY, p.I64, [(p.binary("k"), p.i64(1))])),
            }
        ),
        100: p.list_of([p.boolean(True), p.boolean(False)]),
        120: p.byte(3),
    }
    chunk = p.simple_chunk(path, p.shred(path, record_list(p.INT32, p.REQUIRED, 10)), extra=strange)
    assert chunk.pages[0].header is not None
    chunk.pages[0].header.value.update(strange)
    check(p.build_file(root, [p.RowGroup([chunk], 10, footer=strange)], footer=strange))


# ---------------------------------------------------------------- logical types

STRINGY = [b"", b"abc", "Zürich".encode(), b'{"a": 1}']


def logical_columns() -> list[tuple[str, p.Node, list[Any], pa.DataType | None]]:
    """(name, node, stored values, Arrow type where it is worth stating)"""
    noon = 12 * 3600
    variant = [b"\x01\x00\x00", b"\x01\x01\x00\x01a"]
    return [
        ("date", p.leaf("x", p.INT32, logical=p.logical("DATE")), [0, -1, 20_000, -719_162, 2_932_896], pa.date32()),
        ("date_converted", p.leaf("x", p.INT32, converted=p.DATE), [0, -1, 20_000], pa.date32()),
        (
            "time_ms",
            p.leaf("x", p.INT32, logical=p.logical("TIME", unit="ms", utc=True)),
            [0, noon * 1000, 86_399_999],
            pa.time32("ms"),
        ),
        (
            "time_us",
            p.leaf("x", p.INT64, logical=p.logical("TIME", unit="us", utc=False)),
            [0, 1, 86_399_999_999],
            pa.time64("us"),
        ),
        (
            "time_ns",
            p.leaf("x", p.INT64, logical=p.logical("TIME", unit="ns", utc=False)),
            [0, 999, 86_399_999_999_999],
            pa.time64("ns"),
        ),
        ("time_ms_converted", p.leaf("x", p.INT32, converted=p.TIME_MILLIS), [0, 5], pa.time32("ms")),
        ("time_us_converted", p.leaf("x", p.INT64, converted=p.TIME_MICROS), [0, 5], pa.time64("us")),
        (
            "ts_ms",
            p.leaf("x", p.INT64, logical=p.logical("TIMESTAMP", unit="ms", utc=True)),
            [0, -1, 1_735_689_600_123],
            pa.timestamp("ms", "UTC"),
        ),
        (
            "ts_us",
            p.leaf("x", p.INT64, logical=p.logical("TIMESTAMP", unit="us", utc=False)),
            [0, -1, 253_402_300_799_999_999],
            pa.timestamp("us"),
        ),
        (
            "ts_ns",
            p.leaf("x", p.INT64, logical=p.logical("TIMESTAMP", unit="ns", utc=True)),
            [0, -1, 1_735_689_600_123_456_789],
            pa.timestamp("ns", "UTC"),
        ),
        ("ts_ms_converted", p.leaf("x", p.INT64, converted=p.TIMESTAMP_MILLIS), [0, 5], pa.timestamp("ms", "UTC")),
        ("ts_us_converted", p.leaf("x", p.INT64, converted=p.TIMESTAMP_MICROS), [0, 5], pa.timestamp("us", "UTC")),
        ("string", p.leaf("x", p.BYTE_ARRAY, logical=p.logical("STRING")), STRINGY, pa.string()),
        ("utf8", p.leaf("x", p.BYTE_ARRAY, converted=p.UTF8), STRINGY, pa.string()),
        ("enum", p.leaf("x", p.BYTE_ARRAY, logical=p.logical("ENUM")), STRINGY, None),
        ("enum_converted", p.leaf("x", p.BYTE_ARRAY, converted=p.ENUM), STRINGY, None),
        ("json", p.leaf("x", p.BYTE_ARRAY, logical=p.logical("JSON")), STRINGY, None),
        ("json_converted", p.leaf("x", p.BYTE_ARRAY, converted=p.JSON), STRINGY, None),
        ("bson", p.leaf("x", p.BYTE_ARRAY, logical=p.logical("BSON")), [b"\x05\0\0\0\0", b"\xff\xfe"], pa.binary()),
        ("bson_converted", p.leaf("x", p.BYTE_ARRAY, converted=p.BSON), [b"\x05\0\0\0\0"], pa.binary()),
        (
            "uuid",
            p.leaf("x", p.FLBA, type_length=16, logical=p.logical("UUID")),
            [bytes(range(16)), b"\xff" * 16],
            None,
        ),
        (
            "interval",
            p.leaf("x", p.FLBA, type_length=12, converted=p.INTERVAL),
            [struct.pack("<III", 1, 2, 3), b"\xff" * 12],
            None,
        ),
        (
            "float16",
            p.leaf("x", p.FLBA, type_length=2, logical=p.logical("FLOAT16")),
            [struct.pack("<e", v) for v in (0.0, -0.0, 1.5, float("inf"), float("nan"))],
            pa.float16(),
        ),
        ("unknown", p.leaf("x", p.INT32, p.OPTIONAL, logical=p.logical("UNKNOWN")), [None, None], pa.null()),
        ("geometry", p.leaf("x", p.BYTE_ARRAY, logical=p.logical("GEOMETRY")), [b"\x01\x01\0\0\0" + b"\0" * 16], None),
        (
            "geography",
            p.leaf("x", p.BYTE_ARRAY, logical=p.logical("GEOGRAPHY", crs="OGC:CRS84")),
            [b"\x01\x01\0\0\0" + b"\0" * 16],
            None,
        ),
        (
            "decimal_int32",
            p.leaf("x", p.INT32, logical=p.logical("DECIMAL", precision=9, scale=2)),
            [0, -1, 999_999_999, -999_999_999],
            None,
        ),
        ("decimal_int64", p.leaf("x", p.INT64, converted=p.DECIMAL, precision=18, scale=18), [0, -1, 10**18 - 1], None),
        (
            "decimal_flba",
            p.leaf("x", p.FLBA, type_length=9, converted=p.DECIMAL, precision=20, scale=0),
            [(n).to_bytes(9, "big", signed=True) for n in (0, -1, 10**20 - 1)],
            None,
        ),
        (
            "decimal_flba_wide",
            p.leaf("x", p.FLBA, type_length=20, logical=p.logical("DECIMAL", precision=38, scale=5)),
            [(n).to_bytes(20, "big", signed=True) for n in (0, -1, 10**38 - 1)],
            pa.decimal128(38, 5),
        ),
        (
            "decimal_256",
            p.leaf("x", p.FLBA, type_length=32, logical=p.logical("DECIMAL", precision=76, scale=5)),
            [(n).to_bytes(32, "big", signed=True) for n in (0, -1, 10**76 - 1)],
            None,
        ),
        (
            "decimal_bytes",
            p.leaf("x", p.BYTE_ARRAY, logical=p.logical("DECIMAL", precision=30, scale=3)),
            [b"\0", b"\xff", b"\xff\xff\xff", b"\0\0\0\0\x7f", (10**30 - 1).to_bytes(13, "big")],
            None,
        ),
        *(
            (
                f"int{bits}",
                p.leaf("x", p.INT32 if bits < 64 else p.INT64, logical=p.logical("INTEGER", bits=bits, signed=True)),
                [0, -(1 << (bits - 1)), (1 << (bits - 1)) - 1],
                getattr(pa, f"int{bits}")(),
            )
            for bits in (8, 16, 32, 64)
        ),
        *(
            (
                f"uint{bits}",
                p.leaf("x", p.INT32 if bits < 64 else p.INT64, logical=p.logical("INTEGER", bits=bits, signed=False)),
                [0, 1, -1 if bits >= 32 else (1 << bits) - 1],
                getattr(pa, f"uint{bits}")(),
            )
            for bits in (8, 16, 32, 64)
        ),
        *(
            (
                f"{'u' if number < p.INT_8 else ''}int{bits}_converted",
                p.leaf("x", p.INT32 if bits < 64 else p.INT64, converted=number),
                [0, 1, 100],
                getattr(pa, f"{'u' if number < p.INT_8 else ''}int{bits}")(),
            )
            for number, bits in (
                (p.UINT_8, 8),
                (p.UINT_16, 16),
                (p.UINT_32, 32),
                (p.UINT_64, 64),
                (p.INT_8, 8),
                (p.INT_16, 16),
                (p.INT_32, 32),
                (p.INT_64, 64),
            )
        ),
        ("future", p.leaf("x", p.INT32, logical=p.logical("FUTURE", number=77)), [1, 2], pa.int32()),
        (
            "future_hides_converted",
            p.leaf("x", p.BYTE_ARRAY, converted=p.UTF8, logical=p.logical("FUTURE", number=77)),
            [b"\xff"],
            None,
        ),
        (
            "variant",
            p.group("x", p.leaf("metadata", p.BYTE_ARRAY), p.leaf("value", p.BYTE_ARRAY), logical=p.logical("VARIANT")),
            [{"metadata": value, "value": value} for value in variant],
            None,
        ),
    ]


LOGICAL = logical_columns()


@pytest.mark.parametrize(("name", "node", "values", "arrow"), LOGICAL, ids=[row[0] for row in LOGICAL])
def test_logical_type_reads_to_its_value(name: str, node: p.Node, values: list[Any], arrow: pa.DataType | None) -> None:
    root = p.group("root", node)
    data = p.simple_file(root, [{"x": value} for value in values])
    check(data)
    table = hw.scan(data).to_arrow()
    if arrow is not None:
        assert table.schema.field("x").type == arrow
    # pyarrow has its own mind about annotations it does not know, and refuses decimals padded beyond sixteen bytes.
    if name not in ("future", "future_hides_converted", "variant", "decimal_flba_wide"):
        theirs = pq.read_table(io.BytesIO(data))
        assert table.schema.equals(theirs.schema, check_metadata=False), f"{table.schema}\nis not\n{theirs.schema}"
        assert naive.first_difference(table.to_pylist(), theirs.to_pylist()) is None
    raw = [row.raw("x") for row in hw.scan(data).rows()]
    assert naive.same(raw, values)


@pytest.mark.parametrize(("name", "node", "values", "arrow"), LOGICAL, ids=[row[0] for row in LOGICAL])
def test_logical_type_reads_inside_a_list_and_as_an_optional(
    name: str, node: p.Node, values: list[Any], arrow: Any
) -> None:
    del name, arrow
    fields = {key: value for key, value in vars(node).items() if key not in ("name", "repetition")}
    root = p.group(
        "root",
        p.Node("o", p.OPTIONAL, **fields),
        p.list_group("l", p.Node("element", p.OPTIONAL, **fields)),
        p.Node("x", **{**fields, "repetition": node.repetition}),
    )
    records = [
        {
            "o": None if number % 3 == 1 else values[number % len(values)],
            "l": {"list": [{"element": value} for value in [None, *values][: number % 4]]},
            "x": values[number % len(values)],
        }
        for number in range(20)
    ]
    check(p.simple_file(root, records, per_page=7))


def test_rows_give_the_python_value_of_every_logical_type() -> None:
    wanted = {
        "date": [
            dt.date(1970, 1, 1),
            dt.date(1969, 12, 31),
            dt.date(2024, 10, 4),
            dt.date(1, 1, 1),
            dt.date(9999, 12, 31),
        ],
        "time_us": [dt.time(0), dt.time(0, 0, 0, 1), dt.time(23, 59, 59, 999_999)],
        "ts_ms": [
            dt.datetime(1970, 1, 1, tzinfo=dt.UTC),
            dt.datetime(1969, 12, 31, 23, 59, 59, 999_000, dt.UTC),
            dt.datetime(2025, 1, 1, 0, 0, 0, 123_000, dt.UTC),
        ],
        "ts_us": [
            dt.datetime(1970, 1, 1),
            dt.datetime(1969, 12, 31, 23, 59, 59, 999_999),
            dt.datetime(9999, 12, 31, 23, 59, 59, 999_999),
        ],
        "uuid": [uuid.UUID(int=0x000102030405060708090A0B0C0D0E0F), uuid.UUID(int=(1 << 128) - 1)],
        "interval": [(1, 2, 3), (2**32 - 1,) * 3],
        "decimal_bytes": [
            Decimal("0.000"),
            Decimal("-0.001"),
            Decimal("-0.001"),
            Decimal("0.127"),
            Decimal("9" * 27 + ".999"),
        ],
        "uint64": [0, 1, 2**64 - 1],
        "json": ["", "abc", "Zürich", '{"a": 1}'],
        "bson": [b"\x05\0\0\0\0", b"\xff\xfe"],
    }
    for name, node, values, _ in LOGICAL:
        if name in wanted:
            data = p.simple_file(p.group("root", node), [{"x": value} for value in values])
            assert naive.same([row["x"] for row in hw.scan(data).rows()], wanted[name]), name


def test_annotation_that_does_not_fit_its_type_is_ignored() -> None:
    odd = [
        (p.leaf("x", p.INT32, logical=p.logical("STRING")), [1, 2], pa.int32()),
        (p.leaf("x", p.BOOLEAN, converted=p.DECIMAL, precision=3, scale=1), [True, False], pa.bool_()),
        (p.leaf("x", p.FLBA, type_length=5, logical=p.logical("UUID")), [b"12345"], pa.binary(5)),
        (p.leaf("x", p.FLBA, type_length=3, logical=p.logical("FLOAT16")), [b"123"], pa.binary(3)),
        (p.leaf("x", p.INT32, converted=p.DECIMAL, precision=0, scale=0), [5], pa.int32()),
        (p.leaf("x", p.INT32, converted=p.TIMESTAMP_MILLIS), [5], pa.int32()),
        (p.leaf("x", p.FLBA, type_length=11, converted=p.INTERVAL), [b"12345678901"], pa.binary(11)),
    ]
    for node, values, arrow in odd:
        data = p.simple_file(p.group("root", node), [{"x": value} for value in values])
        table = hw.scan(data).to_arrow()
        assert table.schema.field("x").type == arrow
        assert table["x"].to_pylist() == values


# ---------------------------------------------------------------- layers, buffer by buffer


def only_column(data: bytes) -> Any:
    (batch,) = hw.scan(data).batches()
    (column,) = batch.columns
    return column


def bits(validity: Any, count: int) -> list[int]:
    return [int(bit) for bit in validity.to_numpy(count)]


def slots(column: Any) -> list[Any]:
    return [
        value if ok else None
        for value, ok in zip(column.values.tolist(), bits(column.validity, column.value_count), strict=True)
    ]


def read_example(root: p.Node, records: list[dict[str, Any]]) -> list[Any]:
    """The column through V1, V2 and BIT_PACKED pages, and through pages that split it."""
    out = [only_column(p.simple_file(root, records, version=1)), only_column(p.simple_file(root, records, version=2))]
    out.append(only_column(p.simple_file(root, records, levels="BIT_PACKED")))
    out.append(only_column(p.simple_file(root, records, per_page=1)))
    return out


def test_layers_of_a_list() -> None:
    root = p.group("root", p.list_group("l", p.leaf("element", p.INT32, p.OPTIONAL)))
    for column in read_example(root, [{"l": None}, {"l": []}, {"l": [None]}, {"l": [1, 2]}]):
        (layer,) = column.layers
        assert layer.kind == "repeated"
        assert layer.offsets.tolist() == [0, 0, 0, 1, 3]
        assert bits(layer.validity, 4) == [0, 1, 1, 1]
        assert (column.record_count, column.value_count) == (4, 3)
        assert slots(column) == [None, 1, 2]
        assert bits(column.validity, 3) == [0, 1, 1]


def test_layers_of_a_list_of_lists() -> None:
    inner = p.list_group("element", p.leaf("element", p.INT32, p.OPTIONAL))
    root = p.group("root", p.list_group("l", inner))
    for column in read_example(root, [{"l": [[1], [], None]}, {"l": None}, {"l": []}]):
        outer, layer = column.layers
        assert outer.offsets.tolist() == [0, 3, 3, 3]
        assert bits(outer.validity, 3) == [1, 0, 1]
        assert layer.offsets.tolist() == [0, 1, 1, 1]
        assert bits(layer.validity, 3) == [1, 1, 0]
        assert slots(column) == [1]
        assert not column.validity.has_nulls


def test_layers_of_a_struct_with_a_list() -> None:
    inner = p.list_group("v", p.leaf("element", p.INT32, p.OPTIONAL))
    root = p.group("root", p.group("s", inner, repetition=p.OPTIONAL))
    for column in read_example(root, [{"s": None}, {"s": {"v": None}}, {"s": {"v": []}}, {"s": {"v": [7]}}]):
        struct_layer, layer = column.layers
        assert struct_layer.kind == "struct"
        assert struct_layer.offsets is None
        assert bits(struct_layer.validity, 4) == [0, 1, 1, 1]
        assert layer.offsets.tolist() == [0, 0, 0, 0, 1]
        assert bits(layer.validity, 4) == [0, 0, 1, 1]
        assert slots(column) == [7]


def test_layers_of_a_list_of_structs() -> None:
    inner = p.group("element", p.leaf("v", p.INT32, p.OPTIONAL), repetition=p.OPTIONAL)
    root = p.group("root", p.list_group("l", inner))
    records = [{"l": {"list": [{"element": None}, {"element": {"v": None}}, {"element": {"v": 5}}]}}]
    for column in read_example(root, records):
        layer, struct_layer = column.layers
        assert layer.offsets.tolist() == [0, 3]
        assert not layer.validity.has_nulls
        assert bits(struct_layer.validity, 3) == [0, 1, 1]
        assert slots(column) == [None, None, 5]
        assert bits(column.validity, 3) == [0, 0, 1]


def test_required_groups_make_no_layer_and_no_nulls_share_one_validity() -> None:
    root = p.group("root", p.group("a", p.group("b", p.leaf("x", p.INT32))))
    column = only_column(p.simple_file(root, [{"a": {"b": {"x": 4}}}] * 3))
    assert column.layers == ()
    assert column.validity is hw.NO_NULLS
    assert column.values.tolist() == [4, 4, 4]
    assert column.values.dtype == np.int32


def test_unannotated_repeated_field_is_a_required_list_of_required_elements() -> None:
    root = p.group("root", p.leaf("x", p.INT32, p.REPEATED))
    records = [{"x": [1, 2]}, {"x": []}, {"x": [3]}]
    for column in read_example(root, records):
        (layer,) = column.layers
        assert (layer.kind, layer.offsets.tolist(), layer.validity.has_nulls) == ("repeated", [0, 2, 2, 3], False)
        assert slots(column) == [1, 2, 3]
    check_against_pyarrow(p.simple_file(root, records))


def test_null_struct_shows_as_null_in_the_unannotated_list_below_it() -> None:
    root = p.group("root", p.group("s", p.leaf("x", p.INT32, p.REPEATED), repetition=p.OPTIONAL))
    records = [{"s": None}, {"s": {"x": []}}, {"s": {"x": [1, 2]}}]
    for column in read_example(root, records):
        struct_layer, layer = column.layers
        assert bits(struct_layer.validity, 3) == [0, 1, 1]
        assert layer.offsets.tolist() == [0, 0, 0, 2]
        assert bits(layer.validity, 3) == [0, 1, 1]
    check_against_pyarrow(p.simple_file(root, records))


def test_unannotated_repeated_group_is_a_list_of_structs() -> None:
    root = p.group("root", p.group("g", p.leaf("a", p.INT32), p.leaf("b", p.INT64, p.OPTIONAL), repetition=p.REPEATED))
    records = [{"g": [{"a": 1, "b": None}, {"a": 2, "b": 3}]}, {"g": []}, {"g": [{"a": 4, "b": 5}]}]
    data = p.simple_file(root, records)
    check_against_pyarrow(data)
    assert [dict(row) for row in hw.scan(data).rows()] == records


LEGACY_LISTS = {
    "repeated primitive": (
        p.group("l", p.leaf("element", p.INT32, p.REPEATED), repetition=p.OPTIONAL, converted=p.CONVERTED_LIST),
        [None, [], [1, 2]],
        [None, [], [1, 2]],
    ),
    "group of two fields": (
        p.group(
            "l",
            p.group("element", p.leaf("a", p.INT32), p.leaf("b", p.INT32, p.OPTIONAL), repetition=p.REPEATED),
            repetition=p.OPTIONAL,
            converted=p.CONVERTED_LIST,
        ),
        [None, {"element": []}, {"element": [{"a": 1, "b": None}]}],
        [None, [], [{"a": 1, "b": None}]],
    ),
    "group named array": (
        p.group(
            "l",
            p.group("array", p.leaf("a", p.INT32), repetition=p.REPEATED),
            repetition=p.OPTIONAL,
            converted=p.CONVERTED_LIST,
        ),
        [None, {"array": []}, {"array": [{"a": 1}, {"a": 2}]}],
        [None, [], [{"a": 1}, {"a": 2}]],
    ),
    "group named tuple": (
        p.group(
            "l",
            p.group("l_tuple", p.leaf("a", p.INT32), repetition=p.REPEATED),
            repetition=p.OPTIONAL,
            converted=p.CONVERTED_LIST,
        ),
        [None, {"l_tuple": []}, {"l_tuple": [{"a": 1}]}],
        [None, [], [{"a": 1}]],
    ),
    "group around a repeated field": (
        p.group(
            "l",
            p.group("item", p.leaf("a", p.INT32, p.REPEATED), repetition=p.REPEATED),
            repetition=p.OPTIONAL,
            converted=p.CONVERTED_LIST,
        ),
        [None, {"item": []}, {"item": [{"a": [1, 2]}, {"a": []}]}],
        [None, [], [{"a": [1, 2]}, {"a": []}]],
    ),
    "three levels with odd names": (
        p.group(
            "l",
            p.group("bag", p.leaf("array_element", p.INT32, p.OPTIONAL), repetition=p.REPEATED),
            repetition=p.OPTIONAL,
            converted=p.CONVERTED_LIST,
        ),
        [None, {"bag": []}, {"bag": [{"array_element": None}, {"array_element": 2}]}],
        [None, [], [None, 2]],
    ),
}


@pytest.mark.parametrize("name", LEGACY_LISTS)
def test_legacy_list_is_read_by_its_rule(name: str) -> None:
    node, stored, wanted = LEGACY_LISTS[name]
    data = p.simple_file(p.group("root", node), [{"l": value} for value in stored])
    check_against_pyarrow(data)
    assert [row["l"] for row in hw.scan(data).rows()] == wanted
    assert hw.open(data).schema["l"].is_list


def test_list_annotation_without_a_repeated_child_is_a_plain_group() -> None:
    node = p.group("l", p.leaf("a", p.INT32, p.OPTIONAL), repetition=p.OPTIONAL, converted=p.CONVERTED_LIST)
    data = p.simple_file(p.group("root", node), [{"l": None}, {"l": {"a": None}}, {"l": {"a": 1}}])
    check(data)
    assert [row["l"] for row in hw.scan(data).rows()] == [None, {"a": None}, {"a": 1}]
    schema = hw.open(data).schema
    assert schema["l"].list_element is None


@pytest.mark.parametrize("converted", [p.CONVERTED_MAP, p.MAP_KEY_VALUE], ids=["MAP", "MAP_KEY_VALUE"])
def test_map_is_a_list_of_pairs_in_file_order(converted: int) -> None:
    node = p.map_group("m", p.leaf("key", p.INT32), p.leaf("value", p.INT64, p.OPTIONAL), converted=converted)
    stored = [None, [], [(2, 20), (1, None), (2, 21)]]
    data = p.simple_file(
        p.group("root", node),
        [{"m": None if v is None else {"key_value": [{"key": k, "value": w} for k, w in v]}} for v in stored],
    )
    check_against_pyarrow(data)
    assert [row["m"] for row in hw.scan(data).rows()] == stored
    assert hw.open(data).schema["m"].is_map


def test_key_only_map_is_read() -> None:
    node = p.map_group("m", p.leaf("key", p.INT32), None)
    records = [{"m": value} for value in (None, {"key_value": []}, {"key_value": [{"key": 1}, {"key": 2}]})]
    data = p.simple_file(p.group("root", node), records)
    for column in (only_column(data),):
        (layer,) = column.layers
        assert layer.offsets.tolist() == [0, 0, 0, 2]
        assert bits(layer.validity, 3) == [0, 1, 1]
        assert slots(column) == [1, 2]
    check(data)
    assert [row["m"] for row in hw.scan(data).rows()] == [None, [], [1, 2]]
    schema = hw.open(data).schema
    assert schema["m"].is_map
    assert schema["m"].map_value is None


def test_deep_nesting_is_read() -> None:
    node = p.leaf("element", p.INT32, p.OPTIONAL)
    for _ in range(20):
        node = p.list_group("element", node)
    root = p.group("root", node)
    value: Any = 7
    for _ in range(20):
        value = [value, None] if isinstance(value, list) else [value]
    check(p.simple_file(root, [{"element": value}, {"element": None}, {"element": []}] * 5))


# ---------------------------------------------------------------- what is refused, and when


def two_columns(bad: p.Chunk, path: tuple[p.PathStep, ...], root: p.Node) -> bytes:
    good = p.simple_chunk(path, p.shred(path, [{"good": number} for number in range(5)]))
    return p.build_file(root, [p.RowGroup([good, bad], 5)])


@pytest.mark.parametrize("why", ["LZO", "encrypted", "other file", "unknown codec", "unknown encoding"])
def test_unreadable_column_is_refused_only_when_it_is_read(why: str) -> None:
    root = p.group("root", p.leaf("good", p.INT32), p.leaf("bad", p.INT32))
    good, path = p.leaf_paths(root)
    chunk = p.simple_chunk(path, p.shred(path, [{"bad": number} for number in range(5)]))
    if why in ("LZO", "unknown codec"):
        chunk.codec = p.LZO if why == "LZO" else 42
        for page in chunk.pages:
            page.compress = bytes
    elif why == "encrypted":
        chunk.crypto = p.record({1: p.record({})})
    elif why == "other file":
        chunk.file_path = "elsewhere.parquet"
    else:
        assert chunk.pages[0].header is not None
        chunk.pages[0].header.value[2] = p.i32(77)
    data = two_columns(chunk, good, root)
    assert hw.scan(data).select("good").to_arrow()["good"].to_pylist() == [0, 1, 2, 3, 4]
    with pytest.raises(
        (hw.UnsupportedError, hw.CorruptFileError) if "unknown" in why else hw.UnsupportedError, match="bad"
    ):
        hw.scan(data).to_arrow()
    with pytest.raises((hw.UnsupportedError, hw.CorruptFileError)):
        list(hw.scan(data).select("bad").batches())


def test_encrypted_footer_is_refused() -> None:
    data = p.simple_file(one_leaf(p.INT32), [{"x": 1}])
    with pytest.raises(hw.UnsupportedError, match="encrypt"):
        hw.scan(data[:-4] + b"PARE").to_arrow()


def test_wrong_checksum_is_found_on_every_kind_of_page() -> None:
    root = one_leaf(p.INT32)
    path = path_of(root)
    entries = p.shred(path, [{"x": number % 3} for number in range(30)])
    indexes = p.dictionary_indexes([entry[2] for entry in entries], 2)
    for wrong in range(3):
        crcs = ["wrong" if number == wrong else "right" for number in range(3)]
        pages = (
            p.dictionary_page(p.INT32, [0, 1, 2], crc=crcs[0]),
            p.data_page_v1(path, entries, p.RLE_DICTIONARY, indexes, crc=crcs[1]),
            p.data_page_v2(path, entries, p.RLE_DICTIONARY, indexes, crc=crcs[2]),
        )
        for codec in (p.UNCOMPRESSED, p.SNAPPY):
            data = file_of_pages(root, 60, *pages, codec=codec)
            with pytest.raises(hw.CorruptFileError, match=r"'x'.*(checksum|CRC)"):
                hw.scan(data).to_arrow()
            table = hw.scan(data, checksums=False).to_arrow()
            assert table["x"].to_pylist() == [entry[2] for entry in entries] * 2


def test_page_above_the_limit_is_refused_until_the_limit_is_raised() -> None:
    root = one_leaf(p.INT64)
    data = p.simple_file(root, [{"x": 1}] * 10_000, codec=p.SNAPPY)
    with pytest.raises(hw.UnsupportedError, match="max_page_bytes"):
        hw.scan(data, max_page_bytes=79_999).to_arrow()
    assert hw.scan(data, max_page_bytes=80_000).to_arrow().num_rows == 10_000


def test_text_that_is_not_utf8_is_bytes_in_batches_and_refused_as_text() -> None:
    root = p.group("root", p.leaf("x", p.BYTE_ARRAY, converted=p.UTF8), p.leaf("n", p.INT32))
    data = p.simple_file(root, [{"x": b"ok", "n": 1}, {"x": b"\xff\xfe", "n": 2}])
    (batch,) = hw.scan(data).batches()
    assert column_records(batch["x"]) == [b"ok", b"\xff\xfe"]
    for terminal in ("to_arrow", "to_pandas", "rows"):
        with pytest.raises(hw.CorruptFileError, match=r"row group 0.*'x'"):
            [row["x"] for row in getattr(hw.scan(data), terminal)()] if terminal == "rows" else getattr(
                hw.scan(data), terminal
            )()
    with pytest.raises(hw.CorruptFileError, match=r"row group 0.*'x'"):
        hw.scan(data).to_arrow(dictionary=["x"])
    with pytest.raises(hw.CorruptFileError, match=r"row group 0.*'x'"):
        hw.scan(data).to_arrow(strings="view")
    assert hw.scan(data).select("n").to_arrow()["n"].to_pylist() == [1, 2]


CUTS = [(b"\xe2\x82", b"\xac"), (b"\xf0\x9f", b"\xa6\x80")]


@pytest.mark.parametrize("encoding", [p.PLAIN, p.DELTA_LENGTH_BYTE_ARRAY, p.DELTA_BYTE_ARRAY])
def test_character_cut_between_two_values_is_not_utf8(encoding: int) -> None:
    root = one_leaf(p.BYTE_ARRAY, converted=p.UTF8)
    for first, second in CUTS:  # together they are one valid character
        data = p.simple_file(root, [{"x": first}, {"x": second}], encoding=encoding)
        with pytest.raises(hw.CorruptFileError):
            hw.scan(data).to_arrow()


def broken_files() -> dict[str, bytes]:
    """Small lies, each of which must be found by the kernels or the page reader."""
    out: dict[str, bytes] = {}
    root = one_leaf(p.INT32, p.OPTIONAL)
    path = path_of(root)
    entries = p.shred(path, [{"x": number} for number in range(20)])

    def page(values: bytes, encoding: int = p.PLAIN, **rest: Any) -> p.Page:
        return p.data_page_v1(path, entries, encoding, values, **rest)

    dictionary = p.dictionary_page(p.INT32, [1, 2, 3])
    good = p.plain(p.INT32, range(20))
    out["values cut"] = file_of_pages(root, 20, page(good[:-1]))
    out["index beyond the dictionary"] = file_of_pages(
        root, 20, dictionary, page(p.dictionary_indexes([3] * 20, 2), p.RLE_DICTIONARY)
    )
    out["index beyond by its sign"] = file_of_pages(
        root, 20, dictionary, page(b"\x20" + p.varint(40) + b"\xff" * 4, p.RLE_DICTIONARY)
    )
    out["no dictionary"] = file_of_pages(root, 20, page(p.dictionary_indexes([0] * 20, 2), p.RLE_DICTIONARY))
    out["bit width 33"] = file_of_pages(
        root, 20, dictionary, page(b"\x21" + p.varint(40) + b"\0" * 5, p.RLE_DICTIONARY)
    )
    out["run too short"] = file_of_pages(root, 20, dictionary, page(b"\x02" + p.varint(38) + b"\0", p.RLE_DICTIONARY))
    out["delta of another count"] = file_of_pages(
        root, 20, page(p.delta_binary_packed(range(19), 32), p.DELTA_BINARY_PACKED)
    )
    for block, mini in ((0, 4), (128, 0), (100, 4), (1 << 40, 1), (128, 128)):
        stream = p.varint(block) + p.varint(mini) + p.varint(20) + b"\0" + b"\0" * 50
        out[f"delta block {block} of {mini}"] = file_of_pages(root, 20, page(stream, p.DELTA_BINARY_PACKED))
    stream = p.varint(128) + p.varint(4) + p.varint(20) + b"\0\0" + b"\x41\0\0\0" + b"\0" * 600
    out["delta bit width 65"] = file_of_pages(root, 20, page(stream, p.DELTA_BINARY_PACKED))
    out["rows missing"] = file_of_pages(root, 21, page(good))
    out["rows too many"] = file_of_pages(root, 19, page(good))
    out["fewer values than the chunk says"] = file_of_pages(root, 20, page(good), value_count=30)
    out["level above the maximum"] = file_of_pages(
        root,
        20,
        p.Page(
            p.DATA_PAGE,
            p.record({1: p.i32(20), 2: p.i32(0), 3: p.i32(p.RLE), 4: p.i32(p.RLE)}),
            struct.pack("<I", 2) + p.varint(40) + b"\x03" + good,
            20,
            20,
        ),
    )
    out["levels cut"] = file_of_pages(
        root,
        20,
        p.Page(
            p.DATA_PAGE,
            p.record({1: p.i32(20), 2: p.i32(0), 3: p.i32(p.RLE), 4: p.i32(p.RLE)}),
            struct.pack("<I", 2) + p.varint(30) + b"\x01" + good,
            20,
            20,
        ),
    )
    out["level length beyond the page"] = file_of_pages(
        root,
        20,
        p.Page(
            p.DATA_PAGE,
            p.record({1: p.i32(20), 2: p.i32(0), 3: p.i32(p.RLE), 4: p.i32(p.RLE)}),
            struct.pack("<I", 1 << 31) + p.varint(40) + b"\x01" + good,
            20,
            20,
        ),
    )
    for size in (-7, 7, 1 << 20):
        out[f"size off by {size}"] = file_of_pages(root, 20, page(good, header_size_change=size), codec=p.SNAPPY)
    text = one_leaf(p.BYTE_ARRAY)
    text_path = path_of(text)
    strings = p.shred(text_path, [{"x": b"abc"}] * 4)
    for length in (4, 1 << 31, (1 << 32) - 1):
        stream = struct.pack("<I", length) + b"abc"
        out[f"byte array of {length}"] = file_of_pages(text, 4, p.data_page_v1(text_path, strings, p.PLAIN, stream * 4))
    stream = p.delta_binary_packed([3, 3, -1, 3], 32) + b"abc" * 3
    out["negative length"] = file_of_pages(
        text, 4, p.data_page_v1(text_path, strings, p.DELTA_LENGTH_BYTE_ARRAY, stream)
    )
    stream = p.delta_binary_packed([0, 4, 0, 0], 32) + p.delta_length_byte_array([b"abc"] * 4)
    out["prefix longer than the value before"] = file_of_pages(
        text, 4, p.data_page_v1(text_path, strings, p.DELTA_BYTE_ARRAY, stream)
    )
    lists = p.group("root", p.list_group("l", p.leaf("element", p.INT32, p.OPTIONAL)))
    list_path = path_of(lists)
    out["record starts inside"] = file_of_pages(lists, 1, p.data_page_v1(list_path, [(1, 3, 1), (0, 3, 2)]))
    out["v2 levels longer than the page"] = file_of_pages(
        lists,
        1,
        p.Page(
            p.DATA_PAGE_V2,
            p.record(
                {1: p.i32(1), 2: p.i32(0), 3: p.i32(1), 4: p.i32(0), 5: p.i32(900), 6: p.i32(2), 7: p.boolean(True)}
            ),
            b"\x02\0\x02\x03" + b"\0" * 4,
            1,
            1,
        ),
    )
    out["magic"] = b"PAR2" + file_of_pages(root, 20, page(good))[4:]
    out["footer length"] = file_of_pages(root, 20, page(good))[:-8] + struct.pack("<I", 1 << 30) + b"PAR1"
    out["nothing"] = b""
    out["magic only"] = b"PAR1PAR1"
    out["not parquet"] = zlib.compress(b"something else" * 100)
    return out


BROKEN = broken_files()


@pytest.mark.parametrize("name", BROKEN)
def test_broken_file_is_a_corrupt_file_error(name: str) -> None:
    for terminal in ("to_arrow", "batches", "rows"):
        with pytest.raises(hw.CorruptFileError):
            list(getattr(hw.scan(BROKEN[name]), terminal)())


@pytest.mark.parametrize("value", [b"ab", None], ids=["value", "null"])
def test_width_that_the_page_cannot_fill_is_refused_before_memory_is_taken(value: bytes | None, tmp_path: Path) -> None:
    # The width is the footer's word alone: two bytes in the page, two gigabytes per value announced.
    root = one_leaf(p.FLBA, p.OPTIONAL, type_length=2**31 - 1)
    target = tmp_path / "wide.parquet"
    target.write_bytes(p.simple_file(root, [{"x": value}]))
    code = (
        "import hardwood_jit as hw\n"
        "try:\n"
        f"    hw.scan({str(target)!r}).to_arrow()\n"
        "except (hw.CorruptFileError, hw.UnsupportedError):\n"
        "    print('refused')\n"
    )
    limit = 3 << 30  # address space, of which the libraries take one gigabyte: two more do not fit
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        timeout=120,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)),
        check=False,
    )
    assert done.stdout.strip() == "refused", done.stderr[-500:]


def test_sibling_leaves_that_disagree_about_their_list_are_refused() -> None:
    root = p.group("root", p.list_group("l", p.group("element", p.leaf("a", p.INT32), p.leaf("b", p.INT32))))
    a, b = p.leaf_paths(root)
    chunks = [
        p.simple_chunk(a, [(0, 2, 1), (1, 2, 2), (0, 2, 3)]),
        p.simple_chunk(b, [(0, 2, 1), (0, 2, 2), (1, 2, 3)]),
    ]
    data = p.build_file(root, [p.RowGroup(chunks, 2)])
    with pytest.raises(hw.CorruptFileError):
        hw.scan(data).to_arrow()
    with pytest.raises(hw.CorruptFileError):
        [dict(row) for row in hw.scan(data).rows()]
    assert hw.scan(data).select("l.a").to_arrow().to_pylist() == [{"l": [{"a": 1}, {"a": 2}]}, {"l": [{"a": 3}]}]
