"""PLAIN kernels against struct and list slicing."""

import struct

import numpy as np
import pytest
from hardwood_jit.kernels import plain
from hardwood_jit.kernels.slices import SLACK, SRC_END
from hardwood_jit.kernels.status import BAD_LENGTH, OUTPUT_FULL, TRUNCATED, code_of, page_of

from tests.kernels.slice_tables import NULL_DENSITIES, SLOT_COUNTS, make_table, one_page

GUARD = 5
LENGTHS = [0, 1, 3, 15, 16, 17, 31, 32, 33, 47, 48, 49, 63, 64, 65, 200]  # around every step of the copy


def encode_strings(values):
    return b"".join(struct.pack("<I", len(v)) + v for v in values)


def draw_strings(rng, count):
    return [rng.bytes(int(rng.choice(LENGTHS))) for _ in range(count)]


def encode_booleans(values):
    return np.packbits(np.array(values, np.uint8), bitorder="little").tobytes()


def check_slots(found, expected):
    assert [f for f, e in zip(found, expected, strict=True) if e is not None] == [e for e in expected if e is not None]


def read_strings(table, dtype, room):
    offsets = np.full(table.slots + 1, -9, dtype)
    offsets[0] = 0
    data = np.full(room + SLACK, 0xEE, np.uint8)
    status = plain.read_byte_arrays(table.src, table.slices, table.validity, offsets, data)
    return status, offsets, data


@pytest.mark.parametrize("density", NULL_DENSITIES)
@pytest.mark.parametrize("slot_counts", SLOT_COUNTS)
@pytest.mark.parametrize("dtype", [np.uint32, np.uint64])
def test_fixed_values_are_copied_and_spread(dtype, slot_counts, density):
    rng = np.random.default_rng(1)
    table = make_table(
        rng,
        slot_counts,
        density,
        lambda n: rng.integers(0, np.iinfo(dtype).max, n, dtype=dtype, endpoint=True).tolist(),
        lambda values: np.array(values, dtype).tobytes(),
    )
    out = np.full(table.slots + GUARD, 77, dtype)
    assert plain.read_fixed(table.src, table.slices, table.validity, out) == 0
    check_slots(out[: table.slots].tolist(), table.expected)
    assert (out[table.slots :] == 77).all()


@pytest.mark.parametrize("density", NULL_DENSITIES)
@pytest.mark.parametrize("width", [1, 2, 12, 16, 33])
def test_wide_values_are_copied_and_spread(width, density):
    for slot_counts in SLOT_COUNTS:
        rng = np.random.default_rng(2)
        table = make_table(rng, slot_counts, density, lambda n, r=rng: [r.bytes(width) for _ in range(n)], b"".join)
        out = np.full((table.slots + GUARD) * width, 77, np.uint8)
        assert plain.read_wide(table.src, table.slices, table.validity, width, out) == 0
        rows = [bytes(row) for row in out.reshape(-1, width)]
        check_slots(rows[: table.slots], table.expected)
        assert rows[table.slots :] == [bytes([77]) * width] * GUARD


def test_width_zero_reads_nothing():
    src, slices, validity = one_page(b"", 1000)
    assert plain.read_wide(src, slices, validity, 0, np.zeros(0, np.uint8)) == 0


@pytest.mark.parametrize("density", NULL_DENSITIES)
@pytest.mark.parametrize("slot_counts", SLOT_COUNTS)
def test_booleans_are_unpacked_and_spread(slot_counts, density):
    rng = np.random.default_rng(3)
    table = make_table(rng, slot_counts, density, lambda n: rng.integers(0, 2, n).tolist(), encode_booleans)
    out = np.full(table.slots + GUARD, 77, np.uint8)
    assert plain.read_booleans(table.src, table.slices, table.validity, out) == 0
    check_slots(out[: table.slots].tolist(), table.expected)
    assert (out[table.slots :] == 77).all()


@pytest.mark.parametrize("density", NULL_DENSITIES)
@pytest.mark.parametrize("slot_counts", SLOT_COUNTS)
@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_byte_arrays_are_copied_and_null_slots_are_empty(dtype, slot_counts, density):
    rng = np.random.default_rng(4)
    table = make_table(rng, slot_counts, density, lambda n: draw_strings(rng, n), encode_strings)
    whole = b"".join(table.present)
    status, offsets, data = read_strings(table, dtype, len(whole))
    assert status == (len(whole) if table.slots else 0)
    assert data[: len(whole)].tobytes() == whole
    lengths = [0 if value is None else len(value) for value in table.expected]
    assert offsets.tolist() == [0, *np.cumsum(lengths).tolist()]
    assert (data[len(whole) + 32 :] == 0xEE).all()


