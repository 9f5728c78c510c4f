"""Statistics as a file has them -> Facts: what is trusted, and what is not known."""

from __future__ import annotations

import math
import struct
from typing import Any

import pytest

from hardwood_jit.metadata.statistics import Statistics
from hardwood_jit.plan.bound import float_key
from hardwood_jit.plan.statistics import TOTAL_ORDER, TYPE_ORDER, UNKNOWN_ORDER, Facts, writes_wrong_bounds
from tests.support.proofs import NAMES, SLOTS, bounds, leaf_of, reader_of, stored

NAN = math.nan
SIGNED = ("i32", "i64", "i8", "date", "time", "ms", "ns", "local", "d32", "d64")
ORDERED = tuple(name for name in NAMES if name not in ("int96", "interval", "geometry", "unknown"))


def facts(
    name: str, statistics: Statistics | None, order: str | None = TYPE_ORDER, created_by: str | None = None
) -> Facts:
    return reader_of(name, order, created_by).of_statistics(statistics, SLOTS)


def span(found: Facts) -> tuple[Any, Any]:
    return found.low, found.high


def pair_of(name: str) -> tuple[bytes, bytes]:
    """Two different values of a column's width, the first one lower in every order that we know."""
    leaf = leaf_of(name)
    if name == "flag":
        return b"\0", b"\1"
    if name in ("float", "double", "half"):
        return stored(name, 1.0), stored(name, 2.0)
    if leaf.type_length is not None:
        return bytes([0] * (leaf.type_length - 1) + [1]), bytes([0] * (leaf.type_length - 1) + [2])
    if name in ("text", "name", "bytes", "geometry", "dbytes"):
        return b"\1", b"\2"
    if name == "int96":
        return bytes(8) + b"\1\0\0\0", bytes(8) + b"\2\0\0\0"
    return stored(name, 1), stored(name, 2)


# Trust


@pytest.mark.parametrize("name", ORDERED)
def test_bounds_of_every_type_with_an_order_become_keys(name: str) -> None:
    low, high = pair_of(name)
    found = facts(name, Statistics(min_value=low, max_value=high))
    assert found.low is not None and found.high is not None and found.low < found.high


@pytest.mark.parametrize("name", ["int96", "interval", "geometry", "unknown"])
@pytest.mark.parametrize("order", [TYPE_ORDER, TOTAL_ORDER, None])
def test_bounds_of_int96_of_types_without_order_and_of_unknown_annotations_are_ignored(
    name: str, order: str | None
) -> None:
    low, high = pair_of(name)
    found = facts(name, Statistics(low, high, low, high, null_count=3), order)
    assert span(found) == (None, None)
    assert found.null_count == 3  # which needs no order


@pytest.mark.parametrize("name", NAMES)
def test_bounds_under_an_order_that_we_do_not_know_are_ignored(name: str) -> None:
    low, high = pair_of(name)
    assert span(facts(name, Statistics(low, high, low, high), UNKNOWN_ORDER)) == (None, None)


@pytest.mark.parametrize("name", [name for name in NAMES if name != "unknown"])
def test_bounds_without_any_order_count_for_signed_integers_only(name: str) -> None:
    low, high = pair_of(name)
    is_signed = name in (*SIGNED, "other", "required", "list", "struct.x")
    assert (span(facts(name, Statistics(low, high), None)) != (None, None)) == is_signed


@pytest.mark.parametrize("name", NAMES)
def test_total_order_is_an_order_of_floats_only(name: str) -> None:
    low, high = pair_of(name)
    found = span(facts(name, Statistics(low, high), TOTAL_ORDER))
    assert (found != (None, None)) == (name in ("float", "double", "half"))


@pytest.mark.parametrize("name", [name for name in NAMES if name != "unknown"])
@pytest.mark.parametrize("order", [TYPE_ORDER, None])
def test_deprecated_bounds_count_for_signed_integers_only(name: str, order: str | None) -> None:
    low, high = pair_of(name)
    is_signed = name in (*SIGNED, "other", "required", "list", "struct.x")
    found = span(facts(name, Statistics(deprecated_min=low, deprecated_max=high), order))
    assert (found != (None, None)) == is_signed


def test_deprecated_bounds_do_not_count_beside_the_new_ones() -> None:
    found = facts("i64", bounds("i64", 5, 9, deprecated_min=stored("i64", 6), deprecated_max=stored("i64", 7)))
    assert span(found) == (5, 9)
    only_high = Statistics(max_value=stored("i64", 9), deprecated_min=stored("i64", 6))
    assert span(facts("i64", only_high)) == (None, 9)


