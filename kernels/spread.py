# mypy: ignore-errors
"""Dense values -> values at their slots, in place: null slots open up between the present ones.

A level kernel knows which slots are present (validity bit set); a value kernel writes the present values densely at the
first slot, then calls one of these. All work from the back, so that no value is overwritten before it has moved, and
stop as soon as the rest is already in place. Null slots hold anything afterwards, unless `clear_*` sets them to zero.
Nothing is checked but that a wrong bit count cannot lead outside the slots.
"""

import numpy as np

from .bits import copy_bytes, popcount, trailing_zeros
from .compiled import block, kernel


@block
def bits_between(validity, start, stop):
    """Validity bits of the slots start .. stop, which lie in one word, the first as the lowest bit."""
    bits = validity[start >> 6] >> np.uint64(start & 63)
    if stop - start < 64:
        bits &= (np.uint64(1) << np.uint64(stop - start)) - np.uint64(1)
    return bits


@block
def spread_values(out, start, slots, dense, validity):
    """Move out[start : start + dense] to the set bits of the slots start .. start + slots; `out` has one dimension."""
    size = np.int64(out.itemsize)
    stop = np.int64(start + slots)  # first slot after what is left to fill
    last = np.int64(start + dense)  # first dense value after what is left to move
    while start < last < stop:
        first = max(np.int64(start), ((stop - 1) >> 6) << 6)
        bits = bits_between(validity, first, stop)
        count = np.int64(popcount(bits))
        if count > last - start:
            return
        if count == stop - first:
            copy_bytes(out, first * size, out, (last - count) * size, count * size)
            last -= count
        elif count > 0:
            # Without branches: a null slot takes a value too, and what it takes does not matter.
            source = np.uint64(last)
            for i in range(stop - first):
                slot = np.uint64(stop - 1 - i)
                source -= (bits >> (slot - np.uint64(first))) & np.uint64(1)
                out[slot] = out[source]
            last -= count
        stop = first


@block
def spread_pairs(out, start, slots, dense, validity):
    """As spread_values for values of two words: `out` is uint64[:, 2]."""
    stop = np.int64(start + slots)
    last = np.int64(start + dense)
    while start < last < stop:
        first = max(np.int64(start), ((stop - 1) >> 6) << 6)
        bits = bits_between(validity, first, stop)
        count = np.int64(popcount(bits))
        if count > last - start:
            return
        if count == stop - first:
            copy_bytes(out, first * 16, out, (last - count) * 16, count * 16)
            last -= count
        elif count > 0:
            for i in range(stop - first):
                slot = stop - 1 - i
                last -= np.int64((bits >> np.uint64(slot - first)) & np.uint64(1))
                out[slot, 0] = out[last, 0]
                out[slot, 1] = out[last, 1]
        stop = first


@kernel
def spread_wide(out, width, start, slots, dense, validity):
    """As spread_values for values of `width` bytes: `out` is uint8."""
    stop = np.int64(start + slots)
    last = np.int64(start + dense)
    while start < last < stop:
        first = max(np.int64(start), ((stop - 1) >> 6) << 6)
        bits = bits_between(validity, first, stop)
        count = np.int64(popcount(bits))
        if count > last - start:
            return
        if count == stop - first:
            copy_bytes(out, first * width, out, (last - count) * width, count * width)
            last -= count
        elif count > 0:
            for i in range(stop - first):
                slot = stop - 1 - i
                if (bits >> np.uint64(slot - first)) & np.uint64(1):
                    last -= 1
                    copy_bytes(out, slot * width, out, last * width, width)
        stop = first


@block
def spread_offsets(offsets, start, slots, dense, validity):
    """Spread the ends offsets[start + 1 : start + dense + 1] over `slots` slots; null slots repeat the end before them.

    offsets[start] is where the first value begins. int32 or int64.
    """
    size = np.int64(offsets.itemsize)
    stop = np.int64(start + slots)
    last = np.int64(start + dense)
    while last < stop:
        first = max(np.int64(start), ((stop - 1) >> 6) << 6)
        bits = bits_between(validity, first, stop)
        count = np.int64(popcount(bits))
        if count > last - start:
            return
        if count == stop - first:
            copy_bytes(offsets, (first + 1) * size, offsets, (last - count + 1) * size, count * size)
            last -= count
        else:
            for i in range(stop - first):
                slot = stop - 1 - i
                offsets[slot + 1] = offsets[last]
                last -= np.int64((bits >> np.uint64(slot - first)) & np.uint64(1))
        stop = first


@block
def clear_values(out, start, slots, validity):
    """Set the null slots of a one-dimensional `out` to zero."""
    stop = np.int64(start + slots)
    while start < stop:
        first = max(np.int64(start), ((stop - 1) >> 6) << 6)
        bits = bits_between(validity, first, stop)
        nulls = bits ^ bits_of_ones(stop - first)
        while nulls != np.uint64(0):
            out[first + np.int64(trailing_zeros(nulls))] = 0
            nulls &= nulls - np.uint64(1)
        stop = first


@kernel
def clear_pairs(out, start, slots, validity):
    """Set the null slots of `out` (uint64[:, 2]) to zero."""
    stop = np.int64(start + slots)
    while start < stop:
        first = max(np.int64(start), ((stop - 1) >> 6) << 6)
        bits = bits_between(validity, first, stop)
        nulls = bits ^ bits_of_ones(stop - first)
        while nulls != np.uint64(0):
            slot = first + np.int64(trailing_zeros(nulls))
            out[slot, 0] = 0
            out[slot, 1] = 0
            nulls &= nulls - np.uint64(1)
        stop = first


@block
def bits_of_ones(count):
    """A word with its lowest `count` (1..64) bits set."""
    return np.uint64(0xFFFFFFFFFFFFFFFF) >> np.uint64(64 - count)
