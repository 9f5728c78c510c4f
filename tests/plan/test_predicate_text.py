"""Text of predicates: it reads back as the same tree, it says what the grammar says, and errors point at the place."""

from __future__ import annotations

import datetime
import decimal
import math
import struct
import sys
import uuid
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from hardwood_jit.errors import PredicateError
from hardwood_jit.plan.predicate import (
    MAX_NESTING,
    And,
    Col,
    Compare,
    Instant,
    Not,
    Or,
    Predicate,
    col,
    level_of,
    moment_of,
)
from hardwood_jit.plan.predicate_text import parse, render, render_column

a = col("a")
b = col("b")
flag = col("flag")

KEYWORDS = ["and", "OR", "Not", "in", "is", "null", "between", "true", "FALSE", "nan", "Inf"]
CALLS = ["any", "all", "raw", "exact", "starts_with", "date", "time", "timestamp", "decimal", "uuid", "b", "x"]

# Every predicate


names = (
    st.sampled_from(
        [*KEYWORDS, *CALLS, "a.b", "a.and", "a..b", ".", "", " a", '"', '""', "'", "ß", "名前", "²", "a-b", "1a", "\n"]
    )
    | st.text(alphabet="ab.\"' 1_é", max_size=8)
    | st.text(max_size=6)
)
paths: st.SearchStrategy[str | tuple[str, ...]] = names | st.lists(names, min_size=1, max_size=3).map(tuple)
columns = st.builds(Col, paths, st.booleans(), st.sampled_from([None, "any", "all"]))

numpy_units = st.sampled_from(["Y", "M", "W", "D", "h", "m", "s", "ms", "us", "ns", "25s"])
literals: st.SearchStrategy[Any] = st.one_of(
    st.booleans(),
    st.integers(),
    st.integers(-(2**2100), 2**2100),
    st.floats(),
    st.decimals() | st.sampled_from([Decimal("sNaN7"), Decimal("-NaN"), Decimal("1E+99999"), Decimal("-0E-30")]),
    st.text(),
    st.text(alphabet="'\"\\\n a", max_size=6),
    st.binary(),
    st.dates(),
    st.times(),
    st.datetimes(timezones=st.none() | st.timezones()),
    st.builds(moment_of, st.integers(-(2**100), 2**100), st.booleans()),
    st.builds(np.datetime64, st.integers(-(2**62), 2**62), numpy_units),
    st.builds(pd.Timestamp, st.integers(-(2**62), 2**62), tz=st.sampled_from([None, "UTC", "Asia/Kolkata"])),
    st.uuids(),
    st.sampled_from([np.int8(-3), np.float32(0.1), np.bool_(True), np.str_("x")]),
)
operators = st.sampled_from(["eq", "ne", "lt", "le", "gt", "ge"])
leaves: st.SearchStrategy[Predicate] = st.one_of(
    st.builds(Compare, columns, operators, literals),
    columns.flatmap(lambda left: columns.map(lambda right: left <= right)),
    st.builds(Col.is_in, columns, st.lists(literals, max_size=4)),
    st.builds(Col.is_between, columns, literals, literals),
    st.builds(Col.is_null, columns),
    st.builds(Col.is_not_null, columns),
    st.builds(Col.starts_with, columns, st.text() | st.binary()),
)
predicates = st.recursive(
    leaves,
    lambda inner: st.one_of(
        inner.map(Not),
        st.lists(inner, min_size=2, max_size=3).map(lambda args: And(tuple(args))),
        st.lists(inner, min_size=2, max_size=3).map(lambda args: Or(tuple(args))),
    ),
    max_leaves=8,
)


@settings(deadline=None)
@given(predicates)
@example(col("\ud800") == "\udfff")
@example((a == 10**700) & (a == -(2**9999)))
@example(a == np.datetime64(2**63 - 1, "Y"))
@example(a == np.datetime64(-(2**63) + 1, "Y"))
def test_text_of_every_predicate_reads_back_as_the_same_tree(predicate: Predicate) -> None:
    text = str(predicate)
    again = parse(text)
    assert again == predicate
    assert hash(again) == hash(predicate)
    assert str(again) == text


