"""What a caller names -> sources of bytes: open, size, read ranges into given buffers, merge close ranges, count.

Directories and globs are expanded here. Every contiguous request counts as one range.
"""

from __future__ import annotations

import glob
import io
import mmap
import os
import re
import stat
import threading
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardwood_jit.errors import CorruptFileError
from hardwood_jit.options import OpenOptions

Bytes = NDArray[np.uint8]

TAIL_BYTES = 64 << 10  # most footers are shorter

# s3://bucket/key, simplecache::s3://bucket/key, zip://a.parquet::s3://bucket/key
_URL = re.compile(r"[A-Za-z][\w+.-]*(::[A-Za-z][\w+.-]*)*://")
_LOCAL_URL = re.compile(r"(file|local)://(?!.*::)", re.IGNORECASE)


@dataclass(frozen=True)
class ReadCounts:
    """What was read so far.

    >>> from hardwood_jit.source import ReadCounts
    >>> ReadCounts(3, 500) - ReadCounts(1, 200)
    ReadCounts(ranges=2, bytes=300)
    """

    ranges: int = 0
    bytes: int = 0

    def __sub__(self, other: ReadCounts) -> ReadCounts:
        return ReadCounts(self.ranges - other.ranges, self.bytes - other.bytes)

    def __add__(self, other: ReadCounts) -> ReadCounts:
        return ReadCounts(self.ranges + other.ranges, self.bytes + other.bytes)


class _Memory:
    """Lends the memory of a read-only buffer to numpy as if it were writable, and keeps the buffer alive."""

    def __init__(self, view: Bytes) -> None:
        self.view = view
        self.__array_interface__ = {**view.__array_interface__, "data": (view.ctypes.data, False)}


def as_kernel_bytes(buffer: Any) -> Bytes:
    """The bytes of any buffer as uint8, without a copy.

    Kernels are compiled for writable arrays; a read-only one would compile them a second time. They never write to
    their input, so the flag may lie.
    """
    view: Bytes = np.frombuffer(buffer, np.uint8)
    return view if view.flags.writeable or view.size == 0 else np.asarray(_Memory(view))


class Source:
    """Bytes of one file. Reads are safe from several threads."""

    picklable = False
    is_remote = False  # whether reads wait for a network
    has_quick_reads = False  # whether many small reads are cheaper than one of what lies between them, too

    def __init__(self, name: str) -> None:
        self.name = name
        # The garbage collector may end a scan of this file, which closes it, while this thread holds the lock.
        self._lock = threading.RLock()
        self._ranges = 0
        self._bytes = 0

    @property
    def size(self) -> int:
        raise NotImplementedError

    @property
    def location(self) -> str:
        """The path as its file system has it: folders, separated by /, and the file's name."""
        return self.name

    @property
    def tail_bytes(self) -> int:
        """How much to read first, at the end of the file, where the footer is."""
        return TAIL_BYTES

    @property
    def counts(self) -> ReadCounts:
        with self._lock:
            return ReadCounts(self._ranges, self._bytes)

    @property
    def identity(self) -> tuple[Any, ...] | None:
        """What changes when the bytes change, so that a footer may be kept; None when nothing says so."""
        return None

    @property
    def changed_at(self) -> float | None:
        """When the bytes changed last, in seconds since 1970, where `identity` relies on that."""
        return None

    @contextmanager
    def open(self) -> Iterator[Source]:
        """Hold what reading needs (a descriptor, a map) until the block ends; blocks may nest and overlap."""
        yield self

    def check_unchanged(self) -> None:
        """Raise where the bytes surely are no longer those that the footer was read of; `open` asks that by itself."""

    def read(self, offset: int, length: int) -> Bytes:
        """`length` bytes at `offset`; a view of the file's memory where there is one, so not to be written to."""
        self._check(offset, length)
        out = np.empty(length, np.uint8)
        self._fill(offset, out)
        self._count(length)
        return out

    def read_into(self, offset: int, out: Bytes) -> None:
        """Fill all of `out` with the bytes at `offset`."""
        self._check(offset, out.size)
        self._fill(offset, out)
        self._count(out.size)

    def read_ranges(self, ranges: Sequence[tuple[int, int]], outs: Sequence[Bytes]) -> None:
        """Fill each of `outs` from its (offset, length)."""
        with self.open():
            for (offset, length), out in zip(ranges, outs, strict=True):
                self.read_into(offset, out[:length])

    def read_all(self, ranges: Sequence[tuple[int, int]]) -> list[Bytes]:
        """The bytes of several (offset, length), asked for together."""
        outs = [np.empty(length, np.uint8) for _, length in ranges]
        self.read_ranges(ranges, outs)
        return outs

    def _fill(self, offset: int, out: Bytes) -> None:
        raise NotImplementedError

    def _count(self, length: int) -> None:
        with self._lock:
            self._ranges += 1
            self._bytes += length

    def _check(self, offset: int, length: int) -> None:
        # Python integers: a sum of two numbers from a file cannot overflow.
        if offset < 0 or length < 0 or int(offset) + int(length) > self.size:
            raise CorruptFileError(
                f"{self.name}: file ends at {self.size}, {length} bytes at offset {offset} are needed"
            )

    def _ended(self, offset: int) -> CorruptFileError:
        return CorruptFileError(f"{self.name}: file ends at {offset}, {self.size} bytes were there when it was opened")

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r})"


