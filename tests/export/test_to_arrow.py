"""Columns made by hand -> Arrow: types equal pyarrow's, values come back, broken input is refused."""

from __future__ import annotations

import datetime
import decimal
import io
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hardwood_jit.batch import NO_NULLS, Batch, Column, Layer
from hardwood_jit.errors import ColumnNotFoundError, CorruptFileError, UnsupportedError
from hardwood_jit.export.to_arrow import (
    ArrowOptions,
    arrow_schema,
    batch_to_arrow,
    stream_capsule,
    table_from_batches,
    wants_form,
)
from hardwood_jit.nesting import Nest, nests_of
from hardwood_jit.rows import rows_of
from tests.export.columns import (
    batch_from_arrow,
    batch_of,
    byte_buffers,
    flat_column,
    parquet_bytes,
    schema_of,
    validity,
)
from tests.export.footers import (
    BYTE_ARRAY,
    FLBA,
    INT32,
    INT64,
    INT96,
    OPTIONAL,
    REPEATED,
    REQUIRED,
    Element,
    empty_file,
    logical,
)


def _group(name: str, *children: Element, repetition: int = OPTIONAL, **rest: Any) -> Element:
    return Element(name, repetition, children=list(children), **rest)


LIST, MAP, MAP_KEY_VALUE = 3, 1, 2  # converted types
INT = Element("x", type=INT32)
NESTED = {
    "bare repeated leaf": Element("c", REPEATED, INT32),
    "bare repeated group": _group("c", INT, Element("y", REQUIRED, INT32), repetition=REPEATED),
    "two-level list": _group("c", Element("array", REPEATED, INT32), converted=LIST),
    "two-level list of groups": _group(
        "c", _group("foo", INT, Element("y", REQUIRED, INT32), repetition=REPEATED), converted=LIST
    ),
    "group named array": _group("c", _group("array", INT, repetition=REPEATED), converted=LIST),
    "group named _tuple": _group("c", _group("c_tuple", INT, repetition=REPEATED), converted=LIST),
    "single child repeated": _group(
        "c", _group("bag", Element("x", REPEATED, INT32), repetition=REPEATED), converted=LIST
    ),
    "three-level list": _group("c", _group("bag", INT, repetition=REPEATED), logical=logical("LIST")),
    "required three-level list": _group(
        "c", _group("bag", Element("x", REQUIRED, INT32), repetition=REPEATED), repetition=REQUIRED, converted=LIST
    ),
    "map": _group("c", _group("kv", Element("K", REQUIRED, INT32), INT, repetition=REPEATED), converted=MAP),
    "legacy map": _group(
        "c", _group("kv", Element("K", REQUIRED, INT32), INT, repetition=REPEATED), converted=MAP_KEY_VALUE
    ),
    "key-only map": _group("c", _group("kv", Element("K", REQUIRED, INT32), repetition=REPEATED), converted=MAP),
    "map of structs": _group(
        "c",
        _group("kv", Element("K", REQUIRED, INT32), _group("V", INT, repetition=REQUIRED), repetition=REPEATED),
        repetition=REQUIRED,
        converted=MAP,
        field_id=4,
    ),
    "struct": _group("c", INT, _group("inner", INT, repetition=REQUIRED)),
    "variant": _group(
        "c",
        Element("metadata", REQUIRED, BYTE_ARRAY),
        Element("value", REQUIRED, BYTE_ARRAY),
        logical=logical("VARIANT"),
    ),
    "field ids": Element("c", type=INT32, field_id=7),
}


@pytest.mark.parametrize("name", NESTED)
def test_schema_equals_the_one_pyarrow_reads(name: str) -> None:
    file = empty_file([NESTED[name], Element("last", type=INT32)])
    ours, theirs = arrow_schema(schema_of(file)), pq.read_schema(io.BytesIO(file))
    assert ours == theirs
    assert str(ours.field(0).type).replace("'kv'", "'c'") == str(theirs.field(0).type).replace(" ('c')", "")
    assert [field.metadata for field in ours] == [field.metadata for field in theirs]


ODD = {
    "repeated list group": _group("c", Element("e", REPEATED, INT32), repetition=REPEATED, converted=LIST),
    "element is a list": _group(
        "c", _group("array", Element("array", REPEATED, INT32), repetition=REPEATED, converted=LIST), converted=LIST
    ),
    "malformed map": _group("c", _group("kv", INT, INT, INT, repetition=REPEATED), converted=MAP),
    "map of repeated leaf": _group("c", Element("kv", REPEATED, INT32), converted=MAP),
    "repeated value": _group(
        "c",
        _group("kv", Element("k", REQUIRED, INT32), Element("v", REPEATED, INT32), repetition=REPEATED),
        converted=MAP,
    ),
}


