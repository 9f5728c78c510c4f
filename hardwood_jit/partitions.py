"""Folders named key=value -> columns: names and types over all files, values per file, constant columns of batches.

Which folders count: of a directory or URL those below it, of a glob those from the first name with a wildcard on. Of a
list all folders of its paths, as they are written, and only where every file has the same keys. A file named by its own
path has none.

A column is INT64 if every value is an integer of 64 bits, DATE if every one is written yyyy-mm-dd, else STRING; null
values (`__HIVE_DEFAULT_PARTITION__`) do not count, and a column with no others is STRING.
"""

from __future__ import annotations

import datetime
import glob
import os
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote_to_bytes

import numpy as np

from hardwood_jit.batch import NO_NULLS, Batch, Column, Validity
from hardwood_jit.errors import SchemaMismatchError
from hardwood_jit.memory import allocate, allocate_array
from hardwood_jit.metadata.structs import SchemaElement
from hardwood_jit.physical import PhysicalType, Repetition
from hardwood_jit.plan.bind import bind
from hardwood_jit.plan.bound import BoundPredicate, Fixed, Key
from hardwood_jit.plan.constants import constant_part, fold_constants, fold_node
from hardwood_jit.plan.predicate import Col, Predicate, columns_of

if TYPE_CHECKING:
    from hardwood_jit.metadata.schema import Leaf, Schema
    from hardwood_jit.source import Source

STAGE = "partitions"
NULL = "__HIVE_DEFAULT_PARTITION__"

