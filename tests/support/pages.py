"""Builds Parquet files byte by byte: Thrift, levels, encodings, page headers, footers, also forms no writer produces.

Nothing in this module comes from hardwood_jit, so that a shared mistake cannot hide. Thrift structures are kept as
typed trees (`Thrift`), which can be read, changed and written back unchanged: the mutation tests rewrite whole files.
"""

from __future__ import annotations

import itertools
import struct
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import cramjam

# ---------------------------------------------------------------- Thrift compact protocol

TRUE, FALSE, BYTE, I16, I32, I64, DOUBLE, BINARY, LIST, SET, MAP, STRUCT = range(1, 13)


class Thrift(NamedTuple):
    """A typed Thrift value. Structs hold dict[field id, Thrift]; lists hold (element kind, list of Thrift)."""

    kind: int
    value: Any

    def plain(self) -> Any:
        """The value without its types: dict, list, int, bytes, bool, float."""
        if self.kind == STRUCT:
            return {number: item.plain() for number, item in self.value.items()}
        if self.kind in (LIST, SET):
            return [item.plain() for item in self.value[1]]
        if self.kind == MAP:
            return [(key.plain(), value.plain()) for key, value in self.value[2]]
        return self.value

    def encode(self) -> bytes:
        return encode(self)


def boolean(value: bool) -> Thrift:
    return Thrift(TRUE if value else FALSE, value)


def byte(value: int) -> Thrift:
    return Thrift(BYTE, value)


def i16(value: int) -> Thrift:
    return Thrift(I16, value)


def i32(value: int) -> Thrift:
    return Thrift(I32, value)


def i64(value: int) -> Thrift:
    return Thrift(I64, value)


def double(value: float) -> Thrift:
    return Thrift(DOUBLE, value)


def binary(value: bytes | str) -> Thrift:
    return Thrift(BINARY, value.encode() if isinstance(value, str) else value)


def list_of(items: Iterable[Thrift], kind: int | None = None) -> Thrift:
    found = list(items)
    return Thrift(LIST, (kind if kind is not None else found[0].kind, found))


def record(fields: Mapping[int, Thrift | None]) -> Thrift:
    """A struct; fields that are None are left out."""
    return Thrift(STRUCT, {number: item for number, item in fields.items() if item is not None})


def varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def zigzag(value: int) -> int:
    """Sign folded into the lowest bit, for any size of integer."""
    return (value << 1) if value >= 0 else ((-value << 1) - 1)


def encode(item: Thrift) -> bytes:
    kind, value = item
    if kind in (TRUE, FALSE):
        return b""
    if kind == BYTE:
        return struct.pack("b", value)
    if kind in (I16, I32, I64):
        return varint(zigzag(value))
    if kind == DOUBLE:
        return struct.pack("<d", value)
    if kind == BINARY:
        return varint(len(value)) + value
    if kind in (LIST, SET):
        element, items = value
        count = len(items)
        head = bytes([count << 4 | element]) if count < 15 else bytes([0xF0 | element]) + varint(count)
        if element in (TRUE, FALSE):
            return head + bytes(TRUE if entry.value else FALSE for entry in items)
        return head + b"".join(encode(entry) for entry in items)
    if kind == MAP:
        key_kind, value_kind, entries = value
        if not entries:
            return b"\0"
        head = varint(len(entries)) + bytes([key_kind << 4 | value_kind])
        return head + b"".join(encode(key) + encode(entry) for key, entry in entries)
    if kind == STRUCT:
        out = bytearray()
        last = 0
        for number, entry in value.items():
            step = number - last
            code = (TRUE if entry.value else FALSE) if entry.kind in (TRUE, FALSE) else entry.kind
            out += bytes([step << 4 | code]) if 0 < step < 16 else bytes([code]) + varint(zigzag(number))
            out += encode(entry)
            last = number
        return bytes(out) + b"\0"
    raise ValueError(f"Thrift kind {kind}")


