"""Binding: names to leaves, NOT to the leaves, tests of one leaf into one; answers stay those of three-valued logic."""

from __future__ import annotations

import datetime as dt
import functools
import math
import operator
import pickle
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hardwood_jit.errors import ColumnNotFoundError, PredicateError
from hardwood_jit.metadata import structs
from hardwood_jit.metadata.schema import Schema, build_schema
from hardwood_jit.plan.bind import bind
from hardwood_jit.plan.bound import (
    AllOf,
    AnyOf,
    BoundPredicate,
    Domain,
    Fixed,
    GroupTest,
    Intervals,
    Node,
    PairTest,
    ValueTest,
    float_key,
)
from hardwood_jit.plan.predicate import (
    And,
    Between,
    Col,
    Compare,
    ComparePair,
    IsIn,
    IsNotNull,
    IsNull,
    Not,
    Or,
    Predicate,
    col,
)
from tests.support import pages as p
from tests.support.pages import OPTIONAL, REPEATED, REQUIRED, group, leaf, list_group, logical, map_group


def schema_of(*children: p.Node) -> Schema:
    raw = p.list_of(group("schema", *children).elements(is_root=True), p.STRUCT).encode()
    return build_schema(structs.decode_list(structs.SchemaElement, raw), "test")


def optional(name: str, physical: int, kind: str | None = None, length: int | None = None, **parts: Any) -> p.Node:
    return leaf(name, physical, OPTIONAL, type_length=length, logical=logical(kind, **parts) if kind else None)


def decimal(name: str, physical: int, scale: int, length: int | None = None) -> p.Node:
    return optional(name, physical, "DECIMAL", length, scale=scale, precision=9)


def timestamp(name: str, unit: str, utc: bool) -> p.Node:
    return optional(name, p.INT64, "TIMESTAMP", unit=unit, utc=utc)


SCHEMA = schema_of(
    leaf("id", p.INT64),
    optional("a", p.INT32),
    optional("b", p.INT32),
    optional("long", p.INT64),
    optional("u32", p.INT32, "INTEGER", bits=32, signed=False),
    optional("u64", p.INT64, "INTEGER", bits=64, signed=False),
    optional("f32", p.FLOAT),
    optional("f64", p.DOUBLE_TYPE),
    optional("half", p.FLBA, "FLOAT16", 2),
    optional("flag", p.BOOLEAN),
    leaf("sure", p.BOOLEAN),
    optional("s", p.BYTE_ARRAY, "STRING"),
    optional("raw bytes", p.BYTE_ARRAY),
    optional("fixed", p.FLBA, None, 4),
    optional("uuid", p.FLBA, "UUID", 16),
    optional("date", p.INT32, "DATE"),
    optional("time_ms", p.INT32, "TIME", unit="ms", utc=True),
    optional("time_us", p.INT64, "TIME", unit="us", utc=False),
    timestamp("utc_ms", "ms", True),
    timestamp("utc_ns", "ns", True),
    timestamp("local_us", "us", False),
    optional("int96", p.INT96),
    leaf("interval", p.FLBA, OPTIONAL, type_length=12, converted=p.INTERVAL),
    optional("geo", p.BYTE_ARRAY, "GEOMETRY"),
    decimal("d32", p.INT32, 2),
    decimal("d64", p.INT64, 4),
    decimal("dfixed", p.FLBA, 2, 5),
    decimal("dbytes", p.BYTE_ARRAY, 0),
    group(
        "address",
        optional("city", p.BYTE_ARRAY, "STRING"),
        leaf("zip", p.INT32),
        group("point", leaf("lat", p.DOUBLE_TYPE)),
        repetition=OPTIONAL,
    ),
    group("always", leaf("x", p.INT32), optional("y", p.INT32)),
    list_group("tags", optional("element", p.BYTE_ARRAY, "STRING")),
    list_group("ns", optional("element", p.INT32)),
    list_group("sure_ns", leaf("element", p.INT32), repetition=REQUIRED),
    list_group("deep", list_group("element", optional("element", p.INT32))),
    list_group("items", group("element", optional("price", p.INT32), optional("name", p.BYTE_ARRAY, "STRING"))),
    map_group("m", leaf("key", p.BYTE_ARRAY, logical=logical("STRING")), optional("value", p.INT32)),
    leaf("bare", p.INT32, REPEATED),
    group("outer", leaf("bare", p.INT32, REPEATED), repetition=OPTIONAL),
)
INT32 = Domain("signed", 32)


