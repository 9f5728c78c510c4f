# mypy: ignore-errors
"""Little-endian loads and stores, bit counts, varints and bit unpacking.

Loads, stores and copies are unaligned and unchecked: the caller has compared position and length before. With JIT
disabled their Python twins run instead, so that a person can step through a kernel.
"""

import time

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.config import DISABLE_JIT
from numba.extending import intrinsic

from .compiled import block
from .status import BAD_HEADER, TRUNCATED

_BYTE = ir.IntType(8)


def _address(context, builder, array_type, array, byte_position):
    data = context.make_array(array_type)(context, builder, array).data
    return cgutils.pointer_add(builder, builder.bitcast(data, _BYTE.as_pointer()), byte_position)


def _loader(bits, result):
    @intrinsic
    def load(typingctx, src, pos):
        def codegen(context, builder, signature, args):
            pointer = _address(context, builder, signature.args[0], args[0], args[1])
            return builder.load(builder.bitcast(pointer, ir.IntType(bits).as_pointer()), align=1)

        return result(src, types.int64), codegen

    return load


def _storer(bits, value_type):
    @intrinsic
    def store(typingctx, out, pos, value):
        def codegen(context, builder, signature, args):
            pointer = _address(context, builder, signature.args[0], args[0], args[1])
            builder.store(args[2], builder.bitcast(pointer, ir.IntType(bits).as_pointer()), align=1)
            return context.get_dummy_value()

        return types.void(out, types.int64, value_type), codegen

    return store


@intrinsic
def _popcount(typingctx, word):
    def codegen(context, builder, signature, args):
        return builder.ctpop(args[0])

    return types.uint64(types.uint64), codegen


@intrinsic
def _trailing_zeros(typingctx, word):
    def codegen(context, builder, signature, args):
        return builder.cttz(args[0], ir.Constant(ir.IntType(1), 0))

    return types.uint64(types.uint64), codegen


@intrinsic
def _copy_bytes(typingctx, out, out_pos, src, src_pos, count):
    def codegen(context, builder, signature, args):
        target = _address(context, builder, signature.args[0], args[0], args[1])
        source = _address(context, builder, signature.args[2], args[2], args[3])
        cgutils.raw_memmove(builder, target, source, args[4], 1)
        return context.get_dummy_value()

    return types.void(out, types.int64, src, types.int64, types.int64), codegen


@intrinsic
def _copy_16(typingctx, out, out_pos, src, src_pos):
    def codegen(context, builder, signature, args):
        wide = ir.VectorType(ir.IntType(64), 2).as_pointer()
        source = _address(context, builder, signature.args[2], args[2], args[3])
        target = _address(context, builder, signature.args[0], args[0], args[1])
        builder.store(builder.load(builder.bitcast(source, wide), align=1), builder.bitcast(target, wide), align=1)
        return context.get_dummy_value()

    return types.void(out, types.int64, src, types.int64), codegen


@intrinsic
def _cycle_count(typingctx):
    def codegen(context, builder, signature, args):
        word = ir.IntType(64)
        counter = builder.module.declare_intrinsic("llvm.readcyclecounter", (), ir.FunctionType(word, ()))
        return builder.call(counter, ())

    return types.int64(), codegen


