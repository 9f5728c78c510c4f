"""What a scan will do, or did: plan, stages of pruning and measurements as plain data; text and HTML from that."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from hardwood_jit.explain_text import explanation_html, explanation_text
from hardwood_jit.kernels import tables
from hardwood_jit.metrics import GroupMetrics, Metrics, StageMetrics
from hardwood_jit.source import ReadCounts

STAGE_ORDER = ("partitions", "statistics", "page index", "bloom filter", "dictionary", "page headers")


@dataclass(frozen=True)
class KernelUse:
    """A kernel that tests a conjunct: its shape, where it came from, and where its source can be read."""

    shape: str
    origin: str  # "prepared", "general", "disk", "compiled"
    source: str | None = None


@dataclass(frozen=True)
class PlannedConjunct:
    """One conjunct of the predicate, as bound to the first file."""

    text: str
    columns: tuple[str, ...]


@dataclass(frozen=True)
class StageReport:
    """One stage of pruning: what came in, what it dropped and why. Bytes are those of the columns that are touched."""

    name: str
    row_groups_in: int
    row_groups_dropped: int
    rows_in: int
    rows_dropped: int
    pages_dropped: int  # in row groups that were kept
    bytes_dropped: int
    seconds: float
    reasons: Mapping[str, int]  # -> row groups or files
    files_dropped: int = 0  # whose row groups count nowhere here

    def as_dict(self) -> dict[str, Any]:
        """The same as plain data.

        >>> from hardwood_jit.explain import StageReport
        >>> StageReport("statistics", 3, 1, 30, 10, 0, 500, 0.0, {"a: max 4 < 5": 1}).as_dict()["row_groups_kept"]
        2
        """
        return {
            "stage": self.name,
            "files_dropped": self.files_dropped,
            "row_groups_in": self.row_groups_in,
            "row_groups_dropped": self.row_groups_dropped,
            "row_groups_kept": self.row_groups_in - self.row_groups_dropped,
            "rows_in": self.rows_in,
            "rows_dropped": self.rows_dropped,
            "rows_kept": self.rows_in - self.rows_dropped,
            "pages_dropped": self.pages_dropped,
            "bytes_dropped": self.bytes_dropped,
            "seconds": self.seconds,
            "reasons": dict(self.reasons),
        }


def report_stages(metrics: Metrics, row_groups: int, rows: int) -> list[StageReport]:
    """The stages that did something, in their order; `row_groups` and `rows` are what the first of them got."""
    reports = []
    for name in sorted(metrics.stages, key=STAGE_ORDER.index):
        stage = metrics.stages[name]
        dropped = stage.dropped
        dropped_rows = stage.rows + sum(group.rows for group in dropped)
        reports.append(
            StageReport(
                name,
                row_groups,
                len(dropped),
                rows,
                dropped_rows,
                stage.pages,
                stage.page_bytes + _stored_bytes(stage),
                stage.nanoseconds / 1e9,
                _reasons(stage),
                len(stage.files),
            )
        )
        row_groups -= len(dropped)
        rows -= dropped_rows
    return reports


def _stored_bytes(stage: StageMetrics) -> int:
    """Stored bytes of the columns that a scan would have touched in the row groups that a stage dropped."""
    total = 0
    for group in stage.dropped:
        file = group.file
        leaves = {leaf.index for leaf in file.leaves}
        if file.predicate is not None:
            leaves |= {leaf.index for leaf in file.predicate.leaves}
        total += int(file.metadata.chunk_table[group.row_group, sorted(leaves), tables.CHUNK_COMPRESSED].sum())
    return total


def _reasons(stage: StageMetrics) -> dict[str, int]:
    found: dict[str, int] = {}
    for reason in (*stage.files, *(group.why() for group in stage.dropped)):
        found[reason] = found.get(reason, 0) + 1
    return found


@dataclass
class Explanation:
    """`print` it, show it in a notebook, or ask `as_dict`.

    >>> import hardwood_jit as hw
    >>> explanation = hw.scan(trips).filter("id > 3 and fare > 10").select("id").explain()
    >>> print(explanation)  # doctest: +ELLIPSIS
    Scan of 1 file: 2 row groups, 6 rows
      columns       id
      filter        id > 3 and fare > 10
      statistics    1 of 2 row groups dropped (3 rows, ... bytes)
                      id: max 3 < 4
      to be tested
        1. id > 3
        2. fare > 10
    >>> explanation.as_dict()["stages"][0]["rows_kept"]
    3
    """

    file_count: int
    row_groups: int  # planned
    rows: int
    columns: tuple[str, ...]
    predicate: str | None
    limits: tuple[str, ...] = ()
    conjuncts: tuple[PlannedConjunct, ...] = ()
    stages: list[StageReport] = field(default_factory=list)
    certain_groups: int = 0  # row groups whose wanted rows all pass, without a look at them
    certain_rows: int = 0
    # After a run:
    measured: GroupMetrics | None = None
    rows_out: int = 0
    seconds: float = 0.0
    read: ReadCounts | None = None
    sources: dict[str, str] = field(default_factory=dict)  # shape -> file of its generated source

    def as_dict(self) -> dict[str, Any]:
        """Plan and measurements as plain data.

        >>> hw.scan(trips).filter("fare > 10").explain(analyze=True).as_dict()["rows_out"]
        3
        """
        found: dict[str, Any] = {
            "files": self.file_count,
            "row_groups_planned": self.row_groups,
            "rows_planned": self.rows,
            "columns": list(self.columns),
            "filter": self.predicate,
            "limits": list(self.limits),
            "stages": [stage.as_dict() for stage in self.stages],
            "row_groups_pruned": sum(stage.row_groups_dropped for stage in self.stages),
            "row_groups_certain": self.certain_groups,
            "rows_certain": self.certain_rows,
            "conjuncts": [{"text": part.text, "columns": list(part.columns)} for part in self.conjuncts],
        }
        if self.read is None:
            return found
        found["rows_out"] = self.rows_out
        found["seconds"] = self.seconds
        found["requests"] = self.read.ranges
        found["bytes_read"] = self.read.bytes
        if self.measured is not None and self.predicate is not None:
            found["conjuncts"] = [self.measured_conjunct(part) for part in self.in_order()]
            found["row_groups_scanned"] = self.measured.row_groups
            found["rows_scanned"] = self.measured.rows_in
            found["bytes_decompressed"] = sum(column.bytes_decompressed for column in self.measured.columns.values())
            found["peak_page_bytes"] = self.measured.peak_page_bytes
            found["column_pages"] = {
                path: {
                    "filter": column.is_filter,
                    "output": column.is_output,
                    "pages": column.pages,
                    "pages_decompressed": column.pages_decompressed,
                    "pages_skipped": column.pages_skipped,
                    "bytes_decompressed": column.bytes_decompressed,
                }
                for path, column in self.measured.columns.items()
            }
        return found

    def in_order(self) -> list[PlannedConjunct]:
        """The conjuncts as they ran, most candidates first; those that never ran last."""
        if self.measured is None:
            return list(self.conjuncts)
        known = self.measured.conjuncts
        return sorted(self.conjuncts, key=lambda part: -known[part.text].rows_in if part.text in known else 1)

    def measured_conjunct(self, part: PlannedConjunct) -> dict[str, Any]:
        """What a run has measured of a conjunct."""
        assert self.measured is not None
        measured = self.measured.conjuncts.get(part.text)
        columns = [self.measured.columns[path] for path in part.columns if path in self.measured.columns]
        return {
            "text": part.text,
            "columns": list(part.columns),
            "rows_in": measured.rows_in if measured else 0,
            "rows_out": measured.rows_out if measured else 0,
            "nanoseconds_per_row": measured.nanoseconds_per_row if measured else 0.0,
            "pages_decompressed": sum(column.pages_decompressed for column in columns),
            "pages_skipped": sum(column.pages_skipped for column in columns),
            "kernels": [
                {"shape": use.shape, "origin": use.origin, "source": use.source} for use in self.kernels(part)
            ],
        }

    def kernels(self, part: PlannedConjunct) -> list[KernelUse]:
        """What tested a conjunct."""
        assert self.measured is not None
        found = self.measured.kernels.get(part.text, {})
        return [KernelUse(shape, origin, self.sources.get(shape)) for shape, origin in sorted(found.items())]

    def __str__(self) -> str:
        return explanation_text(self.as_dict())

    def _repr_html_(self) -> str:
        return explanation_html(self.as_dict())