def bound(predicate: Predicate) -> BoundPredicate:
    return bind(predicate, SCHEMA)


def only(predicate: Predicate) -> Node:
    found = bound(predicate)
    assert len(found.conjuncts) == 1
    return found.conjuncts[0]


def value_test(predicate: Predicate) -> ValueTest:
    node = only(predicate)
    assert isinstance(node, ValueTest)
    return node


def pairs(predicate: Predicate) -> tuple[tuple[Any, Any], ...]:
    return value_test(predicate).intervals.pairs


def refusal(predicate: Predicate) -> str:
    with pytest.raises(PredicateError) as caught:
        bound(predicate)
    return str(caught.value)


def is_never(predicate: Predicate) -> bool:
    """No row passes, by the predicate alone."""
    conjuncts = bound(predicate).conjuncts
    return len(conjuncts) == 1 and isinstance(conjuncts[0], Fixed) and not conjuncts[0].value


def is_always(predicate: Predicate) -> bool:
    return bound(predicate).conjuncts == ()


# The answer of a bound predicate for one row of keys; lists of keys below repeated fields


def passes(node: Node, row: Mapping[str, Any]) -> bool:
    match node:
        case ValueTest():

            def one(key: Any) -> bool:
                return node.null_matches if key is None else node.intervals.contains(key)

            value = row[node.leaf.dotted]
            if node.quantifier is None:
                return one(value)
            return value is not None and (any if node.quantifier == "any" else all)(one(key) for key in value)
        case PairTest():
            left, right = row[node.left.dotted], row[node.right.dotted]
            if left is None or right is None:
                return False
            return bool(OPS[node.op](left * node.left_factor, right * node.right_factor))
        case Fixed():
            return node.value
        case AllOf():
            return all(passes(arg, row) for arg in node.args)
        case AnyOf():
            return any(passes(arg, row) for arg in node.args)
    raise AssertionError(node)


OPS: dict[str, Callable[[Any, Any], Any]] = {
    "eq": operator.eq,
    "ne": operator.ne,
    "lt": operator.lt,
    "le": operator.le,
    "gt": operator.gt,
    "ge": operator.ge,
}

# Kleene's logic over the predicate itself, integers only

NAMES = {"a": "a", "b": "b", "id": "id", "ns": "ns.list.element", "sure_ns": "sure_ns.list.element"}


def kleene(predicate: Predicate, row: Mapping[str, Any]) -> bool | None:
    match predicate:
        case Not(arg=arg):
            answer = kleene(arg, row)
            return None if answer is None else not answer
        case And(args=args):
            return and_of([kleene(arg, row) for arg in args])
        case Or(args=args):
            return or_of([kleene(arg, row) for arg in args])
        case ComparePair(left=left, op=op, right=right):
            x, y = (row[NAMES[str(column.path)]] for column in (left, right))
            return None if x is None or y is None else OPS[op](x, y)
        case Compare(column=column, op=op, literal=literal):
            return over_elements(column, row, lambda value: unless_null(value, lambda x: OPS[op](x, literal)))
        case IsIn(column=column, literals=literals):
            return over_elements(column, row, lambda value: unless_null(value, lambda x: x in literals))
        case Between(column=column, low=low, high=high):
            return over_elements(column, row, lambda value: unless_null(value, lambda x: low <= x <= high))
        case IsNull(column=column):
            return over_elements(column, row, lambda value: value is None)
        case IsNotNull(column=column):
            return over_elements(column, row, lambda value: value is not None)
    raise AssertionError(predicate)


def unless_null(value: Any, test: Callable[[Any], bool | None]) -> bool | None:
    return None if value is None else test(value)


def and_of(answers: list[bool | None]) -> bool | None:
    return False if False in answers else None if None in answers else True


def or_of(answers: list[bool | None]) -> bool | None:
    return True if True in answers else None if None in answers else False


def over_elements(column: Col, row: Mapping[str, Any], test: Callable[[Any], bool | None]) -> bool | None:
    value = row[NAMES[str(column.path)]]
    if column.quantifier is None:
        return test(value)
    if value is None:
        return None
    return (or_of if column.quantifier == "any" else and_of)([test(element) for element in value])


