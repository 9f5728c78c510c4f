"""Files for the `hardwood` command: one with every kind of index, one without any, and a folder of two."""

from __future__ import annotations

import datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

ROWS = 400  # four row groups of four pages each
GROUP_ROWS = 100
PAGE_ROWS = 25
DAY = datetime.datetime(2025, 1, 1, tzinfo=datetime.UTC)


def trips_table() -> pa.Table:
    """Rising ids, few cities, text that occurs once, nulls, lists."""
    rows = range(ROWS)
    return pa.table(
        {
            "id": pa.array(rows, pa.int64()),
            "started": pa.array([DAY + datetime.timedelta(minutes=row) for row in rows], pa.timestamp("us", "UTC")),
            "city": [("Aachen", "Bergen", "Córdoba", "Delft")[row % 4] for row in rows],
            "rider": [f"r{row * 7919 % 1009:04}" for row in rows],
            "fare": pa.array([None if row % 10 == 9 else row / 4 for row in rows], pa.float64()),
            "tags": pa.array([["new"] * (row % 3) for row in rows], pa.list_(pa.string())),
        }
    )


@pytest.fixture(scope="session")
def indexed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Page index on all columns, a bloom filter on the riders, several encodings."""
    path = tmp_path_factory.mktemp("cli") / "trips.parquet"
    pq.write_table(
        trips_table(),
        path,
        row_group_size=GROUP_ROWS,
        max_rows_per_page=PAGE_ROWS,
        write_page_index=True,
        use_dictionary=["city"],
        column_encoding={"id": "DELTA_BINARY_PACKED", "fare": "BYTE_STREAM_SPLIT"},
        bloom_filter_options={"rider": {"ndv": GROUP_ROWS, "fpp": 0.0001}},
    )
    return path


@pytest.fixture(scope="session")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same rows and pages without an index, a filter or a statistic."""
    path = tmp_path_factory.mktemp("cli") / "bare.parquet"
    pq.write_table(
        trips_table(),
        path,
        row_group_size=GROUP_ROWS,
        max_rows_per_page=PAGE_ROWS,
        write_statistics=False,
        use_dictionary=["city"],
        column_encoding={"id": "DELTA_BINARY_PACKED", "fare": "BYTE_STREAM_SPLIT"},
    )
    return path


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two files that are one table."""
    place = tmp_path_factory.mktemp("cli_folder")
    table = trips_table()
    pq.write_table(table.slice(0, 150), place / "part-0.parquet", row_group_size=GROUP_ROWS)
    pq.write_table(table.slice(150), place / "part-1.parquet", row_group_size=GROUP_ROWS)
    return place


@pytest.fixture(autouse=True)
def calm(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the terminal of whoever runs the tests asks for."""
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
