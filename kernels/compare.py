# mypy: ignore-errors
"""Values -> verdicts: does the key of a value lie in one of some intervals? And the order of two values.

Numbers compare as unsigned 64-bit keys, so that one comparison serves signed, unsigned and floating numbers: a
value is inside low .. high exactly when `key - low <= high - low`, wrapping. Byte strings compare in place, without
being copied. `hits` is uint8, 1 = inside; intervals are sorted and disjoint.
"""

import numpy as np

from .bits import load_u32, load_u64
from .compiled import block, fail, kernel
from .slices import OUT_START, SKIP, SRC_END, SRC_START, TAKE
from .status import BAD_LENGTH, OK, OUTPUT_FULL, TRUNCATED

# How byte strings compare.
BYTES = 0  # unsigned, lexicographic
DECIMAL = 1  # as big-endian numbers in two's complement, of any length


@block
def float_key(word, bits):
    """The key of a float given as its 32 or 64 bits: -0.0 below +0.0, every NaN equal and above +inf."""
    if bits == 32:
        sign, top, infinity = np.uint64(0x80000000), np.uint64(0xFFFFFFFF), np.uint64(0x7F800000)
    else:
        sign, top, infinity = np.uint64(1 << 63), np.uint64(0xFFFFFFFFFFFFFFFF), np.uint64(0x7FF0000000000000)
    key = word ^ top if word & sign else word | sign
    return top if (word & ~sign) & top > infinity else key


@block
def number_key(word, flip, float_bits):
    """The key of a number's bits: those of integers with their sign bit flipped (`flip` is 0 where there is none)."""
    if float_bits:
        return float_key(np.uint64(word), float_bits)
    return np.uint64(word) ^ flip


@block
def in_points(key, lows, spans, sieve):
    """As in_intervals; `sieve`, if not empty, has 1 at the low bits of every key that may pass, and turns most away."""
    if sieve.shape[0] > 0 and sieve[key & np.uint64(sieve.shape[0] - 1)] == 0:
        return np.uint8(0)
    return in_intervals(key, lows, spans)


@block
def in_intervals(key, lows, spans):
    """1 where `key` lies in lows[i] .. lows[i] + spans[i] of one of many intervals: by halving."""
    low = np.int64(0)
    high = np.int64(lows.shape[0])
    while low < high:
        middle = (low + high) >> 1
        if lows[np.uint64(middle)] <= key:
            low = middle + 1
        else:
            high = middle
    if low == 0:
        return np.uint8(0)
    return np.uint8(key - lows[np.uint64(low - 1)] <= spans[np.uint64(low - 1)])


@kernel
def test_words(values, count, flip, float_bits, lows, spans, sieve, hits):
    """Verdicts of the first `count` numbers, given as their bits (uint8, uint32, uint64); lows and spans are uint64."""
    if count > np.int64(values.shape[0]) or count > np.int64(hits.shape[0]):
        return np.int64(OUTPUT_FULL)
    if lows.shape[0] == 1 and float_bits == 0:
        low = lows[0]
        span = spans[0]
        for i in range(np.uint64(count)):
            hits[i] = np.uint8((np.uint64(values[i]) ^ flip) - low <= span)
    elif lows.shape[0] <= 4:
        for i in range(np.uint64(count)):
            key = number_key(values[i], flip, float_bits)
            verdict = np.uint8(0)
            for j in range(np.uint64(lows.shape[0])):
                verdict |= np.uint8(key - lows[j] <= spans[j])
            hits[i] = verdict
    else:
        for i in range(np.uint64(count)):
            hits[i] = in_points(number_key(values[i], flip, float_bits), lows, spans, sieve)
    return np.int64(OK)


