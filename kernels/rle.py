# mypy: ignore-errors
"""RLE / bit-packed hybrid (Encodings.md, RLE = 3): levels, dictionary indexes, booleans; and legacy BIT_PACKED levels.

A run header is a varint: odd means groups of eight packed values, even one value repeated. All readers walk runs and
stop at the number of values asked for; they fail rather than read past `end`.
"""

import numpy as np

from .bits import load_u64, popcount, read_varint, store_u64, unpack_bits
from .compiled import block, fail, kernel
from .slices import OUT_START, SKIP, SLOTS, SRC_END, SRC_START, TAKE
from .spread import spread_values
from .status import BAD_BIT_WIDTH, BAD_LEVEL, CORRUPT, OK, TRUNCATED


@block
def load_repeated(src, pos, width):
    """The value of a repeated run: `width` (0..4) little-endian bytes."""
    value = np.int64(0)
    for i in range(width):
        value |= np.int64(src[pos + i]) << (8 * i)
    return value


@block
def read_indexes(src, pos, end, bit_width, skip, count, out, at):
    """Skip `skip` values, write the next `count` into `out[at:]` (int32); return the next position or a status.

    Needs 8 readable bytes after `end`. Indexes of 2**31 and more come out negative: compare them unsigned.
    """
    if bit_width < 0 or bit_width > 32:
        return np.int64(BAD_BIT_WIDTH)
    if bit_width == 0:  # a single possible value; the stream may be empty
        for i in range(count):
            out[at + i] = 0
        return np.int64(pos)
    width = (bit_width + 7) >> 3
    done = np.int64(-skip)  # values delivered; negative while skipping
    while done < count:
        header, pos = read_varint(src, pos, end)
        if pos < 0:
            return np.int64(TRUNCATED)
        left = count - done
        # Clip before multiplying: a hostile header must not overflow into a small size.
        run = min(header >> 1, left)
        if header & 1:
            length = min(run * 8, left)
            # A writer may cut the padding of the last packed group: ask only for what `length` values need.
            size = (length * bit_width + 7) >> 3
            if size > end - pos:
                return np.int64(TRUNCATED)
            before = min(max(-done, 0), length)
            unpack_bits(src, pos, bit_width, before, out, at + done + before, length - before)
        else:
            length = run
            size = np.int64(width)
            if size > end - pos:
                return np.int64(TRUNCATED)
            value = np.int32(load_repeated(src, pos, width))
            for i in range(max(done, 0), done + length):
                out[at + i] = value
        pos += size
        done += length
    return np.int64(pos)