def _layers_above(nest: Nest, above: tuple[int, ...], found: dict[int, tuple[int, ...]]) -> None:
    own = above if nest.layer is None else (*above, nest.layer)
    if nest.kind == "leaf":
        found[nest.leaves[0]] = own
    for child in nest.children:
        _layers_above(child, own, found)


@pytest.mark.parametrize("name", [*NESTED, *ODD])
def test_every_layer_of_a_leaf_belongs_to_one_group(name: str) -> None:
    schema = schema_of(empty_file([{**NESTED, **ODD}[name]]))
    found: dict[int, tuple[int, ...]] = {}
    for nest in nests_of(schema):
        _layers_above(nest, (), found)
    assert found == {i: tuple(range(len(leaf.layers))) for i, leaf in enumerate(schema.leaves)}
    assert len(arrow_schema(schema)) == 1


def test_list_rules_that_pyarrow_does_not_follow_still_give_a_type() -> None:
    optional_key = _group("a", _group("kv", INT, INT, repetition=REPEATED), converted=MAP)
    three = _group("b", _group("kv", INT, INT, INT, repetition=REPEATED), converted=MAP)
    not_repeated = _group("c", INT, converted=LIST)
    schema = arrow_schema(schema_of(empty_file([optional_key, three, not_repeated])))
    assert pa.types.is_map(schema.field("a").type)
    assert str(schema.field("b").type).startswith("list<kv: struct<")
    assert str(schema.field("c").type) == "struct<x: int32>"


TABLE = pa.table(
    {
        "i": pa.array([1, None, 3], pa.int64()),
        "u8": pa.array([0, 255, None], pa.uint8()),
        "u64": pa.array([0, 2**64 - 1, None], pa.uint64()),
        "flag": [True, None, False],
        "text": ["", "né", None],
        "half": pa.array([1.5, None, -0.0], pa.float16()),
        "day": pa.array([1, None, 3], pa.date32()),
        "clock": pa.array([1, None, 3], pa.time64("us")),
        "when": pa.array([1, None, 3], pa.timestamp("us", "UTC")),
        "list": pa.array([[1, None], None, []], pa.list_(pa.int32())),
        "lists": pa.array([[["a"], [], None], None, []], pa.list_(pa.list_(pa.string()))),
        "struct": pa.array([{"a": 1, "b": {"c": None}}, None, {"a": None, "b": None}]),
        "structs": pa.array([[None, {"a": None, "b": "x"}, {"a": 5, "b": None}], None, []]),
        "map": pa.array([[("k", 1), ("l", None)], None, []], pa.map_(pa.string(), pa.int32())),
        "maps": pa.array(
            [[(1, [("a", True)]), (2, None)], [], None], pa.map_(pa.int32(), pa.map_(pa.string(), pa.bool_()))
        ),
        "nothing": pa.nulls(3),
        "d9": pa.array([decimal.Decimal("1.23"), None, decimal.Decimal("-99999.99")], pa.decimal128(7, 2)),
        "d50": pa.array([decimal.Decimal(10) ** 40, None, decimal.Decimal(-1)], pa.decimal256(50, 3)),
    }
)


def test_nested_and_flat_columns_come_back() -> None:
    batch = batch_from_arrow(TABLE)
    found = batch.to_arrow()
    found.validate(full=True)
    expected = pq.read_table(io.BytesIO(parquet_bytes(TABLE)))
    assert found.schema == expected.schema
    assert pa.Table.from_batches([found]).equals(expected)


LEAVES = st.sampled_from(
    [
        (pa.int32(), st.integers(-(2**31), 2**31 - 1)),
        (pa.uint16(), st.integers(0, 2**16 - 1)),
        (pa.string(), st.text(max_size=5)),
        (pa.bool_(), st.booleans()),
        (pa.decimal128(20, 3), st.integers(-(10**20) + 1, 10**20 - 1).map(lambda n: decimal.Decimal(n).scaleb(-3))),
        (pa.date32(), st.dates()),
        (pa.timestamp("us", "UTC"), st.datetimes(timezones=st.just(datetime.UTC))),
        (pa.binary(3), st.binary(min_size=3, max_size=3)),
    ]
)


