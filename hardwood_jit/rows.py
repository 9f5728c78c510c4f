"""Batch -> Row: logical Python values, converted a column at a time.

| stored | `row[name]` | `row.raw(name)` |
|---|---|---|
| TIMESTAMP, INT96 | datetime, aware (UTC) when it is an instant, cut to microseconds | int; INT96 its 12 bytes |
| other leaves | see the table in `hardwood_jit.types` | int, float, bool, bytes as stored |
| group, list | dict, list | the same of raw values |
| map | list of (key, value); list of keys when it has no values | the same of raw values |

A null at any level is None. What Python's type cannot hold raises when it is asked for, and `raw` still gives it.
"""

from __future__ import annotations

import datetime
import decimal
import difflib
import itertools
import uuid
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hardwood_jit.batch import Batch, Column, Validity
from hardwood_jit.errors import ColumnNotFoundError, CorruptFileError, UnsupportedError, place
from hardwood_jit.nesting import Nest, check_slots, layer_of, nests_of
from hardwood_jit.physical import PhysicalType
from hardwood_jit.types import check_times, narrowed, type_of

_UTC = datetime.UTC
_FIRST_DAY = (datetime.date.min - datetime.date(1970, 1, 1)).days
_LAST_DAY = (datetime.date.max - datetime.date(1970, 1, 1)).days
_PER_DAY_MICROS = 86_400_000_000
_JULIAN_EPOCH = 2440588  # Julian day of 1970-01-01
# Exact for any number of digits: the default context would round to 28.
_EXACT = decimal.Context(prec=decimal.MAX_PREC, Emax=decimal.MAX_EMAX, Emin=decimal.MIN_EMIN)


class Interval(NamedTuple):
    """Parquet's INTERVAL: three independent counts.

    >>> hw.Interval(14, 3, 500).months
    14
    """

    months: int
    days: int
    milliseconds: int


class _Beyond:
    """Stands for a value that Python's type cannot hold, until somebody asks for it."""

    __slots__ = ("what",)

    def __init__(self, what: str) -> None:
        self.what = what


class Present:
    """The present values of a column, packed: what the converters work on, so null slots are never looked at."""

    __slots__ = ("column", "mask", "where")

    def __init__(self, column: Column, where: str) -> None:
        self.column = column
        self.where = where
        validity = column.validity
        self.mask: NDArray[np.bool_] | None = validity.to_numpy(column.value_count) if validity.has_nulls else None
        if column.form != "physical":
            raise ValueError(f"{where}: Python values are made from physical columns, not from '{column.form}'")

    def numbers(self) -> NDArray[Any]:
        """Rows of `values` that are present."""
        assert self.column.values is not None
        values = self.column.values[: self.column.value_count]
        return values if self.mask is None else values[self.mask]

    def fixed(self, dtype: str) -> NDArray[Any]:
        """Fixed-width bytes seen as little-endian `dtype` items, one row per value."""
        return np.ascontiguousarray(self.numbers()).view(dtype)

    def spans(self) -> tuple[bytes, list[int], list[int]]:
        """All bytes of a byte array column, with start and end of each present value."""
        column = self.column
        assert column.offsets is not None and column.data is not None
        offsets = column.offsets[: column.value_count + 1]
        starts, ends = offsets[:-1], offsets[1:]
        if self.mask is not None:
            starts, ends = starts[self.mask], ends[self.mask]
        whole = column.data[: int(offsets[-1])].tobytes()
        return whole, starts.tolist(), ends.tolist()

    def bytes(self) -> list[bytes]:
        """Values of either byte array type, INT96 included."""
        if self.column.leaf.physical_type is PhysicalType.BYTE_ARRAY:
            whole, starts, ends = self.spans()
            return [whole[start:end] for start, end in zip(starts, ends, strict=True)]
        values = self.numbers()
        width = values.shape[1]
        whole = values.tobytes()
        return [whole[at : at + width] for at in range(0, len(whole), width)] if width else [b""] * len(values)

    def placed(self, values: list[Any]) -> list[Any]:
        """One entry per slot again, None for the null ones."""
        if self.mask is None:
            return values
        following = iter(values)
        return [next(following) if present else None for present in self.mask.tolist()]


def _numbers(present: Present) -> list[Any]:
    values: list[Any] = present.numbers().tolist()
    return values


def _narrow(present: Present) -> list[Any]:
    dtype = type_of(present.column.leaf).dtype
    assert dtype is not None
    values: list[Any] = narrowed(present.numbers(), None, dtype, present.where).tolist()
    return values


def _unsigned(present: Present) -> list[Any]:
    dtype = type_of(present.column.leaf).dtype
    assert dtype is not None
    values: list[Any] = present.numbers().view(dtype).tolist()
    return values


