# mypy: ignore-errors
"""Several chunks of one row group in one call: all tests of a filter, then all output columns of the survivors.

Loops over columns around the blocks of chunk.py, so that Python takes a few steps per row group instead of a few per
column, and the interpreter lock is given away twice. What chunk.py declines is declined here, too.
"""

import numpy as np

from .bits import cycle_count
from .chunk import (
    DECLINED,
    INFO_DICTIONARY_BYTES,
    INFO_ENCODING,
    INFO_ENTRIES,
    INFO_FIELDS,
    find_taken_bytes,
    narrow_byte_arrays,
    narrow_numbers,
    take_numbers,
)
from .compiled import block, kernel
from .select import list_positions
from .slices import SLACK
from .status import OK
from .tables import PAGE_ENCODING, PAGE_KIND, PAGE_UNCOMPRESSED, PAGE_VALUES
from .take import copy_byte_arrays
from .unpack import DELTA, is_packed, unpacked_room
from .utf8 import check_utf8, check_utf8_entries

# One row per column; all int64. PAGE rows count in the table of page headers; bodies, slices and gathered share them.
COLUMN_FIRST_PAGE = 0  # the dictionary page where there is one
COLUMN_LAST_PAGE = 1  # the row after the last page
COLUMN_CODEC = 2
COLUMN_NULLABLE = 3
COLUMN_SIZE = 4  # bytes of a number; 0 for byte arrays
COLUMN_IS_OUTPUT = 5  # its bytes are in the second source, that of columns which are only put out
COLUMN_STORED = 6  # bytes of the chunk in the file
COLUMN_IS_INTEGER = 7  # its pages may hold deltas
# Filled by `place_columns`: extents of dictionary and data pages in the arena, SLACK included.
COLUMN_DICTIONARY = 8
COLUMN_DATA = 9
COLUMN_DATA_END = 10
COLUMN_ENTRIES = 11  # where its entries are listed in `entry_starts`
COLUMN_FIELDS = 12

# One row per test.
TEST_COLUMN = 0
TEST_IS_BYTES = 1
TEST_NULL_MATCHES = 2
TEST_FLIP = 3  # the bits of a uint64
TEST_FLOAT_BITS = 4
TEST_ORDER = 5
TEST_ASKS = 6
TEST_LOWS = 7  # extents in the arrays of constants: START, then END
TEST_SIEVE = 9
TEST_ENDS = 11
TEST_DATA = 13
TEST_FIELDS = 15

# What a test did: one row per test.
DID_ROWS_IN = 0
DID_ROWS_OUT = 1
DID_CYCLES = 2
DID_FIELDS = 3

# One row per output column.
OUTPUT_COLUMN = 0
OUTPUT_IS_WIDE = 1  # a decimal of 128 bits is made of each number
OUTPUT_IS_TEXT = 2
OUTPUT_PLACE = 3  # its number among those in the same output array: of 4 bytes, of 8, of byte arrays
OUTPUT_NULLS = 4  # results
OUTPUT_BYTES = 5  # of byte arrays; a bound that no number's size exceeds where OUTPUT_IS_WIDE
OUTPUT_FIELDS = 6

_DICTIONARY_PAGE = 2
_EXPANSION = 24  # the most that snappy makes of one byte
_TAG = 64  # bytes that a page may have beyond that


