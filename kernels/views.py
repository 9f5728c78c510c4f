# mypy: ignore-errors
"""Byte arrays -> Arrow string views: 16 bytes that hold a short value, or say where a long one lies.

A view is two little-endian words. The low half of the first is the length. Up to 12 bytes follow in the view itself,
padded with zeros; of longer values the first 4 bytes, then the buffer's number and the position in it, 32 bits each.
"""

import numpy as np

from .bits import load_u32, load_u64
from .compiled import block, fail, kernel
from .slices import OUT_START, SKIP, SLACK, SLOTS, SRC_END, SRC_START, TAKE
from .spread import clear_pairs, spread_pairs
from .status import BAD_LENGTH, OK, OUTPUT_FULL, TRUNCATED

_INLINE = 12  # bytes of a value that fit into the view
_INT32_MAX = 2**31 - 1


@block
def write_view(data, pos, length, buffer_index, out, slot):
    """One view of data[pos : pos + length]; 12 bytes from `pos` must be readable, pos and length below 2**31."""
    # No branches: lengths vary from value to value, and a mispredicted one costs more than all of this.
    prefix = np.uint64(load_u32(data, pos)) & ((np.uint64(1) << np.uint64(min(length, 4) * 8)) - np.uint64(1))
    # Shifting up and down drops what follows the value; in two halves, because a word cannot be shifted by 64 bits.
    half = np.uint64((_INLINE - min(max(length, 4), _INLINE)) * 4)
    rest = (((load_u64(data, pos + 4) << half) << half) >> half) >> half
    place = np.uint64(buffer_index) | (np.uint64(pos) << np.uint64(32))
    out[slot, 0] = np.uint64(length) | (prefix << np.uint64(32))
    out[slot, 1] = place if length > _INLINE else rest


@kernel
def read_plain_views(src, slices, validity, buffer_index, out):
    """Views of PLAIN byte arrays in `out` (uint64[:, 2]); null slots are zero. Long values stay in `src`."""
    for row in range(slices.shape[0]):
        pos = slices[row, SRC_START]
        end = slices[row, SRC_END]
        at = slices[row, OUT_START]
        take = slices[row, TAKE]
        if end > _INT32_MAX:
            return fail(OUTPUT_FULL, row)
        for i in range(slices[row, SKIP]):
            if end - pos < 4:
                return fail(TRUNCATED, row)
            length = np.int64(load_u32(src, pos))
            pos += 4
            if length > end - pos:
                return fail(BAD_LENGTH, row)
            pos += length
        for i in range(take):
            if end - pos < 4:
                return fail(TRUNCATED, row)
            length = np.int64(load_u32(src, pos))
            pos += 4
            if length > end - pos:
                return fail(BAD_LENGTH, row)
            write_view(src, pos, length, buffer_index, out, at + i)
            pos += length
        if take < slices[row, SLOTS]:
            spread_pairs(out, at, slices[row, SLOTS], take, validity)
            clear_pairs(out, at, slices[row, SLOTS], validity)
    return np.int64(OK)


@kernel
def make_views(offsets, data, count, buffer_index, out):
    """Views of the first `count` values of (offsets, data) in `out`; `data` has SLACK spare bytes. OK or a status."""
    room = np.int64(data.shape[0]) - SLACK
    start = np.int64(offsets[0])
    if start < 0:
        return np.int64(BAD_LENGTH)
    for i in range(count):
        stop = np.int64(offsets[i + 1])
        if stop < start or stop > room:
            return np.int64(BAD_LENGTH)
        if stop > _INT32_MAX:
            return np.int64(OUTPUT_FULL)
        write_view(data, start, stop - start, buffer_index, out, i)
        start = stop
    return np.int64(OK)
