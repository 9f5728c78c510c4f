"""Tables, pictures and progress on a terminal with colours: the only module that knows rich."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Literal

from hardwood_jit.cli.layout import SHARED, ChunkPicture, Layout
from hardwood_jit.cli.palette import (
    KEPT,
    KEPT_COLOUR,
    PARTLY,
    PARTLY_COLOUR,
    encoding_look,
    printable,
    shares,
    stage_look,
)
from hardwood_jit.cli.plain import (
    LABEL_WIDTH,
    funnel,
    group_heading,
    heading,
    overview_bins,
    overview_title,
    short_label,
)
from hardwood_jit.cli.reports import TextTable, fitting
from hardwood_jit.errors import missing
from hardwood_jit.explain_text import size_text

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

SIZE_WIDTH = 10
LEAST_PICTURE = 20
SKIPPED_BACKGROUNDS = ("#303030", "#3a3a3a")
FUNNEL_WIDTH = 40

Report = Callable[[int, int], None]


def has_rich() -> bool:
    """Whether the package of the extra `cli` is there."""
    from importlib.util import find_spec

    return find_spec("rich") is not None


def console(stream: Any = None) -> Console:
    """Where drawings go; fails with the name of the extra where rich is absent."""
    try:
        from rich.console import Console
    except ImportError:
        error = missing("rich", "cli", "drawing on a terminal")
        raise type(error)(f"{error}; or ask for --plain or --json") from None
    return Console(
        file=stream or sys.stdout,
        highlight=False,
        markup=False,
        emoji=False,
        soft_wrap=True,
        force_terminal=True if os.environ.get("FORCE_COLOR") else None,
    )


def draw_table(table: TextTable, to: Console, *, wraps: bool = False) -> None:
    """A table as wide as the terminal allows: long cells take several lines, or columns are left out and counted."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    shown, more = (table, 0) if wraps else fitting(table, to.width)
    drawn = Table(box=SIMPLE_HEAD, header_style="bold", pad_edge=False)
    for number, name in enumerate(shown.headers):
        side: Literal["left", "right"] = "right" if number in shown.right else "left"
        drawn.add_column(Text(printable(name)), justify=side, no_wrap=not wraps, overflow="fold")
    for row in shown.rows:
        drawn.add_row(*(Text(printable(cell), style="dim" if cell == "null" else "") for cell in row))
    to.print(drawn, soft_wrap=False)
    if more:
        to.print(f"{more:,} more columns do not fit; choose with --columns, or ask for --plain", style="dim")


def draw_lines(lines: list[tuple[str, str]], to: Console) -> None:
    """Names and texts, one pair a line."""
    from rich.text import Text

    for name, text in lines:
        to.print(Text.assemble((f"{name:<12}", "bold"), printable(text)))


def draw_layout(layout: Layout, to: Console) -> None:
    """The picture: a page is a coloured cell as wide as its bytes ask for, grey where the filter skips it."""
    from rich.text import Text

    to.print(Text(heading(layout), style="bold"))
    if layout.where is not None:
        to.print(Text.assemble(("where ", "bold"), printable(layout.where)))
        _draw_funnel(layout, to)
    room = max(to.width - LABEL_WIDTH - SIZE_WIDTH - 5, LEAST_PICTURE)
    for group in layout.groups:
        to.print()
        to.print(Text(group_heading(group, layout), style="dim" if group.skipped_by else "bold"))
        for chunk in group.chunks:
            to.print(_chunk_line(chunk, layout, room))
    to.print()
    for line in _legend(layout):
        to.print(line)
    for note in (*layout.notes, *((SHARED,) if layout.shares_cells(room) else ())):
        to.print(Text(note, style="italic"))