@kernel
def place_columns(table, columns, first, most_bytes):
    """Where dictionary and pages of each column from `first` on lie in the arena: the bytes it needs, or DECLINED.

    A quarter of those is room enough for the list of all entries of byte arrays.
    """
    at = columns[first - 1, COLUMN_DATA_END] if first > 0 else np.int64(0)
    entries = np.int64(0)
    for c in range(first):
        row = columns[c, COLUMN_FIRST_PAGE]
        if columns[c, COLUMN_SIZE] == 0 and table[row, PAGE_KIND] == _DICTIONARY_PAGE:
            entries += table[row, PAGE_VALUES]
    for c in range(first, columns.shape[0]):
        low = columns[c, COLUMN_FIRST_PAGE]
        high = columns[c, COLUMN_LAST_PAGE]
        if low < 0 or low >= high or high > np.int64(table.shape[0]):
            return np.int64(DECLINED)
        has_dictionary = table[low, PAGE_KIND] == _DICTIONARY_PAGE
        total = np.int64(0)
        unpacked = np.int64(0)
        for row in range(low, high):
            size = table[row, PAGE_UNCOMPRESSED]
            if size < 0 or size > most_bytes - total:
                return np.int64(DECLINED)
            total += size
            encoding = table[row, PAGE_ENCODING]
            if is_packed(encoding):
                if columns[c, COLUMN_SIZE] == 0 or (encoding == DELTA and columns[c, COLUMN_IS_INTEGER] == 0):
                    return np.int64(DECLINED)
                if table[row, PAGE_VALUES] < 0 or table[row, PAGE_VALUES] > most_bytes:
                    return np.int64(DECLINED)
                unpacked += unpacked_room(table[row, PAGE_VALUES], columns[c, COLUMN_SIZE])
                if unpacked > most_bytes:
                    return np.int64(DECLINED)
        if total > columns[c, COLUMN_STORED] * _EXPANSION + _TAG * (high - low):
            return np.int64(DECLINED)
        dictionary = np.int64(0)
        columns[c, COLUMN_ENTRIES] = entries
        if has_dictionary:
            dictionary = table[low, PAGE_UNCOMPRESSED]
            if table[low, PAGE_VALUES] < 0 or table[low, PAGE_VALUES] > dictionary >> 2:  # four bytes an entry at least
                return np.int64(DECLINED)
            if columns[c, COLUMN_SIZE] == 0:
                entries += table[low, PAGE_VALUES]
        columns[c, COLUMN_DICTIONARY] = at
        at = (at + dictionary + SLACK + 7) & ~np.int64(7)  # numbers lie at multiples of their size
        columns[c, COLUMN_DATA] = at
        at = (at + total - dictionary + unpacked + SLACK + 7) & ~np.int64(7)
        columns[c, COLUMN_DATA_END] = at
    return at


@block
def first_body(table, columns, c):
    """The row of a column's first data page."""
    row = columns[c, COLUMN_FIRST_PAGE]
    return row + np.int64(table[row, PAGE_KIND] == _DICTIONARY_PAGE)


@kernel
def narrow_group(
    src, table, columns, tests, order, lows, spans, sieves, bounds, ends, open_ends, check_sums, row_count, left, arena,
    bodies, slices, validity, counts, hit, hits, mask, infos, did, positions,
):  # fmt: skip
    """All tests in their `order` on the candidates of `mask`, of which there are `left`: survivors, or DECLINED.

    `validity` has a row of words per column, `positions` (int32) room for all rows: it receives the survivors.
    """
    words = np.int64(validity.shape[1])
    if np.int64(mask.shape[0]) != row_count or words < ((row_count + 63) >> 6) + 1:
        return np.int64(DECLINED)
    none = validity[0, :0]
    for k in range(order.shape[0]):
        t = order[k]
        c = tests[t, TEST_COLUMN]
        did[t, DID_ROWS_IN] = left
        did[t, DID_ROWS_OUT] = left
        did[t, DID_CYCLES] = 0
        if left == 0:
            continue
        started = cycle_count()
        lows_from, lows_to = tests[t, TEST_LOWS], tests[t, TEST_LOWS + 1]
        ends_from, ends_to = tests[t, TEST_ENDS], tests[t, TEST_ENDS + 1]
        page = columns[c, COLUMN_FIRST_PAGE]
        stop = columns[c, COLUMN_LAST_PAGE]
        body = first_body(table, columns, c)
        at = columns[c, COLUMN_DATA]
        dictionary = arena[columns[c, COLUMN_DICTIONARY] : at]
        data = arena[at : columns[c, COLUMN_DATA_END]]
        nullable = columns[c, COLUMN_NULLABLE] != 0
        valid = none
        if nullable:
            valid = validity[c, :words]
            for w in range(words):
                valid[w] = np.uint64(0)
        entries = table[page, PAGE_VALUES] if body > page else np.int64(0)
        room = np.int64(1)
        while room < entries:
            room <<= 1
        if room > np.int64(hit.shape[0]):
            return np.int64(DECLINED)
        if tests[t, TEST_IS_BYTES]:
            left = narrow_byte_arrays(
                src, table[page:stop], columns[c, COLUMN_CODEC], check_sums, nullable, row_count,
                bounds[tests[t, TEST_DATA] : tests[t, TEST_DATA + 1]], ends[ends_from:ends_to],
                open_ends[ends_from:ends_to], tests[t, TEST_ORDER],
                tests[t, TEST_ASKS], tests[t, TEST_NULL_MATCHES], dictionary, data, bodies[body:stop],
                slices[body:stop], valid, counts, hit[:room], hits, mask, infos[c],
            )  # fmt: skip
        else:
            left = narrow_numbers(
                src, table[page:stop], columns[c, COLUMN_CODEC], check_sums, nullable, row_count,
                columns[c, COLUMN_SIZE], np.uint64(tests[t, TEST_FLIP]), tests[t, TEST_FLOAT_BITS],
                lows[lows_from:lows_to], spans[lows_from:lows_to],
                sieves[tests[t, TEST_SIEVE] : tests[t, TEST_SIEVE + 1]], tests[t, TEST_NULL_MATCHES], dictionary, data,
                bodies[body:stop], slices[body:stop], valid, counts, hit[:room], hits, mask, infos[c],
            )  # fmt: skip
        if left < 0:
            return np.int64(DECLINED)
        did[t, DID_ROWS_OUT] = left
        did[t, DID_CYCLES] = cycle_count() - started
    if left > 0 and list_positions(mask, np.int64(0), row_count, positions) != left:
        return np.int64(DECLINED)
    return left