@pytest.mark.parametrize(
    ("created_by", "is_wrong"),
    [
        ("parquet-mr version 1.7.0 (build abc)", True),
        ("parquet-mr version 1.5.0-SNAPSHOT", True),
        ("parquet-mr version 0.9.1", True),
        ("parquet-mr version 1.8.0 (build abc)", False),
        ("parquet-mr version 1.10.1", False),
        ("parquet-mr version 2.0", False),
        ("parquet-mr", False),
        ("parquet-cpp version 1.3.0", False),
        ("impala version 1.0", False),
        ("", False),
        (None, False),
    ],
)
def test_parquet_mr_before_1_8_is_known_to_write_wrong_bounds_of_byte_arrays(
    created_by: str | None, is_wrong: bool
) -> None:
    assert writes_wrong_bounds(created_by) is is_wrong
    for name in ("text", "bytes", "fixed", "uuid", "dbytes", "dfixed"):
        low, high = pair_of(name)
        assert (span(facts(name, Statistics(low, high), created_by=created_by)) == (None, None)) is is_wrong, name
    for name in ("i64", "double", "date", "d64"):
        low, high = pair_of(name)
        assert span(facts(name, Statistics(low, high), created_by=created_by)) != (None, None), name


# Numbers of bytes


@pytest.mark.parametrize("name", [name for name in ORDERED if name not in ("text", "name", "bytes", "dbytes")])
def test_bounds_that_are_too_long_are_ignored(name: str) -> None:
    low, high = pair_of(name)
    assert span(facts(name, Statistics(low + b"\0", high + b"\0"))) == (None, None)


@pytest.mark.parametrize("name", [name for name in ORDERED if leaf_of(name).physical_type != 6])
def test_bounds_that_are_too_short_are_ignored_unless_bytes_were_cut(name: str) -> None:
    low, high = pair_of(name)
    found = span(facts(name, Statistics(low[:-1], high[:-1])))
    assert found == ((low[:-1], high[:-1]) if name in ("fixed", "uuid") else (None, None))


def test_bounds_of_booleans_are_zero_or_one() -> None:
    assert span(facts("flag", Statistics(b"\0", b"\1"))) == (0, 1)
    assert span(facts("flag", Statistics(b"\2", b"\3"))) == (None, None)


def test_decimal_in_bytes_has_no_bound_of_no_bytes() -> None:
    assert span(facts("dbytes", Statistics(b"", b"\5"))) == (None, 5)


def test_bounds_above_each_other_are_ignored_in_the_order_of_the_column() -> None:
    assert span(facts("i64", bounds("i64", 9, 5))) == (None, None)
    assert span(facts("u32", bounds("u32", 2**31, 5))) == (None, None)
    assert span(facts("u32", bounds("u32", 5, 2**31))) == (5, 2**31)
    assert span(facts("i32", Statistics(stored("i32", 5), stored("i32", -(2**31))))) == (None, None)
    assert span(facts("text", bounds("text", "b", "a"))) == (None, None)
    assert span(facts("text", bounds("text", "z", "é"))) == (b"z", "é".encode())  # unsigned bytes
    assert span(facts("dbytes", bounds("dbytes", b"\xff", b"\x01"))) == (-1, 1)
    assert span(facts("double", bounds("double", 2.0, -1.0))) == (None, None)


def test_one_bound_alone_is_used() -> None:
    assert span(facts("i64", bounds("i64", 5, None))) == (5, None)
    assert span(facts("i64", bounds("i64", None, 9))) == (None, 9)
    assert not facts("i64", bounds("i64", 5, None)).is_exact


def test_padded_decimals_are_the_same_number() -> None:
    assert span(facts("dbytes", Statistics(b"\xff\xff\xfe", b"\0\0\5"))) == (-2, 5)
    assert span(facts("dfixed", bounds("dfixed", -2, 5))) == (-2, 5)
    assert span(facts("d32", bounds("d32", -2, 5))) == (-2, 5)
    assert span(facts("d64", bounds("d64", -2, 5))) == (-2, 5)


def test_decimals_that_were_cut_are_no_bounds() -> None:
    assert span(facts("dbytes", bounds("dbytes", b"\1", b"\5", is_min_exact=False))) == (None, None)
    assert span(facts("dfixed", bounds("dfixed", 1, 5, is_max_exact=False))) == (None, None)


# Nulls


def test_absent_null_count_is_not_known_and_not_zero() -> None:
    assert facts("i64", None).null_count is None
    assert facts("i64", Statistics()).null_count is None
    assert facts("i64", Statistics(null_count=0)).null_count == 0


def test_leaf_that_cannot_be_null_has_no_nulls_whatever_statistics_say() -> None:
    assert facts("required", None).null_count == 0
    assert facts("required", Statistics(null_count=7)).null_count == 0


@pytest.mark.parametrize("count", [-1, SLOTS + 1])
def test_null_count_that_cannot_be_is_not_known(count: int) -> None:
    assert facts("i64", Statistics(null_count=count)).null_count is None


