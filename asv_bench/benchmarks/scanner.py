"""Full scans of numeric columns into an Arrow table, over the layouts of several writers; and the second thread."""

from __future__ import annotations

from rotation import Measured, compare_engines, compare_threads, default_rounds
from works import OPPONENTS, OURS

WORKS = [
    "numeric",
    "numeric_nullable",
    "numeric_large_pages",
    "numeric_v2",
    "numeric_zstd",
    "numeric_delta",
    "numeric_split",
]


class FullScan:
    """Ours / opponent's time, both with two threads; "best" is the fastest opponent of the work."""

    params = (WORKS, ["best", *OPPONENTS])
    param_names = ("work", "opponent")
    timeout = 3600

    def setup_cache(self) -> dict[str, Measured]:
        return {work: compare_engines(work, default_rounds()) for work in WORKS}

    def track_ratio(self, measured: dict[str, Measured], work: str, opponent: str) -> float:
        return measured[work].ratio(None if opponent == "best" else opponent)

    track_ratio.unit = "ours / opponent"


class FullScanTime:
    """Our own milliseconds with two threads."""

    params = WORKS
    param_names = ("work",)
    timeout = 3600

    def track_milliseconds(self, work: str) -> float:
        return compare_engines(work, default_rounds(), engines=(OURS,)).ours

    track_milliseconds.unit = "ms"


class TwoThreads:
    """One thread's time / two threads' time."""

    params = ("numeric", "numeric_nullable", "strings")
    param_names = ("work",)
    timeout = 3600

    def track_speedup(self, work: str) -> float:
        measured = compare_threads(work, default_rounds())
        return measured.milliseconds["1"] / measured.milliseconds["2"]

    track_speedup.unit = "1 thread / 2 threads"
