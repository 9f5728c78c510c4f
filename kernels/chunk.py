# mypy: ignore-errors
"""One flat column chunk from its compressed bytes to a narrowed mask, or to the values of survivors, in one call.

For the most common chunks, small enough for one window: snappy or no compression, PLAIN and dictionary pages, numbers
also as deltas or byte streams (unpack.py), no checksums to compare. Anything else, and anything malformed, is declined
with a negative status: then the general path does the work again, and says what is wrong. A mask that was narrowed
before a call declined does no harm: narrowing twice is narrowing once.
"""

import numpy as np

from .bits import copy_bytes, load_u32, load_u64
from .byte_stream_split import read_fixed as read_streams
from .compare import INSIDE, in_points, judge_bytes, number_key
from .compiled import block, kernel
from .delta import read_integers
from .dictionary import gather_fixed, read_page_indexes
from .dictionary import read_fixed as read_indexed
from .fused import count_set, test_indexes
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
from .plain import read_fixed as read_plain
from .select import narrow_page, rank_survivors, take_words
from .slices import (
    OUT_START,
    RANK_START,
    ROW_COUNT,
    ROW_START,
    SKIP,
    SLACK,
    SLOTS,
    SRC_END,
    SRC_START,
    STREAM_COUNT,
    TAKE,
)
from .snappy import inflate_block
from .status import CORRUPT, OK
from .tables import (
    PAGE_BODY,
    PAGE_COMPRESSED,
    PAGE_DEF_BYTES,
    PAGE_DEF_ENCODING,
    PAGE_ENCODING,
    PAGE_HAS_CRC,
    PAGE_IS_COMPRESSED,
    PAGE_KIND,
    PAGE_REP_BYTES,
    PAGE_UNCOMPRESSED,
    PAGE_VALUES,
)
from .take import check_ranks, find_byte_arrays, slice_page, take_fixed, take_indexes
from .unpack import DELTA, is_packed, unpack_page

DECLINED = -63  # no status of a page: the general path decides

_DICTIONARY_PAGE = 2
_V2 = 3
_SNAPPY = 1

# What a call leaves for the next one on the same chunk, and for whoever counts.
INFO_OPEN = 0  # 1 once headers are checked and the dictionary is there
INFO_ENTRIES = 1  # of the dictionary; 0 without one
INFO_DICTIONARY_BYTES = 2
INFO_USED = 3  # bytes of the arena
INFO_LOADED = 4  # pages decompressed
INFO_ENCODING = 5  # of all data pages: 1 indexes, 0 values, 2 both
INFO_FIELDS = 6


@block
def inflate_body(src, pos, end, codec, out, start, stop):
    """Decompress or copy src[pos:end] to fill out[start:stop]: OK or a status."""
    if start == stop:
        return np.int64(OK)
    if codec == _SNAPPY:
        return inflate_block(src, pos, end, out, start, stop, stop)
    if end - pos != stop - start:
        return np.int64(CORRUPT)
    copy_bytes(out, start, src, pos, end - pos)
    return np.int64(OK)


@block
def is_index(encoding):
    """Whether pages in this encoding hold indexes into a dictionary."""
    return encoding == 2 or encoding == 8


