"""Intervals are sets of keys, float keys are the order of Java's Double.compare, nodes know their leaves."""

from __future__ import annotations

import math
import struct
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hardwood_jit.metadata import structs
from hardwood_jit.metadata.schema import Leaf, build_schema
from hardwood_jit.plan.bound import (
    AllOf,
    AnyOf,
    BoundPredicate,
    Domain,
    Fixed,
    GroupTest,
    Intervals,
    PairTest,
    ValueTest,
    float_key,
    successor,
)
from tests.support import pages as p

KEYS = range(-2, 13)
INTEGER = Domain("signed", 32)

ends = st.none() | st.integers(0, 10)
pairs = st.lists(st.tuples(ends, ends), max_size=5)
byte_keys = st.binary(max_size=3).map(lambda raw: bytes(byte % 3 for byte in raw))  # few, so that they meet


def inside(given: list[tuple[int | None, int | None]]) -> set[int]:
    return {key for key in KEYS if any((a is None or a <= key) and (b is None or key < b) for a, b in given)}


def keys_of(intervals: Intervals) -> set[int]:
    return {key for key in KEYS if intervals.contains(key)}


def is_canonical(intervals: Intervals) -> bool:
    """Sorted, disjoint, non-empty, not touching."""
    filled = all(a is None or b is None or a < b for a, b in intervals.pairs)
    apart = all(b is not None and c is not None and b < c for (_, b), (c, _) in pairwise(intervals.pairs))
    return filled and apart


@given(pairs)
def test_intervals_of_any_pairs_hold_the_keys_of_some_pair(given: list[tuple[int | None, int | None]]) -> None:
    intervals = Intervals.of(given)
    assert is_canonical(intervals) and keys_of(intervals) == inside(given)
    assert bool(intervals) == any(a is None or b is None or a < b for a, b in given)


@given(pairs, pairs)
def test_union_intersection_and_complement_are_those_of_sets(
    one: list[tuple[int | None, int | None]], other: list[tuple[int | None, int | None]]
) -> None:
    a, b = Intervals.of(one), Intervals.of(other)
    for made, expected in (
        (a.union(b), inside(one) | inside(other)),
        (a.intersect(b), inside(one) & inside(other)),
        (a.complement(), set(KEYS) - inside(one)),
    ):
        assert is_canonical(made) and keys_of(made) == expected
    assert a.complement().complement() == a
    assert a.intersect(b) == a.complement().union(b.complement()).complement()


@given(pairs, ends, ends)
def test_meets_and_covers_ask_every_key_between_two_ends(
    given: list[tuple[int | None, int | None]], low: int | None, high: int | None
) -> None:
    intervals = Intervals.of(given)
    if low is not None and high is not None and low > high:
        low, high = high, low
    between = {key for key in KEYS if (low is None or key >= low) and (high is None or key <= high)}
    assert intervals.meets(low, high) == bool(between & inside(given))
    assert intervals.covers(low, high) == (between <= inside(given))


@given(st.lists(st.tuples(byte_keys, byte_keys), max_size=4), byte_keys, byte_keys)
def test_meets_and_covers_of_bytes_agree_with_complement_and_intersection(
    given: list[tuple[bytes, bytes]], one: bytes, other: bytes
) -> None:
    intervals = Intervals.of(given)
    low, high = min(one, other), max(one, other)
    between = Intervals.between(low, successor(high))
    assert intervals.meets(low, high) == bool(intervals.intersect(between))
    assert intervals.covers(low, high) == (not intervals.complement().intersect(between))
    assert intervals.meets(low, low) == intervals.covers(low, low) == intervals.contains(low)


def test_nothing_meets_no_interval_and_everything_is_covered_by_all() -> None:
    for low, high in ((None, None), (1, None), (None, 1), (1, 1)):
        assert Intervals.everything().covers(low, high) and Intervals.everything().meets(low, high)
        assert not Intervals.nothing().covers(low, high) and not Intervals.nothing().meets(low, high)


