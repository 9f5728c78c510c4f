"""Verdicts of values against intervals, and of two columns against each other, as Python gives them one by one."""

from __future__ import annotations

import random
import struct
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hardwood_jit.kernels.compare import BYTES, DECIMAL, DIFFERENT, EQUAL, INSIDE
from hardwood_jit.kernels.slices import FILTER_FIELDS, SLACK
from hardwood_jit.kernels.status import BAD_LENGTH, OK, OUTPUT_FULL, TRUNCATED, code_of, page_of

from hardwood_jit.jit.kernel_cache import load
from tests.kernels.guarded import Guard
from tests.support.naive_predicate import Float

GUARD = Guard()
NOTHING = np.zeros(0, np.uint8)
# None, the branch of one, the loop up to four, and halving.
INTERVAL_COUNTS = (0, 1, 2, 4, 5, 40)


class Numbers:
    """A type of number: its values, their bits, and the unsigned keys that the kernels compare."""

    def __init__(self, name: str, bits: int, flip: int, float_bits: int, draw: Callable[[random.Random], Any]) -> None:
        self.name, self.bits, self.flip, self.float_bits, self.draw = name, bits, np.uint64(flip), float_bits, draw

    @property
    def word(self) -> str:
        return f"uint{self.bits}"

    def stored(self, value: Any) -> int:
        """The bits of a value."""
        if self.float_bits:
            form, as_int = ("<f", "<I") if self.bits == 32 else ("<d", "<Q")
            return int(struct.unpack(as_int, struct.pack(form, value))[0])
        return int(value) % (1 << self.bits)

    def key(self, value: Any) -> int:
        if not self.float_bits:
            return self.stored(value) ^ int(self.flip)
        if value != value:
            return (1 << self.bits) - 1
        bits, sign = self.stored(value), 1 << (self.bits - 1)
        return bits ^ ((1 << self.bits) - 1) if bits & sign else bits | sign

    def rank(self, value: Any) -> Any:
        """What Python compares."""
        return Float(value) if self.float_bits else value


def whole(low: int, high: int) -> Callable[[random.Random], int]:
    return lambda rng: rng.choice([low, high, rng.randint(low, high), rng.randint(max(low, -9), min(high, 9))])


def real(form: str) -> Callable[[random.Random], float]:
    special = [0.0, -0.0, float("inf"), float("-inf"), float("nan"), 1.0, -1.0]

    def draw(rng: random.Random) -> float:
        value = rng.choice(special) if rng.random() < 0.5 else rng.uniform(-9, 9)
        return float(struct.unpack(form, struct.pack(form, value))[0])

    return draw


NUMBERS = [
    Numbers("boolean", 8, 0, 0, lambda rng: rng.randrange(2)),
    Numbers("int32", 32, 1 << 31, 0, whole(-(1 << 31), (1 << 31) - 1)),
    Numbers("uint32", 32, 0, 0, whole(0, (1 << 32) - 1)),
    Numbers("int64", 64, 1 << 63, 0, whole(-(1 << 63), (1 << 63) - 1)),
    Numbers("uint64", 64, 0, 0, whole(0, (1 << 64) - 1)),
    Numbers("float", 32, 0, 32, real("<f")),
    Numbers("double", 64, 0, 64, real("<d")),
]
NAMES = [kind.name for kind in NUMBERS]


def some_intervals(
    kind: Numbers, count: int, rng: random.Random
) -> tuple[list[tuple[Any, Any]], np.ndarray, np.ndarray]:
    """Closed intervals that do not touch: as pairs of values, and as the kernels take them."""
    ends = sorted({kind.key(value): value for value in (kind.draw(rng) for _ in range(4 * count))}.items())
    pairs = [(ends[i][1], ends[i + 1][1]) for i in range(0, len(ends) - 1, 2)][:count]
    pairs = [(low, low) if rng.random() < 0.3 else (low, high) for low, high in pairs]
    lows = np.array([kind.key(low) for low, _ in pairs], np.uint64)
    spans = np.array([kind.key(high) - kind.key(low) for low, high in pairs], np.uint64)
    return pairs, lows, spans


