"""Verdicts and proofs over metadata made by hand: each line of the table of proofs, and what combines them.

NEVER, MAYBE and ALWAYS are asserted as such: a verdict that is too careful costs reads, one that is too bold costs
rows. No file is opened.
"""

from __future__ import annotations

import datetime as dt
import math
import os
import uuid
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hardwood_jit import col
from hardwood_jit.metadata.page_index import ColumnIndex, OffsetIndex
from hardwood_jit.metadata.schema import Leaf
from hardwood_jit.metadata.statistics import Statistics
from hardwood_jit.plan.bound import BoundPredicate, Domain, Fixed, Intervals, Node, PairTest, ValueTest
from hardwood_jit.plan.prune import (
    ALWAYS,
    BLOOM,
    DICTIONARY,
    FEW_GROUPS,
    MAYBE,
    NEVER,
    PAGE_INDEX,
    GroupProof,
    PageFacts,
    Proof,
    Prover,
    Verdict,
    facts_of_index,
    page_proof,
    pair_page_proof,
    pair_verdict,
    value_verdict,
    why_never,
)
from hardwood_jit.plan.row_ranges import RowRanges
from hardwood_jit.plan.statistics import TOTAL_ORDER, TYPE_ORDER, BoundsReader, Facts
from tests.support.proofs import SLOTS, bounds, chunks_of, exact, leaf_of, prover_of, reader_of, stored, verdict

NAN = math.nan
QUICK = settings(deadline=None, derandomize=os.environ.get("CI") == "true")
TEN_TO_TWENTY = bounds("i64", 10, 20)


def each(statistics: Statistics, name: str = "i64", **rest: Any) -> Any:
    """predicate -> verdict for one column's statistics."""
    return lambda predicate: verdict(predicate, **{name: statistics}, **rest)


# The table, line by line


def test_equal_is_never_outside_the_bounds_and_always_where_both_are_the_value() -> None:
    of = each(TEN_TO_TWENTY)
    assert of("i64 = 9") is NEVER and of("i64 = 21") is NEVER
    assert of("i64 = 10") is MAYBE and of("i64 = 15") is MAYBE and of("i64 = 20") is MAYBE
    assert each(exact("i64", 7))("i64 = 7") is ALWAYS


def test_not_equal_is_never_where_both_bounds_are_the_value_and_always_outside() -> None:
    of = each(TEN_TO_TWENTY)
    assert of("i64 != 9") is ALWAYS and of("i64 != 21") is ALWAYS
    assert of("i64 != 10") is MAYBE and of("i64 != 15") is MAYBE and of("i64 != 20") is MAYBE
    assert each(exact("i64", 7))("i64 != 7") is NEVER


def test_less_is_never_from_min_down_and_always_above_max() -> None:
    of = each(TEN_TO_TWENTY)
    assert [of(f"i64 < {value}") for value in (9, 10, 11, 20, 21)] == [NEVER, NEVER, MAYBE, MAYBE, ALWAYS]


def test_less_or_equal_is_never_below_min_and_always_from_max_up() -> None:
    of = each(TEN_TO_TWENTY)
    assert [of(f"i64 <= {value}") for value in (9, 10, 19, 20, 21)] == [NEVER, MAYBE, MAYBE, ALWAYS, ALWAYS]


def test_greater_is_never_from_max_up_and_always_below_min() -> None:
    of = each(TEN_TO_TWENTY)
    assert [of(f"i64 > {value}") for value in (9, 10, 19, 20, 21)] == [ALWAYS, MAYBE, MAYBE, NEVER, NEVER]


def test_greater_or_equal_is_never_above_max_and_always_up_to_min() -> None:
    of = each(TEN_TO_TWENTY)
    assert [of(f"i64 >= {value}") for value in (9, 10, 11, 20, 21)] == [ALWAYS, ALWAYS, MAYBE, MAYBE, NEVER]


def test_is_in_is_never_without_a_literal_within_the_bounds_and_always_where_they_are_one() -> None:
    of = each(TEN_TO_TWENTY)
    assert of("i64 in (1, 9, 21, 400)") is NEVER
    assert of("i64 in (1, 12, 400)") is MAYBE and of("i64 in (10)") is MAYBE and of("i64 in (20, 30)") is MAYBE
    assert each(exact("i64", 7))("i64 in (1, 7, 9)") is ALWAYS
    assert each(exact("i64", 8))("i64 in (1, 7, 9)") is NEVER
    assert of(col("i64").is_in([])) is NEVER
    assert of(col("i64").is_in(range(1_000, 100_000, 3))) is NEVER  # a search, not a walk


def test_not_in_is_never_where_the_bounds_are_a_literal_and_always_without_one_within() -> None:
    of = each(TEN_TO_TWENTY)
    assert of("i64 not in (1, 9, 21, 400)") is ALWAYS
    assert of("i64 not in (1, 12, 400)") is MAYBE
    assert each(exact("i64", 7))("i64 not in (1, 7, 9)") is NEVER
    assert each(exact("i64", 8))("i64 not in (1, 7, 9)") is ALWAYS
    assert of(~col("i64").is_in([])) is ALWAYS


def test_is_null_is_never_without_nulls_and_always_with_nothing_else() -> None:
    counts = (None, 0, 1, SLOTS - 1, SLOTS)
    found = [verdict("i64 is null", i64=Statistics(null_count=count)) for count in counts]
    assert found == [MAYBE, NEVER, MAYBE, MAYBE, ALWAYS]


def test_is_not_null_is_never_with_nulls_only_and_always_without() -> None:
    counts = (None, 0, 1, SLOTS - 1, SLOTS)
    found = [verdict("i64 is not null", i64=Statistics(null_count=count)) for count in counts]
    assert found == [MAYBE, ALWAYS, MAYBE, MAYBE, NEVER]


def test_starts_with_is_never_outside_the_prefix_and_always_within() -> None:
    of = each(bounds("text", "ba", "bz"), "text")
    assert of(col("text").starts_with("a")) is NEVER  # min >= next("a") = "b"
    assert of(col("text").starts_with("c")) is NEVER  # max < "c"
    assert of(col("text").starts_with("b")) is ALWAYS
    assert of(col("text").starts_with("bb")) is MAYBE
    assert of(col("text").starts_with("baa")) is MAYBE
    assert of(col("text").starts_with("bza")) is NEVER
    assert of(col("text").starts_with("")) is ALWAYS


def test_next_of_a_prefix_is_its_last_byte_below_ff_plus_one_or_none() -> None:
    of = each(bounds("bytes", b"b\xff\xff", b"c"), "bytes")
    assert of(col("bytes").starts_with(b"b\xff")) is MAYBE  # next is "c", and max is not below it
    assert each(bounds("bytes", b"c", b"d"), "bytes")(col("bytes").starts_with(b"b\xff")) is NEVER
    high = each(bounds("bytes", b"\xff\xff\x01", b"\xff\xff\xff"), "bytes")
    assert high(col("bytes").starts_with(b"\xff\xff")) is ALWAYS
    assert high(col("bytes").starts_with(b"\xff\xff\xff")) is MAYBE


