"""Literals against columns: every row of the literal table, and every operator against exact arithmetic."""

from __future__ import annotations

import datetime as dt
import decimal
import math
import operator
import struct
import uuid
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hardwood_jit.errors import PredicateError
from hardwood_jit.metadata import structs
from hardwood_jit.metadata.schema import Leaf, build_schema
from hardwood_jit.plan.bound import Domain, Intervals, float_key
from hardwood_jit.plan.literals import (
    FITS,
    MAX_DIGITS,
    PLACERS,
    Operand,
    between,
    compare,
    domain_of,
    kind_of,
    next_prefix,
    one_of,
    prefixed,
    trim,
)
from hardwood_jit.plan.predicate import Instant, col
from tests.support import pages as p
from tests.support.pages import logical

OPS: dict[str, Callable[[Any, Any], bool]] = {
    "eq": operator.eq,
    "ne": operator.ne,
    "lt": operator.lt,
    "le": operator.le,
    "gt": operator.gt,
    "ge": operator.ge,
}
ORDERED = ("lt", "le", "gt", "ge")
UTC = dt.UTC


def leaf_of(physical: int, kind: str | None = None, length: int | None = None, **parts: Any) -> Leaf:
    """The only leaf, 'x', of a schema."""
    annotation = None if kind is None or kind == "INTERVAL" else logical(kind, **parts)
    converted = p.INTERVAL if kind == "INTERVAL" else None
    node = p.leaf("x", physical, p.OPTIONAL, type_length=length, logical=annotation, converted=converted)
    raw = p.list_of(p.group("schema", node).elements(is_root=True), p.STRUCT).encode()
    leaf = build_schema(structs.decode_list(structs.SchemaElement, raw), "test").leaves[0]
    assert kind in (None, "UNKNOWN-YET") or leaf.logical_type is not None
    return leaf


def on(
    physical: int, kind: str | None = None, length: int | None = None, *, raw: bool = False, **parts: Any
) -> Operand:
    return Operand.of(leaf_of(physical, kind, length, **parts), raw)


def keys(operand: Operand, op: str, literal: Any) -> Intervals:
    domain, intervals = compare(operand, op, literal)
    assert domain == operand.domain
    return trim(intervals, operand.leaf, domain)


def refusal(operand: Operand, op: str, literal: Any) -> str:
    """The message, which always names the column and its type."""
    with pytest.raises(PredicateError) as caught:
        compare(operand, op, literal)
    assert str(caught.value).startswith(f"column 'x' ({operand.type_text}): ")
    return str(caught.value)


EVERYTHING, NOTHING = Intervals.everything(), Intervals.nothing()

BOOLEAN = on(p.BOOLEAN)
INT32 = on(p.INT32)
INT64 = on(p.INT64)
INT96 = on(p.INT96)
FLOAT = on(p.FLOAT)
DOUBLE = on(p.DOUBLE_TYPE)
BYTES = on(p.BYTE_ARRAY)
FIXED3 = on(p.FLBA, length=3)
STRING = on(p.BYTE_ARRAY, "STRING")
ENUM = on(p.BYTE_ARRAY, "ENUM")
JSON = on(p.BYTE_ARRAY, "JSON")
BSON = on(p.BYTE_ARRAY, "BSON")
UUID_ = on(p.FLBA, "UUID", 16)
FLOAT16 = on(p.FLBA, "FLOAT16", 2)
DATE = on(p.INT32, "DATE")
TIME_MS = on(p.INT32, "TIME", unit="ms", utc=True)
TIME_US = on(p.INT64, "TIME", unit="us", utc=False)
TIME_NS = on(p.INT64, "TIME", unit="ns", utc=False)
INTERVAL = on(p.FLBA, "INTERVAL", 12)
GEOMETRY = on(p.BYTE_ARRAY, "GEOMETRY")
GEOGRAPHY = on(p.BYTE_ARRAY, "GEOGRAPHY")
UTC_MS, UTC_US, UTC_NS = (on(p.INT64, "TIMESTAMP", unit=unit, utc=True) for unit in ("ms", "us", "ns"))
LOCAL_MS, LOCAL_US, LOCAL_NS = (on(p.INT64, "TIMESTAMP", unit=unit, utc=False) for unit in ("ms", "us", "ns"))
DECIMALS = {
    "INT32": on(p.INT32, "DECIMAL", scale=2, precision=9),
    "INT64": on(p.INT64, "DECIMAL", scale=2, precision=18),
    "FLBA": on(p.FLBA, "DECIMAL", 5, scale=2, precision=11),
    "BYTE_ARRAY": on(p.BYTE_ARRAY, "DECIMAL", scale=2, precision=40),
}
INTEGERS = {
    f"{'' if signed else 'U'}INT{bits}": on(p.INT64 if bits == 64 else p.INT32, "INTEGER", bits=bits, signed=signed)
    for bits in (8, 16, 32, 64)
    for signed in (True, False)
} | {"bare INT32": INT32, "bare INT64": INT64}

# One literal of each class of the table
LITERALS: dict[str, Any] = {
    "bool": True,
    "int": 1,
    "Decimal": Decimal(1),
    "float": 1.0,
    "date": dt.date(2020, 1, 1),
    "aware datetime": dt.datetime(2020, 1, 1, tzinfo=UTC),
    "naive datetime": dt.datetime(2020, 1, 1),
    "datetime64": np.datetime64("2020-01-01T00:00:00"),
    "time": dt.time(1),
    "UUID": uuid.UUID(int=1),
    "str": "abc",
    "bytes": b"abc",
}
NUMBERS = {"int", "Decimal", "float"}
NAIVE = {"naive datetime", "datetime64"}


# Domains


