"""Python values -> keys of a column's domain: the literal table of SEMANTICS.md §1.

A literal is placed in the order of the column's keys: which keys are below it, and which key, if any, equals it. From
that every operator follows exactly, also for literals between two storable values or beyond all of them. Numbers are
compared as exact integers or fractions; float64 is used for float columns only.
"""

from __future__ import annotations

import datetime
import math
import struct
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any
from uuid import UUID

import numpy as np

from hardwood_jit.errors import PredicateError
from hardwood_jit.physical import INT96_BYTES, PhysicalType
from hardwood_jit.plan.bound import Domain, Intervals, Key, float_key, successor
from hardwood_jit.plan.predicate import Col, Instant, is_aware, literal_of, nanoseconds_of
from hardwood_jit.plan.predicate_text import render_literal

if TYPE_CHECKING:
    from hardwood_jit.metadata.schema import Leaf

BOOLEAN = PhysicalType.BOOLEAN
INT32 = PhysicalType.INT32
INT64 = PhysicalType.INT64
INT96 = PhysicalType.INT96
FLOAT = PhysicalType.FLOAT
DOUBLE = PhysicalType.DOUBLE
BYTE_ARRAY = PhysicalType.BYTE_ARRAY
FIXED = PhysicalType.FIXED_LEN_BYTE_ARRAY

OPERATORS = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}

NANOS_PER_UNIT = {"ms": 1_000_000, "us": 1_000, "ns": 1}
_DAY_NANOS = 86_400_000_000_000
_EPOCH_ORDINAL = datetime.date(1970, 1, 1).toordinal()
_EPOCH_JULIAN_DAY = 2440588

# Powers of ten beyond this cost too much to write out. A literal with more digits counts as beyond every stored value,
# one this close to zero as between two neighbours; on a DECIMAL of a larger scale literals are refused.
MAX_DIGITS = 100_000
# A column of wider values (the width is a number from the file) is treated as if it had no bounds.
_MAX_WIDTH = 4096


# What a column's values are, for comparing


# Of the logical type if it has a row here, else of the physical type. Literals and column pairs are chosen by it.
_LOGICAL_KINDS = {
    "INTEGER": "integer",
    "FLOAT16": "float",
    "DECIMAL": "decimal",
    "DATE": "date",
    "TIME": "time",
    "TIMESTAMP": "timestamp",
    "UUID": "uuid",
    "STRING": "text",
    "ENUM": "text",
    "JSON": "text",
    "BSON": "bytes",
    "INTERVAL": "unordered",
    "GEOMETRY": "unordered",
    "GEOGRAPHY": "unordered",
}
_PHYSICAL_KINDS = {
    BOOLEAN: "boolean",
    INT32: "integer",
    INT64: "integer",
    INT96: "timestamp",
    FLOAT: "float",
    DOUBLE: "float",
    BYTE_ARRAY: "text",
    FIXED: "bytes",
}
_PHYSICAL_DOMAINS = {
    BOOLEAN: Domain("boolean", 1),
    INT32: Domain("signed", 32),
    INT64: Domain("signed", 64),
    INT96: Domain("instant"),
    FLOAT: Domain("float", 32),
    DOUBLE: Domain("float", 64),
    BYTE_ARRAY: Domain("bytes"),
    FIXED: Domain("bytes"),
}
_BYTES = Domain("bytes")


def kind_of(leaf: Leaf, raw: bool) -> str:
    """What the values are: boolean, integer, float, decimal, date, time, timestamp, uuid, text, bytes or unordered.

    "text" takes str and bytes, "bytes" only bytes. With `raw` the annotation does not count, and INT96 is 12 bytes.
    """
    if raw:
        return "bytes" if leaf.physical_type is INT96 else _PHYSICAL_KINDS[leaf.physical_type]
    logical = leaf.logical_type
    kind = None if logical is None else _LOGICAL_KINDS.get(logical.kind)
    return kind or _PHYSICAL_KINDS[leaf.physical_type]


