# mypy: ignore-errors
"""Dictionary indexes (Encodings.md, RLE_DICTIONARY = 8, PLAIN_DICTIONARY = 2) -> the values they name.

A page's stream is one byte with the bit width, then the RLE / bit-packed hybrid. Every index is compared, unsigned,
with the number of entries. `indexes` is int32 scratch of 1024 elements or a few more: a block of indexes then stays in
the first-level cache between unpacking and lookup.
"""

import numpy as np

from .bits import copy_16, copy_bytes, load_u32, load_u64, read_varint, unpack_bits
from .compiled import block, fail, kernel
from .plain import copy_value, room_for_bytes
from .slices import OUT_START, SKIP, SLOTS, SRC_END, SRC_START, TAKE
from .spread import spread_offsets, spread_pairs, spread_values, spread_wide
from .status import BAD_BIT_WIDTH, BAD_INDEX, CORRUPT, OK, OUTPUT_FULL, TRUNCATED


@block
def read_bit_width(src, pos, end, entry_count):
    """The bit width at the head of a stream, checked to be 0..32, or a status; an empty dictionary names no value."""
    if pos >= end:
        return np.int64(TRUNCATED)
    if src[pos] > 32:
        return np.int64(BAD_BIT_WIDTH)
    if entry_count <= 0:
        return np.int64(BAD_INDEX)
    return np.int64(src[pos])


@block
def next_run(src, pos, end, bit_width, wanted):
    """The run at `pos`, cut to `wanted` values: (is packed, values, packed position or repeated value, next position).

    The next position is a negative status when the run is malformed. `bit_width` is 0..32; with width 0 no run is
    stored and all wanted values are zero.
    """
    if bit_width == 0:
        return np.int64(0), np.int64(wanted), np.int64(0), np.int64(pos)
    if pos < end and src[pos] < 0x80:  # most headers: writers stop a packed run at 63 groups
        header = np.int64(src[pos])
        pos += 1
    else:
        header, pos = read_varint(src, pos, end)
    if pos < 0:
        return np.int64(0), np.int64(0), np.int64(0), np.int64(TRUNCATED if pos == TRUNCATED else CORRUPT)
    if header & 1:
        # The header is below 2**32, so neither product overflows. A writer may cut the padding of the last group: a
        # run that is cut here needs only the bytes of the values that are wanted.
        count = min((header >> 1) * 8, np.int64(wanted))
        size = (count * bit_width + 7) >> 3
        if size > end - pos:
            return np.int64(0), np.int64(0), np.int64(0), np.int64(TRUNCATED)
        return np.int64(1), count, np.int64(pos), np.int64(pos + size)
    size = (bit_width + 7) >> 3
    if size > end - pos:
        return np.int64(0), np.int64(0), np.int64(0), np.int64(TRUNCATED)
    value = np.int64(load_u32(src, pos)) & ((np.int64(1) << (8 * size)) - 1)
    return np.int64(0), min(header >> 1, np.int64(wanted)), value, np.int64(pos + size)


@block
def look_up(src, pos, bit_width, first, count, dictionary, out, at):
    """Write the values that `count` packed indexes name, from number `first` on, to `out[at:]`: were all in range?

    As unpack_bits, with the lookup in the same loop: 1.7 G values/s at widths up to 16 against 1.1 for unpacking a
    block first. An index beyond the dictionary, which is not empty, reads its last entry: one comparison at the end
    replaces a branch per value.
    """
    width = np.uint64(bit_width)
    mask = (np.uint64(1) << width) - np.uint64(1)
    half = bit_width >> 1
    odd = np.uint64((bit_width & 1) << 2)  # four indexes of an odd width end in the middle of a byte
    highest = np.uint64(0)
    top = np.uint64(dictionary.shape[0] - 1)
    i = np.int64(0)
    while i < count:
        slot = np.uint64(at + i)
        groups = (count - i) >> 3
        if bit_width <= 16 and ((first + i) & 7) == 0 and groups > 0:
            # Eight indexes take `bit_width` whole bytes; two loads serve them all, and the loop becomes vector code.
            start = pos + ((first + i) >> 3) * bit_width
            for g in range(groups):
                low = load_u64(src, start + g * bit_width)
                high = load_u64(src, start + g * bit_width + half) >> odd
                for k in range(4):
                    index = (low >> (np.uint64(k) * width)) & mask
                    highest = max(highest, index)
                    out[slot + np.uint64(k)] = dictionary[min(index, top)]
                for k in range(4):
                    index = (high >> (np.uint64(k) * width)) & mask
                    highest = max(highest, index)
                    out[slot + np.uint64(k + 4)] = dictionary[min(index, top)]
                slot += np.uint64(8)
            i += groups * 8
        else:
            few = count - i
            if bit_width <= 16:  # up to where the next group starts
                few = min(few, 8 - ((first + i) & 7))
            for k in range(few):
                bit = (first + i + k) * bit_width
                index = (load_u64(src, pos + (bit >> 3)) >> np.uint64(bit & 7)) & mask
                highest = max(highest, index)
                out[slot + np.uint64(k)] = dictionary[min(index, top)]
            i += few
    return highest <= top


