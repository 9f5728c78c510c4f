"""Footers are read once per content of a file, within a bound, and never for a file that has changed."""

from __future__ import annotations

import io
import os
import threading
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import hardwood_jit as hw
from hardwood_jit.errors import CorruptFileError
from hardwood_jit.metadata.footer_cache import FooterCache
from hardwood_jit.source import BytesSource, LocalFile

LONG_AGO = 1_600_000_000


def write(path: Path, rows: int, changed_at: int = LONG_AGO) -> Path:
    pq.write_table(pa.table({"key": range(rows)}), path, row_group_size=10)
    os.utime(path, (changed_at, changed_at))
    return path


def test_footer_is_read_once(tmp_path: Path) -> None:
    path, cache = write(tmp_path / "a.parquet", 30), FooterCache()
    first, second = LocalFile(str(path)), LocalFile(str(path))
    assert cache.read(first).num_rows == cache.read(second).num_rows == 30
    assert second.counts.ranges == 0
    assert cache.read(second).source is second
    info = cache.info()
    assert (info.entries, info.hits, info.misses) == (1, 2, 1)


def test_changed_file_is_read_again(tmp_path: Path) -> None:
    path, cache = write(tmp_path / "a.parquet", 30), FooterCache()
    assert cache.read(LocalFile(str(path))).num_rows == 30
    write(path, 40, LONG_AGO + 1)
    assert cache.read(LocalFile(str(path))).num_rows == 40


def test_file_that_has_just_changed_is_not_kept(tmp_path: Path) -> None:
    """A second change within the same tick of the clock would not show in its time."""
    path, cache = write(tmp_path / "a.parquet", 30, 4_000_000_000), FooterCache()
    cache.read(LocalFile(str(path)))
    assert cache.info().entries == 0


def test_buffers_without_identity_are_not_kept(tmp_path: Path) -> None:
    cache = FooterCache()
    cache.read(BytesSource(write(tmp_path / "a.parquet", 30).read_bytes()))
    assert cache.info().entries == 0


def test_oldest_footers_go_when_there_are_too_many(tmp_path: Path) -> None:
    paths = [write(tmp_path / f"{number}.parquet", 30) for number in range(6)]
    one = FooterCache()
    one.read(LocalFile(str(paths[0])))
    cache = FooterCache(int(one.info().bytes * 3.5))
    for path in paths:
        cache.read(LocalFile(str(path)))
    assert cache.info().entries == 3 and cache.info().bytes <= cache.info().max_bytes
    again = LocalFile(str(paths[-1]))
    cache.read(again)
    assert again.counts.ranges == 0


def test_error_in_a_file_drops_its_footer(tmp_path: Path) -> None:
    sink = io.BytesIO()
    pq.write_table(pa.table({"key": range(1000)}), sink, compression="snappy", use_dictionary=False)
    damaged = bytearray(sink.getvalue())
    damaged[40:60] = bytes(20)
    path = tmp_path / "bad.parquet"
    path.write_bytes(damaged)
    os.utime(path, (LONG_AGO, LONG_AGO))
    hw.footer_cache.clear()
    dataset = hw.open(path)
    assert dataset.num_rows == 1000 and hw.footer_cache.info().entries == 1
    with pytest.raises(CorruptFileError):
        dataset.scan().to_numpy()
    assert hw.footer_cache.info().entries == 0


def test_scan_with_a_known_footer_reads_only_pages(tmp_path: Path) -> None:
    path = write(tmp_path / "a.parquet", 30)
    hw.footer_cache.clear()
    cold, warm = hw.open(path), hw.open(path)
    assert cold.scan().to_numpy()["key"].tolist() == warm.scan().to_numpy()["key"].tolist()
    assert warm.counts.bytes < cold.counts.bytes


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_lock_held_by_another_thread_does_not_block_a_forked_child(tmp_path: Path) -> None:
    path, cache = write(tmp_path / "a.parquet", 30), FooterCache()
    held, release = threading.Event(), threading.Event()

    def hold() -> None:
        with cache._lock:
            held.set()
            release.wait(30)

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait(30)
    child = os.fork()
    if child == 0:
        os._exit(0 if cache.read(LocalFile(str(path))).num_rows == 30 else 1)
    release.set()
    thread.join()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