@given(columns)
def test_column_reads_back_with_the_same_kind_of_path(column: Col) -> None:
    assert parse(f"{render_column(column)} is null") == column.is_null()


words = ["a", "and", "or", "not", "(", ")", "=", "3", "'x'", ",", "in", "is", "null", "between", "any", "date", "true"]


@given(
    st.text(max_size=20)
    | st.text(alphabet="ab()'\"=<>!,. 01-+eandorotisulx\\&\n", max_size=30)
    | st.lists(st.sampled_from(words), max_size=12).map(" ".join)
)
def test_any_text_is_a_predicate_or_a_predicate_error(text: str) -> None:
    try:
        predicate = parse(text)
    except PredicateError as error:
        assert "position" in str(error)
        assert str(error).splitlines()[-1].strip() == "^"
    else:
        assert parse(str(predicate)) == predicate


# What the text looks like


@pytest.mark.parametrize(
    ("predicate", "text"),
    [
        (a > 21, "a > 21"),
        (a == 1, "a = 1"),
        (a != 1.0, "a != 1.0"),
        (col("a.b") <= -3, "a.b <= -3"),
        (a == "it's", "a = 'it''s'"),
        (a == b"\x00'\\z\xff", r"a = b'\x00''\\z\xff'"),
        (a == True, "a = true"),  # noqa: E712
        (a == math.nan, "a = nan"),
        (a == -math.inf, "a = -inf"),
        (a == 1e300, "a = 1e+300"),
        (a == datetime.date(2025, 1, 31), "a = date('2025-01-31')"),
        (a == datetime.time(12, 30), "a = time('12:30:00')"),
        (a == datetime.datetime(2025, 1, 31, 12), "a = timestamp('2025-01-31T12:00:00')"),
        (a == datetime.datetime(2025, 1, 31, tzinfo=datetime.UTC), "a = timestamp('2025-01-31T00:00:00Z')"),
        (a == np.datetime64("2025-01-31T00:00:00.5"), "a = timestamp('2025-01-31T00:00:00.500')"),
        (a == pd.Timestamp("2025-01-31T00:00:00.000000001Z"), "a = timestamp('2025-01-31T00:00:00.000000001Z')"),
        (a == np.datetime64("-0044-03-15", "s"), "a = timestamp('-0044-03-15T00:00:00')"),
        (a == np.datetime64("12025-03-15", "s"), "a = timestamp('+12025-03-15T00:00:00')"),
        (a == Decimal("1.50"), "a = decimal('1.50')"),
        (a == uuid.UUID(int=1), "a = uuid('00000000-0000-0000-0000-000000000001')"),
        (a == 2**2048, "a = 0x1" + "0" * 512),
        (a.is_in([1, "x"]), "a in (1, 'x')"),
        (a.is_in([]), "a in ()"),
        (~a.is_in([1]), "a not in (1)"),
        (a.is_between(1, 2), "a between 1 and 2"),
        (~a.is_between(1, 2), "a not between 1 and 2"),
        (a.is_null(), "a is null"),
        (a.is_not_null(), "a is not null"),
        (~a.is_null(), "not a is null"),
        (~~a.is_in([1]), "not a not in (1)"),
        (a.starts_with("p"), "starts_with(a, 'p')"),
        (a < b, "a < b"),
        (col("tags").any() == "x", "any(tags) = 'x'"),
        (col("ts").raw >= 5, "raw(ts) >= 5"),
        (col("ts").all().raw >= 5, "all(raw(ts)) >= 5"),
        (~flag, "not flag = true"),
        ((a == 1) & (b == 2) & flag, "a = 1 and b = 2 and flag = true"),
        ((a == 1) & ((b == 2) | flag), "a = 1 and (b = 2 or flag = true)"),
        (((a == 1) & (b == 2)) | flag, "(a = 1 and b = 2) or flag = true"),
        (~((a == 1) & (b == 2)), "not (a = 1 and b = 2)"),
        (col("and").is_null(), '"and" is null'),
        (col("NaN").is_null(), '"NaN" is null'),
        (col("a.and").is_null(), "a.and is null"),
        (col("date").is_null(), "date is null"),
        (col("unit price").is_null(), '"unit price" is null'),
        (col("items.unit price").is_null(), '"items.unit price" is null'),
        (col('say "hi"').is_null(), '"say ""hi""" is null'),
        (col("Größe").is_null(), "Größe is null"),
        (col("1a").is_null(), '"1a" is null'),
        (col("").is_null(), '"" is null'),
        (col(("a.b", "c")).is_null(), '"a.b"."c" is null'),
        (col(("a", "b")).is_null(), '"a"."b" is null'),
        (col(("a.b",)).is_null(), 'exact("a.b") is null'),
    ],
    ids=str,
)
def test_predicate_is_written_as_expected(predicate: Predicate, text: str) -> None:
    assert render(predicate) == str(predicate) == text
    assert parse(text) == predicate


