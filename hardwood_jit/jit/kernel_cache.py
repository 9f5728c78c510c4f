"""Names to compiled kernels: from memory, then from disk, then compiled.

Importing this module names the cache folder; all other modules reach compiled code through `load`.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib
import logging
import os
import re
import stat
import sys
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, cast

import numba

from hardwood_jit.jit.decoders import SIGNATURES
from hardwood_jit.kernels import compiled
from hardwood_jit.options import cache_root

PACKAGE_VERSION = "0.1.0"

_CONFIG: Any = numba.config  # its attributes are made at run time, from the environment


@cache
def fingerprint() -> str:
    """A name that changes with every kernel file, the versions, and the flags that change machine code.

    Numba does not notice an edited building block in another file, nor the bounds-check flag.
    """
    digest = hashlib.sha256()
    for file in sorted(Path(compiled.__file__).parent.glob("*.py")):
        digest.update(file.name.encode())
        digest.update(file.read_bytes())
    facts = (PACKAGE_VERSION, numba.__version__, sys.version_info[:2], _CONFIG.BOUNDSCHECK, _CONFIG.OPT)
    digest.update(repr(facts).encode())
    return digest.hexdigest()[:16]


def _check_own(folder: Path) -> None:
    """Cached kernels are code: nobody else may be able to put any there."""
    facts = folder.stat()
    if facts.st_uid != os.getuid() or stat.S_IMODE(facts.st_mode) & 0o022:
        raise PermissionError(f"{folder} belongs to, or is writable by, somebody else")


def _prepare(folder: Path) -> str | None:
    """Create the folder for this user only; None, after one warning, when it cannot be used safely."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        _check_own(folder.parent)
        _check_own(folder)
        if not os.access(folder, os.W_OK | os.X_OK):
            raise PermissionError(f"{folder} is not writable")
    except OSError as error:
        warnings.warn(
            f"hardwood_jit cannot keep compiled kernels in {folder} ({error}); every process compiles them anew. "
            "Set HARDWOOD_JIT_CACHE_DIR to a folder of your own.",
            RuntimeWarning,
            stacklevel=2,
        )
        return None
    return str(folder)


def digest(text: str) -> str:
    """A short name for a text."""
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def root() -> Path:
    """The folder of all versions' kernels."""
    return cache_root()


def path() -> Path:
    """The folder of this version's kernels."""
    return cache_root() / fingerprint()


def clear() -> None:
    """Remove the kernels of this and of older versions from disk, and nothing else; loaded ones keep working."""
    for folder in cache_root().glob("*"):
        if re.fullmatch("[0-9a-f]{16}", folder.name) and folder.is_dir():
            for file in [*folder.glob("*.nbc"), *folder.glob("shape_*.py")]:
                file.unlink(missing_ok=True)
            with contextlib.suppress(OSError):  # not empty: somebody keeps other things there
                folder.rmdir()
    connect()


def _announce(_function: str) -> None:
    """Say once per process that time goes into compiling, and how it is avoided next time."""
    compiled.FOLDER.on_compile = None
    kept = compiled.FOLDER.path
    logging.getLogger("hardwood_jit").warning(
        "hardwood_jit compiles its kernels for the first time, which takes a few seconds; %s",
        f"they are kept in {kept}" if kept else "they cannot be kept on disk, so the next process compiles them again",
    )


def connect() -> None:
    """Point the kernels at the cache folder."""
    compiled.FOLDER.path = _prepare(path())
    compiled.FOLDER.on_compile = _announce


connect()


QUICK_ITEMS = 16_000  # fewer values than this take less time than giving the interpreter lock away and back


@cache
def _quick_form(name: str, function: Any) -> Any:
    """One dispatcher a kernel, so that calls of `load` which differ in form only do not load it again from disk."""
    return cast("Any", compiled).quick_kernel(function.py_func)


@cache
def load(name: str, t: str = "", o: str = "", quick: bool = False) -> Callable[..., int]:
    """The compiled kernel `module.function` for value width `t` and offset width `o` (see decoders.SIGNATURES).

    `quick` asks for the same kernel with the interpreter lock kept: for little work. Two threads that handed it to
    each other at every kernel were no faster than one (Q6 on lineitem: 116 ms and 114).
    """
    module_name, function_name = name.split(".")
    module = importlib.import_module(f"hardwood_jit.kernels.{module_name}")
    function = getattr(module, function_name)
    if not _CONFIG.DISABLE_JIT:
        if quick:
            function = _quick_form(name, function)
        function.compile(SIGNATURES[name].format(t=t, o=o))
    return cast("Callable[..., int]", function)


def is_built(name: str) -> bool:
    """Whether a kernel is in memory or on disk, so that `load` need not compile it."""
    module_name, function_name = name.split(".")
    function: Any = getattr(importlib.import_module(f"hardwood_jit.kernels.{module_name}"), function_name)
    return bool(function.overloads) or function._cache.has(SIGNATURES[name], function.targetctx)


def load_for_count(name: str, count: int, t: str = "", o: str = "") -> Callable[..., int]:
    """The kernel that suits that many values: with the interpreter lock kept when they are few."""
    return load(name, t, o, count < QUICK_ITEMS)
