"""Seed and row count to the web-log table: 30 columns of a made-up site analytics service, in time order.

What makes it unlike lineitem: skewed strings (few pages take most hits, most searches are empty), columns with real
nulls, pages of 1 MB without a row limit, and dictionaries that overflow, so that a chunk continues as PLAIN.
Row groups are made and written one by one, each from its own seed: the first rows do not depend on the row count.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

SEED = 20240701
ROWS = 4_000_000  # at scale 1
ROW_GROUP_ROWS = 500_000
PAGE_BYTES = 1 << 20
NO_ROW_LIMIT = 2**31 - 1
# Small enough that urls, referers, titles and ids overflow in mid-chunk; agents and phrases stay dictionaries.
DICTIONARY_BYTES = 512 << 10

FIRST_INSTANT = np.datetime64("2024-07-01T00:00:00", "us")
LOG_SECONDS = 31 * 86_400
LATENESS_SECONDS = 300.0  # records arrive late by this much on average: the time is nearly sorted, not quite

SITES, VISITORS, PAGES, TITLES, PHRASES, AGENTS = 4_000, 900_000, 400_000, 120_000, 20_000, 2_500

SCHEMA = pa.schema(
    [
        pa.field("event_id", pa.int64(), nullable=False),
        pa.field("event_time", pa.timestamp("us"), nullable=False),
        pa.field("event_date", pa.date32(), nullable=False),
        ("site_id", pa.int32()),
        ("visitor_id", pa.int64()),
        ("session_id", pa.int64()),
        ("url", pa.string()),
        ("referer", pa.string()),
        ("title", pa.string()),
        ("search_phrase", pa.string()),
        ("user_agent", pa.string()),
        ("method", pa.string()),
        ("language", pa.string()),
        ("country", pa.string()),
        ("campaign", pa.string()),
        ("region", pa.int32()),
        ("client_address", pa.int64()),
        ("status", pa.int16()),
        ("browser", pa.int16()),
        ("screen_width", pa.int16()),
        ("screen_height", pa.int16()),
        ("is_mobile", pa.bool_()),
        ("is_refresh", pa.bool_()),
        ("is_robot", pa.bool_()),
        ("hit_number", pa.int32()),
        ("response_bytes", pa.int64()),
        ("duration_ms", pa.int32()),
        ("render_ms", pa.int32()),
        ("scroll_depth", pa.float32()),
        ("order_value", pa.float64()),
    ]
)
COLUMNS = tuple(SCHEMA.names)


def scattered_id(rank: int | np.ndarray) -> np.ndarray:
    """A positive 63-bit number for a rank, the same every time and in no order (the finaliser of splitmix64)."""
    with np.errstate(over="ignore"):
        mixed = np.asarray(rank, np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return ((mixed ^ (mixed >> np.uint64(31))) >> np.uint64(1)).astype(np.int64)


@cache
def _cumulative(count: int, exponent: float) -> np.ndarray:
    weights = np.arange(1, count + 1, dtype=np.float64) ** -exponent
    return np.cumsum(weights) / weights.sum()


def _zipf(random: np.random.Generator, rows: int, count: int, exponent: float) -> np.ndarray:
    """Ranks below `count`, the first ones far more often than the last."""
    return np.searchsorted(_cumulative(count, exponent), random.random(rows)).clip(max=count - 1)


def _joined(*parts: pa.Array | str, separator: str = "") -> pa.Array:
    return pc.binary_join_element_wise(*parts, separator)


def _text(numbers: np.ndarray) -> pa.Array:
    return pa.array(numbers).cast(pa.string())


@dataclass(frozen=True)
class Pools:
    """The distinct texts that rows choose from, the popular ones first."""

    pages: pa.Array
    titles: pa.Array
    phrases: pa.Array
    agents: pa.Array
    sites: pa.Array
    campaigns: pa.Array


def _words(random: np.random.Generator, count: int) -> pa.Array:
    """Words of two to four syllables, one in five with letters of two bytes in UTF-8."""
    plain = ["ba", "co", "di", "fer", "go", "hal", "in", "ka", "lor", "mi", "nu", "pra", "que", "ro", "sta", "te"]
    accented = ["ä", "né", "ção", "ße", "жи", "ша", "ön", "ñu"]
    chosen = random.integers(0, len(plain), (count, 4))
    lengths = random.integers(2, 5, count)
    words = ["".join(plain[part] for part in row[:length]) for row, length in zip(chosen, lengths, strict=True)]
    for number in range(0, count, 5):
        words[number] += accented[number // 5 % len(accented)]
    return pa.array(words)


def _sentences(random: np.random.Generator, words: pa.Array, count: int, most: int, separator: str) -> pa.Array:
    """`count` texts of one to `most` words, common words first."""
    lengths = random.integers(1, most + 1, count)
    columns: list[pa.Array] = []
    for position in range(most):
        word = words.take(pa.array(_zipf(random, count, len(words), 0.7)))
        columns.append(pc.if_else(pa.array(lengths > position), word, pa.scalar(None, pa.string())))
    options = pc.JoinOptions(null_handling="skip")
    return pc.binary_join_element_wise(*columns, separator, options=options)


def _make_pools() -> Pools:
    random = np.random.default_rng(SEED)
    words = _words(random, 3_000)
    site_words = words.take(pa.array(random.integers(0, len(words), SITES)))
    sites = _joined("https://", site_words, _text(np.arange(SITES)), ".example")
    folders = _sentences(random, words, PAGES, 3, "/")
    page_site = pa.array(_zipf(random, PAGES, SITES, 0.9))
    pages = _joined(sites.take(page_site), "/", folders, "/", _text(random.integers(0, 10_000_000, PAGES)), ".html")
    titles = _joined(_sentences(random, words, TITLES, 7, " "), " – ", _text(np.arange(TITLES)))
    systems = pa.array(["X11; Linux x86_64", "Windows NT 10.0; x64", "Macintosh; Mac OS X 10_15", "Linux; Android 14"])
    system = systems.take(pa.array(random.integers(0, len(systems), AGENTS)))
    version = _text(random.integers(60, 140, AGENTS))
    build = _text(random.integers(1000, 9000, AGENTS))
    engine = ") AppleWebKit/537.36 (KHTML, like Gecko) Chrome/"
    agents = _joined("Mozilla/5.0 (", system, engine, version, ".0.", build, ".0 Safari/537.36")
    campaigns = _joined(_sentences(random, words, 300, 2, "-"), "-", _text(np.arange(300)))
    return Pools(pages, titles, _sentences(random, words, PHRASES, 5, " "), agents, sites, campaigns)


def _mostly(random: np.random.Generator, rows: int, share: float, value: str | None, other: pa.Array) -> pa.Array:
    """`value` in this share of the rows, else what `other` has."""
    return pc.if_else(pa.array(random.random(rows) < share), pa.scalar(value, pa.string()), other)


def _choice(random: np.random.Generator, rows: int, texts: list[str], exponent: float) -> pa.Array:
    return pa.array(texts).take(pa.array(_zipf(random, rows, len(texts), exponent)))


def _row_group(pools: Pools, number: int, rows: int, all_rows: int) -> pa.Table:
    """Rows `number * ROW_GROUP_ROWS` and following."""
    random = np.random.default_rng([SEED, number])

    def absent(share: float) -> np.ndarray:
        return random.random(rows) < share

    first = number * ROW_GROUP_ROWS
    passed = (first + np.arange(rows)) / all_rows * LOG_SECONDS - random.exponential(LATENESS_SECONDS, rows)
    instants = FIRST_INSTANT + (passed.clip(min=0) * 1e6).astype(np.int64).astype("timedelta64[us]")
    days = instants.astype("datetime64[D]")
    visitor = _zipf(random, rows, VISITORS, 0.8)
    page = _zipf(random, rows, PAGES, 1.05)
    site = _zipf(random, rows, SITES, 1.1)
    # One hit in eight carries a parameter of its own: urls that never repeat.
    parameter = _joined("?session=", _text(random.integers(0, 1 << 40, rows)))
    url = _joined(pools.pages.take(pa.array(page)), _mostly(random, rows, 0.875, "", parameter))
    outside = _joined("https://search.example/?q=", _text(random.integers(0, 200_000, rows)))
    inside = pools.pages.take(pa.array(_zipf(random, rows, PAGES, 1.05)))
    linked = pc.if_else(pa.array(random.random(rows) < 0.25), outside, inside)
    referer = _mostly(random, rows, 0.08, None, _mostly(random, rows, 0.3, "", linked))
    phrase = pools.phrases.take(pa.array(_zipf(random, rows, PHRASES, 0.9)))
    campaign = pools.campaigns.take(pa.array(_zipf(random, rows, len(pools.campaigns), 1.0)))
    mobile = random.random(rows) < 0.55
    width = np.where(mobile, 390, 1920) + random.integers(-3, 4, rows) * 10
    duration = random.lognormal(5.5, 1.0, rows).clip(max=600_000).astype(np.int32)
    languages = ["en", "de", "fr", "es", "pt", "ru", "zh", "ja", "it", "pl"]
    countries = [a + b for a in "ABCDEFGH" for b in "ELNRSZ"]
    columns: dict[str, object] = {
        "event_id": random.integers(0, 1 << 62, rows),
        "event_time": instants,
        "event_date": days,
        "site_id": (site + 1).astype(np.int32),
        "visitor_id": scattered_id(visitor),
        "session_id": scattered_id(visitor * 31 + (days - days[0]).astype(np.int64) + VISITORS),
        "url": _mostly(random, rows, 0.01, "", url),
        "referer": referer,
        "title": pools.titles.take(pa.array(_zipf(random, rows, TITLES, 0.9))),
        "search_phrase": _mostly(random, rows, 0.87, "", phrase),
        "user_agent": pools.agents.take(pa.array(_zipf(random, rows, AGENTS, 1.0))),
        "method": _choice(random, rows, ["GET", "POST", "HEAD", "PUT", "DELETE"], 3.0),
        "language": _mostly(random, rows, 0.03, None, _choice(random, rows, languages, 1.2)),
        "country": _mostly(random, rows, 0.02, None, _choice(random, rows, countries, 1.0)),
        "campaign": _mostly(random, rows, 0.88, None, campaign),
        "region": _zipf(random, rows, 1_200, 0.9).astype(np.int32),
        "client_address": scattered_id(visitor) & 0xFFFFFFFF,
        "status": random.choice([200, 304, 301, 404, 500, 503], rows, p=[0.9, 0.04, 0.03, 0.02, 0.008, 0.002]),
        "browser": _zipf(random, rows, 40, 1.3),
        "screen_width": pa.array(width, pa.int16(), mask=absent(0.12)),
        "screen_height": pa.array(width * 9 // 16, pa.int16(), mask=absent(0.12)),
        "is_mobile": mobile,
        "is_refresh": random.random(rows) < 0.1,
        "is_robot": pa.array(random.random(rows) < 0.04, mask=absent(0.01)),
        "hit_number": random.geometric(0.15, rows),
        "response_bytes": random.lognormal(9, 1.2, rows).astype(np.int64),
        "duration_ms": duration,
        "render_ms": pa.array(duration + random.integers(20, 900, rows), pa.int32(), mask=absent(0.3)),
        "scroll_depth": pa.array(random.beta(1.5, 2, rows).astype(np.float32), mask=absent(0.4)),
        "order_value": pa.array(np.round(random.lognormal(4, 1, rows), 2), mask=absent(0.96)),
    }
    arrays = []
    for name in COLUMNS:
        values = columns[name]
        arrays.append((values if isinstance(values, pa.Array) else pa.array(values)).cast(SCHEMA.field(name).type))
    return pa.Table.from_arrays(arrays, schema=SCHEMA)


def write_weblog(target: Path, scale: float, *, checksums: bool = False) -> None:
    """ROWS x scale rows; `checksums` adds a CRC to every page and changes nothing else."""
    all_rows = max(1000, int(ROWS * scale))
    pools = _make_pools()
    with pq.ParquetWriter(
        target,
        SCHEMA,
        compression="snappy",
        data_page_size=PAGE_BYTES,
        max_rows_per_page=NO_ROW_LIMIT,
        dictionary_pagesize_limit=DICTIONARY_BYTES,
        store_schema=False,
        write_page_checksum=checksums,
    ) as writer:
        for number in range(-(-all_rows // ROW_GROUP_ROWS)):
            rows = min(ROW_GROUP_ROWS, all_rows - number * ROW_GROUP_ROWS)
            writer.write_table(_row_group(pools, number, rows, all_rows), row_group_size=ROW_GROUP_ROWS)
