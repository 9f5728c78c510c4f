"""A few rows of one row group, all columns at once: pages chosen by offset indexes, read, tested and taken from.

For look-ups: metadata has left few rows of a row group of flat columns to one test of one column. Of 4.9 ms that a
sorted key took to sixteen columns of lineitem, two thirds were Python steps per column. Whatever is not for these
kernels is left to cascade.py.
"""

from __future__ import annotations

import time
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hardwood_jit.batch import Batch
from hardwood_jit.cascade import FEW_SURVIVORS, FilteredGroup
from hardwood_jit.group_columns import pages_of_rows
from hardwood_jit.group_scan import bare_batches
from hardwood_jit.header_proofs import LEAST_PAGE
from hardwood_jit.memory import Scratch
from hardwood_jit.metrics import ColumnMetrics, GroupMetrics
from hardwood_jit.physical import Codec
from hardwood_jit.plan.bound import ValueTest
from hardwood_jit.plan.segments import cut_segments
from hardwood_jit.row_limits import skip_and_head
from hardwood_jit.source import merge_ranges

if TYPE_CHECKING:
    from hardwood_jit.group_columns import GroupColumns, ScanFile
    from hardwood_jit.group_scan import ScanJob
    from hardwood_jit.jit.lookup_kernel import LookupKernel, StoredPages
    from hardwood_jit.jit.value_decoder import Bytes
    from hardwood_jit.metadata.schema import Leaf
    from hardwood_jit.plan.prune import GroupProof

IS_USED = True  # tests compare with the general way
MOST_ROWS = 1 << 16  # that may pass: of more, decoding pages as a whole is worth its steps
MOST_BYTES = 8 << 20  # read at once
KEPT_GROUPS = 16  # whose pages are known to the next look-up
CODECS = frozenset({int(Codec.SNAPPY), int(Codec.UNCOMPRESSED)})


@dataclass(slots=True)
class ColumnPages:
    """Where a column's pages are in the file and which rows they hold, from its offset index."""

    codec: int
    dictionary: tuple[int, int] | None  # before the first data page
    starts: list[int]
    stops: list[int]
    firsts: list[int]  # rows, and the number of all at the end

    def of_rows(self, rows: Sequence[int]) -> list[int]:
        """The pages of a few rows, which rise."""
        chosen: list[int] = []
        stop = -1
        for row in rows:
            if row >= stop:
                page = bisect_right(self.firsts, row) - 1
                chosen.append(page)
                stop = self.firsts[page + 1]
        return chosen

    def ranges(self, pages: Sequence[int]) -> list[tuple[int, int]]:
        """(offset, length) of the dictionary and those pages, in the order of the file."""
        found = [] if self.dictionary is None else [self.dictionary]
        starts, stops = self.starts, self.stops
        found += [(starts[page], stops[page] - starts[page]) for page in pages]
        return found

    def rows_of(self, pages: Sequence[int]) -> list[tuple[int, int]]:
        return [(self.firsts[page], self.firsts[page + 1]) for page in pages]


