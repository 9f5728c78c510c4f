"""Few large row groups under a filter -> several tasks of each, for threads that would have nothing to do else.

Each share reads the pages of its own rows; the dictionary pages are read and decompressed by all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from hardwood_jit.kernels import tables
from hardwood_jit.page_map import LEAST_CHUNK
from hardwood_jit.plan.row_ranges import RowRanges
from hardwood_jit.scan_tasks import GroupTask

FEW_GROUPS = 2  # a thread: fewer row groups are cut
LEAST_ROWS = 1 << 16  # of a share
LEAST_BYTES = 2 << 20  # stored bytes of a share


def is_divisible(task: GroupTask) -> bool:
    """Whether shares of a row group can be read apart: flat columns, whose pages are known without reading them."""
    file, plan = task.file, task.plan
    if file.predicate is None or not file.predicate.conjuncts or task.limit is not None or len(plan.rows.pairs) != 1:
        return False
    leaves = {leaf.index: leaf for leaf in (*file.leaves, *file.predicate.leaves)}
    if any(leaf.layers or leaf.max_repetition_level for leaf in leaves.values()):
        return False
    rows = file.metadata.chunk_table[plan.row_group, list(leaves)]
    sizes = rows[:, tables.CHUNK_COMPRESSED]
    if plan.rows.row_count < 2 * LEAST_ROWS or int(sizes.sum()) < 2 * LEAST_BYTES:
        return False
    has_index = rows[:, tables.CHUNK_OFFSET_INDEX] > 0
    # Small chunks are read by all.
    return bool((has_index | (file.source.has_quick_reads & (sizes >= LEAST_CHUNK)) | (sizes < LEAST_CHUNK)).all())


def divide(tasks: Sequence[GroupTask], wanted: int) -> list[GroupTask]:
    """At least `wanted` tasks, as far as row groups are large enough."""
    if not tasks or len(tasks) >= wanted:
        return list(tasks)
    count = -(-wanted // len(tasks))
    return [share for task in tasks for share in _shares(task, count)]


def _shares(task: GroupTask, count: int) -> list[GroupTask]:
    if not is_divisible(task):
        return [task]
    plan = task.plan
    count = min(count, plan.rows.row_count // LEAST_ROWS)
    ((start, stop),) = plan.rows.pairs
    cuts = [start + (stop - start) * number // count for number in range(count + 1)]
    return [
        replace(task, plan=replace(plan, rows=RowRanges.of([(low, high)]), whole=False, is_rest=low != start))
        for low, high in pairwise(cuts)
    ]
