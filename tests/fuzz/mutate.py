"""Turns honest files into damaged ones: case number -> bytes, the same bytes for the same seed.

Every file is kept in up to three forms: as it is; rewritten without compression and checksums, so that a changed byte
reaches the kernels and is not stopped by a codec or a CRC; and rewritten without compression but with checksums, where
every change inside a page must be noticed. Some cases rewrite the file once more around one changed page, index or
header, recompressed and with sizes and offsets that fit again.
"""

from __future__ import annotations

import io
import random
import struct
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tests.support import pages as p
from tests.support.corpus import corpus_files, corpus_root, expected
from tests.support.naive import _build_schema

KINDS = ("footer", "headers and levels", "values", "indexes and bloom filters", "cut")
BIG = 100_000  # files above this many bytes are only changed in place, never rewritten for a single case


@dataclass
class Form:
    """One form of a file and what lies where in it."""

    data: bytes
    regions: dict[str, list[tuple[int, int]]] = field(default_factory=dict)


@dataclass
class Source:
    """An honest file in its forms."""

    name: str
    original: Form
    plain: Form | None  # uncompressed, no checksums
    checked: Form | None  # uncompressed, right checksums
    weight: float
    checksums: bool = True  # False: the original's own checksums are wrong


@dataclass
class Case:
    """A damaged file. `covered`: every change lies under a checksum, so the values must equal the original's."""

    number: int
    source: str
    kind: str
    how: str
    data: bytes
    covered: bool = False

    def __str__(self) -> str:
        return f"case {self.number}: {self.source}, {self.kind}: {self.how}"


# ---------------------------------------------------------------- rewriting a file

EditBody = Callable[[int, bytes], bytes]
EditTree = Callable[[int, p.Thrift], p.Thrift]


def _bloom_bytes(data: bytes, offset: int, length: int | None) -> bytes:
    header, end = p.read_struct(data, offset)
    size = end - offset + header.plain()[1]
    return data[offset : offset + (length if length else size)]


