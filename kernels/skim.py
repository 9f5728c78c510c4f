# mypy: ignore-errors
"""Walk compact Thrift: page headers and the footer -> int64 tables (columns in `tables.py`).

Every walker checks each length against `end`. TRUNCATED means that the bytes ran out, BAD_HEADER that no continuation
could make them well-formed. Fields that are not known, or have another type than the specification says, are skipped,
as every Thrift reader does: vendors put fields of their own there.
"""

import numpy as np
from numpy.typing import NDArray

from . import tables as t
from .bits import read_varint64, zigzag
from .compiled import quick_kernel
from .quick_skim import STATISTICS_DECLINED, quick_chunk, skim_many_statistics
from .status import BAD_HEADER, NEED_MORE, OK, TABLE_FULL, TOO_DEEP, TRUNCATED

# Compact type codes.
TRUE = 1
FALSE = 2
BYTE = 3
I16 = 4
I32 = 5
I64 = 6
DOUBLE = 7
BINARY = 8
LIST = 9
SET = 10
MAP = 11
STRUCT = 12

MAX_DEPTH = 32
OPEN_STRUCT = -1  # on the stack: a struct; otherwise (items left << 8) | (type of even ones << 4) | type of odd ones
I32_MAX = 0x7FFFFFFF
I32_MASK = 0xFFFFFFFF

# What to do with a known field.
NUMBER = 1  # store the integer
COUNT = 2  # store the integer; negative is BAD_HEADER
EXTENT = 3  # store where the value starts and ends
ENTER = 4  # EXTENT, and the fields of the struct inside are known too; they go to the same row
ROWS = 5  # a list of known structs: store how many, and give each a row of its own
MARK = 6  # store 1; the type does not matter
TRUTH = 7  # store 1 for true, 0 for false

# Known structs: rows of FIELD_PLAN.
NOTHING = 0
PAGE = 1
DATA_HEADER = 2
DICTIONARY_HEADER = 3
DATA_HEADER_V2 = 4
FILE = 5
GROUP = 6
CHUNK = 7
META = 8
STATISTICS = 9
OFFSET_INDEX = 10
LOCATION = 11
LAST_STRUCT = 11