@pytest.mark.parametrize(
    ("operand", "domain"),
    [
        (BOOLEAN, Domain("boolean", 1)),
        (INT32, Domain("signed", 32)),
        (INT64, Domain("signed", 64)),
        (INTEGERS["INT8"], Domain("signed", 32)),
        (INTEGERS["UINT8"], Domain("unsigned", 32)),
        (INTEGERS["UINT32"], Domain("unsigned", 32)),
        (INTEGERS["UINT64"], Domain("unsigned", 64)),
        (FLOAT, Domain("float", 32)),
        (DOUBLE, Domain("float", 64)),
        (FLOAT16, Domain("float", 16)),
        (DECIMALS["INT32"], Domain("signed", 32)),
        (DECIMALS["INT64"], Domain("signed", 64)),
        (DECIMALS["FLBA"], Domain("decimal")),
        (DECIMALS["BYTE_ARRAY"], Domain("decimal")),
        (DATE, Domain("signed", 32)),
        (TIME_MS, Domain("signed", 32)),
        (TIME_NS, Domain("signed", 64)),
        (UTC_MS, Domain("signed", 64)),
        (INT96, Domain("instant")),
        *((one, Domain("bytes")) for one in (BYTES, FIXED3, STRING, ENUM, JSON, BSON, UUID_, INTERVAL, GEOMETRY)),
        (on(p.INT32, "UNKNOWN"), Domain("signed", 32)),
        (on(p.INT96, "UNKNOWN"), Domain("instant")),
    ],
    ids=lambda one: one.type_text if isinstance(one, Operand) else one.kind,
)
def test_domain_follows_the_logical_type_and_its_carrier(operand: Operand, domain: Domain) -> None:
    assert domain_of(operand.leaf, raw=False) == domain


@pytest.mark.parametrize(
    ("operand", "kind", "domain"),
    [
        (INTEGERS["UINT32"], "integer", Domain("signed", 32)),
        (UTC_MS, "integer", Domain("signed", 64)),
        (DATE, "integer", Domain("signed", 32)),
        (DECIMALS["INT64"], "integer", Domain("signed", 64)),
        (DECIMALS["FLBA"], "bytes", Domain("bytes")),
        (DECIMALS["BYTE_ARRAY"], "text", Domain("bytes")),
        (FLOAT16, "bytes", Domain("bytes")),
        (DOUBLE, "float", Domain("float", 64)),
        (INT96, "bytes", Domain("bytes")),
        (BOOLEAN, "boolean", Domain("boolean", 1)),
        (UUID_, "bytes", Domain("bytes")),
        (INTERVAL, "bytes", Domain("bytes")),
        (GEOMETRY, "text", Domain("bytes")),
    ],
    ids=lambda one: one.type_text if isinstance(one, Operand) else "",
)
def test_raw_is_the_stored_physical_value(operand: Operand, kind: str, domain: Domain) -> None:
    assert (kind_of(operand.leaf, raw=True), domain_of(operand.leaf, raw=True)) == (kind, domain)


def test_unknown_logical_type_compares_as_its_physical_type() -> None:
    node = p.leaf("x", p.INT64, logical=logical("UNKNOWN-YET", number=99))
    raw = p.list_of(p.group("schema", node).elements(is_root=True), p.STRUCT).encode()
    leaf = build_schema(structs.decode_list(structs.SchemaElement, raw), "test").leaves[0]
    assert leaf.unknown_logical_type and domain_of(leaf, raw=False) == Domain("signed", 64)
    assert keys(Operand.of(leaf, False), "eq", 5) == Intervals.point(5)


# The table: who takes what

TAKES: list[tuple[Operand, set[str]]] = [
    (BOOLEAN, {"bool"}),
    *((one, NUMBERS) for one in (INT32, INT64, FLOAT, DOUBLE, FLOAT16, *INTEGERS.values(), *DECIMALS.values())),
    (DATE, {"date"}),
    *((one, {"aware datetime"}) for one in (UTC_MS, UTC_US, UTC_NS, INT96)),
    *((one, NAIVE) for one in (LOCAL_MS, LOCAL_US, LOCAL_NS)),
    *((one, {"time"}) for one in (TIME_MS, TIME_US, TIME_NS)),
    (UUID_, {"UUID"}),
    *((one, {"str", "bytes"}) for one in (STRING, ENUM, JSON, BYTES)),
    *((one, {"bytes"}) for one in (BSON, FIXED3)),
    *((one, set[str]()) for one in (INTERVAL, GEOMETRY, GEOGRAPHY)),
    (on(p.INT64, "TIMESTAMP", unit="ms", utc=True, raw=True), NUMBERS),
    (on(p.INT96, raw=True), {"bytes"}),
    (on(p.FLBA, "UUID", 16, raw=True), {"bytes"}),
    (on(p.FLBA, "INTERVAL", 12, raw=True), {"bytes"}),
]


@pytest.mark.parametrize(("operand", "taken"), TAKES, ids=lambda one: one.type_text if isinstance(one, Operand) else "")
@pytest.mark.parametrize("literal", LITERALS, ids=str)
def test_ordered_operators_take_exactly_the_literals_of_the_table(
    operand: Operand, taken: set[str], literal: str
) -> None:
    if literal in taken:
        for op in ORDERED:
            assert compare(operand, op, LITERALS[literal])[0] == operand.domain
    else:
        for op in OPS:
            if op in ORDERED or literal != "bytes" or (operand.kind, "bytes") not in PLACERS:
                assert "; fits: " in refusal(operand, op, LITERALS[literal])


def test_every_kind_of_column_takes_something_and_says_what() -> None:
    assert {kind for kind, _ in PLACERS} == set(FITS) == {operand.kind for operand, _ in TAKES}


@pytest.mark.parametrize(
    ("operand", "stored"),
    [
        (DECIMALS["FLBA"], b"\0\0\0\1\2"),
        (DECIMALS["BYTE_ARRAY"], b"\0\0\1\2"),
        (FLOAT16, b"\0\x3c"),
        (INTERVAL, bytes(12)),
        (UUID_, bytes(16)),
        (GEOMETRY, b"\1\2"),
        (GEOGRAPHY, b""),
    ],
    ids=lambda one: one.type_text if isinstance(one, Operand) else "",
)
def test_stored_bytes_of_other_types_are_equal_or_not_and_nothing_else(operand: Operand, stored: bytes) -> None:
    assert compare(operand, "eq", stored) == (Domain("bytes"), Intervals.point(stored))
    assert compare(operand, "ne", stored) == (Domain("bytes"), Intervals.point(stored).complement())
    assert one_of(operand, [stored, stored]) == (Domain("bytes"), Intervals.point(stored))
    for op in ORDERED:
        assert "no order" in refusal(operand, op, stored)
    with pytest.raises(PredicateError, match="no order"):
        between(operand, stored, stored)
    with pytest.raises(PredicateError, match="starts_with needs text"):
        prefixed(operand, stored)
    if operand.leaf.type_length is not None:
        assert f"has {len(stored) + 1} bytes" in refusal(operand, "eq", stored + b"\0")


