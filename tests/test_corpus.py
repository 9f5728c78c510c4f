"""Every file of the corpus reads to its expected values through every terminal, or is refused with the right error."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from functools import lru_cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import hardwood_jit as hw
from tests.support import naive
from tests.support.columns import column_records
from tests.support.corpus import (
    corpus_file,
    corpus_files,
    corpus_module,
    corpus_names,
    corpus_root,
    expected,
    schema_root,
)

READ = corpus_names("read")
REJECT = corpus_names("reject")
HEAVY = corpus_names("read-resource-heavy")
BEYOND_NANOSECONDS = "data/int96_from_spark.parquet"  # no Arrow timestamp holds all its instants
BEYOND_PYTHON = {BEYOND_NANOSECONDS, "data/nested_structs.rust.parquet"}  # nanoseconds called microseconds: year 52951
MANY_ROWS = 400  # batches of one row are tried on this many rows of the larger files


def test_the_corpus_is_there_and_no_file_of_it_is_left_out() -> None:
    root = corpus_root()
    on_disk = {str(path.relative_to(root / "dev")) for path in corpus_files()}
    assert on_disk == {*READ, *REJECT, *HEAVY}
    assert len(on_disk) == len(READ) + len(REJECT) + len(HEAVY)


def checksums(name: str) -> bool:
    return expected()[name].get("crc") != "bad"


def open_file(name: str) -> hw.Dataset:
    """Open a readable file; those with wrong checksums with the check switched off."""
    return hw.open(corpus_file(name), checksums=checksums(name))


@lru_cache(maxsize=4)
def oracle(name: str) -> naive.NaiveFile:
    return naive.decode(corpus_file(name).read_bytes())


def raw_int96_table(dataset: hw.Dataset) -> pa.Table:
    """The stored twelve bytes of every value, which the canonical form understands as well as a timestamp."""
    chunks = []
    for batch in dataset.scan().batches():
        (column,) = batch.columns
        chunks.append(pa.array(column_records(column), pa.binary(12)))
    return pa.table({column.path: pa.chunked_array(chunks, pa.binary(12))})


@pytest.mark.parametrize("name", READ)
def test_values_equal_the_expected_digests(name: str) -> None:
    dataset = open_file(name)
    table = raw_int96_table(dataset) if name == BEYOND_NANOSECONDS else dataset.scan().to_arrow()
    table.validate(full=True)
    about = expected()[name]
    canonical = corpus_module("canonical")
    found = canonical.table_columns(table, schema_root(corpus_file(name).read_bytes()))
    assert [column[0] for column in found] == [column["name"] for column in about["columns"]]
    for (column_name, values, _, error), column in zip(found, about["columns"], strict=True):
        assert error == "", f"{column_name}: {error}"
        facts = len(values), sum(value is None for value in values), canonical.digest(values)
        assert facts == (column["rows"], column["nulls"], column["sha256"]), column_name
        assert values[: len(column["head"])] == column["head"]
    assert dataset.num_rows == table.num_rows == dataset.scan().count()


@pytest.mark.parametrize("name", READ)
def test_batches_equal_the_naive_decoder_whatever_their_size_and_the_threads(name: str) -> None:
    dataset = open_file(name)
    wanted = [oracle(name).leaf_records(index) for index in range(len(oracle(name).leaves))]
    rows = oracle(name).num_rows
    for size, threads in ((None, 1), (None, 2), (7, 1), (7, 2), (1, 1), (1, 2)):
        limit = rows if size is None else min(rows, MANY_ROWS * size)
        scan = dataset.scan().threads(threads).head(limit)
        if size is not None:
            scan = scan.batch_size(size)
        found: list[list[Any]] = [[] for _ in wanted]
        for batch in scan.batches():
            assert size is None or batch.num_rows <= size
            assert len(batch.columns) == len(wanted)
            for into, column in zip(found, batch.columns, strict=True):
                assert column.record_count == batch.num_rows
                into += column_records(column)
        for leaf, one, other in zip(oracle(name).leaves, found, wanted, strict=True):
            difference = naive.first_difference(one, other[:limit])
            assert difference is None, f"{'.'.join(leaf.path)}, batches of {size}, {threads} threads: {difference}"


@pytest.mark.parametrize("name", READ)
def test_rows_equal_the_naive_decoder(name: str) -> None:
    dataset = open_file(name)
    if name in BEYOND_PYTHON:
        with pytest.raises(hw.UnsupportedError, match="raw"):
            [dict(row) for row in dataset.scan().rows()]
        names = [child.name for child in oracle(name).root.children]
        raw = [{column: row.raw(column) for column in names} for row in dataset.scan().rows()]
        assert naive.first_difference(raw, oracle(name).records()) is None
        return
    found = [dict(row) for row in dataset.scan().rows()]
    difference = naive.first_difference(found, oracle(name).logical_records())
    assert difference is None, difference


@pytest.mark.parametrize("name", READ)
def test_threads_do_not_change_the_table(name: str) -> None:
    if name == BEYOND_NANOSECONDS:
        with pytest.raises(hw.UnsupportedError, match="int96"):
            open_file(name).scan().to_arrow()
        return
    one, two = (open_file(name).scan().threads(count).to_arrow() for count in (1, 2))
    assert one.schema == two.schema
    if name in BEYOND_PYTHON:
        assert one.equals(two)
    else:
        assert naive.first_difference(one.to_pylist(), two.to_pylist()) is None


@pytest.mark.parametrize("name", READ)
def test_bytes_file_object_and_map_read_like_the_path(name: str) -> None:
    path = corpus_file(name)
    wanted = [
        [column_records(column) for column in batch.columns]
        for batch in hw.open(path, checksums=checksums(name)).scan().batches()
    ]
    data = path.read_bytes()
    with path.open("rb") as opened:
        for source, options in ((data, {}), (memoryview(data), {}), (opened, {}), (path, {"mmap": True})):
            dataset = hw.open(source, checksums=checksums(name), **options)
            found = [[column_records(column) for column in batch.columns] for batch in dataset.scan().batches()]
            assert naive.same(found, wanted)
        assert not opened.closed


@pytest.mark.parametrize("name", REJECT)
def test_bad_file_is_refused_with_its_name(name: str) -> None:
    for terminal in ("to_arrow", "batches", "rows"):
        with pytest.raises((hw.CorruptFileError, hw.UnsupportedError), match=Path(name).name):
            list(getattr(hw.scan(corpus_file(name)), terminal)())


@pytest.mark.parametrize("name", [name for name in READ if not checksums(name)])
def test_wrong_checksum_is_refused_unless_checks_are_off(name: str) -> None:
    for terminal in ("to_arrow", "batches", "rows"):
        with pytest.raises(hw.CorruptFileError, match=r"checksum|CRC"):
            list(getattr(hw.scan(corpus_file(name)), terminal)())
    assert hw.scan(corpus_file(name), checksums=False).to_arrow().num_rows == oracle(name).num_rows


@pytest.mark.parametrize("name", HEAVY)
@pytest.mark.parametrize("terminal", ["to_arrow", "batches", "rows", "to_numpy", "to_pandas"])
def test_page_that_inflates_beyond_the_limit_is_refused_without_memory(name: str, terminal: str) -> None:
    limit = 4 << 30  # address space: numba, LLVM and Arrow reserve far more than they use
    code = (
        "import sys, hardwood_jit as hw\n"
        "try:\n"
        f"    for item in hw.scan({str(corpus_file(name))!r}).{terminal}(): pass\n"
        "except hw.UnsupportedError as error:\n"
        "    print(error)\n"
        "    import resource; print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        timeout=120,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)),
        env={**os.environ},
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    message, peak = done.stdout.strip().splitlines()
    assert "max_page_bytes" in message
    assert int(peak) < 600_000  # kilobytes; one of the refused pages alone holds a gigabyte
