"""Expressions: what operators build, what literals become, when trees are equal, what is refused with which hint."""

from __future__ import annotations

import copy
import datetime
import enum
import functools
import math
import operator
import pickle
import struct
import subprocess
import sys
import uuid
import zoneinfo
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hardwood_jit.errors import PredicateError
from hardwood_jit.plan.predicate import (
    MAX_NESTING,
    And,
    Between,
    Col,
    Compare,
    ComparePair,
    Instant,
    IsIn,
    IsNotNull,
    IsNull,
    Not,
    Or,
    Predicate,
    StartsWith,
    all_of,
    any_of,
    as_predicate,
    col,
    columns_of,
    date_of_days,
    days_since_epoch,
    level_of,
    moment_of,
    nanoseconds_of,
)

a = col("a")
b = col("b")
flag = col("flag")

OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "eq": operator.eq,
    "ne": operator.ne,
    "lt": operator.lt,
    "le": operator.le,
    "gt": operator.gt,
    "ge": operator.ge,
}
MIRRORED = {"eq": "eq", "ne": "ne", "lt": "gt", "le": "ge", "gt": "lt", "ge": "le"}


def _name(value: object) -> str:
    """The same in every process: what prints its address is named by its type."""
    shown = repr(value)
    return type(value).__name__ if " at 0x" in shown else shown



def literal(value: object) -> Any:
    """What a node holds for a value."""
    node = a == value
    assert isinstance(node, Compare)
    return node.literal


def same_column(one: Col, two: Col) -> bool:
    return (one.path, one.is_raw, one.quantifier) == (two.path, two.is_raw, two.quantifier)


# What operators build


@pytest.mark.parametrize("op", OPERATORS)
def test_column_compared_with_a_literal_keeps_both(op: str) -> None:
    node = OPERATORS[op](a, 3)
    assert isinstance(node, Compare)
    assert (node.column.path, node.op, node.literal) == ("a", op, 3)