@block
def open_chunk(src, table, codec, check_sums, nullable, row_count, dictionary, bodies, info):
    """Check all headers, decompress the dictionary page, fill what `bodies` can say before its pages are loaded."""
    first = np.int64(0)
    info[INFO_ENTRIES] = 0
    if table[0, PAGE_KIND] == _DICTIONARY_PAGE:
        first = np.int64(1)
        size = table[0, PAGE_UNCOMPRESSED]
        if (check_sums and table[0, PAGE_HAS_CRC]) or size > np.int64(dictionary.shape[0]) - SLACK:
            return np.int64(DECLINED)
        if table[0, PAGE_ENCODING] != 0 and table[0, PAGE_ENCODING] != 2:
            return np.int64(DECLINED)
        body = table[0, PAGE_BODY]
        if inflate_body(src, body, body + table[0, PAGE_COMPRESSED], codec, dictionary, np.int64(0), size) < 0:
            return np.int64(DECLINED)
        info[INFO_ENTRIES] = table[0, PAGE_VALUES]
        info[INFO_DICTIONARY_BYTES] = size
    pages = np.int64(table.shape[0]) - first
    if pages != bodies.shape[0]:
        return np.int64(DECLINED)
    at = np.int64(0)
    dictionary_pages = np.int64(0)
    for p in range(pages):
        row = first + p
        values = table[row, PAGE_VALUES]
        encoding = table[row, PAGE_ENCODING]
        if table[row, PAGE_KIND] == _DICTIONARY_PAGE or values > row_count - at:
            return np.int64(DECLINED)
        if not (is_index(encoding) or encoding == 0 or is_packed(encoding)):
            return np.int64(DECLINED)
        if check_sums and table[row, PAGE_HAS_CRC]:
            return np.int64(DECLINED)
        if nullable and table[row, PAGE_KIND] != _V2 and table[row, PAGE_DEF_ENCODING] != 3:
            return np.int64(DECLINED)
        dictionary_pages += np.int64(is_index(encoding))
        bodies[p, BODY_START] = -1
        bodies[p, BODY_END] = -1
        bodies[p, BODY_VALUES] = values
        bodies[p, BODY_DEFINITION_BYTES] = table[row, PAGE_DEF_BYTES]
        bodies[p, BODY_REPETITION_BYTES] = table[row, PAGE_REP_BYTES]
        bodies[p, BODY_DEFINITION_ENCODING] = 3
        bodies[p, BODY_REPETITION_ENCODING] = 3
        bodies[p, BODY_FIRST_ROW] = at
        at += values
    if at != row_count or (dictionary_pages > 0 and info[INFO_ENTRIES] <= 0):
        return np.int64(DECLINED)
    info[INFO_ENCODING] = np.int64(1) if dictionary_pages == pages else np.int64(2 * (dictionary_pages > 0))
    info[INFO_USED] = 0
    info[INFO_LOADED] = 0
    info[INFO_OPEN] = 1
    return np.int64(OK)


@block
def load_page(src, table, p, codec, arena, bodies, info):
    """Decompress data page `p` behind those in the arena: OK or DECLINED."""
    row = np.int64(table.shape[0]) - np.int64(bodies.shape[0]) + p
    size = table[row, PAGE_UNCOMPRESSED]
    start = info[INFO_USED]
    if size > np.int64(arena.shape[0]) - SLACK - start:
        return np.int64(DECLINED)
    pos = table[row, PAGE_BODY]
    end = pos + table[row, PAGE_COMPRESSED]
    first = start
    compressed = True
    if table[row, PAGE_KIND] == _V2:
        levels = max(table[row, PAGE_DEF_BYTES], np.int64(0)) + max(table[row, PAGE_REP_BYTES], np.int64(0))
        if levels > size or levels > end - pos:
            return np.int64(DECLINED)
        copy_bytes(arena, start, src, pos, levels)
        pos += levels
        first += levels
        compressed = table[row, PAGE_IS_COMPRESSED] != 0
    if inflate_body(src, pos, end, codec if compressed else np.int64(0), arena, first, start + size) < 0:
        return np.int64(DECLINED)
    bodies[p, BODY_START] = start
    bodies[p, BODY_END] = start + size
    info[INFO_USED] = start + size
    info[INFO_LOADED] += 1
    return np.int64(OK)


@block
def any_set(mask, start, stop):
    """Whether one of mask[start:stop] is set."""
    i = np.int64(start)
    while i < stop:
        end = min(np.int64(stop), i + 1024)
        found = np.uint8(0)
        for j in range(np.uint64(i), np.uint64(end)):
            found |= mask[j]
        if found:
            return True
        i = end
    return False


