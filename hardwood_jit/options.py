"""Where compiled kernels are kept, from the environment; and the options of a scan, one frozen dataclass."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

MAX_PAGE_BYTES = 256 << 20
BATCH_BYTES = 6 << 20


@dataclass(frozen=True)
class OpenOptions:
    """How a source is opened and how far it is trusted."""

    mmap: bool = False
    checksums: bool = True
    max_page_bytes: int = MAX_PAGE_BYTES


def cache_root() -> Path:
    """HARDWOOD_JIT_CACHE_DIR, else the user's cache folder, else one in the temporary folder (HOME may be missing)."""
    chosen = os.environ.get("HARDWOOD_JIT_CACHE_DIR")
    if chosen:
        return Path(chosen)
    base = os.environ.get("XDG_CACHE_HOME")
    if base:
        return Path(base) / "hardwood_jit"
    try:
        return Path.home() / ".cache" / "hardwood_jit"
    except RuntimeError:
        import tempfile

        return Path(tempfile.gettempdir()) / f"hardwood_jit-{os.getuid()}"
