"""configure(), warm() and pack_kernels(): workers that have their kernels when the first task arrives."""
# mypy: disable-error-code="import-untyped"

from __future__ import annotations

import os
import socket
import tarfile
from collections.abc import Iterator
from typing import TYPE_CHECKING

from hardwood_jit.spark.reading import parallelism_of
from hardwood_jit.warming import WarmReport
from hardwood_jit.warming import warm as warm_here

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

    from hardwood_jit.lazy_scan import Scan

DAEMON = "hardwood_jit.spark.daemon"
CACHE = "HARDWOOD_JIT_CACHE_DIR"
UNPACKED = "hardwood_jit_kernels"  # folder of a shipped archive, below an executor's working folder


def configure(
    builder: SparkSession.Builder,
    *,
    cache_folder: str | os.PathLike[str] | None = None,
    archive: str | os.PathLike[str] | None = None,
) -> SparkSession.Builder:
    """Have Spark fork its Python workers from a process with the kernels loaded; before `getOrCreate()`.

    `cache_folder` is where every machine keeps compiled kernels (else HARDWOOD_JIT_CACHE_DIR of this process, else each
    user's cache folder). `archive` is what `pack_kernels` wrote: Spark ships and unpacks it on each executor.

    ```python
    spark = hw_spark.configure(SparkSession.builder.master("local[4]")).getOrCreate()
    ```
    """
    if cache_folder is not None and archive is not None:
        raise ValueError("configure() takes a cache_folder that machines have, or an archive to ship, not both")
    builder = builder.config("spark.python.daemon.module", DAEMON)
    if archive is not None:
        builder = builder.config("spark.archives", f"{os.fspath(archive)}#{UNPACKED}")
        return builder.config(f"spark.executorEnv.{CACHE}", f"./{UNPACKED}")
    folder = os.environ.get(CACHE) if cache_folder is None else os.fspath(cache_folder)
    if folder:
        # In local mode there is no executor to set the environment of: workers inherit that of this process.
        os.environ[CACHE] = folder
        builder = builder.config(f"spark.executorEnv.{CACHE}", folder)
    return builder


def pack_kernels(path: str | os.PathLike[str]) -> int:
    """Write this machine's compiled kernels to a .tar.gz for `configure(archive=...)`; how many there are.

    >>> from hardwood_jit.spark import pack_kernels
    >>> _ = hw.warm(hw.scan(trips).select("id"))
    >>> pack_kernels(trips.parent / "kernels.tar.gz") > 0
    True
    """
    from hardwood_jit.jit import kernel_cache

    folder = kernel_cache.path()
    files = sorted(folder.glob("*.nbc")) if folder.is_dir() else []
    with tarfile.open(path, "w:gz") as archive:
        for file in files:
            archive.add(file, f"{folder.name}/{file.name}", filter=_private)
    return len(files)


def _private(entry: tarfile.TarInfo) -> tarfile.TarInfo:
    """Only the owner may write: kernels are code, and a folder that others can write to is not used."""
    entry.mode = 0o600
    entry.uid = entry.gid = 0
    entry.uname = entry.gname = ""
    return entry


def warm(spark: SparkSession, scan: Scan | None = None) -> dict[str, WarmReport]:
    """Build or load the kernels of a scan (all general ones without) on every executor; by host, the slowest task.

    ```python
    hw_spark.warm(spark, hw.scan("trips/").filter(col("fare") > 50).select("id"))
    ```
    """
    tasks = max(parallelism_of(spark) or 1, 1)
    numbers = spark.range(0, tasks, 1, tasks)

    def build(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        for _ in batches:
            report = warm_here(scan)
            facts = {"host": [socket.gethostname()], "seconds": [report.seconds]}
            yield pa.RecordBatch.from_pydict({**facts, "loaded": [report.loaded], "compiled": [report.compiled]})

    # All at the same time, so that no executor is left out. Where that is not possible (fewer cores than tasks,
    # executors that come and go), tasks go wherever Spark sends them.
    schema = "host string, seconds double, loaded long, compiled long"
    try:
        found = numbers.mapInArrow(build, schema, barrier=True).collect()
    except Exception:
        found = numbers.mapInArrow(build, schema).collect()
    slowest: dict[str, WarmReport] = {}
    for host, *facts in found:
        report = WarmReport(*facts)
        if host not in slowest or report.seconds > slowest[host].seconds:
            slowest[host] = report
    return slowest
