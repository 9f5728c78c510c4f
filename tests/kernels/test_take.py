"""Pages in the row space of a window, and values picked from them by number, against Python lists."""

from __future__ import annotations

import random
import struct
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hardwood_jit.kernels.levels import BODY_FIELDS
from hardwood_jit.kernels.slices import (
    FILTER_FIELDS,
    OUT_START,
    RANK_START,
    ROW_COUNT,
    ROW_START,
    SKIP,
    SLACK,
    SLOTS,
    SRC_END,
    SRC_START,
    STREAM_COUNT,
    TAKE,
)
from hardwood_jit.kernels.status import (
    BAD_BIT_WIDTH,
    BAD_COUNT,
    BAD_INDEX,
    BAD_LENGTH,
    BAD_LEVEL,
    OK,
    OUTPUT_FULL,
    TRUNCATED,
    code_of,
    page_of,
)

from hardwood_jit.jit.kernel_cache import load
from tests.kernels.guarded import Guard
from tests.support.pages import dictionary_indexes, hybrid

GUARD = Guard()
NO_WORDS = np.zeros(0, np.uint64)


# ---------------------------------------------------------------- pages under a window


@dataclass
class Pages:
    """Bodies of pages one after the other, each with its levels and a few bytes of values."""

    src: np.ndarray
    bodies: np.ndarray
    levels: list[list[int]]  # per page, 1 = present
    values_start: list[int]  # per page, where its values begin


def some_pages(rng: random.Random, nullable: bool, version: int, first_row: int) -> Pages:
    raw, bodies, levels, starts = b"", [], [], []
    for rows in rng.choices([0, 1, 8, 63, 64, 65, 130], k=5):
        density = rng.choice([0.0, 0.3, 1.0])
        present = [int(rng.random() >= density) for _ in range(rows)] if nullable else [1] * rows
        stream = hybrid(present, 1, rng.choice(["auto", "rle", "packed", "ones"])) if nullable else b""
        if nullable and version == 1:
            stream = struct.pack("<I", len(stream)) + stream
        raw += rng.randbytes(rng.randrange(4))
        start = len(raw)
        raw += stream + b"VALUES"
        sizes = (len(stream), 0) if version == 2 else (-1, -1)
        bodies.append((start, len(raw), rows, *sizes, 3, 3, first_row))
        levels.append(present)
        starts.append(start + len(stream))
        first_row += rows
    return Pages(GUARD.place(raw, SLACK), np.array(bodies, np.int64), levels, starts)


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("nullable", [False, True], ids=["required", "optional"])
def test_pages_are_sliced_in_the_row_space_of_the_window(nullable: bool, version: int) -> None:
    rng = random.Random(f"{nullable} {version}")
    for _ in range(200):
        first_row = rng.choice([0, 1000])
        pages = some_pages(rng, nullable, version, first_row)
        total = sum(map(len, pages.levels))
        start = first_row + rng.randint(0, total)
        stop = rng.randint(start, first_row + total)
        validity = np.zeros(((stop - start + 63) >> 6) + 1, np.uint64) if nullable else NO_WORDS
        slices = np.full((len(pages.bodies), FILTER_FIELDS), -99, np.int64)
        counts = np.zeros(8, np.int64)
        status = load("take.slice_pages")(pages.src, pages.bodies, nullable, start, stop, validity, counts, slices)
        flat = [level for page in pages.levels for level in page][start - first_row : stop - first_row]
        assert status == flat.count(0)
        if nullable:
            assert int.from_bytes(validity.tobytes(), "little") == sum(bit << row for row, bit in enumerate(flat))
        dense, row = 0, first_row
        for number, present in enumerate(pages.levels):
            low, high = (min(max(edge - row, 0), len(present)) for edge in (start, stop))
            take = sum(present[low:high])
            found = slices[number]
            assert found[[STREAM_COUNT, SKIP, TAKE, OUT_START, SLOTS]].tolist() == [
                sum(present), sum(present[:low]), take, dense, take,
            ]  # fmt: skip
            assert found[[SRC_START, SRC_END]].tolist() == [pages.values_start[number], pages.bodies[number, 1]]
            assert found[ROW_COUNT] == high - low
            if high > low:
                assert found[ROW_START] == row + low - start
            dense += take
            row += len(present)


