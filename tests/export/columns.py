"""Arrow arrays -> Column and Batch, by a slow and obvious walk: the input of the export tests."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from hardwood_jit.batch import NO_NULLS, Batch, Column, Layer, Validity
from hardwood_jit.metadata.footer import read_footer
from hardwood_jit.metadata.schema import Leaf, Schema
from hardwood_jit.options import OpenOptions
from hardwood_jit.physical import PhysicalType
from hardwood_jit.source import open_source

SLACK = 32  # spare bytes behind byte buffers, as the scanner leaves them


def schema_of(file: bytes) -> Schema:
    """The schema in a file's footer."""
    (source,) = open_source(file, OpenOptions())
    with source.open():
        return read_footer(source).schema


def parquet_bytes(table: pa.Table, **options: Any) -> bytes:
    sink = io.BytesIO()
    pq.write_table(table, sink, store_schema=False, **options)
    return sink.getvalue()


def validity(present: Any) -> Validity:
    """`Validity` of a sequence of truth values."""
    flags = np.asarray(present, np.bool_)
    if flags.all():
        return NO_NULLS
    packed = np.zeros(-(-len(flags) // 64) * 8, np.uint8)
    bits = np.packbits(flags, bitorder="little")
    packed[: len(bits)] = bits
    return Validity(packed.view(np.uint64), len(flags))


def byte_buffers(values: list[bytes | None], wide: bool = False) -> tuple[Any, Any]:
    """data, offsets"""
    lengths = [len(value or b"") for value in values]
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64 if wide else np.int32)
    return np.frombuffer(bytearray(b"".join(value or b"" for value in values) + bytes(SLACK)), np.uint8), offsets


def flat_column(leaf: Leaf, values: list[Any], records: int | None = None, layers: tuple[Layer, ...] = ()) -> Column:
    """A column of physical values (int, float, bool, bytes), None for null; null slots hold rubbish."""
    column = Column(
        leaf,
        len(values) if records is None else records,
        len(values),
        validity([value is not None for value in values]),
        layers,
    )
    if leaf.physical_type is PhysicalType.BYTE_ARRAY:
        column.data, column.offsets = byte_buffers(values)
    elif leaf.physical_type in (PhysicalType.FIXED_LEN_BYTE_ARRAY, PhysicalType.INT96):
        width = 12 if leaf.physical_type is PhysicalType.INT96 else int(leaf.type_length or 0)
        raw = b"".join(b"\xfe" * width if value is None else value for value in values)
        column.values = np.frombuffer(bytearray(raw), np.uint8).reshape(len(values), width)
    else:
        dtype = {
            PhysicalType.BOOLEAN: np.bool_,
            PhysicalType.INT32: np.int32,
            PhysicalType.INT64: np.int64,
            PhysicalType.FLOAT: np.float32,
            PhysicalType.DOUBLE: np.float64,
        }[leaf.physical_type]
        rubbish = True if dtype is np.bool_ else -77_777_777
        column.values = np.array([rubbish if value is None else value for value in values], dtype)
    return column


def batch_of(schema: Schema, columns: list[list[Any]], rows: int | None = None) -> Batch:
    """A batch of flat columns, given as physical values."""
    made = tuple(flat_column(leaf, values) for leaf, values in zip(schema.leaves, columns, strict=True))
    return Batch(schema, made, made[0].value_count if rows is None else rows, "trips.parquet", 3)


def _physical(array: pa.Array, leaf: Leaf) -> list[Any]:
    """Arrow leaf values in the form the file stores."""
    if isinstance(array, pa.ExtensionArray):
        array = array.storage
    kind = array.type
    logical = leaf.logical_type
    if pa.types.is_null(kind):
        return [None] * len(array)
    if pa.types.is_decimal(kind):
        assert logical is not None
        numbers = [None if v is None else int(v.scaleb(logical.scale or 0)) for v in array.to_pylist()]
        if leaf.physical_type in (PhysicalType.INT32, PhysicalType.INT64):
            return numbers
        width = leaf.type_length or 20
        return [None if v is None else v.to_bytes(width, "big", signed=True) for v in numbers]
    if pa.types.is_float16(kind):
        return [None if v is None else np.float16(v).tobytes() for v in array.to_pylist()]
    if pa.types.is_string(kind):
        return [None if v is None else v.encode() for v in array.to_pylist()]
    if pa.types.is_temporal(kind):
        return array.view(pa.int32() if kind.bit_width == 32 else pa.int64()).to_pylist()
    if pa.types.is_unsigned_integer(kind) and kind.bit_width >= 32:
        return array.view(pa.int32() if kind.bit_width == 32 else pa.int64()).to_pylist()
    return array.to_pylist()


def _walk(array: pa.Array, field: pa.Field, above: Any, layers: tuple[Layer, ...], found: list[Any]) -> None:
    """Collect (leaf array, presence, layers) of every leaf; `above`: which slots have a present parent."""
    kind = array.type
    present = above & np.asarray(array.is_valid())
    if pa.types.is_struct(kind):
        inner = (*layers, Layer("struct", validity(present))) if field.nullable else layers
        for i in range(kind.num_fields):
            _walk(array.field(i), kind.field(i), present, inner, found)
    elif pa.types.is_list(kind) or pa.types.is_map(kind):
        lengths = np.where(present, array.offsets.to_numpy()[1:] - array.offsets.to_numpy()[:-1], 0)
        offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
        layer = Layer("repeated", validity(present), offsets)
        everything = np.ones(int(offsets[-1]), np.bool_)
        starts = array.offsets.to_numpy()[:-1]
        take = pa.array([int(s) + k for s, n in zip(starts, lengths, strict=True) for k in range(n)], pa.int64())
        if pa.types.is_map(kind):
            _walk(array.keys.take(take), kind.key_field, everything, (*layers, layer), found)
            _walk(array.items.take(take), kind.item_field, everything, (*layers, layer), found)
        else:
            _walk(array.values.take(take), kind.value_field, everything, (*layers, layer), found)
    else:
        found.append((array, present, layers))


def batch_from_arrow(table: pa.Table, schema: Schema | None = None) -> Batch:
    """The batch that reading `table` from a Parquet file should give."""
    if schema is None:
        schema = schema_of(parquet_bytes(table))
    table = table.combine_chunks()
    found: list[Any] = []
    for i, field in enumerate(table.schema):
        chunks = table.column(i).chunks
        array = chunks[0] if chunks else pa.array([], field.type)
        _walk(array, field, np.ones(len(array), np.bool_), (), found)
    columns = []
    for leaf, (array, present, layers) in zip(schema.leaves, found, strict=True):
        values = [v if ok else None for v, ok in zip(_physical(array, leaf), present, strict=True)]
        columns.append(flat_column(leaf, values, table.num_rows, layers))
    return Batch(schema, tuple(columns), table.num_rows, "trips.parquet", 3)
