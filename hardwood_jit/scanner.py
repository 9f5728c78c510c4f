"""Running a scan: row groups of a plan -> batches, in file order, on one thread or several."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING, Generic, TypeVar

from hardwood_jit.batch import Batch
from hardwood_jit.cascade import FilteredGroup, is_read_whole
from hardwood_jit.errors import HardwoodError
from hardwood_jit.group_columns import GroupColumns
from hardwood_jit.group_scan import GroupScan, ScanJob, bare_batches
from hardwood_jit.joined_groups import joined_batch, runs_of
from hardwood_jit.lookup_group import lookup_groups
from hardwood_jit.memory import Scratch
from hardwood_jit.partitions import add_constants
from hardwood_jit.plan.prune import STAGES, GroupProof
from hardwood_jit.plan.row_ranges import RowRanges
from hardwood_jit.plan.scan_plan import GroupPlan
from hardwood_jit.probe import GroupProbe
from hardwood_jit.scan_tasks import GroupTask
from hardwood_jit.shares import FEW_GROUPS, divide, is_divisible
from hardwood_jit.whole_group import whole_groups

if TYPE_CHECKING:
    from hardwood_jit.jit.value_decoder import Bytes
    from hardwood_jit.source import Source

T = TypeVar("T")

LOOK_AGAIN = 1.0  # seconds after which a waiting thread looks whether its scan has ended without a word


def build_wanted_kernels() -> None:
    """After the last batch: have kernels built that the scan would have used, had they been there."""
    from hardwood_jit.jit.fused_kernels import FUSED

    FUSED.build_wanted()


@dataclass(frozen=True, slots=True)
class OpenGroup:
    """A row group under a predicate, and what metadata has proved about it."""

    columns: GroupColumns
    proof: GroupProof
    rows: RowRanges  # that may pass; of a row group that passes as a whole, no more than are wanted

    @property
    def is_certain(self) -> bool:
        """Whether all these rows pass, without a look at them."""
        return not self.proof.to_be_tested


def open_group(job: ScanJob, task: GroupTask, scratch: Scratch, stages: Sequence[str] = STAGES) -> OpenGroup | None:
    """All proofs about a row group, noted for `explain`; None where no row can pass."""
    columns = GroupColumns(task.file, task.plan, job.options, scratch)
    proof = prove_group(job, task, columns, scratch, stages)
    if not proof.rows:
        job.metrics.drop(proof.stage, task.file, task.plan, lambda: proof.reason)
        return None
    found = OpenGroup(columns, proof, proof.rows if task.limit is None else proof.rows.head(task.limit))
    if found.is_certain:
        job.metrics.certain(task.plan, found.rows.row_count)
    return found


def group_batches(job: ScanJob, task: GroupTask, scratch: Scratch) -> Iterator[Batch]:
    """The batches of one row group, partition columns included."""
    constants = task.file.constants
    found = _batches_of_file(job, task, scratch)
    return (add_constants(batch, constants) for batch in found) if constants else found


def _batches_of_file(job: ScanJob, task: GroupTask, scratch: Scratch) -> Iterator[Batch]:
    """What metadata does not prove is tested, where the job has a predicate."""
    file, plan = task.file, task.plan
    if file.predicate is None or not file.predicate.conjuncts:
        return _unfiltered(job, task, plan, scratch)
    found = open_group(job, task, scratch)
    if found is None:
        return iter(())
    if found.is_certain:
        rows = found.rows
        return _unfiltered(job, task, replace(plan, rows=rows, whole=rows.covers(found.columns.row_count)), scratch)
    proof, columns = found.proof, found.columns

    def general_way(known: tuple[Bytes, int] | None = None) -> FilteredGroup:
        return FilteredGroup(job, file, plan, proof, columns, scratch, job.metrics.group(), task.limit, known)

    if plan.whole and is_read_whole(proof, columns.row_count):
        groups = whole_groups(job, file)
        if groups.takes(plan, columns.row_count, task.limit):
            return groups.batches(plan, proof, columns.row_count, scratch, general_way)
    else:
        lookups = lookup_groups(job, file)
        pages = lookups.find_pages(proof, columns, task.limit)
        if pages is not None:
            return lookups.batches(pages, proof, columns, scratch, general_way)
    return general_way().batches()


def _unfiltered(job: ScanJob, task: GroupTask, plan: GroupPlan, scratch: Scratch) -> Iterator[Batch]:
    if not task.file.leaves:
        return bare_batches(job, task.file.source.name, plan.row_group, plan.rows.row_count)
    return GroupScan(job, task.file, plan, scratch).batches()


def prove_group(
    job: ScanJob, task: GroupTask, columns: GroupColumns, scratch: Scratch, stages: Sequence[str] = STAGES
) -> GroupProof:
    """Which rows of a row group are left to be tested, and with what."""
    file, rows = task.file, task.plan.rows
    assert file.predicate is not None
    if file.prover is None or task.verdicts is None:
        return GroupProof(rows, (RowRanges(()),) * len(file.predicate.conjuncts))
    probe = GroupProbe(file, columns, scratch)
    proof = file.prover.prove(task.verdicts, rows, columns.row_count, probe, stages)
    saved = (0, 0)
    if job.explains and proof.rows and proof.dropped:
        saved = columns.left_out({*file.leaves, *file.predicate.leaves}, rows, proof.rows)
    job.metrics.proved(proof, saved)
    return proof


def run_groups(
    tasks: Iterator[GroupTask],
    job: ScanJob,
    threads: int,
    finish: Callable[[Batch], T],
    ahead: int | None,
) -> Generator[T, None, None]:
    """The batches of all row groups in order, each handed to `finish` on the thread that decoded it.

    `ahead` bounds the finished batches that wait for the consumer (None: no bound).
    """
    if threads > 1:
        tasks, has_several = _peeked(tasks, threads)
        if has_several:
            return _Workers(tasks, job, threads, finish, ahead).results()
    return _run_here(tasks, job, finish)


def _peeked(tasks: Iterator[GroupTask], threads: int) -> tuple[Iterator[GroupTask], bool]:
    """The tasks, and whether there are two or more: one alone is not worth a thread (0.2 ms to start and hand over).

    Of few large row groups each is cut, so that no thread has to wait long for the last one.
    """
    seen: list[GroupTask] = []
    wanted = 2
    try:
        for task in tasks:
            seen.append(task)
            if len(seen) == 1 and is_divisible(task):
                wanted = FEW_GROUPS * threads
            if len(seen) == wanted:
                return chain(seen, tasks), True
    except Exception as error:  # comes after the rows before it, as without a look ahead
        return chain(seen, _failing(error)), len(seen) > 1
    seen = divide(seen, FEW_GROUPS * threads)
    return iter(seen), len(seen) > 1


def _failing(error: Exception) -> Iterator[GroupTask]:
    raise error
    yield  # a generator: raises when it is asked


def _run_here(tasks: Iterator[GroupTask], job: ScanJob, finish: Callable[[Batch], T]) -> Generator[T, None, None]:
    scratch = Scratch()
    try:
        with OpenFile() as held:
            for run in runs_of(tasks, job):
                joined = joined_batch(run, job, scratch) if len(run) > 1 else None
                if joined is not None:
                    try:
                        item = finish(joined)
                    except HardwoodError:  # of which row group, the general way says
                        item = None
                    if item is not None:
                        yield item
                        continue
                for task in run:
                    held.turn_to(task.file.source)
                    for batch in group_batches(job, task, scratch):
                        yield finish(batch)
    finally:
        scratch.release()


class OpenFile:
    """The file that a thread reads, open from the first of its row groups to the last (50 µs to open, check, close)."""

    def __init__(self) -> None:
        self._source: Source | None = None
        self._block: AbstractContextManager[Source] | None = None

    def __enter__(self) -> OpenFile:
        return self

    def turn_to(self, source: Source) -> None:
        """Open this file and close the one before, if it is another; the same one must still be what it was."""
        if source is self._source:
            source.check_unchanged()
        else:
            self.close()
            block = source.open()
            block.__enter__()
            self._source, self._block = source, block

    def close(self) -> None:
        block, self._source, self._block = self._block, None, None
        if block is not None:
            block.__exit__(None, None, None)

    def __exit__(self, *_: object) -> None:
        self.close()


class _Workers(Generic[T]):
    """Threads that each take the next row group; the consumer sees results in the groups' order."""

    def __init__(
        self,
        tasks: Iterator[GroupTask],
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

    def results(self) -> Generator[T, None, None]:
        workers = [threading.Thread(target=self._work, name="hardwood_jit", daemon=True) for _ in range(self._threads)]
        try:
            for worker in workers:
                worker.start()
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
            self._cancelled = True  # first of all: a second interrupt may come in the next line
            with self._changed:
                self._changed.notify_all()
            # The garbage collector may end this generator on one of its own threads, even while that holds the lock.
            if threading.current_thread() not in workers:
                for worker in workers:
                    if worker.ident is not None:  # an interrupt may come before all of them have started
                        worker.join()

    def _ready(self) -> bool:
        if not self._queues:
            return self._exhausted
        if self._ahead is None and not (self._exhausted and all(queue.ended for queue in self._queues)):
            return False  # a consumer that wakes for every batch takes the interpreter lock from those who work
        first = self._queues[0]
        return bool(first.items) or first.ended

    def _work(self) -> None:
        scratch = Scratch()
        try:
            with OpenFile() as held:
                self._work_with(held, scratch)
        finally:
            scratch.release()

    def _work_with(self, held: OpenFile, scratch: Scratch) -> None:
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
                held.turn_to(task.file.source)
                self._run(task, queue, scratch)
            except BaseException as error:
                queue.error = error
            with self._changed:
                queue.ended = True
                if queue.error is not None:
                    self._exhausted = True  # nothing after an error is ever seen
                if self._ahead is not None or self._exhausted:
                    self._changed.notify_all()

    def _run(self, task: GroupTask, queue: _Queue[T], scratch: Scratch) -> None:
        for batch in group_batches(self._job, task, scratch):
            item = self._finish(batch)
            with self._changed:
                while not self._cancelled and self._is_full(queue):
                    self._changed.wait(LOOK_AGAIN)
                if self._cancelled:
                    return
                queue.items.append(item)
                self._waiting += 1
                if self._ahead is not None:
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
