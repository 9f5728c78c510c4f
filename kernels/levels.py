# mypy: ignore-errors
"""Definition and repetition levels of a window's pages -> slice table, validity words and offsets, one layer at a time.

`bodies` has one row per page under the window (fields below); `slices` receives the matching rows (slices.py). A page
body is repetition levels, definition levels, values. Rows are numbered from the first row of the row group.
"""

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.config import DISABLE_JIT
from numba.extending import intrinsic

from .bits import load_u32, popcount, trailing_zeros
from .compiled import block, fail, kernel, quick_kernel
from .rle import count_hybrid_values, read_hybrid_levels, read_packed_levels, read_present_bits
from .slices import OUT_START, SKIP, SLOTS, SRC_END, SRC_START, STREAM_COUNT, TAKE
from .spread import bits_of_ones
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


@intrinsic
def _compare_64(typingctx, levels, pos, level):
    def codegen(context, builder, signature, args):
        wide = ir.VectorType(ir.IntType(8), 64)
        data = context.make_array(signature.args[0])(context, builder, args[0]).data
        pointer = builder.bitcast(cgutils.pointer_add(builder, data, args[1]), wide.as_pointer())
        one = builder.insert_element(ir.Constant(wide, ir.Undefined), args[2], ir.Constant(ir.IntType(32), 0))
        each = builder.shuffle_vector(one, one, ir.Constant(ir.VectorType(ir.IntType(32), 64), [0] * 64))
        found = builder.icmp_unsigned(">=", builder.load(pointer, align=1), each)
        return builder.bitcast(found, ir.IntType(64))

    return types.uint64(levels, types.int64, types.uint8), codegen


if DISABLE_JIT:

    def compare_64(levels, pos, level):
        return np.packbits(levels[pos : pos + 64] >= level, bitorder="little").view(np.uint64)[0]

else:
    compare_64 = _compare_64  # bit i: levels[pos + i] >= level, all unsigned; 64 levels must be readable


@block
def reach(levels, pos, count, level):
    """Bit i of a word: whether levels[pos + i] (uint8) is at least `level`; for `count` (at most 64) levels."""
    if count == 64:
        return compare_64(levels, pos, np.uint8(level))
    found = np.uint64(0)
    while count > 0:
        count -= 1
        found = found << np.uint64(1) | np.uint64(levels[np.uint64(pos + count)] >= np.uint8(level))
    return found


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
def count_reaching(levels, low, high, level):
    """How many of levels[low:high] (uint8) are at least `level`."""
    total = np.int64(0)
    while low < high:
        count = min(high - low, np.int64(64))
        total += np.int64(popcount(reach(levels, low, count, level)))
        low += count
    return total


@kernel
def count_record_starts(repetitions, count):
    """How many of the first `count` repetition levels are 0."""
    return count - count_reaching(repetitions, np.int64(0), np.int64(count), np.int64(1))


@block
def find_record(repetitions, low, high, number):
    """Where record number `number` (0: the first that starts at or after `low`) starts; `high` when it does not."""
    while low < high:
        count = min(high - low, np.int64(64))
        starts = reach(repetitions, low, count, np.int64(1)) ^ bits_of_ones(count)
        found = np.int64(popcount(starts))
        if number < found:
            for _ in range(number):
                starts &= starts - np.uint64(1)
            return low + np.int64(trailing_zeros(starts))
        number -= found
        low += count
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
        before = count_reaching(definitions, first, a, max_definition)
        inside = count_reaching(definitions, a, b, max_definition)
        after = count_reaching(definitions, b, last, max_definition)
        slots = count_reaching(definitions, a, b, slot_definition)
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


@block
def gather_bits(bits, chosen):
    """The bits of a word where `chosen` (not 0) is set, moved together to its low end."""
    gaps = ~chosen
    while gaps != np.uint64(0):
        # Every round closes the lowest run of bits that are not chosen.
        start = np.uint64(trailing_zeros(gaps))
        below = (np.uint64(1) << start) - np.uint64(1)
        length = np.uint64(trailing_zeros(~(gaps >> start)))
        bits = (bits & below) | ((bits >> length) & ~below)
        gaps = (gaps >> length) & ~below
    return bits


