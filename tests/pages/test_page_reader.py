"""Chunk bytes -> pages: found piece by piece or at once, decompressed on demand, held and dropped, and refused."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from hardwood_jit.kernels.slices import SLACK

from hardwood_jit.errors import CorruptFileError, UnsupportedError
from hardwood_jit.memory import Arena
from hardwood_jit.pages import page_reader
from hardwood_jit.pages.page_reader import ChunkFacts, PagePlan, PageReader, Pieces
from hardwood_jit.source import BytesSource
from tests.support import pages as p

FLAT = p.leaf_paths(p.group("r", p.leaf("a", p.INT64)))[0]
LIST = p.leaf_paths(p.group("r", p.list_group("l", p.leaf("element", p.INT64, p.OPTIONAL))))[0]
BEFORE, AFTER = b"before " * 5, b"after!" * 40


def flat_page(low: int, high: int, version: int = 1, **options: Any) -> p.Page:
    make = p.data_page_v1 if version == 1 else p.data_page_v2
    return make(FLAT, [(0, 0, value) for value in range(low, high)], **options)


class Chunk:
    """Pages written behind some other bytes, and readers over them."""

    def __init__(self, pages: list[p.Page], codec: int = p.UNCOMPRESSED, tail: bytes = AFTER) -> None:
        self.pages = pages
        self.codec = codec
        self.raw = BEFORE
        self.places: list[tuple[int, int]] = []
        for page in pages:
            header, body = page.encode(codec)
            self.places.append((len(self.raw), len(self.raw) + len(header) + len(body)))
            self.raw += header + body
        self.start, self.stop = len(BEFORE), len(self.raw)
        self.raw += tail

    def reader(
        self,
        at_once: bool = True,
        plan: PagePlan | None = None,
        levels: int = 0,
        arena: Arena | None = None,
        **facts: Any,
    ) -> PageReader:
        values = sum(page.value_count for page in self.pages)
        given = {
            "file": "f.parquet", "row_group": 2, "column": "a", "start": self.start, "stop": self.stop,
            "limit": len(self.raw), "value_count": values, "row_count": values, "codec": self.codec,
        }  # fmt: skip
        options = {name: facts.pop(name) for name in ("checksums", "max_page_bytes") if name in facts}
        given.update(facts)
        source = BytesSource(self.raw)
        ranges = plan.runs() if plan else [(given["start"], given["stop"])]
        fetched = [source.read(a, b - a) for a, b in ranges] if at_once else None
        return PageReader(
            ChunkFacts(**given),
            Pieces(source, ranges, fetched),
            Arena() if arena is None else arena,
            max_repetition_level=levels,
            checksums=options.get("checksums", True),
            max_page_bytes=options.get("max_page_bytes", 1 << 28),
            plan=plan,
        )


def discover_all(reader: PageReader) -> int:
    while reader.discover():
        pass
    return len(reader.headers)


def held(reader: PageReader) -> list[bytes]:
    return [reader.arena[a:b].tobytes() for a, b in reader.spans]


def chunk_of(counts: list[int], codec: int = p.UNCOMPRESSED, version: int = 1) -> Chunk:
    pages, low = [], 0
    for count in counts:
        pages.append(flat_page(low, low + count, version))
        low += count
    return Chunk(pages, codec)


@pytest.mark.parametrize("at_once", [True, False])
@pytest.mark.parametrize("codec", [p.UNCOMPRESSED, p.SNAPPY, p.ZSTD])
@pytest.mark.parametrize("version", [1, 2])
def test_pages_are_found_and_decompressed_one_behind_the_other(codec: int, version: int, at_once: bool) -> None:
    chunk = chunk_of([5, 1, 300, 0, 7], codec, version)
    reader = chunk.reader(at_once)
    assert discover_all(reader) == 5
    assert reader.first_rows == [0, 5, 6, 306, 306]
    assert reader.stop_rows == [5, 6, 306, 306, 313]
    for number in range(5):
        assert reader.page_bytes(number) == len(chunk.pages[number].body)
        reader.load_through(number + 1)
    assert held(reader) == [page.body for page in chunk.pages]
    assert reader.arena.size >= reader.spans[-1][1] + SLACK
    reader.check_complete()
    assert not reader.discover()


@pytest.mark.parametrize("first", [1, 10, 50, 1000])
def test_pages_larger_than_a_piece_are_read_in_several(monkeypatch: pytest.MonkeyPatch, first: int) -> None:
    monkeypatch.setattr(page_reader, "FIRST_BLOCK", first)
    monkeypatch.setattr(page_reader, "LAST_BLOCK", first * 2)
    chunk = chunk_of([1, 200, 3, 900, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2])
    reader = chunk.reader(at_once=False)
    assert discover_all(reader) == 15
    for number in range(15):
        reader.load_through(number + 1)
    assert held(reader) == [page.body for page in chunk.pages]


def test_only_as_much_is_read_as_the_pages_asked_for_need(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page_reader, "FIRST_BLOCK", 200)
    chunk = chunk_of([10] * 50)
    reader = chunk.reader(at_once=False)
    assert reader.discover()
    assert reader._pieces.source.counts.bytes <= 200


def test_more_pages_than_a_table_has_rows_are_found() -> None:
    assert discover_all(chunk_of([1] * 3000).reader()) == 3000


@pytest.mark.parametrize("seed", range(5))
def test_held_pages_are_those_between_the_first_and_last_asked_for(seed: int) -> None:
    rng = random.Random(seed)
    chunk = chunk_of([rng.randrange(1, 40) for _ in range(30)])
    reader = chunk.reader()
    discover_all(reader)
    first = last = 0
    while last < 30:
        for _ in range(rng.randint(1, 5)):
            if last < 30:
                reader.load_through(last + 1)
                last += 1
        first = rng.randint(first, last)
        if rng.random() < 0.2:
            first = last = min(last + rng.randint(0, 3), 30)  # pages passed over without being decompressed
        reader.drop_before(first, Arena() if rng.random() < 0.3 else None)
        assert held(reader) == [page.body for page in chunk.pages[first:last]]
        assert reader.first_held == first


def test_results_keep_the_old_arena_when_another_one_takes_over() -> None:
    chunk = chunk_of([3, 3, 5])
    reader = chunk.reader()
    discover_all(reader)
    reader.load_through(1)
    reader.load_through(2)
    old, spans = reader.arena, reader.spans
    reader.drop_before(1, Arena())
    reader.load_through(3)
    assert [old[a:b].tobytes() for a, b in spans] == [page.body for page in chunk.pages[:2]]
    assert held(reader) == [page.body for page in chunk.pages[1:]]


@pytest.mark.parametrize("codec", [p.UNCOMPRESSED, p.GZIP])
def test_dictionary_is_loaded_before_the_first_data_page(codec: int) -> None:
    chunk = Chunk([p.dictionary_page(p.INT64, [7, 8, 9]), p.index_page(), p.unknown_page(), flat_page(0, 4)], codec)
    reader = chunk.reader()
    assert reader.dictionary() is None
    assert discover_all(reader) == 1
    found = reader.dictionary()
    assert found is not None
    assert found[: reader.dictionary_bytes].view(np.int64).tolist() == [7, 8, 9]
    assert found.size >= reader.dictionary_bytes + SLACK
    assert reader.dictionary_count == 3


@pytest.mark.parametrize("where", ["twice", "behind data", "odd encoding"])
def test_dictionary_at_the_wrong_place_is_refused(where: str) -> None:
    page = p.dictionary_page(p.INT64, [1])
    pages = {
        "twice": [page, page, flat_page(0, 3)],
        "behind data": [flat_page(0, 3), page, flat_page(3, 5)],
        "odd encoding": [p.dictionary_page(p.INT64, [1], p.DELTA_BINARY_PACKED), flat_page(0, 3)],
    }[where]
    with pytest.raises(CorruptFileError, match=r"row group 2, column 'a'.*dictionary page"):
        discover_all(Chunk(pages).reader())


@pytest.mark.parametrize("at_once", [True, False])
def test_page_that_runs_past_its_chunk_is_refused(at_once: bool) -> None:
    chunk = Chunk([flat_page(0, 40), flat_page(40, 80)])
    for cut in (101, 200, 320):
        with pytest.raises(CorruptFileError, match="page 1"):
            discover_all(chunk.reader(at_once, stop=chunk.stop - cut))


@pytest.mark.parametrize("at_once", [True, False])
@pytest.mark.parametrize("cut", [1, 20, 99])
def test_a_few_bytes_more_than_the_footer_says_are_read(at_once: bool, cut: int) -> None:
    chunk = Chunk([flat_page(0, 40), flat_page(40, 80)])
    reader = chunk.reader(at_once, stop=chunk.stop - cut)
    assert discover_all(reader) == 2
    reader.load_through(1)
    reader.load_through(2)
    assert held(reader) == [page.body for page in chunk.pages]


def test_bytes_behind_the_limit_are_never_a_page() -> None:
    chunk = Chunk([flat_page(0, 40), flat_page(40, 80)])
    with pytest.raises(CorruptFileError, match="past the end"):
        discover_all(chunk.reader(stop=chunk.stop - 10, limit=chunk.stop - 1))


@pytest.mark.parametrize("at_once", [True, False])
def test_chunk_cut_at_any_byte_is_an_error_or_short_of_values(at_once: bool) -> None:
    chunk = Chunk([flat_page(0, 3), flat_page(3, 5)], tail=b"")
    for stop in range(chunk.start, chunk.stop):
        reader = chunk.reader(at_once, stop=stop, limit=stop)
        with pytest.raises(CorruptFileError):
            discover_all(reader)
            reader.check_complete()


@pytest.mark.parametrize("count", [0, 2, 8, 12])
def test_footer_with_another_number_of_values_is_noticed_where_it_matters(count: int) -> None:
    reader = chunk_of([4, 4]).reader(value_count=count, row_count=8)
    discover_all(reader)
    if count > 8:
        with pytest.raises(CorruptFileError, match="hold 8 values, the footer says 12"):
            reader.check_complete()
    else:
        reader.check_complete()
    assert len(reader.headers) == {0: 0, 2: 1, 8: 2, 12: 2}[count]


def test_pages_with_more_rows_than_the_row_group_are_refused() -> None:
    with pytest.raises(CorruptFileError, match="page 1: rows up to 8, but the row group has 7"):
        discover_all(chunk_of([4, 4]).reader(row_count=7))


@pytest.mark.parametrize("kind", ["dictionary", "v1", "v2"])
def test_wrong_checksum_is_refused_unless_checksums_are_off(kind: str) -> None:
    if kind == "dictionary":
        pages = [p.dictionary_page(p.INT64, [1], crc="wrong"), flat_page(0, 3)]
    else:
        pages = [flat_page(0, 3, crc="right"), flat_page(3, 6, 1 if kind == "v1" else 2, crc="wrong")]
    for checksums in (True, False):
        reader = Chunk(pages, p.SNAPPY).reader(checksums=checksums)

        def read(reader: PageReader = reader) -> None:
            discover_all(reader)
            reader.dictionary()
            for number in range(len(reader.headers)):
                reader.load_through(number + 1)

        if checksums:
            with pytest.raises(CorruptFileError, match="checksum 0x"):
                read()
        else:
            read()


@pytest.mark.parametrize("codec", [p.SNAPPY, p.GZIP, p.UNCOMPRESSED, p.LZ4_RAW])
def test_size_that_the_codec_cannot_reach_is_refused_before_memory_is_taken(codec: int) -> None:
    chunk = Chunk([flat_page(0, 3, header_size_change=200 << 20)], codec)
    arena = Arena()
    reader = chunk.reader(arena=arena)
    discover_all(reader)
    with pytest.raises(CorruptFileError, match="cannot decompress to"):
        reader.load_through(1)
    assert arena.buffer.size == 0


def test_page_above_the_limit_is_unsupported_and_says_what_to_do() -> None:
    for page, dictionary in ((flat_page(0, 300), False), (p.dictionary_page(p.INT64, list(range(300))), True)):
        reader = Chunk([page, flat_page(0, 1)]).reader(max_page_bytes=2399, value_count=301)
        with pytest.raises(UnsupportedError, match="larger max_page_bytes"):
            discover_all(reader)
            assert not dictionary
            reader.load_through(1)


@pytest.mark.parametrize("change", [-1, 1, -24])
@pytest.mark.parametrize("version", [1, 2])
def test_page_of_another_size_than_its_header_says_is_refused(version: int, change: int) -> None:
    for compressed in (True, False):
        options = {"compressed": compressed} if version == 2 else {}
        reader = Chunk([flat_page(0, 3, version, header_size_change=change, **options)], p.SNAPPY).reader()
        discover_all(reader)
        if change == -24 and (compressed or version == 1):
            reader.load_through(1)  # a page of no bytes needs none
            continue
        with pytest.raises(CorruptFileError, match="page 0"):
            reader.load_through(1)


# Pages chosen from an offset index


def plan_of(chunk: Chunk, chosen: list[int], rows: list[int], dictionary: bool = False) -> PagePlan:
    data = chunk.places[1:] if dictionary else chunk.places
    return PagePlan(
        chunk.places[0] if dictionary else None,
        [data[page][0] for page in chosen],
        [data[page][1] for page in chosen],
        [rows[page] for page in chosen],
        [rows[page + 1] for page in chosen],
        chosen,
    )


@pytest.mark.parametrize("at_once", [True, False])
def test_chosen_pages_are_read_in_runs_and_nothing_else_is(at_once: bool) -> None:
    dictionary = p.dictionary_page(p.INT64, [5])
    pages = [flat_page(10 * n, 10 * n + 10) for n in range(6)]
    chunk = Chunk([dictionary, *pages])
    plan = plan_of(chunk, [1, 2, 4], list(range(0, 70, 10)), dictionary=True)
    assert len(plan.runs()) == 3
    reader = chunk.reader(at_once, plan, row_count=60)
    assert discover_all(reader) == 3
    assert reader.first_rows == [10, 20, 40]
    assert reader.stop_rows == [20, 30, 50]
    assert reader.dictionary_count == 1
    for number in range(3):
        reader.load_through(number + 1)
    assert held(reader) == [pages[number].body for number in (1, 2, 4)]
    assert reader._pieces.source.counts.bytes == sum(stop - start for start, stop in plan.runs())
    assert "page 4" in reader.where(2)


def test_offset_index_that_disagrees_with_its_pages_is_refused() -> None:
    chunk = chunk_of([10, 10, 10])
    with pytest.raises(CorruptFileError, match="page 1: holds 10 rows, its offset index says 9"):
        discover_all(chunk.reader(plan=plan_of(chunk, [1, 2], [0, 11, 20, 30])))
    short = plan_of(chunk, [0, 2], [0, 10, 20, 30])
    short.stops[0] -= 8
    with pytest.raises(CorruptFileError, match="past the end"):
        discover_all(chunk.reader(plan=short))
    long = plan_of(chunk, [0], [0, 10, 20, 30])
    long.stops[0] = chunk.places[1][1]
    with pytest.raises(CorruptFileError, match="more pages than its offset index lists"):
        discover_all(chunk.reader(plan=long))


# Pages of repeated columns


def list_pages(records: list[list[int]], cuts: list[int], versions: list[int]) -> list[p.Page]:
    entries = p.shred(LIST, [{"l": record} for record in records])
    edges = [0, *cuts, len(entries)]
    return [
        (p.data_page_v1 if version == 1 else p.data_page_v2)(LIST, entries[low:high])
        for low, high, version in zip(edges, edges[1:], versions, strict=False)
    ]


def test_rows_of_a_repeated_column_are_known_from_v2_headers_only() -> None:
    records = [[1, 2], [3], [4, 5, 6], []]
    known = Chunk(list_pages(records, [3], [2, 2])).reader(levels=1, row_count=4)
    discover_all(known)
    assert (known.first_rows, known.stop_rows) == ([0, 2], [2, 4])
    unknown = Chunk(list_pages(records, [3], [1, 1])).reader(levels=1, row_count=4)
    discover_all(unknown)
    assert unknown.stop_rows == [-1, -1]


def test_rows_of_a_v2_page_behind_a_v1_page_are_not_guessed() -> None:
    records = [[1, 2], [3], [4, 5, 6], []]
    reader = Chunk(list_pages(records, [3], [1, 2])).reader(levels=1, row_count=4)
    discover_all(reader)
    assert (reader.first_rows[1], reader.stop_rows[1]) in ((2, 4), (-1, -1))
