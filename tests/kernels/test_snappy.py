"""Raw snappy blocks against cramjam and a decoder of a few lines; damaged ones end in a status inside their span."""

from __future__ import annotations

import os
import random

import cramjam
import numpy as np
import pytest
from hardwood_jit.kernels.slices import SLACK
from hardwood_jit.kernels.snappy import INFLATE_FIELDS, inflate_first_values, inflate_pages, inflate_prefix
from hardwood_jit.kernels.status import BAD_COUNT, CORRUPT, OK, OUTPUT_FULL, TRUNCATED, code_of, page_of
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.kernels.guarded import Guard
from tests.support.pages import varint

ROOM = 1 << 18
SOURCE, TARGET = Guard(ROOM), Guard(ROOM)
CANARY = 0xC7
QUICK = settings(
    max_examples=150,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    derandomize=os.environ.get("CI") == "true",
    print_blob=True,
)


def compress(data: bytes) -> bytes:
    return bytes(cramjam.snappy.compress_raw(data))


def inflate(block: bytes, size: int, behind: int = 0, readable: int = 0) -> tuple[int, bytes]:
    """Status and output of one page.

    The last byte of the input (and `readable` more) is the last one of its memory; `behind` bytes of a next page follow
    the output, which ends its memory too. What lies before and behind the output must stay as it was.
    """
    before = 40  # a page before this one: copies must not reach into it
    src = SOURCE.place(block, readable)
    out = TARGET.place(bytes([CANARY]) * (before + size + behind), 0)
    table = np.zeros((1, INFLATE_FIELDS), np.int64)
    table[0] = (0, len(block), before, before + size)
    status = int(inflate_pages(src, table, out))
    assert (out[:before] == CANARY).all(), "bytes before the page were written"
    assert (out[before + size :] == CANARY).all(), "bytes behind the page were written"
    return status, out[before : before + size].tobytes()


def reference(block: bytes, size: int) -> bytes | None:
    """What the block stands for, or None where it breaks the format or does not fill `size` bytes."""
    announced = shift = pos = 0
    while True:
        if pos == len(block) or shift == 35:
            return None
        announced |= (block[pos] & 0x7F) << shift
        shift += 7
        pos += 1
        if block[pos - 1] < 0x80:
            break
    if announced != size:
        return None
    out = bytearray()
    while pos < len(block):
        tag = block[pos]
        kind, pos = tag & 3, pos + 1
        length = (tag >> 2) + 1
        if kind == 0:
            if length > 60:
                extra = length - 60
                if pos + extra > len(block):
                    return None
                length = int.from_bytes(block[pos : pos + extra], "little") + 1
                pos += extra
            if pos + length > len(block):
                return None
            out += block[pos : pos + length]
            pos += length
        else:
            extra = {1: 1, 2: 2, 3: 4}[kind]
            if pos + extra > len(block):
                return None
            distance = int.from_bytes(block[pos : pos + extra], "little")
            if kind == 1:
                distance |= (tag >> 5) << 8
                length = ((tag >> 2) & 7) + 4
            pos += extra
            if not 0 < distance <= len(out) or len(out) + length > size:
                return None
            for _ in range(length):
                out.append(out[-distance])
        if len(out) > size:
            return None
    return bytes(out) if len(out) == size else None


# Elements by hand


def literal(data: bytes, extra: int | None = None) -> bytes:
    """`extra` bytes hold the length; None takes the shortest form."""
    count = len(data) - 1
    if extra is None:
        extra = 0 if count < 60 else (count.bit_length() + 7) // 8
    if extra == 0:
        return bytes([count << 2]) + data
    return bytes([(59 + extra) << 2]) + count.to_bytes(extra, "little") + data


def copy(distance: int, length: int, extra: int) -> bytes:
    """`extra` is 1 (4 to 11 bytes from up to 2047 before), 2 or 4 (1 to 64 bytes)."""
    if extra == 1:
        return bytes([1 | (length - 4) << 2 | (distance >> 8) << 5, distance & 0xFF])
    return bytes([(2 if extra == 2 else 3) | (length - 1) << 2]) + distance.to_bytes(extra, "little")


def block_of(size: int, *elements: bytes) -> bytes:
    return varint(size) + b"".join(elements)


