"""The output columns of a window's survivors: each moves through its pages by itself, as far as memory holds.

Columns that hold all their pages give everything at once; others come in pieces, one per window of their own. A piece
of the result ends where the shortest column does.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from hardwood_jit.batch import Column
from hardwood_jit.group_state import GroupState
from hardwood_jit.memory import Scratch

if TYPE_CHECKING:
    from hardwood_jit.jit.column_decoder import ColumnDecoder
    from hardwood_jit.jit.conjunct import Window
    from hardwood_jit.jit.survivors import Positions
    from hardwood_jit.jit.value_decoder import Wanted
    from hardwood_jit.metadata.schema import Leaf

GAP_ROWS = 8192  # survivors of a nested column that lie farther apart are decoded apart
AHEAD_BYTES = 24 << 20  # of byte arrays that a column may be ahead of the others


class SurvivorColumns:
    """The output columns of one row group."""

    def __init__(
        self, state: GroupState, leaves: Sequence[Leaf], wanted: Sequence[Wanted], scratch: Scratch, checksums: bool
    ) -> None:
        self._state = state
        self._leaves = leaves
        self._wanted = wanted
        self._scratch = scratch
        self._checksums = checksums

    def gather(self, window: Window, positions: Positions, once: bool) -> Iterator[tuple[Column, ...]]:
        """All columns of the survivors at `positions`, which count from the window's start and rise.

        `once`: these are all survivors of the window.
        """
        columns = [
            _Ahead(self._pieces(window, leaf, form, positions, once))
            for leaf, form in zip(self._leaves, self._wanted, strict=True)
        ]
        done = 0
        while done < len(positions):
            ready = min(column.fill(len(positions) - done) for column in columns)
            yield tuple(column.cut(ready) for column in columns)
            done += ready

    def _pieces(self, window: Window, leaf: Leaf, form: Wanted, positions: Positions, once: bool) -> Iterator[Column]:
        """One column of the survivors, in order."""
        chunk = self._state.chunk(leaf)
        whole = None if chunk is None else chunk.take(positions, form, self._checksums)
        if whole is not None:
            yield whole
            return
        decoder = self._state.decoders[leaf.index]
        if decoder.is_flat:
            yield from self._flat(decoder, window, positions, once)
        else:
            yield from self._nested(decoder, window, positions)

    def _flat(self, decoder: ColumnDecoder, window: Window, positions: Positions, once: bool) -> Iterator[Column]:
        from hardwood_jit.jit.value_decoder import WindowTooLarge

        while len(positions):
            taken = len(positions)
            if window.flat_or_none(decoder.leaf) is None:
                # Pages between survivors may be missing: nobody asks for them.
                stop = decoder.reach(window.start + int(positions[0]), window.stop, gaps=True)
                if stop < window.stop:
                    taken = int(np.searchsorted(positions, np.int32(stop - window.start)))
            while True:
                try:
                    column = self._gather_flat(decoder, window, positions[:taken], once)
                    break
                except WindowTooLarge:
                    if taken == 1:
                        raise
                    taken = -(-taken // 2)
            if column.record_count != taken:  # rows that no page has, behind those that were allowed to be missing
                raise decoder.short(window.start + int(positions[taken - 1]) + 1)
            yield column
            positions = positions[taken:]

    def _gather_flat(self, decoder: ColumnDecoder, window: Window, positions: Positions, once: bool) -> Column:
        """Survivors whose pages are within reach; `positions` count from the window's start."""
        from hardwood_jit.jit.gather import can_gather, gather_column
        from hardwood_jit.jit.page_test import FlatWindow
        from hardwood_jit.jit.survivors import join_columns, take_column

        known = window.decoded(decoder.leaf)
        if known is not None and decoder.values.wanted.form == "physical" and not decoder.values.wanted.text:
            low, high, column = known
            return column if len(positions) == high - low else take_column(column, positions - np.int32(low))
        first, last = int(positions[0]), int(positions[-1]) + 1
        flat = window.flat_or_none(decoder.leaf)
        offset = 0
        if flat is None:
            flat = FlatWindow(decoder, self._scratch, window.start + first, window.start + last)
            offset = first
        local = positions - np.int32(offset) if offset else positions
        pages = flat.pages_at(local)
        if not decoder.has_packed_levels and can_gather(flat, pages, decoder.values, len(positions), last - first):
            return gather_column(flat, pages, local, decoder.values, self._scratch, once)
        pieces = []
        at = 0
        for low, high in flat.runs(pages):  # of neighbouring live pages
            low, high = max(low, int(local[0])), min(high, int(local[-1]) + 1)
            end = int(np.searchsorted(local, np.int32(high)))  # of another type, all of `local` would be converted
            if end == at:
                continue
            decoder.load_rows(flat.start + low, flat.start + high)
            column = decoder.decode(flat.start + low, flat.start + high)
            if end - at < high - low:
                column = take_column(column, local[at:end] - np.int32(low))
            pieces.append(column)
            at = end
        return join_columns(pieces)

    def _nested(self, decoder: ColumnDecoder, window: Window, positions: Positions) -> Iterator[Column]:
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
                taken = int(np.searchsorted(run, np.int32(stop - window.start)))
                if taken < stop - start:
                    column = take_column(column, run[:taken] - run[0])
                yield column
                run = run[taken:]


class _Ahead:
    """One column: pieces that have come and are not yet part of the result."""

    def __init__(self, pieces: Iterator[Column]) -> None:
        self._pieces = pieces
        self._waiting: deque[Column] = deque()

    def fill(self, wanted: int) -> int:
        """Get pieces for `wanted` records, or as many as memory holds: how many can be had in one form."""
        count = sum(piece.record_count for piece in self._waiting)
        held = sum(map(_text_bytes, self._waiting))
        while count < wanted and (held < AHEAD_BYTES or not self._waiting):
            piece = next(self._pieces)
            self._waiting.append(piece)
            count += piece.record_count
            held += _text_bytes(piece)
        ready = 0
        for piece in self._waiting:
            if not _can_join(self._waiting[0], piece):
                break
            ready += piece.record_count
        return ready

    def cut(self, count: int) -> Column:
        """The next `count` records."""
        from hardwood_jit.jit.survivors import join_columns, take_column

        parts: list[Column] = []
        while count:
            piece = self._waiting.popleft()
            size = piece.record_count
            if size > count:
                self._waiting.appendleft(take_column(piece, np.arange(count, size, dtype=np.int32)))
                piece = take_column(piece, np.arange(count, dtype=np.int32))
                size = count
            parts.append(piece)
            count -= size
        return join_columns(parts)


def _text_bytes(column: Column) -> int:
    return 0 if column.data is None else column.data.size


def _split(positions: Positions, breaks: Sequence[int]) -> list[Positions]:
    return np.split(positions, breaks) if breaks else [positions]


def _can_join(one: Column, other: Column) -> bool:
    from hardwood_jit.jit.survivors import can_join

    return can_join(one, other)
