# mypy: ignore-errors
"""Definition and repetition levels of a window's pages -> slice table, validity words and offsets, one layer at a time.

`bodies` has one row per page under the window (fields below); `slices` receives the matching rows (slices.py). A page
body is repetition levels, definition levels, values. Rows are numbered from the first row of the row group.
"""

import numpy as np

from .bits import load_u32
from .compiled import block, fail, kernel, quick_kernel
from .rle import count_hybrid_values, read_hybrid_levels, read_packed_levels, read_present_bits
from .slices import OUT_START, SKIP, SLOTS, SRC_END, SRC_START, STREAM_COUNT, TAKE
from .status import BAD_COUNT, BAD_LEVEL, BAD_RECORD_START, CORRUPT, OK, TRUNCATED

BODY_START = 0  # in `src`
BODY_END = 1
BODY_VALUES = 2  # levels of the page (num_values of its header)
BODY_DEFINITION_BYTES = 3  # V2; -1 in V1 pages, whose streams carry their own length
BODY_REPETITION_BYTES = 4
BODY_DEFINITION_ENCODING = 5  # 3 = RLE, 4 = BIT_PACKED
BODY_REPETITION_ENCODING = 6
BODY_FIRST_ROW = 7  # rows of the row group that start before this page
BODY_FIELDS = 8

BIT_PACKED = 4


@block
def find_stream(src, pos, end, byte_count, encoding, maximum, value_count):
    """(start, end) of a level stream at `pos`; start < 0 is a status. `byte_count` is -1 in V1 pages."""
    if byte_count >= 0:
        if byte_count > end - pos:
            return np.int64(TRUNCATED), np.int64(0)
        return np.int64(pos), np.int64(pos + byte_count)
    if maximum == 0:
        return np.int64(pos), np.int64(pos)
    if encoding == BIT_PACKED:
        bit_width = 0
        while (maximum >> bit_width) > 0:
            bit_width += 1
        size = (value_count * bit_width + 7) >> 3
        if size > end - pos:
            return np.int64(TRUNCATED), np.int64(0)
        return np.int64(pos), np.int64(pos + size)
    if encoding != 3:
        return np.int64(CORRUPT), np.int64(0)
    if end - pos < 4:
        return np.int64(TRUNCATED), np.int64(0)
    size = np.int64(load_u32(src, pos))
    if size > end - pos - 4:
        return np.int64(TRUNCATED), np.int64(0)
    return np.int64(pos + 4), np.int64(pos + 4 + size)


@quick_kernel
def slice_required(bodies, start, stop, slices):
    """Slices of a column without levels for the rows start .. stop; OK or a failure."""
    out = np.int64(0)
    for p in range(bodies.shape[0]):
        pos = bodies[p, BODY_START]
        end = bodies[p, BODY_END]
        if bodies[p, BODY_DEFINITION_BYTES] > 0:
            pos += bodies[p, BODY_DEFINITION_BYTES]
        if bodies[p, BODY_REPETITION_BYTES] > 0:
            pos += bodies[p, BODY_REPETITION_BYTES]
        if pos > end:
            return fail(TRUNCATED, p)
        first = bodies[p, BODY_FIRST_ROW]
        count = bodies[p, BODY_VALUES]
        a = min(max(start - first, 0), count)
        b = min(max(stop - first, 0), count)
        slices[p, SRC_START] = pos
        slices[p, SRC_END] = end
        slices[p, STREAM_COUNT] = count
        slices[p, SKIP] = a
        slices[p, TAKE] = b - a
        slices[p, OUT_START] = out
        slices[p, SLOTS] = b - a
        out += b - a
    if out != stop - start:
        return fail(BAD_COUNT, max(bodies.shape[0] - 1, 0))
    return np.int64(OK)