PAIRS = [  # bounds of i64, bounds of other, then the verdicts of = != < <= > >=
    ((1, 3), (5, 9), (NEVER, ALWAYS, ALWAYS, ALWAYS, NEVER, NEVER)),
    ((5, 9), (1, 3), (NEVER, ALWAYS, NEVER, NEVER, ALWAYS, ALWAYS)),
    ((1, 5), (5, 9), (MAYBE, MAYBE, MAYBE, ALWAYS, NEVER, MAYBE)),
    ((5, 9), (1, 5), (MAYBE, MAYBE, NEVER, MAYBE, MAYBE, ALWAYS)),
    ((1, 6), (5, 9), (MAYBE,) * 6),
    ((4, 4), (4, 4), (MAYBE, MAYBE, NEVER, ALWAYS, NEVER, ALWAYS)),
    ((None, 3), (5, None), (NEVER, ALWAYS, ALWAYS, ALWAYS, NEVER, NEVER)),
    ((1, None), (None, 9), (MAYBE,) * 6),
]


@pytest.mark.parametrize(("left", "right", "expected"), PAIRS)
def test_two_columns_compare_by_their_ranges(
    left: tuple[Any, Any], right: tuple[Any, Any], expected: Sequence[Verdict]
) -> None:
    statistics = {"i64": bounds("i64", *left), "other": bounds("other", *right)}
    for op, wanted in zip(("=", "!=", "<", "<=", ">", ">="), expected, strict=True):
        assert verdict(f"i64 {op} other", **statistics) is wanted, op
        careful = MAYBE if wanted is ALWAYS else wanted  # both null counts must be known to be 0
        for changed in ("i64", "other"):
            for count in (None, 1):
                pair = left if changed == "i64" else right
                with_nulls = {**statistics, changed: bounds(changed, *pair, null_count=count)}
                assert verdict(f"i64 {op} other", **with_nulls) is careful, op


def test_any_value_operator_is_never_where_all_slots_are_null() -> None:
    for text in ("= 1", "!= 1", "< 1", "<= 1", "> 1", ">= 1", "in (1, 2)", "not in (1, 2)", "between 1 and 2"):
        assert verdict(f"i64 {text}", i64=Statistics(null_count=SLOTS)) is NEVER, text
        assert verdict(f"i64 {text}", i64=Statistics(null_count=SLOTS - 1)) is MAYBE, text
    assert verdict("i64 = other", i64=Statistics(null_count=SLOTS)) is NEVER
    assert verdict("other != i64", i64=Statistics(null_count=SLOTS)) is NEVER
    assert verdict(col("text").starts_with("a"), text=Statistics(null_count=SLOTS)) is NEVER
    assert verdict(col("list").any() == 1, list=Statistics(null_count=SLOTS)) is NEVER


# Nulls


def test_always_needs_a_null_count_that_is_known_to_be_zero() -> None:
    for count, wanted in ((None, MAYBE), (1, MAYBE), (0, ALWAYS)):
        of = each(bounds("i64", 10, 20, count))
        assert [of(text) for text in ("i64 > 5", "i64 != 5", "i64 not in (5)", "i64 < 50")] == [wanted] * 4
        assert of("i64 > 50") is NEVER


def test_required_leaf_has_no_nulls_by_its_schema() -> None:
    assert verdict("required > 5", required=bounds("required", 10, 20, None)) is ALWAYS
    assert verdict("required is not null") is ALWAYS and verdict("required is null") is NEVER


def test_null_tests_joined_with_values_are_one_test() -> None:
    assert verdict("i64 is null or i64 > 5", i64=bounds("i64", 10, 20, 3)) is ALWAYS
    assert verdict("i64 is null or i64 > 50", i64=bounds("i64", 10, 20, 3)) is MAYBE
    assert verdict("i64 is null or i64 > 50", i64=bounds("i64", 10, 20, 0)) is NEVER
    assert verdict("i64 is null or i64 > 50", i64=bounds("i64", 10, 20, None)) is MAYBE
    assert verdict("i64 is not null and i64 > 5", i64=bounds("i64", 10, 20, 0)) is ALWAYS
    assert verdict("not i64 > 50", i64=bounds("i64", 10, 20, 3)) is MAYBE


def test_nothing_is_proved_without_statistics() -> None:
    for text in ("i64 = 1", "i64 is null", "i64 != 1", "i64 = other", "double > 1.0", "text = 'a'"):
        assert verdict(text) is MAYBE


def test_row_group_without_slots_holds_nothing() -> None:
    assert verdict("i64 = 1", slots=0, i64=Statistics(null_count=0)) is NEVER


# Floats

FLOATS = ("float", "double", "half")


@pytest.mark.parametrize("name", FLOATS)
def test_verdicts_of_floats_without_nan_are_those_of_the_table(name: str) -> None:
    of = each(bounds(name, 1.0, 2.0, nan_count=0), name)
    cases = {
        "= 0.5": NEVER, "= 1.0": MAYBE, "= 2.5": NEVER, "!= 2.5": ALWAYS, "!= 1.5": MAYBE,
        "< 1.0": NEVER, "< 1.5": MAYBE, "< 2.5": ALWAYS, "<= 0.5": NEVER, "<= 1.0": MAYBE, "<= 2.0": ALWAYS,
        "> 2.0": NEVER, "> 1.5": MAYBE, "> 0.5": ALWAYS, ">= 2.5": NEVER, ">= 2.0": MAYBE, ">= 1.0": ALWAYS,
        "in (0.5, 2.5)": NEVER, "in (0.5, 1.5)": MAYBE, "not in (0.5, 2.5)": ALWAYS,
    }  # fmt: skip
    for text, wanted in cases.items():
        assert of(f"{name} {text}") is wanted, text
    assert each(exact(name, 1.5, nan_count=0), name)(f"{name} = 1.5") is ALWAYS
    assert each(exact(name, 1.5, nan_count=0), name)(f"{name} != 1.5") is NEVER


@pytest.mark.parametrize("name", FLOATS)
@pytest.mark.parametrize("count", [None, 1])
def test_operator_that_nan_satisfies_is_not_never_and_one_that_it_does_not_is_not_always(
    name: str, count: int | None
) -> None:
    of = each(bounds(name, 1.0, 2.0, nan_count=count), name)
    cases = {
        "= 2.5": NEVER, "= 1.5": MAYBE, "!= 2.5": ALWAYS, "!= 1.5": MAYBE,
        "< 1.0": NEVER, "< 2.5": MAYBE, "<= 0.5": NEVER, "<= 2.0": MAYBE,
        "> 2.0": MAYBE, "> 0.5": ALWAYS, ">= 2.5": MAYBE, ">= 1.0": ALWAYS,
        "in (0.5, 2.5)": NEVER, "not in (0.5, 2.5)": ALWAYS,
    }  # fmt: skip
    for text, wanted in cases.items():
        assert of(f"{name} {text}") is wanted, text
    same = each(exact(name, 1.5, nan_count=count), name)
    assert same(f"{name} = 1.5") is MAYBE and same(f"{name} != 1.5") is MAYBE
    assert same(f"{name} in (1.5, 3.5)") is MAYBE and same(f"{name} not in (1.5, 3.5)") is MAYBE


@pytest.mark.parametrize("name", FLOATS)
def test_nan_as_a_literal_is_above_all_numbers(name: str) -> None:
    none = each(bounds(name, 1.0, 2.0, nan_count=0), name)
    some = each(bounds(name, 1.0, 2.0, nan_count=5), name)
    column = col(name)
    assert none(column == NAN) is NEVER and some(column == NAN) is MAYBE
    assert none(column != NAN) is ALWAYS and some(column != NAN) is MAYBE
    assert none(column < NAN) is ALWAYS and some(column < NAN) is MAYBE
    assert none(column <= NAN) is ALWAYS and some(column <= NAN) is ALWAYS
    assert none(column > NAN) is NEVER and some(column > NAN) is NEVER
    assert none(column >= NAN) is NEVER and some(column >= NAN) is MAYBE
    assert none(column.is_in([0.5, NAN])) is NEVER and some(column.is_in([0.5, NAN])) is MAYBE


