"""Look-ups: what metadata proves away, with footers that are known and with footers that are not."""

from __future__ import annotations

import statistics

from rotation import Measured, compare_engines, default_rounds
from works import FILTER_OPPONENTS, LOOKUP_WORKS


class Lookups:
    """The look-ups, measured once for all suites below (asv shares what one setup_cache gives)."""

    timeout = 3600

    def setup_cache(self) -> dict[str, Measured]:
        return {work: compare_engines(work, default_rounds()) for work in LOOKUP_WORKS}


class Lookup(Lookups):
    """Ours / opponent's time, both with two threads; "best" is the fastest opponent of the work."""

    params = (list(LOOKUP_WORKS), ["best", *FILTER_OPPONENTS])
    param_names = ("work", "opponent")

    def track_ratio(self, measured: dict[str, Measured], work: str, opponent: str) -> float:
        return measured[work].ratio(None if opponent == "best" else opponent)

    track_ratio.unit = "ours / opponent"


class LookupTime(Lookups):
    """Our own milliseconds with two threads."""

    params = tuple(LOOKUP_WORKS)
    param_names = ("work",)

    def track_milliseconds(self, measured: dict[str, Measured], work: str) -> float:
        return measured[work].ours

    track_milliseconds.unit = "ms"


class LookupMean(Lookups):
    """Geometric mean of ours / best opponent over the look-ups."""

    params = ("warm", "cold")
    param_names = ("footer",)

    def track_ratio(self, measured: dict[str, Measured], footer: str) -> float:
        return statistics.geometric_mean(
            measured[name].ratio() for name, work in LOOKUP_WORKS.items() if work.footer == footer
        )

    track_ratio.unit = "ours / best opponent"
