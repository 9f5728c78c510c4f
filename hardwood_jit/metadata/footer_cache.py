"""Footers that were read before: kept by what identifies a file's content, up to a number of bytes.

A local file is known by path, inode, size and time of change, a remote one by its entity tag. Every process has one.
"""

from __future__ import annotations

import os
import threading
import time
from collections import OrderedDict
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from hardwood_jit.metadata.footer import FileMetadata, read_footer
from hardwood_jit.metadata.many_footers import is_for_many, read_footers
from hardwood_jit.source import Source

MAX_BYTES = 128 << 20  # footers and their tables of numbers
# A file changed twice within one tick of the file system's clock keeps its time: the youngest are not kept.
CLOCK_TICK = 0.1


@dataclass(frozen=True)
class FooterCacheInfo:
    """What a footer cache holds and did.

    >>> hw.footer_cache.info().bytes <= hw.footer_cache.info().max_bytes
    True
    """

    entries: int
    bytes: int
    max_bytes: int
    hits: int
    misses: int


class FooterCache:
    """Footers by the identity of their files; the one that was not asked for longest goes first.

    >>> hw.footer_cache.clear()
    >>> hw.footer_cache.info().entries
    0
    """

    def __init__(self, max_bytes: int = MAX_BYTES) -> None:
        self._max_bytes = max_bytes
        self._lock = threading.Lock()
        self._entries: OrderedDict[Hashable, FileMetadata] = OrderedDict()
        self._bytes = 0
        self._hits = 0
        self._misses = 0
        if hasattr(os, "register_at_fork"):
            # Another thread may hold the lock at the moment of a fork, and in the child nobody would give it back.
            os.register_at_fork(after_in_child=self._renew_lock)

    def _renew_lock(self) -> None:
        self._lock = threading.Lock()

    def read(self, source: Source) -> FileMetadata:
        """The footer of a source, read only if it is not known."""
        key = source.identity
        if key is None:
            return read_footer(source)
        with self._lock:
            found = self._entries.get(key)
            if found is not None:
                self._entries.move_to_end(key)
                self._hits += 1
                return found.with_source(source)
            self._misses += 1
        found = read_footer(source)
        if source.changed_at is None or time.time() - source.changed_at > CLOCK_TICK:
            self._keep(key, found)
        return found

    def read_many(self, sources: Sequence[Source]) -> list[FileMetadata | None]:
        """The footers of several files; None for one that is to be read by itself, for whatever reason."""
        found: list[FileMetadata | None] = [None] * len(sources)
        missing: list[int] = []
        with self._lock:
            for number, source in enumerate(sources):
                key = source.identity
                known = None if key is None else self._entries.get(key)
                if known is not None:
                    self._entries.move_to_end(key)
                    found[number] = known.with_source(source)
                elif is_for_many(source):
                    missing.append(number)
            self._hits += len(sources) - found.count(None)
        now = time.time()
        for number, read in zip(missing, read_footers([sources[number] for number in missing]), strict=True):
            found[number] = read
            if read is not None:
                source = sources[number]
                with self._lock:
                    self._misses += 1
                if source.changed_at is None or now - source.changed_at > CLOCK_TICK:
                    self._keep(source.identity, read)
        return found

    def _keep(self, key: Hashable, found: FileMetadata) -> None:
        if found.held_bytes > self._max_bytes // 2:
            return
        with self._lock:
            self._drop(key)
            self._entries[key] = found
            self._bytes += found.held_bytes
            while self._bytes > self._max_bytes:
                self._drop(next(iter(self._entries)))

    def _drop(self, key: Hashable) -> None:
        found = self._entries.pop(key, None)
        if found is not None:
            self._bytes -= found.held_bytes

    def forget(self, source: Source) -> None:
        """Drop the footer of a source: something in its file is not as the footer says."""
        with self._lock:
            self._drop(source.identity)

    def clear(self) -> None:
        """Drop all footers.

        >>> hw.footer_cache.clear()
        """
        with self._lock:
            self._entries.clear()
            self._bytes = 0

    def info(self) -> FooterCacheInfo:
        """How many footers are held, their bytes, and how often one was found.

        >>> hw.footer_cache.info().max_bytes
        134217728
        """
        with self._lock:
            return FooterCacheInfo(len(self._entries), self._bytes, self._max_bytes, self._hits, self._misses)


footer_cache = FooterCache()
