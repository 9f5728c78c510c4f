"""The works that engines are compared on: which data, which rows and columns, in which form, against whom."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from dataclasses import dataclass, replace
from decimal import Decimal

import lookup_data
import weblog
from datasets import LINEITEM, NUMERIC, STRINGS
from filters import Filter

OURS = "hardwood_jit"
FLOOR = "decompression"  # not an opponent: the pages of a work decompressed, and nothing done with them
OPPONENTS = ("pyarrow", "polars", "duckdb", "datafusion")
# Datafusion filters after decoding unless told to push filters into the scan; each is the faster one of some works.
FILTER_OPPONENTS = (*OPPONENTS, "datafusion_pushdown")


@dataclass(frozen=True)
class Work:
    """One measured task. `bar` is the ratio ours / best opponent that it must not exceed."""

    title: str
    dataset: str
    columns: tuple[str, ...] = ()
    form: str = "contiguous"  # "view": string views out; "footer": metadata only; "count": the number of rows only
    opponents: tuple[str, ...] = OPPONENTS
    repeats: int = 1  # runs inside one measurement, the best counts; for works of a few milliseconds
    bar: float = 1.0
    filter: Filter = ()
    key: Callable[[float], Filter] | None = None  # the filter where it depends on the scale of the data
    # "warm": whatever an engine keeps between scans of the same files, it keeps; "cold": nothing is kept.
    footer: str = ""
    wanted: float = 1.0  # how many times as fast as the best opponent we want to be

    def at(self, scale: float) -> Work:
        """The work with the filter for data of that scale."""
        return self if self.key is None else replace(self, filter=self.key(scale))


def _filtered(title: str, dataset: str, filter: Filter, columns: tuple[str, ...]) -> Work:
    return Work(title, dataset, columns, opponents=FILTER_OPPONENTS, filter=filter)


FULL_WORKS = {
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

# Over the whole range of scale factor 1, two of them in that of 0.01; their rows are anywhere in the table.
PART_KEYS = (155_190, 106_170, 67_310, 63_700, 24_027, 15_635, 1_552, 674)
RARE_VISITOR = int(weblog.scattered_id(6_000))  # a visitor of middling zeal: some fifty hits in four million

FILTERED_WORKS = {
    "q6": _filtered(
        "lineitem: the Q6 filter → 2 columns",
        "lineitem",
        (
            ("l_shipdate", ">=", datetime.date(1994, 1, 1)),
            ("l_shipdate", "<", datetime.date(1995, 1, 1)),
            ("l_discount", ">=", Decimal("0.05")),
            ("l_discount", "<=", Decimal("0.07")),
            ("l_quantity", "<", Decimal("24.00")),
        ),
        ("l_extendedprice", "l_discount"),
    ),
    "ship_air": _filtered(
        "lineitem: ship mode AIR → key, comment",
        "lineitem",
        (("l_shipmode", "==", "AIR"),),
        ("l_orderkey", "l_comment"),
    ),
    "part_keys": _filtered(
        "lineitem: 8 part keys → 16 columns", "lineitem", (("l_partkey", "in", PART_KEYS),), LINEITEM
    ),
    "two_strings": _filtered(
        "lineitem: ship mode and return flag → price",
        "lineitem",
        (("l_shipmode", "==", "MAIL"), ("l_returnflag", "==", "R")),
        ("l_extendedprice",),
    ),
    "quantity": _filtered(
        "lineitem: quantity > 25 → 5 columns",
        "lineitem",
        (("l_quantity", ">", Decimal("25.00")),),
        ("l_orderkey", "l_partkey", "l_quantity", "l_extendedprice", "l_shipdate"),
    ),
    "rare": _filtered(
        "web log: one visitor → 3 columns",
        "weblog",
        (("visitor_id", "==", RARE_VISITOR),),
        ("event_time", "visitor_id", "url"),
    ),
    "phrase": _filtered(
        "web log: non-empty phrase → 3 columns",
        "weblog",
        (("search_phrase", "!=", ""),),
        ("search_phrase", "visitor_id", "site_id"),
    ),
    "conjunction": _filtered(
        "web log: robots' missing pages in German → 30 columns",
        "weblog",
        (("status", "==", 404), ("is_robot", "==", True), ("language", "==", "de")),
        weblog.COLUMNS,
    ),
    "dates": _filtered(
        "web log: a week of one site, four conjuncts → url",
        "weblog",
        (
            ("event_date", ">=", datetime.date(2024, 7, 8)),
            ("event_date", "<=", datetime.date(2024, 7, 14)),
            ("site_id", "==", 5),
            ("is_refresh", "==", False),
            ("url", "!=", ""),
        ),
        ("url",),
    ),
    "nulls": _filtered(
        "web log: null test and range → 3 columns",
        "weblog",
        (("render_ms", "is null", None), ("duration_ms", ">=", 1_000), ("duration_ms", "<", 2_000)),
        ("event_time", "site_id", "duration_ms"),
    ),
}

# The same on files whose pages carry checksums.
CHECKSUM_WORKS = {
    f"{name}_crc": replace(work, title=f"{work.title}, checksums", dataset=f"{work.dataset}_crc")
    for name, work in FILTERED_WORKS.items()
}


def _order(scale: float) -> int:
    """The key of an order in the middle of lineitem. Of every 32 keys TPC-H uses the first eight."""
    return 32 * int(93_750 * scale)


_LOOKUPS = {
    "order": Work(
        "lineitem: one order → 16 columns",
        "lineitem",
        LINEITEM,
        key=lambda scale: (("l_orderkey", "==", _order(scale)),),
    ),
    "no_order": Work(
        "lineitem: an order that does not exist → 16 columns",
        "lineitem",
        LINEITEM,
        key=lambda scale: (("l_orderkey", "==", _order(scale) + 8),),
    ),
    "bloom": Work(
        "100 row groups with bloom filters: one random id → 6 columns",
        "events",
        lookup_data.EVENT_COLUMNS,
        key=lambda scale: (("id", "==", lookup_data.event_id(lookup_data.event_rows(scale) // 2)),),
    ),
    "no_group": Work(
        "1 000 row groups x 100 columns: count of what none has",
        "many_groups",
        form="count",
        key=lambda scale: (("key", "==", lookup_data.missing_key(scale)),),
    ),
    "one_file": Work(
        "1 000 small files: one reading → 5 columns",
        "many_files",
        lookup_data.FILE_COLUMNS,
        repeats=3,
        key=lambda scale: (("reading_id", "==", lookup_data.one_reading(scale)),),
    ),
    "all_files": Work("1 000 small files: everything", "many_files", lookup_data.FILE_COLUMNS, repeats=2),
}
# Reading everything is no look-up: there it is enough not to be slower.
LOOKUP_WORKS = {
    f"{name}_{footer}": replace(
        work,
        title=f"{work.title}, {footer} footer{'s' if work.dataset == 'many_files' else ''}",
        opponents=FILTER_OPPONENTS if work.key else OPPONENTS,
        repeats=work.repeats if work.repeats > 1 else 10,
        footer=footer,
        wanted=1.5 if footer == "warm" and work.key else 1.0,
    )
    for name, work in _LOOKUPS.items()
    for footer in ("warm", "cold")
}

WORKS = {**FULL_WORKS, **FILTERED_WORKS, **CHECKSUM_WORKS, **LOOKUP_WORKS}
