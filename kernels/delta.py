# mypy: ignore-errors
"""DELTA_BINARY_PACKED (Encodings.md, DELTA_BINARY_PACKED = 5): packed differences -> integers.

Header: values per block, miniblocks per block, value count, first value. A block: smallest delta, one bit width per
miniblock, the miniblocks. All sums wrap modulo 2**64; storing the low half gives INT32 columns their modulo 2**32.
"""

import numpy as np

from .bits import load_u64, read_varint, read_varint64, zigzag
from .compiled import block, fail, kernel
from .slices import OUT_START, SKIP, SLOTS, SRC_END, SRC_START, STREAM_COUNT, TAKE
from .spread import spread_values
from .status import BAD_BIT_WIDTH, BAD_COUNT, CORRUPT, OK, TRUNCATED

# A value that starts in the middle of a byte needs up to 7 more bits: this is the widest that one 8-byte load covers.
ONE_LOAD = 57


@block
def load_delta(src, pos, bit, mask):
    """The masked bits from `bit` on, counted from byte `pos`, for widths above ONE_LOAD: nine bytes are read."""
    at = pos + (bit >> 3)
    shift = np.uint64(bit & 7)
    # Two shifts, because one by 64 - 0 would be undefined.
    high = (np.uint64(src[at + 8]) << np.uint64(1)) << (np.uint64(63) - shift)
    return ((load_u64(src, at) >> shift) | high) & mask


@block
def sum_deltas(src, pos, width, count, minimum):
    """Sum (uint64, wrapping) of the first `count` deltas of a miniblock: what skipped values add up to."""
    total = minimum * np.uint64(count)
    if width == 0:
        return total
    mask = ~np.uint64(0) >> np.uint64(64 - width)
    if width <= ONE_LOAD:
        for i in range(count):
            bit = i * width
            total += (load_u64(src, pos + (bit >> 3)) >> np.uint64(bit & 7)) & mask
    else:
        for i in range(count):
            total += load_delta(src, pos, i * width, mask)
    return total


@block
def store_values(src, pos, width, first, stop, minimum, value, out, at):
    """Add the deltas `first` .. `stop` of a miniblock to `value`, store each sum in `out[at:]`; return the last."""
    # Unsigned indexes: a signed one would be tested for "counted from the end" at every store.
    target = np.uint64(at - first)
    if width == 0:
        for i in range(first, stop):
            value += minimum
            out[target + np.uint64(i)] = value
        return value
    mask = ~np.uint64(0) >> np.uint64(64 - width)
    if width <= ONE_LOAD:
        for i in range(first, stop):
            bit = i * width
            value += ((load_u64(src, pos + (bit >> 3)) >> np.uint64(bit & 7)) & mask) + minimum
            out[target + np.uint64(i)] = value
    else:
        for i in range(first, stop):
            value += load_delta(src, pos, i * width, mask) + minimum
            out[target + np.uint64(i)] = value
    return value


@block
def decode_stream(src, pos, end, expected_count, skip, take, out, at):
    """Write values `skip` .. `skip + take` of the stream into `out[at:]`; return the next position or a status.

    `out` is any integer array; values are cut to its width. skip + take <= expected_count is not checked. Always walks
    to the end of the stream, unpacking nothing behind the wanted values; take = 0 is the cheap way to find that end.
    """
    if expected_count == 0 and pos == end:  # a page of nulls may leave the whole stream out
        return pos
    block_size, pos = read_varint(src, pos, end)
    miniblocks = np.int64(0)
    total = np.int64(0)
    word = np.int64(0)
    if pos >= 0:
        miniblocks, pos = read_varint(src, pos, end)
    if pos >= 0:
        total, pos = read_varint(src, pos, end)
    if pos >= 0:
        word, pos = read_varint64(src, pos, end)
    if pos < 0:
        return np.int64(TRUNCATED) if pos == TRUNCATED else np.int64(CORRUPT)
    if total != expected_count:
        return np.int64(BAD_COUNT)
    if total == 0:
        return pos
    value = np.uint64(zigzag(word))
    last = skip + take if take > 0 else np.int64(0)  # nothing from this value on is stored
    if skip == 0 and last > 0:
        out[at] = value
    left = total - 1
    if left == 0:  # no block follows, so the sizes of blocks do not matter
        return pos
    # Legal sizes are multiples of 128 and 32; whole bytes per miniblock are all that decoding needs.
    if miniblocks == 0 or block_size == 0 or block_size % miniblocks != 0:
        return np.int64(CORRUPT)
    mini_size = block_size // miniblocks
    if mini_size % 8 != 0:
        return np.int64(CORRUPT)
    index = np.int64(1)  # number of the next value
    while left > 0:
        word, pos = read_varint64(src, pos, end)
        if pos < 0:
            return np.int64(TRUNCATED) if pos == TRUNCATED else np.int64(CORRUPT)
        minimum = np.uint64(zigzag(word))
        if end - pos < miniblocks:
            return np.int64(TRUNCATED)
        widths = pos
        pos += miniblocks
        for i in range(miniblocks):
            if left == 0:  # unused miniblocks have no bytes, whatever their widths say
                break
            width = np.int64(src[widths + i])
            if width > 64:
                return np.int64(BAD_BIT_WIDTH)
            count = min(left, mini_size)  # below 2**32, so times 64 stays far from overflow
            # Padding of the last miniblock may be cut: ask only for what `count` values need.
            if (count * width + 7) >> 3 > end - pos:
                return np.int64(TRUNCATED)
            if index < last:
                stop = min(last - index, count)
                first = min(max(skip - index, np.int64(0)), stop)
                if first > 0:
                    value += sum_deltas(src, pos, width, first, minimum)
                if first < stop:
                    value = store_values(src, pos, width, first, stop, minimum, value, out, at + index + first - skip)
            pos += min((mini_size >> 3) * width, end - pos)
            index += count
            left -= count
    return pos


@kernel
def read_integers(src, slices, validity, out):
    """Values of INT32 (`out` uint32) or INT64 (`out` uint64) pages; OK or `fail`."""
    for row in range(slices.shape[0]):
        start = slices[row, OUT_START]
        take = slices[row, TAKE]
        pos = decode_stream(
            src,
            slices[row, SRC_START],
            slices[row, SRC_END],
            slices[row, STREAM_COUNT],
            slices[row, SKIP],
            take,
            out,
            start,
        )
        if pos < 0:
            return fail(pos, row)
        if take < slices[row, SLOTS]:
            spread_values(out, start, slices[row, SLOTS], take, validity)
    return np.int64(OK)
