"""The vocabulary of the format: physical types, encodings, codecs, repetitions, logical types, their numpy dtypes."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import numpy as np


class _Named(IntEnum):
    """Prints as its bare name, as the specification writes it."""

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return self.name

    __hash__ = int.__hash__  # Enum's own is a Python function: dispatch tables are keyed by these


class PhysicalType(_Named):
    """How a leaf's values are stored."""

    BOOLEAN = 0
    INT32 = 1
    INT64 = 2
    INT96 = 3
    FLOAT = 4
    DOUBLE = 5
    BYTE_ARRAY = 6
    FIXED_LEN_BYTE_ARRAY = 7


class Encoding(_Named):
    """How a page's values or levels are written."""

    PLAIN = 0
    PLAIN_DICTIONARY = 2
    RLE = 3
    BIT_PACKED = 4
    DELTA_BINARY_PACKED = 5
    DELTA_LENGTH_BYTE_ARRAY = 6
    DELTA_BYTE_ARRAY = 7
    RLE_DICTIONARY = 8
    BYTE_STREAM_SPLIT = 9


class Codec(_Named):
    """How a page's bytes are compressed."""

    UNCOMPRESSED = 0
    SNAPPY = 1
    GZIP = 2
    LZO = 3
    BROTLI = 4
    LZ4 = 5
    ZSTD = 6
    LZ4_RAW = 7


class PageKind(_Named):
    """What a page header announces."""

    DATA_PAGE = 0
    INDEX_PAGE = 1
    DICTIONARY_PAGE = 2
    DATA_PAGE_V2 = 3


class Repetition(_Named):
    """How often a schema node occurs in its parent."""

    REQUIRED = 0
    OPTIONAL = 1
    REPEATED = 2


@dataclass(frozen=True)
class LogicalType:
    """What a stored value stands for; parameters that a kind does not have stay None.

    `kind` is the specification's name: STRING, MAP, LIST, ENUM, DECIMAL, DATE, TIME, TIMESTAMP, INTEGER, UNKNOWN, JSON,
    BSON, UUID, FLOAT16, VARIANT, GEOMETRY, GEOGRAPHY, INTERVAL. Legacy converted types are translated into it.

    >>> from hardwood_jit.physical import LogicalType
    >>> str(LogicalType("DECIMAL", precision=15, scale=2))
    'DECIMAL(15, 2)'
    """

    kind: str
    precision: int | None = None
    scale: int | None = None
    bits: int | None = None
    signed: bool | None = None
    unit: str | None = None  # "ms", "us", "ns"
    utc: bool | None = None
    crs: str | None = None
    algorithm: str | None = None

    def __str__(self) -> str:
        parts: list[str] = []
        if self.kind == "DECIMAL":
            parts = [str(self.precision), str(self.scale)]
        elif self.kind == "INTEGER":
            parts = [str(self.bits), "signed" if self.signed else "unsigned"]
        elif self.kind in ("TIME", "TIMESTAMP"):
            parts = [str(self.unit), "UTC" if self.utc else "local"]
        elif self.kind in ("GEOMETRY", "GEOGRAPHY"):
            parts = [part for part in (self.crs, self.algorithm) if part]
        return f"{self.kind}({', '.join(parts)})" if parts else self.kind


# dtype of `Column.values`; byte arrays have `data` and `offsets` instead, fixed-width byte arrays a second dimension.
VALUES_DTYPE: dict[PhysicalType, np.dtype[Any]] = {
    PhysicalType.BOOLEAN: np.dtype(np.bool_),
    PhysicalType.INT32: np.dtype(np.int32),
    PhysicalType.INT64: np.dtype(np.int64),
    PhysicalType.INT96: np.dtype(np.uint8),
    PhysicalType.FLOAT: np.dtype(np.float32),
    PhysicalType.DOUBLE: np.dtype(np.float64),
    PhysicalType.FIXED_LEN_BYTE_ARRAY: np.dtype(np.uint8),
}

INT96_BYTES = 12

# The types whose values are one machine word.
NUMBERS = frozenset(
    {PhysicalType.BOOLEAN, PhysicalType.INT32, PhysicalType.INT64, PhysicalType.FLOAT, PhysicalType.DOUBLE}
)
