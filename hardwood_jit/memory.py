"""Buffers for results and for scratch: from Arrow's pool where pyarrow is loaded, recycled when they are dropped.

Fresh memory from the operating system costs more than decoding into it: nine columns of lineitem took 359 ms into
new numpy arrays and 144 ms into buffers of Arrow's pool, one thread.
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading
import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardwood_jit.kernels.slices import SLACK

Bytes = NDArray[np.uint8]

RECYCLED_FROM = 128 << 10
RETAINED_BYTES = 1 << 30
RETAINED_SECONDS = 10.0


def _fresh(byte_count: int) -> Bytes:
    pyarrow: Any = sys.modules.get("pyarrow")
    if pyarrow is not None and hasattr(pyarrow, "allocate_buffer"):
        return np.frombuffer(pyarrow.allocate_buffer(byte_count), np.uint8)
    return np.empty(byte_count, np.uint8)


class _Recycler:
    """Buffers of dropped results, kept for the next ones: the system clears every page that it hands out, in our time.

    Nine columns of lineitem, again after the last result was dropped: 356 ms without this, 317 with it, one thread.
    At most an eighth of the machine's memory and RETAINED_BYTES are kept, nothing for longer than RETAINED_SECONDS
    after its last use, looked at whenever a buffer comes or goes.
    """

    def __init__(self) -> None:
        self._free: dict[int, list[tuple[float, Bytes]]] = {}
        self._kept = 0
        self._limit = RETAINED_BYTES
        with contextlib.suppress(ValueError, OSError, AttributeError):
            self._limit = min(RETAINED_BYTES, os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 8)
        self._lock = threading.RLock()  # a buffer may be dropped by the garbage collector inside any of these calls
        self._next_trim = 0.0
        if hasattr(os, "register_at_fork"):
            # Another thread may hold the lock at the moment of a fork, and in the child nobody would give it back.
            os.register_at_fork(after_in_child=self._start_anew)

    def _start_anew(self) -> None:
        # Nor is it known what that thread was about to change: the child begins with nothing kept.
        self._lock = threading.RLock()
        self._free, self._kept = {}, 0

    def take(self, byte_count: int) -> Bytes:
        # Eight size classes per power of two: at most an eighth is wasted.
        step = 1 << max((byte_count - 1).bit_length() - 4, 12)
        size = -(-byte_count // step) * step
        with self._lock:
            found = self._free.get(size)
            raw = found.pop()[1] if found else None
            if raw is not None:
                self._kept -= size
        array: Bytes = np.asarray(_Lease(_fresh(size) if raw is None else raw, self))
        return array[:byte_count]

    def give_back(self, raw: Bytes) -> None:
        now = time.monotonic()
        with self._lock:
            if now >= self._next_trim:
                self._trim(now)
            if self._kept + raw.size <= self._limit:
                self._free.setdefault(raw.size, []).append((now, raw))
                self._kept += raw.size

    def _trim(self, now: float) -> None:
        self._next_trim = now + RETAINED_SECONDS / 4
        for size, entries in list(self._free.items()):
            young = [entry for entry in entries if now - entry[0] < RETAINED_SECONDS]
            self._kept -= size * (len(entries) - len(young))
            if young:
                self._free[size] = young
            else:
                del self._free[size]

    def clear(self) -> None:
        """Give all kept buffers back to the system."""
        with self._lock:
            self._free.clear()
            self._kept = 0


class _Lease:
    """Keeps a buffer out of the recycler as long as any array over it lives."""

    __slots__ = ("__array_interface__", "_raw", "_recycler")

    def __init__(self, raw: Bytes, recycler: _Recycler) -> None:
        self._raw = raw
        self._recycler = recycler
        self.__array_interface__ = raw.__array_interface__

    def __del__(self) -> None:
        self._recycler.give_back(self._raw)


RECYCLER = _Recycler()


def allocate(byte_count: int) -> Bytes:
    """A buffer of exactly `byte_count` bytes plus SLACK, content unspecified."""
    if byte_count < RECYCLED_FROM:
        return np.empty(byte_count + SLACK, np.uint8)
    return RECYCLER.take(byte_count + SLACK)


def allocate_array(shape: int | tuple[int, int], dtype: Any, item_bytes: int) -> NDArray[Any]:
    """A buffer as an array of that shape; `item_bytes` is the size of one row of it."""
    count = shape if isinstance(shape, int) else shape[0]
    return np.ndarray(shape, dtype, allocate(count * item_bytes))


class Arena:
    """One growing buffer; `room` returns it with at least that many bytes plus SLACK, keeping `keep` bytes.

    A `lasting` arena becomes part of a result: it has no spare room.
    """

    __slots__ = ("_lasting", "buffer")

    def __init__(self, lasting: bool = False) -> None:
        self._lasting = lasting
        self.buffer: Bytes = np.empty(0, np.uint8)

    def room(self, byte_count: int, keep: int = 0) -> Bytes:
        needed = byte_count + SLACK
        if self.buffer.size < needed:
            # Scratch is recycled, too: a scan of large pages would have 30 MB of fresh memory cleared per thread.
            larger = allocate(byte_count if self._lasting else byte_count + (byte_count >> 2))
            larger[:keep] = self.buffer[:keep]
            self.buffer = larger
        return self.buffer


class Scratch:
    """The reusable buffers of one thread: named arenas, and small integer arrays for kernels.

    The larger ones come from those that earlier scans and results have given back: a filter on two columns of 250 000
    rows spent 5 of 13 ms in page faults of new ones.
    """

    def __init__(self) -> None:
        self._arenas: dict[Any, Arena] = {}
        self.indexes = np.empty(4096, np.int32)  # a block of dictionary indexes that stays in the first-level cache
        self.counts = np.zeros(4, np.int64)

    def arena(self, name: Any) -> Arena:
        found = self._arenas.get(name)
        if found is None:
            found = self._arenas[name] = Arena()
        return found

    def release(self) -> None:
        """Give the buffers up now: whoever holds this may live until the garbage collector finds it."""
        for arena in self._arenas.values():
            arena.buffer = np.empty(0, np.uint8)
        self._arenas.clear()

    def int32(self, name: str, count: int) -> NDArray[np.int32]:
        buffer = self.arena(name).room(count * 4)
        return buffer[: count * 4].view(np.int32)
