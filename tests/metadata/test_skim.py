"""The Thrift walker: page headers into tables, and every malformed byte refused without leaving the buffer."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hardwood_jit.kernels import skim
from hardwood_jit.kernels import tables as t
from hardwood_jit.kernels.status import BAD_HEADER, NEED_MORE, OK, TABLE_FULL, TOO_DEEP, TRUNCATED
from numpy.typing import NDArray

from tests.support import pages as p
from tests.support.pages import Thrift, binary, boolean, byte, double, i16, i32, i64, list_of, record


def source(raw: bytes) -> NDArray[np.uint8]:
    return np.frombuffer(bytearray(raw), np.uint8)


def walk(raw: bytes, values: int = 1 << 40, room: int = 20) -> tuple[NDArray[np.int64], int, int]:
    table = np.full((room, t.PAGE_FIELDS), -99, np.int64)
    row, pos, status = skim.walk_pages(source(raw), 0, len(raw), values, table, 0)
    return table[:row], int(pos), int(status)


def v1(values: int = 10, stats: Thrift | None = None) -> Thrift:
    return record({1: i32(values), 2: i32(8), 3: i32(3), 4: i32(4), 5: stats})


def page(kind: int, number: int, header: Thrift | None, body: int = 6, crc: int | None = None, raw: int = 60) -> bytes:
    fields = {1: i32(kind), 2: i32(raw), 3: i32(body), 4: None if crc is None else i32(crc), number: header}
    return record(fields).encode() + bytes(body)


V2 = record(
    {1: i32(9), 2: i32(2), 3: i32(7), 4: i32(5), 5: i32(3), 6: i32(1), 7: boolean(False), 8: record({3: i64(2)})}
)
DICTIONARY = record({1: i32(4), 2: i32(2), 3: boolean(True)})


def test_every_field_of_every_page_kind_lands_in_its_column() -> None:
    stats = record({1: binary(b"max"), 3: i64(5)})
    first, second, third = page(2, 7, DICTIONARY, 3), page(0, 5, v1(10, stats), 6, -1), page(3, 8, V2, 5, 17)
    raw = first + second + third
    table, pos, status = walk(raw)
    assert (status, pos, len(table)) == (OK, len(raw), 3)
    assert table[:, t.PAGE_HEADER].tolist() == [0, len(first), len(first) + len(second)]
    assert table[:, t.PAGE_BODY].tolist() == [len(first) - 3, len(first + second) - 6, len(raw) - 5]
    assert table[:, t.PAGE_KIND].tolist() == [2, 0, 3]
    assert table[:, t.PAGE_COMPRESSED].tolist() == [3, 6, 5]
    assert table[:, t.PAGE_UNCOMPRESSED].tolist() == [60] * 3
    assert table[:, t.PAGE_VALUES].tolist() == [4, 10, 9]
    assert table[:, t.PAGE_ENCODING].tolist() == [2, 8, 5]
    assert table[:, t.PAGE_DEF_ENCODING].tolist() == [-1, 3, -1]
    assert table[:, t.PAGE_REP_ENCODING].tolist() == [-1, 4, -1]
    assert table[:, t.PAGE_ROWS].tolist() == [-1, -1, 7]
    assert table[:, t.PAGE_NULLS].tolist() == [-1, -1, 2]
    assert table[:, t.PAGE_DEF_BYTES].tolist() == [-1, -1, 3]
    assert table[:, t.PAGE_REP_BYTES].tolist() == [-1, -1, 1]
    assert table[:, t.PAGE_IS_COMPRESSED].tolist() == [1, 1, 0]
    assert table[:, t.PAGE_HAS_CRC].tolist() == [0, 1, 1]
    assert table[1:, t.PAGE_CRC].tolist() == [0xFFFFFFFF, 17]
    extents = table[:, [t.PAGE_STATS_START, t.PAGE_STATS_END]].tolist()
    assert extents[0] == [0, 0] and raw[slice(*extents[1])] == stats.encode()
    assert raw[slice(*extents[2])] == record({3: i64(2)}).encode()


def test_index_pages_and_unknown_page_kinds_are_passed_over() -> None:
    raw = page(1, 6, record({})) + page(9, 20, record({1: i32(1)})) + page(0, 5, v1())
    table, pos, status = walk(raw)
    assert (status, pos) == (OK, len(raw)) and table[:, t.PAGE_KIND].tolist() == [0]


def test_the_walk_stops_when_the_values_are_seen() -> None:
    one = page(0, 5, v1(10))
    table, pos, status = walk(one * 5, values=11)
    assert (status, pos, len(table)) == (OK, 2 * len(one), 2)
    assert walk(one, values=0)[1:] == (0, OK)


def test_a_full_table_says_so_and_the_walk_resumes() -> None:
    one = page(0, 5, v1(10))
    raw = source(one * 3)
    table = np.empty((2, t.PAGE_FIELDS), np.int64)
    row, pos, status = skim.walk_pages(raw, 0, raw.size, 1000, table, 0)
    assert (row, pos, status) == (2, 2 * len(one), TABLE_FULL)
    assert skim.walk_pages(raw, pos, raw.size, 1000, table, 0) == (1, 3 * len(one), OK)


def test_any_cut_asks_for_more_from_the_start_of_the_page_that_is_cut() -> None:
    first = page(2, 7, DICTIONARY)
    raw = first + page(0, 5, v1(10, record({1: binary(b"x" * 20)})), crc=5)
    for cut in range(len(raw)):
        table, pos, status = walk(raw[:cut])
        if cut in (0, len(first)):
            assert (status, pos) == (OK, cut)
        else:
            assert (status, pos) == (NEED_MORE, 0 if cut < len(first) else len(first))
            assert len(table) == (cut > len(first))


def test_unknown_fields_of_every_type_are_skipped() -> None:
    extra = {
        20: boolean(True),
        21: byte(-1),
        22: i16(5),
        23: double(1.5),
        24: binary(b"zz"),
        25: list_of([boolean(True), boolean(False)]),
        26: list_of([record({1: list_of([i32(1)] * 40)})] * 16),
        27: Thrift(p.MAP, (p.I32, p.BINARY, [(i32(1), binary(b"a")), (i32(2), binary(b"b"))])),
        28: Thrift(p.MAP, (p.I32, p.BINARY, [])),
        29: Thrift(p.SET, (p.I64, [i64(-3)])),
        300: record({}),
        -5: i32(1),
    }
    header = record({1: i32(0), 2: i32(9), 3: i32(2), 5: record({**v1().value, **extra}), **extra})
    table, _, status = walk(header.encode() + b"ab")
    assert (status, len(table), table[0, t.PAGE_VALUES]) == (OK, 1, 10)
    assert skim.skip_struct(source(header.encode()), 0, len(header.encode())) == len(header.encode())


def test_known_fields_of_another_type_count_as_unknown() -> None:
    header = record({1: i32(0), 2: i32(9), 3: i32(0), 4: binary(b"crc?"), 5: v1()})
    table, _, status = walk(header.encode())
    assert status == OK and table[0, t.PAGE_HAS_CRC] == 0
    header = record({1: i32(0), 2: i64(9), 3: i32(0), 5: v1()})
    assert walk(header.encode())[2] == BAD_HEADER  # a size that is missing


@pytest.mark.parametrize(
    "header",
    [
        record({}),
        record({2: i32(1), 3: i32(0), 5: v1()}),
        record({1: i32(0), 3: i32(0), 5: v1()}),
        record({1: i32(0), 2: i32(1), 5: v1()}),
        record({1: i32(-1), 2: i32(1), 3: i32(0), 5: v1()}),
        record({1: i32(0), 2: i32(-1), 3: i32(0), 5: v1()}),
        record({1: i32(0), 2: i32(1), 3: i32(-1), 5: v1()}),
        record({1: i32(0), 2: i32(1), 3: i32(1 << 33), 5: v1()}),
        record({1: i32(0), 2: i32(1), 3: i32(0)}),
        record({1: i32(2), 2: i32(1), 3: i32(0), 5: v1()}),
        record({1: i32(3), 2: i32(1), 3: i32(0), 5: v1()}),
        record({1: i32(0), 2: i32(1), 3: i32(0), 5: v1(-10)}),
        record({1: i32(0), 2: i32(1), 3: i32(0), 5: record({1: i32(1), 2: i32(0), 3: i32(3)})}),
        record({1: i32(2), 2: i32(1), 3: i32(0), 7: record({1: i32(-25), 2: i32(0)})}),
        record({1: i32(2), 2: i32(1), 3: i32(0), 7: record({1: i32(25)})}),
        record({1: i32(3), 2: i32(9), 3: i32(3), 8: V2}),  # more level bytes than bytes
        record({1: i32(3), 2: i32(3), 3: i32(9), 8: V2}),
        record({1: i32(3), 2: i32(9), 3: i32(9), 8: record({**V2.value, 6: i32(-1)})}),
        record({1: i32(3), 2: i32(9), 3: i32(9), 8: record({**V2.value, 5: i32(0x7FFFFFFF)})}),
    ],
)
def test_malformed_page_headers_are_refused(header: Thrift) -> None:
    raw = header.encode() + bytes(20)
    table, pos, status = walk(raw)
    assert (status, pos, len(table)) == (BAD_HEADER, 0, 0)


def skip(raw: bytes) -> int:
    return int(skim.skip_struct(source(raw), 0, len(raw)))


@pytest.mark.parametrize(
    ("raw", "status"),
    [
        (b"", TRUNCATED),
        (b"\x15", TRUNCATED),
        (b"\x15" + b"\x80" * 9 + b"\x02", BAD_HEADER),  # a number of more than 64 bits
        (b"\x15" + b"\xff" * 30, BAD_HEADER),
        (b"\x18\x05abc", TRUNCATED),
        (b"\x18\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", BAD_HEADER),  # length 2**64 - 1
        (b"\x18\x80\x80\x80\x80\x10", BAD_HEADER),  # length 2**32
        (b"\x19\xf5\xff\xff\xff\xff\x07\x00", TRUNCATED),  # a list of 2**31 - 1 numbers
        (b"\x19\xf5\xff\xff\xff\xff\xff\x7f\x00", BAD_HEADER),
        (b"\x19\x1d\x00\x00", BAD_HEADER),  # elements of type 13
        (b"\x19\x10\x00\x00", BAD_HEADER),  # elements of type 0
        (b"\x1d\x00\x00", BAD_HEADER),  # a field of type 13
        (b"\x10\x00", BAD_HEADER),  # a field of type 0 that is not the end
        (b"\x1b\x80\x80\x80\x80\x08\x55", BAD_HEADER),
        (b"\x1b\x05\x55\x02", TRUNCATED),
        (b"\x17\x00\x00", TRUNCATED),
        (b"\x13", TRUNCATED),
        (b"\x05", TRUNCATED),
        (b"\x05\x80", TRUNCATED),
    ],
)
def test_malformed_structs_are_refused(raw: bytes, status: int) -> None:
    assert skip(raw) == status


def test_depth_is_limited_and_hostile_nesting_ends_quickly() -> None:
    assert skip(b"\x1c" * 31 + b"\x00" * 32) == 63
    assert skip(b"\x1c" * 32 + b"\x00" * 33) == TOO_DEEP
    assert skip(b"\x1c" * 1_000_000) == TOO_DEEP
    assert skip(b"\x19" + b"\x19" * 1_000_000) == TOO_DEEP
    assert skip(b"\x19\xfc" + p.varint(900_000) + bytes(900_001)) == 5 + 900_000 + 1


def test_random_bytes_never_escape_the_buffer() -> None:
    # A guard of 0x1C (open a struct) around the window would change the outcome if a walker looked outside it.
    chance = random.Random(7)
    valid = page(2, 7, DICTIONARY) + page(0, 5, v1(10, record({1: binary(b"abc")})), crc=3) + page(3, 8, V2)
    for _ in range(3000):
        raw = bytearray(valid)
        for _ in range(chance.randint(1, 4)):
            raw[chance.randrange(len(raw))] = chance.randrange(256)
        cut = chance.randint(0, len(raw))
        alone = walk(bytes(raw[:cut]))
        padded = source(b"\x1c" * 50 + bytes(raw[:cut]) + b"\x1c" * 50)
        table = np.full((20, t.PAGE_FIELDS), -99, np.int64)
        row, pos, status = skim.walk_pages(padded, 50, 50 + cut, 1 << 40, table, 0)
        assert (row, pos - 50, status) == (len(alone[0]), alone[1], alone[2])
        assert 0 <= pos - 50 <= cut
