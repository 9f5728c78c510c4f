"""Bytes at a bloom filter's offset -> its header (BloomFilter.md); None when malformed or of a kind we do not know."""

from __future__ import annotations

from dataclasses import dataclass

from hardwood_jit.errors import CorruptFileError
from hardwood_jit.metadata import structs

BLOCK_BYTES = 32


@dataclass(frozen=True)
class BloomFilterHeader:
    """A split block bloom filter with XXH64, uncompressed: the only kind there is."""

    offset: int  # of the header, in the file
    header_bytes: int
    num_bytes: int  # of the bit set; a multiple of 32

    @property
    def bitset_range(self) -> tuple[int, int]:
        """(offset, length) of the bit set in the file."""
        return self.offset + self.header_bytes, self.num_bytes


def parse_bloom_header(raw: bytes, offset: int, file_size: int) -> BloomFilterHeader | None:
    """The header at the start of `raw`, which was read at `offset`; more bytes may follow."""
    length = structs.struct_length(raw)
    if length < 0:
        return None
    try:
        found = structs.decode(structs.BloomFilterHeader, raw[:length], walked=True)
    except CorruptFileError:
        return None
    known = (
        found.algorithm is not None
        and found.algorithm.BLOCK is not None
        and found.hash is not None
        and found.hash.XXHASH is not None
        and found.compression is not None
        and found.compression.UNCOMPRESSED is not None
    )
    count = found.num_bytes
    if not known or count is None or count < BLOCK_BYTES or count % BLOCK_BYTES:
        return None
    if offset + length + count > file_size:
        return None
    return BloomFilterHeader(offset, length, count)
