"""Engines to milliseconds from the start of a fresh process to the first batch of a small file."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time

from datasets import dataset
from works import OURS

# Each as short as the engine's own introduction would write it.
SCRIPTS = {
    OURS: "import hardwood_jit as hw; batch = next(iter(hw.scan(path))); rows = batch.num_rows",
    "pyarrow": "import pyarrow.parquet as pq; batch = next(pq.ParquetFile(path).iter_batches()); rows = batch.num_rows",
    "polars": "import polars as pl; rows = pl.read_parquet(path).height",
    "duckdb": "import duckdb; rows = duckdb.sql(f\"from '{path}'\").to_arrow_table().num_rows",
    "datafusion": "from datafusion import SessionContext; "
    "rows = sum(batch.num_rows for batch in SessionContext().read_parquet(path).collect())",
}


def first_batch(engine: str, scale: float | None = None, cache_folder: str | None = None) -> float:
    """Milliseconds from starting Python to the first batch in hand."""
    path = dataset("first_batch", scale)
    script = f"path = {str(path)!r}; {SCRIPTS[engine]}; assert rows > 0; print('done', flush=True)"
    environment = dict(os.environ)
    if cache_folder is not None:
        environment["HARDWOOD_JIT_CACHE_DIR"] = cache_folder
    started = time.perf_counter()
    with subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    ) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        elapsed = time.perf_counter() - started
        _, errors = process.communicate()
    if line.strip() != "done":
        said = errors.strip().splitlines() or [f"exit code {process.returncode}"]
        raise RuntimeError(f"{engine}: {said[-1]}")
    return elapsed * 1000


def first_batch_warm(engine: str, rounds: int = 5, scale: float | None = None) -> float:
    """The best of several; an unmeasured first run puts our kernels on disk and everyone's files in memory."""
    first_batch(engine, scale)
    return min(first_batch(engine, scale) for _ in range(rounds))


def first_batch_cold(scale: float | None = None) -> float:
    """Ours with nothing on disk: every kernel is compiled."""
    with tempfile.TemporaryDirectory() as folder:
        return first_batch(OURS, scale, folder)