def test_slots_that_are_not_known_are_not_all_null() -> None:
    assert not reader_of("i64").of_page(b"", b"", None, None, None).is_all_null
    assert reader_of("i64").of_page(b"", b"", 5, 5, None).is_all_null
    assert not reader_of("i64").of_page(b"", b"", 5, 4, None).is_all_null


# Exactness


@pytest.mark.parametrize(
    ("flags", "fixed_width", "bytes_"),
    [
        ((None, None), True, False),
        ((True, True), True, True),
        ((True, None), True, False),
        ((None, True), True, False),
        ((False, True), False, False),
        ((True, False), False, False),
    ],
)
def test_absent_flag_means_exact_for_fixed_width_and_not_for_bytes(
    flags: tuple[bool | None, bool | None], fixed_width: bool, bytes_: bool
) -> None:
    rest = {"is_min_exact": flags[0], "is_max_exact": flags[1]}
    for name, expected in (("i32", fixed_width), ("d64", fixed_width), ("float", fixed_width), ("flag", fixed_width)):
        low, high = pair_of(name)
        assert facts(name, Statistics(low, high, **rest)).is_exact is expected, name
    for name in ("text", "bytes", "fixed", "uuid"):
        low, high = pair_of(name)
        assert facts(name, Statistics(low, high, **rest)).is_exact is bytes_, name


def test_bounds_of_a_page_have_no_flags() -> None:
    assert reader_of("i64").of_page(stored("i64", 1), stored("i64", 1), 9, 0, None).is_exact
    assert not reader_of("text").of_page(b"a", b"a", 9, 0, None).is_exact


# Floats


@pytest.mark.parametrize(("name", "bits"), [("half", 16), ("float", 32), ("double", 64)])
def test_bounds_of_floats_are_ranks(name: str, bits: int) -> None:
    found = facts(name, bounds(name, -1.5, math.inf, nan_count=0))
    assert span(found) == (float_key(-1.5, bits), float_key(math.inf, bits))
    assert found.nan_key is None


@pytest.mark.parametrize(("name", "bits"), [("half", 16), ("float", 32), ("double", 64)])
def test_nan_is_possible_unless_a_count_of_zero_is_recorded(name: str, bits: int) -> None:
    for statistics in (None, Statistics(), bounds(name, 1.0, 2.0), bounds(name, 1.0, 2.0, nan_count=3)):
        assert facts(name, statistics).nan_key == float_key(NAN, bits)
    assert facts(name, Statistics(nan_count=0)).nan_key is None
    assert facts("i64", None).nan_key is None


@pytest.mark.parametrize("low", [0.0, -0.0])
@pytest.mark.parametrize("high", [0.0, -0.0])
@pytest.mark.parametrize("name", ["half", "float", "double"])
def test_zeros_widen_to_the_side_that_they_bound(name: str, low: float, high: float) -> None:
    assert span(facts(name, bounds(name, low, high))) == (-1, 0)  # the ranks of -0.0 and +0.0


@pytest.mark.parametrize("name", ["half", "float", "double"])
@pytest.mark.parametrize("pair", [(NAN, NAN), (1.0, NAN), (NAN, 1.0)])
def test_nan_is_no_bound(name: str, pair: tuple[float, float]) -> None:
    found = facts(name, bounds(name, *pair))
    assert span(found) == (None, None) and not found.is_all_nan and found.nan_key is not None


def test_nan_bounds_under_total_order_mean_that_all_values_are_nan() -> None:
    assert facts("double", bounds("double", NAN, NAN), TOTAL_ORDER).is_all_nan
    negative = struct.pack("<Q", 0xFFF8_0000_0000_0001)
    assert facts("double", bounds("double", negative, negative), TOTAL_ORDER).is_all_nan
    assert not facts("double", bounds("double", 1.0, NAN), TOTAL_ORDER).is_all_nan
    contradiction = facts("double", bounds("double", NAN, NAN, nan_count=0), TOTAL_ORDER)
    assert not contradiction.is_all_nan and span(contradiction) == (None, None)


# .raw and bytes


@pytest.mark.parametrize("name", [*SIGNED, "other", "required"])
def test_stored_numbers_have_the_order_of_signed_logical_ones(name: str) -> None:
    low, high = pair_of(name)
    assert span(reader_of(name, raw=True).of_statistics(Statistics(low, high), SLOTS)) == (1, 2)


@pytest.mark.parametrize("name", ["u32", "u64", "half", "dfixed", "dbytes", "int96", "interval", "geometry", "unknown"])
def test_stored_values_in_another_order_than_logical_ones_have_no_bounds(name: str) -> None:
    low, high = pair_of(name)
    found = reader_of(name, raw=True).of_statistics(Statistics(low, high, null_count=1), SLOTS)
    assert span(found) == (None, None) and found.null_count == 1
