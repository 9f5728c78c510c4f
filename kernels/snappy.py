# mypy: ignore-errors
"""Raw snappy blocks -> bytes, for all pages of a column in one call.

One call per column instead of one per page: the interpreter lock is given away once, and two threads rarely meet there.
A block is its decompressed size as a varint, then elements: literals, and copies from up to 2**32 bytes before. Bytes
are moved 8 and 16 at a time and may run over the end of an element, never over the end of the page: the pages of a
column lie side by side.
"""

import numpy as np

from .bits import copy_16, copy_bytes, load_u32, load_u64, move_16, move_32, read_varint, store_u64
from .compiled import block, fail, kernel
from .slices import SLACK
from .status import BAD_COUNT, CORRUPT, OK, OUTPUT_FULL, TRUNCATED

# Columns of the table of pages; all int64, checked by the caller to lie inside `src` and `out`.
IN_START = 0
IN_END = 1
OUT_START = 2
OUT_END = 3
INFLATE_FIELDS = 4

_SPARE = 80  # an element's bytes (64 at most) and what moves of 8 and 16 bytes may run over


def _element_table():
    """Per tag byte: the length (8 bits), bits 8..10 of a copy's distance, the bits that follow the tag (from bit 11).

    Literals that store their length apart have one that no element of the fast loop has.
    """
    table = np.zeros(256, np.uint32)
    for tag in range(256):
        kind, length, high, extra = tag & 3, (tag >> 2) + 1, 0, 0
        if kind == 0 and length > 60:
            length = 255
        elif kind == 1:
            length, high, extra = ((tag >> 2) & 7) + 4, tag >> 5, 1
        elif kind > 1:
            extra = 2 if kind == 2 else 4
        table[tag] = length | (high << 8) | (extra * 8 << 11)
    return table


_ELEMENTS = _element_table()
_STEP = 32 << 10  # bytes by which a page goes on whose values have lengths of their own
_SAMPLE = 64  # elements that show what a block holds


@block
def holds_numbers(src, pos, safe_in):
    """Whether a third of a block's first elements are short literals: then it is best read in pairs."""
    seen = np.int64(0)
    short = np.int64(0)
    while seen < _SAMPLE and pos < safe_in:
        tag = np.int64(src[np.uint64(pos)])
        kind = tag & 3
        if kind == 0:
            if tag >= 240:  # a long literal, whose length comes in bytes of its own
                break
            pos += (tag >> 2) + 2
            short += np.int64(tag <= 12)
        else:
            pos += np.int64(5) if kind == 3 else kind + 1
        seen += 1
    return 3 * short > seen


@block
def inflate_pairs(src, pos, end, out, start, at, safe_in, safe_out):
    """Elements as blocks of numbers have them, as far as they are short: the next positions in `src` and `out`.

    A few low bytes, then a copy of the high ones: `word` has both elements, so that the next tag waits for one load
    instead of two (prices: 5.3 ns for the two instead of 7.9).
    """
    while pos < safe_in and at < safe_out:
        word = load_u64(src, pos)
        tag = word & np.uint64(0xFF)
        if tag & np.uint64(3) == np.uint64(0):
            length = np.int64(tag >> np.uint64(2)) + 1
            if length > 16 or length >= end - pos:
                break
            if length > 4:
                copy_16(out, at, src, pos + 1)
                at += length
                pos += length + 1
                continue
            store_u64(out, at, word >> np.uint64(8))
            at += length
            pos += length + 1
            word >>= tag * np.uint64(2) + np.uint64(16)  # past the tag and the literal
            tag = word & np.uint64(0xFF)
        kind = np.int64(tag & np.uint64(3))
        if pos >= end or kind == 3:
            break
        if kind == 0:
            continue
        entry = np.uint64(_ELEMENTS[tag])
        length = np.int64(entry & np.uint64(0xFF))
        low = (word >> np.uint64(8)) & (np.uint64(0xFFFF) >> np.uint64(16 - 8 * kind))
        distance = np.int64((entry & np.uint64(0x700)) + low)
        if kind >= end - pos or length > 8 or distance < 8 or distance > at - start:
            break
        store_u64(out, at, load_u64(out, at - distance))
        at += length
        pos += kind + 1
    return pos, at


