"""A scan to splits: footers read once, row groups dropped by statistics, the rest cut by byte ranges and packed.

A row group belongs to the split whose byte range holds its midpoint, so to exactly one. What is left of small files is
packed together, as Spark does with its own files.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import TYPE_CHECKING

from hardwood_jit.errors import CorruptFileError
from hardwood_jit.lazy_scan import Scan
from hardwood_jit.metrics import Metrics
from hardwood_jit.plan.row_ranges import RowRanges
from hardwood_jit.scan_tasks import TaskPlanner

if TYPE_CHECKING:
    from hardwood_jit.group_columns import ScanFile
    from hardwood_jit.metadata.footer import RowGroup
    from hardwood_jit.plan.scan_plan import GroupPlan

KeptGroup = tuple["ScanFile", "GroupPlan", "RowGroup"]

OPEN_BYTES = 4 << 20  # what opening one more file costs, in bytes read; as spark.sql.files.openCostInBytes


@dataclass(frozen=True)
class Piece:
    """Some row groups of one file, or a whole scan that cannot be cut; pickles as plain data."""

    scan: Scan
    row_groups: int
    compressed_bytes: int
    file_bytes: tuple[int, ...]  # sizes that the files had when they were planned


@dataclass(frozen=True)
class Split:
    """The work of one task."""

    number: int
    pieces: tuple[Piece, ...]
    skipped: tuple[str, ...] = ()  # what its report should say about files that planning left out


@dataclass
class SplitPlan:
    """All splits of a scan, and what planning left out."""

    scan: Scan
    splits: tuple[Split, ...] = ()
    files: int = 0
    row_groups: int = 0
    row_groups_pruned: int = 0


def plan_splits(scan: Scan, split_bytes: int, parallelism: int | None = None, skipped: Sequence[str] = ()) -> SplitPlan:
    """Cut a scan into splits of at most `split_bytes` where row groups allow, and more for idle cores.

    There is at least one split, if need be without pieces.

    >>> from hardwood_jit.spark.splits import plan_splits
    >>> plan = plan_splits(hw.scan(trips).filter("id > 3").select("city"), split_bytes=1, parallelism=2)
    >>> len(plan.splits), plan.row_groups, plan.row_groups_pruned
    (1, 2, 1)
    >>> plan.splits[0].pieces[0].scan.to_arrow().to_pydict()
    {'city': ['Delft', 'Évora', 'Fürth']}
    """
    plan = SplitPlan(scan, files=len(scan.dataset.files))
    selection = scan._selection
    if selection.skip is not None or selection.head is not None or selection.tail is not None:
        # Which rows these count is known only to whoever sees all of them.
        sizes = tuple(file.source.size for file in scan.dataset.files)
        plan.splits = (Split(0, (Piece(scan, 0, sum(sizes), sizes),)),)
        return plan
    groups = list(_kept_groups(scan, plan))
    total = sum(group.total_compressed_size for _, _, group in groups)
    total += OPEN_BYTES * len({group.file for _, group, _ in groups})
    goal = _goal(total, split_bytes, parallelism)
    first, *others = [*_packed(_pieces(scan, groups, goal), goal)] or [Split(0, ())]
    plan.splits = (replace(first, skipped=tuple(skipped)), *others)
    return plan


def _goal(total_bytes: int, split_bytes: int, parallelism: int | None) -> int:
    """Bytes of a split: `split_bytes`, or less when cores would have nothing to do."""
    return min(split_bytes, max(OPEN_BYTES, -(-total_bytes // (parallelism or 1))))


def without_damaged_files(scan: Scan) -> tuple[Scan, list[str]]:
    """The scan of those files whose footer can be read, and what is wrong with the others."""
    good, skipped = [], []
    for number, file in enumerate(scan.dataset.files):
        try:
            _ = file.metadata
        except CorruptFileError as error:
            skipped.append(str(error))
        else:
            good.append(number)
    if not good:
        raise CorruptFileError(f"none of {len(skipped)} files can be read: {skipped[0]}")
    if not skipped:
        return scan, []
    return Scan(scan.dataset._subset(good), scan._selection), skipped


def _kept_groups(scan: Scan, plan: SplitPlan) -> Iterator[KeptGroup]:
    """The row groups in which statistics leave room for a match. Files that do not fit together fail here."""
    metrics = Metrics()
    planner = TaskPlanner(scan.dataset, scan._selection, scan.schema, metrics)
    for task in planner.tasks():
        plan.row_groups += 1
        yield task.file, task.plan, task.file.metadata.row_groups[task.plan.row_group]
    plan.row_groups_pruned = sum(stage.dropped_count for stage in metrics.stages.values())
    plan.row_groups += plan.row_groups_pruned


def _pieces(scan: Scan, groups: list[KeptGroup], goal: int) -> Iterator[Piece]:
    """Neighbouring row groups of a file, cut into as many equal pieces as the goal asks for."""
    for _, of_file in groupby(groups, key=lambda kept: kept[1].file):
        # By midpoint and not by number, so that byte ranges do not overlap whatever the file says about itself.
        ordered = sorted(of_file, key=lambda kept: kept[2].midpoint)
        total = sum(group.total_compressed_size for _, _, group in ordered)
        count = max(1, -(-total // goal))
        piece: list[KeptGroup] = []
        before, number = 0, 0
        for kept in ordered:
            size = kept[2].total_compressed_size
            own = min(int((before + size / 2) * count / total), count - 1) if total else 0
            if piece and own > number and piece[-1][2].midpoint != kept[2].midpoint:
                yield _piece(scan, piece)
                piece, number = [], own
            piece.append(kept)
            before += size
        yield _piece(scan, piece)


def _piece(scan: Scan, groups: list[KeptGroup]) -> Piece:
    one = _one_file(scan, groups[0][1].file)
    if scan._selection.row_ranges is not None:
        ranges: list[tuple[int, int]] = []
        for file, group, _ in groups:
            before = sum(file.metadata.row_groups[number].num_rows for number in range(group.row_group))
            ranges += [(before + first, before + last) for first, last in group.rows]
        one = Scan(one.dataset, replace(one._selection, row_ranges=RowRanges.of(ranges)))
    else:
        middles = [row_group.midpoint for _, _, row_group in groups]
        one = one.byte_range(min(middles), max(middles) + 1)
    size = sum(row_group.total_compressed_size for _, _, row_group in groups)
    return Piece(one, len(groups), size, tuple(file.source.size for file in one.dataset.files))


def _one_file(scan: Scan, number: int) -> Scan:
    """The same scan of a single file, with the columns of the first file by their exact names."""
    columns = scan._selection.columns
    if columns is None:
        columns = tuple((child.name,) for child in scan.dataset.schema.children)
    return Scan(scan.dataset._subset([number]), replace(scan._selection, columns=columns, row_ranges=None))


def _packed(pieces: Iterator[Piece], goal: int) -> Iterator[Split]:
    """Pieces in their order, several to a split while they stay below the goal."""
    number, size = 0, 0
    taken: list[Piece] = []
    for piece in pieces:
        if taken and size + piece.compressed_bytes > goal:
            yield Split(number, tuple(taken))
            number, taken, size = number + 1, [], 0
        taken.append(piece)
        size += piece.compressed_bytes + OPEN_BYTES
    if taken:
        yield Split(number, tuple(taken))
