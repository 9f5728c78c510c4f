"""Pages of deltas and of byte streams, written out as PLAIN ones behind them in the arena."""

from __future__ import annotations

import numpy as np
import pytest
from hardwood_jit.kernels.slices import FILTER_FIELDS, SLACK, SRC_END, SRC_START, STREAM_COUNT
from hardwood_jit.kernels.unpack import DELTA, SPLIT, unpack_page, unpacked_room

from tests.kernels.delta_encoder import encode_deltas

COUNTS = [0, 1, 2, 33, 128, 1000]


def page_of_values(encoding: int, values: np.ndarray) -> bytes:
    if encoding == DELTA:
        return encode_deltas(values.view(f"i{values.itemsize}").tolist(), 8 * values.itemsize)
    return values.view(np.uint8).reshape(len(values), values.itemsize).T.tobytes()


def arena_of(body: bytes, before: int, room: int) -> np.ndarray:
    arena = np.full(before + len(body) + room + SLACK, 0xA5, np.uint8)
    arena[before : before + len(body)] = np.frombuffer(body, np.uint8)
    return arena


def sliced(start: int, stop: int, count: int) -> np.ndarray:
    slices = np.zeros((2, FILTER_FIELDS), np.int64)
    slices[1, [SRC_START, SRC_END, STREAM_COUNT]] = (start, stop, count)
    return slices


def some_values(itemsize: int, count: int) -> np.ndarray:
    return np.random.default_rng([itemsize, count]).integers(0, 256, itemsize * count, np.uint8).view(f"u{itemsize}")


@pytest.mark.parametrize("encoding", [DELTA, SPLIT])
@pytest.mark.parametrize("itemsize", [4, 8])
@pytest.mark.parametrize("count", COUNTS)
def test_values_lie_behind_the_page_and_the_slice_points_at_them(encoding: int, itemsize: int, count: int) -> None:
    values = some_values(itemsize, count)
    body = page_of_values(encoding, values)
    for before in (0, 3, 8):
        arena = arena_of(body, before, unpacked_room(count, itemsize))
        stop = before + len(body)
        slices = sliced(before, stop, count)
        end = unpack_page(encoding, itemsize, arena, slices, 1, stop)
        start = slices[1, SRC_START]
        assert start % 8 == 0 and stop <= start < stop + 8
        assert slices[1, SRC_END] == end == start + itemsize * count
        assert arena[start:end].tobytes() == values.tobytes()
        assert arena[before:stop].tobytes() == body and (arena[end:] == 0xA5).all()
        assert not slices[0].any()


@pytest.mark.parametrize("encoding", [DELTA, SPLIT])
@pytest.mark.parametrize("itemsize", [4, 8])
def test_what_does_not_fit_or_is_cut_is_refused(encoding: int, itemsize: int) -> None:
    values = some_values(itemsize, 300)
    body = page_of_values(encoding, values)
    room = unpacked_room(300, itemsize)
    for start, stop, count, space in (
        (0, len(body), 300, 300 * itemsize - 8),  # too little room
        (0, len(body), 1 << 61, room),
        (0, len(body), -1, room),
        (0, len(body) // 2, 300, room),  # cut
        (0, len(body), 301, room),  # fewer values than announced
    ):
        arena = arena_of(body, 0, space)
        slices = sliced(start, stop, count)
        assert unpack_page(encoding, itemsize, arena, slices, 1, len(body)) < 0
        assert slices[1, SRC_START] == start
        assert (arena[-SLACK:] == 0xA5).all()
