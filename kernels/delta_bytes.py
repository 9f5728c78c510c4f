# mypy: ignore-errors
"""DELTA_LENGTH_BYTE_ARRAY (6) and DELTA_BYTE_ARRAY (7) of Encodings.md: byte arrays -> offsets and data.

Both start with lengths in DELTA_BINARY_PACKED. Output is one contiguous Arrow binary column: the caller sets
`offsets[0]` to 0, every page continues where the one before it stopped.
"""

import numpy as np

from .bits import copy_16, copy_bytes
from .compiled import block, fail, kernel
from .delta import decode_stream
from .plain import room_for_bytes
from .slices import OUT_START, SKIP, SLACK, SLOTS, SRC_END, SRC_START, STREAM_COUNT, TAKE
from .spread import spread_offsets
from .status import BAD_LENGTH, OK, OUTPUT_FULL, TRUNCATED

_TOTAL_LIMIT = 1 << 60  # more than any buffer holds, and far enough from int64's end to add one more value


@block
def copy_short(out, at, src, pos, count):
    """Copy `count` bytes, in pieces of 16 when short: both sides need SLACK spare bytes.

    Unlike plain.copy_value it may leave the second piece out: most prefixes and suffixes need only one (1.14 times as
    fast). The ranges may overlap only where `out` runs over the wanted bytes.
    """
    if count <= 32:
        copy_16(out, at, src, pos)
        if count > 16:
            copy_16(out, at + 16, src, pos + 16)
    else:
        copy_bytes(out, at, src, pos, count)


@kernel
def read_lengths_first(src, slices, validity, lengths, offsets, data):
    """DELTA_LENGTH_BYTE_ARRAY: total bytes or `fail`. `lengths` is int32 scratch for the largest STREAM_COUNT."""
    room = room_for_bytes(offsets, data)
    used = np.int64(0)
    for row in range(slices.shape[0]):
        start = slices[row, OUT_START]
        end = slices[row, SRC_END]
        skip = slices[row, SKIP]
        take = slices[row, TAKE]
        if skip + take > lengths.shape[0]:
            return fail(np.int64(OUTPUT_FULL), row)
        pos = decode_stream(
            src, slices[row, SRC_START], end, slices[row, STREAM_COUNT], np.int64(0), skip + take, lengths, np.int64(0)
        )
        if pos < 0:
            return fail(pos, row)
        # Any negative length leaves its sign in `signs`; 2**32 lengths below 2**31 cannot overflow the sum.
        signs = np.int32(0)
        skipped = np.int64(0)
        for i in range(skip):
            signs |= lengths[i]
            skipped += np.int64(lengths[i])
        used = np.int64(offsets[start])
        taken = np.int64(0)
        target = np.uint64(start + 1)
        source = np.uint64(skip)
        for i in range(take):
            length = lengths[source + np.uint64(i)]
            signs |= length
            taken += np.int64(length)
            offsets[target + np.uint64(i)] = used + taken  # garbage after a bad length, which the next lines refuse
        if signs < 0:
            return fail(np.int64(BAD_LENGTH), row)
        if skipped + taken > end - pos:
            return fail(np.int64(TRUNCATED), row)
        if taken > room - used:
            return fail(np.int64(OUTPUT_FULL), row)
        copy_bytes(data, used, src, pos + skipped, taken)
        used += taken
        if take < slices[row, SLOTS]:
            spread_offsets(offsets, start, slices[row, SLOTS], take, validity)
    return used


