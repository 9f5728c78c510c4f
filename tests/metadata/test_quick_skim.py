"""The quick walks of column chunks and statistics say what the general walk says, or nothing."""

from __future__ import annotations

import random

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from hardwood_jit.kernels import quick_skim, skim
from hardwood_jit.kernels import tables as t
from numpy.typing import NDArray

from hardwood_jit.metadata.footer import FileMetadata, read_footer
from hardwood_jit.source import BytesSource
from tests.support.pages import Thrift, binary, boolean, byte, double, i16, i32, i64, list_of, record


def footer_of(**options: object) -> FileMetadata:
    texts, lists = ["x", "long" * 30, None, "é"], [[1], [], None, [2, 3]]
    table = pa.table({"a": [1, 2, None, 4] * 5, "text": texts * 5, "lists": lists * 5})
    out = pa.BufferOutputStream()
    pq.write_table(table, out, row_group_size=4, **options)
    return read_footer(BytesSource(out.getvalue().to_pybytes()))


def quick(src: NDArray[np.uint8], start: int, end: int) -> tuple[int, list[int]]:
    out = np.full((1, t.FOOTER_FIELDS), -99, np.int64)
    plan = skim.FIELD_PLAN
    after = int(quick_skim.quick_chunk(src, start, end, plan[skim.CHUNK], plan[skim.META], out, 0))
    out[0, t.ROW_END] = -1  # the general walk leaves it to whoever walks the list
    return after, out[0].tolist()


def general(src: NDArray[np.uint8], start: int, end: int) -> tuple[int, list[int]]:
    out = np.full((1, t.FOOTER_FIELDS), -99, np.int64)
    stack = np.empty(skim.STACK_FIELDS, np.int64)
    _, pos, status = skim.skim(src, start, end, skim.CHUNK, 0, out, 0, stack)
    return int(status if status < 0 else pos), out[0].tolist()


def spaced(raw: bytes) -> NDArray[np.uint8]:
    """Bytes with so much behind them that the quick walk may take them."""
    return np.frombuffer(bytearray(raw + b"\xff" * 40), np.uint8)


def test_chunks_of_a_writer_are_taken_by_the_quick_walk_and_equal() -> None:
    metadata = footer_of(write_page_index=True)
    rows = metadata.chunk_table.reshape(-1, t.FOOTER_FIELDS)
    for row in rows.tolist():
        after, found = quick(metadata.footer, row[t.ROW_START], metadata.footer.size)
        assert after == row[t.ROW_END]
        assert found == [*row[:1], -1, *row[2:]] == general(metadata.footer, row[t.ROW_START], metadata.footer.size)[1]


def test_mutated_chunks_are_walked_equally_or_declined() -> None:
    metadata = footer_of(write_page_index=True)
    random_bytes = random.Random(5)
    taken = 0
    for row in metadata.chunk_table.reshape(-1, t.FOOTER_FIELDS).tolist():
        start, end = row[t.ROW_START], row[t.ROW_END]
        for _ in range(400):
            src = spaced(metadata.footer[start:end].tobytes())
            for _ in range(random_bytes.choice((1, 1, 2, 5))):
                byte_value = random_bytes.choice((0, 1, 0x15, 0x7F, 0x80, 0xFF, random_bytes.randrange(256)))
                src[random_bytes.randrange(end - start)] = byte_value
            size = random_bytes.choice((src.size, src.size, end - start, random_bytes.randrange(src.size)))
            after, found = quick(src, 0, size)
            if after >= 0:
                taken += 1
                assert (after, found) == general(src, 0, size)
    assert taken > 1000


META: dict[int, Thrift | None] = {
    1: i32(2),
    2: list_of([i32(0), i32(8)]),
    3: list_of([binary(b"x")]),
    4: i32(1),
    5: i64(10),
    6: i64(20),
    7: i64(20),
    9: i64(4),
}
ODD_CHUNKS: list[dict[int, Thrift | None]] = [
    {3: record({**META, 5: i64(-1)})},  # a negative count
    {3: record({**META, 4: i32(1 << 33)})},  # a number of 32 bits that is none
    {3: record({**META, 5: i32(3)})},  # another type than the specification has
    {3: record({**META, 8: list_of([record({1: binary(b"k"), 2: binary(b"v")})] * 20)})},
    {3: record({**META, 12: record({1: list_of([record({1: list_of([i32(1)])})])})})},
    {3: record({**META, 14: i64(-(1 << 62))})},
    {3: record({**META, 20: double(1.5)})},
    {3: record({**META, 20: byte(3), 21: i16(4), 22: boolean(True)})},
    {3: record({**META, 300: i32(1)})},
    {1: binary(b"elsewhere"), 3: record(META)},
    {2: i64(0), 8: record({1: record({})})},  # encrypted
    {2: i64(0)},  # without metadata
    {3: record(META), 30: i32(1)},
    {3: record({})},
]


