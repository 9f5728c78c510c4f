"""Parquet schema -> Spark's schema, and Arrow batches -> exactly the Arrow that Spark asks for.

As Spark's own reader does, every column is nullable, unsigned integers become the next wider type and INT96 an instant.
Where Spark's reader refuses, hardwood_jit gives the nearest type that Spark has: FLOAT16 becomes float, UUID its text,
a time of day the stored count as bigint, nanoseconds are cut to microseconds (towards the past, as Spark does with
INT96), decimals of more than 38 digits become text.
"""
# mypy: disable-error-code="import-untyped"

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyspark.sql.types as st
from pyspark.sql.pandas.types import to_arrow_schema

from hardwood_jit.errors import CorruptFileError, SchemaMismatchError, UnsupportedError
from hardwood_jit.export.to_arrow import ArrowOptions
from hardwood_jit.nesting import nests_of
from hardwood_jit.physical import PhysicalType
from hardwood_jit.types import type_of

if TYPE_CHECKING:
    from hardwood_jit.metadata.schema import Leaf, Schema
    from hardwood_jit.nesting import Nest

ARROW = ArrowOptions(int96="us")  # the export that comes nearest to Spark's types

Convert = Callable[[Any, Any], Any]  # (array, Spark's Arrow type) -> array


# --- leaves ---------------------------------------------------------------------------------------------------------


def _cast(array: Any, target: Any) -> Any:
    return array.cast(target)


def _view(array: Any, target: Any) -> Any:
    """The same bytes under another type of the same width."""
    return array.view(target)


