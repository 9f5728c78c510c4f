"""Columns of the int64 tables that `skim.py` fills; no numba, so that the planner may read them.

"Extent" is a pair of positions START, END in the walked bytes. A number that the file does not give is ABSENT.
"""

ABSENT = -1

# One row per page of a column chunk.
PAGE_HEADER = 0  # where the page header starts in `src`
PAGE_BODY = 1  # where the bytes after the header start in `src`
PAGE_KIND = 2  # PageKind: DATA_PAGE, DICTIONARY_PAGE or DATA_PAGE_V2
PAGE_COMPRESSED = 3  # bytes of the body
PAGE_UNCOMPRESSED = 4  # bytes of the body once decompressed
PAGE_VALUES = 5  # values, nulls included; entries of a dictionary
PAGE_ENCODING = 6
PAGE_DEF_ENCODING = 7  # V1 only
PAGE_REP_ENCODING = 8  # V1 only
PAGE_ROWS = 9  # V2 only
PAGE_NULLS = 10  # V2 only
PAGE_DEF_BYTES = 11  # V2 only
PAGE_REP_BYTES = 12  # V2 only
PAGE_IS_COMPRESSED = 13  # 0 only where a V2 header says so
PAGE_HAS_CRC = 14
PAGE_CRC = 15  # as an unsigned 32-bit number
PAGE_STATS_START = 16  # extent of the Statistics struct; 0, 0 without one
PAGE_STATS_END = 17
PAGE_INNER_START = 18  # extent of the header of the page's kind
PAGE_INNER_END = 19
PAGE_FIELDS = 20

# The footer's table: row 0 is the file, then come the row groups, each followed by its column chunks.
ROW_START = 0  # extent of a row group or chunk
ROW_END = 1

# The row of the file.
HEAD_VERSION = 0
HEAD_ROWS = 1  # the footer's own number; the sum over the row groups is the truth
HEAD_SCHEMA_START = 2  # extent of the list, its header included; likewise below
HEAD_SCHEMA_END = 3
HEAD_KEY_VALUES_START = 4
HEAD_KEY_VALUES_END = 5
HEAD_CREATED_BY_START = 6  # extent with the length in front
HEAD_CREATED_BY_END = 7
HEAD_ORDERS_START = 8
HEAD_ORDERS_END = 9
HEAD_ENCRYPTION = 10  # 1: encrypted columns below a plain footer; else ABSENT
HEAD_GROUPS = 11  # row groups

# One row per row group.
GROUP_START = 0
GROUP_END = 1
GROUP_CHUNKS = 2  # column chunks
GROUP_ROWS = 3
GROUP_BYTES = 4  # total_byte_size
GROUP_COMPRESSED = 5
GROUP_FILE_OFFSET = 6
GROUP_ORDINAL = 7
GROUP_SORTING_START = 8
GROUP_SORTING_END = 9

# One row per column chunk.
CHUNK_START = 0
CHUNK_END = 1
CHUNK_META_START = 2  # extent of ColumnMetaData; ABSENT when it is encrypted
CHUNK_META_END = 3
CHUNK_TYPE = 4
CHUNK_CODEC = 5
CHUNK_VALUES = 6
CHUNK_UNCOMPRESSED = 7
CHUNK_COMPRESSED = 8
CHUNK_DATA_OFFSET = 9
CHUNK_DICTIONARY_OFFSET = 10
CHUNK_INDEX_PAGE_OFFSET = 11
CHUNK_OFFSET_INDEX = 12
CHUNK_OFFSET_INDEX_BYTES = 13
CHUNK_COLUMN_INDEX = 14
CHUNK_COLUMN_INDEX_BYTES = 15
CHUNK_BLOOM = 16
CHUNK_BLOOM_BYTES = 17
CHUNK_STATS_START = 18
CHUNK_STATS_END = 19
CHUNK_PATH_START = 20
CHUNK_PATH_END = 21
CHUNK_ENCODINGS_START = 22
CHUNK_ENCODINGS_END = 23
CHUNK_ENCODING_STATS_START = 24
CHUNK_ENCODING_STATS_END = 25
CHUNK_HAS_FILE_PATH = 26  # 1 or ABSENT
CHUNK_ENCRYPTED = 27  # 1 or ABSENT
CHUNK_FIELDS = 28
FOOTER_FIELDS = 28

# One row per Statistics struct. Bounds are extents with the length in front.
STATS_OLD_MAX_START = 0
STATS_OLD_MIN_START = 2
STATS_NULLS = 4
STATS_DISTINCT = 5
STATS_MAX_START = 6
STATS_MIN_START = 8
STATS_MAX_EXACT = 10  # 1 or 0
STATS_MIN_EXACT = 11
STATS_NANS = 12
STATS_FIELDS = 13

# An offset index: row 0 says how many pages there are, then one row per page.
INDEX_PAGES = 2
LOCATION_OFFSET = 2
LOCATION_BYTES = 3
LOCATION_FIRST_ROW = 4
LOCATION_FIELDS = 5
