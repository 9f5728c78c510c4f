"""The picture of a layout as an SVG file: a page is a rectangle with a tooltip."""

from __future__ import annotations

from collections.abc import Sequence
from xml.sax.saxutils import escape, quoteattr

from hardwood_jit.cli.layout import SHARED, Cell, ChunkPicture, Layout
from hardwood_jit.cli.page_walk import DICTIONARY
from hardwood_jit.cli.palette import KEPT, KEPT_COLOUR, PARTLY, PARTLY_COLOUR, encoding_look, printable, shares
from hardwood_jit.cli.plain import funnel, group_heading, heading, overview_bins, overview_title
from hardwood_jit.explain_text import size_text

WIDTH = 960
MARGIN = 20
LABELS = 240  # pixels for names and sizes, left of the cells
CELLS = WIDTH - 2 * MARGIN - LABELS
CELL_HEIGHT = 14
LINE = 19
LEAST_CELL = 3  # pixels, the gap of one included
MOST_CELLS = CELLS // 5
MOST_MARKS = CELLS // 5  # row groups in the overview
MOST_LABEL = 24
MOST_TEXT = 118  # characters of a line

# Skipped pages are grey; each stage has strokes of its own.
PATTERNS = {
    "partitions": "M0 3H6",
    "statistics": "",
    "page index": "M-1 1L1 -1M0 6L6 0M5 7L7 5",
    "bloom filter": "M3 0V6",
    "dictionary": "M0 0L6 6M0 6L6 0",
}
STYLE = (
    "text{font-family:-apple-system,'Segoe UI',Helvetica,Arial,sans-serif;font-size:12px;fill:#222}"
    ".title{font-size:15px;font-weight:600}.group{font-weight:600}.quiet{fill:#777}"
    ".code{font-family:ui-monospace,Menlo,Consolas,monospace}"
)


class Drawing:
    """Elements one below the other, and how far down the last one reaches."""

    def __init__(self) -> None:
        self.parts: list[str] = []
        self.y = MARGIN

    def text(self, x: float, text: str, kind: str = "", anchor: str = "start") -> None:
        """A line of text on the current line."""
        shown = text if len(text) <= MOST_TEXT else text[: MOST_TEXT - 1] + "…"
        classes = f" class={quoteattr(kind)}" if kind else ""
        self.parts.append(
            f'<text x="{x:g}" y="{self.y + 11}"{classes} text-anchor="{anchor}">{escape(printable(shown))}</text>'
        )

    def cell(self, x: float, width: float, fill: str, kind: str, tooltip: str) -> None:
        """A rectangle on the current line."""
        self.parts.append(
            f'<rect class="{kind}" x="{x:g}" y="{self.y}" width="{width:g}" height="{CELL_HEIGHT}" rx="1.5" '
            f"fill={quoteattr(fill)}><title>{escape(printable(tooltip))}</title></rect>"
        )

    def down(self, pixels: int = LINE) -> None:
        self.y += pixels

    def document(self) -> str:
        """The whole file."""
        height = self.y + MARGIN - 6
        patterns = "".join(
            f'<pattern id="{_pattern_id(stage)}" width="6" height="6" patternUnits="userSpaceOnUse">'
            f'<rect width="6" height="6" fill="#e9e9e9"/>'
            + (f'<path d="{path}" stroke="#b5b5b5" stroke-width="1" fill="none"/>' if path else "")
            + "</pattern>"
            for stage, path in PATTERNS.items()
        )
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" '
            f'viewBox="0 0 {WIDTH} {height}" role="img">\n<style>{STYLE}</style>\n<defs>{patterns}</defs>\n'
            f'<rect width="{WIDTH}" height="{height}" rx="8" fill="#fff" stroke="#ddd"/>\n'
            + "\n".join(self.parts)
            + "\n</svg>\n"
        )


def _pattern_id(stage: str) -> str:
    return "skipped-" + stage.replace(" ", "-")


def _skipped_fill(stage: str) -> str:
    return f"url(#{_pattern_id(stage)})" if stage in PATTERNS else "#dddddd"


def layout_svg(layout: Layout, rows_out: int | None = None, reasons: Sequence[str] = ()) -> str:
    """The picture. With a filter also the rows that each stage leaves, `rows_out` of them in the result, and why."""
    drawing = Drawing()
    drawing.text(MARGIN, heading(layout), "title")
    drawing.down(24)
    if layout.where is not None:
        drawing.text(MARGIN, f"where {layout.where}", "code")
        drawing.down(26)
        _draw_funnel(drawing, layout, rows_out)
        for reason in reasons:
            drawing.text(MARGIN + LABELS, reason, "quiet")
            drawing.down(17)
        drawing.down(8)
    for group in layout.groups:
        drawing.text(MARGIN, group_heading(group, layout), "group quiet" if group.skipped_by else "group")
        drawing.down()
        for chunk in group.chunks:
            _draw_chunk(drawing, chunk, layout)
        drawing.down(8)
    _draw_legend(drawing, layout)
    for note in (*layout.notes, *((SHARED,) if layout.shares_cells(MOST_CELLS) else ())):
        drawing.text(MARGIN, note, "quiet")
        drawing.down()
    return drawing.document()