@kernel
def test_plain(src, slices, itemsize, flip, float_bits, lows, spans, sieve, hits):
    """Verdicts of PLAIN numbers of 4 or 8 bytes, on the bytes of their pages."""
    one = lows.shape[0] == 1
    low = lows[0] if lows.shape[0] > 0 else np.uint64(1)
    span = spans[0] if lows.shape[0] > 0 else np.uint64(0)
    for row in range(slices.shape[0]):
        pos = slices[row, SRC_START]
        take = slices[row, TAKE]
        if slices[row, SKIP] + take > (slices[row, SRC_END] - pos) // itemsize:
            return fail(TRUNCATED, row)
        at = slices[row, OUT_START]
        if at < 0 or take > np.int64(hits.shape[0]) - at:
            return fail(OUTPUT_FULL, row)
        pos += slices[row, SKIP] * itemsize
        if one and float_bits == 0 and itemsize == 4:
            for i in range(take):
                hits[np.uint64(at + i)] = np.uint8((np.uint64(load_u32(src, pos + i * 4)) ^ flip) - low <= span)
        elif one and float_bits == 0:
            for i in range(take):
                hits[np.uint64(at + i)] = np.uint8((load_u64(src, pos + i * 8) ^ flip) - low <= span)
        elif one and itemsize == 8:
            for i in range(take):
                hits[np.uint64(at + i)] = np.uint8(float_key(load_u64(src, pos + i * 8), 64) - low <= span)
        else:
            for i in range(take):
                word = load_u64(src, pos + i * 8) if itemsize == 8 else np.uint64(load_u32(src, pos + i * 4))
                hits[np.uint64(at + i)] = in_points(number_key(word, flip, float_bits), lows, spans, sieve)
    return np.int64(OK)


# Byte strings. Bounds lie one after the other in `bounds`, which has SLACK spare bytes: low and high of interval i are
# number 2 * i and 2 * i + 1 of `ends`, whose entries say where a bound ends; `open_ends` marks those that are missing.
# An interval is low <= x < high.


@block
def compare_bytes(a, a_pos, a_length, b, b_pos, b_length):
    """Below 0, 0 or above 0, as unsigned bytes in lexicographic order."""
    count = min(a_length, b_length)
    i = np.int64(0)
    while count - i >= 8:
        if load_u64(a, a_pos + i) != load_u64(b, b_pos + i):
            break
        i += 8
    while i < count:
        x = np.int64(a[np.uint64(a_pos + i)])
        y = np.int64(b[np.uint64(b_pos + i)])
        if x != y:
            return x - y
        i += 1
    return np.int64(a_length) - np.int64(b_length)


@block
def compare_decimals(a, a_pos, a_length, b, b_pos, b_length):
    """Below 0, 0 or above 0, as big-endian two's complement; the shorter one continues with its sign. Empty is zero."""
    a_sign = np.int64(a[np.uint64(a_pos)]) >> 7 if a_length > 0 else np.int64(0)
    b_sign = np.int64(b[np.uint64(b_pos)]) >> 7 if b_length > 0 else np.int64(0)
    if a_sign != b_sign:
        return b_sign - a_sign
    longest = max(a_length, b_length)
    for i in range(longest):
        j = i - (longest - a_length)
        k = i - (longest - b_length)
        x = np.int64(a[np.uint64(a_pos + j)]) if j >= 0 else np.int64(255) * a_sign
        y = np.int64(b[np.uint64(b_pos + k)]) if k >= 0 else np.int64(255) * b_sign
        if x != y:
            return x - y
    return np.int64(0)


@block
def compare_with_bound(src, pos, length, bounds, ends, number, order):
    start = ends[number - 1] if number > 0 else np.int64(0)
    if order == DECIMAL:
        return compare_decimals(src, pos, length, bounds, start, ends[number] - start)
    return compare_bytes(src, pos, length, bounds, start, ends[number] - start)


@block
def bytes_inside(src, pos, length, bounds, ends, open_ends, order):
    """1 where src[pos : pos + length] lies in one of the intervals."""
    low = np.int64(0)
    high = np.int64(ends.shape[0] >> 1)
    while low < high:  # to the last interval that starts at or before the value
        middle = (low + high) >> 1
        number = middle * 2
        if open_ends[number] or compare_with_bound(src, pos, length, bounds, ends, number, order) >= 0:
            low = middle + 1
        else:
            high = middle
    if low == 0:
        return np.uint8(0)
    number = low * 2 - 1
    if open_ends[number]:
        return np.uint8(1)
    return np.uint8(compare_with_bound(src, pos, length, bounds, ends, number, order) < 0)


@block
def bytes_equal(src, pos, length, bounds, wanted):
    """1 where src[pos : pos + length] equals the first `wanted` bytes of `bounds`; 8 bytes behind both are readable."""
    if length != wanted:
        return np.uint8(0)
    i = np.int64(0)
    while wanted - i >= 8:
        if load_u64(src, pos + i) != load_u64(bounds, i):
            return np.uint8(0)
        i += 8
    if i == wanted:
        return np.uint8(1)
    mask = (np.uint64(1) << np.uint64((wanted - i) * 8)) - np.uint64(1)
    return np.uint8((load_u64(src, pos + i) ^ load_u64(bounds, i)) & mask == np.uint64(0))


