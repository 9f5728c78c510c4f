"""What a predicate must answer, written from SEMANTICS sections 1 and 3 alone, in plain Python.

Nothing here comes from hardwood_jit: a column is a `Type`, a row is its stored value or None, a predicate is an
operator with the literals as the user gave them. Stored values and literals become exact Python numbers or bytes, and
are compared as those; the answer is True, False or None (unknown) per row, or `Refused` where the call is wrong.
"""

from __future__ import annotations

import datetime as dt
import math
import struct
import uuid
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd

Answer = bool | None

NANOSECONDS = {"ms": 10**6, "us": 10**3, "ns": 1}
DAY = 86_400 * 10**9
JULIAN_EPOCH = 2440588
CARRIER_BITS = {"INT32": 32, "INT64": 64}
TEXTS = ("STRING", "ENUM", "JSON")
UNORDERED = ("INTERVAL", "GEOMETRY", "GEOGRAPHY")
BYTES_BY_IDENTITY = ("DECIMAL", "FLOAT16", "INTERVAL", "UUID", "GEOMETRY", "GEOGRAPHY")


class Refused(Exception):
    """The call is wrong; the text says which rule, for whoever reads a mismatch. Holds the literals it may name."""

    def __init__(self, rule: str, *literals: Any) -> None:
        super().__init__(rule)
        self.literals = literals


@dataclass(frozen=True)
class Type:
    """A column type as the schema tells it: physical type, logical type with its parameters, width of FLBA."""

    name: str
    physical: str
    logical: str | None = None
    bits: int = 0
    signed: bool = True
    precision: int = 0
    scale: int = 0
    unit: str = ""
    utc: bool = False
    width: int = 0

    @property
    def is_float(self) -> bool:
        return self.logical == "FLOAT16" or self.physical in ("FLOAT", "DOUBLE")

    @property
    def is_integer(self) -> bool:
        return self.physical in CARRIER_BITS and self.logical in (None, "INTEGER")

    @property
    def stores_bytes(self) -> bool:
        return self.physical in ("BYTE_ARRAY", "FLBA")

    @property
    def float_form(self) -> str:
        return {"FLOAT": "<f", "DOUBLE": "<d"}.get(self.physical, "<e")

    @property
    def domain(self) -> str:
        """What two columns must share to be compared."""
        if self.is_float:
            return "float"
        if self.is_integer:
            return "integer"
        if self.physical == "BOOLEAN":
            return "boolean"
        if self.logical == "TIMESTAMP":
            return "instant" if self.utc else "wall clock"
        if self.logical in ("DECIMAL", "DATE", "TIME", "UUID"):
            return self.logical
        return "text or bytes" if self.stores_bytes else self.name

    @property
    def unannotated(self) -> Type:
        """What `col(...).raw` sees."""
        return Type(self.name, self.physical, width=self.width)


# ---------------------------------------------------------------- values


def float_key(value: Fraction | float) -> tuple[bool, Fraction | float, bool]:
    """The order of Java's Double.compare: minus zero below zero, every NaN equal and above all."""
    if isinstance(value, float) and math.isnan(value):
        return (True, 0, True)
    is_minus_zero = isinstance(value, float) and value == 0 and math.copysign(1, value) < 0
    return (False, value if isinstance(value, float) and math.isinf(value) else Fraction(value), not is_minus_zero)


def meaning(kind: Type, stored: Any) -> Any:
    """What a stored value stands for in the column's order."""
    if kind.is_float:
        return float_key(struct.unpack("<e", stored)[0] if kind.logical == "FLOAT16" else stored)
    if kind.logical == "DECIMAL":
        unscaled = stored if isinstance(stored, int) else int.from_bytes(stored, "big", signed=True)
        return Fraction(unscaled, 10**kind.scale)
    if kind.logical == "INTEGER" and not kind.signed:
        return stored % (1 << CARRIER_BITS[kind.physical])
    if kind.logical in ("TIME", "TIMESTAMP"):
        return stored * NANOSECONDS[kind.unit]
    if kind.physical == "INT96" and kind.logical == "INSTANT":
        nanos, day = struct.unpack("<qi", stored)
        return (day - JULIAN_EPOCH) * DAY + nanos
    return stored


