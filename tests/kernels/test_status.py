"""Status codes: each has a meaning, and one integer carries code and page."""

from __future__ import annotations

import pytest
from hardwood_jit.kernels import status
from hardwood_jit.kernels.compiled import fail
from hardwood_jit.kernels.status import MEANING, OK, code_of, page_of

from hardwood_jit.errors import CorruptFileError, located

CODES = {
    name: value
    for name, value in vars(status).items()
    if name.isupper() and isinstance(value, int) and not name.startswith("_") and name != "OK"
}


def test_every_code_is_negative_different_and_has_a_meaning() -> None:
    assert OK == 0
    assert len(set(CODES.values())) == len(CODES)
    assert set(CODES.values()) == set(MEANING)
    assert all(-64 < code < 0 for code in CODES.values())
    assert len(set(MEANING.values())) == len(MEANING)


@pytest.mark.parametrize("name", CODES)
@pytest.mark.parametrize("page", [0, 1, 63, 64, 2**31, 2**50])
def test_code_and_page_come_out_of_one_number_as_they_went_in(name: str, page: int) -> None:
    packed = fail(CODES[name], page)
    assert packed < 0
    assert code_of(packed) == CODES[name]
    assert page_of(packed) == page


@pytest.mark.parametrize("name", CODES)
def test_plain_status_is_page_0(name: str) -> None:
    assert code_of(CODES[name]) == CODES[name]
    assert page_of(CODES[name]) == 0


def test_located_error_says_where_and_what() -> None:
    error = located(fail(status.BAD_LEVEL, 12), "x.parquet: row group 3")
    assert isinstance(error, CorruptFileError)
    assert str(error) == f"x.parquet: row group 3: {MEANING[status.BAD_LEVEL]}"
