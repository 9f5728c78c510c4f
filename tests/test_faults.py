"""What goes wrong around a scan: files that change, reads that fail, interrupts, forks, full disks, damaged caches.

Each ends in the right error, which names the file, or in the right result; without a thread or a descriptor left
behind, and the next scan works.
"""

from __future__ import annotations

import contextlib
import errno
import gc
import io
import itertools
import json
import multiprocessing
import os
import random
import signal
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
from hardwood_jit import col, whole_group
from hardwood_jit.errors import CorruptFileError
from hardwood_jit.source import LocalFile
from tests.support import pages as p
from tests.support.columns import column_records

GROUPS, GROUP_ROWS = 20, 1000
ROWS = GROUPS * GROUP_ROWS
REPOSITORY = Path(__file__).resolve().parents[1]


def table(first: int = 0, rows: int = ROWS) -> pa.Table:
    """`key` rises; `mixed` has every value everywhere, so that no statistics rule a row group out."""
    numbers = np.arange(first, first + rows)
    mixed = (numbers * 7919) % 1009
    return pa.table({"key": numbers, "mixed": mixed, "text": [f"text {number % 50}" for number in mixed]})


def parquet(content: pa.Table, **options: Any) -> bytes:
    out = io.BytesIO()
    chosen: dict[str, Any] = {"compression": "none", "use_dictionary": ["text"], "write_page_index": True, **options}
    pq.write_table(content, out, row_group_size=GROUP_ROWS, data_page_size=2000, write_batch_size=100, **chosen)
    return out.getvalue()


HONEST = parquet(table())
# As long as HONEST to the byte and with the same pages in the same places.
OTHER = parquet(table(1))


def workers() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "hardwood_jit"]


def descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


@pytest.fixture(autouse=True)
def nothing_is_left_behind() -> Iterator[None]:
    before = descriptors()
    yield
    if workers() or descriptors() > before:
        gc.collect()
    deadline = time.monotonic() + 20
    while workers() and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not workers()
    assert descriptors() <= before


@pytest.fixture
def path(tmp_path: Path) -> Path:
    place = tmp_path / "honest.parquet"
    place.write_bytes(HONEST)
    return old(place)


def old(place: Path, seconds: float = 60.0) -> Path:
    """A file that was not written just now: its footer is kept."""
    moment = time.time() - seconds
    os.utime(place, (moment, moment))
    return place


NARROW: dict[str, Callable[[hw.Scan], hw.Scan]] = {
    "everything": lambda scan: scan,
    "filter": lambda scan: scan.filter(col("mixed") > 500),
    "pruning filter": lambda scan: scan.filter(col("key") >= ROWS - 1500),
    "filter and head": lambda scan: scan.filter(col("mixed") > 500).head(9000),
    "filter and tail": lambda scan: scan.filter(col("mixed") > 500).tail(9000),
    "head": lambda scan: scan.head(ROWS - 10),
}


def rows_of(narrow: str, content: pa.Table | None = None) -> list[int]:
    """The keys that come out, worked out without a scan."""
    keys, mixed = (np.asarray((content or table())[name]) for name in ("key", "mixed"))
    return {
        "everything": keys,
        "filter": keys[mixed > 500],
        "pruning filter": keys[keys >= ROWS - 1500],
        "filter and head": keys[mixed > 500][:9000],
        "filter and tail": keys[mixed > 500][-9000:],
        "head": keys[: ROWS - 10],
    }[narrow].tolist()


def keys_of(scan: hw.Scan) -> list[int]:
    found: list[int] = scan.select("key").to_arrow()["key"].to_pylist()
    return found


# Files that change between footer and pages


