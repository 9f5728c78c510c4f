"""The data source "hardwood" for `spark.read` and `spark.readStream`.

It has no `pushFilters`: Spark 4.3 keeps pushed filters for later queries on the same DataFrame. Predicate and columns
are options of one `load()`; filters of Spark's own run in Spark, on what is left.
"""
# mypy: disable-error-code="import-untyped,misc"

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition

from hardwood_jit.spark.footer_cache import with_cached_footers
from hardwood_jit.spark.reports import Reports
from hardwood_jit.spark.source_options import SourceOptions
from hardwood_jit.spark.splits import Split, plan_splits, without_damaged_files

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.types import StructType

    from hardwood_jit.lazy_scan import Scan
    from hardwood_jit.spark.stream import HardwoodStreamReader


class SplitPartition(InputPartition):
    """A split on its way to an executor."""

    def __init__(self, split: Split) -> None:
        super().__init__(split.number)
        self.split = split


class HardwoodDataSource(DataSource):
    """Parquet files as Spark's Python data source; `hw_spark.register` makes it known.

    >>> from hardwood_jit.spark.source import HardwoodDataSource
    >>> HardwoodDataSource.name()
    'hardwood'
    >>> HardwoodDataSource({"path": str(trips), "columns": "id,city"}).schema().simpleString()
    'struct<id:bigint,city:string>'
    """

    @classmethod
    def name(cls) -> str:
        """What follows `format(`."""
        return "hardwood"

    def schema(self) -> StructType:
        """Of the first file; only of the selected columns."""
        from hardwood_jit.spark.spark_types import spark_schema

        scan, _ = readable_scan(SourceOptions.of_texts(self.options), None)
        return spark_schema(scan.schema)

    def reader(self, schema: StructType) -> HardwoodReader:
        """A reader of all files."""
        return HardwoodReader(SourceOptions.of_texts(self.options), schema)

    def streamReader(self, schema: StructType) -> HardwoodStreamReader:
        """A reader of files as they arrive."""
        from hardwood_jit.spark.stream import HardwoodStreamReader

        return HardwoodStreamReader(SourceOptions.of_texts(self.options), schema)


def readable_scan(options: SourceOptions, paths: Sequence[str] | None) -> tuple[Scan, list[str]]:
    """The scan that options describe, of their files or of `paths`; and what is wrong with files left out."""
    scan = with_cached_footers(options.scan(paths))
    return without_damaged_files(scan) if options.ignore_corrupt else (scan, [])


def scan_for_schema(options: SourceOptions, schema: StructType, scan: Scan) -> Scan:
    """The scan of just the columns that Spark's schema names, whose types must be the file's."""
    from hardwood_jit.spark.spark_types import check_schema, columns_of, spark_schema

    if spark_schema(scan.schema) != schema:
        scan = replace(options, columns=columns_of(schema, scan.dataset.schema)).narrow(scan.dataset.scan())
        check_schema(schema, scan.schema)
    return scan


class HardwoodReader(DataSourceReader):
    """Plans in a Python process beside the driver, reads in workers."""

    def __init__(self, options: SourceOptions, schema: StructType) -> None:
        self._options = options
        self._schema = schema

    def partitions(self) -> Sequence[InputPartition]:
        """One per split; Spark asks once per `load()`, when its first query is planned."""
        return partitions_of(self._options, self._schema, None)

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The batches of one split, in a worker."""
        return read_partition(self._options, self._schema, partition)


def partitions_of(options: SourceOptions, schema: StructType, paths: Sequence[str] | None) -> list[InputPartition]:
    """The splits of the options' files, or of `paths`."""
    scan, skipped = readable_scan(options, paths)
    scan = scan_for_schema(options, schema, scan)
    plan = plan_splits(scan, options.split_bytes, options.parallelism or os.cpu_count(), skipped)
    return [SplitPartition(split) for split in plan.splits]


def read_partition(options: SourceOptions, schema: StructType, partition: InputPartition) -> Iterator[pa.RecordBatch]:
    """The batches of one split in Spark's Arrow schema."""
    started = time.perf_counter()  # before imports, which a first task pays for, too
    from hardwood_jit.spark.tasks import split_batches

    assert isinstance(partition, SplitPartition)
    reports = None if options.accumulator is None else Reports(options.accumulator)
    return split_batches(partition.split, schema, reports, started, ignore_corrupt=options.ignore_corrupt)
