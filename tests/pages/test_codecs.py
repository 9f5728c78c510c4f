"""Every codec gives back what a compressor made of the bytes, and refuses what does not fill the page exactly."""

from __future__ import annotations

import contextlib
import gzip
import random
import struct

import numpy as np
import pyarrow as pa
import pytest

from hardwood_jit.errors import CorruptFileError, UnsupportedError
from hardwood_jit.pages.codecs import (
    DECOMPRESSORS,
    EXPANSION,
    NOT_YET,
    decompressor,
    inflate,
    inflate_frames,
    zstd_content_size,
)
from hardwood_jit.physical import Codec
from tests.support.pages import COMPRESS, hadoop_lz4, lz4_block

CODECS = sorted(DECOMPRESSORS)
RANDOM = random.Random(1).randbytes(5000)
BODIES = {
    "one byte": b"x",
    "text": b"the quick brown fox " * 300,
    "zeros": bytes(100_000),
    "random": RANDOM,
    "mixed": RANDOM[:700] + bytes(9000) + RANDOM[:300] * 9,
}


def array(raw: bytes) -> np.ndarray:
    return np.frombuffer(raw, np.uint8).copy()


def page(codec: Codec, packed: bytes, size: int) -> bytes:
    """The decompressed page; the bytes around it must stay as they are."""
    buffer = np.full(size + 20, 0xEE, np.uint8)
    decompress, _ = decompressor(codec, lambda: "here")
    try:
        inflate(decompress, array(packed), buffer[10 : 10 + size], lambda page: "here", None)
    finally:
        assert set(buffer[:10].tolist()) | set(buffer[10 + size :].tolist()) == {0xEE}
    return buffer[10 : 10 + size].tobytes()


def test_every_codec_of_the_format_is_read_or_refused_with_a_reason() -> None:
    assert set(DECOMPRESSORS) | set(NOT_YET) == set(Codec)
    assert not set(DECOMPRESSORS) & set(NOT_YET)
    assert set(EXPANSION) == set(DECOMPRESSORS)
    assert all(NOT_YET.values())


@pytest.mark.parametrize("name", BODIES)
@pytest.mark.parametrize("codec", CODECS)
def test_what_was_compressed_comes_back(codec: Codec, name: str) -> None:
    assert page(codec, COMPRESS[codec](BODIES[name]), len(BODIES[name])) == BODIES[name]


@pytest.mark.parametrize("codec", CODECS)
def test_empty_page_needs_no_bytes_and_takes_any(codec: Codec) -> None:
    assert page(codec, b"", 0) == b""
    assert page(codec, COMPRESS[codec](b""), 0) == b""


@pytest.mark.parametrize("change", [-1, 1, -3000, 5000])
@pytest.mark.parametrize("codec", CODECS)
def test_page_of_another_size_than_announced_is_corrupt(codec: Codec, change: int) -> None:
    body = BODIES["mixed"]
    with pytest.raises(CorruptFileError, match="here: "):
        page(codec, COMPRESS[codec](body), len(body) + change)


@pytest.mark.parametrize("codec", CODECS)
def test_page_cut_anywhere_is_corrupt(codec: Codec) -> None:
    body = BODIES["text"][:200] + RANDOM[:60]
    packed = COMPRESS[codec](body)
    for end in range(len(packed)):
        # Checksums and end marks of a stream may be gone: then all of the content must be there.
        try:
            assert page(codec, packed[:end], len(body)) == body
            assert len(packed) - end <= 8
        except CorruptFileError:
            pass


@pytest.mark.parametrize("codec", CODECS)
def test_changed_bytes_give_an_error_or_a_full_page(codec: Codec) -> None:
    rng = random.Random(codec)
    body = BODIES["mixed"]
    packed = COMPRESS[codec](body)
    for _ in range(300):
        changed = bytearray(packed)
        for _ in range(rng.choice([1, 1, 4])):
            changed[rng.randrange(min(len(changed), rng.choice([8, 1 << 20])))] = rng.randrange(256)
        with contextlib.suppress(CorruptFileError):
            assert len(page(codec, bytes(changed), len(body))) == len(body)


@pytest.mark.parametrize("codec", [codec for codec in CODECS if codec != Codec.UNCOMPRESSED])
def test_garbage_and_nothing_at_all_are_corrupt(codec: Codec) -> None:
    for packed in (b"", b"\0", bytes(40), b"\xff" * 40, RANDOM[:40]):
        with pytest.raises(CorruptFileError):
            page(codec, packed, 1000)


