"""skip, head and tail over the matching rows of a filtered scan, whose batches come in order."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from hardwood_jit.batch import Batch


def slice_batch(batch: Batch, start: int, stop: int) -> Batch:
    """Rows start .. stop of a batch, as a batch of its own."""
    if start <= 0 and stop >= batch.num_rows:
        return batch
    from hardwood_jit.jit.survivors import take_column

    positions = np.arange(start, stop, dtype=np.int32)
    columns = tuple(take_column(column, positions) for column in batch.columns)
    return Batch(batch.schema, columns, stop - start, batch.file, batch.row_group)


def skip_and_head(batches: Iterator[Batch], skip_of: Callable[[], int], head: int | None) -> Iterator[Batch]:
    """Without the first rows, at most `head` of the others; nothing is asked for after the last one.

    How many to skip is asked for at the first batch: planning may have passed over some of them.
    """
    left = head
    skip: int | None = None
    while left != 0:
        batch = next(batches, None)
        if batch is None:
            return
        if skip is None:
            skip = skip_of()
        first = min(skip, batch.num_rows)
        skip -= first
        stop = batch.num_rows if left is None else min(batch.num_rows, first + left)
        if stop > first:
            if left is not None:
                left -= stop - first
            yield slice_batch(batch, first, stop)


def last_rows(batches: Iterator[Batch], row_count: int) -> Iterator[Batch]:
    """The last `row_count` rows, in file order, of batches whose row groups come from the last one on."""
    groups: list[list[Batch]] = []
    found = 0
    current: tuple[str, int] | None = None
    for batch in batches if row_count else ():
        place = (batch.file, batch.row_group)
        if place != current:
            if found >= row_count:
                break
            groups.append([])
            current = place
        groups[-1].append(batch)
        found += batch.num_rows
    surplus = found - row_count
    for group in reversed(groups):
        for batch in group:
            first = min(max(surplus, 0), batch.num_rows)
            surplus -= first
            if first < batch.num_rows:
                yield slice_batch(batch, first, batch.num_rows)