def test_nan_bound_proves_nothing() -> None:
    for pair in ((NAN, NAN), (1.0, NAN), (NAN, 2.0)):
        for count in (None, 0, 3):
            of = each(bounds("double", *pair, nan_count=count), "double")
            assert [of(text) for text in ("double = 9.0", "double < 0.5", "double != 9.0")] == [MAYBE] * 3


def test_nan_bounds_under_total_order_prove_as_for_a_column_of_nan() -> None:
    of = each(bounds("double", NAN, NAN, nan_count=SLOTS), "double", order=TOTAL_ORDER)
    column = col("double")
    assert of(column == NAN) is ALWAYS and of(column > 1.0) is ALWAYS and of(column != 1.0) is ALWAYS
    assert of(column < 1e300) is NEVER and of(column == 1.0) is NEVER and of(column.is_in([1.0, 2.0])) is NEVER
    with_nulls = each(bounds("double", NAN, NAN, 1), "double", order=TOTAL_ORDER)
    assert with_nulls(column > 1.0) is MAYBE and with_nulls(column < 1.0) is NEVER


@pytest.mark.parametrize("zero", [0.0, -0.0])
@pytest.mark.parametrize("name", FLOATS)
def test_zero_as_a_bound_stands_for_both_zeros(name: str, zero: float) -> None:
    low = each(bounds(name, zero, 5.0, nan_count=0), name)
    assert low(f"{name} = -0.0") is MAYBE and low(f"{name} = 0.0") is MAYBE
    assert low(f"{name} < 0.0") is MAYBE and low(f"{name} < -0.0") is NEVER
    assert low(f"{name} >= 0.0") is MAYBE and low(f"{name} >= -0.0") is ALWAYS
    high = each(bounds(name, -5.0, zero, nan_count=0), name)
    assert high(f"{name} = 0.0") is MAYBE and high(f"{name} > -0.0") is MAYBE
    assert high(f"{name} > 0.0") is NEVER and high(f"{name} <= 0.0") is ALWAYS and high(f"{name} <= -0.0") is MAYBE
    both = each(exact(name, zero, nan_count=0), name)
    assert both(f"{name} = 0.0") is MAYBE and both(f"{name} != -0.0") is MAYBE


def test_infinite_bounds_are_bounds() -> None:
    of = each(bounds("double", 1.0, math.inf, nan_count=0), "double")
    assert of(col("double") > math.inf) is NEVER and of(col("double") <= math.inf) is ALWAYS
    assert of(col("double") == math.inf) is MAYBE


# Truncation


def test_bounds_that_were_cut_prune_and_never_prove_equality() -> None:
    cut = bounds("text", "abc", "abd", is_min_exact=False, is_max_exact=False)
    of = each(cut, "text")
    assert of("text = 'abb'") is NEVER and of("text = 'abe'") is NEVER and of("text > 'abd'") is NEVER
    assert of("text = 'abcx'") is MAYBE and of("text = 'abc'") is MAYBE and of("text < 'abe'") is ALWAYS
    for flags in ({"is_min_exact": False, "is_max_exact": True}, {"is_min_exact": True, "is_max_exact": False}, {}):
        same = each(bounds("text", "abc", "abc", **flags), "text")
        assert same("text = 'abc'") is MAYBE and same("text != 'abc'") is MAYBE
        assert same("text in ('abc', 'x')") is MAYBE and same("text not in ('abc', 'x')") is MAYBE
        assert same("text = 'abb'") is NEVER and same("text = 'b'") is NEVER
    assert each(exact("text", "abc"), "text")("text = 'abc'") is ALWAYS
    assert each(exact("text", "abc"), "text")("text != 'abc'") is NEVER


def test_absent_exactness_is_exact_for_numbers_and_not_for_fixed_bytes() -> None:
    assert verdict("i64 = 7", i64=bounds("i64", 7, 7)) is ALWAYS
    assert verdict("i64 = 7", i64=bounds("i64", 7, 7, is_max_exact=False)) is MAYBE
    assert verdict(col("fixed") == b"abcd", fixed=bounds("fixed", b"abcd", b"abcd")) is MAYBE
    assert verdict(col("fixed") == b"abcd", fixed=exact("fixed", b"abcd")) is ALWAYS
    assert verdict(col("fixed") == b"abce", fixed=bounds("fixed", b"ab", b"abd", is_max_exact=False)) is MAYBE
    assert verdict(col("fixed") == b"abe\0", fixed=bounds("fixed", b"ab", b"abd", is_max_exact=False)) is NEVER


# Every type


def test_unsigned_integers_compare_unsigned() -> None:
    of = each(bounds("u32", 5, 2**31 + 5), "u32")
    assert of("u32 = 2147483653") is MAYBE and of("u32 = 2147483654") is NEVER and of("u32 = 4") is NEVER
    assert of("u32 > 4") is ALWAYS
    wide = each(bounds("u64", 2**63, 2**64 - 1), "u64")
    assert wide("u64 < 9223372036854775808") is NEVER and wide("u64 >= 9223372036854775808") is ALWAYS
    assert wide("u64 = 18446744073709551615") is MAYBE


def test_unsigned_bounds_in_signed_order_are_ignored() -> None:
    assert verdict("u32 = 1", u32=bounds("u32", 2**31, 5)) is MAYBE  # -2147483648 .. 5, as old writers ordered


@pytest.mark.parametrize(("name", "scale"), [("d32", 2), ("d64", 4), ("dfixed", 2), ("dbytes", 3)])
def test_decimals_compare_as_numbers_on_all_four_carriers(name: str, scale: int) -> None:
    one = 10**scale
    of = each(bounds(name, -one, 2 * one), name)
    column = col(name)
    assert of(column == Decimal("-1")) is MAYBE and of(column < -1) is NEVER and of(column >= -1) is ALWAYS
    assert of(column > 2) is NEVER and of(column == Decimal("2.01")) is NEVER and of(column < 1.5) is MAYBE
    assert each(exact(name, one), name)(column == 1) is ALWAYS
    assert each(exact(name, one), name)(column != 1) is NEVER


def test_uuids_compare_as_sixteen_unsigned_bytes() -> None:
    low, high = uuid.UUID(int=5), uuid.UUID(int=2**127 + 5)
    of = each(bounds("uuid", low.bytes, high.bytes), "uuid")
    assert of(col("uuid") == uuid.UUID(int=4)) is NEVER and of(col("uuid") == uuid.UUID(int=2**127)) is MAYBE
    assert of(col("uuid") > high) is NEVER and of(col("uuid") <= high) is ALWAYS
    assert of(col("uuid") == uuid.UUID(int=4).bytes) is NEVER


def test_halves_compare_as_floats_and_not_as_bytes() -> None:
    of = each(bounds("half", -2.0, 1.0, nan_count=0), "half")
    assert of("half < -2.0") is NEVER and of("half > 1.0") is NEVER and of("half = -1.5") is MAYBE
    assert of("half >= -2.0") is ALWAYS