# (struct, field id) -> (action, type, column, struct inside); parquet.thrift in a table.
_KNOWN = {
    (PAGE, 1): (COUNT, I32, t.PAGE_KIND, 0),
    (PAGE, 2): (COUNT, I32, t.PAGE_UNCOMPRESSED, 0),
    (PAGE, 3): (COUNT, I32, t.PAGE_COMPRESSED, 0),
    (PAGE, 4): (NUMBER, I32, t.PAGE_CRC, 0),
    (PAGE, 5): (ENTER, STRUCT, t.PAGE_INNER_START, DATA_HEADER),
    (PAGE, 7): (ENTER, STRUCT, t.PAGE_INNER_START, DICTIONARY_HEADER),
    (PAGE, 8): (ENTER, STRUCT, t.PAGE_INNER_START, DATA_HEADER_V2),
    (DATA_HEADER, 1): (COUNT, I32, t.PAGE_VALUES, 0),
    (DATA_HEADER, 2): (COUNT, I32, t.PAGE_ENCODING, 0),
    (DATA_HEADER, 3): (COUNT, I32, t.PAGE_DEF_ENCODING, 0),
    (DATA_HEADER, 4): (COUNT, I32, t.PAGE_REP_ENCODING, 0),
    (DATA_HEADER, 5): (EXTENT, STRUCT, t.PAGE_STATS_START, 0),
    (DICTIONARY_HEADER, 1): (COUNT, I32, t.PAGE_VALUES, 0),
    (DICTIONARY_HEADER, 2): (COUNT, I32, t.PAGE_ENCODING, 0),
    (DATA_HEADER_V2, 1): (COUNT, I32, t.PAGE_VALUES, 0),
    (DATA_HEADER_V2, 2): (COUNT, I32, t.PAGE_NULLS, 0),
    (DATA_HEADER_V2, 3): (COUNT, I32, t.PAGE_ROWS, 0),
    (DATA_HEADER_V2, 4): (COUNT, I32, t.PAGE_ENCODING, 0),
    (DATA_HEADER_V2, 5): (COUNT, I32, t.PAGE_DEF_BYTES, 0),
    (DATA_HEADER_V2, 6): (COUNT, I32, t.PAGE_REP_BYTES, 0),
    (DATA_HEADER_V2, 7): (TRUTH, TRUE, t.PAGE_IS_COMPRESSED, 0),
    (DATA_HEADER_V2, 8): (EXTENT, STRUCT, t.PAGE_STATS_START, 0),
    (FILE, 1): (NUMBER, I32, t.HEAD_VERSION, 0),
    (FILE, 2): (EXTENT, LIST, t.HEAD_SCHEMA_START, 0),
    (FILE, 3): (NUMBER, I64, t.HEAD_ROWS, 0),
    (FILE, 4): (ROWS, LIST, t.HEAD_GROUPS, GROUP),
    (FILE, 5): (EXTENT, LIST, t.HEAD_KEY_VALUES_START, 0),
    (FILE, 6): (EXTENT, BINARY, t.HEAD_CREATED_BY_START, 0),
    (FILE, 7): (EXTENT, LIST, t.HEAD_ORDERS_START, 0),
    (FILE, 8): (MARK, 0, t.HEAD_ENCRYPTION, 0),
    (GROUP, 1): (ROWS, LIST, t.GROUP_CHUNKS, CHUNK),
    (GROUP, 2): (NUMBER, I64, t.GROUP_BYTES, 0),
    (GROUP, 3): (COUNT, I64, t.GROUP_ROWS, 0),
    (GROUP, 4): (EXTENT, LIST, t.GROUP_SORTING_START, 0),
    (GROUP, 5): (NUMBER, I64, t.GROUP_FILE_OFFSET, 0),
    (GROUP, 6): (NUMBER, I64, t.GROUP_COMPRESSED, 0),
    (GROUP, 7): (NUMBER, I16, t.GROUP_ORDINAL, 0),
    (CHUNK, 1): (MARK, 0, t.CHUNK_HAS_FILE_PATH, 0),
    (CHUNK, 3): (ENTER, STRUCT, t.CHUNK_META_START, META),
    (CHUNK, 4): (NUMBER, I64, t.CHUNK_OFFSET_INDEX, 0),
    (CHUNK, 5): (NUMBER, I32, t.CHUNK_OFFSET_INDEX_BYTES, 0),
    (CHUNK, 6): (NUMBER, I64, t.CHUNK_COLUMN_INDEX, 0),
    (CHUNK, 7): (NUMBER, I32, t.CHUNK_COLUMN_INDEX_BYTES, 0),
    (CHUNK, 8): (MARK, 0, t.CHUNK_ENCRYPTED, 0),
    (CHUNK, 9): (MARK, 0, t.CHUNK_ENCRYPTED, 0),
    (META, 1): (NUMBER, I32, t.CHUNK_TYPE, 0),
    (META, 2): (EXTENT, LIST, t.CHUNK_ENCODINGS_START, 0),
    (META, 3): (EXTENT, LIST, t.CHUNK_PATH_START, 0),
    (META, 4): (NUMBER, I32, t.CHUNK_CODEC, 0),
    (META, 5): (COUNT, I64, t.CHUNK_VALUES, 0),
    (META, 6): (COUNT, I64, t.CHUNK_UNCOMPRESSED, 0),
    (META, 7): (COUNT, I64, t.CHUNK_COMPRESSED, 0),
    (META, 9): (COUNT, I64, t.CHUNK_DATA_OFFSET, 0),
    (META, 10): (NUMBER, I64, t.CHUNK_INDEX_PAGE_OFFSET, 0),
    (META, 11): (NUMBER, I64, t.CHUNK_DICTIONARY_OFFSET, 0),
    (META, 12): (EXTENT, STRUCT, t.CHUNK_STATS_START, 0),
    (META, 13): (EXTENT, LIST, t.CHUNK_ENCODING_STATS_START, 0),
    (META, 14): (NUMBER, I64, t.CHUNK_BLOOM, 0),
    (META, 15): (NUMBER, I32, t.CHUNK_BLOOM_BYTES, 0),
    (STATISTICS, 1): (EXTENT, BINARY, t.STATS_OLD_MAX_START, 0),
    (STATISTICS, 2): (EXTENT, BINARY, t.STATS_OLD_MIN_START, 0),
    (STATISTICS, 3): (NUMBER, I64, t.STATS_NULLS, 0),
    (STATISTICS, 4): (NUMBER, I64, t.STATS_DISTINCT, 0),
    (STATISTICS, 5): (EXTENT, BINARY, t.STATS_MAX_START, 0),
    (STATISTICS, 6): (EXTENT, BINARY, t.STATS_MIN_START, 0),
    (STATISTICS, 7): (TRUTH, TRUE, t.STATS_MAX_EXACT, 0),
    (STATISTICS, 8): (TRUTH, TRUE, t.STATS_MIN_EXACT, 0),
    (STATISTICS, 9): (NUMBER, I64, t.STATS_NANS, 0),
    (OFFSET_INDEX, 1): (ROWS, LIST, t.INDEX_PAGES, LOCATION),
    (LOCATION, 1): (COUNT, I64, t.LOCATION_OFFSET, 0),
    (LOCATION, 2): (COUNT, I32, t.LOCATION_BYTES, 0),
    (LOCATION, 3): (COUNT, I64, t.LOCATION_FIRST_ROW, 0),
}
PLAN_FIELDS = 16
# One number per field: action | type << 4 | column << 8 | struct inside << 16; 0 for a field that is skipped.
FIELD_PLAN = np.zeros((LAST_STRUCT + 1, PLAN_FIELDS), np.int64)
for (_struct, _field), (_action, _type, _column, _inside) in _KNOWN.items():
    FIELD_PLAN[_struct, _field] = _action | _type << 4 | _column << 8 | _inside << 16

