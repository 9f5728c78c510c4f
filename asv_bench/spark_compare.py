"""hardwood_jit on Spark beside Spark's own reader: `python asv_bench/spark_compare.py [--first-task | --readme]`.

All on local[2] in one session, asked in turn, medians of several rounds after two that warm up. The selective works
keep 1 % of the rows of lineitem (scale factor 1) and three columns, and reduce them in Python with the same function;
an empty `mapInArrow` job is the floor of any work in Python workers. `--first-task` measures fresh sessions instead:
from the first line of the reader in a task to its first batch. `--readme` does both, one after the other, and writes
them into README.md, between its markers.
"""

from __future__ import annotations

import argparse
import datetime as dt
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import metadata
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


SOURCE = "1 %: data source + mapInArrow"
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
    return "\n".join([*lines, bars(medians)])


def bars(medians: dict[str, float]) -> str:
    """What we want of the selective works, and whether it was reached."""
    empty, ours, native = (medians[name] for name in BAR)
    bar = empty + (native - empty) / 5
    text = (
        f"`map_batches` takes {ours:.3f} s; bar empty + (Spark - empty) / 5 = {bar:.3f} s: {_verdict(ours <= bar)}. "
        f"It is {native / ours:.2f} times as fast as Spark; bar 2.2: {_verdict(native >= 2.2 * ours)}."
    )
    source = medians.get(SOURCE)
    if source is not None:
        text += f" The data source is {native / source:.2f} times as fast; bar 1: {_verdict(source <= native)}."
    return text


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


# Fresh session -> arguments of its process, and how many sessions. Nothing on disk means compiling: once is enough.
SESSIONS: dict[str, tuple[list[str], int]] = {
    "`configure`, kernels on disk": (["--configured"], 3),
    "no `configure`, kernels on disk": ([], 3),
    "no `configure`, nothing on disk": ([], 1),
}
MOST_MS = 50.0  # that a first task may take longer than one in a warm process, with `configure` and kernels on disk


@dataclass(frozen=True)
class FirstTask:
    """From the first line of the reader's read() to its first batch, in ms; the medians of fresh sessions."""

    first: float
    warm: float
    loaded: int
    compiled: int


def first_tasks() -> dict[str, FirstTask]:
    """Fresh sessions, each in its own process: with `configure`, without, and without a single kernel on disk."""
    found = {}
    with tempfile.TemporaryDirectory() as empty:
        Path(empty).chmod(0o700)
        for name, (arguments, count) in SESSIONS.items():
            changes = {"HARDWOOD_JIT_CACHE_DIR": empty} if "nothing" in name else {}
            runs = [_first_task_of_a_process(arguments, changes) for _ in range(count)]
            medians = {key: statistics.median(run[key] for run in runs) for key in runs[0]}
            found[name] = FirstTask(
                medians["first"] * 1000, medians["warm"] * 1000, int(medians["loaded"]), int(medians["compiled"])
            )
    return found


def _first_task_of_a_process(arguments: list[str], changes: dict[str, str]) -> dict[str, float]:
    done = subprocess.run(
        [sys.executable, __file__, "--first-task-here", *arguments],
        env={**os.environ, **changes},
        capture_output=True,
        text=True,
        check=True,
    )
    found: dict[str, float] = json.loads(done.stdout.strip().splitlines()[-1])
    return found


def first_task_table(found: dict[str, FirstTask]) -> str:
    """First tasks as text."""
    lines = [f"{'fresh session':34} {'first batch after':>18} {'warm process':>14} {'loaded':>7} {'compiled':>9}"]
    lines += [
        f"{name:34} {task.first:15.1f} ms {task.warm:11.1f} ms {task.loaded:7} {task.compiled:9}"
        for name, task in found.items()
    ]
    return "\n".join([*lines, _first_task_bar(found)])


def _first_task_bar(found: dict[str, FirstTask]) -> str:
    task = found[next(iter(SESSIONS))]
    more = task.first - task.warm
    return f"With `configure` {more:.1f} ms more than warm; bar {MOST_MS:.0f} ms: {_verdict(more <= MOST_MS)}"


def readme_block(seconds: dict[str, list[float]], found: dict[str, FirstTask], java: str) -> str:
    """What README has between its markers: works, bars and first tasks."""
    from compare import machine

    medians = {name: statistics.median(runs) for name, runs in seconds.items()}
    rounds = len(next(iter(seconds.values())))
    packages = ", ".join(f"{name} {metadata.version(name)}" for name in ("hardwood_jit", "pyspark", "pyarrow"))
    lines = [
        f"{machine()}, Java {java}, {dt.datetime.now(dt.UTC).date()}; {packages}; "
        "`python asv_bench/spark_compare.py --readme`.",
        "",
        f"Seconds on local[2], medians of {rounds} rotated rounds, lineitem of TPC-H scale factor {default_scale():g}. "
        "1 %: a range of ship dates and three columns, summed up by the same function over Arrow batches "
        f"(an empty `mapInArrow` job: {medians[BAR[0]]:.3f}) or by Spark in the JVM; all: the same without a filter.",
        "",
        "| work | hardwood_jit | Spark's reader | verdict |",
        "| --- | --- | --- | --- |",
    ]
    wins = []
    for ours, theirs in PAIRS.items():
        one, other = medians[ours], medians[theirs]
        lines.append(f"| {ours} | {one:.3f} | {other:.3f} | {_times(other / one)} |")
        wins += [] if other >= one else [ours]
    lines += ["", bars(medians), ""]
    if wins:
        lines += [f"Spark's own reader wins: {'; '.join(wins)}.", ""]
    lines += [
        "First task of a fresh session, from the first line of the reader's `read()` to its first batch:",
        "",
        "| session | first task, ms | warm process, ms | kernel files loaded | compiled |",
        "| --- | --- | --- | --- | --- |",
        *(f"| {n} | {t.first:.1f} | {t.warm:.1f} | {t.loaded} | {t.compiled} |" for n, t in found.items()),
        "",
        f"{_first_task_bar(found)}.",
    ]
    return "\n".join(lines)


def _times(ratio: float) -> str:
    return f"{ratio:.2f}x faster" if ratio >= 1 else f"{1 / ratio:.2f}x slower"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7 if default_scale() >= 0.5 else 2)
    parser.add_argument("--only", default="", help="a part of the names of works, for a shorter run")
    parser.add_argument("--first-task", action="store_true", help="measure fresh sessions")
    parser.add_argument("--readme", action="store_true", help="measure all of it, and write it into README.md")
    parser.add_argument("--first-task-here", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--configured", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.readme and given.only:
        parser.error("--readme needs all works: a table without one of them would look like a table of all")
    if given.first_task_here:
        first_task(given.configured)
    elif given.first_task:
        print(first_task_table(first_tasks()))
    else:
        path = dataset("lineitem")
        with tempfile.TemporaryDirectory() as folder:
            spark = session(folder)
            seconds = measure(spark, path, given.rounds, given.only)
            java = spark._jvm.System.getProperty("java.version")  # type: ignore[union-attr]
            spark.stop()
        print(table(seconds))
        if given.readme:
            from compare import write_readme

            found = first_tasks()
            print(first_task_table(found))
            write_readme("spark", readme_block(seconds, found, java))


if __name__ == "__main__":
    main()
