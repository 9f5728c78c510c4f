"""Row groups that are decoded together give what the general way gives, and what pyarrow gives."""

from __future__ import annotations

import datetime
import decimal
import io
import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import hardwood_jit as hw
from hardwood_jit import joined_groups
from hardwood_jit.jit import joined_kernel
from hardwood_jit.jit.fused_kernels import FUSED
from hardwood_jit.jit.joined_kernel import KERNELS

ROWS = 71  # a 64-bit word and some: no row group but the first starts at a word of the joined bits
FILES = 12


@pytest.fixture(autouse=True)
def _built_kernels() -> None:
    FUSED.build(KERNELS)


@pytest.fixture
def joined(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many rows each joined batch had."""
    seen: list[int] = []
    made = joined_groups.joined_batch

    def noted(*args: Any) -> Any:
        batch = made(*args)
        if batch is not None:
            seen.append(batch.num_rows)
        return batch

    monkeypatch.setattr("hardwood_jit.scanner.joined_batch", noted)
    return seen


def table(number: int, rows: int = ROWS) -> pa.Table:
    order = [number * rows + row for row in range(rows)]
    none_in_some = [None if number % 3 == 1 and key % 4 == 0 else key for key in order]
    return pa.table(
        {
            "key": pa.array(order, pa.int64()),
            "small": pa.array([key % 7 for key in order], pa.int32()),
            "ratio": pa.array([None if key % 5 == 0 else key / 8 for key in order], pa.float64()),
            "short": pa.array([key / 4 for key in order], pa.float32()),
            "text": pa.array([f"é {key % 9}" for key in order]),
            "mostly": pa.array([None if key % 3 else "x" * (key % 40) for key in order]),
            "sometimes": pa.array(none_in_some, pa.int64()),
            "nothing": pa.array([None] * rows, pa.string()),
            "price": pa.array([decimal.Decimal(key) / 100 for key in order], pa.decimal128(9, 2)),
            "taken": pa.array([datetime.datetime(2024, 1, 1) + datetime.timedelta(seconds=key) for key in order]),
            "bytes": pa.array([bytes([key % 256]) * (key % 3) for key in order], pa.binary()),
        }
    )


def write_folder(folder: Path, count: int = FILES, **options: Any) -> pa.Table:
    folder.mkdir(exist_ok=True)
    tables = [table(number) for number in range(count)]
    for number, part in enumerate(tables):
        pq.write_table(part, folder / f"{number:03}.parquet", store_schema=False, **options)
    return pq.read_table(folder)


WAYS: dict[str, dict[str, Any]] = {
    "as pyarrow writes": {},
    "no dictionary": {"use_dictionary": False},
    "uncompressed, V2 pages": {"compression": "none", "data_page_version": "2.0"},
    "integers as decimals": {"store_decimal_as_integer": True},
    "several pages": {"data_page_size": 64, "write_batch_size": 20},
}


@pytest.mark.parametrize("way", WAYS)
def test_files_are_joined_and_equal_what_pyarrow_reads(tmp_path: Path, joined: list[int], way: str) -> None:
    expected = write_folder(tmp_path / "files", **WAYS[way])
    left = {"nothing"} if "integers" in way else {"nothing", "price"}  # for which see below
    columns = [name for name in expected.column_names if name not in left]
    found = hw.scan(tmp_path / "files").select(*columns).to_arrow()
    found.validate(full=True)
    assert found.equals(expected.select(columns).cast(found.schema))
    assert sum(joined) == FILES * ROWS
    assert all(column.num_chunks < FILES for column in found.columns)


def test_row_groups_of_one_file_are_joined(tmp_path: Path, joined: list[int]) -> None:
    whole = pa.concat_tables([table(number) for number in range(FILES)]).drop(["price", "nothing"])
    path = tmp_path / "one.parquet"
    pq.write_table(whole, path, row_group_size=ROWS, store_schema=False)
    for source in (path, path.read_bytes()):
        found = hw.scan(source).to_arrow()
        assert found.equals(pq.read_table(path))
        assert joined == [FILES * ROWS]
        joined.clear()


def test_columns_in_another_order_and_with_gaps_between(tmp_path: Path, joined: list[int]) -> None:
    expected = write_folder(tmp_path / "files")
    found = hw.scan(tmp_path / "files").select("text", "sometimes", "key").to_arrow()
    assert found.equals(expected.select(["text", "sometimes", "key"]))
    assert sum(joined) == FILES * ROWS


def test_what_is_not_for_the_kernels_goes_the_general_way(tmp_path: Path, joined: list[int]) -> None:
    for name, options in {"zstd": {"compression": "zstd"}, "crc": {"write_page_checksum": True}}.items():
        expected = write_folder(tmp_path / name, **options)
        assert hw.scan(tmp_path / name).select("key", "text").to_arrow().equals(expected.select(["key", "text"]))
    expected = write_folder(tmp_path / "files")
    for name in ("price", "nothing"):  # FIXED_LEN_BYTE_ARRAY; a dictionary without entries
        assert hw.scan(tmp_path / "files").select(name).to_arrow().equals(expected.select([name]))
    views = hw.scan(tmp_path / "files").select("text").to_arrow(strings="view")
    assert views["text"].to_pylist() == expected["text"].to_pylist()
    assert joined == []


def test_row_groups_of_other_sizes_end_a_run(tmp_path: Path, joined: list[int]) -> None:
    path = tmp_path / "one.parquet"
    with pq.ParquetWriter(path, table(0).schema) as writer:
        for number in range(30):
            writer.write_table(table(number, 20 if 12 <= number < 14 else ROWS))
    found = hw.scan(path).select("key", "mostly").to_arrow()
    assert found.equals(pq.read_table(path, columns=["key", "mostly"]))
    assert joined == [12 * ROWS, 16 * ROWS]


def test_files_of_other_schemas_and_partitions(tmp_path: Path) -> None:
    for year in (2023, 2024):
        for number in range(9):
            folder = tmp_path / f"year={year}"
            folder.mkdir(exist_ok=True)
            part = table(number)
            pq.write_table(part.select(part.column_names[:: 1 if number % 2 else -1]), folder / f"{number}.parquet")
    found = hw.scan(tmp_path).select("key", "text", "year").to_arrow()
    assert found["key"].to_pylist() == 2 * list(range(9 * ROWS))
    assert found["year"].to_pylist() == [2023] * 9 * ROWS + [2024] * 9 * ROWS


def test_batches_and_limited_scans_are_not_joined(tmp_path: Path, joined: list[int]) -> None:
    write_folder(tmp_path / "files")
    scan = hw.scan(tmp_path / "files").select("key")
    assert [batch.num_rows for batch in scan.batches()] == [ROWS] * FILES
    assert [batch.file for batch in scan.batches()] == [str(file.name) for file in scan.dataset.files]
    assert scan.batch_size(10).to_arrow().num_rows == FILES * ROWS
    assert joined == []
    assert scan.head(5 * ROWS + 3).to_arrow()["key"].to_pylist() == list(range(5 * ROWS + 3))
    assert scan.tail(5 * ROWS + 3).to_arrow().num_rows == 5 * ROWS + 3
    assert scan.skip(3).to_arrow()["key"].to_pylist() == list(range(3, FILES * ROWS))


def test_requests_and_bytes_are_counted(tmp_path: Path) -> None:
    write_folder(tmp_path / "files")
    dataset = hw.open(tmp_path / "files")
    assert dataset.num_rows == FILES * ROWS
    before = dataset.counts
    dataset.scan().select("key", "small").to_arrow()
    read = dataset.counts - before
    stored = sum(
        group.columns[name].total_compressed_size
        for file in dataset.files
        for group in file.metadata.row_groups
        for name in ("key", "small")
    )
    assert (read.ranges, read.bytes) == (FILES, stored)


def test_a_file_that_changed_or_went_is_noticed(tmp_path: Path) -> None:
    write_folder(tmp_path / "files")
    scan = hw.scan(tmp_path / "files")
    assert scan.count() == FILES * ROWS
    victim = tmp_path / "files" / "005.parquet"
    victim.write_bytes(victim.read_bytes() + b" ")
    with pytest.raises(OSError, match=r"005\.parquet: the file has changed"):
        scan.to_arrow()
    victim.unlink()
    with pytest.raises(FileNotFoundError, match=r"005\.parquet"):
        scan.to_arrow()


def outcome(scan: hw.Scan) -> Any:
    try:
        return scan.to_arrow().to_pydict()
    except hw.HardwoodError as error:
        return type(error), str(error)


def spoiled(raw: bytes, metadata: Any, rng: random.Random) -> bytes:
    """Bytes of pages changed; the footer is left alone."""
    end = metadata.footer_start
    found = bytearray(raw)
    for _ in range(rng.choice((1, 1, 2, 6))):
        found[rng.randrange(4, end)] = rng.choice((0, 1, 0x7F, 0x80, 0xFF, rng.randrange(256)))
    return bytes(found)


@pytest.mark.parametrize("way", ["as pyarrow writes", "no dictionary", "several pages"])
def test_malformed_pages_are_refused_as_the_general_way_refuses_them(
    monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    out = io.BytesIO()
    whole = pa.concat_tables([table(number, 20) for number in range(10)]).drop(["price", "nothing", "taken"])
    pq.write_table(whole, out, row_group_size=20, store_schema=False, **WAYS[way])
    raw = out.getvalue()
    metadata = hw.open(raw).files[0].metadata
    rng = random.Random(8)
    refused = 0
    for _ in range(120):
        bad = spoiled(raw, metadata, rng)
        monkeypatch.setattr(joined_groups, "IS_USED", True)
        together = outcome(hw.scan(bad))
        monkeypatch.setattr(joined_groups, "IS_USED", False)
        apart = outcome(hw.scan(bad))
        refused += isinstance(apart, tuple)
        assert str(together) == str(apart)
    assert refused > 5


def test_nothing_is_joined_without_the_kernels(tmp_path: Path, joined: list[int], monkeypatch: Any) -> None:
    expected = write_folder(tmp_path / "files").select(["key", "text"])
    monkeypatch.setattr("hardwood_jit.jit.joined_kernel.are_built", lambda: False)
    assert hw.scan(tmp_path / "files").select("key", "text").to_arrow().equals(expected)
    assert joined == []


def test_a_text_that_is_none_is_refused_by_the_general_way_which_names_the_file(tmp_path: Path) -> None:
    folder = tmp_path / "files"
    folder.mkdir()
    for number in range(FILES):
        path = folder / f"{number:03}.parquet"
        pq.write_table(pa.table({"text": ["good"] * 10 + ["fine"]}), path, compression="none", use_dictionary=False)
        if number == 7:
            raw = path.read_bytes()
            path.write_bytes(raw.replace(b"\x04\x00\x00\x00fine", b"\x04\x00\x00\x00f\xff\xfee", 1))
    with pytest.raises(hw.CorruptFileError, match=r"007\.parquet: row group 0, column 'text'.*UTF-8"):
        hw.scan(folder).to_arrow()


@pytest.mark.parametrize("limit", ["MOST_BYTES", "LONGEST"])
def test_what_would_take_too_much_memory_goes_the_general_way(
    tmp_path: Path, joined: list[int], monkeypatch: pytest.MonkeyPatch, limit: str
) -> None:
    """Decompressed pages of all row groups together, and texts whose offsets would not fit."""
    expected = write_folder(tmp_path / "files").select(["text", "key"])
    scan = hw.scan(tmp_path / "files").select("text", "key")
    assert scan.to_arrow().num_rows == sum(joined) == expected.num_rows
    joined.clear()
    monkeypatch.setattr(joined_kernel, limit, 100)
    assert scan.to_arrow().equals(expected.cast(scan.to_arrow().schema))
    assert not joined