@block
def decide_page(mask, first, rows, verdict):
    """A page whose rows all have one verdict: how many candidates it keeps."""
    if verdict:
        return count_set(mask, first, rows)
    for i in range(np.uint64(first), np.uint64(first + rows)):
        mask[i] = 0
    return np.int64(0)


@kernel
def narrow_numbers(
    src, table, codec, check_sums, nullable, row_count, itemsize, flip, float_bits, lows, spans, sieve, null_matches,
    dictionary, arena, bodies, slices, validity, counts, hit, hits, mask, info,
):  # fmt: skip
    """A test of numbers of 4 or 8 bytes; `mask` has a byte per row of the row group. Candidates left, or DECLINED.

    `hit` has room for a verdict per entry of the dictionary, up to the next power of two.
    """
    if open_chunk(src, table, codec, check_sums, nullable, row_count, dictionary, bodies, info) < 0:
        return np.int64(DECLINED)
    entries = info[INFO_ENTRIES]
    hit_count = np.int64(0)
    if info[INFO_ENCODING] > 0:
        if entries > info[INFO_DICTIONARY_BYTES] // itemsize or entries > np.int64(hit.shape[0]):
            return np.int64(DECLINED)
        for i in range(entries):
            word = load_u64(dictionary, i * 8) if itemsize == 8 else np.uint64(load_u32(dictionary, i * 4))
            hit[np.uint64(i)] = in_points(number_key(word, flip, float_bits), lows, spans, sieve)
            hit_count += np.int64(hit[np.uint64(i)])
        for i in range(entries, np.int64(hit.shape[0])):
            hit[np.uint64(i)] = 2
    left = np.int64(0)
    for p in range(bodies.shape[0]):
        status = narrow_one(
            src, table, p, codec, nullable, row_count, null_matches, arena, bodies, slices, validity, counts, entries,
            hit, hit_count, hits, mask, info,
        )  # fmt: skip
        if status < 0:
            return np.int64(DECLINED)
        if status == VALUES_LEFT:
            if unpack_one(table, p, itemsize, arena, bodies, slices, info) < 0:
                return np.int64(DECLINED)
            take = slices[p, TAKE]
            pos = slices[p, SRC_START]
            if take > (slices[p, SRC_END] - pos) // itemsize or take > np.int64(hits.shape[0]):
                return np.int64(DECLINED)
            if lows.shape[0] == 1 and float_bits == 0 and itemsize == 8:
                for i in range(take):
                    hits[np.uint64(i)] = np.uint8((load_u64(arena, pos + i * 8) ^ flip) - lows[0] <= spans[0])
            elif lows.shape[0] == 1 and float_bits == 0:
                for i in range(take):
                    word = np.uint64(load_u32(arena, pos + i * 4))
                    hits[np.uint64(i)] = np.uint8((word ^ flip) - lows[0] <= spans[0])
            else:
                for i in range(take):
                    word = load_u64(arena, pos + i * 8) if itemsize == 8 else np.uint64(load_u32(arena, pos + i * 4))
                    hits[np.uint64(i)] = in_points(number_key(word, flip, float_bits), lows, spans, sieve)
            status = and_hits(mask, slices, p, validity, hits, null_matches)
        left += status
    return left


VALUES_LEFT = 1 << 60  # more than any page's candidates: the values of this page are for the caller to test


@block
def is_unpacked(bodies, page, p):
    """Whether the slice `page` of data page `p` points at values that were written out behind its bytes."""
    return page[0, SRC_START] >= bodies[p, BODY_END]


@block
def unpack_one(table, p, itemsize, arena, bodies, slices, info):
    """Make PLAIN numbers of a sliced page that has others; byte arrays (`itemsize` 0) have none. OK or DECLINED."""
    encoding = table[np.int64(table.shape[0]) - np.int64(bodies.shape[0]) + p, PAGE_ENCODING]
    if is_packed(encoding) and not is_unpacked(bodies, slices[p : p + 1], p):
        if itemsize == 0:
            return np.int64(DECLINED)
        used = unpack_page(encoding, itemsize, arena, slices, p, info[INFO_USED])
        if used < 0:
            return np.int64(DECLINED)
        info[INFO_USED] = used
    return np.int64(OK)


