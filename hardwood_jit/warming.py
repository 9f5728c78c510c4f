"""warm() and kernel_cache: compiling or loading kernels before they are needed, and where they are kept."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hardwood_jit.lazy_scan import Scan


@dataclass(frozen=True)
class WarmReport:
    """What `warm` did.

    >>> from hardwood_jit.warming import WarmReport
    >>> str(WarmReport(seconds=0.25, loaded=9, compiled=0))
    '9 kernels loaded, 0 compiled in 0.25 s'
    """

    seconds: float
    loaded: int
    compiled: int

    def __str__(self) -> str:
        return f"{self.loaded} kernels loaded, {self.compiled} compiled in {self.seconds:.2f} s"


def warm(scan: Scan | None = None) -> WarmReport:
    """Compile or load the kernels that `scan` needs, or all general ones; says how long it took.

    >>> import hardwood_jit as hw
    >>> hw.warm(hw.scan(trips).select("id")).seconds < 60
    True
    """
    from hardwood_jit.jit import general
    from hardwood_jit.kernels.compiled import FOLDER

    loaded, compiled, start = FOLDER.loaded, FOLDER.compiled, time.perf_counter()
    if scan is None:
        general.load_all()
    else:
        groups = scan.dataset.files[0].metadata.row_groups
        bound = scan.bound_predicate()
        # Partition columns have no pages, and what they leave of a test is known file by file.
        own_count = len(scan.dataset.files[0].metadata.schema.leaves)
        if bound is not None:
            own = tuple(part for part in bound.conjuncts if all(leaf.index < own_count for leaf in part.leaves))
            bound = replace(bound, conjuncts=own)
        wanted = (leaf for leaf in scan.schema.leaves if leaf.index < own_count)
        leaves = {leaf.index: leaf for leaf in (*wanted, *(bound.leaves if bound else ()))}
        for leaf in leaves.values():
            encodings = {encoding for group in groups for encoding in group.columns[leaf.index].encodings}
            general.load_for(leaf, encodings)
        if bound is not None:
            general.load_filters(bound)
        elif scan._has_tiny_groups() and (len(groups) > 1 or len(scan.dataset.files) > 1):
            general.load_joining()
    return WarmReport(time.perf_counter() - start, FOLDER.loaded - loaded, FOLDER.compiled - compiled)


class KernelCache:
    """The folder of compiled kernels.

    >>> import hardwood_jit as hw
    >>> sorted(hw.kernel_cache.info())
    ['bytes', 'compiled', 'kernels', 'loaded', 'path']
    """

    @property
    def path(self) -> Path:
        """Where this version's kernels are kept; HARDWOOD_JIT_CACHE_DIR moves it.

        >>> len(hw.kernel_cache.path.name)  # a fingerprint of the kernels and of what compiles them
        16
        """
        from hardwood_jit.jit import kernel_cache

        return kernel_cache.path()

    def info(self) -> dict[str, Any]:
        """Kernels and bytes on disk; how many this process loaded and compiled.

        >>> hw.kernel_cache.info()["path"] == str(hw.kernel_cache.path)
        True
        """
        from hardwood_jit.kernels.compiled import FOLDER

        files = list(self.path.glob("*.nbc")) if self.path.is_dir() else []
        return {
            "path": str(self.path),
            "kernels": len(files),
            "bytes": sum(file.stat().st_size for file in files),
            "loaded": FOLDER.loaded,
            "compiled": FOLDER.compiled,
        }

    def clear(self) -> None:
        """Remove all kernels from disk; loaded ones keep working.

        >>> hw.kernel_cache.clear()
        >>> hw.kernel_cache.info()["kernels"]
        0
        """
        from hardwood_jit.jit import kernel_cache

        kernel_cache.clear()

    def __repr__(self) -> str:
        return f"KernelCache({str(self.path)!r})"


kernel_cache = KernelCache()