# What a test of byte arrays asks: whether a value lies in one of the intervals, or just the one that they have, which
# holds nothing but its low bound, to be equal or different.
INSIDE = 0
EQUAL = 1
DIFFERENT = 2


@block
def judge_bytes(src, pos, length, bounds, ends, open_ends, order, asks):
    """The verdict on src[pos : pos + length]; one interval at least unless `asks` is INSIDE."""
    if asks == INSIDE:
        return bytes_inside(src, pos, length, bounds, ends, open_ends, order)
    return bytes_equal(src, pos, length, bounds, ends[0]) ^ np.uint8(asks == DIFFERENT)


@kernel
def test_plain_byte_arrays(src, slices, bounds, ends, open_ends, order, asks, hits):
    """Verdicts of PLAIN byte arrays where they lie."""
    if asks != INSIDE and ends.shape[0] == 0:
        return np.int64(OUTPUT_FULL)
    for row in range(slices.shape[0]):
        pos = slices[row, SRC_START]
        end = slices[row, SRC_END]
        skip = slices[row, SKIP]
        take = slices[row, TAKE]
        at = slices[row, OUT_START]
        if at < 0 or take > np.int64(hits.shape[0]) - at:
            return fail(OUTPUT_FULL, row)
        for i in range(skip + take):
            if end - pos < 4:
                return fail(TRUNCATED, row)
            length = np.int64(load_u32(src, pos))
            pos += 4
            if length > end - pos:
                return fail(BAD_LENGTH, row)
            if i >= skip:
                verdict = judge_bytes(src, pos, length, bounds, ends, open_ends, order, asks)
                hits[np.uint64(at + i - skip)] = verdict
            pos += length
    return np.int64(OK)


@kernel
def test_byte_arrays(offsets, data, count, bounds, ends, open_ends, order, hits):
    """Verdicts of the first `count` byte arrays of (offsets, data); `data` has SLACK spare bytes."""
    if count > np.int64(hits.shape[0]) or count >= np.int64(offsets.shape[0]):
        return np.int64(OUTPUT_FULL)
    room = np.int64(data.shape[0])
    for i in range(count):
        start = np.int64(offsets[i])
        stop = np.int64(offsets[i + 1])
        if start < 0 or stop < start or stop > room:
            return np.int64(BAD_LENGTH)
        hits[i] = bytes_inside(data, start, stop - start, bounds, ends, open_ends, order)
    return np.int64(OK)


@kernel
def test_wide(values, width, count, bounds, ends, open_ends, order, hits):
    """Verdicts of `count` values of `width` bytes each, one after the other in `values` (uint8)."""
    if count > np.int64(hits.shape[0]) or width < 0 or (width > 0 and count > np.int64(values.shape[0]) // width):
        return np.int64(OUTPUT_FULL)
    for i in range(count):
        hits[i] = bytes_inside(values, i * width, width, bounds, ends, open_ends, order)
    return np.int64(OK)


# Two columns


@block
def ordered(sign, op):
    """Whether a comparison that came out as `sign` (below, equal to or above 0) satisfies `op`: bits lt, eq, gt."""
    if sign < 0:
        return np.uint8(op & 1)
    if sign == 0:
        return np.uint8((op >> 1) & 1)
    return np.uint8((op >> 2) & 1)


@kernel
def compare_keys(left, right, count, op, hits):
    """hits[i] = left[i] op right[i] for keys (uint64)."""
    for i in range(np.uint64(count)):
        below = np.uint8(left[i] < right[i])
        above = np.uint8(left[i] > right[i])
        same = np.uint8(1) - below - above
        hits[i] = (below & np.uint8(op)) | (same & np.uint8(op >> 1)) | (above & np.uint8(op >> 2))
        hits[i] &= np.uint8(1)
    return np.int64(OK)


@kernel
def compare_byte_arrays(left_offsets, left_data, right_offsets, right_data, count, order, op, hits):
    """hits[i] = left[i] op right[i] for byte arrays; offsets are those that decoding kernels wrote."""
    for i in range(count):
        a = np.int64(left_offsets[i])
        b = np.int64(right_offsets[i])
        a_length = np.int64(left_offsets[i + 1]) - a
        b_length = np.int64(right_offsets[i + 1]) - b
        if order == DECIMAL:
            sign = compare_decimals(left_data, a, a_length, right_data, b, b_length)
        else:
            sign = compare_bytes(left_data, a, a_length, right_data, b, b_length)
        hits[i] = ordered(sign, op)
    return np.int64(OK)