@kernel
def read_fixed(src, slices, validity, dictionary, indexes, out):
    """Values of `dictionary` at the slots of `out`, both uint8, uint32 or uint64.

    `indexes` is not touched: it is there so that all three value readers are called alike.
    """
    entry_count = np.int64(dictionary.shape[0])
    for row in range(slices.shape[0]):
        at = slices[row, OUT_START]
        skip = slices[row, SKIP]
        left = slices[row, TAKE]
        if left > 0:
            pos = slices[row, SRC_START]
            end = slices[row, SRC_END]
            bit_width = read_bit_width(src, pos, end, entry_count)
            if bit_width < 0:
                return fail(bit_width, row)
            pos += 1
            while left > 0:
                packed, count, value, pos = next_run(src, pos, end, bit_width, skip + left)
                if pos < 0:
                    return fail(pos, row)
                first = min(skip, count)
                skip -= first
                count -= first
                if count == 0:
                    continue
                if packed:
                    if not look_up(src, value, bit_width, first, count, dictionary, out, at):
                        return fail(BAD_INDEX, row)
                else:
                    if value >= entry_count:
                        return fail(BAD_INDEX, row)
                    repeated = dictionary[value]
                    for i in range(at, at + count):
                        out[i] = repeated
                at += count
                left -= count
        if slices[row, TAKE] < slices[row, SLOTS]:
            spread_values(out, slices[row, OUT_START], slices[row, SLOTS], slices[row, TAKE], validity)
    return np.int64(OK)


@kernel
def read_pairs(src, slices, validity, dictionary, indexes, out):
    """Values of 16 bytes (decimals, string views): `dictionary` and `out` are uint64[:, 2]."""
    entry_count = np.int64(dictionary.shape[0])
    for row in range(slices.shape[0]):
        at = slices[row, OUT_START]
        skip = slices[row, SKIP]
        left = slices[row, TAKE]
        if left > 0:
            pos = slices[row, SRC_START]
            end = slices[row, SRC_END]
            bit_width = read_bit_width(src, pos, end, entry_count)
            if bit_width < 0:
                return fail(bit_width, row)
            pos += 1
            while left > 0:
                packed, count, value, pos = next_run(src, pos, end, bit_width, skip + left)
                if pos < 0:
                    return fail(pos, row)
                first = min(skip, count)
                skip -= first
                count -= first
                left -= count
                if packed:
                    while count > 0:
                        size = min(count, np.int64(indexes.shape[0]))
                        if unpack_bits(src, value, bit_width, first, indexes, 0, size) >= np.uint64(entry_count):
                            return fail(BAD_INDEX, row)
                        for i in range(size):
                            copy_16(out, (at + i) * 16, dictionary, np.int64(indexes[i]) * 16)
                        first += size
                        at += size
                        count -= size
                elif count > 0:
                    if value >= entry_count:
                        return fail(BAD_INDEX, row)
                    for i in range(at, at + count):
                        out[i, 0] = dictionary[value, 0]
                        out[i, 1] = dictionary[value, 1]
                    at += count
        if slices[row, TAKE] < slices[row, SLOTS]:
            spread_pairs(out, slices[row, OUT_START], slices[row, SLOTS], slices[row, TAKE], validity)
    return np.int64(OK)