shapes = st.one_of(
    st.binary(max_size=300),
    st.builds(lambda part, times: part * times, st.binary(min_size=1, max_size=30), st.integers(1, 400)),
    st.lists(st.sampled_from([b"AIR", b"TRUCK", b"REG AIR", b"\0\0\0\0", b"x"]), max_size=400).map(b"".join),
    st.builds(
        lambda seed, count, step: np.arange(seed, seed + count * step, step, dtype=np.int64).tobytes(),
        st.integers(0, 1 << 40),
        st.integers(0, 600),
        st.integers(1, 1000),
    ),
    st.builds(lambda seed, size: random.Random(seed).randbytes(size), st.integers(0, 99), st.integers(0, 70_000)),
)


@QUICK
@given(data=shapes, behind=st.sampled_from([0, 1, 100]), readable=st.sampled_from([0, 100]))
def test_what_another_library_compresses_comes_back(data: bytes, behind: int, readable: int) -> None:
    assert inflate(compress(data), len(data), behind, readable) == (OK, data)


def test_every_length_around_the_fast_moves_comes_back() -> None:
    rng = random.Random(1)
    for size in range(200):
        for data in (rng.randbytes(size), b"ab" * size, bytes(size)):
            assert inflate(compress(data), len(data)) == (OK, data)


def test_long_literals_use_one_to_four_length_bytes() -> None:
    rng = random.Random(2)
    for size in (1, 2, 16, 17, 59, 60, 61, 255, 256, 257, 65_535, 65_536, 65_537, 100_000):
        data = rng.randbytes(size)
        for extra in range(5):
            if (extra == 0 and size > 60) or (extra and (size - 1) >> (8 * extra)):
                continue
            for tail in (b"", b"z" * 30):  # at the end of the page and before it
                elements = [literal(data, extra), *([literal(tail)] if tail else [])]
                assert inflate(block_of(size + len(tail), *elements), size + len(tail)) == (OK, data + tail)


@pytest.mark.parametrize("distance", [*range(1, 21), 31, 32, 33, 63, 64, 65, 100])
def test_copies_may_overlap_what_they_write(distance: int) -> None:
    start = random.Random(distance).randbytes(max(distance, 4) + 7)
    for length in (*range(1, 65),):
        repeated = bytearray(start)
        for _ in range(length):
            repeated.append(repeated[-distance])
        for extra in (1, 2, 4):
            if extra == 1 and not 4 <= length <= 11:
                continue
            for tail in (0, 200):  # close to the end bytes are moved one by one
                data = bytes(repeated) + bytes(tail)
                elements = [literal(start), copy(distance, length, extra), *([literal(bytes(tail))] if tail else [])]
                assert inflate(block_of(len(data), *elements), len(data)) == (OK, data)


def test_copy_reaches_back_as_far_as_its_offset_bytes_go() -> None:
    rng = random.Random(3)
    start = rng.randbytes(100_000)
    for distance, extra in ((2047, 1), (2047, 2), (65_535, 2), (65_535, 4), (65_536, 4), (100_000, 4)):
        for length in (4, 11, 17, 64):
            if extra == 1 and length > 11:
                continue
            data = start + start[len(start) - distance :][:length] + b"e" * 100
            block = block_of(len(data), literal(start), copy(distance, length, extra), literal(b"e" * 100))
            assert inflate(block, len(data)) == (OK, data)


@pytest.mark.parametrize("extra", [1, 2, 4])
def test_copy_from_before_the_page_or_from_nowhere_is_refused(extra: int) -> None:
    for tail in (0, 200):  # the fast and the careful way
        size = 10 + 8 + tail
        for distance in (0, 11, 12, 40, 51, 2047):
            rest = [literal(bytes(tail))] if tail else []
            block = block_of(size, literal(b"0123456789"), copy(distance, 8, extra), *rest)
            assert code_of(inflate(block, size)[0]) == CORRUPT
    for distance in (1 << 31, (1 << 32) - 1):
        block = block_of(300, literal(b"0123456789"), copy(distance, 8, 4), literal(bytes(282)))
        assert code_of(inflate(block, 300)[0]) == CORRUPT


def test_elements_that_overfill_the_page_are_refused() -> None:
    for size in (3, 12, 100, 300):
        for elements in (
            [literal(bytes(size + 1))],
            [literal(bytes(size - 1)), literal(b"ab")],
            [literal(bytes(size - 1)), copy(1, 5, 1)],
            [literal(bytes(size - 1)), copy(2, 64, 2)],
        ):
            assert inflate(block_of(size, *elements), size)[0] < 0


