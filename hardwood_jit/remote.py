"""URLs that fsspec understands -> sources of bytes: files found, looked up once, read in few and large requests.

What is counted (`Source.counts`, and `explain` by it): every range that goes to the file system is one request with its
bytes, gaps between merged ranges included, so that the figures are what the server sees. Not counted: look-ups of size
and etag and listings of folders, which happen when a source is opened and never during a scan; repetitions of a failed
request, which the file system makes on its own. Reads that lie in the end of the file, which came with the footer, are
no requests. Behind a cache (`simplecache::`) the counts are what the cache was asked for.
"""
# mypy: disable-error-code="import-untyped,import-not-found"

from __future__ import annotations

import glob
import os
import re
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

import numpy as np

from hardwood_jit.errors import MissingDependencyError, missing
from hardwood_jit.source import Bytes, Source, as_kernel_bytes, is_hidden, is_hidden_match, merge_ranges

T = TypeVar("T")
Span = tuple[int, int]  # offset, length

# An object store takes some 20 ms to the first byte and sends some 85 MB/s on a connection, of which a client has ten:
# a request takes the time of about 20 ms x 85 MB/s / 10 = 170 kB. Gaps below that are cheaper read than avoided.
GAP_BYTES = 128 << 10

# The first read of a file, at its end. The page indexes lie before the footer, so what is read too much is often used.
# A second round trip takes the time of more than 1 MiB (see above); 256 KiB are 3 ms, and whole small files.
LEAST_TAIL_BYTES = 256 << 10
MOST_TAIL_BYTES = 1 << 20
TAIL_SHARE = 256  # of the file's bytes, one in so many

KEPT_TAIL_BYTES = 64 << 20  # of all files together; the tails used last stay

IN_THIS_PROCESS = ("memory", "file", "local")  # protocols whose look-ups cost no round trip


@dataclass(frozen=True)
class Facts:
    """What a look-up or a listing said about a file; `mark` changes when the bytes do, None where nothing says so."""

    size: int
    mark: str | float | None
    etag: str | None = None


def _facts(info: Mapping[str, Any], name: str) -> Facts:
    """The facts in what `fs.info`, or a listing with details, gives for a file."""
    size = info.get("size")
    if size is None:
        raise OSError(f"{name}: the server does not tell the size of the file, which is needed to find its footer")
    etag = info.get("ETag") or info.get("etag")
    keys = ("checksum", "md5Hash", "content_md5", "mtime", "LastModified", "last_modified", "updated", "created")
    mark = etag or next((info[key] for key in keys if info.get(key) is not None), None)
    if isinstance(mark, datetime):  # some systems give seconds in listings and dates in look-ups
        mark = mark.timestamp()
    if not isinstance(mark, int | float | None):
        mark = str(mark)
    return Facts(int(size), mark, str(etag) if etag else None)


