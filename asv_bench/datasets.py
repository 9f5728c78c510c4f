"""Names to Parquet files: makes the data of the benchmarks on demand, in `data/` beside this file.

`lineitem` comes from `tpchgen-cli` (scale factor 1 unless told otherwise), the other tables from pyarrow with the
settings of other writers; `weblog.py`, `lookup_data.py` and `grid_data.py` make the tables of the filtered works, of
the look-ups and of the selectivity grid. What exists is used again; delete the folder to start over.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from grid_data import ENCODINGS, write_grid
from lookup_data import write_events, write_files, write_groups
from weblog import NO_ROW_LIMIT, write_weblog

FOLDER = Path(__file__).resolve().parent / "data"

NUMERIC = (
    "l_orderkey",
    "l_partkey",
    "l_suppkey",
    "l_linenumber",
    "l_quantity",
    "l_extendedprice",
    "l_discount",
    "l_tax",
    "l_shipdate",
)
STRINGS = ("l_returnflag", "l_shipinstruct", "l_shipmode", "l_comment")
LINEITEM = (*NUMERIC[:8], "l_returnflag", "l_linestatus", "l_shipdate", "l_commitdate", "l_receiptdate", *STRINGS[1:])

ROW_GROUP_ROWS = 113_231  # what tpchgen-cli writes: 6 001 215 rows in 53 row groups
WIDE_COLUMNS, WIDE_ROW_GROUPS = 100, 50
SHORT_ROW_GROUPS = 13  # a quarter of lineitem at scale factor 1


def default_scale() -> float:
    """HARDWOOD_JIT_BENCH_SCALE, else 1: asv has no arguments of its own for a small trial run."""
    return float(os.environ.get("HARDWOOD_JIT_BENCH_SCALE", "1"))


def dataset(name: str, scale: float | None = None) -> Path:
    """The path of a data set, a file or a directory of files, made first if it is not there."""
    chosen = default_scale() if scale is None else scale
    target = FOLDER / (f"{name}-{chosen:g}" if name in DIRECTORIES else f"{name}-{chosen:g}.parquet")
    if not target.exists():
        FOLDER.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=FOLDER) as folder:
            draft = Path(folder) / target.name
            MAKERS[name](draft, chosen)
            draft.replace(target)  # never a half-written file under the final name
    return target


def _lineitem(target: Path, scale: float) -> None:
    """TPC-H lineitem as tpchgen-cli writes it, without the Arrow schema in its key-value metadata.

    The embedded schema asks for string views, and only some engines listen to it. Renaming its key leaves every
    page as it was, and every engine with the types of Parquet alone.
    """
    beside = Path(sys.executable).parent / "tpchgen-cli"
    command = str(beside) if beside.exists() else shutil.which("tpchgen-cli")
    if command is None:
        raise FileNotFoundError("tpchgen-cli is missing: pip install 'hardwood_jit[bench]'")
    arguments = ["parquet", "-s", f"{scale:g}", "--tables", "lineitem", "--output-dir", str(target.parent)]
    subprocess.run([command, *arguments], check=True, stdout=subprocess.DEVNULL)
    made = target.parent / "lineitem.parquet"
    with made.open("r+b") as file:
        file.seek(-8, os.SEEK_END)
        tail_bytes = int.from_bytes(file.read(4), "little") + 8
        file.seek(-tail_bytes, os.SEEK_END)
        tail = file.read()
        file.seek(-tail_bytes, os.SEEK_END)
        file.write(tail.replace(b"ARROW:schema", b"arrow_schema"))
    made.rename(target)


def _numbers(scale: float) -> pa.Table:
    return pq.read_table(dataset("lineitem", scale), columns=list(NUMERIC))


def _write(table: pa.Table, target: Path, **settings: object) -> None:
    """Write as pyarrow does by default, but decimals as integers (as lineitem has them) and no Arrow schema."""
    options = {"row_group_size": ROW_GROUP_ROWS, "store_decimal_as_integer": True, "store_schema": False}
    pq.write_table(table, target, **{**options, **settings})


def _nullable(target: Path, scale: float) -> None:
    """The numeric columns of lineitem, made nullable, one value in twenty null."""
    table = _numbers(scale)
    random = np.random.default_rng(1)
    columns = []
    for column in table.columns:
        absent = pa.array(random.random(table.num_rows) < 0.05)
        columns.append(pc.if_else(absent, pa.scalar(None, column.type), column))
    _write(pa.table(columns, names=table.column_names), target)


def _large_pages(target: Path, scale: float) -> None:
    """Pages of 1 MB however many rows they hold, in row groups of a million rows."""
    _write(_numbers(scale), target, data_page_size=1 << 20, max_rows_per_page=NO_ROW_LIMIT, row_group_size=1 << 20)


def _checksums(target: Path, scale: float) -> None:
    """All of lineitem with a CRC in every page; pages of 20 000 rows and a page index, as tpchgen-cli writes them."""
    _write(pq.read_table(dataset("lineitem", scale)), target, write_page_checksum=True, write_page_index=True)


def _weblog_checksums(target: Path, scale: float) -> None:
    write_weblog(target, scale, checksums=True)


def _v2(target: Path, scale: float) -> None:
    _write(_numbers(scale), target, data_page_version="2.0")


def _zstd(target: Path, scale: float) -> None:
    _write(_numbers(scale), target, compression="zstd")


def _delta(target: Path, scale: float) -> None:
    """Every numeric column DELTA_BINARY_PACKED: integers, decimals and dates alike."""
    encodings = dict.fromkeys(NUMERIC, "DELTA_BINARY_PACKED")
    _write(_numbers(scale), target, use_dictionary=False, column_encoding=encodings)


def _byte_stream_split(target: Path, scale: float) -> None:
    """Every numeric column BYTE_STREAM_SPLIT, the decimals as doubles."""
    table = _numbers(scale)
    for position, column in enumerate(table.columns):
        if pa.types.is_decimal(column.type):
            table = table.set_column(position, table.column_names[position], column.cast(pa.float64()))
    encodings = dict.fromkeys(NUMERIC, "BYTE_STREAM_SPLIT")
    _write(table, target, use_dictionary=False, column_encoding=encodings)


def _delta_strings(target: Path, scale: float) -> None:
    """The string columns without dictionaries: one with shared prefixes, three with lengths first."""
    table = pq.read_table(dataset("lineitem", scale), columns=list(STRINGS))
    encodings = {**dict.fromkeys(STRINGS, "DELTA_LENGTH_BYTE_ARRAY"), "l_comment": "DELTA_BYTE_ARRAY"}
    _write(table, target, use_dictionary=False, column_encoding=encodings)


def _nested(target: Path, scale: float) -> None:
    """A million lists of 0 to 10 doubles; one list and one element in twenty null."""
    random = np.random.default_rng(2)
    rows = max(1000, int(1_000_000 * scale))
    null_list = random.random(rows) < 0.05
    lengths = np.where(null_list, 0, random.integers(0, 11, rows))
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    values = random.normal(size=int(offsets[-1]))
    elements = pa.array(values, mask=random.random(values.size) < 0.05)
    lists = pa.ListArray.from_arrays(pa.array(offsets), elements, mask=pa.array(null_list))
    _write(pa.table({"readings": lists}), target, row_group_size=max(1, rows // 8), use_dictionary=False)


def _wide(target: Path, scale: float) -> None:
    """A footer of 100 columns and 50 row groups with statistics; the size of the data does not matter."""
    rows = WIDE_ROW_GROUPS * 20
    random = np.random.default_rng(3)
    kinds = (
        lambda: pa.array(random.integers(0, 1 << 40, rows)),
        lambda: pa.array(random.normal(size=rows)),
        lambda: pa.array([f"text {number}" for number in random.integers(0, 1000, rows)]),
        lambda: pa.array(random.integers(0, 1000, rows).astype(np.int32)),
    )
    columns = {f"column_{number:03}": kinds[number % len(kinds)]() for number in range(WIDE_COLUMNS)}
    _write(pa.table(columns), target, row_group_size=rows // WIDE_ROW_GROUPS)


def _first_batch(target: Path, scale: float, dictionaries: bool | list[str] = True) -> None:
    """One row group of nullable INT64, DOUBLE and STRING, snappy."""
    random = np.random.default_rng(4)
    rows = 50_000

    def absent() -> np.ndarray:
        return random.random(rows) < 0.05

    table = pa.table(
        {
            "id": pa.array(random.integers(0, 1 << 40, rows), mask=absent()),
            "price": pa.array(random.normal(size=rows), mask=absent()),
            "name": pa.array([f"name {number}" for number in random.integers(0, 5000, rows)], mask=absent()),
        }
    )
    _write(table, target, row_group_size=rows, compression="snappy", use_dictionary=dictionaries)


def _first_filtered_batch(target: Path, scale: float) -> None:
    """The same with PLAIN numbers: tests of dictionary entries are answered by kernels that are the same for all."""
    _first_batch(target, scale, ["name"])


def _repeated_row_groups(target: Path, scale: float, times: int) -> None:
    """The first row groups of lineitem, all columns, written `times` times over: same data, longer file."""
    source = pq.ParquetFile(dataset("lineitem", scale))
    chosen = range(min(SHORT_ROW_GROUPS, source.num_row_groups))
    settings = {"store_schema": False, "store_decimal_as_integer": True}
    with pq.ParquetWriter(target, source.schema_arrow, **settings) as writer:
        for _ in range(times):
            for number in chosen:
                writer.write_table(source.read_row_group(number), row_group_size=ROW_GROUP_ROWS)


def _short(target: Path, scale: float) -> None:
    _repeated_row_groups(target, scale, 1)


def _long(target: Path, scale: float) -> None:
    _repeated_row_groups(target, scale, 4)


MAKERS: dict[str, Callable[[Path, float], None]] = {
    "lineitem": _lineitem,
    "lineitem_nullable": _nullable,
    "lineitem_large_pages": _large_pages,
    "lineitem_crc": _checksums,
    "lineitem_v2": _v2,
    "lineitem_zstd": _zstd,
    "lineitem_delta": _delta,
    "lineitem_byte_stream_split": _byte_stream_split,
    "lineitem_delta_strings": _delta_strings,
    "nested": _nested,
    "wide": _wide,
    "first_batch": _first_batch,
    "first_filtered_batch": _first_filtered_batch,
    "short": _short,
    "long": _long,
    "weblog": write_weblog,
    "weblog_crc": _weblog_checksums,
    "events": write_events,
    "many_groups": write_groups,
    "many_files": write_files,
    **{f"grid_{encoding}": partial(write_grid, encoding=encoding) for encoding in ENCODINGS},
}
DIRECTORIES = ("many_files",)
