"""The planner is a function of row counts and midpoints: against slices of a list of rows; it asks few footers."""

from __future__ import annotations

import itertools
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hardwood_jit.plan.row_ranges import RowRanges
from hardwood_jit.plan.scan_plan import GroupPlan, Selection, plan_scan


@dataclass(frozen=True)
class Group:
    num_rows: int
    midpoint: int = 0


class Footers:
    """Row groups by file, noting who was asked for."""

    def __init__(self, files: Sequence[Sequence[int]]) -> None:
        self.files = [[Group(rows, 100 * number + 50) for number, rows in enumerate(file)] for file in files]
        self.asked: list[int] = []

    def __call__(self, file: int) -> list[Group]:
        self.asked.append(file)
        return self.files[file]

    def plan(self, selection: Selection) -> list[GroupPlan]:
        return list(plan_scan(selection, len(self.files), self))


def rows_of(files: Sequence[Sequence[int]]) -> list[tuple[int, int, int]]:
    """Every row as (file, row group, row)."""
    return [
        (file, group, row)
        for file, groups in enumerate(files)
        for group, count in enumerate(groups)
        for row in range(count)
    ]


def planned(plans: Sequence[GroupPlan]) -> list[tuple[int, int, int]]:
    return [(plan.file, plan.row_group, row) for plan in plans for a, b in plan.rows for row in range(a, b)]


datasets = st.lists(st.lists(st.integers(0, 12), max_size=4), min_size=1, max_size=4)
counts = st.none() | st.integers(0, 50)
ranges = st.none() | st.lists(st.tuples(st.integers(0, 60), st.integers(0, 60)), max_size=4)


@given(datasets, counts, counts, ranges)
def test_skip_head_and_row_ranges_are_slices_of_all_rows(
    files: list[list[int]], skip: int | None, head: int | None, given: list[tuple[int, int]] | None
) -> None:
    selection = Selection(skip=skip, head=head, row_ranges=None if given is None else RowRanges.of(given))
    footers = Footers(files)
    plans = footers.plan(selection)
    expected = rows_of(files)
    if given is not None:
        expected = [row for number, row in enumerate(expected) if any(a <= number < b for a, b in given)]
    expected = expected[skip or 0 :]
    expected = expected if head is None else expected[:head]
    assert planned(plans) == expected
    for plan in plans:
        assert plan.rows
        assert plan.whole == plan.rows.covers(files[plan.file][plan.row_group])
    assert len(footers.asked) == len(set(footers.asked))
    if head is not None and expected and len(expected) == head:
        assert max(footers.asked) == expected[-1][0]


@given(datasets, st.integers(0, 60))
def test_tail_is_the_end_of_all_rows_and_asks_from_the_end(files: list[list[int]], count: int) -> None:
    footers = Footers(files)
    plans = footers.plan(Selection(tail=count))
    expected = rows_of(files)[-count:] if count else []
    assert planned(plans) == expected
    assert footers.asked == sorted(footers.asked, reverse=True)
    if expected and len(expected) == count:
        assert min(footers.asked) == expected[0][0]
    assert count or not footers.asked


@given(st.lists(st.integers(0, 9), max_size=6), st.lists(st.integers(-10, 700), max_size=5), counts, counts)
def test_byte_ranges_that_part_a_file_give_every_row_group_once(
    groups: list[int], cuts: list[int], skip: int | None, head: int | None
) -> None:
    edges = [-(10**9), *sorted(cuts), 10**9]
    found = []
    for start, stop in itertools.pairwise(edges):
        part = Footers([groups]).plan(Selection(byte_range=(start, stop)))
        found += planned(part)
        # skip and head count the rows of the kept row groups
        some = Footers([groups]).plan(Selection(byte_range=(start, stop), skip=skip, head=head))
        kept = planned(part)[skip or 0 :]
        assert planned(some) == (kept if head is None else kept[:head])
    assert found == rows_of([groups])