class _Tails:
    """The ends of files, which came with their footers: those used last, up to a number of bytes."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._held = 0
        self._tails: OrderedDict[int, Bytes] = OrderedDict()
        self._lock = threading.RLock()  # the garbage collector may drop a file while this thread holds it

    def keep(self, owner: int, tail: Bytes) -> None:
        with self._lock:
            self.drop(owner)
            self._tails[owner] = tail
            self._held += tail.size
            while self._held > self._limit and self._tails:
                self._held -= self._tails.popitem(last=False)[1].size

    def find(self, owner: int) -> Bytes | None:
        with self._lock:
            tail = self._tails.get(owner)
            if tail is not None:
                self._tails.move_to_end(owner)
            return tail

    def drop(self, owner: int) -> None:
        with self._lock:
            tail = self._tails.pop(owner, None)
            if tail is not None:
                self._held -= tail.size


_tails = _Tails(KEPT_TAIL_BYTES)
_locks: WeakKeyDictionary[Any, threading.Lock] = WeakKeyDictionary()
_locks_lock = threading.Lock()


def _forget_locks() -> None:
    """In a forked child: another thread may have held any of them."""
    global _tails, _locks, _locks_lock
    _tails, _locks, _locks_lock = _Tails(KEPT_TAIL_BYTES), WeakKeyDictionary(), threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_locks)


class RemoteFile(Source):
    """A file of an fsspec file system; looked up when it is made, unless a listing has told its facts.

    It pickles with the options of its file system and with its facts: what another process reads is the same version
    of the file, or an error.
    """

    picklable = True
    is_remote = True

    def __init__(self, fs: Any, path: str, name: str, facts: Facts | None = None) -> None:
        super().__init__(name)
        self._path = path
        self._own_system(fs)
        self._facts = facts or _facts(_asking(name, lambda: fs.info(path)), name)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._fs, self._path, self.name, self._facts)

    def __del__(self) -> None:
        _tails.drop(id(self))

    @property
    def size(self) -> int:
        return self._facts.size

    @property
    def identity(self) -> tuple[Any, ...] | None:
        if self._facts.mark is None:
            return None
        # The file system's hash stands for its options: the same URL may lie on two servers.
        return self.name, hash(self._system()), self._facts.size, self._facts.mark

    @property
    def location(self) -> str:
        return self._path

    @property
    def tail_bytes(self) -> int:
        return min(max(self.size // TAIL_SHARE, LEAST_TAIL_BYTES), MOST_TAIL_BYTES)

    # Reading

    def read(self, offset: int, length: int) -> Bytes:
        self._check(offset, length)
        if not length:
            return np.empty(0, np.uint8)
        held = self._held(offset, length)
        if held is not None:
            return held
        found = as_kernel_bytes(self._fetch([(offset, length)])[0])
        if offset + length == self.size and length <= MOST_TAIL_BYTES:
            _tails.keep(id(self), found)
        return found

    def read_into(self, offset: int, out: Bytes) -> None:
        self.read_ranges([(offset, out.size)], [out])

    def read_ranges(self, ranges: Sequence[Span], outs: Sequence[Bytes]) -> None:
        """Fill each of `outs`; ranges close to each other are one request, all requests are sent together."""
        wanted: list[tuple[int, int, Bytes]] = []
        for (offset, length), out in zip(ranges, outs, strict=True):
            self._check(offset, length)
            held = self._held(offset, length)
            if held is not None:
                out[:length] = held
            elif length:
                wanted.append((offset, length, out))
        if not wanted:
            return
        wanted.sort(key=lambda item: item[0])
        merged = merge_ranges([(offset, length) for offset, length, _ in wanted], GAP_BYTES)
        replies = [np.frombuffer(reply, np.uint8) for reply in self._fetch(merged)]
        at = 0
        for offset, length, out in wanted:
            while offset + length > sum(merged[at]):  # sorted both, and each range lies in one of the merged ones
                at += 1
            start = offset - merged[at][0]
            out[:length] = replies[at][start : start + length]

    def _held(self, offset: int, length: int) -> Bytes | None:
        """The bytes, where they lie in the tail."""
        tail = _tails.find(id(self))
        start = self.size if tail is None else self.size - tail.size
        return None if tail is None or offset < start else tail[offset - start : offset - start + length]

    def _fetch(self, spans: Sequence[Span]) -> list[bytes]:
        """The bytes of all spans, fetched together; an error of any is an OSError, nothing short is let through."""
        fs = self._system()
        replies = _asking(self.name, lambda: self._ask(fs, spans))
        if len(replies) != len(spans):
            raise OSError(f"{self.name}: {len(spans)} ranges were asked for, {len(replies)} came")
        for (offset, length), reply in zip(spans, replies, strict=True):
            if isinstance(reply, BaseException):
                raise self._failed(reply)
            if len(reply) != length:
                raise OSError(
                    f"{self.name}: {length} bytes at offset {offset} were asked for, {len(reply)} came; "
                    "the file may have changed since it was opened, or the server does not serve ranges"
                )
        with self._lock:
            self._ranges += len(spans)
            self._bytes += sum(length for _, length in spans)
        return replies

    def _ask(self, fs: Any, spans: Sequence[Span]) -> list[Any]:
        """A reply per span: bytes or an exception."""
        if self._reads_by_version is not None:
            return self._reads_by_version(fs, self._path, self._facts, spans)
        starts = [offset for offset, _ in spans]
        stops = [offset + length for offset, length in spans]
        if self._turn is None:
            return list(fs.cat_ranges([self._path] * len(spans), starts, stops, on_error="return"))
        with self._turn:
            if self._is_local and _facts(fs.info(self._path), self.name) != self._facts:
                raise self._changed()
            return list(fs.cat_ranges([self._path] * len(spans), starts, stops, on_error="return"))

    def _failed(self, error: BaseException) -> BaseException:
        if _is_other_version(error):
            changed = self._changed()
            changed.__cause__ = error
            return changed
        return _as_os_error(error, self.name)

    def _changed(self) -> OSError:
        return OSError(f"{self.name}: the file has changed since it was opened; open it again to read what it is now")

    # The file system, one per process

    def _own_system(self, fs: Any) -> None:
        from fsspec.asyn import AsyncFileSystem

        self._fs = fs
        self._turn = None if isinstance(fs, AsyncFileSystem) else _lock_of(fs)
        protocols = [fs.protocol] if isinstance(fs.protocol, str) else fs.protocol
        self._is_local = any(protocol in IN_THIS_PROCESS for protocol in protocols)
        self._reads_by_version = _s3_reader(fs)
        self._pid = os.getpid()  # last: from now on other threads take what is above

    def _system(self) -> Any:
        """The file system of this process: connections and the thread that serves them do not survive a fork."""
        if self._pid != os.getpid():
            self._lock = threading.RLock()
            # fsspec keeps instances by process, so this makes a fresh one, once for all files.
            self._own_system(type(self._fs)(*self._fs.storage_args, **self._fs.storage_options))
        return self._fs


def _lock_of(fs: Any) -> threading.Lock:
    """File systems without an event loop (FTP, SFTP, caches) hold one connection or folder: they are used in turn."""
    with _locks_lock:
        return _locks.setdefault(fs, threading.Lock())


# Errors


def _asking(name: str, call: Callable[[], T]) -> T:
    """Call a file system; what it raises becomes an OSError unless it is one."""
    try:
        return call()
    except OSError as error:
        error.add_note(f"while reading {name}")
        raise
    except Exception as error:  # clients raise errors of their own: no credentials, no connection, a broken reply
        raise _as_os_error(error, name) from error


def _as_os_error(error: BaseException, name: str) -> BaseException:
    if isinstance(error, OSError) or not isinstance(error, Exception):
        error.add_note(f"while reading {name}")
        return error
    found = OSError(f"{name}: {type(error).__name__}: {error}")
    found.__cause__ = error
    return found


def _is_other_version(error: BaseException) -> bool:
    """Whether S3 refused a request because the object's etag is another one now."""
    reply = getattr(error.__cause__, "response", None)
    code = reply.get("Error", {}).get("Code") if isinstance(reply, dict) else None
    return code in ("PreconditionFailed", "412") or type(error).__name__ == "FileExpired"


