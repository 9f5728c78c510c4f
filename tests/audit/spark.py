"""The audit's way through Spark: predicates in tasks of `map_batches` and of the data source, many of them in one job.

The session is one per process, started when the first unit needs it. A job is the union of all predicates on one file;
a call that is refused is refused while it is planned, and takes part in none.
"""
# mypy: disable-error-code="import-untyped"

from __future__ import annotations

import importlib.util
import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from functools import cache, reduce
from pathlib import Path
from typing import Any

import pyarrow as pa

import hardwood_jit as hw
from tests.audit.matrix import SPARK_READ

BatchFunction = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]


def has_spark() -> bool:
    return importlib.util.find_spec("pyspark") is not None


@cache
def session() -> Any:
    """The session of this process; it ends with the process."""
    from tests.spark import sessions

    folder = Path(tempfile.mkdtemp(prefix="hardwood_jit-audit-"))
    os.environ.update(sessions.environment(folder))
    return sessions.start(folder)


def numbered(number: int) -> BatchFunction:
    """Puts a number in front of the rows that come out of a task."""

    def rows(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from hardwood_jit.jit.fused_kernels import FUSED

        FUSED.building = "never"  # a process per shape would take longer than the audit
        for batch in batches:
            yield pa.RecordBatch.from_pydict(
                {"number": pa.array([number] * batch.num_rows, pa.int32()), "row": batch.column(0)}
            )

    return rows


def frame_of(path: Path, number: int, terminal: str, metadata: bool, predicate: Any, split_bytes: int) -> Any:
    """A DataFrame of the number and the rows that pass; raises where the predicate is refused."""
    from hardwood_jit import spark as hw_spark

    if terminal != SPARK_READ.terminal:
        scan = hw.scan(path).use_metadata(metadata).filter(predicate).select("row")
        return hw_spark.map_batches(session(), scan, numbered(number), "number int, row int", split_bytes=split_bytes)
    frame = hw_spark.read(session(), path, columns=["row"], filter=predicate, split_bytes=split_bytes)
    return frame.selectExpr(f"{number} AS number", "row")


def collect(frames: Sequence[Any]) -> dict[int, list[int]]:
    """The rows of each number."""
    found: dict[int, list[int]] = {}
    if frames:
        for number, row in reduce(lambda one, other: one.union(other), frames).collect():
            found.setdefault(number, []).append(row)
    return found


def answers(path: Path, questions: Sequence[tuple[str, bool, Callable[[], Any], int]]) -> list[list[int] | Exception]:
    """What comes of each question (terminal, metadata, predicate, split_bytes) on a file: its rows, or an error."""
    results: list[list[int] | Exception] = [[] for _ in questions]
    frames: dict[int, Any] = {}
    for number, (terminal, metadata, predicate, split_bytes) in enumerate(questions):
        try:
            frames[number] = frame_of(path, number, terminal, metadata, predicate(), split_bytes)
        except Exception as error:
            results[number] = as_ours(error)
    try:
        found = collect(list(frames.values()))
    except Exception:  # one of them: each by itself
        found = {}
        for number, frame in frames.items():
            try:
                found.update(collect([frame]))
            except Exception as error:
                results[number] = as_ours(error)
    for number, rows in found.items():
        results[number] = sorted(rows)  # Spark promises no order
    return results


def as_ours(error: Exception) -> Exception:
    """The refusal that Spark's planner passes on, as the one it was."""
    text = str(error)
    return hw.PredicateError(text) if not isinstance(error, hw.HardwoodError) and "PredicateError" in text else error
