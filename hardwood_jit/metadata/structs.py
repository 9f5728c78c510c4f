"""Compact Thrift bytes -> Parquet structs: `thrift_spec` tables for the package `thrift` (parquet.thrift).

Text fields are bytes here: `thrift` would decode them strictly, and names and statistics need not be UTF-8.
"""
# mypy: disable-error-code="import-untyped"

from __future__ import annotations

from typing import Any, ClassVar, TypeVar

from thrift.protocol.TBase import TBase
from thrift.protocol.TCompactProtocol import TCompactProtocolAccelerated
from thrift.Thrift import TType
from thrift.transport.TTransport import TMemoryBuffer

from hardwood_jit.errors import CorruptFileError
from hardwood_jit.kernels.status import TRUNCATED
from hardwood_jit.source import as_kernel_bytes

I8, I16, I32, I64, BOOL, DOUBLE = TType.BYTE, TType.I16, TType.I32, TType.I64, TType.BOOL, TType.DOUBLE


class Struct(TBase):  # type: ignore[misc]  # `thrift` has no types: its class is Any
    """A decoded struct: one attribute per field, None where the bytes have none."""

    thrift_spec: ClassVar[tuple[Any, ...]] = ()

    def __init__(self, **fields: Any) -> None:
        self.__dict__.update(fields)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return None

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{key}={value!r}' for key, value in self.__dict__.items())})"

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.__dict__ == other.__dict__


class Of:
    """A field's type beyond its wire type: a struct, text as bytes, or a list of either."""

    def __init__(self, wire: int, argument: Any) -> None:
        self.wire = wire
        self.argument = argument


BINARY = Of(TType.STRING, "BINARY")


def struct_of(cls: type[Struct]) -> Of:
    return Of(TType.STRUCT, [cls, cls.thrift_spec])


def list_of(element: Any) -> Of:
    wire, argument = (element.wire, element.argument) if isinstance(element, Of) else (element, None)
    return Of(TType.LIST, (wire, argument, False))


def spec(fields: dict[int, tuple[str, Any]]) -> tuple[Any, ...]:
    """The table that `thrift` wants: position = field id, None where there is no field."""
    rows: list[Any] = [None] * (max(fields, default=-1) + 1)
    for number, (name, kind) in fields.items():
        wire, argument = (kind.wire, kind.argument) if isinstance(kind, Of) else (kind, None)
        rows[number] = (number, wire, name, argument, None)
    return tuple(rows)


class Empty(Struct):
    """A member of a union that has no fields of its own."""


EMPTY = struct_of(Empty)


class DecimalType(Struct):
    thrift_spec = spec({1: ("scale", I32), 2: ("precision", I32)})


class TimeUnit(Struct):
    thrift_spec = spec({1: ("MILLIS", EMPTY), 2: ("MICROS", EMPTY), 3: ("NANOS", EMPTY)})


class TimeType(Struct):
    """Also TimestampType."""

    thrift_spec = spec({1: ("isAdjustedToUTC", BOOL), 2: ("unit", struct_of(TimeUnit))})


class IntType(Struct):
    thrift_spec = spec({1: ("bitWidth", I8), 2: ("isSigned", BOOL)})


class VariantType(Struct):
    thrift_spec = spec({1: ("specification_version", I8)})


class GeoType(Struct):
    """GeometryType, and GeographyType with an algorithm."""

    thrift_spec = spec({1: ("crs", BINARY), 2: ("algorithm", I32)})


class LogicalTypeUnion(Struct):
    thrift_spec = spec(
        {
            1: ("STRING", EMPTY),
            2: ("MAP", EMPTY),
            3: ("LIST", EMPTY),
            4: ("ENUM", EMPTY),
            5: ("DECIMAL", struct_of(DecimalType)),
            6: ("DATE", EMPTY),
            7: ("TIME", struct_of(TimeType)),
            8: ("TIMESTAMP", struct_of(TimeType)),
            10: ("INTEGER", struct_of(IntType)),
            11: ("UNKNOWN", EMPTY),
            12: ("JSON", EMPTY),
            13: ("BSON", EMPTY),
            14: ("UUID", EMPTY),
            15: ("FLOAT16", EMPTY),
            16: ("VARIANT", struct_of(VariantType)),
            17: ("GEOMETRY", struct_of(GeoType)),
            18: ("GEOGRAPHY", struct_of(GeoType)),
        }
    )


class SchemaElement(Struct):
    thrift_spec = spec(
        {
            1: ("type", I32),
            2: ("type_length", I32),
            3: ("repetition_type", I32),
            4: ("name", BINARY),
            5: ("num_children", I32),
            6: ("converted_type", I32),
            7: ("scale", I32),
            8: ("precision", I32),
            9: ("field_id", I32),
            10: ("logicalType", struct_of(LogicalTypeUnion)),
        }
    )


class KeyValue(Struct):
    thrift_spec = spec({1: ("key", BINARY), 2: ("value", BINARY)})


class ColumnOrder(Struct):
    thrift_spec = spec({1: ("TYPE_ORDER", EMPTY), 2: ("IEEE754_TOTAL_ORDER", EMPTY)})


class SortingColumn(Struct):
    thrift_spec = spec({1: ("column_idx", I32), 2: ("descending", BOOL), 3: ("nulls_first", BOOL)})


class Statistics(Struct):
    thrift_spec = spec(
        {
            1: ("max", BINARY),
            2: ("min", BINARY),
            3: ("null_count", I64),
            4: ("distinct_count", I64),
            5: ("max_value", BINARY),
            6: ("min_value", BINARY),
            7: ("is_max_value_exact", BOOL),
            8: ("is_min_value_exact", BOOL),
            9: ("nan_count", I64),
        }
    )


