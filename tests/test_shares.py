"""Few large row groups under a filter: cut into shares for all threads, their pages found without reading them."""

from __future__ import annotations

import gc
import io
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from hardwood_jit.kernels.skim import skip_struct

import hardwood_jit as hw
from hardwood_jit import col
from hardwood_jit.group_columns import GroupColumns
from hardwood_jit.memory import Scratch
from hardwood_jit.metrics import Metrics
from hardwood_jit.options import OpenOptions
from hardwood_jit.page_map import FIRST_PAGES, HEADER_BYTES, LEAST_PAGE, map_pages
from hardwood_jit.plan.row_ranges import RowRanges
from hardwood_jit.plan.scan_plan import GroupPlan
from hardwood_jit.scan_tasks import TaskPlanner
from tests.support import pages as p
from tests.support.filtering import divided

ROWS = 300_000  # more than two shares
PAGE_BYTES = 256 << 10


def _table() -> pa.Table:
    random = np.random.default_rng(11)
    number = random.integers(0, 1 << 60, ROWS)
    return pa.table(
        {
            "number": number,
            "other": pa.array(random.integers(0, 1 << 60, ROWS), mask=random.random(ROWS) < 0.1),
            "text": pa.array([f"{value:x} {value}" for value in number.tolist()]),
            "site": pa.array(2 * random.integers(0, 5, ROWS), pa.int32()),
        }
    )


@pytest.fixture(scope="module")
def table() -> pa.Table:
    return _table()


def _write(table: pa.Table, path: Path, **settings: object) -> Path:
    options: dict[str, object] = {
        "row_group_size": ROWS, "data_page_size": PAGE_BYTES, "max_rows_per_page": 2**31 - 1, "store_schema": False,
        "use_dictionary": ["site"], **settings,
    }  # fmt: skip
    pq.write_table(table, path, **options)
    return path


def _task_count(scan: hw.Scan) -> int:
    """Tasks that two threads would get."""
    from hardwood_jit.scanner import _peeked

    planner = scan._planner(scan._job(scan.schema, lambda leaf: None, False))
    assert isinstance(planner, TaskPlanner)
    tasks, _ = _peeked(planner.tasks(), 2)
    return len(list(tasks))


@pytest.mark.parametrize("layout", [{}, {"write_page_index": True}, {"data_page_version": "2.0"}])
def test_shares_give_rows_in_order(table: pa.Table, tmp_path: Path, layout: dict[str, object]) -> None:
    scan = hw.scan(_write(table, tmp_path / "one.parquet", **layout)).filter((col("site") == 4) & (col("other") > 5))
    assert _task_count(scan) == 4
    mask = pc.and_(pc.equal(table["site"], 4), pc.greater(table["other"], 5))
    assert scan.threads(2).to_arrow().equals(table.filter(mask))
    assert scan.threads(2).count() == table.filter(mask).num_rows
    measured = scan.threads(2).explain(analyze=True).measured
    assert measured is not None
    assert (measured.row_groups, measured.groups_with_rows, measured.rows_in) == (1, 1, ROWS)


