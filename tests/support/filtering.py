"""What tests of filters share: files in every layout, predicates that fit them, and one check of all terminals.

Files are built page by page (`random_file`), so that they come in forms that no writer here produces; predicates are
drawn from the values that a file holds (`random_predicate`), so that some rows match; `Checked` compares what a
filtered scan gives with the naive decoder and the naive predicate.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import random
import struct
import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any
from unittest.mock import patch

import numpy as np

import hardwood_jit as hw
from hardwood_jit import cascade, col, page_map, shares, survivor_columns, whole_group
from hardwood_jit.jit import chunk, column_decoder, gather
from hardwood_jit.pages import page_reader
from hardwood_jit.plan.predicate import Col, Instant, Predicate
from tests.support import naive
from tests.support import pages as p
from tests.support.columns import column_records
from tests.support.naive_predicate import matches, rows_of

OPERATORS = ("eq", "ne", "lt", "le", "gt", "ge")
DAY = 86_400 * 10**9
EPOCH_DAY = 2440588


@contextlib.contextmanager
def sizes(
    window: int | None = None, gap: int | None = None, dense: float | None = None, held: int | None = None
) -> Iterator[None]:
    """Small numbers make small files run through code that is for large ones; None leaves a number as it is.

    `window` rows per window, `gap` rows between survivors of a nested column that are decoded apart, `dense` the share
    of survivors above which all is decoded, `held` bytes (and levels) of a column that are held at once.
    """
    changes: list[tuple[Any, str, float | None]] = [
        (cascade, "WINDOW_ROWS", window),
        (survivor_columns, "GAP_ROWS", gap),
        (gather, "DENSE_NUMBERS", dense),
        (gather, "DENSE_BYTES", dense),
        (chunk, "DENSE_CHUNK", dense),
        (chunk, "DENSE_BYTES", dense),
        (chunk, "CHUNK_BYTES", held),
        (column_decoder, "HELD_BYTES", held),
        (column_decoder, "HELD_LEVELS", held),
    ]
    with contextlib.ExitStack() as stack:
        for module, name, value in changes:
            if value is not None:
                stack.enter_context(patch.object(module, name, value))
        yield


@contextlib.contextmanager
def divided() -> Iterator[None]:
    """What is for large files is done with small ones, too.

    Row groups are cut into shares, pages without an offset index found by their headers, and decompressed in part.
    """
    with contextlib.ExitStack() as stack:
        for module, name in (
            (shares, "LEAST_ROWS"), (shares, "LEAST_BYTES"), (shares, "LEAST_CHUNK"), (cascade, "LEAST_CHUNK"),
            (page_map, "LEAST_CHUNK"), (page_map, "LEAST_PAGE"), (page_reader, "LEAST_DIVISIBLE"),
        ):  # fmt: skip
            stack.enter_context(patch.object(module, name, 1))
        yield


# ---------------------------------------------------------------- checking


class Checked:
    """A file, what the naive decoder says about it, and what an unfiltered scan gives, each worked out once."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.dataset = hw.open(data)
        self.file = naive.decode(data)
        self.rows = rows_of(self.file)
        self.columns = {leaf.path: self.file.leaf_records(leaf.leaf_index) for leaf in self.file.leaves}
        self.records = self.file.logical_records()
        self._whole: dict[Any, list[Any]] = {}

    def matching(self, predicate: Predicate) -> list[int]:
        return [number for number, row in enumerate(self.rows) if matches(predicate, row)]

    def scan(self, predicate: Predicate, select: Sequence[Any] | None = None) -> hw.Scan:
        scan = self.dataset.scan().filter(predicate)
        return scan if select is None else scan.select(*select)

    def check(self, predicate: Predicate, select: Sequence[Any] | None = None, **how: Any) -> list[int]:
        """Every terminal gives exactly the matching rows, which are returned."""
        wanted = self.matching(predicate)
        check_scan(self, narrowed(self.scan(predicate, select), **how), wanted, str(predicate))
        return wanted

    def whole(self, scan: hw.Scan, form: str, **options: Any) -> list[Any]:
        """What the terminals give for the same columns without a filter, row by row."""
        paths = tuple(leaf.path for leaf in scan.schema.leaves)
        key = (form, paths, str(options))
        if key not in self._whole:
            everything = self.dataset.scan().select(*paths)
            self._whole[key] = everything.to_arrow(**options).to_pylist() if form == "arrow" else numpy_rows(everything)
        return self._whole[key]


