"""Engines to the peak of anonymous memory while they stream a file batch by batch.

`python -m memory ENGINE DATASET [--filtered]` prints one line of JSON. RssAnon leaves out mapped file pages, which the
kernel takes back at will and which `ru_maxrss` counts.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from types import TracebackType
from typing import Any

from datasets import dataset, default_scale
from filters import Filter, hardwood_filter, polars_filter, pyarrow_filter, sql_filter
from works import OURS

HERE = Path(__file__).resolve().parent
STATUS = Path("/proc/self/status")
# Half of the rows, all columns: as much is filtered as is delivered.
FILTER: Filter = (("l_quantity", ">", Decimal("25.00")),)


def rss_anon() -> int:
    """Anonymous resident bytes of this process now."""
    for line in STATUS.read_bytes().splitlines():
        if line.startswith(b"RssAnon:"):
            return int(line.split()[1]) << 10
    raise RuntimeError(f"{STATUS} has no RssAnon line")


class RssAnonSampler:
    """Context manager: a thread samples RssAnon every millisecond; `baseline` and `peak` in bytes."""

    def __init__(self, seconds: float = 0.001) -> None:
        self._seconds = seconds
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._sample, daemon=True)
        self.baseline = 0
        self.peak = 0
        self.samples = 0

    def _sample(self) -> None:
        while not self._stop.wait(self._seconds):
            self.peak = max(self.peak, rss_anon())
            self.samples += 1

    def __enter__(self) -> RssAnonSampler:
        self.baseline = self.peak = rss_anon()
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._stop.set()
        self._thread.join()
        self.peak = max(self.peak, rss_anon())


def _hardwood_jit(path: str, threads: int, filter: Filter) -> Iterator[Any]:
    import hardwood_jit as hw

    scan = hw.scan(path).threads(threads)
    return iter((scan.filter(hardwood_filter(filter)) if filter else scan).batches())


def _pyarrow(path: str, threads: int, filter: Filter) -> Iterator[Any]:
    import pyarrow as pa
    import pyarrow.dataset as pds
    import pyarrow.parquet as pq

    pa.set_cpu_count(threads)
    if filter:
        return pds.dataset(path).to_batches(filter=pyarrow_filter(filter), use_threads=threads > 1)
    return pq.ParquetFile(path).iter_batches(use_threads=threads > 1)


def _polars(path: str, threads: int, filter: Filter) -> Iterator[Any]:
    os.environ["POLARS_MAX_THREADS"] = str(threads)
    import polars as pl

    lazy = pl.scan_parquet(path)
    return iter((lazy.filter(polars_filter(filter)) if filter else lazy).collect_batches())


def _duckdb(path: str, threads: int, filter: Filter) -> Iterator[Any]:
    import duckdb

    connection = duckdb.connect()
    connection.execute(f"SET threads = {threads}")
    where = f" WHERE {sql_filter(filter)}" if filter else ""
    return iter(connection.sql(f"FROM read_parquet('{path}'){where}").to_arrow_reader())


def _datafusion(path: str, threads: int, filter: Filter) -> Iterator[Any]:
    from datafusion import SessionConfig, SessionContext

    context = SessionContext(SessionConfig().with_target_partitions(threads))
    if filter:
        context.register_parquet("work", path)
        return iter(context.sql(f"SELECT * FROM work WHERE {sql_filter(filter)}").execute_stream())
    return iter(context.read_parquet(path).execute_stream())


STREAMS: dict[str, Callable[[str, int, Filter], Iterator[Any]]] = {
    OURS: _hardwood_jit,
    "pyarrow": _pyarrow,
    "polars": _polars,
    "duckdb": _duckdb,
    "datafusion": _datafusion,
}


def peak_memory(
    engine: str, name: str, threads: int = 2, scale: float | None = None, *, filtered: bool = False
) -> dict[str, float]:
    """Peak and baseline RssAnon in MiB of a fresh process that streams the data set once, keeping no batch."""
    chosen = default_scale() if scale is None else scale
    dataset(name, chosen)
    command = [sys.executable, "-m", "memory", engine, name, "--threads", str(threads), "--scale", str(chosen)]
    command += ["--filtered"] if filtered else []
    done = subprocess.run(command, cwd=HERE, capture_output=True, text=True)
    if done.returncode:
        said = done.stderr.strip().splitlines() or [f"exit code {done.returncode}"]
        raise RuntimeError(f"{engine}: {said[-1]}")
    answer: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return answer


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("engine", choices=STREAMS)
    parser.add_argument("dataset")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--scale", type=float, default=None)
    parser.add_argument("--filtered", action="store_true", help=f"only rows with {sql_filter(FILTER)}")
    given = parser.parse_args()
    path = dataset(given.dataset, given.scale)
    chosen = FILTER if given.filtered else ()
    batch_count = 0
    with RssAnonSampler() as sampler:
        for _ in STREAMS[given.engine](str(path), given.threads, chosen):
            batch_count += 1
    answer = {
        "peak": sampler.peak / (1 << 20),
        "baseline": sampler.baseline / (1 << 20),
        "batches": batch_count,
        "samples": sampler.samples,
    }
    print(json.dumps(answer))


if __name__ == "__main__":
    main()
