"""The loop: row groups of a plan -> pages -> kernels -> batches, in file order, on one thread or several."""

from __future__ import annotations

import threading
from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from hardwood_jit.batch import Batch, Column
from hardwood_jit.errors import CorruptFileError, place
from hardwood_jit.kernels import tables
from hardwood_jit.memory import Arena, Scratch
from hardwood_jit.metadata.page_index import OffsetIndex, parse_offset_index
from hardwood_jit.options import BATCH_BYTES, OpenOptions
from hardwood_jit.pages.page_reader import ChunkFacts, PagePlan, PageReader, Pieces
from hardwood_jit.physical import INT96_BYTES, PhysicalType
from hardwood_jit.plan.row_ranges import RowRanges
from hardwood_jit.plan.scan_plan import GroupPlan
from hardwood_jit.source import merge_ranges

if TYPE_CHECKING:
    from hardwood_jit.jit.column_decoder import ColumnDecoder
    from hardwood_jit.jit.value_decoder import Wanted
    from hardwood_jit.metadata.footer import FileMetadata
    from hardwood_jit.metadata.schema import Leaf, Schema
    from hardwood_jit.source import Source

T = TypeVar("T")
Bytes = NDArray[np.uint8]

FETCH_BYTES = 32 << 20  # a row group's bytes up to this are read at once; a larger one piece by piece
INDEX_GAP = 16 << 10  # offset indexes of one row group lie together: read what lies between them, too
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
class ScanFile:
    """One file under a scan: its bytes, its footer, and the projection in terms of its own schema."""

    source: Source
    metadata: FileMetadata
    leaves: tuple[Leaf, ...]  # the file's own leaves, in the order of the projection


@dataclass
class ScanJob:
    """Everything that is the same for all row groups of a scan."""

    schema: Schema  # the projection
    wanted: tuple[Wanted, ...]  # per projected leaf
    options: OpenOptions
    batch_rows: int | None
    batch_bytes: int = BATCH_BYTES
    # Bytes per row of the batches so far: the estimate that sizes the next ones.
    measured: list[float] = field(default_factory=list)
    noted: int = 0

    def note(self, batch: Batch) -> None:
        self.noted += 1
        if batch.num_rows and (self.noted < 8 or self.noted % 8 == 0):
            used = sum(_column_bytes(column) for column in batch.columns) / batch.num_rows
            self.measured[:] = [used if not self.measured else (self.measured[0] * 3 + used) / 4]


def _column_bytes(column: Column) -> int:
    total = 0
    for array in (column.values, column.data, column.offsets):
        if array is not None:
            total += array.nbytes
    return total + sum(layer.offsets.nbytes for layer in column.layers if layer.offsets is not None)


