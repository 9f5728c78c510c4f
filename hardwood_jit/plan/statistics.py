"""Statistics of a column chunk or a page -> Facts: where its values lie in the order of a test, and what may be null.

Facts are sound, not sharp: every value of the chunk or page lies where they say. What a file states and this module
does not trust (SEMANTICS §3) becomes "not known".
"""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from hardwood_jit.physical import PhysicalType
from hardwood_jit.plan.bound import Domain, Key, float_key
from hardwood_jit.plan.literals import domain_of

if TYPE_CHECKING:
    from hardwood_jit.metadata.schema import Leaf

TYPE_ORDER = "TYPE_ORDER"
TOTAL_ORDER = "IEEE754_TOTAL_ORDER"
UNKNOWN_ORDER = "UNKNOWN"  # one that the specification of our time does not have

# Without an order of their own: only equality means something.
UNORDERED = frozenset({"INTERVAL", "GEOMETRY", "GEOGRAPHY", "VARIANT"})
FIXED_WIDTH = frozenset(
    {PhysicalType.BOOLEAN, PhysicalType.INT32, PhysicalType.INT64, PhysicalType.FLOAT, PhysicalType.DOUBLE}
)
_FLOATS = {16: "<e", 32: "<f", 64: "<d"}
_PARQUET_MR = re.compile(r"parquet-mr(?:\s+version\s+(\d+)\.(\d+))?")


class StoredStatistics(Protocol):
    """Bounds and counts as the file has them: `metadata.statistics.Statistics`."""

    @property
    def min_value(self) -> bytes | None: ...
    @property
    def max_value(self) -> bytes | None: ...
    @property
    def deprecated_min(self) -> bytes | None: ...
    @property
    def deprecated_max(self) -> bytes | None: ...
    @property
    def null_count(self) -> int | None: ...
    @property
    def nan_count(self) -> int | None: ...
    @property
    def is_min_exact(self) -> bool | None: ...
    @property
    def is_max_exact(self) -> bool | None: ...


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known of the leaf slots of a chunk or page, in the order of one test.

    Every value that is neither null nor NaN lies in low .. high, both included; None is no bound on that side.
    """

    slots: int | None = None  # values, nulls included
    null_count: int | None = None
    low: Key = None
    high: Key = None
    is_exact: bool = False  # both bounds are values that occur
    nan_key: Key = None  # the key of NaN where one may be among the values
    is_all_nan: bool = False

    @property
    def is_all_null(self) -> bool:
        return self.null_count is not None and self.null_count == self.slots


def writes_wrong_bounds(created_by: str | None) -> bool:
    """Whether the writer is known to order byte arrays wrongly: parquet-mr before 1.8.

    >>> from hardwood_jit.plan.statistics import writes_wrong_bounds
    >>> [writes_wrong_bounds(f"parquet-mr version 1.{minor}.0 (build 1)") for minor in (7, 8, 12)]
    [True, False, False]
    """
    found = _PARQUET_MR.match(created_by or "")
    if found is None or found[1] is None:
        return False
    return (int(found[1]), int(found[2])) < (1, 8)


class BoundsReader:
    """Reads the bounds of one leaf of one file as keys of one domain."""

    def __init__(self, leaf: Leaf, domain: Domain, order: str | None, created_by: str | None = None) -> None:
        self.leaf = leaf
        self.domain = domain
        self._total_order = order == TOTAL_ORDER
        self._has_nulls = leaf.max_definition_level > 0
        self._is_fixed = leaf.physical_type in FIXED_WIDTH
        self._nan_key = float_key(math.nan, domain.bits) if domain.kind == "float" else None
        self._is_signed = domain.kind == "signed"
        self.is_usable = self._trusts(order, created_by)
        self._decode = _decoder(leaf, domain)

    def _trusts(self, order: str | None, created_by: str | None) -> bool:
        """Whether bounds mean anything in the order of the test."""
        leaf, domain = self.leaf, self.domain
        logical = leaf.logical_type
        if leaf.unknown_logical_type or domain.kind == "instant" or leaf.physical_type is PhysicalType.INT96:
            return False
        if logical is not None and logical.kind in UNORDERED:
            return False
        # The file orders logical values. Another order, of stored numbers or bytes, has no bounds there.
        if domain != domain_of(leaf, raw=False):
            return False
        if order is None:
            return self._is_signed
        if order == TOTAL_ORDER:
            return domain.kind == "float"
        if order != TYPE_ORDER:
            return False
        return domain.kind not in ("bytes", "decimal") or not writes_wrong_bounds(created_by)

    def of_statistics(self, statistics: StoredStatistics | None, slots: int | None) -> Facts:
        """What a chunk's or a page header's statistics say."""
        if statistics is None:
            return Facts(slots, None if self._has_nulls else 0, nan_key=self._nan_key)
        low, high = statistics.min_value, statistics.max_value
        if low is None and high is None and self._is_signed:  # the old fields are right for signed integers
            low, high = statistics.deprecated_min, statistics.deprecated_max
        exact = statistics.is_min_exact, statistics.is_max_exact
        return self._facts(low, high, slots, statistics.null_count, statistics.nan_count, exact)

    def of_page(
        self, low: bytes | None, high: bytes | None, slots: int | None, null_count: int | None, nan_count: int | None
    ) -> Facts:
        """What a page's line of the column index says; it has no flags of exactness."""
        return self._facts(low, high, slots, null_count, nan_count, (None, None))

    def _facts(
        self,
        low: bytes | None,
        high: bytes | None,
        slots: int | None,
        null_count: int | None,
        nan_count: int | None,
        exact: tuple[bool | None, bool | None],
    ) -> Facts:
        if not self._has_nulls:
            null_count = 0
        elif null_count is not None and (null_count < 0 or (slots is not None and null_count > slots)):
            null_count = None
        nan_key = None if nan_count == 0 else self._nan_key
        if not self.is_usable or (low is None and high is None):
            return Facts(slots, null_count, nan_key=nan_key)
        if self.domain.kind == "decimal" and False in exact:
            return Facts(slots, null_count, nan_key=nan_key)  # a number that was cut is another number
        first = None if low is None else self._decode(low, False)
        last = None if high is None else self._decode(high, True)
        if self._nan_key is not None and (first == self._nan_key or last == self._nan_key):
            if self._total_order and first == last and nan_count != 0:
                return Facts(slots, null_count, nan_key=self._nan_key, is_all_nan=True)
            first = last = None
        if first is not None and last is not None and first > last:
            first = last = None
        is_exact = first is not None and last is not None and all(
            self._is_fixed if flag is None else flag for flag in exact
        )
        return Facts(slots, null_count, first, last, is_exact, nan_key)