@kernel
def read_validity(src, bodies, start, stop, words, counts, slices):
    """Slices and validity words of an optional flat column (maximum definition level 1, RLE levels).

    `words` covers stop - start bits plus one spare word, and is zeroed here. Returns the number of nulls or a failure.
    """
    for i in range(words.shape[0]):
        words[i] = np.uint64(0)
    out = np.int64(0)
    nulls = np.int64(0)
    for p in range(bodies.shape[0]):
        end = bodies[p, BODY_END]
        count = bodies[p, BODY_VALUES]
        pos = bodies[p, BODY_START]
        if bodies[p, BODY_REPETITION_BYTES] > 0:
            pos += bodies[p, BODY_REPETITION_BYTES]
            if pos > end:
                return fail(TRUNCATED, p)
        first = bodies[p, BODY_FIRST_ROW]
        a = min(max(start - first, 0), count)
        b = min(max(stop - first, 0), count)
        pos, level_end = find_stream(src, pos, end, bodies[p, BODY_DEFINITION_BYTES], 3, 1, count)
        if pos < 0:
            return fail(pos, p)
        status = read_present_bits(src, pos, level_end, a, b - a, count, words, out, counts)
        if status < 0:
            return fail(status, p)
        slices[p, SRC_START] = level_end
        slices[p, SRC_END] = end
        slices[p, STREAM_COUNT] = counts[2]
        slices[p, SKIP] = counts[0]
        slices[p, TAKE] = counts[1]
        slices[p, OUT_START] = out
        slices[p, SLOTS] = b - a
        nulls += b - a - counts[1]
        out += b - a
    if out != stop - start:
        return fail(BAD_COUNT, max(bodies.shape[0] - 1, 0))
    return nulls


@block
def read_stream(src, start, end, encoding, maximum, count, out, at):
    """One level stream into `out[at:]` (uint8); a maximum of 0 has no stream: all zero."""
    if maximum == 0:
        for i in range(count):
            out[at + i] = 0
        return np.int64(start)
    if encoding == BIT_PACKED:
        return read_packed_levels(src, start, end, maximum, count, out, at)
    return read_hybrid_levels(src, start, end, maximum, count, out, at)


@kernel
def read_levels(src, bodies, max_definition, max_repetition, definitions, repetitions, slices):
    """All levels of the pages, one page after the other, into uint8 arrays; SRC_START and SRC_END of the slices.

    `repetitions` is untouched (and may be empty) when max_repetition is 0. Returns the number of levels or a failure.
    """
    at = np.int64(0)
    for p in range(bodies.shape[0]):
        pos = bodies[p, BODY_START]
        end = bodies[p, BODY_END]
        count = bodies[p, BODY_VALUES]
        if count > definitions.shape[0] - at:
            return fail(BAD_COUNT, p)
        encoding = bodies[p, BODY_REPETITION_ENCODING]
        pos, level_end = find_stream(src, pos, end, bodies[p, BODY_REPETITION_BYTES], encoding, max_repetition, count)
        if pos < 0:
            return fail(pos, p)
        if max_repetition > 0:
            status = read_stream(src, pos, level_end, encoding, max_repetition, count, repetitions, at)
            if status < 0:
                return fail(status, p)
        encoding = bodies[p, BODY_DEFINITION_ENCODING]
        byte_count = bodies[p, BODY_DEFINITION_BYTES]
        pos, level_end = find_stream(src, level_end, end, byte_count, encoding, max_definition, count)
        if pos < 0:
            return fail(pos, p)
        status = read_stream(src, pos, level_end, encoding, max_definition, count, definitions, at)
        if status < 0:
            return fail(status, p)
        slices[p, SRC_START] = level_end
        slices[p, SRC_END] = end
        at += count
    return at


