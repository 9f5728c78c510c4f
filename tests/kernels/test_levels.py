"""Levels of honest and of damaged pages -> slices, validity and offsets, against values counted in Python."""

from __future__ import annotations

import itertools
import random
import struct
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hardwood_jit.kernels.levels import (
    BODY_FIELDS,
    BODY_VALUES,
    build_list,
    build_repeated,
    build_slots,
    count_levels,
    count_record_starts,
    find_stream,
    gather_bits,
    reach,
    read_levels,
    read_stream,
    read_validity,
    slice_records,
    slice_required,
)
from hardwood_jit.kernels.slices import FIELDS, OUT_START, SKIP, SLOTS, SRC_END, SRC_START, STREAM_COUNT, TAKE
from hardwood_jit.kernels.status import (
    BAD_COUNT,
    BAD_LEVEL,
    BAD_RECORD_START,
    CORRUPT,
    OK,
    TRUNCATED,
    code_of,
    page_of,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.kernels.guarded import READABLE, Guard
from tests.support.pages import (
    BIT_PACKED,
    INT32,
    OPTIONAL,
    REPEATED,
    REQUIRED,
    RLE,
    Entry,
    Node,
    group,
    hybrid,
    leaf,
    leaf_paths,
    levels_v1,
    levels_v2,
    list_group,
    pack_bits,
    pack_bits_msb,
    shred,
    varint,
)

GUARD = Guard()
OTHER_GUARD = Guard()  # definition and repetition levels are read at the same time


# Streams


def test_stream_of_a_v2_page_has_the_length_of_its_header() -> None:
    src = GUARD.place(bytes(20), 0)
    assert find_stream(src, 3, 20, 0, -1, 1, 5) == (3, 3)
    assert find_stream(src, 3, 20, 17, -1, 1, 5) == (3, 20)
    assert find_stream(src, 3, 20, 18, -1, 1, 5)[0] == TRUNCATED


def test_stream_of_a_v1_page_has_its_own_length() -> None:
    for size, room, found in ((0, 0, (4, 4)), (3, 3, (4, 7)), (4, 3, TRUNCATED), (0xFFFFFFFF, 3, TRUNCATED)):
        src = GUARD.place(struct.pack("<I", size) + bytes(room), 0)
        result = find_stream(src, 0, src.size, -1, RLE, 1, 5)
        assert result[0] == found if isinstance(found, int) else result == found
    for cut in range(4):
        src = GUARD.place(bytes(cut), 0)
        assert find_stream(src, 0, cut, -1, RLE, 1, 5)[0] == TRUNCATED


def test_stream_without_levels_takes_no_bytes_and_odd_encodings_are_refused() -> None:
    src = GUARD.place(bytes(8), 0)
    assert find_stream(src, 2, 8, -1, RLE, 0, 5) == (2, 2)
    for encoding in (-1, 0, 2, 5, 99):
        assert find_stream(src, 0, 8, -1, encoding, 1, 5)[0] == CORRUPT


@pytest.mark.parametrize("maximum", [1, 2, 3, 4, 255])
def test_legacy_stream_is_as_long_as_its_levels(maximum: int) -> None:
    src = GUARD.place(bytes(64), 0)
    width = maximum.bit_length()
    for count in (0, 1, 8, 9, 64 * 8 // width):
        assert find_stream(src, 0, 64, -1, BIT_PACKED, maximum, count) == (0, (count * width + 7) // 8)
    assert find_stream(src, 0, 64, -1, BIT_PACKED, maximum, 64 * 8 // width + 1)[0] == TRUNCATED
    assert find_stream(src, 0, 64, -1, BIT_PACKED, maximum, (1 << 31) - 1)[0] == TRUNCATED


def test_stream_is_read_by_its_encoding() -> None:
    values = [0, 1, 2, 2, 1, 0, 2]
    for encoding, raw in ((RLE, hybrid(values, 2)), (BIT_PACKED, pack_bits_msb(values, 2))):
        out = np.full(len(values) + 1, 9, np.uint8)
        assert read_stream(GUARD.place(raw), 0, len(raw), encoding, 2, len(values), out, 0) == len(raw)
        assert out.tolist() == [*values, 9]
    out = np.full(4, 9, np.uint8)
    assert read_stream(GUARD.place(b""), 0, 0, RLE, 0, 3, out, 0) == 0
    assert out.tolist() == [0, 0, 0, 9]


# Flat columns


def body(start: int, end: int, values: int, first_row: int, **given: int) -> list[int]:
    return [
        start,
        end,
        values,
        given.get("definition_bytes", -1),
        given.get("repetition_bytes", -1),
        given.get("encoding", RLE),
        given.get("encoding", RLE),
        first_row,
    ]


def table(rows: list[list[int]]) -> np.ndarray:
    return np.array(rows, np.int64).reshape(len(rows), BODY_FIELDS)


def windows(rng: random.Random, rows: int) -> list[tuple[int, int]]:
    pairs = {(0, rows), (0, min(1, rows)), (max(rows - 1, 0), rows)}
    for _ in range(6):
        low = rng.randint(0, rows)
        pairs.add((low, rng.randint(low, rows)))
    return sorted(pairs)


@pytest.mark.parametrize("counts", [[5], [0], [3, 0, 4], [1, 1, 1, 1], [0, 0, 7, 0]])
def test_required_column_is_sliced_by_row_number(counts: list[int]) -> None:
    starts = [0, *itertools.accumulate(counts)]
    extra = [(-1, -1), (0, 0), (2, 3)]
    bodies = table(
        [
            body(
                100 * n,
                100 * n + 50,
                count,
                starts[n],
                definition_bytes=extra[n % 3][0],
                repetition_bytes=extra[n % 3][1],
            )
            for n, count in enumerate(counts)
        ]
    )
    for low, high in windows(random.Random(1), starts[-1]):
        slices = np.zeros((len(counts), FIELDS), np.int64)
        assert slice_required(bodies, low, high, slices) == OK
        rows = [list(range(starts[n], starts[n + 1])) for n in range(len(counts))]
        out = 0
        for n, own in enumerate(rows):
            inside = [row for row in own if low <= row < high]
            levels = sum(max(size, 0) for size in extra[n % 3])
            assert slices[n, [SRC_START, SRC_END, STREAM_COUNT]].tolist() == [100 * n + levels, 100 * n + 50, len(own)]
            assert slices[n, [TAKE, OUT_START, SLOTS]].tolist() == [len(inside), out, len(inside)]
            if inside:
                assert slices[n, SKIP] == inside[0] - own[0]
            assert slices[n, SKIP] + slices[n, TAKE] <= slices[n, STREAM_COUNT]
            out += len(inside)


def test_required_column_that_is_too_short_or_all_levels_is_refused() -> None:
    slices = np.zeros((2, FIELDS), np.int64)
    bodies = table([body(0, 9, 4, 0), body(9, 20, 4, 4)])
    assert slice_required(bodies, 0, 8, slices) == OK
    assert code_of(slice_required(bodies, 0, 9, slices)) == BAD_COUNT
    assert page_of(slice_required(bodies, 0, 9, slices)) == 1
    assert code_of(slice_required(table([]), 0, 1, slices)) == BAD_COUNT
    gap = table([body(0, 9, 4, 0), body(9, 20, 4, 5)])
    assert code_of(slice_required(gap, 0, 9, slices)) == BAD_COUNT
    levels = table([body(0, 9, 4, 0), body(9, 20, 4, 4, definition_bytes=8, repetition_bytes=4)])
    assert slice_required(levels, 0, 8, slices) == -64 + TRUNCATED


def optional_pages(rng: random.Random, counts: list[int]) -> tuple[bytes, np.ndarray, list[list[int]]]:
    raw, rows, pages, before = b"", [], [], 0
    for count in counts:
        present = [int(rng.random() < 0.6) for _ in range(count)]
        version = rng.choice([1, 2])
        form = rng.choice(["auto", "rle", "packed", "ones"])
        encoded = levels_v1(present, 1, form) if version == 1 else b"zz" + levels_v2(present, 1, form)
        given = {} if version == 1 else {"definition_bytes": len(encoded) - 2, "repetition_bytes": 2, "encoding": -1}
        start = len(raw)
        raw += encoded + b"values"
        rows.append(body(start, len(raw), count, before, **given))
        pages.append(present)
        before += count
    return raw, table(rows), pages


def validity_of(raw: bytes, bodies: np.ndarray, low: int, high: int) -> tuple[int, np.ndarray, list[int]]:
    words = np.full((high - low + 63) // 64 + 1, 0xDEAD, np.uint64)
    slices = np.zeros((len(bodies), FIELDS), np.int64)
    nulls = read_validity(GUARD.place(raw), bodies, low, high, words, np.zeros(4, np.int64), slices)
    whole = int.from_bytes(words.tobytes(), "little")
    assert nulls < 0 or whole >> (high - low) == 0
    return nulls, slices, [whole >> number & 1 for number in range(high - low)]


def test_optional_column_has_a_bit_per_row_of_any_window() -> None:
    rng = random.Random(2)
    for _ in range(300):
        counts = [rng.choice([0, 1, 7, 64, 65, 100]) for _ in range(rng.randint(1, 5))]
        raw, bodies, pages = optional_pages(rng, counts)
        everything = [bit for page in pages for bit in page]
        for low, high in windows(rng, len(everything)):
            nulls, slices, bits = validity_of(raw, bodies, low, high)
            assert bits == everything[low:high]
            assert nulls == bits.count(0)
            out = first = 0
            for n, page in enumerate(pages):
                a, b = (min(max(edge - first, 0), len(page)) for edge in (low, high))
                assert slices[n, STREAM_COUNT] == sum(page)
                assert slices[n, SKIP] == sum(page[:a])
                assert slices[n, TAKE] == sum(page[a:b])
                assert slices[n, [OUT_START, SLOTS]].tolist() == [out, b - a]
                assert raw[slices[n, SRC_START] : slices[n, SRC_END]] == b"values"
                out, first = out + b - a, first + len(page)


def test_optional_column_with_damaged_levels_is_refused_or_consistent() -> None:
    rng = random.Random(3)
    for _ in range(3000):
        raw, bodies, pages = optional_pages(rng, [rng.choice([1, 9, 40]) for _ in range(3)])
        rows = sum(map(len, pages))
        changed = bytearray(raw)
        for _ in range(rng.choice([1, 3])):
            changed[rng.randrange(len(changed))] = rng.choice([0, 1, 2, 3, 255, rng.randrange(256)])
        nulls, slices, bits = validity_of(bytes(changed), bodies, 0, rows)
        if nulls < 0:
            assert code_of(nulls) in (TRUNCATED, BAD_LEVEL)
            assert 0 <= page_of(nulls) < 3
            continue
        assert nulls == bits.count(0)
        for n in range(3):
            a = slices[n, OUT_START]
            assert slices[n, TAKE] == sum(bits[a : a + slices[n, SLOTS]])
            assert slices[n, SKIP] + slices[n, TAKE] <= slices[n, STREAM_COUNT] <= len(pages[n])
            assert bodies[n, 0] <= slices[n, SRC_START] <= slices[n, SRC_END] == bodies[n, 1]


def test_optional_column_that_is_too_short_is_refused() -> None:
    raw, bodies, _ = optional_pages(random.Random(4), [5, 6])
    nulls, _, _ = validity_of(raw, bodies, 0, 12)
    assert (code_of(nulls), page_of(nulls)) == (BAD_COUNT, 1)


# Nested columns


@dataclass
class Shape:
    """A schema of one leaf, a source of its records, and its layers: (kind, slot repetition, slot, valid, item)."""

    root: Node
    layers: list[tuple[str, int, int, int, int]]
    max_definition: int
    max_repetition: int
    slot_definition: int


ELEMENT = leaf("element", INT32, OPTIONAL)
SHAPES = {
    "list": Shape(group("r", list_group("l", ELEMENT)), [("repeated", 0, 0, 1, 2)], 3, 1, 2),
    "list of lists": Shape(
        group("r", list_group("l", list_group("element", ELEMENT))),
        [("repeated", 0, 0, 1, 2), ("repeated", 1, 2, 3, 4)],
        5,
        2,
        4,
    ),
    "list of structs": Shape(
        group("r", list_group("l", group("element", leaf("x", INT32, OPTIONAL), repetition=OPTIONAL))),
        [("repeated", 0, 0, 1, 2), ("struct", 1, 2, 3, 0)],
        4,
        1,
        2,
    ),
    "struct with a list": Shape(
        group("r", group("l", list_group("inner", ELEMENT), repetition=OPTIONAL)),
        [("struct", 0, 0, 1, 0), ("repeated", 0, 0, 2, 3)],
        4,
        1,
        3,
    ),
    "struct": Shape(group("r", group("l", ELEMENT, repetition=OPTIONAL)), [("struct", 0, 0, 1, 0)], 2, 0, 0),
    "bare repeated": Shape(group("r", leaf("l", INT32, REPEATED)), [("repeated", 0, 0, 0, 1)], 1, 1, 1),
}
# The four nestings that build_list knows: list and element optional or not.
LISTS = {
    "optional list of optional elements": SHAPES["list"],
    "optional list of required elements": Shape(
        group("r", list_group("l", leaf("element", INT32))), [("repeated", 0, 0, 1, 2)], 2, 1, 2
    ),
    "required list of optional elements": Shape(
        group("r", list_group("l", ELEMENT, repetition=REQUIRED)), [("repeated", 0, 0, 0, 1)], 2, 1, 1
    ),
    "bare repeated": SHAPES["bare repeated"],
}


def draw_record(rng: random.Random, layers: list[tuple[str, int, int, int, int]], leaf_is_optional: bool) -> Any:
    """None, a list or a 1-tuple per layer, down to a number or None."""
    if not layers:
        return None if leaf_is_optional and rng.random() < 0.3 else rng.randrange(100)
    kind, _, slot, valid, _ = layers[0]
    if valid > slot and rng.random() < 0.2:
        return None
    if kind == "struct":
        return (draw_record(rng, layers[1:], leaf_is_optional),)
    return [draw_record(rng, layers[1:], leaf_is_optional) for _ in range(rng.choice([0, 1, 1, 2, 5]))]


def stored(value: Any) -> Any:
    """The record as the page builder takes it; fields that a schema does not have do no harm."""
    if isinstance(value, tuple):
        return {"x": stored(value[0]), "inner": stored(value[0]), "element": stored(value[0])}
    if isinstance(value, list):
        return [item if isinstance(item, int) else {"element": stored(item)} for item in value]
    return value


def expected_layers(records: list[Any], shape: Shape) -> tuple[list[tuple[list[int], list[int]]], list[Any]]:
    """(validity, offsets) of every layer and the leaf's values, straight from the records."""
    layers, items = [], records
    for kind, *_ in shape.layers:
        validity = [int(item is not None) for item in items]
        if kind == "struct":
            layers.append((validity, []))
            items = [None if item is None else item[0] for item in items]
            continue
        offsets = [0, *itertools.accumulate(len(item or []) for item in items)]
        layers.append((validity, offsets))
        items = [child for item in items for child in item or []]
    return layers, items


@dataclass
class Levels:
    status: int
    definitions: np.ndarray
    repetitions: np.ndarray
    slices: np.ndarray


def nested_pages(rng: random.Random, shape: Shape, entries: list[Entry], whole: bool) -> tuple[bytes, np.ndarray]:
    """Pages cut anywhere (or only before records), some without values; V1 pages of both level encodings, and V2."""
    edges = [n for n in range(1, len(entries)) if not whole or entries[n][0] == 0]
    cuts = sorted(rng.choices(edges, k=rng.randint(0, 4))) if edges else []
    raw, rows, before = b"", [], 0
    for low, high in itertools.pairwise([0, *cuts, len(entries)]):
        part = entries[low:high]
        repetitions, definitions = [entry[0] for entry in part], [entry[1] for entry in part]
        form = rng.choice(["auto", "rle", "packed", "BIT_PACKED", "v2"])
        start = len(raw)
        if form == "v2":
            one, two = levels_v2(repetitions, shape.max_repetition), levels_v2(definitions, shape.max_definition)
            given = {"repetition_bytes": len(one), "definition_bytes": len(two), "encoding": -1}
        else:
            one = levels_v1(repetitions, shape.max_repetition, form)
            two = levels_v1(definitions, shape.max_definition, form)
            given = {"encoding": BIT_PACKED if form == "BIT_PACKED" else RLE}
        raw += one + two + b"values"
        rows.append(body(start, len(raw), len(part), before, **given))
        before += repetitions.count(0)
    return raw, table(rows)


def levels_of(raw: bytes, bodies: np.ndarray, shape: Shape) -> Levels:
    count = int(bodies[:, BODY_VALUES].sum())
    definitions, repetitions = np.full(count + 8, 250, np.uint8), np.full(count + 8, 250, np.uint8)
    slices = np.zeros((len(bodies), FIELDS), np.int64)
    status = read_levels(
        GUARD.place(raw),
        bodies,
        shape.max_definition,
        shape.max_repetition,
        definitions[:count],
        repetitions[: count if shape.max_repetition else 0],
        slices,
    )
    assert definitions[count:].tolist() == repetitions[count:].tolist() == [250] * 8
    return Levels(status, definitions[:count], repetitions[:count], slices)


def unpack(words: np.ndarray, count: int) -> list[int]:
    whole = int.from_bytes(words.tobytes(), "little")
    assert whole >> count == 0
    return [whole >> number & 1 for number in range(count)]


def layers_of(
    levels: Levels, shape: Shape, bodies: np.ndarray, low: int, high: int
) -> int | tuple[list[Any], list[int]]:
    """What the decoder does after reading the levels: the layers and the leaf's validity, or a status.

    Where there is a shortcut, it has to come to the same result.
    """
    extent = np.zeros(4, np.int64)
    arguments = (low, high, shape.max_definition, shape.slot_definition, levels.slices, extent)
    slots = int(slice_records(levels.definitions, levels.repetitions, shape.max_repetition, bodies, *arguments))
    if slots < 0:
        return slots
    first, last = int(extent[0]), int(extent[1])
    result = layers_between(levels, shape, first, last, high - low, slots)
    if len(shape.layers) == 1 and shape.max_repetition:
        assert list_between(levels, shape, first, last, high - low, slots) == result
    return result


def list_between(
    levels: Levels, shape: Shape, first: int, last: int, count: int, slots: int
) -> int | tuple[list[Any], list[int]]:
    """As layers_between, by the shortcut; the levels lie before memory that nobody may read."""
    ((_, _, _, valid, item),) = shape.layers
    offsets = np.full(count + 2, -5, np.int32)
    words = np.full((count + 63) // 64 + 2, 0xDEAD, np.uint64)
    nullable = shape.max_definition > item
    leaf_words = np.full((slots + 63) // 64 + 2 if nullable else 1, 0xDEAD, np.uint64)
    counts = np.zeros(4, np.int64)
    status = build_list(
        GUARD.place(levels.definitions.tobytes(), 0), OTHER_GUARD.place(levels.repetitions.tobytes(), 0), first, last,
        valid, item, shape.max_definition, offsets[:-1], words[:-1], leaf_words[:-1], counts,
    )  # fmt: skip
    assert (offsets[-1], words[-1], leaf_words[-1]) == (-5, 0xDEAD, 0xDEAD)
    if status < 0:
        return int(status)
    bits = unpack(words[:-1], count)
    items = unpack(leaf_words[:-1], slots) if nullable else [1] * slots
    assert counts[:3].tolist() == [bits.count(0), slots, items.count(0)]
    return [(bits, offsets[:-1].tolist())], items


def layers_between(
    levels: Levels, shape: Shape, first: int, last: int, count: int, slots: int
) -> int | tuple[list[Any], list[int]]:
    """Layers and validity of the leaf from the levels first .. last: `count` records, `slots` of the leaf."""
    found: list[Any] = []
    for kind, slot_repetition, slot, valid, item in shape.layers:
        words = np.full((count + 63) // 64 + 2, 0xDEAD, np.uint64)
        offsets = np.full(count + 2, -5, np.int32)
        if kind == "struct":
            reach = slot_repetition if shape.max_repetition else 255
            nulls = build_slots(levels.definitions, levels.repetitions, first, last, reach, slot, valid, words[:-1])
            if nulls < 0:
                return int(nulls)
            bits = unpack(words[:-1], count)
            found.append((bits, []))
        else:
            counts = np.zeros(4, np.int64)
            status = build_repeated(
                levels.definitions, levels.repetitions, first, last, slot_repetition, slot, valid, item,
                offsets[:-1], words[:-1], counts,
            )  # fmt: skip
            assert offsets[-1] == -5
            if status < 0:
                assert words[-1] == 0xDEAD
                return int(status)
            bits = unpack(words[:-1], count)
            nulls = int(counts[0])
            assert offsets[-2] == counts[1]
            found.append((bits, offsets[:-1].tolist()))
            count = int(counts[1])
        assert words[-1] == 0xDEAD
        assert nulls == bits.count(0)
    words = np.full((count + 63) // 64 + 1, 0xDEAD, np.uint64)
    valid = shape.max_definition
    nulls = build_slots(levels.definitions, levels.repetitions, first, last, 255, shape.slot_definition, valid, words)
    if nulls < 0 or slots != count:
        return min(int(nulls), BAD_COUNT)
    bits = unpack(words, count)
    assert nulls == bits.count(0)
    return found, bits


@pytest.mark.parametrize("name", SHAPES)
def test_layers_of_any_window_over_any_pages_match_the_records(name: str) -> None:
    shape = SHAPES[name]
    (path,) = leaf_paths(shape.root)
    assert (path[-1].definition, path[-1].repetition) == (shape.max_definition, shape.max_repetition)
    rng = random.Random(name)
    for _ in range(150):
        records = [
            draw_record(rng, shape.layers, name != "bare repeated") for _ in range(rng.choice([0, 1, 5, 40, 90]))
        ]
        entries = shred(path, [{"l": stored(record)} for record in records])
        raw, bodies = nested_pages(rng, shape, entries, whole=False)
        levels = levels_of(raw, bodies, shape)
        assert levels.status == len(entries)
        assert levels.definitions.tolist() == [entry[1] for entry in entries]
        assert [raw[a:b] for a, b in levels.slices[:, [SRC_START, SRC_END]]] == [b"values"] * len(bodies)
        if shape.max_repetition:
            assert levels.repetitions.tolist() == [entry[0] for entry in entries]
            assert count_record_starts(levels.repetitions, len(entries)) == len(records)
        for low, high in windows(rng, len(records)):
            # The decoder holds pages from the first one with a part of the window on.
            page = 0
            while page + 1 < len(bodies) and bodies[page + 1, 7] <= low and low < high:
                page += 1
            cut = int(bodies[:page, BODY_VALUES].sum())
            held = Levels(0, levels.definitions[cut:], levels.repetitions[cut:], np.zeros_like(levels.slices[page:]))
            result = layers_of(held, shape, bodies[page:], low, high)
            assert not isinstance(result, int), (code_of(result), low, high)
            layers, items = expected_layers(records[low:high], shape)
            assert result[0] == layers
            assert result[1] == [int(item is not None) for item in items]
            assert held.slices[:, SLOTS].sum() == len(items)
            present = [item for item in items if item is not None]
            assert held.slices[:, TAKE].sum() == len(present)
            every = [value for _, definition, value in entries[cut:] if definition == shape.max_definition]
            taken: list[Any] = []
            for row in held.slices.tolist():
                taken += every[row[SKIP] : row[SKIP] + row[TAKE]]
                del every[: row[STREAM_COUNT]]
            assert taken == present


@pytest.mark.parametrize("name", SHAPES)
def test_layers_of_damaged_levels_are_refused_or_consistent(name: str) -> None:
    shape = SHAPES[name]
    (path,) = leaf_paths(shape.root)
    rng = random.Random(name)
    for _ in range(700):
        records = [draw_record(rng, shape.layers, name != "bare repeated") for _ in range(30)]
        raw, bodies = nested_pages(rng, shape, shred(path, [{"l": stored(record)} for record in records]), whole=False)
        changed = bytearray(raw)
        for _ in range(rng.choice([1, 3])):
            changed[rng.randrange(len(changed))] = rng.choice([0, 1, 2, 3, 255, rng.randrange(256)])
        levels = levels_of(bytes(changed), bodies, shape)
        if levels.status < 0:
            assert code_of(levels.status) in (TRUNCATED, BAD_LEVEL)
            continue
        low = rng.randint(0, 5)
        result = layers_of(levels, shape, bodies, low, 30)
        if isinstance(result, int):
            assert code_of(result) in (BAD_COUNT, BAD_LEVEL, BAD_RECORD_START)
            continue
        count = 30 - low
        for bits, offsets in result[0]:
            assert len(bits) == count
            if offsets:
                assert offsets[0] == 0
                assert all(a <= b for a, b in itertools.pairwise(offsets))
                assert all(bit or a == b for bit, (a, b) in zip(bits, itertools.pairwise(offsets), strict=True))
                count = offsets[-1]
        for row in levels.slices.tolist():
            assert row[SKIP] + row[TAKE] <= row[STREAM_COUNT]
            assert row[TAKE] == sum(result[1][row[OUT_START] : row[OUT_START] + row[SLOTS]])


@settings(max_examples=400)
@given(
    name=st.sampled_from(sorted(LISTS)),
    records=st.lists(st.none() | st.lists(st.booleans(), max_size=9) | st.integers(50, 200), max_size=40),
    changes=st.lists(st.tuples(st.integers(0, 300), st.integers(0, 1), st.integers(0, 3)), max_size=3),
    seed=st.integers(0, 1000),
)
def test_lists_have_a_shortcut_with_the_same_results_and_errors(
    name: str, records: list[Any], changes: list[tuple[int, int, int]], seed: int
) -> None:
    # A number is a list of so many elements, to cross words; changes make levels that contradict each other.
    shape, rng = LISTS[name], random.Random(seed)
    ((_, _, _, valid, item),) = shape.layers
    entries: list[Entry] = []
    for record in records:
        elements = [rng.random() < 0.7 for _ in range(record)] if isinstance(record, int) else record
        if not elements:
            entries.append((0, min(valid, item - 1) if elements is not None else 0, None))
        for number, is_present in enumerate(elements or []):
            entries.append((min(number, 1), shape.max_definition if is_present else item, None))
    for position, repetition, definition in changes:
        if position < len(entries):
            entries[position] = (repetition, min(definition, shape.max_definition), None)
    raw, bodies = nested_pages(rng, shape, entries, whole=False)
    levels = levels_of(raw, bodies, shape)
    assert levels.status == len(entries)
    rows = sum(entry[0] == 0 for entry in entries)
    for low, high in windows(rng, rows):
        # Compares the two; what the result has to be is known from the records where nothing was changed.
        result = layers_of(levels, shape, bodies, low, high)
        if not changes:
            assert not isinstance(result, int)
            lengths = [record if isinstance(record, int) else len(record or []) for record in records[low:high]]
            assert result[0][0][1] == [0, *itertools.accumulate(lengths)]


def test_list_never_writes_more_than_there_is_room_for() -> None:
    twos, zeros = GUARD.place(bytes([2] * 200), 0), OTHER_GUARD.place(bytes(200), 0)
    counts = np.zeros(4, np.int64)

    def build(high: int, slots: int, word_count: int, leaf_word_count: int) -> int:
        offsets = np.full(slots + 2, -5, np.int32)
        words, leaf_words = np.full(word_count + 1, 77, np.uint64), np.full(leaf_word_count + 1, 77, np.uint64)
        status = build_list(twos, zeros, 0, high, 1, 2, 3, offsets[:-1], words[:-1], leaf_words[:-1], counts)
        assert (offsets[-1], words[-1], leaf_words[-1]) == (-5, 77, 77)
        return status

    assert build(200, 200, 4, 5) == OK
    assert counts[:3].tolist() == [0, 200, 200]
    assert build(200, 200, 4, 0) == OK  # nobody asks for the validity of items
    assert counts[:3].tolist() == [0, 200, 0]
    assert build(0, 0, 1, 1) == OK
    for slots in (0, 1, 63, 64, 199, 201):
        assert build(200, slots, 4, 5) == BAD_COUNT
    assert build(200, 200, 3, 5) == BAD_COUNT
    for room in (1, 2, 4):
        assert build(200, 200, 4, room) == BAD_COUNT
    assert build(201, 201, 4, 5) == BAD_COUNT  # more levels than the arrays have


@pytest.mark.parametrize("pair", [(1, 3), (2, 1), (1, 1)])
def test_contradiction_is_found_wherever_it_lies_in_a_word(pair: tuple[int, int]) -> None:
    # The level at `position` continues a list: without an item before it, without one of its own, without both.
    for position in range(1, 131):
        definitions, repetitions = np.full(131, 3, np.uint8), np.zeros(131, np.uint8)
        definitions[position - 1 : position + 1] = pair
        repetitions[position] = 1
        levels = Levels(131, definitions, repetitions, np.zeros((1, FIELDS), np.int64))
        bodies = table([body(0, 0, 131, 0)])
        assert layers_of(levels, SHAPES["list"], bodies, 0, 130) == BAD_LEVEL


@given(st.binary(max_size=200), st.integers(0, 255), st.integers(0, 200))
def test_levels_are_compared_sixty_four_at_a_time(raw: bytes, level: int, start: int) -> None:
    levels = GUARD.place(raw, 0)
    start = min(start, len(raw))
    count = min(len(raw) - start, 64)
    found = int(reach(levels, start, count, level))
    assert found == sum(1 << n for n in range(count) if raw[start + n] >= level)
    assert count_record_starts(levels, len(raw)) == raw.count(0)


@given(st.integers(0, 2**64 - 1), st.integers(1, 2**64 - 1))
def test_chosen_bits_move_together(bits: int, chosen: int) -> None:
    kept = [bits >> n & 1 for n in range(64) if chosen >> n & 1]
    bits &= chosen
    assert int(gather_bits(np.uint64(bits), np.uint64(chosen))) == sum(bit << n for n, bit in enumerate(kept))


@given(
    maximum=st.sampled_from([1, 2, 3, 4, 5, 7, 8, 31, 64, 127, 128, 200, 255]),
    runs=st.lists(st.tuples(st.booleans(), st.integers(0, 100)), max_size=12),
    seed=st.integers(0, 1000),
    cut=st.integers(0, 7),
)
def test_runs_of_any_length_and_kind_follow_each_other(
    maximum: int, runs: list[tuple[bool, int]], seed: int, cut: int
) -> None:
    # Runs are written over their end where more levels follow: what follows must come out, whatever it is.
    rng, width = random.Random(seed), maximum.bit_length()
    raw, expected = b"", []
    for is_packed, length in runs:
        if is_packed:
            values = [rng.randint(0, maximum) for _ in range(length // 8 * 8)]
            raw += varint(len(values) // 8 << 1 | 1) + pack_bits(values, width)
        else:
            values = [rng.randint(0, maximum)] * length
            raw += varint(length << 1) + bytes(values[:1] or [0])
        expected += values
    count = max(len(expected) - cut, 0)
    out = np.full(count + 2, 99, np.uint8)
    assert read_stream(GUARD.place(raw), 0, len(raw), RLE, maximum, count, out, 1) >= 0
    assert out.tolist() == [99, *expected[:count], 99]


@pytest.mark.parametrize("name", SHAPES)
def test_levels_cut_at_every_byte_are_refused(name: str) -> None:
    shape = SHAPES[name]
    (path,) = leaf_paths(shape.root)
    rng = random.Random(name)
    entries = shred(path, [{"l": stored(draw_record(rng, shape.layers, False))} for _ in range(12)])
    repetitions, definitions = [entry[0] for entry in entries], [entry[1] for entry in entries]
    for form in ("auto", "packed", "BIT_PACKED"):
        one = levels_v1(repetitions, shape.max_repetition, form)
        two = levels_v1(definitions, shape.max_definition, form)
        raw = one + two
        encoding = BIT_PACKED if form == "BIT_PACKED" else RLE
        for end in range(len(raw)):
            cut = table([body(0, end, len(entries), 0, encoding=encoding)])
            assert levels_of(raw[:end], cut, shape).status == TRUNCATED
        assert levels_of(raw, table([body(0, len(raw), len(entries), 0, encoding=encoding)]), shape).status == len(
            entries
        )


def test_more_levels_than_there_is_room_for_are_refused() -> None:
    raw = levels_v1([1] * 9, 1)
    bodies = table([body(0, len(raw), 9, 0)])
    slices = np.zeros((1, FIELDS), np.int64)
    none = np.zeros(0, np.uint8)
    assert read_levels(GUARD.place(raw), bodies, 1, 0, np.zeros(8, np.uint8), none, slices) == BAD_COUNT
    assert read_levels(GUARD.place(raw), bodies, 1, 0, np.zeros(9, np.uint8), none, slices) == 9


def test_levels_are_counted_without_being_decoded() -> None:
    million = varint(10**6 << 1) + b"\x01"
    raw = struct.pack("<I", len(million)) + million
    src = GUARD.place(raw, READABLE)
    assert count_levels(src, table([body(0, len(raw), 10**6, 0)]), 0, 1, False) == 10**6
    assert count_levels(src, table([body(0, len(raw), 10**6 + 1, 0)]), 0, 1, False) == 10**6
    assert count_levels(src, table([body(0, len(raw) - 1, 5, 0)]), 0, 1, True) == TRUNCATED
    packed = table([body(0, len(raw), 64, 0, encoding=BIT_PACKED)])
    assert count_levels(src, packed, 0, 1, True) == 64
    two = table([body(0, len(raw), 8, 0), body(4, len(raw), 20, 0, repetition_bytes=len(million))])
    assert count_levels(src, two, 1, 1, True) == 20


def test_records_outside_the_pages_and_pages_that_start_inside_a_record_are_refused() -> None:
    definitions = np.full(4, 3, np.uint8)
    extent = np.zeros(4, np.int64)

    def sliced(repetitions: list[int], first_row: int, low: int, high: int, maximum: int = 1) -> int:
        bodies = table([body(0, 0, 2, first_row), body(0, 0, 2, first_row + 1)])
        slices = np.zeros((2, FIELDS), np.int64)
        levels = np.array(repetitions, np.uint8)
        return code_of(slice_records(definitions, levels, maximum, bodies, low, high, 3, 2, slices, extent))

    assert sliced([0, 1, 0, 1], 0, 0, 2) != BAD_COUNT
    assert sliced([0, 1, 0, 1], 0, 0, 3) == BAD_COUNT
    assert sliced([0, 1, 0, 1], 5, 4, 6) == BAD_COUNT
    assert sliced([1, 0, 0, 1], 0, 0, 2) == BAD_RECORD_START
    assert sliced([1, 0, 0, 1], 7, 7, 9) != BAD_COUNT
    assert extent[:2].tolist() == [1, 4]
    assert sliced([0, 0, 0, 0], 0, 2, 5, maximum=0) == BAD_COUNT


@pytest.mark.parametrize("levels", [[(0, 1), (1, 3)], [(0, 2), (1, 1)], [(0, 0), (1, 2)], [(0, 3), (1, 0)]])
def test_continued_list_needs_an_item_before_and_an_item_of_its_own(levels: list[tuple[int, int]]) -> None:
    repetitions = np.array([pair[0] for pair in levels], np.uint8)
    definitions = np.array([pair[1] for pair in levels], np.uint8)
    offsets, words, counts = np.zeros(2, np.int32), np.zeros(2, np.uint64), np.zeros(2, np.int64)
    assert build_repeated(definitions, repetitions, 0, 2, 0, 0, 1, 2, offsets, words, counts) == BAD_LEVEL


def test_layer_with_another_number_of_slots_than_its_parent_says_is_refused() -> None:
    zeros, twos = np.zeros(130, np.uint8), np.full(130, 2, np.uint8)
    counts = np.zeros(2, np.int64)
    for slots in (129, 131):
        offsets, words = np.zeros(slots + 1, np.int32), np.zeros(4, np.uint64)
        assert build_repeated(twos, zeros, 0, 130, 0, 0, 1, 2, offsets, words, counts) == BAD_COUNT
    for room in (1, 2):
        words = np.zeros(room + 1, np.uint64)
        assert build_slots(twos, zeros, 0, 130, 255, 0, 1, words[:room]) == BAD_COUNT
        assert words[room] == 0
