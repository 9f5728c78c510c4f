"""What users write: `col("fare") > 10`, joined with `&`, `|`, `~`, as a tree of immutable nodes.

A node holds names and literals as the user gave them; whether they fit a file is found out when they are bound to its
schema. What a node holds is settled when it is built, so that two ways to write one thing give one tree:

| given | held |
|---|---|
| numpy scalar, `as_py()` scalar of pyarrow, subclass of a type below | its plain Python value |
| `bool`, `int`, `Decimal`, `str`, `bytes`, `date`, `UUID` | itself; `bytearray` and `memoryview` as `bytes` |
| `float` | itself; every NaN as `math.nan`, because all NaN are equal in a predicate |
| `time` | itself, naive; an aware one is refused |
| `datetime`, `numpy.datetime64`, `pandas.Timestamp` | `datetime`, in UTC if aware; `Instant` for what it cannot hold |
| `None`, NaT, `pandas.NA`, `numpy.ma.masked` | refused: null is asked for with `is_null()` |

Trees nest at most `MAX_NESTING` levels, so that whoever walks one may recurse. The text form is in `predicate_text`.
"""

from __future__ import annotations

import contextlib
import datetime
import decimal
import math
import reprlib
import struct
import uuid
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any, ClassVar

import numpy as np

from hardwood_jit.errors import PredicateError

# Joining 100 levels by hand happens to nobody, and Python's parser takes 200 parentheses in a generated kernel.
MAX_NESTING = 100

OPERATORS = ("eq", "ne", "lt", "le", "gt", "ge")

_PARENTHESES = "& and | bind tighter than comparisons, so write (col('a') > 3) & (col('b') < 4)"
_NO_TRUTH = (
    "has no truth value before it meets a row: use & | ~ instead of and, or, not; "
    "col('a').is_between(1, 5) instead of 1 < col('a') < 5; col('a').is_in([...]) instead of col('a') in [...]"
)


class PredicateTypeError(PredicateError, TypeError):
    """A predicate built from a Python object of the wrong kind, or used as a Python truth value."""


# Moments: what `datetime`, `numpy.datetime64` and `pandas.Timestamp` have in common.

_UTC = datetime.UTC
_EPOCH = datetime.datetime(1970, 1, 1)
_MICROSECOND = datetime.timedelta(microseconds=1)
_FIRST_MICROSECOND = (datetime.datetime.min - _EPOCH) // _MICROSECOND
_LAST_MICROSECOND = (datetime.datetime.max - _EPOCH) // _MICROSECOND
_DAYS_IN_400_YEARS = 146_097
_NANOSECONDS_IN_DAY = 86_400 * 10**9
# Units of numpy.datetime64 of fixed length; finer ones are fractions of a nanosecond.
_NANOSECONDS_IN_UNIT = {
    "W": 7 * _NANOSECONDS_IN_DAY,
    "D": _NANOSECONDS_IN_DAY,
    "h": 3600 * 10**9,
    "m": 60 * 10**9,
    "s": 10**9,
    "ms": 10**6,
    "us": 10**3,
    "ns": 1,
}
_UNITS_IN_NANOSECOND = {"ps": 10**3, "fs": 10**6, "as": 10**9}


@dataclass(frozen=True, slots=True)
class Instant:
    """A moment that `datetime` cannot hold: part of a microsecond, or a year outside 1 to 9999.

    `aware` is a point in time (UTC), otherwise a wall clock reading counted as if it were UTC.

    >>> import numpy
    >>> from hardwood_jit.plan.predicate import col
    >>> (col("at") == numpy.datetime64("2025-01-01T00:00:00.000000001")).literal
    Instant(nanoseconds_since_epoch=1735689600000000001, aware=False)
    """

    nanoseconds_since_epoch: int
    aware: bool

    def __post_init__(self) -> None:
        # Every numpy.datetime64 fits; without a limit a year could have more digits than Python prints.
        if abs(self.nanoseconds_since_epoch) >= 1 << 128:
            raise PredicateError("a moment more than 2**128 nanoseconds away from 1970 is beyond every Parquet type")


