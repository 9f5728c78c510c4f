"""The one table of types: what a leaf's values become as Python, Arrow, numpy, pandas and Spark values.

`TYPES` is data: README's table is printed from it, `type_of` finds the row of a leaf, and each export has one function
per `conversion` named there. Tests walk the table.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hardwood_jit.errors import CorruptFileError, UnsupportedError
from hardwood_jit.physical import PhysicalType

if TYPE_CHECKING:
    from hardwood_jit.metadata.schema import Leaf

BOOLEAN = PhysicalType.BOOLEAN
INT32 = PhysicalType.INT32
INT64 = PhysicalType.INT64
INT96 = PhysicalType.INT96
FLOAT = PhysicalType.FLOAT
DOUBLE = PhysicalType.DOUBLE
BYTE_ARRAY = PhysicalType.BYTE_ARRAY
FIXED = PhysicalType.FIXED_LEN_BYTE_ARRAY

ArrowType = Callable[[ModuleType, "Leaf"], Any]  # (pyarrow, leaf) -> pyarrow.DataType

ARROW_DECIMAL_DIGITS = 76  # decimal256
DECIMAL128_DIGITS = 38
NO_WORDS = np.empty(0, np.uint64)  # how kernels are told that nothing is null
UNITS_PER_DAY = {"ms": 86_400_000, "us": 86_400_000_000, "ns": 86_400_000_000_000}


@dataclass(frozen=True)
class TypeRow:
    """One row of the table; the texts are what README shows, `n`, `p`, `s` and `unit` standing for parameters."""

    name: str
    physical: tuple[PhysicalType, ...]  # where the annotation may stand; () = a group
    conversion: str  # which function of each export converts the values
    values: str
    python: str
    arrow: str
    numpy: str
    pandas: str
    spark: str
    arrow_type: ArrowType | None = None
    dtype: str | None = None  # of the values after a change of width or sign, and of numpy arrays


def _unit(leaf: Leaf) -> str:
    assert leaf.logical_type is not None and leaf.logical_type.unit is not None
    return leaf.logical_type.unit


def _decimal(pa: ModuleType, leaf: Leaf) -> Any:
    logical = leaf.logical_type
    assert logical is not None and logical.precision is not None and logical.scale is not None
    if logical.precision > ARROW_DECIMAL_DIGITS:
        raise UnsupportedError(
            f"column '{leaf.dotted}': {logical} has more digits than the {ARROW_DECIMAL_DIGITS} of Arrow's decimals; "
            "rows() and batches() read it"
        )
    make = pa.decimal128 if logical.precision <= DECIMAL128_DIGITS else pa.decimal256
    return make(logical.precision, logical.scale)


def has_extensions(pa: ModuleType) -> bool:
    """Whether this pyarrow reads UUID and JSON as extension types by default (it does since version 21)."""
    return int(pa.__version__.split(".")[0]) >= 21


def _uuid(pa: ModuleType, leaf: Leaf) -> Any:
    return pa.uuid() if has_extensions(pa) else pa.binary(16)


def _json(pa: ModuleType, leaf: Leaf) -> Any:
    return pa.json_() if has_extensions(pa) else pa.string()


# fmt: off
TYPES: tuple[TypeRow, ...] = (
    # bare physical types
    TypeRow("BOOLEAN", (BOOLEAN,), "boolean", "bool", "bool", "bool", "bool", "bool", "BooleanType",
            lambda pa, leaf: pa.bool_()),
    TypeRow("INT32", (INT32,), "same", "int32", "int", "int32", "int32", "int32", "IntegerType",
            lambda pa, leaf: pa.int32()),
    TypeRow("INT64", (INT64,), "same", "int64", "int", "int64", "int64", "int64", "LongType",
            lambda pa, leaf: pa.int64()),
    TypeRow("INT96", (INT96,), "int96", "uint8[count, 12]", "datetime (UTC)", "timestamp[ns]", "datetime64[ns]",
            "datetime64[ns]", "TimestampType", lambda pa, leaf: pa.timestamp("ns")),
    TypeRow("FLOAT", (FLOAT,), "same", "float32", "float", "float", "float32", "float32", "FloatType",
            lambda pa, leaf: pa.float32()),
    TypeRow("DOUBLE", (DOUBLE,), "same", "float64", "float", "double", "float64", "float64", "DoubleType",
            lambda pa, leaf: pa.float64()),
    TypeRow("BYTE_ARRAY", (BYTE_ARRAY,), "bytes", "data, offsets", "bytes", "binary", "object (bytes)", "object",
            "BinaryType", lambda pa, leaf: pa.binary()),
    TypeRow("FIXED_LEN_BYTE_ARRAY(n)", (FIXED,), "fixed", "uint8[count, n]", "bytes", "fixed_size_binary[n]", "void(n)",
            "object", "BinaryType", lambda pa, leaf: pa.binary(leaf.type_length)),
    # numbers
    TypeRow("INTEGER(8, signed)", (INT32,), "narrow", "int32", "int", "int8", "int8", "int8", "ByteType",
            lambda pa, leaf: pa.int8(), "int8"),
    TypeRow("INTEGER(16, signed)", (INT32,), "narrow", "int32", "int", "int16", "int16", "int16", "ShortType",
            lambda pa, leaf: pa.int16(), "int16"),
    TypeRow("INTEGER(32, signed)", (INT32,), "same", "int32", "int", "int32", "int32", "int32", "IntegerType",
            lambda pa, leaf: pa.int32()),
    TypeRow("INTEGER(64, signed)", (INT64,), "same", "int64", "int", "int64", "int64", "int64", "LongType",
            lambda pa, leaf: pa.int64()),
    TypeRow("INTEGER(8, unsigned)", (INT32,), "narrow", "int32", "int", "uint8", "uint8", "uint8", "ShortType",
            lambda pa, leaf: pa.uint8(), "uint8"),
    TypeRow("INTEGER(16, unsigned)", (INT32,), "narrow", "int32", "int", "uint16", "uint16", "uint16", "IntegerType",
            lambda pa, leaf: pa.uint16(), "uint16"),
    TypeRow("INTEGER(32, unsigned)", (INT32,), "unsigned", "int32", "int", "uint32", "uint32", "uint32", "LongType",
            lambda pa, leaf: pa.uint32(), "uint32"),
    TypeRow("INTEGER(64, unsigned)", (INT64,), "unsigned", "int64", "int", "uint64", "uint64", "uint64",
            "DecimalType(20,0)", lambda pa, leaf: pa.uint64(), "uint64"),
    TypeRow("FLOAT16", (FIXED,), "half", "uint8[count, 2]", "float", "halffloat", "float16", "float16", "FloatType",
            lambda pa, leaf: pa.float16(), "float16"),
    TypeRow("DECIMAL(p <= 38, s)", (INT32, INT64, FIXED, BYTE_ARRAY), "decimal", "as stored", "Decimal",
            "decimal128(p, s)", "object (Decimal)", "object", "DecimalType(p,s)", _decimal),
    TypeRow("DECIMAL(p > 38, s)", (INT32, INT64, FIXED, BYTE_ARRAY), "decimal", "as stored", "Decimal",
            "decimal256(p, s), p <= 76", "object (Decimal)", "object", "StringType", _decimal),
    # dates and times
    TypeRow("DATE", (INT32,), "date", "int32", "date", "date32[day]", "datetime64[D]", "object", "DateType",
            lambda pa, leaf: pa.date32()),
    TypeRow("TIME(ms)", (INT32,), "time", "int32", "time", "time32[ms]", "timedelta64[ms]", "object", "LongType",
            lambda pa, leaf: pa.time32("ms")),
    TypeRow("TIME(us)", (INT64,), "time", "int64", "time", "time64[us]", "timedelta64[us]", "object", "LongType",
            lambda pa, leaf: pa.time64("us")),
    TypeRow("TIME(ns)", (INT64,), "time", "int64", "time", "time64[ns]", "timedelta64[ns]", "object", "LongType",
            lambda pa, leaf: pa.time64("ns")),
    TypeRow("TIMESTAMP(unit, UTC)", (INT64,), "instant", "int64", "datetime (UTC)", "timestamp[unit, tz=UTC]",
            "datetime64[unit]", "datetime64[unit, UTC]", "TimestampType",
            lambda pa, leaf: pa.timestamp(_unit(leaf), "UTC")),
    TypeRow("TIMESTAMP(unit, local)", (INT64,), "instant", "int64", "datetime (naive)", "timestamp[unit]",
            "datetime64[unit]", "datetime64[unit]", "TimestampNTZType", lambda pa, leaf: pa.timestamp(_unit(leaf))),
    TypeRow("INTERVAL", (FIXED,), "interval", "uint8[count, 12]", "Interval", "fixed_size_binary[12]",
            "months, days, milliseconds (uint32)", "object", "BinaryType", lambda pa, leaf: pa.binary(12)),
    # text and bytes
    TypeRow("STRING", (BYTE_ARRAY,), "text", "data, offsets", "str", "string", "StringDType", "str", "StringType",
            lambda pa, leaf: pa.string()),
    TypeRow("ENUM", (BYTE_ARRAY,), "enum", "data, offsets", "str", "binary", "StringDType", "object", "StringType",
            lambda pa, leaf: pa.binary()),
    TypeRow("JSON", (BYTE_ARRAY,), "text", "data, offsets", "str", "extension<arrow.json>", "StringDType", "object",
            "StringType", _json),
    TypeRow("BSON", (BYTE_ARRAY,), "bytes", "data, offsets", "bytes", "binary", "object (bytes)", "object",
            "BinaryType", lambda pa, leaf: pa.binary()),
    TypeRow("UUID", (FIXED,), "uuid", "uint8[count, 16]", "UUID", "extension<arrow.uuid>", "object (UUID)", "object",
            "StringType", _uuid),
    TypeRow("GEOMETRY", (BYTE_ARRAY,), "bytes", "data, offsets", "bytes", "binary", "object (bytes)", "object",
            "BinaryType", lambda pa, leaf: pa.binary()),
    TypeRow("GEOGRAPHY", (BYTE_ARRAY,), "bytes", "data, offsets", "bytes", "binary", "object (bytes)", "object",
            "BinaryType", lambda pa, leaf: pa.binary()),
    TypeRow("UNKNOWN", tuple(PhysicalType), "null", "as stored", "None", "null", "object (None)", "object", "as stored",
            lambda pa, leaf: pa.null()),
    # groups
    TypeRow("group", (), "group", "by leaf", "dict", "struct", "by leaf", "object", "StructType"),
    TypeRow("VARIANT", (), "group", "by leaf", "dict of bytes", "struct", "by leaf", "object", "StructType"),
    TypeRow("LIST", (), "group", "by leaf", "list", "list", "object (list)", "object", "ArrayType"),
    TypeRow("MAP", (), "group", "by leaf", "list of (key, value)", "map", "object (list)", "object", "MapType"),
)
# fmt: on

_ROWS = {row.name: row for row in TYPES}
_LENGTHS = {"UUID": 16, "FLOAT16": 2, "INTERVAL": 12}  # of a FIXED_LEN_BYTE_ARRAY that carries the annotation
_BARE = {
    physical: _ROWS["FIXED_LEN_BYTE_ARRAY(n)" if physical is FIXED else physical.name] for physical in PhysicalType
}


def _row_name(leaf: Leaf) -> str:
    logical = leaf.logical_type
    assert logical is not None
    if logical.kind == "DECIMAL":
        return "DECIMAL(p <= 38, s)" if (logical.precision or 0) <= DECIMAL128_DIGITS else "DECIMAL(p > 38, s)"
    if logical.kind == "TIME":
        return f"TIME({logical.unit})"
    if logical.kind == "TIMESTAMP":
        return "TIMESTAMP(unit, UTC)" if logical.utc else "TIMESTAMP(unit, local)"
    return str(logical) if logical.kind == "INTEGER" else logical.kind


def type_of(leaf: Leaf) -> TypeRow:
    """The leaf's row; an annotation that the table does not have on that physical type is as good as none."""
    if leaf.logical_type is None:
        return _BARE[leaf.physical_type]
    row = _ROWS.get(_row_name(leaf))
    if row is None or leaf.physical_type not in row.physical:
        return _BARE[leaf.physical_type]
    if leaf.physical_type is FIXED and _LENGTHS.get(row.name, leaf.type_length) != leaf.type_length:
        return _BARE[leaf.physical_type]
    return row


