# mypy: ignore-errors
"""Masks and positions: which rows survive a filter, and the values, offsets and validity bits of those that do.

A mask has one byte per row of the window, 1 = still a candidate: bytes rather than bits, because loops over them become
vector code (narrowing takes 0.17 ns a row). Survivors are positions (int32, rising) in the window.
"""

import numpy as np

from .bits import copy_bytes, load_u64, popcount, trailing_zeros
from .compiled import block, fail, kernel, quick_kernel
from .plain import copy_value
from .rle import fill_bits, put_bits
from .slices import OUT_START, RANK_START, ROW_COUNT, ROW_START, SKIP, SLOTS, TAKE
from .status import BAD_COUNT, OK, OUTPUT_FULL


@block
def bit_at(words, i):
    """Bit number `i` of `words` as 0 or 1 (uint64)."""
    return (words[np.uint64(i >> 6)] >> np.uint64(i & 63)) & np.uint64(1)


@quick_kernel
def count_mask(mask, start, stop):
    """How many of mask[start:stop] are set."""
    total = np.int64(0)
    for i in range(np.uint64(start), np.uint64(stop)):
        total += np.int64(mask[i])
    return total


@quick_kernel
def live_pages(mask, rows, live):
    """live[p] = 1 where a row of rows[p, 0] .. rows[p, 1] (of the mask) is still a candidate; returns their number."""
    found = np.int64(0)
    for p in range(rows.shape[0]):
        start = max(rows[p, 0], np.int64(0))
        stop = min(rows[p, 1], np.int64(mask.shape[0]))
        alive = np.uint8(0)
        i = start
        while i < stop:
            # Long blocks without a way out in the middle are vector code; between them a live page ends the search.
            end = min(stop, i + 1024)
            for j in range(np.uint64(i), np.uint64(end)):
                alive |= mask[j]
            if alive:
                break
            i = end
        live[p] = alive
        found += np.int64(alive)
    return found


@quick_kernel
def mark_pages(positions, rows, live):
    """live[p] = 1 where a position (rising) lies in rows[p, 0] .. rows[p, 1], found by halving; returns how many."""
    found = np.int64(0)
    count = np.int64(positions.shape[0])
    for p in range(rows.shape[0]):
        low = np.int64(0)
        high = count
        while low < high:
            middle = (low + high) >> 1
            if np.int64(positions[np.uint64(middle)]) < rows[p, 0]:
                low = middle + 1
            else:
                high = middle
        live[p] = low < count and np.int64(positions[np.uint64(low)]) < rows[p, 1]
        found += np.int64(live[p])
    return found


@quick_kernel
def list_positions(mask, start, stop, positions):
    """Write the numbers of the set bytes of mask[start:stop] into `positions` (int32); their number or OUTPUT_FULL."""
    found = np.int64(0)
    room = np.int64(positions.shape[0])
    i = np.int64(start)
    while stop - i >= 8:
        word = load_u64(mask, i)
        if word != np.uint64(0):
            count = np.int64(popcount(word))
            if count > room - found:
                return np.int64(OUTPUT_FULL)
            if word == np.uint64(0x0101010101010101):
                for j in range(np.uint64(8)):
                    positions[np.uint64(found) + j] = np.int32(i + np.int64(j))
                found += 8
            elif count < 4 or room - found < 8:
                while word != np.uint64(0):
                    positions[np.uint64(found)] = np.int32(i + (np.int64(trailing_zeros(word)) >> 3))
                    word &= word - np.uint64(1)
                    found += 1
            else:  # many: written whether set or not, and written over by the next one that is
                for j in range(8):
                    positions[np.uint64(found)] = np.int32(i + j)
                    found += np.int64(word & np.uint64(1))
                    word >>= np.uint64(8)
        i += 8
    while i < stop:
        if mask[np.uint64(i)]:
            if found >= room:
                return np.int64(OUTPUT_FULL)
            positions[np.uint64(found)] = np.int32(i)
            found += 1
        i += 1
    return found


@block
def narrow_page(mask, row, rows, validity, hits, at, take, null_matches):
    """AND the verdicts of one page, some of whose rows are null, into mask[row : row + rows]; how many are left."""
    left = np.int64(0)
    if take == 0:
        for i in range(np.uint64(rows)):
            mask[np.uint64(row) + i] &= np.uint8(null_matches)
            left += np.int64(mask[np.uint64(row) + i])
        return left
    last = np.uint64(at + take - 1)
    position = np.uint64(at)
    absent = np.uint64(null_matches)
    i = np.int64(row)
    stop = row + rows
    while i < stop:
        word = validity[np.uint64(i >> 6)] >> np.uint64(i & 63)
        count = min(stop - i, 64 - (i & 63))
        for j in range(np.uint64(i), np.uint64(i + count)):
            # No branch on a validity bit: a null row looks at the verdict of the value that comes next.
            bit = word & np.uint64(1)
            word >>= np.uint64(1)
            verdict = (np.uint64(hits[min(position, last)]) & bit) | (absent & (bit ^ np.uint64(1)))
            passed = mask[j] & np.uint8(verdict)
            mask[j] = passed
            left += np.int64(passed)
            position += bit
        i += count
    return left