def domain_of(leaf: Leaf, raw: bool) -> Domain:
    """In which order the values of a leaf compare; with `raw` the stored values, whatever they stand for."""
    physical, logical = leaf.physical_type, leaf.logical_type
    if raw:
        return _BYTES if physical is INT96 else _PHYSICAL_DOMAINS[physical]
    domain = _PHYSICAL_DOMAINS[physical]
    if logical is None:
        return domain
    if logical.kind == "INTEGER" and not logical.signed:
        return Domain("unsigned", domain.bits)
    if logical.kind == "FLOAT16":
        return Domain("float", 16)
    if logical.kind == "DECIMAL" and domain.kind == "bytes":
        return Domain("decimal")
    return domain


@dataclass(frozen=True, slots=True)
class Operand:
    """A leaf as a predicate sees it: its logical values, or with `raw` the stored ones."""

    leaf: Leaf
    raw: bool
    kind: str
    domain: Domain

    @classmethod
    def of(cls, leaf: Leaf, raw: bool) -> Operand:
        return cls(leaf, raw, kind_of(leaf, raw), domain_of(leaf, raw))

    @property
    def is_aware(self) -> bool:
        """Of a timestamp: whether it denotes an instant; a local one is a reading of the wall clock."""
        logical = self.leaf.logical_type
        return logical is None or logical.kind != "TIMESTAMP" or bool(logical.utc)

    @property
    def unit(self) -> str:
        """Of a time or timestamp."""
        logical = self.leaf.logical_type
        return "ns" if logical is None or logical.unit is None else logical.unit

    @property
    def scale(self) -> int:
        """Of a decimal."""
        logical = self.leaf.logical_type
        return 0 if logical is None or logical.scale is None else logical.scale

    @property
    def type_text(self) -> str:
        physical = self.leaf.physical_type.name
        if self.leaf.physical_type is FIXED:
            physical = f"{physical}({self.leaf.type_length})"
        if self.leaf.logical_type is None:
            return f"{physical}, its stored bytes" if self.raw and self.leaf.physical_type is INT96 else physical
        return f"{physical} that stores {self.leaf.logical_type}" if self.raw else f"{self.leaf.logical_type}"

    def __str__(self) -> str:
        return f"column '{self.leaf.dotted}' ({self.type_text})"


# Ranges of keys


def _signed_range(bits: int) -> tuple[int, int]:
    return -(1 << (bits - 1)), (1 << (bits - 1)) - 1


def _key_bounds(leaf: Leaf, domain: Domain) -> tuple[Key, Key]:
    """[low, high) holds every key that the leaf can store; None where nothing limits it."""
    if domain.kind == "bytes":
        width = INT96_BYTES if leaf.physical_type is INT96 else leaf.type_length
        if width is None or width > _MAX_WIDTH:
            return b"", None
        return bytes(width), successor(b"\xff" * width)
    if domain.kind == "decimal":
        width = leaf.type_length
        if width is None or width > _MAX_WIDTH:
            return None, None
        low, high = _signed_range(8 * width) if width else (0, 0)
    elif domain.kind == "instant":  # days are 32 bits, nanoseconds 64; neither needs to stay within a day
        days, nanos = _signed_range(32), _signed_range(64)
        low, high = ((day - _EPOCH_JULIAN_DAY) * _DAY_NANOS + nano for day, nano in zip(days, nanos, strict=True))
    elif domain.kind in ("unsigned", "boolean"):
        low, high = 0, (1 << domain.bits) - 1
    elif domain.kind == "float":
        low, high = float_key(-math.inf, domain.bits), float_key(math.nan, domain.bits)
    else:
        low, high = _signed_range(domain.bits)
    return low, high + 1


def trim(intervals: Intervals, leaf: Leaf, domain: Domain) -> Intervals:
    """The same keys of those that the leaf can store, in one form: no bound where the carrier ends.

    A single key keeps both its bounds. Bounds are then storable keys or the successor of one.
    """
    lowest, end = _key_bounds(leaf, domain)
    pairs: list[tuple[Key, Key]] = []
    for low, high in intervals.pairs:
        if low is None or (lowest is not None and low < lowest):
            low = lowest
        if high is None or (end is not None and high > end):
            high = end
        if low is not None and high is not None and low >= high:
            continue
        if (low == lowest and high == end) or low is None or high != successor(low):
            low, high = None if low == lowest else low, None if high == end else high
        pairs.append((low, high))
    return Intervals(tuple(pairs))


# Literals by what they are


def _time_nanoseconds(value: datetime.time) -> int:
    return (((value.hour * 60 + value.minute) * 60 + value.second) * 1_000_000 + value.microsecond) * 1_000


