"""What a caller may name, and how its bytes are read and counted."""

from __future__ import annotations

import io
import os
import pickle
import threading
from pathlib import Path

import numpy as np
import pytest

from hardwood_jit.errors import CorruptFileError
from hardwood_jit.options import OpenOptions
from hardwood_jit.source import (
    BytesSource,
    FileObject,
    LocalFile,
    MmapFile,
    ReadCounts,
    Source,
    as_kernel_bytes,
    merge_ranges,
    open_source,
)

CONTENT = bytes(range(256)) * 4
PLAIN = OpenOptions()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    file = tmp_path / "a.parquet"
    file.write_bytes(CONTENT)
    return file


def descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def all_kinds(path: Path) -> list[Source]:
    return [LocalFile(str(path)), MmapFile(str(path)), BytesSource(CONTENT), FileObject(io.BytesIO(CONTENT))]


@pytest.mark.parametrize("kind", range(4))
def test_every_source_reads_the_same_bytes_and_counts_them(path: Path, kind: int) -> None:
    source = all_kinds(path)[kind]
    assert source.size == len(CONTENT)
    assert source.read(10, 20).tobytes() == CONTENT[10:30]
    assert source.read(len(CONTENT), 0).size == 0
    out = np.zeros(5, np.uint8)
    source.read_into(1000, out)
    assert out.tobytes() == CONTENT[1000:1005]
    outs = [np.empty(3, np.uint8), np.empty(4, np.uint8)]
    source.read_ranges([(0, 3), (500, 4)], outs)
    assert [part.tobytes() for part in outs] == [CONTENT[:3], CONTENT[500:504]]
    assert source.counts == ReadCounts(ranges=5, bytes=20 + 0 + 5 + 3 + 4)


@pytest.mark.parametrize("kind", range(4))
@pytest.mark.parametrize(
    ("offset", "length"), [(-1, 4), (0, -4), (1020, 5), (1025, 0), (1 << 62, 1 << 62), (0, 1 << 50)]
)
def test_ranges_outside_the_file_are_corruption_and_allocate_nothing(
    path: Path, kind: int, offset: int, length: int
) -> None:
    source = all_kinds(path)[kind]
    with pytest.raises(CorruptFileError, match="file ends at 1024"):
        source.read(offset, length)
    assert source.counts == ReadCounts()


@pytest.mark.parametrize("kind", range(4))
def test_read_gives_arrays_that_kernels_take_without_compiling_again(path: Path, kind: int) -> None:
    assert all_kinds(path)[kind].read(0, 8).flags.writeable


def test_bytes_and_maps_are_read_without_copying(path: Path) -> None:
    source = BytesSource(CONTENT)
    whole = np.frombuffer(CONTENT, np.uint8)
    assert source.read(16, 16).ctypes.data == whole.ctypes.data + 16
    mapped = MmapFile(str(path))
    with mapped.open():
        assert np.shares_memory(mapped.read(0, 100), mapped.read(50, 100))
    piece = mapped.read(3, 5)
    del mapped
    assert piece.tobytes() == CONTENT[3:8]


def test_memory_behind_kernel_bytes_stays_alive() -> None:
    view = as_kernel_bytes(bytes(range(200)) * 1000)
    np.ones(200_000, np.uint8)
    assert view[:200].tolist() == list(range(200))


@pytest.mark.parametrize("form", [bytes, bytearray, memoryview, lambda raw: np.frombuffer(raw, np.int32)])
def test_any_buffer_is_a_source(form: object) -> None:
    (source,) = open_source(form(CONTENT), PLAIN)  # type: ignore[operator]
    assert source.name == "<bytes>" and source.read(0, len(CONTENT)).tobytes() == CONTENT
    assert not source.picklable


def test_a_file_without_an_open_block_holds_no_descriptor(path: Path) -> None:
    before = descriptors()
    source = LocalFile(str(path))
    source.read(0, 4)
    assert descriptors() == before
    with source.open(), source.open():
        source.read(0, 4)
        assert descriptors() == before + 1
    assert descriptors() == before


def test_descriptor_is_released_when_a_read_fails(path: Path) -> None:
    before = descriptors()
    source = LocalFile(str(path))
    os.truncate(path, 100)
    with pytest.raises(CorruptFileError, match="file ends at 100"):
        source.read(90, 20)
    assert descriptors() == before


def test_file_that_disappeared_stays_an_os_error(path: Path) -> None:
    source = LocalFile(str(path))
    path.unlink()
    with pytest.raises(FileNotFoundError):
        source.read(0, 4)


def test_path_sources_pickle_and_others_do_not_say_so(path: Path) -> None:
    for source in (LocalFile(str(path)), MmapFile(str(path))):
        again = pickle.loads(pickle.dumps(source))
        assert type(again) is type(source) and again.read(0, 9).tobytes() == CONTENT[:9] and source.picklable
    assert not FileObject(io.BytesIO(CONTENT)).picklable


