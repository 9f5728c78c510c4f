"""A filtered scan gives what decoding everything and testing row by row gives, whatever the file and the terminal.

The oracle is `tests.support.naive_predicate` over `tests.support.naive`; where their semantics agree (no NaN, no zeros
with a sign) pyarrow and DuckDB are asked, too. `sizes` makes windows, gaps and limits of memory so small that files of
two hundred rows run through every path of large ones.
"""

from __future__ import annotations

import datetime as dt
import functools
import io
import itertools
import os
import random
import subprocess
import sys
from collections.abc import Callable, Iterator
from decimal import Decimal
from operator import and_, or_
from pathlib import Path
from typing import Any

import duckdb
import polars
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import hardwood_jit as hw
from hardwood_jit import col
from hardwood_jit.jit.fused_kernels import FUSED
from hardwood_jit.jit.shape import page_shape, row_shape
from hardwood_jit.plan.predicate import And, Compare, IsIn, IsNull, Not, Or, Predicate
from tests.support import naive
from tests.support import pages as p
from tests.support.columns import column_records
from tests.support.filtering import (
    KINDS,
    OPERATORS,
    Checked,
    Kind,
    Layout,
    check_scan,
    compared,
    literal,
    narrowed,
    near_literal,
    pair_kind,
    pools_of,
    random_chunk,
    random_file,
    random_predicate,
    random_record,
    random_test,
    sizes,
    stored_values,
)

ROWS = 203  # three 64-bit words of validity and a tail
SLOW = settings(
    max_examples=50,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    derandomize=os.environ.get("CI") == "true",
    print_blob=True,
)


@pytest.fixture(autouse=True)
def no_kernels_are_built_behind_our_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """Random predicates have hundreds of shapes, each a compilation; tests of generated kernels ask for theirs."""
    monkeypatch.setattr(FUSED, "building", "never")


def rows_found(scan: hw.Scan) -> list[int]:
    """The column `row` of the result: where its rows come from."""
    return [row for batch in scan.select("row").batches() for row in batch.columns[0].values.tolist()]


ROW = p.leaf("row", p.INT32)


def numbered(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{"row": number, **record} for number, record in enumerate(records)]


# ---------------------------------------------------------------- every type, encoding, nullability and operator


# One type of every way to compare and to store; the others differ from one of these in their literals only.
FULLY = {
    "boolean",
    "int32",
    "int64",
    "uint32",
    "uint64",
    "float",
    "double",
    "float16",
    "decimal_fixed",
    "decimal_bytes",
    "int96",
    "string",
    "fixed5",
}


