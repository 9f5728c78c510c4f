"""RLE / bit-packed hybrid and BIT_PACKED levels against a Python decoder, on honest, cut and changed bytes."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hardwood_jit.kernels.rle import (
    copy_bits,
    count_bits,
    count_hybrid_values,
    fill_bits,
    load_repeated,
    put_bits,
    read_booleans,
    read_hybrid_levels,
    read_indexes,
    read_packed_levels,
    read_present_bits,
)
from hardwood_jit.kernels.slices import FIELDS, SLACK
from hardwood_jit.kernels.status import BAD_BIT_WIDTH, BAD_LEVEL, CORRUPT, OK, TRUNCATED, code_of, page_of

from tests.kernels.guarded import Guard
from tests.kernels.slice_tables import NULL_DENSITIES, SLOT_COUNTS, make_table
from tests.support.pages import hybrid, pack_bits, pack_bits_msb, rle_booleans, varint

GUARD = Guard()
FORMS = ["auto", "rle", "packed", "ones"]


def decode(raw: bytes, width: int, count: int) -> list[int] | None:
    """The first `count` values, or None where the runs do not hold as many."""
    out: list[int] = []
    pos = 0
    while len(out) < count:
        header = shift = 0
        while True:
            if pos == len(raw) or shift == 35:
                return None
            header |= (raw[pos] & 0x7F) << shift
            shift += 7
            pos += 1
            if raw[pos - 1] < 0x80:
                break
        if header >> 32:
            return None
        left = count - len(out)
        if header & 1:
            length = min((header >> 1) * 8, left)
            size = (length * width + 7) // 8
            whole = int.from_bytes(raw[pos : pos + size], "little")
            values = [whole >> (number * width) & ((1 << width) - 1) for number in range(length)]
        else:
            length, size = min(header >> 1, left), (width + 7) // 8
            values = [int.from_bytes(raw[pos : pos + size], "little")] * length
        if pos + size > len(raw):
            return None
        pos += size
        out += values
    return out


def draw(rng: random.Random, width: int, count: int) -> list[int]:
    """Values with stretches of repeats."""
    out: list[int] = []
    while len(out) < count:
        value = rng.choice([0, (1 << width) - 1, rng.getrandbits(width) if width else 0])
        out += [value] * rng.choice([1, 1, 2, 7, 8, 9, 30])
    return out[:count]


def damage(rng: random.Random, raw: bytes) -> bytes:
    """Some bytes changed, one of them often the first: a run header."""
    changed = bytearray(raw)
    for _ in range(rng.choice([1, 1, 2, 5])):
        if changed:
            changed[rng.choice([0, rng.randrange(len(changed))])] = rng.choice([0, 1, 2, 3, 255, rng.randrange(256)])
    return bytes(changed)


def signed(values: list[int]) -> list[int]:
    return np.array(values, np.uint64).astype(np.uint32).view(np.int32).tolist()


def indexes(raw: bytes, width: int, skip: int, count: int) -> tuple[int, list[int]]:
    out = np.full(count + 4, -77, np.int32)
    status = read_indexes(GUARD.place(raw), 0, len(raw), width, skip, count, out, 2)
    assert out[:2].tolist() == [-77, -77]
    assert out[-2:].tolist() == [-77, -77]
    return status, out[2:-2].tolist()


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("width", range(33))
def test_indexes_of_every_width_come_back_after_any_skip(width: int, form: str) -> None:
    rng = random.Random(f"{width} {form}")
    for count in (0, 1, 7, 8, 9, 64, 200):
        values = draw(rng, width, count)
        raw = hybrid(values, width, form) if width else b""
        for skip in {0, count // 3, max(count - 1, 0), count}:
            status, found = indexes(raw, width, skip, count - skip)
            assert 0 <= status <= len(raw)
            assert found == signed(values[skip:])


@pytest.mark.parametrize("width", [1, 3, 8, 13, 32])
def test_indexes_of_a_stream_cut_anywhere_come_whole_or_not_at_all(width: int) -> None:
    rng = random.Random(width)
    for form in FORMS:
        values = draw(rng, width, 50)
        raw = hybrid(values, width, form)
        for end in range(len(raw)):
            expected = decode(raw[:end], width, 50)
            status, found = indexes(raw[:end], width, 0, 50)
            assert (status < 0) == (expected is None)
            if expected is not None:
                assert found == signed(expected)


def test_indexes_of_changed_streams_are_what_the_changed_runs_say() -> None:
    rng = random.Random(5)
    for _ in range(3000):
        width = rng.choice([1, 2, 5, 8, 9, 17, 31, 32])
        raw = damage(rng, hybrid(draw(rng, width, 40), width, rng.choice(FORMS)))
        skip = rng.choice([0, 0, 13, 39])
        expected = decode(raw, width, 40)
        status, found = indexes(raw, width, skip, 40 - skip)
        assert (status < 0) == (expected is None)
        if expected is not None:
            assert found == signed(expected[skip:])


@pytest.mark.parametrize("width", [-1, 33, 64, 255])
def test_bit_width_outside_0_to_32_is_refused(width: int) -> None:
    assert indexes(b"\x02\0\0\0\0\0\0\0\0", width, 0, 1)[0] == BAD_BIT_WIDTH


@pytest.mark.parametrize("header", [0xFFFFFFFF, 0xFFFFFFFE, 0x80000001, 0x7FFFFFFF])
def test_run_of_billions_is_clipped_to_what_is_asked_for(header: int) -> None:
    raw = varint(header) + b"\x01\0\0\0"
    packed = header & 1
    status, found = indexes(raw, 1, 3, 9)
    assert status > 0
    assert found == [0] * 9 if packed else found == [1] * 9
    assert indexes(raw, 32, 0, 2)[0] == (TRUNCATED if packed else len(raw))
    assert indexes(raw, 1, (1 << 31) - 6, 5)[0] == (TRUNCATED if header != 0xFFFFFFFE else 6)


def test_empty_runs_end_with_the_input() -> None:
    assert indexes(b"\0\x07" * 20, 3, 0, 1)[0] == TRUNCATED
    assert indexes(b"\x01" * 20, 3, 0, 1)[0] == TRUNCATED
    assert indexes(b"\x01\0\x05\x02\x06", 3, 0, 1) == (5, [6])


@pytest.mark.parametrize("size", range(5))
def test_repeated_value_is_little_endian(size: int) -> None:
    raw = bytes([0xFF, 0x80, 0x01, 0xFE])[:size]
    assert load_repeated(GUARD.place(raw, 0), 0, size) == int.from_bytes(raw, "little")


# Levels


def levels(raw: bytes, maximum: int, count: int) -> tuple[int, list[int]]:
    out = np.full(count + 2, 99, np.uint8)
    status = read_hybrid_levels(GUARD.place(raw), 0, len(raw), maximum, count, out, 1)
    assert (out[0], out[-1]) == (99, 99)
    return status, out[1:-1].tolist()


@pytest.mark.parametrize("maximum", [1, 2, 3, 4, 7, 8, 15, 100, 127, 128, 255])
def test_levels_of_every_maximum_come_back(maximum: int) -> None:
    rng = random.Random(maximum)
    width = maximum.bit_length()
    for form in FORMS:
        for count in (0, 1, 8, 9, 65, 300):
            values = [min(value, maximum) for value in draw(rng, width, count)]
            raw = hybrid(values, width, form)
            status, found = levels(raw, maximum, count)
            assert 0 <= status <= len(raw)  # the padding of the last packed group is not looked at
            assert found == values
            for end in range(0, len(raw), 3):
                expected = decode(raw[:end], width, count)
                status, found = levels(raw[:end], maximum, count)
                assert (status < 0) == (expected is None)
                assert expected is None or found == expected


def test_levels_of_changed_streams_are_checked_against_their_maximum() -> None:
    rng = random.Random(7)
    for _ in range(3000):
        maximum = rng.choice([1, 2, 3, 5, 9, 255])
        width = maximum.bit_length()
        raw = damage(rng, hybrid([min(v, maximum) for v in draw(rng, width, 60)], width, rng.choice(FORMS)))
        expected = decode(raw, width, 60)
        status, found = levels(raw, maximum, 60)
        if expected is None:
            assert status == TRUNCATED
        elif max(expected) > maximum:
            assert status == BAD_LEVEL
        elif status >= 0:  # an empty run may carry a level that is too high, and nobody sees it
            assert found == expected
        else:
            assert status == BAD_LEVEL


def packed_levels(raw: bytes, maximum: int, count: int) -> tuple[int, list[int]]:
    out = np.full(count + 2, 99, np.uint8)
    status = read_packed_levels(GUARD.place(raw, 0), 0, len(raw), maximum, count, out, 1)
    assert (out[0], out[-1]) == (99, 99)
    return status, out[1:-1].tolist()


@pytest.mark.parametrize("maximum", [1, 2, 3, 5, 7, 15, 31, 100, 127, 255])
def test_legacy_packed_levels_are_read_from_the_highest_bit(maximum: int) -> None:
    rng = random.Random(maximum)
    for count in (0, 1, 7, 8, 9, 65):
        values = [rng.randint(0, maximum) for _ in range(count)]
        raw = pack_bits_msb(values, maximum.bit_length())
        assert packed_levels(raw, maximum, count) == (len(raw), values)
        if raw:
            assert packed_levels(raw[:-1], maximum, count)[0] == TRUNCATED
    if maximum & (maximum + 1):
        raw = pack_bits_msb([0, (1 << maximum.bit_length()) - 1], maximum.bit_length())
        assert packed_levels(raw, maximum, 2)[0] == BAD_LEVEL


def test_count_of_values_never_exceeds_what_the_runs_deliver() -> None:
    rng = random.Random(11)
    for _ in range(2000):
        width = rng.choice([1, 2, 3, 8])
        honest = hybrid(draw(rng, width, 50), width, rng.choice(FORMS))
        for raw in (honest, honest[: rng.randrange(len(honest) + 1)], damage(rng, honest)):
            enough = rng.choice([1, 50, 1000])
            found = count_hybrid_values(GUARD.place(raw, 0), 0, len(raw), width, enough)
            assert 0 <= found <= enough
            if decode(raw, width, enough) is not None:
                assert found == enough
            elif found:
                # A last packed run that is cut may deliver the values it still holds.
                assert decode(raw, width, found) is not None


# Bits


def test_bits_are_counted_copied_and_filled_between_any_two_places() -> None:
    rng = random.Random(13)
    for _ in range(1500):
        first, count, at = rng.randrange(20), rng.choice([0, 1, 7, 63, 64, 65, 130, 200]), rng.randrange(130)
        bits = [rng.getrandbits(1) for _ in range(first + count)]
        src = GUARD.place(pack_bits(bits, 1))
        wanted = bits[first:]
        assert count_bits(src, 0, first, count) == sum(wanted)
        words = np.zeros((at + count + 63) // 64 + 1, np.uint64)
        assert copy_bits(src, 0, first, count, words, at) == sum(wanted)
        expected = sum(bit << (at + number) for number, bit in enumerate(wanted))
        assert int.from_bytes(words.tobytes(), "little") == expected
        words[:] = 0
        fill_bits(words, at, count)
        assert int.from_bytes(words.tobytes(), "little") == ((1 << count) - 1) << at


@pytest.mark.parametrize("at", [0, 1, 63, 64, 100, 127])
@pytest.mark.parametrize("count", [1, 28, 63, 64])
def test_put_bits_keeps_what_is_there(at: int, count: int) -> None:
    words = np.zeros(4, np.uint64)
    words[0] = words[3] = 1
    put_bits(words, at, np.uint64((1 << count) - 1), count)
    assert int.from_bytes(words.tobytes(), "little") == ((1 << count) - 1) << at | 1 | 1 << 192


def present_bits(raw: bytes, skip: int, take: int, total: int, at: int) -> tuple[int, list[int], list[int]]:
    words = np.zeros((at + take + 63) // 64 + 1, np.uint64)
    counts = np.zeros(4, np.int64)
    status = read_present_bits(GUARD.place(raw), 0, len(raw), skip, take, total, words, at, counts)
    whole = int.from_bytes(words.tobytes(), "little")
    if status >= 0:
        assert whole & ((1 << at) - 1) == 0
        assert whole >> (at + take) == 0
    return status, [whole >> (at + number) & 1 for number in range(take)], counts[:3].tolist()


def test_present_bits_of_any_window_match_the_levels() -> None:
    rng = random.Random(17)
    for number in range(3000):
        total = rng.choice([0, 1, 8, 64, 65, 150])
        raw = hybrid(draw(rng, 1, total), 1, rng.choice(FORMS))
        if number % 3 == 1:
            raw = damage(rng, raw)
        elif number % 3 == 2:
            raw = raw[: rng.randrange(len(raw) + 1)]
        skip = rng.randint(0, total)
        take = rng.randint(0, total - skip)
        expected = decode(raw, 1, total)
        status, found, counts = present_bits(raw, skip, take, total, rng.randrange(70))
        if expected is None:
            assert status in (TRUNCATED, BAD_LEVEL)  # whichever comes first
        elif max(expected, default=0) > 1:
            assert status == BAD_LEVEL
        elif status == OK:
            assert found == expected[skip : skip + take]
            before, inside = sum(expected[:skip]), sum(expected[skip : skip + take])
            assert counts == [before, inside, sum(expected)]
        else:
            assert status == BAD_LEVEL


def test_present_bits_of_a_page_of_billions_take_no_time() -> None:
    total = (1 << 31) - 1
    raw = varint(total << 1) + b"\x01"
    assert present_bits(raw, total - 5, 5, total, 3) == (OK, [1] * 5, [total - 5, 5, total])


# Booleans


@pytest.mark.parametrize("slots", SLOT_COUNTS)
@pytest.mark.parametrize("density", NULL_DENSITIES)
def test_rle_booleans_of_any_window_come_back(slots: tuple[int, ...], density: float) -> None:
    rng = np.random.default_rng(len(slots))
    for form in FORMS:
        table = make_table(
            rng,
            slots,
            density,
            lambda count: [bool(bit) for bit in rng.integers(0, 2, count)],
            lambda values, form=form: rle_booleans(values, form),
        )
        out = np.full(table.slots + 1, 7, np.uint8)
        assert read_booleans(table.src, table.slices, table.validity, out) == OK
        assert out[-1] == 7
        for number, value in enumerate(table.expected):
            assert value is None or out[number] == value


def booleans(raw: bytes, skip: int, count: int) -> tuple[int, list[int]]:
    slices = np.zeros((2, FIELDS), np.int64)
    slices[1] = (0, len(raw), skip + count, skip, count, 0, count)
    out = np.full(count + 1, 7, np.uint8)
    status = read_booleans(GUARD.place(raw, SLACK), slices, np.zeros(0, np.uint64), out)
    assert out[-1] == 7
    return status, out[:-1].tolist()


def test_rle_booleans_that_are_cut_or_changed_are_refused_or_what_the_runs_say() -> None:
    rng = random.Random(19)
    for number in range(2000):
        raw = rle_booleans([bool(bit) for bit in draw(rng, 1, 40)], rng.choice(FORMS))
        raw = damage(rng, raw) if number % 2 else raw[: rng.randrange(len(raw) + 1)]
        skip = rng.choice([0, 5, 39])
        status, found = booleans(raw, skip, 40 - skip)
        length = int.from_bytes(raw[:4], "little")
        expected = decode(raw[4 : 4 + length], 1, 40) if len(raw) >= 4 and length <= len(raw) - 4 else None
        if expected is None:
            # A value of 2 before the end of the input may be seen first.
            assert code_of(status) in (TRUNCATED, CORRUPT)
            assert page_of(status) == 1
        elif max(expected) > 1:
            assert code_of(status) == CORRUPT
        elif status == OK:
            assert found == expected[skip:]
        else:
            assert code_of(status) == CORRUPT
