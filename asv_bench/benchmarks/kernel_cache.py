"""Start of a fresh process to the first batch of a small file: kernels on disk, and nothing on disk."""

from __future__ import annotations

from first_batch import SCRIPTS, first_batch_cold, first_batch_warm


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
