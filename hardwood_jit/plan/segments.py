"""GroupProof -> segments: runs of rows that are all tested with the same conjuncts."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

from hardwood_jit.plan.prune import GroupProof
from hardwood_jit.plan.row_ranges import RowRanges

MOST_SEGMENTS = 32  # every one costs Python steps; beyond, the closest are joined; rows between are no candidates


@dataclass(frozen=True, slots=True)
class Segment:
    """Rows start .. stop of a row group, and the numbers of the conjuncts that they must still pass.

    Rows of a segment that are not among the proof's are no candidates.
    """

    start: int
    stop: int
    conjuncts: tuple[int, ...]


def cut_segments(proof: GroupProof, most: int = MOST_SEGMENTS) -> list[Segment]:
    """The rows of a proof in order, cut where the conjuncts to be tested change; at most `most` segments.

    >>> from hardwood_jit.plan.prune import GroupProof
    >>> from hardwood_jit.plan.segments import cut_segments
    >>> from hardwood_jit.plan.row_ranges import RowRanges
    >>> rows = RowRanges.of([(0, 100), (200, 300)])
    >>> for segment in cut_segments(GroupProof(rows, (RowRanges.of([(50, 300)]), RowRanges(())))):
    ...     print(segment.start, segment.stop, segment.conjuncts)
    0 50 (0, 1)
    50 100 (1,)
    200 300 (1,)
    """
    found: list[Segment] = []
    for start, stop in proof.rows:
        cuts = {start, stop}
        for sure in proof.certain:
            cuts.update(cut for pair in sure for cut in pair if start < cut < stop)
        edges = sorted(cuts)
        for low, high in itertools.pairwise(edges):
            active = proof.active(RowRanges(((low, high),)))
            if found and found[-1].stop == low and found[-1].conjuncts == active:
                found[-1] = Segment(found[-1].start, high, active)
            else:
                found.append(Segment(low, high, active))
    return _join_closest(found, most)


def _join_closest(segments: list[Segment], most: int) -> list[Segment]:
    if len(segments) <= most:
        return segments
    gaps = sorted(range(1, len(segments)), key=lambda number: segments[number].start - segments[number - 1].stop)
    joined = set(gaps[: len(segments) - most])
    out = [segments[0]]
    for number, segment in enumerate(segments[1:], 1):
        if number in joined:
            last = out[-1]
            both = tuple(sorted({*last.conjuncts, *segment.conjuncts}))
            out[-1] = Segment(last.start, segment.stop, both)
        else:
            out.append(segment)
    return out