def _grow(inner: Any) -> Any:
    """Lists, structs and maps of (type, strategy) pairs; nullable or not."""
    maybe = st.tuples(inner, st.booleans()).map(
        lambda case: (pa.field("element", case[0][0], case[1]), st.none() | case[0][1] if case[1] else case[0][1])
    )
    lists = maybe.map(lambda case: (pa.list_(case[0]), st.lists(case[1], max_size=3)))
    structs = st.tuples(maybe, maybe).map(
        lambda pair: (
            pa.struct([pair[0][0].with_name("a"), pair[1][0].with_name("b")]),
            st.fixed_dictionaries({"a": pair[0][1], "b": pair[1][1]}),
        )
    )
    maps = maybe.map(
        lambda case: (
            pa.map_(pa.int32(), case[0].with_name("value")),
            st.lists(st.tuples(st.integers(0, 9), case[1]), max_size=3),
        )
    )
    return lists | structs | maps


@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_any_nesting_comes_back_through_arrow_and_rows(data: st.DataObject) -> None:
    kind, values = data.draw(st.recursive(LEAVES, _grow, max_leaves=5))
    nullable = data.draw(st.booleans())
    records = data.draw(st.lists(st.none() | values if nullable else values, max_size=5))
    table = pa.table([pa.array(records, kind)], pa.schema([pa.field("c", kind, nullable)]))
    batch = batch_from_arrow(table)
    found = batch.to_arrow()
    found.validate(full=True)
    assert found.to_pylist() == table.to_pylist() == list(rows_of(batch))
    assert pq.read_table(io.BytesIO(parquet_bytes(table))).schema == found.schema


@pytest.mark.parametrize("depth", [100, 250])
def test_deep_nesting_is_walked(depth: int) -> None:
    element = Element("x", type=INT32)
    for _ in range(depth):
        element = _group("x", element, repetition=REQUIRED)
    batch = batch_of(schema_of(empty_file([element])), [[1, None]])
    found = batch.to_arrow()
    found.validate(full=True)
    value = next(rows_of(batch))["x"]
    for _ in range(depth):
        value = value["x"]
    assert value == 1


def test_a_projection_keeps_nesting() -> None:
    schema = schema_of(parquet_bytes(TABLE)).select(["struct.b.c", "map.key", "list", "structs.b"])
    full = batch_from_arrow(TABLE)
    columns = tuple(full.columns[leaf.index] for leaf in schema.leaves)
    found = Batch(schema, columns, 3, "trips.parquet", 0).to_arrow()
    found.validate(full=True)
    assert found.to_pydict() == {
        "struct": [{"b": {"c": None}}, None, {"b": None}],
        "map": [[{"key": "k"}, {"key": "l"}], None, []],
        "list": [[1, None], None, []],
        "structs": [[None, {"b": "x"}, {"b": None}], None, []],
    }


def test_map_selected_value_first_is_still_a_map() -> None:
    schema = schema_of(parquet_bytes(TABLE)).select(["map.value", "map.key"])
    full = batch_from_arrow(TABLE)
    columns = tuple(full.columns[leaf.index] for leaf in schema.leaves)
    found = Batch(schema, columns, 3, "trips.parquet", 0).to_arrow()
    assert found.column(0).to_pylist() == TABLE["map"].to_pylist()


def test_numbers_are_not_copied() -> None:
    schema = schema_of(empty_file([Element("a", REQUIRED, INT64), Element("s", REQUIRED, BYTE_ARRAY, converted=0)]))
    batch = batch_of(schema, [[1, 2], [b"x", b"y"]])
    arrow = batch.to_arrow()
    assert batch["a"].values is not None and batch["s"].data is not None and batch["s"].offsets is not None
    assert arrow.column(0).buffers()[1].address == batch["a"].values.ctypes.data
    assert arrow.column(1).buffers()[1].address == batch["s"].offsets.ctypes.data
    assert arrow.column(1).buffers()[2].address == batch["s"].data.ctypes.data


