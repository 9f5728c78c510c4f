"""DELTA_BINARY_PACKED streams, built byte by byte, come back as the integers that went in."""

from __future__ import annotations

import itertools
import random

import numpy as np
import pytest
from hardwood_jit.kernels.delta import decode_stream, read_integers
from hardwood_jit.kernels.slices import SLACK
from hardwood_jit.kernels.status import BAD_BIT_WIDTH, BAD_COUNT, CORRUPT, OK, TRUNCATED, code_of, page_of
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.kernels.delta_encoder import NO_NULLS, Window, encode_deltas, varint, zigzag_varint

# Both sides of miniblock and block edges, for 32 and 128 deltas after the first value.
COUNTS = [0, 1, 2, 31, 32, 33, 34, 127, 128, 129, 130, 257, 1000]
SIZES = [(128, 4), (128, 1), (256, 8), (1024, 32), (8, 1), (24, 3)]  # the last two are smaller than the format allows
SENTINEL = 0xA5A5A5A5


def random_values(count: int, bits: int, kind: str, seed: int = 0) -> list[int]:
    rng = random.Random(f"{count} {bits} {kind} {seed}")
    low, high = -(1 << (bits - 1)), (1 << (bits - 1)) - 1
    if kind == "constant":
        return [rng.randint(low, high)] * count
    if kind == "steps":
        return [1000 + 7 * i for i in range(count)]
    if kind == "extremes":
        return [rng.choice([low, high, 0, -1, 1, low + 1, high - 1]) for _ in range(count)]
    width = rng.randint(1, bits - 1)
    return [rng.randint(-(1 << (width - 1)), (1 << (width - 1))) for _ in range(count)]


def read(window: Window, bits: int) -> tuple[int, np.ndarray]:
    out = np.full(window.slots + 1, SENTINEL, np.uint32 if bits == 32 else np.uint64)
    status = read_integers(window.src, window.slices, window.validity, out)
    assert out[-1] == SENTINEL  # nothing behind the last slot is touched
    return status, out[:-1].view(np.int32 if bits == 32 else np.int64)


@pytest.mark.parametrize("bits", [32, 64])
@pytest.mark.parametrize(("block", "miniblocks"), SIZES)
@pytest.mark.parametrize("kind", ["constant", "steps", "extremes", "random"])
def test_every_count_comes_back(bits: int, block: int, miniblocks: int, kind: str) -> None:
    for count in COUNTS:
        values = random_values(count, bits, kind)
        body = encode_deltas(values, bits, block, miniblocks)
        status, out = read(Window([(body, count, 0, count)]), bits)
        assert status == OK
        assert out.tolist() == values