def test_odd_chunks_are_walked_equally_or_declined() -> None:
    for fields in ODD_CHUNKS:
        raw = record(fields).encode()
        src = spaced(raw)
        after, found = quick(src, 0, src.size)
        if after >= 0:
            assert (after, found) == general(src, 0, src.size)


def test_a_footer_is_the_same_where_every_chunk_is_declined() -> None:
    """Fields in long form are for the general walk only."""
    metadata = footer_of()
    src = metadata.footer
    room = np.full((200, t.FOOTER_FIELDS), -7, np.int64)
    count = skim.skim_footer(src, 0, src.size, room)
    row = metadata.chunk_table[0, 0].tolist()
    start = row[t.ROW_START]
    assert int(src[start]) == 0x26  # field 2, I64: write it with its number behind it
    longer = np.concatenate([src[:start], np.array([0x06, 0x04], np.uint8), src[start + 1 :]])
    other = np.full((200, t.FOOTER_FIELDS), -7, np.int64)
    assert skim.skim_footer(longer, 0, longer.size, other) == count
    numbers = [t.CHUNK_TYPE, t.CHUNK_CODEC, t.CHUNK_VALUES, t.CHUNK_COMPRESSED, t.CHUNK_DATA_OFFSET]
    assert np.array_equal(room[2:count, numbers], other[2:count, numbers])
    assert (other[3:count, t.ROW_START] == room[3:count, t.ROW_START] + 1).all()


def statistics_rows(src: NDArray[np.uint8], places: list[tuple[int, int]]) -> NDArray[np.int64]:
    table = np.full((len(places), t.STATS_FIELDS), -99, np.int64)
    starts, ends = (np.array([place[k] for place in places], np.int64) for k in (0, 1))
    skim.skim_all_statistics(src, starts, ends, table)
    return table


def one_by_one(src: NDArray[np.uint8], places: list[tuple[int, int]]) -> NDArray[np.int64]:
    table = np.full((len(places), t.STATS_FIELDS), -1, np.int64)
    stack = np.empty(skim.STACK_FIELDS, np.int64)
    for number, (start, end) in enumerate(places):
        if start >= 0 and skim.skim(src, start, end, skim.STATISTICS, 0, table, number, stack)[2] < 0:
            table[number] = -1
    return table


def test_statistics_of_many_chunks_equal_those_of_one_after_the_other() -> None:
    metadata = footer_of()
    extents = metadata.chunk_table[:, :, [t.CHUNK_STATS_START, t.CHUNK_STATS_END]].reshape(-1, 2)
    places = [(int(start), int(end)) for start, end in extents] + [(-1, -1)]
    assert np.array_equal(statistics_rows(metadata.footer, places), one_by_one(metadata.footer, places))
    random_bytes = random.Random(6)
    for _ in range(300):
        src = metadata.footer.copy()
        for start, end in places:
            if start >= 0 and random_bytes.random() < 0.7:
                src[random_bytes.randrange(start, end)] = random_bytes.randrange(256)
        assert np.array_equal(statistics_rows(src, places), one_by_one(src, places))


def test_odd_statistics_at_the_very_end_equal_those_of_one_after_the_other() -> None:
    odd = [
        record({}),
        record({1: binary(b"x"), 2: binary(b""), 3: i64(-4), 7: boolean(True), 8: boolean(False), 9: i64(1 << 60)}),
        record({1: i32(4), 3: i32(4), 5: binary(b"a" * 300), 12: list_of([i32(1)]), 15: record({})}),
        record({5: binary(b"a"), 40: i32(1)}),
    ]
    for item in odd:
        raw = item.encode()
        src = np.frombuffer(bytearray(raw * 2), np.uint8)
        places = [(0, len(raw)), (len(raw), 2 * len(raw)), (0, len(raw) - 1), (len(raw), 2 * len(raw) + 50)][:3]
        assert np.array_equal(statistics_rows(src, places), one_by_one(src, places))
