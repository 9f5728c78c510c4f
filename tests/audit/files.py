"""Files for the audit: one column of a type in every layout, by hand, and by pyarrow where it can write the type.

Statistics, page indexes and bloom filters are worked out from the oracle's order of values, so that they are true
where a reader may believe them. Where it must not (the bounds of INT96 and of types without an order, bloom filters
of types that are never probed) they are wrong on purpose.
"""

from __future__ import annotations

import io
import math
import random
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tests.audit.matrix import Layout, Type
from tests.audit.oracle import UNORDERED, meaning
from tests.support import pages as p

ROWS = 40
MANY = 14  # rows of a group where there are many: three groups, the last shorter
PAGE_ROWS = 5

PHYSICAL = {
    "BOOLEAN": p.BOOLEAN,
    "INT32": p.INT32,
    "INT64": p.INT64,
    "INT96": p.INT96,
    "FLOAT": p.FLOAT,
    "DOUBLE": p.DOUBLE_TYPE,
    "BYTE_ARRAY": p.BYTE_ARRAY,
    "FLBA": p.FLBA,
}
ENCODINGS = {
    "BOOLEAN": (p.PLAIN, p.RLE),
    "INT32": (p.PLAIN, p.DELTA_BINARY_PACKED, p.BYTE_STREAM_SPLIT),
    "INT64": (p.PLAIN, p.DELTA_BINARY_PACKED, p.BYTE_STREAM_SPLIT),
    "INT96": (p.PLAIN,),
    "FLOAT": (p.PLAIN, p.BYTE_STREAM_SPLIT),
    "DOUBLE": (p.PLAIN, p.BYTE_STREAM_SPLIT),
    "BYTE_ARRAY": (p.PLAIN, p.DELTA_LENGTH_BYTE_ARRAY, p.DELTA_BYTE_ARRAY),
    "FLBA": (p.PLAIN, p.DELTA_BYTE_ARRAY, p.BYTE_STREAM_SPLIT),
}
CODECS = (p.UNCOMPRESSED, p.UNCOMPRESSED, p.SNAPPY, p.ZSTD, p.LZ4_RAW, p.GZIP)


@dataclass(frozen=True)
class AuditFile:
    """A file, the path of the column under test, and the stored value (or None) of every row."""

    data: bytes
    column: str
    rows: list[Any]


# ---------------------------------------------------------------- rows


def deal_rows(kind: Type, values: Sequence[Any], nullability: str, is_sorted: bool, rng: random.Random) -> list[Any]:
    """ROWS stored values, in the column's order or in none; nulls in a run and alone."""
    rows = [*values, *(rng.choice(values) for _ in range(ROWS))][:ROWS]
    rng.shuffle(rows)
    if is_sorted:
        rows.sort(key=lambda stored: meaning(kind, stored))
    if nullability == "required":
        return rows
    run = rng.randrange(ROWS - 2 * PAGE_ROWS)  # covers a page, wherever it starts
    for row in (*range(run, run + 2 * PAGE_ROWS), *rng.sample(range(ROWS), 3)):
        rows[row] = None
    return rows


# ---------------------------------------------------------------- schema


def annotation(kind: Type, legacy: bool) -> dict[str, Any]:
    """The schema element's logical type, or the converted type of old writers where there is one that says the same."""
    name = kind.logical
    rest: dict[str, Any] = {"type_length": kind.width} if kind.width else {}
    if name == "DECIMAL":
        rest |= {"scale": kind.scale, "precision": kind.precision, "converted": p.DECIMAL}
    if name == "INTERVAL":
        return {**rest, "converted": p.INTERVAL}
    if name in (None, "INSTANT"):
        return rest
    converted = _converted(kind)
    if legacy and converted is not None:
        return {**rest, "converted": converted}
    given = {
        "DECIMAL": {"precision": kind.precision, "scale": kind.scale},
        "INTEGER": {"bits": kind.bits, "signed": kind.signed},
        "TIME": {"unit": kind.unit, "utc": kind.utc},
        "TIMESTAMP": {"unit": kind.unit, "utc": kind.utc},
    }.get(str(name), {})
    return {**rest, "logical": p.logical(str(name), **given)}