@kernel
def narrow(mask, slices, validity, hits, null_matches):
    """AND the verdicts of pages into the mask; return how many rows are left in them, or `fail`.

    `hits` holds one verdict per present value, page after page, from OUT_START on; a null row gets `null_matches`. With
    empty `validity` every row has a value; else it has one bit per row of the window.
    """
    left = np.int64(0)
    for p in range(slices.shape[0]):
        row = slices[p, ROW_START]
        rows = slices[p, ROW_COUNT]
        at = slices[p, OUT_START]
        take = slices[p, TAKE]
        if row < 0 or rows > np.int64(mask.shape[0]) - row or take > np.int64(hits.shape[0]) - at or take > rows:
            return fail(np.int64(BAD_COUNT), p)
        if take == rows:
            for i in range(np.uint64(rows)):
                passed = mask[np.uint64(row) + i] & hits[np.uint64(at) + i]
                mask[np.uint64(row) + i] = passed
                left += np.int64(passed)
        else:
            left += narrow_page(mask, row, rows, validity, hits, at, take, null_matches)
    return left


@kernel
def take_words(values, positions, out):
    """out[i] = values[positions[i]]; not checked: the positions lie inside `values`."""
    for i in range(np.uint64(positions.shape[0])):
        out[i] = values[np.uint64(np.uint32(positions[i]))]
    return np.int64(OK)


@kernel
def take_pairs(values, positions, out):
    """As take_words for uint64[:, 2]."""
    for i in range(np.uint64(positions.shape[0])):
        source = np.uint64(np.uint32(positions[i]))
        out[i, np.uint64(0)] = values[source, np.uint64(0)]
        out[i, np.uint64(1)] = values[source, np.uint64(1)]
    return np.int64(OK)


@kernel
def take_wide(values, width, positions, out):
    """As take_words for values of `width` bytes."""
    for i in range(positions.shape[0]):
        copy_bytes(out, i * width, values, np.int64(positions[i]) * width, width)
    return np.int64(OK)


@kernel
def take_bits(words, positions, out):
    """Bits of `words` at the positions, packed into `out`, whose every word is written; returns how many are clear."""
    count = np.int64(positions.shape[0])
    present = np.int64(0)
    for w in range(out.shape[0]):
        word = np.uint64(0)
        first = w << 6
        for j in range(min(max(count - first, np.int64(0)), np.int64(64))):
            word |= bit_at(words, np.int64(positions[np.uint64(first + j)])) << np.uint64(j)
        out[w] = word
        present += np.int64(popcount(word))
    return count - present


@kernel
def measure_taken(offsets, positions):
    """Bytes (or items) of the slots at the positions."""
    total = np.int64(0)
    for i in range(np.uint64(positions.shape[0])):
        slot = np.uint64(np.uint32(positions[i]))
        total += np.int64(offsets[slot + np.uint64(1)]) - np.int64(offsets[slot])
    return total


@kernel
def take_byte_arrays(offsets, data, positions, out_offsets, out_data):
    """Copy the byte arrays at the positions; `data` and `out_data` have SLACK spare bytes, room for all is checked
    by whoever measured them."""
    total = np.int64(0)
    out_offsets[0] = 0
    for i in range(np.uint64(positions.shape[0])):
        slot = np.uint64(np.uint32(positions[i]))
        start = np.int64(offsets[slot])
        length = np.int64(offsets[slot + np.uint64(1)]) - start
        copy_value(out_data, total, data, start, length)
        total += length
        out_offsets[i + np.uint64(1)] = total
    return total


@kernel
def take_lists(offsets, positions, out_offsets, items):
    """Offsets of the lists at the positions, and in `items` (int32) the positions of their items; the items' number."""
    total = np.int64(0)
    room = np.int64(items.shape[0])
    out_offsets[0] = 0
    for i in range(positions.shape[0]):
        slot = np.int64(positions[i])
        start = np.int64(offsets[slot])
        length = np.int64(offsets[slot + 1]) - start
        if length < 0 or length > room - total:
            return np.int64(OUTPUT_FULL)
        for j in range(length):
            items[np.uint64(total + j)] = np.int32(start + j)
        total += length
        out_offsets[i + 1] = total
    return total