class GroupScan:
    """One row group: fetches its bytes, then decodes it window by window."""

    def __init__(self, job: ScanJob, file: ScanFile, plan: GroupPlan, scratch: Scratch) -> None:
        self._job = job
        self._file = file
        self._plan = plan
        self._scratch = scratch
        self._group = file.metadata.row_groups[plan.row_group]
        self._decoders = self._open_columns()

    def batches(self) -> Iterator[Batch]:
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

    # Fetching

    def _open_columns(self) -> list[ColumnDecoder]:
        from hardwood_jit.jit.column_decoder import ColumnDecoder

        facts = [self._facts(leaf) for leaf in self._file.leaves]
        plans = self._page_plans()
        ranges = [
            plan.runs() if plan else [(fact.start, fact.stop)] if fact.stop > fact.start else []
            for fact, plan in zip(facts, plans, strict=True)
        ]
        total = sum(stop - start for runs in ranges for start, stop in runs)
        # Part of a row group without an index to say which pages: read as far as is needed, no further.
        at_once = total <= FETCH_BYTES and (self._plan.whole or all(plans))
        fetched = self._fetch(ranges) if at_once else [None] * len(ranges)
        options = self._job.options
        decoders = []
        for leaf, fact, plan, runs, pieces, wanted in zip(
            self._file.leaves, facts, plans, ranges, fetched, self._job.wanted, strict=True
        ):
            reader = PageReader(
                fact,
                Pieces(self._file.source, runs, pieces),
                # Views point into the pages: their arena is not used again.
                Arena(lasting=True) if wanted.form == "views" else self._scratch.arena(("pages", leaf.index)),
                max_repetition_level=leaf.max_repetition_level,
                checksums=options.checksums,
                max_page_bytes=options.max_page_bytes,
                plan=plan,
            )
            decoders.append(ColumnDecoder(leaf, reader, self._scratch, wanted))
        return decoders

    def _facts(self, leaf: Leaf) -> ChunkFacts:
        metadata, number = self._file.metadata, self._plan.row_group
        row = metadata.chunk_table[number, leaf.index].tolist()
        if row[tables.CHUNK_ENCRYPTED] > 0 or row[tables.CHUNK_HAS_FILE_PATH] > 0 or row[tables.CHUNK_META_START] < 0:
            self._group.columns[leaf.index].check_readable()
        if row[tables.CHUNK_TYPE] != leaf.physical_type:
            raise CorruptFileError(
                f"{self._where(leaf)}: the column chunk has type number {row[tables.CHUNK_TYPE]}, "
                f"the schema says {leaf.physical_type}"
            )
        start = row[tables.CHUNK_DATA_OFFSET]
        dictionary = row[tables.CHUNK_DICTIONARY_OFFSET]
        if 0 < dictionary < start:
            start = dictionary
        stop = start + row[tables.CHUNK_COMPRESSED]
        if stop > self._file.source.size:
            raise CorruptFileError(
                f"{self._where(leaf)}: column chunk ends at byte {stop}, the file at {self._file.source.size}"
            )
        return ChunkFacts(
            self._file.source.name,
            number,
            leaf.dotted,
            start,
            stop,
            metadata.footer_start,
            row[tables.CHUNK_VALUES],
            self._group.num_rows,
            row[tables.CHUNK_CODEC],
        )

    def _where(self, leaf: Leaf) -> str:
        return place(self._file.source.name, self._plan.row_group, leaf.dotted)

    def _fetch(self, ranges: Sequence[Sequence[tuple[int, int]]]) -> list[list[Bytes] | None]:
        """All ranges of all columns into one reused buffer, ranges that touch as one request."""
        flat = [(start, stop - start) for runs in ranges for start, stop in runs]
        merged = merge_ranges(flat, 0)
        buffer = self._scratch.arena("raw").room(sum(length for _, length in merged))
        places: list[tuple[int, int]] = []  # file offset, offset in buffer
        outs = []
        used = 0
        for offset, length in merged:
            places.append((offset, used))
            outs.append(buffer[used : used + length])
            used += length
        self._file.source.read_ranges(merged, outs)
        starts = [offset for offset, _ in places]
        fetched: list[list[Bytes] | None] = []
        for runs in ranges:
            pieces = []
            for start, stop in runs:
                offset, at = places[bisect_right(starts, start) - 1]
                pieces.append(buffer[at + start - offset : at + stop - offset])
            fetched.append(pieces)
        return fetched

    # The pages that a part of a row group needs

    def _page_plans(self) -> list[PagePlan | None]:
        leaves = self._file.leaves
        if self._plan.whole:
            return [None] * len(leaves)
        chunks = [self._group.columns[leaf.index] for leaf in leaves]
        indexes = self._read_offset_indexes([chunk.offset_index_range for chunk in chunks])
        return [
            None if index is None else _plan_pages(index, chunk.byte_range, self._plan.rows, self._group.num_rows)
            for index, chunk in zip(indexes, chunks, strict=True)
        ]

    def _read_offset_indexes(self, places: Sequence[tuple[int, int] | None]) -> list[OffsetIndex | None]:
        source = self._file.source
        known = [place for place in places if place is not None and place[0] + place[1] <= source.size]
        if not known:
            return [None] * len(places)
        held = [(offset, source.read(offset, length)) for offset, length in merge_ranges(known, INDEX_GAP)]
        found: list[OffsetIndex | None] = []
        for leaf, place_ in zip(self._file.leaves, places, strict=True):
            index = None
            for offset, raw in held:
                if place_ is not None and offset <= place_[0] and place_[0] + place_[1] <= offset + raw.size:
                    piece = raw[place_[0] - offset : place_[0] - offset + place_[1]].tobytes()
                    chunk = self._group.columns[leaf.index]
                    index = parse_offset_index(piece, self._group.num_rows, chunk.byte_range)
                    break
            found.append(index)
        return found

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
        total = 0.0
        rows = max(self._group.num_rows, 1)
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
                stop = start + min(large.row_count, stop - start - 1)


def _plan_pages(
    index: OffsetIndex, byte_range: tuple[int, int], rows: RowRanges, row_count: int
) -> PagePlan | None:
    firsts = index.first_rows.tolist()
    stops = [*firsts[1:], row_count]
    starts = index.offsets.tolist()
    ends = (index.offsets + index.sizes).tolist()
    chosen = [
        page for page in range(len(firsts)) if any(a < stops[page] and firsts[page] < b for a, b in rows)
    ]
    chunk_start = byte_range[0]
    if not firsts or starts[0] < chunk_start:
        return None
    return PagePlan(
        (chunk_start, starts[0]) if starts[0] > chunk_start else None,
        [starts[page] for page in chosen],
        [ends[page] for page in chosen],
        [firsts[page] for page in chosen],
        [stops[page] for page in chosen],
        chosen,
    )


