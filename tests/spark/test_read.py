"""hw_spark.read and the format "hardwood": results, options, and use of a DataFrame more than once."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hardwood_jit import col
from hardwood_jit import spark as hw_spark

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

ROWS = 1000
GROUP = 100  # ten row groups, whose ids do not overlap


@pytest.fixture(scope="module")
def trips(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("trips") / "trips.parquet"
    table = pa.table(
        {
            "id": pa.array(range(ROWS), pa.int64()),
            "city": [None if i % 11 == 0 else f"city {i % 7}" for i in range(ROWS)],
            "fare": [float(i % 100) for i in range(ROWS)],
            "place": pa.array([{"x": i, "y": f"y{i}"} for i in range(ROWS)]),
        }
    )
    pq.write_table(table, path, row_group_size=GROUP)
    return path


def rows(frame: DataFrame) -> Counter[str]:
    """Rows as a bag; their text, because NaN equals itself there."""
    return Counter(map(repr, frame.collect()))


def ids(frame: DataFrame) -> list[int]:
    return sorted(row["id"] for row in frame.collect())


def test_all_rows_and_the_schema_are_those_of_spark(spark: SparkSession, trips: Path) -> None:
    ours, native = hw_spark.read(spark, trips), spark.read.parquet(str(trips))
    assert ours.schema == native.schema
    assert rows(ours) == rows(native)


def test_columns_and_filter_of_the_call(spark: SparkSession, trips: Path) -> None:
    ours = hw_spark.read(spark, trips, columns=["city", "id"], filter=(col("fare") > 97) & (col("id") < 500))
    native = spark.read.parquet(str(trips)).filter("fare > 97 and id < 500").select("city", "id")
    assert ours.schema == native.schema
    assert rows(ours) == rows(native)
    assert ours.count() == 10


def test_options_of_the_format(spark: SparkSession, trips: Path) -> None:
    hw_spark.register(spark)
    reader = spark.read.format("hardwood").option("columns", "id, place.x").option("filter", "fare > 97")
    frame = reader.option("batch_size", 10).option("split_bytes", 1000).load(str(trips))
    assert frame.schema.simpleString() == "struct<id:bigint,place:struct<x:bigint>>"
    assert frame.filter("place.x = id").count() == 20
    with pytest.raises(Exception, match="unknown option colunms; the format 'hardwood' has path"):
        spark.read.format("hardwood").option("colunms", "id").load(str(trips))
    with pytest.raises(Exception, match="option batch_size='0': must be at least 1"):
        spark.read.format("hardwood").option("batch_size", 0).load(str(trips))
    with pytest.raises(Exception, match=r"no column 'idd'; close: 'id'"):
        spark.read.format("hardwood").option("columns", "idd").load(str(trips))


def test_directories_globs_and_lists(spark: SparkSession, trips: Path, tmp_path: Path) -> None:
    for number in range(3):
        pq.write_table(pa.table({"id": [number]}), tmp_path / f"part-{number}.parquet")
    (tmp_path / "_SUCCESS").touch()
    assert ids(hw_spark.read(spark, tmp_path)) == [0, 1, 2]
    assert ids(hw_spark.read(spark, f"{tmp_path}/part-[01].parquet")) == [0, 1]
    assert ids(hw_spark.read(spark, [tmp_path / "part-2.parquet", tmp_path / "part-0.parquet"])) == [0, 2]
    listed = spark.read.format("hardwood").load([f"{tmp_path}/part-0.parquet", f"file://{tmp_path}/part-1.parquet"])
    assert ids(listed) == [0, 1]
    with pytest.raises(Exception, match="no such file or directory"):
        hw_spark.read(spark, tmp_path / "nothing")


def test_small_files_share_splits_and_large_ones_are_cut(spark: SparkSession, trips: Path, tmp_path: Path) -> None:
    for number in range(20):
        pq.write_table(pa.table({"id": [number]}), tmp_path / f"{number}.parquet")
    frame = hw_spark.read(spark, tmp_path, split_bytes=64 << 20)
    assert frame.rdd.getNumPartitions() < 20
    assert ids(frame) == list(range(20))
    cut = hw_spark.read(spark, trips, split_bytes=1)
    assert cut.rdd.getNumPartitions() == ROWS // GROUP
    assert ids(cut) == list(range(ROWS))


def test_a_schema_narrows_and_orders_columns(spark: SparkSession, trips: Path) -> None:
    frame = spark.read.format("hardwood").schema("place struct<y: string>, id long").load(str(trips))
    native = spark.read.schema("place struct<y: string>, id long").parquet(str(trips))
    assert rows(frame) == rows(native)
    with pytest.raises(Exception, match="column 'id': the schema asks for string, the file has bigint"):
        spark.read.format("hardwood").schema("id string").load(str(trips)).collect()


def test_filters_of_spark_do_not_leak_into_later_queries(spark: SparkSession, trips: Path) -> None:
    frame = hw_spark.read(spark, trips, filter=col("fare") >= 50)
    assert frame.filter("id = 55").count() == 1
    assert frame.filter("id = 5").count() == 0
    assert frame.count() == 500
    assert frame.filter("city is null").count() + frame.filter("city is not null").count() == 500


def test_unions_views_limits_and_joins(spark: SparkSession, trips: Path) -> None:
    low = hw_spark.read(spark, trips, columns=["id"], filter=col("id") < 10)
    high = hw_spark.read(spark, trips, columns=["id"], filter=col("id") >= 990)
    assert ids(low.union(high)) == [*range(10), *range(990, 1000)]
    assert ids(low.union(low)) == sorted([*range(10), *range(10)])
    assert ids(low.filter("id < 3").union(low.filter("id > 7")).union(low.limit(0))) == [0, 1, 2, 8, 9]
    assert low.join(low.withColumnRenamed("id", "other"), col_equal("id", "other")).count() == 10
    low.createOrReplaceTempView("low")
    assert spark.sql("select sum(id) from low where id > 3").first()[0] == sum(range(4, 10))
    assert spark.sql("select count(*) from low").first()[0] == 10
    assert hw_spark.read(spark, trips).limit(7).count() == 7
    assert len(hw_spark.read(spark, trips).take(3)) == 3


def col_equal(one: str, other: str) -> Any:
    from pyspark.sql import functions

    return functions.col(one) == functions.col(other)


def test_no_column_at_all_still_counts(spark: SparkSession, trips: Path) -> None:
    assert hw_spark.read(spark, trips, filter=col("fare") > 97).count() == 20
    assert hw_spark.read(spark, trips, filter=col("fare") > 1000).count() == 0


def test_a_file_that_changed_after_planning_is_refused(spark: SparkSession, trips: Path, tmp_path: Path) -> None:
    path = tmp_path / "one.parquet"
    pq.write_table(pa.table({"id": [1, 2]}), path)
    frame = hw_spark.read(spark, path)
    assert ids(frame) == [1, 2]
    pq.write_table(pa.table({"id": list(range(500))}), path)
    with pytest.raises(Exception, match=r"one\.parquet: has \d+ bytes, \d+ when the scan was planned"):
        frame.collect()
    assert ids(hw_spark.read(spark, path)) == list(range(500))


def test_the_module_that_spark_looks_for_has_the_source() -> None:
    import pyspark_hardwood_jit

    assert pyspark_hardwood_jit.DefaultSource.name() == "hardwood"