def types_table_markdown() -> str:
    """The table as README prints it."""
    head = ("Parquet", "`values`", "`rows()`", "Arrow", "numpy", "pandas", "Spark")
    rows = [(row.name, row.values, row.python, row.arrow, row.numpy, row.pandas, row.spark) for row in TYPES]
    lines = [head, ("---",) * len(head), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines) + "\n"


def narrowed(values: NDArray[Any], present: NDArray[np.bool_] | None, dtype: str, where: str) -> NDArray[Any]:
    """Stored int32 `values` as the 8- or 16-bit type they are annotated with; what does not fit breaks the file.

    `present` masks null slots, whose content means nothing; None: all are present.
    """
    small = values.astype(dtype)
    wrong = small != values
    if wrong.any() and (present is None or (wrong & present).any()):
        at = int(np.flatnonzero(wrong if present is None else wrong & present)[0])
        raise CorruptFileError(f"{where}: the value {values[at]} does not fit its annotation {dtype}")
    return small


def check_times(values: NDArray[Any], present: NDArray[np.bool_] | None, unit: str, where: str) -> None:
    """A time of day is at least 0 and less than a day."""
    if not len(values) or (values.min() >= 0 and values.max() < UNITS_PER_DAY[unit]):
        return
    wrong = (values < 0) | (values >= UNITS_PER_DAY[unit])
    if present is not None:
        wrong &= present
    if wrong.any():
        at = int(np.flatnonzero(wrong)[0])
        raise CorruptFileError(f"{where}: the time {values[at]} {unit} lies outside a day")


