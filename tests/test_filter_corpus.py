"""Every predicate of the corpus returns exactly its rows: batches, rows and count, metadata on and off, threads 1 and 2.

filters.json holds literals in the canonical form of the corpus and, for every predicate, which rows match. The whole
file is read once without a filter (test_corpus.py shows that this reading is right); a filtered scan must then give
these rows at the expected places, and no others.
"""

from __future__ import annotations

import hashlib
import json
import struct
from decimal import Decimal
from functools import cache, lru_cache
from typing import Any

import pytest

import hardwood_jit as hw
from hardwood_jit import col
from hardwood_jit.plan.predicate import Predicate
from tests.support import naive
from tests.support.columns import column_records
from tests.support.corpus import corpus_file, corpus_root, expected, find_corpus

CASES = 1528  # what README of the corpus announces
MANY_ROWS = 1000  # above this the filter columns stand for the row, except in one of the four ways

Case = dict[str, Any]
WAYS = [(True, 1), (False, 2), (True, 2), (False, 1)]  # use_metadata, threads


@cache
def cases_by_file() -> dict[str, list[Case]]:
    root = find_corpus()
    if root is None or not (root / "filters.json").is_file():
        return {}
    found: dict[str, list[Case]] = {}
    for case in json.loads((root / "filters.json").read_text())["cases"]:
        found.setdefault(case["file"], []).append(case)
    return found


# ---------------------------------------------------------------- canonical form -> predicates


def literal_of(value: Any, kind: dict[str, Any]) -> Any:
    """The Python literal for a canonical value: numbers, Decimal, float, str on text and bytes on other byte arrays."""
    if not isinstance(value, str):
        return value
    tag, _, rest = value.partition(":")
    if tag == "b":
        raw = bytes.fromhex(rest)
        return raw.decode() if kind.get("logical") == "STRING" else raw
    if tag == "d":
        unscaled, _, scale = rest.partition(":")
        return naive.exact_decimal(int(unscaled), int(scale))
    form = {"f2": ">e", "f4": ">f", "f8": ">d"}[tag]
    return struct.unpack(form, bytes.fromhex(rest))[0]


def predicate_of(tree: dict[str, Any]) -> Predicate:
    op = tree["op"]
    if op in ("and", "or"):
        joined = predicate_of(tree["args"][0])
        for arg in tree["args"][1:]:
            joined = joined & predicate_of(arg) if op == "and" else joined | predicate_of(arg)
        return joined
    if op == "not":
        return ~predicate_of(tree["arg"])
    column = col((tree["column"],))  # exact: a name with dots is a name
    if op in ("is_null", "is_not_null"):
        return column.is_null() if op == "is_null" else column.is_not_null()
    if op == "in":
        return column.is_in([literal_of(value, tree["type"]) for value in tree["values"]])
    value = literal_of(tree["value"], tree["type"])
    build = {
        "eq": column.__eq__,
        "ne": column.__ne__,
        "lt": column.__lt__,
        "le": column.__le__,
        "gt": column.__gt__,
        "ge": column.__ge__,
    }[op]
    return build(value)


def columns_of(tree: dict[str, Any]) -> list[str]:
    inside = [*tree.get("args", ()), *([tree["arg"]] if "arg" in tree else [])]
    found = [tree["column"]] if "column" in tree else []
    return list(dict.fromkeys(found + [name for arg in inside for name in columns_of(arg)]))


# ---------------------------------------------------------------- the whole file, once


def open_file(name: str) -> hw.Dataset:
    return hw.open(corpus_file(name), checksums=expected()[name].get("crc") != "bad")


def records_of(scan: hw.Scan) -> dict[str, list[Any]]:
    """Per leaf one value per record, layer by layer."""
    found: dict[str, list[Any]] = {leaf.dotted: [] for leaf in scan.schema.leaves}
    for batch in scan.batches():
        for path, column in zip(found, batch.columns, strict=True):
            found[path] += column_records(column)
    return found