# What may also be written


def test_the_example_of_the_documentation() -> None:
    text = "age > 21 and (city in ('NYC', 'LA') or not name is null) and when >= timestamp('2025-01-01T00:00:00Z')"
    start = datetime.datetime(2025, 1, 1, tzinfo=datetime.UTC)
    either = col("city").is_in(["NYC", "LA"]) | ~col("name").is_null()
    predicate = (col("age") > 21) & either & (col("when") >= start)
    assert parse(text) == predicate
    assert str(predicate) == text


@pytest.mark.parametrize(
    ("text", "predicate"),
    [
        ("a == 1", a == 1),
        ("a <> 1", a != 1),
        ("a=1", a == 1),
        ("a>-1", a > -1),
        ("a = +1", a == 1),
        ("a = 1.", a == 1.0),
        ("a = .5", a == 0.5),
        ("a = 1e3", a == 1000.0),
        ("a = 1E-3", a == 0.001),
        ("a = 0x1F", a == 31),
        ("a = -0xff", a == -255),
        ("a = 007", a == 7),
        ("a = -0.0", a == -0.0),
        ("a = 0e5", a == 0.0),
        ("a = -0", a == 0),
        ("a = NaN", a == math.nan),
        ("a = -nan", a == math.nan),
        ("a = +Inf", a == math.inf),
        ("3 < a", a > 3),
        ("3 = a", a == 3),
        ("'x' >= a", a <= "x"),
        ("date('2025-01-01') != a", a != datetime.date(2025, 1, 1)),
        ("  a\n\t= \r\n1 ", a == 1),
        ("A = 1", col("A") == 1),
        ("flag", flag == True),  # noqa: E712
        ("not flag", ~flag),
        ("flag and any(flags)", flag & col("flags").any()),
        ("NOT a = 1 AND b = 2 OR flag", (~(a == 1) & (b == 2)) | flag),
        ("a = 1 or b = 2 and flag", (a == 1) | ((b == 2) & flag)),
        ("not not a = 1", ~~(a == 1)),
        ("not (a = 1 or b = 2)", ~((a == 1) | (b == 2))),
        ("((a = 1))", a == 1),
        ("(a = 1 and b = 2) and flag", (a == 1) & (b == 2) & flag),
        ("a Between 1 And 2 And b = 2", a.is_between(1, 2) & (b == 2)),
        ("a NOT BETWEEN 1 AND 2", ~a.is_between(1, 2)),
        ("a Is Not Null", a.is_not_null()),
        ("a In(1,2)", a.is_in([1, 2])),
        ("a not in ( )", ~a.is_in([])),
        ("a = TRUE", a == True),  # noqa: E712
        ("STARTS_WITH ( a , b'x' )", a.starts_with(b"x")),
        ("raw(any(tags)) = 5", col("tags").any().raw == 5),
        ("any(any(tags)) = 5", col("tags").any() == 5),
        ("a = B'x'", a == b"x"),
        (r"a = b'it\'s\n\r\t\\'", a == b"it's\n\r\t\\"),
        (r"a = b'\xFF'", a == b"\xff"),
        ("a = ''", a == ""),
        ("a = ''''", a == "'"),
        ("a = 'x\ny'", a == "x\ny"),
        ("b = b'b'", b == b"b"),
        ("date >= date('2025-01-01')", col("date") >= datetime.date(2025, 1, 1)),
        ("time = time('12:30')", col("time") == datetime.time(12, 30)),
        ("any = 1 and all = 2", (col("any") == 1) & (col("all") == 2)),
        ("any(any) = 1", col("any").any() == 1),
        ("starts_with = 1", col("starts_with") == 1),
        ("a = date", a == col("date")),
        ('"a.b".c = 1', col(("a.b", "c")) == 1),
        ('a."b c".d = 1', col(("a", "b c", "d")) == 1),
        ("exact(a.b) = 1", col(("a", "b")) == 1),
        ('exact("a.b") = 1', col(("a.b",)) == 1),
        ('exact(a."b.c") = 1', col(("a", "b.c")) == 1),
        ('raw(exact("and")) = 1', col(("and",)).raw == 1),
        ('"a" = 1', a == 1),
        ("a = decimal('1e5')", a == Decimal("1E+5")),
        ("a = DECIMAL('-.5')", a == Decimal("-0.5")),
        ("a = uuid('00000000000000000000000000000001')", a == uuid.UUID(int=1)),
        ("a = time('12:30:59.5')", a == datetime.time(12, 30, 59, 500_000)),
        ("a = timestamp('2025-01-01')", a == datetime.datetime(2025, 1, 1)),
        ("a = timestamp('2025-01-01 12:30')", a == datetime.datetime(2025, 1, 1, 12, 30)),
        (
            "a = timestamp('2025-01-01T01:00:00+02:00')",
            a == datetime.datetime(2024, 12, 31, 23, tzinfo=datetime.UTC),
        ),
        (
            "a = timestamp('2025-01-01T01:00:00-0530')",
            a == datetime.datetime(2025, 1, 1, 6, 30, tzinfo=datetime.UTC),
        ),
        ("a = timestamp('1970-01-01T00:00:00.000000001')", a == Instant(1, False)),
        ("a = timestamp('1969-12-31T23:59:59.999999999Z')", a == Instant(-1, True)),
        ("a = timestamp('1970-01-01T00:00:00.000001000Z')", a == Instant(1000, True)),
        ("a = timestamp('2000-02-29')", a == datetime.datetime(2000, 2, 29)),
    ],
)
def test_text_is_read_as_expected(text: str, predicate: Predicate) -> None:
    assert parse(text) == predicate