@kernel
def build_list(
    definitions,
    repetitions,
    low,
    high,
    valid_definition,
    item_definition,
    leaf_definition,
    offsets,
    words,
    leaf_words,
    counts,
):
    """build_repeated and build_slots in one pass, for a leaf whose only layer is repeated: the most common nesting.

    Maximum repetition level 1, every record a slot of the list. `offsets` has one more entry than there are lists,
    `words` and `leaf_words` a spare word; `leaf_words` is empty where an item cannot be null. counts[0] receives the
    null lists, counts[1] the items, counts[2] the null items. OK or a status.
    """
    # 64 levels at a time, as words with a bit per level: 0.6 ns a level for lists of 0 to 10 items, where the two
    # kernels for any nesting take 4.5 together.
    slots = np.int64(offsets.shape[0] - 1)
    room = np.int64(leaf_words.shape[0] - 1) * 64  # negative: no validity of items
    if words.shape[0] * 64 <= slots or high > definitions.shape[0] or high > repetitions.shape[0]:
        return np.int64(BAD_COUNT)
    slot = np.int64(0)
    items = np.int64(0)
    present = np.int64(0)
    absent = np.int64(0)
    had_item = np.uint64(0)
    bad = np.uint64(0)
    word = np.uint64(0)
    leaf_word = np.uint64(0)
    while low < high:
        count = min(high - low, np.int64(64))
        continues = reach(repetitions, low, count, np.int64(1))
        valid = reach(definitions, low, count, valid_definition)
        has_item = reach(definitions, low, count, item_definition)
        bad |= continues & ~(has_item & ((has_item << np.uint64(1)) | had_item))
        had_item = has_item >> np.uint64(63)

        starts = continues ^ bits_of_ones(count)
        lists = np.int64(popcount(starts))
        if lists > slots - slot:
            return np.int64(BAD_COUNT)
        bits = np.uint64(0)
        for k in range(lists):
            less = starts - np.uint64(1)
            bits |= np.uint64((valid & starts & ~less) != np.uint64(0)) << np.uint64(k)
            offsets[np.uint64(slot + k)] = np.int32(items + np.int64(popcount(has_item & less & ~starts)))
            starts &= less
        present += np.int64(popcount(bits))
        shift = np.uint64(slot & 63)
        word |= bits << shift
        if np.int64(shift) + lists >= 64:
            words[np.uint64(slot >> 6)] = word
            word = (bits >> np.uint64(1)) >> (np.uint64(63) - shift)
        slot += lists

        found = np.int64(popcount(has_item))
        if room >= 0 and found > 0:
            if found > room - items:
                return np.int64(BAD_COUNT)
            bits = gather_bits(reach(definitions, low, count, leaf_definition), has_item)
            absent += found - np.int64(popcount(bits))
            shift = np.uint64(items & 63)
            leaf_word |= bits << shift
            if np.int64(shift) + found >= 64:
                leaf_words[np.uint64(items >> 6)] = leaf_word
                leaf_word = (bits >> np.uint64(1)) >> (np.uint64(63) - shift)
        items += found
        low += count
    if bad != np.uint64(0):
        return np.int64(BAD_LEVEL)
    if slot != slots:
        return np.int64(BAD_COUNT)
    offsets[slots] = items
    words[slots >> 6] = word
    for w in range((slots >> 6) + 1, words.shape[0]):
        words[w] = np.uint64(0)
    if room >= 0:
        leaf_words[items >> 6] = leaf_word
        for w in range((items >> 6) + 1, leaf_words.shape[0]):
            leaf_words[w] = np.uint64(0)
    counts[0] = slots - present
    counts[1] = items
    counts[2] = absent
    return np.int64(OK)