def rewrite(
    data: bytes,
    uncompressed: bool = True,
    checksums: bool = False,
    edit_body: EditBody | None = None,
    edit_header: EditTree | None = None,
    edit_index: EditTree | None = None,
) -> Form:
    """The same file again, page by page. The edits see a running number of pages (or indexes) and may change them."""
    (length,) = struct.unpack_from("<I", data, len(data) - 8)
    footer, _ = p.read_struct(data, len(data) - 8 - length)
    _, leaves = _build_schema(footer.plain()[2])
    out = bytearray(b"PAR1")
    regions: dict[str, list[tuple[int, int]]] = {
        "header": [],
        "levels": [],
        "values": [],
        "index": [],
        "bloom": [],
        "footer": [],
    }
    groups = footer.value[4].value[1] if 4 in footer.value else []
    page_number = 0
    moved: dict[int, tuple[int, int]] = {}
    for group in groups:
        for leaf, column in zip(leaves, group.value[1].value[1], strict=True):
            about = column.value[3].value
            codec, left = about[4].value, about[5].value
            pos = about[9].value
            if 11 in about and 0 < about[11].value < pos:
                pos = about[11].value
            stop = pos + about[7].value
            begin = len(out)
            new_data_offset = new_dictionary_offset = None
            old_data_offset = about[9].value
            uncompressed_total = 0
            while left > 0 and pos < stop:
                old_at = pos
                tree, pos = p.read_struct(data, pos)
                header = dict(tree.value)
                plain = tree.plain()
                body = data[pos : pos + plain[3]]
                pos += plain[3]
                prefix = 0
                packed = codec != p.UNCOMPRESSED
                if plain[1] == p.DATA_PAGE_V2:
                    prefix = plain[8][5] + plain[8][6]
                    packed = packed and plain[8].get(7, True)
                values = body[prefix:]
                raw = body[:prefix] + (p.decompress(codec, values, plain[2] - prefix) if packed else values)
                if edit_body is not None:
                    raw = edit_body(page_number, raw)
                if packed and not uncompressed and len(raw) >= prefix:
                    body = raw[:prefix] + p.COMPRESS[codec](raw[prefix:])
                else:
                    body = raw
                header[2], header[3] = p.i32(len(raw)), p.i32(len(body))
                header.pop(4, None)
                if checksums:
                    crc = zlib.crc32(body)
                    header[4] = p.i32(crc - (1 << 32) if crc >> 31 else crc)
                new_header = p.Thrift(p.STRUCT, dict(sorted(header.items())))
                if edit_header is not None:
                    new_header = edit_header(page_number, new_header)
                encoded = new_header.encode()
                at = len(out)
                moved[old_at] = (at, len(encoded) + len(body))
                if plain[1] == p.DICTIONARY_PAGE and new_dictionary_offset is None:
                    new_dictionary_offset = at
                if plain[1] in (p.DATA_PAGE, p.DATA_PAGE_V2) and new_data_offset is None:
                    new_data_offset = at
                levels = prefix
                if plain[1] == p.DATA_PAGE:
                    levels = _level_bytes(raw, plain[5], leaf)
                start = at + len(encoded)
                regions["header"].append((at, start))
                if levels:
                    regions["levels"].append((start, start + min(levels, len(body))))
                if len(body) > levels:
                    regions["values"].append((start + levels, start + len(body)))
                out += encoded + body
                uncompressed_total += len(encoded) + len(raw)
                page_number += 1
                if plain[1] == p.DATA_PAGE:
                    left -= plain[5][1]
                elif plain[1] == p.DATA_PAGE_V2:
                    left -= plain[8][1]
            if uncompressed:
                about[4] = p.i32(p.UNCOMPRESSED)
            about[6], about[7] = p.i64(uncompressed_total), p.i64(len(out) - begin)
            shared = 11 not in about or about[11].value <= 0
            if shared and new_dictionary_offset is not None and old_data_offset in moved:
                about[9] = p.i64(moved[old_data_offset][0])
            else:
                about[9] = p.i64(new_data_offset if new_data_offset is not None else begin)
            if not shared:
                about[11] = p.i64(new_dictionary_offset if new_dictionary_offset is not None else begin)
            if 5 in group.value:
                group.value[5] = p.i64(4)
    index_number = 0
    for group in groups:
        for column in group.value[1].value[1]:
            fields = column.value
            about = fields[3].value
            if 14 in about and about[14].value > 0:
                blob = _bloom_bytes(data, about[14].value, about[15].value if 15 in about else None)
                about[14] = p.i64(len(out))
                regions["bloom"].append((len(out), len(out) + len(blob)))
                out += blob
            for offset, size in ((6, 7), (4, 5)):
                if offset not in fields or size not in fields or fields[size].value <= 0:
                    continue
                tree, _ = p.read_struct(data, fields[offset].value)
                if offset == 4:
                    for place in tree.value[1].value[1]:
                        if place.value[1].value in moved:
                            at, total = moved[place.value[1].value]
                            place.value[1], place.value[2] = p.i64(at), p.i32(total)
                if edit_index is not None:
                    tree = edit_index(index_number, tree)
                index_number += 1
                blob = tree.encode()
                fields[offset], fields[size] = p.i64(len(out)), p.i32(len(blob))
                regions["index"].append((len(out), len(out) + len(blob)))
                out += blob
    body = footer.encode()
    regions["footer"].append((len(out), len(out) + len(body) + 8))
    return Form(bytes(out) + body + struct.pack("<I", len(body)) + b"PAR1", regions)


def _level_bytes(raw: bytes, about: dict[int, Any], leaf: Any) -> int:
    pos = 0
    for highest, encoding in ((leaf.repetition_level, about[4]), (leaf.definition, about[3])):
        if highest == 0:
            continue
        if encoding == p.BIT_PACKED:
            pos += (about[1] * highest.bit_length() + 7) // 8
        else:
            if pos + 4 > len(raw):
                return len(raw)
            pos += 4 + struct.unpack_from("<I", raw, pos)[0]
    return min(pos, len(raw))