@kernel
def measure_prefixed(src, slices, prefixes, suffixes, needed):
    """DELTA_BYTE_ARRAY, first call: decode and check all lengths; OK or `fail`.

    `prefixes` and `suffixes` are int32 scratch for the sum of all STREAM_COUNTs; a page's lengths up to its last wanted
    value stand where the counts of the pages before it end. `needed` (int64[2]) becomes the bytes of all wanted values
    and the length of the longest value up to the last wanted one.
    """
    total = np.int64(0)
    longest = np.int64(0)
    base = np.int64(0)
    for row in range(slices.shape[0]):
        end = slices[row, SRC_END]
        count = slices[row, STREAM_COUNT]
        skip = slices[row, SKIP]
        last = skip + slices[row, TAKE]
        if count > prefixes.shape[0] - base or count > suffixes.shape[0] - base:
            return fail(np.int64(OUTPUT_FULL), row)
        pos = decode_stream(src, slices[row, SRC_START], end, count, np.int64(0), last, prefixes, base)
        if pos < 0:
            return fail(pos, row)
        pos = decode_stream(src, pos, end, count, np.int64(0), last, suffixes, base)
        if pos < 0:
            return fail(pos, row)
        previous = np.int64(0)  # so the first prefix must be 0: pages do not share
        left = end - pos
        for i in range(last):
            prefix = np.int64(prefixes[base + i])
            suffix = np.int64(suffixes[base + i])
            if prefix < 0 or suffix < 0 or prefix > previous:
                return fail(np.int64(BAD_LENGTH), row)
            if suffix > left:
                return fail(np.int64(TRUNCATED), row)
            left -= suffix
            previous = prefix + suffix  # at most all suffixes so far: never more than the page's bytes
            longest = max(longest, previous)
            if i >= skip:
                total += previous
                if total > _TOTAL_LIMIT:
                    return fail(np.int64(OUTPUT_FULL), row)
        base += count
    needed[0] = total
    needed[1] = longest
    return np.int64(OK)


@kernel
def read_prefixed(src, slices, validity, prefixes, suffixes, previous, offsets, data):
    """DELTA_BYTE_ARRAY, second call: rebuild the values; total bytes or `fail`.

    The lengths are those that `measure_prefixed` decoded and checked for the same slices: not checked again.
    `previous` is uint8 scratch of needed[1] + SLACK bytes: the value before the wanted ones.
    """
    room = room_for_bytes(offsets, data)
    longest = np.int64(previous.shape[0]) - SLACK
    used = np.int64(0)
    base = np.int64(0)
    for row in range(slices.shape[0]):
        start = slices[row, OUT_START]
        end = slices[row, SRC_END]
        count = slices[row, STREAM_COUNT]
        skip = slices[row, SKIP]
        take = slices[row, TAKE]
        used = np.int64(offsets[start])
        if take > 0:
            # The suffixes follow the two streams of lengths: walk these without unpacking them.
            zero = np.int64(0)
            pos = decode_stream(src, slices[row, SRC_START], end, count, zero, zero, prefixes, zero)
            if pos >= 0:
                pos = decode_stream(src, pos, end, count, zero, zero, suffixes, zero)
            if pos < 0:
                return fail(pos, row)
            for i in range(skip):  # only the changed part of each skipped value is written
                prefix = np.int64(prefixes[base + i])
                suffix = np.int64(suffixes[base + i])
                if prefix + suffix > longest:
                    return fail(np.int64(OUTPUT_FULL), row)
                copy_short(previous, prefix, src, pos, suffix)
                pos += suffix
            before = used  # where the value before this one starts in `data`
            for i in range(take):
                prefix = np.int64(prefixes[base + skip + i])
                suffix = np.int64(suffixes[base + skip + i])
                if prefix + suffix > room - used:
                    return fail(np.int64(OUTPUT_FULL), row)
                if i > 0:
                    copy_short(data, used, data, before, prefix)
                elif skip > 0:
                    copy_short(data, used, previous, np.int64(0), prefix)
                copy_short(data, used + prefix, src, pos, suffix)
                pos += suffix
                before = used
                used += prefix + suffix
                offsets[start + i + 1] = used
        if take < slices[row, SLOTS]:
            spread_offsets(offsets, start, slices[row, SLOTS], take, validity)
        base += count
    return used
