"""Row groups of a few kilobytes that follow each other -> one batch, for whole results without a filter.

A thousand files of 200 rows and five columns took 0.4 s row group by row group, nearly all of it Python's steps.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hardwood_jit.batch import Batch
from hardwood_jit.kernels import tables
from hardwood_jit.physical import Codec
from hardwood_jit.source import LocalFile

if TYPE_CHECKING:
    from hardwood_jit.group_scan import ScanJob
    from hardwood_jit.memory import Scratch
    from hardwood_jit.metadata.schema import Leaf
    from hardwood_jit.scan_tasks import GroupTask

FEW_GROUPS = 8  # fewer are decoded one by one
MOST_GROUPS = 256
MOST_ROWS = 1 << 20  # of all together
MOST_GROUP_ROWS = 1 << 14  # of one
MOST_CHUNK_BYTES = 32 << 10  # stored, of one column
IS_USED = True  # tests compare with the general way

_CODECS = (int(Codec.UNCOMPRESSED), int(Codec.SNAPPY))


def runs_of(tasks: Iterator[GroupTask], job: ScanJob) -> Iterator[list[GroupTask]]:
    """The tasks in order; those that may be joined, as far as their footers tell, in one list."""
    if not IS_USED or not job.joins_groups:
        for task in tasks:
            yield [task]
        return
    run: list[GroupTask] = []
    try:
        for task in tasks:
            if run and not _go_together(run[0], task, len(run)):
                yield run
                run = []
            run.append(task)
    except Exception:
        if run:  # what was planned before comes first
            yield run
        raise
    if run:
        yield run


def _go_together(first: GroupTask, task: GroupTask, count: int) -> bool:
    rows = task.plan.rows.row_count
    return (
        task.plan.whole
        and first.plan.whole
        and first.plan.rows.row_count == rows
        and rows <= MOST_GROUP_ROWS
        and count < min(MOST_GROUPS, MOST_ROWS // max(rows, 1))
        and task.file.metadata.schema is first.file.metadata.schema
        and not task.file.constants
        and not first.file.constants
    )


@dataclass(frozen=True, slots=True)
class _Places:
    """Where the chunks of several row groups lie in their files: int64[row groups, leaves]."""

    starts: NDArray[np.int64]
    sizes: NDArray[np.int64]
    codecs: NDArray[np.int64]


def joined_batch(run: Sequence[GroupTask], job: ScanJob, scratch: Scratch) -> Batch | None:
    """The rows of a run as one batch; None where they are to be read row group by row group."""
    first = run[0].file
    if len(run) < FEW_GROUPS or not first.leaves or first.predicate is not None or first.source.is_remote:
        return None
    from hardwood_jit.jit.joined_kernel import JoinedChunks, are_built, decode_joined, is_takeable

    if not all(map(is_takeable, first.leaves, job.wanted)):
        return None
    leaves = sorted({leaf.index: leaf for leaf in first.leaves}.values(), key=lambda leaf: leaf.index)
    places = _places(run, leaves)
    if places is None or not are_built():
        return None
    stops = np.cumsum(places.sizes.reshape(-1)).reshape(places.sizes.shape)
    total = int(stops[-1, -1])
    raw = scratch.arena(("raw", "output")).room(total)[:total]
    _read(run, places, stops, raw)
    chunks = JoinedChunks(raw, run[0].plan.rows.row_count, stops, places.codecs)
    numbers = {leaf.index: number for number, leaf in enumerate(leaves)}
    outputs = [(numbers[leaf.index], form) for leaf, form in zip(first.leaves, job.wanted, strict=True)]
    columns = decode_joined(chunks, leaves, outputs, job.options.checksums, scratch)
    if columns is None:
        return None
    return Batch(job.schema, columns, len(run) * chunks.row_count, first.source.name, run[0].plan.row_group)


def _places(run: Sequence[GroupTask], leaves: Sequence[Leaf]) -> _Places | None:
    """Where the chunks are; None if something about one of them is odd, which the general way knows about."""
    rows = np.stack([task.file.metadata.chunk_table[task.plan.row_group] for task in run])
    table = rows[:, [leaf.index for leaf in leaves]]
    data, dictionary = table[..., tables.CHUNK_DATA_OFFSET], table[..., tables.CHUNK_DICTIONARY_OFFSET]
    starts = np.where((dictionary > 0) & (dictionary < data), dictionary, data)
    sizes, codecs = table[..., tables.CHUNK_COMPRESSED], table[..., tables.CHUNK_CODEC]
    types = np.array([int(leaf.physical_type) for leaf in leaves])
    good = (table[..., tables.CHUNK_TYPE] == types) & (table[..., tables.CHUNK_META_START] >= 0)
    good &= (table[..., tables.CHUNK_ENCRYPTED] <= 0) & (table[..., tables.CHUNK_HAS_FILE_PATH] <= 0)
    good &= np.isin(codecs, _CODECS) & (sizes > 0) & (sizes <= MOST_CHUNK_BYTES)
    good &= table[..., tables.CHUNK_VALUES] == run[0].plan.rows.row_count
    file_sizes = np.array([task.file.source.size for task in run])[:, None]
    good &= (starts >= 0) & (sizes <= file_sizes) & (starts <= file_sizes - sizes)
    if not good.all() or (starts[:, 1:] < (starts + sizes)[:, :-1]).any():  # in the file's order, not overlapping
        return None
    return _Places(starts, sizes, codecs)


def _read(run: Sequence[GroupTask], places: _Places, stops: NDArray[np.int64], raw: NDArray[np.uint8]) -> None:
    """All chunks into `raw`, one after the other; chunks that touch as one request."""
    starts, ends = places.starts, places.starts + places.sizes
    touches = (starts[:, 1:] == ends[:, :-1]).all(axis=1).tolist()
    firsts, filled = starts[:, 0].tolist(), stops[:, -1].tolist()
    bytes_of_raw, at = raw.data, 0
    number = 0
    while number < len(run):
        source = run[number].file.source
        after = number + 1
        while after < len(run) and run[after].file.source is source:
            after += 1
        if after == number + 1 and touches[number] and type(source) is LocalFile:
            source.read_at_once(firsts[number], bytes_of_raw[at : filled[number]])
        else:
            _read_file(run, places, touches, (number, after), raw[at : filled[after - 1]])
        number, at = after, filled[after - 1]


def _read_file(
    run: Sequence[GroupTask], places: _Places, touches: list[bool], span: tuple[int, int], out: NDArray[np.uint8]
) -> None:
    ranges: list[tuple[int, int]] = []
    for number in range(*span):
        starts, sizes = places.starts[number].tolist(), places.sizes[number].tolist()
        ranges += [(starts[0], sum(sizes))] if touches[number] else zip(starts, sizes, strict=True)
    outs, at = [], 0
    for _, length in ranges:
        outs.append(out[at : at + length])
        at += length
    run[span[0]].file.source.read_ranges(ranges, outs)

