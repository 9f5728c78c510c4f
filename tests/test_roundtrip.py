"""Tables that pyarrow writes come back equal: types x nullability x nesting x encodings x codecs x layouts."""

from __future__ import annotations

import datetime as dt
import io
import os
import random
import string
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import hardwood_jit as hw
from tests.support import naive
from tests.support.columns import column_records

SLOW = settings(
    max_examples=120,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    derandomize=os.environ.get("CI") == "true",
    print_blob=True,
)

Make = Callable[[random.Random], Any]


def integers(bits: int, signed: bool) -> Make:
    low, high = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if signed else (0, (1 << bits) - 1)

    def make(rng: random.Random) -> int:
        kind = rng.randrange(4)
        if kind == 0:
            return rng.choice([low, high, 0, 1, low + 1, high - 1])
        return rng.randint(low, high) if kind == 1 else rng.randint(max(low, -50), 50)

    return make


def floats(rng: random.Random) -> float:
    special = [0.0, -0.0, float("inf"), float("-inf"), float("nan"), 1.5, -2.25]
    return rng.choice(special) if rng.random() < 0.4 else float(np.float16(rng.uniform(-1000, 1000)))


def text(rng: random.Random) -> str:
    if rng.random() < 0.5:
        return rng.choice(["", "a", "same", "prefix-1", "prefix-2", "Zürich", "日本語", "🦀"])
    return "".join(rng.choices(string.ascii_letters, k=rng.randrange(40)))


def decimals(precision: int, scale: int) -> Make:
    def make(rng: random.Random) -> Decimal:
        top = 10**precision - 1
        return naive.exact_decimal(rng.choice([0, 1, -1, top, -top, rng.randint(-top, top)]), scale)

    return make


def instants(rng: random.Random) -> int:
    return rng.choice([0, -1, 1, rng.randint(-(10**12), 10**12)])


def clock(top: int) -> Make:
    return lambda rng: rng.choice([0, 1, top - 1, rng.randrange(top)])


LEAVES: list[tuple[pa.DataType, Make, tuple[str, ...]]] = [
    (pa.bool_(), lambda rng: rng.random() < 0.5, ("PLAIN", "RLE")),
    *(
        (
            kind,
            integers(kind.bit_width, pa.types.is_signed_integer(kind)),
            ("PLAIN", "DELTA_BINARY_PACKED", "BYTE_STREAM_SPLIT"),
        )
        for kind in (pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64())
    ),
    (pa.float16(), lambda rng: np.float16(floats(rng)), ("PLAIN", "BYTE_STREAM_SPLIT")),
    (pa.float32(), floats, ("PLAIN", "BYTE_STREAM_SPLIT")),
    (pa.float64(), floats, ("PLAIN", "BYTE_STREAM_SPLIT")),
    (pa.string(), text, ("PLAIN", "DELTA_LENGTH_BYTE_ARRAY", "DELTA_BYTE_ARRAY")),
    (
        pa.binary(),
        lambda rng: rng.randbytes(rng.randrange(20)),
        ("PLAIN", "DELTA_LENGTH_BYTE_ARRAY", "DELTA_BYTE_ARRAY"),
    ),
    (pa.binary(1), lambda rng: rng.randbytes(1), ("PLAIN", "DELTA_BYTE_ARRAY", "BYTE_STREAM_SPLIT")),
    (pa.binary(5), lambda rng: rng.randbytes(5), ("PLAIN", "DELTA_BYTE_ARRAY", "BYTE_STREAM_SPLIT")),
    (pa.binary(16), lambda rng: rng.randbytes(16), ("PLAIN", "DELTA_BYTE_ARRAY", "BYTE_STREAM_SPLIT")),
    (pa.date32(), lambda rng: dt.date(1970, 1, 1) + dt.timedelta(days=rng.randint(-200_000, 200_000)), ("PLAIN",)),
    (pa.time32("ms"), clock(86_400_000), ("PLAIN", "DELTA_BINARY_PACKED")),
    (pa.time64("us"), clock(86_400_000_000), ("PLAIN",)),
    (pa.time64("ns"), clock(86_400_000_000_000), ("PLAIN",)),
    *(
        (pa.timestamp(unit, zone), instants, ("PLAIN", "DELTA_BINARY_PACKED"))
        for unit in ("ms", "us", "ns")
        for zone in (None, "UTC")
    ),
    *(
        (pa.decimal128(precision, scale), decimals(precision, scale), ("PLAIN",))
        for precision, scale in ((1, 0), (7, 2), (9, 9), (15, 3), (18, 0), (20, 4), (38, 10))
    ),
    (pa.decimal256(50, 7), decimals(50, 7), ("PLAIN",)),
]