# ---------------------------------------------------------------- literals


@dataclass(frozen=True)
class Exact:
    """A literal among the meanings of a column, and whether the column can store it."""

    value: Any
    is_storable: bool
    by_bytes: bool = False  # compared with the stored bytes, not with what they mean


def python_value(given: Any) -> Any:
    """numpy scalars count as their Python value; moments keep their own types."""
    if isinstance(given, np.generic) and not isinstance(given, np.datetime64):
        return given.item()
    return bytes(given) if isinstance(given, bytearray | memoryview) else given


def is_bytes(given: Any) -> bool:
    return isinstance(python_value(given), bytes)


def exact_literal(kind: Type, given: Any, is_equality: bool) -> Exact:
    """The literal in the column's own domain, or Refused."""
    value = python_value(given)
    if value is None or value is pd.NaT:
        raise Refused("null is asked for with is_null()", given)
    if isinstance(value, bool) or kind.physical == "BOOLEAN":
        if isinstance(value, bool) and kind.physical == "BOOLEAN":
            return Exact(value, True)
        raise Refused("bool on BOOLEAN, and BOOLEAN takes nothing else", given)
    if isinstance(value, bytes):
        return _of_bytes(kind, value, is_equality)
    if isinstance(value, int | float | Decimal):
        return _of_number(kind, value)
    if isinstance(value, dt.datetime | np.datetime64):
        return _of_moment(kind, value)
    if isinstance(value, dt.date):
        if kind.logical != "DATE":
            raise Refused("date on DATE", given)
        return Exact((value - dt.date(1970, 1, 1)).days, True)
    if isinstance(value, dt.time):
        if kind.logical != "TIME" or value.tzinfo is not None:
            raise Refused("naive time on TIME", given)
        micros = ((value.hour * 60 + value.minute) * 60 + value.second) * 10**6 + value.microsecond
        return Exact(micros * 1000, micros * 1000 % NANOSECONDS[kind.unit] == 0)
    if isinstance(value, uuid.UUID):
        if kind.logical != "UUID":
            raise Refused("UUID on UUID columns only", given)
        return Exact(value.bytes, True)
    if isinstance(value, str):
        if kind.logical in TEXTS or (kind.physical == "BYTE_ARRAY" and kind.logical is None):
            return Exact(value.encode(), True)
        raise Refused("str on STRING, ENUM, JSON, bare BYTE_ARRAY", given)
    raise Refused("no column takes such a value", given)


def _of_bytes(kind: Type, value: bytes, is_equality: bool) -> Exact:
    if not kind.stores_bytes:
        raise Refused("bytes are for columns that store bytes", value)
    if kind.logical in BYTES_BY_IDENTITY and not is_equality:
        raise Refused("bytes on this type with ==, != and is_in only", value)
    return Exact(value, kind.physical == "BYTE_ARRAY" or len(value) == kind.width, by_bytes=True)


def _of_number(kind: Type, value: int | float | Decimal) -> Exact:
    if kind.is_float:
        return _among_floats(kind, value)
    if not kind.is_integer and kind.logical != "DECIMAL":
        raise Refused("numbers on numeric columns", value)
    if value != value:
        raise Refused("NaN on a column that is not of floats", value)
    if value in (math.inf, -math.inf):
        return Exact(math.inf if value > 0 else -math.inf, False)
    if kind.logical == "DECIMAL":
        number = Fraction(Decimal(repr(value)) if isinstance(value, float) else value)
        unscaled = number * 10**kind.scale
        return Exact(number, unscaled.denominator == 1 and abs(unscaled) < 10**kind.precision)
    number = Fraction(value)
    bits = kind.bits or CARRIER_BITS[kind.physical]
    low, high = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if kind.signed else (0, (1 << bits) - 1)
    return Exact(number, number.denominator == 1 and low <= number <= high)


