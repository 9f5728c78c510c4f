"""Values and null densities -> the buffers a value kernel sees: encoded bytes, slice table, validity words."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from hardwood_jit.kernels.slices import FIELDS, SLACK

# Around one validity word, and several pages that start and end inside words, an empty one among them.
SLOT_COUNTS = [(0,), (1,), (63,), (64,), (65,), (1000,), (63, 0, 65, 1, 200, 7)]
NULL_DENSITIES = [0.0, 0.01, 0.5, 0.99, 1.0]


@dataclass
class SliceTable:
    src: np.ndarray
    slices: np.ndarray
    validity: np.ndarray
    expected: list[Any]  # one per slot, None where it is null

    @property
    def slots(self) -> int:
        return len(self.expected)

    @property
    def present(self) -> list[Any]:
        return [value for value in self.expected if value is not None]


def with_slack(raw: bytes) -> np.ndarray:
    """The bytes, then SLACK bytes that no result may depend on."""
    return np.frombuffer(raw + bytes(range(200, 200 + SLACK)), np.uint8).copy()


def pack_validity(present: list[bool]) -> np.ndarray:
    """Validity words, bits past the count 0; empty when nothing is null."""
    if all(present):
        return np.zeros(0, np.uint64)
    bits = np.zeros(-(-len(present) // 64) * 64, np.uint8)
    bits[: len(present)] = present
    return np.packbits(bits, bitorder="little").view(np.uint64)


def one_page(raw: bytes, count: int, skip: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """src, slices and validity of one page without nulls that should deliver `count` values after `skip` others."""
    slices = np.array([[0, len(raw), skip + count, skip, count, 0, count]], np.int64)
    return with_slack(raw), slices, np.zeros(0, np.uint64)


def make_table(
    rng: np.random.Generator,
    slot_counts: tuple[int, ...],
    null_density: float,
    draw: Callable[[int], list[Any]],
    encode: Callable[[list[Any]], bytes],
    skips: bool = True,
) -> SliceTable:
    """One row per slot count; every page holds some values before and after those that are wanted."""
    raw = b""
    slices = np.zeros((len(slot_counts), FIELDS), np.int64)
    expected: list[Any] = []
    for row, slots in enumerate(slot_counts):
        present = rng.random(slots) >= null_density
        take = int(present.sum())
        skip, after = (int(rng.integers(0, 30)), int(rng.integers(0, 9))) if skips else (0, 0)
        values = draw(skip + take + after)
        wanted = iter(values[skip:])
        raw += rng.bytes(int(rng.integers(0, 5)))  # streams start anywhere
        start = len(raw)
        raw += encode(values)
        slices[row] = (start, len(raw), len(values), skip, take, len(expected), slots)
        expected += [next(wanted) if here else None for here in present]
    return SliceTable(with_slack(raw), slices, pack_validity([v is not None for v in expected]), expected)
