"""Loads, stores, bit counts, varints and bit unpacking against Python's own integers."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hardwood_jit.kernels import bits
from hardwood_jit.kernels.bits import (
    copy_16,
    copy_bytes,
    load_u16,
    load_u32,
    load_u64,
    popcount,
    read_varint,
    read_varint64,
    store_u32,
    store_u64,
    trailing_zeros,
    unpack_bits,
    zigzag,
)
from hardwood_jit.kernels.status import BAD_HEADER, TRUNCATED
from numba import njit

from tests.kernels.guarded import Guard

ROOT = Path(__file__).parents[2]
GUARD = Guard()
WORDS = [0, 1, 2, 1 << 63, (1 << 64) - 1, 0x8000000000000001, 0xAAAAAAAAAAAAAAAA, 1 << 31, 1 << 32]


@njit
def call_intrinsics(src, pos, word, loaded, stored, copied):
    """Every intrinsic once; they have no Python entry of their own."""
    loaded[0] = np.uint64(load_u16(src, pos))
    loaded[1] = np.uint64(load_u32(src, pos))
    loaded[2] = load_u64(src, pos)
    loaded[3] = popcount(word)
    loaded[4] = trailing_zeros(word)
    store_u32(stored, 1, np.uint32(loaded[1]))
    store_u64(stored, 6, loaded[2])
    copy_bytes(copied, 1, src, pos, 7)
    copy_16(copied, 9, src, pos)


@pytest.mark.parametrize("pos", range(9))
@pytest.mark.parametrize("word", WORDS)
def test_intrinsics_read_and_write_unaligned_little_endian_numbers(pos: int, word: int) -> None:
    raw = random.Random(pos).randbytes(pos + 16)
    src = GUARD.place(raw, 0)
    loaded, stored, copied = np.zeros(5, np.uint64), np.zeros(16, np.uint8), np.zeros(26, np.uint8)
    call_intrinsics(src, pos, np.uint64(word), loaded, stored, copied)
    assert loaded[:3].tolist() == [int.from_bytes(raw[pos : pos + size], "little") for size in (2, 4, 8)]
    assert loaded[3] == word.bit_count()
    assert loaded[4] == (64 if word == 0 else (word & -word).bit_length() - 1)
    assert stored.tobytes() == b"\0" + raw[pos : pos + 4] + b"\0" + raw[pos : pos + 8] + b"\0\0"
    assert copied.tobytes() == b"\0" + raw[pos : pos + 7] + b"\0" + raw[pos : pos + 16] + b"\0"


def test_copy_may_overlap_and_may_be_empty() -> None:
    @njit
    def copy(out, out_pos, src, src_pos, count):
        copy_bytes(out, out_pos, src, src_pos, count)

    buffer = np.arange(20, dtype=np.uint8)
    copy(buffer, 3, buffer, 0, 10)
    assert buffer[3:13].tolist() == list(range(10))
    copy(buffer, 0, buffer, 3, 10)
    assert buffer[:10].tolist() == list(range(10))
    before = buffer.copy()
    copy(buffer, 20, buffer, 20, 0)
    assert np.array_equal(buffer, before)


def test_python_twins_mean_the_same_as_the_intrinsics() -> None:
    raw = random.Random(1).randbytes(40)
    src = np.frombuffer(raw, np.uint8)
    for pos in range(9):
        for dtype, size in ((np.uint16, 2), (np.uint32, 4), (np.uint64, 8)):
            assert int(bits._python_load(dtype)(src, pos)) == int.from_bytes(raw[pos : pos + size], "little")
    out = np.zeros(4, np.uint64)
    bits._python_store(np.uint32)(out, 3, 0xDEADBEEF)
    assert out.tobytes()[3:7] == (0xDEADBEEF).to_bytes(4, "little")
    bits._python_copy_bytes(out, 8, src, 1, 16)
    assert out.tobytes()[8:24] == raw[1:17]


def test_kernels_run_as_plain_python_when_compiling_is_switched_off() -> None:
    code = """
