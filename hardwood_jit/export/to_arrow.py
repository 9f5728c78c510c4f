"""Batch -> pyarrow RecordBatch, whose types equal those `pyarrow.parquet.read_table` gives without an embedded schema.

Zero-copy: integers, floats, dates, times, timestamps, fixed-width bytes, contiguous text and bytes, views, validity,
list offsets. Copied: booleans (Arrow packs them), 8- and 16-bit integers, decimals that are not of form "decimal128",
INT96, and text asked for as views or dictionary that the scanner did not decode that way.

Where Arrow has no room: a MAP whose keys are optional in the schema is read as a map as long as no key is null (then
`CorruptFileError`: the specification requires keys, `rows()` shows them); a map without values is a list of its keys;
of a map with only keys or only values selected a list of structs remains.
"""
# mypy: disable-error-code="import-untyped"

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hardwood_jit.batch import Batch, Column, Validity
from hardwood_jit.errors import CorruptFileError, UnsupportedError, missing, place
from hardwood_jit.nesting import Nest, check_slots, layer_of, nests_of
from hardwood_jit.physical import PhysicalType
from hardwood_jit.types import DECIMAL128_DIGITS, NO_WORDS, check_times, int96_counts, is_text, narrowed, type_of

try:
    import pyarrow as pa
except ImportError:
    raise missing("pyarrow", "arrow", "Arrow export") from None

if TYPE_CHECKING:
    from hardwood_jit.jit.value_decoder import Wanted
    from hardwood_jit.metadata.schema import Leaf, Schema

INT32_MAX = (1 << 31) - 1
_TEXT_LIKE = ("text", "enum", "bytes")


@dataclass(frozen=True)
class ArrowOptions:
    """How byte arrays and INT96 are exported: `strings` "contiguous" or "view", `int96` "ns" or "us".

    `dictionary` holds leaf paths that stay dictionary-encoded; as in pyarrow it concerns BYTE_ARRAY columns, and not
    their decimals.
    """

    strings: str = "contiguous"
    dictionary: frozenset[str] = frozenset()
    int96: str = "ns"

    def __post_init__(self) -> None:
        if self.strings not in ("contiguous", "view"):
            raise ValueError(f"strings is 'contiguous' or 'view', not {self.strings!r}")
        if self.int96 not in ("ns", "us"):
            raise ValueError(f"int96 is 'ns' or 'us', not {self.int96!r}")


@dataclass(frozen=True, slots=True, eq=False)
class ArrowNode:
    """A `Nest` with its Arrow field and, for a leaf, the function that makes its array."""

    nest: Nest
    field: Any
    type: Any
    nullable: bool
    children: tuple[ArrowNode, ...]
    entries: Any = None  # struct type of a map's entries
    storage: Any = None  # a leaf's type without extension or dictionary
    convert: Callable[[Column, ArrowNode, str], Any] | None = None
    int96: str = "ns"


def wants_form(leaf: Leaf, schema: Schema, options: ArrowOptions) -> str:
    """The `Column.form` that saves this export a pass over the values."""
    row = type_of(leaf)
    if row.conversion in _TEXT_LIKE:
        if _is_dictionary(leaf, schema, options):
            return "dictionary"
        return "views" if options.strings == "view" else "physical"
    return "decimal128" if row.name == "DECIMAL(p <= 38, s)" else "physical"


@lru_cache(maxsize=64)
def wanted_forms(schema: Schema, options: ArrowOptions) -> dict[int, Wanted]:
    """What this export wants of each leaf, by its number."""
    from hardwood_jit.jit.value_decoder import Wanted

    return {leaf.index: Wanted(wants_form(leaf, schema, options), is_text(leaf)) for leaf in schema.leaves}


@lru_cache(maxsize=64)
def _dictionary_leaves(schema: Schema, names: frozenset[str]) -> frozenset[int]:
    return frozenset(schema.leaves[schema.leaf_position(name)].index for name in names)


def _is_dictionary(leaf: Leaf, schema: Schema, options: ArrowOptions) -> bool:
    return bool(options.dictionary) and leaf.index in _dictionary_leaves(schema, options.dictionary)


# --- leaves: buffers -> pa.Array ------------------------------------------------------------------------------------


def _valid(validity: Validity, nullable: bool) -> tuple[Any, int]:
    """Arrow's validity buffer and null count; what the schema calls required has none (its nulls are its parents')."""
    if not nullable or validity.words is None:
        return None, 0
    null_count = validity.null_count
    return (pa.py_buffer(validity.words), null_count) if null_count else (None, 0)