@lru_cache(maxsize=2)
def whole_file(name: str) -> tuple[dict[str, list[Any]], list[dict[str, Any]]]:
    """All records by leaf, and all rows, read without a filter."""
    dataset = open_file(name)
    return records_of(dataset.scan()), [dict(row) for row in dataset.scan().rows()]


def matching_rows(case: Case, found: list[int] | None) -> list[int]:
    """The indices of the case; where only their digest is given, `found` if that fits it."""
    if "indices" in case:
        indices: list[int] = case["indices"]
        return indices
    assert found is not None
    assert hashlib.sha256(",".join(map(str, found)).encode()).hexdigest() == case["rows_sha256"]
    return found


def selected_rows(case: Case, rows: list[dict[str, Any]]) -> list[int]:
    """Which rows the predicate takes, worked out in Python: only to know what a digest stands for."""

    def verdict(tree: dict[str, Any], row: dict[str, Any]) -> bool | None:
        op = tree["op"]
        if op in ("and", "or"):
            parts = [verdict(arg, row) for arg in tree["args"]]
            decisive = op == "or"
            return decisive if decisive in parts else None if None in parts else not decisive
        if op == "not":
            inner = verdict(tree["arg"], row)
            return None if inner is None else not inner
        value = row[tree["column"]]
        if op in ("is_null", "is_not_null"):
            return (value is None) == (op == "is_null")
        if value is None:
            return None
        if op == "in":
            return any(order(value, literal_of(item, tree["type"])) == 0 for item in tree["values"])
        sign = order(value, literal_of(tree["value"], tree["type"]))
        return {"eq": sign == 0, "ne": sign != 0, "lt": sign < 0, "le": sign <= 0, "gt": sign > 0, "ge": sign >= 0}[op]

    return [number for number, row in enumerate(rows) if verdict(case["predicate"], row) is True]


def order(left: Any, right: Any) -> int:
    one, other = order_key(left), order_key(right)
    return (one > other) - (one < other)


def order_key(value: Any) -> Any:
    if isinstance(value, float):  # Java's Double.compare, as an integer
        bits = struct.unpack("<q", struct.pack("<d", value))[0]
        return 1 << 63 if value != value else bits if bits >= 0 else -(bits & ((1 << 63) - 1)) - 1
    return value.encode() if isinstance(value, str) else value


# ---------------------------------------------------------------- the tests


def test_the_filters_of_the_corpus_are_there_and_none_is_left_out() -> None:
    corpus_root()
    assert sum(map(len, cases_by_file().values())) == CASES
    assert all(expected()[name]["must"] == "read" for name in cases_by_file())


@pytest.mark.parametrize("name", sorted(cases_by_file()))
def test_every_predicate_returns_exactly_its_rows(name: str) -> None:
    dataset = open_file(name)
    records, rows = whole_file(name)
    for case in cases_by_file()[name]:
        predicate = predicate_of(case["predicate"])
        wanted = matching_rows(case, None if "indices" in case else selected_rows(case, rows))
        assert len(wanted) == case["count"]
        for number, (use_metadata, threads) in enumerate(WAYS):
            about = f"{name}: {predicate}, use_metadata({use_metadata}), threads({threads})"
            scan = dataset.scan().filter(predicate).use_metadata(use_metadata).threads(threads)
            assert scan.count() == len(wanted), about
            narrow = scan
            if number and len(wanted) > MANY_ROWS:
                narrow = scan.select(*[(column,) for column in columns_of(case["predicate"])])
            for path, values in records_of(narrow).items():
                difference = naive.first_difference(values, [records[path][row] for row in wanted])
                assert difference is None, f"{about}, batches, {path}: {difference}"
            if number > 1:
                continue  # rows are made of batches: one of each threads and metadata is enough
            names = [child.name for child in narrow.schema.children]
            difference = naive.first_difference(
                [dict(row) for row in narrow.rows()], [{key: rows[row][key] for key in names} for row in wanted]
            )
            assert difference is None, f"{about}, rows: {difference}"


def test_decimal_literals_of_the_corpus_keep_their_digits() -> None:
    assert literal_of("d:-1300:2", {}) == Decimal("-13.00")
    assert literal_of("f2:7e00", {}) != literal_of("f2:7e00", {})
