"""The axes of the audit: column types with values at their edges, literals that fit or not, operators, layouts.

A cell is one column type with its nullability, one layout, one operator with literals, and one way to read. Literals
and ways to read are dealt round-robin from shuffled lists, so that a seed decides which meet and none is left out.
"""

from __future__ import annotations

import datetime as dt
import itertools
import math
import random
import struct
import uuid
import zoneinfo
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
import pandas as pd

from tests.audit.oracle import DAY, JULIAN_EPOCH, NANOSECONDS, TEXTS, Type

T = TypeVar("T")

# ---------------------------------------------------------------- column types


def _types() -> list[Type]:
    integers = [
        Type(f"{'' if signed else 'U'}INT_{bits}", "INT64" if bits == 64 else "INT32", "INTEGER", bits, signed)
        for bits in (8, 16, 32, 64)
        for signed in (True, False)
    ]
    decimals = [
        Type("DECIMAL(7,2) INT32", "INT32", "DECIMAL", precision=7, scale=2),
        Type("DECIMAL(9,0) INT32", "INT32", "DECIMAL", precision=9),
        Type("DECIMAL(15,4) INT64", "INT64", "DECIMAL", precision=15, scale=4),
        Type("DECIMAL(20,2) FLBA", "FLBA", "DECIMAL", precision=20, scale=2, width=9),
        Type("DECIMAL(38,10) FLBA", "FLBA", "DECIMAL", precision=38, scale=10, width=16),
        Type("DECIMAL(12,3) BYTE_ARRAY", "BYTE_ARRAY", "DECIMAL", precision=12, scale=3),
    ]
    clocks = [
        Type(
            f"TIME {unit} {'utc' if utc else 'local'}", "INT32" if unit == "ms" else "INT64", "TIME", unit=unit, utc=utc
        )
        for unit in NANOSECONDS
        for utc in (True, False)
    ]
    moments = [
        Type(f"TIMESTAMP {unit} {'utc' if utc else 'local'}", "INT64", "TIMESTAMP", unit=unit, utc=utc)
        for unit in NANOSECONDS
        for utc in (True, False)
    ]
    return [
        Type("BOOLEAN", "BOOLEAN"),
        Type("INT32", "INT32"),
        Type("INT64", "INT64"),
        *integers,
        Type("FLOAT", "FLOAT"),
        Type("DOUBLE", "DOUBLE"),
        Type("FLOAT16", "FLBA", "FLOAT16", width=2),
        *decimals,
        Type("DATE", "INT32", "DATE"),
        *clocks,
        *moments,
        Type("INT96", "INT96", "INSTANT"),
        Type("STRING", "BYTE_ARRAY", "STRING"),
        Type("ENUM", "BYTE_ARRAY", "ENUM"),
        Type("JSON", "BYTE_ARRAY", "JSON"),
        Type("BSON", "BYTE_ARRAY", "BSON"),
        Type("BYTE_ARRAY", "BYTE_ARRAY"),
        Type("FLBA(3)", "FLBA", width=3),
        Type("FLBA(16)", "FLBA", width=16),
        Type("UUID", "FLBA", "UUID", width=16),
        Type("INTERVAL", "FLBA", "INTERVAL", width=12),
        Type("GEOMETRY", "BYTE_ARRAY", "GEOMETRY"),
        Type("GEOGRAPHY", "BYTE_ARRAY", "GEOGRAPHY"),
    ]


TYPES = {kind.name: kind for kind in _types()}

# ---------------------------------------------------------------- stored values

FLOATS = (0.0, -0.0, math.inf, -math.inf, math.nan, 1.0, -1.0, 1.5, 0.1, -2.25, 1000.0, 65504.0, 6e-8, -1e-3)
WORDS = ("", "a", "ab", "abc", "abd", "b", "prefix-1", "prefix-2", "Zürich", "日本語", "🦀", "{}", "a\x00", "z" * 24)


def _integers(low: int, high: int, rng: random.Random) -> list[int]:
    edges = [low, low + 1, high - 1, high]
    small = [number for number in (-9, -1, 0, 1, 2, 3, 7, 100, 101) if low <= number <= high]
    return [*edges, *small, *(rng.randint(low, high) for _ in range(4))]


def _as_stored(number: int, bits: int) -> int:
    return number - (1 << bits) if number >> (bits - 1) else number


