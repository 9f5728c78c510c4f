"""Options of the format "hardwood", which Spark carries as text, to values and back."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from hardwood_jit.plan.predicate import Predicate, as_predicate
from hardwood_jit.plan.predicate_text import parse

if TYPE_CHECKING:
    from hardwood_jit.lazy_scan import Scan

SPLIT_BYTES = 128 << 20  # as spark.sql.files.maxPartitionBytes

ColumnName = str | tuple[str, ...]


@dataclass(frozen=True)
class SourceOptions:
    """What one `load()` reads; `parallelism` is how many splits there should at least be, bytes permitting.

    >>> from hardwood_jit.spark.source_options import SourceOptions
    >>> options = SourceOptions.of_texts({"path": "trips/", "columns": "id, fare", "filter": "fare > 50"})
    >>> options.columns, str(options.filter), options.split_bytes >> 20
    (('id', 'fare'), 'fare > 50', 128)
    >>> SourceOptions.of_texts(options.as_texts()) == options
    True
    """

    paths: tuple[str, ...]
    columns: tuple[ColumnName, ...] | None = None
    filter: Predicate | None = None
    batch_size: int | None = None
    split_bytes: int = SPLIT_BYTES
    ignore_corrupt: bool = False
    parallelism: int | None = None
    max_files_per_trigger: int | None = None  # streams only
    accumulator: int | None = None  # Spark's number for what gathers the reports of tasks

    @classmethod
    def of_texts(cls, texts: Mapping[str, str]) -> SourceOptions:
        """From what Spark hands over; names are case-insensitive, unknown ones fail."""
        given = {name.lower(): text for name, text in texts.items()}
        unknown = sorted(given.keys() - KNOWN.keys())
        if unknown:
            raise ValueError(f"unknown option {', '.join(unknown)}; the format 'hardwood' has {', '.join(KNOWN)}")
        found: dict[str, Any] = {}
        for name, text in given.items():
            field, read = KNOWN[name]
            try:
                found[field] = read(text)
            except (ValueError, TypeError) as error:
                raise ValueError(f"option {name}={text!r}: {error}") from None
        if "path" in given and "paths" in given:
            raise ValueError("give option path or option paths, not both")
        if not found.get("paths"):
            raise ValueError("nothing to read: give a path to load(), or the option path or paths")
        return cls(**found)

    def as_texts(self) -> dict[str, str]:
        """The options as `of_texts` reads them; those at their default are left out."""
        texts = {"paths": json.dumps(self.paths)}
        if self.columns is not None:
            texts["columns"] = json.dumps(self.columns)
        if self.filter is not None:
            texts["filter"] = str(self.filter)
        if self.ignore_corrupt:
            texts["ignore_corrupt"] = "true"
        numbers = {
            "batch_size": self.batch_size,
            "split_bytes": None if self.split_bytes == SPLIT_BYTES else self.split_bytes,
            "parallelism": self.parallelism,
            "max_files_per_trigger": self.max_files_per_trigger,
            "accumulator": self.accumulator,
        }
        return texts | {name: str(value) for name, value in numbers.items() if value is not None}

    def digest(self, schema: str) -> str:
        """A short name of what is loaded, the same in all processes; which accumulator it reports to is no part of it.

        >>> from hardwood_jit.spark.source_options import SourceOptions
        >>> SourceOptions(("trips/",), accumulator=1).digest("") == SourceOptions(("trips/",), accumulator=2).digest("")
        True
        """
        texts = sorted(replace(self, accumulator=None).as_texts().items())
        return hashlib.blake2b(json.dumps([texts, schema]).encode(), digest_size=8).hexdigest()

    def scan(self, paths: Sequence[str] | None = None) -> Scan:
        """The scan that these options describe, of other paths if some are given."""
        from hardwood_jit.dataset import open

        return self.narrow(open(list(paths or self.paths)).scan())

    def narrow(self, scan: Scan) -> Scan:
        """The scan with these columns, this filter and this batch size."""
        if self.columns is not None:
            scan = scan.select(*self.columns)
        if self.filter is not None:
            scan = scan.filter(self.filter)
        return scan if self.batch_size is None else scan.batch_size(self.batch_size)


def _one_path(text: str) -> tuple[str, ...]:
    return (local_path(text),)


def _paths(text: str) -> tuple[str, ...]:
    found = json.loads(text) if text.lstrip().startswith("[") else text.split(",")
    return tuple(local_path(path.strip()) for path in found)


def local_path(path: str) -> str:
    """Spark writes `file:/tmp/x` and `file:///tmp/x` for what Python calls `/tmp/x`."""
    if path.startswith("file:/"):
        return "/" + path.removeprefix("file:").lstrip("/")
    return path


def _columns(text: str) -> tuple[ColumnName, ...]:
    """Names after each other with commas, or a JSON list in which a list is an exact path."""
    if text.lstrip().startswith("["):
        return tuple(name if isinstance(name, str) else tuple(name) for name in json.loads(text))
    return tuple(name.strip() for name in text.split(",") if name.strip())


def _predicate(text: str) -> Predicate:
    return as_predicate(parse(text))


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise ValueError("must be at least 1")
    return number


def _flag(text: str) -> bool:
    if text.lower() not in ("true", "false"):
        raise ValueError("is true or false")
    return text.lower() == "true"


KNOWN: dict[str, tuple[str, Callable[[str], Any]]] = {
    "path": ("paths", _one_path),
    "paths": ("paths", _paths),
    "columns": ("columns", _columns),
    "filter": ("filter", _predicate),
    "batch_size": ("batch_size", _positive),
    "split_bytes": ("split_bytes", _positive),
    "ignore_corrupt": ("ignore_corrupt", _flag),
    "parallelism": ("parallelism", _positive),
    "max_files_per_trigger": ("max_files_per_trigger", _positive),
    "accumulator": ("accumulator", int),
}