@block
def inflate_on(src, pos, end, out, start, stop, at, enough):
    """Go on with a block, of which `at` - `start` bytes are there, up to `enough` and a bit, or to its end.

    Gives the next positions in `src` (negative: a status) and in `out`.
    """
    # Positions up to which a fixed number of bytes may be moved whatever the element's length.
    safe_in = min(end, np.int64(src.shape[0]) - _SPARE)
    safe_out = min(stop - _SPARE, enough)
    of_numbers = holds_numbers(src, pos, safe_in)
    while pos < end:
        limit = safe_out
        if of_numbers:
            pos, at = inflate_pairs(src, pos, end, out, start, at, safe_in, safe_out)
            limit = min(limit, at + 1)  # one other element, then pairs again
        strange = np.uint64(0)
        # Literals and copies come in no order that a processor could guess: both are one move of bytes, from the
        # input or from the output. Web addresses: 18 ms instead of 25 with a branch between the two.
        while pos < safe_in and at < limit:
            word = load_u64(src, pos)
            tag = word & np.uint64(0xFF)
            kind = word & np.uint64(3)
            step = np.int64((tag >> np.uint64(2)) + np.uint64(2))
            if kind:  # a choice again; not by the table, since the next tag waits for nothing but this
                step = np.int64(kind + np.uint64(1) + (kind & (kind >> np.uint64(1))))
            entry = np.uint64(_ELEMENTS[tag])
            length = np.int64(entry & np.uint64(0xFF))
            following = ~(~np.uint64(0) << (entry >> np.uint64(11)))
            distance = np.int64((entry & np.uint64(0x700)) + ((word >> np.uint64(8)) & following))
            is_literal = np.uint64(kind == np.uint64(0))
            # A copy that overlaps itself or starts before the block, a long literal, the end of the input.
            strange = np.uint64(distance < length) | np.uint64(distance > at - start)
            strange = (strange & (is_literal ^ np.uint64(1))) | np.uint64(length == 255) | np.uint64(step > end - pos)
            if strange:
                break
            source = at - distance
            move_16(out, at, is_literal, src, pos + 1, source)
            if length > 16:
                move_16(out, at + 16, is_literal, src, pos + 17, source + 16)
                move_32(out, at + 32, is_literal, src, pos + 33, source + 32)
            at += length
            pos += step
        if of_numbers and not strange and pos < safe_in and at < safe_out:
            continue
        if pos >= end or at >= enough:
            break
        tag = np.int64(src[np.uint64(pos)])
        kind = tag & 3
        pos += 1
        length = (tag >> 2) + 1
        if kind == 0:
            if length > 60:
                extra = length - 60
                if extra > end - pos:
                    return np.int64(TRUNCATED), at
                length = np.int64(0)
                for i in range(extra):
                    length |= np.int64(src[np.uint64(pos + i)]) << (8 * i)
                length += 1
                pos += extra
            if length > end - pos or length > stop - at:
                return np.int64(CORRUPT), at
            copy_bytes(out, at, src, pos, length)
            pos += length
            at += length
            continue
        size = np.int64(1) if kind == 1 else np.int64(2) if kind == 2 else np.int64(4)
        if end - pos < size:
            return np.int64(TRUNCATED), at
        distance = np.int64(0)
        for i in range(size):
            distance |= np.int64(src[np.uint64(pos + i)]) << (8 * i)
        pos += size
        if kind == 1:
            distance |= (tag >> 5) << 8
            length = ((tag >> 2) & 7) + 4
        if distance == 0 or distance > at - start or length > stop - at:
            return np.int64(CORRUPT), at
        if at < safe_out:  # a copy that overlaps itself: what it repeats doubles until 8 bytes move at once
            source = at - distance
            target = at
            at += length
            while target - source < 8:
                store_u64(out, target, load_u64(out, source))
                target += target - source
            while target < at:
                store_u64(out, target, load_u64(out, source))
                target += 8
                source += 8
            continue
        for i in range(length):
            out[np.uint64(at + i)] = out[np.uint64(at - distance + i)]
        at += length
    return pos, at