def _read_varint(data: bytes, pos: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        one = data[pos]
        pos += 1
        value |= (one & 0x7F) << shift
        if one < 0x80:
            return value, pos
        shift += 7


def _read_zigzag(data: bytes, pos: int) -> tuple[int, int]:
    value, pos = _read_varint(data, pos)
    return (value >> 1) ^ -(value & 1), pos


def read_value(data: bytes, pos: int, kind: int) -> tuple[Thrift, int]:
    """Read one value of a known kind; honest files only, nothing is checked."""
    if kind in (TRUE, FALSE):
        return Thrift(kind, kind == TRUE), pos
    if kind == BYTE:
        return Thrift(kind, struct.unpack_from("b", data, pos)[0]), pos + 1
    if kind in (I16, I32, I64):
        value, pos = _read_zigzag(data, pos)
        return Thrift(kind, value), pos
    if kind == DOUBLE:
        return Thrift(kind, struct.unpack_from("<d", data, pos)[0]), pos + 8
    if kind == BINARY:
        length, pos = _read_varint(data, pos)
        return Thrift(kind, bytes(data[pos : pos + length])), pos + length
    if kind in (LIST, SET):
        count, element = data[pos] >> 4, data[pos] & 15
        pos += 1
        if count == 15:
            count, pos = _read_varint(data, pos)
        items: list[Thrift] = []
        for _ in range(count):
            if element in (TRUE, FALSE):
                entry, pos = Thrift(element, data[pos] == TRUE), pos + 1
            else:
                entry, pos = read_value(data, pos, element)
            items.append(entry)
        return Thrift(kind, (element, items)), pos
    if kind == MAP:
        count, pos = _read_varint(data, pos)
        if count == 0:
            return Thrift(kind, (0, 0, [])), pos
        kinds = data[pos]
        pos += 1
        entries = []
        for _ in range(count):
            key, pos = read_value(data, pos, kinds >> 4)
            entry, pos = read_value(data, pos, kinds & 15)
            entries.append((key, entry))
        return Thrift(kind, (kinds >> 4, kinds & 15, entries)), pos
    if kind == STRUCT:
        return read_struct(data, pos)
    raise ValueError(f"Thrift kind {kind}")


def read_struct(data: bytes, pos: int = 0) -> tuple[Thrift, int]:
    """Read a struct; returns it and the position after it."""
    fields: dict[int, Thrift] = {}
    last = 0
    while True:
        head = data[pos]
        pos += 1
        if head == 0:
            return Thrift(STRUCT, fields), pos
        if head >> 4:
            last += head >> 4
        else:
            last, pos = _read_zigzag(data, pos)
        fields[last], pos = read_value(data, pos, head & 15)


# ---------------------------------------------------------------- the numbers of parquet.thrift

BOOLEAN, INT32, INT64, INT96, FLOAT, DOUBLE_TYPE, BYTE_ARRAY, FLBA = range(8)
REQUIRED, OPTIONAL, REPEATED = range(3)
PLAIN, PLAIN_DICTIONARY, RLE, BIT_PACKED = 0, 2, 3, 4
DELTA_BINARY_PACKED, DELTA_LENGTH_BYTE_ARRAY, DELTA_BYTE_ARRAY, RLE_DICTIONARY, BYTE_STREAM_SPLIT = 5, 6, 7, 8, 9
UNCOMPRESSED, SNAPPY, GZIP, LZO, BROTLI, LZ4, ZSTD, LZ4_RAW = range(8)
DATA_PAGE, INDEX_PAGE, DICTIONARY_PAGE, DATA_PAGE_V2 = range(4)

# ConvertedType
UTF8, CONVERTED_MAP, MAP_KEY_VALUE, CONVERTED_LIST, ENUM, DECIMAL, DATE, TIME_MILLIS, TIME_MICROS = range(9)
TIMESTAMP_MILLIS, TIMESTAMP_MICROS, UINT_8, UINT_16, UINT_32, UINT_64, INT_8, INT_16, INT_32, INT_64 = range(9, 19)
JSON, BSON, INTERVAL = 19, 20, 21

_LOGICAL = {
    "STRING": 1,
    "MAP": 2,
    "LIST": 3,
    "ENUM": 4,
    "DECIMAL": 5,
    "DATE": 6,
    "TIME": 7,
    "TIMESTAMP": 8,
    "INTEGER": 10,
    "UNKNOWN": 11,
    "JSON": 12,
    "BSON": 13,
    "UUID": 14,
    "FLOAT16": 15,
    "VARIANT": 16,
    "GEOMETRY": 17,
    "GEOGRAPHY": 18,
}


def logical(name: str, **given: Any) -> Thrift:
    """A LogicalType union member, such as logical("TIMESTAMP", unit="us", utc=True)."""
    inside: dict[int, Thrift | None] = {}
    if name == "DECIMAL":
        inside = {1: i32(given["scale"]), 2: i32(given["precision"])}
    elif name in ("TIME", "TIMESTAMP"):
        unit = {"ms": 1, "us": 2, "ns": 3}[given["unit"]]
        inside = {1: boolean(given["utc"]), 2: record({unit: record({})})}
    elif name == "INTEGER":
        inside = {1: byte(given["bits"]), 2: boolean(given["signed"])}
    elif name == "VARIANT":
        inside = {1: byte(given.get("version", 1))}
    elif name in ("GEOMETRY", "GEOGRAPHY"):
        inside = {1: binary(given["crs"]) if "crs" in given else None}
    return record({_LOGICAL[name] if name in _LOGICAL else given["number"]: record(inside)})


@dataclass(frozen=True)
class Node:
    """A schema element and its children; a leaf has a physical type."""

    name: str
    repetition: int = REQUIRED
    physical: int | None = None
    children: tuple[Node, ...] = ()
    type_length: int | None = None
    converted: int | None = None
    logical: Thrift | None = None
    scale: int | None = None
    precision: int | None = None
    field_id: int | None = None

    def elements(self, is_root: bool = False) -> list[Thrift]:
        """The flattened schema list of this subtree."""
        own = record(
            {
                1: None if self.physical is None else i32(self.physical),
                2: None if self.type_length is None else i32(self.type_length),
                3: None if is_root else i32(self.repetition),
                4: binary(self.name),
                5: i32(len(self.children)) if self.physical is None else None,
                6: None if self.converted is None else i32(self.converted),
                7: None if self.scale is None else i32(self.scale),
                8: None if self.precision is None else i32(self.precision),
                9: None if self.field_id is None else i32(self.field_id),
                10: self.logical,
            }
        )
        return [own, *(element for child in self.children for element in child.elements())]


def leaf(name: str, physical: int, repetition: int = REQUIRED, **rest: Any) -> Node:
    return Node(name, repetition, physical, **rest)


def group(name: str, *children: Node, repetition: int = REQUIRED, **rest: Any) -> Node:
    return Node(name, repetition, None, children, **rest)


def list_group(name: str, element: Node, repetition: int = OPTIONAL, converted_only: bool = False) -> Node:
    """The standard three-level list around `element`."""
    return group(
        name,
        group("list", element, repetition=REPEATED),
        repetition=repetition,
        converted=CONVERTED_LIST,
        logical=None if converted_only else logical("LIST"),
    )


def map_group(
    name: str, key: Node, value: Node | None, repetition: int = OPTIONAL, converted: int = CONVERTED_MAP
) -> Node:
    entries = (key,) if value is None else (key, value)
    return group(
        name,
        group("key_value", *entries, repetition=REPEATED),
        repetition=repetition,
        converted=converted,
        logical=logical("MAP") if converted == CONVERTED_MAP else None,
    )


class PathStep(NamedTuple):
    """One node on the way from the root to a leaf, with the levels that hold at it."""

    node: Node
    definition: int
    repetition: int


def leaf_paths(root: Node) -> list[tuple[PathStep, ...]]:
    """The way to every leaf, in schema order; the root itself is left out."""
    found: list[tuple[PathStep, ...]] = []

    def walk(node: Node, above: tuple[PathStep, ...], definition: int, repetition: int) -> None:
        for child in node.children:
            inner_definition = definition + (child.repetition != REQUIRED)
            inner_repetition = repetition + (child.repetition == REPEATED)
            here = (*above, PathStep(child, inner_definition, inner_repetition))
            if child.physical is not None:
                found.append(here)
            else:
                walk(child, here, inner_definition, inner_repetition)

    walk(root, (), 0, 0)
    return found


# ---------------------------------------------------------------- records -> levels

Entry = tuple[int, int, Any]  # repetition level, definition level, value (None when absent)


def shred(path: Sequence[PathStep], records: Sequence[Mapping[str, Any]]) -> list[Entry]:
    """Dremel's column striping of one leaf.

    Records follow the stored structure: groups are dicts, repeated fields lists, absent optional fields None. A group
    may also be given as the bare value of its only child: [1, 2] for {"list": [{"element": 1}, {"element": 2}]}.
    """
    out: list[Entry] = []

    def walk(value: Any, depth: int, repetition: int, definition: int) -> None:
        if depth == len(path):
            out.append((repetition, definition, value))
            return
        step = path[depth]
        inner = _child(value, path[depth - 1].node if depth else None, step.node)
        if step.node.repetition == REPEATED:
            if not inner:
                out.append((repetition, step.definition - 1, None))
                return
            for number, item in enumerate(inner):
                walk(item, depth + 1, repetition if number == 0 else step.repetition, step.definition)
        elif step.node.repetition == OPTIONAL and inner is None:
            out.append((repetition, step.definition - 1, None))
        else:
            walk(inner, depth + 1, repetition, step.definition)

    for item in records:
        walk(item, 0, 0, 0)
    return out


def _child(value: Any, parent: Node | None, child: Node) -> Any:
    if isinstance(value, Mapping):
        return value.get(child.name)
    if isinstance(value, tuple) and parent is not None and len(value) == len(parent.children):
        return value[parent.children.index(child)]
    return value


# ---------------------------------------------------------------- encodings


def pack_bits(values: Sequence[int], width: int) -> bytes:
    """Least significant bit first, as in bit-packed runs and DELTA_BINARY_PACKED."""
    total = 0
    for number, value in enumerate(values):
        total |= value << (number * width)
    return total.to_bytes((len(values) * width + 7) // 8, "little")


def pack_bits_msb(values: Sequence[int], width: int) -> bytes:
    """Most significant bit first, as in the legacy BIT_PACKED levels."""
    total = 0
    for value in values:
        total = total << width | value
    spare = -len(values) * width % 8
    return (total << spare).to_bytes((len(values) * width + 7) // 8, "big")


def hybrid(values: Sequence[int], width: int, form: str = "auto", cut_padding: bool = False) -> bytes:
    """RLE / bit-packed hybrid without a length prefix.

    form: "rle" only repeats, "packed" one bit-packed run, "ones" bit-packed runs of a single group, "auto" both mixed.
    cut_padding leaves out the bytes of the last packed group that hold padding only, as some writers do.
    """
    out = bytearray()

    def repeat(value: int, count: int) -> None:
        nonlocal out
        out += varint(count << 1) + value.to_bytes((width + 7) // 8, "little")

    def packed(chunk: Sequence[int]) -> None:
        nonlocal out
        groups = -(-len(chunk) // 8)
        body = pack_bits([*chunk, *[0] * (groups * 8 - len(chunk))], width)
        if cut_padding:
            body = body[: (len(chunk) * width + 7) // 8]
        out += varint(groups << 1 | 1) + body

    if form == "packed":
        if values:
            packed(values)
        return bytes(out)
    if form == "ones":
        for start in range(0, len(values), 8):
            packed(values[start : start + 8])
        return bytes(out)
    pos = 0
    while pos < len(values):
        same = pos + 1
        while same < len(values) and values[same] == values[pos]:
            same += 1
        if form == "rle" or same - pos >= 8 or len(values) - pos < 8:
            repeat(values[pos], same - pos)
            pos = same
        else:
            # A packed run that is not the last one must be full: take whole groups of eight.
            packed(values[pos : pos + 8])
            pos += 8
    return bytes(out)


def level_width(highest: int) -> int:
    return highest.bit_length()


def levels_v1(levels: Sequence[int], highest: int, form: str = "auto") -> bytes:
    """Levels of a V1 page: hybrid behind a 4-byte length, or legacy BIT_PACKED; nothing when the maximum is 0."""
    if highest == 0:
        return b""
    if form == "BIT_PACKED":
        return pack_bits_msb(levels, level_width(highest))
    body = hybrid(levels, level_width(highest), form)
    return struct.pack("<I", len(body)) + body


def levels_v2(levels: Sequence[int], highest: int, form: str = "auto") -> bytes:
    return hybrid(levels, level_width(highest), form) if highest else b""


_PACK = {INT32: "<i", INT64: "<q", FLOAT: "<f", DOUBLE_TYPE: "<d"}


def plain_one(physical: int, value: Any) -> bytes:
    """One value as PLAIN bytes; a byte array without its length."""
    return struct.pack(_PACK[physical], value) if physical in _PACK else bytes(value)


def plain(physical: int, values: Sequence[Any]) -> bytes:
    if physical == BOOLEAN:
        return pack_bits([int(value) for value in values], 1)
    if physical == BYTE_ARRAY:
        return b"".join(struct.pack("<I", len(value)) + value for value in values)
    return b"".join(plain_one(physical, value) for value in values)


def rle_booleans(values: Sequence[bool], form: str = "auto") -> bytes:
    body = hybrid([int(value) for value in values], 1, form)
    return struct.pack("<I", len(body)) + body


def delta_binary_packed(
    values: Sequence[int], bits: int = 64, block: int = 128, miniblocks: int = 4, unused_width: int = 0, wide: int = 0
) -> bytes:
    """DELTA_BINARY_PACKED with any block size (multiple of 128) and miniblock count (block / count a multiple of 32).

    unused_width is written for miniblocks past the last value, which readers must ignore; wide adds that many bits to
    every width, which is legal if wasteful.
    """
    mask = (1 << bits) - 1
    sign = 1 << (bits - 1)

    def wrap(number: int) -> int:
        return ((number + sign) & mask) - sign

    first = values[0] if values else 0
    out = bytearray(varint(block) + varint(miniblocks) + varint(len(values)) + varint(zigzag(first)))
    deltas = [wrap(after - before) for before, after in itertools.pairwise(values)]
    per = block // miniblocks
    for start in range(0, len(deltas), block):
        part = deltas[start : start + block]
        low = min(part)
        rest = [(delta - low) & mask for delta in part]
        widths, bodies = [], []
        for number in range(miniblocks):
            piece = rest[number * per : (number + 1) * per]
            if not piece:
                widths.append(unused_width)
                continue
            width = min(bits, max(piece).bit_length() + wide)
            widths.append(width)
            bodies.append(pack_bits([*piece, *[0] * (per - len(piece))], width))
        out += varint(zigzag(low)) + bytes(widths) + b"".join(bodies)
    return bytes(out)


def delta_length_byte_array(values: Sequence[bytes], **form: int) -> bytes:
    return delta_binary_packed([len(value) for value in values], 32, **form) + b"".join(values)


def delta_byte_array(values: Sequence[bytes], **form: int) -> bytes:
    prefixes, suffixes = [], []
    before = b""
    for value in values:
        shared = 0
        while shared < min(len(before), len(value)) and before[shared] == value[shared]:
            shared += 1
        prefixes.append(shared)
        suffixes.append(value[shared:])
        before = value
    return delta_binary_packed(prefixes, 32, **form) + delta_length_byte_array(suffixes, **form)


def byte_stream_split(physical: int, values: Sequence[Any]) -> bytes:
    rows = [plain_one(physical, value) for value in values]
    width = len(rows[0]) if rows else 0
    return b"".join(bytes(row[position] for row in rows) for position in range(width))


def dictionary_indexes(indexes: Sequence[int], width: int, form: str = "auto", cut_padding: bool = False) -> bytes:
    return bytes([width]) + (hybrid(indexes, width, form, cut_padding) if width else b"")


def encode_values(encoding: int, physical: int, values: Sequence[Any], **form: Any) -> bytes:
    """The value stream of one page, for every encoding that needs no dictionary."""
    if encoding == PLAIN:
        return plain(physical, values)
    if encoding == RLE:
        return rle_booleans(values, **form)
    if encoding == DELTA_BINARY_PACKED:
        return delta_binary_packed(values, 32 if physical == INT32 else 64, **form)
    if encoding == DELTA_LENGTH_BYTE_ARRAY:
        return delta_length_byte_array(values, **form)
    if encoding == DELTA_BYTE_ARRAY:
        return delta_byte_array(values, **form)
    if encoding == BYTE_STREAM_SPLIT:
        return byte_stream_split(physical, values)
    raise ValueError(f"encoding {encoding}")


# ---------------------------------------------------------------- codecs


def _gzip_member(data: bytes) -> bytes:
    packer = zlib.compressobj(6, zlib.DEFLATED, 31)
    return packer.compress(data) + packer.flush()


def _gzip_two_members(data: bytes) -> bytes:
    half = len(data) // 2
    return _gzip_member(data[:half]) + _gzip_member(data[half:])


def lz4_block(data: bytes) -> bytes:
    return bytes(cramjam.lz4.compress_block(data, store_size=False)) if data else b"\0"


def hadoop_lz4(data: bytes, frame: int = 1 << 16, blocks: int = 1) -> bytes:
    """Hadoop framing: big-endian decompressed and compressed sizes before each block, `blocks` blocks in one frame."""
    out = b""
    for start in range(0, max(len(data), 1), frame):
        part = data[start : start + frame]
        out += struct.pack(">I", len(part))
        step = -(-len(part) // blocks) or 1
        for inner in range(0, max(len(part), 1), step):
            body = lz4_block(part[inner : inner + step])
            out += struct.pack(">I", len(body)) + body
    return out


COMPRESS: dict[int, Callable[[bytes], bytes]] = {
    UNCOMPRESSED: lambda data: data,
    SNAPPY: lambda data: bytes(cramjam.snappy.compress_raw(data)),
    GZIP: _gzip_member,
    BROTLI: lambda data: bytes(cramjam.brotli.compress(data)),
    LZ4: hadoop_lz4,
    ZSTD: lambda data: bytes(cramjam.zstd.compress(data)),
    LZ4_RAW: lz4_block,
}


def gunzip(data: bytes) -> bytes:
    """Every member of a gzip stream."""
    out = b""
    while data:
        opener = zlib.decompressobj(31)
        out += opener.decompress(data) + opener.flush()
        data = opener.unused_data
    return out


def _unlz4_block(data: bytes, size: int) -> bytes:
    return bytes(cramjam.lz4.decompress_block(data, output_len=size)) if size else b""


def _unlz4_hadoop(data: bytes, size: int) -> bytes:
    """Hadoop frames, or a bare block where the bytes do not look like frames."""
    out, pos = b"", 0
    try:
        while len(out) < size:
            (frame,) = struct.unpack_from(">I", data, pos)
            pos += 4
            stop = len(out) + frame
            if stop > size:
                raise ValueError
            while len(out) < stop:
                (length,) = struct.unpack_from(">I", data, pos)
                pos += 4
                if length > len(data) - pos:
                    raise ValueError
                # A frame may hold several blocks, and only the sum of their decompressed sizes is known.
                out += _lz4_by_hand(data[pos : pos + length])
                pos += length
        return out
    except (ValueError, struct.error, IndexError):
        return _unlz4_block(data, size)


def _lz4_by_hand(data: bytes) -> bytes:
    """A single LZ4 block of unknown decompressed size."""
    out, pos = bytearray(), 0
    while pos < len(data):
        token = data[pos]
        pos += 1
        length = token >> 4
        if length == 15:
            while True:
                length += data[pos]
                pos += 1
                if data[pos - 1] != 255:
                    break
        out += data[pos : pos + length]
        pos += length
        if pos >= len(data):
            break
        distance = data[pos] | data[pos + 1] << 8
        pos += 2
        length = (token & 15) + 4
        if token & 15 == 15:
            while True:
                length += data[pos]
                pos += 1
                if data[pos - 1] != 255:
                    break
        if not 0 < distance <= len(out):
            raise ValueError("LZ4 distance")
        for _ in range(length):
            out.append(out[-distance])
    return bytes(out)


def decompress(codec: int, data: bytes, size: int) -> bytes:
    """The decompressed page; `size` is what its header announces."""
    if codec == UNCOMPRESSED:
        return data
    if codec == SNAPPY:
        return bytes(cramjam.snappy.decompress_raw(data)) if data else b""
    if codec == GZIP:
        return gunzip(data)
    if codec == BROTLI:
        return bytes(cramjam.brotli.decompress(data)) if size else b""
    if codec == ZSTD:
        return bytes(cramjam.zstd.decompress(data)) if data else b""
    if codec == LZ4_RAW:
        return _unlz4_block(data, size)
    if codec == LZ4:
        return _unlz4_hadoop(data, size)
    raise ValueError(f"codec {codec}")


# ---------------------------------------------------------------- pages


@dataclass
class Page:
    """A page ready to be written: its header struct without sizes, and its body before compression.

    plain_prefix bytes of the body stay uncompressed (the levels of a V2 page). `rows` is None when the page has no
    place in an offset index (dictionary, index and unknown pages).
    """

    kind: int
    header: Thrift | None  # the struct of this kind: field 5, 6, 7 or 8 of PageHeader
    body: bytes
    value_count: int = 0
    rows: int | None = None
    plain_prefix: int = 0
    compressed: bool = True
    crc: str = "none"  # "none", "right", "wrong"
    compress: Callable[[bytes], bytes] | None = None  # instead of the chunk's codec
    header_size_change: int = 0  # lie about uncompressed_page_size by this much
    nulls: int = 0

    def encode(self, codec: int) -> tuple[bytes, bytes]:
        """(header bytes, body bytes)"""
        values = self.body[self.plain_prefix :]
        pack = self.compress or COMPRESS[codec]
        body = self.body[: self.plain_prefix] + (pack(values) if self.compressed else values)
        crc = zlib.crc32(body) ^ (1 if self.crc == "wrong" else 0)
        number = {DATA_PAGE: 5, INDEX_PAGE: 6, DICTIONARY_PAGE: 7, DATA_PAGE_V2: 8}.get(self.kind)
        fields: dict[int, Thrift | None] = {
            1: i32(self.kind),
            2: i32(len(self.body) + self.header_size_change),
            3: i32(len(body)),
            4: None if self.crc == "none" else i32(crc - (1 << 32) if crc >> 31 else crc),
        }
        if number is not None:
            fields[number] = self.header
        return record(fields).encode(), body


def count_records(entries: Sequence[Entry]) -> int:
    return sum(1 for entry in entries if entry[0] == 0)


def present(entries: Sequence[Entry], max_definition: int) -> list[Any]:
    return [value for _, definition, value in entries if definition == max_definition]


def data_page_v1(
    path: Sequence[PathStep],
    entries: Sequence[Entry],
    encoding: int = PLAIN,
    values: bytes | None = None,
    levels: str = "auto",
    **page: Any,
) -> Page:
    """A V1 page; `values` overrides the encoded stream, `levels` is a form of `hybrid` or "BIT_PACKED"."""
    last = path[-1]
    stream = present(entries, last.definition)
    body = (
        levels_v1([entry[0] for entry in entries], last.repetition, levels)
        + levels_v1([entry[1] for entry in entries], last.definition, levels)
        + (encode_values(encoding, last.node.physical or 0, stream) if values is None else values)
    )
    level_encoding = BIT_PACKED if levels == "BIT_PACKED" else RLE
    header = record({1: i32(len(entries)), 2: i32(encoding), 3: i32(level_encoding), 4: i32(level_encoding)})
    nulls = len(entries) - len(stream)
    return Page(DATA_PAGE, header, body, len(entries), count_records(entries), nulls=nulls, **page)


def data_page_v2(
    path: Sequence[PathStep],
    entries: Sequence[Entry],
    encoding: int = PLAIN,
    values: bytes | None = None,
    levels: str = "auto",
    compressed: bool = True,
    write_flag: bool = True,
    **page: Any,
) -> Page:
    """A V2 page: levels before the compressed part; write_flag=False leaves is_compressed out (it defaults to true)."""
    last = path[-1]
    stream = present(entries, last.definition)
    repetition = levels_v2([entry[0] for entry in entries], last.repetition, levels)
    definition = levels_v2([entry[1] for entry in entries], last.definition, levels)
    body = encode_values(encoding, last.node.physical or 0, stream) if values is None else values
    nulls = len(entries) - len(stream)
    header = record(
        {
            1: i32(len(entries)),
            2: i32(nulls),
            3: i32(count_records(entries)),
            4: i32(encoding),
            5: i32(len(definition)),
            6: i32(len(repetition)),
            7: boolean(compressed) if write_flag else None,
        }
    )
    return Page(
        DATA_PAGE_V2,
        header,
        repetition + definition + body,
        len(entries),
        count_records(entries),
        plain_prefix=len(repetition) + len(definition),
        compressed=compressed,
        nulls=nulls,
        **page,
    )


def dictionary_page(physical: int, values: Sequence[Any], encoding: int = PLAIN, **page: Any) -> Page:
    header = record({1: i32(len(values)), 2: i32(encoding)})
    return Page(DICTIONARY_PAGE, header, plain(physical, values), **page)


def index_page(body: bytes = b"whatever") -> Page:
    return Page(INDEX_PAGE, record({}), body)


def unknown_page(kind: int = 9, body: bytes = b"from the future") -> Page:
    return Page(kind, None, body)


# ---------------------------------------------------------------- files


@dataclass
class Chunk:
    """One column chunk: its pages and what the footer says about them."""

    pages: list[Page]
    codec: int = UNCOMPRESSED
    dictionary_offset: str = "right"  # "right", "absent", "zero"; the last two as some writers leave it
    data_offset: str = "right"  # "right", or "dictionary": points at the dictionary page
    offset_index: bool = False
    column_index: Thrift | None = None
    bloom: bytes | None = None
    statistics: Thrift | None = None
    file_path: str | None = None
    crypto: Thrift | None = None
    encodings: Sequence[int] | None = None
    value_count: int | None = None
    extra: Mapping[int, Thrift] = field(default_factory=dict)  # more fields of ColumnMetaData


@dataclass
class RowGroup:
    chunks: list[Chunk]
    rows: int
    footer: Mapping[int, Thrift] = field(default_factory=dict)


@dataclass
class Region:
    """What some bytes of a file are: "header", "levels", "values", "index", "bloom", "footer"."""

    kind: str
    start: int
    end: int


def _level_bytes(path: Sequence[PathStep], page: Page) -> int:
    """How many bytes of a V1 or V2 body are levels."""
    if page.kind == DATA_PAGE_V2:
        return page.plain_prefix
    if page.kind != DATA_PAGE or page.header is None:
        return 0
    last, fields = path[-1], page.header.plain()
    pos = 0
    for highest, encoding in ((last.repetition, fields[4]), (last.definition, fields[3])):
        if highest == 0:
            continue
        if encoding == BIT_PACKED:
            pos += (page.value_count * level_width(highest) + 7) // 8
        elif pos + 4 > len(page.body):  # a page that is damaged on purpose
            return len(page.body)
        else:
            pos += 4 + struct.unpack_from("<I", page.body, pos)[0]
    return min(pos, len(page.body))


def build_file(
    root: Node,
    row_groups: Sequence[RowGroup],
    num_rows: int | None = None,
    key_values: Mapping[str, str | None] | None = None,
    created_by: str | None = "handmade",
    footer: Mapping[int, Thrift] | None = None,
    regions: list[Region] | None = None,
) -> bytes:
    """The whole file. `footer` adds or replaces fields of FileMetaData; `regions` collects what lies where."""
    out = bytearray(b"PAR1")
    paths = leaf_paths(root)
    notes: list[Region] = [] if regions is None else regions
    written: list[tuple[Chunk, dict[int, Thrift | None], list[tuple[int, int, int]]]] = []
    group_structs: list[dict[int, Thrift | None]] = []
    for row_group in row_groups:
        start_of_group = len(out)
        compressed_total = uncompressed_total = 0
        for path, chunk in zip(paths, row_group.chunks, strict=True):
            begin = len(out)
            uncompressed = 0
            data_offset = dictionary_offset = None
            locations: list[tuple[int, int, int]] = []
            rows_before = 0
            for page in chunk.pages:
                header, body = page.encode(chunk.codec)
                at = len(out)
                if page.kind == DICTIONARY_PAGE and dictionary_offset is None:
                    dictionary_offset = at
                if page.kind in (DATA_PAGE, DATA_PAGE_V2):
                    data_offset = at if data_offset is None else data_offset
                    locations.append((at, len(header) + len(body), rows_before))
                    rows_before += page.rows or 0
                notes.append(Region("header", at, at + len(header)))
                levels = _level_bytes(path, page)
                if levels and (chunk.codec == UNCOMPRESSED or page.kind == DATA_PAGE_V2):
                    notes.append(Region("levels", at + len(header), at + len(header) + levels))
                else:
                    levels = 0
                notes.append(Region("values", at + len(header) + levels, at + len(header) + len(body)))
                out += header + body
                uncompressed += len(header) + len(page.body)
            count = sum(page.value_count for page in chunk.pages)
            encodings = chunk.encodings
            if encodings is None:
                encodings = sorted(
                    {
                        page.header.plain()[2 if page.kind != DATA_PAGE_V2 else 4]
                        for page in chunk.pages
                        if page.header and page.kind in (0, 2, 3)
                    }
                    | {RLE}
                )
            if dictionary_offset is not None and chunk.data_offset == "dictionary":
                data_offset = dictionary_offset
            shown: Thrift | None = None
            if chunk.dictionary_offset == "zero":
                shown = i64(0)
            elif chunk.dictionary_offset == "right" and dictionary_offset is not None:
                shown = i64(dictionary_offset)
            metadata: dict[int, Thrift | None] = {
                1: i32(path[-1].node.physical or 0),
                2: list_of((i32(number) for number in encodings), I32),
                3: list_of(binary(step.node.name) for step in path),
                4: i32(chunk.codec),
                5: i64(count if chunk.value_count is None else chunk.value_count),
                6: i64(uncompressed),
                7: i64(len(out) - begin),
                9: i64(data_offset if data_offset is not None else begin),
                11: shown,
                12: chunk.statistics,
            }
            metadata.update(chunk.extra)
            compressed_total += len(out) - begin
            uncompressed_total += uncompressed
            written.append((chunk, metadata, locations))
        group_structs.append(
            {
                2: i64(uncompressed_total),
                3: i64(row_group.rows),
                5: i64(start_of_group),
                6: i64(compressed_total),
                **row_group.footer,
            }
        )
    for chunk, metadata, _ in written:
        if chunk.bloom is not None:
            metadata[14], metadata[15] = i64(len(out)), i32(len(chunk.bloom))
            notes.append(Region("bloom", len(out), len(out) + len(chunk.bloom)))
            out += chunk.bloom
    columns: list[dict[int, Thrift | None]] = []
    for chunk, metadata, locations in written:
        column: dict[int, Thrift | None] = {
            1: None if chunk.file_path is None else binary(chunk.file_path),
            2: i64(0),
            3: record(dict(sorted(metadata.items()))),
            8: chunk.crypto,
        }
        if chunk.column_index is not None:
            body = chunk.column_index.encode()
            column[6], column[7] = i64(len(out)), i32(len(body))
            notes.append(Region("index", len(out), len(out) + len(body)))
            out += body
        if chunk.offset_index:
            places = (record({1: i64(at), 2: i32(size), 3: i64(rows)}) for at, size, rows in locations)
            body = record({1: list_of(places, STRUCT)}).encode()
            column[4], column[5] = i64(len(out)), i32(len(body))
            notes.append(Region("index", len(out), len(out) + len(body)))
            out += body
        columns.append(dict(sorted(column.items())))
    for number, fields in enumerate(group_structs):
        own = columns[number * len(paths) : (number + 1) * len(paths)]
        fields[1] = list_of((record(column) for column in own), STRUCT)
    pairs = [
        record({1: binary(key), 2: None if value is None else binary(value)})
        for key, value in (key_values or {}).items()
    ]
    parts: dict[int, Thrift | None] = {
        1: i32(2),
        2: list_of(root.elements(is_root=True), STRUCT),
        3: i64(sum(row_group.rows for row_group in row_groups) if num_rows is None else num_rows),
        4: list_of((record(dict(sorted(fields.items()))) for fields in group_structs), STRUCT),
        5: list_of(pairs) if pairs else None,
        6: None if created_by is None else binary(created_by),
        7: list_of((record({1: record({})}) for _ in paths), STRUCT),
    }
    parts.update(footer or {})
    body = record(dict(sorted(parts.items()))).encode()
    notes.append(Region("footer", len(out), len(out) + len(body) + 8))
    return bytes(out) + body + struct.pack("<I", len(body)) + b"PAR1"


def simple_chunk(
    path: Sequence[PathStep],
    entries: Sequence[Entry],
    encoding: int = PLAIN,
    version: int = 1,
    per_page: int | None = None,
    codec: int = UNCOMPRESSED,
    levels: str = "auto",
    dictionary: Sequence[Any] | None = None,
    form: Mapping[str, Any] | None = None,
    page_options: Mapping[str, Any] | None = None,
    **chunk: Any,
) -> Chunk:
    """A chunk of one encoding; pages hold whole records of about `per_page` entries. With `dictionary` it is used."""
    last = path[-1]
    physical = last.node.physical or 0
    pages: list[Page] = []
    options = dict(page_options or {})
    if dictionary is not None:
        pages.append(
            dictionary_page(
                physical,
                dictionary,
                PLAIN_DICTIONARY if encoding == PLAIN_DICTIONARY else PLAIN,
                **{key: value for key, value in options.items() if key == "crc"},
            )
        )
    make = data_page_v1 if version == 1 else data_page_v2
    start = 0
    while (
        start < len(entries) or not pages or (start == 0 and not entries and len(pages) < (dictionary is not None) + 1)
    ):
        stop = min(len(entries), start + (per_page or len(entries)))
        while stop < len(entries) and entries[stop][0] != 0:
            stop += 1
        part = entries[start:stop]
        stream = present(part, last.definition)
        values: bytes
        if encoding in (PLAIN_DICTIONARY, RLE_DICTIONARY):
            assert dictionary is not None
            width = max(len(dictionary) - 1, 0).bit_length()
            values = dictionary_indexes([list(dictionary).index(value) for value in stream], width, **(form or {}))
        else:
            values = encode_values(encoding, physical, stream, **(form or {}))
        pages.append(make(path, part, encoding, values, levels, **options))
        start = stop
        if not entries:
            break
    return Chunk(pages, codec, **chunk)


def simple_file(
    root: Node, records: Sequence[Mapping[str, Any]], rows_per_group: int | None = None, **how: Any
) -> bytes:
    """A file of these records, every leaf written by `simple_chunk` with the same options."""
    step = rows_per_group or max(len(records), 1)
    row_groups = []
    for start in range(0, len(records), step):
        part = records[start : start + step]
        chunks = [simple_chunk(path, shred(path, part), **how) for path in leaf_paths(root)]
        row_groups.append(RowGroup(chunks, len(part)))
    return build_file(root, row_groups)
