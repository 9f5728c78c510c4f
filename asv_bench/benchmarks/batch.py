"""Peak anonymous memory of streaming a file in batches, and of a file with the same rows four times over."""

from __future__ import annotations

from memory import STREAMS, peak_memory


class Streaming:
    """MiB of RssAnon at the peak, everything the process holds included."""

    params = (list(STREAMS), ["short", "long"], ["all rows", "filtered"])
    param_names = ("engine", "file", "rows")
    timeout = 600

    def track_peak(self, engine: str, file: str, rows: str) -> float:
        return peak_memory(engine, file, filtered=rows == "filtered")["peak"]

    track_peak.unit = "MiB"


class Growth:
    """Peak of the long file / peak of the short one."""

    params = (list(STREAMS), ["all rows", "filtered"])
    param_names = ("engine", "rows")
    timeout = 600

    def track_growth(self, engine: str, rows: str) -> float:
        short, long = (peak_memory(engine, file, filtered=rows == "filtered")["peak"] for file in ("short", "long"))
        return long / short

    track_growth.unit = "long / short"
