# mypy: ignore-errors
"""Decimals in any physical form -> two's complement of 128 or 256 bits, as rows of 64-bit words, low word first."""

import numpy as np

from .bits import load_u64
from .compiled import block, fail, kernel
from .status import CORRUPT, OK


@block
def swap_bytes(word):
    """The uint64 with its bytes in reverse order (LLVM turns this into one instruction)."""
    word = ((word >> np.uint64(8)) & np.uint64(0x00FF00FF00FF00FF)) | (
        (word & np.uint64(0x00FF00FF00FF00FF)) << np.uint64(8)
    )
    word = ((word >> np.uint64(16)) & np.uint64(0x0000FFFF0000FFFF)) | (
        (word & np.uint64(0x0000FFFF0000FFFF)) << np.uint64(16)
    )
    return (word >> np.uint64(32)) | (word << np.uint64(32))


@block
def widen_one(raw, pos, length, words, out, i):
    """The big-endian two's complement number raw[pos : pos + length] into `out[i]`; at most 8 * words bytes, 0 gives 0.

    Reads nothing outside `raw`, and needs no spare bytes behind it.
    """
    sign = np.uint64(0)
    if length > 0 and raw[pos] >= 128:
        sign = ~np.uint64(0)
    left = length
    for k in range(words):
        word = sign
        if left >= 8:
            word = swap_bytes(load_u64(raw, pos + left - 8))
        elif left > 0:
            for j in range(left):
                word = (word << np.uint64(8)) | np.uint64(raw[pos + j])
        out[i, k] = word
        left -= 8


@kernel
def widen_integers(values, count, out):
    """INT32 or INT64 `values` (signed) -> `out` (uint64[:, 2]); returns a bound that no value's size exceeds."""
    bits = np.int64(0)
    for i in range(count):
        number = np.int64(values[i])
        sign = number >> 63
        bits |= number ^ sign
        out[i, 0] = np.uint64(number)
        out[i, 1] = np.uint64(sign)
    return bits + 1 if bits < np.int64(2**62) else np.int64(2**63 - 1)


@kernel
def widen_bytes(raw, width, count, out):
    """Fixed-width values of 1 to 16 bytes -> `out` (uint64[:, 2])."""
    if width < 1 or width > 16:
        return fail(np.int64(CORRUPT), np.int64(0))
    # Where 16 bytes are readable from a value's start on, load them all and shift down; the last few go one by one.
    quick = min(count, (raw.shape[0] - 16) // width + 1) if raw.shape[0] >= 16 else np.int64(0)
    if width <= 8:
        down = np.int64(64 - 8 * width)
        for i in range(quick):
            top = np.int64(swap_bytes(load_u64(raw, i * width)))
            out[i, 0] = np.uint64(top >> down)
            out[i, 1] = np.uint64(top >> 63)
    else:
        down = np.int64(128 - 8 * width)
        for i in range(quick):
            top = swap_bytes(load_u64(raw, i * width))
            bottom = swap_bytes(load_u64(raw, i * width + 8))
            # Two shifts up, because one by 64 would be undefined for 16-byte values.
            out[i, 0] = (bottom >> np.uint64(down)) | ((top << np.uint64(1)) << np.uint64(63 - down))
            out[i, 1] = np.uint64(np.int64(top) >> down)
    for i in range(quick, count):
        widen_one(raw, i * width, width, 2, out, i)
    return np.int64(OK)


@kernel
def widen_bytes_256(raw, width, count, out):
    """Fixed-width values of 1 to 32 bytes -> `out` (uint64[:, 4])."""
    if width < 1 or width > 32:
        return fail(np.int64(CORRUPT), np.int64(0))
    for i in range(count):
        widen_one(raw, i * width, width, 4, out, i)
    return np.int64(OK)


@kernel
def widen_byte_arrays(offsets, data, count, validity, out, words):
    """Values of any length -> `out` (uint64[:, words], words 2 or 4), null slots 0; OK or `fail(CORRUPT, i)`.

    Longer encodings are fine while their extra leading bytes repeat the sign. Empty `validity`: no nulls.
    `offsets` are those of a kernel: rising and inside `data`, not checked again.
    """
    for i in range(count):
        pos = np.int64(offsets[i])
        length = np.int64(offsets[i + 1]) - pos
        if validity.shape[0] > 0 and (validity[i >> 6] >> np.uint64(i & 63)) & np.uint64(1) == np.uint64(0):
            length = np.int64(0)
        extra = length - 8 * words
        if extra > 0:
            sign = 255 if data[pos + extra] >= 128 else 0
            for j in range(extra):
                if data[pos + j] != sign:
                    return fail(np.int64(CORRUPT), i)
            pos += extra
            length -= extra
        widen_one(data, pos, length, words, out, i)
    return np.int64(OK)
