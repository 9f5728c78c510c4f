"""Schema rows -> a Parquet file without row groups: lets pyarrow show its Arrow type for any annotation."""

from __future__ import annotations

from dataclasses import dataclass, field

BOOLEAN, INT32, INT64, INT96, FLOAT, DOUBLE, BYTE_ARRAY, FLBA = range(8)
REQUIRED, OPTIONAL, REPEATED = range(3)

# Field numbers of the LogicalType union in parquet.thrift.
LOGICAL = {
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
UNIT = {"ms": 1, "us": 2, "ns": 3}

Field = tuple[int, str, object]


@dataclass
class Element:
    """One SchemaElement; `logical` is the union's member name and the fields of its struct."""

    name: str
    repetition: int | None = OPTIONAL
    type: int | None = None
    length: int | None = None
    converted: int | None = None
    scale: int | None = None
    precision: int | None = None
    logical: tuple[str, list[Field]] | None = None
    field_id: int | None = None
    children: list[Element] = field(default_factory=list)

    def flat(self) -> list[Element]:
        return [self, *(below for child in self.children for below in child.flat())]


def varint(value: int) -> bytes:
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def _value(kind: str, value: object) -> tuple[int, bytes]:
    if kind == "bool":
        return (1 if value else 2), b""
    if kind == "i8":
        return 3, bytes([int(str(value)) & 255])
    if kind in ("i32", "i64"):
        number = int(str(value))
        return (5 if kind == "i32" else 6), varint((number << 1) ^ (number >> 63))
    if kind == "str":
        text = str(value).encode()
        return 8, varint(len(text)) + text
    assert isinstance(value, list)
    if kind == "struct":
        return 12, struct(value)
    return 9, bytes([0xF0 | 12]) + varint(len(value)) + b"".join(struct(item) for item in value)


def struct(fields: list[Field]) -> bytes:
    """Compact Thrift: (field id, kind, value) in rising order; "list" holds structs."""
    out = bytearray()
    last = 0
    for number, kind, value in fields:
        code, body = _value(kind, value)
        out += bytes([(number - last) << 4 | code]) if 0 < number - last < 16 else bytes([code]) + varint(number * 2)
        out += body
        last = number
    return bytes(out) + b"\0"


def _element(element: Element) -> list[Field]:
    rows: list[Field | None] = [
        None if element.type is None else (1, "i32", element.type),
        None if element.length is None else (2, "i32", element.length),
        None if element.repetition is None else (3, "i32", element.repetition),
        (4, "str", element.name),
        (5, "i32", len(element.children)) if element.children or element.type is None else None,
        None if element.converted is None else (6, "i32", element.converted),
        None if element.scale is None else (7, "i32", element.scale),
        None if element.precision is None else (8, "i32", element.precision),
        None if element.field_id is None else (9, "i32", element.field_id),
        None
        if element.logical is None
        else (10, "struct", [(LOGICAL[element.logical[0]], "struct", element.logical[1])]),
    ]
    return [row for row in rows if row is not None]


def logical(kind: str, **parts: object) -> tuple[str, list[Field]]:
    """The union member `kind` with its parameters, as `Element.logical` wants it."""
    if kind == "DECIMAL":
        return kind, [(1, "i32", parts["scale"]), (2, "i32", parts["precision"])]
    if kind in ("TIME", "TIMESTAMP"):
        return kind, [(1, "bool", parts["utc"]), (2, "struct", [(UNIT[str(parts["unit"])], "struct", [])])]
    if kind == "INTEGER":
        return kind, [(1, "i8", parts["bits"]), (2, "bool", parts["signed"])]
    return kind, []


def empty_file(columns: list[Element]) -> bytes:
    """A whole file: magic, footer, length, magic; no row groups."""
    root = Element("schema", None, children=columns)
    meta = struct([(1, "i32", 2), (2, "list", [_element(e) for e in root.flat()]), (3, "i64", 0), (4, "list", [])])
    return b"PAR1" + meta + len(meta).to_bytes(4, "little") + b"PAR1"
