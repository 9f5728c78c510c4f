"""Read Parquet from Python: decoding in Numba kernels, values out as numpy, Arrow and pandas.

>>> import hardwood_jit as hw
>>> hw.scan(trips).select("id", "city").head(2).to_arrow().to_pydict()
{'id': [1, 2], 'city': ['Aachen', 'Bergen']}
"""

from hardwood_jit.batch import NO_NULLS, Batch, Column, Layer, Validity
from hardwood_jit.dataset import Dataset, open, read, scan
from hardwood_jit.errors import (
    ColumnNotFoundError,
    CorruptFileError,
    HardwoodError,
    MissingDependencyError,
    PredicateError,
    SchemaMismatchError,
    UnsupportedError,
)
from hardwood_jit.lazy_scan import Scan
from hardwood_jit.metadata.footer_cache import footer_cache
from hardwood_jit.plan.predicate import Predicate, col
from hardwood_jit.plan.predicate_text import parse
from hardwood_jit.rows import Interval, Row
from hardwood_jit.warming import kernel_cache, warm

__version__ = "0.1.0"

__all__ = [
    "NO_NULLS",
    "Batch",
    "Column",
    "ColumnNotFoundError",
    "CorruptFileError",
    "Dataset",
    "HardwoodError",
    "Interval",
    "Layer",
    "MissingDependencyError",
    "PredicateError",
    "Predicate",
    "Row",
    "Scan",
    "SchemaMismatchError",
    "UnsupportedError",
    "Validity",
    "col",
    "footer_cache",
    "kernel_cache",
    "open",
    "parse",
    "read",
    "scan",
    "warm",
]