def _read_literal(operand: Operand, literal: Any) -> tuple[str, Any]:
    """(class of literal, its value as the placing functions want it); ("", None) when no column takes it.

    Predicates hold plain Python values (see `literal_of`); numpy scalars and moments of pandas become those here.
    """
    if isinstance(literal, (np.generic, datetime.datetime)):
        literal = literal_of(literal, Col(operand.leaf.dotted))
    match literal:
        case bool():
            return "bool", literal
        case int():
            return "number", int(literal)
        case float():
            return "number", float(literal)
        case Decimal():
            return "number", literal if literal.is_finite() else _to_float(literal)
        case str():
            return "str", literal
        case bytes():
            return "bytes", literal
        case datetime.datetime() | Instant():
            return "moment", literal
        case datetime.date():
            return "date", literal.toordinal() - _EPOCH_ORDINAL
        case datetime.time():
            return "time", literal
        case UUID():
            return "uuid", literal.bytes
    return "", None


def _to_float(value: Decimal) -> float:
    return math.nan if value.is_nan() else math.copysign(math.inf, value)


# Placing a literal among the keys


@dataclass(frozen=True, slots=True)
class Placed:
    """Where a literal stands in the order of a domain.

    `below` are the keys less than it, `key` the one equal to it or None. A literal with an `unfit` is not storable in
    the column, so that `==`, `!=` and `is_in` refuse it with that reason; ordered operators are exact all the same.
    """

    domain: Domain
    below: Intervals
    key: Key
    unfit: str = ""
    ordered: bool = True


def _beyond(operand: Operand, is_positive: bool, unfit: str) -> Placed:
    return Placed(operand.domain, Intervals.everything() if is_positive else Intervals.nothing(), None, unfit)


def _place_not_finite(operand: Operand, value: float) -> Placed:
    """On a column that stores no such thing."""
    if math.isnan(value):
        raise _Refused("is no number")
    return _beyond(operand, value > 0, "is infinite")


def _place_boolean(operand: Operand, value: bool) -> Placed:
    return Placed(operand.domain, Intervals.below(int(value)), int(value))


def _place_count(operand: Operand, number: int | float | Fraction, limits: tuple[Key, Key], inexact: str) -> Placed:
    """Among whole numbers; `limits` (first and last, None: none) are what `==` takes."""
    first = math.ceil(number)  # exact, for floats too
    if first != number:
        return Placed(operand.domain, Intervals.below(first), None, inexact)
    low, high = limits
    outside = (low is not None and first < low) or (high is not None and first > high)
    return Placed(operand.domain, Intervals.below(first), first, f"is outside {low} .. {high}" if outside else "")


def _integer_limits(operand: Operand) -> tuple[int, int]:
    logical = operand.leaf.logical_type
    bits = operand.domain.bits
    if logical is not None and logical.kind == "INTEGER" and not operand.raw:
        bits = logical.bits or bits
    return (0, (1 << bits) - 1) if operand.domain.kind == "unsigned" else _signed_range(bits)


def _place_on_integer(operand: Operand, value: int | float | Decimal) -> Placed:
    if isinstance(value, float) and not math.isfinite(value):
        return _place_not_finite(operand, value)
    number = _scaled(value, 0) if isinstance(value, Decimal) else value
    if number is None:
        return _beyond(operand, value > 0, f"has more than {MAX_DIGITS} digits")
    return _place_count(operand, number, _integer_limits(operand), "is no whole number")


def _scaled(value: Decimal, scale: int) -> int | Fraction | None:
    """value * 10**scale, exactly; None above MAX_DIGITS digits. Half a unit stands for all too close to zero."""
    if not value:
        return 0
    size = value.adjusted() + scale
    if size > MAX_DIGITS:
        return None
    if size < -MAX_DIGITS:
        return Fraction(1 if value > 0 else -1, 2)
    numerator, denominator = value.as_integer_ratio()  # unlike text and arithmetic without limits and rounding
    numerator *= 10**scale
    return Fraction(numerator, denominator) if numerator % denominator else numerator // denominator