def test_dates_times_and_timestamps_compare_as_counts_of_their_unit() -> None:
    day = dt.date(2024, 5, 1)
    days = (day - dt.date(1970, 1, 1)).days
    of = each(bounds("date", days, days + 30), "date")
    assert of(col("date") < day) is NEVER and of(col("date") >= day) is ALWAYS
    assert of(col("date") == dt.date(2024, 5, 9)) is MAYBE
    noon = 12 * 3600 * 10**6
    of = each(bounds("time", noon, noon + 9), "time")
    assert of(col("time") < dt.time(12)) is NEVER and of(col("time") == dt.time(12)) is MAYBE
    moment = dt.datetime(2024, 5, 1, tzinfo=dt.UTC)
    for name, unit in (("ms", 10**3), ("ns", 10**9)):
        first = int(moment.timestamp()) * unit
        of = each(bounds(name, first, first + 10 * unit), name)
        assert of(col(name) < moment) is NEVER and of(col(name) > moment + dt.timedelta(seconds=10)) is NEVER
        assert of(col(name) >= moment) is ALWAYS and of(col(name) == moment) is MAYBE
    naive = dt.datetime(2024, 5, 1)
    first = int(moment.timestamp()) * 10**6
    assert verdict(col("local") < naive, local=bounds("local", first, first + 9)) is NEVER


def test_booleans_compare_false_before_true() -> None:
    column = col("flag")
    no, yes = exact("flag", False), exact("flag", True)
    assert verdict(column == True, flag=no) is NEVER and verdict(column == True, flag=yes) is ALWAYS  # noqa: E712
    assert verdict(column != True, flag=yes) is NEVER and verdict(column < True, flag=no) is ALWAYS  # noqa: E712
    both = bounds("flag", False, True)
    assert verdict(column == True, flag=both) is MAYBE and verdict(column <= True, flag=both) is ALWAYS  # noqa: E712


def test_int96_never_has_bounds() -> None:
    moment = dt.datetime(2024, 5, 1, tzinfo=dt.UTC)
    of = each(bounds("int96", bytes(12), bytes(12)), "int96")
    assert of(col("int96") == moment) is MAYBE and of(col("int96") > moment) is MAYBE
    assert of(col("int96").is_not_null()) is ALWAYS
    assert verdict(col("int96") == moment, int96=Statistics(null_count=SLOTS)) is NEVER


def test_interval_and_geometry_have_no_order_and_so_no_bounds() -> None:
    assert verdict(col("interval") == bytes(12), interval=exact("interval", b"\1" * 12)) is MAYBE
    assert verdict(col("geometry") == b"x", geometry=exact("geometry", b"y")) is MAYBE


def test_unknown_annotation_takes_the_meaning_from_bounds() -> None:
    assert verdict("unknown = 1", unknown=bounds("unknown", 5, 9)) is MAYBE
    assert verdict("unknown is null", unknown=bounds("unknown", 5, 9)) is NEVER


def test_bounds_of_the_wrong_writer_order_or_field_prove_nothing() -> None:
    of_text = {"text": bounds("text", "b", "c")}
    assert verdict("text = 'a'", **of_text) is NEVER
    assert verdict("text = 'a'", created_by="parquet-mr version 1.7.0", **of_text) is MAYBE
    assert verdict("text = 'a'", order=None, **of_text) is MAYBE
    assert verdict("text = 'a'", order="UNKNOWN", **of_text) is MAYBE
    old = Statistics(deprecated_min=b"b", deprecated_max=b"c", null_count=0)
    assert verdict("text = 'a'", text=old) is MAYBE
    numbers = Statistics(deprecated_min=stored("i64", 5), deprecated_max=stored("i64", 9), null_count=0)
    assert verdict("i64 = 1", i64=numbers) is NEVER and verdict("i64 = 1", order=None, i64=numbers) is NEVER
    assert verdict("i64 > 1", i64=numbers) is ALWAYS
    assert verdict("u64 = 1", u64=numbers) is MAYBE


def test_bounds_above_each_other_or_of_a_wrong_width_prove_nothing() -> None:
    assert verdict("i64 = 1", i64=bounds("i64", 20, 10)) is MAYBE
    assert verdict("i64 = 1", i64=Statistics(b"\5", b"\x09", null_count=0)) is MAYBE
    assert verdict("i64 is null", i64=bounds("i64", 20, 10)) is NEVER  # counts stand by themselves


# .raw, and bytes against logical columns


def test_stored_numbers_of_signed_columns_use_bounds() -> None:
    for name in ("i32", "i64", "i8", "date", "time", "ms", "d32", "d64"):
        of = each(bounds(name, 10, 20), name)
        assert of(col(name).raw == 9) is NEVER and of(col(name).raw > 5) is ALWAYS, name
        assert of(col(name).raw == 15) is MAYBE, name


def test_stored_values_of_other_columns_use_none() -> None:
    assert verdict(col("u32").raw == 1, u32=bounds("u32", 5, 9)) is MAYBE
    assert verdict(col("half").raw == b"\0\0", half=bounds("half", 1.0, 2.0, nan_count=0)) is MAYBE
    assert verdict(col("dfixed").raw == bytes(9), dfixed=bounds("dfixed", 1, 2)) is MAYBE
    assert verdict(col("dbytes").raw == b"\0", dbytes=bounds("dbytes", 1, 2)) is MAYBE
    assert verdict(col("int96").raw == bytes(12), int96=bounds("int96", b"\1" * 12, b"\1" * 12)) is MAYBE


def test_bytes_on_decimal_half_and_interval_use_no_bounds() -> None:
    assert verdict(col("dfixed") == bytes(9), dfixed=bounds("dfixed", 1, 2)) is MAYBE
    assert verdict(col("dbytes") == b"\0", dbytes=bounds("dbytes", 1, 2)) is MAYBE
    assert verdict(col("half") == b"\0\0", half=bounds("half", 1.0, 2.0, nan_count=0)) is MAYBE
    assert verdict(col("half") != b"\0\0", half=bounds("half", 1.0, 2.0, nan_count=0)) is MAYBE
    assert verdict(col("half") == b"\0\0", half=Statistics(null_count=SLOTS)) is NEVER


# Two columns


def test_timestamps_of_two_units_are_aligned() -> None:
    statistics = {"ms": bounds("ms", 1_000, 2_000), "ns": bounds("ns", 2_000_000_001, 3_000_000_000)}
    assert verdict("ms < ns", **statistics) is ALWAYS and verdict("ms >= ns", **statistics) is NEVER
    touching = {**statistics, "ns": bounds("ns", 2_000_000_000, 3_000_000_000)}
    assert verdict("ms < ns", **touching) is MAYBE and verdict("ms > ns", **touching) is NEVER


def test_decimals_of_two_scales_are_aligned() -> None:
    statistics = {"d32": bounds("d32", 100, 200), "dbytes": bounds("dbytes", 2_001, 3_000)}  # 1..2 and 2.001..3
    assert verdict("d32 < dbytes", **statistics) is ALWAYS and verdict("d32 = dbytes", **statistics) is NEVER
    touching = {**statistics, "dbytes": bounds("dbytes", 2_000, 3_000)}
    assert verdict("d32 < dbytes", **touching) is MAYBE and verdict("d32 <= dbytes", **touching) is ALWAYS


