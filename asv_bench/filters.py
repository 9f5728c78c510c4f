"""A filter as tuples of (column, operator, value), all of which must hold, to the words of each engine.

Operators: `==`, `!=`, `<`, `<=`, `>`, `>=`, `in` (value: a tuple), `is null` and `is not null` (value: None).
"""

from __future__ import annotations

import datetime
import operator
from decimal import Decimal
from functools import reduce
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import polars
    import pyarrow.compute

    import hardwood_jit

Value = bool | int | float | str | Decimal | datetime.date | datetime.datetime | tuple[int | str, ...] | None
Conjunct = tuple[str, str, Value]
Filter = tuple[Conjunct, ...]

COMPARE = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def _all(terms: list[Any]) -> Any:
    return reduce(operator.and_, terms)


def hardwood_filter(conjuncts: Filter) -> hardwood_jit.Predicate:
    from hardwood_jit import col

    words = {
        "in": lambda column, value: column.is_in(list(value)),
        "is null": lambda column, _: column.is_null(),
        "is not null": lambda column, _: column.is_not_null(),
    }
    return _all([{**COMPARE, **words}[op](col(name), value) for name, op, value in conjuncts])


def pyarrow_filter(conjuncts: Filter) -> pyarrow.compute.Expression:
    import pyarrow.compute as pc

    words = {
        "in": lambda column, value: column.isin(list(value)),
        "is null": lambda column, _: column.is_null(),
        "is not null": lambda column, _: column.is_valid(),
    }
    return _all([{**COMPARE, **words}[op](pc.field(name), value) for name, op, value in conjuncts])


def polars_filter(conjuncts: Filter) -> polars.Expr:
    import polars as pl

    words = {
        "in": lambda column, value: column.is_in(list(value)),
        "is null": lambda column, _: column.is_null(),
        "is not null": lambda column, _: column.is_not_null(),
    }
    return _all([{**COMPARE, **words}[op](pl.col(name), value) for name, op, value in conjuncts])


def sql_filter(conjuncts: Filter) -> str:
    """The text behind WHERE, for duckdb and datafusion."""
    return " AND ".join(_sql_term(*conjunct) for conjunct in conjuncts)


def _sql_term(name: str, op: str, value: Value) -> str:
    if op in ("is null", "is not null"):
        return f"{name} {op.upper()}"
    if op == "in":
        assert isinstance(value, tuple)
        return f"{name} IN ({', '.join(map(_sql_literal, value))})"
    return f"{name} {'=' if op == '==' else op} {_sql_literal(value)}"


def _sql_literal(value: Value) -> str:
    match value:
        case bool():
            return "TRUE" if value else "FALSE"
        case Decimal():
            # Datafusion takes 0.05 for a float. 15 digits are those of TPC-H: no cast of the column, statistics serve.
            return f"CAST('{value}' AS DECIMAL(15, 2))"
        case datetime.datetime():
            return f"TIMESTAMP '{value.isoformat(' ')}'"
        case datetime.date():
            return f"DATE '{value.isoformat()}'"
        case str():
            doubled = value.replace("'", "''")
            return f"'{doubled}'"
        case _:
            return repr(value)