@pytest.mark.parametrize("operand", [INT32, DOUBLE, FLOAT, DATE, UTC_MS, INT96, DECIMALS["INT32"], BOOLEAN])
def test_bytes_are_refused_where_bytes_are_not_stored(operand: Operand) -> None:
    for op in OPS:
        refusal(operand, op, b"\0\0\0\0")


def test_is_in_takes_values_or_stored_bytes_but_not_both() -> None:
    with pytest.raises(PredicateError, match="stored bytes or values, not both"):
        one_of(DECIMALS["FLBA"], [Decimal("1.5"), b"\0\0\0\0\1"])


@pytest.mark.parametrize("operand", [operand for operand, _ in TAKES], ids=lambda operand: operand.type_text)
def test_none_in_a_comparison_is_refused_with_the_hint_is_null(operand: Operand) -> None:
    for op in OPS:
        assert "is_null()" in refusal(operand, op, None)
    with pytest.raises(PredicateError, match=r"is_null\(\)"):
        one_of(operand, [None])


@pytest.mark.parametrize("literal", [object(), 1j, Fraction(1, 2), [1], np.timedelta64(1, "s"), dt.timedelta(1)])
def test_values_that_no_column_holds_are_refused(literal: Any) -> None:
    for operand, _ in TAKES:
        with pytest.raises(PredicateError):
            compare(operand, "eq", literal)


def test_refusals_of_logical_columns_point_to_raw_where_it_would_help() -> None:
    assert "col(...).raw" in refusal(UTC_MS, "ge", 1735689600000)
    assert "col(...).raw" in refusal(INT96, "eq", bytes(12))
    assert "raw" not in refusal(UTC_MS, "ge", "2025-01-01")
    assert "raw" not in refusal(INT64, "ge", "5")


def test_long_literals_are_cut_in_messages() -> None:
    assert len(refusal(INT32, "eq", "x" * 10_000)) < 400
    assert "bits" in refusal(INT32, "eq", 10**5000)  # more digits than Python prints


def test_numpy_scalars_count_as_their_python_value() -> None:
    assert keys(INT32, "eq", np.uint8(5)) == Intervals.point(5)
    assert keys(BOOLEAN, "eq", np.bool_(True)) == Intervals.point(1)
    assert keys(STRING, "eq", np.str_("a")) == Intervals.point(b"a")
    assert keys(BYTES, "eq", np.bytes_(b"a")) == Intervals.point(b"a")
    assert keys(DOUBLE, "eq", np.float32(0.1)) == Intervals.point(float_key(float(np.float32(0.1)), 64))
    # numpy prints np.float64(0.25), the digits are those of the float
    assert keys(DECIMALS["INT32"], "eq", np.float64(0.25)) == Intervals.point(25)
    assert keys(LOCAL_NS, "eq", np.datetime64(7, "ns")) == Intervals.point(7)
    refusal(BOOLEAN, "eq", np.int8(1))
    refusal(INT32, "eq", np.bool_(True))


# Exact arithmetic, for random stored values and literals

wide_integers = st.integers(-(2**70), 2**70) | st.integers(-300, 300)
decimals = st.decimals(allow_nan=False, allow_infinity=False) | st.decimals(-300, 300, places=3)
finite = st.floats(allow_nan=False, allow_infinity=False) | st.floats(-300, 300).map(lambda x: round(x, 2))
# Around every limit of a carrier or of an annotation
edges = st.sampled_from([7, 8, 15, 16, 31, 32, 39, 63, 64]).flatmap(
    lambda bits: st.integers(-2, 2).flatmap(lambda near: st.sampled_from([(1 << bits) + near, -(1 << bits) + near]))
)
numbers = wide_integers | edges | decimals | finite | edges.map(Decimal) | edges.map(float)


def carrier(operand: Operand) -> tuple[int, int]:
    """First and last number of the stored type."""
    if operand.domain.kind == "decimal":
        bits = 8 * (operand.leaf.type_length or 20)
    else:
        bits = operand.domain.bits
    if operand.domain.kind == "unsigned":
        return 0, 2**bits - 1
    return -(2 ** (bits - 1)), 2 ** (bits - 1) - 1


def stored_around(number: Any, low: int, high: int) -> st.SearchStrategy[int]:
    """Stored numbers, often the neighbours of a literal."""
    near = [key for key in (math.floor(number) - 1, math.floor(number), math.ceil(number)) if low <= key <= high]
    return st.integers(low, high) | (st.sampled_from(near) if near else st.nothing())


def check(operand: Operand, key: Any, literal: Any, order: tuple[Any, Any], storable: bool) -> None:
    """Every operator answers for the stored `key` what comparing the two of `order` gives."""
    for op, compares in OPS.items():
        if op in ORDERED or storable:
            domain, intervals = compare(operand, op, literal)
            trimmed = trim(intervals, operand.leaf, domain)
            assert intervals.contains(key) == trimmed.contains(key) == compares(*order), (op, intervals)
        else:
            refusal(operand, op, literal)
    if storable:
        assert one_of(operand, [literal])[1] == compare(operand, "eq", literal)[1]
    else:
        with pytest.raises(PredicateError):
            one_of(operand, [literal])
    _, intervals = between(operand, literal, literal)
    assert intervals.contains(key) == (order[0] == order[1])


@pytest.mark.parametrize("name", INTEGERS)
@given(data=st.data())
def test_numbers_on_integers_compare_exactly(name: str, data: st.DataObject) -> None:
    operand = INTEGERS[name]
    low, high = carrier(operand)
    literal = data.draw(numbers)
    stored = data.draw(stored_around(literal, low, high))
    annotated = operand.leaf.logical_type
    bits = operand.domain.bits if annotated is None or annotated.bits is None else annotated.bits
    first, last = (0, 2**bits - 1) if operand.domain.kind == "unsigned" else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
    value = Fraction(literal)
    check(operand, stored, literal, (Fraction(stored), value), value.denominator == 1 and first <= value <= last)


