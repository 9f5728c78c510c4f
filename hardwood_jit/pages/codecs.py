"""Codec -> function that decompresses one page body into a given buffer (cramjam), exactly filling it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cramjam
import numpy as np
from numpy.typing import NDArray

from hardwood_jit.errors import CorruptFileError, UnsupportedError
from hardwood_jit.physical import Codec

Bytes = NDArray[np.uint8]
Decompressor = Callable[[Bytes, Bytes], int]  # source, room for the result -> bytes written

_CRAMJAM: Any = cramjam  # its stubs ask for Buffer, which an array is to type checkers from Python 3.12 on only

# How many bytes one compressed byte can become at most; None where the format has no useful bound. A header that
# announces more is refused before anything is allocated for it.
EXPANSION: dict[Codec, int | None] = {
    Codec.UNCOMPRESSED: 1,
    Codec.SNAPPY: 24,  # a 3-byte copy element gives 64 bytes
    Codec.GZIP: 1100,  # deflate's limit is 1032
    Codec.LZ4: 256,
    Codec.LZ4_RAW: 256,
    Codec.ZSTD: None,
    Codec.BROTLI: None,
}


def _copy(src: Bytes, out: Bytes) -> int:
    if src.size > out.size:
        return int(src.size)
    out[: src.size] = src
    return int(src.size)


def _lz4_block(src: Bytes, out: Bytes) -> int:
    return int(_CRAMJAM.lz4.decompress_block_into(src, out, output_len=out.size))


def _lz4_hadoop(src: Bytes, out: Bytes) -> int:
    """Hadoop frames (big-endian sizes: decompressed, compressed), or one bare block where a writer put that."""
    try:
        return _lz4_frames(src, out)
    except (cramjam.DecompressionError, ValueError):
        return _lz4_block(src, out)


def _lz4_frames(src: Bytes, out: Bytes) -> int:
    """Frames of (decompressed size, blocks of (compressed size, bytes) that add up to it)."""
    pos, filled = 0, 0
    while pos < src.size:
        frame_end = filled + _big_endian(src, pos)
        pos += 4
        if frame_end > out.size:
            raise ValueError("frame is larger than the page")
        while filled < frame_end:
            packed = _big_endian(src, pos)
            pos += 4
            if packed > src.size - pos or packed == 0:
                raise ValueError("block is larger than the page")
            filled += _lz4_block(src[pos : pos + packed], out[filled:frame_end])
            pos += packed
    return filled


def _big_endian(src: Bytes, pos: int) -> int:
    if src.size - pos < 4:
        raise ValueError("frame header is cut off")
    return int.from_bytes(src[pos : pos + 4].tobytes(), "big")


DECOMPRESSORS: dict[Codec, Decompressor] = {
    Codec.UNCOMPRESSED: _copy,
    Codec.SNAPPY: _CRAMJAM.snappy.decompress_raw_into,
    Codec.GZIP: _CRAMJAM.gzip.decompress_into,  # several members one after the other, too
    Codec.BROTLI: _CRAMJAM.brotli.decompress_into,
    Codec.ZSTD: _CRAMJAM.zstd.decompress_into,
    Codec.LZ4_RAW: _lz4_block,
    Codec.LZ4: _lz4_hadoop,
}
NOT_YET: dict[Codec, str] = {Codec.LZO: "no maintained LZO library for Python; rewrite the file with another codec"}


def decompressor(codec: int, where: Callable[[], str]) -> tuple[Decompressor, int | None]:
    """The function for a codec number and its expansion bound, or the error that names it."""
    try:
        known = Codec(codec)
    except ValueError:
        raise UnsupportedError(f"{where()}: codec number {codec} is not one we know") from None
    if known in NOT_YET:
        raise UnsupportedError(f"{where()}: codec {known} is not supported: {NOT_YET[known]}")
    return DECOMPRESSORS[known], EXPANSION[known]


def zstd_content_size(body: Bytes) -> int:
    """The decompressed size that the header of a zstd frame announces (RFC 8878, 3.1.1.1); -1 without one."""
    head = body[:18].tobytes()
    if len(head) < 6 or head[:4] != b"\x28\xb5\x2f\xfd":
        return -1
    descriptor = head[4]
    is_single = descriptor >> 5 & 1  # then there is no window descriptor
    size_bytes = (is_single, 2, 4, 8)[descriptor >> 6]
    if size_bytes == 0:
        return -1
    start = 6 - is_single + (0, 1, 2, 4)[descriptor & 3]  # after the number of a dictionary
    found = head[start : start + size_bytes]
    if len(found) < size_bytes:
        return -1
    return int.from_bytes(found, "little") + (256 if size_bytes == 2 else 0)


def inflate_frames(bodies: list[Bytes], sizes: list[int], out: Bytes) -> bool:
    """Decompress the zstd frames of several pages side by side into `out` with one call; False where that is no way.

    One call takes 70 µs for seven pages that take 115 one by one, and gives the interpreter lock away once. The
    decoder holds each frame to the size it announces, so that none can fill the place of another.
    """
    if any(zstd_content_size(body) != size for body, size in zip(bodies, sizes, strict=True)):
        return False
    try:
        return bool(_CRAMJAM.zstd.decompress_into(np.concatenate(bodies), out) == sum(sizes) == out.size)
    except (cramjam.DecompressionError, ValueError, OverflowError):
        return False


def inflate(
    decompress: Decompressor, src: Bytes, out: Bytes, where: Callable[[int | None], str], page: int | None
) -> None:
    """Fill `out` exactly from `src`, or say what did not fit."""
    if out.size == 0:
        # Writers store nothing at all, or a frame of nothing: neither is worth a call.
        return
    try:
        written: Any = decompress(src, out)
    except (cramjam.DecompressionError, ValueError, OverflowError) as error:
        raise CorruptFileError(f"{where(page)}: {src.size} compressed bytes do not decompress: {error}") from None
    if written != out.size:
        raise CorruptFileError(f"{where(page)}: decompresses to {written} bytes, its header says {out.size}")