# Errors


@pytest.mark.parametrize(
    ("text", "position", "message"),
    [
        ("", 1, "found the end, expected a column or a literal"),
        ("   ", 4, "found the end, expected a column or a literal"),
        ("a =", 4, "found the end, expected a literal or a column"),
        ("a > 21 and and b", 12, "found 'and', expected a column or a literal"),
        ("a = 1 b = 2", 7, "found 'b', expected an operator, and, or, or the end"),
        ("a like 'x%'", 3, "found 'like', expected an operator"),
        ("(a = 1", 7, "found the end, expected an operator, and, or, or )"),
        ("a = 1)", 6, "found ')', expected an operator, and, or, or the end"),
        ("1 < a < 5", 7, "between 1 and 5"),
        ("(1 < a < 5)", 8, "between 1 and 5"),
        ("1 = 1", 5, "one side of a comparison is a column"),
        ("1 = date('2025-01-01')", 5, "one side of a comparison is a column"),
        ("1", 2, "expected a comparison"),
        ("true", 5, "expected a comparison"),
        ("a = null", 5, "write `is null`"),
        ("a != NULL", 6, "write `is null` or `is not null`"),
        ("a in (1, null)", 10, "write `is null`"),
        ("a in 1", 6, "found '1', expected ( and a list of literals"),
        ("a in (1 2)", 9, "found '2', expected a comma or )"),
        ("a in (1,)", 9, "found ')', expected a literal"),
        ("a in (b)", 7, "found 'b', expected a literal"),
        ("a not = 1", 7, "expected in or between"),
        ("a is 3", 6, "expected null or not null"),
        ("a is not 3", 10, "expected null"),
        ("a between 1 or 2", 13, "expected and with the upper end"),
        ("a between b and 2", 11, "expected a literal"),
        ("a = 'x", 5, "no closing quote"),
        ("a = b'x", 6, "no closing quote"),
        ('a = "x', 5, "no closing double quote"),
        ("a && b", 3, "expected the word and"),
        ("a || b", 3, "expected the word or"),
        ("~a", 1, "expected the word not"),
        ("!a", 1, "expected != or the word not"),
        ("`a b` = 1", 1, "expected double quotes"),
        ("a = 12ab", 5, "found '12ab', which is no name, number"),
        ("1st = 3", 1, "a name that starts with a digit stands in double quotes"),
        ("a = 1.2.3", 5, "'1.2.3'"),
        ("a = $1", 5, "found '$'"),
        ("a. = 1", 2, "found '.'"),
        ("a = 1e999", 5, "beyond a float"),
        ("a = -1e-999", 5, "beyond a float"),
        ("a = date('2025-02-29')", 10, "day is out of range"),
        ("a = date('31.1.2025')", 10, "found '31.1.2025', expected it as in date('2025-01-31')"),
        ("a = date(20250131)", 10, "expected text in quotes, as in date('…')"),
        ("a = date '2025-01-31'", 10, "found \"'2025-01-31'\", expected an operator"),
        ("a = time('25:00')", 10, "hour"),
        ("a = time('12:00Z')", 10, "expected it as in time('12:30:59.123456')"),
        ("a = time('12:00:00.123456789')", 10, "raw(column)"),
        ("a = timestamp('2025-01-01T24:00')", 15, "hour"),
        ("a = timestamp('2025-01-01T12:00:60')", 15, "second"),
        ("a = timestamp('1900-02-29')", 15, "day is out of range"),
        ("a = timestamp('12025-01-01')", 15, "expected it as in timestamp("),
        ("a = timestamp('2025-01-01T12:00:00.1234567891')", 15, "expected it as in timestamp("),
        ("a = timestamp('2025-01-01T12:00+24:00')", 15, "hour"),
        ("a = timestamp('2025-01-01T12:00+01:60')", 15, "minute"),
        ("a = timestamp('+" + "9" * 5000 + "-01-01')", 15, ""),
        ("a = timestamp('+" + "9" * 50 + "-01-01')", 15, "2**128"),
        ("a = decimal('1_000')", 13, "expected it as in decimal('12.50')"),
        ("a = decimal('1e9999999999999999999')", 13, ""),
        ("a = uuid('1')", 10, "expected it as in uuid("),
        ("a = timestamp(b'x')", 15, "expected text in quotes"),
        ("a = date('2025-01-31'", 22, "expected )"),
        (r"a = b'\q'", 5, r"unknown escape \q"),
        (r"a = b'\x1'", 5, r"unknown escape \x"),
        ("a = b'é'", 5, "ASCII"),
        ("foo(a) = 1", 1, "found 'foo', expected a column or one of any, all, raw"),
        ("any(1) = 1", 5, "found '1', expected a column"),
        ("any(a = 1)", 7, "found '=', expected )"),
        ("any(all(a)) = 1", 1, "exclude each other"),
        ("exact(any(a)) = 1", 7, "found 'any'"),
        ("starts_with(a)", 14, "expected a comma and the prefix"),
        ("starts_with(a, 3)", 16, "a prefix is 'text' or b'bytes'"),
        ("starts_with(a, b)", 16, "expected a prefix: 'text' or b'bytes'"),
        ("starts_with('a', 'b')", 13, "expected a column"),
        ("not", 4, "found the end, expected a column or a literal"),
        ("()", 2, "found ')', expected a column or a literal"),
    ],
)
def test_error_names_the_position_and_what_was_expected(text: str, position: int, message: str) -> None:
    with pytest.raises(PredicateError) as caught:
        parse(text)
    first, shown, caret = str(caught.value).split("\n")
    assert first.startswith(f"predicate text, position {position}: ")
    assert message in first
    assert "predicate text" not in first[1:]
    pointed = shown[caret.index("^") :]
    assert text[position - 1 :].startswith(pointed)
    assert len(shown) <= 110


