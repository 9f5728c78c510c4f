"""The Arrow stream of a scan, as other libraries ask for it."""

from pathlib import Path

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import hardwood_jit as hw

ROWS = 1000


@pytest.fixture
def table() -> pa.Table:
    return pa.table(
        {
            "id": pa.array(range(ROWS)),
            "city": pa.array([None if i % 7 == 0 else f"city {i % 11}" for i in range(ROWS)]),
            "tags": pa.array([None if i % 5 == 0 else [str(i)] * (i % 3) for i in range(ROWS)]),
        }
    )


@pytest.fixture
def path(table: pa.Table, tmp_path: Path) -> Path:
    file = tmp_path / "stream.parquet"
    pq.write_table(table, file, row_group_size=300, store_schema=False)
    return file


def test_pyarrow_takes_a_scan(path: Path) -> None:
    assert pa.table(hw.scan(path)).equals(pq.read_table(path))


def test_polars_takes_a_scan(path: Path, table: pa.Table) -> None:
    assert pl.DataFrame(hw.scan(path)).to_dicts() == table.to_pylist()


def test_duckdb_takes_a_scan(path: Path, table: pa.Table) -> None:
    scan = hw.scan(path).select("id", "city")  # found by duckdb under this name
    assert duckdb.sql("from scan where id >= 990 order by id").fetchall() == [
        (row["id"], row["city"]) for row in table.slice(990).to_pylist()
    ]
    assert scan.count() == ROWS


def test_stream_reads_nothing_before_its_first_batch(path: Path) -> None:
    scan = hw.scan(path)
    assert scan.count() == ROWS  # the footer
    before = scan.dataset.counts
    scan.__arrow_c_schema__()
    reader = pa.RecordBatchReader.from_stream(scan)
    assert scan.dataset.counts == before
    reader.read_next_batch()
    assert scan.dataset.counts.bytes > before.bytes


def test_stream_can_be_asked_for_again(path: Path) -> None:
    scan = hw.scan(path).head(10)
    assert pa.table(scan).equals(pa.table(scan))
