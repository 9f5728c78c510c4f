"""Segments against the rows of a proof, one by one."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from hardwood_jit.plan.prune import GroupProof
from hardwood_jit.plan.row_ranges import RowRanges
from hardwood_jit.plan.segments import MOST_SEGMENTS, Segment, cut_segments

ROWS = 60
ranges = st.lists(st.tuples(st.integers(0, ROWS), st.integers(0, ROWS)), max_size=6).map(RowRanges.of)
proofs = st.builds(GroupProof, ranges, st.lists(ranges, max_size=3).map(tuple))


def rows_of(pairs: RowRanges) -> set[int]:
    return {row for start, stop in pairs for row in range(start, stop)}


def needed(proof: GroupProof, row: int) -> set[int]:
    """The conjuncts that a row must still be tested with."""
    return {number for number, sure in enumerate(proof.certain) if row not in rows_of(sure)}


@given(proofs)
def test_segments_hold_the_rows_of_a_proof_each_with_the_conjuncts_it_needs(proof: GroupProof) -> None:
    found = cut_segments(proof, most=ROWS)
    assert [row for part in found for row in range(part.start, part.stop)] == sorted(rows_of(proof.rows))
    for part in found:
        for row in range(part.start, part.stop):
            assert set(part.conjuncts) == needed(proof, row)
    for one, two in pairwise(found):  # neighbours that are tested alike are one
        assert one.stop < two.start or one.conjuncts != two.conjuncts


@given(proofs, st.integers(1, 4))
def test_few_segments_hold_the_same_rows_and_at_least_the_conjuncts_they_need(proof: GroupProof, most: int) -> None:
    found = cut_segments(proof, most)
    assert len(found) <= most
    assert all(one.stop <= two.start for one, two in pairwise(found))
    inside = {row: set(part.conjuncts) for part in found for row in range(part.start, part.stop)}
    for row in rows_of(proof.rows):
        assert inside[row] >= needed(proof, row)


def test_closest_segments_are_joined_first() -> None:
    proof = GroupProof(RowRanges.of([(0, 10), (12, 20), (90, 100)]), (RowRanges.of([(12, 20)]), RowRanges(())))
    assert cut_segments(proof, 2) == [Segment(0, 20, (0, 1)), Segment(90, 100, (0, 1))]


def test_many_pages_make_no_more_segments_than_a_row_group_should_have() -> None:
    rows = RowRanges.of((10 * page, 10 * page + 5) for page in range(1_000))
    found = cut_segments(GroupProof(rows, (RowRanges(()),)))
    assert len(found) == MOST_SEGMENTS and found[0].start == 0 and found[-1].stop == 9_995


def test_proof_without_rows_has_no_segments() -> None:
    assert cut_segments(GroupProof(RowRanges(()), (RowRanges(()),))) == []
