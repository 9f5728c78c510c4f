"""Footer of 100 columns and 50 row groups to metadata, beside `pyarrow.parquet.read_metadata`."""

from __future__ import annotations

from rotation import Measured, compare_engines, default_rounds


class Footer:
    """Opening a file whose footer is in no cache of ours."""

    timeout = 600

    def setup_cache(self) -> Measured:
        return compare_engines("footer", default_rounds())

    def track_ratio(self, measured: Measured) -> float:
        return measured.ratio("pyarrow")

    track_ratio.unit = "ours / pyarrow"

    def track_milliseconds(self, measured: Measured) -> float:
        return measured.ours

    track_milliseconds.unit = "ms"