@block
def inflate_block(src, pos, end, out, start, stop, enough):
    """Decompress src[pos:end] into out[start:stop], filling it exactly, or up to `enough` and a bit: OK or a status."""
    size, pos = read_varint(src, pos, end)
    if pos < 0:
        return np.int64(TRUNCATED)
    if size != stop - start:
        return np.int64(BAD_COUNT)
    pos, at = inflate_on(src, pos, end, out, start, stop, np.int64(start), enough)
    if pos < 0:
        return pos
    if at < enough or (enough == stop and (pos < end or at != stop)):
        return np.int64(BAD_COUNT)
    return np.int64(OK)


@block
def inflate_values(src, pos, end, out, start, stop, count, itemsize, nullable):
    """Decompress a page of PLAIN values of `itemsize` bytes (0: byte arrays) as far as its first `count` need it.

    Of a nullable column `count` may count nulls, too: then it is more than enough. Gives where that ends in `out`, or a
    status. What is no page of such values is decompressed as a whole: whoever reads it says what is wrong.
    """
    size, pos = read_varint(src, pos, end)
    if pos < 0:
        return np.int64(TRUNCATED)
    if size != stop - start:
        return np.int64(BAD_COUNT)
    at = np.int64(start)
    value = np.int64(start)  # where the next value of unknown length starts
    goal = np.int64(stop)
    is_open = itemsize == 0  # the goal depends on lengths that are not there yet
    if nullable:
        pos, at = inflate_on(src, pos, end, out, start, stop, at, min(np.int64(stop), value + 4))
        if pos < 0:
            return pos
        if at - start < 4 or np.int64(load_u32(out, start)) > stop - start - 4:
            is_open = False
            value = np.int64(stop)
        else:
            value += 4 + np.int64(load_u32(out, start))
    if itemsize > 0 and count <= (stop - value) // itemsize:
        goal = value + count * itemsize
    left = np.int64(count)
    while True:
        while is_open and left > 0 and at - value >= 4:
            length = np.int64(load_u32(out, value))
            if length > stop - value - 4:
                is_open = False
                goal = np.int64(stop)
            else:
                value += 4 + length
                left -= 1
        if is_open:
            if left == 0 and value <= at:
                return at
            goal = min(np.int64(stop), max(value + np.int64(left > 0) * 4, at + _STEP))
        if at >= goal:
            return at if goal < stop or (pos >= end and at == stop) else np.int64(BAD_COUNT)
        if pos >= end:
            return np.int64(BAD_COUNT)
        pos, at = inflate_on(src, pos, end, out, start, stop, at, goal)
        if pos < 0:
            return pos




@kernel
def inflate_pages(src, table, out):
    """Decompress every row of `table` from `src` into `out` (both uint8): OK or `fail`."""
    for row in range(table.shape[0]):
        status = inflate_block(
            src,
            table[row, IN_START],
            table[row, IN_END],
            out,
            table[row, OUT_START],
            table[row, OUT_END],
            table[row, OUT_END],
        )
        if status < 0:
            return fail(status, row)
    return np.int64(OK)


@kernel
def inflate_prefix(src, out, size, enough):
    """Decompress a block of `size` bytes into `out` as far as its first `enough` bytes need it: OK or a status."""
    if size > np.int64(out.shape[0]) - SLACK or enough > size:
        return np.int64(OUTPUT_FULL)
    return inflate_block(src, 0, np.int64(src.shape[0]), out, 0, size, enough)


@kernel
def inflate_first_values(src, table, out, itemsize, nullable):
    """Decompress of every row of `table` what its first values need (`inflate_values`): OK or `fail`.

    The field after those of `inflate_pages` has their number, and receives the bytes that are there.
    """
    for row in range(table.shape[0]):
        start = table[row, OUT_START]
        reached = inflate_values(
            src, table[row, IN_START], table[row, IN_END], out, start, table[row, OUT_END],
            table[row, INFLATE_FIELDS], itemsize, nullable,
        )  # fmt: skip
        if reached < 0:
            return fail(reached, row)
        table[row, INFLATE_FIELDS] = reached - start
    return np.int64(OK)
