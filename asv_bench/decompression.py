"""Columns of a file to the decompression of their pages and nothing else: the floor under a scan of them.

The compressed bytes are in memory before the clock starts, threads take row groups in turn, and the pages of a chunk
land behind one another in a buffer that each thread uses again: the conditions of our reader, without its work.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import Empty, SimpleQueue

import cramjam
import numpy as np
import pyarrow.parquet as pq
from thrift.protocol.TCompactProtocol import TCompactProtocol
from thrift.Thrift import TType
from thrift.transport.TTransport import TMemoryBuffer

# Fields of PageHeader (parquet.thrift).
UNCOMPRESSED_PAGE_SIZE, COMPRESSED_PAGE_SIZE = 2, 3

Page = tuple[np.ndarray, int]  # compressed bytes, size once decompressed


def _read_header(chunk: bytes, start: int) -> tuple[int, int, int]:
    """Where the body of the page at `start` begins, its bytes, and its bytes once decompressed."""
    # A header is far smaller than this: no statistics of more than a few hundred bytes are written.
    transport = TMemoryBuffer(chunk[start : start + 4096])
    protocol = TCompactProtocol(transport)
    sizes = {}
    protocol.readStructBegin()
    while True:
        _, kind, number = protocol.readFieldBegin()
        if kind == TType.STOP:
            break
        if number in (UNCOMPRESSED_PAGE_SIZE, COMPRESSED_PAGE_SIZE):
            sizes[number] = protocol.readI32()
        else:
            protocol.skip(kind)
        protocol.readFieldEnd()
    return start + transport._buffer.tell(), sizes[COMPRESSED_PAGE_SIZE], sizes[UNCOMPRESSED_PAGE_SIZE]


def _split_pages(chunk: bytes) -> list[Page]:
    """The pages of a column chunk, the dictionary page first."""
    data = np.frombuffer(chunk, np.uint8)
    pages = []
    pos = 0
    while pos < len(chunk):
        body, compressed, uncompressed = _read_header(chunk, pos)
        pos = body + compressed
        pages.append((data[body:pos], uncompressed))
    return pages


def read_pages(path: str, columns: tuple[str, ...]) -> list[list[list[Page]]]:
    """Row groups of chunks of pages, still compressed; snappy only."""
    metadata = pq.read_metadata(path)
    groups = []
    with Path(path).open("rb") as file:
        for number in range(metadata.num_row_groups):
            group = metadata.row_group(number)
            chunks = [group.column(position) for position in range(group.num_columns)]
            pages = []
            for chunk in chunks:
                if chunk.path_in_schema not in columns:
                    continue
                if chunk.compression != "SNAPPY":
                    raise ValueError(f"{path}: {chunk.path_in_schema} is {chunk.compression}, SNAPPY needed")
                file.seek(chunk.dictionary_page_offset or chunk.data_page_offset)
                pages.append(_split_pages(file.read(chunk.total_compressed_size)))
            groups.append(pages)
    return groups


class Decompression:
    """Decompresses all pages once per call, on as many threads as asked for."""

    def __init__(self, path: str, columns: tuple[str, ...], threads: int) -> None:
        self._groups = read_pages(path, columns)
        room = max(sum(size for _, size in chunk) for group in self._groups for chunk in group)
        self._buffers = [np.zeros(room, np.uint8) for _ in range(threads)]  # zeros: touched before the clock starts
        self._pool = ThreadPoolExecutor(threads)

    def _work(self, groups: SimpleQueue[list[list[Page]]], buffer: np.ndarray) -> None:
        decompress: Callable[[np.ndarray, np.ndarray], int] = cramjam.snappy.decompress_raw_into
        while True:
            try:
                group = groups.get_nowait()
            except Empty:
                return
            for chunk in group:
                start = 0
                for source, size in chunk:
                    decompress(source, buffer[start : start + size])
                    start += size

    def __call__(self) -> None:
        groups: SimpleQueue[list[list[Page]]] = SimpleQueue()
        for group in self._groups:
            groups.put(group)
        for done in [self._pool.submit(self._work, groups, buffer) for buffer in self._buffers]:
            done.result()