@kernel
def any_of_lists(offsets, hits, out):
    """out[i] = 1 where some item of list i is a hit."""
    for i in range(out.shape[0]):
        found = np.uint8(0)
        for j in range(np.int64(offsets[i]), np.int64(offsets[i + 1])):
            found |= hits[np.uint64(j)]
        out[i] = found
    return np.int64(OK)


@kernel
def all_of_lists(offsets, hits, out):
    """out[i] = 1 where every item of list i is a hit; so for an empty list."""
    for i in range(out.shape[0]):
        passed = np.uint8(1)
        for j in range(np.int64(offsets[i]), np.int64(offsets[i + 1])):
            passed &= hits[np.uint64(j)]
        out[i] = passed
    return np.int64(OK)


@block
def find_position(positions, first, row):
    """The first of the positions (rising) from number `first` on that is not before `row`."""
    low = np.int64(first)
    high = np.int64(positions.shape[0])
    while low < high:
        middle = (low + high) >> 1
        if np.int64(positions[np.uint64(middle)]) < row:
            low = middle + 1
        else:
            high = middle
    return low


@block
def rank_whole_page(rank, row, rows, validity, ranks, taken, out_validity, at):
    """As rank_survivors for all rows of a page, which go to the slots from `at` on: the new number of listed ranks."""
    done = np.int64(0)
    while done < rows:
        offset = (row + done) & 63
        step = min(rows - done, 64 - offset)
        word = validity[np.uint64((row + done) >> 6)] >> np.uint64(offset)
        if step < 64:
            word &= (np.uint64(1) << np.uint64(step)) - np.uint64(1)
        put_bits(out_validity, at + done, word, step)
        for _ in range(step):
            ranks[np.uint64(taken)] = np.int32(rank)
            bit = np.int64(word & np.uint64(1))
            word >>= np.uint64(1)
            taken += bit
            rank += bit
        done += step
    return taken


@kernel
def rank_survivors(positions, slices, validity, ranks, out_validity, gathered):
    """Positions in the window -> which values of which page they need.

    `slices` are those of the window's loaded pages (by rising ROW_START); `gathered` receives the same rows, with
    SLOTS = survivors of the page, TAKE = those that are not null, OUT_START = the first one's number, and RANK_START:
    where `ranks` (int32) lists their numbers in the page's stream of values. `out_validity` (a bit per survivor and a
    spare word; empty when nothing is null) is written whole. Returns the number of nulls, or `fail`.
    """
    count = np.int64(positions.shape[0])
    for w in range(out_validity.shape[0]):
        out_validity[w] = np.uint64(0)
    at = np.int64(0)
    taken = np.int64(0)
    for p in range(slices.shape[0]):
        first_row = slices[p, ROW_START]
        end_row = first_row + slices[p, ROW_COUNT]
        for field in range(slices.shape[1]):
            gathered[p, field] = slices[p, field]
        gathered[p, OUT_START] = at
        gathered[p, RANK_START] = taken
        first = at
        rows = slices[p, ROW_COUNT]
        stop = find_position(positions, at, end_row)
        if validity.shape[0] == 0 or slices[p, TAKE] == rows:  # no nulls: vector code
            skip = slices[p, SKIP] - first_row
            lag = np.uint64(at - taken)
            for i in range(np.uint64(at), np.uint64(stop)):
                ranks[i - lag] = np.int32(np.int64(positions[i]) + skip)
            if validity.shape[0] > 0:
                fill_bits(out_validity, at, stop - at)
            taken += stop - at
            at = stop
        elif stop - at == rows and rows > 0 and np.int64(positions[np.uint64(at)]) == first_row:
            taken = rank_whole_page(slices[p, SKIP], first_row, rows, validity, ranks, taken, out_validity, at)
            at = stop
        else:
            rank = slices[p, SKIP]
            scanned = first_row  # `rank` counts the values before this row
            while at < stop:
                row = np.int64(positions[np.uint64(at)])
                while scanned < row:
                    step = min(row - scanned, 64 - (scanned & 63))
                    word = validity[np.uint64(scanned >> 6)] >> np.uint64(scanned & 63)
                    if step < 64:
                        word &= (np.uint64(1) << np.uint64(step)) - np.uint64(1)
                    rank += np.int64(popcount(word))
                    scanned += step
                bit = bit_at(validity, row)
                out_validity[np.uint64(at >> 6)] |= bit << np.uint64(at & 63)
                ranks[np.uint64(taken)] = np.int32(rank)
                taken += np.int64(bit)
                at += 1
        gathered[p, SLOTS] = at - first
        gathered[p, TAKE] = taken - gathered[p, RANK_START]
        if first < at and np.int64(positions[np.uint64(first)]) < first_row:
            return fail(np.int64(BAD_COUNT), p)
    if at != count:
        return fail(np.int64(BAD_COUNT), max(np.int64(slices.shape[0]) - 1, np.int64(0)))
    return count - taken
