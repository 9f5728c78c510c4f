"""The oracle and the file builder are themselves tested: against pyarrow and against the corpus' expected digests."""

from __future__ import annotations

import datetime as dt
import io
import itertools
import struct
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.support import naive, pages
from tests.support.corpus import corpus_file, corpus_module, corpus_names, expected, schema_root

ROWS = 203  # three 64-bit words and a tail


def sample_table() -> pa.Table:
    def some(make: Any, step: int = 7) -> list[Any]:
        return [None if number % step == 3 else make(number) for number in range(ROWS)]

    return pa.table(
        {
            "i": pa.array(some(lambda n: n * n - 9000), pa.int32()),
            "l": pa.array([(-1) ** n * (1 << (n % 63)) for n in range(ROWS)], pa.int64()),
            "u": pa.array(some(lambda n: n * 20_000_000), pa.uint32()),
            "d": pa.array(some(lambda n: n / 7), pa.float64()),
            "b": pa.array(some(lambda n: n % 3 == 0)),
            "s": pa.array(some(lambda n: "x" * (n % 5) + str(n % 10))),
            "day": pa.array(some(lambda n: dt.date(1960, 1, 1) + dt.timedelta(days=n * 50)), pa.date32()),
            "at": pa.array(some(lambda n: dt.datetime(2020, 1, 1, 1, 2, 3, n)), pa.timestamp("us")),
            "utc": pa.array(
                some(lambda n: dt.datetime(2020, 1, 1, 1, 2, 3, n * 1000, dt.UTC)), pa.timestamp("ms", "UTC")
            ),
            "clock": pa.array(some(lambda n: dt.time(1, 2, 3, n)), pa.time64("us")),
            "dec": pa.array(some(lambda n: Decimal(n - 100) / 100), pa.decimal128(9, 2)),
            "f": pa.array(some(lambda n: bytes([n, 255 - n, 7])), pa.binary(3)),
            "list": pa.array(some(lambda n: [None if k == 2 else k for k in range(n % 5)]), pa.list_(pa.int32())),
            "lists": pa.array(
                some(lambda n: [None if k == 1 else ["a"] * k for k in range(n % 4)]), pa.list_(pa.list_(pa.string()))
            ),
            "struct": pa.array(
                some(lambda n: {"a": None if n % 2 else n, "b": {"c": [n] * (n % 3)}}),
                pa.struct([("a", pa.int64()), ("b", pa.struct([("c", pa.list_(pa.int16()))]))]),
            ),
            "map": pa.array(
                some(lambda n: [(str(k), None if k == 1 else float(k)) for k in range(n % 4)]),
                pa.map_(pa.string(), pa.float32()),
            ),
        }
    )


@pytest.mark.parametrize(
    ("codec", "version", "dictionary"),
    list(itertools.product(["none", "snappy", "gzip", "brotli", "zstd", "lz4"], ["1.0", "2.0"], [True, False])),
)
def test_naive_agrees_with_pyarrow_on_files_that_pyarrow_writes(codec: str, version: str, dictionary: bool) -> None:
    table = sample_table()
    sink = io.BytesIO()
    pq.write_table(
        table,
        sink,
        compression=codec,
        data_page_version=version,
        use_dictionary=dictionary,
        row_group_size=90,
        data_page_size=200,
        write_batch_size=16,
        store_schema=False,
    )
    found = naive.decode(sink.getvalue())
    assert naive.first_difference(found.logical_records(), table.to_pylist()) is None


@pytest.mark.parametrize("version", ["1.0", "2.0"])
def test_naive_agrees_with_pyarrow_on_every_encoding(version: str) -> None:
    table = sample_table().select(["i", "l", "d", "b", "s", "f"])
    encodings = {
        "i": ["DELTA_BINARY_PACKED", "BYTE_STREAM_SPLIT", "PLAIN"],
        "l": ["DELTA_BINARY_PACKED", "BYTE_STREAM_SPLIT"],
        "d": ["BYTE_STREAM_SPLIT"],
        "b": ["RLE", "PLAIN"],
        "s": ["DELTA_LENGTH_BYTE_ARRAY", "DELTA_BYTE_ARRAY"],
        "f": ["DELTA_BYTE_ARRAY", "BYTE_STREAM_SPLIT"],
    }
    for round_ in range(3):
        chosen = {name: options[round_ % len(options)] for name, options in encodings.items()}
        sink = io.BytesIO()
        pq.write_table(
            table, sink, use_dictionary=False, column_encoding=chosen, data_page_version=version, data_page_size=300
        )
        found = naive.decode(sink.getvalue())
        assert naive.first_difference(found.logical_records(), table.to_pylist()) is None


