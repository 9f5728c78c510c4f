"""Keys as a person reads them."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hardwood_jit.plan.bound import float_key
from hardwood_jit.plan.key_text import LONGEST_TEXT, float_of_key, key_text
from hardwood_jit.plan.literals import domain_of
from tests.support.proofs import leaf_of


@pytest.mark.parametrize(
    ("name", "key", "text"),
    [
        ("i64", -5, "-5"),
        ("u64", 2**64 - 1, "18446744073709551615"),
        ("flag", 1, "true"),
        ("flag", 0, "false"),
        ("double", float_key(1.5, 64), "1.5"),
        ("half", float_key(math.nan, 16), "nan"),
        ("float", -1, "-0.0"),
        ("text", "Évora".encode(), "'Évora'"),
        ("text", b"\xff", r"b'\xff'"),
        ("bytes", b"ab", "b'ab'"),
        ("date", 1, "1970-01-02"),
        ("date", 2**31 - 1, "2147483647"),
        ("ms", 1_500, "1970-01-01T00:00:01.500Z"),
        ("local", 1_000_000, "1970-01-01T00:00:01"),
        ("ns", 5, "1970-01-01T00:00:00.000000005Z"),
        ("ns", -1, "1969-12-31T23:59:59.999999999Z"),
        ("d32", -125, "-1.25"),
        ("dbytes", 5, "0.005"),
    ],
)
def test_key_reads_as_the_value(name: str, key: Any, text: str) -> None:
    leaf = leaf_of(name)
    assert key_text(key, leaf, domain_of(leaf, raw=False)) == text


def test_long_values_are_cut() -> None:
    leaf = leaf_of("text")
    found = key_text(b"x" * 500, leaf, domain_of(leaf, raw=False))
    assert len(found) == LONGEST_TEXT + 1 and found.endswith("…")


@pytest.mark.parametrize("bits", [16, 32, 64])
@given(data=st.data())
def test_float_of_a_key_is_the_float(bits: int, data: st.DataObject) -> None:
    value = data.draw(st.floats(width=bits))  # type: ignore[arg-type]
    found = float_of_key(float_key(value, bits), bits)
    assert (math.isnan(found) and math.isnan(value)) or (
        found == value and math.copysign(1, found) == math.copysign(1, value)
    )