def test_levels_that_are_cut_or_too_high_are_a_status_and_name_their_page() -> None:
    counts = np.zeros(8, np.int64)
    good = hybrid([1] * 20, 1, "rle")
    for stream, code in ((hybrid([1] * 19, 1, "rle"), TRUNCATED), (b"", TRUNCATED), (b"\x28\x02", BAD_LEVEL)):
        for version in (1, 2):
            parts = [good, stream]
            if version == 1:
                parts = [struct.pack("<I", len(part)) + part for part in parts]
            raw = b"".join(parts)
            cut = len(parts[0])
            bodies = np.array(
                [
                    (0, cut, 20, len(good) if version == 2 else -1, -1, 3, 3, 0),
                    (cut, len(raw), 20, len(stream) if version == 2 else -1, -1, 3, 3, 20),
                ],
                np.int64,
            )
            slices, validity = np.zeros((2, FILTER_FIELDS), np.int64), np.zeros(2, np.uint64)
            status = load("take.slice_pages")(GUARD.place(raw), bodies, True, 0, 40, validity, counts, slices)
            assert (code_of(status), page_of(status)) == (code, 1)
    # Lengths of level streams beyond the page, as V1 and V2 pages have them.
    for body, raw in (
        ((0, 6, 5, -1, -1, 3, 3, 0), struct.pack("<I", 3) + b"\x0a\x01"),
        ((0, 6, 5, -1, -1, 3, 3, 0), struct.pack("<I", 0xFFFFFFFF) + b"\x0a\x01"),
        ((0, 3, 5, -1, -1, 3, 3, 0), b"\x02\0\0"),
        ((0, 2, 5, 3, 0, 3, 3, 0), b"\x0a\x01"),
        ((0, 2, 5, 1 << 40, 0, 3, 3, 0), b"\x0a\x01"),
        ((0, 2, 5, 2, 3, 3, 3, 0), b"\x0a\x01"),
    ):
        bodies = np.array([body], np.int64)
        assert bodies.shape[1] == BODY_FIELDS
        slices, validity = np.zeros((1, FILTER_FIELDS), np.int64), np.zeros(2, np.uint64)
        status = load("take.slice_pages")(GUARD.place(raw), bodies, True, 0, 5, validity, counts, slices)
        assert code_of(status) == TRUNCATED
        if body[3] > 2 or body[4] > 2:  # a required column has no levels, but a V2 header may claim some
            status = load("take.slice_pages")(GUARD.place(raw), bodies, False, 0, 5, NO_WORDS, counts, slices)
            assert code_of(status) == TRUNCATED


# ---------------------------------------------------------------- values by number


@dataclass
class Gathered:
    """Survivors of some pages: which values they need, and where those go."""

    src: np.ndarray
    table: np.ndarray
    ranks: np.ndarray
    validity: np.ndarray
    slots: list[Any]  # per survivor its value, None where it is null

    @property
    def values(self) -> list[Any]:
        return [value for value in self.slots if value is not None]


