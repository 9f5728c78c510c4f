"""What each task did, gathered on the driver by a Spark accumulator.

Accumulators work in the workers of Python data sources, too, though Spark documents it only for RDDs: a worker that
knows the number of an accumulator adds to it. Updates of a failed task never arrive, and a task that ran twice is
counted once, because reports are kept by split.

A DataFrame by `read` or `map_batches` has an accumulator of its own. All that a session loads with the plain format
share the one made by `register`; there a report also says which load it belongs to.
"""
# mypy: disable-error-code="import-untyped"

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from typing import Any, cast


@dataclass
class Report:
    """One task, or the sum of several.

    >>> from hardwood_jit.spark.reports import Report, total
    >>> both = total([Report(0, rows_out=2, pages=5, pages_skipped=4), Report(1, rows_out=1, pages=5)])
    >>> both.rows_out, both.pages, both.pages_skipped
    (3, 10, 4)
    """

    split: int = -1
    host: str = ""
    process: int = 0
    rows_out: int = 0
    batches: int = 0
    row_groups: int = 0
    row_groups_pruned: int = 0  # in the worker; what the driver dropped never became part of a split
    pages: int = 0  # of filtered columns and of what they select; not counted without a filter
    pages_skipped: int = 0
    bytes_read: int = 0
    requests: int = 0
    seconds: float = 0.0
    first_batch_seconds: float = 0.0
    kernels_loaded: int = 0  # from disk, in this task
    kernels_compiled: int = 0
    kernels: dict[str, str] = field(default_factory=dict)  # shape of a generated kernel -> where it came from
    skipped: list[str] = field(default_factory=list)  # damaged files, why

    def as_dict(self) -> dict[str, Any]:
        """The report as plain data."""
        return asdict(self)


def total(reports: Iterable[Report]) -> Report:
    """The sum; times are the longest."""
    found = Report()
    for report in reports:
        for name in SUMMED:
            setattr(found, name, getattr(found, name) + getattr(report, name))
        found.seconds = max(found.seconds, report.seconds)
        found.first_batch_seconds = max(found.first_batch_seconds, report.first_batch_seconds)
        found.kernels.update(report.kernels)
        found.skipped += report.skipped
    return found


SUMMED = (
    "rows_out",
    "batches",
    "row_groups",
    "row_groups_pruned",
    "pages",
    "pages_skipped",
    "bytes_read",
    "requests",
    "kernels_loaded",
    "kernels_compiled",
)


KEPT_REPORTS = 10_000  # of one accumulator and, counted apart, accumulators: a session may last for months

Key = tuple[str, float, int]  # load, when it was planned, split


class LatestBySplit:
    """How Spark adds reports up: the latest one of every split stays, and the oldest make room.

    >>> from hardwood_jit.spark.reports import LatestBySplit, Report
    >>> key = ("a load", 1.0, 0)
    >>> LatestBySplit().addInPlace({key: Report(0)}, {key: Report(0, rows_out=3)})[key].rows_out
    3
    """

    def zero(self, value: dict[Key, Report]) -> dict[Key, Report]:
        return {}

    def addInPlace(self, one: dict[Key, Report], other: dict[Key, Report]) -> dict[Key, Report]:
        for key, report in other.items():
            one.pop(key, None)  # so that the order is that of arrival
            one[key] = report
        while len(one) > KEPT_REPORTS:
            del one[next(iter(one))]
        return one


@dataclass(frozen=True)
class Reports:
    """Where the tasks of one load leave their reports; plain data, which travels to them."""

    number: int  # of the accumulator
    load: str = ""

    def add(self, report: Report, planned: float = 0.0) -> None:
        """In a worker: hand the report over; Spark sends it when the task has succeeded."""
        # The registry of the worker is emptied before each task, so the accumulator is made anew each time.
        from pyspark.accumulators import _accumulatorRegistry, _deserialize_accumulator

        accumulator = _accumulatorRegistry.get(self.number)
        if accumulator is None:
            accumulator = _deserialize_accumulator(self.number, {}, cast("Any", LatestBySplit()))
        accumulator.add({(self.load, planned, report.split): report})


_gathered: OrderedDict[int, Any] = OrderedDict()  # the driver's accumulators, which Spark's Python side holds weakly


def new_reports(spark: Any) -> Reports | None:
    """On the driver: a place for reports; None where there is no SparkContext (Spark Connect)."""
    try:
        context = spark.sparkContext
    except Exception:  # Spark Connect has an exception of its own for this
        return None
    accumulator = context.accumulator({}, cast("Any", LatestBySplit()))
    _gathered[accumulator.aid] = accumulator
    while len(_gathered) > KEPT_REPORTS:
        _gathered.popitem(last=False)
    return Reports(accumulator.aid)


def gathered(reports: Reports | None) -> list[Report]:
    """On the driver: what the tasks of a load have reported since it was last planned, in the order of splits."""
    accumulator = None if reports is None else _gathered.get(reports.number)
    if reports is None or accumulator is None:
        return []
    found = {key: report for key, report in accumulator.value.items() if key[0] == reports.load}
    last = max((planned for _, planned, _ in found), default=0.0)
    return [found[key] for key in sorted(found) if key[1] == last]
