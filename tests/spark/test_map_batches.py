"""map_batches, scans inside Spark's own Python functions, and the reports of tasks."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import hardwood_jit as hw
from hardwood_jit import col
from hardwood_jit import spark as hw_spark

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

ROWS = 2000
GROUP = 100


@pytest.fixture(scope="module")
def trips(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("mapped") / "trips.parquet"
    columns: dict[str, Any] = {"id": range(ROWS), "key": [i % 10 for i in range(ROWS)]}
    columns["fare"] = [i / 10 for i in range(ROWS)]
    # Makes the file many times as large as its tail of 64 KiB, which every worker reads for the footer.
    columns["ballast"] = [os.urandom(1000) for _ in range(ROWS)]
    table = pa.table(columns)
    pq.write_table(table, path, row_group_size=GROUP)
    return path


@pytest.fixture(scope="module")
def names(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("names") / "names.parquet"
    pq.write_table(pa.table({"key": range(10), "name": [f"name {i}" for i in range(10)]}), path)
    return path


def sums(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """One row per task: pandas in between, as users write it."""
    frames = [batch.to_pandas() for batch in batches]
    frame = pd.concat(frames) if frames else pd.DataFrame({"fare": []})
    yield pa.RecordBatch.from_pydict(
        {"rows": pa.array([len(frame)], pa.int64()), "fare": pa.array([frame["fare"].sum()], pa.float64())}
    )


def test_a_function_reduces_what_its_task_has_decoded(spark: SparkSession, trips: Path) -> None:
    scan = hw.scan(trips).filter(col("id") >= 1500).select("fare")
    frame = hw_spark.map_batches(spark, scan, sums, "rows long, fare double", split_bytes=1)
    found = frame.collect()
    assert len(found) == 5  # row groups 15 to 19: the driver dropped the others
    assert sum(row["rows"] for row in found) == 500
    assert sum(row["fare"] for row in found) == pytest.approx(sum(i / 10 for i in range(1500, 2000)))
    assert frame.groupBy().sum("rows").first()[0] == 500


def test_a_function_gets_sparks_types(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "types.parquet"
    columns = {"u": pa.array([1], pa.uint32()), "when": pa.array([5], pa.timestamp("ns")), "text": ["x"]}
    pq.write_table(pa.table(columns), path, store_schema=False)

    def types(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield pa.RecordBatch.from_pydict({"types": [str(field.type) for field in batch.schema]})

    found = hw_spark.map_batches(spark, hw.scan(path), types, "types string").collect()
    assert [row[0] for row in found] == ["int64", "timestamp[us]", "string"]


def test_limits_and_row_ranges(spark: SparkSession, trips: Path) -> None:
    def ids(scan: hw.Scan, **options: Any) -> list[int]:
        frame = hw_spark.map_batches(spark, scan.select("id"), lambda batches: batches, "id long", **options)
        return sorted(row[0] for row in frame.collect())

    assert ids(hw.scan(trips).head(7)) == list(range(7))
    assert ids(hw.scan(trips).filter("id > 500").skip(10).head(3)) == [511, 512, 513]
    assert ids(hw.scan(trips).tail(3)) == [1997, 1998, 1999]
    assert ids(hw.scan(trips).row_ranges([(95, 105), (1990, 1991)]), split_bytes=1) == [*range(95, 105), 1990]
    assert ids(hw.scan([trips, trips]).row_ranges([(1999, 2001)]), split_bytes=1) == [0, 1999]
    size = trips.stat().st_size
    halves = [ids(hw.scan(trips).byte_range(*part)) for part in ((0, size // 2), (size // 2, size))]
    assert sorted(halves[0] + halves[1]) == list(range(ROWS))


def test_what_cannot_be_sent_is_refused_at_once(spark: SparkSession, trips: Path) -> None:
    with pytest.raises(TypeError, match="only datasets and scans over paths pickle"):
        hw_spark.map_batches(spark, hw.scan(trips.read_bytes()), sums, "rows long, fare double")
    with pytest.raises(TypeError, match="map_batches\\(\\) takes a Scan"):
        hw_spark.map_batches(spark, str(trips), sums, "rows long, fare double")  # type: ignore[arg-type]


def test_files_that_do_not_fit_together_fail_on_the_driver(spark: SparkSession, trips: Path, tmp_path: Path) -> None:
    pq.write_table(pa.table({"id": ["text"]}), tmp_path / "other.parquet")
    with pytest.raises(hw.SchemaMismatchError, match="column 'id' has physical type BYTE_ARRAY"):
        hw_spark.map_batches(spark, hw.scan([trips, tmp_path / "other.parquet"]).select("id"), sums, "id long")


def test_tasks_report_to_the_driver(spark: SparkSession, trips: Path) -> None:
    scan = hw.scan(trips).filter((col("id") >= 1500) & (col("fare") > 0)).select("id")
    frame = hw_spark.map_batches(spark, scan, lambda batches: batches, "id long", split_bytes=1)
    assert hw_spark.explain(frame).as_dict()["reads"][0]["tasks"] == []
    assert frame.count() == 500
    facts = hw_spark.explain(frame).as_dict()["reads"][0]
    assert (facts["splits"], facts["row_groups"], facts["row_groups_pruned"]) == (5, 20, 15)
    assert [task["split"] for task in facts["tasks"]] == [0, 1, 2, 3, 4]
    assert facts["total"]["rows_out"] == 500
    assert facts["total"]["row_groups"] == 5
    assert 0 < facts["total"]["bytes_read"] < trips.stat().st_size
    assert facts["total"]["pages"] >= 5  # a page or more in five row groups, in which statistics prove both tests
    assert "5: 500 rows" in str(hw_spark.explain(frame))


def test_a_data_source_reports_too_below_filters_and_unions(spark: SparkSession, trips: Path) -> None:
    frame = hw_spark.read(spark, trips, columns=["id"], filter=col("fare") >= 190)
    other = hw_spark.read(spark, trips, columns=["id"], filter=col("fare") < 10)
    both = frame.filter("id % 2 = 0").union(other)
    assert both.count() == 150
    first, second = hw_spark.explain(both).as_dict()["reads"]
    assert (first["filter"], first["total"]["rows_out"]) == ("fare >= 190", 100)
    assert (second["filter"], second["total"]["rows_out"]) == ("fare < 10", 100)
    assert first["tasks"][0]["kernels"]
    with pytest.raises(ValueError, match="reads nothing with hardwood_jit"):
        hw_spark.explain(spark.range(3))


def test_the_plain_format_reports_to_the_session(spark: SparkSession, trips: Path, tmp_path: Path) -> None:
    hw_spark.register(spark)

    def load(path: Path, where: str) -> DataFrame:
        reader = spark.read.format("hardwood").option("filter", where).option("split_bytes", 1)
        return reader.load(str(path))

    low, high = load(trips, "id < 250"), load(trips, "fare >= 190")
    assert hw_spark.explain(low).as_dict()["reads"][0]["tasks"] == []
    assert low.union(high).count() == 350
    (one,), (other,) = (hw_spark.explain(frame).as_dict()["reads"] for frame in (low, high))
    assert [task["split"] for task in one["tasks"]] == [0, 1, 2]
    assert (one["total"]["rows_out"], other["total"]["rows_out"]) == (250, 100)
    assert one["total"]["bytes_read"] > 0
    assert other["total"]["kernels"]
    narrow = spark.read.format("hardwood").schema("id long").option("filter", "id < 250").option("split_bytes", 1)
    assert hw_spark.explain(narrow.load(str(trips))).as_dict()["reads"][0]["tasks"] == []  # another load than `low`
    # Planned anew for a file that is smaller now, there are fewer splits: reports of the old plan must not stay.
    changing = tmp_path / "changing.parquet"
    for rows in (300, 100):
        pq.write_table(pa.table({"id": range(rows)}), changing, row_group_size=GROUP)
        frame = load(changing, "id >= 0")
        assert frame.count() == rows
        facts = hw_spark.explain(frame).as_dict()["reads"][0]
        assert len(facts["tasks"]) == facts["splits"] == rows // GROUP
        assert facts["total"]["rows_out"] == rows


def test_reports_of_a_long_session_make_room_for_new_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    from hardwood_jit.spark import reports

    monkeypatch.setattr(reports, "KEPT_REPORTS", 3)
    kept: dict[reports.Key, reports.Report] = {}
    for split in (0, 1, 0, 2, 3):
        kept = reports.LatestBySplit().addInPlace(kept, {("", 0.0, split): reports.Report(split)})
    assert [split for _, _, split in kept] == [0, 2, 3]


def test_a_scan_is_explained_without_running() -> None:
    import io

    buffer = io.BytesIO()
    pq.write_table(pa.table({"id": range(10)}), buffer)
    assert "splits        1" in str(hw_spark.explain(hw.scan(buffer.getvalue())))


def test_scans_inside_pandas_and_arrow_functions(spark: SparkSession, names: Path) -> None:
    """A look-up join: the worker reads the table's footers once and keeps them for all its tasks."""
    from pyspark.sql.functions import pandas_udf

    where = str(names)

    @pandas_udf("string")
    def name_of(keys: pd.Series) -> pd.Series:
        wanted = [int(key) for key in keys.unique()]
        table = hw_spark.open_once(where).scan().filter(col("key").is_in(wanted)).to_pandas()
        return keys.map(table.set_index("key")["name"])

    keys = spark.range(0, 100, 1, 4).selectExpr("id % 10 as key")
    assert keys.select(name_of("key").alias("name")).filter("name = 'name 3'").count() == 10

    def joined(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import threading

        dataset = hw_spark.open_once(where)
        assert hw_spark.open_once(where) is dataset
        for batch in batches:
            wanted = sorted(set(batch.column(0).to_pylist()))
            table = dataset.scan().filter(col("key").is_in(wanted)).select("key", "name").to_arrow()
            found = dict(zip(table["key"].to_pylist(), table["name"].to_pylist(), strict=True))
            left = [thread.name for thread in threading.enumerate() if "hardwood" in thread.name]
            yield pa.RecordBatch.from_pydict(
                {"name": [found[key] for key in batch.column(0).to_pylist()], "threads": [len(left)] * batch.num_rows}
            )

    rows = keys.mapInArrow(joined, "name string, threads long").collect()
    assert sorted({row["name"] for row in rows}) == [f"name {i}" for i in range(10)]
    assert {row["threads"] for row in rows} == {0}

    def counted(frame: pd.DataFrame) -> pd.DataFrame:
        key = int(frame["key"].iloc[0])
        name = hw.scan(where).filter(col("key") == key).to_pandas()["name"].iloc[0]
        return pd.DataFrame({"name": [name], "rows": [len(frame)]})

    grouped = keys.groupBy("key").applyInPandas(counted, "name string, rows long").collect()
    assert sorted((row["name"], row["rows"]) for row in grouped) == [(f"name {i}", 10) for i in range(10)]
