"""RowRanges against plain sets and lists of row numbers."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from hardwood_jit.plan.row_ranges import RowRanges

pairs = st.lists(st.tuples(st.integers(-3, 60), st.integers(-3, 60)), max_size=8)
few = st.integers(0, 70)


def numbers(ranges: RowRanges) -> list[int]:
    return [row for start, stop in ranges for row in range(start, stop)]


def check(ranges: RowRanges) -> None:
    """Sorted, not empty, and with a gap between neighbours unless an operation cut one range in two."""
    assert all(start < stop for start, stop in ranges)
    assert all(one[1] <= two[0] for one, two in zip(ranges.pairs, ranges.pairs[1:], strict=False))
    assert ranges.row_count == len(numbers(ranges))
    assert bool(ranges) == (ranges.row_count > 0)


@given(pairs)
def test_ranges_are_the_union_of_their_intervals_sorted_and_merged(given: list[tuple[int, int]]) -> None:
    ranges = RowRanges.of(given)
    check(ranges)
    assert numbers(ranges) == sorted({row for start, stop in given for row in range(start, stop)})
    assert all(one[1] < two[0] for one, two in zip(ranges.pairs, ranges.pairs[1:], strict=False))
    assert RowRanges.of(ranges) == ranges


@given(pairs, pairs)
def test_intersection_keeps_the_rows_in_both(one: list[tuple[int, int]], two: list[tuple[int, int]]) -> None:
    both = RowRanges.of(one).intersect(RowRanges.of(two))
    check(both)
    assert numbers(both) == sorted(set(numbers(RowRanges.of(one))) & set(numbers(RowRanges.of(two))))
    assert both == RowRanges.of(two).intersect(RowRanges.of(one))


@given(pairs, pairs)
def test_union_minus_and_contains_are_those_of_sets(one: list[tuple[int, int]], two: list[tuple[int, int]]) -> None:
    a, b = RowRanges.of(one), RowRanges.of(two)
    rows, others = set(numbers(a)), set(numbers(b))
    for found, expected in ((a.union(b), rows | others), (a.minus(b), rows - others), (b.minus(a), others - rows)):
        check(found)
        assert numbers(found) == sorted(expected)
    assert a.contains(b) == (rows >= others)
    assert a.union(b).contains(a) and a.contains(a.minus(b)) and not a.minus(b).intersect(b)
    assert a.minus(a) == RowRanges(()) and a.contains(RowRanges(()))


@given(pairs, pairs, few)
def test_ranges_that_were_cut_and_touch_count_as_one(
    one: list[tuple[int, int]], two: list[tuple[int, int]], cut: int
) -> None:
    whole = RowRanges.of(one)
    pieces = RowRanges(
        tuple(part for a, b in whole for part in ((a, min(b, cut)), (max(a, cut), b)) if part[0] < part[1])
    )
    other = RowRanges.of(two)
    assert pieces.contains(whole) and whole.contains(pieces)
    assert numbers(pieces.minus(other)) == numbers(whole.minus(other))
    assert numbers(other.minus(pieces)) == numbers(other.minus(whole))
    assert pieces.union(other).row_count == whole.union(other).row_count


@given(pairs, few, few)
def test_skip_and_head_are_slices_of_the_rows(given: list[tuple[int, int]], skip: int, head: int) -> None:
    ranges = RowRanges.of(given)
    for found, expected in (
        (ranges.skip(skip), numbers(ranges)[skip:]),
        (ranges.head(head), numbers(ranges)[:head]),
        (ranges.skip(skip).head(head), numbers(ranges)[skip : skip + head]),
    ):
        check(found)
        assert numbers(found) == expected


@given(pairs, few, few)
def test_clip_renumbers_the_rows_of_a_row_group(given: list[tuple[int, int]], start: int, stop: int) -> None:
    ranges = RowRanges.of(given)
    found = ranges.clip(start, stop)
    check(found)
    assert numbers(found) == [row - start for row in numbers(ranges) if start <= row < stop]


@given(few, pairs)
def test_covers_means_every_row_of_the_group(row_count: int, given: list[tuple[int, int]]) -> None:
    assert RowRanges.all(row_count).covers(row_count)
    ranges = RowRanges.of(given)
    assert ranges.covers(row_count) == (numbers(ranges) == list(range(row_count)))


def test_row_numbers_may_be_as_large_as_a_dataset() -> None:
    ranges = RowRanges.of([(2**40, 2**40 + 5), (0, 1)])
    assert ranges.row_count == 6
    assert list(ranges.skip(2)) == [(2**40 + 1, 2**40 + 5)]
