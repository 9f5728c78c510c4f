"""hardwood_jit on Spark beside Spark's own Parquet reader: `python asv_bench/spark_compare.py [--first-task]`.

All on local[2] in one session, asked in turn, medians of several rounds after two that warm up. The selective works
keep 1 % of the rows of lineitem (scale factor 1) and three columns, and reduce them in Python with the same function;
an empty `mapInArrow` job is the floor of any work in Python workers. `--first-task` measures fresh sessions instead:
from the first line of the reader in a task to its first batch.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
from datasets import dataset, default_scale

import hardwood_jit as hw
from hardwood_jit import spark as hw_spark

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

COLUMNS = ["l_quantity", "l_extendedprice", "l_discount"]
# 25 of 2526 days: 1 % of the rows, in every row group.
OURS = "l_shipdate >= date('1995-03-01') and l_shipdate < date('1995-03-26')"
SPARKS = "l_shipdate >= date'1995-03-01' and l_shipdate < date'1995-03-26'"
RESULT = "rows long, revenue double"


def revenue(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """One row per task: rows, and the sum of price x discount."""
    rows, total = 0, 0.0
    for batch in batches:
        price = batch.column("l_extendedprice").cast(pa.float64())
        discount = batch.column("l_discount").cast(pa.float64())
        rows += batch.num_rows
        total += pc.sum(pc.multiply(price, discount)).as_py() or 0.0
    yield pa.RecordBatch.from_pydict({"rows": pa.array([rows], pa.int64()), "revenue": pa.array([total])})


def nothing(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Takes what comes and gives one row."""
    for _ in batches:
        pass
    yield pa.RecordBatch.from_pydict({"rows": pa.array([0], pa.int64()), "revenue": pa.array([0.0])})


def reduced(frame: DataFrame) -> tuple[int, float]:
    found = frame.collect()
    return sum(row["rows"] for row in found), round(sum(row["revenue"] for row in found), 2)


def works(spark: SparkSession, path: Path) -> dict[str, Callable[[], Any]]:
    """Name -> one run, from nothing to the result on the driver."""

    def native(columns: list[str], where: str | None) -> DataFrame:
        frame = spark.read.parquet(str(path))
        return (frame if where is None else frame.filter(where)).select(*columns)

    def source(columns: list[str], where: str | None) -> DataFrame:
        return hw_spark.read(spark, path, columns=columns, filter=where)

    def mapped(where: str | None) -> DataFrame:
        scan = hw.scan(path).select(*COLUMNS)
        return hw_spark.map_batches(spark, scan if where is None else scan.filter(where), revenue, RESULT)

    def jvm_sum(frame: DataFrame) -> float:
        return round(float(frame.selectExpr("sum(l_extendedprice * l_discount)").first()[0]), 2)

    return {
        "empty mapInArrow job": lambda: reduced(spark.range(0, 2, 1, 2).mapInArrow(nothing, RESULT)),
        "1 %: map_batches": lambda: reduced(mapped(OURS)),
        "1 %: data source + mapInArrow": lambda: reduced(source(COLUMNS, OURS).mapInArrow(revenue, RESULT)),
        "1 %: Spark + mapInArrow": lambda: reduced(native(COLUMNS, SPARKS).mapInArrow(revenue, RESULT)),
        "1 %: data source, sum in the JVM": lambda: jvm_sum(source(COLUMNS, OURS)),
        "1 %: Spark, sum in the JVM": lambda: jvm_sum(native(COLUMNS, SPARKS)),
        "all: map_batches": lambda: reduced(mapped(None)),
        "all: Spark + mapInArrow": lambda: reduced(native(COLUMNS, None).mapInArrow(revenue, RESULT)),
        "all: data source, sum in the JVM": lambda: jvm_sum(source(COLUMNS, None)),
        "all: Spark, sum in the JVM": lambda: jvm_sum(native(COLUMNS, None)),
    }


# Ours beside theirs, by the names of `works`.
PAIRS = {
    "1 %: map_batches": "1 %: Spark + mapInArrow",
    "1 %: data source + mapInArrow": "1 %: Spark + mapInArrow",
    "1 %: data source, sum in the JVM": "1 %: Spark, sum in the JVM",
    "all: map_batches": "all: Spark + mapInArrow",
    "all: data source, sum in the JVM": "all: Spark, sum in the JVM",
}


BAR = ("empty mapInArrow job", "1 %: map_batches", "1 %: Spark + mapInArrow")  # always measured


def session(folder: str, *, configured: bool = True, cores: int = 2) -> SparkSession:
    from pyspark.sql import SparkSession

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.master(f"local[{cores}]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.local.dir", folder).config("spark.ui.showConsoleProgress", "false")
    builder = builder.config("spark.log.level", "ERROR").config("spark.sql.warehouse.dir", folder)
    found: SparkSession = (hw_spark.configure(builder) if configured else builder).getOrCreate()
    return found


