"""A dataset -> the picture of its layout as plain data: row groups, column chunks, pages, and what a filter skips."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hardwood_jit.cli.page_walk import Page, pages_of
from hardwood_jit.cli.skips import GroupKey, GroupSkips, find_skips
from hardwood_jit.errors import SchemaMismatchError, UnsupportedError
from hardwood_jit.explain import STAGE_ORDER
from hardwood_jit.plan.row_ranges import RowRanges

if TYPE_CHECKING:
    from hardwood_jit.lazy_scan import Scan
    from hardwood_jit.metadata.footer import RowGroup
    from hardwood_jit.metadata.schema import Leaf
    from hardwood_jit.plan.scan_plan import Selection
    from hardwood_jit.source import Source

MOST_GROUPS = 8  # in a picture, unless -n says otherwise
MOST_COLUMNS = 24
SHARED = "where a column has many pages, neighbours share a cell"


@dataclass(frozen=True, slots=True)
class Cell:
    """Neighbouring pages that are drawn as one: mostly a single page."""

    pages: tuple[Page, ...]
    skipped_by: str  # a stage; empty where a page of the cell must be looked at

    @property
    def stored_bytes(self) -> int:
        return sum(page.stored_bytes for page in self.pages)

    @property
    def encoding(self) -> str:
        """That of most of its bytes."""
        sizes: dict[str, int] = {}
        for page in self.pages:
            sizes[page.encoding] = sizes.get(page.encoding, 0) + page.stored_bytes
        return max(sizes, key=lambda name: sizes[name])


@dataclass(frozen=True, slots=True)
class ChunkPicture:
    """One column of one row group."""

    column: str
    codec: str
    stored_bytes: int
    pages: tuple[Page, ...]
    skipped_by: tuple[str, ...]  # per page: the stage, or empty
    note: str = ""  # why there are no pages to see

    def cells(self, most: int) -> list[Cell]:
        """At most so many cells: where there are more pages, neighbours share one."""
        per_cell = max(-(-len(self.pages) // max(most, 1)), 1)
        found = []
        for at in range(0, len(self.pages), per_cell):
            stages = set(self.skipped_by[at : at + per_cell])
            stage = "" if "" in stages else max(stages, key=_stage_number)
            found.append(Cell(self.pages[at : at + per_cell], stage))
        return found

    def as_dict(self) -> dict[str, Any]:
        """The chunk as plain data."""
        return {
            "column": self.column,
            "codec": self.codec,
            "stored_bytes": self.stored_bytes,
            "note": self.note,
            "pages": [
                {
                    "offset": page.offset,
                    "stored_bytes": page.stored_bytes,
                    "encoding": page.encoding,
                    "first_row": page.first_row,
                    "stop_row": page.stop_row,
                    "skipped_by": stage or None,
                }
                for page, stage in zip(self.pages, self.skipped_by, strict=True)
            ],
        }


@dataclass(frozen=True, slots=True)
class GroupPicture:
    """One row group."""

    file: str
    number: int
    rows: int
    stored_bytes: int  # of all its columns
    skipped_by: str
    rows_left: int
    chunks: tuple[ChunkPicture, ...]

    def as_dict(self) -> dict[str, Any]:
        """The row group as plain data."""
        return {
            "file": self.file,
            "row_group": self.number,
            "rows": self.rows,
            "stored_bytes": self.stored_bytes,
            "skipped_by": self.skipped_by or None,
            "rows_left": self.rows_left,
            "columns": [chunk.as_dict() for chunk in self.chunks],
        }


@dataclass(frozen=True, slots=True)
class GroupMark:
    """A row group in the overview of all."""

    rows: int
    rows_left: int
    skipped_by: str


@dataclass(frozen=True, slots=True)
class Layout:
    """The whole picture. The overview and `rows_after` are of all row groups, whatever `groups` shows."""

    files: tuple[str, ...]
    rows: int
    stored_bytes: int
    where: str | None
    filter_columns: tuple[str, ...]
    overview: tuple[GroupMark, ...]
    rows_after: tuple[tuple[str, int], ...]  # stage -> rows left after it, over all row groups
    groups: tuple[GroupPicture, ...]
    notes: tuple[str, ...]

    @property
    def largest_chunk(self) -> int:
        """Stored bytes of the pages of the largest chunk: the full width of the picture."""
        sizes = [sum(page.stored_bytes for page in chunk.pages) for group in self.groups for chunk in group.chunks]
        return max(sizes, default=0)

    @property
    def page_counts(self) -> tuple[int, int]:
        """Pages of the picture, and those of them that the filter skips."""
        stages = [stage for group in self.groups for chunk in group.chunks for stage in chunk.skipped_by]
        return len(stages), sum(bool(stage) for stage in stages)

    def shares_cells(self, most: int) -> bool:
        """Whether some chunk has more pages than that many cells can show one by one."""
        return any(len(chunk.pages) > most for group in self.groups for chunk in group.chunks)

    def encodings(self) -> list[str]:
        """Those of pages that are not skipped, for the legend."""
        found: dict[str, None] = {}
        for group in self.groups:
            for chunk in group.chunks:
                for page, stage in zip(chunk.pages, chunk.skipped_by, strict=True):
                    if not stage:
                        found[page.encoding] = None
        return list(found)

    def stages(self) -> list[str]:
        """Those that skip something in the picture or the overview, for the legend."""
        found = {mark.skipped_by for mark in self.overview}
        found |= {stage for group in self.groups for chunk in group.chunks for stage in chunk.skipped_by}
        return sorted(found - {""}, key=_stage_number)

    def as_dict(self) -> dict[str, Any]:
        """The picture as plain data, for --json."""
        return {
            "files": list(self.files),
            "rows": self.rows,
            "stored_bytes": self.stored_bytes,
            "where": self.where,
            "rows_after": dict(self.rows_after),
            "row_groups": [group.as_dict() for group in self.groups],
            "notes": list(self.notes),
        }


def _stage_number(stage: str) -> int:
    return STAGE_ORDER.index(stage) if stage in STAGE_ORDER else len(STAGE_ORDER)


def picture_of(
    scan: Scan, selection: Selection, most_groups: int | None = MOST_GROUPS, most_columns: int | None = MOST_COLUMNS
) -> Layout:
    """The picture of what `scan` (made of `selection`) touches; None is no limit."""
    dataset = scan.dataset
    predicate = selection.predicate
    bound = scan.bound_predicate()
    skips: dict[GroupKey, GroupSkips] = {}
    if predicate is not None:
        skips = find_skips(dataset, selection)
    filters = () if bound is None else tuple(leaf.dotted for leaf in bound.leaves)
    stored = {leaf.path for leaf in dataset.files[0].metadata.schema.leaves}
    touched = dict.fromkeys([*(() if bound is None else bound.leaves), *scan.schema.leaves])
    leaves = [leaf for leaf in touched if leaf.path in stored]  # a column may come from somewhere else than the files
    keys = [
        (number, group) for number, file in enumerate(dataset.files) for group in range(len(file.metadata.row_groups))
    ]
    rows = {key: dataset.files[key[0]].metadata.row_groups[key[1]].num_rows for key in keys}
    # What a filter does not even plan lies in a file that its folder's name excludes.
    unplanned = () if predicate is None else ((STAGE_ORDER[0], RowRanges(())),)
    marks = [skips.get(key) or GroupSkips(rows[key], unplanned if rows[key] else ()) for key in keys]
    shown, notes = _chosen_groups(keys, marks, most_groups)
    if most_columns is not None and len(leaves) > most_columns:
        notes.append(f"{most_columns:,} of {len(leaves):,} columns are shown; choose them with --columns")
        leaves = leaves[:most_columns]
    known = dict(zip(keys, marks, strict=True))
    names = short_names([file.name for file in dataset.files])
    groups = tuple(_group_picture(scan, key, names[key[0]], known[key], leaves) for key in shown)
    return Layout(
        tuple(file.name for file in dataset.files),
        dataset.num_rows,
        sum(group.total_compressed_size for file in dataset.files for group in file.metadata.row_groups),
        None if predicate is None else str(predicate),
        filters,
        tuple(GroupMark(mark.rows, mark.rows_left, mark.stage) for mark in marks) if predicate is not None else (),
        _rows_after(marks),
        groups,
        tuple(notes),
    )


def _chosen_groups(
    keys: Sequence[GroupKey], marks: Sequence[GroupSkips], most: int | None
) -> tuple[list[GroupKey], list[str]]:
    """Row groups to draw, in file order: where there is no room for all, those with rows left are preferred."""
    if most is None or len(keys) <= most:
        return list(keys), []
    order = sorted(range(len(keys)), key=lambda at: (bool(marks[at].stage), at))
    how = ", first of all those that the filter keeps" if any(mark.left for mark in marks) else ""
    return [keys[at] for at in sorted(order[:most])], [
        f"{most:,} of {len(keys):,} row groups are shown{how}; -n shows more"
    ]


def _rows_after(marks: Sequence[GroupSkips]) -> tuple[tuple[str, int], ...]:
    stages = sorted({stage for mark in marks for stage, _ in mark.left}, key=_stage_number)
    found = []
    for stage in stages:
        total = 0
        for mark in marks:
            # A row group without this stage's own line is as the last line before it says.
            before = [rows for name, rows in mark.left if _stage_number(name) <= _stage_number(stage)]
            total += before[-1].row_count if before else mark.rows
        found.append((stage, total))
    return tuple(found)


def short_names(names: Sequence[str]) -> list[str]:
    """File names without the folders that they all have in common.

    >>> from hardwood_jit.cli.layout import short_names
    >>> short_names(["data/year=2024/a.parquet", "data/year=2025/a.parquet"]), short_names(["data/a.parquet"])
    (['year=2024/a.parquet', 'year=2025/a.parquet'], ['a.parquet'])
    """
    parts = [name.split("/") for name in names]
    depth = 0
    while all(len(one) > depth + 1 and one[depth] == parts[0][depth] for one in parts):
        depth += 1
    return ["/".join(one[depth:]) for one in parts]


def _group_picture(
    scan: Scan, key: GroupKey, name: str, skips: GroupSkips, leaves: Sequence[Leaf]
) -> GroupPicture:
    file = scan.dataset.files[key[0]]
    group = file.metadata.row_groups[key[1]]
    own = {leaf.path: leaf for leaf in file.metadata.schema.leaves}
    chunks = []
    with file.source.open():
        for leaf in leaves:
            if leaf.path not in own:
                raise SchemaMismatchError(f"{file.name}: has no column '{leaf.dotted}', which the first file has")
            chunks.append(_chunk_picture(group, own[leaf.path], file.source, skips))
    stored = group.total_compressed_size
    return GroupPicture(name, key[1], group.num_rows, stored, skips.stage, skips.rows_left, tuple(chunks))


def _chunk_picture(group: RowGroup, leaf: Leaf, source: Source, skips: GroupSkips) -> ChunkPicture:
    chunk = group.columns[leaf.index]
    stored = max(chunk.total_compressed_size, 0)
    try:
        codec = str(chunk.codec)
        pages = pages_of(chunk, source, group.num_rows)
    except UnsupportedError as error:
        return ChunkPicture(leaf.dotted, "?", stored, (), (), str(error).rpartition(": ")[2])
    return ChunkPicture(leaf.dotted, codec, stored, pages, tuple(_stage_of(page, skips) for page in pages))


def _stage_of(page: Page, skips: GroupSkips) -> str:
    """The stage that skips a page; one whose rows are not known is skipped only with its row group."""
    if page.first_row is None or page.stop_row is None:
        return skips.stage
    return skips.stage_of(page.first_row, page.stop_row)