@pytest.mark.parametrize("op", OPERATORS)
@pytest.mark.parametrize(
    "value",
    [
        3,
        2.5,
        "x",
        b"x",
        Decimal(3),
        datetime.date(2025, 1, 1),
        datetime.datetime(2025, 1, 1),
        datetime.time(1),
        uuid.UUID(int=1),
        np.int64(3),
        np.uint8(3),
        np.float32(0.5),
        np.bool_(True),
        np.str_("x"),
        np.datetime64("2025-01-01", "ns"),
        pd.Timestamp("2025-01-01", tz="UTC"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_literal_on_the_left_turns_the_comparison_round(op: str, value: object) -> None:
    assert OPERATORS[op](value, a) == Compare(a, MIRRORED[op], value)


@pytest.mark.parametrize("op", OPERATORS)
def test_two_columns_compare_as_a_pair(op: str) -> None:
    node = OPERATORS[op](a, b.raw)
    assert isinstance(node, ComparePair)
    assert (node.left.path, node.op, node.right.path, node.right.is_raw) == ("a", op, "b", True)


def test_methods_build_their_nodes() -> None:
    assert a.is_in([1, 2]) == IsIn(a, (1, 2))
    assert a.is_between(1, 2.0) == Between(a, 1, 2.0)
    assert a.is_null() == IsNull(a)
    assert a.is_not_null() == IsNotNull(a)
    assert a.starts_with("x") == StartsWith(a, "x")
    assert a.starts_with(b"x") == StartsWith(a, b"x")


def test_nodes_match_by_position() -> None:
    match (a > 3) & ~a.is_between(1, 2):
        case And((Compare(Col("a", False, None), "gt", 3), Not(Between(_, 1, 2)))):
            return
    pytest.fail("no match")


def test_raw_and_quantifiers_give_new_columns() -> None:
    column = col("a")
    assert column.raw.is_raw
    assert column.any().quantifier == "any"
    assert column.all().quantifier == "all"
    assert not column.is_raw
    assert column.quantifier is None
    assert same_column(column.raw.any(), column.any().raw.any())
    with pytest.raises(PredicateError, match="exclude each other"):
        column.any().all()


def test_path_is_text_or_a_tuple_of_names() -> None:
    assert col("a.b").path == "a.b"
    assert col(("a.b", "c")).path == ("a.b", "c")
    assert type(col(np.str_("a")).path) is str
    wrong: list[Any] = [(), ("a", 1), ["a"], 3, None, b"a"]
    for path in wrong:
        with pytest.raises(TypeError, match="give a name"):
            col(path)


@pytest.mark.parametrize("kind", [And, Or])
def test_junctions_are_flat_however_they_are_built(kind: type[And] | type[Or]) -> None:
    join = operator.and_ if kind is And else operator.or_
    p, q, r, s = (col(name) == 1 for name in "pqrs")
    flat = kind((p, q, r, s))
    assert flat.args == (p, q, r, s)
    assert join(join(p, q), join(r, s)) == flat
    assert join(p, join(q, join(r, s))) == flat
    assert kind((p, kind((q, kind((r, s)))))) == flat
    assert level_of(join(join(p, q), join(r, s))) == level_of(flat) == 2


def test_and_inside_or_stays_a_node_of_its_own() -> None:
    p, q, r = (col(name) == 1 for name in "pqr")
    assert (p & q) | r == Or((And((p, q)), r))
    assert p & (q | r) == And((p, Or((q, r))))


def test_double_negation_stays() -> None:
    assert ~~(a == 1) == Not(Not(a == 1))


def test_bare_column_beside_an_operator_is_a_boolean_that_must_be_true() -> None:
    true = Compare(flag, "eq", True)
    assert flag & (a > 3) == And((true, a > 3))
    assert (a > 3) & flag == And((a > 3, true))
    assert flag | a == Or((true, Compare(a, "eq", True)))
    assert ~flag == Not(true)
    assert as_predicate(flag) == true
    assert And((flag, a)) == flag & a  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", [And, Or])
def test_junction_of_fewer_than_two_is_refused(kind: type[And] | type[Or]) -> None:
    for args in [(), (a == 1,)]:
        with pytest.raises(PredicateError, match="two or more"):
            kind(args)
    assert all_of([a == 1]) == any_of([a == 1]) == (a == 1)


def test_thousands_of_conditions_join_one_by_one() -> None:
    count = 5000  # quadratic work over arguments would take seconds here, and recursion would fail
    joined = functools.reduce(operator.or_, [(a == i) & (b == i) for i in range(count)])
    assert isinstance(joined, Or)
    assert len(joined.args) == count
    assert level_of(joined) == 3


def test_nesting_has_a_limit_that_says_so() -> None:
    p = a == 1
    for _ in range(MAX_NESTING - 1):
        p = ~p
    assert level_of(p) == MAX_NESTING
    assert pickle.loads(pickle.dumps(p)) == p
    hash(p)
    attempts: list[Callable[[], object]] = [lambda: ~p, lambda: p & p, lambda: Or((p, p))]
    for deeper in attempts:
        with pytest.raises(PredicateError, match=f"at most {MAX_NESTING} levels"):
            deeper()


# Equality


NAN_WITH_PAYLOAD = struct.unpack("<d", bytes.fromhex("010000000000f8ff"))[0]
DIFFERENT = [
    1,
    1.0,
    True,
    Decimal(1),
    Decimal("1.0"),
    Decimal("1E0") * 10,
    Decimal("1E1"),
    Decimal("NaN"),
    Decimal("sNaN"),
    Decimal("-0"),
    Decimal(0),
    "1",
    b"1",
    0,
    0.0,
    -0.0,
    False,
    math.nan,
    math.inf,
    -math.inf,
    datetime.date(2025, 1, 1),
    datetime.datetime(2025, 1, 1),
    datetime.datetime(2025, 1, 1, tzinfo=datetime.UTC),
    np.datetime64("2025-01-01T00:00:00.000000001"),
    pd.Timestamp("2025-01-01T00:00:00.000000001Z"),
    datetime.time(0),
    uuid.UUID(int=1),
]


def test_equality_looks_at_type_and_bits_of_literals() -> None:
    for make in (lambda value: a == value, lambda value: a.is_in([value]), lambda value: a.is_between(value, value)):
        predicates = [make(value) for value in DIFFERENT]
        for i, one in enumerate(predicates):
            for j, two in enumerate(predicates):
                equal = one == two
                assert type(equal) is bool
                assert equal == (i == j), (one, two)
                assert (one != two) == (i != j)
        assert len(set(predicates)) == len(DIFFERENT)


def test_equality_looks_at_paths_flags_operators_and_order() -> None:
    different = [
        col("a.b") == 1,
        col(("a", "b")) == 1,
        col(("a.b",)) == 1,
        col("a.b").raw == 1,
        col("a.b").any() == 1,
        col("a.b").all() == 1,
        col("a.b") != 1,
        col("a.b") == col("a.b"),
        col("a.b").is_in([1]),
        col("a.b").is_in([1, 1]),
        col("a.b").is_null(),
        col("a.b").is_not_null(),
        ~col("a.b").is_null(),
        col("a.b").starts_with("x"),
        col("a.b").starts_with(b"x"),
        (a == 1) & (b == 1),
        (b == 1) & (a == 1),
        (a == 1) | (b == 1),
    ]
    assert len(set(different)) == len(different)
    assert all((one == two) == (one is two) for one in different for two in different)


def test_equal_trees_have_equal_hashes() -> None:
    def make() -> Predicate:
        return (col("x") == math.nan) & ~col("y").is_in([Decimal("sNaN"), -0.0]) | flag

    assert make() == make()
    assert hash(make()) == hash(make())
    assert (a == NAN_WITH_PAYLOAD) == (a == math.nan)
    assert hash(a == NAN_WITH_PAYLOAD) == hash(a == math.nan)


def test_predicate_differs_from_anything_else() -> None:
    predicate = a == 1
    others: list[object] = [1, None, "a = 1", (a,)]
    for other in others:
        assert (predicate == other) is False
        assert (predicate != other) is True


def test_sets_give_the_same_predicate_in_any_order() -> None:
    names = [f"name {i}" for i in range(20)]
    assert a.is_in(set(names)) == a.is_in(frozenset(reversed(names))) == a.is_in(sorted(names))
    assert a.is_in({10, 9, 100}) == a.is_in([9, 10, 100])
    mixed = [1, "x", b"y", Decimal("NaN"), math.nan, datetime.date(2025, 1, 1)]
    backwards = mixed[::-1]
    assert a.is_in(set(mixed)) == a.is_in(set(backwards))


# Immutability, pickling


def test_expressions_are_immutable_and_have_no_dict() -> None:
    for node, name in [(a, "path"), (a == 1, "literal"), ((a == 1) & (b == 2), "args"), (~flag, "arg")]:
        with pytest.raises(AttributeError):
            setattr(node, name, None)
        assert not hasattr(node, "__dict__")


@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_expressions_pickle_and_copy(protocol: int) -> None:
    predicate = functools.reduce(operator.and_, [a == value for value in DIFFERENT]) | ~a.is_in(DIFFERENT)
    assert pickle.loads(pickle.dumps(predicate, protocol)) == predicate
    assert copy.deepcopy(predicate) == predicate == copy.copy(predicate)
    column = col(("a.b", "c")).raw.any()
    assert same_column(pickle.loads(pickle.dumps(column, protocol)), column)


def test_pickle_comes_back_in_a_process_that_imported_nothing() -> None:
    predicate = (a == pd.Timestamp("2025-01-01T00:00:00.000000001Z")) & col("tags").any().starts_with("é")
    code = "import pickle, sys; sys.stdout.buffer.write(str(pickle.load(sys.stdin.buffer)).encode())"
    done = subprocess.run(
        [sys.executable, "-c", code], input=pickle.dumps(predicate), capture_output=True, check=True, timeout=60
    )
    assert done.stdout.decode() == str(predicate)


# Literals


class Colour(str, enum.Enum):  # noqa: UP042 - prints as Colour.RED, unlike a StrEnum
    RED = "red"


class Level(enum.IntEnum):
    HIGH = 3


@pytest.mark.parametrize(
    ("given", "held"),
    [
        (np.int8(-3), -3),
        (np.uint64(2**64 - 1), 2**64 - 1),
        (np.float32(0.1), 0.10000000149011612),
        (np.float16(0.5), 0.5),
        (np.float64(0.1), 0.1),
        (np.bool_(False), False),
        (np.str_("x"), "x"),
        (np.bytes_(b"x"), b"x"),
        (np.void(b"xy"), b"xy"),
        (bytearray(b"x"), b"x"),
        (memoryview(b"xyz")[::2], b"xz"),
        (Colour.RED, "red"),
        (Level.HIGH, 3),
        (pa.scalar(7, pa.int8()), 7),
        (pa.scalar("x"), "x"),
        (datetime.time(1, 2, 3, 4, fold=1), datetime.time(1, 2, 3, 4)),
        (pd.Timestamp("2025-01-01T01:02:03.000004"), datetime.datetime(2025, 1, 1, 1, 2, 3, 4)),
        (np.datetime64("2025-01-01"), datetime.datetime(2025, 1, 1)),
        (np.datetime64("2025-03"), datetime.datetime(2025, 3, 1)),
        (np.datetime64("1969", "Y"), datetime.datetime(1969, 1, 1)),
        (np.datetime64("1969-12", "M"), datetime.datetime(1969, 12, 1)),
        (np.datetime64("1970-01-08", "W"), datetime.datetime(1970, 1, 8)),
        (np.datetime64("2025-01-01T01", "h"), datetime.datetime(2025, 1, 1, 1)),
        (np.datetime64("2025-01-01T01:02", "m"), datetime.datetime(2025, 1, 1, 1, 2)),
        (np.datetime64("2025-01-01T01:02", "s"), datetime.datetime(2025, 1, 1, 1, 2)),
        (np.datetime64(25, ("ms", 10)), datetime.datetime(1970, 1, 1, 0, 0, 0, 250_000)),
        (np.datetime64("1970-01-01T00:00:00.000001000000", "ps"), datetime.datetime(1970, 1, 1, 0, 0, 0, 1)),
        (np.datetime64(5, "ns"), Instant(5, False)),
        (np.datetime64(-1, "ns"), Instant(-1, False)),
        (pd.Timestamp(5, tz="UTC"), Instant(5, True)),
        (pd.Timestamp(5, tz="Asia/Kolkata"), Instant(5, True)),
        (np.datetime64("10000-01-01", "s"), Instant(253402300800 * 10**9, False)),
        (np.datetime64("0000-12-31", "D"), Instant(-719163 * 86_400 * 10**9, False)),
        (pd.Timestamp(np.datetime64("10000-01-01", "s")), Instant(253402300800 * 10**9, False)),
        (Instant(5_000, True), datetime.datetime(1970, 1, 1, 0, 0, 0, 5, tzinfo=datetime.UTC)),
    ],
    ids=_name,
)
def test_literal_is_held_as_its_plain_value(given: object, held: object) -> None:
    found = literal(given)
    assert type(found) is type(held)
    assert found == held
    assert (a == given) == (a == held)
    assert literal(found) == held


def test_aware_moments_are_held_in_utc() -> None:
    zone = zoneinfo.ZoneInfo("Europe/Berlin")
    noon = datetime.datetime(2025, 7, 1, 12, tzinfo=zone)
    assert literal(noon).tzinfo is datetime.UTC
    assert literal(noon) == noon
    assert (a == noon) == (a == noon.astimezone(datetime.timezone(datetime.timedelta(hours=-5))))
    # One wall clock reading, twice an hour apart, when summer time ends.
    twice = datetime.datetime(2025, 10, 26, 2, 30, tzinfo=zone)
    assert literal(twice.replace(fold=1)) - literal(twice) == datetime.timedelta(hours=1)
    assert (a == twice.replace(tzinfo=None)) == (a == twice.replace(tzinfo=None, fold=1))


def test_refused_time_with_a_zone_names_column_and_literal() -> None:
    with pytest.raises(PredicateError, match=r"col\('a'\).*datetime.time\(12, 30, .*has a time zone"):
        a < datetime.time(12, 30, tzinfo=datetime.UTC)  # noqa: B015


def test_moment_that_leaves_the_years_of_datetime_in_utc_is_an_instant() -> None:
    late = datetime.datetime.max.replace(tzinfo=datetime.timezone(datetime.timedelta(hours=-1)))
    early = datetime.datetime.min.replace(tzinfo=datetime.timezone(datetime.timedelta(hours=1)))
    hour = 3600 * 10**9
    assert literal(late) == Instant(nanoseconds_of(datetime.datetime.max) + hour, True)
    assert literal(early) == Instant(nanoseconds_of(datetime.datetime.min) - hour, True)


@given(st.datetimes(timezones=st.none() | st.timezones()))
def test_datetime_is_held_as_the_same_moment(moment: datetime.datetime) -> None:
    found = literal(moment)
    if isinstance(found, Instant):
        assert found.aware
    elif moment.tzinfo is None:
        assert found == moment.replace(fold=0)
    else:
        assert found.tzinfo is datetime.UTC
        assert found == moment.astimezone(datetime.UTC)


@given(st.integers(-(2**62), 2**62), st.sampled_from([None, "UTC", "America/New_York"]))
def test_pandas_numpy_and_instant_agree_about_a_count_of_nanoseconds(count: int, zone: str | None) -> None:
    held = moment_of(count, zone is not None)
    assert nanoseconds_of(held) == count
    assert literal(pd.Timestamp(count, tz="UTC").tz_convert(zone)) == held
    if zone is None:
        assert literal(np.datetime64(count, "ns")) == held


@given(st.integers(-(10**7), 10**7))
def test_calendar_agrees_with_numpy_in_every_year(days: int) -> None:
    year, month, day = date_of_days(days)
    assert days_since_epoch(year, month, day) == days
    whole = np.datetime64(days, "D")
    assert year == int(whole.astype("datetime64[Y]").astype(np.int64)) + 1970
    assert month == int(whole.astype("datetime64[M]").astype(np.int64)) % 12 + 1
    assert day == int((whole - whole.astype("datetime64[M]")).astype(np.int64)) + 1


MISSING = [
    None,
    pd.NaT,
    pd.NA,
    np.datetime64("NaT"),
    np.datetime64("NaT", "ns"),
    np.ma.masked,
    pa.scalar(None, pa.int8()),
]


@pytest.mark.parametrize("missing", MISSING, ids=_name)
def test_null_as_a_literal_is_refused_with_the_hint_is_null(missing: Any) -> None:
    attempts: list[Callable[[], object]] = [
        lambda: a == missing,
        lambda: a != missing,
        lambda: a < missing,
        lambda: a.is_in([1, missing]),
        lambda: a.is_between(missing, 3),
        lambda: a.is_between(3, missing),
        lambda: a.starts_with(missing),
        lambda: as_predicate([("a", "==", missing)]),
        lambda: as_predicate([("a", "!=", missing)]),
        lambda: as_predicate([("a", "in", [missing])]),
    ]
    for attempt in attempts:
        with pytest.raises(PredicateError, match=r"col\('a'\).*is_null\(\)"):
            attempt()


@pytest.mark.parametrize(
    ("value", "hint"),
    [
        ([1, 2], "is_in"),
        ((1, 2), "is_in"),
        ({1}, "is_in"),
        (np.array([1, 2]), "is_in"),
        (pd.Series([1, 2]), "is_in"),
        (1j, "give a bool, int"),
        (object(), "give a bool, int"),
        (datetime.timedelta(1), "raw"),
        (np.timedelta64(1, "ns"), "raw"),
        (pd.Timedelta(1), "raw"),
        (a == 1, r"write \(col"),
        (datetime.time(1, tzinfo=datetime.UTC), "naive"),
        (np.datetime64(1, "ps"), "nanoseconds"),
        (Colour, "give a bool|is_in"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_literal_of_no_column_type_is_refused_with_a_hint(value: Any, hint: str) -> None:
    with pytest.raises(PredicateError, match=hint):
        a == value  # noqa: B015
    with pytest.raises(PredicateError, match=hint):
        a.is_in([value])


def test_column_is_no_literal() -> None:
    attempts: list[Callable[[], object]] = [
        lambda: a.is_between(b, 3),
        lambda: a.is_in([b]),
        lambda: Compare(a, "eq", b),
    ]
    for attempt in attempts:
        with pytest.raises(PredicateError, match="a literal is needed"):
            attempt()


def test_instants_beyond_every_type_are_refused() -> None:
    with pytest.raises(PredicateError, match=r"2\*\*128"):
        Instant(1 << 128, True)


# Lists


def test_is_in_takes_any_iterable() -> None:
    expected = IsIn(a, (1, 2, 3))
    iterables: list[Any] = [
        [1, 2, 3],
        (1, 2, 3),
        {1, 2, 3},
        {1: "x", 2: "y", 3: "z"},
        range(1, 4),
        iter([1, 2, 3]),
        (i for i in (1, 2, 3)),
        np.array([1, 2, 3], np.int8),
        pd.Series([1, 2, 3]),
        pa.array([1, 2, 3]),
    ]
    for values in iterables:
        assert a.is_in(values) == expected
    assert a.is_in([]) == IsIn(a, ())
    assert a.is_in(np.array(["2025-01-01"], "datetime64[ns]")) == a.is_in([datetime.datetime(2025, 1, 1)])


@pytest.mark.parametrize("values", ["abc", b"abc", bytearray(b"abc"), memoryview(b"abc")], ids=_name)
def test_is_in_refuses_one_text_in_place_of_a_list(values: Any) -> None:
    for attempt in (a.is_in, lambda given: IsIn(a, given), lambda given: as_predicate([("a", "in", given)])):
        with pytest.raises(PredicateError, match=r"for one value write \["):
            attempt(values)


@pytest.mark.parametrize("values", [3, None, a], ids=_name)
def test_is_in_refuses_what_is_no_list(values: Any) -> None:
    with pytest.raises(TypeError, match="give a list"):
        a.is_in(values)


@pytest.mark.parametrize("prefix", [3, ("a", "b"), 1.5, a], ids=_name)
def test_prefix_is_text_or_bytes(prefix: Any) -> None:
    with pytest.raises(PredicateError):
        a.starts_with(prefix)


# Traps of Python


def traps() -> dict[str, tuple[Callable[[], object], str]]:
    p, q = a > 3, b < 4
    values: Any = [1, 2]
    three: Any = 3
    return {
        "if p": (lambda: bool(p), "& | ~"),
        "if column": (lambda: bool(a), "& | ~"),
        "p and q": (lambda: p and q, "& | ~"),
        "p or q": (lambda: p or q, "& | ~"),
        "not p": (lambda: not p, "& | ~"),
        "not column": (lambda: not a, "& | ~"),
        "chain": (lambda: 1 < a < 5, "is_between"),
        "chain of columns": (lambda: a < b < col("c"), "is_between"),
        "in list": (lambda: a in values, "is_in"),
        "in tuple": (lambda: a in (1, 2), "is_in"),
        "in set": (lambda: a in {1, 2}, "is_in"),
        "in dict": (lambda: a in {1: 2}, "is_in"),
        "in column": (lambda: three in a, "any()"),
        "no parentheses, and": (lambda: a > 3 & b < 4, "(col('a') > 3) & (col('b') < 4)"),
        "no parentheses, or": (lambda: a == three | b, "(col('a') > 3) & (col('b') < 4)"),
        "no parentheses, numpy": (lambda: a == np.int64(3) & b, "(col('a') > 3) & (col('b') < 4)"),
        "no parentheses, columns": (lambda: a < flag & b, "(col('a') > 3) & (col('b') < 4)"),
        "no parentheses, right": (lambda: flag & b < three, "(col('a') > 3) & (col('b') < 4)"),
        "no parentheses, equality": (lambda: flag & b == a, "(col('a') > 3) & (col('b') < 4)"),
        "made a bool": (lambda: as_predicate(flag & b == three), "(col('a') > 3) & (col('b') < 4)"),
        "text beside &": (lambda: p & "b < 4", "parse('b < 4')"),
        "bool beside &": (lambda: True & p, "(col('a') > 3) & (col('b') < 4)"),
        "array beside &": (lambda: np.array([True]) & p, "(col('a') > 3) & (col('b') < 4)"),
        "hash": (lambda: hash(a), "unhashable"),
        "max": (lambda: max(p, q), "(col('a') > 3) & (col('b') < 4)"),
    }


@pytest.mark.parametrize("name", traps())
def test_trap_raises_with_the_right_hint(name: str) -> None:
    attempt, hint = traps()[name]
    with pytest.raises(TypeError) as caught:
        attempt()
    assert isinstance(caught.value, PredicateError)
    assert hint in str(caught.value)


def test_message_about_a_large_predicate_is_short() -> None:
    with pytest.raises(TypeError) as caught:
        bool(a.is_in(range(10_000)))
    assert len(str(caught.value)) < 500


def test_nodes_refuse_wrong_parts() -> None:
    wrong: Any = "a"
    for kind in (IsNull, IsNotNull):
        with pytest.raises(TypeError, match=r"made by col"):
            kind(wrong)
    with pytest.raises(TypeError, match=r"made by col"):
        Compare(wrong, "eq", 1)
    with pytest.raises(TypeError, match=r"made by col"):
        ComparePair(a, "eq", wrong)
    with pytest.raises(PredicateError, match="one of eq, ne"):
        Compare(a, "=", 1)
    with pytest.raises(PredicateError, match="one of eq, ne"):
        ComparePair(a, "like", b)
    with pytest.raises(PredicateError, match="quantifier"):
        Col("a", quantifier="some")


def test_repr_shows_how_to_build_it() -> None:
    assert repr(col(("a.b", "c")).raw.any()) == "col(('a.b', 'c')).raw.any()"
    assert repr(a > 3) == "parse('a > 3')"


# Forms of a filter


def test_filter_takes_an_expression_its_text_and_a_bare_column() -> None:
    predicate = (a > 3) & (b == "x")
    assert as_predicate(predicate) is predicate
    assert as_predicate("a > 3 and b = 'x'") == predicate
    assert as_predicate("flag") == as_predicate(flag) == Compare(flag, "eq", True)


@pytest.mark.parametrize(
    ("symbol", "expected"),
    [
        ("=", a == 1),
        ("==", a == 1),
        ("!=", a != 1),
        ("<>", a != 1),
        ("<", a < 1),
        ("<=", a <= 1),
        (">", a > 1),
        (">=", a >= 1),
    ],
)
def test_tuple_operator_is_the_comparison(symbol: str, expected: Predicate) -> None:
    assert as_predicate(("a", symbol, 1)) == expected


def test_tuple_operators_for_lists_and_nulls() -> None:
    assert as_predicate(("a", "in", [1, 2])) == a.is_in([1, 2])
    assert as_predicate(("a", "not in", (1, 2))) == ~a.is_in([1, 2])
    assert as_predicate(("a", "NOT  IN", {1})) == ~a.is_in([1])
    assert as_predicate(("a", "is", None)) == a.is_null()
    assert as_predicate(("a", "is not", None)) == a.is_not_null()
    with pytest.raises(PredicateError, match="None only"):
        as_predicate(("a", "is", 3))


def test_list_of_tuples_is_and_list_of_lists_is_or() -> None:
    one, two, three = ("a", ">", 1), ("b", "<", 2), ("c.d", "in", ["x"])
    p, q, r = a > 1, b < 2, col("c.d").is_in(["x"])
    assert as_predicate(one) == p
    assert as_predicate([one]) == p
    assert as_predicate([[one]]) == p
    assert as_predicate([one, two, three]) == p & q & r
    assert as_predicate((one, two)) == p & q
    assert as_predicate([[one, two], [three]]) == (p & q) | r
    assert as_predicate([[one], [two]]) == p | q
    assert as_predicate([list(one), list(two)]) == p & q
    assert as_predicate(((one, two), (three,))) == (p & q) | r


def test_tuple_may_name_an_exact_path_or_a_column() -> None:
    assert as_predicate((("a.b", "c"), "=", 1)) == (col(("a.b", "c")) == 1)
    assert as_predicate([(("a.b", "c"), "=", 1), ("b", "=", 2)]) == (col(("a.b", "c")) == 1) & (b == 2)
    assert as_predicate([(a.raw, "=", 1)]) == (a.raw == 1)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([], "empty"),
        ([[]], "no list of"),
        ([("a", "=", 1), [("b", "=", 2)]], "no list of"),
        ([("a", "=")], "not 2 parts"),
        (("a", "=", 1, 2), "not 4 parts"),
        (["a = 1"], "not 1 parts"),
        ([("a", "like", "x%")], "'like' is no operator; one of =, =="),
        ([("a", 3, 3)], "3 is no operator"),
        ([a == 1], "no list of"),
        ([[a == 1]], "no list of"),
        ([1, 2, 3], "no list of"),
    ],
)
def test_malformed_tuples_are_refused(given: object, message: str) -> None:
    with pytest.raises(PredicateError, match=message):
        as_predicate(given)


@pytest.mark.parametrize("given", [None, 3, {"a": 1}, b"a = 1", object, True, np.bool_(False)], ids=_name)
def test_what_is_no_predicate_at_all_is_a_type_error(given: object) -> None:
    with pytest.raises(TypeError):
        as_predicate(given)


def test_pyarrow_expression_is_refused_with_the_forms_that_fit() -> None:
    import pyarrow.compute as pc

    with pytest.raises(PredicateError, match=r"pyarrow.*give an expression such as col"):
        as_predicate(pc.field("a") > 3)


# Columns


def test_columns_are_distinct_and_in_reading_order() -> None:
    predicate = (b > 1) & ((a < b) | ~col("tags").any().starts_with("x")) & a.raw.is_null() & a.is_between(1, 2)
    found = columns_of(predicate)
    assert [repr(column) for column in found] == [
        "col('b')",
        "col('a')",
        "col('tags').any()",
        "col('a').raw",
    ]
    assert [column.path for column in columns_of((col("a.b") == 1) & (col(("a", "b")) == 1))] == ["a.b", ("a", "b")]


def test_module_imports_neither_numba_nor_optional_packages() -> None:
    code = (
        "import sys, hardwood_jit.plan.predicate_text as t; t.parse(\"a = timestamp('2025-01-01')\");"
        "print(sorted({'numba', 'pandas', 'pyarrow'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.strip() == "[]"