def _converted(kind: Type) -> int | None:
    plain = {"STRING": p.UTF8, "ENUM": p.ENUM, "JSON": p.JSON, "BSON": p.BSON, "DATE": p.DATE, "DECIMAL": p.DECIMAL}
    if kind.logical == "INTEGER":
        return {
            8: (p.UINT_8, p.INT_8),
            16: (p.UINT_16, p.INT_16),
            32: (p.UINT_32, p.INT_32),
            64: (p.UINT_64, p.INT_64),
        }[kind.bits][kind.signed]
    if kind.logical in ("TIME", "TIMESTAMP"):
        if not kind.utc:
            return None
        names = {"TIME": {"ms": p.TIME_MILLIS, "us": p.TIME_MICROS}}
        names["TIMESTAMP"] = {"ms": p.TIMESTAMP_MILLIS, "us": p.TIMESTAMP_MICROS}
        return names[kind.logical].get(kind.unit)
    return plain.get(str(kind.logical))


# ---------------------------------------------------------------- statistics


def stored_bytes(kind: Type, stored: Any) -> bytes:
    """PLAIN, without the length of a byte array."""
    if kind.physical == "BOOLEAN":
        return bytes([stored])
    return p.plain_one(PHYSICAL[kind.physical], stored)


def is_nan(kind: Type, stored: Any) -> bool:
    return kind.is_float and bool(meaning(kind, stored)[0])


@dataclass(frozen=True)
class Bounds:
    low: bytes
    high: bytes
    is_low_exact: bool = True
    is_high_exact: bool = True


def bounds_of(kind: Type, values: Sequence[Any], rng: random.Random) -> Bounds | None:
    """True bounds; wrong ones where nobody may believe them; cut ones for long bytes."""
    if kind.physical == "INT96" or kind.logical in UNORDERED:
        width = 12 if kind.physical == "INT96" else kind.width or 3
        return Bounds(b"\x77" * width, b"\x78" * width) if values else None
    numbers = [stored for stored in values if not is_nan(kind, stored)]
    if not numbers:
        return None
    ordered = sorted(numbers, key=lambda stored: meaning(kind, stored))
    low, high = stored_bytes(kind, ordered[0]), stored_bytes(kind, ordered[-1])
    if kind.is_float:  # writers differ on the sign of a zero
        low, high = (_either_zero(kind, raw, rng) for raw in (low, high))
    if kind.stores_bytes and kind.logical not in ("DECIMAL", "FLOAT16") and rng.random() < 0.4:
        short, top = low[:2], bytearray(high[:2])
        while top and top[-1] == 0xFF:
            top.pop()
        if len(high) > 2 and top:
            top[-1] += 1
            return Bounds(short, bytes(top), len(low) <= 2, False)
    return Bounds(low, high)


def _either_zero(kind: Type, raw: bytes, rng: random.Random) -> bytes:
    value = struct.unpack(kind.float_form, raw)[0]
    return raw if value != 0 else struct.pack(kind.float_form, rng.choice([0.0, -0.0]))


def statistics_of(kind: Type, values: Sequence[Any], slots: int, rng: random.Random) -> p.Thrift | None:
    """Statistics of a chunk or a page of `slots` slots: complete, without counts, old fields only, or none at all."""
    form = rng.choice(["complete", "complete", "complete", "no counts", "counts", "old", "none"])
    if form == "none":
        return None
    fields: dict[int, p.Thrift | None] = {}
    if form != "no counts":
        fields[3] = p.i64(slots - len(values))
        if kind.is_float and rng.random() < 0.7:
            fields[9] = p.i64(sum(is_nan(kind, stored) for stored in values))
    found = None if form == "counts" else bounds_of(kind, values, rng)
    if found is not None and form == "old":
        is_signed = kind.physical in ("INT32", "INT64") and (kind.logical != "INTEGER" or kind.signed)
        garbage = Bounds(b"\x01", b"\x02")  # nobody may believe these but of signed integers
        found = found if is_signed else garbage
        fields[1], fields[2] = p.binary(found.high), p.binary(found.low)
    elif found is not None:
        fields[5], fields[6] = p.binary(found.high), p.binary(found.low)
        is_cut = not (found.is_low_exact and found.is_high_exact)
        if rng.random() < 0.6 or (is_cut and not kind.stores_bytes):
            fields[7], fields[8] = p.boolean(found.is_high_exact), p.boolean(found.is_low_exact)
    return p.record(dict(sorted(fields.items())))