@pytest.mark.parametrize("width", range(65))
def test_every_bit_width_is_unpacked(width: int) -> None:
    rng = random.Random(width)
    values = [0]
    for k in range(200):  # zero and the largest delta keep the width of every miniblock at `width`
        delta = [0, (1 << width) - 1][k % 2] if k % 32 < 2 else rng.getrandbits(width) if width else 0
        values.append((values[-1] + delta) % (1 << 64))
    values = [v - (1 << 64) if v >> 63 else v for v in values]
    word = sum(((b - a) % (1 << 64)) << (k * width) for k, (a, b) in enumerate(itertools.pairwise(values)))
    body = varint(256) + varint(1) + varint(201) + zigzag_varint(0) + zigzag_varint(0) + bytes([width])
    body += word.to_bytes(256 * width // 8, "little")
    for skip in (0, 1, 77):
        status, out = read(Window([(body, 201, skip, 201 - skip)]), 64)
        assert status == OK
        assert out.tolist() == values[skip:]


@pytest.mark.parametrize("bits", [32, 64])
@pytest.mark.parametrize("nulls", [0.0, 0.01, 0.5, 0.99])
def test_several_pages_with_skips_fill_their_slots(bits: int, nulls: float) -> None:
    pages, expected = [], []
    parts = [(0, 0), (0, 200), (1, 1), (31, 2), (32, 97), (130, 70), (199, 1), (200, 0), (5, 0)]
    for k, (skip, take) in enumerate(parts):
        values = random_values(200, bits, ["random", "extremes"][k % 2], k)
        pages.append((encode_deltas(values, bits), 200, skip, take))
        expected += values[skip : skip + take]
    window = Window(pages, nulls)
    status, out = read(window, bits)
    assert status == OK
    assert out[window.present].tolist() == expected


def test_unused_miniblocks_may_have_any_width_and_no_bytes() -> None:
    values = random_values(40, 64, "random")
    for unused in (1, 64, 65, 255):
        status, out = read(Window([(encode_deltas(values, unused_width=unused), 40, 0, 40)]), 64)
        assert (status, out.tolist()) == (OK, values)


def test_padding_of_the_last_miniblock_may_be_cut() -> None:
    for count in (2, 30, 34, 129, 131):
        values = random_values(count, 64, "extremes")
        status, out = read(Window([(encode_deltas(values, cut=True), count, 0, count)]), 64)
        assert (status, out.tolist()) == (OK, values)


def test_stream_ends_where_the_next_one_starts() -> None:
    for count in COUNTS:
        values = random_values(count, 64, "random")
        body = encode_deltas(values)
        src = np.frombuffer(body + b"\x07" * (SLACK + 40), np.uint8)
        out = np.zeros(count, np.uint64)
        for take in {0, count // 2, count}:
            assert decode_stream(src, 0, len(body) + 40, count, 0, take, out, 0) == len(body)
        assert out.view(np.int64).tolist() == values


def test_int32_lengths_keep_their_sign() -> None:
    body = encode_deltas([5, -3, 2**31 - 1, -(2**31)], 32)
    out = np.zeros(4, np.int32)
    assert decode_stream(np.frombuffer(body + bytes(SLACK), np.uint8), 0, len(body), 4, 0, 4, out, 0) == len(body)
    assert out.tolist() == [5, -3, 2**31 - 1, -(2**31)]


def test_page_of_nulls_needs_no_bytes_at_all() -> None:
    window = Window([(b"", 0, 0, 0), (encode_deltas([]), 0, 0, 0)])
    assert read(window, 64)[0] == OK


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"", TRUNCATED),
        (varint(128) + varint(4) + varint(3) + zigzag_varint(1) + bytes(50), BAD_COUNT),
        (varint(128) + varint(0) + varint(2) + zigzag_varint(1) + bytes(50), CORRUPT),
        (varint(0) + varint(4) + varint(2) + zigzag_varint(1) + bytes(50), CORRUPT),
        (varint(128) + varint(3) + varint(2) + zigzag_varint(1) + bytes(50), CORRUPT),
        (varint(128) + varint(32) + varint(2) + zigzag_varint(1) + bytes(50), CORRUPT),  # 4 values are no whole byte
        (varint(2**32 - 8) + varint(2**29 - 1) + varint(2) + zigzag_varint(1) + bytes(50), TRUNCATED),
        (varint(2**40) + bytes(50), CORRUPT),
        (varint(128) + varint(4) + varint(2) + b"\xff" * 12, CORRUPT),
        (varint(128) + varint(4) + varint(2) + zigzag_varint(1) + b"\xff" * 12, CORRUPT),
        (varint(128) + varint(4) + varint(2) + zigzag_varint(1) + b"\x00\x41\x00\x00\x00" + bytes(2000), BAD_BIT_WIDTH),
        (varint(128) + varint(4) + varint(2) + zigzag_varint(1) + b"\x00\x09\x00\x00\x00" + bytes(1), TRUNCATED),
    ],
)
def test_illegal_stream_is_refused_and_its_page_named(body: bytes, code: int) -> None:
    good = encode_deltas([1, 2])
    status, _ = read(Window([(good, 2, 0, 2), (body, 2, 0, 2)]), 64)
    assert (code_of(status), page_of(status)) == (code, 1)


def test_one_huge_miniblock_of_equal_deltas_is_legal() -> None:
    body = varint(2**32 - 8) + varint(1) + varint(1000) + zigzag_varint(5) + zigzag_varint(-1) + b"\x00"
    status, out = read(Window([(body, 1000, 990, 10)]), 64)
    assert (status, out.tolist()) == (OK, [5 - k for k in range(990, 1000)])


def test_stream_cut_anywhere_is_refused() -> None:
    values = random_values(300, 64, "random")
    body = encode_deltas(values, cut=True)
    for size in range(len(body)):
        status, _ = read(Window([(body[:size], 300, 0, 300)]), 64)
        assert code_of(status) == TRUNCATED


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_changed_bytes_never_write_outside_the_slots(data: st.DataObject) -> None:
    body = bytearray(encode_deltas(random_values(300, 64, "random"), block=256, miniblocks=8))
    for _ in range(data.draw(st.integers(1, 4))):
        # The first bytes are headers: half of the changes go there.
        where = data.draw(st.integers(0, 30) | st.integers(0, len(body) - 1))
        body[where] = data.draw(st.integers(0, 255))
    skip = data.draw(st.integers(0, 300))
    take = data.draw(st.integers(0, 300 - skip))
    nulls = data.draw(st.sampled_from([0.0, 0.3]))
    for bits in (32, 64):
        status, _ = read(Window([(bytes(body), 300, skip, take)], nulls), bits)
        assert status == OK or code_of(status) in (TRUNCATED, CORRUPT, BAD_COUNT, BAD_BIT_WIDTH)


def test_table_without_pages_is_fine() -> None:
    assert read_integers(np.zeros(SLACK, np.uint8), np.zeros((0, 7), np.int64), NO_NULLS, np.zeros(0, np.uint64)) == OK
