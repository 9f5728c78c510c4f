# mypy: ignore-errors
"""Whole steps of a filter in one call: levels, verdicts on encoded values, and the mask narrowed by them.

`narrow_dictionary` serves every test of every type, because a dictionary is tested once per entry beforehand. Kernels
that contain their operators are written by hardwood_jit/jit/codegen.py, from the blocks of this folder.
"""

import numpy as np

from .bits import load_u32, load_u64, popcount, store_u64
from .compare import float_key
from .compiled import block, fail, kernel
from .dictionary import next_run, read_bit_width
from .select import bit_at, narrow_page
from .slices import OUT_START, ROW_COUNT, ROW_START, SKIP, SRC_END, SRC_START, TAKE
from .status import BAD_BIT_WIDTH, BAD_COUNT, BAD_INDEX, OK
from .take import slice_pages


@block
def test_packed(src, pos, bit_width, first, count, hit, out, at, ones):
    """AND the verdicts of `count` packed indexes, from number `first` on, into out[at:] (uint8): were all in range?

    `hit` has 2**bit_width entries or more, 2 where the dictionary has none: eight look-ups make a word, and one test at
    the end finds an index that is out of range. With `ones` all set the verdicts replace what `out` holds.
    """
    width = np.uint64(bit_width)
    mask = (np.uint64(1) << width) - np.uint64(1)
    seen = np.uint64(0)
    i = np.int64(0)
    while i < count:
        groups = (count - i) >> 3
        if bit_width <= 16 and ((first + i) & 7) == 0 and groups > 0:
            start = pos + ((first + i) >> 3) * bit_width
            half = bit_width >> 1
            odd = np.uint64((bit_width & 1) << 2)  # four indexes of an odd width end in the middle of a byte
            for g in range(groups):
                low = load_u64(src, start + g * bit_width)
                high = load_u64(src, start + g * bit_width + half) >> odd
                word = np.uint64(hit[low & mask])
                for k in range(1, 4):
                    word |= np.uint64(hit[(low >> (np.uint64(k) * width)) & mask]) << np.uint64(8 * k)
                for k in range(4):
                    word |= np.uint64(hit[(high >> (np.uint64(k) * width)) & mask]) << np.uint64(8 * k + 32)
                seen |= word
                target = at + i + g * 8
                store_u64(out, target, (load_u64(out, target) | ones) & word)
            i += groups * 8
        else:
            few = count - i
            if bit_width <= 16:  # up to where the next group starts
                few = min(few, 8 - ((first + i) & 7))
            for k in range(few):
                bit = (first + i + k) * bit_width
                verdict = hit[(load_u64(src, pos + (bit >> 3)) >> np.uint64(bit & 7)) & mask]
                seen |= np.uint64(verdict)
                slot = np.uint64(at + i + k)
                out[slot] = (out[slot] | np.uint8(ones & np.uint64(0xFF))) & verdict
            i += few
    return seen & np.uint64(0x0202020202020202) == np.uint64(0)


@block
def test_indexes(src, pos, end, skip, take, entry_count, hit, out, at, ones):
    """The same for the `take` values of a page after `skip` others: OK or a status."""
    bit_width = read_bit_width(src, pos, end, entry_count)
    if bit_width < 0:
        return bit_width
    if (np.int64(1) << bit_width) > np.int64(hit.shape[0]):
        return np.int64(BAD_BIT_WIDTH)
    pos += 1
    while take > 0:
        packed, count, value, pos = next_run(src, pos, end, bit_width, skip + take)
        if pos < 0:
            return pos
        first = min(skip, count)
        skip -= first
        count -= first
        if packed:
            if not test_packed(src, value, bit_width, first, count, hit, out, at, ones):
                return np.int64(BAD_INDEX)
        elif count > 0:
            if value >= entry_count:
                return np.int64(BAD_INDEX)
            verdict = hit[np.uint64(value)]
            if verdict == 0 or ones != np.uint64(0):  # one verdict for the run
                for i in range(np.uint64(at), np.uint64(at + count)):
                    out[i] = verdict
        at += count
        take -= count
    return np.int64(OK)


@kernel
def narrow_dictionary(
    src, bodies, nullable, start, stop, validity, counts, slices, entry_count, hit, hits, mask, null_matches
):
    """Pages of dictionary indexes; `hit` as in test_packed. The candidates left in these pages, or `fail`.

    BAD_BIT_WIDTH can also mean that `hit` is too short for the bit width of a page; nothing has changed then.
    """
    status = slice_pages(src, bodies, nullable, start, stop, validity, counts, slices)
    if status < 0:
        return status
    for p in range(slices.shape[0]):
        pos = slices[p, SRC_START]
        if slices[p, TAKE] > 0 and pos < slices[p, SRC_END] and src[pos] <= 32:
            if (np.int64(1) << np.int64(src[pos])) > np.int64(hit.shape[0]):
                return fail(np.int64(BAD_BIT_WIDTH), p)
    left = np.int64(0)
    for p in range(slices.shape[0]):
        row = slices[p, ROW_START]
        rows = slices[p, ROW_COUNT]
        take = slices[p, TAKE]
        at = slices[p, OUT_START]
        if row < 0 or rows > np.int64(mask.shape[0]) - row or take > rows or take > np.int64(hits.shape[0]) - at:
            return fail(np.int64(BAD_COUNT), p)
        pos = slices[p, SRC_START]
        end = slices[p, SRC_END]
        skip = slices[p, SKIP]
        if take == rows:
            if take > 0:
                status = test_indexes(src, pos, end, skip, take, entry_count, hit, mask, row, np.uint64(0))
                if status < 0:
                    return fail(status, p)
                left += count_set(mask, row, rows)
            continue
        if take > 0:
            status = test_indexes(src, pos, end, skip, take, entry_count, hit, hits, at, ~np.uint64(0))
            if status < 0:
                return fail(status, p)
        left += narrow_page(mask, row, rows, validity, hits, at, take, null_matches)
    return left


@block
def count_set(mask, start, count):
    """How many of mask[start : start + count] are 1."""
    total = np.int64(0)
    words = count >> 3
    for w in range(words):
        total += np.int64(popcount(load_u64(mask, start + w * 8)))
    for i in range(words * 8, count):
        total += np.int64(mask[np.uint64(start + i)])
    return total


# What generated kernels load a value with: `pos` counts bytes, and is checked before.


@block
def load_signed_4(src, pos):
    return np.int64(np.int32(load_u32(src, pos)))


@block
def load_signed_8(src, pos):
    return np.int64(load_u64(src, pos))


@block
def load_unsigned_4(src, pos):
    return np.uint64(load_u32(src, pos))


@block
def load_unsigned_8(src, pos):
    return load_u64(src, pos)


@block
def load_float_4(src, pos):
    """The key of a float: keys compare like the floats, NaN included."""
    return float_key(np.uint64(load_u32(src, pos)), 32)


@block
def load_float_8(src, pos):
    return float_key(load_u64(src, pos), 64)


@block
def is_present(validity, i):
    """Whether row `i` has a value; without validity words every row has."""
    if validity.shape[0] == 0:
        return True
    return bit_at(validity, i) != np.uint64(0)
