"""Decimals in every physical form become the same two's complement words."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hardwood_jit.kernels.decimal import widen_byte_arrays, widen_bytes, widen_bytes_256, widen_integers
from hardwood_jit.kernels.status import CORRUPT, OK, code_of, page_of

from tests.kernels.delta_encoder import NO_NULLS, validity_words


def numbers(out: np.ndarray) -> list[int]:
    return [int.from_bytes(row.tobytes(), "little", signed=True) for row in out]


def random_numbers(width: int, count: int) -> list[int]:
    """Every magnitude that `width` bytes hold, and both ends."""
    rng = random.Random(f"{width} {count}")
    low, high = -(1 << (8 * width - 1)), (1 << (8 * width - 1)) - 1
    values = [low, high, 0, -1, 1, low + 1, high - 1]
    while len(values) < count:
        bits = rng.randint(1, 8 * width - 1)
        values.append(rng.randint(-(1 << bits), (1 << bits) - 1))
    return values[:count]


def minimal(value: int) -> bytes:
    return value.to_bytes(value.bit_length() // 8 + 1, "big", signed=True)


def lay_out(parts: list[bytes], offsets_type: type) -> tuple[np.ndarray, np.ndarray]:
    offsets = np.cumsum([0, *map(len, parts)]).astype(offsets_type)
    return offsets, np.frombuffer(b"".join(parts), np.uint8)  # no spare byte: reading behind the data would show


@pytest.mark.parametrize("width", [4, 8])
def test_integers_keep_value_and_sign(width: int) -> None:
    values = random_numbers(width, 300)
    out = np.zeros((300, 2), np.uint64)
    assert widen_integers(np.array(values, f"i{width}"), 300, out) >= max(abs(value) for value in values) - 1
    assert numbers(out) == values


@pytest.mark.parametrize("width", range(1, 33))
def test_every_fixed_width_keeps_value_and_sign(width: int) -> None:
    for count in (0, 1, 2, 5, 300):
        values = random_numbers(width, count)
        raw = np.frombuffer(b"".join(v.to_bytes(width, "big", signed=True) for v in values), np.uint8)
        if width <= 16:
            out = np.zeros((count, 2), np.uint64)
            assert widen_bytes(raw, width, count, out) == OK
            assert numbers(out) == values
        out = np.zeros((count, 4), np.uint64)
        assert widen_bytes_256(raw, width, count, out) == OK
        assert numbers(out) == values


def test_width_out_of_range_is_refused() -> None:
    raw = np.zeros(64, np.uint8)
    for width in (-1, 0, 17, 2**40):
        assert code_of(widen_bytes(raw, width, 1, np.zeros((1, 2), np.uint64))) == CORRUPT
    for width in (-1, 0, 33, 2**40):
        assert code_of(widen_bytes_256(raw, width, 1, np.zeros((1, 4), np.uint64))) == CORRUPT


@pytest.mark.parametrize("words", [2, 4])
@pytest.mark.parametrize("offsets_type", [np.int32, np.int64])
@pytest.mark.parametrize("padding", [0, 1, 40])
def test_byte_arrays_of_any_length_keep_value_and_sign(words: int, offsets_type: type, padding: int) -> None:
    values = random_numbers(8 * words, 300)
    parts = [(b"\xff" if v < 0 else b"\x00") * padding + minimal(v) for v in values]
    out = np.zeros((300, words), np.uint64)
    assert widen_byte_arrays(*lay_out(parts, offsets_type), 300, NO_NULLS, out, words) == OK
    assert numbers(out) == values


@pytest.mark.parametrize("words", [2, 4])
def test_value_without_bytes_is_zero(words: int) -> None:
    out = np.full((3, words), 9, np.uint64)
    assert widen_byte_arrays(*lay_out([b"", b"\x05", b""], np.int32), 3, NO_NULLS, out, words) == OK
    assert numbers(out) == [0, 5, 0]


@pytest.mark.parametrize("words", [2, 4])
def test_number_wider_than_the_output_is_refused_and_named(words: int) -> None:
    limit = 1 << (64 * words - 1)
    for value in (limit, -limit - 1, limit * 256, -limit * 300, 1 << (64 * words), -(1 << (64 * words + 7))):
        out = np.zeros((3, words), np.uint64)
        status = widen_byte_arrays(*lay_out([b"\x01", b"", minimal(value)], np.int32), 3, NO_NULLS, out, words)
        assert (code_of(status), page_of(status)) == (CORRUPT, 2)


@pytest.mark.parametrize("words", [2, 4])
def test_nulls_are_not_looked_at(words: int) -> None:
    rng = random.Random(words)
    for count in (0, 1, 63, 64, 65, 200):
        values = random_numbers(8 * words, count)
        present = np.array([rng.random() < 0.6 for _ in range(count)], bool)
        # Null slots own no bytes in practice; here they own a number that would be refused.
        parts = [minimal(v) if p else b"\x7f" * 40 for v, p in zip(values, present, strict=True)]
        out = np.full((count, words), 9, np.uint64)
        assert widen_byte_arrays(*lay_out(parts, np.int32), count, validity_words(present), out, words) == OK
        assert numbers(out) == [v if p else 0 for v, p in zip(values, present, strict=True)]
