"""Row groups that are filtered as a whole: that they are, that the result is the general way's, and every way back."""

from __future__ import annotations

import io
from collections.abc import Iterator
from decimal import Decimal
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import hardwood_jit as hw
from hardwood_jit import col, whole_group
from hardwood_jit.jit.group_kernel import GroupKernel

ROWS = 4_003  # two row groups of 1 500 and a shorter one; no multiple of 64
GROUP_ROWS = 1_500


def _table() -> pa.Table:
    random = np.random.default_rng(5)
    number = np.arange(ROWS)
    absent = random.random(ROWS) < 0.1
    words = np.array(["", "a", "Évora", "a somewhat longer text", "日本"])
    return pa.table(
        {
            "id": pa.array(number, pa.int64()),
            "small": pa.array(random.integers(-50, 50, ROWS), pa.int32(), mask=absent),
            "real": pa.array(random.normal(size=ROWS)),
            "half": pa.array(random.normal(size=ROWS).astype(np.float32), mask=absent),
            "word": pa.array(words[random.integers(0, 5, ROWS)], mask=absent),
            "unique": pa.array([f"text {value}" for value in random.permutation(ROWS).tolist()]),
            "price": pa.array([Decimal(value) / 100 for value in random.integers(-9999, 9999, ROWS).tolist()],
                              pa.decimal128(7, 2)),
        }
    )  # fmt: skip


def _written(table: pa.Table, **settings: object) -> bytes:
    buffer = io.BytesIO()
    options = {"row_group_size": GROUP_ROWS, "store_schema": False, "store_decimal_as_integer": True, **settings}
    pq.write_table(table, buffer, **options)
    return buffer.getvalue()


LAYOUTS = {
    "snappy": {},
    "uncompressed": {"compression": "none"},
    "without dictionaries": {"use_dictionary": False},
    "V2 pages": {"data_page_version": "2.0"},
    # Dictionaries that overflow: their chunks go on as PLAIN.
    "fallback": {"data_page_size": 512, "write_batch_size": 64, "dictionary_pagesize_limit": 2_000},
    "small pages": {"data_page_size": 512, "write_batch_size": 64},
    "page index": {"data_page_size": 512, "write_batch_size": 64, "write_page_index": True},
    "deltas and streams": {
        "use_dictionary": ["word"],
        "column_encoding": {
            "id": "DELTA_BINARY_PACKED", "small": "DELTA_BINARY_PACKED", "real": "BYTE_STREAM_SPLIT",
            "half": "BYTE_STREAM_SPLIT", "price": "BYTE_STREAM_SPLIT",
        },
        "data_page_size": 2_000, "write_batch_size": 64,
    },
}

PREDICATES = {
    "number": col("id") > 1_000,
    "with nulls": (col("small") >= 0) & (col("half") < 0.5),
    "no nulls match": ~(col("small") == 7),
    "text": (col("word") == "Évora") & (col("id") < 3_000),
    "texts": col("word").is_in(["a", "日本", "nowhere"]),
    "prefix": col("unique").starts_with("text 1"),
    "decimal": (col("price") > Decimal("12.34")) & (col("real") < 0.0),
    "nothing": (col("id") > 100) & (col("small") == 7) & (col("word") == "nowhere else"),
    "few": col("unique") == "text 17",
}


@pytest.fixture(scope="module")
def table() -> pa.Table:
    return _table()


@pytest.fixture
def general_way() -> Iterator[None]:
    with patch.object(whole_group, "IS_USED", False):
        yield


def shapes(scan: hw.Scan) -> str:
    return str(scan.explain(analyze=True).as_dict())


@pytest.mark.parametrize("layout", LAYOUTS)
def test_result_is_that_of_the_general_way_and_of_pyarrow(table: pa.Table, layout: str) -> None:
    data = _written(table, **LAYOUTS[layout])
    for name, predicate in PREDICATES.items():
        for size in (None, 97):
            scan = hw.scan(data).filter(predicate)
            scan = scan if size is None else scan.batch_size(size)
            found = scan.to_arrow()
            found.validate(full=True)
            with patch.object(whole_group, "IS_USED", False):
                assert scan.to_arrow().equals(found), f"{layout}, {name}, batches of {size}"
            assert scan.use_metadata(False).to_arrow().equals(found), f"{layout}, {name}, without metadata"
    expected = table.filter((pc.field("price") > Decimal("12.34")) & (pc.field("real") < 0.0))
    assert hw.scan(data).filter(PREDICATES["decimal"]).to_arrow().to_pylist() == expected.to_pylist()


def test_explain_names_the_kernels_that_tested_whole_groups(table: pa.Table) -> None:
    scan = hw.scan(_written(table)).filter((col("small") >= 0) & (col("word") == "a"))
    assert "group(c0: INT32)" in shapes(scan) and "group(c0: BYTE_ARRAY)" in shapes(scan)


@pytest.mark.parametrize("name", ["number", "with nulls", "decimal"])
def test_deltas_and_streams_are_for_these_kernels(table: pa.Table, name: str) -> None:
    data = _written(table.drop_columns(["unique"]), **LAYOUTS["deltas and streams"])
    scan = hw.scan(data).filter(PREDICATES[name])
    assert "group(c0" in shapes(scan) and scan.to_arrow().num_rows > 0