def _draw_funnel(drawing: Drawing, layout: Layout, rows_out: int | None) -> None:
    steps = funnel(layout)
    if rows_out is not None:
        steps.append(("result", rows_out))
    left = MARGIN + LABELS
    room = CELLS - 110  # the number stands behind the bar
    for name, rows in steps:
        width = max(room * rows / layout.rows, 1.0) if layout.rows else 1.0
        drawing.text(left - 10, name, anchor="end")
        drawing.cell(left, round(width, 1), KEPT_COLOUR, "rows", f"{name}: {rows:,} rows")
        drawing.text(left + width + 6, f"{rows:,} row{'' if rows == 1 else 's'}", "quiet")
        drawing.down()
    bins = overview_bins(layout, MOST_MARKS)
    drawing.text(left - 10, overview_title(layout, MOST_MARKS), anchor="end")
    step = min(CELLS / max(len(bins), 1), 40.0)
    for number, mark in enumerate(bins):
        fill = {KEPT: KEPT_COLOUR, PARTLY: PARTLY_COLOUR}.get(mark) or _skipped_fill(mark)
        meaning = {KEPT: "all rows left", PARTLY: "some rows left"}.get(mark) or f"skipped by {mark}"
        drawing.cell(round(left + number * step, 1), round(step - 1, 1), fill, "group-mark", meaning)
    drawing.down()


def _draw_chunk(drawing: Drawing, chunk: ChunkPicture, layout: Layout) -> None:
    left = MARGIN + LABELS
    name = chunk.column if len(chunk.column) <= MOST_LABEL else "…" + chunk.column[1 - MOST_LABEL :]
    if chunk.column in layout.filter_columns:
        drawing.text(MARGIN - 9, "*")
    drawing.text(MARGIN, name)
    drawing.text(left - 10, size_text(chunk.stored_bytes), "quiet", "end")
    if chunk.note:
        drawing.text(left, chunk.note, "quiet")
    cells = chunk.cells(MOST_CELLS)
    room = CELLS - LEAST_CELL * len(cells)
    x = left
    for cell, share in zip(cells, _pixels(cells, room, layout.largest_chunk), strict=True):
        fill = _skipped_fill(cell.skipped_by) if cell.skipped_by else encoding_look(cell.encoding).colour
        drawing.cell(x, share + LEAST_CELL - 1, fill, "page skipped" if cell.skipped_by else "page", _tooltip(cell))
        x += share + LEAST_CELL
    drawing.down(CELL_HEIGHT + 3)


def _pixels(cells: Sequence[Cell], room: int, full: int) -> list[int]:
    """What each cell takes beyond the least width."""
    return [width - 1 for width in shares([cell.stored_bytes for cell in cells], room + len(cells), full)]


def _tooltip(cell: Cell) -> str:
    pages = cell.pages
    what = pages[0].encoding if len(pages) == 1 else f"{len(pages):,} pages, mostly {cell.encoding}"
    text = f"{what}, {size_text(cell.stored_bytes)} at byte {pages[0].offset:,}"
    first = next((page for page in pages if page.encoding != DICTIONARY), None)
    if first is not None and first.first_row is not None and pages[-1].stop_row is not None:
        text += f", rows {first.first_row:,} to {pages[-1].stop_row - 1:,}"
    return f"{text}; skipped by {cell.skipped_by}" if cell.skipped_by else text


def _draw_legend(drawing: Drawing, layout: Layout) -> None:
    items = [(encoding_look(name).colour, name) for name in layout.encodings()]
    items += [(_skipped_fill(name), f"skipped by {name}") for name in layout.stages()]
    if PARTLY in overview_bins(layout, MOST_MARKS):
        items.append((PARTLY_COLOUR, "row group with some rows left"))
    x = float(MARGIN)
    for fill, name in items:
        width = 24 + sum(8.4 if letter.isupper() else 6.6 for letter in name)
        if x + width > WIDTH - MARGIN:
            x = float(MARGIN)
            drawing.down()
        drawing.cell(x, 12, fill, "legend", name)
        drawing.text(x + 17, name)
        x += width + 10
    drawing.down()
    shown, skipped = layout.page_counts
    count = f"{shown:,} pages"
    if layout.where is not None:
        count += f", {skipped:,} of them skipped without a look at their values; * column of the filter"
    drawing.text(MARGIN, count, "quiet")
    drawing.down()
