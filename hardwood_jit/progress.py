"""Rows done of rows in all -> a bar on a terminal, or the caller's function."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from hardwood_jit.batch import Batch

T = TypeVar("T")
ProgressOption = bool | Callable[[int, int], None]  # True, or a function of (rows done, rows in all)

BAR_WIDTH = 30


class Progress:
    """Counts finished rows, from several threads; a context manager, so that a bar ends with its line."""

    def __init__(self, report: Callable[[int, int], None] | None, total: int, bar: bool) -> None:
        self._report = report
        self._total = total
        self._bar = bar
        self._done = 0
        self._lock = threading.Lock()

    @classmethod
    def of(cls, option: ProgressOption, count: Callable[[], int] | None) -> Progress:
        if option is False or count is None:
            return cls(None, 0, False)
        if option is True:
            shown = sys.stderr.isatty()
            return cls(_draw if shown else None, count() if shown else 0, shown)
        return cls(option, count(), False)

    def counting(self, finish: Callable[[Batch], T]) -> Callable[[Batch], T]:
        """`finish`, followed by a report of its batch's rows."""
        report = self._report
        if report is None:
            return finish

        def finish_and_report(batch: Batch) -> T:
            result = finish(batch)
            with self._lock:
                self._done += batch.num_rows
                report(self._done, self._total)
            return result

        return finish_and_report

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar:
            sys.stderr.write("\n")


def _draw(done: int, total: int) -> None:
    filled = BAR_WIDTH * done // max(total, 1)
    sys.stderr.write(f"\r[{'#' * filled}{' ' * (BAR_WIDTH - filled)}] {done:,} of {total:,} rows")
    sys.stderr.flush()
