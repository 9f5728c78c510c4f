"""Partitioned folders, and files by parquet-rs, beside Spark's own reader."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import hardwood_jit as hw
from hardwood_jit import col
from hardwood_jit import spark as hw_spark

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def rows(frame: DataFrame) -> Counter[str]:
    return Counter(map(repr, frame.collect()))


@pytest.fixture(scope="module")
def table(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Written by Spark, in folders of a number and of text, one of them null."""
    folder = tmp_path_factory.mktemp("folders") / "table"
    frame = spark.range(90).selectExpr(
        "id", "id * 2 as double", "cast(id % 3 as int) as day", "if(id % 2 = 0, 'Évora', null) as city"
    )
    frame.repartition(2).write.partitionBy("day", "city").parquet(str(folder))
    return folder


def test_folders_become_columns_and_drop_files(spark: SparkSession, table: Path) -> None:
    ours = hw_spark.read(spark, table)
    native = spark.read.parquet(str(table)).selectExpr("id", "double", "cast(day as bigint) as day", "city")
    assert ours.columns == native.columns
    assert rows(ours) == rows(native)
    chosen = hw_spark.read(spark, table, columns=["city", "id"], filter=(col("day") == 1) & (col("id") > 20))
    assert rows(chosen) == rows(native.filter("day = 1 and id > 20").select("city", "id"))


def test_folders_reach_a_function_over_batches(spark: SparkSession, table: Path) -> None:
    scan = hw.scan(table).filter("city is null and day = 2").select("id", "day")
    frame = hw_spark.map_batches(spark, scan, lambda batches: batches, "id long, day long", split_bytes=1)
    assert rows(frame) == rows(
        spark.read.parquet(str(table)).filter("city is null and day = 2").selectExpr("id", "cast(day as bigint) as day")
    )


def test_files_by_parquet_rs_read_as_spark_reads_them(spark: SparkSession, tmp_path: Path) -> None:
    beside = Path(sys.executable).parent / "tpchgen-cli"
    command = str(beside) if beside.exists() else shutil.which("tpchgen-cli")
    assert command, "tpchgen-cli is in the extra 'bench', which 'dev' brings"
    subprocess.run([command, "parquet", "-s", "0.001", "--tables", "lineitem", "-o", str(tmp_path)], check=True)
    path = str(tmp_path / "lineitem.parquet")
    assert rows(hw_spark.read(spark, path)) == rows(spark.read.parquet(path))
    wanted = "l_discount between 0.05 and 0.07 and l_quantity < 24 and l_shipmode = 'AIR'"
    filtered = hw_spark.read(spark, path, filter=wanted, columns=["l_orderkey", "l_comment"])
    assert rows(filtered) == rows(spark.read.parquet(path).filter(wanted).select("l_orderkey", "l_comment"))