# S3: requests that hold for one version of the object only

VersionReader = Callable[[Any, str, Facts, Sequence[Span]], list[Any]]


def _s3_reader(fs: Any) -> VersionReader | None:
    """As `cat_ranges`, with If-Match in every request; None where this is not S3 or s3fs has no such call."""
    if not type(fs).__module__.startswith("s3fs"):
        return None
    import asyncio

    from fsspec.asyn import sync
    from s3fs import core

    # What s3fs itself reads with once a file is open: one range, retried, under conditions of the caller's.
    fetch = getattr(core, "_inner_fetch", None)
    if fetch is None:
        return None

    async def fetch_all(fs: Any, path: str, facts: Facts, spans: Sequence[Span]) -> list[Any]:
        conditions = dict(fs.req_kw)
        options: dict[str, Any] = {"req_kw": conditions}
        if facts.etag and getattr(fs, "local_expiry_check", False):
            # Some servers that speak S3 do not know If-Match: then s3fs compares the etags of its replies.
            options["details"] = {"name": path, "ETag": facts.etag}
        elif facts.etag:
            conditions["IfMatch"] = facts.etag
        where = fs.split_path(path)
        calls = (fetch(fs, *where, offset, offset + length, **options) for offset, length in spans)
        return list(await asyncio.gather(*calls, return_exceptions=True))

    def read(fs: Any, path: str, facts: Facts, spans: Sequence[Span]) -> list[Any]:
        replies: list[Any] = sync(fs.loop, fetch_all, fs, path, facts, spans)
        return replies

    return read


