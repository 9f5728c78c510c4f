"""Output columns of survivors: damage that only they can notice."""

from __future__ import annotations

import pytest

import hardwood_jit as hw
from hardwood_jit import col
from tests.support import pages as p
from tests.support.filtering import divided

ROWS = 70


@pytest.mark.parametrize("least", [0, 10, 40, 68])
@pytest.mark.parametrize("codec", [p.UNCOMPRESSED, p.GZIP, p.SNAPPY])
@pytest.mark.parametrize("encoding", [p.PLAIN, p.BYTE_STREAM_SPLIT])
def test_rows_that_no_page_has_are_an_error(least: int, codec: int, encoding: int) -> None:
    """Pages between survivors may be missing, survivors may not."""
    root = p.group("root", p.leaf("number", p.INT32), p.leaf("real", p.DOUBLE_TYPE))
    number, real = p.leaf_paths(root)
    full = p.Chunk([p.data_page_v1(number, [(0, 0, row) for row in range(ROWS)])], codec)
    short = [p.data_page_v1(real, [(0, 0, row / 2) for row in range(first, first + 20)], encoding) for first in (0, 20)]
    data = p.build_file(root, [p.RowGroup([full, p.Chunk(short, codec)], ROWS)])
    scan = hw.scan(data).filter((col("number") >= least) & (col("number") != 69)).use_metadata(False)
    for threads in (1, 2):
        with pytest.raises(hw.CorruptFileError, match="row group 0, column 'real'"):
            scan.threads(threads).to_arrow()
        with divided(), pytest.raises(hw.CorruptFileError, match="row group 0, column 'real'"):
            scan.threads(threads).to_arrow()
