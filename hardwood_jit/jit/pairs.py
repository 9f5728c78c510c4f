"""Two decoded columns of one kind -> one verdict per row: left op right, false where either is null."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardwood_jit.batch import Column
from hardwood_jit.jit.kernel_cache import load
from hardwood_jit.jit.value_test import DAY_NANOS, instant_keys, number_keys
from hardwood_jit.kernels import compare
from hardwood_jit.plan.bound import Domain, PairTest

Bytes = NDArray[np.uint8]

# Which outcomes satisfy an operator: 1 below, 2 equal, 4 above.
OUTCOMES = {"lt": 1, "eq": 2, "le": 3, "gt": 4, "ne": 5, "ge": 6}
NUMBERS = ("boolean", "signed", "unsigned", "float")
INT64_MIN, INT64_MAX = -(2**63), 2**63 - 1


def hits_of_pair(test: PairTest, left: Column, left_at: int, right: Column, right_at: int, count: int) -> Bytes:
    """Verdicts of `count` rows, from these rows of two columns without lists on."""
    hits = np.empty(count, np.uint8)
    op = OUTCOMES[test.op]
    if test.left_domain.kind in NUMBERS and test.right_domain.kind in NUMBERS:
        _compare_numbers(test, left, left_at, right, right_at, op, hits)
    elif test.left_domain.kind != test.right_domain.kind or test.left_domain.kind == "decimal":
        _compare_exactly(test, left, left_at, right, right_at, op, hits)
    else:
        a, a_data = _byte_strings(left, test.left_domain, left_at, count)
        b, b_data = _byte_strings(right, test.right_domain, right_at, count)
        load("compare.compare_byte_arrays", o="int64")(a, a_data, b, b_data, count, compare.BYTES, op, hits)
    for column, at in ((left, left_at), (right, right_at)):
        if column.validity.words is not None:
            hits &= column.validity.to_numpy(at + count)[at:].view(np.uint8)
    return hits


def _compare_numbers(
    test: PairTest, left: Column, left_at: int, right: Column, right_at: int, op: int, hits: Bytes
) -> None:
    count = hits.size
    one, other = test.left_domain, test.right_domain
    if test.left_factor != 1 or test.right_factor != 1:
        ones, others = _integers(left, left_at, count), _integers(right, right_at, count)
        _compare_scaled(ones, test.left_factor, others, test.right_factor, op, hits)
        return
    a, b = number_keys(left, one)[left_at : left_at + count], number_keys(right, other)[right_at : right_at + count]
    if {one.kind, other.kind} == {"signed", "unsigned"}:
        # On the signed scale an unsigned number of 2**63 and more is above every signed one, a negative one below.
        a, b = _signed_and_unsigned(a, b, one.kind == "signed", op, hits)
        if a.size == 0:
            return
    load("compare.compare_keys")(np.ascontiguousarray(a), np.ascontiguousarray(b), count, op, hits)


def _signed_and_unsigned(
    a: NDArray[np.uint64], b: NDArray[np.uint64], a_is_signed: bool, op: int, hits: Bytes
) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """Keys of a signed (biased) and an unsigned column, made comparable; negative numbers are decided here."""
    half = np.uint64(1 << 63)
    signed = a if a_is_signed else b
    negative = signed < half
    if not negative.any():
        return (a - half, b) if a_is_signed else (a, b - half)
    plain = np.where(negative, np.uint64(0), signed - half)
    x, y = (plain, b) if a_is_signed else (a, plain)
    load("compare.compare_keys")(np.ascontiguousarray(x), np.ascontiguousarray(y), hits.size, op, hits)
    outcome = 1 if a_is_signed else 4  # the negative side is below
    hits[negative] = 1 if op & outcome else 0
    return np.empty(0, np.uint64), np.empty(0, np.uint64)


def _integers(column: Column, at: int, count: int) -> NDArray[np.int64]:
    values = column.values
    assert values is not None
    return values[at : at + count].astype(np.int64)


def _compare_scaled(
    a: NDArray[np.int64], a_factor: int, b: NDArray[np.int64], b_factor: int, op: int, hits: Bytes
) -> None:
    """a * a_factor op b * b_factor, exactly: the other side is divided, because a product may not fit."""
    if a_factor == 1:
        mirrored = (op & 2) | ((op & 1) << 2) | ((op & 4) >> 2)
        _compare_scaled(b, b_factor, a, 1, mirrored, hits)
        return
    if a_factor > INT64_MAX:  # then only zero is not larger than anything on the other side
        below = (a < 0) | ((a == 0) & (b > 0))
        above = (a > 0) | ((a == 0) & (b < 0))
    else:
        quotient, rest = np.divmod(b, np.int64(a_factor))
        below = (a < quotient) | ((a == quotient) & (rest > 0))
        above = a > quotient
    same = ~(below | above)
    hits[:] = (below & bool(op & 1)) | (same & bool(op & 2)) | (above & bool(op & 4))


def _compare_exactly(
    test: PairTest, left: Column, left_at: int, right: Column, right_at: int, op: int, hits: Bytes
) -> None:
    """Decimals stored as bytes, INT96 beside timestamps: in Python's integers; decimals of one scale in a kernel."""
    count = hits.size
    if test.left_factor == test.right_factor == 1 and "instant" not in (test.left_domain.kind, test.right_domain.kind):
        a, a_data = _byte_strings(left, test.left_domain, left_at, count)
        b, b_data = _byte_strings(right, test.right_domain, right_at, count)
        load("compare.compare_byte_arrays", o="int64")(a, a_data, b, b_data, count, compare.DECIMAL, op, hits)
        return
    ones = _python_integers(left, test.left_domain, left_at, count)
    others = _python_integers(right, test.right_domain, right_at, count)
    for row, (one, other) in enumerate(zip(ones, others, strict=True)):
        x, y = one * test.left_factor, other * test.right_factor
        hits[row] = bool(op & (1 if x < y else 2 if x == y else 4))


def _python_integers(column: Column, domain: Domain, at: int, count: int) -> list[int]:
    if domain.kind == "signed":
        numbers: list[int] = _integers(column, at, count).tolist()
        return numbers
    offsets, data = _byte_strings(column, domain, at, count)
    raw = data.tobytes()
    ends = offsets.tolist()
    if domain.kind == "instant":
        words = [int.from_bytes(raw[a : a + 8], "big") for a in range(0, 16 * count, 8)]
        return [(day - 2**63) * DAY_NANOS + nanos for day, nanos in zip(words[::2], words[1::2], strict=True)]
    return [int.from_bytes(raw[a:b], "big", signed=True) for a, b in pairwise(ends)]


def _byte_strings(column: Column, domain: Domain, at: int, count: int) -> tuple[NDArray[np.int64], Bytes]:
    """Values as offsets and bytes: byte arrays as they are, fixed widths one after the other, integers big-endian."""
    if column.offsets is not None:
        assert column.data is not None
        return column.offsets[at : at + count + 1].astype(np.int64), column.data
    values: NDArray[Any] | None = column.values
    assert values is not None
    values = values[at : at + count]
    if domain.kind == "signed":  # beside a decimal that is stored as bytes
        raw = values.astype(">i8").view(np.uint8).reshape(-1)
        width = 8
    elif domain.kind == "instant":
        raw, width = instant_keys(np.ascontiguousarray(values)), 16
    else:
        raw, width = np.ascontiguousarray(values).reshape(-1), values.shape[1]
    return np.arange(count + 1, dtype=np.int64) * width, raw
