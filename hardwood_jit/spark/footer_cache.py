"""Footers that this process has read: workers are used again, and so are the processes in which Spark plans."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

from hardwood_jit.dataset import Dataset
from hardwood_jit.dataset import open as open_dataset
from hardwood_jit.lazy_scan import Scan

CACHED_DATASETS = 64

_datasets: OrderedDict[Any, Dataset] = OrderedDict()  # least recently used first


def with_cached_footers(scan: Scan) -> Scan:
    """The scan over a dataset whose footers have been read before in this process, if no file has changed since.

    >>> from hardwood_jit.spark.footer_cache import with_cached_footers
    >>> first = with_cached_footers(hw.scan(trips).select("id"))
    >>> with_cached_footers(hw.scan(trips).select("city")).dataset is first.dataset
    True
    """
    dataset = scan.dataset
    identities = tuple(file.source.identity for file in dataset.files)
    if None in identities:
        return scan
    key = (identities, dataset._options, dataset._folders)
    found = _datasets.setdefault(key, dataset)
    _datasets.move_to_end(key)
    while len(_datasets) > CACHED_DATASETS:
        _datasets.popitem(last=False)
    return Scan(found, scan._selection)


def open_once(source: Any, **options: Any) -> Dataset:
    """`hw.open` for functions that run in workers: the same Dataset, with its footers, until a file changes.

    >>> from hardwood_jit import spark as hw_spark
    >>> hw_spark.open_once(trips) is hw_spark.open_once(trips)
    True

    A look-up join in a pandas function:

    ```python
    @pandas_udf("string")
    def name_of(keys: pd.Series) -> pd.Series:
        wanted = [int(key) for key in keys.unique()]
        names = hw_spark.open_once("names.parquet").scan().filter(col("key").is_in(wanted)).to_pandas()
        return keys.map(names.set_index("key")["name"])
    ```
    """
    return with_cached_footers(open_dataset(source, **options).scan()).dataset