def _half(present: Present) -> list[Any]:
    return present.fixed("<f2").ravel().tolist()


def unscaled_integers(present: Present) -> list[int]:
    """DECIMAL values without their scale, checked against the precision they promise."""
    column = present.column
    logical = column.leaf.logical_type
    assert logical is not None and logical.precision is not None
    if column.leaf.physical_type in (PhysicalType.INT32, PhysicalType.INT64):
        numbers: list[int] = present.numbers().tolist()
    else:
        numbers = [int.from_bytes(value, "big", signed=True) for value in present.bytes()]
    largest = max(max(numbers, default=0), -min(numbers, default=0))
    # A hostile precision would make 10**precision huge; three decimal digits need at least nine bits.
    if largest.bit_length() > 3 * logical.precision and largest >= 10**logical.precision:
        raise CorruptFileError(f"{present.where}: a value has more digits than {logical} allows")
    return numbers


def _decimals(present: Present) -> list[Any]:
    logical = present.column.leaf.logical_type
    assert logical is not None and logical.scale is not None
    scale, make, shift = -logical.scale, decimal.Decimal, _EXACT.scaleb
    if not scale:
        return [make(number) for number in unscaled_integers(present)]
    return [shift(make(number), scale) for number in unscaled_integers(present)]


def _dates(present: Present) -> list[Any]:
    days = present.numbers().astype(np.int64)
    values = days.view("M8[D]").tolist()
    # Outside its years numpy gives the number itself.
    return [value if isinstance(value, datetime.date) else _Beyond(f"day {value}") for value in values]


def _times(present: Present) -> list[Any]:
    logical = present.column.leaf.logical_type
    assert logical is not None and logical.unit is not None
    stored = present.numbers()
    check_times(stored, None, logical.unit, present.where)
    micros = stored.astype(np.int64)
    if logical.unit == "ms":
        micros *= 1000
    elif logical.unit == "ns":
        micros //= 1000
    # A time is the clock of an instant on the first day, and numpy makes those quickly.
    return [instant.time() for instant in micros.view("M8[us]").tolist()]


def _datetimes(micros: NDArray[np.int64], inside: NDArray[np.bool_], utc: bool, what: list[str]) -> list[Any]:
    """Microseconds since 1970; `what` names, in order, the values that are not `inside`."""
    if not inside.all():
        micros = np.where(inside, micros, 0)
    values: list[Any] = micros.view("M8[us]").tolist()
    if utc:
        values = [value.replace(tzinfo=_UTC) for value in values]
    for at, text in zip(np.flatnonzero(~inside).tolist(), what, strict=True):
        values[at] = _Beyond(text)
    return values


def _instants(present: Present) -> list[Any]:
    logical = present.column.leaf.logical_type
    assert logical is not None and logical.unit is not None
    stored = present.numbers()
    per_day = {"ms": 86_400_000, "us": _PER_DAY_MICROS, "ns": 1000 * _PER_DAY_MICROS}[logical.unit]
    # Python integers: with nanoseconds the years of `datetime` reach further than int64.
    first = max(_FIRST_DAY * per_day, -(1 << 63))
    last = min((_LAST_DAY + 1) * per_day - 1, (1 << 63) - 1)
    inside = (stored >= first) & (stored <= last)
    safe = np.where(inside, stored, 0)
    micros = safe * 1000 if logical.unit == "ms" else safe // 1000 if logical.unit == "ns" else safe
    beyond = [f"timestamp {value} {logical.unit}" for value in stored[~inside].tolist()]
    return _datetimes(micros, inside, bool(logical.utc), beyond)


def _int96(present: Present) -> list[Any]:
    raw = np.ascontiguousarray(present.numbers())
    nanos = np.ascontiguousarray(raw[:, :8]).view("<i8").ravel()
    days = np.ascontiguousarray(raw[:, 8:]).view("<i4").ravel().astype(np.int64) - _JULIAN_EPOCH
    # Nanoseconds may exceed a day: bring them below it first, then nothing overflows in the years of `datetime`.
    days += nanos // (1000 * _PER_DAY_MICROS)
    rest = nanos % (1000 * _PER_DAY_MICROS) // 1000
    inside = (days >= _FIRST_DAY) & (days <= _LAST_DAY)
    micros = np.where(inside, days, 0) * _PER_DAY_MICROS + rest
    beyond = [f"timestamp of day {day} since 1970-01-01" for day in days[~inside].tolist()]
    return _datetimes(micros, inside, True, beyond)


def text_values(present: Present) -> list[Any]:
    """Strings; the first value that is not UTF-8 is an error."""
    whole, starts, ends = present.spans()
    if whole.isascii():
        text = whole.decode("ascii")
        return [text[start:end] for start, end in zip(starts, ends, strict=True)]
    try:
        return [whole[start:end].decode() for start, end in zip(starts, ends, strict=True)]
    except UnicodeDecodeError as error:
        raise CorruptFileError(
            f"{present.where}: a value is not UTF-8: {bytes(error.object[:40])!r}; batches() gives the bytes"
        ) from None


