"""What tests of the planner share: a schema with a leaf of every kind, statistics by hand, verdicts of predicates.

No file is opened: a schema is decoded from Thrift that was built by hand.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from hardwood_jit.metadata import structs
from hardwood_jit.metadata.schema import Leaf, Schema, build_schema
from hardwood_jit.metadata.statistics import Statistics
from hardwood_jit.plan.bind import bind
from hardwood_jit.plan.literals import domain_of
from hardwood_jit.plan.predicate import Predicate, as_predicate
from hardwood_jit.plan.prune import Prover, Verdict
from hardwood_jit.plan.statistics import TYPE_ORDER, BoundsReader
from tests.support import pages as p

SLOTS = 100


def schema_of(root: p.Node) -> Schema:
    raw = p.list_of(root.elements(is_root=True), p.STRUCT).encode()
    return build_schema(structs.decode_list(structs.SchemaElement, raw), "test")


def _decimal(name: str, physical: int, precision: int, scale: int, **rest: Any) -> p.Node:
    about = p.logical("DECIMAL", precision=precision, scale=scale)
    return p.leaf(name, physical, p.OPTIONAL, logical=about, scale=scale, precision=precision, **rest)


def _moment(name: str, unit: str, utc: bool = True) -> p.Node:
    return p.leaf(name, p.INT64, p.OPTIONAL, logical=p.logical("TIMESTAMP", unit=unit, utc=utc))


ROOT = p.group(
    "schema",
    p.leaf("i32", p.INT32, p.OPTIONAL),
    p.leaf("i64", p.INT64, p.OPTIONAL),
    p.leaf("other", p.INT64, p.OPTIONAL),
    p.leaf("required", p.INT64),
    p.leaf("i8", p.INT32, p.OPTIONAL, logical=p.logical("INTEGER", bits=8, signed=True)),
    p.leaf("u32", p.INT32, p.OPTIONAL, logical=p.logical("INTEGER", bits=32, signed=False)),
    p.leaf("u64", p.INT64, p.OPTIONAL, logical=p.logical("INTEGER", bits=64, signed=False)),
    p.leaf("flag", p.BOOLEAN, p.OPTIONAL),
    p.leaf("float", p.FLOAT, p.OPTIONAL),
    p.leaf("double", p.DOUBLE_TYPE, p.OPTIONAL),
    p.leaf("half", p.FLBA, p.OPTIONAL, type_length=2, logical=p.logical("FLOAT16")),
    p.leaf("text", p.BYTE_ARRAY, p.OPTIONAL, logical=p.logical("STRING")),
    p.leaf("name", p.BYTE_ARRAY, p.OPTIONAL, logical=p.logical("STRING")),
    p.leaf("bytes", p.BYTE_ARRAY, p.OPTIONAL),
    p.leaf("fixed", p.FLBA, p.OPTIONAL, type_length=4),
    p.leaf("uuid", p.FLBA, p.OPTIONAL, type_length=16, logical=p.logical("UUID")),
    p.leaf("interval", p.FLBA, p.OPTIONAL, type_length=12, converted=p.INTERVAL),
    p.leaf("geometry", p.BYTE_ARRAY, p.OPTIONAL, logical=p.logical("GEOMETRY")),
    p.leaf("unknown", p.INT64, p.OPTIONAL, logical=p.logical("later", number=99)),
    p.leaf("int96", p.INT96, p.OPTIONAL),
    p.leaf("date", p.INT32, p.OPTIONAL, logical=p.logical("DATE")),
    p.leaf("time", p.INT64, p.OPTIONAL, logical=p.logical("TIME", unit="us", utc=True)),
    _moment("ms", "ms"),
    _moment("ns", "ns"),
    _moment("local", "us", utc=False),
    _decimal("d32", p.INT32, 7, 2),
    _decimal("d64", p.INT64, 15, 4),
    _decimal("dfixed", p.FLBA, 20, 2, type_length=9),
    _decimal("dbytes", p.BYTE_ARRAY, 12, 3),
    p.list_group("list", p.leaf("element", p.INT64, p.OPTIONAL)),
    p.group("struct", p.leaf("x", p.INT64, p.OPTIONAL), repetition=p.OPTIONAL),
)
SCHEMA = schema_of(ROOT)
NAMES = tuple("list" if leaf.path[0] == "list" else leaf.dotted for leaf in SCHEMA.leaves)


def leaf_of(name: str) -> Leaf:
    return SCHEMA.leaves[NAMES.index(name)]


def stored(name: str, value: Any) -> bytes:
    """One value as PLAIN bytes; bytes are themselves."""
    leaf = leaf_of(name)
    physical = int(leaf.physical_type)
    if isinstance(value, bytes):
        return value
    if physical == p.BOOLEAN:
        return bytes([value])
    if physical in (p.INT32, p.INT64):
        width = 4 if physical == p.INT32 else 8
        return int(value).to_bytes(width, "little", signed=value < 0)
    if physical == p.FLBA and leaf.logical_type is not None and leaf.logical_type.kind == "FLOAT16":
        return struct.pack("<e", value)
    if physical in (p.FLOAT, p.DOUBLE_TYPE):
        return p.plain_one(physical, value)
    if isinstance(value, str):
        return value.encode()
    return int(value).to_bytes(leaf.type_length or 5, "big", signed=True)


def bounds(name: str, low: Any, high: Any, null_count: int | None = 0, **rest: Any) -> Statistics:
    """Statistics of a column; None leaves a bound out."""
    return Statistics(
        min_value=None if low is None else stored(name, low),
        max_value=None if high is None else stored(name, high),
        null_count=null_count,
        **rest,
    )


def exact(name: str, value: Any, **rest: Any) -> Statistics:
    """All values are this one, and the writer says that nothing was cut."""
    return bounds(name, value, value, is_min_exact=True, is_max_exact=True, **rest)


def reader_of(
    name: str, order: str | None = TYPE_ORDER, created_by: str | None = None, *, raw: bool = False
) -> BoundsReader:
    leaf = leaf_of(name)
    return BoundsReader(leaf, domain_of(leaf, raw), order, created_by)


@dataclass(frozen=True)
class ChunkByHand:
    statistics: Statistics | None
    num_values: int = SLOTS


def chunks_of(statistics: dict[str, Statistics], slots: int = SLOTS) -> list[ChunkByHand]:
    return [ChunkByHand(statistics.get(name), slots) for name in NAMES]


def prover_of(
    predicate: Predicate | str, order: str | Sequence[str | None] | None = TYPE_ORDER, created_by: str | None = None
) -> Prover:
    orders = [order] * len(NAMES) if order is None or isinstance(order, str) else order
    return Prover(bind(as_predicate(predicate), SCHEMA), orders, created_by)


def verdict(
    predicate: Predicate | str,
    order: str | None = TYPE_ORDER,
    created_by: str | None = None,
    slots: int = SLOTS,
    **statistics: Statistics,
) -> Verdict:
    """What the statistics of a row group, by the names of its columns, say of a predicate."""
    return prover_of(predicate, order, created_by).verdicts(0, chunks_of(statistics, slots)).verdict
