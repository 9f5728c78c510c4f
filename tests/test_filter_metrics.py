"""What a filtered scan does not do, read off its own counters: pages, columns and bytes left alone."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import hardwood_jit as hw
from hardwood_jit import col

ROWS = 8_000
PAGE_ROWS = 1_000  # eight pages a column


def written(columns: dict[str, Any], **settings: Any) -> bytes:
    sink = io.BytesIO()
    options = {"max_rows_per_page": PAGE_ROWS, "write_batch_size": PAGE_ROWS, "row_group_size": ROWS}
    pq.write_table(pa.table(columns), sink, **{**options, **settings})
    return sink.getvalue()


def analysed(scan: hw.Scan) -> dict[str, Any]:
    return scan.threads(1).explain(analyze=True).as_dict()


@pytest.fixture(scope="module")
def file() -> bytes:
    numbers = np.arange(ROWS)
    return written(
        {
            "key": pa.array(numbers),
            "value": pa.array(numbers * 2.0),
            "name": pa.array([f"name {number}" for number in numbers]),
        },
        use_dictionary=False,
    )


def test_filter_column_that_is_also_selected_is_decompressed_once(file: bytes) -> None:
    scan = hw.scan(file).filter(col("key") >= 0).select("key", "value")
    for found in (analysed(scan), analysed(scan.use_metadata(False))):
        assert found["column_pages"]["key"]["pages"] == 8
        assert found["column_pages"]["key"]["pages_decompressed"] == 8
        assert found["column_pages"]["key"]["output"]
    assert found["column_pages"]["key"]["filter"]  # with metadata nothing needs a look at it


def test_page_without_survivors_is_not_decompressed(file: bytes) -> None:
    found = analysed(hw.scan(file).filter((col("key") >= 2_500) & (col("key") < 2_600)).select("value", "name"))
    for name in ("value", "name"):
        assert found["column_pages"][name]["pages_decompressed"] == 1
        assert found["column_pages"][name]["pages_skipped"] == 7
    assert found["rows_out"] == 100


def test_later_conjunct_decompresses_only_pages_with_candidates(file: bytes) -> None:
    scan = hw.scan(file).filter((col("key") < 1_500) & (col("value") > 100.0) & (col("name") != "name 7"))
    found = analysed(scan.select("key"))
    pages = {part["columns"][0]: part["pages_decompressed"] for part in found["conjuncts"]}
    assert pages["key"] == 8
    assert sorted(pages.values()) == [2, 2, 8]
    assert found["rows_out"] == 1_449  # 51 .. 1 499


def test_dictionary_without_a_hit_leaves_its_data_pages_compressed() -> None:
    file = written({"city": pa.array([f"city {number % 7}" for number in range(ROWS)]), "id": pa.array(range(ROWS))})
    found = analysed(hw.scan(file).filter(col("city") == "nowhere").use_metadata(False).select("id"))
    assert found["column_pages"]["city"]["pages_decompressed"] == 0
    assert found["column_pages"]["city"]["pages"] == 8
    assert "id" not in found["column_pages"]  # never opened


def test_dictionary_of_hits_only_leaves_the_pages_of_a_required_column_compressed() -> None:
    schema = pa.schema([pa.field("city", pa.string(), nullable=False), pa.field("id", pa.int64(), nullable=False)])
    table = pa.table({"city": [f"city {number % 7}" for number in range(ROWS)], "id": range(ROWS)}, schema=schema)
    sink = io.BytesIO()
    pq.write_table(table, sink, max_rows_per_page=PAGE_ROWS, write_batch_size=PAGE_ROWS)
    scan = hw.scan(sink.getvalue()).filter(col("city") != "nowhere").select("id")
    found = analysed(scan.use_metadata(False))
    assert found["column_pages"]["city"]["pages_decompressed"] == 0
    assert found["rows_out"] == ROWS


def test_bytes_of_output_columns_are_not_read_where_no_row_passes(file: bytes) -> None:
    nothing = analysed(hw.scan(file).filter(col("key") < 0).use_metadata(False).select("name"))
    something = analysed(hw.scan(file).filter(col("key") == 5).select("name"))
    assert nothing["rows_out"] == 0
    assert nothing["requests"] == 1
    assert something["bytes_read"] > nothing["bytes_read"]


def test_count_opens_no_output_column(file: bytes) -> None:
    found = analysed(hw.scan(file).filter(col("key") > 10).select())
    assert list(found["column_pages"]) == ["key"]
    assert found["rows_out"] == ROWS - 11


def test_head_stops_before_the_next_row_group(file: bytes) -> None:
    many = written({"key": pa.array(np.arange(4 * ROWS))}, row_group_size=ROWS)
    found = analysed(hw.scan(many).filter(col("key") >= 0).head(10))
    assert found["rows_out"] == 10
    assert found["row_groups_scanned"] <= 1


def test_rows_in_and_out_of_each_conjunct_follow_each_other(file: bytes) -> None:
    scan = hw.scan(file).filter((col("key") < 4_000) & (col("value") >= 2_000.0)).select("name")
    found = analysed(scan)
    first, second = found["conjuncts"]
    assert first["rows_in"] == ROWS
    assert first["rows_out"] == second["rows_in"]
    assert second["rows_out"] == found["rows_out"] == 3_000
    assert all(part["nanoseconds_per_row"] > 0 for part in found["conjuncts"])


def test_held_pages_stay_below_the_budget_of_a_window() -> None:
    """A row group of 24 MiB a column: eight at a time, and the dictionary."""
    rows = 3 << 20
    random = np.random.default_rng(5)
    table = pa.table({"a": random.integers(0, 1 << 60, rows), "b": random.normal(size=rows)})
    sink = io.BytesIO()
    pq.write_table(table, sink, row_group_size=rows, use_dictionary=False, compression="none")
    found = analysed(hw.scan(sink.getvalue()).filter(col("a") > (1 << 59)).select("a", "b"))
    assert 0 < found["peak_page_bytes"] <= 2 * (8 << 20) + (1 << 20)


def test_explanation_reads_as_text(file: bytes) -> None:
    text = str(hw.scan(file).filter("key < 1500 and value > 100.0").select("name").explain(analyze=True))
    assert "key < 1500" in text and "rows in" in text and "skipped" in text and "kernel" in text


def test_plan_reads_no_column(file: bytes) -> None:
    scan = hw.scan(file).filter("key < 1500").head(3)
    before = scan.dataset.counts
    explanation = scan.explain()
    assert explanation.as_dict()["limits"] == ["head 3"]
    assert (scan.dataset.counts - before).ranges <= 2  # the footer