def test_announced_size_must_be_the_one_of_the_page() -> None:
    data = b"some bytes"
    for announced in (0, 9, 11, (1 << 32) - 1):
        assert code_of(inflate(varint(announced) + literal(data), 10)[0]) == BAD_COUNT
    assert code_of(inflate(block_of(10, literal(data[:9])), 10)[0]) == BAD_COUNT
    assert inflate(b"", 0)[0] < 0
    assert inflate(b"\0", 0) == (OK, b"")
    for endless in (b"\x80" * 10, b"\xff" * 5, b"\x80"):
        assert inflate(endless, 0)[0] < 0


def test_literal_of_billions_is_refused_without_touching_them() -> None:
    for extra in (1, 2, 3, 4):
        tag = bytes([(59 + extra) << 2]) + b"\xff" * extra
        for size in (10, 400):
            assert inflate(varint(size) + tag + bytes(20), size)[0] < 0
            assert inflate(varint(size) + tag, size)[0] < 0


def some_blocks(rng: random.Random) -> list[tuple[bytes, int]]:
    """Blocks with every kind of element, short and long ones, and what a compressor makes."""
    found = []
    for data in (
        b"",
        b"a",
        b"abcd" * 40,
        rng.randbytes(90),
        b"".join(rng.choice([b"AIR", b"RAIL"]) for _ in range(70)),
    ):
        found.append((compress(data), len(data)))
    elements = [literal(rng.randbytes(70), 1), copy(1, 8, 1), copy(70, 60, 2), copy(3, 64, 4), literal(b"xyz", 2)]
    elements += [copy(20, 11, 1), copy(9, 64, 2), literal(rng.randbytes(61))]
    size = 70 + 8 + 60 + 64 + 3 + 11 + 64 + 61
    found.append((block_of(size, *elements), size))
    return found


def test_every_truncation_is_refused() -> None:
    for block, size in some_blocks(random.Random(4)):
        assert inflate(block, size)[0] == OK
        for end in range(len(block)):
            for readable in (0, 100):  # the bytes behind may be those of the next page
                status, _ = inflate(block[:end], size, readable=readable)
                assert code_of(status) in (TRUNCATED, CORRUPT, BAD_COUNT)


def test_changed_blocks_are_refused_or_stand_for_what_they_say() -> None:
    rng = random.Random(5)
    blocks = [item for item in some_blocks(rng) if item[0]]
    accepted = 0
    for _ in range(6000):
        block, size = rng.choice(blocks)
        changed = bytearray(block)
        for _ in range(rng.choice([1, 1, 2, 4])):
            changed[rng.randrange(len(changed))] = rng.choice([0, 1, 2, 3, 0x7F, 0x80, 0xF0, 0xFF, rng.randrange(256)])
        if rng.random() < 0.2:
            del changed[rng.randrange(len(changed)) :]
        expected = reference(bytes(changed), size)
        status, found = inflate(bytes(changed), size, behind=rng.choice([0, 9]), readable=rng.choice([0, 100]))
        assert (status == OK) == (expected is not None)
        if expected is not None:
            assert found == expected
            accepted += 1
    assert accepted > 500  # bytes of literals may change without harm


def test_pages_lie_side_by_side_and_the_bad_one_is_named() -> None:
    rng = random.Random(6)
    pages = [rng.choice([b"", b"page", rng.randbytes(150), b"abc" * 100]) for _ in range(30)]
    blocks = [compress(page) for page in pages]
    table = np.zeros((len(pages), INFLATE_FIELDS), np.int64)
    at = to = 0
    for row, (page, block) in enumerate(zip(pages, blocks, strict=True)):
        table[row] = (at, at + len(block), to, to + len(page))
        at += len(block)
        to += len(page)
    src = SOURCE.place(b"".join(blocks), 0)
    out = TARGET.place(bytes(to), 0)
    assert inflate_pages(src, table, out) == OK
    assert out.tobytes() == b"".join(pages)
    bad = next(row for row in range(10, 30) if pages[row])
    src[int(table[bad, 0])] ^= 1  # another size
    status = int(inflate_pages(src, table, out))
    assert (code_of(status), page_of(status)) == (BAD_COUNT, bad)
    assert inflate_pages(src, table[:0], out) == OK


# A part of a block


def inflate_part(block: bytes, size: int, enough: int, room: int | None = None) -> tuple[int, bytes]:
    """Status and the first `enough` bytes; input and output end their memory, the output with SLACK behind it."""
    src = SOURCE.place(block, 0)
    out = TARGET.place(bytes([CANARY]) * ((size if room is None else room) + SLACK), 0)
    status = int(inflate_prefix(src, out, size, enough))
    return status, out[:enough].tobytes()


