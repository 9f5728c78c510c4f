"""Bloom filters: headers of the one kind there is, the hash by known vectors, and bits that other writers have set."""

from __future__ import annotations

import datetime as dt
import decimal
import io
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hardwood_jit import col
from hardwood_jit.metadata.bloom import (
    BLOCK_BYTES,
    BloomFilterHeader,
    blocks_of,
    hashes_of,
    is_in_block,
    parse_bloom_header,
    xxh64,
)
from hardwood_jit.metadata.footer import FileMetadata, read_footer
from hardwood_jit.plan.bind import bind
from hardwood_jit.plan.bound import ValueTest
from hardwood_jit.plan.stored_keys import hashes_of_test
from hardwood_jit.source import BytesSource, LocalFile
from tests.support.corpus import corpus_names, corpus_root
from tests.support.pages import Thrift, i32, record

KIND = record({1: record({})})
HEADER = {1: i32(64), 2: KIND, 3: KIND, 4: KIND}


def test_header_gives_the_place_of_the_bits() -> None:
    raw = record(HEADER).encode()
    found = parse_bloom_header(raw + bytes(64), 1000, 1000 + len(raw) + 64)
    assert found == BloomFilterHeader(1000, len(raw), 64)
    assert found is not None and found.bitset_range == (1000 + len(raw), 64)


@pytest.mark.parametrize(
    "change",
    [{1: i32(0)}, {1: i32(-32)}, {1: i32(33)}, {1: None}, {2: None}, {3: record({2: record({})})}, {4: i32(1)}],
)
def test_malformed_headers_are_ignored(change: dict[int, Thrift | None]) -> None:
    assert parse_bloom_header(record({**HEADER, **change}).encode() + bytes(64), 0, 1 << 20) is None


def test_bits_beyond_the_file_and_cut_headers_are_ignored() -> None:
    raw = record(HEADER).encode()
    assert parse_bloom_header(raw + bytes(64), 1000, 1000 + len(raw) + 63) is None
    for cut in range(len(raw)):
        assert parse_bloom_header(raw[:cut], 0, 1 << 20) is None


def test_bloom_filters_of_the_corpus_have_headers() -> None:
    corpus_root()
    seen = 0
    for name in corpus_names():
        if "bloom" in name:
            for row_group in read_footer(LocalFile(str(corpus_root() / "dev" / name))).row_groups:
                for chunk in row_group.columns:
                    header = chunk.bloom_filter
                    assert (header is None) == (chunk.bloom_range is None)
                    seen += header is not None
    assert seen > 0


# The hash


@pytest.mark.parametrize(
    ("raw", "expected"),
    [  # published with the reference implementation and its bindings, seed 0
        (b"", 0xEF46DB3751D8E999),
        (b"a", 0xD24EC4F1A98C6E5B),
        (b"abc", 0x44BC2CF5AD770999),
        (b"xxhash", 0x32DD38952C4BC720),
        (b"Nobody inspects the spammish repetition", 0xFBCEA83C8A378BF1),
    ],
)
def test_hash_is_that_of_the_reference(raw: bytes, expected: int) -> None:
    assert xxh64(raw) == expected


# Bits that others have set


def in_filter(metadata: FileMetadata, column: int, literals: list[Any]) -> list[bool]:
    """Whether the filters of a column may hold each literal, over all row groups."""
    leaf = metadata.schema.leaves[column]
    hashes = []
    for literal in literals:
        (test,) = bind(col(leaf.path) == literal, metadata.schema).conjuncts
        assert isinstance(test, ValueTest)
        found = hashes_of_test(test)
        assert found is not None, literal
        hashes.append(found[0])
    numbers = np.array(hashes, np.uint64)
    passed = np.zeros(len(literals), bool)
    for group in metadata.row_groups:
        header = group.columns[column].bloom_filter
        assert header is not None
        start, length = header.bitset_range
        bits = metadata.source.read(start, length).reshape(-1, BLOCK_BYTES)
        passed |= is_in_block(numbers, np.ascontiguousarray(bits[blocks_of(numbers, length)]))
    return passed.tolist()


