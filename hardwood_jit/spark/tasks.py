"""A split to Arrow batches inside a Python worker, and the report of what that took.

Workers are forked and used again: the only state kept between tasks is a small cache of footers. One thread decodes,
because tasks already run side by side, so none is left behind.
"""
# mypy: disable-error-code="import-untyped"

from __future__ import annotations

import os
import socket
import time
from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from hardwood_jit.errors import CorruptFileError, HardwoodError
from hardwood_jit.export.to_arrow import batch_to_arrow, wants_form
from hardwood_jit.jit.value_decoder import Wanted
from hardwood_jit.kernels.compiled import FOLDER
from hardwood_jit.metrics import Metrics
from hardwood_jit.spark.footer_cache import with_cached_footers
from hardwood_jit.spark.reports import Report, Reports
from hardwood_jit.spark.spark_types import ARROW, ToSpark, spark_schema
from hardwood_jit.types import is_text

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

    from hardwood_jit.spark.splits import Piece, Split

BATCH_ROWS = 10_000  # smaller batches are joined up to this size, Spark's own: what a filter leaves over may be tiny


def split_batches(
    split: Split,
    wanted: StructType | None,
    reports: Reports | None,
    started: float,
    *,
    planned: float = 0.0,
    ignore_corrupt: bool = False,
) -> Iterator[pa.RecordBatch]:
    """The batches of one task in Spark's Arrow schema; its report, timed from `started`, follows the last one."""
    report = Report(split=split.number, host=socket.gethostname(), process=os.getpid(), skipped=list(split.skipped))
    loaded, compiled = FOLDER.loaded, FOLDER.compiled
    for piece in split.pieces:
        try:
            for batch in _joined(_piece_batches(piece, wanted, report)):
                if not report.rows_out:
                    report.first_batch_seconds = time.perf_counter() - started
                report.rows_out += batch.num_rows
                report.batches += 1
                yield batch
        except CorruptFileError as error:
            if not ignore_corrupt:
                raise
            report.skipped.append(str(error))
    report.seconds = time.perf_counter() - started
    report.kernels_loaded, report.kernels_compiled = FOLDER.loaded - loaded, FOLDER.compiled - compiled
    if reports is not None:
        reports.add(report, planned)


def _piece_batches(piece: Piece, wanted: StructType | None, report: Report) -> Iterator[pa.RecordBatch]:
    _check_unchanged(piece)
    scan = with_cached_footers(piece.scan).threads(1)
    before = scan.dataset.counts
    schema = scan.schema
    to_spark = ToSpark(schema, spark_schema(schema) if wanted is None else wanted)
    file = ", ".join(file.name for file in scan.dataset.files[:1])
    forms = {leaf.index: Wanted(wants_form(leaf, schema, ARROW), is_text(leaf)) for leaf in schema.leaves}
    job = scan._job(schema, lambda leaf: forms[leaf.index], bounded=True)
    try:
        for batch in scan._batches_of(job, lambda batch: batch_to_arrow(batch, ARROW), bounded=True, progress=False):
            if batch.num_rows:
                yield to_spark.batch(batch, file)
    finally:
        _measure(report, piece, job.metrics, scan.dataset.counts - before)


def _check_unchanged(piece: Piece) -> None:
    for file, planned in zip(piece.scan.dataset.files, piece.file_bytes, strict=True):
        if file.source.size != planned:
            raise HardwoodError(
                f"{file.name}: has {file.source.size} bytes, {planned} when the scan was planned; "
                "load() it again to read the new file"
            )


def _measure(report: Report, piece: Piece, metrics: Metrics, read: Any) -> None:
    total = metrics.total
    report.bytes_read += read.bytes
    report.requests += read.ranges
    report.row_groups += total.row_groups or piece.row_groups
    report.row_groups_pruned += sum(stage.dropped_count for stage in metrics.stages.values())
    for column in total.columns.values():
        report.pages += column.pages
        report.pages_skipped += column.pages_skipped
    for kernels in total.kernels.values():
        report.kernels.update(kernels)


def _joined(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Small batches that follow each other made into one, order kept; the first goes ahead, nobody waits for it."""
    yield from islice(batches, 1)
    waiting: list[pa.RecordBatch] = []
    rows = 0
    for batch in batches:
        if waiting and rows + batch.num_rows > 2 * BATCH_ROWS:
            yield _one(waiting)
            waiting, rows = [], 0
        waiting.append(batch)
        rows += batch.num_rows
        if rows >= BATCH_ROWS:
            yield _one(waiting)
            waiting, rows = [], 0
    if waiting:
        yield _one(waiting)


def _one(batches: list[pa.RecordBatch]) -> pa.RecordBatch:
    if len(batches) == 1:
        return batches[0]
    (joined,) = pa.Table.from_batches(batches).combine_chunks().to_batches()
    return joined