# The layer examples: Arrow type, values, then per leaf its layers as (validity, offsets).
LAYERS = [
    (pa.list_(pa.int32()), [None, [], [None], [1, 2]], [([0, 1, 1, 1], [0, 0, 0, 1, 3])], [0, 1, 1]),
    (
        pa.list_(pa.list_(pa.int32())),
        [[[1], [], None], None, []],
        [([1, 0, 1], [0, 3, 3, 3]), ([1, 1, 0], [0, 1, 1, 1])],
        [1],
    ),
    (
        pa.struct([("a", pa.list_(pa.int32()))]),
        [None, {"a": None}, {"a": []}, {"a": [7]}],
        [([0, 1, 1, 1], None), ([0, 0, 1, 1], [0, 0, 0, 0, 1])],
        [1],
    ),
    (
        pa.list_(pa.struct([("a", pa.int32())])),
        [[None, {"a": None}, {"a": 5}]],
        [([1], [0, 3]), ([0, 1, 1], None)],
        [0, 0, 1],
    ),
]


@pytest.mark.parametrize(("kind", "values", "layers", "present"), LAYERS, ids=[str(case[0]) for case in LAYERS])
def test_layers_become_the_nested_values(kind: Any, values: Any, layers: Any, present: Any) -> None:
    schema = schema_of(parquet_bytes(pa.table({"c": pa.array(values, kind)})))
    (leaf,) = schema.leaves
    assert [layer.kind for layer in leaf.layers] == ["struct" if o is None else "repeated" for _, o in layers]
    made = tuple(
        Layer(
            "struct" if offsets is None else "repeated", validity(flags), None if offsets is None else _int32(offsets)
        )
        for flags, offsets in layers
    )
    numbers = iter([5] if len(present) == 3 and sum(present) == 1 else [7] if "struct" in str(kind) else [1, 2])
    column = flat_column(leaf, [next(numbers) if flag else None for flag in present], len(values), made)
    found = Batch(schema, (column,), len(values), "f", 0).to_arrow()
    found.validate(full=True)
    assert found.column(0).to_pylist() == values


def _int32(numbers: list[int]) -> Any:
    return np.array(numbers, np.int32)


def test_siblings_that_disagree_about_their_list_are_refused() -> None:
    table = pa.table({"c": pa.array([[{"a": 1, "b": 2}], [{"a": 3, "b": 4}]])})
    batch = batch_from_arrow(table)
    other = batch.columns[1]
    other.layers = (Layer("repeated", NO_NULLS, _int32([0, 2, 2])), *other.layers[1:])
    with pytest.raises(CorruptFileError, match=r"row group 3, column 'c\.list\.element\.b'.*disagree"):
        batch.to_arrow()


def test_siblings_that_disagree_about_a_null_struct_are_refused() -> None:
    batch = batch_from_arrow(pa.table({"c": pa.array([{"a": 1, "b": 2}, {"a": 3, "b": 4}])}))
    batch.columns[1].layers = (Layer("struct", validity([True, False])),)
    with pytest.raises(CorruptFileError, match="disagree"):
        batch.to_arrow()


def test_leaf_with_too_few_values_is_refused() -> None:
    batch = batch_from_arrow(pa.table({"c": [1, 2, 3]}))
    batch.num_rows = 4
    with pytest.raises(CorruptFileError, match="3 values, 4 needed"):
        batch.to_arrow()


def test_required_leaf_below_a_null_struct_has_no_validity_of_its_own() -> None:
    fields = [
        Element("n", REQUIRED, INT64),
        Element("d", REQUIRED, FLBA, 16, logical=logical("DECIMAL", precision=30, scale=0)),
        Element("t", REQUIRED, INT32, logical=logical("TIME", unit="ms", utc=True)),
        Element("s", REQUIRED, BYTE_ARRAY, converted=0),
    ]
    schema = schema_of(empty_file([_group("c", *fields)]))
    layer = (Layer("struct", validity([True, False])),)
    values: list[list[Any]] = [[1, None], [bytes(16), None], [5, None], [b"x", None]]
    columns = tuple(flat_column(leaf, value, 2, layer) for leaf, value in zip(schema.leaves, values, strict=True))
    found = Batch(schema, columns, 2, "f", 0).to_arrow()
    found.validate(full=True)
    struct = found.column(0)
    assert [struct.field(i).null_count for i in range(4)] == [0, 0, 0, 0]
    assert struct.to_pylist() == [{"n": 1, "d": decimal.Decimal(0), "t": datetime.time(0, 0, 0, 5000), "s": "x"}, None]


