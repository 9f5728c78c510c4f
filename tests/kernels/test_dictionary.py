"""Dictionary kernels against a list lookup; runs are written by a naive encoder of the hybrid."""

import numpy as np
import pytest
from hardwood_jit.kernels import dictionary
from hardwood_jit.kernels.slices import SLACK, SRC_END
from hardwood_jit.kernels.status import BAD_BIT_WIDTH, BAD_INDEX, CORRUPT, OUTPUT_FULL, TRUNCATED, code_of, page_of

from tests.kernels.slice_tables import NULL_DENSITIES, SLOT_COUNTS, make_table, one_page, with_slack

GUARD = 5
SCRATCH = 64  # several blocks per page


def varint(number):
    raw = bytearray()
    while number >= 0x80:
        raw.append(number & 0x7F | 0x80)
        number >>= 7
    raw.append(number)
    return bytes(raw)


def packed_run(indexes, bit_width, groups=None):
    bits = sum(index << (i * bit_width) for i, index in enumerate(indexes))
    groups = -(-len(indexes) // 8) if groups is None else groups
    return varint(groups << 1 | 1) + bits.to_bytes(groups * bit_width, "little")


def repeated_run(index, count, bit_width):
    return varint(count << 1) + index.to_bytes((bit_width + 7) // 8, "little")


def encode_indexes(rng, indexes, bit_width):
    """Bit width and a random mix of both kinds of runs; only the last packed run may be padded."""
    raw = bytes([bit_width])
    if bit_width == 0:
        return raw
    i = 0
    while i < len(indexes):
        same = 1
        while i + same < len(indexes) and indexes[i + same] == indexes[i]:
            same += 1
        if same >= 4:
            raw += repeated_run(indexes[i], same, bit_width)
            i += same
        else:
            count = 8 * int(rng.integers(1, 40))
            raw += packed_run(indexes[i : i + count], bit_width)
            i += count
    return raw


def draw_indexes(rng, count, entry_count):
    indexes = []
    while len(indexes) < count:
        if rng.random() < 0.3:
            indexes += [int(rng.integers(0, entry_count))] * int(rng.integers(1, 50))
        else:
            indexes += rng.integers(0, entry_count, int(rng.integers(1, 200))).tolist()
    return indexes[:count]


def index_table(seed, slot_counts, density, entry_count, bit_width=None):
    rng = np.random.default_rng(seed)
    width = (entry_count - 1).bit_length() if bit_width is None else bit_width
    return make_table(
        rng, slot_counts, density, lambda n: draw_indexes(rng, n, entry_count), lambda v: encode_indexes(rng, v, width)
    )


def present(found, expected):
    return [f for f, e in zip(found, expected, strict=True) if e is not None]


@pytest.mark.parametrize("density", NULL_DENSITIES)
@pytest.mark.parametrize("slot_counts", SLOT_COUNTS)
@pytest.mark.parametrize("dtype", [np.uint8, np.uint32, np.uint64])
def test_fixed_values_are_looked_up_and_spread(dtype, slot_counts, density):
    table = index_table(1, slot_counts, density, 100)
    entries = np.random.default_rng(9).integers(0, 256, 100).astype(dtype)
    out = np.full(table.slots + GUARD, 77, dtype)
    scratch = np.zeros(SCRATCH, np.int32)
    assert dictionary.read_fixed(table.src, table.slices, table.validity, entries, scratch, out) == 0
    assert present(out[: table.slots].tolist(), table.expected) == [int(entries[i]) for i in table.present]
    assert (out[table.slots :] == 77).all()


@pytest.mark.parametrize("bit_width", range(33))
def test_every_bit_width_gives_the_same_values(bit_width):
    entry_count = min(1 << bit_width, 70_000)
    table = index_table(bit_width, (333, 1, 90), 0.3, entry_count, bit_width)
    entries = np.random.default_rng(9).integers(0, 2**63, entry_count, dtype=np.uint64)
    out = np.zeros(table.slots, np.uint64)
    scratch = np.zeros(SCRATCH, np.int32)
    expected = [int(entries[i]) for i in table.present]
    assert dictionary.read_fixed(table.src, table.slices, table.validity, entries, scratch, out) == 0
    assert present(out.tolist(), table.expected) == expected

    pairs = np.stack([entries, entries ^ np.uint64(5)], axis=1)
    found = np.full((table.slots + GUARD, 2), 77, np.uint64)
    assert dictionary.read_pairs(table.src, table.slices, table.validity, pairs, scratch, found) == 0
    assert present(found[: table.slots, 0].tolist(), table.expected) == expected
    assert present(found[: table.slots, 1].tolist(), table.expected) == [e ^ 5 for e in expected]
    assert (found[table.slots :] == 77).all()

    indexes = np.full(len(table.present) + GUARD, -9, np.int32)
    assert dictionary.read_indexes(table.src, table.slices, entry_count, indexes) == len(table.present)
    assert indexes.tolist() == table.present + [-9] * GUARD


@pytest.mark.parametrize("density", NULL_DENSITIES)
@pytest.mark.parametrize("width", [0, 1, 5, 12, 20])
def test_wide_values_are_looked_up_and_spread(width, density):
    for slot_counts in SLOT_COUNTS:
        table = index_table(3, slot_counts, density, 37)
        entries = np.random.default_rng(9).integers(0, 256, (37, width), dtype=np.uint8)
        out = np.full((table.slots + GUARD) * width, 77, np.uint8)
        scratch = np.zeros(SCRATCH, np.int32)
        status = dictionary.read_wide(
            table.src, table.slices, table.validity, entries.reshape(-1), 37, width, scratch, out
        )
        assert status == 0
        rows = [bytes(out[i * width : (i + 1) * width]) for i in range(table.slots)]
        assert present(rows, table.expected) == [bytes(entries[i]) for i in table.present]
        assert (out[table.slots * width :] == 77).all()


@pytest.mark.parametrize("density", NULL_DENSITIES)
@pytest.mark.parametrize("slot_counts", SLOT_COUNTS)
def test_codes_are_spread_and_zero_at_null_slots(slot_counts, density):
    table = index_table(4, slot_counts, density, 1000)
    out = np.full(table.slots + GUARD, -9, np.int32)
    assert dictionary.read_codes(table.src, table.slices, table.validity, 1000, out) == 0
    assert out.tolist() == [e or 0 for e in table.expected] + [-9] * GUARD


@pytest.mark.parametrize("density", NULL_DENSITIES)
@pytest.mark.parametrize("slot_counts", SLOT_COUNTS)
@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_byte_arrays_are_gathered(dtype, slot_counts, density):
    rng = np.random.default_rng(5)
    entries = [rng.bytes(n) for n in (0, 1, 3, 15, 16, 17, 32, 33, 48, 64, 65, 200)]
    table = index_table(5, slot_counts, density, len(entries))
    entry_offsets = np.cumsum([0] + [len(e) for e in entries]).astype(dtype)
    entry_data = with_slack(b"".join(entries))
    indexes = np.zeros(len(table.present), np.int32)
    count = dictionary.read_indexes(table.src, table.slices, len(entries), indexes)
    whole = b"".join(entries[i] for i in table.present)
    assert dictionary.measure_byte_arrays(indexes, count, entry_offsets) == len(whole)

    def gather(room):
        offsets = np.full(table.slots + 1, -9, dtype)
        offsets[0] = 0
        data = np.full(room + SLACK, 0xEE, np.uint8)
        status = dictionary.gather_byte_arrays(
            indexes, table.slices, table.validity, entry_offsets, entry_data, offsets, data
        )
        return status, offsets, data

    status, offsets, data = gather(len(whole))
    assert status == len(whole)
    assert data[: len(whole)].tobytes() == whole
    assert (data[len(whole) + 32 :] == 0xEE).all()
    lengths = [0 if i is None else len(entries[i]) for i in table.expected]
    assert offsets.tolist() == [0, *np.cumsum(lengths).tolist()]
    if whole:
        assert code_of(gather(len(whole) - 1)[0]) == OUTPUT_FULL


def all_readers(src, slices, validity, entry_count):
    """The status of every reader of one page, with dictionaries of this size."""
    slots = int((slices[:, 5] + slices[:, 6]).max())
    scratch = np.zeros(SCRATCH, np.int32)
    words = np.arange(entry_count, dtype=np.uint64)
    return [
        dictionary.read_fixed(src, slices, validity, words, scratch, np.zeros(slots, np.uint64)),
        dictionary.read_pairs(
            src, slices, validity, np.zeros((entry_count, 2), np.uint64), scratch, np.zeros((slots, 2), np.uint64)
        ),
        dictionary.read_wide(
            src,
            slices,
            validity,
            np.zeros(entry_count * 3, np.uint8),
            entry_count,
            3,
            scratch,
            np.zeros(slots * 3, np.uint8),
        ),
        min(dictionary.read_indexes(src, slices, entry_count, np.zeros(slots, np.int32)), 0),
        dictionary.read_codes(src, slices, validity, entry_count, np.zeros(slots, np.int32)),
    ]


def test_an_index_at_the_size_of_the_dictionary_is_bad_wherever_it_stands():
    for bad_at in range(100):
        indexes = [i % 10 for i in range(100)]
        indexes[bad_at] = 10
        page = one_page(bytes([4]) + packed_run(indexes, 4), 100)
        assert {code_of(status) for status in all_readers(*page, 10)} == {BAD_INDEX}
        assert set(all_readers(*page, 11)) == {0}
    page = one_page(bytes([4]) + packed_run([0] * 8, 4) + repeated_run(10, 9, 4), 12)
    assert {code_of(status) for status in all_readers(*page, 10)} == {BAD_INDEX}


def test_a_bad_index_among_skipped_values_does_not_matter():
    page = one_page(bytes([4]) + packed_run([15] * 3 + [1] * 5, 4), 5, skip=3)
    assert set(all_readers(*page, 2)) == {0}
    page = one_page(bytes([4]) + repeated_run(15, 3, 4) + repeated_run(1, 5, 4), 5, skip=3)
    assert set(all_readers(*page, 2)) == {0}


@pytest.mark.parametrize("index", [2**31, 2**32 - 1])
def test_indexes_with_the_sign_bit_are_bad(index):
    for run in (packed_run([index] * 8, 32), repeated_run(index, 8, 32)):
        assert {code_of(s) for s in all_readers(*one_page(bytes([32]) + run, 8), 5)} == {BAD_INDEX}


@pytest.mark.parametrize("bit_width", [33, 64, 255])
def test_bit_widths_above_32_are_bad(bit_width):
    page = one_page(bytes([bit_width]) + bytes(100), 8)
    assert {code_of(status) for status in all_readers(*page, 5)} == {BAD_BIT_WIDTH}


def test_an_empty_dictionary_names_no_value():
    for raw in (bytes([0]), bytes([1]) + repeated_run(0, 8, 1), bytes([1]) + packed_run([0] * 8, 1)):
        assert {code_of(status) for status in all_readers(*one_page(raw, 8), 0)} == {BAD_INDEX}


def test_a_page_without_present_values_may_be_empty():
    assert set(all_readers(*one_page(b"", 0), 0)) == {0}
    src, slices, _ = one_page(b"", 0)
    slices[0, 6] = 70
    validity = np.zeros(2, np.uint64)
    out = np.full(70, 5, np.int32)
    assert dictionary.read_codes(src, slices, validity, 0, out) == 0
    assert (out == 0).all()


def test_zero_length_runs_are_passed_over():
    raw = bytes([3]) + repeated_run(7, 0, 3) + packed_run([], 3, 0) + repeated_run(2, 4, 3) + packed_run([], 3, 0)
    assert set(all_readers(*one_page(raw, 4), 3)) == {0}
    assert {code_of(status) for status in all_readers(*one_page(raw, 5), 3)} == {TRUNCATED}


def test_a_last_group_without_its_padding_is_read():
    raw = bytes([5]) + packed_run([1, 2, 3], 5)[:-3]  # 15 bits need two of the five bytes
    assert set(all_readers(*one_page(raw, 3), 4)) == {0}
    assert {code_of(status) for status in all_readers(*one_page(raw, 4), 4)} == {TRUNCATED}


def test_a_stream_cut_at_any_byte_fails():
    rng = np.random.default_rng(8)
    for bit_width in (1, 7, 12, 20):
        indexes = draw_indexes(rng, 203, 1 << min(bit_width, 10))
        raw = encode_indexes(rng, indexes, bit_width)
        used = len(raw) - (-len(indexes) % 8 * bit_width // 8)  # the padding of the last group may be missing
        for cut in range(len(raw)):
            src, slices, validity = one_page(raw, 203)
            slices[0, SRC_END] = cut
            statuses = all_readers(src, slices, validity, 1024)
            assert all(status <= 0 for status in statuses)
            if cut < used - bit_width:
                assert {code_of(status) for status in statuses} == {TRUNCATED}


def test_huge_run_headers_are_cut_or_refused():
    for header in (0xFFFFFFFF, 0xFFFFFFFE):
        raw = bytes([8]) + varint(header) + bytes(20)
        assert set(all_readers(*one_page(raw, 20), 1)) == {0}
        statuses = all_readers(*one_page(raw, 21), 1)
        assert {code_of(s) for s in statuses} == ({TRUNCATED} if header & 1 else {0})
    for raw in (b"\xff" * 12, varint(2**32) + bytes(20)):
        assert {code_of(s) for s in all_readers(*one_page(b"\x08" + raw, 9), 1)} == {CORRUPT}


def test_random_bytes_give_a_status_and_never_leave_the_output():
    rng = np.random.default_rng(10)
    for _ in range(3000):
        raw = bytes([int(rng.integers(0, 34))]) + rng.bytes(int(rng.integers(0, 40)))
        count, skip = int(rng.integers(0, 100)), int(rng.integers(0, 50))
        src, slices, validity = one_page(raw, count, skip)
        statuses = all_readers(src, slices, validity, int(rng.integers(0, 300)))
        assert len(set(statuses)) == 1 and statuses[0] <= 0


def test_a_failure_names_its_row():
    table = index_table(11, (50, 60, 70), 0.1, 50)
    table.slices[1, SRC_END] = table.slices[1, 0]
    for status in all_readers(table.src, table.slices, table.validity, 50):
        assert (code_of(status), page_of(status)) == (TRUNCATED, 1)


@pytest.mark.parametrize("dtype", [np.uint8, np.uint32, np.uint64])
@pytest.mark.parametrize("density", [0.0, 0.01, 0.5, 0.99, 1.0])
def test_dense_indexes_are_looked_up_at_the_set_bits(dtype: type, density: float) -> None:
    random = np.random.default_rng(11)
    entries = random.integers(0, 200, 37).astype(dtype)
    pairs = np.stack([entries.astype(np.uint64), np.arange(37, dtype=np.uint64)], axis=1)
    for start, slots in ((0, 0), (0, 1), (3, 61), (5, 64), (64, 65), (7, 1000)):
        present = np.concatenate([np.zeros(start, bool), random.random(slots) < density])
        bits = np.packbits(present, bitorder="little")
        words = np.zeros(bits.size // 8 + 2, np.uint64)
        words.view(np.uint8)[: bits.size] = bits
        count = int(present.sum())
        indexes = np.append(random.integers(0, 37, count), 0).astype(np.int32)
        out = np.zeros(slots, dtype)
        assert dictionary.gather_fixed(indexes, words, start, entries, out) == 0
        assert out[present[start:]].tolist() == entries[indexes[:count]].tolist()
        wide = np.zeros((slots, 2), np.uint64)
        assert dictionary.gather_pairs(indexes, words, start, pairs, wide) == 0
        assert wide[present[start:]].tolist() == pairs[indexes[:count]].tolist()