def _place_on_decimal(operand: Operand, value: int | float | Decimal) -> Placed:
    logical, scale = operand.leaf.logical_type, operand.scale
    if scale > MAX_DIGITS:
        raise _Refused(f"cannot be aligned with a scale above {MAX_DIGITS}")
    if isinstance(value, float):
        if not math.isfinite(value):
            return _place_not_finite(operand, value)
        value = Decimal(repr(value))
    unscaled = value * 10**scale if isinstance(value, int) else _scaled(value, scale)
    precision = (logical.precision if logical is not None else None) or 0
    too_long = f"has more than {precision - scale} digits before the point"
    if unscaled is None:
        return _beyond(operand, value > 0, too_long)
    placed = _place_count(operand, unscaled, (None, None), f"has more than {scale} digits after the point")
    low, high = _key_bounds(operand.leaf, operand.domain)
    key = placed.key
    if key is None:
        return placed
    fits = (low is None or low <= key) and (high is None or key < high)
    if not fits or (precision <= MAX_DIGITS and abs(key) >= 10**precision):
        return Placed(placed.domain, placed.below, key, too_long)
    return placed


# Floats

_FLOAT_CODE = {16: "<e", 32: "<f", 64: "<d"}


def _rounded(value: float, bits: int) -> float:
    """The nearest float of that width; ±inf when it is too large."""
    code = _FLOAT_CODE[bits]
    try:
        (near,) = struct.unpack(code, struct.pack(code, value))
    except OverflowError:
        return math.copysign(math.inf, value)
    return float(near)


def _place_on_float(operand: Operand, value: int | float | Decimal) -> Placed:
    bits = operand.domain.bits
    if isinstance(value, float):
        near = _rounded(value, bits)
        stays = math.isinf(near) == math.isinf(value) and (near != 0) == (value != 0)
        if stays or math.isnan(value):
            key = float_key(near, bits)
            return Placed(operand.domain, Intervals.below(key), key)
    elif not value:
        negative = isinstance(value, Decimal) and value.is_signed()
        key = float_key(-0.0 if negative else 0.0, bits)
        return Placed(operand.domain, Intervals.below(key), key)
    # abs() of a Decimal rounds it
    first, is_exact = _first_float(value.copy_abs() if isinstance(value, Decimal) else abs(value), bits)
    if value < 0:  # the mirror image of key k is -1 - k, and the literal lies just above that of `first`
        first = -1 - first if is_exact else -first
    if is_exact:
        return Placed(operand.domain, Intervals.below(first), first)
    return Placed(operand.domain, Intervals.below(first), None, f"is no value of {bits} bits")


def _first_float(magnitude: int | float | Decimal, bits: int) -> tuple[int, bool]:
    """The key of the smallest float not below a positive finite number, and whether it equals it."""
    largest = float_key(math.inf, bits)
    number: int | float | Fraction
    if isinstance(magnitude, Decimal):
        if magnitude.adjusted() > 400:  # floats end at 1.8e308
            return largest, False
        if magnitude.adjusted() < -400:  # and begin at 4.9e-324
            return float_key(0.0, bits) + 1, False
        number = Fraction(magnitude)
    else:
        number = magnitude
    try:
        # Rounding is monotonic: rounding twice still gives one of the two neighbours.
        near = _rounded(float(number), bits)
    except OverflowError:
        return largest, False
    if near == math.inf:
        return largest, False
    key = float_key(near, bits)
    # Python compares floats with integers and fractions exactly.
    return (key, True) if near == number else (key, False) if near > number else (key + 1, False)


# Dates and times


def _place_date(operand: Operand, days: int) -> Placed:
    return _place_count(operand, days, _signed_range(operand.domain.bits), "")


def _place_nanoseconds(operand: Operand, nanoseconds: int) -> Placed:
    low, end = _key_bounds(operand.leaf, operand.domain)
    count = Fraction(nanoseconds, NANOS_PER_UNIT[operand.unit])
    return _place_count(operand, count, (low, end - 1), f"is no whole number of {operand.unit}")


def _place_time(operand: Operand, value: datetime.time) -> Placed:
    if value.tzinfo is not None:
        raise _Refused("has a time zone")
    return _place_nanoseconds(operand, _time_nanoseconds(value))


def _place_moment(operand: Operand, value: datetime.datetime | Instant) -> Placed:
    if is_aware(value) != operand.is_aware:
        has = "has no time zone, the column is in UTC" if operand.is_aware else "has a time zone, the column is local"
        raise _Refused(has)
    return _place_nanoseconds(operand, nanoseconds_of(value))


# Text and bytes


