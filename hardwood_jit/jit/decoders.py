"""Dispatch tables: (physical type, encoding) -> building block that decodes it, and every kernel's one signature."""

from __future__ import annotations

from typing import NamedTuple

from hardwood_jit.physical import Encoding, PhysicalType

BOOLEAN, INT32, INT64, INT96, FLOAT, DOUBLE, BYTE_ARRAY, FIXED = PhysicalType
PLAIN = Encoding.PLAIN
RLE = Encoding.RLE
PLAIN_DICTIONARY = Encoding.PLAIN_DICTIONARY
RLE_DICTIONARY = Encoding.RLE_DICTIONARY
DELTA_BINARY_PACKED = Encoding.DELTA_BINARY_PACKED
DELTA_LENGTH_BYTE_ARRAY = Encoding.DELTA_LENGTH_BYTE_ARRAY
DELTA_BYTE_ARRAY = Encoding.DELTA_BYTE_ARRAY
BYTE_STREAM_SPLIT = Encoding.BYTE_STREAM_SPLIT


class Block(NamedTuple):
    """A kernel by module and function, and the calling convention that its caller follows."""

    module: str
    function: str
    takes: str  # "values", "wide", "dictionary", "byte arrays", "lengths first", "prefixed"


_FIXED_DICTIONARY = Block("dictionary", "read_fixed", "dictionary")
_WIDE_DICTIONARY = Block("dictionary", "read_wide", "dictionary")
_BYTES_DICTIONARY = Block("dictionary", "gather_byte_arrays", "dictionary")
_PLAIN_FIXED = Block("plain", "read_fixed", "values")
_PLAIN_WIDE = Block("plain", "read_wide", "wide")
_SPLIT_FIXED = Block("byte_stream_split", "read_fixed", "values")
_DELTA_INTEGERS = Block("delta", "read_integers", "values")

DECODERS: dict[tuple[PhysicalType, Encoding], Block] = {
    (BOOLEAN, PLAIN): Block("plain", "read_booleans", "values"),
    (BOOLEAN, RLE): Block("rle", "read_booleans", "values"),
    (BOOLEAN, PLAIN_DICTIONARY): _FIXED_DICTIONARY,
    (BOOLEAN, RLE_DICTIONARY): _FIXED_DICTIONARY,
    (INT32, PLAIN): _PLAIN_FIXED,
    (INT32, PLAIN_DICTIONARY): _FIXED_DICTIONARY,
    (INT32, RLE_DICTIONARY): _FIXED_DICTIONARY,
    (INT32, DELTA_BINARY_PACKED): _DELTA_INTEGERS,
    (INT32, BYTE_STREAM_SPLIT): _SPLIT_FIXED,
    (INT64, PLAIN): _PLAIN_FIXED,
    (INT64, PLAIN_DICTIONARY): _FIXED_DICTIONARY,
    (INT64, RLE_DICTIONARY): _FIXED_DICTIONARY,
    (INT64, DELTA_BINARY_PACKED): _DELTA_INTEGERS,
    (INT64, BYTE_STREAM_SPLIT): _SPLIT_FIXED,
    (INT96, PLAIN): _PLAIN_WIDE,
    (INT96, PLAIN_DICTIONARY): _WIDE_DICTIONARY,
    (INT96, RLE_DICTIONARY): _WIDE_DICTIONARY,
    (FLOAT, PLAIN): _PLAIN_FIXED,
    (FLOAT, PLAIN_DICTIONARY): _FIXED_DICTIONARY,
    (FLOAT, RLE_DICTIONARY): _FIXED_DICTIONARY,
    (FLOAT, BYTE_STREAM_SPLIT): _SPLIT_FIXED,
    (DOUBLE, PLAIN): _PLAIN_FIXED,
    (DOUBLE, PLAIN_DICTIONARY): _FIXED_DICTIONARY,
    (DOUBLE, RLE_DICTIONARY): _FIXED_DICTIONARY,
    (DOUBLE, BYTE_STREAM_SPLIT): _SPLIT_FIXED,
    (BYTE_ARRAY, PLAIN): Block("plain", "read_byte_arrays", "byte arrays"),
    (BYTE_ARRAY, PLAIN_DICTIONARY): _BYTES_DICTIONARY,
    (BYTE_ARRAY, RLE_DICTIONARY): _BYTES_DICTIONARY,
    (BYTE_ARRAY, DELTA_LENGTH_BYTE_ARRAY): Block("delta_bytes", "read_lengths_first", "lengths first"),
    (BYTE_ARRAY, DELTA_BYTE_ARRAY): Block("delta_bytes", "read_prefixed", "prefixed"),
    (FIXED, PLAIN): _PLAIN_WIDE,
    (FIXED, PLAIN_DICTIONARY): _WIDE_DICTIONARY,
    (FIXED, RLE_DICTIONARY): _WIDE_DICTIONARY,
    (FIXED, DELTA_BYTE_ARRAY): Block("delta_bytes", "read_prefixed", "prefixed"),
    (FIXED, BYTE_STREAM_SPLIT): Block("byte_stream_split", "read_wide", "wide"),
}
NOT_YET: dict[tuple[PhysicalType, Encoding], str] = {}  # legal pairs without a decoder, each with its reason