small = st.integers(-1, 4)
plain_columns = st.sampled_from(["a", "b", "id"]).map(col)
columns = plain_columns | st.sampled_from(
    [col("ns").any(), col("ns").all(), col("sure_ns").any(), col("sure_ns").all()]
)
tests = (
    st.builds(Compare, columns, st.sampled_from(sorted(OPS)), small | st.just(2**31 - 1))
    | st.builds(lambda column, literals: column.is_in(literals), columns, st.lists(small, max_size=3))
    | st.builds(Between, columns, small, small)
    | st.builds(IsNull, columns)
    | st.builds(IsNotNull, columns)
    | st.builds(ComparePair, plain_columns, st.sampled_from(sorted(OPS)), plain_columns)
)
predicates = st.recursive(
    tests,
    lambda inner: (
        st.builds(Not, inner)
        | st.builds(lambda args: And(tuple(args)), st.lists(inner, min_size=2, max_size=4))
        | st.builds(lambda args: Or(tuple(args)), st.lists(inner, min_size=2, max_size=4))
    ),
    max_leaves=8,
)
rows = st.fixed_dictionaries(
    {
        "id": small,
        "a": st.none() | small,
        "b": st.none() | small,
        "ns.list.element": st.none() | st.lists(st.none() | small, max_size=3),
        "sure_ns.list.element": st.lists(small, max_size=3),
    }
)


@settings(max_examples=400)
@given(predicates, st.lists(rows, min_size=1, max_size=5))
def test_bound_predicate_passes_the_rows_for_which_the_predicate_is_definitely_true(
    predicate: Predicate, some: list[dict[str, Any]]
) -> None:
    found = bound(predicate)
    for row in some:
        assert all(passes(node, row) for node in found.conjuncts) == (kleene(predicate, row) is True)
    assert_normal(found)


def assert_normal(found: BoundPredicate) -> None:
    """Flat, without fixed parts, and with nothing left to merge."""
    if any(isinstance(node, Fixed) for node in found.conjuncts):
        assert found.conjuncts == (found.conjuncts[0],) and not passes(found.conjuncts[0], {})
        return
    waiting: list[Node] = [AllOf(found.conjuncts, found.text)]
    while waiting:
        node = waiting.pop()
        assert not isinstance(node, Fixed)
        if isinstance(node, AllOf | AnyOf):
            assert type(node) not in map(type, node.args)
            merging = (None, "all" if isinstance(node, AllOf) else "any")
            keys = [
                (arg.leaf.index, arg.domain, arg.quantifier)
                for arg in node.args
                if isinstance(arg, ValueTest) and arg.quantifier in merging
            ]
            assert len(keys) == len(set(keys))
            waiting.extend(node.args)
        assert node.text


# Nulls


def test_null_satisfies_no_comparison_and_no_is_in_negated_or_not() -> None:
    a = col("a")
    for predicate in (a == 1, a != 1, a < 1, a <= 1, a > 1, a >= 1, a.is_in([1]), a.is_between(1, 2), a < 2**40):
        assert not value_test(predicate).null_matches
        if predicate != (a < 2**40):
            assert not value_test(~predicate).null_matches
    assert not value_test(~col("s").starts_with("x")).null_matches


@pytest.mark.parametrize(("op", "negated"), [("eq", "ne"), ("lt", "ge"), ("gt", "le")])
def test_not_turns_a_comparison_into_its_opposite(op: str, negated: str) -> None:
    for one, other in ((op, negated), (negated, op)):
        assert pairs(~Compare(col("a"), one, 5)) == pairs(Compare(col("a"), other, 5))


def test_not_moves_to_the_leaves_by_de_morgan() -> None:
    expected = [((None, 4),), ((None, 5), (6, None))]
    node = only(~((col("a") > 3) & (col("b") == 5)))
    assert isinstance(node, AnyOf)
    assert [arg.intervals.pairs for arg in node.args if isinstance(arg, ValueTest)] == expected
    found = bound(~((col("a") > 3) | (col("b") == 5)))
    assert [arg.intervals.pairs for arg in found.conjuncts if isinstance(arg, ValueTest)] == expected
    assert bound(~~(col("a") > 3)).conjuncts == bound(col("a") > 3).conjuncts