@pytest.mark.parametrize("name", DECIMALS)
@given(data=st.data())
def test_numbers_on_decimals_compare_exactly(name: str, data: st.DataObject) -> None:
    operand = DECIMALS[name]
    low, high = carrier(operand)
    literal = data.draw(numbers)
    value = Fraction(Decimal(repr(literal)) if isinstance(literal, float) else literal) * 100
    stored = data.draw(stored_around(value, low, high))
    logical_type = operand.leaf.logical_type
    assert logical_type is not None and logical_type.precision is not None
    fits = abs(value) < 10**logical_type.precision and low <= value <= high
    check(operand, stored, literal, (Fraction(stored), value), value.denominator == 1 and fits)


def rank(value: float | Fraction | int) -> tuple[int, Fraction, bool]:
    """Place in the order of Java's Double.compare: -inf, finite numbers, +inf, NaN; +0.0 above -0.0."""
    if isinstance(value, float):
        if math.isnan(value):
            return 2, Fraction(0), False
        if math.isinf(value):
            return (1 if value > 0 else -1), Fraction(0), False
        return 0, Fraction(value), value == 0 and math.copysign(1, value) > 0
    return 0, Fraction(value), value == 0


def to_width(value: float, bits: int) -> float:
    with np.errstate(all="ignore"):
        return float(np.array(value).astype(f"f{bits // 8}"))


@pytest.mark.parametrize("operand", [FLOAT16, FLOAT, DOUBLE], ids=lambda operand: operand.type_text)
@given(data=st.data())
def test_numbers_on_floats_compare_in_the_total_order(operand: Operand, data: st.DataObject) -> None:
    bits = operand.domain.bits
    # Around the smallest and the largest numbers of 16 and 32 bits
    limits = st.sampled_from([1e-300, 1e-46, 2.0**-24, 2.0**-25, 65504.0, 65519.99, 65520.0, 3.4028235677973366e38])
    literal = data.draw(numbers | st.floats() | limits | limits.map(lambda value: -value) | st.floats(width=16))
    value: float | Fraction = Fraction(literal) if not isinstance(literal, float) else literal
    storable = True
    if isinstance(literal, float):
        near = to_width(literal, bits)
        if math.isfinite(literal) and (math.isinf(near) or (near == 0) != (literal == 0)):
            storable = False
            value = Fraction(literal)
        else:
            value = near
    else:
        try:
            storable = Fraction(to_width(float(value), bits)) == value
        except OverflowError:
            storable = False
    stored = data.draw(st.floats(width=bits))  # type: ignore[arg-type]
    if isinstance(literal, Decimal) and literal == 0 and literal.is_signed():
        value = -0.0
    check(operand, float_key(stored, bits), literal, (rank(stored), rank(value)), storable)
    # and at the neighbours of the literal
    if storable:
        key = float_key(float(value), bits)
        for other, side in ((key - 1, -1), (key, 0), (key + 1, 1)):
            for op, compares in OPS.items():
                if not (math.isnan(value) and side > 0) and not (value == -math.inf and side < 0):
                    assert keys(operand, op, literal).contains(other) == compares(side, 0)


moments = st.integers(-(2**70), 2**70) | st.integers(-3_000_000, 3_000_000) | edges.map(lambda edge: edge * 1000)


@pytest.mark.parametrize(
    "operand", [UTC_MS, UTC_US, UTC_NS, LOCAL_MS, LOCAL_US, LOCAL_NS, INT96], ids=lambda operand: operand.type_text
)
@given(data=st.data())
def test_timestamps_compare_exactly_to_the_nanosecond(operand: Operand, data: st.DataObject) -> None:
    nanoseconds = data.draw(moments)
    per_unit = {"ms": 10**6, "us": 10**3, "ns": 1}[operand.unit]
    count = Fraction(nanoseconds, per_unit)
    low, high = (-(2**80), 2**80) if operand is INT96 else (-(2**63), 2**63 - 1)
    stored = data.draw(stored_around(count, low, high))
    literal = Instant(nanoseconds, operand.is_aware)
    check(operand, stored, literal, (Fraction(stored), count), count.denominator == 1 and low <= count <= high)


@pytest.mark.parametrize("operand", [TIME_MS, TIME_US, TIME_NS], ids=lambda operand: operand.type_text)
@given(literal=st.times(), step=st.integers(-1, 1))
def test_times_compare_as_counts_of_the_columns_unit(operand: Operand, literal: dt.time, step: int) -> None:
    nanoseconds = ((literal.hour * 60 + literal.minute) * 60 + literal.second) * 10**9 + literal.microsecond * 1000
    count = Fraction(nanoseconds, {"ms": 10**6, "us": 10**3, "ns": 1}[operand.unit])
    stored = math.floor(count) + step
    check(operand, stored, literal, (Fraction(stored), count), count.denominator == 1)


@given(literal=st.dates(), stored=st.dates())
def test_dates_compare_as_days(literal: dt.date, stored: dt.date) -> None:
    check(DATE, (stored - dt.date(1970, 1, 1)).days, literal, (stored, literal), True)


few_bytes = st.binary(max_size=4) | st.lists(st.sampled_from([0, 1, 254, 255]), max_size=4).map(bytes)


@pytest.mark.parametrize("operand", [BYTES, STRING, ENUM, JSON, BSON], ids=lambda operand: operand.type_text)
@given(literal=few_bytes, stored=few_bytes)
def test_bytes_compare_unsigned_and_lexicographically(operand: Operand, literal: bytes, stored: bytes) -> None:
    check(operand, stored, literal, (stored, literal), True)


@given(literal=few_bytes, stored=st.binary(min_size=3, max_size=3))
def test_bytes_on_fixed_width_need_that_width_for_equality_only(literal: bytes, stored: bytes) -> None:
    check(FIXED3, stored, literal, (stored, literal), len(literal) == 3)