@kernel
def take_group(
    filtered, put_out, table, columns, outputs, check_sums, row_count, positions, arena, bodies, slices, validity,
    counts, infos, ranks, gathered, out_validity, indexes, codes, numbers_4, numbers_8, entry_starts, starts, lengths,
    out_4, out_8,
):  # fmt: skip
    """The output columns of the survivors at `positions`: OK or DECLINED.

    Numbers go to their place in `out_4` (uint32) and `out_8` (uint64), one column after the other; of byte arrays only
    the places are found, `copy_group` copies them. `filtered` and `put_out` are the bytes of the columns that a test
    has opened and of the others.
    """
    count = np.int64(positions.shape[0])
    words = np.int64(validity.shape[1])
    out_words = np.int64(out_validity.shape[1])
    none = validity[0, :0]
    for o in range(outputs.shape[0]):
        c = outputs[o, OUTPUT_COLUMN]
        page = columns[c, COLUMN_FIRST_PAGE]
        stop = columns[c, COLUMN_LAST_PAGE]
        body = first_body(table, columns, c)
        at = columns[c, COLUMN_DATA]
        dictionary = arena[columns[c, COLUMN_DICTIONARY] : at]
        data = arena[at : columns[c, COLUMN_DATA_END]]
        nullable = columns[c, COLUMN_NULLABLE] != 0
        src = put_out if columns[c, COLUMN_IS_OUTPUT] else filtered
        valid = none
        out_valid = none
        if nullable:
            valid = validity[c, :words]
            out_valid = out_validity[o, :out_words]
            if infos[c, 0] == 0:
                for w in range(words):
                    valid[w] = np.uint64(0)
        size = columns[c, COLUMN_SIZE]
        place = outputs[o, OUTPUT_PLACE] * count
        if size == 0:
            entries = table[page, PAGE_VALUES] if body > page else np.int64(0)
            first = columns[c, COLUMN_ENTRIES]
            total = find_taken_bytes(
                src, table[page:stop], columns[c, COLUMN_CODEC], check_sums, nullable, row_count, positions, dictionary,
                data, bodies[body:stop], slices[body:stop], valid, counts, infos[c], ranks, gathered[body:stop],
                out_valid, indexes, entry_starts[first : first + entries], at - columns[c, COLUMN_DICTIONARY],
                starts[place : place + count], lengths[place : place + count],
            )  # fmt: skip
            if total < 0:
                return np.int64(DECLINED)
            outputs[o, OUTPUT_NULLS] = counts[0]
            outputs[o, OUTPUT_BYTES] = total
            continue
        if size == 4:
            values_4 = numbers_4[:count] if outputs[o, OUTPUT_IS_WIDE] else out_4[place : place + count]
            nulls = take_numbers(
                src, table[page:stop], columns[c, COLUMN_CODEC], check_sums, nullable, row_count, positions, dictionary,
                data, bodies[body:stop], slices[body:stop], valid, counts, infos[c], ranks, gathered[body:stop],
                out_valid, indexes, codes, values_4,
            )  # fmt: skip
        else:
            values_8 = numbers_8[:count] if outputs[o, OUTPUT_IS_WIDE] else out_8[place : place + count]
            nulls = take_numbers(
                src, table[page:stop], columns[c, COLUMN_CODEC], check_sums, nullable, row_count, positions, dictionary,
                data, bodies[body:stop], slices[body:stop], valid, counts, infos[c], ranks, gathered[body:stop],
                out_valid, indexes, codes, values_8,
            )  # fmt: skip
        if nulls < 0:
            return np.int64(DECLINED)
        outputs[o, OUTPUT_NULLS] = nulls
        if outputs[o, OUTPUT_IS_WIDE]:
            bits = np.int64(0)
            for i in range(np.uint64(count)):
                number = np.int64(np.int32(numbers_4[i])) if size == 4 else np.int64(numbers_8[i])
                sign = number >> 63
                bits |= number ^ sign
                out_8[np.uint64(place) + np.uint64(2) * i] = np.uint64(number)
                out_8[np.uint64(place) + np.uint64(2) * i + np.uint64(1)] = np.uint64(sign)
            outputs[o, OUTPUT_BYTES] = bits + 1 if bits < np.int64(2**62) else np.int64(2**63 - 1)
    return np.int64(OK)


