"""Predicates over columns whose one value is known: folded to what the other columns must still pass."""

from __future__ import annotations

import operator
from typing import Any

import pytest

from hardwood_jit.metadata import structs
from hardwood_jit.metadata.schema import Schema, build_schema
from hardwood_jit.physical import PhysicalType
from hardwood_jit.plan.bind import bind
from hardwood_jit.plan.bound import AnyOf, BoundPredicate, Fixed, PairTest, ValueTest
from hardwood_jit.plan.constants import constant_part, fold_constants
from hardwood_jit.plan.predicate import Predicate, col

OPTIONAL = 1
UNSIGNED_64 = 14  # converted type


def schema_of(**types: tuple[PhysicalType, int | None]) -> Schema:
    elements = [structs.SchemaElement(name=b"schema", num_children=len(types))]
    for name, (physical, converted) in types.items():
        fields: dict[str, Any] = {"name": name.encode(), "type": int(physical), "repetition_type": OPTIONAL}
        if converted is not None:
            fields["converted_type"] = converted
        elements.append(structs.SchemaElement(**fields))
    return build_schema(elements, "hand-made")


SCHEMA = schema_of(
    x=(PhysicalType.INT64, None),
    u=(PhysicalType.INT64, UNSIGNED_64),
    s=(PhysicalType.BYTE_ARRAY, 0),
    k=(PhysicalType.INT64, None),
    t=(PhysicalType.BYTE_ARRAY, 0),
)
X, U, S, K, T = range(5)


def folded(predicate: Predicate, k: int | None = 7, t: bytes | None = b"m") -> BoundPredicate:
    return fold_constants(bind(predicate, SCHEMA), {K: k, T: t})


def answer(predicate: Predicate, k: int | None = 7) -> bool:
    found = folded(predicate, k)
    if not found.conjuncts:
        return True
    (node,) = found.conjuncts
    assert isinstance(node, Fixed)
    return node.value


@pytest.mark.parametrize(
    ("predicate", "seven", "null"),
    [
        (col("k") == 7, True, False),
        (col("k") != 7, False, False),
        (~(col("k") == 8), True, False),
        (col("k") < 7, False, False),
        (col("k").is_null(), False, True),
        (col("k").is_not_null(), True, False),
        (col("k").is_null() | (col("k") > 8), False, True),
        (col("k") == col("k"), True, False),
        (col("k") != col("k"), False, False),
    ],
)
def test_a_test_of_a_constant_is_answered(predicate: Predicate, seven: bool, null: bool) -> None:
    assert answer(predicate, 7) is seven
    assert answer(predicate, None) is null


@pytest.mark.parametrize("op", [operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge])
def test_a_pair_becomes_a_test_of_its_other_column(op: Any) -> None:
    for predicate, right_way in ((op(col("x"), col("k")), True), (op(col("k"), col("x")), False)):
        (node,) = folded(predicate).conjuncts
        assert isinstance(node, ValueTest) and node.leaf.index == X and not node.null_matches
        for value in (6, 7, 8):
            assert node.intervals.contains(value) == (op(value, 7) if right_way else op(7, value))
        assert answer(predicate, None) is False


def test_a_pair_of_text_compares_bytes() -> None:
    (node,) = folded(col("s") <= col("t")).conjuncts
    assert isinstance(node, ValueTest)
    assert [node.intervals.contains(key) for key in (b"", b"m", b"m\0", b"n")] == [True, True, False, False]


def test_a_pair_with_an_unsigned_column_compares_numbers() -> None:
    assert answer(col("u") < col("k"), -1) is False
    (node,) = folded(col("u") > col("k"), -1).conjuncts
    assert isinstance(node, ValueTest) and node.intervals.contains(0) and node.intervals.contains(2**64 - 1)


def test_and_and_or_are_simplified() -> None:
    x_is_one = col("x") == 1
    assert folded(x_is_one & (col("k") == 7)) == bind(x_is_one, SCHEMA)
    assert answer(x_is_one & (col("k") == 8)) is False
    assert answer(x_is_one | (col("k") == 7)) is True
    (node,) = folded(x_is_one | (col("k") == 8)).conjuncts
    assert isinstance(node, ValueTest) and node.leaf.index == X
    (node,) = folded(x_is_one | (col("s") == "a") | (col("k") == 8)).conjuncts
    assert isinstance(node, AnyOf) and [leaf.index for leaf in node.leaves] == [X, S]
    found = folded((x_is_one & (col("s") == "a")) | (col("k") == 8))
    assert [node.leaves[0].index for node in found.conjuncts] == [X, S]


def test_a_folded_pair_is_merged_with_other_tests_of_its_column() -> None:
    assert answer((col("x") > col("k")) & (col("x") < 8)) is False
    (node,) = folded((col("x") > col("k")) & (col("x") < 10)).conjuncts
    assert isinstance(node, ValueTest) and node.intervals.pairs == ((8, 10),)


def test_conjuncts_keep_their_text() -> None:
    predicate = ((col("k") == 8) | (col("x") > 3)) & (col("s") == "a")
    assert [node.text for node in folded(predicate).conjuncts] == [
        node.text for node in bind(predicate, SCHEMA).conjuncts
    ]


def test_without_constants_nothing_changes() -> None:
    bound = bind((col("x") > col("u")) & (col("s") == "a"), SCHEMA)
    assert fold_constants(bound, {K: 1, T: None}) is bound
    assert isinstance(bound.conjuncts[0], PairTest)


K_IS_7, X_IS_1 = col("k") == 7, col("x") == 1


@pytest.mark.parametrize(
    ("predicate", "part"),
    [
        (X_IS_1, None),
        (K_IS_7, K_IS_7),
        (K_IS_7 & X_IS_1, K_IS_7),
        (K_IS_7 | X_IS_1, None),
        (~(K_IS_7 | X_IS_1), ~K_IS_7),
        (~(K_IS_7 & X_IS_1), None),
        (~~K_IS_7, K_IS_7),
        ((K_IS_7 | X_IS_1) & col("t").is_null(), col("t").is_null()),
        (K_IS_7 | col("t").is_null(), K_IS_7 | col("t").is_null()),
        ((K_IS_7 & X_IS_1) | (col("k") == 9), K_IS_7 | (col("k") == 9)),
        (col("k") < col("x"), col("k").is_not_null()),
        (~(col("s") < col("t")), col("t").is_not_null()),
    ],
)
def test_what_a_predicate_demands_of_constants_alone(predicate: Predicate, part: Predicate | None) -> None:
    assert constant_part(predicate, lambda column: column.path in ("k", "t")) == part
