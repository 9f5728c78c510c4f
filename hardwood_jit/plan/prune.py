"""Bound predicate + bounds -> Verdict per row group, and Proof: which rows of a row group can pass, which surely do.

Stages, cheapest bytes first: chunk statistics, page index, bloom filter, dictionary. Statistics come with the footer;
the others are asked for through a `Probe`, and only where the stages before left a MAYBE. May keep rows without a
match, never drops a match.
"""

from __future__ import annotations

import enum
import itertools
import time
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Protocol

from hardwood_jit.plan.bound import (
    AllOf,
    AnyOf,
    BoundPredicate,
    Domain,
    Fixed,
    GroupTest,
    Key,
    Node,
    PairTest,
    ValueTest,
    float_key,
    successor,
)
from hardwood_jit.plan.group_bounds import (
    BoundsPart,
    StatisticsColumns,
    can_judge,
    group_bounds,
    join_bounds,
    never_passes,
)
from hardwood_jit.plan.key_text import float_of_key, key_text
from hardwood_jit.plan.row_ranges import RowRanges
from hardwood_jit.plan.statistics import BoundsReader, Facts, StoredStatistics

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from hardwood_jit.metadata.page_index import ColumnIndex, OffsetIndex
    from hardwood_jit.metadata.schema import Leaf

STATISTICS, PAGE_INDEX, BLOOM, DICTIONARY = STAGES = ("statistics", "page index", "bloom filter", "dictionary")
PAGE_HEADERS = "page headers"  # looked at where a file has no page index, once its pages are in memory
FEW_GROUPS = 4  # a stage that has proved nothing about a test in so many row groups is not asked again: asking costs


class Verdict(enum.IntEnum):
    """What is known of a test on some rows; AND is the least, OR the greatest."""

    NEVER = 0
    MAYBE = 1
    ALWAYS = 2


NEVER, MAYBE, ALWAYS = Verdict


# One test on one set of values


def value_verdict(test: ValueTest, facts: Facts) -> Verdict:
    """A test of one column where its values are as `facts` say."""
    if test.quantifier == "all":
        return MAYBE  # an empty list passes, a null one does not, and facts of slots do not tell them apart
    nulls_may_be = facts.null_count != 0
    if facts.is_all_null:
        found = ALWAYS if test.null_matches else NEVER
    elif _meets(test, facts):
        covered = _covers(test, facts) and (test.null_matches or not nulls_may_be)
        found = ALWAYS if covered else MAYBE
    else:
        found = MAYBE if test.null_matches and nulls_may_be else NEVER
    return MAYBE if found is ALWAYS and test.quantifier is not None else found


def _region(facts: Facts) -> tuple[Key, Key]:
    """low .. high. Bounds that were cut prove no equality: then "all are this value" becomes "this or the next"."""
    if facts.low is not None and facts.low == facts.high and not facts.is_exact:
        return facts.low, successor(facts.high)
    return facts.low, facts.high


def _meets(test: ValueTest, facts: Facts) -> bool:
    """Whether some value can pass."""
    if facts.nan_key is not None and test.intervals.contains(facts.nan_key):
        return True
    return not facts.is_all_nan and test.intervals.meets(*_region(facts))


def _covers(test: ValueTest, facts: Facts) -> bool:
    """Whether every value passes."""
    if facts.nan_key is not None and not test.intervals.contains(facts.nan_key):
        return False
    return facts.is_all_nan or test.intervals.covers(*_region(facts))


def pair_verdict(test: PairTest, left: Facts, right: Facts) -> Verdict:
    """A comparison of two columns where their values are as `left` and `right` say."""
    if left.is_all_null or right.is_all_null:
        return NEVER
    if left.nan_key is not None or right.nan_key is not None:
        return MAYBE
    low, high = _scaled(left, test.left_domain, test.left_factor)
    other_low, other_high = _scaled(right, test.right_domain, test.right_factor)
    below = high is not None and other_low is not None and high < other_low
    above = low is not None and other_high is not None and low > other_high
    not_above = high is not None and other_low is not None and high <= other_low
    not_below = low is not None and other_high is not None and low >= other_high
    never, always = {
        "lt": (not_below, below),
        "le": (above, not_above),
        "gt": (not_above, above),
        "ge": (below, not_below),
        "eq": (below or above, False),
        "ne": (False, below or above),
    }[test.op]
    if never:
        return NEVER
    return ALWAYS if always and left.null_count == 0 and right.null_count == 0 else MAYBE