@kernel
def count_levels(src, bodies, page, maximum, is_repetition):
    """How many levels (at most the page's value count) the runs of one page's stream can deliver, or a status."""
    pos = bodies[page, BODY_START]
    end = bodies[page, BODY_END]
    count = bodies[page, BODY_VALUES]
    byte_count = bodies[page, BODY_REPETITION_BYTES if is_repetition else BODY_DEFINITION_BYTES]
    encoding = bodies[page, BODY_REPETITION_ENCODING if is_repetition else BODY_DEFINITION_ENCODING]
    pos, level_end = find_stream(src, pos, end, byte_count, encoding, maximum, count)
    if pos < 0:
        return np.int64(pos)
    if encoding == BIT_PACKED and byte_count < 0:
        return np.int64(count)
    bit_width = 0
    while (maximum >> bit_width) > 0:
        bit_width += 1
    return count_hybrid_values(src, pos, level_end, bit_width, count)


@block
def count_equal(levels, low, high, level):
    """How many of levels[low:high] (uint8) equal `level`."""
    # An unsigned index cannot be negative: without the check for that, LLVM uses vector instructions (5 times faster).
    total = np.int64(0)
    wanted = np.uint8(level)
    for i in range(np.uint64(low), np.uint64(high)):
        total += np.int64(levels[i] == wanted)
    return total


@block
def count_below(levels, low, high, level):
    """How many of levels[low:high] (uint8) are less than `level`."""
    total = np.int64(0)
    bound = np.uint8(level)
    for i in range(np.uint64(low), np.uint64(high)):
        total += np.int64(levels[i] < bound)
    return total


@kernel
def count_record_starts(repetitions, count):
    """How many of the first `count` repetition levels are 0."""
    return count_equal(repetitions, np.int64(0), np.int64(count), np.int64(0))


@block
def find_record(repetitions, low, high, number):
    """Where record number `number` (0: the first that starts at or after `low`) starts; `high` when it does not."""
    while low < high:
        stop = min(high, low + 1024)
        starts = count_equal(repetitions, low, stop, np.int64(0))
        if number < starts:
            while True:
                if repetitions[low] == 0:
                    if number == 0:
                        return low
                    number -= 1
                low += 1
        number -= starts
        low = stop
    return high


@kernel
def slice_records(
    definitions, repetitions, max_repetition, bodies, start, stop, max_definition, slot_definition, slices, extent
):
    """Slices for the records start .. stop, and extent[0], extent[1]: their first level and the one after their last.

    The levels are those of all pages in `bodies`, in order. A record may continue on the next page.
    """
    level_count = np.int64(0)
    for p in range(bodies.shape[0]):
        level_count += bodies[p, BODY_VALUES]
    skip = start - bodies[0, BODY_FIRST_ROW] if bodies.shape[0] > 0 else np.int64(0)
    want = stop - start
    if skip < 0:
        return fail(BAD_COUNT, 0)
    low = level_count
    high = level_count
    if max_repetition == 0:
        low = min(skip, level_count)
        high = min(skip + want, level_count)
        if high - low != want:
            return fail(BAD_COUNT, max(bodies.shape[0] - 1, 0))
    else:
        if level_count > 0 and bodies[0, BODY_FIRST_ROW] == 0 and repetitions[0] != 0:
            return fail(BAD_RECORD_START, 0)
        low = find_record(repetitions, np.int64(0), level_count, skip)
        # The last record ends where the next one starts; without a next one the pages end with it.
        last = find_record(repetitions, low, level_count, max(want - 1, np.int64(0)))
        if want > 0 and last == level_count:
            return fail(BAD_COUNT, max(bodies.shape[0] - 1, 0))
        high = find_record(repetitions, min(last + 1, level_count), level_count, np.int64(0)) if want > 0 else low
    extent[0] = low
    extent[1] = high
    first = np.int64(0)
    out = np.int64(0)
    for p in range(bodies.shape[0]):
        last = first + bodies[p, BODY_VALUES]
        a = min(max(low, first), last)
        b = min(max(high, first), last)
        before = count_equal(definitions, first, a, max_definition)
        inside = count_equal(definitions, a, b, max_definition)
        after = count_equal(definitions, b, last, max_definition)
        slots = b - a - count_below(definitions, a, b, slot_definition)
        slices[p, STREAM_COUNT] = before + inside + after
        slices[p, SKIP] = before
        slices[p, TAKE] = inside
        slices[p, OUT_START] = out
        slices[p, SLOTS] = slots
        out += slots
        first = last
    return out