def test_null_tests_turn_into_each_other() -> None:
    is_null, is_not_null = value_test(col("a").is_null()), value_test(col("a").is_not_null())
    assert (is_null.intervals, is_null.null_matches) == (Intervals.nothing(), True)
    assert (is_not_null.intervals, is_not_null.null_matches) == (Intervals.everything(), False)
    for one, other in ((~col("a").is_null(), is_not_null), (~col("a").is_not_null(), is_null)):
        assert (value_test(one).intervals, value_test(one).null_matches) == (other.intervals, other.null_matches)


def test_null_test_on_a_required_leaf_has_one_answer() -> None:
    assert is_never(col("id").is_null()) and is_always(col("id").is_not_null())
    assert is_always(~col("id").is_null()) and is_never(~col("id").is_not_null())
    assert is_never(col("always.x").is_null())


def test_leaf_below_a_null_struct_is_null() -> None:
    node = value_test(col("address.zip").is_null())  # required inside an optional struct
    assert node.null_matches and not node.intervals
    assert value_test(col("address.point.lat").is_not_null()).intervals.is_everything


# Literals arrive (the rest is in test_literals.py)


def test_literals_become_intervals_of_the_columns_domain() -> None:
    test = value_test(col("d32") >= 1.005)
    assert (test.domain, test.intervals.pairs) == (INT32, ((101, None),))
    assert pairs(col("utc_ms") < dt.datetime(1970, 1, 1, 0, 0, 1, tzinfo=dt.UTC)) == ((None, 1000),)
    assert pairs(col("utc_ms").raw >= 1735689600000) == ((1735689600000, None),)
    assert pairs(col("s").starts_with("ab")) == ((b"ab", b"ac"),)
    assert value_test(col("dfixed") == b"\0\0\0\0\1").domain == Domain("bytes")
    assert value_test(col("dfixed") == 1).domain == Domain("decimal")
    assert pairs(col("f64") == math.nan) == ((float_key(math.nan, 64), 2**63),)


def test_refused_literals_name_column_type_literal_and_what_fits() -> None:
    message = refusal((col("id") > 3) & (col("d32") == 1.005))
    assert message.startswith("column 'd32' (DECIMAL(9, 2)): 1.005 has more than 2 digits after the point; fits: ")
    assert "column 'address.zip' (INT32): 'x' (str) does not fit" in refusal(col("address.zip") == "x")
    assert "True or False" in refusal(col("flag") == 1)
    assert "(bool) does not fit" in refusal(~col("a"))  # a bare column is `a = true`


def test_bare_boolean_column_means_true() -> None:
    assert pairs(col("flag") & (col("flag") == True)) == ((1, 2),)  # noqa: E712
    assert value_test(~col("flag")).intervals.single_keys() == (0,)
    assert is_always((col("sure") == True) | ~col("sure"))  # noqa: E712


def test_beyond_the_carrier_means_every_row_that_is_not_null_or_none() -> None:
    assert value_test(col("a") < 2**40).intervals.is_everything and is_always(col("id") < 2**70)
    assert is_never(col("a") > 2**40) and is_never(col("id") < -(2**70))
    assert value_test(~(col("a") > 2**40)).intervals.is_everything


def test_is_in_nothing_is_no_row_and_its_negation_every_row_that_is_not_null() -> None:
    assert is_never(col("a").is_in([]))
    test = value_test(~col("a").is_in([]))
    assert test.intervals.is_everything and not test.null_matches
    assert is_always(~col("id").is_in([]))


def test_empty_prefix_is_every_row_that_is_not_null() -> None:
    assert value_test(col("s").starts_with("")).intervals.is_everything
    assert is_never(~col("s").starts_with(""))


def test_types_without_order_take_equality_only() -> None:
    for name, stored in (("interval", bytes(12)), ("geo", b"x")):
        assert pairs(col(name) == stored) == ((stored, stored + b"\0"),)
        assert value_test(col(name) != stored).domain == Domain("bytes")
        assert "no order" in refusal(col(name) < stored)
        assert "no order" in refusal(~(col(name) >= stored))


# Names


def test_unknown_column_raises_with_close_matches() -> None:
    with pytest.raises(ColumnNotFoundError, match=r"no column 'adress.city'; close: 'address.city'"):
        bound((col("a") > 3) & (col("adress.city") == "x"))
    with pytest.raises(ColumnNotFoundError):
        bound(col(("address.city",)).is_null())
    with pytest.raises(ColumnNotFoundError):
        bound(col("a") < col("nope"))