def _regions_in_place(data: bytes) -> dict[str, list[tuple[int, int]]]:
    """Footer, page headers and bodies of a file as it is; only the footer if its pages cannot be walked."""
    (length,) = struct.unpack_from("<I", data, len(data) - 8)
    regions: dict[str, list[tuple[int, int]]] = {
        "footer": [(len(data) - 8 - length, len(data))],
        "header": [],
        "values": [],
    }
    try:
        footer = p.read_struct(data, len(data) - 8 - length)[0].plain()
        for group in footer.get(4, []):
            for column in group[1]:
                about = column[3]
                pos = about[9]
                if 0 < about.get(11, 0) < pos:
                    pos = about[11]
                stop = min(len(data), pos + about[7])
                while pos < stop:
                    tree, end = p.read_struct(data, pos)
                    size = tree.plain()[3]
                    if size < 0 or end + size > stop:
                        break
                    regions["header"].append((pos, end))
                    if size:
                        regions["values"].append((end, end + size))
                    pos = end + size
    except (KeyError, IndexError, ValueError, TypeError):
        pass
    return regions


# ---------------------------------------------------------------- the honest files


def selfmade() -> list[tuple[str, bytes]]:
    """Forms that the corpus lacks: bloom filters beside indexes, every encoding in little pages, deep nesting."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    out = []
    rng = random.Random(11)
    rows = 120
    flat = pa.table(
        {
            "i": pa.array([None if rng.random() < 0.2 else rng.randrange(1000) for _ in range(rows)], pa.int32()),
            "l": pa.array([rng.randrange(1 << 60) for _ in range(rows)], pa.int64()),
            "d": pa.array([rng.random() for _ in range(rows)]),
            "s": pa.array([None if rng.random() < 0.2 else "text" * rng.randrange(4) for _ in range(rows)]),
            "f": pa.array([rng.randbytes(6) for _ in range(rows)], pa.binary(6)),
            "b": pa.array([None if rng.random() < 0.2 else rng.random() < 0.5 for _ in range(rows)]),
            "t": pa.array([rng.randrange(1 << 50) for _ in range(rows)], pa.timestamp("us", "UTC")),
        }
    )
    rounds = [
        {
            "i": "DELTA_BINARY_PACKED",
            "l": "DELTA_BINARY_PACKED",
            "d": "BYTE_STREAM_SPLIT",
            "s": "DELTA_BYTE_ARRAY",
            "f": "DELTA_BYTE_ARRAY",
            "b": "RLE",
        },
        {
            "i": "BYTE_STREAM_SPLIT",
            "l": "PLAIN",
            "d": "PLAIN",
            "s": "DELTA_LENGTH_BYTE_ARRAY",
            "f": "BYTE_STREAM_SPLIT",
            "b": "PLAIN",
        },
    ]
    for number, encodings in enumerate(rounds):
        for version in ("1.0", "2.0"):
            sink = io.BytesIO()
            pq.write_table(
                flat,
                sink,
                use_dictionary=False,
                column_encoding=encodings,
                data_page_version=version,
                data_page_size=200,
                write_batch_size=20,
                row_group_size=70,
                write_page_index=True,
                store_schema=False,
                compression="snappy",
            )
            out.append((f"selfmade/encodings-{number}-{version}", sink.getvalue()))
    nested = pa.table(
        {
            "ll": pa.array(
                [None if k % 7 == 3 else [None if j == 1 else list(range(j)) for j in range(k % 4)] for k in range(60)],
                pa.list_(pa.list_(pa.int32())),
            ),
            "m": pa.array(
                [[(str(j), {"x": [j] * j}) for j in range(k % 3)] for k in range(60)],
                pa.map_(pa.string(), pa.struct([("x", pa.list_(pa.int64()))])),
            ),
            "st": pa.array([None if k % 5 == 1 else {"a": k, "b": {"c": str(k)}} for k in range(60)]),
        }
    )
    for version in ("1.0", "2.0"):
        sink = io.BytesIO()
        pq.write_table(
            nested,
            sink,
            data_page_version=version,
            data_page_size=60,
            write_batch_size=10,
            row_group_size=40,
            write_page_index=True,
            store_schema=False,
            compression="zstd",
        )
        out.append((f"selfmade/nested-{version}", sink.getvalue()))
    root = p.group("root", p.leaf("id", p.INT64), p.leaf("name", p.BYTE_ARRAY, p.OPTIONAL, converted=p.UTF8))
    groups = []
    for start in (0, 40):
        records = [
            {"id": k, "name": None if k % 4 == 1 else f"name {k % 6}".encode()} for k in range(start, start + 40)
        ]
        chunks = []
        for path in p.leaf_paths(root):
            entries = p.shred(path, records)
            words = [*dict.fromkeys(value for _, _, value in entries if value is not None)]
            bloom = p.record(
                {
                    1: p.i32(64),
                    2: p.record({1: p.record({})}),
                    3: p.record({1: p.record({})}),
                    4: p.record({1: p.record({})}),
                }
            )
            bounds = [p.plain_one(path[-1].node.physical or 0, value) for value in (words[0], words[-1])]
            index = p.record(
                {
                    1: p.list_of([p.boolean(False)] * 4),
                    2: p.list_of([p.binary(bounds[0])] * 4),
                    3: p.list_of([p.binary(bounds[1])] * 4),
                    4: p.i32(0),
                    5: p.list_of([p.i64(1)] * 4),
                }
            )
            chunks.append(
                p.simple_chunk(
                    path,
                    entries,
                    p.RLE_DICTIONARY,
                    per_page=10,
                    dictionary=words,
                    offset_index=True,
                    column_index=index,
                    bloom=bloom.encode() + rng.randbytes(64),
                    page_options={"crc": "right"},
                    codec=p.SNAPPY,
                )
            )
        groups.append(p.RowGroup(chunks, 40))
    out.append(("selfmade/bloom", p.build_file(root, groups)))
    levels = p.group(
        "root", p.list_group("l", p.leaf("element", p.INT32, p.OPTIONAL)), p.leaf("b", p.BOOLEAN, p.OPTIONAL)
    )
    records = [{"l": [None, [], [1, None, k]][k % 3], "b": [None, True, False][k % 3]} for k in range(50)]
    out.append(("selfmade/bit-packed", p.simple_file(levels, records, levels="BIT_PACKED", per_page=15)))
    path = p.leaf_paths(levels)[1]
    chunk = p.simple_chunk(path, p.shred(path, records), p.RLE_DICTIONARY, dictionary=[True, False])
    other = p.simple_chunk(
        p.leaf_paths(levels)[0],
        p.shred(p.leaf_paths(levels)[0], records),
        p.DELTA_BINARY_PACKED,
        form={"block": 128, "miniblocks": 1},
    )
    out.append(("selfmade/boolean-dictionary", p.build_file(levels, [p.RowGroup([other, chunk], 50)])))
    return out


def load_sources() -> list[Source]:
    """Every corpus file and the self-made ones; small files weigh most."""
    root = corpus_root() / "dev"
    named = [(str(path.relative_to(root)), path.read_bytes()) for path in corpus_files()]
    out = []
    for name, data in [*named, *selfmade()]:
        about = expected().get(name, {"must": "read"})
        weight = 1 / (1 + len(data) / 2000)
        plain = checked = None
        if about["must"] == "read":
            plain = rewrite(data)
            checked = rewrite(data, checksums=True)
        else:
            weight /= 10
        out.append(Source(name, Form(data, _regions_in_place(data)), plain, checked, weight, about.get("crc") != "bad"))
    return out


# ---------------------------------------------------------------- changing bytes

SPECIAL = (0, 1, 2, 3, 0x7F, 0x80, 0xFE, 0xFF)
NUMBERS = (
    0,
    1,
    -1,
    2,
    7,
    127,
    128,
    255,
    256,
    32767,
    65536,
    2**31 - 1,
    -(2**31),
    2**31,
    2**32 - 1,
    2**62,
    2**63 - 1,
    -(2**63),
)


def change_bytes(rng: random.Random, data: bytes, start: int, end: int) -> tuple[bytes, str]:
    """Change one to eight bytes in [start, end), which is not empty."""
    out = bytearray(data)
    at = rng.randrange(start, end)
    kind = rng.randrange(6)
    if kind == 0:
        out[at] ^= 1 << rng.randrange(8)
        how = f"bit at {at}"
    elif kind == 1:
        out[at] = rng.choice(SPECIAL)
        how = f"byte at {at} = {out[at]}"
    elif kind == 2:
        out[at] = rng.randrange(256)
        how = f"byte at {at} = {out[at]}"
    elif kind == 3:
        places = [rng.randrange(start, end) for _ in range(rng.randrange(2, 9))]
        for place in places:
            out[place] = rng.randrange(256)
        how = f"bytes at {places}"
    elif kind == 4:
        number = struct.pack("<I", rng.choice(NUMBERS) & 0xFFFFFFFF)[: end - at]
        out[at : at + len(number)] = number
        how = f"bytes at {at} = {number.hex()}"
    else:
        out[at] = (out[at] + rng.choice((1, -1))) & 0xFF
        how = f"byte at {at} one off"
    if out == data:
        out[at] ^= 0x40
        how = f"bit 6 at {at}"
    return bytes(out), how


def change_tree(rng: random.Random, tree: p.Thrift) -> tuple[p.Thrift, str]:
    """Change one number, length or presence somewhere in a Thrift tree; the result is well-formed Thrift."""
    places: list[tuple[Any, Any]] = []

    def walk(item: p.Thrift) -> None:
        if item.kind == p.STRUCT:
            for number, inner in item.value.items():
                places.append((item.value, number))
                walk(inner)
        elif item.kind in (p.LIST, p.SET):
            for number, inner in enumerate(item.value[1]):
                places.append((item.value[1], number))
                walk(inner)

    walk(tree)
    if not places:
        return tree, "nothing to change"
    holder, key = rng.choice(places)
    old = holder[key]
    kind = rng.randrange(10)
    if kind == 0 and isinstance(holder, dict):
        del holder[key]
        return tree, f"field {key} dropped"
    if kind == 1 and isinstance(holder, list):
        holder.insert(key, old)
        return tree, f"list item {key} doubled"
    if kind == 2 and isinstance(holder, list):
        del holder[key]
        return tree, f"list item {key} dropped"
    if kind == 3 and isinstance(holder, dict):
        holder[key] = rng.choice(
            [p.binary(b"x"), p.i64(5), p.record({}), p.list_of([p.i32(1)]), p.boolean(True), p.double(0.5)]
        )
        return tree, f"field {key} of another type"
    if old.kind in (p.I16, p.I32, p.I64):
        limit = {p.I16: 16, p.I32: 32, p.I64: 64}[old.kind]
        new = rng.choice([*NUMBERS, old.value + 1, old.value - 1, -old.value, old.value * 2])
        new = ((new + (1 << (limit - 1))) & ((1 << limit) - 1)) - (1 << (limit - 1))
        holder[key] = p.Thrift(old.kind, new)
        return tree, f"number {old.value} = {new}"
    if old.kind == p.BINARY:
        new_bytes = rng.choice([b"", old.value + b"\0", old.value[:-1], b"\xff" * 9, rng.randbytes(rng.randrange(30))])
        holder[key] = p.binary(new_bytes)
        return tree, f"binary {old.value[:20]!r} = {new_bytes[:20]!r}"
    if old.kind in (p.TRUE, p.FALSE):
        if isinstance(holder, list):
            holder[key] = p.Thrift(old.kind, not old.value)
        else:
            holder[key] = p.boolean(not old.value)
        return tree, "boolean turned"
    if isinstance(holder, dict):
        del holder[key]
        return tree, f"field {key} dropped"
    return tree, "nothing to change"


def proofs_in(footer: p.Thrift) -> list[p.Thrift]:
    """The parts of a footer by which rows are left out: statistics, and where indexes and bloom filters are.

    What is changed in a part is changed in the footer.
    """
    found: list[p.Thrift] = []
    try:
        for group in footer.value[4].value[1]:
            for column in group.value[1].value[1]:
                about = column.value[3].value
                found += [about[number] for number in (12, 13) if number in about]  # statistics, encoding_stats
                found.append(p.Thrift(p.STRUCT, column.value))
                if 14 in about:
                    found += [column.value[3]] * 3
    except (KeyError, AttributeError, TypeError, IndexError):  # a file that is no honest one
        pass
    return found


# ---------------------------------------------------------------- cases


class Mutator:
    """Makes the case of a number. The same seed and number give the same bytes."""

    def __init__(self, sources: list[Source], seed: int) -> None:
        self.seed = seed
        self.sources = sources
        self.by_name = {source.name: source for source in sources}

    def _choose(self, rng: random.Random, fits: Callable[[Source], bool]) -> Source:
        able = [source for source in self.sources if fits(source)]
        return rng.choices(able, [source.weight for source in able])[0]

    def case(self, number: int, kind: str) -> Case:
        rng = random.Random(f"{self.seed}:{number}:{kind}")
        make = {
            "footer": self._footer,
            "headers and levels": self._headers,
            "values": self._values,
            "indexes and bloom filters": self._indexes,
            "cut": self._cut,
        }[kind]
        source, how, data, covered = make(rng)
        return Case(number, source.name, kind, how, data, covered)

    def _footer(self, rng: random.Random) -> tuple[Source, str, bytes, bool]:
        source = self._choose(rng, lambda source: True)
        form = source.original if source.plain is None or rng.random() < 0.5 else source.plain
        ((start, end),) = form.regions["footer"]
        if rng.random() < 0.5:
            data, how = change_bytes(rng, form.data, start, end)
            return source, how, data, False
        tree, _ = p.read_struct(form.data, start)
        proof = rng.choice(proofs) if rng.random() < 0.4 and (proofs := proofs_in(tree)) else tree
        _, how = change_tree(rng, proof)
        body = tree.encode()
        return source, how, form.data[:start] + body + struct.pack("<I", len(body)) + b"PAR1", False

    def _headers(self, rng: random.Random) -> tuple[Source, str, bytes, bool]:
        choice = rng.random()
        if choice < 0.35:
            source = self._choose(rng, lambda source: source.plain is not None and bool(source.plain.regions["levels"]))
            assert source.plain is not None
            start, end = rng.choice(source.plain.regions["levels"])
            data, how = change_bytes(rng, source.plain.data, start, end)
            return source, f"levels, {how}", data, False
        if choice < 0.7:
            source = self._choose(rng, lambda source: bool(source.original.regions["header"]))
            form = source.original if source.plain is None or rng.random() < 0.3 else source.plain
            start, end = rng.choice(form.regions["header"])
            data, how = change_bytes(rng, form.data, start, end)
            return source, f"header, {how}", data, False
        source = self._choose(
            rng,
            lambda source: (
                source.plain is not None and bool(source.plain.regions["header"]) and len(source.original.data) < BIG
            ),
        )
        assert source.plain is not None
        target = rng.randrange(len(source.plain.regions["header"]))
        said: list[str] = []

        def edit(number: int, tree: p.Thrift) -> p.Thrift:
            if number != target:
                return tree
            tree, how = change_tree(rng, tree)
            said.append(how)
            return tree

        form = rewrite(source.original.data, uncompressed=rng.random() < 0.7, edit_header=edit)
        return source, f"header of page {target}, {said}", form.data, False

    def _values(self, rng: random.Random) -> tuple[Source, str, bytes, bool]:
        choice = rng.random()
        has_values = lambda source: source.plain is not None and bool(source.plain.regions["values"])  # noqa: E731
        if choice < 0.6:
            source = self._choose(rng, has_values)
            assert source.plain is not None
            start, end = rng.choice(source.plain.regions["values"])
            if rng.random() < 0.5:
                end = min(end, start + 32)  # the head of a stream steers the rest
            data, how = change_bytes(rng, source.plain.data, start, end)
            return source, how, data, False
        if choice < 0.75:
            source = self._choose(rng, has_values)
            assert source.checked is not None
            start, end = rng.choice([*source.checked.regions["values"], *source.checked.regions["levels"]])
            data, how = change_bytes(rng, source.checked.data, start, end)
            return source, f"under a checksum, {how}", data, True
        source = self._choose(rng, lambda source: has_values(source) and len(source.original.data) < BIG)
        assert source.plain is not None
        target = rng.randrange(len(source.plain.regions["header"]))
        said: list[str] = []

        def edit(number: int, body: bytes) -> bytes:
            if number != target or not body:
                return body
            kind = rng.randrange(4)
            if kind == 0:
                said.append("cut")
                return body[: rng.randrange(len(body))]
            if kind == 1:
                said.append("longer")
                return body + rng.randbytes(rng.randrange(1, 40))
            body, how = change_bytes(rng, body, 0, len(body))
            said.append(how)
            return body

        try:
            form = rewrite(source.original.data, uncompressed=False, checksums=rng.random() < 0.5, edit_body=edit)
        except (ValueError, struct.error):
            form = source.plain
        return source, f"page {target} recompressed, {said}", form.data, False

    def _indexes(self, rng: random.Random) -> tuple[Source, str, bytes, bool]:
        def has(kind: str) -> Callable[[Source], bool]:
            return lambda source: source.plain is not None and bool(source.plain.regions[kind])

        choice = rng.random()
        if choice < 0.3:
            source = self._choose(rng, has("bloom"))
            assert source.plain is not None
            start, end = rng.choice(source.plain.regions["bloom"])
            data, how = change_bytes(rng, source.plain.data, start, min(end, start + 24))
            return source, f"bloom filter, {how}", data, False
        if choice < 0.65:
            source = self._choose(rng, has("index"))
            assert source.plain is not None
            start, end = rng.choice(source.plain.regions["index"])
            data, how = change_bytes(rng, source.plain.data, start, end)
            return source, f"index, {how}", data, False
        source = self._choose(rng, lambda source: has("index")(source) and len(source.original.data) < BIG)
        assert source.plain is not None
        target = rng.randrange(len(source.plain.regions["index"]))
        said: list[str] = []

        def edit(number: int, tree: p.Thrift) -> p.Thrift:
            if number != target:
                return tree
            tree, how = change_tree(rng, tree)
            said.append(how)
            return tree

        form = rewrite(source.original.data, edit_index=edit)
        return source, f"index {target}, {said}", form.data, False

    def _cut(self, rng: random.Random) -> tuple[Source, str, bytes, bool]:
        source = self._choose(rng, lambda source: True)
        data = source.original.data
        kind = rng.randrange(3)
        if kind == 0:
            end = rng.randrange(len(data))
            return source, f"ends at {end}", data[:end], False
        if kind == 1:  # the footer stays, bytes before it are gone: every offset is wrong
            ((start, end),) = source.original.regions["footer"]
            gone = rng.randrange(1, max(2, start - 3))
            at = rng.randrange(4, max(5, start - gone + 1))
            return source, f"{gone} bytes gone at {at}", data[:at] + data[at + gone : start] + data[start:], False
        at = rng.randrange(4, len(data))
        more = rng.randbytes(rng.randrange(1, 20))
        return source, f"{len(more)} bytes put in at {at}", data[:at] + more + data[at:], False