def test_error_in_a_text_of_several_lines_shows_the_line() -> None:
    with pytest.raises(PredicateError) as caught:
        parse("a = 1\n  and b >\n  or c = 3")
    assert str(caught.value) == (
        "predicate text, line 3, position 3: found 'or', expected a literal or a column\n    or c = 3\n    ^"
    )


def test_error_in_a_long_text_shows_the_surroundings() -> None:
    with pytest.raises(PredicateError) as caught:
        parse(" and ".join(["a = 1"] * 1000 + ["b ="] + ["a = 1"] * 1000))
    first, shown, caret = str(caught.value).split("\n")
    assert "position 10005" in first
    assert shown.startswith("  …")
    assert shown[caret.index("^") :].startswith("and a = 1")


def test_only_text_is_parsed() -> None:
    for given_ in (b"a = 1", None, a == 1, [("a", "=", 1)]):
        wrong: Any = given_
        with pytest.raises(TypeError, match="takes text"):
            parse(wrong)


# Size


def test_parentheses_may_nest_deeper_than_python_calls() -> None:
    depth = 50 * sys.getrecursionlimit()
    assert parse("(" * depth + "a = 1" + ")" * depth) == (a == 1)


@pytest.mark.parametrize(
    "text",
    [
        "not " * 100_000 + "a = 1",
        "(a = 1 and (b = 2 or " * 50_000 + "a = 1" + "))" * 50_000,
        "not (" * 50_000 + "a = 1" + ")" * 50_000,
    ],
    ids=["not", "and or", "not ("],
)
def test_trees_too_deep_to_walk_are_refused(text: str) -> None:
    with pytest.raises(PredicateError, match=rf"position \d+: predicates nest at most {MAX_NESTING} levels"):
        parse(text)


