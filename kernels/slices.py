"""Columns of the slice table: which values of which page go where.

The level kernels fill one row per page under the current window of rows; the value kernels follow it. All int64.
A page's value stream holds STREAM_COUNT present (non-null) values; the window wants TAKE of them after SKIP; they fill
the slots OUT_START .. OUT_START + SLOTS of the output, of which SLOTS - TAKE are null by the validity words.
"""

SRC_START = 0  # first byte of the encoded values in `src`
SRC_END = 1  # first byte after them; 0 <= SRC_START <= SRC_END <= len(src) - SLACK holds when a value kernel sees it
STREAM_COUNT = 2  # present values in the whole page
SKIP = 3  # present values before the window; SKIP + TAKE <= STREAM_COUNT
TAKE = 4  # present values to deliver
OUT_START = 5  # first output slot of this page
SLOTS = 6  # output slots of this page, nulls included; TAKE <= SLOTS
FIELDS = 7

# A filter works in the row space of its window: pages without candidates are left out of the table, values lie densely
# (SLOTS = TAKE), and these columns say which rows of the window a page covers. A gather has RANK_START in place of the
# first: where the list of the value numbers that its survivors need begins.
ROW_START = 7  # first row of the page in the window
RANK_START = 7
ROW_COUNT = 8  # rows of the page inside the window
FILTER_FIELDS = 9

# Bytes that stay readable after the last encoded byte, so that 64-bit loads and 16-byte copies may run over the end.
SLACK = 32
