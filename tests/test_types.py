"""The type table: complete, true to pyarrow, and each conversion known to every export."""

from __future__ import annotations

import io

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hardwood_jit.export import to_arrow, to_numpy
from hardwood_jit.physical import PhysicalType
from hardwood_jit.rows import PYTHON
from hardwood_jit.types import TYPES, type_of, types_table_markdown
from tests.export.columns import batch_of, schema_of
from tests.export.footers import BYTE_ARRAY, FLBA, INT32, INT64, INT96, REQUIRED, Element, empty_file, logical

# One column per row of the table, with a stored value that is legal in it.
SAMPLES: dict[str, tuple[Element, object]] = {
    "BOOLEAN": (Element("c", type=0), True),
    "INT32": (Element("c", type=INT32), 7),
    "INT64": (Element("c", type=INT64), 7),
    "INT96": (Element("c", type=INT96), bytes(8) + (2440588).to_bytes(4, "little")),
    "FLOAT": (Element("c", type=4), 1.5),
    "DOUBLE": (Element("c", type=5), 1.5),
    "BYTE_ARRAY": (Element("c", type=BYTE_ARRAY), b"\xff\x00"),
    "FIXED_LEN_BYTE_ARRAY(n)": (Element("c", type=FLBA, length=3), b"\xff\x00a"),
    **{
        f"INTEGER({bits}, {'signed' if signed else 'unsigned'})": (
            Element("c", type=INT64 if bits == 64 else INT32, logical=logical("INTEGER", bits=bits, signed=signed)),
            7,
        )
        for bits in (8, 16, 32, 64)
        for signed in (True, False)
    },
    "FLOAT16": (Element("c", type=FLBA, length=2, logical=logical("FLOAT16")), b"\x00\x3e"),
    "DECIMAL(p <= 38, s)": (Element("c", type=INT64, logical=logical("DECIMAL", precision=15, scale=2)), 12345),
    "DECIMAL(p > 38, s)": (Element("c", type=BYTE_ARRAY, logical=logical("DECIMAL", precision=50, scale=3)), b"\xff"),
    "DATE": (Element("c", type=INT32, logical=logical("DATE")), 20_000),
    "TIME(ms)": (Element("c", type=INT32, logical=logical("TIME", unit="ms", utc=True)), 86_399_999),
    "TIME(us)": (Element("c", type=INT64, logical=logical("TIME", unit="us", utc=False)), 86_399_999_999),
    "TIME(ns)": (Element("c", type=INT64, logical=logical("TIME", unit="ns", utc=False)), 86_399_999_999_000),
    "TIMESTAMP(unit, UTC)": (Element("c", type=INT64, logical=logical("TIMESTAMP", unit="us", utc=True)), 1),
    "TIMESTAMP(unit, local)": (Element("c", type=INT64, logical=logical("TIMESTAMP", unit="ns", utc=False)), 1000),
    "INTERVAL": (Element("c", type=FLBA, length=12, converted=21), bytes(range(12))),
    "STRING": (Element("c", type=BYTE_ARRAY, logical=logical("STRING")), "né".encode()),
    "ENUM": (Element("c", type=BYTE_ARRAY, logical=logical("ENUM")), b"RED"),
    "JSON": (Element("c", type=BYTE_ARRAY, logical=logical("JSON")), b"{}"),
    "BSON": (Element("c", type=BYTE_ARRAY, logical=logical("BSON")), b"\x05\0\0\0\0"),
    "UUID": (Element("c", type=FLBA, length=16, logical=logical("UUID")), bytes(range(16))),
    "GEOMETRY": (Element("c", type=BYTE_ARRAY, logical=logical("GEOMETRY")), b"\x01"),
    "GEOGRAPHY": (Element("c", type=BYTE_ARRAY, logical=logical("GEOGRAPHY")), b"\x01"),
    "UNKNOWN": (Element("c", type=INT32, logical=logical("UNKNOWN")), None),
}
LEAF_ROWS = [row for row in TYPES if row.physical]


def test_every_leaf_row_has_a_sample() -> None:
    assert [row.name for row in LEAF_ROWS if row.name not in SAMPLES] == []