def _hidden(column: Column, nullable: bool) -> NDArray[np.bool_] | None:
    """Null slots of a required leaf, which Arrow takes for values, so they are made harmless; None: there are none."""
    if nullable or not column.validity.has_nulls:
        return None
    return ~column.validity.to_numpy(column.value_count)


def _present(column: Column) -> NDArray[np.bool_] | None:
    return column.validity.to_numpy(column.value_count) if column.validity.has_nulls else None


def _fixed_array(column: Column, node: ArrowNode, values: NDArray[Any]) -> Any:
    valid, null_count = _valid(column.validity, node.nullable)
    buffer = pa.py_buffer(np.ascontiguousarray(values))
    return pa.Array.from_buffers(node.storage, column.value_count, [valid, buffer], null_count)


def _same(column: Column, node: ArrowNode, where: str) -> Any:
    assert column.values is not None
    return _fixed_array(column, node, column.values)


def _boolean(column: Column, node: ArrowNode, where: str) -> Any:
    assert column.values is not None
    return _fixed_array(column, node, np.packbits(column.values[: column.value_count], bitorder="little"))


def _narrow(column: Column, node: ArrowNode, where: str) -> Any:
    dtype = type_of(column.leaf).dtype
    assert column.values is not None and dtype is not None
    return _fixed_array(column, node, narrowed(column.values[: column.value_count], _present(column), dtype, where))


def _time(column: Column, node: ArrowNode, where: str) -> Any:
    logical = column.leaf.logical_type
    assert column.values is not None and logical is not None and logical.unit is not None
    values = column.values[: column.value_count]
    if not column.range_checked:
        check_times(values, _present(column), logical.unit, where)
    hidden = _hidden(column, node.nullable)
    return _fixed_array(column, node, values if hidden is None else np.where(hidden, values.dtype.type(0), values))


def _int96(column: Column, node: ArrowNode, where: str) -> Any:
    assert column.values is not None
    counts = int96_counts(column.values[: column.value_count], _words(column), node.int96, where)
    return _fixed_array(column, node, counts)


def _words(column: Column) -> NDArray[np.uint64]:
    words = column.validity.words
    return words if words is not None and column.validity.has_nulls else NO_WORDS


def _offsets(offsets: NDArray[Any], count: int, where: str) -> NDArray[np.int32]:
    offsets = offsets[: count + 1]
    if offsets.dtype == np.int32:
        return offsets
    if int(offsets[-1]) > INT32_MAX:
        raise UnsupportedError(
            f"{where}: {int(offsets[-1])} bytes or items in one batch, Arrow's type holds {INT32_MAX}; "
            "read it with a smaller batch_size(), or with batches()"
        )
    return offsets.astype(np.int32)


def check_text(column: Column, where: str) -> None:
    """Every value of a contiguous column is UTF-8, or `CorruptFileError`."""
    import hardwood_jit.jit.kernel_cache  # noqa: F401  (names the folder of compiled kernels)
    from hardwood_jit.kernels.status import OK
    from hardwood_jit.kernels.utf8 import check_utf8

    assert column.offsets is not None and column.data is not None
    if check_utf8(column.offsets, column.value_count, column.data) != OK:
        raise _not_utf8(where)


def _not_utf8(where: str) -> CorruptFileError:
    return CorruptFileError(f"{where}: a value is not UTF-8; batches() gives the bytes")


def _contiguous(column: Column, storage: Any, nullable: bool, text: bool, where: str) -> Any:
    """A string or binary array over the column's own buffers."""
    assert column.offsets is not None and column.data is not None
    if text and not column.text_checked:
        check_text(column, where)
    valid, null_count = _valid(column.validity, nullable)
    offsets = pa.py_buffer(_offsets(column.offsets, column.value_count, where))
    return pa.Array.from_buffers(storage, column.value_count, [valid, offsets, pa.py_buffer(column.data)], null_count)


def _views(column: Column, node: ArrowNode, text: bool, where: str) -> Any:
    if column.form == "views":
        assert column.values is not None
        valid, null_count = _valid(column.validity, node.nullable)
        buffers = [valid, pa.py_buffer(column.values), *(pa.py_buffer(buffer) for buffer in column.buffers)]
        array = pa.Array.from_buffers(node.storage, column.value_count, buffers, null_count)
        if text and not column.text_checked:
            _check_views(array, where)
        return array
    plain = pa.string() if pa.types.is_string_view(node.storage) else pa.binary()
    return _contiguous(column, plain, node.nullable, text, where).cast(node.storage)