def column_index_of(kind: Type, parts: Sequence[Sequence[Any]], rng: random.Random) -> p.Thrift | None:
    """The page index of pages with these rows; none where a page has values and no bounds, as writers do."""
    bounds, nulls, nans = [], [], []
    for part in parts:
        values = [stored for stored in part if stored is not None]
        found = bounds_of(kind, values, rng)
        if values and found is None:
            return None
        bounds.append(found or Bounds(b"", b""))
        nulls.append(len(part) - len(values))
        nans.append(sum(is_nan(kind, stored) for stored in values))
    is_null = [all(stored is None for stored in part) for part in parts]
    with_counts, with_nans = rng.random() < 0.8, kind.is_float and rng.random() < 0.7
    return p.record(
        {
            1: p.list_of([p.boolean(one) for one in is_null], p.TRUE),
            2: p.list_of([p.binary(one.low) for one in bounds], p.BINARY),
            3: p.list_of([p.binary(one.high) for one in bounds], p.BINARY),
            4: p.i32(0),
            5: p.list_of([p.i64(count) for count in nulls], p.I64) if with_counts else None,
            8: p.list_of([p.i64(count) for count in nans], p.I64) if with_nans else None,
        }
    )


# ---------------------------------------------------------------- bloom filters

_PRIMES = (11400714785074694791, 14029467366897019727, 1609587929392839161, 9650029242287828579, 2870177450012600261)
_SALTS = (0x47B6137B, 0x44974D91, 0x8824AD5B, 0xA2B7289D, 0x705495C7, 0x2DF1424B, 0x9EFC4947, 0x5C6BFB31)
_MASK = (1 << 64) - 1


def _rotated(number: int, by: int) -> int:
    number &= _MASK
    return (number << by | number >> (64 - by)) & _MASK


def xxh64(data: bytes) -> int:
    """XXH64 with seed 0, as its specification says."""
    p1, p2, p3, p4, p5 = _PRIMES

    def mixed(lane: int, word: int) -> int:
        return _rotated(lane + word * p2, 31) * p1 & _MASK

    at = 0
    if len(data) >= 32:
        lanes = [p1 + p2 & _MASK, p2, 0, -p1 & _MASK]
        while at + 32 <= len(data):
            lanes = [mixed(lane, word) for lane, word in zip(lanes, struct.unpack_from("<4Q", data, at), strict=True)]
            at += 32
        found = sum(_rotated(lane, by) for lane, by in zip(lanes, (1, 7, 12, 18), strict=True)) & _MASK
        for lane in lanes:
            found = (found ^ mixed(0, lane)) * p1 + p4 & _MASK
    else:
        found = p5
    found = found + len(data) & _MASK
    while at + 8 <= len(data):
        found = _rotated(found ^ mixed(0, struct.unpack_from("<Q", data, at)[0]), 27) * p1 + p4 & _MASK
        at += 8
    if at + 4 <= len(data):
        found = _rotated(found ^ struct.unpack_from("<I", data, at)[0] * p1, 23) * p2 + p3 & _MASK
        at += 4
    for byte in data[at:]:
        found = _rotated(found ^ byte * p5, 11) * p1 & _MASK
    for shift, prime in ((33, p2), (29, p3), (32, 1)):
        found = (found ^ found >> shift) * prime & _MASK
    return found


def bloom_filter(kind: Type, values: Sequence[Any], blocks: int = 8) -> bytes:
    """A split block filter of these values; empty for types that are never probed, and without NaN and zeros."""
    words = [[0] * 8 for _ in range(blocks)]
    is_probed = kind.logical != "FLOAT16" and kind.physical not in ("BOOLEAN", "INT96")
    is_probed = is_probed and not (kind.logical == "DECIMAL" and kind.physical == "BYTE_ARRAY")
    for stored in values if is_probed else ():
        if kind.is_float and (math.isnan(stored) or stored == 0):
            continue
        hashed = xxh64(stored_bytes(kind, stored))
        block = words[(hashed >> 32) * blocks >> 32]
        for number, salt in enumerate(_SALTS):
            block[number] |= 1 << ((hashed & 0xFFFFFFFF) * salt % (1 << 32) >> 27)
    only = p.record({1: p.record({})})
    header = p.record({1: p.i32(32 * blocks), 2: only, 3: only, 4: only}).encode()
    return header + b"".join(struct.pack("<8I", *block) for block in words)


# ---------------------------------------------------------------- by hand


def _with_statistics(page: p.Page, statistics: p.Thrift | None) -> p.Page:
    assert page.header is not None
    number = 5 if page.kind == p.DATA_PAGE else 8
    page.header = p.record({**page.header.value, number: statistics})
    return page


