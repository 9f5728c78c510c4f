# mypy: ignore-errors
"""A few pages of each column of a row group, chosen by their offset indexes: one test, then the rows that it leaves.

As group.py, for look-ups: pages of a column need not follow one another, those of two columns need not start at the
same rows, and of a dictionary no more is decompressed than the entries that somebody names. Anything unusual, and
anything malformed, is declined with a negative status: then the general path does the work again, and says what is
wrong.
"""

import numpy as np

from .bits import load_u32, load_u64
from .chunk import (
    DECLINED,
    INFO_DICTIONARY_BYTES,
    INFO_ENCODING,
    INFO_ENTRIES,
    INFO_LOADED,
    INFO_OPEN,
    INFO_USED,
    inflate_body,
    load_page,
    load_survivors,
)
from .compare import bytes_equal, bytes_inside, in_points, number_key
from .compiled import block, kernel
from .dictionary import read_page_indexes
from .group import (
    COLUMN_CODEC,
    COLUMN_DATA,
    COLUMN_DATA_END,
    COLUMN_DICTIONARY,
    COLUMN_FIRST_PAGE,
    COLUMN_IS_OUTPUT,
    COLUMN_LAST_PAGE,
    COLUMN_NULLABLE,
    COLUMN_SIZE,
    OUTPUT_BYTES,
    OUTPUT_COLUMN,
    OUTPUT_IS_WIDE,
    OUTPUT_NULLS,
    OUTPUT_PLACE,
    first_body,
)
from .levels import (
    BODY_DEFINITION_BYTES,
    BODY_DEFINITION_ENCODING,
    BODY_END,
    BODY_FIRST_ROW,
    BODY_REPETITION_BYTES,
    BODY_REPETITION_ENCODING,
    BODY_START,
    BODY_VALUES,
)
from .select import bit_at, rank_survivors
from .slices import OUT_START, RANK_START, ROW_COUNT, ROW_START, SLACK, SLOTS, SRC_END, SRC_START, TAKE
from .snappy import inflate_block
from .spread import spread_values
from .status import OK
from .tables import (
    PAGE_BODY,
    PAGE_COMPRESSED,
    PAGE_DEF_BYTES,
    PAGE_DEF_ENCODING,
    PAGE_ENCODING,
    PAGE_HAS_CRC,
    PAGE_KIND,
    PAGE_REP_BYTES,
    PAGE_UNCOMPRESSED,
    PAGE_VALUES,
)
from .take import find_byte_arrays, slice_page, take_fixed, take_indexes

# Rows of a page, beside its header in the table: those that the offset index gives it.
PAGE_FIRST_ROW = 0
PAGE_STOP_ROW = 1
PAGE_ROW_FIELDS = 2

_DICTIONARY_PAGE = 2
_V2 = 3
_SNAPPY = 1
_MARGIN = 4096  # bytes of a dictionary beyond where its entries are guessed to end