def _place_bytes(operand: Operand, value: bytes) -> Placed:
    width = INT96_BYTES if operand.leaf.physical_type is INT96 else operand.leaf.type_length
    unfit = "" if width is None or len(value) == width else f"has {len(value)} bytes, the column {width}"
    return Placed(_BYTES, Intervals.below(value), value, unfit)


def _place_stored_bytes(operand: Operand, value: bytes) -> Placed:
    """The stored form of a value that has another order, or none."""
    if operand.leaf.physical_type not in (BYTE_ARRAY, FIXED):
        raise _Refused(f"are bytes, the column is stored as {operand.leaf.physical_type}")
    placed = _place_bytes(operand, value)
    return Placed(placed.domain, placed.below, placed.key, placed.unfit, ordered=False)


def _place_str(operand: Operand, value: str) -> Placed:
    try:
        return _place_bytes(operand, value.encode())
    except UnicodeEncodeError:
        raise _Refused("has a lone surrogate, which UTF-8 cannot store") from None


class _Refused(Exception):
    """A literal that no operator of the column takes; the reason follows the literal in a sentence."""


# Which literals a kind of column takes, and how each is placed; what is not here is refused.
PLACERS: dict[tuple[str, str], Callable[[Operand, Any], Placed]] = {
    ("boolean", "bool"): _place_boolean,
    ("integer", "number"): _place_on_integer,
    ("float", "number"): _place_on_float,
    ("float", "bytes"): _place_stored_bytes,  # FLOAT16
    ("decimal", "number"): _place_on_decimal,
    ("decimal", "bytes"): _place_stored_bytes,
    ("date", "date"): _place_date,
    ("time", "time"): _place_time,
    ("timestamp", "moment"): _place_moment,
    ("uuid", "uuid"): _place_bytes,
    ("uuid", "bytes"): _place_stored_bytes,
    ("text", "str"): _place_str,
    ("text", "bytes"): _place_bytes,
    ("bytes", "bytes"): _place_bytes,
    ("unordered", "bytes"): _place_stored_bytes,
}


def _fits_integer(operand: Operand) -> str:
    low, high = _integer_limits(operand)
    return f"int, Decimal or float; with ==, != and is_in a whole number from {low} to {high}"


def _fits_decimal(operand: Operand) -> str:
    logical = operand.leaf.logical_type
    precision = None if logical is None else logical.precision
    digits = f"at most {precision} digits, {operand.scale} of them after the point"
    stored = "" if operand.domain.kind == "signed" else "; or bytes as stored with ==, != and is_in"
    return f"int, Decimal or float; with ==, != and is_in {digits}{stored}"


def _fits_float(operand: Operand) -> str:
    stored = "" if operand.leaf.physical_type is not FIXED else "; or 2 bytes as stored with ==, != and is_in"
    exact = f"a number that {operand.domain.bits} bits hold"
    return f"float (rounded to {operand.domain.bits} bits), int or Decimal; with ==, != and is_in {exact}{stored}"


def _fits_timestamp(operand: Operand) -> str:
    what = "a datetime with" if operand.is_aware else "numpy.datetime64 or a datetime without"
    return f"{what} a time zone; with ==, != and is_in whole {operand.unit}"


def _fits_bytes(operand: Operand) -> str:
    width = INT96_BYTES if operand.leaf.physical_type is INT96 else operand.leaf.type_length
    return f"bytes; with ==, != and is_in {width} of them" if width is not None else "bytes"


FITS: dict[str, Callable[[Operand], str]] = {
    "boolean": lambda operand: "True or False",
    "integer": _fits_integer,
    "float": _fits_float,
    "decimal": _fits_decimal,
    "date": lambda operand: "datetime.date",
    "time": lambda operand: f"datetime.time without a time zone; with ==, != and is_in whole {operand.unit}",
    "timestamp": _fits_timestamp,
    "uuid": lambda operand: "uuid.UUID; or 16 bytes as stored with ==, != and is_in",
    "text": lambda operand: "str or bytes",
    "bytes": _fits_bytes,
    "unordered": lambda operand: "bytes as stored, with ==, != and is_in",
}


def _refusal(operand: Operand, literal: Any, why: str) -> PredicateError:
    return PredicateError(f"{operand}: {_shown(literal)} {why}; fits: {FITS[operand.kind](operand)}")


