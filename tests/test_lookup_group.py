"""Look-ups by kernels that read a few pages of every column: that they do, that the result is the general way's."""

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
from hardwood_jit import col, lookup_group
from hardwood_jit.jit import lookup_kernel
from hardwood_jit.jit.lookup_kernel import LookupKernel

ROWS = 6_007  # a row group of 4 000 rows and one of 2 007; pages of some hundred rows, none a multiple of 64
GROUP_ROWS = 4_000


@pytest.fixture(autouse=True)
def kernels_are_there() -> Iterator[None]:
    with patch.object(lookup_kernel, "are_built", lambda: True):
        yield


@pytest.fixture(scope="module")
def table() -> pa.Table:
    random = np.random.default_rng(5)
    number = np.arange(ROWS)
    absent = random.random(ROWS) < 0.1
    words = np.array(["", "a", "Évora", "a somewhat longer text", "日本"])
    return pa.table(
        {
            "id": pa.array(number * 3, pa.int64()),
            "step": pa.array(number // 40, pa.int32(), mask=absent),
            "name": pa.array([f"name {value:06}" for value in (number // 7).tolist()]),
            "real": pa.array(number / 7),
            "small": pa.array(random.integers(-50, 50, ROWS), pa.int32(), mask=absent),
            "half": pa.array(random.normal(size=ROWS).astype(np.float32), mask=random.random(ROWS) < 0.4),
            "word": pa.array(words[random.integers(0, 5, ROWS)], mask=absent),
            "unique": pa.array([f"text {value}" for value in random.permutation(ROWS).tolist()]),
            "nothing": pa.nulls(ROWS, pa.string()),
            "price": pa.array([Decimal(value) / 100 for value in random.integers(-9999, 9999, ROWS).tolist()],
                              pa.decimal128(7, 2)),
        }
    )  # fmt: skip


def written(table: pa.Table, **settings: object) -> bytes:
    buffer = io.BytesIO()
    options = {
        "row_group_size": GROUP_ROWS,
        "store_schema": False,
        "store_decimal_as_integer": True,
        "write_page_index": True,
        "data_page_size": 1_000,
        "write_batch_size": 64,
        **settings,
    }
    pq.write_table(table, buffer, **options)
    return buffer.getvalue()


LAYOUTS = {
    "snappy": {},
    "uncompressed": {"compression": "none"},
    "without dictionaries": {"use_dictionary": False},
    "V2 pages": {"data_page_version": "2.0"},
    # Dictionaries that overflow: their chunks go on as PLAIN.
    "fallback": {"dictionary_pagesize_limit": 4_000},
}

PREDICATES = {
    "one number": col("id") == 3_000,
    "of the second row group": col("id") == 3 * 5_555,
    "several numbers": col("id").is_in([0, 33, 3_000, 11_997, 12_000, 18_018]),
    "a number that is not there": col("id") == 3_001,
    "a range": (col("id") >= 2_000) & (col("id") < 2_900),
    "with nulls": col("step") == 17,
    "nulls pass, too": ~(col("step") > 1),
    "text": col("name") == "name 000123",
    "texts": col("name").is_in(["name 000003", "name 000700", "no name"]),
    "a range of texts": (col("name") > "name 000100") & (col("name") <= "name 000150"),
    "a float": col("real") == 700 / 7,
    "floats": (col("real") > 100.0) & (col("real") < 101.5),
}


def kernels(scan: hw.Scan) -> str:
    return str(scan.explain(analyze=True).as_dict())


@pytest.mark.parametrize("layout", LAYOUTS)
def test_result_is_that_of_the_general_way_and_of_pyarrow(table: pa.Table, layout: str) -> None:
    data = written(table, **LAYOUTS[layout])
    whole = pq.read_table(io.BytesIO(data))
    used = 0
    for name, predicate in PREDICATES.items():
        for columns in (whole.column_names, ["word"], ["price", "id", "step", "name", "real"]):
            scan = hw.scan(data).filter(predicate).select(*columns)
            found = scan.to_arrow()
            found.validate(full=True)
            used += "lookup(c0" in kernels(scan)
            with patch.object(lookup_group, "IS_USED", False):
                assert scan.to_arrow().equals(found), f"{layout}, {name}, {columns}"
            assert scan.use_metadata(False).to_arrow().equals(found), f"{layout}, {name}, {columns}, without metadata"
        assert hw.scan(data).filter(predicate).count() == found.num_rows
        sizes = [batch.num_rows for batch in hw.scan(data).filter(predicate).batch_size(3)]
        assert sum(sizes) == found.num_rows and max(sizes, default=0) <= 3
    assert used >= 20  # of 27 with tests of numbers: in a few all pages of a row group hold a candidate
    scan = hw.scan(data).filter(PREDICATES["texts"])
    expected = whole.filter(pc.field("name").isin(["name 000003", "name 000700"]))
    assert scan.to_arrow().to_pylist() == expected.to_pylist()


def test_no_more_is_read_or_decompressed_than_on_the_general_way(table: pa.Table) -> None:
    data = written(table)
    for name, predicate in PREDICATES.items():
        facts = hw.scan(data).filter(predicate).explain(analyze=True).as_dict()
        with patch.object(lookup_group, "IS_USED", False):
            general = hw.scan(data).filter(predicate).explain(analyze=True).as_dict()
        assert facts["bytes_read"] <= general["bytes_read"], name
        assert facts["rows_out"] == general["rows_out"], name
        assert facts["conjuncts"][0]["rows_in"] == general["conjuncts"][0]["rows_in"], name


@pytest.mark.parametrize(
    "predicate",
    [
        (col("id") == 3_000) & (col("small") > 0),
        (col("id") == 3_000) | (col("name") == "name 000001"),
        (col("id") < 300) & (col("id") < col("small")),
        col("step").is_null() & (col("id") < 300),
        col("name") == "name 000123",
    ],
    ids=["two tests", "or", "two columns", "null test", "text"],
)
def test_other_predicates_go_the_general_way(table: pa.Table, predicate: hw.Predicate) -> None:
    assert "lookup(c0" not in kernels(hw.scan(written(table)).filter(predicate))


@pytest.mark.parametrize(
    "settings",
    [
        {"compression": "zstd"},
        {"write_page_checksum": True},
        {"use_dictionary": False, "column_encoding": {"id": "DELTA_BINARY_PACKED", "unique": "DELTA_BYTE_ARRAY"}},
        {"use_dictionary": False, "column_encoding": {"unique": "DELTA_BYTE_ARRAY"}},
        {"write_page_index": False},
    ],
    ids=["zstd", "crc", "filter in another encoding", "output in another encoding", "no index"],
)
def test_other_files_go_the_general_way(table: pa.Table, settings: dict[str, object]) -> None:
    data = written(table, **settings)
    scan = hw.scan(data).filter(col("id") == 3_000)
    for _ in range(2):  # the second time it is known that kernels decline
        assert "lookup(c0" not in kernels(scan)
        assert scan.to_arrow()["id"].to_pylist() == [3_000]


def test_lists_beside_the_column_go_the_general_way(table: pa.Table) -> None:
    lists = table.append_column("lists", pa.array([[row, row + 1] for row in range(ROWS)]))
    scan = hw.scan(written(lists)).filter(col("id") == 3_000)
    assert "lookup(c0" not in kernels(scan)
    assert scan.to_arrow()["lists"].to_pylist() == [[1_000, 1_001]]
    assert "lookup(c0" in kernels(scan.select("id", "word"))


@pytest.mark.parametrize("declined_from", [0, 1, 2])
def test_rest_goes_the_general_way_where_kernels_decline(table: pa.Table, declined_from: int) -> None:
    """After some batches are out: no row is lost, none comes twice."""
    data = written(table)
    scan = hw.scan(data).filter(PREDICATES["a range"]).batch_size(100).threads(1)
    expected = scan.to_arrow()
    assert expected.num_rows == 300
    taken = 0
    real = LookupKernel.take

    def take(self: LookupKernel, *arguments: object) -> object:
        nonlocal taken
        taken += 1
        return None if taken > declined_from else real(self, *arguments)  # type: ignore[arg-type]

    with patch.object(LookupKernel, "take", take):
        assert scan.to_arrow().equals(expected)
    assert taken == declined_from + 1  # of this file nothing more is tried


def test_page_larger_than_allowed_is_refused_as_on_the_general_way(table: pa.Table) -> None:
    data = written(table)
    scan = hw.scan(data, max_page_bytes=500).filter(col("id") == 3_000)
    with pytest.raises(hw.UnsupportedError, match="max_page_bytes=500"):
        scan.to_arrow()


def test_text_that_is_not_utf8_is_refused_with_the_general_ways_words(table: pa.Table) -> None:
    data = bytearray(written(table, compression="none", use_dictionary=False))
    at = data.find("Évora".encode())
    while at >= 0:
        data[at : at + 2] = b"\xff\xfe"
        at = data.find("Évora".encode())
    number = table["word"].to_pylist().index("Évora")
    scan = hw.scan(bytes(data)).filter(col("id") == 3 * number)
    with pytest.raises(hw.CorruptFileError, match="row group 0, column 'word'"):
        scan.to_arrow()
    assert hw.scan(bytes(data)).filter(col("id") == 3 * number).select("id").to_arrow().num_rows == 1


@pytest.mark.parametrize("layout", ["snappy", "without dictionaries", "fallback", "V2 pages"])
def test_damaged_bytes_end_as_on_the_general_way(table: pa.Table, layout: str) -> None:
    """250 files with a byte changed: the same rows or the same error, or damage that need not be seen."""
    data = written(table, **LAYOUTS[layout])
    random = np.random.default_rng(11)
    end = len(data) - 2_000  # most of the damage to pages: footers are not read by these kernels
    predicates = [PREDICATES["several numbers"], PREDICATES["texts"], PREDICATES["with nulls"]]

    def outcome(damaged: bytes, predicate: hw.Predicate) -> str:
        try:
            return repr(hw.scan(damaged).filter(predicate).threads(1).to_arrow().to_pylist())
        except hw.HardwoodError as error:
            return f"{type(error).__name__}: {error}"

    intact = [outcome(data, predicate) for predicate in predicates]
    for number, place in enumerate(random.integers(4, end, 250).tolist()):
        damaged = bytearray(data)
        damaged[place] ^= int(random.integers(1, 256))
        which = number % len(predicates)
        found = outcome(bytes(damaged), predicates[which])
        with patch.object(lookup_group, "IS_USED", False):
            general = outcome(bytes(damaged), predicates[which])
        # The general way decompresses whole dictionaries of filters, and so sees damage in what nobody asked for.
        assert found == general or (found == intact[which] and "Error: " in general), f"byte {place}"
