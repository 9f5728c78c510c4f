"""The oracle: file bytes to levels, physical values, nested records and logical Python values, slowly and obviously.

Pure Python loops, one page after the other, no numpy and nothing of hardwood_jit. It trusts the file: a malformed
one may end in any exception. `decode(data)` gives a `NaiveFile`; what tests compare with is

- `leaf_records(i)`: one value per record for one leaf, following SEMANTICS section 4: a struct layer is None or a
  1-tuple around what is inside, a repeated layer None or a list, the leaf None or its physical value;
- `records()`: whole records, physical leaves: struct -> dict, list -> list, map -> list of (key, value) tuples
  (a map without values: list of its keys);
- `logical_records()`: the same with date, datetime, Decimal, UUID, str ... at the leaves, as `Scan.rows` gives them.
"""

from __future__ import annotations

import datetime as dt
import math
import struct
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from tests.support import pages as p

Entry = tuple[int, int, Any]  # repetition level, definition level, value or None

_CONVERTED = {
    p.UTF8: ("STRING", {}),
    p.CONVERTED_MAP: ("MAP", {}),
    p.MAP_KEY_VALUE: ("MAP", {}),
    p.CONVERTED_LIST: ("LIST", {}),
    p.ENUM: ("ENUM", {}),
    p.DATE: ("DATE", {}),
    p.TIME_MILLIS: ("TIME", {"unit": "ms", "utc": True}),
    p.TIME_MICROS: ("TIME", {"unit": "us", "utc": True}),
    p.TIMESTAMP_MILLIS: ("TIMESTAMP", {"unit": "ms", "utc": True}),
    p.TIMESTAMP_MICROS: ("TIMESTAMP", {"unit": "us", "utc": True}),
    p.UINT_8: ("INTEGER", {"bits": 8, "signed": False}),
    p.UINT_16: ("INTEGER", {"bits": 16, "signed": False}),
    p.UINT_32: ("INTEGER", {"bits": 32, "signed": False}),
    p.UINT_64: ("INTEGER", {"bits": 64, "signed": False}),
    p.INT_8: ("INTEGER", {"bits": 8, "signed": True}),
    p.INT_16: ("INTEGER", {"bits": 16, "signed": True}),
    p.INT_32: ("INTEGER", {"bits": 32, "signed": True}),
    p.INT_64: ("INTEGER", {"bits": 64, "signed": True}),
    p.JSON: ("JSON", {}),
    p.BSON: ("BSON", {}),
    p.INTERVAL: ("INTERVAL", {}),
}

_LOGICAL_NAMES = {
    1: "STRING",
    2: "MAP",
    3: "LIST",
    4: "ENUM",
    5: "DECIMAL",
    6: "DATE",
    7: "TIME",
    8: "TIMESTAMP",
    10: "INTEGER",
    11: "UNKNOWN",
    12: "JSON",
    13: "BSON",
    14: "UUID",
    15: "FLOAT16",
    16: "VARIANT",
    17: "GEOMETRY",
    18: "GEOGRAPHY",
}


@dataclass
class Layer:
    """One nesting level above a leaf, with the definition levels that decide about it."""

    kind: str  # "struct" or "repeated"
    valid: int  # definition >= this: present
    item: int = 0  # repeated: definition >= this: non-empty
    repetition: int = 0  # repeated: an entry with this repetition level starts the next item


@dataclass
class Node:
    """A schema element in its place."""

    name: str
    path: tuple[str, ...]
    repetition: int
    physical: int | None
    type_length: int
    logical: str | None
    params: dict[str, Any]
    definition: int
    repetition_level: int
    children: list[Node] = field(default_factory=list)
    leaf_index: int = -1
    layers: list[Layer] = field(default_factory=list)

    @property
    def shape(self) -> str:
        """ "list" and "map" only where the group has a single, repeated child; "leaf" or "struct" otherwise."""
        if self.physical is not None:
            return "leaf"
        if self.logical in ("LIST", "MAP") and len(self.children) == 1 and self.children[0].repetition == p.REPEATED:
            return self.logical.lower()
        return "struct"

    def leaves(self) -> list[Node]:
        return [self] if self.physical is not None else [leaf for child in self.children for leaf in child.leaves()]

    def wrapped_element(self) -> Node | None:
        """Of a list: the child below the repeated group, or None where the repeated node itself is the element."""
        middle = self.children[0]
        if middle.physical is not None or len(middle.children) != 1:
            return None
        if middle.children[0].repetition == p.REPEATED or middle.name in ("array", self.name + "_tuple"):
            return None
        return middle.children[0]


