"""Keys of a domain -> what a person calls the value: numbers, dates, text; for reasons in `explain`."""

from __future__ import annotations

import datetime
import struct
from decimal import Decimal
from typing import TYPE_CHECKING

from hardwood_jit.plan.bound import Domain, Key

if TYPE_CHECKING:
    from hardwood_jit.metadata.schema import Leaf

_FORMATS = {16: ("<h", "<e"), 32: ("<i", "<f"), 64: ("<q", "<d")}
_EPOCH = datetime.datetime(1970, 1, 1)
_PER_SECOND = {"ms": 10**3, "us": 10**6, "ns": 10**9}
LONGEST_TEXT = 40


def float_of_key(key: int, bits: int) -> float:
    """The float with this rank: the inverse of `float_key`.

    >>> from hardwood_jit.plan.bound import float_key
    >>> from hardwood_jit.plan.key_text import float_of_key
    >>> [float_of_key(float_key(value, 64), 64) for value in (1.5, -0.0, -2.0)]
    [1.5, -0.0, -2.0]
    """
    stored = key if key >= 0 else key ^ ((1 << (bits - 1)) - 1)
    if key == (1 << (bits - 1)) - 1:
        return float("nan")
    as_int, as_float = _FORMATS[bits]
    (value,) = struct.unpack(as_float, struct.pack(as_int, stored))
    return float(value)


def key_text(key: Key, leaf: Leaf, domain: Domain) -> str:
    """What stands for a key in a sentence."""
    if isinstance(key, bytes):
        return _bytes_text(key, leaf)
    if domain.kind == "float":
        return str(float_of_key(key, domain.bits))
    if domain.kind == "boolean":
        return "true" if key else "false"
    logical = leaf.logical_type
    kind = None if logical is None else logical.kind
    try:
        if logical is not None and kind == "DECIMAL":
            return str(Decimal(key).scaleb(-(logical.scale or 0)))
        if kind == "DATE":
            return (_EPOCH + datetime.timedelta(days=key)).date().isoformat()
        if logical is not None and kind == "TIMESTAMP":
            whole, rest = divmod(key, _PER_SECOND[logical.unit or "ns"])
            text = (_EPOCH + datetime.timedelta(seconds=whole)).isoformat()
            digits = len(str(_PER_SECOND[logical.unit or "ns"])) - 1
            return text + (f".{rest:0{digits}}" if rest else "") + ("Z" if logical.utc else "")
    except OverflowError:
        pass  # beyond the calendar: the number itself
    return str(key)


def _bytes_text(key: bytes, leaf: Leaf) -> str:
    logical = leaf.logical_type
    try:
        text = repr(key.decode()) if logical is not None and logical.kind == "STRING" else repr(key)
    except UnicodeDecodeError:
        text = repr(key)
    return text if len(text) <= LONGEST_TEXT else f"{text[:LONGEST_TEXT]}…"