def canonical_leaf(leaf: naive.Node, value: Any) -> Any:
    """The corpus' canonical form of one physical value."""
    pqmeta_kind = leaf.logical
    if leaf.physical == pages.BOOLEAN:
        return bool(value)
    if pqmeta_kind == "DECIMAL":
        number = value if isinstance(value, int) else int.from_bytes(value, "big", signed=True)
        return f"d:{number}:{leaf.params['scale']}"
    if pqmeta_kind == "DATE":
        return f"date:{value}"
    if pqmeta_kind in ("TIME", "TIMESTAMP"):
        zone = "Z" if pqmeta_kind == "TIMESTAMP" and leaf.params["utc"] else ""
        return f"{'ts' if zone or pqmeta_kind == 'TIMESTAMP' else 'time'}:{value}:{leaf.params['unit']}{zone}"
    if pqmeta_kind == "FLOAT16":
        return "f2:" + value[::-1].hex()
    if leaf.physical in (pages.INT32, pages.INT64):
        if pqmeta_kind == "INTEGER" and not leaf.params["signed"]:
            return value & ((1 << leaf.params["bits"]) - 1)
        return value
    if leaf.physical == pages.INT96:
        return f"i96:{naive.int96_nanoseconds(value)}"
    if leaf.physical == pages.FLOAT:
        return "f4:" + struct.pack(">f", value).hex()
    if leaf.physical == pages.DOUBLE_TYPE:
        return "f8:" + struct.pack(">d", value).hex()
    return "b:" + value.hex()


@pytest.mark.parametrize("name", corpus_names("read"))
def test_naive_reads_every_corpus_leaf_to_its_expected_digest(name: str) -> None:
    data = corpus_file(name).read_bytes()
    canonical = corpus_module("canonical")
    found = naive.decode(data)
    for column in expected()[name]["columns"]:
        for about in column["leaves"]:
            leaf = found.leaves[about["index"]]
            assert ".".join(leaf.path) == about["path"]
            # UNKNOWN columns hold nothing but nulls
            values = [canonical_leaf(leaf, value) for _, _, value in found.entries(about["index"]) if value is not None]
            if about["sha256"] is not None:
                assert (len(values), canonical.digest(values)) == (about["nonnull"], about["sha256"]), about["path"]
    assert schema_root(data) is not None


BUILT = pages.group(
    "root",
    pages.leaf("id", pages.INT64),
    pages.leaf("name", pages.BYTE_ARRAY, pages.OPTIONAL, converted=pages.UTF8),
    pages.list_group("tags", pages.leaf("element", pages.INT32, pages.OPTIONAL)),
    pages.map_group(
        "m",
        pages.leaf("key", pages.BYTE_ARRAY, converted=pages.UTF8),
        pages.leaf("value", pages.DOUBLE_TYPE, pages.OPTIONAL),
    ),
    pages.group("s", pages.leaf("x", pages.INT32, pages.OPTIONAL), repetition=pages.OPTIONAL),
)


def built_records(count: int) -> list[dict[str, Any]]:
    return [
        {
            "id": number,
            "name": None if number % 5 == 2 else f"n{number}".encode(),
            "tags": [None, [], [1, None], [number] * 3][number % 4],
            "m": [None, [], [(b"a", 1.5), (b"b", None)]][number % 3],
            "s": [None, {"x": None}, {"x": number}][number % 3],
        }
        for number in range(count)
    ]


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize(
    "codec", [pages.UNCOMPRESSED, pages.SNAPPY, pages.GZIP, pages.BROTLI, pages.ZSTD, pages.LZ4_RAW]
)
def test_pyarrow_and_naive_read_what_the_builder_writes(version: int, codec: int) -> None:
    data = pages.simple_file(
        BUILT,
        built_records(100),
        rows_per_group=37,
        version=version,
        codec=codec,
        per_page=10,
        page_options={"crc": "right"},
        offset_index=True,
    )
    found = naive.decode(data).logical_records()
    theirs = pq.read_table(io.BytesIO(data), page_checksum_verification=True).to_pylist()
    assert naive.first_difference(found, theirs) is None
    assert found[7] == {"id": 7, "name": None, "tags": [7, 7, 7], "m": [], "s": {"x": None}}


@pytest.mark.parametrize("form", ["rle", "packed", "ones", "auto"])
@pytest.mark.parametrize("width", [1, 2, 3, 7, 8, 9, 17, 31, 32])
def test_hybrid_runs_come_back_whatever_the_form(form: str, width: int) -> None:
    for count in (0, 1, 7, 8, 9, 64, 100):
        values = [(number // 9 * 2654435761) % (1 << width) for number in range(count)]
        for cut in (False, True):
            assert (
                naive.read_hybrid(pages.hybrid(values, width, form, cut and form == "packed"), width, count) == values
            )


@pytest.mark.parametrize(
    ("block", "miniblocks"), [(128, 1), (128, 2), (128, 4), (256, 8), (384, 3), (1024, 4), (640, 5)]
)
def test_delta_comes_back_for_every_block_and_miniblock_size(block: int, miniblocks: int) -> None:
    for count in (0, 1, 2, 33, 129, 700):
        for bits in (32, 64):
            half = 1 << (bits - 1)
            values = [
                (number * number * 7919 * (half // 99 if number % 50 == 0 else 1)) % (2 * half) - half
                for number in range(count)
            ]
            data = pages.delta_binary_packed(values, bits, block, miniblocks, unused_width=255)
            assert naive.read_delta(data, bits) == (values, len(data))


def test_thrift_trees_are_written_back_unchanged() -> None:
    data = pages.simple_file(BUILT, built_records(20))
    (length,) = struct.unpack_from("<I", data, len(data) - 8)
    start = len(data) - 8 - length
    tree, end = pages.read_struct(data, start)
    assert end == len(data) - 8
    assert tree.encode() == data[start:end]
