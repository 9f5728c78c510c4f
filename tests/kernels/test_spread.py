"""Spreading in place against building a new list."""

import numpy as np
import pytest
from hardwood_jit.kernels import spread

from tests.kernels.slice_tables import NULL_DENSITIES

GUARD = 3  # elements on both sides that must stay as they are
STARTS = [0, 1, 63, 64, 100]
SLOTS = [0, 1, 63, 64, 65, 130, 1000]


def draw_slots(start, slots, density, seed):
    """Validity words with noise outside the range, and the flags inside it."""
    rng = np.random.default_rng(seed)
    bits = rng.integers(0, 2, -(-(start + slots + 1) // 64) * 64).astype(np.uint8)
    present = rng.random(slots) >= density
    bits[start : start + slots] = present
    return np.packbits(bits, bitorder="little").view(np.uint64), present


@pytest.mark.parametrize("density", NULL_DENSITIES)
@pytest.mark.parametrize("dtype", [np.uint8, np.uint32, np.uint64, np.int32])
def test_spread_values_land_on_set_bits(dtype, density):
    for start in STARTS:
        for slots in SLOTS:
            validity, present = draw_slots(start, slots, density, slots)
            dense = int(present.sum())
            out = np.full(start + slots + GUARD, 77, dtype)
            values = np.arange(1, dense + 1).astype(dtype)
            out[start : start + dense] = values
            spread.spread_values(out, start, slots, dense, validity)
            assert (out[start : start + slots][present] == values).all()
            assert (out[:start] == 77).all() and (out[start + slots :] == 77).all()


@pytest.mark.parametrize("density", NULL_DENSITIES)
def test_spread_pairs_and_wide_values_land_on_set_bits(density):
    for start in STARTS:
        for slots in SLOTS:
            validity, present = draw_slots(start, slots, density, slots)
            dense = int(present.sum())
            values = np.arange(1, 2 * dense + 1, dtype=np.uint64).reshape(-1, 2)
            out = np.full((start + slots + GUARD, 2), 77, np.uint64)
            out[start : start + dense] = values
            wide = out.view(np.uint8).reshape(-1).copy()
            spread.spread_pairs(out, start, slots, dense, validity)
            spread.spread_wide(wide, 16, start, slots, dense, validity)
            for result in (out, wide.view(np.uint64).reshape(-1, 2)):
                assert (result[start : start + slots][present] == values).all()
                assert (result[:start] == 77).all() and (result[start + slots :] == 77).all()


@pytest.mark.parametrize("width", [1, 3, 12, 17])
def test_spread_wide_values_keep_their_bytes(width):
    validity, present = draw_slots(5, 200, 0.5, width)
    dense = int(present.sum())
    values = np.random.default_rng(width).integers(0, 256, (dense, width), dtype=np.uint8)
    out = np.zeros((205, width), np.uint8)
    out[5 : 5 + dense] = values
    flat = out.reshape(-1)
    spread.spread_wide(flat, width, 5, 200, dense, validity)
    assert (flat.reshape(-1, width)[5:][present] == values).all()


@pytest.mark.parametrize("density", NULL_DENSITIES)
@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_spread_offsets_repeat_at_null_slots(dtype, density):
    for start in STARTS:
        for slots in SLOTS:
            validity, present = draw_slots(start, slots, density, slots)
            dense = int(present.sum())
            lengths = np.random.default_rng(dense).integers(0, 9, dense)
            offsets = np.full(start + 1 + slots + GUARD, -5, dtype)
            offsets[start] = 1000
            offsets[start + 1 : start + 1 + dense] = 1000 + np.cumsum(lengths)
            spread.spread_offsets(offsets, start, slots, dense, validity)
            spread_lengths = np.zeros(slots, np.int64)
            spread_lengths[present] = lengths
            assert (offsets[start + 1 : start + 1 + slots] == 1000 + np.cumsum(spread_lengths)).all()
            assert offsets[start] == 1000
            assert (offsets[:start] == -5).all() and (offsets[start + 1 + slots :] == -5).all()


@pytest.mark.parametrize("density", NULL_DENSITIES)
def test_clear_zeroes_null_slots_only(density):
    for start in STARTS:
        for slots in SLOTS:
            validity, present = draw_slots(start, slots, density, slots)
            out = np.full(start + slots + GUARD, 77, np.int32)
            pairs = np.full((start + slots + GUARD, 2), 77, np.uint64)
            spread.clear_values(out, start, slots, validity)
            spread.clear_pairs(pairs, start, slots, validity)
            expected = np.full(start + slots + GUARD, 77)
            expected[start : start + slots][~present] = 0
            assert (out == expected).all()
            assert (pairs == expected[:, None]).all()


def test_a_bit_count_that_lies_stays_inside_the_slots():
    for word in (0, 1, 2**63, 2**64 - 1, 0x5555555555555555):
        validity = np.full(4, word, np.uint64)
        for dense in (0, 1, 30, 100, 199):
            out = np.full(220, 77, np.uint64)
            spread.spread_values(out, 10, 200, dense, validity)
            offsets = np.full(220, 5, np.int32)
            spread.spread_offsets(offsets, 10, 200, dense, validity)
            assert (out[210:] == 77).all() and (out[:10] == 77).all()