class BytesSource(Source):
    """A buffer in memory: reads are views of it."""

    has_quick_reads = True

    def __init__(self, buffer: Any) -> None:
        super().__init__("<bytes>")
        self._view = as_kernel_bytes(memoryview(buffer).cast("B"))

    @property
    def size(self) -> int:
        return self._view.size

    def read(self, offset: int, length: int) -> Bytes:
        self._check(offset, length)
        self._count(length)
        return self._view[offset : offset + length]

    def _fill(self, offset: int, out: Bytes) -> None:
        out[:] = self._view[offset : offset + out.size]


class FileObject(Source):
    """A seekable binary file object of the caller's: reads are locked, and it is never closed."""

    def __init__(self, file: Any) -> None:
        super().__init__("<file object>")
        self._file = file
        self._seeking = threading.Lock()
        with self._seeking:
            self._size = int(file.seek(0, io.SEEK_END))

    @property
    def size(self) -> int:
        return self._size

    def _fill(self, offset: int, out: Bytes) -> None:
        filled = 0
        with self._seeking:
            self._file.seek(offset)
            while filled < out.size:
                got = self._some(out[filled:])
                if got == 0:
                    raise self._ended(offset + filled)
                filled += got

    def _some(self, out: Bytes) -> int:
        if hasattr(self._file, "readinto"):
            return int(self._file.readinto(out.data) or 0)
        raw = self._file.read(out.size)
        out[: len(raw)] = np.frombuffer(raw, np.uint8)
        return len(raw)


class _Handle:
    """What the blocks of `open()` hold together: an open file, and its memory where it is mapped.

    The last block closes the file. Where an interrupt came between two steps, it is closed with the last reference.
    """

    __slots__ = ("__weakref__", "file", "users", "view")

    def __init__(self, path: str) -> None:
        self.file = io.FileIO(path)
        self.users = 0
        self.view: Bytes = np.empty(0, np.uint8)


