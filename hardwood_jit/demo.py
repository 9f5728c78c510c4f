"""A first look: makes a small Parquet file, filters it, scans parts of it, and prints what came out and what it took.

Run it with `python -m hardwood_jit.demo`; it needs pyarrow to write the file.
"""
# mypy: disable-error-code="import-untyped"

from __future__ import annotations

import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

import hardwood_jit as hw
from hardwood_jit import col
from hardwood_jit.errors import missing

ROWS = 200_000
ROW_GROUP_ROWS = 50_000


def write_trips(path: Path) -> None:
    """Four row groups of taxi trips: numbers, text, nulls, a list per row; with an offset index."""
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise missing("pyarrow", "arrow", "writing the demo's file") from None
    random = np.random.default_rng(7)
    cities = np.array(["Aachen", "Bergen", "Córdoba", "Delft", "Évora"])
    first_day = np.datetime64("2025-01-01T00:00:00", "us")
    seconds = np.sort(random.integers(0, 90 * 86_400, ROWS))
    ends = np.cumsum(np.concatenate([[0], random.integers(0, 4, ROWS)])).astype(np.int32)
    fares = random.gamma(2.0, 9.0, ROWS).round(2)
    table = pa.table(
        {
            "trip_id": pa.array(np.arange(ROWS)),
            "started": pa.array(first_day + seconds.astype("timedelta64[s]"), pa.timestamp("us", "UTC")),
            "city": pa.array(cities[random.integers(0, len(cities), ROWS)]),
            "fare": pa.array(fares, mask=random.random(ROWS) < 0.05),
            "ratings": pa.ListArray.from_arrays(pa.array(ends), pa.array(random.integers(1, 6, int(ends[-1])))),
        }
    )
    pq.write_table(table, path, row_group_size=ROW_GROUP_ROWS, write_page_index=True)


def main() -> None:
    """Write, open, scan, print."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trips.parquet"
        write_trips(path)
        file_bytes = path.stat().st_size

        dataset = hw.open(path)
        print(f"{path.name}: {dataset.num_rows} rows, {file_bytes} bytes")
        print(dataset.schema)

        print("\nhw.scan(path).filter((col('started') >= march) & (col('city') == 'Évora') & (col('fare') > 60))")
        march = datetime(2025, 3, 1, tzinfo=UTC)
        expensive = dataset.scan().filter((col("started") >= march) & (col("city") == "Évora") & (col("fare") > 60))
        started = time.perf_counter()
        table = expensive.select("trip_id", "started", "fare", "ratings").to_arrow()
        seconds = time.perf_counter() - started
        print(f"{table.num_rows} rows in {seconds:.2f} s, loading or compiling the kernels included; again:")
        print(expensive.select("trip_id", "started", "fare", "ratings").explain(analyze=True))

        print("\nhw.scan(path).select('trip_id', 'city', 'fare', 'ratings').skip(120_000).head(4)")
        scan = dataset.scan().select("trip_id", "city", "fare", "ratings").skip(120_000).head(4)
        before = dataset.counts
        started = time.perf_counter()
        for row in scan.rows():
            print("  ", dict(row))
        seconds = time.perf_counter() - started
        read = dataset.counts - before
        print(f"read {read.bytes} of {file_bytes} bytes in {read.ranges} ranges, after the footer")
        print(f"took {seconds:.2f} s, loading or compiling the kernels included")

        started = time.perf_counter()
        fares = hw.scan(path).select("fare").to_numpy()["fare"]
        milliseconds = (time.perf_counter() - started) * 1000
        print(f"\nmean of {np.ma.count(fares)} fares: {fares.mean():.2f} ({milliseconds:.1f} ms)")


if __name__ == "__main__":
    main()