def _check_views(array: Any, where: str) -> None:
    try:
        array.validate(full=True)
    except pa.ArrowInvalid:
        raise _not_utf8(where) from None


def _byte_arrays(column: Column, node: ArrowNode, where: str) -> Any:
    """Text and bytes in each of their forms."""
    text = type_of(column.leaf).conversion == "text"
    if pa.types.is_dictionary(node.type):
        return _dictionary(column, node, text, where)
    if column.form == "dictionary":
        encoded = _dictionary(column, node, text, where)
        return encoded.dictionary_decode().cast(node.storage)
    if column.form == "views" or pa.types.is_string_view(node.storage) or pa.types.is_binary_view(node.storage):
        return _views(column, node, text, where)
    return _contiguous(column, node.storage, node.nullable, text, where)


def _dictionary(column: Column, node: ArrowNode, text: bool, where: str) -> Any:
    if column.form != "dictionary":
        return _contiguous(column, node.storage, node.nullable, text, where).dictionary_encode()
    entries = column.dictionary
    assert entries is not None and column.values is not None
    if entries.exported is None:  # the entries serve every batch of a column chunk
        plain = pa.string() if text else pa.binary()
        entries.exported = _contiguous(entries, plain, False, text, where)
    values = column.values
    # A null slot of a required leaf needs an index like any other value, and there may be no entry to point at.
    nullable = node.nullable or column.validity.has_nulls
    valid, null_count = _valid(column.validity, nullable)
    indexes = pa.Array.from_buffers(pa.int32(), column.value_count, [valid, pa.py_buffer(values)], null_count)
    return pa.DictionaryArray.from_arrays(indexes, entries.exported, safe=False)


def decimal_words(column: Column, words: int, where: str) -> NDArray[np.uint64]:
    """DECIMAL values of any physical type as two's complement of 2 or 4 words, low word first."""
    import hardwood_jit.jit.kernel_cache  # noqa: F401  (names the folder of compiled kernels)
    from hardwood_jit.kernels import decimal

    count = column.value_count
    if column.form == "decimal128":
        assert column.values is not None and words == 2
        return column.values[:count]
    out = np.empty((count, words), np.uint64)
    physical = column.leaf.physical_type
    if physical in (PhysicalType.INT32, PhysicalType.INT64):
        assert column.values is not None
        status = decimal.widen_integers(column.values, count, out)
        out[:, 2:] = out[:, 1:2]  # the sign
    elif physical is PhysicalType.BYTE_ARRAY:
        assert column.offsets is not None and column.data is not None
        status = decimal.widen_byte_arrays(column.offsets, column.data, count, _words(column), out, words)
    else:
        assert column.values is not None
        width = column.values.shape[1]
        raw = np.ascontiguousarray(column.values[:count]).reshape(-1)
        if 1 <= width <= 16 and words == 2:
            status = decimal.widen_bytes(raw, width, count, out)
        elif 1 <= width <= 32 and words == 4:
            status = decimal.widen_bytes_256(raw, width, count, out)
        else:  # more bytes than the type has: fine while they only repeat the sign
            offsets = np.arange(count + 1, dtype=np.int64) * width
            status = decimal.widen_byte_arrays(offsets, raw, count, _words(column), out, words)
    if status < 0:
        raise _too_long(column, where)
    return out


def _too_long(column: Column, where: str) -> CorruptFileError:
    return CorruptFileError(f"{where}: a value has more digits than {column.leaf.logical_type} allows")


def _may_exceed(leaf: Leaf, precision: int) -> bool:
    """Whether the physical type has room for more digits than the precision allows."""
    widths = {PhysicalType.INT32: 4, PhysicalType.INT64: 8, PhysicalType.FIXED_LEN_BYTE_ARRAY: leaf.type_length}
    width = widths.get(leaf.physical_type)
    return width is None or 1 << max(8 * min(width, 40) - 1, 0) >= 10**precision


def _fit(column: Column, numbers: NDArray[np.uint64], precision: int) -> bool:
    """Whether every slot, null ones included, surely has at most `precision` digits: quick, and enough for most."""
    if column.range_checked or not _may_exceed(column.leaf, precision) or not len(numbers):
        return True
    if column.form == "physical" and column.leaf.physical_type in (PhysicalType.INT32, PhysicalType.INT64):
        assert column.values is not None
        stored = column.values[: column.value_count]
    elif precision <= 18 and numbers.shape[1] == 2:
        stored = numbers.view(np.int64)[:, 0]
        if not np.array_equal(numbers.view(np.int64)[:, 1], stored >> 63):
            return False
    else:
        return False
    return bool(-(10**precision) < int(stored.min()) and int(stored.max()) < 10**precision)


