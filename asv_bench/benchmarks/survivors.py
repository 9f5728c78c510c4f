"""The selectivity grid: a filtered scan beside our own whole read and pyarrow's filter of its table."""

from __future__ import annotations

from datasets import default_scale
from grid_data import ENCODINGS
from selectivity import LAST_BAR, PAIRS, USUAL_BAR, Grid, all_cells, measure_grid


class SelectivityGrid:
    """Per encoding: the worst ratio of its cells, and the share of them within each bar."""

    params = tuple(ENCODINGS)
    param_names = ("encoding",)
    timeout = 3600

    def setup_cache(self) -> dict[str, Grid]:
        trial = default_scale() < 0.5
        pairs = 1 if trial else PAIRS
        survivors = {"survivors": (1.0, 99.0)} if trial else {}
        return {name: measure_grid(all_cells(encodings=[name], **survivors), pairs=pairs) for name in ENCODINGS}

    def track_worst(self, grids: dict[str, Grid], encoding: str) -> float:
        return grids[encoding].worst

    track_worst.unit = "filtered / filtered afterwards"

    def track_share_usual(self, grids: dict[str, Grid], encoding: str) -> float:
        return grids[encoding].share_within(USUAL_BAR)

    track_share_usual.unit = f"share of cells at most {USUAL_BAR}"

    def track_share_last(self, grids: dict[str, Grid], encoding: str) -> float:
        return grids[encoding].share_within(LAST_BAR)

    track_share_last.unit = f"share of cells at most {LAST_BAR}"