def _decoder(leaf: Leaf, domain: Domain) -> Callable[[bytes, bool], Key]:
    """Bytes of a bound -> its key; None where they cannot be one. A zero widens to the side it bounds."""
    width = {32: 4, 64: 8}.get(domain.bits, leaf.type_length)
    signed = domain.kind == "signed"

    def boolean(raw: bytes, is_high: bool) -> Key:
        return raw[0] if len(raw) == 1 and raw[0] <= 1 else None

    def integer(raw: bytes, is_high: bool) -> Key:
        return int.from_bytes(raw, "little", signed=signed) if len(raw) == width else None

    def floating(raw: bytes, is_high: bool) -> Key:
        if len(raw) != domain.bits // 8:
            return None
        (value,) = struct.unpack(_FLOATS[domain.bits], raw)
        if value == 0:
            return 0 if is_high else -1  # +0.0 and -0.0
        return float_key(value, domain.bits)

    def stored(raw: bytes, is_high: bool) -> Key:
        return raw if leaf.type_length is None or len(raw) <= leaf.type_length else None

    def decimal(raw: bytes, is_high: bool) -> Key:
        if not raw or (leaf.type_length is not None and len(raw) != leaf.type_length):
            return None
        return int.from_bytes(raw, "big", signed=True)

    kinds: dict[str, Callable[[bytes, bool], Key]] = {
        "boolean": boolean,
        "signed": integer,
        "unsigned": integer,
        "float": floating,
        "bytes": stored,
        "decimal": decimal,
    }
    return kinds.get(domain.kind, lambda raw, is_high: None)