def test_signed_and_unsigned_columns_compare_as_numbers() -> None:
    statistics = {"i64": bounds("i64", -5, -1), "u64": bounds("u64", 0, 2**64 - 1)}
    assert verdict("i64 < u64", **statistics) is ALWAYS and verdict("i64 = u64", **statistics) is NEVER


def test_float_columns_compare_only_without_nan_on_both_sides() -> None:
    low, high = bounds("float", 1.0, 2.0, nan_count=0), bounds("double", 3.0, 4.0, nan_count=0)
    assert verdict("float < double", float=low, double=high) is ALWAYS
    assert verdict("float >= double", float=low, double=high) is NEVER
    assert verdict("float = double", float=low, double=high) is NEVER
    for count in (None, 1):
        for op in ("<", "<=", ">", ">=", "=", "!="):
            with_nan = bounds("float", 1.0, 2.0, nan_count=count)
            assert verdict(f"float {op} double", float=with_nan, double=high) is MAYBE
            with_nan = bounds("double", 3.0, 4.0, nan_count=count)
            assert verdict(f"float {op} double", float=low, double=with_nan) is MAYBE


def test_zeros_of_two_columns_may_be_of_either_sign() -> None:
    zero, zeros = exact("float", 0.0, nan_count=0), exact("double", -0.0, nan_count=0)
    assert [verdict(f"float {op} double", float=zero, double=zeros) for op in ("<", "<=", ">", ">=")] == [MAYBE] * 4


def test_text_columns_compare_by_their_bytes_cut_or_not() -> None:
    statistics = {"text": bounds("text", "a", "b"), "name": bounds("name", "c", "d", is_max_exact=False)}
    assert verdict("text < name", **statistics) is ALWAYS and verdict("text >= name", **statistics) is NEVER
    assert verdict("text = name", text=exact("text", "a"), name=exact("name", "a")) is MAYBE


def test_stored_pairs_use_no_bounds_where_the_order_is_another() -> None:
    statistics = {"u32": bounds("u32", 1, 2), "u64": bounds("u64", 5, 6)}
    assert verdict("u32 < u64", **statistics) is ALWAYS
    assert verdict(col("u32").raw < col("u64").raw, **statistics) is MAYBE


# Lists and groups


def test_any_is_never_as_its_test_over_the_slots_and_never_always() -> None:
    of = each(bounds("list", 10, 20), "list")
    column = col("list").any()
    assert of(column == 9) is NEVER and of(column == 15) is MAYBE and of(column >= 10) is MAYBE
    assert of(column.is_null()) is NEVER and of(column.is_not_null()) is MAYBE
    assert verdict(column.is_null(), list=Statistics(null_count=SLOTS)) is MAYBE


def test_all_is_always_maybe() -> None:
    for statistics in (bounds("list", 10, 20), exact("list", 7), Statistics(null_count=SLOTS)):
        of = each(statistics, "list")
        column = col("list").all()
        for predicate in (column == 9, column == 7, column >= 10, column.is_null(), column.is_not_null(), column < 0):
            assert of(predicate) is MAYBE


def test_null_tests_of_groups_are_maybe() -> None:
    for statistics in (Statistics(null_count=0), Statistics(null_count=SLOTS)):
        for predicate in (col("struct").is_null(), col("struct").is_not_null()):
            assert verdict(predicate, **{"struct.x": statistics}) is MAYBE
        for predicate in (col("list").is_null(), col("list").is_not_null()):
            assert verdict(predicate, list=statistics) is MAYBE


def test_leaf_of_a_struct_has_the_nulls_of_its_structs_too() -> None:
    assert verdict("struct.x > 5", **{"struct.x": bounds("struct.x", 10, 20, 0)}) is ALWAYS
    assert verdict("struct.x > 5", **{"struct.x": bounds("struct.x", 10, 20, 1)}) is MAYBE
    assert verdict("struct.x is null", **{"struct.x": bounds("struct.x", 10, 20, 0)}) is NEVER


# AND and OR


def test_and_is_the_worst_and_or_the_best_of_their_parts() -> None:
    statistics = {"i64": TEN_TO_TWENTY, "other": bounds("other", 10, 20)}
    parts = {NEVER: "{} < 0", MAYBE: "{} = 15", ALWAYS: "{} > 0"}
    for one, left in parts.items():
        for two, right in parts.items():
            text, more = left.format("i64"), right.format("other")
            assert verdict(f"{text} and {more}", **statistics) is min(one, two)
            assert verdict(f"{text} or {more}", **statistics) is max(one, two)
            nested = verdict(f"({text} or {more}) and (i64 = 15 or other = 12)", **statistics)
            assert nested is min(max(one, two), MAYBE)


def test_fixed_conjuncts_answer_for_every_row() -> None:
    for value, wanted in ((True, ALWAYS), (False, NEVER)):
        prover = Prover(BoundPredicate((Fixed(value, "fixed"),), ""), [TYPE_ORDER] * 99)
        assert prover.verdicts(0, chunks_of({})).verdict is wanted
    assert verdict("required is null") is NEVER
    assert Prover(BoundPredicate((), ""), []).verdicts(0, []).verdict is ALWAYS


def test_reason_names_the_bound_that_decided() -> None:
    def reason(predicate: Any, **statistics: Statistics) -> str:
        return prover_of(predicate).verdicts(0, chunks_of(statistics)).why()

    assert reason("i64 >= 50", i64=bounds("i64", 1, 41)) == "i64: max 41 < 50"
    assert reason("i64 < 5", i64=bounds("i64", 7, 41)) == "i64: min 7 >= 5"
    assert reason("i64 = 5", i64=bounds("i64", 7, 41)) == "i64: min 7 > 5"
    assert reason("i64 = 5", i64=Statistics(null_count=SLOTS)) == "i64: all 100 values are null"
    assert reason("i64 is null", i64=Statistics(null_count=0)) == "i64: no nulls"
    assert "between" in reason("i64 in (5, 50)", i64=TEN_TO_TWENTY)
    assert reason("text = 'a'", text=bounds("text", "b", "c")) == "text: min 'b' > 'a'"
    assert "2024-05-01" in reason(col("date") == dt.date(2024, 5, 1), date=bounds("date", 0, 9))
    both = reason("i64 = 5 or other = 5", i64=TEN_TO_TWENTY, other=bounds("other", 1, 2))
    assert both == "i64: min 10 > 5; other: max 2 < 5"
    assert reason("(i64 = 15 or other = 1) and i64 < 5", i64=TEN_TO_TWENTY) == "i64: min 10 >= 5"
    assert "i64 < other" in reason("i64 < other", i64=TEN_TO_TWENTY, other=bounds("other", 1, 2))


# Against brute force

KEYS = range(-1, 9)
few_intervals = st.lists(st.tuples(st.none() | st.integers(0, 8), st.none() | st.integers(0, 8)), max_size=3).map(
    Intervals.of
)


def value_test(intervals: Intervals, null_matches: bool = False, quantifier: str | None = None) -> ValueTest:
    return ValueTest(leaf_of("i64"), Domain("signed", 64), intervals, null_matches, quantifier, "test")