def _microseconds(array: Any, target: Any) -> Any:
    """Nanoseconds cut towards the past: a cast would refuse to lose digits."""
    counts = np.frombuffer(array.buffers()[1], np.int64, len(array), array.offset * 8)
    valid = array.buffers()[0]
    return pa.Array.from_buffers(target, len(array), [valid, pa.py_buffer(counts // 1000)], array.null_count)


def _uuid_text(array: Any, target: Any) -> Any:
    from uuid import UUID

    storage = array.storage if isinstance(array, pa.ExtensionArray) else array
    return pa.array([None if raw is None else str(UUID(bytes=raw)) for raw in storage.to_pylist()], target)


def _decimal_text(array: Any, target: Any) -> Any:
    return pa.array([None if number is None else format(number, "f") for number in array.to_pylist()], target)


def _storage(array: Any, target: Any) -> Any:
    return array.storage if isinstance(array, pa.ExtensionArray) else array


def _nulls(array: Any, target: Any) -> Any:
    return pa.nulls(len(array), target)


def _decimal_type(leaf: Leaf) -> st.DataType:
    logical = leaf.logical_type
    assert logical is not None and logical.precision is not None and logical.scale is not None
    return st.DecimalType(logical.precision, logical.scale)


# Row of hardwood_jit.types -> Spark's type, and how its Arrow values are made from ours; None: they are the same.
SPARK: dict[str, tuple[Any, Convert | None]] = {
    "BOOLEAN": (st.BooleanType(), None),
    "INT32": (st.IntegerType(), None),
    "INT64": (st.LongType(), None),
    "INT96": (st.TimestampType(), _view),
    "FLOAT": (st.FloatType(), None),
    "DOUBLE": (st.DoubleType(), None),
    "BYTE_ARRAY": (st.BinaryType(), None),
    "FIXED_LEN_BYTE_ARRAY(n)": (st.BinaryType(), _cast),
    "INTEGER(8, signed)": (st.ByteType(), None),
    "INTEGER(16, signed)": (st.ShortType(), None),
    "INTEGER(32, signed)": (st.IntegerType(), None),
    "INTEGER(64, signed)": (st.LongType(), None),
    "INTEGER(8, unsigned)": (st.ShortType(), _cast),
    "INTEGER(16, unsigned)": (st.IntegerType(), _cast),
    "INTEGER(32, unsigned)": (st.LongType(), _cast),
    "INTEGER(64, unsigned)": (st.DecimalType(20, 0), _cast),
    "FLOAT16": (st.FloatType(), _cast),
    "DECIMAL(p <= 38, s)": (_decimal_type, None),
    "DECIMAL(p > 38, s)": (st.StringType(), _decimal_text),
    "DATE": (st.DateType(), None),
    "TIME(ms)": (st.LongType(), lambda array, target: array.view(pa.int32()).cast(target)),
    "TIME(us)": (st.LongType(), _view),
    "TIME(ns)": (st.LongType(), _view),
    "TIMESTAMP(unit, UTC)": (st.TimestampType(), None),  # by unit, see _leaf
    "TIMESTAMP(unit, local)": (st.TimestampNTZType(), None),
    "INTERVAL": (st.BinaryType(), _cast),
    "STRING": (st.StringType(), None),
    "ENUM": (st.StringType(), _cast),
    "JSON": (st.StringType(), _storage),
    "BSON": (st.BinaryType(), None),
    "UUID": (st.StringType(), _uuid_text),
    "GEOMETRY": (st.BinaryType(), None),
    "GEOGRAPHY": (st.BinaryType(), None),
}
BY_UNIT: dict[str, Convert | None] = {"ms": _cast, "us": None, "ns": _microseconds}

# A column of type UNKNOWN has only nulls; Spark gives it the type in which they are stored.
UNKNOWN: dict[PhysicalType, st.DataType] = {
    PhysicalType.BOOLEAN: st.BooleanType(),
    PhysicalType.INT32: st.IntegerType(),
    PhysicalType.INT64: st.LongType(),
    PhysicalType.INT96: st.TimestampType(),
    PhysicalType.FLOAT: st.FloatType(),
    PhysicalType.DOUBLE: st.DoubleType(),
    PhysicalType.BYTE_ARRAY: st.BinaryType(),
    PhysicalType.FIXED_LEN_BYTE_ARRAY: st.BinaryType(),
}


def _leaf(leaf: Leaf) -> tuple[st.DataType, Convert | None]:
    row = type_of(leaf)
    if row.name == "UNKNOWN":
        return UNKNOWN[leaf.physical_type], _nulls
    found = SPARK.get(row.name)
    if found is None:
        raise UnsupportedError(f"column '{leaf.dotted}': Spark has no type for {row.name}")
    spark_type, convert = found
    if row.conversion == "instant":
        assert leaf.logical_type is not None
        convert = BY_UNIT[str(leaf.logical_type.unit)]
    return (spark_type(leaf) if callable(spark_type) else spark_type), convert


# --- schema ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class SparkNode:
    """A `Nest` with Spark's type and, for a leaf whose values change, their conversion."""

    path: str
    kind: str
    type: st.DataType
    children: tuple[SparkNode, ...] = ()
    convert: Convert | None = None


def _node(nest: Nest) -> SparkNode:
    path = ".".join(nest.node.path)
    if nest.kind == "leaf":
        assert nest.node.leaf is not None
        leaf_type, convert = _leaf(nest.node.leaf)
        return SparkNode(path, "leaf", leaf_type, (), convert)
    children = tuple(_node(child) for child in nest.children)
    if nest.kind == "list":
        spark_type: st.DataType = st.ArrayType(children[0].type, True)
    elif nest.kind == "map":
        spark_type = st.MapType(children[0].type, children[1].type, True)
    else:
        names = [child.name for child in nest.children]
        if not names:
            raise UnsupportedError(f"column '{path}': Spark has no struct without fields")
        spark_type = st.StructType(
            [st.StructField(name, child.type, True) for name, child in zip(names, children, strict=True)]
        )
    return SparkNode(path, nest.kind, spark_type, children)


@lru_cache(maxsize=64)
def _nodes(schema: Schema) -> tuple[tuple[str, SparkNode], ...]:
    return tuple((nest.name, _node(nest)) for nest in nests_of(schema))


def spark_schema(schema: Schema) -> st.StructType:
    """Spark's schema of a projection; all nullable, as `spark.read.parquet` has it.

    >>> from hardwood_jit.spark.spark_types import spark_schema
    >>> spark_schema(hw.open(trips).schema).simpleString()
    'struct<id:bigint,city:string,fare:double,tags:array<string>>'
    """
    return st.StructType([st.StructField(name, node.type, True) for name, node in _nodes(schema)])


def columns_of(wanted: st.StructType, schema: Schema) -> tuple[tuple[str, ...], ...]:
    """The columns that a schema given to `.schema(...)` asks for: its names, and inside structs only its fields."""
    return tuple(path for field in wanted for path in _paths(field, schema.root, ()))


def _paths(field: st.StructField, parent: Any, above: tuple[str, ...]) -> list[tuple[str, ...]]:
    path = (*above, field.name)
    node = parent.child(field.name)
    plain = node is not None and node.leaf is None and not node.is_list and not node.is_map
    if plain and node.repetition.name != "REPEATED" and isinstance(field.dataType, st.StructType):
        return [below for inner in field.dataType for below in _paths(inner, node, path)]
    return [path]


def check_schema(wanted: st.StructType, schema: Schema) -> None:
    """A schema given to `.schema(...)` may leave out and order columns anew; types must be those of the file."""
    for field, (name, node) in zip(wanted, _nodes(schema), strict=True):
        if _bare(field.dataType) != _bare(node.type):
            raise SchemaMismatchError(
                f"column '{name}': the schema asks for {field.dataType.simpleString()}, "
                f"the file has {node.type.simpleString()}; read it as that and cast it in Spark"
            )


def _bare(spark_type: st.DataType) -> str:
    """The type without nullability."""
    return str(spark_type.simpleString())


# --- batches --------------------------------------------------------------------------------------------------------


class ToSpark:
    """Batches of one projection to Spark's Arrow schema: order, nullability, names and types."""

    def __init__(self, schema: Schema, wanted: st.StructType) -> None:
        self.arrow_schema = to_arrow_schema(wanted, timezone="UTC")
        self._nodes = [node for _, node in _nodes(schema)]

    def batch(self, batch: pa.RecordBatch, file: str) -> pa.RecordBatch:
        """The batch in Spark's form; buffers are shared wherever the type allows."""
        arrays = [
            _array(array, field.type, node, file, field.nullable)
            for array, field, node in zip(batch.columns, self.arrow_schema, self._nodes, strict=True)
        ]
        if not arrays:
            return batch
        return pa.RecordBatch.from_arrays(arrays, schema=self.arrow_schema)


def _array(array: Any, target: Any, node: SparkNode, file: str, nullable: bool) -> Any:
    if not nullable and array.null_count:
        raise SchemaMismatchError(f"{file}: column '{node.path}' has nulls, the schema given for it says NOT NULL")
    if node.kind == "leaf":
        return _leaf_array(array, target, node, file)
    if node.kind == "struct":
        fields = [target.field(i) for i in range(target.num_fields)]
        # A required child is not null where its parent is: only what Spark was promised is checked, not what it hides.
        children = [
            _array(array.field(i), field.type, child, file, True)
            for i, (field, child) in enumerate(zip(fields, node.children, strict=True))
        ]
        buffers = array.buffers()[:1]
    elif node.kind == "list":
        children = [_array(array.values, target.value_type, node.children[0], file, True)]
        buffers = array.buffers()[:2]
    else:
        key, value = node.children
        pairs = [
            _array(array.keys, target.key_type, key, file, False),
            _array(array.items, target.item_type, value, file, True),
        ]
        entries = pa.struct([target.key_field, target.item_field])
        children = [pa.Array.from_buffers(entries, len(pairs[0]), [None], 0, children=pairs)]
        buffers = array.buffers()[:2]
    return pa.Array.from_buffers(target, len(array), buffers, array.null_count, array.offset, children=children)


def _leaf_array(array: Any, target: Any, node: SparkNode, file: str) -> Any:
    if node.convert is None:
        return array
    try:
        return node.convert(array, target)
    except pa.ArrowInvalid as error:
        kind = CorruptFileError if "UTF8" in str(error) else UnsupportedError
        name = node.type.simpleString()
        raise kind(f"{file}: column '{node.path}': {error}; Spark's {name} has no such value") from None