def _bytes(present: Present) -> list[Any]:
    return present.bytes()


def uuid_values(present: Present) -> list[Any]:
    return [uuid.UUID(bytes=value) for value in present.bytes()]


def _intervals(present: Present) -> list[Any]:
    return [Interval(*parts) for parts in present.fixed("<u4").tolist()]


def _nulls(present: Present) -> list[Any]:
    return [None] * len(present.numbers() if present.column.values is not None else present.spans()[1])


PYTHON: dict[str, Callable[[Present], list[Any]]] = {
    "boolean": _numbers,
    "same": _numbers,
    "narrow": _narrow,
    "unsigned": _unsigned,
    "half": _half,
    "decimal": _decimals,
    "date": _dates,
    "time": _times,
    "instant": _instants,
    "int96": _int96,
    "text": text_values,
    "enum": text_values,
    "bytes": _bytes,
    "fixed": _bytes,
    "uuid": uuid_values,
    "interval": _intervals,
    "null": _nulls,
}

_BYTES = (PhysicalType.BYTE_ARRAY, PhysicalType.FIXED_LEN_BYTE_ARRAY, PhysicalType.INT96)


def leaf_values(column: Column, where: str) -> list[Any]:
    """One logical value per leaf slot, None for null."""
    present = Present(column, where)
    return present.placed(PYTHON[type_of(column.leaf).conversion](present))


def raw_leaf_values(column: Column, where: str) -> list[Any]:
    """One physical value per leaf slot: bool, int, float or bytes, None for null."""
    present = Present(column, where)
    return present.placed(_bytes(present) if column.leaf.physical_type in _BYTES else _numbers(present))


LeafValues = Callable[[Column, str], list[Any]]


def _null_out(values: list[Any], validity: Validity) -> list[Any]:
    if not validity.has_nulls:
        return values
    return [
        value if present else None
        for value, present in zip(values, validity.to_numpy(len(values)).tolist(), strict=True)
    ]


def _split(items: list[Any], offsets: NDArray[Any]) -> list[Any]:
    bounds = offsets.tolist()
    return [items[start:end] for start, end in itertools.pairwise(bounds)]


def _assemble(nest: Nest, slots: int, batch: Batch, leaf: LeafValues) -> list[Any]:
    """The values of one node of the tree, one per slot of the group around it."""
    if nest.kind == "leaf":
        column = batch.columns[nest.leaves[0]]
        check_slots(column, slots, batch)
        return leaf(column, place(batch.file, batch.row_group, column.path))
    layer = None if nest.layer is None or not nest.leaves else layer_of(nest, batch)
    if nest.kind == "struct":
        names = [child.name for child in nest.children]
        below = [_assemble(child, slots, batch, leaf) for child in nest.children]
        values: list[Any] = [dict(zip(names, row, strict=True)) for row in zip(*below, strict=True)]
        if not below:
            values = [{} for _ in range(slots)]
        return values if layer is None else _null_out(values, layer.validity)
    assert layer is not None and layer.offsets is not None
    inner = int(layer.offsets[-1])
    parts = [_assemble(child, inner, batch, leaf) for child in nest.children]
    items = parts[0] if nest.kind == "list" else list(zip(*parts, strict=True))
    return _null_out(_split(items, layer.offsets), layer.validity)


def nested_values(column: Column, where: str) -> list[Any]:
    """Logical values of a single leaf, one per record: repeated layers are lists, struct layers only add nulls."""
    values = leaf_values(column, where)
    _raise_beyond(values, column.path)
    for layer in reversed(column.layers):
        if layer.offsets is not None:
            values = _split(values, layer.offsets)
        values = _null_out(values, layer.validity)
    return values


def column_to_pylist(column: Column) -> list[Any]:
    """`Column.to_pylist`: the same, for a column that does not know its file."""
    return nested_values(column, f"column '{column.path}'")


def _holds_beyond(value: Any) -> _Beyond | None:
    """The first stand-in inside a value. Iterative: values nest as deep as schemas."""
    stack = [value]
    while stack:
        value = stack.pop()
        if isinstance(value, _Beyond):
            return value
        if isinstance(value, dict):
            stack.extend(value.values())
        elif isinstance(value, (list, tuple)):
            stack.extend(value)
    return None


def _raise_beyond(value: Any, name: str) -> None:
    beyond = _holds_beyond(value)
    if beyond is not None:
        raise UnsupportedError(
            f"column '{name}': {beyond.what} is outside the years 1 to 9999 of Python's datetime; "
            "row.raw() and batches() give the stored value"
        )