def inside(kind: Numbers, value: Any, pairs: list[tuple[Any, Any]]) -> int:
    rank = kind.rank
    return int(any(rank(low) <= rank(value) <= rank(high) for low, high in pairs))


@pytest.mark.parametrize("kind", NUMBERS, ids=NAMES)
def test_numbers_are_hits_where_an_interval_holds_them(kind: Numbers) -> None:
    rng = random.Random(kind.name)
    test_words = load("compare.test_words", kind.word)
    for count in INTERVAL_COUNTS:
        pairs, lows, spans = some_intervals(kind, count, rng)
        values = [kind.draw(rng) for _ in range(100)] + [value for pair in pairs for value in pair]
        words = np.array([kind.stored(value) for value in values], kind.word)
        hits = np.full(len(values) + 1, 9, np.uint8)
        status = test_words(words, len(values), kind.flip, kind.float_bits, lows, spans, NOTHING, hits)
        assert status == OK
        assert hits[:-1].tolist() == [inside(kind, value, pairs) for value in values]
        assert hits[-1] == 9


def test_sieve_turns_away_only_what_no_interval_holds() -> None:
    kind = NUMBERS[3]
    rng = random.Random(1)
    points = sorted({rng.randrange(-500, 500) for _ in range(60)})
    lows = np.array([kind.key(point) for point in points], np.uint64)
    spans = np.zeros(len(points), np.uint64)
    sieve = np.zeros(64, np.uint8)  # smaller than the keys are many: most of it is set
    sieve[(lows & np.uint64(63)).astype(np.int64)] = 1
    values = list(range(-500, 500))
    words = np.array([kind.stored(value) for value in values], np.uint64)
    hits = np.empty(len(values), np.uint8)
    assert load("compare.test_words", "uint64")(words, len(values), kind.flip, 0, lows, spans, sieve, hits) == OK
    assert hits.tolist() == [int(value in points) for value in values]


def test_numbers_beyond_the_arrays_are_a_status() -> None:
    kind = NUMBERS[1]
    _, lows, spans = some_intervals(kind, 1, random.Random(2))
    words = np.zeros(5, np.uint32)
    test_words = load("compare.test_words", "uint32")
    for count, room in ((6, 9), (5, 4)):
        hits = np.full(room, 9, np.uint8)
        assert test_words(words, count, kind.flip, 0, lows, spans, NOTHING, hits) == OUTPUT_FULL
        assert (hits == 9).all()


# Pages of PLAIN values


def make_pages(
    rng: random.Random, encode: Callable[[Any], bytes], draw: Callable[[random.Random], Any], counts: list[int]
) -> tuple[np.ndarray, np.ndarray, list[Any]]:
    """Source, slices and the values that they take; every page has some values before and behind those."""
    raw, taken = b"", []
    slices = np.zeros((len(counts), FILTER_FIELDS), np.int64)
    for row, take in enumerate(counts):
        skip = rng.choice([0, 3])
        values = [draw(rng) for _ in range(skip + take + rng.choice([0, 2]))]
        raw += rng.randbytes(rng.randrange(5))  # values start anywhere
        start = len(raw)
        raw += b"".join(encode(value) for value in values)
        slices[row, :7] = (start, len(raw), len(values), skip, take, len(taken), take)
        taken += values[skip : skip + take]
    return GUARD.place(raw, SLACK), slices, taken