# Running the row groups


def run_groups(
    tasks: Iterator[tuple[ScanFile, GroupPlan]],
    job: ScanJob,
    threads: int,
    finish: Callable[[Batch], T],
    ahead: int | None,
) -> Iterator[T]:
    """The batches of all row groups in order, each handed to `finish` on the thread that decoded it.

    `ahead` bounds the finished batches that wait for the consumer (None: no bound).
    """
    if threads <= 1:
        return _run_here(tasks, job, finish)
    return _Workers(tasks, job, threads, finish, ahead).results()


def _run_here(
    tasks: Iterator[tuple[ScanFile, GroupPlan]], job: ScanJob, finish: Callable[[Batch], T]
) -> Iterator[T]:
    scratch = Scratch()
    for file, plan in tasks:
        with file.source.open():
            for batch in GroupScan(job, file, plan, scratch).batches():
                yield finish(batch)


class _Workers(Generic[T]):
    """Threads that each take the next row group; the consumer sees results in the groups' order."""

    def __init__(
        self,
        tasks: Iterator[tuple[ScanFile, GroupPlan]],
        job: ScanJob,
        threads: int,
        finish: Callable[[Batch], T],
        ahead: int | None,
    ) -> None:
        self._tasks = tasks
        self._job = job
        self._threads = threads
        self._finish = finish
        self._ahead = ahead
        self._changed = threading.Condition()
        self._queues: deque[_Queue[T]] = deque()  # of row groups taken and not yet consumed, in order
        self._waiting = 0  # finished results that nobody has consumed
        self._exhausted = False
        self._cancelled = False

    def results(self) -> Iterator[T]:
        workers = [threading.Thread(target=self._work, name="hardwood_jit", daemon=True) for _ in range(self._threads)]
        for worker in workers:
            worker.start()
        try:
            while True:
                with self._changed:
                    while not self._ready():
                        self._changed.wait()
                    if not self._queues:
                        return
                    queue = self._queues[0]
                    if not queue.items:
                        if queue.error is not None:
                            raise queue.error
                        self._queues.popleft()
                        self._changed.notify_all()
                        continue
                    item = queue.items.popleft()
                    self._waiting -= 1
                    self._changed.notify_all()
                yield item
        finally:
            with self._changed:
                self._cancelled = True
                self._changed.notify_all()
            # The garbage collector may end this generator on one of its own threads, even while that holds the lock.
            if threading.current_thread() not in workers:
                for worker in workers:
                    worker.join()

    def _ready(self) -> bool:
        if not self._queues:
            return self._exhausted
        first = self._queues[0]
        return bool(first.items) or first.ended

    def _work(self) -> None:
        scratch = Scratch()
        while True:
            with self._changed:
                if self._cancelled or self._exhausted:
                    return
                queue: _Queue[T] = _Queue()
                try:
                    task = next(self._tasks, None)
                except BaseException as error:
                    queue.error, queue.ended = error, True
                    task = None
                    self._queues.append(queue)
                if task is None:
                    self._exhausted = True
                    self._changed.notify_all()
                    return
                self._queues.append(queue)
            try:
                self._run(task, queue, scratch)
            except BaseException as error:
                queue.error = error
            with self._changed:
                queue.ended = True
                if queue.error is not None:
                    self._exhausted = True  # nothing after an error is ever seen
                self._changed.notify_all()

    def _run(self, task: tuple[ScanFile, GroupPlan], queue: _Queue[T], scratch: Scratch) -> None:
        file, plan = task
        with file.source.open():
            for batch in GroupScan(self._job, file, plan, scratch).batches():
                item = self._finish(batch)
                with self._changed:
                    while not self._cancelled and self._is_full(queue):
                        self._changed.wait()
                    if self._cancelled:
                        return
                    queue.items.append(item)
                    self._waiting += 1
                    self._changed.notify_all()

    def _is_full(self, queue: _Queue[T]) -> bool:
        """The row group that the consumer waits for may always put one; the others share what is left."""
        if self._ahead is None:
            return False
        if self._queues and self._queues[0] is queue and not queue.items:
            return False
        return self._waiting >= self._ahead


class _Queue(Generic[T]):
    """Results of one row group that wait for the consumer."""

    __slots__ = ("ended", "error", "items")

    def __init__(self) -> None:
        self.items: deque[T] = deque()
        self.error: BaseException | None = None
        self.ended = False