@given(st.lists(st.tuples(byte_keys, byte_keys), max_size=4), byte_keys)
def test_intervals_of_bytes_are_in_unsigned_lexicographic_order(given: list[tuple[bytes, bytes]], key: bytes) -> None:
    intervals = Intervals.of(given)
    assert is_canonical(intervals)
    assert intervals.contains(key) == any(a <= key < b for a, b in given)
    assert intervals.complement().contains(key) != intervals.contains(key)


@given(byte_keys, byte_keys)
def test_nothing_lies_between_a_key_and_its_successor(one: bytes, other: bytes) -> None:
    assert one < successor(one) and not one < other < successor(one)
    assert successor(len(one)) == len(one) + 1


@given(st.lists(st.integers(0, 9), max_size=6))
def test_single_keys_are_named_only_when_no_interval_holds_more(keys: list[int]) -> None:
    intervals = Intervals.points(keys)
    touching = any(key + 1 in keys for key in keys)
    assert intervals.single_keys() == (None if touching else tuple(sorted(set(keys))))
    assert intervals.complement().single_keys() is None


def test_between_is_empty_when_its_ends_are_the_wrong_way_round() -> None:
    assert Intervals.between(3, 5).pairs == ((3, 5),)
    assert not Intervals.between(5, 5) and not Intervals.between(6, 5)
    assert Intervals.everything().is_everything and not Intervals.below(3).is_everything
    assert Intervals.everything().complement() == Intervals.nothing()
    assert Intervals.nothing().complement() == Intervals.everything()


def java_order(value: float) -> tuple[bool, float, bool]:
    """NaN last; -0.0 before 0.0."""
    return (True, 0.0, False) if math.isnan(value) else (False, value, math.copysign(1.0, value) > 0)


@pytest.mark.parametrize("bits", [16, 32, 64])
@given(data=st.data())
def test_float_keys_have_the_order_of_javas_double_compare(bits: int, data: st.DataObject) -> None:
    floats = st.floats(width=bits)  # type: ignore[arg-type]
    a, b = data.draw(floats), data.draw(floats)
    assert (float_key(a, bits) < float_key(b, bits)) == (java_order(a) < java_order(b))
    assert (float_key(a, bits) == float_key(b, bits)) == (java_order(a) == java_order(b))


def test_float_keys_of_neighbours_are_neighbours_and_nan_is_the_last() -> None:
    assert [float_key(value, 64) for value in (-5e-324, -0.0, 0.0, 5e-324)] == [-2, -1, 0, 1]
    negative_nan = struct.unpack("<d", b"\0\0\0\0\0\0\xf8\xff")[0]
    assert float_key(negative_nan, 64) == float_key(math.nan, 64) == 2**63 - 1
    assert float_key(math.inf, 32) == 0x7F800000 and float_key(-math.inf, 32) == -1 - 0x7F800000
    assert float_key(65504.0, 16) + 1 == float_key(math.inf, 16)


def three_leaves() -> tuple[Leaf, ...]:
    root = p.group("schema", *[p.leaf(name, p.INT32, p.OPTIONAL) for name in "abc"])
    raw = p.list_of(root.elements(is_root=True), p.STRUCT).encode()
    return build_schema(structs.decode_list(structs.SchemaElement, raw), "test").leaves


def test_nodes_name_each_leaf_once_in_reading_order() -> None:
    a, b, c = three_leaves()
    on_a = ValueTest(a, INTEGER, Intervals.point(1), False, None, "a = 1")
    pair = PairTest(b, "lt", a, INTEGER, INTEGER, 1, 1, "b < a")
    same = PairTest(c, "le", c, INTEGER, INTEGER, 1, 1, "c <= c")
    group = GroupTest(c, 0, True, "g is null")
    assert on_a.leaves == (a,) and pair.leaves == (b, a) and same.leaves == (c,) and group.leaves == (c,)
    either = AnyOf((pair, on_a, Fixed(False, "d is null")), "")
    assert either.leaves == (b, a)
    assert AllOf((either, group, same), "").leaves == (b, a, c)
    assert BoundPredicate((on_a, either, group), "").leaves == (a, b, c)