def _exceeding(numbers: NDArray[np.uint64], precision: int) -> NDArray[np.bool_]:
    """Which two's complement numbers (uint64[count, words]) have a magnitude of at least 10**precision."""
    words = numbers.shape[1]
    limit = 10**precision

    def word(number: int, k: int) -> Any:
        bits = (number >> (64 * k)) & ((1 << 64) - 1)
        if k < words - 1:
            return np.uint64(bits)
        return np.int64(bits - (1 << 64) if bits >> 63 else bits)  # the top word has the sign

    below = np.zeros(len(numbers), np.bool_)  # number < limit
    above = np.zeros(len(numbers), np.bool_)  # number > -limit
    for k in range(words):
        column = numbers[:, k] if k < words - 1 else numbers[:, k].view(np.int64)
        high, low = word(limit, k), word(-limit, k)
        below = (column < high) | ((column == high) & below)
        above = (column > low) | ((column == low) & above)
    return ~(below & above)


def _decimal(column: Column, node: ArrowNode, where: str) -> Any:
    logical = column.leaf.logical_type
    assert logical is not None and logical.precision is not None
    numbers = decimal_words(column, 2 if logical.precision <= DECIMAL128_DIGITS else 4, where)
    if not _fit(column, numbers, logical.precision):
        wrong = _exceeding(numbers, logical.precision)
        if wrong.any():
            present = _present(column)
            if present is None or (wrong & present).any():
                raise _too_long(column, where)
    hidden = _hidden(column, node.nullable)
    if hidden is not None:
        numbers = np.where(hidden[:, None], np.uint64(0), numbers)
    return _fixed_array(column, node, numbers)


def _null(column: Column, node: ArrowNode, where: str) -> Any:
    return pa.nulls(column.value_count)


ARROW: dict[str, Callable[[Column, ArrowNode, str], Any]] = {
    "boolean": _boolean,
    "same": _same,
    "narrow": _narrow,
    "unsigned": _same,
    "half": _same,
    "decimal": _decimal,
    "date": _same,
    "time": _time,
    "instant": _same,
    "int96": _int96,
    "text": _byte_arrays,
    "enum": _byte_arrays,
    "bytes": _byte_arrays,
    "fixed": _same,
    "uuid": _same,
    "interval": _same,
    "null": _null,
}


# --- schema ---------------------------------------------------------------------------------------------------------


def _field(name: str, arrow_type: Any, nullable: bool, field_id: int | None) -> Any:
    # As pyarrow does: ids travel as field metadata, negative ones mean none.
    metadata = None if field_id is None or field_id < 0 else {b"PARQUET:field_id": str(field_id).encode()}
    # Arrow has no null type without nulls; a file may call such a column required.
    return pa.field(name, arrow_type, nullable or pa.types.is_null(arrow_type), metadata)


def _leaf_types(leaf: Leaf, schema: Schema, options: ArrowOptions) -> tuple[Any, Any]:
    """The column's type, and the type its buffers are made with."""
    row = type_of(leaf)
    assert row.arrow_type is not None
    arrow_type = row.arrow_type(pa, leaf)
    storage = arrow_type.storage_type if isinstance(arrow_type, pa.BaseExtensionType) else arrow_type
    if row.conversion == "int96" and options.int96 == "us":
        return pa.timestamp("us"), pa.timestamp("us")
    if row.conversion not in _TEXT_LIKE:
        return arrow_type, storage
    if _is_dictionary(leaf, schema, options):
        return pa.dictionary(pa.int32(), storage), storage
    if options.strings == "view":
        storage = pa.string_view() if row.conversion == "text" else pa.binary_view()
        arrow_type = pa.json_(storage) if isinstance(arrow_type, pa.BaseExtensionType) else storage
    return arrow_type, storage