def _shown(literal: Any) -> str:
    if isinstance(literal, int) and literal.bit_length() > 1000:  # Python prints integers up to 4300 digits only
        return f"an integer of {literal.bit_length()} bits"
    # What became an Instant was written as another type: its text is known from there.
    text = render_literal(literal) if isinstance(literal, Instant) else repr(literal)
    return text if len(text) <= 100 else f"{text[:100]}…"


def _place(operand: Operand, literal: Any) -> Placed:
    if literal is None:
        raise PredicateError(f"{operand}: None compares with nothing; ask with is_null() or is_not_null()")
    what, value = _read_literal(operand, literal)
    placer = PLACERS.get((operand.kind, what))
    if placer is None:
        name = "datetime" if isinstance(literal, Instant) else type(literal).__name__
        raise _refusal(operand, literal, f"({name}) does not fit{_raw_hint(operand, what)}")
    try:
        return placer(operand, value)
    except _Refused as refused:
        raise _refusal(operand, literal, str(refused)) from None


def _raw_hint(operand: Operand, what: str) -> str:
    """The way out when the stored values would take such a literal."""
    if operand.raw or (kind_of(operand.leaf, True), what) not in PLACERS:
        return ""
    return " (col(...).raw compares the stored value)"


def _place_exactly(operand: Operand, literal: Any) -> Placed:
    """For `==`, `!=` and `is_in`: the column can hold the literal."""
    placed = _place(operand, literal)
    if placed.unfit:
        raise _refusal(operand, literal, placed.unfit)
    return placed


def _place_in_order(operand: Operand, op: str, literal: Any) -> Placed:
    placed = _place(operand, literal)
    if not placed.ordered:
        raise _refusal(operand, literal, f"as stored bytes has no order for {op}")
    return placed


# Operators


def compare(operand: Operand, op: str, literal: Any) -> tuple[Domain, Intervals]:
    """The keys for which `operand op literal` is true; null is not among them."""
    if op in ("eq", "ne"):
        placed = _place_exactly(operand, literal)
        point = Intervals.point(placed.key)
        return placed.domain, point if op == "eq" else point.complement()
    placed = _place_in_order(operand, OPERATORS[op], literal)
    up_to = placed.below if placed.key is None else placed.below.union(Intervals.point(placed.key))
    less = placed.below if op in ("lt", "ge") else up_to
    return placed.domain, less if op in ("lt", "le") else less.complement()


def one_of(operand: Operand, literals: Iterable[Any]) -> tuple[Domain, Intervals]:
    """`is_in`: no key at all when there are no literals."""
    placed = [(literal, _place_exactly(operand, literal)) for literal in literals]
    domain = placed[0][1].domain if placed else operand.domain
    for literal, one in placed:
        if one.domain != domain:
            raise _refusal(operand, literal, "stands beside literals of another kind: stored bytes or values, not both")
    return domain, Intervals.points(one.key for _, one in placed)


def between(operand: Operand, low: Any, high: Any) -> tuple[Domain, Intervals]:
    """Both ends belong to it."""
    domain, from_low = compare(operand, "ge", low)
    _, to_high = compare(operand, "le", high)
    return domain, from_low.intersect(to_high)


def prefixed(operand: Operand, prefix: Any) -> tuple[Domain, Intervals]:
    """`starts_with`: from the prefix up to the first value above all that start with it."""
    if operand.kind not in ("text", "bytes") or operand.leaf.physical_type is INT96:
        hint = _raw_hint(operand, "bytes") if operand.leaf.physical_type is not INT96 else ""
        needed = "starts_with needs text, BYTE_ARRAY or FIXED_LEN_BYTE_ARRAY"
        raise PredicateError(f"{operand}: no prefix {_shown(prefix)}, {needed}{hint}")
    start = _place(operand, prefix).key
    return operand.domain, Intervals.of([(start, next_prefix(start))])


def next_prefix(prefix: bytes) -> bytes | None:
    """The first byte string above all that start with `prefix`; None when there is none.

    >>> from hardwood_jit.plan.literals import next_prefix
    >>> next_prefix(b"az"), next_prefix(b"a\\xff"), next_prefix(b"\\xff")
    (b'a{', b'b', None)
    """
    short = prefix.rstrip(b"\xff")
    return short[:-1] + bytes([short[-1] + 1]) if short else None
