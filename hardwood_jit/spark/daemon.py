"""The process that Spark forks its Python workers from, with the kernels of hardwood_jit loaded before the fork.

`hw_spark.configure` names it in `spark.python.daemon.module`. Forking is safe only while there is one thread, so
pyarrow and pandas, which start some, are left to the workers. Kernels are loaded if the disk has them and are never
compiled here: Spark waits for this process, and a worker that needs a missing kernel builds just that one. Planning
runs in processes that come from Spark's own daemon.
"""
# mypy: disable-error-code="import-untyped"

from __future__ import annotations

import os
from contextlib import suppress


def prepare() -> None:
    """Load all kernels that the disk has, on one thread."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # numpy would start threads; tasks run side by side anyway
    from hardwood_jit.spark.preloading import load_from_disk

    with suppress(OSError):  # a worker meets the same trouble, and can say so
        load_from_disk()


def main() -> None:
    """Load, then be pyspark's own daemon."""
    prepare()
    from pyspark.daemon import manager

    manager()


if __name__ == "__main__":
    main()
