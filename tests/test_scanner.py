"""The loop over row groups: threads, order, errors, early ends, budgets of memory and time, and large files."""

from __future__ import annotations

import gc
import io
import itertools
import os
import pickle
import resource
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import hardwood_jit as hw
from hardwood_jit.batch import Batch, Column
from hardwood_jit.errors import CorruptFileError, HardwoodError
from tests.support import pages as p

ROOT = Path(__file__).parents[1]
BUDGET = 32 << 20  # several times what a batch aims at, and far below what goes wrong


def numbers(rows: int = 40_000, group: int = 1000, **options: Any) -> bytes:
    out = io.BytesIO()
    pq.write_table(
        pa.table({"a": np.arange(rows), "s": [f"text {i % 50}" for i in range(rows)]}), out, group, **options
    )
    return out.getvalue()


FORTY_GROUPS = numbers()


def column_bytes(column: Column) -> int:
    arrays = [column.values, column.data, column.offsets, *(layer.offsets for layer in column.layers)]
    return sum(array.nbytes for array in arrays if array is not None)


def batch_bytes(batch: Batch) -> int:
    return sum(column_bytes(column) for column in batch.columns)


def workers() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "hardwood_jit"]


def wait_for_end() -> None:
    deadline = time.monotonic() + 20
    while workers() and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not workers()


# Threads


@pytest.mark.parametrize("threads", [1, 2, 3, 8])
@pytest.mark.parametrize("size", [None, 77, 1000])
def test_rows_come_out_in_file_order_whatever_the_threads(threads: int, size: int | None) -> None:
    scan = hw.scan(FORTY_GROUPS).threads(threads)
    if size is not None:
        scan = scan.batch_size(size)
    found = [batch["a"].values for batch in scan.batches()]
    assert np.array_equal(np.concatenate(found), np.arange(40_000))
    assert not workers()
    if size is not None:
        assert max(map(len, found)) == size


def broken_in_the_middle() -> bytes:
    """Forty row groups, of which number 20 has a page whose body does not decompress."""
    raw = bytearray(numbers(compression="snappy", use_dictionary=False))
    chunk = pq.read_metadata(io.BytesIO(bytes(raw))).row_group(20).column(0)
    middle = chunk.data_page_offset + chunk.total_compressed_size // 2
    raw[middle - 40 : middle + 40] = b"\xff" * 80
    return bytes(raw)


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_error_in_the_middle_comes_after_the_batches_before_it(threads: int) -> None:
    scan = hw.scan(broken_in_the_middle()).select("a").threads(threads)
    found = []
    with pytest.raises(CorruptFileError, match="row group 20, column 'a'"):
        for batch in scan.batches():
            found.append(batch["a"].values)
    assert np.array_equal(np.concatenate(found), np.arange(20_000))
    assert not workers()
    with pytest.raises(CorruptFileError, match="row group 20"):
        scan.to_arrow()
    assert scan.head(20_000).to_arrow().num_rows == 20_000
    assert not workers()


def test_file_that_fails_to_open_comes_after_the_batches_before_it(tmp_path: Path) -> None:
    names = [tmp_path / f"{number}.parquet" for number in range(3)]
    for name in names:
        name.write_bytes(FORTY_GROUPS)
    dataset = hw.open([str(name) for name in names])
    names[1].write_bytes(b"PAR1 is not the whole story PAR1")
    rows = 0
    with pytest.raises((HardwoodError, OSError)):
        for batch in dataset.scan().threads(3).batches():
            rows += batch.num_rows
    assert rows == 40_000
    assert not workers()


@pytest.mark.parametrize("how", ["dropped", "closed", "error in the loop"])
def test_iterator_that_is_not_used_up_stops_its_threads(how: str) -> None:
    batches = hw.scan(FORTY_GROUPS).threads(3).batches()
    next(batches)
    assert workers()
    if how == "dropped":
        del batches
    elif how == "closed":
        batches.close()  # type: ignore[attr-defined]
    else:

        def use(batches: Iterator[Batch]) -> None:
            for _ in batches:
                raise KeyError("of the caller's")

        with pytest.raises(KeyError):
            use(batches)
        del batches
    gc.collect()
    wait_for_end()