def days_since_epoch(year: int, month: int, day: int) -> int:
    """Days from 1970-01-01 in the proleptic Gregorian calendar, for years of any size; ValueError if no such day."""
    cycles, year_of_cycle = divmod(year - 2000, 400)
    start = datetime.date(2000 + year_of_cycle, month, day).toordinal() - _EPOCH.toordinal()
    return start + cycles * _DAYS_IN_400_YEARS


def date_of_days(days: int) -> tuple[int, int, int]:
    """(year, month, day) of a number of days from 1970-01-01, for years of any size."""
    start = datetime.date(2000, 1, 1).toordinal()
    cycles, day_of_cycle = divmod(days + _EPOCH.toordinal() - start, _DAYS_IN_400_YEARS)
    date = datetime.date.fromordinal(start + day_of_cycle)
    return date.year + 400 * cycles, date.month, date.day


def moment_of(nanoseconds: int, aware: bool) -> datetime.datetime | Instant:
    """The literal for a count of nanoseconds from 1970-01-01: `datetime` where it is exact, else `Instant`."""
    microseconds, rest = divmod(nanoseconds, 1000)
    if rest or not _FIRST_MICROSECOND <= microseconds <= _LAST_MICROSECOND:
        return Instant(nanoseconds, aware)
    return (_EPOCH + microseconds * _MICROSECOND).replace(tzinfo=_UTC if aware else None)


def is_aware(moment: datetime.datetime | Instant) -> bool:
    """Whether a literal is a point in time (True) or a wall clock reading (False)."""
    return moment.aware if isinstance(moment, Instant) else moment.utcoffset() is not None


def nanoseconds_of(moment: datetime.datetime | Instant) -> int:
    """Nanoseconds from 1970-01-01: in UTC for an aware moment, on the wall clock for a naive one.

    >>> import datetime
    >>> from hardwood_jit.plan.predicate import nanoseconds_of
    >>> nanoseconds_of(datetime.datetime(1970, 1, 2))
    86400000000000
    """
    if isinstance(moment, Instant):
        return moment.nanoseconds_since_epoch
    # Read by attributes: a pandas.Timestamp beyond the year 9999 has a false `datetime` inside and true attributes.
    seconds = days_since_epoch(moment.year, moment.month, moment.day) * 86_400
    seconds += moment.hour * 3600 + moment.minute * 60 + moment.second
    offset = (moment.utcoffset() or datetime.timedelta()) // _MICROSECOND
    nanosecond: int = getattr(moment, "nanosecond", 0)
    return (seconds * 10**6 + moment.microsecond - offset) * 1000 + nanosecond


def _moment_of_numpy(value: np.datetime64) -> datetime.datetime | Instant:
    unit, step = np.datetime_data(value.dtype)
    count = int(value.astype(np.int64)) * step
    if unit in ("Y", "M"):
        years, months = divmod(count * (12 if unit == "Y" else 1), 12)
        return moment_of(days_since_epoch(1970 + years, months + 1, 1) * _NANOSECONDS_IN_DAY, aware=False)
    if unit in _NANOSECONDS_IN_UNIT:
        return moment_of(count * _NANOSECONDS_IN_UNIT[unit], aware=False)
    nanoseconds, rest = divmod(count, _UNITS_IN_NANOSECOND.get(unit, 1))
    if rest or unit not in _UNITS_IN_NANOSECOND:
        raise PredicateError(f"{value!r} is no whole number of nanoseconds; no Parquet type is finer")
    return moment_of(nanoseconds, aware=False)


# Literals

LiteralValue = (
    bool
    | int
    | float
    | Decimal
    | str
    | bytes
    | datetime.date  # and datetime
    | datetime.time
    | uuid.UUID
    | Instant
)


