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
from typing import TYPE_CHECKING, ClassVar

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
    """A split on its way to an executor; `planned` tells plans of the same files apart."""

    def __init__(self, split: Split, planned: float) -> None:
        super().__init__(split.number)
        self.split = split
        self.planned = planned


class HardwoodDataSource(DataSource):
    """Parquet files as Spark's Python data source; `hw_spark.register` makes it known.

    Tasks report to the accumulator of their `hw_spark.read`, or else to that of the session, which `register` gives to
    a subclass. Where Spark has found this class by itself (a wheel's `pyspark_hardwood_jit`) tasks cannot report: an
    accumulator is made by the driver's Python, of which nothing runs before the tasks do.

    >>> from hardwood_jit.spark.source import HardwoodDataSource
    >>> HardwoodDataSource.name()
    'hardwood'
    >>> HardwoodDataSource({"path": str(trips), "columns": "id,city"}).schema().simpleString()
    'struct<id:bigint,city:string>'
    """

    session_accumulator: ClassVar[int | None] = None

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
        options = SourceOptions.of_texts(self.options)
        return HardwoodReader(options, schema, reports_of(options, schema, self.session_accumulator))

    def streamReader(self, schema: StructType) -> HardwoodStreamReader:
        """A reader of files as they arrive."""
        from hardwood_jit.spark.stream import HardwoodStreamReader

        options = SourceOptions.of_texts(self.options)
        return HardwoodStreamReader(options, schema, reports_of(options, schema, self.session_accumulator))


def reporting_to(accumulator: int) -> type[HardwoodDataSource]:
    """The source for one session, whose tasks report to its accumulator."""

    class Reporting(HardwoodDataSource):
        session_accumulator = accumulator

    return Reporting


def reports_of(options: SourceOptions, schema: StructType, session_accumulator: int | None) -> Reports | None:
    """Where the tasks of a load report; the same wherever it is asked for with the same options."""
    number = session_accumulator if options.accumulator is None else options.accumulator
    return None if number is None else Reports(number, options.digest(schema.simpleString()))


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

    def __init__(self, options: SourceOptions, schema: StructType, reports: Reports | None) -> None:
        self._options = options
        self._schema = schema
        self._reports = reports

    def partitions(self) -> Sequence[InputPartition]:
        """One per split; Spark asks once per `load()`, when its first query is planned."""
        return partitions_of(self._options, self._schema, None)

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The batches of one split, in a worker."""
        return read_partition(self._options, self._schema, partition, self._reports)


def partitions_of(options: SourceOptions, schema: StructType, paths: Sequence[str] | None) -> list[InputPartition]:
    """The splits of the options' files, or of `paths`."""
    scan, skipped = readable_scan(options, paths)
    scan = scan_for_schema(options, schema, scan)
    plan = plan_splits(scan, options.split_bytes, options.parallelism or os.cpu_count(), skipped)
    planned = time.time()
    return [SplitPartition(split, planned) for split in plan.splits]


def read_partition(
    options: SourceOptions, schema: StructType, partition: InputPartition, reports: Reports | None
) -> Iterator[pa.RecordBatch]:
    """The batches of one split in Spark's Arrow schema."""
    started = time.perf_counter()  # before imports, which a first task pays for, too
    from hardwood_jit.spark.tasks import split_batches

    assert isinstance(partition, SplitPartition)
    return split_batches(
        partition.split,
        schema,
        reports,
        started,
        planned=partition.planned,
        ignore_corrupt=options.ignore_corrupt,
    )
