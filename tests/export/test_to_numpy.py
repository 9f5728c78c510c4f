"""Batches made by hand -> numpy arrays."""

from __future__ import annotations

import decimal
import uuid

import numpy as np
import pyarrow as pa
import pytest

from hardwood_jit.batch import Batch
from hardwood_jit.errors import CorruptFileError, UnsupportedError
from hardwood_jit.export.to_numpy import to_numpy
from tests.export.columns import batch_from_arrow, batch_of, schema_of
from tests.export.footers import BYTE_ARRAY, FLBA, INT64, INT96, Element, empty_file, logical

TABLE = pa.table(
    {
        "i": pa.array([1, 2, 3], pa.int64()),
        "nullable": pa.array([1, None, 3], pa.int64()),
        "text": ["a", None, "né"],
        "day": pa.array([1, None, 3], pa.date32()),
        "clock": pa.array([1, None, 3], pa.time32("ms")),
        "when": pa.array([1, None, 3], pa.timestamp("ms", "UTC")),
        "price": pa.array([decimal.Decimal("1.50"), None, decimal.Decimal("2.00")]),
        "list": [[1, 2], None, [None]],
        "pairs": [[1, 2], [3, 4], [5, 6]],  # equally long lists stay lists
        "s": [{"a": 1}, None, {"a": None}],
    }
)


def test_flat_columns_are_typed_and_masked() -> None:
    batch = batch_from_arrow(TABLE)
    found = to_numpy([batch], batch.schema)
    assert list(found) == [leaf.dotted for leaf in batch.schema.leaves]
    assert type(found["i"]) is np.ndarray
    assert found["i"] is batch.columns[0].values or np.shares_memory(found["i"], batch.columns[0].values)  # type: ignore[arg-type]
    assert found["nullable"].tolist() == [1, None, 3]
    assert isinstance(found["nullable"], np.ma.MaskedArray)
    assert found["text"].dtype == np.dtypes.StringDType()
    assert found["text"].tolist() == ["a", None, "né"]
    assert found["day"].dtype == "M8[D]"
    assert found["clock"].dtype == "m8[ms]"
    assert found["when"].dtype == "M8[ms]"
    assert found["price"].tolist() == [decimal.Decimal("1.50"), None, decimal.Decimal("2.00")]
    assert found["list.list.element"].tolist() == [[1, 2], None, [None]]
    assert found["pairs.list.element"].shape == (3,)
    assert found["s.a"].tolist() == [1, None, None]


def test_batches_are_joined() -> None:
    batch = batch_from_arrow(TABLE)
    plain = batch_from_arrow(TABLE.slice(0, 1), batch.schema)
    found = to_numpy([batch, plain, batch], batch.schema)
    assert found["i"].tolist() == [1, 2, 3, 1, 1, 2, 3]
    assert found["text"].tolist() == ["a", None, "né", "a", "a", None, "né"]
    assert found["list.list.element"].tolist() == [[1, 2], None, [None], [1, 2], [1, 2], None, [None]]


def test_fixed_width_values() -> None:
    elements = [
        Element("raw", type=FLBA, length=2),
        Element("none", type=FLBA, length=0),
        Element("id", type=FLBA, length=16, logical=logical("UUID")),
        Element("span", type=FLBA, length=12, converted=21),
        Element("half", type=FLBA, length=2, logical=logical("FLOAT16")),
    ]
    schema = schema_of(empty_file(elements))
    batch = batch_of(schema, [[b"a\0"], [b""], [bytes(16)], [bytes([1, 0, 0, 0] * 3)], [b"\x00\x3e"]])
    found = to_numpy([batch], schema)
    assert found["raw"].tolist() == [b"a\0"]  # an S dtype would lose the zero
    assert found["none"].tolist() == [b""]
    assert found["id"].tolist() == [uuid.UUID(int=0)]
    assert found["span"].tolist() == [(1, 1, 1)]
    assert found["half"].tolist() == [1.5]


def test_instants_that_numpy_cannot_hold_are_refused() -> None:
    when = Element("t", type=INT64, logical=logical("TIMESTAMP", unit="us", utc=True))
    schema = schema_of(empty_file([when, Element("u", type=INT96)]))
    far = bytes(8) + (2440588 + 200_000).to_bytes(4, "little")
    with pytest.raises(UnsupportedError, match="NaT"):
        to_numpy([batch_of(schema, [[-(2**63)], [None]])], schema)
    with pytest.raises(UnsupportedError, match="INT96"):
        to_numpy([batch_of(schema, [[None], [far]])], schema)


def test_text_that_is_not_utf8_is_refused() -> None:
    schema = schema_of(empty_file([Element("city", type=BYTE_ARRAY, converted=0)]))
    batch: Batch = batch_of(schema, [[b"\xff"]])
    with pytest.raises(CorruptFileError, match="row group 3, column 'city'"):
        to_numpy([batch], schema)
