"""BYTE_STREAM_SPLIT pages come back as the values whose bytes were spread over streams."""

from __future__ import annotations

import numpy as np
import pytest
from hardwood_jit.kernels.byte_stream_split import read_fixed, read_wide
from hardwood_jit.kernels.status import OK, TRUNCATED, code_of, page_of

from tests.kernels.delta_encoder import Window

COUNTS = [0, 1, 2, 63, 64, 65, 127, 128, 129, 1000, 1023, 1024, 1025, 2100]  # both sides of the kernels' block sizes
PARTS = [(0, 0), (0, 1500), (1, 1), (31, 2), (32, 1100), (1499, 1), (1500, 0), (0, 63)]


def make_values(count: int, width: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng([count, width, seed]).integers(0, 256, (count, width), np.uint8)


def split(values: np.ndarray) -> bytes:
    return values.T.tobytes()


def read(window: Window, width: int, fixed: bool) -> tuple[int, np.ndarray]:
    if fixed:
        out = np.full(window.slots + 1, 0xA5, np.uint32 if width == 4 else np.uint64)
        status = read_fixed(window.src, window.slices, window.validity, out)
        assert out[-1] == 0xA5
        return status, out[:-1].view(np.uint8).reshape(window.slots, width)
    raw = np.full(window.slots * width + 32, 0xA5, np.uint8)
    status = read_wide(window.src, window.slices, window.validity, width, raw)
    return status, raw[: window.slots * width].reshape(window.slots, width)


KINDS = [(4, True), (8, True), (1, False), (2, False), (3, False), (12, False), (16, False), (33, False)]


@pytest.mark.parametrize(("width", "fixed"), KINDS)
def test_every_count_comes_back(width: int, fixed: bool) -> None:
    for count in COUNTS:
        values = make_values(count, width)
        status, out = read(Window([(split(values), count, 0, count)]), width, fixed)
        assert status == OK
        assert np.array_equal(out, values)


@pytest.mark.parametrize(("width", "fixed"), KINDS)
@pytest.mark.parametrize("nulls", [0.0, 0.01, 0.5, 0.99])
def test_several_pages_with_skips_fill_their_slots(width: int, fixed: bool, nulls: float) -> None:
    pages = [make_values(1500, width, k) for k in range(len(PARTS))]
    window = Window([(split(v), 1500, *part) for v, part in zip(pages, PARTS, strict=True)], nulls)
    status, out = read(window, width, fixed)
    assert status == OK
    expected = np.concatenate([v[skip : skip + take] for v, (skip, take) in zip(pages, PARTS, strict=True)])
    assert np.array_equal(out[window.present], expected)


@pytest.mark.parametrize(("width", "fixed"), KINDS)
def test_page_shorter_than_its_streams_is_refused(width: int, fixed: bool) -> None:
    values = make_values(20, width)
    whole = split(values)
    for size in range(len(whole)):
        window = Window([(whole, 20, 0, 20), (whole[:size], 20, 3, 4)])
        status, _ = read(window, width, fixed)
        assert (code_of(status), page_of(status)) == (TRUNCATED, 1)


@pytest.mark.parametrize("count", [2**31, 2**61, 2**62, 2**63 - 1])
def test_count_that_overflows_when_multiplied_is_refused(count: int) -> None:
    for width, fixed in KINDS:
        status, _ = read(Window([(bytes(64), count, count - 2, 2)]), width, fixed)
        assert code_of(status) == TRUNCATED


def test_bytes_after_the_streams_are_ignored() -> None:
    values = make_values(50, 8)
    status, out = read(Window([(split(values) + b"\x99" * 13, 50, 0, 50)]), 8, True)
    assert status == OK
    assert np.array_equal(out, values)


def test_values_without_bytes_store_nothing() -> None:
    assert read(Window([(b"", 7, 0, 7)]), 0, False)[0] == OK
