"""Tables and pictures as plain text: the same on every width, for pipes, files and terminals without colours."""

from __future__ import annotations

from collections.abc import Iterator

from hardwood_jit.cli.layout import SHARED, ChunkPicture, GroupPicture, Layout
from hardwood_jit.cli.palette import KEPT, PARTLY, encoding_look, printable, shares, stage_look
from hardwood_jit.cli.reports import TextTable
from hardwood_jit.explain_text import size_text

PICTURE_WIDTH = 72  # characters of the widest column chunk
MOST_CELLS = PICTURE_WIDTH // 2  # each has a bar in front
OVERVIEW_WIDTH = 96
LABEL_WIDTH = 24


def table_text(table: TextTable) -> str:
    """Columns side by side, two blanks between."""
    rows = [tuple(map(printable, row)) for row in (table.headers, *table.rows)]
    widths = [max(len(row[number]) for row in rows) for number in range(len(table.headers))]
    lines = []
    for row in rows:
        cells = [
            cell.rjust(width) if number in table.right else cell.ljust(width)
            for number, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)


def short_label(name: str) -> str:
    """A column's name in the room that the picture leaves for it."""
    name = printable(name)
    return name if len(name) <= LABEL_WIDTH else "…" + name[-(LABEL_WIDTH - 1) :]


def heading(layout: Layout) -> str:
    """What the picture is of."""
    files = printable(layout.files[0]) if len(layout.files) == 1 else f"{len(layout.files):,} files"
    return f"{files}: {layout.rows:,} rows, {size_text(layout.stored_bytes)} of pages"


def group_heading(group: GroupPicture, layout: Layout) -> str:
    """What a row group is, and what a filter leaves of it."""
    file = f"{printable(group.file)}, " if len(layout.files) > 1 else ""
    text = f"{file}row group {group.number}: {group.rows:,} rows, {size_text(group.stored_bytes)}"
    if layout.where is None:
        return text
    if group.skipped_by:
        return f"{text}, skipped by {group.skipped_by}"
    if group.rows_left < group.rows:
        return f"{text}, {group.rows_left:,} rows left to test"
    return text


def funnel(layout: Layout) -> list[tuple[str, int]]:
    """Rows before any stage, and rows left after each that took some away."""
    steps = [("all rows", layout.rows)]
    for stage, rows in layout.rows_after:
        if rows < steps[-1][1]:
            steps.append((f"after {stage}", rows))
    return steps


def overview_bins(layout: Layout, most: int) -> list[str]:
    """Row groups in at most so many steps: KEPT, PARTLY, or the stage that drops them all."""
    marks = layout.overview
    per_bin = max(-(-len(marks) // most), 1)
    found = []
    for at in range(0, len(marks), per_bin):
        part = marks[at : at + per_bin]
        stages = {mark.skipped_by for mark in part}
        if "" not in stages:
            found.append(part[0].skipped_by)
        else:
            found.append(PARTLY if any(mark.rows_left < mark.rows for mark in part) else KEPT)
    return found


def overview_title(layout: Layout, most: int) -> str:
    """What one cell of the overview stands for."""
    count = len(layout.overview)
    per_bin = max(-(-count // most), 1)
    each = f", {per_bin:,} to a cell" if per_bin > 1 else ""
    return f"{count:,} row group{'s' if count != 1 else ''}{each}"


def layout_text(layout: Layout) -> str:
    """The picture; every page is letters between bars, as many as its bytes ask for."""
    lines = [heading(layout)]
    if layout.where is not None:
        lines.append(f"where {printable(layout.where)}")
        lines.append("  " + ", ".join(f"{name} {rows:,}" for name, rows in funnel(layout)))
        bins = overview_bins(layout, OVERVIEW_WIDTH)
        marks = "".join(mark if mark in (KEPT, PARTLY) else stage_look(mark).letter for mark in bins)
        lines.append(f"  {overview_title(layout, OVERVIEW_WIDTH)}: {marks}")
    for group in layout.groups:
        lines += ["", group_heading(group, layout)]
        lines += [_chunk_line(chunk, layout) for chunk in group.chunks]
    lines += ["", *legend_lines(layout), *layout.notes]
    return "\n".join(lines)


def _chunk_line(chunk: ChunkPicture, layout: Layout) -> str:
    mark = "*" if chunk.column in layout.filter_columns else " "
    label = f"{mark} {short_label(chunk.column):<{LABEL_WIDTH}} {size_text(chunk.stored_bytes):>10}"
    if chunk.note:
        return f"{label}  ({printable(chunk.note)})"
    return f"{label}  {''.join(_cells(chunk, layout))}"


def _cells(chunk: ChunkPicture, layout: Layout) -> Iterator[str]:
    cells = chunk.cells(MOST_CELLS)
    widths = shares([cell.stored_bytes for cell in cells], PICTURE_WIDTH - len(cells), layout.largest_chunk)
    for cell, width in zip(cells, widths, strict=True):
        look = stage_look(cell.skipped_by) if cell.skipped_by else encoding_look(cell.encoding)
        yield "|" + look.letter * width
    yield "|"


def legend_lines(layout: Layout) -> list[str]:
    """What letters and marks mean, as far as they occur."""
    lines = ["pages    " + ", ".join(f"{encoding_look(name).letter} {name}" for name in layout.encodings())]
    if layout.where is not None:
        stages = layout.stages()
        if stages:
            lines.append("skipped  " + ", ".join(f"{stage_look(name).letter} by {name}" for name in stages))
        lines.append(f"groups   {KEPT} all rows left, {PARTLY} some rows left; * column of the filter")
    shown, skipped = layout.page_counts
    count = f"{shown:,} pages are shown"
    lines.append(f"{count}, {skipped:,} of them skipped" if layout.where is not None else count)
    if layout.shares_cells(MOST_CELLS):
        lines.append(SHARED)
    return lines