def _scaled(facts: Facts, domain: Domain, factor: int) -> tuple[Key, Key]:
    """The bounds as keys that compare with those of the other column."""
    bounds = (facts.low, facts.high)
    if domain.kind == "float":  # the two may differ in width
        low, high = (None if key is None else float_key(float_of_key(key, domain.bits), 64) for key in bounds)
        return low, high
    low, high = (key if key is None or factor == 1 else key * factor for key in bounds)
    return low, high


def why_never(test: ValueTest, facts: Facts) -> str:
    """Why no value passes, in a few words."""
    if facts.is_all_null:
        return f"all {facts.slots:,} values are null" if facts.slots else "no values"
    if not test.intervals:
        return "no nulls"
    first, last = test.intervals.pairs[0][0], test.intervals.pairs[-1][1]

    def shown(key: Key) -> str:
        return key_text(key, test.leaf, test.domain)

    if facts.high is not None and first is not None and facts.high < first:
        return f"max {shown(facts.high)} < {shown(first)}"
    if facts.low is not None and last is not None and facts.low >= last:
        points = test.intervals.single_keys()
        if points is not None:
            return f"min {shown(facts.low)} > {shown(points[-1])}"
        return f"min {shown(facts.low)} >= {shown(last)}"
    if facts.low is not None and facts.high is not None:
        return f"nothing asked for between min {shown(facts.low)} and max {shown(facts.high)}"
    return "bounds"


# Rows of a row group


@dataclass(frozen=True, slots=True)
class Proof:
    """Rows of a row group that may pass a test, and those of them that surely do."""

    maybe: RowRanges
    certain: RowRanges

    @classmethod
    def of(cls, verdict: Verdict, rows: RowRanges) -> Proof:
        nothing = RowRanges(())
        return cls(nothing if verdict is NEVER else rows, rows if verdict is ALWAYS else nothing)

    def intersect(self, other: Proof) -> Proof:
        return Proof(self.maybe.intersect(other.maybe), self.certain.intersect(other.certain))

    def sharpened_by(self, other: Proof) -> Proof:
        """Both are about the same test: what one of them proves is proved."""
        maybe = self.maybe.intersect(other.maybe)
        return Proof(maybe, self.certain.union(other.certain).intersect(maybe))

    def union(self, other: Proof) -> Proof:
        return Proof(self.maybe.union(other.maybe), self.certain.union(other.certain))


class ChunkFacts(Protocol):
    """What pruning needs of a column chunk."""

    @property
    def statistics(self) -> StoredStatistics | None: ...

    @property
    def num_values(self) -> int: ...


Ask = Callable[[Node, "Proof"], tuple["Proof", str]]
FactsOf = Callable[["Leaf", Domain], Facts]
PageFacts = list[tuple[int, int, Facts]]  # first row, row after the last, what is known of the values; rows rise


class Probe(Protocol):
    """Looks into one row group of a file on behalf of the planner."""

    def page_facts(self, leaf: Leaf, reader: BoundsReader) -> PageFacts | None:
        """What the page index says of each page of a column; None without one that fits."""
        ...

    def bloom_excludes(self, test: ValueTest) -> bool:
        """Whether the column's bloom filter says that none of the test's values is there."""
        ...

    def dictionary_verdict(self, test: ValueTest) -> Verdict:
        """What the column's dictionary says; MAYBE unless every data page uses it."""
        ...


@dataclass
class GroupVerdicts:
    """What the footer alone says of a row group: of each conjunct, and of each test below."""

    conjuncts: tuple[Verdict, ...]
    tests: dict[int, Verdict]  # by identity
    why: Callable[[], str] = str  # why no row passes

    @property
    def verdict(self) -> Verdict:
        return min(self.conjuncts, default=ALWAYS)


