# mypy: ignore-errors
"""Whole steps of a filter in one call: levels, verdicts on encoded values, and the mask narrowed by them.

`narrow_dictionary` serves every test of every type, because a dictionary is tested once per entry beforehand. Kernels
that contain their operators are written by hardwood_jit/jit/codegen.py, from the blocks of this folder.
"""

import numpy as np

from .bits import load_u32, load_u64
from .compare import float_key
from .compiled import block, kernel
from .dictionary import read_fixed
from .select import bit_at, narrow
from .take import slice_pages


@kernel
def narrow_dictionary(
    src, bodies, nullable, start, stop, validity, counts, slices, hit, indexes, hits, mask, null_matches
):
    """Pages of dictionary indexes; `hit` has a verdict per entry. The candidates left in these pages, or `fail`."""
    status = slice_pages(src, bodies, nullable, start, stop, validity, counts, slices)
    if status < 0:
        return status
    status = read_fixed(src, slices, validity, hit, indexes, hits)
    if status < 0:
        return status
    return narrow(mask, slices, validity, hits, null_matches)


# What generated kernels load a value with: `pos` counts bytes, and is checked before.


@block
def load_signed_4(src, pos):
    return np.int64(np.int32(load_u32(src, pos)))


@block
def load_signed_8(src, pos):
    return np.int64(load_u64(src, pos))


@block
def load_unsigned_4(src, pos):
    return np.uint64(load_u32(src, pos))


@block
def load_unsigned_8(src, pos):
    return load_u64(src, pos)


@block
def load_float_4(src, pos):
    """The key of a float: keys compare like the floats, NaN included."""
    return float_key(np.uint64(load_u32(src, pos)), 32)


@block
def load_float_8(src, pos):
    return float_key(load_u64(src, pos), 64)


@block
def is_present(validity, i):
    """Whether row `i` has a value; without validity words every row has."""
    if validity.shape[0] == 0:
        return True
    return bit_at(validity, i) != np.uint64(0)