_INTEGER = re.compile(rb"-?[0-9]+")
_DATE = re.compile(rb"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_EPOCH = datetime.date(1970, 1, 1)
_INT32_MAX = (1 << 31) - 1

Folders = dict[str, bytes | None]  # key -> value, None for null; in the order of the path


# Paths -> folders


def _parts(path: str) -> list[str]:
    return [part for part in path.split("://")[-1].split("/") if part not in ("", ".")]


def _root_parts(source: str) -> list[str]:
    """The names in what was opened that do not count; of a glob those before its first wildcard."""
    link = next((link for link in source.split("::") if "://" in link), source)
    parts = _parts(link)
    return parts[: next((number for number, part in enumerate(parts) if glob.has_magic(part)), len(parts))]


def _below(location: str, root: list[str]) -> list[str]:
    """The folders of a file below the root. A URL may begin with a server, which the file's path does not name."""
    parts = _parts(location)
    for start in range(len(root) + 1):
        rest = root[start:]
        if parts[: len(rest)] == rest:
            return parts[len(rest) : -1]
    raise AssertionError("nothing is the start of everything")


def _decoded(text: str) -> bytes:
    """Percent-decoded, as UTF-8; as it is written where that is none."""
    written = os.fsencode(text)
    found = unquote_to_bytes(written)
    return found if _is_text(found) else written


def _is_text(raw: bytes) -> bool:
    try:
        raw.decode()
    except UnicodeDecodeError:
        return False
    return True


def parse_folders(names: Iterable[str], file: str) -> Folders:
    """The keys and values of those folders that have them.

    >>> from hardwood_jit.partitions import parse_folders
    >>> parse_folders(["year=2024", "raw", "city=New%20York", "code=__HIVE_DEFAULT_PARTITION__"], "a.parquet")
    {'year': b'2024', 'city': b'New York', 'code': None}
    """
    found: Folders = {}
    for name in names:
        written, equals, value = name.partition("=")
        if not equals or not written:
            continue
        key = _decoded(written).decode("utf-8", "replace")
        if key in found:
            raise SchemaMismatchError(f"{file}: two folders of its path give the key '{key}'")
        found[key] = None if value == NULL else _decoded(value)
    return found


def find_partitions(opened: Any, sources: Sequence[Source]) -> Partitions:
    """The partition columns of the files that `opened`, as the caller gave it, stands for."""
    if not any("=" in source.location for source in sources):
        return Partitions(())
    if isinstance(opened, list | tuple):
        try:
            folders = [parse_folders(_below(source.location, []), source.name) for source in sources]
        except SchemaMismatchError:
            return Partitions(())
        # A list is the caller's own choice of files: folders that do not agree are just places.
        return Partitions(() if any(found.keys() != folders[0].keys() for found in folders) else _columns(folders))
    if not isinstance(opened, str | os.PathLike):
        return Partitions(())
    text = os.fspath(opened)
    root = _root_parts(os.fsdecode(text) if isinstance(text, bytes) else text)
    folders = [parse_folders(_below(source.location, root), source.name) for source in sources]
    for source, found in zip(sources, folders, strict=True):
        if found.keys() != folders[0].keys():
            raise SchemaMismatchError(
                f"{source.name}: its folders give {_shown_keys(found)}, those of {sources[0].name} "
                f"{_shown_keys(folders[0])}; in a list, folders that differ give no columns"
            )
    return Partitions(_columns(folders))


def _shown_keys(folders: Folders) -> str:
    return f"the keys {', '.join(folders)}" if folders else "no keys"


# Folders -> columns


@dataclass(frozen=True)
class PartitionType:
    """How values of one kind are written, stored and shown."""

    physical: PhysicalType
    converted: int | None  # the annotation, by its number in the specification
    key: Callable[[bytes], Key | None]  # of a text; None where it is not of this kind
    python: Callable[[Any], Any]  # of a key


def _integer_key(text: bytes) -> int | None:
    if not _INTEGER.fullmatch(text) or len(text.lstrip(b"-0")) > 19:
        return None
    number = int(text)
    return number if -(1 << 63) <= number < 1 << 63 else None


def _date_key(text: bytes) -> int | None:
    if not _DATE.fullmatch(text):
        return None
    try:
        return (datetime.date.fromisoformat(text.decode()) - _EPOCH).days
    except ValueError:
        return None


# The first that fits every value.
TYPES = (
    PartitionType(PhysicalType.INT64, None, _integer_key, lambda key: key),
    PartitionType(PhysicalType.INT32, 6, _date_key, lambda key: _EPOCH + datetime.timedelta(key)),
    PartitionType(PhysicalType.BYTE_ARRAY, 0, lambda text: text, lambda key: key.decode("utf-8", "replace")),
)


@dataclass(frozen=True)
class PartitionColumn:
    """One key of the folders: its type, as a number of TYPES, and the stored value per file, None for null."""

    name: str
    kind: int
    keys: tuple[Key | None, ...]

    @property
    def type(self) -> PartitionType:
        return TYPES[self.kind]

    def python(self, file: int) -> Any:
        """The value of a file: int, date, str or None."""
        key = self.keys[file]
        return None if key is None else self.type.python(key)

    @cached_property
    def element(self) -> SchemaElement:
        """The column as a footer would describe it."""
        optional = any(key is None for key in self.keys)
        fields = {
            "name": self.name.encode(),
            "type": int(self.type.physical),
            "repetition_type": int(Repetition.OPTIONAL if optional else Repetition.REQUIRED),
        }
        if self.type.converted is not None:
            fields["converted_type"] = self.type.converted
        return SchemaElement(**fields)


def _columns(folders: Sequence[Folders]) -> tuple[PartitionColumn, ...]:
    return tuple(_column(name, [found[name] for found in folders]) for name in folders[0])


def _column(name: str, texts: Sequence[bytes | None]) -> PartitionColumn:
    known = {text for text in texts if text is not None}
    for kind, candidate in enumerate(TYPES):
        keys = {text: candidate.key(text) for text in known}
        is_last = kind == len(TYPES) - 1
        if is_last or (known and all(key is not None for key in keys.values())):
            return PartitionColumn(name, kind, tuple(None if text is None else keys[text] for text in texts))
    raise AssertionError("the last type fits everything")


@dataclass(frozen=True)
class Partitions:
    """The partition columns of a dataset; as leaves they count on after those of a file.

    >>> from hardwood_jit.partitions import Partitions, _columns
    >>> found = Partitions(_columns([{"year": b"2023", "city": None}, {"year": b"2024", "city": b"Delft"}]))
    >>> found.values(0), found.values(1)
    ({'year': 2023, 'city': None}, {'year': 2024, 'city': 'Delft'})
    """

    columns: tuple[PartitionColumn, ...]

    def __bool__(self) -> bool:
        return bool(self.columns)

    def values(self, file: int) -> dict[str, Any]:
        """The values of one file by name, as Python has them."""
        return {column.name: column.python(file) for column in self.columns}

    def of_files(self, numbers: Sequence[int]) -> Partitions:
        """Those of some of the files, in that order, with the types that all of them have together."""
        return Partitions(
            tuple(replace(column, keys=tuple(column.keys[number] for number in numbers)) for column in self.columns)
        )

    def beside(self, schema: Schema) -> Partitions:
        """Without those that the file has as columns: these win."""
        own = {child.name for child in schema.children}
        return Partitions(tuple(column for column in self.columns if column.name not in own))

    def extend(self, schema: Schema) -> Schema:
        """The schema of a file with the partition columns after its own."""
        return schema.extended([column.element for column in self.columns]) if self else schema

    def keys(self, file: int, first_index: int) -> dict[int, Key | None]:
        """Leaf index -> stored value in one file, the first partition column having that index."""
        return {index: column.keys[file] for index, column in enumerate(self.columns, first_index)}

    def constants(self, file: int, leaves: Sequence[Leaf], first_index: int) -> tuple[Constant, ...]:
        """The partition columns among the leaves of a projection, with the values of one file."""
        return tuple(
            Constant(position, leaf, self.columns[leaf.index - first_index].keys[file])
            for position, leaf in enumerate(leaves)
            if leaf.index >= first_index
        )

    def row_bytes(self, leaves: Sequence[Leaf], first_index: int) -> float:
        """What the partition columns of a projection take in a row of a batch, at most."""
        chosen = [self.columns[leaf.index - first_index] for leaf in leaves if leaf.index >= first_index]
        return float(sum(max(map(_key_bytes, column.keys)) for column in chosen))


def _key_bytes(key: Key | None) -> int:
    return 4 + len(key) if isinstance(key, bytes) else 8


# Predicates


class PartitionFilter:
    """What a predicate says of files by their partition columns, before anything of them is read."""

    def __init__(self, partitions: Partitions, predicate: Predicate, schema: Schema, first_index: int) -> None:
        """`schema` is the dataset's, in which the first partition column has the leaf index `first_index`."""
        self._partitions = partitions
        self._predicate = predicate
        self._first_index = first_index
        bind(predicate, schema)  # all of it: a mistake is told also where no file is left to be bound to

        def is_partition(column: Col) -> bool:
            leaf = schema.resolve(column.path).leaf
            return leaf is not None and leaf.index >= first_index

        self._is_touched = any(map(is_partition, columns_of(predicate)))
        part = constant_part(predicate, is_partition) if self._is_touched else None
        self._conjuncts = () if part is None else bind(part, schema).conjuncts

    def why_not(self, file: int) -> str | None:
        """Why no row of a file can pass; None where one may."""
        keys = self._partitions.keys(file, self._first_index)
        for conjunct in self._conjuncts:
            answer = fold_node(conjunct, keys)
            if isinstance(answer, Fixed) and not answer.value:
                columns = [self._partitions.columns[leaf.index - self._first_index] for leaf in conjunct.leaves]
                values = [f"{column.name}={_shown(column.python(file))}" for column in columns]
                return f"{', '.join(values)}: {conjunct.text}" if values else conjunct.text
        return None

    def bind_to(self, schema: Schema, file: int) -> BoundPredicate:
        """The predicate over the leaves of one file, its partition columns replaced by their values."""
        if not self._is_touched:
            return bind(self._predicate, schema)
        bound = bind(self._predicate, self._partitions.extend(schema))
        return fold_constants(bound, self._partitions.keys(file, len(schema.leaves)))


def _shown(value: Any) -> str:
    return "null" if value is None else str(value)


# Batches


@dataclass(frozen=True, slots=True)
class Constant:
    """A column of a projection, at that position, that has one value in a whole file."""

    position: int
    leaf: Leaf
    key: Key | None

    def column(self, rows: int) -> Column:
        """That many rows of it, in arrays of their own."""
        column = Column(self.leaf, rows, rows, NO_NULLS, text_checked=self._is_text)
        if self.key is None:
            words = allocate_array((rows + 63) >> 6, np.uint64, 8)
            words[:] = 0
            column.validity = Validity(words, rows, rows)
        if self.leaf.physical_type is PhysicalType.BYTE_ARRAY:
            self._fill_text(column, b"" if self.key is None else self.key)
        else:
            dtype = np.int64 if self.leaf.physical_type is PhysicalType.INT64 else np.int32
            column.values = allocate_array(rows, dtype, np.dtype(dtype).itemsize)
            column.values[:] = 0 if self.key is None else self.key
        return column

    def _fill_text(self, column: Column, text: bytes) -> None:
        rows = column.value_count
        total = rows * len(text)
        dtype = np.dtype(np.int32 if total <= _INT32_MAX else np.int64)
        column.offsets = allocate_array(rows + 1, dtype, dtype.itemsize)
        column.offsets[:] = np.arange(0, total + 1, len(text), dtype=dtype) if text else 0
        column.data = allocate(total)[:total]
        if text:
            column.data.reshape(rows, len(text))[:] = np.frombuffer(text, np.uint8)

    @property
    def _is_text(self) -> bool:
        return not isinstance(self.key, bytes) or _is_text(self.key)


def add_constants(batch: Batch, constants: Sequence[Constant]) -> Batch:
    """The batch with the constant columns of its projection among those of its file."""
    columns = list(batch.columns)
    for constant in constants:  # positions rise
        columns.insert(constant.position, constant.column(batch.num_rows))
    return Batch(batch.schema, tuple(columns), batch.num_rows, batch.file, batch.row_group)
