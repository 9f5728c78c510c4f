"""What a filtered scan measures of itself, per conjunct and column; and the order of conjuncts that this suggests."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING

from hardwood_jit.physical import PhysicalType
from hardwood_jit.plan.bound import AllOf, AnyOf, Fixed, GroupTest, Node, PairTest, ValueTest
from hardwood_jit.plan.prune import PAGE_HEADERS, PAGE_INDEX

if TYPE_CHECKING:
    from hardwood_jit.group_columns import ScanFile
    from hardwood_jit.jit.column_decoder import ColumnDecoder
    from hardwood_jit.plan.prune import GroupProof
    from hardwood_jit.plan.scan_plan import GroupPlan


FEW_ROWS = 64  # of a row group: their pages may be worth choosing


@dataclass
class ConjunctMetrics:
    """One conjunct: candidate rows before and after it, and the time it took, decompression included."""

    rows_in: int = 0
    rows_out: int = 0
    nanoseconds: int = 0
    window_rows: int = 0  # rows of the windows in which it ran, candidates or not

    @property
    def nanoseconds_per_row(self) -> float:
        return self.nanoseconds / self.rows_in if self.rows_in else 0.0


@dataclass
class ColumnMetrics:
    """One column: its data pages in the row groups that were read, and how many of them were decompressed."""

    pages: int = 0
    pages_decompressed: int = 0
    bytes_decompressed: int = 0
    is_filter: bool = False
    is_output: bool = False

    @property
    def pages_skipped(self) -> int:
        return self.pages - self.pages_decompressed


@dataclass
class GroupMetrics:
    """One row group, or the sum of many."""

    row_groups: int = 0
    groups_with_rows: int = 0  # from which a row came out
    rows_in: int = 0
    rows_out: int = 0
    busy_ns: int = 0
    peak_page_bytes: int = 0
    conjuncts: dict[str, ConjunctMetrics] = field(default_factory=dict)
    columns: dict[str, ColumnMetrics] = field(default_factory=dict)
    kernels: dict[str, dict[str, str]] = field(default_factory=dict)  # conjunct -> shape -> where the kernel came from

    def conjunct(self, text: str, rows_in: int, rows_out: int, nanoseconds: int, window_rows: int) -> None:
        found = self.conjuncts.get(text)
        if found is None:
            found = self.conjuncts[text] = ConjunctMetrics()
        found.rows_in += rows_in
        found.rows_out += rows_out
        found.nanoseconds += nanoseconds
        found.window_rows += window_rows

    def close_column(self, decoder: ColumnDecoder, is_filter: bool, is_output: bool) -> None:
        reader = decoder.reader
        measured = ColumnMetrics(len(reader.headers), reader.loaded_pages, reader.loaded_bytes, is_filter, is_output)
        self.column(decoder.leaf.dotted, measured)

    def column(self, path: str, measured: ColumnMetrics) -> None:
        """Add what one row group did with a column."""
        found = self.columns.get(path)
        if found is None:
            found = self.columns[path] = ColumnMetrics()
        found.pages += measured.pages
        found.pages_decompressed += measured.pages_decompressed
        found.bytes_decompressed += measured.bytes_decompressed
        found.is_filter |= measured.is_filter
        found.is_output |= measured.is_output

    def add(self, other: GroupMetrics) -> None:
        self.row_groups += other.row_groups
        self.groups_with_rows += other.groups_with_rows
        self.rows_in += other.rows_in
        self.rows_out += other.rows_out
        self.busy_ns += other.busy_ns
        self.peak_page_bytes = max(self.peak_page_bytes, other.peak_page_bytes)
        for text, measured in other.conjuncts.items():
            self.conjunct(text, measured.rows_in, measured.rows_out, measured.nanoseconds, measured.window_rows)
        for text, kernels in other.kernels.items():
            self.kernels.setdefault(text, {}).update(kernels)
        for path, column in other.columns.items():
            self.column(path, column)


@dataclass(frozen=True, slots=True)
class DroppedGroup:
    """A row group in which a stage has proved that no row passes. Why and how many bytes: only `explain` asks."""

    file: ScanFile
    row_group: int
    rows: int
    why: Callable[[], str]


@dataclass
class StageMetrics:
    """What one stage of pruning has proved."""

    files: list[str] = field(default_factory=list)  # dropped as a whole: why each of them
    groups: list[DroppedGroup] = field(default_factory=list)
    # Row groups dropped together, and why each of them; None where statistics say it.
    at_once: list[tuple[ScanFile, list[int], dict[int, str] | None]] = field(default_factory=list)
    later: list[tuple[int, Callable[[], Iterator[DroppedGroup]]]] = field(default_factory=list)  # of many files
    rows: int = 0  # without a match, in row groups that were not dropped as a whole
    pages: int = 0  # in those row groups, of columns that the scan touches; counted only for `explain`
    page_bytes: int = 0
    nanoseconds: int = 0

    @property
    def dropped(self) -> list[DroppedGroup]:
        """All row groups that were dropped as a whole; of those dropped together the facts are gathered only here."""
        described = [group for _, describe in self.later for group in describe()]
        described += [group for part in self.at_once for group in described_groups(*part)]
        return [*described, *self.groups]

    @property
    def dropped_count(self) -> int:
        at_once = sum(len(numbers) for _, numbers, _ in self.at_once)
        return len(self.groups) + at_once + sum(count for count, _ in self.later)


def described_groups(
    file: ScanFile, numbers: Sequence[int], reasons: dict[int, str] | None = None
) -> Iterator[DroppedGroup]:
    assert file.prover is not None
    for number in numbers:
        group = file.metadata.row_groups[number]
        if reasons is None:
            why = file.prover.verdicts(number, group.columns).why
        else:
            why = partial(str, reasons[number])
        yield DroppedGroup(file, number, group.num_rows, why)


class ConjunctOrder:
    """The cheapest rejection first: by what was measured so far, else by a guess from types and operators."""

    def __init__(self, total: GroupMetrics) -> None:
        self._total = total

    def of(self, conjuncts: Sequence[Node]) -> tuple[Node, ...]:
        return tuple(sorted(conjuncts, key=self._price)) if len(conjuncts) > 1 else tuple(conjuncts)

    def _price(self, conjunct: Node) -> float:
        """Nanoseconds to reject one row."""
        measured = self._total.conjuncts.get(conjunct.text)
        if measured is None or not measured.rows_in:
            cost, share = _guess(conjunct)
        else:
            # Pages are decoded whole: a conjunct costs nearly the same wherever it stands. So by row of its windows.
            cost, share = measured.nanoseconds / measured.window_rows, measured.rows_out / measured.rows_in
        return cost / max(1.0 - share, 1e-6)


def _guess(node: Node) -> tuple[float, float]:
    """Nanoseconds a row and share of rows that pass, before anything was measured."""
    match node:
        case Fixed():
            return 0.0, float(node.value)
        case ValueTest():
            cost = 8.0 if node.leaf.physical_type == PhysicalType.BYTE_ARRAY else 3.0
            if node.quantifier is not None:
                return 4 * cost, 0.5
            if node.intervals.single_keys() is not None:
                return cost, 0.05
            return cost, 0.9 if len(node.intervals.pairs) > 1 else 0.4
        case PairTest() | GroupTest():
            return 12.0, 0.5
        case AllOf() | AnyOf():
            guesses = [_guess(arg) for arg in node.args]
            return sum(cost for cost, _ in guesses), 0.5


class Metrics:
    """The sums of a scan, which its threads share."""

    def __init__(self) -> None:
        self.total = GroupMetrics()
        self.order = ConjunctOrder(self.total)
        self._lock = threading.RLock()  # the garbage collector may end a scan, which is counted, while it is held
        self.stages: dict[str, StageMetrics] = {}
        self.certain_groups = 0
        self.certain_rows = 0

    @property
    def outputs_are_likely(self) -> bool:
        """Whether all row groups so far, more than two, had rows that passed, and not few."""
        total = self.total
        if total.row_groups <= 2 or total.groups_with_rows < total.row_groups:
            return False
        return total.rows_out > FEW_ROWS * total.row_groups

    def group(self) -> GroupMetrics:
        """A fresh one, for the thread that reads the next row group."""
        return GroupMetrics()

    def drop(self, stage: str, file: ScanFile, plan: GroupPlan, why: Callable[[], str]) -> None:
        """One row group more in which a stage has found that no row passes."""
        with self._lock:
            found = self.stages.get(stage)
            if found is None:
                found = self.stages[stage] = StageMetrics()
            rows = plan.rows.row_count
            for number, other in enumerate([] if plan.whole else found.groups):
                if other.row_group == plan.row_group and other.file is file:  # it was cut, and comes piece by piece
                    found.groups[number] = replace(other, rows=other.rows + rows)
                    return
            found.groups.append(DroppedGroup(file, plan.row_group, rows, why))

    def drop_groups(
        self, stage: str, file: ScanFile, numbers: list[int], reasons: dict[int, str] | None = None
    ) -> None:
        """Whole row groups of a file in which a stage has found that no row passes; `reasons` as in StageMetrics."""
        if numbers:
            with self._lock:
                self.stages.setdefault(stage, StageMetrics()).at_once.append((file, numbers, reasons))

    def drop_later(self, stage: str, count: int, describe: Callable[[], Iterator[DroppedGroup]]) -> None:
        """So many whole row groups of several files, about which `describe` has the facts when somebody asks."""
        if count:
            with self._lock:
                self.stages.setdefault(stage, StageMetrics()).later.append((count, describe))

    def drop_file(self, stage: str, why: str) -> None:
        """One file more of which a stage has found, without its footer, that no row passes."""
        with self._lock:
            self.stages.setdefault(stage, StageMetrics()).files.append(why)

    def proved(self, proof: GroupProof, saved: tuple[int, int] = (0, 0)) -> None:
        """What the stages after the footer have said of a row group; `saved` are pages and bytes left out."""
        with self._lock:
            for stage, nanoseconds in proof.nanoseconds.items():
                self.stages.setdefault(stage, StageMetrics()).nanoseconds += nanoseconds
            if proof.rows:
                for stage, rows in proof.dropped.items():
                    self.stages[stage].rows += rows
            if saved[0]:
                index = self.stages[PAGE_INDEX]
                index.pages += saved[0]
                index.page_bytes += saved[1]

    def headers(self, pages: int, rows: int, nanoseconds: int) -> None:
        """What page headers have excluded in a window."""
        with self._lock:
            found = self.stages.setdefault(PAGE_HEADERS, StageMetrics())
            found.pages += pages
            found.rows += rows
            found.nanoseconds += nanoseconds

    def took(self, stage: str, nanoseconds: int) -> None:
        """Time that a stage took beside what it proved."""
        with self._lock:
            self.stages.setdefault(stage, StageMetrics()).nanoseconds += nanoseconds

    def certain(self, plan: GroupPlan, rows: int) -> None:
        """A row group whose wanted rows all pass, without a look at them."""
        with self._lock:
            self.certain_groups += not plan.is_rest
            self.certain_rows += rows

    def add(self, measured: GroupMetrics) -> None:
        with self._lock:
            self.total.add(measured)