def test_map_with_optional_keys_is_a_map_until_a_key_is_null() -> None:
    schema = schema_of(empty_file([_group("m", _group("kv", INT, INT, repetition=REPEATED), converted=MAP)]))
    layer = (Layer("repeated", NO_NULLS, _int32([0, 2])),)
    key, value = schema.leaves
    good = Batch(schema, (flat_column(key, [1, 2], 1, layer), flat_column(value, [None, 4], 1, layer)), 1, "f", 0)
    found = good.to_arrow()
    found.validate(full=True)
    assert found.column(0).to_pylist() == [[(1, None), (2, 4)]]
    bad = Batch(schema, (flat_column(key, [1, None], 1, layer), flat_column(value, [None, 4], 1, layer)), 1, "f", 0)
    with pytest.raises(CorruptFileError, match="null key"):
        bad.to_arrow()


def _one(element: Element, values: list[Any]) -> Batch:
    return batch_of(schema_of(empty_file([element])), [values])


def test_text_that_is_not_utf8_names_its_place() -> None:
    batch = _one(Element("city", type=BYTE_ARRAY, converted=0), [b"ok", b"\xff"])
    with pytest.raises(CorruptFileError, match=r"trips\.parquet: row group 3, column 'city': .*not UTF-8"):
        batch.to_arrow()
    batch.columns[0].text_checked = True
    batch.to_arrow()