def test_paths_long_short_and_exact_find_the_same_leaf() -> None:
    for path in ("tags", "tags.list.element", ("tags", "list", "element")):
        assert value_test(col(path).any() == "x").leaf.dotted == "tags.list.element"
    assert value_test(col("address.city") == "x").leaf.dotted == "address.city"
    assert value_test(col("items.price").all() > 3).leaf.dotted == "items.list.element.price"


@pytest.mark.parametrize("name", ["tags", "tags.list.element", "deep", "items.price", "m.key", "m.value", "bare"])
def test_leaf_below_a_repeated_field_needs_any_or_all(name: str) -> None:
    literal = "x" if name in ("tags", "tags.list.element", "m.key") else 1
    assert f"col('{name}').any()" in refusal(col(name) == literal)
    assert "all()" in refusal(~col(name).is_in([literal]))
    for quantified in (col(name).any(), col(name).all()):
        assert value_test(quantified == literal).quantifier == quantified.quantifier


def test_null_test_of_a_repeated_leaf_needs_any_or_all() -> None:
    assert "any()" in refusal(col("tags.list.element").is_null())
    assert value_test(col("tags").any().is_null()).null_matches
    assert is_never(col("sure_ns").any().is_null())  # its elements are required


@pytest.mark.parametrize("name", ["a", "id", "address.city"])
def test_any_and_all_need_a_repeated_field(name: str) -> None:
    literal = "x" if name == "address.city" else 1
    assert "one value per row" in refusal(col(name).any() == literal)
    assert "one value per row" in refusal(col(name).all().is_null())


def test_group_in_a_comparison_is_refused_naming_its_leaves() -> None:
    assert "'address.city', 'address.zip', 'address.point.lat'" in refusal(col("address") == 1)
    assert "'items.list.element.price'" in refusal(col("items").any() == 1)
    assert "'m.key_value.key', 'm.key_value.value'" in refusal(col("m").any() == 1)
    assert "is a group" in refusal(col("address") < col("a"))


def test_element_of_lists_of_lists_is_the_leaf_at_any_depth() -> None:
    assert value_test(col("deep").any() == 1).leaf.dotted == "deep.list.element.list.element"


def test_map_key_and_value_are_leaves_with_any_and_all() -> None:
    assert value_test(col("m.key").any() == "x").leaf.dotted == "m.key_value.key"
    assert value_test(col("m.value").all() > 1).leaf.dotted == "m.key_value.value"


# Groups


def group_test(predicate: Predicate) -> GroupTest:
    node = only(predicate)
    assert isinstance(node, GroupTest)
    return node


@pytest.mark.parametrize(
    ("name", "cheapest", "layer"),
    [
        ("address", "address.zip", 0),  # four bytes wide, before text and DOUBLE
        ("tags", "tags.list.element", 0),
        ("items", "items.list.element.price", 0),
        ("m", "m.key_value.value", 0),
        ("deep", "deep.list.element.list.element", 0),
        ("outer", "outer.bare", 0),
        ("outer.bare", "outer.bare", 1),  # a required list: null with the struct around it
        ("address.point", "address.point.lat", 0),  # a required group: null with the struct around it
    ],
)
def test_null_test_of_a_group_asks_a_layer_of_the_cheapest_leaf(name: str, cheapest: str, layer: int) -> None:
    for predicate, wants_null in (
        (col(name).is_null(), True),
        (col(name).is_not_null(), False),
        (~col(name).is_null(), False),
        (~col(name).is_not_null(), True),
    ):
        test = group_test(predicate)
        assert (test.leaf.dotted, test.layer, test.wants_null) == (cheapest, layer, wants_null)


@pytest.mark.parametrize("name", ["always", "sure_ns", "bare"])
def test_required_group_is_never_null(name: str) -> None:
    assert is_never(col(name).is_null()) and is_always(col(name).is_not_null())


@pytest.mark.parametrize("name", ["items.list.element", "tags.list", "deep.list.element", "m.key_value"])
def test_group_below_a_repeated_field_has_no_null_test(name: str) -> None:
    assert "below a repeated field" in refusal(col(name).is_null())


