"""The process that Spark forks its Python workers from, with the kernels of hardwood_jit loaded before the fork.

`hw_spark.configure` names it in `spark.python.daemon.module`. Forking is safe only while there is one thread, so
pyarrow and pandas, which start some, are left to the workers. Kernels are loaded if the disk has them and are never
compiled here: Spark waits for this process, and a worker that needs a missing kernel builds just that one. Planning
runs in processes that come from Spark's own daemon.
"""
# mypy: disable-error-code="import-untyped"

from __future__ import annotations

import os
import sys
from contextlib import suppress
from pathlib import Path

ONE_THREAD = "OPENBLAS_NUM_THREADS"
TASKS = Path("/proc/self/task")


def prepare() -> None:
    """Load all kernels that the disk has."""
    from hardwood_jit.spark.preloading import load_from_disk

    with suppress(OSError):  # a worker meets the same trouble, and can say so
        load_from_disk()


def thread_count() -> int:
    """Threads of this process, Python's or not; 1 where there is no /proc to ask."""
    return len(list(TASKS.iterdir())) if TASKS.is_dir() else 1


def main() -> None:
    """Load, then be pyspark's own daemon."""
    if thread_count() > 1 and ONE_THREAD not in os.environ:
        # numpy, which came with the package, has started threads for linear algebra: once more without them. Spark
        # sets OMP_NUM_THREADS=1 for its workers unless told otherwise, so this is rare.
        os.environ[ONE_THREAD] = "1"
        os.execv(sys.executable, sys.orig_argv)
    prepare()
    from pyspark.daemon import manager

    manager()


if __name__ == "__main__":
    main()