@dataclass(frozen=True)
class Shape:
    """A type to write, and how its values are made."""

    type: pa.DataType
    make: Make
    encodings: tuple[str, ...] = ("PLAIN",)
    nullable: bool = True


def shape_of_leaf(number: int, nullable: bool) -> Shape:
    kind, make, encodings = LEAVES[number]
    return Shape(kind, make, encodings, nullable)


def field(name: str, shape: Shape) -> pa.Field:
    return pa.field(name, shape.type, shape.nullable)


def maybe(shape: Shape, rng: random.Random, nulls: float) -> Any:
    return None if shape.nullable and rng.random() < nulls else shape.make(rng)


NULLS = 0.25


def list_shape(item: Shape, nullable: bool) -> Shape:
    return Shape(
        pa.list_(field("element", item)),
        lambda rng: [maybe(item, rng, NULLS) for _ in range(rng.choice([0, 0, 1, 2, 3, 9]))],
        nullable=nullable,
    )


def struct_shape(items: list[Shape], nullable: bool) -> Shape:
    return Shape(
        pa.struct([field(f"f{number}", item) for number, item in enumerate(items)]),
        lambda rng: {f"f{number}": maybe(item, rng, NULLS) for number, item in enumerate(items)},
        nullable=nullable,
    )


def map_shape(value: Shape, nullable: bool) -> Shape:
    return Shape(
        pa.map_(pa.string(), field("value", value)),
        lambda rng: [(text(rng), maybe(value, rng, NULLS)) for _ in range(rng.choice([0, 1, 2, 5]))],
        nullable=nullable,
    )


leaves = st.builds(shape_of_leaf, st.integers(0, len(LEAVES) - 1), st.booleans())
shapes = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.builds(list_shape, inner, st.booleans()),
        st.builds(struct_shape, st.lists(inner, min_size=1, max_size=3), st.booleans()),
        st.builds(map_shape, inner, st.booleans()),
    ),
    max_leaves=5,
)


@dataclass(frozen=True)
class Layout:
    """How the writer is told to lay the table out."""

    compression: str
    data_page_version: str
    data_page_size: int
    write_batch_size: int
    row_group_size: int
    use_dictionary: bool
    dictionary_pagesize_limit: int
    write_page_index: bool
    write_page_checksum: bool
    store_decimal_as_integer: bool
    encoding_choice: int


layouts = st.builds(
    Layout,
    compression=st.sampled_from(["none", "snappy", "gzip", "brotli", "zstd", "lz4"]),
    data_page_version=st.sampled_from(["1.0", "2.0"]),
    data_page_size=st.sampled_from([1, 64, 1000, 1 << 20]),
    write_batch_size=st.sampled_from([1, 7, 64, 1024]),
    row_group_size=st.sampled_from([1, 13, 100, 1000]),
    use_dictionary=st.booleans(),
    dictionary_pagesize_limit=st.sampled_from([1, 40, 1 << 20]),
    write_page_index=st.booleans(),
    write_page_checksum=st.booleans(),
    store_decimal_as_integer=st.booleans(),
    encoding_choice=st.integers(0, 2),
)