def test_row_groups_that_suffice_for_all_threads_are_not_cut(table: pa.Table, tmp_path: Path) -> None:
    path = _write(table, tmp_path / "four.parquet", row_group_size=ROWS // 4)
    assert _task_count(hw.scan(path).filter(col("site") == 4)) == 4
    assert _task_count(hw.scan(_write(table, tmp_path / "one.parquet")).filter(col("site") == 4).head(10)) == 1


def test_row_group_that_every_share_drops_is_counted_once() -> None:
    metrics, file = Metrics(), object()
    for group, start, stop in ((0, 0, 10), (1, 0, 5), (0, 10, 30)):
        plan = GroupPlan(0, group, RowRanges.of([(start, stop)]), False, start > 0)
        metrics.drop("bloom filters", file, plan, lambda: "not there")
    dropped = metrics.stages["bloom filters"].dropped
    assert [(one.row_group, one.rows) for one in dropped] == [(0, 30), (1, 5)]


def test_few_survivors_read_only_their_pages_without_an_offset_index(table: pa.Table, tmp_path: Path) -> None:
    path = _write(table, tmp_path / "one.parquet")
    wanted = table["number"][ROWS // 2].as_py()
    with hw.open(path) as dataset:
        chunk = dataset.files[0].metadata.row_groups[0].columns[2]
        assert chunk.offset_index_range is None
        before = dataset.files[0].source.counts
        found = dataset.scan().filter(col("number") == wanted).select("text").threads(1).to_arrow()
        read = (dataset.files[0].source.counts - before).bytes
        number = dataset.files[0].metadata.row_groups[0].columns[0].total_compressed_size
    assert found["text"].to_pylist() == [table["text"][ROWS // 2].as_py()]
    # The whole of the filter column, then headers of half a kilobyte and one page of a quarter megabyte.
    assert number < read < number + chunk.total_compressed_size // 4


def _facts(data: bytes, column: str) -> tuple[object, object]:
    dataset = hw.open(data)
    file = dataset.files[0]
    scan_file = type("File", (), {"metadata": file.metadata, "source": file.source})()
    rows = file.metadata.row_groups[0].num_rows
    columns = GroupColumns(scan_file, GroupPlan(0, 0, RowRanges.all(rows), True), OpenOptions(), Scratch())
    return file.source, columns.facts(dataset.schema[column].leaves[0])


def _bytes(table: pa.Table, **settings: object) -> bytes:
    buffer = io.BytesIO()
    pq.write_table(table, buffer, store_schema=False, row_group_size=ROWS, **settings)
    return buffer.getvalue()


@pytest.mark.parametrize("version", ["1.0", "2.0"])
@pytest.mark.parametrize("column", ["number", "other", "text", "site"])
def test_map_of_headers_is_the_offset_index(table: pa.Table, column: str, version: str) -> None:
    data = _bytes(table, data_page_size=PAGE_BYTES, data_page_version=version, write_page_index=True)
    source, facts = _facts(data, column)
    with divided():
        found = map_pages(source, facts)
    dataset = hw.open(data)
    leaf = dataset.schema[column].leaves[0]
    index = dataset.files[0].metadata.row_groups[0].columns[leaf.index].offset_index
    assert found is not None and index is not None
    for name in ("offsets", "sizes", "first_rows"):
        assert getattr(found, name).tolist() == getattr(index, name).tolist()


def test_small_pages_have_no_map(table: pa.Table) -> None:
    source, facts = _facts(_bytes(table, data_page_size=2_000, write_batch_size=64), "text")
    assert map_pages(source, facts) is None


def test_long_headers_are_read_in_full() -> None:
    texts = pa.table({"text": [f"{number}" + "x" * 3_000 for number in range(600)]})
    data = _bytes(texts, data_page_size=PAGE_BYTES, use_dictionary=False, compression="none", write_batch_size=10)
    source, facts = _facts(data, "text")
    with divided():
        found = map_pages(source, facts)
    assert found is not None and found.page_count > 2
    first = int(found.offsets[0])
    assert skip_struct(np.frombuffer(data, np.uint8).copy(), first, len(data)) > first + HEADER_BYTES
    assert (found.offsets[1:] == found.offsets[:-1] + found.sizes[:-1]).all()


def test_many_small_pages_behind_large_ones_are_not_walked_to_their_end() -> None:
    """Each would cost a read and some steps in Python."""
    root = p.group("root", p.leaf("number", p.INT64))
    (path,) = p.leaf_paths(root)
    large = [(0, 0, number) for number in range(LEAST_PAGE // 8)]
    pages = [*(p.data_page_v1(path, large) for _ in range(FIRST_PAGES)), *(p.data_page_v1(path, []),) * 40_000]
    pages.append(p.data_page_v1(path, large))
    rows = len(large) * (FIRST_PAGES + 1)
    source, facts = _facts(p.build_file(root, [p.RowGroup([p.Chunk(pages, p.UNCOMPRESSED)], rows)]), "number")
    reads = source.counts
    assert map_pages(source, facts) is None
    assert (source.counts - reads).ranges < 1_000


@pytest.mark.parametrize("kind", [p.INDEX_PAGE, p.DICTIONARY_PAGE, 9])
def test_pages_of_other_kinds_have_no_map(kind: int) -> None:
    """The bytes behind the header of such a page are not taken for its own."""
    root = p.group("root", p.leaf("number", p.INT64))
    (path,) = p.leaf_paths(root)
    page = p.data_page_v1(path, [(0, 0, number) for number in range(8)])
    other = p.dictionary_page(p.INT64, [1, 2]) if kind == p.DICTIONARY_PAGE else p.Page(kind, p.record({}), b"1234")
    # Of what lies before the first data page only a dictionary is of the chunk.
    first = [other, other] if kind == p.DICTIONARY_PAGE else []
    for pages in ([*first, page, other], [page, other, page]):
        rows = 8 * sum(one is page for one in pages)
        source, facts = _facts(p.build_file(root, [p.RowGroup([p.Chunk(pages, p.UNCOMPRESSED)], rows)]), "number")
        with divided():
            found = map_pages(source, facts)
        assert found is None or pages == [page, other]  # where all rows are known before


def test_damaged_headers_have_no_map_and_no_other_result(table: pa.Table) -> None:
    data = bytearray(_bytes(table, data_page_size=PAGE_BYTES, use_dictionary=False))
    source, facts = _facts(bytes(data), "number")
    with divided():
        found = map_pages(source, facts)
    assert found is not None
    random = np.random.default_rng(3)
    for page in found.offsets.tolist():
        for _ in range(60):
            changed = bytearray(data)
            changed[page + int(random.integers(0, 24))] = int(random.integers(0, 256))
            source, _ = _facts(bytes(data), "number")
            source._view = np.frombuffer(bytes(changed), np.uint8)
            with divided():
                other = map_pages(source, facts)
            if other is not None:
                assert other.first_rows[-1] <= facts.row_count
                assert int(other.offsets[-1] + other.sizes[-1]) <= facts.stop


def test_scans_leave_no_buffers_to_the_garbage_collector(table: pa.Table, tmp_path: Path) -> None:
    path = _write(table, tmp_path / "one.parquet")
    scan = hw.scan(path).filter((col("site") == 4) & (col("text") != "")).threads(1)
    scan.to_arrow()
    gc.collect()
    gc.disable()
    try:
        scan.to_arrow()
        gc.set_debug(gc.DEBUG_SAVEALL)
        gc.collect()
        left = [item for item in gc.garbage if isinstance(item, np.ndarray) and item.nbytes > 1 << 16]
        assert left == []
        assert not any(isinstance(item, Scratch) for item in gc.garbage)
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        gc.enable()
