# mypy: ignore-errors
"""Byte arrays -> a verdict: is every value UTF-8 by itself (RFC 3629: shortest forms, no surrogates, up to U+10FFFF)?

Most text is ASCII, and then one pass of OR over 64-bit words decides. Other text is walked once, across the borders of
values; only when that finds something wrong does a slow loop look for the value to blame.
"""

import numpy as np

from .bits import load_u32, load_u64
from .compiled import block, fail, kernel
from .slices import SRC_END, SRC_START
from .status import BAD_LENGTH, BAD_UTF8, OK

_HIGH_BITS = np.uint64(0x8080808080808080)
_BLOCK = 1024  # bytes that are looked at together in search of something beyond ASCII
_INLINE = 12  # bytes of a value that fit into a view


@block
def character_size(word, available):
    """Bytes of the character at the low end of `word` (four bytes, uint64), or 0 when it is malformed or cut."""
    first = np.int64(word & np.uint64(0xFF))
    if first < 0x80:
        return np.int64(1)
    second = np.int64((word >> np.uint64(8)) & np.uint64(0xFF))
    if first < 0xC2 or first > 0xF4 or available < 2 or (second & 0xC0) != 0x80:
        return np.int64(0)
    if first < 0xE0:
        return np.int64(2)
    if available < 3 or (word & np.uint64(0xC00000)) != np.uint64(0x800000):
        return np.int64(0)
    if first < 0xF0:
        # E0 must not encode what two bytes can, ED must not reach the surrogates.
        if (first == 0xE0 and second < 0xA0) or (first == 0xED and second > 0x9F):
            return np.int64(0)
        return np.int64(3)
    if available < 4 or (word & np.uint64(0xC0000000)) != np.uint64(0x80000000):
        return np.int64(0)
    if (first == 0xF0 and second < 0x90) or (first == 0xF4 and second > 0x8F):
        return np.int64(0)
    return np.int64(4)


@block
def four_bytes(data, pos, end):
    """data[pos : pos + 4] as one number, zeros for what lies at or after `end`."""
    if end - pos >= 4:
        return np.uint64(load_u32(data, pos))
    word = np.uint64(0)
    for i in range(end - pos):
        word |= np.uint64(data[pos + i]) << np.uint64(8 * i)
    return word


@block
def is_utf8(data, pos, end):
    """Whether data[pos:end] is UTF-8."""
    while pos < end:
        # Blocks of ASCII go by without a look at single bytes.
        block_end = min(pos + _BLOCK, end)
        high = np.uint64(0)
        words = (block_end - pos) >> 3
        for i in range(words):
            high |= load_u64(data, pos + i * 8)
        for i in range(pos + words * 8, block_end):
            high |= np.uint64(data[i])
        if (high & _HIGH_BITS) == np.uint64(0):
            pos = block_end
            continue
        while pos < block_end:
            if end - pos >= 8:
                word = load_u64(data, pos)
                if (word & _HIGH_BITS) == np.uint64(0):
                    pos += 8
                    continue
            size = character_size(four_bytes(data, pos, end), end - pos)
            if size == 0:
                return False
            pos += size
    return True


@kernel
def check_utf8(offsets, count, data):
    """OK, or fail(BAD_UTF8, i) for the first value that is not UTF-8; `offsets` (int32 or int64) are not checked."""
    if count <= 0:
        return np.int64(OK)
    start = np.int64(offsets[0])
    end = np.int64(offsets[count])
    good = is_utf8(data, start, end)
    if good:
        # In sound text a value border inside a character is one that points at a continuation byte (10xxxxxx).
        for i in range(count):
            border = np.int64(offsets[i])
            if border < end and (data[border] & np.uint8(0xC0)) == np.uint8(0x80):
                good = False
                break
    if good:
        return np.int64(OK)
    for i in range(count):
        if not is_utf8(data, np.int64(offsets[i]), np.int64(offsets[i + 1])):
            return fail(BAD_UTF8, i)
    return np.int64(OK)


@kernel
def check_utf8_entries(starts, count, data):
    """As check_utf8 for `count` values with their length (four bytes) in front, at `starts` (int32), found before."""
    for i in range(count):
        pos = np.int64(starts[i])
        if not is_utf8(data, pos + 4, pos + 4 + np.int64(load_u32(data, pos))):
            return fail(BAD_UTF8, i)
    return np.int64(OK)


@block
def is_utf8_inline(low, high, length):
    """Whether the first `length` (up to 12) bytes of two words, 8 bytes and 4, are UTF-8."""
    if ((low | high) & _HIGH_BITS) == np.uint64(0):
        return True
    while length > 0:
        size = character_size(low & np.uint64(0xFFFFFFFF), length)
        if size == 0:
            return False
        shift = np.uint64(size * 8)
        low = (low >> shift) | (high << (np.uint64(64) - shift))
        high >>= shift
        length -= size
    return True


@kernel
def check_utf8_views(views, count, buffer_index, buffer):
    """OK, or fail(BAD_UTF8, i) for the first of `count` views (uint64[:, 2]) whose value is not UTF-8.

    Long values that lie in another buffer than number `buffer_index` are passed over: each buffer has its own call.
    """
    for i in range(count):
        length = np.int64(views[i, 0] & np.uint64(0xFFFFFFFF))
        if length <= _INLINE:
            low = (views[i, 0] >> np.uint64(32)) | (views[i, 1] << np.uint64(32))
            if not is_utf8_inline(low, views[i, 1] >> np.uint64(32), length):
                return fail(BAD_UTF8, i)
        elif np.int64(views[i, 1] & np.uint64(0xFFFFFFFF)) == buffer_index:
            pos = np.int64(views[i, 1] >> np.uint64(32))
            if pos > np.int64(buffer.shape[0]) - length:
                return fail(BAD_LENGTH, i)
            if not is_utf8(buffer, pos, pos + length):
                return fail(BAD_UTF8, i)
    return np.int64(OK)


@kernel
def pages_are_ascii(src, slices):
    """Whether the PLAIN byte arrays of all pages, and their lengths, have no byte above 127: then all is UTF-8.

    Lengths below 128 are ASCII bytes too, so a page of short ASCII values is known to be text without a look at each.
    """
    for row in range(slices.shape[0]):
        pos = slices[row, SRC_START]
        end = slices[row, SRC_END]
        high = np.uint64(0)
        while end - pos >= 32:
            high |= load_u64(src, pos) | load_u64(src, pos + 8) | load_u64(src, pos + 16) | load_u64(src, pos + 24)
            pos += 32
        while pos < end:
            high |= np.uint64(src[pos])
            pos += 1
        if high & _HIGH_BITS:
            return False
    return True