@pytest.mark.parametrize("width", [1, 4, 8, 15, 16, 17, 32, 40])
@pytest.mark.parametrize("precision", [2, 18, 19, 38, 39, 76])
def test_fixed_width_decimals_of_every_width(width: int, precision: int) -> None:
    element = Element("d", type=FLBA, length=width, logical=logical("DECIMAL", precision=precision, scale=1))
    largest = min(10**precision - 1, 256**width // 2 - 1)
    numbers = [0, 1, -1, largest, -largest]
    batch = _one(element, [n.to_bytes(width, "big", signed=True) for n in numbers] + [None])
    found = batch.to_arrow()
    found.validate(full=True)
    with decimal.localcontext(decimal.Context(prec=100)):
        assert found.column(0).to_pylist() == [decimal.Decimal(n).scaleb(-1) for n in numbers] + [None]
    if 10**precision < 256**width // 2:
        for beyond in (10**precision, -(10**precision)):
            with pytest.raises(CorruptFileError, match="more digits"):
                _one(element, [None, beyond.to_bytes(width, "big", signed=True)]).to_arrow()


@pytest.mark.parametrize(("kind", "bits"), [(INT32, 31), (INT64, 63)])
@pytest.mark.parametrize("precision", [1, 9, 10, 18, 19, 40])
def test_integer_decimals(kind: int, bits: int, precision: int) -> None:
    element = Element("d", type=kind, logical=logical("DECIMAL", precision=precision, scale=0))
    largest = min(10**precision - 1, 2**bits - 1)
    batch = _one(element, [largest, None, -largest])
    found = batch.to_arrow()
    found.validate(full=True)
    assert found.column(0).to_pylist() == [decimal.Decimal(largest), None, decimal.Decimal(-largest)]
    if 10**precision < 2**bits:
        with pytest.raises(CorruptFileError, match="more digits"):
            _one(element, [-(10**precision)]).to_arrow()


def test_byte_array_decimals_may_be_empty_or_padded() -> None:
    element = Element("d", type=BYTE_ARRAY, logical=logical("DECIMAL", precision=20, scale=0))
    batch = _one(element, [b"", b"\x7f", b"\xff" * 30, None, b"\0" * 40 + b"\x01"])
    found = batch.to_arrow()
    found.validate(full=True)
    assert found.column(0).to_pylist() == [0, 127, -1, None, 1]
    with pytest.raises(CorruptFileError, match="more digits"):
        _one(element, [b"\x01" + bytes(40)]).to_arrow()


def test_decimal_beyond_arrow_is_unsupported_and_still_a_row() -> None:
    batch = _one(Element("d", type=BYTE_ARRAY, logical=logical("DECIMAL", precision=77, scale=0)), [b"\x05"])
    with pytest.raises(UnsupportedError, match="77"):
        batch.to_arrow()
    assert batch.columns[0].to_pylist() == [decimal.Decimal(5)]


def test_decimal128_form_is_taken_as_it_is() -> None:
    batch = _one(Element("d", type=INT64, logical=logical("DECIMAL", precision=15, scale=2)), [1, 2])
    column = batch.columns[0]
    column.form, column.values = "decimal128", np.array([[123, 0], [2**64 - 1, 2**64 - 1]], np.uint64)
    assert [str(v) for v in batch.to_arrow().column(0).to_pylist()] == ["1.23", "-0.01"]
    assert column.values is not None
    assert batch.to_arrow().column(0).buffers()[1].address == column.values.ctypes.data
    column.values[0, 0] = 10**15
    with pytest.raises(CorruptFileError, match="more digits"):
        batch.to_arrow()


@pytest.mark.parametrize("value", [-1, 86_400_000])
def test_time_outside_a_day_is_corrupt(value: int) -> None:
    batch = _one(Element("t", type=INT32, logical=logical("TIME", unit="ms", utc=True)), [None, value])
    with pytest.raises(CorruptFileError, match="outside a day"):
        batch.to_arrow()


@pytest.mark.parametrize(("bits", "signed", "value"), [(8, True, 128), (8, False, -1), (16, False, 65536)])
def test_integer_beyond_its_annotation_is_corrupt(bits: int, signed: bool, value: int) -> None:
    batch = _one(Element("n", type=INT32, logical=logical("INTEGER", bits=bits, signed=signed)), [None, value])
    with pytest.raises(CorruptFileError, match=f"{value} does not fit"):
        batch.to_arrow()


def _int96(days: int, nanos: int) -> bytes:
    return nanos.to_bytes(8, "little", signed=True) + (days + 2440588).to_bytes(4, "little", signed=True)


def test_int96_beyond_nanoseconds_needs_microseconds() -> None:
    batch = _one(Element("t", type=INT96), [_int96(1, 5), None, _int96(200_000, 1999)])
    with pytest.raises(UnsupportedError, match='int96="us"'):
        batch.to_arrow()
    found = batch_to_arrow(batch, ArrowOptions(int96="us"))
    assert found.schema.field(0).type == pa.timestamp("us")
    assert found.column(0).cast(pa.int64()).to_pylist() == [86_400_000_000, None, 200_000 * 86_400_000_000 + 1]
    with pytest.raises(UnsupportedError, match="microseconds"):
        batch_to_arrow(_one(Element("t", type=INT96), [_int96(2**30, 0)]), ArrowOptions(int96="us"))


TEXTS = [b"", b"short", None, b"longer than twelve bytes", "é".encode()]


def test_strings_as_views_from_contiguous_columns() -> None:
    elements = [
        Element("s", type=BYTE_ARRAY, converted=0),
        Element("b", type=BYTE_ARRAY),
        Element("j", type=BYTE_ARRAY, converted=19),
    ]
    batch = batch_of(schema_of(empty_file(elements)), [TEXTS, TEXTS, TEXTS])
    options = ArrowOptions(strings="view")
    found = batch_to_arrow(batch, options)
    found.validate(full=True)
    assert found.schema.field("s").type == pa.string_view()
    assert found.schema.field("b").type == pa.binary_view()
    texts = [None if text is None else text.decode() for text in TEXTS]
    assert found.column(0).to_pylist() == texts == found.column(2).to_pylist()
    assert found.column(1).to_pylist() == TEXTS
    assert [wants_form(leaf, batch.schema, options) for leaf in batch.schema.leaves] == ["views"] * 3


def test_views_keep_their_buffers() -> None:
    batch = _one(Element("s", type=BYTE_ARRAY, converted=0), TEXTS)
    column = batch.columns[0]
    source = pa.array([None if text is None else text.decode() for text in TEXTS], pa.string_view())
    _, views, *rest = source.buffers()
    column.form, column.data, column.offsets = "views", None, None
    column.values = np.frombuffer(views, np.uint64).reshape(-1, 2)[: len(TEXTS)]
    column.buffers = [np.frombuffer(buffer, np.uint8) for buffer in rest]
    found = batch_to_arrow(batch, ArrowOptions(strings="view")).column(0)
    found.validate(full=True)
    assert found.to_pylist() == source.to_pylist()


def _dictionary_batch(entries: list[bytes | None], indexes: list[int | None], required: bool = False) -> Batch:
    element = Element("s", REQUIRED if required else OPTIONAL, BYTE_ARRAY, converted=0)
    schema = schema_of(empty_file([element]))
    (leaf,) = schema.leaves
    dictionary = flat_column(leaf, entries)
    values = np.array([0 if i is None else i for i in indexes], np.int32)
    flags = validity([i is not None for i in indexes])
    column = Column(leaf, len(indexes), len(indexes), flags, values=values, form="dictionary", dictionary=dictionary)
    return Batch(schema, (column,), len(indexes), "trips.parquet", 0)


def test_dictionary_columns_stay_encoded() -> None:
    batch = _dictionary_batch([b"NYC", b"LA"], [1, None, 0, 1])
    options = ArrowOptions(dictionary=frozenset({"s"}))
    found = batch_to_arrow(batch, options)
    found.validate(full=True)
    assert found.schema.field(0).type == pa.dictionary(pa.int32(), pa.string())
    assert found.column(0).to_pylist() == ["LA", None, "NYC", "LA"]
    assert batch_to_arrow(batch, options).column(0).dictionary.equals(found.column(0).dictionary)
    assert wants_form(batch.schema.leaves[0], batch.schema, options) == "dictionary"
    # The same buffers, asked for as plain text.
    assert batch.to_arrow().column(0).to_pylist() == ["LA", None, "NYC", "LA"]


def test_all_null_dictionary_column_without_entries_is_valid() -> None:
    found = batch_to_arrow(_dictionary_batch([], [None, None]), ArrowOptions(dictionary=frozenset({"s"})))
    found.validate(full=True)
    assert found.column(0).to_pylist() == [None, None]


def test_plain_columns_are_encoded_when_a_dictionary_is_asked_for() -> None:
    batch = _one(Element("s", type=BYTE_ARRAY, converted=0), [b"x", b"y", None, b"x"])
    found = batch_to_arrow(batch, ArrowOptions(dictionary=frozenset({"s"}))).column(0)
    found.validate(full=True)
    assert found.type == pa.dictionary(pa.int32(), pa.string())
    assert found.to_pylist() == ["x", "y", None, "x"]


def test_dictionary_of_an_unknown_column_is_an_error() -> None:
    batch = _one(Element("s", type=BYTE_ARRAY, converted=0), [b"x"])
    with pytest.raises(ColumnNotFoundError):
        batch_to_arrow(batch, ArrowOptions(dictionary=frozenset({"t"})))


def test_dictionary_text_is_checked_in_its_entries() -> None:
    with pytest.raises(CorruptFileError, match="UTF-8"):
        batch_to_arrow(_dictionary_batch([b"\xff"], [0]), ArrowOptions(dictionary=frozenset({"s"})))


def test_wide_offsets_become_narrow_when_they_fit() -> None:
    batch = _one(Element("s", type=BYTE_ARRAY, converted=0), [b"x", b"yz"])
    column = batch.columns[0]
    column.data, column.offsets = byte_buffers([b"x", b"yz"], wide=True)
    assert batch.to_arrow().column(0).to_pylist() == ["x", "yz"]
    column.offsets, column.text_checked = np.array([0, 1, 1 << 31]), True
    with pytest.raises(UnsupportedError, match="batch_size"):
        batch.to_arrow()


def test_unknown_options_are_refused() -> None:
    with pytest.raises(ValueError, match="contiguous"):
        ArrowOptions(strings="large")
    with pytest.raises(ValueError, match="'ns' or 'us'"):
        ArrowOptions(int96="ms")


def test_tables_and_streams_of_batches() -> None:
    batch = batch_from_arrow(TABLE)
    schema = arrow_schema(batch.schema)
    table = table_from_batches(schema, [batch.to_arrow(), batch.to_arrow()])
    assert table.num_rows == 6
    assert table_from_batches(schema, []).schema == schema
    pulled: list[int] = []

    def batches() -> Any:
        for number in range(2):
            pulled.append(number)
            yield batch.to_arrow()

    class Stream:
        def __arrow_c_stream__(self, requested_schema: object = None) -> object:
            return stream_capsule(schema, batches(), requested_schema)

    reader = pa.RecordBatchReader.from_stream(Stream())
    assert pulled == []
    assert reader.read_all().equals(table)


def test_batch_without_columns_keeps_its_rows() -> None:
    schema = schema_of(empty_file([INT])).select([])
    assert Batch(schema, (), 5, "f", 0).to_arrow().num_rows == 5


def test_empty_batch_has_the_types() -> None:
    batch = batch_from_arrow(TABLE.slice(0, 0), schema_of(parquet_bytes(TABLE)))
    found = batch.to_arrow()
    found.validate(full=True)
    assert found.num_rows == 0
    assert found.schema == arrow_schema(batch.schema)