@pytest.mark.parametrize("codec", CODECS)
def test_expansion_bound_is_above_what_the_best_input_reaches(codec: Codec) -> None:
    bound = EXPANSION[codec]
    body = bytes(4 << 20)
    if bound is not None:
        assert len(body) <= len(COMPRESS[codec](body)) * bound + 64


def test_gzip_of_several_members_is_one_page() -> None:
    body = BODIES["text"]
    packed = gzip.compress(body[:100]) + gzip.compress(b"") + gzip.compress(body[100:])
    assert page(Codec.GZIP, packed, len(body)) == body


def test_zstd_of_several_frames_is_one_page() -> None:
    body = BODIES["text"]
    packed = COMPRESS[Codec.ZSTD](body[:100]) + COMPRESS[Codec.ZSTD](body[100:])
    assert page(Codec.ZSTD, packed, len(body)) == body


# The header stores sizes in 1, 2, 4 bytes: up to 255, up to 65 791, above.
FRAME_SIZES = (1, 255, 256, 65_791, 65_792, 300_000)


def frame(size: int) -> bytes:
    """A zstd frame with its size in the header."""
    return bytes(pa.compress(random.Random(size).randbytes(size // 2) + bytes(size - size // 2), "zstd"))


def frames_inflated(frames: list[bytes], sizes: list[int]) -> bytes | None:
    out = np.full(sum(sizes) + 1, 0xEE, np.uint8)
    done = inflate_frames([array(packed) for packed in frames], sizes, out[:-1])
    assert out[-1] == 0xEE
    return out[:-1].tobytes() if done else None


def test_zstd_frames_of_several_pages_come_back_side_by_side() -> None:
    assert [zstd_content_size(array(frame(size))) for size in FRAME_SIZES] == list(FRAME_SIZES)
    wanted = b"".join(page(Codec.ZSTD, frame(size), size) for size in FRAME_SIZES)
    assert frames_inflated([frame(size) for size in FRAME_SIZES], list(FRAME_SIZES)) == wanted


def test_zstd_frames_that_do_not_fill_their_own_pages_are_left_to_be_read_one_by_one() -> None:
    assert frames_inflated([frame(100), frame(200)], [200, 100]) is None
    assert frames_inflated([frame(100), frame(200)[:-1]], [100, 200]) is None
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, "zstd") as stream:  # which does not know yet how much will come
        stream.write(bytes(200))
    streamed = sink.getvalue().to_pybytes()
    assert zstd_content_size(array(streamed)) == -1
    assert frames_inflated([frame(100), streamed], [100, 200]) is None
    for cut in range(18):
        assert zstd_content_size(array(frame(70_000)[:cut])) in (-1, 70_000)
    # Headers may lie: 200 bytes in the frame that announces 100, and 100 in the one that announces 200.
    lying = [bytearray(frame(200)), bytearray(frame(100))]
    assert (lying[0][5], lying[1][5]) == (200, 100)
    lying[0][5], lying[1][5] = 100, 200
    assert frames_inflated([bytes(packed) for packed in lying], [100, 200]) is None


@pytest.mark.parametrize("blocks", [1, 2, 3])
@pytest.mark.parametrize("frame", [100, 1000, 1 << 16])
def test_hadoop_frames_of_several_blocks_are_one_page(frame: int, blocks: int) -> None:
    for body in BODIES.values():
        assert page(Codec.LZ4, hadoop_lz4(body, frame, blocks), len(body)) == body


def test_hadoop_frame_of_nothing_is_passed_over() -> None:
    body = BODIES["text"]
    packed = struct.pack(">I", 0) + hadoop_lz4(body)
    assert page(Codec.LZ4, packed, len(body)) == body


def test_bare_block_stands_for_hadoop_frames() -> None:
    for body in BODIES.values():
        assert page(Codec.LZ4, lz4_block(body), len(body)) == body


@pytest.mark.parametrize("packed", [b"\0\0\0\x05\0\0\0\0", b"\0\0\0\x05" + b"\xff" * 4, b"\0\0\0", b"\xff" * 12])
def test_hadoop_frames_with_wrong_sizes_are_corrupt(packed: bytes) -> None:
    with pytest.raises(CorruptFileError):
        page(Codec.LZ4, packed, 500)


def test_lzo_and_unknown_codecs_are_not_supported_and_named() -> None:
    with pytest.raises(UnsupportedError, match="file: row group 1: codec LZO"):
        decompressor(Codec.LZO, lambda: "file: row group 1")
    for number in (8, 99, -1):
        with pytest.raises(UnsupportedError, match=f"codec number {number} "):
            decompressor(number, lambda: "file")