def some_survivors(
    rng: random.Random,
    draw: Callable[[random.Random], Any],
    encode: Callable[[list[Any]], bytes],
    null_density: float,
    share: float,
) -> Gathered:
    raw, table, ranks, slots = b"", [], [], []
    for count in rng.choices([0, 1, 9, 70, 150], k=5):
        values = [draw(rng) for _ in range(count)]
        chosen = [number for number in range(count) if rng.random() < share]
        raw += rng.randbytes(rng.randrange(4))
        start = len(raw)
        raw += encode(values)
        page = np.zeros(FILTER_FIELDS, np.int64)
        own: list[Any] = []
        for number in chosen:
            own += [None] * (rng.randrange(3) if rng.random() < null_density else 0)
            own.append(values[number])
        own += [None] * (rng.randrange(5) if null_density else 0)
        page[[SRC_START, SRC_END, STREAM_COUNT, TAKE]] = (start, len(raw), count, len(chosen))
        page[[OUT_START, SLOTS, RANK_START]] = (len(slots), len(own), len(ranks))
        table.append(page)
        ranks += chosen
        slots += own
    present = [value is not None for value in slots]
    words = NO_WORDS
    if not all(present):
        total = sum(bit << number for number, bit in enumerate(present))
        words = np.frombuffer(total.to_bytes(8 * (len(present) // 64 + 2), "little"), np.uint64).copy()
    return Gathered(GUARD.place(raw, SLACK), np.array(table), np.array([*ranks, 0], np.int32), words, slots)


SHARES = [0.0, 0.05, 0.5, 1.0]
NULLS = [0.0, 0.4]


@pytest.mark.parametrize("word", ["uint32", "uint64"])
def test_listed_plain_numbers_come_to_their_slots(word: str) -> None:
    rng = random.Random(word)
    size = np.dtype(word).itemsize
    take = load("take.take_fixed", word)
    for share in SHARES:
        for nulls in NULLS:
            for _ in range(15):
                given = some_survivors(
                    rng,
                    lambda rng: rng.getrandbits(8 * size),
                    lambda values: b"".join(value.to_bytes(size, "little") for value in values),
                    nulls,
                    share,
                )
                out = np.full(len(given.slots) + 1, 77, word)
                assert take(given.src, given.table, given.ranks, given.validity, out[:-1]) == OK
                for value, found in zip(given.slots, out[:-1].tolist(), strict=True):
                    assert value is None or value == found
                assert out[-1] == 77
                refuse_changes(
                    lambda table, given=given, out=out: take(given.src, table, given.ranks, given.validity, out[:-1]),
                    given,
                )
                for row in live_rows(given):
                    cut = given.table.copy()
                    last = int(given.ranks[cut[row, RANK_START] + cut[row, TAKE] - 1])
                    cut[row, SRC_END] = cut[row, SRC_START] + last * size + size - 1
                    assert take(given.src, cut, given.ranks, given.validity, out) == fail(TRUNCATED, row)
                    full = take(given.src, given.table, given.ranks, given.validity, out[:0])
                    assert code_of(full) == OUTPUT_FULL


def fail(code: int, page: int) -> int:
    return code - 64 * page


def live_rows(given: Gathered) -> list[int]:
    return [row for row in range(len(given.table)) if given.table[row, TAKE]]


def refuse_changes(call: Callable[[np.ndarray], int], given: Gathered) -> None:
    """Lists that do not lie in `ranks`, and numbers that the page does not have, are a status."""
    for row in live_rows(given):
        last = int(given.ranks[given.table[row, RANK_START] + given.table[row, TAKE] - 1])
        for field, value in (
            (RANK_START, -1),
            (RANK_START, given.ranks.size),
            (TAKE, int(given.table[row, SLOTS]) + 1),
            (STREAM_COUNT, last),
        ):
            changed = given.table.copy()
            changed[row, field] = value
            status = call(changed)
            assert (code_of(status), page_of(status)) == (BAD_COUNT, row)


@pytest.mark.parametrize("form", ["auto", "rle", "packed", "ones"])
def test_listed_dictionary_indexes_come_one_after_the_other(form: str) -> None:
    rng = random.Random(form)
    take = load("take.take_indexes")
    for entries in (1, 2, 3, 100, 1000, 70_000):
        width = (entries - 1).bit_length()
        for share in SHARES:
            for extra in (0, 3):  # wider than needed is legal
                stretch = [0]

                def draw(rng: random.Random, entries: int = entries, stretch: list[int] = stretch) -> int:
                    if rng.random() < 0.2:
                        stretch[0] = rng.randrange(entries)
                    return stretch[0]

                given = some_survivors(
                    rng, draw, lambda values, wide=width + extra: dictionary_indexes(values, wide, form), 0.3, share
                )
                out = np.full(len(given.values) + 1, -7, np.int32)
                assert take(given.src, given.table, given.ranks, entries, out[:-1]) == len(given.values)
                assert out.tolist() == [*given.values, -7]
                refuse_changes(
                    lambda table, given=given, entries=entries, out=out: take(
                        given.src, table, given.ranks, entries, out[:-1]
                    ),
                    given,
                )
                highest = max(given.values, default=0)
                if given.values and highest:
                    assert code_of(take(given.src, given.table, given.ranks, highest, out)) == BAD_INDEX
                if given.values:
                    room = len(given.values) - 1
                    assert code_of(take(given.src, given.table, given.ranks, entries, out[:room])) == BAD_COUNT
                    assert code_of(take(given.src, given.table, given.ranks, 0, out)) == BAD_INDEX


def test_index_streams_that_are_cut_or_malformed_are_a_status() -> None:
    rng = random.Random(9)
    take = load("take.take_indexes")
    table = np.zeros((1, FILTER_FIELDS), np.int64)
    for form in ("rle", "packed", "auto"):
        values = [rng.randrange(200) for _ in range(60)]
        raw = dictionary_indexes(values, 8, form)
        table[0, [SRC_START, SRC_END, STREAM_COUNT, TAKE, SLOTS]] = (0, len(raw), 60, 60, 60)
        ranks, out = np.arange(60, dtype=np.int32), np.zeros(60, np.int32)
        assert take(GUARD.place(raw), table, ranks, 200, out) == 60
        for end in range(len(raw) - 8):  # the last group may be cut by what its padding takes
            table[0, SRC_END] = end
            status = take(GUARD.place(raw[:end]), table, ranks, 200, out)
            assert status < 0 or out.tolist() == values
        for width in (33, 255):
            table[0, SRC_END] = len(raw)
            assert code_of(take(GUARD.place(bytes([width]) + raw[1:]), table, ranks, 200, out)) == BAD_BIT_WIDTH
    # Empty runs for ever: they end with the input.
    table[0, SRC_END] = 41
    assert take(GUARD.place(b"\x08" + b"\0\x07" * 20), table, ranks, 200, out) < 0
    # More values in a run than the page has: only those that are listed are looked at.
    table[0, SRC_END] = 7
    assert take(GUARD.place(b"\x08\xfe\xff\xff\xff\x0f\x05"), table, ranks, 200, out) == 60
    assert out.tolist() == [5] * 60


def byte_array(rng: random.Random) -> bytes:
    return rng.randbytes(rng.choice([0, 1, 12, 16, 31, 32, 33, 64, 65, 200]))


def plain_bytes(values: list[bytes]) -> bytes:
    return b"".join(struct.pack("<I", len(value)) + value for value in values)


@pytest.mark.parametrize("o", ["int32", "int64"])
def test_listed_byte_arrays_are_found_and_copied_to_their_slots(o: str) -> None:
    rng = random.Random(o)
    find, copy = load("take.find_byte_arrays"), load("take.copy_byte_arrays", o=o)
    for share in SHARES:
        for nulls in NULLS:
            for _ in range(10):
                given = some_survivors(rng, byte_array, plain_bytes, nulls, share)
                count, total = len(given.values), sum(map(len, given.values))
                starts, lengths = np.full(count + 1, -7, np.int64), np.full(count + 1, -7, np.int32)
                assert find(given.src, given.table, given.ranks, starts[:-1], lengths[:-1]) == total
                assert lengths.tolist() == [*map(len, given.values), -7]
                found = [given.src[a : a + size].tobytes() for a, size in zip(starts, lengths, strict=True)][:-1]
                assert found == given.values
                refuse_changes(
                    lambda table, given=given, starts=starts, lengths=lengths: find(
                        given.src, table, given.ranks, starts, lengths
                    ),
                    given,
                )
                if count:
                    assert code_of(find(given.src, given.table, given.ranks, starts[:0], lengths)) == OUTPUT_FULL
                offsets = np.full(len(given.slots) + 2, -7, o)
                offsets[0] = 0
                data = np.full(total + SLACK + 1, 77, np.uint8)
                arguments = (given.src, given.table, starts[:-1], lengths[:-1], given.validity)
                assert copy(*arguments, offsets[:-1], data[:-1]) == OK
                sizes = [0 if value is None else len(value) for value in given.slots]
                assert offsets.tolist() == [*np.cumsum([0, *sizes]).tolist(), -7]
                assert data[:total].tobytes() == b"".join(given.values)
                assert data[-1] == 77
                if total:
                    assert code_of(copy(*arguments, offsets[:-1], data[: total + SLACK - 1])) == OUTPUT_FULL
                if given.slots:
                    assert code_of(copy(*arguments, offsets[: len(given.slots)], data)) == OUTPUT_FULL


def test_byte_arrays_that_are_cut_are_a_status() -> None:
    rng = random.Random(10)
    find = load("take.find_byte_arrays")
    values = [byte_array(rng) for _ in range(12)]
    raw = plain_bytes(values)
    table = np.zeros((1, FILTER_FIELDS), np.int64)
    starts, lengths = np.zeros(12, np.int64), np.zeros(12, np.int32)
    for listed in (list(range(12)), [11], [0, 5, 11]):
        ranks = np.array(listed, np.int32)
        table[0, [SRC_START, SRC_END, STREAM_COUNT, TAKE, SLOTS]] = (0, len(raw), 12, len(listed), len(listed))
        assert find(GUARD.place(raw, SLACK), table, ranks, starts, lengths) == sum(len(values[k]) for k in listed)
        for end in range(len(raw)):
            table[0, SRC_END] = end
            status = find(GUARD.place(raw[:end], SLACK), table, ranks, starts, lengths)
            assert code_of(status) in (TRUNCATED, BAD_LENGTH)
    for length in (4, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF):
        table[0, [SRC_END, STREAM_COUNT, TAKE, SLOTS]] = (7, 1, 1, 1)
        src = GUARD.place(struct.pack("<I", length) + b"abc", SLACK)
        assert code_of(find(src, table, np.zeros(1, np.int32), starts, lengths)) == BAD_LENGTH