def write(table: pa.Table, layout: Layout, encodings: dict[str, str]) -> bytes:
    sink = io.BytesIO()
    how = {key: value for key, value in vars(layout).items() if key != "encoding_choice"}
    if layout.use_dictionary:
        encodings = {}
    pq.write_table(table, sink, store_schema=False, version="2.6", column_encoding=encodings or None, **how)
    return sink.getvalue()


def check(table: pa.Table, data: bytes, batch_size: int | None, threads: int) -> None:
    """Arrow types against pyarrow's, Arrow values against what was written, batches and rows against the naive decoder.

    The values are not compared with pyarrow's own reading: it ends at a page without values, which its writer puts
    first in a chunk when a dictionary overflows at once.
    """
    scan = hw.scan(data).threads(threads)
    if batch_size is not None:
        scan = scan.batch_size(batch_size)
    types = pq.ParquetFile(io.BytesIO(data)).schema_arrow
    written = table.to_pylist()
    ours = scan.to_arrow()
    ours.validate(full=True)
    assert ours.schema.equals(types, check_metadata=False), f"{ours.schema}\nis not\n{types}"
    difference = naive.first_difference(ours.to_pylist(), written)
    assert difference is None, difference
    views = scan.to_arrow(strings="view")
    views.validate(full=True)
    difference = naive.first_difference(views.to_pylist(), written)
    assert difference is None, f"as views: {difference}"
    oracle = naive.decode(data)
    found: list[list[Any]] = [[] for _ in oracle.leaves]
    for batch in scan.batches():
        assert batch_size is None or batch.num_rows <= batch_size
        for into, column in zip(found, batch.columns, strict=True):
            into += column_records(column)
    for number, leaf in enumerate(oracle.leaves):
        difference = naive.first_difference(found[number], oracle.leaf_records(number))
        assert difference is None, f"{'.'.join(leaf.path)}: {difference}"
    difference = naive.first_difference([dict(row) for row in scan.rows()], oracle.logical_records())
    assert difference is None, difference
    assert scan.count() == oracle.num_rows


@SLOW
@given(
    columns=st.lists(shapes, min_size=1, max_size=4),
    layout=layouts,
    rows=st.sampled_from([0, 1, 7, 64, 65, 203]),
    nulls=st.sampled_from([0.0, 0.1, 0.9, 1.0]),
    seed=st.integers(0, 2**32),
    batch_size=st.sampled_from([None, 1, 7, 64, 1000]),
    threads=st.sampled_from([1, 2]),
)
def test_any_table_comes_back_through_arrow_batches_and_rows(
    columns: list[Shape], layout: Layout, rows: int, nulls: float, seed: int, batch_size: int | None, threads: int
) -> None:
    rng = random.Random(seed)
    arrays, fields, encodings = [], [], {}
    for number, shape in enumerate(columns):
        values = [maybe(shape, rng, nulls) for _ in range(rows)]
        arrays.append(pa.array(values, shape.type))
        fields.append(field(f"c{number}", shape))
        if not pa.types.is_nested(shape.type) and not (pa.types.is_decimal(shape.type)):
            encodings[f"c{number}"] = shape.encodings[layout.encoding_choice % len(shape.encodings)]
    table = pa.Table.from_arrays(arrays, schema=pa.schema(fields))
    check(table, write(table, layout, encodings), batch_size, threads)


@pytest.mark.parametrize("number", range(len(LEAVES)), ids=[str(kind) for kind, _, _ in LEAVES])
def test_every_type_in_every_encoding_and_page_version(number: int) -> None:
    kind, make, encodings = LEAVES[number]
    rng = random.Random(number)
    nullable = Shape(kind, make)
    rows = 203  # three 64-bit words and a tail
    arrays = [
        pa.array([make(rng) for _ in range(rows)], kind),
        pa.array([maybe(nullable, rng, 0.3) for _ in range(rows)], kind),
        pa.array([None] * rows, kind),
        pa.array([list_shape(nullable, False).make(rng) for _ in range(rows)], pa.list_(field("element", nullable))),
    ]
    fields = [
        pa.field("required", kind, False),
        pa.field("optional", kind),
        pa.field("nothing", kind),
        pa.field("list", arrays[3].type),
    ]
    table = pa.Table.from_arrays(arrays, schema=pa.schema(fields))
    names = ["required", "optional", "nothing", "list.list.element"]
    for version in ("1.0", "2.0"):
        for choice, encoding in enumerate((*encodings, None)):
            layout = Layout("snappy", version, 300, 32, 150, encoding is None, 100, True, True, True, choice)
            check(table, write(table, layout, {} if encoding is None else dict.fromkeys(names, encoding)), 50, 1)


