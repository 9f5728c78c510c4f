"""Every type: equal to Spark's own reader where it has the type, the documented nearest one where it refuses."""

from __future__ import annotations

import datetime as dt
import math
import uuid
from collections import Counter
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import hardwood_jit as hw
from hardwood_jit import UnsupportedError, col
from hardwood_jit import spark as hw_spark
from hardwood_jit.spark.spark_types import SPARK, spark_schema
from hardwood_jit.types import TYPES, type_of
from tests.export.footers import empty_file
from tests.test_types import SAMPLES

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

DAY = dt.date(2024, 2, 29)
MOMENT = dt.datetime(2024, 2, 29, 12, 34, 56, 789123)
UTC = dt.UTC
ROWS = 203  # three 64-bit words and a tail


def bag(frame: DataFrame) -> Counter[str]:
    return Counter(map(repr, frame.collect()))


def same_as_spark(spark: SparkSession, path: Path, where: str | None = None) -> DataFrame:
    """Our DataFrame, after a comparison of schema and rows with spark.read.parquet."""
    ours = hw_spark.read(spark, path, filter=where)
    native = spark.read.parquet(str(path))
    if where is not None:
        native = native.filter(where)
    assert ours.schema == native.schema
    expected = bag(native)
    assert bag(ours) == expected
    assert expected.total() > 0
    return ours


def with_nulls(make: Any) -> list[Any]:
    return [None if i % 5 == 0 else make(i) for i in range(ROWS)]


def all_types() -> pa.Table:
    """What pyarrow writes and Spark reads."""
    arrays = {
        "id": pa.array(range(ROWS), pa.int32()),
        "flag": pa.array(with_nulls(lambda i: i % 2 == 0)),
        "i8": pa.array(with_nulls(lambda i: i - 100), pa.int8()) if ROWS < 228 else None,
        "i16": pa.array(with_nulls(lambda i: -i * 150), pa.int16()),
        "i64": pa.array(with_nulls(lambda i: i << 40), pa.int64()),
        "u8": pa.array(with_nulls(lambda i: i), pa.uint8()),
        "u16": pa.array(with_nulls(lambda i: 65535 - i), pa.uint16()),
        "u32": pa.array(with_nulls(lambda i: 2**32 - 1 - i), pa.uint32()),
        "u64": pa.array(with_nulls(lambda i: 2**64 - 1 - i), pa.uint64()),
        "f32": pa.array(with_nulls(lambda i: [math.nan, -0.0, 0.0, math.inf, i / 3][i % 5]), pa.float32()),
        "f64": pa.array(with_nulls(lambda i: [math.nan, -0.0, 0.0, -math.inf, i / 3][i % 5]), pa.float64()),
        "d9": pa.array(with_nulls(lambda i: Decimal(i).scaleb(-2)), pa.decimal128(9, 2)),
        "d18": pa.array(with_nulls(lambda i: Decimal(-i).scaleb(-6)), pa.decimal128(18, 6)),
        "d38": pa.array(with_nulls(lambda i: Decimal(10**37 + i).scaleb(-10)), pa.decimal128(38, 10)),
        "day": pa.array(with_nulls(lambda i: DAY + dt.timedelta(i))),
        "ms": pa.array(with_nulls(lambda i: 1_000_003 * i), pa.timestamp("ms")),
        "us": pa.array(with_nulls(lambda i: -1_000_000_003 * i), pa.timestamp("us")),
        "ms_utc": pa.array(with_nulls(lambda i: -1_000_003 * i), pa.timestamp("ms", "UTC")),
        "us_utc": pa.array(with_nulls(lambda i: 1_700_000_000_000_003 * i % 10**16), pa.timestamp("us", "UTC")),
        "text": pa.array(with_nulls(lambda i: "é" * (i % 7))),
        "bytes": pa.array(with_nulls(lambda i: bytes([i % 256] * (i % 5))), pa.binary()),
        "fixed": pa.array(with_nulls(lambda i: bytes([i % 256] * 3)), pa.binary(3)),
        "nothing": pa.nulls(ROWS),
        "list": pa.array(with_nulls(lambda i: with_nulls(str)[: i % 4]), pa.list_(pa.string())),
        "lists": pa.array(with_nulls(lambda i: [[i], None, []]), pa.list_(pa.list_(pa.uint16()))),
        "map": pa.array(with_nulls(lambda i: [(f"k{i}", i), ("none", None)]), pa.map_(pa.string(), pa.int64())),
        "struct": pa.array(
            with_nulls(lambda i: {"a": i, "b": None if i % 3 else {"c": str(i), "when": MOMENT.replace(tzinfo=UTC)}}),
            pa.struct({"a": pa.uint32(), "b": pa.struct({"c": pa.string(), "when": pa.timestamp("ms", "UTC")})}),
        ),
        "structs": pa.array(
            with_nulls(lambda i: [{"x": i, "y": [Decimal(i)]}, {"x": None, "y": None}, None]),
            pa.list_(pa.struct({"x": pa.int16(), "y": pa.list_(pa.decimal128(5, 0))})),
        ),
    }
    return pa.table(arrays)