DICTIONARY_ENCODINGS = frozenset({PLAIN_DICTIONARY, RLE_DICTIONARY})

_PAGES = "uint8[::1], int64[:,::1]"
_HEAD = f"{_PAGES}, uint64[::1]"
_BOUNDS = "uint8[::1], int64[::1], uint8[::1]"
_CHUNK = "int64, boolean, boolean, int64"
_OPENED = "uint8[::1], uint8[::1], int64[:,::1], int64[:,::1], uint64[::1], int64[::1]"
_NARROWED = f"{_OPENED}, uint8[::1], uint8[::1], uint8[::1], int64[::1]"
_TAKEN = f"int32[::1], {_OPENED}, int64[::1], int32[::1], int64[:,::1], uint64[::1], int32[::1]"

# Signatures by kernel; {t} is the type of values ("uint8", "uint32", "uint64"), {o} of offsets ("int32", "int64").
SIGNATURES: dict[str, str] = {
    "snappy.inflate_pages": "int64(uint8[::1], int64[:,::1], uint8[::1])",
    "snappy.inflate_prefix": "int64(uint8[::1], uint8[::1], int64, int64)",
    "snappy.inflate_first_values": "int64(uint8[::1], int64[:,::1], uint8[::1], int64, boolean)",
    "levels.slice_required": "int64(int64[:,::1], int64, int64, int64[:,::1])",
    "levels.read_validity": f"int64({_PAGES}, int64, int64, uint64[::1], int64[::1], int64[:,::1])",
    "levels.read_levels": f"int64({_PAGES}, int64, int64, uint8[::1], uint8[::1], int64[:,::1])",
    "levels.count_levels": f"int64({_PAGES}, int64, int64, boolean)",
    "levels.count_record_starts": "int64(uint8[::1], int64)",
    "levels.slice_records": (
        "int64(uint8[::1], uint8[::1], int64, int64[:,::1], int64, int64, int64, int64, int64[:,::1], int64[::1])"
    ),
    "levels.build_slots": "int64(uint8[::1], uint8[::1], int64, int64, int64, int64, int64, uint64[::1])",
    "levels.build_repeated": (
        "int64(uint8[::1], uint8[::1], int64, int64, int64, int64, int64, int64, int32[::1], uint64[::1], int64[::1])"
    ),
    "levels.build_list": (
        "int64(uint8[::1], uint8[::1], int64, int64, int64, int64, int64, "
        "int32[::1], uint64[::1], uint64[::1], int64[::1])"
    ),
    "plain.read_booleans": f"int64({_HEAD}, uint8[::1])",
    "plain.read_fixed": f"int64({_HEAD}, {{t}}[::1])",
    "plain.read_wide": f"int64({_HEAD}, int64, uint8[::1])",
    "plain.read_byte_arrays": f"int64({_HEAD}, {{o}}[::1], uint8[::1])",
    "rle.read_booleans": f"int64({_HEAD}, uint8[::1])",
    "dictionary.read_fixed": f"int64({_HEAD}, {{t}}[::1], int32[::1], {{t}}[::1])",
    "dictionary.read_pairs": f"int64({_HEAD}, uint64[:,::1], int32[::1], uint64[:,::1])",
    "dictionary.read_wide": f"int64({_HEAD}, uint8[::1], int64, int64, int32[::1], uint8[::1])",
    "dictionary.read_indexes": f"int64({_PAGES}, int64, int32[::1])",
    "dictionary.read_codes": f"int64({_HEAD}, int64, int32[::1])",
    "dictionary.gather_fixed": "int64(int32[::1], uint64[::1], int64, {t}[::1], {t}[::1])",
    "dictionary.gather_pairs": "int64(int32[::1], uint64[::1], int64, uint64[:,::1], uint64[:,::1])",
    "dictionary.measure_byte_arrays": "int64(int32[::1], int64, {o}[::1])",
    "dictionary.gather_byte_arrays": (
        "int64(int32[::1], int64[:,::1], uint64[::1], int32[::1], uint8[::1], {o}[::1], uint8[::1])"
    ),
    "delta.read_integers": f"int64({_HEAD}, {{t}}[::1])",
    "delta_bytes.read_lengths_first": f"int64({_HEAD}, int32[::1], {{o}}[::1], uint8[::1])",
    "delta_bytes.measure_prefixed": f"int64({_PAGES}, int32[::1], int32[::1], int64[::1])",
    "delta_bytes.read_prefixed": f"int64({_HEAD}, int32[::1], int32[::1], uint8[::1], {{o}}[::1], uint8[::1])",
    "byte_stream_split.read_fixed": f"int64({_HEAD}, {{t}}[::1])",
    "byte_stream_split.read_wide": f"int64({_HEAD}, int64, uint8[::1])",
    "spread.spread_wide": "void(uint8[::1], int64, int64, int64, int64, uint64[::1])",
    "spread.clear_pairs": "void(uint64[:,::1], int64, int64, uint64[::1])",
    "views.read_plain_views": f"int64({_HEAD}, int64, uint64[:,::1])",
    "views.make_views": "int64({o}[::1], uint8[::1], int64, int64, uint64[:,::1])",
    "utf8.check_utf8": "int64({o}[::1], int64, uint8[::1])",
    "utf8.check_utf8_entries": "int64(int32[::1], int64, uint8[::1])",
    "utf8.check_utf8_views": "int64(uint64[:,::1], int64, int64, uint8[::1])",
    "utf8.pages_are_ascii": f"boolean({_PAGES})",
    "decimal.widen_integers": "int64({t}[::1], int64, uint64[:,::1])",
    # Filters: pages in the row space of a window, verdicts, survivors
    "take.slice_pages": f"int64({_PAGES}, boolean, int64, int64, uint64[::1], int64[::1], int64[:,::1])",
    "take.take_indexes": f"int64({_PAGES}, int32[::1], int64, int32[::1])",
    "take.take_fixed": f"int64({_PAGES}, int32[::1], uint64[::1], {{t}}[::1])",
    "take.find_byte_arrays": f"int64({_PAGES}, int32[::1], int64[::1], int32[::1])",
    "take.copy_byte_arrays": f"int64({_PAGES}, int64[::1], int32[::1], uint64[::1], {{o}}[::1], uint8[::1])",
    "compare.test_words": "int64({t}[::1], int64, uint64, int64, uint64[::1], uint64[::1], uint8[::1], uint8[::1])",
    "compare.test_plain": f"int64({_PAGES}, int64, uint64, int64, uint64[::1], uint64[::1], uint8[::1], uint8[::1])",
    "compare.test_plain_byte_arrays": f"int64({_PAGES}, {_BOUNDS}, int64, int64, uint8[::1])",
    "compare.test_byte_arrays": f"int64({{o}}[::1], uint8[::1], int64, {_BOUNDS}, int64, uint8[::1])",
    "compare.test_wide": f"int64(uint8[::1], int64, int64, {_BOUNDS}, int64, uint8[::1])",
    "compare.compare_keys": "int64(uint64[::1], uint64[::1], int64, int64, uint8[::1])",
    "compare.compare_byte_arrays": (
        "int64({o}[::1], uint8[::1], {o}[::1], uint8[::1], int64, int64, int64, uint8[::1])"
    ),
    "chunk.narrow_numbers": (
        f"int64({_PAGES}, {_CHUNK}, int64, uint64, int64, uint64[::1], uint64[::1], uint8[::1], int64, {_NARROWED})"
    ),
    "chunk.narrow_byte_arrays": f"int64({_PAGES}, {_CHUNK}, {_BOUNDS}, int64, int64, int64, {_NARROWED})",
    "chunk.take_numbers": f"int64({_PAGES}, {_CHUNK}, {_TAKEN}, int32[::1], {{t}}[::1])",
    "chunk.find_taken_bytes": f"int64({_PAGES}, {_CHUNK}, {_TAKEN}, int32[::1], int64, int64[::1], int32[::1])",
    "group.place_columns": "int64(int64[:,::1], int64[:,::1], int64, int64)",
    "group.narrow_group": (
        f"int64({_PAGES}, int64[:,::1], int64[:,::1], int64[::1], uint64[::1], uint64[::1], uint8[::1], {_BOUNDS}, "
        "boolean, int64, int64, uint8[::1], int64[:,::1], int64[:,::1], uint64[:,::1], int64[::1], uint8[::1], "
        "uint8[::1], uint8[::1], int64[:,::1], int64[:,::1], int32[::1])"
    ),
    "group.take_group": (
        f"int64(uint8[::1], {_PAGES}, int64[:,::1], int64[:,::1], boolean, int64, int32[::1], uint8[::1], "
        "int64[:,::1], int64[:,::1], uint64[:,::1], int64[::1], int64[:,::1], int32[::1], int64[:,::1], "
        "uint64[:,::1], int32[::1], int32[::1], uint32[::1], uint64[::1], int32[::1], int64[::1], int32[::1], "
        "uint32[::1], uint64[::1])"
    ),
    "group.copy_group": (
        "int64(int64[:,::1], int64[:,::1], int64[:,::1], int64, uint8[::1], int64[:,::1], int64[:,::1], "
        "uint64[:,::1], int32[::1], int64[::1], int32[::1], int32[::1], uint8[::1])"
    ),
    "lookup.find_rows": (
        f"int64({_PAGES}, int64[:,::1], int64[:,::1], int64[:,::1], boolean, int64, uint64, int64, uint64[::1], "
        f"uint64[::1], uint8[::1], {_BOUNDS}, int64, boolean, boolean, int64, uint8[::1], int64[:,::1], int64[:,::1], "
        "uint64[:,::1], int64[::1], int32[::1], uint8[::1], int32[::1], int64[:,::1], int32[::1])"
    ),
    "lookup.take_rows": (
        f"int64(uint8[::1], {_PAGES}, int64[:,::1], int64[:,::1], int64[:,::1], boolean, int64, int32[::1], "
        "uint8[::1], int64[:,::1], int64[:,::1], uint64[:,::1], int64[::1], int64[:,::1], int32[::1], int64[:,::1], "
        "uint64[:,::1], int32[::1], uint32[::1], uint64[::1], int32[::1], int64[::1], int32[::1], uint32[::1], "
        "uint64[::1])"
    ),
    "fused.narrow_dictionary": (
        f"int64({_PAGES}, boolean, int64, int64, uint64[::1], int64[::1], int64[:,::1], "
        "int64, uint8[::1], uint8[::1], uint8[::1], int64)"
    ),
    "select.count_mask": "int64(uint8[::1], int64, int64)",
    "select.live_pages": "int64(uint8[::1], int64[:,::1], uint8[::1])",
    "select.mark_pages": "int64(int32[::1], int64[:,::1], uint8[::1])",
    "select.list_positions": "int64(uint8[::1], int64, int64, int32[::1])",
    "select.narrow": "int64(uint8[::1], int64[:,::1], uint64[::1], uint8[::1], int64)",
    "select.take_words": "int64({t}[::1], int32[::1], {t}[::1])",
    "select.take_pairs": "int64(uint64[:,::1], int32[::1], uint64[:,::1])",
    "select.take_wide": "int64(uint8[::1], int64, int32[::1], uint8[::1])",
    "select.take_bits": "int64(uint64[::1], int32[::1], uint64[::1])",
    "select.measure_taken": "int64({o}[::1], int32[::1])",
    "select.take_byte_arrays": "int64({o}[::1], uint8[::1], int32[::1], {o}[::1], uint8[::1])",
    "select.take_lists": "int64(int32[::1], int32[::1], int32[::1], int32[::1])",
    "select.any_of_lists": "int64(int32[::1], uint8[::1], uint8[::1])",
    "select.all_of_lists": "int64(int32[::1], uint8[::1], uint8[::1])",
    "select.rank_survivors": (
        "int64(int32[::1], int64[:,::1], uint64[::1], int32[::1], uint64[::1], int64[:,::1])"
    ),
}
