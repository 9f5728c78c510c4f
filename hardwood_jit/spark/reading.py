"""register() and read(): Parquet files as a Spark DataFrame."""
# mypy: disable-error-code="import-untyped"

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from hardwood_jit.plan.predicate import as_predicate
from hardwood_jit.spark.reports import Reports, new_reports
from hardwood_jit.spark.source_options import ColumnName, SourceOptions, local_path

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

# Session -> where what it loads reports. Spark warns when a source is registered again.
_registered: WeakKeyDictionary[Any, Reports | None] = WeakKeyDictionary()


def register(spark: SparkSession) -> None:
    """Make `spark.read.format("hardwood")` and `spark.readStream.format("hardwood")` known to a session.

    Tasks of what the session reads from then on report to the driver: see `hw_spark.explain`.

    ```python
    hw_spark.register(spark)
    spark.read.format("hardwood").option("filter", "fare > 50").load("trips/")
    ```
    """
    if spark in _registered:
        return
    from hardwood_jit.spark.source import HardwoodDataSource, reporting_to

    reports = new_reports(spark)
    spark.dataSource.register(HardwoodDataSource if reports is None else reporting_to(reports.number))
    _registered[spark] = reports


def session_reports(spark: Any) -> Reports | None:
    """Where tasks of the plain format report in a session; None before `register`."""
    return _registered.get(spark)


def read(
    spark: SparkSession,
    path: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    columns: Sequence[ColumnName] | None = None,
    filter: Any = None,
    **options: Any,
) -> DataFrame:
    """A DataFrame of the rows that pass `filter` (what `Scan.filter` takes), decoded in Python workers.

    `path` is a file, directory, glob, or a list of those, which driver and executors can open. Options: `batch_size`,
    `split_bytes`, `ignore_corrupt`. `hw_spark.explain` tells what its tasks did.

    ```python
    trips = hw_spark.read(spark, "trips/", columns=["id", "fare"], filter=col("fare") > 50)
    trips.groupBy("id").count().show()
    ```
    """
    register(spark)
    paths = [path] if isinstance(path, str | os.PathLike) else list(path)
    options.setdefault("parallelism", parallelism_of(spark))
    reports = new_reports(spark)
    found = SourceOptions(
        tuple(local_path(os.fspath(one)) for one in paths),
        None if columns is None else tuple(columns),
        None if filter is None else as_predicate(filter),
        accumulator=None if reports is None else reports.number,
        **options,
    )
    reader = spark.read.format("hardwood")
    for name, text in found.as_texts().items():
        reader = reader.option(name, text)
    return reader.load()


def parallelism_of(spark: SparkSession) -> int | None:
    """Tasks that run at the same time; None where there is no SparkContext to ask (Spark Connect)."""
    try:
        return int(spark.sparkContext.defaultParallelism)
    except Exception:  # Spark Connect has an exception of its own for this
        return None