@pytest.mark.parametrize("settings", [{}, {"use_dictionary": False, "data_page_version": "2.0"}], ids=["v1", "v2"])
def test_files_of_pyarrow(spark: SparkSession, tmp_path: Path, settings: dict[str, Any]) -> None:
    path = tmp_path / "all.parquet"
    pq.write_table(all_types(), path, row_group_size=64, store_schema=False, **settings)
    same_as_spark(spark, path)
    same_as_spark(spark, path, "id >= 60 and id < 130 and not text is null")


def test_files_of_spark(spark: SparkSession, tmp_path: Path) -> None:
    source = tmp_path / "all.parquet"
    pq.write_table(all_types(), source, store_schema=False)
    for kind in ("INT96", "TIMESTAMP_MILLIS"):
        spark.conf.set("spark.sql.parquet.outputTimestampType", kind)
        try:
            spark.read.parquet(str(source)).repartition(3).write.parquet(str(tmp_path / kind))
        finally:
            spark.conf.unset("spark.sql.parquet.outputTimestampType")
        same_as_spark(spark, tmp_path / kind, "i64 > 10")
    spark.conf.set("spark.sql.parquet.writeLegacyFormat", "true")  # lists and decimals as before Parquet 2
    try:
        spark.read.parquet(str(source)).write.parquet(str(tmp_path / "legacy"))
    finally:
        spark.conf.unset("spark.sql.parquet.writeLegacyFormat")
    same_as_spark(spark, tmp_path / "legacy")


