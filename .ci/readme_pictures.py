"""Writes the pictures of README: `hardwood pages`, `hardwood explain` and the way of a filter, of data made here.

The same versions of numpy and pyarrow write the same bytes. Run it as `python .ci/readme_pictures.py`, with a pyarrow
whose writer knows `max_rows_per_page` and bloom filters.
"""

from __future__ import annotations

import os
import sys
import tempfile
from contextlib import chdir
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from cascade_picture import write_picture

from hardwood_jit.cli import main as hardwood

FIGURES = Path(__file__).resolve().parent.parent / "asv_bench" / "figures"
FILE = "trips.parquet"
ROWS = 96_000
GROUP_ROWS = 12_000
PAGE_ROWS = 2_000
RIDER = 61_234  # the row whose rider is looked for
# Statistics leave the row groups of these two weeks, the page index some of their pages, bloom filters one group.
WHERE = (
    "started between timestamp('2025-01-27T00:00:00Z') and timestamp('2025-02-09T00:00:00Z') "
    f"and rider = 'r{RIDER * 7919 % 1_000_003:07}'"
)


def write_trips(path: Path) -> None:
    """Eight row groups in order of time: every common encoding, a page index, a bloom filter on the riders."""
    random = np.random.default_rng(11)
    rows = np.arange(ROWS)
    seconds = np.sort(random.integers(0, 60 * 86_400, ROWS))
    started = np.datetime64("2025-01-01", "us") + seconds.astype("timedelta64[s]")
    words = np.array(["airport", "bridge", "closed", "detour", "early", "ferry", "garage", "harbour"])
    picked = words[random.integers(0, len(words), (ROWS, 3))]
    table = pa.table(
        {
            "started": pa.array(started, pa.timestamp("us", "UTC")),
            "rider": pa.array([f"r{row * 7919 % 1_000_003:07}" for row in rows.tolist()]),
            "city": pa.array(np.array(["Aachen", "Bergen", "Córdoba", "Delft", "Évora"])[random.integers(0, 5, ROWS)]),
            "fare": pa.array(random.gamma(2.0, 9.0, ROWS).round(2)),
            "note": pa.array([" ".join(three) for three in picked.tolist()]),
        }
    )
    pq.write_table(
        table,
        path,
        row_group_size=GROUP_ROWS,
        max_rows_per_page=PAGE_ROWS,
        write_page_index=True,
        use_dictionary=["city"],
        column_encoding={
            "started": "DELTA_BINARY_PACKED",
            "rider": "PLAIN",
            "fare": "BYTE_STREAM_SPLIT",
            "note": "DELTA_LENGTH_BYTE_ARRAY",
        },
        bloom_filter_options={"rider": {"ndv": GROUP_ROWS, "fpp": 0.001}},
    )


def main() -> int:
    """Write the file, run the two commands on it, keep their pictures; then that of the filter."""
    FIGURES.mkdir(exist_ok=True)
    write_picture(FIGURES)
    # In the folder of the file, so that the pictures name it and not a temporary folder.
    with tempfile.TemporaryDirectory() as folder, chdir(folder):
        write_trips(Path(FILE))
        sys.stdout.flush()
        commands = (
            ["pages", FILE, "-n", "2"],
            ["explain", FILE, "--where", WHERE, "--columns", "city,fare", "-n", "5"],
        )
        return max(hardwood([*command, "--svg", str(FIGURES / f"{command[0]}.svg")]) for command in commands)


if __name__ == "__main__":
    os.environ["NO_COLOR"] = "1"
    sys.exit(main())