@given(literal=st.text(max_size=4), stored=st.text(max_size=4))
def test_text_compares_in_the_order_of_utf8_which_is_that_of_code_points(literal: str, stored: str) -> None:
    for operand in (STRING, ENUM, JSON, BYTES):
        check(operand, stored.encode(), literal, (stored, literal), True)


@given(literal=st.uuids(), stored=st.uuids())
def test_uuids_compare_as_sixteen_unsigned_bytes(literal: uuid.UUID, stored: uuid.UUID) -> None:
    check(UUID_, stored.bytes, literal, (stored.bytes, literal.bytes), True)


@given(literal=st.booleans(), stored=st.booleans())
def test_booleans_compare_false_before_true(literal: bool, stored: bool) -> None:
    check(BOOLEAN, int(stored), literal, (stored, literal), True)


@given(literal=few_bytes, stored=few_bytes)
@example(b"\xff\xff", b"\xff\xff\0")
@example(b"a\xff", b"b")
def test_starts_with_is_an_interval_of_byte_strings(literal: bytes, stored: bytes) -> None:
    domain, intervals = prefixed(BYTES, literal)
    assert domain == Domain("bytes")
    assert intervals.contains(stored) == stored.startswith(literal)
    assert trim(intervals, BYTES.leaf, domain).contains(stored) == stored.startswith(literal)


# Trimming


@pytest.mark.parametrize(
    "operand",
    [BOOLEAN, INT32, INTEGERS["UINT64"], FLOAT, DECIMALS["FLBA"], INT96, FIXED3, on(p.FLBA, length=0)],
    ids=lambda operand: operand.type_text,
)
def test_trim_leaves_no_bound_where_the_carrier_ends_and_keeps_single_keys(operand: Operand) -> None:
    leaf, domain = operand.leaf, operand.domain
    lowest, highest = {
        "boolean": (0, 1),
        "signed": (-(2**31), 2**31 - 1),
        "unsigned": (0, 2**64 - 1),
        "float": (float_key(-math.inf, 32), float_key(math.nan, 32)),
        "decimal": (-(2**39), 2**39 - 1),
        "instant": (
            (-(2**31) - 2440588) * 86_400 * 10**9 - 2**63,
            (2**31 - 1 - 2440588) * 86_400 * 10**9 + 2**63 - 1,
        ),
        "bytes": (bytes(leaf.type_length or 0), b"\xff" * (leaf.type_length or 0)),
    }[domain.kind]
    above = Intervals.point(highest).pairs[0][1]
    assert trim(Intervals.at_least(lowest), leaf, domain).is_everything
    assert trim(Intervals.below(above), leaf, domain).is_everything
    assert trim(Intervals.of([(lowest, above)]), leaf, domain).is_everything
    assert not trim(Intervals.below(lowest), leaf, domain)
    assert not trim(Intervals.at_least(above), leaf, domain)
    if lowest != highest:
        for key in (lowest, highest):
            assert trim(Intervals.point(key), leaf, domain) == Intervals.point(key)
            assert trim(Intervals.point(key), leaf, domain).single_keys() == (key,)
        assert trim(Intervals.at_least(highest), leaf, domain).single_keys() == (highest,)


def test_trimmed_boolean_that_is_not_true_is_false() -> None:
    assert keys(BOOLEAN, "ne", True) == Intervals.point(0) == keys(BOOLEAN, "lt", True)
    assert keys(BOOLEAN, "le", True) == EVERYTHING and keys(BOOLEAN, "gt", True) == NOTHING


def test_hostile_widths_cost_no_memory() -> None:
    for kind in (None, "DECIMAL"):
        parts = {"scale": 2**31 - 1, "precision": 2**31 - 1} if kind else {}
        leaf = leaf_of(p.FLBA, kind, 2**31 - 1, **parts)
        assert trim(EVERYTHING, leaf, domain_of(leaf, raw=False)) == EVERYTHING
    assert "scale" in refusal(Operand.of(leaf, False), "lt", 1)


# Integers


def test_integer_beyond_the_annotated_width_is_refused_by_equality_only() -> None:
    narrow = INTEGERS["INT8"]
    assert keys(narrow, "eq", 127) == Intervals.point(127) and keys(narrow, "eq", -128) == Intervals.point(-128)
    for literal in (128, -129, 200.0, Decimal(200)):
        assert "-128 .. 127" in refusal(narrow, "eq", literal)
        assert "from -128 to 127" in refusal(narrow, "ne", literal)
    # A file may store more than the annotation allows; the comparison is still that of the stored numbers.
    assert keys(narrow, "lt", 200) == Intervals.below(200) and keys(narrow, "le", 200).contains(200)
    assert "0 .. 255" in refusal(INTEGERS["UINT8"], "eq", -1)


def test_ordered_operators_beyond_the_carrier_match_every_value_or_none() -> None:
    for literal in (2**31, 2**100, 1e300, math.inf, Decimal("1e30"), Decimal("Infinity"), Decimal("1e999999999")):
        assert keys(INT32, "lt", literal) == keys(INT32, "le", literal) == EVERYTHING
        assert keys(INT32, "gt", literal) == keys(INT32, "ge", literal) == NOTHING
    for literal in (-(2**31) - 1, -1e300, -math.inf, Decimal("-1e999999999")):
        assert keys(INT32, "lt", literal) == keys(INT32, "le", literal) == NOTHING
        assert keys(INT32, "gt", literal) == keys(INT32, "ge", literal) == EVERYTHING
    assert keys(INTEGERS["UINT32"], "ge", -1) == EVERYTHING and keys(INTEGERS["UINT32"], "lt", 0) == NOTHING
    assert keys(INTEGERS["UINT64"], "eq", 2**64 - 1) == Intervals.point(2**64 - 1)


@pytest.mark.parametrize("operand", [INT32, INTEGERS["UINT64"], *DECIMALS.values()], ids=lambda one: one.type_text)
def test_nan_is_refused_and_infinity_only_ordered_on_columns_without_floats(operand: Operand) -> None:
    for op in OPS:
        for nan in (math.nan, Decimal("NaN"), Decimal("sNaN")):
            assert "is no number" in refusal(operand, op, nan)
    assert "is infinite" in refusal(operand, "eq", math.inf) and "is infinite" in refusal(operand, "ne", -math.inf)
    assert keys(operand, "le", math.inf) == EVERYTHING == keys(operand, "gt", -math.inf)
    assert keys(operand, "ge", math.inf) == NOTHING == keys(operand, "lt", -math.inf)


