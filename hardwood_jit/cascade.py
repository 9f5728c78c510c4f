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
from hardwood_jit.group_columns import ScanFile
from hardwood_jit.group_scan import ScanJob
from hardwood_jit.group_state import GroupState
from hardwood_jit.memory import Scratch
from hardwood_jit.plan.bound import Node, ValueTest
from hardwood_jit.plan.scan_plan import GroupPlan

if TYPE_CHECKING:
    from hardwood_jit.jit.column_decoder import ColumnDecoder
    from hardwood_jit.jit.conjunct import Window
    from hardwood_jit.jit.survivors import Positions
    from hardwood_jit.jit.value_decoder import Bytes
    from hardwood_jit.metadata.schema import Leaf

WINDOW_ROWS = 1 << 19
GAP_ROWS = 8192  # survivors of a nested column that lie farther apart are decoded apart
JOINED_SHARE = 0.5  # pieces of several windows are joined until a batch is this full


class FilteredGroup:
    """One row group: windows are filtered, survivors gathered and handed out in batches."""

    def __init__(self, job: ScanJob, file: ScanFile, plan: GroupPlan, scratch: Scratch) -> None:
        from hardwood_jit.jit.conjunct import Narrower

        assert file.predicate is not None
        self._job = job
        self._file = file
        self._plan = plan
        self._scratch = scratch
        self._state = GroupState(file, plan, job.options, job.wanted, scratch, WINDOW_ROWS)
        self._decoders = self._state.decoders
        self._conjuncts = job.order.of(file.predicate.conjuncts)
        self._filter_leaves = file.predicate.leaves
        self._prepared = file.tests()
        self._narrower = Narrower(self._prepared, self._decoders, scratch)
        self._measured = job.metrics.group()
        self._left = job.group_limit  # rows that this row group may still deliver
        self._pieces: list[tuple[Column, ...]] = []
        self._piece_rows = 0

    def batches(self) -> Iterator[Batch]:
        started = time.perf_counter_ns()
        if self._job.metrics.outputs_are_likely:
            # Row groups without a match are rare here: then fewer and larger reads serve better.
            self._state.fetch(self._all_leaves(), "filter")
        else:
            self._state.fetch(self._filter_leaves, "filter")
        for start, stop in self._plan.rows:
            position = start
            while position < stop and self._left != 0:
                position, mask, count, window = self._filter(position, min(stop, position + WINDOW_ROWS))
                if count:
                    for batch in self._collect(window, mask, count):
                        self._measured.busy_ns += time.perf_counter_ns() - started
                        yield batch
                        started = time.perf_counter_ns()
                self._measured.peak_page_bytes = max(self._measured.peak_page_bytes, self._state.held_bytes)
        yield from self._flush()
        if self._plan.whole and self._left is None:
            self._state.check_complete(self._filter_leaves)
        self._measured.rows_in += self._plan.rows.row_count
        self._measured.busy_ns += time.perf_counter_ns() - started
        self._close()

    def _all_leaves(self) -> list[Leaf]:
        leaves = {leaf.index: leaf for leaf in (*self._filter_leaves, *self._file.leaves)}
        return list(leaves.values())

    def _close(self) -> None:
        self._measured.groups_with_rows += self._measured.rows_out > 0
        self._state.close(self._measured, self._filter_leaves, self._file.leaves)
        self._measured.row_groups += 1
        for conjunct in self._conjuncts:
            self._measured.kernels.setdefault(conjunct.text, {}).update(self._narrower.kernels_of(conjunct))
        self._job.metrics.add(self._measured)

    # Filtering

    def _filter(self, start: int, stop: int) -> tuple[int, Bytes, int, Window]:
        """Rows start .. stop, or fewer where memory says so: the new stop, the mask and number of survivors."""
        from hardwood_jit.jit.conjunct import Window
        from hardwood_jit.jit.value_decoder import WindowTooLarge

        self._state.is_filtering = True
        while True:
            if not self._state.is_single:
                for leaf in self._filter_leaves:
                    decoder = self._decoders[leaf.index]
                    if decoder.is_flat:
                        stop = decoder.reach(start, stop)
            window = Window(start, stop, self._decoders, self._scratch)
            try:
                mask, count = self._narrow(window)
                return stop, mask, count, window
            except WindowTooLarge as large:
                self._state.is_single = False
                stop = start + large.smaller(stop - start)

    def _narrow(self, window: Window) -> tuple[Bytes, int]:
        count = window.stop - window.start
        mask = self._scratch.arena("mask").room(count)[:count]
        mask[:] = 1
        measured = self._measured
        for number, conjunct in enumerate(self._conjuncts):
            if number:
                window.shrink(mask)
            before, started = count, time.perf_counter_ns()
            left = self._narrow_chunk(conjunct, mask)
            count = self._narrower.narrow(conjunct, window, mask, count) if left is None else left
            measured.conjunct(conjunct.text, before, count, time.perf_counter_ns() - started, mask.size)
            if not count:
                break
        return mask, count

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
            self._measured.rows_out += passed
            self._piece_rows += passed
            return
        positions = np.empty(count + 8, np.int32)
        load("select.list_positions")(mask, 0, mask.size, positions)
        positions = positions[:count]
        if self._left is not None:
            positions = positions[: self._left]
            self._left -= len(positions)
        self._measured.rows_out += len(positions)
        step = self._batch_rows()
        for low in range(0, len(positions), step):
            yield from self._gather(window, positions[low : low + step])

    def _batch_rows(self) -> int:
        job = self._job
        if job.batch_rows is not None:
            return job.batch_rows
        per_row = job.measured[0] if job.measured else 8.0 * len(self._file.leaves)
        return max(1, int(job.batch_bytes / max(per_row, 0.125)))

    def _gather(self, window: Window, positions: Positions) -> Iterator[Batch]:
        """One piece of every output column, or several where their pages need more memory than a window has."""
        self._state.fetch(self._file.leaves, "output")
        self._state.is_filtering = False
        while len(positions):
            found = self._take_chunks(positions)
            rest = [leaf for leaf, column in zip(self._file.leaves, found, strict=True) if column is None]
            stop = window.stop
            for leaf in rest:
                decoder = self._decoders[leaf.index]
                if decoder.is_flat and window.flat_or_none(leaf) is None:
                    stop = min(stop, decoder.reach(window.start + int(positions[0]), stop))
            taken = len(positions)
            if stop < window.stop:
                taken = int(np.searchsorted(positions, stop - window.start))
            piece, taken = self._gather_piece(window, positions, taken, found)
            positions = positions[taken:]
            limit = self._batch_rows()
            if self._pieces and (self._piece_rows + taken > limit or not all(map(_can_join, self._pieces[0], piece))):
                yield from self._flush()
            self._pieces.append(piece)
            self._piece_rows += taken
            if self._piece_rows >= limit * JOINED_SHARE:
                yield from self._flush()

    def _gather_piece(
        self, window: Window, positions: Positions, taken: int, found: list[Column | None]
    ) -> tuple[tuple[Column, ...], int]:
        """All output columns of the first `taken` survivors, or of fewer where these decode to too much at once."""
        from hardwood_jit.jit.value_decoder import WindowTooLarge

        if taken < len(positions):
            found = self._take_chunks(positions[:taken])
        while True:
            part = positions[:taken]
            try:
                self._gather_missing(window, part, found, flat=True)
            except WindowTooLarge:
                if taken == 1:
                    raise
                taken = -(-taken // 2)
                found = self._take_chunks(positions[:taken])
                continue
            # Columns with levels last: they only move forward, and take as much at once as memory holds by themselves.
            self._gather_missing(window, part, found, flat=False)
            return tuple(column for column in found if column is not None), taken

    def _gather_missing(self, window: Window, part: Positions, found: list[Column | None], *, flat: bool) -> None:
        """Fill in those columns, with levels or without, that their chunks did not give."""
        for number, leaf in enumerate(self._file.leaves):
            if found[number] is None and self._decoders[leaf.index].is_flat == flat:
                found[number] = self._gather_column(self._decoders[leaf.index], window, part)

    def _take_chunks(self, positions: Positions) -> list[Column | None]:
        """The columns that come out of their whole chunks by one call each."""
        checksums = self._job.options.checksums
        found: list[Column | None] = []
        for leaf, form in zip(self._file.leaves, self._job.wanted, strict=True):
            chunk = self._state.chunk(leaf)
            found.append(None if chunk is None else chunk.take(positions, form, checksums))
        return found

    def _flush(self) -> Iterator[Batch]:
        from hardwood_jit.jit.survivors import join_columns

        if not self._piece_rows:
            return
        columns = tuple(join_columns(parts) for parts in zip(*self._pieces, strict=True))
        batch = Batch(self._job.schema, columns, self._piece_rows, self._file.source.name, self._plan.row_group)
        self._pieces, self._piece_rows = [], 0
        self._job.note(batch)
        yield batch

    def _gather_column(self, decoder: ColumnDecoder, window: Window, positions: Positions) -> Column:
        """The survivors of one column; `positions` count from the window's start."""
        from hardwood_jit.jit.gather import can_gather, gather_column
        from hardwood_jit.jit.page_test import FlatWindow
        from hardwood_jit.jit.survivors import join_columns, take_column

        known = window.decoded(decoder.leaf)
        if known is not None and decoder.values.wanted.form == "physical" and not decoder.values.wanted.text:
            low, high, column = known
            return column if len(positions) == high - low else take_column(column, positions - np.int32(low))
        first, last = int(positions[0]), int(positions[-1]) + 1
        if not decoder.is_flat:
            return join_columns(list(self._decode_nested(decoder, window, positions)))
        flat = window.flat_or_none(decoder.leaf)
        offset = 0
        if flat is None:
            flat = FlatWindow(decoder, self._scratch, window.start + first, window.start + last)
            offset = first
        local = positions - np.int32(offset) if offset else positions
        pages = flat.pages_at(local)
        share = len(positions) / max(last - first, 1)
        if not decoder.has_packed_levels and can_gather(flat, pages, decoder.values, share):
            return gather_column(flat, pages, local, decoder.values, self._scratch)
        pieces = []
        at = 0
        for low, high in flat.runs(pages):  # of neighbouring live pages
            low, high = max(low, int(local[0])), min(high, int(local[-1]) + 1)
            end = int(np.searchsorted(local, high))
            if end == at:
                continue
            decoder.load_rows(flat.start + low, flat.start + high)
            column = decoder.decode(flat.start + low, flat.start + high)
            if end - at < high - low:
                column = take_column(column, local[at:end] - np.int32(low))
            pieces.append(column)
            at = end
        return join_columns(pieces)

    def _decode_nested(self, decoder: ColumnDecoder, window: Window, positions: Positions) -> Iterator[Column]:
        """Survivors of a column with levels: run by run of rows that lie close together, as much as memory holds."""
        from hardwood_jit.jit.survivors import take_column
        from hardwood_jit.jit.value_decoder import WindowTooLarge

        breaks = (np.flatnonzero(np.diff(positions) > GAP_ROWS) + 1).tolist()
        known = window.decoded(decoder.leaf)
        for run in _split(positions, breaks):
            while len(run):
                start, stop = window.start + int(run[0]), window.start + int(run[-1]) + 1
                if known is None:  # else its pages are held: the filter has decoded them
                    stop = decoder.cover(start, stop)
                while True:
                    try:
                        column = decoder.decode(start, stop)
                        break
                    except WindowTooLarge as large:
                        stop = start + large.smaller(stop - start)
                taken = int(np.searchsorted(run, stop - window.start))
                if taken < stop - start:
                    column = take_column(column, run[:taken] - run[0])
                yield column
                run = run[taken:]


def _split(positions: Positions, breaks: Sequence[int]) -> list[Positions]:
    return np.split(positions, breaks) if breaks else [positions]


def _can_join(one: Column, other: Column) -> bool:
    from hardwood_jit.jit.survivors import can_join

    return can_join(one, other)