@kernel
def read_wide(src, slices, validity, dictionary, entry_count, width, indexes, out):
    """Values of `width` (0 or more) bytes: `dictionary` holds `entry_count` of them; it and `out` are uint8."""
    for row in range(slices.shape[0]):
        at = slices[row, OUT_START]
        skip = slices[row, SKIP]
        left = slices[row, TAKE]
        if left > 0:
            pos = slices[row, SRC_START]
            end = slices[row, SRC_END]
            bit_width = read_bit_width(src, pos, end, entry_count)
            if bit_width < 0:
                return fail(bit_width, row)
            pos += 1
            while left > 0:
                packed, count, value, pos = next_run(src, pos, end, bit_width, skip + left)
                if pos < 0:
                    return fail(pos, row)
                first = min(skip, count)
                skip -= first
                count -= first
                left -= count
                if packed:
                    while count > 0:
                        size = min(count, np.int64(indexes.shape[0]))
                        if unpack_bits(src, value, bit_width, first, indexes, 0, size) >= np.uint64(entry_count):
                            return fail(BAD_INDEX, row)
                        for i in range(size):
                            copy_bytes(out, (at + i) * width, dictionary, np.int64(indexes[i]) * width, width)
                        first += size
                        at += size
                        count -= size
                elif count > 0:
                    if value >= entry_count:
                        return fail(BAD_INDEX, row)
                    for i in range(at, at + count):
                        copy_bytes(out, i * width, dictionary, value * width, width)
                    at += count
        if slices[row, TAKE] < slices[row, SLOTS]:
            spread_wide(out, width, slices[row, OUT_START], slices[row, SLOTS], slices[row, TAKE], validity)
    return np.int64(OK)


@block
def read_page_indexes(src, pos, end, skip, count, entry_count, out, at):
    """Write `count` indexes of one page, after `skip` others, into `out[at:]` (int32); return OK or a status."""
    if count <= 0:
        return np.int64(OK)
    bit_width = read_bit_width(src, pos, end, entry_count)
    if bit_width < 0:
        return bit_width
    pos += 1
    while count > 0:
        packed, length, value, pos = next_run(src, pos, end, bit_width, skip + count)
        if pos < 0:
            return pos
        first = min(skip, length)
        skip -= first
        length -= first
        if length == 0:
            continue
        if packed:
            if unpack_bits(src, value, bit_width, first, out, at, length) >= np.uint64(entry_count):
                return np.int64(BAD_INDEX)
        else:
            if value >= entry_count:
                return np.int64(BAD_INDEX)
            repeated = np.int32(value)
            for i in range(at, at + length):
                out[i] = repeated
        at += length
        count -= length
    return np.int64(OK)


@kernel
def read_indexes(src, slices, entry_count, out):
    """The indexes of all rows one after the other, without gaps for nulls, in `out` (int32); return their number."""
    at = np.int64(0)
    for row in range(slices.shape[0]):
        take = slices[row, TAKE]
        status = read_page_indexes(
            src, slices[row, SRC_START], slices[row, SRC_END], slices[row, SKIP], take, entry_count, out, at
        )
        if status < 0:
            return fail(status, row)
        at += take
    return at


@block
def expand_codes(codes, at, slots, take, validity):
    """Spread `take` codes that lie at the end of the slots at .. at + slots over them, with 0 where a slot is null.

    Forwards and in place: a code is read at or after the slot it goes to. No branch depends on a validity bit.
    """
    source = at + slots - take
    last = at + slots - 1
    slot = at
    while slot <= last and source > slot:
        word = validity[np.uint64(slot >> 6)] >> np.uint64(slot & 63)
        stop = min(last + 1, slot + 64 - (slot & 63))
        for i in range(np.uint64(slot), np.uint64(stop)):
            bit = np.int64(word & np.uint64(1))
            word >>= np.uint64(1)
            codes[i] = codes[np.uint64(min(source, last))] & np.int32(-bit)
            source += bit
        slot = stop