def honest_facts(values: list[int | None], data: st.DataObject) -> Facts:
    """Facts that are true of some values; how much they tell is drawn."""
    numbers = [value for value in values if value is not None]
    low, high = min(numbers, default=0), max(numbers, default=0)
    is_exact = bool(numbers) and data.draw(st.booleans())
    if not is_exact:
        low, high = low - data.draw(st.integers(0, 2)), high + data.draw(st.integers(0, 2))
    known = data.draw(st.tuples(*[st.booleans()] * 4))
    return Facts(
        len(values) if known[0] else None,
        len(values) - len(numbers) if known[1] else None,
        low if known[2] else None,
        high if known[3] else None,
        is_exact and known[2] and known[3],
    )


@given(st.lists(st.none() | st.integers(0, 7), min_size=1, max_size=5), few_intervals, st.booleans(), st.data())
@QUICK
def test_verdict_is_true_of_every_value(
    values: list[int | None], intervals: Intervals, null_matches: bool, data: st.DataObject
) -> None:
    passed = [null_matches if value is None else intervals.contains(value) for value in values]
    facts = honest_facts(values, data)
    found = value_verdict(value_test(intervals, null_matches), facts)
    assert found is not NEVER or not any(passed)
    assert found is not ALWAYS or all(passed)
    any_of = value_verdict(value_test(intervals, null_matches, "any"), facts)
    assert any_of is MAYBE or (any_of is NEVER and not any(passed))
    assert value_verdict(value_test(intervals, null_matches, "all"), facts) is MAYBE


@given(st.integers(0, 7), st.integers(0, 7), few_intervals, st.booleans(), st.sampled_from([0, 1, None]))
@QUICK
def test_verdict_is_the_sharpest_that_exact_bounds_allow(
    one: int, other: int, intervals: Intervals, null_matches: bool, nulls: int | None
) -> None:
    low, high = min(one, other), max(one, other)
    facts = Facts(10, nulls, low, high, True)
    inside = [intervals.contains(key) for key in range(low, high + 1)]
    may_be_null = nulls != 0
    can_pass = any(inside) or (null_matches and may_be_null)
    must_pass = all(inside) and (null_matches or not may_be_null)
    wanted = ALWAYS if must_pass else MAYBE if can_pass else NEVER
    assert value_verdict(value_test(intervals, null_matches), facts) is wanted


some_numbers = st.lists(st.none() | st.integers(0, 7), min_size=1, max_size=4)
COMPARE = {
    "eq": lambda a, b: a == b, "ne": lambda a, b: a != b, "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b, "gt": lambda a, b: a > b, "ge": lambda a, b: a >= b,
}  # fmt: skip


@given(
    some_numbers, some_numbers, st.sampled_from(sorted(COMPARE)), st.sampled_from([(1, 1), (1, 3), (2, 1)]), st.data()
)
@QUICK
def test_verdict_of_two_columns_is_true_of_every_pair(
    left: list[int | None], right: list[int | None], op: str, factors: tuple[int, int], data: st.DataObject
) -> None:
    domain = Domain("signed", 64)
    test = PairTest(leaf_of("i64"), op, leaf_of("other"), domain, domain, *factors, "test")
    found = pair_verdict(test, honest_facts(left, data), honest_facts(right, data))
    passed = [
        a is not None and b is not None and COMPARE[op](a * factors[0], b * factors[1]) for a in left for b in right
    ]
    assert found is not NEVER or not any(passed)
    assert found is not ALWAYS or all(passed)


# Pages


def pages(*parts: tuple[int, int, Facts]) -> PageFacts:
    return list(parts)


def rows(*pairs: tuple[int, int]) -> RowRanges:
    return RowRanges.of(pairs)


def known(low: int | None, high: int | None, null_count: int | None = 0) -> Facts:
    return Facts(10, null_count, low, high, True)


def test_pages_are_judged_one_by_one() -> None:
    test = value_test(Intervals.at_least(10))
    proof = page_proof(test, pages((0, 5, known(0, 9)), (5, 9, known(9, 12)), (9, 20, known(10, 30))))
    assert proof == Proof(rows((5, 20)), rows((9, 20)))
    with_nulls = page_proof(test, pages((0, 5, known(10, 12, 1)), (5, 9, Facts(4, 4)), (9, 20, Facts())))
    assert with_nulls == Proof(rows((0, 5), (9, 20)), rows())


@given(
    st.lists(st.tuples(st.integers(0, 20), st.integers(0, 6)), min_size=16, max_size=24),
    st.sampled_from(["as drawn", "rising", "falling"]),
    st.tuples(st.none() | st.integers(0, 28), st.none() | st.integers(0, 28)).map(lambda pair: Intervals.of([pair])),
    st.booleans(),
    st.sampled_from([None, "any", "all"]),
    st.booleans(),
)
@settings(QUICK, max_examples=400)
def test_shortcut_over_pages_in_order_says_what_each_page_says(
    spans: list[tuple[int, int]],
    order: str,
    intervals: Intervals,
    null_matches: bool,
    quantifier: str | None,
    is_exact: bool,
) -> None:
    lows = [low for low, _ in spans]
    highs = [low + width for low, width in spans]
    if order != "as drawn":
        lows, highs = sorted(lows), sorted(highs)
    if order == "falling":
        lows, highs = lows[::-1], highs[::-1]
    parts = [
        (3 * page, 3 * page + 3, Facts(3, 0, low, high, is_exact or low != high))
        for page, (low, high) in enumerate(zip(lows, highs, strict=True))
    ]
    test = value_test(intervals, null_matches, quantifier)
    verdicts = [(start, stop, value_verdict(test, facts)) for start, stop, facts in parts]
    proof = page_proof(test, parts)
    assert proof.certain == RowRanges.of((start, stop) for start, stop, found in verdicts if found is ALWAYS)
    maybe = RowRanges.of((start, stop) for start, stop, found in verdicts if found is not NEVER)
    # Pages whose bounds are one inexact value are looked at only where they are near: they hold no other value.
    assert proof.maybe == maybe or (not is_exact and maybe.contains(proof.maybe))


def test_pages_of_lists_in_order_may_hold_empty_lists_that_pass_all() -> None:
    parts = [(3 * page, 3 * page + 3, known(page, page)) for page in range(20)]
    assert page_proof(value_test(Intervals.point(5), quantifier="all"), parts) == Proof(rows((0, 60)), rows())
    assert page_proof(value_test(Intervals.point(5), quantifier="any"), parts) == Proof(rows((15, 18)), rows())
    assert page_proof(value_test(Intervals.point(5)), parts) == Proof(rows((15, 18)), rows((15, 18)))


def test_pages_of_two_columns_need_not_align() -> None:
    domain = Domain("signed", 64)
    test = PairTest(leaf_of("i64"), "lt", leaf_of("other"), domain, domain, 1, 1, "i64 < other")
    left = pages((0, 10, known(0, 5)), (10, 20, known(10, 15)))
    right = pages((0, 4, known(0, 0)), (4, 16, known(6, 9)), (16, 20, known(20, 30)))
    # 0..4: 0..5 < 0 never; 4..10: 0..5 < 6..9 always; 10..16: 10..15 < 6..9 never; 16..20: always
    assert pair_page_proof(test, left, right) == Proof(rows((4, 10), (16, 20)), rows((4, 10), (16, 20)))


def column_index(
    nulls: Sequence[bool], low: Sequence[bytes], high: Sequence[bytes], counts: Sequence[int] | None = None, **rest: Any
) -> ColumnIndex:
    return ColumnIndex(
        np.array(nulls), tuple(low), tuple(high), 0, None if counts is None else np.array(counts), **rest
    )