def test_offsets_above_four_gigabytes_are_read(tmp_path: Path) -> None:
    file = tmp_path / "big"
    with file.open("wb") as out:  # a hole: takes no space on disk
        out.seek(5 << 30)
        out.write(b"here")
    source = LocalFile(str(file))
    assert source.size == (5 << 30) + 4
    assert source.read(5 << 30, 4).tobytes() == b"here"


def test_file_objects_are_never_closed_and_work_from_threads() -> None:
    file = io.BytesIO(CONTENT)
    (source,) = open_source(file, PLAIN)
    wrong: list[int] = []

    def work(seed: int) -> None:
        for step in range(200):
            at = (seed * 37 + step * 11) % 1000
            if source.read(at, 20).tobytes() != CONTENT[at : at + 20]:
                wrong.append(at)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong and source.counts == ReadCounts(800, 16_000)
    with source.open():
        pass
    assert not file.closed and source.name == "<file object>"


def test_file_objects_with_short_reads_are_read_to_the_end() -> None:
    class Slow(io.RawIOBase):
        def __init__(self) -> None:
            self.inner = io.BytesIO(CONTENT)

        def seek(self, offset: int, whence: int = 0) -> int:
            return self.inner.seek(offset, whence)

        def readinto(self, out: object) -> int:
            return self.inner.readinto(memoryview(out)[:3])  # type: ignore[call-overload,no-any-return]

    assert FileObject(Slow()).read(5, 100).tobytes() == CONTENT[5:105]


def test_directory_is_walked_recursively_sorted_without_hidden_names(tmp_path: Path) -> None:
    for name in ("b/2.parquet", "a/1.parquet", "_delta/x.parquet", "a/.hidden", "a/_SUCCESS", ".git/y", "c.parquet"):
        file = tmp_path / name
        file.parent.mkdir(exist_ok=True)
        file.write_bytes(b"x")
    names = [os.path.relpath(source.name, tmp_path) for source in open_source(tmp_path, PLAIN)]
    assert names == ["a/1.parquet", "b/2.parquet", "c.parquet"]
    assert [os.path.relpath(source.name, tmp_path) for source in open_source(f"{tmp_path}/*/*", PLAIN)] == names[:2]
    assert [os.path.relpath(source.name, tmp_path) for source in open_source(f"{tmp_path}/**", PLAIN)] == names


def test_a_hidden_name_that_is_spelled_out_is_opened(tmp_path: Path) -> None:
    file = tmp_path / "_x.parquet"
    file.write_bytes(b"x")
    assert [source.name for source in open_source(file, PLAIN)] == [str(file)]


def test_a_file_whose_name_looks_like_a_pattern_is_that_file(tmp_path: Path) -> None:
    file = tmp_path / "a[1].parquet"
    file.write_bytes(b"x")
    assert [source.name for source in open_source(str(file), PLAIN)] == [str(file)]


@pytest.mark.parametrize("name", ["missing.parquet", "*.parquet", "folder"])
def test_nothing_found_is_file_not_found(tmp_path: Path, name: str) -> None:
    (tmp_path / "folder").mkdir()
    with pytest.raises(FileNotFoundError, match=name.replace("*", r"\*")):
        open_source(tmp_path / name, PLAIN)


def test_lists_keep_their_order(path: Path) -> None:
    sources = open_source([CONTENT, path, io.BytesIO(CONTENT)], OpenOptions(mmap=True))
    assert [type(source) for source in sources] == [BytesSource, MmapFile, FileObject]
    with pytest.raises(ValueError, match="empty list"):
        open_source([], PLAIN)


def test_file_urls_are_local_files(path: Path) -> None:
    (source,) = open_source(f"file://{path}", PLAIN)
    assert isinstance(source, LocalFile)
    assert source.path == str(path)
    with pytest.raises(FileNotFoundError, match="no such file"):
        open_source(f"file://{path}.missing", PLAIN)


def test_a_path_with_colons_is_not_a_url(tmp_path: Path) -> None:
    (tmp_path / "a::b").write_bytes(CONTENT)
    (source,) = open_source(str(tmp_path / "a::b"), PLAIN)
    assert isinstance(source, LocalFile)


def test_other_objects_are_refused_with_what_would_fit() -> None:
    with pytest.raises(TypeError, match="cannot open int"):
        open_source(3, PLAIN)


def test_close_ranges_are_merged() -> None:
    assert merge_ranges([], 10) == []
    assert merge_ranges([(100, 10), (0, 10), (15, 5)], 5) == [(0, 20), (100, 10)]
    assert merge_ranges([(0, 10), (2, 3), (10, 1)], 0) == [(0, 11)]
    assert merge_ranges([(0, 10), (11, 1)], 0) == [(0, 10), (11, 1)]
