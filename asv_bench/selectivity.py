"""The selectivity grid: a filtered scan against reading the same columns whole and filtering the table afterwards.

    python asv_bench/selectivity.py                                                   # all 336 cells
    python asv_bench/selectivity.py --encodings plain --survivors 1 50 --pairs 3      # some of them
    python asv_bench/selectivity.py --payload 1 --layouts scattered --selected no --worst 10
    python asv_bench/selectivity.py --control --survivors 1 50          # what noise alone gives on this machine

A cell is the median over alternating pairs of (filtered scan) / (our `to_arrow()`, then pyarrow's filter); a cell above
1.05 is measured once more and the second median counts. All in one process, both sides on the same threads; the first
pair of a cell also compares the two tables and is not counted.
"""

from __future__ import annotations

import argparse
import itertools
import json
import statistics
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import pyarrow as pa
import pyarrow.compute as pc
from datasets import dataset, default_scale
from grid_data import ENCODINGS, PAYLOAD, bound

SURVIVORS = (0.0, 0.01, 1.0, 10.0, 50.0, 99.0, 100.0)  # per cent
LAYOUTS = ("scattered", "clustered")
SELECTED = (True, False)
PAYLOADS = (1, 20)
PAIRS = 5

USUAL_BAR, USUAL_SHARE = 1.05, 0.95  # 95 % of the cells must not exceed the first bar, none the second
LAST_BAR = 1.15
NAMED_CELLS = 12  # of those above the last bar; the table has them all


@dataclass(frozen=True)
class Cell:
    """One combination. `selected`: the filter column is part of the result."""

    encoding: str
    layout: str
    selected: bool
    payload: int
    survivors: float

    @property
    def filter_column(self) -> str:
        return f"k_{self.layout}"

    @property
    def columns(self) -> list[str]:
        """The columns of the result."""
        return [*([self.filter_column] if self.selected else []), *PAYLOAD[: self.payload]]

    def __str__(self) -> str:
        chosen = "selected" if self.selected else "not selected"
        return f"{self.encoding}, {self.layout}, filter column {chosen}, {self.payload} payload, {self.survivors:g} %"


@dataclass(frozen=True)
class Timed:
    """A cell's result: the ratio that counts, the milliseconds behind it, and the ratio of the first measurement."""

    cell: Cell
    ratio: float
    filtered: float
    afterwards: float
    first_ratio: float


@dataclass(frozen=True)
class Grid:
    """The results of all measured cells."""

    cells: tuple[Timed, ...]

    @property
    def worst(self) -> float:
        return max((timed.ratio for timed in self.cells), default=float("nan"))

    def share_within(self, bar: float) -> float:
        """The part of the cells whose ratio is at most `bar`."""
        return sum(timed.ratio <= bar for timed in self.cells) / len(self.cells) if self.cells else float("nan")

    def beyond(self, bar: float) -> list[Timed]:
        """The cells above `bar`, the worst first."""
        found = [timed for timed in self.cells if timed.ratio > bar]
        return sorted(found, key=lambda timed: timed.ratio, reverse=True)

    @property
    def geometric_mean(self) -> float:
        """Of the first ratios: measuring only the bad ones again would flatter it."""
        return statistics.geometric_mean(timed.first_ratio for timed in self.cells)


def _tasks(cell: Cell, path: str, threads: int) -> tuple[Callable[[], pa.Table], Callable[[], pa.Table]]:
    """The filtered scan, and the whole read with the filter afterwards."""
    import hardwood_jit as hw

    limit = bound(cell.encoding, cell.survivors)
    name = cell.filter_column
    needed = list(dict.fromkeys([name, *cell.columns]))

    def filtered() -> pa.Table:
        return hw.scan(path).filter(hw.col(name) < limit).select(*cell.columns).threads(threads).to_arrow()

    def afterwards() -> pa.Table:
        table = hw.scan(path).select(*needed).threads(threads).to_arrow()
        table = table.filter(pc.less(table[name], limit))
        return table if cell.selected else table.drop_columns([name])

    return filtered, afterwards


def _seconds(task: Callable[[], pa.Table]) -> float:
    started = time.perf_counter()
    table = task()
    elapsed = time.perf_counter() - started
    del table  # dies untimed
    return elapsed


def _paired(
    filtered: Callable[[], pa.Table], afterwards: Callable[[], pa.Table], pairs: int
) -> tuple[float, float, float]:
    """Medians of the ratio and of both sides' milliseconds; the sides take turns in going first."""
    ratios, ours, theirs = [], [], []
    for number in range(pairs):
        if number % 2:
            second, first = _seconds(afterwards), _seconds(filtered)
        else:
            first, second = _seconds(filtered), _seconds(afterwards)
        ratios.append(first / second)
        ours.append(first * 1000)
        theirs.append(second * 1000)
    return statistics.median(ratios), statistics.median(ours), statistics.median(theirs)


def measure_cell(
    cell: Cell, threads: int = 2, pairs: int = PAIRS, scale: float | None = None, *, control: bool = False
) -> Timed:
    """One cell, a second time if its first ratio is above the usual bar; `control`: the whole read against itself."""
    path = str(dataset(f"grid_{cell.encoding}", scale))
    filtered, afterwards = _tasks(cell, path, threads)
    if control:
        filtered = afterwards
    if not filtered().equals(afterwards()):
        raise AssertionError(f"{cell}: the filtered scan differs from filtering afterwards")
    ratio, ours, theirs = _paired(filtered, afterwards, pairs)
    first = ratio
    if ratio > USUAL_BAR:
        ratio, ours, theirs = _paired(filtered, afterwards, pairs)
    return Timed(cell, ratio, ours, theirs, first)


