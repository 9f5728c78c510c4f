"""Scan: what to read of a dataset, narrowed step by step, and the terminals that read it."""
# mypy: disable-error-code="import-untyped"

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from hardwood_jit.batch import Batch
from hardwood_jit.errors import CorruptFileError
from hardwood_jit.kernels import tables
from hardwood_jit.memory import Scratch
from hardwood_jit.metadata.footer_cache import footer_cache
from hardwood_jit.metadata.schema import Leaf, Schema
from hardwood_jit.options import BATCH_BYTES
from hardwood_jit.physical import NUMBERS
from hardwood_jit.plan.bind import bind
from hardwood_jit.plan.predicate import Col, Predicate, as_predicate
from hardwood_jit.plan.row_ranges import RowRanges
from hardwood_jit.plan.scan_plan import GroupPlan, Selection, plan_scan
from hardwood_jit.progress import Progress, ProgressOption
from hardwood_jit.row_limits import last_rows, skip_and_head

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa
    from numpy.typing import NDArray

    from hardwood_jit.dataset import Dataset
    from hardwood_jit.explain import Explanation
    from hardwood_jit.export.to_arrow import ArrowOptions
    from hardwood_jit.group_scan import ScanJob
    from hardwood_jit.plan.bound import BoundPredicate
    from hardwood_jit.rows import Row
    from hardwood_jit.scan_tasks import TaskPlanner

T = TypeVar("T")
ColumnName = str | tuple[str, ...]
DnfFilter = Sequence[Any]  # [("age", ">", 21), ...], or a list of such lists

TINY_GROUP = 32 << 10  # stored bytes: 1 000 files of 5 columns and 10 kB took two threads 2.5 times as long as one
TABLE_BATCH_BYTES = 12 << 20  # whole results are not bounded by a budget, so fewer and larger pieces serve better
# Flat numbers alone decode to little more than their pages: a window cuts pages of 1 MB, and each window walks those
# that it shares with the one before again (nine columns in row groups of a million rows: 157 ms instead of 192).
NUMBERS_BATCH_BYTES = 128 << 20


