"""Bytes -> an array whose last readable byte is the last one of a page of memory: one byte further ends the process."""

from __future__ import annotations

import ctypes
import functools
import mmap
import os

import numpy as np

READABLE = 8  # what hybrid and level readers may touch behind their input; everybody's SLACK is larger


@functools.cache
def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


class Guard:
    """A reusable buffer before a page that nobody may touch."""

    def __init__(self, capacity: int = 1 << 16) -> None:
        self._room = -(-capacity // mmap.PAGESIZE) * mmap.PAGESIZE
        self._map = mmap.mmap(-1, self._room + mmap.PAGESIZE)
        everything = np.frombuffer(self._map, np.uint8)
        address = everything.ctypes.data + self._room
        if _libc().mprotect(ctypes.c_void_p(address), ctypes.c_size_t(mmap.PAGESIZE), 0) != 0:
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
        self._usable = everything[: self._room]

    def place(self, raw: bytes, readable: int = READABLE, fill: int = 0xA5) -> np.ndarray:
        """`raw` and `readable` bytes of `fill`, right before the guarded page."""
        size = len(raw) + readable
        assert size <= self._room
        out = self._usable[self._room - size :]
        out[: len(raw)] = np.frombuffer(raw, np.uint8)
        out[len(raw) :] = fill
        return out
