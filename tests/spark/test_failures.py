"""Workers that die, tasks that fail, files that are damaged."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import hardwood_jit as hw
from hardwood_jit import spark as hw_spark
from hardwood_jit.spark.source import HardwoodDataSource, HardwoodReader
from hardwood_jit.spark.source_options import SourceOptions

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROWS = 60_000  # row groups that give more than one batch each, so that a worker dies between two
GROUP = 15_000


@pytest.fixture(scope="module")
def numbers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("failures") / "numbers.parquet"
    pq.write_table(pa.table({"id": range(ROWS), "text": ["x" * 50] * ROWS}), path, row_group_size=GROUP)
    return path


def damaged(path: Path, to: Path) -> Path:
    """The file with the pages of its last column, `text`, overwritten."""
    content = bytearray(path.read_bytes())
    chunk = pq.read_metadata(path).row_group(0).column(1)
    start = chunk.dictionary_page_offset or chunk.data_page_offset
    content[start : start + chunk.total_compressed_size] = b"\xff" * chunk.total_compressed_size
    to.write_bytes(content)
    return to


@pytest.mark.parametrize("way", ["killed", "failing"])
def test_a_task_that_dies_in_mid_scan_is_repeated_and_no_row_comes_twice(
    spark: SparkSession, numbers: Path, tmp_path: Path, way: str
) -> None:
    marks = str(tmp_path)

    def once_wrong(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import os
        import signal
        from pathlib import Path

        for count, batch in enumerate(batches):
            yield batch
            mark = Path(marks) / f"{batch.column(0)[0].as_py() // 15_000}-{count}"
            if count == 0 and not mark.exists():  # each split dies once, with batches already on their way
                mark.touch()
                if way == "killed":
                    os.kill(os.getpid(), signal.SIGKILL)
                raise RuntimeError("this task fails once")

    scan = hw.scan(numbers).select("id").batch_size(5000)
    frame = hw_spark.map_batches(spark, scan, once_wrong, "id long", split_bytes=1)
    assert sorted(row[0] for row in frame.collect()) == list(range(ROWS))
    assert len(list(tmp_path.iterdir())) == 4  # all four splits have died once
    assert hw_spark.explain(frame).as_dict()["reads"][0]["total"]["rows_out"] == ROWS


@pytest.mark.parametrize("way", ["killed", "failing"])
def test_a_worker_of_the_data_source_that_dies_in_mid_scan(
    spark: SparkSession, numbers: Path, tmp_path: Path, way: str
) -> None:
    """The process that decodes dies: each split once, with a batch already on its way."""
    marks = str(tmp_path)

    class DyingReader(HardwoodReader):
        def read(self, partition: Any) -> Iterator[pa.RecordBatch]:
            import os
            import signal
            from pathlib import Path

            for count, batch in enumerate(super().read(partition)):
                mark = Path(marks) / str(partition.split.number)
                if count == 1 and not mark.exists():
                    mark.touch()
                    if way == "killed":
                        os.kill(os.getpid(), signal.SIGKILL)
                    raise RuntimeError("this task fails once")
                yield batch

    class Dying(HardwoodDataSource):
        @classmethod
        def name(cls) -> str:
            return f"dying_{way}"

        def reader(self, schema: Any) -> HardwoodReader:
            options = SourceOptions.of_texts(self.options)
            return DyingReader(options, schema, None)

    spark.dataSource.register(Dying)
    reader = spark.read.format(Dying.name()).option("columns", "id").option("batch_size", 5000)
    frame = reader.option("split_bytes", 1).load(str(numbers))
    assert sorted(row[0] for row in frame.collect()) == list(range(ROWS))
    assert len(list(tmp_path.iterdir())) == ROWS // GROUP  # all have died


def test_a_worker_behind_the_data_source_that_is_killed(spark: SparkSession, numbers: Path, tmp_path: Path) -> None:
    """A function on the DataFrame runs in a worker of its own; the scan is repeated for it."""
    marks = str(tmp_path)

    def killer(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import os
        import signal
        from pathlib import Path

        for batch in batches:
            yield batch
            mark = Path(marks) / "killed"
            if not mark.exists():
                mark.touch()
                os.kill(os.getpid(), signal.SIGKILL)

    frame = hw_spark.read(spark, numbers, columns=["id"], split_bytes=1).mapInArrow(killer, "id long")
    assert sorted(row[0] for row in frame.collect()) == list(range(ROWS))
    assert (tmp_path / "killed").exists()


def test_a_damaged_page_fails_the_job_naming_file_and_column(
    spark: SparkSession, numbers: Path, tmp_path: Path
) -> None:
    bad = damaged(numbers, tmp_path / "bad.parquet")
    with pytest.raises(Exception, match=r"CorruptFileError: .*bad\.parquet: row group 0, column 'text'"):
        hw_spark.read(spark, bad).collect()
    assert hw_spark.read(spark, bad, columns=["id"]).count() == ROWS  # the other column is sound
    scan = hw.scan(bad).select("text")
    with pytest.raises(Exception, match=r"CorruptFileError: .*bad\.parquet: row group 0, column 'text'"):
        hw_spark.map_batches(spark, scan, lambda batches: batches, "text string").collect()


def test_damaged_files_can_be_left_out_and_are_reported(spark: SparkSession, numbers: Path, tmp_path: Path) -> None:
    damaged(numbers, tmp_path / "b-page.parquet")
    (tmp_path / "a-footer.parquet").write_bytes(numbers.read_bytes()[:-3])
    pq.write_table(pa.table({"id": [-1, -2], "text": ["y", "y"]}), tmp_path / "c-good.parquet")
    with pytest.raises(Exception, match=r"a-footer\.parquet"):
        hw_spark.read(spark, tmp_path)
    frame = hw_spark.read(spark, tmp_path, ignore_corrupt=True)
    rows = frame.collect()
    assert {row["id"] for row in rows} >= {-1, -2}
    skipped = hw_spark.explain(frame).as_dict()["reads"][0]["skipped"]
    assert len(skipped) == 2
    assert "a-footer.parquet" in skipped[0]
    assert "b-page.parquet: row group 0, column 'text'" in skipped[1]
    assert "skipped   " in str(hw_spark.explain(frame))
    plain = spark.read.format("hardwood").option("ignore_corrupt", True).load(str(tmp_path))
    assert {row["id"] for row in plain.collect()} >= {-1, -2}
    assert hw_spark.explain(plain).as_dict()["reads"][0]["skipped"] == skipped
    option = spark.read.format("hardwood").option("ignore_corrupt", True).option("columns", "id")
    assert option.load(str(tmp_path)).count() == ROWS + 2


def test_when_no_file_is_sound_there_is_nothing_to_skip_to(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "bad.parquet").write_bytes(b"PAR1 nothing PAR1")
    with pytest.raises(Exception, match=r"none of 1 files can be read: .*bad\.parquet"):
        hw_spark.read(spark, tmp_path, ignore_corrupt=True)