def test_general_way_can_be_told_from_it(table: pa.Table, general_way: None) -> None:
    assert "group(c0" not in shapes(hw.scan(_written(table)).filter(col("small") >= 0))


@pytest.mark.parametrize(
    "predicate",
    [col("small").is_null(), col("small") < col("id"), (col("small") > 3) | (col("word") == "a")],
    ids=["null test", "two columns", "or"],
)
def test_other_predicates_go_the_general_way(table: pa.Table, predicate: hw.Predicate) -> None:
    assert "group(c0" not in shapes(hw.scan(_written(table)).filter(predicate))


@pytest.mark.parametrize("settings", [{"compression": "zstd"}, {"write_page_checksum": True}], ids=["zstd", "crc"])
def test_other_files_go_the_general_way(table: pa.Table, settings: dict[str, object]) -> None:
    data = _written(table, **settings)
    scan = hw.scan(data).filter(col("small") >= 0)
    assert "group(c0" not in shapes(scan)
    assert scan.count() == table.filter(pc.field("small") >= 0).num_rows


@pytest.mark.parametrize("layout", LAYOUTS)
def test_where_most_rows_or_all_pass_row_groups_go_as_a_whole_too(table: pa.Table, layout: str) -> None:
    data = _written(table, **LAYOUTS[layout])
    for predicate, kept in ((col("id") != 17, ROWS - 1), (col("id") >= 0, ROWS)):
        scan = hw.scan(data).filter(predicate).use_metadata(False).threads(1)
        found = shapes(scan)
        assert "group(c0: INT64)" in found and "chunk(c0: INT64)" not in found
        expected = table.filter(pc.field("id") != 17) if kept < ROWS else table
        assert scan.to_arrow().to_pylist() == expected.to_pylist()


@pytest.mark.parametrize("declined_from", [0, 1, 2])
def test_rest_of_a_row_group_goes_the_general_way_where_kernels_decline(table: pa.Table, declined_from: int) -> None:
    """After some batches are out: no row is lost, none comes twice."""
    scan = hw.scan(_written(table)).filter(col("small") >= 0).batch_size(100).threads(1)
    expected = scan.to_arrow()
    taken = 0
    real = GroupKernel.take

    def take(self: GroupKernel, *arguments: object) -> object:
        nonlocal taken
        taken += 1
        return None if taken > declined_from else real(self, *arguments)  # type: ignore[arg-type]

    with patch.object(GroupKernel, "take", take):
        assert scan.to_arrow().equals(expected)
    assert taken == declined_from + 1  # of this file nothing more is tried


def test_few_survivors_of_long_chunks_read_their_pages_only() -> None:
    rows = 100_000
    random = np.random.default_rng(1)
    words = pa.array([f"{value:016x}" for value in random.integers(0, 1 << 62, rows).tolist()])
    table = pa.table({"id": pa.array(random.permutation(rows)), "word": words})
    data = _written(table, row_group_size=rows, write_page_index=True, data_page_size=16 << 10, use_dictionary=False)
    scan = hw.scan(data).filter(col("id") == 4_711)
    assert scan.to_arrow().equals(table.filter(pc.field("id") == 4_711).cast(scan.to_arrow().schema))
    with patch.object(whole_group, "SPARSE_BYTES", 1 << 20):
        facts = scan.explain(analyze=True).as_dict()
    assert "group(c0: INT64)" in str(facts)
    assert facts["bytes_read"] < len(data) / 2  # the texts are two thirds of the file


def test_text_that_is_not_utf8_is_refused_with_the_general_ways_words() -> None:
    words = pa.array([b"fine", b"\xff\xfe not text"] * 50).view(pa.binary())
    data = bytearray(_written(pa.table({"id": np.arange(100), "word": pa.array(["fine", "xx not text"] * 50)})))
    at = data.find(b"xx not text")
    while at >= 0:
        data[at : at + 2] = b"\xff\xfe"
        at = data.find(b"xx not text")
    scan = hw.scan(bytes(data)).filter(col("id") >= 50).use_metadata(False)
    with pytest.raises(hw.CorruptFileError, match="row group 0, column 'word'"):
        scan.to_arrow()
    assert sum(batch.num_rows for batch in scan.batches()) == len(words) // 2


@pytest.mark.parametrize("layout", ["snappy", "without dictionaries", "fallback", "V2 pages"])
def test_damaged_bytes_end_as_on_the_general_way(table: pa.Table, layout: str) -> None:
    """300 files with a byte changed: the same rows or the same error, whichever way."""
    data = _written(table, **LAYOUTS[layout])
    random = np.random.default_rng(11)
    end = len(data) - 2_000  # most of the damage to pages: footers are not read by these kernels
    predicate = (col("small") >= 0) & (col("unique") > "text 2")

    def outcome(damaged: bytes) -> object:
        try:
            return hw.scan(damaged).filter(predicate).threads(1).to_arrow().to_pylist()
        except hw.HardwoodError as error:
            return type(error), str(error)

    for place in random.integers(4, end, 300).tolist():
        damaged = bytearray(data)
        damaged[place] ^= int(random.integers(1, 256))
        found = outcome(bytes(damaged))
        with patch.object(whole_group, "IS_USED", False):
            # Values that became NaN are the only ones that do not equal themselves.
            assert repr(outcome(bytes(damaged))) == repr(found), f"byte {place}"
