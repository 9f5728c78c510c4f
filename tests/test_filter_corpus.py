"""Every predicate of the corpus returns exactly its rows: batches, rows, count; metadata on and off; 1 and 2 threads.

filters.json holds literals in the canonical form of the corpus and, for every predicate, which rows match. The whole
file is read once without a filter (test_corpus.py shows that this reading is right); a filtered scan must then give
these rows at the expected places, and no others.
"""

from __future__ import annotations

import hashlib
import json
import struct
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cache, lru_cache
from operator import eq, ge, gt, le, lt, ne
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import hardwood_jit as hw
from hardwood_jit import col
from hardwood_jit.jit.fused_kernels import FUSED
from hardwood_jit.plan.predicate import Predicate
from tests.support import naive
from tests.support.columns import column_records
from tests.support.corpus import corpus_file, corpus_root, expected, find_corpus

CASES = 1528  # what README of the corpus announces
MANY_ROWS = 1000  # above this the filter columns stand for the row ...
WHOLE_ROWS = ("and", "or")  # ... unless the predicate has several parts
LARGE = 20_000  # predicates of larger files take turns with the four ways

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


@dataclass
class Leaf:
    """All values of one leaf. `present` and `words` compare in bulk; what is nested or a byte array is in `records`."""

    present: NDArray[np.bool_] | None = None
    words: NDArray[Any] | None = None
    records: list[Any] | None = None

    def differs_at(self, rows: NDArray[np.int64], whole: Leaf) -> str | None:
        """A sentence about the first record that is not the one of `whole` at the row it should come from."""
        if self.records is not None and whole.records is not None:
            return naive.first_difference(self.records, [whole.records[row] for row in rows.tolist()])
        assert self.words is not None and self.present is not None
        assert whole.words is not None and whole.present is not None
        if len(self.words) != len(rows):
            return f"{len(self.words)} rows are not {len(rows)}"
        if not len(rows):
            return None
        wrong = self.present != whole.present[rows]
        same = self.words == whole.words[rows]
        wrong |= self.present & ~(same.all(axis=1) if same.ndim == 2 else same)
        return f"row {rows[wrong.argmax()]} of the file came out changed" if wrong.any() else None


def leaves_of(scan: hw.Scan) -> dict[str, Leaf]:
    """Per leaf what its batches hold, bit for bit."""
    found: dict[str, Leaf] = {}
    batches = list(scan.batches())
    for position, leaf in enumerate(scan.schema.leaves):
        columns = [batch.columns[position] for batch in batches]
        if leaf.layers or leaf.physical_type.name == "BYTE_ARRAY":
            found[leaf.dotted] = Leaf(records=[record for column in columns for record in column_records(column)])
            continue
        for column, batch in zip(columns, batches, strict=True):
            assert column.record_count == column.value_count == batch.num_rows
        present = [column.validity.to_numpy(column.value_count) for column in columns]
        values = [bits_of(column.values) for column in columns]
        found[leaf.dotted] = Leaf(
            np.concatenate([np.zeros(0, np.bool_), *present]), np.concatenate(values) if values else np.zeros(0)
        )
    return found


def bits_of(values: NDArray[Any]) -> NDArray[Any]:
    """Floats as their bits: NaN equals itself, and zeros differ by their sign."""
    return values.view(f"u{values.dtype.itemsize}") if values.dtype.kind == "f" else values


@dataclass
class WholeFile:
    """What an unfiltered scan gives."""

    leaves: dict[str, Leaf]
    rows: list[dict[str, Any]]
    keys: dict[str, list[Any]] = field(default_factory=dict)  # by column: what orders its values, None for null
    texts: dict[tuple[str, ...], list[str]] = field(default_factory=dict)  # by columns: repr of every row

    def keys_of(self, name: str) -> list[Any]:
        if name not in self.keys:
            self.keys[name] = [None if row[name] is None else order_key(row[name]) for row in self.rows]
        return self.keys[name]

    def texts_of(self, names: tuple[str, ...]) -> list[str]:
        """repr tells -0.0 from 0.0, 1 from True and 1.0 from 1.00, and calls NaN equal to NaN."""
        if names not in self.texts:
            self.texts[names] = [repr({name: row[name] for name in names}) for row in self.rows]
        return self.texts[names]


@lru_cache(maxsize=2)
def whole_file(name: str) -> WholeFile:
    dataset = open_file(name)
    return WholeFile(leaves_of(dataset.scan()), [dict(row) for row in dataset.scan().rows()])


