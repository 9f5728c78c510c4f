"""Finds the conformance corpus (real files of other writers) and the helpers that come with it."""

from __future__ import annotations

import importlib.util
import json
import os
import sys
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

VARIABLE = "HARDWOOD_JIT_CORPUS"
WHERE = (
    f"no conformance corpus: set {VARIABLE} to a folder that holds dev/, expected.json, canonical.py, pqmeta.py; "
    "the files of dev/ come from https://github.com/apache/parquet-testing"
)


def find_corpus() -> Path | None:
    """The corpus folder, or None: the environment variable, else `shared/corpus` beside the repository."""
    chosen = os.environ.get(VARIABLE)
    root = Path(chosen) if chosen else Path(__file__).resolve().parents[3] / "shared" / "corpus"
    return root if (root / "expected.json").is_file() else None


def corpus_root() -> Path:
    """The corpus folder; without it tests skip, and fail where CI=true says that it must be there."""
    root = find_corpus()
    if root is None:
        if os.environ.get("CI") == "true":
            pytest.fail(WHERE)
        pytest.skip(WHERE)
    return root


@cache
def expected() -> dict[str, dict[str, Any]]:
    """What expected.json says, by file name relative to dev/."""
    root = find_corpus()
    if root is None:
        return {}
    files: dict[str, dict[str, Any]] = json.loads((root / "expected.json").read_text())["files"]
    return files


def corpus_names(must: str | None = None) -> list[str]:
    """Names relative to dev/, for parametrize: all, or those with this `must`. Empty without the corpus."""
    return [name for name, about in sorted(expected().items()) if must is None or about["must"] == must]


def corpus_files() -> list[Path]:
    """Every file of dev/."""
    root = corpus_root()
    return sorted((root / "dev").rglob("*.parquet"))


def corpus_file(name: str) -> Path:
    return corpus_root() / "dev" / name


@cache
def corpus_module(name: str) -> ModuleType:
    """canonical or pqmeta; canonical imports pqmeta by its bare name, so they are listed in sys.modules."""
    if name != "pqmeta":
        corpus_module("pqmeta")
    path = corpus_root() / f"{name}.py"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def schema_root(data: bytes) -> Any:
    """pqmeta's schema tree of a file, which canonical.table_columns needs."""
    pqmeta = corpus_module("pqmeta")
    return pqmeta.schema_tree(pqmeta.read_footer(data)[0])[0]