_WITH_BEYOND = frozenset({"date", "instant", "int96"})


class _Table:
    """The converted columns of one batch, shared by its rows."""

    __slots__ = ("_batch", "_raw", "columns", "nests", "positions", "risky")

    def __init__(self, batch: Batch) -> None:
        self._batch = batch
        self._raw: dict[int, list[Any]] = {}
        self.nests = nests_of(batch.schema)
        self.positions: dict[str, int] = {}
        for position, nest in enumerate(self.nests):
            self.positions.setdefault(nest.name, position)
        self.columns = [_assemble(nest, batch.num_rows, batch, leaf_values) for nest in self.nests]
        # Only these may hold stand-ins; all others are handed out without a look.
        self.risky = [
            any(type_of(batch.columns[leaf].leaf).conversion in _WITH_BEYOND for leaf in nest.leaves)
            for nest in self.nests
        ]

    def raw(self, position: int) -> list[Any]:
        values = self._raw.get(position)
        if values is None:
            values = _assemble(self.nests[position], self._batch.num_rows, self._batch, raw_leaf_values)
            self._raw[position] = values
        return values

    def missing(self, name: object) -> ColumnNotFoundError:
        close = difflib.get_close_matches(str(name), list(self.positions), n=3)
        hint = f"; did you mean {' or '.join(repr(match) for match in close)}?" if close else ""
        return ColumnNotFoundError(f"no column {name!r} in this projection: {', '.join(self.positions)}{hint}")


def _step_into(value: Any, names: tuple[str, ...]) -> tuple[bool, Any]:
    """Walk structs by name, a null one giving None; False when a name leads nowhere."""
    for name in names:
        if value is None:
            return True, None
        if not isinstance(value, dict) or name not in value:
            return False, None
        value = value[name]
    return True, value


class Row(Mapping[str, Any]):
    """One record: a mapping from top-level column names of the projection to logical Python values.

    `row["address.city"]` reaches into structs, as does `row["address"]["city"]`; a top-level name with dots wins. A
    tuple of names is always exact. Rows compare equal to dicts.

    >>> row = next(hw.scan(trips).rows())
    >>> row["city"], "fare" in row, row == {"id": 1, "city": "Aachen", "fare": 12.5, "tags": ["new"]}
    ('Aachen', True, True)
    """

    __slots__ = ("_index", "_table")

    def __init__(self, table: _Table, index: int) -> None:
        self._table = table
        self._index = index

    def _find(self, name: str | tuple[str, ...]) -> tuple[int, tuple[str, ...]]:
        positions = self._table.positions
        if isinstance(name, str):
            position = positions.get(name)
            if position is not None:
                return position, ()
            name = tuple(name.split("."))
        if name and name[0] in positions and self._reaches(positions[name[0]], name[1:]):
            return positions[name[0]], name[1:]
        raise self._table.missing(".".join(name))

    def _reaches(self, position: int, names: tuple[str, ...]) -> bool:
        nest = self._table.nests[position]
        for name in names:
            found = next((child for child in nest.children if child.name == name), None)
            if nest.kind != "struct" or found is None:
                return False
            nest = found
        return True

    def __getitem__(self, name: str | tuple[str, ...]) -> Any:
        table = self._table
        position = table.positions.get(name) if isinstance(name, str) else None
        names: tuple[str, ...] = ()
        if position is None:
            position, names = self._find(name)
        value = table.columns[position][self._index]
        if names:
            value = _step_into(value, names)[1]
        if table.risky[position]:
            _raise_beyond(value, name if isinstance(name, str) else ".".join(name))
        return value

    def raw(self, name: str | tuple[str, ...]) -> Any:
        """The value as stored: int, float, bool or bytes (INT96: its 12 bytes), in lists and dicts when nested.

        >>> next(hw.scan(trips).rows()).raw("city")
        b'Aachen'
        """
        position, names = self._find(name)
        return _step_into(self._table.raw(position)[self._index], names)[1]

    def __contains__(self, name: object) -> bool:
        return name in self._table.positions

    def __iter__(self) -> Iterator[str]:
        return iter(self._table.positions)

    def __len__(self) -> int:
        return len(self._table.positions)

    def __repr__(self) -> str:
        parts = []
        for name, position in self._table.positions.items():
            value = self._table.columns[position][self._index]
            beyond = _holds_beyond(value) if self._table.risky[position] else None
            parts.append(f"{name}={value!r}" if beyond is None else f"{name}=<{beyond.what}>")
        return f"Row({', '.join(parts)})"


def rows_of(batch: Batch) -> Iterator[Row]:
    """The records of a batch, all columns converted before the first is handed out."""
    table = _Table(batch)
    for index in range(batch.num_rows):
        yield Row(table, index)