def measure(spark: SparkSession, path: Path, rounds: int, only: str) -> dict[str, list[float]]:
    """Seconds of every work, one list entry per round; each round starts with the next work."""
    chosen = {name: work for name, work in works(spark, path).items() if only in name or name in BAR}
    names = list(chosen)
    seconds: dict[str, list[float]] = {name: [] for name in names}
    results: dict[str, Any] = {}
    hw_spark.warm(spark, hw.scan(path).select(*COLUMNS).filter(OURS))
    for turn in range(-2, rounds):  # two that warm up Java and Python
        start = turn % len(names)
        for name in names[start:] + names[:start]:
            before = time.perf_counter()
            results[name] = chosen[name]()
            if turn >= 0:
                seconds[name].append(time.perf_counter() - before)
    for ours, theirs in PAIRS.items():
        if ours not in results or theirs not in results:
            continue
        one, two = results[ours], results[theirs]
        if json.dumps(one) != json.dumps(two):
            raise AssertionError(f"{ours} gives {one}, {theirs} gives {two}")
    return seconds


def table(seconds: dict[str, list[float]]) -> str:
    """Medians, and how many times as long the opponent takes."""
    medians = {name: statistics.median(runs) for name, runs in seconds.items()}
    lines = [f"{'work':36} {'median s':>9} {'least s':>9}  opponent takes"]
    for name, median in medians.items():
        theirs = medians.get(PAIRS.get(name, ""))
        ratio = "" if theirs is None else f"{theirs / median:.2f} times as long"
        lines.append(f"{name:36} {median:9.3f} {min(seconds[name]):9.3f}  {ratio}")
    empty, ours, native = (medians[name] for name in BAR)
    bar = empty + (native - empty) / 5
    lines.append(f"map_batches {ours:.3f} s; bar empty + (Spark - empty) / 5 = {bar:.3f} s: {_verdict(ours <= bar)}")
    lines.append(f"map_batches {native / ours:.2f} times as fast as Spark; bar 2.2: {_verdict(native >= 2.2 * ours)}")
    return "\n".join(lines)


def _verdict(reached: bool) -> str:
    return "reached" if reached else "MISSED"


def first_task(configured: bool) -> None:
    """In a process of its own: prints the milliseconds of the first task, and of the same one later."""
    path = dataset("lineitem")
    with tempfile.TemporaryDirectory() as folder:
        spark = session(folder, configured=configured, cores=1)
        found = []
        for _ in range(4):
            frame = hw_spark.read(spark, path, columns=COLUMNS, filter=OURS, split_bytes=1 << 30)
            frame.count()
            task = hw_spark.explain(frame).as_dict()["reads"][0]["tasks"][0]
            found.append(task)
        spark.stop()
    first, warm = found[0], min(task["first_batch_seconds"] for task in found[1:])
    print(
        json.dumps(
            {
                "first": first["first_batch_seconds"],
                "warm": warm,
                "loaded": first["kernels_loaded"],
                "compiled": first["kernels_compiled"],
            }
        )
    )


def first_tasks() -> str:
    """Fresh sessions, each in its own process: with `configure`, without, and without a single kernel on disk."""
    lines = [f"{'fresh session':34} {'first batch after':>18} {'warm process':>14} {'loaded':>7} {'compiled':>9}"]
    with tempfile.TemporaryDirectory() as empty:
        Path(empty).chmod(0o700)
        cases = {
            "configure, kernels on disk": (["--configured"], {}),
            "no configure, kernels on disk": ([], {}),
            "no configure, nothing on disk": ([], {"HARDWOOD_JIT_CACHE_DIR": empty}),
        }
        for name, (arguments, changes) in cases.items():
            done = subprocess.run(
                [sys.executable, __file__, "--first-task-here", *arguments],
                env={**os.environ, **changes},
                capture_output=True,
                text=True,
                check=True,
            )
            found = json.loads(done.stdout.strip().splitlines()[-1])
            lines.append(
                f"{name:34} {found['first'] * 1000:15.1f} ms {found['warm'] * 1000:11.1f} ms "
                f"{found['loaded']:7} {found['compiled']:9}"
            )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7 if default_scale() >= 0.5 else 2)
    parser.add_argument("--only", default="", help="a part of the names of works, for a shorter run")
    parser.add_argument("--first-task", action="store_true", help="measure fresh sessions")
    parser.add_argument("--first-task-here", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--configured", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.first_task_here:
        first_task(given.configured)
    elif given.first_task:
        print(first_tasks())
    else:
        path = dataset("lineitem")
        with tempfile.TemporaryDirectory() as folder:
            spark = session(folder)
            print(table(measure(spark, path, given.rounds, given.only)))
            spark.stop()


if __name__ == "__main__":
    main()