class LookupGroups:
    """What is the same for all row groups of a file: the test and the columns."""

    def __init__(self, job: ScanJob, file: ScanFile) -> None:
        from hardwood_jit.jit.group_kernel import GroupOutputs, is_takeable, is_testable
        from hardwood_jit.jit.lookup_kernel import are_built

        assert file.predicate is not None
        self._job = job
        self._file = file
        self._memo: dict[Any, Any] = file.metadata.memo
        self.is_possible = False
        if not IS_USED:
            return
        conjuncts = file.predicate.conjuncts
        if len(conjuncts) != 1 or not isinstance(conjuncts[0], ValueTest) or conjuncts[0].quantifier is not None:
            return
        self._test = file.tests()[id(conjuncts[0])]
        if self._test.numbers is None:  # texts go the general way
            return
        if not is_testable(self._test) or not all(map(is_takeable, file.leaves, job.wanted)) or not are_built():
            return
        filtered = self._test.leaf
        self._leaves: list[Leaf] = [filtered, *(leaf for leaf in file.leaves if leaf.index != filtered.index)]
        places = {leaf.index: number for number, leaf in enumerate(self._leaves)}
        self._filter_is_output = len(self._leaves) == len(file.leaves)
        self._columns = tuple(leaf.index for leaf in self._leaves)
        if self._columns in self._memo.get("no lookups", ()):
            return
        self._outputs = GroupOutputs(file.leaves, job.wanted, [places[leaf.index] for leaf in file.leaves])
        self.is_possible = len(places) == len(self._leaves)  # no column twice

    def find_pages(self, proof: GroupProof, columns: GroupColumns, limit: int | None) -> list[ColumnPages] | None:
        """The pages of all columns of a row group; None where it is not filtered here."""
        if not self.is_possible or limit is not None or proof.rows.row_count > MOST_ROWS:
            return None
        if self._job.metrics.outputs_are_likely:  # then all is read at once
            return None
        if any(segment.conjuncts != (0,) for segment in cut_segments(proof)):
            return None
        kept: dict[int, dict[int, ColumnPages | None]] = self._memo.setdefault("column pages", {})
        group = columns.group.index
        known = kept.get(group)
        if known is None:
            if len(kept) >= KEPT_GROUPS:
                kept.clear()
            known = kept[group] = {}
        missing = [leaf for leaf in self._leaves if leaf.index not in known]
        if missing:
            columns.indexes.load((), missing)
            for leaf in missing:
                known[leaf.index] = _column_pages(leaf, columns)
        found = [known[leaf.index] for leaf in self._leaves]
        pages = [part for part in found if part is not None]
        return pages if len(pages) == len(found) else None

    def batches(
        self,
        parts: list[ColumnPages],
        proof: GroupProof,
        columns: GroupColumns,
        scratch: Scratch,
        rest: Callable[[], FilteredGroup],
    ) -> Iterator[Batch]:
        """The batches of a row group; `rest` makes the general way for what kernels decline."""
        from hardwood_jit.jit.lookup_kernel import LookupKernel

        job, options = self._job, self._job.options
        started = time.perf_counter_ns()
        group, row_count, rows = columns.group.index, columns.row_count, proof.rows
        kernel = LookupKernel(len(self._leaves), row_count, scratch, options.checksums, options.max_page_bytes)
        pages = pages_of_rows(parts[0].firsts[:-1], row_count, rows)
        if not self._open(kernel, 0, parts[:1], [pages], scratch) or self._has_header_proofs(kernel):
            yield from self._declined(rest)
            return
        tested = time.perf_counter_ns()
        count = kernel.find(self._test, rows.pairs)
        if count < 0:
            yield from self._declined(rest)
            return
        measured = job.metrics.group()
        measured.rows_in += rows.row_count
        node = self._test.test
        span = rows.pairs[-1][1] - rows.pairs[0][0]
        measured.conjunct(node.text, rows.row_count, count, time.perf_counter_ns() - tested, span)
        measured.kernels[node.text] = {f"lookup(c0: {node.leaf.physical_type})": "prepared"}
        if count and len(self._leaves) > 1:
            if count <= FEW_SURVIVORS:
                hit = kernel.rows_found(count)
                chosen = [part.of_rows(hit) for part in parts[1:]]
            else:
                chosen = [pages_of_rows(part.firsts[:-1], row_count, rows) for part in parts[1:]]
            if not self._open(kernel, 1, parts[1:], chosen, scratch):
                yield from self._declined(rest)
                return
        low = 0
        while low < count and self._file.leaves:
            high = min(count, low + self._job.survivors_per_batch(len(self._file.leaves)))
            found = kernel.take(self._outputs, low, high)
            if found is None:
                yield from self._declined(rest, low)
                return
            batch = Batch(job.schema, found, high - low, self._file.source.name, group)
            job.note(batch)
            low = high
            measured.busy_ns += time.perf_counter_ns() - started
            yield batch
            started = time.perf_counter_ns()
        measured.rows_out += count
        self._count_columns(kernel, measured)
        measured.row_groups += 1
        measured.groups_with_rows += count > 0
        measured.busy_ns += time.perf_counter_ns() - started
        job.metrics.add(measured)
        if not self._file.leaves:
            yield from bare_batches(job, self._file.source.name, group, count)

    def _declined(self, rest: Callable[[], FilteredGroup], done: int = 0) -> Iterator[Batch]:
        """The general way, without the rows that are out already; also for all look-ups in these columns to come."""
        self.is_possible = False
        known: set[tuple[int, ...]] = self._memo.setdefault("no lookups", set())
        if len(known) < KEPT_GROUPS:
            known.add(self._columns)
        found = rest().batches()
        yield from skip_and_head(found, lambda: done, None) if done else found

    def _open(
        self,
        kernel: LookupKernel,
        first: int,
        columns: Sequence[ColumnPages],
        chosen: Sequence[Sequence[int]],
        scratch: Scratch,
    ) -> bool:
        """Read pages of the columns from number `first` on: whether they are for these kernels."""
        from hardwood_jit.jit.lookup_kernel import StoredPages

        ranges = [part.ranges(pages) for part, pages in zip(columns, chosen, strict=True)]
        merged = merge_ranges([place for places in ranges for place in places], 0)
        total = sum(length for _, length in merged)
        if total > MOST_BYTES:
            return False
        raw = scratch.arena(("raw", "output" if first else "filter")).room(total)
        outs: list[Bytes] = []
        places: dict[int, int] = {}  # file offset -> place in the buffer, of what was read at once
        used = 0
        for offset, length in merged:
            outs.append(raw[used : used + length])
            places[offset] = used
            used += length
        self._file.source.read_ranges(merged, outs)
        offsets = list(places)
        parts: list[StoredPages] = []
        for number, (part, pages, own) in enumerate(zip(columns, chosen, ranges, strict=True), first):
            start = stop = -1
            for offset, length in own:
                at = offsets[bisect_right(offsets, offset) - 1]
                place = places[at] + offset - at
                if stop < 0:
                    start = place
                elif stop != place:  # chunks that overlap
                    return False
                stop = place + length
            parts.append(StoredPages(self._leaves[number], part.codec, start, stop, part.rows_of(pages)))
        return kernel.open(raw, parts, only_output=first > 0)

    def _has_header_proofs(self, kernel: LookupKernel) -> bool:
        """Whether page headers have statistics that may be worth a look, which is the general way's."""
        proofs = self._file.header_proofs
        return proofs is not None and proofs.is_worth_it(self._test.test) and kernel.has_statistics(LEAST_PAGE)

    def _count_columns(self, kernel: LookupKernel, measured: GroupMetrics) -> None:
        measured.peak_page_bytes = max(measured.peak_page_bytes, kernel.held_bytes)
        for number, facts in enumerate(kernel.pages()):
            is_output = number > 0 or self._filter_is_output
            measured.column(self._leaves[number].dotted, ColumnMetrics(*facts, number == 0, is_output))


def _column_pages(leaf: Leaf, columns: GroupColumns) -> ColumnPages | None:
    """The pages of a column; None where there is no offset index, or the chunk is not one for these kernels."""
    index = columns.indexes.offset_index(leaf)
    facts = columns.facts(leaf)
    if index is None or facts.codec not in CODECS or not index.page_count:
        return None
    starts = index.offsets.tolist()
    if starts[0] < facts.start:
        return None
    dictionary = (facts.start, starts[0] - facts.start) if starts[0] > facts.start else None
    firsts = [*index.first_rows.tolist(), index.row_count]
    return ColumnPages(facts.codec, dictionary, starts, (index.offsets + index.sizes).tolist(), firsts)


def lookup_groups(job: ScanJob, file: ScanFile) -> LookupGroups:
    """What a scan knows about look-ups in a file, made for the first of its row groups."""
    found = file.lookup_groups
    if found is None:
        found = file.lookup_groups = LookupGroups(job, file)
    return found