def narrowed(
    scan: hw.Scan, batch_size: int | None = None, threads: int | None = None, use_metadata: bool | None = None
) -> hw.Scan:
    scan = scan if batch_size is None else scan.batch_size(batch_size)
    scan = scan if threads is None else scan.threads(threads)
    return scan if use_metadata is None else scan.use_metadata(use_metadata)


def numpy_rows(scan: hw.Scan) -> list[Any]:
    arrays = [array.tolist() for array in scan.to_numpy().values()]
    return [list(row) for row in zip(*arrays, strict=True)]


def check_scan(checked: Checked, scan: hw.Scan, wanted: list[int], about: str) -> None:
    """All terminals against the rows `wanted` of the file."""
    leaves = scan.schema.leaves
    size = scan._selection.batch_size
    for is_used, is_divided in ((False, False), (True, False), (False, True)):
        with patch.object(whole_group, "IS_USED", is_used), divided() if is_divided else contextlib.nullcontext():
            found: list[list[Any]] = [[] for _ in leaves]
            for batch in (scan.threads(3) if is_divided else scan).batches():
                assert batch.num_rows > 0
                assert size is None or batch.num_rows <= size, about
                for into, column in zip(found, batch.columns, strict=True):
                    assert column.record_count == batch.num_rows
                    into += column_records(column)
        for leaf, values in zip(leaves, found, strict=True):
            records = checked.columns[leaf.path]
            difference = naive.first_difference(values, [records[row] for row in wanted])
            assert difference is None, f"{about}: batches, {leaf.dotted}, whole groups {is_used}: {difference}"
    assert scan.count() == len(wanted), about
    names = [child.name for child in scan.schema.children]
    if [child.name for child in checked.file.root.children] == names:
        rows = [dict(row) for row in scan.rows()]
        difference = naive.first_difference(rows, [checked.records[row] for row in wanted])
        assert difference is None, f"{about}: rows: {difference}"
    for options in arrow_forms(scan):
        table = scan.to_arrow(**options)
        table.validate(full=True)
        whole = checked.whole(scan, "arrow", **options)
        difference = naive.first_difference(table.to_pylist(), [whole[row] for row in wanted])
        assert difference is None, f"{about}: to_arrow({options}): {difference}"
    whole = checked.whole(scan, "numpy")
    difference = naive.first_difference(numpy_rows(scan), [whole[row] for row in wanted])
    assert difference is None, f"{about}: to_numpy: {difference}"


def arrow_forms(scan: hw.Scan) -> list[dict[str, Any]]:
    """Options of to_arrow; strings as views and as dictionaries only where there are byte arrays."""
    coded = [
        leaf.dotted
        for leaf in scan.schema.leaves
        if leaf.physical_type.name == "BYTE_ARRAY"
        and (leaf.logical_type is None or leaf.logical_type.kind in ("STRING", "ENUM", "JSON"))
        and not leaf.max_repetition_level
    ]
    forms: list[dict[str, Any]] = [{}]
    if any(leaf.physical_type.name == "BYTE_ARRAY" for leaf in scan.schema.leaves):
        forms.append({"strings": "view"})
    if coded:
        forms.append({"dictionary": coded})
    return forms


# ---------------------------------------------------------------- values


@dataclass(frozen=True)
class Kind:
    """A column type: how it is stored, in which encodings, and a value of it."""

    name: str
    physical: int
    make: Callable[[random.Random], Any]
    rest: dict[str, Any] = field(default_factory=dict)

    def leaf(self, name: str, repetition: int = p.REQUIRED) -> p.Node:
        return p.leaf(name, self.physical, repetition, **self.rest)

    @property
    def encodings(self) -> tuple[int, ...]:
        return ENCODINGS[self.physical]