@block
def and_hits(mask, slices, p, validity, hits, null_matches):
    """AND hits[0 : TAKE] of one page into the mask: candidates left."""
    row = slices[p, ROW_START]
    rows = slices[p, ROW_COUNT]
    if slices[p, TAKE] < rows:
        return narrow_page(mask, row, rows, validity, hits, np.int64(0), slices[p, TAKE], null_matches)
    left = np.int64(0)
    for i in range(np.uint64(rows)):
        passed = mask[np.uint64(row) + i] & hits[i]
        mask[np.uint64(row) + i] = passed
        left += np.int64(passed)
    return left


@block
def narrow_one(
    src, table, p, codec, nullable, row_count, null_matches, arena, bodies, slices, validity, counts, entries, hit,
    hit_count, hits, mask, info,
):  # fmt: skip
    """One page: loaded if a candidate's verdict is open, and indexes tested. Candidates left, or VALUES_LEFT."""
    first = bodies[p, BODY_FIRST_ROW]
    rows = bodies[p, BODY_VALUES]
    row = np.int64(table.shape[0]) - np.int64(bodies.shape[0]) + p
    has_indexes = is_index(table[row, PAGE_ENCODING])
    slices[p, SRC_START] = 0
    slices[p, SRC_END] = 0
    slices[p, STREAM_COUNT] = 0
    slices[p, SKIP] = 0
    slices[p, TAKE] = 0
    slices[p, OUT_START] = 0
    slices[p, SLOTS] = 0
    slices[p, ROW_START] = first
    slices[p, ROW_COUNT] = rows
    if not any_set(mask, first, first + rows):
        return np.int64(0)
    if has_indexes and hit_count == 0 and null_matches == 0:
        return decide_page(mask, first, rows, False)
    if has_indexes and hit_count == entries and not nullable:
        return decide_page(mask, first, rows, True)
    if load_page(src, table, p, codec, arena, bodies, info) < 0:
        return np.int64(DECLINED)
    zero = np.int64(0)
    if slice_page(arena, bodies, p, nullable, zero, row_count, validity, counts, slices, zero) < 0:
        return np.int64(DECLINED)
    take = slices[p, TAKE]
    if take > np.int64(hits.shape[0]):
        return np.int64(DECLINED)
    if not has_indexes:
        return np.int64(VALUES_LEFT)
    pos = slices[p, SRC_START]
    end = slices[p, SRC_END]
    if take == rows:
        if take > 0 and test_indexes(arena, pos, end, zero, take, entries, hit, mask, first, np.uint64(0)) < 0:
            return np.int64(DECLINED)
        return count_set(mask, first, rows)
    if take > 0 and test_indexes(arena, pos, end, zero, take, entries, hit, hits, zero, ~np.uint64(0)) < 0:
        return np.int64(DECLINED)
    return narrow_page(mask, first, rows, validity, hits, zero, take, null_matches)


