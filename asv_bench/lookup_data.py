"""The tables of the look-ups, and their keys: ids behind bloom filters, many small row groups, many small files."""

from __future__ import annotations

import datetime
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from weblog import scattered_id

EVENT_ROWS, EVENT_GROUPS = 2_000_000, 100
EVENT_COLUMNS = ("id", "account", "amount", "day", "kind", "note")
GROUPS, GROUP_ROWS, GROUP_COLUMNS = 1_000, 10, 100
FILES, FILE_ROWS = 1_000, 200
FILE_COLUMNS = ("reading_id", "station", "taken", "celsius", "remark")
KEY_STEP = 100  # of the keys of one row group to those of the next; rows take the first of them


def event_id(number: int) -> str:
    """The id of an event: 36 characters as a UUID has them, the same every time and in no order."""
    return _event_ids(np.array([number]))[0]


def _event_ids(numbers: np.ndarray) -> list[str]:
    first, second = scattered_id(2 * numbers).tolist(), scattered_id(2 * numbers + 1).tolist()
    texts = (f"{one:016x}{two:016x}" for one, two in zip(first, second, strict=True))
    return [f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}" for text in texts]


def event_rows(scale: float) -> int:
    return max(20_000, int(EVENT_ROWS * scale))


def write_events(target: Path, scale: float) -> None:
    """Rows under ids in no order, a bloom filter of the ids in every row group, and a page index."""
    rows = event_rows(scale)
    random = np.random.default_rng(21)
    amounts = random.integers(1, 10_000_00, rows)
    words = np.array(["late", "lost", "parcel", "letter", "gate", "storm", "north", "relay"])
    table = pa.table(
        {
            "id": pa.array(_event_ids(np.arange(rows))),
            "account": pa.array(random.integers(1, 50_000, rows)),
            "amount": pa.array(amounts / 100),
            "day": pa.array(random.integers(19_000, 20_000, rows).astype(np.int32), pa.date32()),
            "kind": pa.array(np.array(["order", "refund", "gift"])[random.integers(0, 3, rows)]),
            "note": pa.array([" ".join(row) for row in words[random.integers(0, len(words), (rows, 3))]]),
        }
    )
    group_rows = rows // EVENT_GROUPS
    pq.write_table(
        table,
        target,
        row_group_size=group_rows,
        use_dictionary=["account", "day", "kind", "note"],
        bloom_filter_options={"id": {"ndv": group_rows, "fpp": 0.01}},
        write_page_index=True,
        store_schema=False,
    )


def group_count(scale: float) -> int:
    return max(50, int(GROUPS * scale))


def write_groups(target: Path, scale: float) -> None:
    """A hundred columns in row groups of a few rows; the keys of `key` leave gaps between the row groups."""
    groups = group_count(scale)
    rows = groups * GROUP_ROWS
    random = np.random.default_rng(22)
    kinds = (
        lambda: pa.array(random.integers(0, 1 << 40, rows)),
        lambda: pa.array(random.normal(size=rows)),
        lambda: pa.array([f"text {number}" for number in random.integers(0, 1000, rows)]),
        lambda: pa.array(random.integers(0, 1000, rows).astype(np.int32)),
    )
    number = np.arange(rows)
    columns = {"key": pa.array(number // GROUP_ROWS * KEY_STEP + number % GROUP_ROWS)}
    columns |= {f"column_{place:03}": kinds[place % len(kinds)]() for place in range(1, GROUP_COLUMNS)}
    pq.write_table(pa.table(columns), target, row_group_size=GROUP_ROWS, store_schema=False)


def missing_key(scale: float) -> int:
    """Between the keys of two row groups in the middle: no row group has a range with it."""
    return group_count(scale) // 2 * KEY_STEP + KEY_STEP // 2


def file_count(scale: float) -> int:
    return max(20, int(FILES * scale))


def write_files(target: Path, scale: float) -> None:
    """A directory of small files, each with the readings of one day, their numbers rising from file to file."""
    target.mkdir()
    random = np.random.default_rng(23)
    first_day = datetime.datetime(2023, 1, 1)
    for number in range(file_count(scale)):
        start = first_day + datetime.timedelta(days=number)
        seconds = np.sort(random.integers(0, 86_400, FILE_ROWS)).tolist()
        table = pa.table(
            {
                "reading_id": pa.array(np.arange(FILE_ROWS) + number * FILE_ROWS),
                "station": pa.array([f"station {place}" for place in random.integers(0, 40, FILE_ROWS)]),
                "taken": pa.array([start + datetime.timedelta(seconds=second) for second in seconds]),
                "celsius": pa.array(random.normal(9, 8, FILE_ROWS)),
                "remark": pa.array(["calm" if wind < 5 else None for wind in random.integers(0, 6, FILE_ROWS)]),
            }
        )
        pq.write_table(table, target / f"readings-{number:05}.parquet", store_schema=False)


def one_reading(scale: float) -> int:
    """A reading of a file in the middle."""
    return file_count(scale) // 2 * FILE_ROWS + FILE_ROWS // 3
