"""Batch, Column, Layer, Validity: decoded values as numpy arrays, row-aligned and free to keep."""
# mypy: disable-error-code="import-untyped"

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import pyarrow as pa

    from hardwood_jit.metadata.schema import Leaf, Schema


class Validity:
    """Which of `count` items are present: uint64 words, set bit = present, least significant first.

    >>> import numpy as np
    >>> validity = hw.Validity(np.array([0b101], np.uint64), 3)
    >>> validity.null_count, validity.is_null(1), validity.to_numpy(3).tolist()
    (1, True, [True, False, True])

    A column without nulls has the shared `NO_NULLS`, whose `words` are None.

    >>> next(hw.scan(trips).batches())["id"].validity is hw.NO_NULLS
    True
    """

    __slots__ = ("_null_count", "count", "words")

    def __init__(self, words: NDArray[np.uint64] | None, count: int, null_count: int | None = None) -> None:
        self.words = words
        self.count = count
        self._null_count = 0 if words is None else null_count

    @property
    def has_nulls(self) -> bool:
        """Whether anything is null.

        >>> hw.NO_NULLS.has_nulls
        False
        """
        return self.words is not None and self.null_count > 0

    @property
    def null_count(self) -> int:
        """How many items are null; counted when first asked for.

        >>> print(next(hw.scan(trips).batches())["fare"].validity.null_count)
        1
        """
        if self._null_count is None:
            assert self.words is not None
            self._null_count = self.count - int(np.bitwise_count(self.words).sum())
        return self._null_count

    def is_null(self, i: int) -> bool:
        """Whether item `i` is null.

        >>> validity = next(hw.scan(trips).batches())["fare"].validity
        >>> [validity.is_null(i) for i in range(3)]
        [False, True, False]
        """
        return self.words is not None and not (int(self.words[i >> 6]) >> (i & 63)) & 1

    def is_not_null(self, i: int) -> bool:
        """Whether item `i` is present.

        >>> hw.NO_NULLS.is_not_null(7)
        True
        """
        return not self.is_null(i)

    def to_numpy(self, count: int) -> NDArray[np.bool_]:
        """One bool per item, True = present.

        >>> hw.NO_NULLS.to_numpy(2).tolist()
        [True, True]
        """
        if self.words is None:
            return np.ones(count, np.bool_)
        bits = np.unpackbits(self.words.view(np.uint8), bitorder="little", count=count)
        return bits.view(np.bool_)

    def __repr__(self) -> str:
        return "NO_NULLS" if self.words is None else f"Validity({self.null_count} of {self.count} null)"


NO_NULLS = Validity(None, 0)


@dataclass(frozen=True, slots=True)
class Layer:
    """One nesting level above a leaf: `kind` is "struct" or "repeated"; a struct layer has no offsets.

    >>> (layer,) = next(hw.scan(trips).batches())["tags"].layers
    >>> layer.kind, layer.offsets.tolist(), layer.validity.to_numpy(3).tolist()
    ('repeated', [0, 1, 1, 1], [True, True, False])
    """

    kind: str
    validity: Validity
    offsets: NDArray[np.int32] | NDArray[np.int64] | None = None


@dataclass(slots=True)
class Column:
    """One leaf of one batch. Values at null slots are unspecified.

    `form` says what the buffers hold. "physical" is what `Scan.batches` gives. Arrow export asks the scanner for other
    forms where they save a pass: "decimal128" (`values` is uint64[count, 2], sign-extended), "views" (`values` is
    uint64[count, 2] Arrow string views into `buffers`), "dictionary" (`values` is int32 indexes into `dictionary`).

    >>> batch = next(hw.scan(trips).batches())
    >>> batch["id"].values.tolist()
    [1, 2, 3]
    >>> city = batch["city"]
    >>> city.offsets.tolist(), bytes(city.data[:6])
    ([0, 6, 12, 20], b'Aachen')
    """

    leaf: Leaf
    record_count: int
    value_count: int
    validity: Validity
    layers: tuple[Layer, ...] = ()
    values: NDArray[Any] | None = None
    data: NDArray[np.uint8] | None = None
    offsets: NDArray[Any] | None = None
    form: str = "physical"
    buffers: list[NDArray[np.uint8]] = field(default_factory=list)
    dictionary: Column | None = None
    text_checked: bool = False  # every value is known to be UTF-8
    range_checked: bool = False  # every present value is known to fit its logical type (decimal digits, time of day)
    exported: Any = field(default=None, repr=False)  # of a dictionary: its Arrow array, made once

    @property
    def path(self) -> str:
        """The leaf's path in the file, dotted.

        >>> next(hw.scan(trips).batches())["tags"].path
        'tags.list.element'
        """
        return self.leaf.dotted

    def to_pylist(self) -> list[Any]:
        """Logical Python values, one per record, lists for repeated layers: for looking, not for speed.

        >>> next(hw.scan(trips).batches())["tags"].to_pylist()
        [['new'], [], None]
        """
        from hardwood_jit.rows import column_to_pylist

        return column_to_pylist(self)


class Batch(Mapping[str, Column]):
    """Some consecutive records of one file: an ordered mapping from leaf path to `Column`.

    >>> batch = next(hw.scan(trips).batches())
    >>> batch.num_rows, list(batch), batch["fare"] is batch.columns[2]
    (3, ['id', 'city', 'fare', 'tags.list.element'], True)
    """

    __slots__ = ("_by_path", "columns", "file", "num_rows", "row_group", "schema")

    def __init__(
        self, schema: Schema, columns: tuple[Column, ...], num_rows: int, file: str, row_group: int
    ) -> None:
        self.schema = schema  # the projected tree: only the selected leaves, in the order asked
        self.columns = columns
        self.num_rows = num_rows
        self.file = file
        self.row_group = row_group
        self._by_path: dict[str, Column] | None = None

    def _named(self) -> dict[str, Column]:
        if self._by_path is None:
            self._by_path = {column.path: column for column in self.columns}
        return self._by_path

    def __getitem__(self, key: str | int) -> Column:
        if isinstance(key, int):
            return self.columns[key]
        found = self._named().get(key)
        return found if found is not None else self.columns[self.schema.leaf_position(key)]

    def __iter__(self) -> Iterator[str]:
        return iter(self._named())

    def __len__(self) -> int:
        return len(self.columns)

    def __repr__(self) -> str:
        return f"Batch({self.num_rows} rows: {', '.join(column.path for column in self.columns)})"

    def to_arrow(self) -> pa.RecordBatch:
        """The batch as a pyarrow RecordBatch.

        >>> next(hw.scan(trips).select("id").batches()).to_arrow().to_pydict()
        {'id': [1, 2, 3]}
        """
        from hardwood_jit.export.to_arrow import batch_to_arrow

        return batch_to_arrow(self)