def test_files_of_duckdb(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "duck.parquet"
    duckdb.sql(
        f"""copy (
            select i::integer as id, i::utinyint as small, i * 1.5 as x, (i / 100)::decimal(10, 3) as price,
                   'text ' || i as words, date '2024-01-01' + i::integer as day,
                   timestamp '2024-01-01 00:00:00' + interval (i) minute as moment,
                   timestamptz '2024-01-01 00:00:00+00' + interval (i) minute as instant,
                   [i, null, i + 1] as numbers, {{'a': i, 'b': 'x'}} as pair, map {{'k': i}} as m,
                   case when i % 3 = 0 then null else i end as holes
            from range(200) t(i)
        ) to '{path}' (format parquet, row_group_size 64)"""
    )
    same_as_spark(spark, path)
    same_as_spark(spark, path, "price > 1.25 and not holes is null")


FILTERS = [
    "i8 > 10",
    "u8 >= 200",
    "u32 < 4294967200",
    "f64 < 10.5 and f64 > -1.0",
    "d9 > 1.50",
    "d38 is null",
    "text in ('é', 'ééé')",
    "flag = true and i16 <= -9000",
    "day >= date('2024-05-01')",
    "us_utc > timestamp('1970-06-01T00:00:00Z')",
    "struct.a > 40",
    "not (id < 100 or text is null)",
]


def test_filters_select_what_sparks_own_select(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "all.parquet"
    pq.write_table(all_types(), path, row_group_size=64, store_schema=False)
    native = (
        spark.read.parquet(str(path))
        .select("id", "i8", "u8", "u32", "f64", "d9", "d38", "text", "flag", "i16", "day", "us_utc", "struct")
        .cache()
    )
    for text in FILTERS:
        expected = sorted(row[0] for row in native.filter(text).select("id").collect())
        found = hw_spark.read(spark, path, columns=["id"], filter=text)
        assert sorted(row[0] for row in found.collect()) == expected, text
        assert 0 < len(expected) < ROWS, text


def test_nan_is_ordered_as_in_spark_and_zeros_are_not(spark: SparkSession, tmp_path: Path) -> None:
    """In both NaN equals NaN and is larger than all numbers; -0.0 is less than 0.0 here and equal to it in Spark."""
    path = tmp_path / "nan.parquet"
    pq.write_table(pa.table({"id": range(5), "x": [math.nan, 1.0, -0.0, 0.0, math.inf]}), path)
    # Computed, so that Spark does not push the comparison into Parquet's statistics, which know no NaN.
    native = spark.read.parquet(str(path)).selectExpr("id", "x + 0D as x")

    def both(where: str, in_spark: str = "") -> tuple[list[int], list[int]]:
        ours = hw_spark.read(spark, path, columns=["id"], filter=where)
        rows = native.filter(in_spark or where)
        return sorted(row[0] for row in ours.collect()), sorted(row[0] for row in rows.collect())

    assert both("x > 0.5") == ([0, 1, 4], [0, 1, 4])
    assert both("x = nan", "x = double('nan')") == ([0], [0])
    assert both("x != 1.0") == ([0, 2, 3, 4], [0, 2, 3, 4])
    # Bits decide here; ask for both zeros to get Spark's answer.
    assert both("x = 0.0") == ([3], [2, 3])
    assert both("x = -0.0", "x = double('-0.0')") == ([2], [2, 3])
    assert both("x >= 0.0") == ([0, 1, 3, 4], [0, 1, 2, 3, 4])
    assert both("x between -0.0 and 0.0", "x = 0.0") == ([2, 3], [2, 3])
    assert both("x >= -0.0", "x >= 0.0") == ([0, 1, 2, 3, 4], [0, 1, 2, 3, 4])


def values_of(spark: SparkSession, tmp_path: Path, array: pa.Array) -> tuple[str, list[Any]]:
    path = tmp_path / f"{uuid.uuid4().hex}.parquet"
    pq.write_table(pa.table({"c": array}), path, store_schema=False)
    with pytest.raises(Exception, match=r"PARQUET_TYPE_ILLEGAL|UNSUPPORTED_TIME_TYPE|DECIMAL_PRECISION_EXCEEDS"):
        spark.read.parquet(str(path)).collect()
    frame = hw_spark.read(spark, path)
    return frame.schema.simpleString(), [row[0] for row in frame.collect()]


def test_types_that_sparks_own_reader_refuses(spark: SparkSession, tmp_path: Path) -> None:
    half = pa.array(np.array([1.5, -2.0], np.float16))
    assert values_of(spark, tmp_path, half) == ("struct<c:float>", [1.5, -2.0])
    for unit, kind in (("ms", pa.time32), ("us", pa.time64), ("ns", pa.time64)):
        assert values_of(spark, tmp_path, pa.array([1, 86_000, None], kind(unit))) == (
            "struct<c:bigint>",
            [1, 86_000, None],
        )
    local = pa.array([1999, -1, None], pa.timestamp("ns"))
    assert values_of(spark, tmp_path, local) == (
        "struct<c:timestamp_ntz>",
        [dt.datetime(1970, 1, 1, 0, 0, 0, 1), dt.datetime(1969, 12, 31, 23, 59, 59, 999999), None],
    )
    kind, (moment,) = values_of(spark, tmp_path, pa.array([1_700_000_000_000_001_999], pa.timestamp("ns", "UTC")))
    assert kind == "struct<c:timestamp>"
    assert moment.timestamp() == pytest.approx(1_700_000_000.000001, abs=1e-9)
    key = uuid.UUID("00112233-4455-6677-8899-aabbccddeeff")
    assert values_of(spark, tmp_path, pa.array([key.bytes, None], pa.uuid())) == ("struct<c:string>", [str(key), None])
    wide = pa.array([Decimal("123456789012345678901234567890123456789.25"), None], pa.decimal256(50, 2))
    assert values_of(spark, tmp_path, wide) == (
        "struct<c:string>",
        ["123456789012345678901234567890123456789.25", None],
    )


def test_a_timestamp_beyond_microseconds_is_refused_by_name(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "far.parquet"
    pq.write_table(pa.table({"far": pa.array([2**62], pa.timestamp("ms"))}), path, coerce_timestamps=None)
    with pytest.raises(Exception, match=r"far\.parquet: column 'far': .*Spark's timestamp_ntz has no such value"):
        hw_spark.read(spark, path).collect()


def test_the_table_of_types_says_what_spark_gets() -> None:
    for row in TYPES:
        if not row.physical:
            continue
        element, _ = SAMPLES[row.name]
        leaf = hw.open(empty_file([element])).schema.leaves[0]
        assert type_of(leaf) is row
        found = spark_schema(hw.open(empty_file([element])).schema)[0].dataType
        if row.name == "UNKNOWN":
            assert type(found).__name__ == "IntegerType"  # stored as INT32
        elif row.name.startswith("DECIMAL(p <= 38"):
            assert found.simpleString() == "decimal(15,2)"
        else:
            assert found == named_type(row.spark)
            assert row.name in SPARK


def named_type(text: str) -> Any:
    import pyspark.sql.types as st

    name, _, arguments = text.partition("(")
    numbers = [int(number) for number in arguments.rstrip(")").split(",") if number]
    return getattr(st, name)(*numbers)


def test_a_type_that_spark_does_not_have_is_refused_by_name() -> None:
    from hardwood_jit.spark import spark_types

    leaf = hw.open(empty_file([SAMPLES["FLOAT16"][0]])).schema.leaves[0]
    with pytest.MonkeyPatch.context() as patch:
        patch.delitem(spark_types.SPARK, "FLOAT16")
        with pytest.raises(UnsupportedError, match="column 'c': Spark has no type for FLOAT16"):
            spark_types._leaf(leaf)


def test_predicates_reach_the_format_as_text(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "quoted.parquet"
    pq.write_table(pa.table({"a name, with 'signs'": [1, 2, 3], "when": [DAY, None, DAY]}), path)
    odd = col(("a name, with 'signs'",))
    found = hw_spark.read(spark, path, columns=[("a name, with 'signs'",)], filter=(odd > 1) & (col("when") == DAY))
    assert [row[0] for row in found.collect()] == [3]
