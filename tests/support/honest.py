"""Adds metadata to chunks built by hand: true where a reader may trust it, and garbage where it must not.

Statistics, column indexes and encoding statistics are worked out from the entries of a chunk by the meaning of its
values (`tests.support.naive_predicate`), in forms that no single writer produces: bounds cut or widened, zeros of
either sign, counts left out, deprecated fields beside or instead of the new ones, an index on some columns only.
"""

from __future__ import annotations

import math
import random
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tests.support import naive
from tests.support import pages as p
from tests.support.filtering import Layout, random_chunk
from tests.support.naive_predicate import Float, _meaning

TYPE_ORDER, TOTAL_ORDER, UNKNOWN_ORDER = 1, 2, 9
UNORDERED = ("INTERVAL", "GEOMETRY", "GEOGRAPHY", "VARIANT")


@dataclass(frozen=True)
class Trust:
    """What a reader may believe of a column's bounds."""

    order: int | None = TYPE_ORDER  # field of ColumnOrder; None: the file has none
    old_writer: bool = False  # parquet-mr before 1.8


def is_float(leaf: naive.Node) -> bool:
    return leaf.logical == "FLOAT16" or leaf.physical in (p.FLOAT, p.DOUBLE_TYPE)


def is_signed(leaf: naive.Node) -> bool:
    unsigned = leaf.logical == "INTEGER" and not leaf.params["signed"]
    return leaf.physical in (p.INT32, p.INT64) and not unsigned


def is_trusted(leaf: naive.Node, trust: Trust) -> bool:
    if leaf.physical == p.INT96 or leaf.logical in UNORDERED:
        return False
    if trust.order == TOTAL_ORDER:
        return is_float(leaf)
    if trust.order is None:
        return is_signed(leaf)
    if leaf.physical in (p.BYTE_ARRAY, p.FLBA) and not is_float(leaf) and trust.old_writer:
        return False
    return trust.order == TYPE_ORDER


def stored(leaf: naive.Node, value: Any) -> bytes:
    return bytes([value]) if leaf.physical == p.BOOLEAN else p.plain_one(leaf.physical or 0, value)


def garbage(leaf: naive.Node, rng: random.Random) -> bytes:
    """Bytes of a bound that nobody may believe, mostly of the right length."""
    widths = {p.BOOLEAN: 1, p.INT32: 4, p.INT64: 8, p.FLOAT: 4, p.DOUBLE_TYPE: 8, p.INT96: 12}
    width = widths.get(leaf.physical or 0, leaf.type_length or rng.randrange(6))
    return rng.randbytes(width + rng.choice([0, 0, 0, 1]))


@dataclass(frozen=True)
class Bounds:
    low: bytes | None
    high: bytes | None
    is_low_exact: bool = True
    is_high_exact: bool = True


def _cut(low: bytes, high: bytes, rng: random.Random) -> Bounds:
    """As writers cut long bounds: a prefix below, the next prefix above."""
    length = rng.randrange(1, 4)
    top = bytearray(high[:length])
    if len(high) <= length:
        return Bounds(low[:length], high, len(low) <= length, True)
    while top and top[-1] == 0xFF:
        top.pop()
    if not top:
        return Bounds(low[:length], high, len(low) <= length, True)
    top[-1] += 1
    return Bounds(low[:length], bytes(top), len(low) <= length, False)


def bounds_of(leaf: naive.Node, values: Sequence[Any], trust: Trust, rng: random.Random) -> Bounds:
    """True bounds of some values that are not null; none where there is nothing to bound."""
    numbers = [(_meaning(leaf, value, False), value) for value in values]
    if is_float(leaf):
        numbers = [pair for pair in numbers if not math.isnan(pair[0].value)]
        if values and not numbers and (trust.order == TOTAL_ORDER or rng.random() < 0.5):
            return Bounds(stored(leaf, values[0]), stored(leaf, values[-1]))  # NaN: no bound, or all of them are
    if not numbers:
        return Bounds(None, None)
    low = min(numbers, key=lambda pair: pair[0])
    high = max(numbers, key=lambda pair: pair[0])
    found = Bounds(stored(leaf, low[1]), stored(leaf, high[1]))
    if is_float(leaf):
        return Bounds(*(_other_zero(leaf, pair, raw, rng) for pair, raw in ((low, found.low), (high, found.high))))
    is_text = leaf.physical in (p.BYTE_ARRAY, p.FLBA) and leaf.logical != "DECIMAL"
    if is_text and found.low is not None and found.high is not None and rng.random() < 0.5:
        return _cut(found.low, found.high, rng)
    return found


def _other_zero(leaf: naive.Node, pair: tuple[Any, Any], raw: bytes | None, rng: random.Random) -> bytes | None:
    """Writers differ on the sign of a zero bound."""
    meaning = pair[0]
    assert isinstance(meaning, Float)
    if meaning.value != 0 or rng.random() < 0.3:
        return raw
    form = "<e" if leaf.logical == "FLOAT16" else "<f" if leaf.physical == p.FLOAT else "<d"
    return struct.pack(form, -float(meaning.value))


def _count_nan(leaf: naive.Node, values: Sequence[Any]) -> int | None:
    return sum(math.isnan(_meaning(leaf, value, False).value) for value in values) if is_float(leaf) else None