def test_group_that_is_repeated_and_a_list_besides_is_the_outer_list() -> None:
    schema = schema_of(group("s", list_group("l", leaf("element", p.INT32), repetition=REPEATED), repetition=OPTIONAL))
    (node,) = bind(col("s.l").is_null(), schema).conjuncts
    assert isinstance(node, GroupTest) and node.layer == 1 and node.leaf.layers[1].slot_repetition == 0


# Any and all


def test_not_any_is_all_not() -> None:
    test = value_test(~(col("ns").any() > 3))
    assert test.quantifier == "all" and test.intervals.pairs == ((None, 4),) and not test.null_matches
    test = value_test(~(col("ns").all() == 3))
    assert test.quantifier == "any" and test.intervals.pairs == ((None, 3), (4, None))
    test = value_test(~col("ns").any().is_null())
    assert test.quantifier == "all" and test.intervals.is_everything and not test.null_matches


def test_null_list_is_unknown_and_an_empty_one_is_false_for_any_and_true_for_all() -> None:
    leaf = "ns.list.element"
    for predicate, answers in (
        #                       null   []     [null] [1]    [1, 9] [9, null] [9]
        (col("ns").any() > 3, (False, False, False, False, True, True, True)),
        (col("ns").all() > 3, (False, True, False, False, False, False, True)),
        (~(col("ns").any() > 3), (False, True, False, True, False, False, False)),
        (~(col("ns").all() > 3), (False, False, False, True, True, False, False)),
        (col("ns").any().is_null(), (False, False, True, False, False, True, False)),
        (col("ns").all().is_null(), (False, True, True, False, False, False, False)),
    ):
        rows: list[Any] = [None, [], [None], [1], [1, 9], [9, None], [9]]
        assert tuple(passes(value_test(predicate), {leaf: row}) for row in rows) == answers


def test_any_of_nothing_is_never_but_all_of_nothing_is_true_of_an_empty_list() -> None:
    assert is_never(col("ns").any().is_in([]))
    test = value_test(col("ns").all().is_in([]))
    assert test.quantifier == "all" and not test.intervals
    test = value_test(col("ns").all() < 2**40)
    assert test.quantifier == "all" and test.intervals.is_everything  # still false for a null list


def test_all_merges_under_and_and_any_under_or() -> None:
    anything, everything = col("ns").any(), col("ns").all()
    assert pairs((everything > 1) & (everything < 5)) == ((2, 5),)
    assert pairs((anything < 1) | (anything > 5)) == ((None, 1), (6, None))
    assert len(bound((anything > 1) & (anything < 5)).conjuncts) == 2
    node = only((everything < 1) | (everything > 5))
    assert isinstance(node, AnyOf) and len(node.args) == 2
    assert len(bound((everything > 1) & (anything > 1)).conjuncts) == 2


# Merging


def test_tests_of_one_leaf_merge_within_and_and_within_or() -> None:
    a, b = col("a"), col("b")
    found = bound((a > 3) & (b > 1) & (a < 9) & a.is_not_null() & (a != 5))
    assert [node.leaf.dotted for node in found.conjuncts if isinstance(node, ValueTest)] == ["a", "b"]
    assert found.conjuncts[0].text == "(a > 3 and a < 9 and a is not null and a != 5)"
    assert pairs((a > 3) & (a < 9) & (a != 5)) == ((4, 5), (6, 9))
    merged = value_test((a < 3) | a.is_null() | a.is_in([3, 7]))
    assert merged.intervals.pairs == ((None, 4), (7, 8)) and merged.null_matches
    assert merged.text == "(a < 3 or a is null or a in (3, 7))"


def test_merged_parts_merge_again_one_level_up() -> None:
    a = col("a")
    test = value_test(((a > 3) & (a < 5)) | (a == 9) | ~((a != 11) | a.is_null()))
    assert test.intervals.pairs == ((4, 5), (9, 10), (11, 12))
    assert test.text == "((a > 3 and a < 5) or a = 9 or (not a != 11 and not a is null))"


def test_tests_in_different_domains_do_not_merge() -> None:
    for predicate, domains in (
        ((col("dfixed") != b"\0\0\0\0\1") & (col("dfixed") > 1), [Domain("bytes"), Domain("decimal")]),
        ((col("u32").raw < 0) & (col("u32") > 5), [INT32, Domain("unsigned", 32)]),
    ):
        assert [node.domain for node in bound(predicate).conjuncts if isinstance(node, ValueTest)] == domains


