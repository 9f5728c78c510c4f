"""Bytes at a bloom filter's offset -> its header, and probes of its bits (BloomFilter.md).

A filter that is malformed or of a kind we do not know is None.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hardwood_jit.errors import CorruptFileError
from hardwood_jit.metadata import structs

BLOCK_BYTES = 32
HEADER_BYTES = 64  # more than a header takes


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
    known = _LAST[0]
    if known is None or not raw.startswith(known[0]):
        known = _read_header(raw)
        if known is None:
            return None
        _LAST[0] = known
    header, count = known
    if offset + len(header) + count > file_size:
        return None
    return BloomFilterHeader(offset, len(header), count)


# The header that was read last, and the size that it states. All filters of a column mostly have the same one, and
# bytes that start with a whole struct start with no other.
_LAST: list[tuple[bytes, int] | None] = [None]


def _read_header(raw: bytes) -> tuple[bytes, int] | None:
    """The bytes of the header at the start of `raw`, and the bytes of the bit set."""
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
    return raw[:length], count


# XXH64 (seed 0) of the PLAIN bytes of a value, without the length in front of byte arrays.

_MASK = (1 << 64) - 1
_PRIME_1 = 0x9E3779B185EBCA87
_PRIME_2 = 0xC2B2AE3D27D4EB4F
_PRIME_3 = 0x165667B19E3779F9
_PRIME_4 = 0x85EBCA77C2B2AE63
_PRIME_5 = 0x27D4EB2F165667C5


def _rotate(word: int, bits: int) -> int:
    return ((word << bits) | (word >> (64 - bits))) & _MASK


def _round(state: int, word: int) -> int:
    return _rotate((state + word * _PRIME_2) & _MASK, 31) * _PRIME_1 & _MASK


def xxh64(raw: bytes) -> int:
    """The 64-bit xxHash of some bytes, seed 0.

    >>> from hardwood_jit.metadata.bloom import xxh64
    >>> hex(xxh64(b"")), hex(xxh64(b"abc"))
    ('0xef46db3751d8e999', '0x44bc2cf5ad770999')
    """
    at, size = 0, len(raw)
    if size >= 32:
        states = [(_PRIME_1 + _PRIME_2) & _MASK, _PRIME_2, 0, -_PRIME_1 & _MASK]
        while at + 32 <= size:
            for lane in range(4):
                word = int.from_bytes(raw[at + 8 * lane : at + 8 * lane + 8], "little")
                states[lane] = _round(states[lane], word)
            at += 32
        found = sum(_rotate(state, bits) for state, bits in zip(states, (1, 7, 12, 18), strict=True)) & _MASK
        for state in states:
            found = ((found ^ _round(0, state)) * _PRIME_1 + _PRIME_4) & _MASK
    else:
        found = _PRIME_5
    found = (found + size) & _MASK
    while at + 8 <= size:
        found ^= _round(0, int.from_bytes(raw[at : at + 8], "little"))
        found = (_rotate(found, 27) * _PRIME_1 + _PRIME_4) & _MASK
        at += 8
    if at + 4 <= size:
        found ^= int.from_bytes(raw[at : at + 4], "little") * _PRIME_1 & _MASK
        found = (_rotate(found, 23) * _PRIME_2 + _PRIME_3) & _MASK
        at += 4
    for byte in raw[at:]:
        found ^= byte * _PRIME_5 & _MASK
        found = _rotate(found, 11) * _PRIME_1 & _MASK
    found = (found ^ (found >> 33)) * _PRIME_2 & _MASK
    found = (found ^ (found >> 29)) * _PRIME_3 & _MASK
    return found ^ (found >> 32)


def hashes_of(values: Iterable[bytes]) -> NDArray[np.uint64]:
    """The hashes that a filter is asked about."""
    return np.array([xxh64(value) for value in values], np.uint64)


# Split blocks: the high half of a hash chooses a block of 32 bytes, the low half one bit in each of its eight words.

_SALT = np.array(
    [0x47B6137B, 0x44974D91, 0x8824AD5B, 0xA2B7289D, 0x705495C7, 0x2DF1424B, 0x9EFC4947, 0x5C6BFB31], np.uint32
)


def blocks_of(hashes: NDArray[np.uint64], num_bytes: int | NDArray[np.int64]) -> NDArray[np.int64]:
    """The number of the block that each hash belongs to, in a filter of so many bytes; arrays are broadcast."""
    high = hashes >> np.uint64(32)
    return ((high * np.asarray(num_bytes // BLOCK_BYTES, np.uint64)) >> np.uint64(32)).astype(np.int64)


def is_in_block(hashes: NDArray[np.uint64], blocks: NDArray[np.uint8]) -> NDArray[np.bool_]:
    """Whether the bits of each hash are set in the block beside it (uint8[count, 32])."""
    words = blocks.view("<u4")
    low = hashes.astype(np.uint32)
    bits = np.uint32(1) << ((low[:, None] * _SALT) >> np.uint32(27))
    found: NDArray[np.bool_] = ((words & bits) == bits).all(axis=1)
    return found
