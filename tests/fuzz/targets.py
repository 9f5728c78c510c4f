"""What coverage-guided fuzzing feeds: for each target, honest inputs and the file that is built around an input."""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from tests.support import pages as p

ROWS = 40
SNAPPY_BLOCK = b"\x28\x04abcd\x9a\x04\x00"

NUMBERS = [(7 * k) % 23 for k in range(ROWS)]
TEXTS = [f"text {k % 7}".encode() for k in range(ROWS)]
VALUES: dict[int, list[Any]] = {
    p.BOOLEAN: [k % 3 == 0 for k in range(ROWS)],
    p.INT32: NUMBERS,
    p.INT64: [k << 33 for k in NUMBERS],
    p.FLOAT: [k / 4 for k in NUMBERS],
    p.DOUBLE_TYPE: [k / 8 for k in NUMBERS],
    p.INT96: [struct.pack("<qi", k, 2440588) for k in NUMBERS],
    p.BYTE_ARRAY: TEXTS,
    p.FLBA: [text.ljust(8, b".") for text in TEXTS],
}
NAMES = {getattr(p, name): name for name in ("BOOLEAN", "INT32", "INT64", "INT96", "FLOAT", "BYTE_ARRAY", "FLBA")}
NAMES[p.DOUBLE_TYPE] = "DOUBLE"
ENCODINGS = {
    "PLAIN": [p.BOOLEAN, p.INT32, p.DOUBLE_TYPE, p.INT96, p.BYTE_ARRAY, p.FLBA],
    "RLE": [p.BOOLEAN],
    "DELTA_BINARY_PACKED": [p.INT32, p.INT64],
    "DELTA_LENGTH_BYTE_ARRAY": [p.BYTE_ARRAY],
    "DELTA_BYTE_ARRAY": [p.BYTE_ARRAY, p.FLBA],
    "BYTE_STREAM_SPLIT": [p.FLOAT, p.INT64, p.FLBA],
    "RLE_DICTIONARY": [p.INT32, p.BYTE_ARRAY, p.BOOLEAN],
}


@dataclass(frozen=True)
class Target:
    """Honest inputs, and what turns any input into a file."""

    seeds: list[bytes]
    build: Callable[[bytes], bytes]


def _leaf(physical: int) -> p.Node:
    length = {"type_length": 8} if physical == p.FLBA else {}
    return p.leaf("x", physical, p.OPTIONAL, **length)


def _flat(physical: int, encoding: int, **how: Any) -> tuple[p.Node, p.Chunk]:
    """One optional column on one page."""
    root = p.group("root", _leaf(physical))
    (path,) = p.leaf_paths(root)
    values = VALUES[physical]
    entries = p.shred(path, [{"x": None if k % 9 == 4 else values[k]} for k in range(ROWS)])
    dictionary = [*dict.fromkeys(values)] if encoding == p.RLE_DICTIONARY else None
    return root, p.simple_chunk(path, entries, encoding, dictionary=dictionary, **how)


def _with_page(root: p.Node, chunk: p.Chunk, number: int, **change: Any) -> bytes:
    pages = [replace(page, **change) if k == number else page for k, page in enumerate(chunk.pages)]
    return p.build_file(root, [p.RowGroup([replace(chunk, pages=pages)], ROWS)])


def _values(physical: int, encoding: int, number: int = -1) -> Target:
    """The body of a page behind its levels; `number` 0 with a dictionary is the dictionary page."""
    root, chunk = _flat(physical, encoding)
    number %= len(chunk.pages)
    page = chunk.pages[number]
    levels = b""
    if page.kind != p.DICTIONARY_PAGE:
        levels = page.body[: 4 + struct.unpack_from("<I", page.body)[0]]
    return Target([page.body[len(levels) :]], lambda data: _with_page(root, chunk, number, body=levels + data))


def _levels(version: int, form: str) -> Target:
    """Repetition and definition levels, and the values behind them."""
    root = p.group("root", p.list_group("x", p.leaf("element", p.INT32, p.OPTIONAL)))
    (path,) = p.leaf_paths(root)
    records = [{"x": [None, [], [1, None, k], [k]][k % 4]} for k in range(ROWS)]
    chunk = p.simple_chunk(path, p.shred(path, records), p.PLAIN, version, levels=form)
    return Target([chunk.pages[0].body], lambda data: _with_page(root, chunk, 0, body=data))