def _node(nest: Nest, schema: Schema, options: ArrowOptions, nullable: bool) -> ArrowNode:
    name, field_id = nest.name, nest.node.field_id
    if nest.kind == "leaf":
        leaf = nest.node.leaf
        assert leaf is not None
        arrow_type, storage = _leaf_types(leaf, schema, options)
        convert = ARROW[type_of(leaf).conversion]
        field = _field(name, arrow_type, nullable, field_id)
        return ArrowNode(nest, field, arrow_type, nullable, (), None, storage, convert, options.int96)
    entries = None
    if nest.kind == "map":
        key, value = nest.children
        children: tuple[ArrowNode, ...] = (
            _node(key, schema, options, False),
            _node(value, schema, options, value.nullable),
        )
        entries = pa.struct([child.field for child in children])
        arrow_type = pa.map_(children[0].field, children[1].field)
    else:
        children = tuple(_node(child, schema, options, child.nullable) for child in nest.children)
        fields = [child.field for child in children]
        arrow_type = pa.struct(fields) if nest.kind == "struct" else pa.list_(fields[0])
    return ArrowNode(nest, _field(name, arrow_type, nullable, field_id), arrow_type, nullable, children, entries)


@lru_cache(maxsize=64)
def _plan(schema: Schema, options: ArrowOptions) -> tuple[tuple[ArrowNode, ...], Any]:
    nodes = tuple(_node(nest, schema, options, nest.nullable) for nest in nests_of(schema))
    return nodes, pa.schema([node.field for node in nodes])


DEFAULT = ArrowOptions()


def arrow_schema(schema: Schema, options: ArrowOptions = DEFAULT) -> pa.Schema:
    """The Arrow schema of a projected Parquet schema."""
    return _plan(schema, options)[1]


# --- groups ---------------------------------------------------------------------------------------------------------


def _leaf_array(node: ArrowNode, slots: int, batch: Batch) -> Any:
    column = batch.columns[node.nest.leaves[0]]
    check_slots(column, slots, batch)
    assert node.convert is not None
    array = node.convert(column, node, place(batch.file, batch.row_group, column.path))
    if isinstance(node.type, pa.BaseExtensionType):
        return pa.ExtensionArray.from_storage(node.type, array)
    return array


def _array(node: ArrowNode, slots: int, batch: Batch) -> Any:
    """The array of one node, with one slot per item of the group around it."""
    nest = node.nest
    if nest.kind == "leaf":
        return _leaf_array(node, slots, batch)
    layer = layer_of(nest, batch) if nest.layer is not None and nest.leaves else None
    valid, null_count = (None, 0) if layer is None else _valid(layer.validity, node.nullable)
    if nest.kind == "struct":
        children = [_array(child, slots, batch) for child in node.children]
        return pa.Array.from_buffers(node.type, slots, [valid], null_count, children=children)
    assert layer is not None and layer.offsets is not None
    where = place(batch.file, batch.row_group, batch.columns[nest.leaves[0]].path)
    offsets = _offsets(layer.offsets, slots, where)
    inner = int(offsets[-1])
    if nest.kind == "map":
        _check_keys(nest.children[0], batch)
    children = [_array(child, inner, batch) for child in node.children]
    if nest.kind == "map":
        children = [pa.Array.from_buffers(node.entries, inner, [None], 0, children=children)]
    return pa.Array.from_buffers(node.type, slots, [valid, pa.py_buffer(offsets)], null_count, children=children)


def _check_keys(key: Nest, batch: Batch) -> None:
    """Arrow's maps have no null keys, nor has the specification; some writers call the key optional all the same."""
    if not key.nullable:
        return
    column = batch.columns[key.leaves[0]]
    validity = column.validity if key.layer is None else column.layers[key.layer].validity
    if validity.has_nulls:
        where = place(batch.file, batch.row_group, column.path)
        raise CorruptFileError(f"{where}: a map has a null key; rows() and batches() show it")


def batch_to_arrow(batch: Batch, options: ArrowOptions = DEFAULT) -> pa.RecordBatch:
    """The batch as a RecordBatch that shares its buffers and passes full validation."""
    nodes, schema = _plan(batch.schema, options)
    if not nodes:  # a RecordBatch without columns takes its length from a struct
        empty = pa.Array.from_buffers(pa.struct([]), batch.num_rows, [None], 0, children=[])
        return pa.RecordBatch.from_struct_array(empty)
    arrays = [_array(node, batch.num_rows, batch) for node in nodes]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def table_from_batches(schema: pa.Schema, batches: Iterable[pa.RecordBatch]) -> pa.Table:
    """One table with a chunk per batch; nothing is copied."""
    return pa.Table.from_batches(list(batches), schema=schema)


def stream_capsule(schema: pa.Schema, batches: Iterable[pa.RecordBatch], requested_schema: object = None) -> object:
    """The Arrow C stream of the batches, which are asked for one at a time as the consumer pulls."""
    return pa.RecordBatchReader.from_batches(schema, batches).__arrow_c_stream__(requested_schema)