def statistics(leaf: naive.Node, entries: Sequence[p.Entry], trust: Trust, rng: random.Random) -> p.Thrift | None:
    """Statistics of a chunk or a page."""
    form = rng.choice(["none", "counts", "new", "new", "new", "old", "both"])
    if form == "none":
        return None
    values = p.present(entries, leaf.definition)
    nan_count = _count_nan(leaf, values)
    fields: dict[int, p.Thrift | None] = {
        3: p.i64(len(entries) - len(values)) if rng.random() < 0.7 else None,
        9: p.i64(nan_count) if nan_count is not None and rng.random() < 0.6 else None,
    }

    def put(raw: bytes | None) -> p.Thrift | None:
        return None if raw is None else p.binary(raw)

    if form in ("new", "both"):
        if is_trusted(leaf, trust):
            found = bounds_of(leaf, values, trust, rng)
        else:
            found = Bounds(garbage(leaf, rng), garbage(leaf, rng))
        fields[6], fields[5] = put(found.low), put(found.high)
        is_bytes = leaf.physical in (p.BYTE_ARRAY, p.FLBA)
        says_so = rng.random() < 0.6 or (not is_bytes and not (found.is_low_exact and found.is_high_exact))
        if says_so and found.low is not None:
            fields[8], fields[7] = p.boolean(found.is_low_exact), p.boolean(found.is_high_exact)
        if rng.random() < 0.1:
            fields[rng.choice([5, 6])] = None
    if form in ("old", "both"):
        if is_signed(leaf) and trust.order in (TYPE_ORDER, None):
            found = bounds_of(leaf, values, trust, rng)
        else:
            found = Bounds(garbage(leaf, rng), garbage(leaf, rng))
        fields[2], fields[1] = put(found.low), put(found.high)
    return p.record(dict(sorted(fields.items())))


def column_index(
    leaf: naive.Node, parts: Sequence[Sequence[p.Entry]], trust: Trust, rng: random.Random
) -> p.Thrift | None:
    """The bounds of each page; None where some page has values and no bounds, as writers do."""
    found: list[Bounds] = []
    nulls, nans = [], []
    for entries in parts:
        values = p.present(entries, leaf.definition)
        nulls.append(len(entries) - len(values))
        nans.append(_count_nan(leaf, values) or 0)
        if not is_trusted(leaf, trust):
            found.append(Bounds(garbage(leaf, rng), garbage(leaf, rng)) if values else Bounds(None, None))
            continue
        bounds = bounds_of(leaf, values, trust, rng)
        if values and bounds.low is None:
            return None
        found.append(bounds)
    is_null = [not p.present(entries, leaf.definition) for entries in parts]
    return p.record(
        {
            1: p.list_of([p.boolean(one) for one in is_null], p.TRUE),
            2: p.list_of([p.binary(one.low or b"") for one in found], p.BINARY),
            3: p.list_of([p.binary(one.high or b"") for one in found], p.BINARY),
            4: p.i32(rng.randrange(3)),  # which nobody believes
            5: p.list_of([p.i64(count) for count in nulls], p.I64) if rng.random() < 0.7 else None,
            8: p.list_of([p.i64(count) for count in nans], p.I64) if is_float(leaf) and rng.random() < 0.6 else None,
        }
    )


def page_entries(chunk: p.Chunk, entries: Sequence[p.Entry]) -> list[Sequence[p.Entry]]:
    """The entries of each data page."""
    found, at = [], 0
    for page in chunk.pages:
        if page.kind in (p.DATA_PAGE, p.DATA_PAGE_V2):
            found.append(entries[at : at + page.value_count])
            at += page.value_count
    return found


def encoding_stats(chunk: p.Chunk) -> p.Thrift:
    counts: dict[tuple[int, int], int] = {}
    for page in chunk.pages:
        assert page.header is not None
        key = page.kind, page.header.plain()[4 if page.kind == p.DATA_PAGE_V2 else 2]
        counts[key] = counts.get(key, 0) + 1
    return p.list_of(
        [p.record({1: p.i32(kind), 2: p.i32(encoding), 3: p.i32(count)}) for (kind, encoding), count in counts.items()],
        p.STRUCT,
    )


def annotated_file(
    root: p.Node, records: Sequence[dict[str, Any]], rng: random.Random, layout: Layout, rows_per_group: int
) -> bytes:
    """A file of these records with metadata of every kind."""
    leaves = naive.decode(p.build_file(root, [])).leaves
    orders = rng.choice(["type", "type", "total", "none", "unknown"])
    old_writer = rng.random() < 0.1
    trusts = []
    for leaf in leaves:
        order = {"type": TYPE_ORDER, "none": None, "unknown": UNKNOWN_ORDER}.get(orders, TYPE_ORDER)
        if orders == "total" and is_float(leaf):
            order = TOTAL_ORDER
        trusts.append(Trust(order, old_writer))
    groups = []
    for start in range(0, len(records), rows_per_group):
        part = records[start : start + rows_per_group]
        chunks = []
        for path, leaf, trust in zip(p.leaf_paths(root), leaves, trusts, strict=True):
            entries = p.shred(path, part)
            chunk = random_chunk(path, entries, rng, layout)
            chunk.statistics = statistics(leaf, entries, trust, rng)
            if chunk.offset_index and rng.random() < 0.8:
                chunk.column_index = column_index(leaf, page_entries(chunk, entries), trust, rng)
            if rng.random() < 0.7:
                chunk.extra = {13: encoding_stats(chunk)}
            chunks.append(chunk)
        groups.append(p.RowGroup(chunks, len(part)))
    listed = [p.record({trust.order: p.record({})}) for trust in trusts if trust.order is not None]
    footer: dict[int, Any] = {7: p.list_of(listed, p.STRUCT) if listed else None}
    created_by = "parquet-mr version 1.7.0 (build 1)" if old_writer else "handmade"
    return p.build_file(root, groups, created_by=created_by, footer=footer)