DATA_PAGE = 0
DICTIONARY_PAGE = 2
DATA_PAGE_V2 = 3
# Which struct a page kind brings; others belong to another kind and are skipped.
PAGE_INSIDE = np.array([DATA_HEADER, NOTHING, DICTIONARY_HEADER, DATA_HEADER_V2], np.int64)
NO_CRC = 1 << 40  # outside what a checksum can be

# What a known struct must have, and what its row says of fields that it does not have; -1 in both means nothing.
NEEDED = np.full((LAST_STRUCT + 1, 6), -1, np.int64)
NEEDED[PAGE, :3] = t.PAGE_KIND, t.PAGE_COMPRESSED, t.PAGE_UNCOMPRESSED
NEEDED[DATA_HEADER, :4] = t.PAGE_VALUES, t.PAGE_ENCODING, t.PAGE_DEF_ENCODING, t.PAGE_REP_ENCODING
NEEDED[DICTIONARY_HEADER, :2] = t.PAGE_VALUES, t.PAGE_ENCODING
NEEDED[DATA_HEADER_V2, :4] = t.PAGE_VALUES, t.PAGE_ENCODING, t.PAGE_NULLS, t.PAGE_ROWS
NEEDED[DATA_HEADER_V2, 4:] = t.PAGE_DEF_BYTES, t.PAGE_REP_BYTES
NEEDED[LOCATION, :3] = t.LOCATION_OFFSET, t.LOCATION_BYTES, t.LOCATION_FIRST_ROW
NEEDED[GROUP, :2] = t.GROUP_ROWS, t.GROUP_CHUNKS
DEFAULTS = np.full((LAST_STRUCT + 1, t.FOOTER_FIELDS), -1, np.int64)
DEFAULTS[PAGE, t.PAGE_CRC] = NO_CRC
DEFAULTS[PAGE, t.PAGE_IS_COMPRESSED] = 1
DEFAULTS[PAGE, t.PAGE_STATS_START] = 0
DEFAULTS[PAGE, t.PAGE_STATS_END] = 0

# A known struct that is open: what to come back to when one inside it ends. File, row group, chunk, metadata: four.
FRAME_FIELDS = 7
STACK_FIELDS = MAX_DEPTH + 4 * FRAME_FIELDS