def test_byte_arrays_go_on_where_the_first_offset_says():
    src, slices, validity = one_page(encode_strings([b"abc", b"", b"defg"]), 2, skip=1)
    slices[0, 5] = 3
    offsets = np.array([0, 1, 4, 6, 0, 0], np.int32)
    data = np.zeros(10 + SLACK, np.uint8)
    assert plain.read_byte_arrays(src, slices, validity, offsets, data) == 10
    assert offsets.tolist() == [0, 1, 4, 6, 6, 10]
    assert data[6:10].tobytes() == b"defg"


def test_output_that_is_one_byte_short_is_reported():
    rng = np.random.default_rng(5)
    table = make_table(rng, (20, 20), 0.2, lambda n: draw_strings(rng, n), encode_strings)
    table.expected[-1] = table.expected[-1] or b""
    total = len(b"".join(table.present))
    for room in range(total):
        status, _, _ = read_strings(table, np.int64, room)
        assert code_of(status) == OUTPUT_FULL
    assert read_strings(table, np.int64, total)[0] == total


def test_int32_offsets_never_overflow():
    src, slices, validity = one_page(encode_strings([b"x" * 100]), 1)
    data = np.empty(2**31 + 200, np.uint8)  # never touched beyond its first pages
    offsets = np.array([2**31 - 100, 0], np.int32)
    assert code_of(plain.read_byte_arrays(src, slices, validity, offsets, data)) == OUTPUT_FULL
    offsets = np.array([2**31 - 101, 0], np.int32)
    assert plain.read_byte_arrays(src, slices, validity, offsets, data) == 2**31 - 1
    wide = np.array([2**31 - 100, 0], np.int64)
    assert plain.read_byte_arrays(src, slices, validity, wide, data) == 2**31


@pytest.mark.parametrize("skip", [0, 2])
def test_a_page_cut_at_any_byte_is_truncated(skip):
    strings = encode_strings([b"abc", b"", b"0123456789abcdefXYZ"])
    for cut in range(len(strings)):
        src, slices, validity = one_page(strings, 3 - skip, skip)
        slices[0, SRC_END] = cut
        offsets = np.zeros(4, np.int32)
        status = plain.read_byte_arrays(src, slices, validity, offsets, np.zeros(99 + SLACK, np.uint8))
        assert code_of(status) in (TRUNCATED, BAD_LENGTH)
    for cut in range(24):
        src, slices, validity = one_page(bytes(24), 3 - skip, skip)
        slices[0, SRC_END] = cut
        assert code_of(plain.read_fixed(src, slices, validity, np.zeros(3, np.uint64))) == TRUNCATED
        assert code_of(plain.read_wide(src, slices, validity, 8, np.zeros(24, np.uint8))) == TRUNCATED
    for cut in range(3):
        src, slices, validity = one_page(bytes(3), 17 + 2 - skip, skip)
        slices[0, SRC_END] = cut
        assert code_of(plain.read_booleans(src, slices, validity, np.zeros(64, np.uint8))) == TRUNCATED


@pytest.mark.parametrize("length", [13, 2**31 - 1, 2**31, 2**32 - 1])
@pytest.mark.parametrize("skip", [0, 1])
def test_a_length_beyond_the_page_is_bad(length, skip):
    raw = struct.pack("<I", length) + b"0123456789ab" + encode_strings([b"a"])
    src, slices, validity = one_page(raw[:16], 1, skip)
    data = np.zeros(2000 + SLACK, np.uint8)
    status = plain.read_byte_arrays(src, slices, validity, np.zeros(3, np.int64), data)
    assert code_of(status) == BAD_LENGTH


def test_a_failure_names_its_row():
    rng = np.random.default_rng(6)
    table = make_table(rng, (5, 6, 7), 0.0, lambda n: [1] * n, lambda v: np.array(v, np.uint32).tobytes(), skips=False)
    table.slices[2, SRC_END] -= 1
    status = plain.read_fixed(table.src, table.slices, table.validity, np.zeros(18, np.uint32))
    assert (code_of(status), page_of(status)) == (TRUNCATED, 2)


def test_an_empty_table_is_fine():
    src, slices, validity = one_page(b"", 0)
    none = slices[:0]
    assert plain.read_fixed(src, none, validity, np.zeros(0, np.uint64)) == 0
    assert plain.read_byte_arrays(src, none, validity, np.zeros(1, np.int32), np.zeros(SLACK, np.uint8)) == 0
    assert plain.read_byte_arrays(src, slices, validity, np.zeros(1, np.int32), np.zeros(SLACK, np.uint8)) == 0