@QUICK
@given(st.lists(st.sampled_from([b"a" * 40, b"parquet ", b"\0" * 8, bytes(range(97))]), max_size=60), st.data())
def test_prefix_is_the_start_of_the_whole(parts: list[bytes], data: st.DataObject) -> None:
    whole = b"".join(parts)
    enough = data.draw(st.integers(0, len(whole)))
    assert inflate_part(compress(whole), len(whole), enough) == (OK, whole[:enough])


@QUICK
@given(st.binary(max_size=400), st.integers(0, 600), st.integers(0, 600))
def test_prefix_of_anything_stays_inside_its_memory(block: bytes, size: int, enough: int) -> None:
    status, _ = inflate_part(block, size, min(enough, size))
    assert status in (OK, TRUNCATED, BAD_COUNT, CORRUPT)


def test_prefix_that_does_not_fit_is_refused() -> None:
    block = compress(bytes(500))
    assert inflate_part(block, 500, 100, room=499)[0] == OUTPUT_FULL
    assert inflate_part(block, 500, 501)[0] == OUTPUT_FULL


# A page as far as its first values need it


def inflate_first(block: bytes, size: int, count: int, itemsize: int, nullable: bool) -> tuple[int, bytes, int]:
    """Status, output and the bytes of it that are said to be there; input and output end their memory."""
    src = SOURCE.place(block, 0)
    before = 40
    out = TARGET.place(bytes([CANARY]) * (before + size), 0)
    table = np.zeros((1, INFLATE_FIELDS + 1), np.int64)
    table[0] = (0, len(block), before, before + size, count)
    status = int(inflate_first_values(src, table, out, itemsize, nullable))
    assert (out[:before] == CANARY).all(), "bytes before the page were written"
    return status, out[before:].tobytes(), int(table[0, -1])


def page_of_values(values: list[bytes], itemsize: int, levels: bytes | None) -> tuple[bytes, list[int]]:
    """A page of PLAIN values, and where each of them ends."""
    page = b"" if levels is None else len(levels).to_bytes(4, "little") + levels
    ends = []
    for value in values:
        page += value if itemsize else len(value).to_bytes(4, "little") + value
        ends.append(len(page))
    return page, ends


@QUICK
@given(
    st.sampled_from([0, 4, 8]),
    st.none() | st.binary(max_size=30),
    st.lists(st.binary(max_size=40) | st.sampled_from([b"", b"x" * 3000, bytes(range(256)) * 40]), max_size=60),
    st.data(),
)
def test_first_values_of_a_page_are_there(
    itemsize: int, levels: bytes | None, values: list[bytes], data: st.DataObject
) -> None:
    if itemsize:
        values = [value[:itemsize].ljust(itemsize, b"\1") for value in values]
    page, ends = page_of_values(values, itemsize, levels)
    count = data.draw(st.integers(0, len(values) + 2))  # more than there are, where nulls are counted
    status, out, reached = inflate_first(compress(page), len(page), count, itemsize, levels is not None)
    assert status == OK
    needed = ends[min(count, len(values)) - 1] if count and values else 0
    assert needed <= reached <= len(page)
    assert out[:reached] == page[:reached]


@pytest.mark.parametrize("itemsize", [0, 8])
def test_most_of_a_page_stays_compressed_where_its_first_values_are_wanted(itemsize: int) -> None:
    rng = random.Random(2)
    values = [rng.randbytes(8) for _ in range(20_000)]
    page, ends = page_of_values(values, itemsize, None)
    for count in (0, 1, 1_000, 10_000):
        status, out, reached = inflate_first(compress(page), len(page), count, itemsize, False)
        needed = ends[count - 1] if count else 0
        assert status == OK and out[:needed] == page[:needed]
        assert needed <= reached <= needed + 66_000  # a literal holds up to 64 KB


@QUICK
@given(
    st.binary(max_size=400), st.integers(0, 600), st.integers(0, 300), st.sampled_from([0, 4, 8]), st.booleans()
)
def test_first_values_of_anything_stay_inside_their_memory(
    block: bytes, size: int, count: int, itemsize: int, nullable: bool
) -> None:
    whole = block[:size].ljust(size, b"\2")
    status, out, reached = inflate_first(compress(whole), size, count, itemsize, nullable)  # no such values, perhaps
    assert status == OK and out[:reached] == whole[:reached]
    status, _, _ = inflate_first(block, size, count, itemsize, nullable)
    assert code_of(status) in (OK, TRUNCATED, BAD_COUNT, CORRUPT)
