"""One unit of the predicate audit's way through Spark; `python -m tests.audit` has one for every column type."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.audit import oracle
from tests.audit import spark as audit_spark
from tests.audit.matrix import OPERATORS, SPARK_PATHS, SPARK_READ
from tests.audit.run import IN_SPARK, Results, Unit, run_all, spark_units

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

UNIT = Unit("spark", ("INT32",), "optional", 20)


def run_with(session: SparkSession, monkeypatch: pytest.MonkeyPatch) -> Results:
    monkeypatch.setattr(audit_spark, "session", lambda: session)
    return run_all([UNIT])


def test_predicates_in_sparks_workers_agree_with_the_oracle(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = run_with(spark, monkeypatch)
    assert not found.lines, "\n".join(found.lines)
    assert found.kernels[IN_SPARK] == sum(found.cells.values()) > len(OPERATORS)
    ways = {f"{path.terminal}, metadata {'on' if path.metadata else 'off'}" for path in (*SPARK_PATHS, SPARK_READ)}
    assert set(found.paths) == ways
    assert found.matching_rows > 100 and found.refusals


def test_wrong_answer_in_sparks_workers_is_noticed(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(oracle.COMPARE, "ge", oracle.COMPARE["gt"])
    found = run_with(spark, monkeypatch)
    wrong = {operator for _, operator in found.mismatches}
    assert wrong and wrong <= {"ge", "not_ge", "raw_ge", "between", "not_between", "and", "or"}


def test_every_type_has_a_unit_and_a_share_has_some_of_them() -> None:
    every = spark_units(0, 1.0)
    assert len({unit.names for unit in every}) == len(every) > 40
    assert {unit.nullability for unit in every} == {"required", "optional", "in_struct"}
    assert 3 < len(spark_units(0, 0.1)) < 10
