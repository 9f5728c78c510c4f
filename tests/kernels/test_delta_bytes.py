"""DELTA_LENGTH_BYTE_ARRAY and DELTA_BYTE_ARRAY pages come back as offsets and data of one binary column."""

from __future__ import annotations

import random
from collections.abc import Callable

import numpy as np
import pytest
from hardwood_jit.kernels.delta_bytes import measure_prefixed, read_lengths_first, read_prefixed
from hardwood_jit.kernels.slices import SLACK
from hardwood_jit.kernels.status import (
    BAD_BIT_WIDTH,
    BAD_COUNT,
    BAD_LENGTH,
    CORRUPT,
    OUTPUT_FULL,
    TRUNCATED,
    code_of,
    page_of,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.kernels.delta_encoder import Window, encode_deltas

COUNTS = [0, 1, 2, 31, 32, 33, 127, 128, 129, 1000]
PARTS = [(0, 0), (0, 200), (1, 1), (31, 2), (32, 97), (199, 1), (200, 0), (5, 0), (150, 50)]
Result = tuple[int, np.ndarray, np.ndarray]


def random_texts(count: int, seed: int) -> list[bytes]:
    """Values that share prefixes, empty and long ones among them."""
    rng = random.Random(f"{count} {seed}")
    texts = [b""] * count
    before = b""
    for k in range(count):
        shared = before[: rng.randint(0, len(before))]
        before = shared + rng.randbytes(rng.choice([0, 1, 3, 8, 15, 16, 17, 31, 32, 33, 70]))
        if len(before) > 300:
            before = before[:2]
        texts[k] = before
    return texts


def encode_lengths_first(texts: list[bytes]) -> bytes:
    return encode_deltas([len(t) for t in texts], 32) + b"".join(texts)


def encode_prefixed(texts: list[bytes]) -> bytes:
    prefixes, before = [], b""
    for text in texts:
        limit = min(len(text), len(before))
        prefixes.append(next((k for k in range(limit) if text[k] != before[k]), limit))
        before = text
    return join_prefixed(prefixes, [t[p:] for t, p in zip(texts, prefixes, strict=True)])


def join_prefixed(prefixes: list[int], suffixes: list[bytes]) -> bytes:
    return encode_deltas(prefixes, 32) + encode_deltas([len(s) for s in suffixes], 32) + b"".join(suffixes)


def scratch(window: Window) -> int:
    return int(window.slices[:, 2].sum())


def lengths_first(window: Window, room: int, offsets_type: type = np.int32) -> Result:
    offsets = np.full(window.slots + 2, -7, offsets_type)
    offsets[0] = 0
    data = np.full(room + SLACK, 0xA5, np.uint8)
    lengths = np.zeros(int(window.slices[:, 2].max(initial=0)), np.int32)
    status = read_lengths_first(window.src, window.slices, window.validity, lengths, offsets, data)
    assert offsets[-1] == -7
    return status, offsets[:-1], data


def prefixed(window: Window, room: int | None = None, offsets_type: type = np.int32) -> Result:
    """Both calls; without `room` the buffer is exactly what the first call asks for."""
    prefixes = np.zeros(scratch(window), np.int32)
    suffixes = np.zeros(scratch(window), np.int32)
    needed = np.zeros(2, np.int64)
    offsets = np.full(window.slots + 2, -7, offsets_type)
    offsets[0] = 0
    status = measure_prefixed(window.src, window.slices, prefixes, suffixes, needed)
    if status < 0:
        return status, offsets, np.zeros(0, np.uint8)
    data = np.full((needed[0] if room is None else room) + SLACK, 0xA5, np.uint8)
    previous = np.zeros(needed[1] + SLACK, np.uint8)
    status = read_prefixed(window.src, window.slices, window.validity, prefixes, suffixes, previous, offsets, data)
    assert offsets[-1] == -7
    if status >= 0 and room is None:
        assert status == needed[0]
    return status, offsets[:-1], data


def texts_of(window: Window, offsets: np.ndarray, data: np.ndarray) -> list[bytes]:
    """Present values; null slots must be empty."""
    lengths = np.diff(offsets)
    assert not lengths[~window.present].any()
    return [data[offsets[k] : offsets[k + 1]].tobytes() for k in np.flatnonzero(window.present)]


Encoder = Callable[[list[bytes]], bytes]
FORMS = [
    pytest.param(encode_lengths_first, lambda w, kind: lengths_first(w, 200_000, kind), id="lengths_first"),
    pytest.param(encode_prefixed, lambda w, kind: prefixed(w, None, kind), id="prefixed"),
]


@pytest.mark.parametrize(("encode", "read"), FORMS)
@pytest.mark.parametrize("offsets_type", [np.int32, np.int64])
def test_every_count_comes_back(encode: Encoder, read: Callable[..., Result], offsets_type: type) -> None:
    for count in COUNTS:
        texts = random_texts(count, 1)
        window = Window([(encode(texts), count, 0, count)])
        status, offsets, data = read(window, offsets_type)
        assert status == sum(map(len, texts))
        assert texts_of(window, offsets, data) == texts


@pytest.mark.parametrize(("encode", "read"), FORMS)
@pytest.mark.parametrize("nulls", [0.0, 0.01, 0.5, 0.99])
def test_several_pages_with_skips_fill_their_slots(encode: Encoder, read: Callable[..., Result], nulls: float) -> None:
    pages = [random_texts(200, k) for k in range(len(PARTS))]
    window = Window([(encode(p), 200, *part) for p, part in zip(pages, PARTS, strict=True)], nulls)
    status, offsets, data = read(window, np.int32)
    expected = [t for p, (skip, take) in zip(pages, PARTS, strict=True) for t in p[skip : skip + take]]
    assert status == sum(map(len, expected))
    assert texts_of(window, offsets, data) == expected


@pytest.mark.parametrize(("encode", "read"), FORMS)
def test_page_of_nulls_needs_no_bytes_at_all(encode: Encoder, read: Callable[..., Result]) -> None:
    window = Window([(b"", 0, 0, 0), (encode([]), 0, 0, 0)], 0.5)
    status, offsets, _ = read(window, np.int32)
    assert status == 0
    assert not offsets.any()


@pytest.mark.parametrize(("encode", "read"), FORMS)
def test_page_cut_anywhere_is_refused(encode: Encoder, read: Callable[..., Result]) -> None:
    texts = [*random_texts(60, 3), b"end"]
    body = encode(texts)
    for size in range(len(body)):
        window = Window([(encode([b"a"]), 1, 0, 1), (body[:size], 61, 0, 61)])
        status, _, _ = read(window, np.int32)
        assert page_of(status) == 1
        assert code_of(status) in (TRUNCATED, CORRUPT, BAD_COUNT, BAD_LENGTH, BAD_BIT_WIDTH)


@pytest.mark.parametrize(("encode", "read"), FORMS)
@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_changed_bytes_never_write_outside_the_buffers(
    encode: Encoder, read: Callable[..., Result], data: st.DataObject
) -> None:
    texts = random_texts(150, 4)
    body = bytearray(encode(texts))
    streams = len(body) - sum(map(len, texts)) if encode is encode_lengths_first else 400
    for _ in range(data.draw(st.integers(1, 4))):
        where = data.draw(st.integers(0, streams) | st.integers(0, len(body) - 1))
        body[where] = data.draw(st.integers(0, 255))
    skip = data.draw(st.integers(0, 150))
    take = data.draw(st.integers(0, 150 - skip))
    window = Window([(bytes(body), 150, skip, take)], data.draw(st.sampled_from([0.0, 0.3])))
    status, offsets, out = read(window, np.int32)
    if status >= 0:
        assert (np.diff(offsets) >= 0).all()
        assert offsets[-1] == status <= len(out) - SLACK
        assert (out[status + SLACK :] == 0xA5).all()  # nothing behind the values but the spare bytes


@pytest.mark.parametrize("lengths", [[-1], [3, -(2**31)], [2**31 - 1, 2**31 - 1, 2], [2, 4]])
def test_bad_length_is_refused(lengths: list[int]) -> None:
    body = encode_deltas(lengths, 32) + b"12345"
    for skip in range(len(lengths) + 1):
        window = Window([(body, len(lengths), skip, len(lengths) - skip)])
        assert code_of(lengths_first(window, 2000)[0]) in (BAD_LENGTH, TRUNCATED)


def test_lengths_that_do_not_fit_the_buffer_are_refused() -> None:
    texts = [b"x" * 40] * 3
    for room in range(120):
        status, _, _ = lengths_first(Window([(encode_lengths_first(texts), 3, 0, 3)]), room)
        assert code_of(status) == OUTPUT_FULL
        status, _, _ = prefixed(Window([(encode_prefixed(texts), 3, 0, 3)]), room)
        assert code_of(status) == OUTPUT_FULL
    assert lengths_first(Window([(encode_lengths_first(texts), 3, 0, 3)]), 120)[0] == 120


def test_scratch_that_is_too_short_is_refused() -> None:
    window = Window([(encode_prefixed([b"a", b"b"]), 2, 0, 2)])
    short, needed = np.zeros(1, np.int32), np.zeros(2, np.int64)
    assert code_of(measure_prefixed(window.src, window.slices, short, np.zeros(2, np.int32), needed)) == OUTPUT_FULL
    assert code_of(measure_prefixed(window.src, window.slices, np.zeros(2, np.int32), short, needed)) == OUTPUT_FULL
    window = Window([(encode_lengths_first([b"a", b"b"]), 2, 0, 2)])
    offsets, data = np.zeros(3, np.int32), np.zeros(100, np.uint8)
    status = read_lengths_first(window.src, window.slices, window.validity, short, offsets, data)
    assert code_of(status) == OUTPUT_FULL


@pytest.mark.parametrize(
    ("prefixes", "suffixes", "code"),
    [
        ([1, 0], [b"ab", b"c"], BAD_LENGTH),  # the first value has nothing to share
        ([0, 3], [b"ab", b"c"], BAD_LENGTH),
        ([0, -1], [b"ab", b"c"], BAD_LENGTH),
        ([0, 2**31 - 1], [b"ab", b"c"], BAD_LENGTH),
    ],
)
def test_prefix_longer_than_the_value_before_is_refused(prefixes: list[int], suffixes: list[bytes], code: int) -> None:
    for skip in range(2):
        window = Window([(join_prefixed(prefixes, suffixes), 2, skip, 2 - skip)])
        assert code_of(prefixed(window)[0]) == code


@pytest.mark.parametrize(("lengths", "code"), [([1, -1], BAD_LENGTH), ([2, 2], TRUNCATED), ([2**31 - 1, 0], TRUNCATED)])
def test_bad_suffix_length_is_refused(lengths: list[int], code: int) -> None:
    body = encode_deltas([0, 0], 32) + encode_deltas(lengths, 32) + b"abc"
    assert code_of(prefixed(Window([(body, 2, 0, 2)]))[0]) == code


def test_small_page_may_decode_to_far_more_bytes_than_it_has() -> None:
    count, text = 5000, b"z" * 1000
    window = Window([(encode_prefixed([text] * count), count, 4000, 1000)])
    assert len(window.src) < 3000
    status, offsets, data = prefixed(window, None, np.int64)
    assert status == 1_000_000
    assert set(texts_of(window, offsets, data)) == {text}


def test_needed_counts_wanted_bytes_and_the_longest_value_before_them() -> None:
    texts = [b"ab", b"abcdefgh", b"abc", b"x"]
    needed, lengths = np.zeros(2, np.int64), np.zeros((2, 4), np.int32)
    window = Window([(encode_prefixed(texts), 4, 2, 2)])
    assert measure_prefixed(window.src, window.slices, lengths[0], lengths[1], needed) == 0
    assert needed.tolist() == [4, 8]
