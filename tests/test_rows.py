"""Batches made by hand -> rows of Python values."""

from __future__ import annotations

import datetime
import decimal
import uuid
from typing import Any

import pyarrow as pa
import pytest

from hardwood_jit.batch import NO_NULLS, Batch, Layer
from hardwood_jit.errors import ColumnNotFoundError, CorruptFileError, UnsupportedError
from hardwood_jit.rows import Interval, rows_of
from tests.export.columns import batch_from_arrow, batch_of, flat_column, schema_of, validity
from tests.export.footers import BYTE_ARRAY, FLBA, INT32, INT64, INT96, REPEATED, Element, empty_file, logical
from tests.export.test_to_arrow import TABLE

UTC = datetime.UTC


def _one(element: Element, values: list[Any]) -> Batch:
    return batch_of(schema_of(empty_file([element])), [values])


def _values(element: Element, values: list[Any]) -> list[Any]:
    return [row[element.name] for row in rows_of(_one(element, values))]


def test_rows_equal_the_records_of_arrow() -> None:
    rows = list(rows_of(batch_from_arrow(TABLE)))
    assert rows == TABLE.to_pylist()
    assert rows[0]["maps"] == [(1, [("a", True)]), (2, None)]


def test_row_is_a_mapping() -> None:
    row = next(rows_of(batch_from_arrow(pa.table({"a": [1], "b": ["x"]}))))
    assert (list(row), len(row), dict(row), "a" in row, "c" in row) == (["a", "b"], 2, {"a": 1, "b": "x"}, True, False)
    assert repr(row) == "Row(a=1, b='x')"
    assert row.get("c", 5) == 5


def test_column_outside_the_projection_names_close_ones() -> None:
    row = next(rows_of(batch_from_arrow(pa.table({"fare": [1], "tip": [2]}))))
    with pytest.raises(ColumnNotFoundError, match="fare"):
        row["fares"]
    with pytest.raises(ColumnNotFoundError):
        row.raw("total")


def test_paths_reach_into_structs() -> None:
    table = pa.table({"s": pa.array([{"a": {"b": 1}}, None]), "s.a": [7, 8], "l": [[{"x": 1}], None]})
    one, two = rows_of(batch_from_arrow(table))
    assert one["s.a.b"] == 1 and two["s.a.b"] is None
    assert one["s.a"] == 7  # a top-level name with dots wins
    assert one["s", "a"] == {"b": 1}
    assert one.raw("s.a.b") == 1
    with pytest.raises(ColumnNotFoundError):
        one["l.x"]


WHEN = {
    (unit, utc): Element("t", type=INT64, logical=logical("TIMESTAMP", unit=unit, utc=utc))
    for unit in ("ms", "us", "ns")
    for utc in (True, False)
}


@pytest.mark.parametrize("unit", ["ms", "us", "ns"])
def test_timestamps_are_aware_when_they_are_instants(unit: str) -> None:
    per_second = {"ms": 10**3, "us": 10**6, "ns": 10**9}[unit]
    stored = [0, None, -per_second, 1_700_000_000 * per_second]
    seconds = [0, None, -1, 1_700_000_000]
    epoch = datetime.datetime(1970, 1, 1)
    naive = [None if s is None else epoch + datetime.timedelta(seconds=s) for s in seconds]
    assert _values(WHEN[unit, False], stored) == naive
    assert _values(WHEN[unit, True], stored) == [None if n is None else n.replace(tzinfo=UTC) for n in naive]


def test_nanoseconds_are_cut_and_kept_in_raw() -> None:
    (row,) = rows_of(_one(WHEN["ns", True], [-1]))
    assert row["t"] == datetime.datetime(1969, 12, 31, 23, 59, 59, 999999, UTC)
    assert row.raw("t") == -1


def test_edges_of_datetime_are_values_and_what_is_beyond_raises_on_access() -> None:
    epoch = datetime.datetime(1970, 1, 1)
    first = (datetime.datetime.min - epoch) // datetime.timedelta(microseconds=1)
    last = (datetime.datetime.max - epoch) // datetime.timedelta(microseconds=1)
    rows = list(rows_of(_one(WHEN["us", False], [first, last, first - 1, last + 1, -(2**63), 2**63 - 1])))
    assert (rows[0]["t"], rows[1]["t"]) == (datetime.datetime.min, datetime.datetime.max)
    for row in rows[2:]:
        with pytest.raises(UnsupportedError, match="raw"):
            row["t"]
        assert isinstance(row.raw("t"), int)
        assert "timestamp" in repr(row)


def test_dates_beyond_python_raise_on_access_in_lists_too() -> None:
    day = Element("d", type=INT32, logical=logical("DATE"))
    rows = list(rows_of(_one(day, [0, -719162, 2932896, 2932897, -(2**31), None])))
    assert [row["d"] for row in rows[:3]] == [datetime.date(1970, 1, 1), datetime.date.min, datetime.date.max]
    assert rows[5]["d"] is None
    for row in rows[3:5]:
        with pytest.raises(UnsupportedError):
            row["d"]
    schema = schema_of(empty_file([Element("d", REPEATED, INT32, logical=logical("DATE"))]))
    import numpy as np

    layer = Layer("repeated", NO_NULLS, np.array([0, 2, 3], np.int32))
    batch = Batch(schema, (flat_column(schema.leaves[0], [0, 2**31 - 1, 1], 2, (layer,)),), 2, "f", 0)
    bad, good = rows_of(batch)
    assert good["d"] == [datetime.date(1970, 1, 2)]
    assert bad.raw("d") == [0, 2**31 - 1]
    with pytest.raises(UnsupportedError):
        bad["d"]