def test_floats_on_integers_are_exact() -> None:
    assert keys(INT64, "eq", 3.0) == Intervals.point(3) and keys(INT64, "eq", -0.0) == Intervals.point(0)
    assert "no whole number" in refusal(INT64, "eq", 3.5)
    assert keys(INT64, "lt", 3.5) == Intervals.below(4) == keys(INT64, "le", 3.5)
    # 2**53 + 1 is no float64; the float literal 2**53 is not that number
    assert not keys(INT64, "ge", float(2**53 + 1)).contains(2**53 - 1) and keys(INT64, "ge", 2.0**53).contains(2**53)


def test_tiny_decimals_cost_no_time() -> None:
    for tiny in (Decimal("1e-999999999"), Decimal(f"1e-{MAX_DIGITS + 5}")):
        minus = tiny.copy_negate()  # a minus sign rounds to 0
        assert keys(INT32, "lt", tiny) == Intervals.below(1) and keys(INT32, "ge", minus) == Intervals.at_least(0)
        assert keys(DOUBLE, "ge", tiny) == Intervals.at_least(1) and keys(DOUBLE, "gt", minus) == Intervals.at_least(-1)
        assert keys(DECIMALS["BYTE_ARRAY"], "le", tiny) == Intervals.below(1)
        refusal(INT32, "eq", tiny)


def test_decimals_are_never_rounded_by_the_context() -> None:
    literal = Decimal("12345678901234567890123456789012345678.91")
    with decimal.localcontext() as context:
        context.prec = 3
        assert keys(DECIMALS["BYTE_ARRAY"], "eq", literal) == Intervals.point(1234567890123456789012345678901234567891)
        assert keys(DOUBLE, "lt", Decimal(2**53 + 1)) == keys(DOUBLE, "le", 2**53)
        assert keys(DOUBLE, "gt", Decimal(-(2**53) - 1)) == keys(DOUBLE, "ge", -(2**53))


# Decimals


@pytest.mark.parametrize("name", DECIMALS)
def test_decimal_equality_needs_digits_within_scale_and_precision(name: str) -> None:
    operand = DECIMALS[name]
    assert keys(operand, "eq", Decimal("1.50")) == keys(operand, "eq", 1.5) == Intervals.point(150)
    assert keys(operand, "eq", Decimal("1.5000")) == Intervals.point(150)
    assert keys(operand, "eq", 7) == Intervals.point(700)
    assert "more than 2 digits after the point" in refusal(operand, "eq", Decimal("1.005"))
    logical_type = operand.leaf.logical_type
    assert logical_type is not None and logical_type.precision is not None
    assert "digits before the point" in refusal(operand, "eq", 10 ** (logical_type.precision - 2))
    assert keys(operand, "lt", Decimal("1.005")) == Intervals.below(101) == keys(operand, "le", Decimal("1.005"))
    assert keys(operand, "gt", Decimal("1.005")) == Intervals.at_least(101)


def test_padded_encodings_of_a_decimal_are_one_number_but_different_stored_bytes() -> None:
    operand = DECIMALS["BYTE_ARRAY"]
    for stored in (b"\xff\x6a", b"\xff\xff\xff\x6a"):  # big-endian two's complement of -150
        assert keys(operand, "eq", Decimal("-1.5")).contains(int.from_bytes(stored, "big", signed=True))
    assert not compare(operand, "eq", b"\xff\x6a")[1].contains(b"\xff\xff\xff\x6a")


def test_float_on_decimal_counts_as_the_digits_it_prints() -> None:
    operand = DECIMALS["INT64"]
    assert keys(operand, "eq", 0.1) == Intervals.point(10)  # not 0.1000000000000000055
    assert keys(operand, "ge", 0.29) == Intervals.at_least(29)
    assert "after the point" in refusal(operand, "eq", 0.1 + 0.2)
    assert keys(operand, "lt", 1e30) == EVERYTHING


def test_number_beyond_a_fixed_width_decimal_matches_every_value_or_none() -> None:
    assert keys(DECIMALS["FLBA"], "lt", 10**10) == EVERYTHING and keys(DECIMALS["FLBA"], "gt", 10**10) == NOTHING
    unlimited = DECIMALS["BYTE_ARRAY"]
    assert keys(unlimited, "lt", 10**50) == Intervals.below(10**52)
    assert keys(unlimited, "lt", Decimal("1e999999999")) == EVERYTHING
    # precision 12 in 5 bytes: the carrier is narrower than the annotation
    narrow = on(p.FLBA, "DECIMAL", 5, scale=0, precision=12)
    assert keys(narrow, "eq", 2**39 - 1) == Intervals.point(2**39 - 1)
    refusal(narrow, "eq", 2**39)


# Floats


@pytest.mark.parametrize(("operand", "bits"), [(FLOAT16, 16), (FLOAT, 32), (DOUBLE, 64)], ids=["16", "32", "64"])
def test_negative_zero_is_below_zero_and_all_nan_are_equal_above_infinity(operand: Operand, bits: int) -> None:
    minus, plus, nan, inf = (float_key(value, bits) for value in (-0.0, 0.0, math.nan, math.inf))
    assert keys(operand, "eq", 0.0) == Intervals.point(plus) == keys(operand, "eq", 0)
    assert keys(operand, "eq", -0.0) == Intervals.point(minus) == keys(operand, "eq", Decimal("-0.0"))
    assert keys(operand, "lt", 0.0).contains(minus) and not keys(operand, "lt", -0.0).contains(minus)
    assert keys(operand, "eq", math.nan) == Intervals.point(nan) == keys(operand, "eq", Decimal("NaN"))
    for op, matches in (("lt", False), ("le", False), ("gt", True), ("ge", True), ("ne", True), ("eq", False)):
        for number in (1.0, math.inf, -math.inf, 0, Decimal(3)):
            assert keys(operand, op, number).contains(nan) == matches
    assert keys(operand, "le", math.nan) == EVERYTHING and keys(operand, "gt", math.nan) == NOTHING
    assert keys(operand, "lt", math.nan) == Intervals.below(nan) and keys(operand, "lt", math.nan).contains(inf)
    assert one_of(operand, [math.nan, 0.0])[1] == Intervals.points([nan, plus])