@block
def open_pages(table, page_rows, check_sums, nullable, row_count, dictionary, bodies, info):
    """Check the headers of one column's pages, fill what `bodies` can say before they are loaded: OK or DECLINED.

    INFO_OPEN becomes 1 and the bytes of the dictionary that are there, which are none as yet.
    """
    first = np.int64(0)
    info[INFO_ENTRIES] = 0
    info[INFO_DICTIONARY_BYTES] = 0
    if table[0, PAGE_KIND] == _DICTIONARY_PAGE:
        first = np.int64(1)
        size = table[0, PAGE_UNCOMPRESSED]
        if (check_sums and table[0, PAGE_HAS_CRC]) or size > np.int64(dictionary.shape[0]) - SLACK:
            return np.int64(DECLINED)
        if table[0, PAGE_ENCODING] != 0 and table[0, PAGE_ENCODING] != 2:
            return np.int64(DECLINED)
        info[INFO_ENTRIES] = table[0, PAGE_VALUES]
        info[INFO_DICTIONARY_BYTES] = size
    pages = np.int64(table.shape[0]) - first
    if pages != np.int64(bodies.shape[0]) or page_rows.shape[0] != table.shape[0]:
        return np.int64(DECLINED)
    at = np.int64(0)
    for p in range(pages):
        row = first + p
        values = table[row, PAGE_VALUES]
        encoding = table[row, PAGE_ENCODING]
        is_index = encoding == 2 or encoding == 8
        if table[row, PAGE_KIND] == _DICTIONARY_PAGE or not (is_index or encoding == 0):
            return np.int64(DECLINED)
        if page_rows[row, PAGE_FIRST_ROW] < at or page_rows[row, PAGE_STOP_ROW] > row_count:
            return np.int64(DECLINED)
        if values <= 0 or values != page_rows[row, PAGE_STOP_ROW] - page_rows[row, PAGE_FIRST_ROW]:
            return np.int64(DECLINED)
        if check_sums and table[row, PAGE_HAS_CRC]:
            return np.int64(DECLINED)
        if nullable and table[row, PAGE_KIND] != _V2 and table[row, PAGE_DEF_ENCODING] != 3:
            return np.int64(DECLINED)
        bodies[p, BODY_START] = -1
        bodies[p, BODY_END] = -1
        bodies[p, BODY_VALUES] = values
        bodies[p, BODY_DEFINITION_BYTES] = table[row, PAGE_DEF_BYTES]
        bodies[p, BODY_REPETITION_BYTES] = table[row, PAGE_REP_BYTES]
        bodies[p, BODY_DEFINITION_ENCODING] = 3
        bodies[p, BODY_REPETITION_ENCODING] = 3
        bodies[p, BODY_FIRST_ROW] = page_rows[row, PAGE_FIRST_ROW]
        at = page_rows[row, PAGE_STOP_ROW]
    info[INFO_ENCODING] = 2  # byte arrays of both kinds of pages are counted from the dictionary's start
    info[INFO_USED] = 0
    info[INFO_LOADED] = 0
    info[INFO_OPEN] = 1
    return np.int64(OK)


@block
def inflate_entries(src, table, codec, dictionary, info, needed):
    """Have at least the first `needed` bytes of the dictionary: OK or DECLINED."""
    size = info[INFO_DICTIONARY_BYTES]
    if needed < 0 or needed > size:
        return np.int64(DECLINED)
    if needed < info[INFO_OPEN]:
        return np.int64(OK)
    body = table[0, PAGE_BODY]
    end = body + table[0, PAGE_COMPRESSED]
    if codec == _SNAPPY and needed < size - (size >> 2):
        if inflate_block(src, body, end, dictionary, np.int64(0), size, needed) < 0:
            return np.int64(DECLINED)
        info[INFO_OPEN] = 1 + needed
        return np.int64(OK)
    if inflate_body(src, body, end, codec, dictionary, np.int64(0), size) < 0:
        return np.int64(DECLINED)
    info[INFO_OPEN] = 1 + size
    return np.int64(OK)


@block
def list_entries(src, table, codec, dictionary, info, last, entry_starts):
    """Where the byte arrays up to entry `last` start in the dictionary, each with its length first: OK or DECLINED."""
    size = info[INFO_DICTIONARY_BYTES]
    if last < 0 or last >= info[INFO_ENTRIES] or last >= np.int64(entry_starts.shape[0]):
        return np.int64(DECLINED)
    # Where the last one ends is a guess: entries differ in length. Both factors are below 2**31.
    guess = size * (last + 1) // info[INFO_ENTRIES]
    if inflate_entries(src, table, codec, dictionary, info, min(size, guess + (guess >> 3) + _MARGIN)) < 0:
        return np.int64(DECLINED)
    known = info[INFO_OPEN] - 1
    pos = np.int64(0)
    for i in range(last + 1):
        length = np.int64(load_u32(dictionary, pos)) if known - pos >= 4 else known
        if length > known - pos - 4:
            if known == size or inflate_entries(src, table, codec, dictionary, info, size) < 0:
                return np.int64(DECLINED)
            known = size
            if known - pos < 4:
                return np.int64(DECLINED)
            length = np.int64(load_u32(dictionary, pos))
            if length > known - pos - 4:
                return np.int64(DECLINED)
        entry_starts[np.uint64(i)] = pos
        pos += 4 + length
    return np.int64(OK)