def test_footers_are_asked_for_only_as_far_as_they_are_needed() -> None:
    files = [[5, 5], [5], [5, 5, 5]]
    for selection, asked in (
        (Selection(head=0), []),
        (Selection(head=10), [0]),
        (Selection(head=11), [0, 1]),
        (Selection(skip=10, head=5), [0, 1]),
        (Selection(skip=99), [0, 1, 2]),
        (Selection(row_ranges=RowRanges.of([(3, 10)])), [0]),
        (Selection(row_ranges=RowRanges.of([])), []),
        (Selection(tail=15), [2]),
        (Selection(tail=16), [2, 1]),
        (Selection(tail=0), []),
    ):
        footers = Footers(files)
        footers.plan(selection)
        assert footers.asked == asked, selection


def test_plan_is_made_while_it_is_consumed() -> None:
    footers = Footers([[1], [1], [1]])
    plans = plan_scan(Selection(), 3, footers)
    assert footers.asked == []
    next(plans)
    assert footers.asked == [0]


def test_byte_range_over_several_files_is_refused() -> None:
    with pytest.raises(ValueError, match="one file"):
        plan_scan(Selection(byte_range=(0, 5)), 2, Footers([[1], [1]]))


@pytest.mark.parametrize("byte_range", [(5, 5), (9, 3)])
def test_byte_range_that_ends_before_it_starts_is_empty(byte_range: tuple[int, int]) -> None:
    assert Footers([[4, 4]]).plan(Selection(byte_range=byte_range)) == []


def test_byte_range_called_again_intersects_and_row_ranges_too() -> None:
    assert Selection().with_byte_range(0, 90).with_byte_range(10, 200).byte_range == (10, 90)
    one, two = RowRanges.of([(0, 9)]), RowRanges.of([(5, 20)])
    assert Selection().with_row_ranges(one).with_row_ranges(two).row_ranges == RowRanges.of([(5, 9)])


SETTERS: dict[str, Callable[[Selection], Selection]] = {
    "skip": lambda selection: selection.with_skip(1),
    "head": lambda selection: selection.with_head(1),
    "tail": lambda selection: selection.with_tail(1),
    "byte_range": lambda selection: selection.with_byte_range(0, 1),
    "row_ranges": lambda selection: selection.with_row_ranges(RowRanges.of([(0, 1)])),
}
REFUSED = {
    *((one, one) for one in ("skip", "head", "tail")),
    *((one, "tail") for one in ("skip", "head", "byte_range", "row_ranges")),
    *(("tail", one) for one in ("skip", "head", "byte_range", "row_ranges")),
    ("byte_range", "row_ranges"),
    ("row_ranges", "byte_range"),
}


@pytest.mark.parametrize("first", SETTERS)
@pytest.mark.parametrize("second", SETTERS)
def test_what_does_not_go_together_is_refused_in_either_order(first: str, second: str) -> None:
    selection = SETTERS[first](Selection())
    if (first, second) in REFUSED:
        with pytest.raises(ValueError, match=second):
            SETTERS[second](selection)
    else:
        SETTERS[second](selection)


@pytest.mark.parametrize("name", ["skip", "head", "tail"])
def test_number_of_rows_is_a_whole_number_of_0_or_more(name: str) -> None:
    def put(value: Any) -> Selection:
        return getattr(Selection(), f"with_{name}")(value)  # type: ignore[no-any-return]

    assert getattr(put(0), name) == 0
    with pytest.raises(ValueError, match="0 or more"):
        put(-1)
    for wrong in (1.5, "3", None, True):
        with pytest.raises(TypeError, match="whole number"):
            put(wrong)


def test_selection_is_not_changed_by_its_methods() -> None:
    selection = Selection(columns=("a",))
    changed = selection.with_head(3)
    assert selection == Selection(columns=("a",))
    assert changed == replace(selection, head=3)


def test_planning_imports_no_numba() -> None:
    code = (
        "import sys, hardwood_jit.plan.scan_plan, hardwood_jit.metadata.footer, hardwood_jit.metadata.page_index;"
        "assert 'numba' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
