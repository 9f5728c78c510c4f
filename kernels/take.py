# mypy: ignore-errors
"""Some values of encoded pages, by their numbers: what the survivors of a filter need, and nothing else.

`gathered` has one row per page (slices.py): TAKE present values, whose numbers in the page's stream are listed in
`ranks` (int32, rising) from RANK_START on, go to SLOTS slots from OUT_START on.
"""

import numpy as np

from .bits import load_u32, load_u64
from .compiled import block, fail, kernel
from .dictionary import next_run, read_bit_width
from .levels import (
    BODY_DEFINITION_BYTES,
    BODY_END,
    BODY_FIRST_ROW,
    BODY_REPETITION_BYTES,
    BODY_START,
    BODY_VALUES,
    find_stream,
)
from .plain import copy_value, room_for_bytes
from .rle import read_present_bits
from .slices import (
    OUT_START,
    RANK_START,
    ROW_COUNT,
    ROW_START,
    SKIP,
    SLOTS,
    SRC_END,
    SRC_START,
    STREAM_COUNT,
    TAKE,
)
from .spread import spread_offsets, spread_values
from .status import BAD_COUNT, BAD_INDEX, BAD_LENGTH, OK, OUTPUT_FULL, TRUNCATED


@block
def slice_page(src, bodies, p, nullable, start, stop, validity, counts, slices, dense):
    """Levels of one page of a flat column -> its slice in the row space of the window start .. stop: OK or a status.

    Values lie densely, from `dense` on. `validity` as in slice_pages.
    """
    pos = bodies[p, BODY_START]
    end = bodies[p, BODY_END]
    count = bodies[p, BODY_VALUES]
    first = bodies[p, BODY_FIRST_ROW]
    a = min(max(start - first, np.int64(0)), count)
    b = min(max(stop - first, np.int64(0)), count)
    if bodies[p, BODY_REPETITION_BYTES] > 0:
        if bodies[p, BODY_REPETITION_BYTES] > end - pos:
            return np.int64(TRUNCATED)
        pos += bodies[p, BODY_REPETITION_BYTES]
    if nullable:
        pos, level_end = find_stream(src, pos, end, bodies[p, BODY_DEFINITION_BYTES], 3, 1, count)
        if pos < 0:
            return pos
        status = read_present_bits(src, pos, level_end, a, b - a, count, validity, first + a - start, counts)
        if status < 0:
            return status
        slices[p, SRC_START] = level_end
        slices[p, STREAM_COUNT] = counts[2]
        slices[p, SKIP] = counts[0]
        slices[p, TAKE] = counts[1]
    else:
        if bodies[p, BODY_DEFINITION_BYTES] > 0:
            if bodies[p, BODY_DEFINITION_BYTES] > end - pos:
                return np.int64(TRUNCATED)
            pos += bodies[p, BODY_DEFINITION_BYTES]
        slices[p, SRC_START] = pos
        slices[p, STREAM_COUNT] = count
        slices[p, SKIP] = a
        slices[p, TAKE] = b - a
    slices[p, SRC_END] = end
    slices[p, OUT_START] = dense
    slices[p, SLOTS] = slices[p, TAKE]
    slices[p, ROW_START] = first + a - start
    slices[p, ROW_COUNT] = b - a
    return np.int64(OK)


@kernel
def slice_pages(src, bodies, nullable, start, stop, validity, counts, slices):
    """Levels of some pages of a flat column -> slices in the row space of the window start .. stop: nulls or `fail`.

    `validity` has a bit per row of the window and a spare word, zero at the rows of these pages; empty when the column
    is required. Values lie densely: OUT_START counts the present values of the pages before.
    """
    dense = np.int64(0)
    nulls = np.int64(0)
    for p in range(bodies.shape[0]):
        status = slice_page(src, bodies, p, nullable, start, stop, validity, counts, slices, dense)
        if status < 0:
            return fail(status, p)
        dense += slices[p, TAKE]
        nulls += slices[p, ROW_COUNT] - slices[p, TAKE]
    return nulls


@block
def check_ranks(gathered, row, ranks):
    """Whether the list of this page lies inside `ranks` and names values that the page has."""
    first = gathered[row, RANK_START]
    take = gathered[row, TAKE]
    if first < 0 or take < 0 or take > np.int64(ranks.shape[0]) - first or take > gathered[row, SLOTS]:
        return False
    return take == 0 or (
        ranks[first] >= 0 and np.int64(ranks[first + take - 1]) < gathered[row, STREAM_COUNT]
    )