@dataclass
class GroupProof:
    """Which rows of a row group are left, and what is still to be tested there."""

    rows: RowRanges  # that may pass
    certain: tuple[RowRanges, ...]  # per conjunct: rows that surely pass it
    stage: str = ""  # the one that left no row
    reason: str = ""
    dropped: dict[str, int] = field(default_factory=dict)  # stage -> rows that it has proved away
    nanoseconds: dict[str, int] = field(default_factory=dict)  # stage -> how long asking took

    @cached_property
    def to_be_tested(self) -> tuple[int, ...]:
        """The conjuncts that some of the rows must still be tested with."""
        return self.active(self.rows)

    def active(self, rows: RowRanges) -> tuple[int, ...]:
        """The conjuncts that some of these rows must still be tested with."""
        return tuple(number for number, sure in enumerate(self.certain) if not sure or not sure.contains(rows))


class Prover:
    """The proofs of one bound predicate on the row groups of one file."""

    def __init__(
        self,
        predicate: BoundPredicate,
        orders: Sequence[str | None],
        created_by: str | None = None,
        memo: dict[Any, Any] | None = None,
    ) -> None:
        self.conjuncts = predicate.conjuncts
        self._orders = orders
        self._created_by = created_by
        self._memo: dict[Any, Any] = {} if memo is None else memo  # outlives this object where a footer is kept
        # Its parts by leaf and domain; the domains belong to the predicate and live as long as this does.
        self._known: dict[tuple[int, int], dict[int, Facts]] = {}
        self._readers: dict[tuple[int, Domain], BoundsReader] = {}
        self._is_silent = False  # no stage after the footer is worth asking any more
        self._useless: dict[tuple[str, int], int] = {}  # stage and test -> row groups in a row without an effect

    def reader(self, leaf: Leaf, domain: Domain) -> BoundsReader:
        """Reads the bounds of a leaf for tests in that domain."""
        found = self._readers.get((leaf.index, domain))
        if found is None:
            found = BoundsReader(leaf, domain, self._orders[leaf.index], self._created_by)
            self._readers[leaf.index, domain] = found
        return found

    # The footer

    def verdicts(self, number: int, chunks: Sequence[ChunkFacts]) -> GroupVerdicts:
        """What statistics say of row group `number`, which has these column chunks."""
        tests: dict[int, Verdict] = {}
        conjuncts: list[Verdict] = []

        def facts(leaf: Leaf, domain: Domain) -> Facts:
            return self._chunk_facts(number, leaf, domain, chunks)

        for conjunct in self.conjuncts:
            verdict = self._statistics_verdict(conjunct, facts, tests)
            conjuncts.append(verdict)
            if verdict is NEVER:
                missing = (NEVER,) * (len(self.conjuncts) - len(conjuncts))
                return GroupVerdicts((*conjuncts, *missing), tests, partial(self._why, conjunct, facts))
        return GroupVerdicts(tuple(conjuncts), tests)

    def never(self, statistics_of: Callable[[Leaf], StatisticsColumns]) -> NDArray[np.bool_] | None:
        """Per row group: whether some conjunct excludes it, as far as that can be said for all of them at once."""
        return self.never_in_files([self._memo], None, lambda leaf, _: statistics_of(leaf))

    def never_in_files(
        self,
        memos: Sequence[dict[Any, Any]],
        group_counts: Sequence[int] | None,
        statistics_of: Callable[[Leaf, Sequence[int]], StatisticsColumns],
    ) -> NDArray[np.bool_] | None:
        """As `never`, for the row groups of several files of one writer and schema, one file after the other.

        `statistics_of` reads those of the files with these numbers, whose `memos` do not have them yet.
        """
        found: NDArray[np.bool_] | None = None
        for test in self.conjuncts:
            if not isinstance(test, ValueTest) or not can_judge(test):
                continue
            key = "bounds", test.leaf.index, test.domain
            missing = [number for number, memo in enumerate(memos) if key not in memo]
            if missing:
                whole = group_bounds(self.reader(test.leaf, test.domain), statistics_of(test.leaf, missing))
                first = 0
                for number in missing:
                    stop = len(whole.low) if group_counts is None else first + group_counts[number]
                    memos[number][key] = BoundsPart(whole, first, stop)
                    first = stop
            excluded = never_passes(test, join_bounds([memo[key] for memo in memos]))
            found = excluded if found is None else found | excluded
        return found

    def _statistics_verdict(self, node: Node, facts: FactsOf, tests: dict[int, Verdict]) -> Verdict:
        match node:
            case ValueTest():
                found = value_verdict(node, facts(node.leaf, node.domain))
            case PairTest():
                left, right = facts(node.left, node.left_domain), facts(node.right, node.right_domain)
                found = pair_verdict(node, left, right)
            case AllOf():
                return min(self._statistics_verdict(arg, facts, tests) for arg in node.args)
            case AnyOf():
                return max(self._statistics_verdict(arg, facts, tests) for arg in node.args)
            case Fixed():
                found = ALWAYS if node.value else NEVER
            case GroupTest():
                found = MAYBE
        tests[id(node)] = found
        return found

    def _chunk_facts(self, number: int, leaf: Leaf, domain: Domain, chunks: Sequence[ChunkFacts]) -> Facts:
        known = self._known.get((leaf.index, id(domain)))
        if known is None:
            known = self._memo.setdefault((leaf.index, domain), {})
            self._known[leaf.index, id(domain)] = known
        found = known.get(number)
        if found is None:
            chunk = chunks[leaf.index]
            found = known[number] = self.reader(leaf, domain).of_statistics(chunk.statistics, chunk.num_values)
        return found

    def _why(self, node: Node, facts: FactsOf) -> str:
        match node:
            case ValueTest():
                return f"{node.leaf.dotted}: {why_never(node, facts(node.leaf, node.domain))}"
            case AllOf():
                guilty = next(arg for arg in node.args if self._statistics_verdict(arg, facts, {}) is NEVER)
                return self._why(guilty, facts)
            case AnyOf():
                return "; ".join(self._why(arg, facts) for arg in node.args)
            case PairTest():
                return f"{node.text}: the ranges of the two columns exclude it"
        return node.text

    # Pages, bloom filters, dictionaries

    def prove(
        self,
        found: GroupVerdicts,
        rows: RowRanges,
        row_count: int,
        probe: Probe,
        wanted: Sequence[str] = (PAGE_INDEX, BLOOM, DICTIONARY),
    ) -> GroupProof:
        """The `wanted` stages after the footer, on those `rows` of a row group that are asked for."""
        everything = RowRanges.all(row_count)
        if not self._has_questions(found, wanted):
            nothing = RowRanges(())
            return GroupProof(rows, tuple(everything if sure is ALWAYS else nothing for sure in found.conjuncts))
        proofs = {key: Proof.of(verdict, everything) for key, verdict in found.tests.items()}
        proof = self._combined(rows, proofs)
        stages: list[tuple[str, Ask]] = [
            (PAGE_INDEX, lambda test, known: self._page_proof(test, known, probe)),
            (BLOOM, lambda test, known: self._bloom_proof(test, known, probe)),
            (DICTIONARY, lambda test, known: self._dictionary_proof(test, known, probe, everything)),
        ]
        for stage, ask in stages:
            if stage not in wanted or (stage == DICTIONARY and 2 * proof.rows.row_count < row_count):
                continue  # a dictionary is of the whole row group: for a few pages it says too little
            started = time.perf_counter_ns()
            proof = self._ask(stage, ask, rows, proofs, proof)
            proof.nanoseconds[stage] = time.perf_counter_ns() - started
            if not proof.rows:
                break
        return proof

    def _has_questions(self, found: GroupVerdicts, wanted: Sequence[str]) -> bool:
        """Whether some stage is still worth asking about a test that statistics left open."""
        if self._is_silent:
            return False
        asked = [
            test
            for test in tests_of(self.conjuncts)
            if any(stage in wanted and not self._is_useless(stage, test) for stage in (PAGE_INDEX, BLOOM, DICTIONARY))
        ]
        self._is_silent = not asked
        return any(found.tests[id(test)] is MAYBE for test in asked)

    def _ask(self, stage: str, ask: Ask, rows: RowRanges, proofs: dict[int, Proof], proof: GroupProof) -> GroupProof:
        """One stage on every test that is still open; `proofs` are sharpened."""
        for test in tests_of(self.conjuncts):
            known = proofs[id(test)]
            if self._is_useless(stage, test) or not self._is_open(test, known, proof):
                continue
            proofs[id(test)], reason = ask(test, known)
            self._note(stage, test, proofs[id(test)] != known)
            if proofs[id(test)] == known:
                continue
            narrowed = self._combined(rows, proofs)
            narrowed.dropped, narrowed.nanoseconds = proof.dropped, proof.nanoseconds
            gone = proof.rows.row_count - narrowed.rows.row_count
            if gone:
                narrowed.dropped[stage] = narrowed.dropped.get(stage, 0) + gone
            proof = narrowed
            if not proof.rows:
                proof.stage, proof.reason = stage, reason
                break
        return proof

    def _combined(self, rows: RowRanges, proofs: dict[int, Proof]) -> GroupProof:
        parts = [_combine(conjunct, proofs) for conjunct in self.conjuncts]
        for part in parts:
            rows = rows.intersect(part.maybe)
        return GroupProof(rows, tuple(part.certain for part in parts))

    def _is_open(self, test: Node, known: Proof, proof: GroupProof) -> bool:
        """Whether there is something left to prove about a test on the rows that are left."""
        open_rows = known.maybe.minus(known.certain)
        return bool(open_rows) and bool(open_rows.intersect(proof.rows))

    def _is_useless(self, stage: str, test: Node) -> bool:
        return self._useless.get((stage, id(test)), 0) >= FEW_GROUPS

    def _note(self, stage: str, test: Node, had_effect: bool) -> None:
        key = stage, id(test)
        self._useless[key] = 0 if had_effect else self._useless.get(key, 0) + 1

    def _page_proof(self, test: Node, known: Proof, probe: Probe) -> tuple[Proof, str]:
        match test:
            case ValueTest():
                reader = self.reader(test.leaf, test.domain)
                pages = probe.page_facts(test.leaf, reader)
                if pages is None:
                    return known, ""
                return known.sharpened_by(page_proof(test, pages)), f"{test.text}: no page can hold a match"
            case PairTest():
                left = probe.page_facts(test.left, self.reader(test.left, test.left_domain))
                right = probe.page_facts(test.right, self.reader(test.right, test.right_domain))
                if left is None or right is None:
                    return known, ""
                return known.sharpened_by(pair_page_proof(test, left, right)), f"{test.text}: on no page"
        return known, ""

    def _bloom_proof(self, test: Node, known: Proof, probe: Probe) -> tuple[Proof, str]:
        if isinstance(test, ValueTest) and not test.null_matches and test.quantifier != "all":
            keys = test.intervals.few_keys()
            if keys and probe.bloom_excludes(test):
                what = "the value" if len(keys) == 1 else f"any of {len(keys):,} values"
                return Proof(RowRanges(()), RowRanges(())), f"{test.leaf.dotted}: does not hold {what}"
        return known, ""

    def _dictionary_proof(self, test: Node, known: Proof, probe: Probe, everything: RowRanges) -> tuple[Proof, str]:
        if isinstance(test, ValueTest) and test.quantifier != "all":
            verdict = probe.dictionary_verdict(test)
            if verdict is not MAYBE:
                return Proof.of(verdict, everything), f"{test.leaf.dotted}: no entry passes"
        return known, ""


