"""Integer codes that kernels return; no numba here, so that errors.py may read it.

A kernel that works on one buffer returns a position or count (0 or more) or the negative of a code below. A kernel
that works on a table of pages returns `fail(code, page)`, which also says which row of the table was at fault;
`code_of` and `page_of` take it apart again.
"""

OK = 0
TRUNCATED = -1  # the input ends before what it promised
CORRUPT = -2  # a value that the format does not allow
BAD_BIT_WIDTH = -3  # bit width outside 0..32 (indexes, levels) or 0..64 (deltas)
BAD_INDEX = -4  # a dictionary index at or beyond the dictionary's size
BAD_LENGTH = -5  # a negative or over-long byte array length
BAD_LEVEL = -6  # a definition or repetition level above its maximum
BAD_COUNT = -7  # the stream holds another number of values than the header says
BAD_HEADER = -8  # a page header or footer that is not well-formed Thrift
TOO_DEEP = -9  # Thrift nested deeper than any Parquet structure
TABLE_FULL = -10  # the caller's output table has no room for another row
NEED_MORE = -11  # the caller's byte window ends inside a header: call again with more bytes
BAD_RECORD_START = -12  # the first repetition level of a column chunk is not 0
OUTPUT_FULL = -13  # the caller's output buffer is smaller than the values need
NO_DICTIONARY = -14  # a dictionary-encoded page without a dictionary
BAD_UTF8 = -15  # text that is not UTF-8

MEANING = {
    TRUNCATED: "values end before the page's value count is reached",
    CORRUPT: "a value that the encoding does not allow",
    BAD_BIT_WIDTH: "bit width out of range",
    BAD_INDEX: "dictionary index at or beyond the dictionary's size",
    BAD_LENGTH: "byte array length is negative or runs past the end of the page",
    BAD_LEVEL: "definition or repetition level above the column's maximum",
    BAD_COUNT: "the encoded stream holds another number of values than its header says",
    BAD_HEADER: "header is not a well-formed Thrift structure",
    TOO_DEEP: "Thrift structure is nested deeper than Parquet allows",
    TABLE_FULL: "more entries than announced",
    NEED_MORE: "header ends outside the bytes at hand",
    BAD_RECORD_START: "first repetition level is not 0: the column starts inside a record",
    OUTPUT_FULL: "values need more room than the page's own sizes announce",
    NO_DICTIONARY: "dictionary-encoded page, but the column chunk has no dictionary page",
    BAD_UTF8: "text is not valid UTF-8",
}

_STEP = 64  # codes are above -64, so page number and code share one integer


def code_of(status: int) -> int:
    """The code inside a status that `fail` built."""
    return -((-status) % _STEP)


def page_of(status: int) -> int:
    """The row of the page table inside a status that `fail` built."""
    return (-status) // _STEP
