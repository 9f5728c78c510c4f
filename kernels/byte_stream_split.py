# mypy: ignore-errors
"""BYTE_STREAM_SPLIT (Encodings.md, BYTE_STREAM_SPLIT = 9): one stream per byte of the value -> values.

Byte k of value i is at k * STREAM_COUNT + i.
"""

import numpy as np

from .compiled import block, fail, kernel
from .slices import OUT_START, SKIP, SLOTS, SRC_END, SRC_START, STREAM_COUNT, TAKE
from .spread import spread_values, spread_wide
from .status import OK, TRUNCATED

# Values merged stream by stream while they stay in the L1 cache.
BLOCK = 1024


@block
def merge_streams(src, pos, stride, out, at, count):
    """Build `out[at : at + count]` (uint32 or uint64) from byte streams `stride` bytes apart, the first at `pos`."""
    width = np.int64(out.itemsize)
    # Unsigned indexes and one stream at a time: the inner loops become vector code.
    done = np.int64(0)
    while done < count:
        size = min(count - done, np.int64(BLOCK))
        target = np.uint64(at + done)
        source = np.uint64(pos + done)
        for i in range(size):
            out[target + np.uint64(i)] = src[source + np.uint64(i)]
        for k in range(1, width):
            source += np.uint64(stride)
            shift = np.uint64(8 * k)
            for i in range(size):
                byte = np.uint64(src[source + np.uint64(i)]) << shift
                out[target + np.uint64(i)] |= out.dtype.type(byte)
        done += size


@kernel
def read_fixed(src, slices, validity, out):
    """Values of 4 (`out` uint32) or 8 bytes (`out` uint64); OK or `fail`."""
    width = np.int64(out.itemsize)
    for row in range(slices.shape[0]):
        count = slices[row, STREAM_COUNT]
        first = slices[row, SRC_START]
        if count > (slices[row, SRC_END] - first) // width:
            return fail(np.int64(TRUNCATED), row)
        start = slices[row, OUT_START]
        take = slices[row, TAKE]
        merge_streams(src, first + slices[row, SKIP], count, out, start, take)
        if take < slices[row, SLOTS]:
            spread_values(out, start, slices[row, SLOTS], take, validity)
    return np.int64(OK)


@kernel
def read_wide(src, slices, validity, width, out):
    """Values of `width` bytes each (0 stores nothing) into `out` (uint8); OK or `fail`."""
    if width <= 0:
        return np.int64(OK)
    for row in range(slices.shape[0]):
        count = slices[row, STREAM_COUNT]
        first = slices[row, SRC_START]
        if count > (slices[row, SRC_END] - first) // width:
            return fail(np.int64(TRUNCATED), row)
        start = slices[row, OUT_START]
        take = slices[row, TAKE]
        first += slices[row, SKIP]
        step = np.uint64(width)
        done = np.int64(0)
        while done < take:
            # Few enough values that all their output lines stay cached while the streams take turns.
            size = min(take - done, np.int64(128))
            for k in range(width):
                source = np.uint64(first + k * count + done)
                target = np.uint64((start + done) * width + k)
                for i in range(size):
                    out[target] = src[source + np.uint64(i)]
                    target += step
            done += size
        if take < slices[row, SLOTS]:
            spread_wide(out, width, start, slices[row, SLOTS], take, validity)
    return np.int64(OK)