def _int96(days: int, nanos: int) -> bytes:
    return nanos.to_bytes(8, "little", signed=True) + (days + 2440588).to_bytes(4, "little", signed=True)


def test_int96_is_an_instant_and_raw_its_bytes() -> None:
    stored = [_int96(1, 1999), None, _int96(0, -1), _int96(-1, 86_400_000_000_000 * 3), _int96(2**30, 0)]
    rows = list(rows_of(_one(Element("t", type=INT96), stored)))
    epoch = datetime.datetime(1970, 1, 1, tzinfo=UTC)
    day, micro = datetime.timedelta(days=1), datetime.timedelta(microseconds=1)
    assert [row["t"] for row in rows[:4]] == [epoch + day + micro, None, epoch - micro, epoch + 2 * day]
    assert [row.raw("t") for row in rows] == stored
    with pytest.raises(UnsupportedError):
        rows[4]["t"]


def test_times_of_day() -> None:
    for kind, unit, stored in (
        (INT32, "ms", 3_600_001),
        (INT64, "us", 3_600_001_000),
        (INT64, "ns", 3_600_001_000_999),
    ):
        element = Element("t", type=kind, logical=logical("TIME", unit=unit, utc=True))
        assert _values(element, [stored, None]) == [datetime.time(1, 0, 0, 1000), None]
        with pytest.raises(CorruptFileError, match="outside a day"):
            _values(element, [-1])


def test_decimals_are_exact_at_any_width() -> None:
    element = Element("d", type=BYTE_ARRAY, logical=logical("DECIMAL", precision=100, scale=40))
    number = -(10**99) - 7
    (found,) = _values(element, [number.to_bytes(60, "big", signed=True)])
    assert found.as_tuple() == decimal.Decimal(number).as_tuple()._replace(exponent=-40)
    with pytest.raises(CorruptFileError, match="more digits"):
        _values(element, [(10**100).to_bytes(60, "big", signed=True)])


def test_huge_announced_precision_costs_nothing() -> None:
    element = Element("d", type=INT32, logical=logical("DECIMAL", precision=2**31 - 1, scale=0))
    assert _values(element, [-5]) == [decimal.Decimal(-5)]


def test_bytes_of_every_kind() -> None:
    assert _values(Element("u", type=FLBA, length=16, logical=logical("UUID")), [bytes(16), None]) == [
        uuid.UUID(int=0),
        None,
    ]
    assert _values(Element("i", type=FLBA, length=12, converted=21), [bytes([1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0])]) == [
        Interval(1, 2, 3)
    ]
    assert _values(Element("h", type=FLBA, length=2, logical=logical("FLOAT16")), [b"\x00\x3e"]) == [1.5]
    assert _values(Element("e", type=BYTE_ARRAY, logical=logical("ENUM")), [b"RED"]) == ["RED"]
    assert _values(Element("z", type=FLBA, length=0), [b"", None]) == [b"", None]
    assert _values(Element("n", type=INT32, logical=logical("UNKNOWN")), [None, 5]) == [None, None]


def test_text_that_is_not_utf8_names_its_place_before_the_first_row() -> None:
    batch = _one(Element("city", type=BYTE_ARRAY, converted=0), [b"ok", b"\xff\xfe"])
    with pytest.raises(CorruptFileError, match=r"trips\.parquet: row group 3, column 'city'"):
        next(rows_of(batch))


def test_text_is_cut_by_bytes_not_by_characters() -> None:
    assert _values(Element("s", type=BYTE_ARRAY, converted=0), ["é".encode(), b"a", None, "日本".encode()]) == [
        "é",
        "a",
        None,
        "日本",
    ]


def test_raw_values_of_nested_columns() -> None:
    table = pa.table({"l": pa.array([["a", None], None]), "d": pa.array([1, None], pa.date32())})
    one, two = rows_of(batch_from_arrow(table))
    assert (one.raw("l"), one.raw("d"), two.raw("l"), two.raw("d")) == ([b"a", None], 1, None, None)


def test_map_without_values_is_a_list_of_keys() -> None:
    import numpy as np

    entry = Element("kv", REPEATED, children=[Element("k", 0, INT32)])
    schema = schema_of(empty_file([Element("m", converted=1, children=[entry])]))
    layer = Layer("repeated", validity([True, False]), np.array([0, 2, 2], np.int32))
    batch = Batch(schema, (flat_column(schema.leaves[0], [1, 2], 2, (layer,)),), 2, "f", 0)
    assert [row["m"] for row in rows_of(batch)] == [[1, 2], None]
    assert batch.to_arrow().column(0).to_pylist() == [[1, 2], None]


def test_null_keys_are_shown() -> None:
    import numpy as np

    entry = Element("kv", REPEATED, children=[Element("k", type=INT32), Element("v", type=INT32)])
    schema = schema_of(empty_file([Element("m", converted=1, children=[entry])]))
    layer = (Layer("repeated", NO_NULLS, np.array([0, 2], np.int32)),)
    key, value = schema.leaves
    batch = Batch(schema, (flat_column(key, [None, 2], 1, layer), flat_column(value, [3, None], 1, layer)), 1, "f", 0)
    assert next(rows_of(batch))["m"] == [(None, 3), (2, None)]


def test_column_to_pylist_has_lists_for_repeated_layers_only() -> None:
    batch = batch_from_arrow(pa.table({"c": pa.array([[{"a": 1}, None], None, []])}))
    assert batch.columns[0].to_pylist() == [[1, None], None, []]
