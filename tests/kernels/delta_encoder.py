"""A slow, obvious encoder of DELTA_BINARY_PACKED, and the slice tables and validity words that kernel tests share."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
from hardwood_jit.kernels.slices import SLACK

NO_NULLS = np.zeros(0, np.uint64)


def varint(value: int) -> bytes:
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def signed(value: int, bits: int) -> int:
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value


def zigzag_varint(value: int) -> bytes:
    return varint((value << 1) ^ -1 if value < 0 else value << 1)


def encode_deltas(
    values: Sequence[int],
    bits: int = 64,
    block: int = 128,
    miniblocks: int = 4,
    unused_width: int = 0,
    cut: bool = False,
) -> bytes:
    """Signed `values`, differences modulo 2**bits; `cut` leaves out the padding of the last miniblock."""
    out = bytearray(varint(block) + varint(miniblocks) + varint(len(values)))
    out += zigzag_varint(values[0] if values else 0)
    deltas = [signed(b - a, bits) for a, b in itertools.pairwise(values)]
    size = block // miniblocks
    for start in range(0, len(deltas), block):
        part = deltas[start : start + block]
        smallest = min(part)
        groups = [[(d - smallest) % (1 << bits) for d in part[k : k + size]] for k in range(0, len(part), size)]
        widths = [max(group).bit_length() for group in groups]
        out += zigzag_varint(smallest) + bytes(widths + [unused_width] * (miniblocks - len(groups)))
        for width, group in zip(widths, groups, strict=True):
            word = sum(value << (k * width) for k, value in enumerate(group))
            whole = size * width // 8
            out += word.to_bytes(whole, "little")[: (len(group) * width + 7) // 8 if cut else whole]
    return bytes(out)


class Window:
    """Pages and the part of each that is wanted: `src`, `slices`, `validity`, and which slots are present."""

    def __init__(self, pages: Sequence[tuple[bytes, int, int, int]], nulls: float = 0.0, seed: int = 0) -> None:
        """Each page: encoded bytes, values in it, SKIP, TAKE; `nulls` is the share of null slots mixed in."""
        rng = np.random.default_rng(seed)
        rows, masks, buffer, slot = [], [], bytearray(b"\xa5" * 3), 0  # the first page does not start at byte 0
        for body, count, skip, take in pages:
            mask = np.ones(take, bool)
            if nulls:
                mask = rng.random(int(take / (1 - nulls)) + 5) >= nulls
                present = np.flatnonzero(mask)
                mask[present[take:]] = False
                mask = np.concatenate([mask, np.ones(take - int(mask.sum()), bool)])
            rows.append([len(buffer), len(buffer) + len(body), count, skip, take, slot, len(mask)])
            buffer += body
            masks.append(mask)
            slot += len(mask)
        self.src = np.frombuffer(bytes(buffer) + b"\xff" * SLACK, np.uint8).copy()
        self.slices = np.array(rows, np.int64).reshape(len(rows), 7)
        self.present = np.concatenate(masks) if masks else np.zeros(0, bool)
        self.slots = slot
        self.validity = validity_words(self.present) if nulls else NO_NULLS


def validity_words(present: np.ndarray) -> np.ndarray:
    packed = np.packbits(present, bitorder="little")
    return np.concatenate([packed, np.zeros(-len(packed) % 8, np.uint8)]).view(np.uint64)
