"""Selection + footers -> tasks: the row groups to read in turn, and what statistics say of the predicate in each."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hardwood_jit.errors import SchemaMismatchError
from hardwood_jit.group_columns import ScanFile
from hardwood_jit.many_files import blocks, known_alike, statistics_of_files
from hardwood_jit.metadata.schema import Leaf, Schema
from hardwood_jit.metrics import described_groups
from hardwood_jit.partitions import STAGE as PARTITIONS
from hardwood_jit.partitions import PartitionFilter
from hardwood_jit.plan.bind import bind
from hardwood_jit.plan.bound import BoundPredicate
from hardwood_jit.plan.predicate import Predicate, columns_of
from hardwood_jit.plan.prune import ALWAYS, BLOOM, NEVER, STATISTICS, GroupVerdicts, Prover
from hardwood_jit.plan.row_ranges import RowRanges
from hardwood_jit.plan.scan_plan import GroupFacts, GroupPlan, Selection, plan_scan
from hardwood_jit.probe import bloom_exclusions

if TYPE_CHECKING:
    from hardwood_jit.batch import Batch
    from hardwood_jit.dataset import Dataset
    from hardwood_jit.metrics import DroppedGroup, Metrics

MANY_GROUPS = 4  # whose bloom filters are worth asking together, before anything else of them is read


@dataclass(frozen=True, slots=True)
class GroupTask:
    """One row group to read."""

    file: ScanFile
    plan: GroupPlan
    verdicts: GroupVerdicts | None = None  # None: no predicate, or nothing is proved from metadata
    limit: int | None = None  # no more rows than this are wanted of the row group


class TaskPlanner:
    """The tasks of one run of a scan, made as far as somebody asks for the next."""

    def __init__(
        self,
        dataset: Dataset,
        selection: Selection,
        schema: Schema,
        metrics: Metrics,
        bound: BoundPredicate | None = None,
    ) -> None:
        """`bound` is the predicate bound to the dataset's schema, where somebody has done that already."""
        self._dataset = dataset
        self._selection = selection
        self._schema = schema
        self._metrics = metrics
        self._filter: PartitionFilter | None = None
        self._dropped: dict[int, bool] = {}  # files by their partition columns
        # Of skip(): what is left after row groups that pass as a whole, at the start, were passed over. It stays as it
        # is from the first task on.
        self.skip_left = selection.skip or 0
        # Of tail() with a predicate: rows that have come out so far, from the end on.
        self._rows_out = 0
        # The predicate bound to the schema of the last file.
        self._bound: tuple[Schema, BoundPredicate] | None = None if bound is None else (dataset.schema, bound)

    def plans(self) -> Iterator[GroupPlan]:
        """The row groups by position, whatever the predicate, in files that partition columns leave."""
        files = self._dataset.files
        # Ranges of row numbers count the rows of every file, so that all footers are needed.
        may_drop = self._selection.row_ranges is None

        reads_ahead = may_drop and not self._is_limited and self._partition_filter() is None
        ahead = blocks(len(files) if reads_ahead else 0)
        known = 0

        def groups_of(number: int) -> Sequence[GroupFacts]:
            nonlocal known
            if may_drop and self._is_dropped(number):
                return ()
            while number >= known and (block := next(ahead, None)) is not None:
                known = block[1]
                self._dataset._read_footers(range(*block))
            return files[number].metadata.row_groups

        plans = plan_scan(self._selection, len(files), groups_of)
        return (plan for plan in plans if not self._is_dropped(plan.file))

    def _partition_filter(self) -> PartitionFilter | None:
        """What the predicate says of whole files; None without a predicate or partition columns."""
        dataset, predicate = self._dataset, self._selection.predicate
        if self._filter is None and predicate is not None and dataset._partitions:
            self._filter = PartitionFilter(dataset._partitions, predicate, dataset.schema, dataset._file_leaf_count)
        return self._filter

    def _is_dropped(self, number: int) -> bool:
        """Whether the values of its partition columns leave a file no row."""
        partition_filter = self._partition_filter()
        if partition_filter is None:
            return False
        if number not in self._dropped:
            reason = partition_filter.why_not(number)
            self._dropped[number] = reason is not None
            if reason is not None:
                self._metrics.drop_file(PARTITIONS, reason)
        return self._dropped[number]

    def tasks(self) -> Iterator[GroupTask]:
        """In file order; from the end with tail() and a predicate."""
        if self._selection.predicate is None:
            for file, plan in self._opened():
                yield GroupTask(file, plan)
        elif self._selection.tail is not None:
            yield from self._from_the_end(self._selection.tail)
        else:
            yield from self._forward()

    def _opened(self) -> Iterator[tuple[ScanFile, GroupPlan]]:
        number, file = -1, None
        for plan in self.plans():
            if plan.file != number or file is None:
                number, file = plan.file, self._open_file(plan.file)
            yield file, plan

    def _whole_groups(self) -> Iterator[tuple[ScanFile, GroupPlan]]:
        """As `_opened` where neither bytes nor rows were chosen: row groups are looked at file by file, at once."""
        count = len(self._dataset.files)
        backward = self._selection.tail is not None
        if backward or self._is_limited or self._partition_filter() is not None:
            for number in reversed(range(count)) if backward else range(count):
                if not self._is_dropped(number):
                    yield from self._groups_of(number, None)
            return
        for first, stop in blocks(count):
            self._dataset._read_footers(range(first, stop))
            judged = self._judge_together(range(first, stop))
            for number in range(first, stop):
                left = judged.get(number)
                if left is None or len(left):
                    yield from self._groups_of(number, left)

    def _groups_of(self, number: int, left: list[int] | None) -> Iterator[tuple[ScanFile, GroupPlan]]:
        """The row groups of one file; those that statistics leave, where they were asked before."""
        file = self._open_file(number)
        rows = file.metadata.group_rows
        groups = self._left_by_statistics(file) if left is None else left
        if len(groups) >= MANY_GROUPS and file.prover is not None and not self._is_limited:
            groups = self._without_excluded(file, groups)
        for group in reversed(groups) if self._selection.tail is not None else groups:
            yield file, GroupPlan(number, group, RowRanges.all(int(rows[group])), True)

    def _left_by_statistics(self, file: ScanFile) -> list[int]:
        left: NDArray[np.bool_] = file.metadata.group_rows > 0
        if file.prover is not None:
            started = time.perf_counter_ns()
            never = file.prover.never(file.metadata.column_statistics)
            if never is not None:
                self._metrics.drop_groups(STATISTICS, file, np.flatnonzero(never & left).tolist())
                left &= ~never
            self._metrics.took(STATISTICS, time.perf_counter_ns() - started)
        return np.flatnonzero(left).tolist()

    def _judge_together(self, numbers: Sequence[int]) -> dict[int, list[int]]:
        """The row groups that statistics leave in files of one schema and writer; other files are not in it."""
        predicate, schema = self._selection.predicate, self._dataset.schema
        if len(numbers) < 2 or predicate is None or not self._selection.use_metadata:
            return {}
        started = time.perf_counter_ns()
        files = known_alike(self._dataset.files, numbers, schema)
        if len(files) < 2:
            return {}
        metadata = [file for _, file in files]
        prover = Prover(self._bind(predicate, schema), metadata[0].column_orders, metadata[0].created_by)
        counts = [len(file.group_rows) for file in metadata]
        rows = np.concatenate([file.group_rows for file in metadata])
        never = prover.never_in_files(
            [file.memo for file in metadata],
            counts,
            lambda leaf, missing: statistics_of_files(leaf, [metadata[number] for number in missing]),
        )
        if never is None:
            return {}
        left: dict[int, list[int]] = {number: [] for number, _ in files}
        dropped: dict[int, list[int]] = {}
        starts = np.cumsum([0, *counts])
        for chosen, of_file in ((~never & (rows > 0), left), (never & (rows > 0), dropped)):
            places = np.flatnonzero(chosen)
            owners = np.searchsorted(starts, places, "right") - 1
            for owner, group in zip(owners.tolist(), (places - starts[owners]).tolist(), strict=True):
                of_file.setdefault(files[owner][0], []).append(group)
        self._metrics.drop_later(STATISTICS, sum(map(len, dropped.values())), partial(self._described, dropped))
        self._metrics.took(STATISTICS, time.perf_counter_ns() - started)
        return left

    def _described(self, dropped: dict[int, list[int]]) -> Iterator[DroppedGroup]:
        for number, groups in dropped.items():
            yield from described_groups(self._open_file(number), groups)

    @property
    def _is_limited(self) -> bool:
        """Whether the scan may end before its last row group: then nothing is asked ahead."""
        return self._selection.head is not None or self._selection.tail is not None

    def _without_excluded(self, file: ScanFile, groups: list[int]) -> list[int]:
        """Row groups whose bloom filters leave room for a match, asked together."""
        started = time.perf_counter_ns()
        with file.source.open():
            excluded = bloom_exclusions(file, groups)
        if excluded:
            self._metrics.drop_groups(BLOOM, file, sorted(excluded), excluded)
            self._metrics.took(BLOOM, time.perf_counter_ns() - started)
        return [group for group in groups if group not in excluded]

    def _judged(self) -> Iterator[GroupTask]:
        """Row groups that statistics do not prove empty."""
        selection = self._selection
        is_chosen = selection.row_ranges is not None or selection.byte_range is not None
        spent = 0
        try:
            for file, plan in self._opened() if is_chosen else self._whole_groups():
                if file.prover is None:
                    yield GroupTask(file, plan)
                    continue
                started = time.perf_counter_ns()
                verdicts = file.prover.verdicts(plan.row_group, file.metadata.row_groups[plan.row_group].columns)
                spent += time.perf_counter_ns() - started
                if verdicts.verdict is NEVER:
                    self._metrics.drop(STATISTICS, file, plan, verdicts.why)
                else:
                    yield GroupTask(file, plan, verdicts)
        finally:
            self._metrics.took(STATISTICS, spent)

    def _forward(self) -> Iterator[GroupTask]:
        """head() and skip() count matches. Where statistics say that all rows match, they are counted here."""
        head = self._selection.head
        certain = 0  # rows that surely pass, after those to be skipped
        only_certain = True  # every task so far
        for task in self._judged():
            rows = task.plan.rows
            if task.verdicts is not None and task.verdicts.verdict is ALWAYS:
                if only_certain and self.skip_left:
                    passed = min(self.skip_left, rows.row_count)
                    self.skip_left -= passed
                    rows = rows.skip(passed)
                    if not rows:
                        continue
                if head is not None:
                    rows = rows.head(self.skip_left + head - certain)
                certain += rows.row_count
                task = replace(task, plan=_narrowed(task.plan, rows))
            else:
                only_certain = False
            if head is None:
                yield task
                continue
            yield replace(task, limit=self.skip_left + head)
            if certain >= self.skip_left + head:
                return

    def counting(self, batches: Iterator[Batch]) -> Iterator[Batch]:
        """The batches of the tasks, counted: tail() plans no row group after those that hold its rows."""
        for batch in batches:
            self._rows_out += batch.num_rows
            yield batch

    def _from_the_end(self, tail: int) -> Iterator[GroupTask]:
        certain = 0
        for task in self._judged():
            if max(certain, self._rows_out) >= tail:
                return
            if task.verdicts is not None and task.verdicts.verdict is ALWAYS:
                rows = task.plan.rows
                wanted = rows.skip(max(rows.row_count - (tail - certain), 0))
                certain += wanted.row_count
                task = replace(task, plan=_narrowed(task.plan, wanted))
            yield task

    def _open_file(self, number: int) -> ScanFile:
        file = self._dataset.files[number]
        metadata = file.metadata
        own_count = self._dataset._file_leaf_count
        leaves = tuple(leaf for leaf in self._schema.leaves if leaf.index < own_count)
        constants = self._dataset._partitions.constants(number, self._schema.leaves, own_count)
        predicate = self._selection.predicate
        if number and metadata.schema is not self._dataset.schema:
            leaves = _matching_leaves(leaves, metadata.schema, file.name)
            if predicate is not None:
                first = self._dataset.schema
                touched = [leaf for column in columns_of(predicate) for leaf in first.resolve(column.path).leaves]
                touched = [leaf for leaf in touched if leaf.index < own_count]
                _matching_leaves(touched, metadata.schema, file.name)
        if predicate is None:
            return ScanFile(file.source, metadata, leaves, constants=constants)
        partition_filter = self._partition_filter()
        if partition_filter is None:
            bound = self._bind(predicate, metadata.schema)
        else:
            bound = partition_filter.bind_to(metadata.schema, number)
        prover = None
        if self._selection.use_metadata:
            prover = Prover(bound, metadata.column_orders, metadata.created_by, metadata.memo)
        return ScanFile(file.source, metadata, leaves, bound, prover, constants)


    def _bind(self, predicate: Predicate, schema: Schema) -> BoundPredicate:
        """The predicate over a file's leaves; files with one schema share it."""
        if self._bound is None or self._bound[0] is not schema:
            self._bound = schema, bind(predicate, schema)
        return self._bound[1]


def _narrowed(plan: GroupPlan, rows: RowRanges) -> GroupPlan:
    return replace(plan, rows=rows, whole=plan.whole and rows == plan.rows)


def _matching_leaves(wanted: Sequence[Leaf], schema: Schema, file: str) -> tuple[Leaf, ...]:
    """The leaves of another file that stand for the projection's; required, optional and the order may differ."""
    by_path = {leaf.path: leaf for leaf in schema.leaves}
    found = []
    for leaf in wanted:
        other = by_path.get(leaf.path)
        if other is None:
            raise SchemaMismatchError(f"{file}: has no column '{leaf.dotted}', which the first file has")
        for what, one, two in (
            ("physical type", leaf.physical_type, other.physical_type),
            ("width", leaf.type_length, other.type_length),
            ("logical type", leaf.logical_type, other.logical_type),
            ("nesting", [layer.kind for layer in leaf.layers], [layer.kind for layer in other.layers]),
            ("repetition level", leaf.max_repetition_level, other.max_repetition_level),
        ):
            if one != two:
                raise SchemaMismatchError(f"{file}: column '{leaf.dotted}' has {what} {two}, the first file has {one}")
        found.append(other)
    return tuple(found)
