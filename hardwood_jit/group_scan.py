"""One row group without a filter: windows of rows, each decoded into a batch."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from hardwood_jit.batch import Batch, Column
from hardwood_jit.group_columns import GroupColumns, ScanFile
from hardwood_jit.memory import Scratch
from hardwood_jit.metrics import ConjunctOrder, Metrics
from hardwood_jit.options import BATCH_BYTES, OpenOptions
from hardwood_jit.physical import INT96_BYTES, PhysicalType
from hardwood_jit.plan.scan_plan import GroupPlan

if TYPE_CHECKING:
    from hardwood_jit.jit.value_decoder import Wanted
    from hardwood_jit.metadata.schema import Schema

SNAP = 0.6  # a window may end at a page start when that leaves it at least this full

FIXED_BYTES = {
    PhysicalType.BOOLEAN: 1,
    PhysicalType.INT32: 4,
    PhysicalType.FLOAT: 4,
    PhysicalType.INT64: 8,
    PhysicalType.DOUBLE: 8,
    PhysicalType.INT96: INT96_BYTES,
}


@dataclass
class ScanJob:
    """Everything that is the same for all row groups of a scan."""

    schema: Schema  # the projection
    wanted: tuple[Wanted, ...]  # per projected leaf that files have
    options: OpenOptions
    batch_rows: int | None
    batch_bytes: int = BATCH_BYTES
    joins_groups: bool = False  # whether one batch may have the rows of several row groups and files
    constant_bytes: float = 0.0  # of a row, in partition columns
    # Bytes per row of the batches so far: the estimate that sizes the next ones.
    measured: list[float] = field(default_factory=list)
    noted: int = 0
    # With a filter:
    metrics: Metrics = field(default_factory=Metrics)
    explains: bool = False  # counts what only `explain` shows

    @property
    def order(self) -> ConjunctOrder:
        return self.metrics.order

    def survivors_per_batch(self, leaf_count: int) -> int:
        """Rows of a filtered batch: as asked for, or as many as its bytes allow, going by the batches so far."""
        if self.batch_rows is not None:
            return self.batch_rows
        per_row = self.measured[0] if self.measured else 8.0 * leaf_count + self.constant_bytes
        return max(1, int(self.batch_bytes / max(per_row, 0.125)))

    def note(self, batch: Batch) -> None:
        self.noted += 1
        if batch.num_rows and (self.noted < 8 or self.noted % 8 == 0):
            used = sum(_column_bytes(column) for column in batch.columns) / batch.num_rows + self.constant_bytes
            self.measured[:] = [used if not self.measured else (self.measured[0] * 3 + used) / 4]


def _column_bytes(column: Column) -> int:
    total = 0
    for array in (column.values, column.data, column.offsets):
        if array is not None:
            total += array.nbytes
    return total + sum(layer.offsets.nbytes for layer in column.layers if layer.offsets is not None)


def bare_batches(job: ScanJob, file: str, row_group: int, row_count: int) -> Iterator[Batch]:
    """Rows of which no column of the file is wanted."""
    step = job.batch_rows or max(row_count, 1)
    if job.constant_bytes and not job.batch_rows:
        step = max(1, int(job.batch_bytes / job.constant_bytes))
    for start in range(0, row_count, step):
        yield Batch(job.schema, (), min(step, row_count - start), file, row_group)


class GroupScan:
    """One row group: fetches its bytes, then decodes it window by window."""

    def __init__(self, job: ScanJob, file: ScanFile, plan: GroupPlan, scratch: Scratch) -> None:
        self._job = job
        self._file = file
        self._plan = plan
        columns = GroupColumns(file, plan, job.options, scratch)
        self._row_count = columns.row_count
        self._decoders = columns.open(file.leaves, job.wanted, "output")

    def batches(self) -> Iterator[Batch]:
        try:
            yield from self._decoded()
        finally:  # also where a limit is reached and nobody asks for the rest
            if self._file.predicate is not None:  # which all these rows pass
                measured = self._job.metrics.group()
                for decoder in self._decoders:
                    measured.close_column(decoder, is_filter=False, is_output=True)
                self._job.metrics.add(measured)

    def _decoded(self) -> Iterator[Batch]:
        job = self._job
        for start, stop in self._plan.rows:
            position = start
            while position < stop:
                end = self._window_end(position, stop)
                columns, end = self._decode(position, end)
                batch = Batch(job.schema, columns, end - position, self._file.source.name, self._plan.row_group)
                job.note(batch)
                yield batch
                position = end
        if self._plan.whole:
            for decoder in self._decoders:
                decoder.reader.check_complete()

    # Windows

    def _window_end(self, position: int, stop: int) -> int:
        job = self._job
        left = stop - position
        if job.batch_rows is not None:
            return position + min(left, job.batch_rows)
        per_row = job.measured[0] if job.measured else self._estimate()
        rows = max(1, min(left, int(job.batch_bytes / max(per_row, 0.125))))
        if rows < left:
            # Equal windows rather than full ones and a small rest; then to a page start near the end.
            rows = -(-left // -(-left // rows))
            snapped = self._page_start(position + rows)
            if snapped - position >= rows * SNAP:
                return snapped
        return position + rows

    def _estimate(self) -> float:
        """Bytes per row as the footer suggests; batches that were decoded know better."""
        total = self._job.constant_bytes
        rows = max(self._row_count, 1)
        for decoder in self._decoders:
            leaf, facts = decoder.leaf, decoder.reader.facts
            slots = facts.value_count / rows
            width = FIXED_BYTES.get(leaf.physical_type)
            if leaf.physical_type == PhysicalType.FIXED_LEN_BYTE_ARRAY:
                width = leaf.type_length or 0
            if width is None:
                width = 8 + 2 * (facts.stop - facts.start) // max(facts.value_count, 1)
            if decoder.wanted.form in ("decimal128", "views"):
                width = 16
            total += slots * width
        return total

    def _page_start(self, row: int) -> int:
        """The last known page start of the first column at or before `row`, or -1."""
        reader = self._decoders[0].reader
        best = -1
        for first in reader.first_rows:
            if first <= row:
                best = max(best, first)
        return best

    def _decode(self, start: int, stop: int) -> tuple[tuple[Column, ...], int]:
        from hardwood_jit.jit.value_decoder import WindowTooLarge

        while True:
            for decoder in self._decoders:
                stop = decoder.cover(start, stop)
            try:
                return tuple(decoder.decode(start, stop) for decoder in self._decoders), stop
            except WindowTooLarge as large:
                stop = start + large.smaller(stop - start)
