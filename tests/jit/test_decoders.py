"""The dispatch tables: every legal pair is in exactly one, and every kernel exists with its signature."""

from __future__ import annotations

import importlib
import inspect
import itertools
import subprocess
import sys
from pathlib import Path

import pytest
from numba.core import sigutils

from hardwood_jit.jit.decoders import DECODERS, DICTIONARY_ENCODINGS, NOT_YET, SIGNATURES
from hardwood_jit.jit.general import WIDTHS
from hardwood_jit.physical import Encoding, PhysicalType

BOOLEAN, INT32, INT64, INT96, FLOAT, DOUBLE, BYTE_ARRAY, FIXED = PhysicalType
EVERY = set(PhysicalType)
# Encodings.md; BIT_PACKED is for levels only, RLE for levels, dictionary indexes and booleans.
SPECIFICATION: dict[Encoding, set[PhysicalType]] = {
    Encoding.PLAIN: EVERY,
    Encoding.PLAIN_DICTIONARY: EVERY,
    Encoding.RLE_DICTIONARY: EVERY,
    Encoding.RLE: {BOOLEAN},
    Encoding.BIT_PACKED: set(),
    Encoding.DELTA_BINARY_PACKED: {INT32, INT64},
    Encoding.DELTA_LENGTH_BYTE_ARRAY: {BYTE_ARRAY},
    Encoding.DELTA_BYTE_ARRAY: {BYTE_ARRAY, FIXED},
    Encoding.BYTE_STREAM_SPLIT: {INT32, INT64, FLOAT, DOUBLE, FIXED},
}


def test_specification_knows_every_encoding() -> None:
    assert set(SPECIFICATION) == set(Encoding)


@pytest.mark.parametrize("encoding", Encoding, ids=str)
@pytest.mark.parametrize("physical", PhysicalType, ids=str)
def test_legal_pair_is_in_exactly_one_table_and_no_other_pair_in_any(
    physical: PhysicalType, encoding: Encoding
) -> None:
    pair = (physical, encoding)
    tables = [pair in DECODERS, pair in NOT_YET]
    assert tables.count(True) == int(physical in SPECIFICATION[encoding])
    assert pair not in NOT_YET or NOT_YET[pair]


@pytest.mark.parametrize("name", sorted({f"{block.module}.{block.function}" for block in DECODERS.values()}))
def test_kernel_of_the_table_has_a_signature(name: str) -> None:
    assert name in SIGNATURES


def test_dictionary_encodings_and_only_they_take_a_dictionary() -> None:
    for (_, encoding), block in DECODERS.items():
        assert (block.takes == "dictionary") == (encoding in DICTIONARY_ENCODINGS)


@pytest.mark.parametrize("name", SIGNATURES)
def test_signature_belongs_to_a_kernel_with_as_many_arguments(name: str) -> None:
    module, function = name.split(".")
    kernel = getattr(importlib.import_module(f"hardwood_jit.kernels.{module}"), function)
    text = SIGNATURES[name]
    for t, o in itertools.product(WIDTHS.get(name, ("uint32",)), ("int32", "int64")):
        arguments, _ = sigutils.normalize_signature(text.format(t=t, o=o))
        assert len(arguments) == len(inspect.signature(kernel.py_func).parameters)
    assert ("{t}" in text) == (name in WIDTHS)


def test_scans_call_kernels_by_their_declared_signatures_only() -> None:
    """Another argument type would compile a kernel a second time, in the middle of a scan."""
    code = """
import datetime, decimal, importlib, io, itertools
import pyarrow as pa, pyarrow.parquet as pq
from numba.core import sigutils
import hardwood_jit as hw
from hardwood_jit.jit.decoders import SIGNATURES
from hardwood_jit.jit.general import WIDTHS

numbers = [None if i % 7 == 0 else i for i in range(300)]
table = pa.table({
    "i": pa.array(numbers, pa.int32()), "l": pa.array(range(300), pa.int64()), "f": pa.array(numbers, pa.float64()),
    "b": [i % 3 == 0 for i in range(300)], "s": [None if i % 5 == 0 else f"text {i % 9}" for i in range(300)],
    "w": pa.array([bytes([i % 9] * 5) for i in range(300)], pa.binary(5)),
    "n": [None if i % 11 == 0 else [None, i] for i in range(300)], "g": [{"x": i} for i in range(300)],
    "d": pa.array([decimal.Decimal(i) for i in range(300)], pa.decimal128(9)),
})
plain, integers = {"use_dictionary": False}, {"store_decimal_as_integer": True}
for options in ({}, plain, {**plain, **integers, "data_page_version": "2.0"}, integers):
    file = io.BytesIO()
    pq.write_table(table, file, write_page_index=True, **options)
    for source in (file.getvalue(), file):
        scan = hw.scan(source).threads(1)
        assert scan.to_arrow().equals(table)
        assert scan.to_arrow(strings="view").num_rows == 300
        assert scan.to_arrow(dictionary=["s"]).num_rows == 300
        assert sum(batch.num_rows for batch in scan.skip(17).head(200).batch_size(33).batches()) == 200
for name, text in SIGNATURES.items():
    module, function = name.split(".")
    kernel = getattr(importlib.import_module(f"hardwood_jit.kernels.{module}"), function)
    pairs = itertools.product(WIDTHS.get(name, ("uint32",)), ("int32", "int64"))
    declared = {sigutils.normalize_signature(text.format(t=t, o=o))[0] for t, o in pairs}
    surplus = set(kernel.signatures) - declared
    assert not surplus, (name, surplus)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=Path(__file__).parents[2])
    assert done.returncode == 0, done.stderr