@kernel
def find_rows(
    src, table, page_rows, columns, rows, is_bytes, null_matches, flip, float_bits, lows, spans, sieve, bounds, ends,
    open_ends, order, single, check_sums, row_count, arena, bodies, slices, validity, counts, codes, hit, entry_starts,
    infos, positions,
):  # fmt: skip
    """A test on pages of column 0: `positions` (int32) of those among the candidates that pass, or DECLINED.

    Candidates are `rows` (first, behind the last), rising. `codes` (int32) and `positions` have room for all rows of
    the pages, `hit` and `entry_starts` for all entries of the dictionary, `validity` for all rows of the row group.
    """
    zero = np.int64(0)
    codec = columns[0, COLUMN_CODEC]
    nullable = columns[0, COLUMN_NULLABLE] != 0
    size = columns[0, COLUMN_SIZE]
    headers = table[columns[0, COLUMN_FIRST_PAGE] : columns[0, COLUMN_LAST_PAGE]]
    chosen = page_rows[columns[0, COLUMN_FIRST_PAGE] : columns[0, COLUMN_LAST_PAGE]]
    body = first_body(table, columns, 0)
    own_bodies = bodies[body : columns[0, COLUMN_LAST_PAGE]]
    own_slices = slices[body : columns[0, COLUMN_LAST_PAGE]]
    at = columns[0, COLUMN_DATA]
    dictionary = arena[columns[0, COLUMN_DICTIONARY] : at]
    data = arena[at : columns[0, COLUMN_DATA_END]]
    info = infos[0]
    words = np.int64(validity.shape[1])
    if words < ((row_count + 63) >> 6) + 1:
        return np.int64(DECLINED)
    valid = validity[0, :0]
    if nullable:
        valid = validity[0, :words]
        for w in range(words):
            valid[w] = np.uint64(0)
    if open_pages(headers, chosen, check_sums, nullable, row_count, dictionary, own_bodies, info) < 0:
        return np.int64(DECLINED)
    entries = info[INFO_ENTRIES]
    if entries > np.int64(hit.shape[0]):
        return np.int64(DECLINED)

    # All pages first: which entries they name is how far the dictionary is decompressed.
    first_header = np.int64(headers.shape[0]) - np.int64(own_bodies.shape[0])
    used = np.int64(0)
    lowest = np.int64(2**62)
    highest = np.int64(-1)
    for p in range(own_bodies.shape[0]):
        if load_page(src, headers, p, codec, data, own_bodies, info) < 0:
            return np.int64(DECLINED)
        if slice_page(data, own_bodies, p, nullable, zero, row_count, valid, counts, own_slices, zero) < 0:
            return np.int64(DECLINED)
        if headers[first_header + p, PAGE_ENCODING] == 0:
            continue
        take = own_slices[p, TAKE]
        if take > np.int64(codes.shape[0]) - used:
            return np.int64(DECLINED)
        pos = own_slices[p, SRC_START]
        if read_page_indexes(data, pos, own_slices[p, SRC_END], zero, take, entries, codes, used) < 0:
            return np.int64(DECLINED)
        low = np.int32(2**31 - 1)
        high = np.int32(-1)
        for i in range(np.uint64(used), np.uint64(used + take)):
            low = min(low, codes[i])
            high = max(high, codes[i])
        lowest = min(lowest, np.int64(low))
        highest = max(highest, np.int64(high))
        used += take

    if highest >= 0:
        if lowest < 0 or highest >= entries:
            return np.int64(DECLINED)
        if is_bytes:
            if list_entries(src, headers, codec, dictionary, info, highest, entry_starts) < 0:
                return np.int64(DECLINED)
            for i in range(lowest, highest + 1):
                pos = np.int64(entry_starts[np.uint64(i)])
                length = np.int64(load_u32(dictionary, pos))
                if single:
                    hit[np.uint64(i)] = bytes_equal(dictionary, pos + 4, length, bounds, ends[0])
                else:
                    hit[np.uint64(i)] = bytes_inside(dictionary, pos + 4, length, bounds, ends, open_ends, order)
        else:
            if highest + 1 > info[INFO_DICTIONARY_BYTES] // size:
                return np.int64(DECLINED)
            if inflate_entries(src, headers, codec, dictionary, info, (highest + 1) * size) < 0:
                return np.int64(DECLINED)
            for i in range(lowest, highest + 1):
                word = load_u64(dictionary, i * 8) if size == 8 else np.uint64(load_u32(dictionary, i * 4))
                hit[np.uint64(i)] = in_points(number_key(word, flip, float_bits), lows, spans, sieve)

    found = np.int64(0)
    part = np.int64(0)
    used = np.int64(0)
    for p in range(own_bodies.shape[0]):
        first = own_slices[p, ROW_START]
        count = own_slices[p, ROW_COUNT]
        take = own_slices[p, TAKE]
        pos = own_slices[p, SRC_START]
        end = own_slices[p, SRC_END]
        is_index = headers[first_header + p, PAGE_ENCODING] != 0
        if not is_index and not is_bytes and take > (end - pos) // size:
            return np.int64(DECLINED)
        rank = np.int64(0)
        for i in range(count):
            row = first + i
            verdict = np.int64(null_matches)
            if take == count or bit_at(valid, row):
                if is_index:
                    verdict = np.int64(hit[np.uint64(codes[np.uint64(used + rank)])])
                elif is_bytes:
                    if end - pos < 4:
                        return np.int64(DECLINED)
                    length = np.int64(load_u32(data, pos))
                    pos += 4
                    if length > end - pos:
                        return np.int64(DECLINED)
                    if single:
                        verdict = np.int64(bytes_equal(data, pos, length, bounds, ends[0]))
                    else:
                        verdict = np.int64(bytes_inside(data, pos, length, bounds, ends, open_ends, order))
                    pos += length
                else:
                    at = pos + rank * size
                    word = load_u64(data, at) if size == 8 else np.uint64(load_u32(data, at))
                    verdict = np.int64(in_points(number_key(word, flip, float_bits), lows, spans, sieve))
                rank += 1
            if verdict:
                while part < rows.shape[0] and rows[part, 1] <= row:
                    part += 1
                if part < rows.shape[0] and rows[part, 0] <= row:
                    if found >= np.int64(positions.shape[0]):
                        return np.int64(DECLINED)
                    positions[np.uint64(found)] = np.int32(row)
                    found += 1
        if is_index:
            used += take
    return found