def assert_holds(metadata: FileMetadata, column: int, present: list[Any], absent: list[Any]) -> None:
    assert all(in_filter(metadata, column, present))
    # At one false positive in a hundred, a quarter is far beyond chance: then the hash is another one.
    assert sum(in_filter(metadata, column, absent)) <= max(len(absent) // 4, 1)


ROWS = 400
COUNTS = range(1, 2 * ROWS, 2)  # odd ones are in the file, even ones are not
MAKERS: dict[str, tuple[Any, Any]] = {  # Arrow type, number -> value
    "int32": (pa.int32(), lambda n: n - ROWS),
    "int64": (pa.int64(), lambda n: (n - ROWS) << 40),
    "uint32": (pa.uint32(), lambda n: 2**32 - n),
    "uint64": (pa.uint64(), lambda n: 2**64 - n),
    "float": (pa.float32(), lambda n: n / 8),
    "double": (pa.float64(), lambda n: -n / 3),
    "text": (pa.string(), lambda n: "é" * (n % 50) + str(n)),  # all lengths around 4, 8 and 32 bytes
    "bytes": (pa.binary(), lambda n: bytes([n % 256]) * (n // 7) + str(n).encode()),
    "fixed": (pa.binary(5), lambda n: n.to_bytes(5, "little")),
    "date": (pa.date32(), lambda n: dt.date(2000, 1, 1) + dt.timedelta(days=n)),
    "moment": (pa.timestamp("us", "UTC"), lambda n: dt.datetime(2000, 1, 1, 0, 0, n % 60, n, tzinfo=dt.UTC)),
    "local": (pa.timestamp("ms"), lambda n: dt.datetime(2000, 1, 1) + dt.timedelta(milliseconds=n)),
    "time": (pa.time64("us"), lambda n: dt.time(1, 2, 3, n)),
    "decimal": (pa.decimal128(20, 2), lambda n: decimal.Decimal(n - ROWS).scaleb(-2)),
}


@pytest.mark.parametrize("kind", MAKERS)
def test_filters_of_pyarrow_hold_the_values_of_every_type(kind: str) -> None:
    type_, make = MAKERS[kind]
    sink = io.BytesIO()
    table = pa.table({"x": pa.array([make(n) for n in COUNTS], type_)})
    options = {"x": {"ndv": ROWS, "fpp": 0.01}}
    pq.write_table(table, sink, row_group_size=ROWS // 2, bloom_filter_options=options)
    metadata = read_footer(BytesSource(sink.getvalue()))
    assert_holds(metadata, 0, [make(n) for n in COUNTS], [make(n) for n in range(2, 2 * ROWS, 2)])


def test_filters_of_duckdb_hold_the_values_of_its_types(tmp_path: Path) -> None:
    place = tmp_path / "bloom.parquet"
    duckdb.sql(
        f"""copy (select (i % 200 * 2)::int as i4, (i % 200 * 2)::bigint as i8, (i % 200 * 2)::uinteger as u4,
        'name ' || (i % 200 * 2) as text, (i % 200 * 2 + 1)::double as d, (i % 200 * 2 + 1)::float as f
        from range(4000) t(i)) to '{place}' (format parquet, row_group_size 2048)"""
    )
    metadata = read_footer(LocalFile(str(place)))
    even, odd = list(range(0, 400, 2)), list(range(1, 400, 2))
    for column, name in enumerate(leaf.dotted for leaf in metadata.schema.leaves):
        present, absent = even, odd
        if name in ("d", "f"):
            present, absent = odd, even[1:]
        if name == "text":
            assert_holds(metadata, column, [f"name {n}" for n in present], [f"name {n}" for n in absent])
        else:
            assert_holds(metadata, column, present, absent)


@given(st.lists(st.binary(max_size=70), min_size=1, max_size=20), st.integers(1, 5))
def test_hash_finds_the_bits_that_it_would_set(values: list[bytes], blocks: int) -> None:
    hashes = hashes_of(values)
    bits = np.zeros((blocks, 8), np.uint32)
    salt = [0x47B6137B, 0x44974D91, 0x8824AD5B, 0xA2B7289D, 0x705495C7, 0x2DF1424B, 0x9EFC4947, 0x5C6BFB31]
    for value in values:  # word by word as in BloomFilter.md
        number = xxh64(value)
        block = ((number >> 32) * blocks) >> 32
        for word, multiplier in enumerate(salt):
            bits[block, word] |= np.uint32(1 << (((number & 0xFFFFFFFF) * multiplier & 0xFFFFFFFF) >> 27))
    raw = bits.astype("<u4").view(np.uint8)
    assert is_in_block(hashes, np.ascontiguousarray(raw[blocks_of(hashes, raw.size)])).all()
    assert not is_in_block(hashes, np.zeros((len(hashes), BLOCK_BYTES), np.uint8)).any()