@pytest.mark.parametrize("opening", ["(", "any(", "not ", "raw(any(", "exact(", "a in (", "(a = 1 and "])
def test_endless_opening_is_a_predicate_error(opening: str) -> None:
    with pytest.raises(PredicateError, match="position"):
        parse(opening * 100_000)


def test_deepest_tree_reads_back() -> None:
    predicate = a == 1
    while level_of(predicate) < MAX_NESTING:
        predicate = (predicate & (b == 2)) if isinstance(predicate, Or) else (predicate | flag)
    assert parse(str(predicate)) == predicate


def test_wide_predicates_read_back() -> None:
    count = 20_000  # far above the recursion limit
    predicate = Or(tuple([a == i for i in range(count)])) & b.is_in(range(count))
    assert parse(str(predicate)) == predicate


def test_hostile_quotes_take_linear_time() -> None:
    # Two million characters: a quadratic scan would take hours.
    for text in (
        'a = "' + '""' * 10**6,
        "a = 'x" + "''" * 10**6,
        "a = b'" + r"\\" * 10**6,
        "a = " + "1" * 2 * 10**6 + "x",
    ):
        with pytest.raises(PredicateError):
            parse(text)


def test_integers_longer_than_python_prints_are_written_in_hexadecimal() -> None:
    limit = sys.get_int_max_str_digits()
    try:
        sys.set_int_max_str_digits(640)  # the lowest that Python allows
        for value in (2**2048 - 1, 2**2048, -(2**5000), 10**616):
            assert parse(str(a == value)) == (a == value)
        with pytest.raises(PredicateError, match="hexadecimal"):
            parse("a = " + "9" * 641)
    finally:
        sys.set_int_max_str_digits(limit)


def test_decimals_do_not_depend_on_the_context_of_the_caller() -> None:
    value = Decimal("123456789.123456789")
    with decimal.localcontext(decimal.Context(prec=2, traps=[])):
        assert parse(str(a == value)) == (a == value)
        with pytest.raises(PredicateError):
            parse("a = decimal('1e9999999999999999999')")


def test_every_nan_is_one_literal() -> None:
    payload = struct.unpack("<d", bytes.fromhex("010000000000f8ff"))[0]
    assert parse(str(a == payload)) == (a == payload) == (a == -math.nan)