# One function walks everything: compiling takes a second, and every function that calls another one carries, and
# compiles, its machine code once more.
@quick_kernel
def skim(src, pos, end, struct, values_left, out, row, stack):
    """Walk the `struct` at `pos`: known fields into out[row], skip and check the rest. (next row, position, status).

    FILE gives row groups and column chunks the rows after it, each group before its chunks. PAGE goes on from page to
    page (see `walk_pages`). `stack` is int64[STACK_FIELDS] scratch.
    """
    row = np.int64(row)
    pos = np.int64(pos)
    end = np.int64(end)
    top_struct = np.int64(struct)
    page_start = pos
    seen = 0
    if top_struct == PAGE and (values_left <= 0 or pos >= end):
        return row, pos, np.int64(OK)
    if top_struct != NOTHING and row >= out.shape[0]:
        return row, pos, np.int64(TABLE_FULL)
    status = TRUNCATED

    # The known struct that is open now; `depth` counts open structs and lists, `known` is the depth of that struct.
    struct = top_struct
    last = 0
    at_row = row
    pending = -1  # column of the extent that is complete once `depth` is back at `known`
    start = 0
    known = 1
    frame = MAX_DEPTH  # where the next frame is saved
    inside = NOTHING  # the struct that a list or field just begun consists of
    next_row = row + 1
    stack[0] = OPEN_STRUCT
    depth = 1
    fresh = struct != NOTHING  # the row at `at_row` is to be emptied

    while True:
        if fresh:
            for i in range(out.shape[1]):
                out[at_row, i] = DEFAULTS[struct, i]
            if struct == GROUP or struct == CHUNK:
                out[at_row, t.ROW_START] = pos
            fresh = False
        top = stack[depth - 1]
        action = 0
        column = 0
        if top == OPEN_STRUCT:
            if pending >= 0 and depth == known:
                out[at_row, pending] = start
                out[at_row, pending + 1] = pos
                pending = -1
            if pos >= end:
                break
            head = np.int64(src[pos])
            pos += 1
            if head == 0:
                depth -= 1
                if depth >= known:
                    continue
                # A known struct ends.
                missing = False
                for i in range(NEEDED.shape[1]):
                    need = NEEDED[struct, i]
                    if need >= 0 and out[at_row, need] < 0:
                        missing = True
                if struct == CHUNK and out[at_row, t.CHUNK_META_START] < 0 and out[at_row, t.CHUNK_ENCRYPTED] < 0:
                    missing = True
                if missing:
                    status = BAD_HEADER
                    break
                if depth > 0:
                    if at_row != stack[frame - FRAME_FIELDS + 2]:
                        out[at_row, t.ROW_END] = pos
                    frame -= FRAME_FIELDS
                    struct = stack[frame]
                    last = stack[frame + 1]
                    at_row = stack[frame + 2]
                    pending = stack[frame + 3]
                    start = stack[frame + 4]
                    known = stack[frame + 5]
                    inside = stack[frame + 6]
                    continue
                if top_struct != PAGE:
                    return next_row, pos, np.int64(OK)

                # A page header ends: on to the next one.
                page_kind = out[at_row, t.PAGE_KIND]
                compressed = out[at_row, t.PAGE_COMPRESSED]
                is_known = page_kind <= DATA_PAGE_V2 and PAGE_INSIDE[page_kind] != NOTHING
                if is_known:
                    levels = 0
                    if page_kind == DATA_PAGE_V2:
                        levels = out[at_row, t.PAGE_DEF_BYTES] + out[at_row, t.PAGE_REP_BYTES]
                    # Levels of V2 are stored plain in front of the values and count in both sizes.
                    most = min(compressed, out[at_row, t.PAGE_UNCOMPRESSED])
                    if out[at_row, t.PAGE_INNER_START] < 0 or levels > most:
                        status = BAD_HEADER
                        break
                if compressed > end - pos:
                    break
                if is_known:
                    out[at_row, t.PAGE_HEADER] = page_start
                    out[at_row, t.PAGE_BODY] = pos
                    crc = out[at_row, t.PAGE_CRC]
                    out[at_row, t.PAGE_HAS_CRC] = 0 if crc == NO_CRC else 1
                    out[at_row, t.PAGE_CRC] = crc & I32_MASK
                    if page_kind != DICTIONARY_PAGE:
                        seen += out[at_row, t.PAGE_VALUES]
                    at_row += 1
                pos += compressed
                page_start = pos
                if seen >= values_left or pos >= end:
                    return at_row, pos, np.int64(OK)
                if at_row >= out.shape[0]:
                    return at_row, pos, np.int64(TABLE_FULL)
                fresh = True
                last = 0
                depth = 1
                continue
            kind = head & 15
            delta = head >> 4
            number = last + delta
            if delta == 0:
                word, pos = read_varint64(src, pos, end)
                if pos < 0:
                    status = pos
                    break
                number = zigzag(word)
            if depth == known:
                if number < -32768 or number > 32767:
                    status = BAD_HEADER
                    break
                last = number
                if last > 0 and last < PLAN_FIELDS:
                    plan = FIELD_PLAN[struct, last]
                    action = plan & 15
                    wanted = (plan >> 4) & 15
                    column = (plan >> 8) & 255
                    inside = plan >> 16
                    if action == MARK:
                        out[at_row, column] = 1
                    elif kind != wanted and not (action == TRUTH and kind == FALSE):
                        action = 0
                        inside = NOTHING
                    elif action == TRUTH:
                        out[at_row, column] = 1 if kind == TRUE else 0
                    elif action == EXTENT:
                        pending = column
                        start = pos
                    elif struct == PAGE and action == ENTER:
                        # Fields come in rising order: the kind of the page is known by now.
                        page_kind = out[at_row, t.PAGE_KIND]
                        if page_kind < 0 or page_kind > DATA_PAGE_V2 or PAGE_INSIDE[page_kind] != inside:
                            action = 0
                            inside = NOTHING
                else:
                    inside = NOTHING
        else:
            rest = top >> 8
            if rest == 0:
                depth -= 1
                continue
            kind = (top >> 4) & 15 if rest & 1 == 0 else top & 15
            stack[depth - 1] = top - 256

        if kind == I32 or kind == I64 or kind == I16 or kind == BINARY or kind == MAP:
            word, pos = read_varint64(src, pos, end)
            if pos < 0:
                status = pos
                break
            if kind == BINARY:
                if word < 0 or word > I32_MAX:
                    status = BAD_HEADER
                    break
                if word > end - pos:
                    break
                pos += word
            elif kind == MAP:
                if word < 0 or word > I32_MAX:
                    status = BAD_HEADER
                    break
                if word > 0:
                    if 2 * word >= end - pos:
                        break
                    if depth == MAX_DEPTH:
                        status = TOO_DEEP
                        break
                    # Items are counted down from an even number: keys meet even rests.
                    stack[depth] = (word << 9) | np.int64(src[pos])
                    depth += 1
                    pos += 1
            elif action == NUMBER or action == COUNT:
                number = zigzag(word)
                if (kind != I64 and (number < -I32_MAX - 1 or number > I32_MAX)) or (action == COUNT and number < 0):
                    status = BAD_HEADER
                    break
                out[at_row, column] = number
        elif kind == STRUCT:
            if depth == MAX_DEPTH:
                status = TOO_DEEP
                break
            # The field itself, or an item of the list that is the field's value.
            if inside != NOTHING and (action == ENTER or (action == 0 and depth == known + 1)):
                if action == 0 and next_row >= out.shape[0]:
                    status = TABLE_FULL
                    break
                if action == 0 and inside == CHUNK:
                    after = quick_chunk(src, pos, end, FIELD_PLAN[CHUNK], FIELD_PLAN[META], out, next_row)
                    if after >= 0:
                        next_row += 1
                        pos = after
                        continue
                stack[frame] = struct
                stack[frame + 1] = last
                stack[frame + 2] = at_row
                stack[frame + 3] = column if action == ENTER else -1
                stack[frame + 4] = pos
                stack[frame + 5] = known
                stack[frame + 6] = NOTHING if action == ENTER else inside
                frame += FRAME_FIELDS
                struct = inside
                last = 0
                pending = -1
                known = depth + 1
                if action == 0:
                    at_row = next_row
                    next_row += 1
                    fresh = True
                inside = NOTHING
            stack[depth] = OPEN_STRUCT
            depth += 1
        elif kind == LIST or kind == SET:
            if pos >= end:
                break
            head = np.int64(src[pos])
            pos += 1
            count = head >> 4
            if count == 15:
                count, pos = read_varint64(src, pos, end)
                if pos < 0:
                    status = pos
                    break
                if count < 0 or count > I32_MAX:
                    status = BAD_HEADER
                    break
            if count > end - pos:  # every element takes a byte at least
                break
            if depth == MAX_DEPTH:
                status = TOO_DEEP
                break
            element = head & 15
            if action == ROWS:
                # Twice the same list, or a list of something else.
                if out[at_row, column] != -1 or (count > 0 and element != STRUCT):
                    status = BAD_HEADER
                    break
                out[at_row, column] = count
            stack[depth] = (count << 8) | (element << 4) | element
            depth += 1
        elif kind == TRUE or kind == FALSE:
            # Inside a list a boolean has a byte; inside a struct it was in the field header.
            if top != OPEN_STRUCT:
                if pos >= end:
                    break
                pos += 1
        elif kind == BYTE:
            if pos >= end:
                break
            pos += 1
        elif kind == DOUBLE:
            if end - pos < 8:
                break
            pos += 8
        else:
            status = BAD_HEADER
            break

    if top_struct == PAGE and status == TRUNCATED:
        status = NEED_MORE
    return at_row, page_start, status


