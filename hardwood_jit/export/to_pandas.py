"""pyarrow Table -> pandas DataFrame, with the dtypes that `pyarrow.Table.to_pandas` gives.

Numeric columns without nulls in a single chunk are not copied; everything else is.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from hardwood_jit.errors import missing

if TYPE_CHECKING:
    import pandas as pd


def to_pandas(table: Any) -> pd.DataFrame:
    """The table as a DataFrame."""
    if find_spec("pandas") is None:
        raise missing("pandas", "pandas", "to_pandas()")
    frame: pd.DataFrame = table.to_pandas()
    return frame