@block
def name_entries(headers, data, gathered, ranks, entries, indexes):
    """Entries that survivors name, page by page from RANK_START on: the highest, -1 for none, or DECLINED."""
    highest = np.int64(-1)
    first_header = np.int64(headers.shape[0]) - np.int64(gathered.shape[0])
    for p in range(gathered.shape[0]):
        take = gathered[p, TAKE]
        if take == 0 or headers[first_header + p, PAGE_ENCODING] == 0:
            continue
        at = gathered[p, RANK_START]
        if at < 0 or take > np.int64(indexes.shape[0]) - at:
            return np.int64(DECLINED)
        if take_indexes(data, gathered[p : p + 1], ranks, entries, indexes[at : at + take]) != take:
            return np.int64(DECLINED)
        for i in range(at, at + take):
            highest = max(highest, np.int64(indexes[np.uint64(i)]))
    return highest


@block
def take_numbers(src, headers, codec, dictionary, data, info, gathered, ranks, out_valid, indexes, out):
    """The survivors' numbers at their slots of `out` (uint32 or uint64): OK or DECLINED."""
    size = np.int64(out.itemsize)
    highest = name_entries(headers, data, gathered, ranks, info[INFO_ENTRIES], indexes)
    if highest < -1 or highest + 1 > info[INFO_DICTIONARY_BYTES] // size:
        return np.int64(DECLINED)
    if highest >= 0 and inflate_entries(src, headers, codec, dictionary, info, (highest + 1) * size) < 0:
        return np.int64(DECLINED)
    first_header = np.int64(headers.shape[0]) - np.int64(gathered.shape[0])
    for p in range(gathered.shape[0]):
        take = gathered[p, TAKE]
        if take == 0:
            continue
        if headers[first_header + p, PAGE_ENCODING] == 0:
            if take_fixed(data, gathered[p : p + 1], ranks, out_valid, out) < 0:
                return np.int64(DECLINED)
            continue
        at = gathered[p, OUT_START]
        first = gathered[p, RANK_START]
        if at < 0 or gathered[p, SLOTS] > np.int64(out.shape[0]) - at or take > gathered[p, SLOTS]:
            return np.int64(DECLINED)
        for i in range(take):
            index = np.int64(indexes[np.uint64(first + i)])
            if size == 8:
                out[np.uint64(at + i)] = load_u64(dictionary, index * 8)
            else:
                out[np.uint64(at + i)] = load_u32(dictionary, index * 4)
        if take < gathered[p, SLOTS]:
            spread_values(out, at, gathered[p, SLOTS], take, out_valid)
    return np.int64(OK)