def nearest_float(form: str, value: float) -> float:
    """Rounded to the width of `form`, half to even; infinite when too large."""
    try:
        return float(struct.unpack(form, struct.pack(form, value))[0])
    except OverflowError:
        return math.copysign(math.inf, value)


def _among_floats(kind: Type, value: int | float | Decimal) -> Exact:
    if isinstance(value, float):
        near = nearest_float(kind.float_form, value)
        is_lost = (math.isinf(near) and not math.isinf(value)) or (near == 0 and value != 0)
        return Exact(float_key(value if is_lost else near), not is_lost)
    if isinstance(value, Decimal) and not value.is_finite():
        return Exact(float_key(float(value)), True)
    if value == 0:
        return Exact(float_key(-0.0 if isinstance(value, Decimal) and value.is_signed() else 0.0), True)
    number = Fraction(value)
    try:
        as_double = float(number)
    except OverflowError:
        return Exact(float_key(number), False)
    near = nearest_float(kind.float_form, as_double)
    return Exact(float_key(number), not math.isinf(near) and Fraction(near) == number)


def _of_moment(kind: Type, value: dt.datetime | np.datetime64) -> Exact:
    is_instant = kind.logical == "INSTANT" or (kind.logical == "TIMESTAMP" and kind.utc)
    if not is_instant and kind.logical != "TIMESTAMP":
        raise Refused("datetime on TIMESTAMP and INT96", value)
    aware = isinstance(value, dt.datetime) and value.tzinfo is not None
    if aware != is_instant:
        raise Refused("aware on UTC-adjusted columns and INT96, naive on local ones", value)
    nanos = moment_nanoseconds(value)
    if kind.logical == "INSTANT":
        return Exact(nanos, True)
    count, rest = divmod(nanos, NANOSECONDS[kind.unit])
    return Exact(nanos, rest == 0 and -(1 << 63) <= count < 1 << 63)


def moment_nanoseconds(value: dt.datetime | np.datetime64) -> int:
    """Nanoseconds since 1970 of an instant, or of a wall clock as if it were UTC."""
    if isinstance(value, np.datetime64):
        unit = np.datetime_data(value.dtype)[0]
        if unit in ("M", "Y"):
            value, unit = value.astype("datetime64[D]"), "D"
        step = {"D": DAY, "h": DAY // 24, "m": 60 * 10**9, "s": 10**9, **NANOSECONDS}[unit]
        return int(value.astype(np.int64)) * step
    extra = value.nanosecond if isinstance(value, pd.Timestamp) else 0
    plain = dt.datetime(
        value.year, value.month, value.day, value.hour, value.minute, value.second, value.microsecond
    ) - (value.utcoffset() or dt.timedelta())
    gap = plain - dt.datetime(1970, 1, 1)
    return (gap.days * 86_400 + gap.seconds) * 10**9 + gap.microseconds * 1000 + extra


# ---------------------------------------------------------------- operators

COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b,
}
EQUALITY = ("eq", "ne", "in")


def negated(answers: Iterable[Answer]) -> list[Answer]:
    return [None if answer is None else not answer for answer in answers]


def all_of(first: Answer, second: Answer) -> Answer:
    return False if False in (first, second) else None if None in (first, second) else True


def any_of(first: Answer, second: Answer) -> Answer:
    return True if True in (first, second) else None if None in (first, second) else False


