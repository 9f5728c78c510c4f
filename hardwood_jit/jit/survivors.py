"""The rows that survive a filter: taken from decoded columns, and pieces of several windows joined."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardwood_jit.batch import NO_NULLS, Column, Layer, Validity
from hardwood_jit.jit.kernel_cache import load, load_for_count
from hardwood_jit.memory import allocate, allocate_array

Positions = NDArray[np.int32]


def take_column(column: Column, positions: Positions) -> Column:
    """The records of a decoded column at these positions (rising), whatever its form and nesting."""
    slots = positions
    layers = []
    for layer in column.layers:
        validity = take_validity(layer.validity, slots)
        if layer.offsets is None:
            layers.append(Layer(layer.kind, validity))
            continue
        offsets = allocate_array(len(slots) + 1, np.int32, 4)
        items = np.empty(load("select.measure_taken", o="int32")(layer.offsets, slots), np.int32)
        load("select.take_lists")(layer.offsets, slots, offsets, items)
        layers.append(Layer(layer.kind, validity, offsets))
        slots = items
    taken = Column(
        column.leaf,
        len(positions),
        len(slots),
        take_validity(column.validity, slots),
        tuple(layers),
        form=column.form,
        buffers=column.buffers,
        dictionary=column.dictionary,
        text_checked=column.text_checked,
        range_checked=column.range_checked,
    )
    _take_values(column, slots, taken)
    return taken


def take_validity(validity: Validity, positions: Positions) -> Validity:
    """Validity of the items at these positions."""
    if validity.words is None:
        return NO_NULLS
    words = np.empty((len(positions) + 63) >> 6, np.uint64)
    nulls = load_for_count("select.take_bits", len(positions))(validity.words, positions, words)
    return Validity(words, len(positions), nulls) if nulls else NO_NULLS


def _take_values(column: Column, slots: Positions, taken: Column) -> None:
    count = len(slots)
    if column.offsets is not None:
        o = column.offsets.dtype.name
        assert column.data is not None
        total = load("select.measure_taken", o=o)(column.offsets, slots)
        taken.offsets = allocate_array(count + 1, o, column.offsets.dtype.itemsize)
        data = allocate(total)
        load("select.take_byte_arrays", o=o)(column.offsets, column.data, slots, taken.offsets, data)
        taken.data = data[:total]
        return
    values = column.values
    assert values is not None
    if column.form in ("decimal128", "views"):
        taken.values = allocate_array((count, 2), np.uint64, 16)
        load_for_count("select.take_pairs", count)(values, slots, taken.values)
    elif values.ndim == 2:
        width = values.shape[1]
        out = allocate(count * width)[: count * width]
        load("select.take_wide")(values.reshape(-1), width, slots, out)
        taken.values = out.reshape(count, width)
    else:
        t = f"uint{values.dtype.itemsize * 8}"
        words = allocate_array(count, t, values.dtype.itemsize)
        load_for_count("select.take_words", count, t)(values.view(t), slots, words)
        taken.values = words.view(values.dtype)


# Joining


def join_columns(pieces: Sequence[Column]) -> Column:
    """One column of the records of several, in order; all are of one column chunk, so that a dictionary is the same."""
    if len(pieces) == 1:
        return pieces[0]
    if any(piece.form != pieces[0].form for piece in pieces):  # pages without a dictionary between pages with one
        pieces = [_without_dictionary(piece) for piece in pieces]
    first = pieces[0]
    count = sum(piece.value_count for piece in pieces)
    joined = Column(
        first.leaf,
        sum(piece.record_count for piece in pieces),
        count,
        _join_validity([piece.validity for piece in pieces], [piece.value_count for piece in pieces]),
        tuple(_join_layers(pieces, number) for number in range(len(first.layers))),
        form=first.form,
        text_checked=all(piece.text_checked for piece in pieces),
        range_checked=all(piece.range_checked for piece in pieces),
        dictionary=first.dictionary,
    )
    if first.offsets is not None:
        joined.offsets, joined.data = _join_byte_arrays(pieces)
        return joined
    shape = (count, *first.values.shape[1:]) if first.values is not None else (count,)
    assert first.values is not None
    row_bytes = first.values.dtype.itemsize * (shape[1] if len(shape) == 2 else 1)
    out = np.ndarray(shape, first.values.dtype, allocate(count * row_bytes))
    np.concatenate([piece.values for piece in pieces if piece.values is not None], out=out)
    joined.values = out
    if first.form == "views":
        joined.buffers = _join_buffers(pieces, out)
    return joined


def can_join(one: Column, other: Column) -> bool:
    """Whether two pieces of a column chunk become one column without giving up their form."""
    return one.form == other.form


def _without_dictionary(column: Column) -> Column:
    """Byte arrays in place of the codes that stand for them."""
    if column.form != "dictionary":
        return column
    entries, codes = column.dictionary, column.values
    assert entries is not None and codes is not None
    plain = Column(
        column.leaf,
        column.record_count,
        column.value_count,
        column.validity,
        column.layers,
        text_checked=column.text_checked,
    )
    if entries.value_count:
        _take_values(entries, codes, plain)
    else:  # all are null
        plain.offsets, plain.data = np.zeros(column.value_count + 1, np.int32), allocate(0)[:0]
    return plain


def _join_buffers(pieces: Sequence[Column], views: NDArray[Any]) -> list[NDArray[np.uint8]]:
    """All buffers of the pieces; views of long values are pointed to their new numbers."""
    buffers: list[NDArray[np.uint8]] = []
    at = 0
    for piece in pieces:
        part = views[at : at + piece.value_count]
        if buffers:
            is_long = (part[:, 0] & np.uint64(0xFFFFFFFF)) > 12
            part[is_long, 1] += np.uint64(len(buffers))
        buffers += piece.buffers
        at += piece.value_count
    return buffers


def _join_byte_arrays(pieces: Sequence[Column]) -> tuple[NDArray[Any], NDArray[np.uint8]]:
    sizes = [int(piece.offsets[-1]) for piece in pieces if piece.offsets is not None]
    total = sum(sizes)
    dtype = np.dtype(np.int32 if total < 2**31 - 1 else np.int64)
    offsets = allocate_array(sum(piece.value_count for piece in pieces) + 1, dtype, dtype.itemsize)
    offsets[0] = 0
    data = allocate(total)
    at = used = 0
    for piece, size in zip(pieces, sizes, strict=True):
        assert piece.offsets is not None and piece.data is not None
        np.add(piece.offsets[1:], used, out=offsets[at + 1 : at + piece.value_count + 1], casting="unsafe")
        data[used : used + size] = piece.data[:size]
        at += piece.value_count
        used += size
    return offsets, data[:total]


def _join_layers(pieces: Sequence[Column], number: int) -> Layer:
    layers = [piece.layers[number] for piece in pieces]
    counts = [_slots_above(piece, number) for piece in pieces]
    validity = _join_validity([layer.validity for layer in layers], counts)
    if layers[0].offsets is None:
        return Layer(layers[0].kind, validity)
    offsets = np.zeros(sum(counts) + 1, np.int32)
    at = used = 0
    for layer, count in zip(layers, counts, strict=True):
        assert layer.offsets is not None
        offsets[at + 1 : at + count + 1] = layer.offsets[1:] + used
        used += int(layer.offsets[-1])
        at += count
    return Layer(layers[0].kind, validity, offsets)


def _slots_above(column: Column, number: int) -> int:
    """How many items layer `number` has."""
    count = column.record_count
    for layer in column.layers[:number]:
        if layer.offsets is not None:
            count = int(layer.offsets[-1])
    return count


def _join_validity(parts: Sequence[Validity], counts: Sequence[int]) -> Validity:
    if all(part.words is None for part in parts):
        return NO_NULLS
    bits = np.concatenate([part.to_numpy(count) for part, count in zip(parts, counts, strict=True)])
    words = np.zeros((bits.size + 63) >> 6, np.uint64)
    packed = np.packbits(bits, bitorder="little")
    words.view(np.uint8)[: packed.size] = packed
    return Validity(words, bits.size)
