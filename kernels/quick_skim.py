# mypy: ignore-errors
"""Column chunks and statistics as writers mostly write them, walked in a quarter of the time that `skim.py` takes.

For short field headers, and lists and structs that hold no further ones than the specification has. Whatever is not so,
ends close to the end of the bytes or may be malformed is declined, and `skim.py` walks it from its start.
"""

import numpy as np

from . import tables as t
from .bits import load_u64, trailing_zeros, zigzag
from .compiled import block, quick_kernel

DECLINED = -1
STATISTICS_DECLINED = -2  # in the first column of a row
SPARE = 16  # bytes after every position that is looked at: a field header, and a number loaded as eight bytes
MOST_TEXT = 1 << 20  # a longer one is left to the general walk
LAST_FIELD = 15

# Compact type codes, and the action numbers of skim.FIELD_PLAN.
_TRUE = 1
_FALSE = 2
_I16 = 4
_I32 = 5
_I64 = 6
_BINARY = 8
_LIST = 9
_STRUCT = 12

_HIGH_BITS = np.uint64(0x8080808080808080)


@block
def quick_varint(src, pos):
    """A varint of at most eight bytes: (value, next position), the position DECLINED where it is longer."""
    word = load_u64(src, pos)
    stops = ~word & _HIGH_BITS
    if stops == np.uint64(0):
        return np.int64(0), np.int64(DECLINED)
    # All bits up to the first byte without a continuation bit; then seven bits of each byte move together.
    word &= stops ^ (stops - np.uint64(1))
    word &= np.uint64(0x7F7F7F7F7F7F7F7F)
    word = (word & np.uint64(0x007F007F007F007F)) | ((word & np.uint64(0x7F007F007F007F00)) >> np.uint64(1))
    word = (word & np.uint64(0x00003FFF00003FFF)) | ((word & np.uint64(0x3FFF00003FFF0000)) >> np.uint64(2))
    word = (word & np.uint64(0x000000000FFFFFFF)) | ((word & np.uint64(0x0FFFFFFF00000000)) >> np.uint64(4))
    return np.int64(word), pos + np.int64(trailing_zeros(stops) >> np.uint64(3)) + 1


@block
def pass_varint(src, pos):
    """The position after a varint of at most eight bytes, or DECLINED."""
    stops = ~load_u64(src, pos) & _HIGH_BITS
    if stops == np.uint64(0):
        return np.int64(DECLINED)
    return pos + np.int64(trailing_zeros(stops) >> np.uint64(3)) + 1


@block
def pass_text(src, pos):
    """The position after a length and so many bytes, which may lie beyond the end, or DECLINED."""
    length, pos = quick_varint(src, pos)
    if pos < 0 or length > MOST_TEXT:
        return np.int64(DECLINED)
    return pos + length


@block
def pass_numbers(src, pos, stop):
    """The position after the fields of a struct of numbers, truths and texts, or DECLINED."""
    while pos <= stop:
        head = np.int64(src[pos])
        pos += 1
        if head == 0:
            return pos
        if head < 16:
            return np.int64(DECLINED)
        kind = head & 15
        if kind == _I32 or kind == _I64 or kind == _I16:
            pos = pass_varint(src, pos)
        elif kind == _BINARY:
            pos = pass_text(src, pos)
        elif kind != _TRUE and kind != _FALSE:
            return np.int64(DECLINED)
        if pos < 0:
            return pos
    return np.int64(DECLINED)


@block
def pass_list(src, pos, stop):
    """The position after a list of numbers, texts, or structs of those, or DECLINED."""
    head = np.int64(src[pos])
    pos += 1
    count = head >> 4
    element = head & 15
    if count == 15:
        count, pos = quick_varint(src, pos)
        if pos < 0:
            return pos
    if element != _I32 and element != _I64 and element != _BINARY and element != _STRUCT:
        return np.int64(DECLINED)
    for _ in range(count):
        if pos > stop:
            return np.int64(DECLINED)
        if element == _BINARY:
            pos = pass_text(src, pos)
        elif element == _STRUCT:
            pos = pass_numbers(src, pos, stop)
        else:
            pos = pass_varint(src, pos)
        if pos < 0:
            return pos
    return pos


@block
def pass_struct(src, pos, stop):
    """The position after a struct of numbers, truths, texts and lists, or DECLINED."""
    while pos <= stop:
        head = np.int64(src[pos])
        pos += 1
        if head == 0:
            return pos
        if head < 16:
            return np.int64(DECLINED)
        kind = head & 15
        if kind == _I32 or kind == _I64 or kind == _I16:
            pos = pass_varint(src, pos)
        elif kind == _BINARY:
            pos = pass_text(src, pos)
        elif kind == _LIST:
            pos = pass_list(src, pos, stop)
        elif kind != _TRUE and kind != _FALSE:
            return np.int64(DECLINED)
        if pos < 0:
            return pos
    return np.int64(DECLINED)