def _draw_funnel(layout: Layout, to: Console) -> None:
    from rich.text import Text

    for name, rows in funnel(layout):
        width = max(round(FUNNEL_WIDTH * rows / layout.rows), 1 if rows else 0) if layout.rows else 0
        bar = (" " * width, f"on {KEPT_COLOUR}"), " " * (FUNNEL_WIDTH - width)
        to.print(Text.assemble(f"  {name:<22}", *bar, f" {rows:>14,} rows"))
    most = max(to.width - LABEL_WIDTH, LEAST_PICTURE)
    strip = Text(f"  {overview_title(layout, most):<22}")
    for number, mark in enumerate(overview_bins(layout, most)):
        if mark in (KEPT, PARTLY):
            colour = KEPT_COLOUR if mark == KEPT else PARTLY_COLOUR
            strip.append(" ", f"on {_shade(colour, number)}")
        else:
            strip.append(stage_look(mark).letter, _skipped_style(number))
    to.print(strip)


def _chunk_line(chunk: ChunkPicture, layout: Layout, room: int) -> Text:
    from rich.text import Text

    is_filter = chunk.column in layout.filter_columns
    line = Text()
    line.append("* " if is_filter else "  ", "bold")
    line.append(f"{short_label(chunk.column):<{LABEL_WIDTH}} ", "bold" if is_filter else "")
    line.append(f"{size_text(chunk.stored_bytes):>{SIZE_WIDTH}}  ", "dim")
    if chunk.note:
        line.append(f"({printable(chunk.note)})", "italic")
        return line
    cells = chunk.cells(room)
    widths = shares([cell.stored_bytes for cell in cells], room, layout.largest_chunk)
    for number, (cell, width) in enumerate(zip(cells, widths, strict=True)):
        if cell.skipped_by:
            line.append(stage_look(cell.skipped_by).letter * width, _skipped_style(number))
        else:
            line.append(" " * width, f"on {_shade(encoding_look(cell.encoding).colour, number)}")
    return line


def _skipped_style(number: int) -> str:
    return f"#8c8c8c on {SKIPPED_BACKGROUNDS[number % 2]}"


def _shade(colour: str, number: int) -> str:
    """Every second cell is a little lighter, so that neighbours are told apart."""
    if number % 2 == 0:
        return colour
    parts = (int(colour[at : at + 2], 16) for at in (1, 3, 5))
    return "#" + "".join(f"{part + (255 - part) // 4:02x}" for part in parts)


def _legend(layout: Layout) -> list[Text]:
    from rich.text import Text

    pages = Text("pages    ")
    for name in layout.encodings():
        pages.append("  ", f"on {encoding_look(name).colour}")
        pages.append(f" {name}   ")
    lines = [pages]
    stages = layout.stages()
    if stages:
        skipped = Text("skipped  ")
        for name in stages:
            skipped.append(stage_look(name).letter * 2, _skipped_style(0))
            skipped.append(f" by {name}   ")
        lines.append(skipped)
    shown, skipped_count = layout.page_counts
    count = f"{shown:,} pages are shown"
    if layout.where is not None:
        groups = Text("groups   ")
        for colour, meaning in ((KEPT_COLOUR, "all rows left"), (PARTLY_COLOUR, "some rows left")):
            groups.append("  ", f"on {colour}")
            groups.append(f" {meaning}   ")
        groups.append("* column of the filter")
        lines.append(groups)
        count = f"{count}, {skipped_count:,} of them skipped"
    lines.append(Text(count, style="dim"))
    return lines


@contextmanager
def progress(what: str, is_counted: bool) -> Iterator[Report | bool]:
    """A bar on the terminal's error stream while the block runs; the value is what terminals of scans take.

    With a filter nobody knows how many rows will pass: then the bar only moves, beside the rows found so far.
    """
    if not sys.stderr.isatty() or not has_rich() or os.environ.get("TERM") == "dumb":
        yield False
        return
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}", markup=False), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console(sys.stderr), transient=True) as bar:
        task = bar.add_task(what, total=None)

        def report(done: int, total: int) -> None:
            if is_counted:
                bar.update(task, completed=done, total=total, description=f"{what}: {done:,} of {total:,} rows")
            else:
                bar.update(task, description=f"{what}: {done:,} rows found")

        yield report
