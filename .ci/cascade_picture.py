"""Writes figures/cascade.svg, README's picture of how a filter goes through a row group, from a scan that is run here.

Which pages were decompressed follows from the rows and the order in which the scan tested them; the counts of its own
`explain(analyze=True)` must agree, else there is no picture. `python .ci/readme_pictures.py` writes all pictures.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import hardwood_jit as hw

BENCH = Path(__file__).resolve().parent.parent / "asv_bench"
sys.path.insert(0, str(BENCH))

from picture import Picture  # noqa: E402 (a module of the benchmarks, found by the line above)

PAGES, PAGE_ROWS = 16, 1_000
DAYS = (8, 27)  # two days are a page, so that the page index decides about whole pages
BUSY, DELFT = (2, 5, 6, 9, 12, 15), (1, 2, 6, 8, 9, 14)  # pages in which there are high fares; rides in Delft
WHERE = f"day between {DAYS[0]} and {DAYS[1]} and fare > 60 and city = 'Delft'"
FORMS = {"day": "page index", "fare": "PLAIN", "city": "dictionary", "note": "output"}

WIDTH, MARGIN, LABELS, NOTES = 1000, 24, 150, 232
LEFT = MARGIN + LABELS
CELL = (WIDTH - MARGIN - NOTES - LEFT) / PAGES
HEIGHT, STRIP, GAP = 26, 8, 40
STYLE = """
.tested{fill:#2f81f7}.gathered{fill:#1a7f37}.dead{fill:url(#dead);stroke:#c4cbd3}.never{fill:url(#never);stroke:#d8dee4}
.inside{fill:#ffffff;font-size:10px}.mask{fill:#eaeef2}.row{fill:#bf3989}.hatch{stroke:#afb8c1}
.neverfill{fill:#f3f5f7}.deadfill{fill:#e1e6eb}
"""
DARK = """
.dead{stroke:#3d444d}.never{stroke:#2a313c}.mask{fill:#262c36}.row{fill:#ff7bbd}.hatch{stroke:#57606a}
.neverfill{fill:#151b23}.deadfill{fill:#2a313c}.gathered{fill:#238636}.tested{fill:#1f6feb}
"""
HATCHES = "".join(
    f'<pattern id="{name}" width="7" height="7" patternUnits="userSpaceOnUse"><rect width="7" height="7" '
    f'class="{name}fill"/>{stroke}</pattern>'
    for name, stroke in (("never", ""), ("dead", '<path d="M-1 1L1 -1M0 7L7 0M6 8L8 6" class="hatch"/>'))
)


def rides() -> dict[str, np.ndarray]:
    """Sixteen pages of rides in order of day; high fares and one city are in some of them."""
    random = np.random.default_rng(4)
    row = np.arange(PAGES * PAGE_ROWS)
    page = row // PAGE_ROWS
    is_high = np.isin(page, BUSY) & (random.random(row.size) < 0.02)
    cities = np.array(["Aachen", "Bergen", "Évora"])[random.integers(0, 3, row.size)]
    return {
        "day": (row // (PAGE_ROWS // 2)).astype("int32"),
        "fare": np.where(is_high, 75.0, random.gamma(2.0, 6.0, row.size).clip(0, 59)).round(2),
        "city": np.where(np.isin(page, DELFT) & (random.random(row.size) < 0.4), "Delft", cities),
        "note": np.array([f"ride {number * 7919 % 100_003:06}" for number in row.tolist()]),
    }


def run_scan(columns: dict[str, np.ndarray], folder: Path) -> dict[str, Any]:
    """What explain says about the scan of a file of these columns."""
    pq.write_table(
        pa.table(columns),
        folder / "rides.parquet",
        row_group_size=PAGES * PAGE_ROWS,
        max_rows_per_page=PAGE_ROWS,
        write_page_index=True,
        write_statistics=["day"],  # on the others there is nothing to prove: they are tested
        use_dictionary=["city"],
        column_encoding={"day": "DELTA_BINARY_PACKED", "fare": "PLAIN", "note": "PLAIN"},
    )
    return hw.scan(folder / "rides.parquet").filter(WHERE).select("note").threads(1).explain(analyze=True).as_dict()


def per_page(rows: np.ndarray) -> np.ndarray:
    """Which pages have one of the rows."""
    return rows.reshape(PAGES, PAGE_ROWS).any(axis=1)


def draw_pages(picture: Picture, y: float, proven: np.ndarray, used: np.ndarray, kind: str, text: str) -> None:
    for page in range(PAGES):
        x = LEFT + page * CELL
        state = "never" if not proven[page] else kind if used[page] else "dead"
        meaning = {"never": "never read", "dead": "read, never decompressed", "tested": "tested as it is encoded"}
        picture.rect(x, y, CELL - 3, HEIGHT, state, meaning.get(state, "survivors gathered"), 3)
        if state == kind and text:
            picture.text(x + (CELL - 3) / 2, y + HEIGHT / 2 + 3.5, text, "inside", "middle")


def draw_mask(picture: Picture, y: float, rows: np.ndarray, label: str) -> None:
    """The rows that are still candidates, as a strip."""
    width = PAGES * CELL - 3
    picture.rect(LEFT, y, width, STRIP, "mask")
    picture.text(LEFT - 10, y + STRIP, "candidates", "quiet", "end")
    scale = width / rows.size
    edges = np.flatnonzero(np.diff(np.concatenate(([0], rows.astype("int8"), [0]))))
    for start, stop in edges.reshape(-1, 2).tolist():
        x, length = LEFT + start * scale, max((stop - start) * scale, 1.2)
        picture.rect(round(x, 1), y, round(length, 1), STRIP, "row", radius=0)
    picture.text(WIDTH - MARGIN - NOTES + 8, y + STRIP, label, "strong")


def draw(columns: dict[str, np.ndarray], explained: dict[str, Any]) -> str:
    """The picture; raises SystemExit where the scan did otherwise."""
    counted = explained["column_pages"]
    passes = {"fare": columns["fare"] > 60, "city": columns["city"] == "Delft"}
    candidates = (columns["day"] >= DAYS[0]) & (columns["day"] <= DAYS[1])
    proven = per_page(candidates)
    order = [conjunct["columns"][0] for conjunct in explained["conjuncts"] if conjunct["rows_in"]]
    if sorted(order) != sorted(passes) or counted.get("day", {}).get("pages"):
        raise SystemExit(f"the scan tested {order}, not fare and city alone")

    picture = Picture(WIDTH, STYLE, DARK)
    notes = WIDTH - MARGIN - NOTES + 8
    picture.text(MARGIN, 36, "One row group, four columns, sixteen pages each", "title")
    picture.text(MARGIN, 57, f'scan.filter("{WHERE}").select("note")', "code")
    y = 84.0

    def lane(name: str, used: np.ndarray, kind: str, text: str, said: tuple[str, str]) -> None:
        picture.text(MARGIN, y + 12, name, "strong")
        picture.text(MARGIN, y + 26, FORMS[name], "quiet")
        draw_pages(picture, y, proven if name != "day" else np.zeros(PAGES, bool), used, kind, text)
        for line, words in enumerate(said):
            picture.text(notes, y + 11 + 15 * line, words, "" if line == 0 else "quiet")

    lane("day", np.zeros(PAGES, bool), "tested", "", ("bounds of pages decide:", "no value of it is read"))
    y += HEIGHT + 8
    draw_mask(picture, y, candidates, f"{candidates.sum():,} of {candidates.size:,} rows")
    y += GAP - 8
    for name in order:
        used = per_page(candidates) & proven
        if (int(used.sum()), int(proven.sum())) != (counted[name]["pages_decompressed"], counted[name]["pages"]):
            raise SystemExit(f"{name}: {used.sum()} of {proven.sum()} pages expected, the scan says {counted[name]}")
        how = "bytes compared where they lie" if name == "fare" else "one test per dictionary entry"
        lane(name, used, "tested", "test", (f"{used.sum()} of {PAGES} pages decompressed", how))
        candidates = candidates & passes[name]
        y += HEIGHT + 8
        draw_mask(picture, y, candidates, f"{candidates.sum():,} row{'s' if candidates.sum() != 1 else ''}")
        y += GAP - 8
    used = per_page(candidates)
    if int(used.sum()) != counted["note"]["pages_decompressed"] or int(candidates.sum()) != explained["rows_out"]:
        raise SystemExit(f"note: {used.sum()} pages expected, the scan says {counted['note']}")
    lane("note", used, "gathered", "take", (f"{used.sum()} of {PAGES} pages decompressed", "survivors gathered"))
    y += HEIGHT + 34
    x = float(MARGIN)
    for kind, label in (
        ("never", "proven away: never read"),
        ("dead", "no candidate left: never decompressed"),
        ("tested", "tested as encoded"),
        ("gathered", "survivors gathered"),
        ("row", "row that may still pass"),
    ):
        picture.rect(x, y - 11, 14, 14, kind)
        picture.text(x + 20, y, label)
        x += 46 + 6.2 * len(label)
    return picture.document(y + 22, HATCHES)


def write_picture(folder: Path) -> None:
    """The scan and its picture."""
    columns = rides()
    with tempfile.TemporaryDirectory() as place:
        explained = run_scan(columns, Path(place))
    (folder / "cascade.svg").write_text(draw(columns, explained), encoding="utf-8")


if __name__ == "__main__":
    write_picture(BENCH / "figures")
