"""One engine and one work in a process of their own: reads `run` lines, answers each with milliseconds and rows.

`python -m engines ENGINE WORK [--threads N] [--scale S]` prints `ready VERSION`, then for every line `run` one line
`MILLISECONDS ROWS DIGEST`, until its input ends. The digest is of the values of a look-up, in any order; else 0.
Several engines in one process disturb each other's memory and threads.
The contender `decompression` is no engine but a floor: the pages of a work's columns decompressed, nothing more.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import os
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from datasets import dataset, default_scale
from decompression import Decompression
from filters import hardwood_filter, polars_filter, pyarrow_filter, sql_filter
from lookups import LOOKUPS, Lookup, digest
from works import FLOOR, OURS, WORKS, Work

# What a work returns: an Arrow table, or metadata; both know their `num_rows`.
Task = Callable[[], Any]


def _hardwood_jit(work: Work, path: str, threads: int) -> Task:
    import hardwood_jit as hw

    if work.form == "footer":

        def read_footer() -> Any:
            opened = hw.open(path)
            _ = opened.files[0].metadata.row_groups[-1].columns[-1].total_compressed_size
            return opened

        return read_footer
    if work.filter:
        predicate = hardwood_filter(work.filter)
        # Before the race: a kernel compiled in a child process meanwhile would take time from the others.
        hw.warm(hw.scan(path).filter(predicate).select(*work.columns))
        return lambda: hw.scan(path).filter(predicate).select(*work.columns).threads(threads).to_arrow()
    strings = {"strings": "view"} if work.form == "view" else {}
    return lambda: hw.scan(path).select(*work.columns).threads(threads).to_arrow(**strings)


def _pyarrow(work: Work, path: str, threads: int) -> Task:
    import pyarrow as pa
    import pyarrow.parquet as pq

    pa.set_cpu_count(threads)
    pa.set_io_thread_count(threads)
    if work.form == "footer":

        def read_footer() -> Any:
            metadata = pq.read_metadata(path)
            _ = metadata.row_group(metadata.num_row_groups - 1).column(metadata.num_columns - 1).total_compressed_size
            return metadata

        return read_footer
    filters = {"filters": pyarrow_filter(work.filter)} if work.filter else {}
    return lambda: pq.read_table(path, columns=list(work.columns), use_threads=threads > 1, **filters)


def _polars(work: Work, path: str, threads: int) -> Task:
    os.environ["POLARS_MAX_THREADS"] = str(threads)  # read once, when polars is imported
    import polars as pl

    level = pl.CompatLevel.newest() if work.form == "view" else pl.CompatLevel.oldest()
    if work.filter:
        predicate = polars_filter(work.filter)
        return lambda: (
            pl.scan_parquet(path).filter(predicate).select(*work.columns).collect().to_arrow(compat_level=level)
        )
    return lambda: pl.read_parquet(path, columns=list(work.columns)).to_arrow(compat_level=level)


def _duckdb(work: Work, path: str, threads: int) -> Task:
    import duckdb

    connection = duckdb.connect()
    connection.execute(f"SET threads = {threads}")
    where = f" WHERE {sql_filter(work.filter)}" if work.filter else ""
    query = f"SELECT {', '.join(work.columns)} FROM read_parquet('{path}'){where}"
    return lambda: connection.sql(query).to_arrow_table()


def _datafusion(work: Work, path: str, threads: int, *, pushdown: bool = False) -> Task:
    from datafusion import SessionConfig, SessionContext

    views = "true" if work.form == "view" else "false"
    config = SessionConfig().with_target_partitions(threads)
    config = config.set("datafusion.execution.parquet.schema_force_view_types", views)
    if pushdown:
        config = config.set("datafusion.execution.parquet.pushdown_filters", "true")
        config = config.set("datafusion.execution.parquet.reorder_filters", "true")
    context = SessionContext(config)
    if work.filter:
        context.register_parquet("work", path)
        query = f"SELECT {', '.join(work.columns)} FROM work WHERE {sql_filter(work.filter)}"
        return lambda: context.sql(query).to_arrow_table()
    return lambda: context.read_parquet(path).select(*work.columns).to_arrow_table()


class NoRows:
    """What a floor delivers."""

    num_rows = -1


def _decompression(work: Work, path: str, threads: int) -> Task:
    needed = dict.fromkeys([*(name for name, _, _ in work.filter), *work.columns])
    run = Decompression(path, tuple(needed), threads)

    def decompress() -> NoRows:
        run()
        return NoRows()

    return decompress


ENGINES: dict[str, Callable[[Work, str, int], Task]] = {
    OURS: _hardwood_jit,
    "pyarrow": _pyarrow,
    "polars": _polars,
    "duckdb": _duckdb,
    "datafusion": _datafusion,
    "datafusion_pushdown": partial(_datafusion, pushdown=True),
    FLOOR: _decompression,
}
# Where the engine's name is not that of its package.
PACKAGES = {"datafusion_pushdown": "datafusion", FLOOR: "cramjam"}


def _timed(task: Task, work: Work, path: Path) -> tuple[float, int]:
    """Milliseconds of the best of `work.repeats` runs, and the rows of the result; the result dies untimed."""
    best = float("inf")
    rows = 0
    for _ in range(work.repeats):
        if isinstance(task, Lookup):
            task.prepare()
        if work.form == "footer":  # a footer cache keyed by modification time must not answer
            os.utime(path)
        started = time.perf_counter()
        result = task()
        best = min(best, time.perf_counter() - started)
        rows = result.num_rows
        del result
    return best * 1000, rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("engine", choices=ENGINES)
    parser.add_argument("work", choices=WORKS)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--scale", type=float, default=default_scale())
    given = parser.parse_args()
    work = WORKS[given.work].at(given.scale)
    path = dataset(work.dataset, given.scale)
    engines = LOOKUPS if work.footer else ENGINES
    task = engines[given.engine](work, str(path), given.threads)
    seen = digest(task()) if work.footer else 0
    print("ready", importlib.metadata.version(PACKAGES.get(given.engine, given.engine)), flush=True)
    for line in sys.stdin:
        if line.strip() != "run":
            raise SystemExit(f"unknown request {line!r}")
        milliseconds, rows = _timed(task, work, path)
        print(f"{milliseconds:.4f} {rows} {seen}", flush=True)


if __name__ == "__main__":
    main()
