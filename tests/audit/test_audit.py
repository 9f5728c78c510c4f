"""A sample of the predicate audit, the same cells every time; `python -m tests.audit` runs the whole."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests.audit import files, oracle
from tests.audit.files import xxh64
from tests.audit.matrix import FUSED_PAIRS, FUSED_TYPES, LISTED, NULLABILITIES, PAIRS, TYPES
from tests.audit.run import Results, Unit, run_all

SEED = 20
SHARE = 0.012  # one layout of each type
BLOOM_FILTER = files.bloom_filter


@pytest.fixture(scope="module")
def sample() -> Results:
    """One layout of every type in one nullability, of some pairs and some lists."""
    names = list(TYPES)
    columns = [Unit("column", (name,), NULLABILITIES[number % 3], SEED, SHARE) for number, name in enumerate(names)]
    pairs = [Unit("pair", pair, "optional", SEED, SHARE) for pair in PAIRS[::3]]
    lists = [Unit("list", (name,), "list", SEED, SHARE) for name in LISTED[::3]]
    return run_all([*columns, *pairs, *lists])


def test_sample_agrees_with_the_oracle(sample: Results) -> None:
    assert not sample.lines, "\n".join(sample.lines[:20])


def test_sample_is_large_enough_to_mean_something(sample: Results) -> None:
    assert sum(sample.cells.values()) >= 1400
    assert sum(sample.refusals.values()) >= 100
    assert {name for name, _ in sample.cells} >= set(TYPES)
    assert len(sample.paths) == 8 and len(sample.nullabilities) == 4
    assert sample.matching_rows > 5000


def test_oracle_knows_nothing_of_the_planner() -> None:
    for name in ("oracle", "matrix", "files"):
        tree = ast.parse(Path(oracle.__file__).with_name(f"{name}.py").read_text(encoding="utf-8"))
        modules = [node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
        modules += [alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names]
        assert not [module for module in modules if module.startswith("hardwood_jit")]


def test_hash_of_the_bloom_filters_is_xxh64() -> None:
    # Test vectors of the hash's own specification.
    assert xxh64(b"") == 0xEF46DB3751D8E999
    assert xxh64(b"a") == 0xD24EC4F1A98C6E5B
    assert xxh64(b"abc") == 0x44BC2CF5AD770999


def test_wrong_answer_is_noticed() -> None:
    """An oracle with one operator exchanged finds mismatches: the audit is not blind."""
    unit = Unit("column", ("INT32",), "optional", SEED, 0.15)
    right = oracle.COMPARE["lt"]
    try:
        oracle.COMPARE["lt"] = oracle.COMPARE["le"]
        found = run_all([unit])
    finally:
        oracle.COMPARE["lt"] = right
    wrong = {operator for _, operator in found.mismatches}
    assert wrong and wrong <= {"lt", "not_lt", "raw_lt", "and", "or"}


def test_wrong_bloom_filters_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "bloom_filter", lambda kind, values: BLOOM_FILTER(kind, []))
    unit = Unit("column", ("INT64",), "required", SEED, 0.15)
    found = run_all([unit])
    assert found.lines and all("/bloom/" in line and "metadata True" in line for line in found.lines)


def test_wrong_bounds_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    lowest = files.Bounds(b"\x00", b"\x00\x00")
    monkeypatch.setattr(files, "bounds_of", lambda kind, values, rng: lowest if kind.stores_bytes else None)
    unit = Unit("column", ("STRING",), "optional", SEED, 0.15)
    found = run_all([unit])
    assert found.lines and all("metadata True" in line for line in found.lines)


def test_types_with_generated_kernels_are_types_of_the_matrix() -> None:
    assert set(FUSED_PAIRS) <= set(FUSED_TYPES) <= set(TYPES)