def test_contradiction_is_fixed_and_decides_the_whole_and() -> None:
    found = bound((col("b") == 1) & (col("a") > 5) & (col("a") < 3))
    assert found.conjuncts == (Fixed(False, "(a > 5 and a < 3)"),)
    assert bound(((col("a") > 5) & (col("a") < 3)) | (col("b") == 1)).conjuncts == bound(col("b") == 1).conjuncts


def test_tautology_is_fixed_and_leaves_nothing() -> None:
    assert is_always(col("a").is_null() | col("a").is_not_null())
    assert is_always((col("id") > 5) | (col("id") <= 5))
    nullable = value_test((col("a") > 5) | (col("a") <= 5))
    assert nullable.intervals.is_everything and not nullable.null_matches
    assert bound(col("id").is_not_null() & (col("a") == 1)).conjuncts == bound(col("a") == 1).conjuncts


def test_predicate_without_conjuncts_keeps_its_text() -> None:
    assert bound(col("id").is_not_null() & (col("id") < 2**70)).text == f"(id is not null and id < {2**70})"
    assert bound((col("a") == 1) & ((col("b") == 2) | (col("id") == 3))).text == "a = 1 and (b = 2 or id = 3)"


def test_or_that_loses_all_but_one_part_joins_the_and_around_it() -> None:
    found = bound((col("a") > 1) & (((col("a") < 9) & (col("b") == 2)) | col("id").is_null()))
    assert [node.text for node in found.conjuncts] == ["(a > 1 and a < 9)", "b = 2"]


def test_conjuncts_are_in_the_order_of_the_predicate() -> None:
    found = bound((col("s") == "x") & (col("b") > 1) & (col("a") > 1) & (col("s") != "y"))
    assert [leaf.dotted for leaf in found.leaves] == ["s", "b", "a"]


# Two columns


def pair(predicate: Predicate) -> PairTest:
    node = only(predicate)
    assert isinstance(node, PairTest)
    return node


@pytest.mark.parametrize(
    ("left", "right", "factors"),
    [
        ("a", "b", (1, 1)),
        ("a", "long", (1, 1)),
        ("a", "u64", (1, 1)),  # signed with unsigned, as numbers
        ("u32", "u64", (1, 1)),
        ("f32", "f64", (1, 1)),
        ("half", "f32", (1, 1)),
        ("d32", "d64", (100, 1)),
        ("d64", "d32", (1, 100)),
        ("dfixed", "dbytes", (1, 100)),
        ("d32", "dfixed", (1, 1)),
        ("dbytes", "d64", (10**4, 1)),
        ("utc_ms", "utc_ns", (10**6, 1)),
        ("int96", "utc_ms", (1, 10**6)),
        ("int96", "utc_ns", (1, 1)),
        ("local_us", "local_us", (1, 1)),
        ("date", "date", (1, 1)),
        ("time_ms", "time_us", (1000, 1)),
        ("s", "address.city", (1, 1)),
        ("s", "raw bytes", (1, 1)),
        ("fixed", "raw bytes", (1, 1)),
        ("uuid", "uuid", (1, 1)),
        ("flag", "sure", (1, 1)),
    ],
)
def test_columns_of_one_kind_compare_with_units_and_scales_aligned(
    left: str, right: str, factors: tuple[int, int]
) -> None:
    for op, negated in (("eq", "ne"), ("lt", "ge"), ("gt", "le")):
        test = pair(ComparePair(col(left), op, col(right)))
        assert (test.left.dotted, test.op, test.right.dotted) == (left, op, right)
        assert (test.left_factor, test.right_factor) == factors
        assert pair(~ComparePair(col(left), op, col(right))).op == negated


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("a", "f64"),
        ("a", "d32"),
        ("a", "s"),
        ("a", "flag"),
        ("a", "date"),
        ("date", "utc_ms"),
        ("date", "time_ms"),
        ("utc_ms", "local_us"),
        ("int96", "local_us"),
        ("uuid", "fixed"),
        ("uuid", "s"),
        ("dbytes", "raw bytes"),
        ("half", "fixed"),
        ("interval", "interval"),
        ("geo", "geo"),
        ("geo", "raw bytes"),
    ],
)
def test_columns_of_different_kinds_do_not_compare(left: str, right: str) -> None:
    for one, other in ((left, right), (right, left)):
        message = refusal(col(one) == col(other))
        assert f"'{one}'" in message and f"'{other}'" in message and "do not compare" in message


