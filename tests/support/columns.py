"""Turns a decoded Column into what the naive oracle gives for the same leaf: one value per record, layer by layer."""

from __future__ import annotations

import itertools
from typing import Any


def leaf_values(column: Any) -> list[Any]:
    """Physical values of every leaf slot, None where null: int, float, bool or bytes."""
    count = column.value_count
    if column.data is not None:
        offsets = column.offsets.tolist()
        assert len(offsets) == count + 1
        data = column.data.tobytes()
        values = [data[start:stop] for start, stop in itertools.pairwise(offsets)]
    else:
        assert len(column.values) == count
        values = [row.tobytes() for row in column.values] if column.values.ndim == 2 else column.values.tolist()
    present = check_validity(column.validity, count)
    return [value if ok else None for value, ok in zip(values, present, strict=True)]


def check_validity(validity: Any, count: int) -> list[bool]:
    """One bool per item, after checking everything that Validity promises about its words."""
    if validity.words is None:
        assert not validity.has_nulls
        assert validity.null_count == 0
        return [True] * count
    assert len(validity.words) * 64 >= count
    whole = int.from_bytes(validity.words.tobytes(), "little")
    assert whole >> count == 0, "bits past the count must be 0"
    present = [bool(whole >> number & 1) for number in range(count)]
    assert validity.null_count == present.count(False)
    assert validity.has_nulls == (False in present)
    assert validity.to_numpy(count).tolist() == present
    return present


def column_records(column: Any) -> list[Any]:
    """Per record: a struct layer is None or a 1-tuple, a repeated layer None or a list, the leaf None or its value."""
    items = leaf_values(column)
    for number in range(len(column.layers) - 1, -1, -1):
        layer = column.layers[number]
        if layer.kind == "struct":
            present = check_validity(layer.validity, len(items))
            items = [(item,) if ok else None for item, ok in zip(items, present, strict=True)]
            continue
        offsets = layer.offsets.tolist()
        assert offsets[0] == 0
        assert offsets[-1] == len(items)
        present = check_validity(layer.validity, len(offsets) - 1)
        items = [
            items[start:stop] if ok else None for start, stop, ok in zip(offsets, offsets[1:], present, strict=False)
        ]
        assert all(ok or start == stop for ok, start, stop in zip(present, offsets, offsets[1:], strict=False))
    assert len(items) == column.record_count
    return items