@kernel
def build_slots(definitions, repetitions, low, high, slot_repetition, slot_definition, valid_definition, words):
    """Validity words of a struct layer or leaf from levels low .. high; returns the nulls or BAD_COUNT.

    A slot exists where the repetition level is at most `slot_repetition` (255: every level) and the definition level
    at least `slot_definition`. `words` has exactly room for the layer's slots plus one spare word.
    """
    room = words.shape[0]
    slot = np.int64(0)
    present = np.int64(0)
    word = np.uint64(0)
    slot_level = np.uint8(slot_definition)
    valid_level = np.uint8(valid_definition)
    every = slot_repetition >= 255
    # No branch depends on a level: whether a list is empty cannot be predicted.
    for i in range(np.uint64(low), np.uint64(high)):
        d = definitions[i]
        exists = np.int64(d >= slot_level)
        if not every:
            exists &= np.int64(np.int64(repetitions[i]) <= slot_repetition)
        valid = exists & np.int64(d >= valid_level)
        word |= np.uint64(valid) << np.uint64(slot & 63)
        present += valid
        slot += exists
        if exists & np.int64((slot & 63) == 0):
            if (slot >> 6) > room:
                return np.int64(BAD_COUNT)
            words[(slot >> 6) - 1] = word
            word = np.uint64(0)
    filled = slot >> 6
    if filled + 1 > room:
        return np.int64(BAD_COUNT)
    words[filled] = word
    for w in range(filled + 1, room):
        words[w] = np.uint64(0)
    return slot - present


@kernel
def build_repeated(
    definitions,
    repetitions,
    low,
    high,
    slot_repetition,
    slot_definition,
    valid_definition,
    item_definition,
    offsets,
    words,
    counts,
):
    """Offsets and validity words of a repeated layer; counts[0] nulls, counts[1] items. OK or a status.

    `offsets` has exactly one more entry than the layer has slots; `words` one spare word. A level that continues a
    container (repetition above `slot_repetition`) needs an item, and one just before it, else the levels contradict.
    """
    slots = np.int64(offsets.shape[0] - 1)
    if words.shape[0] * 64 <= slots:
        return np.int64(BAD_COUNT)
    slot = np.int64(0)
    items = np.int64(0)
    present = np.int64(0)
    word = np.uint64(0)
    had_item = np.int64(0)
    bad = np.int64(0)
    own = slot_repetition + 1
    slot_level = np.uint8(slot_definition)
    valid_level = np.uint8(valid_definition)
    item_level = np.uint8(item_definition)
    for i in range(np.uint64(low), np.uint64(high)):
        d = definitions[i]
        r = np.int64(repetitions[i])
        has_item = np.int64(d >= item_level)
        starts = np.int64(r <= slot_repetition)
        bad |= (1 - starts) & (1 - (had_item & has_item))
        had_item = has_item
        exists = starts & np.int64(d >= slot_level)
        # Written for every level, and again until the slot's first level comes: no branch to predict.
        offsets[np.uint64(min(slot, slots))] = items
        valid = exists & np.int64(d >= valid_level)
        word |= np.uint64(valid) << np.uint64(slot & 63)
        present += valid
        slot += exists
        if exists & np.int64((slot & 63) == 0):
            if slot > slots:
                return np.int64(BAD_COUNT)
            words[(slot >> 6) - 1] = word
            word = np.uint64(0)
        items += has_item & np.int64(r <= own)
    if bad:
        return np.int64(BAD_LEVEL)
    if slot != slots:
        return np.int64(BAD_COUNT)
    offsets[slots] = items
    words[slots >> 6] = word
    for w in range((slots >> 6) + 1, words.shape[0]):
        words[w] = np.uint64(0)
    counts[0] = slots - present
    counts[1] = items
    return np.int64(OK)