# What Python calls: no kernel, because a second compiled function would take as long to build as the first.


def skip_struct(src: NDArray[np.uint8], pos: int, end: int) -> int:
    """Position after the struct that starts at `pos`, or a negative status."""
    _, after, status = skim(src, pos, end, NOTHING, 0, np.empty((0, 0), np.int64), 0, np.empty(STACK_FIELDS, np.int64))
    return status if status < 0 else after


def walk_pages(
    src: NDArray[np.uint8], pos: int, end: int, values_left: int, table: NDArray[np.int64], row: int
) -> tuple[int, int, int]:
    """Page headers and bodies in src[pos:end] -> rows of `table` (int64[:, PAGE_FIELDS]) from `row` on.

    Gives (next row, next position, status). OK: data pages of `values_left` values were seen, or `pos` reached `end`;
    TABLE_FULL: no row left; NEED_MORE: the page at the position reaches beyond `end`; BAD_HEADER, TOO_DEEP: malformed.
    Index pages and page types that are not known are passed over. Sizes and counts are not negative; that they are
    sensible is not checked.
    """
    return skim(src, pos, end, PAGE, values_left, table, row, np.empty(STACK_FIELDS, np.int64))


def skim_footer(src: NDArray[np.uint8], pos: int, end: int, table: NDArray[np.int64]) -> int:
    """FileMetaData at `pos` -> rows of `table` (int64[:, FOOTER_FIELDS]): the file, then each row group and its chunks.

    Gives the number of rows or a negative status; TABLE_FULL when there are too few.
    """
    rows, _, status = skim(src, pos, end, FILE, 0, table, 0, np.empty(STACK_FIELDS, np.int64))
    return status if status < 0 else rows


