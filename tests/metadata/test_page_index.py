"""Page indexes: read as written, ignored when their lists do not fit."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hardwood_jit.metadata.footer import read_footer
from hardwood_jit.metadata.page_index import parse_column_index, parse_offset_index
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