def one_value_in_every_encoding(kind: Kind, rng: random.Random) -> bytes:
    """The same values once per encoding, required and optional; pages of the columns are not aligned."""
    pool = [kind.make(rng) for _ in range(12)]
    values = [rng.choice(pool) for _ in range(ROWS)]
    nulls = [rng.random() < 0.3 for _ in range(ROWS)]
    encodings = kind.encodings if kind.name in FULLY else kind.encodings[:1]
    forms: list[tuple[str, Layout]] = [
        (f"e{encoding}", Layout(dictionary=("none",), encodings=(encoding,))) for encoding in encodings
    ]
    forms += [("dictionary", Layout(dictionary=("all",))), ("fallback", Layout(dictionary=("fallback", "mixed")))]
    nodes = [ROW]
    for name, _ in forms:
        nodes += [kind.leaf(f"required_{name}"), kind.leaf(f"optional_{name}", p.OPTIONAL)]
    root = p.group("root", *nodes)
    records = numbered(
        [
            {node.name: None if null and node.repetition == p.OPTIONAL else value for node in nodes[1:]}
            for value, null in zip(values, nulls, strict=True)
        ]
    )
    groups = []
    for part in (records[:150], records[150:]):
        chunks = []
        for number, path in enumerate(p.leaf_paths(root)):
            layout = forms[(number - 1) // 2][1] if number else Layout(dictionary=("none",), encodings=(p.PLAIN,))
            chunks.append(random_chunk(path, p.shred(path, part), rng, layout))
        groups.append(p.RowGroup(chunks, len(part)))
    return p.build_file(root, groups)


def predicates_on(leaf: naive.Node, column: Any, values: list[Any], rng: random.Random) -> Iterator[Predicate]:
    """Every operator that the column has, with literals that are stored, nearby, or beyond everything."""
    chosen = [value for value in values if literal(leaf, value) is not None]
    exact = [literal(leaf, value) for value in rng.sample(chosen, min(len(chosen), 6))]
    for op in OPERATORS[:2]:
        yield compared(column, op, exact[0])
    yield column.is_in(exact)
    yield ~column.is_in(exact[:2])
    yield column.is_in([])
    yield ~column.is_in([])
    yield column.is_null()
    yield column.is_not_null() & compared(column, "ne", exact[-1])
    yield column.is_null() | compared(column, "eq", exact[0])
    if leaf.logical == "INTERVAL":
        return
    for op in OPERATORS[2:]:
        yield compared(column, op, near_literal(leaf, rng.choice(chosen), rng))
        yield ~compared(column, op, exact[0])
    low, high = (near_literal(leaf, rng.choice(chosen), rng) for _ in range(2))
    yield column.is_between(low, high)
    yield ~column.is_between(high, low)
    if leaf.physical != p.INT96:
        yield compared(column.raw, rng.choice(OPERATORS), rng.choice(values))
    if leaf.physical in (p.BYTE_ARRAY, p.FLBA) and leaf.logical in (None, "STRING", "JSON"):
        for length in (0, 1, 3):
            yield column.starts_with(rng.choice(values)[:length])


@pytest.mark.parametrize("name", KINDS)
def test_every_operator_on_every_encoding_of_a_type_finds_its_rows(name: str) -> None:
    checked = Checked(one_value_in_every_encoding(KINDS[name], random.Random(name)))
    leaves = checked.file.leaves[1:]
    wanted: dict[bool, list[list[int]]] = {}  # by nullability: the rows of each predicate, for all encodings
    for number, leaf in enumerate(leaves):
        values = stored_values(checked.file, leaf)
        predicates = list(predicates_on(leaf, col(leaf.path), values, random.Random(name)))
        is_optional = leaf.repetition == p.OPTIONAL
        if is_optional not in wanted:
            wanted[is_optional] = [checked.matching(predicate) for predicate in predicates]
        for turn, (predicate, rows) in enumerate(zip(predicates, wanted[is_optional], strict=True)):
            other = leaves[(number + turn) % len(leaves)]
            with sizes(window=(None, 64, None, 40)[turn % 4], dense=(None, 0, 2)[turn % 3]):
                found = list(checked.scan(predicate, ["row", leaf.path, other.path]).threads(1).batches())
            assert [row for batch in found for row in batch.columns[0].values.tolist()] == rows, predicate
            for position, path in enumerate(dict.fromkeys([leaf.path, other.path]), start=1):
                records = [record for batch in found for record in column_records(batch.columns[position])]
                difference = naive.first_difference(records, [checked.columns[path][row] for row in rows])
                assert difference is None, f"{predicate}: {path}: {difference}"


@pytest.mark.parametrize("name", ["int32", "int64", "uint64", "float", "double", "string", "fixed5", "decimal_bytes"])
def test_long_lists_of_values_find_their_rows(name: str) -> None:
    """From one comparison to a search by halving, with and without a sieve before it (3 to 1024 single numbers)."""
    rng = random.Random(name)
    kind = KINDS[name]
    root = p.group("root", ROW, kind.leaf("x", p.OPTIONAL))
    stored = list(
        {p.plain_one(kind.physical, value): value for value in (kind.make(rng) for _ in range(3000))}.values()
    )
    records = numbered([{"x": None if rng.random() < 0.1 else rng.choice(stored)} for _ in range(2000)])
    for layout in (Layout(page_rows=(300,), dictionary=("none",)), Layout(page_rows=(300,), dictionary=("all",))):
        checked = Checked(random_file(root, records, rng, layout, rows_per_group=1500))
        leaf = checked.file.leaves[1]
        keys = [literal(leaf, value) for value in stored]
        for count in (1, 2, 3, 5, 40, min(1500, len(keys))):
            members = rng.sample(keys, min(count, len(keys)))
            wanted = {str(member) for member in members}  # tells -0.0 from 0.0, and NaN is NaN
            values = [None if value is None else str(literal(leaf, value)) for value in checked.columns[("x",)]]
            for window in (None, 700):
                with sizes(window):
                    found = rows_found(checked.scan(col("x").is_in(members)))
                    assert found == [row for row, value in enumerate(values) if value in wanted]
                    rest = rows_found(checked.scan(~col("x").is_in(members)))
                    assert rest == [
                        row for row, value in enumerate(values) if value not in wanted and value is not None
                    ]


# ---------------------------------------------------------------- any file, any filter

SHAPES = ("flat", "struct", "list", "list of structs", "map", "list of lists", "list in struct", "repeated")


def nested_node(shape: str, one: Kind, two: Kind, rng: random.Random) -> tuple[p.Node | None, dict[str, Kind]]:
    """A nested column around values of one or two kinds, and the kinds by dotted path."""
    option = rng.choice([p.OPTIONAL, p.REQUIRED])
    if shape == "struct":
        inner = p.group("inner", two.leaf("c"), repetition=option)
        return p.group("n", one.leaf("a", p.OPTIONAL), two.leaf("b"), inner, repetition=p.OPTIONAL), {
            "n.a": one,
            "n.b": two,
            "n.inner.c": two,
        }
    if shape == "list":
        return p.list_group("n", one.leaf("element", option), rng.choice([p.OPTIONAL, p.REQUIRED])), {
            "n.list.element": one
        }
    if shape == "list of structs":
        element = p.group("element", one.leaf("a", p.OPTIONAL), two.leaf("b"), repetition=option)
        return p.list_group("n", element), {"n.list.element.a": one, "n.list.element.b": two}
    if shape == "map":
        return p.map_group("n", KINDS["string"].leaf("key"), one.leaf("value", option)), {
            "n.key_value.key": KINDS["string"],
            "n.key_value.value": one,
        }
    if shape == "list of lists":
        return p.list_group("n", p.list_group("element", one.leaf("element", option))), {
            "n.list.element.list.element": one
        }
    if shape == "list in struct":
        return p.group("n", p.list_group("l", one.leaf("element", option)), repetition=p.OPTIONAL), {
            "n.l.list.element": one
        }
    if shape == "repeated":
        return one.leaf("n", p.REPEATED), {"n": one}
    return None, {}


def handmade_file(
    shape: str, names: list[str], rows: int, nulls: float, distinct: int, group_rows: int | None, seed: int
) -> bytes:
    rng = random.Random(seed)
    kinds = {f"f{number}": KINDS[name] for number, name in enumerate(names)}
    nodes = [kind.leaf(name, rng.choice([p.REQUIRED, p.OPTIONAL])) for name, kind in kinds.items()]
    node, inside = nested_node(shape, KINDS[names[0]], KINDS[names[-1]], rng)
    root = p.group("root", *nodes, *([node] if node is not None else []))
    pools = pools_of({**kinds, **inside}, rng, distinct)
    records = [random_record(root, pools, rng, nulls) for _ in range(rows)]
    return random_file(root, records, rng, rows_per_group=group_rows)


small_sizes = st.fixed_dictionaries(
    {
        "window": st.sampled_from([None, 1, 7, 64]),
        "gap": st.sampled_from([None, 0, 2]),
        "dense": st.sampled_from([None, 0, 2]),
        "held": st.sampled_from([None, None, 1, 100, 1000]),
    }
)
ways = st.fixed_dictionaries(
    {
        "batch_size": st.sampled_from([None, 1, 7, 64]),
        "threads": st.sampled_from([1, 2]),
        "use_metadata": st.booleans(),
    }
)


def check_some_filters(data: bytes, small: dict[str, Any], how: dict[str, Any], seed: int) -> None:
    """Two random predicates, one of them with some of the columns only."""
    rng = random.Random(seed)
    checked = Checked(data)
    for is_narrow in (False, True):
        predicate = random_predicate(checked.file, rng)
        tops = [child.name for child in checked.file.root.children]
        select = rng.sample(tops, rng.randint(1, len(tops))) if is_narrow else None
        with sizes(**small):
            checked.check(predicate, select, **how)


@SLOW
@given(
    shape=st.sampled_from(SHAPES),
    names=st.lists(st.sampled_from(sorted(KINDS)), min_size=1, max_size=3),
    rows=st.sampled_from([1, 7, 64, 65, ROWS]),
    nulls=st.sampled_from([0.0, 0.2, 0.9]),
    distinct=st.sampled_from([1, 4, 12, 60]),
    group_rows=st.sampled_from([None, None, 50]),
    small=small_sizes,
    how=ways,
    seed=st.integers(0, 2**32),
)
def test_any_filter_over_any_handmade_file(
    shape: str,
    names: list[str],
    rows: int,
    nulls: float,
    distinct: int,
    group_rows: int | None,
    small: dict[str, Any],
    how: dict[str, Any],
    seed: int,
) -> None:
    data = handmade_file(shape, names, rows, nulls, distinct, group_rows, seed)
    check_some_filters(data, small, how, seed)


# ---------------------------------------------------------------- tables that pyarrow writes

Make = Callable[[random.Random], Any]
WORDS = ["", "a", "ab", "same", "prefix-1", "prefix-2", "Zürich", "日本語", "longer than twelve bytes"]

ARROW: dict[str, tuple[pa.DataType, Make, tuple[str, ...]]] = {
    "bool": (pa.bool_(), lambda rng: rng.random() < 0.5, ("PLAIN", "RLE")),
    "int8": (pa.int8(), lambda rng: rng.choice([-128, -1, 0, 1, 127]), ("PLAIN", "DELTA_BINARY_PACKED")),
    "int32": (pa.int32(), lambda rng: rng.randint(-5, 5) * 7 ** rng.randrange(5), ("PLAIN", "BYTE_STREAM_SPLIT")),
    "int64": (pa.int64(), lambda rng: rng.choice([-(2**63), -3, 0, 3, 2**63 - 1]), ("PLAIN", "DELTA_BINARY_PACKED")),
    "uint32": (pa.uint32(), lambda rng: rng.choice([0, 1, 2**31, 2**32 - 1]), ("PLAIN", "DELTA_BINARY_PACKED")),
    "uint64": (pa.uint64(), lambda rng: rng.choice([0, 1, 2**63, 2**64 - 1]), ("PLAIN", "BYTE_STREAM_SPLIT")),
    "float32": (pa.float32(), lambda rng: rng.choice([1.5, -2.25, 1e30, 3.0]), ("PLAIN", "BYTE_STREAM_SPLIT")),
    "float64": (pa.float64(), lambda rng: rng.choice([1.5, -2.25, 1e300, 0.1]), ("PLAIN", "BYTE_STREAM_SPLIT")),
    "string": (
        pa.string(),
        lambda rng: rng.choice(WORDS),
        ("PLAIN", "DELTA_LENGTH_BYTE_ARRAY", "DELTA_BYTE_ARRAY"),
    ),
    "binary": (pa.binary(), lambda rng: rng.choice([b"", b"\0", b"\x7f", b"\x80", b"\xff\xff"]), ("PLAIN",)),
    "fixed": (pa.binary(3), lambda rng: rng.choice([b"abc", b"abd", b"\xff\0\0"]), ("PLAIN", "BYTE_STREAM_SPLIT")),
    "date": (pa.date32(), lambda rng: dt.date(2024, 1, 1) + dt.timedelta(days=rng.randrange(9)), ("PLAIN",)),
    "timestamp": (
        pa.timestamp("us", "UTC"),
        lambda rng: dt.datetime(2024, 1, 1, tzinfo=dt.UTC) + dt.timedelta(microseconds=rng.randrange(5)),
        ("PLAIN", "DELTA_BINARY_PACKED"),
    ),
    "decimal": (pa.decimal128(9, 2), lambda rng: Decimal(rng.randint(-4, 4)) / 4, ("PLAIN",)),
    "wide_decimal": (pa.decimal128(30, 3), lambda rng: Decimal(rng.randint(-4, 4)) * 10**20, ("PLAIN",)),
}


def arrow_table(names: list[str], rows: int, nulls: float, rng: random.Random) -> pa.Table:
    """Columns c0, c1, ... of these types, optional ones with nulls; and a list and a struct of the first type."""
    arrays, fields = [], []
    for number, name in enumerate(names):
        kind, make, _ = ARROW[name]
        nullable = rng.random() < 0.7
        values = [None if nullable and rng.random() < nulls else make(rng) for _ in range(rows)]
        arrays.append(pa.array(values, kind))
        fields.append(pa.field(f"c{number}", kind, nullable))
    kind, make, _ = ARROW[names[0]]
    maybe: Make = lambda rng: None if rng.random() < nulls else make(rng)  # noqa: E731
    lists = [None if rng.random() < nulls else [maybe(rng) for _ in range(rng.randrange(4))] for _ in range(rows)]
    structs = [None if rng.random() < nulls else {"a": maybe(rng), "b": number} for number in range(rows)]
    for name, values, nested in (
        ("l", lists, pa.list_(kind)),
        ("s", structs, pa.struct([("a", kind), ("b", pa.int64())])),
    ):
        arrays.append(pa.array(values, nested))
        fields.append(pa.field(name, nested))
    return pa.Table.from_arrays(arrays, schema=pa.schema(fields))


def write_arrow(table: pa.Table, names: list[str], rng: random.Random, **fixed: Any) -> bytes:
    """Tiny pages, V1 and V2, dictionaries that overflow, codecs: as pyarrow's writer offers them."""
    how: dict[str, Any] = {
        "compression": rng.choice(["none", "snappy", "zstd", "gzip", "lz4", "brotli"]),
        "data_page_version": rng.choice(["1.0", "2.0"]),
        "data_page_size": rng.choice([1, 64, 1000, 1 << 20]),
        "write_batch_size": rng.choice([1, 7, 64, 1024]),
        "row_group_size": rng.choice([13, 100, 1000]),
        "use_dictionary": rng.random() < 0.6,
        "dictionary_pagesize_limit": rng.choice([1, 40, 1 << 20]),
        "write_page_index": rng.random() < 0.5,
        "write_page_checksum": rng.random() < 0.5,
        "store_decimal_as_integer": rng.random() < 0.5,
        **fixed,
    }
    encodings = None
    if not how["use_dictionary"]:
        encodings = {f"c{number}": rng.choice(ARROW[name][2]) for number, name in enumerate(names)}
    sink = io.BytesIO()
    pq.write_table(table, sink, store_schema=False, version="2.6", column_encoding=encodings, **how)
    return sink.getvalue()


def arrow_expression(predicate: Predicate, schema: pa.Schema) -> pc.Expression:
    """The predicate as pyarrow has it; is_in as OR of comparisons, because pyarrow's own says false for null."""
    match predicate:
        case And(args=args):
            return functools.reduce(and_, [arrow_expression(arg, schema) for arg in args])
        case Or(args=args):
            return functools.reduce(or_, [arrow_expression(arg, schema) for arg in args])
        case Not(arg=arg):
            return ~arrow_expression(arg, schema)
        case IsNull(column=column):
            return pc.field(column.path).is_null()
        case IsIn(column=column, literals=literals):
            return functools.reduce(
                or_, [arrow_expression(compared(column, "eq", value), schema) for value in literals]
            )
        case Compare(column=column, op=op, literal=value):
            # A scalar of the column's type: pyarrow would cast a uint64 column to the int64 of a Python integer.
            return getattr(pc.field(column.path), f"__{op}__")(pa.scalar(value, schema.field(column.path).type))
    raise TypeError(predicate)


def plain_predicate(checked: Checked, names: list[str], rng: random.Random, depth: int) -> Predicate:
    """What pyarrow, DuckDB and we understand alike: comparisons of flat columns with values of their own."""
    kind = rng.randrange(6)
    if depth and kind < 3:
        one, two = (plain_predicate(checked, names, rng, depth - 1) for _ in range(2))
        return one & two if kind < 2 else one | two
    if depth and kind == 3:
        return ~plain_predicate(checked, names, rng, depth - 1)
    number = rng.randrange(len(names))
    leaf, column = checked.file.leaves[number], col(f"c{number}")
    values = stored_values(checked.file, leaf)
    if not values or rng.random() < 0.15:
        return column.is_null()
    members = [literal(leaf, rng.choice(values)) for _ in range(3)]
    return column.is_in(members) if rng.random() < 0.2 else compared(column, rng.choice(OPERATORS), members[0])


@SLOW
@given(
    names=st.lists(st.sampled_from(sorted(ARROW)), min_size=1, max_size=4),
    rows=st.sampled_from([1, 64, 65, ROWS]),
    nulls=st.sampled_from([0.0, 0.2, 0.9]),
    small=small_sizes,
    how=ways,
    seed=st.integers(0, 2**32),
)
def test_any_filter_over_any_table_that_pyarrow_writes(
    names: list[str], rows: int, nulls: float, small: dict[str, Any], how: dict[str, Any], seed: int
) -> None:
    rng = random.Random(seed)
    table = arrow_table(names, rows, nulls, rng)
    data = write_arrow(table, names, rng)
    check_some_filters(data, small, how, seed)
    checked = Checked(data)
    predicate = plain_predicate(checked, names, rng, 2)
    with sizes(**small):
        wanted = checked.check(predicate, **how)
    # pyarrow filters the table in memory: its reader ends at a page without values, which its writer may put first.
    marked = table.append_column("row", pa.array(range(rows)))
    assert marked.filter(arrow_expression(predicate, table.schema))["row"].to_pylist() == wanted, predicate


def test_duckdb_finds_the_same_rows_in_the_same_file(tmp_path: Path) -> None:
    rng = random.Random(11)
    names = ["int32", "uint64", "string", "date", "decimal", "float64", "bool"]
    table = arrow_table(names, 1000, 0.2, rng).select([f"c{number}" for number in range(len(names))])
    table = table.append_column("row", pa.array(range(1000)))
    path = tmp_path / "file.parquet"
    path.write_bytes(write_arrow(table, names, rng, data_page_size=200, row_group_size=300, compression="snappy"))
    checked = Checked(path.read_bytes())
    for _ in range(60):
        predicate = plain_predicate(checked, names, rng, 2)
        text = sql_of(predicate)
        found = duckdb.sql(f"select row from '{path}' where {text} order by row").fetchall()
        assert [row for (row,) in found] == rows_found(checked.scan(predicate)), text


def sql_of(predicate: Predicate) -> str:
    match predicate:
        case And(args=args):
            return "(" + " and ".join(map(sql_of, args)) + ")"
        case Or(args=args):
            return "(" + " or ".join(map(sql_of, args)) + ")"
        case Not(arg=arg):
            return f"(not {sql_of(arg)})"
        case IsNull(column=column):
            return f"({column.path} is null)"
        case IsIn(column=column, literals=literals):
            return f"({column.path} in ({', '.join(map(sql_literal, literals))}))"
        case Compare(column=column, op=op, literal=value):
            sign = {"eq": "=", "ne": "<>", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}[op]
            return f"({column.path} {sign} {sql_literal(value)})"
    raise TypeError(predicate)


def sql_literal(value: Any) -> str:
    if isinstance(value, dt.date):
        return f"date '{value}'"
    if isinstance(value, float):
        return f"'{value!r}'::double"
    if isinstance(value, str):
        return f"'{value}'"
    return str(value)


# ---------------------------------------------------------------- survivors: how many, where, gathered how

SURVIVORS: dict[str, Predicate] = {
    "none": col("row") < 0,
    "one": col("row") == 101,
    "first": col("row") < 1,
    "last": col("row") == ROWS - 1,
    "clustered": (col("row") >= 70) & (col("row") < 90),
    "scattered": col("row").is_in(range(3, ROWS, 17)),
    "half": col("row").is_in(range(0, ROWS, 2)),
    "two ends": (col("row") < 5) | (col("row") > 190),
    "all but one": col("row") != 100,
    "all": col("row") >= 0,
}


@pytest.fixture(scope="module")
def every_output() -> list[Checked]:
    """Numbers, text, decimals, wide values and nested columns, once per way to store values."""
    kinds = {
        name: KINDS[name] for name in ("boolean", "int32", "double", "string", "decimal_int64", "decimal_bytes", "uuid")
    }
    nested = {
        "l.list.element": KINDS["int64"],
        "m.key_value.key": KINDS["string"],
        "m.key_value.value": KINDS["float"],
        "s.a": KINDS["string"],
        "s.b": KINDS["int32"],
        "ls.list.element.x": KINDS["int32"],
        "ls.list.element.y": KINDS["string"],
    }
    root = p.group(
        "root",
        ROW,
        *(kind.leaf(name, p.OPTIONAL) for name, kind in kinds.items()),
        KINDS["string"].leaf("text"),
        p.list_group("l", KINDS["int64"].leaf("element", p.OPTIONAL)),
        p.map_group("m", KINDS["string"].leaf("key"), KINDS["float"].leaf("value", p.OPTIONAL)),
        p.group("s", KINDS["string"].leaf("a", p.OPTIONAL), KINDS["int32"].leaf("b"), repetition=p.OPTIONAL),
        p.list_group(
            "ls",
            p.group("element", KINDS["int32"].leaf("x"), KINDS["string"].leaf("y", p.OPTIONAL), repetition=p.OPTIONAL),
        ),
    )
    rng = random.Random(3)
    pools = pools_of({**kinds, **nested, "text": KINDS["string"], "row": KINDS["int32"]}, rng, 12)
    records = [{**random_record(root, pools, rng, 0.2), "row": number} for number in range(ROWS)]
    layouts = [
        Layout(page_rows=(20,), dictionary=(form,), codecs=codecs, encodings=encodings, versions=versions)
        for form, codecs, encodings, versions in (
            ("none", (p.UNCOMPRESSED,), (p.PLAIN,), (1,)),
            ("all", (p.SNAPPY,), None, (2,)),
            ("fallback", (p.ZSTD,), (p.PLAIN,), (1, 2)),
            ("mixed", (p.SNAPPY,), None, (1,)),
        )
    ]
    return [Checked(random_file(root, records, rng, layout, rows_per_group=150)) for layout in layouts]


@pytest.mark.parametrize("survivors", SURVIVORS)
def test_survivors_come_out_whole_however_many_and_wherever_they_are(
    every_output: list[Checked], survivors: str
) -> None:
    predicate = SURVIVORS[survivors]
    for number, checked in enumerate(every_output):
        window, gap, dense = ((None, None, None), (64, 0, 0), (20, 2, 2))[(number + len(survivors)) % 3]
        with sizes(window, gap, dense):
            checked.check(predicate, threads=1 + number % 2, batch_size=(None, 64, 7)[number % 3])


def test_filter_column_may_be_selected_or_not(every_output: list[Checked]) -> None:
    rng = random.Random(5)
    for checked in every_output:
        for leaf in checked.file.leaves:
            predicate = random_test(checked.file, rng, leaf)
            for select in ([leaf.path], rng.choice([["row"], ["text", leaf.path, "l"]])):
                with sizes(window=rng.choice([None, 64])):
                    checked.check(predicate, select, threads=1)


def test_dictionary_output_of_a_chunk_that_falls_back_keeps_its_values(every_output: list[Checked]) -> None:
    # Survivors on pages of indexes, on PLAIN pages, and on both with pages between them that nobody wants.
    for predicate in (col("row").is_in([1, 130]), col("row").is_in(range(0, ROWS, 45)), col("row") >= 0):
        for checked in every_output:
            for window, gap in ((None, 0), (7, 0), (64, None)):
                with sizes(window, gap, dense=0):
                    wanted = checked.matching(predicate)
                    scan = checked.scan(predicate, ["text", "string", "s"]).threads(1)
                    table = scan.to_arrow(dictionary=["text", "string", "s.a"])
                    table.validate(full=True)
                    whole = checked.whole(scan, "arrow")
                    assert table.to_pylist() == [whole[row] for row in wanted]


def test_result_may_be_larger_than_a_window_holds() -> None:
    """Dictionary entries and PLAIN pages of more bytes than a window has room for: it is cut, not refused."""
    rows = 30_000
    texts = {"dictionary": [f"{'x' * 990}{number % 7}" for number in range(rows)]}
    texts["plain"] = [f"{number:09d}{'y' * 500}" for number in range(rows)]
    sink = io.BytesIO()
    pq.write_table(pa.table({"row": pa.array(range(rows), pa.int32()), **texts}), sink, use_dictionary=["dictionary"])
    for predicate, count in (
        (col("row") >= 0, rows),
        (col("row") < rows // 3 * 2, rows // 3 * 2),
        ((col("row") >= 0) & (col("plain") != "") & (col("dictionary") != ""), rows),
    ):
        for form in ({}, {"strings": "view"}, {"dictionary": ["dictionary"]}):
            table = hw.scan(sink.getvalue()).filter(predicate).to_arrow(**form)
            assert table["row"].to_pylist() == list(range(count))
            assert table["plain"][count - 1].as_py() == texts["plain"][count - 1]
        held = [batch.num_rows for batch in hw.scan(sink.getvalue()).filter(predicate).batches()]
        assert sum(held) == count


SHRUNK = """
import resource, sys
resource.setrlimit(resource.RLIMIT_AS, (6 << 30, 6 << 30))
import hardwood_jit as hw
from hardwood_jit.jit import value_decoder
whole = hw.scan(sys.argv[1]).to_arrow()
value_decoder.ENTRY_BYTES = 200  # less than one record of the lists takes
for form in ({}, {"strings": "view"}, {"dictionary": ["coded"]}):
    for text in ("", "row >= 0", "row in (3, 4, 5, 90)", "coded != 'x' and any(lists) != 'x' and plain > ''"):
        scan = hw.scan(sys.argv[1]).threads(1)
        found = (scan.filter(text) if text else scan).to_arrow(**form)
        wanted = whole.take([3, 4, 5, 90]) if " in " in text else whole
        assert found.to_pylist() == wanted.to_pylist(), (form, text)
"""


def test_window_shrinks_to_one_record_where_values_decode_to_more_than_it_may_hold(tmp_path: Path) -> None:
    """In a process of its own: when a window can shrink no further and is tried again, it is tried for ever."""
    rows = range(100)
    texts = [f"{row % 9} {'long enough to be no inline view' * 3}" for row in rows]
    table = pa.table(
        {
            "row": pa.array(rows, pa.int32()),
            "coded": texts,
            "plain": texts,
            "lengths": texts,
            "prefixed": texts,
            "fixed": pa.array([text.encode()[:90] for text in texts], pa.binary(90)),
            "lists": [[text] * 9 for text in texts],
            "prefixed_lists": [[text] * 9 for text in texts],
        }
    )
    encodings = {
        "plain": "PLAIN",
        "lengths": "DELTA_LENGTH_BYTE_ARRAY",
        "prefixed": "DELTA_BYTE_ARRAY",
        "lists.list.element": "DELTA_LENGTH_BYTE_ARRAY",
        "prefixed_lists.list.element": "DELTA_BYTE_ARRAY",
    }
    path = tmp_path / "file.parquet"
    pq.write_table(table, path, use_dictionary=["coded"], column_encoding=encodings, store_schema=False)
    done = subprocess.run(
        [sys.executable, "-c", SHRUNK, str(path)], capture_output=True, text=True, timeout=40, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]


def test_pandas_polars_duckdb_and_the_arrow_stream_get_the_matching_rows(every_output: list[Checked]) -> None:
    checked = every_output[1]
    scan = checked.scan(SURVIVORS["scattered"], ["row", "int32", "string", "l"])
    wanted = checked.matching(SURVIVORS["scattered"])
    assert scan.to_pandas()["row"].tolist() == wanted
    assert polars.DataFrame(scan)["row"].to_list() == wanted
    assert duckdb.sql("select row from scan order by row").fetchall() == [(row,) for row in wanted]
    streamed = pa.table(scan)
    streamed.validate(full=True)
    assert streamed.to_pylist() == scan.to_arrow().to_pylist()
    assert streamed.schema == scan.to_arrow().schema
    shortcut = hw.read(checked.data, columns=["row"], filters=SURVIVORS["scattered"])
    assert shortcut["row"].to_pylist() == wanted


def test_rows_without_columns_are_counted_out(every_output: list[Checked]) -> None:
    for checked in every_output:
        scan = checked.scan(SURVIVORS["half"]).select()
        count = len(checked.matching(SURVIVORS["half"]))
        assert sum(batch.num_rows for batch in scan.batches()) == scan.to_arrow().num_rows == count
        assert [dict(row) for row in scan.skip(3).head(4).rows()] == [{}] * 4
        assert scan.tail(5).count() == 5


# ---------------------------------------------------------------- column against column


@pytest.fixture(scope="module")
def every_kind() -> Checked:
    """One column of every type, twice; the values of a type's two columns are equal in every third row."""
    rng = random.Random(7)
    nodes, records = [ROW], [{"row": number} for number in range(100)]
    for name, kind in KINDS.items():
        nodes += [kind.leaf(f"{name}_1", p.OPTIONAL), kind.leaf(f"{name}_2")]
        pool = [kind.make(rng) for _ in range(8)]
        for number, record in enumerate(records):
            value = rng.choice(pool)
            record[f"{name}_1"] = None if rng.random() < 0.1 else value
            record[f"{name}_2"] = value if number % 3 == 0 else rng.choice(pool)
    # Small numbers in all kinds of integers, decimals and times, so that they meet.
    root = p.group("root", *nodes)
    return Checked(random_file(root, records, rng, Layout(page_rows=(11, 30)), rows_per_group=60))


def pairs_of(checked: Checked) -> Iterator[tuple[naive.Node, naive.Node]]:
    firsts = [leaf for leaf in checked.file.leaves if leaf.path[0].endswith("_1")]
    seconds = [leaf for leaf in checked.file.leaves if leaf.path[0].endswith("_2")]
    for one in firsts:
        for two in seconds:
            if pair_kind(one) is not None and pair_kind(one) == pair_kind(two):
                yield one, two


def test_columns_of_one_kind_compare_whatever_their_types(every_kind: Checked) -> None:
    scanned = 0
    for number, (one, two) in enumerate(pairs_of(every_kind)):
        for op in OPERATORS:
            sides = (one, two) if number % 2 else (two, one)
            predicate = compared(col(sides[0].path), op, col(sides[1].path))
            with sizes(window=(None, 7, 64)[number % 3]):
                found = rows_found(every_kind.scan(predicate).threads(1))
            assert found == every_kind.matching(predicate), predicate
            scanned += 1
    assert scanned > 1000  # ten integers, four decimals, four instants, ... each with each and six operators


def test_columns_compare_inside_and_or_and_not(every_kind: Checked) -> None:
    rng = random.Random(13)
    pairs = list(pairs_of(every_kind))
    for _ in range(60):
        parts = []
        for one, two in rng.sample(pairs, 3):
            parts.append(compared(col(one.path), rng.choice(OPERATORS), col(two.path)))
        parts.append(random_test(every_kind.file, rng, rng.choice(pairs)[0]))
        predicate = (parts[0] & ~parts[1]) | ~(parts[2] | parts[3])
        with sizes(window=rng.choice([None, 7])):
            assert rows_found(every_kind.scan(predicate)) == every_kind.matching(predicate), predicate


def test_columns_of_other_kinds_do_not_compare(every_kind: Checked) -> None:
    kinds = [leaf for leaf in every_kind.file.leaves if leaf.path[0].endswith("_1")]
    refused = 0
    for one, two in itertools.combinations(kinds, 2):
        if pair_kind(one) is None or pair_kind(one) != pair_kind(two):
            with pytest.raises(hw.PredicateError, match=one.path[0]):
                every_kind.scan(col(one.path) == col(two.path)).count()
            refused += 1
    assert refused > 200


# ---------------------------------------------------------------- nested columns


@pytest.fixture(scope="module")
def nested_files() -> list[Checked]:
    rng = random.Random(17)
    found = []
    for shape in SHAPES[1:]:
        for name in ("int32", "string"):
            data = handmade_file(shape, [name, "double"], ROWS, 0.25, 6, 120, rng.randrange(2**32))
            found.append(Checked(data))
    return found


def test_any_and_all_over_lists_maps_and_repeated_fields(nested_files: list[Checked]) -> None:
    rng = random.Random(19)
    for checked in nested_files:
        for leaf in checked.file.leaves:
            with sizes(window=rng.choice([None, 30, 64]), held=rng.choice([None, None, 200])):
                checked.check(random_test(checked.file, rng, leaf), threads=1)
                for _ in range(8 if leaf.repetition_level else 0):
                    predicate = random_test(checked.file, rng, leaf)
                    for tested in (predicate, ~predicate):
                        assert checked.scan(tested).count() == len(checked.matching(tested)), tested


def test_null_tests_of_structs_lists_and_maps(nested_files: list[Checked]) -> None:
    for checked in nested_files:
        top = checked.file.root.children[-1]
        if top.physical is not None:
            continue
        group = col(top.name)
        with sizes(window=64):
            checked.check(group.is_null() | (col("f1") > 0.0), threads=1)
            for predicate in (group.is_null(), group.is_not_null(), ~group.is_null(), ~group.is_not_null()):
                assert checked.scan(predicate).count() == len(checked.matching(predicate)), predicate


def test_flat_filter_takes_whole_records_of_nested_columns(nested_files: list[Checked]) -> None:
    rng = random.Random(23)
    for checked in nested_files:
        number = rng.randrange(3)
        predicate = random_test(checked.file, rng, checked.file.leaves[0])
        with sizes(*((None, None), (64, 0), (30, 2))[number], held=(None, None, 200)[number]):
            checked.check(predicate, batch_size=(None, 7, None)[number])


# ---------------------------------------------------------------- row selection over the result set


@pytest.fixture(scope="module")
def three_files() -> list[Checked]:
    """Files of several row groups, an empty one in the middle of them."""
    rng = random.Random(29)
    root = p.group("root", ROW, KINDS["int32"].leaf("x", p.OPTIONAL), KINDS["string"].leaf("t"))
    kinds = {"x": KINDS["int8"], "t": KINDS["string"], "row": KINDS["int32"]}
    found, start = [], 0
    for rows in (150, 0, 90, ROWS):
        pools = pools_of(kinds, rng, 8)
        records = [{**random_record(root, pools, rng, 0.2), "row": start + number} for number in range(rows)]
        start += rows
        data = random_file(root, records, rng, Layout(page_rows=(10, 33)), rows_per_group=40)
        found.append(Checked(data))
    return found


FILTERS = [
    col("x") > 0,
    col("x").is_null(),
    col("row") >= 140,
    (col("row") < 3) | (col("row") > 400),
    (col("t") != "a") & (col("x") <= 5),
    col("x") > 100_000,  # nothing
    col("row") >= 0,
]


@pytest.mark.parametrize("threads", [1, 2])
def test_head_skip_and_tail_count_matching_rows_across_files(three_files: list[Checked], threads: int) -> None:
    sources = [checked.data for checked in three_files]
    for predicate in FILTERS:
        rows = [checked.columns[("row",)][row] for checked in three_files for row in checked.matching(predicate)]
        scan = hw.scan(sources).filter(predicate).threads(threads)
        assert rows_found(scan) == rows
        for count in (0, 1, 3, 40, 200, 10_000):
            with sizes(window=(7, 64, None)[count % 3]):
                assert rows_found(scan.head(count)) == rows[:count]
                assert rows_found(scan.skip(count)) == rows[count:]
                assert rows_found(scan.tail(count)) == (rows[-count:] if count else [])
                assert rows_found(scan.skip(count).head(7)) == rows[count : count + 7]
                assert scan.skip(count).head(7).count() == len(rows[count : count + 7])
                assert scan.tail(count).count() == len(rows[-count:] if count else [])
            batches = [batch.num_rows for batch in scan.batch_size(5).tail(count).batches()]
            assert all(0 < size <= 5 for size in batches)
            assert sum(batches) == min(count, len(rows))


def test_head_skip_and_tail_through_every_terminal(three_files: list[Checked]) -> None:
    checked = three_files[-1]
    for predicate in FILTERS:
        wanted = checked.matching(predicate)
        for scan, rows in (
            (checked.scan(predicate).head(11), wanted[:11]),
            (checked.scan(predicate).skip(5), wanted[5:]),
            (checked.scan(predicate).tail(9), wanted[-9:]),
            (checked.scan(predicate).skip(3).head(20), wanted[3:23]),
        ):
            with sizes(window=64):
                check_scan(checked, narrowed(scan, batch_size=6), rows, f"{predicate} {scan!r}")


def test_byte_ranges_split_a_filtered_file_without_loss(three_files: list[Checked]) -> None:
    checked = three_files[-1]
    size = len(checked.data)
    for predicate in FILTERS:
        scan = checked.scan(predicate)
        wanted = [checked.columns[("row",)][row] for row in checked.matching(predicate)]
        for parts in (1, 2, 5, 50):
            cuts = [size * number // parts for number in range(parts + 1)]
            found = [rows_found(scan.byte_range(a, b)) for a, b in itertools.pairwise(cuts)]
            assert [row for part in found for row in part] == wanted
            for (a, b), rows in zip(itertools.pairwise(cuts), found, strict=True):
                assert scan.byte_range(a, b).count() == len(rows)
                assert rows_found(scan.byte_range(a, b).skip(2).head(5)) == rows[2:7]
        assert rows_found(scan.byte_range(size, 0)) == []
    with pytest.raises(ValueError, match="one file"):
        hw.scan([checked.data, checked.data]).filter(col("x") > 0).byte_range(0, size).count()


def test_row_ranges_are_physical_rows_and_the_filter_counts_inside(three_files: list[Checked]) -> None:
    sources = [checked.data for checked in three_files]
    rng = random.Random(31)
    for predicate in FILTERS:
        rows = [checked.columns[("row",)][row] for checked in three_files for row in checked.matching(predicate)]
        for _ in range(6):
            ranges = [(start, start + rng.choice([1, 5, 60])) for start in rng.sample(range(450), rng.choice([1, 4]))]
            inside = [row for row in rows if any(a <= row < b for a, b in ranges)]
            with sizes(window=rng.choice([None, 7]), gap=rng.choice([None, 0])):
                scan = hw.scan(sources).filter(predicate).row_ranges(ranges).threads(rng.choice([1, 2]))
                assert rows_found(scan) == inside
                assert scan.count() == len(inside)
                assert rows_found(scan.skip(2).head(10)) == inside[2:12]
        both = hw.scan(sources).row_ranges([(0, 100)]).filter(predicate).row_ranges([(50, 400)])
        assert rows_found(both) == [row for row in rows if 50 <= row < 100]


# ---------------------------------------------------------------- generated kernels

# Every form of tree (one end, two ends, one or two points, what is outside of an interval) on the widest integer, and
# every other type of number with one of them: each is compiled once and then kept on disk.
GENERATED: list[tuple[str, Predicate]] = [
    ("int64", col("x") >= 3),
    ("int64", col("x") < -2),
    ("int64", col("x") == 5),
    ("int64", col("x").is_between(-4, 4)),
    ("int64", col("x") != 0),
    ("int64", col("x").is_in([-9, 7])),
    ("int32", col("x") > -3),
    ("uint32", col("x") >= 2**31),
    ("uint64", col("x") < 2**63),
    ("float", col("x") > 0),
    ("double", col("x") != 0.0),
    ("decimal_int32", col("x") <= Decimal("0.05")),
]
GENERATED_PAIRS: list[tuple[str, str, Predicate]] = [
    ("int64", "int32", col("x") < col("y")),
    ("double", "double", col("x") >= col("y")),
    ("uint64", "uint64", (col("x") == col("y")) | ((col("x") > col("y")) & (col("x") > 5))),
]


def generated_file(one: str, two: str, codec: int, nulls: float) -> Checked:
    rng = random.Random(f"{one} {two}")
    root = p.group("root", ROW, KINDS[one].leaf("x", p.OPTIONAL), KINDS[two].leaf("y"))
    pools = pools_of({"x": KINDS[one], "y": KINDS[two], "row": KINDS["int32"]}, rng, 30)
    records = [{**random_record(root, pools, rng, nulls), "row": number} for number in range(ROWS)]
    layout = Layout(page_rows=(33,), codecs=(codec,), dictionary=("none", "mixed"), encodings=(p.PLAIN,))
    return Checked(random_file(root, records, rng, layout, rows_per_group=150))


@pytest.mark.parametrize(
    ("one", "two", "predicate"),
    [(name, "int32", predicate) for name, predicate in GENERATED] + GENERATED_PAIRS,
    ids=lambda part: str(part) if isinstance(part, str) else f"({part})",
)
def test_generated_kernel_finds_the_rows_that_the_general_one_finds(one: str, two: str, predicate: Predicate) -> None:
    scan = generated_file(one, two, p.ZSTD, 0.0).scan(predicate)
    bound = scan.bound_predicate()
    assert bound is not None
    (node,) = bound.conjuncts
    found = row_shape(node) or page_shape(node)
    assert found is not None, "this predicate should have a kernel of its own"
    FUSED.build([found[0]])
    assert FUSED.find(found[0]) is not None
    # ZSTD: a small chunk of a common codec goes to a kernel that takes it whole.
    for nulls in (0.0, 0.3, 1.0):
        checked = generated_file(one, two, p.ZSTD, nulls)
        for tested in (predicate, predicate | col("x").is_null(), predicate & (col("row") > 20)):
            for window in (None, 7, 64):
                with sizes(window):
                    assert rows_found(checked.scan(tested).threads(1)) == checked.matching(tested), tested