def _annotation(element: dict[int, Any]) -> tuple[str | None, dict[str, Any]]:
    union = element.get(10)
    if union:
        number, inside = next(iter(union.items()))
        name = _LOGICAL_NAMES.get(number)
        if name == "DECIMAL":
            return name, {"scale": inside[1], "precision": inside[2]}
        if name in ("TIME", "TIMESTAMP"):
            return name, {"unit": {1: "ms", 2: "us", 3: "ns"}[next(iter(inside[2]))], "utc": inside[1]}
        if name == "INTEGER":
            return name, {"bits": inside[1], "signed": inside[2]}
        return name, {}  # the logical type wins: an unknown one hides the converted type too
    converted = element.get(6)
    if converted == p.DECIMAL:
        return "DECIMAL", {"scale": element.get(7) or 0, "precision": element.get(8)}
    return _CONVERTED.get(converted, (None, {})) if converted is not None else (None, {})


def _build_schema(elements: list[dict[int, Any]]) -> tuple[Node, list[Node]]:
    remaining = iter(elements)
    leaves: list[Node] = []

    def build(parent: Node | None) -> Node:
        element = next(remaining)
        repetition = p.REQUIRED if parent is None else element.get(3, p.REQUIRED)
        above = (0, 0) if parent is None else (parent.definition, parent.repetition_level)
        name = element[4].decode("utf-8", "replace")
        kind, params = _annotation(element)
        node = Node(
            name,
            () if parent is None else (*parent.path, name),
            repetition,
            element.get(1) if not element.get(5) else None,
            element.get(2, 0),
            kind,
            params,
            above[0] + (repetition != p.REQUIRED),
            above[1] + (repetition == p.REPEATED),
        )
        node.children = [build(node) for _ in range(element.get(5, 0) or 0)]
        return node

    root = build(None)

    def walk(node: Node, layers: list[Layer], parent: Node) -> None:
        own = list(layers)
        if parent.shape in ("list", "map") and node.repetition == p.REPEATED:
            pass  # the synthetic middle level: its layer was made for the annotated group
        elif node.repetition == p.REPEATED:
            own.append(Layer("repeated", parent.definition, node.definition, node.repetition_level))
        if node.shape in ("list", "map"):
            middle = node.children[0]
            own.append(Layer("repeated", node.definition, middle.definition, middle.repetition_level))
        elif node.shape == "struct" and node.repetition == p.OPTIONAL:
            own.append(Layer("struct", node.definition))
        if node.shape == "leaf":
            node.leaf_index = len(leaves)
            node.layers = own
            leaves.append(node)
        for child in node.children:
            walk(child, own, node)

    for child in root.children:
        walk(child, [], root)
    return root, leaves


# ---------------------------------------------------------------- value streams


def _unpack(data: bytes, width: int, count: int) -> list[int]:
    whole = int.from_bytes(data, "little")
    mask = (1 << width) - 1
    return [whole >> (number * width) & mask for number in range(count)]


def read_hybrid(data: bytes, width: int, count: int) -> list[int]:
    out: list[int] = []
    pos = 0
    while len(out) < count:
        header, pos = p._read_varint(data, pos)
        if header & 1:
            size = (header >> 1) * width
            out += _unpack(data[pos : pos + size], width, min((header >> 1) * 8, count - len(out)))
            pos += size
        else:
            size = (width + 7) // 8
            value = int.from_bytes(data[pos : pos + size], "little")
            out += [value] * min(header >> 1, count - len(out))
            pos += size
    return out


def read_bit_packed_msb(data: bytes, width: int, count: int) -> list[int]:
    bits = "".join(f"{byte:08b}" for byte in data)
    return [int(bits[number * width : (number + 1) * width], 2) for number in range(count)]


def read_plain(data: bytes, physical: int, type_length: int, count: int) -> list[Any]:
    if physical == p.BOOLEAN:
        return [bool(data[number >> 3] >> (number & 7) & 1) for number in range(count)]
    if physical == p.BYTE_ARRAY:
        out, pos = [], 0
        for _ in range(count):
            (length,) = struct.unpack_from("<I", data, pos)
            out.append(data[pos + 4 : pos + 4 + length])
            pos += 4 + length
        return out
    letter = {p.INT32: "i", p.INT64: "q", p.FLOAT: "f", p.DOUBLE_TYPE: "d"}.get(physical)
    if letter:
        return list(struct.unpack_from(f"<{count}{letter}", data))
    width = 12 if physical == p.INT96 else type_length
    return [data[number * width : (number + 1) * width] for number in range(count)]