@block
def read_hybrid_levels(src, pos, end, maximum, count, out, at):
    """Write `count` levels into `out[at:]` (uint8), each at most `maximum` (1..255); next position or a status.

    Needs 8 readable bytes after `end`.
    """
    bit_width = 0
    while (maximum >> bit_width) > 0:
        bit_width += 1
    # Eight packed levels take `bit_width` whole bytes (1..8) and become eight bytes: halves move apart three times,
    # each to its own half of a word, then to quarters, then to bytes. `low` and `high` say where the halves end up.
    bits = np.uint64(bit_width)
    shift_4 = np.uint64(32) - np.uint64(4) * bits
    shift_2 = np.uint64(16) - np.uint64(2) * bits
    shift_1 = np.uint64(8) - bits
    low_4 = (np.uint64(1) << (np.uint64(4) * bits)) - np.uint64(1)
    low_2 = ((np.uint64(1) << (np.uint64(2) * bits)) - np.uint64(1)) * np.uint64(0x0000000100000001)
    low_1 = ((np.uint64(1) << bits) - np.uint64(1)) * np.uint64(0x0001000100010001)
    high_4 = low_4 << np.uint64(32)
    high_2 = low_2 << np.uint64(16)
    high_1 = low_1 << np.uint64(8)
    done = np.int64(at)
    stop = np.int64(at + count)
    highest = np.uint8(0)
    while done < stop:
        header, pos = read_varint(src, pos, end)
        if pos < 0:
            return np.int64(TRUNCATED)
        left = stop - done
        run = min(header >> 1, left)
        if header & 1:
            length = min(run * 8, left)
            size = (length * bit_width + 7) >> 3
            if size > end - pos:
                return np.int64(TRUNCATED)
            # Four groups at once, over the end of the run where more levels follow: most runs need one round, and how
            # many rounds the next run takes cannot be predicted. The levels after the run are written later.
            groups = (length + 7) >> 3
            g = np.int64(0)
            while g < groups:
                to = done + 8 * g
                rounds = 4 if to + 32 <= stop and (g + 4) * bit_width <= end - pos else 1
                for k in range(rounds):
                    word = load_u64(src, pos + (g + k) * bit_width)
                    word = (word & low_4) | ((word << shift_4) & high_4)
                    word = (word & low_2) | ((word << shift_2) & high_2)
                    word = (word & low_1) | ((word << shift_1) & high_1)
                    if to + 8 <= stop:
                        store_u64(out, to + 8 * k, word)
                    else:
                        for i in range(to, stop):
                            out[i] = np.uint8(word & np.uint64(0xFF))
                            word >>= np.uint64(8)
                g += rounds
        else:
            length = run
            size = np.int64(1)
            if end - pos < 1:
                return np.int64(TRUNCATED)
            level = src[pos]
            highest = max(highest, level)
            word = np.uint64(level) * np.uint64(0x0101010101010101)
            to = done
            while to < done + length:
                if to + 32 <= stop:
                    for k in range(4):
                        store_u64(out, to + 8 * k, word)
                    to += 32
                else:
                    out[to] = level
                    to += 1
        pos += size
        done += length
    if maximum + 1 < np.int64(1) << bit_width:  # packed levels can be above it
        for i in range(np.uint64(at), np.uint64(stop)):
            highest = max(highest, out[i])
    if np.int64(highest) > maximum:
        return np.int64(BAD_LEVEL)
    return np.int64(pos)


@block
def read_packed_levels(src, pos, end, maximum, count, out, at):
    """Legacy BIT_PACKED levels: most significant bit first, no run headers; next position or a status."""
    bit_width = 0
    while (maximum >> bit_width) > 0:
        bit_width += 1
    if (count * bit_width + 7) >> 3 > end - pos:
        return np.int64(TRUNCATED)
    bit = np.int64(0)
    for i in range(count):
        level = 0
        for j in range(bit_width):
            level = (level << 1) | ((np.int64(src[pos + (bit >> 3)]) >> (7 - (bit & 7))) & 1)
            bit += 1
        if level > maximum:
            return np.int64(BAD_LEVEL)
        out[at + i] = np.uint8(level)
    return np.int64(pos + ((count * bit_width + 7) >> 3))