@kernel
def take_indexes(src, gathered, ranks, entry_count, out):
    """Dictionary indexes of the listed values, one after the other in `out` (int32); their number or `fail`."""
    done = np.int64(0)
    for row in range(gathered.shape[0]):
        take = gathered[row, TAKE]
        if take == 0:
            continue
        if not check_ranks(gathered, row, ranks) or take > np.int64(out.shape[0]) - done:
            return fail(BAD_COUNT, row)
        pos = gathered[row, SRC_START]
        end = gathered[row, SRC_END]
        bit_width = read_bit_width(src, pos, end, entry_count)
        if bit_width < 0:
            return fail(bit_width, row)
        pos += 1
        mask = (np.uint64(1) << np.uint64(bit_width)) - np.uint64(1)
        first = gathered[row, RANK_START]
        listed = first
        last = first + take
        count_in_all = gathered[row, STREAM_COUNT]
        base = np.int64(0)  # values of the runs before this one
        highest = np.uint64(0)
        while listed < last:
            packed, count, value, pos = next_run(src, pos, end, bit_width, np.int64(ranks[last - 1]) + 1 - base)
            if pos < 0:
                return fail(pos, row)
            stop = base + count
            if packed:
                while listed < last and np.int64(ranks[np.uint64(listed)]) < stop:
                    bit = (np.int64(ranks[np.uint64(listed)]) - base) * bit_width
                    index = (load_u64(src, value + (bit >> 3)) >> np.uint64(bit & 7)) & mask
                    highest = max(highest, index)
                    out[np.uint64(done)] = np.int32(np.uint32(index))
                    done += 1
                    listed += 1
            else:
                repeated = np.int32(np.uint32(value))
                if listed < last and np.int64(ranks[np.uint64(listed)]) < stop:
                    highest = max(highest, np.uint64(value))
                while listed < last and np.int64(ranks[np.uint64(listed)]) < stop:
                    out[np.uint64(done)] = repeated
                    done += 1
                    listed += 1
            base = stop
            if base > count_in_all:
                break
        if highest >= np.uint64(entry_count):
            return fail(BAD_INDEX, row)
        if listed < last:
            return fail(BAD_COUNT, row)
    return done


@kernel
def take_fixed(src, gathered, ranks, validity, out):
    """Listed PLAIN numbers, as wide as the elements of `out` (uint32 or uint64), at their slots."""
    size = np.int64(out.itemsize)
    for row in range(gathered.shape[0]):
        take = gathered[row, TAKE]
        if take > 0:
            if not check_ranks(gathered, row, ranks):
                return fail(BAD_COUNT, row)
            pos = gathered[row, SRC_START]
            first = gathered[row, RANK_START]
            if (gathered[row, SRC_END] - pos) // size <= np.int64(ranks[first + take - 1]):
                return fail(TRUNCATED, row)
            at = gathered[row, OUT_START]
            if at < 0 or gathered[row, SLOTS] > np.int64(out.shape[0]) - at:
                return fail(OUTPUT_FULL, row)
            listed = np.uint64(first)
            slot = np.uint64(at)
            i = np.uint64(0)
            left = np.uint64(take)
            while i < left:
                step = min(left - i, np.uint64(16))
                low = ranks[listed + i]
                if step == np.uint64(16) and ranks[listed + i + np.uint64(15)] == low + 15:
                    # Neighbours, as where most rows survive: one vector move.
                    source = pos + np.int64(low) * size
                    for k in range(np.uint64(16)):
                        if size == 4:
                            out[slot + i + k] = load_u32(src, source + np.int64(k) * 4)
                        else:
                            out[slot + i + k] = load_u64(src, source + np.int64(k) * 8)
                else:
                    for k in range(step):
                        rank = np.int64(ranks[listed + i + k])
                        if size == 4:
                            out[slot + i + k] = load_u32(src, pos + rank * 4)
                        else:
                            out[slot + i + k] = load_u64(src, pos + rank * 8)
                i += step
            if take < gathered[row, SLOTS]:
                spread_values(out, at, gathered[row, SLOTS], take, validity)
    return np.int64(OK)


@kernel
def find_byte_arrays(src, gathered, ranks, starts, lengths):
    """Where the listed PLAIN byte arrays lie in `src`: starts (int64) and lengths (int32); their bytes or `fail`."""
    done = np.int64(0)
    total = np.int64(0)
    for row in range(gathered.shape[0]):
        take = gathered[row, TAKE]
        if take == 0:
            continue
        if not check_ranks(gathered, row, ranks):
            return fail(BAD_COUNT, row)
        if take > np.int64(starts.shape[0]) - done or take > np.int64(lengths.shape[0]) - done:
            return fail(OUTPUT_FULL, row)
        pos = gathered[row, SRC_START]
        end = gathered[row, SRC_END]
        first = gathered[row, RANK_START]
        number = np.int64(0)
        for i in range(take):
            wanted = np.int64(ranks[np.uint64(first + i)])
            while True:
                if end - pos < 4:
                    return fail(TRUNCATED, row)
                length = np.int64(load_u32(src, pos))
                pos += 4
                if length > end - pos:
                    return fail(BAD_LENGTH, row)
                pos += length
                number += 1
                if number > wanted:
                    break
            starts[np.uint64(done)] = pos - length
            lengths[np.uint64(done)] = np.int32(length)
            total += length
            done += 1
    return total


@kernel
def copy_byte_arrays(src, gathered, starts, lengths, validity, offsets, data):
    """Copy what find_byte_arrays found; `src` and `data` have SLACK spare bytes. OK or `fail`.

    `offsets` (int32 or int64) holds at the first slot where the first value goes.
    """
    room = room_for_bytes(offsets, data)
    done = np.int64(0)
    for row in range(gathered.shape[0]):
        at = gathered[row, OUT_START]
        take = gathered[row, TAKE]
        if take > np.int64(starts.shape[0]) - done or gathered[row, SLOTS] > np.int64(offsets.shape[0]) - 1 - at:
            return fail(OUTPUT_FULL, row)
        total = np.int64(offsets[at])
        if total < 0 or total > room:
            return fail(OUTPUT_FULL, row)
        for i in range(take):
            length = np.int64(lengths[np.uint64(done)])
            if length > room - total:
                return fail(OUTPUT_FULL, row)
            copy_value(data, total, src, starts[np.uint64(done)], length)
            total += length
            done += 1
            offsets[np.uint64(at + i + 1)] = total
        if take < gathered[row, SLOTS]:
            spread_offsets(offsets, at, gathered[row, SLOTS], take, validity)
    return np.int64(OK)
