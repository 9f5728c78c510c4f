"""Keys of a test -> the bytes a file stores for them, where there is just one way to store each; for bloom filters."""

from __future__ import annotations

import math
import struct
from typing import TYPE_CHECKING

from hardwood_jit.metadata.bloom import hashes_of
from hardwood_jit.physical import PhysicalType
from hardwood_jit.plan.bound import Domain, Key
from hardwood_jit.plan.key_text import float_of_key

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from hardwood_jit.metadata.schema import Leaf
    from hardwood_jit.plan.bound import ValueTest


def stored_bytes(key: Key, leaf: Leaf, domain: Domain) -> bytes | None:
    """PLAIN bytes of a value, without a length in front; None where several would be equal to it, or none is known.

    NaN has many forms, and writers differ on the sign of zero; BOOLEAN, INT96 and FLOAT16 are not asked about, nor
    decimals in byte arrays, whose leading bytes are up to the writer.
    """
    physical, logical = leaf.physical_type, leaf.logical_type
    is_decimal = logical is not None and logical.kind == "DECIMAL"
    match domain.kind:
        case "signed" | "unsigned":
            return int(key).to_bytes(domain.bits // 8, "little", signed=domain.kind == "signed")
        case "float" if domain.bits in (32, 64):
            value = float_of_key(key, domain.bits)
            if math.isnan(value) or value == 0:
                return None
            return struct.pack("<f" if domain.bits == 32 else "<d", value)
        case "bytes" if physical is not PhysicalType.INT96:
            is_half = logical is not None and logical.kind == "FLOAT16"
            return None if is_half or (is_decimal and physical is PhysicalType.BYTE_ARRAY) else bytes(key)
        case "decimal" if physical is PhysicalType.FIXED_LEN_BYTE_ARRAY and leaf.type_length:
            try:
                return int(key).to_bytes(leaf.type_length, "big", signed=True)
            except OverflowError:
                return None
    return None


def hashes_of_test(test: ValueTest) -> NDArray[np.uint64] | None:
    """The hashes of the values that a test asks for; None where one of them cannot be asked about."""
    keys = test.intervals.few_keys()
    if keys is None:
        return None
    stored = [stored_bytes(key, test.leaf, test.domain) for key in keys]
    values = [value for value in stored if value is not None]
    return hashes_of(values) if len(values) == len(keys) else None