def _float_of(value: float) -> float:
    return math.nan if math.isnan(value) else float.__float__(value)


def _time_of(value: datetime.time) -> datetime.time:
    return datetime.time(value.hour, value.minute, value.second, value.microsecond)


# The first type that fits decides: bool is an int, datetime a date. Methods of the type itself, because a subclass may
# print as something else (an Enum of text).
_CONVERSIONS: tuple[tuple[type, Callable[[Any], LiteralValue]], ...] = (
    (bool, bool),
    (int, int.__int__),
    (float, _float_of),
    (str, str.__str__),
    (bytes, bytes.__bytes__),
    (bytearray, bytes),
    (memoryview, bytes),
    (Decimal, Decimal),
    (datetime.datetime, lambda value: moment_of(nanoseconds_of(value), is_aware(value))),
    (datetime.date, lambda value: datetime.date(value.year, value.month, value.day)),
    (datetime.time, _time_of),
    (uuid.UUID, lambda value: uuid.UUID(int=value.int)),
    (Instant, lambda value: moment_of(value.nanoseconds_since_epoch, value.aware)),
    (np.datetime64, _moment_of_numpy),
)


def _is_missing(value: object) -> bool:
    if value is None or value is np.ma.masked or type(value).__name__ == "NAType":
        return True
    if isinstance(value, np.datetime64):
        return bool(np.isnat(value))
    # pandas.NaT is a datetime, and the only one that differs from itself.
    return isinstance(value, datetime.datetime) and bool(value != value)


def literal_of(value: object, column: Col) -> LiteralValue:
    """The value a node holds for what the user compared `column` with (see the table on top)."""
    if hasattr(value, "as_py"):
        value = value.as_py()
    if _is_missing(value):
        raise PredicateError(
            f"{column!r} compared with {value!r}: a null equals nothing, not even null; "
            f"use {column!r}.is_null() or {column!r}.is_not_null()"
        )
    if isinstance(value, np.generic) and not isinstance(value, (np.datetime64, np.timedelta64)):
        value = value.item()
    if isinstance(value, datetime.time) and value.tzinfo is not None:
        raise PredicateError(
            f"{column!r} compared with {value!r}, which has a time zone, and a TIME column has none: give a naive time"
        )
    for kind, converted in _CONVERSIONS:
        if isinstance(value, kind):
            return converted(value)
    raise PredicateTypeError(
        f"{column!r} cannot be compared with {reprlib.repr(value)} of type {_type_name(value)}: {_way_out(value)}"
    )


def _literals_of(values: object, column: Col) -> tuple[LiteralValue, ...]:
    """What `IsIn` holds for the iterable that the user gave."""
    if isinstance(values, str | bytes | bytearray | memoryview):
        shown = reprlib.repr(values)
        raise PredicateTypeError(f"{column!r}.is_in({shown}): give a list of values; for one value write [{shown}]")
    if not isinstance(values, Iterable):
        raise PredicateTypeError(f"{column!r}.is_in({reprlib.repr(values)}): give a list of values")
    literals = [literal_of(value, column) for value in values]
    if isinstance(values, set | frozenset):
        # A set's order differs between processes; sorted, equal sets give equal predicates and equal text.
        literals.sort(key=repr)
        with contextlib.suppress(TypeError, decimal.InvalidOperation):  # mixed types, NaN of decimals
            literals.sort()
    return tuple(literals)


def _way_out(value: object) -> str:
    if isinstance(value, Predicate):
        return _PARENTHESES
    if isinstance(value, Col):
        return "a literal is needed here; two columns compare with == != < <= > >= only"
    if isinstance(value, np.timedelta64 | datetime.timedelta):
        return "no column type holds a duration; compare the stored value with col(...).raw"
    if isinstance(value, Iterable):
        return "use is_in([...]) for several values"
    return "give a bool, int, float, Decimal, str, bytes, date, datetime, time or UUID"


