"""Bloom filter headers: the one kind there is, or none."""

from __future__ import annotations

import pytest

from hardwood_jit.metadata.bloom import BloomFilterHeader, parse_bloom_header
from hardwood_jit.metadata.footer import read_footer
from hardwood_jit.source import LocalFile
from tests.support.corpus import corpus_names, corpus_root
from tests.support.pages import Thrift, i32, record

KIND = record({1: record({})})
HEADER = {1: i32(64), 2: KIND, 3: KIND, 4: KIND}


def test_header_gives_the_place_of_the_bits() -> None:
    raw = record(HEADER).encode()
    found = parse_bloom_header(raw + bytes(64), 1000, 1000 + len(raw) + 64)
    assert found == BloomFilterHeader(1000, len(raw), 64)
    assert found is not None and found.bitset_range == (1000 + len(raw), 64)


@pytest.mark.parametrize(
    "change",
    [{1: i32(0)}, {1: i32(-32)}, {1: i32(33)}, {1: None}, {2: None}, {3: record({2: record({})})}, {4: i32(1)}],
)
def test_malformed_headers_are_ignored(change: dict[int, Thrift | None]) -> None:
    assert parse_bloom_header(record({**HEADER, **change}).encode() + bytes(64), 0, 1 << 20) is None


def test_bits_beyond_the_file_and_cut_headers_are_ignored() -> None:
    raw = record(HEADER).encode()
    assert parse_bloom_header(raw + bytes(64), 1000, 1000 + len(raw) + 63) is None
    for cut in range(len(raw)):
        assert parse_bloom_header(raw[:cut], 0, 1 << 20) is None


def test_bloom_filters_of_the_corpus_have_headers() -> None:
    corpus_root()
    seen = 0
    for name in corpus_names():
        if "bloom" in name:
            for row_group in read_footer(LocalFile(str(corpus_root() / "dev" / name))).row_groups:
                for chunk in row_group.columns:
                    header = chunk.bloom_filter
                    assert (header is None) == (chunk.bloom_range is None)
                    seen += header is not None
    assert seen > 0
