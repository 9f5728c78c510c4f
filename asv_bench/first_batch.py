"""Engines to milliseconds from the start of a fresh process to the first batch of a small file."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

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


FILTERED_SCRIPTS = {
    OURS: "import hardwood_jit as hw; from hardwood_jit import col; "
    "scan = hw.scan(path).filter((col('price') > 1.0) & (col('name') < 'name 3')); "
    "batch = next(iter(scan)); rows = batch.num_rows",
    "pyarrow": "import pyarrow.parquet as pq; from pyarrow.compute import field; "
    "rows = pq.read_table(path, filters=(field('price') > 1.0) & (field('name') < 'name 3')).num_rows",
    "polars": "import polars as pl; "
    "rows = pl.scan_parquet(path).filter(pl.col('price') > 1.0, pl.col('name') < 'name 3').collect().height",
    "duckdb": "import duckdb; "
    "rows = duckdb.sql(f\"from '{path}' where price > 1.0 and name < 'name 3'\").to_arrow_table().num_rows",
    "datafusion": "from datafusion import SessionContext, col, lit; "
    "found = SessionContext().read_parquet(path).filter((col('price') > lit(1.0)) & (col('name') < lit('name 3'))); "
    "rows = sum(batch.num_rows for batch in found.collect())",
}


def first_batch(
    engine: str, scale: float | None = None, cache_folder: str | None = None, *, filtered: bool = False
) -> float:
    """Milliseconds from starting Python to the first batch in hand."""
    work = FILTERED_SCRIPTS[engine] if filtered else SCRIPTS[engine]
    name = "first_filtered_batch" if filtered else "first_batch"
    return _start(engine, work, dataset(name, scale), cache_folder)


def _start(engine: str, work: str, path: Path, cache_folder: str | None) -> float:
    script = f"path = {str(path)!r}; {work}; assert rows > 0; print('done', flush=True)"
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


def first_batch_warm(engine: str, rounds: int = 5, scale: float | None = None, *, filtered: bool = False) -> float:
    """The best of several; an unmeasured first run puts our kernels on disk and everyone's files in memory."""
    if filtered and engine == OURS:
        # A scan that is dropped after its first batch need not compile for the next one: ask for its kernels.
        warm = f"{FILTERED_SCRIPTS[engine]}; hw.warm(scan)"
        _start(engine, warm, dataset("first_filtered_batch", scale), None)
    first_batch(engine, scale, filtered=filtered)
    return min(first_batch(engine, scale, filtered=filtered) for _ in range(rounds))


def first_batch_cold(scale: float | None = None) -> float:
    """Ours with nothing on disk: every kernel is compiled."""
    with tempfile.TemporaryDirectory() as folder:
        return first_batch(OURS, scale, folder)
