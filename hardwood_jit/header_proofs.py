"""Statistics in page headers -> rows that no test needs to look at; where a file has no page index.

The pages are in memory by then, so this saves decompression and tests, not reading.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from hardwood_jit.kernels.tables import PAGE_STATS_END, PAGE_STATS_START, PAGE_UNCOMPRESSED, PAGE_VALUES
from hardwood_jit.metadata.statistics import skim_statistics
from hardwood_jit.plan.prune import NEVER, value_verdict

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hardwood_jit.plan.bound import ValueTest
    from hardwood_jit.plan.prune import Prover
    from hardwood_jit.plan.statistics import BoundsReader

    Bytes = NDArray[np.uint8]

LEAST_PAGE = 16 << 10  # decompressed bytes: less is tested sooner than its statistics are read (10 µs)
FEW_PAGES = 16  # a test that so many pages in a row could not exclude looks at no more of them


class HeaderProofs:
    """The page headers of one file's columns, as the tests of a predicate see them."""

    def __init__(self, prover: Prover) -> None:
        self._prover = prover
        self._useless: dict[int, int] = {}  # test -> pages in a row that it could not exclude

    def is_worth_it(self, test: ValueTest) -> bool:
        """Whether a test should look at page headers at all."""
        return self._useless.get(id(test), 0) < FEW_PAGES and test.quantifier is None

    def clear(self, test: ValueTest, pages: Iterable[tuple[list[int], Bytes, int, int]], mask: Bytes) -> int:
        """Take rows of pages without a match out of the mask: how many pages.

        A page is its header's row of numbers, the bytes that those count in, and its rows in the mask.
        """
        reader = self._prover.reader(test.leaf, test.domain)
        excluded = 0
        for header, piece, first, stop in pages:
            if self._excludes(test, reader, header, piece):
                mask[first:stop] = 0
                excluded += 1
                self._useless[id(test)] = 0
            else:
                self._useless[id(test)] = self._useless.get(id(test), 0) + 1
                if not self.is_worth_it(test):
                    break
        return excluded

    def _excludes(self, test: ValueTest, reader: BoundsReader, header: list[int], piece: Bytes) -> bool:
        start = header[PAGE_STATS_START]
        if start <= 0 or header[PAGE_UNCOMPRESSED] < LEAST_PAGE:
            return False
        statistics = skim_statistics(piece, start, header[PAGE_STATS_END])
        return value_verdict(test, reader.of_statistics(statistics, header[PAGE_VALUES])) is NEVER