def _type_name(value: object) -> str:
    name = type(value).__name__
    module = type(value).__module__
    return name if module == "builtins" else f"{module}.{name}"


# Expressions


class _Expression:
    """What columns and predicates share: `&`, `|`, `~`, and refusing to be a Python truth value."""

    __slots__ = ()
    __array_ufunc__ = None  # numpy scalars and arrays on the left leave the operator to us

    def __and__(self, other: object) -> Predicate:
        return _joined(And, _operand(self), _operand(other))

    def __rand__(self, other: object) -> Predicate:
        return _joined(And, _operand(other), _operand(self))

    def __or__(self, other: object) -> Predicate:
        return _joined(Or, _operand(self), _operand(other))

    def __ror__(self, other: object) -> Predicate:
        return _joined(Or, _operand(other), _operand(self))

    def __invert__(self) -> Predicate:
        return Not(_operand(self))

    def __bool__(self) -> bool:
        raise PredicateTypeError(f"{reprlib.repr(self)} {_NO_TRUTH}")


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Col(_Expression):
    """A column in an expression, made by `col`: comparing it gives a `Predicate`.

    `path` is the name as given, `is_raw` whether stored values are compared, `quantifier` None, "any" or "all".

    >>> from hardwood_jit.plan.predicate import col
    >>> print((col("fare") > 50) & (col("city") != "Aachen") & ~col("cancelled"))
    fare > 50 and city != 'Aachen' and not cancelled = true
    >>> print(3 < col("a"), "|", col("a") <= col("b"))
    a > 3 | a <= b
    """

    path: str | tuple[str, ...]
    is_raw: bool = False
    quantifier: str | None = None

    def __post_init__(self) -> None:
        path: object = self.path
        if isinstance(path, str):
            settled: str | tuple[str, ...] = str.__str__(path)
        elif isinstance(path, tuple) and path and all(isinstance(name, str) for name in path):
            settled = tuple(str.__str__(name) for name in path)
        else:
            raise PredicateTypeError(
                f"col({reprlib.repr(path)}): give a name, a dotted path, or a tuple of one or more names"
            )
        if self.quantifier not in (None, "any", "all"):
            raise PredicateError(f"a column's quantifier is None, 'any' or 'all', not {self.quantifier!r}")
        object.__setattr__(self, "path", settled)

    @property
    def raw(self) -> Col:
        """The stored physical value of a logical column instead of its meaning.

        >>> from hardwood_jit.plan.predicate import col
        >>> print(col("ts").raw >= 1735689600000)
        raw(ts) >= 1735689600000
        """
        return replace(self, is_raw=True)

    def any(self) -> Col:
        """At least one element of the list satisfies the comparison; false for an empty list.

        >>> from hardwood_jit.plan.predicate import col
        >>> print(col("tags").any() == "new")
        any(tags) = 'new'
        """
        return self._quantified("any")

    def all(self) -> Col:
        """Every element of the list satisfies the comparison; true for an empty list.

        >>> from hardwood_jit.plan.predicate import col
        >>> print(col("tags").all().starts_with("n"))
        starts_with(all(tags), 'n')
        """
        return self._quantified("all")

    def _quantified(self, quantifier: str) -> Col:
        if self.quantifier not in (None, quantifier):
            raise PredicateError(f"{self!r}.{quantifier}(): any and all exclude each other; choose one")
        return replace(self, quantifier=quantifier)

    def __eq__(self, other: object) -> Predicate:  # type: ignore[override]
        return self._compared("eq", other)

    def __ne__(self, other: object) -> Predicate:  # type: ignore[override]
        return self._compared("ne", other)

    def __lt__(self, other: object) -> Predicate:
        return self._compared("lt", other)

    def __le__(self, other: object) -> Predicate:
        return self._compared("le", other)

    def __gt__(self, other: object) -> Predicate:
        return self._compared("gt", other)

    def __ge__(self, other: object) -> Predicate:
        return self._compared("ge", other)

    def _compared(self, op: str, other: object) -> Predicate:
        return ComparePair(self, op, other) if isinstance(other, Col) else Compare(self, op, other)

    def is_in(self, values: Iterable[object]) -> Predicate:
        """The value is one of these; no row for an empty list. Null is never in a list: add `is_null()`.

        >>> from hardwood_jit.plan.predicate import col
        >>> print(col("city").is_in(["Delft", "Fürth"]))
        city in ('Delft', 'Fürth')
        """
        return IsIn(self, values)  # type: ignore[arg-type]  # the node makes it a tuple

    def is_between(self, low: object, high: object) -> Predicate:
        """Both ends belong to the range.

        >>> from hardwood_jit.plan.predicate import col
        >>> print(col("fare").is_between(10, 20.5))
        fare between 10 and 20.5
        """
        return Between(self, low, high)

    def is_null(self) -> Predicate:
        """The value is null; also on a group of columns.

        >>> from hardwood_jit.plan.predicate import col
        >>> print(col("fare").is_null())
        fare is null
        """
        return IsNull(self)

    def is_not_null(self) -> Predicate:
        """The value is present; also on a group of columns.

        >>> from hardwood_jit.plan.predicate import col
        >>> print(col("fare").is_not_null())
        fare is not null
        """
        return IsNotNull(self)

    def starts_with(self, prefix: str | bytes) -> Predicate:
        """Text or bytes that begin with `prefix`.

        >>> from hardwood_jit.plan.predicate import col
        >>> print(col("city").starts_with("Aa"))
        starts_with(city, 'Aa')
        """
        return StartsWith(self, prefix)

    def __hash__(self) -> int:
        raise PredicateTypeError(
            f"{self!r} is unhashable, because == builds a predicate: use its path as a key, "
            f"and {self!r}.is_in([...]) instead of {self!r} in {{...}}"
        )

    def __contains__(self, value: object) -> bool:
        raise PredicateTypeError(f"{value!r} in {self!r}: for a list column write {self!r}.any() == {value!r}")

    def __repr__(self) -> str:
        raw = ".raw" if self.is_raw else ""
        quantifier = f".{self.quantifier}()" if self.quantifier else ""
        return f"col({self.path!r}){raw}{quantifier}"