@kernel
def copy_group(
    table, columns, outputs, count, arena, infos, gathered, out_validity, entry_starts, starts, lengths, offsets, data
):  # fmt: skip
    """Copy the byte arrays that `take_group` has found, one column after the other: OK or DECLINED.

    `offsets` has count + 1 entries per column, `data` the bytes of each and SLACK behind it.
    """
    used = np.int64(0)
    out_words = np.int64(out_validity.shape[1])
    none = out_validity[0, :0]
    for o in range(outputs.shape[0]):
        c = outputs[o, OUTPUT_COLUMN]
        if columns[c, COLUMN_SIZE] != 0:
            continue
        total = outputs[o, OUTPUT_BYTES]
        if total < 0 or total > np.int64(data.shape[0]) - SLACK - used:
            return np.int64(DECLINED)
        body = first_body(table, columns, c)
        at = columns[c, COLUMN_DATA]
        by_index = infos[c, INFO_ENCODING] == 1
        # PLAIN values count from their pages' start, all others from the dictionary's.
        src = arena[at if infos[c, INFO_ENCODING] == 0 else columns[c, COLUMN_DICTIONARY] : columns[c, COLUMN_DATA_END]]
        place = outputs[o, OUTPUT_PLACE]
        own = offsets[place * (count + 1) : (place + 1) * (count + 1)]
        own[0] = 0
        out = data[used : used + total + SLACK]
        valid = out_validity[o, :out_words] if outputs[o, OUTPUT_NULLS] > 0 else none
        status = copy_byte_arrays(
            src, gathered[body : columns[c, COLUMN_LAST_PAGE]], starts[place * count : (place + 1) * count],
            lengths[place * count : (place + 1) * count], valid, own, out,
        )  # fmt: skip
        if status < 0:
            return np.int64(DECLINED)
        if outputs[o, OUTPUT_IS_TEXT]:
            good = False
            if by_index and infos[c, INFO_DICTIONARY_BYTES] < total:  # fewer bytes to look at
                first = columns[c, COLUMN_ENTRIES]
                entries = infos[c, INFO_ENTRIES]
                good = check_utf8_entries(entry_starts[first : first + entries], entries, src) >= 0
            if not good and check_utf8(own, count, out) < 0:
                return np.int64(DECLINED)
        used += total + SLACK
    return np.int64(OK)


__all__ = ["INFO_FIELDS", "copy_group", "narrow_group", "place_columns", "take_group"]
