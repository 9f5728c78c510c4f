# mypy: ignore-errors
"""PLAIN (Encodings.md, PLAIN = 0): stored values -> output slots; also the values of dictionary pages."""

import numpy as np

from .bits import copy_16, copy_bytes, load_u16, load_u32, store_u64
from .compiled import block, fail, kernel
from .slices import OUT_START, SKIP, SLACK, SLOTS, SRC_END, SRC_START, TAKE
from .spread import spread_offsets, spread_values, spread_wide
from .status import BAD_LENGTH, OK, OUTPUT_FULL, TRUNCATED

_INT32_MAX = 2**31 - 1


@kernel
def read_fixed(src, slices, validity, out):
    """Little-endian numbers as wide as the elements of `out` (uint32 or uint64)."""
    size = np.int64(out.itemsize)
    for row in range(slices.shape[0]):
        pos = slices[row, SRC_START]
        skip = slices[row, SKIP]
        take = slices[row, TAKE]
        if skip + take > (slices[row, SRC_END] - pos) // size:
            return fail(TRUNCATED, row)
        at = slices[row, OUT_START]
        copy_bytes(out, at * size, src, pos + skip * size, take * size)
        if take < slices[row, SLOTS]:
            spread_values(out, at, slices[row, SLOTS], take, validity)
    return np.int64(OK)


@kernel
def read_wide(src, slices, validity, width, out):
    """Values of `width` bytes (FIXED_LEN_BYTE_ARRAY, INT96); `out` is uint8. Width 0 is legal and stores nothing."""
    if width <= 0:
        return np.int64(OK)
    for row in range(slices.shape[0]):
        pos = slices[row, SRC_START]
        skip = slices[row, SKIP]
        take = slices[row, TAKE]
        if skip + take > (slices[row, SRC_END] - pos) // width:
            return fail(TRUNCATED, row)
        at = slices[row, OUT_START]
        copy_bytes(out, at * width, src, pos + skip * width, take * width)
        if take < slices[row, SLOTS]:
            spread_wide(out, width, at, slices[row, SLOTS], take, validity)
    return np.int64(OK)


@kernel
def read_booleans(src, slices, validity, out):
    """Bits, least significant first, as 0 and 1 in `out` (uint8)."""
    for row in range(slices.shape[0]):
        pos = slices[row, SRC_START]
        skip = slices[row, SKIP]
        take = slices[row, TAKE]
        if (skip + take + 7) >> 3 > slices[row, SRC_END] - pos:
            return fail(TRUNCATED, row)
        at = slices[row, OUT_START]
        groups = take >> 3
        for g in range(groups):
            bit = skip + g * 8
            byte = (np.uint64(load_u16(src, pos + (bit >> 3))) >> np.uint64(bit & 7)) & np.uint64(0xFF)
            # Byte k of the product keeps bit k of the eight; adding 0x7F carries it into the top bit of its byte.
            word = (byte * np.uint64(0x0101010101010101)) & np.uint64(0x8040201008040201)
            word = ((word + np.uint64(0x7F7F7F7F7F7F7F7F)) >> np.uint64(7)) & np.uint64(0x0101010101010101)
            store_u64(out, at + g * 8, word)
        for i in range(groups * 8, take):
            bit = skip + i
            out[at + i] = (src[pos + (bit >> 3)] >> np.uint8(bit & 7)) & np.uint8(1)
        if take < slices[row, SLOTS]:
            spread_values(out, at, slices[row, SLOTS], take, validity)
    return np.int64(OK)


@block
def room_for_bytes(offsets, data):
    """How many bytes may be written to `data`: what its size and the type of its offsets allow."""
    room = np.int64(data.shape[0]) - SLACK
    if offsets.itemsize == 4:
        room = min(room, np.int64(_INT32_MAX))
    return room


@block
def copy_value(out, out_pos, src, src_pos, length):
    """Copy a byte array of which most are short; reads and writes up to SLACK bytes more than `length`.

    32 bytes always, whatever the length: a branch that tells short values from shorter ones is mispredicted too often.
    """
    copy_16(out, out_pos, src, src_pos)
    copy_16(out, out_pos + 16, src, src_pos + 16)
    if length > 32:
        if length <= 64:
            copy_16(out, out_pos + 32, src, src_pos + 32)
            copy_16(out, out_pos + length - 16, src, src_pos + length - 16)
        else:
            copy_bytes(out, out_pos + 32, src, src_pos + 32, length - 32)


@kernel
def read_byte_arrays(src, slices, validity, offsets, data):
    """Length (four bytes) and bytes of each value; return the bytes in `data` so far, or a failure.

    `offsets` (int32 or int64) holds at the first slot where the first value goes; `data` has SLACK spare bytes.
    """
    room = room_for_bytes(offsets, data)
    total = np.int64(0)
    for row in range(slices.shape[0]):
        pos = slices[row, SRC_START]
        end = slices[row, SRC_END]
        at = slices[row, OUT_START]
        take = slices[row, TAKE]
        for i in range(slices[row, SKIP]):
            if end - pos < 4:
                return fail(TRUNCATED, row)
            length = np.int64(load_u32(src, pos))
            pos += 4
            if length > end - pos:
                return fail(BAD_LENGTH, row)
            pos += length
        total = np.int64(offsets[at])
        if total < 0 or total > room:
            return fail(OUTPUT_FULL, row)
        for i in range(take):
            if end - pos < 4:
                return fail(TRUNCATED, row)
            length = np.int64(load_u32(src, pos))
            pos += 4
            if length > end - pos:
                return fail(BAD_LENGTH, row)
            if length > room - total:
                return fail(OUTPUT_FULL, row)
            copy_value(data, total, src, pos, length)
            pos += length
            total += length
            offsets[at + i + 1] = total
        if take < slices[row, SLOTS]:
            spread_offsets(offsets, at, slices[row, SLOTS], take, validity)
    return total