def col(path: str | tuple[str, ...]) -> Col:
    """A column for use in an expression: a name, a dotted path, or a tuple of names, which is always exact.

    >>> from hardwood_jit.plan.predicate import col
    >>> print(col("address.city") == "Delft")
    address.city = 'Delft'
    >>> print(col(("a.b", "c")).is_null())
    "a.b"."c" is null
    """
    return Col(path)


class Predicate(_Expression):
    """A condition on rows, built by comparing a `col` or by `parse`; immutable, hashable, picklable.

    Joined with `&`, `|` and `~`. `==` compares trees and gives a bool: same paths, same literals by type and bits.
    `str()` gives the text that `parse` reads back.

    >>> from hardwood_jit.plan.predicate import col
    >>> adults = col("age") >= 18
    >>> print(adults & col("city").is_in(["Delft"]) | col("guide").is_not_null())
    (age >= 18 and city in ('Delft')) or guide is not null
    >>> adults == (col("age") >= 18), adults == (col("age") >= 18.0)
    (True, False)
    """

    __slots__ = ()
    __match_args__: ClassVar[tuple[str, ...]] = ()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Predicate):
            return NotImplemented  # a column on the other side then explains itself
        return self is other or _identity(self) == _identity(other)

    def __hash__(self) -> int:
        return hash(_identity(self))

    def __str__(self) -> str:
        from hardwood_jit.plan.predicate_text import render

        return render(self)

    def __repr__(self) -> str:
        return f"parse({str(self)!r})"

    def __reduce__(self) -> tuple[Callable[[str], Predicate], tuple[str]]:
        # Text is the one form that survives a change of these classes, and it needs no recursion in pickle.
        from hardwood_jit.plan.predicate_text import parse

        return parse, (str(self),)

    def _refuse_order(self, other: object) -> bool:
        raise PredicateTypeError(f"{reprlib.repr(self)} has no order: {_PARENTHESES}")

    __lt__ = __le__ = __gt__ = __ge__ = _refuse_order


