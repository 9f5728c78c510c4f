"""New files of a folder as a stream: each exactly once, also after a restart."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hardwood_jit import spark as hw_spark
from hardwood_jit.spark.source_options import SourceOptions
from hardwood_jit.spark.stream import HardwoodStreamReader, seen_after

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def put(folder: Path, name: str, *ids: int) -> Path:
    """A file that appears whole."""
    folder.mkdir(exist_ok=True)
    draft = folder / f"_{name}"
    pq.write_table(pa.table({"id": pa.array(ids, pa.int64()), "kept": [i % 2 == 0 for i in ids]}), draft)
    return draft.rename(folder / f"{name}.parquet")


def run(spark: SparkSession, source: Path, target: Path, **options: object) -> list[int]:
    """One run over what is there; all ids that the target has after it."""
    hw_spark.register(spark)
    reader = spark.readStream.format("hardwood").option("filter", "kept = true")
    for name, value in options.items():
        reader = reader.option(name, str(value))
    query = (
        reader.load(str(source))
        .writeStream.format("parquet")
        .option("checkpointLocation", str(target / "_checkpoint"))
        .trigger(availableNow=True)
        .start(str(target / "out"))
    )
    assert query.awaitTermination(120)
    return sorted(row["id"] for row in spark.read.parquet(str(target / "out")).collect())


def test_every_file_is_read_once_over_restarts(spark: SparkSession, tmp_path: Path) -> None:
    source, target = tmp_path / "in", tmp_path / "table"
    put(source, "one", 0, 1, 2)
    put(source, "two", 4, 5)
    assert run(spark, source, target, max_files_per_trigger=1) == [0, 2, 4]
    late = put(source, "three", 6)
    os.utime(late, ns=(1, 1))  # moved here from elsewhere: older than all that was read
    assert run(spark, source, target) == [0, 2, 4, 6]
    assert run(spark, source, target) == [0, 2, 4, 6]


def test_a_batch_that_failed_is_run_again_with_its_own_files_after_a_restart(
    spark: SparkSession, tmp_path: Path
) -> None:
    """The crash comes when a batch has been read and not yet been committed, and a file arrives before the restart."""
    source, checkpoint = tmp_path / "in", tmp_path / "checkpoint"
    written: dict[int, list[int]] = {}  # as a sink that keeps what a batch has written under the batch's number
    crash_in: set[int] = {1}
    hw_spark.register(spark)

    def write(batch: DataFrame, number: int) -> None:
        written[number] = sorted(row["id"] for row in batch.collect())
        if number in crash_in:
            raise RuntimeError("the driver dies here")

    def restart() -> DataFrame:
        reader = spark.readStream.format("hardwood").option("max_files_per_trigger", 2)
        frame = reader.load(str(source))
        writer = frame.writeStream.foreachBatch(write)
        query = writer.option("checkpointLocation", str(checkpoint)).trigger(availableNow=True).start()
        assert query.awaitTermination(120)
        return frame

    for number in range(3):
        path = put(source, f"file-{number}", number)
        os.utime(path, ns=(number, number))
    with pytest.raises(Exception, match="the driver dies here"):
        restart()
    assert written == {0: [0, 1], 1: [2]}
    del written[1]
    late = put(source, "late", 9)
    os.utime(late, ns=(0, 0))
    crash_in.clear()
    facts = hw_spark.explain(restart()).as_dict()["reads"][0]
    assert written == {0: [0, 1], 1: [2], 2: [9]}
    assert (facts["row_groups"], facts["total"]["rows_out"]) == (4, 1)  # what there is; what the last batch read


def test_offsets_hold_all_that_is_known(tmp_path: Path) -> None:
    from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxFiles
    from pyspark.sql.types import StructType

    options = SourceOptions((str(tmp_path / "in"),), max_files_per_trigger=2)
    schema = StructType.fromDDL("id long, kept boolean") if hasattr(StructType, "fromDDL") else StructType()

    def reader() -> HardwoodStreamReader:
        return HardwoodStreamReader(options, schema, None)

    first = reader().initialOffset()
    assert reader().latestOffset(first, ReadAllAvailable()) == first  # the folder is not there yet
    paths = [put(tmp_path / "in", name, 1) for name in ("a", "b", "c")]
    for number, path in enumerate(paths):
        os.utime(path, ns=(number, number))
    second = reader().latestOffset(first, reader().getDefaultReadLimit())
    assert second["files"] == [str(path) for path in paths[:2]]
    third = reader().latestOffset(second, ReadMaxFiles(5))
    assert third["files"] == [str(paths[2])]
    assert len(seen_after(third)) == 3
    assert reader().latestOffset(third, ReadAllAvailable()) == third
    ready = reader()
    ready.prepareForTriggerAvailableNow()
    put(tmp_path / "in", "d", 1)
    assert ready.latestOffset(third, ReadAllAvailable()) == third


def test_a_stream_of_an_empty_folder_needs_a_schema(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    with pytest.raises(Exception, match="no files in this directory"):
        run(spark, tmp_path / "in", tmp_path / "table")