def _encoding_stats(pages: Sequence[p.Page]) -> p.Thrift:
    counts: dict[tuple[int, int], int] = {}
    for page in pages:
        assert page.header is not None
        key = page.kind, page.header.plain()[4 if page.kind == p.DATA_PAGE_V2 else 2]
        counts[key] = counts.get(key, 0) + 1
    listed = [p.record({1: p.i32(a), 2: p.i32(b), 3: p.i32(n)}) for (a, b), n in counts.items()]
    return p.list_of(listed, p.STRUCT)


def make_chunk(
    kind: Type,
    path: Sequence[p.PathStep],
    entries: Sequence[p.Entry],
    layout: Layout,
    rng: random.Random,
    per_page: int = PAGE_ROWS,
) -> p.Chunk:
    """A column chunk in this layout; `entries` are (repetition, definition, stored value)."""
    physical, highest = PHYSICAL[kind.physical], path[-1].definition
    present = p.present(entries, highest)
    distinct = {stored_bytes(kind, stored): stored for stored in present}
    place = {raw: number for number, raw in enumerate(distinct)}
    width = max(len(place) - 1, 0).bit_length()
    coded = 0 if layout.dictionary == "none" else len(entries) if layout.dictionary == "all" else len(entries) // 2
    pages = [p.dictionary_page(physical, list(distinct.values()))] if coded else []
    encoding = p.PLAIN if layout.encoding == "plain" else rng.choice(ENCODINGS[kind.physical])
    make = p.data_page_v1 if layout.version == 1 else p.data_page_v2
    parts: list[list[Any]] = []
    start = 0
    while start < len(entries):
        stop = min(start + per_page, len(entries))
        while stop < len(entries) and entries[stop][0]:
            stop += 1
        part = entries[start:stop]
        stream = p.present(part, highest)
        parts.append([stored if definition == highest else None for _, definition, stored in part])
        if start < coded:
            values = p.dictionary_indexes([place[stored_bytes(kind, stored)] for stored in stream], width)
            page = make(path, part, p.RLE_DICTIONARY, values)
        else:
            page = make(path, part, encoding)
        if layout.index == "header_statistics":
            page = _with_statistics(page, statistics_of(kind, stream, len(part), rng))
        pages.append(page)
        start = stop
    chunk = p.Chunk(pages, rng.choice(CODECS))
    chunk.statistics = statistics_of(kind, present, len(entries), rng)
    if layout.index == "page_index":
        chunk.offset_index = True
        chunk.column_index = column_index_of(kind, parts, rng)
    if layout.bloom:
        chunk.bloom = bloom_filter(kind, present)
    if rng.random() < 0.8:
        chunk.extra = {13: _encoding_stats(pages)}
    return chunk


ROW_TYPE = Type("INT32", "INT32")


def write_by_hand(columns: Sequence[tuple[Type, p.Node, Sequence[Any]]], layout: Layout, rng: random.Random) -> bytes:
    """A file of these columns (type, schema node, value per record) behind a column `row` that numbers the records."""
    count = len(columns[0][2])
    root = p.group("root", p.leaf("row", p.INT32), *(node for _, node, _ in columns))
    records = [{"row": row, **{node.name: values[row] for _, node, values in columns}} for row in range(count)]
    step = count if layout.groups == "one" else MANY
    groups = []
    kinds = [ROW_TYPE, *(kind for kind, _, _ in columns)]
    for start in range(0, count, step):
        part = records[start : start + step]
        chunks = [
            make_chunk(kind, path, p.shred(path, part), layout, rng)
            for kind, path in zip(kinds, p.leaf_paths(root), strict=True)
        ]
        groups.append(p.RowGroup(chunks, len(part)))
    return p.build_file(root, groups)


def by_hand(kind: Type, nullability: str, values: Sequence[Any], layout: Layout, rng: random.Random) -> AuditFile:
    rows = deal_rows(kind, values, nullability, rng.random() < 0.6, rng)
    repetition = p.REQUIRED if nullability == "required" else p.OPTIONAL
    leaf = p.leaf("amount", PHYSICAL[kind.physical], repetition, **annotation(kind, rng.random() < 0.3))
    if nullability != "in_struct":
        return AuditFile(write_by_hand([(kind, leaf, rows)], layout, rng), "amount", rows)
    outer = p.group("outer", leaf, repetition=p.OPTIONAL)
    structs = [None if stored is None and rng.random() < 0.5 else {"amount": stored} for stored in rows]
    return AuditFile(write_by_hand([(kind, outer, structs)], layout, rng), "outer.amount", rows)


