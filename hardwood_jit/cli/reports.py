"""A dataset -> what `hardwood info` and `hardwood schema` say, as plain data; and tables of text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from hardwood_jit.errors import UnsupportedError
from hardwood_jit.explain_text import size_text

if TYPE_CHECKING:
    from hardwood_jit.dataset import Dataset, DatasetFile
    from hardwood_jit.metadata.footer import ColumnChunk
    from hardwood_jit.metadata.schema import Leaf, Schema, SchemaNode

MOST_FILES = 10


@dataclass(frozen=True, slots=True)
class TextTable:
    """Cells of text, drawn with or without colours."""

    headers: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    right: frozenset[int] = frozenset()  # columns that are numbers


@dataclass
class ColumnFacts:
    """One column over all row groups of all files."""

    leaf: Leaf
    chunks: int = 0
    values: int = 0
    nulls: int | None = 0  # None: some chunk does not say
    stored_bytes: int = 0
    uncompressed_bytes: int = 0
    codecs: dict[str, None] = field(default_factory=dict)
    encodings: dict[str, None] = field(default_factory=dict)
    with_statistics: int = 0  # chunks
    with_column_index: int = 0
    with_offset_index: int = 0
    with_bloom: int = 0

    def add(self, chunk: ColumnChunk) -> None:
        self.chunks += 1
        self.values += max(chunk.num_values, 0)
        self.stored_bytes += max(chunk.total_compressed_size, 0)
        self.uncompressed_bytes += max(chunk.total_uncompressed_size, 0)
        try:
            self.codecs[str(chunk.codec)] = None
            self.encodings |= {str(encoding): None for encoding in chunk.encodings}
        except UnsupportedError:
            self.codecs["encrypted" if chunk.is_encrypted else "unknown"] = None
        statistics = chunk.statistics
        bounds = statistics is not None and (
            statistics.min_value is not None or statistics.deprecated_min is not None
        )
        nulls = 0 if self.leaf.max_definition_level == 0 else None if statistics is None else statistics.null_count
        self.nulls = None if self.nulls is None or nulls is None else self.nulls + nulls
        self.with_statistics += bounds
        self.with_column_index += chunk.column_index_range is not None
        self.with_offset_index += chunk.offset_index_range is not None
        self.with_bloom += chunk.bloom_range is not None

    def as_dict(self) -> dict[str, Any]:
        """The column as plain data; `chunks_with` counts chunks."""
        logical = self.leaf.logical_type
        return {
            "path": self.leaf.dotted,
            "physical_type": str(self.leaf.physical_type),
            "logical_type": None if logical is None else str(logical),
            "values": self.values,
            "nulls": self.nulls,
            "stored_bytes": self.stored_bytes,
            "uncompressed_bytes": self.uncompressed_bytes,
            "codecs": list(self.codecs),
            "encodings": list(self.encodings),
            "chunks": self.chunks,
            "chunks_with": {
                "bounds": self.with_statistics,
                "column_index": self.with_column_index,
                "offset_index": self.with_offset_index,
                "bloom_filter": self.with_bloom,
            },
        }


def info_of(dataset: Dataset, schema: Schema) -> dict[str, Any]:
    """Files and columns as plain data; `schema` says which columns."""
    facts = {leaf.path: ColumnFacts(leaf) for leaf in schema.leaves}
    for file in dataset.files:
        own = [leaf for leaf in file.metadata.schema.leaves if leaf.path in facts]
        for group in file.metadata.row_groups:
            for leaf in own:
                facts[leaf.path].add(group.columns[leaf.index])
    return {
        "files": [_file_info(file) for file in dataset.files],
        "rows": dataset.num_rows,
        "row_groups": sum(len(file.metadata.row_groups) for file in dataset.files),
        "columns": [column.as_dict() for column in facts.values()],
    }


def _file_info(file: DatasetFile) -> dict[str, Any]:
    metadata = file.metadata
    return {
        "name": file.name,
        "bytes": file.source.size,
        "rows": metadata.num_rows,
        "row_groups": len(metadata.row_groups),
        "columns": len(metadata.schema.leaves),
        "created_by": metadata.created_by,
        "format_version": metadata.version,
        "footer_bytes": metadata.footer_bytes,
        "key_value_keys": list(metadata.key_value_metadata),
    }


def info_head(info: dict[str, Any]) -> list[tuple[str, str]]:
    """The lines above the table of columns: (name, text)."""
    files = info["files"]
    lines = []
    for file in files[:MOST_FILES]:
        if len(files) == 1:
            lines.append(("file", f"{file['name']}, {size_text(file['bytes'])}"))
        else:
            groups = f"{file['rows']:,} rows in {file['row_groups']:,} row groups"
            lines.append(("file", f"{file['name']}, {size_text(file['bytes'])}, {groups}"))
    if len(files) > MOST_FILES:
        lines.append(("files", f"... and {len(files) - MOST_FILES:,} more, {len(files):,} in all"))
    lines.append(("rows", f"{info['rows']:,}"))
    lines.append(("row groups", f"{info['row_groups']:,}"))
    lines.append(("footer", ", ".join(_distinct(size_text(file["footer_bytes"]) for file in files))))
    lines.append(("written by", "; ".join(_distinct(file["created_by"] or "not said" for file in files))))
    keys = _distinct(key for file in files for key in file["key_value_keys"])
    lines.append(("key-values", ", ".join(keys) or "none"))
    return lines


def _distinct(texts: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(texts))


def info_table(info: dict[str, Any]) -> TextTable:
    """One line per column."""
    headers = ("column", "type", "stored", "plain", "codec", "encodings", "nulls", "metadata")
    rows = []
    for column in info["columns"]:
        chunks, chunks_with = column["chunks"], column["chunks_with"]
        kind = column["logical_type"] or column["physical_type"]
        rows.append(
            (
                column["path"],
                kind,
                size_text(column["stored_bytes"]),
                size_text(column["uncompressed_bytes"]),
                ", ".join(column["codecs"]),
                ", ".join(column["encodings"]),
                "?" if column["nulls"] is None else f"{column['nulls']:,}",
                _metadata_text(chunks_with, chunks),
            )
        )
    return TextTable(headers, tuple(rows), frozenset({2, 3, 6}))


def _metadata_text(chunks_with: dict[str, int], chunks: int) -> str:
    """What a filter can ask about the column, and in how many chunks where not in all."""
    parts = []
    for key, name in (("bounds", "bounds"), ("column_index", "page index"), ("bloom_filter", "bloom filter")):
        if chunks_with[key]:
            parts.append(name if chunks_with[key] == chunks else f"{name} {chunks_with[key]:,}/{chunks:,}")
    if chunks_with["offset_index"] and not chunks_with["column_index"]:
        parts.append("offset index")
    return ", ".join(parts) or "none"


def schema_tree(schema: Schema) -> dict[str, Any]:
    """The schema as nested plain data."""
    return {"name": schema.name, "children": [_node(child) for child in schema.children]}


def _node(node: SchemaNode) -> dict[str, Any]:
    found: dict[str, Any] = {"name": node.name, "repetition": str(node.repetition)}
    if node.physical_type is not None:
        found["physical_type"] = str(node.physical_type)
    if node.type_length is not None:
        found["type_length"] = node.type_length
    if node.logical_type is not None:
        found["logical_type"] = str(node.logical_type)
    if node.field_id is not None:
        found["field_id"] = node.field_id
    if node.children:
        found["children"] = [_node(child) for child in node.children]
    return found


def fitting(table: TextTable, width: int) -> tuple[TextTable, int]:
    """The first columns of a table that fit into a width of characters, and how many do not."""
    used, count = 1, 0
    for number, header in enumerate(table.headers):
        used += 3 + max([len(header), *(len(row[number]) for row in table.rows)])
        if used > width and count:
            break
        count += 1
    left_out = len(table.headers) - count
    if not left_out:
        return table, 0
    return TextTable(table.headers[:count], _first_cells(table.rows, count), table.right), left_out


def _first_cells(rows: Sequence[tuple[str, ...]], count: int) -> tuple[tuple[str, ...], ...]:
    return tuple(row[:count] for row in rows)