@kernel
def narrow_byte_arrays(
    src, table, codec, check_sums, nullable, row_count, bounds, ends, open_ends, order, asks, null_matches,
    dictionary, arena, bodies, slices, validity, counts, hit, hits, mask, info,
):  # fmt: skip
    """As narrow_numbers for byte arrays; bounds as in compare.py."""
    if open_chunk(src, table, codec, check_sums, nullable, row_count, dictionary, bodies, info) < 0:
        return np.int64(DECLINED)
    entries = info[INFO_ENTRIES]
    hit_count = np.int64(0)
    if asks != INSIDE and ends.shape[0] == 0:
        return np.int64(DECLINED)
    if info[INFO_ENCODING] > 0:
        if entries > np.int64(hit.shape[0]):
            return np.int64(DECLINED)
        pos = np.int64(0)
        end = info[INFO_DICTIONARY_BYTES]
        for i in range(entries):
            if end - pos < 4:
                return np.int64(DECLINED)
            length = np.int64(load_u32(dictionary, pos))
            pos += 4
            if length > end - pos:
                return np.int64(DECLINED)
            verdict = judge_bytes(dictionary, pos, length, bounds, ends, open_ends, order, asks)
            hit[np.uint64(i)] = verdict
            hit_count += np.int64(verdict)
            pos += length
        for i in range(entries, np.int64(hit.shape[0])):
            hit[np.uint64(i)] = 2
    left = np.int64(0)
    for p in range(bodies.shape[0]):
        status = narrow_one(
            src, table, p, codec, nullable, row_count, null_matches, arena, bodies, slices, validity, counts, entries,
            hit, hit_count, hits, mask, info,
        )  # fmt: skip
        if status < 0:
            return np.int64(DECLINED)
        if status == VALUES_LEFT:
            if unpack_one(table, p, np.int64(0), arena, bodies, slices, info) < 0:
                return np.int64(DECLINED)
            pos = slices[p, SRC_START]
            end = slices[p, SRC_END]
            for i in range(slices[p, TAKE]):
                if end - pos < 4:
                    return np.int64(DECLINED)
                length = np.int64(load_u32(arena, pos))
                pos += 4
                if length > end - pos:
                    return np.int64(DECLINED)
                hits[np.uint64(i)] = judge_bytes(arena, pos, length, bounds, ends, open_ends, order, asks)
                pos += length
            status = and_hits(mask, slices, p, validity, hits, null_matches)
        left += status
    return left


@block
def load_survivors(
    src, table, codec, check_sums, nullable, row_count, positions, dictionary, arena, bodies, slices, validity, counts,
    info,
):  # fmt: skip
    """Open the chunk, unless a filter has, and load the pages that hold survivors: OK or DECLINED."""
    if info[INFO_OPEN] == 0:
        if open_chunk(src, table, codec, check_sums, nullable, row_count, dictionary, bodies, info) < 0:
            return np.int64(DECLINED)
    at = np.int64(0)
    count = np.int64(positions.shape[0])
    zero = np.int64(0)
    for p in range(bodies.shape[0]):
        first = bodies[p, BODY_FIRST_ROW]
        stop = first + bodies[p, BODY_VALUES]
        wanted = at < count and np.int64(positions[np.uint64(at)]) < stop
        while at < count and np.int64(positions[np.uint64(at)]) < stop:
            at += 1
        if bodies[p, BODY_START] >= 0:
            continue
        slices[p, SRC_START] = 0
        slices[p, SRC_END] = 0
        slices[p, STREAM_COUNT] = 0
        slices[p, SKIP] = 0
        slices[p, TAKE] = 0
        slices[p, SLOTS] = 0
        slices[p, ROW_START] = first
        slices[p, ROW_COUNT] = stop - first
        if wanted:
            if load_page(src, table, p, codec, arena, bodies, info) < 0:
                return np.int64(DECLINED)
            if slice_page(arena, bodies, p, nullable, zero, row_count, validity, counts, slices, zero) < 0:
                return np.int64(DECLINED)
    return np.int64(OK)


@block
def take_all_indexes(src, gathered, ranks, entry_count, codes, out):
    """As take_indexes, by way of `codes` (int32), which has room for all indexes of a page."""
    done = np.int64(0)
    for row in range(gathered.shape[0]):
        take = gathered[row, TAKE]
        if take == 0:
            continue
        first = gathered[row, RANK_START]
        if not check_ranks(gathered, row, ranks) or take > np.int64(out.shape[0]) - done:
            return np.int64(DECLINED)
        needed = np.int64(ranks[first + take - 1]) + 1
        if needed > np.int64(codes.shape[0]):
            return np.int64(DECLINED)
        pos = gathered[row, SRC_START]
        zero = np.int64(0)
        status = read_page_indexes(src, pos, gathered[row, SRC_END], zero, needed, entry_count, codes, zero)
        if status < 0:
            return np.int64(DECLINED)
        for i in range(np.uint64(take)):
            rank = np.uint64(np.uint32(ranks[np.uint64(first) + i]))
            out[np.uint64(done) + i] = codes[rank]
        done += take
    return done