def test_iterator_that_was_never_started_has_no_threads_and_reads_nothing() -> None:
    dataset = hw.open(FORTY_GROUPS)
    batches = dataset.scan().threads(3).batches()
    assert not workers()
    assert dataset.counts.ranges == 0
    del batches


def test_iterator_collected_by_one_of_its_own_threads_ends_quietly() -> None:
    """A cycle may be found by whichever thread runs the collector."""
    wrong: list[Any] = []
    dropped = threading.Event()

    def collect(done: int, total: int) -> None:
        if done > 5000:
            dropped.wait(10)
            gc.collect()

    hook, sys.unraisablehook = sys.unraisablehook, wrong.append
    gc.disable()
    try:
        batches = hw.scan(FORTY_GROUPS).threads(2).batches(progress=collect)
        for _ in range(3):
            next(batches)
        cycle: list[Any] = [batches]
        cycle.append(cycle)
        del batches, cycle
        dropped.set()
        wait_for_end()
    finally:
        gc.enable()
        sys.unraisablehook = hook
    assert [repr(one.exc_value) for one in wrong] == []


def test_finished_batches_wait_for_the_consumer_in_small_number() -> None:
    done: list[int] = []
    scan = hw.scan(FORTY_GROUPS).threads(2)
    batches = scan.batches(progress=lambda rows, total: done.append(rows))
    next(batches)
    time.sleep(0.5)
    assert max(done) <= 10_000  # two threads, four batches that wait, two that are about to
    batches.close()  # type: ignore[attr-defined]


def test_head_stops_reading_early() -> None:
    dataset = hw.open(FORTY_GROUPS)
    rows = dataset.num_rows
    footer = dataset.counts.bytes
    assert sum(batch.num_rows for batch in dataset.scan().threads(4).head(1500).batches()) == 1500
    read = dataset.counts.bytes - footer
    assert 0 < read < len(FORTY_GROUPS) * 4 // 40
    assert rows == 40_000


