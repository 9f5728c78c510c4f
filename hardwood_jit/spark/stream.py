"""New files of a folder as a stream: each file exactly once, also after a restart from a checkpoint.

An offset lists the files of its own batch by name and all earlier ones by 8-byte digests, so that a file is known again
whatever its time of modification says (a file moved into the folder keeps an old one). A batch that is run again after
a crash reads the same files. Files must appear whole: write them under a name that starts with `_` or `.`, or beside
the folder, and rename them. A file that is written over under its name is not read again.
"""
# mypy: disable-error-code="import-untyped,misc"

from __future__ import annotations

import base64
import hashlib
import zlib
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxFiles,
    SupportsTriggerAvailableNow,
)

from hardwood_jit.options import OpenOptions
from hardwood_jit.source import open_source
from hardwood_jit.spark.reports import Reports
from hardwood_jit.spark.source import partitions_of, read_partition
from hardwood_jit.spark.source_options import SourceOptions

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.types import StructType

Offset = dict[str, Any]

DIGEST_BYTES = 8


class HardwoodStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Micro-batches of the files that have arrived since the last one, oldest first."""

    def __init__(self, options: SourceOptions, schema: StructType, reports: Reports | None) -> None:
        self._options = options
        self._schema = schema
        self._reports = reports
        self._last: set[str] | None = None  # with Trigger.AvailableNow: what was there when the query started

    def initialOffset(self) -> Offset:
        """Before the first file."""
        return {"files": [], "before": _packed(set())}

    def getDefaultReadLimit(self) -> ReadLimit:
        """All files, or as many as the option max_files_per_trigger says."""
        limit = self._options.max_files_per_trigger
        return ReadAllAvailable() if limit is None else ReadMaxFiles(limit)

    def latestOffset(self, start: Offset, limit: ReadLimit) -> Offset:
        """`start` and the files that it does not have."""
        seen = seen_after(start)
        new = [path for path in self._listed() if digest(path) not in seen]
        if self._last is not None:
            new = [path for path in new if path in self._last]
        if isinstance(limit, ReadMaxFiles):
            new = new[: limit.max_files]
        return {"files": new, "before": _packed(seen)} if new else start

    def prepareForTriggerAvailableNow(self) -> None:
        """From now on only what is there now."""
        self._last = set(self._listed())

    def partitions(self, start: Offset, end: Offset) -> Sequence[InputPartition]:
        """The splits of the files in `end` and not in `start`."""
        seen = seen_after(start)
        paths = [path for path in end["files"] if digest(path) not in seen]
        if not paths:
            return []
        return partitions_of(self._options, self._schema, paths)

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The batches of one split, in a worker."""
        return read_partition(self._options, self._schema, partition, self._reports)

    def commit(self, end: Offset) -> None:
        """Nothing to let go of: offsets hold all there is to know."""

    def _listed(self) -> list[str]:
        """Files that are there, oldest first."""
        found: list[tuple[int, str]] = []
        for path in self._options.paths:
            try:
                sources = open_source(path, OpenOptions())
            except FileNotFoundError:  # none yet
                continue
            for source in sources:
                identity = source.identity
                found.append((0 if identity is None else identity[-1], source.name))
        return [name for _, name in sorted(found)]


def digest(path: str) -> bytes:
    """A file's name in an offset."""
    return hashlib.blake2b(path.encode(), digest_size=DIGEST_BYTES).digest()


def seen_after(offset: Offset) -> set[bytes]:
    """Digests of all files up to and with an offset."""
    joined = zlib.decompress(base64.b64decode(offset["before"]))
    before = {joined[at : at + DIGEST_BYTES] for at in range(0, len(joined), DIGEST_BYTES)}
    return before | {digest(path) for path in offset["files"]}


def _packed(digests: set[bytes]) -> str:
    return base64.b64encode(zlib.compress(b"".join(sorted(digests)))).decode()