# ---------------------------------------------------------------- which rows match, where only a digest is given


def matching_rows(case: Case, whole: WholeFile) -> list[int]:
    if "indices" in case:
        indices: list[int] = case["indices"]
        return indices
    verdicts = verdicts_of(case["predicate"], whole)
    found = [row for row, verdict in enumerate(verdicts) if verdict is True]
    assert hashlib.sha256(",".join(map(str, found)).encode()).hexdigest() == case["rows_sha256"]
    return found


def verdicts_of(tree: dict[str, Any], whole: WholeFile) -> list[bool | None]:
    """Three-valued verdicts of all rows, worked out in Python; the digest says whether they are right."""
    op = tree["op"]
    if op in ("and", "or"):
        decisive = op == "or"
        parts = zip(*[verdicts_of(arg, whole) for arg in tree["args"]], strict=True)
        return [decisive if decisive in part else None if None in part else not decisive for part in parts]
    if op == "not":
        return [None if verdict is None else not verdict for verdict in verdicts_of(tree["arg"], whole)]
    if op in ("is_null", "is_not_null"):
        return [(row[tree["column"]] is None) == (op == "is_null") for row in whole.rows]
    keys = whole.keys_of(tree["column"])
    if op == "in":
        members = {order_key(literal_of(item, tree["type"])) for item in tree["values"]}
        return [None if key is None else key in members for key in keys]
    test = {"eq": eq, "ne": ne, "lt": lt, "le": le, "gt": gt, "ge": ge}[op]
    literal = order_key(literal_of(tree["value"], tree["type"]))
    return [None if key is None else test(key, literal) for key in keys]


def order_key(value: Any) -> Any:
    if isinstance(value, float):  # Java's Double.compare, as an integer
        bits = struct.unpack("<q", struct.pack("<d", value))[0]
        return 1 << 63 if value != value else bits if bits >= 0 else -(bits & ((1 << 63) - 1)) - 1
    return value.encode() if isinstance(value, str) else value


# ---------------------------------------------------------------- the tests


@pytest.fixture(autouse=True)
def no_kernels_are_built_behind_our_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """A thousand predicates have hundreds of shapes, each a compilation in a process of its own."""
    monkeypatch.setattr(FUSED, "building", "never")


def test_the_filters_of_the_corpus_are_there_and_none_is_left_out() -> None:
    corpus_root()
    assert sum(map(len, cases_by_file().values())) == CASES
    assert all(expected()[name]["must"] == "read" for name in cases_by_file())


@pytest.mark.parametrize("name", sorted(cases_by_file()))
def test_every_predicate_returns_exactly_its_rows(name: str) -> None:
    dataset = open_file(name)
    whole = whole_file(name)
    for turn, case in enumerate(cases_by_file()[name]):
        predicate = predicate_of(case["predicate"])
        wanted = matching_rows(case, whole)
        assert len(wanted) == case["count"]
        rows = np.array(wanted, np.int64)
        ways = [WAYS[turn % len(WAYS)]] if len(whole.rows) > LARGE else WAYS
        for number, (use_metadata, threads) in enumerate(ways):
            about = f"{name}: {predicate}, use_metadata({use_metadata}), threads({threads})"
            scan = dataset.scan().filter(predicate).use_metadata(use_metadata).threads(threads)
            assert scan.count() == len(wanted), about
            narrow = scan
            if len(wanted) > MANY_ROWS and (number or case["predicate"]["op"] not in WHOLE_ROWS):
                narrow = scan.select(*[(column,) for column in columns_of(case["predicate"])])
            for path, leaf in leaves_of(narrow).items():
                difference = leaf.differs_at(rows, whole.leaves[path])
                assert difference is None, f"{about}, batches, {path}: {difference}"
            if number > 1 or (number and len(wanted) > MANY_ROWS):
                continue  # rows are made of batches
            texts = whole.texts_of(tuple(child.name for child in narrow.schema.children))
            found = [repr(dict(row)) for row in narrow.rows()]
            assert found == [texts[row] for row in wanted], f"{about}, rows"


def test_decimal_literals_of_the_corpus_keep_their_digits() -> None:
    assert literal_of("d:-1300:2", {}) == Decimal("-13.00")
    assert literal_of("f2:7e00", {}) != literal_of("f2:7e00", {})
