"""Masks, positions and what is taken by them, against the same in Python lists."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator

import numpy as np
import pytest
from hardwood_jit.kernels.slices import (
    FILTER_FIELDS,
    OUT_START,
    RANK_START,
    ROW_COUNT,
    ROW_START,
    SKIP,
    SLACK,
    SLOTS,
    STREAM_COUNT,
    TAKE,
)
from hardwood_jit.kernels.status import BAD_COUNT, OK, OUTPUT_FULL, code_of, page_of

from hardwood_jit.jit.kernel_cache import load
from tests.kernels.guarded import Guard

GUARD = Guard()
LENGTHS = [0, 1, 7, 8, 9, 63, 64, 65, 1024, 1025, 3000]  # words of eight and 64, blocks of 1024
DENSITIES = [0.0, 0.02, 0.5, 0.98, 1.0]


def some_masks(seed: int) -> Iterator[np.ndarray]:
    rng = np.random.default_rng(seed)
    for length in LENGTHS:
        for density in DENSITIES:
            yield (rng.random(length) < density).astype(np.uint8)


def bits(words: np.ndarray, count: int) -> list[int]:
    whole = int.from_bytes(words.tobytes(), "little")
    assert whole >> count == 0, "bits behind the last one are set"
    return [whole >> number & 1 for number in range(count)]


def words_of(present: list[int] | np.ndarray, spare: int = 0) -> np.ndarray:
    total = sum(int(bit) << number for number, bit in enumerate(present))
    size = (len(present) + 63) // 64 + spare
    return np.frombuffer(total.to_bytes(8 * size, "little"), np.uint64).copy()


# Masks


def test_set_bytes_of_any_part_of_a_mask_are_counted() -> None:
    for mask in some_masks(1):
        for start, stop in ((0, mask.size), (mask.size // 3, mask.size), (1, max(mask.size - 1, 1)), (0, 0)):
            assert load("select.count_mask")(mask, start, stop) == mask[start:stop].sum()


def test_positions_of_set_bytes_are_listed() -> None:
    for mask in some_masks(2):
        placed = GUARD.place(mask.tobytes(), 0)
        for start in {0, min(3, mask.size), mask.size}:
            wanted = [number for number in range(start, mask.size) if mask[number]]
            for room in (len(wanted), len(wanted) + 1, len(wanted) + 9):
                positions = np.full(room + 1, -7, np.int32)
                found = load("select.list_positions")(placed, start, mask.size, positions[:room])
                assert found == len(wanted)
                assert positions[:found].tolist() == wanted
                assert positions[-1] == -7


def test_positions_that_do_not_fit_are_a_status() -> None:
    for mask in some_masks(3):
        count = int(mask.sum())
        for room in {0, count // 2, count - 1}:
            if 0 <= room < count:
                positions = np.full(room + 1, -7, np.int32)
                assert load("select.list_positions")(mask, 0, mask.size, positions[:room]) == OUTPUT_FULL
                assert positions[-1] == -7


def page_rows(rng: random.Random, length: int) -> np.ndarray:
    """Rows of pages that follow each other; the first and the last reach out of the window, some have no row."""
    cuts = sorted([-rng.randrange(9), *(rng.randint(0, length) for _ in range(rng.randrange(12))), length + 5])
    return np.array([cuts[:-1], cuts[1:]], np.int64).T.copy()


def test_pages_are_live_where_a_candidate_is() -> None:
    rng = random.Random(4)
    for mask in some_masks(4):
        rows = page_rows(rng, mask.size)
        wanted = [int(mask[max(a, 0) : max(b, 0)].any()) for a, b in rows.tolist()]
        live = np.full(len(rows) + 1, 9, np.uint8)
        assert load("select.live_pages")(mask, rows, live) == sum(wanted)
        assert live.tolist() == [*wanted, 9]
        positions = np.flatnonzero(mask).astype(np.int32)
        live[:-1] = 9
        assert load("select.mark_pages")(positions, rows, live) == sum(wanted)
        assert live.tolist() == [*wanted, 9]


# Narrowing


def some_pages(rng: random.Random, null_density: float) -> tuple[np.ndarray, list[int | None], np.ndarray]:
    """Slices of pages that cover a part of a window, the verdict of every row (None: null), validity words."""
    table, verdicts, row, dense = [], [], rng.choice([0, 5]), 0
    validity: list[int] = [1] * row
    for rows in rng.choices([0, 1, 3, 64, 100], k=6):
        present = [rng.random() >= null_density for _ in range(rows)]
        page = np.zeros(FILTER_FIELDS, np.int64)
        page[[TAKE, OUT_START, ROW_START, ROW_COUNT]] = (sum(present), dense, row, rows)
        dense += sum(present)
        table.append(page)
        gap = rng.choice([0, 0, 7])  # rows of a page that is not looked at
        verdicts += [rng.randrange(2) if here else None for here in present]
        validity += [*map(int, present), *[0] * gap]
        row += rows + gap
    return np.array(table), verdicts, words_of(validity, 1)


@pytest.mark.parametrize("null_matches", [0, 1])
@pytest.mark.parametrize("density", [0.0, 0.3, 0.95, 1.0])
def test_verdicts_of_pages_narrow_the_mask(density: float, null_matches: int) -> None:
    rng = random.Random(f"{density} {null_matches}")
    for _ in range(60):
        slices, verdicts, validity = some_pages(rng, density)
        window = int(slices[-1, ROW_START] + slices[-1, ROW_COUNT]) + 4
        before = [rng.randrange(2) for _ in range(window)]
        mask = np.array(before, np.uint8)
        hits = np.array([verdict for verdict in verdicts if verdict is not None] + [1], np.uint8)
        wanted, left, at = list(before), 0, 0
        for page in slices:
            for row in range(int(page[ROW_START]), int(page[ROW_START] + page[ROW_COUNT])):
                verdict = null_matches if verdicts[at] is None else verdicts[at]
                wanted[row] &= verdict
                left += wanted[row]
                at += 1
        assert load("select.narrow")(mask, slices, validity, hits, null_matches) == left
        assert mask.tolist() == wanted
        if density == 0.0:  # no validity words at all
            mask = np.array(before, np.uint8)
            assert load("select.narrow")(mask, slices, np.zeros(0, np.uint64), hits, null_matches) == left
            assert mask.tolist() == wanted


def test_page_outside_of_mask_or_verdicts_is_a_status() -> None:
    narrow = load("select.narrow")
    for changes in (
        {ROW_START: -1},
        {ROW_START: 91},
        {ROW_COUNT: 101},
        {TAKE: 11, ROW_COUNT: 10},
        {OUT_START: 41},
        {TAKE: 1 << 40},
        {ROW_COUNT: 1 << 62},
    ):
        slices = np.zeros((2, FILTER_FIELDS), np.int64)
        slices[:, [TAKE, OUT_START, ROW_START, ROW_COUNT]] = (10, 0, 0, 10)
        for field, value in changes.items():
            slices[1, field] = value
        mask, hits = np.ones(100, np.uint8), np.ones(50, np.uint8)
        status = narrow(mask, slices, np.full(3, ~np.uint64(0), np.uint64), hits, 0)
        assert (code_of(status), page_of(status)) == (BAD_COUNT, 1)


# Taking


def some_positions(rng: random.Random, length: int) -> Iterator[list[int]]:
    yield []
    yield list(range(length))
    if length:
        yield [length - 1]
        yield sorted(rng.sample(range(length), rng.randint(1, length)))
        yield [0] * 3  # dictionary codes come in any order, and again


@pytest.mark.parametrize("word", ["uint8", "uint32", "uint64"])
def test_words_are_taken_by_position(word: str) -> None:
    rng = random.Random(word)
    values = np.frombuffer(rng.randbytes(200 * np.dtype(word).itemsize), word)
    for positions in some_positions(rng, 200):
        out = np.full(len(positions) + 1, 77, word)
        assert load("select.take_words", word)(values.copy(), np.array(positions, np.int32), out) == OK
        assert out.tolist() == [*(int(values[place]) for place in positions), 77]


def test_pairs_and_wide_values_are_taken_by_position() -> None:
    rng = random.Random(5)
    pairs = np.frombuffer(rng.randbytes(16 * 100), np.uint64).reshape(100, 2).copy()
    for positions in some_positions(rng, 100):
        chosen = np.array(positions, np.int32)
        out = np.zeros((len(positions), 2), np.uint64)
        assert load("select.take_pairs")(pairs, chosen, out) == OK
        assert out.tolist() == pairs[positions].tolist() if positions else out.size == 0
        for width in (0, 1, 3, 8, 12, 16, 17, 40):
            values = [rng.randbytes(width) for _ in range(100)]
            wide = np.full(width * len(positions) + 1, 77, np.uint8)
            raw = GUARD.place(b"".join(values), 0)
            assert load("select.take_wide")(raw, width, chosen, wide) == OK
            assert wide.tobytes() == b"".join(values[place] for place in positions) + b"\x4d"


def test_bits_are_taken_by_position_and_clear_ones_counted() -> None:
    rng = random.Random(6)
    for length in (1, 63, 64, 65, 300):
        present = [rng.randrange(2) for _ in range(length)]
        words = words_of(present)
        for positions in some_positions(rng, length):
            out = np.full((len(positions) + 63) // 64 + 1, 5, np.uint64)
            wanted = [present[place] for place in positions]
            assert load("select.take_bits")(words, np.array(positions, np.int32), out) == wanted.count(0)
            assert bits(out, len(positions)) == wanted  # every word is written, the spare one too


@pytest.mark.parametrize("o", ["int32", "int64"])
def test_byte_arrays_are_taken_by_position(o: str) -> None:
    rng = random.Random(o)
    values = [rng.randbytes(rng.choice([0, 1, 12, 16, 31, 32, 33, 64, 65, 200])) for _ in range(120)]
    offsets = np.cumsum([0, *map(len, values)]).astype(o)
    data = GUARD.place(b"".join(values), SLACK)
    for positions in some_positions(rng, 120):
        chosen = np.array(positions, np.int32)
        wanted = [values[place] for place in positions]
        total = sum(map(len, wanted))
        assert load("select.measure_taken", o=o)(offsets, chosen) == total
        out_offsets = np.full(len(positions) + 2, -7, o)
        out = np.full(total + SLACK + 1, 77, np.uint8)
        assert load("select.take_byte_arrays", o=o)(offsets, data, chosen, out_offsets, out) == total
        assert out_offsets.tolist() == [*np.cumsum([0, *map(len, wanted)]).tolist(), -7]
        assert out[:total].tobytes() == b"".join(wanted)
        assert out[-1] == 77


def test_lists_are_taken_with_the_positions_of_their_items() -> None:
    rng = random.Random(7)
    lengths = [rng.choice([0, 0, 1, 2, 9]) for _ in range(80)]
    offsets = np.cumsum([0, *lengths]).astype(np.int32)
    for positions in some_positions(rng, 80):
        chosen = np.array(positions, np.int32)
        wanted = [item for place in positions for item in range(int(offsets[place]), int(offsets[place + 1]))]
        out_offsets, items = np.full(len(positions) + 1, -7, np.int32), np.full(len(wanted) + 1, -7, np.int32)
        take = load("select.take_lists")
        assert take(offsets, chosen, out_offsets, items[:-1]) == len(wanted)
        assert out_offsets.tolist() == np.cumsum([0, *(lengths[place] for place in positions)]).tolist()
        assert items.tolist() == [*wanted, -7]
        if wanted:
            assert take(offsets, chosen, out_offsets, items[: len(wanted) - 1]) == OUTPUT_FULL
    assert take(np.array([5, 3], np.int32), np.zeros(1, np.int32), np.zeros(2, np.int32), items) == OUTPUT_FULL


def test_any_and_all_of_lists() -> None:
    rng = random.Random(8)
    for density in DENSITIES:
        lengths = [rng.choice([0, 1, 2, 3, 20]) for _ in range(90)]
        offsets = np.cumsum([0, *lengths]).astype(np.int32)
        hits = np.array([rng.random() < density for _ in range(int(offsets[-1]))], np.uint8)
        parts = [hits[a:b].tolist() for a, b in itertools.pairwise(offsets.tolist())]
        for name, join in (("any", any), ("all", all)):
            out = np.full(90, 9, np.uint8)
            assert load(f"select.{name}_of_lists")(offsets, hits, out) == OK
            assert out.tolist() == [int(join(part)) for part in parts]


# Ranks


@pytest.mark.parametrize("density", [None, 0.0, 0.3, 0.95, 1.0])
def test_survivors_get_the_numbers_of_their_values_in_their_pages(density: float | None) -> None:
    """`density` of nulls; None: a required column, without validity words."""
    rng = random.Random(str(density))
    for _ in range(80):
        slices, verdicts, validity = some_pages(rng, density or 0.0)
        for page in slices:
            page[SKIP] = rng.choice([0, 4])
            page[STREAM_COUNT] = page[SKIP] + page[TAKE]
        if density is None:
            validity = np.zeros(0, np.uint64)
        known = {}  # row of the window -> (page, number of its value or None)
        at = 0
        for number, page in enumerate(slices):
            rank = int(page[SKIP])
            for row in range(int(page[ROW_START]), int(page[ROW_START] + page[ROW_COUNT])):
                known[row] = (number, None if verdicts[at] is None else rank)
                rank += verdicts[at] is not None
                at += 1
        whole = {number for number in range(len(slices)) if rng.random() < 0.3}  # pages of which every row survives
        chosen = set(rng.sample(sorted(known), rng.randint(0, len(known))))
        survivors = sorted(row for row, (number, _) in known.items() if row in chosen or number in whole)
        positions = np.array(survivors, np.int32)
        count = len(survivors)
        ranks = np.full(count + 1, -7, np.int32)
        out_validity = np.full((count + 63) // 64 + 1 if validity.size else 0, 5, np.uint64)
        gathered = np.empty_like(slices)
        nulls = load("select.rank_survivors")(positions, slices, validity, ranks, out_validity, gathered)
        wanted = [known[row] for row in survivors]
        present = [rank is not None for _, rank in wanted]
        assert nulls == present.count(False)
        assert ranks[: sum(present)].tolist() == [rank for _, rank in wanted if rank is not None]
        if validity.size:
            assert bits(out_validity, count) == list(map(int, present))
        first = taken = 0
        for number, page in enumerate(gathered):
            own = [rank for where, rank in wanted if where == number]
            held = sum(rank is not None for rank in own)
            assert page[[SLOTS, TAKE, OUT_START, RANK_START]].tolist() == [len(own), held, first, taken]
            first += len(own)
            taken += held


def test_survivor_on_no_page_is_a_status() -> None:
    slices = np.zeros((2, FILTER_FIELDS), np.int64)
    slices[0, [ROW_START, ROW_COUNT, TAKE]] = (5, 5, 5)
    slices[1, [ROW_START, ROW_COUNT, TAKE]] = (20, 5, 5)
    for validity in (np.zeros(0, np.uint64), np.full(2, ~np.uint64(0), np.uint64)):
        for survivors, page in (([4], 0), ([5, 12], 1), ([25], 1), ([6, 21, 40], 1)):
            positions = np.array(survivors, np.int32)
            ranks = np.full(len(survivors) + 1, -7, np.int32)
            out_validity = np.zeros(2 if validity.size else 0, np.uint64)
            status = load("select.rank_survivors")(
                positions, slices, validity, ranks, out_validity, np.empty_like(slices)
            )
            assert (code_of(status), page_of(status)) == (BAD_COUNT, page)