def test_null_on_either_side_of_a_pair_is_unknown() -> None:
    for predicate in (col("a") == col("b"), col("a") != col("b"), ~(col("a") < col("b")), col("a") <= col("b")):
        for a, b in ((None, 1), (1, None), (None, None)):
            assert not passes(pair(predicate), {"a": a, "b": b})


def test_pair_keeps_the_domains_of_both_columns() -> None:
    test = pair(col("a") < col("u64"))
    assert (test.left_domain, test.right_domain) == (INT32, Domain("unsigned", 64))
    test = pair(col("d32") < col("dbytes"))
    assert (test.left_domain, test.right_domain) == (INT32, Domain("decimal"))
    test = pair(col("int96") <= col("utc_ms"))
    assert (test.left_domain, test.right_domain) == (Domain("instant"), Domain("signed", 64))


def test_raw_on_both_sides_compares_stored_values() -> None:
    test = pair(col("utc_ms").raw < col("utc_ns").raw)
    assert (test.left_factor, test.right_factor) == (1, 1)
    assert pair(col("interval").raw == col("fixed").raw).left_domain == Domain("bytes")
    assert pair(col("u32").raw < col("a").raw).left_domain == INT32
    assert pair(col("utc_ms").raw < col("long")).right.dotted == "long"  # both are integers


def test_column_may_be_compared_with_itself() -> None:
    test = pair(col("a") == col("a"))
    assert test.left is test.right and len(test.leaves) == 1


def test_columns_below_repeated_fields_do_not_pair() -> None:
    for column in (col("ns"), col("ns.list.element"), col("bare"), col("m"), col("items.price")):
        assert "many values per row" in refusal(col("a") < column)
        assert "many values per row" in refusal(column < col("a"))
    assert "row by row" in refusal(col("ns").any() < col("a"))


def test_scales_far_apart_are_aligned_exactly_beyond_64_bits() -> None:
    schema = schema_of(
        optional("zero", p.BYTE_ARRAY, "DECIMAL", scale=0, precision=40),
        optional("many", p.BYTE_ARRAY, "DECIMAL", scale=38, precision=40),
        optional("hostile", p.BYTE_ARRAY, "DECIMAL", scale=2**31 - 1, precision=2**31 - 1),
    )
    (node,) = bind(col("zero") < col("many"), schema).conjuncts
    assert isinstance(node, PairTest) and (node.left_factor, node.right_factor) == (10**38, 1)
    with pytest.raises(PredicateError, match="apart"):
        bind(col("zero") < col("hostile"), schema)


# Large and deep


def test_thousands_of_conditions_bind_into_one_test() -> None:
    many = 5000
    either = functools.reduce(operator.or_, [col("a") == 2 * number for number in range(many)])
    assert len(value_test(either).intervals.pairs) == many
    assert len(value_test(~either).intervals.pairs) == many + 1
    assert len(value_test(col("a").is_in(range(0, 2 * many, 2))).intervals.pairs) == many


def test_deep_nesting_ends_in_a_predicate_error_or_in_an_answer() -> None:
    nested: Predicate = col("a") == 1
    with pytest.raises(PredicateError, match="nest"):
        for number in range(3000):
            nested = ~(nested & (col("b") != number))
    deepest: Predicate = col("a") == 1
    for number in range(45):
        deepest = (deepest | (col("b") == number)) & (col("id") > number)
    found = bound(deepest)
    assert {leaf.dotted for leaf in found.leaves} == {"a", "b", "id"}
    assert len(pickle.dumps(found.conjuncts)) > 0  # no RecursionError in whoever walks it


def test_text_of_a_negated_test_is_readable() -> None:
    assert value_test(~(col("a") > 3)).text == "not a > 3"
    assert value_test(~col("a").is_in([1, 2])).text == "a not in (1, 2)"
    assert value_test(~(col("ns").any() == 3)).text == "not any(ns) = 3"
    assert pair(~(col("a") < col("b"))).text == "not a < b"