def tests_of(nodes: Sequence[Node]) -> Iterator[Node]:
    """The tests below some nodes, in reading order."""
    for node in nodes:
        if isinstance(node, AllOf | AnyOf):
            yield from tests_of(node.args)
        else:
            yield node


def _combine(node: Node, proofs: dict[int, Proof]) -> Proof:
    if not isinstance(node, AllOf | AnyOf):
        return proofs[id(node)]
    parts = [_combine(arg, proofs) for arg in node.args]
    found = parts[0]
    for part in parts[1:]:
        found = found.intersect(part) if isinstance(node, AllOf) else found.union(part)
    return found


# Pages


def facts_of_index(columns: ColumnIndex, offsets: OffsetIndex, reader: BoundsReader) -> PageFacts:
    """A column's page index as facts of row ranges. A page's line that contradicts itself says nothing."""
    firsts = [*offsets.first_rows.tolist(), offsets.row_count]
    nulls = [None] * columns.page_count if columns.null_counts is None else columns.null_counts.tolist()
    nans = [None] * columns.page_count if columns.nan_counts is None else columns.nan_counts.tolist()
    is_flat = reader.leaf.max_repetition_level == 0
    found: PageFacts = []
    for page, is_null in enumerate(columns.null_pages.tolist()):
        first, stop = firsts[page], firsts[page + 1]
        slots = stop - first if is_flat else None
        if not is_null:
            low, high = columns.min_values[page], columns.max_values[page]
            facts = reader.of_page(low, high, slots, nulls[page], nans[page])
        elif reader.leaf.max_definition_level and (not is_flat or nulls[page] in (None, slots)):
            facts = Facts(slots or 1, slots or 1)
        else:
            facts = Facts(slots, nan_key=reader.of_page(None, None, None, None, None).nan_key)
        if stop > first:
            found.append((first, stop, facts))
    return found