ENCODINGS = {
    p.BOOLEAN: (p.PLAIN, p.RLE),
    p.INT32: (p.PLAIN, p.DELTA_BINARY_PACKED, p.BYTE_STREAM_SPLIT),
    p.INT64: (p.PLAIN, p.DELTA_BINARY_PACKED, p.BYTE_STREAM_SPLIT),
    p.INT96: (p.PLAIN,),
    p.FLOAT: (p.PLAIN, p.BYTE_STREAM_SPLIT),
    p.DOUBLE_TYPE: (p.PLAIN, p.BYTE_STREAM_SPLIT),
    p.BYTE_ARRAY: (p.PLAIN, p.DELTA_LENGTH_BYTE_ARRAY, p.DELTA_BYTE_ARRAY),
    p.FLBA: (p.PLAIN, p.DELTA_BYTE_ARRAY, p.BYTE_STREAM_SPLIT),
}


def whole(low: int, high: int) -> Callable[[random.Random], int]:
    """Often small, sometimes at the ends of the range."""

    def make(rng: random.Random) -> int:
        kind = rng.randrange(4)
        if kind == 0:
            return rng.choice([low, low + 1, high - 1, high])
        return rng.randint(low, high) if kind == 1 else rng.randint(max(low, -9), min(high, 9))

    return make


def signed(bits: int) -> Callable[[random.Random], int]:
    return whole(-(1 << (bits - 1)), (1 << (bits - 1)) - 1)


def stored_unsigned(bits: int, stored_bits: int) -> Callable[[random.Random], int]:
    """Numbers above half the range are stored as negative ones."""
    numbers = whole(0, (1 << bits) - 1)

    def make(rng: random.Random) -> int:
        number = numbers(rng)
        return number - (1 << stored_bits) if number >> (stored_bits - 1) else number

    return make


SPECIAL_FLOATS = (0.0, -0.0, float("inf"), float("-inf"), float("nan"), 1.5, -2.25, 1e-40, 65504.0)


def floats(form: str) -> Callable[[random.Random], float]:
    """Values that the width `form` of struct holds exactly."""

    def make(rng: random.Random) -> float:
        near = rng.choice(SPECIAL_FLOATS) if rng.random() < 0.6 else rng.uniform(-1000, 1000)
        return float(struct.unpack(form, struct.pack(form, near))[0])

    return make


def half(rng: random.Random) -> bytes:
    # One NaN with a payload and a sign beside the usual one.
    return rng.choice([b"\x01\xfe", struct.pack("<e", floats("<e")(rng)), struct.pack("<e", floats("<e")(rng))])


def text(rng: random.Random) -> bytes:
    known = ["", "a", "ab", "abc", "same", "prefix-1", "prefix-2", "Zürich", "日本語", "🦀", "longer than twelve bytes"]
    return rng.choice(known).encode() if rng.random() < 0.8 else rng.choice("xyz").encode() * rng.randrange(40)


def unscaled(precision: int) -> Callable[[random.Random], int]:
    return whole(-(10**precision) + 1, 10**precision - 1)


def decimal_bytes(precision: int, width: int | None) -> Callable[[random.Random], bytes]:
    """Big-endian two's complement; without a width as short as possible, or padded with one or two sign bytes."""

    def make(rng: random.Random) -> bytes:
        number = unscaled(precision)(rng)
        shortest = number.bit_length() // 8 + 1
        return number.to_bytes(width or shortest + rng.choice([0, 0, 1, 2]), "big", signed=True)

    return make


