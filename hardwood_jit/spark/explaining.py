"""explain(): how a scan or a DataFrame is split, and what its tasks have done so far."""
# mypy: disable-error-code="import-untyped"

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hardwood_jit.lazy_scan import Scan
from hardwood_jit.spark.reading import session_reports
from hardwood_jit.spark.reports import Report, Reports, gathered, total
from hardwood_jit.spark.source_options import SPLIT_BYTES, SourceOptions
from hardwood_jit.spark.splits import SplitPlan, plan_splits, without_damaged_files

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

# Class of a relation -> its method that gives the options of load().
RELATIONS = {
    "org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation": "options",
    "org.apache.spark.sql.catalyst.streaming.StreamingRelationV2": "extraOptions",
}


@dataclass(frozen=True)
class ReadExplanation:
    """One scan: its plan, and the reports of tasks that have run."""

    plan: SplitPlan
    skipped: tuple[str, ...] = ()
    reports: tuple[Report, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """Plan and measurements as plain data."""
        plan = self.plan
        pieces = [piece for split in plan.splits for piece in split.pieces]
        return {
            **plan.scan.explain().as_dict(),
            "splits": len(plan.splits),
            "split_bytes": [sum(piece.compressed_bytes for piece in split.pieces) for split in plan.splits],
            "row_groups": plan.row_groups,
            "row_groups_pruned": plan.row_groups_pruned,
            "pieces": len(pieces),
            "skipped": sorted({*self.skipped, *(line for report in self.reports for line in report.skipped)}),
            "tasks": [report.as_dict() for report in self.reports],
            "total": total(self.reports).as_dict(),
        }

    def __str__(self) -> str:
        facts = self.as_dict()
        lines = [str(self.plan.scan.explain())]
        lines.append(
            f"  {'splits':<13} {facts['splits']:,}; the driver dropped {facts['row_groups_pruned']:,} of "
            f"{facts['row_groups']:,} row groups"
        )
        lines += [f"  {'skipped':<13} {line}" for line in facts["skipped"]]
        if not self.reports:
            lines.append(
                f"  {'tasks':<13} none has reported (run a DataFrame first, in a session with hw_spark.register)"
            )
            return "\n".join(lines)
        done = total(self.reports)
        lines.append(
            f"  {'tasks':<13} {len(self.reports):,}: {done.rows_out:,} rows, {done.bytes_read:,} bytes read in "
            f"{done.requests:,} requests; the longest took {done.seconds * 1000:.1f} ms"
        )
        lines.append(
            f"{'':16}row groups: {done.row_groups:,} read, {done.row_groups_pruned:,} dropped; "
            f"pages: {done.pages - done.pages_skipped:,} decompressed, {done.pages_skipped:,} skipped"
        )
        lines.append(f"{'':16}kernels: {done.kernels_loaded:,} loaded, {done.kernels_compiled:,} compiled")
        lines += [f"{'':16}kernel {shape}: {origin}" for shape, origin in sorted(done.kernels.items())]
        return "\n".join(lines)


@dataclass(frozen=True)
class SparkExplanation:
    """`print` it, or ask `as_dict`.

    >>> from hardwood_jit import spark as hw_spark
    >>> print(hw_spark.explain(hw.scan(trips).filter("id > 3").select("city")))  # doctest: +ELLIPSIS
    Scan of 1 file: 2 row groups, 6 rows
      columns       city
      filter        id > 3
      statistics    1 of 2 row groups dropped (3 rows, ... bytes)
                      id: max 3 < 4
      certain       1 row group: all 3 wanted rows pass, none was tested
      to be tested
        1. id > 3
      splits        1; the driver dropped 1 of 2 row groups
      tasks         none has reported (run a DataFrame first, in a session with hw_spark.register)
    """

    reads: tuple[ReadExplanation, ...]

    def as_dict(self) -> dict[str, Any]:
        """`reads`: one dict per scan under the DataFrame."""
        return {"reads": [read.as_dict() for read in self.reads]}

    def __str__(self) -> str:
        return "\n".join(map(str, self.reads))


def explain(df_or_scan: DataFrame | Scan) -> SparkExplanation:
    """How a scan would be split; for a DataFrame also what the tasks of its last runs did.

    The scans of a DataFrame are found in its plan, below filters, unions and views, too; that of `map_batches` on the
    DataFrame that it returned. Of a stream's tasks there are those of its last batch.

    >>> from hardwood_jit import spark as hw_spark
    >>> hw_spark.explain(hw.scan(trips)).as_dict()["reads"][0]["splits"]
    1
    """
    if isinstance(df_or_scan, Scan):
        return SparkExplanation((ReadExplanation(plan_splits(df_or_scan, SPLIT_BYTES)),))
    mapped = df_or_scan.__dict__.get("_hardwood_mapped")
    if mapped is not None:
        return SparkExplanation((ReadExplanation(mapped.plan, (), tuple(gathered(mapped.reports))),))
    found = tuple(_explain_load(options, reports) for options, reports in _loads_below(df_or_scan))
    if not found:
        raise ValueError("this DataFrame reads nothing with hardwood_jit: make it with hw_spark.read or map_batches")
    return SparkExplanation(found)


def _loads_below(frame: Any) -> list[tuple[SourceOptions, Reports | None]]:
    """Options of our relations in the plan of a DataFrame, each load() once, and where its tasks report."""
    from pyspark.sql.types import StructType

    from hardwood_jit.spark.source import reports_of

    session = session_reports(frame.sparkSession)
    found: dict[str, tuple[SourceOptions, Reports | None]] = {}
    leaves = frame._jdf.queryExecution().analyzed().collectLeaves()
    for number in range(leaves.size()):
        leaf = leaves.apply(number)
        method = RELATIONS.get(leaf.getClass().getName())
        if method is None or leaf.table().name() != "hardwood":
            continue
        texts = {str(entry.getKey()): str(entry.getValue()) for entry in getattr(leaf, method)().entrySet()}
        options = SourceOptions.of_texts(texts)
        schema = StructType.fromJson(json.loads(leaf.schema().json()))
        reports = reports_of(options, schema, None if session is None else session.number)
        found.setdefault(repr((sorted(texts.items()), schema)), (options, reports))
    return list(found.values())


def _explain_load(options: SourceOptions, reports: Reports | None) -> ReadExplanation:
    scan = options.scan()
    skipped: list[str] = []
    if options.ignore_corrupt:
        scan, skipped = without_damaged_files(scan)
    plan = plan_splits(scan, options.split_bytes, options.parallelism, skipped)
    return ReadExplanation(plan, tuple(skipped), tuple(gathered(reports)))
