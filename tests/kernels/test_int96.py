"""INT96 timestamps become exact int64 counts, or are refused."""

from __future__ import annotations

import random
from collections.abc import Callable

import numpy as np
import pytest
from hardwood_jit.kernels.int96 import to_microseconds, to_nanoseconds
from hardwood_jit.kernels.status import CORRUPT, OK, code_of, page_of

from tests.kernels.delta_encoder import NO_NULLS, validity_words

DAY = 86_400_000_000_000
EPOCH = 2_440_588
LOW, HIGH = -(2**63), 2**63 - 1
UNITS = [pytest.param(to_nanoseconds, 1, id="ns"), pytest.param(to_microseconds, 1000, id="us")]
Converter = Callable[..., int]


def pack(values: list[tuple[int, int]]) -> np.ndarray:
    """(nanoseconds, Julian day) pairs as 12-byte values."""
    raw = b"".join(n.to_bytes(8, "little", signed=True) + d.to_bytes(4, "little", signed=True) for n, d in values)
    return np.frombuffer(raw, np.uint8)


def exact(nanos: int, day: int, unit: int) -> int:
    return ((day - EPOCH) * DAY + nanos) // unit


def convert_one(convert: Converter, nanos: int, day: int) -> tuple[int, int]:
    out = np.zeros(1, np.int64)
    return convert(pack([(nanos, day)]), 1, NO_NULLS, out), int(out[0])


@pytest.mark.parametrize(("convert", "unit"), UNITS)
def test_random_instants_are_exact_or_refused(convert: Converter, unit: int) -> None:
    rng = random.Random(unit)
    reach = 2**63 * unit // DAY
    for _ in range(3000):
        nanos = rng.choice([rng.randrange(DAY), rng.randint(LOW, HIGH), 0, -1, DAY, DAY - 1, LOW, HIGH])
        spread = rng.choice([10, 100_000, reach + 1, 2**31 - 1 - EPOCH])
        day = max(-(2**31), min(2**31 - 1, EPOCH + rng.randint(-spread, spread)))
        status, value = convert_one(convert, nanos, day)
        wanted = exact(nanos, day, unit)
        if LOW <= wanted <= HIGH:
            assert (status, value) == (OK, wanted)
        else:
            assert code_of(status) == CORRUPT


@pytest.mark.parametrize(("convert", "unit"), UNITS)
@pytest.mark.parametrize("edge", [LOW, HIGH])
def test_first_and_last_instant_fit_and_their_neighbours_do_not(convert: Converter, unit: int, edge: int) -> None:
    for step in range(-3, 4):
        days, nanos = divmod((edge + step) * unit, DAY)
        for shift in (-2, 0, 2):  # the same instant, its nanoseconds negative or more than a day
            status, value = convert_one(convert, nanos - shift * DAY, days + EPOCH + shift)
            if LOW <= edge + step <= HIGH:
                assert (status, value) == (OK, edge + step)
            else:
                assert code_of(status) == CORRUPT


def test_microseconds_round_down() -> None:
    assert [convert_one(to_microseconds, n, EPOCH)[1] for n in (-1001, -1000, -1, 0, 999, 1000)] == [
        -2,
        -1,
        -1,
        0,
        0,
        1,
    ]


@pytest.mark.parametrize(("convert", "unit"), UNITS)
def test_nulls_are_not_looked_at(convert: Converter, unit: int) -> None:
    rng = random.Random(3)
    for count in (0, 1, 63, 64, 65, 200):
        present = np.array([rng.random() < 0.5 for _ in range(count)], bool)
        values = [(rng.randrange(DAY), EPOCH + 5) if p else (HIGH, 2**31 - 1) for p in present]
        out = np.full(count, 7, np.int64)
        assert convert(pack(values), count, validity_words(present), out) == OK
        assert out.tolist() == [exact(*v, unit) if p else 0 for v, p in zip(values, present, strict=True)]


@pytest.mark.parametrize(("convert", "unit"), UNITS)
def test_failure_names_the_first_value_that_does_not_fit(convert: Converter, unit: int) -> None:
    values = [(0, EPOCH)] * 100
    values[70] = values[90] = (0, 2**31 - 1)
    status = convert(pack(values), 100, NO_NULLS, np.zeros(100, np.int64))
    assert (code_of(status), page_of(status)) == (CORRUPT, 70)
