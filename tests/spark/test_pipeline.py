"""Web logs to a partitioned table: filter and features in the workers, run twice, the second time warm."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import hardwood_jit as hw
from hardwood_jit import col
from hardwood_jit import spark as hw_spark

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROWS = 20_000
START = dt.datetime(2025, 1, 1, tzinfo=dt.UTC)


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("logs")
    random = np.random.default_rng(7)
    for number in range(2):
        second = np.arange(ROWS // 2) + number * (ROWS // 2)
        table = pa.table(
            {
                "when": pa.array(np.datetime64("2025-01-01", "us") + second * 20_000_000, pa.timestamp("us", "UTC")),
                "url": [f"/page/{i}?q={i % 13}" for i in random.integers(0, 50, ROWS // 2)],
                "status": pa.array(random.choice([200, 200, 200, 304, 404, 500], ROWS // 2), pa.int32()),
                "bytes": random.integers(0, 10_000, ROWS // 2),
                "agent": [["Firefox", "Chrome", "a robot"][i] for i in random.integers(0, 3, ROWS // 2)],
            }
        )
        pq.write_table(table, folder / f"log-{number}.parquet", row_group_size=2500)
    return folder


def features(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Failed requests of people: day, page without its query, and size class."""
    for batch in batches:
        frame = batch.to_pandas()
        made = pd.DataFrame(
            {
                "day": frame["when"].dt.strftime("%Y-%m-%d"),
                "page": frame["url"].str.partition("?")[0],
                "large": np.log2(frame["bytes"] + 1).astype("int32"),
            }
        )
        yield pa.RecordBatch.from_pandas(made, preserve_index=False)


def run(spark: SparkSession, logs: Path, target: Path) -> hw_spark.explaining.SparkExplanation:
    scan = hw.scan(logs).select("when", "url", "bytes")
    scan = scan.filter((col("status") >= 400) & (col("agent") != "a robot") & (col("when") >= START))
    table = hw_spark.map_batches(spark, scan, features, "day string, page string, large int", split_bytes=20_000)
    table.write.partitionBy("day").mode("overwrite").parquet(str(target))
    return hw_spark.explain(table)


def test_web_logs_to_a_partitioned_table_twice(spark: SparkSession, logs: Path, tmp_path: Path) -> None:
    first, second = run(spark, logs, tmp_path / "first"), run(spark, logs, tmp_path / "second")
    expected = spark.read.parquet(str(logs)).filter("status >= 400 and agent != 'a robot'")
    count = expected.count()
    days = expected.selectExpr(
        "date_format(to_utc_timestamp(when, current_timezone()), 'yyyy-MM-dd') as day"
    ).distinct()
    for target in ("first", "second"):
        written = spark.read.parquet(str(tmp_path / target))
        assert written.count() == count > 1000
        assert {str(row.day) for row in written.select("day").distinct().collect()} == {
            row.day for row in days.collect()
        }
        folders = [path.name for path in (tmp_path / target).iterdir() if path.name.startswith("day=")]
        assert len(folders) == days.count()
    one = spark.read.parquet(str(tmp_path / "first")).exceptAll(spark.read.parquet(str(tmp_path / "second")))
    assert one.count() == 0
    (cold,), (warm,) = first.as_dict()["reads"], second.as_dict()["reads"]
    assert cold["total"]["rows_out"] == warm["total"]["rows_out"] == count
    assert warm["total"]["kernels_compiled"] == 0
