"""Row groups that statistics prove empty: planner tests on hand-made statistics, and the effect on files."""

from __future__ import annotations

import io
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import hardwood_jit as hw
from hardwood_jit import col
from hardwood_jit.metadata.footer import Statistics
from hardwood_jit.plan.bind import bind
from hardwood_jit.plan.predicate import as_predicate
from hardwood_jit.plan.prune import FEW_GROUPS, GroupPruner


def table_bytes(**settings: Any) -> bytes:
    """Four row groups of a thousand sorted numbers; `other` is not sorted."""
    rows = 4_000
    sink = io.BytesIO()
    numbers = np.arange(rows)
    table = pa.table({"key": numbers, "other": numbers % 10, "price": numbers / 2})
    pq.write_table(table, sink, row_group_size=1_000, **settings)
    return sink.getvalue()


FILE = table_bytes()
SCHEMA = hw.open(FILE).schema


@dataclass(frozen=True)
class Chunk:
    statistics: Statistics | None
    num_values: int = 100


def number(value: int) -> bytes:
    return value.to_bytes(8, "little", signed=True)


def drops(predicate: Any, statistics: Statistics | None, order: str | None = "TYPE_ORDER") -> bool:
    bound = bind(as_predicate(predicate), SCHEMA)
    return GroupPruner(bound.conjuncts, (order,) * 3).drops([Chunk(statistics)] * 3)


TEN_TO_TWENTY = Statistics(min_value=number(10), max_value=number(20), null_count=0)


@pytest.mark.parametrize(
    ("predicate", "never"),
    [
        ("key = 9", True),
        ("key = 10", False),
        ("key = 21", True),
        ("key != 15", False),
        ("key < 10", True),
        ("key < 11", False),
        ("key <= 9", True),
        ("key > 20", True),
        ("key > 19", False),
        ("key >= 21", True),
        ("key in (1, 2, 30)", True),
        ("key in (1, 2, 12)", False),
        ("key is null", False),
        ("key = 9 or key = 21", True),
        ("key = 9 or other = 15", False),
        ("key = 15 and other = 9", True),
        ("not key >= 10", True),
    ],
)
def test_bounds_of_signed_integers_decide_as_the_table_says(predicate: str, never: bool) -> None:
    assert drops(predicate, TEN_TO_TWENTY) is never


def test_not_equal_is_never_where_both_bounds_are_that_value() -> None:
    assert drops("key != 7", Statistics(min_value=number(7), max_value=number(7)))


def test_column_of_nulls_only_satisfies_no_value_operator() -> None:
    assert drops("key = 1", Statistics(null_count=100))
    assert not drops("key is null", Statistics(null_count=100))
    assert not drops("key = 1", Statistics(null_count=99))


def test_absent_statistics_prove_nothing() -> None:
    assert not drops("key = 1", None)
    assert not drops("key = 1", Statistics(min_value=number(5)))


def test_bounds_in_the_wrong_order_are_ignored() -> None:
    assert not drops("key = 1", Statistics(min_value=number(20), max_value=number(10)))


def test_bounds_of_another_width_are_ignored() -> None:
    assert not drops("key = 1", Statistics(min_value=b"\x05", max_value=b"\x09"))


def test_deprecated_bounds_count_for_signed_integers() -> None:
    assert drops("key = 1", Statistics(deprecated_min=number(5), deprecated_max=number(9)))


def test_bounds_without_a_known_order_are_ignored() -> None:
    assert not drops("key = 9", TEN_TO_TWENTY, order=None)


def test_bounds_of_floats_are_left_alone() -> None:
    assert not drops("price = 1.0", TEN_TO_TWENTY)


def test_conjunct_that_drops_nothing_is_not_asked_for_ever() -> None:
    bound = bind(as_predicate("key > 0"), SCHEMA)
    pruner = GroupPruner(bound.conjuncts, ("TYPE_ORDER",) * 3)
    outside = [Chunk(Statistics(min_value=number(-9), max_value=number(-1)))] * 3
    for _ in range(FEW_GROUPS):
        assert not pruner.drops([Chunk(TEN_TO_TWENTY)] * 3)
    assert not pruner.drops(outside)  # kept, which is the safe side


def test_row_groups_outside_the_bounds_are_not_read() -> None:
    scan = hw.scan(FILE).filter((col("key") >= 1_500) & (col("key") < 1_600)).select("other").threads(1)
    with_metadata = scan.explain(analyze=True).as_dict()
    without = scan.use_metadata(False).explain(analyze=True).as_dict()
    assert with_metadata["row_groups_scanned"] == 1
    assert with_metadata["row_groups_pruned"] == 3
    assert without["row_groups_scanned"] == 4
    assert with_metadata["rows_out"] == without["rows_out"] == 100
    assert with_metadata["bytes_read"] < without["bytes_read"]


@pytest.mark.parametrize("text", ["key = 2500", "key < 1", "key > 3998 or key = 0", "key in (5, 1005)", "key != 7"])
def test_results_are_the_same_without_metadata(text: str) -> None:
    scan = hw.scan(FILE).filter(text).select("key")
    assert scan.to_arrow().equals(scan.use_metadata(False).to_arrow())
    assert scan.tail(3).to_arrow().to_pydict() == scan.use_metadata(False).tail(3).to_arrow().to_pydict()