@pytest.mark.parametrize("kind", NUMBERS[1:], ids=NAMES[1:])
def test_plain_numbers_are_tested_where_they_lie(kind: Numbers) -> None:
    rng = random.Random(kind.name)
    size = kind.bits // 8
    test_plain = load("compare.test_plain")
    for count in INTERVAL_COUNTS:
        pairs, lows, spans = some_intervals(kind, count, rng)
        src, slices, values = make_pages(
            rng, lambda value: kind.stored(value).to_bytes(size, "little"), kind.draw, [0, 1, 40, 17]
        )
        hits = np.full(len(values) + 1, 9, np.uint8)
        arguments = (size, kind.flip, kind.float_bits, lows, spans, NOTHING)
        assert test_plain(src, slices, *arguments, hits) == OK
        assert hits[:-1].tolist() == [inside(kind, value, pairs) for value in values]
        assert hits[-1] == 9
        # One byte less than the values need, and one verdict less than there is room for.
        for row in (1, 2, 3):
            cut = slices.copy()
            cut[row, 1] = cut[row, 0] + (cut[row, 3] + cut[row, 4]) * size - 1
            status = test_plain(src, cut, *arguments, hits)
            assert (code_of(status), page_of(status)) == (TRUNCATED, row)
        status = test_plain(src, slices, *arguments, hits[: len(values) - 1])
        assert (code_of(status), page_of(status)) == (OUTPUT_FULL, 3)
        assert hits[-1] == 9


# Byte strings


def draw_bytes(rng: random.Random) -> bytes:
    """Many that share a beginning of seven, eight or nine bytes: comparisons go eight at a time."""
    start = rng.choice([b"", b"a", b"same be", b"same beg", b"same begi", b"same beginning of 24 b"])
    return start + bytes(rng.choice([0, 1, 0x7F, 0x80, 0xFF]) for _ in range(rng.choice([0, 0, 1, 2, 9])))