@pytest.mark.parametrize("kept", [False, True], ids=["footer read", "footer kept"])
@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("narrow", NARROW)
def test_file_truncated_after_its_footer_was_read(path: Path, narrow: str, threads: int, kept: bool) -> None:
    if kept:
        assert keys_of(NARROW[narrow](hw.scan(path))) == rows_of(narrow)
        assert hw.footer_cache.info().entries == 1
    dataset = hw.open(path)
    assert dataset.num_rows == ROWS
    os.truncate(path, len(HONEST) // 2)
    with pytest.raises(CorruptFileError, match=f"{path}: file ends at {len(HONEST) // 2}"):
        NARROW[narrow](dataset.scan().threads(threads)).to_arrow()
    assert hw.footer_cache.info().entries == 0
    with pytest.raises(CorruptFileError, match=str(path)):
        hw.open(path).schema  # noqa: B018
    path.write_bytes(HONEST)
    assert keys_of(NARROW[narrow](hw.scan(path).threads(threads))) == rows_of(narrow)


@pytest.mark.parametrize("how", ["renamed over", "written over", "same time of change"])
@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("narrow", NARROW)
def test_file_replaced_after_its_footer_was_read(path: Path, narrow: str, threads: int, how: str) -> None:
    """The new file has every page where the old one had it: nothing but its time or size tells."""
    assert len(OTHER) == len(HONEST)
    dataset = hw.open(path)
    assert dataset.num_rows == ROWS
    scan = NARROW[narrow](dataset.scan().threads(threads))
    if how == "renamed over":
        new = path.with_suffix(".new")
        new.write_bytes(OTHER)
        new.rename(path)
    elif how == "written over":
        path.write_bytes(OTHER)
    else:  # longer, but not later
        facts = path.stat()
        path.write_bytes(parquet(table(rows=ROWS + 5)))
        os.utime(path, ns=(facts.st_atime_ns, facts.st_mtime_ns))
    with pytest.raises(OSError, match=f"{path}: the file has changed since it was opened") as caught:
        keys_of(scan)
    assert not isinstance(caught.value, hw.HardwoodError)
    if how != "same time of change":
        assert keys_of(NARROW[narrow](hw.scan(path))) == rows_of(narrow, table(1))


def test_file_replaced_between_two_row_groups(path: Path) -> None:
    batches = hw.scan(path).threads(1).batches()
    assert next(batches)["key"].values[0] == 0
    new = path.with_suffix(".new")
    new.write_bytes(OTHER)
    new.rename(path)
    with pytest.raises(OSError, match="has changed"):
        list(batches)


def test_file_removed_after_its_footer_was_read(path: Path) -> None:
    dataset = hw.open(path)
    assert dataset.num_rows == ROWS
    path.unlink()
    with pytest.raises(FileNotFoundError, match=str(path)):
        dataset.scan().threads(3).to_arrow()
    path.write_bytes(HONEST)
    assert keys_of(hw.scan(path)) == rows_of("everything")


def test_mapped_file_that_was_truncated_or_replaced_before_it_is_mapped(path: Path) -> None:
    dataset = hw.open(path, mmap=True)
    assert dataset.num_rows == ROWS
    os.truncate(path, 1000)
    with pytest.raises(CorruptFileError, match=f"{path}: file ends at 1000"):
        dataset.scan().to_arrow()
    path.write_bytes(OTHER)
    with pytest.raises(OSError, match=f"{path}: the file has changed"):
        dataset.scan().to_arrow()
    assert keys_of(hw.scan(path, mmap=True)) == rows_of("everything", table(1))


def test_file_that_is_written_again_has_its_new_footer(path: Path) -> None:
    """Kept footers belong to what a file was: a file of the same name and size is another one."""
    for first in (0, 1, 0):
        path.write_bytes(parquet(table(first)))
        old(path, seconds=60 + first)
        for _ in range(2):
            assert keys_of(hw.scan(path).filter(col("key") <= 1)) == [*range(first, 2)]
    assert hw.footer_cache.info().hits > 0


# Reads that fail


class Failing(io.BytesIO):
    """A file object of which a read fails from some byte on."""

    def __init__(self, raw: bytes, first: int) -> None:
        super().__init__(raw)
        self.first = first
        self.error: BaseException | None = None

    def readinto(self, buffer: Any) -> int:
        if self.error is not None and self.tell() + len(buffer) > self.first:
            raise self.error
        return super().readinto(buffer)


@pytest.mark.parametrize("error", [OSError(errno.EIO, "the disk is gone"), TimeoutError("slow"), RuntimeError("mine")])
@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("narrow", NARROW)
def test_read_of_a_file_object_that_fails_in_the_middle(narrow: str, threads: int, error: Exception) -> None:
    file = Failing(HONEST, len(HONEST) // 3)
    dataset = hw.open(file)
    assert dataset.num_rows == ROWS
    file.error = error
    with pytest.raises(type(error)) as caught:
        NARROW[narrow](dataset.scan().threads(threads)).to_arrow()
    assert caught.value is error
    file.error = None
    assert keys_of(NARROW[narrow](dataset.scan().threads(threads))) == rows_of(narrow)


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("narrow", NARROW)
def test_read_of_a_local_file_that_fails_in_the_middle(
    path: Path, narrow: str, threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    dataset = hw.open(path)
    assert dataset.num_rows == ROWS
    real = os.preadv

    def failing(descriptor: int, buffers: Any, offset: int) -> int:
        if offset > len(HONEST) // 3:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        return real(descriptor, buffers, offset)

    monkeypatch.setattr(os, "preadv", failing)
    with pytest.raises(OSError, match="Input/output error") as caught:
        NARROW[narrow](dataset.scan().threads(threads)).to_arrow()
    assert caught.value.errno == errno.EIO
    assert str(path) in str(caught.value)
    monkeypatch.undo()
    assert keys_of(NARROW[narrow](dataset.scan().threads(threads))) == rows_of(narrow)


def test_batches_before_a_failing_read_come_out(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    dataset = hw.open(path)
    place = dataset.files[0].metadata.row_groups[7].columns[0].byte_range[0]
    real = os.preadv

    def failing(descriptor: int, buffers: Any, offset: int) -> int:
        if offset + len(buffers[0]) > place:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        return real(descriptor, buffers, offset)

    monkeypatch.setattr(os, "preadv", failing)
    for threads in (1, 3):
        found = []
        with pytest.raises(OSError):
            for batch in dataset.scan().select("key").threads(threads).batches():
                found.append(batch["key"].values)
        assert np.concatenate(found).tolist() == [*range(7 * GROUP_ROWS)]
        assert not workers()
    assert keys_of(dataset.scan().head(7 * GROUP_ROWS)) == [*range(7 * GROUP_ROWS)]


def test_reads_that_give_one_byte_at_a_time_are_put_together(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.preadv
    small = itertools.cycle([1, 7, 4096, 100_000])

    def short(descriptor: int, buffers: Any, offset: int) -> int:
        return real(descriptor, [buffers[0][: next(small)]], offset)

    monkeypatch.setattr(os, "preadv", short)
    assert keys_of(hw.scan(path).threads(2).filter(col("mixed") > 500)) == rows_of("filter")


def test_memory_that_runs_out_reaches_the_caller(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    dataset = hw.open(path)
    assert dataset.num_rows == ROWS
    calls = itertools.count()

    def fill(self: LocalFile, offset: int, out: Any) -> None:
        if next(calls) == 5:
            raise MemoryError
        fill_open(self, offset, out)

    fill_open = LocalFile._fill_open
    monkeypatch.setattr(LocalFile, "_fill_open", fill)
    with pytest.raises(MemoryError):
        dataset.scan().threads(2).to_arrow()
    monkeypatch.undo()
    assert keys_of(dataset.scan().threads(2)) == rows_of("everything")


# Interrupts, and consumers that go away


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("narrow", NARROW)
def test_interrupt_inside_a_read(path: Path, narrow: str, threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    dataset = hw.open(path)
    assert dataset.num_rows == ROWS
    calls = itertools.count()
    fill = LocalFile._fill_open

    def interrupted(self: LocalFile, offset: int, out: Any) -> None:
        if next(calls) == 2:
            raise KeyboardInterrupt
        fill(self, offset, out)

    monkeypatch.setattr(LocalFile, "_fill_open", interrupted)
    with pytest.raises(KeyboardInterrupt):
        NARROW[narrow](dataset.scan().threads(threads)).to_arrow()
    assert not workers()
    monkeypatch.undo()
    assert keys_of(NARROW[narrow](dataset.scan().threads(threads))) == rows_of(narrow)


def scripted(code: str, *arguments: str, **changes: str) -> subprocess.Popen[str]:
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY), **changes}
    return subprocess.Popen(
        [sys.executable, "-c", code, *arguments],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        stdin=subprocess.PIPE,
        text=True,
    )


CONTROL_C = """
import sys, threading, time
import hardwood_jit as hw
from hardwood_jit import col, whole_group
dataset = hw.open(sys.argv[1])
threads, filtered = int(sys.argv[2]), sys.argv[3] == "filter"
scan = dataset.scan().threads(threads)
scan = scan.filter(col("mixed") > 500) if filtered else scan
before = scan.count()
print("ready", flush=True)
turns = 0
try:
    while turns < 100_000:
        sum(batch.num_rows for batch in scan.batches())
        turns += 1
except KeyboardInterrupt:
    deadline = time.monotonic() + 10
    while threading.active_count() > 1 and time.monotonic() < deadline:
        time.sleep(0.01)
    left = [thread.name for thread in threading.enumerate() if thread is not threading.main_thread()]
    same = sum(batch.num_rows for batch in scan.batches())
    print("interrupted", same == before, left, flush=True)
"""


@pytest.mark.parametrize("filtered", ["everything", "filter"])
def test_control_c_ends_a_scan_of_another_process(path: Path, filtered: str) -> None:
    child = scripted(CONTROL_C, str(path), "2", filtered)
    assert child.stdout is not None and child.stderr is not None
    try:
        assert child.stdout.readline() == "ready\n", child.stderr.read()
        out = ""
        for _ in range(10):  # Python drops an interrupt that comes inside a finalizer: press it again
            time.sleep(0.3)
            child.send_signal(signal.SIGINT)
            with contextlib.suppress(subprocess.TimeoutExpired):
                out, error = child.communicate(timeout=5)
                break
    finally:
        child.kill()
        child.communicate()
    assert (child.returncode, out) == (0, "interrupted True []\n"), error


@pytest.mark.parametrize("how", ["dropped", "closed", "in a cycle"])
@pytest.mark.parametrize("form", ["batches", "rows", "stream"])
@pytest.mark.parametrize("narrow", NARROW)
def test_consumer_that_goes_away_half_way(path: Path, narrow: str, form: str, how: str) -> None:
    dataset = hw.open(path)
    scan = NARROW[narrow](dataset.scan().threads(3))
    found: Any = {
        "batches": scan.batches,
        "rows": scan.rows,
        "stream": lambda: pa.RecordBatchReader.from_stream(scan),
    }[form]()
    next(iter(found)) if form != "stream" else found.read_next_batch()
    if how == "closed":
        found.close()
    elif how == "in a cycle":
        cycle: list[Any] = [found]
        cycle.append(cycle)
        del cycle
    del found
    assert keys_of(NARROW[narrow](dataset.scan().threads(3))) == rows_of(narrow)


LARGE = 60_000  # rows, whose scratch memory is large enough to be recycled


def large_table() -> pa.Table:
    content = table(rows=LARGE)
    return content.append_column("real", pa.array(np.arange(LARGE) / 8, mask=np.arange(LARGE) % 7 == 0))


def parts_of(batch: hw.Batch) -> list[Any]:
    """Everything that a batch holds, by itself."""
    return [column_records(column) for column in batch.columns]


@pytest.mark.parametrize("whole", [True, False], ids=["row groups as a whole", "window by window"])
@pytest.mark.parametrize("narrow", ["filter", "everything"])
def test_batches_of_a_dropped_scan_keep_their_memory(narrow: str, whole: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Scratch memory of a scan that ends goes to the next one: no batch may lie in it."""
    monkeypatch.setattr(whole_group, "IS_USED", whole)
    out = io.BytesIO()
    pq.write_table(large_table(), out, row_group_size=LARGE // 2)
    dataset = hw.open(out.getvalue())
    for threads in (1, 2):
        scan = NARROW[narrow](dataset.scan().threads(threads).batch_size(5_000))
        wanted = [parts_of(batch) for batch in scan.batches()]
        batches = scan.batches()
        kept = [next(batches), next(batches), next(batches)]
        del batches
        others = [scan.to_arrow() for _ in range(3)]
        assert [parts_of(batch) for batch in kept] == wanted[:3]
        assert others[0].equals(others[2])


@pytest.mark.parametrize("whole", [True, False], ids=["row groups as a whole", "window by window"])
def test_scans_that_take_turns_on_one_thread(whole: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(whole_group, "IS_USED", whole)
    out = io.BytesIO()
    pq.write_table(large_table(), out, row_group_size=LARGE // 3)
    dataset = hw.open(out.getvalue())
    scans = [dataset.scan().filter(col("mixed") > bound).threads(1).batch_size(2_000) for bound in (300, 500, 700)]
    wanted = [[parts_of(batch) for batch in scan.batches()] for scan in scans]
    found: list[list[Any]] = [[], [], []]
    for turn in itertools.zip_longest(*(scan.batches() for scan in scans)):
        for into, batch in zip(found, turn, strict=True):
            into += [] if batch is None else [parts_of(batch)]
    assert found == wanted


# Many threads and forks


def test_many_threads_scan_one_dataset(path: Path) -> None:
    """The first use of footer, indexes and kernels, too, is everybody's at once."""
    dataset = hw.open(path)
    wrong: list[Any] = []
    gate = threading.Barrier(12)

    def use(number: int) -> None:
        try:
            gate.wait()
            for turn in range(3):
                narrow = list(NARROW)[(number + turn) % len(NARROW)]
                scan = NARROW[narrow](dataset.scan().threads(1 + number % 3))
                if keys_of(scan) != rows_of(narrow) or scan.count() != len(rows_of(narrow)):
                    wrong.append(narrow)
        except BaseException as error:
            wrong.append(error)

    users = [threading.Thread(target=use, args=(number,)) for number in range(12)]
    for user in users:
        user.start()
    for user in users:
        user.join()
    assert wrong == []


def test_many_threads_share_one_scan_over_a_file_object() -> None:
    scan = hw.scan(io.BytesIO(HONEST)).filter(col("mixed") > 500).threads(2)
    found: list[list[int]] = []
    users = [threading.Thread(target=lambda: found.append(keys_of(scan))) for _ in range(6)]
    for user in users:
        user.start()
    for user in users:
        user.join()
    assert found == [rows_of("filter")] * 6


FORKS = """
import multiprocessing, os, signal, sys, threading, warnings
warnings.simplefilter("ignore")  # Python says itself that forks and threads do not go well together
import hardwood_jit as hw
from hardwood_jit import col, whole_group
path = sys.argv[1]
dataset = hw.open(path)
scan = dataset.scan().threads(2).filter(col("mixed") > 500)
wanted = scan.to_arrow()


def child_is_right():
    again = hw.scan(path).threads(2).filter(col("mixed") > 500).to_arrow()
    return again.equals(wanted)


def forked(use):
    child = os.fork()
    if child == 0:
        status = 3
        try:
            signal.alarm(60)
            status = 0 if use() else 4
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


results = [forked(lambda: scan.to_arrow().equals(wanted)), forked(child_is_right)]
process = multiprocessing.get_context("fork").Process(target=lambda: os._exit(0 if child_is_right() else 5))
process.start()
process.join()
results.append(process.exitcode)

# While other threads scan and take the locks that all scans share.
stop = threading.Event()


def keep_scanning():
    while not stop.is_set():
        hw.scan(path).threads(2).filter(col("mixed") > 500).to_arrow()


others = [threading.Thread(target=keep_scanning) for _ in range(2)]
for other in others:
    other.start()
results += [forked(child_is_right) for _ in range(12)]
stop.set()
for other in others:
    other.join()
results.append(0 if scan.to_arrow().equals(wanted) else 6)
print(results)
"""


def test_forks_after_use_and_during_use(path: Path) -> None:
    child = scripted(FORKS, str(path))
    try:
        out, error = child.communicate(timeout=120)
    finally:
        child.kill()
    assert (child.returncode, json.loads(out), error) == (0, [0] * 16, "")


def in_pool(path: str) -> int:
    return hw.scan(path).threads(2).filter(col("mixed") > 500).count()


def test_pool_of_forked_processes_after_threads_have_scanned(path: Path) -> None:
    scan = hw.scan(path).threads(3).filter(col("mixed") > 500)
    count = scan.count()
    context = multiprocessing.get_context("fork")
    with context.Pool(2) as pool:
        assert pool.map(in_pool, [str(path)] * 6) == [count] * 6
        pool.close()
        pool.join()
    assert scan.count() == count


def test_locks_that_a_fork_caught_are_free_in_the_child() -> None:
    """Deterministic where the test above is not: a thread holds the shared locks at the moment of the fork."""
    from hardwood_jit.jit.fused_kernels import FUSED
    from hardwood_jit.memory import RECYCLER, allocate

    held, release = threading.Event(), threading.Event()

    def hold() -> None:
        with RECYCLER._lock, FUSED._lock, hw.footer_cache._lock:
            held.set()
            release.wait()

    holder = threading.Thread(target=hold)
    holder.start()
    held.wait()
    child = os.fork()
    if child == 0:
        signal.alarm(20)
        allocate(1 << 20)
        hw.footer_cache.clear()
        status = 0 if FUSED._lock.acquire(timeout=5) else 3
        os._exit(status)
    release.set()
    holder.join()
    assert os.waitpid(child, 0)[1] == 0


def test_file_closed_by_the_collector_inside_its_own_lock(path: Path) -> None:
    """A scan in a cycle is ended by whichever allocation comes next, also one that holds the file's lock."""
    dataset = hw.open(path)
    source = dataset.files[0].source
    batches = dataset.scan().threads(1).batches()
    next(batches)
    cycle: list[Any] = [batches]
    cycle.append(cycle)
    del batches, cycle
    done = threading.Event()

    def collect_inside() -> None:
        with source._lock:
            gc.collect()
        done.set()

    thread = threading.Thread(target=collect_inside, daemon=True)
    thread.start()
    assert done.wait(20)
    assert keys_of(dataset.scan()) == rows_of("everything")


# The kernel cache


# One column of one type, PLAIN: few kernels.
SCAN_ONCE = """
import json, os, resource, sys, warnings
if sys.argv[2].startswith("limit"):
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2].split()[1]),) * 2)
if sys.argv[2] == "read-only":  # the superuser may write everywhere
    os.access = lambda *_: False
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    import hardwood_jit as hw
    from hardwood_jit.kernels.compiled import FOLDER
    scan = hw.scan(sys.argv[1]).threads(2)
    found = [sum(int(batch["key"].values.sum()) for batch in scan.batches()) for _ in range(2)]
said = [str(one.message) for one in caught if one.category is RuntimeWarning]
print(json.dumps(dict(found=found, loaded=FOLDER.loaded, compiled=FOLDER.compiled, path=FOLDER.path, said=said)))
"""


def scan_once(folder: Path, how: str = "") -> dict[str, Any]:
    """What a process of its own finds with this cache folder; its result is always right."""
    place = folder.with_name("keys.parquet")
    place.write_bytes(parquet(table().select(["key"]), write_page_index=False, use_dictionary=False))
    child = scripted(SCAN_ONCE, str(place), how, HARDWOOD_JIT_CACHE_DIR=str(folder))
    try:
        out, error = child.communicate(timeout=120)
    finally:
        child.kill()
    assert child.returncode == 0, error
    found: dict[str, Any] = json.loads(out)
    assert found["found"] == [sum(range(ROWS))] * 2
    return found


def kernel_files(folder: Path) -> list[Path]:
    return sorted(folder.glob("*/*.nbc"))


def test_kernel_cache_on_a_full_disk_and_then_damaged(tmp_path: Path) -> None:
    """In one test, since every step that has to compile takes seconds.

    The smallest faults, byte by byte, are in tests/jit/test_kernel_cache.py; here whole scans meet them.
    """
    folder = tmp_path / "cache"
    found = scan_once(folder, "limit 20000")  # bytes a file may have: the larger kernels cannot be written
    assert found["path"] is None
    assert found["compiled"] > 0
    left = [file for file in folder.glob("*/*") if file.is_file()]
    assert {file.suffix for file in left} <= {".nbc"}, "drafts stay"

    found = scan_once(folder)
    assert 0 < found["loaded"] <= len(left)  # a block inside of one that was kept is not asked for
    assert found["path"] is not None
    files = kernel_files(folder)
    assert found["compiled"] < len(files) <= len(left) + found["compiled"]
    found = scan_once(folder)
    assert found["loaded"] > 0 and found["compiled"] == 0

    whole = {file: file.read_bytes() for file in files}
    rng = random.Random(5)
    for number, (file, raw) in enumerate(whole.items()):
        place = [3, 40, rng.randrange(len(raw) // 3, len(raw)), len(raw) - 1][number % 4]  # digest, pickle, code, end
        file.write_bytes(
            [
                raw[:place] + bytes([raw[place] ^ 0x10]) + raw[place + 1 :],
                raw[: place + 1],
                bytes(len(raw)),
            ][number % 3]
        )
    found = scan_once(folder)
    assert found["said"] == []
    assert found["compiled"] > 0
    assert scan_once(folder)["compiled"] == 0


def test_read_only_cache_folder_is_said_once_and_scans_work(tmp_path: Path) -> None:
    found = scan_once(tmp_path / "cache", "read-only")
    assert found["path"] is None
    assert len(found["said"]) == 1 and "HARDWOOD_JIT_CACHE_DIR" in found["said"][0]
    assert kernel_files(tmp_path / "cache") == []


# Proofs whose evidence cannot be read


WORD_ROWS = 60_000


def proof_table() -> pa.Table:
    rng = random.Random(3)
    keys = list(range(0, 2 * WORD_ROWS, 2))
    rng.shuffle(keys)
    words = [f"word {2 * rng.randrange(100):03}" for _ in keys]
    return pa.table({"row": range(WORD_ROWS), "key": keys, "word": words})


def proof_file() -> bytes:
    """`row` rises (page index), `key` is shuffled (bloom filter), `word` has a dictionary; odd ones are missing."""
    out = io.BytesIO()
    pq.write_table(
        proof_table(),
        out,
        row_group_size=WORD_ROWS,
        data_page_size=8000,
        write_batch_size=500,
        compression="snappy",
        use_dictionary=["word"],
        write_page_index=True,
        bloom_filter_options={"key": {"ndv": WORD_ROWS, "fpp": 0.01}},
    )
    return out.getvalue()


PROOFS = proof_file()
QUESTIONS = {
    "page index": (col("row") > 59_000) & (col("row") < 59_100),
    "two columns": (col("row") == 7) | (col("key") == 8),
    "bloom filter": col("key") == 20_001,
    "bloom filter, some": col("key").is_in([1, 3, 5, 20_002]),
    "dictionary": col("word") == "word 101",
    "dictionary, some": col("word").is_in(["word 101", "word 102"]),
}


def answer(scan: hw.Scan, question: str) -> list[int]:
    found: list[int] = scan.filter(QUESTIONS[question]).select("row").to_arrow()["row"].to_pylist()
    return found


@pytest.fixture(scope="module")
def answers() -> dict[str, list[int]]:
    content = proof_table().to_pydict()
    tests: dict[str, Callable[[int, int, str], bool]] = {
        "page index": lambda row, key, word: 59_000 < row < 59_100,
        "two columns": lambda row, key, word: row == 7 or key == 8,
        "bloom filter": lambda row, key, word: key == 20_001,
        "bloom filter, some": lambda row, key, word: key in (1, 3, 5, 20_002),
        "dictionary": lambda row, key, word: word == "word 101",
        "dictionary, some": lambda row, key, word: word in ("word 101", "word 102"),
    }
    rows = list(zip(content["row"], content["key"], content["word"], strict=True))
    return {name: [row[0] for row in rows if test(*row)] for name, test in tests.items()}


def edited(change: Callable[[dict[int, p.Thrift]], None], column: int) -> bytes:
    """PROOFS with other numbers in the footer's entry for a column chunk."""
    (length,) = struct.unpack_from("<I", PROOFS, len(PROOFS) - 8)
    start = len(PROOFS) - 8 - length
    footer, _ = p.read_struct(PROOFS, start)
    change(footer.value[4].value[1][0].value[1].value[1][column].value)
    body = footer.encode()
    return PROOFS[:start] + body + struct.pack("<I", len(body)) + b"PAR1"


def places() -> dict[str, tuple[int, int]]:
    columns = hw.open(PROOFS).files[0].metadata.row_groups[0].columns
    bloom, word = columns[1].bloom_range, columns[2]
    row_index, row_offsets = columns[0].column_index_range, columns[0].offset_index_range
    assert bloom is not None and bloom[1] is not None and row_index is not None and row_offsets is not None
    dictionary = word.byte_range[0]
    return {
        "bloom filter": (bloom[0], bloom[1]),
        "column index": row_index,
        "offset index": row_offsets,
        "dictionary": (dictionary, word.data_page_offset - dictionary),
    }


@pytest.mark.parametrize("question", QUESTIONS)
def test_honest_evidence_saves_reads(answers: dict[str, list[int]], question: str) -> None:
    dataset = hw.open(PROOFS)
    assert answer(dataset.scan(), question) == answers[question]
    least = dataset.counts.bytes
    dataset = hw.open(PROOFS)
    assert answer(dataset.scan().use_metadata(False), question) == answers[question]
    if "some" not in question and question != "two columns":
        assert least < dataset.counts.bytes


@pytest.mark.parametrize("filling", [b"\x00", b"\xff", b"\x15", b"\x8c\x19"])
@pytest.mark.parametrize("what", ["bloom filter", "column index", "offset index"])
def test_malformed_evidence_is_ignored(answers: dict[str, list[int]], what: str, filling: bytes) -> None:
    offset, length = places()[what]
    end = min(length, 40) if what == "bloom filter" else length  # a filter's bits may be anything: only its header
    raw = PROOFS[:offset] + (filling * end)[:end] + PROOFS[offset + end :]
    for question, rows in answers.items():
        assert answer(hw.scan(raw), question) == rows, question


NUMBERS = [-1, 0, 1, 4, len(PROOFS) - 1, len(PROOFS), len(PROOFS) + 1, 2**31 - 1, 2**62, 2**63 - 1, -(2**63)]


@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize(
    ("what", "column", "place"),
    [
        ("bloom filter", 1, 14),
        ("bloom filter", 1, 15),
        ("column index", 0, 6),
        ("column index", 0, 7),
        ("offset index", 0, 4),
        ("offset index", 0, 5),
    ],
)
def test_evidence_that_is_not_where_the_footer_says(
    answers: dict[str, list[int]], what: str, column: int, place: int, number: int
) -> None:
    short = {5: True, 7: True, 15: True}.get(place, False)
    kept = (number + 2**31) % 2**32 - 2**31 if short else number

    def change(chunk: dict[int, p.Thrift]) -> None:
        holder = chunk[3].value if place >= 14 else chunk
        holder[place] = p.i32(kept) if short else p.i64(kept)

    raw = edited(change, column)
    for question, rows in answers.items():
        assert answer(hw.scan(raw), question) == rows, question


@pytest.mark.parametrize("question", ["dictionary", "dictionary, some"])
@pytest.mark.parametrize("damage", ["header", "body", "kind"])
def test_damaged_dictionary_is_reported_by_who_needs_it(
    answers: dict[str, list[int]], question: str, damage: str
) -> None:
    offset, length = places()["dictionary"]
    begin, end = {"header": (0, 12), "body": (length // 2, length), "kind": (1, 2)}[damage]
    raw = PROOFS[: offset + begin] + b"\xfe" * (end - begin) + PROOFS[offset + end :]
    with pytest.raises(CorruptFileError, match="<bytes>: row group 0, column 'word'"):
        answer(hw.scan(raw), question)
    for other in ("page index", "bloom filter"):
        assert answer(hw.scan(raw), other) == answers[other]


@pytest.mark.parametrize("what", ["bloom filter", "column index", "dictionary"])
def test_evidence_whose_read_fails_is_an_error_of_the_system(
    what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answers: dict[str, list[int]]
) -> None:
    """An unreadable disk is not a malformed filter: whoever goes on would find the next bad block."""
    path = tmp_path / "proofs.parquet"
    path.write_bytes(PROOFS)
    question = {"column index": "page index"}.get(what, what)
    offset, length = places()[what]
    dataset = hw.open(path)
    assert dataset.num_rows == WORD_ROWS
    real = os.preadv

    def failing(descriptor: int, buffers: Any, at: int) -> int:
        if at < offset + length and offset < at + len(buffers[0]):
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        return real(descriptor, buffers, at)

    monkeypatch.setattr(os, "preadv", failing)
    with pytest.raises(OSError, match="Input/output error") as caught:
        answer(dataset.scan(), question)
    assert str(path) in str(caught.value)
    monkeypatch.undo()
    assert answer(dataset.scan(), question) == answers[question]