def test_float_is_rounded_to_the_columns_width_for_every_operator() -> None:
    near = float_key(struct.unpack("<f", struct.pack("<f", 0.1))[0], 32)  # above 0.1
    for op, expected in (
        ("eq", Intervals.point(near)),
        ("ne", Intervals.point(near).complement()),
        ("lt", Intervals.below(near)),
        ("le", Intervals.below(near + 1)),
        ("gt", Intervals.at_least(near + 1)),
        ("ge", Intervals.at_least(near)),
    ):
        assert keys(FLOAT, op, 0.1) == expected
    # int and Decimal are never rounded
    assert keys(FLOAT, "lt", Decimal("0.1")) == Intervals.below(near) == keys(FLOAT, "le", Decimal("0.1"))
    refusal(FLOAT, "eq", Decimal("0.1"))
    refusal(FLOAT, "eq", 2**24 + 1)
    assert keys(FLOAT16, "eq", 0.1).contains(float_key(float(np.float16(0.1)), 16))


def test_float_that_would_become_infinite_or_zero_is_not_storable() -> None:
    largest, infinite = float_key(3.4028234663852886e38, 32), float_key(math.inf, 32)
    assert "32 bits" in refusal(FLOAT, "eq", 1e300)
    assert keys(FLOAT, "lt", 1e300) == Intervals.below(infinite) == keys(FLOAT, "le", 1e300)
    assert keys(FLOAT, "lt", 1e300).contains(largest) and keys(FLOAT, "gt", 1e300) == Intervals.at_least(infinite)
    assert keys(FLOAT, "gt", -1e300) == Intervals.at_least(float_key(-math.inf, 32) + 1)
    refusal(FLOAT, "ne", 1e-300)
    assert keys(FLOAT, "lt", 1e-300) == Intervals.below(1) and keys(FLOAT, "ge", 1e-300) == Intervals.at_least(1)
    assert keys(FLOAT, "lt", -1e-300) == Intervals.below(-1) and keys(FLOAT, "ge", -1e-300).contains(-1)  # -0.0
    assert keys(FLOAT, "eq", math.inf) == Intervals.point(infinite)


def test_integers_on_double_are_compared_exactly_not_through_float64() -> None:
    assert "64 bits" in refusal(DOUBLE, "eq", 2**53 + 1)
    assert keys(DOUBLE, "lt", 2**53 + 1) == keys(DOUBLE, "le", 2**53) == keys(DOUBLE, "le", 2**53 + 1)
    assert keys(DOUBLE, "gt", 2**53 + 1) == keys(DOUBLE, "ge", 2**53 + 2)
    assert keys(DOUBLE, "lt", 10**400) == keys(DOUBLE, "lt", math.inf)
    assert keys(DOUBLE, "lt", Decimal("1e999999999")) == keys(DOUBLE, "lt", math.inf)
    assert keys(DOUBLE, "lt", -(10**400)) == Intervals.point(float_key(-math.inf, 64))
    refusal(DOUBLE, "eq", Decimal("0.1"))


# Dates and times


def test_date_on_date_only_and_no_datetime_on_date() -> None:
    assert keys(DATE, "eq", dt.date(1970, 1, 2)) == Intervals.point(1)
    assert "datetime.date" in refusal(DATE, "eq", dt.datetime(1970, 1, 2))
    refusal(DATE, "lt", dt.datetime(1970, 1, 2, tzinfo=UTC))
    refusal(UTC_MS, "lt", dt.date(1970, 1, 2))


