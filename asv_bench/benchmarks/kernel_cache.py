"""Start of a fresh process to the first batch of a small file, kernels on disk or not; shapes never compiled before."""

from __future__ import annotations

from first_batch import FILTERED_SCRIPTS, SCRIPTS, first_batch_cold, first_batch_warm
from new_shape import Latency, new_shape_latency


class FirstBatch:
    """Milliseconds, imports included; the opponents have nothing to compile."""

    params = tuple(SCRIPTS)
    param_names = ("engine",)
    timeout = 600

    def track_milliseconds(self, engine: str) -> float:
        return first_batch_warm(engine)

    track_milliseconds.unit = "ms"


class FirstBatchEver:
    """Milliseconds with an empty kernel cache."""

    timeout = 600

    def track_milliseconds(self) -> float:
        return first_batch_cold()

    track_milliseconds.unit = "ms"


class FirstFilteredBatch:
    """Milliseconds to the first batch of a filtered scan, imports included, kernels on disk."""

    params = tuple(FILTERED_SCRIPTS)
    param_names = ("engine",)
    timeout = 600

    def track_milliseconds(self, engine: str) -> float:
        return first_batch_warm(engine, filtered=True)

    track_milliseconds.unit = "ms"


class NewShape:
    """A predicate shape that no process compiled before: what it adds to the first row, to compile, to load."""

    timeout = 600

    def setup_cache(self) -> Latency:
        return new_shape_latency()

    def track_delay(self, latency: Latency) -> float:
        return latency.delay

    track_delay.unit = "ms beyond a known shape"

    def track_compile(self, latency: Latency) -> float:
        return latency.compile

    track_compile.unit = "ms"

    def track_load(self, latency: Latency) -> float:
        return latency.load

    track_load.unit = "ms"