@block
def find_bytes(
    src, headers, codec, dictionary, data, shift, info, gathered, ranks, indexes, entry_starts, starts, lengths
):
    """Where the survivors' byte arrays lie, counted from the dictionary's start: their bytes, or DECLINED.

    `shift` is how far the data pages lie behind the dictionary's start.
    """
    highest = name_entries(headers, data, gathered, ranks, info[INFO_ENTRIES], indexes)
    if highest < -1:
        return np.int64(DECLINED)
    if highest >= 0 and list_entries(src, headers, codec, dictionary, info, highest, entry_starts) < 0:
        return np.int64(DECLINED)
    first_header = np.int64(headers.shape[0]) - np.int64(gathered.shape[0])
    total = np.int64(0)
    for p in range(gathered.shape[0]):
        take = gathered[p, TAKE]
        if take == 0:
            continue
        at = gathered[p, RANK_START]
        if at < 0 or take > np.int64(starts.shape[0]) - at:
            return np.int64(DECLINED)
        if headers[first_header + p, PAGE_ENCODING] == 0:
            size = find_byte_arrays(data, gathered[p : p + 1], ranks, starts[at : at + take], lengths[at : at + take])
            if size < 0:
                return np.int64(DECLINED)
            for i in range(at, at + take):
                starts[np.uint64(i)] += shift
            total += size
            continue
        for i in range(at, at + take):
            start = np.int64(entry_starts[np.uint64(indexes[np.uint64(i)])])
            length = np.int64(load_u32(dictionary, start))
            starts[np.uint64(i)] = start + 4
            lengths[np.uint64(i)] = np.int32(length)
            total += length
    return total


