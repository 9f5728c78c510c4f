"""A bound test of one column -> the arrays that the kernels of compare.py take, and its verdict on decoded values."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hardwood_jit.batch import Column
from hardwood_jit.jit.fused_kernels import FUSED
from hardwood_jit.jit.kernel_cache import load, load_for_count
from hardwood_jit.jit.shape import page_shape
from hardwood_jit.kernels.compare import DIFFERENT, EQUAL, INSIDE
from hardwood_jit.kernels.slices import SLACK
from hardwood_jit.physical import PhysicalType
from hardwood_jit.plan.bound import Domain, Intervals, ValueTest

if TYPE_CHECKING:
    from hardwood_jit.metadata.schema import Leaf

Bytes = NDArray[np.uint8]
Words = NDArray[np.uint64]

DAY_NANOS = 86_400_000_000_000
EPOCH_DAY = 2440588
INSTANT_BYTES = 16
SIEVE_BYTES = 4096  # stays in the first-level cache
SIEVED_FROM, SIEVED_TO = 3, 1024  # single keys
ORDERS = {"bytes": 0, "instant": 0, "decimal": 1}  # compare.BYTES, compare.DECIMAL
STORAGE = {
    PhysicalType.BOOLEAN: "uint8",
    PhysicalType.INT32: "uint32",
    PhysicalType.FLOAT: "uint32",
    PhysicalType.INT64: "uint64",
    PhysicalType.DOUBLE: "uint64",
}

_WORD_NAMES = {1: "uint8", 4: "uint32", 8: "uint64"}  # dtype.name takes microseconds


class NumberBounds:
    """Intervals of numbers as unsigned keys: lows, and how far each reaches."""

    def __init__(self, domain: Domain, intervals: Intervals) -> None:
        bits = domain.bits
        bias = 1 << (bits - 1) if domain.kind in ("signed", "float") else 0
        # A float's key is made from its bits by the kernel, an integer's by flipping its sign bit.
        self.float_bits = bits if domain.kind == "float" and bits > 16 else 0
        self.flip = np.uint64(bias if domain.kind == "signed" else 0)
        lows, spans = [], []
        for low, high in intervals.pairs:
            first = 0 if low is None else max(low + bias, 0)
            last = (1 << bits) - 1 if high is None else min(high - 1 + bias, (1 << bits) - 1)
            if first <= last:
                lows.append(first)
                spans.append(last - first)
        self.lows: Words = np.array(lows, np.uint64)
        self.spans: Words = np.array(spans, np.uint64)
        self.sieve: Bytes = np.empty(0, np.uint8)
        if SIEVED_FROM <= len(lows) <= SIEVED_TO and not self.spans.any():
            # Many single keys: their low bits turn most other keys away before the search.
            self.sieve = np.zeros(SIEVE_BYTES, np.uint8)
            self.sieve[(self.lows & np.uint64(SIEVE_BYTES - 1)).astype(np.int64)] = 1


class ByteBounds:
    """Intervals of byte strings, one bound after the other."""

    def __init__(self, domain: Domain, intervals: Intervals) -> None:
        self.order = ORDERS[domain.kind]
        encoded: list[bytes] = []
        open_ends: list[bool] = []
        for pair in intervals.pairs:
            for bound in pair:
                open_ends.append(bound is None)
                encoded.append(b"" if bound is None else _encode(domain, bound))
        data = b"".join(encoded)
        self.data: Bytes = np.zeros(len(data) + SLACK, np.uint8)
        self.data[: len(data)] = np.frombuffer(data, np.uint8)
        self.ends = np.cumsum([len(part) for part in encoded], dtype=np.int64)
        self.open_ends: Bytes = np.array(open_ends, np.uint8)
        # To be one text or another than that takes no search: then kernels that can are asked about the one.
        self.asks, self.asked = INSIDE, self
        if domain.kind == "bytes" and not _is_one(intervals) and _is_one(intervals.complement()):
            self.asks, self.asked = DIFFERENT, ByteBounds(domain, intervals.complement())
        elif domain.kind == "bytes" and _is_one(intervals):
            self.asks = EQUAL


def _is_one(intervals: Intervals) -> bool:
    """Whether just one text lies inside."""
    keys = intervals.single_keys()
    is_empty_text = intervals.pairs == ((None, b"\0"),)
    return is_empty_text or (keys is not None and len(keys) == 1)


def _encode(domain: Domain, bound: Any) -> bytes:
    if domain.kind == "decimal":
        return int(bound).to_bytes(int(bound).bit_length() // 8 + 1, "big", signed=True)
    if domain.kind == "instant":
        day, nanos = divmod(int(bound), DAY_NANOS)
        day = min(max(day + (1 << 63), 0), (1 << 64) - 1)  # far beyond what 32 bits of days can store
        return day.to_bytes(8, "big") + nanos.to_bytes(8, "big")
    return bytes(bound)


class PreparedTest:
    """A ValueTest whose intervals are ready for kernels; one per scan, whatever the number of row groups."""

    def __init__(self, test: ValueTest) -> None:
        self.test = test
        self.leaf: Leaf = test.leaf
        self.null_matches = int(test.null_matches)
        # Then values need no look at: only whether they are null matters.
        self.same_for_all: int | None = (
            1 if test.intervals.is_everything else 0 if not test.intervals.pairs else None
        )
        self.kernels: dict[str, str] = {}  # what tested it: shape -> where that kernel came from; for explain
        self._page_shape = page_shape(test) if test.quantifier is None else None
        self.numbers: NumberBounds | None = None
        self.byte_strings: ByteBounds | None = None
        if test.domain.kind in ("boolean", "signed", "unsigned", "float"):
            self.numbers = NumberBounds(test.domain, test.intervals)
        else:
            self.byte_strings = ByteBounds(test.domain, test.intervals)

    def page_kernel(self) -> tuple[Callable[..., int], list[Any]] | None:
        """The generated kernel that tests PLAIN pages with its operators inside, and its constants; None as yet."""
        if self._page_shape is None:
            return None
        shape, constants = self._page_shape
        kernel = FUSED.find(shape)
        self.kernels[shape.text] = FUSED.origin(shape)
        return None if kernel is None else (kernel, constants)

    def hits_of_words(self, values: NDArray[Any], count: int) -> Bytes:
        """Verdicts of numbers given as uint8, uint32 or uint64."""
        bounds = self.numbers
        assert bounds is not None
        hits = np.empty(count, np.uint8)
        kernel = load_for_count("compare.test_words", count, _WORD_NAMES[values.dtype.itemsize])
        kernel(values, count, bounds.flip, bounds.float_bits, bounds.lows, bounds.spans, bounds.sieve, hits)
        return hits

    def hits_of_wide(self, values: Bytes, width: int, count: int) -> Bytes:
        """Verdicts of values of `width` bytes."""
        if self.numbers is not None:  # FLOAT16
            return self.hits_of_words(_half_keys(values[: 2 * count]), count)
        bounds = self.byte_strings
        assert bounds is not None
        if self.test.domain.kind == "instant":
            values, width = instant_keys(values[: 12 * count].reshape(count, 12)), INSTANT_BYTES
        hits = np.empty(count, np.uint8)
        load("compare.test_wide")(
            values, width, count, bounds.data, bounds.ends, bounds.open_ends, bounds.order, hits
        )
        return hits

    def hits_of_byte_arrays(self, offsets: NDArray[Any], data: Bytes, count: int) -> Bytes:
        bounds = self.byte_strings
        assert bounds is not None
        hits = np.empty(count, np.uint8)
        o = "int32" if offsets.dtype.itemsize == 4 else "int64"
        load_for_count("compare.test_byte_arrays", count, o=o)(
            offsets, data, count, bounds.data, bounds.ends, bounds.open_ends, bounds.order, hits
        )
        return hits

    def hits_of_column(self, column: Column) -> Bytes:
        """One verdict per leaf slot of a decoded column, nulls included."""
        count = column.value_count
        if self.same_for_all is not None:
            hits = np.full(count, self.same_for_all, np.uint8)
        elif column.offsets is not None:
            assert column.data is not None
            hits = self.hits_of_byte_arrays(column.offsets, column.data, count)
        else:
            values = column.values
            assert values is not None
            storage = STORAGE.get(self.leaf.physical_type)
            if storage is None:
                hits = self.hits_of_wide(values.reshape(-1), values.shape[1], count)
            else:
                hits = self.hits_of_words(values.view(storage), count)
        if column.validity.words is not None:
            present = column.validity.to_numpy(count).view(np.uint8)
            hits &= present
            if self.null_matches:
                hits |= 1 - present
        return hits


def _half_keys(raw: Bytes) -> NDArray[np.uint32]:
    """FLOAT16 as keys of 16 bits, ordered like `bound.float_key` plus 2**15."""
    bits = raw.view(np.uint16).astype(np.uint32)
    keys = np.where(bits & 0x8000, bits ^ 0xFFFF, bits | 0x8000).astype(np.uint32)
    keys[(bits & 0x7FFF) > 0x7C00] = 0xFFFF
    return keys


def instant_keys(raw: Bytes) -> Bytes:
    """INT96 as 16 bytes that compare like the instants they denote; nanoseconds may exceed a day."""
    nanos = raw[:, :8].copy().view("<i8").reshape(-1)
    days = raw[:, 8:].copy().view("<i4").reshape(-1).astype(np.int64) - EPOCH_DAY
    carried = nanos // DAY_NANOS
    keys = np.empty((len(raw), 2), ">u8")
    keys[:, 0] = (days + carried).view(np.uint64) ^ np.uint64(1 << 63)
    keys[:, 1] = (nanos - carried * DAY_NANOS).view(np.uint64)
    return keys.view(np.uint8).reshape(-1)


def number_keys(column: Column, domain: Domain) -> Words:
    """Every value of a decoded column of numbers as a key that compares unsigned; 64-bit signed ones are biased."""
    values = column.values
    assert values is not None
    if domain.kind == "boolean":
        return values.view(np.uint8).astype(np.uint64)
    if domain.kind == "signed":
        return values.astype(np.int64).view(np.uint64) ^ np.uint64(1 << 63)
    if domain.kind == "unsigned":
        return values.view(STORAGE[column.leaf.physical_type]).astype(np.uint64)
    if domain.bits == 16:
        values = values.reshape(-1).view(np.float16)
    with np.errstate(invalid="ignore"):  # signalling NaN
        wide = values.astype(np.float64)
    bits = wide.view(np.uint64)
    keys = np.where(bits >> np.uint64(63), ~bits, bits | np.uint64(1 << 63))
    keys[np.isnan(wide)] = np.uint64(0xFFFFFFFFFFFFFFFF)
    return keys


