"""What a scan will do, or did: plan and measurements as text that reads well, and as a dict."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from hardwood_jit.metrics import GroupMetrics, StageMetrics
from hardwood_jit.source import ReadCounts


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


@dataclass
class Explanation:
    """`print` it, or ask `as_dict`.

    >>> import hardwood_jit as hw
    >>> explanation = hw.scan(trips).filter("fare > 10").select("id").explain()
    >>> print(explanation)
    Scan of 1 file: 2 row groups, 6 rows
      columns   id
      filter    fare > 10
        1. fare > 10
    >>> explanation.as_dict()["rows_planned"]
    6
    """

    file_count: int
    row_groups: int  # planned
    rows: int
    columns: tuple[str, ...]
    predicate: str | None
    limits: tuple[str, ...] = ()
    conjuncts: tuple[PlannedConjunct, ...] = ()
    # After a run:
    measured: GroupMetrics | None = None
    stages: dict[str, StageMetrics] = field(default_factory=dict)
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
            "conjuncts": [{"text": part.text, "columns": list(part.columns)} for part in self.conjuncts],
        }
        if self.read is None:
            return found
        found["rows_out"] = self.rows_out
        found["seconds"] = self.seconds
        found["requests"] = self.read.ranges
        found["bytes_read"] = self.read.bytes
        if self.measured is not None and self.predicate is not None:
            found["conjuncts"] = [self._measured_conjunct(part) for part in self._in_order()]
            found["row_groups_scanned"] = self.measured.row_groups
            found["files_pruned"] = sum(stage.files for stage in self.stages.values())
            found["row_groups_pruned"] = sum(stage.row_groups for stage in self.stages.values())
            found["rows_scanned"] = self.measured.rows_in
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

    def _in_order(self) -> list[PlannedConjunct]:
        """As they ran, most candidates first; those that never ran last."""
        assert self.measured is not None
        known = self.measured.conjuncts
        return sorted(self.conjuncts, key=lambda part: -known[part.text].rows_in if part.text in known else 1)

    def _measured_conjunct(self, part: PlannedConjunct) -> dict[str, Any]:
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
                {"shape": use.shape, "origin": use.origin, "source": use.source} for use in self._kernels(part)
            ],
        }

    def _kernels(self, part: PlannedConjunct) -> list[KernelUse]:
        assert self.measured is not None
        found = self.measured.kernels.get(part.text, {})
        return [KernelUse(shape, origin, self.sources.get(shape)) for shape, origin in sorted(found.items())]

    def __str__(self) -> str:
        files = f"{self.file_count} file" + ("" if self.file_count == 1 else "s")
        groups = f"{self.row_groups:,} row group" + ("" if self.row_groups == 1 else "s")
        lines = [f"Scan of {files}: {groups}, {self.rows:,} rows"]
        lines.append(f"  columns   {_shortened(self.columns)}")
        if self.predicate is not None:
            lines.append(f"  filter    {self.predicate}")
        if self.limits:
            lines.append(f"  limits    {', '.join(self.limits)}")
        if self.read is None:
            lines += [f"    {number}. {part.text}" for number, part in enumerate(self.conjuncts, 1)]
            return "\n".join(lines)
        if self.measured is not None and self.predicate is not None:
            lines += self._measured_lines()
        lines.append(
            f"  result    {self.rows_out:,} rows in {self.seconds * 1000:.1f} ms; "
            f"{self.read.bytes:,} bytes read in {self.read.ranges:,} requests"
        )
        return "\n".join(lines)

    def _measured_lines(self) -> list[str]:
        measured = self.measured
        assert measured is not None
        lines = [f"  scanned   {measured.row_groups:,} row groups, {measured.rows_in:,} rows"]
        for name, stage in self.stages.items():
            if stage.files:
                lines.append(f"  {name}: {stage.files:,} files dropped, their footers not read")
                continue
            lines.append(f"  {name}: {stage.row_groups:,} row groups and {stage.rows:,} rows dropped")
        for number, part in enumerate(self._in_order(), 1):
            facts = self._measured_conjunct(part)
            share = 100 * facts["rows_out"] / facts["rows_in"] if facts["rows_in"] else 0.0
            lines.append(f"    {number}. {part.text}")
            lines.append(
                f"       {facts['rows_in']:,} rows in, {facts['rows_out']:,} out ({share:.2f} %), "
                f"{facts['nanoseconds_per_row']:.2f} ns a row; "
                f"pages: {facts['pages_decompressed']:,} decompressed, {facts['pages_skipped']:,} skipped"
            )
            for use in self._kernels(part):
                where = f", source {use.source}" if use.source else ""
                lines.append(f"       kernel {use.shape}: {use.origin}{where}")
        outputs = {path: column for path, column in measured.columns.items() if column.is_output}
        if outputs:
            lines.append("  output columns, pages decompressed / skipped")
        for path, column in outputs.items():
            both = " (also filtered)" if column.is_filter else ""
            lines.append(f"    {path}: {column.pages_decompressed:,} / {column.pages_skipped:,}{both}")
        lines.append(f"  memory    at most {measured.peak_page_bytes:,} bytes of decompressed pages in a row group")
        return lines


def _shortened(names: Sequence[str]) -> str:
    shown = ", ".join(names[:8])
    return f"{shown} and {len(names) - 8} more" if len(names) > 8 else shown