def all_cells(
    encodings: Iterable[str] = ENCODINGS,
    layouts: Iterable[str] = LAYOUTS,
    selected: Iterable[bool] = SELECTED,
    payloads: Iterable[int] = PAYLOADS,
    survivors: Iterable[float] = SURVIVORS,
) -> list[Cell]:
    return [Cell(*choice) for choice in itertools.product(encodings, layouts, selected, payloads, survivors)]


def _warm(cells: list[Cell], threads: int, scale: float | None) -> None:
    """Kernels of every shape compiled or loaded before anything is timed; a child that compiles would disturb."""
    import hardwood_jit as hw

    for encoding, layout in dict.fromkeys((cell.encoding, cell.layout) for cell in cells):
        path = str(dataset(f"grid_{encoding}", scale))
        scan = hw.scan(path).threads(threads)
        hw.warm(scan)
        hw.warm(scan.filter(hw.col(f"k_{layout}") < bound(encoding, 1)))


def measure_grid(
    cells: list[Cell] | None = None,
    threads: int = 2,
    pairs: int = PAIRS,
    scale: float | None = None,
    *,
    control: bool = False,
) -> Grid:
    """All cells, one after the other, in this process."""
    chosen = all_cells() if cells is None else cells
    if not control:
        _warm(chosen, threads, scale)
    return Grid(tuple(_measured(chosen, threads, pairs, scale, control)))


def _measured(cells: list[Cell], threads: int, pairs: int, scale: float | None, control: bool) -> Iterator[Timed]:
    for number, cell in enumerate(cells, start=1):
        timed = measure_cell(cell, threads, pairs, scale, control=control)
        if sys.stderr.isatty() or number % 28 == 0:
            print(f"{number}/{len(cells)}: {cell}: {timed.ratio:.2f}", file=sys.stderr)
        yield timed


def _marked(ratio: float) -> str:
    return f"**{ratio:.2f}**" if ratio > USUAL_BAR else f"{ratio:.2f}"


def grid_table(grid: Grid) -> str:
    """Markdown: encodings and settings down, survivors across; ratios above the usual bar bold."""
    survivors = sorted({timed.cell.survivors for timed in grid.cells})
    by_row: dict[tuple[str, str, bool, int], dict[float, float]] = {}
    for timed in grid.cells:
        cell = timed.cell
        row = by_row.setdefault((cell.encoding, cell.layout, cell.selected, cell.payload), {})
        row[cell.survivors] = timed.ratio
    header = ["encoding", "survivors", "filter column", "payload", *(f"{share:g} %" for share in survivors)]
    lines = [header, ["---"] * len(header)]
    for (encoding, layout, selected, payload), ratios in by_row.items():
        shown = [_marked(ratios[share]) if share in ratios else "–" for share in survivors]
        lines.append([encoding, layout, "selected" if selected else "not selected", str(payload), *shown])
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def grid_summary(grid: Grid) -> str:
    """One sentence: worst ratio, share within the usual bar, cells beyond the last one, mean."""
    beyond = grid.beyond(LAST_BAR)
    repeated = sum(timed.first_ratio > USUAL_BAR for timed in grid.cells)
    named = f": {'; '.join(f'{timed.cell} ({timed.ratio:.2f})' for timed in beyond[:NAMED_CELLS])}" if beyond else ""
    named += "; …" if len(beyond) > NAMED_CELLS else ""
    return (
        f"Selectivity grid, filtered scan / our to_arrow() and pyarrow's filter, {len(grid.cells)} cells, {repeated} "
        f"measured twice: geometric mean {grid.geometric_mean:.2f}, worst {grid.worst:.2f}, "
        f"{grid.share_within(USUAL_BAR):.1%} at most {USUAL_BAR}, {len(beyond)} above {LAST_BAR}{named}."
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--encodings", nargs="+", choices=ENCODINGS, default=list(ENCODINGS), metavar="ENCODING")
    parser.add_argument("--layouts", nargs="+", choices=LAYOUTS, default=list(LAYOUTS))
    parser.add_argument("--selected", nargs="+", choices=("yes", "no"), default=["yes", "no"])
    parser.add_argument("--payload", nargs="+", type=int, default=list(PAYLOADS), metavar="COLUMNS")
    parser.add_argument("--survivors", nargs="+", type=float, default=list(SURVIVORS), metavar="PERCENT")
    parser.add_argument("--pairs", type=int, default=PAIRS)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--scale", type=float, default=default_scale(), help="1 is a million rows")
    parser.add_argument("--control", action="store_true", help="the whole read against itself: the noise")
    parser.add_argument("--worst", type=int, default=0, metavar="N", help="also list the N worst cells with times")
    parser.add_argument("--json", type=Path, help="also write every cell to this file")
    given = parser.parse_args()
    selected = [word == "yes" for word in given.selected]
    cells = all_cells(given.encodings, given.layouts, selected, given.payload, given.survivors)
    grid = measure_grid(cells, given.threads, given.pairs, given.scale, control=given.control)
    print(grid_table(grid))
    for timed in sorted(grid.cells, key=lambda timed: timed.ratio, reverse=True)[: given.worst]:
        print(f"{timed.ratio:.2f}: {timed.filtered:.2f} ms, afterwards {timed.afterwards:.2f} ms: {timed.cell}")
    print(f"\n{grid_summary(grid)}")
    if given.json:
        given.json.write_text(json.dumps([asdict(timed) for timed in grid.cells], indent=1))
    # A lost comparison is an error here, unlike in compare.py: never losing is the point of the grid.
    return 0 if not grid.beyond(LAST_BAR) and grid.share_within(USUAL_BAR) >= USUAL_SHARE else 1


if __name__ == "__main__":
    raise SystemExit(main())
