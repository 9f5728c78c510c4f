"""The bytes that a bloom filter is asked about: one form per value, or none."""

from __future__ import annotations

import datetime as dt
import math
import struct
import uuid
from decimal import Decimal
from typing import Any

import pytest

from hardwood_jit import col
from hardwood_jit.metadata.bloom import xxh64
from hardwood_jit.plan.bind import bind
from hardwood_jit.plan.bound import ValueTest
from hardwood_jit.plan.stored_keys import hashes_of_test
from tests.support.proofs import SCHEMA

MOMENT = dt.datetime(2024, 5, 1, 12, tzinfo=dt.UTC)
SECONDS = int(MOMENT.timestamp())


def hashes(predicate: Any) -> list[int] | None:
    (test,) = bind(predicate, SCHEMA).conjuncts
    assert isinstance(test, ValueTest)
    found = hashes_of_test(test)
    return None if found is None else [int(number) for number in found]


@pytest.mark.parametrize(
    ("name", "literal", "stored"),
    [
        ("i32", -5, struct.pack("<i", -5)),
        ("i64", 2**62, struct.pack("<q", 2**62)),
        ("i8", -5, struct.pack("<i", -5)),
        ("u32", 2**32 - 1, b"\xff" * 4),
        ("u64", 2**64 - 1, b"\xff" * 8),
        ("float", 1.5, struct.pack("<f", 1.5)),
        ("float", 0.1, struct.pack("<f", 0.1)),
        ("double", -math.inf, struct.pack("<d", -math.inf)),
        ("text", "é", "é".encode()),
        ("bytes", b"", b""),
        ("fixed", b"abcd", b"abcd"),
        ("uuid", uuid.UUID(int=7), uuid.UUID(int=7).bytes),
        ("uuid", bytes(16), bytes(16)),
        ("interval", b"x" * 12, b"x" * 12),
        ("date", dt.date(1970, 1, 3), struct.pack("<i", 2)),
        ("time", dt.time(0, 0, 1), struct.pack("<q", 10**6)),
        ("ms", MOMENT, struct.pack("<q", SECONDS * 1000)),
        ("ns", MOMENT, struct.pack("<q", SECONDS * 10**9)),
        ("d32", Decimal("-1.25"), struct.pack("<i", -125)),
        ("d64", 3, struct.pack("<q", 30_000)),
        ("dfixed", Decimal("-0.01"), b"\xff" * 9),
        ("dfixed", b"\xff" * 9, b"\xff" * 9),
    ],
)
def test_literal_is_asked_about_in_its_physical_form(name: str, literal: Any, stored: bytes) -> None:
    assert hashes(col(name) == literal) == [xxh64(stored)]


@pytest.mark.parametrize(
    ("name", "literal"),
    [
        ("double", math.nan),
        ("double", 0.0),
        ("double", -0.0),
        ("float", 0),
        ("half", 1.5),
        ("half", b"\0\0"),
        ("flag", True),
        ("int96", MOMENT),
        ("dbytes", 1),
        ("dbytes", b"\1"),
    ],
)
def test_values_with_several_forms_are_never_asked_about(name: str, literal: Any) -> None:
    assert hashes(col(name) == literal) is None


def test_stored_numbers_are_asked_about_as_they_are() -> None:
    assert hashes(col("ms").raw == 5) == [xxh64(struct.pack("<q", 5))]
    assert hashes(col("u32").raw == -1) == [xxh64(b"\xff" * 4)]
    assert hashes(col("int96").raw == bytes(12)) is None
    assert hashes(col("dbytes").raw == b"\1") is None


def test_list_is_asked_about_as_a_whole_or_not_at_all() -> None:
    assert hashes(col("i64").is_in([7, 1, 4])) == [xxh64(struct.pack("<q", number)) for number in (1, 4, 7)]
    assert hashes(col("double").is_in([1.0, 0.0])) is None
    assert hashes(col("i64") > 5) is None
