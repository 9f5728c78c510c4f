"""The works that engines are compared on: which data, which columns, in which form, against whom."""

from __future__ import annotations

from dataclasses import dataclass

from datasets import NUMERIC, STRINGS

OURS = "hardwood_jit"
OPPONENTS = ("pyarrow", "polars", "duckdb", "datafusion")


@dataclass(frozen=True)
class Work:
    """One measured task. `bar` is the ratio ours / best opponent that it must not exceed."""

    title: str
    dataset: str
    columns: tuple[str, ...] = ()
    form: str = "contiguous"  # "view": string views out; "footer": metadata only
    opponents: tuple[str, ...] = OPPONENTS
    repeats: int = 1  # runs inside one measurement, the best counts; for works of a few milliseconds
    bar: float = 1.0


WORKS = {
    "numeric": Work("9 numeric columns", "lineitem", NUMERIC),
    "numeric_nullable": Work("9 numeric columns, 5 % null", "lineitem_nullable", NUMERIC),
    "numeric_large_pages": Work("9 numeric columns, 1 MB pages", "lineitem_large_pages", NUMERIC),
    "numeric_v2": Work("9 numeric columns, V2 pages", "lineitem_v2", NUMERIC),
    "numeric_zstd": Work("9 numeric columns, zstd", "lineitem_zstd", NUMERIC),
    "numeric_delta": Work("9 numeric columns, DELTA_BINARY_PACKED", "lineitem_delta", NUMERIC),
    "numeric_split": Work("9 numeric columns, BYTE_STREAM_SPLIT", "lineitem_byte_stream_split", NUMERIC),
    "strings": Work("4 string columns, contiguous", "lineitem", STRINGS),
    # duckdb and pyarrow cannot be asked for views of a file that does not name them itself.
    "strings_view": Work("4 string columns, views", "lineitem", STRINGS, "view", ("polars", "datafusion")),
    "strings_delta": Work("4 string columns, delta encodings", "lineitem_delta_strings", STRINGS),
    "nested": Work("lists of doubles with nulls", "nested", ("readings",)),
    "footer": Work("footer, 100 columns x 50 row groups", "wide", (), "footer", ("pyarrow",), 20),
}
