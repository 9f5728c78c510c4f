"""Page indexes: read as written, ignored when their lists do not fit."""

from __future__ import annotations

import os

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hardwood_jit.metadata.footer import read_footer
from hardwood_jit.metadata.page_index import parse_column_index, parse_offset_index, skim_offset_index
from hardwood_jit.source import BytesSource
from tests.support import pages as p
from tests.support.pages import Thrift, binary, boolean, i32, i64, list_of, record

RANGE = (100, 60)


def offset_index(*pages: tuple[int, int, int], **rest: Thrift) -> bytes:
    places = [record({1: i64(at), 2: i32(size), 3: i64(row)}) for at, size, row in pages]
    return record({1: list_of(places, p.STRUCT), 2: rest.get("unencoded")}).encode()


def test_offset_index_becomes_arrays() -> None:
    raw = offset_index((100, 20, 0), (120, 30, 5), (150, 10, 9), unencoded=list_of([i64(1), i64(2), i64(3)]))
    found = parse_offset_index(raw, 12, RANGE)
    assert found is not None and found.page_count == 3
    assert found.offsets.tolist() == [100, 120, 150] and found.offsets.dtype == np.int64
    assert found.sizes.tolist() == [20, 30, 10] and found.first_rows.tolist() == [0, 5, 9]
    assert found.page_rows().tolist() == [5, 4, 3]
    assert found.unencoded_bytes is not None and found.unencoded_bytes.tolist() == [1, 2, 3]


def test_pages_without_rows_and_empty_chunks_are_fine() -> None:
    found = parse_offset_index(offset_index((100, 20, 0), (120, 20, 5), (140, 20, 5)), 5, RANGE)
    assert found is not None and found.page_rows().tolist() == [5, 0, 0]
    assert parse_offset_index(offset_index(), 0, RANGE) is not None


@pytest.mark.parametrize(
    ("raw", "rows"),
    [
        (b"", 5),
        (b"\x00", 5),
        (b"\x19\x1c\x16", 5),
        (offset_index(), 5),
        (offset_index((100, 20, 1)), 5),
        (offset_index((100, 20, 0), (120, 20, 6)), 5),
        (offset_index((100, 20, 0), (120, 20, 4), (140, 20, 3)), 5),
        (offset_index((100, 20, 0), (119, 20, 3)), 5),
        (offset_index((120, 20, 0), (100, 20, 3)), 5),
        (offset_index((100, 0, 0)), 5),
        (offset_index((100, -1, 0)), 5),
        (offset_index((99, 20, 0)), 5),
        (offset_index((100, 61, 0)), 5),
        (offset_index((-100, 20, 0)), 5),
        (offset_index((1 << 62, 20, 0)), 5),
        (offset_index((100, 20, 0), ((1 << 63) - 1, 20, 3)), 5),
        (record({1: list_of([record({1: i64(100), 2: i32(5)})])}).encode(), 5),
        (record({1: list_of([i64(100)])}).encode(), 5),
    ],
)
def test_offset_indexes_that_do_not_fit_are_ignored(raw: bytes, rows: int) -> None:
    assert parse_offset_index(raw, rows, RANGE) is None


def assert_same(raw: bytes, rows: int, byte_range: tuple[int, int] | None) -> None:
    """The fast way and the other agree on whether there is an index, and on its numbers."""
    slow = parse_offset_index(raw, rows, byte_range)
    fast = skim_offset_index(np.frombuffer(bytearray(raw), np.uint8), rows, byte_range)
    assert (slow is None) == (fast is None)
    if slow is not None and fast is not None:
        for name in ("offsets", "sizes", "first_rows"):
            assert getattr(slow, name).tolist() == getattr(fast, name).tolist()
        assert slow.row_count == fast.row_count


numbers = st.integers(-2, 70) | st.sampled_from([-(1 << 63), (1 << 63) - 1, 1 << 62, 1 << 31, -(1 << 31)])
QUICK = settings(deadline=None, derandomize=os.environ.get("CI") == "true")


@QUICK
@given(st.lists(st.tuples(st.integers(1, 9), st.integers(0, 5)), max_size=20), st.integers(0, 3), st.booleans())
def test_honest_offset_indexes_are_skimmed_as_they_are_parsed(
    steps: list[tuple[int, int]], rest: int, with_sizes: bool
) -> None:
    at, row, found = 100, 0, []
    for size, rows in steps:
        found.append((at, size, row))
        at, row = at + size, row + rows
    more = {"unencoded": list_of([i64(1) for _ in steps], p.I64)} if with_sizes else {}
    raw = offset_index(*found, **more)
    for rows in (row, row + rest):
        for byte_range in (None, (100, at - 100), (100, at - 99), (101, at - 100)):
            assert_same(raw, rows, byte_range)
            assert_same(raw + b"more", rows, byte_range)


@QUICK
@given(
    st.lists(st.tuples(numbers, numbers.map(lambda n: max(min(n, 2**31 - 1), -(2**31))), numbers), max_size=4),
    st.integers(0, 70),
    st.sampled_from([None, (0, 70), RANGE]),
)
def test_dishonest_offset_indexes_are_skimmed_as_they_are_parsed(
    given: list[tuple[int, int, int]], rows: int, byte_range: tuple[int, int] | None
) -> None:
    assert_same(offset_index(*given), rows, byte_range)


