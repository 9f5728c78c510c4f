"""The columns of a row group under a filter: fetched together, opened as chunks or as decoders when they are needed."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from hardwood_jit.group_columns import FetchedColumn, GroupColumns, ScanFile
from hardwood_jit.kernels.tables import PAGE_VALUES
from hardwood_jit.memory import Scratch
from hardwood_jit.metrics import ColumnMetrics, GroupMetrics
from hardwood_jit.plan.row_ranges import RowRanges

if TYPE_CHECKING:
    from hardwood_jit.jit.chunk import Chunk
    from hardwood_jit.jit.column_decoder import ColumnDecoder
    from hardwood_jit.jit.value_decoder import Bytes, Wanted
    from hardwood_jit.metadata.schema import Leaf


class Decoders(dict[int, "ColumnDecoder"]):
    """Decoders by the index of their leaf, made when one is first asked for."""

    def __init__(self, state: GroupState) -> None:
        super().__init__()
        # A circle would keep the buffers of row groups that are done until the garbage collector comes by.
        self._state = weakref.ref(state)

    def __missing__(self, index: int) -> ColumnDecoder:
        state = self._state()
        assert state is not None  # whoever asks for a decoder holds it
        decoder = self[index] = state.make_decoder(index)
        return decoder


class GroupState:
    """One row group: which columns are there, and how far each is opened."""

    def __init__(
        self, file: ScanFile, columns: GroupColumns, wanted: Sequence[Wanted], scratch: Scratch, *, is_single: bool
    ) -> None:
        self._columns = columns
        self._options = columns.options
        self._scratch = scratch
        self._forms = {leaf.index: form for leaf, form in zip(file.leaves, wanted, strict=True)}
        self.row_count = self._columns.row_count
        # One window holds all rows: then whole chunks may be filtered and gathered by one call each.
        self.is_single = is_single
        self.is_filtering = True  # False while survivors are gathered, which may be done in several steps
        self._fetched: dict[int, FetchedColumn] = {}
        self._chunks: dict[int, Chunk | None] = {}
        self.decoders = Decoders(self)

    def fetch(
        self, leaves: Sequence[Leaf], buffer: str, rows: Callable[[Leaf], RowRanges], *, in_steps: bool = False
    ) -> None:
        """Read the bytes of those leaves that are not there yet, as far as their rows need it."""
        missing = [leaf for leaf in leaves if leaf.index not in self._fetched]
        if not missing:
            return
        for column in self._columns.fetch(missing, buffer, [rows(leaf) for leaf in missing], in_steps=in_steps):
            self._fetched[column.leaf.index] = column

    def chunk(self, leaf: Leaf) -> Chunk | None:
        """The whole column for kernels that take it so; None where it goes the general way."""
        if not self.is_single or leaf.index in self.decoders:
            return None
        if leaf.index not in self._chunks:
            self._chunks[leaf.index] = self._open_chunk(leaf)
        return self._chunks[leaf.index]

    def pages_under(self, leaf: Leaf, start: int, stop: int) -> Iterator[tuple[list[int], Bytes, int, int]]:
        """Headers of the pages of a flat column under some rows, the bytes they count in, and their rows there."""
        chunk = self.chunk(leaf)
        if chunk is not None:
            first = 0
            for header in chunk.table[len(chunk.table) - chunk.page_count :].tolist():
                last = first + header[PAGE_VALUES]
                yield header, chunk.raw, first, last
                first = last
            return
        decoder = self.decoders[leaf.index]
        if not decoder.is_flat:
            return
        reader = decoder.reader
        for page in range(*decoder.pages_of(start, stop)):
            piece = reader.stored_piece(page)
            if piece is not None:
                first, last = reader.first_rows[page], reader.stop_rows[page]
                yield reader.headers[page], piece, max(first - start, 0), min(last, stop) - start

    def _open_chunk(self, leaf: Leaf) -> Chunk | None:
        from hardwood_jit.jit.chunk import open_chunk

        column = self._fetched[leaf.index]
        form = self._forms.get(leaf.index)
        if column.plan is not None or column.pieces is None or len(column.pieces) != 1:
            return None
        if form is not None and form.form == "views":
            return None
        return open_chunk(leaf, column.facts, column.pieces[0], self._scratch, self._options.max_page_bytes)

    def make_decoder(self, index: int) -> ColumnDecoder:
        """The general way into a column; goes on from what kernels have done with its chunk."""
        from hardwood_jit.jit.value_decoder import Wanted, WindowTooLarge

        column = self._fetched[index]
        decoder = self._columns.decoder(column, self._forms.get(index, Wanted()))
        chunk = self._chunks.get(index)
        if chunk is not None and chunk.is_open:
            has_dictionary = chunk.entry_count > 0 or len(chunk.table) > chunk.page_count
            decoder.reader.adopt(
                chunk.raw,
                chunk.table.tolist(),
                chunk.dictionary if has_dictionary else None,
                chunk.spans,
                chunk.used_bytes,
            )
        if self.is_single and self.is_filtering and decoder.is_flat:
            reached = decoder.reach(0, self.row_count)
            if reached < self.row_count:
                raise WindowTooLarge(reached)
        return decoder

    @property
    def held_bytes(self) -> int:
        """Decompressed pages and dictionaries in memory."""
        held = sum(decoder.reader.held_bytes for decoder in self.decoders.values())
        for index, chunk in self._chunks.items():
            if chunk is not None and chunk.is_open and index not in self.decoders:
                held += chunk.used_bytes + chunk.dictionary_bytes
        return held

    def close(self, measured: GroupMetrics, filters: Sequence[Leaf], outputs: Sequence[Leaf]) -> None:
        """Add what was done with each column to the measurements."""
        filtered = {leaf.index for leaf in filters}
        put_out = {leaf.index for leaf in outputs}
        for index, decoder in self.decoders.items():
            measured.close_column(decoder, index in filtered, index in put_out)
        for index, chunk in self._chunks.items():
            if chunk is not None and chunk.is_open and index not in self.decoders:
                facts = ColumnMetrics(
                    chunk.page_count, chunk.loaded_pages, chunk.used_bytes, index in filtered, index in put_out
                )
                measured.column(chunk.leaf.dotted, facts)
        # Decoders and this object know each other: without them its buffers are free at once, not some time later.
        self._chunks, self._fetched = {}, {}
        self.decoders.clear()

    def check_complete(self, leaves: Sequence[Leaf]) -> None:
        """After all rows are read: the values of columns whose last page was seen must be at their end, too."""
        for leaf in leaves:
            if leaf.index in self.decoders:
                reader = self.decoders[leaf.index].reader
                if reader.stop_rows and reader.stop_rows[-1] == self.row_count:
                    reader.check_complete()