@kernel
def read_codes(src, slices, validity, entry_count, out):
    """The indexes at their slots in `out` (int32), 0 where a slot is null."""
    for row in range(slices.shape[0]):
        at = slices[row, OUT_START]
        take = slices[row, TAKE]
        slots = slices[row, SLOTS]
        if take > 0:
            status = read_page_indexes(
                src,
                slices[row, SRC_START],
                slices[row, SRC_END],
                slices[row, SKIP],
                take,
                entry_count,
                out,
                at + slots - take,
            )
            if status < 0:
                return fail(status, row)
            if take < slots:
                expand_codes(out, at, slots, take, validity)
        else:
            for i in range(slots):
                out[at + i] = 0
    return np.int64(OK)


@kernel
def measure_byte_arrays(indexes, count, dictionary_offsets):
    """Bytes of the entries that the first `count` indexes name; the indexes are already checked."""
    total = np.int64(0)
    for i in range(count):
        index = np.int64(indexes[i])
        total += np.int64(dictionary_offsets[index + 1]) - np.int64(dictionary_offsets[index])
    return total


@kernel
def gather_byte_arrays(indexes, slices, validity, dictionary_offsets, dictionary_data, offsets, data):
    """Copy the entries that `indexes` (as read_indexes gives them) name; return the bytes in `data` so far.

    Not checked: indexes and dictionary offsets, which come from kernels that did. `data` and `dictionary_data` have
    SLACK spare bytes; `offsets` (int32 or int64) holds at the first slot where the first value goes.
    """
    room = room_for_bytes(offsets, data)
    total = np.int64(0)
    done = np.int64(0)
    for row in range(slices.shape[0]):
        at = slices[row, OUT_START]
        take = slices[row, TAKE]
        total = np.int64(offsets[at])
        if total < 0 or total > room:
            return fail(OUTPUT_FULL, row)
        for i in range(take):
            index = np.int64(indexes[done + i])
            start = np.int64(dictionary_offsets[index])
            length = np.int64(dictionary_offsets[index + 1]) - start
            if length > room - total:
                return fail(OUTPUT_FULL, row)
            copy_value(data, total, dictionary_data, start, length)
            total += length
            offsets[at + i + 1] = total
        done += take
        if take < slices[row, SLOTS]:
            spread_offsets(offsets, at, slices[row, SLOTS], take, validity)
    return total


@kernel
def gather_fixed(indexes, validity, start, dictionary, out):
    """Values that dense, checked `indexes` (as read_indexes gives them) name, at the set bits of the slots of `out`.

    `out` (uint8, uint32 or uint64) holds the slots from `start` on; `indexes` has one spare entry, which like all is
    below the dictionary's size. A null slot gets the value that comes next: no branch depends on a validity bit, and
    values move once instead of being gathered and then spread.
    """
    position = np.uint64(0)
    last = np.uint64(indexes.shape[0] - 1)
    slot = np.int64(start)
    stop = np.int64(start + out.shape[0])
    at = np.uint64(0)
    while slot < stop:
        word = validity[np.uint64(slot >> 6)] >> np.uint64(slot & 63)
        count = min(stop - slot, 64 - (slot & 63))
        for i in range(count):
            out[at] = dictionary[np.uint64(np.uint32(indexes[min(position, last)]))]
            position += word & np.uint64(1)
            word >>= np.uint64(1)
            at += np.uint64(1)
        slot += count
    return np.int64(OK)


@kernel
def gather_pairs(indexes, validity, start, dictionary, out):
    """As gather_fixed for values of 16 bytes: `dictionary` and `out` are uint64[:, 2]."""
    position = np.uint64(0)
    last = np.uint64(indexes.shape[0] - 1)
    slot = np.int64(start)
    stop = np.int64(start + out.shape[0])
    at = np.uint64(0)
    while slot < stop:
        word = validity[np.uint64(slot >> 6)] >> np.uint64(slot & 63)
        count = min(stop - slot, 64 - (slot & 63))
        for i in range(count):
            entry = np.uint64(np.uint32(indexes[min(position, last)]))
            out[at, 0] = dictionary[entry, 0]
            out[at, 1] = dictionary[entry, 1]
            position += word & np.uint64(1)
            word >>= np.uint64(1)
            at += np.uint64(1)
        slot += count
    return np.int64(OK)