def int96_counts(values: NDArray[np.uint8], words: NDArray[np.uint64], unit: str, where: str) -> NDArray[np.int64]:
    """INT96 `values` (uint8[count, 12]) as counts of "ns" or "us" since 1970, 0 in null slots; beyond int64 is refused.

    `words` are validity words, empty when nothing is null.
    """
    import hardwood_jit.jit.kernel_cache  # noqa: F401  (names the folder of compiled kernels)
    from hardwood_jit.kernels import int96
    from hardwood_jit.kernels.status import OK

    count = len(values)
    out = np.empty(count, np.int64)
    convert = int96.to_nanoseconds if unit == "ns" else int96.to_microseconds
    if convert(np.ascontiguousarray(values).reshape(-1), count, words, out) == OK:
        return out
    if unit == "ns":
        raise UnsupportedError(
            f"{where}: an INT96 instant is outside the years 1677 to 2262 of int64 nanoseconds; "
            'to_arrow(int96="us") reaches further, batches() and row.raw() give its bytes'
        )
    raise UnsupportedError(
        f"{where}: an INT96 instant does not fit int64 microseconds; batches() and row.raw() give its bytes"
    )


def is_text(leaf: Leaf) -> bool:
    """Whether Arrow and Python hold the leaf's values as text, which must be UTF-8."""
    return type_of(leaf).conversion == "text"
