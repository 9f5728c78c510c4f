"""Metadata leaves work out and never changes a result: files of several writers, honest and dishonest ones.

Every check compares a scan with metadata, one without, and the naive predicate over the naive decoder. What pruning
saves is asserted in `test_pruning_effect.py`, each rule of proofs in `plan/test_prune.py`.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import io
import os
import random
import uuid
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any
from unittest.mock import patch

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import hardwood_jit as hw
from hardwood_jit import cascade, col, probe
from hardwood_jit.plan.predicate import Predicate
from tests.support import naive
from tests.support import pages as p
from tests.support.filtering import (
    KINDS,
    OPERATORS,
    Checked,
    Kind,
    Layout,
    compared,
    pools_of,
    random_predicate,
    random_record,
    sizes,
)
from tests.support.honest import annotated_file, encoding_stats

SLOW = settings(
    max_examples=40,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    derandomize=os.environ.get("CI") == "true",
    print_blob=True,
)


@contextlib.contextmanager
def proofs_of_small_files(rng: random.Random) -> Iterator[None]:
    """Dictionaries of a few bytes count as worth a look, and parts of a row group as worth their own reads."""
    with (
        patch.object(probe, "LEAST_DATA", 0),
        patch.object(probe, "BLOOM_AT_ONCE", rng.choice([0, 64 << 10])),
        patch.object(cascade, "WHOLE_SHARE", rng.choice([0.75, 0.99, 1.0])),
        patch.object(cascade, "FIRST_ROWS", rng.choice([3, 50, 8192])),
        patch.object(cascade, "LONG_CHUNK", rng.choice([0, 256 << 10])),
        sizes(window=rng.choice([None, 7, 64]), gap=rng.choice([None, 0])),
    ):
        yield


def found_rows(scan: hw.Scan) -> list[int]:
    """The column `row`: which rows a scan gives."""
    return [int(row) for batch in scan.select("row").batches() for row in batch["row"].values]


def assert_metadata_changes_nothing(checked: Checked, predicate: Predicate, rng: random.Random) -> list[int]:
    """All ways to ask, with metadata and without, against the oracle; the file has a column `row`."""
    wanted = checked.matching(predicate)
    about = str(predicate)
    scan = checked.dataset.scan().filter(predicate).threads(rng.choice([1, 1, 2]))
    head, skip, tail = rng.randrange(8), rng.randrange(8), rng.randrange(8)
    total = len(checked.rows)
    first, last = sorted(rng.choices(range(total + 1), k=2))
    for use in (True, False):
        one = scan.use_metadata(use)
        assert found_rows(one) == wanted, (about, use)
        assert one.count() == len(wanted), (about, use)
        assert found_rows(one.head(head)) == wanted[:head], (about, use, head)
        assert found_rows(one.skip(skip)) == wanted[skip:], (about, use, skip)
        assert found_rows(one.skip(skip).head(head)) == wanted[skip : skip + head], (about, use, skip, head)
        assert found_rows(one.tail(tail)) == wanted[max(len(wanted) - tail, 0) :], (about, use, tail)
        assert one.skip(skip).head(head).count() == len(wanted[skip : skip + head]), (about, use)
        inside = [row for row in wanted if first <= row < last]
        assert found_rows(one.row_ranges([(first, last)])) == inside, (about, use, first, last)
        assert found_rows(one.row_ranges([(first, last)]).head(head)) == inside[:head], (about, use, first, last)
    tops = [child.name for child in checked.file.root.children]
    some = scan.select(*rng.sample(tops, rng.randint(1, len(tops))))
    with_metadata, without = some.to_arrow(), some.use_metadata(False).to_arrow()
    with_metadata.validate(full=True)
    difference = naive.first_difference(with_metadata.to_pylist(), without.to_pylist())
    assert difference is None, f"{about}: {difference}"
    return wanted


# Files built by hand

SHAPES = ("flat", "flat", "list", "struct", "repeated")


def sorted_records(records: list[dict[str, Any]], name: str, rng: random.Random) -> list[dict[str, Any]]:
    """By one column, nulls last; up or down."""
    present = [record for record in records if record[name] is not None]
    absent = [record for record in records if record[name] is None]
    return sorted(present, key=lambda record: record[name], reverse=rng.random() < 0.3) + absent


def handmade(names: list[str], shape: str, rows: int, nulls: float, order: str, seed: int) -> bytes:
    rng = random.Random(seed)
    kinds = {f"f{number}": KINDS[name] for number, name in enumerate(names)}
    nodes = [kind.leaf(name, rng.choice([p.REQUIRED, p.OPTIONAL, p.OPTIONAL])) for name, kind in kinds.items()]
    first = KINDS[names[0]]
    inside: dict[str, Kind] = {}
    if shape == "list":
        nodes.append(p.list_group("n", first.leaf("element", p.OPTIONAL)))
        inside = {"n.list.element": first}
    elif shape == "struct":
        nodes.append(p.group("n", first.leaf("a", p.OPTIONAL), first.leaf("b"), repetition=p.OPTIONAL))
        inside = {"n.a": first, "n.b": first}
    elif shape == "repeated":
        nodes.append(first.leaf("n", p.REPEATED))
        inside = {"n": first}
    root = p.group("root", *nodes, p.leaf("row", p.INT32))
    pools = pools_of({**kinds, **inside, "row": KINDS["bare_int32"]}, rng, rng.choice([2, 6, 40]))
    records = [random_record(root, pools, rng, nulls) for _ in range(rows)]
    if order == "sorted":
        records = sorted_records(records, "f0", rng)
    elif order == "blocks":  # pages of nulls only, and of one value only
        for start in range(0, rows, 15):
            value = rng.choice([None, records[start]["f0"]])
            for record in records[start : start + 15]:
                record["f0"] = record["f0"] if value is None and nodes[0].repetition == p.REQUIRED else value
    for number, record in enumerate(records):
        record["row"] = number
    layout = Layout(page_rows=(1, 3, 8, 15), codecs=(p.UNCOMPRESSED, p.SNAPPY))
    return annotated_file(root, records, rng, layout, rows_per_group=rng.choice([17, 60, rows]))


@settings(SLOW, max_examples=45)
@given(
    names=st.lists(st.sampled_from(sorted(KINDS)), min_size=1, max_size=3),
    shape=st.sampled_from(SHAPES),
    rows=st.sampled_from([1, 30, 61, 120]),
    nulls=st.sampled_from([0.0, 0.2, 0.9]),
    order=st.sampled_from(["drawn", "sorted", "blocks"]),
    seed=st.integers(0, 2**32),
)
def test_metadata_of_handmade_files_changes_no_result(
    names: list[str], shape: str, rows: int, nulls: float, order: str, seed: int
) -> None:
    checked = Checked(handmade(names, shape, rows, nulls, order, seed))
    rng = random.Random(seed)
    with proofs_of_small_files(rng):
        for _ in range(2):
            assert_metadata_changes_nothing(checked, random_predicate(checked.file, rng), rng)


@settings(SLOW, max_examples=25)
@given(
    name=st.sampled_from(["float", "double", "float16"]),
    nulls=st.sampled_from([0.0, 0.3]),
    order=st.sampled_from(["drawn", "sorted", "blocks"]),
    seed=st.integers(0, 2**32),
)
def test_nan_and_zeros_beside_their_bounds_change_no_result(name: str, nulls: float, order: str, seed: int) -> None:
    """One value or two to a page: bounds are sharp, and what they do not tell decides."""
    checked = Checked(handmade([name], "flat", 60, nulls, order, seed))
    rng = random.Random(seed)
    with proofs_of_small_files(rng):
        for _ in range(4):
            others = [1.5, -2.25, float("inf"), float("-inf"), float("nan"), 500]
            value = rng.choice([0.0, -0.0]) if rng.random() < 0.5 else rng.choice(others)
            predicate = compared(col("f0"), rng.choice(OPERATORS), value)
            assert_metadata_changes_nothing(checked, ~predicate if rng.random() < 0.2 else predicate, rng)


# Files of pyarrow

Make = Callable[[random.Random], Any]
LONG = ["a" * 90, "a" * 90 + "b", "a" * 89 + "b", "ÿ" * 60, "z"]
NAN = float("nan")
MOMENT = dt.datetime(2024, 1, 1, tzinfo=dt.UTC)

ARROW: dict[str, tuple[pa.DataType, Make]] = {
    "bool": (pa.bool_(), lambda rng: rng.random() < 0.5),
    "int8": (pa.int8(), lambda rng: rng.randint(-128, 127)),
    "int32": (pa.int32(), lambda rng: rng.randint(-50, 50)),
    "int64": (pa.int64(), lambda rng: rng.choice([-(2**63), 2**63 - 1, rng.randint(-9, 9)])),
    "uint32": (pa.uint32(), lambda rng: rng.choice([0, 1, 2**31 - 1, 2**31, 2**32 - 1])),
    "uint64": (pa.uint64(), lambda rng: rng.choice([0, 1, 2**63, 2**64 - 1])),
    "float16": (pa.float16(), lambda rng: np.float16(rng.choice([0.0, -0.0, 1.5, -2.0, NAN, float("inf")]))),
    "float32": (pa.float32(), lambda rng: rng.choice([0.0, -0.0, 1.5, -2.25, NAN, 3.0, float("-inf")])),
    "float64": (pa.float64(), lambda rng: rng.choice([0.0, -0.0, 1.5, -2.25, NAN, rng.uniform(-9, 9)])),
    "string": (pa.string(), lambda rng: rng.choice(LONG) if rng.random() < 0.5 else chr(rng.randint(97, 122))),
    "binary": (pa.binary(), lambda rng: rng.choice([b"", b"\xff" * 80, b"\xff" * 81, rng.randbytes(3)])),
    "fixed": (pa.binary(3), lambda rng: rng.choice([b"abc", b"\xff\0\0", b"\xff\xff\xff"])),
    "uuid": (pa.uuid(), lambda rng: uuid.UUID(int=rng.getrandbits(128)).bytes),
    "date": (pa.date32(), lambda rng: dt.date(2024, 1, 1) + dt.timedelta(days=rng.randrange(90))),
    "timestamp": (pa.timestamp("us", "UTC"), lambda rng: MOMENT + dt.timedelta(microseconds=rng.randrange(50))),
    "nanoseconds": (pa.timestamp("ns"), lambda rng: rng.randint(-50, 50)),
    "time": (pa.time64("us"), lambda rng: dt.time(12, 0, 0, rng.randrange(50))),
    "decimal": (pa.decimal128(9, 2), lambda rng: Decimal(rng.randint(-400, 400)) / 4),
    "wide_decimal": (pa.decimal128(30, 3), lambda rng: Decimal(rng.randint(-40, 40)) * 10**20),
    "dictionary": (pa.dictionary(pa.int32(), pa.string()), lambda rng: rng.choice("abc")),
}


def arrow_table(names: list[str], rows: int, nulls: float, order: str, rng: random.Random) -> pa.Table:
    arrays: dict[str, pa.Array] = {}
    for number, name in enumerate(names):
        kind, make = ARROW[name]
        storage = kind.storage_type if isinstance(kind, pa.ExtensionType) else kind
        pool = [make(rng) for _ in range(rng.choice([2, 10, rows]))]
        values = [None if rng.random() < nulls else rng.choice(pool) for _ in range(rows)]
        if order == "blocks":
            values = [None if number // 20 % 2 else value for number, value in enumerate(values)]
        found = pa.array(values, storage)
        arrays[f"c{number}"] = found if storage is kind else pa.ExtensionArray.from_storage(kind, found)
    kind, make = ARROW["int32"]
    lists = [None if rng.random() < nulls else [make(rng) for _ in range(rng.randrange(3))] for _ in range(rows)]
    structs = [None if rng.random() < nulls else {"a": rng.choice([None, make(rng)])} for _ in range(rows)]
    arrays["l"] = pa.array(lists, pa.list_(kind))
    arrays["s"] = pa.array(structs, pa.struct([("a", kind)]))
    table = pa.table(arrays)
    if order == "sorted" and names[0] not in ("float16", "uuid", "dictionary"):
        table = table.sort_by("c0")
    return table.append_column("row", pa.array(range(rows), pa.int32()))


def write_arrow(table: pa.Table, rng: random.Random) -> bytes:
    flat = [name for name in table.column_names if name not in ("l", "s")]
    statistics: Any = rng.choice([True, True, False, rng.sample(flat, rng.randint(1, len(flat)))])
    page_rows = rng.choice([1, 5, 20, 1000])
    filters = [
        name
        for name in flat
        if not pa.types.is_boolean(table.schema.field(name).type) and rng.random() < 0.3 and name != "row"
    ]
    sink = io.BytesIO()
    pq.write_table(
        table,
        sink,
        compression=rng.choice(["none", "snappy", "zstd"]),
        data_page_version=rng.choice(["1.0", "2.0"]),
        max_rows_per_page=page_rows,
        write_batch_size=page_rows,
        row_group_size=rng.choice([16, 40, 1000]),
        use_dictionary=rng.choice([True, False, rng.sample(flat, 1)]),
        dictionary_pagesize_limit=rng.choice([1, 200, 1 << 20]),
        write_page_index=rng.random() < 0.7,
        write_statistics=statistics,
        store_decimal_as_integer=rng.random() < 0.5,
        bloom_filter_options={name: {"ndv": 50, "fpp": 0.05} for name in filters} or None,
        store_schema=False,
    )
    return sink.getvalue()


@settings(SLOW, max_examples=40)
@given(
    names=st.lists(st.sampled_from(sorted(ARROW)), min_size=1, max_size=3),
    rows=st.sampled_from([1, 40, 130]),
    nulls=st.sampled_from([0.0, 0.2, 0.9]),
    order=st.sampled_from(["drawn", "sorted", "blocks"]),
    seed=st.integers(0, 2**32),
)
def test_metadata_of_pyarrow_changes_no_result(
    names: list[str], rows: int, nulls: float, order: str, seed: int
) -> None:
    rng = random.Random(seed)
    checked = Checked(write_arrow(arrow_table(names, rows, nulls, order, rng), rng))
    with proofs_of_small_files(rng):
        for _ in range(2):
            assert_metadata_changes_nothing(checked, random_predicate(checked.file, rng), rng)


# Files of DuckDB


@pytest.fixture(scope="module")
def duckdb_files(tmp_path_factory: pytest.TempPathFactory) -> list[Checked]:
    folder: Path = tmp_path_factory.mktemp("duckdb")
    found = []
    for number, options in enumerate(
        ["row_group_size 2048", "row_group_size 2048, parquet_version v2", "row_group_size 4096, compression zstd"]
    ):
        place = folder / f"{number}.parquet"
        duckdb.sql(
            f"""copy (select i::int as row, (i // 7)::bigint as k, (i * 7919 % 1000)::uinteger as u,
            case when i % 5 = 0 then null else 'name ' || (i % 300) end as t,
            case when i % 11 = 0 then 'nan'::double when i % 13 = 0 then -0.0 else (i % 50) / 4 end as d,
            (i % 40 / 8)::float as f, (date '2024-01-01' + (i // 100)::int) as day,
            timestamp '2024-01-01' + interval (i) second as at, (i % 99 / 4)::decimal(9, 2) as m,
            (i % 77)::decimal(30, 3) as wide, i % 2 = 0 as b, ('' || i)::blob as raw,
            case when i % 3 = 0 then null else {{'x': i % 10, 'y': null::int}} end as s,
            case when i % 4 = 0 then null else range(i % 3) end as l, null::int as nothing,
            uuid() as id, (i % 50)::tinyint as small
            from range(2500) t(i)) to '{place}' (format parquet, {options})"""
        )
        found.append(Checked(place.read_bytes()))
    return found


@settings(SLOW, max_examples=12)
@given(number=st.integers(0, 2), seed=st.integers(0, 2**32))
def test_metadata_of_duckdb_changes_no_result(duckdb_files: list[Checked], number: int, seed: int) -> None:
    rng = random.Random(seed)
    checked = duckdb_files[number]
    assert_metadata_changes_nothing(checked, random_predicate(checked.file, rng), rng)


# What random files rarely hit


@pytest.mark.parametrize("with_stats", [True, False])
def test_dictionary_of_a_chunk_that_falls_back_proves_nothing(with_stats: bool) -> None:
    root = p.group("root", p.leaf("x", p.INT64), p.leaf("row", p.INT32))
    x, row = p.leaf_paths(root)
    values = [1, 2, 1, 2] + [3] * 20  # more bytes of data than of dictionary
    records = [{"x": value, "row": number} for number, value in enumerate(values)]
    entries = p.shred(x, records)
    pages = [
        p.dictionary_page(p.INT64, [1, 2]),
        p.data_page_v1(x, entries[:4], p.RLE_DICTIONARY, p.dictionary_indexes([0, 1, 0, 1], 1)),
        p.data_page_v1(x, entries[4:]),
    ]
    chunk = p.Chunk(pages)
    chunk.extra = {13: encoding_stats(chunk)} if with_stats else {}
    file = p.build_file(root, [p.RowGroup([chunk, p.simple_chunk(row, p.shred(row, records))], len(records))])
    with patch.object(probe, "LEAST_DATA", 0):
        for text, wanted in (
            ("x = 3", list(range(4, 24))),
            ("x < 3", [0, 1, 2, 3]),
            ("x = 1", [0, 2]),
            ("x in (1, 2)", [0, 1, 2, 3]),
        ):
            assert found_rows(hw.scan(file).filter(text)) == wanted, text


def test_empty_lists_pass_all_on_pages_in_order() -> None:
    rows = 200
    lists = [[] if row % 7 == 0 else [row, row] for row in range(rows)]
    table = pa.table({"l": pa.array(lists, pa.list_(pa.int64())), "row": pa.array(range(rows), pa.int32())})
    sink = io.BytesIO()
    pq.write_table(table, sink, write_page_index=True, max_rows_per_page=5, write_batch_size=5, use_dictionary=False)
    dataset = hw.open(sink.getvalue())
    for low in (0, 44, 198):
        every = [row for row in range(rows) if row % 7 == 0 or row >= low]
        some = [row for row in range(rows) if row % 7 and row >= low]
        assert found_rows(dataset.scan().filter(col("l").all() >= low)) == every
        assert found_rows(dataset.scan().filter(col("l").any() >= low)) == some
        assert found_rows(dataset.scan().filter(col("l").all() == low)) == [
            row for row in range(rows) if row % 7 == 0 or row == low
        ]


@pytest.mark.parametrize("threads", [1, 3])
def test_limits_count_over_row_groups_that_pass_in_part_and_as_a_whole(threads: int) -> None:
    rows, group = 1_000, 100
    numbers = np.arange(rows, dtype=np.int32)
    table = pa.table({"key": numbers, "row": numbers, "odd": numbers % 2})
    sink = io.BytesIO()
    pq.write_table(table, sink, write_page_index=True, max_rows_per_page=20, write_batch_size=20, row_group_size=group)
    dataset = hw.open(sink.getvalue())
    for predicate, wanted in (
        (col("key") >= 0, list(range(rows))),
        (col("key") > 5, list(range(6, rows))),
        ((col("key") > 5) & (col("key") != 555), [row for row in range(6, rows) if row != 555]),
        ((col("key") > 250) | ((col("key") < 100) & (col("odd") == 1)), [*range(1, 100, 2), *range(251, rows)]),
        ((col("key") < 300) | (col("key") >= 700), [*range(300), *range(700, rows)]),
    ):
        scan = dataset.scan().filter(predicate).threads(threads)
        for skip in (0, 5, 99, 100, 101, 350, 945, 2_000):
            assert found_rows(scan.skip(skip)) == wanted[skip:]
            for head in (0, 1, 100, 101, 230, 2_000):
                assert found_rows(scan.skip(skip).head(head)) == wanted[skip : skip + head], (skip, head)
            assert found_rows(scan.tail(skip)) == wanted[max(len(wanted) - skip, 0) :]
            assert scan.skip(skip).head(230).count() == len(wanted[skip : skip + 230])
        ranges = [(95, 105), (150, 620)]
        inside = [row for row in wanted if any(low <= row < high for low, high in ranges)]
        assert found_rows(scan.row_ranges(ranges).skip(7).head(300)) == inside[7:307]


# Metadata that lies

ROWS = 120
GROUP, PAGE = 40, 8
NUMBERS = p.group("root", p.leaf("x", p.INT64, p.OPTIONAL), p.leaf("row", p.INT32))


def number_records() -> list[dict[str, Any]]:
    return [{"x": None if row % 9 == 4 else row // 2, "row": row} for row in range(ROWS)]


def int_bounds(low: int, high: int, nulls: int | None = None) -> p.Thrift:
    one, two = (number.to_bytes(8, "little", signed=True) for number in (low, high))
    counted = None if nulls is None else p.i64(nulls)
    return p.record({3: counted, 5: p.binary(two), 6: p.binary(one)})


def page_bounds(spans: list[tuple[int, int]], nulls: list[int] | None, is_null: list[bool]) -> p.Thrift:
    raw = [tuple(number.to_bytes(8, "little", signed=True) for number in span) for span in spans]
    return p.record(
        {
            1: p.list_of([p.boolean(one) for one in is_null], p.TRUE),
            2: p.list_of([p.binary(low) for low, _ in raw], p.BINARY),
            3: p.list_of([p.binary(high) for _, high in raw], p.BINARY),
            4: p.i32(1),
            5: None if nulls is None else p.list_of([p.i64(count) for count in nulls], p.I64),
        }
    )


def numbers_file(falsify: Callable[[int, p.Chunk], None], regions: list[p.Region] | None = None) -> bytes:
    """Three row groups of five pages with true metadata, which `falsify` may change chunk by chunk of `x`."""
    records = number_records()
    groups = []
    for number, start in enumerate(range(0, ROWS, GROUP)):
        part = records[start : start + GROUP]
        chunks = []
        for path in p.leaf_paths(NUMBERS):
            entries = p.shred(path, part)
            chunk = p.simple_chunk(path, entries, per_page=PAGE, offset_index=True)
            if path[-1].node.name == "x":
                pages = [part[at : at + PAGE] for at in range(0, GROUP, PAGE)]
                values = [[record["x"] for record in page if record["x"] is not None] for page in pages]
                everything = [value for page in values for value in page]
                chunk.statistics = int_bounds(min(everything), max(everything), GROUP - len(everything))
                spans = [(min(page), max(page)) for page in values]
                chunk.column_index = page_bounds(spans, [PAGE - len(page) for page in values], [False] * len(pages))
                falsify(number, chunk)
            chunks.append(chunk)
        groups.append(p.RowGroup(chunks, len(part)))
    return p.build_file(NUMBERS, groups, regions=regions)


number_spans = st.tuples(st.integers(-5, 70), st.integers(-5, 70))
number_tests = st.sampled_from(
    ["x = {}", "x != {}", "x < {}", "x >= {}", "x in ({}, 7)", "x is null", "x is not null", "x > {} or row = 3"]
)


@SLOW
@given(
    lied=st.sets(st.integers(0, 2), min_size=1),
    span=number_spans,
    nulls=st.sampled_from([None, 0, 7, GROUP, GROUP + 1, -1, 2**62]),
    template=number_tests,
    value=st.integers(-5, 70),
)
def test_falsified_statistics_change_only_their_own_row_groups(
    lied: set[int], span: tuple[int, int], nulls: int | None, template: str, value: int
) -> None:
    def falsify(group: int, chunk: p.Chunk) -> None:
        if group in lied:
            chunk.statistics, chunk.column_index = int_bounds(*span, nulls), None

    checked = Checked(numbers_file(falsify))
    scan = checked.dataset.scan().filter(template.format(value)).threads(1)
    truth = found_rows(scan.use_metadata(False))
    found = found_rows(scan)
    assert [row for row in found if row // GROUP not in lied] == [row for row in truth if row // GROUP not in lied]
    assert found == sorted(set(found)) and set(found) <= set(range(ROWS))
    assert scan.count() == len(found)
    assert found_rows(scan.tail(5)) == found[-5:] and found_rows(scan.skip(3).head(4)) == found[3:7]


@SLOW
@given(
    page=st.integers(0, 4),
    span=number_spans,
    nulls=st.sampled_from([0, 3, PAGE, PAGE + 1]),
    is_null=st.booleans(),
    template=number_tests,
    value=st.integers(-5, 70),
)
def test_falsified_bounds_of_a_page_change_only_that_page(
    page: int, span: tuple[int, int], nulls: int, is_null: bool, template: str, value: int
) -> None:
    def falsify(group: int, chunk: p.Chunk) -> None:
        if group == 1:
            assert chunk.column_index is not None
            for field, one in ((1, p.boolean(is_null)), (5, p.i64(nulls))):
                chunk.column_index.value[field].value[1][page] = one
            for field, number in ((2, span[0]), (3, span[1])):
                chunk.column_index.value[field].value[1][page] = p.binary(number.to_bytes(8, "little", signed=True))
            chunk.statistics = None

    checked = Checked(numbers_file(falsify))
    scan = checked.dataset.scan().filter(template.format(value)).threads(1)
    lied = range(GROUP + page * PAGE, GROUP + (page + 1) * PAGE)
    for share in (cascade.WHOLE_SHARE, 1.0):
        with patch.object(cascade, "WHOLE_SHARE", share):
            truth, found = found_rows(scan.use_metadata(False)), found_rows(scan)
            assert [row for row in found if row not in lied] == [row for row in truth if row not in lied]
            assert found == sorted(set(found))


def edited(data: bytes, region: p.Region, change: Callable[[dict[int, p.Thrift]], None]) -> bytes:
    """The file with one index changed and padded to its old length."""
    found, _ = p.read_struct(data, region.start)
    change(found.value)
    raw = found.encode()
    assert len(raw) <= region.end - region.start
    return data[: region.start] + raw.ljust(region.end - region.start, b"\0") + data[region.end :]


def drop_last(field: int) -> Callable[[dict[int, p.Thrift]], None]:
    return lambda fields: fields[field].value[1].pop()


def swap_rows(fields: dict[int, p.Thrift]) -> None:
    """First rows that fall."""
    pages = [page.value for page in fields[1].value[1]]
    pages[1][3], pages[2][3] = pages[2][3], pages[1][3]


def swap_places(fields: dict[int, p.Thrift]) -> None:
    """Offsets that fall."""
    pages = [page.value for page in fields[1].value[1]]
    pages[1][1], pages[2][1] = pages[2][1], pages[1][1]


def drop_page(fields: dict[int, p.Thrift]) -> None:
    """A page fewer in every list of a column index."""
    for number in (1, 2, 3, 5):
        fields[number].value[1].pop()


def no_pages(fields: dict[int, p.Thrift]) -> None:
    fields[1].value[1].clear()


def bad_boundary_order(fields: dict[int, p.Thrift]) -> None:
    fields[4] = p.i32(7)


def late_start(fields: dict[int, p.Thrift]) -> None:
    fields[1].value[1][0].value[3] = p.i64(1)


LIES = {  # name: which index of x in the middle row group, change
    "column index with fewer pages": ("column", drop_page),
    "fewer lower bounds": ("column", drop_last(2)),
    "fewer upper bounds": ("column", drop_last(3)),
    "fewer null pages": ("column", drop_last(1)),
    "fewer null counts": ("column", drop_last(5)),
    "unknown boundary order": ("column", bad_boundary_order),
    "falling first rows": ("offset", swap_rows),
    "falling offsets": ("offset", swap_places),
    "no pages": ("offset", no_pages),
    "first page after the first row": ("offset", late_start),
}


@pytest.mark.parametrize("lie", LIES)
def test_page_index_whose_lists_do_not_fit_is_ignored(lie: str) -> None:
    regions: list[p.Region] = []
    data = numbers_file(lambda group, chunk: None, regions)
    indexes = [region for region in regions if region.kind == "index"]
    which, change = LIES[lie]
    # Per row group: column and offset index of x, offset index of row.
    data = edited(data, indexes[3 + (which == "offset")], change)
    records = number_records()
    dataset = hw.open(data)
    for value in (0, 21, 25, 30, 39, 58):
        for text, wanted in (
            (f"x = {value}", [r["row"] for r in records if r["x"] == value]),
            (f"x >= {value}", [r["row"] for r in records if r["x"] is not None and r["x"] >= value]),
            (f"x < {value} or x is null", [r["row"] for r in records if r["x"] is None or r["x"] < value]),
        ):
            scan = dataset.scan().filter(text)
            assert found_rows(scan) == wanted and found_rows(scan.use_metadata(False)) == wanted
            assert found_rows(scan.skip(2).head(5)) == wanted[2:7] and found_rows(scan.tail(4)) == wanted[-4:]
            assert scan.count() == len(wanted)
    assert found_rows(dataset.scan().skip(55).head(5)) == list(range(55, 60))


def test_index_that_claims_to_rise_is_not_believed() -> None:
    """boundary_order says ascending; the bounds do not rise, and pages are not searched by halves."""
    records = [{"x": (row * 7) % 97, "row": row} for row in range(96)]
    groups = []
    chunks = []
    for path in p.leaf_paths(NUMBERS):
        chunk = p.simple_chunk(path, p.shred(path, records), per_page=4, offset_index=True)
        if path[-1].node.name == "x":
            pages = [[record["x"] for record in records[at : at + 4]] for at in range(0, 96, 4)]
            chunk.column_index = page_bounds([(min(page), max(page)) for page in pages], None, [False] * len(pages))
        chunks.append(chunk)
    groups.append(p.RowGroup(chunks, len(records)))
    dataset = hw.open(p.build_file(NUMBERS, groups))
    for value in range(-1, 98):
        wanted = [record["row"] for record in records if record["x"] == value]
        assert found_rows(dataset.scan().filter(f"x = {value}")) == wanted


@SLOW
@given(data=st.data(), template=number_tests, value=st.integers(-5, 70))
def test_damaged_indexes_end_in_rows_or_in_a_clear_error(data: st.DataObject, template: str, value: int) -> None:
    regions: list[p.Region] = []
    raw = bytearray(numbers_file(lambda group, chunk: None, regions))
    for _ in range(data.draw(st.integers(1, 4))):
        region = data.draw(st.sampled_from([region for region in regions if region.kind == "index"]))
        raw[data.draw(st.integers(region.start, region.end - 1))] = data.draw(st.integers(0, 255))
    scan = hw.scan(bytes(raw)).filter(template.format(value)).threads(1)
    with contextlib.suppress(hw.CorruptFileError):
        found = found_rows(scan)
        assert found == sorted(set(found)) and set(found) <= set(range(ROWS))
    truth = [row for row in found_rows(scan.use_metadata(False)) if row >= 0]
    assert truth == sorted(set(truth))


def test_malformed_bloom_filter_is_ignored() -> None:
    header = {
        1: p.i32(64),
        2: p.record({1: p.record({})}),
        3: p.record({1: p.record({})}),
        4: p.record({1: p.record({})}),
    }
    empty = bytes(64)  # a filter that holds nothing
    changes: list[tuple[dict[int, p.Thrift | None], bool]] = [
        ({}, True),
        ({1: p.i32(33)}, False),
        ({1: p.i32(0)}, False),
        ({1: p.i32(1 << 30)}, False),
        ({2: None}, False),
        ({3: p.record({2: p.record({})})}, False),
        ({4: p.record({5: p.record({})})}, False),
    ]
    for change, is_believed in changes:
        bloom = p.record({**header, **change}).encode() + empty

        def put(group: int, chunk: p.Chunk, bloom: bytes = bloom) -> None:
            chunk.bloom, chunk.statistics, chunk.column_index = bloom, None, None

        found = found_rows(hw.scan(numbers_file(put)).filter("x = 21"))
        assert found == ([] if is_believed else [42, 43]), change
