"""One small row group under a filter, all its columns at once: read, filtered and gathered in a few steps.

For row groups of flat columns that one window holds. Whatever is not for these kernels is left to cascade.py, and so
are few survivors whose pages an offset index tells, and the rest of a row group in which kernels decline.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from hardwood_jit.batch import Batch
from hardwood_jit.cascade import FEW_SURVIVORS, WINDOW_ROWS, FilteredGroup
from hardwood_jit.header_proofs import LEAST_PAGE
from hardwood_jit.kernels import tables
from hardwood_jit.memory import Scratch
from hardwood_jit.metrics import ColumnMetrics, GroupMetrics
from hardwood_jit.physical import Codec
from hardwood_jit.plan.bound import Node, ValueTest
from hardwood_jit.plan.prune import GroupProof
from hardwood_jit.plan.scan_plan import GroupPlan
from hardwood_jit.source import merge_ranges

if TYPE_CHECKING:
    from hardwood_jit.group_columns import ScanFile
    from hardwood_jit.group_scan import ScanJob
    from hardwood_jit.jit.group_kernel import GroupKernel, StoredChunk
    from hardwood_jit.jit.value_decoder import Bytes
    from hardwood_jit.metadata.schema import Leaf

IS_USED = True  # tests compare with the general way
# Of a row group's columns: in larger ones a few Python steps per column are nothing, and the general way reads less.
READ_BYTES = 8 << 20
# Of output columns: less is read sooner than the pages of few survivors are chosen and gone through one column at a
# time (8 part keys of lineitem -> 16 columns, 4 MB a row group, one thread: 260 ms instead of 690).
SPARSE_BYTES = 8 << 20

Rest = Callable[["tuple[Bytes, int] | None"], FilteredGroup]


class WholeGroups:
    """What is the same for all row groups of a file: columns, tests, and where the chunks lie."""

    def __init__(self, job: ScanJob, file: ScanFile) -> None:
        from hardwood_jit.jit.group_kernel import GroupOutputs, GroupTests, are_built, is_takeable, is_testable

        assert file.predicate is not None
        self._job = job
        self._file = file
        self.is_possible = False
        self._has_declined = False
        if not IS_USED:
            return
        conjuncts = file.predicate.conjuncts
        prepared = file.tests()
        if not all(isinstance(node, ValueTest) and node.quantifier is None for node in conjuncts):
            return
        tests = [prepared[id(node)] for node in conjuncts]
        if not all(map(is_testable, tests)) or not all(map(is_takeable, file.leaves, job.wanted)) or not are_built():
            return
        self._tests = tests
        filters = {test.leaf.index: test.leaf for test in tests}
        only_outputs = {leaf.index: leaf for leaf in file.leaves if leaf.index not in filters}
        self._leaves: list[Leaf] = [*filters.values(), *only_outputs.values()]
        self._filter_count = len(filters)
        places = {leaf.index: number for number, leaf in enumerate(self._leaves)}
        self._output_places = [places[leaf.index] for leaf in file.leaves]
        self._group_tests = GroupTests(tests, [places[test.leaf.index] for test in tests])
        self._outputs = GroupOutputs(file.leaves, job.wanted, self._output_places)
        self._find_chunks()
        self.is_possible = True

    def _find_chunks(self) -> None:
        """Places of all chunks, and which row groups have nothing odd about them; cascade.py knows about the others."""
        table = self._file.metadata.chunk_table[:, [leaf.index for leaf in self._leaves]]
        types = np.array([int(leaf.physical_type) for leaf in self._leaves])
        data, dictionary = table[..., tables.CHUNK_DATA_OFFSET], table[..., tables.CHUNK_DICTIONARY_OFFSET]
        start = np.where((dictionary > 0) & (dictionary < data), dictionary, data)
        size = table[..., tables.CHUNK_COMPRESSED]
        codec = table[..., tables.CHUNK_CODEC]
        good = (table[..., tables.CHUNK_TYPE] == types) & (table[..., tables.CHUNK_META_START] >= 0)
        good &= (table[..., tables.CHUNK_ENCRYPTED] <= 0) & (table[..., tables.CHUNK_HAS_FILE_PATH] <= 0)
        good &= (codec == int(Codec.SNAPPY)) | (codec == int(Codec.UNCOMPRESSED))
        source_size = self._file.source.size
        good &= (start >= 0) & (size > 0) & (size <= source_size) & (start <= source_size - size)
        self._good: list[bool] = (good.all(axis=1) & (size.sum(axis=1) <= READ_BYTES)).tolist()
        self._starts: list[list[int]] = start.tolist()
        self._sizes: list[list[int]] = size.tolist()
        self._codecs: list[list[int]] = codec.tolist()
        self._values: list[list[int]] = table[..., tables.CHUNK_VALUES].tolist()
        self._has_index: list[bool] = [bool(row.all()) for row in table[..., tables.CHUNK_OFFSET_INDEX] > 0]

    def takes(self, plan: GroupPlan, row_count: int, limit: int | None) -> bool:
        """Whether a row group that is read as a whole is filtered here."""
        if not self.is_possible or self._has_declined or limit is not None or row_count > WINDOW_ROWS:
            return False
        return self._good[plan.row_group]

    def batches(
        self, plan: GroupPlan, proof: GroupProof, row_count: int, scratch: Scratch, rest: Rest
    ) -> Iterator[Batch]:
        """The batches of a row group; `rest` makes the general way for what is not done here."""
        from hardwood_jit.jit.group_kernel import GroupKernel

        job, group = self._job, plan.row_group
        started = time.perf_counter_ns()
        measured = job.metrics.group()
        kernel = GroupKernel(len(self._leaves), row_count, scratch, job.options.checksums)
        has_all = job.metrics.outputs_are_likely
        first = range(len(self._leaves) if has_all else self._filter_count)
        mask = self._candidates(proof, row_count, scratch)
        is_open = self._open(kernel, group, first, scratch)
        count = self._narrow(kernel, proof, mask, measured) if is_open else -1
        if count < 0:
            self._has_declined = True
            yield from rest(None).batches()
            return
        measured.rows_in += proof.rows.row_count
        if count and not has_all:
            if self._is_sparse(group, count):
                yield from self._hand_over(kernel, measured, rest, mask, count)
                return
            if not self._open(kernel, group, range(self._filter_count, len(self._leaves)), scratch):
                yield from self._hand_over(kernel, measured, rest, mask, count)
                return
        low = 0
        while low < count:
            high = min(count, low + self._job.survivors_per_batch(len(self._file.leaves)))
            columns = kernel.take(self._outputs, low, high)
            if columns is None:
                self._has_declined = True
                mask[: kernel.position(low)] = 0
                yield from self._hand_over(kernel, measured, rest, mask, count - low)
                return
            batch = Batch(job.schema, columns, high - low, self._file.source.name, group)
            job.note(batch)
            measured.rows_out += high - low
            low = high
            measured.busy_ns += time.perf_counter_ns() - started
            yield batch
            started = time.perf_counter_ns()
        self._count_columns(kernel, measured)
        measured.row_groups += 1
        measured.groups_with_rows += count > 0
        measured.busy_ns += time.perf_counter_ns() - started
        job.metrics.add(measured)

    def _hand_over(
        self, kernel: GroupKernel, measured: GroupMetrics, rest: Rest, mask: Bytes, count: int
    ) -> Iterator[Batch]:
        """Known survivors go the general way."""
        self._count_columns(kernel, measured)
        group = rest((mask, count))
        group.measured.add(measured)
        yield from group.batches()

    def _open(self, kernel: GroupKernel, group: int, numbers: range, scratch: Scratch) -> bool:
        """Read some columns and walk their page headers: whether they are for these kernels."""
        from hardwood_jit.jit.group_kernel import StoredChunk

        if not numbers:
            return True
        starts, sizes = self._starts[group], self._sizes[group]
        merged = merge_ranges([(starts[number], sizes[number]) for number in numbers], 0)
        name = "output" if numbers.start else "filter"
        raw = scratch.arena(("raw", name)).room(sum(length for _, length in merged))
        outs = []
        shifts: list[tuple[int, int]] = []  # file offset, what takes it to the place in the buffer
        used = 0
        for offset, length in merged:
            outs.append(raw[used : used + length])
            shifts.append((offset, used - offset))
            used += length
        self._file.source.read_ranges(merged, outs)
        chunks: list[StoredChunk] = []
        for number in numbers:
            offset = starts[number]
            start = offset + max(pair for pair in shifts if pair[0] <= offset)[1]
            codec, values = self._codecs[group][number], self._values[group][number]
            chunks.append(StoredChunk(self._leaves[number], codec, start, start + sizes[number], values))
        return kernel.open(raw, chunks, only_output=numbers.start > 0)

    def _clear_pages(self, kernel: GroupKernel, active: Sequence[int], mask: Bytes, count: int) -> int:
        """Rows of pages that their headers exclude are no candidates any more: how many candidates are left."""
        proofs = self._file.header_proofs
        asking = [] if proofs is None else [number for number in active if proofs.is_worth_it(self._tests[number].test)]
        if proofs is None or not asking or not kernel.has_statistics(LEAST_PAGE):
            return count
        started = time.perf_counter_ns()
        pages = 0
        for number in asking:
            test = self._tests[number].test
            pages += proofs.clear(test, kernel.page_headers(self._group_tests.column(number)), mask)
        left = int(np.count_nonzero(mask)) if pages else count
        self._job.metrics.headers(pages, count - left, time.perf_counter_ns() - started)
        return left

    def _candidates(self, proof: GroupProof, row_count: int, scratch: Scratch) -> Bytes:
        mask = scratch.arena("mask").room(row_count)[:row_count]
        if proof.rows.covers(row_count):
            mask[:] = 1
        else:
            mask[:] = 0
            for start, stop in proof.rows:
                mask[start:stop] = 1
        return mask

    def _narrow(self, kernel: GroupKernel, proof: GroupProof, mask: Bytes, measured: GroupMetrics) -> int:
        """Test the candidates: how many are left, or a negative number where kernels decline."""
        active = proof.to_be_tested
        nodes: list[Node] = [self._tests[number].test for number in active]
        numbers = {id(node): number for node, number in zip(nodes, active, strict=True)}
        order = [numbers[id(node)] for node in self._job.order.of(nodes)]
        candidates = self._clear_pages(kernel, active, mask, proof.rows.row_count)
        started = time.perf_counter_ns()
        count, did = kernel.narrow(self._group_tests, order, mask, candidates)
        took = time.perf_counter_ns() - started
        if count < 0:
            return count
        done = did.tolist()
        cycles = max(sum(done[number][2] for number in order), 1)
        for number in order:
            rows_in, rows_out, spent = done[number]
            if rows_in:
                node = self._tests[number].test
                measured.conjunct(node.text, rows_in, rows_out, took * spent // cycles, mask.size)
                shape = f"group(c0: {node.leaf.physical_type})"
                measured.kernels.setdefault(node.text, {})[shape] = "prepared"
        return count

    def _is_sparse(self, group: int, count: int) -> bool:
        """Whether reading no more than the pages of the survivors saves enough to go the general way."""
        if count > FEW_SURVIVORS or not self._has_index[group]:
            return False
        return sum(self._sizes[group][self._filter_count :]) >= SPARSE_BYTES

    def _count_columns(self, kernel: GroupKernel, measured: GroupMetrics) -> None:
        measured.peak_page_bytes = max(measured.peak_page_bytes, kernel.held_bytes)
        outputs = set(self._output_places)
        for number, pages in enumerate(kernel.pages()):
            facts = ColumnMetrics(*pages, number < self._filter_count, number in outputs)
            measured.column(self._leaves[number].dotted, facts)


def whole_groups(job: ScanJob, file: ScanFile) -> WholeGroups:
    """What a scan knows about a file's row groups, made for the first of them."""
    found = file.whole_groups
    if found is None:
        found = file.whole_groups = WholeGroups(job, file)
    return found