@block
def is_index_page(table, gathered, p):
    """Whether data page `p` holds indexes, by the table of headers, which may begin with the dictionary's."""
    return is_index(table[np.int64(table.shape[0]) - np.int64(gathered.shape[0]) + p, PAGE_ENCODING])


@block
def take_whole_page(table, p, bodies, dictionary, arena, gathered, entries, validity, indexes, out):
    """The numbers of a page all of whose rows are wanted: decoded to their slots in one go. OK or a status."""
    page = gathered[p : p + 1]
    page[0, SKIP] = 0
    at = page[0, OUT_START]
    if at < 0 or page[0, SLOTS] > np.int64(out.shape[0]) - at or page[0, TAKE] != page[0, STREAM_COUNT]:
        return np.int64(DECLINED)
    encoding = table[np.int64(table.shape[0]) - np.int64(gathered.shape[0]) + p, PAGE_ENCODING]
    if is_index(encoding):
        known = dictionary[: entries * np.int64(out.itemsize)].view(out.dtype)
        return read_indexed(arena, page, validity, known, indexes, out)
    if is_packed(encoding) and not is_unpacked(bodies, page, p):
        if encoding == DELTA:
            return read_integers(arena, page, validity, out)
        return read_streams(arena, page, validity, out)
    return read_plain(arena, page, validity, out)


@block
def take_indexed(p, bodies, dictionary, arena, gathered, ranks, entries, validity, indexes, codes, out):
    """The listed numbers of a page of indexes, at their slots: OK or a status."""
    page = gathered[p : p + 1]
    at = page[0, OUT_START]
    take = page[0, TAKE]
    slots = page[0, SLOTS]
    if at < 0 or slots > np.int64(out.shape[0]) - at or take >= np.int64(indexes.shape[0]):
        return np.int64(DECLINED)
    if slots * 4 > bodies[p, BODY_VALUES] and bodies[p, BODY_VALUES] <= np.int64(codes.shape[0]):
        # Many survivors: all indexes of the page are unpacked first, in vector code.
        found = take_all_indexes(arena, page, ranks, entries, codes, indexes)
    else:
        found = take_indexes(arena, page, ranks, entries, indexes)
    if found != take:
        return np.int64(DECLINED)
    known = dictionary[: entries * np.int64(out.itemsize)].view(out.dtype)
    own = out[at : at + slots]
    if take == slots:
        return take_words(known, indexes[:take], own)
    indexes[take] = indexes[take - 1]
    return gather_fixed(indexes[: take + 1], validity, at, known, own)


@kernel
def take_numbers(
    src, table, codec, check_sums, nullable, row_count, positions, dictionary, arena, bodies, slices, validity, counts,
    info, ranks, gathered, out_validity, indexes, codes, out,
):  # fmt: skip
    """The numbers (`out` uint32 or uint64) of the rows at `positions`; returns the nulls among them, or DECLINED."""
    status = load_survivors(
        src, table, codec, check_sums, nullable, row_count, positions, dictionary, arena, bodies, slices, validity,
        counts, info,
    )  # fmt: skip
    if status < 0:
        return np.int64(DECLINED)
    nulls = rank_survivors(positions, slices, validity, ranks, out_validity, gathered)
    if nulls < 0:
        return np.int64(DECLINED)
    entries = info[INFO_ENTRIES]
    if info[INFO_ENCODING] > 0 and entries > info[INFO_DICTIONARY_BYTES] // np.int64(out.itemsize):
        return np.int64(DECLINED)
    for p in range(gathered.shape[0]):
        if gathered[p, TAKE] == 0:
            continue
        if gathered[p, SLOTS] == bodies[p, BODY_VALUES]:
            status = take_whole_page(table, p, bodies, dictionary, arena, gathered, entries, out_validity, indexes, out)
        elif is_index_page(table, gathered, p):
            status = take_indexed(
                p, bodies, dictionary, arena, gathered, ranks, entries, out_validity, indexes, codes, out
            )
        else:
            if unpack_one(table, p, np.int64(out.itemsize), arena, bodies, slices, info) < 0:
                return np.int64(DECLINED)
            gathered[p, SRC_START] = slices[p, SRC_START]
            gathered[p, SRC_END] = slices[p, SRC_END]
            status = take_fixed(arena, gathered[p : p + 1], ranks, out_validity, out)
        if status < 0:
            return np.int64(DECLINED)
    return nulls


