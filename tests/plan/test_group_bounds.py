"""Row groups excluded all at once are those that would be excluded one by one."""

from __future__ import annotations

import io
import math
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import hardwood_jit as hw
from hardwood_jit.metadata.footer import FileMetadata
from hardwood_jit.plan.bind import bind
from hardwood_jit.plan.predicate import as_predicate
from hardwood_jit.plan.prune import NEVER, Prover

GROUPS = 40
ROWS = 5  # few: so that many row groups hold one value, only nulls or only NaN


def metadata_of(columns: dict[str, pa.Array], **settings: Any) -> FileMetadata:
    sink = io.BytesIO()
    pq.write_table(pa.table(columns), sink, row_group_size=ROWS, **settings)
    return hw.open(sink.getvalue()).files[0].metadata


def numbers(kind: Any, seed: int) -> pa.Array:
    random = np.random.default_rng(seed)
    values: list[Any] = []
    for _ in range(GROUPS):
        start = random.integers(0, 50)
        group = [int(value) for value in random.integers(start, start + 4, ROWS)]
        share = random.integers(0, 4)
        values += [None if share == 3 or (share == 2 and random.integers(0, 2)) else value for value in group]
    if pa.types.is_floating(kind):
        specials = [math.nan, 0.0, -0.0, math.inf, -math.inf]
        values = [random.choice(specials) if value is not None and value % 7 == 0 else value for value in values]
        return pa.array([None if value is None else float(value) for value in values], kind, from_pandas=False)
    return pa.array(values, kind)


KINDS = [pa.int32(), pa.int64(), pa.uint8(), pa.uint32(), pa.uint64(), pa.float32(), pa.float64()]
FILES = {
    str(kind): metadata_of({"x": numbers(kind, number)}) for number, kind in enumerate(KINDS)
}
TESTS = ["=", "!=", "<", "<=", ">", ">="]


def excluded(metadata: FileMetadata, predicate: str) -> tuple[list[bool], list[bool]]:
    """All at once, and one by one."""
    bound = bind(as_predicate(predicate), metadata.schema)
    prover = Prover(bound, metadata.column_orders, metadata.created_by)
    never = prover.never(metadata.column_statistics)
    together = [False] * GROUPS if never is None else never.tolist()
    alone = [prover.verdicts(group.index, group.columns).verdict is NEVER for group in metadata.row_groups]
    return together, alone


@given(
    st.sampled_from(sorted(FILES)),
    st.lists(st.tuples(st.sampled_from(TESTS), st.integers(0, 60)), min_size=1, max_size=3),
    st.sampled_from([" and ", " or "]),
)
def test_all_at_once_equals_one_by_one(name: str, tests: list[tuple[str, int]], joint: str) -> None:
    together, alone = excluded(FILES[name], joint.join(f"x {op} {value}" for op, value in tests))
    if name == "uint64" or all(alone):  # keys beyond 63 bits and what is false everywhere are judged one by one
        assert all(one or not both for both, one in zip(together, alone, strict=True))
    else:
        assert together == alone


@pytest.mark.parametrize("name", ["float", "double"])
@pytest.mark.parametrize("test", ["x = nan", "x >= nan", "x < nan", "x = 0.0", "x = -0.0", "x > inf", "x <= -inf"])
def test_special_floats_are_excluded_as_one_by_one(name: str, test: str) -> None:
    together, alone = excluded(FILES[name], test)
    assert together == alone


def test_many_values_are_searched(name: str = "int64") -> None:
    together, alone = excluded(FILES[name], "x in (" + ", ".join(str(value) for value in range(0, 60, 9)) + ")")
    assert together == alone and any(together) and not all(together)


@pytest.mark.parametrize("test", ["x is null", "x is not null", "not x = 5 or x is null"])
def test_null_tests_are_never_excluded_wrongly(test: str) -> None:
    for metadata in FILES.values():
        together, alone = excluded(metadata, test)
        assert all(one or not both for both, one in zip(together, alone, strict=True))


def test_files_without_statistics_exclude_nothing() -> None:
    metadata = metadata_of({"x": numbers(pa.int64(), 1)}, write_statistics=False)
    together, alone = excluded(metadata, "x = 1000")
    assert together == alone == [False] * GROUPS
