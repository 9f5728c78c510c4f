"""Tables -> DataFrames, as pyarrow makes them."""

from __future__ import annotations

import pandas as pd
import pyarrow as pa
import pytest

from hardwood_jit.errors import MissingDependencyError
from hardwood_jit.export import to_pandas


def test_frame_equals_pyarrows() -> None:
    table = pa.table({"a": [1, None], "s": ["x", None], "l": [[1], None]})
    pd.testing.assert_frame_equal(to_pandas.to_pandas(table), table.to_pandas())


def test_missing_pandas_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(to_pandas, "find_spec", lambda name: None)
    with pytest.raises(MissingDependencyError, match=r"hardwood_jit\[pandas\]"):
        to_pandas.to_pandas(pa.table({}))
