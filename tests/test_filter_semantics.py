"""Every rule of SEMANTICS sections 1 and 2 on files, end to end: the name of a test is the rule.

Values are written twice, as PLAIN pages and behind a dictionary, in pages of three; every rule must hold on both.
"""

from __future__ import annotations

import datetime as dt
import io
import math
import pickle
import random
import struct
import threading
import time
import uuid
import zoneinfo
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import hardwood_jit as hw
from hardwood_jit import col
from hardwood_jit.jit.fused_kernels import FUSED
from hardwood_jit.plan.predicate import Predicate
from tests.support import naive, naive_predicate
from tests.support import pages as p
from tests.support.filtering import Layout, compared, random_file

x = col("x")
NAN, INF = math.nan, math.inf
LAYOUTS = (
    Layout(page_rows=(3,), codecs=(p.UNCOMPRESSED,), dictionary=("none",), encodings=(p.PLAIN,), versions=(1,)),
    Layout(page_rows=(3,), codecs=(p.SNAPPY,), dictionary=("all",), versions=(2,)),
)


@pytest.fixture(autouse=True)
def no_kernels_are_built_behind_our_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(FUSED, "building", "never")


def files(root: p.Node, records: Sequence[dict[str, Any]]) -> list[bytes]:
    return [random_file(root, records, random.Random(number), layout) for number, layout in enumerate(LAYOUTS)]


def leaf(physical: int, **rest: Any) -> p.Node:
    return p.leaf("x", physical, p.OPTIONAL, **rest)


INT32, INT64 = leaf(p.INT32), leaf(p.INT64)
FLOAT, DOUBLE = leaf(p.FLOAT), leaf(p.DOUBLE_TYPE)
BOOLEAN, BYTES, FIXED = leaf(p.BOOLEAN), leaf(p.BYTE_ARRAY), leaf(p.FLBA, type_length=3)
HALF = leaf(p.FLBA, type_length=2, logical=p.logical("FLOAT16"))
TEXT = leaf(p.BYTE_ARRAY, logical=p.logical("STRING"))
UUIDS = leaf(p.FLBA, type_length=16, logical=p.logical("UUID"))
INTERVAL = leaf(p.FLBA, type_length=12, converted=p.INTERVAL)
GEOMETRY = leaf(p.BYTE_ARRAY, logical=p.logical("GEOMETRY"))
DATE = leaf(p.INT32, logical=p.logical("DATE"))
INT96 = leaf(p.INT96)


def integer(bits: int, signed: bool) -> p.Node:
    return leaf(p.INT64 if bits == 64 else p.INT32, logical=p.logical("INTEGER", bits=bits, signed=signed))


def decimal(physical: int, precision: int, scale: int, **rest: Any) -> p.Node:
    return leaf(physical, logical=p.logical("DECIMAL", precision=precision, scale=scale), **rest)


def timestamp(unit: str, utc: bool) -> p.Node:
    return leaf(p.INT64, logical=p.logical("TIMESTAMP", unit=unit, utc=utc))


def clock(unit: str) -> p.Node:
    return leaf(p.INT32 if unit == "ms" else p.INT64, logical=p.logical("TIME", unit=unit, utc=True))


def big_endian(number: int, width: int) -> bytes:
    return number.to_bytes(width, "big", signed=True)


