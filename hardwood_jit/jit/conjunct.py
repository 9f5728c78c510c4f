"""A bound predicate over the window of a row group: every node narrows the mask of candidate rows.

Flat columns are tested on their encoded pages (page_test.py). Everything else, columns in structs and lists and
comparisons of two columns, is decoded first, from the first candidate to the last.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from hardwood_jit.batch import Column
from hardwood_jit.jit.fused_kernels import FUSED
from hardwood_jit.jit.kernel_cache import load
from hardwood_jit.jit.page_test import FlatWindow, PageTest
from hardwood_jit.jit.pairs import hits_of_pair
from hardwood_jit.jit.shape import KernelShape, row_shape
from hardwood_jit.jit.survivors import take_column
from hardwood_jit.jit.value_decoder import NO_WORDS, Bytes, ValueDecoder, Wanted, WindowTooLarge
from hardwood_jit.jit.value_test import PreparedTest
from hardwood_jit.plan.bound import AllOf, AnyOf, Fixed, GroupTest, Node, PairTest, ValueTest

if TYPE_CHECKING:
    from hardwood_jit.jit.column_decoder import ColumnDecoder
    from hardwood_jit.memory import Scratch
    from hardwood_jit.metadata.schema import Leaf


class Window:
    """Some rows of a row group, and what is known of its columns there."""

    def __init__(self, start: int, stop: int, decoders: dict[int, ColumnDecoder], scratch: Scratch) -> None:
        self.start = start
        self.stop = stop
        self._decoders = decoders
        self._scratch = scratch
        self._flat: dict[int, FlatWindow | None] = {}
        self._decoded: dict[int, tuple[int, int, Column]] = {}
        self._mask: Bytes | None = None
        self._live: tuple[int, int] | None = (0, stop - start)

    def flat(self, leaf: Leaf) -> FlatWindow | None:
        """The pages of a flat column; None where its values must be decoded first."""
        if leaf.index not in self._flat:
            decoder = self._decoders[leaf.index]
            window = None
            if decoder.is_flat and not decoder.has_packed_levels:
                window = FlatWindow(decoder, self._scratch, self.start, self.stop)
            self._flat[leaf.index] = window
        return self._flat[leaf.index]

    def flat_or_none(self, leaf: Leaf) -> FlatWindow | None:
        """The pages of a flat column that a test has looked at in this window."""
        return self._flat.get(leaf.index)

    def shrink(self, mask: Bytes) -> None:
        """Candidates have become fewer: before the next conjunct, whose parts all see this or fewer."""
        self._mask = mask
        self._live = None

    @property
    def live(self) -> tuple[int, int]:
        """The first candidate and the row after the last, at the start of the conjunct; counted in the window."""
        if self._live is None:
            assert self._mask is not None
            found = self._mask.view(np.bool_)  # of truth values both searches end at the first
            self._live = (int(found.argmax()), found.size - int(found[::-1].argmax()))
        return self._live

    def decoded(self, leaf: Leaf) -> tuple[int, int, Column] | None:
        """What `decode` has made of a column in this window."""
        return self._decoded.get(leaf.index)

    def decode(self, leaf: Leaf, values: ValueDecoder) -> tuple[int, int, Column]:
        """A column from the first candidate to the last, as physical values: (first, stop, Column), in the window."""
        found = self._decoded.get(leaf.index)
        if found is None or found[0] > self.live[0] or found[1] < self.live[1]:
            decoder = self._decoders[leaf.index]
            start, stop = self.start + self.live[0], self.start + self.live[1]
            if decoder.is_flat:
                decoder.load_rows(start, stop)
            else:
                reached = decoder.cover(start, stop)
                if reached < stop:
                    raise WindowTooLarge(reached - self.start)
            try:
                column = decoder.decode(start, stop, values)
            except WindowTooLarge as large:
                raise WindowTooLarge(large.row_count + self.live[0]) from None
            found = self._decoded[leaf.index] = (*self.live, column)
        return found


class Narrower:
    """The nodes of a predicate in one row group."""

    def __init__(
        self, prepared: dict[int, PreparedTest], decoders: dict[int, ColumnDecoder], scratch: Scratch
    ) -> None:
        self._prepared = prepared
        self._decoders = decoders
        self._scratch = scratch
        self._tests: dict[int, PageTest] = {}
        self._values: dict[int, ValueDecoder] = {}
        self._row_shapes: dict[int, tuple[KernelShape, list[Any], list[Leaf]] | None] = {}
        self.row_kernels: dict[str, dict[str, str]] = {}  # text of a node -> shape -> origin, for explain

    def narrow(self, node: Node, window: Window, mask: Bytes, candidates: int) -> int:
        """AND a node into the mask; how many candidates are left."""
        fused = self._row_kernel(node)
        if fused is not None:
            return self._narrow_rows(*fused, window, mask)
        match node:
            case ValueTest():
                return self._narrow_value(node, window, mask, candidates)
            case AllOf():
                for arg in node.args:
                    if not candidates:
                        break
                    candidates = self.narrow(arg, window, mask, candidates)
                return candidates
            case AnyOf():
                return self._narrow_any(node, window, mask, candidates)
            case Fixed():
                if not node.value:
                    mask[:] = 0
                return candidates if node.value else 0
            case PairTest():
                left = window.decode(node.left, self._physical(node.left))
                right = window.decode(node.right, self._physical(node.right))
                low, high = max(left[0], right[0]), min(left[1], right[1])
                hits = hits_of_pair(node, left[2], low - left[0], right[2], low - right[0], high - low)
                return self._and(mask, low, hits)
            case GroupTest():
                low, high, column = window.decode(node.leaf, self._physical(node.leaf))
                present = column.layers[node.layer].validity.to_numpy(high - low).view(np.uint8)
                return self._and(mask, low, 1 - present if node.wants_null else present)

    def kernels_of(self, node: Node) -> dict[str, str]:
        """What tested a node: shape -> where its kernel came from."""
        found = dict(self.row_kernels.get(node.text, {}))
        for test in value_tests((node,)):
            found.update(self._prepared[id(test)].kernels)
        return found

    def _row_kernel(self, node: Node) -> tuple[Callable[..., int], list[Any], list[Leaf]] | None:
        """The generated kernel of a tree in which columns meet, its constants and leaves; None where there is none."""
        if isinstance(node, ValueTest | GroupTest | Fixed):
            return None
        if id(node) not in self._row_shapes:
            self._row_shapes[id(node)] = row_shape(node)
        found = self._row_shapes[id(node)]
        if found is None:
            return None
        shape, constants, leaves = found
        kernel = FUSED.find(shape)
        self.row_kernels[node.text] = {shape.text: FUSED.origin(shape)}
        return None if kernel is None else (kernel, constants, leaves)

    def _narrow_rows(
        self, kernel: Callable[..., int], constants: list[Any], leaves: list[Leaf], window: Window, mask: Bytes
    ) -> int:
        decoded = [window.decode(leaf, self._physical(leaf)) for leaf in leaves]
        low, high = max(first for first, _, _ in decoded), min(stop for _, stop, _ in decoded)
        arguments: list[Any] = []
        for first, _, column in decoded:
            if first != low:
                column = take_column(column, np.arange(low - first, high - first, dtype=np.int32))
            assert column.values is not None
            words = column.validity.words
            arguments += [column.values.view(np.uint8), NO_WORDS if words is None else words]
        kernel(mask, low, high - low, *arguments, *constants)
        return _count(mask)

    def _narrow_any(self, node: AnyOf, window: Window, mask: Bytes, candidates: int) -> int:
        passed = np.zeros_like(mask)
        left = mask
        for arg in node.args:
            if not candidates:
                break
            tried = left.copy()
            self.narrow(arg, window, tried, candidates)
            passed |= tried
            left = left & (tried ^ np.uint8(1))
            candidates = _count(left)
        mask[:] = passed
        return _count(mask)

    def _narrow_value(self, test: ValueTest, window: Window, mask: Bytes, candidates: int) -> int:
        prepared = self._prepared[id(test)]
        flat = window.flat(test.leaf) if test.quantifier is None else None
        if flat is not None and not (flat.needs_decoding and flat.is_live_throughout(mask, candidates)):
            page_test = self._tests.get(id(test))
            if page_test is None:
                reader = self._decoders[test.leaf.index].reader
                page_test = self._tests[id(test)] = PageTest(prepared, test.leaf, reader, self._scratch)
            return page_test.narrow(flat, mask, candidates)
        low, _, column = window.decode(test.leaf, self._physical(test.leaf))
        hits = prepared.hits_of_column(column)
        if test.quantifier is not None:
            hits = _over_lists(column, hits, test.quantifier)
        return self._and(mask, low, hits)

    def _and(self, mask: Bytes, low: int, hits: Bytes) -> int:
        mask[low : low + hits.size] &= hits
        return _count(mask)

    def _physical(self, leaf: Leaf) -> ValueDecoder:
        """A decoder of plain physical values, whatever form the output wants."""
        found = self._values.get(leaf.index)
        if found is None:
            decoder = self._decoders[leaf.index]
            found = decoder.values
            if found.wanted != Wanted():
                found = ValueDecoder(leaf, decoder.reader, self._scratch, Wanted())
            self._values[leaf.index] = found
        return found


def _count(mask: Bytes) -> int:
    return int(load("select.count_mask")(mask, 0, mask.size))


def _over_lists(column: Column, hits: Bytes, quantifier: str) -> Bytes:
    """Verdicts of leaf slots -> verdicts of records, list by list from the inside."""
    for layer in reversed(column.layers):
        if layer.offsets is None:
            continue  # a null struct's leaves are null: they have their verdicts
        out = np.empty(len(layer.offsets) - 1, np.uint8)
        load(f"select.{quantifier}_of_lists")(layer.offsets, hits, out)
        if quantifier == "all" and layer.validity.words is not None:
            out &= layer.validity.to_numpy(out.size).view(np.uint8)
        hits = out
    return hits


def value_tests(nodes: Iterable[Node]) -> Iterator[ValueTest]:
    """The tests of single columns below some nodes."""
    waiting = list(nodes)
    while waiting:
        node = waiting.pop()
        if isinstance(node, ValueTest):
            yield node
        elif isinstance(node, AllOf | AnyOf):
            waiting += node.args


def prepare_tests(nodes: Iterable[Node]) -> dict[int, PreparedTest]:
    """The tests of single columns below some nodes, ready for kernels, by their identity."""
    return {id(test): PreparedTest(test) for test in value_tests(nodes)}