def read_delta(data: bytes, bits: int) -> tuple[list[int], int]:
    """The integers and the position after them."""
    block, pos = p._read_varint(data, 0)
    miniblocks, pos = p._read_varint(data, pos)
    total, pos = p._read_varint(data, pos)
    value, pos = p._read_zigzag(data, pos)
    mask, sign = (1 << bits) - 1, 1 << (bits - 1)
    out = [((value + sign) & mask) - sign] if total else []
    per = block // miniblocks
    while len(out) < total:
        low, pos = p._read_zigzag(data, pos)
        widths = data[pos : pos + miniblocks]
        pos += miniblocks
        for width in widths:
            if len(out) >= total:
                break
            for delta in _unpack(data[pos : pos + per * width // 8], width, min(per, total - len(out))):
                value += low + delta
                out.append(((value + sign) & mask) - sign)
            pos += per * width // 8
    return out, pos


def read_delta_lengths(data: bytes) -> list[bytes]:
    lengths, pos = read_delta(data, 32)
    out = []
    for length in lengths:
        out.append(data[pos : pos + length])
        pos += length
    return out


def read_delta_bytes(data: bytes) -> list[bytes]:
    prefixes, pos = read_delta(data, 32)
    out: list[bytes] = []
    for prefix, suffix in zip(prefixes, read_delta_lengths(data[pos:]), strict=True):
        out.append((out[-1][:prefix] if prefix else b"") + suffix)
    return out


def read_split(data: bytes, physical: int, type_length: int, count: int) -> list[Any]:
    width = {p.INT32: 4, p.FLOAT: 4, p.INT64: 8, p.DOUBLE_TYPE: 8}.get(physical, type_length)
    joined = b"".join(data[number::count][:width] for number in range(count))
    return read_plain(joined, physical, type_length, count)


def read_values(data: bytes, encoding: int, leaf: Node, count: int, dictionary: list[Any]) -> list[Any]:
    physical = leaf.physical
    assert physical is not None
    if count == 0:
        return []
    if encoding == p.PLAIN:
        return read_plain(data, physical, leaf.type_length, count)
    if encoding in (p.PLAIN_DICTIONARY, p.RLE_DICTIONARY):
        return (
            [dictionary[index] for index in read_hybrid(data[1:], data[0], count)]
            if data[0]
            else dictionary[:1] * count
        )
    if encoding == p.RLE:
        return [bool(value) for value in read_hybrid(data[4:], 1, count)]
    if encoding == p.DELTA_BINARY_PACKED:
        return read_delta(data, 32 if physical == p.INT32 else 64)[0][:count]
    if encoding == p.DELTA_LENGTH_BYTE_ARRAY:
        return read_delta_lengths(data)[:count]
    if encoding == p.DELTA_BYTE_ARRAY:
        return read_delta_bytes(data)[:count]
    if encoding == p.BYTE_STREAM_SPLIT:
        return read_split(data, physical, leaf.type_length, count)
    raise ValueError(f"encoding {encoding}")


def _read_levels(data: bytes, highest: int, encoding: int, count: int) -> tuple[list[int], int]:
    """Levels of a V1 page and how many bytes they took."""
    if highest == 0:
        return [0] * count, 0
    width = highest.bit_length()
    if encoding == p.BIT_PACKED:
        size = (count * width + 7) // 8
        return read_bit_packed_msb(data[:size], width, count), size
    (length,) = struct.unpack_from("<I", data)
    return read_hybrid(data[4 : 4 + length], width, count), 4 + length


def _entries(repetitions: list[int], definitions: list[int], values: list[Any], highest: int) -> list[Entry]:
    stream = iter(values)
    return [
        (repetition, definition, next(stream) if definition == highest else None)
        for repetition, definition in zip(repetitions, definitions, strict=True)
    ]


def read_chunk(data: bytes, metadata: dict[int, Any], leaf: Node) -> list[Entry]:
    """Every entry of a column chunk."""
    codec, left = metadata[4], metadata[5]
    pos = metadata[9]
    if 0 < metadata.get(11, 0) < pos:
        pos = metadata[11]
    dictionary: list[Any] = []
    out: list[Entry] = []
    max_definition, max_repetition = leaf.definition, leaf.repetition_level
    while left > 0:
        tree, pos = p.read_struct(data, pos)
        header = tree.plain()
        body = data[pos : pos + header[3]]
        pos += header[3]
        if header[1] == p.DICTIONARY_PAGE:
            raw = p.decompress(codec, body, header[2])
            assert leaf.physical is not None
            dictionary = read_plain(raw, leaf.physical, leaf.type_length, header[7][1])
        elif header[1] == p.DATA_PAGE:
            about = header[5]
            raw = p.decompress(codec, body, header[2])
            repetitions, size = _read_levels(raw, max_repetition, about[4], about[1])
            raw = raw[size:]
            definitions, size = _read_levels(raw, max_definition, about[3], about[1])
            count = definitions.count(max_definition)
            values = read_values(raw[size:], about[2], leaf, count, dictionary)
            out += _entries(repetitions, definitions, values, max_definition)
            left -= about[1]
        elif header[1] == p.DATA_PAGE_V2:
            about = header[8]
            first, second = about[6], about[6] + about[5]
            count = about[1]
            repetitions = (
                read_hybrid(body[:first], max_repetition.bit_length(), count) if max_repetition else [0] * count
            )
            definitions = (
                read_hybrid(body[first:second], max_definition.bit_length(), count) if max_definition else [0] * count
            )
            raw = body[second:]
            if about.get(7, True):
                raw = p.decompress(codec, raw, header[2] - second)
            values = read_values(raw, about[4], leaf, definitions.count(max_definition), dictionary)
            out += _entries(repetitions, definitions, values, max_definition)
            left -= count
    return out


# ---------------------------------------------------------------- records


def split_records(entries: Sequence[Entry]) -> list[list[Entry]]:
    out: list[list[Entry]] = []
    for entry in entries:
        if entry[0] == 0:
            out.append([])
        out[-1].append(entry)
    return out


def _split_items(entries: list[Entry], level: int) -> list[list[Entry]]:
    out: list[list[Entry]] = [[]]
    for number, entry in enumerate(entries):
        if number and entry[0] <= level:
            out.append([])
        out[-1].append(entry)
    return out


def assemble_leaf(entries: list[Entry], leaf: Node, depth: int = 0) -> Any:
    """One record of one leaf through its layers."""
    definition = entries[0][1]
    if depth == len(leaf.layers):
        return entries[0][2] if definition == leaf.definition else None
    layer = leaf.layers[depth]
    if definition < layer.valid:
        return None
    if layer.kind == "struct":
        return (assemble_leaf(entries, leaf, depth + 1),)
    if definition < layer.item:
        return []
    return [assemble_leaf(item, leaf, depth + 1) for item in _split_items(entries, layer.repetition)]


def _assemble(node: Node, columns: dict[int, list[Entry]], convert: Callable[[Node, Any], Any]) -> Any:
    """One present, unrepeated occurrence of `node`."""
    if node.shape == "leaf":
        ((_, definition, value),) = columns[node.leaf_index]
        return convert(node, value) if definition == node.definition else None
    if node.shape == "list":
        middle = node.children[0]
        inner = node.wrapped_element()
        items = _occurrences(middle, columns)
        if inner is None:
            return [_assemble(middle, item, convert) for item in items]
        return [_field(inner, item, convert) for item in items]
    if node.shape == "map":
        entries = node.children[0]
        items = _occurrences(entries, columns)
        if len(entries.children) == 1:  # key-only: the keys themselves
            return [_field(entries.children[0], item, convert) for item in items]
        return [tuple(_field(child, item, convert) for child in entries.children[:2]) for item in items]
    return {child.name: _field(child, columns, convert) for child in node.children}


def _occurrences(node: Node, columns: dict[int, list[Entry]]) -> list[dict[int, list[Entry]]]:
    """The repetitions of a repeated node; all its leaves must agree about their number."""
    below = [leaf.leaf_index for leaf in node.leaves()]
    if columns[below[0]][0][1] < node.definition:
        return []
    parts = {index: _split_items(columns[index], node.repetition_level) for index in below}
    (count,) = {len(part) for part in parts.values()}
    return [{index: part[number] for index, part in parts.items()} for number in range(count)]


def _field(node: Node, columns: dict[int, list[Entry]], convert: Callable[[Node, Any], Any]) -> Any:
    if node.repetition == p.REPEATED:
        return [_assemble(node, item, convert) for item in _occurrences(node, columns)]
    if node.repetition == p.OPTIONAL and columns[node.leaves()[0].leaf_index][0][1] < node.definition:
        return None
    return _assemble(node, columns, convert)


# ---------------------------------------------------------------- logical values

_EPOCH = dt.datetime(1970, 1, 1)
_PER_SECOND = {"ms": 1000, "us": 10**6, "ns": 10**9}


def _instant(count: int, unit: str, utc: bool) -> dt.datetime:
    moment = _EPOCH + dt.timedelta(microseconds=count * 10**6 // _PER_SECOND[unit])
    return moment.replace(tzinfo=dt.UTC) if utc else moment


def int96_nanoseconds(value: bytes) -> int:
    nanoseconds, day = struct.unpack("<qi", value)
    return int((day - 2440588) * 86400 * 10**9 + nanoseconds)


def exact_decimal(unscaled: int, scale: int) -> Decimal:
    """No context, no rounding, whatever the number of digits."""
    return Decimal((int(unscaled < 0), tuple(int(digit) for digit in str(abs(unscaled))), -scale))


def logical_value(leaf: Node, value: Any) -> Any:
    """What `Scan.rows` gives for a stored value. Instants that Python cannot hold raise OverflowError."""
    kind, params = leaf.logical, leaf.params
    if kind in ("STRING", "ENUM", "JSON"):
        return value.decode()
    if kind == "DECIMAL":
        return exact_decimal(
            value if isinstance(value, int) else int.from_bytes(value, "big", signed=True), params["scale"]
        )
    if kind == "DATE":
        return dt.date(1970, 1, 1) + dt.timedelta(days=value)
    if kind == "TIME":
        return (_EPOCH + dt.timedelta(microseconds=value * 10**6 // _PER_SECOND[params["unit"]])).time()
    if kind == "TIMESTAMP":
        return _instant(value, params["unit"], params["utc"])
    if kind == "INTEGER" and not params["signed"]:
        return value & ((1 << params["bits"]) - 1)
    if kind == "UUID":
        return uuid.UUID(bytes=value)
    if kind == "FLOAT16":
        return struct.unpack("<e", value)[0]
    if kind == "INTERVAL":
        return struct.unpack("<III", value)
    if leaf.physical == p.INT96:
        return _instant(int96_nanoseconds(value), "ns", True)
    return value


class NaiveFile:
    """A decoded file."""

    def __init__(self, data: bytes) -> None:
        (length,) = struct.unpack_from("<I", data, len(data) - 8)
        self.footer = p.read_struct(data, len(data) - 8 - length)[0].plain()
        self.root, self.leaves = _build_schema(self.footer[2])
        self.groups: list[dict[int, Any]] = self.footer.get(4, [])
        self.group_rows: list[int] = [group[3] for group in self.groups]
        self.num_rows = sum(self.group_rows)
        self._data = data
        self._entries: dict[int, list[Entry]] = {}

    def entries(self, index: int) -> list[Entry]:
        """(repetition, definition, value) of one leaf over all row groups."""
        if index not in self._entries:
            self._entries[index] = [
                entry
                for group in self.groups
                for entry in read_chunk(self._data, group[1][index][3], self.leaves[index])
            ]
        return self._entries[index]

    def leaf_records(self, index: int) -> list[Any]:
        return [assemble_leaf(entries, self.leaves[index]) for entries in split_records(self.entries(index))]

    def records(self, convert: Callable[[Node, Any], Any] = lambda leaf, value: value) -> list[dict[str, Any]]:
        columns = [split_records(self.entries(number)) for number in range(len(self.leaves))]
        out = []
        for row in range(self.num_rows):
            own = {number: column[row] for number, column in enumerate(columns)}
            out.append({child.name: _field(child, own, convert) for child in self.root.children})
        return out

    def logical_records(self) -> list[dict[str, Any]]:
        return self.records(logical_value)


def decode(data: bytes) -> NaiveFile:
    return NaiveFile(data)


def same(left: Any, right: Any) -> bool:
    """Equality that tells -0.0 from 0.0 and 1 from True and 1.0, and calls NaN equal to NaN."""
    if isinstance(left, float) and isinstance(right, float):
        if math.isnan(left) or math.isnan(right):
            return math.isnan(left) and math.isnan(right)
        return left == right and math.copysign(1, left) == math.copysign(1, right)
    if isinstance(left, dict) and isinstance(right, dict):
        return list(left) == list(right) and all(same(left[key], right[key]) for key in left)
    if (isinstance(left, tuple) and isinstance(right, tuple)) or (isinstance(left, list) and isinstance(right, list)):
        return len(left) == len(right) and all(same(one, other) for one, other in zip(left, right, strict=True))
    if isinstance(left, Decimal) and isinstance(right, Decimal):
        return left == right and left.as_tuple().exponent == right.as_tuple().exponent
    return type(left) is type(right) and bool(left == right)


def first_difference(left: Sequence[Any], right: Sequence[Any]) -> str | None:
    """A sentence about the first row that is not `same`, or None."""
    for row, (one, other) in enumerate(zip(left, right, strict=False)):
        if not same(one, other):
            return f"row {row}: {one!r} is not {other!r}"
    return None if len(left) == len(right) else f"{len(left)} rows are not {len(right)} rows"
