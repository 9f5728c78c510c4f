"""open(), scan(), read(), Dataset and its files: what users call first."""
# mypy: disable-error-code="import-untyped"

from __future__ import annotations

import threading
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from hardwood_jit.lazy_scan import ColumnName, Scan
from hardwood_jit.metadata.footer import FileMetadata
from hardwood_jit.metadata.footer_cache import footer_cache
from hardwood_jit.metadata.schema import Schema
from hardwood_jit.options import MAX_PAGE_BYTES, OpenOptions
from hardwood_jit.partitions import Partitions, find_partitions
from hardwood_jit.plan.scan_plan import Selection
from hardwood_jit.source import ReadCounts, Source, open_source

if TYPE_CHECKING:
    import pyarrow as pa


class DatasetFile:
    """One file of a dataset; its footer is read when first asked for.

    >>> file = hw.open(trips).files[0]
    >>> len(file.metadata.row_groups), file.metadata.num_rows
    (2, 6)
    """

    def __init__(self, source: Source, partitions: dict[str, Any] | None = None) -> None:
        self.source = source
        self.partitions = partitions or {}  # values of its `key=value` folders: int, date, str, None for null
        self._lock = threading.Lock()
        self._metadata: FileMetadata | None = None

    @property
    def name(self) -> str:
        """The path, or what stands for it in messages.

        >>> hw.open(trips).files[0].name == str(trips)
        True
        """
        return self.source.name

    @property
    def metadata(self) -> FileMetadata:
        """Row groups, column chunks, statistics, page index, bloom ranges, key-values, created_by.

        >>> [group.num_rows for group in hw.open(trips).files[0].metadata.row_groups]
        [3, 3]
        """
        with self._lock:
            if self._metadata is None:
                self._metadata = footer_cache.read(self.source)
            return self._metadata

    def __repr__(self) -> str:
        return f"DatasetFile({self.name!r})"