def test_every_conversion_is_known_to_every_export() -> None:
    conversions = {row.conversion for row in LEAF_ROWS}
    assert set(PYTHON) == set(to_arrow.ARROW) == set(to_numpy.NUMPY) == conversions


def _text(template: str, element: Element) -> str:
    fields = element.logical[1] if element.logical else []
    parameters = {key: str(field[2]) for key, field in zip(("s", "p"), fields, strict=False)}
    unit = {"TIMESTAMP": {True: "us", False: "ns"}}.get(element.logical[0] if element.logical else "", {})
    text = template.replace(
        "unit", unit.get(bool(element.logical and element.logical[1] and element.logical[1][0][2]), "")
    )
    text = text.replace("[n]", f"[{element.length}]").replace("void(n)", f"void{8 * (element.length or 0)}")
    return text.replace("(p, s)", f"({parameters.get('p')}, {parameters.get('s')})").replace(", p <= 76", "")


@pytest.mark.parametrize("row", LEAF_ROWS, ids=lambda row: row.name)
def test_row_says_what_the_exports_give(row) -> None:  # type: ignore[no-untyped-def]
    element, value = SAMPLES[row.name]
    file = empty_file([element])
    schema = schema_of(file)
    assert type_of(schema.leaves[0]) is row
    batch = batch_of(schema, [[value]])
    arrow = batch.to_arrow()
    arrow.validate(full=True)
    assert arrow.schema == pq.read_schema(io.BytesIO(file))
    assert str(arrow.schema.field(0).type) == _text(row.arrow, element)
    # pandas: the dtype of a column without nulls
    assert str(pa.Table.from_batches([arrow]).to_pandas()["c"].dtype) == _text(row.pandas, element)
    array = to_numpy.to_numpy([batch], schema)["c"]
    expected = _text(row.numpy, element)
    if expected.startswith("object"):
        assert array.dtype == object
        if "(" in expected:
            assert type(array.tolist()[0]).__name__ in (expected[8:-1], "NoneType")
    elif row.conversion == "interval":
        assert array.dtype == to_numpy.INTERVAL
    else:
        assert array.dtype.name == expected or str(array.dtype).startswith(expected)
    assert to_numpy.to_numpy([], schema)["c"].dtype == array.dtype
    (found,) = batch.columns[0].to_pylist()
    assert type(found).__name__ == row.python.split(" ")[0] or found is None is value


@pytest.mark.parametrize("row", LEAF_ROWS, ids=lambda row: row.name)
def test_nulls_come_out_as_nulls_everywhere(row) -> None:  # type: ignore[no-untyped-def]
    element, value = SAMPLES[row.name]
    schema = schema_of(empty_file([element]))
    batch = batch_of(schema, [[None, value, None]])
    arrow = batch.to_arrow()
    arrow.validate(full=True)
    nulls = [True, value is None, True]
    assert arrow.column(0).is_null().to_pylist() == nulls
    assert [found is None for found in batch.columns[0].to_pylist()] == nulls
    mask = np.ma.getmaskarray(to_numpy.to_numpy([batch], schema)["c"])
    assert (mask["days"] if mask.dtype.names else mask).tolist() == nulls  # a struct is masked field by field


def test_an_annotation_on_the_wrong_physical_type_is_ignored() -> None:
    schema = schema_of(empty_file([Element("c", REQUIRED, type=INT32, logical=logical("STRING"))]))
    assert type_of(schema.leaves[0]).name == "INT32"


def test_markdown_has_a_line_per_row() -> None:
    lines = types_table_markdown().splitlines()
    assert len(lines) == len(TYPES) + 2
    assert len({line.count("|") for line in lines}) == 1


def test_every_physical_type_has_a_bare_row() -> None:
    bare = [row for row in LEAF_ROWS if len(row.physical) == 1 and row.name.startswith(row.physical[0].name)]
    assert {row.physical[0] for row in bare} == set(PhysicalType)


def test_pandas_is_the_one_the_table_describes() -> None:
    assert int(pd.__version__.split(".")[0]) >= 3, "the table shows pandas 3: text is 'str'"