class LocalFile(Source):
    """A file on disk, read with `preadv`; a descriptor exists only inside `open()` or a single read."""

    picklable = True
    has_quick_reads = True

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self.path = path
        # Only the blocks of `open()` hold it.
        self._handle: Callable[[], _Handle | None] = _nothing
        facts = os.stat(path)  # noqa: PTH116  a Path takes longer to make than the call, and there may be many files
        self._size = facts.st_size
        self._identity = (path, facts.st_ino, facts.st_size, facts.st_mtime_ns)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.path,)

    @property
    def size(self) -> int:
        return self._size

    @property
    def identity(self) -> tuple[Any, ...] | None:
        return self._identity

    @property
    def changed_at(self) -> float | None:
        return float(self._identity[3]) / 1e9

    @contextmanager
    def open(self) -> Iterator[Source]:
        held = self._hold()
        try:
            yield self
        finally:
            with self._lock:
                held.users -= 1
                if held.users == 0:
                    held.file.close()
                    held.view = np.empty(0, np.uint8)
                    self._handle = _nothing

    def _hold(self) -> _Handle:
        with self._lock:
            handle = self._handle()
            if handle is None:
                handle = self._open_handle()
                self._handle = weakref.ref(handle)
            handle.users += 1
            return handle

    def _open_handle(self) -> _Handle:
        handle = _Handle(self.path)
        try:
            self._check_same(os.fstat(handle.file.fileno()))
        except BaseException:
            handle.file.close()
            raise
        return handle

    def check_unchanged(self) -> None:
        self._check_same(os.stat(self.path))  # noqa: PTH116  as above, and this runs for every row group

    def _check_same(self, facts: os.stat_result) -> None:
        """Another file under the same name would be read at the places that the old one's footer gives."""
        if facts.st_size < self._size:
            raise self._ended(facts.st_size)
        if (facts.st_size, facts.st_mtime_ns) != self._identity[2:]:
            raise OSError(
                f"{self.name}: the file has changed since it was opened; open it again to read what it is now"
            )

    def _opened(self) -> _Handle:
        """The handle, inside `open()`."""
        handle = self._handle()
        assert handle is not None
        return handle

    def read_ranges(self, ranges: Sequence[tuple[int, int]], outs: Sequence[Bytes]) -> None:
        # Opened and counted once for all: this runs for every row group, and for a block of each of a hundred filters.
        total = 0
        with self.open():
            for (offset, length), out in zip(ranges, outs, strict=True):
                self._check(offset, length)
                self._fill_open(offset, out if len(out) == length else out[:length])
                total += length
        with self._lock:
            self._ranges += len(ranges)
            self._bytes += total

    def read_at_once(self, offset: int, out: memoryview) -> None:
        """As `read_into` with a descriptor of its own: for a file of which nothing else is read soon."""
        self._check(offset, len(out))
        descriptor = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            self._check_same(os.fstat(descriptor))
            got = os.preadv(descriptor, [out], offset)
        finally:
            os.close(descriptor)
        if got != len(out):
            raise self._ended(offset + got)
        self._count(got)

    def _fill(self, offset: int, out: Bytes) -> None:
        with self.open():
            self._fill_open(offset, out)

    def _fill_open(self, offset: int, out: Bytes) -> None:
        """As _fill, inside `open()`."""
        descriptor = self._opened().file.fileno()
        size, filled = len(out), 0
        while filled < size:  # one call gives at most 2 GiB
            try:
                got = os.preadv(descriptor, [(out[filled:] if filled else out).data], offset + filled)
            except OSError as error:
                error.filename = error.filename or self.path  # the descriptor alone names nothing
                raise
            if got == 0:
                raise self._ended(offset + filled)
            filled += got


def _nothing() -> None:
    return None


class MmapFile(LocalFile):
    """A mapped file: reads are views. A file that somebody truncates while it is mapped kills the process."""

    def _open_handle(self) -> _Handle:
        handle = super()._open_handle()
        if self._size:
            # Views keep the map alive after the last `open()` has ended.
            handle.view = as_kernel_bytes(mmap.mmap(handle.file.fileno(), self._size, access=mmap.ACCESS_READ))
        return handle

    def read(self, offset: int, length: int) -> Bytes:
        self._check(offset, length)
        with self.open():
            self._count(length)
            return self._opened().view[offset : offset + length]

    def _fill_open(self, offset: int, out: Bytes) -> None:
        out[:] = self._opened().view[offset : offset + out.size]


