"""Encodings to the tables of the selectivity grid: two filter columns and twenty payload columns in one encoding.

Both filter columns hold each of 0 … LEVELS - 1 equally often, so that `k < x` keeps x / LEVELS of the rows: anywhere
in `k_scattered`; in one stretch at the start of every row group in `k_clustered`. No statistics are written: what is
measured is the filtering of rows, not the leaving out of row groups.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

ROWS = 1_000_000  # at scale 1
ROW_GROUPS = 4
LEVELS = 10_000  # a survivor in ten thousand is the smallest share asked for
PAYLOAD = tuple(f"payload_{number:02}" for number in range(20))
DISTINCT = 1_000  # of a dictionary column

Random = np.random.Generator
Column = Callable[[Random, int, int], pa.Array]  # random, rows, number of the column


def _distinct_numbers(random: Random, rows: int, number: int) -> pa.Array:
    values = (random.normal(size=DISTINCT), random.integers(0, 1 << 40, DISTINCT), np.arange(DISTINCT, dtype=np.int32))
    return pa.array(values[number % 3][random.integers(0, DISTINCT, rows)], mask=_absent(random, rows, number))


def _numbers(random: Random, rows: int, number: int) -> pa.Array:
    values = (random.normal(size=rows), random.integers(0, 1 << 40, rows), random.integers(0, 1 << 20, rows, np.int32))
    return pa.array(values[number % 3], mask=_absent(random, rows, number))


def _integers(random: Random, rows: int, number: int) -> pa.Array:
    values = (np.cumsum(random.integers(0, 100, rows)), random.integers(0, 1 << 20, rows, np.int32))
    return pa.array(values[number % 2], mask=_absent(random, rows, number))


def _texts(random: Random, rows: int, number: int, distinct: int) -> pa.Array:
    letters = random.integers(ord("a"), ord("z") + 1, distinct * 28, np.uint8).tobytes().decode()
    pool = pa.array([letters[start : start + 4 + start % 25] for start in range(0, distinct * 28, 28)])
    chosen = pool.take(pa.array(random.integers(0, distinct, rows)))
    absent = _absent(random, rows, number)
    return chosen if absent is None else pa.array(chosen.to_numpy(zero_copy_only=False), pa.string(), mask=absent)


def _distinct_texts(random: Random, rows: int, number: int) -> pa.Array:
    return _texts(random, rows, number, DISTINCT)


def _many_texts(random: Random, rows: int, number: int) -> pa.Array:
    return _texts(random, rows, number, 50_000)


def _absent(random: Random, rows: int, number: int) -> np.ndarray | None:
    """Every column is nullable; every fourth has nulls, one value in twenty."""
    return random.random(rows) < 0.05 if number % 4 == 3 else None


ENCODINGS: dict[str, tuple[str, Column]] = {
    "dictionary": ("RLE_DICTIONARY", _distinct_numbers),
    "plain": ("PLAIN", _numbers),
    "delta": ("DELTA_BINARY_PACKED", _integers),
    "byte_stream_split": ("BYTE_STREAM_SPLIT", _numbers),
    "dictionary_strings": ("RLE_DICTIONARY", _distinct_texts),
    "plain_strings": ("PLAIN", _many_texts),
}


def bound(encoding: str, survivors: float) -> int | str:
    """The x of `k < x` that keeps this percentage of the rows; k is text in the files of strings."""
    level = round(survivors / 100 * LEVELS)
    return _level_text(level) if encoding.endswith("strings") else level


def _level_text(level: int) -> str:
    return f"level {level:05}"


def write_grid(target: Path, scale: float, encoding: str) -> None:
    """ROWS x scale rows in ROW_GROUPS row groups, every column in the same encoding."""
    name, make = ENCODINGS[encoding]
    rows = max(LEVELS, int(ROWS * scale))
    group_rows = -(-rows // ROW_GROUPS)
    random = np.random.default_rng(5)
    position = np.arange(rows)
    clustered = position % group_rows * LEVELS // group_rows
    scattered = random.permutation(position * LEVELS // rows)
    columns = {"k_scattered": pa.array(scattered), "k_clustered": pa.array(clustered)}
    if encoding.endswith("strings"):
        levels = pa.array([_level_text(level) for level in range(LEVELS)])
        columns = {key: levels.take(values) for key, values in columns.items()}
    for number, column in enumerate(PAYLOAD):
        columns[column] = make(random, rows, number)
    dictionary = name == "RLE_DICTIONARY"
    pq.write_table(
        pa.table(columns),
        target,
        row_group_size=group_rows,
        compression="snappy",
        use_dictionary=dictionary,
        column_encoding=None if dictionary else dict.fromkeys(columns, name),
        write_statistics=False,
        store_schema=False,
    )
