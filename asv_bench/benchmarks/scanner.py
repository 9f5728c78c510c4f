"""Full and filtered scans into an Arrow table, over the layouts of several writers; and the second thread."""

from __future__ import annotations

import statistics

from rotation import Measured, compare_engines, compare_floor, compare_threads, default_rounds
from works import CHECKSUM_WORKS, FILTER_OPPONENTS, FILTERED_WORKS, FLOOR, OPPONENTS, OURS

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


class Filtered:
    """The filtered works, measured once for all suites below (asv shares what one setup_cache gives)."""

    timeout = 3600

    def setup_cache(self) -> dict[str, Measured]:
        return {work: compare_engines(work, default_rounds()) for work in (*FILTERED_WORKS, *CHECKSUM_WORKS)}


class FilteredScan(Filtered):
    """Ours / opponent's time on filtered works, both with two threads, without and with page checksums."""

    params = ([*FILTERED_WORKS, *CHECKSUM_WORKS], ["best", *FILTER_OPPONENTS])
    param_names = ("work", "opponent")

    def track_ratio(self, measured: dict[str, Measured], work: str, opponent: str) -> float:
        return measured[work].ratio(None if opponent == "best" else opponent)

    track_ratio.unit = "ours / opponent"


class FilteredMean(Filtered):
    """Geometric mean of ours / best opponent over the filtered works."""

    params = ("without checksums", "with checksums")
    param_names = ("pages",)

    def track_ratio(self, measured: dict[str, Measured], pages: str) -> float:
        works = FILTERED_WORKS if pages == "without checksums" else CHECKSUM_WORKS
        return statistics.geometric_mean(measured[work].ratio() for work in works)

    track_ratio.unit = "ours / best opponent"


class DecompressionFloor:
    """Our time for the Q6 filter / the time of decompressing its pages, both with two threads."""

    timeout = 3600

    def track_ratio(self) -> float:
        return compare_floor("q6", default_rounds()).ratio(FLOOR)

    track_ratio.unit = "ours / decompression"


class TwoThreads:
    """One thread's time / two threads' time."""

    params = ("numeric", "numeric_nullable", "strings", "q6")
    param_names = ("work",)
    timeout = 3600

    def track_speedup(self, work: str) -> float:
        measured = compare_threads(work, default_rounds())
        return measured.milliseconds["1"] / measured.milliseconds["2"]

    track_speedup.unit = "1 thread / 2 threads"