@kernel
def find_taken_bytes(
    src, table, codec, check_sums, nullable, row_count, positions, dictionary, arena, bodies, slices, validity, counts,
    info, ranks, gathered, out_validity, indexes, entry_starts, shift, starts, lengths,
):  # fmt: skip
    """Where the byte arrays of the rows at `positions` lie, in dictionary or arena: their bytes, or DECLINED.

    `counts[0]` becomes the number of nulls. `entry_starts` (int32) has room for the place of every entry. Where pages
    of both kinds are mixed, all count from the dictionary's start, `shift` bytes before the arena; -1 declines those.
    """
    status = load_survivors(
        src, table, codec, check_sums, nullable, row_count, positions, dictionary, arena, bodies, slices, validity,
        counts, info,
    )  # fmt: skip
    if status < 0 or (info[INFO_ENCODING] == 2 and shift < 0):
        return np.int64(DECLINED)
    for p in range(bodies.shape[0]):
        if unpack_one(table, p, np.int64(0), arena, bodies, slices, info) < 0:  # no byte arrays in such pages
            return np.int64(DECLINED)
    nulls = rank_survivors(positions, slices, validity, ranks, out_validity, gathered)
    if nulls < 0:
        return np.int64(DECLINED)
    counts[0] = nulls
    if info[INFO_ENCODING] == 0:
        return find_byte_arrays(arena, gathered, ranks, starts, lengths)
    entries = info[INFO_ENTRIES]
    if entries > np.int64(entry_starts.shape[0]):
        return np.int64(DECLINED)
    pos = np.int64(0)
    end = info[INFO_DICTIONARY_BYTES]
    for i in range(entries):
        if end - pos < 4:
            return np.int64(DECLINED)
        length = np.int64(load_u32(dictionary, pos))
        if length > end - pos - 4:
            return np.int64(DECLINED)
        entry_starts[np.uint64(i)] = pos
        pos += 4 + length
    total = np.int64(0)
    done = np.int64(0)
    step = np.int64(gathered.shape[0]) if info[INFO_ENCODING] == 1 else np.int64(1)
    for p in range(0, np.int64(gathered.shape[0]), step):
        pages = gathered[p : p + step]
        if info[INFO_ENCODING] == 2 and not is_index_page(table, gathered, p):
            size = find_byte_arrays(arena, pages, ranks, starts[done:], lengths[done:])
            if size < 0:
                return np.int64(DECLINED)
            for i in range(done, done + pages[0, TAKE]):
                starts[np.uint64(i)] += shift
            total += size
            done += pages[0, TAKE]
            continue
        found = take_indexes(arena, pages, ranks, entries, indexes)
        if found < 0 or found > np.int64(starts.shape[0]) - done or found > np.int64(lengths.shape[0]) - done:
            return np.int64(DECLINED)
        for i in range(found):
            start = np.int64(entry_starts[np.uint64(indexes[np.uint64(i)])])
            length = np.int64(load_u32(dictionary, start))
            starts[np.uint64(done + i)] = start + 4
            lengths[np.uint64(done + i)] = np.int32(length)
            total += length
        done += found
    return total