class Dataset:
    """One or several Parquet files as one relation, in the order given.

    >>> import hardwood_jit as hw
    >>> with hw.open(trips) as dataset:
    ...     print(dataset.num_rows, [child.name for child in dataset.schema.children])
    6 ['id', 'city', 'fare', 'tags']
    """

    def __init__(
        self, sources: Sequence[Source], options: OpenOptions, folders: Partitions | None = None
    ) -> None:
        self._options = options
        self._closed = False
        self._folders = folders or Partitions(())
        self.files: tuple[DatasetFile, ...] = tuple(
            DatasetFile(source, self._folders.values(number) if self._folders else None)
            for number, source in enumerate(sources)
        )

    @cached_property
    def schema(self) -> Schema:
        """The schema of the first file, and after its columns those of `key=value` folders.

        >>> hw.open(trips).schema["fare"].physical_type.name
        'DOUBLE'
        """
        return self._partitions.extend(self.files[0].metadata.schema)

    @cached_property
    def _partitions(self) -> Partitions:
        """The partition columns that are no columns of the first file."""
        return self._folders.beside(self.files[0].metadata.schema) if self._folders else self._folders

    @property
    def _file_leaf_count(self) -> int:
        """Leaves of `schema` from this index on are partition columns."""
        return len(self.schema.leaves) - len(self._partitions.columns)

    @property
    def num_rows(self) -> int:
        """Rows of all files, from their footers.

        >>> hw.open([trips, trips]).num_rows
        12
        """
        self._read_footers(range(len(self.files)))
        return sum(file.metadata.num_rows for file in self.files)

    def _read_footers(self, numbers: Sequence[int]) -> None:
        """Read the footers of these files together, as far as they are not known and are for that.

        A file that this passes over, and one with something wrong, is read when its `metadata` is asked for.
        """
        files = [file for file in map(self.files.__getitem__, numbers) if file._metadata is None]
        if len(files) > 1:
            for file, found in zip(files, footer_cache.read_many([file.source for file in files]), strict=True):
                file._metadata = found

    def scan(self) -> Scan:
        """A scan of all columns and rows, to be narrowed by its methods.

        >>> hw.open(trips).scan().count()
        6
        """
        return Scan(self, Selection())

    def _subset(self, numbers: Sequence[int]) -> Dataset:
        """Some of the files as a dataset of their own, with the footers that have been read."""
        found = Dataset([], self._options)
        found._folders = self._folders.of_files(numbers)
        found.files = tuple(self.files[number] for number in numbers)
        return found

    def close(self) -> None:
        """Forbid new terminals; results stay valid. File objects of the caller's stay open.

        >>> dataset = hw.open(trips)
        >>> dataset.close()
        >>> dataset.scan().count()
        Traceback (most recent call last):
        ValueError: the dataset is closed; open it again to read
        """
        self._closed = True

    def __enter__(self) -> Dataset:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        names = [file.name for file in self.files[:3]]
        more = f" and {len(self.files) - 3} more" if len(self.files) > 3 else ""
        return f"Dataset({', '.join(names)}{more})"

    def __getstate__(self) -> dict[str, Any]:
        for file in self.files:
            if not file.source.picklable:
                raise TypeError(
                    f"{file.name} cannot be sent to another process: only datasets and scans over paths pickle"
                )
        return {
            "sources": [file.source for file in self.files],
            "options": self._options,
            "folders": self._folders,
            "closed": self._closed,
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        Dataset.__init__(self, state["sources"], state["options"], state["folders"])
        self._closed = state["closed"]

    @property
    def counts(self) -> ReadCounts:
        """Ranges and bytes read so far, footers included.

        >>> hw.footer_cache.clear()
        >>> dataset = hw.open(trips)
        >>> before = dataset.counts
        >>> dataset.num_rows, (dataset.counts - before).bytes > 0
        (6, True)
        """
        return sum((file.source.counts for file in self.files), ReadCounts())


def open(  # the name that API.md gives it
    source: Any,
    *,
    storage_options: dict[str, Any] | None = None,
    mmap: bool = False,
    checksums: bool = True,
    max_page_bytes: int = MAX_PAGE_BYTES,
) -> Dataset:
    """Open Parquet: a path, URL, glob, directory, bytes, a seekable binary file, or a list of those as one relation.

    URLs are those of fsspec (`s3://bucket/folder`, `https://...`), and `storage_options` go to its file system.
    Folders named `key=value` below a directory or URL, from the first wildcard of a glob on, or in the paths of a list
    that all have the same keys, give columns after the files' own.
    `mmap` maps local files instead of reading them; a file that somebody truncates meanwhile kills the process.
    `checksums=False` skips the CRC of pages that have one. A page that decompresses to more than `max_page_bytes` is
    refused.

    >>> with hw.open(trips, mmap=True) as dataset:
    ...     print(dataset.num_rows)
    6
    >>> hw.open(trips.read_bytes()).num_rows
    6
    >>> import shutil
    >>> for year in (2024, 2025):
    ...     folder = trips.parent / "by_year" / f"year={year}"
    ...     folder.mkdir(parents=True, exist_ok=True)
    ...     copied = shutil.copy(trips, folder)
    >>> hw.read(trips.parent / "by_year", ["id", "year"], "year = 2025 and fare > 10").to_pydict()
    {'id': [1, 4, 6], 'year': [2025, 2025, 2025]}
    """
    if max_page_bytes < 1:
        raise ValueError(f"max_page_bytes={max_page_bytes}: must be positive")
    options = OpenOptions(mmap, checksums, max_page_bytes, dict(storage_options) if storage_options else None)
    sources = open_source(source, options)
    if storage_options and not any(found.is_remote for found in sources):
        raise ValueError(f"storage_options are for URLs such as s3://bucket/key, and {sources[0].name} is none")
    return Dataset(sources, options, find_partitions(source, sources))


def scan(source: Any, **options: Any) -> Scan:
    """`open(source, ...).scan()`.

    >>> hw.scan(trips, checksums=False).count()
    6
    """
    return open(source, **options).scan()


def read(source: Any, columns: Sequence[ColumnName] | None = None, filters: Any = None) -> pa.Table:
    """The selected columns of a source as one Arrow table; `filters` is what `Scan.filter` takes.

    >>> hw.read(trips, columns=["id"], filters=[("fare", ">", 10)]).to_pydict()
    {'id': [1, 4, 6]}
    """
    found = scan(source)
    if filters is not None:
        found = found.filter(filters)
    return (found if columns is None else found.select(*columns)).to_arrow()
