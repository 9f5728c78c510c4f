"""Peak anonymous memory of streaming a file in batches, and of a file with the same rows four times over."""

from __future__ import annotations

from memory import STREAMS, peak_memory


class Streaming:
    """MiB of RssAnon at the peak, everything the process holds included."""

    params = (list(STREAMS), ["short", "long"])
    param_names = ("engine", "file")
    timeout = 600

    def track_peak(self, engine: str, file: str) -> float:
        return peak_memory(engine, file)["peak"]

    track_peak.unit = "MiB"


class Growth:
    """Peak of the long file / peak of the short one."""

    params = tuple(STREAMS)
    param_names = ("engine",)
    timeout = 600

    def track_growth(self, engine: str) -> float:
        return peak_memory(engine, "long")["peak"] / peak_memory(engine, "short")["peak"]

    track_growth.unit = "long / short"
