"""One row group under a filter: conjunct by conjunct over windows of rows, then the outputs of the rows that are left.

One pass: filter and output columns move through the row group together. A page without a candidate is never
decompressed, a column that is filtered and selected is decompressed once, and the bytes of output columns are not even
read before a row has passed.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from hardwood_jit.batch import Batch, Column
from hardwood_jit.group_columns import GroupColumns, ScanFile
from hardwood_jit.group_scan import ScanJob, bare_batches
from hardwood_jit.group_state import GroupState
from hardwood_jit.memory import Scratch
from hardwood_jit.metrics import GroupMetrics
from hardwood_jit.page_map import LEAST_CHUNK
from hardwood_jit.plan.bound import Node, ValueTest
from hardwood_jit.plan.prune import GroupProof
from hardwood_jit.plan.row_ranges import RowRanges
from hardwood_jit.plan.scan_plan import GroupPlan
from hardwood_jit.plan.segments import Segment, cut_segments
from hardwood_jit.survivor_columns import SurvivorColumns

if TYPE_CHECKING:
    from hardwood_jit.jit.conjunct import Window
    from hardwood_jit.jit.survivors import Positions
    from hardwood_jit.jit.value_decoder import Bytes
    from hardwood_jit.metadata.schema import Leaf

WINDOW_ROWS = 1 << 19
WHOLE_SHARE = 0.75  # of a row group's rows: above, all of it is read and its whole chunks go to one kernel each
FIRST_ROWS = 8192  # of the first window where a limit may end the scan; the next ones double
FEW_SURVIVORS = 64
LONG_CHUNK = 256 << 10  # stored bytes
JOINED_SHARE = 0.5  # pieces of several windows are joined until a batch is this full


def is_read_whole(proof: GroupProof, row_count: int) -> bool:
    """Whether all pages of a row group are read, because proofs leave most of its rows to be tested."""
    if proof.rows.row_count <= WHOLE_SHARE * row_count:
        return False
    untested = proof.rows
    for sure in proof.certain:
        untested = untested.intersect(sure)
    # Pages of filter columns where nothing is left to test are not read.
    return untested.row_count <= WHOLE_SHARE * row_count


class FilteredGroup:
    """One row group: windows are filtered, survivors gathered and handed out in batches."""

    def __init__(
        self,
        job: ScanJob,
        file: ScanFile,
        plan: GroupPlan,
        proof: GroupProof,
        columns: GroupColumns,
        scratch: Scratch,
        measured: GroupMetrics,
        limit: int | None = None,
        known: tuple[Bytes, int] | None = None,
    ) -> None:
        """`known` are the survivors of the row group, as a mask and their number, where they are found already."""
        from hardwood_jit.jit.conjunct import Narrower

        assert file.predicate is not None
        self._job = job
        self._file = file
        self._plan = plan
        self._proof = proof
        self._scratch = scratch
        self._row_count = columns.row_count
        self._limit = limit
        self._left = limit  # rows that this row group may still deliver
        self._segments = self._cut()
        # One window holds all rows: then whole chunks may be filtered and gathered by one call each.
        is_single = self._is_whole and self._row_count <= WINDOW_ROWS and self._left is None
        self._state = GroupState(file, columns, job.wanted, scratch, is_single=is_single)
        self._decoders = self._state.decoders
        self._rows = RowRanges.of([(segment.start, segment.stop) for segment in self._segments])
        active = sorted({number for segment in self._segments for number in segment.conjuncts})
        self._conjuncts = {number: file.predicate.conjuncts[number] for number in active}
        self._order = {id(node): rank for rank, node in enumerate(job.order.of(list(self._conjuncts.values())))}
        self._filter_rows = self._rows_of_filters()
        self._filter_leaves = [leaf for leaf in file.predicate.leaves if leaf.index in self._filter_rows]
        self._prepared = file.tests()
        self._narrower = Narrower(self._prepared, self._decoders, scratch)
        self.measured = measured
        self._known = known
        self._survivors = SurvivorColumns(self._state, file.leaves, job.wanted, scratch, job.options.checksums)
        self._pieces: list[tuple[Column, ...]] = []
        self._piece_rows = 0

    def _cut(self) -> list[Segment]:
        """Where proofs leave only part of a row group, those pages are read; else all, with a mask on the rows."""
        self._is_whole = self._plan.whole and is_read_whole(self._proof, self._row_count)
        if self._is_whole:
            return [Segment(0, self._row_count, self._proof.to_be_tested)]
        return cut_segments(self._proof)

    def _rows_of_filters(self) -> dict[int, RowRanges]:
        """Per leaf of a filter the rows that some conjunct must see it in."""
        found: dict[int, list[tuple[int, int]]] = {}
        for segment in self._segments:
            for number in segment.conjuncts:
                for leaf in self._conjuncts[number].leaves:
                    found.setdefault(leaf.index, []).append((segment.start, segment.stop))
        if len(self._segments) == 1:
            return dict.fromkeys(found, self._rows)
        outputs = {leaf.index for leaf in self._file.leaves}
        everywhere = [(segment.start, segment.stop) for segment in self._segments]
        return {index: RowRanges.of(everywhere if index in outputs else pairs) for index, pairs in found.items()}

    def _needed_rows(self, leaf: Leaf) -> RowRanges:
        return self._filter_rows.get(leaf.index, self._rows)

    def batches(self) -> Iterator[Batch]:
        try:
            yield from self._filtered()
        except GeneratorExit:  # a limit is reached: nobody asks for the rest
            self._close()
            raise

    def _filtered(self) -> Iterator[Batch]:
        if self._known is not None:
            yield from self._known_rows(*self._known)
            return
        started = time.perf_counter_ns()
        in_steps = self._left is not None  # stops somewhere: nothing is read ahead
        if self._job.metrics.outputs_are_likely and not in_steps:
            # Row groups without a match are rare here: then fewer and larger reads serve better.
            self._state.fetch(self._all_leaves(), "filter", self._needed_rows)
        else:
            self._state.fetch(self._filter_leaves, "filter", self._needed_rows, in_steps=in_steps)
        step = WINDOW_ROWS if self._left is None else FIRST_ROWS
        for segment in self._segments:
            position = segment.start
            while position < segment.stop and self._left != 0:
                begin = position
                position, mask, count, window = self._filter(begin, min(segment.stop, begin + step), segment)
                self.measured.rows_in += self._proof.rows.clip(begin, position).row_count
                step = min(2 * step, WINDOW_ROWS)
                if count:
                    for batch in self._collect(window, mask, count):
                        self.measured.busy_ns += time.perf_counter_ns() - started
                        yield batch
                        started = time.perf_counter_ns()
                self.measured.peak_page_bytes = max(self.measured.peak_page_bytes, self._state.held_bytes)
        yield from self._flush()
        if self._is_whole and self._left is None:
            self._state.check_complete(self._filter_leaves)
        self.measured.busy_ns += time.perf_counter_ns() - started
        self._close()

    def _known_rows(self, mask: Bytes, count: int) -> Iterator[Batch]:
        """The output columns of survivors that somebody else has found."""
        from hardwood_jit.jit.conjunct import Window

        started = time.perf_counter_ns()
        window = Window(0, self._row_count, self._decoders, self._scratch)
        for batch in self._collect(window, mask, count):
            self.measured.busy_ns += time.perf_counter_ns() - started
            yield batch
            started = time.perf_counter_ns()
        self.measured.peak_page_bytes = max(self.measured.peak_page_bytes, self._state.held_bytes)
        yield from self._flush()
        self.measured.busy_ns += time.perf_counter_ns() - started
        self._close()

    def _all_leaves(self) -> list[Leaf]:
        leaves = {leaf.index: leaf for leaf in (*self._filter_leaves, *self._file.leaves)}
        return list(leaves.values())

    def _close(self) -> None:
        self.measured.groups_with_rows += self.measured.rows_out > 0 and not self._plan.is_rest
        self._state.close(self.measured, self._filter_leaves, self._file.leaves)
        self.measured.row_groups += not self._plan.is_rest
        for conjunct in self._conjuncts.values():
            self.measured.kernels.setdefault(conjunct.text, {}).update(self._narrower.kernels_of(conjunct))
        self._job.metrics.add(self.measured)

    # Filtering

    def _filter(self, start: int, stop: int, segment: Segment) -> tuple[int, Bytes, int, Window]:
        """Rows start .. stop, or fewer where memory says so: the new stop, the mask and number of survivors."""
        from hardwood_jit.jit.conjunct import Window
        from hardwood_jit.jit.value_decoder import WindowTooLarge

        self._state.is_filtering = True
        conjuncts = [self._conjuncts[number] for number in segment.conjuncts]
        conjuncts.sort(key=lambda node: self._order[id(node)])
        while True:
            if not self._state.is_single:
                for leaf in {leaf.index: leaf for node in conjuncts for leaf in node.leaves}.values():
                    decoder = self._decoders[leaf.index]
                    if decoder.is_flat:
                        stop = decoder.reach(start, stop)
            window = Window(start, stop, self._decoders, self._scratch)
            try:
                mask, count = self._narrow(window, conjuncts)
                return stop, mask, count, window
            except WindowTooLarge as large:
                self._state.is_single = False
                stop = start + large.smaller(stop - start)

    def _narrow(self, window: Window, conjuncts: Sequence[Node]) -> tuple[Bytes, int]:
        mask, count = self._candidates(window)
        measured = self.measured
        for number, conjunct in enumerate(conjuncts):
            if not count:
                break
            if number or count < mask.size:
                window.shrink(mask)
            count = self._clear_pages(conjunct, window, mask, count)
            if not count:
                break
            before, started = count, time.perf_counter_ns()
            left = self._narrow_chunk(conjunct, mask)
            count = self._narrower.narrow(conjunct, window, mask, count) if left is None else left
            measured.conjunct(conjunct.text, before, count, time.perf_counter_ns() - started, mask.size)
        return mask, count

    def _candidates(self, window: Window) -> tuple[Bytes, int]:
        """A mask of the window's rows that proofs have left, and how many they are."""
        size = window.stop - window.start
        mask = self._scratch.arena("mask").room(size)[:size]
        rows = self._proof.rows.clip(window.start, window.stop)
        if rows.covers(size):
            mask[:] = 1
            return mask, size
        mask[:] = 0
        for start, stop in rows:
            mask[start:stop] = 1
        return mask, rows.row_count

    def _clear_pages(self, conjunct: Node, window: Window, mask: Bytes, count: int) -> int:
        """Rows of pages that their headers exclude are no candidates any more: how many candidates are left."""
        proofs = self._file.header_proofs
        if proofs is None or not isinstance(conjunct, ValueTest) or not proofs.is_worth_it(conjunct):
            return count
        started = time.perf_counter_ns()
        pages = proofs.clear(conjunct, self._state.pages_under(conjunct.leaf, window.start, window.stop), mask)
        left = int(np.count_nonzero(mask)) if pages else count
        self._job.metrics.headers(pages, count - left, time.perf_counter_ns() - started)
        return left

    def _narrow_chunk(self, conjunct: Node, mask: Bytes) -> int | None:
        """A test of one column on its whole chunk: candidates left; None where it goes the general way."""
        if not isinstance(conjunct, ValueTest) or conjunct.quantifier is not None:
            return None
        chunk = self._state.chunk(conjunct.leaf)
        if chunk is None:
            return None
        return chunk.narrow(self._prepared[id(conjunct)], mask, self._job.options.checksums)

    # Gathering

    def _collect(self, window: Window, mask: Bytes, count: int) -> Iterator[Batch]:
        """Gather the outputs of a window's survivors; batches that are full come out."""
        from hardwood_jit.jit.kernel_cache import load

        if not self._file.leaves:
            passed = count if self._left is None else min(count, self._left)
            self._left = None if self._left is None else self._left - passed
            self.measured.rows_out += passed
            self._piece_rows += passed
            return
        positions = np.empty(count + 8, np.int32)
        load("select.list_positions")(mask, 0, mask.size, positions)
        positions = positions[:count]
        if self._left is not None:
            positions = positions[: self._left]
            self._left -= len(positions)
        self.measured.rows_out += len(positions)
        self._fetch_outputs(window, positions)
        step = self._job.survivors_per_batch(len(self._file.leaves))
        for low in range(0, len(positions), step):
            yield from self._gather(window, positions[low : low + step], len(positions) <= step)

    def _gather(self, window: Window, positions: Positions, once: bool) -> Iterator[Batch]:
        """The output columns, joined with those of the windows before as far as a batch has room for them.

        `once`: these are all survivors of the window.
        """
        self._state.is_filtering = False
        limit = self._job.survivors_per_batch(len(self._file.leaves))
        for piece in self._survivors.gather(window, positions, once):
            taken = piece[0].record_count
            if self._pieces and (self._piece_rows + taken > limit or not all(map(_can_join, self._pieces[0], piece))):
                yield from self._flush()
            self._pieces.append(piece)
            self._piece_rows += taken
            if self._piece_rows >= limit * JOINED_SHARE:
                yield from self._flush()

    def _fetch_outputs(self, window: Window, positions: Positions) -> None:
        """The bytes of the output columns; of few survivors only their pages, where an offset index tells them."""
        leaves, needed = self._file.leaves, self._needed_rows
        in_steps = self._limit is not None
        few = len(positions) <= FEW_SURVIVORS and window.stop - window.start == self._rows.row_count and not in_steps
        if few:
            start = window.start
            hit = RowRanges.of((start + row, start + row + 1) for row in positions.tolist())

            def needed(leaf: Leaf) -> RowRanges:
                return self._needed_rows(leaf) if leaf.layers or not self._is_long(leaf) else hit

        self._state.fetch(leaves, "output", needed, in_steps=in_steps)

    def _is_long(self, leaf: Leaf) -> bool:
        """Whether leaving pages of a column out saves enough to be worth a look at where they are."""
        chunk = self._file.metadata.row_groups[self._plan.row_group].columns[leaf.index]
        if chunk.offset_index_range is None:
            return self._file.source.has_quick_reads and chunk.total_compressed_size >= LEAST_CHUNK
        return chunk.total_compressed_size >= LONG_CHUNK

    def _flush(self) -> Iterator[Batch]:
        from hardwood_jit.jit.survivors import join_columns

        if not self._piece_rows:
            return
        if not self._file.leaves:
            rows, self._piece_rows = self._piece_rows, 0
            yield from bare_batches(self._job, self._file.source.name, self._plan.row_group, rows)
            return
        columns = tuple(join_columns(parts) for parts in zip(*self._pieces, strict=True))
        batch = Batch(self._job.schema, columns, self._piece_rows, self._file.source.name, self._plan.row_group)
        self._pieces, self._piece_rows = [], 0
        self._job.note(batch)
        yield batch


def _can_join(one: Column, other: Column) -> bool:
    from hardwood_jit.jit.survivors import can_join

    return can_join(one, other)