# Expanding URLs


def _without_secrets(url: str) -> str:
    """The URL as it may be shown: without a password, and without what signs it."""
    return re.sub(r"(?i)((?:signature|sig|token|credential)=)[^&]*", r"\1...", re.sub(r"//[^/@]*@", "//", url))


def _namer(url: str, fs: Any) -> Callable[[str], str]:
    """How files of this file system are called: as URLs, in the chain that the caller gave."""
    links = _without_secrets(url).split("::")
    place = next((number for number, link in enumerate(links) if "://" in link), 0)
    before = "".join(f"{link}::" for link in links[:place])
    after = "".join(f"::{link}" for link in links[place + 1 :])
    return lambda path: f"{before}{_without_secrets(str(fs.unstrip_protocol(path)))}{after}"


def _files_in(found: Mapping[str, Mapping[str, Any]], folder: str) -> dict[str, Mapping[str, Any]]:
    """Of a listing those files that no name starting with _ or . hides below the folder."""
    base = folder.strip("/")
    files = {}
    for path, info in found.items():
        below = path.strip("/").removeprefix(base)
        if info.get("type") == "file" and not path.endswith("/") and not any(map(is_hidden, below.split("/"))):
            files[path] = info
    return files


def open_url(url: str, storage_options: Mapping[str, Any] | None) -> list[Source]:
    """The files of a URL: one file, all below a folder, or those that match a pattern; as for local paths."""
    shown = _without_secrets(url)
    try:
        from fsspec.core import url_to_fs
    except ImportError as error:
        raise missing("fsspec", "remote", f"reading {shown}") from error
    try:
        fs, path = _asking_system(lambda: url_to_fs(url, **(storage_options or {})), shown)
    except ImportError as error:
        raise MissingDependencyError(f"reading {shown}: {error}; for S3: pip install 'hardwood_jit[remote]'") from error
    # Listings that this process made earlier may be out of date.
    fs.invalidate_cache()
    name = _namer(url, fs)
    files = _asking(shown, lambda: _list_files(fs, path, shown, is_folder=url.endswith("/")))
    return [RemoteFile(fs, path, name(path), _facts(info, name(path))) for path, info in sorted(files.items())]


def _asking_system(call: Callable[[], T], name: str) -> T:
    """Make a file system; wrong options and unknown protocols stay what they are, and say for which URL."""
    try:
        return call()
    except Exception as error:
        error.add_note(f"while opening {name}")
        raise


def _list_files(fs: Any, path: str, shown: str, *, is_folder: bool) -> dict[str, Mapping[str, Any]]:
    """Path -> what is known of the file; a file that exists wins over a folder or pattern of the same text."""
    kind = "pattern" if glob.has_magic(path) else "directory"
    if not is_folder:
        try:
            info = fs.info(path)
            kind = info.get("type", "file")
        except FileNotFoundError as error:
            if kind != "pattern":
                raise FileNotFoundError(f"{shown}: no such file or directory") from error
        if kind not in ("directory", "pattern"):
            return {path: info}
    if kind == "directory":
        files = _files_in(fs.find(path, detail=True), path)
        if not files:
            raise FileNotFoundError(f"{shown}: no files in this directory")
        return files
    files = {}
    for match, info in fs.glob(path, detail=True).items():
        if is_hidden_match(match, path):
            continue
        if info.get("type") == "directory":
            files |= _files_in(fs.find(match, detail=True), match)
        else:
            files |= _files_in({match: info}, match)
    if not files:
        raise FileNotFoundError(f"{shown}: no files match")
    return files
