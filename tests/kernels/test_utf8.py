"""The UTF-8 verdict against Python's own decoder."""

import itertools

import numpy as np
import pytest
from hardwood_jit.kernels import utf8, views
from hardwood_jit.kernels.status import BAD_UTF8, code_of, page_of

from tests.kernels.slice_tables import with_slack

# The first and last byte of every class that the definition tells apart.
EDGES = [0x00, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0, 0xC1, 0xC2, 0xDF]
EDGES += [0xE0, 0xE1, 0xEC, 0xED, 0xEE, 0xEF, 0xF0, 0xF1, 0xF3, 0xF4, 0xF5, 0xFF]
TEXTS = [
    "",
    "a",
    "plain text that is longer than a view",
    "é",
    "日本語のテキスト",
    "😀😀😀",
    "mixed é 日 😀 text",
    "\U0010ffff",
]


def is_text(value):
    try:
        value.decode()
    except UnicodeDecodeError:
        return False
    return True


def join(values, dtype=np.int32, slack=True):
    offsets = np.cumsum([0] + [len(v) for v in values]).astype(dtype)
    raw = b"".join(values)
    return offsets, with_slack(raw) if slack else np.frombuffer(raw, np.uint8).copy()


def first_bad(values):
    return next((i for i, value in enumerate(values) if not is_text(value)), None)


def check_both(values):
    """Both checks agree with Python on the first value that is not text."""
    offsets, data = join(values)
    out = np.zeros((len(values), 2), np.uint64)
    assert views.make_views(offsets, data, len(values), 3, out) == 0
    wanted = first_bad(values)
    for status in (utf8.check_utf8(offsets, len(values), data), utf8.check_utf8_views(out, len(values), 3, data)):
        if wanted is None:
            assert status == 0
        else:
            assert (code_of(status), page_of(status)) == (BAD_UTF8, wanted)


def test_every_sequence_of_class_edges_is_judged_as_python_does():
    three = [bytes(v) for n in (1, 2, 3) for v in itertools.product(EDGES, repeat=n)]
    four = [bytes([a, b, c, d]) for a in (0xF0, 0xF1, 0xF4, 0xE1) for b, c, d in itertools.product(EDGES, repeat=3)]
    for values in (three, four):
        offsets, data = join(values)
        out = np.zeros((len(values), 2), np.uint64)
        assert views.make_views(offsets, data, len(values), 0, out) == 0
        for i, value in enumerate(values):
            single = utf8.check_utf8(offsets[i : i + 2], 1, data)
            assert (single == 0) == is_text(value), value
            assert utf8.check_utf8_views(out[i : i + 1], 1, 0, data) == single


def test_text_in_many_alphabets_is_accepted():
    check_both([t.encode() for t in TEXTS] * 50)
    assert utf8.check_utf8(np.zeros(1, np.int64), 0, np.zeros(0, np.uint8)) == 0


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_a_character_split_between_two_values_is_blamed_on_the_first(dtype):
    for text in ("é", "日", "😀"):
        raw = text.encode()
        for cut in range(1, len(raw)):
            values = [b"fine", b"", b"x" + raw[:cut], b"", raw[cut:], b"fine"]
            offsets, data = join(values, dtype)
            status = utf8.check_utf8(offsets, len(values), data)
            assert (code_of(status), page_of(status)) == (BAD_UTF8, 2)


def test_a_bad_byte_is_found_wherever_it_stands():
    for size in (1, 7, 8, 9, 1023, 1024, 1025, 2100):
        for at in {0, size // 2, size - 1}:
            for bad in (b"\xff", b"\xc3", b"\x80"):
                value = b"a" * at + bad + b"a" * (size - at - 1)
                check_both([b"ok", value, b"\xff"])


def test_nothing_after_the_end_of_the_data_is_read():
    for value in (b"abc\xe6", b"abc\xe6\x97", b"\xf0\x9f\x98", b"abcdefg\xc3", "日本".encode(), b"ascii"):
        offsets, data = join([value], slack=False)
        assert (utf8.check_utf8(offsets, 1, data) == 0) == is_text(value)


def test_damaged_text_is_judged_as_python_does():
    rng = np.random.default_rng(1)
    for _ in range(400):
        values = [TEXTS[i].encode() * int(rng.integers(1, 4)) for i in rng.integers(0, len(TEXTS), 30)]
        for _ in range(int(rng.integers(0, 3))):
            victim = int(rng.integers(0, 30))
            if values[victim]:
                raw = bytearray(values[victim])
                raw[int(rng.integers(0, len(raw)))] = int(rng.integers(0, 256))
                values[victim] = bytes(raw)
        check_both(values)


def test_long_values_of_other_buffers_are_passed_over():
    offsets, data = join([b"\xff" * 20])
    out = np.zeros((1, 2), np.uint64)
    assert views.make_views(offsets, data, 1, 7, out) == 0
    assert utf8.check_utf8_views(out, 1, 6, np.zeros(0, np.uint8)) == 0
    assert code_of(utf8.check_utf8_views(out, 1, 7, data)) == BAD_UTF8
    assert utf8.check_utf8_views(out, 1, 7, data[:10]) < 0
