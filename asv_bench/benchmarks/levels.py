"""Lists of doubles with nulls at both levels into an Arrow table."""

from __future__ import annotations

from rotation import Measured, compare_engines, default_rounds
from works import OPPONENTS

WORKS = ["nested"]


class NestedLists:
    """Ours / opponent's time, both with two threads; "best" is the fastest opponent of the work."""

    params = (WORKS, ["best", *OPPONENTS])
    param_names = ("work", "opponent")
    timeout = 3600

    def setup_cache(self) -> dict[str, Measured]:
        return {work: compare_engines(work, default_rounds()) for work in WORKS}

    def track_ratio(self, measured: dict[str, Measured], work: str, opponent: str) -> float:
        return measured[work].ratio(None if opponent == "best" else opponent)

    track_ratio.unit = "ours / opponent"