@kernel
def take_rows(
    filtered, put_out, table, page_rows, columns, outputs, check_sums, row_count, positions, arena, bodies, slices,
    validity, counts, infos, ranks, gathered, out_validity, indexes, numbers_4, numbers_8, entry_starts, starts,
    lengths, out_4, out_8,
):  # fmt: skip
    """The output columns of the rows at `positions`: OK or DECLINED. Arguments as in `group.take_group`.

    `entry_starts` (int32) is for one column at a time; group.copy_group copies the byte arrays that were found.
    """
    count = np.int64(positions.shape[0])
    words = np.int64(validity.shape[1])
    out_words = np.int64(out_validity.shape[1])
    none = validity[0, :0]
    if words < ((row_count + 63) >> 6) + 1 or np.int64(infos.shape[0]) != np.int64(columns.shape[0]):
        return np.int64(DECLINED)
    for o in range(outputs.shape[0]):
        c = outputs[o, OUTPUT_COLUMN]
        page = columns[c, COLUMN_FIRST_PAGE]
        stop = columns[c, COLUMN_LAST_PAGE]
        body = first_body(table, columns, c)
        at = columns[c, COLUMN_DATA]
        headers = table[page:stop]
        codec = columns[c, COLUMN_CODEC]
        dictionary = arena[columns[c, COLUMN_DICTIONARY] : at]
        data = arena[at : columns[c, COLUMN_DATA_END]]
        nullable = columns[c, COLUMN_NULLABLE] != 0
        src = put_out if columns[c, COLUMN_IS_OUTPUT] else filtered
        own = gathered[body:stop]
        valid = none
        out_valid = none
        if nullable:
            valid = validity[c, :words]
            out_valid = out_validity[o, :out_words]
        if infos[c, INFO_OPEN] == 0:
            for w in range(valid.shape[0]):
                valid[w] = np.uint64(0)
            if open_pages(
                headers, page_rows[page:stop], check_sums, nullable, row_count, dictionary, bodies[body:stop], infos[c]
            ) < 0:  # fmt: skip
                return np.int64(DECLINED)
        status = load_survivors(
            src, headers, codec, check_sums, nullable, row_count, positions, dictionary, data, bodies[body:stop],
            slices[body:stop], valid, counts, infos[c],
        )  # fmt: skip
        if status < 0:
            return np.int64(DECLINED)
        nulls = rank_survivors(positions, slices[body:stop], valid, ranks, out_valid, own)
        if nulls < 0:
            return np.int64(DECLINED)
        outputs[o, OUTPUT_NULLS] = nulls
        size = columns[c, COLUMN_SIZE]
        place = outputs[o, OUTPUT_PLACE] * count
        if size == 0:
            total = find_bytes(
                src, headers, codec, dictionary, data, at - columns[c, COLUMN_DICTIONARY], infos[c], own, ranks,
                indexes, entry_starts, starts[place : place + count], lengths[place : place + count],
            )  # fmt: skip
            if total < 0:
                return np.int64(DECLINED)
            outputs[o, OUTPUT_BYTES] = total
            continue
        is_wide = outputs[o, OUTPUT_IS_WIDE] != 0
        if size == 4:
            values_4 = numbers_4[:count] if is_wide else out_4[place : place + count]
            status = take_numbers(
                src, headers, codec, dictionary, data, infos[c], own, ranks, out_valid, indexes, values_4
            )
        else:
            values_8 = numbers_8[:count] if is_wide else out_8[place : place + count]
            status = take_numbers(
                src, headers, codec, dictionary, data, infos[c], own, ranks, out_valid, indexes, values_8
            )
        if status < 0:
            return np.int64(DECLINED)
        if is_wide:
            bits = np.int64(0)
            for i in range(np.uint64(count)):
                number = np.int64(np.int32(numbers_4[i])) if size == 4 else np.int64(numbers_8[i])
                sign = number >> 63
                bits |= number ^ sign
                out_8[np.uint64(place) + np.uint64(2) * i] = np.uint64(number)
                out_8[np.uint64(place) + np.uint64(2) * i + np.uint64(1)] = np.uint64(sign)
            outputs[o, OUTPUT_BYTES] = bits + 1 if bits < np.int64(2**62) else np.int64(2**63 - 1)
    return np.int64(OK)