def page_proof(test: ValueTest, pages: PageFacts) -> Proof:
    """Rows that may and that surely pass, page by page."""
    span = _pages_in_order(test, pages)
    maybe: list[tuple[int, int]] = []
    certain: list[tuple[int, int]] = []
    for first, stop, facts in pages[span]:
        verdict = value_verdict(test, facts)
        if verdict is not NEVER:
            maybe.append((first, stop))
        if verdict is ALWAYS:
            certain.append((first, stop))
    return Proof(RowRanges.of(maybe), RowRanges.of(certain))


def _pages_in_order(test: ValueTest, pages: PageFacts) -> slice:
    """The pages that a test must look at: a part of them where bounds are seen to rise or fall from page to page.

    What the index claims about its order does not matter: the bounds themselves say it.
    """
    everything = slice(0, len(pages))
    if len(test.intervals.pairs) != 1 or test.null_matches or test.quantifier == "all" or len(pages) < 16:
        return everything  # an empty list passes "all", wherever its page's bounds lie
    low, high = test.intervals.pairs[0]
    lows = [facts.low for _, _, facts in pages]
    highs = [facts.high for _, _, facts in pages]
    if None in lows or None in highs or any(facts.nan_key is not None for _, _, facts in pages):
        return everything
    falls = lows[0] > lows[-1]
    if falls:
        lows.reverse()
        highs.reverse()
    if any(a > b for a, b in itertools.pairwise(lows)) or any(
        a > b for a, b in itertools.pairwise(highs)
    ):
        return everything
    first = 0 if low is None else bisect_left(highs, low)
    # A bound that was cut may stand for the value after it: one page more never hurts.
    stop = len(pages) if high is None else bisect_right(lows, high)
    first = max(first - 1, 0)
    return slice(len(pages) - stop, len(pages) - first) if falls else slice(first, stop)


def pair_page_proof(test: PairTest, left: PageFacts, right: PageFacts) -> Proof:
    """As page_proof for two columns, whose pages need not start on the same rows."""
    maybe: list[tuple[int, int]] = []
    certain: list[tuple[int, int]] = []
    i = j = 0
    while i < len(left) and j < len(right):
        first, stop = max(left[i][0], right[j][0]), min(left[i][1], right[j][1])
        if first < stop:
            verdict = pair_verdict(test, left[i][2], right[j][2])
            if verdict is not NEVER:
                maybe.append((first, stop))
            if verdict is ALWAYS:
                certain.append((first, stop))
        if left[i][1] < right[j][1]:
            i += 1
        else:
            j += 1
    return Proof(RowRanges.of(maybe), RowRanges.of(certain))