@block
def count_hybrid_values(src, pos, end, bit_width, enough):
    """How many values (up to `enough`) the runs in src[pos:end] can deliver, without decoding them."""
    seen = np.int64(0)
    width = (bit_width + 7) >> 3
    while seen < enough and pos < end:
        header, pos = read_varint(src, pos, end)
        if pos < 0:
            return seen
        if header & 1:
            groups = min(header >> 1, (end - pos) // max(bit_width, 1) + 1)
            seen += min(groups * 8, ((end - pos) * 8) // max(bit_width, 1))
            pos += groups * bit_width
        else:
            if end - pos < width:
                return seen
            seen += header >> 1
            pos += width
    return min(seen, enough)


@block
def count_bits(src, pos, first, count):
    """Set bits among `count` bits of src starting `first` bits after byte `pos`; 8 bytes after them are readable."""
    total = np.int64(0)
    done = np.int64(0)
    while done < count:
        bit = first + done
        shift = bit & 7
        step = min(64 - shift, count - done)
        word = load_u64(src, pos + (bit >> 3)) >> np.uint64(shift)
        if step < 64:
            word &= (np.uint64(1) << np.uint64(step)) - np.uint64(1)
        total += np.int64(popcount(word))
        done += step
    return total


@block
def put_bits(words, at, value, count):
    """OR the low `count` (1..64) bits of `value` into `words` from bit `at` on; higher bits of `value` are 0."""
    shift = at & 63
    words[at >> 6] |= value << np.uint64(shift)
    if shift + count > 64:
        words[(at >> 6) + 1] |= value >> np.uint64(64 - shift)


@block
def copy_bits(src, pos, first, count, words, at):
    """Copy `count` bits from `src` into zeroed `words` from bit `at` on; return how many are set."""
    total = np.int64(0)
    done = np.int64(0)
    while done < count:
        bit = first + done
        shift = bit & 7
        step = min(64 - shift, count - done)
        word = load_u64(src, pos + (bit >> 3)) >> np.uint64(shift)
        if step < 64:
            word &= (np.uint64(1) << np.uint64(step)) - np.uint64(1)
        put_bits(words, at + done, word, step)
        total += np.int64(popcount(word))
        done += step
    return total


@block
def fill_bits(words, at, count):
    """Set `count` bits of `words` from bit `at` on."""
    done = np.int64(0)
    while done < count:
        step = min(64 - ((at + done) & 63), count - done)
        ones = ~np.uint64(0) >> np.uint64(64 - step)
        words[(at + done) >> 6] |= ones << np.uint64((at + done) & 63)
        done += step


@block
def read_present_bits(src, pos, end, skip, take, total, words, at, counts):
    """Definition levels of maximum 1 as bits: levels skip .. skip + take go to zeroed `words` from bit `at` on.

    counts[0], counts[1], counts[2] receive the present values before the window, inside it, and in all `total` levels.
    """
    before = np.int64(0)
    inside = np.int64(0)
    after = np.int64(0)
    index = np.int64(0)
    stop = skip + take
    while index < total:
        header, pos = read_varint(src, pos, end)
        if pos < 0:
            return np.int64(TRUNCATED)
        left = total - index
        run = min(header >> 1, left)
        length = min(run * 8, left) if header & 1 else run
        size = (length + 7) >> 3 if header & 1 else np.int64(1)
        if size > end - pos:
            return np.int64(TRUNCATED)
        a = min(max(skip - index, 0), length)
        b = min(max(stop - index, 0), length)
        if header & 1:
            if a > 0:
                before += count_bits(src, pos, 0, a)
            if b > a:
                inside += copy_bits(src, pos, a, b - a, words, at + index + a - skip)
            if length > b:
                after += count_bits(src, pos, b, length - b)
        else:
            level = src[pos]
            if level > 1:
                return np.int64(BAD_LEVEL)
            if level == 1:
                before += a
                inside += b - a
                after += length - b
                fill_bits(words, at + index + a - skip, b - a)
        pos += size
        index += length
    counts[0] = before
    counts[1] = inside
    counts[2] = before + inside + after
    return np.int64(OK)


@kernel
def read_booleans(src, slices, validity, out):
    """RLE-encoded BOOLEAN values (4-byte length, then the hybrid with bit width 1) into `out` (uint8, 0 or 1)."""
    for p in range(slices.shape[0]):
        pos = slices[p, SRC_START]
        end = slices[p, SRC_END]
        skip = slices[p, SKIP]
        take = slices[p, TAKE]
        at = slices[p, OUT_START]
        if take == 0:
            continue
        if end - pos < 4:
            return fail(TRUNCATED, p)
        size = (
            np.int64(src[pos])
            | np.int64(src[pos + 1]) << 8
            | np.int64(src[pos + 2]) << 16
            | np.int64(src[pos + 3]) << 24
        )
        pos += 4
        if size > end - pos:
            return fail(TRUNCATED, p)
        end = pos + size
        done = np.int64(-skip)
        while done < take:
            header, pos = read_varint(src, pos, end)
            if pos < 0:
                return fail(TRUNCATED, p)
            left = take - done
            run = min(header >> 1, left)
            length = min(run * 8, left) if header & 1 else run
            size = (length + 7) >> 3 if header & 1 else np.int64(1)
            if size > end - pos:
                return fail(TRUNCATED, p)
            first = max(-done, 0)
            if header & 1:
                for i in range(first, length):
                    out[at + done + i] = (src[pos + (i >> 3)] >> np.uint8(i & 7)) & np.uint8(1)
            else:
                value = src[pos]
                if value > 1:
                    return fail(CORRUPT, p)
                for i in range(first, length):
                    out[at + done + i] = value
            pos += size
            done += length
        if take < slices[p, SLOTS]:
            spread_values(out, at, slices[p, SLOTS], take, validity)
    return np.int64(OK)
