"""map_batches(): a function over the batches of a scan, run in the workers that decode them."""
# mypy: disable-error-code="import-untyped"

from __future__ import annotations

import pickle
import time
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from hardwood_jit.lazy_scan import Scan
from hardwood_jit.spark.reading import parallelism_of
from hardwood_jit.spark.reports import Reports, new_reports
from hardwood_jit.spark.source_options import SPLIT_BYTES
from hardwood_jit.spark.splits import Split, SplitPlan, plan_splits

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

BatchFunction = Callable[[Iterator["pa.RecordBatch"]], Iterable["pa.RecordBatch"]]


class MappedScan:
    """A planned scan and where its tasks report; `explain` finds it on the DataFrame."""

    def __init__(self, plan: SplitPlan, reports: Reports | None) -> None:
        self.plan = plan
        self.reports = reports


class _Task:
    """What runs in a worker: the numbers of splits in, the function's batches out."""

    def __init__(self, splits: tuple[Split, ...], function: BatchFunction, reports: Reports | None) -> None:
        # Each on its own: a task opens its split, and looks at the files of no other.
        self._splits = [pickle.dumps(split) for split in splits]
        self._function = function
        self._reports = reports

    def __call__(self, numbers: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        started = time.perf_counter()
        from hardwood_jit.spark.tasks import split_batches

        for batch in numbers:
            for number in batch.column(0).to_pylist():  # one: a partition of the DataFrame is one number
                split: Split = pickle.loads(self._splits[number])
                yield from self._function(split_batches(split, None, self._reports, started))


def map_batches(
    spark: SparkSession,
    scan: Scan,
    fn: BatchFunction,
    schema: str | StructType,
    *,
    split_bytes: int = SPLIT_BYTES,
) -> DataFrame:
    """A DataFrame of what `fn` makes of the scan's batches; nothing else crosses to the JVM.

    Like `DataFrame.mapInArrow`: `fn` takes an iterator of `pyarrow.RecordBatch` (in Spark's types) and gives one; it is
    called once per task, with the batches of that task's split, even if none of its rows pass. `schema` is what it
    gives, as a StructType or its text. A scan with head, skip or tail is one task.

    ```python
    def mean_fare(batches):
        frame = pa.Table.from_batches(batches).to_pandas() ...
        yield pa.RecordBatch.from_pydict({"rows": [len(frame)], "fare": [frame["fare"].sum()]})

    scan = hw.scan("trips/").filter(col("fare") > 50).select("fare")
    hw_spark.map_batches(spark, scan, mean_fare, "rows long, fare double").groupBy().sum().show()
    ```
    """
    if not isinstance(scan, Scan):
        raise TypeError(f"map_batches() takes a Scan, such as hw.scan(path).select(...), not {type(scan).__name__}")
    scan.dataset.__getstate__()  # a scan of bytes or file objects cannot be sent: says so here and not in a task
    plan = plan_splits(scan, split_bytes, parallelism_of(spark))
    _check_types(scan)
    reports = new_reports(spark)
    count = len(plan.splits)
    # One number per partition, and so one split per task.
    numbers = spark.range(0, count, 1, count)
    frame: Any = numbers.mapInArrow(_Task(plan.splits, fn, reports), schema)
    frame._hardwood_mapped = MappedScan(plan, reports)
    return frame  # type: ignore[no-any-return]


def _check_types(scan: Scan) -> None:
    """A type that Spark does not have fails here, naming the column, and not in every task."""
    from hardwood_jit.spark.spark_types import spark_schema

    spark_schema(scan.schema)