def offset_index(firsts: Sequence[int], row_count: int) -> OffsetIndex:
    places = np.arange(len(firsts), dtype=np.int64)
    return OffsetIndex(100 * places, 100 + 0 * places, np.array(firsts, np.int64), row_count)


def test_page_index_becomes_facts_of_row_ranges() -> None:
    def number(value: int) -> bytes:
        return stored("i64", value)

    index = column_index([False, True, False], [number(1), b"", number(7)], [number(5), b"", number(9)], [0, 4, 1])
    found = facts_of_index(index, offset_index([0, 3, 7], 12), reader_of("i64"))
    assert found == [(0, 3, Facts(3, 0, 1, 5, True)), (3, 7, Facts(4, 4)), (7, 12, Facts(5, 1, 7, 9, True))]
    without_counts = column_index([False, True], [number(1), b""], [number(5), b""])
    found = facts_of_index(without_counts, offset_index([0, 3], 7), reader_of("i64"))
    assert found == [(0, 3, Facts(3, None, 1, 5, True)), (3, 7, Facts(4, 4))]


def test_page_without_rows_says_nothing() -> None:
    one = stored("i64", 1)
    index = column_index([False, False], [one, one], [one, one], [0, 0])
    assert [part[:2] for part in facts_of_index(index, offset_index([0, 5], 5), reader_of("i64"))] == [(0, 5)]


def test_null_page_that_its_count_or_its_schema_contradicts_is_not_trusted() -> None:
    lying = column_index([True], [b""], [b""], [3])
    ((_, _, facts),) = facts_of_index(lying, offset_index([0], 9), reader_of("i64"))
    assert not facts.is_all_null and facts.null_count is None
    required = column_index([True], [b""], [b""], None)
    ((_, _, facts),) = facts_of_index(required, offset_index([0], 9), reader_of("required"))
    assert not facts.is_all_null
    ((_, _, facts),) = facts_of_index(lying, offset_index([0], 9), reader_of("double"))
    assert facts.nan_key is not None


def test_slots_of_a_page_of_lists_are_not_its_rows() -> None:
    index = column_index([False, True], [stored("list", 1), b""], [stored("list", 5), b""], [9, 30])
    (_, _, first), (_, _, second) = facts_of_index(index, offset_index([0, 9], 20), reader_of("list"))
    assert not first.is_all_null and first.null_count == 9  # of an unknown number of slots
    assert second.is_all_null


def test_nan_counts_of_pages_count() -> None:
    low, high = stored("double", 1.0), stored("double", 2.0)
    index = column_index([False] * 2, [low] * 2, [high] * 2, [0, 0], nan_counts=np.array([0, 2]))
    (_, _, first), (_, _, second) = facts_of_index(index, offset_index([0, 9], 20), reader_of("double"))
    assert first.nan_key is None and second.nan_key is not None


# Stages


class ProbeByHand:
    """What a file would answer, and what it was asked."""

    def __init__(
        self,
        pages: dict[str, PageFacts] | None = None,
        bloom: dict[str, bool] | None = None,
        dictionary: dict[str, Verdict] | None = None,
    ) -> None:
        self.pages, self.bloom, self.dictionary = pages or {}, bloom or {}, dictionary or {}
        self.asked: list[tuple[str, str]] = []

    def page_facts(self, leaf: Leaf, reader: BoundsReader) -> PageFacts | None:
        self.asked.append((PAGE_INDEX, leaf.dotted))
        return self.pages.get(leaf.dotted)

    def bloom_excludes(self, test: ValueTest) -> bool:
        self.asked.append((BLOOM, test.leaf.dotted))
        return self.bloom.get(test.leaf.dotted, False)

    def dictionary_verdict(self, test: ValueTest) -> Verdict:
        self.asked.append((DICTIONARY, test.leaf.dotted))
        return self.dictionary.get(test.leaf.dotted, MAYBE)


def proved(
    predicate: Any, probe: ProbeByHand, asked: RowRanges | None = None, prover: Prover | None = None, **statistics: Any
) -> GroupProof:
    prover = prover or prover_of(predicate)
    found = prover.verdicts(0, chunks_of(statistics))
    return prover.prove(found, RowRanges.all(SLOTS) if asked is None else asked, SLOTS, probe)


I64_PAGES = pages((0, 40, known(0, 9)), (40, 100, known(10, 19)))
OTHER_PAGES = pages((0, 25, known(0, 9)), (25, 60, known(10, 19)), (60, 100, known(20, 29)))


def test_and_intersects_row_ranges_of_pages_that_do_not_align() -> None:
    probe = ProbeByHand({"i64": I64_PAGES, "other": OTHER_PAGES})
    proof = proved("i64 = 15 and other = 15", probe)
    assert proof.rows == rows((40, 60)) and proof.certain == (rows(), rows())
    assert proof.dropped == {PAGE_INDEX: 80}


def test_or_unites_row_ranges_of_pages_that_do_not_align() -> None:
    probe = ProbeByHand({"i64": I64_PAGES, "other": OTHER_PAGES})
    assert proved("i64 = 5 or other = 25", probe).rows == rows((0, 40), (60, 100))
    assert proved("i64 = 5 or other = 5", probe).rows == rows((0, 40))
    assert proved("i64 = 99 or other = 99", ProbeByHand({"i64": I64_PAGES, "other": OTHER_PAGES})).rows == rows()


def test_rows_that_surely_pass_add_up_over_the_parts_of_an_or() -> None:
    probe = ProbeByHand({"i64": I64_PAGES, "other": OTHER_PAGES})
    proof = proved("i64 < 10 or other >= 10", probe)
    assert proof.rows == rows((0, 100)) and proof.certain == (rows((0, 100)),)
    assert proof.active(proof.rows) == ()
    mixed = proved("(i64 < 10 and other < 10) or other = 25", probe)
    assert mixed.rows == rows((0, 25), (60, 100)) and mixed.certain == (rows((0, 25)),)
    assert mixed.active(rows((0, 25))) == () and mixed.active(rows((20, 70))) == (0,)


def test_conjunct_that_surely_passes_on_the_rows_left_is_not_active() -> None:
    proof = proved("i64 >= 10 and other = 25", ProbeByHand({"i64": I64_PAGES, "other": OTHER_PAGES}))
    assert proof.rows == rows((60, 100)) and proof.active(proof.rows) == (1,)


def test_column_without_an_index_leaves_the_others_theirs() -> None:
    probe = ProbeByHand({"other": OTHER_PAGES})
    assert proved("i64 = 15 and other = 15", probe).rows == rows((25, 60))
    assert proved("i64 = 15 or other = 15", probe).rows == rows((0, 100))


def test_proof_keeps_to_the_rows_that_are_asked_for() -> None:
    probe = ProbeByHand({"i64": I64_PAGES})
    assert proved("i64 = 15", probe, rows((10, 50), (90, 95))).rows == rows((40, 50), (90, 95))
    assert proved("i64 = 5", probe, rows((50, 60))).rows == rows()


def test_pages_of_pairs_prove_in_row_space() -> None:
    probe = ProbeByHand({"i64": I64_PAGES, "other": OTHER_PAGES})
    proof = proved("i64 < other", probe)
    assert proof.rows == rows((0, 100)) and proof.certain == (rows((25, 40), (60, 100)),)
    assert proved("i64 > other", probe).rows == rows((0, 25), (40, 60))


