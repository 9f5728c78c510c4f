"""Look-ups by each engine, with what it keeps between scans of the same files (a warm footer) or without (a cold one).

With a warm footer the opponents hold on to what they know of the files: pyarrow to a data set, polars to a lazy frame,
duckdb to a connection with its metadata cache on, datafusion to a registered table; we make a new scan every time and
have the footer cache. With a cold one they start each time from the path, in a session that is made untimed.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from filters import hardwood_filter, polars_filter, pyarrow_filter, sql_filter
from works import OURS, Work

if TYPE_CHECKING:
    import pyarrow as pa


def _nothing() -> None:
    """What comes before a run with a warm footer."""


@dataclass
class Count:
    """The number of rows as the result."""

    num_rows: int


@dataclass
class Lookup:
    """A task in two steps: the first is not timed."""

    run: Callable[[], Any]
    prepare: Callable[[], Any] = _nothing

    def __call__(self) -> Any:
        return self.run()


def _hardwood_jit(work: Work, path: str, threads: int) -> Lookup:
    import hardwood_jit as hw
    from hardwood_jit.lazy_scan import default_threads

    def scan() -> hw.Scan:
        found = hw.scan(path)
        if work.filter:
            found = found.filter(hardwood_filter(work.filter))
        if work.columns:
            found = found.select(*work.columns)
        # The default is left alone: at most so many threads, and one where row groups are tiny.
        return found if threads == default_threads() else found.threads(threads)

    hw.warm(scan())
    run = (lambda: Count(scan().count())) if work.form == "count" else (lambda: scan().to_arrow())
    return Lookup(run, hw.footer_cache.clear if work.footer == "cold" else _nothing)


def _pyarrow(work: Work, path: str, threads: int) -> Lookup:
    import pyarrow as pa
    import pyarrow.dataset as pd

    pa.set_cpu_count(threads)
    pa.set_io_thread_count(threads)
    kept = pd.dataset(path, format="parquet") if work.footer == "warm" else None
    predicate = pyarrow_filter(work.filter) if work.filter else None

    def run() -> Any:
        found = pd.dataset(path, format="parquet") if kept is None else kept
        if work.form == "count":
            return Count(found.count_rows(filter=predicate))
        return found.to_table(columns=list(work.columns), filter=predicate, use_threads=threads > 1)

    return Lookup(run)


def _polars(work: Work, path: str, threads: int) -> Lookup:
    os.environ["POLARS_MAX_THREADS"] = str(threads)  # read once, when polars is imported
    import polars as pl

    level = pl.CompatLevel.oldest()

    def frame() -> pl.LazyFrame:
        found = pl.scan_parquet(path)
        if work.filter:
            found = found.filter(polars_filter(work.filter))
        return found.select(pl.len()) if work.form == "count" else found.select(*work.columns)

    kept = frame() if work.footer == "warm" else None

    def run() -> Any:
        found = (frame() if kept is None else kept).collect()
        return Count(found.item()) if work.form == "count" else found.to_arrow(compat_level=level)

    return Lookup(run)


def _query(work: Work, table: str) -> str:
    wanted = "count(*)" if work.form == "count" else ", ".join(work.columns)
    return f"SELECT {wanted} FROM {table}" + (f" WHERE {sql_filter(work.filter)}" if work.filter else "")


def _answer(work: Work, table: pa.Table) -> Any:
    return Count(table.column(0)[0].as_py()) if work.form == "count" else table


def _duckdb(work: Work, path: str, threads: int) -> Lookup:
    import duckdb

    place = f"{path}/*.parquet" if Path(path).is_dir() else path
    query = _query(work, f"read_parquet('{place}')")
    held: list[duckdb.DuckDBPyConnection] = []

    def connect() -> None:
        held[:] = [duckdb.connect()]
        held[0].execute(f"SET threads = {threads}")
        held[0].execute(f"SET parquet_metadata_cache = {'true' if work.footer == 'warm' else 'false'}")

    connect()
    return Lookup(
        lambda: _answer(work, held[0].execute(query).to_arrow_table()),
        connect if work.footer == "cold" else _nothing,
    )


def _datafusion(work: Work, path: str, threads: int, *, pushdown: bool = False) -> Lookup:
    from datafusion import SessionConfig, SessionContext

    config = SessionConfig().with_target_partitions(threads)
    config = config.set("datafusion.execution.parquet.schema_force_view_types", "false")
    if pushdown:
        config = config.set("datafusion.execution.parquet.pushdown_filters", "true")
        config = config.set("datafusion.execution.parquet.reorder_filters", "true")
    query = _query(work, "work")
    held: list[SessionContext] = []

    def connect() -> None:
        held[:] = [SessionContext(config)]  # its cache of footers, too

    def run() -> Any:
        if work.footer == "cold":
            held[0].register_parquet("work", path)
        return _answer(work, held[0].sql(query).to_arrow_table())

    connect()
    if work.footer == "warm":
        held[0].register_parquet("work", path)
    return Lookup(run, connect if work.footer == "cold" else _nothing)


LOOKUPS: dict[str, Callable[[Work, str, int], Lookup]] = {
    OURS: _hardwood_jit,
    "pyarrow": _pyarrow,
    "polars": _polars,
    "duckdb": _duckdb,
    "datafusion": _datafusion,
    "datafusion_pushdown": partial(_datafusion, pushdown=True),
}


def digest(result: Any) -> int:
    """A number for the values of a table, whatever the order of its rows; 0 for a count, which says all itself."""
    if isinstance(result, Count):
        return 0
    lines = (repr(row).encode() for row in zip(*(column.to_pylist() for column in result.columns), strict=True))
    return sum(map(zlib.crc32, lines))
