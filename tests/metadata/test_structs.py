"""Structs decode alike with the C decoder of `thrift` and with its Python fallback."""

from __future__ import annotations

import pytest
from thrift.protocol import TCompactProtocol

from hardwood_jit.errors import CorruptFileError
from hardwood_jit.metadata import structs
from tests.support.pages import binary, boolean, double, i32, i64, list_of, logical, record

EXAMPLES = [
    (structs.Statistics, record({1: binary(b"\xff"), 3: i64(1 << 40), 7: boolean(True), 9: i64(0), 90: i32(1)})),
    (structs.ColumnIndex, record({1: list_of([boolean(True), boolean(False)]), 2: list_of([binary(b"")] * 20)})),
    (structs.SchemaElement, record({4: binary("x"), 10: logical("TIMESTAMP", unit="us", utc=False)})),
    (structs.SchemaElement, record({4: binary("x"), 1: binary("of another type"), 10: logical("FUTURE", number=33)})),
    (structs.GeospatialStatistics, record({1: record({1: double(1.5)}), 2: list_of([i32(-7)])})),
]


@pytest.mark.parametrize(("cls", "item"), EXAMPLES)
def test_both_decoders_agree(cls: type[structs.Struct], item: object, monkeypatch: pytest.MonkeyPatch) -> None:
    raw = item.encode()  # type: ignore[attr-defined]
    fast = structs.decode(cls, raw)

    class Slow(TCompactProtocol.TCompactProtocol):  # type: ignore[misc]
        _fast_decode = None

        def __init__(self, transport: object, fallback: bool) -> None:
            super().__init__(transport)

    monkeypatch.setattr(structs, "TCompactProtocolAccelerated", Slow)
    assert structs.decode(cls, raw) == fast
    assert fast.nothing_of_this_name is None and cls.__name__ in repr(fast)


def test_bytes_that_are_no_struct_are_corrupt_before_thrift_sees_them() -> None:
    for raw in (b"", b"\x1c" * 100_000, b"\x19\xfc\xff\xff\xff\xff\x07"):
        with pytest.raises(CorruptFileError, match="Statistics is not a well-formed"):
            structs.decode(structs.Statistics, raw)


def test_lists_of_another_element_type_are_corrupt() -> None:
    with pytest.raises(CorruptFileError, match="ColumnIndex is not a well-formed"):
        structs.decode(structs.ColumnIndex, record({2: list_of([i32(1)])}).encode())
