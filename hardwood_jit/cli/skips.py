"""A dataset and a predicate -> what each stage of pruning leaves of every row group, without reading data pages."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from hardwood_jit.group_columns import GroupColumns
from hardwood_jit.memory import Scratch
from hardwood_jit.metrics import Metrics
from hardwood_jit.options import OpenOptions
from hardwood_jit.plan.prune import BLOOM, DICTIONARY, PAGE_INDEX, STATISTICS, Prover
from hardwood_jit.plan.row_ranges import RowRanges
from hardwood_jit.probe import GroupProbe
from hardwood_jit.scan_tasks import GroupTask, TaskPlanner

if TYPE_CHECKING:
    from hardwood_jit.dataset import Dataset
    from hardwood_jit.group_columns import ScanFile
    from hardwood_jit.plan.scan_plan import Selection

# Each line asks what the line before asks, and one stage more: the difference is that stage's work.
LATER_STAGES = (
    (PAGE_INDEX, (PAGE_INDEX,)),
    (BLOOM, (PAGE_INDEX, BLOOM)),
    (DICTIONARY, (PAGE_INDEX, BLOOM, DICTIONARY)),
)

GroupKey = tuple[int, int]  # file, row group


@dataclass(frozen=True, slots=True)
class GroupSkips:
    """One row group: the rows that are left after each stage, in the order of the stages."""

    rows: int
    left: tuple[tuple[str, RowRanges], ...] = ()

    @property
    def stage(self) -> str:
        """The stage that left no row; empty where some are left."""
        return next((stage for stage, rows in self.left if not rows), "")

    @property
    def rows_left(self) -> int:
        return self.left[-1][1].row_count if self.left else self.rows

    def stage_of(self, first: int, stop: int) -> str:
        """The stage after which none of these rows is left; empty where one is."""
        asked = RowRanges(((first, stop),)) if stop > first else RowRanges(())
        if not asked:
            return self.stage
        return next((stage for stage, rows in self.left if not rows.intersect(asked)), "")


def find_skips(dataset: Dataset, selection: Selection) -> dict[GroupKey, GroupSkips]:
    """What is skipped of each row group, in file order, as a scan with one thread would."""
    numbers = {id(file.source): number for number, file in enumerate(dataset.files)}
    schema = dataset.schema if selection.columns is None else dataset.schema.select(selection.columns)
    metrics = Metrics()
    found: dict[GroupKey, GroupSkips] = {}
    provers: dict[tuple[int, str], Prover] = {}
    scratch = Scratch()
    for task in TaskPlanner(dataset, selection, schema, metrics).tasks():
        key = numbers[id(task.file.source)], task.plan.row_group
        with task.file.source.open():
            found[key] = GroupSkips(task.plan.rows.row_count, tuple(_stages_left(task, key[0], provers, scratch)))
    for stage, measured in metrics.stages.items():
        for group in measured.dropped:
            key = numbers[id(group.file.source)], group.row_group
            found[key] = GroupSkips(group.rows, ((stage, RowRanges(())),))
    return dict(sorted(found.items()))


def _stages_left(
    task: GroupTask, file: int, provers: dict[tuple[int, str], Prover], scratch: Scratch
) -> list[tuple[str, RowRanges]]:
    rows = task.plan.rows
    if task.verdicts is None or task.file.predicate is None or not task.file.predicate.conjuncts:
        return []
    columns = GroupColumns(task.file, task.plan, OpenOptions(), scratch)
    probe = GroupProbe(task.file, columns, scratch)
    left = [(STATISTICS, rows)]
    for stage, asked in LATER_STAGES:
        if (file, stage) not in provers:
            # One of its own for each stage: a prover gives up what proves nothing, and must see what a scan sees.
            provers[file, stage] = _prover(task.file)
        proof = provers[file, stage].prove(task.verdicts, rows, columns.row_count, probe, asked)
        left.append((stage, proof.rows))
        if not proof.rows:
            break
    return left


def _prover(file: ScanFile) -> Prover:
    assert file.predicate is not None
    metadata = file.metadata
    return Prover(file.predicate, metadata.column_orders, metadata.created_by, metadata.memo)