def _identity(part: object) -> object:
    """What `==` and `hash` look at: types, and the bits of literals, where Python has 1 == 1.0 == True."""
    match part:
        case Predicate():
            return (type(part), *[_identity(getattr(part, name)) for name in part.__match_args__])
        case Col():
            return (Col, part.path, part.is_raw, part.quantifier)
        case tuple():
            return tuple([_identity(item) for item in part])
        case float():
            return (float, struct.pack("<d", part))
        case Decimal():
            return (Decimal, part.as_tuple())
        case _:
            return (type(part), part)


def _operand(given: object) -> Predicate:
    """One side of `&` or `|`, or the argument of `~`; a bare column is a BOOLEAN that must be true."""
    if isinstance(given, Predicate):
        return given
    if isinstance(given, Col):
        return Compare(given, "eq", True)
    if isinstance(given, str):
        raise PredicateTypeError(f"text beside & or |: write parse({given!r})")
    found = f"{reprlib.repr(given)} of type {_type_name(given)}"
    raise PredicateTypeError(f"& | ~ join predicates and BOOLEAN columns, not {found}: {_PARENTHESES}")


def _check_column(column: object) -> None:
    if not isinstance(column, Col):
        raise PredicateTypeError(f"a column is needed, made by col(...), not {reprlib.repr(column)}")


def _check_operator(op: object) -> None:
    if op not in OPERATORS:
        raise PredicateError(f"a comparison is one of {', '.join(OPERATORS)}, not {op!r}")


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Compare(Predicate):
    """A column against a literal; `op` is one of `OPERATORS`."""

    column: Col
    op: str
    literal: Any

    def __post_init__(self) -> None:
        _check_column(self.column)
        _check_operator(self.op)
        object.__setattr__(self, "literal", literal_of(self.literal, self.column))


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ComparePair(Predicate):
    """A column against a column; `op` is one of `OPERATORS`."""

    left: Col
    op: str
    right: Col

    def __post_init__(self) -> None:
        _check_column(self.left)
        _check_operator(self.op)
        _check_column(self.right)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class IsIn(Predicate):
    """The column's value is one of the literals, kept in the order given, repetitions too."""

    column: Col
    literals: tuple[Any, ...]

    def __post_init__(self) -> None:
        _check_column(self.column)
        object.__setattr__(self, "literals", _literals_of(self.literals, self.column))


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Between(Predicate):
    """`low <= column <= high`."""

    column: Col
    low: Any
    high: Any

    def __post_init__(self) -> None:
        _check_column(self.column)
        object.__setattr__(self, "low", literal_of(self.low, self.column))
        object.__setattr__(self, "high", literal_of(self.high, self.column))


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class IsNull(Predicate):
    """The column's value is null."""

    column: Col

    def __post_init__(self) -> None:
        _check_column(self.column)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class IsNotNull(Predicate):
    """The column's value is present."""

    column: Col

    def __post_init__(self) -> None:
        _check_column(self.column)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class StartsWith(Predicate):
    """The column's text or bytes begin with the prefix."""

    column: Col
    prefix: str | bytes

    def __post_init__(self) -> None:
        _check_column(self.column)
        prefix = literal_of(self.prefix, self.column)
        if not isinstance(prefix, str | bytes):
            raise PredicateTypeError(f"{self.column!r}.starts_with({self.prefix!r}): a prefix is text or bytes")
        object.__setattr__(self, "prefix", prefix)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Not(Predicate):
    """True where `arg` is false; unknown stays unknown."""

    arg: Predicate
    level: int = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "arg", _operand(self.arg))
        object.__setattr__(self, "level", _checked_level(1 + level_of(self.arg)))


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class And(Predicate):
    """All of two or more predicates, none of them an `And`: those are taken apart."""

    args: tuple[Predicate, ...]
    level: int = field(init=False)

    def __post_init__(self) -> None:
        _settle_junction(self)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Or(Predicate):
    """At least one of two or more predicates, none of them an `Or`: those are taken apart."""

    args: tuple[Predicate, ...]
    level: int = field(init=False)

    def __post_init__(self) -> None:
        _settle_junction(self)