# ---------------------------------------------------------------- by pyarrow


def arrow_array(kind: Type, rows: Sequence[Any]) -> pa.Array | None:
    """The rows as an array that pyarrow writes as this very type; None where it cannot."""

    def cast(storage: pa.DataType, wanted: pa.DataType) -> pa.Array:
        return pa.array(rows, storage).cast(wanted)

    match kind.physical, kind.logical:
        case "BOOLEAN", None:
            return pa.array(rows, pa.bool_())
        case (("INT32" | "INT64"), (None | "INTEGER")):
            if kind.logical == "INTEGER" and kind.signed and kind.bits in (32, 64):
                return None  # written without annotation
            bits = kind.bits or int(kind.physical[3:])
            wanted = getattr(pa, f"{'int' if kind.signed else 'uint'}{bits}")()
            return pa.array([None if stored is None else meaning(kind, stored) for stored in rows], wanted)
        case (("FLOAT" | "DOUBLE"), None):
            return pa.array(rows, pa.float32() if kind.physical == "FLOAT" else pa.float64())
        case _, "FLOAT16":
            halves = [None if stored is None else np.frombuffer(stored, "<f2")[0] for stored in rows]
            return pa.array(halves, pa.float16())
        case (("FLBA" | "INT32" | "INT64"), "DECIMAL"):
            return pa.array([_decimal(kind, stored) for stored in rows], pa.decimal128(kind.precision, kind.scale))
        case _, "DATE":
            return cast(pa.int32(), pa.date32())
        case _, "TIME":
            return cast(pa.int32(), pa.time32("ms")) if kind.unit == "ms" else cast(pa.int64(), pa.time64(kind.unit))
        case _, "TIMESTAMP":
            return cast(pa.int64(), pa.timestamp(kind.unit, tz="UTC" if kind.utc else None))
        case _, "STRING":
            return cast(pa.binary(), pa.string())
        case "BYTE_ARRAY", None:
            return pa.array(rows, pa.binary())
        case "FLBA", (None | "UUID"):
            found = pa.array(rows, pa.binary(kind.width))
            return found if kind.logical is None else pa.ExtensionArray.from_storage(pa.uuid(), found)
    return None


def _decimal(kind: Type, stored: Any) -> Decimal | None:
    if stored is None:
        return None
    number = stored if isinstance(stored, int) else int.from_bytes(stored, "big", signed=True)
    return Decimal((number < 0, tuple(map(int, str(abs(number)))), -kind.scale))


def by_pyarrow(kind: Type, nullability: str, values: Sequence[Any], layout: Layout, rng: random.Random) -> AuditFile:
    rows = deal_rows(kind, values, nullability, rng.random() < 0.6, rng)
    array = arrow_array(kind, rows)
    if array is None:
        raise ValueError(f"pyarrow writes no {kind.name}")
    field = pa.field("amount", array.type, nullable=nullability != "required")
    if nullability == "in_struct":
        mask = pa.array([stored is None and rng.random() < 0.5 for stored in rows])
        array = pa.StructArray.from_arrays([array], fields=[field], mask=mask)
        field = pa.field("outer", array.type)
    column = "outer.amount" if nullability == "in_struct" else "amount"
    schema = pa.schema([pa.field("row", pa.int32(), nullable=False), field])
    table = pa.table([pa.array(range(ROWS), pa.int32()), array], schema=schema)
    out = io.BytesIO()
    pq.write_table(
        table,
        out,
        row_group_size=ROWS if layout.groups == "one" else MANY,
        use_dictionary=layout.dictionary == "all",
        write_page_index=layout.index == "page_index",
        data_page_version=f"{layout.version}.0",
        max_rows_per_page=PAGE_ROWS,
        store_decimal_as_integer=kind.physical in ("INT32", "INT64"),
        write_time_adjusted_to_utc=kind.utc,
        bloom_filter_options={column: {"ndv": ROWS, "fpp": 0.01}}
        if layout.bloom and kind.physical != "BOOLEAN"
        else None,
        compression=rng.choice(["none", "snappy", "zstd"]),
    )
    return AuditFile(out.getvalue(), column, rows)


def make_file(kind: Type, nullability: str, values: Sequence[Any], layout: Layout, rng: random.Random) -> AuditFile:
    make = by_pyarrow if layout.writer == "pyarrow" else by_hand
    return make(kind, nullability, values, layout, rng)