def _short_bytes(number: int, padding: int = 0) -> bytes:
    return number.to_bytes(number.bit_length() // 8 + 1 + padding, "big", signed=True)


def stored_values(kind: Type, rng: random.Random) -> list[Any]:
    """Values that the column may hold: the ends of its range, small ones, some at random."""
    if kind.physical == "BOOLEAN":
        return [False, True]
    if kind.logical == "FLOAT16":
        halves = [struct.pack("<e", value) for value in FLOATS]
        return [*halves, b"\x01\xfe", b"\x01\x00", struct.pack("<e", rng.uniform(-9, 9))]
    if kind.is_float:
        near = [*FLOATS, rng.uniform(-1000, 1000), 1e-40, -3.4028234663852886e38, 16777216.0]
        if kind.physical == "DOUBLE":
            return [*near, 1e300, -5e-324, 9007199254740992.0]
        return [struct.unpack("<f", struct.pack("<f", value))[0] for value in near]
    if kind.is_integer:
        bits = kind.bits or int(kind.physical[3:])
        if kind.signed:
            return _integers(-(1 << (bits - 1)), (1 << (bits - 1)) - 1, rng)
        return [_as_stored(number, int(kind.physical[3:])) for number in _integers(0, (1 << bits) - 1, rng)]
    if kind.logical == "DECIMAL":
        numbers = _integers(-(10**kind.precision) + 1, 10**kind.precision - 1, rng)
        numbers += [10**kind.scale, 25 * 10**kind.scale // 10]
        if kind.physical == "FLBA":
            return [number.to_bytes(kind.width, "big", signed=True) for number in numbers]
        if kind.physical == "BYTE_ARRAY":  # several encodings of one number
            return [_short_bytes(number, padding) for padding in (0, 1) for number in numbers]
        return numbers
    if kind.logical == "DATE":
        return [0, -1, 1, 365, 19_000, 20_000, -719_162, 2_932_896, -(1 << 31), (1 << 31) - 1, rng.randrange(20_000)]
    if kind.logical == "TIME":
        day = DAY // NANOSECONDS[kind.unit]
        return [0, 1, day - 1, day // 2, day // 2 + 1, day // 24, 1000, *(rng.randrange(day) for _ in range(4))]
    if kind.logical == "TIMESTAMP":
        second = 10**9 // NANOSECONDS[kind.unit]
        near = [0, 1, -1, second, -second, 1_735_689_600 * second, 1_735_689_600 * second + 1]
        return [*near, -(1 << 63), (1 << 63) - 1, *(rng.randrange(10**9) * second for _ in range(4))]
    if kind.physical == "INT96":
        instants = [0, 1, -1, 10**9, DAY, DAY - 1, -DAY, 1_735_689_600 * 10**9, rng.randrange(10**18)]
        return [
            struct.pack("<qi", instant % DAY + shift * DAY, JULIAN_EPOCH + instant // DAY - shift)
            for shift in (0, 1)  # more nanoseconds than a day has: the same instants in another form
            for instant in instants
        ]
    if kind.logical in TEXTS:
        return [word.encode() for word in WORDS]
    if kind.physical == "FLBA":
        width = kind.width
        heads = [b"", b"\x00\x01", b"\x7f", b"\x80", b"\xff", b"ab", b"abc"[:width]]
        return [
            *(head.ljust(width, b"\x00") for head in heads),
            b"\xff" * width,
            *(rng.randbytes(width) for _ in range(4)),
        ]
    return [
        *(word.encode() for word in WORDS),
        b"\x00",
        b"\x7f",
        b"\x80",
        b"\xff",
        b"\xff\xff",
        b"\xc3",
        rng.randbytes(3),
    ]


# ---------------------------------------------------------------- literals


class Literal(NamedTuple):
    """A literal as a user writes it, and the name of its kind in the report."""

    kind: str
    value: Any


UTC = dt.UTC
TOKYO = zoneinfo.ZoneInfo("Asia/Tokyo")
# One of each kind that users write; what a type does not take of these must be refused.
ONE_OF_EACH = (
    Literal("bool", True),
    Literal("numpy.bool", np.bool_(False)),
    Literal("int", 7),
    Literal("numpy.int64", np.int64(8)),
    Literal("float", 2.5),
    Literal("float", 3.0),
    Literal("float nan", math.nan),
    Literal("float inf", math.inf),
    Literal("numpy.float32", np.float32(1.5)),
    Literal("Decimal", Decimal("1.25")),
    Literal("Decimal", Decimal("1E+3")),
    Literal("date", dt.date(2025, 1, 1)),
    Literal("datetime naive", dt.datetime(2025, 1, 1)),
    Literal("datetime aware", dt.datetime(2025, 1, 1, tzinfo=UTC)),
    Literal("numpy.datetime64", np.datetime64("2025-01-01T00:00:00.000000001")),
    Literal("pandas naive", pd.Timestamp("2025-01-01 00:00:00.000000001")),
    Literal("pandas aware", pd.Timestamp("2025-01-01 09:00", tz="Asia/Tokyo")),
    Literal("time", dt.time(12, 30)),
    Literal("time aware", dt.time(12, 30, tzinfo=UTC)),
    Literal("UUID", uuid.UUID(int=77)),
    Literal("str", "ab"),
    Literal("numpy.str", np.str_("abc")),
    Literal("bytes", b"ab"),
    Literal("bytes", b"abc"),
    Literal("bytearray", bytearray(b"ab")),
    Literal("None", None),
    Literal("timedelta", dt.timedelta(1)),
)


def _of_integer(number: int) -> Iterator[Literal]:
    yield Literal("int", number)
    yield Literal("int", number + 1)
    yield Literal("int", number - 1)
    if -(1 << 63) <= number < 1 << 63:
        yield Literal("numpy.int64", np.int64(number))
    yield Literal("float", float(number))
    yield Literal("Decimal", Decimal(number))
    yield Literal("Decimal", Decimal(number) + Decimal("0.5"))
    yield Literal("float", number + 0.5)


def _of_float(value: float) -> Iterator[Literal]:
    yield Literal("float", value)
    yield Literal("float", math.nextafter(value, math.inf))
    yield Literal("float", math.nextafter(value, -math.inf))
    yield Literal("numpy.float64", np.float64(value))
    if abs(value) < 3e38 or math.isinf(value) or math.isnan(value):
        yield Literal("numpy.float32", np.float32(value))
    if math.isfinite(value):
        yield Literal("int", int(value))
        yield Literal("Decimal", Decimal(value))
        yield Literal("Decimal", Decimal(repr(value)))


def _of_nanoseconds(nanos: int, aware: bool) -> Iterator[Literal]:
    """The moments at and around an instant or a wall clock, in every type that holds it."""
    zone = {"tzinfo": UTC} if aware else {}
    if abs(nanos) < 10**19:
        moment = dt.datetime(1970, 1, 1, **zone) + dt.timedelta(microseconds=nanos // 1000)
        name = "datetime aware" if aware else "datetime naive"
        yield Literal(name, moment)
        yield Literal(name, moment + dt.timedelta(microseconds=1))
        yield Literal(name, moment.astimezone(TOKYO) if aware else moment - dt.timedelta(milliseconds=1))
    if abs(nanos) < 9 * 10**18:
        for near in (nanos, nanos + 1):
            stamp = pd.Timestamp(near, unit="ns", tz="UTC" if aware else None)
            yield Literal("pandas aware" if aware else "pandas naive", stamp)
            if not aware:
                yield Literal("numpy.datetime64", np.datetime64(near, "ns"))
    if not aware:
        yield Literal("numpy.datetime64", np.datetime64(nanos // 10**9, "s"))


def _of_bytes(value: bytes) -> Iterator[Literal]:
    yield Literal("bytes", value)
    yield Literal("bytes", value[:-1])
    yield Literal("bytes", value + b"\x00")
    yield Literal("bytearray", bytearray(value))
    yield Literal("bytes", value[:-1] + b"\x55")


def _near(kind: Type, stored: Any) -> Iterator[Literal]:
    """Literals at and next to a stored value."""
    if kind.physical == "BOOLEAN":
        yield Literal("bool", stored)
        yield Literal("numpy.bool", np.bool_(stored))
    elif kind.is_float:
        yield from _of_float(struct.unpack("<e", stored)[0] if kind.logical == "FLOAT16" else stored)
    elif kind.is_integer:
        yield from _of_integer(stored if kind.signed else stored % (1 << int(kind.physical[3:])))
    elif kind.logical == "DECIMAL":
        number = stored if isinstance(stored, int) else int.from_bytes(stored, "big", signed=True)
        digits = Decimal((number < 0, tuple(map(int, str(abs(number)))), -kind.scale))
        yield Literal("Decimal", digits)
        yield Literal("Decimal", Decimal((number < 0, (*map(int, str(abs(number))), 5), -kind.scale - 1)))
        yield Literal("int", number // 10**kind.scale)
        yield Literal("float", float(digits))
    elif kind.logical == "DATE":
        if -719_162 <= stored <= 2_932_896:
            yield Literal("date", dt.date(1970, 1, 1) + dt.timedelta(days=stored))
        yield Literal("date", dt.date(1970, 1, 1) + dt.timedelta(days=stored % 40_000))
    elif kind.logical == "TIME":
        moment = dt.datetime(1970, 1, 1) + dt.timedelta(microseconds=stored * NANOSECONDS[kind.unit] // 1000)
        yield Literal("time", moment.time())
        yield Literal("time", (moment + dt.timedelta(microseconds=1)).time())
    elif kind.logical == "TIMESTAMP":
        yield from _of_nanoseconds(stored * NANOSECONDS[kind.unit], kind.utc)
    elif kind.physical == "INT96":
        nanos, day = struct.unpack("<qi", stored)
        yield from _of_nanoseconds((day - JULIAN_EPOCH) * DAY + nanos, True)
    elif kind.logical == "UUID":
        yield Literal("UUID", uuid.UUID(bytes=stored))
    elif kind.logical in TEXTS:
        yield Literal("str", stored.decode())
        yield Literal("str", stored.decode()[:-1])
        yield Literal("str", stored.decode() + "\x00")
        yield Literal("numpy.str", np.str_(stored.decode().rstrip("\x00")))
    if kind.stores_bytes:
        yield from _of_bytes(stored)


def _far(kind: Type) -> list[Literal]:
    """Literals that no value of the type comes near."""
    if kind.is_float or kind.is_integer or kind.logical == "DECIMAL":
        numbers = [2**31, -(2**31) - 1, 2**63, 2**64, -(2**70), 10**60, 0, 1, Decimal("1E+100"), Decimal("-1E-100")]
        floats = [math.inf, -math.inf, 0.1, 1e300, -1e-300, 0.0, -0.0, 16777217.0, 1e39, 65520.0, 65519.0]
        rest = [
            Literal("float nan", math.nan),
            Literal("Decimal", Decimal("Infinity")),
            Literal("Decimal", Decimal("-0")),
        ]
        return [Literal(type(one).__name__, one) for one in (*numbers, *floats)] + rest
    if kind.logical == "DATE":
        return [Literal("date", dt.date.min), Literal("date", dt.date.max)]
    if kind.logical == "TIME":
        return [Literal("time", dt.time.min), Literal("time", dt.time.max), Literal("time", dt.time(12))]
    if kind.logical in ("TIMESTAMP", "INSTANT"):
        if kind.utc or kind.logical == "INSTANT":
            ends = dt.datetime(1, 1, 2, tzinfo=UTC), dt.datetime(9999, 12, 30, tzinfo=UTC)
            return [Literal("datetime aware", end) for end in ends]
        far = [np.datetime64("200000-01-01"), np.datetime64("-200000-01-01"), np.datetime64("2025-02")]
        return [
            Literal("datetime naive", dt.datetime.min),
            Literal("datetime naive", dt.datetime.max),
            *(Literal("numpy.datetime64", one) for one in far),
        ]
    if kind.logical in TEXTS or kind.physical == "BYTE_ARRAY":
        texts = [Literal("str", "\U0010ffff" * 3), Literal("str", "abb")]
        return [Literal("bytes", b""), Literal("bytes", b"\xff" * 30), *(texts if kind.logical is None else [])]
    return [Literal("bytes", b""), Literal("bytes", b"\xff" * 30)] if kind.stores_bytes else []


def fitting_literals(kind: Type, values: Sequence[Any]) -> list[Literal]:
    return [*itertools.chain.from_iterable(_near(kind, stored) for stored in values), *_far(kind)]


def raw_literals(kind: Type, values: Sequence[Any]) -> list[Literal]:
    """Literals for the stored physical value."""
    bare = kind.unannotated
    return [*itertools.chain.from_iterable(_near(bare, stored) for stored in values), *_far(bare)]


class Deck(Generic[T]):
    """Deals every card once before any comes again, in an order that a seed decides."""

    def __init__(self, cards: Sequence[T], rng: random.Random) -> None:
        self._cards = list(cards)
        rng.shuffle(self._cards)
        self._next = 0

    def deal(self) -> T:
        card = self._cards[self._next % len(self._cards)]
        self._next += 1
        return card


# ---------------------------------------------------------------- operators, layouts, ways to read

COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge")
OPERATORS = (
    *COMPARISONS,
    *(f"not_{op}" for op in COMPARISONS),
    "in",
    "not_in",
    "in_empty",
    "not_in_empty",
    "between",
    "not_between",
    "starts_with",
    "not_starts_with",
    "is_null",
    "is_not_null",
    *(f"raw_{op}" for op in COMPARISONS),
    "raw_in",
    "and",
    "or",
)
NULLABILITIES = ("required", "optional", "in_struct")


@dataclass(frozen=True)
class Layout:
    """How a file is cut and what it says about itself."""

    groups: str  # "one", "many"
    dictionary: str  # "none", "all", "fallback" (the later pages of a chunk are not coded)
    index: str  # "none", "page_index", "header_statistics"
    bloom: bool
    version: int
    writer: str = "handmade"
    encoding: str = "any"  # of pages without a dictionary: drawn, or "plain"

    @property
    def name(self) -> str:
        bloom = "bloom" if self.bloom else "no_bloom"
        bloom += "" if self.encoding == "any" else "/plain"
        return f"{self.writer}/{self.groups}/{self.dictionary}/{self.index}/{bloom}/v{self.version}"


HANDMADE = tuple(
    Layout(groups, dictionary, index, bloom, version)
    for groups in ("one", "many")
    for dictionary in ("none", "all", "fallback")
    for index in ("none", "page_index", "header_statistics")
    for bloom in (False, True)
    for version in (1, 2)
)
PYARROW = tuple(
    Layout(groups, dictionary, index, bloom, version, "pyarrow")
    for groups in ("one", "many")
    for dictionary in ("none", "all")
    for index in ("none", "page_index")
    for bloom in (False, True)
    for version in (1, 2)
)
# Generated kernels test PLAIN pages of numbers, and trees in which columns meet.
FUSED_LAYOUTS = tuple(
    Layout(groups, "none", index, False, version, encoding="plain")
    for groups, index, version in (("one", "none", 1), ("many", "page_index", 2), ("many", "none", 1))
)
FUSED_TYPES = (
    "INT32",
    "INT64",
    "UINT_32",
    "UINT_64",
    "FLOAT",
    "DOUBLE",
    "DATE",
    "TIMESTAMP us utc",
    "DECIMAL(15,4) INT64",
)
FUSED_OPERATORS = ("eq", "ne", "lt", "ge", "in", "not_in", "between", "not_between", "and", "or")
FUSED_PAIRS = ("INT32", "UINT_64", "DOUBLE", "TIMESTAMP us utc")  # each with itself


class Path(NamedTuple):
    """A way to read: the terminal, and whether metadata may prove things."""

    terminal: str
    metadata: bool


PATHS = tuple(
    Path(terminal, metadata) for terminal in ("batches", "rows", "count", "to_arrow") for metadata in (True, False)
)
SPARK_PATHS = tuple(Path("Spark map_batches", metadata) for metadata in (True, False))
SPARK_READ = Path("Spark read", True)  # the data source has no option to go without metadata

# ---------------------------------------------------------------- pairs of columns

PAIRS = (
    ("INT32", "INT64"),
    ("INT64", "UINT_64"),
    ("INT_8", "UINT_32"),
    ("INT32", "UINT_32"),
    ("UINT_8", "UINT_64"),
    ("FLOAT", "DOUBLE"),
    ("FLOAT16", "FLOAT"),
    ("FLOAT16", "DOUBLE"),
    ("DOUBLE", "DOUBLE"),
    ("DECIMAL(7,2) INT32", "DECIMAL(15,4) INT64"),
    ("DECIMAL(20,2) FLBA", "DECIMAL(12,3) BYTE_ARRAY"),
    ("DECIMAL(38,10) FLBA", "DECIMAL(9,0) INT32"),
    ("DATE", "DATE"),
    ("TIME ms utc", "TIME us utc"),
    ("TIME ns utc", "TIME ms utc"),
    ("TIMESTAMP ms utc", "TIMESTAMP ns utc"),
    ("TIMESTAMP us local", "TIMESTAMP ms local"),
    ("STRING", "STRING"),
    ("STRING", "ENUM"),
    ("BYTE_ARRAY", "BYTE_ARRAY"),
    ("FLBA(3)", "FLBA(3)"),
    ("UUID", "UUID"),
    ("BOOLEAN", "BOOLEAN"),
    # Refused
    ("INT32", "FLOAT"),
    ("INT64", "DECIMAL(15,4) INT64"),
    ("DOUBLE", "DECIMAL(20,2) FLBA"),
    ("DATE", "TIMESTAMP ms utc"),
    ("TIMESTAMP us utc", "TIMESTAMP us local"),
    ("STRING", "INT32"),
    ("BOOLEAN", "INT32"),
    ("UUID", "STRING"),
    ("TIME ms utc", "TIMESTAMP ms utc"),
    ("DATE", "INT32"),
)

LISTED = (
    "INT32",
    "UINT_64",
    "DOUBLE",
    "FLOAT16",
    "DECIMAL(20,2) FLBA",
    "DATE",
    "TIMESTAMP us utc",
    "STRING",
    "UUID",
    "BOOLEAN",
)