@block
def number_fits(kind, number, is_count):
    """Whether a number is in the range of its type, and not negative where it counts something."""
    if is_count and number < 0:
        return False
    return kind == _I64 or (number >= -0x80000000 and number <= 0x7FFFFFFF)


@block
def quick_chunk(src, pos, end, plan_of_chunk, plan_of_meta, out, row):
    """The ColumnChunk at `pos` -> out[row], as `skim` fills it; the position after it, or DECLINED.

    The plans are the lines of `skim.FIELD_PLAN`. The row may be half filled where the chunk is declined.
    """
    stop = end - SPARE
    for i in range(t.FOOTER_FIELDS):
        out[row, i] = -1
    out[row, t.ROW_START] = pos
    last = np.int64(0)  # of the chunk's fields
    last_meta = np.int64(0)
    inside = False
    while pos <= stop:
        head = np.int64(src[pos])
        pos += 1
        if head == 0:
            if inside:
                out[row, t.CHUNK_META_END] = pos
                inside = False
                continue
            if out[row, t.CHUNK_META_START] < 0:  # encrypted, or malformed
                return np.int64(DECLINED)
            out[row, t.ROW_END] = pos
            return pos
        delta = head >> 4
        kind = head & 15
        if delta == 0:
            return np.int64(DECLINED)
        plan = np.int64(0)
        if inside:
            last_meta += delta
            if last_meta <= LAST_FIELD:
                plan = plan_of_meta[last_meta]
            elif last_meta > 255:
                return np.int64(DECLINED)
        else:
            last += delta
            if last > LAST_FIELD:
                return np.int64(DECLINED)
            plan = plan_of_chunk[last]
        column = (plan >> 8) & 255
        if plan != 0 and kind != (plan >> 4) & 15:  # also fields whose type does not matter
            return np.int64(DECLINED)
        if kind == _I32 or kind == _I64:
            word, pos = quick_varint(src, pos)
            if pos < 0:
                return pos
            if plan != 0:
                number = zigzag(word)
                if not number_fits(kind, number, plan & 15 == 2):
                    return np.int64(DECLINED)
                out[row, column] = number
        elif kind == _STRUCT and not inside and plan != 0:
            out[row, column] = pos
            inside = True
        elif kind == _LIST or kind == _STRUCT:
            start = pos
            pos = pass_list(src, pos, stop) if kind == _LIST else pass_struct(src, pos, stop)
            if pos < 0:
                return pos
            if plan != 0:
                out[row, column] = start
                out[row, column + 1] = pos
        else:
            return np.int64(DECLINED)
    return np.int64(DECLINED)


@quick_kernel
def skim_many_statistics(src, starts, ends, plan, table):
    """Statistics structs between `starts` and `ends` -> rows of `table`: how many are declined.

    `table` is int64[:, STATS_FIELDS]. A negative start stands for no statistics, a row of -1.
    """
    declined = 0
    size = np.int64(src.shape[0])
    for row in range(table.shape[0]):
        for i in range(t.STATS_FIELDS):
            table[row, i] = -1
        pos = starts[row]
        if pos < 0:
            continue
        end = min(ends[row], size)
        last = np.int64(0)
        while True:
            if pos > size - SPARE or pos >= end:
                pos = np.int64(DECLINED)
                break
            head = np.int64(src[pos])
            pos += 1
            if head == 0:
                break
            kind = head & 15
            last += head >> 4
            if head < 16 or last > LAST_FIELD:
                pos = np.int64(DECLINED)
                break
            known = plan[last]
            action = known & 15
            column = (known >> 8) & 255
            is_truth = kind == _TRUE or kind == _FALSE
            if action != 0 and kind != (known >> 4) & 15 and not (action == 7 and is_truth):
                pos = np.int64(DECLINED)
                break
            if kind == _BINARY:
                start = pos
                pos = pass_text(src, pos)
                if action != 0:
                    table[row, column] = start
                    table[row, column + 1] = pos
            elif kind == _I64 or kind == _I32:
                word, pos = quick_varint(src, pos)
                if action != 0:
                    table[row, column] = zigzag(word)
            elif is_truth:
                if action != 0:
                    table[row, column] = 1 if kind == _TRUE else 0
            else:
                pos = np.int64(DECLINED)
            if pos < 0:
                break
        if pos < 0:
            table[row, 0] = STATISTICS_DECLINED
            declined += 1
    return declined