def _mover(width):
    @intrinsic
    def move(typingctx, out, out_pos, is_src, src, src_pos, own_pos):
        def codegen(context, builder, signature, args):
            wide = ir.VectorType(ir.IntType(64), width // 8).as_pointer()
            other = _address(context, builder, signature.args[3], args[3], args[4])
            own = _address(context, builder, signature.args[0], args[0], args[5])
            target = _address(context, builder, signature.args[0], args[0], args[1])
            # A choice of addresses, not a branch: nothing predicts which of the two it is.
            flag = builder.icmp_unsigned("!=", args[2], ir.Constant(args[2].type, 0))
            source = builder.select(flag, other, own)
            builder.store(builder.load(builder.bitcast(source, wide), align=1), builder.bitcast(target, wide), align=1)
            return context.get_dummy_value()

        return types.void(out, types.int64, types.uint64, src, types.int64, types.int64), codegen

    return move


# The Python twins: same meaning, run only under NUMBA_DISABLE_JIT=1.


def _bytes_of(array):
    return array.reshape(-1).view(np.uint8)


def _python_load(dtype):
    size = np.dtype(dtype).itemsize

    def load(src, pos):
        return np.frombuffer(_bytes_of(src)[pos : pos + size].tobytes(), dtype)[0]

    return load


def _python_store(dtype):
    def store(out, pos, value):
        raw = np.array([value], dtype).view(np.uint8)
        _bytes_of(out)[pos : pos + raw.size] = raw

    return store


def _python_copy_bytes(out, out_pos, src, src_pos, count):
    _bytes_of(out)[out_pos : out_pos + count] = _bytes_of(src)[src_pos : src_pos + count].copy()


if DISABLE_JIT:
    load_u16 = _python_load(np.uint16)
    load_u32 = _python_load(np.uint32)
    load_u64 = _python_load(np.uint64)
    store_u32 = _python_store(np.uint32)
    store_u64 = _python_store(np.uint64)
    copy_bytes = _python_copy_bytes

    cycle_count = time.perf_counter_ns

    def popcount(word):
        return int(word).bit_count()

    def trailing_zeros(word):
        word = int(word)
        return 64 if word == 0 else (word & -word).bit_length() - 1

    def copy_16(out, out_pos, src, src_pos):
        # An array may end before the spare bytes that lie behind it in its memory.
        count = min(16, _bytes_of(out).size - out_pos, _bytes_of(src).size - src_pos)
        if count > 0:
            _python_copy_bytes(out, out_pos, src, src_pos, count)

    def _python_mover(width):
        def move(out, out_pos, is_src, src, src_pos, own_pos):
            copy_bytes(out, out_pos, src if is_src else out, src_pos if is_src else own_pos, width)

        return move

    move_16, move_32 = map(_python_mover, (16, 32))

else:
    load_u16 = _loader(16, types.uint16)
    load_u32 = _loader(32, types.uint32)
    load_u64 = _loader(64, types.uint64)
    store_u32 = _storer(32, types.uint32)
    store_u64 = _storer(64, types.uint64)
    copy_bytes = _copy_bytes  # memmove of a counted number of bytes; positions count bytes whatever the dtype
    copy_16 = _copy_16  # exactly 16 bytes: both sides need that much room
    cycle_count = _cycle_count  # of the processor, in a unit of its own: for shares of a time measured outside
    # Exactly so many bytes, from src[src_pos:] or from out[own_pos:]: all of them need that much room.
    move_16 = _mover(16)
    move_32 = _mover(32)
    popcount = _popcount  # of a uint64
    trailing_zeros = _trailing_zeros  # of a uint64; 64 for zero


@block
def read_varint(src, pos, end):
    """Unsigned LEB128 of at most 32 bits (RLE headers, byte counts): (value, next position), or position < 0."""
    value = np.int64(0)
    shift = 0
    while shift < 35:
        if pos >= end:
            return np.int64(0), np.int64(TRUNCATED)
        byte = np.int64(src[pos])
        pos += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            if value > 0xFFFFFFFF:
                return np.int64(0), np.int64(BAD_HEADER)
            return value, np.int64(pos)
        shift += 7
    return np.int64(0), np.int64(BAD_HEADER)


@block
def read_varint64(src, pos, end):
    """Unsigned LEB128 of at most 64 bits, as its int64 bit pattern: (value, next position), or position < 0."""
    value = np.uint64(0)
    shift = np.uint64(0)
    while shift < np.uint64(70):
        if pos >= end:
            return np.int64(0), np.int64(TRUNCATED)
        byte = np.uint64(src[pos])
        pos += 1
        # The tenth byte may carry one bit only: anything above does not fit 64 bits.
        if shift == np.uint64(63) and byte > np.uint64(1):
            return np.int64(0), np.int64(BAD_HEADER)
        value |= (byte & np.uint64(0x7F)) << shift
        if byte < np.uint64(0x80):
            return np.int64(value), np.int64(pos)
        shift += np.uint64(7)
    return np.int64(0), np.int64(BAD_HEADER)


@block
def zigzag(value):
    """Signed number of a zigzag-coded bit pattern (int64 in, int64 out)."""
    word = np.uint64(value)
    return np.int64(word >> np.uint64(1)) ^ -np.int64(word & np.uint64(1))


@block
def unpack_bits(src, pos, bit_width, first, out, at, count):
    """Write `count` values of `bit_width` (1..32) bits, from number `first` on, to `out[at:]` (int32).

    Returns the highest of them (uint64; 0 when there are none), for whoever has a limit to compare it with.
    `pos` is where value number 0 starts. Loads 8 bytes at a time: 8 bytes after the last value must be readable.
    """
    width = np.uint64(bit_width)
    mask = (np.uint64(1) << width) - np.uint64(1)
    half = bit_width >> 1
    odd = np.uint64((bit_width & 1) << 2)  # four values of an odd width end in the middle of a byte
    highest = np.uint64(0)
    i = np.int64(0)
    while i < count:
        slot = np.uint64(at + i)
        groups = (count - i) >> 3
        if bit_width <= 16 and ((first + i) & 7) == 0 and groups > 0:
            # Eight values take `bit_width` whole bytes; two loads serve them all, and the loop becomes vector code.
            start = pos + ((first + i) >> 3) * bit_width
            for g in range(groups):
                low = load_u64(src, start + g * bit_width)
                high = load_u64(src, start + g * bit_width + half) >> odd
                for k in range(4):
                    value = (low >> (np.uint64(k) * width)) & mask
                    highest = max(highest, value)
                    out[slot + np.uint64(k)] = np.int32(np.uint32(value))
                for k in range(4):
                    value = (high >> (np.uint64(k) * width)) & mask
                    highest = max(highest, value)
                    out[slot + np.uint64(k + 4)] = np.int32(np.uint32(value))
                slot += np.uint64(8)
            i += groups * 8
        else:
            few = count - i
            if bit_width <= 16:  # up to where the next group starts
                few = min(few, 8 - ((first + i) & 7))
            for k in range(few):
                bit = (first + i + k) * bit_width
                value = (load_u64(src, pos + (bit >> 3)) >> np.uint64(bit & 7)) & mask
                highest = max(highest, value)
                out[slot + np.uint64(k)] = np.int32(np.uint32(value))
            i += few
    return highest
