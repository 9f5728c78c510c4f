"""Batches -> dict from leaf path to numpy array; needs no pyarrow.

Columns with nulls are `numpy.ma.MaskedArray` (text too: a masked `StringDType` array), columns without are plain
arrays. Leaves below structs are flat like any other, null where a struct around them is. Leaves below lists and maps
are object arrays of nested Python lists of logical values, None for null. Zero-copy for a single batch of plain
numbers, timestamps and fixed-width bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hardwood_jit.batch import Batch, Column
from hardwood_jit.errors import UnsupportedError, place
from hardwood_jit.rows import Present, leaf_values, nested_values, text_values
from hardwood_jit.types import NO_WORDS, check_times, int96_counts, narrowed, type_of

if TYPE_CHECKING:
    from hardwood_jit.metadata.schema import Leaf, Schema

_NOT_A_TIME = np.iinfo(np.int64).min
INTERVAL = np.dtype([("months", "<u4"), ("days", "<u4"), ("milliseconds", "<u4")])

Mask = NDArray[np.bool_]


def _values(column: Column) -> NDArray[Any]:
    assert column.values is not None
    return column.values[: column.value_count]


def _same(column: Column, present: Mask | None, where: str) -> NDArray[Any]:
    return _values(column)


def _narrow(column: Column, present: Mask | None, where: str) -> NDArray[Any]:
    dtype = type_of(column.leaf).dtype
    assert dtype is not None
    return narrowed(_values(column), present, dtype, where)


def _unsigned(column: Column, present: Mask | None, where: str) -> NDArray[Any]:
    dtype = type_of(column.leaf).dtype
    assert dtype is not None
    return _values(column).view(dtype)


def _half(column: Column, present: Mask | None, where: str) -> NDArray[Any]:
    return np.ascontiguousarray(_values(column)).view("<f2").reshape(-1)


def _dates(column: Column, present: Mask | None, where: str) -> NDArray[Any]:
    return _values(column).astype(np.int64).view("M8[D]")


def _unit(column: Column) -> str:
    logical = column.leaf.logical_type
    assert logical is not None and logical.unit is not None
    return logical.unit


def _times(column: Column, present: Mask | None, where: str) -> NDArray[Any]:
    check_times(_values(column), present, _unit(column), where)
    return _values(column).astype(np.int64, copy=False).view(f"m8[{_unit(column)}]")


def _instants(column: Column, present: Mask | None, where: str) -> NDArray[Any]:
    values = _values(column)
    lost = values == _NOT_A_TIME
    if lost.any() and (present is None or (lost & present).any()):
        raise UnsupportedError(f"{where}: the timestamp {_NOT_A_TIME} is numpy's NaT; batches() gives the number")
    return values.view(f"M8[{_unit(column)}]")


def _int96(column: Column, present: Mask | None, where: str) -> NDArray[Any]:
    words = column.validity.words if present is not None else None
    return int96_counts(_values(column), NO_WORDS if words is None else words, "ns", where).view("M8[ns]")


def _fixed(column: Column, present: Mask | None, where: str) -> NDArray[Any]:
    values = np.ascontiguousarray(_values(column))
    if values.shape[1] == 0:
        return _objects([b""] * len(values))
    return values.view(f"V{values.shape[1]}").reshape(-1)


def _intervals(column: Column, present: Mask | None, where: str) -> NDArray[Any]:
    return np.ascontiguousarray(_values(column)).view(INTERVAL).reshape(-1)


def _text(column: Column, present: Mask | None, where: str) -> NDArray[Any]:
    packed = np.array(text_values(Present(column, where)), dtype=np.dtypes.StringDType())
    if present is None:
        return packed
    out = np.zeros(column.value_count, dtype=np.dtypes.StringDType())
    out[present] = packed
    return out


def _objects(values: list[Any]) -> NDArray[Any]:
    # One by one: numpy would take a list of equally long lists for a second dimension.
    return np.fromiter(values, dtype=object, count=len(values))


def _python(column: Column, present: Mask | None, where: str) -> NDArray[Any]:
    return _objects(leaf_values(column, where))


NUMPY: dict[str, Callable[[Column, Mask | None, str], NDArray[Any]]] = {
    "boolean": _same,
    "same": _same,
    "narrow": _narrow,
    "unsigned": _unsigned,
    "half": _half,
    "decimal": _python,
    "date": _dates,
    "time": _times,
    "instant": _instants,
    "int96": _int96,
    "text": _text,
    "enum": _text,
    "bytes": _python,
    "fixed": _fixed,
    "uuid": _python,
    "interval": _intervals,
    "null": _python,
}


def _dtype(leaf: Leaf) -> np.dtype[Any]:
    """The dtype of a column without rows."""
    row = type_of(leaf)
    if leaf.max_repetition_level or "object" in row.numpy or (row.numpy.startswith("void") and not leaf.type_length):
        return np.dtype(object)
    if row.conversion in ("text", "enum"):
        return np.dtypes.StringDType()
    if row.conversion == "interval":
        return INTERVAL
    if row.conversion == "fixed":
        return np.dtype(f"V{leaf.type_length}")
    unit = leaf.logical_type.unit if leaf.logical_type is not None and leaf.logical_type.unit else ""
    return np.dtype(row.numpy.replace("unit", unit))


def column_to_numpy(column: Column, where: str) -> NDArray[Any]:
    """One array per leaf of one batch, one item per record."""
    if column.leaf.max_repetition_level:
        return _objects(nested_values(column, where))
    present = column.validity.to_numpy(column.value_count) if column.validity.has_nulls else None
    values = NUMPY[type_of(column.leaf).conversion](column, present, where)
    return values if present is None else np.ma.MaskedArray(values, mask=~present)


def to_numpy(batches: Iterable[Batch], schema: Schema) -> dict[str, NDArray[Any]]:
    """All batches as one array per leaf of the projected `schema`."""
    parts: list[list[NDArray[Any]]] = [[] for _ in schema.leaves]
    for batch in batches:
        for column, arrays in zip(batch.columns, parts, strict=True):
            arrays.append(column_to_numpy(column, place(batch.file, batch.row_group, column.path)))
    return {leaf.dotted: _joined(arrays, leaf) for leaf, arrays in zip(schema.leaves, parts, strict=True)}


def _joined(arrays: list[NDArray[Any]], leaf: Leaf) -> NDArray[Any]:
    if not arrays:
        return np.empty(0, _dtype(leaf))
    if len(arrays) == 1:
        return arrays[0]
    if any(isinstance(array, np.ma.MaskedArray) for array in arrays):
        joined: NDArray[Any] = np.ma.concatenate(arrays)  # type: ignore[no-untyped-call]  # numpy has no types here
        return joined
    return np.concatenate(arrays)