def level_of(predicate: Predicate) -> int:
    """How many nodes lie above each other in a tree; at most MAX_NESTING."""
    return predicate.level if isinstance(predicate, And | Or | Not) else 1


def _checked_level(level: int) -> int:
    if level > MAX_NESTING:
        raise PredicateError(
            f"predicates nest at most {MAX_NESTING} levels of and, or, not; join conditions of one kind side by side, "
            "or use is_in([...])"
        )
    return level


def _settle_junction(junction: And | Or) -> None:
    kind = type(junction)
    args: list[Predicate] = []
    for given in junction.args:
        arg = _operand(given)
        args.extend(arg.args if isinstance(arg, kind) else (arg,))
    if len(args) < 2:
        raise PredicateError(f"{kind.__name__} joins two or more predicates, not {len(args)}")
    object.__setattr__(junction, "args", tuple(args))
    object.__setattr__(junction, "level", _checked_level(1 + max(map(level_of, args))))


def _joined(kind: type[And] | type[Or], left: Predicate, right: Predicate) -> Predicate:
    """`left & right` or `left | right`, flat.

    The arguments are settled nodes, so nothing is looked at again: thousands of conditions joined one by one with
    `functools.reduce` would otherwise take seconds.
    """
    args: tuple[Predicate, ...] = ()
    level = 0
    for side in (left, right):
        if isinstance(side, kind):
            args += side.args
            level = max(level, side.level)
        else:
            args += (side,)
            level = max(level, 1 + level_of(side))
    joined = object.__new__(kind)
    object.__setattr__(joined, "args", args)
    object.__setattr__(joined, "level", _checked_level(level))
    return joined


def all_of(predicates: Iterable[Predicate]) -> Predicate:
    """All of one or more predicates: a single one as it is, else `And`."""
    args = tuple(predicates)
    return args[0] if len(args) == 1 else And(args)


def any_of(predicates: Iterable[Predicate]) -> Predicate:
    """At least one of one or more predicates: a single one as it is, else `Or`."""
    args = tuple(predicates)
    return args[0] if len(args) == 1 else Or(args)


def columns_of(predicate: Predicate) -> tuple[Col, ...]:
    """The distinct column references in reading order; `.raw`, `.any()` and `.all()` are references of their own.

    >>> from hardwood_jit.plan.predicate import col, columns_of
    >>> columns_of((col("a") > 3) & (col("b") < col("a")))
    (col('a'), col('b'))
    """
    found = {_identity(column): column for column in _columns(predicate)}
    return tuple(found.values())


def _columns(predicate: Predicate) -> Iterator[Col]:
    match predicate:
        case And(args) | Or(args):
            for arg in args:
                yield from _columns(arg)
        case Not(arg):
            yield from _columns(arg)
        case _:
            parts = [getattr(predicate, name) for name in predicate.__match_args__]
            yield from (part for part in parts if isinstance(part, Col))


# What `filter` takes

_FORMS = (
    "give an expression such as col('age') > 21, its text 'age > 21', or tuples [('age', '>', 21)]; "
    "a list of tuples is their AND, a list of lists an OR of ANDs"
)


