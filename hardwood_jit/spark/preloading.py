"""Kernels that the disk has, into this process: what the daemon does before it forks. Nothing is compiled."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import numpy as np

from hardwood_jit.jit import kernel_cache
from hardwood_jit.jit.decoders import SIGNATURES
from hardwood_jit.jit.general import QUICK_FILTERS, WIDTHS, load_statistics
from hardwood_jit.kernels import compiled
from hardwood_jit.kernels.skim import skip_struct

# What a scan imports when it runs; none of them imports pyarrow.
MODULES = ("scanner", "metrics", "row_limits", "spark.splits", "spark.footer_cache", "spark.reports")


def load_from_disk() -> int:
    """Load every general kernel that was compiled before, and the modules of scans; how many files of kernels.

    >>> from hardwood_jit.spark.preloading import load_from_disk
    >>> load_from_disk() >= 0
    True
    """
    for module in MODULES:
        importlib.import_module(f"hardwood_jit.{module}")
    if compiled.FOLDER.path is None:
        return 0
    before = compiled.FOLDER.loaded
    _load_walker()
    for name, signature in SIGNATURES.items():
        o = "int32" if "{o}" in signature else ""
        for t in WIDTHS.get(name, ("",)):
            for quick in (False, True) if name in QUICK_FILTERS else (False,):
                if _is_on_disk(name, t, o, quick):
                    kernel_cache.load(name, t, o, quick)
    return int(compiled.FOLDER.loaded - before)


def _is_on_disk(name: str, t: str, o: str, quick: bool) -> bool:
    module, function_name = name.split(".")
    function: Any = getattr(importlib.import_module(f"hardwood_jit.kernels.{module}"), function_name)
    if not hasattr(function, "_cache"):  # NUMBA_DISABLE_JIT
        return False
    kind = "quick" if quick else function._cache._kind
    make: Any = compiled.DiskCache
    cache = make(function.py_func, kind)
    return bool(cache.has(SIGNATURES[name].format(t=t, o=o), function.targetctx))


def _load_walker() -> None:
    """Kernels of footers and page headers are compiled by their first call, so they are found by file name."""
    assert compiled.FOLDER.path is not None
    folder = Path(compiled.FOLDER.path)
    if any(folder.glob("skim.skim-*.nbc")):
        skip_struct(np.zeros(1, np.uint8), 0, 1)  # an empty struct
    if any(folder.glob("quick_skim.skim_many_statistics-*.nbc")):
        load_statistics()