def draw_decimal(rng: random.Random) -> bytes:
    """Two's complement with padding."""
    number = rng.choice([0, 1, -1, 127, 128, -128, -129, 255, 256, rng.randint(-(10**6), 10**6), 10**30, -(10**30)])
    return number.to_bytes(number.bit_length() // 8 + 1 + rng.choice([0, 0, 1, 3]), "big", signed=True)


ORDERS: list[tuple[int, Callable[[random.Random], bytes], Callable[[bytes], Any]]] = [
    (BYTES, draw_bytes, lambda value: value),
    (DECIMAL, draw_decimal, lambda value: int.from_bytes(value, "big", signed=True)),
]

Bounds = tuple[np.ndarray, np.ndarray, np.ndarray]


def some_bounds(
    draw: Callable[[random.Random], bytes], rank: Callable[[bytes], Any], count: int, rng: random.Random
) -> tuple[list[tuple[Any, Any]], Bounds]:
    """Half-open intervals as pairs (None: no bound), and the arrays of compare.py; first and last may be open."""
    ends = sorted({rank(value): value for value in (draw(rng) for _ in range(6 * count))}.items())
    values = [value for _, value in ends][: 2 * count]
    pairs: list[tuple[Any, Any]] = [(values[i], values[i + 1]) for i in range(0, len(values) - 1, 2)]
    if pairs and rng.random() < 0.5:
        pairs[0] = (None, pairs[0][1])
    if pairs and rng.random() < 0.5:
        pairs[-1] = (pairs[-1][0], None)
    flat = [bound for pair in pairs for bound in pair]
    data = b"".join(bound or b"" for bound in flat)
    return pairs, (
        np.frombuffer(data + b"\xee" * SLACK, np.uint8).copy(),
        np.cumsum([len(bound or b"") for bound in flat], dtype=np.int64),
        np.array([bound is None for bound in flat], np.uint8),
    )


def holds(rank: Callable[[bytes], Any], pairs: list[tuple[Any, Any]], value: bytes) -> int:
    return int(any((a is None or rank(a) <= rank(value)) and (b is None or rank(value) < rank(b)) for a, b in pairs))


@pytest.mark.parametrize(("order", "draw", "rank"), ORDERS, ids=["bytes", "decimal"])
def test_byte_arrays_are_hits_where_an_interval_holds_them(order: int, draw: Any, rank: Any) -> None:
    rng = random.Random(order)
    for count in (0, 1, 1, 2, 5, 30):
        pairs, bounds = some_bounds(draw, rank, count, rng)
        values = [draw(rng) for _ in range(150)] + [bound for pair in pairs for bound in pair if bound is not None]
        wanted = [holds(rank, pairs, value) for value in values]
        offsets = np.cumsum([0, *map(len, values)])
        data = GUARD.place(b"".join(values), SLACK)
        for o in ("int32", "int64"):
            hits = np.full(len(values) + 1, 9, np.uint8)
            test = load("compare.test_byte_arrays", o=o)
            assert test(offsets.astype(o), data, len(values), *bounds, order, hits) == OK
            assert hits[:-1].tolist() == wanted
            assert hits[-1] == 9
            assert test(offsets.astype(o), data, len(values) + 1, *bounds, order, hits) == OUTPUT_FULL
            assert test(offsets.astype(o), data, len(values), *bounds, order, hits[:5]) == OUTPUT_FULL
        wrong = offsets.astype(np.int32)
        for row, offset in ((3, data.size + 1), (3, -1), (4, int(wrong[3]) - 1)):
            changed = wrong.copy()
            changed[row] = offset
            assert load("compare.test_byte_arrays", o="int32")(changed, data, 10, *bounds, order, hits) == BAD_LENGTH


@pytest.mark.parametrize(("order", "draw", "rank"), ORDERS, ids=["bytes", "decimal"])
def test_plain_byte_arrays_are_tested_where_they_lie(order: int, draw: Any, rank: Any) -> None:
    rng = random.Random(order)
    test = load("compare.test_plain_byte_arrays")
    for count in (0, 1, 2, 5):
        pairs, bounds = some_bounds(draw, rank, count, rng)
        src, slices, values = make_pages(rng, lambda value: struct.pack("<I", len(value)) + value, draw, [1, 0, 60, 25])
        hits = np.full(len(values) + 1, 9, np.uint8)
        assert test(src, slices, *bounds, order, INSIDE, hits) == OK
        assert hits[:-1].tolist() == [holds(rank, pairs, value) for value in values]
        assert hits[-1] == 9
        status = test(src, slices, *bounds, order, INSIDE, hits[:-2])
        assert (code_of(status), page_of(status)) == (OUTPUT_FULL, 3)
        for row in (0, 2, 3):
            for end in range(int(slices[row, 0]), int(slices[row, 0]) + 4 * int(slices[row, 3] + slices[row, 4])):
                cut = slices.copy()
                cut[row, 1] = end  # shorter than the length words alone
                status = test(src, cut, *bounds, order, INSIDE, hits)
                assert code_of(status) in (TRUNCATED, BAD_LENGTH)
                assert page_of(status) == row


def test_single_byte_string_is_found_by_its_length_and_bytes() -> None:
    rng = random.Random(3)
    test = load("compare.test_plain_byte_arrays")
    for wanted in (b"", b"a", b"same be", b"same beg", b"same begi", b"sixteen bytes of", b"same beginning of 24 b"):
        bounds = np.frombuffer(wanted + wanted + b"\0" + b"\xee" * SLACK, np.uint8).copy()
        ends = np.array([len(wanted), 2 * len(wanted) + 1], np.int64)

        def draw(rng: random.Random, wanted: bytes = wanted) -> bytes:
            almost = bytes([*wanted[:-1], wanted[-1] ^ 1]) if wanted else b"x"
            return rng.choice([wanted, wanted, almost, wanted + b"\0", wanted[:-1], draw_bytes(rng)])

        src, slices, values = make_pages(rng, lambda value: struct.pack("<I", len(value)) + value, draw, [30, 31])
        for asks in (INSIDE, EQUAL, DIFFERENT):
            hits = np.empty(len(values), np.uint8)
            assert test(src, slices, bounds, ends, np.zeros(2, np.uint8), BYTES, asks, hits) == OK
            assert hits.tolist() == [int((value == wanted) != (asks == DIFFERENT)) for value in values]
        for asks in (EQUAL, DIFFERENT):  # nothing to be equal to
            assert test(src, slices, bounds, ends[:0], np.zeros(2, np.uint8), BYTES, asks, hits) == OUTPUT_FULL


def test_length_of_a_byte_array_beyond_its_page_is_a_status() -> None:
    test = load("compare.test_plain_byte_arrays")
    _, bounds = some_bounds(draw_bytes, lambda value: value, 2, random.Random(4))
    for length in (4, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF):
        src = GUARD.place(struct.pack("<I", length) + b"abc", SLACK)
        slices = np.zeros((1, FILTER_FIELDS), np.int64)
        slices[0, :7] = (0, 7, 1, 0, 1, 0, 1)
        for asks in (INSIDE, EQUAL, DIFFERENT):
            status = test(src, slices, *bounds, BYTES, asks, np.empty(1, np.uint8))
            assert code_of(status) == BAD_LENGTH


@pytest.mark.parametrize("width", [0, 1, 2, 7, 8, 9, 16, 20])
def test_wide_values_are_hits_where_an_interval_holds_them(width: int) -> None:
    rng = random.Random(width)
    test = load("compare.test_wide")
    for order, draw, rank in ORDERS:
        pairs, bounds = some_bounds(draw, rank, 3, rng)
        values = [bytes(rng.choice([0, 1, 0x7F, 0x80, 0xFF, 0x61]) for _ in range(width)) for _ in range(100)]
        data = GUARD.place(b"".join(values), 8)
        hits = np.full(101, 9, np.uint8)
        assert test(data, width, 100, *bounds, order, hits) == OK
        assert hits.tolist() == [*(holds(rank, pairs, value) for value in values), 9]
        assert test(data, width, 100, *bounds, order, hits[:99]) == OUTPUT_FULL
        if width:
            assert test(data[: width * 100 - 1], width, 100, *bounds, order, hits) == OUTPUT_FULL


# Two columns

OPERATORS: dict[int, Callable[[Any, Any], bool]] = {
    1: lambda a, b: a < b,
    2: lambda a, b: a == b,
    3: lambda a, b: a <= b,
    4: lambda a, b: a > b,
    5: lambda a, b: a != b,
    6: lambda a, b: a >= b,
}


@pytest.mark.parametrize("op", OPERATORS)
def test_keys_of_two_columns_compare(op: int) -> None:
    rng = random.Random(op)
    pool = [0, 1, 2, (1 << 63) - 1, 1 << 63, (1 << 64) - 1]
    left, right = ([rng.choice(pool) for _ in range(200)] for _ in range(2))
    hits = np.full(201, 9, np.uint8)
    status = load("compare.compare_keys")(np.array(left, np.uint64), np.array(right, np.uint64), 200, op, hits)
    assert status == OK
    assert hits.tolist() == [*(int(OPERATORS[op](a, b)) for a, b in zip(left, right, strict=True)), 9]


@pytest.mark.parametrize("op", OPERATORS)
def test_byte_arrays_of_two_columns_compare(op: int) -> None:
    rng = random.Random(op)
    for order, draw, rank in ORDERS:
        left, right = ([draw(rng) for _ in range(200)] for _ in range(2))
        right[:50] = left[:50]
        sides = []
        for values in (left, right):
            offsets = np.cumsum([0, *map(len, values)]).astype(np.int64)
            sides += [offsets, np.frombuffer(b"".join(values) + bytes(SLACK), np.uint8).copy()]
        hits = np.full(201, 9, np.uint8)
        assert load("compare.compare_byte_arrays", o="int64")(*sides, 200, order, op, hits) == OK
        wanted = [int(OPERATORS[op](rank(a), rank(b))) for a, b in zip(left, right, strict=True)]
        assert hits.tolist() == [*wanted, 9]
