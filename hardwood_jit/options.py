"""Where compiled kernels are kept, from the environment; and the options of a scan, one frozen dataclass."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

MAX_PAGE_BYTES = 256 << 20
BATCH_BYTES = 6 << 20


@dataclass(frozen=True)
class OpenOptions:
    """How a source is opened and how far it is trusted."""

    mmap: bool = False
    checksums: bool = True
    max_page_bytes: int = MAX_PAGE_BYTES
    # For the file system of URLs. They may hold what has no hash, and secrets: neither compared nor shown.
    storage_options: Mapping[str, Any] | None = field(default=None, compare=False, repr=False)


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
