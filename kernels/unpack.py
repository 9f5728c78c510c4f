# mypy: ignore-errors
"""Pages of numbers in other encodings, written out as PLAIN ones behind them in the arena.

Then whatever tests or picks PLAIN values in place does so with these, too: a filter decodes such a page once, for the
test and for the output.
"""

import numpy as np

from .byte_stream_split import merge_streams
from .compiled import block, kernel
from .delta import decode_stream
from .slices import SLACK, SRC_END, SRC_START, STREAM_COUNT
from .status import CORRUPT, OK, OUTPUT_FULL

PLAIN = 0
DELTA = 5  # DELTA_BINARY_PACKED
SPLIT = 9  # BYTE_STREAM_SPLIT


@block
def is_packed(encoding):
    """Whether pages of numbers in this encoding are unpacked before anything else is done with them."""
    return encoding == DELTA or encoding == SPLIT


@block
def unpacked_room(values, itemsize):
    """Bytes that `unpack_page` may need for a page of so many values."""
    return values * itemsize + 8


@block
def unpack_values(encoding, arena, start, pos, end, count, out):
    """All `count` values of arena[pos:end] to `out`, a view of the arena from `start` on: OK or a status."""
    if encoding == DELTA:
        status = decode_stream(arena, pos, end, count, np.int64(0), count, out, start // out.itemsize)
        return min(status, np.int64(OK))
    if count > (end - pos) // out.itemsize:
        return np.int64(CORRUPT)
    merge_streams(arena, pos, count, out, start // out.itemsize, count)
    return np.int64(OK)


@kernel
def unpack_page(encoding, itemsize, arena, slices, p, used):
    """Write the values of a sliced page (4 or 8 bytes each) from `used` on and point its slice at them.

    The new end of what the arena holds, or a negative status.
    """
    count = slices[p, STREAM_COUNT]
    start = (used + 7) & ~np.int64(7)
    if start < 0 or count < 0 or count > (np.int64(arena.shape[0]) - SLACK - start) // itemsize:
        return np.int64(OUTPUT_FULL)
    pos, end = slices[p, SRC_START], slices[p, SRC_END]
    whole = arena[: np.int64(arena.shape[0]) & ~np.int64(7)]
    if itemsize == 8:
        status = unpack_values(encoding, arena, start, pos, end, count, whole.view(np.uint64))
    else:
        status = unpack_values(encoding, arena, start, pos, end, count, whole.view(np.uint32))
    if status < 0:
        return status
    slices[p, SRC_START] = start
    slices[p, SRC_END] = start + count * itemsize
    return start + count * itemsize