def test_aware_datetime_is_an_instant_whatever_its_zone() -> None:
    east = dt.timezone(dt.timedelta(hours=2))
    for operand, unit in ((UTC_MS, 10**6), (UTC_US, 10**3), (UTC_NS, 1), (INT96, 1)):
        expected = Intervals.point(3600 * 10**9 // unit)
        assert keys(operand, "eq", dt.datetime(1970, 1, 1, 1, tzinfo=UTC)) == expected
        assert keys(operand, "eq", dt.datetime(1970, 1, 1, 3, tzinfo=east)) == expected
        assert keys(operand, "eq", pd.Timestamp("1970-01-01T03:00:00+02:00")) == expected
        assert "has no time zone" in refusal(operand, "lt", dt.datetime(1970, 1, 1))
        assert "has no time zone" in refusal(operand, "lt", np.datetime64(0, "s"))


def test_naive_datetime_is_the_wall_clock_of_local_columns() -> None:
    for operand, unit in ((LOCAL_MS, 10**6), (LOCAL_US, 10**3), (LOCAL_NS, 1)):
        expected = Intervals.point(3600 * 10**9 // unit)
        for literal in (dt.datetime(1970, 1, 1, 1), np.datetime64(1, "h"), pd.Timestamp("1970-01-01T01:00")):
            assert keys(operand, "eq", literal) == expected
        assert "has a time zone" in refusal(operand, "lt", dt.datetime(1970, 1, 1, tzinfo=UTC))


def test_nanoseconds_of_pandas_and_numpy_are_kept() -> None:
    moment = "2025-01-01T00:00:00.000000001"
    count = 1735689600 * 10**9 + 1
    assert keys(LOCAL_NS, "eq", np.datetime64(moment)) == Intervals.point(count)
    assert keys(LOCAL_NS, "eq", pd.Timestamp(moment)) == Intervals.point(count)
    assert keys(UTC_NS, "eq", pd.Timestamp(moment, tz="UTC")) == Intervals.point(count)
    assert keys(INT96, "eq", pd.Timestamp(moment, tz="UTC")) == Intervals.point(count)
    assert "whole number of us" in refusal(LOCAL_US, "eq", pd.Timestamp(moment))
    assert keys(LOCAL_US, "lt", pd.Timestamp(moment)) == Intervals.below(1735689600 * 10**6 + 1)


@pytest.mark.parametrize("missing", [np.datetime64("NaT"), pd.NaT])
def test_nat_is_refused(missing: Any) -> None:
    with pytest.raises(PredicateError):
        compare(LOCAL_NS, "lt", missing)


def test_timestamps_beyond_64_bits_match_every_value_or_none() -> None:
    late, early = dt.datetime(9999, 1, 1), dt.datetime(1, 1, 1)
    assert keys(LOCAL_NS, "lt", late) == EVERYTHING == keys(LOCAL_NS, "gt", early)
    assert keys(LOCAL_NS, "gt", late) == NOTHING == keys(LOCAL_NS, "le", early)
    refusal(LOCAL_NS, "eq", late)
    assert keys(LOCAL_MS, "eq", late).single_keys() is not None
    assert keys(INT96, "eq", late.replace(tzinfo=UTC)).single_keys() == (253370764800 * 10**9,)
    assert keys(LOCAL_MS, "lt", np.datetime64(10**9, "Y")) == EVERYTHING


def test_time_with_a_zone_is_refused() -> None:
    for operand in (TIME_MS, TIME_US, TIME_NS):
        assert "has a time zone" in refusal(operand, "lt", dt.time(1, tzinfo=UTC))
    assert "whole number of ms" in refusal(TIME_MS, "eq", dt.time(1, microsecond=1))
    assert keys(TIME_US, "eq", dt.time(0, 0, 1)) == Intervals.point(10**6)


def test_refused_moment_is_shown_as_text_and_not_as_what_holds_it() -> None:
    moment = "2025-01-01T00:00:00.000000001"
    for operand in (INT32, STRING, TIME_MS, UTC_MS):
        for literal in (np.datetime64(moment), pd.Timestamp(moment)):
            held = (col("x") < literal).literal  # type: ignore[attr-defined]
            message = refusal(operand, "lt", held)
            assert f"timestamp('{moment}')" in message and "Instant" not in message


# Text and bytes


def test_refused_prefix_is_named() -> None:
    for prefix in ("ab", b"ab"):
        with pytest.raises(PredicateError, match=f"column 'x'.*{prefix!r}.*starts_with needs"):
            prefixed(DATE, prefix)


def test_lone_surrogates_are_refused() -> None:
    for op in OPS:
        assert "surrogate" in refusal(STRING, op, "a\ud800")
    with pytest.raises(PredicateError, match="surrogate"):
        prefixed(STRING, "\udfff")


def test_empty_bytes_are_the_least() -> None:
    assert keys(BYTES, "ge", b"") == EVERYTHING == keys(STRING, "ge", "")
    assert keys(BYTES, "lt", b"") == NOTHING and keys(BYTES, "eq", b"") == Intervals.point(b"")


def test_uuid_takes_uuids_and_equal_bytes_only() -> None:
    one = uuid.UUID("00000000-0000-0000-0000-000000000001")
    assert compare(UUID_, "eq", one) == compare(UUID_, "eq", one.bytes)
    refusal(UUID_, "eq", str(one))
    refusal(FIXED3, "eq", one)
    refusal(on(p.FLBA, length=16), "eq", one)


def test_starts_with_works_on_text_bytes_and_fixed_width_bytes() -> None:
    for operand in (STRING, ENUM, JSON, BYTES):
        assert prefixed(operand, "ab")[1].pairs == ((b"ab", b"ac"),) == prefixed(operand, b"ab")[1].pairs
    assert prefixed(BSON, b"\xff")[1].pairs == ((b"\xff", None),)
    assert prefixed(FIXED3, b"a\xff")[1].pairs == ((b"a\xff", b"b"),)
    for operand in (BSON, FIXED3):
        with pytest.raises(PredicateError, match=r"\(str\) does not fit"):
            prefixed(operand, "ab")
    for operand in (INT32, DOUBLE, DATE, UUID_, INTERVAL, DECIMALS["BYTE_ARRAY"], INT96, Operand.of(INT96.leaf, True)):
        with pytest.raises(PredicateError, match="starts_with needs"):
            prefixed(operand, b"a")
    assert prefixed(Operand.of(UUID_.leaf, True), b"a")[1].pairs == ((b"a", b"b"),)


def test_empty_prefix_is_every_value() -> None:
    for operand in (STRING, FIXED3):
        domain, intervals = prefixed(operand, b"")
        assert trim(intervals, operand.leaf, domain) == EVERYTHING


def test_next_prefix_skips_bytes_that_are_already_the_last() -> None:
    assert next_prefix(b"") is None and next_prefix(b"\xff\xff") is None
    assert next_prefix(b"a\xff\xff") == b"b" and next_prefix(b"\0") == b"\1"


def test_is_in_without_literals_holds_no_key() -> None:
    for operand, _ in TAKES:
        assert one_of(operand, []) == (operand.domain, NOTHING)


def test_is_between_includes_both_ends_each_by_its_own_rule() -> None:
    assert between(INT32, 3, 5)[1].pairs == ((3, 6),)
    assert between(INT32, 2.5, 2**40)[1].intersect(Intervals.between(0, 10)).pairs == ((3, 10),)
    assert not between(INT32, 5, 3)[1]
    assert between(DOUBLE, math.nan, math.nan)[1] == Intervals.point(float_key(math.nan, 64))


def test_raw_compares_the_stored_number() -> None:
    raw = Operand.of(UTC_MS.leaf, True)
    assert keys(raw, "ge", 1735689600000) == Intervals.at_least(1735689600000)
    unsigned = Operand.of(INTEGERS["UINT8"].leaf, True)
    assert keys(unsigned, "eq", -(2**31)) == Intervals.point(-(2**31))
    assert "stores TIMESTAMP(ms, UTC)" in refusal(raw, "eq", dt.datetime(2025, 1, 1, tzinfo=UTC))
    assert keys(Operand.of(INT96.leaf, True), "eq", bytes(12)) == Intervals.point(bytes(12))
    assert "has 3 bytes, the column 12" in refusal(Operand.of(INT96.leaf, True), "eq", b"abc")