def int96(rng: random.Random) -> bytes:
    """Some with more nanoseconds than a day has, some with negative ones: the same instants in several forms."""
    instant = rng.choice([0, -1, 1, DAY - 1, DAY, rng.randrange(-3, 3) * DAY // 2, rng.randrange(-(10**17), 10**17)])
    day, nanos = divmod(instant, DAY)
    shift = rng.choice([0, 0, 1, -1, 2])
    return struct.pack("<qi", nanos + shift * DAY, EPOCH_DAY + day - shift)


def of_length(*lengths: int) -> Callable[[random.Random], bytes]:
    return lambda rng: bytes(rng.choice([0, 1, 127, 128, 255]) for _ in range(rng.choice(lengths)))


def time_of_day(per_day: int) -> Callable[[random.Random], int]:
    return lambda rng: rng.choice([0, 1, per_day - 1, per_day // 2, rng.randrange(per_day)])


def moment(per_second: int) -> Callable[[random.Random], int]:
    return lambda rng: (
        rng.choice([0, -1, 1, 1_735_689_600, rng.randrange(-(10**8), 10**8)]) * per_second
        + rng.choice([0, 0, 0, 1, -1])
    )


def _kinds() -> list[Kind]:
    integer = [
        Kind(
            f"{'int' if is_signed else 'uint'}{bits}",
            p.INT64 if bits == 64 else p.INT32,
            signed(bits) if is_signed else stored_unsigned(bits, 64 if bits == 64 else 32),
            {"logical": p.logical("INTEGER", bits=bits, signed=is_signed)},
        )
        for bits in (8, 16, 32, 64)
        for is_signed in (True, False)
    ]
    units = {"ms": 10**3, "us": 10**6, "ns": 10**9}
    times = [
        Kind(
            f"time_{unit}",
            p.INT32 if unit == "ms" else p.INT64,
            time_of_day(86_400 * per_second),
            {"logical": p.logical("TIME", unit=unit, utc=True)},
        )
        for unit, per_second in units.items()
    ]
    moments = [
        Kind(
            f"timestamp_{unit}_{'utc' if utc else 'local'}",
            p.INT64,
            moment(per_second),
            {"logical": p.logical("TIMESTAMP", unit=unit, utc=utc)},
        )
        for unit, per_second in units.items()
        for utc in (True, False)
    ]

    def decimal(name: str, physical: int, precision: int, scale: int, make: Any, **rest: Any) -> Kind:
        about = {"logical": p.logical("DECIMAL", precision=precision, scale=scale), "converted": p.DECIMAL}
        return Kind(name, physical, make, {**about, "scale": scale, "precision": precision, **rest})

    return [
        Kind("boolean", p.BOOLEAN, lambda rng: rng.random() < 0.5),
        Kind("bare_int32", p.INT32, signed(32)),
        Kind("bare_int64", p.INT64, signed(64)),
        *integer,
        Kind("float", p.FLOAT, floats("<f")),
        Kind("double", p.DOUBLE_TYPE, floats("<d")),
        Kind("float16", p.FLBA, half, {"type_length": 2, "logical": p.logical("FLOAT16")}),
        decimal("decimal_int32", p.INT32, 7, 2, unscaled(7)),
        decimal("decimal_int64", p.INT64, 15, 4, unscaled(15)),
        decimal("decimal_fixed", p.FLBA, 20, 2, decimal_bytes(20, 9), type_length=9),
        decimal("decimal_bytes", p.BYTE_ARRAY, 12, 3, decimal_bytes(12, None)),
        Kind("date", p.INT32, whole(-200_000, 200_000), {"logical": p.logical("DATE")}),
        *times,
        *moments,
        Kind("int96", p.INT96, int96),
        Kind("string", p.BYTE_ARRAY, text, {"logical": p.logical("STRING"), "converted": p.UTF8}),
        Kind("json", p.BYTE_ARRAY, text, {"logical": p.logical("JSON")}),
        Kind("bytes", p.BYTE_ARRAY, of_length(0, 1, 2, 3, 9, 20)),
        Kind("fixed5", p.FLBA, of_length(5), {"type_length": 5}),
        Kind("uuid", p.FLBA, of_length(16), {"type_length": 16, "logical": p.logical("UUID")}),
        Kind("interval", p.FLBA, of_length(12), {"type_length": 12, "converted": p.INTERVAL}),
    ]


KINDS = {kind.name: kind for kind in _kinds()}


# ---------------------------------------------------------------- files


def random_record(
    node: p.Node, pools: dict[str, list[Any]], rng: random.Random, nulls: float, path: str = ""
) -> dict[str, Any]:
    """A record of the stored structure of `node`; the values of a leaf come from the pool of its dotted path."""

    def one(child: p.Node, here: str) -> Any:
        if child.physical is None:
            return random_record(child, pools, rng, nulls, here + ".")
        return rng.choice(pools[here])

    record: dict[str, Any] = {}
    for child in node.children:
        here = path + child.name
        if child.repetition == p.REPEATED:
            record[child.name] = [one(child, here) for _ in range(rng.choice([0, 1, 1, 2, 3, 7]))]
        elif child.repetition == p.OPTIONAL and rng.random() < nulls:
            record[child.name] = None
        else:
            record[child.name] = one(child, here)
    return record


def pools_of(kinds: dict[str, Kind], rng: random.Random, distinct: int) -> dict[str, list[Any]]:
    """Some values for every leaf; `kinds` by dotted path."""
    return {path: [kind.make(rng) for _ in range(distinct)] for path, kind in kinds.items()}


@dataclass(frozen=True)
class Layout:
    """How `random_chunk` may lay out pages. The defaults are everything at once."""

    page_rows: tuple[int, ...] = (1, 3, 8, 40, 64, 65)
    versions: tuple[int, ...] = (1, 2)
    codecs: tuple[int, ...] = (p.UNCOMPRESSED, p.SNAPPY, p.ZSTD, p.GZIP)
    levels: tuple[str, ...] = ("auto", "rle", "packed", "ones", "BIT_PACKED")
    dictionary: tuple[str, ...] = ("none", "all", "fallback", "mixed")
    encodings: tuple[int, ...] | None = None  # None: those of the type


EVERYTHING = Layout()


def random_chunk(
    path: Sequence[p.PathStep], entries: Sequence[p.Entry], rng: random.Random, layout: Layout = EVERYTHING
) -> p.Chunk:
    """One column chunk: dictionary from the start, up to some page, here and there or not at all; odd pages between."""
    last = path[-1]
    physical = last.node.physical or 0
    encodings = layout.encodings or ENCODINGS[physical]
    form = rng.choice(layout.dictionary)
    pages: list[p.Page] = []
    entry_of: dict[Any, int] = {}
    width = 0
    if form != "none":
        dictionary: list[Any] = []
        for value in p.present(entries, last.definition):
            if identity(physical, value) not in entry_of:
                entry_of[identity(physical, value)] = len(dictionary)
                dictionary.append(value)
        dictionary += rng.choices(dictionary, k=rng.choice([0, 0, 2])) if dictionary else []  # twice, and unused
        width = max(len(dictionary) - 1, 0).bit_length() + rng.choice([0, 0, 3])
        pages.append(p.dictionary_page(physical, dictionary))
    has_index = rng.random() < 0.3
    step = rng.choice(layout.page_rows)
    start = 0
    while start < len(entries):
        stop = min(len(entries), start + max(1, step + rng.choice([0, 0, 1, -1])))
        version = rng.choice(layout.versions)
        if version == 2 or has_index:
            while stop < len(entries) and entries[stop][0] != 0:
                stop += 1
            while start < stop and entries[start][0] != 0:  # the rest of a record that a V1 page has left
                version = 1
                break
        part = entries[start:stop]
        levels = rng.choice([name for name in layout.levels if version == 1 or name != "BIT_PACKED"])
        stream = p.present(part, last.definition)
        coded = form == "all" or (form == "fallback" and start < len(entries) // 2)
        if coded or (form == "mixed" and rng.random() < 0.5):
            encoding = rng.choice([p.RLE_DICTIONARY, p.PLAIN_DICTIONARY])
            indexes = [entry_of[identity(physical, value)] for value in stream]
            values = p.dictionary_indexes(indexes, width, rng.choice(["auto", "rle", "packed", "ones"]))
        else:
            encoding = rng.choice(encodings)
            values = p.encode_values(encoding, physical, stream)
        make = p.data_page_v1 if version == 1 else p.data_page_v2
        options: dict[str, Any] = {"crc": rng.choice(["none", "right"])}
        if version == 2:
            options["compressed"] = rng.random() < 0.8
        pages.append(make(path, part, encoding, values, levels, **options))
        if not has_index and rng.random() < 0.05:
            pages.append(p.data_page_v1(path, []))
        start = stop
    if not entries:
        pages.append(p.data_page_v1(path, []))
    return p.Chunk(pages, rng.choice(layout.codecs), offset_index=has_index)


def identity(physical: int, value: Any) -> Any:
    """What makes two values one dictionary entry: their bytes."""
    return value if physical == p.BOOLEAN else p.plain_one(physical, value)


def random_file(
    root: p.Node,
    records: Sequence[dict[str, Any]],
    rng: random.Random,
    layout: Layout = EVERYTHING,
    rows_per_group: int | None = None,
) -> bytes:
    step = rows_per_group or max(len(records), 1)
    groups = []
    for start in range(0, len(records), step):
        part = records[start : start + step]
        chunks = [random_chunk(path, p.shred(path, part), rng, layout) for path in p.leaf_paths(root)]
        groups.append(p.RowGroup(chunks, len(part)))
    return p.build_file(root, groups)


# ---------------------------------------------------------------- predicates


def stored_values(file: naive.NaiveFile, leaf: naive.Node) -> list[Any]:
    return [value for _, definition, value in file.entries(leaf.leaf_index) if definition == leaf.definition]


def literal(leaf: naive.Node, value: Any) -> Any:
    """The literal that equals a stored value; None where Python has no exact one (nanoseconds of a time)."""
    kind, params = leaf.logical, leaf.params
    if kind == "INTEGER" and not params["signed"]:
        return value % (1 << (64 if leaf.physical == p.INT64 else 32))
    if kind == "FLOAT16":
        return float(struct.unpack("<e", value)[0])
    if kind == "DECIMAL":
        number = value if isinstance(value, int) else int.from_bytes(value, "big", signed=True)
        return naive.exact_decimal(number, params["scale"])
    if kind == "DATE":
        return dt.date(1970, 1, 1) + dt.timedelta(days=value)
    if kind == "TIME":
        nanos = value * {"ms": 10**6, "us": 10**3, "ns": 1}[params["unit"]]
        if nanos % 1000:
            return None
        return (dt.datetime(1970, 1, 1) + dt.timedelta(microseconds=nanos // 1000)).time()
    if kind == "TIMESTAMP":
        return Instant(value * {"ms": 10**6, "us": 10**3, "ns": 1}[params["unit"]], params["utc"])
    if leaf.physical == p.INT96:
        return Instant(naive.int96_nanoseconds(value), True)
    if kind == "UUID":
        return uuid.UUID(bytes=value)
    if kind in ("STRING", "JSON", "ENUM"):
        return value.decode()
    return value


def near_literal(leaf: naive.Node, value: Any, rng: random.Random) -> Any:
    """A literal at or near a stored value, storable or not, for an operator with an order."""
    exact = literal(leaf, value)
    if isinstance(exact, bool):
        return exact
    if isinstance(exact, int):
        half = Decimal(exact) + Decimal("0.5")
        return rng.choice([exact, exact, exact + 1, exact - 1, half, float(exact), 2**70, -(2**70), float("inf")])
    if isinstance(exact, float):
        others = [0, 0.0, -0.0, 1, float("nan"), float("inf"), float("-inf"), Decimal("0.1"), 1e-300, 2**200]
        return rng.choice([exact, exact, np.nextafter(exact, 0.0).item(), *others])
    if isinstance(exact, Decimal):
        half = exact + Decimal(5).scaleb(-leaf.params["scale"] - 1)
        return rng.choice([exact, exact, half, int(exact), float(exact), 10**60, -(10**60)])
    if isinstance(exact, dt.date):
        return exact + dt.timedelta(days=rng.choice([0, 0, 1, -1, 40_000]))
    if isinstance(exact, Instant):
        return Instant(exact.nanoseconds_since_epoch + rng.choice([0, 0, 1, -1, 10**6, 10**30]), exact.aware)
    if isinstance(exact, str):
        return rng.choice([exact, exact, exact + "\0", exact + "~", exact[:1], exact[:-1], ""])
    if isinstance(exact, bytes):
        return rng.choice([exact, exact, exact + b"\0", exact[:2], exact + b"\xff", b"\xff" * 3, b""])
    return exact  # a time, a UUID, or None


NO_ORDER = ("INTERVAL", "GEOMETRY", "GEOGRAPHY")


def random_test(file: naive.NaiveFile, rng: random.Random, leaf: naive.Node | None = None) -> Predicate:
    """One comparison, list, range, prefix or null test on one leaf."""
    leaf = leaf or rng.choice(file.leaves)
    column = random_reference(leaf, rng)
    values = stored_values(file, leaf)
    if not values or rng.random() < 0.12:
        return column.is_null() if rng.random() < 0.5 else column.is_not_null()
    chosen = rng.choice(values)
    exact = literal(leaf, chosen)
    if exact is None or (rng.random() < 0.1 and leaf.physical != p.INT96 and leaf.logical not in NO_ORDER):
        return compared(column.raw, rng.choice(OPERATORS), chosen)
    kind = rng.choice(["ordered", "ordered", "equal", "in", "not in", "between", "prefix"])
    if leaf.logical in NO_ORDER and kind in ("ordered", "between"):
        kind = "equal"
    is_text = isinstance(chosen, bytes) and leaf.logical in (None, "STRING", "JSON") and leaf.physical != p.INT96
    if kind == "prefix" and is_text:
        return column.starts_with(chosen[: rng.randrange(4)])
    if kind in ("in", "not in"):
        members = [literal(leaf, value) for value in rng.choices(values, k=rng.choice([0, 1, 2, 5, 9, 100]))]
        members = [member for member in members if member is not None]
        return column.is_in(members) if kind == "in" else ~column.is_in(members)
    if kind == "between":
        ends = [near_literal(leaf, chosen, rng), near_literal(leaf, rng.choice(values), rng)]
        return column.is_between(*ends) if None not in ends else compared(column, "ge", exact)
    if kind == "ordered":
        return compared(column, rng.choice(OPERATORS[2:]), near_literal(leaf, chosen, rng))
    return compared(column, rng.choice(OPERATORS[:2]), exact)


def random_reference(leaf: naive.Node, rng: random.Random) -> Col:
    """The leaf by its exact path or dotted; with any or all below a list."""
    column = col(leaf.path) if rng.random() < 0.5 else col(".".join(leaf.path))
    if leaf.repetition_level:
        return column.any() if rng.random() < 0.5 else column.all()
    return column


def compared(column: Col, op: str, value: Any) -> Predicate:
    tests = {
        "eq": column.__eq__,
        "ne": column.__ne__,
        "lt": column.__lt__,
        "le": column.__le__,
        "gt": column.__gt__,
        "ge": column.__ge__,
    }
    return tests[op](value)


def pair_kind(leaf: naive.Node) -> object:
    """Leaves of one kind compare with each other; None for those that compare with no column."""
    if leaf.repetition_level:
        return None
    if leaf.logical == "TIMESTAMP":
        return ("timestamp", leaf.params["utc"])
    if leaf.physical == p.INT96:
        return ("timestamp", True)
    if leaf.logical in ("DECIMAL", "DATE", "TIME", "UUID"):
        return leaf.logical
    if leaf.logical == "FLOAT16" or leaf.physical in (p.FLOAT, p.DOUBLE_TYPE):
        return "float"
    if leaf.logical in NO_ORDER:
        return None
    if leaf.physical in (p.INT32, p.INT64):
        return "integer"
    return "boolean" if leaf.physical == p.BOOLEAN else "bytes"


def random_pair(file: naive.NaiveFile, rng: random.Random) -> Predicate | None:
    """Two columns of one kind, which may be the same column."""
    leaves = [leaf for leaf in file.leaves if pair_kind(leaf) is not None]
    if not leaves:
        return None
    one = rng.choice(leaves)
    other = rng.choice([leaf for leaf in leaves if pair_kind(leaf) == pair_kind(one)])
    return compared(col(one.path), rng.choice(OPERATORS), col(other.path))


def groups_of(file: naive.NaiveFile) -> list[naive.Node]:
    """Structs, lists and maps that are not below a list: those whose presence can be asked for."""
    found: list[naive.Node] = []

    def walk(node: naive.Node) -> None:
        for child in node.children:
            if child.physical is None and child.repetition != p.REPEATED:
                found.append(child)
                if child.shape == "struct":
                    walk(child)

    walk(file.root)
    return found


def random_predicate(file: naive.NaiveFile, rng: random.Random, depth: int = 2) -> Predicate:
    """A tree of at most `depth` levels of and, or, not over tests that fit the file."""
    kind = rng.randrange(10)
    if depth and kind < 5:
        parts = [random_predicate(file, rng, depth - 1) for _ in range(rng.choice([2, 2, 3]))]
        joined = parts[0]
        for part in parts[1:]:
            joined = joined & part if kind < 3 else joined | part
        return joined
    if depth and kind == 5:
        return ~random_predicate(file, rng, depth - 1)
    if kind == 6:
        pair = random_pair(file, rng)
        if pair is not None:
            return pair
    groups = groups_of(file)
    if kind == 7 and groups:
        group = col(rng.choice(groups).path)
        return group.is_null() if rng.random() < 0.5 else group.is_not_null()
    return random_test(file, rng)