def test_many_threads_share_one_dataset(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    path.write_bytes(FORTY_GROUPS)
    with path.open("rb") as file:
        for source in (str(path), FORTY_GROUPS, file):
            dataset = hw.open(source)
            scan = dataset.scan().threads(2)
            wrong: list[BaseException] = []

            def read(number: int, scan: hw.Scan = scan, wrong: list[BaseException] = wrong) -> None:
                try:
                    start = 137 * number
                    some = scan.select("a").skip(start).head(20_000)
                    found = np.concatenate([batch["a"].values for batch in some.batches()])
                    assert np.array_equal(found, np.arange(start, start + 20_000))
                    assert some.count() == 20_000
                except BaseException as error:
                    wrong.append(error)

            readers = [threading.Thread(target=read, args=(number,)) for number in range(6)]
            for reader in readers:
                reader.start()
            for reader in readers:
                reader.join(60)
            assert not wrong
            assert not any(reader.is_alive() for reader in readers)


def test_arrays_of_a_batch_stay_as_they_are_when_later_batches_are_read() -> None:
    scan = hw.scan(FORTY_GROUPS).threads(1).batch_size(300)
    kept = list(scan.batches())
    assert np.array_equal(np.concatenate([batch["a"].values for batch in kept]), np.arange(40_000))
    assert [value for batch in kept for value in batch["s"].to_pylist()] == [f"text {i % 50}" for i in range(40_000)]


def test_two_iterators_of_one_scan_do_not_disturb_each_other() -> None:
    scan = hw.scan(FORTY_GROUPS).threads(1).batch_size(100)
    for one, two in zip(scan.batches(), scan.batches(), strict=True):
        assert np.array_equal(one["a"].values, two["a"].values)
        assert one["s"].to_pylist() == two["s"].to_pylist()


def test_fork_after_use_works(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    path.write_bytes(FORTY_GROUPS)
    code = f"""
import os, signal, time, warnings
warnings.simplefilter("ignore")
import hardwood_jit as hw
scan = hw.scan({str(path)!r}).threads(2)
assert sum(batch.num_rows for batch in scan.batches()) == 40_000
half = scan.batches()
next(half)
time.sleep(0.3)  # until its threads wait for the consumer: a fork must not catch them inside a lock
children = []
for _ in range(3):
    child = os.fork()
    if child == 0:
        signal.alarm(30)
        rows = sum(batch.num_rows for batch in scan.batches())
        os._exit(0 if rows == 40_000 else 3)
    children.append(child)
assert [os.waitpid(child, 0)[1] for child in children] == [0, 0, 0]
assert sum(batch.num_rows for batch in half) == 39_000
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr


# Progress, pickling, closing


@pytest.mark.parametrize("threads", [1, 3])
def test_progress_is_called_with_rows_done_and_rows_in_all(threads: int) -> None:
    seen: list[tuple[int, int]] = []
    scan = hw.scan(FORTY_GROUPS).threads(threads).skip(500).head(9000)
    assert scan.to_arrow(progress=lambda done, total: seen.append((done, total))).num_rows == 9000
    assert seen[-1] == (9000, 9000)
    assert [done for done, _ in seen] == sorted({done for done, _ in seen})
    assert {total for _, total in seen} == {9000}


@pytest.mark.parametrize("threads", [1, 3])
def test_error_of_the_progress_callable_reaches_the_caller(threads: int) -> None:
    def stop(done: int, total: int) -> None:
        raise ZeroDivisionError(done)

    with pytest.raises(ZeroDivisionError):
        list(hw.scan(FORTY_GROUPS).threads(threads).batches(progress=stop))
    assert not workers()


def test_scans_over_paths_pickle_and_others_say_why_not(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    path.write_bytes(FORTY_GROUPS)
    scan = hw.scan(path).select("a").skip(10).head(20).threads(2)
    assert scan.count() == 20
    copy = pickle.loads(pickle.dumps(scan))
    assert np.concatenate([batch["a"].values for batch in copy.batches()]).tolist() == list(range(10, 30))
    ranges = pickle.loads(pickle.dumps(hw.scan([path, path]).row_ranges([(0, 2), (5, 6)])))
    assert ranges.count() == 3
    with path.open("rb") as file:
        for source in (FORTY_GROUPS, file, [str(path), FORTY_GROUPS]):
            for thing in (hw.open(source), hw.scan(source)):
                with pytest.raises(TypeError, match="paths"):
                    pickle.dumps(thing)


def test_closed_dataset_refuses_new_terminals_and_results_stay_valid() -> None:
    with hw.open(FORTY_GROUPS) as dataset:
        scan = dataset.scan()
        batch = next(scan.batches())
        running = scan.threads(1).batches()
        next(running)
    terminals: list[Callable[[], Any]] = [
        scan.batches,
        scan.count,
        scan.to_arrow,
        scan.to_numpy,
        scan.to_pandas,
        scan.__arrow_c_stream__,
        lambda: list(scan.rows()),
        lambda: list(scan),
    ]
    for terminal in terminals:
        with pytest.raises(ValueError, match="closed"):
            terminal()
    assert np.array_equal(batch["a"].values, np.arange(batch.num_rows))
    assert sum(later.num_rows for later in running) == 39_000


def test_terminal_called_before_the_dataset_closed_still_runs() -> None:
    with hw.open(FORTY_GROUPS) as dataset:
        batches = dataset.scan().threads(1).batches()
        stream = pa.RecordBatchReader.from_stream(dataset.scan())
    assert sum(batch.num_rows for batch in batches) == 40_000
    assert stream.read_all().num_rows == 40_000


# Windows over pages


LIST = p.group("r", p.list_group("l", p.leaf("element", p.INT64, p.OPTIONAL)))
(LIST_PATH,) = p.leaf_paths(LIST)


@pytest.mark.parametrize("versions", list(itertools.product([1, 2], repeat=3)))
@pytest.mark.parametrize("size", [1, 2, 100])
def test_v1_and_v2_pages_mix_in_a_repeated_column(versions: tuple[int, ...], size: int) -> None:
    records = [[1, 2], None, [3], [], [4, None, 6], [7], [8, 9], [10]]
    entries = p.shred(LIST_PATH, [{"l": record} for record in records])
    edges = [0, 4, 8, len(entries)]
    makers = [p.data_page_v1 if version == 1 else p.data_page_v2 for version in versions]
    pages = [make(LIST_PATH, entries[a:b]) for make, a, b in zip(makers, edges, edges[1:], strict=False)]
    assert all(entries[edge][0] == 0 for edge in edges[:-1])
    raw = p.build_file(LIST, [p.RowGroup([p.Chunk(pages)], len(records))])
    found = [value for batch in hw.scan(raw).batch_size(size) for value in batch["l"].to_pylist()]
    assert found == records
    assert hw.scan(raw).skip(3).head(4).to_arrow().column("l").to_pylist() == records[3:7]


@pytest.mark.parametrize("cuts", [[1], [3], [5, 5], [1, 2, 3, 4, 5, 6], [2, 9]])
@pytest.mark.parametrize("size", [1, 2, 3, 100])
def test_records_that_continue_on_later_v1_pages_are_whole_in_any_window(cuts: list[int], size: int) -> None:
    records = [[1, 2, 3, 4, 5, 6, 7], [8], [], None, [9, 10], [11, 12, 13]]
    entries = p.shred(LIST_PATH, [{"l": record} for record in records])
    edges = [0, *cuts, len(entries)]
    pages = [p.data_page_v1(LIST_PATH, entries[a:b]) for a, b in itertools.pairwise(edges)]
    raw = p.build_file(LIST, [p.RowGroup([p.Chunk(pages)], len(records))])
    found = [value for batch in hw.scan(raw).batch_size(size) for value in batch["l"].to_pylist()]
    assert found == records
    for start in range(len(records)):
        assert hw.scan(raw).skip(start).head(2).to_arrow().column("l").to_pylist() == records[start : start + 2]


# Budgets


def drain(raw: bytes, **options: Any) -> tuple[int, int, int]:
    """(rows, batches, bytes of the largest batch)"""
    rows = count = largest = 0
    for batch in hw.scan(raw, **options).threads(1).batches():
        rows, count, largest = rows + batch.num_rows, count + 1, max(largest, batch_bytes(batch))
    return rows, count, largest


def test_table_of_numbers_has_one_chunk_per_row_group_whatever_its_pages() -> None:
    # 300 000 rows of 60 bytes: more than a batch of text may have. Decimals take two ways, PLAIN and dictionary; pages
    # of 1 MB and no row limit reach into the next window where there is one.
    rows = 600_000
    row = np.arange(rows)

    def cents(numbers: Any) -> pa.Array:
        return pa.array(numbers).cast(pa.decimal128(19, 0)).cast(pa.decimal128(18, 0))

    columns = {"id": row, "part": row % 1000, "price": cents(row * 37 % 1_000_003), "tax": cents(row % 9)}
    table = pa.table({**columns, "day": (row % 2500).astype(np.int32), "share": row / 7})
    out = io.BytesIO()
    pq.write_table(table, out, 300_000, store_schema=False, store_decimal_as_integer=True, max_rows_per_page=1 << 40)
    scan = hw.scan(out.getvalue())
    found = scan.to_arrow()
    assert [column.num_chunks for column in found.columns] == [2] * 6
    assert found.equals(table)
    assert scan.filter("part >= 0").to_arrow().equals(table)
    assert sum(batch.num_rows for batch in scan.batches()) == rows
    assert max(map(batch_bytes, scan.batches())) < BUDGET


@pytest.mark.parametrize("physical", [p.BYTE_ARRAY, p.FLBA])
def test_dictionary_with_huge_entries_and_few_indexes_gives_small_batches(physical: int) -> None:
    width = 1 << 20
    root = p.group("r", p.leaf("s", physical, type_length=width if physical == p.FLBA else None))
    (path,) = p.leaf_paths(root)
    rows = 3000
    page = p.data_page_v1(path, [(0, 0, None)] * rows, p.RLE_DICTIONARY, b"\x01" + p.varint(rows << 1) + b"\x01")
    chunk = p.Chunk([p.dictionary_page(physical, [b"a" * width, b"b" * width]), page], p.ZSTD)
    raw = p.build_file(root, [p.RowGroup([chunk], rows)])
    found, batches, largest = drain(raw)
    assert found == rows
    assert largest <= BUDGET
    assert batches <= rows * width // (4 << 20)


def test_delta_byte_array_that_blows_up_gives_small_batches() -> None:
    root = p.group("r", p.leaf("s", p.BYTE_ARRAY))
    (path,) = p.leaf_paths(root)
    rows, width = 2000, 1 << 20
    values = (
        p.delta_binary_packed([0] + [width] * (rows - 1), 32)
        + p.delta_binary_packed([width] + [0] * (rows - 1), 32)
        + b"x" * width
    )
    page = p.data_page_v1(path, [(0, 0, None)] * rows, p.DELTA_BYTE_ARRAY, values)
    found, _, largest = drain(p.build_file(root, [p.RowGroup([p.Chunk([page], p.ZSTD)], rows)]))
    assert found == rows
    assert largest <= BUDGET


@pytest.mark.parametrize("short", [0, 200_000])
def test_long_lists_of_repeated_values_give_small_batches(short: int) -> None:
    """Also where most lists are empty, so that the average says nothing about the long ones."""
    lengths = np.array([100_000] * 200 + [0] * short)
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    out = io.BytesIO()
    pq.write_table(pa.table({"l": pa.ListArray.from_arrays(offsets, np.zeros(offsets[-1], np.int64))}), out)
    found, _, largest = drain(out.getvalue())
    assert found == len(lengths)
    assert largest <= BUDGET


@pytest.mark.parametrize("encoding", [p.PLAIN, p.DELTA_LENGTH_BYTE_ARRAY])
def test_one_large_page_of_text_is_read_in_batches_of_the_usual_size(encoding: int) -> None:
    """Some writers put a whole column chunk into one page."""
    root = p.group("r", p.leaf("s", p.BYTE_ARRAY))
    (path,) = p.leaf_paths(root)
    rows, width = 12_000, 3000
    entries = [(0, 0, b"%0*d" % (width, number)) for number in range(rows)]
    raw = p.build_file(root, [p.RowGroup([p.Chunk([p.data_page_v1(path, entries, encoding)])], rows)])
    seen = largest = 0
    for count, batch in enumerate(hw.scan(raw).threads(1).batches()):
        assert count < 50, f"{seen} rows in {count} batches"
        assert bytes(batch["s"].data[:width]) == entries[seen][2]
        seen, largest = seen + batch.num_rows, max(largest, batch_bytes(batch))
    assert seen == rows
    assert largest <= BUDGET


# Bombs: a few hundred bytes that announce billions. Each runs in a process of its own, with little memory and time.


def page_of(count: int, encoding: int, body: bytes) -> p.Page:
    header = p.record({1: p.i32(count), 2: p.i32(encoding), 3: p.i32(p.RLE), 4: p.i32(p.RLE)})
    return p.Page(p.DATA_PAGE, header, body, count)


def prefixed(body: bytes) -> bytes:
    return struct.pack("<I", len(body)) + body


def zero_deltas(count: int) -> bytes:
    """DELTA_BINARY_PACKED zeros in blocks of 2**30."""
    blocks = -(-count // (1 << 30))
    return p.varint(1 << 30) + p.varint(1) + p.varint(count) + p.varint(0) + b"\0\0" * blocks


def list_page(count: int) -> p.Page:
    """One record of `count` null elements."""
    repetitions = p.varint(1 << 1) + b"\0" + p.varint((count - 1) << 1) + b"\1"
    return page_of(count, p.PLAIN, prefixed(repetitions) + prefixed(p.varint(count << 1) + b"\2"))


MOST = (1 << 31) - 1
TEXT = p.group("r", p.leaf("s", p.BYTE_ARRAY))
OPTIONAL_LONG = p.group("r", p.leaf("s", p.INT64, p.OPTIONAL))
BOMBS: dict[str, tuple[p.Node, list[p.Page], int]] = {
    "one record of all the levels a page can announce": (LIST, [list_page(MOST)], 1),
    "as many records in one page": (
        LIST,
        [page_of(MOST, p.PLAIN, prefixed(p.varint(MOST << 1) + b"\0") + prefixed(p.varint(MOST << 1) + b"\0"))],
        MOST,
    ),
    "many pages of a million levels each": (LIST, [list_page(1 << 20)] * 4000, 4000),
    "lengths first": (TEXT, [page_of(MOST, p.DELTA_LENGTH_BYTE_ARRAY, zero_deltas(MOST))], MOST),
    "shared prefixes": (TEXT, [page_of(MOST, p.DELTA_BYTE_ARRAY, zero_deltas(MOST) * 2 + bytes(300_000))], MOST),
    "text of nothing but nulls": (
        p.group("r", p.leaf("s", p.BYTE_ARRAY, p.OPTIONAL)),
        [page_of(MOST, p.PLAIN, prefixed(p.varint(MOST << 1) + b"\0"))],
        MOST,
    ),
    "legacy levels beside a run of billions": (
        OPTIONAL_LONG,
        [
            p.data_page_v1(p.leaf_paths(OPTIONAL_LONG)[0], [(0, 0, None)], levels="BIT_PACKED"),
            page_of(MOST - 1, p.PLAIN, prefixed(p.varint((MOST - 1) << 1) + b"\0")),
        ],
        MOST,
    ),
    "nulls of two gigabytes each": (
        p.group("r", p.leaf("s", p.FLBA, p.OPTIONAL, type_length=MOST)),
        [page_of(2000, p.PLAIN, prefixed(p.varint(2000 << 1) + b"\0"))],
        2000,
    ),
    "booleans": (
        p.group("r", p.leaf("s", p.BOOLEAN)),
        [page_of(MOST, p.RLE, prefixed(p.varint(MOST << 1) + b"\1"))],
        MOST,
    ),
    "numbers in one block": (
        p.group("r", p.leaf("s", p.INT64)),
        [page_of(MOST, p.DELTA_BINARY_PACKED, zero_deltas(MOST))],
        MOST,
    ),
}


# The whole result of the others is as large as it was asked for.
WHOLE = ["one record of all the levels a page can announce", "nulls of two gigabytes each"]


@pytest.mark.parametrize(
    ("name", "terminal"), [*((name, "batches") for name in BOMBS), *((name, "to_arrow") for name in WHOLE)]
)
def test_bomb_ends_in_an_error_or_in_small_batches_quickly(name: str, terminal: str, tmp_path: Path) -> None:
    root, pages, rows = BOMBS[name]
    path = tmp_path / "bomb.parquet"
    path.write_bytes(p.build_file(root, [p.RowGroup([p.Chunk(pages, p.ZSTD)], rows)]))
    # The first batches tell: later ones cost the same. Warm first, since compiling takes memory and time, too.
    code = f"""
import resource, signal, sys, time
import pyarrow
import hardwood_jit as hw
from hardwood_jit.errors import HardwoodError
hw.warm(hw.scan({str(path)!r}))
hw.kernel_cache.info()
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
signal.alarm(20)
start = time.monotonic()
scan = hw.scan({str(path)!r}).threads(1)
try:
    if {terminal!r} == "to_arrow":
        scan.to_arrow()
    else:
        for number, batch in enumerate(scan.batches()):
            if number == 4:
                break
except HardwoodError as error:
    print(error)
seconds = time.monotonic() - start
grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) >> 10
assert seconds < 10, f"{{seconds:.1f}} s"
assert grown < 700, f"{{grown}} MiB"
"""

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (8 << 30, 8 << 30))

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, preexec_fn=limit, timeout=120)
    assert done.returncode == 0, done.stderr[-2000:]


# Files above 4 GB


def after_a_hole(path: Path, raw: bytes, hole: int) -> None:
    """Write the Parquet file `raw` with a hole of that many bytes before its chunks: every offset moves."""
    (length,) = struct.unpack("<I", raw[-8:-4])
    footer, _ = p.read_struct(raw, len(raw) - 8 - length)

    def move(fields: dict[int, p.Thrift], *numbers: int) -> None:
        for number in numbers:
            if number in fields and fields[number].value > 0:
                fields[number] = p.i64(fields[number].value + hole)

    for group in footer.value[4].value[1]:
        move(group.value, 5)
        for column in group.value[1].value[1]:
            move(column.value, 2, 4, 6)
            move(column.value[3].value, 9, 10, 11, 14)
    body = footer.encode()
    with path.open("wb") as file:
        file.write(b"PAR1")
        file.seek(hole + 4)
        file.write(raw[4 : len(raw) - 8 - length] + body + struct.pack("<I", len(body)) + b"PAR1")


def move_offset_indexes(raw: bytes, hole: int) -> bytes:
    """The same file with the page offsets inside its offset indexes moved; their size must not change."""
    (length,) = struct.unpack("<I", raw[-8:-4])
    footer, _ = p.read_struct(raw, len(raw) - 8 - length)
    out, tail = bytearray(raw[: len(raw) - 8 - length]), b""
    for group in footer.value[4].value[1]:
        for column in group.value[1].value[1]:
            index, _ = p.read_struct(raw, column.value[4].value)
            for place in index.value[1].value[1]:
                place.value[1] = p.i64(place.value[1].value + hole)
            body = index.encode()
            column.value[4], column.value[5] = p.i64(len(out) + len(tail)), p.i32(len(body))
            tail += body
    body = footer.encode()
    return bytes(out) + tail + body + struct.pack("<I", len(body)) + b"PAR1"


@pytest.mark.parametrize("mmap", [False, True])
def test_file_above_4_gb_is_read(tmp_path: Path, mmap: bool) -> None:
    hole = 5 << 30
    path = tmp_path / "large.parquet"
    raw = numbers(3000, 1000, write_page_index=True, data_page_size=500, write_batch_size=50)
    after_a_hole(path, move_offset_indexes(raw, hole), hole)
    assert path.stat().st_size > hole
    assert path.stat().st_blocks * 512 < 50 << 20  # the hole takes no room on disk
    dataset = hw.open(path, mmap=mmap)
    expected = pq.read_table(io.BytesIO(raw))
    assert dataset.scan().to_arrow().equals(expected)
    before = dataset.counts.bytes
    assert dataset.scan().skip(1500).head(10).to_arrow().equals(expected.slice(1500, 10))
    assert dataset.counts.bytes - before < len(raw) // 4
    assert dataset.scan().tail(5).to_arrow().equals(expected.slice(2995))
    assert dataset.scan().byte_range(hole, hole * 2).count() == 3000
    assert dataset.scan().byte_range(0, hole).count() == 0
    assert os.path.getsize(path) == dataset.files[0].source.size  # noqa: PTH202


def test_tiny_row_groups_take_no_threads_unless_they_are_asked_for() -> None:
    batches = hw.scan(FORTY_GROUPS).batches()
    next(batches)
    assert not workers()
    assert sum(batch.num_rows for batch in batches) + 1_000 == 40_000


def test_one_row_group_takes_no_threads() -> None:
    middle = hw.open(FORTY_GROUPS).files[0].metadata.row_groups[3].midpoint
    batches = hw.scan(FORTY_GROUPS).byte_range(middle, middle + 1).threads(3).batches()
    assert next(batches)["a"].values[0] == 3_000
    assert not workers()