import numpy as np
from hardwood_jit.kernels import bits
from hardwood_jit.kernels.rle import read_indexes
from tests.support.pages import hybrid
values = [3, 3, 3, 3, 3, 3, 3, 3, 3, 0, 1, 2, 3, 4, 5, 6, 7, 7]
raw = hybrid(values, 3)
src = np.frombuffer(raw + bytes(8), np.uint8)
out = np.zeros(len(values), np.int32)
assert read_indexes(src, 0, len(raw), 3, 0, len(values), out, 0) == len(raw)
assert out.tolist() == values
assert (bits.popcount(np.uint64(7)), bits.trailing_zeros(np.uint64(8)), bits.trailing_zeros(0)) == (3, 3, 64)
target = np.zeros(16, np.uint8)
bits.copy_16(target, 0, np.arange(16, dtype=np.uint8), 0)
assert target.tolist() == list(range(16))
"""
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1", "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", code], env=environment, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


EDGES = [0, 1, 127, 128, 255, 16383, 16384, (1 << 31) - 1, 1 << 31, (1 << 32) - 1]


@pytest.mark.parametrize("value", [*EDGES, 1 << 32, (1 << 35) - 1, 1 << 35, 1 << 40])
def test_varint_holds_32_bits_and_ends_inside_the_input(value: int) -> None:
    raw = varint(value)
    src = GUARD.place(raw, 0)
    if value < 1 << 32:
        assert read_varint(src, 0, len(raw)) == (value, len(raw))
    else:
        assert read_varint(src, 0, len(raw))[1] == BAD_HEADER
    for end in range(min(len(raw), 5)):
        assert read_varint(GUARD.place(raw[:end], 0), 0, end)[1] == TRUNCATED


@pytest.mark.parametrize("value", [*EDGES, 1 << 32, (1 << 63) - 1, 1 << 63, (1 << 64) - 1, 1 << 64, 1 << 69, 1 << 70])
def test_long_varint_holds_64_bits_as_their_pattern(value: int) -> None:
    raw = varint(value)
    src = GUARD.place(raw, 0)
    if value < 1 << 64:
        pattern = value - (1 << 64) if value >> 63 else value
        assert read_varint64(src, 0, len(raw)) == (pattern, len(raw))
    else:
        assert read_varint64(src, 0, len(raw))[1] == BAD_HEADER
    for end in range(min(len(raw), 10)):
        assert read_varint64(GUARD.place(raw[:end], 0), 0, end)[1] == TRUNCATED


def test_padded_varints_are_read_and_endless_ones_refused() -> None:
    assert read_varint(GUARD.place(b"\x81\x80\x00", 0), 0, 3) == (1, 3)
    assert read_varint(GUARD.place(b"\x80" * 5, 0), 0, 5)[1] == BAD_HEADER
    assert read_varint64(GUARD.place(b"\x80" * 9 + b"\x00", 0), 0, 10) == (0, 10)
    assert read_varint64(GUARD.place(b"\x80" * 10, 0), 0, 10)[1] == BAD_HEADER


@pytest.mark.parametrize("number", [0, -1, 1, -2, 2, (1 << 31) - 1, -(1 << 31), (1 << 63) - 1, -(1 << 63)])
def test_zigzag_folds_the_sign_back(number: int) -> None:
    folded = (number << 1) ^ (number >> 63)
    pattern = folded & ((1 << 64) - 1)
    assert zigzag(pattern - (1 << 64) if pattern >> 63 else pattern) == number


@pytest.mark.parametrize("width", range(1, 33))
def test_bits_of_every_width_unpack_from_any_value_on(width: int) -> None:
    rng = random.Random(width)
    values = [rng.choice([0, (1 << width) - 1, rng.getrandbits(width)]) for _ in range(67)]
    whole = sum(value << (number * width) for number, value in enumerate(values))
    raw = whole.to_bytes((len(values) * width + 7) // 8, "little")
    signed = np.array(values, np.uint32).view(np.int32).tolist()
    for first, count in ((0, 67), (0, 0), (1, 1), (7, 9), (8, 59), (66, 1)):
        src = GUARD.place(b"xyz" + raw)
        out = np.full(count + 3, -7, np.int32)
        unpack_bits(src, 3, width, first, out, 2, count)
        assert out.tolist() == [-7, -7, *signed[first : first + count], -7]
