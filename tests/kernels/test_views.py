"""String views against what pyarrow reads from the same buffers."""

import struct

import numpy as np
import pyarrow as pa
import pytest
from hardwood_jit.kernels import views
from hardwood_jit.kernels.slices import SLACK, SRC_END
from hardwood_jit.kernels.status import BAD_LENGTH, OUTPUT_FULL, TRUNCATED, code_of

from tests.kernels.slice_tables import NULL_DENSITIES, SLOT_COUNTS, make_table, one_page, with_slack

GUARD = 5


def encode_strings(values):
    return b"".join(struct.pack("<I", len(v)) + v for v in values)


def draw_strings(rng, count):
    return [rng.bytes(int(rng.integers(0, 30))) for _ in range(count)]


def through_arrow(out, count, buffers, validity=None):
    """The values that Arrow sees, after its full validation (padding and prefixes included)."""
    array = pa.Array.from_buffers(
        pa.binary_view(), count, [validity, pa.py_buffer(out.tobytes()), *[pa.py_buffer(b.tobytes()) for b in buffers]]
    )
    array.validate(full=True)
    return array.to_pylist()


@pytest.mark.parametrize("density", NULL_DENSITIES)
@pytest.mark.parametrize("slot_counts", SLOT_COUNTS)
def test_views_of_plain_values_point_into_the_page(slot_counts, density):
    rng = np.random.default_rng(1)
    table = make_table(rng, slot_counts, density, lambda n: draw_strings(rng, n), encode_strings)
    out = np.full((table.slots + GUARD, 2), 77, np.uint64)
    assert views.read_plain_views(table.src, table.slices, table.validity, 1, out) == 0
    assert (out[table.slots :] == 77).all()
    found = through_arrow(out[: table.slots], table.slots, [np.zeros(0, np.uint8), table.src])
    assert found == [value or b"" for value in table.expected]
    for slot, value in enumerate(table.expected):
        if value is None:
            assert out[slot].tolist() == [0, 0]


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_views_of_contiguous_values_equal_the_values(dtype):
    values = [bytes(range(65, 65 + n)) for n in range(40)] + [b"", b"\xff" * 12, b"\xff" * 13]
    offsets = np.cumsum([0] + [len(v) for v in values]).astype(dtype)
    data = with_slack(b"".join(values))
    out = np.full((len(values) + GUARD, 2), 77, np.uint64)
    assert views.make_views(offsets, data, len(values), 0, out) == 0
    assert through_arrow(out[: len(values)], len(values), [data]) == values
    assert (out[len(values) :] == 77).all()


def test_contiguous_offsets_that_leave_the_data_are_refused():
    out = np.zeros((2, 2), np.uint64)
    data = np.zeros(10 + SLACK, np.uint8)
    for offsets in ([0, 5, 11], [0, 6, 5], [-1, 2, 3], [0, -1, 4]):
        assert views.make_views(np.array(offsets, np.int64), data, 2, 0, out) == BAD_LENGTH


def test_positions_of_2_gib_and_more_are_refused():
    src = np.empty(2**31 + 100, np.uint8)  # never touched
    out = np.zeros((1, 2), np.uint64)
    slices = np.array([[2**31 - 10, 2**31, 1, 0, 1, 0, 1]], np.int64)
    assert code_of(views.read_plain_views(src, slices, np.zeros(0, np.uint64), 0, out)) == OUTPUT_FULL
    assert views.make_views(np.array([2**31 - 1, 2**31], np.int64), src, 1, 0, out) == OUTPUT_FULL


@pytest.mark.parametrize("skip", [0, 2])
def test_a_page_cut_at_any_byte_is_truncated(skip):
    raw = encode_strings([b"abc", b"", b"0123456789abcdefXYZ"])
    for cut in range(len(raw)):
        src, slices, validity = one_page(raw, 3 - skip, skip)
        slices[0, SRC_END] = cut
        status = views.read_plain_views(src, slices, validity, 0, np.zeros((3, 2), np.uint64))
        assert code_of(status) in (TRUNCATED, BAD_LENGTH)


@pytest.mark.parametrize("length", [13, 2**31 - 1, 2**31, 2**32 - 1])
@pytest.mark.parametrize("skip", [0, 1])
def test_a_length_beyond_the_page_is_bad(length, skip):
    src, slices, validity = one_page(struct.pack("<I", length) + b"0123456789ab", 1, skip)
    status = views.read_plain_views(src, slices, validity, 0, np.zeros((1, 2), np.uint64))
    assert code_of(status) == BAD_LENGTH