def skim_statistics(src: NDArray[np.uint8], pos: int, end: int, table: NDArray[np.int64]) -> int:
    """A Statistics struct at `pos` -> row 0 of `table` (int64[:, STATS_FIELDS]); 0 or a negative status."""
    _, _, status = skim(src, pos, end, STATISTICS, 0, table, 0, np.empty(STACK_FIELDS, np.int64))
    return status


def skim_all_statistics(
    src: NDArray[np.uint8], starts: NDArray[np.int64], ends: NDArray[np.int64], table: NDArray[np.int64]
) -> None:
    """Statistics structs -> rows of `table` (int64[:, STATS_FIELDS]), -1 where a start is negative or one is broken."""
    if skim_many_statistics(src, starts, ends, FIELD_PLAN[STATISTICS], table) == 0:
        return
    stack = np.empty(STACK_FIELDS, np.int64)
    for row in np.flatnonzero(table[:, 0] == STATISTICS_DECLINED).tolist():
        if skim(src, int(starts[row]), int(ends[row]), STATISTICS, 0, table, row, stack)[2] < 0:
            table[row] = t.ABSENT


def skim_offset_index(src: NDArray[np.uint8], pos: int, end: int, table: NDArray[np.int64]) -> int:
    """An OffsetIndex at `pos` -> rows of `table` (int64[:, LOCATION_FIELDS]): its head, then its pages.

    Gives the number of rows or a negative status; TABLE_FULL when there are too few.
    """
    rows, _, status = skim(src, pos, end, OFFSET_INDEX, 0, table, 0, np.empty(STACK_FIELDS, np.int64))
    return status if status < 0 else rows