def _snappy() -> Target:
    root, chunk = _flat(p.BYTE_ARRAY, p.PLAIN, codec=p.SNAPPY)
    body = chunk.pages[0].body
    return Target(
        [p.COMPRESS[p.SNAPPY](body), SNAPPY_BLOCK],
        lambda data: _with_page(root, chunk, 0, compress=lambda _body: data),
    )


def _take_apart(file: bytes) -> tuple[bytes, p.Thrift]:
    (length,) = struct.unpack_from("<I", file, len(file) - 8)
    start = len(file) - 8 - length
    return file[:start], p.read_struct(file, start)[0]


def _closed(front: bytes, footer: bytes) -> bytes:
    return front + footer + struct.pack("<I", len(footer)) + b"PAR1"


def _indexed() -> bytes:
    root = p.group("root", p.leaf("x", p.INT64))
    (path,) = p.leaf_paths(root)
    bloom = p.record({1: p.i32(32), **{field: p.record({1: p.record({})}) for field in (2, 3, 4)}}).encode() + bytes(32)
    index = p.record(
        {
            1: p.list_of([p.boolean(False)] * 4),
            2: p.list_of([p.binary(struct.pack("<q", 10 * k)) for k in range(4)]),
            3: p.list_of([p.binary(struct.pack("<q", 10 * k + 9)) for k in range(4)]),
            4: p.i32(1),
            5: p.list_of([p.i64(0)] * 4),
        }
    )
    chunk = p.simple_chunk(
        path,
        p.shred(path, [{"x": k} for k in range(ROWS)]),
        per_page=10,
        offset_index=True,
        column_index=index,
        bloom=bloom,
    )
    return p.build_file(root, [p.RowGroup([chunk], ROWS)])


def _footer() -> Target:
    front, footer = _take_apart(_indexed())
    return Target([footer.encode()], lambda data: _closed(front, data))


def _header() -> Target:
    """The header of the first of two pages; the column chunk is as long as they are."""
    root, chunk = _flat(p.INT32, p.PLAIN, per_page=ROWS // 2)
    front, _ = _take_apart(p.build_file(root, [p.RowGroup([chunk], ROWS)]))
    header, end = p.read_struct(front, 4)

    def build(data: bytes) -> bytes:
        before, footer = _take_apart(p.build_file(root, [p.RowGroup([chunk], ROWS)]))
        about = footer.value[4].value[1][0].value[1].value[1][0].value[3].value
        about[7] = p.i64(about[7].value + len(data) - (end - 4))
        return _closed(before[:4] + data + before[end:], footer.encode())

    return Target([header.encode()], build)


def _index(kind: str) -> Target:
    """An offset index, column index or bloom filter, put behind everything else."""
    file = _indexed()
    column = _take_apart(file)[1].value[4].value[1][0].value[1].value[1][0].value
    offset, size = {"offset index": (4, 5), "column index": (6, 7), "bloom filter": (14, 15)}[kind]
    holder = column[3].value if kind == "bloom filter" else column
    start = holder[offset].value
    length = holder[size].value if size in holder else 64
    honest = file[start : start + length]

    def build(data: bytes) -> bytes:
        front, footer = _take_apart(file)
        fields = footer.value[4].value[1][0].value[1].value[1][0].value
        fields = fields[3].value if kind == "bloom filter" else fields
        fields[offset], fields[size] = p.i64(len(front)), p.i32(len(data))
        return _closed(front + data, footer.encode())

    return Target([honest], build)


def all_targets() -> dict[str, Target]:
    """By name, cheapest structures first."""
    found = {
        "footer": _footer(),
        "page header": _header(),
        "offset index": _index("offset index"),
        "column index": _index("column index"),
        "bloom filter": _index("bloom filter"),
        "levels V1": _levels(1, "auto"),
        "levels V2": _levels(2, "auto"),
        "levels BIT_PACKED": _levels(1, "BIT_PACKED"),
        "snappy": _snappy(),
    }
    for encoding, kinds in ENCODINGS.items():
        for physical in kinds:
            found[f"{encoding} {NAMES[physical]}"] = _values(physical, getattr(p, encoding))
    for physical in (p.INT32, p.BYTE_ARRAY):
        found[f"dictionary page {NAMES[physical]}"] = _values(physical, p.RLE_DICTIONARY, 0)
    return found