CARRIERS = {  # DECIMAL(9, 2)
    "INT32": (decimal(p.INT32, 9, 2), lambda number: number),
    "INT64": (decimal(p.INT64, 9, 2), lambda number: number),
    "FIXED_LEN_BYTE_ARRAY": (decimal(p.FLBA, 9, 2, type_length=5), lambda number: big_endian(number, 5)),
    "BYTE_ARRAY": (decimal(p.BYTE_ARRAY, 9, 2), lambda number: big_endian(number, number.bit_length() // 8 + 1)),
}


class Column:
    """One column x of these values (None is null) in every layout."""

    def __init__(self, node: p.Node, values: Sequence[Any]) -> None:
        root = p.group("root", p.leaf("row", p.INT32), node)
        records = [{"row": number, "x": value} for number, value in enumerate(values)]
        self.files = files(root, records)

    def rows(self, predicate: Predicate) -> list[int]:
        """The rows that match, the same from every file."""
        return same_rows(self.files, predicate)

    def refuses(self, predicate: Predicate, *words: str) -> None:
        """PredicateError when a terminal runs, with these words in its message."""
        for data in self.files:
            with pytest.raises(hw.PredicateError) as caught:
                hw.scan(data).filter(predicate).count()
            for word in ("'x'", *words):
                assert word in str(caught.value)


def same_rows(sources: Sequence[bytes], predicate: Predicate) -> list[int]:
    found = [rows_of(hw.scan(data).filter(predicate)) for data in sources]
    for data, rows in zip(sources, found, strict=True):
        assert hw.scan(data).filter(predicate).count() == len(rows)
        assert rows == found[0]
    # What the oracle of the other tests says: a rule is a rule for it, too.
    assert naive_predicate.matching_rows(predicate, naive.decode(sources[0])) == found[0]
    return found[0]


def rows_of(scan: hw.Scan) -> list[int]:
    return [row for batch in scan.select("row").batches() for row in batch.columns[0].values.tolist()]


ORDERED = ("lt", "le", "gt", "ge")
ALL = ("eq", "ne", *ORDERED)


# ---------------------------------------------------------------- nulls


def test_null_satisfies_no_comparison_not_even_unequal() -> None:
    column = Column(INT32, [1, None, 3, None, 5])
    for op, rows in {"eq": [2], "ne": [0, 4], "lt": [0], "le": [0, 2], "gt": [4], "ge": [2, 4]}.items():
        assert column.rows(compared(x, op, 3)) == rows


def test_null_is_neither_in_a_list_nor_outside_of_it() -> None:
    column = Column(INT32, [1, None, 3])
    assert column.rows(x.is_in([1])) == [0]
    assert column.rows(~x.is_in([1])) == [2]
    assert column.rows(x.is_in([])) == []
    assert column.rows(~x.is_in([])) == [0, 2]


def test_not_greater_equals_less_or_equal_on_every_row() -> None:
    column = Column(DOUBLE, [1.0, None, 3.0, NAN, -0.0, 0.0, INF])
    for op, other in {"gt": "le", "lt": "ge", "eq": "ne", "ge": "lt", "le": "gt", "ne": "eq"}.items():
        for value in (1.0, 0.0, -0.0, NAN, INF):
            assert column.rows(~compared(x, op, value)) == column.rows(compared(x, other, value))


def test_not_of_and_is_true_where_one_part_is_false_although_the_other_is_unknown() -> None:
    root = p.group("root", p.leaf("row", p.INT32), p.leaf("a", p.INT32, p.OPTIONAL), p.leaf("b", p.INT32, p.OPTIONAL))
    values = [0, 1, None]
    records = [{"row": 3 * i + j, "a": a, "b": b} for i, a in enumerate(values) for j, b in enumerate(values)]
    sources = files(root, records)
    a, b = col("a") == 1, col("b") == 1
    assert same_rows(sources, a & b) == [4]
    assert same_rows(sources, a | b) == [1, 3, 4, 5, 7]
    # false and anything is false; true and unknown is unknown
    assert same_rows(sources, ~(a & b)) == [0, 1, 2, 3, 6]
    # only false or false is false
    assert same_rows(sources, ~(a | b)) == [0]
    assert same_rows(sources, ~(~a & ~b)) == same_rows(sources, a | b)
    assert same_rows(sources, ~~(a | b)) == same_rows(sources, a | b)


def test_null_tests_are_never_unknown_and_not_swaps_them() -> None:
    column = Column(INT32, [1, None, 3])
    assert column.rows(x.is_null()) == column.rows(~x.is_not_null()) == [1]
    assert column.rows(x.is_not_null()) == column.rows(~x.is_null()) == [0, 2]
    assert column.rows(x.is_null() | (x == 3)) == [1, 2]
    assert column.rows(x.is_null() & (x == 3)) == []


def test_required_column_is_never_null() -> None:
    root = p.group("root", p.leaf("row", p.INT32))
    sources = files(root, [{"row": number} for number in range(5)])
    assert same_rows(sources, col("row").is_null()) == []
    assert same_rows(sources, col("row").is_not_null()) == [0, 1, 2, 3, 4]


def test_leaf_below_a_null_struct_is_null() -> None:
    inside = (p.leaf("a", p.INT32, p.OPTIONAL), p.leaf("b", p.INT32))
    root = p.group("root", p.leaf("row", p.INT32), p.group("s", *inside, repetition=p.OPTIONAL))
    structs = [None, {"a": None, "b": 1}, {"a": 7, "b": 2}, None, {"a": 9, "b": 3}]
    sources = files(root, [{"row": number, "s": value} for number, value in enumerate(structs)])
    assert same_rows(sources, col("s.a").is_null()) == [0, 1, 3]
    assert same_rows(sources, col("s.b").is_null()) == [0, 3]
    assert same_rows(sources, col("s").is_null()) == [0, 3]
    assert same_rows(sources, col("s.a") != 7) == [4]
    assert same_rows(sources, ~(col("s.b") == 2)) == [1, 4]


# ---------------------------------------------------------------- order


def test_signed_integers_compare_as_numbers() -> None:
    for node, bits in ((INT32, 32), (INT64, 64)):
        low, high = -(1 << (bits - 1)), (1 << (bits - 1)) - 1
        column = Column(node, [low, -1, 0, 1, high])
        assert column.rows(x < 0) == [0, 1]
        assert column.rows(x >= low) == [0, 1, 2, 3, 4]
        assert column.rows(x > high - 1) == [4]


def test_unsigned_integers_compare_unsigned() -> None:
    for bits, physical_bits in ((8, 32), (16, 32), (32, 32), (64, 64)):
        top = (1 << bits) - 1
        numbers = [0, 1, top // 2, top // 2 + 1, top]
        stored = [number - (1 << physical_bits) if number >> (physical_bits - 1) else number for number in numbers]
        column = Column(integer(bits, False), stored)
        assert column.rows(x > top // 2) == [3, 4]
        assert column.rows(x <= 1) == [0, 1]
        assert column.rows(x == top) == [4]
        assert column.rows(x.is_between(1, top - 1)) == [1, 2, 3]


def test_false_is_less_than_true() -> None:
    column = Column(BOOLEAN, [False, True, None])
    assert column.rows(x < True) == [0]
    assert column.rows(x >= False) == [0, 1]
    assert column.rows(x > False) == [1]
    assert column.rows(x == True) == column.rows(~(x == False)) == [1]  # noqa: E712


def test_bare_boolean_column_is_a_predicate() -> None:
    column = Column(BOOLEAN, [False, True, None])
    for data in column.files:
        assert rows_of(hw.scan(data).filter(x)) == [1]
        assert rows_of(hw.scan(data).filter(~x)) == [0]
        assert rows_of(hw.scan(data).filter(x & col("row").is_not_null())) == [1]


def test_byte_arrays_compare_unsigned_and_lexicographic() -> None:
    values = [b"", b"\0", b"\x7f", b"\x80", b"\x80\0", b"\xff", b"\xff\xff"]
    column = Column(BYTES, values)
    for number, value in enumerate(values):
        assert column.rows(x < value) == list(range(number))
        assert column.rows(x >= value) == list(range(number, len(values)))
        assert column.rows(x == value) == [number]
    fixed = Column(FIXED, [b"\x7f\xff\xff", b"\x80\0\0", b"\xff\0\0"])
    assert fixed.rows(x > b"\x7f\xff\xff") == [1, 2]
    assert fixed.rows(x >= b"\x80") == [1, 2]


def test_text_compares_in_the_order_of_utf8() -> None:
    texts = ["Z", "a", "ab", "z", "é", "\uffff", "🦀"]  # UTF-16 would put the last before the one before it
    column = Column(TEXT, [text.encode() for text in texts])
    for number, text in enumerate(texts):
        assert column.rows(x < text) == list(range(number))
        assert column.rows(x > text) == list(range(number + 1, len(texts)))


def test_uuids_compare_as_sixteen_unsigned_bytes() -> None:
    values = [bytes(16), b"\0" * 15 + b"\1", b"\x7f" + b"\xff" * 15, b"\x80" + bytes(15), b"\xff" * 16]
    column = Column(UUIDS, values)
    assert column.rows(x > uuid.UUID(bytes=values[2])) == [3, 4]
    assert column.rows(x <= uuid.UUID(int=1)) == [0, 1]
    assert column.rows(x == uuid.UUID(bytes=values[3])) == [3]


@pytest.mark.parametrize("carrier", CARRIERS)
def test_decimals_compare_as_numbers_on_all_four_carriers(carrier: str) -> None:
    node, encode = CARRIERS[carrier]
    numbers = [-999_999_999, -12_345, -100, -1, 0, 1, 100, 12_345, 999_999_999]
    column = Column(node, [encode(number) for number in numbers])
    for literal in (Decimal("-123.45"), Decimal("-0.01"), 0, Decimal("0.01"), 1, 1.0, Decimal("1.00"), 123.45):
        exact = Decimal(repr(literal)) if isinstance(literal, float) else Decimal(literal)
        for op, test in {
            "eq": lambda value, exact=exact: value == exact,
            "lt": lambda value, exact=exact: value < exact,
            "ge": lambda value, exact=exact: value >= exact,
            "ne": lambda value, exact=exact: value != exact,
        }.items():
            wanted = [row for row, number in enumerate(numbers) if test(Decimal(number).scaleb(-2))]
            assert column.rows(compared(x, op, literal)) == wanted


def test_padded_encodings_of_a_decimal_are_equal() -> None:
    stored = [b"\x01", b"\x00\x01", b"\x00\x00\x00\x01", b"\xff", b"\xff\xff\xff", b"\x00\xff", b"\x00"]
    column = Column(decimal(p.BYTE_ARRAY, 9, 0), stored)
    assert column.rows(x == 1) == [0, 1, 2]
    assert column.rows(x == -1) == [3, 4]
    assert column.rows(x == 255) == [5]
    assert column.rows(x < 0) == [3, 4]
    assert column.rows(x.is_in([1, 0])) == [0, 1, 2, 6]
    assert column.rows(x != 1) == [3, 4, 5, 6]


def test_dates_times_and_timestamps_compare_as_counts_of_their_unit() -> None:
    column = Column(DATE, [-1, 0, 1, 20_000])
    assert column.rows(x < dt.date(1970, 1, 1)) == [0]
    assert column.rows(x == dt.date(1970, 1, 2)) == [2]
    for unit, step in (("ms", 1000), ("us", 1), ("ns", None)):
        per_second = {"ms": 10**3, "us": 10**6, "ns": 10**9}[unit]
        times = Column(clock(unit), [0, 1, per_second, 86_400 * per_second - 1])
        assert times.rows(x < dt.time(0, 0, 1)) == [0, 1]
        assert times.rows(x >= dt.time(0, 0, 1)) == [2, 3]
        if step is not None:
            assert times.rows(x == dt.time(0, 0, 0, step)) == [1]
        moments = Column(timestamp(unit, True), [-1, 0, 1, per_second])
        assert moments.rows(x < dt.datetime(1970, 1, 1, tzinfo=dt.UTC)) == [0]
        assert moments.rows(x == dt.datetime(1970, 1, 1, 0, 0, 1, tzinfo=dt.UTC)) == [3]


def test_int96_compares_as_the_instant_it_denotes_although_nanoseconds_exceed_a_day() -> None:
    day = 86_400 * 10**9

    def stored(days: int, nanos: int) -> bytes:
        return struct.pack("<qi", nanos, 2440588 + days)

    values = [stored(0, 0), stored(-1, day), stored(1, -day), stored(0, day), stored(1, 0), stored(-3, 0), stored(0, 1)]
    column = Column(INT96, values)
    epoch = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
    assert column.rows(x == epoch) == [0, 1, 2]
    assert column.rows(x == epoch + dt.timedelta(days=1)) == [3, 4]
    assert column.rows(x < epoch) == [5]
    assert column.rows(x > epoch) == [3, 4, 6]
    assert column.rows(x == pd.Timestamp(1, tz="UTC")) == [6]
    assert column.rows(x.is_in([epoch, epoch - dt.timedelta(days=3)])) == [0, 1, 2, 5]


def test_intervals_and_geometries_have_no_order() -> None:
    for node, value, other in ((INTERVAL, b"abcdefghijkl", bytes(12)), (GEOMETRY, b"\x01\x02", b"")):
        column = Column(node, [value, other, None])
        assert column.rows(x == value) == [0]
        assert column.rows(x != value) == [1]
        assert column.rows(x.is_in([other])) == [1]
        assert column.rows(x.is_null()) == [2]
        for op in ORDERED:
            column.refuses(compared(x, op, value))
        column.refuses(x.is_between(value, other))
        column.refuses(x.starts_with(value[:1]))


# ---------------------------------------------------------------- floats

FLOATS = [-INF, -1.5, -0.0, 0.0, 1.5, INF, NAN]  # in their order


def float_columns() -> list[tuple[Column, Any]]:
    return [
        (Column(DOUBLE, [*FLOATS, None]), float),
        (Column(FLOAT, [*FLOATS, None]), float),
        (Column(HALF, [*(struct.pack("<e", value) for value in FLOATS), None]), float),
    ]


def test_floats_follow_the_total_order_of_java() -> None:
    for column, _ in float_columns():
        for number, value in enumerate(FLOATS):
            assert column.rows(x == value) == [number]
            assert column.rows(x != value) == [row for row in range(7) if row != number]
            assert column.rows(x < value) == list(range(number))
            assert column.rows(x <= value) == list(range(number + 1))
            assert column.rows(x > value) == list(range(number + 1, 7))
            assert column.rows(x >= value) == list(range(number, 7))


def test_zero_equals_only_the_zero_of_its_sign() -> None:
    for column, _ in float_columns():
        assert column.rows(x == 0.0) == column.rows(x == 0) == [3]
        assert column.rows(x == -0.0) == column.rows(x == Decimal("-0")) == [2]
        assert column.rows(x < 0.0) == column.rows(x < 0) == [0, 1, 2]
        assert column.rows(x.is_in([0.0])) == [3]
        assert column.rows(x.is_in([0.0, -0.0])) == [2, 3]


def test_every_nan_is_equal_and_above_infinity() -> None:
    patterns = {  # quiet, signalling, negative, with a payload
        p.DOUBLE_TYPE: [0x7FF8000000000000, 0x7FF0000000000001, 0xFFF8000000000000, 0xFFFFFFFFFFFFFFFF],
        p.FLOAT: [0x7FC00000, 0x7F800001, 0xFFC00000, 0xFFFFFFFF],
    }
    # Python would quiet a signalling NaN on its way through a float: the pages are written as bytes.
    for physical, bits in patterns.items():
        width = 8 if physical == p.DOUBLE_TYPE else 4
        root = p.group("root", p.leaf("row", p.INT32), p.leaf("x", physical))
        raw = b"".join(number.to_bytes(width, "little") for number in bits) + struct.pack(
            f"<{'d' if width == 8 else 'f'}", INF
        )
        paths = p.leaf_paths(root)
        rows = p.simple_chunk(paths[0], [(0, 0, number) for number in range(5)])
        plain = p.Chunk([p.data_page_v1(paths[1], [(0, 0, 0.0)] * 5, p.PLAIN, raw)])
        dictionary = p.dictionary_page(physical, [0.0] * 5)
        dictionary.body = raw
        indexes = p.data_page_v1(paths[1], [(0, 0, 0.0)] * 5, p.RLE_DICTIONARY, p.dictionary_indexes(range(5), 3))
        sources = [
            p.build_file(root, [p.RowGroup([rows, chunk], 5)]) for chunk in (plain, p.Chunk([dictionary, indexes]))
        ]
        assert same_rows(sources, x == NAN) == [0, 1, 2, 3]
        assert same_rows(sources, x > INF) == [0, 1, 2, 3]
        assert same_rows(sources, x <= INF) == [4]
        assert same_rows(sources, x != NAN) == [4]
        assert same_rows(sources, x <= NAN) == [0, 1, 2, 3, 4]
        assert same_rows(sources, x == col("x")) == [0, 1, 2, 3, 4]
    halves = Column(HALF, [b"\x00\x7e", b"\x01\x7c", b"\x00\xfe", b"\xff\xff", b"\x00\x7c"])
    assert halves.rows(x == NAN) == [0, 1, 2, 3]
    assert halves.rows(x > INF) == [0, 1, 2, 3]


def test_less_than_a_number_never_matches_nan_and_greater_does() -> None:
    for column, _ in float_columns():
        for value in (-INF, 0.0, 1.5, INF):
            for op in ("lt", "le", "eq"):
                assert 6 not in column.rows(compared(x, op, value))
            for op in ("gt", "ge", "ne"):
                assert 6 in column.rows(compared(x, op, value))
        assert column.rows(x <= NAN) == [0, 1, 2, 3, 4, 5, 6]
        assert column.rows(x >= NAN) == [6]
        assert column.rows(x < NAN) == [0, 1, 2, 3, 4, 5]
        assert column.rows(x > NAN) == []


def test_float_is_rounded_to_the_width_of_the_column_for_every_operator() -> None:
    near = struct.unpack("<f", struct.pack("<f", 0.1))[0]
    column = Column(FLOAT, [0.0, near, 1.0])
    assert column.rows(x == 0.1) == [1]
    assert column.rows(x <= 0.1) == [0, 1]
    assert column.rows(x < 0.1) == [0]
    assert column.rows(x >= 0.1) == [1, 2]
    assert column.rows(x > 0.1) == [2]
    half = Column(HALF, [struct.pack("<e", value) for value in (0.0, 0.1, 1.0)])
    assert half.rows(x == 0.1) == [1]
    assert half.rows(x > 0.1) == [2]


def test_float_that_would_become_infinite_or_zero_is_not_storable() -> None:
    top = 3.4028234663852886e38
    tiny = 1.401298464324817e-45
    column = Column(FLOAT, [-INF, -top, -tiny, -0.0, 0.0, tiny, top, INF, NAN])
    column.refuses(x == 1e300, "1e+300")
    column.refuses(x != 1e-300)
    column.refuses(x.is_in([1.0, -1e300]))
    assert column.rows(x < 1e300) == column.rows(x <= 1e300) == [0, 1, 2, 3, 4, 5, 6]
    assert column.rows(x > 1e300) == column.rows(x >= 1e300) == [7, 8]
    assert column.rows(x < 1e-300) == [0, 1, 2, 3, 4]
    assert column.rows(x > 1e-300) == [5, 6, 7, 8]
    assert column.rows(x >= -1e-300) == [3, 4, 5, 6, 7, 8]
    assert column.rows(x < -1e300) == [0]
    half = Column(HALF, [struct.pack("<e", value) for value in (-INF, 65504.0, INF)])
    half.refuses(x == 1e5)
    assert half.rows(x < 1e5) == [0, 1]
    assert half.rows(x > 1e5) == [2]


def test_integers_and_decimals_on_floats_are_never_rounded() -> None:
    column = Column(DOUBLE, [float(2**53), float(2**53 + 2), 0.1, NAN])
    column.refuses(x == 2**53 + 1, str(2**53 + 1))
    column.refuses(x == Decimal("0.1"))
    assert column.rows(x < 2**53 + 1) == [0, 2]
    assert column.rows(x > 2**53 + 1) == [1, 3]
    assert column.rows(x == 2**53) == [0]
    assert column.rows(x > Decimal("0.1")) == [0, 1, 2, 3]  # the double nearest to 0.1 lies above it
    assert column.rows(x <= 10**400) == [0, 1, 2]
    assert column.rows(x > 10**400) == [3]
    assert column.rows(x >= -(10**400)) == [0, 1, 2, 3]


# ---------------------------------------------------------------- literals


def test_boolean_takes_bool_and_nothing_else_takes_bool() -> None:
    Column(BOOLEAN, [True]).refuses(x == 1, "1")
    Column(BOOLEAN, [True]).refuses(x == "true")
    for node, value in ((INT32, 1), (DOUBLE, 1.0), (TEXT, b"a"), (DATE, 1)):
        Column(node, [value]).refuses(x == True, "True")  # noqa: E712


def test_float_on_an_integer_column_is_exact() -> None:
    column = Column(INT64, [-1, 0, 1, 2, 2**53, 2**53 + 1])
    assert column.rows(x == 1.0) == [2]
    assert column.rows(x == -0.0) == [1]
    assert column.rows(x > float(2**53)) == [5]
    assert column.rows(x < 0.5) == column.rows(x <= 0.5) == [0, 1]
    assert column.rows(x > 0.5) == column.rows(x >= 0.5) == [2, 3, 4, 5]
    assert column.rows(x < INF) == [0, 1, 2, 3, 4, 5]
    assert column.rows(x < -INF) == []
    column.refuses(x == 0.5, "0.5")
    column.refuses(x == INF, "inf")


def test_float_on_a_decimal_column_is_the_digits_it_prints() -> None:
    for node, encode in CARRIERS.values():
        column = Column(node, [encode(number) for number in (9, 10, 11)])
        assert column.rows(x == 0.1) == [1]
        assert column.rows(x < 0.1) == [0]
        assert column.rows(x > 0.1) == [2]


def test_nan_is_refused_on_a_column_that_is_no_float() -> None:
    for node, value in ((INT32, 1), (CARRIERS["INT32"][0], 1), (TEXT, b"a"), (BOOLEAN, True), (DATE, 1)):
        for op in ALL:
            Column(node, [value]).refuses(compared(x, op, NAN), "nan")
    Column(INT32, [1]).refuses(x == Decimal("NaN"))


def test_date_is_for_date_columns_and_datetime_is_not() -> None:
    column = Column(DATE, [0])
    assert column.rows(x == dt.date(1970, 1, 1)) == [0]
    column.refuses(x == dt.datetime(1970, 1, 1))
    Column(timestamp("us", False), [0]).refuses(x == dt.date(1970, 1, 1), "datetime.date(1970, 1, 1)")
    Column(INT32, [0]).refuses(x == dt.date(1970, 1, 1))


def test_aware_moments_are_for_utc_columns_and_naive_ones_for_local_columns() -> None:
    zone = zoneinfo.ZoneInfo("Asia/Kolkata")
    utc, local = Column(timestamp("us", True), [0, 1]), Column(timestamp("us", False), [0, 1])
    assert utc.rows(x == dt.datetime(1970, 1, 1, 5, 30, tzinfo=zone)) == [0]
    assert utc.rows(x > dt.datetime(1970, 1, 1, tzinfo=dt.UTC)) == [1]
    assert local.rows(x == dt.datetime(1970, 1, 1)) == [0]
    assert local.rows(x == np.datetime64("1970-01-01T00:00:00.000001")) == [1]
    utc.refuses(x == dt.datetime(1970, 1, 1), "time zone")
    utc.refuses(x < np.datetime64("1970-01-01"))
    local.refuses(x == dt.datetime(1970, 1, 1, tzinfo=dt.UTC), "time zone")
    Column(INT96, [bytes(12)]).refuses(x == dt.datetime(1970, 1, 1))


def test_nanoseconds_of_pandas_and_numpy_are_kept() -> None:
    utc, local = Column(timestamp("ns", True), [0, 1, 2]), Column(timestamp("ns", False), [0, 1, 2])
    assert utc.rows(x == pd.Timestamp(1, tz="UTC")) == [1]
    assert utc.rows(x > pd.Timestamp(1, tz="UTC")) == [2]
    assert local.rows(x == pd.Timestamp(2)) == [2]
    assert local.rows(x <= np.datetime64(1, "ns")) == [0, 1]


def test_naive_time_is_for_time_columns() -> None:
    column = Column(clock("us"), [0, 1])
    assert column.rows(x == dt.time(0, 0, 0, 1)) == [1]
    with pytest.raises(hw.PredicateError, match="naive"):
        x == dt.time(0, tzinfo=dt.UTC)  # noqa: B015
    Column(INT64, [0]).refuses(x == dt.time(0))


def test_uuid_is_for_uuid_columns_only() -> None:
    value = uuid.UUID(int=5)
    assert Column(UUIDS, [value.bytes]).rows(x == value) == [0]
    for node, stored in ((leaf(p.FLBA, type_length=16), value.bytes), (TEXT, b"x"), (BYTES, value.bytes)):
        Column(node, [stored]).refuses(x == value, "UUID")
    Column(UUIDS, [value.bytes]).refuses(x == str(value))


def test_text_is_for_string_enum_json_and_bare_byte_arrays() -> None:
    for rest in (
        {"logical": p.logical("STRING")},
        {"converted": p.UTF8},
        {"logical": p.logical("ENUM")},
        {"logical": p.logical("JSON")},
        {},
    ):
        column = Column(leaf(p.BYTE_ARRAY, **rest), [b"a", "é".encode()])
        assert column.rows(x == "é") == [1]
        assert column.rows(x == "é".encode()) == [1]
        assert column.rows(x < "b") == [0]
    FIXED_REFUSES = Column(FIXED, [b"abc"])
    FIXED_REFUSES.refuses(x == "abc", "bytes")
    Column(leaf(p.BYTE_ARRAY, logical=p.logical("BSON")), [b"abc"]).refuses(x == "abc")
    Column(INT32, [1]).refuses(x == "1", "'1'")


def test_bytes_are_the_exact_stored_bytes() -> None:
    cases = [
        (HALF, struct.pack("<e", 1.5), struct.pack("<e", -0.0)),
        (CARRIERS["BYTE_ARRAY"][0], b"\x00\x01", b"\x01"),  # one number, two forms
        (CARRIERS["FIXED_LEN_BYTE_ARRAY"][0], big_endian(1, 5), big_endian(2, 5)),
        (UUIDS, bytes(16), b"\xff" * 16),
        (INTERVAL, bytes(12), b"\x01" * 12),
        (GEOMETRY, b"\x01", b"\x02"),
    ]
    for node, one, two in cases:
        column = Column(node, [one, two, None])
        assert column.rows(x == one) == [0]
        assert column.rows(x != one) == [1]
        assert column.rows(x.is_in([one, two])) == [0, 1]
        assert column.rows(~x.is_in([one])) == [1]
        for op in ORDERED:
            column.refuses(compared(x, op, one), "order")
    for node in (CARRIERS["INT32"][0], INT64, DOUBLE, DATE):
        Column(node, [1]).refuses(x == b"\x01")


def test_raw_compares_the_stored_value_of_a_logical_column() -> None:
    column = Column(timestamp("ms", True), [1735689599999, 1735689600000, None])
    assert column.rows(x.raw >= 1735689600000) == [1]
    assert column.rows(x.raw == 1735689599999) == [0]
    unsigned = Column(integer(32, False), [-1, 1])
    assert unsigned.rows(x.raw < 0) == [0]
    assert unsigned.rows(x < 2) == [1]
    carrier = Column(CARRIERS["INT32"][0], [100, 101])
    assert carrier.rows(x.raw == 100) == carrier.rows(x == 1) == [0]
    wide = Column(CARRIERS["BYTE_ARRAY"][0], [b"\xff", b"\x01"])
    assert wide.rows(x.raw > b"\x7f") == [0]  # as bytes
    assert wide.rows(x > 0) == [1]  # as numbers
    texts = Column(TEXT, [b"\xff\xfe", b"a"])
    assert texts.rows(x.raw >= b"\xff") == [0]
    int96 = Column(INT96, [bytes(12), b"\x01" + bytes(11)])
    assert int96.rows(x.raw == bytes(12)) == [0]
    column.refuses(x.raw == dt.datetime(2025, 1, 1, tzinfo=dt.UTC))


def test_numpy_scalars_count_as_their_python_value() -> None:
    column = Column(INT32, [1, 2, 3])
    assert column.rows(x == np.int64(2)) == column.rows(x == np.uint8(2)) == column.rows(x == np.float32(2)) == [1]
    assert Column(BOOLEAN, [True, False]).rows(x == np.bool_(True)) == [0]
    assert Column(TEXT, [b"a"]).rows(x == np.str_("a")) == [0]
    assert Column(BYTES, [b"a"]).rows(x == np.bytes_(b"a")) == [0]


def test_refusal_names_column_literal_and_what_fits() -> None:
    Column(INT32, [1]).refuses(x == "one", "'x'", "'one'", "int")
    Column(TEXT, [b"a"]).refuses(x > 3, "'x'", "3", "str")
    Column(CARRIERS["INT64"][0], [1]).refuses(x == Decimal("0.001"), "0.001", "2")


@pytest.mark.parametrize(
    ("node", "value", "literal"),
    [
        (INT32, 1, 1.5),
        (INT32, 1, 2**31),
        (INT32, 1, -(2**31) - 1),
        (INT64, 1, 2**63),
        (integer(8, True), 1, 128),
        (integer(16, True), 1, -32769),
        (integer(8, False), 1, 256),
        (integer(32, False), 1, -1),
        (integer(64, False), 1, 2**64),
        (CARRIERS["INT32"][0], 1, Decimal("0.001")),
        (CARRIERS["BYTE_ARRAY"][0], b"\x01", Decimal("0.001")),
        (CARRIERS["FIXED_LEN_BYTE_ARRAY"][0], bytes(5), 10**7),  # ten digits with its scale
        (timestamp("ms", True), 1, dt.datetime(1970, 1, 1, 0, 0, 0, 1, tzinfo=dt.UTC)),
        (timestamp("us", False), 1, np.datetime64(1, "ns")),
        (clock("ms"), 1, dt.time(0, 0, 0, 1)),
        (FIXED, b"abc", b"ab"),
        (FIXED, b"abc", b"abcd"),
        (UUIDS, bytes(16), b"short"),
        (HALF, bytes(2), b"\x01"),
    ],
    ids=lambda part: "" if isinstance(part, p.Node) else str(part),
)
def test_literal_that_the_column_cannot_hold_is_refused_by_equality(node: p.Node, value: Any, literal: Any) -> None:
    column = Column(node, [value])
    column.refuses(x == literal)
    column.refuses(x != literal)
    column.refuses(x.is_in([literal]))
    column.refuses(~x.is_in([literal]))


def test_ordered_operators_take_literals_between_two_storable_values() -> None:
    cases: list[tuple[p.Node, list[Any], Any]] = [
        (INT32, [-1, 0, 1, 2], 0.5),
        (INT64, [-1, 0, 1, 2], Decimal("0.5")),
        (CARRIERS["INT32"][0], [-1, 0, 1, 2], Decimal("0.005")),
        (CARRIERS["BYTE_ARRAY"][0], [b"\xff", b"\x00", b"\x01", b"\x02"], Decimal("0.005")),
        (timestamp("ms", True), [-1, 0, 1, 2], dt.datetime(1970, 1, 1, 0, 0, 0, 1, tzinfo=dt.UTC)),
        (timestamp("us", False), [-1, 0, 1, 2], np.datetime64(1, "ns")),
        (clock("ms"), [0, 0, 1, 2], dt.time(0, 0, 0, 1)),
        (FIXED, [b"aaa", b"abz", b"aca", b"acb"], b"ac"),
        (FIXED, [b"aaa", b"abz", b"aca", b"acb"], b"abzz"),
        (DOUBLE, [-1.0, float(2**53), float(2**53 + 2), INF], 2**53 + 1),
    ]
    for node, values, literal in cases:
        column = Column(node, [*values, None])
        assert column.rows(x < literal) == column.rows(x <= literal) == [0, 1]
        assert column.rows(x > literal) == column.rows(x >= literal) == [2, 3]
        assert column.rows(~(x < literal)) == [2, 3]
        assert column.rows(x.is_between(literal, literal)) == []


def test_beyond_the_range_of_a_carrier_every_or_no_row_with_a_value_matches() -> None:
    moment = dt.datetime(9999, 12, 31, tzinfo=dt.UTC)
    cases: list[tuple[p.Node, Any, Any, Any]] = [
        (INT32, 1, -(2**40), 2**40),
        (INT64, 1, -(10**30), 10**30),
        (integer(8, False), 1, -1, 2**33),
        (CARRIERS["INT32"][0], 1, -(10**20), 10**20),
        (CARRIERS["FIXED_LEN_BYTE_ARRAY"][0], bytes(5), Decimal("-1e50"), Decimal("1e50")),
        (CARRIERS["BYTE_ARRAY"][0], b"\x01", Decimal("-1e50"), Decimal("1e50")),
        (INT64, 1, -INF, INF),
        (timestamp("ns", True), 0, dt.datetime(1, 1, 1, tzinfo=dt.UTC), moment),
    ]
    for node, value, low, high in cases:
        column = Column(node, [value, None, value])
        for literal, matching in ((high, ("lt", "le")), (low, ("gt", "ge"))):
            for op in ORDERED:
                assert column.rows(compared(x, op, literal)) == ([0, 2] if op in matching else [])
                assert column.rows(~compared(x, op, literal)) == ([] if op in matching else [0, 2])


def test_none_is_refused_with_the_hint_is_null() -> None:
    for build in (
        lambda: x == None,  # noqa: E711
        lambda: x != None,  # noqa: E711
        lambda: x < None,
        lambda: x.is_in([1, None]),
        lambda: x.is_between(None, 1),
    ):
        with pytest.raises(hw.PredicateError, match=r"is_null\(\)"):
            build()


def test_between_includes_both_ends() -> None:
    column = Column(INT32, [1, 2, 3, 4, 5, None])
    assert column.rows(x.is_between(2, 4)) == [1, 2, 3]
    assert column.rows(~x.is_between(2, 4)) == [0, 4]
    assert column.rows(x.is_between(4, 2)) == []
    assert column.rows(x.is_between(3, 3)) == [2]


def test_starts_with_is_a_byte_prefix() -> None:
    values = [b"", b"a", b"ab", b"abc", b"b", b"a\xff", b"a\xff\xff", b"\xff\xff", None]
    column = Column(BYTES, values)
    assert column.rows(x.starts_with("a")) == [1, 2, 3, 5, 6]
    assert column.rows(x.starts_with(b"a\xff")) == [5, 6]
    assert column.rows(x.starts_with(b"\xff")) == [7]
    assert column.rows(x.starts_with("")) == [0, 1, 2, 3, 4, 5, 6, 7]
    assert column.rows(~x.starts_with("a")) == [0, 4, 7]
    fixed = Column(FIXED, [b"abc", b"abd", b"b\0\0"])
    assert fixed.rows(x.starts_with(b"ab")) == [0, 1]
    assert fixed.rows(x.starts_with(b"abcd")) == []
    text = Column(TEXT, ["é".encode(), b"e"])
    assert text.rows(x.starts_with("é")) == [0]
    assert text.rows(x.starts_with(b"\xc3")) == [0]
    Column(INT32, [1]).refuses(x.starts_with("1"))


# ---------------------------------------------------------------- column against column


def pair(left: p.Node, right: p.Node, values: Sequence[tuple[Any, Any]]) -> list[bytes]:
    def renamed(node: p.Node, name: str) -> p.Node:
        return p.leaf(
            name, node.physical or 0, p.OPTIONAL, type_length=node.type_length, converted=node.converted,
            logical=node.logical,
        )  # fmt: skip

    root = p.group("root", p.leaf("row", p.INT32), renamed(left, "a"), renamed(right, "b"))
    return files(root, [{"row": number, "a": a, "b": b} for number, (a, b) in enumerate(values)])


a, b = col("a"), col("b")


def test_null_on_either_side_of_two_columns_is_unknown() -> None:
    sources = pair(INT32, INT32, [(1, 1), (1, None), (None, 1), (None, None), (1, 2)])
    assert same_rows(sources, a == b) == [0]
    assert same_rows(sources, a != b) == [4]
    assert same_rows(sources, ~(a == b)) == [4]
    assert same_rows(sources, a <= b) == [0, 4]
    assert same_rows(sources, a == a) == [0, 1, 4]


def test_signed_and_unsigned_columns_compare_as_numbers() -> None:
    sources = pair(INT64, integer(64, False), [(-1, -1), (2**63 - 1, -(2**63)), (5, 5), (-(2**63), 0)])
    assert same_rows(sources, a < b) == [0, 1, 3]
    assert same_rows(sources, a == b) == [2]
    assert same_rows(sources, b > a) == [0, 1, 3]
    narrow = pair(INT32, integer(32, False), [(-1, -1), (7, 7)])
    assert same_rows(narrow, a == b) == [1]


def test_decimal_columns_align_their_scales_exactly() -> None:
    for one, encode in CARRIERS.values():
        other = decimal(p.INT64, 18, 9)
        unit = 10**7
        sources = pair(one, other, [(encode(150), 150 * unit), (encode(150), 150 * unit + 1), (encode(-1), -unit - 1)])
        assert same_rows(sources, a == b) == [0]
        assert same_rows(sources, a < b) == [1]
        assert same_rows(sources, a > b) == [2]


def test_timestamp_columns_align_their_units_exactly() -> None:
    largest = 2**63 - 1
    sources = pair(
        timestamp("ms", True), timestamp("ns", True), [(1, 10**6), (1, 10**6 + 1), (largest, largest), (-1, -1)]
    )
    assert same_rows(sources, a == b) == [0]
    assert same_rows(sources, a < b) == [1, 3]
    assert same_rows(sources, a > b) == [2]
    int96 = struct.pack("<qi", 86_400 * 10**9 + 5, 2440588 - 1)
    instants = pair(INT96, timestamp("ns", True), [(int96, 5), (int96, 6)])
    assert same_rows(instants, a == b) == [0]
    for data in pair(timestamp("ms", True), timestamp("ms", False), [(1, 1)]):
        with pytest.raises(hw.PredicateError, match="wall clock"):
            hw.scan(data).filter(a == b).count()


def test_float_columns_of_other_widths_compare_by_the_total_order() -> None:
    near = struct.unpack("<f", struct.pack("<f", 0.1))[0]
    sources = pair(FLOAT, DOUBLE, [(near, 0.1), (NAN, NAN), (-0.0, 0.0), (1.5, 1.5), (INF, NAN)])
    assert same_rows(sources, a == b) == [1, 3]
    assert same_rows(sources, a > b) == [0]
    assert same_rows(sources, a < b) == [2, 4]
    halves = pair(HALF, FLOAT, [(struct.pack("<e", 0.5), 0.5), (struct.pack("<e", NAN), INF)])
    assert same_rows(halves, a == b) == [0]
    assert same_rows(halves, a > b) == [1]


def test_columns_of_different_domains_do_not_compare() -> None:
    for left, right in ((INT32, DOUBLE), (INT64, CARRIERS["INT64"][0]), (TEXT, INT32), (DATE, timestamp("us", False))):
        values = [(b"a" if node is TEXT else 1.0 if node is DOUBLE else 1) for node in (left, right)]
        for data in pair(left, right, [(values[0], values[1])]):
            with pytest.raises(hw.PredicateError, match="compare"):
                hw.scan(data).filter(a < b).count()


# ---------------------------------------------------------------- lists

LISTS: list[Any] = [None, [], [None], [1], [1, 2], [1, None], [2, 2], [2, None]]


def list_files(lists: Sequence[Any] = LISTS) -> list[bytes]:
    root = p.group("root", p.leaf("row", p.INT32), p.list_group("x", p.leaf("element", p.INT32, p.OPTIONAL)))
    return files(root, [{"row": number, "x": value} for number, value in enumerate(lists)])


def test_any_is_the_kleene_or_over_the_elements() -> None:
    sources = list_files()
    assert same_rows(sources, x.any() == 1) == [3, 4, 5]
    assert same_rows(sources, x.any() > 1) == [4, 6, 7]
    assert same_rows(sources, x.any().is_null()) == [2, 5, 7]
    assert same_rows(sources, x.any().is_in([2, 9])) == [4, 6, 7]


def test_all_is_the_kleene_and_over_the_elements_and_true_for_an_empty_list() -> None:
    sources = list_files()
    assert same_rows(sources, x.all() == 1) == [1, 3]
    assert same_rows(sources, x.all() >= 1) == [1, 3, 4, 6]
    assert same_rows(sources, x.all().is_not_null()) == [1, 3, 4, 6]


def test_not_any_is_all_not_and_a_null_list_is_unknown() -> None:
    sources = list_files()
    for op in ALL:
        for value in (0, 1, 2):
            inner, outer = compared(x.any(), op, value), compared(x.all(), op, value)
            negated = {"eq": "ne", "ne": "eq", "lt": "ge", "ge": "lt", "gt": "le", "le": "gt"}[op]
            assert same_rows(sources, ~inner) == same_rows(sources, compared(x.all(), negated, value))
            assert same_rows(sources, ~outer) == same_rows(sources, compared(x.any(), negated, value))
            assert 0 not in same_rows(sources, inner | ~inner)
            assert 0 not in same_rows(sources, outer | ~outer)
    assert same_rows(sources, ~(x.any() == 1)) == [1, 6]  # [2, None]: unknown
    assert same_rows(sources, ~(x.all() == 1)) == [4, 6, 7]


def test_null_list_and_empty_list_differ_in_null_tests_only() -> None:
    sources = list_files()
    assert same_rows(sources, x.is_null()) == [0]
    assert same_rows(sources, x.is_not_null()) == [1, 2, 3, 4, 5, 6, 7]
    assert same_rows(sources, x.any() == 1) == [3, 4, 5]


def test_below_lists_of_lists_the_element_is_the_leaf_at_any_depth() -> None:
    inner = p.list_group("element", p.leaf("element", p.INT32, p.OPTIONAL))
    root = p.group("root", p.leaf("row", p.INT32), p.list_group("x", inner))

    def stored(lists: Any) -> Any:
        return None if lists is None else {"list": [{"element": item} for item in lists]}

    values = [None, [], [[]], [None], [[1]], [[2], [1]], [[2], None], [[1], [1, 1]], [[1], []]]
    records = [
        {
            "row": number,
            "x": None if value is None else stored([None if item is None else stored(item) for item in value]),
        }
        for number, value in enumerate(values)
    ]
    sources = files(root, records)
    assert same_rows(sources, x.any() == 1) == [4, 5, 7, 8]
    assert same_rows(sources, x.all() == 1) == [1, 2, 4, 7, 8]
    assert same_rows(sources, ~(x.any() == 1)) == [1, 2]  # null lists inside are unknown, as are those outside
    assert same_rows(sources, ~(x.all() == 1)) == [5, 6]


def test_comparison_on_a_list_without_any_or_all_is_refused() -> None:
    for data in list_files():
        for predicate in (x == 1, col("x.list.element") < 3, x.is_in([1]), col("x.list.element").is_null()):
            with pytest.raises(hw.PredicateError, match=r"any\(\)"):
                hw.scan(data).filter(predicate).count()
    with pytest.raises(hw.PredicateError, match="one value per row"):
        hw.scan(Column(INT32, [1]).files[0]).filter(x.any() == 1).count()


def test_group_is_present_or_not_whatever_its_fields_hold() -> None:
    inner = p.group("g", p.leaf("v", p.INT32, p.OPTIONAL), repetition=p.OPTIONAL)
    root = p.group("root", p.leaf("row", p.INT32), p.group("s", inner, repetition=p.OPTIONAL))
    values = [None, {"g": None}, {"g": {"v": None}}, {"g": {"v": 1}}]
    sources = files(root, [{"row": number, "s": value} for number, value in enumerate(values)])
    assert same_rows(sources, col("s").is_null()) == [0]
    assert same_rows(sources, col("s.g").is_null()) == [0, 1]
    assert same_rows(sources, col("s.g").is_not_null()) == [2, 3]
    assert same_rows(sources, col("s.g.v").is_null()) == [0, 1, 2]


def test_name_with_dots_wins_over_a_path_and_a_tuple_is_exact() -> None:
    group = p.group("a", p.leaf("b", p.INT32))
    root = p.group("root", p.leaf("row", p.INT32), p.leaf("a.b", p.INT32), group)
    sources = files(root, [{"row": 0, "a.b": 1, "a": {"b": 2}}, {"row": 1, "a.b": 2, "a": {"b": 1}}])
    assert same_rows(sources, col("a.b") == 1) == [0]
    assert same_rows(sources, col(("a", "b")) == 1) == [1]
    assert same_rows(sources, col(("a.b",)) == 1) == [0]


def test_unknown_column_is_not_found_with_close_matches() -> None:
    for data in Column(INT32, [1]).files:
        with pytest.raises(hw.ColumnNotFoundError, match="row"):
            hw.scan(data).filter(col("roww") == 1).count()


def test_synthetic_levels_of_lists_and_maps_may_be_left_out() -> None:
    items = p.list_group("items", p.group("element", p.leaf("price", p.INT32), repetition=p.OPTIONAL))
    entries = p.map_group("m", p.leaf("key", p.INT32), p.leaf("value", p.INT32, p.OPTIONAL))
    root = p.group("root", p.leaf("row", p.INT32), items, entries)
    records = [
        {"row": 0, "items": {"list": [{"element": {"price": 5}}]}, "m": {"key_value": [{"key": 1, "value": 7}]}},
        {"row": 1, "items": {"list": []}, "m": {"key_value": [{"key": 2, "value": None}]}},
    ]
    sources = files(root, records)
    for name in ("items.price", "items.list.element.price", "items.element.price"):
        assert same_rows(sources, col(name).any() == 5) == [0]
    assert same_rows(sources, col("m.key").any() == 2) == [1]
    assert same_rows(sources, col("m.value").any() == 7) == [0]


# ---------------------------------------------------------------- section 2: row selection over the result set

GROUPS, GROUP_ROWS = 20, 500


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Twenty row groups; x is 1 in every tenth row, rare only in row 7 of each row group; the text is long."""
    rows = np.arange(GROUPS * GROUP_ROWS)
    table = pa.table(
        {
            "row": pa.array(rows, pa.int32()),
            "x": pa.array((rows % 10 == 3).astype(np.int32)),
            "rare": pa.array((rows % GROUP_ROWS == 7).astype(np.int64)),
            "text": pa.array([f"{row * 7919 % 10007:05d}" * 20 for row in rows]),
        }
    )
    path = tmp_path_factory.mktemp("large") / "large.parquet"
    pq.write_table(table, path, row_group_size=GROUP_ROWS, compression="none", use_dictionary=False)
    return path


def bytes_read(scan: hw.Scan) -> tuple[list[int], int]:
    """The rows of a scan on one thread, and the bytes that they took beside the footer."""
    dataset = scan.dataset
    assert dataset.num_rows
    before = dataset.counts
    rows = [row for batch in scan.threads(1).batches() for row in batch["row"].values.tolist()]
    return rows, (dataset.counts - before).bytes


ONES = list(range(3, GROUPS * GROUP_ROWS, 10))


def test_head_counts_matching_rows_and_stops_reading(large: Path) -> None:
    scan = hw.scan(large).filter(x == 1)
    everything, total = bytes_read(scan)
    assert everything == ONES
    rows, read = bytes_read(scan.head(60))  # fifty in each row group
    assert rows == ONES[:60]
    assert read <= total * 3 // GROUPS
    rows, read = bytes_read(hw.scan(large).filter(col("rare") == 1).head(2))
    assert rows == [7, 507]
    assert read < total // 4


def test_head_of_nothing_is_an_empty_result_and_reads_nothing(large: Path) -> None:
    scan = hw.scan(large).filter(x == 1).head(0)
    assert bytes_read(scan) == ([], 0)
    assert scan.count() == 0
    assert scan.to_arrow().schema == hw.scan(large).to_arrow().schema


def test_skip_counts_matching_rows_and_past_the_end_is_empty(large: Path) -> None:
    scan = hw.scan(large).filter(x == 1)
    for skip, head in ((0, 5), (49, 3), (999, 5), (1000, 5), (10**12, 1)):
        assert rows_of(scan.skip(skip)) == ONES[skip:]
        assert rows_of(scan.skip(skip).head(head)) == rows_of(scan.head(head).skip(skip)) == ONES[skip : skip + head]
        assert scan.skip(skip).count() == len(ONES[skip:])


def test_tail_scans_row_groups_from_the_end_and_gives_rows_in_file_order(large: Path) -> None:
    scan = hw.scan(large).filter(x == 1)
    _, total = bytes_read(scan)
    for count in (1, 50, 60):
        rows, read = bytes_read(scan.tail(count))
        assert rows == ONES[-count:]
        assert read <= total * 4 // GROUPS
    assert rows_of(scan.tail(0)) == []
    assert rows_of(scan.tail(10**9)) == ONES


def test_tail_crosses_files_from_the_last_one_on(large: Path, tmp_path: Path) -> None:
    empty = tmp_path / "empty.parquet"
    table = pq.read_table(large)
    pq.write_table(table.slice(0, 0), empty)
    dataset = hw.open([large, empty, large])
    assert rows_of(dataset.scan().filter(x == 1).tail(1001)) == [*ONES[-1:], *ONES]
    before = dataset.counts
    assert rows_of(dataset.scan().filter(x == 1).threads(1).tail(3)) == ONES[-3:]
    assert (dataset.counts - before).bytes < large.stat().st_size // 4


def test_byte_range_keeps_row_groups_by_their_midpoint(large: Path) -> None:
    size = large.stat().st_size
    metadata = pq.read_metadata(large)
    middles = []
    for number in range(GROUPS):
        group = metadata.row_group(number)
        length = sum(group.column(column).total_compressed_size for column in range(metadata.num_columns))
        middles.append(group.column(0).data_page_offset + length // 2)
    scan = hw.scan(large).filter(col("rare") == 1)
    for start, stop in ((0, size), (0, middles[4]), (middles[4], middles[4] + 1), (middles[3] + 1, middles[9])):
        kept = [number for number, middle in enumerate(middles) if start <= middle < stop]
        assert rows_of(scan.byte_range(start, stop)) == [number * GROUP_ROWS + 7 for number in kept]
    assert rows_of(scan.byte_range(size, 0)) == rows_of(scan.byte_range(5, 5)) == []
    assert rows_of(scan.byte_range(0, middles[9]).byte_range(middles[4], size)) == [
        number * GROUP_ROWS + 7 for number in range(4, 9)
    ]


def test_head_and_skip_under_a_byte_range_count_the_rows_of_its_row_groups(large: Path) -> None:
    size = large.stat().st_size
    scan = hw.scan(large).filter(x == 1).byte_range(size // 2, size)
    rows = rows_of(scan)
    assert 0 < len(rows) < len(ONES)
    assert rows == ONES[-len(rows) :]
    assert rows_of(scan.skip(7).head(60)) == rows[7:67]
    assert rows_of(scan.head(3)) == rows[:3]


def test_row_ranges_are_physical_rows_and_head_and_skip_count_inside(large: Path) -> None:
    scan = hw.scan([large, large]).filter(x == 1).row_ranges([(10_013, 10_033), (0, 14), (5, 20)])
    assert rows_of(scan) == [3, 13, 13, 23]  # row 10 013 is row 13 of the second file
    assert rows_of(scan.skip(1).head(2)) == [13, 13]
    assert rows_of(scan.row_ranges([(4, 10_015)])) == [13, 13]
    assert scan.count() == 4


def test_rows_come_in_file_order_whatever_the_threads(large: Path) -> None:
    for threads in (1, 2, 5):
        scan = hw.scan([large, large]).filter(x == 1).threads(threads)
        assert rows_of(scan) == ONES + ONES
        assert [row["row"] for row in scan.batch_size(7).rows()] == ONES + ONES
        assert scan.to_arrow()["row"].to_pylist() == ONES + ONES


def test_count_is_what_rows_would_give(large: Path) -> None:
    scan = hw.scan(large).filter(x == 1)
    for selected in (
        scan,
        scan.head(7),
        scan.skip(990),
        scan.skip(10).head(5),
        scan.tail(3),
        scan.row_ranges([(0, 99)]),
    ):
        assert selected.count() == sum(1 for _ in selected.rows())


def test_count_reads_no_output_column(large: Path) -> None:
    dataset = hw.open(large)
    assert dataset.num_rows
    before = dataset.counts
    assert dataset.scan().filter(x == 1).count() == 1000
    assert (dataset.counts - before).bytes < 3 * 4 * GROUPS * GROUP_ROWS // 2  # four bytes a row, and page headers


def test_calls_that_make_no_sense_are_value_errors_when_they_are_built(large: Path) -> None:
    scan = hw.scan(large).filter(x == 1)
    for build in (
        lambda: scan.head(1).filter(x == 1),
        lambda: scan.skip(1).filter(x == 1),
        lambda: scan.tail(1).filter(x == 1),
        lambda: scan.head(1).head(1),
        lambda: scan.skip(1).skip(1),
        lambda: scan.tail(1).tail(1),
        lambda: scan.head(-1),
        lambda: scan.skip(-1),
        lambda: scan.tail(-1),
        lambda: scan.tail(1).head(1),
        lambda: scan.head(1).tail(1),
        lambda: scan.tail(1).skip(1),
        lambda: scan.skip(1).tail(1),
        lambda: scan.tail(1).byte_range(0, 9),
        lambda: scan.byte_range(0, 9).tail(1),
        lambda: scan.row_ranges([(0, 1)]).tail(1),
        lambda: scan.tail(1).row_ranges([(0, 1)]),
        lambda: scan.row_ranges([(0, 1)]).byte_range(0, 9),
        lambda: scan.byte_range(0, 9).row_ranges([(0, 1)]),
    ):
        with pytest.raises(ValueError, match=r"."):
            build()
    with pytest.raises(ValueError, match="one file"):
        hw.scan([large, large]).filter(x == 1).byte_range(0, 9).count()


def test_byte_range_of_several_files_is_refused_by_every_terminal(large: Path) -> None:
    scan = hw.scan([large, large]).filter(x == 1).byte_range(0, 9)
    for terminal in ("batches", "rows", "to_arrow", "count"):
        with pytest.raises(ValueError, match="one file"):
            result = getattr(scan, terminal)()
            list(result) if terminal in ("batches", "rows") else result


def test_second_filter_is_joined_with_the_first_by_and(large: Path) -> None:
    both = hw.scan(large).filter(x == 1).filter(col("row") < 50)
    assert rows_of(both) == [3, 13, 23, 33, 43]
    assert rows_of(hw.scan(large).filter("x = 1 and row < 50")) == [3, 13, 23, 33, 43]
    assert rows_of(hw.scan(large).filter([("x", "==", 1), ("row", "<", 50)])) == [3, 13, 23, 33, 43]
    assert rows_of(hw.scan(large).filter([[("row", "<", 2)], [("x", "=", 1), ("row", "<", 4)]])) == [0, 1, 3]


# ---------------------------------------------------------------- datasets, errors, iterators


def test_closed_dataset_starts_no_filtered_scan_and_lets_running_ones_finish(large: Path) -> None:
    dataset = hw.open(large)
    scan = dataset.scan().filter(x == 1)
    running = scan.batches()
    first = next(running)
    dataset.close()
    for terminal in ("batches", "to_arrow", "count", "to_numpy"):
        with pytest.raises(ValueError, match="closed"):
            getattr(scan, terminal)()
    rows = [row for batch in [first, *running] for row in batch["row"].values.tolist()]
    assert rows == ONES


def test_filtered_scan_over_a_path_pickles(large: Path) -> None:
    scan = hw.scan(large).filter((x == 1) & (col("text") != "a")).select("row").skip(3).head(70)
    again = pickle.loads(pickle.dumps(scan))
    assert rows_of(again) == rows_of(scan) == ONES[3:73]
    with pytest.raises(TypeError, match="paths"):
        pickle.dumps(hw.scan(large.read_bytes()).filter(x == 1))


def written(**columns: Any) -> bytes:
    sink = io.BytesIO()
    pq.write_table(pa.table(columns), sink, store_schema=False)
    return sink.getvalue()


def test_filter_column_that_differs_between_files_is_a_schema_mismatch() -> None:
    rows = pa.array([0, 1], pa.int32())
    first = written(row=rows, x=pa.array([1, 2], pa.int32()))
    others = {
        "physical type INT64": written(row=rows, x=pa.array([1, 2], pa.int64())),
        "physical type BYTE_ARRAY": written(row=rows, x=["1", "2"]),  # where the literal does not even fit
        "logical type": written(row=rows, x=pa.array([1, 2], pa.int8())),
        "no column 'x'": written(row=rows),
    }
    for words, other in others.items():
        with pytest.raises(hw.SchemaMismatchError, match=words):
            rows_of(hw.scan([first, other]).filter(x == 1))
        assert rows_of(hw.scan([first, other])) == [0, 1, 0, 1]  # a column that the scan does not touch may differ


def test_filter_column_may_be_required_in_one_file_and_optional_in_another_and_stand_elsewhere() -> None:
    optional = written(row=pa.array([0, 1, 2], pa.int32()), x=pa.array([1, None, 3], pa.int32()))
    sink = io.BytesIO()
    schema = pa.schema([pa.field("x", pa.int32(), False), pa.field("row", pa.int32(), False)])
    pq.write_table(pa.table({"x": [5, 0], "row": [3, 4]}, schema), sink, store_schema=False)
    sources = [optional, sink.getvalue()]
    assert rows_of(hw.scan(sources).filter(x >= 1)) == [0, 2, 3]
    assert rows_of(hw.scan(sources).filter(x.is_null())) == [1]
    assert rows_of(hw.scan(sources[::-1]).filter(x.is_not_null())) == [3, 4, 0, 2]


def test_schema_mismatch_is_found_even_where_the_first_file_alone_answers_the_test() -> None:
    sink = io.BytesIO()
    pq.write_table(
        pa.table({"x": [1, 2], "row": [0, 1]}, pa.schema([pa.field("x", pa.int32(), False), ("row", pa.int64())])), sink
    )
    first, other = sink.getvalue(), written(row=pa.array([2, 3]), x=pa.array(["a", "b"]))
    for predicate in (x.is_not_null(), x < 10**12, ~x.is_in([])):  # true of every row of the first file
        with pytest.raises(hw.SchemaMismatchError, match="column 'x' has physical type"):
            rows_of(hw.scan([first, other]).filter(predicate))


@pytest.mark.parametrize("use_metadata", [True, False])
def test_batch_size_holds_without_columns(use_metadata: bool) -> None:
    scan = hw.scan(written(x=pa.array(range(10), pa.int32()))).use_metadata(use_metadata).select().batch_size(4)
    assert [batch.num_rows for batch in scan] == [4, 4, 2]
    assert [batch.num_rows for batch in scan.filter(x >= 0)] == [4, 4, 2]
    assert [batch.num_rows for batch in scan.filter(x > 1)] == [4, 4]


def workers() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "hardwood_jit"]


def test_dropped_iterator_cancels_the_scan(large: Path) -> None:
    dataset = hw.open([large] * 20)
    assert dataset.num_rows
    before = dataset.counts
    scan = dataset.scan().filter(x == 1).threads(2).batch_size(10)
    iterator = scan.batches()
    assert next(iterator).num_rows == 10
    assert workers()
    del iterator
    deadline = time.monotonic() + 10
    while workers() and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not workers()
    assert (dataset.counts - before).bytes < 5 * large.stat().st_size
    rows = scan.rows()
    next(rows)
    rows.close()
    assert not workers()


def test_head_cancels_the_threads_that_read_ahead(large: Path) -> None:
    dataset = hw.open([large] * 20)
    assert dataset.num_rows
    before = dataset.counts
    assert rows_of(dataset.scan().filter(x == 1).threads(2).head(5)) == ONES[:5]
    assert not workers()
    assert (dataset.counts - before).bytes < 2 * large.stat().st_size


def damaged(groups: int, bad: int) -> bytes:
    """A column `row` and a column x of `groups` row groups; the second page of x in row group `bad` has a wrong CRC."""
    root = p.group("root", p.leaf("row", p.INT32), p.leaf("x", p.INT32))
    paths = p.leaf_paths(root)
    row_groups = []
    for number in range(groups):
        entries = [(0, 0, number * 10 + row) for row in range(10)]
        pages = [
            p.data_page_v1(paths[1], entries[:5], crc="right"),
            p.data_page_v1(paths[1], entries[5:], crc="wrong" if number == bad else "right"),
        ]
        row_groups.append(p.RowGroup([p.simple_chunk(paths[0], entries), p.Chunk(pages)], 10))
    return p.build_file(root, row_groups)


@pytest.mark.parametrize("threads", [1, 2])
def test_error_in_the_middle_comes_after_the_rows_before_it(threads: int) -> None:
    for data, where in ((damaged(6, 3), "row group 3"), ([damaged(3, 9), damaged(3, 0)], "row group 0")):
        scan = hw.scan(data).filter(x >= 0).threads(threads)
        rows: list[int] = []
        with pytest.raises(hw.CorruptFileError, match=rf"{where}, column 'x', page 1.*(checksum|CRC)"):
            for batch in scan.batches():
                rows += batch["row"].values.tolist()
        assert rows == list(range(30))
        assert not workers()
        for terminal in ("count", "to_arrow"):
            with pytest.raises(hw.CorruptFileError, match=where):
                getattr(scan, terminal)()


def test_error_is_reported_only_for_pages_that_are_read() -> None:
    data = damaged(6, 3)
    before = hw.scan(data).filter((col("row") < 35) & (x >= 0))
    assert rows_of(before.threads(1)) == list(range(35))
    # The output column is read where a row has passed.
    assert hw.scan(data).filter(col("row") < 35).threads(1).to_arrow()["x"].to_pylist() == list(range(35))
    with pytest.raises(hw.CorruptFileError, match="row group 3"):
        hw.scan(data).filter(col("row") == 36).to_arrow()
    assert hw.scan(data, checksums=False).filter(x == 36).to_arrow()["row"].to_pylist() == [36]


def test_results_stay_valid_while_the_scan_goes_on(large: Path) -> None:
    held = list(hw.scan(large).filter(x == 1).threads(1).batches())
    assert [row for batch in held for row in batch["row"].values.tolist()] == ONES
    texts = [text for batch in held for text in batch["text"].to_pylist()]
    assert texts == [f"{row * 7919 % 10007:05d}" * 20 for row in ONES]


def test_metadata_switched_off_changes_nothing(large: Path) -> None:
    for predicate in (x == 1, col("row") > 9_990, (col("rare") == 1) & (x == 0), col("text") < "00100"):
        on, off = (rows_of(hw.scan(large).filter(predicate).use_metadata(use)) for use in (True, False))
        assert on == off
