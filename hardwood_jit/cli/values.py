"""Values of rows -> short text for a table, and what JSON can hold."""

from __future__ import annotations

import datetime
import decimal
import math
import uuid
from collections.abc import Mapping
from typing import Any

from hardwood_jit.cli.palette import printable
from hardwood_jit.errors import UnsupportedError
from hardwood_jit.rows import Row

MOST_CHARACTERS = 40
MOST_ITEMS = 8


def value_of(row: Row, name: str) -> Any:
    """The value of a column, as stored where Python's type cannot hold it."""
    try:
        return row[name]
    except (UnsupportedError, OverflowError):
        return row.raw(name)


def shown(value: Any) -> str:
    """A value as text of at most MOST_CHARACTERS, on one line.

    >>> from hardwood_jit.cli.values import shown
    >>> shown({"a": [1, None, "x"], "b": b"\\x00\\xff"}), shown(None)
    ('{a: [1, null, "x"], b: x00ff}', 'null')
    """
    text = printable(value) if isinstance(value, str) else _inner(value)
    return text if len(text) <= MOST_CHARACTERS else text[: MOST_CHARACTERS - 1] + "…"


def _inner(value: Any) -> str:
    """As part of something: text in quotes."""
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case str():
            return '"' + printable(value[: MOST_CHARACTERS + 1]) + '"'
        case bytes():
            return "x" + value[:MOST_CHARACTERS].hex()
        case float():
            return repr(value)
        case datetime.datetime() | datetime.date() | datetime.time():
            return value.isoformat().replace("+00:00", "Z")
        case Mapping():
            parts = [f"{printable(str(key))}: {_inner(part)}" for key, part in list(value.items())[:MOST_ITEMS]]
            return "{" + ", ".join(_with_rest(parts, len(value))) + "}"
        case list():
            return "[" + ", ".join(_with_rest([_inner(part) for part in value[:MOST_ITEMS]], len(value))) + "]"
        case tuple() if not hasattr(value, "_fields"):
            return "(" + ", ".join(_inner(part) for part in value) + ")"
    return printable(str(value))


def _with_rest(parts: list[str], count: int) -> list[str]:
    return [*parts, f"… {count - len(parts):,} more"] if count > len(parts) else parts


def as_json(value: Any) -> Any:
    """What json.dumps takes: dates and decimals as text, bytes as hexadecimal text, NaN and infinities as text.

    >>> import datetime
    >>> from hardwood_jit.cli.values import as_json
    >>> as_json([b"\\x01", float("nan"), datetime.date(2025, 1, 2)])
    ['01', 'nan', '2025-01-02']
    """
    match value:
        case None | bool() | int() | str():
            return value
        case float():
            return value if math.isfinite(value) else str(value)
        case bytes():
            return value.hex()
        case datetime.datetime() | datetime.date() | datetime.time():
            return value.isoformat()
        case decimal.Decimal() | uuid.UUID():
            return str(value)
        case Mapping():
            return {str(key): as_json(part) for key, part in value.items()}
        case tuple() if hasattr(value, "_asdict"):
            return as_json(value._asdict())
        case list() | tuple():
            return [as_json(part) for part in value]
    return str(value)