def test_stages_are_asked_in_the_order_of_their_bytes_and_only_as_long_as_something_is_open() -> None:
    probe = ProbeByHand()
    proved("i64 = 15", probe, i64=TEN_TO_TWENTY)
    assert [stage for stage, _ in probe.asked] == [PAGE_INDEX, BLOOM, DICTIONARY]
    probe = ProbeByHand({"i64": pages((0, 100, known(1, 2)))})
    assert proved("i64 = 15", probe, i64=TEN_TO_TWENTY).stage == PAGE_INDEX
    assert [stage for stage, _ in probe.asked] == [PAGE_INDEX]
    probe = ProbeByHand()
    assert proved("i64 > 5", probe, i64=TEN_TO_TWENTY).active(rows((0, 100))) == ()
    assert probe.asked == []  # statistics said it all


def test_columns_of_an_and_are_not_asked_about_rows_that_another_has_excluded() -> None:
    probe = ProbeByHand({"i64": pages((0, 100, known(10, 20)))}, dictionary={"i64": NEVER})
    assert not proved("i64 = 15 and other = 15", probe).rows
    assert (DICTIONARY, "other") not in probe.asked


def test_bloom_filter_excludes_the_row_group_and_says_so() -> None:
    probe = ProbeByHand(bloom={"i64": True})
    proof = proved("i64 = 15", probe, i64=TEN_TO_TWENTY)
    assert not proof.rows and proof.stage == BLOOM and proof.dropped == {BLOOM: 100}
    assert "does not hold the value" in proof.reason
    assert "any of 2 values" in proved("i64 in (12, 15)", probe, i64=TEN_TO_TWENTY).reason


@pytest.mark.parametrize("text", ["i64 > 15", "i64 != 15", "i64 not in (15)", "i64 is null or i64 = 15", "i64 is null"])
def test_bloom_filter_is_asked_about_equality_only(text: str) -> None:
    probe = ProbeByHand(bloom={"i64": True})
    assert proved(text, probe, i64=bounds("i64", 10, 20, None)).rows == rows((0, 100))
    assert BLOOM not in [stage for stage, _ in probe.asked]


def test_bloom_filter_of_a_part_of_an_or_excludes_only_that_part() -> None:
    probe = ProbeByHand({"other": OTHER_PAGES}, bloom={"i64": True})
    assert proved("i64 = 15 or other = 5", probe).rows == rows((0, 25))


def test_filters_and_dictionaries_answer_any_and_not_all() -> None:
    probe = ProbeByHand(bloom={"list.list.element": True})
    assert not proved(col("list").any() == 1, probe).rows
    probe = ProbeByHand(bloom={"list.list.element": True}, dictionary={"list.list.element": NEVER})
    assert proved(col("list").all() == 1, probe).rows == rows((0, 100))
    assert not [stage for stage, _ in probe.asked if stage in (BLOOM, DICTIONARY)]


def test_dictionary_proves_never_and_always() -> None:
    proof = proved("i64 = 15", ProbeByHand(dictionary={"i64": NEVER}), i64=TEN_TO_TWENTY)
    assert not proof.rows and proof.stage == DICTIONARY
    proof = proved("i64 = 15", ProbeByHand(dictionary={"i64": ALWAYS}), i64=TEN_TO_TWENTY)
    assert proof.rows == rows((0, 100)) and proof.active(proof.rows) == ()


def test_stage_without_effect_on_a_few_row_groups_is_not_asked_again_and_rows_stay() -> None:
    prover, probe = prover_of("i64 = 15"), ProbeByHand({"i64": pages((0, 100, known(10, 20)))})
    for _ in range(FEW_GROUPS):
        assert proved(None, probe, prover=prover, i64=TEN_TO_TWENTY).rows == rows((0, 100))
    assert len(probe.asked) == 3 * FEW_GROUPS
    late = ProbeByHand({"i64": pages((0, 100, known(1, 2)))}, {"i64": True}, {"i64": NEVER})
    assert proved(None, late, prover=prover, i64=TEN_TO_TWENTY).rows == rows((0, 100))  # kept: the safe side
    assert late.asked == []
    assert prover.verdicts(1, chunks_of({"i64": bounds("i64", 1, 2)})).verdict is NEVER  # statistics cost nothing


def test_stage_with_an_effect_now_and_then_stays() -> None:
    prover = prover_of("i64 = 15")
    useless = ProbeByHand({"i64": pages((0, 100, known(10, 20)))})
    useful = ProbeByHand({"i64": I64_PAGES})
    for _ in range(3):
        for _ in range(FEW_GROUPS - 1):
            proved(None, useless, prover=prover, i64=TEN_TO_TWENTY)
        assert proved(None, useful, prover=prover, i64=TEN_TO_TWENTY).rows == rows((40, 100))


@given(st.data())
@QUICK
def test_proofs_in_row_space_are_true_of_every_row(data: st.DataObject) -> None:
    """Random pages of three columns, random AND and OR trees over them: against the rows themselves."""
    count = SLOTS
    names = ("i64", "other", "required")
    columns: dict[str, list[int | None]] = {}
    index: dict[str, PageFacts] = {}
    for name in names:
        firsts = [0, *sorted(data.draw(st.sets(st.integers(1, count - 1), max_size=4)))]
        values: list[int | None] = []
        parts: PageFacts = []
        for first, stop in zip(firsts, [*firsts[1:], count], strict=True):
            pool = st.integers(0, 7) if name == "required" else st.none() | st.integers(0, 7)
            page = data.draw(st.lists(pool, min_size=1, max_size=3))
            part = [page[number % len(page)] for number in range(stop - first)]
            parts.append((first, stop, honest_facts(part, data)))
            values += part
        columns[name] = values
        if data.draw(st.booleans()):
            index[name] = parts

    def draw_node(depth: int) -> tuple[Any, list[bool | None]]:
        kind = data.draw(st.sampled_from(["and", "or", "test", "test"] if depth else ["test"]))
        if kind == "test":
            name, op = data.draw(st.sampled_from(names)), data.draw(st.sampled_from(sorted(COMPARE)))
            value = data.draw(st.integers(0, 7))
            predicate = getattr(col(name), f"__{op}__")(value)
            return predicate, [None if x is None else COMPARE[op](x, value) for x in columns[name]]
        (one, left), (two, right) = draw_node(depth - 1), draw_node(depth - 1)
        if kind == "and":
            return one & two, [bool(a) and bool(b) for a, b in zip(left, right, strict=True)]
        return one | two, [bool(a) or bool(b) for a, b in zip(left, right, strict=True)]

    predicate, passes = draw_node(2)
    prover = prover_of(predicate)
    found = prover.verdicts(0, chunks_of({}))
    if found.verdict is NEVER:
        assert not any(passes)
        return
    proof = prover.prove(found, RowRanges.all(count), count, ProbeByHand(index))
    left = {row for start, stop in proof.rows for row in range(start, stop)}
    assert left >= {row for row, passed in enumerate(passes) if passed}
    for start, stop in proof.rows:
        for row in range(start, stop):
            assert passes[row] or proof.active(RowRanges(((row, row + 1),)))


def test_reason_of_a_single_test_tells_bounds_apart() -> None:
    test: Node = value_test(Intervals.at_least(5))
    assert isinstance(test, ValueTest)
    assert why_never(test, known(1, 4)) == "max 4 < 5"
    assert why_never(test, Facts(10, 10)) == "all 10 values are null"
    assert why_never(test, Facts(0, 0)) == "no values"