@settings(QUICK, max_examples=400)
@given(st.data())
def test_damaged_offset_indexes_are_skimmed_as_they_are_parsed(data: st.DataObject) -> None:
    raw = bytearray(offset_index((100, 20, 0), (120, 30, 5), (150, 10, 9)))
    for _ in range(data.draw(st.integers(0, 3))):
        at = data.draw(st.integers(0, len(raw) - 1))
        raw[at] = data.draw(st.integers(0, 255))
    assert_same(bytes(raw[: data.draw(st.integers(0, len(raw)))]), 12, None)
    assert_same(bytes(raw), 12, RANGE)


@settings(QUICK, max_examples=400)
@given(st.binary(max_size=40), st.integers(0, 20))
def test_random_bytes_are_no_offset_index_or_the_same_one(raw: bytes, rows: int) -> None:
    assert_same(raw, rows, None)


@pytest.mark.parametrize(
    "location",
    [
        {1: i64(100), 2: i32(5)},
        {1: i64(100), 3: i64(0)},
        {2: i32(5), 3: i64(0)},
        {1: i64(100), 2: i32(5), 3: i64(0), 9: binary(b"later")},
        {1: i32(100), 2: i64(5), 3: i32(0)},
        {1: binary(b"a"), 2: i32(5), 3: i64(0)},
        {3: i64(0), 2: i32(5), 1: i64(100)},
    ],
)
def test_odd_page_locations_are_skimmed_as_they_are_parsed(location: dict[int, Thrift]) -> None:
    raw = record({1: list_of([record(location)])}).encode()
    assert_same(raw, 5, None)
    assert_same(record({1: list_of([record(location)]), 7: i32(3)}).encode(), 5, RANGE)
    assert_same(record({1: list_of([record(location)]), 2: binary(b"x")}).encode(), 5, RANGE)


COLUMN_INDEX = {
    1: list_of([boolean(False), boolean(True)]),
    2: list_of([binary(b"a"), binary(b"")]),
    3: list_of([binary(b"\xff"), binary(b"")]),
    4: i32(1),
    5: list_of([i64(0), i64(7)]),
    6: list_of([i64(1), i64(2)]),
    7: list_of([i64(1), i64(2), i64(3), i64(4)]),
    8: list_of([i64(0), i64(1)]),
}


def test_column_index_becomes_arrays_and_bytes() -> None:
    found = parse_column_index(record(COLUMN_INDEX).encode(), 2)
    assert found is not None and found.page_count == 2 and found.boundary_order == 1
    assert found.null_pages.tolist() == [False, True]
    assert found.min_values == (b"a", b"") and found.max_values == (b"\xff", b"")
    assert found.null_counts is not None and found.null_counts.tolist() == [0, 7]
    assert found.nan_counts is not None and found.nan_counts.tolist() == [0, 1]
    assert found.definition_histograms is not None and found.definition_histograms.tolist() == [[1, 2], [3, 4]]
    assert found.repetition_histograms is not None and found.repetition_histograms.tolist() == [[1], [2]]


def test_optional_lists_may_be_absent() -> None:
    found = parse_column_index(record({number: COLUMN_INDEX[number] for number in (1, 2, 3, 4)}).encode())
    assert found is not None and found.null_counts is None and found.nan_counts is None


@pytest.mark.parametrize(
    "change",
    [
        {1: list_of([boolean(False)])},
        {2: list_of([binary(b"a")])},
        {3: None},
        {4: i32(3)},
        {4: None},
        {5: list_of([i64(0)])},
        {5: list_of([i64(0), i64(-1)])},
        {8: list_of([i64(0)])},
        {2: list_of([i32(0), i32(0)])},
    ],
)
def test_column_indexes_that_do_not_fit_are_ignored(change: dict[int, Thrift | None]) -> None:
    assert parse_column_index(record({**COLUMN_INDEX, **change}).encode(), 2) is None
    assert parse_column_index(record(COLUMN_INDEX).encode(), 3) is None


def test_indexes_of_a_real_file() -> None:
    out = pa.BufferOutputStream()
    table = pa.table({"a": pa.array(range(10_000), pa.int64())})
    pq.write_table(
        table, out, write_page_index=True, data_page_size=1000, use_dictionary=False, row_group_size=6000,
        compression="none", write_batch_size=100,
    )  # fmt: skip
    found = read_footer(BytesSource(out.getvalue().to_pybytes()))
    for row_group in found.row_groups:
        chunk = row_group.columns[0]
        pages, bounds = chunk.offset_index, chunk.column_index
        assert pages is not None and bounds is not None and pages.page_count == bounds.page_count > 10
        assert int(pages.sizes.sum()) == chunk.total_compressed_size
        assert pages.offsets[0] == chunk.data_page_offset
        low = np.frombuffer(b"".join(bounds.min_values), np.int64)
        assert (low == pages.first_rows + row_group.index * 6000).all() and bounds.boundary_order == 1
