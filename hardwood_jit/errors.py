"""The error tree, and the one place that turns a kernel's status into a located error."""

from __future__ import annotations

from hardwood_jit.kernels.status import MEANING, code_of


class HardwoodError(Exception):
    """Base of every error that hardwood_jit raises itself; `OSError` stays `OSError`.

    >>> try:
    ...     hw.scan(b"no Parquet at all").count()
    ... except hw.HardwoodError as error:
    ...     print(type(error).__name__)
    CorruptFileError
    """


class CorruptFileError(HardwoodError):
    """The file breaks the Parquet specification: ask who wrote it.

    >>> hw.scan(trips.read_bytes()[:-1]).count()
    Traceback (most recent call last):
    hardwood_jit.errors.CorruptFileError: ...
    """


class UnsupportedError(HardwoodError):
    """Legal Parquet that hardwood_jit does not read (or a limit that the message says how to raise).

    >>> hw.scan(trips, max_page_bytes=8).select("id").to_numpy()
    Traceback (most recent call last):
    hardwood_jit.errors.UnsupportedError: ...; open the file with a larger max_page_bytes to read it
    """


class MissingDependencyError(HardwoodError, ImportError):
    """An optional package is absent; the message names the extra to install.

    >>> issubclass(hw.MissingDependencyError, ImportError)
    True
    """


class PredicateError(HardwoodError, ValueError):
    """A predicate that does not fit its column: fix the call.

    >>> issubclass(hw.PredicateError, ValueError)
    True
    """


class ColumnNotFoundError(HardwoodError, KeyError):
    """An unknown column; the message names close matches.

    >>> hw.scan(trips).select("fares").schema
    Traceback (most recent call last):
    hardwood_jit.errors.ColumnNotFoundError: no column 'fares'; close: 'fare'
    """

    def __str__(self) -> str:  # KeyError would quote the whole message
        return str(self.args[0]) if self.args else ""


class SchemaMismatchError(HardwoodError, ValueError):
    """Files of one dataset disagree about a column that the scan touches.

    >>> issubclass(hw.SchemaMismatchError, ValueError)
    True
    """


def place(
    file: str, row_group: int | None = None, column: str | None = None, page: int | None = None
) -> str:
    """The prefix of a message: `trips.parquet: row group 3, column 'fare', page 12`."""
    parts = []
    if row_group is not None:
        parts.append(f"row group {row_group}")
    if column is not None:
        parts.append(f"column '{column}'")
    if page is not None:
        parts.append(f"page {page}")
    return f"{file}: {', '.join(parts)}" if parts else file


def located(status: int, where: str) -> CorruptFileError:
    """The error for a negative kernel status at the place that `place` described."""
    code = code_of(status)
    return CorruptFileError(f"{where}: {MEANING.get(code, f'kernel status {code}')}")


def missing(package: str, extra: str, purpose: str) -> MissingDependencyError:
    """The error for an absent optional package, naming the extra that brings it."""
    return MissingDependencyError(f"{purpose} needs the package {package}: pip install 'hardwood_jit[{extra}]'")