class PageEncodingStats(Struct):
    thrift_spec = spec({1: ("page_type", I32), 2: ("encoding", I32), 3: ("count", I32)})


class SizeStatistics(Struct):
    thrift_spec = spec(
        {
            1: ("unencoded_byte_array_data_bytes", I64),
            2: ("repetition_level_histogram", list_of(I64)),
            3: ("definition_level_histogram", list_of(I64)),
        }
    )


class BoundingBox(Struct):
    thrift_spec = spec(
        {
            1: ("xmin", DOUBLE),
            2: ("xmax", DOUBLE),
            3: ("ymin", DOUBLE),
            4: ("ymax", DOUBLE),
            5: ("zmin", DOUBLE),
            6: ("zmax", DOUBLE),
            7: ("mmin", DOUBLE),
            8: ("mmax", DOUBLE),
        }
    )


class GeospatialStatistics(Struct):
    thrift_spec = spec({1: ("bbox", struct_of(BoundingBox)), 2: ("geospatial_types", list_of(I32))})


class ColumnMetaData(Struct):
    thrift_spec = spec(
        {
            1: ("type", I32),
            2: ("encodings", list_of(I32)),
            3: ("path_in_schema", list_of(BINARY)),
            4: ("codec", I32),
            5: ("num_values", I64),
            6: ("total_uncompressed_size", I64),
            7: ("total_compressed_size", I64),
            8: ("key_value_metadata", list_of(struct_of(KeyValue))),
            9: ("data_page_offset", I64),
            10: ("index_page_offset", I64),
            11: ("dictionary_page_offset", I64),
            12: ("statistics", struct_of(Statistics)),
            13: ("encoding_stats", list_of(struct_of(PageEncodingStats))),
            14: ("bloom_filter_offset", I64),
            15: ("bloom_filter_length", I32),
            16: ("size_statistics", struct_of(SizeStatistics)),
            17: ("geospatial_statistics", struct_of(GeospatialStatistics)),
        }
    )


class ColumnChunk(Struct):
    thrift_spec = spec(
        {
            1: ("file_path", BINARY),
            2: ("file_offset", I64),
            3: ("meta_data", struct_of(ColumnMetaData)),
            4: ("offset_index_offset", I64),
            5: ("offset_index_length", I32),
            6: ("column_index_offset", I64),
            7: ("column_index_length", I32),
        }
    )


class PageLocation(Struct):
    thrift_spec = spec({1: ("offset", I64), 2: ("compressed_page_size", I32), 3: ("first_row_index", I64)})


class OffsetIndex(Struct):
    thrift_spec = spec(
        {1: ("page_locations", list_of(struct_of(PageLocation))), 2: ("unencoded_byte_array_data_bytes", list_of(I64))}
    )


class ColumnIndex(Struct):
    thrift_spec = spec(
        {
            1: ("null_pages", list_of(BOOL)),
            2: ("min_values", list_of(BINARY)),
            3: ("max_values", list_of(BINARY)),
            4: ("boundary_order", I32),
            5: ("null_counts", list_of(I64)),
            6: ("repetition_level_histograms", list_of(I64)),
            7: ("definition_level_histograms", list_of(I64)),
            8: ("nan_counts", list_of(I64)),
        }
    )


class BloomAlgorithm(Struct):
    thrift_spec = spec({1: ("BLOCK", EMPTY)})


class BloomHash(Struct):
    thrift_spec = spec({1: ("XXHASH", EMPTY)})


class BloomCompression(Struct):
    thrift_spec = spec({1: ("UNCOMPRESSED", EMPTY)})


class BloomFilterHeader(Struct):
    thrift_spec = spec(
        {
            1: ("num_bytes", I32),
            2: ("algorithm", struct_of(BloomAlgorithm)),
            3: ("hash", struct_of(BloomHash)),
            4: ("compression", struct_of(BloomCompression)),
        }
    )


S = TypeVar("S", bound=Struct)


def struct_length(raw: bytes) -> int:
    """Bytes of the struct at the start of `raw`, or a negative kernel status."""
    import hardwood_jit.jit.kernel_cache  # noqa: F401  names the disk cache before a kernel loads
    from hardwood_jit.kernels.skim import skip_struct

    return int(skip_struct(as_kernel_bytes(raw), 0, len(raw))) if raw else TRUNCATED


def decode(cls: type[S], raw: bytes, walked: bool = False) -> S:
    """The struct at the start of `raw`.

    The decoder of `thrift` limits neither depth nor list lengths, so `skip_struct` goes over the bytes before it;
    `walked` says that a kernel already has.
    """
    if not walked and struct_length(raw) < 0:
        raise CorruptFileError(f"{cls.__name__} is not a well-formed Thrift structure")
    found = cls()
    try:
        found.read(TCompactProtocolAccelerated(TMemoryBuffer(raw), fallback=True))
    except Exception as error:  # thrift raises whatever its decoder meets: EOFError, OverflowError, TypeError, ...
        raise CorruptFileError(f"{cls.__name__} is not a well-formed Thrift structure: {error}") from error
    return found


_LISTS: dict[type[Struct], type[Struct]] = {}


def decode_list(cls: type[S], raw: bytes) -> list[S]:
    """The list of structs that `raw` holds, its list header included; a kernel has walked it."""
    holder = _LISTS.get(cls)
    if holder is None:
        holder = type(f"{cls.__name__}List", (Struct,), {"thrift_spec": spec({1: ("items", list_of(struct_of(cls)))})})
        _LISTS[cls] = holder
    # A list stands alone nowhere in Thrift: make it field 1 of a struct.
    items = decode(holder, b"\x19" + raw + b"\x00", walked=True).items
    return [] if items is None else list(items)