def _test(kind: Type, op: str, given: Any) -> Callable[[Any], bool]:
    """One comparison with one literal as a function of a stored value."""
    is_equality = op in EQUALITY
    literal = exact_literal(kind, given, is_equality)
    if is_equality and not literal.is_storable:
        raise Refused("the column cannot store the literal", given)
    if not is_equality and kind.logical in UNORDERED:
        raise Refused("the type has no order", given)
    compare = COMPARE["eq" if op == "in" else op]
    if literal.by_bytes:
        return lambda stored: compare(stored, literal.value)
    return lambda stored: compare(meaning(kind, stored), literal.value)


def _check_each(kind: Type, op: str, literals: Sequence[Any]) -> None:
    """Where several literals are wrong, any of them may be the one that is named."""
    refusals = []
    for literal in literals:
        try:
            _test(kind, op, literal)
        except Refused as refusal:
            refusals.append(refusal)
    if refusals:
        raise Refused(str(refusals[0]), *(literal for refusal in refusals for literal in refusal.literals))


def _prefix_test(kind: Type, given: Any) -> Callable[[Any], bool]:
    value = python_value(given)
    if not isinstance(value, str | bytes):
        raise Refused("a prefix is text or bytes", given)
    if not kind.stores_bytes or kind.logical not in (None, *TEXTS, "BSON"):
        raise Refused("starts_with is for text, BYTE_ARRAY and FLBA", given)
    if isinstance(value, str):
        value = exact_literal(kind, value, False).value
    return lambda stored: stored.startswith(value)


def evaluate(kind: Type, op: str, literals: Sequence[Any], rows: Sequence[Any], *, raw: bool = False) -> list[Answer]:
    """The answers of one operator on one column, row by row; `op` may be any of COMPARE, "in", "between",
    "starts_with", "is_null", "is_not_null", or one of these behind "not_"."""
    if raw:
        kind = kind.unannotated
    if op.startswith("not_"):
        return negated(evaluate(kind, op[4:], literals, rows))
    if op in ("is_null", "is_not_null"):
        return [(stored is None) == (op == "is_null") for stored in rows]
    test: Callable[[Any], bool]
    if op == "in":
        _check_each(kind, "in", literals)
        tests = [_test(kind, "in", literal) for literal in literals]
        if kind.logical in ("DECIMAL", "FLOAT16") and len({is_bytes(literal) for literal in literals}) > 1:
            # One list, one question: whether bytes are the same, or numbers. SEMANTICS is silent; a call is refused.
            raise Refused("stored bytes or values, not both", *literals)
        test = lambda stored: any(one(stored) for one in tests)  # noqa: E731
    elif op == "between":
        _check_each(kind, "ge", literals)
        low, high = _test(kind, "ge", literals[0]), _test(kind, "le", literals[1])
        test = lambda stored: low(stored) and high(stored)  # noqa: E731
    elif op == "starts_with":
        test = _prefix_test(kind, literals[0])
    else:
        test = _test(kind, op, literals[0])
    return [None if stored is None else test(stored) for stored in rows]


def evaluate_pair(left: Type, op: str, right: Type, rows: Sequence[tuple[Any, Any]]) -> list[Answer]:
    """Column against column: one domain, compared exactly; null on either side is unknown."""
    if left.domain != right.domain:
        raise Refused("two columns of different domains")
    if op not in ("eq", "ne") and left.logical in UNORDERED:
        raise Refused("the type has no order")
    compare = COMPARE[op]
    return [None if a is None or b is None else compare(meaning(left, a), meaning(right, b)) for a, b in rows]


def evaluate_items(
    kind: Type, quantifier: str, op: str, literals: Sequence[Any], rows: Sequence[Sequence[Any] | None]
) -> list[Answer]:
    """`any` is the Kleene OR over the items of a list, `all` the Kleene AND; a null list is unknown."""
    found: list[Answer] = []
    for items in rows:
        answers = evaluate(kind, op, literals, items or [])
        answer: Answer = quantifier == "all"
        for one in answers:
            answer = all_of(answer, one) if quantifier == "all" else any_of(answer, one)
        found.append(None if items is None else answer)
    return found