def merge_ranges(ranges: Sequence[tuple[int, int]], gap: int) -> list[tuple[int, int]]:
    """Sorted (offset, length) ranges that cover the given ones, joined where at most `gap` bytes lie between."""
    merged: list[tuple[int, int]] = []
    for offset, length in sorted(ranges):
        if merged:
            start, covered = merged[-1]
            if offset <= start + covered + gap:
                merged[-1] = (start, max(covered, offset + length - start))
                continue
        merged.append((offset, length))
    return merged


# Expanding what the caller named


def is_hidden(name: str) -> bool:
    return name.startswith(("_", "."))


def _files_below(folder: Path) -> list[str]:
    """Regular files below a folder, sorted by path; names that start with _ or . are skipped at every level."""
    found: list[str] = []
    waiting = [str(folder)]
    while waiting:
        parent = waiting.pop()
        try:
            entries = list(os.scandir(parent))
        except OSError:
            continue  # a folder that may not be listed
        prefix = "" if parent == "." else parent if parent.endswith(os.sep) else parent + os.sep
        for entry in entries:
            if is_hidden(entry.name):
                continue
            if entry.is_dir(follow_symlinks=False):
                waiting.append(prefix + entry.name)
            elif entry.is_file():  # without a look at it, unless it is a link
                found.append(prefix + entry.name)
    return sorted(found)


def is_hidden_match(match: str, pattern: str) -> bool:
    """Whether a glob's match goes through a name starting with _ or . that the pattern did not spell out."""
    spelled = Path(pattern).parts
    parts = Path(match).parts
    return any(is_hidden(part) and part not in ("..", ".") and part not in spelled for part in parts)


def _expand(path: str) -> list[str]:
    """Files of a path, a directory or a glob. A file that exists wins over a pattern of the same text."""
    place = Path(path)
    try:
        mode = place.stat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        if not glob.has_magic(path):
            raise FileNotFoundError(f"{path}: no such file or directory") from None
    else:
        if not stat.S_ISDIR(mode):
            return [path]
        below = _files_below(place)
        if not below:
            raise FileNotFoundError(f"{path}: no files in this directory")
        return below
    found: list[str] = []
    for match in sorted(glob.glob(path, recursive=True)):  # noqa: PTH207  keeps the path as it was given
        if is_hidden_match(match, path):
            continue
        found.extend(_files_below(Path(match)) if Path(match).is_dir() else [match])
    found = sorted(set(found))
    if not found:
        raise FileNotFoundError(f"{path}: no files match")
    return found


def open_source(source: Any, options: OpenOptions) -> list[Source]:
    """The sources that `source` names: path, URL, glob, directory, bytes-like, file object, or a list of those."""
    if isinstance(source, Source):
        return [source]
    if isinstance(source, str | os.PathLike):
        text = os.fspath(source)
        if isinstance(text, bytes):
            text = os.fsdecode(text)
        local = _LOCAL_URL.match(text)
        if local:
            text = text[local.end() :]
        elif _URL.match(text):
            from hardwood_jit.remote import open_url  # remote files are sources, too

            return open_url(text, options.storage_options)
        make = MmapFile if options.mmap else LocalFile
        return [make(path) for path in _expand(text)]
    if isinstance(source, list | tuple):
        if not source:
            raise ValueError("an empty list of files has no schema: name at least one file")
        return [found for item in source for found in open_source(item, options)]
    if hasattr(source, "seek") and hasattr(source, "read"):
        return [FileObject(source)]
    try:
        view = memoryview(source)
    except TypeError:
        kind = type(source).__name__
        raise TypeError(
            f"cannot open {kind}: give a path, URL, directory, glob, bytes, a seekable binary file, or a list of those"
        ) from None
    return [BytesSource(view)]