def test_strings_as_views_and_dictionaries_hold_the_same_values() -> None:
    rng = random.Random(5)
    table = pa.table({"s": [None if rng.random() < 0.1 else text(rng) for _ in range(500)], "n": range(500)})
    for layout in (
        Layout("snappy", "1.0", 500, 64, 200, True, 1 << 20, False, False, False, 0),
        Layout("none", "2.0", 500, 64, 200, False, 1 << 20, False, False, False, 0),
        Layout("zstd", "1.0", 500, 64, 200, True, 100, False, False, False, 0),
    ):
        scan = hw.scan(write(table, layout, {}))
        plain = scan.to_arrow()
        views = scan.to_arrow(strings="view")
        assert views.schema.field("s").type == pa.string_view()
        views.validate(full=True)
        assert views.to_pylist() == plain.to_pylist() == table.to_pylist()
        coded = scan.to_arrow(dictionary=["s"])
        coded.validate(full=True)
        assert pa.types.is_dictionary(coded.schema.field("s").type)
        assert coded.to_pylist() == table.to_pylist()


@pytest.mark.parametrize("nested", [False, True], ids=["flat", "list"])
@pytest.mark.parametrize("encoding", ["PLAIN", "DELTA_LENGTH_BYTE_ARRAY", "DELTA_BYTE_ARRAY"])
def test_views_stay_valid_when_later_batches_share_their_pages(nested: bool, encoding: str) -> None:
    # Long enough not to be stored inside the view; pages of about five values, so that batches end inside pages.
    values = [f"more than twelve bytes {number:05d}{'x' * (number % 13)}" for number in range(200)]
    table = pa.table({"s": [[value, value] for value in values] if nested else values})
    sink = io.BytesIO()
    name = "s.list.element" if nested else "s"
    pq.write_table(
        table,
        sink,
        use_dictionary=False,
        column_encoding={name: encoding},
        data_page_size=300,
        write_batch_size=5,
        compression="none",
        store_schema=False,
    )
    for size in (1, 3, 7, 16, 64, 1000):
        views = hw.scan(sink.getvalue()).batch_size(size).to_arrow(strings="view")
        views.validate(full=True)
        assert views.to_pylist() == table.to_pylist(), f"batches of {size}"


def test_c_stream_pandas_and_numpy_give_the_same_values() -> None:
    rng = random.Random(6)
    table = pa.table(
        {
            "i": pa.array([None if rng.random() < 0.2 else rng.randrange(100) for _ in range(300)], pa.int32()),
            "d": pa.array([rng.random() for _ in range(300)]),
            "s": pa.array([text(rng) for _ in range(300)]),
            "l": pa.array([[1, None, 3][: rng.randrange(4)] for _ in range(300)], pa.list_(pa.int64())),
        }
    )
    layout = Layout("snappy", "1.0", 500, 64, 100, True, 1 << 20, False, False, False, 0)
    scan = hw.scan(write(table, layout, {}))
    assert pa.table(scan).to_pylist() == table.to_pylist()
    assert scan.to_pandas().equals(pq.read_table(io.BytesIO(write(table, layout, {}))).to_pandas())
    arrays = scan.to_numpy()
    assert arrays["d"].tolist() == table["d"].to_pylist()
    assert arrays["i"].tolist() == table["i"].to_pylist()  # a masked array gives None for what is masked
    assert arrays["s"].tolist() == table["s"].to_pylist()
