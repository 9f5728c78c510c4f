"""The general kernels that a plain read uses, by leaf and encoding: for loading them before they are needed."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from hardwood_jit.jit.conjunct import value_tests
from hardwood_jit.jit.decoders import DECODERS, DICTIONARY_ENCODINGS, SIGNATURES
from hardwood_jit.jit.fused_kernels import FUSED
from hardwood_jit.jit.group_kernel import KERNELS as GROUP_KERNELS
from hardwood_jit.jit.joined_kernel import KERNELS as JOINING_KERNELS
from hardwood_jit.jit.kernel_cache import load
from hardwood_jit.jit.lookup_kernel import KERNELS as LOOKUP_KERNELS
from hardwood_jit.jit.shape import page_shape, row_shape
from hardwood_jit.kernels.skim import skim_all_statistics, skip_struct
from hardwood_jit.kernels.tables import STATS_FIELDS
from hardwood_jit.physical import Encoding, PhysicalType

if TYPE_CHECKING:
    from hardwood_jit.metadata.schema import Leaf
    from hardwood_jit.plan.bound import BoundPredicate

WIDTHS = {
    "plain.read_fixed": ("uint32", "uint64"),
    "dictionary.read_fixed": ("uint8", "uint32", "uint64"),
    "dictionary.gather_fixed": ("uint8", "uint32", "uint64"),
    "delta.read_integers": ("uint32", "uint64"),
    "byte_stream_split.read_fixed": ("uint32", "uint64"),
    "decimal.widen_integers": ("int32", "int64"),
    "compare.test_words": ("uint8", "uint32", "uint64"),
    "select.take_words": ("uint8", "uint32", "uint64"),
    "take.take_fixed": ("uint32", "uint64"),
    "chunk.take_numbers": ("uint32", "uint64"),
}
_WIDTH_OF = {
    PhysicalType.BOOLEAN: "uint8",
    PhysicalType.INT32: "uint32",
    PhysicalType.FLOAT: "uint32",
    PhysicalType.INT64: "uint64",
    PhysicalType.DOUBLE: "uint64",
}

FILTERS = (
    "snappy.inflate_pages",
    "snappy.inflate_prefix",
    "snappy.inflate_first_values",
    "fused.narrow_dictionary",
    "take.find_byte_arrays",
    "compare.test_plain",
    "compare.test_plain_byte_arrays",
    "select.count_mask",
    "select.live_pages",
    "select.mark_pages",
    "select.list_positions",
    "select.narrow",
)
# Also with the interpreter lock kept, for little work.
QUICK_FILTERS = (
    "chunk.narrow_numbers",
    "chunk.narrow_byte_arrays",
    "chunk.take_numbers",
    "chunk.find_taken_bytes",
    "take.slice_pages",
    "take.take_indexes",
    "take.take_fixed",
    "take.copy_byte_arrays",
    "compare.test_words",
    "compare.test_byte_arrays",
    "dictionary.gather_fixed",
    "decimal.widen_integers",
    "select.rank_survivors",
    "select.take_words",
    "select.take_bits",
    "utf8.check_utf8",
    "utf8.check_utf8_entries",
)


def load_statistics() -> None:
    """The kernel that reads statistics of many row groups, which its first call compiles."""
    none = np.empty(0, np.int64)
    skim_all_statistics(np.zeros(1, np.uint8), none, none, np.empty((0, STATS_FIELDS), np.int64))


def load_all() -> None:
    """Every kernel of SIGNATURES, with 32-bit offsets."""
    skip_struct(np.zeros(1, np.uint8), 0, 1)  # an empty struct: compiles the walker of footers and page headers
    load_statistics()
    for name in SIGNATURES:
        for t in WIDTHS.get(name, ("",)):
            load(name, t, "int32" if "{o}" in SIGNATURES[name] else "")


def load_for(leaf: Leaf, encodings: Iterable[Encoding | int]) -> None:
    """The kernels that decode pages of these encodings of a leaf."""
    if leaf.layers or leaf.max_definition_level > 1:
        names = ["levels.read_levels", "levels.slice_records"]
        if leaf.max_repetition_level > 0:
            names.append("levels.count_record_starts")
        if leaf.max_repetition_level > 0 and len(leaf.layers) == 1:
            names.append("levels.build_list")
        else:
            names += ["levels.build_slots", "levels.build_repeated"]
    else:
        names = ["levels.read_validity" if leaf.max_definition_level else "levels.slice_required"]
    for encoding in encodings:
        if not isinstance(encoding, Encoding) or (leaf.physical_type, encoding) not in DECODERS:
            continue  # RLE and BIT_PACKED in a chunk's list are those of its levels; an unknown one fails when read
        block = DECODERS[leaf.physical_type, encoding]
        names.append(f"{block.module}.{block.function}")
        if leaf.physical_type == PhysicalType.BYTE_ARRAY and encoding in DICTIONARY_ENCODINGS:
            names += ["dictionary.read_indexes", "dictionary.measure_byte_arrays", "plain.read_byte_arrays"]
        elif leaf.max_definition_level and encoding in DICTIONARY_ENCODINGS and leaf.physical_type in _WIDTH_OF:
            names += ["dictionary.read_indexes", "dictionary.gather_fixed"]
    for name in names:
        t = _WIDTH_OF.get(leaf.physical_type, "") if name in WIDTHS else ""
        load(name, t, "int32" if "{o}" in SIGNATURES[name] else "")


def load_joining() -> None:
    """The kernels that decode many small row groups together."""
    FUSED.build(JOINING_KERNELS)


def load_filters(bound: BoundPredicate) -> None:
    """The kernels that a predicate needs: those that every filter uses, and the generated ones, built if need be."""
    load_statistics()
    for name in (*FILTERS, *QUICK_FILTERS):
        for t in WIDTHS.get(name, ("",)):
            load(name, t, "int32" if "{o}" in SIGNATURES[name] else "", quick=False)
            if name in QUICK_FILTERS:
                load(name, t, "int32" if "{o}" in SIGNATURES[name] else "", quick=True)
    shapes = [found[0] for test in value_tests(bound.conjuncts) if (found := page_shape(test)) is not None]
    shapes += [of_rows[0] for node in bound.conjuncts if (of_rows := row_shape(node)) is not None]
    FUSED.build([*shapes, *GROUP_KERNELS, *LOOKUP_KERNELS])