def as_predicate(given: object) -> Predicate:
    """The predicate that an expression, a bare column, a text or DNF tuples stand for.

    >>> from hardwood_jit.plan.predicate import as_predicate, col
    >>> print(as_predicate([[("age", ">", 21), ("city", "not in", ["Delft"])], [("vip", "=", True)]]))
    (age > 21 and city not in ('Delft')) or vip = true
    >>> print(as_predicate("age > 21"), "|", as_predicate(col("vip")))
    age > 21 | vip = true
    """
    if isinstance(given, Predicate | Col):
        return _operand(given)
    if isinstance(given, str):
        from hardwood_jit.plan.predicate_text import parse

        return parse(given)
    if isinstance(given, list | tuple):
        return _predicate_of_tuples(given)
    if isinstance(given, bool | np.bool_):
        raise PredicateTypeError(f"the predicate is {given!r}, what Python made of a comparison: {_PARENTHESES}")
    raise PredicateTypeError(f"{reprlib.repr(given)} of type {_type_name(given)} is no predicate: {_FORMS}")


def _predicate_of_tuples(given: list[Any] | tuple[Any, ...]) -> Predicate:
    if _is_condition(given):
        return _condition_of(given)
    if not given:
        raise PredicateError(f"an empty list of conditions: {_FORMS}; leave the filter out to keep every row")
    if all(_is_condition(item) for item in given):
        return all_of(_condition_of(item) for item in given)
    alternatives: list[Predicate] = []
    for item in given:
        if not (isinstance(item, list | tuple) and item and all(_is_condition(part) for part in item)):
            raise PredicateTypeError(f"{reprlib.repr(item)} is no list of (name, operator, value) tuples: {_FORMS}")
        alternatives.append(all_of(_condition_of(part) for part in item))
    return any_of(alternatives)


def _is_condition(given: object) -> bool:
    """A sequence that starts with a name; it may still have the wrong length or operator."""
    if not isinstance(given, list | tuple) or not given:
        return False
    # An exact path is a tuple of names, and so might be a list of conditions: the operator decides.
    exact = isinstance(given[0], tuple) and len(given) == 3 and isinstance(given[1], str)
    return exact or isinstance(given[0], str | Col)


def _null_test(kind: type[IsNull] | type[IsNotNull]) -> Callable[[Col, Any], Predicate]:
    def build(column: Col, value: Any) -> Predicate:
        if not _is_missing(value):
            raise PredicateError(f"{column!r}: 'is' and 'is not' go with None only, not {value!r}; use '==' or '!='")
        return kind(column)

    return build


# pyarrow and pandas have =, ==, !=, <, <=, >, >=, in, not in; dask adds is, is not.
_TUPLE_OPERATORS: dict[str, Callable[[Col, Any], Predicate]] = {
    "=": lambda column, value: Compare(column, "eq", value),
    "==": lambda column, value: Compare(column, "eq", value),
    "!=": lambda column, value: Compare(column, "ne", value),
    "<>": lambda column, value: Compare(column, "ne", value),
    "<": lambda column, value: Compare(column, "lt", value),
    "<=": lambda column, value: Compare(column, "le", value),
    ">": lambda column, value: Compare(column, "gt", value),
    ">=": lambda column, value: Compare(column, "ge", value),
    "in": lambda column, value: column.is_in(value),
    "not in": lambda column, value: Not(column.is_in(value)),
    "is": _null_test(IsNull),
    "is not": _null_test(IsNotNull),
}


def _condition_of(given: list[Any] | tuple[Any, ...]) -> Predicate:
    if len(given) != 3:
        raise PredicateError(f"{reprlib.repr(given)}: a condition is (name, operator, value), not {len(given)} parts")
    name, operator, value = given
    column = name if isinstance(name, Col) else Col(name)
    build = _TUPLE_OPERATORS.get(" ".join(operator.lower().split())) if isinstance(operator, str) else None
    if build is None:
        raise PredicateError(
            f"{reprlib.repr(given)}: {operator!r} is no operator; one of {', '.join(_TUPLE_OPERATORS)} is"
        )
    return build(column, value)