class Scan:
    """A lazy, immutable description of what to read. Methods return new scans; a terminal reads.

    >>> import hardwood_jit as hw
    >>> scan = hw.scan(trips).select("city", "fare").skip(1).head(2)
    >>> [dict(row) for row in scan.rows()]
    [{'city': 'Bergen', 'fare': None}, {'city': 'Córdoba', 'fare': 7.25}]
    """

    def __init__(self, dataset: Dataset, selection: Selection) -> None:
        self._dataset = dataset
        self._selection = selection
        self._bound: BoundPredicate | None = None  # once somebody has asked for it

    # Narrowing

    def select(self, *columns: ColumnName | Sequence[str]) -> Scan:
        """Only these columns, in this order: names, groups, dotted paths, tuples of names (always exact).

        >>> hw.scan(trips).select("fare", "id").head(1).to_arrow().to_pydict()
        {'fare': [12.5], 'id': [1]}
        """
        flat: list[ColumnName] = []
        for column in columns:
            if isinstance(column, list):
                flat.extend(column)
            elif isinstance(column, str | tuple):
                flat.append(column)
            else:
                raise TypeError(f"select() takes column names, not {column!r}")
        return self._with(replace(self._selection, columns=tuple(flat)))

    def filter(self, predicate: Predicate | Col | str | DnfFilter) -> Scan:
        """Only rows for which the predicate is definitely true; called again, both must be.

        Takes an expression, its text, or tuples as pyarrow and pandas do; its columns need not be selected.

        >>> from hardwood_jit import col
        >>> hw.scan(trips).filter(col("fare") > 10).select("id").to_numpy()["id"].tolist()
        [1, 4, 6]
        >>> hw.scan(trips).filter("fare > 10 and not city = 'Delft'").count()
        2
        >>> hw.scan(trips).filter([("fare", "<", 10)]).to_numpy()["id"].tolist()
        [3]
        """
        return self._with(self._selection.with_filter(as_predicate(predicate)))

    def skip(self, rows: int) -> Scan:
        """Without the first `rows` rows of the result.

        >>> hw.scan(trips).skip(4).to_numpy()["id"].tolist()
        [5, 6]
        """
        return self._with(self._selection.with_skip(rows))

    def head(self, rows: int) -> Scan:
        """Only the first `rows` rows of the result.

        >>> hw.scan(trips).skip(1).head(2).to_numpy()["id"].tolist()
        [2, 3]
        """
        return self._with(self._selection.with_head(rows))

    def tail(self, rows: int) -> Scan:
        """Only the last `rows` rows of the result.

        >>> hw.scan(trips).tail(2).to_numpy()["id"].tolist()
        [5, 6]
        """
        return self._with(self._selection.with_tail(rows))

    def byte_range(self, start: int, end: int) -> Scan:
        """Only row groups whose midpoint lies in [start, end): a split of one file.

        >>> size = trips.stat().st_size
        >>> sum(hw.scan(trips).byte_range(at, at + 100).count() for at in range(0, size, 100))
        6
        """
        return self._with(self._selection.with_byte_range(start, end))

    def row_ranges(self, ranges: Iterable[tuple[int, int]]) -> Scan:
        """Only these half-open ranges of physical row numbers, counted over the whole dataset.

        >>> hw.scan(trips).row_ranges([(0, 2), (5, 6)]).to_numpy()["id"].tolist()
        [1, 2, 6]
        """
        pairs = [(max(int(a), 0), int(b)) for a, b in ranges]
        return self._with(self._selection.with_row_ranges(RowRanges.of(pairs)))

    def batch_size(self, rows: int) -> Scan:
        """At most `rows` records per batch, instead of a size chosen by bytes.

        >>> [batch.num_rows for batch in hw.scan(trips).batch_size(2)]
        [2, 1, 2, 1]
        """
        if rows < 1:
            raise ValueError(f"batch_size({rows}): a batch has at least one row")
        return self._with(replace(self._selection, batch_size=int(rows)))

    def threads(self, count: int) -> Scan:
        """How many threads decode; the default is the number of CPUs this process may use.

        >>> hw.scan(trips).threads(1).to_numpy()["id"].tolist()
        [1, 2, 3, 4, 5, 6]
        """
        if count < 1:
            raise ValueError(f"threads({count}): at least one thread does the work")
        return self._with(replace(self._selection, threads=int(count)))

    def use_metadata(self, use: bool) -> Scan:
        """Switch pruning by statistics and indexes on or off; results do not change.

        >>> hw.scan(trips).use_metadata(False).count()
        6
        """
        return self._with(replace(self._selection, use_metadata=bool(use)))

    def _with(self, selection: Selection) -> Scan:
        return Scan(self._dataset, selection)

    # Facts

    @property
    def dataset(self) -> Dataset:
        """What the scan reads.

        >>> hw.scan(trips).head(2).dataset.num_rows
        6
        """
        return self._dataset

    @property
    def schema(self) -> Schema:
        """The schema of the result: only the selected columns, in the order asked.

        >>> [leaf.dotted for leaf in hw.scan(trips).select("tags", "id").schema.leaves]
        ['tags.list.element', 'id']
        """
        columns = self._selection.columns
        return self._dataset.schema if columns is None else self._dataset.schema.select(columns)

    # Terminals

    def batches(self, *, progress: ProgressOption = False) -> Iterator[Batch]:
        """Batches of numpy arrays, a few MiB each, in file order; arrays are fresh and may be kept.

        >>> [batch["id"].values.tolist() for batch in hw.scan(trips).batches()]
        [[1, 2, 3], [4, 5, 6]]
        """
        from hardwood_jit.jit.value_decoder import Wanted

        return self._run(lambda leaf: Wanted(), _same, bounded=True, progress=progress)

    def __iter__(self) -> Iterator[Batch]:
        return self.batches()

    def rows(self, *, progress: ProgressOption = False) -> Iterator[Row]:
        """One mapping per record, with logical Python values.

        >>> [row["city"] for row in hw.scan(trips).rows() if row["fare"] is None]
        ['Bergen', 'Évora']
        """
        from hardwood_jit.rows import rows_of

        for batch in self.batches(progress=progress):
            yield from rows_of(batch)

    def to_arrow(
        self,
        *,
        strings: str = "contiguous",
        dictionary: Iterable[str] = (),
        int96: str = "ns",
        progress: ProgressOption = False,
    ) -> pa.Table:
        """The whole result as a pyarrow Table.

        `strings="view"` exports text as string views, `dictionary` names columns that stay dictionary-encoded, and
        `int96="us"` gives instants beyond the range of nanoseconds.

        >>> hw.scan(trips).select("city", "tags").tail(2).to_arrow().to_pylist()
        [{'city': 'Évora', 'tags': ['new']}, {'city': 'Fürth', 'tags': []}]
        >>> str(hw.scan(trips).to_arrow(dictionary=["city"]).schema.field("city").type)
        'dictionary<values=string, indices=int32, ordered=0>'
        """
        options = _arrow_options(strings, dictionary, int96)
        from hardwood_jit.export.to_arrow import arrow_schema, table_from_batches

        schema = arrow_schema(self.schema, options)
        return table_from_batches(schema, list(self._arrow_batches(options, bounded=False, progress=progress)))

    def to_pandas(self, *, progress: ProgressOption = False) -> pd.DataFrame:
        """The whole result as a pandas DataFrame, as pyarrow would make it of `to_arrow`.

        >>> float(hw.scan(trips).to_pandas()["fare"].sum())
        67.75
        """
        _arrow_options()
        from hardwood_jit.export.to_pandas import to_pandas

        return to_pandas(self.to_arrow(progress=progress))

    def to_numpy(self, *, progress: ProgressOption = False) -> dict[str, NDArray[Any]]:
        """The whole result as arrays by leaf path; nulls are masked, text is StringDType, nested values are objects.

        >>> hw.scan(trips).select("fare").to_numpy()["fare"].tolist()
        [12.5, None, 7.25, 30.0, None, 18.0]
        """
        from hardwood_jit.export.to_numpy import to_numpy

        return to_numpy(self.batches(progress=progress), self.schema)

    def count(self) -> int:
        """Rows of the result; without a filter only footers are read, with one no output column.

        >>> hw.scan(trips).skip(2).count()
        4
        >>> hw.scan(trips).filter("fare is null").count()
        2
        """
        self._check_open()
        if self._selection.predicate is None:
            return sum(plan.rows.row_count for plan in self._plan())
        nothing = self._with(replace(self._selection, columns=()))
        return sum(batch.num_rows for batch in nothing.batches())

    def explain(self, *, analyze: bool = False) -> Explanation:
        """What the scan will do; with `analyze` it runs, and each step says what it kept, dropped and took.

        >>> explanation = hw.scan(trips).filter("fare > 10").select("id").explain(analyze=True)
        >>> [part["rows_out"] for part in explanation.as_dict()["conjuncts"]]
        [3]
        """
        from hardwood_jit.explain import Explanation, PlannedConjunct, report_stages

        self._check_open()
        selection = self._selection
        plans = list(self._plan())
        predicate = selection.predicate
        bound = self.bound_predicate()
        limits = [("skip", selection.skip), ("head", selection.head), ("tail", selection.tail)]
        found = Explanation(
            len(self._dataset.files),
            len(plans),
            sum(plan.rows.row_count for plan in plans),
            tuple(leaf.dotted for leaf in self.schema.leaves),
            None if predicate is None else str(predicate),
            tuple(f"{name} {rows}" for name, rows in limits if rows is not None),
            ()
            if bound is None
            else tuple(
                PlannedConjunct(part.text, tuple(leaf.dotted for leaf in part.leaves)) for part in bound.conjuncts
            ),
        )
        from hardwood_jit.jit.value_decoder import Wanted

        job = self._job(self.schema, lambda leaf: Wanted(), bounded=True)
        job.explains = True
        if analyze:
            self._analyze(found, job)
        elif bound is not None:
            self._prove_only(job)
        found.stages = report_stages(job.metrics, found.row_groups, found.rows)
        found.certain_groups, found.certain_rows = job.metrics.certain_groups, job.metrics.certain_rows
        return found

    def _analyze(self, found: Explanation, job: ScanJob) -> None:
        from hardwood_jit.jit.fused_kernels import FUSED

        before, started = self._dataset.counts, time.perf_counter()
        for batch in self._batches_of(job, _same, bounded=True, progress=False):
            found.rows_out += batch.num_rows
        found.seconds = time.perf_counter() - started
        found.read = self._dataset.counts - before
        found.measured = job.metrics.total
        found.sources = FUSED.sources()

    def _prove_only(self, job: ScanJob) -> None:
        """What footers, page indexes and bloom filters prove; no page is read."""
        from hardwood_jit.plan.prune import BLOOM, PAGE_INDEX
        from hardwood_jit.scanner import open_group

        for task in self._planner(job).tasks():
            open_group(job, task, Scratch(), (PAGE_INDEX, BLOOM))

    def __arrow_c_schema__(self) -> object:
        """The schema as an Arrow PyCapsule.

        >>> import pyarrow as pa
        >>> pa.schema(hw.scan(trips)).names
        ['id', 'city', 'fare', 'tags']
        """
        options = _arrow_options()
        from hardwood_jit.export.to_arrow import arrow_schema

        return arrow_schema(self.schema, options).__arrow_c_schema__()

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The batches as an Arrow PyCapsule; nothing is read before the first is asked for.

        >>> import pyarrow as pa
        >>> pa.table(hw.scan(trips).select("id")).num_rows
        6
        """
        options = _arrow_options()
        from hardwood_jit.export.to_arrow import arrow_schema, stream_capsule

        schema = arrow_schema(self.schema, options)
        return stream_capsule(schema, self._arrow_batches(options, bounded=True), requested_schema)

    # Running

    def _arrow_batches(
        self, options: ArrowOptions, *, bounded: bool, progress: ProgressOption = False
    ) -> Iterator[pa.RecordBatch]:
        from hardwood_jit.export.to_arrow import batch_to_arrow, wanted_forms

        wanted = wanted_forms(self.schema, options)
        return self._run(
            lambda leaf: wanted[leaf.index],
            lambda batch: batch_to_arrow(batch, options),
            bounded=bounded,
            progress=progress,
        )

    def _run(
        self,
        wanted: Callable[[Leaf], Any],
        finish: Callable[[Batch], T],
        *,
        bounded: bool,
        progress: ProgressOption = False,
    ) -> Iterator[T]:
        """All batches, finished on the threads that decode them. Nothing is read before the first is asked for."""
        self._check_open()
        return self._results(wanted, finish, bounded, progress)

    def _results(
        self, wanted: Callable[[Leaf], Any], finish: Callable[[Batch], T], bounded: bool, progress: ProgressOption
    ) -> Iterator[T]:
        try:
            yield from self._batches_of(self._job(self.schema, wanted, bounded), finish, bounded, progress)
        except CorruptFileError:
            for file in self._dataset.files:
                footer_cache.forget(file.source)
            raise

    def _batches_of(
        self, job: ScanJob, finish: Callable[[Batch], T], bounded: bool, progress: ProgressOption
    ) -> Iterator[T]:
        from hardwood_jit.group_scan import bare_batches
        from hardwood_jit.scanner import build_wanted_kernels, run_groups

        selection = self._selection
        filtered = selection.predicate is not None
        planner = self._planner(job)
        # How many rows pass is known when they have passed.
        meter = Progress.of(progress, lambda: sum(plan.rows.row_count for plan in self._plan()))
        with meter:
            counted = meter.counting(finish)
            if not job.schema.leaves and not filtered:  # rows without columns: nothing to read
                for plan in planner.plans():
                    yield from map(counted, bare_batches(job, "", plan.row_group, plan.rows.row_count))
            elif not filtered or (selection.skip is None and selection.head is None and selection.tail is None):
                threads = self._thread_count()
                yield from run_groups(planner.tasks(), job, threads, counted, 2 * threads if bounded else None)
            else:
                yield from map(counted, self._limited(job, planner))
        if filtered or job.joins_groups:
            build_wanted_kernels()

    def _limited(self, job: ScanJob, planner: TaskPlanner) -> Iterator[Batch]:
        """skip, head and tail count the rows that pass, in their order: after the threads."""
        from hardwood_jit.scanner import run_groups

        selection = self._selection
        threads = self._thread_count()
        limit = selection.tail if selection.tail is not None else selection.head
        if limit is not None:
            # A thread that works ahead of a limit works in vain: as many as row groups could not reach it.
            groups = self._dataset.files[0].metadata.group_rows
            limit += selection.skip or 0
            threads = max(1, min(threads, limit // max(int(groups.max(initial=1)), 1)))
        found = run_groups(planner.tasks(), job, threads, _same, 2 * threads)
        try:
            if selection.tail is not None:
                yield from last_rows(planner.counting(found), selection.tail)
            else:
                yield from skip_and_head(found, lambda: planner.skip_left, selection.head)
        finally:
            found.close()

    def _thread_count(self) -> int:
        chosen = self._selection.threads
        threads = chosen or default_threads()
        if any(file.source.is_remote for file in self._dataset.files):
            # While one waits for the bytes of the next row group, another decodes. The queue bounds what they hold.
            return max(threads, 2)
        return 1 if chosen is None and threads > 1 and self._has_tiny_groups() else threads

    def _has_tiny_groups(self) -> bool:
        """Whether a row group is so little work that threads would only wait for the interpreter lock."""
        metadata = self._dataset.files[0].metadata
        leaves = {leaf.index for leaf in self.schema.leaves if leaf.index < len(metadata.schema.leaves)}
        bound = self.bound_predicate()
        if bound is not None:
            leaves |= {leaf.index for leaf in bound.leaves if leaf.index < len(metadata.schema.leaves)}
        wanted = tuple(sorted(leaves))
        known: tuple[tuple[int, ...], int] | None = metadata.memo.get("stored bytes")
        if known is None or known[0] != wanted:
            stored = int(metadata.chunk_table[:, list(wanted), tables.CHUNK_COMPRESSED].sum())
            known = metadata.memo["stored bytes"] = wanted, stored
        return 0 < known[1] < TINY_GROUP * len(metadata.chunk_table)

    def _job(self, schema: Schema, wanted: Callable[[Leaf], Any], bounded: bool) -> ScanJob:
        from hardwood_jit.group_scan import ScanJob

        own_count = self._dataset._file_leaf_count
        return ScanJob(
            schema,
            tuple(wanted(leaf) for leaf in schema.leaves if leaf.index < own_count),
            self._dataset._options,
            self._selection.batch_size,
            BATCH_BYTES if bounded else self._table_batch_bytes(schema),
            not bounded and self._selection.predicate is None and self._selection.batch_size is None,
            self._dataset._partitions.row_bytes(schema.leaves, own_count),
        )

    def _table_batch_bytes(self, schema: Schema) -> int:
        """What a batch of a result that is kept as a whole may have; windows of candidates stay in the cache."""
        only_numbers = all(leaf.physical_type in NUMBERS and not leaf.layers for leaf in schema.leaves)
        return NUMBERS_BATCH_BYTES if only_numbers and self._selection.predicate is None else TABLE_BATCH_BYTES

    def _planner(self, job: ScanJob) -> TaskPlanner:
        from hardwood_jit.scan_tasks import TaskPlanner

        bound = None if self._dataset._partitions else self.bound_predicate()
        return TaskPlanner(self._dataset, self._selection, job.schema, job.metrics, bound)

    def _plan(self) -> Iterator[GroupPlan]:
        if self._selection.predicate is not None and self._dataset._partitions:
            from hardwood_jit.metrics import Metrics
            from hardwood_jit.scan_tasks import TaskPlanner

            return TaskPlanner(self._dataset, self._selection, self.schema, Metrics()).plans()
        files = self._dataset.files
        return plan_scan(self._selection, len(files), lambda number: files[number].metadata.row_groups)

    def bound_predicate(self) -> BoundPredicate | None:
        """The predicate bound to the first file's schema; None without one.

        >>> hw.scan(trips).filter("fare > 10").bound_predicate().conjuncts[0].leaf.dotted
        'fare'
        """
        predicate = self._selection.predicate
        if predicate is None:
            return None
        if self._bound is None:
            self._bound = bind(predicate, self._dataset.schema)
        return self._bound

    def _check_open(self) -> None:
        if self._dataset._closed:
            raise ValueError("the dataset is closed; open it again to read")

    def __repr__(self) -> str:
        return f"Scan({self._dataset!r}, {self._selection})"


def _same(batch: Batch) -> Batch:
    return batch


def _arrow_options(strings: str = "contiguous", dictionary: Iterable[str] = (), int96: str = "ns") -> ArrowOptions:
    from hardwood_jit.export.to_arrow import ArrowOptions

    names = [dictionary] if isinstance(dictionary, str) else dictionary
    return ArrowOptions(strings=strings, dictionary=frozenset(names), int96=int96)


def default_threads() -> int:
    """CPUs of this process; 1 inside a Spark worker, whose tasks already run side by side."""
    if os.environ.get("SPARK_ENV_LOADED") or os.environ.get("PYTHON_WORKER_FACTORY_PORT"):
        return 1
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
