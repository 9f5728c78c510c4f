"""Buffers for results and for scratch: from Arrow's pool where pyarrow is loaded, reused where they are scratch.

Fresh memory from the operating system costs more than decoding into it: nine columns of lineitem took 359 ms into
new numpy arrays and 144 ms into buffers of Arrow's pool, one thread.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardwood_jit.kernels.slices import SLACK

Bytes = NDArray[np.uint8]


def allocate(byte_count: int) -> Bytes:
    """A new buffer of exactly `byte_count` bytes plus SLACK, content unspecified."""
    pyarrow: Any = sys.modules.get("pyarrow")
    if pyarrow is not None and hasattr(pyarrow, "allocate_buffer"):
        return np.frombuffer(pyarrow.allocate_buffer(byte_count + SLACK), np.uint8)
    return np.empty(byte_count + SLACK, np.uint8)


class Arena:
    """One growing buffer; `room` returns it with at least that many bytes plus SLACK, keeping `keep` bytes.

    A `lasting` arena becomes part of a result: it comes from the results' pool and has no spare room.
    """

    __slots__ = ("_lasting", "buffer")

    def __init__(self, lasting: bool = False) -> None:
        self._lasting = lasting
        self.buffer: Bytes = np.empty(0, np.uint8)

    def room(self, byte_count: int, keep: int = 0) -> Bytes:
        needed = byte_count + SLACK
        if self.buffer.size < needed:
            larger = allocate(byte_count) if self._lasting else np.empty(needed + (needed >> 2), np.uint8)
            larger[:keep] = self.buffer[:keep]
            self.buffer = larger
        return self.buffer


class Scratch:
    """The reusable buffers of one thread: named arenas, and small integer arrays for kernels."""

    def __init__(self) -> None:
        self._arenas: dict[Any, Arena] = {}
        self.indexes = np.empty(4096, np.int32)  # a block of dictionary indexes that stays in the first-level cache
        self.counts = np.zeros(4, np.int64)

    def arena(self, name: Any) -> Arena:
        found = self._arenas.get(name)
        if found is None:
            found = self._arenas[name] = Arena()
        return found

    def int32(self, name: str, count: int) -> NDArray[np.int32]:
        buffer = self.arena(name).room(count * 4)
        return buffer[: count * 4].view(np.int32)
